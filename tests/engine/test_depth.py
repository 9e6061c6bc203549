"""Calls whose arguments are nested deeply: the model gets an error, or the run ends with a typed one."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import Toolset, tool
from dragoman.engine import HttpEngine, Orchestrator, Retry
from dragoman.engine.transport import Transport
from dragoman.errors import EngineError
from dragoman.model import SessionEnded
from dragoman.model.json_text import DEEPEST, is_too_deep, json_text
from tests.engine.loopback import PATHS, Turn, loopback


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


@tool
def note(a: Any = None) -> str:
    """Note something."""
    return "noted"


@pytest.mark.parametrize("levels", [DEEPEST - 10, DEEPEST + 10, 300, 500, 900])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("api", sorted(PATHS))
async def test_arguments_of_any_depth_are_taken_or_refused(api: str, stream: bool, levels: int) -> None:
    events: list[Any] = []
    async with loopback(Turn("I do.", calls=(("c1", "note", nested(levels)),), pieces=1), Turn("Done.")) as server:
        engine = HttpEngine(api, Transport(server.url), retry=Retry(times=0))
        orchestrator = Orchestrator(engine, Toolset([note]), model_name="m", emit=events.append)
        run = orchestrator.start("Go.", stream=stream)
        failure: EngineError | None = None
        try:
            await run.result()
        except EngineError as error:
            failure = error
        await engine.close()
    if failure is not None:
        assert levels > DEEPEST
        assert failure.code == "protocol"
        assert f"nested more than {DEEPEST} levels deep" in str(failure) or "recursion" in str(failure)
        return
    assert len(server.requests) == 2
    assert ("noted" in json_text(server.requests[1].body)) is (levels < DEEPEST)
    assert isinstance(events[-1], SessionEnded)


@pytest.mark.parametrize("levels", [1, 2, DEEPEST - 1, DEEPEST, DEEPEST + 1, 500])
def test_depth_is_counted_by_levels_and_not_by_brackets(levels: int) -> None:
    value = nested(levels)
    assert is_too_deep(value, json_text(value)) is (levels > DEEPEST)
    assert is_too_deep([value], json_text([value]).encode()) is (levels + 1 > DEEPEST)
    wide = [{"text": "{" * 1000}] * 1000
    assert not is_too_deep(wide, json_text(wide))
