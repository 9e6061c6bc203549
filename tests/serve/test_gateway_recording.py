"""What goes through the gateway is recorded as a session of ours: shown, searched and ported like any other."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from dragoman.engine.history import conversation_of
from dragoman.errors import EngineError
from dragoman.logs import read_events
from dragoman.model import (
    Reply,
    ResultPart,
    TextPart,
    ToolCalled,
    ToolReturned,
    operations as op,
    outcomes as out,
    user as said,
)
from tests.cli.conftest import User, user as user
from tests.engine.loopback import Raw, Turn
from tests.serve.test_gateway import KEY, PRIVATE, TOKEN, asked, client, gateway, modes

PATCH = "*** Begin Patch\n*** Add File: b.py\n+y = 1\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch\n"
SCRIPT = (
    Turn("I look.", calls=(("i1", "exec_command", {"cmd": "cat a.py"}),)),
    Turn("I change it.", calls=(("i2", "apply_patch", PATCH),)),
    Turn("All done."),
    Turn("You are welcome."),
)


def recorded(data: Path) -> list[Path]:
    return sorted((data / "gateway" / "sessions").glob("*.jsonl"))


async def two_turns(monkeypatch: pytest.MonkeyPatch, work: Path, data: Path) -> None:
    """A client does a task on a GPT model, and is thanked in the same conversation."""
    async with gateway(monkeypatch, "openai_responses", *SCRIPT, folder=data / "gateway") as (served, _):
        agent = client(served, "claude_code", work)
        first = await agent.run("Change the file.")
        await agent.run((*first.conversation, said("Thank you.")))


def test_a_conversation_is_recorded_in_the_models_words_and_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    asyncio.run(two_turns(monkeypatch, tmp_path, tmp_path / "data"))
    (path,) = recorded(tmp_path / "data")
    assert modes(tmp_path / "data" / "gateway") == PRIVATE
    events = list(read_events(path))
    heard = [
        (item.role, "".join(part.text for part in item.parts if isinstance(part, TextPart)))
        for item in conversation_of(events)
        if item.role != "system"
    ]
    assert heard == [
        ("user", "Change the file."),
        ("assistant", "I look."),
        ("tool", ""),
        ("assistant", "I change it."),
        ("tool", ""),
        ("assistant", "All done."),
        ("user", "Thank you."),
        ("assistant", "You are welcome."),
    ]
    called = [event.call for event in events if isinstance(event, ToolCalled)]
    assert [call.native.name for call in called] == ["exec_command", "apply_patch"]
    assert [type(one) for one in called[1].operations] == [op.WriteFile, op.EditFile]
    returned = [event.result for event in events if isinstance(event, ToolReturned)]
    assert [type(one.outcomes[0]) for one in returned] == [out.CommandOutcome, out.ChangesOutcome]
    text = path.read_text()
    assert TOKEN not in text
    assert KEY not in text


def test_a_recorded_conversation_is_listed_shown_searched_and_ported(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    (user.here / "a.py").write_text("x = 1\n")
    data = Path(user.environ["DRAGOMAN_DATA_DIR"])
    asyncio.run(two_turns(monkeypatch, user.here, data))
    (path,) = recorded(data)
    assert path.stem in user.types("sessions", "--json").out
    shown = user.types("show", path.stem).out
    assert "Change the file." in shown
    assert "apply_patch" in shown
    assert path.stem in user.types("lab", "grep", "change it").out
    answer = user.types("port", path.stem, "--to", "claude_code", "--cwd", str(user.here))
    assert answer.code == 0
    (new,) = (user.home / ".claude").rglob("*.jsonl")
    assert '"name":"Write"' in new.read_text().replace(": ", ":")


def test_after_a_restart_the_record_of_a_conversation_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def twice() -> None:
        folder = tmp_path / "data" / "gateway"
        async with gateway(monkeypatch, "openai_responses", *SCRIPT[:3], folder=folder) as (served, _):
            first = await client(served, "claude_code", tmp_path).run("Change the file.")
        async with gateway(monkeypatch, "openai_responses", SCRIPT[3], folder=folder) as (served, _):
            await client(served, "claude_code", tmp_path).run((*first.conversation, said("Thank you.")))

    (tmp_path / "a.py").write_text("x = 1\n")
    asyncio.run(twice())
    (path,) = recorded(tmp_path / "data")
    conversation = conversation_of(read_events(path))
    replies = [item.text for item in conversation if isinstance(item, Reply)]
    assert replies == ["I look.", "I change it.", "All done.", "You are welcome."]
    assert sum(isinstance(part, ResultPart) for item in conversation for part in item.parts) == 2
    ids = [event.id for event in read_events(path)]
    assert len(ids) == len(set(ids))


def test_without_a_folder_nothing_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def once() -> None:
        async with gateway(monkeypatch, "openai_responses", Turn("Hello.")) as (served, _):
            await asked(served, "anthropic_messages")

    asyncio.run(once())
    assert list(tmp_path.rglob("*")) == []


def test_a_record_that_cannot_be_written_keeps_nobody_from_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warned: list[str] = []
    (tmp_path / "gateway").write_text("a file where the folder should be")

    async def once() -> str:
        options = {"folder": tmp_path / "gateway", "warn": warned.append}
        async with gateway(monkeypatch, "openai_responses", Turn("Hello."), **options) as (served, _):
            return await asked(served, "anthropic_messages")

    assert asyncio.run(once()) == "Hello."
    assert len(warned) == 1
    assert "is not recorded any more" in warned[0]


def test_an_error_of_the_model_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def once() -> None:
        bad = Raw(400, b'{"error": {"message": "it is full"}}')
        async with gateway(monkeypatch, "openai_responses", bad, Turn("Fine."), folder=tmp_path) as (served, _):
            with pytest.raises(EngineError, match="it is full"):
                await asked(served, "anthropic_messages")
            await asked(served, "anthropic_messages")

    asyncio.run(once())
    (path,) = (tmp_path / "sessions").glob("*.jsonl")
    kinds = [type(event).__name__ for event in read_events(path)]
    assert kinds == [
        "SessionStarted",
        "UserSaid",
        "ModelAsked",
        "ErrorOccurred",
        "ModelAsked",
        "ModelSaid",
        "TokensUsed",
        "ModelFinished",
    ]
    assert os.stat(path).st_mode & 0o777 == 0o600
