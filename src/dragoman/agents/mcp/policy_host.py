"""What MCP servers ask of the user and of the model, decided on by the rules of a run.

Rules: a server gets no answer that the user did not give. Its request to a model is judged as a call named
`mcp_sampling` of that server, its question to the user as `mcp_elicitation`; a question that nobody can answer is
not offered, or cancelled. What servers ask a model does not count towards the limits of a run, so a run that has
limits on tokens or cost answers none of it, and any other run only so many requests of each server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from dragoman.engine import Answer, Approver, Orchestrator, Question as Asked, verdict_on
from dragoman.errors import EngineError, ToolError
from dragoman.model import Call, NativeCall, conversation as conv, operations as op, outcomes as out, request as req
from dragoman.schema import problems_against
from dragoman.tools import Tool

from .caller import Answered
from .host import McpHost, Question, Sample, SampleRequest

if TYPE_CHECKING:
    from .login import Login

SAMPLING: Final = "mcp_sampling"
ELICITATION: Final = "mcp_elicitation"
LEFT_OUT: Final = "-"
"""What is typed for a field that is to be left out."""
MOST_SAMPLES: Final = 50
"""Requests of one server that a model answers in a run: each costs money, and its calls wait meanwhile."""
TRIES: Final = 3
"""How often a field is asked for whose answer does not fit."""
_OPENED, _NOT_OPENED = "I have opened it", "I will not open it"
_YES, _NO = "yes", "no"


def host_by_policy(
    run: Callable[[], Orchestrator[Any] | None],
    *,
    answers: bool = True,
    roots: tuple[Path, ...] = (),
    login: Login | None = None,
    sampled: Callable[[SampleRequest, conv.Reply], None] | None = None,
) -> McpHost:
    """A host for `McpServers` whose answers the policy, the approver and the model of a run give.

    `run` gives the orchestrator once there is one: its tools are the servers', so it is made after them. With `answers`
    off, no user is there to be asked. `sampled` is called with each answer that a model gave to a server.
    """
    host = _PolicyHost(run, sampled)
    return McpHost(elicit=host.elicit if answers else None, sample=host.sample, roots=roots, login=login)


class _PolicyHost:
    """The two callbacks."""

    def __init__(
        self,
        run: Callable[[], Orchestrator[Any] | None],
        sampled: Callable[[SampleRequest, conv.Reply], None] | None,
    ) -> None:
        self._run, self._sampled = run, sampled
        self._ids = count(1)
        self._sampled_for: Counter[str] = Counter()

    async def sample(self, wanted: SampleRequest) -> Sample:
        run = self._open_run()
        if run.policy.max_tokens is not None or run.policy.max_cost is not None:
            raise ToolError("this run has a limit on tokens or cost, and what servers ask a model is not counted in it")
        self._sampled_for[wanted.server] += 1
        if self._sampled_for[wanted.server] > MOST_SAMPLES:
            raise ToolError(f"a server may ask the model {MOST_SAMPLES} times in a run, and this one has")
        call, tool = self._call(SAMPLING, wanted.server, msgspec.to_builtins(wanted))
        await self._allowed(call, tool, run)
        said = [(conv.user if role == "user" else conv.assistant)(text) for role, text in wanted.messages]
        system = [conv.system(wanted.system_prompt)] if wanted.system_prompt else []
        asked = req.Request(run.model, (*system, *said), max_output_tokens=wanted.max_tokens)
        try:
            reply = await run.engine.ask(asked)
        except EngineError as error:
            raise ToolError(f"the model could not be asked: {error}") from error
        if self._sampled is not None:
            self._sampled(wanted, reply)
        return Sample(reply.text, run.model)

    async def elicit(self, question: Question) -> Answered:
        run = self._open_run()
        call, tool = self._call(ELICITATION, question.server, msgspec.to_builtins(question))
        verdict, rule = verdict_on(call, (tool,), run.policy, run.workspace)
        if verdict == "deny":
            raise ToolError(f"the question was not put to the user: {rule}", kind="denied")
        if not _answers(run.approver):
            return Answered("cancel")
        form = Form(question)
        content: dict[str, Any] = {}
        for field in form.fields:
            said = await self._field(field, call, run.approver)
            if isinstance(said, Answered):
                return said
            content |= said
        if form.is_confirmation:
            return Answered("accept" if content.get(CONFIRMED) else "decline")
        return Answered("accept", content)

    async def _field(self, field: Field, call: Call, approver: Approver | None) -> dict[str, Any] | Answered:
        """The value of one field by its name, nothing where it is left out, or how the user ended the whole."""
        problem = ""
        for _ in range(TRIES):
            ask = field.question
            if problem:
                ask = msgspec.structs.replace(ask, text=f"That does not fit: {problem}.\n{ask.text}")
            said = await _said(approver, Asked(call, (ELICITATION,), f"{call.id}:{field.name}", asks=(ask,)))
            if said is None:
                return Answered("cancel")
            if not said.allowed or not said.answers:
                return Answered("decline")
            try:
                return field.value_of(said.answers[0])
            except ValueError as error:
                problem = str(error)
        return Answered("cancel")

    async def _allowed(self, call: Call, tool: Tool, run: Orchestrator[Any]) -> None:
        """Raises `ToolError` unless the rules or the user allow it."""
        verdict, rule = verdict_on(call, (tool,), run.policy, run.workspace)
        if verdict == "allow":
            return
        reason = rule
        if verdict == "ask" and run.approver is None:
            reason = "nobody is there to be asked"
        elif verdict == "ask":
            definitions = (tool.snapshot(),)
            asked = Asked(call, (tool.name,), call.id, rule, definitions=definitions, standard=(False,))
            said = await _said(run.approver, asked)
            if said is not None and said.allowed:
                return
            reason = "the user is to decide later, and a server cannot wait" if said is None else said.reason
        raise ToolError(f"the request was refused{f': {reason}' if reason else ''}", kind="denied")

    def _open_run(self) -> Orchestrator[Any]:
        run = self._run()
        if run is None:
            raise ToolError("no run is open that could answer")
        return run

    def _call(self, name: str, server: str, arguments: dict[str, Any]) -> tuple[Call, Tool]:
        """The request as a call that rules can be about, and a question can show."""
        shown = {key: value for key, value in arguments.items() if key != "server" and value is not None}
        id = f"{name}-{next(self._ids)}"
        call = Call(id, (op.CallMcpTool(server, name, shown),), NativeCall(id, name, shown))
        return call, Tool(name, _ABOUT[name], {"type": "object"}, _never, mcp=(server, name))


async def _said(approver: Approver | None, question: Asked) -> Answer | None:
    """The approver's answer to this very question; `None` when it is to come later."""
    said: Any = approver(question) if approver is not None else None
    said = await said if hasattr(said, "__await__") else said
    answer = Answer(said) if isinstance(said, bool) else said
    if answer is not None and answer.digest not in (None, question.digest):
        return Answer(allowed=False, reason="the answer was given to another question")
    return answer if isinstance(answer, Answer) else None


