"""Calls in recorded requests are of tools that the request offers, but for what is explained here."""

from __future__ import annotations

from collections import Counter

import pytest

from dragoman.apis import APIS
from tests.conformance.cassettes import NAMES, cassettes

EXPLAINED = {
    # Requests that a provider answered, by what is wrong in their history:
    # - no tools: the last turn of a framework, which asks for the answer and offers nothing any more;
    # - not offered: a hand-over to another agent with tools of its own, or a search that a framework ran itself;
    # - arguments: mistakes of models, most by Gemini models that invent a parameter of a tool without any.
    "openai_chat": {"no tools": 31, "arguments": 3, "not offered": 2},
    "openai_responses": {"no tools": 14, "not offered": 12, "arguments": 3},
    "anthropic_messages": {"not offered": 21, "no tools": 3},
    "gemini_generate": {"arguments": 54, "arguments, not offered": 10, "not offered": 9, "no tools": 5},
}


@pytest.mark.parametrize("api", NAMES)
def test_answered_requests_call_what_they_offer_but_for_known_exceptions(api: str) -> None:
    codec, found, passed = APIS[api], Counter[str](), 0
    for cassette in cassettes(api):
        if cassette.status != 200 or not isinstance(cassette.request, dict):
            continue
        request = codec.read_request(cassette.request, model=cassette.model)
        problems = [one for one in codec.validate(request) if one.accepted]
        kinds = {
            "arguments" if "argument" in one.message else "not offered" if request.definitions else "no tools"
            for one in problems
        }
        found[", ".join(sorted(kinds))] += bool(kinds)
        passed += not kinds
    assert {kind: count for kind, count in found.items() if count} == EXPLAINED[api]
    assert passed > 900
