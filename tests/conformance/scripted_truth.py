"""What the scripted sessions must give: from their scripts, the project they worked in and the toy server.

Nothing here knows a dialect or a log format. What a log does not tell is found by looking for it in its bytes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any

import msgspec

from dragoman.logs import Originals, sessions_of
from dragoman.model import (
    AnyEvent,
    ModelSaid,
    ModelThought,
    Outcome,
    Session,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    Usage,
    UserSaid,
    operations as op,
    outcomes as out,
)
from tests.conformance.replayed_project import FOLDER, files
from tests.conformance.scripted_sessions import Scripted, arguments_of, contains


class Compared(msgspec.Struct):
    """What was compared: how many facts of each kind hold, and which do not."""

    held: Counter[str]
    wrong: list[str]
    not_logged: Counter[str]
    unlogged: Counter[str]
    """Thread → its calls that were not read, and of which the bytes hold nothing."""

    def fact(self, kind: str, *, holds: bool, what: str) -> None:
        if holds:
            self.held[kind] += 1
        else:
            self.wrong.append(f"{kind}: {what}")


class Answered(msgspec.Struct):
    """A logged call with its result."""

    called: ToolCalled
    returned: ToolReturned | None


def compare(session: Scripted, events: list[AnyEvent]) -> Compared:
    compared = Compared(Counter(), [], Counter(), Counter())
    raw = raw_text(session)
    pairs = matched(session, events, raw, compared)
    for scripted, answered in pairs:
        compare_result(scripted, answered, Truth(session), raw, compared)
    compare_words(session, events, raw, compared)
    compare_tokens(session, events, raw, compared)
    compare_agents(session, events, compared, raw)
    return compared


# ── the bytes ────────────────────────────────────────────────────────────────


def raw_text(session: Scripted) -> str:
    """All the client left, with the escapes of JSON undone: a value in it stands as it was said, at any depth."""
    texts = []
    for path in sorted((session.folder / "home").rglob("*")):
        if path.is_file():
            texts.append(path.read_bytes().decode("utf-8", "replace"))
    return unescaped("\n".join(texts))


def unescaped(text: str) -> str:
    """A text without escapes; what stands in JSON in JSON has two layers of them, or three."""
    for _ in range(4):
        text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
        text = text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').replace("\\/", "/")
        text = text.replace("\\\\", "\\")
    return text


def in_bytes(value: str, raw: str) -> bool:
    return unescaped(value) in raw


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from texts_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_in(inner)
    elif isinstance(value, str):
        yield value


# ── calls ────────────────────────────────────────────────────────────────────


def matched(
    session: Scripted, events: list[AnyEvent], raw: str, compared: Compared
) -> list[tuple[dict[str, Any], Answered]]:
    """Each scripted call with the logged one, each logged call once."""
    returned = {event.call_id: event for event in events if isinstance(event, ToolReturned)}
    logged = [event for event in events if isinstance(event, ToolCalled) and event.by == "model"]
    pairs, left = [], []
    for is_same in (said_so, said_nearly_so):
        scripted_calls = left or list(scripted_in(session))
        left = []
        for thread, scripted in scripted_calls:
            found = next((event for event in logged if is_same(scripted, event)), None)
            if found is None:
                left.append((thread, scripted))
                continue
            logged.remove(found)
            compared.held["call"] += 1
            pairs.append((scripted, Answered(found, returned.get(found.call_id))))
        if not left:
            break
    for thread, scripted in left:
        told = is_in_bytes(scripted, raw)
        compared.fact("call", holds=not told, what=f"{thread} {json.dumps(scripted)[:200]}")
        compared.not_logged["call"] += not told
        compared.unlogged[thread] += not told
    spoken = "\n".join(answer.get("text") or "" for answer in session.answers)
    for event in logged:
        texts = list(texts_in(event.call.native.arguments))
        if texts and all(text.strip() in spoken for text in texts):
            compared.held["call in words"] += 1  # a block in an answer, which its client carries out
            continue
        compared.wrong.append(f"call: nobody scripted {event.call.native.name} {event.call.native.arguments!s:.150}")
    return pairs


def scripted_in(session: Scripted) -> Iterator[tuple[str, dict[str, Any]]]:
    """The calls of a script with their threads; a raw block or item is one if it has a name or is a provider's call."""
    seen: list[Any] = []  # the server sends a raw block twice, under one id; "AUTO" stands for an id of its own
    for answer in session.answers:
        for call in answer.get("calls") or ():
            if "raw" not in call:
                yield answer["thread"], call
                continue
            raw = call["raw"]
            if "functionCall" in raw:
                yield answer["thread"], raw["functionCall"]
            elif raw.get("type", "").endswith(("_call", "tool_use")) and raw.get("id") not in seen:
                seen += [raw["id"]] if raw.get("id", "AUTO") != "AUTO" else []
                said = raw.get("input", raw.get("arguments", raw.get("action", {})))
                yield answer["thread"], {"name": raw.get("name", raw["type"].removesuffix("_call")), "args": said}


