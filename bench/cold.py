"""Importing, in a new process each time, net of the bare interpreter."""

from __future__ import annotations

import sys

from bench.benches import Bench, Target
from bench.stopwatch import per_process

PROGRAMS = {
    "interpreter": "pass",
    "msgspec": "import msgspec",
    "ours": "import dragoman",
    "ours, to define a tool": "from dragoman import tool",
    "pydantic": "import pydantic; pydantic.BaseModel",
    "pydantic_ai": "import pydantic_ai",
    "openai_agents": "import agents",
}


def measure(column: str) -> list[float]:
    return per_process([sys.executable, "-I", "-c", PROGRAMS[column]])


BENCH = Bench(
    question="import the library",
    environments={
        column: column if column in ("pydantic", "pydantic_ai", "openai_agents") else "base" for column in PROGRAMS
    },
    floor="msgspec",
    targets=(Target("ours", "msgspec", 2.5), Target("ours, to define a tool", "msgspec", 2.5)),
    measure=measure,
    net_of="interpreter",
)
