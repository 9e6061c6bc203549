"""What is told of a run to whoever `notify` of the settings names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from dragoman import fleet

from .secrets import Secrets, secrets_of
from .terminal.approver import SHORT_DIGEST

if TYPE_CHECKING:
    from dragoman.config import Configuration

    from .terminal.approver import WaitingCall


class ToldCall(msgspec.Struct, frozen=True):
    """A call that waits; `question`: it needs an answer to what the model asks, not a yes."""

    id: str
    digest: str
    summary: str
    question: bool


class RunNotice(msgspec.Struct, frozen=True):
    """What is told of a run. `text` is all of it in words, as chat services take it."""

    text: str
    run: str
    state: fleet.State
    task: str
    folder: str
    message: str
    calls: tuple[ToldCall, ...]


def notifier_of(configuration: Configuration) -> fleet.Notifier | None:
    """What tells; `None` where the settings name nobody."""
    notify = configuration.settings.notify
    if not notify.command and notify.url is None:
        return None
    return fleet.Notifier(
        configuration.config_dir if configuration.config_dir.is_dir() else configuration.data_dir,
        command=notify.command,
        url=None if notify.url is None else notify.url.reveal(),
        headers={name: value.reveal() for name, value in notify.headers.items()},
        allow_private=notify.allow_private,
    )


def facts_of(
    configuration: Configuration,
    run: str,
    state: fleet.State,
    *,
    task: str = "",
    folder: str = "",
    message: str = "",
    calls: Sequence[WaitingCall] = (),
) -> RunNotice:
    """What is told, without a secret that is known here."""
    short = run[:8]
    line = task.strip().split("\n")[0][:200]
    words = [f"dragoman: {short} {_STATES.get(state, state)}" + (f": {line}" if line else "")]
    words += [f"{call.digest[:SHORT_DIGEST]}  {call.summary}" for call in calls]
    words += [f"dragoman approve {short}    dragoman refuse {short}"] if calls else []
    words += [message] if message and not calls else []
    told = tuple(ToldCall(call.id, call.digest, call.summary, bool(call.asks)) for call in calls)
    facts = RunNotice("\n".join(words), run, state, task, folder, message, told)
    return Secrets(secrets_of(configuration)).value(facts)


_STATES = {"waiting": "waits for your answer", "failed": "has failed", "done": "is done"}
