"""What holds for every test: nothing is timed, and nothing skips itself."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings

# A slow machine is not a wrong program, so no deadline; a failure must be repeatable, so CI draws no luck.
settings.register_profile(
    "dragoman",
    deadline=None,
    derandomize="CI" in os.environ,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("dragoman")

# A shell starts what runs in the background deaf to Ctrl-C, and so are all programs that are started from there.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Tests run in several processes and must have the same names in each; bytes and sets may differ between them."""
    return argname if isinstance(val, bytes | set | frozenset) else None


Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    return failed_if_skipped(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    return failed_if_skipped(report)


def failed_if_skipped(report: Report) -> Report:
    """A missing sample, program or extra fails loudly: a test that did not run has not passed."""
    if report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"a test may not skip itself: {report.longrepr}"
    return report
