"""Runs that outgrow their model: old results go first, then a summary stands for the rest; both are recorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from dragoman.apis import is_too_long
from dragoman.engine import Orchestrator, RunResult
from dragoman.engine.history import conversation_of
from dragoman.engine.history.shortening import SUMMARISE, SUMMARISED, TAKEN_OUT
from dragoman.errors import EngineError, LimitReached
from dragoman.model import AnyEvent, ContextCompacted, ResultPart, TokensUsed
from dragoman.tools import tool
from tests.engine.loopback import Loopback, Raw, Turn, loopback
from tests.engine.test_end_to_end import ALL, MODELS, engine

WINDOW = 6_000
SUMMARY = "We look at all the places. Seen so far: many of them."

# How each provider refuses a request that is longer than the model takes.
REFUSALS = {
    "openai_chat": {
        "error": {"message": "This model's maximum context length is 6000 tokens.", "code": "context_length_exceeded"}
    },
    "openai_responses": {
        "error": {"message": "Your input exceeds the context window of this model.", "code": "context_length_exceeded"}
    },
    "anthropic_messages": {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "prompt is too long: 6100 tokens > 6000 maximum"},
    },
    "gemini_generate": {
        "error": {
            "code": 400,
            "status": "INVALID_ARGUMENT",
            "message": "The input token count (6100) exceeds the maximum number of tokens allowed (6000).",
        }
    },
}


class Server:
    """Plays a model that looks at one place after the other, and refuses what is longer than its window."""

    def __init__(self, api: str, rounds: int, said: str = "", summary: str = SUMMARY, *, counts: float = 1.0) -> None:
        self.api, self.rounds, self.said, self.summary = api, rounds, said, summary
        self.counts = counts
        """The share of a request's tokens that it says it counted."""
        self.looked = self.refused = self.summaries = 0
        self.longest = 0

    def __call__(self, body: dict[str, Any]) -> Turn | Raw:
        text = json.dumps(body)
        tokens = len(text) // 4
        if tokens > WINDOW:
            self.refused += 1
            return Raw(400, json.dumps(REFUSALS[self.api]).encode())
        self.longest = max(self.longest, tokens)
        tokens = int(tokens * self.counts)
        if json.dumps(SUMMARISE)[1:-1] in text:
            self.summaries += 1
            return Turn(self.summary, usage=(tokens, 20))
        if self.looked == self.rounds:
            return Turn("Done.", usage=(tokens, 5))
        self.looked += 1
        call = (f"call_{self.looked}", "look", {"place": f"place {self.looked}"})
        return Turn(self.said, calls=(call,), usage=(tokens, 5))


def said_of(place: str) -> str:
    return f"At {place} there is a house with a garden. " * 60


@tool
def look(place: str) -> str:
    """What is there."""
    return said_of(place)


async def led(
    api: str, play: Server, *, window: int | None = WINDOW, heard: Callable[[AnyEvent], None] | None = None
) -> tuple[RunResult, Loopback]:
    async with loopback(*([play] * 60)) as server:
        run = Orchestrator(
            engine(api, server),
            [look],
            model_name=MODELS[api],
            dialect="plain",
            system="You look at places.",
            window=window,
            max_output_tokens=500,
            emit=heard,
        )
        run.policy = type(run.policy)(max_iterations=50)
        result = await run.run("Look at every place.")
        await run.close()
    return result, server


def compactions(events: list[AnyEvent]) -> list[ContextCompacted]:
    return [event for event in events if isinstance(event, ContextCompacted)]


def results_of(conversation: Any) -> list[Any]:
    return [part.result.content for item in conversation for part in item.parts if isinstance(part, ResultPart)]


@pytest.mark.parametrize("api", ALL)
async def test_a_long_run_goes_on_without_its_oldest_results(api: str) -> None:
    play, events = Server(api, rounds=20), list[AnyEvent]()
    result, _ = await led(api, play, heard=events.append)
    assert (result.status, result.text, play.looked, play.refused, play.summaries) == ("completed", "Done.", 20, 0, 0)
    assert play.longest <= WINDOW - 500

    made = compactions(events)
    assert made
    assert all(event.summary is None and event.trigger == "auto" for event in made)
    assert all(event.tokens_after < event.tokens_before for event in made)  # type: ignore[operator]
    removed = made[-1].removed
    assert removed is not None
    contents = results_of(result.conversation)
    assert [content == TAKEN_OUT for content in contents] == [at < removed for at in range(20)]
    assert contents[removed:] == [said_of(f"place {at}") for at in range(removed + 1, 21)]


@pytest.mark.parametrize("counts", [0.0, 0.01, 0.2])
@pytest.mark.parametrize("api", ALL)
async def test_a_server_that_counts_only_a_part_of_a_request_gets_none_that_is_too_long(
    api: str, counts: float
) -> None:
    play = Server(api, rounds=20, counts=counts)
    result, _ = await led(api, play)
    assert (result.status, play.looked, play.refused) == ("completed", 20, 0)


@pytest.mark.parametrize("api", ALL)
async def test_what_is_recorded_gives_the_same_conversation(api: str) -> None:
    events: list[AnyEvent] = []
    result, _ = await led(api, Server(api, rounds=12), heard=events.append)
    assert compactions(events)
    assert conversation_of(events) == result.conversation


@pytest.mark.parametrize("api", ALL)
async def test_where_results_are_not_what_is_long_a_summary_stands_for_the_conversation(api: str) -> None:
    play, events = Server(api, rounds=12, said="I will look at the next place now. " * 60), list[AnyEvent]()
    result, _ = await led(api, play, heard=events.append)
    assert (result.status, result.text, play.looked, play.refused) == ("completed", "Done.", 12, 0)
    assert play.summaries >= 1
    summaries = [event for event in compactions(events) if event.summary is not None]
    assert [event.summary for event in summaries] == [SUMMARY] * play.summaries
    assert result.conversation[0].role == "system"
    assert result.conversation[1].parts[0].text == SUMMARISED.format(summary=SUMMARY)  # type: ignore[union-attr]
    assert conversation_of(events) == result.conversation
    # A summary is asked for, so it is charged.
    assert len([event for event in events if isinstance(event, TokensUsed)]) == 12 + 1 + play.summaries


@pytest.mark.parametrize("api", ALL)
async def test_a_model_whose_window_is_not_known_is_found_out_by_its_refusal(api: str) -> None:
    play = Server(api, rounds=20)
    result, _ = await led(api, play, window=10_000_000)
    assert (result.status, result.text, play.looked) == ("completed", "Done.", 20)
    assert play.refused >= 1


async def test_a_conversation_that_cannot_be_made_short_enough_ends_the_run() -> None:
    result, _ = await led("openai_chat", Server("openai_chat", rounds=12, said="On. " * 2_000, summary="So. " * 9_000))
    assert result.status == "limited"
    assert isinstance(result.error, LimitReached)
    assert result.error.limit == "context"


async def test_a_prompt_that_is_too_long_by_itself_is_refused_in_words() -> None:
    async with loopback(*([Server("openai_chat", 1)] * 5)) as server:
        run = Orchestrator(engine("openai_chat", server), [look], model_name="gpt-5", window=WINDOW)
        result = await run.run("Look. " * 20_000)
        await run.close()
    assert isinstance(result.error, LimitReached)
    assert "longer than the model takes" in str(result.error)


@pytest.mark.parametrize("message", ["the request is not valid", "too many requests", "maximum of 128 tools"])
def test_other_refusals_are_not_about_length(message: str) -> None:
    assert not is_too_long(EngineError(message, status=400))
