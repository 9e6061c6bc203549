"""A recorded session as a new session of another client, in the words that client's model was trained on.

Rules: no existing file is touched, and nothing is put in place before our own reader has read it back. No call is
written under a name that the client does not offer: what its tools cannot say is said through its shell, and what that
cannot do either is told as text. Whatever did not come along is listed.
"""

from __future__ import annotations

import datetime
import os
import posixpath
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import msgspec

from dragoman.apis import APIS
from dragoman.dialects import DIALECTS, Dialect
from dragoman.dialects.translation import WHOLE, Lost, Respoken, Translation, Way, respoken
from dragoman.errors import LogError, nearest, writing
from dragoman.logs.base.format import LogFormat, Places
from dragoman.logs.base.reading import read, recognise
from dragoman.logs.base.writing import Agent, Destination, SessionWriter, conversation_of, messages_of
from dragoman.model import (
    AnyEvent,
    AnyPart,
    CallPart,
    Conversation,
    ConversationItem,
    ExecutedBy,
    Media,
    MediaPart,
    OpaquePart,
    Provenance,
    Request,
    ResultPart,
    SessionStarted,
    TextPart,
    ThinkingPart,
    Unreadable,
    UserSaid,
    operations as op,
)
from dragoman.model.token_estimate import BYTES_PER_TOKEN, estimated_tokens
from dragoman.registry import FORMATS

from .agents import SubAgent, renamed, starting_calls, sub_agents
from .checking import difference
from .conversation import AGENTS, history_of, one_session
from .folding import calls_of, fold_points, folded

IN_SUMMARY = "it is only in the summary"
"""Why a call is not written that a budget leaves no room for."""
_BELOW = "the conversations of the agents that it started itself are not written"


class Ported(msgspec.Struct, frozen=True):
    """A session in another client's words, ready to be put where that client looks for it."""

    client: str
    id: str
    folder: str
    """The folder in which the client is to be started."""
    home: Path
    path: PurePosixPath
    """The file's place below the client's home."""
    content: bytes
    resume: str
    """The command that resumes it."""
    remove: str
    """The command that removes it again, also after it was resumed."""
    version: str
    """The version of the client whose words and files these are."""
    messages: int
    tokens: int
    """About how many tokens the client will send for it, beside its own instructions and tools."""
    ways: dict[Way, int]
    """How many calls are said by a tool, by a command of the shell, or as text."""
    lost: tuple[Lost, ...]
    """What did not survive, by call."""
    left_out: dict[str, int]
    """What is no call and did not come along, by kind."""
    beside: dict[PurePosixPath, bytes] = {}
    """Other files of the session, by their places below the client's home."""

    @property
    def file(self) -> Path:
        """Where the file with the conversation goes."""
        return self.home / self.path

    @property
    def contents(self) -> tuple[tuple[PurePosixPath, bytes], ...]:
        """Its files: their places below the client's home, and what is in them; the conversation is the first."""
        return ((self.path, self.content), *self.beside.items())

    @property
    def files(self) -> tuple[Path, ...]:
        """Where all its files go."""
        return (self.file, *(self.home / path for path in self.beside))

    def place(self) -> Path:
        """Puts the session where its client looks for it, whole or not at all, and never over another file."""
        placed: list[Path] = []
        try:
            for path, content in self.contents:
                placed.append(self._placed(path, content))
        except BaseException:
            for file in placed:
                file.unlink()
            raise
        return self.file

    def _placed(self, path: PurePosixPath, content: bytes) -> Path:
        file = self.home / path
        with writing(file):
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if file.parent.resolve() != (self.home.resolve() / path).parent:
            raise LogError(f"{file.parent} leads out of {self.home}: nothing is written there")
        with writing(file):
            handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".dragoman-")
        try:
            with writing(file), os.fdopen(handle, "wb") as open_file:
                open_file.write(content)
                open_file.flush()
                os.fsync(open_file.fileno())
            try:
                os.link(temporary, file)
            except FileExistsError:
                raise LogError(f"{file} is there already; nothing was written") from None
        finally:
            os.unlink(temporary)
        return file


