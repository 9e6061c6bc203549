"""Whether the embedded model does its tasks: fixed ones, with real tools in a folder of their own, checked by effect.

    python -m bench.local_tasks [--tasks held] [--model local:…] [--dialect …] [--no-guard] [--only a,b] [--verbose]

A task counts as done when the run ended by itself, the files are as they should be and the answer says what it must.
It prints one line a task and the rate, apart for tasks of one call and of several. On a machine that does other things
too the seconds of the processor say more than those of the clock: both are printed. At the end the time to the first
token is measured twice: with the instructions about the tools in the model's memory, and with the whole prompt read
anew.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec

from dragoman.engine import Orchestrator, RunResult, ToolPolicy
from dragoman.engine.models import LocalEngine, engine_for
from dragoman.errors import DragomanError
from dragoman.model import AnyChunk, Reply, ThinkingPart, user
from dragoman.registry import TOOLS
from dragoman.tools import DiskWorkspace, Toolset

from .held_tasks import HELD
from .small_tasks import EARLIER, TASKS, Task, calls_of, claims

OFFERED = ("read_file", "write_file", "edit_file", "list_directory", "search_text", "run_command")
SETS = {"fixed": TASKS, "earlier": EARLIER, "held": HELD}
SYSTEM = "You work in the current folder; paths are relative to it."


def thoughts_of(result: RunResult) -> list[str]:
    replies = [item for item in result.conversation if isinstance(item, Reply)]
    return [part.text for reply in replies for part in reply.parts if isinstance(part, ThinkingPart)]


class Watch:
    """When the first piece of a reply was seen."""

    def __init__(self) -> None:
        self.began, self.first = time.perf_counter(), 0.0

    def __call__(self, chunk: AnyChunk) -> None:
        self.first = self.first or time.perf_counter() - self.began


class Tried(NamedTuple):
    """One task, as it went."""

    wrong: str
    """Empty when it was done."""
    claimed: str
    """What was claimed though it is not so; empty when nothing was."""
    result: RunResult | None
    watch: Watch


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, apart from what Python compiles by itself."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def orchestrator(engine: LocalEngine, model: str, folder: Path, arguments: argparse.Namespace) -> Orchestrator:
    return Orchestrator(
        engine,
        Toolset([TOOLS[tool] for tool in OFFERED]),
        ToolPolicy(max_iterations=arguments.calls or 8),
        model_name=model,
        dialect=arguments.dialect,
        system=SYSTEM,
        workspace=DiskWorkspace(folder),
        guard=False if arguments.no_guard else None,
    )


async def tried(task: Task, engine: LocalEngine, model: str, arguments: argparse.Namespace) -> Tried:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, content in task.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content)
        before = contents(folder)
        run = orchestrator(engine, model, folder, arguments)
        watch = Watch()
        try:
            result = await run.run(task.prompt, observe=watch)
        except DragomanError as error:
            return Tried(str(error), "", None, watch)
        after = contents(folder)
        changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        wrong = task.undone(folder, result) if arguments.calls else task.done(folder, result)
        return Tried(wrong, claims(task, result, changed), result, watch)


async def first_token(
    engine: LocalEngine, model: str, arguments: argparse.Namespace, *, kept: bool
) -> tuple[float, float]:
    """Seconds of the clock and of the processor until the first token of a reply to a task.

    `kept`: what stands before the task was read before, and is in the model's memory.
    """
    with tempfile.TemporaryDirectory() as folder:
        prompt = f"What is the {'first' if kept else 'last'} number in notes.txt?"
        request = orchestrator(engine, model, Path(folder), arguments).prepare(prompt, stream=True).request
    options = {**request.provider_options, "cache_prompt": kept}
    request = msgspec.structs.replace(request, provider_options=options, max_output_tokens=1)
    if kept:
        await engine.ask(msgspec.structs.replace(request, conversation=(user("Hello."),)))
    used, watch = time.process_time(), Watch()
    await engine.inner.ask(engine.constrained(request), watch)
    return watch.first, time.process_time() - used


async def measured(arguments: argparse.Namespace) -> int:
    engine, model = engine_for(arguments.model)
    if not isinstance(engine, LocalEngine):
        print(f"{arguments.model} is no model in this process: this measures local: models")
        return 2
    if arguments.threads:
        engine.threads = arguments.threads
    chosen = [task for task in SETS[arguments.tasks] if not arguments.only or task.name in arguments.only.split(",")]
    print(f"{arguments.model}, {engine.threads} threads, {len(chosen)} tasks, tools: {', '.join(OFFERED)}", flush=True)
    firsts: list[float] = []
    false_claims = 0
    done: dict[bool, list[bool]] = {False: [], True: []}
    for task in chosen:
        began, used = time.perf_counter(), time.process_time()
        wrong, claimed, result, watch = await tried(task, engine, model, arguments)
        seconds, worked = time.perf_counter() - began, time.process_time() - used
        firsts.append(watch.first)
        done[task.steps > 1].append(not wrong)
        rounds = 0 if result is None else result.rounds
        verdict = "done" if not wrong else f"FAILED ({wrong})"
        if claimed:
            false_claims += 1
            verdict += f"; FALSE CLAIM ({claimed})"
        spent = f"{watch.first:5.1f} s to first {seconds:6.1f} s, processor {worked:5.1f} s"
        print(f"{task.name:16} {rounds} rounds {spent}  {verdict}", flush=True)
        if arguments.verbose and result is not None:
            said = [*thoughts_of(result), *calls_of(result)]
            print("".join(f"    {line}\n" for line in said) + f"    → {result.text!r}", flush=True)
    waits = (
        {}
        if arguments.calls
        else {kept: await first_token(engine, model, arguments, kept=kept) for kept in (False, True)}
    )
    await engine.close()
    for several, name in ((False, "one call"), (True, "several calls")):
        print(f"{name}: {sum(done[several])} of {len(done[several])}")
    everything = [*done[False], *done[True]]
    print(f"all: {sum(everything)} of {len(everything)}; first piece of a reply after {median(firsts):.1f} s (median)")
    for kept, (clock, worked) in waits.items():
        how = "with the instructions kept" if kept else "reading the whole prompt anew"
        print(f"first token {how}: {clock:.1f} s, processor {worked:.1f} s")
    print(f"false claims: {false_claims}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", default="local:qwen2.5-coder-1.5b")
    parser.add_argument("--dialect")
    parser.add_argument("--calls", type=int, metavar="N", help="stop after N calls, and look at what they did")
    parser.add_argument("--no-guard", action="store_true", help="believe the model when it calls a task done")
    parser.add_argument("--tasks", choices=[*SETS], default="fixed", help="held: those that nothing was tuned on")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    return asyncio.run(measured(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
