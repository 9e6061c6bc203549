"""mini-SWE-agent's trajectories: `<instance>.traj.json`, one document of messages as they were sent.

From trajectories of 1.9.1 to 2.2.7. Until 2.0 a command stands in the model's words as a block of shell, and the user's
next message is what it gave; later the model calls `bash`, and results keep the exit code and the output apart. What a
reply cost, and when, is in `extra`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from dragoman.logs.base.format import LogFormat, LogReader, Sample
from dragoman.logs.base.json_ranges import MessagesReader
from dragoman.logs.base.normalise import Normaliser, Place
from dragoman.logs.formats.parts.chat_messages import arguments_of, text_of, usage_of
from dragoman.model import FinishReason, NativeCall, NativeResult, events as ev
from dragoman.model.json_values import as_number, as_object, as_objects, as_text

CLIENT: Final = "mini_swe_agent"
_BLOCK: Final = re.compile(r"```(?:bash|mswea_bash_command)\s*\n(.*?)\n```", re.DOTALL)


class MiniSweAgent(LogFormat):
    """The format; see the module."""

    name = CLIENT
    dialect = "swe_agent"
    captured = False
    lacks = "versions before 1.13 have no times and no tokens"

    def recognise(self, sample: Sample) -> float:
        run = sample.document
        if not isinstance(run, dict) or not isinstance(run.get("messages"), list):
            return 0.0
        if (as_text(run.get("trajectory_format")) or "").startswith("mini-swe-agent"):
            return 0.95
        info = as_object(run.get("info"))
        return 0.9 if "mini_version" in info or {"exit_status", "submission"} <= info.keys() else 0.0

    def reader(self, path: Path) -> LogReader:
        return _Reader(path, Normaliser("swe_agent", CLIENT, path.stem))


class _Reader(MessagesReader):
    listed = "messages"

    def __init__(self, path: Path, normaliser: Normaliser) -> None:
        super().__init__(path, normaliser)
        self._stem = path.stem.removesuffix(".traj")
        self._model: str | None = None
        self._info: dict[str, Any] = {}
        self._head: ev.Source | None = None
        self._waiting: str | None = None
        """The call in words that the user's next message answers."""

    def record(self, value: Any, source: ev.Source) -> Iterator[ev.AnyEvent]:
        if not isinstance(value, dict):
            yield self.normaliser.unreadable(source, "a message is a JSON object")
        elif "role" not in value and ("info" in value or "trajectory_format" in value):
            yield self._begin(value, source)
        else:
            extra = as_object(value.get("extra"))
            created = as_object(extra.get("response")).get("created")
            yield from self._message(value, extra, self.place(source, extra.get("timestamp", created)))

    def _begin(self, value: dict[str, Any], source: ev.Source) -> ev.AnyEvent:
        self._head, self._info = source, as_object(value.get("info"))
        self.version = as_text(self._info.get("mini_version"))
        config = as_object(self._info.get("config"))
        self._model = as_text(as_object(config.get("model")).get("model_name"))
        self.session = as_text(value.get("instance_id")) or self._stem
        folder = as_text(as_object(config.get("environment")).get("cwd")) or None
        metadata = {key: value[key] for key in value if key != "info"}
        return self.normaliser.event(
            ev.SessionStarted, self.place(source), cwd=folder, model=self._model, metadata=metadata
        )

    def _message(self, message: dict[str, Any], extra: dict[str, Any], place: Place) -> Iterator[ev.AnyEvent]:
        role, text, event = message.get("role"), text_of(message.get("content")), self.normaliser.event
        if role == "assistant":
            yield from self._reply(message, extra, text, place)
        elif role == "tool":
            kept = extra if "returncode" in extra else None
            yield self.normaliser.returned(
                place, NativeResult(as_text(message.get("tool_call_id")) or "", text, item=kept)
            )
        elif role == "user" and self._waiting is not None:
            id, self._waiting = self._waiting, None
            yield self.normaliser.returned(place, NativeResult(id, text, item=extra if "returncode" in extra else None))
        elif role == "user":
            yield event(ev.UserSaid, place, text=text)
        elif role == "system":
            yield event(ev.SystemSaid, place, text=text)
        elif role == "exit":
            yield event(ev.ClientNoted, place, name="exit", data={"content": text, **extra})
        else:
            yield self.normaliser.unknown(place, f"message/{role}")
        if not place.number:
            yield event(ev.ClientNoted, place, name=f"message/{role}/empty")

    def _reply(self, message: dict[str, Any], extra: dict[str, Any], text: str, place: Place) -> Iterator[ev.AnyEvent]:
        event, response = self.normaliser.event, as_object(extra.get("response"))
        model = as_text(response.get("model")) or self._model
        thought = as_text(message.get("reasoning_content"))
        if thought:
            yield event(ev.ModelThought, place, text=thought, model=model)
        if text:
            yield event(ev.ModelSaid, place, text=text, model=model)
        calls = as_objects(message.get("tool_calls"))
        for call in calls:
            function = as_object(call.get("function"))
            id = as_text(call.get("id")) or f"{place.key}.{place.number}"
            native = NativeCall(id, as_text(function.get("name")) or "", arguments_of(function.get("arguments")))
            yield self.normaliser.called(place, native)
        blocks = [] if calls else _BLOCK.findall(text)
        if len(blocks) == 1:  # 1.9: with none or several, another reply is asked for
            self._waiting = f"{place.key}.call"
            yield self.normaliser.called(place, NativeCall(self._waiting, "bash", {"command": blocks[0].strip()}))
        usage = as_object(response.get("usage"))
        if usage:
            paid = as_number(extra.get("cost"))
            yield event(ev.TokensUsed, place, usage=usage_of(usage), model=model, cost=paid)
        elif calls or blocks:
            yield event(ev.ModelFinished, place, finish=FinishReason.CALLS, model=model)

    def end(self) -> Iterator[ev.AnyEvent]:
        status = as_text(self._info.get("exit_status"))
        if self._head is not None and status is not None:
            place = self.place(self._head)
            place.key = "info"
            word = status.lower()
            reason = "completed" if word == "submitted" else "limited" if "limit" in word else "unknown"
            yield self.normaliser.event(ev.SessionEnded, place, reason=reason, message=status)


FORMAT = MiniSweAgent()
