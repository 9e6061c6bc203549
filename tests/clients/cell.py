"""One recorded session, ported to one real client, listed and resumed there, and what the client then sent and did.

A cell runs in a sandbox of its own: no network but loopback, nothing writable but its folder, and every process in it
ends with it.
"""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import jsonschema
import msgspec

from dragoman.apis import APIS
from dragoman.dialects import DIALECTS
from dragoman.dialects.base.shell_commands import in_shell
from dragoman.errors import Unspeakable
from dragoman.logs import FORMATS, read
from dragoman.logs.port import history_of
from dragoman.model import (
    CallPart,
    Conversation,
    Edit,
    EditFile,
    FunctionDefinition,
    NativeCall,
    NativeResult,
    Operation,
    ReadFile,
    Request,
    ResultPart,
    RunCommand,
    TextPart,
)
from tests.engine.loopback import Turn

from .driven import CLIENTS
from .install import VERSIONS
from .sandbox import programs_of, run_inside
from .server import MARK, Script, served

ROOT = Path(__file__).parents[2]
SOURCES = {
    # Client, or what is in it → a session below the shared facts.
    "claude_code": "traces/claude-code/files/home",
    "codex": "traces/codex/patch/home",
    "gemini_cli": "traces/gemini-cli/files/home",
    "opencode": "traces/opencode/files/home",
    "qwen_code": "traces/qwen-code/search/home",
    "copilot": "traces/copilot/files/home",
    "pi": "traces/pi/tour/home",
    "continue": "traces/continue/tour/home",
    "cline": "traces/cline/tour/home",
    "sub-agents": "traces/claude-code/agents/home",
    "kilo": "traces-2/kilo/files/home",
    "droid": "traces-2/droid/files/home",
    "kimi_code": "traces-2/kimi-code/files/home",
    "openhands": "traces-2/openhands/files/home",
    "goose": "traces-2/goose/files/home",
    "mistral_vibe": "traces-2/mistral-vibe/files/home",
    "aider": "traces-2/aider/whole/home",
}
_WHOLE_SCREEN = b"\x1b[?1049h"
_CUT = re.compile(r" ?\.\.\.\[truncated (\d+) chars\]\.\.\. ?")
"""How Cline shortens results of more than 8,000 characters when it sends them."""
_SECONDS = 240
"""The most that one command of a client may take; most take two."""


class Seen(msgspec.Struct):
    """What happened in one cell."""

    calls: int = 0
    """Calls in the history that the client sent."""
    listed: bool | None = None
    """`None` where the client has no command for it."""
    edited: bool = False
    problems: list[str] = []


def tried(to: str, source: str, shared: Path, folder: Path) -> Seen:
    """Runs a cell in its sandbox; `folder` is where it may write."""
    folder.mkdir(parents=True)
    words = (to, source, shared, folder, *programs_of(to))
    seen = run_inside("tests.clients.cell", *words, folder=folder, seconds=_SECONDS * 5, type=Seen)
    return seen if isinstance(seen, Seen) else Seen(problems=[seen])


def _run(to: str, source: str, shared: Path, folder: Path, client: Path, node: Path | None) -> Seen:
    """The inner side of a cell."""
    home, project = folder / "home", folder / "home" / "project"
    project.mkdir(parents=True)
    (folder / "tmp").mkdir()
    edited = project / "ported.txt"
    edited.write_text("one\ntwo\nthree\n")
    script = Script(turns(to, edited))
    with served(script) as port:
        driven = CLIENTS[to]
        setup = driven.setup(port)
        for name, content in setup.files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(content if isinstance(content, str) else json.dumps(content))
        kept = {name: os.environ[name] for name in ("LANG", "PATH") if name in os.environ}
        environment = {**kept, "HOME": str(home), "TMPDIR": str(folder / "tmp"), "SHELL": "/bin/bash", "TERM": "xterm"}
        environment |= setup.environment
        if node is not None:
            environment["PATH"] = f"{node.parent}{os.pathsep}{environment['PATH']}"
        runner = _Runner(client, project, environment)
        for options in setup.first:
            runner.run(options)
        port_command = (Path(sys.executable).parent / "dragoman", "port", shared / SOURCES[source])
        ported = json.loads(runner.output((*port_command, "--to", to, "--cwd", project, "--with-agents", "--json")))
        for file in ported["files"] if driven.imported is not None else ():
            runner.run(driven.imported(file))

        def is_listed() -> bool | None:
            if driven.listing is None:
                return None
            return ported["session"] in runner.run(driven.listing, says=driven.says, until=ported["session"])

        seen = Seen(listed=None if driven.lists_what_it_saved else is_listed())
        wanted = history_of(read(Path(ported["file"]), to), FORMATS[to].dialect).conversation
        prompt = f"Change ported.txt. {MARK}"
        options = driven.resume(ported["session"], prompt)
        if driven.terminal:
            runner.on_terminal(options, prompt, lambda: len(script.taken) >= len(script.turns))
        else:
            runner.run(options)
        if driven.lists_what_it_saved:
            seen.listed = is_listed()
    seen.edited = edited.read_text() == "one\n2\nthree\n"
    seen.calls = len(_calls(wanted))
    # What a model said wrongly in this very client stays as it was said, with the error that it got.
    own = _calls(wanted) if to == source else []
    seen.problems = list(_problems(script, wanted, own, seen))
    return seen


