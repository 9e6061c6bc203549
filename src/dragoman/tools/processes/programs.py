"""Finding programs that dragoman starts by itself."""

from __future__ import annotations

import os


def find_program(name: str, path: str | None = None) -> str | None:
    """The program of this name, as `shutil.which` finds it, but only in folders that PATH names with their whole path.

    A relative one (`.`, `node_modules/.bin`, or nothing at all) is a folder of the project, whoever wrote that.
    """
    import shutil

    folders = (os.environ.get("PATH", os.defpath) if path is None else path).split(os.pathsep)
    return shutil.which(name, path=os.pathsep.join(filter(os.path.isabs, folders)))
