"""Every tool of OpenAI's, of the vendors on its wire and of Google's, as recorded: asked for, called and answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from dragoman.dialects import DIALECTS, provider_tool
from dragoman.errors import EngineError
from dragoman.model import (
    Call,
    CallPart,
    ExecutedBy,
    NativeCall,
    NativeResult,
    ResultPart,
    operations as op,
    outcomes as out,
)
from dragoman.registry import APIS
from tests.conformance.cassettes import Cassette, cassettes

OPENAI, GOOGLE = DIALECTS["openai"], DIALECTS["google"]
PROVIDER, CLIENT = ExecutedBy.PROVIDER, ExecutedBy.CLIENT

Exchange = tuple[NativeCall, NativeResult | None]


# ── Responses ────────────────────────────────────────────────────────────────

ARGUMENTS = {"shell_call": "action", "local_shell_call": "action", "apply_patch_call": "operation"}
OUTPUTS = ("shell_call_output", "program_output", "tool_search_output", "apply_patch_call_output")
OF_THE_CALLER = ("function_call", "custom_tool_call")
ANSWERED_ELSEWHERE = ("shell", "local_shell", "apply_patch", "program", "tool_search")


def items(cassette: Cassette) -> Iterator[dict[str, Any]]:
    """Finished items: those of the request, of the whole response, and those a stream says are done."""
    request = cassette.request if isinstance(cassette.request, dict) else {}
    given = request.get("input")
    yield from (item for item in given if isinstance(item, dict)) if isinstance(given, list) else ()
    if isinstance(cassette.response, dict):
        yield from cassette.response.get("output") or ()
    for event in cassette.events or ():
        if isinstance(event["data"], dict) and event["data"].get("type") == "response.output_item.done":
            yield event["data"]["item"]


def called(item: dict[str, Any]) -> NativeCall | None:
    """The call an item makes, or `None` when it is no call of a tool the provider defines."""
    kind = str(item.get("type"))
    id = item.get("call_id") or item.get("id") or ""
    if kind in ("mcp_call", "mcp_approval_request"):
        return NativeCall(id, item["name"], parsed(item["arguments"]), item["server_label"], PROVIDER, item)
    if kind == "program" and "code" in item:
        return NativeCall(id, kind, {"code": item["code"]}, None, PROVIDER, item)
    if not kind.endswith("_call") or kind in OF_THE_CALLER:
        return None
    ours = kind in ("local_shell_call", "apply_patch_call") or item.get("execution") == "client"
    return NativeCall(id, kind.removesuffix("_call"), arguments(kind, item), None, CLIENT if ours else PROVIDER, item)


def arguments(kind: str, item: dict[str, Any]) -> dict[str, Any]:
    if kind in ARGUMENTS:
        return dict(item[ARGUMENTS[kind]])
    match kind:
        case "web_search_call" if "arguments" not in item:
            return item.get("action") or {}
        case "code_interpreter_call":
            return {"code": item["code"], "container_id": item["container_id"]}
        case "file_search_call":
            return {"queries": item["queries"]}
        case "image_generation_call":
            return {}
    return parsed(item["arguments"])


def parsed(text: Any) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(text) if isinstance(text, str) else text
    return found


def responses() -> Iterator[Exchange]:
    for cassette in cassettes("openai_responses"):
        made: dict[str, NativeCall] = {}
        searches: list[NativeCall] = []
        for item in items(cassette):
            call = called(item)
            if call is not None:
                made[call.id] = call
                searches += [call] if call.name == "tool_search" else []
                inside = call.name not in ANSWERED_ELSEWHERE
                yield call, NativeResult(call.id, "", executed_by=PROVIDER, item=item) if inside else None
            elif item.get("type") in OUTPUTS:
                asked = made.get(str(item.get("call_id"))) or (searches[-1] if searches else None)
                # The call may stand in an earlier exchange; of a program, its output can be read without it.
                if asked is None and item["type"] == "program_output":
                    asked = NativeCall(item["call_id"], "program", {}, None, PROVIDER)
                if asked is not None:
                    yield asked, NativeResult(asked.id, "", executed_by=PROVIDER, item=item)


# ── Chat Completions ─────────────────────────────────────────────────────────


def chat() -> Iterator[Exchange]:
    for cassette in cassettes("openai_chat"):
        for tool in found("executed_tools", [cassette.response, cassette.events]):
            native = NativeCall("1", tool["type"], parsed(tool["arguments"]), None, PROVIDER, tool)
            output = tool.get("output")
            answer = NativeResult("1", output, executed_by=PROVIDER, item=tool) if output is not None else None
            yield native, answer


def found(key: str, value: Any) -> Iterator[dict[str, Any]]:
    """Everything that stands in lists under a key, at any depth."""
    if isinstance(value, dict):
        yield from value[key] if isinstance(value.get(key), list) else ()
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from found(key, inner)


# ── Gemini ───────────────────────────────────────────────────────────────────


def gemini() -> Iterator[Exchange]:
    for cassette in cassettes("gemini_generate"):
        made: dict[str, NativeCall] = {}
        last: NativeCall | None = None
        whole = [cassette.request, cassette.response, [event["data"] for event in cassette.events or ()]]
        for part in found("parts", whole):
            match part:
                case {"toolCall": call}:
                    kind = call.get("toolType") or call["tool_type"]
                    made[call["id"]] = NativeCall(call["id"], kind, call.get("args") or {}, None, PROVIDER, part)
                    yield made[call["id"]], None
                case {"toolResponse": answer} if answer["id"] in made:
                    yield made[answer["id"]], NativeResult(answer["id"], "", executed_by=PROVIDER, item=part)
                case {"executableCode": dict(code)}:
                    last = NativeCall("1", "code_execution", code, None, PROVIDER, part)
                    yield last, None
                case {"codeExecutionResult": dict(result)} if last is not None:
                    failed = result["outcome"] != "OUTCOME_OK"
                    yield last, NativeResult("1", result.get("output", ""), failed, executed_by=PROVIDER, item=part)


# ── calls and results ────────────────────────────────────────────────────────

SOURCES: dict[str, tuple[Any, Callable[[], Iterator[Exchange]], dict[str, int]]] = {
    "openai_responses": (
        OPENAI,
        responses,
        {
            "code_interpreter": 15,
            "file_search": 9,
            "image_generation": 10,
            "program": 2,
            "shell": 4,
            "tool_search": 30,
            "web_search": 70,
            "x_search": 1,
        },
    ),
    "openai_chat": (OPENAI, chat, {"search": 3}),
    "gemini_generate": (GOOGLE, gemini, {"code_execution": 35, "GOOGLE_SEARCH_WEB": 3, "FILE_SEARCH": 2}),
}


@pytest.mark.parametrize("api", SOURCES)
def test_every_recorded_call_means_something_and_nothing_of_it_is_strange(api: str) -> None:
    dialect, exchanges, expected = SOURCES[api]
    counted: Counter[str] = Counter()
    for native, _ in exchanges():
        call: Call = dialect.read_call(native)
        assert call.failure is None, (native, call.failure)
        assert call.operations
        for operation in call.operations:
            assert not isinstance(operation, op.Unrecognised | op.CallFunction | op.SteerClient), native
        spelling = dialect.spelling_of(native)
        known = set() if spelling is None else set(spelling.__struct_encode_fields__)
        assert spelling is None or set(call.unmapped) <= known, (native.name, call.unmapped)
        counted[native.name] += 1
    assert {name: count for name, count in expected.items() if counted[name] < count} == {}


@pytest.mark.parametrize("api", SOURCES)
def test_every_recorded_result_is_an_outcome_with_a_type(api: str) -> None:
    dialect, exchanges, _ = SOURCES[api]
    kinds: dict[str, set[str]] = {}
    for native, result in exchanges():
        if result is None:
            continue
        call = dialect.read_call(native)
        outcomes = dialect.read_result(call, result).outcomes
        assert len(outcomes) == len(call.operations)
        for outcome in outcomes:
            assert outcome != out.TextOutcome(""), (native.name, result.item)
            kinds.setdefault(native.name, set()).add(type(outcome).__name__)
    assert kinds == KINDS[api]


KINDS: dict[str, dict[str, set[str]]] = {
    "openai_responses": {
        "code_interpreter": {"ContentOutcome", "DoneOutcome", "TextOutcome"},
        "file_search": {"DoneOutcome", "ResourcesOutcome"},
        "image_generation": {"DoneOutcome", "ImageOutcome"},
        "program": {"JsonOutcome"},
        "shell": {"CommandOutcome"},
        "tool_search": {"ToolsOutcome"},
        "web_search": {"DoneOutcome", "PagesOutcome", "UnknownOutcome"},
        "x_search": {"DoneOutcome"},
        # tools of servers, by their own names
        "ask_question": {"TextOutcome", "UnknownOutcome"},
        "create_short_url": {"TextOutcome", "UnknownOutcome"},
        "web_search_exa": {"JsonOutcome"},
    },
    "openai_chat": {"search": {"PagesOutcome"}, "visit": {"PagesOutcome"}},
    "gemini_generate": {
        "code_execution": {"DoneOutcome", "Failure", "TextOutcome"},
        "GOOGLE_SEARCH_WEB": {"JsonOutcome"},
        "FILE_SEARCH": {"DoneOutcome", "ResourcesOutcome"},
    },
}


@pytest.mark.parametrize("api", SOURCES)
def test_what_the_api_itself_hands_over_is_read_the_same_way(api: str) -> None:
    dialect, _, expected = SOURCES[api]
    seen: set[str] = set()
    for cassette in cassettes(api):
        if cassette.streaming or cassette.status != 200:
            continue
        try:
            reply = APIS[api].decode(cassette.response)
        except EngineError:
            continue  # an error that came with a good status
        made = {part.call.id: dialect.read_call(part.call) for part in reply.parts if of_the_provider(part)}
        for call in made.values():
            assert call.failure is None, (cassette.id, call)
            assert not any(isinstance(one, op.Unrecognised | op.CallFunction) for one in call.operations), call.native
            seen.add(call.native.name)
        for part in reply.parts:
            if isinstance(part, ResultPart) and part.result.call_id in made:
                outcomes = dialect.read_result(made[part.result.call_id], part.result).outcomes
                assert not any(isinstance(one, out.UnknownOutcome) for one in outcomes), part.result
    assert set(expected) <= seen


def of_the_provider(part: Any) -> bool:
    return isinstance(part, CallPart) and part.call.item is not None


# ── what was asked for ───────────────────────────────────────────────────────


Asked = tuple[str, dict[str, Any]]


def asked(api: str, cassette: Cassette) -> Iterator[Asked]:
    """The provider's tools a request asks for: the id each has in the catalogue, and its settings."""
    request = cassette.request if isinstance(cassette.request, dict) else {}
    vendor = cassette.vendor if provider_tool(f"{cassette.vendor}.web_search") else "openai"
    given, later = request.get("tools"), [item for item in items(cassette) if item.get("type") == "additional_tools"]
    for tool in [*(given if isinstance(given, list) else ()), *(tool for item in later for tool in item["tools"])]:
        yield from asked_of_google(tool) if api == "gemini_generate" else asked_of_openai(api, vendor, tool)
    if "web_search_options" in request:
        yield "openai.web_search_options", request["web_search_options"]


