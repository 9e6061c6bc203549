"""Runs tasks with models, vocabularies and seeds, each in a scratch workspace of its own, and grades what came of it.

Rule: an attempt is written down as soon as it ended, so an evaluation that was interrupted continues where it was. Task
by task, every vocabulary is tried before the next task: what is there at any time compares them on the same tasks.
Attempts at the same time are in different vocabularies as far as possible, and those of one vocabulary follow one
another: a provider, or a model in this process, need not read the definitions of its tools again.
"""

from __future__ import annotations

import asyncio
import datetime
import re
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.dialects import DIALECTS, Dialect
from dragoman.engine import Approval, Engine, Orchestrator, RunResult, ToolPolicy
from dragoman.engine.models import LocalEngine, configured_sandbox, dialect_of, engine_for
from dragoman.errors import ConfigError, EngineError, LogError, writing
from dragoman.logs import Recorder
from dragoman.model import AnyEvent, Failure, ToolCalled, ToolChoice, ToolReturned, operations as op
from dragoman.registry import TOOLS
from dragoman.tools import DiskWorkspace, Tool, Toolset

from .grading import Judge, files_of, problems_of

if TYPE_CHECKING:
    from dragoman.config import Configuration, Sandbox

    from .tasks import Function, Suite, Task

OWN = "own"
"""Stands for the vocabulary the model was trained on."""
RESULTS = "attempts.jsonl"
HARMLESS = ("read", "write", "search", "plan", "other")
"""Kinds of operations that stay in the scratch workspace."""