def said_so(scripted: dict[str, Any], event: ToolCalled) -> bool:
    native, arguments = event.call.native, arguments_of(scripted)
    return scripted["name"] == native.name and (
        contains(arguments, native.arguments)
        if isinstance(arguments, dict) and isinstance(native.arguments, dict)
        else bool(arguments == native.arguments)
    )


def said_nearly_so(scripted: dict[str, Any], event: ToolCalled) -> bool:
    """Clients mend calls before they log them: the case of a name, broken JSON, old parameters, tools nobody offered.

    Every value that was scripted is in the logged arguments, or these tell of a call that could not be made.
    """
    native, arguments = event.call.native, arguments_of(scripted)
    said, logged = scripted["name"].lower(), unescaped(json.dumps(native.arguments))
    if isinstance(native.arguments, dict) and native.arguments.get("tool") == scripted["name"]:
        return "error" in native.arguments  # opencode puts such calls into one of its own, without their arguments
    if said != native.name.lower():
        return False
    if isinstance(arguments, str):
        return native.arguments == {} or unescaped(arguments).rstrip() in logged
    return bool(arguments) and all(text in logged for text in texts_in(arguments))


def is_in_bytes(scripted: dict[str, Any], raw: str) -> bool:
    """Whether the log holds a call: its name, and each text with the name of its parameter."""
    arguments = arguments_of(scripted)
    spaceless = re.sub(r'": +', '":', raw)
    if not isinstance(arguments, dict):
        return in_bytes(scripted["name"], raw) and in_bytes(str(arguments), raw)
    pairs = [f'"{key}":"{unescaped(value)}"' for key, value in arguments.items() if isinstance(value, str)]
    return scripted["name"] in raw and bool(pairs) and all(pair in spaceless for pair in pairs)


# ── results ──────────────────────────────────────────────────────────────────


