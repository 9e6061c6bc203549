"""The tools Google's own API defines: what the provider runs, and the screen that is ours to act on.

Known from the documentation, the types of google-genai 3.1.0 and traffic recorded until August 2026. A tool is asked
for by the name of its field (`googleSearch`); its calls carry the type of the tool that was used (`GOOGLE_SEARCH_WEB`).
A call that does not say what was looked for is read with that text empty.
"""

from __future__ import annotations

import types
from typing import Any, Literal

import msgspec

from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, ExecutedBy, NativeResult
from dragoman.model.json_text import converted, json_text

from .base.default_words import PlainFailures, understand
from .base.dialect import Dialect, Steer
from .base.provider_rows import Ids, ProviderRow, Settings, SettingsOf
from .base.spelling import ProviderExecuted, Spelling, means, native_only

# ── results ──────────────────────────────────────────────────────────────────


class GoogleFailures(PlainFailures):
    """Failures in words; a program and a tool of the provider's also say in their part what became of them."""

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        match native.item:
            case {"codeExecutionResult": {"outcome": "OUTCOME_DEADLINE_EXCEEDED"}}:
                return out.Failure("timed_out", _words(native, "the program took too long"))
            case {"codeExecutionResult": {"outcome": "OUTCOME_FAILED"}}:
                return out.Failure("failed", _words(native, "the program failed"))
            case {"toolResponse": {"response": {"error": error}}} if error:
                return out.Failure("failed", error if isinstance(error, str) else json_text(error))
        return super().understand(call, native)


def _words(native: NativeResult, otherwise: str) -> str:
    output = native.item["codeExecutionResult"].get("output")
    return output if isinstance(output, str) and output else otherwise


class PartResults:
    """Results that stand in a part of the provider's, which says the same of every operation of its call."""

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        match native.item:
            case {"toolResponse": {"response": dict(response)}} if response:
                return self.in_response(response)
            case {"toolResponse": dict()} if not native.content:
                return out.DoneOutcome()
        return understand(operation, native)

    def in_response(self, response: dict[str, Any]) -> out.Outcome:
        """The outcome a response holds; by itself, the response as it is."""
        return out.JsonOutcome(response)


# ── searching ────────────────────────────────────────────────────────────────

_DOMAINS = "domains are a setting of the tool"
_LIMIT = "the provider decides how much it looks at"


class _Searching(PartResults, ProviderExecuted[op.SearchWeb]):
    """What searches have in common: several things may be looked for at once."""

    unsaid = {"allowed_domains": _DOMAINS, "blocked_domains": _DOMAINS, "limit": _LIMIT}

    queries: tuple[str, ...] = means(None, "What to search for.", default=())

    def to_operations(self) -> tuple[op.Operation, ...]:
        return tuple(op.SearchWeb(query) for query in self.queries or ("",))

    @classmethod
    def from_operation(cls, operation: op.SearchWeb) -> Any:
        return cls(queries=(operation.query,))


class GoogleSearch(_Searching):
    """Search the web with Google."""

    native_name = "GOOGLE_SEARCH_WEB"


class GoogleImageSearch(_Searching):
    """Search the web for pictures with Google."""

    native_name = "GOOGLE_SEARCH_IMAGE"
    read_only = "whether pictures are looked for is the provider's to decide"


class FileSearch(PartResults, ProviderExecuted[op.SearchDocuments]):
    """Search the documents of file search stores."""

    native_name = "FILE_SEARCH"
    only_by_id = "it needs the stores to search"
    unsaid = {"limit": _LIMIT}

    queries: tuple[str, ...] = means(None, "What to look for.", default=())

    def to_operations(self) -> tuple[op.Operation, ...]:
        return tuple(op.SearchDocuments(query) for query in self.queries or ("",))

    @classmethod
    def from_operation(cls, operation: op.SearchDocuments) -> FileSearch:
        return cls(queries=(operation.query,))

    def in_response(self, response: dict[str, Any]) -> out.Outcome:
        try:
            found = converted(response.get("result"), list[_FoundText])
        except msgspec.ValidationError:
            return super().in_response(response)
        return out.ResourcesOutcome(
            tuple(out.Resource(one.file_search_store or "", one.title, text=one.text) for one in found)
        )


