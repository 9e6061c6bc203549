"""Drift of the whole log: a change of any kind in a real session is told by name, and no unchanged session differs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.logs import Found
from dragoman.logs.history import check_drift, find_logs, read_log
from dragoman.logs.history.known_fields import Counted, form_of, known_of
from dragoman.logs.history.observed import Observed
from dragoman.logs.history.prints import looks_printed
from dragoman.logs.history.record_fields import records_of
from dragoman.logs.history.shapes import qualified, tool_named
from dragoman.model import Failure, ModelSaid, TokensUsed, ToolCalled, ToolReturned, UserSaid
from dragoman.registry import DIALECTS, FORMATS
from tests.conformance.conftest import SHARED
from tests.conformance.learn_known_fields import found_logs, observed
from tests.logs.test_drift import mutated

SESSIONS = {
    "claude_code": ("traces/claude-code/files", "traces/claude-code@2.1.123/tour"),
    "cline": ("traces-2/cline@3.0.64/tour", "traces-2/cline@3.0.57/tour"),
    "codex": ("traces/codex/shell", "traces/codex@0.118.0/tour"),
    "continue": ("traces/continue/tour", "traces-2/continue@1.5.43/tour"),
    "copilot": ("traces-2/copilot@1.0.92/tour", "traces-2/copilot@1.0.42/tour"),
    "gemini_cli": ("traces/gemini-cli/files", "traces/gemini-cli@0.34.0/tour"),
    "opencode": ("traces/opencode/files", "traces/opencode@1.1.11/tour"),
    "pi": ("traces-2/pi@0.84.4/tour", "traces-2/pi@0.52.12/tour"),
    "qwen_code": ("traces/qwen-code/files", "traces/qwen-code@0.12.0/tour"),
    "droid": ("traces-2/droid/files", "traces-2/droid/shell"),
    "goose": ("traces-2/goose/files", "traces-2/goose/agents"),
    "kilo": ("traces-2/kilo/files", "traces-2/kilo/own"),
    "kimi_code": ("traces-2/kimi-code/files", "traces-2/kimi-code/agents"),
    "mistral_vibe": ("traces-2/mistral-vibe/files", "traces-2/mistral-vibe/meta"),
    "openhands": ("traces-2/openhands/files", "traces-2/openhands/agents"),
}
"""Sessions of each client: one of the newest version and one of an older, or two of the only one."""

Change = Callable[[Any], Any]
_USAGE = re.compile(r"usage|tokens|metrics", re.IGNORECASE)
_RESULT = re.compile(r"@|result|output|response", re.IGNORECASE)


def renamed(field: str) -> Change:
    return lambda value: (
        {f"{name}2" if name == field else name: one for name, one in value.items()}
        if isinstance(value, dict)
        else value
    )


def removed(field: str) -> Change:
    return lambda value: (
        {name: one for name, one in value.items() if name != field} if isinstance(value, dict) else value
    )


def retyped(field: str) -> Change:
    def change(value: Any) -> Any:
        if not isinstance(value, dict) or value.get(field) is None:
            return value
        return {**value, field: 7 if isinstance(value[field], str) else str(value[field])}

    return change


def widened(beside: str) -> Change:
    return lambda value: {**value, "brandNew": 1} if isinstance(value, dict) and beside in value else value


def reworded(word: str) -> Change:
    return lambda value: f"{word}2" if value == word else value


def put_changed(change: Change, session: Path, folder: Path) -> None:
    """A session in which something was changed everywhere."""
    shutil.copytree(session / "home", folder)
    for path in (one for one in folder.rglob("*") if one.suffix in (".json", ".jsonl", ".db") or one.name == "CURRENT"):
        before = path.read_bytes()
        if before.strip():
            path.write_bytes(mutated(before, change))


def told_after(change: Change, session: Path, folder: Path) -> str:
    """What `schema check` says of a session in which something was changed everywhere."""
    put_changed(change, session, folder)
    passed: list[Path] = []
    found = find_logs(str(folder), passed=passed)
    return "\n".join(one.what for one in check_drift(found, passed=passed).drifts)


def fields_of(session: Path, client: str) -> tuple[Counted, Observed]:
    logs = [one for one in find_logs(str(session / "home")) if one.format == client]
    seen = [observed(one) for one in logs]
    return max(((counted, one) for one, counted in seen), key=lambda pair: sum(pair[0].objects.values()))


def changes(session: Path, client: str) -> Iterator[tuple[str, str, Change]]:
    """One change of each kind: the kind, the name that must be told, the change."""
    counted, seen = fields_of(session, client)
    known = known_of(client)
    assert known is not None
    form = form_of(known, counted)
    steady = [
        (place, name)
        for place in sorted(counted.objects, key=lambda place: (-counted.objects[place], place))
        if place in form.places and "+" not in place and not place.endswith(":")
        for name, field in sorted(form.places[place].fields.items())
        if field.steady and counted.fields[place].get(name, ((), 0))[1] == counted.objects[place]
    ]
    yield from _of_calls(seen.found, client)
    kinds = ("type", "kind", "role", "say", "ask", "event", "subtype")
    plain = [(place, name) for place, name in steady if name not in kinds]
    field = plain[0][1]
    other = next(
        name for place, name in reversed(plain) if not any(name in absent for _, absent, _ in form.places[place].sets)
    )
    yield "record field", f"{field}2", renamed(field)
    yield "removed field", other, removed(other)
    yield "new field", "brandNew", widened(field)
    typed = next(
        (name for place, name in plain if counted.fields[place][name][0] in ({"i"}, {"s"}) and "@" not in place),
        None,
    )
    assert typed is not None
    yield "type", typed, retyped(typed)
    usage = [name for place, name in plain if _USAGE.search(place) and counted.fields[place][name][0] == {"i"}]
    if usage:
        yield "usage field", f"{usage[0]}2", renamed(usage[0])
    results = [its for place, its in sorted(counted.fields.items()) if _RESULT.search(place)]
    result = next(name for its in results for name in its if "[" not in name)
    yield "result field", f"{result}2", renamed(result)
    words: Counter[str] = Counter()
    for place, objects in counted.objects.items():
        if (said := re.search(r"<([\w-]+)>$|^([\w-]+)$", place)) is not None and place != "record":
            words[said[1] or said[2]] += objects
    word = words.most_common(1)[0][0]
    yield "record kind", f"{word}2", reworded(word)


def _of_calls(found: Found, client: str) -> Iterator[tuple[str, str, Change]]:
    dialect = DIALECTS[FORMATS[client].dialect]
    events = list(read_log(found))
    worked = {
        one.result.call_id
        for one in events
        if isinstance(one, ToolReturned)
        if not any(isinstance(outcome, Failure) for outcome in one.result.outcomes)
    }
    calls = [
        one.call.native
        for one in events
        if isinstance(one, ToolCalled) and one.call.id in worked and isinstance(one.call.native.arguments, dict)
        if any(tool_named(dialect, qualified(one.call.native))) and one.call.native.arguments
    ]
    call = max(calls, key=lambda one: [other.name for other in calls].count(one.name))
    parameter = next(iter(call.arguments))
    yield "tool", f"{call.name}2", reworded(call.name)
    yield "parameter", f"{parameter}2", renamed(str(parameter))


@pytest.mark.parametrize("client", sorted(SESSIONS))
@pytest.mark.parametrize("which", [0, 1])
def test_every_kind_of_change_is_told_by_name(tmp_path: Path, client: str, which: int) -> None:
    session = SHARED / SESSIONS[client][which]
    untold = {
        kind: (name, said)
        for kind, name, change in changes(session, client)
        if name not in (said := told_after(change, session, tmp_path / kind))
    }
    assert untold == {}


KINDS = {
    *("tool", "parameter", "type", "record kind", "record field"),
    *("result field", "usage field", "new field", "removed field"),
}
"""What may change in a log."""


@pytest.mark.parametrize("client", ["claude_code", "codex", "gemini_cli", "opencode"])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_each_of_36_changes_is_told_by_the_command(tmp_path: Path, client: str, kind: str) -> None:
    """Nine kinds of change in the logs of four clients: exit code 1, and the name of the field."""
    session = SHARED / SESSIONS[client][0]
    every = {one: (name, change) for one, name, change in changes(session, client)}
    assert every.keys() == KINDS
    name, change = every[kind]
    put_changed(change, session, tmp_path / "home")
    command = [sys.executable, "-m", "dragoman", "schema", "check", str(tmp_path / "home")]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (answer.returncode, name in answer.stdout) == (1, True), (name, answer.stdout, answer.stderr)


TEXTS = {"content", "text", "output", "result", "stdout"}
CALL_IDS = {"call_id", "callId", "callID", "toolCallId", "tool_call_id", "tool_use_id", "toolUseId"}
REWRAPPED: dict[str, Change] = {
    "texts in lists": lambda value: (
        {
            name: [{"type": "text", "text": one}] if name in TEXTS and isinstance(one, str) else one
            for name, one in value.items()
        }
        if isinstance(value, dict)
        else value
    ),
    "texts in objects": lambda value: (
        {name: {"parts": [one]} if name in TEXTS and isinstance(one, str) else one for name, one in value.items()}
        if isinstance(value, dict)
        else value
    ),
    "no ids of calls": lambda value: (
        {name: one for name, one in value.items() if name not in CALL_IDS} if isinstance(value, dict) else value
    ),
    "times as numbers": lambda value: (
        int(datetime.fromisoformat(value).timestamp() * 1000)
        if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", value)
        else value
    ),
}
"""Changes of the whole form of a log, as a new version may bring them."""


def read_of(folder: Path) -> Counter[str]:
    """What the logs below a folder say, without where it stands."""
    facts: Counter[str] = Counter()
    for found in find_logs(str(folder), passed=[]):
        for event in read_log(found):
            if isinstance(event, UserSaid | ModelSaid | ToolCalled | ToolReturned | TokensUsed):
                facts[repr(msgspec.structs.replace(event, id="", source=None, parent=None))] += 1
    return facts


@pytest.mark.parametrize("client", sorted(SESSIONS))
@pytest.mark.parametrize("form", REWRAPPED)
def test_what_is_read_does_not_change_in_silence(tmp_path: Path, client: str, form: str) -> None:
    session = SHARED / SESSIONS[client][0]
    told = told_after(REWRAPPED[form], session, tmp_path / "changed")
    shutil.copytree(session / "home", tmp_path / "as it was")
    assert told or read_of(tmp_path / "changed") == read_of(tmp_path / "as it was")


def lost_within(holder: str, field: str, *, null: bool) -> Change:
    """A field of the objects in one place that is removed, or null, and stays where it is elsewhere."""

    def without(value: Any) -> Any:
        if isinstance(value, list):
            return [without(one) for one in value]
        if not isinstance(value, dict) or field not in value:
            return value
        return value | {field: None} if null else {name: one for name, one in value.items() if name != field}

    return lambda value: (
        value | {holder: without(value[holder])} if isinstance(value, dict) and holder in value else value
    )


FROM_WHICH_RESULTS_ARE = [
    ("traces-2/kilo/files", "state", "output"),
    ("traces-2/kilo/files", "state", "error"),
    ("traces-2/kilo/own", "state", "output"),
    ("traces/opencode/files", "state", "output"),
    ("traces/opencode@1.1.11/tour", "state", "output"),
    ("traces-2/gemini-cli@0.38.2/denied", "messages", "toolCalls"),
    ("traces-2/gemini-cli@0.38.2/denied", "response", "output"),
    ("traces-2/gemini-cli@0.38.2/denied", "response", "error"),
    ("traces/gemini-cli/files", "response", "output"),
    ("traces/gemini-cli/files", "response", "error"),
    ("traces/qwen-code/files", "response", "output"),
    ("traces/continue/tour", "toolCallStates", "output"),
]


@pytest.mark.parametrize("session, holder, field", FROM_WHICH_RESULTS_ARE)
@pytest.mark.parametrize("null", [False, True])
def test_a_field_that_results_are_read_from_is_told_when_no_record_has_it(
    tmp_path: Path, session: str, holder: str, field: str, *, null: bool
) -> None:
    told = told_after(lost_within(holder, field, null=null), SHARED / session, tmp_path / "home")
    assert f".{field}" in told or f" {field}" in told, told


@pytest.mark.parametrize("session", SESSIONS["claude_code"])
def test_results_of_claude_code_without_their_records_are_told(tmp_path: Path, session: str) -> None:
    told = told_after(removed("toolUseResult"), SHARED / session, tmp_path / "home")
    assert "user+tool_result.toolUseResult" in told


def test_a_document_of_gemini_without_its_messages_is_not_taken_for_the_first_of_its_lines(tmp_path: Path) -> None:
    session = SHARED / "traces-2/gemini-cli@0.38.2/denied"
    assert "main.messages" in told_after(removed("messages"), session, tmp_path / "home")


def test_results_that_are_empty_are_told_as_such(tmp_path: Path) -> None:
    change = lost_within("state", "output", null=False)
    told = told_after(change, SHARED / "traces-2/kilo/files", tmp_path / "home")
    assert re.search(r"results: \d+ of \d+ are empty", told), told


def test_calls_renamed_in_a_gemini_chat_are_told_and_the_exit_code_is_one(tmp_path: Path) -> None:
    chat = next((SHARED / "traces/gemini-cli/files").rglob("chats/*.json*"))
    path = tmp_path / chat.name
    path.write_text(chat.read_text().replace('"toolCalls"', '"calls2"'))
    command = [sys.executable, "-m", "dragoman", "schema", "check", str(path)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (answer.returncode, "calls2" in answer.stdout, "toolCalls" in answer.stdout) == (1, True, True)


def test_no_captured_session_differs() -> None:
    """Neither a log nor what was printed beside it, in any way."""
    files = [found for found, evidence in found_logs() if evidence == "captured"]
    report = check_drift(files)
    assert (report.drifts, report.additions, report.unlike) == ([], [], {})
    assert len(files) > 350


def test_no_session_as_its_client_left_it_differs_in_its_fields() -> None:
    of_calls = {"new_tool", "new_parameter", "missing_parameter", "changed_type", "changed_text", "unreadable"}
    files = [found for found, evidence in found_logs() if evidence == "found"]
    report = check_drift(files)
    told = [(one.client, one.what) for one in report.drifts if one.kind not in of_calls | {"new_record"}]
    assert (told, report.additions, report.unlike) == ([], [], {})
    assert files


def test_the_first_records_of_every_log_say_whether_it_was_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes after the records that were enough does not change it."""
    every = [found for found, _ in found_logs() if "printed" in getattr(known_of(found.format), "forms", ())]
    soon = [looks_printed(one.format, records_of(one.path)) for one in every]
    monkeypatch.setattr("dragoman.logs.history.prints._SURE", 1_000_000)
    late = [looks_printed(one.format, records_of(one.path)) for one in every]
    assert soon == late
    assert min(sum(late), len(late) - sum(late)) > 20
