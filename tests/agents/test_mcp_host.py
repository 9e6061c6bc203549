"""What servers ask of us, and how it is answered: the user, a model, folders, and a login."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from mcp import Client

from dragoman.agents import ToolServer
from dragoman.agents.mcp import Answered, Login, McpCaller, McpHost, Question, Sample, SampleRequest
from dragoman.agents.mcp.content import to_outcome
from dragoman.agents.mcp.login import Loopback, _Storage, secrets_in
from dragoman.config.files import stored_key, stored_keys
from dragoman.engine import ToolPolicy
from dragoman.errors import ToolError
from dragoman.model import Failure, outcomes as out
from dragoman.tools import Context, Toolset, tool

FORM = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer", "default": 7}}}


@tool
async def ask(what: str, context: Context) -> str:
    """Asks the client."""
    caller = context.get(McpCaller)
    match what:
        case "user":
            return str(await caller.elicit("Who?", FORM))
        case "model":
            return await caller.sample("Say it", system_prompt="Briefly")
    return str(await caller.roots())


async def asked(host: McpHost, what: str) -> out.Outcome:
    server = ToolServer(Toolset([ask]), policy=ToolPolicy(default="allow"), structured=False)
    async with server.opened() as opened, Client(opened, mode="legacy", **host.callbacks("asking")) as client:
        return to_outcome(await client.call_tool("ask", {"what": what}), server="asking")


def text_of(outcome: Any) -> str:
    if isinstance(outcome, Failure):
        return outcome.message
    return str(outcome.content[0] if isinstance(outcome, out.ContentOutcome) else outcome.text)


async def test_a_question_reaches_the_user_and_the_form_is_filled_up_with_defaults() -> None:
    heard: list[Question] = []

    async def elicit(question: Question) -> Answered:
        heard.append(question)
        return Answered("accept", {"name": "Ada"})

    answer = text_of(await asked(McpHost(elicit=elicit), "user"))
    assert "{'age': 7, 'name': 'Ada'}" in answer
    assert [(one.server, one.message) for one in heard] == [("asking", "Who?")]


async def test_an_answer_that_does_not_fit_the_form_is_not_sent() -> None:
    async def elicit(_: Question) -> Answered:
        return Answered("accept", {"age": "old"})

    assert "does not fit: age must be an integer" in text_of(await asked(McpHost(elicit=elicit), "user"))


async def test_a_model_is_asked_by_whoever_gave_it_and_may_refuse() -> None:
    heard: list[SampleRequest] = []

    async def sample(request: SampleRequest) -> Sample:
        heard.append(request)
        return Sample("Said", "m")

    async def refuse(_: SampleRequest) -> Sample:
        raise ToolError("the user said no")

    assert text_of(await asked(McpHost(sample=sample), "model")) == "Said"
    assert heard == [SampleRequest("asking", (("user", "Say it"),), 1024, "Briefly")]
    assert "the user said no" in text_of(await asked(McpHost(sample=refuse), "model"))


async def test_what_was_not_given_is_not_offered(tmp_path: Path) -> None:
    assert tmp_path.as_uri() in text_of(await asked(McpHost(roots=(tmp_path,)), "roots"))
    assert "does not offer elicitation" in text_of(await asked(McpHost(), "user"))


async def test_the_redirect_of_a_login_is_answered_on_this_machine_alone() -> None:
    loopback = Loopback()
    await loopback.open()
    assert loopback.url.startswith("http://127.0.0.1:")
    waiting = asyncio.create_task(loopback.result())

    def visited(url: str) -> str:
        with urlopen(url, timeout=10) as page:
            return str(page.read().decode())

    with pytest.raises(OSError, match="404"):
        await asyncio.to_thread(visited, loopback.url.replace("/callback", "/other?code=x"))
    assert "close this page" in await asyncio.to_thread(visited, f"{loopback.url}?code=abc&state=s")
    result = await waiting
    assert (result.code, result.state) == ("abc", "s")
    await loopback.close()


async def test_tokens_are_kept_as_keys_and_for_one_address_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcp.shared.auth import OAuthToken

    monkeypatch.setattr("dragoman.config.files.keys._keyring", lambda: None)
    login = Login(config_dir=tmp_path)
    here = _Storage(login, "far", "https://a.example/mcp", "http://127.0.0.1:1/callback")
    await here.set_tokens(OAuthToken(access_token="secret"))
    kept = await here.get_tokens()
    assert kept is not None
    assert kept.access_token == "secret"
    assert secrets_in(stored_key(tmp_path, "mcp:far") or "") == ["secret"]
    assert await _Storage(login, "far", "https://b.example/mcp", "").get_tokens() is None
    assert [(name, one.place) for name, one in stored_keys(tmp_path).items()] == [("mcp:far", "file")]
