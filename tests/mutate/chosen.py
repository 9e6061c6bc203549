"""A pytest plugin that runs the tests listed in the file `MUTATE_TESTS`, in the order of the list, and no others."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

_TESTS: list[str] = msgspec.json.decode(Path(os.environ["MUTATE_TESTS"]).read_bytes(), type=list[str])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    place = {nodeid: number for number, nodeid in enumerate(_TESTS)}
    others = [item for item in items if item.nodeid not in place]
    items[:] = sorted((item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid])
    if others:
        config.hook.pytest_deselected(items=others)
