"""How edits find their place: each vocabulary as its client does, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from dragoman.dialects import DIALECTS, Dialect
from dragoman.errors import ToolError
from dragoman.model.calls import NativeCall
from dragoman.model.edit_rules import EXACT
from dragoman.tools.workspace.disk import DiskWorkspace
from dragoman.tools.workspace.memory import MemoryWorkspace

ARGUMENTS = {
    "claude_code": ("Edit", {"file_path": "f", "old_string": "{old}", "new_string": "{new}"}, "replace_all"),
    "gemini_cli": (
        "replace",
        {"file_path": "f", "instruction": "", "old_string": "{old}", "new_string": "{new}"},
        "allow_multiple",
    ),
    "qwen_code": ("edit", {"file_path": "f", "old_string": "{old}", "new_string": "{new}"}, "replace_all"),
    "opencode": ("edit", {"filePath": "f", "oldString": "{old}", "newString": "{new}"}, "replaceAll"),
    "copilot": ("edit", {"path": "f", "old_str": "{old}", "new_str": "{new}"}, None),
    "cline": ("editor", {"path": "f", "old_text": "{old}", "new_text": "{new}"}, None),
    "pi": ("edit", {"path": "f", "edits": [{"oldText": "{old}", "newText": "{new}"}]}, None),
    "continue": (
        "MultiEdit",
        {"file_path": "f", "edits": [{"old_string": "{old}", "new_string": "{new}", "replace_all": "{all}"}]},
        None,
    ),
    "droid": ("Edit", {"file_path": "f", "old_str": "{old}", "new_str": "{new}"}, "change_all"),
}
"""How each vocabulary says an edit; the name of the flag that replaces all, where it stands beside the texts."""

COMPARED = tuple(name for name in ARGUMENTS if name != "droid")
"""The eight that all cases were run in; droid's are a table of their own."""

REFUSED = None


def _filled(arguments: object, values: Mapping[str, object]) -> object:
    match arguments:
        case dict():
            return {name: _filled(value, values) for name, value in arguments.items()}
        case list():
            return [_filled(value, values) for value in arguments]
    return values.get(str(arguments), arguments)


def edit_call(dialect: str, path: str, old: str, new: str, *, everywhere: bool = False) -> NativeCall:
    """An edit, as this vocabulary says it."""
    name, arguments, flag = ARGUMENTS[dialect]
    filled = _filled(arguments, {"f": path, "{old}": old, "{new}": new, "{all}": everywhere})
    assert isinstance(filled, dict)
    return NativeCall("1", name, filled | ({flag: True} if everywhere and flag else {}))


def edited(dialect: Dialect, file: str | None, old: str, new: str, *, everywhere: bool = False) -> str | None:
    """The file after an edit in this vocabulary, or `None` when it is refused."""
    native = edit_call(dialect.name, "f", old, new, everywhere=everywhere)
    workspace = MemoryWorkspace({} if file is None else {"f": file.encode()})
    if file is not None:
        workspace.read("f")
    call = dialect.read_call(native)
    assert call.failure is None, call.failure
    try:
        workspace.apply(call.operations, rules=dialect.edit_rules(native))
    except ToolError:
        return REFUSED
    return workspace.read("f").decode()


