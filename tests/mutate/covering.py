"""A pytest plugin that measures which tests execute which lines, and how long each test takes that passes.

Used as `pytest -p tests.mutate.covering` with `MUTATE_COVERAGE` set to a folder that exists.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import coverage
import msgspec
import pytest

FOLDER = Path(os.environ["MUTATE_COVERAGE"])
_durations: dict[str, float] = {}
_failed: set[str] = set()
_measured = coverage.Coverage(
    data_file=FOLDER / "lines", data_suffix=True, source_pkgs=["dragoman"], config_file=False, messages=False
)
_measured.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    _measured.switch_context(item.nodeid)
    result = yield
    _measured.switch_context("")
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _durations[report.nodeid] = _durations.get(report.nodeid, 0.0) + report.duration
    if report.failed:
        _failed.add(report.nodeid)


def pytest_unconfigure() -> None:
    _measured.stop()
    _measured.save()
    if "PYTEST_XDIST_WORKER" not in os.environ:
        # A test that fails without a mutant would seem to kill every mutant.
        passed = {test: seconds for test, seconds in _durations.items() if test not in _failed}
        (FOLDER / "durations.json").write_bytes(msgspec.json.encode(passed))
