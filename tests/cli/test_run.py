"""`dragoman run` without a terminal: in pipes, for machines, and all that can be called wrongly."""

from __future__ import annotations

import asyncio
import fcntl
import importlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from dragoman.cli.terminal import live
from dragoman.cli.terminal.console import Console, ExitCode
from dragoman.cli.terminal.live import bill
from dragoman.engine import Exchange, ReplayEngine, RunResult
from dragoman.engine.history import conversation_of
from dragoman.logs import read_events
from dragoman.model import ClientNoted, SessionStarted, ToolCalled, Usage, UserSaid
from tests.engine.loopback import Heard, Loopback, Raw, Turn, loopback

from .conftest import Answer, User
from .prepared import run

KEY = "sk-ant-0123456789"
CLOSED = "http://127.0.0.1:9"  # the port of "discard": nobody listens there
READ = Turn("I look.", calls=(("c1", "Read", {"file_path": "notes.txt"}),))
EDIT = Turn(
    "I change it.", calls=(("c2", "Edit", {"file_path": "notes.txt", "old_string": "tea", "new_string": "milk"}),)
)
FAIL = Turn("I run it.", calls=(("c3", "Bash", {"command": "echo out; echo err >&2; exit 3"}),))
DONE = Turn("It is done.")
NOTHING_LOCAL = dict.fromkeys(("OLLAMA_BASE_URL", "LLAMACPP_BASE_URL", "LMSTUDIO_BASE_URL"), CLOSED)


