"""A whole run over real sockets: ten tools, five turns of two parallel calls, and an answer in 200 chunks.

The scripted server, the floors and the peers' clients lie in `$DRAGOMAN_SHARED/bench/loop` and are run from there; our
client is `loop_client.py`. Cost is the CPU time of the client's process, divided by the calibration its driver prints;
`loop:memory` is in kilobytes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.benches import Bench, Target
from bench.environments import ROOT, python_of

AT_ONCE = 200
MOST_MEMORY = 150  # kB
NO_CLIENT = f"{MOST_MEMORY} kB"


@dataclass(frozen=True)
class Client:
    """A script that makes runs, and where it runs; `cheap` ones make more of them."""

    script: str
    environment: str
    settings: Mapping[str, str]
    cheap: bool = False


OURS = Client(str(ROOT / "bench" / "loop_client.py"), "base", {}, cheap=True)
FLOOR = Client("c_floor.py", "base", {"FLOOR": "raw+msgspec"}, cheap=True)
FAST = {
    "ours": Client(OURS.script, "uvloop", {"EVENT_LOOP": "uvloop"}, cheap=True),
    "floor": Client("c_floor.py", "uvloop", {"FLOOR": "raw+msgspec+uvloop"}, cheap=True),
}
PEERS = {
    "openai SDK": Client("c_sdk.py", "openai", {"SDK": "openai"}),
    "pydantic-ai": Client("c_pydantic_ai.py", "pydantic_ai", {}),
    "openai-agents": Client("c_agents.py", "openai_agents", {}),
    "litellm": Client("c_chatlike.py", "litellm", {"LIB": "litellm"}),
}
OWN = {"ours": OURS, "floor": FLOOR}


def folder() -> Path:
    shared = os.environ.get("DRAGOMAN_SHARED")
    found = (ROOT / shared).resolve() / "bench" / "loop" if shared else None
    if found is None or not found.is_dir():
        raise SystemExit("the scripted server lies in bench/loop of the shared folder: set DRAGOMAN_SHARED to that")
    return found


@contextmanager
def server() -> Iterator[int]:
    """The port of a scripted server, for as long as it is wanted. It ends when its standard input does."""
    command = [python_of("uvloop"), folder() / "server.py"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_environment({}))
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline().split()[1])
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Nothing is written into the shared folder, not even bytecode."""
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(folder()), **settings}


def runs(client: Client, form: str, *, pace: int = 0, at_once: int = 0) -> dict[str, Any]:
    """What one process of a client reports of its runs, every one of which it has checked."""
    times = 6 if pace or not client.cheap else 60
    options = {"fmt": form, "stream": 1, "pace": pace, "runs": times, "conc": at_once}
    with server() as port:
        command = [sys.executable, client.script, "--port", str(port)]
        command += [word for name, value in options.items() for word in (f"--{name}", str(value))]
        done = subprocess.run(
            command, cwd=folder(), env=_environment(client.settings), capture_output=True, text=True, check=False
        )
    said = done.stdout.rpartition("RESULT ")[2]
    if done.returncode != 0 or not said:
        raise SystemExit(f"{client.script} failed:\n{done.stderr[-2000:]}\n{done.stdout[-500:]}")
    report: dict[str, Any] = json.loads(said.splitlines()[0])
    return report


def cost(clients: Mapping[str, Client], form: str, column: str, *, pace: int = 0) -> list[float]:
    report = runs(clients[column], form, pace=pace)["c1"]
    return [report["cpu_ms"] / report["calib_ms"]]


def memory(column: str) -> list[float]:
    """Kilobytes by which the process grew, for each of many runs at once."""
    if column == NO_CLIENT:
        return [MOST_MEMORY]
    report = runs(OWN[column], "chat", at_once=AT_ONCE)
    return [(report["rss_cN_mb"] - report["rss_c1_mb"]) * 1024 / AT_ONCE]


def _bench(question: str, clients: Mapping[str, Client], form: str, *targets: Target, pace: int = 0) -> Bench:
    return Bench(
        question=question,
        environments={column: client.environment for column, client in clients.items()},
        floor="floor",
        targets=targets,
        measure=partial(cost, clients, form, pace=pace),
    )


LEAN = Target("ours", "floor", 3)
BURST = "a whole run, its answers in a burst"

BENCHES = {
    "chat": _bench(
        f"{BURST}, OpenAI Chat",
        OWN | PEERS,
        "chat",
        LEAN,
        Target("ours", "openai SDK", 1 / 15),
        Target("ours", "pydantic-ai", 1 / 30),
    ),
    "responses": _bench(f"{BURST}, OpenAI Responses", OWN, "responses", LEAN),
    "anthropic": _bench(f"{BURST}, Anthropic Messages", OWN, "anthropic", LEAN),
    "gemini": _bench(f"{BURST}, Gemini", OWN, "gemini", LEAN),
    "uvloop": _bench(f"{BURST}, OpenAI Chat, on uvloop", FAST, "chat", LEAN),
    "paced": _bench(
        "a whole run, one event a millisecond, OpenAI Chat", OWN, "chat", Target("ours", "floor", 1.3), pace=1
    ),
    "paced-uvloop": _bench(
        "a whole run, one event a millisecond, OpenAI Chat, on uvloop",
        FAST,
        "chat",
        Target("ours", "floor", 1.5),
        pace=1,
    ),
    "memory": Bench(
        question=f"memory of each of {AT_ONCE} runs at once, OpenAI Chat (kilobytes, not CPU time)",
        environments=dict.fromkeys([*OWN, NO_CLIENT], "base"),
        floor=NO_CLIENT,
        targets=(Target("ours", NO_CLIENT, 1),),
        measure=memory,
    ),
}
