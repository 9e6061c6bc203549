"""Tasks of Cline's extension for editors, and of its forks: a folder each, with two lists told of the same work.

`api_conversation_history.json` is what the model and the client said to one another; `ui_messages.json` what the user
saw, and the only place where tokens are. Calls are told by the first alone; the second is read with it, so that what a
request used stands with its reply, and by itself only where it is given or the first is not there: then the words that
were said are told from it, and no calls. Until they were
calls of the API's, they stood in the model's text, in tags, and their results came back as words; so they still do of
models that are asked for one call at a time. The folder is named by the session.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from dragoman.logs.base.format import Gathered, LinesReader, LogFormat, Places, decoded
from dragoman.logs.base.json_ranges import pieces_of
from dragoman.logs.base.listing import files_in, read_beside
from dragoman.logs.base.normalise import Normaliser, Place, moment
from dragoman.model import CallMcpTool, FinishReason, Media, NativeCall, NativeResult, Usage, events as ev
from dragoman.model.json_text import read_json
from dragoman.model.json_values import as_integer, as_object, as_objects, as_positive, as_text

SAID: Final = "api_conversation_history.json"
SHOWN: Final = "ui_messages.json"
TOOLS: Final = (
    "access_mcp_resource",
    "act_mode_respond",
    "apply_diff",
    "apply_patch",
    "ask_followup_question",
    "attempt_completion",
    "browser_action",
    "codebase_search",
    "condense",
    "execute_command",
    "fetch_instructions",
    "generate_explanation",
    "insert_content",
    "list_code_definition_names",
    "list_files",
    "load_mcp_documentation",
    "new_rule",
    "new_task",
    "plan_mode_respond",
    "read_file",
    "replace_in_file",
    "report_bug",
    "run_slash_command",
    "search_and_replace",
    "search_files",
    "summarize_task",
    "switch_mode",
    "update_todo_list",
    "use_mcp_tool",
    "use_skill",
    "use_subagents",
    "web_fetch",
    "web_search",
    "write_to_file",
)
"""Names that stand for a call where a model writes them as a tag; any other tag is part of what it says."""

_SERVERS = (".vscode-server", ".vscode-server-insiders", ".vscode-remote", ".cursor-server", ".windsurf-server")
_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_OPEN = b'{"":'
_MARK = b"\xef\xbb\xbf"
_TAG = re.compile(rf"<({'|'.join((*TOOLS, 'thinking'))})>")
_PARAMETER = re.compile(r"<([A-Za-z_]+\d?)>")
_TO_THE_LAST: Final = frozenset({"args", "arguments", "content", "context", "diff", "message", "result", "todos"})
"""Parameters that may hold any tag themselves."""
_AS_IT_STANDS: Final = frozenset({"content", "diff"})
_BY_CLIENT: Final = re.compile(
    r"\s*(?:<environment_details>|\[ERROR\]|\[TASK RESUMPTION\]|\[NOTE\]|# (?:TODO LIST|task_progress)\b)"
)
_BY_USER: Final = re.compile(
    r"(?:New instructions for task continuation:\s*|New message to respond to with plan_mode_respond[^\n]*:\s*"
    r"|The user (?:has )?provided the following feedback:\s*)?<(task|feedback|user_message)>(.*)</\1>",
    re.DOTALL,
)
_ANSWER: Final = re.compile(
    r"\[(?P<name>\w+)(?: for [^\n]*?)?\] Result:\n?|Tool \[(?P<unrun>\w+)[^\n]*?\] was not executed\b"
)
"""How a result begins, of one tool: `[read_file for 'a.py'] Result:`; or the word that there is none."""
_FOLDER: Final = re.compile(rb"# Current (?:Working|Workspace) Directory \(((?!Primary: )[^\n\")\\]+)\) Files")
_COUNTED: Final = frozenset({"deleted_api_reqs", "subagent_usage"})
"""What requests used that are told nowhere else: those that were gone back before, and those of agents."""
_OF_USER: Final = frozenset({"task", "user_feedback"})
_WORDS: Final = frozenset({"completion_result", "reasoning", "text", *_OF_USER})
"""What the user saw that is words of somebody's."""
_OF_SERVER: Final = "0mcp0"
"""Stands in a name between a key of a server's, which changes from run to run, and the name of its tool."""


