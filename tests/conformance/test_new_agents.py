"""Clients captured later (`traces-2`, `vocab-2`): definitions, and every call, text, thought, token and sub-agent.

What a session must hold is its `script.json`. A scripted value that the events lack must be absent from the bytes of
every file the client left: then the client did not log it.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.dialects import DIALECTS
from dragoman.logs import FORMATS, numbered, read, sessions_of
from dragoman.model import (
    AnyEvent,
    CallMcpTool,
    ClientNoted,
    ContextCompacted,
    ModelSaid,
    ModelThought,
    Session,
    SteerClient,
    TextOutcome,
    TokensUsed,
    ToolCalled,
    ToolReturned,
    UnknownRecord,
    Unreadable,
    UserSaid,
)
from tests.conformance import vocabulary as vocab
from tests.conformance.conftest import SHARED
from tests.conformance.scripted_sessions import contains, log_files, untyped


class Client(msgspec.Struct, frozen=True):
    """What is particular to a client: its dialect and format, the made-up tools, and how it counts tokens."""

    name: str
    made_up: frozenset[str] = frozenset()
    per_reply: bool = True
    """Whether tokens are logged for each reply; otherwise the log has one sum."""
    sums: Callable[[Path], int] | None = None
    """The output tokens that the client itself counted, where they are not those of the script."""
    names: Callable[[str], str] = str
    """The name under which the log has a tool."""


def goose_sum(folder: Path) -> int:
    database = sqlite3.connect(next((folder / "home").rglob("sessions.db")))
    ((total,),) = database.execute("SELECT sum(accumulated_output_tokens) FROM sessions")
    return total or 0


def aider_sum(folder: Path) -> int:
    """What aider itself reckoned: it does not write down what the provider said."""
    text = next((folder / "home").rglob(".aider.chat.history.md")).read_text()
    return sum(int(count) for count in re.findall(r"^> Tokens: .*?(\d+) received", text, re.MULTILINE))


def vibe_sum(folder: Path) -> int:
    """Of each session the journal's replies, or the sum that the client keeps where that is more."""
    total = 0
    for current in (folder / "home").rglob("CURRENT"):
        generation = current.parent / "generations" / json.loads(current.read_text())["generation"]
        state = json.loads((generation / "projection-state.json").read_text())["snapshot"]["session"]
        rows = [json.loads(row) for path in current.parent.glob("journal/*") for row in path.read_text().splitlines()]
        replies = [(row["payload"].get("result") or {}).get("result") for row in rows if row["type"] == "action_result"]
        used = sum(reply["usage"]["output_tokens"] for reply in replies if isinstance(reply, dict) and "usage" in reply)
        total += max(used, (state.get("tokenUsage") or {}).get("outputTokens", 0))
    return total


TOYS = ("add", "echo", "fail", "picture", "stamp")
CLIENTS = {
    "kimi-code": Client("kimi_code", frozenset({"no_such_tool"})),
    "droid": Client("droid", frozenset({"no_such_tool"}), per_reply=False),
    # Which part of `toy_echo` is a server's name is said nowhere: it is a function of the run.
    "kilo": Client("kilo", frozenset({"no_such_tool", *(f"toy_{name}" for name in TOYS)}), names=str.lower),
    "mistral-vibe": Client("mistral_vibe", frozenset({"no_such_tool", "toy_echo"}), per_reply=False, sums=vibe_sum),
    "aider": Client("aider", sums=aider_sum),
    "openhands": Client("openhands", frozenset({"no_such_tool"})),
    "goose": Client("goose", frozenset({"no_such_tool"}), per_reply=False, sums=goose_sum),
}
SESSIONS = [
    (client, path.parent.name)
    for client in CLIENTS
    for path in sorted((SHARED / "traces-2").glob(f"{client}/*/script.json"))
]


class Scripted(msgspec.Struct):
    """A session with what its model was made to say, and the events of its logs."""

    folder: Path
    answers: list[dict[str, Any]]
    files: list[Path]
    events: list[AnyEvent]

    def has(self, value: str) -> bool:
        """Whether any file of the client holds this text."""
        forms = {value.encode(), json.dumps(value)[1:-1].encode(), json.dumps(value, ensure_ascii=False)[1:-1].encode()}
        forms |= {json.dumps(form.decode())[1:-1].encode() for form in set(forms)}
        return any(form in data for data in raw(self.folder) for form in forms)


@cache
def raw(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted((folder / "home").rglob("*")) if path.is_file()]


@cache
def scripted(client: str, name: str) -> Scripted:
    folder, format = SHARED / "traces-2" / client / name, CLIENTS[client].name
    script = json.loads((folder / "script.json").read_text())
    files = list(log_files(folder / "home", format))
    events = list(numbered(event for file in files for event in read(file, format)))
    return Scripted(folder, script["answers"], files, events)


