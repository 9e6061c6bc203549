"""Sessions written for another client, or again for the same: what comes along of thoughts and signatures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import LogError
from dragoman.logs import FORMATS, Places, read
from dragoman.logs.port import IN_SUMMARY, Ported, history_of, port, ported, targets
from dragoman.model import (
    CallPart,
    Conversation,
    Media,
    NativeCall,
    NativeResult,
    Provenance,
    Reply,
    ResultPart,
    TextPart,
    user,
)
from dragoman.model.conversation import results_message

STAMP = "2026-01-01T00:00:00.000Z"
SIGNATURE = "c2lnbmF0dXJl"
CLAUDE: list[dict[str, Any]] = [
    {"type": "user", "message": {"role": "user", "content": "Look."}},
    *(
        {
            "type": "assistant",
            "message": {"id": "m1", "role": "assistant", "model": "claude-opus-4-5", "content": [block]},
        }
        for block in (
            {"type": "thinking", "thinking": "Hm.", "signature": SIGNATURE},
            {"type": "redacted_thinking", "data": "c2VjcmV0"},
            {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}},
        )
    ),
    {
        "type": "user",
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a"}]},
    },
]
CODEX: list[dict[str, Any]] = [
    {
        "type": "session_meta",
        "payload": {"id": "c1", "timestamp": STAMP, "cwd": "/w", "originator": "x", "cli_version": "0.166.0"},
    },
    {"type": "turn_context", "payload": {"cwd": "/w", "model": "gpt-5.5"}},
    {
        "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look."}]},
    },
    {
        "type": "response_item",
        "payload": {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAsecret"},
    },
    {
        "type": "response_item",
        "payload": {"type": "function_call", "name": "exec_command", "arguments": '{"cmd":"ls"}', "call_id": "call_1"},
    },
    {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "call_1", "output": "a"}},
]


def _claude() -> list[dict[str, Any]]:
    return [
        {
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None,
            "sessionId": "s1",
            "cwd": "/w",
            "version": "2.1.325",
            "timestamp": STAMP,
            **record,
        }
        for number, record in enumerate(CLAUDE)
    ]


def _pi() -> list[dict[str, Any]]:
    made_by = {
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": "claude-opus-4-5",
        "stopReason": "toolUse",
    }
    thought = {"type": "thinking", "thinking": "Hm.", "thinkingSignature": SIGNATURE}
    call = {"type": "toolCall", "id": "toolu_1", "name": "bash", "arguments": {"command": "ls"}}
    said: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "Look."}]},
        {"role": "assistant", "content": [thought, call], **made_by},
        {"role": "toolResult", "toolCallId": "toolu_1", "toolName": "bash", "content": [{"type": "text", "text": "a"}]},
    ]
    head = {"type": "session", "version": 3, "id": "p1", "timestamp": STAMP, "cwd": "/w"}
    messages = [
        {"type": "message", "id": str(number), "parentId": str(number - 1) if number else None, "timestamp": STAMP}
        | {"message": one}
        for number, one in enumerate(said)
    ]
    return [head, *messages]


GEMINI: list[dict[str, Any]] = [
    {"sessionId": "g1", "projectHash": "h", "startTime": STAMP, "lastUpdated": STAMP, "kind": "main"},
    {"id": "1", "timestamp": STAMP, "type": "user", "content": [{"text": "Look."}]},
    {
        "id": "2",
        "timestamp": STAMP,
        "type": "gemini",
        "content": [
            {
                "functionCall": {"id": "call_1", "name": "run_shell_command", "args": {"command": "ls"}},
                "thoughtSignature": SIGNATURE,
            }
        ],
        "thoughts": [{"subject": "Plan", "description": "Hm.", "timestamp": STAMP}],
        "model": "gemini-3-pro-preview",
        "toolCalls": [
            {
                "id": "call_1",
                "name": "run_shell_command",
                "args": {"command": "ls"},
                "result": [{"functionResponse": {"id": "call_1", "name": "x", "response": {"output": "a"}}}],
                "status": "success",
            }
        ],
    },
]
QWEN: list[dict[str, Any]] = [
    {"type": "user", "provenance": "real_user", "message": {"role": "user", "parts": [{"text": "Look."}]}},
    {
        "type": "assistant",
        "model": "qwen3-coder-plus",
        "message": {
            "role": "model",
            "parts": [
                {"text": "Hm, so.", "thought": True},
                {"functionCall": {"id": "call_1", "name": "run_shell_command", "args": {"command": "ls"}}},
            ],
        },
    },
    {
        "type": "tool_result",
        "message": {
            "role": "user",
            "parts": [{"functionResponse": {"id": "call_1", "name": "x", "response": {"output": "a"}}}],
        },
    },
]
COPILOT: list[dict[str, Any]] = [
    {"type": "session.start", "data": {"sessionId": "o1", "copilotVersion": "1.0.102", "context": {"cwd": "/w"}}},
    {"type": "user.message", "data": {"content": "Look."}},
    {
        "type": "assistant.message",
        "data": {
            "model": "claude-sonnet-4.5",
            "content": "",
            "toolRequests": [
                {"toolCallId": "toolu_1", "name": "bash", "arguments": {"command": "ls", "description": "x"}}
            ],
            "reasoningText": "Hm.",
            "reasoningOpaque": SIGNATURE,
            "reasoningBlocks": {"provider": "anthropic-messages", "blocks": [{"type": "thinking", "x": "c2VjcmV0"}]},
        },
    },
    {"type": "tool.execution_complete", "data": {"toolCallId": "toolu_1", "success": True, "result": {"content": "a"}}},
]
CLINE: dict[str, Any] = {
    "version": 1,
    "agent": "lead",
    "sessionId": "l1",
    "origin": {"source": "cli", "mode": "user", "sessionId": "l1", "version": "3.0.65"},
    "messages": [
        {"id": "1", "role": "user", "content": [{"type": "text", "text": '<user_input mode="act">Look.</user_input>'}]},
        {
            "id": "2",
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": SIGNATURE},
                {"type": "tool_use", "id": "toolu_1", "name": "run_commands", "input": {"commands": ["ls"]}},
            ],
            "modelInfo": {"id": "claude-sonnet-4-5", "provider": "anthropic"},
        },
        {"id": "3", "role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a"}]},
    ],
}
_SPENT = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
OPENCODE: dict[str, Any] = {
    "info": {
        "id": "ses_1",
        "directory": "/w",
        "title": "x",
        "version": "1.18.33",
        "time": {"created": 1, "updated": 1},
    },
    "messages": [
        {
            "info": {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1}},
            "parts": [{"id": "prt_1", "type": "text", "text": "Look."}],
        },
        {
            "info": {
                "id": "msg_2",
                "role": "assistant",
                "modelID": "gpt-5.5",
                "tokens": _SPENT,
                "time": {"created": 1},
            },
            "parts": [
                {
                    "id": "prt_2",
                    "type": "reasoning",
                    "text": "Hm.",
                    "metadata": {"openai": {"itemId": "rs_9", "reasoningEncryptedContent": "gAAAsecret"}},
                },
                {
                    "id": "prt_3",
                    "type": "tool",
                    "tool": "bash",
                    "callID": "call_1",
                    "state": {"status": "completed", "input": {"command": "ls", "description": "x"}, "output": "a"},
                },
            ],
        },
    ],
}
LOGS: dict[str, Any] = {
    "claude_code": _claude(),
    "codex": [{"timestamp": STAMP, **record} for record in CODEX],
    "gemini_cli": GEMINI,
    "qwen_code": [
        {"uuid": str(number), "parentUuid": str(number - 1) if number else None, "sessionId": "q1", "cwd": "/w"}
        | {"timestamp": STAMP, "version": "0.24.4"}
        | record
        for number, record in enumerate(QWEN)
    ],
    "copilot": [{"id": str(number), "timestamp": STAMP, **record} for number, record in enumerate(COPILOT)],
    "pi": _pi(),
    "cline": CLINE,
    "opencode": OPENCODE,
}
PROOFS = {
    "claude_code": (SIGNATURE, "c2VjcmV0"),
    "codex": ("gAAAsecret",),
    "gemini_cli": (SIGNATURE, '"subject":"Plan"'),
    "qwen_code": ("Hm, so.",),
    "copilot": (SIGNATURE, "c2VjcmV0"),
    "pi": (SIGNATURE,),
    "cline": (SIGNATURE,),
    "opencode": ("gAAAsecret", "rs_9"),
}
THOUGHTS = {"claude_code": 2}
"""How many thoughts a log has, where it is not one."""


def written(tmp_path: Path, source: str, to: str, **options: Any) -> Ported:
    log = LOGS[source]
    file = tmp_path / ("log.jsonl" if isinstance(log, list) else "log.json")
    file.write_text("".join(json.dumps(record) + "\n" for record in log) if isinstance(log, list) else json.dumps(log))
    return port(read(file, source), source=source, to=to, folder="/w", places=Places(tmp_path), **options)


def said(tmp_path: Path, client: str) -> list[NativeCall]:
    (file,) = tmp_path.glob("log.json*")
    return calls_in(history_of(read(file, client), FORMATS[client].dialect).conversation)


def calls_in(conversation: Conversation) -> list[NativeCall]:
    return [part.call for item in conversation for part in item.parts if isinstance(part, CallPart)]


def test_every_client_that_keeps_thoughts_is_among_them() -> None:
    assert set(targets()) - set(LOGS) == {"continue"}  # 1.5.47 keeps none in its sessions


@pytest.mark.parametrize("client", LOGS)
def test_thoughts_come_along_with_their_proof_when_the_same_client_and_model_continue(
    client: str, tmp_path: Path
) -> None:
    done = written(tmp_path, client, client)
    assert all(proof in done.content.decode() for proof in PROOFS[client])
    assert "thoughts" not in done.left_out
    assert {call.name for call in calls_in(read_back(done, tmp_path))} == {call.name for call in said(tmp_path, client)}
    assert b"rs_1" not in done.content  # an item with an id must be followed by the very item that it led to


@pytest.mark.parametrize("client", LOGS)
def test_thoughts_of_another_model_stay_behind(client: str, tmp_path: Path) -> None:
    done = written(tmp_path, client, client, model="another-model")
    assert not any(proof in done.content.decode() for proof in PROOFS[client])
    assert done.left_out["thoughts"] == THOUGHTS.get(client, 1)


@pytest.mark.parametrize("client, to", [(client, "codex" if client != "codex" else "claude_code") for client in LOGS])
def test_thoughts_stay_behind_when_another_client_continues(client: str, to: str, tmp_path: Path) -> None:
    done = written(tmp_path, client, to)
    assert not any(proof in done.content.decode() for proof in PROOFS[client])
    assert done.left_out["thoughts"] == THOUGHTS.get(client, 1)


@pytest.mark.parametrize("model, is_signed", [("gemini-3-pro-preview", True), ("gemini-2.5-pro", False)])
def test_calls_for_gemini_3_carry_the_documented_stand_in_for_a_signature(
    model: str, is_signed: bool, tmp_path: Path
) -> None:
    made_by = Provenance("log of a client", model="m", dialect="claude_code")
    calls = (
        CallPart(NativeCall("c1", "Bash", {"command": "ls"})),
        CallPart(NativeCall("c2", "Bash", {"command": "pwd"})),
    )
    results = results_message(NativeResult("c1", "a"), NativeResult("c2", "/w"))
    done = ported(
        (user("Look."), Reply(calls, provenance=made_by), results, user("And?")),
        to="gemini_cli",
        folder="/w",
        model=model,
        places=Places(tmp_path),
    )
    records = [json.loads(line) for line in done.content.splitlines()]
    (said,) = [record for record in records if record.get("type") == "gemini"]
    assert [call["name"] for call in said["toolCalls"]] == ["run_shell_command", "run_shell_command"]
    signatures = [part.get("thoughtSignature") for part in said["content"] or ()]
    # Only the first of parallel calls has one.
    assert signatures == (["skip_thought_signature_validator", None] if is_signed else [])


@pytest.mark.parametrize("to", targets())
@pytest.mark.parametrize("model", [None, "claude-opus-5-5", "gpt-5.5", "gemini-3-pro-preview"])
def test_a_session_that_ends_with_the_models_words_is_written_for_every_model(
    to: str, model: str | None, tmp_path: Path
) -> None:
    """Some models refuse a request that ends so, but the user's next words are still to come."""
    said = (user("Hi."), Reply((TextPart("Hello."),), provenance=Provenance("log", dialect="claude_code")))
    done = ported(said, to=to, folder="/w", model=model, places=Places(tmp_path))
    roles = [
        (item.role, [part.text for part in item.parts if isinstance(part, TextPart)])
        for item in read_back(done, tmp_path)
    ]
    assert roles == [("user", ["Hi."]), ("assistant", ["Hello."])]