class _FoundText(msgspec.Struct):
    """One piece of a document that was found, and the store it lies in."""

    text: str | None = None
    title: str | None = None
    file_search_store: str | None = None


class UrlContext(PartResults, ProviderExecuted[op.FetchPage]):
    """Read pages by their addresses."""

    native_name = "URL_CONTEXT"
    unsaid = {
        "instructions": "a page is read as it is",
        "format": "a page is read as it is",
        "timeout_ms": "a page is read as it is",
        "offset": "a page is read as it is",
        "limit": "a page is read as it is",
    }

    urls: tuple[str, ...] = means(None, "The pages.", default=())

    def to_operations(self) -> tuple[op.Operation, ...]:
        return tuple(op.FetchPage(url) for url in self.urls or ("",))

    @classmethod
    def from_operation(cls, operation: op.FetchPage) -> UrlContext:
        return cls(urls=(operation.url,))

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        match native.item:
            case {"toolResponse": {"response": {"urlMetadata": list(read)} | {"url_metadata": list(read)}}}:
                found = {_address(one): one for one in read if isinstance(one, dict)}
                return tuple(_retrieved(operation, found) for operation in operations)
        return super().to_outcomes(operations, native)


def _address(page: dict[str, Any]) -> str:
    return str(page.get("retrievedUrl") or page.get("retrieved_url") or "")


def _retrieved(operation: op.Operation, found: dict[str, dict[str, Any]]) -> out.Outcome:
    """What became of one page; its text goes to the model alone."""
    url = operation.url if isinstance(operation, op.FetchPage) else ""
    page = found.get(url) or (next(iter(found.values())) if len(found) == 1 else None)
    if page is None:
        return out.UnknownOutcome("nothing is said of this page")
    status = str(page.get("urlRetrievalStatus") or page.get("url_retrieval_status") or "")
    if status.endswith("_SUCCESS"):
        return out.PagesOutcome((out.Page(_address(page)),))
    return out.Failure("failed", f"{_address(page)}: {status}")


# ── programs ─────────────────────────────────────────────────────────────────


class CodeExecution(ProviderExecuted[op.RunCode]):
    """Run Python on the provider's machines."""

    native_name = "code_execution"

    language: str | None = means("language", "The language.", default=None)
    code: str = means("code", "The program.", default="")
    id: str | None = native_only("the call's own id")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.RunCode(self.code, (self.language or "python").lower()),)

    @classmethod
    def from_operation(cls, operation: op.RunCode) -> CodeExecution | None:
        return cls(language="PYTHON", code=operation.code) if operation.language == "python" else None

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        match native.item:
            case {"codeExecutionResult": {"output": str(output)}}:
                return out.TextOutcome(output)
            case {"codeExecutionResult": dict()} if not native.content:
                return out.DoneOutcome()
        return understand(operation, native)


# ── the screen ───────────────────────────────────────────────────────────────

_PLACE = {"x": int, "y": int}
_ACTIONS: dict[str, dict[str, Any]] = {
    "open_web_browser": {},
    "wait_5_seconds": {},
    "go_back": {},
    "go_forward": {},
    "search": {},
    "navigate": {"url": str},
    "click_at": _PLACE,
    "hover_at": _PLACE,
    "type_text_at": {**_PLACE, "text": str, "press_enter": bool, "clear_before_typing": bool},
    "key_combination": {"keys": str},
    "scroll_document": {"direction": str},
    "scroll_at": {**_PLACE, "direction": str, "magnitude": int},
    "drag_and_drop": {**_PLACE, "destination_x": int, "destination_y": int},
}
"""The functions a model may call when it is given a screen, and what each takes; places are thousandths of it."""


