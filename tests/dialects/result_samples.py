"""Results that every vocabulary is asked to write and read, for the snapshot of `test_result_snapshot.py`.

`python -m tests.dialects.result_samples` writes the snapshot again. Do that only for a wording that was changed on
purpose: results repeat what clients print.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from dragoman.dialects import DIALECTS, Dialect, Spelling, tell, understand
from dragoman.dialects.plugins.samples import plain, plain_outcomes, plain_values
from dragoman.errors import ToolError
from dragoman.model import NativeCall, NativeResult, operations as op, outcomes as out

FOLDER = Path(__file__).parent / "results"
FROZEN = tuple(name for name in DIALECTS.built_in if name != "plain")
"""`plain` is our own vocabulary, whose wording no client prints."""

TEXTS = ("", "some words", "one\ntwo\n", "  1\tone\n  2\ttwo", "/tmp/a.py\n/tmp/b.py")
"""What a tool may print that is in no wording we know."""


def outcomes_of(operation: op.Operation) -> list[out.Outcome]:
    """The outcomes that an operation may have, each of their fields said by one of them."""
    return [*plain_outcomes(operation), *_more_of(operation), out.TextOutcome("some words"), out.DoneOutcome()]


def _more_of(operation: op.Operation) -> list[out.Outcome]:
    path = getattr(operation, "path", None)
    path = path if isinstance(path, str) else "src/a.py"
    match operation:
        case op.ReadFile():
            return [
                out.FileOutcome(path, "a\n\n\n", operation.first_line or 1, 9),
                out.FileOutcome(path, "a\nb", operation.first_line or 1, 2, 3, encoding="utf-16", resolved="src/b.py"),
                out.FileOutcome(path, "a\r\nb\u2028c\x0c\n", operation.first_line or 1, truncated=True),
                out.ImageOutcome(out.Media("image/png", "AAAA")),
                out.NotebookOutcome(path, (out.Cell("x", "code", "1", "python", ("1",)),)),
            ]
        case op.RunCommand() | op.ReadOutput() | op.TypeInto() | op.StopCommand() | op.WatchCommand():
            return _commands()
        case op.ListCommands():
            jobs = (out.Job("7", "ls -l", True), out.Job("8", "a\nb", False, 3), out.Job("9"))
            return [out.JobsOutcome(()), out.JobsOutcome(jobs)]
        case op.ListDirectory():
            kinds = (out.Entry("l", "link"), out.Entry("o", "other"), out.Entry("d/e", "directory", 0))
            return [
                out.DirectoryOutcome(path, kinds, truncated=True),
                out.DirectoryOutcome(path, (out.Entry("a b (3 bytes)"),), ignored=2),
                out.DirectoryOutcome(path, (), truncated=True, ignored=0),
            ]
        case op.FindFiles():
            return [out.PathsOutcome(("a b", "c"), 2), out.PathsOutcome((), 0, truncated=True)]
        case op.SearchText() | op.SearchCode():
            return _matches(getattr(operation, "mode", "content"))
        case op.WriteFile() | op.EditFile() | op.InsertText() | op.DeleteFile() | op.MoveFile():
            changed = out.Change(path, "modified", diff="@@ -1 +1 @@\n-a\n+b\n", added=1, removed=1, replacements=2)
            return [
                out.ChangesOutcome((changed,), skipped=1),
                out.ChangesOutcome((out.Change(path, "moved", moved_to="src/b.py"),)),
                out.ChangesOutcome((out.Change(path, "unchanged"),), preview=True),
                out.ChangesOutcome((out.Change(path, "created", added=3), out.Change("b", "deleted"))),
                out.ChangesOutcome(()),
            ]
        case op.SearchWeb() | op.FetchPage() | op.FindInPage():
            return _pages()
        case op.UpdatePlan() | op.AddPlanItem() | op.ChangePlanItem() | op.ReadPlan():
            items = (op.PlanItem("a | b", "completed", "1", "more"), op.PlanItem("c", "blocked", "2", doing="doing c"))
            return [out.PlanOutcome(items, "because")]
        case op.AskUser():
            answers = (out.Answer("Go on?", ("yes", "no")), out.Answer("Why?", (), "it is\nlate"), out.Answer("Who?"))
            return [out.AnswersOutcome(()), out.AnswersOutcome(answers), out.AnswersOutcome(answers[:1])]
        case (
            op.SpawnAgent()
            | op.WaitForAgent()
            | op.ListAgents()
            | op.MessageAgent()
            | op.StopAgent()
            | op.ResumeAgent()
        ):
            return _agents()
        case op.ReadMcpResource() | op.ListMcpResources():
            resource = out.Resource("file:///a", "a", "an a", "text/plain", "toy", "its text")
            return [out.ResourcesOutcome(()), out.ResourcesOutcome((resource, out.Resource("b:c")), "next")]
        case op.SearchTools():
            return [out.ToolsOutcome(()), out.ToolsOutcome(("a", "b"), ({"name": "a"},))]
        case op.ViewImage() | op.TakeScreenshot() | op.GenerateImage() | op.UseComputer():
            return [out.ImageOutcome(out.Media("image/png", "AAAA", name="a.png"))]
    return [
        out.DoneOutcome("a note"),
        out.JsonOutcome({"a": [1, None]}),
        out.ContentOutcome(("one", out.Media("image/png", "AAAA"), "two"), {"a": 1}),
    ]


def _commands() -> list[out.Outcome]:
    return [
        out.CommandOutcome(0, output="two\n\n\n", duration_ms=0, sandbox="none"),
        out.CommandOutcome(1, output="no newline", truncated=12, output_path="/tmp/o.txt", duration_ms=1500),
        out.CommandOutcome(0, stdout="", stderr="", job="7"),
        out.CommandOutcome(0, stdout="only\n", stderr=""),
        out.CommandOutcome(output="", running=True, job="7"),
        out.CommandOutcome(output="", running=True),
        out.CommandOutcome(output="so far", running=True),
        out.CommandOutcome(output="late\n", timed_out=True, job="7", exit_code=124),
        out.CommandOutcome(output="dead", signal=15, timed_out=True),
        out.CommandOutcome(output="who knows\n"),
        out.CommandOutcome(-1, output="a\r\nb\u2028c\x0c\n"),
    ]


def _matches(mode: Any) -> list[out.Outcome]:
    if mode == "files":
        found = (out.Match("a b.py"), out.Match("c/d.py"))
    elif mode == "count":
        found = (out.Match("a.py", count=3), out.Match("c/d.py", count=12))
    else:
        found = (
            out.Match("a.py", 7, "total = 1", ("one", "two"), ("three",)),
            out.Match("a.py", 20, "total = 2"),
            out.Match("c/d.py", 1, "total\nmore", last_line=2),
            out.Match("e.py", 3, "x total", column=3),
        )
    return [out.MatchesOutcome(found, mode, 9, 3, truncated=True), out.MatchesOutcome(found, mode, skipped=1)]


def _pages() -> list[out.Outcome]:
    hit = out.Page("https://a.example/", "A", snippet="of a", age="2 days ago")
    fetched = out.Page("https://b.example/", None, "text\n", status=200, media_type="text/html", truncated=True)
    return [
        out.PagesOutcome(()),
        out.PagesOutcome((hit, fetched), "the answer", "the query"),
        out.PagesOutcome((hit,), query="the query"),
        out.PagesOutcome((fetched,), "the answer"),
    ]


def _agents() -> list[out.Outcome]:
    done = out.AgentReport("agent-1", "completed", "its answer\n", "ann", "explore", "look around")
    running = out.AgentReport("agent-2", "running")
    return [
        out.AgentsOutcome(()),
        out.AgentsOutcome((done,)),
        out.AgentsOutcome((running,)),
        out.AgentsOutcome((done, running), timed_out=True),
        out.AgentsOutcome((out.AgentReport(None, "completed", "its answer"),)),
        out.AgentsOutcome((out.AgentReport("agent-3", "failed", "it broke"),)),
        out.AgentsOutcome((out.AgentReport("agent-4", "limited"),)),
    ]


# ── calls ────────────────────────────────────────────────────────────────────


def calls_of(dialect: Dialect) -> Iterator[tuple[NativeCall, op.Operation]]:
    """One call of every tool for every operation that it says; of reading and searching some more."""
    for spelling in dialect.spellings:
        for operation_type in spelling.operation_types:
            several = operation_type in (op.ReadFile, op.SearchText)
            yield from _calls(spelling, operation_type)[: 4 if several else 1]


def _calls(spelling: type[Spelling[Any]], operation_type: type[op.Operation]) -> list[tuple[NativeCall, op.Operation]]:
    written: dict[str, tuple[NativeCall, op.Operation]] = {}
    for call in _said(spelling, operation_type):
        freeform = spelling.freeform
        arguments = call.native_arguments() if freeform is None else call.native_arguments()[freeform.field]
        native = NativeCall("1", call.native_name, arguments, spelling.namespace, spelling.executed_by)
        try:
            operation = next((one for one in call.to_operations() if type(one) is operation_type), None)
        except (ValueError, ToolError):
            continue  # no call that means anything
        if operation is not None:
            written.setdefault(repr(arguments), (native, operation))
    return list(written.values())


def _said(spelling: type[Spelling[Any]], operation_type: type[op.Operation]) -> list[Spelling[Any]]:
    if spelling.reshaped and spelling.from_operation.__func__ is Spelling.from_operation.__func__:
        return _plain_calls(spelling)  # a tool that is only read
    values = plain_values(operation_type)
    if operation_type is op.SearchText:
        values += [op.SearchText("total", "src/a.py"), op.SearchText("total", mode="files", path="src")]
    calls = [spelling.from_operation(operation) for operation in values]
    return [one for call in calls if call is not None for one in (call if isinstance(call, tuple) else (call,))]


def _plain_calls(spelling: type[Spelling[Any]]) -> list[Spelling[Any]]:
    """With the required parameters alone, and with all of them."""
    hints = typing.get_type_hints(spelling)
    fields = msgspec.structs.fields(spelling)
    calls = [[field for field in fields if field.required], list(fields)]
    return [spelling(**{field.name: plain(field.name, hints[field.name]) for field in call}) for call in calls]


def _frozen_calls(dialect: Dialect) -> Iterator[tuple[NativeCall, op.Operation]]:
    """The calls of the snapshot, and those of tools that have none there.

    A tool that is only read writes no call, so its calls are those that were stored: which arguments a sample of it
    gets depends on how it is declared.
    """
    made: dict[tuple[str, str], list[tuple[NativeCall, op.Operation]]] = {}
    for native, operation in calls_of(dialect):
        made.setdefault(_key(native.name, native.arguments), []).append((native, operation))
    frozen = {_key(row["tool"], row["arguments"]): row for row in stored(dialect.name)}
    tools = {row["tool"] for row in frozen.values()}
    for key, row in frozen.items():
        native = NativeCall("1", row["tool"], row["arguments"])
        yield from made.pop(key, None) or [(native, one) for one in dialect.read_call(native).operations[:1]]
    offered = {one.native_name for one in dialect.spellings if one.read_only is None}
    for (tool, _), pairs in made.items():
        if tool in offered or tool not in tools:
            yield from pairs


def _key(tool: str, arguments: Any) -> tuple[str, str]:
    return tool, json.dumps(_json(arguments), sort_keys=True)


# ── the snapshot ─────────────────────────────────────────────────────────────


def snapshot(name: str) -> list[dict[str, Any]]:
    """What this vocabulary writes for each outcome, how it reads that, and how it reads other texts."""
    dialect = DIALECTS[name]
    rows: dict[str, dict[str, Any]] = {}
    for native, operation in _frozen_calls(dialect):
        call = dialect.read_call(native)
        if call.failure is not None:
            continue
        asked = {"tool": native.name, "arguments": native.arguments}
        for outcome in outcomes_of(operation):
            told = dialect.write_result(call, (outcome,) * len(call.operations))
            heard = dialect.read_result(call, told).outcomes[0]
            if _by_default(call.operations[0], outcome) == (told.content, heard):
                continue
            row = {**asked, "outcome": _json(outcome), "written": _written(told)}
            _add(rows, row | ({} if heard == outcome else {"read": _json(heard)}))
        for text in TEXTS:
            heard = dialect.read_result(call, NativeResult("1", text)).outcomes[0]
            if heard != out.TextOutcome(text):
                _add(rows, {**asked, "text": text, "read": _json(heard)})
    return list(rows.values())


def _by_default(operation: op.Operation, outcome: out.Outcome) -> tuple[Any, out.Outcome]:
    """What is written and read without words of a vocabulary's own: not worth storing for each of them."""
    told = tell(operation, outcome)
    return told, understand(operation, NativeResult("1", told))


def _add(rows: dict[str, dict[str, Any]], row: dict[str, Any]) -> None:
    rows.setdefault(json.dumps({key: row[key] for key in ("tool", "arguments", "outcome", "text") if key in row}), row)


def _written(told: NativeResult) -> Any:
    beside = {} if told.is_error is None else {"is_error": told.is_error}
    beside |= {} if told.item is None else {"item": told.item}
    content = _json(told.content)
    return {"content": content, **beside} if beside else content


def _json(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value))


def stored(name: str) -> list[dict[str, Any]]:
    path = FOLDER / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line] if path.exists() else []


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in FROZEN:
        lines = [json.dumps(row, ensure_ascii=True) for row in snapshot(name)]
        (FOLDER / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")


if __name__ == "__main__":
    main()
