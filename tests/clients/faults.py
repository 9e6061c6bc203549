"""Real clients on a model whose provider fails, through `dragoman gateway` (`make clients`).

    python -m tests.clients.faults             every client
    python -m tests.clients.faults codex pi    only these clients
    python -m tests.clients.faults --cuts codex    streams that break off after each of their events

Each client is run once for each fault (`PLANS`), in a sandbox of its own. The rules: a client that ends with exit code
0 has printed the whole answer; the model's commands are run once each, however often the client asks again; and no
secret is found where it does not belong. Exit code 1 when a rule is broken.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
import tempfile
from asyncio.subprocess import Process
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from dragoman.serve.gateway import CLIENTS as POINTED
from tests.engine.loopback import Heard, Loopback, Raw, Turn, played

from .behind_gateway import KEY, STARTED, Home, home_of, words_of
from .install import ripgrep
from .sandbox import programs_of, run_inside
from .server import MARK, offers_tools
from .strict import refused
from .task import MODELS

SECONDS = 150
WHOLE = "The first half of the answer, and the second half of the answer."
PIECES = 3
"""In which the answer is streamed: a stream breaks off before, between and after them, and at every event around."""
CANARY = "canary-of-the-client"
"""Stands in the headers and the accounts of a client, and must not leave it."""

RUN = {
    # API → how its model runs a command, in its own words.
    "gemini_generate": ("run_shell_command", "command"),
    "openai_responses": ("exec_command", "cmd"),
    "anthropic_messages": ("Bash", "command"),
}
ON = {
    # Client → the API of the model that it is tried on.
    "claude_code": "openai_responses",
    "codex": "anthropic_messages",
    "gemini_cli": "anthropic_messages",
    "opencode": "gemini_generate",
    "qwen_code": "gemini_generate",
    "copilot": "gemini_generate",
    "continue": "openai_responses",
    "cline": "gemini_generate",
    "pi": "openai_responses",
}
PLANS: dict[str, tuple[str, ...]] = {
    # What the provider answers one request after the other; the last answer is for all that follow. The gateway asks
    # three times before a client hears of an error.
    "passing": (*("429",) * 3, "call 1", *("503",) * 3, "call 2", *("529",) * 3, "call 3", "cut", "slow"),
    "refused": ("401",),
    "cut": ("call 1", "cut"),
    "gone": ("call 1", "stalled"),
    "slow": ("call 1", "slow"),
    "503": ("call 1", "503"),
    "529": ("call 1", "529"),
}
CUT_AFTER = "cut after "
"""And the number of events after which a stream breaks off."""
GIVES_UP = {
    # Clients that print an error and fail where others ask again, with what they have done by then when faults pass.
    "qwen_code": ["1", "2", "3"],  # 0.24.4, after a stream that was cut
    "cline": ["1", "2", "3"],  # 3.0.65, the same
    "pi": ["1", "2", "3"],  # 0.74.2, the same
    "continue": [],  # 1.5.47: for Anthropic's API it asks again only where a message has certain words ("overloaded")
}
RETRIES = {
    # Less patience than the clients have by themselves.
    "claude_code": {"CLAUDE_CODE_MAX_RETRIES": "2"},
}
PATIENCE = {
    # The same, for clients that take it as words.
    "codex": [
        word for kind in ("request", "stream") for word in ("-c", f"model_providers.dragoman.{kind}_max_retries=1")
    ],
}
ACCOUNTS: dict[str, dict[str, Any]] = {
    # Accounts that a user is logged in with, as the clients keep them.
    "claude_code": {
        ".claude/.credentials.json": {
            "claudeAiOauth": {
                "accessToken": f"sk-ant-oat01-{CANARY}",
                "refreshToken": f"sk-ant-ort01-{CANARY}",
                "expiresAt": 4102444800000,
                "scopes": ["user:inference", "user:profile"],
                "subscriptionType": "max",
            }
        },
        ".claude.json": {"oauthAccount": {"accountUuid": CANARY, "emailAddress": f"{CANARY}@example.org"}},
    },
    "codex": {".codex/auth.json": {"OPENAI_API_KEY": f"sk-proj-{CANARY}"}},
}
LESS_PATIENT = {"gemini_cli": {".gemini/settings.json": {"general": {"maxAttempts": 3}}}}
"""The same, for clients that take it from a file. Gemini CLI 0.61.0 asks ten times, up to half a minute apart."""
HEADERS = {"claude_code": {"ANTHROPIC_CUSTOM_HEADERS": f"x-account: {CANARY}\ncookie: session={CANARY}"}}


class Seen(msgspec.Struct):
    """What a run showed."""

    code: int | None = None
    """The exit code; `None` for a client that was killed here, or that had not ended when the time was over."""
    steps: list[str] = []
    """What the commands of the model wrote, each a line."""
    given: list[str] = []
    """What the provider answered, in order."""
    problems: list[str] = []


class Failing(Loopback):
    """A provider that answers the requests of the task as planned, and all others (titles, summaries) at once."""

    def __init__(self, api: str, plan: Sequence[str]) -> None:
        super().__init__([])
        self.api, self.plan = api, list(plan)
        self.given: list[str] = []
        self.at_last = asyncio.Event()
        """Set when the last answer of the plan is given."""

    async def _answer(self, heard: Heard, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if not offers_tools(heard.body) or MARK not in json.dumps(heard.body):
            return await self._send(played(heard.api, Turn("A title"), stream=heard.streaming), reader, writer)
        if len(self.plan) == 1:
            self.at_last.set()
        kind = self.plan[0] if len(self.plan) == 1 else self.plan.pop(0)
        self.given.append(kind)
        return await self._send(self._raw(kind, stream=heard.streaming), reader, writer)

    def _raw(self, kind: str, *, stream: bool) -> Raw:
        if kind.isdecimal():
            return Raw(int(kind), refused(self.api, "it is full"), headers={"retry-after": "0"})
        if kind.startswith("call"):
            number = kind.removeprefix("call ")
            name, parameter = RUN[self.api]
            arguments = {parameter: f"echo {number} >> steps.txt; sleep 0.3"}
            return played(self.api, Turn(f"Step {number}.", calls=((f"id_{number}", name, arguments),)), stream=stream)
        whole = played(self.api, Turn(WHOLE, pieces=PIECES), stream=stream)
        half = len(whole.body) // 2
        if kind.startswith(CUT_AFTER):
            ends = _event_ends(whole.body) if stream else ()
            end = ends[int(kind.removeprefix(CUT_AFTER)) - 1] if ends else half
            return Raw(200, whole.body, content_type=whole.content_type, stop_after=end)
        return Raw(
            200,
            whole.body,
            content_type=whole.content_type,
            stop_after=half if kind == "cut" else None,
            stall_after=half if kind == "stalled" else None,
            drip=0.001 if kind == "slow" else None,
        )


def _event_ends(body: bytes) -> tuple[int, ...]:
    return tuple(found.end() for found in re.finditer(rb"\n\n", body))


def cuts(client: str) -> list[str]:
    """A fault for each event of the answer after which the stream can break off: all but the last."""
    whole = played(ON[client], Turn(WHOLE, pieces=PIECES), stream=True)
    return [f"{CUT_AFTER}{number}" for number in range(1, len(_event_ends(whole.body)))]


def faults(client: str) -> list[str]:
    """The faults that a client is tried with. What passes for others ends a run of those that give up, so they are
    tried with what comes after it on its own."""
    own = {"continue": ("slow", "503", "529")}.get(client, ("slow",) if client in GIVES_UP else ())
    return ["passing", "refused", "cut", "gone", *own]


def is_right(client: str, fault: str, seen: Seen) -> bool:
    """Whether a run went as it must."""
    if fault.startswith(CUT_AFTER):  # it may end well where nothing but the end of the stream is missing
        return seen.code is not None and seen.steps == ["1"] and not seen.problems
    steps = {"passing": GIVES_UP.get(client, ["1", "2", "3"]), "refused": []}.get(fault, ["1"])
    fails = fault not in ("passing", "slow") or (fault == "passing" and client in GIVES_UP)
    ended = seen.code is None if fault == "gone" else bool(seen.code) if fails else seen.code == 0
    return ended and seen.steps == steps and not seen.problems


def tried(client: str, fault: str, folder: Path) -> Seen:
    """Runs a client with a fault in its sandbox; `folder` is where it may write."""
    folder.mkdir(parents=True)
    words = (client, fault, folder, *programs_of(client), ripgrep())
    seen = run_inside("tests.clients.faults", "--inside", *words, folder=folder, seconds=SECONDS * 2, type=Seen)
    return seen if isinstance(seen, Seen) else Seen(problems=[seen])


async def _run(client: str, fault: str, folder: Path, programs: Sequence[str]) -> Seen:
    """The inner side of a run."""
    api = ON[client]
    upstream = Failing(api, PLANS.get(fault, ("call 1", fault)))
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", 0)
    home = home_of(client, api, folder, programs, server.sockets[0].getsockname()[1])
    for name, content in {**ACCOUNTS.get(client, {}), **LESS_PATIENT.get(client, {})}.items():
        file = home.project.parent / name
        file.parent.mkdir(parents=True, exist_ok=True)
        before = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps(before | {key: _with(before.get(key), value) for key, value in content.items()}))
    program = str(Path(sys.executable).parent / "dragoman")
    words = ("gateway", STARTED[client].named, "--model", MODELS[api].named, "--watch", "--")
    process = await asyncio.create_subprocess_exec(
        *(program, *words, *PATIENCE.get(client, ()), *words_of(client, f"Do it. {MARK}")),
        cwd=home.project,
        env={**home.environment, **RETRIES.get(client, {}), **HEADERS.get(client, {})},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output = asyncio.create_task(process.communicate())
    seen = Seen()
    if fault == "gone":
        seen.problems += await _killed(process, upstream)
    out, err = await _ended(process, output)
    seen.code = None if fault == "gone" or process.returncode == -signal.SIGKILL else process.returncode
    said = out.decode("utf-8", "replace")
    steps = home.project / "steps.txt"
    seen.steps = steps.read_text().splitlines() if steps.exists() else []
    seen.given = upstream.given
    if seen.code == 0 and WHOLE not in said:
        seen.problems.append(f"exit code 0 without the whole answer: {said[-1000:]!r} {err[-1000:]!r}")
    if seen.code != 0 and (fault == "slow" or (fault == "passing" and client not in GIVES_UP)):
        seen.problems.append(f"exit code {seen.code}: {said[-1000:]!r} {err[-2000:]!r}")
    seen.problems += _leaks(said.encode() + err, upstream, home.project.parent)
    await upstream.stop()
    server.close()
    return seen


def _with(before: Any, added: Any) -> Any:
    return {**before, **added} if isinstance(before, dict) and isinstance(added, dict) else added


async def _killed(process: Process, upstream: Failing) -> list[str]:
    """Kills the client in the middle of an answer; the provider must be left within seconds."""
    await asyncio.wait_for(upstream.at_last.wait(), SECONDS)
    await asyncio.sleep(0.5)  # so that some of the answer is on its way
    for child in _below(process.pid):
        os.kill(child, signal.SIGKILL)
    try:
        await asyncio.wait_for(upstream.nobody.wait(), 20)
    except TimeoutError:
        return [f"{upstream.open} connections to the provider are open after the client was killed"]
    return []


def _below(process: int) -> list[int]:
    """The processes that a process has started, and those that these have started: Gemini CLI 0.61.0 is two."""
    own = [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return [*own, *(one for child in own for one in _below(child))]


async def _ended(process: Process, output: asyncio.Task[tuple[bytes, bytes]]) -> tuple[bytes, bytes]:
    try:
        return await asyncio.wait_for(asyncio.shield(output), SECONDS)
    except TimeoutError:
        for one in (*_below(process.pid), process.pid):  # a client that goes on would keep the output open
            os.kill(one, signal.SIGKILL)
        return await asyncio.wait_for(output, 30)


def _leaks(shown: bytes, upstream: Failing, home: Path) -> list[str]:
    """Secrets where they do not belong."""
    asked = json.dumps([[one.path, one.headers, one.body] for one in upstream.requests]).encode()
    own = [file for file in home.rglob("*") if file.is_file() and "dragoman" in file.parts]
    kept = b"".join(file.read_bytes() for file in own)
    client_files = [file for file in home.rglob("*") if file.is_file() and "dragoman" not in file.parts]
    found = []
    for place, data in (("the provider", asked), ("the gateway's files", kept), ("the output", shown)):
        if CANARY.encode() in data:
            around = re.search(rb".{0,80}" + CANARY.encode() + rb".{0,20}", data, re.DOTALL)
            found.append(f"the client's account is known to {place}: {around and around[0]!r}")
    for place, data in (
        ("the gateway's files", kept),
        ("the output", shown),
        *((str(file), file.read_bytes()) for file in client_files),
    ):
        if KEY.encode() in data:
            found.append(f"the provider's key is known to {place}")
    return found


# ── two clients at once ──────────────────────────────────────────────────────

TOGETHER = ("claude_code", "codex")
"""They ask one gateway at the same time."""
_GEMINI = "gemini_generate"
EXPECTED_TOGETHER = Seen(0, [f"{client} {number}" for client in TOGETHER for number in (1, 2, 3)])


class Both(Loopback):
    """A provider that gives each of several clients, known by its mark, its own three commands and an answer."""

    def __init__(self) -> None:
        super().__init__([])
        self.asked: list[str] = []

    async def _answer(self, heard: Heard, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        text = json.dumps(heard.body)
        marked = [client for client in TOGETHER if f"{MARK} {client}" in text]
        if not offers_tools(heard.body) or len(marked) != 1:
            return await self._send(played(heard.api, Turn("A title"), stream=heard.streaming), reader, writer)
        self.asked.append(marked[0])
        number = self.asked.count(marked[0])
        calls: tuple[Any, ...] = ()
        if number <= 3:
            name, parameter = RUN[_GEMINI]
            calls = ((f"id_{number}", name, {parameter: f"echo {marked[0]} {number} >> steps.txt; sleep 0.3"}),)
        said = played(heard.api, Turn(f"Step {number}." if calls else WHOLE, calls=calls), stream=heard.streaming)
        slow = Raw(said.status, said.body, content_type=said.content_type, drip=0.001)
        return await self._send(slow, reader, writer)


def tried_together(folder: Path) -> Seen:
    """Runs two clients at one gateway; `steps` are those of both."""
    folder.mkdir(parents=True)
    programs = [one for client in TOGETHER for one in (*programs_of(client), ripgrep())]
    words = ("--together", folder, *programs)
    seen = run_inside("tests.clients.faults", *words, folder=folder, seconds=SECONDS * 2, type=Seen)
    return seen if isinstance(seen, Seen) else Seen(problems=[seen])


async def _together(folder: Path, programs: Sequence[str]) -> Seen:
    upstream = Both()
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    homes = [
        home_of(client, _GEMINI, folder / client, programs[3 * place : 3 * place + 3], port)
        for place, client in enumerate(TOGETHER)
    ]
    words = ("gateway", "--model", MODELS[_GEMINI].named, "--token-env", "TOKEN_OF_BOTH")
    gateway = await asyncio.create_subprocess_exec(
        *(Path(sys.executable).parent / "dragoman", *words),
        env={**homes[0].environment, "TOKEN_OF_BOTH": "a-token"},
        stderr=asyncio.subprocess.PIPE,
    )
    assert gateway.stderr is not None
    url = (await gateway.stderr.readline()).split()[-1].decode()
    seen = Seen(code=0)
    running = [_one_of_both(client, home, url) for client, home in zip(TOGETHER, homes, strict=True)]
    for client, home, (code, said) in zip(TOGETHER, homes, await asyncio.gather(*running), strict=True):
        if code or WHOLE.encode() not in said:
            seen.problems.append(f"{client} ended with {code}: {said[-1000:]!r}")
        steps = home.project / "steps.txt"
        seen.steps += steps.read_text().splitlines() if steps.exists() else []
    changes = sum(one != other for one, other in zip(upstream.asked, upstream.asked[1:], strict=False))
    if changes < 2:
        seen.problems.append(f"they did not work at the same time: {upstream.asked}")
    gateway.terminate()
    await gateway.communicate()
    await upstream.stop()
    server.close()
    return seen


async def _one_of_both(client: str, home: Home, url: str) -> tuple[int | None, bytes]:
    known = POINTED[STARTED[client].named]
    told = (url, "a-token", MODELS[_GEMINI].named)
    process = await asyncio.create_subprocess_exec(
        STARTED[client].named,
        *(*known.arguments(*told), *words_of(client, f"Do it. {MARK} {client}")),
        cwd=home.project,
        env={
            **{name: value for name, value in home.environment.items() if "GEMINI" not in name},
            **known.environment(*told),
        },
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await _ended(process, asyncio.create_task(process.communicate()))
    return process.returncode, said


def main(wanted: Sequence[str]) -> int:
    wrong = 0
    only_cuts = wanted[:1] == ["--cuts"]
    wanted = wanted[1:] if only_cuts else wanted
    with (
        tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as folder,
        ThreadPoolExecutor(2) as pool,
    ):
        running = {
            (client, fault): pool.submit(tried, client, fault, Path(folder, f"{client}-{fault}"))
            for client in ON
            for fault in (cuts(client) if only_cuts else faults(client))
            if not wanted or client in wanted
        }
        together = None if only_cuts else pool.submit(tried_together, Path(folder, "together"))
        for (client, fault), future in running.items():
            seen = future.result()
            right = is_right(client, fault, seen)
            wrong += not right
            print(f"{client}, {fault}: {'ok' if right else seen}", flush=True)
        if together is not None:
            both = together.result()
            wrong += both != EXPECTED_TOGETHER
            print(f"{' and '.join(TOGETHER)} at once: {'ok' if both == EXPECTED_TOGETHER else both}")
    count = len(running) + (together is not None)
    print(f"{count - wrong} of {count} runs went as they must")
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        wanted_, fault_, place, *found_ = sys.argv[2:]
        outcome = asyncio.run(_run(wanted_, fault_, Path(place), found_))
        sys.stdout.buffer.write(msgspec.json.encode(outcome) + b"\n")
    elif sys.argv[1:2] == ["--together"]:
        outcome = asyncio.run(_together(Path(sys.argv[2]), sys.argv[3:]))
        sys.stdout.buffer.write(msgspec.json.encode(outcome) + b"\n")
    else:
        sys.exit(main(sys.argv[1:]))
