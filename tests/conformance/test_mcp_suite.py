"""The official MCP conformance suite, against our server."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.clients.install import program
from tests.conformance.conftest import AGREEMENT, ROOT, declared
from tests.conformance.packages import npm_package

VERSION = "0.1.16"
SERVER_SCENARIOS = 30
"""Active ones of that version."""
CLIENT_SCENARIOS = 26
DECLARED = declared("mcp")
"""Client scenarios that do not pass: the page has each with the reason."""


@pytest.fixture(scope="session")
def suite() -> list[str]:
    """The command that runs the suite."""
    package = npm_package("@modelcontextprotocol/conformance", VERSION)
    return [str(program("node")), str(package / "dist" / "index.js")]


@pytest.fixture
def everything() -> Iterator[str]:
    """The address of a server that has all the suite asks for."""
    words = [sys.executable, "-m", "tests.conformance.mcp_everything"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


def test_every_active_server_scenario_passes(
    suite: list[str], everything: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    command = [*suite, "server", "--url", everything]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    lines = re.findall(r"^(\S) (\S+): (\d+) passed, (\d+) failed", ran.stdout, re.MULTILINE)
    passed = [name for mark, name, good, bad in lines if mark == "✓" and int(good) and bad == "0"]
    record_property(AGREEMENT, f"MCP conformance {VERSION}, server: {len(passed)} of {len(lines)} scenarios pass")
    assert [name for _, name, *_ in lines if name not in passed] == [], ran.stdout[-5000:]
    assert len(passed) == SERVER_SCENARIOS


def test_every_client_scenario_passes_or_is_declared(
    suite: list[str], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    listed = subprocess.run([*suite, "list"], capture_output=True, text=True, timeout=60, check=True).stdout
    scenarios = re.findall(r"^  - (\S+)", listed.partition("Client scenarios")[2], re.MULTILINE)
    client = f"{sys.executable} -m tests.conformance.mcp_client"

    def run(scenario: str) -> str:
        words = [*suite, "client", "--command", client, "--scenario", scenario, "-o", str(tmp_path)]
        words += ["--timeout", "60000"]
        pipes: dict[str, Any] = {
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
        }  # the verdict is printed among the errors
        return str(subprocess.run(words, cwd=ROOT, text=True, timeout=120, check=False, **pipes).stdout)

    with ThreadPoolExecutor(2) as threads:
        told = dict(zip(scenarios, threads.map(run, scenarios), strict=True))
    for scenario, words in told.items():
        if "OVERALL: PASSED" not in words and scenario not in DECLARED:
            told[scenario] = run(scenario)  # alone: one of them measures how soon a client comes back
    passed = [scenario for scenario, words in told.items() if "OVERALL: PASSED" in words]
    record_property(
        AGREEMENT,
        f"MCP conformance {VERSION}, client: {len(passed)} of {len(told)} scenarios pass, {len(DECLARED)} declared",
    )
    failed = {scenario: words[-2000:] for scenario, words in told.items() if scenario not in passed}
    assert failed.keys() == DECLARED.keys(), failed
    assert len(told) == CLIENT_SCENARIOS
