"""Commands that look for the key of a provider, without a sandbox and as a user without rights, and records of runs."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.attack.apart import run_apart
from tests.engine.loopback import Loopback, Turn, loopback

KEY = "sk-ant-api03-K7fX+mQ/2vTz9bLw_"
HERE = Path(__file__).parent
THIEF = shlex.join([sys.executable, str(HERE / "thief.py"), KEY[:9], KEY[9:]])
PEER = str(HERE.parent / "agents" / "mcp_peer.py")
PASSWORD = "5%0ff\\&every-day"
"""Of characters that stand for themselves and begin an escape."""
SETTINGS = '[sandbox]\nmode = "off"\n'
DONE = Turn("It is done.")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody may use, with a workspace and settings in it."""
    made = Path(tempfile.mkdtemp(prefix="attack-"))
    for part in (made, made / "work", made / "config"):
        part.mkdir(exist_ok=True)
        part.chmod(0o777)
    (made / "config" / "config.toml").write_text(SETTINGS)
    yield made
    shutil.rmtree(made)


async def runs(server: Loopback, folder: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """`dragoman run` as a user without rights, in a process namespace of its own, without a sandbox for commands."""
    command = [sys.executable, "-m", "tests.attack.as_nobody", sys.executable, "-m", "dragoman", "run", "--yes"]
    command += ["--workspace", str(folder / "work"), *words]
    environment = {
        "HOME": str(folder),
        "DRAGOMAN_CONFIG_DIR": str(folder / "config"),
        "DRAGOMAN_DATA_DIR": str(folder / "data"),
        "ANTHROPIC_BASE_URL": server.url,
        **environ,
    }
    return await asyncio.to_thread(run_apart, command, environment=environment)


def results(server: Loopback) -> list[Any]:
    """What the commands wrote that the model had run."""
    told = [
        part["content"]
        for message in server.requests[-1].body["messages"]
        for part in message["content"]
        if isinstance(part, dict) and part["type"] == "tool_result"
    ]
    return [text if isinstance(text, str) else "".join(one["text"] for one in text) for text in told]


@pytest.mark.parametrize("place", ["environment", "settings"])
async def test_no_command_reads_a_key_from_a_process(folder: Path, place: str) -> None:
    """A command cannot read the key of a provider from dragoman's process, nor from another that dragoman started."""
    settings = SETTINGS + f'[mcp.servers.peer]\ncommand = "{sys.executable}"\nargs = ["{PEER}"]\n'
    settings += f'[providers.anthropic]\napi_key = "{KEY}"\n' if place == "settings" else ""
    (folder / "config" / "config.toml").write_text(settings)
    environ = {"ANTHROPIC_API_KEY": KEY} if place == "environment" else {}
    steal = Turn("I look around.", calls=(("c1", "Bash", {"command": THIEF}),))
    async with loopback(steal, DONE) as server:
        done = await runs(server, folder, "look around", **environ)
        assert (done.returncode, done.stdout) == (0, "I look around.\nIt is done.\n"), done.stderr
        assert server.requests[0].headers["x-api-key"] == KEY
        (report,) = map(json.loads, results(server))
    (ours,) = [one for one in report if one["words"][1:4] == ["-m", "dragoman", "run"]]
    watching = [one for one in report if any("import supervisor" in word for word in one["words"])]
    (served,) = [one for one in report if one["words"][1:2] == [PEER]]
    assert ours["readable"] == ["command_line"]
    assert [one["readable"] for one in watching] == [["command_line"]] * 3
    assert {"environment", "memory", "trace"} <= set(served["readable"])  # the thief knows how to
    assert [one["found"] for one in report] == [[] for _ in report]


async def test_no_key_gets_into_a_record_in_any_form(folder: Path) -> None:
    """What is shown and recorded of a run holds no key, encoded or in pieces, although a command wrote it."""
    (folder / "work" / "key.txt").write_text(KEY)
    (folder / "work" / "password.txt").write_text(PASSWORD)
    encode = shlex.join(
        [sys.executable, "-c", "import urllib.parse as p; print(p.quote_plus(open('password.txt').read()))"]
    )
    commands = [
        "cat key.txt; base64 key.txt; (printf x; cat key.txt) | base64 -w 10; basenc --base64url key.txt",
        "od -c key.txt; od -An -tx1 key.txt; od -tx1z key.txt; basenc --base16 key.txt",
        "head -c 11 key.txt; sleep 0.3; tail -c +12 key.txt | head -c 9; sleep 0.3; tail -c +21 key.txt",
        "sed 's,/,%2F,; s,+,%2B,' key.txt; sed 's,/,\\\\/,' key.txt",
        f"cat password.txt; {encode}; grep --color=always every password.txt; grep --color=always api03 key.txt",
    ]
    calls = tuple((f"c{number}", "Bash", {"command": command}) for number, command in enumerate(commands))
    turns = [Turn(f"{number}: {KEY}", calls=(call,)) for number, call in enumerate(calls)]
    async with loopback(*turns, DONE) as server:
        done = await runs(server, folder, "--json", "show me the key", ANTHROPIC_API_KEY=KEY, DB_PASSWORD=PASSWORD)
        assert done.returncode == 0, done.stderr
        assert KEY in results(server)[0]  # the model gets what the command wrote
    (record,) = (folder / "data" / "runs").glob("*.jsonl")
    for text in (record.read_text(), done.stdout):
        assert "********" in text
        assert forms_in(text) == []
        assert "every-day" not in text


def forms_in(text: str) -> list[str]:
    """What of the key can be read from a text, piece by piece, when nothing is between the characters."""
    dense = re.sub(r'\\[nrt]|[\s"\\]', "", text)
    parts = [KEY[start : start + 8] for start in range(0, len(KEY) - 7, 4)]
    encoded = [
        *parts,
        *(part.encode().hex() for part in parts),
        *(part.encode().hex().upper() for part in parts),
        *(
            b64encode(b"x" * skip + KEY.encode()).decode()[4 + 4 * at : 12 + 4 * at]
            for skip in range(3)
            for at in range(7)
        ),
    ]
    return [one for one in encoded if one in dense]
