"""Results that were once read as something else: output that looks like what a tool says of it, and messages."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialects import DIALECTS
from dragoman.model import NativeCall, NativeResult, outcomes as out


def read(dialect: str, name: str, arguments: dict[str, Any], text: str) -> out.Outcome:
    speaker = DIALECTS[dialect]
    return speaker.read_result(speaker.read_call(NativeCall("1", name, arguments)), NativeResult("1", text)).outcomes[0]


@pytest.mark.parametrize(
    "dialect, name, arguments",
    [("continue", "List", {"dirpath": "nope"})],
)
def test_a_message_is_no_listing(dialect: str, name: str, arguments: dict[str, Any]) -> None:
    message = "Directory does not exist: nope"
    assert read(dialect, name, arguments, message) == out.TextOutcome(message)