def targets() -> tuple[str, ...]:
    """The clients that sessions can be written for."""
    return tuple(name for name in FORMATS if FORMATS[name].written_by is not None)


def port(
    session: str | Path | Iterable[AnyEvent],
    *,
    to: str,
    source: str | None = None,
    id: str | None = None,
    folder: str | None = None,
    version: str | None = None,
    model: str | None = None,
    family: str | None = None,
    budget: int | None = None,
    with_agents: bool = False,
    places: Places | None = None,
    time: datetime.datetime | None = None,
) -> Ported:
    """A session, which is a log file or its events, as a session of the client `to`.

    `source` is the client that wrote it: for a file it is found by what the file holds, for events it must be named. Of
    several sessions the beginning of an `id` says which one is meant. `folder` is where the new session works, by
    default where the old one did. The `version` and the `model` (or a `family` of models) decide which tools the client
    offers. With a `budget` in tokens, older turns are folded into a summary until the rest fits. `with_agents` writes
    the conversations of sub-agents too, for clients that keep them. Nothing is written to disk before `Ported.place`.
    """
    if isinstance(session, str | Path):
        source = source or recognise(session)[0].name
        session = read(FORMATS[source].whole(Path(session)), source)
    elif source is None:
        raise LogError("events do not say which client wrote them: name it with source=")
    read_events = list(session)
    chosen, events = one_session(read_events, id=id)
    told = history_of(events, FORMATS[source].dialect, writer=FORMATS[to].writer() if source == to else None)
    if not told.conversation:
        raise LogError("the session holds no messages to continue from")
    started = next((one for one in events if isinstance(one, SessionStarted) and one.cwd), None)
    began = None if started is None else started.cwd
    return ported(
        told.conversation,
        to=to,
        source=source,
        folder=folder or began,
        began=began,
        agents=_agents_in(read_events, source, chosen) if with_agents else (),
        left_out=told.left_out,
        version=version,
        model=model,
        family=family,
        budget=budget,
        places=places,
        time=time,
    )


