"""Files are recognised by their beginning where that tells, and by all formats where it does not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import LogError
from dragoman.logs import recognise
from dragoman.logs.base.format import sample_of
from dragoman.logs.base.openings import OPENINGS, format_by_opening
from dragoman.logs.base.reading import recognise_sample
from tests.logs.samples import SAMPLES

_ID = "01a1de10-d8a9-7571-983b-fff6c3a8a0c8"
_TIME = "2026-11-15T07:16:48.000Z"


def _lines(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in records)


def _claude(**more: Any) -> dict[str, Any]:
    head = {"parentUuid": None, "isSidechain": False, "userType": "external", "cwd": "/p", "sessionId": _ID}
    return {**head, **more, "uuid": _ID, "timestamp": _TIME}


_SAID = _claude(type="user", message={"role": "user", "content": "Say hello."})
_META = {"timestamp": _TIME, "type": "session_meta", "payload": {"id": _ID, "timestamp": _TIME, "cwd": "/p"}}
BEGUN: dict[str, tuple[str, bytes]] = {
    "Claude Code": ("claude_code", _lines(_SAID)),
    "Claude Code after notes": (
        "claude_code",
        _lines({"type": "summary", "summary": "S", "leafUuid": _ID}, _claude(type="progress", data={}), _SAID),
    ),
    "Codex": ("codex", _lines(_META)),
    "Codex, numbered": ("codex", _lines({"timestamp": _TIME, "ordinal": 0, **_META})),
    "Codex, printed": ("codex", _lines({"type": "thread.started", "thread_id": _ID}, {"type": "turn.started"})),
    "Copilot": (
        "copilot",
        _lines({"type": "session.start", "data": {"sessionId": _ID, "version": 1, "copilotVersion": "1.0.102"}}),
    ),
    "Gemini CLI": (
        "gemini_cli",
        _lines(
            {"sessionId": _ID, "projectHash": "9d", "startTime": _TIME, "lastUpdated": _TIME, "kind": "main"},
            {"id": "1", "timestamp": _TIME, "type": "user", "content": "Say hello."},
        ),
    ),
    "Qwen Code": (
        "qwen_code",
        _lines(
            {
                "uuid": _ID,
                "parentUuid": None,
                "sessionId": _ID,
                "timestamp": _TIME,
                "type": "user",
                "cwd": "/p",
                "message": {"role": "user", "parts": [{"text": "Say hello."}]},
            }
        ),
    ),
    "dragoman": ("dragoman", b'{"format":"dragoman","version":1}\n'),
}


@pytest.mark.parametrize("name", BEGUN)
def test_a_beginning_says_what_the_formats_say(name: str, tmp_path: Path) -> None:
    format, data = BEGUN[name]
    path = tmp_path / "session.jsonl"
    path.write_bytes(data)
    asked, confidence = recognise_sample(sample_of(path))
    assert format_by_opening(path) == (format, confidence) == (asked.name, confidence)
    assert recognise(path) == (asked, confidence)


def test_every_opening_is_tried_here() -> None:
    assert {format for format, _ in BEGUN.values()} == {format for format, _, _ in OPENINGS}


@pytest.mark.parametrize("format", SAMPLES)
def test_no_sample_of_a_format_begins_as_those_of_another(format: str, tmp_path: Path) -> None:
    for name, data in SAMPLES[format]:
        path = tmp_path / Path(name).name
        path.write_bytes(data)
        try:
            asked, confidence = recognise_sample(sample_of(path))
        except LogError:
            continue
        assert format_by_opening(path) in (None, (asked.name, confidence))


@pytest.mark.parametrize("name", [name for name, (format, _) in BEGUN.items() if format != "dragoman"])
def test_what_somebody_says_is_no_beginning(name: str, tmp_path: Path) -> None:
    """The lines of one client may stand in the words of another's user."""
    quoted = BEGUN[name][1].decode()
    path = tmp_path / "session.jsonl"
    for words in (quoted, f"\n{quoted}"):
        path.write_bytes(_lines({"type": "message", "text": words}))
        assert format_by_opening(path) is None
        path.write_bytes(_lines(_claude(type="user", message={"role": "user", "content": words})))
        assert format_by_opening(path) == ("claude_code", 0.95)


def test_what_cannot_be_read_has_no_beginning(tmp_path: Path) -> None:
    assert format_by_opening(tmp_path) is None
    assert format_by_opening(tmp_path / "missing.jsonl") is None
    (tmp_path / "empty.jsonl").touch()
    assert format_by_opening(tmp_path / "empty.jsonl") is None


def test_a_file_whose_beginning_tells_is_recognised_without_the_other_formats(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(BEGUN["Codex"][1])
    script = (
        "import sys; from dragoman.logs import recognise; assert recognise(sys.argv[1])[0].name == 'codex';"
        "print(*sorted(one for one in sys.modules if one.startswith('dragoman.logs.formats.') and 'parts' not in one))"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["dragoman.logs.formats.codex"]


def test_a_format_that_was_added_is_asked_about_every_file(tmp_path: Path) -> None:
    """A client made from Codex writes as Codex does: whoever adds its format knows better."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(BEGUN["Codex"][1])
    script = """
import sys
from dragoman.logs import FORMATS, LogFormat, recognise
class Acme(LogFormat):
    name = dialect = "acme"
    def recognise(self, sample): return 1.0
    def reader(self, path): raise NotImplementedError
FORMATS.register("acme", Acme(), "this test")
print(recognise(sys.argv[1])[0].name)
"""
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "acme"