class _ScreenAction(Spelling[op.UseComputer]):
    """What all of them have in common: the name is the action."""

    only_by_id = "nothing here acts on a screen"

    safety_decision: dict[str, Any] | None = native_only("what must be confirmed is for whoever runs it to ask")

    def to_operations(self) -> tuple[op.Operation, ...]:
        arguments = self.native_arguments()
        arguments.pop("safety_decision", None)
        return (op.UseComputer(self.native_name, arguments),)

    @classmethod
    def from_operation(cls, operation: op.UseComputer) -> Any:
        if operation.action != cls.native_name:
            return None
        try:
            said = converted(operation.arguments, cls)
        except msgspec.ValidationError:
            return None
        return said if said.native_arguments() == operation.arguments else None


def _screen_action(name: str, parameters: dict[str, Any]) -> Any:
    """The spelling of one function; every parameter may be left out, so that any call is read."""
    declared = {parameter: means(None, default=None) for parameter in parameters}
    told = {
        "__doc__": f"Act on the screen: {name.replace('_', ' ')}.",
        "__module__": __name__,
        "__annotations__": {parameter: kind | None for parameter, kind in parameters.items()},
        "native_name": name,
        **declared,
    }
    return types.new_class(name, (_ScreenAction,), {}, lambda namespace: namespace.update(told))


SCREEN = tuple(_screen_action(name, parameters) for name, parameters in _ACTIONS.items())


# ── settings ─────────────────────────────────────────────────────────────────

Confidence = Literal[
    "PHISH_BLOCK_THRESHOLD_UNSPECIFIED",
    "BLOCK_LOW_AND_ABOVE",
    "BLOCK_MEDIUM_AND_ABOVE",
    "BLOCK_HIGH_AND_ABOVE",
    "BLOCK_HIGHER_AND_ABOVE",
    "BLOCK_VERY_HIGH_AND_ABOVE",
    "BLOCK_ONLY_EXTREMELY_HIGH",
]


class Interval(Settings, frozen=True, kw_only=True, rename="camel"):
    """From when to when."""

    start_time: str | None = None
    end_time: str | None = None


class SearchTypes(Settings, frozen=True, kw_only=True, rename="camel"):
    """What is searched: pages, pictures, or both."""

    web_search: dict[str, Any] | None = None
    image_search: dict[str, Any] | None = None


class SearchSettings(SettingsOf[Ids], frozen=True, kw_only=True, rename="camel"):
    """What is said of every search of the web."""

    exclude_domains: tuple[str, ...] | None = None
    blocking_confidence: Confidence | None = None


class EnterpriseSearchSettings(
    SearchSettings[Literal["google.enterprise_web_search"]], frozen=True, kw_only=True, rename="camel"
):
    """The web search for enterprises."""


class GoogleSearchSettings(SearchSettings[Literal["google.google_search"]], frozen=True, kw_only=True, rename="camel"):
    """The web search."""

    search_types: SearchTypes | None = None
    time_range_filter: Interval | None = None


class DynamicRetrieval(Settings, frozen=True, kw_only=True, rename="camel"):
    """How sure the model must be that a search helps."""

    mode: str | None = None
    dynamic_threshold: float | None = None


class GoogleSearchRetrievalSettings(
    SettingsOf[Literal["google.google_search_retrieval"]], frozen=True, kw_only=True, rename="camel"
):
    """The web search as it first was."""

    dynamic_retrieval_config: DynamicRetrieval | None = None


class FileSearchSettings(SettingsOf[Literal["google.file_search"]], frozen=True, kw_only=True, rename="camel"):
    """The search in file search stores."""

    file_search_store_names: tuple[str, ...]
    top_k: int | None = None
    metadata_filter: str | None = None


