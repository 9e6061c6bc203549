"""Following logs: a growing file, a replaced one, one that appears later; new bytes only, and nothing twice."""

from __future__ import annotations

import datetime
import json
import os
import sys
from pathlib import Path

import pytest

from dragoman.logs import Found, numbered, read
from dragoman.logs.base.format import is_of_lines
from dragoman.logs.history import Watch, find_logs
from dragoman.model import UserSaid
from dragoman.registry import FORMATS
from tests.logs.samples import CLAUDE, SAMPLES


def _ids(watch: Watch) -> list[tuple[str, int | None, int | None]]:
    return [(event.id, event.turn, event.step) for event in watch.look()]


def _whole(path: Path, format: str) -> list[tuple[str, int | None, int | None]]:
    """What is known of a log while it may still grow: without what only its end tells."""
    reader = FORMATS[format].reader(path)
    events = reader.feed(path.read_bytes()) if is_of_lines(reader) else read(path, format)
    return [(event.id, event.turn, event.step) for event in numbered(events)]


@pytest.mark.parametrize("piece", [1, 7, 100, 5_000])
def test_a_growing_file_gives_the_events_of_the_whole_whatever_the_pieces(tmp_path: Path, piece: int) -> None:
    path = tmp_path / "s.jsonl"
    path.touch()
    watch = Watch(lambda: [Found(path, "claude_code")])
    told = []
    sizes = range(0, len(CLAUDE), piece) if piece > 1 else range(3_000)
    for start in sizes:
        with path.open("ab") as file:
            file.write(CLAUDE[start : start + piece])
        told += _ids(watch)
    if piece > 1:
        assert told == _whole(path, "claude_code")
        assert _ids(watch) == []
    else:
        assert told == _whole(path, "claude_code")[: len(told)]


@pytest.mark.parametrize("format", [name for name in SAMPLES if name in FORMATS])
def test_what_stands_there_already_is_not_told_and_a_log_that_appears_is(tmp_path: Path, format: str) -> None:
    name, data = SAMPLES[format][0]
    there, later = tmp_path / "there" / name, tmp_path / "later" / name
    there.parent.mkdir(parents=True, exist_ok=True)
    there.write_bytes(data)

    def find() -> list[Found]:
        return [Found(path, format) for path in (there, later) if path.exists()]

    watch = Watch(find)
    assert _ids(watch) == []
    later.parent.mkdir(parents=True, exist_ok=True)
    later.write_bytes(data)
    assert _ids(watch) == _whole(later, format)