def calls_of(answers: list[dict[str, Any]]) -> Iterator[tuple[str, str, Any]]:
    for answer in answers:
        for call in answer.get("calls") or ():
            if "name" in call:
                arguments = next((call[key] for key in ("args", "input", "rawargs") if key in call), None)
                yield answer.get("thread", "main"), call["name"], arguments


def longest_text(value: Any) -> str:
    if isinstance(value, dict | list):
        texts = [longest_text(one) for one in (value.values() if isinstance(value, dict) else value)]
        return max(texts, key=len, default="")
    return value if isinstance(value, str) else ""


# ── definitions ──────────────────────────────────────────────────────────────


@cache
def capture(client: str) -> vocab.Capture:
    return msgspec.json.decode((SHARED / "vocab-2" / f"{client}.json").read_bytes(), type=vocab.Capture)


WITH_TOOLS = [client for client in CLIENTS if (SHARED / "vocab-2" / f"{client}.json").exists()]


@pytest.mark.parametrize("client", WITH_TOOLS)
def test_every_tool_is_known_with_all_its_parameters(client: str) -> None:
    dialect = DIALECTS[CLIENTS[client].name]
    assert vocab.not_known(dialect, capture(client)) == set()
    assert vocab.read_as_unknown(dialect, capture(client)) == set()


@pytest.mark.parametrize("client", WITH_TOOLS)
def test_offered_schemas_agree_with_the_captured_ones_but_for_what_is_declared(client: str) -> None:
    dialect, captured = DIALECTS[CLIENTS[client].name], capture(client)
    for version in captured.versions:
        assert vocab.schema_differences(dialect, captured, version) == NARROWER.get(client, {})


NARROWER: dict[str, dict[str, list[str]]] = {
    "mistral-vibe": {
        "read_file": ["limit has type integer, not ['integer', 'null']"],
        # The captured schema has the items elsewhere (`$ref`), where they are not looked at.
        "todo": [
            "todos[] has type object, not None",
            *(f"todos[].{name} was never there" for name in ("id", "content", "status", "priority")),
        ],
    },
    "kimi-code": {"Read": ["line_offset has type integer, not None"]},  # negative numbers are read, never offered
}


@pytest.mark.parametrize("client", WITH_TOOLS)
def test_what_is_offered_was_offered_by_the_client(client: str) -> None:
    dialect, captured = DIALECTS[CLIENTS[client].name], capture(client)
    for version in captured.versions:
        for family in captured.families(version):
            usual = vocab.offered_names(dialect.at(version, family), requested=False)
            had = set().union(*(one.names for one in captured.main_sets(version, family)))
            assert usual - had == set(), (version, family)


# ── sessions ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("client, name", SESSIONS)
def test_every_scripted_call_is_found_and_typed(client: str, name: str) -> None:
    session, kind = scripted(client, name), CLIENTS[client]
    assert session.files
    logged = [event.call.native for event in session.events if isinstance(event, ToolCalled)]
    for thread, tool, arguments in calls_of(session.answers):
        found = next(
            (one for one in logged if one.name == kind.names(tool) and contains(arguments, one.arguments)), None
        )
        if found is None and isinstance(arguments, str):  # broken JSON: clients keep it, fix it or drop it
            found = next((one for one in logged if one.name == kind.names(tool)), None)
        if found is not None:
            logged.remove(found)
        else:
            assert not session.has(longest_text(arguments) or "\0"), (thread, tool, arguments)
    assert set(untyped(session.events)) <= kind.made_up
    assert [event for event in session.events if isinstance(event, Unreadable | UnknownRecord)] == []


@pytest.mark.parametrize("client, name", SESSIONS)
def test_every_text_and_thought_is_found(client: str, name: str) -> None:
    session = scripted(client, name)
    said = "\n".join(event.text for event in session.events if isinstance(event, ModelSaid))
    thought = "\n".join(event.text for event in session.events if isinstance(event, ModelThought))
    # aider has its commit messages written by a model, and notes them.
    said += "".join(str(event.data.get("text")) for event in session.events if isinstance(event, ClientNoted))
    for answer in session.answers:
        if answer.get("text") and answer["text"].strip() not in said:
            assert not session.has(answer["text"]), answer["text"]
        if answer.get("think") and answer["think"] not in thought:
            assert not session.has(answer["think"]), answer["think"]


@pytest.mark.parametrize("client, name", SESSIONS)
def test_the_prompt_of_each_thread_is_found(client: str, name: str) -> None:
    session = scripted(client, name)
    prompts = [event.text for event in session.events if isinstance(event, UserSaid) and event.by != "client"]
    for thread in dict.fromkeys(answer.get("thread", "main") for answer in session.answers):
        mark = f"[[S:{thread}]]"
        assert any(mark in prompt for prompt in prompts) or not session.has(mark), thread


