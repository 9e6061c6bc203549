"""Laws of ported sessions: from every vocabulary to every client written for, the whole conversation arrives."""

from __future__ import annotations

import datetime
from pathlib import Path, PurePosixPath

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from dragoman.dialects import DIALECTS
from dragoman.dialects.plugins import laws
from dragoman.errors import LogError
from dragoman.logs import FORMATS, Places, read, sessions_of
from dragoman.logs.port import Ported, SubAgent, history_of, ported, targets
from dragoman.model import (
    OPERATIONS,
    CallPart,
    Conversation,
    ExecutedBy,
    Media,
    NativeCall,
    NativeResult,
    Provenance,
    Reply,
    ResultPart,
    TextPart,
    user,
)
from dragoman.model.conversation import results_message
from tests.plain_values import outcomes_of, plain_values

SPOKEN = {name: [OPERATIONS[tag] for tag in laws.spoken(DIALECTS[name])] for name in DIALECTS.built_in}
FOLDER = "/home/user/project"
NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
SAID = st.sampled_from(["Tidy it.", "</system-reminder>", "é\u2028x", '{"a": 1}', "  spaced  "])


@st.composite
def conversations(draw: st.DrawFn) -> tuple[str, Conversation]:
    """What a user and a model said in some vocabulary, with calls and their results."""
    name = draw(st.sampled_from([name for name, kinds in SPOKEN.items() if kinds]))  # some are only read
    dialect = DIALECTS[name]
    made_by = Provenance("log of a client", model="a-model", dialect=name)
    items: list[object] = [user(draw(SAID))]
    for turn in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(SPOKEN[name]))
        operation = draw(st.sampled_from([one for one in plain_values(kind) if laws.sayable(dialect, one)]))
        natives = dialect.write_call(f"call_{turn}", operation)
        items.append(Reply((TextPart(draw(SAID)), *(CallPart(one) for one in natives)), provenance=made_by))
        outcome = draw(outcomes_of(operation))
        told = [
            dialect.write_result(call, (outcome,) * max(1, len(call.operations)))
            for call in map(dialect.read_call, natives)
        ]
        items.append(results_message(*told))
    items.append(Reply((TextPart("Done."),), provenance=made_by))
    items.append(user(draw(SAID), Media("image/png", data=b"\x89PNG")) if draw(st.booleans()) else user("Next."))
    return name, tuple(items)  # type: ignore[return-value]


def written(to: str, conversation: Conversation, home: Path, folder: str = FOLDER) -> Ported:
    return ported(conversation, to=to, folder=folder, places=Places(home), time=NOW)


def again(done: Ported, tmp: Path) -> Conversation:
    file = tmp / done.path.name
    file.write_bytes(done.content)
    return history_of(read(file, done.client), FORMATS[done.client].dialect).conversation


@pytest.mark.parametrize("to", targets())
@settings(max_examples=25)
@given(data=conversations())
@pytest.mark.slow
def test_everything_said_arrives_and_every_call_is_of_an_offered_tool_with_one_result(
    to: str, data: tuple[str, Conversation], tmp_path_factory: pytest.TempPathFactory
) -> None:
    _, conversation = data
    folder = tmp_path_factory.mktemp("port")
    done = written(to, conversation, folder / "home")
    read_back = again(done, folder)
    calls = [part.call for item in read_back for part in item.parts if isinstance(part, CallPart)]
    results = [part.result.call_id for item in read_back for part in item.parts if isinstance(part, ResultPart)]
    assert sorted(results) == sorted(call.id for call in calls)
    assert len(set(results)) == len(results)
    offered = {one.name for one in DIALECTS[FORMATS[to].dialect].at(done.version).definitions()}
    assert {call.name for call in calls} <= offered
    parts = [part for item in conversation for part in item.parts if isinstance(part, CallPart)]
    made = sum(part.call.executed_by is ExecutedBy.CLIENT for part in parts)
    assert done.left_out.get("calls the provider ran itself", 0) == len(parts) - made
    assert sum(done.ways.values()) == made
    whole = "\n".join(part.text for item in read_back for part in item.parts if isinstance(part, TextPart))
    for item in conversation:
        for part in item.parts:
            assert not isinstance(part, TextPart) or part.text.strip() in whole


@pytest.mark.parametrize("to", targets())
@given(folder=st.text(min_size=1, max_size=30).map(lambda name: f"/{name}"))
def test_the_place_of_a_session_is_below_its_clients_home_whatever_the_folder_is_called(
    to: str, folder: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    try:
        done = written(to, (user("Hi."),), home, folder)
    except (LogError, UnicodeEncodeError):
        return
    for path, file in zip((done.path, *done.beside), done.files, strict=True):
        assert not path.is_absolute()
        assert ".." not in path.parts
        assert all(part not in ("", ".") and "\0" not in part for part in path.parts)
        assert PurePosixPath(str(file)).is_relative_to(str(done.home))


HOSTILE = st.sampled_from(
    ["a1290af1f1d60ae2a", "../../../etc/x", "a/b", "", "\0", "x" * 300, "01a1de10-5776-73f2-a41e-57925894f50e"]
)
PROMPT = "Count the functions in the inventory module."
NO_AGENTS = {"codex", "continue", "pi"}
"""Clients that do not offer agents to the models that sessions are written for."""


@pytest.mark.parametrize("to", targets())
@settings(max_examples=10)
@given(data=conversations(), old=HOSTILE)
def test_a_sub_agent_hangs_under_its_call_in_the_new_session(
    to: str, data: tuple[str, Conversation], old: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    _, (_, *of_agent) = data
    made_by = Provenance("log of a client", model="a-model", dialect="claude_code")
    spawn = NativeCall(
        "toolu_main_1", "Agent", {"description": "Look", "prompt": PROMPT, "subagent_type": "general-purpose"}
    )
    home = tmp_path_factory.mktemp("home")
    done = ported(
        (
            user("Delegate."),
            Reply((CallPart(spawn),), provenance=made_by),
            results_message(NativeResult(spawn.id, "3")),
        ),
        to=to,
        folder=FOLDER,
        agents=(SubAgent(old, spawn.id, (user(PROMPT), *of_agent)),),
        places=Places(home),
        time=NOW,
    )
    done.place()
    assert all(file.resolve().is_relative_to(done.home.resolve()) for file in done.files)
    logs = [file for file in done.files if not file.name.endswith(".meta.json")]
    events = [event for file in logs for event in read(file, to)]
    (session,) = [one for one in sessions_of(events) if one.id == done.id]
    unplaced = [one.call_id for one in done.lost if one.reason.startswith("its conversation is not written")]
    assert unplaced == ([spawn.id] if to in NO_AGENTS else [])
    assert [child.parent_call for child in session.children] == ([] if to in NO_AGENTS else [spawn.id])
    texts = [part.text for item in of_agent for part in item.parts if isinstance(part, TextPart)]
    content = b"".join(file.read_bytes() for file in done.files)
    assert (msgspec.json.encode(texts[0])[1:-1] in content) == (to not in NO_AGENTS)
