"""Answers that a command line gives to calls of a run that wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from dragoman.engine import Answer

    from .session import Session
    from .terminal.approver import WaitingCall


class Given(NamedTuple):
    """What the command line says about calls that wait."""

    approve: tuple[str, ...]
    refuse: tuple[str, ...]
    answer: tuple[str, ...]

    def still_wanted(self, waiting: Sequence[WaitingCall]) -> Given:
        """Only what is about calls that still wait: a run that is taken over may have had its answers already."""
        digests = {call.digest for call in waiting}
        approve, refuse = (tuple(one for one in words if one in digests) for words in self[:2])
        return Given(approve, refuse, self.answer)


def answers_of(session: Session, task: str, given: Given) -> Mapping[str, Answer]:
    """What was decided about calls that wait, by digest; an error when there is nothing to continue with.

    An answer is for the exact operations that were asked about, under the definitions their tools had then.
    """
    if session.finished() and not task:
        raise click.UsageError(f'This run is complete. Say what to do next: dragoman run --resume {session.id[:8]} "…"')
    waiting = session.waiting_calls()
    answers: dict[str, Answer] = {}

    def give(call: WaitingCall, answer: Answer) -> None:
        is_only_id = [one.id for one in waiting].count(call.id) == 1
        if is_only_id:
            # Found by its id, an answer that does not hold any more can say why.
            answers[call.id] = answer
        if not is_only_id or [one.digest for one in waiting].count(call.digest) == 1:
            answers[call.digest] = answer  # else it would be for the same call under another id, too

    for words, allowed, by in ((given.approve, True, "--approve"), (given.refuse, False, "--refuse")):
        for word in words:
            for call in waiting if word == "all" else _waiting_calls(waiting, word, by, session.id):
                if allowed and call.asks:
                    if word == "all":
                        continue  # a yes to everything is no answer to a question
                    message = f"the call {call.id} is a question of the model: answer it with --answer '{call.id}=…'."
                    raise click.BadParameter(message, param_hint=by)
                give(call, call.answer(allowed=allowed))
    for call, said in _given_answers(waiting, given.answer, session.id):
        try:
            give(call, call.answered(said))
        except ValueError as error:
            raise click.BadParameter(f"the call {call.id}: {error}.", param_hint="--answer") from error
    return answers


def _given_answers(
    waiting: Sequence[WaitingCall], given: Sequence[str], run: str
) -> Sequence[tuple[WaitingCall, list[str]]]:
    """The words for each question that waits. Where only one call asks, its id may be left out."""
    asking = [call for call in waiting if call.asks]
    found: list[tuple[WaitingCall, list[str]]] = []
    for text in given:
        name, equals, words = text.partition("=")
        named = [call for call in asking if call.id == name.strip()] if equals else []
        if not named and len(asking) == 1:
            call, words = asking[0], text
        else:
            (call, *_) = _waiting_calls(asking, name.strip(), "--answer", run)
        row = next((row for known, row in found if known is call), None)
        if row is None:
            found.append((call, [words]))
        else:
            row.append(words)
    return found


def _waiting_calls(waiting: Sequence[WaitingCall], word: str, option: str, run: str) -> Sequence[WaitingCall]:
    """The one call that waits under this id, or whose digest begins so: several where they are the same call."""
    from .terminal.approver import SHORT_DIGEST, are_the_same

    digest = len(word) >= SHORT_DIGEST
    found = [call for call in waiting if call.id == word or (digest and call.digest.startswith(word))]
    if len(found) == 1 or are_the_same(found, word):
        return found
    if not found:
        listed = ", ".join(call.id for call in waiting) or "none"
        raise click.BadParameter(f'no call "{word}" waits; those that do: {listed}.', param_hint=option)
    listed = "".join(f"\n  {call.digest[:SHORT_DIGEST]}  {call.summary}" for call in found)
    raise click.BadParameter(
        f'{len(found)} calls wait under "{word}":{listed}\nName one by its digest (the first column), or answer each '
        f"on a terminal: dragoman run --resume {run[:8]}",
        param_hint=option,
    )
