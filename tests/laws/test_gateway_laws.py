"""Laws of the gateway: what is remembered of a conversation changes nothing but the time that it takes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import example, given, strategies as st

from dragoman.apis import APIS, Lowering
from dragoman.dialects import DIALECTS, Dialect
from dragoman.dialects.base.availability import qualified
from dragoman.model import (
    CallPart,
    ConversationItem,
    ExecutedBy,
    FinishReason,
    FunctionDefinition,
    Message,
    NativeCall,
    NativeResult,
    Provenance,
    ProviderDefinition,
    Reply,
    Request,
    TextPart,
    operations as op,
    results_message,
    system,
    user,
)
from dragoman.serve.gateway import CLIENTS, Words
from dragoman.serve.gateway.conversations import Conversations, KnownReply
from dragoman.serve.gateway.memory import Memory
from dragoman.serve.gateway.requests import Prepared, Walk
from tests.examples import examples

TOOLS = (
    *DIALECTS["claude_code"].definitions(),
    FunctionDefinition(
        "mcp__notes__add", "Add a note.", {"type": "object", "properties": {"text": {"type": "string"}}}
    ),
)
MODELS = {"codex": ("gpt-5.5", "openai_responses"), "gemini_cli": ("gemini-3-pro-preview", "gemini_generate")}
WORDS = {
    name: Words(TOOLS, client=DIALECTS["claude_code"], model=DIALECTS[name], folder="/work", reads_first=True)
    for name in MODELS
}
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Update File: b.py\n@@\n-x\n+y\n*** End Patch\n"
OWN = {
    "codex": [("exec_command", {"cmd": "ls"}), ("apply_patch", PATCH), ("mcp__notes__add", {"text": "n"})],
    "gemini_cli": [
        ("read_file", {"file_path": "a.py"}),
        ("replace", {"file_path": "a.py", "instruction": "i", "old_string": "x", "new_string": "y"}),
        ("mcp__notes__add", {"text": "n"}),
    ],
}
FOREIGN = [
    ("Read", {"file_path": "/work/a.py"}),
    ("Edit", {"file_path": "/work/a.py", "old_string": "x", "new_string": "y"}),
    ("Bash", {"command": "ls"}),
    ("NoSuchTool", {"a": 1}),
]
READ = "1\tx\n2\t"
STEPS = st.tuples(
    st.sampled_from(["own", "foreign", "said"]), st.integers(0, 3), st.booleans(), st.sampled_from([READ, "no"])
)


def conversation_of(steps: list[tuple[str, int, bool, str]], model: str, kept: Conversations) -> list[ConversationItem]:
    """What a client sends after these steps: replies that came from the gateway, replies that did not, and words."""
    items: list[ConversationItem] = [system("Use Read and Edit.\nWorking directory: /work"), user("Do it.")]
    seen: frozenset[str] = frozenset()
    for number, (kind, choice, whole, told) in enumerate(steps):
        if kind == "said":
            items.append(user(f"And {number}."))
            continue
        if kind == "own":
            name, arguments = OWN[model][choice % 3]
            made_by = Provenance(api=MODELS[model][1], model=MODELS[model][0])
            reply = Reply(
                (CallPart(NativeCall(f"m{number}", name, arguments)),), FinishReason.CALLS, provenance=made_by
            )
            base = f"call_{number:020x}"
            kept.add(KnownReply(base, (reply,), Lowering(), seen, vocabulary=WORDS[model].vocabulary))
            words = WORDS[model].fork()
            groups, results = words.groups(reply, base, Lowering(), seen), dict[str, NativeResult]()
            while calls := words.next(groups, results):
                results |= {call.id: NativeResult(call.id, told, name=call.name) for call in calls}
                items += exchanged(number, calls, results)
                if not whole:
                    break
        else:
            call = NativeCall(f"toolu_{number}", *FOREIGN[choice])
            items += exchanged(number, (call,), {call.id: NativeResult(call.id, told, name=call.name)})
    return items


def exchanged(
    number: int, calls: tuple[NativeCall, ...], results: dict[str, NativeResult]
) -> tuple[ConversationItem, ConversationItem]:
    parts = (TextPart(f"Step {number}."), *(CallPart(call) for call in calls))
    return Message("assistant", parts), results_message(*(results[call.id] for call in calls))


def prepared(memory: Memory, model: str, items: list[ConversationItem], kept: Conversations) -> Prepared:
    names = ("claude_code", model)
    _, walk = memory.walked(model.encode(), tuple(items), 1, lambda: Walk(WORDS[model], kept, names, MODELS[model][1]))
    return walk.prepared(Request("claude", tuple(items), TOOLS), MODELS[model][0], same_api=False)


def told(one: Prepared, model: str) -> tuple[Any, ...]:
    body = APIS[MODELS[model][1]].encode(one.request).to_bytes()
    return (one.request, body, one.calls, one.seen)


@examples(60)
@given(
    model=st.sampled_from(sorted(MODELS)),
    steps=st.lists(STEPS, min_size=1, max_size=8),
    sent=st.lists(st.tuples(st.integers(1, 40), st.none() | st.integers(0, 40)), min_size=2, max_size=6),
)
@example("codex", [("foreign", 3, True, "no"), ("said", 0, True, "no")], [(1, None), (3, None)])
@example("codex", [("foreign", 0, True, READ), ("foreign", 1, True, "no")], [(4, None), (4, 4)])
@example("codex", [("own", 0, False, READ)], [(1, None), (1, None)])
@example("codex", [("own", 1, True, READ), ("said", 0, True, READ)], [(9, None), (3, None), (10, 4)])
@example("codex", [("own", 1, False, READ), ("own", 1, True, "no")], [(3, None), (6, None)])
def test_a_conversation_gives_the_same_request_whatever_is_remembered_of_it(
    model: str, steps: list[tuple[str, int, bool, str]], sent: list[tuple[int, int | None]]
) -> None:
    kept, memory = Conversations(None), Memory()
    items = conversation_of(steps, model, kept)
    for length, marked in sent:  # beginnings of the conversation in any order, each with a mark somewhere or none
        now = items[: 2 + length % (len(items) - 1)]
        if marked is not None:
            place = marked % len(now)
            now[place] = msgspec.structs.replace(now[place], metadata={"anthropic_messages": {"mark": marked}})
        assert told(prepared(memory, model, now, kept), model) == told(prepared(Memory(), model, now, kept), model)


@examples(60)
@given(model=st.sampled_from(sorted(MODELS)), steps=st.lists(STEPS, min_size=1, max_size=8))
def test_what_was_sent_stays_the_beginning_of_what_is_sent_later(
    model: str, steps: list[tuple[str, int, bool, str]]
) -> None:
    """Providers keep what a request begins with for the next one: a byte that changes there is paid for anew."""
    kept, memory = Conversations(None), Memory()
    items = conversation_of(steps, model, kept)
    api = APIS[MODELS[model][1]]
    before: list[Any] = []
    for length in range(2, len(items) + 1):
        if items[length - 1].role == "assistant":
            continue
        one = prepared(memory, model, items[:length], kept)
        if one.calls:
            continue  # the client is given the next step, and nobody is asked
        now = api.encode(one.request).body[api.conversation_fields[-1]]
        settled = before[:-1]  # what the user says next may be joined to the last one
        assert now[: len(settled)] == settled
        before = now


def test_a_turn_that_extends_a_conversation_translates_what_is_new_alone() -> None:
    taken: list[ConversationItem] = []

    class Counting(Walk):
        def take(self, item: ConversationItem) -> None:
            taken.append(item)
            super().take(item)

    kept, memory = Conversations(None), Memory()
    items = conversation_of([("own", 0, True, READ)] * 40, "gemini_cli", kept)
    for length in range(len(items) - 20, len(items) + 1):
        taken.clear()
        memory.walked(
            b"",
            tuple(items[:length]),
            1,
            lambda: Counting(WORDS["gemini_cli"], kept, ("claude_code", "gemini_cli"), MODELS["gemini_cli"][1]),
        )
        assert len(taken) == (length if length == len(items) - 20 else 1)


def _said_by(model: Dialect) -> set[type[op.Operation]]:
    """Every operation that a model can be offered a tool for. A tool for programs takes the place of all the others."""
    chosen = model.chosen(set(op.OPERATIONS.values()), executed_by=ExecutedBy.CLIENT)
    return {meant for one in chosen if not model.on_request(one) for meant in one.operation_types}


@pytest.mark.slow
@pytest.mark.parametrize("model", sorted(DIALECTS.built_in))
@pytest.mark.parametrize("client", sorted(client.dialect for client in CLIENTS.values()))
def test_an_operation_that_the_model_can_say_never_passes_through(client: str, model: str) -> None:
    own, target = DIALECTS[client], DIALECTS[model]
    offered = own.definitions()
    words = Words(offered, client=own, model=target)
    said = _said_by(target)
    assert [one for one in words.passed if own.meanings(one) & said] == []
    own_tools = [one for one in offered if not isinstance(one, ProviderDefinition)]
    assert {*words.names} | {*words.passed} == {qualified(one.namespace, one.name) for one in own_tools}
    spoken = {str(one.name) for one in words.definitions}
    assert {*words.names.values()} <= spoken, "what stands for a tool of the client is offered"