def ported(
    conversation: Conversation,
    *,
    to: str,
    folder: str | None,
    source: str | None = None,
    began: str | None = None,
    agents: Sequence[SubAgent] = (),
    left_out: dict[str, int] | None = None,
    version: str | None = None,
    model: str | None = None,
    family: str | None = None,
    budget: int | None = None,
    places: Places | None = None,
    time: datetime.datetime | None = None,
) -> Ported:
    """A conversation as a session of the client `to`. `began` is the folder that its paths are relative to.

    Thoughts come along when `source`, the client it was led in, is the same one, and the `model` that made them (by
    default the last one) continues.
    """
    format, writer = _target(to)
    if folder is None:
        raise LogError("the log does not say in which folder the session worked: name one")
    if not posixpath.isabs(folder) or not folder.isprintable():
        raise LogError(f"{folder!r} is not an absolute path that a client could work in here: name another with --cwd")
    time = time or datetime.datetime.now(datetime.UTC)
    places = places or Places.here()
    model = model or (last_model(conversation) if source == to else None)
    destination = Destination(
        writer.new_id(time),
        posixpath.normpath(folder),
        time,
        version or writer.version,
        model or writer.model,
        writer.home(list(format.homes(places)), places.home, places.environment),
    )
    # Clients choose tools by the model's own name: engine.models.family_of is what we offer a model ourselves.
    own_name = None if model is None else model.rpartition("/")[2].lower()
    dialect = DIALECTS[format.dialect].at(destination.version, family or own_name)
    offered = tuple(one for one in dialect.definitions() if one.name not in writer.withheld)

    def translation(source: str) -> Translation | None:
        return Translation(_read_as(source), dialect, offered=offered, folder=began or folder, paths="absolute")

    conversation, own = _portable(conversation, dialect.name, destination.model if source == to else None)

    def written(conversation: Conversation) -> _Written:
        new = respoken(conversation, dialect.name, translation)
        new = msgspec.structs.replace(new, conversation=_apart(new.conversation))
        messages = messages_of(writer.api, new.conversation, destination.model, offered)
        return _Written(new, messages, estimated_tokens(new.conversation))

    (new, messages, tokens), away = _within(budget, conversation, written)
    if away:
        turns = sum(item.role == "user" for item in away)
        own |= {"messages of the user that are only in the summary": turns}
    lost = [Lost(call.id, call.name, WHOLE, IN_SUMMARY) for call in calls_of(away)]
    unspoken = _thoughts(conversation[len(away) :]) - _thoughts(new.conversation)  # beside calls that became text
    if unspoken:
        own["thoughts"] = own.get("thoughts", 0) + unspoken
    said = [new.conversation]
    if agents:
        left_out = {what: count for what, count in (left_out or {}).items() if what != AGENTS}
        placing = _Placing(new.conversation, dialect, writer, destination)
        ids = placing.ids(agents, {call.id: call.name for call in calls_of(conversation)})
        lost += placing.lost
        said = [renamed(new.conversation, dialect, ids)]
        messages = messages_of(writer.api, said[0], destination.model, offered)
        for agent in (one for one in agents if one.id in ids):
            of_agent = written(_portable(agent.conversation, dialect.name, None)[0])
            said.append(renamed(of_agent.new.conversation, dialect, ids))
            lost += of_agent.new.lost
            placing.write(agent, messages_of(writer.api, said[-1], destination.model, offered))
        destination = msgspec.structs.replace(destination, agents=tuple(placing.agents))
    path, beside = writer.path(destination), writer.more_files(messages, destination)
    result = Ported(
        client=to,
        id=destination.id,
        folder=destination.folder,
        home=destination.home,
        path=path,
        content=writer.written(messages, destination),
        beside=beside,
        resume=writer.resume(destination),
        remove=writer.remove([destination.home / one for one in (path, *beside)], destination),
        version=destination.version,
        messages=len(messages),
        tokens=tokens,
        ways=new.ways,
        lost=(*lost, *new.lost),
        left_out={**(left_out or {}), **own, **_media_left_out(new.conversation, writer)},
    )
    _offered([Request(destination.model, one, offered) for one in said], writer.api, to)
    _read_back(result, messages, writer.api, destination.agents)
    return result


class _Placing:
    """Finds for sub-agents the calls of the new session that start them."""

    def __init__(
        self, conversation: Conversation, dialect: Dialect, writer: SessionWriter, destination: Destination
    ) -> None:
        self._calls = starting_calls(conversation, dialect)
        self._dialect, self._writer, self._destination = dialect, writer, destination
        self._ids: dict[str, str] = {}
        self.agents: list[Agent] = []
        self.lost: list[Lost] = []

    def ids(self, agents: Sequence[SubAgent], tools: Mapping[str, str]) -> dict[str, str]:
        """The old and the new ids of the agents that are to be written. `tools` are the calls of the old session."""
        taken: set[str] = set()
        for agent in agents:
            call = self._calls.get(agent.call_id or "")
            new = (
                None if call is None else self._writer.agent_id(call, agent.id, _first_words(agent), self._destination)
            )
            reason = None
            if call is None:
                reason = "its conversation is not written: no call of the new session starts it"
            elif new is None:
                reason = "its conversation is not written: the client has no place for it"
            elif call.id in taken:
                reason = "its conversation is not written: the call started another agent too"
            else:
                taken.add(call.id)
                self._ids[agent.id] = new
            lost = [*([reason] if reason else []), *([_BELOW] * min(1, agent.below))]
            id = agent.call_id or agent.id
            self.lost += [Lost(id, tools.get(id, "agent"), "agent", one) for one in lost]
        return self._ids

    def write(self, agent: SubAgent, messages: list[dict[str, Any]]) -> None:
        call = self._calls[agent.call_id or ""]
        kinds = (one.agent for one in self._dialect.read_call(call).operations if isinstance(one, op.SpawnAgent))
        kind = next(kinds, None) or "agent"
        self.agents.append(Agent(self._ids[agent.id], call.id, kind, messages))


class _Written(NamedTuple):
    """A conversation in a client's words, as messages of its API, and about how many tokens they are."""

    new: Respoken
    messages: list[dict[str, Any]]
    tokens: int


