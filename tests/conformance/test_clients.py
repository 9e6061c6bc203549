"""Real clients resume what `dragoman port` writes: one of each family of APIs here, all of them with `make clients`."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.logs import FORMATS
from dragoman.logs.port import targets
from dragoman.model import CallPart, FunctionDefinition, NativeCall, NativeResult, Reply, Request, TextPart, user
from dragoman.model.conversation import results_message
from tests.clients.__main__ import PAGE
from tests.clients.cell import SOURCES, Seen, misfits, missing, tried
from tests.clients.install import VERSIONS


@pytest.mark.parametrize(
    "to, source", [("claude_code", "codex"), ("codex", "gemini_cli"), ("gemini_cli", "claude_code")]
)
def test_a_real_client_resumes_a_ported_session_and_goes_on(to: str, source: str, shared: Path, tmp_path: Path) -> None:
    seen = tried(to, source, shared, tmp_path / "cell")
    assert seen.calls >= 10
    listed = None if to == "claude_code" else True  # it shows its sessions on a terminal alone
    assert seen == Seen(calls=seen.calls, listed=listed, edited=True)


def test_every_client_was_tried_in_the_version_that_sessions_are_written_for() -> None:
    rows = [
        line.split("|")[1:-1]
        for line in PAGE.read_text().splitlines()
        if line.startswith("| `") and line.count("|") == 7
    ]
    tried_with = {name.strip(" `"): (version.strip(), sessions.strip()) for name, version, _, sessions, *_ in rows}
    versions = {client: FORMATS[client].writer().version for client in targets()}
    assert versions == VERSIONS
    assert tried_with == {client: (version, str(len(SOURCES))) for client, version in versions.items()}


def test_what_a_client_changes_in_a_history_is_noticed() -> None:
    tool = FunctionDefinition("Read", "", {"type": "object", "properties": {"path": {"type": "string"}}})
    read = CallPart(NativeCall("a", "Read", {"path": "x"}))
    wanted = (
        user("Read x."),
        Reply((read,)),
        results_message(NativeResult("a", "1\tone")),
        Reply((TextPart("Done."),)),
    )
    sent = (
        user("Read x."),
        Reply(
            (read, CallPart(NativeCall("b", "Reed"))),
        ),
        results_message(NativeResult("a", "1")),
    )
    bad = (Reply((CallPart(NativeCall("a", "Read", {"path": 1})),)), results_message(NativeResult("c", "")))
    whole = Request("m", wanted, (tool,))
    assert (list(missing(wanted, wanted)), list(misfits(whole))) == ([], [])
    assert list(misfits(Request("m", sent, (tool,)))) == ["Reed has 0 results", "Reed is not offered"]
    assert list(misfits(Request("m", bad, (tool,)))) == [
        "Read has 0 results",
        "Read: $.path: 1 is not of type 'string'",
        "the result c answers no call",
    ]
    assert [problem.partition(":")[0] for problem in missing(wanted, sent)] == ["calls differ"]
    assert list(missing(wanted, wanted[:2] + sent[2:])) == [
        "the result of Read differs: '1' instead of '1\\tone'",
        "not sent: 'Done.'",
    ]
