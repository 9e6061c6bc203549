"""The line of a hook in the settings of clients: put in, looked at, taken out."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest
from hypothesis import example, given, settings, strategies as st

from dragoman.errors import ConfigError
from dragoman.serve.hook import (
    CLIENTS,
    apply,
    changes_to_install,
    changes_to_uninstall,
    client_named,
    installed,
    lines_in,
    obstacles,
    targets_of,
    tried,
)
from dragoman.serve.hook.installing import is_whole
from dragoman.serve.hook.json_edit import added, plain, read_json, removed, without_empty
from dragoman.serve.hook.skipped_lines import codex_digests, switched_off

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


OURS = "/old/place/dragoman hook --client CLIENT --event PreToolUse || exit 2"
ODD: dict[str, str] = {
    # Settings as people have them, and as they should not. EVENT is the first event of the client.
    "an empty object": "{}",
    "a blank file": " \n\t\n",
    "no end of line": '{"a": 1}',
    "tabs": '{\n\t"a": {\n\t\t"b": []\n\t}\n}\n',
    "one space": '{\n "a": [\n  1\n ]\n}\n',
    "no spaces": '{"a":[1,2],"hooks":{}}',
    "CRLF": '{\r\n  "a": 1, // one\r\n  "hooks": {\r\n  }\r\n}\r\n',
    "a mark of the byte order": '\ufeff{\n  "a": 1\n}\n',
    "that mark alone": "\ufeff",
    "comments": '// first\n{ /* in */ "a": 1 // last\n /* end */ }\n// after\n',
    "a comment in an empty list": '{"hooks": {"EVENT": [ // none yet\n ]}, "EVENT": [ /* none */ ]}',
    "a comment in an empty object": "{ // nothing\n}",
    "trailing commas": '{"a": [1, 2,], "hooks": {"EVENT": [{"x": 1,},],}, "EVENT": [{"y": 2}, ],}',
    "other hooks": '{"hooks": {"EVENT": [{"hooks": [{"command": "mine"}]}], "X": [1]}, "EVENT": [{"command": "mine"}]}',
    "the same name twice": '{"hooks": {"x": 1}, "a": 1, "hooks": {"EVENT": []}, "a": 2, "EVENT": []}',
    "one name twice, and one between": '{"a": 1, "z": {}, "a": 2}',
    "marks in texts": '{"a": "{[/* // ]}\\\\\\"", "b": "\\u007b"}',
    "letters of many scripts": '{"π": "ü\U0001f600"}',
}
WITH_OURS: dict[str, str] = {
    # Lists of hooks with a line of ours that an earlier installation left there.
    "alone": '{"EVENT": [{"command": "OURS"}]}',
    "between others": '{"EVENT": [{"x": 1}, {"command": "OURS"}, {"y": 2}]}',
    "last": '{"EVENT": [{"x": 1}, {"command": "OURS"}]}',
    "first of a group": '{"EVENT": [{"hooks": [{"command": "OURS"}, {"command": "mine"}]}]}',
    "last of a group": '{"EVENT": [{"hooks": [{"command": "mine"}, {"command": "OURS"},]}, {"x": 1}]}',
    "twice, with comments": '{"EVENT": [ // keep\n {"command": "OURS"}, // this\n {"command": "OURS"} /* too */ ]}',
    "behind a comment": '{"EVENT": [\n{"x": 1}, // keep this\n{"command": "OURS"} // and this\n]}',
    "for an event that is not installed": '{"Elsewhen": [{"command": "OURS"}]}',
}


def placed(text: str, client: str) -> bytes:
    text = text.replace("EVENT", client_named(client).lines[0])
    return text.replace("OURS", OURS.replace("CLIENT", client)).encode()


def install(client: str, kept: Path, *, outcomes: bool = False) -> None:
    for change in list(changes_to_install(client, None, outcomes=outcomes)):
        apply(change, kept)


def uninstall(client: str, kept: Path) -> None:
    for change in list(changes_to_uninstall(client, None, kept)):
        apply(change, kept, undo=True)


def everything(folder: Path) -> dict[str, object]:
    """Every file, folder and link below a folder, with what it holds."""
    return {
        str(path): (path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else "folder")
        for path in folder.rglob("*")
        if "kept" not in path.parts
    }


def settings_of(client: str) -> Path | None:
    return next((target.path for target in targets_of(client, None) if target.content is None), None)


WITH_SETTINGS = [client for client in CLIENTS if client not in ("copilot", "cline", "goose", "opencode", "pi")]
"""Clients in whose own settings our line is; the others have a file of ours."""


@pytest.mark.parametrize("outcomes", [False, True])
@pytest.mark.parametrize("client", CLIENTS)
def test_installing_and_taking_out_again_leaves_no_trace(client: str, outcomes: bool, home: Path) -> None:
    before = everything(home)
    install(client, home / "kept", outcomes=outcomes)
    assert everything(home) != before
    uninstall(client, home / "kept")
    assert everything(home) == before


@pytest.mark.parametrize("client", WITH_SETTINGS)
@pytest.mark.parametrize("name", ODD)
def test_a_line_is_put_into_odd_settings_and_taken_out_to_the_byte(name: str, client: str, home: Path) -> None:
    path = settings_of(client)
    assert path is not None
    path.parent.mkdir(parents=True)
    path.write_bytes(placed(ODD[name], client))
    path.chmod(0o444)
    before = everything(home)
    install(client, home / "kept")
    text = path.read_bytes().decode()
    was = plain(read_json(placed(ODD[name], client).decode())) if ODD[name].strip("\ufeff \t\n") else {}
    assert without_ours(plain(read_json(text))) == without_ours(was)
    assert [line for target in installed(client, None) for line in lines_in(target)[0]]
    assert comments_in(text) == comments_in(ODD[name])
    assert ("\r\n" in text, text.startswith("\ufeff")) == ("\r\n" in ODD[name], ODD[name].startswith("\ufeff"))
    assert text.count("\n") == text.count("\r\n") or "\r\n" not in text
    assert path.stat().st_mode & 0o777 == 0o444
    assert list(changes_to_install(client, None)) == []
    uninstall(client, home / "kept")
    assert everything(home) == before


@pytest.mark.parametrize("client", WITH_SETTINGS)
@pytest.mark.parametrize("name", WITH_OURS)
def test_a_line_of_an_earlier_installation_is_replaced_and_nothing_else_is_lost(
    name: str, client: str, home: Path
) -> None:
    path = settings_of(client)
    assert path is not None
    path.parent.mkdir(parents=True)
    text = WITH_OURS[name] if client == "droid" else f'{{"a": [1], "hooks": {WITH_OURS[name]}}}'
    path.write_bytes(placed(text, client))
    wanted = without_ours(plain(read_json(path.read_text())))
    install(client, home / "kept")
    assert OURS.partition(" ")[0] not in path.read_text()
    assert without_ours(plain(read_json(path.read_text()))) == wanted
    uninstall(client, home / "kept")
    assert without_ours(plain(read_json(path.read_text()))) == wanted
    assert comments_in(path.read_text()) == comments_in(WITH_OURS[name])
    assert " hook --client " not in path.read_text()


def without_ours(value: object) -> object:
    """A value without our lines, and without what is empty then."""
    if isinstance(value, str):
        return None if " hook --client " in value else value
    if isinstance(value, dict):
        ours = any(isinstance(one, str) and " hook --client " in one for one in value.values())
        found = {} if ours else {name: made for name, one in value.items() if (made := without_ours(one)) is not None}
        alone = found.keys() <= {"matcher"} and not found.get("a")
        return None if alone else found
    if isinstance(value, list):
        return [made for one in value if (made := without_ours(one)) is not None] or None
    return value


def comments_in(text: str) -> list[str]:
    """The comments of a settings file, in any order."""
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
    return sorted(one.strip() for one in re.findall(r"//[^\r\n]*|/\*.*?\*/", outside))


@pytest.mark.parametrize("client", WITH_SETTINGS)
@pytest.mark.parametrize(
    "text",
    ["[]", "null", '"x"', "1", "{", '{"a": }', "{'a': 1}", "{,}", '{"a": 1} x', "/*", '{"hooks": 1, "EVENT": 1}'],
)
def test_settings_that_hold_no_place_for_a_line_are_an_error_and_stay(text: str, client: str, home: Path) -> None:
    path = settings_of(client)
    assert path is not None
    path.parent.mkdir(parents=True)
    path.write_bytes(placed(text, client))
    before = everything(home)
    with pytest.raises(ConfigError, match=re.escape(str(path))):
        install(client, home / "kept")
    assert everything(home) == before


@pytest.mark.parametrize("client", WITH_SETTINGS)
def test_what_is_no_file_of_text_is_an_error_and_is_not_waited_for(client: str, home: Path) -> None:
    path = settings_of(client)
    assert path is not None
    path.parent.mkdir(parents=True)
    for make in (lambda: os.mkfifo(path), path.mkdir, lambda: path.symlink_to(path), lambda: path.write_bytes(b"\xff")):
        make()
        with pytest.raises(ConfigError, match=re.escape(str(path))):
            list(changes_to_install(client, None))
        path.rmdir() if path.is_dir() else path.unlink()


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("there", [True, False])
def test_a_link_to_settings_stays_one_also_where_it_leads_nowhere(there: bool, client: str, home: Path) -> None:
    kept_elsewhere = home / "dotfiles" / "settings"
    kept_elsewhere.parent.mkdir()
    path = targets_of(client, None)[0].path
    path.parent.mkdir(parents=True)
    path.symlink_to(kept_elsewhere)
    if there and settings_of(client) is not None:
        kept_elsewhere.write_text('{"a": 1}')
    before = everything(home)
    install(client, home / "kept", outcomes=True)
    assert path.is_symlink()
    assert kept_elsewhere.is_file()
    uninstall(client, home / "kept")
    assert everything(home) == before


CHANGED: dict[str, str] = {
    # Settings that a client, or its user, changes after the line was put in.
    "no hooks": '{\n  "theme": "dark"\n}\n',
    "no end of line": '{"theme": "dark"}',
    "CRLF": '{\r\n  "theme": "dark",\r\n  "x": []\r\n}\r\n',
    "a comment behind it": '{\n  "theme": "dark" // no comma here\n}\n',
    "a comma in that comment": '{\n  "theme": "dark" // really, really\n}\n',
    "other hooks": '{\n  "theme": "dark",\n  "hooks": {\n    "EVENT": [\n      {"x": 1}\n    ]\n  }\n}\n',
    "another event": '{"theme": "dark", "hooks": {"Other": [{"x": 1}]}, "EVENT": []}',
    "a comment between": '{"hooks": {"EVENT": [{"x": 1} // keep\n]}, "EVENT": [{}], "theme": "dark"}\n',
}


@pytest.mark.parametrize("client", WITH_SETTINGS)
@pytest.mark.parametrize("there", CHANGED)
def test_a_file_that_was_changed_since_loses_what_installing_put_there_alone(
    there: str, client: str, home: Path
) -> None:
    path = settings_of(client)
    assert path is not None
    path.parent.mkdir(parents=True)
    path.write_bytes(placed(CHANGED[there], client))
    for outcomes in (False, True):
        before = everything(home)
        install(client, home / "kept", outcomes=outcomes)
        path.write_bytes(path.read_bytes().replace(b'"dark"', b'"light"'))
        uninstall(client, home / "kept")
        path.write_bytes(path.read_bytes().replace(b'"light"', b'"dark"'))
        assert everything(home) == before


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


@pytest.mark.parametrize(
    "written, instead",
    [
        ('"matcher": "*"', '"matcher": "Edit"'),  # asked about one tool only
        ('"PreToolUse"', '"Stop"'),  # asked when the turn is over
        ('"onFailure": "block"', '"onFailure": "allow"'),  # a failing hook would be a permission
        ('"type": "command"', '"type": "prompt"'),
    ],
)
def test_a_line_that_is_not_called_for_every_tool_is_not_whole(written: str, instead: str, home: Path) -> None:
    install("claude_code", home / "kept")
    (target,) = installed("claude_code", None)
    assert is_whole(target)
    text = target.path.read_text()
    assert written in text
    target.path.write_text(text.replace(written, instead))
    assert (bool(installed("claude_code", None)), is_whole(target)) == (True, False)
    install("claude_code", home / "kept")
    assert is_whole(target)


def test_a_line_in_a_comment_or_in_a_broken_file_is_not_whole(home: Path) -> None:
    (target,) = targets_of("claude_code", None)
    target.path.parent.mkdir()
    line = target.entries[0].value["hooks"][0]["command"].replace('"', "'")
    for text in (f'{{ // "{line}"\n}}', f'{{"hooks": {{"PreToolUse": [{{"hooks": [{{"command": "{line}"'):
        target.path.write_text(text)
        assert (bool(installed("claude_code", None)), is_whole(target)) == (True, False)


def test_a_hook_that_can_no_longer_be_started_is_installed_again(home: Path) -> None:
    install("cline", home / "kept")
    (target,) = installed("cline", None)
    target.path.chmod(0o644)
    install("cline", home / "kept")
    assert os.access(target.path, os.X_OK)
    target.path.write_text(target.path.read_text() + "touch evil\n")
    assert (installed("cline", None), is_whole(target), lines_in(target)) == ((target,), False, ([], []))


@pytest.mark.parametrize("there", [None, '{"a": 1}'])
def test_what_a_client_writes_while_its_user_is_asked_is_not_lost(there: str | None, home: Path) -> None:
    path = targets_of("claude_code", None)[0].path
    path.parent.mkdir()
    if there is not None:
        path.write_text(there)
    (change,) = changes_to_install("claude_code", None)
    path.write_text('{"a": 2}')
    with pytest.raises(ConfigError, match="was changed in the meantime"):
        apply(change, home / "kept")
    assert path.read_text() == '{"a": 2}'
    install("claude_code", home / "kept")
    (undoing,) = changes_to_uninstall("claude_code", None, home / "kept")
    path.write_text('{"a": 3}')
    with pytest.raises(ConfigError, match="was changed in the meantime"):
        apply(undoing, home / "kept", undo=True)
    assert path.read_text() == '{"a": 3}'


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


@pytest.mark.parametrize(
    "client, file, text",
    [
        ("claude_code", ".claude/settings.json", '\ufeff{"disableAllHooks": true, }'),
        ("claude_code", ".claude/settings.local.json", '{"disableAllHooks": true'),
        ("codex", ".codex/config.toml", "features = {codex_hooks = false}"),
        ("codex", ".codex/config.toml", "features.hooks = false\r\n"),
        ("gemini_cli", ".gemini/settings.json", '{"hooksConfig": {"disabled": ["x", "dragoman"]}}'),
        ("qwen_code", ".qwen/settings.json", '// no\n{"disableAllHooks": true}'),
        ("copilot", ".github/copilot/settings.local.json", '{"disableAllHooks": true}'),
    ],
)
def test_what_a_project_switches_off_is_found_from_any_folder_in_it(
    client: str, file: str, text: str, home: Path
) -> None:
    project = home / "project"
    (project / "deep" / "er").mkdir(parents=True)
    (project / ".git").mkdir()
    (project / file).parent.mkdir(parents=True)
    (project / file).write_bytes(text.encode())
    found = [why for why in obstacles(client, None, project / "deep" / "er", home) if "switches hooks off" in why]
    assert found == [f"{project / file} switches hooks off"]
    (project / file).write_text("")
    assert not [why for why in obstacles(client, None, project, home) if "switches hooks off" in why]


def test_a_line_that_codex_was_not_told_to_trust_is_found(home: Path) -> None:
    """Codex keeps a digest of each hook that was confirmed, and skips every other one without a word."""
    install("codex", home / "kept")
    project = home / "project"
    project.mkdir()
    skipped = ["Codex skips its PreToolUse line until you confirm it with /hooks"]
    assert list(obstacles("codex", None, project, home)) == skipped
    (((key, digest),),) = ([*codex_digests("PreToolUse", codex_hooks(home)["PreToolUse"])],)
    state = f'[hooks.state."{home}/.codex/hooks.json:{key}"]\ntrusted_hash = "{digest}"\n'
    (home / ".codex" / "config.toml").write_text(state)
    assert list(obstacles("codex", None, project, home)) == []
    (home / ".codex" / "config.toml").write_text(f"{state}enabled = false\n")
    assert list(obstacles("codex", None, project, home)) == [
        f"its PreToolUse line is switched off in {home}/.codex/config.toml"
    ]
    (home / ".codex" / "config.toml").write_text(state.replace(digest, "sha256:0"))
    assert list(obstacles("codex", None, project, home)) == skipped


def test_the_digest_is_the_one_of_codex() -> None:
    """What `hooks/list` of Codex 0.166.0 gave for these hooks, on 2026-11-18."""
    ours = {"type": "command", "timeout": 30, "command": "dragoman hook --client codex --event PreToolUse || é"}
    others = {"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}
    assert list(codex_digests("PreToolUse", [others, {"hooks": [ours]}])) == [
        ("pre_tool_use:1:0", "sha256:54c1470077bc927b501e06f39b793b3cd6d7b235d546d3684e91255e5a0a2b44")
    ]


def codex_hooks(home: Path) -> dict[str, object]:
    hooks = json.loads((home / ".codex" / "hooks.json").read_text())["hooks"]
    assert isinstance(hooks, dict)
    return hooks


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


def spaced(value: object, gaps: Iterator[str]) -> str:
    """A JSON text of a value, with something that means nothing wherever that may stand, and a last comma here and
    there."""
    if isinstance(value, dict | list):
        named: list[tuple[object, object]] = (
            list(value.items()) if isinstance(value, dict) else [(None, one) for one in value]
        )
        members = []
        for name, one in named:
            begin = "" if name is None else f"{json.dumps(name)}{next(gaps)}:{next(gaps)}"
            members.append(f"{next(gaps)}{begin}{spaced(one, gaps)}{next(gaps)}")
        last = f",{next(gaps)}" if bool(members) and bool(next(gaps)) else next(gaps)
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        return f"{opening}{','.join(members)}{last}{closing}"
    return json.dumps(value)


GAPS = ("", " ", "\n\t", "// a, b\n", "/* a, ]} */", "\r\n  ", " // { /* no\n", '/* "//" **/')


@settings(max_examples=40)
@given(
    st.sampled_from(WITH_SETTINGS),
    st.dictionaries(st.sampled_from("abc"), values, max_size=2),
    st.dictionaries(
        st.sampled_from(("PreToolUse", "BeforeTool", "preToolUse", "Stop")), st.lists(values, max_size=2), max_size=2
    ),
    st.lists(st.sampled_from(GAPS), min_size=1, max_size=40),
)
@example("claude_code", {"a": 1, "b": 2}, {}, [" // a, b\n"])
def test_settings_with_comments_anywhere_stay_settings_and_are_given_back(
    client: str, there: dict[str, object], hooks: dict[str, object], gaps: list[str]
) -> None:
    (target,) = targets_of(client, None, outcomes=True)
    whole = {**there, "hooks": hooks} if len(target.entries[0].keys) > 1 else {**there, **hooks}
    before = spaced(whole, cycle(gaps))
    assert plain(read_json(before)) == whole
    text = before
    for entry in target.entries:
        text = added(text, entry.keys, entry.value)
    found = plain(read_json(text))
    assert {name: found[name] for name in there} == there
    assert comments_in(text) == comments_in(before)
    for entry in target.entries:
        text = removed(text, entry.keys, " hook --client ")
    for entry in target.entries:
        for end in range(len(entry.keys), 0, -1):
            text = without_empty(text, entry.keys[:end]) if not _held(whole, entry.keys[:end]) else text
    assert plain(read_json(text)) == whole
    assert comments_in(text) == comments_in(before)


def _held(value: object, keys: tuple[str, ...]) -> bool:
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return True