def _within(
    budget: int | None, conversation: Conversation, written: Callable[[Conversation], _Written]
) -> tuple[_Written, Conversation]:
    """The conversation with as little of its beginning in a summary as fits the budget, and what was folded into it."""
    whole = written(conversation)
    if budget is None or whole.tokens <= budget:
        return whole, ()
    points = fold_points(conversation)
    characters = budget * BYTES_PER_TOKEN // 3  # most of the room is for what is not folded
    low, high = 0, len(points) - 1
    best: tuple[_Written, Conversation] | None = None
    least = whole.tokens
    while low <= high:
        middle = (low + high) // 2
        place = points[middle]
        attempt = written(folded(conversation, place, characters))
        least = min(least, attempt.tokens)
        if attempt.tokens <= budget:
            best, high = (attempt, conversation[:place]), middle - 1
        else:
            low = middle + 1
    if best is None:
        raise LogError(
            f"a budget of {budget:,} tokens is too small: with a summary of all but its end the session takes {least:,}"
        )
    return best


def last_model(conversation: Conversation) -> str | None:
    """The model that spoke last, where that is known."""
    made_by = (item.provenance for item in reversed(conversation) if item.role == "assistant")
    return next((one.model for one in made_by if one is not None and one.model), None)


def _portable(conversation: Conversation, dialect: str, maker: str | None) -> tuple[Conversation, dict[str, int]]:
    """A conversation without what only its maker can use, and how much of that there was.

    What the model `maker` can prove stays. Replies whose vocabulary nobody knows are taken to be in that of `dialect`:
    what is not becomes text.
    """
    left_out: Counter[str] = Counter()
    items: list[ConversationItem] = []
    for item in conversation:
        if item.role in ("system", "developer"):
            left_out["instructions of the client"] += 1
            continue
        is_own = maker is not None and item.provenance is not None and item.provenance.model == maker
        kinds = [None if is_own and _is_proven(part) else _bound_to_maker(part) for part in item.parts]
        left_out.update(kind for kind in kinds if kind is not None)
        parts = tuple(part for part, kind in zip(item.parts, kinds, strict=True) if kind is None)
        if not is_own:
            parts = tuple(_without_signature(part) for part in parts)
        if parts:
            made_by = item.provenance
            if item.role == "assistant" and (made_by is None or made_by.dialect is None):
                made_by = msgspec.structs.replace(made_by or Provenance("a log"), dialect=dialect)
            items.append(msgspec.structs.replace(item, parts=parts, provenance=made_by))
    return tuple(items), dict(left_out)


def _apart(conversation: Conversation) -> Conversation:
    """The same conversation, where texts that a model said in a row do not become a single word.

    Some clients and APIs join them as they are, also those that a call stands between. A text that goes on in the
    middle of a sentence stays: providers divide texts at what they cite.
    """
    items: list[ConversationItem] = []
    before: TextPart | None = None
    for item in conversation:
        parts: list[AnyPart] = []
        for part in item.parts:
            if item.role == "assistant" and isinstance(part, TextPart) and before is not None and _joins(before, part):
                part = msgspec.structs.replace(part, text=f"\n{part.text}")
            before = part if item.role == "assistant" and isinstance(part, TextPart) else before
            parts.append(part)
        before = before if item.role == "assistant" else None
        items.append(item if parts == [*item.parts] else msgspec.structs.replace(item, parts=tuple(parts)))
    return tuple(items)


def _joins(before: TextPart, after: TextPart) -> bool:
    ends, begins = before.text[-1:], after.text[:1]
    return bool(ends) and not ends.isspace() and (begins.isalnum() or begins in tuple("`*#-[(<{\"'"))


def _without_signature(part: AnyPart) -> AnyPart:
    signed = getattr(part, "signature", None)
    return part if signed is None else msgspec.structs.replace(part, signature=None)


def _thoughts(conversation: Conversation) -> int:
    return sum(isinstance(part, ThinkingPart) for item in conversation for part in item.parts)


def _is_proven(part: AnyPart) -> bool:
    return isinstance(part, ThinkingPart) and bool(part.signature or part.encrypted)