# What is asked, and what becomes of the file in each vocabulary; those not named refuse.
SAME = "claude_code gemini_cli qwen_code opencode copilot cline pi continue"
CASES: dict[str, tuple[str | None, str, str, dict[str, str]]] = {
    "a text in one place": ("port = 80\nhost = a\n", "80", "81", {SAME: "port = 81\nhost = a\n"}),
    "a text in two places": ("on\non\n", "on", "off", {"opencode": REFUSED}),
    "indentation left out": (
        "class A:\n\tdef go(self):\n\t\treturn 1\n",
        "def go(self):\n\treturn 1",
        "def go(self):\n\treturn 2",
        {
            "gemini_cli copilot continue": "class A:\n\tdef go(self):\n\t\treturn 2\n",
            "opencode": "class A:\ndef go(self):\n\treturn 2\n",
        },
    ),
    "blanks at the ends of lines": (
        "one \ntwo\n",
        "one\ntwo",
        "1\n2",
        {"gemini_cli qwen_code opencode copilot pi continue": "1\n2\n"},
    ),
    "curly quotes in the file": (
        "name = “x”\n",
        'name = "x"',
        'name = "y"',
        {"claude_code": "name = “y”\n", "qwen_code copilot pi": 'name = "y"\n'},
    ),
    "a dash": ("a – b\n", "a - b", "a - c", {"qwen_code copilot pi": "a - c\n"}),
    "another case": ("Total\n", "total", "sum", {"copilot continue": "sum\n"}),
    "spaces inside a line": (
        "call( x,y )\n",
        "call(x, y)",
        "call(x)",
        {"gemini_cli copilot continue": "call(x)\n"},
    ),
    "two letters off in a long line": (
        "result = compute_the_average(values, weights)\n",
        "result = compute_teh_average(values, weights)",
        "result = 0",
        {"gemini_cli": "result = 0\n"},
    ),
    "a block known by its ends": (
        "def f():\n    first step\n    second step\n    return\nmore\n",
        "def f():\n    first stpe\n    second setp\n    return",
        "pass",
        {"opencode": "pass\nmore\n", "gemini_cli": "pass\nmore\n"},
    ),
    "escaped line breaks": ("a\nb\n", "a\\nb", "c", {"opencode": "c\n"}),
    "CRLF in the file": (
        "a\r\nb\r\n",
        "a\nb",
        "c\nd",
        {
            "claude_code gemini_cli qwen_code opencode copilot cline pi": "c\r\nd\r\n",
            "continue": "c\nd\r\n",
        },
    ),
    "both line ends in the file": (
        "a\r\nb\nc\n",
        "c",
        "d",
        {
            "claude_code": "a\nb\nd\n",
            "gemini_cli qwen_code pi": "a\r\nb\r\nd\r\n",
            "opencode copilot cline continue": "a\r\nb\nd\n",
        },
    ),
    "a deleted line": (
        "a\nb\nc\n",
        "b",
        "",
        {"claude_code qwen_code copilot": "a\nc\n", "gemini_cli opencode cline pi continue": "a\n\nc\n"},
    ),
    "an end that the last line lacks": (
        "a\nb",
        "b",
        "c\n",
        {"gemini_cli": "a\nc", "claude_code qwen_code opencode copilot cline pi continue": "a\nc\n"},
    ),
    "blanks at the ends of new lines": (
        "a\n",
        "a",
        "b  ",
        {"claude_code": "b\n", "gemini_cli qwen_code opencode copilot cline pi continue": "b  \n"},
    ),
    "words for left out code": (
        "a\nb\n",
        "a",
        "// rest of code ...",
        {"claude_code qwen_code opencode copilot cline pi continue": "// rest of code ...\nb\n"},
    ),
    "nothing in a file with text": ("a\n", "", "b", {"continue": "ba\n"}),
    "nothing in an empty file": ("", "", "b", {"claude_code copilot continue": "b"}),
    "a file that is not there": (None, "a", "b", {"cline": "b"}),
    "two places that overlap": (
        "aaa\n",
        "aa",
        "b",
        {"claude_code gemini_cli qwen_code copilot cline pi continue": "ba\n"},
    ),
    "an escape for a character that is there": (
        "caf\u00e9 x\n",
        "caf\\u00e9",
        "th\\u00e9",
        {"claude_code": "th\u00e9 x\n"},
    ),
    "a character that the file escapes": (
        "caf\\u00E9 x\n",
        "caf\u00e9",
        "th\u00e9",
        {"claude_code": "th\\u00E9 x\n"},
    ),
    "a line end after the new text": (
        "a\n  b\nc\n",
        "b ",
        "d\n",
        {
            "gemini_cli": "a\n  d\nc\n",
            "copilot": "a\n  d\n\nc\n",
            "pi": "a\n  d\n\nc\n",
            "continue": "a\n  d\n\nc\n",
            "opencode": "a\nd\n\nc\n",
        },
    ),
    "a letter too many and a line end": (
        "a long line\nb\n",
        "a long lines\n",
        "c\n",
        {"gemini_cli": "c\n\nb\n"},
    ),
    "all of a file": (
        "a\n",
        "a\n",
        "",
        {"claude_code qwen_code opencode copilot cline pi continue": "", "gemini_cli": "\n"},
    ),
    "blanks at the end of both texts": ("a  b\n", "a  ", "a  ", {"claude_code": "ab\n", "cline": "a  b\n"}),
    "curly quotes on another line": (
        "“a”\nb\n",
        "b ",
        "c",
        {"gemini_cli qwen_code opencode copilot pi continue": "“a”\nc\n"},
    ),
    "the place that is indented more": (
        "x = 1\n    x = 1\n",
        "x = 1",
        "x = 2",
        {"opencode": "x = 1\nx = 2\n"},
    ),
}


