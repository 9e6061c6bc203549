"""What dialects are tried with: everyday values of operations and of their outcomes, and unexpected JSON."""

from __future__ import annotations

import types
import typing
from functools import cache
from typing import Any, Final, Literal, get_args, get_origin

import msgspec

from dragoman.model import operations as op, outcomes as out

_TEXTS: Final = {
    "path": "src/a.py",
    "to": "src/b.py",
    "url": "https://example.com/page",
    "command": "ls -l",
    "pattern": "total",
    "language": "python",
    "job": "7",
    "id": "1",
    "content": "x = 1\n",
    "arguments": "a b",
    "server": "toy",
    "timeout_ms": "1000",
    "action": "screenshot",
}

ODD_VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    0,
    -1,
    2**53,
    1.5,
    1e300,
    "",
    "some words",
    "7",
    "\x00\u2028é\n",
    [],
    [None],
    ["a", 1],
    [{"a": 1}],
    {},
    {"a": {"b": []}},
)
"""What an argument may hold when a model, or a log, holds to no schema."""


_hints_of = cache(typing.get_type_hints)
_fields_of = cache(msgspec.structs.fields)


def plain_values(operation: type[op.Operation]) -> list[op.Operation]:
    """With only the required fields, with each optional one beside them, and with all of them."""
    hints = _hints_of(operation)
    fields = _fields_of(operation)
    required = {field.name: plain(field.name, hints[field.name]) for field in fields if field.required}
    optional = [{field.name: plain(field.name, hints[field.name])} for field in fields if not field.required]
    found = [operation(**required), *(operation(**required, **one) for one in optional)]
    if operation is op.RunCode:  # a vocabulary runs the one language it has
        found.append(op.RunCode("1 + 1", "javascript"))
    if operation is op.DeleteFile:  # some speak of one folder alone
        found.append(op.DeleteFile("memories/a.md"))
    if operation is op.MoveFile:
        found.append(op.MoveFile("memories/a.md", "memories/b.md"))
    if operation is op.ChangePlanItem:  # some only take an item on and finish it
        found.append(op.ChangePlanItem("1", status="completed"))
    if operation is op.UseComputer:  # some have a function for each thing to do
        found.append(op.UseComputer("click_at", {"x": 3, "y": 3}))
    if operation is op.AskUser:  # some ask no open questions
        options = (op.Option("yes", "go on"), op.Option("no", "stop here"))
        found.append(op.AskUser((op.Question("Go on?", options, "Next"),)))
    return found


def telling_values(operation: type[op.Operation]) -> list[op.Operation]:
    """The plain values, and some that give a loss away: everything said at once, several of what may be several."""
    found = plain_values(operation)
    hints = _hints_of(operation)
    found.append(operation(**{one.name: plain(one.name, hints[one.name]) for one in _fields_of(operation)}))
    for name, hint in hints.items():
        if get_origin(hint) is tuple and get_args(hint)[-1] is Ellipsis:
            item = get_args(hint)[0]
            several = (plain(name, item), *_full(name, item))
            found.append(msgspec.structs.replace(found[0], **{name: several}))
    if operation is op.ReadFile:
        found.append(op.ReadFile("src/a.py", first_line=5, last_line=9))
    return found


def _full(name: str, hint: Any) -> list[Any]:
    """The same kind of thing with every one of its fields said in turn."""
    if not (isinstance(hint, type) and issubclass(hint, msgspec.Struct)):
        return [plain(name, hint)]
    hints = _hints_of(hint)
    least = plain(name, hint)
    optional = [field.name for field in _fields_of(hint) if not field.required]
    return [msgspec.structs.replace(least, **{one: plain(one, hints[one])}) for one in optional]


def plain(name: str, hint: Any) -> Any:
    """An everyday value of a field."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return arguments[0]
    if origin in (types.UnionType, typing.Union):
        return plain(name, next(one for one in arguments if one is not type(None)))
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return (plain(name, arguments[0]),)
        return tuple(range(len(arguments)))
    if origin is dict:
        return {"key": "value"}
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        hints = _hints_of(hint)
        return hint(**{f.name: plain(f.name, hints[f.name]) for f in _fields_of(hint) if f.required})
    if hint is bool:
        return True
    if hint is int:
        return 3
    if hint is str:
        return _TEXTS.get(name, "some words")
    return {"answer": 42}


def plain_outcomes(operation: op.Operation) -> list[out.Outcome]:
    """Outcomes such an operation usually gives."""
    match operation:
        case op.ReadFile():
            first = operation.first_line or 1
            return [
                out.FileOutcome(operation.path, "x = 1\ny = 2\n", first),
                out.FileOutcome(operation.path, "", first),
                out.FileOutcome(operation.path, "cut", first, 900, truncated=True),
            ]
        case op.RunCommand() | op.ReadOutput() | op.TypeInto():
            return [
                out.CommandOutcome(0, output="done\n"),
                out.CommandOutcome(3, stdout="some\n", stderr="wrong\n"),
                out.CommandOutcome(0, output=""),
                out.CommandOutcome(signal=9, output="some\n"),
                out.CommandOutcome(output="so far\n", running=True, job="7"),
                out.CommandOutcome(output="so far\n", timed_out=True),
            ]
        case op.FindFiles():
            return [
                out.PathsOutcome(()),
                out.PathsOutcome(("a.py", "b/c.py")),
                out.PathsOutcome(("a",), 9, truncated=True),
            ]
        case op.ListDirectory():
            entries = (out.Entry("a.py", size=3), out.Entry("b", "directory"))
            return [out.DirectoryOutcome(operation.path, ()), out.DirectoryOutcome(operation.path, entries)]
        case op.SearchText():
            return [out.MatchesOutcome((), operation.mode), out.MatchesOutcome((_match(operation),), operation.mode)]
        case (
            op.WriteFile()
            | op.EditFile()
            | op.InsertText()
            | op.ReplaceLines()
            | op.DeleteFile()
            | op.MoveFile()
            | op.UndoEdit()
            | op.EditNotebook()
        ):
            kinds: tuple[Literal["created", "modified", "deleted"], ...] = ("created", "modified", "deleted")
            return [out.ChangesOutcome((out.Change(operation.path, kind),)) for kind in kinds]
        case op.UpdatePlan() | op.AddPlanItem() | op.ChangePlanItem() | op.ReadPlan():
            return [out.PlanOutcome(()), out.PlanOutcome((op.PlanItem("think", "in_progress"), op.PlanItem("act")))]
        case op.SearchWeb() | op.FetchPage():
            return [out.PagesOutcome((out.Page("https://example.com/page", "A page", "Its text.\n"),))]
    return [out.TextOutcome(""), out.TextOutcome("some words\nand more"), out.TextOutcome('{"a": [1]}')]


def _match(operation: op.SearchText) -> out.Match:
    if operation.mode == "files":
        return out.Match("a.py")
    return out.Match("a.py", count=3) if operation.mode == "count" else out.Match("a.py", 7, "total = 1")
