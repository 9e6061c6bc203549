"""What of a run is shown and written down: no secret, also when it comes in pieces."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

from dragoman.cli.secrets import Secrets, secrets_of
from dragoman.config import load
from dragoman.model import (
    AnyChunk,
    AnyEvent,
    Call,
    Finished,
    FinishReason,
    NativeCall,
    Reply,
    Restarted,
    Result,
    SessionEnded,
    TextChunk,
    ThinkingChunk,
    ToolCalled,
    ToolProgressed,
    ToolReturned,
    operations as op,
    outcomes as out,
)

KEY = "sk-ant-api03-0123456789"


def called(id: str, operation: op.Operation) -> ToolCalled:
    return ToolCalled(id=f"{id} called", call_id=id, call=Call(id, (operation,), {}, NativeCall(id, "Tool", {})))


def wrote(id: str, number: int, text: str) -> ToolProgressed:
    return ToolProgressed(id=f"{id} {number}", call_id=id, message=text)


def returned(id: str, text: str) -> ToolReturned:
    return ToolReturned(id=f"{id} returned", call_id=id, result=Result(id, (out.TextOutcome(text),)))


def shown(*events: AnyEvent) -> list[AnyEvent]:
    secrets = Secrets([KEY])
    return [one for event in events for one in secrets.events(event)]


def test_a_secret_in_two_pieces_of_output_is_masked() -> None:
    command = called("c1", op.RunCommand("cat key"))
    assert shown(
        command,
        wrote("c1", 1, "the key: sk-ant-"),
        wrote("c1", 2, "api03-01234"),
        wrote("c1", 3, "56789\nand more\n"),
        returned("c1", f"the key: {KEY}\nand more\n"),
    ) == [
        command,
        wrote("c1", 1, "the key: "),
        wrote("c1", 3, "********\nand more\n"),
        returned("c1", "the key: ********\nand more\n"),
    ]


def test_output_that_only_begins_like_a_secret_is_told_in_the_end() -> None:
    command, other = called("c1", op.RunCommand("a")), called("c2", op.RunCommand("b"))
    assert shown(command, other, wrote("c1", 1, "sk-ant"), wrote("c2", 1, "sk-a"), returned("c1", "sk-ant")) == [
        command,
        other,
        ToolProgressed(id="c1 1-rest", call_id="c1", message="sk-ant"),
        returned("c1", "sk-ant"),
    ]
    ended = SessionEnded(id="end")
    assert shown(command, wrote("c1", 1, "x sk-a"), ended) == [
        command,
        wrote("c1", 1, "x "),
        ToolProgressed(id="c1 1-rest", call_id="c1", message="sk-a"),
        ended,
    ]


def test_messages_of_other_tools_stay_apart() -> None:
    search = called("c1", op.SearchText("x"))
    events = (search, wrote("c1", 1, "looking for sk-ant-"), wrote("c1", 2, "api03-0123456789"))
    assert shown(*events) == list(events)
    assert shown(search, wrote("c1", 1, b64encode(KEY.encode()).decode())) == [search, wrote("c1", 1, "********=")]


def test_a_secret_in_two_pieces_of_an_answer_is_masked() -> None:
    secrets = Secrets([KEY])
    ended = Finished(Reply((), FinishReason.STOP))
    pieces: list[AnyChunk] = [
        ThinkingChunk("it is sk-"),
        ThinkingChunk("ant-api03-0123456789"),
        TextChunk("the key is sk-ant-api03-01"),
        TextChunk("23456789, not sk-ant"),
        ended,
    ]
    assert [one for piece in pieces for one in secrets.chunks(piece)] == [
        ThinkingChunk("it is "),
        ThinkingChunk("********"),
        TextChunk("the key is "),
        TextChunk("********, not "),
        TextChunk("sk-ant"),
        ended,
    ]


def test_what_is_held_back_is_told_unless_the_answer_starts_again() -> None:
    secrets = Secrets([KEY])
    again = Restarted("it broke off")
    assert [*secrets.chunks(TextChunk("a sk-a")), *secrets.chunks(again)] == [TextChunk("a "), again]
    assert [*secrets.chunks(TextChunk("b sk-a")), *secrets.rest(), *secrets.rest()] == [
        TextChunk("b "),
        TextChunk("sk-a"),
    ]


def test_the_place_of_a_key_is_no_secret(tmp_path: Path) -> None:
    environment = {
        "SSH_KEY_FILE": str(tmp_path),
        "GROQ_API_KEY": " gsk-of-groq ",
        "DEPLOY_TOKEN": "/not/a/path/here",
        "PATH": "/usr/bin",
    }
    configuration = load(cwd=tmp_path, environ={"HOME": str(tmp_path)})
    assert secrets_of(configuration, environment) == ("/not/a/path/here", "gsk-of-groq")