def _answers(approver: Approver | None) -> bool:
    """Whether somebody answers questions, and does so now."""
    if approver is None or getattr(approver, "puts_off", False):
        return False
    return getattr(approver, "no_answers", None) is None


_ABOUT: Final = {
    SAMPLING: "Ask the user's model: a request of an MCP server.",
    ELICITATION: "Ask the user: a question of an MCP server.",
}


def _never(_: Any) -> None:
    raise AssertionError("it is judged, and not run")


# ── forms ────────────────────────────────────────────────────────────────────

CONFIRMED: Final = "confirmed"


class Field:
    """One field of a form, as a question to the user and back."""

    def __init__(self, name: str, schema: dict[str, Any], *, required: bool, message: str = "") -> None:
        self.name, self._schema, self._required = name, schema, required
        self._values = _choices(schema)
        """What may be chosen, by its label; empty where anything may be typed."""
        labels = tuple(op.Option(label) for label in self._values)
        about = ": ".join(str(schema[key]) for key in ("title", "description") if schema.get(key)) or name
        left_out = "" if required else f" (optional: {LEFT_OUT} leaves it out)"
        self.question = op.Question(
            "\n".join(filter(None, (message, about + left_out))),
            labels,
            header=name,
            multiple=schema.get("type") == "array",
            default=self._default(),
        )

    def _default(self) -> str | None:
        if "default" not in self._schema:
            return None if self._required else LEFT_OUT
        given = self._schema["default"]
        named = [label for value in (given if isinstance(given, list) else [given]) for label in self._labels(value)]
        return ", ".join(named) if named else str(given)

    def _labels(self, value: Any) -> list[str]:
        return [label for label, each in self._values.items() if type(each) is type(value) and each == value]

    def value_of(self, answer: out.Answer) -> dict[str, Any]:
        """The value that was given, by its name. Raises `ValueError` where it does not fit."""
        typed = (answer.text or "").strip()
        if typed == LEFT_OUT and not self._required and not answer.choices:
            return {}
        value = self._chosen(answer) if self._values else self._typed(typed)
        if problems := problems_against(self._schema, value):
            raise ValueError("; ".join(problems))
        return {self.name: value}

    def _chosen(self, answer: out.Answer) -> Any:
        if not answer.choices:
            raise ValueError(f"it must be one of {', '.join(self._values)}")
        chosen = [self._values[label] for label in answer.choices]
        return chosen if self._schema.get("type") == "array" else chosen[0]

    def _typed(self, text: str) -> Any:
        kind = self._schema.get("type")
        if kind not in ("integer", "number"):
            return text
        try:
            return int(text) if kind == "integer" else float(text)
        except ValueError:
            raise ValueError(f"it must be {'a whole number' if kind == 'integer' else 'a number'}") from None