@pytest.mark.parametrize("client, name", SESSIONS)
def test_output_tokens_are_those_that_were_sent(client: str, name: str) -> None:
    session, kind = scripted(client, name), CLIENTS[client]
    used = [event.usage.output_tokens or 0 for event in session.events if isinstance(event, TokensUsed)]
    if kind.sums is not None:
        assert sum(used) == kind.sums(session.folder)
        if client == "aider" or sum(used) < sum(
            sent_tokens(answer) for answer in session.answers if "error" not in answer
        ):
            return  # the client kept no more of them
    sent = [sent_tokens(answer) for answer in session.answers if "error" not in answer]
    if any(isinstance(event, ContextCompacted) for event in session.events):
        assert not Counter(sent) - Counter(used)  # the client asked for a summary by itself, and went on
    else:
        assert sorted(used) == sorted(sent) if kind.per_reply else sum(used) == sum(sent)


def sent_tokens(answer: dict[str, Any]) -> int:
    """What the scripted server said that an answer took: of Chat Completions only the calls count."""
    chat = not answer.get("model", "").startswith(("claude", "gpt-5"))
    blocks = len(answer.get("calls") or ()) + (0 if chat else bool(answer.get("text")) + bool(answer.get("think")))
    return 20 + 10 * blocks


@pytest.mark.parametrize("client, name", SESSIONS)
def test_every_call_has_its_result_and_no_result_is_alone(client: str, name: str) -> None:
    session = scripted(client, name)
    called = {event.call.id for event in session.events if isinstance(event, ToolCalled)}
    returned = {event.result.call_id for event in session.events if isinstance(event, ToolReturned)}
    assert called == returned


@pytest.mark.parametrize("client, name", SESSIONS)
def test_agents_hang_under_the_calls_that_spawned_them(client: str, name: str) -> None:
    session = scripted(client, name)
    found = list(everyone(sessions_of(session.events)))
    for thread in dict.fromkeys(answer.get("thread", "main") for answer in session.answers):
        mark = f"[[S:{thread}]]"
        spawns = [arguments for whose, _, arguments in calls_of(session.answers) if whose != thread]
        if not any(mark in json.dumps(arguments) for arguments in spawns):
            continue
        mine = [(parent, child) for parent, child in found if parent is not None and has_prompt(child, mark)]
        assert mine or not session.has(mark), thread
        for parent, child in mine:
            assert parent is not None
            calls = {
                use.called.call.id: json.dumps(use.called.call.native.arguments)
                for turn in parent.turns
                for step in turn.steps
                for use in step.tools
            }
            assert child.parent_call in calls, (thread, child.parent_call)


def everyone(found: list[Session], parent: Session | None = None) -> Iterator[tuple[Session | None, Session]]:
    for session in found:
        yield parent, session
        yield from everyone(list(session.children), session)


def has_prompt(session: Session, mark: str) -> bool:
    return any(isinstance(turn.opened_by, UserSaid) and mark in turn.opened_by.text for turn in session.turns)


@pytest.mark.parametrize("client", CLIENTS)
def test_few_results_stay_text(client: str) -> None:
    """Results of the usual tools are typed; what stays text is of the client's own tools, or of a server's."""
    left = {
        event.call.native.name
        for _, name in SESSIONS
        if _ == client
        for event, returned in paired(scripted(client, name).events)
        if any(isinstance(outcome, TextOutcome) for outcome in returned.result.outcomes)
        and not any(isinstance(one, SteerClient | CallMcpTool) for one in event.call.operations)
    }
    assert left <= STAY_TEXT.get(client, set())


STAY_TEXT: dict[str, set[str]] = {
    # One list for several patterns: which one a path was found by is not said.
    "droid": {"Glob"},
    # A file that was cut when it was captured; a wait for a command, which has no agent to report.
    "kimi-code": {"Read", "WaitFor"},
    # A file that was cut when it was captured; what functions said; the output of a process, which is all there is.
    # A file that was cut when it was captured; the last message of an agent.
    "openhands": {"file_editor", "finish"},
    # Files and outputs that were cut when they were captured.
    "mistral-vibe": {"read_file", "bash"},
    "kilo": {"read", "toy_add", "toy_echo", "background_process"},
}


def paired(events: list[AnyEvent]) -> Iterator[tuple[ToolCalled, ToolReturned]]:
    calls = {event.call.id: event for event in events if isinstance(event, ToolCalled)}
    for event in events:
        if isinstance(event, ToolReturned) and event.result.call_id in calls:
            yield calls[event.result.call_id], event


@pytest.mark.parametrize("client", [client for client in CLIENTS if client != "aider"])  # its logs lie in projects
def test_its_logs_are_found_where_the_client_keeps_them(client: str) -> None:
    from dragoman.logs import Places

    format = FORMATS[CLIENTS[client].name]
    for name in [name for other, name in SESSIONS if other == client]:
        session = scripted(client, name)
        places = Places(home=session.folder / "home", environment={}, system="linux")
        found = {path.resolve() for home in format.homes(places) for path in format.files(home)}
        assert found == {path.resolve() for path in session.files}
