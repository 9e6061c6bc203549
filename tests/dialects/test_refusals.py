"""What a model reads after an edit: the client's own sentence for a refusal, and the lines that the client shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.dialects import DIALECTS, Dialect
from dragoman.errors import ToolError
from dragoman.model.calls import NativeCall
from dragoman.model.outcomes import ChangesOutcome, Failure
from dragoman.tools import DiskWorkspace, Workspace
from dragoman.tools.workspace.memory import MemoryWorkspace
from tests.dialects.test_edit_rules import edit_call


def told(name: str, file: str, native: NativeCall) -> str:
    """What the result of a call about this file says."""
    return told_in(MemoryWorkspace({"f": file}), DIALECTS[name], native)


def told_in(workspace: Workspace, dialect: Dialect, native: NativeCall) -> str:
    """What the result of a call says."""
    call = dialect.read_call(native)
    outcome: ChangesOutcome | Failure
    try:
        outcome = workspace.apply(call.operations, rules=dialect.edit_rules(native))
    except ToolError as error:
        outcome = Failure(error.kind, str(error), error.details)
    content = dialect.write_result(call, [outcome]).content
    assert isinstance(content, str)
    return content


FILE = "port = 80\nhost = a\nport = 80\n"
MISSING = {
    "claude_code": "<tool_use_error>String to replace not found in file.\nString: Host = a\n",
    "gemini_cli": "Could not find an exact match for 'old_string' in 'f'. If previous edits",
    "qwen_code": "Failed to edit, 0 occurrences found for old_string in f. No edits made. The exact text",
    "pi": "Could not find the exact text in f. The old text must match exactly including all whitespace and newlines."
    "\n",
    "opencode": "Could not find oldString in the file. It must match exactly, including whitespace, indentation, and "
    "line endings.\n",
    "cline": '{"query":"edit:f","result":"","error":"Editor operation failed: No replacement performed: text not found '
    "in f.\\n",
}
SEVERAL = {
    "claude_code": "<tool_use_error>Found 2 matches of the string to replace, but replace_all is false. To replace all "
    "occurrences, set replace_all to true. To replace only one occurrence, please provide more context to uniquely "
    "identify the instance.\nString: 80",
    "gemini_cli": "Failed to edit, Expected 1 occurrence but found 2 for old_string in file: f. If you intended to "
    "replace multiple occurrences, set 'allow_multiple' to true.",
    "qwen_code": "Failed to edit. Found 2 occurrences for old_string in f but replace_all was not enabled.",
    "pi": "Found 2 occurrences of the text in f. The text must be unique. Please provide more context to make it "
    "unique.",
    "continue": 'Edit at index 0: String "80" appears 2 times in the file. Either provide a more specific string with '
    "surrounding context to make it unique, or use replace_all=true to replace all occurrences.",
    "opencode": "Found multiple matches for oldString. Provide more surrounding context to make the match unique.",
}


@pytest.mark.parametrize("name", MISSING)
def test_a_text_that_is_not_found_is_refused_in_the_words_of_the_client_with_a_hint(name: str) -> None:
    found = told(name, FILE, edit_call(name, "f", "Host = a", "host = b"))
    assert found.startswith(MISSING[name])
    assert "line 2 differs from it only in upper and lower case" in found


@pytest.mark.parametrize("name", SEVERAL)
def test_a_text_in_several_places_is_refused_in_the_words_of_the_client_with_their_lines(name: str) -> None:
    end = "</tool_use_error>" if name == "claude_code" else ""
    assert told(name, FILE, edit_call(name, "f", "80", "81")) == f"{SEVERAL[name]}\nFound in lines 1, 3.{end}"


def test_copilot_says_itself_in_which_lines_a_text_is() -> None:
    assert told("copilot", "\ta\n\ta\n", edit_call("copilot", "f", "\ta", "b")) == (
        'Ambiguous match for old_str in f: pattern starting with "\\ta" matched at lines 1, 2. No changes made; try '
        "again with a more specific old_str."
    )


def test_claude_code_says_that_escapes_were_tried_and_shows_the_text_without_them() -> None:
    found = told("claude_code", FILE, edit_call("claude_code", "f", "\\u00e9", "e"))
    assert found.startswith("<tool_use_error>String to replace not found in file.\nString: é\n(note: Edit also tried")


def test_cline_shows_the_lines_that_an_edit_changed_from_the_first_to_the_last() -> None:
    found = told("cline", "a\nb\nc\nd", edit_call("cline", "f", "b\nc\nd", "B\nc\nd\n"))
    shown = "-2: b\\n-3: c\\n-4: d\\n+2: B\\n+3: c\\n+4: d\\n+5: "
    assert found == f'{{"query":"edit:f","result":"Edited f\\n```diff\\n{shown}\\n```","success":true}}'


def test_the_second_of_two_edits_is_named_by_its_place() -> None:
    edits = [{"old_string": "host = a", "new_string": "host = b"}, {"old_string": "zzz {old}", "new_string": "y"}]
    found = told("continue", FILE, NativeCall("1", "MultiEdit", {"file_path": "f", "edits": edits}))
    assert found.startswith('Edit at index 1: string not found in file: "zzz {old}"\n')


NOT_READ = {
    "claude_code": "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>",
    "qwen_code": "File f has not been read in this session.",
}


@pytest.mark.parametrize("name, tool", [("claude_code", "Write"), ("qwen_code", "write_file")])
def test_a_whole_file_is_written_over_another_only_when_that_was_read(name: str, tool: str, tmp_path: Path) -> None:
    native = NativeCall("1", tool, {"file_path": "f", "content": "new\n"})
    workspace, dialect = DiskWorkspace(tmp_path, durable=False), DIALECTS[name]
    assert "new" in told_in(workspace, dialect, NativeCall("1", tool, {"file_path": "new", "content": ""}))
    (tmp_path / "f").write_text("old\n")
    assert told_in(workspace, dialect, native) == NOT_READ[name]
    assert (tmp_path / "f").read_text() == "old\n"
    workspace.note_read("f")
    assert "f" in told_in(workspace, dialect, native)
    assert (tmp_path / "f").read_text() == "new\n"


def test_qwen_code_once_wrote_over_files_that_were_not_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old\n")
    native = NativeCall("1", "write_file", {"file_path": "f", "content": "new\n"})
    told_in(DiskWorkspace(tmp_path, durable=False), DIALECTS["qwen_code"].at("0.10.1"), native)
    assert (tmp_path / "f").read_text() == "new\n"


LONG = "".join(f"line {number}\n" for number in range(1, 41))


def test_gemini_cli_shows_five_lines_around_each_change() -> None:
    twice = edit_call("gemini_cli", "f", "5\n", "five\n", everywhere=True)
    lines = LONG.replace("5\n", "five\n").split("\n")
    assert told("gemini_cli", LONG, twice) == (
        "Successfully modified file: f (4 replacements). Here is the updated code:\n" + "\n".join([*lines[:40], "..."])
    )
    once = edit_call("gemini_cli", "f", "line 20", "line twenty")
    changed = LONG.replace("line 20", "line twenty").split("\n")
    assert told("gemini_cli", LONG, once) == (
        "Successfully modified file: f (1 replacements). Here is the updated code:\n"
        + "\n".join(["...", *changed[14:25], "..."])
    )


def test_qwen_code_shows_four_lines_around_all_changes() -> None:
    found = told("qwen_code", LONG, edit_call("qwen_code", "f", "line 20", "line twenty"))
    changed = LONG.replace("line 20", "line twenty").split("\n")
    assert found == (
        "The file: f has been updated. Showing lines 16-24 of 41 from the edited file:\n\n---\n\n"
        + "\n".join(changed[15:24])
    )


@pytest.mark.parametrize("old, new, shown", [("b", "x\r\ny", "a\nx\r\ny\nc\n"), ("b\n", "x\r\n", "a\nx\r\nc\n")])
def test_qwen_code_shows_the_line_ends_of_a_new_text(old: str, new: str, shown: str) -> None:
    found = told("qwen_code", "a\nb\nc\n", edit_call("qwen_code", "f", old, new))
    assert found.endswith(f"\n\n---\n\n{shown}")


def patched(version: str, text: str, file: str) -> str | None:
    """The file after a patch in Codex's words, `None` where it is refused."""
    dialect = DIALECTS["codex"].at(version)
    native = NativeCall("1", "apply_patch", text)
    call = dialect.read_call(native)
    if call.failure is not None:
        return None
    workspace = MemoryWorkspace({"f": file})
    try:
        workspace.apply(call.operations, rules=dialect.edit_rules(native))
    except ToolError:
        return None
    return workspace.read("f").decode()