def _choices(schema: dict[str, Any]) -> dict[str, Any]:
    """The values a field takes, by the label each is shown with."""
    if schema.get("type") == "boolean":
        return {_YES: True, _NO: False}
    of = schema.get("items") if schema.get("type") == "array" else schema
    if not isinstance(of, dict):
        return {}
    titled = [one for one in of.get("oneOf") or of.get("anyOf") or () if isinstance(one, dict) and "const" in one]
    rows = [(str(one.get("title") or one["const"]), one["const"]) for one in titled]
    if not rows and isinstance(of.get("enum"), list):
        names = of.get("enumNames")
        named = names if isinstance(names, list) and len(names) == len(of["enum"]) else of["enum"]
        rows = [(str(name), value) for name, value in zip(named, of["enum"], strict=True)]
    labels = [label for label, _ in rows]
    return {label if labels.count(label) == 1 else f"{label} ({value})": value for label, value in rows}


class Form:
    """The fields of a server's question: a form, an address to open, or a plain yes."""

    def __init__(self, question: Question) -> None:
        properties = (question.schema or {}).get("properties")
        rows = properties if isinstance(properties, dict) else {}
        required = (question.schema or {}).get("required")
        needed = required if isinstance(required, list) else []
        self.is_confirmation = not rows
        if rows:
            self.fields = [
                Field(
                    name,
                    schema if isinstance(schema, dict) else {},
                    required=name in needed,
                    message="" if index else question.message,
                )
                for index, (name, schema) in enumerate(rows.items())
            ]
            return
        labels, about = (_YES, _NO), question.message
        if question.url is not None:
            if urlsplit(question.url).scheme not in ("http", "https"):
                raise ToolError(f"only http and https addresses are shown to the user, not {question.url[:200]}")
            labels, about = (_OPENED, _NOT_OPENED), f"{question.message}\nOpen this address yourself: {question.url}"
        choice = {
            "title": about,
            "oneOf": [{"const": True, "title": labels[0]}, {"const": False, "title": labels[1]}],
        }
        self.fields = [Field(CONFIRMED, choice, required=True)]