async def runs(user: User, server: Loopback | None, *words: str, **environ: str) -> Answer:
    """`dragoman run` without a terminal: quick, in this process, beside the server."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in prepared(user, server, environ).items():
            patch.setenv(name, value)
        return await asyncio.to_thread(user.types, "run", *words)


async def starts(user: User, server: Loopback | None, *words: str, stdin: str = "", **environ: str) -> Answer:
    """The same in a process of its own, with its output in pipes."""
    reached = {**user.environ, **prepared(user, server, environ)}
    return Answer.of(await asyncio.to_thread(run, ("run", *words), user.here, reached, stdin.encode()))


def prepared(user: User, server: Loopback | None, environ: Mapping[str, str]) -> dict[str, str]:
    """A file to work on, and the way to the server."""
    if not (user.here / "notes.txt").exists():
        (user.here / "notes.txt").write_text("tea\nbread\n")
    reached = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": KEY} if server is not None else {}
    return {**reached, **environ}


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_BASE_URL"))]:
        monkeypatch.delenv(name)


def records(user: User) -> list[Path]:
    return sorted((Path(user.environ["DRAGOMAN_DATA_DIR"]) / "runs").glob("*.jsonl"))


def said(heard: Heard) -> str:
    return json.dumps(heard.body["messages"])


async def test_a_pipe_gets_the_text_alone_and_all_else_is_said_in_plain_lines(user: User) -> None:
    user.settings("[[prices]]\nmodel = 'played'\ninput = '1000'\noutput = '2000'\n")
    async with loopback(READ, EDIT, FAIL, DONE) as server:
        answer = await starts(user, server, "--yes", "buy milk")
    assert (answer.code, answer.out) == (0, "I look.\nI change it.\nI run it.\nIt is done.\n")
    lines = answer.err.splitlines()
    assert (
        lines[0]
        == f"anthropic:claude-sonnet-4-5 (ANTHROPIC_API_KEY is set), in the words of claude_code, in {user.here}"
    )
    assert lines[1:8] == [
        "● read notes.txt",
        "  2 lines",
        "● edit notes.txt",
        "  modified notes.txt (+1 -1)",
        "  @@ -1,2 +1,2 @@",
        "  -tea",
        "  +milk",
    ]
    assert lines[9] == "● run echo out; echo err >&2; exit 3"
    assert sorted(lines[10:12]) == ["  │ err", "  │ out"]
    assert lines[12].startswith("  exit code 3")
    assert lines[13].startswith("4 rounds · 40 tokens in · 20 out · $0.0800 · ")
    assert len(lines) == 14
    assert "\x1b" not in answer.err
    assert (user.here / "notes.txt").read_text() == "milk\nbread\n"


async def test_json_is_one_event_per_line_the_very_lines_of_the_record(user: User) -> None:
    async with loopback(READ, DONE) as server:
        answer = await runs(user, server, "--json", "look")
    (record,) = records(user)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines() == record.read_text().splitlines()[1:]
    kinds = [json.loads(line)["kind"] for line in answer.out.splitlines()]
    assert kinds[:4] == ["session_started", "system_said", "user_said", "model_asked"]
    assert (kinds.count("tool_called"), kinds.count("tool_returned"), kinds[-1]) == (1, 1, "session_ended")


async def test_a_dry_run_prints_exactly_what_a_run_then_sends(user: User) -> None:
    async with loopback(DONE) as server:
        named = ("--model", "anthropic:claude-sonnet-4-5")
        shown = await runs(user, server, *named, "--dry-run", "hello", ANTHROPIC_API_KEY="")
        assert server.requests == []
        as_json = await runs(user, server, "--dry-run", "--json", "hello")
        await runs(user, server, "hello")
    (heard,) = server.requests
    assert (shown.code, json.loads(shown.out)) == (0, heard.body)
    assert shown.err.splitlines()[0] == f"POST {server.url}/v1/messages"
    assert as_json.json["body"] == heard.body
    assert as_json.json["url"] == server.url + heard.path
    assert KEY not in shown.out + shown.err + as_json.out
    assert len(records(user)) == 1


async def test_the_wire_is_recorded_without_the_key_and_can_be_replayed(user: User) -> None:
    async with loopback(READ, DONE) as server:
        await runs(user, server, "--record-wire", "out/wire.jsonl", "--no-record", "look")
    file = user.here / "out" / "wire.jsonl"
    exchanges = [msgspec.json.decode(line, type=Exchange) for line in file.read_bytes().splitlines()]
    assert [exchange.request for exchange in exchanges] == [heard.body for heard in server.requests]
    assert KEY not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    assert ReplayEngine.from_wire(exchanges)._steps[1].text == "It is done."  # type: ignore[union-attr]
    assert records(user) == []


async def test_a_task_comes_from_standard_input(user: User) -> None:
    async with loopback(DONE, DONE) as server:
        assert (await starts(user, server, "-", stdin="say it\nplease\n")).code == 0
        assert (await starts(user, server, "read", "this:", "-", stdin="a\nb\n")).code == 0
    tasks = [heard.body["messages"][0]["content"][0]["text"] for heard in server.requests]
    assert tasks == ["say it\nplease", "read this:\n\na\nb"]
    assert (await starts(user, None, "-", stdin=" \n")).code == 2


async def test_settings_and_flags_choose_the_model_its_words_its_tools_and_its_rounds(user: User) -> None:
    user.settings("model = 'anthropic:claude-opus-5'\n[models.'claude-*']\noptions = {temperature = 0.5}\n")
    async with loopback(DONE, READ) as server:
        await runs(
            user, server, "--dialect", "plain", "--tools", "read_file,search_*,anthropic.web_search_20250305", "hi"
        )
        limited = await runs(user, server, "--max-iterations", "1", "--set", "dialect=claude_code", "hi")
    first = server.requests[0].body
    assert (first["model"], first["temperature"]) == ("claude-opus-5", 0.5)
    names = [tool["name"] for tool in first["tools"]]
    assert names[0] == "vfs_read"
    assert "web_search" in names
    assert "search_text" in names
    assert "run_command" not in names
    assert "Read" in [tool["name"] for tool in server.requests[1].body["tools"]]
    assert limited.code == 6
    assert "the limit on iterations (1) was reached" in limited.err
    assert "Continue:  dragoman run --resume" in limited.err


async def test_no_tools_and_other_instructions(user: User) -> None:
    async with loopback(DONE) as server:
        await runs(user, server, "--tools", "none", "--system", "Be brief.", "hi")
    assert "tools" not in server.requests[0].body
    assert [block["text"] for block in server.requests[0].body["system"]] == ["Be brief."]


async def test_every_model_can_write_files_and_run_commands_in_words_of_its_own_where_it_has_them(user: User) -> None:
    offered: dict[str, list[str]] = {}
    for model in (
        "anthropic:claude-sonnet-4-5",
        "openai:gpt-5.2",
        "openai:gpt-4o",
        "gemini:gemini-2.5-pro",
        "ollama:llama",
    ):
        shown = await runs(user, None, "--dry-run", "--model", model, "hi")
        tools: list[dict[str, Any]] = shown.json["tools"]
        listed = [one.get("name") or one.get("function", {}).get("name") for one in tools]
        offered[model] = [one["name"] for one in tools[0].get("functionDeclarations", ())] or listed
    assert offered["anthropic:claude-sonnet-4-5"][0] == "Bash"
    assert {"Read", "Edit", "Write", "Glob", "Grep"} <= set(offered["anthropic:claude-sonnet-4-5"])
    assert {"exec_command", "apply_patch"} <= set(offered["openai:gpt-5.2"])
    assert {"exec_command"} < set(offered["openai:gpt-4o"]) & {"exec_command", "apply_patch", "vfs_write"}
    assert {"run_shell_command", "write_file", "replace", "read_file"} <= set(offered["gemini:gemini-2.5-pro"])
    assert {"run_command", "vfs_write", "edit_file", "vfs_read"} <= set(offered["ollama:llama"])


# ── who may ──────────────────────────────────────────────────────────────────


async def test_where_nobody_can_be_asked_a_change_is_refused_and_reading_is_not(user: User) -> None:
    async with loopback(READ, EDIT, DONE) as server:
        answer = await runs(user, server, "buy milk")
    assert answer.code == 0
    assert "  refused: nobody is there to be asked" in answer.err
    assert "1 call was refused, since nobody could be asked: --yes allows them, --ask lets them wait." in answer.err
    assert "nobody is there to be asked" in said(server.requests[2])
    assert (user.here / "notes.txt").read_text() == "tea\nbread\n"


@pytest.mark.parametrize(
    "settings, words, done",
    [
        ("", ["--yes"], True),
        ("", ["--deny"], False),
        ("[policy]\napproval = 'allow'\n", [], True),
        ("[policy]\napproval = 'allow'\n", ["--deny"], False),
        ("[policy]\napproval = 'deny'\n", ["--yes"], False),
        ("[policy.tools]\nedit_file = 'deny'\n", ["--yes"], False),
        ("[policy.tools]\nedit_file = 'allow'\n", [], True),
    ],
)
async def test_settings_and_flags_decide_what_may_run(user: User, settings: str, words: list[str], done: bool) -> None:
    user.settings(settings)
    async with loopback(READ, EDIT, DONE) as server:
        answer = await runs(user, server, *words, "buy milk")
    assert answer.code == 0
    assert ((user.here / "notes.txt").read_text() == "milk\nbread\n") is done


async def test_a_rule_of_ones_own_makes_reading_ask_too(user: User) -> None:
    user.settings("[policy.tools]\nread_file = 'ask'\n")
    async with loopback(READ, DONE) as server:
        assert "refused: nobody is there" in (await runs(user, server, "look")).err


@pytest.mark.parametrize("words, text", [(["--approve", "c2"], "milk\nbread\n"), (["--refuse", "all"], "tea\nbread\n")])
async def test_a_run_that_waits_is_answered_by_another_process(user: User, words: list[str], text: str) -> None:
    async with loopback(READ, EDIT, DONE) as server:
        waiting = await starts(user, server, "--ask", "buy milk")
        assert (waiting.code, len(server.requests)) == (8, 2)
        assert "  c2  edit notes.txt\n" in waiting.err
        (record,) = records(user)
        assert f"dragoman run --resume {record.stem[:8]}" in waiting.err
        assert (user.here / "notes.txt").read_text() == "tea\nbread\n"
        noted = [event for event in read_events(record) if isinstance(event, ClientNoted)]
        assert [(event.name, event.call_id, event.data["name"]) for event in noted] == [
            ("approval_wanted", "c2", "Edit")
        ]
        still = await runs(user, server, "--ask", "--resume", record.stem[:8])
        assert (still.code, len(server.requests)) == (8, 2)
        unknown = await runs(user, server, "--resume", record.stem[:8], "--approve", "c9")
        assert (unknown.code, 'no call "c9" waits; those that do: c2.' in unknown.err) == (2, True)
        answer = await runs(user, server, "--resume", record.stem[:8], *words)
    assert (answer.code, answer.out) == (0, "It is done.\n")
    assert (user.here / "notes.txt").read_text() == text
    _, decided = [event for event in read_events(record) if isinstance(event, ToolCalled)]
    assert decided.decision is not None
    assert (decided.decision.verdict, decided.decision.by) == ("allowed" if "milk" in text else "denied", "user")


TWINS = Turn(
    "Both.",
    calls=(
        ("c2", "Edit", {"file_path": "notes.txt", "old_string": "tea", "new_string": "milk"}),
        ("c2", "Edit", {"file_path": "notes.txt", "old_string": "bread", "new_string": "poison"}),
    ),
)


async def test_an_id_that_two_waiting_calls_share_approves_neither_and_a_digest_approves_its_own(user: User) -> None:
    async with loopback(READ, TWINS, DONE) as server:
        assert (await runs(user, server, "--ask", "go")).code == 8
        (record,) = records(user)
        # A codec gives calls of one reply ids of their own; a record may have been written by anything.
        record.write_text(re.sub(r"\bcall_[0-9a-f]{24}\b", "c2", record.read_text()))
        unclear = await runs(user, server, "--resume", record.stem, "--approve", "c2")
        assert (unclear.code, 'calls wait under "c2":' in unclear.err) == (2, True)
        assert (user.here / "notes.txt").read_text() == "tea\nbread\n"
        noted = [event for event in read_events(record) if isinstance(event, ClientNoted)]
        (milk,) = [event.data["digest"] for event in noted if event.data["arguments"]["new_string"] == "milk"]
        assert milk[:8] in unclear.err
        half = await runs(user, server, "--ask", "--resume", record.stem, "--approve", milk[:8])
        assert (half.code, (user.here / "notes.txt").read_text()) == (8, "milk\nbread\n")
        done = await runs(user, server, "--resume", record.stem, "--refuse", "c2")
    assert (done.code, (user.here / "notes.txt").read_text()) == (0, "milk\nbread\n")


async def test_an_approval_is_for_the_arguments_that_were_recorded_with_its_question(user: User) -> None:
    async with loopback(EDIT, DONE) as server:
        await runs(user, server, "--ask", "go")
        (record,) = records(user)
        record.write_text(record.read_text().replace('"new":"milk"', '"new":"poison"'))  # not in the call itself
        record.write_text(record.read_text().replace('"new_string":"milk"', '"new_string":"poison"'))
        answer = await runs(user, server, "--resume", record.stem, "--approve", "c2")
    assert (answer.code, (user.here / "notes.txt").read_text()) == (0, "tea\nbread\n")
    assert "refused: " in answer.err


# ── going on ─────────────────────────────────────────────────────────────────


async def test_a_run_goes_on_from_its_record_again_and_again(user: User) -> None:
    async with loopback(READ, DONE, Turn("More is done."), Turn("All is done.")) as server:
        await runs(user, server, "look", "--tools", "read")
        (record,) = records(user)
        done = await runs(user, server, "--resume", "last")
        assert (done.code, len(server.requests)) == (2, 2)
        assert f'This run is complete. Say what to do next: dragoman run --resume {record.stem[:8]} "…"' in done.err
        await runs(user, server, "--resume", record.stem[:4], "do more")
        last = await runs(user, server, "--resume", "last", "do all", "--workspace", ".")
    assert (last.code, last.out) == (0, "All is done.\n")
    assert records(user) == [record]
    events = list(read_events(record))
    assert [event.resumed for event in events if isinstance(event, SessionStarted)] == [False, True, True]
    assert [event.text for event in events if isinstance(event, UserSaid)] == ["look", "do more", "do all"]
    assert len({event.id for event in events}) == len(events)
    roles = [message["role"] for message in server.requests[-1].body["messages"]]
    assert roles == ["user", "assistant", "user", "assistant", "user", "assistant", "user"]
    assert [item.role for item in conversation_of(events)][-1] == "assistant"
    assert server.requests[-1].body["tools"] == server.requests[0].body["tools"]


async def test_a_run_whose_provider_failed_goes_on_with_another_model(user: User) -> None:
    async with loopback(READ, Raw(400, b'{"error": {"message": "no"}}'), DONE) as server:
        failed = await runs(user, server, "look")
        assert (failed.code, failed.out) == (4, "I look.\n")
        answer = await runs(
            user,
            server,
            "--resume",
            "last",
            "--model",
            "openai-chat:gpt-5.2",
            OPENAI_API_KEY="k",
            OPENAI_BASE_URL=server.url,
        )
    assert (answer.code, answer.out) == (0, "It is done.\n")
    assert server.requests[-1].api == "openai_chat"
    assert "exec_command" in json.dumps(server.requests[-1].body)


async def test_half_a_line_of_a_killed_process_costs_nothing_else(user: User) -> None:
    async with loopback(READ, DONE, Turn("Again."), Turn("And again.")) as server:
        await runs(user, server, "look")
        (record,) = records(user)
        with record.open("ab") as file:
            file.write(b'{"kind":"model_sa')
        first = await runs(user, server, "--resume", "last", "more")
        again = await runs(user, server, "--resume", "last", "more")
    assert (first.out, again.out) == ("Again.\n", "And again.\n")
    assert "1 of its lines cannot be read and is left out" in again.err
    assert len(server.requests[-1].body["messages"]) == 7
    started = [event.resumed for event in read_events(record) if isinstance(event, SessionStarted)]
    assert started == [False, True, True]


async def test_only_one_process_goes_on_with_a_run(user: User) -> None:
    async with loopback(DONE) as server:
        await runs(user, server, "look")
        (record,) = records(user)
        with record.open("ab") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            answer = await runs(user, server, "--resume", "last", "more")
    assert (answer.code, "running in another process" in answer.err) == (3, True)


# ── in the model's own words ─────────────────────────────────────────────────


async def test_debug_shows_the_models_own_words_and_no_secret(user: User) -> None:
    (user.here / "notes.txt").write_text(f"the key is {KEY}\n")
    async with loopback(READ, DONE) as server:
        answer = await runs(user, server, "--debug", "--tools", "read_file", "look")
    assert answer.code == 0
    assert "offered in the words of claude_code, 1 tools:" in answer.err
    assert '  Read {"type":"object","properties":{"file_path"' in answer.err
    assert 'it said (c1): Read {"file_path":"notes.txt"}' in answer.err
    assert "it was told (c1): " in answer.err
    assert "the key is ********" in answer.err
    assert KEY not in answer.err + answer.out


# ── what can go wrong ────────────────────────────────────────────────────────


async def test_without_any_model_it_says_what_to_set(user: User) -> None:
    answer = await runs(user, None, "hi", **NOTHING_LOCAL)
    assert (answer.code, answer.out) == (3, "")
    assert "there is no model to ask" in answer.err
    assert all(word in answer.err for word in ("ANTHROPIC_API_KEY", "Ollama (port 11434)", "--model provider:model"))


def with_local_extra(user: User) -> dict[str, str]:
    """The environment of somebody who installed the extra that runs a model in the process."""
    user.write(user.home / "extra" / "xllamacpp" / "__init__.py", "")
    return {**NOTHING_LOCAL, "PYTHONPATH": str(user.home / "extra")}


async def test_a_large_file_is_not_fetched_where_nobody_was_asked(user: User) -> None:
    environ = with_local_extra(user)
    chosen, named = await asyncio.gather(
        starts(user, None, "hi", **environ), starts(user, None, "--model", "local:qwen2.5-coder-1.5b", "hi", **environ)
    )
    assert (chosen.code, named.code) == (3, 3)
    way = "--model local:qwen2.5-coder-1.5b --fetch (1.1 GB, fetched once; good for simple tasks)"
    assert way in chosen.err
    assert "the file of qwen2.5-coder-1.5b is not here: --fetch fetches it once (1.1 GB)" in named.err
    assert not (Path(user.environ["DRAGOMAN_CACHE_DIR"]) / "models").exists()


async def test_the_model_whose_file_is_here_is_the_last_resort(user: User) -> None:
    user.write(Path(user.environ["DRAGOMAN_CACHE_DIR"]) / "models" / "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", "")
    answer = await starts(user, None, "--dry-run", "hi", **with_local_extra(user))
    assert answer.code == 0
    assert json.loads(answer.out)["model"] == "qwen2.5-coder-1.5b"
    told = json.loads(answer.out)["messages"][0]["content"]
    assert re.findall(r"^- (\w+)\(", told, re.MULTILINE) == [
        *("edit", "grep_search", "read_file", "run_shell_command", "write_file", "vfs_list")
    ]
    assert told.endswith("paths are relative to it.")
    async with loopback(DONE) as server:
        answer = await starts(user, server, "hi", **with_local_extra(user))
    assert (answer.code, answer.out) == (0, "It is done.\n")


@pytest.mark.parametrize("words, settings, times", [(("--retries", "0"), "", 0), ((), "retries = 1\n", 1)])
async def test_how_often_a_request_is_sent_again_can_be_set(
    user: User, words: tuple[str, ...], settings: str, times: int
) -> None:
    user.settings(settings)
    answer = await runs(user, None, *words, "hi", ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=CLOSED)
    assert (answer.code, answer.err.count("trying again in")) == (4, times)


async def test_no_secret_gets_into_a_record_or_the_events(user: User) -> None:
    user.settings("[providers.groq]\napi_key = 'gsk-of-the-settings'\n")
    secrets = (KEY, "gsk-of-the-settings", "of-the-environment")
    (user.here / "notes.txt").write_text(f"the key is {KEY}, or gsk-of-the-settings\n")
    call = Turn(
        f"I use {KEY}.", calls=(("c1", "Bash", {"command": "cat notes.txt; echo $MY_TOKEN of-the-environment"}),)
    )
    async with loopback(call, DONE) as server:
        wire = user.here / "wire.jsonl"
        answer = await starts(
            user, server, "--yes", "--json", "--record-wire", str(wire), f"say {KEY}", MY_TOKEN="of-the-environment"
        )
    assert answer.code == 0
    written = (*(path.read_text() for path in records(user)), wire.read_text(), answer.out)
    assert [(secret, text) for secret in secrets for text in written if secret in text] == []
    assert all("the key is ********, or ********" in text for text in written)
    assert KEY in said(server.requests[1])  # the model is told what the command said


async def test_a_key_or_a_server_on_this_machine_chooses_the_model(user: User) -> None:
    async with loopback(Raw(body=b'{"object":"list","data":[{"id":"qwen3:8b"}]}'), DONE) as server:
        local = await runs(user, None, "hi", **{**NOTHING_LOCAL, "LLAMACPP_BASE_URL": server.url})
        assert server.requests[1].body["model"] == "qwen3:8b"
    assert (local.code, local.out) == (0, "It is done.\n")
    assert local.err.startswith(f"llamacpp:qwen3:8b (it is served at {server.url}), in the words of qwen_code")
    several = await runs(user, None, "--dry-run", "hi", OPENAI_API_KEY="k", GEMINI_API_KEY="k", **NOTHING_LOCAL)
    assert several.json["model"] == "gpt-5.2"


async def test_a_missing_key_names_the_variable(user: User) -> None:
    answer = await runs(user, None, "--model", "gemini:gemini-2.5-pro", "hi")
    assert (answer.code, answer.out) == (3, "")
    assert "no key for gemini: set GEMINI_API_KEY or GOOGLE_API_KEY" in answer.err


@pytest.mark.parametrize(
    "status, message, models, told",
    [
        (
            404,
            "model: claude-sonet-4-5",
            b'{"data":[{"id":"claude-sonnet-4-5"},{"id":"claude-opus-5"}]}',
            'anthropic has no model "claude-sonet-4-5". Did you mean "claude-sonnet-4-5"? It has claude-so',
        ),
        (
            404,
            "not found",
            b"<html>",
            'Is "claude-sonet-4-5" a model of anthropic? Name another one: --model anthropic:NAME.',
        ),
        (401, "invalid x-api-key", b"", "anthropic did not accept the key: check ANTHROPIC_API_KEY."),
    ],
)
async def test_what_a_provider_refuses_is_told_with_the_way_out(
    user: User, status: int, message: str, models: bytes, told: str
) -> None:
    body = json.dumps({"type": "error", "error": {"type": "some_error", "message": message}}).encode()
    async with loopback(Raw(status, body), Raw(200, models)) as server:
        answer = await runs(user, server, "--model", "anthropic:claude-sonet-4-5", "hi")
    assert (answer.code, answer.out) == (4, "")
    assert f"error: {message} [" in answer.err
    assert told in answer.err
    assert KEY not in answer.err


@pytest.mark.slow
async def test_without_a_network_it_says_so_after_trying_again(user: User) -> None:
    remote = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": CLOSED}
    far, near = await asyncio.gather(
        starts(user, None, "hi", **remote), starts(user, None, "--model", "ollama:qwen3", "hi", OLLAMA_BASE_URL=CLOSED)
    )
    assert (far.code, near.code) == (4, 4)
    for answer in (far, near):
        assert answer.err.count("trying again in") == 2
        assert "error: cannot connect to 127.0.0.1:9" in answer.err
    assert "Check your network and, behind a proxy, HTTPS_PROXY" in far.err
    assert "Start the server of ollama, or name another model" in near.err


async def test_a_reader_that_went_away_is_no_error(user: User) -> None:
    def start(url: str) -> tuple[int, bytes]:
        environ = {**user.environ, "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY}
        command = [sys.executable, "-m", "dragoman", "run", "--json", "hi"]
        with subprocess.Popen(
            command, cwd=user.here, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.readline()
            process.stdout.close()
            return process.wait(), process.stderr.read()

    async with loopback(Turn("words " * 20_000, pieces=500)) as server:
        assert await asyncio.to_thread(start, server.url) == (141, b"")


@pytest.mark.parametrize(
    "words, message",
    [
        ([], 'Give the task: dragoman run "…"'),
        (["--model", "cluade-opus-5", "hi"], 'Did you mean "anthropic:claude-opus-5"?'),
        (["--model", "antropic:claude-opus-5", "hi"], 'there is no provider "antropic". Did you mean "anthropic"?'),
        (["--dialect", "claude-code", "hi"], 'there is no dialect "claude-code". Did you mean "claude_code"?'),
        (["--tools", "read_fil", "hi"], 'there is no tool "read_fil". Did you mean "read_file"?'),
        (["--tools", "anthropic.web_search_2025", "hi"], 'Did you mean "anthropic.web_search_20250305"?'),
        (["--workspace", "/no/such/folder", "hi"], "'/no/such/folder' does not exist"),
        (["--resume", "abc"], "there is no run to continue"),
        (["--approve", "c1", "hi"], "name it with --resume"),
        (["--resume", "last", "--system", "x"], "keeps its instructions"),
        (["--max-iterations", "0", "hi"], "--max-iterations"),
        (["--set", "x", "hi"], '"x" is not of the form KEY=VALUE.'),
    ],
)
def test_a_wrong_call_names_the_nearest_right_one(
    user: User, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    answer = user.types("run", *words)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err


def test_a_wrong_setting_is_a_failure_and_no_limit(user: User) -> None:
    user.settings("modle = 'x'\n")
    answer = user.types("run", "hi")
    assert (answer.code, 'Did you mean "model"?' in answer.err) == (3, True)


def test_its_help_says_what_the_exit_codes_mean(user: User) -> None:
    text = " ".join(user.types("run", "--help").out.split())
    everywhere = " ".join(user.types("--help").out.split())
    for code, meaning in (
        (0, "done"),
        (6, "a limit stopped the run"),
        (8, "a call waits for your approval or your answer"),
    ):
        assert f" {code} {meaning}" in text
        assert f" {code} {meaning}" in everywhere
    assert "130 interrupted" in text


def test_the_page_lists_the_exit_codes_as_they_are() -> None:
    listed = re.findall(r"^\| (\d+) \| (.*) \|$", (PAGES / "run-a-task.md").read_text(), re.MULTILINE)
    assert listed == [(str(code.value), code.meaning) for code in ExitCode]


# ── the pages ────────────────────────────────────────────────────────────────

PAGES = Path(__file__).parents[2] / "docs" / "howto"


@pytest.mark.parametrize("page", ["run-a-task.md", "approvals.md"])
def test_the_commands_of_the_pages_can_be_typed(page: str) -> None:
    text = (PAGES / page).read_text()
    shown = re.findall(r"^(?:.*\| )?dragoman (run|chat)\b(.*?)(?: +#.*|< .*)?$", text, re.MULTILINE)
    assert len(shown) >= 3
    for name, words in shown:
        command = importlib.import_module(f"dragoman.cli.commands.{name}").command
        command.make_context(name, shlex.split(words))


async def test_the_program_of_the_page_on_approvals_runs(
    user: User, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    _, program = re.findall(r"```python\n(.*?)```", (PAGES / "approvals.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(program, names)
    call = Turn(calls=(("c1", "Bash", {"command": "echo main"}),))
    async with loopback(call, Turn("There is main.")) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        await names["main"]("anthropic:claude-sonnet-4-5")
    assert "main" in said(server.requests[1])
    assert capfd.readouterr().out.splitlines()[-1] == "There is main."


@pytest.mark.parametrize("where", ["--model", "settings", "variable"])
def test_a_bare_name_is_a_model_wherever_one_is_named(user: User, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    if where == "settings":
        user.settings('model = "gpt-5.1"')
    if where == "variable":
        monkeypatch.setenv("DRAGOMAN_MODEL", "gpt-5.1")
    answer = user.types("run", "--dry-run", "--json", *(("--model", "gpt-5.1") if where == "--model" else ()), "hi")
    assert (answer.json["url"], answer.json["body"]["model"]) == ("https://api.openai.com/v1/responses", "gpt-5.1")


async def test_the_program_of_the_page_that_answers_a_model_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    program, _ = re.findall(r"```python\n(.*?)```", (PAGES / "approvals.md").read_text(), re.DOTALL)
    question = {
        "id": "q",
        "header": "Colour",
        "question": "Which colour?",
        "options": [{"label": "Red", "description": ""}],
    }
    call = Turn(calls=(("c1", "request_user_input", {"questions": [question]}),))
    async with loopback(call, Turn("Red it is.")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setattr("builtins.input", lambda prompt: "1" if prompt == "Which colour? " else "")
        names: dict[str, Any] = {}
        exec(program, names)
        result = await names["run"].run("Paint it.")
        await names["run"].close()
    assert result.text == "Red it is."
    assert "Red" in json.dumps(server.requests[1].body["input"][-1])


def test_the_bill_says_what_the_prompt_cache_saved_at_list_price() -> None:
    usage = Usage(input_tokens=1_000, cached_read_tokens=10_000, output_tokens=100)
    one = RunResult("r", "completed", "", (), None, usage, 1, charged=(("claude-sonnet-4-5", usage),))
    other = RunResult("r", "completed", "", (), None, usage, 1, charged=(("nobody-knows", usage),))
    counts = ["22,000 tokens in (20,000 of them cached)", "200 out"]
    assert bill([one, one]) == [*counts, "$0.0150 ($0.0540 saved at list price by the prompt cache)"]
    assert bill([one, other]) == [*counts, "cost not known"]


def test_the_last_line_does_not_count_what_the_user_took_to_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([100.0, 112.0])  # when the question is asked, and when it is answered
    monkeypatch.setattr(live, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    view = live.Lines(Console())
    with view.held():
        pass
    ended = RunResult("r", "completed", "", (), None, Usage(), 1)
    view.ended(ended, 12.5)
    view.ended(ended, 12.5)  # the next turn, without a question
    first, second = capsys.readouterr().err.splitlines()
    assert (first.rpartition(" · ")[2], second.rpartition(" · ")[2]) == ("0.5 s", "12.5 s")


async def test_a_conversation_that_is_shortened_says_so_and_show_says_it_too(user: User) -> None:
    user.settings("[models.'claude*']\nwindow = 12_000\n")
    (user.here / "long.txt").write_text("A line of a file that is rather long.\n" * 150)
    read = [Turn(calls=((f"c{number}", "Read", {"file_path": "long.txt"}),)) for number in range(8)]
    async with loopback(*read, DONE) as server:
        answer = await runs(user, server, "look at it again and again")
    assert (answer.code, answer.out) == (0, "It is done.\n")
    told = re.findall(r"^(Context compacted: .*)\.$", answer.err, re.MULTILINE)
    assert told
    assert all(
        re.fullmatch(r"Context compacted: \d+ old results? removed \(about [\d,]+ tokens before, [\d,]+ after\)", line)
        for line in told
    )
    shown = user.types("show", str(records(user)[0]), "--full").out
    assert [line for line in told if line not in shown] == []