def test_new_lines_of_an_old_log_are_told_with_the_calls_they_answer(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    lines = CLAUDE.splitlines(keepends=True)
    for cut in range(len(lines)):
        path.write_bytes(b"".join(lines[:cut]))
        before = len(_whole(path, "claude_code"))
        watch = Watch(lambda: [Found(path, "claude_code")])
        with path.open("ab") as file:
            file.writelines(lines[cut:])
        told = _ids(watch)
        assert told == _whole(path, "claude_code")[-len(told) :]
        assert len(told) <= len(_whole(path, "claude_code")) - before + 1


def test_a_file_that_was_replaced_or_shortened_begins_anew(tmp_path: Path) -> None:
    path, other = tmp_path / "s.jsonl", tmp_path / "new"
    path.write_bytes(CLAUDE)
    watch = Watch(lambda: [Found(path, "claude_code")], from_start=True)
    assert _ids(watch) == _whole(path, "claude_code")
    other.write_bytes(CLAUDE.replace(b"s-1", b"s-2"))
    os.replace(other, path)
    rotated = _ids(watch)
    assert rotated == _whole(path, "claude_code")
    path.write_bytes(CLAUDE.splitlines(keepends=True)[0])
    assert _ids(watch) == _whole(path, "claude_code")


def test_a_sub_agents_file_created_later_is_followed(tmp_path: Path) -> None:
    home = tmp_path / "projects" / "-p"
    home.mkdir(parents=True)
    (home / "s-1.jsonl").write_bytes(CLAUDE)
    watch = Watch(lambda: find_logs(str(tmp_path)))
    agent = home / "s-1" / "subagents" / "agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_bytes(CLAUDE.replace(b'"isSidechain": false', b'"isSidechain": true, "agentId": "a1"'))
    told = list(watch.look())
    assert "a1" in {event.stream for event in told}
    assert {event.source.file for event in told if event.source} == {str(agent)}


def test_a_document_that_is_written_anew_tells_what_was_added(tmp_path: Path) -> None:
    name, data = next(one for one in SAMPLES["gemini_cli"] if one[0].endswith(".json"))
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = json.loads(data)
    path.write_text(json.dumps({**whole, "messages": whole["messages"][:1]}))
    watch = Watch(lambda: [Found(path, "gemini_cli")], from_start=True)
    first = _ids(watch)
    path.write_bytes(data)
    told = [one for one in (*first, *_ids(watch)) if "@" not in one[0]]  # what stands elsewhere now is told anew
    assert sorted(told) == sorted(one for one in _whole(path, "gemini_cli") if "@" not in one[0])


def test_a_log_that_goes_away_does_not_end_the_following(tmp_path: Path) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    one.write_bytes(CLAUDE)
    other.touch()
    watch = Watch(lambda: [Found(one, "claude_code"), Found(other, "claude_code")])
    one.unlink()
    other.write_bytes(CLAUDE)
    assert _ids(watch) == _whole(other, "claude_code")


def test_nothing_is_opened_when_nothing_changed(tmp_path: Path) -> None:
    import subprocess
    import sys

    path = tmp_path / "s.jsonl"
    path.write_bytes(CLAUDE)
    program = """
import sys
from pathlib import Path
from dragoman.logs import Found
from dragoman.logs.history import Watch
path = Path(sys.argv[1])
watch = Watch(lambda: [Found(path, "claude_code")], from_start=True)
list(watch.look())
opened = []
sys.addaudithook(lambda name, facts: name == "open" and opened.append(str(facts[0])))
for _ in range(50):
    assert not list(watch.look())
print(len([name for name in opened if name == str(path)]))
"""
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


def test_a_folder_is_looked_through_without_opening_what_did_not_change(tmp_path: Path) -> None:
    path = tmp_path / "s-1.jsonl"
    path.write_bytes(CLAUDE)
    watch = Watch(lambda: find_logs(str(tmp_path)))
    opened: list[str] = []

    def noted(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and is_noting and str(arguments[0]).startswith(str(tmp_path)):
            opened.append(str(arguments[0]))

    is_noting = True
    sys.addaudithook(noted)
    assert _ids(watch) == []
    assert opened == []
    with path.open("ab") as file:
        file.write(CLAUDE.replace(b'"s-1"', b'"s-2"'))
    assert _ids(watch) != []
    assert opened != []
    is_noting = False


def test_a_file_that_is_written_anew_in_its_place_begins_anew_however_long_it_is(tmp_path: Path) -> None:
    path = tmp_path / "s-1.jsonl"
    path.write_bytes(CLAUDE)
    watch = Watch(lambda: [Found(path, "claude_code")], from_start=True)
    assert _ids(watch) == _whole(path, "claude_code")
    path.write_bytes(CLAUDE.replace(b'"s-1"', b'"s-22"') + CLAUDE.replace(b'"s-1"', b'"s-333"'))
    assert _ids(watch) == _whole(path, "claude_code")
    with path.open("ab") as file:
        file.write(CLAUDE.replace(b'"s-1"', b'"s-4444"'))
    assert {id.partition(":")[0] for id, _, _ in _ids(watch)} <= {"s-4444", "s-333", ""}


def test_of_a_file_with_several_sessions_only_those_meant_are_told(tmp_path: Path) -> None:
    path = tmp_path / "both.jsonl"
    path.write_bytes(CLAUDE)
    watch = Watch(lambda: [Found(path, "claude_code", sessions=frozenset({"s-2"}))], from_start=True)
    assert _ids(watch) == []
    with path.open("ab") as file:
        file.write(CLAUDE.replace(b'"s-1"', b'"s-2"'))
    assert {id.partition(":")[0] for id, _, _ in _ids(watch)} == {"s-2"}


def test_a_document_that_could_not_be_read_for_a_moment_is_told_when_it_is_back(tmp_path: Path) -> None:
    name, data = SAMPLES["continue"][0]
    path, aside = tmp_path / name, tmp_path / "aside"
    path.parent.mkdir(parents=True, exist_ok=True)
    found: list[Found] = []
    watch = Watch(lambda: found)
    path.write_bytes(data)
    found.append(Found(path, "continue"))
    path.rename(aside)
    path.mkdir()  # it is there, and cannot be read
    assert _ids(watch) == []
    path.rmdir()
    aside.rename(path)
    assert _ids(watch) == _whole(path, "continue")


@pytest.mark.parametrize("hours", [-5, 5])
def test_new_events_of_a_document_are_told_although_the_clock_was_set(
    tmp_path: Path, hours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = datetime.datetime
    ahead = datetime.timedelta()

    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
            return real.now(tz) + ahead

    monkeypatch.setattr("dragoman.logs.history.watch.datetime.datetime", Clock)
    path = tmp_path / "session-g-1.json"
    message = {"type": "user", "content": "before"}

    def write(*times: datetime.datetime) -> None:
        said = [{**message, "id": f"m{number}", "timestamp": time.isoformat()} for number, time in enumerate(times)]
        path.write_text(json.dumps({"sessionId": "g-1", "projectHash": "p", "messages": said}))

    first = Clock.now(datetime.UTC) - datetime.timedelta(days=1)
    write(first)
    watch = Watch(lambda: [Found(path, "gemini_cli")])
    ahead = datetime.timedelta(hours=hours)
    write(first, Clock.now(datetime.UTC) + datetime.timedelta(seconds=1))
    assert [event.text for event in watch.look() if isinstance(event, UserSaid)] == ["before"]


def test_what_is_written_is_told_as_the_system_notices_it(tmp_path: Path) -> None:
    """A file that grows, one in a folder that is new, and one that takes another's place, without a look at all."""
    home = tmp_path / "projects"
    (home / "p").mkdir(parents=True)
    first = home / "p" / "s-1.jsonl"
    lines = CLAUDE.splitlines(keepends=True)
    first.write_bytes(lines[0])

    def find() -> list[Found]:
        return [Found(path, "claude_code", home) for path in sorted(home.rglob("*.jsonl"))]

    events = Watch(find, from_start=True).events(every=0.0, files_every=0.0)
    told = [next(events).id]
    with first.open("ab") as file:
        file.writelines(lines[1:])
    expected = [event.id for event in numbered(FORMATS["claude_code"].reader(first).feed(CLAUDE))]
    told += [next(events).id for _ in expected[1:]]
    assert told == expected
    other = home / "q" / "deep" / "s-2.jsonl"
    other.parent.mkdir(parents=True)
    other.write_bytes(CLAUDE)
    assert [next(events).id for _ in expected] == expected
    replaced = tmp_path / "new"
    replaced.write_bytes(CLAUDE)
    replaced.rename(first)
    assert [next(events).id for _ in expected] == expected
    events.close()  # type: ignore[attr-defined]
