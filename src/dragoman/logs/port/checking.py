"""What a written session lacks when it is read again: a client that resumes with half a history says nothing about it.

Texts are compared word by word, because formats join the texts of a message in different ways. Pictures are not
compared: a file that cannot hold one names it as `(image)`, and it is listed where the session is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.model import Conversation, Media, RefusalPart, ResultPart, TextPart

from .folding import calls_of

_Words = tuple[str, list[str]]
"""Who said something, and its words."""
_NAMED = re.compile(r"\(\w+\)")


def difference(wanted: Conversation, found: Conversation) -> str | None:
    """What is not as it was to be written, in words; `None` if all of it is."""
    made, there = calls_of(wanted), calls_of(found)
    if len(there) != len(made):
        return f"{len(there)} calls instead of {len(made)}"
    for one, other in zip(made, there, strict=True):
        if (one.id, one.name, one.arguments) != (other.id, other.name, other.arguments):
            return f"another call instead of that of {one.name} ({one.id})"
    results, others = _results(wanted), _results(found)
    for call in made:
        if results.get(call.id) != others.get(call.id):
            return f"another result of {call.name} ({call.id})"
    said, heard = list(_said(wanted)), list(_said(found))
    if len(said) != len(heard):
        return f"{len(heard)} texts instead of {len(said)}"
    for (role, words), text in zip(said, heard, strict=True):
        if (role, words) != text:
            return f"another text than {' '.join(words)[:80]!r} of the {role}"
    return None


def _results(conversation: Conversation) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for result in (part.result for item in conversation for part in item.parts if isinstance(part, ResultPart)):
        content = [result.content] if isinstance(result.content, str) else result.content
        found[result.call_id] = _words(" ".join(one for one in content if not isinstance(one, Media)))
    return found


def _words(text: str) -> list[str]:
    return [word for word in text.split() if not _NAMED.fullmatch(word)]


def _said(conversation: Conversation) -> Iterator[_Words]:
    """Who said what, in order: what one said in a row is one text.

    Where a call stands in a reply is not looked at: Gemini CLI 0.61 and Copilot 1.0 keep one text and calls beside it.
    """
    role, words = "", list[str]()
    for item in conversation:
        for part in item.parts:
            more = _words(part.text) if isinstance(part, TextPart | RefusalPart) else []
            if more and item.role != role:
                if words:
                    yield role, words
                role, words = item.role, []
            words += more
    if words:
        yield role, words
