"""Whether the embedded model does its tasks: fixed ones, with real tools in a folder of their own, checked by effect.

    python -m bench.local_tasks [--tasks held] [--model local:…] [--dialect a,b] [--no-guard] [--only a,b] [--verbose]

A task counts as done when the run ended by itself, the files are as they should be and the answer says what it must.
It prints one line for each task and, for each vocabulary, how many were done: of those of one call and of those of
several. `--record FILE` appends each result to a file as JSON, and what the file already has is not run again, so a
measurement that was interrupted continues. On a busy machine processor time says more than elapsed time: both are
printed. `--jobs N` makes N attempts at the same time, which takes about half the processor time; that of one attempt is
then not known. `--first-token` measures the time to the first token twice: with the instructions about the tools in the
model's memory, and with the whole prompt read anew.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

import msgspec

from dragoman.engine import Orchestrator, RunResult, ToolPolicy
from dragoman.engine.models import LocalEngine, dialect_of, engine_for
from dragoman.errors import DragomanError
from dragoman.model import (
    AnyChunk,
    AnyEvent,
    Reply,
    ThinkingPart,
    events as ev,
    operations as op,
    outcomes as out,
    user,
)
from dragoman.registry import TOOLS
from dragoman.tools import DiskWorkspace, Toolset

from .held_tasks import HELD
from .small_tasks import DEVELOPMENT, EARLIER, TASKS, Task, calls_of, claims

OFFERED = ("read_file", "write_file", "edit_file", "list_directory", "search_text", "run_command")
SETS = {"fixed": TASKS, "earlier": EARLIER, "development": DEVELOPMENT, "held": HELD}
SYSTEM = "You work in the current folder; paths are relative to it."


class Attempt(msgspec.Struct, frozen=True, omit_defaults=True):
    """One task in one vocabulary, and how it went."""

    tasks: str
    task: str
    dialect: str
    model: str
    guard: bool
    several: bool
    """Whether the task takes more than one call."""
    wrong: str = ""
    """Why it was not done; empty when it was."""
    claimed: str = ""
    """What was claimed though it is not so; empty when nothing was."""
    rounds: int = 0
    first: float = 0.0
    """Seconds until the first piece of a reply."""
    seconds: float = 0.0
    processor: float | None = None
    """`None` where several attempts were made at the same time."""
    calls: tuple[str, ...] = ()
    answer: str = ""
    date: str = ""
    most: int = 0
    """How many calls it was allowed; 0: the run ended by itself."""

    @property
    def key(self) -> tuple[str, str, str, str, bool, int]:
        return self.tasks, self.task, self.dialect, self.model, self.guard, self.most

    @property
    def line(self) -> str:
        verdict = "done" if not self.wrong else f"FAILED ({self.wrong})"
        if self.claimed:
            verdict += f"; FALSE CLAIM ({self.claimed})"
        spent = f"{self.first:5.1f} s to first {self.seconds:6.1f} s"
        spent += "" if self.processor is None else f", processor {self.processor:5.1f} s"
        return f"{self.dialect:12} {self.task:18} {self.rounds} rounds {spent}  {verdict}"


def thoughts_of(result: RunResult) -> list[str]:
    replies = [item for item in result.conversation if isinstance(item, Reply)]
    return [part.text for reply in replies for part in reply.parts if isinstance(part, ThinkingPart)]


def commands_run(events: Iterable[AnyEvent]) -> list[str]:
    """The command lines that were run: not those that were only searched for, refused, or answered without a run."""
    calls = {}
    ran: list[str] = []
    for event in events:
        if isinstance(event, ev.ToolCalled):
            calls[event.call.id] = event.call
        elif isinstance(event, ev.ToolReturned):
            call = calls.get(event.result.call_id)
            ran += [
                operation.command
                for operation, outcome in zip(
                    () if call is None else call.operations, event.result.outcomes, strict=False
                )
                if isinstance(operation, op.RunCommand) and isinstance(outcome, out.CommandOutcome)
            ]
    return ran


class Watch:
    """When the first piece of a reply was seen."""

    def __init__(self) -> None:
        self.began, self.first = time.perf_counter(), 0.0

    def __call__(self, chunk: AnyChunk) -> None:
        self.first = self.first or time.perf_counter() - self.began


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, apart from what Python compiles by itself."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def orchestrator(
    engine: LocalEngine,
    model: str,
    folder: Path,
    dialect: str,
    arguments: argparse.Namespace,
    events: list[AnyEvent] | None = None,
) -> Orchestrator:
    return Orchestrator(
        engine,
        Toolset([TOOLS[tool] for tool in OFFERED]),
        ToolPolicy(max_iterations=arguments.calls or 8),
        model_name=model,
        dialect=dialect,
        system=SYSTEM,
        workspace=DiskWorkspace(folder),
        guard=False if arguments.no_guard else None,
        emit=None if events is None else events.append,
    )


async def attempted(
    task: Task, engine: LocalEngine, model: str, dialect: str, arguments: argparse.Namespace
) -> tuple[Attempt, RunResult | None]:
    began, used, watch = time.perf_counter(), time.process_time(), Watch()
    events: list[AnyEvent] = []
    result: RunResult | None = None
    claimed = ""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, content in task.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content)
        before = contents(folder)
        run = orchestrator(engine, model, folder, dialect, arguments, events)
        try:
            result = await run.run(task.prompt, observe=watch)
        except DragomanError as error:
            wrong = str(error)
        else:
            after = contents(folder)
            changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
            ran = commands_run(events)
            wrong = (task.undone if arguments.calls else task.done)(folder, result, ran)
            claimed = claims(task, result, changed)
    attempt = Attempt(
        arguments.tasks,
        task.name,
        dialect,
        arguments.model,
        not arguments.no_guard,
        task.steps > 1,
        wrong,
        claimed,
        0 if result is None else result.rounds,
        round(watch.first, 1),
        round(time.perf_counter() - began, 1),
        None if arguments.jobs > 1 else round(time.process_time() - used, 1),
        () if result is None else tuple(calls_of(result)),
        "" if result is None else result.text,
        datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        arguments.calls or 0,
    )
    return attempt, result


async def first_token(
    engine: LocalEngine, model: str, arguments: argparse.Namespace, *, kept: bool
) -> tuple[float, float]:
    """Elapsed seconds and processor seconds until the first token of a reply to a task.

    `kept`: what stands before the task was read before, and is in the model's memory.
    """
    with tempfile.TemporaryDirectory() as folder:
        prompt = f"What is the {'first' if kept else 'last'} number in notes.txt?"
        dialect = dialects(arguments, model)[0]
        request = orchestrator(engine, model, Path(folder), dialect, arguments).prepare(prompt, stream=True).request
    options = {**request.provider_options, "cache_prompt": kept}
    request = msgspec.structs.replace(request, provider_options=options, max_output_tokens=1)
    if kept:
        await engine.ask(msgspec.structs.replace(request, conversation=(user("Hello."),)))
    used, watch = time.process_time(), Watch()
    await engine.inner.ask(engine.constrained(request), watch)
    return watch.first, time.process_time() - used


def dialects(arguments: argparse.Namespace, model: str) -> list[str]:
    return arguments.dialect.split(",") if arguments.dialect else [dialect_of(model)]


def recorded(path: Path | None) -> dict[tuple[str, str, str, str, bool, int], Attempt]:
    """What a file of records holds; the last of several records of one attempt counts."""
    if path is None or not path.exists():
        return {}
    attempts = (msgspec.json.decode(line, type=Attempt) for line in path.read_bytes().splitlines())
    return {attempt.key: attempt for attempt in attempts}


async def measured(arguments: argparse.Namespace) -> int:
    engine, model = engine_for(arguments.model)
    if not isinstance(engine, LocalEngine):
        print(f"{arguments.model} does not run in this process: this measures local: models")
        return 2
    if arguments.threads:
        engine.threads = arguments.threads
    named = {task.name: task for task in SETS[arguments.tasks]}
    chosen = [named[name] for name in (arguments.only.split(",") if arguments.only else named)]
    spoken = dialects(arguments, model)
    print(f"{arguments.model}, {engine.threads} threads, {len(chosen)} tasks, tools: {', '.join(OFFERED)}", flush=True)
    known = recorded(arguments.record)
    # Twice as many conversations as attempts: what is read of one vocabulary stays in memory beside another's.
    engine.conversations = 1 if arguments.jobs == 1 else 2 * arguments.jobs
    room = asyncio.Semaphore(arguments.jobs)

    async def one(task: Task, dialect: str) -> Attempt:
        key = (arguments.tasks, task.name, dialect, arguments.model, not arguments.no_guard, arguments.calls or 0)
        before = known.get(key)
        if before is not None:
            return before
        async with room:
            attempt, result = await attempted(task, engine, model, dialect, arguments)
        print(attempt.line, flush=True)
        if arguments.record is not None:
            with arguments.record.open("ab") as file:
                file.write(msgspec.json.encode(attempt) + b"\n")
        if arguments.verbose and result is not None:
            said = [*thoughts_of(result), *attempt.calls]
            print("".join(f"    {line}\n" for line in said) + f"    → {result.text!r}", flush=True)
        return attempt

    # Task by task, so that an interrupted measurement compares the vocabularies by the same tasks.
    attempts = await asyncio.gather(*(one(task, dialect) for task in chosen for dialect in spoken))
    waits = (
        {kept: await first_token(engine, model, arguments, kept=kept) for kept in (False, True)}
        if arguments.first_token
        else {}
    )
    await engine.close()
    for dialect in spoken:
        summarise(dialect, [attempt for attempt in attempts if attempt.dialect == dialect])
    for kept, (clock, worked) in waits.items():
        how = "with the instructions kept" if kept else "reading the whole prompt anew"
        print(f"first token {how}: {clock:.1f} s, processor {worked:.1f} s")
    return 0


def summarise(dialect: str, attempts: Sequence[Attempt]) -> None:
    def done(chosen: Sequence[Attempt]) -> str:
        return f"{sum(not attempt.wrong for attempt in chosen)} of {len(chosen)}"

    single, several = ([attempt for attempt in attempts if attempt.several is side] for side in (False, True))
    false_claims = sum(bool(attempt.claimed) for attempt in attempts)
    spent = [one.processor for one in attempts if one.processor is not None]
    print(
        f"{dialect}: one call {done(single)}, several calls {done(several)}, all {done(attempts)}; "
        f"false claims: {false_claims}" + (f"; processor time {median(spent):.0f} s (median)" if spent else "")
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", default="local:qwen2.5-coder-1.5b")
    parser.add_argument("--dialect", default="", help="vocabularies, separated by commas")
    parser.add_argument("--calls", type=int, metavar="N", help="stop after N calls, and look at what they did")
    parser.add_argument("--no-guard", action="store_true", help="believe the model when it calls a task done")
    parser.add_argument("--tasks", choices=[*SETS], default="fixed", help="held: those that nothing was tuned on")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="attempts at the same time")
    parser.add_argument("--only", default="", help="names of tasks, separated by commas, in the order they are run")
    parser.add_argument("--record", type=Path, metavar="FILE", help="keep the results, and do not repeat what it has")
    parser.add_argument("--first-token", action="store_true", help="measure the time to the first token too")
    parser.add_argument("--verbose", action="store_true")
    return asyncio.run(measured(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
