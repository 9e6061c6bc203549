"""`evaluate`: attempts in scratch workspaces, graded in every way there is, resumable, compared pair by pair."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench import eval_tasks
from dragoman.dialects import DIALECTS
from dragoman.engine import Engine, Facade, ScriptedEngine
from dragoman.errors import ConfigError, DefinitionError, EngineError, LogError
from dragoman.evaluation import Attempt, Expected, Suite, Task, differences, evaluate, load_suite, rates, read_attempts
from dragoman.evaluation.comparison import bootstrap, sign_test, wilson
from dragoman.logs import read_events
from dragoman.model import (
    CallFunction,
    CallPart,
    EditFile,
    Features,
    FinishReason,
    NativeCall,
    ReadFile,
    Reply,
    TextPart,
    ToolCalled,
    operations as op,
)
from dragoman.model.operations import Edit
from dragoman.registry import TOOLS
from dragoman.tools import Toolset

FIX = Task("fix", "Say 2.", Expected(files={"a.txt": "2\n"}, unchanged=True), {"a.txt": "two\n", "b.txt": "b\n"})
PAGE = Path(__file__).parents[2] / "docs" / "howto" / "evaluate.md"
SUITE = Suite("trial", (FIX,), vocabularies=("claude_code", "gemini_cli"))


def calls(name: str, arguments: Any, id: str = "c1") -> Reply:
    return Reply((CallPart(NativeCall(id, name, arguments)),), FinishReason.CALLS)


RIGHT = calls("Edit", {"file_path": "a.txt", "old_string": "two", "new_string": "2"})
READ = calls("Read", {"file_path": "a.txt"}, "c0")  # Claude Code edits only what was read
WRONG = calls("replace", {"file_path": "b.txt", "instruction": "x", "old_string": "b", "new_string": "2"})


def scripted(*steps: Any, **more: Any) -> Any:
    engine = ScriptedEngine(list(steps), **more)
    return lambda name: (engine, name)


async def test_vocabularies_are_compared_on_the_same_task_and_records_can_be_read(tmp_path: Path) -> None:
    attempts = await evaluate(SUITE, tmp_path, models=["m"], engines=scripted(READ, RIGHT, "Done.", WRONG, "Done."))
    assert [(one.vocabulary, one.done, one.problems) for one in attempts] == [
        ("claude_code", True, ()),
        ("gemini_cli", False, ("a.txt does not hold what it should", "b.txt was changed")),
    ]
    called = [event for event in read_events(tmp_path / attempts[0].record) if isinstance(event, ToolCalled)]
    assert [event.call.operations for event in called] == [
        (ReadFile("a.txt"),),
        (EditFile("a.txt", (Edit("two", "2"),)),),
    ]
    (difference,) = differences(attempts)
    assert (difference.difference, difference.better, difference.worse, difference.pairs) == (-1.0, 0, 1, 1)
    (turned,) = differences(attempts, "gemini_cli")
    assert (turned.vocabulary, turned.difference) == ("claude_code", 1.0)


async def test_what_was_tried_is_not_tried_again_but_what_a_provider_spoilt_is(tmp_path: Path) -> None:
    broken = EngineError("down", code="overloaded")
    first = await evaluate(SUITE, tmp_path, models=["m"], engines=scripted(READ, RIGHT, "Done.", broken))
    assert [one.done for one in first] == [True, None]
    row = rates(first)[1]
    assert (row.attempts, row.errors) == (0, 1)
    reported: list[Attempt] = []
    again = await evaluate(SUITE, tmp_path, models=["m"], engines=scripted(WRONG, "Done."), report=reported.append)
    assert ([one.done for one in again], again[0]) == ([True, False], first[0])
    assert reported == [again[1]]
    changed = msgspec.structs.replace(SUITE, tasks=(msgspec.structs.replace(FIX, prompt="Say 2, please."),))
    more = await evaluate(
        changed, tmp_path, models=["m"], vocabularies=["claude_code"], engines=scripted(READ, RIGHT, "Done.")
    )
    assert more[0].digest != first[0].digest


class Asked:
    """Answers at once or never; notes what it was asked, and how many at the same time."""

    def __init__(self, *, together: int, fails: str = "") -> None:
        self.inner = ScriptedEngine([])
        self.together, self.fails = asyncio.Barrier(together), fails
        self.prompts: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def ask(self, request: Any, observe: Any = None) -> Reply:
        self.prompts.append(request.conversation[-1].text)
        if self.fails and self.fails in self.prompts[-1]:
            raise RuntimeError("broken")
        await self.together.wait()
        return Reply((TextPart("Done."),), FinishReason.STOP)


@pytest.mark.parametrize("arms, at_once", [(2, 4), (2, 2), (4, 2), (1, 3)])
async def test_attempts_at_the_same_time_are_all_made_and_reported_in_order(
    tmp_path: Path, arms: int, at_once: int
) -> None:
    tasks = tuple(Task(f"t{number}", f"Do {number}.", Expected(answer="done")) for number in range(6))
    suite = Suite("several", tasks, vocabularies=("plain", "codex", "gemini_cli", "claude_code")[:arms])
    engine = Asked(together=at_once)  # no attempt ends before as many as that were begun
    attempts = await evaluate(suite, tmp_path, models=["m"], at_once=at_once, engines=lambda name: (engine, name))
    assert [(one.task, one.vocabulary) for one in attempts] == [(t.name, v) for t in tasks for v in suite.vocabularies]
    assert all(one.done for one in attempts)
    assert (len(read_attempts(tmp_path)), len(engine.prompts)) == (6 * arms, 6 * arms)


async def test_a_fault_in_one_attempt_ends_those_at_the_same_time(tmp_path: Path) -> None:
    tasks = tuple(Task(f"t{number}", f"Do {number}.", Expected(answer="done")) for number in range(4))
    engine = Asked(together=3, fails="Do 1.")
    with pytest.raises(RuntimeError, match="broken"):
        await evaluate(
            Suite("several", tasks, vocabularies=("plain",)),
            tmp_path,
            models=["m"],
            at_once=2,
            engines=lambda name: (engine, name),
        )
    assert (engine.prompts, read_attempts(tmp_path)) == (["Do 0.", "Do 1."], {})


async def test_a_call_that_its_tool_refused_does_not_count_where_nothing_else_may_be_done(tmp_path: Path) -> None:
    pages = calls("Read", {"file_path": "a.txt", "pages": "1-2"})
    wanted = {"type": "read_file", "path": "a.txt"}
    for only, problems in ((True, ("1 of the calls was refused",)), (False, ())):
        task = Task("read", "Read a.txt.", Expected(calls=(wanted,), only_calls=only), {"a.txt": "two\n"})
        suite = Suite("trial", (task,), vocabularies=("claude_code",))
        (attempt,) = await evaluate(suite, tmp_path / str(only), models=["m"], engines=scripted(pages, "Done."))
        assert (attempt.problems, attempt.misread) == (problems, 1)


async def test_a_line_that_was_half_written_is_tried_again_and_a_broken_one_is_reported(tmp_path: Path) -> None:
    await evaluate(SUITE, tmp_path, models=["m"], engines=scripted(READ, RIGHT, "Done.", WRONG, "Done."))
    results = tmp_path / "attempts.jsonl"
    results.write_bytes(results.read_bytes()[:-20])
    assert len(read_attempts(tmp_path)) == 1
    results.write_bytes(b"{}\n" + results.read_bytes())
    with pytest.raises(LogError, match=r"attempts.jsonl, line 1"):
        read_attempts(tmp_path)


@pytest.mark.parametrize(
    "expect, problem",
    [
        (Expected(answer="forty-?two"), None),
        (Expected(answer="43"), "the answer does not match '43'"),
        (Expected(absent=("a.txt",)), "a.txt exists"),
        (Expected(files={"new.txt": ""}), "new.txt does not exist"),
        (Expected(command="test -f a.txt"), None),
        (Expected(command="echo no; exit 3"), "`echo no; exit 3` exits with 3: no"),
        (Expected(calls=({"type": "read_file", "path": "a.txt"},)), None),
        (Expected(calls=({"type": "read_file", "path": {"one_of": ["b.txt", "a.txt"]}},), only_calls=True), None),
        (Expected(calls=({"one_of": [{"type": "find_files"}, {"type": "read_file", "path": "a.txt"}]},)), None),
        (
            Expected(calls=({"type": "read_file", "path": "b.txt"},)),
            'no call means {"type":"read_file","path":"b.txt"}; made: {"type":"read_file","path":"a.txt"}',
        ),
        (
            Expected(calls=(), only_calls=True),
            '1 operations were asked for, not 0: {"type":"read_file","path":"a.txt"}',
        ),
    ],
)
async def test_a_task_is_graded_by_what_it_expects(expect: Expected, problem: str | None, tmp_path: Path) -> None:
    task = Task("t", "Read.", expect, {"a.txt": "42\n"})
    suite = Suite("s", (task,), vocabularies=("claude_code",))
    engines = scripted(calls("Read", {"file_path": "./a.txt"}), "It is Forty-Two.")
    (attempt,) = await evaluate(suite, tmp_path, models=["m"], engines=engines, commands=True)
    assert (attempt.done, attempt.problems) == (problem is None, () if problem is None else (problem,))


@pytest.mark.parametrize("passed", [True, False])
async def test_a_judge_grades_by_the_rubric(passed: bool, tmp_path: Path) -> None:
    suite = Suite("s", (Task("t", "Be polite.", Expected(rubric="It says please.")),), vocabularies=("plain",))
    judge = ScriptedEngine(
        [msgspec.json.encode({"passed": passed, "reason": "rude"}).decode()], features=Features(response_schema=True)
    )
    model = ScriptedEngine(["Give me tea."])

    def engines(name: str) -> tuple[Engine, str]:
        return (judge if name == "judge" else model), name

    (attempt,) = await evaluate(suite, tmp_path, models=["m"], judge="judge", engines=engines)
    assert (attempt.done, attempt.problems) == (passed, () if passed else ("the judge says: rude",))
    assert "Give me tea." in str(judge.requests[0].conversation)


async def test_commands_run_only_if_they_are_allowed(tmp_path: Path) -> None:
    graded = Suite("s", (Task("t", "Go.", Expected(command="true")),))
    with pytest.raises(ConfigError, match="--yes"):
        await evaluate(graded, tmp_path, models=["m"], engines=scripted())
    touch = Task("t", "Go.", Expected(files={"made": ""}), tools=("run_command",))
    suite = Suite("s", (touch,), vocabularies=("claude_code",))
    for allowed in (False, True):
        engines = scripted(calls("Bash", {"command": "touch made"}), "Done.")
        (attempt,) = await evaluate(suite, tmp_path / str(allowed), models=["m"], engines=engines, commands=allowed)
        assert attempt.done is allowed


async def test_calls_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    engines = scripted(calls("Nope", {}), calls("Edit", {"file_path": 7}, "c2"), READ, RIGHT, "Done.")
    (attempt,) = await evaluate(SUITE, tmp_path, models=["m"], vocabularies=["claude_code"], engines=engines)
    assert (attempt.done, attempt.misread, attempt.calls) == (True, 2, 4)


def test_a_file_with_problems_is_refused_with_all_of_them(tmp_path: Path) -> None:
    (tmp_path / "more.jsonl").write_text('{"name": "a"}\n')
    (tmp_path / "s.toml").write_text(
        """name = "s"