class Attempt(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One task with one model, vocabulary and seed, and what came of it."""

    task: str
    digest: str
    model: str
    vocabulary: str
    seed: int
    done: bool | None
    """Whether the task was done; `None`: the provider failed, which says nothing about the model."""
    problems: tuple[str, ...] = ()
    status: str = ""
    answer: str = ""
    rounds: int = 0
    calls: int = 0
    misread: int = 0
    """Calls with a wrong name, or with arguments that do not fit or that the tool refused."""
    tokens: int | None = None
    cost: float | None = None
    seconds: float = 0.0
    record: str = ""
    """The file of the run's events, relative to the folder of the results: `dragoman show` shows it."""
    time: str = ""

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What an attempt is known by: a task that was changed is another one."""
        return self.task, self.digest, self.model, self.vocabulary, self.seed


class Verdict(msgspec.Struct):
    """What a judge says of an answer."""

    reason: str
    passed: bool


Engines = Callable[[str], tuple[Engine, str]]
"""Gives the engine and the name to ask a model by."""


async def evaluate(
    suite: Suite,
    folder: str | Path,
    *,
    models: Sequence[str] = (),
    vocabularies: Sequence[str | Dialect] | Mapping[str, str | Dialect] = (),
    seeds: Sequence[int] = (),
    judge: str | None = None,
    commands: bool = False,
    at_once: int = 1,
    engines: Engines | None = None,
    configuration: Configuration | None = None,
    report: Callable[[Attempt], None] | None = None,
) -> list[Attempt]:
    """Tries every task with every model, vocabulary and seed, and returns all attempts.

    Results and records are kept in `folder`; attempts that are there already are not made again, except those that
    ended in an error of the provider. A vocabulary is a `Dialect`, a name, or `own` for the model's own; a mapping
    gives each of them the name it has in the results. `commands` allows what leaves the scratch workspace: commands
    of models and of tasks, and the web. `at_once` is how many attempts are made at the same time. `report` gets each
    new attempt.
    """
    place = Path(folder)
    names = tuple(models) or suite.models
    if not names:
        raise ConfigError("no model is named: name one with --model, or list `models` in the file")
    if not commands and any(task.expect.command for task in suite.tasks):
        raise ConfigError("tasks are graded by commands, which run on this machine: allow it with --yes")
    if judge is None and any(task.expect.rubric for task in suite.tasks):
        raise ConfigError("tasks are graded by a rubric: name the model that judges with --judge")
    with writing(place, "choose another folder for the results"):
        (place / "records").mkdir(parents=True, exist_ok=True)
    known = read_attempts(place)
    asked = engines or (lambda name: engine_for(name, configuration=configuration))
    found: dict[tuple[int, int], Attempt] = {}
    async with AsyncExitStack() as stack:
        opened = {name: _opened(stack, asked(name), at_once, optional=suite.optional) for name in dict.fromkeys(names)}
        judging = None if judge is None else _judge(*_opened(stack, asked(judge), at_once, optional=False))
        labelled = _labelled(vocabularies or suite.vocabularies)
        arms = [(name, label, seed) for name in opened for label in labelled for seed in (seeds or suite.seeds)]

        async def tried(task_number: int, arm_number: int) -> None:
            task, (name, label, seed) = suite.tasks[task_number], arms[arm_number]
            before = known.get((task.name, task.digest, name, label, seed))
            if before is not None and before.done is not None:
                found[task_number, arm_number] = before
                return
            engine, plain_name = opened[name]
            one = _Trial(suite, task, name, label, seed, place, commands, configuration)
            attempt = await one.made(engine, plain_name, _dialect(labelled[label], plain_name), judging)
            with writing(place / RESULTS), (place / RESULTS).open("ab") as file:
                file.write(msgspec.json.encode(attempt) + b"\n")
            found[task_number, arm_number] = attempt
            if report is not None:
                report(attempt)

        await _in_lanes(len(suite.tasks), len(arms), at_once, tried)
    return [found[place] for place in sorted(found)]


async def _in_lanes(tasks: int, arms: int, at_once: int, tried: Callable[[int, int], Awaitable[None]]) -> None:
    """Tries every task in every arm, in lanes side by side: a lane has arms of its own, as far as there are enough."""
    lanes: list[list[tuple[int, int]]] = [[] for _ in range(at_once)]
    wide = max(1, at_once // arms)
    for task in range(tasks):
        for arm in range(arms):
            lanes[(arm * wide + task % wide) % at_once].append((task, arm))

    async def follow(lane: list[tuple[int, int]]) -> None:
        for task, arm in lane:
            await tried(task, arm)

    running = [asyncio.ensure_future(follow(lane)) for lane in lanes]
    try:
        await asyncio.gather(*running)
    finally:
        for one in running:
            one.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def read_attempts(folder: Path) -> dict[tuple[str, str, str, str, int], Attempt]:
    """The attempts in a folder of results; of several of one kind, the last. A half-written last line is left out."""
    try:
        lines = (folder / RESULTS).read_bytes().split(b"\n")
    except FileNotFoundError:
        return {}
    found = {}
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            attempt = msgspec.json.decode(line, type=Attempt)
        except msgspec.DecodeError as error:
            if number == len(lines):  # the process was killed while it wrote
                continue
            raise LogError(f"{folder / RESULTS}, line {number}: {error}") from error
        found[attempt.key] = attempt
    return found


def _opened(stack: AsyncExitStack, made: tuple[Engine, str], at_once: int, *, optional: bool) -> tuple[Engine, str]:
    if isinstance(made[0], LocalEngine):
        # Twice as many as there are at once: tasks with tools of their own do not take the place of the others' prompt.
        made[0].conversations, made[0].optional = 2 * at_once, optional
    close = getattr(made[0], "close", None)
    if close is not None:
        stack.push_async_callback(close)
    return made


def _labelled(vocabularies: Sequence[str | Dialect] | Mapping[str, str | Dialect]) -> dict[str, str | Dialect]:
    """Name in the results → vocabulary."""
    if isinstance(vocabularies, Mapping):
        return dict(vocabularies)
    found: dict[str, str | Dialect] = {}
    for vocabulary in vocabularies:
        name = vocabulary if isinstance(vocabulary, str) else vocabulary.name
        if found.setdefault(name, vocabulary) is not vocabulary:
            raise ConfigError(f"two vocabularies are called {name!r}: give them names, as in {{'mine': dialect}}")
    return found


def _dialect(vocabulary: str | Dialect, model: str) -> Dialect:
    if isinstance(vocabulary, Dialect):
        return vocabulary
    found: Dialect = DIALECTS[dialect_of(model) if vocabulary == OWN else vocabulary]
    return found


def _judge(engine: Engine, name: str) -> Judge:
    orchestrator = Orchestrator(engine, model_name=name, output=Verdict)

    async def judged(prompt: str, rubric: str, answer: str) -> str:
        question = (
            "Judge whether an answer meets a rubric. Judge by the rubric alone.\n\n"
            f"<task>\n{prompt}\n</task>\n\n<rubric>\n{rubric}\n</rubric>\n\n<answer>\n{answer}\n</answer>"
        )
        result = await orchestrator.run(question)
        if result.output is None:
            raise EngineError(f"the judge gave no verdict: {result.error}")
        return "" if result.output.passed else result.output.reason or "the rubric is not met"

    return judged


class _Trial(msgspec.Struct):
    """One task with one model, vocabulary and seed, before it is made."""

    suite: Suite
    task: Task
    model: str
    vocabulary: str
    seed: int
    place: Path
    commands: bool
    configuration: Configuration | None

    async def made(self, engine: Engine, name: str, dialect: Dialect, judge: Judge | None) -> Attempt:
        """Makes the attempt."""
        task, events = self.task, list[AnyEvent]()
        record = self.place / "records" / f"{_file_name(task.name, self.model, self.vocabulary, str(self.seed))}.jsonl"
        record.unlink(missing_ok=True)
        began = time.perf_counter()
        result: RunResult[Any] | None = None
        with tempfile.TemporaryDirectory(prefix="dragoman-eval-") as scratch, Recorder(record) as keep:
            folder = _filled(Path(scratch), task)
            before = files_of(folder)

            def emit(event: AnyEvent) -> None:
                events.append(event)
                keep(event)

            try:
                result = await self._orchestrator(engine, name, dialect, folder).run(task.prompt, emit=emit)
                problems = await problems_of(
                    task,
                    folder,
                    before,
                    _asked_for(events),
                    result.text,
                    sandbox=self._sandbox(),
                    seconds=self.suite.timeout,
                    judge=judge,
                )
                if result.status == "failed":
                    problems.append(f"the run failed: {result.error}")
                if task.expect.only_calls and (refused := sum(map(_is_misread, events))):
                    problems.append(f"{refused} of the calls {'was' if refused == 1 else 'were'} refused")
                done: bool | None = not problems
            except EngineError as error:
                done, problems = None, [str(error)]
        calls = [event for event in events if isinstance(event, ToolCalled)]
        return Attempt(
            task=task.name,
            digest=task.digest,
            model=self.model,
            vocabulary=self.vocabulary,
            seed=self.seed,
            done=done,
            problems=tuple(problems),
            status="error" if result is None else result.status,
            answer="" if result is None else result.text,
            rounds=0 if result is None else result.rounds,
            calls=len(calls),
            misread=sum(_is_misread(event) for event in events),
            tokens=None if result is None else result.usage.total,
            cost=None if result is None else result.cost,
            seconds=round(time.perf_counter() - began, 3),
            record=record.relative_to(self.place).as_posix(),
            time=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )

    def _orchestrator(self, engine: Engine, name: str, dialect: Dialect, folder: Path) -> Orchestrator:
        task, suite = self.task, self.suite
        offered = [TOOLS[tool] for tool in (suite.tools if task.tools is None else task.tools)]
        kinds = tuple(Approval("allow", kind=kind) for kind in HARMLESS)
        orchestrator = Orchestrator(
            engine,
            Toolset([*offered, *map(_tool, task.functions)]),
            ToolPolicy(
                max_iterations=task.max_turns or suite.max_turns,
                timeout=suite.timeout,
                approval=() if self.commands else kinds,
                default="allow" if self.commands else "deny",
                choice=ToolChoice(suite.tool_choice),
            ),
            model_name=name,
            configuration=self.configuration,
            dialect=dialect,
            system=suite.system,
            workspace=DiskWorkspace(folder),
            temperature=suite.temperature,
            seed=self.seed,
            guard=False,
        )
        orchestrator.sandbox = self._sandbox()
        return orchestrator

    def _sandbox(self) -> Sandbox | None:
        """Where commands run: those of models and of tasks alike."""
        return None if self.configuration is None else configured_sandbox(self.configuration, askable=False)


def _filled(scratch: Path, task: Task) -> Path:
    """The folder, with the files of a task in it."""
    folder = scratch.resolve()
    for path, content in task.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content.encode())
    return folder


def _tool(function: Function) -> Tool:
    return Tool(
        function.name, function.description, function.parameters, lambda arguments: function.returns, kind="other"
    )


def _asked_for(events: Iterable[AnyEvent]) -> list[op.Operation]:
    return [operation for event in events if isinstance(event, ToolCalled) for operation in event.call.operations]


def _is_misread(event: AnyEvent) -> bool:
    return isinstance(event, ToolReturned) and any(
        isinstance(outcome, Failure) and outcome.kind in ("unknown_tool", "invalid_arguments")
        for outcome in event.result.outcomes
    )


def _file_name(*parts: str) -> str:
    return "--".join(re.sub(r"[^A-Za-z0-9._-]+", "_", part) for part in parts)
