"""The loop of a run as a generator: it asks for what it needs and does nothing itself.

`Ask` wants the model's reply to a conversation, `Run` the results of calls. Whoever drives it decides how: at once or
streaming, with threads or a script.

Rules: a required call is required, so a reply without it is asked for again until the limit on iterations. An empty
reply after tool results is continued once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

import msgspec

from dragoman.errors import LimitReached
from dragoman.model import ExecutedBy, Media, NativeCall, NativeResult, ToolChoice, conversation as conv
from dragoman.model.conversation import answered

if TYPE_CHECKING:
    from .policy import ToolPolicy

MALFORMED = "Your last tool call could not be read. Make it again: one call, its arguments a valid JSON object."

NOT_DONE = "The task is not done yet. "
"""How a guard's reminder begins."""

EMPTY = "Your last reply was empty. Continue: answer using the tool results above, or call another tool."


class Ask(msgspec.Struct, frozen=True):
    """Wanted: the model's reply. `round` counts from 1; `choice` is what it may or must call this time."""

    conversation: conv.Conversation
    round: int
    choice: ToolChoice


class Run(msgspec.Struct, frozen=True):
    """Wanted: the results of these calls, in one message. `cut` is the last of them when it came incomplete."""

    calls: tuple[NativeCall, ...]
    round: int
    cut: str | None = None


class Revised(msgspec.Struct, frozen=True):
    """Sent instead of a reply: the conversation to ask with in place of the one in `Ask`."""

    conversation: conv.Conversation


Steps = Generator[Ask | Run, conv.Reply | conv.Message | Revised, conv.Conversation]


def missing_call(choice: ToolChoice, reply: conv.Reply) -> str | None:
    """What the model is asked for when a reply lacks the call that `choice` requires; `None` when it has it.

    The names in `choice` are the ones the model knows.
    """
    if choice.mode == "required":
        wanted = "one of the tools" if not (reply.calls or reply.results) else ""
    elif choice.mode == "one" or (choice.mode == "subset" and choice.required):
        called = any(call.name in choice.names for call in reply.calls)
        wanted = "" if called else " or ".join(f'"{name}"' for name in choice.names)
    else:
        wanted = ""
    return f"You must call {wanted} now. Reply with the tool call, not with text." if wanted else None


def tool_loop(
    conversation: conv.Conversation,
    policy: ToolPolicy,
    *,
    done: int = 0,
    missing: Callable[[ToolChoice, conv.Reply], str | None] = missing_call,
    unfinished: Callable[[conv.Reply], str | None] = lambda _: None,
) -> Steps:
    """Continues until the model asks for nothing more; the conversation it gives ends with the model's last reply.

    A conversation that ends with calls nobody answered continues with them. `done` rounds count as made already.
    `missing` is `missing_call` for a driver whose model knows the tools by other names. `unfinished` is asked about the
    last reply: what it gives is said to the model, which continues.
    """
    choice = policy.choice
    repairs = 0
    wanted: str | None = None
    left = unanswered(conversation)
    if left:
        results = yield Run(left, 0)
        assert isinstance(results, conv.Message)
        conversation = answered(conversation, results)
    if conversation and conversation[-1].role == "tool":
        choice = after_calls(choice)
    most = policy.max_iterations - done
    for number in range(1, most + 1):
        after_results = bool(conversation) and conversation[-1].role == "tool"
        reply = yield Ask(conversation, number, choice)
        while isinstance(reply, Revised):
            conversation = reply.conversation
            reply = yield Ask(conversation, number, choice)
        assert isinstance(reply, conv.Reply)
        if reply.finish is conv.FinishReason.MALFORMED_CALL and repairs < policy.max_repairs:
            repairs += 1
            conversation += _with_reminder(reply, MALFORMED)
            continue
        ours = tuple(call for call in reply.calls if call.executed_by is ExecutedBy.CLIENT)
        if reply.finish is conv.FinishReason.PAUSED and not ours:
            conversation += (reply,)  # the provider's own tools are not done: the same request again continues them
            continue
        wanted = missing(choice, reply)
        if not ours and reply.finish not in _ENDS:
            if wanted is not None:
                conversation += _with_reminder(reply, wanted)
                continue
            if reply.is_empty and after_results and number < most:
                conversation += _with_reminder(reply, EMPTY)
                continue
            reminder = unfinished(reply) if number < most else None
            if reminder is not None:
                conversation += _with_reminder(reply, reminder)
                continue
        conversation += (reply,)
        if not ours or reply.finish in _ENDS:
            return conversation
        results = yield Run(ours, number, ours[-1].id if reply.finish is conv.FinishReason.LENGTH else None)
        assert isinstance(results, conv.Message)
        conversation += (results,)
        choice = after_calls(choice) if wanted is None else choice
    if wanted is not None:
        names = f" ({', '.join(choice.names)})" if choice.names else ""
        reason = f"the model did not make the required tool call{names}"
        advice = "some servers ignore tool_choice: use another model or server, or do not require the call"
        raise LimitReached("iterations", policy.max_iterations, advice, reason=reason)
    raise LimitReached("iterations", policy.max_iterations, "raise max_iterations, or give the model a smaller task")


def _with_reminder(reply: conv.Reply, words: str) -> conv.Conversation:
    """What is added to a conversation to ask again. An empty reply is left out: APIs refuse a turn without content,
    and one that holds only thoughts."""
    return (by_client(words),) if reply.is_empty else (reply, by_client(words))


def by_client(*content: str | Media) -> conv.Message:
    """A user message that no user wrote: it continues a task and never begins one."""
    return msgspec.structs.replace(conv.user(*content), metadata={"dragoman": {"by": "client"}})


def is_by_client(item: conv.ConversationItem) -> bool:
    """Whether a message was made by `by_client`."""
    return item.metadata.get("dragoman", {}).get("by") == "client"


def unanswered(conversation: conv.Conversation) -> tuple[NativeCall, ...]:
    """The calls of the last reply that have no result yet."""
    answers: list[NativeResult] = []
    for item in reversed(conversation):
        if item.role == "assistant":
            calls = [part.call for part in item.parts if isinstance(part, conv.CallPart)]
            ours = [call for call in calls if call.executed_by is ExecutedBy.CLIENT]
            return tuple(call for call in ours if not _answers(call, answers))
        if item.role not in ("tool", "user"):
            return ()
        found = [part.result for part in item.parts if isinstance(part, conv.ResultPart)]
        if not found:
            return ()
        answers = found + answers
    return ()


def _answers(call: NativeCall, left: list[NativeResult]) -> bool:
    """Takes the result of a call out of those that are left: calls of one turn may share an id, results as well."""
    same = [result for result in left if result.call_id == call.id]
    found = next((result for result in same if result.name == call.name), same[0] if same else None)
    if found is None:
        return False
    left.remove(found)
    return True


_ENDS = frozenset(
    {conv.FinishReason.REFUSED, conv.FinishReason.FILTERED, conv.FinishReason.ERROR, conv.FinishReason.CONTEXT_EXCEEDED}
)


def after_calls(choice: ToolChoice) -> ToolChoice:
    """The choice for the rounds after a required call: if it stayed, the model would have to call for ever."""
    if choice.mode in ("required", "one"):
        return ToolChoice()
    if choice.mode == "subset":
        return ToolChoice("subset", choice.names)
    return choice
