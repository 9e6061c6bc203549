"""Asks the user on the terminal whether a call may run, with what it would do in view, and what the model asks.

Rule: nothing is taken for a yes but a yes. What was typed before the question came does not answer it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from dragoman.engine import LATER, Answer, Approver, Question, Scope, scopes_of
from dragoman.model import AnyEvent, Call, ClientNoted, NativeCall, operations as op, outcomes as out
from dragoman.tools import Workspace, answer_to

from .call_lines import said_of
from .console import Console, width_of
from .interview import HELP, SERVER_HELP, prompt_for, shown_asked, who_asks
from .keyboard import Keyboard
from .live import View
from .pager import viewed
from .question import Shown, folded_rows, rows_of, shown_question
from .streams import stdout
from .visible import one_line, wrapped


class DescribedApprover(msgspec.Struct, frozen=True):
    """An approver, with what is known of its answers before it is asked: see `Approver`."""

    ask: Approver
    no_answers: str | None = None
    puts_off: bool = False

    def __call__(self, question: Question) -> Any:
        return self.ask(question)


def says(
    *, allowed: bool, by: str, reason: str | None = None, asker: Asker | None = None, no_answers: str | None = None
) -> Approver:
    """An approver that gives every question the same answer; only leaving the sandbox needs an answer of its own.

    What the model asks is put to `asker`; without one, `no_answers` says why nobody answers.
    """

    def answer(question: Question) -> Any:
        if question.asks and asker is not None:
            return asker(question)
        if allowed and question.unsandboxed:
            return Answer(allowed=False, by=by, reason=_NOT_COVERED.format(by=by))
        return Answer(allowed, by=by, reason=reason)

    return DescribedApprover(answer, None if asker is not None else no_answers)


_NOT_COVERED: Final = (
    '{by} does not let a command leave the sandbox; the setting sandbox.unsandboxed = "allow", or --sandbox off, does'
)


def puts_off(note: Callable[[ClientNoted], None], id_of: Callable[[], str], say: Callable[[str], None]) -> Approver:
    """An approver for when nobody is there, and somebody will be: each call waits, and the record says for what."""

    def wait(question: Question) -> Answer | None:
        note(waiting(question, id_of()))
        if question.again is not None:
            say(f"{question.call.id} waits again: {question.again}.")
            for change in question.changes:
                say(f"  {change.part} of {change.tool} was {change.before!r} and is {change.after!r}")
        return LATER

    return DescribedApprover(wait, puts_off=True)


def waiting(question: Question, id: str) -> ClientNoted:
    """The fact that a call waits for an answer, with everything the answer is to be about."""
    native = question.call.native
    data = {
        "name": native.name,
        "arguments": native.arguments,
        "operations": question.call.operations,
        "tools": question.tools,
        "definitions": question.definitions,
        "digest": question.digest,
        "rule": question.rule,
        "sandbox": question.sandbox,
        "asks": question.asks,
    }
    return ClientNoted(id=id, name=_WANTED, call_id=native.id, data=msgspec.to_builtins(data))


_WANTED: Final = "approval_wanted"
SHORT_DIGEST: Final = 8
"""Characters of a digest that name a call."""


class WaitingCall(msgspec.Struct, frozen=True):
    """A call that waits, as its question was recorded."""

    id: str
    digest: str
    summary: str
    definitions: tuple[dict[str, Any], ...] = ()
    asks: tuple[op.Question, ...] = ()
    """What the model asks in it: then it needs these answered, not a yes."""

    def answered(self, words: Sequence[str]) -> Answer:
        """The answer to what the model asks; raises `ValueError` when the words do not answer it."""
        if len(words) != len(self.asks):
            raise ValueError(f"it asks {len(self.asks)} questions, and {len(words)} answers were given")
        answers = tuple(answer_to(question, said) for question, said in zip(self.asks, words, strict=True))
        return Answer(allowed=True, by="user", digest=self.digest, definitions=self.definitions, answers=answers)

    def answer(self, *, allowed: bool) -> Answer:
        """An answer to that question and to no other."""
        reason = None if allowed else "the user said no"
        return Answer(allowed, by="user", reason=reason, digest=self.digest, definitions=self.definitions)


def waiting_calls(calls: Sequence[NativeCall], events: Sequence[AnyEvent]) -> list[WaitingCall]:
    """Those of the open calls that a recorded question is about. Calls may share an id: their arguments decide."""
    noted = [event for event in events if isinstance(event, ClientNoted) and event.name == _WANTED]
    found: list[WaitingCall] = []
    for call in calls:
        for note in reversed(noted):
            data = note.data
            if (note.call_id, data.get("name"), data.get("arguments")) == (call.id, call.name, call.arguments):
                definitions = tuple(data.get("definitions") or ())
                operations = msgspec.convert(data.get("operations") or (), tuple[op.AnyOperation, ...])
                summary = said_of(Call(call.id, operations, call))
                asks = msgspec.convert(data.get("asks") or (), tuple[op.Question, ...])
                found.append(WaitingCall(call.id, str(data.get("digest")), summary, definitions, asks))
                break
    return found


def are_the_same(found: Sequence[WaitingCall], digest: str) -> bool:
    """Whether a digest names calls that are all the same; an id that several calls share names none of them."""
    return len({call.digest for call in found}) == 1 and found[0].digest.startswith(digest)


class Asker:
    """Asks on the terminal, one question at a time. An "always" holds for its scope, until this process ends."""

    def __init__(
        self,
        console: Console,
        view: View,
        workspace: Workspace,
        keyboard: Keyboard,
        note: Callable[[ClientNoted], None],
        id_of: Callable[[], str],
    ) -> None:
        self._console, self._view, self._workspace, self._keyboard = console, view, workspace, keyboard
        self._note, self._id_of = note, id_of
        self._always: set[Scope] = set()
        self._sandboxes: set[str] = set()
        """Descriptions of sandboxes that were shown already."""
        self._turn = asyncio.Lock()

    async def __call__(self, question: Question) -> Answer | None:
        async with self._turn:
            if question.asks:
                with self._view.held():
                    return await self._interviewed(question)
            if question.again is None and not question.unsandboxed and self._always.issuperset(scopes_of(question)):
                return Answer(allowed=True, by="user", reason="always, as said before", digest=question.digest)
            with self._view.held():
                known = question.sandbox in self._sandboxes
                shown = await asyncio.to_thread(shown_question, question, self._workspace, known_sandbox=known)
                while True:
                    answer = await self._asked(question, shown)
                    now = await asyncio.to_thread(shown_question, question, self._workspace, known_sandbox=known)
                    if answer is None or not answer.allowed or now == shown:
                        break
                    shown = now  # a file may have changed while the user was reading
                    self._say("What this would do has changed while you were reading. Now it is:", "warning")
                self._sandboxes |= {question.sandbox} if question.sandbox is not None else set()
                self._view.asked(question.call)
                return answer

    async def _asked(self, question: Question, shown: Shown) -> Answer | None:
        rows, hidden = folded_rows(shown, width_of(sys.stderr))
        for text, style in rows:
            self._say(text, style)
        # Each command that is to leave the sandbox needs a yes of its own.
        scopes = frozenset() if question.unsandboxed else scopes_of(question)
        scope = "; ".join(sorted(scope.says for scope in scopes))
        while True:
            self._prompt(self._keys(scope, hidden=hidden))
            try:
                said = await self._keyboard.line()
            except asyncio.CancelledError:
                self._say("")
                raise
            word, _, rest = (said or "").strip().partition(" ")
            match word.lower():
                case "y" | "yes":
                    return Answer(allowed=True, by="user", digest=question.digest)
                case "n" | "no":
                    return Answer(allowed=False, by="user", reason=rest.strip() or "the user said no")
                case "a" | "always" if scopes:
                    self._always.update(scopes)
                    return Answer(allowed=True, by="user", reason=f"always: {scope}", digest=question.digest)
                case "v" | "view":
                    await self._viewed(shown)
                    continue
                case "l" | "later":
                    self._note(waiting(question, self._id_of()))
                    return LATER
            if said is None:  # the end of the input: nobody is there any more
                self._say("")
                self._note(waiting(question, self._id_of()))
                return LATER
            self._help(scope)

    async def _interviewed(self, question: Question) -> Answer | None:
        """The user's answers to what the model asks; `None` when they are to come later."""
        answers: list[out.Answer] = []
        server = who_asks(question.call)
        words = HELP if server is None else SERVER_HELP
        for number, asked in enumerate(question.asks, 1):
            shown = shown_asked(asked, number, len(question.asks), server)
            for text, style in folded_rows(shown, width_of(sys.stderr))[0]:
                self._say(text, style)
            self._say(words, "quiet")
            answer = await self._answer(question, asked, shown, words)
            if not isinstance(answer, out.Answer):
                return answer
            answers.append(answer)
        return Answer(allowed=True, by="user", digest=question.digest, answers=tuple(answers))

    async def _answer(
        self, question: Question, asked: op.Question, shown: Shown, words: str
    ) -> out.Answer | Answer | None:
        """The answer to one question; an `Answer` when the user declines to answer."""
        while True:
            self._prompt(prompt_for(asked))
            try:
                said = await self._keyboard.line()
            except asyncio.CancelledError:
                self._say("")
                raise
            match (said if said is not None else "/later").strip().lower():
                case "/later":
                    if said is None:
                        self._say("")  # the end of the input: nobody is there any more
                    if words is HELP:  # a server's question is over when it is not answered
                        self._note(waiting(question, self._id_of()))
                    return LATER
                case "/no":
                    return Answer(allowed=False, by="user", reason="the user declined to answer")
                case "/view":
                    await self._viewed(shown)
                    continue
            try:
                return answer_to(asked, said or "")
            except ValueError as error:
                self._say(f"{str(error).capitalize()}. {words}", "quiet")

    def _keys(self, scope: str, *, hidden: int) -> str:
        """The prompt. What an "always" would allow is said in it, or above it where the terminal is narrow."""
        view = "[v]iew all, " if hidden else ""
        always = f"[a]lways ({one_line(scope)}), " if scope else ""
        long = f"Allow it? [y]es, [n]o, {view}{always}[l]ater > "
        width = width_of(sys.stderr)
        if len(long) < width:
            return long
        if scope:
            self._say(f"always: {one_line(scope)}", "quiet")
        short = f"[y]es [n]o {'[v]iew ' if hidden else ''}{'[a]lways ' if scope else ''}[l]ater > "
        middle = f"Allow it? {short}"
        return middle if len(middle) < width else short

    def _help(self, scope: str) -> None:
        always = f"a: allow it, and later calls in this run of {one_line(scope)}, without asking;"
        for line in (
            "y: allow this call; n: refuse it (what you write after n is sent to the model);",
            *((always,) if scope else ()),
            "v: show all of it; l: stop here and answer later.",
        ):
            for row in wrapped(line, width_of(sys.stderr), words=True):
                self._say(row, "quiet")

    async def _viewed(self, shown: Shown) -> None:
        rows = await asyncio.to_thread(rows_of, shown, width_of(sys.stderr))
        styled = [self._console.styled(sys.stderr, text, style) for text, style in rows]
        await viewed([text for text, _ in rows], styled, self._keyboard, self._write)

    def _say(self, text: str, style: str | None = None) -> None:
        self._write(self._console.styled(sys.stderr, text, style))

    def _write(self, text: str) -> None:
        """Writes a row that is safe to show already."""
        stdout().flush()
        sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def _prompt(self, text: str) -> None:
        self._keyboard.forget()
        sys.stderr.write(text)
        sys.stderr.flush()
