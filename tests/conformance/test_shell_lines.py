"""Every shell line of README.md, CONTRIBUTING.md and docs/ is run, as it stands there.

A page's lines run one after the other in a home and a project made for them, with `dragoman` on the path and a model
server on this machine. Programs of others (npx, claude, curl) are stand-ins that check what we hand them.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli.terminal import Terminal
from tests.engine.loopback import Loopback, Turn, loopback
from tests.logs.samples import CLAUDE, CODEX
from tests.ports import quiet_port
from tests.tools.test_pdf import THREE

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

NOT_RUN = {
    "pipx install": "installs for a minute; tests/conformance/test_clean_machine.py runs it",
    "uv tool install": "installs for a minute; tests/conformance/test_clean_machine.py runs it",
    ".venv/bin/": "needs the environment of the line before, with every extra in it",
    "dragoman tool fetch_page url=https://example.com/": "needs the internet; tests/tools/test_web.py fetches pages",
    "dragoman tool compute_checksum": "needs the operation that its page adds to the source",
    "dragoman eval examples/evaluation/": "tries hundreds of tasks; tests/cli/test_eval.py runs a small suite",
    "dragoman browse": "needs a terminal; tests/cli/test_browse.py has one",
    "dragoman run --model local:": "needs the weights; make demo runs them in conformance",
    "DRAGOMAN_BENCH_SESSIONS=": "builds 5 GB of logs; tests/conformance/test_corpus.py builds a corpus of some",
}
"""Lines that begin so are not run here, and why."""
MOST_NOT_RUN = 15

UNTIL = {
    "dragoman watch": "Ctrl-C",
    "dragoman view": "Ctrl-C",
    "dragoman mcp serve --http": "/mcp",
    "dragoman hook serve": "Listening at",
}
"""Lines that go on until Ctrl-C, and a word they say once they are ready."""

LATER = "dragoman run --resume last"
"""A line that is about a terminal: there it asks, and is answered that the calls shall wait."""

CODES = {
    'dragoman run --ask "tidy up" < /dev/null': 8,
    LATER: 8,
    "dragoman hook status": 1,  # nobody confirmed the line in Codex, which skips it until somebody does
    "dragoman schema check": 1,  # the logs here are made by hand, and lack fields that their clients write
}
"""Exit codes that the page says are other than 0."""

OF_LAST_WEEK = {
    "dragoman lab grep '.env' --kind tool_called --since 1w",
    "dragoman policy learn --since 1w",
    "dragoman stats --by client,verdict,rule --since 1w",
}
"""Lines that end with 1 where nothing was found: whether there is, depends on the lines that ran before."""

STAND_INS = {
    "npx": "exec dragoman mcp serve --tools echo --yes\n",
    # Started by the gateway, it is given no words.
    "claude": '[ $# = 0 ] || { test "$1 $2" = "mcp add" && while [ "$1" != -- ]; do shift; done && shift'
    ' && exec "$@" < /dev/null; }\n',
    "curl": "exec python3 -c \"import json, sys; json.load(sys.stdin)['resourceSpans'][0]\"\n",
}


class Line(NamedTuple):
    page: str
    text: str


def lines_of(page: Path) -> list[Line]:
    """The commands of a page's shell blocks; in a console they follow a dollar, the rest is what they print."""
    found = []
    fences = re.compile(r"^```(sh|bash|shell|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
    for language, block in fences.findall(page.read_text()):
        for line in block.replace("\\\n", " ").splitlines():
            text = line.removeprefix("$ ") if language == "console" else line
            if text.strip() and not text.startswith("#") and (language != "console" or line.startswith("$ ")):
                found.append(Line(page.relative_to(ROOT).as_posix(), _without_comment(text)))
    return found


def _without_comment(text: str) -> str:
    return re.sub(r"\s+# .*$", "", text).strip()


LINES = {page: lines for page in PAGES if (lines := lines_of(page))}


def why_not(line: Line) -> str | None:
    return next((why for start, why in NOT_RUN.items() if line.text.startswith(start)), None)


# ── the world they run in ────────────────────────────────────────────────────

AGENT = """---
name: librarian
description: Answers questions about this folder.
tools: [read_file, search_text, find_files]
---
Answer from the files, and say which.
"""
REVIEWER = """---
name: reviewer
description: Looks at commits.
tools: Read, Grep
---
Look, and say what is wrong.
"""
ECHO = '''
from dragoman import tool


@tool(kind="read")
def echo(message: str) -> str:
    """Say it again.

    Args:
        message: What to say.
    """
    return message


TOOLS = {"echo": echo}
'''


class World:
    """A home with sessions, agents, plugins and settings, and a project, all below one folder."""

    def __init__(self, root: Path) -> None:
        self.home, self.here = root / "home", root / "home" / "project"
        self.config = self.home / ".config" / "dragoman"
        self.environ = {
            "HOME": str(self.home),
            "PATH": f"{root / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "GIT_CONFIG_NOSYSTEM": "1",
            **dict.fromkeys(("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY"), "k"),
        }
        self.here.mkdir(parents=True)
        programs = {"dragoman": f'exec {sys.executable} -P -m dragoman "$@"\n', **STAND_INS}
        for name, text in programs.items():
            self.write(root / "bin" / name, f"#!/bin/sh\n{text}").chmod(0o755)

    def asks(self, server: Loopback) -> None:
        """Makes a server the one that every provider's models are asked at."""
        names = ("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "OPENAI_BASE_URL")
        self.environ |= dict.fromkeys(names, server.url)

    def write(self, path: Path, text: str | bytes) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        path.chmod(0o600)
        return path

    async def run(self, text: str) -> tuple[int, str]:
        """The exit code of a line and everything it printed."""
        process = await asyncio.create_subprocess_exec(
            *("bash", "-o", "pipefail", "-c", text),
            cwd=self.here,
            env=self.environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            process_group=0,
        )
        assert process.stdout is not None
        ready = next((word for start, word in UNTIL.items() if text.startswith(start)), None)
        said = b""
        try:
            async with asyncio.timeout(60):
                if ready is not None:
                    while ready.encode() not in said and (some := await process.stdout.read(4096)):
                        said += some
                    os.killpg(process.pid, signal.SIGINT)
                said += await process.stdout.read()
                code = await process.wait()
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
        return 0 if ready is not None and code in (130, -signal.SIGINT) else code, said.decode()


def known(log: bytes) -> bytes:
    """A sample without the records that no version of its client wrote."""
    return b"".join(line for line in log.splitlines(keepends=True) if not re.search(rb"a[-_]new[-_]kind", line))


async def furnish(world: World) -> None:
    """What the pages take to be there."""
    write, home, here, config = world.write, world.home, world.here, world.config
    claude = known(CLAUDE).replace(b'"s-1"', b'"6a8982ac-7d1f-4c1e-9f43-0c8ad1a3b001"')
    write(home / ".claude/projects/-p/s-1.jsonl", known(CLAUDE))
    write(home / ".claude/projects/-p/6a8982ac-7d1f-4c1e-9f43-0c8ad1a3b001.jsonl", claude)
    write(home / ".codex/sessions/2026/01/01/rollout-c-1.jsonl", known(CODEX).replace(b"Fix it", b"Update File: a.py"))
    write(home / ".claude/skills/notes/SKILL.md", "---\nname: notes\ndescription: Writes notes.\n---\nWrite them.\n")
    write(config / "plugins/echo.py", ECHO)
    write(config / "plugins/shout.py", fenced("docs/howto/write-a-plugin.md", "python"))
    write(config / "plugins/acme.toml", fenced("docs/howto/add-a-dialect.md", "toml"))
    write(config / "config.toml", fenced("docs/howto/mcp.md", "toml"))
    write(here / "librarian.md", AGENT)
    write(here / "agents/librarian.md", AGENT)
    write(here / ".claude/agents/reviewer.md", REVIEWER)
    write(here / "session.jsonl", CLAUDE)
    write(here / "report.pdf", THREE)
    write(here / "a.py", "one\n")
    for line in (
        "git init -q . && git add a.py && git -c user.name=a -c user.email=a@b commit -qm one && echo two > a.py",
        "dragoman run 'where were we?'",
        # An interrupted run of a known id: the record up to what the user said.
        'cd ~/.local/share/dragoman/runs && sed "s/$(basename *.jsonl .jsonl)/3f2a91c4/g; /user_said/q" *.jsonl > new'
        " && rm *.jsonl && mv new 3f2a91c4.jsonl && chmod 600 *.jsonl",
        "dragoman tool save_memory key=releasing text='Tag it.'",
    ):
        code, said = await world.run(line)
        assert code == 0, f"{line}\n{said}"


def fenced(page: str, language: str) -> str:
    """The first block of a page in a language."""
    return str(re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)[0])


def answer(body: dict[str, Any]) -> Turn:
    """Asks for two changes where it is told to tidy up, and is done with everything else."""
    conversation = body.get("messages") or body.get("contents") or body.get("input")
    last = str(conversation[-1]) if isinstance(conversation, list) else ""
    if "tidy up" in last:
        return Turn(calls=tuple((f"c{n}", "Write", {"file_path": f"{n}.txt", "content": "x"}) for n in (2, 3)))
    return Turn("Done.")


# ── the lines ────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> World:
    """One for all pages: making it takes as long as the lines of a page."""

    async def made() -> World:
        world = World(tmp_path_factory.mktemp("world"))
        async with loopback(*[answer] * 10) as server:
            world.asks(server)
            await furnish(world)
        return world

    return asyncio.run(made())


@pytest.mark.parametrize("page", LINES, ids=lambda page: page.relative_to(ROOT).as_posix())
async def test_every_shell_line_of_a_page_runs(page: Path, furnished: World) -> None:
    wrong = []
    async with loopback(*[answer] * 100) as server:
        furnished.asks(server)
        for line in LINES[page]:
            if why_not(line) is None:
                code, said = await run(furnished, line.text)
                if code not in ({0, 1} if line.text in OF_LAST_WEEK else {CODES.get(line.text, 0)}):
                    wrong.append(f"{line.text}\n  ended with {code}:\n{said}")
    assert not wrong, "\n".join(wrong)


async def run(world: World, text: str) -> tuple[int, str]:
    if text.startswith("make "):
        return await world.run(f"cd {ROOT} && {text.replace('make ', 'make --dry-run ', 1)}")
    if text == LATER:
        return await asyncio.to_thread(answered_later, world, text)
    return await world.run(text.replace(":8808", f":{quiet_port('127.0.0.1')}"))


def answered_later(world: World, text: str) -> tuple[int, str]:
    with Terminal(shlex.split(text)[1:], world.here, world.environ) as terminal:
        for _ in range(2):  # two calls wait
            terminal.sees("[l]ater >")
            terminal.types("l\n")
        return terminal.ends(), terminal.screen


def test_the_lines_that_are_not_run_are_few_and_each_has_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    left_out = [(line, why) for lines in LINES.values() for line in lines if (why := why_not(line)) is not None]
    with capsys.disabled():
        for line, why in left_out:
            print(f"not run: {line.page}: {line.text}  ({why})", file=sys.stderr)
    assert len(left_out) <= MOST_NOT_RUN
    assert {start for start in NOT_RUN if not any(line.text.startswith(start) for line, _ in left_out)} == set()


def test_the_exceptions_are_lines_of_the_pages() -> None:
    every = {line.text for lines in LINES.values() for line in lines}
    assert set(CODES) | OF_LAST_WEEK <= every
    assert {start for start in UNTIL if not any(text.startswith(start) for text in every)} == set()
