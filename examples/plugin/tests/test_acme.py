"""The plugin, held to the laws that dragoman's own dialects and formats are held to."""

from __future__ import annotations

from pathlib import Path

from dragoman.dialects.plugins import check
from dragoman.logs import check_format, read
from dragoman.model import ToolCalled, operations as op
from dragoman.registry import DIALECTS, FORMATS, TOOLS

SESSION = Path(__file__).with_name("session.jsonl")


def test_the_dialect_holds_the_laws() -> None:
    assert check(DIALECTS["acme"]) == []


def test_the_log_format_holds_the_laws() -> None:
    assert check_format(FORMATS["acme"], SESSION) == []


def test_calls_of_a_log_are_typed() -> None:
    calls = [event.call.operations for event in read(SESSION) if isinstance(event, ToolCalled)]
    assert calls == [
        (op.CallFunction("find_ticket", {"number": 7}),),
        (op.ReadFile("door.py", first_line=5, last_line=9),),
        (op.CallMcpTool("hub", "send", {"to": "Ada"}),),
    ]


def test_the_tool_finds_a_ticket() -> None:
    assert TOOLS["find_ticket"].call_sync({"number": 7}) == {"number": 7, "text": "The door squeaks."}
