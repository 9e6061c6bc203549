"""The folder that another program works in, as rules on paths need it."""

from __future__ import annotations

import os

from dragoman.errors import ToolError


class Folder:
    """A folder of this machine in which a program works that is not ours: its calls are judged, and run elsewhere."""

    def __init__(self, root: str, home: str | None = None) -> None:
        self.root, self.home = os.path.realpath(root), home

    def resolve(self, path: str) -> str:
        """A path from this folder, links resolved; `ToolError` when it is outside."""
        real = os.path.realpath(os.path.join(self.root, path))
        if real != self.root and not real.startswith(f"{self.root.rstrip('/')}/"):
            raise ToolError(f"{path} is outside {self.root}")
        return os.path.relpath(real, self.root)
