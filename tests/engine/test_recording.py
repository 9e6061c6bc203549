"""What a run leaves behind: events in a file, traffic of the wire, spans; and what can be done with them later."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.engine import LATER, Answer, Exchange, HttpEngine, Orchestrator, ReplayEngine, Retry, ScriptedEngine
from dragoman.engine.history import conversation_of
from dragoman.engine.transport import Transport
from dragoman.errors import EngineError, LogError
from dragoman.logs import Recorder, read_events
from dragoman.model import (
    AnyEvent,
    CallPart,
    FinishReason,
    ModelSaid,
    NativeCall,
    RefusalPart,
    Reply,
    Request,
    ResultPart,
    ToolReturned,
    Unreadable,
    Usage,
    user,
)
from dragoman.tools import tool
from tests.engine.loopback import PATHS, Raw, Turn, loopback, played
from tests.genai_conventions import missing_in

ALL = sorted(PATHS)


@tool
def double(number: int) -> int:
    """Twice a number."""
    return number * 2


def steps() -> list[Any]:
    call = CallPart(NativeCall("c1", "double", {"number": 4}))
    return [Reply((call,), FinishReason.CALLS, usage=Usage(input_tokens=3, output_tokens=2)), "It is 8."]


async def recorded(path: Path) -> list[AnyEvent]:
    events: list[AnyEvent] = []
    with Recorder(path) as recorder:
        orchestrator = Orchestrator(ScriptedEngine(steps()), [double], model_name="m", dialect="plain", emit=recorder)
        await orchestrator.run("twice 4?", emit=events.append)
    return events


async def test_what_is_read_is_what_happened(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "one.jsonl"
    events = await recorded(path)
    read = list(read_events(path))
    assert [msgspec.structs.replace(event, source=None) for event in read] == events
    data = path.read_bytes()
    for event in read:
        assert event.source is not None
        line = data[event.source.offset : event.source.offset + event.source.length]
        assert event.id.encode() in line


async def test_a_replay_answers_as_before(tmp_path: Path) -> None:
    await recorded(tmp_path / "one.jsonl")
    with ReplayEngine(read_events(tmp_path / "one.jsonl")) as engine:
        again = Orchestrator(engine, [double], model_name="m", dialect="plain")
        result = await again.run("twice 4?")
    assert (result.text, result.metrics["double"].calls) == ("It is 8.", 1)


async def test_a_record_tells_the_conversation_exactly() -> None:
    events: list[AnyEvent] = []
    orchestrator = Orchestrator(ScriptedEngine(steps()), [double], model_name="m", dialect="plain", system="Be brief.")
    result = await orchestrator.run("twice 4?", emit=events.append)
    assert conversation_of(events) == result.conversation


async def test_a_log_without_whole_replies_is_replayed_from_what_it_tells() -> None:
    events: list[AnyEvent] = []
    await Orchestrator(ScriptedEngine(steps()), [double], model_name="m", dialect="plain").run("go", emit=events.append)
    from dragoman.model import ModelFinished

    told = [event for event in events if not isinstance(event, ModelFinished)]
    engine = ReplayEngine(told)
    result = await Orchestrator(engine, [double], model_name="m", dialect="plain").run("go")
    assert result.text == "It is 8."


def test_a_line_that_is_no_event_is_kept_and_costs_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with Recorder(path) as recorder:
        from dragoman.model import UserSaid

        recorder(UserSaid(id="1", text="a"))
    with path.open("ab") as file:
        file.write(b'{"kind":"no_such_event"}\n\xff\xfe\n{"half')
    read = list(read_events(path))
    assert [type(event).__name__ for event in read] == ["UserSaid", "Unreadable", "Unreadable", "Unreadable"]
    assert all(isinstance(event, Unreadable) and event.source is not None for event in read[1:])
    other = tmp_path / "b.jsonl"
    other.write_text("{}\n")
    with pytest.raises(LogError, match="no recording"):
        list(read_events(other))


def test_a_process_that_is_killed_leaves_a_log_that_goes_on(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(
        "import asyncio, os, signal, sys\n"
        "from dragoman.engine import Orchestrator, ScriptedEngine\n"
        "from dragoman.logs import Recorder\n"
        "from dragoman.model import CallPart, FinishReason, NativeCall, Reply\n"
        "from dragoman.tools import tool\n"
        "@tool\n"
        "def send() -> str:\n"
        '    """Sends."""\n'
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "step = Reply((CallPart(NativeCall('c1', 'send', {})),), FinishReason.CALLS)\n"
        "engine = ScriptedEngine([step])\n"
        "run = Orchestrator(engine, [send], model_name='m', dialect='plain', emit=Recorder(sys.argv[1]))\n"
        "run.run_sync('go')\n"
    )
    log = tmp_path / "log.jsonl"
    done = subprocess.run([sys.executable, script, log], env={**os.environ}, check=False)
    assert done.returncode == -signal.SIGKILL

    @tool
    def send() -> str:
        """Sends."""
        raise AssertionError("it may have been sent already")

    events = list(read_events(log))
    later = Orchestrator(ScriptedEngine(["I looked."]), [send], model_name="m", dialect="plain")
    more: list[AnyEvent] = []
    import asyncio

    result = asyncio.run(later.resume(events, emit=more.append).result())
    assert result.text == "I looked."
    outcomes = [event.result.outcomes[0] for event in more if isinstance(event, ToolReturned)]
    assert [type(outcome).__name__ for outcome in outcomes] == ["UnknownOutcome"]


@pytest.mark.parametrize("api", ALL)
@pytest.mark.parametrize("stream", [False, True])
async def test_recorded_traffic_answers_again_errors_included(api: str, stream: bool) -> None:
    exchanges: list[Exchange] = []
    turns = (
        Turn(calls=(("c1", "double", {"number": 4}),)),
        Raw(503, b'{"error": {"message": "busy"}}'),
        Turn("It is 8."),
    )
    async with loopback(*turns) as server:
        transport = Transport(server.url, headers={"authorization": "Bearer sk-secret", "x-api-key": "sk-secret"})
        engine = HttpEngine(api, transport, retry=Retry(base=0), record=exchanges.append)
        first = await Orchestrator(engine, [double], model_name="gpt-5", dialect="plain").run("go", stream=stream)
        await engine.close()
    assert b"sk-secret" not in msgspec.json.encode(exchanges)
    again = [msgspec.json.decode(msgspec.json.encode(exchange), type=Exchange) for exchange in exchanges]
    with pytest.raises(EngineError, match="busy"):
        await Orchestrator(ReplayEngine.from_wire(again), [double], model_name="gpt-5", dialect="plain").run("go")
    good = ReplayEngine.from_wire([exchange for exchange in again if exchange.status == 200])
    second = await Orchestrator(good, [double], model_name="gpt-5", dialect="plain").run("go")
    assert second.text == first.text == "It is 8."


@pytest.mark.parametrize("api", ALL)
async def test_recorded_answers_that_were_none_fail_again_as_they_did(api: str) -> None:
    exchanges: list[Exchange] = []
    whole = played(api, Turn("A long answer.", pieces=4), stream=True)
    events = whole.body.split(b"\n\n")
    half = Raw(body=b"\n\n".join(events[: len(events) // 2]) + b"\n\n", content_type=whole.content_type)
    async with loopback(half, Raw(body=b"<html></html>")) as server:
        engine = HttpEngine(api, Transport(server.url), retry=Retry(times=0), record=exchanges.append)
        live: list[EngineError] = []
        for stream in (True, False):
            with pytest.raises(EngineError) as raised:
                await engine.ask(Request("m", (user("hi"),), stream=stream))
            live.append(raised.value)
        await engine.close()
    again = ReplayEngine.from_wire(exchanges)
    for error in live:
        with pytest.raises(EngineError) as raised:
            await again.ask(Request("m", (user("hi"),)))
        assert (raised.value.code, raised.value.message) == (error.code, error.message)


@pytest.mark.parametrize("stream", [False, True])
async def test_an_exchange_that_broke_off_is_recorded_with_what_had_come_and_how_it_ended(stream: bool) -> None:
    exchanges: list[Exchange] = []
    whole = played("openai_chat", Turn("A long answer that never ends.", pieces=10), stream=stream)
    half = len(whole.body) // 2
    cut = Raw(
        body=whole.body,
        content_type=whole.content_type,
        headers={"x-request-id": "r1"},
        stop_after=half,
    )
    async with loopback(cut) as server:
        transport = Transport(server.url, headers={"authorization": "Bearer sk-secret"})
        engine = HttpEngine("openai_chat", transport, retry=Retry(times=0), record=exchanges.append)
        with pytest.raises(EngineError) as raised:
            await engine.ask(Request("m", (user("hi"),), stream=stream))
        await engine.close()
    (exchange,) = exchanges
    assert (exchange.status, exchange.streaming, exchange.response_headers["x-request-id"]) == (200, stream, "r1")
    assert exchange.response == whole.body[:half].decode()
    assert (exchange.error, exchange.code) == (raised.value.message, raised.value.code) != (None, None)
    again = msgspec.json.decode(msgspec.json.encode(exchange), type=Exchange)
    with pytest.raises(EngineError, match="closed in the middle"):
        await ReplayEngine.from_wire([again]).ask(Request("m", (user("hi"),)))


async def test_an_exchange_that_never_reached_a_server_is_recorded() -> None:
    exchanges: list[Exchange] = []
    engine = HttpEngine(
        "openai_chat", Transport("http://127.0.0.1:1"), retry=Retry(times=1, base=0), record=exchanges.append
    )
    with pytest.raises(EngineError):
        await engine.ask(Request("m", (user("hi"),)))
    assert [(one.status, one.response, one.code) for one in exchanges] == [(0, "", "connect")] * 2


async def test_a_record_whose_calls_share_an_id_goes_on_with_those_that_have_no_result() -> None:
    twins = Reply(
        (
            CallPart(NativeCall("same", "double", {"number": 4})),
            CallPart(NativeCall("same", "ask_first", {})),
        ),
        FinishReason.CALLS,
    )
    ran: list[str] = []

    @tool(approval="always")
    def ask_first() -> str:
        """Wants a yes."""
        ran.append("asked")
        return "done"

    tools = [double, ask_first]
    events: list[AnyEvent] = []
    first = Orchestrator(ScriptedEngine([twins]), tools, model_name="m", dialect="plain", approver=lambda _: LATER)
    waiting = await first.run("go", emit=events.append)
    assert [call.native.name for call in waiting.waiting] == ["ask_first"]
    later = Orchestrator(ScriptedEngine(["It is done."]), tools, model_name="m", dialect="plain")
    result = await later.resume(events, answers={"same": Answer(allowed=True)}).result()
    told = [part.result.content for item in result.conversation for part in item.parts if isinstance(part, ResultPart)]
    assert (result.text, ran, told) == ("It is done.", ["asked"], ["8", "done"])


async def test_spans_in_the_words_of_the_conventions() -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from dragoman.engine import Telemetry

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry = Telemetry(provider.get_tracer("t"), provider="scripted")
    await Orchestrator(ScriptedEngine(steps()), [double], model_name="m", dialect="plain", emit=telemetry).run("go")
    spans = exporter.get_finished_spans()
    assert [span.name for span in spans] == ["chat m", "execute_tool double", "chat m", "invoke_agent"]
    chat = dict(spans[0].attributes or {})
    assert chat["gen_ai.usage.input_tokens"] == 3
    assert chat["gen_ai.response.finish_reasons"] == ("calls",)
    assert all(span.parent is not None and span.parent.span_id == spans[-1].context.span_id for span in spans[:-1])
    assert "gen_ai.tool.call.arguments" not in dict(spans[1].attributes or {})
    for span in spans:
        assert missing_in(span) == []


async def test_a_span_names_the_provider_though_nobody_said_it() -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from dragoman.engine import Telemetry

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    emit = Telemetry(provider.get_tracer("t"))
    for name in ("claude-x", "nobody-knows"):
        await Orchestrator(ScriptedEngine(steps()), [double], model_name=name, dialect="plain", emit=emit).run("go")
    named = [dict(span.attributes or {}).get("gen_ai.provider.name") for span in exporter.get_finished_spans()]
    assert named == ["anthropic", None, "anthropic", "anthropic", "unknown", None, "unknown", "unknown"]


async def test_a_refusal_is_recorded_as_one() -> None:
    events: list[AnyEvent] = []
    refused = Reply((RefusalPart("I will not."),), FinishReason.REFUSED)
    await Orchestrator(ScriptedEngine([refused]), [double], emit=events.append).run("go")
    assert [(one.text, one.refused) for one in events if isinstance(one, ModelSaid)] == [("I will not.", True)]
