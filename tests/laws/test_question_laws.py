"""Each byte that would be written or executed, and each argument that changes the effect, is in the question."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from dragoman.cli.terminal.question import CONTINUED, Row, folded_rows, rows_of, shown_question
from dragoman.cli.terminal.visible import one_line, visible
from dragoman.engine import Question
from dragoman.errors import ToolError
from dragoman.model import Call, NativeCall, operations as op
from dragoman.model.effects import stated
from dragoman.model.json_text import json_text
from dragoman.tools import MemoryWorkspace, Workspace
from dragoman.tools.running import shown_change
from dragoman.tools.workspace import FileChange
from tests.examples import examples
from tests.strategies import values

NASTY = st.sampled_from(
    [
        "++ __import__('os').system('x')",
        "+++ b/notes.txt",
        "-- drop",
        "--- a/notes.txt",
        "@@ -1,2 +1,2 @@",
        "\\ No newline at end of file",
        "\\",
        " ",
        "",
        "> continued",
        "| piped",
        "? run ls",
        "Allow it? [y]es",
        "… 3 more rows: v shows them …",
        "\x1b[2J\x1b[31mred",
        "\x1b]0;title\x07",
        "over\rwritten",
        "\x08\x08\x08",
        "\x00",
        "\u202eltr",
        "zero\u200bwidth\u200d\ufeff",
        "\u2028\u2029\x85\x0b\x0c\x1c",
        "\U000e0041\u3164\ufe0f",
        "\u0301" * 9 + "rm\u0336" + "z\u0300\u0301" * 5 + "\u0321" * 40,
        "tab\there",
        "漢字" * 50,
        "long " * 400,
        "é",
    ]
)
LINES = NASTY | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TEXTS = st.builds(
    lambda lines, end, last: end.join(lines) + last,
    st.lists(LINES, max_size=50),
    st.sampled_from(["\n", "\n", "\r\n"]),
    st.sampled_from(["", "\n", "\r\n"]),
)
WIDTHS = st.sampled_from([20, 40, 80, 200])


def question_of(*operations: op.Operation, standard: bool = True) -> Question:
    call = Call("c1", operations, NativeCall("c1", "x", {}))
    return Question(call, ("tool",) * len(operations), "digest", standard=(standard,) * len(operations))


def lines_of(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """The lines behind the rows, as (mark, text): what a careful reader of the terminal can tell."""
    found: list[tuple[str, str]] = []
    for row, _ in rows:
        if row.startswith("? "):
            found.append(("?", row[2:]))
        elif row.startswith(f"{CONTINUED} "):
            assert found[-1][0] == "?"
            found[-1] = ("?", found[-1][1] + row[2:])
        elif row.startswith(f"  {CONTINUED}"):
            mark, text = found[-1]
            found[-1] = (mark, text + row[2 + max(1, len(mark)) :])
        else:
            assert row.startswith("  "), row
            mark = next((mark for mark in ("| ", "+", "-", " ", "\\") if row[2:].startswith(mark)), "")
            found.append((mark, row[2 + len(mark) :]))
    return found


def new_lines(old: list[str], shown: Sequence[tuple[str, str]]) -> list[str]:
    """A file after the hunks that a person was shown, and nothing else, are put into it."""
    new: list[str] = []
    position = 0
    for mark, text in shown:
        if mark == "" and text.startswith("@@ -"):
            first, _, count = text.split()[1].removeprefix("-").partition(",")
            start = int(first) - (count != "0")
            new += old[position:start]
            position = start
        elif mark in (" ", "-"):
            assert old[position] == text
            new += [text] if mark == " " else []
            position += 1
        elif mark == "+":
            new.append(text)
    return new + old[position:]


def seen(text: str, *, crlf: bool) -> list[str]:
    """The lines of a text as they can be seen."""
    lines = (text.replace("\r\n", "\n") if crlf else text).split("\n")
    return [visible(line) for line in (lines if lines[-1] else lines[:-1])]


def check_file(operation: op.Operation, workspace: Workspace, path: str, before: str, width: int) -> None:
    """The rows of the question, put into the file as it is, give the file as it will be."""
    shown = shown_question(question_of(operation), workspace)
    rows = rows_of(shown, width)
    lines = lines_of(rows)
    workspace.apply([operation])
    after = workspace.read(path).decode()
    notes = [text for mark, text in lines if not mark]
    crlf = "Lines end in CRLF." in notes
    assert new_lines(seen(before, crlf=crlf), lines) == seen(after, crlf=crlf)
    ends = [lines[number - 1] for number, (mark, _) in enumerate(lines) if mark == "\\"]
    last = [text for mark, text in ends if mark in ("+", " ")]
    if (
        after
        and not after.endswith("\n")
        and before != after
        and seen(after, crlf=crlf)[-1:] != seen(before, crlf=crlf)[-1:]
    ):
        assert last == seen(after, crlf=crlf)[-1:]
    few, hidden = folded_rows(shown, width)
    kept = [row for row in few if not FOLD.fullmatch(row[0])]
    assert (len(kept) + hidden, all(row in rows for row in kept)) == (len(rows), True)
    assert (hidden == 0) == (len(kept) == len(few))


FOLD = re.compile(r"  … [\d,]+ more rows: v shows them …")


@given(st.text(st.sampled_from("ab \n\t\u0300\u0301\u0321\u05b0\u0336\u20e0\u200b漢")), st.booleans())
def test_no_mark_is_drawn_on_our_own_text_over_a_letter_or_on_a_heap_of_others(text: str, single: bool) -> None:
    """Bytes could be hidden in a heap of marks, and a stroke makes a command look crossed out."""
    written_out: Counter[str] = Counter()
    shown = (one_line if single else visible)(text, written_out)
    assert re.search(r"(?:^|[ \n\t])[\u0300-\u036f\u05b0]|[\u0300-\u036f\u05b0]{5}|[\u0336\u20e0\u200b]", shown) is None
    assert re.sub(r"\\u[0-9a-f]{4}|\\n|\\t", lambda one: one[0].encode().decode("unicode_escape"), shown) == text
    assert sum(written_out.values()) == len(re.findall(r"\\[unt]", shown))


def test_letters_of_any_language_stay_as_they_are() -> None:
    text = "e\u0301 Vie\u0323\u0302t \u05e2\u05b4\u05d1\u05b0 \u0e17\u0e35\u0e48 漢字 🙂"
    assert visible(text) == text


@given(TEXTS | st.none(), TEXTS, WIDTHS)
def test_what_is_written_over_a_file_is_in_the_question_to_the_last_character(
    before: str | None, content: str, width: int
) -> None:
    workspace = MemoryWorkspace({} if before is None else {"a.txt": before})
    check_file(op.WriteFile("a.txt", content), workspace, "a.txt", before or "", width)


@given(st.lists(LINES, min_size=1, max_size=60), st.integers(0, 60), TEXTS.filter(bool), WIDTHS)
def test_what_is_inserted_or_edited_is_in_the_question(lines: list[str], place: int, text: str, width: int) -> None:
    before = "\n".join(lines) + "\n"
    if "\x00" in before:
        before = before.replace("\x00", "0")
    count = before.count("\n")
    workspace = MemoryWorkspace({"a.txt": before})
    check_file(op.InsertText("a.txt", min(place, count), text), workspace, "a.txt", before, width)
    unique = "needle in the middle"
    whole = f"{before}{unique}\n{before}"
    workspace = MemoryWorkspace({"a.txt": whole})
    check_file(op.EditFile("a.txt", (op.Edit(unique, text),)), workspace, "a.txt", whole, width)


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_the_hunks_of_a_change_give_the_very_bytes(before: bytes, after: bytes) -> None:
    """Also where a file is binary, or is not in the encoding it seems to be in."""
    from dragoman.tools.workspace.text import decode, encode
    from dragoman.tools.workspace.transaction_plan import changed

    shown = shown_change(FileChange(changed("a", before, after), before, after))
    added = [text for hunk in shown.hunks for mark, text in hunk.lines if mark != "-"]
    old, new = decode(before), decode(after)
    if new is None and not _is_utf8(after):
        assert bytes.fromhex("".join(text[10:] for mark, text in _marked(shown.hunks) if mark == "+")) == after
        assert any("binary content" in note for note in shown.notes)
    elif before != after and old is not None and new is not None and len(added) and old[1] == new[1]:
        crlf = "Lines end in CRLF." in shown.notes
        lines = new_lines(_raw(old[0], crlf), _flat(shown.hunks))
        text = "".join(lines)
        assert encode(text.replace("\n", "\r\n") if crlf else text, new[1]) == after
    elif before != after:
        assert shown.hunks or shown.notes


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _marked(hunks: Any) -> Iterator[tuple[str, str]]:
    return ((mark, text.rstrip("\n")) for hunk in hunks for mark, text in hunk.lines)


def _flat(hunks: Any) -> list[tuple[str, str]]:
    return [line for hunk in hunks for line in (("", hunk.head), *hunk.lines)]


def _raw(text: str, crlf: bool) -> list[str]:
    from dragoman.tools.workspace.diff import lines_of as split

    return split(text.replace("\r\n", "\n") if crlf else text)


# ── every argument of every operation ────────────────────────────────────────


@pytest.mark.parametrize("tag", sorted(op.OPERATIONS))
@examples(15)
@given(data=st.data())
def test_every_argument_that_is_not_the_default_is_in_the_question(tag: str, data: st.DataObject) -> None:
    operation = data.draw(values(op.OPERATIONS[tag]))
    check_arguments(operation, data.draw(WIDTHS))


@given(LINES, st.lists(LINES, min_size=1, max_size=60), st.booleans(), WIDTHS)
def test_a_command_is_in_the_question_to_the_last_character(
    shell: str, lines: list[str], background: bool, width: int
) -> None:
    check_arguments(op.RunCommand("\n".join(lines), shell=shell, background=background), width)


ARGUMENTS = st.dictionaries(LINES, LINES | st.integers() | st.booleans() | st.lists(LINES, max_size=3), max_size=4)


@given(ARGUMENTS, WIDTHS)
def test_every_argument_of_a_function_or_a_servers_tool_is_in_the_question(
    arguments: dict[str, Any], width: int
) -> None:
    check_arguments(op.CallFunction("deploy", arguments), width)
    check_arguments(op.CallMcpTool("prod", "deploy", arguments), width)


def check_arguments(operation: op.Operation, width: int) -> None:
    shown = shown_question(question_of(operation, standard=False), MemoryWorkspace())
    lines = lines_of(rows_of(shown, width))
    head = lines[0][1]
    for name, value in stated(operation):
        if name == "arguments" and isinstance(value, dict):
            for key, inner in value.items():
                assert _is_shown(key, inner, head, lines), (key, inner, lines)
        else:
            assert _is_shown(name, value, head, lines), (name, value, lines)


def _is_shown(name: str, value: Any, head: str, lines: list[tuple[str, str]]) -> bool:
    import json

    import msgspec

    plain = msgspec.to_builtins(value)
    short = json.dumps(plain, ensure_ascii=False)
    text = (
        value
        if isinstance(value, str)
        else short
        if len(short) <= 120
        else json.dumps(plain, ensure_ascii=False, indent=2)
    )
    labels = {one_line(name), one_line(json.dumps(name, ensure_ascii=False)), f"{name}, in the model's words"}
    for number, label in ((number, label) for label in labels for number in range(len(lines))):
        mark, line = lines[number]
        if mark or not line.startswith(label):
            continue
        rest = line[len(label) :]
        quoted = one_line(json.dumps(text, ensure_ascii=False))  # how a text that could pass for a number is shown
        if rest in (f": {one_line(text)}", f": {quoted}"):
            return True
        if rest.startswith(" (") and rest.endswith("):"):
            block = [visible(piece) for piece in text.split("\n")]
            block = block if text.split("\n")[-1] or len(block) == 1 else block[:-1]
            after = number + 1 + len(block)
            ended = lines[after : after + 1] == [("\\", " The text ends with a line break")]
            if [line for mark, line in lines[number + 1 : after] if mark == "| "] == block:
                return ended == text.endswith("\n")
    # The few fields that a head has whole stand in it, word for word.
    return not isinstance(value, str) or one_line(value) in head


def test_what_would_fail_is_said_and_shown_all_the_same() -> None:
    operation = op.EditFile("gone.txt", (op.Edit("a", "b\nc"),))
    workspace = MemoryWorkspace()
    lines = lines_of(rows_of(shown_question(question_of(operation), workspace), 80))
    with pytest.raises(ToolError) as error:
        workspace.apply([operation])
    assert ("", f"This would fail now: {error.value.message}") in lines
    assert ("", 'edits: [{"old": "a", "new": "b\\nc"}]') in lines


PLAIN = st.sampled_from(["true", "12", "null", "[1]", '"x"', "", " ", True, 12, None, "1\n2"]) | st.text(max_size=9)


@given(st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner)), WIDTHS)
def test_values_that_differ_look_different(value: Any, width: int) -> None:
    """A text and another value that would be written like it: the program that gets them may do different things."""

    def shown(one: Any) -> list[Row]:
        question = question_of(op.CallFunction("f", {"a": one}), standard=False)
        return rows_of(shown_question(question, MemoryWorkspace({})), width)

    written = json_text(value)
    if not isinstance(value, str):
        assert shown(value) != shown(written)
        assert shown(value) != shown(json.dumps(value, indent=2, ensure_ascii=False))
    else:
        assert shown(value) != shown([value])
