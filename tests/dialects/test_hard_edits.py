"""Hard edits, as the clients did them: line ends, byte order marks, white space, letters, lines that nearly fit.

Each was run through the eight clients on loopback on 2026-11-18 or 19, in the versions of `tests/clients/install.py`;
the expected file is what the client left. `python -m tests.clients.edits` runs random ones.
"""

from __future__ import annotations

import pytest

from dragoman.dialects import DIALECTS
from tests.dialects.test_edit_rules import COMPARED, REFUSED, edited

HARD: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "a byte order mark before the line that is found": (
        "\ufeffa\nb\n",
        " a",
        "x",
        {"gemini_cli copilot": "x\nb\n", "opencode continue": "\ufeffx\nb\n"},
    ),
    "a byte order mark in the old text": (
        "\ufeffa\nb\n",
        "\ufeffa",
        "x",
        {"gemini_cli copilot cline continue": "x\nb\n", "opencode": "\ufeffx\nb\n"},
    ),
    "a byte order mark before the indentation": (
        "\ufeff  a\nb\n",
        "a\nb ",
        "x\ny",
        {
            "gemini_cli copilot": "x\ny\n",
            "opencode": "\ufeffx\ny\n",
            "pi": "\ufeff  x\ny\n",
            "continue": "\ufeff  x\n\ufeff  y\n",
        },
    ),
    "a byte order mark before tokens": (
        "\ufefffoo( a )\nb\n",
        "foo(a)",
        "x",
        {"copilot": "x\nb\n", "continue": "\ufeffx\nb\n"},
    ),
    "a byte order mark in the new text": (
        "\ufeffa\nb\n",
        "a",
        "\ufeffx",
        {
            "claude_code gemini_cli copilot cline pi continue": "\ufeff\ufeffx\nb\n",
            "qwen_code opencode": "\ufeffx\nb\n",
        },
    ),
    "byte order marks in both texts": (
        "\ufeffa\nb\n",
        "\ufeffa",
        "\ufeffx",
        {"gemini_cli opencode copilot cline continue": "\ufeffx\nb\n"},
    ),
    "two byte order marks in the new text": (
        "\ufeffa\nb\n",
        "a",
        "\ufeff\ufeffx",
        {
            "claude_code gemini_cli copilot cline pi continue": "\ufeff\ufeff\ufeffx\nb\n",
            "qwen_code": "\ufeff\ufeffx\nb\n",
            "opencode": "\ufeffx\nb\n",
        },
    ),
    "a line end for lines that are found without theirs": (
        "z \nq\nb\n",
        "z\nq\n",
        "\n",
        {"gemini_cli opencode continue": "\n\nb\n", "qwen_code": "b\n", "copilot pi": "\nb\n"},
    ),
    "lone returns in the old text": (
        "a\rb’\rc\r",
        "a\rb’",
        "x",
        {"claude_code gemini_cli qwen_code opencode copilot cline continue": "x\rc\r", "pi": "x\nc\n"},
    ),
    "lone returns in texts that are the same": ("a’\rb\r", "\rb\r", "\rb\r", {"cline": "a’\rb\r"}),
    "nothing left but a byte order mark": (
        "\ufeffa\n",
        "a\n",
        "",
        {"claude_code qwen_code opencode copilot cline pi continue": "\ufeff", "gemini_cli": "\ufeff\n"},
    ),
    "nothing in a file that is a byte order mark": (
        "\ufeff",
        "",
        "b",
        {"claude_code": "\ufeffb", "continue": "b\ufeff"},
    ),
    "a byte order mark that is white space": (
        "a\n\ufeffb\n",
        "b ",
        "x",
        {"gemini_cli opencode copilot": "a\nx\n", "pi continue": "a\n\ufeffx\n"},
    ),
    "a next line character at the end of a line": ("a\x85\nb\n", "a\nb", "x", {}),
    "a file separator at the end of a line": ("a\x1c\nb\n", "a\nb", "x", {}),
    "a form feed at the end of a line": (
        "a\x0c\nb\n",
        "a\nb",
        "x",
        {"gemini_cli qwen_code opencode copilot pi continue": "x\n"},
    ),
    "a space without width at the end of a line": ("a\u200b\nb\n", "a\nb", "x", {}),
    "an em space before a line": (
        "\u2003a\nb\n",
        "  a\nb",
        "x",
        {"gemini_cli opencode copilot": "x\n", "continue": "\u2003x\n"},
    ),
    "lines that end with CR alone": (
        "a\rb\r",
        "b",
        "x",
        {"claude_code gemini_cli qwen_code opencode copilot cline continue": "a\rx\r", "pi": "a\nx\n"},
    ),
    "a CR in the old text": (
        "a\rb\r",
        "b\r",
        "x",
        {"claude_code gemini_cli qwen_code opencode copilot cline continue": "a\rx", "pi": "a\nx"},
    ),
    "tokens after a CR": ("a\rfoo( b )\r", "foo(b)", "x", {"gemini_cli continue": "a\rx\r"}),
    "two CR before a line end": (
        "a\r\r\nb\n",
        "a\nb",
        "x",
        {"gemini_cli qwen_code": "x\r\n", "opencode copilot continue": "x\n"},
    ),
    "CRLF in both texts and a file that mixes line ends": (
        "a\r\nb\r\nc\n",
        "b\r\n",
        "x\r\n",
        {"gemini_cli qwen_code pi": "a\r\nx\r\nc\r\n", "opencode copilot cline continue": "a\r\nx\r\nc\n"},
    ),
    "LF in both texts and a file that mixes line ends": (
        "a\r\nb\r\nc\n",
        "b\n",
        "x\n",
        {
            "claude_code gemini_cli qwen_code pi": "a\r\nx\r\nc\r\n",
            "opencode copilot cline": "a\r\nx\r\nc\n",
            "continue": "a\r\nx\n\r\nc\n",
        },
    ),
    "a new line beside one that ends with CRLF": (
        "a\nb\r\nc\n",
        "b",
        "x\ny",
        {
            "claude_code pi": "a\nx\ny\nc\n",
            "gemini_cli qwen_code": "a\r\nx\r\ny\r\nc\r\n",
            "opencode cline": "a\nx\r\ny\r\nc\n",
            "copilot continue": "a\nx\ny\r\nc\n",
        },
    ),
    "CRLF in the new text alone": (
        "a\n",
        "a\n",
        "b\r\n",
        {"claude_code qwen_code continue": "b\r\n", "gemini_cli opencode copilot cline pi": "b\n"},
    ),
    "CRLF everywhere": (
        "a\r\n",
        "a\r\n",
        "b\r\n",
        {"gemini_cli qwen_code opencode copilot cline pi continue": "b\r\n"},
    ),
    "CRLF in the new text and the file": (
        "a\r\n",
        "a",
        "b\r\nc",
        {"claude_code gemini_cli qwen_code opencode copilot cline pi continue": "b\r\nc\r\n"},
    ),
    "less indentation by tabs": (
        "\tif a:\n\t\tb\n\t\tc\n",
        "if a:\n\tb\n\tc",
        "if a:\n\tb\n\td",
        {"gemini_cli copilot continue": "\tif a:\n\t\tb\n\t\td\n", "opencode": "if a:\n\tb\n\td\n"},
    ),
    "blanks for tabs": (
        "\tif a:\n\t\tb\n\t\tc\n",
        "  if a:\n    b\n    c",
        "  if a:\n    b\n    d",
        {
            "gemini_cli continue": "\tif a:\n\t  b\n\t  d\n",
            "opencode": "  if a:\n    b\n    d\n",
            "copilot": "\tif a:\n\t\tb\n\t\td\n",
        },
    ),
    "tabs and blanks the other way round": (
        "    a\n\tb\n",
        "\ta\n    b",
        "\tx\n    y",
        {"gemini_cli continue": "    x\n    y\n", "opencode": "\tx\n    y\n", "copilot": "    x\n\ty\n"},
    ),
    "a tab and a blank the other way round": ("a \tb\n", "a\t b", "x", {"gemini_cli opencode copilot continue": "x\n"}),
    "a line end that the file does not have": ("x", "x\n", "x", {"gemini_cli": "x"}),
    "fewer blank lines": (
        "x\n\n\n",
        "x\n\n",
        "x\n",
        {"claude_code gemini_cli qwen_code opencode copilot cline pi continue": "x\n\n"},
    ),
    "more blank lines than there are": (
        "x\n\n\n",
        "x\n\n\n\n",
        "y",
        {"gemini_cli continue": "y\n\n\n", "qwen_code opencode": "y"},
    ),
    "a line end in a file of line ends": ("\n\n", "\n", "x", {"continue": "x\n\n"}),
    "blank lines between two lines": (
        "a\n\nb\n",
        "\n\n",
        "\n",
        {"claude_code gemini_cli qwen_code opencode copilot cline pi": "a\nb\n", "continue": "\na\n\nb\n"},
    ),
    "a blank line": (
        "  \na\n",
        "  ",
        "x",
        {"claude_code gemini_cli qwen_code opencode copilot cline": "x\na\n", "continue": "x  \na\n"},
    ),
    "curly quotes of both kinds": (
        "“a” ‘b’\n",
        "\"a\" 'b'",
        "\"c\" 'd'",
        {"claude_code": "“c” ‘d’\n", "qwen_code copilot pi": "\"c\" 'd'\n"},
    ),
    "curly quotes and plain ones": (
        '“a”\n"a"\n',
        "“a” ",
        "x",
        {"gemini_cli qwen_code opencode copilot continue": 'x\n"a"\n'},
    ),
    "low quotes": ("„a“\n", '"a"', "x", {"qwen_code copilot pi": "x\n"}),
    "guillemets": ("«a»\n", '"a"', "x", {"copilot": "x\n"}),
    "an en dash": ("a–b\n", "a-b", "x", {"qwen_code copilot pi": "x\n"}),
    "a minus sign": ("a−b\n", "a-b", "x", {"qwen_code copilot pi": "x\n"}),
    "an ellipsis": ("a…\n", "a...", "x", {"copilot pi": "x\n"}),
    "a ligature": ("ﬁ\n", "fi", "x", {"copilot pi": "x\n"}),
    "a letter and its accent": ("e\u0301\n", "é", "x", {"copilot pi": "x\n"}),
    "a letter with its accent in two ways": (
        "é e\u0301\n",
        "é",
        "x",
        {"claude_code gemini_cli qwen_code opencode copilot cline continue": "x e\u0301\n"},
    ),
    "wide letters": ("ＡＢ\n", "AB", "x", {"copilot pi": "x\n"}),
    "a sigma that ends a word": ("ΑΣ\n", "ας", "x", {"continue": "x\n"}),
    "a sigma as within a word": ("ΑΣ\n", "ασ", "x", {"copilot": "x\n"}),
    "a letter after an emoji in another case": ("😀a\n", "😀A", "x", {"copilot continue": "x\n"}),
    "a line end for a backslash and an n": ("a\\nb\n", "a\nb", "x", {}),
    "a backslash and an n for a line end": ("a\nb\n", "a\\nb", "x\\ny", {"opencode": "x\\ny\n"}),
    "a quote that the file escapes": ('a\\"b\n', 'a"b', "x", {"opencode": "x\n"}),
    "a letter that the file escapes": ("\\u00e9\n", "é", "ü", {"claude_code": "\\u00fc\n"}),
    "an escape for a letter": ("é\n", "\\u00e9", "\\u00fc", {"claude_code": "ü\n"}),
    "a backslash and a t for a tab": ("a\tb\n", "a\\tb", "x", {"opencode": "x\n"}),
    "signs that mean something to a replacing function": (
        "a\n",
        "a",
        "$1$&\\1\\g<0>",
        {"claude_code gemini_cli qwen_code opencode copilot cline pi continue": "$1$&\\1\\g<0>\n"},
    ),
    "two lines as one": ("a b\nc d\n", "a b c d", "x", {"gemini_cli continue": "x\n"}),
    "a call that is broken over two lines": ("f(a,\n  b)\n", "f(a, b)", "x", {"gemini_cli continue": "x\n"}),
    "a call broken over two lines in the old text": (
        "f(a, b)\n",
        "f(a,\n  b)",
        "x",
        {"gemini_cli opencode continue": "x\n"},
    ),
    "the text before a semicolon": (
        "a = b;\n",
        "a = b",
        "x",
        {"claude_code gemini_cli qwen_code opencode copilot cline pi continue": "x;\n"},
    ),
    "blanks around brackets": ("if(x){\n", "if (x) {", "y {", {"gemini_cli copilot continue": "y {\n"}),
    "another line between": ("a\nb\nc\nd\n", "a\nX\nc\nd", "new", {"opencode": "new\n"}),
    "a letter too many in a block": (
        "start\n  one\n  two\n  three\nend\n",
        "start\n  one\n  twoo\n  three\nend",
        "new",
        {"gemini_cli opencode": "new\n"},
    ),
    "two blocks that are nearly the same": (
        "start\n  one\n  two\nend\nstart\n  one\n  twa\nend\n",
        "start\n  one\n  twu\nend",
        "new",
        {"opencode": "new\nstart\n  one\n  twa\nend\n"},
    ),
    "one letter in ten": ("aaaaaaaaaaaaaaaaaaaa\n", "aaaaaaaaaaaaaaaaaabb", "x", {"gemini_cli": "x\n"}),
    "more than one letter in ten": ("aaaaaaaaaaaaaaaaaaaa\n", "aaaaaaaaaaaaaaaaabbb", "x", {}),
    "two lines that are nearly the same": ("foo bar baz qux\nfoo bar baz quy\n", "foo bar baz quz", "x", {}),
    "indentation left out": (
        "  a\n  b\n    c\n",
        "a\nb\n  c",
        "a\nb\n  d",
        {"gemini_cli copilot continue": "  a\n  b\n    d\n", "opencode": "a\nb\n  d\n"},
    ),
    "too much indentation": (
        "  a\n  b\n    c\n",
        "    a\n    b\n      c",
        "    x\n    y\n      z",
        {"gemini_cli copilot continue": "  x\n  y\n    z\n", "opencode": "    x\n    y\n      z\n"},
    ),
    "a blank line between indented ones": (
        "  a\n\n  b\n",
        "a\n\nb",
        "x\n\ny",
        {"gemini_cli copilot continue": "  x\n\n  y\n", "opencode": "x\n\ny\n"},
    ),
    "indentation too much and a line less": (
        "a\n  b\nc\n",
        "  a\n    b\n  c",
        "  x\n    y",
        {"gemini_cli copilot continue": "x\n  y\n", "opencode": "  x\n    y\n"},
    ),
    "indentation that the new text goes on with": (
        "        foo\n",
        "    foo ",
        "    bar\n        baz\n    qux",
        {
            "gemini_cli copilot continue": "        bar\n            baz\n        qux\n",
            "opencode": "    bar\n        baz\n    qux\n",
            "pi": "        bar\n        baz\n    qux\n",
        },
    ),
}
"""What is asked for → the file, the old and the new text, and by client what it leaves; the others refuse it."""


@pytest.mark.parametrize("name", COMPARED)
@pytest.mark.parametrize("case", HARD)
def test_a_hard_edit_ends_as_in_the_client(case: str, name: str) -> None:
    file, old, new, expected = HARD[case]
    wanted = next((text for names, text in expected.items() if name in names.split()), REFUSED)
    assert edited(DIALECTS[name], file, old, new) == wanted
