"""Drift of plain-text logs: a changed mark is reported by name, text that a model may have written is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.logs import Found, recognise
from dragoman.logs.history import check_drift
from tests.logs.samples import SAMPLES

AIDER = dict(SAMPLES["aider"])[".aider.chat.history.md"]
TRANSCRIPT = "p/agent-transcripts/cu-3.txt"
CURSOR = dict(SAMPLES["cursor"])[TRANSCRIPT]
BLOCK = "c.py\n```\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```\n\n"


def told(folder: Path, name: str, format: str, data: bytes) -> list[str]:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    assert recognise(path)[0].name == format
    report = check_drift([Found(path, format)])
    assert not report.additions
    return sorted(one.what for one in report.drifts)


@pytest.mark.parametrize(
    "before, after, what",
    [
        ("# aider chat started at", "# aider session began at", ["record: no chat is said to have started in it"]),
        ("> Aider v", "> This is aider v", ["chat.version"]),
        ("> Main model:", "> Uses", ["chat.model"]),
        ("with diff edit format", "(diff)", ["chat.model"]),
        ("#### ", "### ", ["reply.prompt"]),
        ("> ", "| ", ["chat.model", "chat.version", "reply.prompt"]),
        ("<<<<<<< SEARCH", "<<<<<<< FIND", ["block.SEARCH is missing, FIND is new"]),
        (">>>>>>> REPLACE", ">>>>>>> WITH", ["block.REPLACE is missing, WITH is new"]),
        ("\n=======\n", "\n-------\n", ["block.divider"]),
        ("Applied edit to", "Changed", ["edit.result is missing, Changed is new"]),
        ("failed to exactly match lines in", "is not in", ["edit.result is missing, SearchReplaceNoExactMatch"]),
        ("src/b.py\n```\n", "```src/b.py\n", ["edit.path"]),
        ("> Tokens:", "> Usage:", ["tokens.Tokens is missing, Usage is new"]),
        (" sent", " in", ["tokens.sent is missing, in is new"]),
        (" received", " back", ["tokens.received is missing, back is new"]),
        (" Cost:", " Price:", ["tokens.Price"]),
    ],
)
def test_a_changed_mark_in_a_history_of_aider_is_told(tmp_path: Path, before: str, after: str, what: list[str]) -> None:
    changed = AIDER.replace(before.encode(), after.encode())
    assert changed != AIDER
    said = told(tmp_path, ".aider.chat.history.md", "aider", changed)
    for one in what:
        assert any(line.startswith(one) for line in said), said


@pytest.mark.parametrize(
    "words",
    [
        "",
        # An answer that was broken off, edits that were declined.
        "#### More.  \n\nI will\n",
        f"#### More.  \n\n{BLOCK}> Skipping edits to c.py  \n",
        f"#### More.  \n\n{BLOCK}> c.py  \n> Create new file? n  \n",
        # Blocks of git's, marks that a model left open, JSON, counts of other things, tokens of the cache.
        "#### More.  \n\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> B\n\n<<<<<<< SEARCH\nx\n",
        '#### More.  \n\n{"type": "strange", "x": 1}\n',
        "#### More.  \n\n> Repo-map: using 4096 tokens, auto refresh  \n> Commit 4b039b4 Fine.  \n> Lint: 3 errors  \n",
        "#### More.  \n\nYes.\n\n> Tokens: 2.5k sent, 1.2k cache write, 3 cache hit, 90 received.  \n",
    ],
)
def test_what_models_and_users_may_write_or_leave_out_in_aider_is_no_drift(tmp_path: Path, words: str) -> None:
    assert told(tmp_path, ".aider.chat.history.md", "aider", AIDER + b"\n" + words.encode()) == []


@pytest.mark.parametrize(
    "before, after, what",
    [
        ("[Tool call]", "[Tool use]", "transcript.Tool_call is missing, Tool_use is new"),
        ("[Tool result]", "[Tool output]", "transcript.Tool_result is missing, Tool_output is new"),
        ("[Thinking]", "[Thinking aloud]", "transcript.Thinking is missing, Thinking_aloud is new"),
        ("assistant:", "model:", "transcript.assistant is missing, model is new"),
    ],
)
def test_a_changed_mark_in_a_transcript_of_cursor_is_told(tmp_path: Path, before: str, after: str, what: str) -> None:
    changed = CURSOR.replace(before.encode(), after.encode())
    assert what in told(tmp_path, TRANSCRIPT, "cursor", changed)


@pytest.mark.parametrize("words", ["", "[Note] It is done.\n", "\nsteps:\n[x] one\n[A link](a)\n"])
def test_what_models_may_write_in_a_transcript_of_cursor_is_no_drift(tmp_path: Path, words: str) -> None:
    assert told(tmp_path, TRANSCRIPT, "cursor", CURSOR + words.encode()) == []
    talk = b"user:\n<user_query>\nHow?\n</user_query>\n\nassistant:\nSo.\n" + words.encode()
    assert told(tmp_path, TRANSCRIPT, "cursor", talk) == []
