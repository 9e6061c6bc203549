"""What Google's own tools gave, read from the provider's parts; and the rows they are asked for by."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialects import DIALECTS, Dialect, provider_tool
from dragoman.errors import DefinitionError
from dragoman.model import (
    Call,
    ExecutedBy,
    NativeCall,
    NativeResult,
    ProviderDefinition,
    operations as op,
    outcomes as out,
)

GOOGLE: Dialect = DIALECTS["google"]
PROVIDER = ExecutedBy.PROVIDER
URL = "https://example.com/a"


def call(name: str, arguments: dict[str, Any]) -> Call:
    read = GOOGLE.read_call(NativeCall("1", name, arguments, executed_by=PROVIDER))
    assert read.failure is None, read.failure
    return read


def heard(made: Call, part: Any, content: str = "", *, is_error: bool | None = None) -> tuple[out.Outcome, ...]:
    native = NativeResult("1", content, is_error, executed_by=PROVIDER, item=part)
    return GOOGLE.read_result(made, native).outcomes


def response(kind: str, said: Any = None) -> dict[str, Any]:
    inner = {"id": "1", "toolType": kind}
    return {"thoughtSignature": "x", "toolResponse": inner if said is None else {**inner, "response": said}}


# ── results ──────────────────────────────────────────────────────────────────


def test_a_search_gives_what_the_provider_shows_of_it() -> None:
    made = call("GOOGLE_SEARCH_WEB", {"queries": ["tea"]})
    assert heard(made, response("GOOGLE_SEARCH_WEB")) == (out.DoneOutcome(),)
    suggestions = {"search_suggestions": "<div>tea</div>"}
    assert heard(made, response("GOOGLE_SEARCH_WEB", suggestions)) == (out.JsonOutcome(suggestions),)


def test_a_tool_that_says_it_failed() -> None:
    made = call("GOOGLE_SEARCH_WEB", {"queries": ["tea"]})
    assert heard(made, response("GOOGLE_SEARCH_WEB", {"error": "no"})) == (out.Failure("failed", "no"),)
    assert heard(made, response("GOOGLE_SEARCH_WEB", {"error": {"code": 7}})) == (out.Failure("failed", '{"code":7}'),)


def test_documents_that_were_found() -> None:
    made = call("FILE_SEARCH", {})
    found = [{"text": "Paris.", "file_search_store": "fileSearchStores/a", "custom_metadata": []}]
    assert heard(made, response("FILE_SEARCH", {"result": found})) == (
        out.ResourcesOutcome((out.Resource("fileSearchStores/a", text="Paris."),)),
    )
    assert heard(made, response("FILE_SEARCH")) == (out.DoneOutcome(),)
    assert heard(made, response("FILE_SEARCH", {"result": "odd"})) == (out.JsonOutcome({"result": "odd"}),)


def test_each_page_has_its_own_end() -> None:
    made = call("URL_CONTEXT", {"urls": [URL, "https://b.example", "https://c.example"]})
    read = [
        {"retrievedUrl": URL, "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS"},
        {"retrievedUrl": "https://b.example", "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_PAYWALL"},
    ]
    assert heard(made, response("URL_CONTEXT", {"urlMetadata": read})) == (
        out.PagesOutcome((out.Page(URL),)),
        out.Failure("failed", "https://b.example: URL_RETRIEVAL_STATUS_PAYWALL"),
        out.UnknownOutcome("nothing is said of this page"),
    )


PROGRAM = call("code_execution", {"language": "PYTHON", "code": "1/0"})


def ran(outcome: str, **output: str) -> dict[str, Any]:
    return {"codeExecutionResult": {"outcome": outcome, **output}}


def test_what_a_program_printed() -> None:
    assert heard(PROGRAM, ran("OUTCOME_OK", output="42\n"), "42\n") == (out.TextOutcome("42\n"),)
    assert heard(PROGRAM, ran("OUTCOME_OK")) == (out.DoneOutcome(),)


def test_a_program_that_failed_or_took_too_long() -> None:
    assert heard(PROGRAM, ran("OUTCOME_FAILED", output="ZeroDivisionError"), "ZeroDivisionError", is_error=True) == (
        out.Failure("failed", "ZeroDivisionError"),
    )
    assert heard(PROGRAM, ran("OUTCOME_DEADLINE_EXCEEDED"), is_error=True) == (
        out.Failure("timed_out", "the program took too long"),
    )


# ── rows ─────────────────────────────────────────────────────────────────────


def test_a_tool_is_offered_by_the_name_of_its_field() -> None:
    assert GOOGLE.definitions() == [
        ProviderDefinition("google.google_search", "googleSearch", "google_search"),
        ProviderDefinition("google.url_context", "urlContext", "url_context"),
        ProviderDefinition("google.code_execution", "codeExecution", "code_execution"),
    ]


def test_an_old_model_is_offered_the_search_it_knows() -> None:
    offered = GOOGLE.at(family="gemini-1.5-pro").definitions({op.SearchWeb})
    assert offered == [
        ProviderDefinition("google.google_search_retrieval", "googleSearchRetrieval", "google_search_retrieval")
    ]


def test_a_screen_takes_the_names_of_its_functions() -> None:
    row = provider_tool("google.computer_use")
    assert row is not None
    assert {"click_at", "navigate", "search"} <= set(row.names)
    assert row.executed_by is ExecutedBy.CLIENT
    with pytest.raises(DefinitionError, match="environment"):
        row.define({"excludedPredefinedFunctions": ["search"]})


@pytest.mark.parametrize(
    "id, settings",
    [
        ("google.google_search", {"excludeDomains": ["a.example"], "searchTypes": {"webSearch": {}}}),
        ("google.google_search_retrieval", {"dynamicRetrievalConfig": {"mode": "MODE_DYNAMIC", "dynamicThreshold": 1}}),
        ("google.file_search", {"fileSearchStoreNames": ["fileSearchStores/a"], "topK": 3}),
        ("google.file_search", {"file_search_store_names": ["fileSearchStores/a"], "top_k": 3}),
        ("google.google_maps", {"enableWidget": True}),
        ("google.enterprise_web_search", {"blockingConfidence": "BLOCK_LOW_AND_ABOVE"}),
        ("google.retrieval", {"vertexRagStore": {"ragResources": [{"ragCorpus": "a"}]}}),
        ("google.retrieval", {"vertex_rag_store": {"rag_resources": [{"rag_corpus": "a"}]}}),
        ("google.parallel_ai_search", {"apiKey": "k", "customConfigs": {"a": 1}}),
        ("google.exa_ai_search", {"apiKey": "k"}),
        ("google.mcp_servers", {"mcpServers": [{"name": "a", "streamableHttpTransport": {"url": URL}}]}),
        ("google.computer_use", {"environment": "ENVIRONMENT_BROWSER"}),
    ],
)
def test_settings_are_sent_as_they_were_given(id: str, settings: dict[str, Any]) -> None:
    row = provider_tool(id)
    assert row is not None
    assert row.define(settings).settings == settings
    assert row.unknown(settings) == ()


def test_settings_are_checked_in_either_spelling() -> None:
    row = provider_tool("google.file_search")
    assert row is not None
    with pytest.raises(DefinitionError) as caught:
        row.define({"file_search_store_names": "fileSearchStores/a", "top_k": "many"})
    assert sorted(caught.value.problems) == [
        'settings.fileSearchStoreNames must be a list, not "fileSearchStores/a"',
        'settings.topK must be an integer, not "many"',
    ]


# ── beside a client ──────────────────────────────────────────────────────────


def test_gemini_cli_reads_what_the_provider_ran_with_the_same_words() -> None:
    gemini = DIALECTS["gemini_cli"]
    made = gemini.read_call(NativeCall("1", "GOOGLE_SEARCH_WEB", {"queries": ["tea"]}, executed_by=PROVIDER))
    assert made.operations == (op.SearchWeb("tea"),)
    native = NativeResult("1", "", executed_by=PROVIDER, item=response("GOOGLE_SEARCH_WEB"))
    assert gemini.read_result(made, native).outcomes == (out.DoneOutcome(),)


def test_a_servers_tool_of_the_name_of_a_screens_function_stays_the_servers() -> None:
    gemini = DIALECTS["gemini_cli"].knowing(servers={"docs": ("search",)})
    read = gemini.read_call(NativeCall("1", "search", {"query": "tea"}))
    assert read.operations == (op.CallMcpTool("docs", "search", {"query": "tea"}),)
    unknown = DIALECTS["gemini_cli"].read_call(NativeCall("1", "navigate", {"url": URL}))
    assert unknown.operations == (op.Unrecognised("navigate", {"url": URL}),)
