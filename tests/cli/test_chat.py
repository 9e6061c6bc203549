"""`dragoman chat` in pipes: each line is a turn."""

from __future__ import annotations

import asyncio

from dragoman.logs import read_events
from dragoman.model import SessionStarted, UserSaid
from tests.engine.loopback import Loopback, Turn, loopback

from .conftest import Answer, User
from .prepared import run
from .test_run import KEY, records, said


async def chats(user: User, server: Loopback, lines: str, *words: str) -> Answer:
    reached = {"ANTHROPIC_BASE_URL": server.url, "OPENAI_BASE_URL": server.url}
    environ = {**user.environ, **reached, "ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
    return Answer.of(await asyncio.to_thread(run, ("chat", *words), user.here, environ, lines.encode()))


async def test_a_conversation_is_one_record_and_each_turn_hears_the_others(user: User) -> None:
    call = Turn("I look.", calls=(("c1", "Glob", {"pattern": "*.txt"}),))
    async with loopback(Turn("Hello."), call, Turn("Nothing."), Turn("Bye.")) as server:
        answer = await chats(user, server, "hi\n\nwhat is here?\n")
        again = await chats(user, server, "bye\n", "--resume", "last")
    assert (answer.code, answer.out) == (0, "Hello.\nI look.\nNothing.\n")
    assert (again.code, again.out) == (0, "Bye.\n")
    (record,) = records(user)
    events = list(read_events(record))
    assert [event.text for event in events if isinstance(event, UserSaid)] == ["hi", "what is here?", "bye"]
    assert [event.resumed for event in events if isinstance(event, SessionStarted)] == [False, True, True]
    assert len({event.id for event in events}) == len(events)
    roles = [message["role"] for message in server.requests[-1].body["messages"]]
    assert roles == ["user", "assistant", "user", "assistant", "user", "assistant", "user"]


async def test_another_model_goes_on_with_the_conversation_in_its_own_words(user: User) -> None:
    call = Turn("I look.", calls=(("c1", "Bash", {"command": "echo hi"}),))
    async with loopback(call, Turn("So it is."), Turn("Mine now.")) as server:
        lines = "go\n/model openai-chat:gpt-5.2\n/model opena:x\n/nonsense\nand you?\n/exit\nnever said\n"
        answer = await chats(user, server, lines, "--yes")
    assert (answer.code, answer.out) == (0, "I look.\nSo it is.\nMine now.\n")
    assert "openai-chat:gpt-5.2, in the words of codex" in answer.err
    assert 'there is no provider "opena". Did you mean "openai"?' in answer.err
    last = server.requests[-1]
    assert (last.api, last.body["model"]) == ("openai_chat", "gpt-5.2")
    assert "exec_command" in said(last)
    assert "Bash" not in said(last)


async def test_a_script_hears_how_the_last_turn_ended(user: User) -> None:
    call = Turn(calls=(("c1", "Bash", {"command": "echo hi"}),))
    async with loopback(call) as server:
        answer = await chats(user, server, "go\n", "--max-iterations", "1", "--yes")
    assert (answer.code, answer.out) == (6, "")
