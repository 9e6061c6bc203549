"""Laws of doubt: no outcome claims what the text of its result does not say, whoever wrote that text.

Every dialect reads random texts, messages and the results of every other dialect. A path, a line, an exit code or an
output in the outcome must stand in the text or in the call, a message is no list of names and no file, numbers of lines
are no content, and a command has not ended well when its text says otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache

import pytest
from hypothesis import given, strategies as st

from dragoman.dialects import DIALECTS
from dragoman.dialects.base.doubt import doubted, is_sentence
from dragoman.model import Call, NativeCall, NativeResult, operations as op, outcomes as out
from tests.dialects.result_samples import FROZEN, stored
from tests.examples import examples
from tests.strategies import TEXT

MESSAGES = (
    "Directory does not exist: /home/user/project/nope",
    "The folder could not be read, because it is not there.",
    "Viewed image file successfully.",
    "Successfully wrote 5 bytes to config.json",
    '{"output":"Success. Updated the following files:',
    "Something went wrong. Please try again later.",
    "No such file or directory (os error 2)",
    "File not found: src/missing.py",
    "You do not have permission to list this folder!",
    "Command timed out after 120 seconds",
    "User rejected the tool call",
    "(Results are truncated. Consider using a more specific path or pattern.)",
    "[... 20 more files]",
    "... and 3 more",
    "12 matches",
    "Keine Dateien gefunden",
    "文件不存在: src/missing.py",
    "<error>boom</error>",
    '{"error": "boom"}',
    "[]",
    "   ",
    "OK",
    "Done.",
    "null",
    "undefined",
    "(empty)",
    "No results.",
    "Output saved to /tmp/out/result_17.txt",
    "Wrote 0 bytes (dry run)",
    "a.py (40 lines)",
    "https://a.example:443/x: not reachable",
    "Command moved to background. Task ID: b12",
    "Running… (ctrl-c to stop)",
    "Still running (session 4)",
    "exit code: 2",
    "rc=2",
    "Awaiting approval of edit to src/a.py",
    "Would update src/a.py (dry run)",
    "Patch applied with fuzz 2; 1 hunk FAILED -- saving rejects to a.py.rej",
    "data:image/png;base64,iVBORw0KGgo=",
    'Traceback (most recent call last):\n  File "x.py", line 3, in <module>\nFileNotFoundError: a.py',
)

ANSWERS = (
    *("yes", "no", "Error", "ENOENT", "Aborted", "Killed", "Forbidden", "Timeout", "Unknown", "HTTP 500", "Loading..."),
    *("Searching…", "Permission denied", "Not found", "Invalid path", "rate limited", "Segmentation fault"),
    *("Empty folder", "Zugriff verweigert", "Accès refusé", "Acceso denegado", "Доступ запрещён", "没有找到文件"),
    *(
        "アクセスが拒否されました",
        "ไม่พบไฟล์",
        "Dosya bulunamadı",
        "Deleted src/a.py",
    ),
    *("错误：没有找到", "Nichts gefunden"),
    *("[truncated]", "[image]", "[Binary file]", "Read image file [image/png]", "src/missing.py: file missing"),
)
"""Answers in few words, in any language, which say nothing else."""

LISTINGS = (
    "Le dossier est vide\nRien à faire",
    "?? a.py\n?? src/",
    "MM a.py\nAM src/",
    "-> a.py\n-> src",
    "> a.py\n> src",
    "=== a.py ===\nx",
    "a.py -> ../b.py",
    "a.py*\nlib.so@",
    "a.py - a file\nsrc - a folder",
    "a.py      12 bytes\nsrc       13 bytes",
    "d41d8cd98f00b204e9800998ecf8427e  a.py\nd41d8cd98f00b204e9800998ecf8427e  b.py",
    "Mode                 LastWriteTime         Length Name\n-a----        1/1/2026  12:00 AM             12 a.py",
    "'a.py'\n'src'",
    "a.py; b.py; c.py",
    '[{"name":"a.py"}]',
    '[project]\nname = "x"',
    "PATH=/usr/bin\nHOME=/root",
    "Showing 2 of 9\na.py\nsrc",
    "a.py\nsrc\n[truncated]",
    "a.py\nsrc\nDone",
    "WARN slow disk\na.py",
    "./a.py\n./b.py\n\nreal 0.01s",
    "total 8\n-rw-r--r-- 1 root root  12 Jan  1 00:00 a.py\ndrwxr-xr-x 2 root root 4096 Jan  1 00:00 src",
    ".\n├── a.py\n└── src\n    └── b.py",
    "- a.py\n- src/",
    "[FILE] a.py\n[DIR] src",
    "📄 a.py\n📁 src",
    "a.py (file)\nsrc (directory)",
    "F a.py 12\nD src 0",
    "a.py\t12\nsrc\t4096",
    "12B a.py\n4.0K src/",
    "2026-01-01 00:00 a.py\n2026-01-01 00:00 src/",
    "/home/user/project:\na.py\nsrc",
    "2 entries:\na.py\nsrc/",
    "a.py\nsrc/\n\n2 files, 1 directory",
    "a.py\nsrc/\nNext page: abc123",
    "a.py, src/, b.py",
    '["a.py", "src/"]',
    '[\n  "a.py",\n  "src"\n]',
    '{"entries": [{"name": "a.py", "is_dir": false}]}',
    "entries:\n  - a.py\n  - src",
    "name,type,size\na.py,file,12\nsrc,dir,0",
    "| Name | Type |\n|---|---|\n| a.py | file |",
    "a.py\n3:def add\n4-    return",
    "src/a.py:1:import os\nsrc/a.py:3:def add():",
    "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y",
    "```\na.py\nsrc\n```",
    "a.py\nexit=2",
    "a.py\nsrc\n+398 more",
    "a.py\nsrc\nand 3 others",
)
"""Names beside something else, as no reader of bare names takes them apart."""

LINES = ("import os", "", "def add(a, b):", "    return a + b")

NUMBERED: dict[str, Callable[[int, str], str]] = {
    "Claude Code 2.0": lambda number, line: f"{number:6}→{line}",
    "cat -n": lambda number, line: f"{number:6}\t{line}",
    "Kimi Code": lambda number, line: f"{number}\t{line}",
    "opencode 1.17": lambda number, line: f"{number}: {line}",
    "opencode 1.0": lambda number, line: f"{number:05}| {line}",
    "Copilot 1.0.42": lambda number, line: f"{number}. {line}",
    "Cline 2": lambda number, line: f"{number} | {line}",
    "bars": lambda number, line: f"{number}|{line}",
    "a table": lambda number, line: f"{number:>4}│{line}",
    "Codex": lambda number, line: f"L{number}: {line}",
    "brackets": lambda number, line: f"[{number}] {line}",
    "spaces": lambda number, line: f"{number:>4}  {line}",
    "hashes": lambda number, line: f"{number}#a1:{line}",
    "arrows": lambda number, line: f"{number}> {line}",
    "words": lambda number, line: f"Line {number}: {line}",
    "colours": lambda number, line: f"\x1b[32m{number}\x1b[0m {line}",
}
"""Lines with their numbers, as clients have printed them or might."""

ENDS = (
    "Exit code: 3\nboom",
    "boom\n<exited with exit code 3>",
    "boom\n[exit code: 3]",
    "Process exited with code 3",
    "Chunk ID: 7867fe\nWall time: 0.0 seconds\nProcess exited with code 3\nOutput:\nboom",
    "Command failed with exit status 3: boom",
    "1\n2\nCommand timed out after 1500ms",
    "The command is running in the background with id 7",
    "boom\n(exit 3)",
    "boom\nexit: 3",
    "boom\nExitCode=3",
    "boom\nReturned with code 3",
    "Command exited with non-zero status 3\nboom",
    "boom\n<exit_code>3</exit_code>",
    "boom\nProcess terminated by signal SIGKILL",
    "boom\n[Process exited 3]",
    "Error: Command failed: exit 3\nboom",
    '{"stdout":"boom","stderr":"","exitCode":3}',
    "boom\nmake: *** [all] Error 2",
    "boom\nExit status 3",
    "boom\nreturncode: 3",
    "Still running after 30s (pid 17)",
    "Timeout of 30s exceeded",
    "Command was cancelled by the user",
    "Command blocked by policy",
    "Waiting for approval",
    "Permission denied: bash(ls)",
    "error: command terminated with code 2",
    "boom\nProcess failed with status 2",
    "boom\nterminated by SIGTERM",
    "boom\n[Command timed out]",
    "Killed after 30 seconds",
    "Still running (session 4)",
    "Running… (ctrl-c to stop)",
    "bash: foo: command not found",
    "The user denied this command",
    "The command was interrupted",
    "Command not executed: it is outside of the sandbox",
    "rc=2",
    "Killed (OOM)",
    "boom\nSegmentation fault (core dumped)",
    "Awaiting approval of this command",
    "Task queued (id task_77); it has not begun yet",
)

NOT_ENDED = (
    "Agent stopped: context window exceeded",
    "The sub-agent could not be started because the limit of 5 is reached.",
    "Task queued (id task_77); it has not begun yet",
    "Still running in the background",
)

CLAIMING = (
    *(op.ReadFile, op.ListDirectory, op.FindFiles, op.SearchText, op.WriteFile, op.EditFile),
    *(op.RunCommand, op.ReadOutput, op.StopCommand),
)
"""Operations whose outcomes hold paths, lines, outputs and exit codes."""


@cache
def calls_of(name: str) -> tuple[Call, ...]:
    """One call for each tool of a dialect and each such operation it may mean."""
    found = {}
    for row in stored(name):
        call = DIALECTS[name].read_call(NativeCall("1", row["tool"], row["arguments"]))
        if any(isinstance(one, CLAIMING) for one in call.operations):
            found.setdefault((row["tool"], *(type(one) for one in call.operations)), call)
    return tuple(found.values())


@cache
def results_of_all() -> tuple[tuple[str, str], ...]:
    """The results of every dialect, each text once: (dialect, text)."""
    texts: dict[str, str] = {}
    for name in FROZEN:
        for row in stored(name):
            told = row.get("written") or row.get("text")
            if isinstance(told, str):
                texts.setdefault(told, name)
    return tuple((name, text) for text, name in texts.items())


def claims(outcome: out.Outcome) -> Iterator[str]:
    """What an outcome says that only the text of the result can tell."""
    match outcome:
        case out.DirectoryOutcome():
            yield from (entry.path for entry in outcome.entries)
        case out.PathsOutcome():
            yield from outcome.paths
        case out.MatchesOutcome():
            for match in outcome.matches:
                yield match.path
                yield from (match.text or "").split("\n")
                yield from (str(number) for number in (match.line, match.count) if number is not None)
        case out.CommandOutcome():
            yield from (str(outcome.exit_code),) if outcome.exit_code else ()
            yield outcome.job or ""
            for stream in (outcome.output, outcome.stdout, outcome.stderr):
                yield from (stream or "").split("\n")
        case out.FileOutcome():
            yield from outcome.text.split("\n")
            yield from (str(outcome.total_lines),) if outcome.total_lines else ()
        case out.ChangesOutcome():
            yield from (change.path for change in outcome.changes)
        case _:
            return


def invented(name: str, call: Call, text: str) -> list[str]:
    said = text + json.dumps(call.native.arguments, ensure_ascii=False)
    outcomes = DIALECTS[name].read_result(call, NativeResult("1", text)).outcomes
    return [claim for one in outcomes for claim in claims(one) if claim.strip() not in said]


@pytest.mark.parametrize("name", FROZEN)
@pytest.mark.slow
def test_a_foreign_result_is_not_read_as_more_than_it_says(name: str) -> None:
    wrong = [
        (call.native.name, text, found)
        for call in calls_of(name)
        for whose, text in results_of_all()
        if whose != name and (found := invented(name, call, text))
    ]
    assert wrong == []


@pytest.mark.parametrize("name", FROZEN)
@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_is_no_list_of_names(name: str, message: str) -> None:
    for call in calls_of(name):
        for outcome in DIALECTS[name].read_result(call, NativeResult("1", message)).outcomes:
            assert not isinstance(outcome, out.DirectoryOutcome | out.PathsOutcome | out.MatchesOutcome), call.native


@pytest.mark.parametrize("name", FROZEN)
def test_an_answer_in_few_words_is_no_name_and_no_line_of_a_program(name: str) -> None:
    wrong = [
        (call.native, answer)
        for call in calls_of(name)
        for answer in ANSWERS
        for outcome in DIALECTS[name].read_result(call, NativeResult("1", answer)).outcomes
        if isinstance(outcome, out.DirectoryOutcome | out.PathsOutcome | out.MatchesOutcome)
        or (isinstance(outcome, out.FileOutcome) and outcome.path.endswith(".py") and outcome.text)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "text, names",
    [
        ("src", ["src"]),
        ("a.-x", ["a.-x"]),
        ("a.py", ["a.py"]),
        ("Makefile", ["Makefile"]),
        ("My Report (2).txt", ["My Report (2).txt"]),
        ("Desktop\nMusic", ["Desktop", "Music"]),
        ("My Documents\nnotes.md\nsrc/", ["My Documents", "notes.md", "src"]),
        ("文档\n图片", ["文档", "图片"]),
    ],
)
def test_names_that_show_it_or_stand_beside_others_are_names(text: str, names: list[str]) -> None:
    dialect = DIALECTS["pi"]
    (outcome,) = dialect.read_result(dialect.read_call(NativeCall("1", "ls", {})), NativeResult("1", text)).outcomes
    assert isinstance(outcome, out.DirectoryOutcome)
    assert [one.path for one in outcome.entries] == names


@pytest.mark.parametrize("name", FROZEN)
@pytest.mark.parametrize("listing", LISTINGS)
def test_names_beside_something_else_are_not_taken_for_the_names(name: str, listing: str) -> None:
    lines = set(listing.split("\n")) - {"a.py", "src", "src/"}
    for call in calls_of(name):
        for outcome in DIALECTS[name].read_result(call, NativeResult("1", listing)).outcomes:
            match outcome:
                case out.DirectoryOutcome():
                    assert not lines & {entry.path for entry in outcome.entries}, call.native
                case out.PathsOutcome():
                    assert not lines & set(outcome.paths), call.native
                case out.MatchesOutcome(mode="files"):
                    assert not lines & {match.path for match in outcome.matches}, call.native


@pytest.mark.parametrize("name", FROZEN)
def test_what_was_not_looked_for_was_not_found(name: str) -> None:
    """What a search for `*.py` finds ends in `.py`, in whatever language the client speaks."""
    for call in calls_of(name):
        if any(isinstance(one, op.FindFiles) and one.pattern.endswith("*.py") for one in call.operations):
            for text in ("Fichier introuvable", "ファイルが見つかりません", "a.rs\nb.rs"):
                (outcome, *_) = DIALECTS[name].read_result(call, NativeResult("1", text)).outcomes
                assert not isinstance(outcome, out.PathsOutcome), call.native


@pytest.mark.parametrize("name", FROZEN)
@examples(30)
@given(text=st.lists(TEXT, max_size=4).map("\n".join))
def test_a_random_text_is_not_read_as_more_than_it_says(name: str, text: str) -> None:
    for call in calls_of(name):
        assert invented(name, call, text) == []


@pytest.mark.parametrize("name", FROZEN)
@pytest.mark.parametrize("style", NUMBERED)
@pytest.mark.parametrize("first", [1, 100])
def test_numbers_of_lines_are_no_content_of_a_file_and_no_names(name: str, style: str, first: int) -> None:
    text = "\n".join(NUMBERED[style](number, line) for number, line in enumerate(LINES, first))
    for call in calls_of(name):
        for outcome in DIALECTS[name].read_result(call, NativeResult("1", text)).outcomes:
            match outcome:
                case out.FileOutcome():
                    assert (outcome.text.rstrip("\n"), outcome.first_line) == ("\n".join(LINES), first), call.native
                case out.DirectoryOutcome() | out.PathsOutcome() | out.FilesOutcome():
                    pytest.fail(f"{call.native} gives {outcome}")


@pytest.mark.parametrize("name", FROZEN)
@pytest.mark.parametrize("style", ["Claude Code 2.0", "Kimi Code", "opencode 1.17", "Cline 2", "bars"])
@pytest.mark.parametrize("head, tail", [("", "<system-reminder>"), ("Here is a part:\n", "(40 more lines)"), ("", "5")])
def test_numbered_lines_below_a_heading_or_above_a_note_are_no_content(
    name: str, style: str, head: str, tail: str
) -> None:
    text = head + "\n".join(NUMBERED[style](number, line) for number, line in enumerate(LINES, 1)) + f"\n{tail}"
    for call in calls_of(name):
        for outcome in DIALECTS[name].read_result(call, NativeResult("1", text)).outcomes:
            match outcome:
                case out.FileOutcome():
                    assert NUMBERED[style](3, LINES[2]) not in outcome.text, call.native
                case out.DirectoryOutcome() | out.PathsOutcome() | out.FilesOutcome():
                    pytest.fail(f"{call.native} gives {outcome}")


@pytest.mark.parametrize("name", FROZEN)
@pytest.mark.parametrize("text", ENDS)
def test_a_command_has_not_ended_well_when_its_text_says_otherwise(name: str, text: str) -> None:
    for call in calls_of(name):
        for outcome in DIALECTS[name].read_result(call, NativeResult("1", text)).outcomes:
            assert not (isinstance(outcome, out.CommandOutcome) and outcome.exit_code == 0), call.native


@pytest.mark.parametrize("name", FROZEN)
@pytest.mark.parametrize(
    "message",
    [
        "File not found: {path}",
        "Error: ENOENT: no such file or directory, open '{path}'",
        "{path}: Datei oder Verzeichnis nicht gefunden",
        "Access denied by the user.",
        "Binary file: 2.3 kB",
        "[Unsupported file: {path}]",
        "The file is too large (12 MB). Use offset and limit.",
        "<system-reminder>Something else.</system-reminder>",
        "EACCES: permission denied, open '{path}'",
        "Unchanged since last read.",
        "Queued: the result will be sent when ready",
        "(no output)",
        "Here is the file `{path}`:\n\nx = 1\n",
        '<file path="{path}">\nx = 1\n</file>',
        "[Lines 1-3 of 40]\nx = 1\n",
        '{{"matches": [{{"path": "{path}", "line": 3}}]}}',
    ],
)
def test_a_message_about_a_file_is_not_what_it_holds(name: str, message: str) -> None:
    for call in calls_of(name):
        paths = [one.path for one in call.operations if isinstance(one, op.ReadFile)]
        text = message.format(path=paths[0] if paths else "a.py")
        for outcome in DIALECTS[name].read_result(call, NativeResult("1", text)).outcomes:
            assert not isinstance(outcome, out.FileOutcome) or not outcome.text, call.native


@pytest.mark.parametrize("name", FROZEN)
def test_no_agent_has_ended_no_user_answered_and_no_page_came_where_the_text_says_so(name: str) -> None:
    said: dict[type[op.Operation], tuple[str, ...]] = {
        op.SpawnAgent: NOT_ENDED,
        op.WaitForAgent: NOT_ENDED,
        op.AskUser: ("User did not answer within 60 seconds", "[user dismissed the dialog]"),
        op.FetchPage: ("HTTP/1.1 503 Service Unavailable\n\nretry later", "Request to https://a.example timed out"),
        op.ListAgents: ("No changes made: old and new text are equal",),
    }
    for row in stored(name):
        call = DIALECTS[name].read_call(NativeCall("1", row["tool"], row["arguments"]))
        for text in (text for operation in call.operations for text in said.get(type(operation), ())):
            for outcome in DIALECTS[name].read_result(call, NativeResult("1", text)).outcomes:
                assert not isinstance(outcome, out.AnswersOutcome | out.PagesOutcome), (row["tool"], text)
                if isinstance(outcome, out.AgentsOutcome):
                    assert outcome.agents, (row["tool"], text)
                    assert all(one.status != "completed" for one in outcome.agents), (row["tool"], text)


def test_an_agent_may_speak_of_what_failed_and_a_user_and_a_page_too() -> None:
    read = DIALECTS["claude_code"]
    call = read.read_call(NativeCall("1", "Task", {"description": "x", "prompt": "y", "subagent_type": "z"}))
    for text in ("The tests that had failed pass now.", "The task is done: one test failed before.", "Not started: 0."):
        (outcome,) = read.read_result(call, NativeResult("1", text)).outcomes
        assert isinstance(outcome, out.AgentsOutcome)
        assert [one.status for one in outcome.agents] == ["completed"]


@pytest.mark.parametrize("name", FROZEN)
@pytest.mark.parametrize("text", ["   1→x = 1", "   5→x = 1\n   6→\n  40→y = 2"])
def test_one_numbered_line_and_lines_with_others_left_out_are_no_content(name: str, text: str) -> None:
    for call in calls_of(name):
        for outcome in DIALECTS[name].read_result(call, NativeResult("1", text)).outcomes:
            assert not isinstance(outcome, out.FileOutcome) or "→" not in outcome.text, call.native


def test_a_file_of_numbered_lines_is_one_where_the_client_numbers_them_itself() -> None:
    dialect = DIALECTS["claude_code"]
    call = dialect.read_call(NativeCall("1", "Read", {"file_path": "a.md"}))
    (outcome,) = dialect.read_result(call, NativeResult("1", "     1→1. one\n     2→2. two")).outcomes
    assert outcome == out.FileOutcome("a.md", "1. one\n2. two")


@pytest.mark.parametrize("text", ["1. one\n2. two\nand more\nthan that", "7: a\nb\nc", "1→a\nb\nc"])
def test_a_file_that_begins_with_a_few_numbers_is_a_file(text: str) -> None:
    file = out.FileOutcome("a.md", text)
    assert doubted(file, NativeResult("1", text)) == file


def test_a_message_has_at_least_three_words() -> None:
    assert [is_sentence(text) for text in ("File not found", "It is here.", "Access denied", "Stop it!", "done.")] == [
        *[True] * 2,
        *[False] * 3,
    ]
    assert is_sentence("denied: x")  # what follows a colon is said of it, however short


def test_names_with_spaces_are_names() -> None:
    names = ("My Documents", "a b c.txt", "Report final (1)", "what is this.md", "2024 01 03 notes", "src/error.py")
    assert [name for name in names if is_sentence(name)] == []
    assert [message for message in MESSAGES[:7] if not is_sentence(message)] == []
    folder = ("My Documents", "[id]", "(group)", "[...slug].tsx", "1. Intro.md", "2. More.md", "Report final (1)")
    dialect = DIALECTS["pi"]
    call = dialect.read_call(NativeCall("1", "ls", {}))
    (outcome,) = dialect.read_result(call, NativeResult("1", "\n".join(folder))).outcomes
    assert isinstance(outcome, out.DirectoryOutcome)
    assert tuple(entry.path for entry in outcome.entries) == folder


@pytest.mark.parametrize("path, is_named", [("a.md", True), ("src/a.md", True), ("src/b.md", False), ("ok", False)])
def test_a_line_that_names_its_file_is_about_it_unless_the_name_may_be_a_part_of_a_word(
    path: str, is_named: bool
) -> None:
    line = "we looked at a.md together"
    file = out.FileOutcome(path, line)
    assert (doubted(file, NativeResult("1", line)) == file) is not is_named