class GoogleMapsSettings(SettingsOf[Literal["google.google_maps"]], frozen=True, kw_only=True, rename="camel"):
    """The map."""

    enable_widget: bool | None = None
    auth_config: dict[str, Any] | None = None
    grounding_types: dict[str, Any] | None = None


class ComputerUseSettings(SettingsOf[Literal["google.computer_use"]], frozen=True, kw_only=True, rename="camel"):
    """The screen, and what may not be done on it."""

    environment: Literal["ENVIRONMENT_UNSPECIFIED", "ENVIRONMENT_BROWSER", "ENVIRONMENT_MOBILE", "ENVIRONMENT_DESKTOP"]
    excluded_predefined_functions: tuple[str, ...] | None = None
    enable_prompt_injection_detection: bool | None = None
    disabled_safety_policies: tuple[str, ...] | None = None


class DataStore(Settings, frozen=True, kw_only=True, rename="camel"):
    """One store of several."""

    data_store: str | None = None
    filter: str | None = None


class VertexAiSearch(Settings, frozen=True, kw_only=True, rename="camel"):
    """A store, or an engine, of Vertex AI Search."""

    datastore: str | None = None
    engine: str | None = None
    data_store_specs: tuple[DataStore, ...] | None = None
    filter: str | None = None
    max_results: int | None = None


class RagResource(Settings, frozen=True, kw_only=True, rename="camel"):
    """A corpus, or some files of it."""

    rag_corpus: str | None = None
    rag_file_ids: tuple[str, ...] | None = None


class VertexRagStore(Settings, frozen=True, kw_only=True, rename="camel"):
    """Corpora of the RAG engine."""

    rag_corpora: tuple[str, ...] | None = None
    rag_resources: tuple[RagResource, ...] | None = None
    rag_retrieval_config: dict[str, Any] | None = None
    similarity_top_k: int | None = None
    store_context: bool | None = None
    vector_distance_threshold: float | None = None


class RetrievalSettings(SettingsOf[Literal["google.retrieval"]], frozen=True, kw_only=True, rename="camel"):
    """What is looked up: one of the three."""

    vertex_ai_search: VertexAiSearch | None = None
    vertex_rag_store: VertexRagStore | None = None
    external_api: dict[str, Any] | None = None
    disable_attribution: bool | None = None


class OtherSearchSettings(SettingsOf[Ids], frozen=True, kw_only=True, rename="camel"):
    """The key of another company's search, and what is handed on to it."""

    api_key: str | None = None
    custom_configs: dict[str, Any] | None = None


class ExaSearchSettings(
    OtherSearchSettings[Literal["google.exa_ai_search"]], frozen=True, kw_only=True, rename="camel"
):
    """Exa's search."""


class ParallelSearchSettings(
    OtherSearchSettings[Literal["google.parallel_ai_search"]], frozen=True, kw_only=True, rename="camel"
):
    """Parallel's search, with whether it may keep what it was asked."""

    enable_data_retention: bool | None = None
    enable_zero_data_retention: bool | None = None


class HttpTransport(Settings, frozen=True, kw_only=True, rename="camel"):
    """Where a server is reached."""

    url: str | None = None
    headers: dict[str, str] | None = None
    timeout: str | None = None
    sse_read_timeout: str | None = None
    terminate_on_close: bool | None = None


class McpServer(Settings, frozen=True, kw_only=True, rename="camel"):
    """A server of the Model Context Protocol that the provider calls."""

    name: str | None = None
    streamable_http_transport: HttpTransport | None = None


class McpServersSettings(SettingsOf[Literal["google.mcp_servers"]], frozen=True, kw_only=True, rename="camel"):
    """The servers."""

    mcp_servers: tuple[McpServer, ...]


# ── rows ─────────────────────────────────────────────────────────────────────

SINCE_2 = ("gemini*", "!gemini-1*", "!gemini-pro*", "!gemini-ultra*")
SINCE_2_5 = (*SINCE_2, "!gemini-2.0*")
VERTEX = "only Vertex AI has it"


