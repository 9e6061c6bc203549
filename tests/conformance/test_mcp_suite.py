"""The official MCP conformance suite, against our server."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients.install import program
from tests.conformance.conftest import AGREEMENT, ROOT
from tests.conformance.packages import npm_package

VERSION = "0.1.16"
SERVER_SCENARIOS = 30
"""Active ones of that version."""


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
