"""SWE-agent's trajectories: `<instance>.traj`, one document: what was done step by step, and what the model was sent.

From the trajectories in its repository, which name no version (August 2026). `trajectory` has the steps, each with its
action and what was observed; `history` the messages, some of them from a demonstration, and in runs with function
calling the calls. An action is a line for SWE-agent's shell, so where no call says otherwise it is read as a command.
Tokens and cost are counted for the whole run only, and there are no times.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from dragoman.logs.base.format import LogFormat, LogReader, Sample
from dragoman.logs.base.json_ranges import MessagesReader
from dragoman.logs.base.normalise import Normaliser, Place
from dragoman.logs.formats.parts.chat_messages import arguments_of, text_of
from dragoman.model import FinishReason, NativeCall, NativeResult, Usage, events as ev
from dragoman.model.json_values import as_integer, as_number, as_object, as_objects, as_positive, as_text

CLIENT: Final = "swe_agent"
_NOT_KEPT: Final = ("history", "trajectory", "replay_config")


class SweAgent(LogFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = CLIENT
    endings = (".traj",)
    captured = False
    lacks = "there are no times, and tokens and cost are counted for a whole run only"

    def recognise(self, sample: Sample) -> float:
        run = sample.document
        if not isinstance(run, dict):
            return 0.0
        steps = run.get("trajectory")
        if not isinstance(steps, list) or not isinstance(run.get("history"), list):
            return 0.0
        return 0.95 if all("action" in one and "observation" in one for one in as_objects(steps)[:3]) else 0.0

    def reader(self, path: Path) -> LogReader:
        return _Reader(path, Normaliser(CLIENT, CLIENT, path.stem))


class _Reader(MessagesReader):
    listed = "trajectory"

    def __init__(self, path: Path, normaliser: Normaliser) -> None:
        super().__init__(path, normaliser)
        self.session = path.stem
        self._model: str | None = None
        self._info: dict[str, Any] = {}
        self._head: ev.Source | None = None
        self._replies: list[dict[str, Any]] = []
        """What the model said, in order, without demonstrations."""

    def record(self, value: Any, source: ev.Source) -> Iterator[ev.AnyEvent]:
        if not isinstance(value, dict):
            yield self.normaliser.unreadable(source, "a step is a JSON object")
        elif "action" in value:
            yield from self._step(value, self.place(source))
        elif "history" in value or "info" in value:
            yield from self._begin(value, source)
        else:
            yield self.normaliser.unknown(self.place(source), "step")

    def _begin(self, value: dict[str, Any], source: ev.Source) -> Iterator[ev.AnyEvent]:
        self._head, self._info = source, as_object(value.get("info"))
        agent = as_object(as_object(value.get("replay_config")).get("agent"))
        self._model = as_text(as_object(agent.get("model")).get("name"))
        place, event = self.place(source), self.normaliser.event
        metadata = {key: value[key] for key in value if key not in _NOT_KEPT}
        yield event(ev.SessionStarted, place, model=self._model, metadata=metadata)
        messages = as_objects(value.get("history"))
        own = [one for one in messages if one.get("is_demo") is not True]
        if len(own) < len(messages):
            yield event(ev.ClientNoted, place, name="demonstration", data={"messages": len(messages) - len(own)})
        self._replies = [one for one in own if one.get("role") == "assistant"]
        for message in own:
            text = text_of(message.get("content"))
            if message.get("role") == "system":
                yield event(ev.SystemSaid, place, text=text)
            elif message.get("role") == "user":
                by = "client" if message.get("message_type") == "demonstration" else "user"
                yield event(ev.UserSaid, place, text=text, by=by)
            else:
                break  # what follows are the steps

    def _step(self, step: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        event, action = self.normaliser.event, as_text(step.get("action")) or ""
        said = as_text(step.get("thought")) or ("" if action else as_text(step.get("response")) or "")
        if said.strip():
            yield event(ev.ModelSaid, place, text=said.strip("\n"), model=self._model)
        observed = text_of(step.get("observation"))
        calls = list(self._calls(action, place))
        for call in calls:
            yield self.normaliser.called(place, call)
        if calls:
            yield event(ev.ModelFinished, place, finish=FinishReason.CALLS, model=self._model)
            taken = as_number(step.get("execution_time")) if len(calls) == 1 else None
            yield self.normaliser.returned(place, NativeResult(calls[0].id, observed), taken)
        elif observed:
            yield event(ev.UserSaid, place, text=observed, by="client")
        if not place.number:
            yield event(ev.ClientNoted, place, name="step/empty")

    def _calls(self, action: str, place: Place) -> Iterator[NativeCall]:
        """The calls of a step: those of the message with this action, or the action as a line for the shell."""
        if not action.strip():
            return
        reply = self._replies[0] if self._replies else {}
        made = as_objects(reply.get("tool_calls"))
        if reply.get("action") == action:
            del self._replies[0]
        else:
            made = []
        for call in made:
            function = as_object(call.get("function"))
            id = as_text(call.get("id")) or f"{place.key}.{place.number}"
            yield NativeCall(id, as_text(function.get("name")) or "", arguments_of(function.get("arguments")))
        if not made:
            yield NativeCall(f"{place.key}.call", "bash", {"command": action})

    def end(self) -> Iterator[ev.AnyEvent]:
        if self._head is None:
            return
        place = self.place(self._head)
        place.key = "info"
        stats = as_object(self._info.get("model_stats"))
        sent, received = as_integer(stats.get("tokens_sent")), as_integer(stats.get("tokens_received"))
        if sent or received:
            usage = Usage(input_tokens=sent, output_tokens=received)
            paid = as_positive(stats.get("instance_cost"))
            yield self.normaliser.event(ev.TokensUsed, place, usage=usage, model=self._model, cost=paid)
        status = as_text(self._info.get("exit_status"))
        if status is not None:
            yield self.normaliser.event(ev.SessionEnded, place, reason=reason_of(status), message=status)


def reason_of(status: str) -> str:
    """How a run ended, by the words for it."""
    word = status.lower()
    if word == "submitted":
        return "completed"
    if "cost" in word or "limit" in word or "context" in word:
        return "limited"
    return "failed" if "error" in word or "exit" in word else "unknown"


FORMAT = SweAgent()
