"""What a session did to each file: one diff, exact or none, held to a fold of its own."""

from __future__ import annotations

import datetime
import random
import re
from difflib import unified_diff

import pytest

from dragoman.logs.export import stories_of
from dragoman.model import (
    AnyEvent,
    Call,
    NativeCall,
    NativeResult,
    Result,
    SessionStarted,
    ToolCalled,
    ToolReturned,
    operations as op,
    outcomes as out,
)

START = datetime.datetime(2026, 1, 5, 12, tzinfo=datetime.UTC)
WORDS = ("one", "two", "two", "three", "", "    four", "five")


def done(
    id: str, operation: op.Operation, outcome: out.Outcome, stream: str = "main", seconds: float = 0.0
) -> list[AnyEvent]:
    """A call and its result."""
    time = START + datetime.timedelta(seconds=seconds)
    call = Call(id=id, operations=(operation,), native=NativeCall(id, "Tool", {}))
    result = Result(call_id=id, outcomes=(outcome,), native=NativeResult(id, ""))
    where = {"session": "s", "stream": stream, "time": time}
    return [
        ToolCalled(id=f"called {id}", call=call, **where),
        ToolReturned(id=f"returned {id}", result=result, **where),
    ]


def changed(path: str, before: str, after: str, kind: out.ChangeKind = "modified") -> out.Change:
    """A change as a client shows it."""
    lines = unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{path}", f"b/{path}")
    diff = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return out.Change(path, kind, diff=diff)