# ── what is read back ────────────────────────────────────────────────────────

SMALL: Conversation = (
    user("Look at it."),
    Reply(
        (TextPart("I look."), CallPart(NativeCall("c1", "Bash", {"command": "ls"}))),
        provenance=Provenance("log of a client", model="m", dialect="claude_code"),
    ),
    results_message(NativeResult("c1", "one two")),
    Reply((TextPart("Seen."),), provenance=Provenance("log of a client", model="m", dialect="claude_code")),
)


@pytest.mark.parametrize(
    "before, after, wrong",
    [
        ("I look.", "I see.", "another text than 'I look. Seen.' of the assistant"),
        ("Look at it.", "", "1 texts instead of 2"),
        ("one two", "one", "another result of bash (c1)"),
        ('"command":"ls"', '"command":"rm"', "another call instead of that of bash (c1)"),
    ],
)
def test_a_session_that_is_not_read_back_as_it_was_said_is_not_written(
    before: str, after: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dragoman.logs.formats.parts.copilot_writer import CopilotWriter

    as_it_is = CopilotWriter.written

    def damaged(self: CopilotWriter, *given: Any) -> bytes:
        content = as_it_is(self, *given)
        assert before.encode() in content
        return content.replace(before.encode(), after.encode())

    monkeypatch.setattr(CopilotWriter, "written", damaged)
    with pytest.raises(LogError) as raised:
        ported(SMALL, to="copilot", folder="/w", places=Places(tmp_path))
    assert str(raised.value) == f"the session written for copilot reads back with {wrong}; nothing was put in place"


@pytest.mark.parametrize("to", targets())
def test_texts_of_one_reply_stay_apart(to: str, tmp_path: Path) -> None:
    made_by = Provenance("log of a client", model="m", dialect="claude_code")
    call, result = CallPart(NativeCall("c1", "Bash", {"command": "ls"})), NativeResult("c1", "a")
    said = Reply((TextPart("Done."), TextPart("Nothing"), call, TextPart("more")), provenance=made_by)
    after = Reply((TextPart("to do."),), provenance=made_by)
    done = ported((user("Do it."), said, results_message(result), after), to=to, folder="/w", places=Places(tmp_path))
    texts = [part.text for item in read_back(done, tmp_path) for part in item.parts if isinstance(part, TextPart)]
    assert " ".join(" ".join(texts).split()) == "Do it. Done. Nothing more to do."


@pytest.mark.parametrize(
    "to, wanted",
    [
        ("claude_code", "rm {file}"),
        ("copilot", "rm -r {home}/{id}"),
        ("cline", "rm -r {home}/{id}"),
        ("opencode", "rm {file}; opencode session delete {id}"),
    ],
)
def test_a_session_can_be_removed_with_what_its_client_added(to: str, wanted: str, tmp_path: Path) -> None:
    done = ported(SMALL, to=to, folder="/w", places=Places(tmp_path))
    assert done.remove == wanted.format(file=done.file, home=done.home, id=done.id)


# ── budgets ──────────────────────────────────────────────────────────────────

MADE_BY = Provenance("log of a client", model="m", dialect="claude_code")


def _turn(number: int) -> Conversation:
    """A question, a file that is written, a command, and an answer."""
    write = NativeCall(f"w{number}", "Write", {"file_path": f"/w/f{number}.py", "content": "x\n" * 200})
    run = NativeCall(f"r{number}", "Bash", {"command": f"pytest -k t{number}"})
    return (
        user(f"Question {number}?"),
        Reply((CallPart(write), CallPart(run)), provenance=MADE_BY),
        results_message(
            NativeResult(write.id, f"File created successfully at: /w/f{number}.py"),
            NativeResult(run.id, "Exit code 1\nfailed", is_error=True),
        ),
        Reply((TextPart(f"Answer {number}."),), provenance=MADE_BY),
    )


LONG: Conversation = tuple(item for number in range(1, 21) for item in _turn(number))


def within(budget: int | None, to: str, tmp_path: Path, conversation: Conversation = LONG) -> Ported:
    return ported(conversation, to=to, folder="/w", budget=budget, places=Places(tmp_path))


def read_back(done: Ported, tmp_path: Path) -> Conversation:
    file = tmp_path / done.path.name
    file.write_bytes(done.content)
    return history_of(read(file, done.client), FORMATS[done.client].dialect).conversation


@pytest.mark.parametrize("to", targets())
def test_older_turns_become_a_summary_so_that_the_rest_fits(to: str, tmp_path: Path) -> None:
    whole = within(None, to, tmp_path)
    done = within(whole.tokens // 2, to, tmp_path)
    assert done.tokens <= whole.tokens // 2
    first, *rest = read_back(done, tmp_path)
    summary = "".join(part.text for part in first.parts if isinstance(part, TextPart))
    assert summary.startswith("[Summary of the earlier part of this session. Messages of the user: ")
    for said in ("- Question 1?", "- /w/f1.py: created", "- pytest -k t1: exit code 1", "- Answer 1."):
        assert said in summary.splitlines()
    assert "Question 20?" not in summary
    parts = [part for item in rest for part in item.parts]
    calls = [part.call.id for part in parts if isinstance(part, CallPart)]
    assert sorted(calls) == sorted(part.result.call_id for part in parts if isinstance(part, ResultPart))
    folded = {one.call_id for one in done.lost if one.reason == IN_SUMMARY}
    assert folded
    assert not folded & set(calls)
    assert len(folded) + sum(done.ways.values()) == 40
    assert done.left_out["messages of the user that are only in the summary"] == summary.count("- Question") + 1


def test_a_session_that_fits_is_not_folded(tmp_path: Path) -> None:
    whole = within(None, "codex", tmp_path)
    assert within(whole.tokens, "codex", tmp_path).lost == whole.lost


def test_one_long_turn_is_folded_between_its_steps(tmp_path: Path) -> None:
    steps = tuple(item for number in range(1, 21) for item in _turn(number)[1:3])
    whole = within(None, "codex", tmp_path, (user("Do it all."), *steps))
    done = within(whole.tokens // 2, "codex", tmp_path, (user("Do it all."), *steps))
    first = read_back(done, tmp_path)[0]
    (said,) = first.parts
    assert isinstance(said, TextPart)
    assert "The user's last message then:\nDo it all.\n" in said.text


def test_a_budget_that_nothing_fits_is_refused_with_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"a budget of 10 tokens is too small: .* takes \d+"):
        within(10, "codex", tmp_path)


def test_a_picture_counts_as_a_picture_and_not_by_its_bytes(tmp_path: Path) -> None:
    picture = Media("image/png", data="A" * 400_000)
    done = within(
        None, "claude_code", tmp_path, (user("See.", picture), Reply((TextPart("Seen."),), provenance=MADE_BY))
    )
    assert done.tokens < 3000


def _log(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def test_a_session_is_named_by_its_file_or_given_as_events(tmp_path: Path) -> None:
    file, places = _log(tmp_path / "s1.jsonl", _claude()), Places(tmp_path)
    by_file = port(file, to="codex", places=places)
    by_events = port(read(file, "claude_code"), source="claude_code", to="codex", places=places)
    assert (by_file.messages, by_file.ways, by_file.folder) == (by_events.messages, by_events.ways, by_events.folder)
    with pytest.raises(LogError, match="name it with source="):
        port(read(file, "claude_code"), to="codex", places=places)


def test_the_log_of_a_sub_agent_alone_is_its_own_conversation(tmp_path: Path) -> None:
    of_agent = [{**one, "isSidechain": True, "agentId": "a1"} for one in _claude()]
    done = port(_log(tmp_path / "agent-a1.jsonl", of_agent), to="codex", places=Places(tmp_path))
    assert done.ways == port(_log(tmp_path / "s1.jsonl", _claude()), to="codex", places=Places(tmp_path)).ways
    assert done.ways == {"native": 1}


def test_events_of_several_sessions_are_refused_and_the_sessions_are_named(tmp_path: Path) -> None:
    other = [{**one, "sessionId": "s2"} for one in _claude()]
    file = _log(tmp_path / "both.jsonl", [*_claude(), *other])
    with pytest.raises(LogError, match="means 2 sessions: name one of s1, s2"):
        port(file, to="codex", places=Places(tmp_path))
    assert port(file, to="codex", id="s2", places=Places(tmp_path)).ways == {"native": 1}
    with pytest.raises(LogError, match="no session here has an id that begins with 's3': there are s1, s2"):
        port(file, to="codex", id="s3", places=Places(tmp_path))


def test_gemini_cli_takes_two_sessions_of_one_folder_and_none_of_another_of_that_name(tmp_path: Path) -> None:
    def ported_to(folder: str) -> Ported:
        file = tmp_path / "log.json"
        file.write_text(json.dumps(OPENCODE))
        return port(read(file, "opencode"), source="opencode", to="gemini_cli", folder=folder, places=Places(tmp_path))

    first = ported_to("/a/app").place()
    second = ported_to("/a/app").place()
    assert (second.parent, second == first) == (first.parent, False)
    with pytest.raises(LogError, match="another project called 'app'"):
        ported_to("/b/app")
    (first.parents[1] / ".project_root").write_text("/b/app")
    with pytest.raises(LogError, match="another project called 'app'"):
        ported_to("/a/app")
