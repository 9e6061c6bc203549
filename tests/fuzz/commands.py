"""Command lines and programs that are looked into: what they are seen to do, never by running them."""

from __future__ import annotations

import re

from dragoman.dialects.base.code_mode import NestedCall, nested_calls, write_program
from dragoman.dialects.base.shell_intent import intents
from dragoman.engine.shell_reach import ANY, reach_of
from dragoman.model.operations import Operation

from .drawing import Draw
from .target import Target

COMMANDS = (
    "cat a.py | head -n 20",
    "sed -n '5,9p' src/a.py",
    "cd src && rg -n 'def f' --glob '*.py' . | head",
    "cat <<'EOF' > notes.md\n# Title\nline\nEOF",
    "echo \"a b\" >> 'x y.txt'; printf '%s\\n' one two > b",
    "ls -la src ; find . -name '*.py' -maxdepth 2 -type f",
    'grep -rn --include=\'*.c\' "a\\"b" . || true',
    "if [ -f a ]; then cat a; else tail -n +5 b; fi",
    'for f in *; do wc -l "$f"; done',
    "(cd a; head -5 b) 2>/dev/null | nl -ba",
    "git diff --stat HEAD~1 -- a b && bat -r 1:5 c",
    "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nEOF",
    "awk 'NR>=5 && NR<=9' a.py",
    'tee out.txt <<< "text"',
    "env A=1 timeout 5 bash -lc 'cat \"a b\"'",
)
WORDS = (
    *(
        " | ",
        " && ",
        " || ",
        " ; ",
        "\n",
        " & ",
        "$(",
        ")",
        "`",
        "${",
        "}",
        "$((",
        "<<EOF\n",
        "<<-'X'\n",
        "EOF\n",
        "<<<",
    ),
    *(" > ", " >> ", " 2>&1", " <", "'", '"', "\\", "\\\n", "*", "?", "[a-z]", "{a,b}", "~", "$HOME", "$'\\n'", "!"),
    *("cat ", "head -n 3 ", "tail -n +3 ", "sed -n '1,2p' ", "rg -l ", "grep -c ", "find . ", "ls ", "cd ", "echo "),
    *("bash -c ", "sh -lc ", "eval ", "xargs ", "if ", "then ", "fi", "case x in ", "esac", "function f() {", "#"),
)


def draw_command(draw: Draw) -> str:
    if draw.one_in(3):
        return "".join(draw.some(WORDS, 14))
    return draw.damaged_text(draw.choice(COMMANDS), WORDS)


def check_command(command: str) -> None:
    for directory in (None, "sub", "/abs", ""):
        found = intents(command, directory)
        assert all(isinstance(one, Operation) for one in found)
    reach = reach_of(command, "/project", "/home/me")
    assert all(one.verb == "fetch" or one.target.startswith(("/", ANY)) for one in reach.effects), "a path from nowhere"


PROGRAMS = (
    'const result = await tools.exec_command({cmd: "ls -l", timeout: 5}); text(result.output);',
    "for (const f of ['a', 'b']) { text(await tools.read_file({path: f})); }",
    "const {a, ...rest} = tools; const f = tools['read file']; await f({path: `x${1}`});",
    'text(await tools.apply_patch("*** Begin Patch\\n*** Delete File: a\\n*** End Patch"));',
    "if (x) await tools.a({}); else { try { await tools.b([1, -2.5e3, null, true, undefined]) } catch (e) {} }",
    "await Promise.all([tools.a({x: {y: [1]}}), tools.b({'k-e': \"\\u{1F600}\\ud83d\\x41\"})]);",
    "const args = {path: 'a'}; args.path = 'b'; const g = (t) => t.tools; await tools.a(args);",
)
PROGRAM_WORDS = (
    *(
        "tools",
        "tools.",
        "tools[",
        "await ",
        "const ",
        "let ",
        "=> ",
        "function ",
        "async ",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
    ),
    *(
        "`",
        "${",
        "'",
        '"',
        "\\u{110000}",
        "\\ud800",
        "\\x",
        "//",
        "/*",
        "*/",
        "/re/g",
        "...",
        "?.",
        "=",
        ",",
        ";",
        "0x1f",
    ),
    *(
        "1_000",
        "1n",
        "0.1e-5",
        "NaN",
        "-0",
        "null",
        "undefined",
        "true",
        "!",
        "typeof ",
        "new ",
        "class A {",
        "return ",
    ),
)


def draw_program(draw: Draw) -> str:
    if draw.one_in(4):
        return "tools" + "".join(draw.some(PROGRAM_WORDS, 14))
    return draw.damaged_text(draw.choice(PROGRAMS), PROGRAM_WORDS)


def check_program(program: str) -> None:
    for call in nested_calls(program):
        assert call.code in program or "\\n" in program or "surrogate" in str(call), "a call that is not in the program"


def draw_written(draw: Draw) -> tuple[str, object]:
    name = draw.choice(("read_file", "exec command", "a-b", "")) if draw.one_in(2) else draw.whole_text(4)
    return name, draw.whole_text() if draw.one_in(4) else {draw.whole_text(2): draw.json() for _ in range(draw.few(4))}


def check_written(given: tuple[str, dict[str, object] | str]) -> None:
    name, arguments = given
    (found,) = nested_calls(write_program(name, arguments))
    if isinstance(found, NestedCall):  # JavaScript has no number beyond 2**53
        assert (found.name, found.arguments) == (name, arguments), "what is written reads back otherwise"
    else:
        assert re.search("[0-9]{16}|e[+-]?[0-9]{2}", repr(arguments)), "what is written is not read back"


_COMMANDS = (
    "cat a" + " && cat b" * 2000,
    # These ended the process in some runs: what the parser read behind a table of its own differs from run to run.
    "{\U00031860",
    "sed -n '5,9p' 0x10{\U000bc689/a.py",
    # numbers that Python does not convert
    *(f"{command} a.py" for command in ("bat -r1:" + "9" * 5000, "head -n " + "9" * 5000, f"sed -n '{'9' * 5000}p'")),
)

TARGETS = [
    Target("commands", draw_command, check_command, examples=_COMMANDS),
    Target("programs", draw_program, check_program),
    Target("written_programs", draw_written, check_written),
]
