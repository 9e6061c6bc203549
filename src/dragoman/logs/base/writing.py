"""What writes a session for a client: the files it resumes from, where it looks for them, and the command for it.

Rules: a file's place is made of the new id and the folder alone, never of what a log says. What is written can be read
by the reader of the same format. Values that nobody knows (tokens, thoughts, times of single messages) are left out.
"""

from __future__ import annotations

import abc
import datetime
import re
import shlex
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

import msgspec

from dragoman.apis import APIS
from dragoman.model import Conversation, Media, NativeCall, Request, user
from dragoman.model.request import Definition


class Agent(msgspec.Struct, frozen=True):
    """A sub-agent of the session to be written."""

    id: str
    call_id: str
    """The call of the session that started it."""
    kind: str
    """The type of agent that the call asks for."""
    messages: list[dict[str, Any]]


class Destination(msgspec.Struct, frozen=True):
    """The session to be written."""

    id: str
    folder: str
    """The folder that the client is to work in, absolute."""
    time: datetime.datetime
    version: str
    model: str
    home: Path
    """The folder below which the client keeps its sessions."""
    agents: tuple[Agent, ...] = ()

    def agent_of(self, call_id: str) -> Agent | None:
        """The sub-agent that a call of the session started."""
        return next((one for one in self.agents if one.call_id == call_id), None)

    @property
    def of_agent(self) -> Destination:
        """The same for what a sub-agent said: its calls are not the session's."""
        return msgspec.structs.replace(self, agents=())


class SessionWriter(abc.ABC):
    """Writes sessions of one client."""

    api: ClassVar[str]
    """The API whose messages the client's log holds, or is nearest to."""
    program: ClassVar[str]
    """The name of the client's program, which tells its version with `--version`."""
    version: ClassVar[str]
    """The version whose files these are, used where the client's own is not known."""
    model: ClassVar[str]
    """A model of the client, named where the session's own is not known."""
    withheld: ClassVar[frozenset[str]] = frozenset()
    """Tools of its vocabulary that a session of this version begins without, because it looks them up when they are
    needed or has them only beside an MCP server, and tools whose arguments only the machine knows."""

    def home(self, homes: Sequence[Path], user: Path, environment: Mapping[str, str]) -> Path:
        """The folder that sessions are written below: the first of the client's homes."""
        return homes[0]

    def keeps(self, media: Media, *, in_result: bool) -> bool:
        """Whether the client's file holds a picture or a file that was said; else it is named in the text."""
        return True

    def new_id(self, time: datetime.datetime) -> str:
        return str(uuid.uuid4())

    def agent_id(self, call: NativeCall, old: str, first_words: str, to: Destination) -> str | None:
        """The id of a sub-agent that a call of the new session started; `None` if its conversation cannot be kept.

        It may be part of a file's name, so it is never the `old` one unless that has the client's own form.
        `first_words` are what the agent was told first.
        """
        return None

    def thoughts(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        """What a model thought in a record of the client, as blocks of the API.

        Their signatures are what the client keeps beside the thought, in any form: `written` gets them back.
        """
        return []

    def signature(self, record: dict[str, Any], call_id: str) -> str | None:
        """The signature of a call in a record of the client."""
        return None

    @abc.abstractmethod
    def path(self, to: Destination) -> PurePosixPath:
        """Where the client looks for the session, below its home; `LogError` when that cannot be known."""

    @abc.abstractmethod
    def written(self, messages: Sequence[dict[str, Any]], to: Destination) -> bytes:
        """The file that holds these messages of the API."""

    def more_files(self, messages: Sequence[dict[str, Any]], to: Destination) -> dict[PurePosixPath, bytes]:
        """Other files of the session, by their places below the client's home; put in place after the first."""
        return {}

    @abc.abstractmethod
    def resume(self, to: Destination) -> str:
        """The command line that resumes it, to be given in its folder."""

    def remove(self, files: Sequence[Path], to: Destination) -> str:
        """The command line that removes it again, whether it was resumed or not; `files` are what is written."""
        return f"rm {shlex.join(map(str, files))}"


def messages_of(
    api: str, conversation: Conversation, model: str, definitions: Sequence[Definition]
) -> list[dict[str, Any]]:
    """A conversation as the messages of an API, as a request with these tools would send it."""
    # Some models refuse a request that ends with their own words. The next ones are the user's, whatever they will be.
    ended = bool(conversation) and conversation[-1].role == "assistant"
    asked = (*conversation, user("Continue.")) if ended else conversation
    request = Request(model=model, conversation=asked, definitions=tuple(definitions))
    body = APIS[api].encode(request).body
    messages = body[_messages_in(body)]
    assert isinstance(messages, list)
    return messages[:-1] if ended else messages


def conversation_of(api: str, messages: Sequence[dict[str, Any]]) -> Conversation:
    """Messages of an API as the conversation that they say."""
    codec = APIS[api]
    key = _messages_in(codec.encode(Request("a-model", (user("Hello."),))).body)
    said: Conversation = codec.read_request({key: list(messages)}, model="a-model").conversation
    return said


def _messages_in(body: Mapping[str, Any]) -> str:
    return next(key for key in ("messages", "input", "contents") if key in body)


def provider_of(model: str) -> str:
    """The provider of a model, as clients of several call it; Anthropic for names that say nothing."""
    name = model.rpartition("/")[2].lower()
    return "openai" if re.match(r"gpt|o\d|codex", name) else "google" if name.startswith("gemini") else "anthropic"


def stamp(time: datetime.datetime) -> str:
    """A time as JavaScript writes it."""
    return f"{time.astimezone(datetime.UTC):%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03d}Z"


def moments(first: datetime.datetime) -> Iterator[str]:
    """Times for records that must be in order, a millisecond apart: when they were really made is not known."""
    step = 0
    while True:
        yield stamp(first + datetime.timedelta(milliseconds=step))
        step += 1


def lines(records: Sequence[Mapping[str, Any]]) -> bytes:
    """Records as lines of JSON; the last one ends too."""
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)
