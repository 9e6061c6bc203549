from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman.tools.processes import find_program


@pytest.mark.parametrize("relative", [".", "", "node_modules/.bin", "./node_modules/.bin"])
def test_a_relative_folder_of_the_path_is_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, relative: str
) -> None:
    project, whole = tmp_path / "project", tmp_path / "bin"
    for folder in (project / relative, whole):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "rg").write_text("#!/bin/sh\n")
        (folder / "rg").chmod(0o755)
    monkeypatch.chdir(project)
    path = os.pathsep.join([relative, str(whole)])
    monkeypatch.setenv("PATH", path)
    assert find_program("rg") == find_program("rg", path) == str(whole / "rg")
    assert find_program("rg", relative) is None
    assert find_program(str(project / relative / "rg")) is not None
