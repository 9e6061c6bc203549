"""Codex's dialect against its captured tool definitions and recorded sessions, every version and kind of model."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import lark
import msgspec
import pytest
from hypothesis import given

from dragoman.dialects import DIALECTS
from dragoman.dialects.base.patch_text import GRAMMAR, write_patch
from dragoman.dialects.base.shell_intent import intents
from dragoman.model import (
    Call,
    CommandOutcome,
    Failure,
    FreeformDefinition,
    Media,
    NativeCall,
    NativeResult,
    ProviderDefinition,
    operations as op,
)
from tests.conformance import vocabulary as vocab
from tests.laws.test_patch_laws import OPERATIONS

CLIENT = "codex"
DIALECT = DIALECTS["codex"]
KNOWING = DIALECT.knowing(servers=("toy",))
MADE_UP = {"no_such_tool", "no_such"}


# ── definitions ──────────────────────────────────────────────────────────────


def test_each_version_and_family_is_offered_the_providers_tools_it_had(shared: Path) -> None:
    capture = vocab.capture_of(shared, CLIENT)
    for tool_set in (one for one in capture.tool_sets if "main" in one.roles):
        captured = {tool.name: tool.native for tool in tool_set.tools if tool.kind == "native"}
        for family in tool_set.models:
            offered = DIALECT.at(tool_set.version, family).definitions()
            provided = {one.name: one for one in offered if isinstance(one, ProviderDefinition)}
            assert set(provided) == set(captured), (tool_set.version, family)
            for name, native in captured.items():
                assert native is not None
                assert provided[name].wire_type == native["type"]
                assert set(provided[name].settings) <= set(native)


def test_freeform_tools_have_a_grammar_as_captured(shared: Path) -> None:
    captured = {
        (tool.qualified, tool.format["syntax"])
        for tool_set in vocab.capture_of(shared, CLIENT).tool_sets
        for tool in tool_set.tools
        if tool.format is not None
    }
    offered = {
        (f"{one.namespace}.{one.name}" if one.namespace else one.name, one.syntax)
        for family in ("gpt-5.5", "gpt-6-sol")
        for one in DIALECT.at(family=family).definitions(names=("exec",))
        if isinstance(one, FreeformDefinition)
    }
    assert offered == captured


def test_every_tool_that_programs_can_call_is_known_with_every_parameter(shared: Path) -> None:
    capture = msgspec.json.decode((shared / "vocab" / f"{CLIENT}.json").read_bytes())
    tools = [tool for tool_set in capture["tool_sets"] for tool in tool_set["tools"]]
    nested = [one for tool in tools for one in tool.get("nested", ())]
    assert nested
    patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch"
    for tool in nested:
        arguments = {parameter["name"]: sample(parameter["type"]) for parameter in tool["params"]}
        said = patch if tool["kind"] == "nested-freeform" else arguments
        program = f"await tools.{tool['name']}({msgspec.json.encode(said).decode()})"
        read = DIALECT.read_call(NativeCall("1", "exec", program))
        assert not isinstance(read.operations[0], op.Unrecognised | op.RunCode), (tool["name"], read)


def sample(type_text: str) -> Any:
    """A value of a type as TypeScript writes it."""
    samples = {"string": "x", "number": 1, "boolean": True, "Array<string>": ["x"]}
    return samples[type_text] if type_text in samples else msgspec.json.decode(type_text.split(" | ")[0])


# ── the patch grammar ────────────────────────────────────────────────────────


def parser(grammar: str) -> lark.Lark:
    # Lark has no terminals without width; one or none of something is the same language.
    return lark.Lark(grammar.replace("/(.*)/", "/(.+)/?"), parser="earley", lexer="dynamic")


@cache
def judges() -> tuple[lark.Lark, lark.Lark]:
    from tests.conformance.conftest import SHARED

    tools = [tool for one in vocab.capture_of(SHARED, CLIENT).tool_sets for tool in one.tools]
    grammars = {tool.format["definition"] for tool in tools if tool.name == "apply_patch" and tool.format is not None}
    (captured,) = grammars
    return parser(captured), parser(GRAMMAR)


@given(OPERATIONS)
def test_the_real_grammar_accepts_every_patch_that_is_written(operations: tuple[op.Operation, ...]) -> None:
    patch = write_patch(operations)
    assert patch is not None
    for judge in judges():
        judge.parse(patch)


@pytest.mark.parametrize(
    "lines",
    [
        ("*** Add File: a",),
        ("*** Add File: a", "x"),
        ("*** Update File: a", "-x", "*** End of File", "@@", "-y"),
        ("*** Rename File: a",),
        (),
    ],
)
def test_our_grammar_refuses_what_the_real_one_refuses(lines: tuple[str, ...]) -> None:
    text = "\n".join(("*** Begin Patch", *lines, "*** End Patch"))
    for judge in judges():
        with pytest.raises(lark.exceptions.LarkError):
            judge.parse(text)


# ── scripts and logs ─────────────────────────────────────────────────────────


def test_every_scripted_call_means_something(shared: Path) -> None:
    sessions = vocab.sessions(shared, CLIENT)
    assert len(sessions) >= 17
    assert vocab.not_typed(KNOWING, [call for one in sessions for call in vocab.scripted_calls(one)]) == MADE_UP


def test_only_what_is_wrong_on_purpose_is_refused(shared: Path) -> None:
    calls = [call for one in vocab.sessions(shared, CLIENT) for call in vocab.scripted_calls(one)]
    refused = [call.failure.message for call in map(KNOWING.read_call, calls) if call.failure is not None]
    assert sorted(refused) == sorted(
        [
            'apply_patch: line 2 of the patch is "*** Frobnicate File: x"; expected '
            '"*** Add File: …" or "*** Delete File: …" or "*** Update File: …"',
            "apply_patch: line 2 of the patch ends the patch and nothing is changed; "
            "expected a file to add, delete or update",
            """exec_command: expected a JSON object, got '{"cmd": "echo trunc'""",
            "exec_command cannot take these arguments: cmd is required",
        ]
    )


CALLS = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call")
OUTPUTS = ("function_call_output", "custom_tool_call_output", "tool_search_output")


def items(session: Path) -> Iterator[dict[str, Any]]:
    for path in vocab.log_files(session, ".jsonl"):
        for record in vocab.json_lines(path):
            payload = record.get("payload", record)
            if isinstance(payload, dict):
                yield payload


def logged(session: Path) -> Iterator[tuple[Call, NativeResult]]:
    """Every call that was answered, with its answer."""
    made: dict[str, Call] = {}
    for item in items(session):
        if item.get("type") in CALLS:
            call = KNOWING.read_call(native_call(item))
            assert call.failure is None or call.operations == ()
            made[call.id] = call
        elif item.get("type") in OUTPUTS:
            yield made[item["call_id"]], NativeResult(item["call_id"], content(item), item=item)


def native_call(item: dict[str, Any]) -> NativeCall:
    id = item.get("call_id") or item.get("id") or ""
    match item["type"]:
        case "local_shell_call":
            return NativeCall(id, "local_shell", item["action"])
        case "web_search_call":
            return NativeCall(id, "web_search", {"action": item["action"]})
        case "tool_search_call":
            return NativeCall(id, "tool_search", item["arguments"])
        case "custom_tool_call":
            return NativeCall(id, item["name"], item["input"], item.get("namespace"))
    try:
        arguments = msgspec.json.decode(item["arguments"])
    except msgspec.DecodeError:
        arguments = item["arguments"]
    return NativeCall(id, item["name"], arguments, item.get("namespace"))


def content(item: dict[str, Any]) -> str | tuple[str | Media, ...]:
    output = item.get("output", "")
    if isinstance(output, str):
        return output
    return tuple(piece["text"] if piece["type"] == "input_text" else Media("image/png", url="") for piece in output)


def test_every_logged_call_and_result_is_read_with_an_outcome_for_each_operation(shared: Path) -> None:
    answered = [pair for session in vocab.sessions(shared, CLIENT) for pair in logged(session)]
    assert len(answered) >= 250
    for call, native in answered:
        outcomes = KNOWING.read_result(call, native).outcomes
        assert len(outcomes) == max(1, len(call.operations))


def test_a_failed_command_is_the_same_outcome_in_every_version(shared: Path) -> None:
    codes = [
        outcome.exit_code
        for session in vocab.sessions(shared, CLIENT)
        for call, native in logged(session)
        if "sys.exit(3)" in str(call.native.arguments)
        for outcome in KNOWING.read_result(call, native).outcomes
        if isinstance(outcome, CommandOutcome)
    ]
    assert codes == [3] * 6


def test_failures_have_the_kinds_the_client_means(shared: Path) -> None:
    kinds = {
        (session.name, outcome.kind)
        for session in vocab.sessions(shared, CLIENT)
        for call, native in logged(session)
        for outcome in KNOWING.read_result(call, native).outcomes
        if isinstance(outcome, Failure)
    }
    assert {
        ("interrupt", "cancelled"), ("sandbox", "denied"), ("patch", "invalid_arguments"), ("patch", "failed"),
        ("misc", "unknown_tool"), ("misc", "invalid_arguments"), ("shell", "denied"), ("shell", "failed"),
    } <= kinds  # fmt: skip


def test_commands_are_seen_to_do_what_the_client_itself_takes_them_for(shared: Path) -> None:
    executed = [
        item["item"]
        for session in vocab.sessions(shared, CLIENT)
        for item in items(session)
        if item.get("type") == "item_completed" and item["item"]["type"] == "CommandExecution"
    ]
    classified = [(one["command"][-1], parsed) for one in executed for parsed in one["parsed_cmd"]]
    assert sum(parsed["type"] != "unknown" for _, parsed in classified) >= 8
    for command, parsed in classified:
        seen = intents(command)
        match parsed:
            case {"type": "read", "path": path}:
                assert any(isinstance(one, op.ReadFile) and one.path == path for one in seen), command
            case {"type": "search", "query": query}:
                assert any(isinstance(one, op.SearchText) and one.pattern == query for one in seen), command
            case {"type": "list_files", "path": path}:
                assert op.ListDirectory(path or ".") in seen, command


def test_tools_are_offered_together_only_where_a_real_model_was_offered_them_together(shared: Path) -> None:
    """Code mode's `exec` stands beside `exec_command` for gpt-5.5 with the feature `code_mode`, and nowhere else."""
    capture = vocab.capture_of(shared, CLIENT)
    for version in capture.versions:
        for family in capture.families(version):
            sets = [one.names for one in capture.tool_sets if one.version == version and family in one.models]
            for operations in ({op.RunCommand, op.EditFile}, {op.RunCommand, op.RunCode, op.EditFile}):
                offered = DIALECT.at(version, family).definitions(operations)
                names = {
                    f"{one.namespace}.{one.name}" if one.namespace else one.name
                    for one in offered
                    if not isinstance(one, ProviderDefinition)
                }
                assert any(names <= captured for captured in sets), (version, family, names)