@pytest.mark.parametrize("name", COMPARED)
@pytest.mark.parametrize("case", CASES)
def test_an_edit_finds_its_place_as_in_the_client(case: str, name: str) -> None:
    file, old, new, expected = CASES[case]
    wanted = next((text for names, text in expected.items() if name in names.split()), REFUSED)
    assert edited(DIALECTS[name], file, old, new) == wanted


DROID: dict[str, tuple[str, str, str, bool, str | None]] = {
    "a text in one place": ("a\nb\n", "a", "A", False, "A\nb\n"),
    "a text for itself": ("a\n", "a", "a", False, "a\n"),
    "a text in two places": ("aaaa\n", "aa", "b", False, REFUSED),
    "a text that overlaps itself": ("aaa\n", "aa", "b", False, "ba\n"),
    "all places": ("aaaa\n", "aa", "b", True, "bb\n"),
    "blanks at the end of a line": ("a  \nb\n", "a\nb", "c", False, REFUSED),
    "curly quotes": ("“q”\n", '"q"', "z", False, REFUSED),
    "a line end more than the file's last line has": ("a\nb", "b", "B\n", False, "a\nB"),
    "two line ends more": ("a\nb", "b", "B\n\n", False, "a\nB\n"),
    "the last line end left out": ("a\nb\n\n", "b\n\n", "B", False, "a\nB\n"),
    "all of the file": ("a\n", "a\n", "", False, "\n"),
    "the last line": ("a\nb", "\nb", "", False, "a"),
    "a byte order mark": ("\ufeffa\nb\n", "a", "A", False, "\ufeffA\nb\n"),
    "a byte order mark that is asked for": ("\ufeffa\nb\n", "\ufeffa", "A", False, REFUSED),
    "CR alone": ("a\rb\rc", "a\nb", "B", False, "B\rc"),
    "CR in fewer lines than LF": ("a\rb\nc\n", "b", "B", False, "a\nB\nc\n"),
    "CR in fewer lines than CRLF": ("a\rb\r\nc\r\n", "b", "B", False, "a\r\nB\r\nc\r\n"),
    "CR in as many lines as CRLF": ("a\r\nb\r", "a", "A", False, "A\r\nb\r\n"),
    "each line end once": ("a\rb\nc\r\nd", "a", "A", False, "A\nb\nc\nd"),
    "CR in the new text": ("a\r\nb\r\n", "b", "B\rC", False, "a\r\nB\r\nC\r\n"),
    "CRLF in the old text": ("a\nb\nc\n", "a\r\nb", "A\r\nB", False, "A\nB\nc\n"),
    "CRLF in as many lines as LF": ("a\r\nb\n", "b", "B\nC", False, "a\nB\nC\n"),
    "CRLF in more lines than LF": ("a\r\nb\r\nc\n", "b", "B\nC", False, "a\r\nB\r\nC\r\nc\r\n"),
    "an empty file": ("", "", "x\n", False, "x"),
}
"""What droid 0.215.0 leaves: the file, the old and the new text, and whether all places are meant."""


@pytest.mark.parametrize("case", DROID)
def test_an_edit_ends_as_in_droid(case: str) -> None:
    file, old, new, everywhere, wanted = DROID[case]
    assert edited(DIALECTS["droid"], file, old, new, everywhere=everywhere) == wanted


CLAUDE = {
    "deleted at the end of a line, and elsewhere": ("a b\na \nxa\n", "a", "", True, "a b\na \nx"),
    "deleted as a line, and elsewhere": ("b c\nb\nb\n", "b", "", True, "b c\n"),
    "deleted where no line ends": ("b c\nb d\n", "b", "", True, " c\n d\n"),
    "deleted where it overlaps itself": ("aa\naaa\n", "aa", "", True, "a"),
    "deleted once, where it overlaps itself": ("aaa\n", "aa", "", False, "a"),
    "a new text that is blanks alone": ("x = 1  \nret\n", " ", "  ", True, "x = 1 ret\n"),
    "deleted in CRLF": ("a\r\nb a\r\n", "a", "", True, "b "),
    "quotes of both kinds, deleted": ("“b” c\n“b”\n", '"b"', "", True, "“b” c\n"),
    "quotes of both kinds": ('“b” x\n"b" x\n', "”b”", "N", False, 'N x\n"b" x\n'),
    "quotes of both kinds, everywhere": ('“b” x\n"b" x\n', "”b”", "N", True, 'N x\n"b" x\n'),
    "apostrophes of two kinds": ("it’s it‘s\n", "it's", "i's", True, "i’s it‘s\n"),
    "quotes that close before": ("‘a” x ’a“\n", "'a\"", "'c\"", True, "‘c” x ’a“\n"),
    "escapes in capitals and small": ("\\u00e9 \\u00E9\n", "é", "x", True, "x \\u00E9\n"),
}
"""What Claude Code 2.1.325 leaves of texts that the file has in several places or spellings."""