class _Runner:
    """Runs commands in the project, as its user would."""

    def __init__(self, client: Path, project: Path, environment: Mapping[str, str]) -> None:
        self._client, self._project, self._environment = client, project, environment

    def run(self, options: Sequence[str], *, says: Sequence[str] = (), until: str | None = None) -> str:
        """The client's output. What it is told to say is given line by line, and it is ended when `until` was seen."""
        return self.output((self._client, *options), says=says, until=until)

    def output(self, command: Sequence[str | Path], *, says: Sequence[str] = (), until: str | None = None) -> str:
        argv = [str(one) for one in command]
        done = subprocess.Popen(
            argv,
            cwd=self._project,
            env=self._environment,
            stdin=subprocess.PIPE if says else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert done.stdout is not None
        heard = b""
        deadline = time.monotonic() + _SECONDS
        if says and done.stdin is not None:
            done.stdin.write("".join(f"{line}\n" for line in says).encode())
            done.stdin.flush()
        while time.monotonic() < deadline:
            if select.select([done.stdout], [], [], 1)[0]:
                piece = os.read(done.stdout.fileno(), 65_536)
                heard += piece
                if not piece or (says and until is not None and until.encode() in heard):
                    break
        else:
            done.kill()
            raise SystemExit(f"{argv} did not end within {_SECONDS} s:\n{heard.decode('utf-8', 'replace')[-2_000:]}")
        if says:
            done.kill()
        elif done.wait(_SECONDS):
            raise SystemExit(f"{argv} ended with {done.returncode}:\n{heard.decode('utf-8', 'replace')[-2_000:]}")
        return heard.decode("utf-8", "replace")

    def on_terminal(self, options: Sequence[str], typed: str, is_done: Callable[[], bool]) -> None:
        """Runs the client on a terminal, types a line when it has drawn itself, and ends it when it has done that.

        It has drawn itself when it has taken the whole screen and then says nothing for a while.
        """
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self._project)
            os.execve(self._client, [str(self._client), *options], dict(self._environment))
        heard, keys = b"", iter((typed.encode(), *[b"\r"] * _SECONDS))
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline and not is_done():
            if select.select([terminal], [], [], 2)[0]:
                try:
                    heard += os.read(terminal, 65_536)
                except OSError:  # the client has ended
                    break
            elif _WHOLE_SCREEN in heard:
                os.write(terminal, next(keys))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        if not is_done():
            raise SystemExit(f"the client did not do it on a terminal:\n{heard.decode('utf-8', 'replace')[-2_000:]}")


# ── what is asked of the client ──────────────────────────────────────────────


def turns(to: str, file: Path) -> list[Turn]:
    """The model reads the file, since some clients forget what a resumed session read, changes it, and is done."""
    change = (Edit("two", "2", whole_lines=True), Edit("two", "2"))
    said = (_said(to, ReadFile(str(file))), _said(to, *(EditFile(str(file), (edit,)) for edit in change)))
    turns = [Turn(calls=((f"call_{number}", native.name, native.arguments),)) for number, native in enumerate(said)]
    return [*turns, Turn(text="Done.")]


