"""Runs that wait for a user's yes or no in a page.

Rule: a call runs only if a model made it here. What waits is kept on the server, under ids that nobody can guess; of
what a client sends only its answers count.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from dragoman.engine import Answer, Approver, Question, RunResult
from dragoman.errors import ConfigError
from dragoman.model import AnyEvent, NativeCall, conversation as conv, events as ev

from .protocol import Asked, Asking, RunWriter, new_id

_MOST = 1000
"""How many waiting runs are kept: people who close the page never answer."""


class PageApprover:
    """Asks the agent's own approver, if it has one, and keeps the questions that this one leaves for later."""

    def __init__(self, own: Approver | None) -> None:
        self._own = own
        self.questions: list[Question] = []
        """What waits for the page."""
        self.no_answers: str | None = (
            "nobody can answer: a page approves calls only" if own is None else getattr(own, "no_answers", None)
        )
        self.puts_off: bool = own is None or getattr(own, "puts_off", False)

    async def __call__(self, question: Question) -> Answer | bool | None:
        """The own approver's answer, or `LATER`."""
        given: Any = None if self._own is None else self._own(question)
        answer: Answer | bool | None = await given if hasattr(given, "__await__") else given
        if answer is None:
            self.questions.append(question)
        return answer


class WaitingRun(msgspec.Struct, frozen=True):
    """A run that waits: its conversation, its events so far, and what it asks about, by the ids of the answers.

    `writer` knows what the page has of it.
    """

    thread: str
    run: str
    conversation: conv.Conversation
    events: list[AnyEvent]
    questions: Mapping[str, Question]
    writer: RunWriter

    def asking(self) -> list[Asking]:
        """What the page is asked, with the calls as events show them."""
        shown: dict[str, NativeCall] = {}
        for event in self.events:
            if isinstance(event, ev.ModelFinished) and event.reply is not None:
                shown |= {call.id: call for call in event.reply.calls}
        asked = [(id, one, one.call.native) for id, one in self.questions.items()]
        return [Asking(id, shown.get(native.id, native), one.again or one.stated_rule) for id, one, native in asked]

    def answers(self, given: Mapping[str, Answer]) -> dict[str, Answer]:
        """The answers of a client as the run takes them: each for the very call that was asked about."""
        # By the id of the call, since two calls may be alike: yes to one is not yes to the other.
        times = Counter(question.call.id for question in self.questions.values())
        return {
            question.call.id if times[question.call.id] == 1 else question.digest: msgspec.structs.replace(
                given[id], by="the page", digest=question.digest
            )
            for id, question in self.questions.items()
            if id in given
        }


class WaitingRuns:
    """The runs of one front end that wait. The oldest are forgotten when there are too many."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, WaitingRun] = OrderedDict()
        self._of_answer: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._runs)

    def keep(
        self,
        asked: Asked,
        run: str,
        result: RunResult[Any],
        events: list[AnyEvent],
        questions: Iterable[Question],
        writer: RunWriter,
    ) -> WaitingRun:
        """Keeps a run that waits."""
        waiting = {call.id for call in result.waiting}
        wanted = {new_id(): question for question in questions if question.call.id in waiting}
        kept = WaitingRun(asked.thread, run, result.conversation, events, wanted, writer)
        self._runs[run] = kept
        self._of_answer |= dict.fromkeys(wanted, run)
        while len(self._runs) > _MOST:
            self.forget(next(iter(self._runs)))
        return kept

    def run_of(self, asked: Asked) -> WaitingRun:
        """The run that a client answers; `ConfigError` if it does not wait here."""
        found = {self._of_answer.get(id) for id in asked.answers}
        run = self._runs.get(found.pop() or "") if len(found) == 1 else None
        if run is None or run.thread != asked.thread:
            raise ConfigError(
                "what you answered does not wait here any more: it was answered, or the server was restarted"
            )
        return run

    def forget(self, run: str) -> None:
        """Forgets a run, because it continues."""
        kept = self._runs.pop(run, None)
        for id in kept.questions if kept is not None else ():
            del self._of_answer[id]