def _row(tool: str, wire_type: str, *spellings: Any, **declared: Any) -> ProviderRow:
    """A row: the model knows the tool by its name, the wire by its field."""
    declared = {"name": tool, "models": SINCE_2, "apis": ("gemini_generate",), **declared}
    return ProviderRow(id=f"google.{tool}", wire_type=wire_type, spellings=spellings, **declared)


ROWS = (
    _row("google_search", "googleSearch", GoogleSearch, GoogleImageSearch, settings=GoogleSearchSettings),
    _row(
        "google_search_retrieval",
        "googleSearchRetrieval",
        GoogleSearch,
        settings=GoogleSearchRetrievalSettings,
        models=("gemini-1.5*",),
        superseded_by="google.google_search",
    ),
    _row(
        "enterprise_web_search",
        "enterpriseWebSearch",
        GoogleSearch,
        settings=EnterpriseSearchSettings,
        note=VERTEX,
    ),
    _row("url_context", "urlContext", UrlContext, models=SINCE_2),
    _row("code_execution", "codeExecution", CodeExecution),
    _row("file_search", "fileSearch", FileSearch, settings=FileSearchSettings, models=SINCE_2_5),
    _row("google_maps", "googleMaps", settings=GoogleMapsSettings),
    _row(
        "computer_use",
        "computerUse",
        *SCREEN,
        executed_by=ExecutedBy.CLIENT,
        name=None,
        reserves=tuple(_ACTIONS),
        settings=ComputerUseSettings,
        models=("*computer-use*", "gemini-3*"),
        note="it is called by the functions that come with it",
    ),
    _row("retrieval", "retrieval", settings=RetrievalSettings, note=VERTEX),
    _row("parallel_ai_search", "parallelAiSearch", settings=ParallelSearchSettings, note=VERTEX),
    _row("exa_ai_search", "exaAiSearch", settings=ExaSearchSettings, note=VERTEX),
    _row(
        "mcp_servers",
        "mcpServers",
        name=None,
        settings=McpServersSettings,
        note="the field holds the list itself; only the Developer API has it",
    ),
)


# ── the vocabulary ───────────────────────────────────────────────────────────


DIALECT = Dialect(
    "google",
    (GoogleSearch, GoogleImageSearch, FileSearch, UrlContext, CodeExecution, *SCREEN),
    provider_tools=ROWS,
    unspoken={
        op.Reading: "no tool of the provider works on files",
        op.Writing: "no tool of the provider works on files",
        op.Searching: "no tool of the provider works on files",
        op.ViewImage: "a picture is part of what the user says",
        op.SearchTools: "all tools are offered up front",
        op.Executing: "the provider runs programs, but no commands",
        op.FindInPage: "a page is read as a whole",
        op.TakeScreenshot: "screenshots are of the screen, not of a page",
        op.Planning: "no tool of the provider keeps a plan",
        op.Delegating: "no tool of the provider starts agents",
        op.SaveMemory: "no tool of the provider keeps memories",
        op.RecallMemory: "no tool of the provider keeps memories",
        op.CallMcpTool: "the provider calls servers itself and does not show the calls",
        op.ReadMcpResource: "the provider calls servers itself and does not show the calls",
        op.ListMcpResources: "the provider calls servers itself and does not show the calls",
        op.UseSkill: "no tool of the provider loads skills",
        op.GenerateImage: "pictures are part of what the model says",
    },
    steering=(
        Steer(
            "GOOGLE_MAPS",
            "a place on a map is no page and no document",
            ("queries",),
            executed_by=ExecutedBy.PROVIDER,
        ),
        Steer(
            "MEDIA_PROCESSING",
            "how pictures and films are made ready is the provider's business",
            executed_by=ExecutedBy.PROVIDER,
        ),
    ),
    failures=GoogleFailures(),
)