def test_codex_up_to_0_128_takes_an_empty_last_line_for_the_end_of_the_file() -> None:
    patch = "*** Begin Patch\n*** Update File: f\n@@\n-a\n+A\n*** End Patch"
    blank = "*** Begin Patch\n*** Update File: f\n@@ \n-a\n+A\n*** End Patch"
    assert patched("0.128.0", patch, "a\nb\n\n") == "A\nb\n"
    assert patched("0.166.0", patch, "a\nb\n\n") == "A\nb\n\n"
    # An anchor without text is a line to be found there, and none today.
    assert patched("0.128.0", blank, "a\nb\n") is None
    assert patched("0.128.0", blank, "\na\nb\n") == "\nA\nb\n"
    assert patched("0.166.0", blank, "a\nb\n") == "A\nb\n"


@pytest.mark.parametrize(
    "said, file, earlier, now",
    [
        ("", "\n", None, "\n"),
        (" ", "\n", None, "\n"),
        ("\n ", "a\n\n\n", None, "a\n\n\n"),
        (" \n*** End of File", "\n", None, "\n"),
        ("*** End of File\n+x", "a\n", None, "a\nx\n"),
        ("\n*** End of File\n@@\n+x", "a\n\n", None, "a\n\nx\n"),
        ("\n*** End of File\n+x", "a\n", None, None),
        ("\n@@\n ", "\n", "", "\n"),
        ("\n@@\n-a", "a\n\nb\n", "\nb\n", None),
    ],
)
def test_what_one_version_of_codex_refuses_is_not_read_as_another_does(
    said: str, file: str, earlier: str | None, now: str | None
) -> None:
    # Each row was run through 0.128.0 and 0.166.0, called as `apply_patch`.
    patch = f"*** Begin Patch\n*** Update File: f\n{said}\n*** End Patch"
    assert patched("0.128.0", patch, file) == earlier
    assert patched("0.166.0", patch, file) == now


@pytest.mark.parametrize(
    "version, line_ends, blank_first",
    [
        ("0.139.0", "a\nB\n", "  b\nb\n"),
        ("0.140.0", "a\nB\n", None),
        ("0.142.5", "a\nB\n", None),
        ("0.151.0", "a\nB\n", None),
        ("0.161.0", "a\nB\n", None),
        ("0.162.0", "a\r\nB\r\n", None),
    ],
)
def test_each_codex_applies_patches_as_it_did(version: str, line_ends: str, blank_first: str | None) -> None:
    """Each of these versions was run, called as `apply_patch`."""
    head, end = "*** Begin Patch\n*** Update File: f\n", "*** End Patch"
    assert patched(version, f"{head}@@\n a\n-b\n+B\n{end}", "a\r\nb\r\n") == line_ends
    assert patched(version, f"{head}  \n+b\n{end}", "  b") == blank_first