def patched(text: str, diff: str) -> str:
    """A text after a diff: the plainest way to apply one."""
    old, new, at, taken = text.splitlines(keepends=True), list[str](), 0, ""
    for line in diff.splitlines(keepends=True):
        if line.startswith(("--- ", "+++ ")) and not new and at == 0:
            continue
        if head := re.match(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@", line):
            first = int(head[1]) - (head[2] != "0")
            new += old[at:first]
            at = first
        elif line.startswith("\\"):
            new[-1:] = [new[-1].removesuffix("\n")] if taken != "-" else new[-1:]
        else:
            taken = line[0]
            if taken in " -":
                assert old[at].removesuffix("\n") == line[1:].removesuffix("\n")
                at += 1
            if taken in " +":
                new.append(line[1:])
    return "".join([*new, *old[at:]])


def edit_of(chance: random.Random, text: str) -> tuple[op.Operation, str]:
    """A change of a text that may be anywhere in it, and the text after it."""
    lines = text.splitlines(keepends=True)
    first = chance.randrange(len(lines) + 1)
    last = min(len(lines), first + chance.randrange(4))
    new = "".join(f"{chance.choice(WORDS)}\n" for _ in range(chance.randrange(4)))
    after = "".join([*lines[:first], new, *lines[last:]])
    old = "".join(lines[first:last])
    if not old or chance.random() < 0.2:
        return op.WriteFile("f", after), after
    if text.count(old) == 1:
        return op.EditFile("f", (op.Edit(old, new),)), after
    return op.EditFile("f", (op.Edit(old, new, everywhere=True),)), text.replace(old, new)


@pytest.mark.parametrize("knows", ["results", "texts", "both"])
@pytest.mark.parametrize("seed", range(40))
def test_the_diff_of_a_file_leads_from_its_first_text_to_its_last(seed: int, knows: str) -> None:
    chance = random.Random(seed)
    text = first = "".join(f"line {number % 9}\n" for number in range(chance.randrange(1, 40)))
    events: list[AnyEvent] = []
    if knows != "results":
        seen = out.FileOutcome("f", text, total_lines=text.count("\n"))
        events += done("read", op.ReadFile("f"), seen)
    for number in range(chance.randrange(1, 9)):
        operation, after = edit_of(chance, text)
        change = changed("f", text, after) if knows != "texts" else out.Change("f", "modified")
        if text != after:
            events += done(str(number), operation, out.ChangesOutcome((change,)))
        text = after
    stories = stories_of(events)
    if not stories:
        return
    (story,) = stories
    assert story.whole is not None
    assert patched(first, story.whole) == text
    marks = [line[:1] for line in story.whole.splitlines()[2:]]
    assert (story.added, story.removed) == (marks.count("+"), marks.count("-"))
    if first == text:
        assert story.whole == ""


def test_what_was_put_back_is_no_change_and_lines_go_before_what_takes_their_place() -> None:
    texts = ["a\nb\nc\n", "a\nB\nc\n", "a\nb\nc\n"]
    steps = [op.EditFile("f", (op.Edit("b", "B"),)), op.EditFile("f", (op.Edit("B", "b"),))]
    events = [
        event
        for number, step in enumerate(steps)
        for event in done(str(number), step, out.ChangesOutcome((changed("f", texts[number], texts[number + 1]),)))
    ]
    (story,) = stories_of(events)
    assert (story.whole, story.added, story.removed, len(story.steps)) == ("", 0, 0, 2)
    (story,) = stories_of(events[:2])
    assert story.whole == "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"


def test_a_line_that_only_loses_its_end_is_changed() -> None:
    change = changed("f", "a\nb\n", "a\nb")
    (story,) = stories_of(done("1", op.EditFile("f", (op.Edit("b\n", "b"),)), out.ChangesOutcome((change,))))
    assert story.whole == "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n"
    assert patched("a\nb\n", story.whole) == "a\nb"


def test_agents_that_work_on_one_file_are_put_in_the_order_of_time() -> None:
    """Their logs are read one after the other."""
    texts = ["1\n", "1\n2\n", "1\n2\n3\n", "1\n2\n3\n4\n"]
    made = [
        done(str(number), op.WriteFile("f", texts[number + 1]), out.ChangesOutcome((change,)), stream, float(number))
        for number, stream in enumerate(("main", "agent", "main"))
        for change in [changed("f", texts[number], texts[number + 1])]
    ]
    (story,) = stories_of([*made[1], *made[0], *made[2]])
    assert story.whole == "--- a/f\n+++ b/f\n@@ -1,1 +1,4 @@\n 1\n+2\n+3\n+4\n"
    assert [step.event for step in story.steps] == ["called 0", "called 1", "called 2"]


def test_calls_of_two_agents_with_one_id_are_two_calls() -> None:
    events = [
        *done("1", op.WriteFile("a", "x\n"), out.ChangesOutcome((out.Change("a", "created"),))),
        *done("1", op.WriteFile("b", "x\n"), out.ChangesOutcome((out.Change("b", "created"),)), "agent"),
    ]
    assert [story.path for story in stories_of([events[0], events[2], events[1], events[3]])] == ["a", "b"]


def test_a_file_has_one_diff_by_whatever_path_it_is_called() -> None:
    started = SessionStarted(id="0", session="s", cwd="/home/ada/shop")
    texts = ["1\n", "2\n", "3\n", "4\n"]
    paths = ["src/f", "/home/ada/shop/src/f", "./src/../src/f"]
    events: list[AnyEvent] = [started]
    for number, path in enumerate(paths):
        change = changed(path, texts[number], texts[number + 1])
        events += done(str(number), op.WriteFile(path, texts[number + 1]), out.ChangesOutcome((change,)))
    (story,) = stories_of(events)
    assert (story.path, story.whole) == ("src/f", "--- a/src/f\n+++ b/src/f\n@@ -1,1 +1,1 @@\n-1\n+4\n")


def test_a_file_that_was_moved_stays_one_file() -> None:
    moved = out.Change("old", "modified", moved_to="new", diff=changed("old", "1\n", "2\n").diff)
    events = [
        *done("1", op.EditFile("old", (op.Edit("1", "2"),)), out.ChangesOutcome((moved,))),
        *done("2", op.EditFile("new", (op.Edit("2", "3"),)), out.ChangesOutcome((changed("new", "2\n", "3\n"),))),
        *done("3", op.WriteFile("old", "x\n"), out.ChangesOutcome((out.Change("old", "created"),))),
    ]
    moved_file, later = stories_of(events)
    assert (moved_file.was, moved_file.path, moved_file.kind) == ("old", "new", "moved")
    assert moved_file.whole == "--- a/old\n+++ b/new\n@@ -1,1 +1,1 @@\n-1\n+3\n"
    assert (later.path, later.kind, later.added, later.was) == ("old", "created", 1, None)


def test_a_text_that_a_command_changed_in_between_is_not_taken_for_the_one_before() -> None:
    before, between, after = "a\nb\n", "a\nx\nb\n", "a\nx\nB\n"
    events = [
        *done("1", op.ReadFile("f"), out.FileOutcome("f", before, total_lines=2)),
        *done("2", op.EditFile("f", (op.Edit("b", "B"),)), out.ChangesOutcome((changed("f", between, after),))),
    ]
    (story,) = stories_of(events)
    assert story.whole is not None
    assert patched(between, story.whole) == after


def test_a_diff_that_shows_tabs_as_spaces_does_not_spoil_what_is_known() -> None:
    """Claude Code 2.1 writes so in `structuredPatch`."""
    before, after = "func f() {\n\treturn\n}\n", "func f() {\n\tpanic(1)\n}\n"
    shown = changed("f", before.expandtabs(2), after.expandtabs(2))
    events = [
        *done("1", op.ReadFile("f"), out.FileOutcome("f", before, total_lines=3)),
        *done("2", op.EditFile("f", (op.Edit("return", "panic(1)"),)), out.ChangesOutcome((shown,))),
    ]
    (story,) = stories_of(events)
    assert story.whole is not None
    assert patched(before, story.whole) == after


def test_lines_that_nobody_counted_are_not_known_to_be_none() -> None:
    over = out.ChangesOutcome((out.Change("f", "modified"),))
    (story,) = stories_of(done("1", op.WriteFile("f", "1\n2\n"), over))
    assert (story.whole, story.added, story.removed) == (None, None, None)
    assert story.steps[0].diff == "+1\n+2"  # over a text that is not known: this is all that was written
    counted = out.ChangesOutcome((out.Change("f", "modified", added=2, removed=5),))
    (story,) = stories_of(done("1", op.WriteFile("f", "1\n2\n"), counted))
    assert (story.added, story.removed) == (2, 5)
    (story,) = stories_of(done("1", op.EditFile("f", (op.Edit("x", "y", everywhere=True),)), over))
    assert (story.added, story.removed) == (None, None)