@pytest.mark.parametrize("case", CLAUDE)
def test_what_counts_as_a_place_is_what_counts_in_claude_code(case: str) -> None:
    file, old, new, everywhere, wanted = CLAUDE[case]
    assert edited(DIALECTS["claude_code"], file, old, new, everywhere=everywhere) == wanted


@pytest.mark.parametrize("file, said", [("a\rb\nc\n", True), ("a\rc\r", False), ("a\nc\r\n", True)])
def test_a_file_is_called_current_unless_it_ends_with_a_lone_cr(file: str, said: bool) -> None:
    words = DIALECTS["claude_code"]
    native = edit_call("claude_code", "/f", "c", "x", everywhere=False)
    workspace = MemoryWorkspace({"f": file.encode()})
    workspace.read("f")
    call = words.read_call(native)
    outcome = workspace.apply(call.operations, rules=words.edit_rules(native))
    assert ("file state is current" in str(words.write_result(call, [outcome]).content)) is said


COPILOT = {
    "a part of a line in another case": ("abc DEF ghi\n", "def", "x", "abc x ghi\n"),
    "a part of a line with other white space": ("abc  def ghi\n", "abc def", "x", REFUSED),
    "parts of two lines": ("abc\n  def\nghi\n", "BC\nDE", "x\ny", "a  x\n  yf\nghi\n"),
    "a part at the end of a line before others": ("DEF y DEF\n", "def", "x", "DEF y x\n"),
    "a part at the beginning of an indented line": ("\tabc def  \n", "ABC", "x", "\tx def\n"),
    "the closest of two lines": ("d e f\nDEF\n", "def", "x", "d e f\nx\n"),
    "lines that stay": ("A\nB\n", "a\nb", "a\nx", "A\nx\n"),
    "lines that stay beside blank lines": ("A\n\nB\n", "a\nb", "x\nb", "x\nB\n"),
    "fewer lines than before": ("A\nB\n", "a\nb", "a", "a\n"),
    "one indentation that stands for two": ("  a\n    b\n", "a\nb", "x\ny", "    x\n    y\n"),
    "one indentation that stands for two, and a line that stays": ("  a\n    b\n", "a\nb", "x\nb", "  x\n    b\n"),
    "two indentations": ("\tif:\n\t\ta\n", "if:\n  a", "elif:\n b\n   c", "\telif:\n\t b\n\t\t c\n"),
    "an indentation that the old text does not have": ("  a\n", "    a", "    b\nc", "  b\nc\n"),
    "blank lines around both texts": ("a\nB\nc\n", "\nb", "\nx\n", "a\nx\nc\n"),
    "blank lines around the new text": ("a\nB\nc\n", "b", "\nx\n", "a\n\nx\n\nc\n"),
    "a semicolon": ("a;\n", "A", "x\n", "x\n"),
    "a blank file": ("\n", "", "x", REFUSED),
    "a deleted part of a line": ("ab\nc\n", "b", "", "a\nc\n"),
    "a deleted part of a line in another case": ("aB  \nc\n", "b", "", "a\nc\n"),
    "line ends as most of the first five": (
        "a\r\nb\r\nc\r\nd\ne\nf\ng\n",
        "f",
        "x\ny",
        "a\r\nb\r\nc\r\nd\ne\nx\r\ny\ng\n",
    ),
    "a line end that the file has otherwise": ("x = 1\r\n", "= 1\n", "= 2\n", REFUSED),
    "the end of a line of which something stays": ("aBc\nd\n", "b\n", "x", REFUSED),
    "the end of a line that both texts have": ("a\n\nB\nc\n", "a\nb\n", "x\n", REFUSED),
    "a line more beside blank lines": ("A\n\nB\n", "a\nb", "a\nb\nx", REFUSED),
    "fewer blank lines before the new text": ("a\nB\nc\n", "\n\nb", "\nx", REFUSED),
}
"""Edits as Copilot CLI 1.0.102 did them. The last six are refused here: the client joins lines or loses text."""


