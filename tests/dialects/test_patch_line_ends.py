"""Patches with CRLF and marks of their own, as Codex 0.128.0 to 0.166.0 (as `apply_patch`) and opencode 1.18.33 applied
them on 2026-11-19."""

from __future__ import annotations

import pytest

from dragoman.dialects import DIALECTS
from dragoman.errors import ToolError
from dragoman.model import NativeCall, operations as op
from dragoman.model.outcomes import ChangesOutcome
from dragoman.tools.workspace.memory import MemoryWorkspace


def patched(client: str, version: str, section: str, **files: str) -> tuple[dict[str, str] | None, str]:
    """The files after a section of a patch, `None` where it is refused, and what a model reads."""
    dialect = DIALECTS[client].at(version, "gpt-5")
    patch = f"*** Begin Patch\n{section}\n*** End Patch"
    native = NativeCall("1", "apply_patch", patch if client == "codex" else {"patchText": patch})
    call = dialect.read_call(native)
    workspace = MemoryWorkspace({name: text.encode() for name, text in files.items()})
    if call.failure is not None:
        return None, call.failure.message
    try:
        changes = workspace.apply(call.operations, rules=dialect.edit_rules(native)).changes
    except ToolError as error:
        return None, str(error)
    told = dialect.write_result(call, [ChangesOutcome((change,)) for change in changes]).content
    return {name: workspace.read(name).decode() for name in workspace.paths()}, str(told)


CODEX = {"0.128.0": 1, "0.139.0": 1, "0.140.0": 2, "0.166.0": 2}
"""Version → how many CR it takes for a part of the end of a line."""


@pytest.mark.parametrize("version", CODEX)
@pytest.mark.parametrize("given", range(4))
def test_codex_takes_one_cr_off_a_line_and_two_since_it_reads_lines_twice(version: str, given: int) -> None:
    returns, rest = "\r" * given, "\r" * max(0, given - CODEX[version])
    added, _ = patched("codex", version, f"*** Add File: f\n+x{returns}")
    edited, _ = patched("codex", version, f"*** Update File: f\n@@\n-a{returns}\n+x{returns}", f="a\nb\n")
    assert (added, edited) == ({"f": f"x{rest}\n"}, {"f": f"x{rest}\nb\n"})


def test_a_line_of_two_cr_is_an_empty_one_where_codex_takes_both_off() -> None:
    section = "*** Update File: f\n@@\n a\n\r\r\n-b\n+x"
    assert patched("codex", "0.166.0", section, f="a\n\nb\n")[0] == {"f": "a\n\nx\n"}
    assert patched("codex", "0.128.0", section, f="a\n\nb\n")[0] is None


def test_blanks_after_the_end_of_the_file_are_refused_as_codex_did_until_0_139() -> None:
    section = "*** Update File: f\n@@\n-a\n+x\n*** End of File "
    assert patched("codex", "0.166.0", section, f="a\n")[0] == {"f": "x\n"}
    assert patched("codex", "0.139.0", section, f="a\n") == (
        None,
        'apply_patch: line 6 of the patch is "*** End of File "; expected "*** End of File" without blanks after it',
    )


@pytest.mark.parametrize(
    "before, section, after",
    [
        ("a\nb\n", "*** Update File: f\n@@\n-a\r\n+x\r", "x\r\nb\n"),
        ("a\r\nb\r\n", "*** Update File: f\n@@\n a\r\n-b\r\n+x\r", "a\r\nx\r\n"),
        ("a\nb\n", "*** Update File: f\n@@\n a\r\n\r\n-b\r\n+x\r", "a\r\nx\r\n"),
        ("q\n", "*** Add File: f\n+a\r\n+\r", "a\r\n\r\n"),
        ("\ufeffa\nb\n", "*** Update File: f\n@@\n \ufeffa\n-b\n+x", "\ufeffa\nx\n"),
        ("k\x85\na\n", "*** Update File: f\n@@ k\x85\n-a\n+x", "k\x85\nx\n"),
    ],
)
def test_opencode_keeps_the_cr_of_a_patch_and_one_byte_order_mark(before: str, section: str, after: str) -> None:
    assert patched("opencode", "1.18.33", section, f=before)[0] == {"f": after}


def test_codex_names_files_in_its_result_as_the_patch_does() -> None:
    section = "*** Update File: ./f\n@@\n-a\n+b\n*** Update File: f\n*** Move to: d/../g\n@@\n-b\n+c"
    files, told = patched("codex", "0.166.0", section, f="a\n")
    assert files == {"g": "c\n"}
    assert told.endswith("files:\nM ./f\nM d/../g\n")


@pytest.mark.parametrize(
    "version, edits", [("0.101.0", 1), ("0.133.0", 1), ("0.139.0", 1), ("0.140.0", 2), ("0.151.0", 2), ("0.166.0", 2)]
)
def test_a_patch_in_a_command_is_read_as_its_version_reads_patches(version: str, edits: int) -> None:
    """An empty line before the first anchor is left out up to 0.139.0, and a kept line since."""
    command = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: f\n\n@@\n-a\n+b\n*** End Patch\nEOF"
    call = DIALECTS["codex"].at(version).read_call(NativeCall("1", "exec_command", {"cmd": command}))
    [operation] = call.operations
    assert isinstance(operation, op.EditFile)
    assert len(operation.edits) == edits