tasks_from = ["more.jsonl", "gone.jsonl"]
[[tasks]]
name = "out"
prompt = "x"
files = {"../evil" = "x"}
expect = {answer = "x"}
[[tasks]]
name = "out"
prompt = "x"
expect = {}
[[tasks]]
name = "odd"
prompt = "x"
expect = {answer = "("}
[[tasks]]
name = "never"
prompt = " "
[tasks.expect]
calls = [
    {type = "read_fil", path = "a"},
    {type = "read_file", pth = "a"},
    {one_of = [{type = "read_file", path = "a"}, {type = "grep"}]},
    {path = "a"},
    {type = {one_of = ["read_file", "edit_file"]}, path = "a", edits = []},
]
"""
    )
    with pytest.raises(DefinitionError) as caught:
        load_suite(tmp_path / "s.toml")
    text = str(caught.value)
    for part in (
        "line 1",
        "gone.jsonl",
        "two tasks are called 'out'",
        "nothing is expected",
        "'../evil' is not",
        "answer: ",
        "task 'never': the prompt is empty",
        "calls: there is no operation 'read_fil'. Did you mean \"read_file\"?",
        "calls: read_file has no field 'pth'. Did you mean \"path\"?",
        "calls: there is no operation 'grep'.",
        "calls: an operation needs a type, such as read_file",
    ):
        assert part in text
    assert text.count("calls: ") == 4


# ── figures ──────────────────────────────────────────────────────────────────


def test_intervals_are_those_of_the_books() -> None:
    assert [round(one, 3) for one in wilson(8, 10)] == [0.490, 0.943]
    assert sign_test(8, 1) == pytest.approx(0.0390625)
    assert sign_test(0, 0) == 1.0
    low, high = bootstrap([1.0, 0.0, 0.0, -1.0] * 25)
    assert -0.2 < low < 0 < high < 0.2
    assert bootstrap([0.5] * 9) == (0.5, 0.5)


# ── the tasks that come with dragoman ────────────────────────────────────────


def test_the_tasks_are_the_ones_that_are_generated() -> None:
    assert {name: (eval_tasks.FOLDER / name).read_bytes() for name in eval_tasks.files()} == eval_tasks.files()


@pytest.mark.parametrize("name, least", [("one_call", 200), ("edits", 40)])
def test_there_are_enough_tasks_and_all_of_them_are_different(name: str, least: int) -> None:
    suite = load_suite(eval_tasks.FOLDER / f"{name}.toml")
    assert len({(task.prompt, str(task.files)) for task in suite.tasks}) >= least
    assert len(suite.vocabularies) == 5


@pytest.mark.parametrize("vocabulary", ["plain", "claude_code", "gemini_cli", "codex", "qwen_code"])
async def test_each_kind_of_task_can_be_done_in_each_vocabulary(vocabulary: str, tmp_path: Path) -> None:
    suite = load_suite(eval_tasks.FOLDER / "one_call.toml")
    chosen = suite.tasks[: len(eval_tasks.CALLS)]
    for task in chosen:
        (wanted,) = task.expect.calls
        operation = _operation(wanted)
        facade = Facade(DIALECTS[vocabulary], Toolset([TOOLS[tool] for tool in suite.tools]))
        if isinstance(operation, CallFunction):
            native = NativeCall("c1", operation.name, operation.arguments)
        else:
            (native,) = facade.write_call("c1", operation)
        engines = scripted(Reply((CallPart(native),), FinishReason.CALLS))
        one = msgspec.structs.replace(suite, tasks=(task,))
        (attempt,) = await evaluate(one, tmp_path, models=["m"], vocabularies=[vocabulary], engines=engines)
        assert (task.name, attempt.problems) == (task.name, ())


def _operation(wanted: dict[str, Any]) -> op.Operation:
    wanted = wanted.get("one_of", [wanted])[0]
    plain = {
        key: value["one_of"][0] if isinstance(value, dict) and "one_of" in value else value
        for key, value in wanted.items()
    }
    found: op.Operation = msgspec.convert(plain, op.OPERATIONS[plain["type"]])
    return found


async def test_two_vocabularies_of_one_name_need_names_of_their_own(tmp_path: Path) -> None:
    mine = DIALECTS["plain"].but()
    with pytest.raises(ConfigError, match="two vocabularies are called 'plain'"):
        await evaluate(SUITE, tmp_path, models=["m"], vocabularies=["plain", mine], engines=scripted())


def test_the_vocabulary_of_the_page_is_tried_as_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert programs
    for program in programs:
        exec(program, {"__name__": "page"})
        shown = re.search(r"(?:^# .*\n)+\Z", program, re.MULTILINE)
        assert shown is not None
        assert capsys.readouterr().out.strip() == re.sub(r"^# ", "", shown[0], flags=re.MULTILINE).strip()


def test_tasks_are_read_from_files_that_end(tmp_path: Path) -> None:
    """A suite comes from anybody: a pipe or a device that it names, or is, is neither waited for nor read for ever."""
    suite = tmp_path / "suite.toml"
    os.mkfifo(tmp_path / "pipe")
    suite.write_text("name = 'x'\ntasks_from = ['pipe', '/dev/zero', 'none']\n")
    with pytest.raises(DefinitionError) as error:
        load_suite(suite)
    assert [problem.partition(": ")[2] for problem in error.value.problems] == [
        "it cannot be read: not a regular file",
        "it cannot be read: not a regular file",
        "it cannot be read: No such file or directory",
    ]
    with pytest.raises(DefinitionError, match="it cannot be read: not a regular file"):
        load_suite("/dev/zero")
