"""What holds for every test: nothing is timed, nothing depends on chance, and nothing skips itself."""

from __future__ import annotations

import functools
import gc
import os
import signal
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import providers

from dragoman import config

# The tests use the same examples every time, 24 for a law that asks for no other number (tests/examples.py);
# `make fuzz` explores with random ones, and takes all 100 (`--hypothesis-profile=fuzz`).
# No deadline and no check of speed: on a slow machine the program is still right. The fixtures that laws use
# (folders, indexes) may be shared by the examples of one law.
settings.register_profile(
    "fixed",
    deadline=None,
    derandomize=True,
    max_examples=24,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("fuzz", settings.get_profile("fixed"), derandomize=False, database=None, max_examples=100)
# `make mutate` only asks whether a law fails: making its example smaller can take minutes.
unshrunk = [phase for phase in Phase if phase not in (Phase.shrink, Phase.explain)]
settings.register_profile("mutate", settings.get_profile("fixed"), phases=unshrunk)
# Which lines a law executes is known after a few examples.
settings.register_profile("covering", settings.get_profile("fixed"), max_examples=8)
settings.load_profile("fixed")

# Hypothesis also draws constants from the source of every module of ours that happens to be imported, so the examples
# of a law would depend on which tests ran before it in the same process. It has no setting for this
# (tests/repository/test_fixed_examples.py fails when this has no effect).
providers._get_local_constants = lambda: providers._local_constants

# A shell starts what runs in the background deaf to Ctrl-C, and `nohup` deaf to the end of the terminal; so are all
# programs that are started from there.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


KEPT = (
    *("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CI"),
    *("PYTHONPATH", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"),
)
KEPT_PREFIXES = ("PYTEST_", "FUZZ_", "MUTATE_")


def pytest_configure(config: pytest.Config) -> None:
    """Leaves the tests what they need of the environment.

    Keys, proxies, settings, colours, the size of a terminal or the language of whoever runs them must not change what
    they find. `make conformance` is against the world as it is, and keeps all of it.
    """
    send_what_is_shown(config)
    if any("conformance" in str(argument) for argument in config.args):
        return
    for name in list(os.environ):
        if name not in KEPT and not name.startswith(KEPT_PREFIXES):
            del os.environ[name]
    # Nor may the settings in the home of whoever runs them, which Python programs read too.
    os.environ["DRAGOMAN_CONFIG_DIR"] = os.path.join(os.path.dirname(__file__), "no-settings")


def send_what_is_shown(config: pytest.Config) -> None:
    """Of five messages about a test that passed, its process sends the two that change what is shown.

    Sending and receiving all five took longer than most tests. `--durations` wants to know how long every step took.
    """
    for plugin in config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "WorkerInteractor" and not config.option.durations:
            plugin.sendevent = functools.partial(_send, plugin.sendevent)


def _send(send: Callable[..., None], name: str, **facts: Any) -> None:
    step = facts.get("data", {})
    is_around = name == "testreport" and step["outcome"] == "passed" and step["when"] != "call"
    if name != "logstart" and not is_around:
        send(name, **facts)


def pytest_collection_finish() -> None:
    """Takes modules and collected tests, which stay until the end, out of the garbage collector's work.

    Going over them again and again was a seventh of the time of the laws.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(autouse=True)
def settings_read_anew() -> None:
    """No test sees the settings that an earlier one read: they are kept for the whole process."""
    config.use(None)


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
