"""What is shown of public objects in a debugger or a notebook is short and says what they are."""

from __future__ import annotations

import pytest

from dragoman import Image, Orchestrator, tool
from dragoman.engine import ScriptedEngine
from dragoman.errors import ConfigError
from dragoman.model import user

PICTURE = b"\x89PNG\r\n\x1a\n" + b"0" * 100_000


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"clear in {city}"


async def test_a_result_shows_how_it_ended_and_the_beginning_of_the_text() -> None:
    orchestrator = Orchestrator(ScriptedEngine(["clear " * 1000]), [weather], model_name="m")
    assert repr(orchestrator) == "Orchestrator('m', Toolset(weather), dialect='plain')"
    running = orchestrator.start("How is Rome?", run_id="r1")
    assert repr(running) == "<Running r1: 0 rounds>"
    shown = "RunResult(status='completed', text='clear clear ... clear clear ', rounds=1, usage=Usage())"
    assert repr(await running.result()) == shown


async def test_a_result_shows_its_typed_answer_and_why_it_failed() -> None:
    from dragoman.model import Features

    engine = ScriptedEngine(['{"value": 7}', "none"], features=Features(response_schema=True))
    orchestrator = Orchestrator(engine, output=int, output_retries=0)
    assert ", output=7, " in repr(await orchestrator.run("How many?"))
    assert ", error=Failure(" in repr(await orchestrator.run("How many?"))


def test_an_engine_that_sends_nothing_has_no_body_to_show() -> None:
    prepared = Orchestrator(ScriptedEngine([])).prepare("Hi")
    with pytest.raises(ConfigError, match="sends no request"):
        _ = prepared.body


def test_data_shows_what_was_set_and_never_the_content_of_a_picture() -> None:
    shown = "Media(media_type='image/png', width=808464432, height=808464432, size=100008, data=<133,344 characters>)"
    assert repr(Image(PICTURE)) == shown
    assert repr(user("Hi", Image(PICTURE))) == (
        f"Message(role='user', parts=(TextPart(text='Hi'), MediaPart(media={shown})))"
    )