def _bound_to_maker(part: AnyPart) -> str | None:
    """What kind of thing a part is that no other provider takes; `None` for what can go anywhere."""
    match part:
        case ThinkingPart():
            return "thoughts"
        case OpaquePart():
            return "items of the provider"
        case CallPart(call) if call.executed_by is not ExecutedBy.CLIENT:
            return "calls the provider ran itself"
        case ResultPart(result) if result.executed_by is not ExecutedBy.CLIENT:
            return "results of calls the provider ran itself"
    return None


def _media_left_out(conversation: Conversation, writer: SessionWriter) -> dict[str, int]:
    count = 0
    for part in (part for item in conversation for part in item.parts):
        if isinstance(part, MediaPart):
            count += not writer.keeps(part.media, in_result=False)
        elif isinstance(part, ResultPart) and not isinstance(part.result.content, str):
            media = [one for one in part.result.content if isinstance(one, Media)]
            count += sum(not writer.keeps(one, in_result=True) for one in media)
    return {"pictures and files, which are only named": count} if count else {}


def _target(to: str) -> tuple[LogFormat, SessionWriter]:
    if to not in FORMATS or (writer := FORMATS[to].writer()) is None:
        raise LogError(
            f"sessions cannot be written for {to!r}; they can be for {', '.join(targets())}.{nearest(to, targets())}"
        )
    return FORMATS[to], writer


def _read_as(source: str) -> Dialect:
    dialect: Dialect = DIALECTS[source]
    return dialect


def _offered(requests: Sequence[Request], api: str, client: str) -> None:
    """No call is of a tool that the client does not offer."""
    for request in requests:
        wrong = next((one for one in APIS[api].validate(request) if one.accepted), None)
        if wrong is not None:
            raise LogError(f"the session for {client} would have a call that the client does not offer: {wrong}")


def _read_back(ported: Ported, messages: Sequence[dict[str, Any]], api: str, agents: Sequence[Agent]) -> None:
    """Reads what was written: a client that resumes with half a history says nothing about it."""
    dialect = FORMATS[ported.client].dialect
    with tempfile.TemporaryDirectory(prefix="dragoman-") as folder:
        files = [_copied(Path(folder), path, content) for path, content in ported.contents]
        events = [
            [_by_user(event) for event in read(file, ported.client)]
            for file in files
            if not file.name.endswith(".meta.json")
        ]
    bad = next((event for mine in events for event in mine if isinstance(event, Unreadable)), None)
    if bad is not None:
        raise LogError(f"the session written for {ported.client} cannot be read back: {bad.reason}")
    _same(ported.client, api, messages, history_of(events[0], dialect).conversation)
    found = sub_agents(
        (event for mine in events for event in mine),
        ported.id,
        lambda mine, stream: history_of(mine, dialect, stream).conversation,
    )
    by_id = {(one.id, one.call_id): one.conversation for one in found}
    for agent in agents:
        _same(ported.client, api, agent.messages, by_id.get((agent.id, agent.call_id), ()))


def _by_user(event: AnyEvent) -> AnyEvent:
    """What was written in the user's name is read as theirs, even if it looks like words of the client."""
    return msgspec.structs.replace(event, by="user") if isinstance(event, UserSaid) else event


def _copied(folder: Path, path: PurePosixPath, content: bytes) -> Path:
    file = folder / path
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return file


def _same(client: str, api: str, messages: Sequence[dict[str, Any]], again: Conversation) -> None:
    wrong = difference(conversation_of(api, messages), again)
    if wrong is not None:
        raise LogError(f"the session written for {client} reads back with {wrong}; nothing was put in place")


def _first_words(agent: SubAgent) -> str:
    first = agent.conversation[0]
    return "\n".join(part.text for part in first.parts if isinstance(part, TextPart))


def _agents_in(events: Iterable[AnyEvent], source: str, session: str | None) -> tuple[SubAgent, ...]:
    dialect = FORMATS[source].dialect
    return sub_agents(events, session, lambda mine, stream: history_of(mine, dialect, stream).conversation)