class Truth:
    """What the project holds, and what the script wrote into it."""

    def __init__(self, session: Scripted) -> None:
        self.files = {path: data.decode("utf-8", "replace") for path, data in files().items()}
        self.bytes = {path: data.decode("latin-1").split("\n") for path, data in files().items()}
        self.written = [
            line for answer in session.answers for text in texts_in(answer.get("calls")) for line in lines_of(text)
        ]
        self.touched = json.dumps(session.answers)
        self.edits = list(edits_in(session.answers))

    @property
    def paths(self) -> set[str]:
        known = set(self.files)
        return known | {str(parent) for path in known for parent in PurePosixPath(path).parents}

    def is_told(self, operation: op.Operation, text: str, *, several: bool) -> bool:
        """Whether the text of a result holds what a typed outcome of this operation is made of.

        A file is its lines; a list is paths, and where one is for several patterns, it must say which of them is of
        which; a match is a line and its number. Commands and changes are always told. A text that was cut when it was
        captured says so, and has lost its end.
        """
        if CUT_WHEN_CAPTURED in text:
            return False
        match operation:
            case op.ReadFile():
                lines = self.lines_asked(operation)
                return bool(lines) and all(line in text for line in lines)
            case op.SearchText(mode="content"):
                return any(
                    re.search(rf"\b{number}\b\W{{1,8}}{re.escape(line.strip())}", text)
                    for number, line in self.matching(operation.pattern)
                )
            case op.FindFiles() if several:
                return operation.pattern in text
            case op.ListDirectory() | op.FindFiles() | op.SearchText():
                return any(is_word(PurePosixPath(path).name, text) for path in self.files)
        return True

    def matching(self, pattern: str) -> Iterator[tuple[int, str]]:
        """The lines of the project that a pattern is in, with their numbers."""
        for text in self.files.values():
            for number, line in enumerate(text.split("\n"), 1):
                if re.search(pattern, line):
                    yield number, line

    def lines_asked(self, operation: op.ReadFile) -> list[str]:
        """The first lines of a file that a call asks for; none of what is no file, or no text."""
        whole = self.files.get(relative(operation.path), "")
        if "\ufffd" in whole:
            return []
        lines = whole.split("\n")[(operation.first_line or 1) - 1 : operation.last_line]
        return [line for line in lines if line.strip()][:3]

    def knows_path(self, path: str) -> bool:
        """Whether a path is in the project, or is one that the script names."""
        short = relative(path)
        return short in self.paths or short.split("/")[0] in (".git", ".pytest_cache") or short in self.touched

    def line_is_true(self, path: str, number: int | None, line: str) -> bool:
        """Whether a line is in a file of the project, at this number unless the script changed that file."""
        path = relative(path)
        text = self.files.get(path)
        if text is None:
            return any(line.strip() in written for written in self.written) or line.strip() == ""
        lines = text.split("\n")
        if number is not None and number <= len(lines) and line in (lines[number - 1], self.bytes[path][number - 1]):
            return True
        changed = path.rsplit("/", 1)[-1] in self.touched and bool(self.written)
        edited = [one.replace(old, new) for one in lines for old, new in self.edits]
        return changed and (line in (*lines, *edited) or any(line.strip() in written for written in self.written))

    def holds_match(self, path: str, match: out.Match) -> bool:
        """Whether the line of a match holds its text: a part of it, or without its indentation."""
        lines = self.files.get(relative(path), "").split("\n")
        number, text = match.line, match.text or ""
        if number is not None and number <= len(lines) and text.strip() in lines[number - 1]:
            return True
        return all(self.line_is_true(path, None, line) for line in text.split("\n"))


