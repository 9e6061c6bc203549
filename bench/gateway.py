"""A request of a coding agent through a gateway: ours, LiteLLM's proxy and claude-code-router, to one server.

The client sends Anthropic Messages as Claude Code does (tools, instructions and a conversation with calls, about
100 kB), the server answers in Chat Completions, both on loopback and streamed. `gateway:cpu` is the CPU time of the
gateway's process for one request, `gateway:first` the time until the first text arrives, without the server's own.
`gateway:sight` is the CPU time for conversations that were never seen before, in units of what they may cost, and
`gateway:next` that of one turn more in a conversation of 2 MB, in units of passing the bytes on (`pass_on.py`).
claude-code-router and the Node that it needs come from npm, once, into .lab/.

A turn is one call with its result, 3.6 kB: as many calls as in the real session with the most of them for its size
(of the twelve largest of Claude Code at hand: 3.6 to 78 kB for each call).
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from bench.benches import Bench, Target
from bench.environments import LAB
from bench.stopwatch import calibrated

OURS, CLIENTS_WORDS, LITELLM, ROUTER, DIRECT = "ours", "ours, --words client", "litellm", "claude-code-router", "none"
PASSED, ALLOWED = "passed on", "5 ms for 100 kB"
PACKAGES = ("@musistudio/claude-code-router@2.0.0", "node@24")
KEY = "sk-the-key-of-this-bench-0123456789"
REQUESTS = 20
WARM = 5
TURNS = 8
"""Calls in the history. Each request has one turn more than the one before it, as in a real session."""
QUIET = 0.0235
"""Seconds of the calibration on the quiet machine that the milliseconds are of."""
LONG = 100
"""Calls in a conversation that is seen for the first time: 400 kB."""
LONGEST = 550
"""Calls in one of 2 MB."""

# ── what is asked ────────────────────────────────────────────────────────────

_TOOLS = {
    # Claude Code's, with their parameters; those that must be given come first, before the "|".
    "Read": "file_path | offset limit",
    "Edit": "file_path old_string new_string | replace_all",
    "Write": "file_path content |",
    "Bash": "command | timeout description run_in_background",
    "Agent": "description prompt | subagent_type model run_in_background",
    "WebFetch": "url prompt |",
    "NotebookEdit": "notebook_path new_source | cell_id cell_type edit_mode",
    "TaskStop": "task_id |",
    **{f"mcp__server__tool_{number}": "text | limit" for number in range(12)},
}
_TEXT = "Use this when you need it, and say what you found in plain words. "


def _tool(name: str, parameters: str) -> dict[str, Any]:
    required, optional = (half.split() for half in parameters.split("|"))
    properties = {one: {"type": "string", "description": _TEXT} for one in (*required, *optional)}
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"name": name, "description": _TEXT * 25, "input_schema": schema}


def _turn(number: int) -> list[dict[str, Any]]:
    path = f"/src/{number}.py"
    name, given, told = (
        ("Read", {"file_path": path}, "\n".join(f"{line}\tvalue_{line} = {number}" for line in range(1, 260))),
        ("Bash", {"command": f"git log -5 {path}"}, f"commit {number:040x} Tidy up once more\n" * 73),
        (
            "Edit",
            {"file_path": path, "old_string": "a = 1", "new_string": "a = 2"},
            f"The file {path} has been updated.",
        ),
    )[number % 3]
    call = {"type": "tool_use", "id": f"toolu_{number:04}", "name": name, "input": given}
    return [
        {"role": "assistant", "content": [{"type": "text", "text": f"Step {number}."}, call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": told}]},
    ]


def request(turns: int, begin: str = "Tidy up.") -> bytes:
    """What the client sends in a conversation that begins with these words."""
    messages = [{"role": "user", "content": begin}, *(one for number in range(turns) for one in _turn(number))]
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 4096,
        "stream": True,
        "system": [{"type": "text", "text": _TEXT * 200}],
        "tools": [_tool(name, parameters) for name, parameters in _TOOLS.items()],
        "messages": messages,
    }
    return json.dumps(body).encode()


# ── who answers ──────────────────────────────────────────────────────────────

_WORDS = [f"word{number} " for number in range(50)]


def _chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", "choices": [choice]}
    return b"data: %s\n\n" % json.dumps({**head, **more}).encode()


_ANSWER = b"".join(
    [
        _chunk({"role": "assistant", "content": ""}),
        *(_chunk({"content": word}) for word in _WORDS),
        _chunk({}, "stop", usage={"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}),
        b"data: [DONE]\n\n",
    ]
)


class _Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else the second packet of an answer waits 40 ms for the first to be acknowledged

    def log_message(self, format: str, *values: Any) -> None:
        pass

    def do_POST(self) -> None:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            while length := int(self.rfile.readline(), 16):
                self.rfile.read(length + 2)
            self.rfile.readline()
        else:
            self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(_ANSWER)))
        self.end_headers()
        self.wfile.write(_ANSWER)


@contextmanager
def served() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()


# ── who stands between ───────────────────────────────────────────────────────


@dataclass(frozen=True)
class Gateway:
    """How a gateway is started: (its port, the server's, a folder of its own) → command and variables."""

    environment: str
    start: Callable[[int, int, Path], tuple[list[str], dict[str, str]]]


def _ours(words: str, port: int, upstream: int, folder: Path) -> tuple[list[str], dict[str, str]]:
    options = ("--model", "openai-chat:gpt-4o", "--port", str(port), "--token-env", "TOKEN", "--words", words)
    folders = {f"DRAGOMAN_{name}_DIR": str(folder) for name in ("CONFIG", "DATA", "CACHE")}
    key = {"OPENAI_BASE_URL": f"http://127.0.0.1:{upstream}/v1", "OPENAI_API_KEY": "none", "TOKEN": KEY}
    return [sys.executable, "-I", "-m", "dragoman", "gateway", *options], {**folders, **key}


def _litellm(port: int, upstream: int, folder: Path) -> tuple[list[str], dict[str, str]]:
    asked = {"model": "hosted_vllm/gpt-4o", "api_base": f"http://127.0.0.1:{upstream}/v1", "api_key": "none"}
    models = [{"model_name": "claude-sonnet-4-5", "litellm_params": asked}]
    config = {"model_list": models, "general_settings": {"master_key": KEY}}
    (folder / "config.yaml").write_text(json.dumps(config))  # JSON is YAML
    program = str(Path(sys.executable).parent / "litellm")
    words = ["--config", str(folder / "config.yaml"), "--host", "127.0.0.1", "--port", str(port)]
    return [program, *words], {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR"}


def _router(port: int, upstream: int, folder: Path) -> tuple[list[str], dict[str, str]]:
    home = folder / ".claude-code-router"
    home.mkdir()
    provider = {
        "name": "here",
        "api_base_url": f"http://127.0.0.1:{upstream}/v1/chat/completions",
        "api_key": "none",
        "models": ["gpt-4o"],
    }
    config = {"HOST": "127.0.0.1", "PORT": port, "LOG": False, "Providers": [provider]}
    (home / "config.json").write_text(json.dumps({**config, "Router": {"default": "here,gpt-4o"}}))
    lab = LAB / "gateway-npm"
    if not (lab / "node_modules").exists():
        lab.mkdir(parents=True, exist_ok=True)
        quiet = ("--silent", "--no-audit", "--no-fund")
        subprocess.run(["npm", "install", *quiet, "--prefix", str(lab), *PACKAGES], check=True)
    node = next(lab.glob("node_modules/node/bin/node"), None) or next(lab.glob("node_modules/node-*/bin/node"))
    program = lab / "node_modules" / "@musistudio" / "claude-code-router" / "dist" / "cli.js"
    return [str(node), str(program), "start"], {"HOME": str(folder), "SERVICE_PORT": str(port)}


def _passed_on(port: int, upstream: int, folder: Path) -> tuple[list[str], dict[str, str]]:
    return [sys.executable, "-I", str(Path(__file__).with_name("pass_on.py")), str(port), str(upstream)], {}


GATEWAYS: Mapping[str, Gateway] = {
    OURS: Gateway("base", partial(_ours, "model")),
    CLIENTS_WORDS: Gateway("base", partial(_ours, "client")),
    LITELLM: Gateway("litellm_proxy", _litellm),
    ROUTER: Gateway("base", _router),
    PASSED: Gateway("base", _passed_on),
}


@contextmanager
def started(column: str, upstream: int) -> Iterator[tuple[int, int]]:
    """The port at which requests are answered, and the gateway's process: the server's own port and 0 for none."""
    if column == DIRECT:
        yield upstream, 0
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    with tempfile.TemporaryDirectory(prefix="gateway-", ignore_cleanup_errors=True) as folder:
        command, variables = GATEWAYS[column].start(port, upstream, Path(folder))
        with (Path(folder) / "output").open("wb") as output:
            process = subprocess.Popen(
                command, env={**os.environ, **variables}, cwd=folder, stdout=output, stderr=subprocess.STDOUT
            )
        try:
            _wait(port, process, Path(folder) / "output")
            yield port, process.pid
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(20)


def _wait(port: int, process: subprocess.Popen[bytes], output: Path) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit(f"it does not answer: {output.read_text()[-2000:]}")


def _cpu(process: int) -> float:
    """CPU seconds of a process and of those below it."""
    total = 0.0
    left = [process]
    while left:
        one = left.pop()
        total += time.clock_gettime((~one << 3) | 2)  # the clock of another process's CPU time, as Linux numbers them
        for task in Path(f"/proc/{one}/task").iterdir():
            left += map(int, (task / "children").read_text().split())
    return total


def _asked(port: int, body: bytes) -> float:
    """Seconds until the first text of an answer, which is read to its end and checked."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"content-type": "application/json", "x-api-key": KEY, "anthropic-version": "2023-06-01"}
    begun = time.perf_counter()
    connection.request("POST", "/v1/messages", body, headers)
    response = connection.getresponse()
    said, first = b"", 0.0
    while piece := response.read1(65536):
        said += piece
        if not first and b"word0 " in said:
            first = time.perf_counter() - begun
    connection.close()
    if response.status != 200 or not first or b"word49 " not in said:
        raise SystemExit(f"the answer is not whole: {response.status} {said[-500:]!r}")
    return first


def _cpu_of(column: str, bodies: list[bytes]) -> list[float]:
    """The CPU time that a gateway takes for a request, five requests at a time."""
    with served() as upstream, started(column, upstream) as (port, process):
        for body in bodies[:WARM]:
            _asked(port, body)

        def work(asked: list[bytes]) -> float:
            before = _cpu(process)
            for body in asked:
                _asked(port, body)
            return (_cpu(process) - before) / len(asked)

        rounds = [bodies[at : at + 5] for at in range(WARM, len(bodies), 5)]
        return [calibrated(partial(work, asked)) for asked in rounds]


def sight(column: str) -> list[float]:
    bodies = [request(LONG, f"Task {number}.") for number in range(WARM + REQUESTS)]
    if column == ALLOWED:
        return [0.005 * len(bodies[0]) / 100_000 / QUIET]
    return _cpu_of(column, bodies)


def longest(column: str) -> list[float]:
    return _cpu_of(column, [request(LONGEST + number) for number in range(WARM + REQUESTS)])


def cpu(column: str) -> list[float]:
    return _cpu_of(column, [request(TURNS + number) for number in range(WARM + REQUESTS)])


def first(column: str) -> list[float]:
    bodies = [request(TURNS + number) for number in range(WARM + REQUESTS)]
    with served() as upstream, started(column, upstream) as (port, _):
        times = [_asked(port, body) for body in bodies]
        return [calibrated(lambda: sorted(times[WARM:])[REQUESTS // 2])]


_COLUMNS = {column: gateway.environment for column, gateway in GATEWAYS.items() if column != PASSED}

BENCHES = {
    "cpu": Bench(
        question="a request of 100 kB through a gateway, CPU time of its process",
        environments=_COLUMNS,
        floor=LITELLM,
        targets=(Target(OURS, LITELLM, 1 / 5), Target(CLIENTS_WORDS, ROUTER, 1)),
        measure=cpu,
    ),
    "first": Bench(
        question="a request of 100 kB through a gateway, time until the first text",
        environments={**_COLUMNS, DIRECT: "base"},
        floor=LITELLM,
        targets=(Target(OURS, LITELLM, 1 / 5), Target(CLIENTS_WORDS, ROUTER, 1)),
        measure=first,
        net_of=DIRECT,
    ),
    "sight": Bench(
        question="a request of 400 kB that was never seen before, CPU time of the gateway's process",
        environments={OURS: "base", CLIENTS_WORDS: "base", ALLOWED: "base", LITELLM: _COLUMNS[LITELLM]},
        floor=ALLOWED,
        targets=(Target(OURS, ALLOWED, 1), Target(CLIENTS_WORDS, ALLOWED, 1)),
        measure=sight,
    ),
    "next": Bench(
        question="one turn more in a conversation of 2 MB, CPU time of the gateway's process",
        environments={OURS: "base", CLIENTS_WORDS: "base", PASSED: "base", LITELLM: _COLUMNS[LITELLM]},
        floor=PASSED,
        targets=(Target(OURS, PASSED, 3), Target(CLIENTS_WORDS, PASSED, 3)),
        measure=longest,
    ),
}
