"""The older part of a long conversation as one text that says what was done, made without a model.

Rules: the text is made of what the log says and of nothing else; it says how much it stands for; and whatever is longer
than its share is cut with a count of what was left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from dragoman.dialects import DIALECTS
from dragoman.model import (
    Call,
    CallPart,
    Conversation,
    ConversationItem,
    NativeCall,
    NativeResult,
    Result,
    ResultPart,
    TextPart,
    operations as op,
    outcomes as out,
    user,
)

_LINE = 200
"""Characters of a line that quotes something."""
_LAST_WORDS = 2000
"""Characters of what was said last, on each side."""


def fold_points(conversation: Conversation) -> list[int]:
    """Where a conversation may begin anew: before what the user or the model said, never between calls and results."""
    return [place for place, item in enumerate(conversation) if place and item.role in ("user", "assistant")]


def folded(conversation: Conversation, place: int, limit: int) -> Conversation:
    """The conversation with everything before `place` as one text of about `limit` characters at most."""
    return (user(summary(conversation[:place], limit)), *conversation[place:])


def calls_of(items: Iterable[ConversationItem]) -> list[NativeCall]:
    """The calls in a part of a conversation."""
    return [part.call for item in items for part in item.parts if isinstance(part, CallPart)]


def summary(items: Sequence[ConversationItem], limit: int) -> str:
    """What was said and done, in a text of about `limit` characters at most."""
    asked = [text for item in items if item.role == "user" and (text := _text(item))]
    answered = [text for item in items if item.role == "assistant" and (text := _text(item))]
    calls = list(_done(items))
    head = (
        f"[Summary of the earlier part of this session. Messages of the user: {len(asked)}, tool calls: {len(calls)}]"
    )
    fixed = [head, *_quoted("The user's last message then", asked), *_quoted("The last answer then", answered)]
    lists = {
        "Earlier messages of the user": [_line(text) for text in asked[:-1]],
        "Files changed": _changed(calls),
        "Commands run": _commands(calls),
        "Other calls": _others(calls),
        "Earlier answers": [_line(text) for text in answered[:-1]],
    }
    share = max(0, limit - sum(len(text) for text in fixed)) // len(lists)
    told = [text for title, lines in lists.items() if lines for text in (f"{title}:", *_cut(lines, share))]
    return "\n".join([fixed[0], *told, *fixed[1:], "[End of the summary; the session continues from here.]"])


def _text(item: ConversationItem) -> str:
    return "\n".join(part.text for part in item.parts if isinstance(part, TextPart)).strip()


def _quoted(title: str, texts: Sequence[str]) -> list[str]:
    if not texts:
        return []
    last = texts[-1]
    return [f"{title}:\n{last if len(last) <= _LAST_WORDS else f'{last[:_LAST_WORDS]} […]'}"]


def _line(text: str) -> str:
    line = " ".join(text.split())
    return f"- {line if len(line) <= _LINE else f'{line[:_LINE]} […]'}"


def _cut(lines: Sequence[str], characters: int) -> list[str]:
    """The last lines that have room, because what was done last matters most."""
    kept: list[str] = []
    for line in reversed(lines):
        characters -= len(line) + 1
        if characters < 0:
            break
        kept.append(line)
    left = len(lines) - len(kept)
    return [*([f"- ({left} earlier ones are left out)"] if left else []), *reversed(kept)]


def _done(items: Iterable[ConversationItem]) -> Iterable[tuple[Call, Result | None]]:
    """The calls, as the vocabulary of each reply means them, with what they gave."""
    items = list(items)
    results: dict[str, NativeResult] = {
        part.result.call_id: part.result for item in items for part in item.parts if isinstance(part, ResultPart)
    }
    for item in items:
        spoken = None if item.provenance is None else item.provenance.dialect
        for native in calls_of((item,)):
            if spoken is None or spoken not in DIALECTS:
                yield Call(native.id, (op.Unrecognised(native.name, native.arguments),), native), None
                continue
            dialect = DIALECTS[spoken]
            call = dialect.read_call(native)
            result = results.get(native.id)
            yield call, None if result is None else dialect.read_result(call, result)


def _pairs(calls: Iterable[tuple[Call, Result | None]]) -> Iterable[tuple[op.Operation, out.Outcome | None]]:
    for call, result in calls:
        for place, operation in enumerate(call.operations):
            outcomes = () if result is None else result.outcomes
            yield operation, outcomes[place] if place < len(outcomes) else None


def _changes(operation: op.Operation, outcome: out.Outcome | None) -> tuple[out.Change, ...]:
    """What an operation changed in files."""
    if not isinstance(operation, op.Writing) or not isinstance(outcome, out.ChangesOutcome) or outcome.preview:
        return ()
    return outcome.changes


def _changed(calls: Sequence[tuple[Call, Result | None]]) -> list[str]:
    """Each file that was changed, in the order of the last change, with what was done to it and how often."""
    files: dict[str, Counter[str]] = {}
    for operation, outcome in _pairs(calls):
        for change in _changes(operation, outcome):
            done = files.pop(change.path, Counter())
            done[f"{change.kind} to {change.moved_to}" if change.moved_to else change.kind] += 1
            files[change.path] = done
    return [
        f"- {path}: {', '.join(_times(kind, count) for kind, count in done.items())}" for path, done in files.items()
    ]


def _commands(calls: Sequence[tuple[Call, Result | None]]) -> list[str]:
    return [
        f"{_line(operation.command)}: {_ended(outcome)}"
        for operation, outcome in _pairs(calls)
        if isinstance(operation, op.RunCommand)
    ]


def _ended(outcome: out.Outcome | None) -> str:
    match outcome:
        case out.CommandOutcome(running=True):
            return "was still running"
        case out.CommandOutcome(timed_out=True):
            return "timed out"
        case out.CommandOutcome(signal=int(signal)):
            return f"ended by signal {signal}"
        case out.CommandOutcome(exit_code=int(code)):
            return f"exit code {code}"
        case out.CommandOutcome() | out.TextOutcome() | out.ContentOutcome():
            return "ran"
        case out.Failure():
            return _line(f"{outcome.kind}: {outcome.message}").removeprefix("- ")
    return "how it ended is not known"


def _others(calls: Sequence[tuple[Call, Result | None]]) -> list[str]:
    """The rest, counted by what they mean; changes that were not made are among them."""
    counted: Counter[str] = Counter()
    for operation, outcome in _pairs(calls):
        name = operation.name if isinstance(operation, op.Unrecognised) else str(operation.__struct_config__.tag)
        if isinstance(outcome, out.Failure):
            counted[f"{name} ({outcome.kind.replace('_', ' ')})"] += not isinstance(operation, op.RunCommand)
        elif not isinstance(operation, op.RunCommand) and not _changes(operation, outcome):
            counted[name] += 1
    counted = +counted
    return [f"- {_times(name, count)}" for name, count in counted.items()]


def _times(what: str, count: int) -> str:
    return what if count == 1 else f"{what} ×{count}"