def is_word(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", text) is not None


def lines_of(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


def edits_in(value: Any) -> Iterator[tuple[str, str]]:
    """The replacements of a script: what was there, and what comes instead."""
    if isinstance(value, dict):
        for key, old in value.items():
            new = value.get(key.replace("old", "new"))
            if key.startswith("old") and isinstance(old, str) and isinstance(new, str) and old:
                yield old, new
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from edits_in(inner)


def relative(path: str) -> str:
    path = path.removeprefix(FOLDER).removeprefix("/").removeprefix("./").rstrip("/")
    return path or "."


Check = Callable[[Outcome, "Truth"], bool]

TYPED: dict[type[op.Operation], tuple[type[Outcome], ...]] = {
    op.ReadFile: (out.FileOutcome, out.ImageOutcome, out.NotebookOutcome, out.ContentOutcome, out.DirectoryOutcome),
    op.RunCommand: (out.CommandOutcome,),
    op.ListDirectory: (out.DirectoryOutcome, out.PathsOutcome),
    op.FindFiles: (out.PathsOutcome,),
    op.SearchText: (out.MatchesOutcome,),
    op.EditFile: (out.ChangesOutcome, out.DoneOutcome),
    op.WriteFile: (out.ChangesOutcome, out.DoneOutcome),
}
"""What a call may give when it did well; a failure is another matter."""


def compare_result(scripted: dict[str, Any], answered: Answered, truth: Truth, raw: str, compared: Compared) -> None:
    name, arguments = scripted["name"], arguments_of(scripted)
    said = f"{name} {json.dumps(arguments)[:150]}"
    wanted = expected(name, arguments)
    if answered.returned is None:
        told = wanted is not None and wanted.mark is not None and in_bytes(wanted.mark, raw)
        compared.fact("result", holds=not told, what=f"{said} has none")
        compared.not_logged["result"] += not told
        return
    result = answered.returned.result
    outcomes = result.outcomes
    shown = f"{said} gives {outcomes!r:.400}"
    compared.fact("outcome", holds=bool(outcomes), what=f"{said} has none")
    text = native_text(result.native)
    unknown = any(isinstance(one, op.Unrecognised) for one in answered.called.call.operations)
    compared.fact("meaning", holds=not unknown or is_refused(outcomes), what=shown)
    for operation, outcome in zip(answered.called.call.operations, outcomes, strict=False):
        allowed = TYPED.get(type(operation))
        if allowed is not None and not isinstance(outcome, (*allowed, out.Failure, out.UnknownOutcome)):
            told = truth.is_told(operation, text, several=len(outcomes) > 1)
            compared.fact("typed", holds=not told, what=shown)
            compared.not_logged["typed"] += not told
        elif allowed is not None:
            compared.held["typed"] += 1
        for what, holds in claims(operation, outcome, truth):
            compared.fact(what, holds=holds, what=shown)
        if isinstance(operation, op.SteerClient):
            compared.fact("steering", holds=is_of_record(outcome, text), what=shown)
    if wanted is not None and wanted.kind.startswith("server") and not is_refused(outcomes):
        means = answered.called.call.operations
        named = re.search("[\"']toy[\"']", text) is not None
        servers = [getattr(one, "server", None) for one in means]
        holds = servers == ["toy"] or (servers == [None] and not named and not isinstance(means[0], op.Unrecognised))
        compared.fact("tool of a server", holds=holds, what=f"{said} means {means!r:.200}")
    if wanted is not None and outcomes:
        for outcome in outcomes[:1]:
            if isinstance(outcome, out.Failure) and outcome.kind in ("unknown_tool", "denied", "invalid_arguments"):
                compared.fact("refused", holds=bool(text) or result.native is None, what=shown)
            elif not isinstance(answered.called.call.operations[0], op.SteerClient):  # compared with its record above
                compared.fact(wanted.kind, holds=wanted.holds(outcome, text), what=shown)


def is_refused(outcomes: tuple[Outcome, ...]) -> bool:
    return any(isinstance(one, out.Failure) and one.kind == "unknown_tool" for one in outcomes)


def is_of_record(outcome: Outcome, text: str) -> bool:
    """Whether each line of a result that has no shared form occurs in its record."""
    values = {name: one for name, one in msgspec.to_builtins(outcome).items() if name not in ("type", "kind", "status")}
    return all(line.strip() in text for one in texts_in(values) for line in unescaped(one).split("\n"))


def is_picture(arguments: Any) -> bool:
    return "logo.png" in json.dumps(arguments)


def native_text(native: Any) -> str:
    """All that the log says of a result, as text."""
    return "" if native is None else unescaped(msgspec.json.encode(native).decode())


def claims(operation: op.Operation, outcome: Outcome, truth: Truth) -> Iterator[tuple[str, bool]]:
    """What a typed outcome says about the project, and whether it is so."""
    match outcome:
        case out.FileOutcome():
            lines = outcome.text.removesuffix("\n").split("\n")
            yield (
                "lines of a file",
                all(
                    truth.line_is_true(outcome.path, outcome.first_line + number, line)
                    for number, line in enumerate(lines)
                    if not CUT.search(line)
                )
                or (is_picture(outcome.path) is False and any(CUT.search(line) for line in lines)),
            )
        case out.DirectoryOutcome():
            folder = outcome.path.rstrip("/")
            for entry in outcome.entries:
                yield "entry of a folder", truth.knows_path(f"{folder}/{entry.path}" if folder != "." else entry.path)
        case out.PathsOutcome():
            base = getattr(operation, "path", None) or ""
            for path in outcome.paths:
                below = f"{base.rstrip('/')}/{path.removeprefix('./')}"
                yield "path", truth.knows_path(path) or truth.knows_path(below)
        case out.MatchesOutcome():
            base = getattr(operation, "path", None) or ""
            for match in outcome.matches:
                here = match.path if truth.knows_path(match.path) else f"{base.rstrip('/')}/{match.path}"
                yield "path of a match", truth.knows_path(here)
                if match.text is not None:
                    yield "text of a match", truth.holds_match(here, match)
        case out.ChangesOutcome():
            for change in outcome.changes:
                yield "changed path", truth.knows_path(change.path)
        case _:
            return


CUT_WHEN_CAPTURED = "characters cut …]"
CUT = re.compile(r"\[… \d+ characters cut …\]|\[\.\.\.|truncated")


class Wanted(msgspec.Struct):
    """What a call must give."""

    kind: str
    holds: Callable[[Outcome, str], bool]
    mark: str | None = None
    """A text that the bytes hold if the result was logged at all."""


def expected(name: str, arguments: Any) -> Wanted | None:
    said = json.dumps(arguments)
    short = re.split(r"__|0mcp0|[-_.]", name)[-1]
    if isinstance(arguments, dict) and isinstance(arguments.get("tool_name"), str):
        short = arguments["tool_name"]
    if name in ("exec", "tool_call", "tool_search", "run_typescript"):  # what they call is compared by itself
        return Wanted("program", says_only)
    if name.startswith("no_such") or name == "NoSuchTool":
        return Wanted("unknown tool", is_unknown_tool)
    if "print(6 * 7)" in said:
        return Wanted("command", lambda outcome, text: ended(outcome, text, 0) and "42" in output_of(outcome))
    if "sys.exit(3)" in said:
        return Wanted("command", lambda outcome, text: ended(outcome, text, 3) and "boom" in output_of(outcome))
    if "time.sleep(20)" in said or "time.sleep(70)" in said:
        return Wanted("long command", is_long)
    if is_picture(arguments):
        return Wanted("picture", is_of_picture)
    if "missing.py" in said or '/nope"' in said or '"nope"' in said or '/nope/"' in said or "def subtract(" in said:
        return Wanted("failure", is_failure)
    if short == "echo" and "hi" in said:
        return Wanted("server", lambda outcome, text: "hi" in plain(outcome) and len(plain(outcome)) < 60)
    if short == "fail" and "reason" in said:
        return Wanted("server failure", is_server_failure)
    if short == "picture":
        return Wanted("server picture", lambda outcome, text: has_picture(outcome) or PICTURE not in text)
    if short == "stamp":
        return Wanted("server data", lambda outcome, text: '"label"' in plain(outcome) and "7" in plain(outcome))
    return None


PICTURE = "iVBORw0KGgo"


def output_of(outcome: Outcome) -> str:
    return "".join(
        text or "" for text in (getattr(outcome, name, None) for name in ("output", "stdout", "stderr", "text"))
    )


def ended(outcome: Outcome, text: str, code: int) -> bool:
    """It is a command that ended with this code, where the log has the code."""
    if not isinstance(outcome, out.CommandOutcome):
        return False
    told = re.search(rf"(?i)(exit\w*|code|status)\W{{1,4}}(\w+\W{{1,3}})?{code}\b", text) is not None
    return outcome.exit_code == code if told else outcome.exit_code in (None, code)


def is_long(outcome: Outcome, text: str) -> bool:
    """Its output so far, and that it was stopped or goes on, where the log says so."""
    if not isinstance(outcome, out.CommandOutcome):
        return False
    told = (
        re.search(r"(?i)timed[ _]out|after \d+ ?ms|still running|(in|to) (the )?background|terminated", text)
        is not None
    )
    return not told or outcome.timed_out or outcome.running


def is_failure(outcome: Outcome, text: str) -> bool:
    """A failure, or nothing found, where the text says that something was wrong."""
    if re.search(r"(?i)\b(not?|cannot|error|fail\w*|missing|invalid|unknown|exit\w*|ENOENT)\b", text) is None:
        return True
    empty = getattr(outcome, "paths", None) == () or getattr(outcome, "entries", None) == ()
    return isinstance(outcome, out.Failure) or empty or getattr(outcome, "exit_code", 0) not in (0, None)


def is_unknown_tool(outcome: Outcome, text: str) -> bool:
    return isinstance(outcome, out.Failure) and outcome.kind == "unknown_tool"


def is_of_picture(outcome: Outcome, text: str) -> bool:
    if PICTURE in text:
        return has_picture(outcome)
    return not isinstance(outcome, out.FileOutcome) or "PNG" in outcome.text


def has_picture(outcome: Outcome) -> bool:
    return PICTURE in msgspec.json.encode(outcome).decode()


def says_only(outcome: Outcome, text: str) -> bool:
    """What a program printed is its own: every line of the outcome stands in the result."""
    said = output_of(outcome) + (outcome.message if isinstance(outcome, out.Failure) else "")
    return all(line.strip() in text for line in unescaped(said).split("\n"))


def is_server_failure(outcome: Outcome, text: str) -> bool:
    """A failure where the log marks it as one; a client that logs the server's words alone says no more."""
    marked = re.search(r'(?i)"is_?error": ?true|\berror\b|"status": ?"(failed|error)|MCP server', text) is not None
    return isinstance(outcome, out.Failure) or (not marked and "toy failure" in plain(outcome))


def plain(outcome: Outcome) -> str:
    return unescaped(msgspec.json.encode(outcome).decode())


# ── words, tokens, agents ────────────────────────────────────────────────────


def compare_words(session: Scripted, events: list[AnyEvent], raw: str, compared: Compared) -> None:
    said = [event.text for event in events if isinstance(event, ModelSaid)]
    said += [
        report.text or ""
        for event in events
        if isinstance(event, ToolReturned)
        for outcome in event.result.outcomes
        if isinstance(outcome, out.AgentsOutcome)
        for report in outcome.agents
    ]  # of an agent that has no log of its own, the last words are the result of its call
    thought = [event.text for event in events if isinstance(event, ModelThought)]
    in_words = {event.call.id for event in events if isinstance(event, ToolCalled)} - set(re.findall(r"[\w-]{8,}", raw))
    edited = [
        text
        for event in events
        if isinstance(event, ToolCalled) and event.call.id in in_words
        for text in texts_in(event.call.native.arguments)
    ]
    for answer in session.answers:
        for key, found in (("text", said), ("think", thought)):
            words = answer.get(key)
            if not isinstance(words, str) or not words or answer.get("status"):
                continue
            if any(words in one for one in found) or any(all(part in one for part in parts_of(words)) for one in found):
                compared.held[key] += 1
            elif all(any(line in one for one in (*found, *edited)) for line in lines_of(words)):
                compared.held[f"{key} with edits"] += 1  # blocks in an answer, which its client carries out
            else:
                told = all(is_told_as(WORDS[key], part, raw) for part in (words, *parts_of(words)))
                compared.fact(key, holds=not told, what=words)
                compared.not_logged[key] += not told
    for event in events:
        if isinstance(event, UserSaid) and event.by == "user":
            compared.fact("prompt", holds=bool(event.text.strip() or event.media), what=repr(event.text))
            # A prompt of an agent is known by the call that holds it; a log without that call does not tell.
            own = set(re.findall(r"\[\[S:(\w+)\]\]", event.text)) & set(spawned_threads(session))
            compared.fact("prompt", holds=all(raw.count(f"[[S:{one}]]") == 1 for one in own), what=event.text)


def parts_of(words: str) -> list[str]:
    """The lines of words, each without what makes it a heading: Gemini CLI logs the heading of a thought apart."""
    return [line.strip("*") for line in lines_of(words)]


def is_told_as(field: str, words: str, raw: str) -> bool:
    """Whether a field of JSON holds these words alone, or a line of a log that is plain text."""
    text = re.escape(unescaped(words))
    return re.search(rf'"({field})": ?"{text}"|^{text}$', raw, re.MULTILINE) is not None


WORDS = {"text": "text|content|output_text", "think": r"text|think\w*|thought|reasoning\w*|description"}
"""The fields that hold what a model said and thought."""


def output_tokens(answer: dict[str, Any]) -> set[int]:
    """What the scripted server counted for an answer: by blocks, by calls, or always the same for Gemini."""
    calls = len(answer.get("calls") or ())
    others = bool(answer.get("text")) + bool(answer.get("think"))
    return {20 + 10 * (calls + others), 20 + 10 * calls, 28, 20 + 10 * (calls + others) + 8, 20 + 10 * calls - 8, 20}


COUNTS = {
    # what is counted → the names that fields of it have, in any client's log
    "written": r"\w*cache\w*(?:write|creation)\w*|write",
    "cached": r"\w*cache\w*read\w*|\w*cached\w*|read",
    "thought": r"\w*(?:reasoning|thought|thinking)\w*",
    "output": r"\w*(?:output|completion|candidates|received)\w*|tokensOut",
    "input": r"\w*(?:input|prompt|sent)\w*|tokensIn",
}
_COUNT = re.compile(r'"(\w+)" ?: ?(\d+)(?![\d.]*[e\d])|(?<![\d.,])(\d+) (sent|received)')


def counts_in(record: str) -> dict[str, set[int]]:
    """The counts of tokens in the bytes of a record, by what they count."""
    found: dict[str, set[int]] = {kind: set() for kind in COUNTS}
    for name, number, told, word in _COUNT.findall(record):
        for kind, names in COUNTS.items():
            if re.fullmatch(names, name or word, re.IGNORECASE):
                found[kind].add(int(number or told))
                break
    return found


def compare_tokens(session: Scripted, events: list[AnyEvent], raw: str, compared: Compared) -> None:
    """Every count read is in the record, under a matching name, and every count that was sent is read.

    The server counted the answers. Where the client logged another number (Claude Code 2.1.54 an output of 1), the
    bytes of the record say so; a count that is in no record was not logged.
    """
    answers = [answer for answer in session.answers if not answer.get("status")]
    used = [event for event in events if isinstance(event, TokensUsed) and event.source is not None]
    beside = counts_in(raw)
    with Originals() as originals:
        for event in used:
            told = counts_in(record_text(originals, event))
            if not any(told.values()):
                told = beside  # OpenHands and Mistral Vibe keep counts in files beside the records
            for kind, count in wanted_counts(event.usage):
                if count is not None:
                    # A sum of several exchanges has the output that was told with them before.
                    earlier = event.earlier_output or 0 if kind == "output" else 0
                    holds = count + earlier in derived(kind, told)
                    compared.fact(f"{kind} tokens", holds=holds, what=f"{event.usage} of {told}")
        replies = [event for event in events if isinstance(event, ModelSaid | ToolCalled | TokensUsed)]
        logged = set[int]().union(*(counts_in(record_text(originals, event))["output"] for event in replies))
    given = {event.usage.output_tokens for event in used}
    for answer in answers:
        possible = output_tokens(answer)
        told_so = bool(possible & given)
        is_logged = bool(possible & logged) and max(logged) not in given  # the log has the session's total instead
        compared.fact("tokens of an answer", holds=told_so or not is_logged, what=f"{sorted(possible)} not in {given}")
        compared.not_logged["tokens of an answer"] += not told_so


def record_text(originals: Originals, event: AnyEvent) -> str:
    """The record that an event is from, with the escapes of JSON undone; of a database it is a row."""
    original = None if event.source is None else originals.of(event.source)
    if isinstance(original, dict):
        cells = (f'"{name}": {one.decode() if isinstance(one, bytes) else one}' for name, one in original.items())
        return unescaped("\n".join(cells))
    return unescaped((original or b"").decode("utf-8", "replace"))


def wanted_counts(usage: Usage) -> list[tuple[str, int | None]]:
    return [
        ("input", usage.input_tokens),
        ("output", usage.output_tokens),
        ("cached", usage.cached_read_tokens),
        ("written", usage.cached_write_tokens),
    ]


def derived(kind: str, told: dict[str, set[int]]) -> set[int]:
    """The numbers that a count may be: as told, or without what is counted apart."""
    if kind == "input":
        cached, written = told["cached"] | {0}, told["written"] | {0}
        return {count - one - other for count in told["input"] for one in cached for other in written}
    if kind == "output":
        return {count + thought for count in told["output"] for thought in told["thought"] | {0}}
    return told[kind]


def spawned_threads(session: Scripted) -> list[str]:
    """Threads that a call began, rather than the user who came back."""
    names = dict.fromkeys(answer["thread"] for answer in session.answers)
    return [
        name
        for name in names
        if any(
            f"[[S:{name}]]" in json.dumps(answer.get("calls")) for answer in session.answers if answer["thread"] != name
        )
    ]


def compare_agents(session: Scripted, events: list[AnyEvent], compared: Compared, raw: str) -> None:
    """Each spawned thread is a session of its own under the call that spawned it."""
    tree = list(everyone(sessions_of(events)))
    for thread in spawned_threads(session):
        calls = [
            (call["name"], arguments_of(call))
            for answer in session.answers
            if answer["thread"] == thread
            for call in answer.get("calls") or ()
            if "name" in call
        ]
        if not calls:
            continue
        mine = [
            (parent, child)
            for parent, child in tree
            if parent is not None and holds_calls(child, calls) and not_of_another(child, thread)
        ]
        logged = [use for _, one in tree for use in calls_in(one) if use.call.native.name == calls[0][0]]
        known = [use for use in logged if contains(calls[0][1], use.call.native.arguments)]
        if not mine:
            compared.fact("agent", holds=not known, what=f"{thread} {calls} is in no session of its own")
            compared.not_logged["agent"] += not known
            continue
        for parent, child in mine[:1]:
            assert parent is not None
            spawns = {
                called.call.id
                for called in calls_in(parent)
                if f"[[S:{thread}]]" in json.dumps(called.call.native.arguments)
            }
            compared.fact("agent's call", holds=child.parent_call in spawns, what=f"{thread} {child.parent_call}")


def not_of_another(child: Session, thread: str) -> bool:
    opened = child.turns[0].opened_by if child.turns else None
    text = opened.text if isinstance(opened, UserSaid) else ""
    return "[[S:" not in text or f"[[S:{thread}]]" in text


def holds_calls(child: Session, calls: list[tuple[str, Any]]) -> bool:
    logged = [called.call.native for called in calls_in(child)]
    return bool(logged) and all(
        any(native.name == name and contains(arguments, native.arguments) for native in logged)
        for name, arguments in calls
    )


def everyone(found: list[Session], parent: Session | None = None) -> Iterator[tuple[Session | None, Session]]:
    for session in found:
        yield parent, session
        yield from everyone(list(session.children), session)


def calls_in(session: Session) -> list[ToolCalled]:
    return [use.called for turn in session.turns for step in turn.steps for use in step.tools]