def asked_of_google(tool: dict[str, Any]) -> Iterator[Asked]:
    for key, said in tool.items():
        if isinstance(said, dict):
            yield f"google.{snake(key)}", said


def asked_of_openai(api: str, vendor: str, tool: dict[str, Any]) -> Iterator[Asked]:
    kind = str(tool.get("type", "function")).rpartition(":")[2]
    if api == "openai_chat" and kind == "custom":  # one level further in than elsewhere
        yield "openai.custom", {**tool["custom"], "format": {"type": "text"}}
    elif kind != "function":
        yield f"{vendor}.{kind}", {key: value for key, value in tool.items() if key != "type"}


def snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def test_every_recorded_tool_is_a_row_and_its_settings_are_known() -> None:
    seen: set[str] = set()
    for api in SOURCES:
        for cassette in cassettes(api):
            for id, settings in asked(api, cassette):
                row = provider_tool(id)
                assert row is not None, (id, cassette.id)
                assert row.define(settings).settings == settings
                assert row.unknown(settings) == (), (id, cassette.id)
                seen.add(id)
    assert seen == {
        "google.code_execution", "google.file_search", "google.google_search", "google.url_context",
        "openai.code_interpreter", "openai.custom", "openai.file_search", "openai.image_generation", "openai.mcp",
        "openai.namespace", "openai.tool_search", "openai.web_search", "openai.web_search_options",
        "openai.web_search_preview", "openrouter.advisor", "openrouter.web_search", "xai.web_search",
    }  # fmt: skip
