"""The line of a hook in the settings of clients: put in, looked at, taken out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from dragoman.errors import ConfigError
from dragoman.serve.hook import (
    CLIENTS,
    apply,
    changes_to_install,
    changes_to_uninstall,
    client_named,
    installed,
    lines_in,
    switched_off,
    targets_of,
    tried,
)
from dragoman.serve.hook.json_edit import added, plain, read_json, removed

COMMENTED = """{
  // what I like
  "theme": "dark", /* really */
  "hooks": {
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}, // keep this
    ],
    "BeforeTool": [],
  },
  "PreToolUse": [{"matcher": "x"}]
}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DRAGOMAN_CONFIG_DIR", str(tmp_path / "config"))
    return tmp_path


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {str(path): (path.read_bytes(), path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("there", [None, "", "{}", COMMENTED])
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.slow
def test_a_line_is_put_in_once_and_taken_out_to_the_byte(client: str, there: str | None, home: Path) -> None:
    speaks = client_named(client)
    kept = home / "kept"
    settings = [target for target in targets_of(client, None) if target.content is None]
    for target in settings if there is not None else ():
        target.path.parent.mkdir(parents=True)
        target.path.write_text(there or "")
    before = files(home)
    for outcomes in (False, False, True, True, False, True):  # the same again changes nothing
        for change in list(changes_to_install(client, None, outcomes=outcomes)):
            apply(change, kept)
        assert list(changes_to_install(client, None, outcomes=outcomes)) == []
        found = installed(client, None)
        assert {target.path for target in targets_of(client, None, outcomes=outcomes)} <= {one.path for one in found}
        text = "".join(target.path.read_text() for target in found)
        if client not in ("opencode", "pi"):
            events = {event for event in speaks.stages if f"--event {event} " in text}
            assert events == {*speaks.lines, *(speaks.record_lines if outcomes else ())}
    if there == COMMENTED and settings:
        text = settings[0].path.read_text()
        assert [line for line in COMMENTED.splitlines() if "//" in line and line.split("//")[1] not in text] == []
        assert '"command": "mine"' in text
    for change in list(changes_to_uninstall(client, None, kept)):
        apply(change, kept, undo=True)
    assert files(home) == before


def test_a_file_that_was_changed_since_loses_our_entry_alone(home: Path) -> None:
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(COMMENTED)
    for change in changes_to_install("claude_code", None):
        apply(change, home / "kept")
    path.write_text(path.read_text().replace('"dark"', '"light"'))
    for change in changes_to_uninstall("claude_code", None, home / "kept"):
        apply(change, home / "kept", undo=True)
    assert plain(read_json(path.read_text())) == plain(read_json(COMMENTED.replace('"dark"', '"light"')))


def test_what_is_not_ours_is_not_overwritten(home: Path) -> None:
    for client in ("copilot", "cline"):
        path = targets_of(client, None)[0].path
        path.parent.mkdir(parents=True)
        path.write_text("somebody's")
        with pytest.raises(ConfigError, match="is not ours"):
            list(changes_to_install(client, None))
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text("{broken")
    with pytest.raises(ConfigError, match=r"settings\.json: it is not JSON at character"):
        list(changes_to_install("claude_code", None))


@pytest.mark.parametrize("client", ["claude_code", "cline", "pi"])
def test_the_installed_line_is_run_and_a_program_that_is_gone_still_denies(client: str, home: Path) -> None:
    for change in changes_to_install(client, None, outcomes=client == "cline"):
        apply(change, home / "kept")
    line, *others = [line for target in installed(client, None) for line in lines_in(target)[0]]
    assert [tried(one, home) for one in (line, *others[:1])] == [None] * (1 + bool(others))
    if client == "claude_code":
        gone = line.replace(line.split()[0], "/nowhere/dragoman")
        assert "exit code 2" in (tried(gone, home) or "")
        assert tried("true", home) is not None


def test_a_line_of_a_project_that_is_not_ours_is_not_run(home: Path) -> None:
    (home / ".claude").mkdir()
    evil = "touch evil; x hook --client claude_code"
    (home / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"PreToolUse": [{"command": evil}]}}))
    (target,) = targets_of("claude_code", home)
    assert (bool(installed("claude_code", home)), lines_in(target)) == (True, ([], [evil]))


def test_what_switches_hooks_off_is_found(tmp_path: Path) -> None:
    written = {
        ".claude/settings.local.json": '{"disableAllHooks": true}',
        ".codex/config.toml": "[features]\nhooks = false\n",
        ".gemini/settings.json": '{"hooksConfig": {"enabled": false}} // off',
        ".qwen/settings.json": '{"disableAllHooks": false}',
    }
    for name, text in written.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    found = {client: [str(path.relative_to(tmp_path)) for path in switched_off(client, tmp_path)] for client in CLIENTS}
    assert {client: files for client, files in found.items() if files} == {
        "claude_code": [".claude/settings.local.json"],
        "codex": [".codex/config.toml"],
        "gemini_cli": [".gemini/settings.json"],
    }


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.dictionaries(st.text(), values), st.sampled_from([None, 2]))
@pytest.mark.slow
def test_an_entry_is_added_to_any_json_and_removed_from_it(there: dict[str, object], indent: int | None) -> None:
    there.pop("hooks", None)
    text = json.dumps(there, indent=indent)
    more = added(added(text, ("hooks", "A"), {"x": "MARK"}), ("hooks", "A"), 1)
    assert json.loads(more) == {**there, "hooks": {"A": [{"x": "MARK"}, 1]}}
    assert json.loads(removed(more, ("hooks", "A"), "MARK")) == {**there, "hooks": {"A": [1]}}
