"""`dragoman hook install`, `uninstall` and `status` for several clients, of which one has settings nobody can read."""

from __future__ import annotations

import json

from dragoman.cli.terminal.console import ExitCode

from .conftest import User


def test_settings_that_cannot_be_read_keep_no_other_client_from_being_installed(user: User) -> None:
    odd = user.home / ".claude" / "settings.json"
    odd.parent.mkdir()
    odd.write_bytes(b"\xff\xfe{\0}\0")
    theirs = user.write(user.home / ".gemini" / "settings.json", '{"theme": "dark"} // mine\n')
    installed = user.types("hook", "install", "--all", "--yes")
    assert (installed.code, " hook --client gemini_cli " in theirs.read_text()) == (ExitCode.DEFINITION, True)
    assert f"Left as it is: {odd} cannot be read" in installed.err
    found = user.types("hook", "status", "--json")
    rows = {(row["client"], row["scope"]): row["problem"] for row in found.json}
    assert (found.code, rows["gemini_cli", "user"]) == (ExitCode.NO, "")
    assert rows["claude_code", "user"].startswith(f"{odd} cannot be read")
    taken_out = user.types("hook", "uninstall", "--all", "--yes")
    assert (taken_out.code, theirs.read_text()) == (ExitCode.DEFINITION, '{"theme": "dark"} // mine\n')
    assert odd.read_bytes() == b"\xff\xfe{\0}\0"
    alone = user.types("hook", "install", "claude_code", "--yes")
    assert (alone.code, alone.err.startswith(f"error: {odd} cannot be read")) == (ExitCode.DEFINITION, True)


def test_status_tells_of_a_line_that_is_asked_about_some_tools_only(user: User) -> None:
    user.types("hook", "install", "claude_code", "--yes")
    settings = user.home / ".claude" / "settings.json"
    written = json.loads(settings.read_text())
    written["hooks"]["PreToolUse"][0]["matcher"] = "Edit|Write"
    settings.write_text(json.dumps(written))
    found = user.types("hook", "status")
    assert (found.code, "run: dragoman hook install claude_code" in found.out) == (ExitCode.NO, True)
    user.types("hook", "install", "claude_code", "--yes")
    assert user.types("hook", "status").code == ExitCode.OK
