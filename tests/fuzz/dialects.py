"""Vocabularies: calls and results of every dialect, read, and said in the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from dragoman.dialects import Dialect
from dragoman.dialects.plugins import laws
from dragoman.dialects.plugins.samples import plain_outcomes, plain_values
from dragoman.errors import Unspeakable
from dragoman.model import OPERATIONS, NativeCall, NativeResult
from dragoman.model.operations import CallFunction, CallMcpTool, Unrecognised
from tests.laws.test_dialect_laws import HELD

from .drawing import Draw, whole
from .target import Target

NAMES = tuple(HELD)
OFTEN = 6
"""One case in so many is also said in another dialect, which costs more than all else."""


def _calls(name: str) -> list[NativeCall]:
    """A call of every tool that can be written, with the plainest arguments."""
    found: list[NativeCall] = []
    for tag in laws.spoken(HELD[name]):
        for operation in plain_values(OPERATIONS[tag]):
            try:
                found += HELD[name].write_call("1", operation)
            except Unspeakable:
                continue
    return found


CALLS = {name: _calls(name) for name in NAMES}
ARGUMENTS = {
    name: [msgspec.json.encode(call.arguments) for call in CALLS[name] if isinstance(call.arguments, dict)]
    for name in NAMES
}
TEXTS = {name: [call for call in CALLS[name] if isinstance(call.arguments, str)] for name in NAMES}
TOOLS = {name: {one.native_name: one for one in HELD[name].spellings} for name in NAMES}


def draw_arguments(draw: Draw, name: str) -> tuple[str, Any]:
    """A tool of a dialect, and arguments nobody meant it to have."""
    if TEXTS[name] and draw.one_in(6):
        call = draw.choice(TEXTS[name])
        text = draw.damaged_text(str(call.arguments))
        return call.name, text if draw.halves else whole(text)
    if not CALLS[name] or draw.one_in(4):  # of the right names, and of any kind; some dialects are only read
        tool = draw.choice(list(TOOLS[name].values()))
        return tool.native_name, {key: draw.json() for key in draw.some((*tool.__struct_encode_fields__, "zz"), 6)}
    call = draw.choice(CALLS[name])
    if not isinstance(call.arguments, dict) or draw.one_in(10):
        return call.name, draw.whole_text()
    changed = draw.damaged_json([msgspec.json.encode(call.arguments), *draw.sample(ARGUMENTS[name], 2)])
    return call.name, changed if isinstance(changed, dict) else {"zz": changed}


def draw_call(draw: Draw) -> tuple[str, str, Any, str | None]:
    draw.halves = draw.one_in(8)
    name = draw.choice(NAMES)
    tool, arguments = draw_arguments(draw, name)
    return name, tool, arguments, draw.choice(NAMES) if draw.one_in(OFTEN) else None


OF_ONE_DIALECT = (Unrecognised, CallFunction)
"""Operations that are a name and arguments: the name may mean something in another dialect."""


def check_call(given: tuple[str, str, Any, str | None]) -> None:
    name, tool, arguments, other = given
    dialect = HELD[name]
    spelling = TOOLS[name].get(tool)
    call = dialect.read_call(NativeCall("1", tool, arguments))
    if not is_whole(arguments):
        return  # it can be read, and not be written as JSON
    if spelling is not None:
        hold(laws.argument_problems(dialect, spelling, arguments))
    for operation in call.operations if other is not None else ():
        if isinstance(operation, CallMcpTool):
            check_served(HELD[other or name], operation)
        elif not isinstance(operation, OF_ONE_DIALECT):
            hold(laws.writing_problems(HELD[other or name], operation))


def check_served(dialect: Dialect, operation: CallMcpTool) -> None:
    """A call of a server's tool reads back in a run that has the server; where a name tells none, as that server's."""
    server = operation.server or "server"
    known = dialect.knowing(servers={server: (operation.tool,)})
    if operation.server:
        hold(laws.writing_problems(known, operation))
        return
    try:
        written = known.write_call("1", operation)
    except Unspeakable:
        return
    read = [one for call in written for one in known.read_call(call).operations]
    assert read in ([operation], [msgspec.structs.replace(operation, server=server)]), f"reads back as {read!r}"


def is_whole(value: Any) -> bool:
    """Whether a value can be written as JSON."""
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return False
    return True


def hold(problems: Iterable[laws.Problem]) -> None:
    found = list(problems)
    assert not found, found[0]


# ── results ──────────────────────────────────────────────────────────────────


def _results(name: str) -> list[tuple[NativeCall, str, bytes]]:
    """A call of every tool, what it is told, and the item beside it as JSON."""
    found = []
    dialect = HELD[name]
    for tag in laws.spoken(dialect):
        operation = next((one for one in plain_values(OPERATIONS[tag]) if laws.sayable(dialect, one)), None)
        if operation is None:
            continue
        native = dialect.write_call("1", operation)[0]
        call = dialect.read_call(native)
        for outcome in plain_outcomes(operation):
            told = dialect.write_result(call, (outcome,) * len(call.operations))
            content = told.content if isinstance(told.content, str) else ""
            found.append((native, content, msgspec.json.encode(told.item)))
    return found


RESULTS = {name: _results(name) for name in NAMES}
TOLD = tuple(name for name in NAMES if RESULTS[name])
"""The dialects that say results; some are only read."""


def odd_results(name: str) -> list[tuple[NativeCall, str]]:
    texts = ("\udfff", '{"type":\ud800', "[\ud800", "[" * 3000, '{"type":' + "[" * 3000)
    return [(call, text) for call in {call.name: call for call in CALLS[name]}.values() for text in texts]


RESULT_WORDS = (
    *("Error: ", "error", "Exit code 1", "Exit Code: 2", "Output:", "stdout", "<error>", "</error>", "<system>", "[]"),
    *(
        "No files found",
        "(no output)",
        "... [truncated]",
        "     1\t",
        "1→",
        "1: ",
        "12:",
        "\nDone!",
        "diff --git",
        "```",
    ),
    *('{"output":"', '"metadata":{"exit_code":1}}', "Process exited with code", "timed out", "Command:", "Background"),
    *("[" * 3000, '{"type":' + "[" * 3000, '{"a":' * 3000),
)


def draw_result(draw: Draw) -> tuple[str, str, Any, str, bool | None, Any]:
    draw.halves = draw.one_in(4)
    name = draw.choice(TOLD)
    native, content, item = draw.choice(RESULTS[name])
    tool, arguments = (native.name, native.arguments) if not draw.one_in(5) else draw_arguments(draw, name)
    if not draw.one_in(3):
        content = draw.damaged_text(draw.choice(RESULTS[name])[1] if draw.one_in(6) else content, RESULT_WORDS)
    said: Any = msgspec.json.decode(item) if draw.one_in(2) else draw.damaged_json([item, b'{"status":"failed"}'])
    return name, tool, arguments, content, draw.choice((None, True, False)), said


def check_result(given: tuple[str, str, Any, str, bool | None, Any]) -> None:
    name, tool, arguments, content, is_error, item = given
    dialect = HELD[name]
    call = dialect.read_call(NativeCall("1", tool, arguments))
    native = NativeResult("1", content, is_error, item=item)
    result = dialect.read_result(call, native)
    assert result.native is native
    if not call.operations:
        return
    assert len(result.outcomes) == len(call.operations), "not one outcome for each operation"
    # What a strange text was understood as can be told, and that can be read. It need not be the same again: a file may
    # be called what another line of a listing says.
    dialect.read_result(call, dialect.write_result(call, result.outcomes))


TARGETS = [
    Target(
        "calls",
        draw_call,
        check_call,
        examples=(
            ("claude_code", "Read", {"file_path": "", "offset": 10**30}, "pi"),  # no floating-point number
            ("cursor", "CallMcpTool", {"server": "", "toolName": "t"}, "claude_code"),  # a name without a server
            ("cursor", "CallMcpTool", {"server": "s", "toolName": ""}, "claude_code"),  # a name without a tool
            # a tool by its bare name, as old versions of these clients say it
            *(("cursor", "CallMcpTool", {"toolName": "t"}, name) for name in NAMES),
            *(("cursor", "CallMcpTool", {"server": "a b", "toolName": "t_u"}, name) for name in NAMES),
        ),
    ),
    Target(
        "results",
        draw_result,
        check_result,
        examples=(
            # Half a surrogate pair, and JSON that is nested too deeply, where a result is looked at as JSON.
            *(
                (name, call.name, call.arguments, text, None, None)
                for name in NAMES
                for call, text in odd_results(name)
            ),
            ("cline", "read_file", {"path": "a"}, "\udfff", True, {}),
            ("cline", "editor", {"path": "", "new_text": ""}, '{"":"","\udfff":true}', None, {}),
        ),
    ),
]
