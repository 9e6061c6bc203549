"""Tools that only some sessions have: of extensions, of features that were tried out, of programs that host the client.

Rule: they are read and never said, as none of the versions captured offers them by itself.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.dialects.base.dialect import Steer
from dragoman.dialects.base.responses_items import tools_found
from dragoman.dialects.base.spelling import Freeform, Spelling, means, native_only
from dragoman.dialects.base.words import one_of
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

from .results import json_object

EXTENSION = "a tool of an extension, which none of the versions captured offers by itself"
CURSOR = "a list is read from its beginning"


# ── the web ──────────────────────────────────────────────────────────────────


class Asked(msgspec.Struct, frozen=True):
    """A query, perhaps for some domains alone."""

    q: str
    domains: tuple[str, ...] | None = None


class Opened(msgspec.Struct, frozen=True):
    """A page by its address, or by the reference that something found has."""

    ref_id: str


class Sought(msgspec.Struct, frozen=True):
    """A text to find in a page."""

    ref_id: str
    pattern: str


Rows = tuple[dict[str, Any], ...]
"""What has no shared meaning."""


class WebRun(Spelling[op.SearchWeb | op.FetchPage | op.FindInPage | op.TakeScreenshot | op.SteerClient]):
    """Search the web, open pages and find texts in them, and look up what changes by the day."""

    native_name, namespace = "run", "web"
    read_only = EXTENSION

    search_query: tuple[Asked, ...] | None = means(None, default=None)
    image_query: tuple[Asked, ...] | None = means(None, default=None)
    open: tuple[Opened, ...] | None = means(None, default=None)
    find: tuple[Sought, ...] | None = means(None, default=None)
    screenshot: tuple[Opened, ...] | None = means(None, default=None)
    click: Rows | None = means(None, default=None)
    finance: Rows | None = means(None, default=None)
    weather: Rows | None = means(None, default=None)
    sports: Rows | None = means(None, default=None)
    time: Rows | None = means(None, default=None)
    response_length: str | None = native_only("the provider decides how much it gives")

    def to_operations(self) -> tuple[op.Operation, ...]:
        asked = (*(self.search_query or ()), *(self.image_query or ()))
        found: list[op.Operation] = [op.SearchWeb(one.q, one.domains or ()) for one in asked]
        found += [op.FetchPage(one.ref_id) for one in self.open or ()]
        found += [op.FindInPage(one.ref_id, one.pattern) for one in self.find or ()]
        found += [op.TakeScreenshot(one.ref_id) for one in self.screenshot or ()]
        for name in ("click", "finance", "weather", "sports", "time"):
            found += [op.SteerClient(f"web.{name}", row) for row in getattr(self, name) or ()]
        if not found:
            raise ValueError("there is nothing to do; give a search_query or a page to open")
        return tuple(found)


# ── pictures and programs ────────────────────────────────────────────────────


class Imagegen(Spelling[op.GenerateImage]):
    """Make an image, or change some that were shown."""

    native_name, namespace = "imagegen", "image_gen"
    read_only = EXTENSION

    prompt: str
    referenced_image_paths: tuple[str, ...] | None = native_only("images to begin with are no part of a prompt")
    num_last_images_to_include: int | None = native_only("images to begin with are no part of a prompt")


def _shown(_asked: op.Operation, native: NativeResult) -> out.Outcome:
    if not isinstance(native.content, str):
        return out.ContentOutcome(native.content)
    return out.CommandOutcome(output=native.content)


class JsRepl(Spelling[op.RunCode]):
    """Run JavaScript in a session that stays."""

    native_name, formerly = "js_repl", ("artifacts",)
    read_only = "a feature that was tried out"
    freeform = Freeform("input")

    input: str

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.RunCode(self.input, "javascript"),)

    results = one_of(from_native=_shown)


# ── what is remembered, tools and skills ─────────────────────────────────────


class SearchMemories(Spelling[op.RecallMemory]):
    """Search what was remembered."""

    native_name, namespace = "search", "memories"
    read_only = EXTENSION

    queries: tuple[str, ...] = means(None)
    max_results: int | None = means(None, default=None)
    match_mode: str | None = native_only("how texts are compared is the client's to decide")
    path: str | None = native_only("memories are searched as a whole")
    cursor: str | None = native_only(CURSOR)
    context_lines: int | None = native_only("how much is shown is the client's to decide")
    case_sensitive: bool | None = native_only("how texts are compared is the client's to decide")
    normalized: bool | None = native_only("how texts are compared is the client's to decide")

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.queries:
            raise ValueError("there is nothing to look for; give queries")
        return tuple(op.RecallMemory(query, self.max_results) for query in self.queries)


class ListMemories(Spelling[op.RecallMemory]):
    """List what was remembered."""

    native_name, namespace = "list", "memories"
    read_only = EXTENSION

    path: str | None = means("query", default=None)
    max_results: int | None = means("limit", default=None)
    cursor: str | None = native_only(CURSOR)


class ReadMemory(Spelling[op.RecallMemory]):
    """Read one thing that was remembered."""

    native_name, namespace = "read", "memories"
    read_only = EXTENSION

    path: str = means("query")
    line_offset: int | None = native_only("a memory is read as a whole")
    max_lines: int | None = native_only("a memory is read as a whole")


class AddNote(Spelling[op.SaveMemory]):
    """Remember a note."""

    native_name, namespace = "add_ad_hoc_note", "memories"
    read_only = EXTENSION

    filename: str = means("key")
    note: str = means("text")


class SearchToolBm25(Spelling[op.SearchTools]):
    """Look for tools that can be called but are not offered up front."""

    native_name = "search_tool_bm25"
    read_only = "as the search for tools was called when it was tried out"

    query: str
    limit: int | None = None

    results = one_of(from_native=lambda _asked, native: tools_found(json_object(native)))


class ReadSkill(Spelling[op.UseSkill]):
    """Read a skill, or another text of its package."""

    native_name, namespace = "read", "skills"
    read_only = EXTENSION

    package: str = means("name")
    resource: str | None = means("arguments", default=None)
    cursor: str | None = native_only(CURSOR)


READ = (WebRun, Imagegen, JsRepl, SearchMemories, ListMemories, ReadMemory, AddNote, SearchToolBm25, ReadSkill)

_CONTEXT = "what the model is given is the client's to decide"
_PLUGINS = "what is installed is the client's to decide"
_NOTES = "notes that only the model sees are the client's to keep"
_JOBS = "a table of tasks is the client's to hand out"


def _apart(namespace: str, name: str, reason: str, *parameters: str) -> Steer:
    """A tool whose name says too little without its namespace."""
    return Steer(name, reason, parameters, action=f"{namespace}.{name}", namespace=namespace)


STEERED = (
    Steer("js_repl_reset", "the session is the client's"),
    Steer("get_context_remaining", _CONTEXT),
    Steer("new_context", _CONTEXT),
    _apart("history", "list_windows", _CONTEXT, "agent_name", "limit", "recent_first"),
    _apart("history", "list_items", _CONTEXT, "agent_name", "window_id", "limit", "role"),
    _apart("history", "read_item", _CONTEXT, "agent_name", "window_id", "item_id"),
    _apart("history", "search_contents", _CONTEXT, "agent_name", "query", "max_results"),
    _apart("notes", "list_files_by_prefix", _NOTES, "path_prefix", "max_files"),
    _apart("notes", "read_file", _NOTES, "path", "start_line", "stop_line"),
    _apart("notes", "search_contents", _NOTES, "query", "path_prefix"),
    _apart("notes", "append_to_file", _NOTES, "path", "text"),
    _apart("notes", "write_file", _NOTES, "path", "text"),
    _apart("skills", "list", _PLUGINS, "authority", "cursor"),
    Steer("list_available_plugins_to_install", _PLUGINS),
    Steer(
        "request_plugin_install",
        _PLUGINS,
        ("tool_type", "action_type", "tool_id", "plugin_id", "suggest_reason"),
        formerly=("tool_suggest",),
    ),
    Steer("wait_for_environment", "where it works is the client's to decide", ("environment_id",)),
    Steer(
        "spawn_agents_on_csv",
        _JOBS,
        (
            "csv_path",
            "instruction",
            "id_column",
            "output_csv_path",
            "output_schema",
            "max_concurrency",
            "max_workers",
            "max_runtime_seconds",
        ),
    ),
    Steer("report_agent_job_result", _JOBS, ("job_id", "item_id", "result", "stop")),
)