class TaskFormat(LogFormat):
    """A format whose tasks are folders with the two lists."""

    def files(self, home: Path) -> Iterator[Path]:
        yield from sorted({self.whole(path) for path in files_in(home, f"*/{SAID}", f"*/{SHOWN}")})

    def whole(self, path: Path) -> Path:
        """What the user saw of a task is read with what was said, where that is there."""
        said = path.with_name(SAID)
        return said if path.name == SHOWN and said.is_file() else path

    def companions(self, path: Path) -> Iterator[Path]:
        if path.name == SAID:
            yield path.with_name(SHOWN)


def kept_by_editors(places: Places, extension: str) -> Iterator[Path]:
    """The folders in which editors keep the tasks of an extension."""
    users = [_settings(places) / editor / "User" for editor in _EDITORS]
    # Where an editor works on another machine, its extensions run there.
    users += [places.home / server / "data" / "User" for server in _SERVERS]
    yield from (user / "globalStorage" / extension / "tasks" for user in users)


def _settings(places: Places) -> Path:
    """Where editors keep what is theirs."""
    if places.system == "win32":
        return Path(places.environment.get("APPDATA") or places.home / "AppData" / "Roaming")
    if places.system == "darwin":
        return places.home / "Library" / "Application Support"
    return Path(places.environment.get("XDG_CONFIG_HOME") or places.home / ".config")


def recognise(document: Any) -> float:
    """How sure it is that a JSON value is one of the two lists."""
    if not isinstance(document, list) or not document or not all(isinstance(one, dict) for one in document):
        return 0.0
    if all(_is_shown(one) for one in document):
        return 0.9
    if not all(one.get("role") in ("user", "assistant") and "content" in one for one in document):
        return 0.0
    texts = [text for one in document[:4] for text in _texts(one["content"])]
    if any(text.startswith("<task>") or "<environment_details>" in text for text in texts):
        return 0.9
    return 0.7 if any("modelId" in as_object(one.get("modelInfo")) for one in document) else 0.0


