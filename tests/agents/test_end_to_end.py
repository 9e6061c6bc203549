"""One Markdown agent with everything: custom tools, a fixed answer, a child that signals, files, a limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from dragoman.agents import Kernel, builtin_toolset, read_agent
from dragoman.engine import HttpEngine, ScriptedEngine
from dragoman.engine.transport import Transport
from dragoman.logs import Recorder, read, sessions_of
from dragoman.model import AnyEvent, Session, UserSaid
from dragoman.tools import MemoryWorkspace
from tests.engine.loopback import loopback

from .editor import FILE, TASK, TREE, check, over_the_wire, scripted
from .playing import shape, told


async def run(tmp_path: Path, engines: Any) -> tuple[Any, list[AnyEvent], Path, MemoryWorkspace]:
    (tmp_path / "editor.md").write_text(FILE)
    agent = read_agent(tmp_path / "editor.md")
    workspace, events, path = MemoryWorkspace(), [], tmp_path / "run.jsonl"
    with Recorder(path) as record:

        def emit(event: AnyEvent) -> None:
            events.append(event)
            record(event)

        kernel = Kernel([agent], engines=engines, workspace=workspace, tools=builtin_toolset(), emit=emit)
        ended = await kernel.run("editor", TASK)
    assert shape(ended) == TREE, ended.error
    return ended, events, path, workspace


def drawn(session: Session) -> Any:
    return session.stream, session.parent_call, len(session.turns), [drawn(child) for child in session.children]


async def test_over_a_scripted_engine(tmp_path: Path) -> None:
    engine = ScriptedEngine([scripted] * 14)
    with engine:
        ended, events, path, workspace = await run(tmp_path, lambda name: (engine, name))
    mine = [one for one in engine.requests if TASK in str(one.conversation)]
    check(ended, told(ended), [{str(one.name) for one in request.definitions} for request in mine])
    with workspace.open("tea.md") as file:
        assert file.read() == b"Tea is a drink.\n"
    with workspace.open("agents/taster.md") as file:
        assert b"You taste." in file.read()
    complained = [event.text for event in events if isinstance(event, UserSaid) and "does not fit" in event.text]
    assert len(complained) == 1
    heard = [event.text for event in events if isinstance(event, UserSaid) and event.text.startswith("Agent taster")]
    assert heard == ["Agent taster (taster-3) says: it is bitter", "Agent taster (taster-3) completed: Tasted."]
    (live,), (recorded,) = sessions_of(events), sessions_of(read(path))
    assert drawn(live) == drawn(recorded)
    assert [child.stream for child in live.children] == ["editor-summarise-1", "editor-title-2", "taster-3"]


async def test_over_real_sockets(tmp_path: Path) -> None:
    async with loopback(*[over_the_wire] * 14) as server:
        engine = HttpEngine("openai_chat", Transport(server.url), provider="openai-chat")
        ended, events, path, _ = await run(tmp_path, lambda name: (engine, "played"))
    assert len(server.requests) == 14
    mine = [one.body for one in server.requests if TASK in msgspec.json.encode(one.body["messages"]).decode()]
    check(ended, told(ended), [{tool["function"]["name"] for tool in body.get("tools", ())} for body in mine])
    (live,), (recorded,) = sessions_of(events), sessions_of(read(path))
    assert drawn(live) == drawn(recorded)
