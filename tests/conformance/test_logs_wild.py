"""Sessions and fixtures found in public projects, all clients at once: every byte accounted for, every call named.

A call is *typed* when it means operations; what is not is listed below, one by one, with the reason.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import msgspec
import pytest

from dragoman.errors import LogError
from dragoman.logs import read, recognise
from dragoman.model import ToolCalled, Unreadable, Unrecognised
from tests.conformance.conftest import SHARED

WILD = SHARED / "traces-wild"
LISTED = {
    "claude-code": "claude_code",
    "cline-roo": "roo_code",
    "codex": "codex",
    "copilot-cli": "copilot",
    "gemini-cli": "gemini_cli",
    "opencode": "opencode",
    "opencode-storage": "opencode",
    "pi": "pi",
    "qwen-code": "qwen_code",
}
"""How the collection names clients that are read here, and the format."""
MISFILED = {
    "session-system-only__ca8f42.jsonl": "qwen_code",
    "api_conversation_history__d57a89.json": "cline",
}
"""Files that lie under another client's name."""

MADE_UP = "written by hand for a test of somebody's program, in words the client never had"
CUT = "made shorter for a test of somebody's program: what the tool needs is not there"
REFUSED = "the model's own mistake, which the client answered with an error: a typed failure"
ABORTED = "the user stopped the model in the middle of the call: it never ran"
BROKEN_OFF = "the client broke the reply off in the middle of the call, and answered with an error"

UNTYPED: dict[str, dict[tuple[str, str], str]] = {
    # format: (tool, its parameters): why
    "claude_code": {
        ("FailingTool", "test_param"): MADE_UP,
        ("ReadFile", "description path"): MADE_UP,
        ("SearchCode", "description path pattern"): MADE_UP,
        ("Edit", "description file_path"): MADE_UP,
        ("TodoWrite", "todos"): MADE_UP,
        ("Task", "description subagent_type"): CUT,
    },
    "codex": {
        ("exec_command", "command"): MADE_UP,
        ("apply_patch", "input"): CUT,
    },
    "gemini_cli": {
        ("search", "query"): MADE_UP,
        ("write_file", "content path"): REFUSED,
    },
    "opencode": {("invalid", "error tool"): REFUSED},
    "pi": {
        ("read", "end_line file_path start_line"): MADE_UP,
        ("read_file", "path"): MADE_UP,
        ("write", "content file_path"): MADE_UP,
        ("edit", "file_path new_string old_string"): MADE_UP,
        ("edit", "oldText path"): ABORTED,
    },
    "qwen_code": {("read_file", "path"): MADE_UP},
    "roo_code": {("execute_command", ""): BROKEN_OFF},
}


class Share(msgspec.Struct):
    """How many calls there are, and those without a meaning."""

    calls: int = 0
    untyped: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter)


def rows() -> list[tuple[Path, str]]:
    listed = [json.loads(line) for line in (WILD / "index.jsonl").read_text().splitlines()]
    paths = [(WILD / row["path"], LISTED.get(row["client"])) for row in listed]
    return [(path, MISFILED.get(path.name, format)) for path, format in paths if format is not None]


ROWS = rows()


@cache
def shares() -> dict[str, Share]:
    found: dict[str, Share] = defaultdict(Share)
    for path, format in ROWS:
        share = found[format]
        for event in read(path, format):
            if not isinstance(event, ToolCalled):
                continue
            share.calls += 1
            meant = event.call.operations
            if not meant or any(isinstance(one, Unrecognised) for one in meant):
                share.untyped[event.call.native.name, " ".join(sorted(event.call.native.arguments))] += 1
    return found


def test_every_file_is_known_for_what_it_is() -> None:
    wrong = []
    for path, format in ROWS:
        try:
            chosen, _ = recognise(path)
        except LogError:
            wrong.append((path, None))
            continue
        if chosen.name != format:
            wrong.append((path, chosen.name))
    assert wrong == []


def test_every_byte_is_in_an_event_or_unreadable() -> None:
    unreadable: Counter[str] = Counter()
    for path, format in ROWS:
        data = bytearray(path.read_bytes())
        for event in read(path, format):
            assert event.source is not None
            if isinstance(event, Unreadable):
                unreadable[format] += 1
            begin, end = event.source.offset, event.source.offset + event.source.length
            assert 0 <= begin <= end <= len(data)
            data[begin:end] = b" " * (end - begin)
        # What closes a document tells nothing.
        rest = [line for line in bytes(data).split(b"\n") if line.strip(b" \t\r,]}[")]
        assert not rest, path
    assert unreadable == {"claude_code": 5, "codex": 2, "qwen_code": 2}


@pytest.mark.parametrize("format", sorted(set(LISTED.values())))
def test_what_has_no_meaning_is_listed_with_the_reason(format: str) -> None:
    assert set(shares()[format].untyped) == set(UNTYPED.get(format, {}))


@pytest.mark.parametrize("format", sorted(set(LISTED.values())))
def test_of_the_calls_a_client_could_make_nearly_all_are_typed(format: str) -> None:
    """What somebody made up in a fixture is no client's call; what a client refused is typed as that failure."""
    share, reasons = shares()[format], UNTYPED.get(format, {})
    no_calls = sum(count for call, count in share.untyped.items() if reasons.get(call) in (MADE_UP, CUT))
    refused = sum(count for call, count in share.untyped.items() if reasons.get(call) in (REFUSED, ABORTED, BROKEN_OFF))
    could = share.calls - no_calls
    assert (could - sum(share.untyped.values()) + no_calls + refused) / could >= 0.995


def test_how_much_is_typed_of_all_that_was_found_fixtures_and_mistakes_included() -> None:
    with_calls = {format: share for format, share in shares().items() if share.calls}
    typed = {format: (share.calls - share.untyped.total()) / share.calls for format, share in with_calls.items()}
    least = {
        "claude_code": 0.995,  # of 1,361 calls
        "codex": 0.996,  # of 536
        "copilot": 1.0,  # of 225
        "gemini_cli": 0.985,  # of 139
        "opencode": 0.996,  # of 283
        "pi": 0.985,  # of 401
        "qwen_code": 0.88,  # of 9
        "roo_code": 0.986,  # of 73
    }
    assert {format: share for format, share in typed.items() if share < least[format]} == {}