def _is_shown(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    return kind in ("say", "ask") and isinstance(record.get(str(kind)), str) and isinstance(record.get("ts"), int)


_SEEN: Final = "Successfully read image"
_COUNTS_CACHE: Final = "openai"
"""The provider for servers of OpenAI's kind: its prompt counts what the cache gave (2.14.0). Others leave that out."""


class TaskReader(LinesReader):
    """Reads either of the two lists."""

    def __init__(self, path: Path, client: str) -> None:
        super().__init__(path, Normaliser(client, client, path.stem))
        self._session = path.absolute().parent.name
        self._pieces = Gathered(path)
        self._latest: tuple[str | None, int | None] = (None, None)
        """Whose the message is that was told last, and when it was written."""
        self._model: str | None = None
        self._has_called = False
        self._waiting: list[tuple[str, str]] = []
        """Calls of the last reply that have no result yet: (name, id)."""
        self._was_answered = False
        self._is_alone = path.name == SHOWN and not path.with_name(SAID).is_file()
        """Whether what the user saw is all there is."""
        self._was_begun = False
        self._is_counted = False
        """Whether what the user saw is there, which counts the tokens."""
        self._folder: str | None = None

    # ── a list ─────────────────────────────────────────────────────────────

    def feed(self, data: bytes) -> list[ev.AnyEvent]:
        self._pieces.append(data)
        return []

    def close(self) -> list[ev.AnyEvent]:
        data = self._pieces.take()
        if not data.strip():
            return []
        elements, bad = _elements(data)
        if bad and not elements and bad[0][:2] == (0, len(data)):
            return [self.normaliser.unreadable(ev.Source(self.path, 0, len(data)), bad[0][2])]
        folder = _FOLDER.search(data)
        self._folder = None if folder is None else folder[1].decode("utf-8", "replace")
        first = min([*(start for start, _ in elements), *(start for start, _, _ in bad)], default=len(data))
        events: list[ev.AnyEvent] = [self._started(ev.Source(self.path, 0, first))]
        beside = Path(self.path).with_name(SHOWN)
        shown = _Shown(beside) if Path(self.path).name == SAID else None
        self._is_counted = shown is not None and beside.is_file()
        for start, end in elements:
            self._read(data[start:end], ev.Source(self.path, start, end - start), events)
            role, time = self._told_last()
            if shown is not None and role == "assistant":
                self._tell(shown.until(time), events)
        if shown is not None:
            self._tell(shown.rest(), events)
            events += [self.normaliser.event(ev.Unreadable, self._place(at, None), reason=why) for at, why in shown.bad]
        events += [self.normaliser.unreadable(ev.Source(self.path, at, end - at), reason) for at, end, reason in bad]
        return events

    def _told_last(self) -> tuple[str | None, int | None]:
        latest, self._latest = self._latest, (None, None)
        return latest

    def _tell(self, records: Iterator[tuple[bytes, ev.Source]], events: list[ev.AnyEvent]) -> None:
        for record, source in records:
            self._read(record, source, events)

    def _started(self, source: ev.Source) -> ev.AnyEvent:
        return self.normaliser.event(ev.SessionStarted, self._place(source, None), cwd=self._folder)

    def _place(self, source: ev.Source, time: Any) -> Place:
        return Place(
            source=source, key=f"{Path(source.file).stem}@{source.offset}", session=self._session, time=moment(time)
        )

    # ── records ────────────────────────────────────────────────────────────

    def record(self, value: Any, source: ev.Source) -> Iterator[ev.AnyEvent]:
        if not isinstance(value, dict):
            yield self.normaliser.unreadable(source, "a record is a JSON object")
            return
        place = self._place(source, value.get("ts"))
        self._latest = (as_text(value.get("role")), as_integer(value.get("ts")))
        if value.get("role") == "assistant":
            yield from self._assistant(value, place)
        elif value.get("role") == "user":
            yield from self._user(value.get("content"), place)
        elif value.get("type") in ("say", "ask"):
            yield from self._shown(value, place)
        else:
            yield self.normaliser.unknown(place, as_text(value.get("role")) or as_text(value.get("type")))
        if not place.number:
            yield self.normaliser.event(ev.ClientNoted, place, name=f"message/{value.get('role')}/empty")

    # ── what the model said ────────────────────────────────────────────────

    def _assistant(self, value: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        content, model = value.get("content"), as_text(as_object(value.get("modelInfo")).get("modelId"))
        self._model, self._has_called = model or self._model, False
        if self._was_answered:
            self._waiting.clear()  # what has no answer by now gets none
        self._was_answered = False
        if value.get("isSummary") is True:
            yield self.normaliser.event(ev.ContextCompacted, place, summary="\n".join(_texts(content)))
            return
        if isinstance(content, str):
            yield from self._said(content, place, model)
        for block in as_objects(content):
            kind = block.get("type")
            if kind == "text":
                yield from self._said(as_text(block.get("text")) or "", place, model)
            elif kind in ("thinking", "reasoning"):
                text = as_text(block.get("thinking")) or as_text(block.get("text")) or ""
                yield self.normaliser.event(ev.ModelThought, place, text=text, model=model, hidden=not text)
            elif kind == "tool_use" and isinstance(block.get("name"), str):
                given = block.get("input")
                native = NativeCall(
                    as_text(block.get("id")) or f"{place.key}.{place.number}",
                    block["name"],
                    given if isinstance(given, dict | str) else {},
                )
                self._has_called = True
                self._waiting.append((native.name, native.id))
                yield self._of_a_server(self.normaliser.called(place, native))
            else:
                yield self.normaliser.event(ev.ClientNoted, place, name=f"block/{kind}")
        if self._has_called:
            yield self.normaliser.event(ev.ModelFinished, place, finish=FinishReason.CALLS, model=model)
        metrics = as_object(value.get("metrics"))
        tokens = as_object(metrics.get("tokens"))
        if tokens and not self._is_counted:
            counts_cache = as_object(value.get("modelInfo")).get("providerId") == _COUNTS_CACHE
            usage, cost = _usage_beside(tokens, counts_cache=counts_cache), as_positive(metrics.get("cost"))
            yield self.normaliser.event(ev.TokensUsed, place, usage=usage, model=model, cost=cost)

    def _of_a_server(self, called: ev.ToolCalled) -> ev.ToolCalled:
        key, mark, tool = called.call.native.name.partition(_OF_SERVER)
        given = called.call.native.arguments
        if not key or not mark or not tool or not isinstance(given, dict):
            return called
        call = msgspec.structs.replace(called.call, operations=(CallMcpTool(None, tool, given),))
        self.normaliser.meant(call)
        return msgspec.structs.replace(called, call=call)

    def _said(self, text: str, place: Place, model: str | None) -> Iterator[ev.AnyEvent]:
        """Words, thoughts and calls, as the tags have it."""
        at = 0
        for begin, end, name, body in _tagged(text):
            yield from self._words(text[at:begin], place, model)
            at = end
            if name == "thinking":
                yield self.normaliser.event(ev.ModelThought, place, text=body.strip(), model=model)
                continue
            id = f"{place.key}.{place.number}"
            self._waiting.append((name, id))
            self._has_called = True
            yield self.normaliser.called(place, NativeCall(id, name, _parameters(body)))
        yield from self._words(text[at:], place, model)

    def _words(self, text: str, place: Place, model: str | None) -> Iterator[ev.AnyEvent]:
        if text.strip():
            yield self.normaliser.event(ev.ModelSaid, place, text=text.strip(), model=model)

    # ── what the client and the user said ──────────────────────────────────

    def _user(self, content: Any, place: Place) -> Iterator[ev.AnyEvent]:
        self._was_answered = True
        result: tuple[str, list[str | Media]] | None = None
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else as_objects(content)
        before: list[Media] = []
        """Pictures that stand before the sentence about them, which makes them a result (2.14.0)."""
        for block in blocks:
            text, picture = as_text(block.get("text")), _media(block)
            name, rest = (None, "") if text is None else _answered(text)
            if before and not (name is not None and rest == _SEEN):
                yield self.normaliser.event(ev.UserSaid, place, text="", media=tuple(before))
                before = []
            ends = text is not None and (name is not None or _BY_CLIENT.match(text) or _BY_USER.fullmatch(text.strip()))
            if ends and result is not None:
                yield self._returned(*result, place)
                result = None
            if block.get("type") == "tool_result":
                native = _result(block)
                self._waiting = [one for one in self._waiting if one[1] != native.call_id]
                yield self.normaliser.returned(place, native)
            elif text is not None and name is not None:
                result = (name, [*([rest] if rest else []), *before])
                before = []
            elif result is not None and (text is not None or picture is not None):
                result[1].append(picture if text is None else text)  # type: ignore[arg-type]
            elif text is not None:
                yield from self._told(text, place)
            elif picture is not None:
                before.append(picture)
            else:
                yield self.normaliser.event(ev.ClientNoted, place, name=f"block/{block.get('type')}")
        if before:
            yield self.normaliser.event(ev.UserSaid, place, text="", media=tuple(before))
        if result is not None:
            yield self._returned(*result, place)

    def _told(self, text: str, place: Place) -> Iterator[ev.AnyEvent]:
        if not text.strip():
            return
        own = _BY_USER.fullmatch(text.strip())
        by = "client" if own is None and _BY_CLIENT.match(text) else "user"
        yield self.normaliser.event(ev.UserSaid, place, text=text if own is None else own[2].strip(), by=by)

    def _returned(self, name: str, content: list[str | Media], place: Place) -> ev.AnyEvent:
        """A result in words: of the call of this name that waits longest. What a server's tool is called, it does not
        say."""
        of_server = name == "use_mcp_tool"
        found = next((one for one in self._waiting if one[0] == name or (of_server and _OF_SERVER in one[0])), None)
        if found is not None:
            self._waiting.remove(found)
        id = f"{place.key}.{place.number}" if found is None else found[1]
        texts = [piece for piece in content if isinstance(piece, str)]
        told = "\n".join(texts) if len(texts) == len(content) else tuple(content)
        return self.normaliser.returned(place, NativeResult(id, told, name=name))

    # ── what the user saw ──────────────────────────────────────────────────

    def _shown(self, value: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        kind = str(value["type"])
        what, text = as_text(value.get(kind)), as_text(value.get("text")) or ""
        if what == "api_req_started":
            about = as_object(value.get("modelInfo"))
            self._model = model = as_text(about.get("modelId")) or self._model
            facts = _decoded(text)
            if about.get("providerId") == _COUNTS_CACHE:
                facts = {**facts, "apiProtocol": "openai"}
            yield from self._asked(facts, model, place)
        elif what in _COUNTED and _usage(facts := _decoded(text)).total:
            usage, cost = _usage(facts), as_positive(facts.get("cost"))
            yield self.normaliser.event(ev.TokensUsed, place, usage=usage, model=self._model, cost=cost)
        elif what == "error_retry":
            yield self._retried(_decoded(text), text, place)
        elif what in ("error", "api_req_failed", "diff_error"):
            yield self.normaliser.event(ev.ErrorOccurred, place, message=text or "an error without words", code=what)
        elif what is None:
            yield self.normaliser.unknown(place, kind)
        elif self._is_alone and kind == "say" and text and what in _WORDS and value.get("partial") is not True:
            yield self._heard(what, text, place)
        else:
            yield self.normaliser.event(ev.ClientNoted, place, name=f"{kind}/{what}")

    def _retried(self, facts: dict[str, Any], text: str, place: Place) -> ev.AnyEvent:
        """A request that failed, and is asked again unless it was the last time."""
        message, retried = (
            as_text(facts.get("errorMessage")) or text or "an error without words",
            not facts.get("failed"),
        )
        return self.normaliser.event(ev.ErrorOccurred, place, message=message, code="error_retry", retried=retried)

    def _heard(self, what: str, text: str, place: Place) -> ev.AnyEvent:
        """Words as the user saw them. The first are the task; the model's stand under the same name."""
        if what in _OF_USER or not self._was_begun:
            self._was_begun = True
            return self.normaliser.event(ev.UserSaid, place, text=text)
        if what == "reasoning":
            return self.normaliser.event(ev.ModelThought, place, text=text, model=self._model)
        return self.normaliser.event(ev.ModelSaid, place, text=text, model=self._model)

    def _asked(self, facts: dict[str, Any], model: str | None, place: Place) -> Iterator[ev.AnyEvent]:
        if as_integer(facts.get("tokensIn")) is None:
            yield self.normaliser.event(ev.ClientNoted, place, name="say/api_req_started")
        else:
            cost = as_positive(facts.get("cost"))
            yield self.normaliser.event(ev.TokensUsed, place, usage=_usage(facts), model=model, cost=cost)
        failed = as_text(facts.get("streamingFailedMessage"))
        if facts.get("cancelReason") == "user_cancelled":
            yield self.normaliser.event(ev.Interrupted, place, text=failed)
        elif facts.get("cancelReason") is not None:
            message = failed or "the model's reply failed"
            yield self.normaliser.event(ev.ErrorOccurred, place, message=message, code=as_text(facts["cancelReason"]))


def is_printed_task(records: tuple[Any, ...]) -> bool:
    """Whether these records are what `cline --json` printed of a task (2.14.0): what the user saw, line by line."""
    told = [as_object(record) for record in records]
    return bool(told) and all(one.get("type") == "task_started" or _is_shown(one) for one in told)


class TaskStreamReader(TaskReader):
    """Reads what was printed of a task: its records are those of what the user saw."""

    def __init__(self, path: Path, client: str) -> None:
        super().__init__(path, client)
        self._is_alone = True
        self._is_counted = True

    feed = LinesReader.feed
    close = LinesReader.close

    def record(self, value: Any, source: ev.Source) -> Iterator[ev.AnyEvent]:
        if as_object(value).get("type") == "task_started":
            self._session = as_text(value.get("taskId")) or self._session
            yield self._started(source)
        else:
            yield from super().record(value, source)


class _Shown:
    """What the user saw, given out as far as what was said has come."""

    def __init__(self, path: Path) -> None:
        self.bad: list[tuple[ev.Source, str]] = []
        """What could not be read, and why."""
        self._records: list[tuple[bytes, ev.Source, dict[str, Any]]] = []
        self._next = 0
        try:
            data = read_beside(path) if path.is_file() else b""
        except OSError as error:
            self.bad.append((ev.Source(str(path), 0, 0), str(error)))
            return
        elements, bad = _elements(data)
        for start, end in elements:
            record = data[start:end]
            self._records.append((record, ev.Source(str(path), start, end - start), as_object(decoded(record))))
        self.bad += [(ev.Source(str(path), start, end - start), reason) for start, end, reason in bad]

    def until(self, time: int | None) -> Iterator[tuple[bytes, ev.Source]]:
        """What was shown up to a reply: until that time, or where it has none the next request."""
        while self._next < len(self._records):
            record, source, value = self._records[self._next]
            shown = as_integer(value.get("ts"))
            if time is not None and shown is not None and shown > time:
                return
            self._next += 1
            yield record, source
            if time is None and value.get("say") == "api_req_started":
                return

    def rest(self) -> Iterator[tuple[bytes, ev.Source]]:
        for record, source, _ in self._records[self._next :]:
            yield record, source


# ── values ───────────────────────────────────────────────────────────────────


def _elements(data: bytes) -> tuple[list[tuple[int, int]], list[tuple[int, int, str]]]:
    """Where the elements of a list stand, and what else there is that is none, and why."""
    if not data.strip():
        return [], []
    # As the member of an object, so that its elements are found as those of any document are. The object is not
    # closed: that might close an element which breaks off.
    wrapped = _OPEN + data.removeprefix(_MARK)
    moved = len(data) - len(wrapped)
    pieces = pieces_of(wrapped, "")
    if pieces is None:
        return [], [(0, len(data), "it is no list")]
    bad = [(start + moved, end + moved, reason) for start, end, reason in pieces.bad]
    if wrapped[pieces.end :].strip():
        bad.append((pieces.end + moved, len(data), pieces.problem or "there is more after the list"))
    return [(start + moved, end + moved) for start, end in pieces.elements], bad


def _tagged(text: str) -> Iterator[tuple[int, int, str, str]]:
    """What stands in tags: where, whose, and what is between them. A call that breaks off goes to the end."""
    at = 0
    while (found := _TAG.search(text, at)) is not None:
        name, close = found[1], f"</{found[1]}>"
        end = text.find(close, found.end())
        at = len(text) if end < 0 else end + len(close)
        yield found.start(), at, name, text[found.end() : end] if end >= 0 else text[found.end() :]


def _parameters(body: str) -> dict[str, Any]:
    given: dict[str, Any] = {}
    at = 0
    while (found := _PARAMETER.search(body, at)) is not None:
        name, close = found[1], f"</{found[1]}>"
        end = body.rfind(close, found.end()) if name in _TO_THE_LAST else body.find(close, found.end())
        if end < 0:
            break
        value = body[found.end() : end]
        given[name] = value.removeprefix("\n").removesuffix("\n") if name in _AS_IT_STANDS else value.strip()
        at = end + len(close)
    return given


def _answered(text: str) -> tuple[str | None, str]:
    """The tool whose result these words are, and the result; no tool where they are none."""
    found = _ANSWER.match(text)
    name = None if found is None else found["name"] or found["unrun"]
    if found is None or name not in TOOLS:
        return None, text
    return name, text[found.end() :].strip("\n") if found["name"] else text


def _result(block: dict[str, Any]) -> NativeResult:
    content, flag = block.get("content"), block.get("is_error")
    pieces = [_media(one) or as_text(one.get("text")) or "" for one in as_objects(content)]
    texts = [piece for piece in pieces if isinstance(piece, str)]
    told = content if isinstance(content, str) else "\n".join(texts) if len(texts) == len(pieces) else tuple(pieces)
    if isinstance(told, str):
        told = _answered(told)[1]
    return NativeResult(
        as_text(block.get("tool_use_id")) or "", told, is_error=flag if isinstance(flag, bool) else None
    )


def _usage(facts: dict[str, Any]) -> Usage:
    """Tokens of a request; with OpenAI's protocol the input counts what the cache gave and took."""
    prompt, read, wrote = (as_integer(facts.get(key)) for key in ("tokensIn", "cacheReads", "cacheWrites"))
    cached = (read or 0) + (wrote or 0) if facts.get("apiProtocol") == "openai" else 0
    return Usage(
        input_tokens=prompt - cached if prompt is not None and prompt >= cached else prompt,
        cached_read_tokens=read,
        cached_write_tokens=wrote,
        output_tokens=as_integer(facts.get("tokensOut")),
    )


def _usage_beside(tokens: dict[str, Any], *, counts_cache: bool) -> Usage:
    """Tokens as the reply itself has them: what the cache gave and took is one number, most of it given."""
    prompt, answer, cached = (as_integer(tokens.get(key)) for key in ("prompt", "completion", "cached"))
    if counts_cache and prompt is not None:
        prompt = max(0, prompt - (cached or 0))
    return Usage(input_tokens=prompt, cached_read_tokens=cached, output_tokens=answer)


def _decoded(text: str) -> dict[str, Any]:
    try:
        return as_object(read_json(text))
    except msgspec.DecodeError:
        return {}


def _media(block: dict[str, Any]) -> Media | None:
    source = as_object(block.get("source"))
    data, kind = as_text(source.get("data")), as_text(source.get("media_type"))
    return None if data is None or kind is None else Media(kind, data=data)


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in as_objects(content) if isinstance(block.get("text"), str)]
