"""`Api.validate` on the calls of a history: offered by the same request, with arguments that fit."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.apis import APIS
from dragoman.model import CallPart, FreeformDefinition, FunctionDefinition, NativeCall, NativeResult, Reply, user
from dragoman.model.conversation import results_message
from dragoman.model.request import Definition, ProviderDefinition, Request

READ = FunctionDefinition(
    "read",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": False},
)
PATCH = FreeformDefinition("patch", "Change files.")


def found(call: NativeCall, *definitions: Definition, result: NativeResult | None = None) -> list[str]:
    """What is wrong with a call in the history of a request with these tools, according to every API."""
    conversation = (
        user("Go."),
        Reply((CallPart(call),)),
        results_message(result or NativeResult(call.id, "done", name=call.name)),
        user("Go on."),
    )
    request = Request("some-model", conversation, definitions)
    by_api = [[str(one.message) for one in api.validate(request) if one.accepted] for api in map(APIS.get, APIS)]
    assert all(one == by_api[0] for one in by_api)
    return by_api[0]


@pytest.mark.parametrize(
    "name, arguments, problems",
    [
        ("read", {"path": "a"}, []),
        ("read", {"path": 1}, ["in its arguments, path must be a string, not 1"]),
        ("read", {}, ["in its arguments, path is required"]),
        ("read", "not JSON", ["its arguments are not a JSON object"]),
        ("patch", "*** Begin Patch", []),
        ("patch", {"input": "x"}, ["the tool takes text, and its arguments are JSON"]),
        ("Read", {"path": "a"}, ["this request does not offer the tool"]),
    ],
)
def test_a_call_fits_the_tools_of_its_request_or_is_reported(name: str, arguments: Any, problems: list[str]) -> None:
    assert found(NativeCall("c1", name, arguments), READ, PATCH) == problems


def test_a_request_without_tools_offers_none() -> None:
    assert found(NativeCall("c1", "read", {"path": "a"})) == ["this request does not offer the tool"]


def test_tools_that_a_search_found_are_offered_by_its_result() -> None:
    tool = {"type": "function", "name": "rate", "parameters": {"type": "object", "required": ["of"]}}
    item = {"type": "tool_search_output", "call_id": "c1", "tools": [tool]}
    searched = Reply((CallPart(NativeCall("c1", "tool_search", {"goal": "rates"})),))
    search = ProviderDefinition("openai.tool_search", "tool_search")
    for arguments, problems in (({"of": "USD"}, []), ({}, ["in its arguments, of is required"])):
        conversation = (
            user("Go."),
            searched,
            results_message(NativeResult("c1", "[]", item=item)),
            Reply((CallPart(NativeCall("c2", "rate", arguments, namespace="rate")),)),
            results_message(NativeResult("c2", "1")),
        )
        request = Request("gpt-5.5", conversation, (search,))
        validated = APIS["openai_responses"].validate(request)
        assert [one.message for one in validated if one.accepted] == problems


def test_a_request_that_only_misleads_its_model_is_sent_all_the_same() -> None:
    conversation = (
        user("Go."),
        Reply((CallPart(NativeCall("c1", "gone", {})),)),
        results_message(NativeResult("c1", "x")),
    )
    for api in map(APIS.get, APIS):
        assert api.encode(Request("some-model", conversation, (READ,))).body