@pytest.mark.parametrize("case", COPILOT)
def test_copilot_finds_lines_loosely_and_keeps_those_of_the_file(case: str) -> None:
    file, old, new, expected = COPILOT[case]
    assert edited(DIALECTS["copilot"], file, old, new) == expected


def test_an_earlier_version_finds_its_place_as_it_did() -> None:
    older, newer = DIALECTS["copilot"].at("1.0.30"), DIALECTS["copilot"].at("1.0.102")
    assert edited(older, "call( x )\n", "call(x)", "go()") is REFUSED
    assert edited(newer, "call( x )\n", "call(x)", "go()") == "go()\n"


def test_pi_once_wrote_the_whole_file_as_it_was_compared() -> None:
    assert edited(DIALECTS["pi"].at("0.74.2"), "“a”\nb\n", "b ", "c") == '"a"\nc\n'
    assert edited(DIALECTS["pi"].at("0.87.1"), "“a” “b”\n“c”\n", 'a"', 'd"') == '"d" "b"\n“c”\n'


def test_two_edits_of_one_line_write_it_once() -> None:
    native = NativeCall(
        "1",
        "edit",
        {
            "path": "f",
            "edits": [
                {"oldText": 'a"', "newText": "1"},
                {"oldText": 'b"', "newText": "2"},
                {"oldText": "d", "newText": "3"},
            ],
        },
    )
    workspace = MemoryWorkspace({"f": "“a” “b”\n“c”\n“d”\n".encode()})
    dialect = DIALECTS["pi"]
    workspace.apply(dialect.read_call(native).operations, rules=dialect.edit_rules(native))
    assert workspace.read("f").decode() == '"1 "2\n“c”\n"3"\n'


def test_all_places_are_replaced_where_that_is_asked_for() -> None:
    found = {
        name: edited(DIALECTS[name], "a\nb\na\n", "a", "c", everywhere=True)
        for name in ("claude_code", "gemini_cli", "qwen_code", "opencode", "continue")
    }
    assert found == dict.fromkeys(found, "c\nb\nc\n")


def test_a_file_must_have_been_read_where_the_client_wants_that(tmp_path: Path) -> None:
    native = NativeCall("1", "Edit", {"file_path": "f", "old_string": "a", "new_string": "b"})
    dialect = DIALECTS["claude_code"]
    (tmp_path / "f").write_bytes(b"a\n")
    workspace = DiskWorkspace(tmp_path)
    rules = dialect.edit_rules(native)
    with pytest.raises(ToolError, match="has not been read yet") as refused:
        workspace.apply(dialect.read_call(native).operations, rules=rules)
    assert refused.value.details["reason"] == "not_read"
    workspace.read("f")
    workspace.apply(dialect.read_call(native).operations, rules=rules)
    assert workspace.read("f") == b"b\n"


def test_a_vocabulary_without_rules_of_its_own_looks_for_the_text_as_it_is_written() -> None:
    native = NativeCall("1", "edit_file", {"path": "f", "edits": [{"old": "a ", "new": "b"}]})
    assert DIALECTS["plain"].edit_rules(native) is None
    assert EXACT.steps[0].fold == ()


def test_an_old_text_that_only_an_empty_line_is_like_is_refused() -> None:
    """As Qwen Code 0.24.4 does; it once ended in an IndexError."""
    assert edited(DIALECTS["qwen_code"], "a\n\nb\n", " ", "c") is REFUSED


@pytest.mark.parametrize(
    "file, lines, expected",
    [
        ("a\x85\nb\n", "@@\n-a\n+x", "x\nb\n"),
        ("a\x1c\nb\n", "@@\n-a\n+x", REFUSED),
        ("\ufeffa\nb\n", "@@\n-a\n+x", REFUSED),
        ("a\nb\n", "@@ a\x1c\n-b\n+x", REFUSED),
        ("a\nb\n", "@@ a\u3000\n-b\n+x", "a\nx\n"),
    ],
)
def test_codex_overlooks_the_white_space_of_unicode_in_patches(file: str, lines: str, expected: str | None) -> None:
    """As 0.166.0 does: not the separators of ASCII, which Python takes for white space too."""
    native = NativeCall("1", "apply_patch", f"*** Begin Patch\n*** Update File: f\n{lines}\n*** End Patch")
    workspace, dialect = MemoryWorkspace({"f": file.encode()}), DIALECTS["codex"].at("0.166.0")
    try:
        workspace.apply(dialect.read_call(native).operations, rules=dialect.edit_rules(native))
    except ToolError:
        assert expected is REFUSED
    else:
        assert workspace.read("f").decode() == expected