def _said(to: str, *ways: Operation) -> NativeCall:
    """The first of these operations that the client has words for, else the first that its shell can do."""
    words = DIALECTS[FORMATS[to].dialect].at(VERSIONS[to])
    shell = [RunCommand(command.command) for command in map(in_shell, ways) if command is not None]
    for operation in (*ways, *shell):
        try:
            (native,) = words.write_call("c", operation)
        except (Unspeakable, ValueError):
            continue
        return native
    raise AssertionError(f"{to} cannot say {ways}")


# ── what the client sent ─────────────────────────────────────────────────────


def _problems(script: Script, wanted: Conversation, own: Sequence[NativeCall], seen: Seen) -> Iterator[str]:
    if seen.listed is False:
        yield "the client does not list the session"
    if not seen.edited:
        yield "the file was not changed"
    if len(script.taken) < len(script.turns):
        yield f"only {len(script.taken)} of {len(script.turns)} turns were asked for"
    for body in script.taken:
        request = APIS[script.api].read_request(body, model="a-model")
        yield from misfits(request, own)
    if script.taken:
        request = APIS[script.api].read_request(script.taken[0], model="a-model")
        yield from missing(wanted, request.conversation)


def misfits(request: Request, own: Sequence[NativeCall] = ()) -> Iterator[str]:
    """Calls that the request does not offer, whose arguments do not fit, or that have not one result.

    The arguments of `own` calls are not looked at.
    """
    as_they_were = [(call.name, call.arguments) for call in own]
    offered = {one.name: one for one in request.definitions}
    answered = Counter(result.call_id for result in results(request.conversation))
    calls = _calls(request.conversation)
    for call in calls:
        if answered[call.id] != 1:
            yield f"{call.name} has {answered[call.id]} results"
        if call.name not in offered:
            yield f"{call.name} is not offered"
        elif (call.name, call.arguments) in as_they_were:
            continue
        elif isinstance(definition := offered[call.name], FunctionDefinition):
            for error in jsonschema.Draft202012Validator(definition.parameters).iter_errors(call.arguments):
                yield f"{call.name}: {error.json_path}: {error.message}"
    for id in answered.keys() - {call.id for call in calls}:
        yield f"the result {id} answers no call"


def missing(wanted: Conversation, sent: Conversation) -> Iterator[str]:
    """What the ported session holds and the request does not."""
    calls = [(call.name, call.arguments) for call in _calls(sent)]
    expected = [(call.name, call.arguments) for call in _calls(wanted)]
    if calls != expected:
        yield f"calls differ: {calls} instead of {expected}"
        return
    for call, told, heard in zip(_calls(wanted), results(wanted), results(sent), strict=True):
        if not _holds(_plain(text_of(heard)), _plain(text_of(told))):
            yield f"the result of {call.name} differs: {text_of(heard)!r} instead of {text_of(told)!r}"
    said = _plain("\n".join(_texts(sent)))
    for text in _texts(wanted):
        if _plain(text) not in said:
            yield f"not sent: {text!r}"


def _calls(conversation: Conversation) -> list[NativeCall]:
    return [part.call for item in conversation for part in item.parts if isinstance(part, CallPart)]


def results(conversation: Conversation) -> list[NativeResult]:
    """The results of all calls, in their order."""
    return [part.result for item in conversation for part in item.parts if isinstance(part, ResultPart)]


def _texts(conversation: Conversation) -> list[str]:
    return [part.text for item in conversation for part in item.parts if isinstance(part, TextPart)]


def text_of(result: NativeResult) -> str:
    """A result without its pictures."""
    content = result.content
    return content if isinstance(content, str) else "\n".join(one for one in content if isinstance(one, str))


def _holds(heard: str, told: str) -> bool:
    """Whether a result says all that was told, or all but what the client itself cut out of its middle."""
    begin, *cut = _CUT.split(heard)
    return told in heard or (len(cut) == 2 and told.startswith(begin) and told.endswith(cut[1]))


def _plain(text: str) -> str:
    """A text but for its spaces: clients trim what they send."""
    return " ".join(text.split())


if __name__ == "__main__":
    target, origin, facts, place, found, node = sys.argv[1:]
    outcome = _run(target, origin, Path(facts), Path(place), Path(found), Path(node) if node else None)
    sys.stdout.buffer.write(msgspec.json.encode(outcome) + b"\n")
