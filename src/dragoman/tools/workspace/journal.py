"""What a stretch of work did to files, so that all of it can be shown or taken back at once.

Rule: taking back is exact or not done. Every file must still be as the work left it, and what it held before must have
been kept; otherwise nothing is changed and the error says which file is in the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from dragoman.errors import ToolError

from .paths import shown
from .transaction_plan import Draft, FileChange, Put, Rename, Step, changed
from .tree import Loaded, digest_of

KEPT: Final = 64 << 20
"""Bytes of earlier contents that one journal keeps."""


class Journal:
    """Notes the transactions of a workspace that follows it (`Workspace.follow`)."""

    def __init__(self) -> None:
        self._before: dict[str, bytes | None] = {}
        self._after: dict[str, bytes | None] = {}
        """The digest of what each path held in the end; `None`: it was not there."""
        self._not_kept: set[str] = set()
        self._size = 0

    def __bool__(self) -> bool:
        return bool(self._after)

    def note(self, steps: Sequence[Step]) -> None:
        """Keeps what the paths of these steps held before."""
        for step in steps:
            if isinstance(step, Rename):
                self._first(step.origin, step.base)
                self._first(step.path, None)
                self._after[step.path] = None if step.base.data is None else digest_of(step.base.data)
                self._after[step.origin] = None
                if step.base.data is None:
                    self._not_kept.add(step.path)
            else:
                self._first(step.path, step.base)
                self._after[step.path] = digest_of(step.data) if isinstance(step, Put) else None

    def _first(self, path: str, base: Loaded | None) -> None:
        if path in self._before or path in self._not_kept:
            return
        data = None if base is None else base.data
        if base is not None and (data is None or self._size + len(data) > KEPT):
            self._not_kept.add(path)
            return
        self._size += len(data or b"")
        self._before[path] = data

    def changes(self, held: Callable[[str], Loaded | None]) -> Iterator[FileChange]:
        """What is different now from before the work, file by file, whoever changed it; `held` is the workspace's."""
        for path, before in sorted(self._before.items()):
            loaded = held(path)
            after = None if loaded is None else loaded.data
            if before != after:
                yield FileChange(changed(path, before, after), before, after)

    def take_back(self, held: Callable[[str], Loaded | None], draft: Draft) -> None:
        """Works out the transaction that takes all of it back; `ToolError` when it cannot be exact."""
        now: dict[str, Loaded | None] = {path: held(path) for path in self._after}
        for path, digest in self._after.items():
            loaded = now[path]
            if path in self._not_kept:
                raise ToolError(f"{shown(path)} was too large, or a link: what it held before was not kept")
            if (None if loaded is None else digest_of(loaded.data or b"")) != digest:
                raise ToolError(f"{shown(path)} was changed by something else since")
        for path, before in self._before.items():
            loaded = now.get(path)
            if before != (None if loaded is None else loaded.data):
                draft.restore(path, before)
