"""The screen **Session**: one session as it was said, as changes of files, in time, as bytes, and in other words."""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import Any, Final

import msgspec

from dragoman.client_names import client_name
from dragoman.dialects import DIALECTS, Dialect
from dragoman.errors import Unspeakable
from dragoman.logs import Originals, SessionRow, key_of
from dragoman.logs.export import (
    Conversation,
    FileStory,
    Markup,
    Said,
    about,
    anchor,
    contents,
    diff_html,
    duration,
    event_line,
    facts,
    plain,
    pretty,
    stories_of,
    written,
)
from dragoman.model import AnyEvent, Call, Source, ToolCalled

from .frame import Asked, Parameters, Screen, address, current, session_address
from .library import ENTRIES, LONG, Library, Read, Spent, beginning_of
from .list_screen import cost_words, is_live, session_facts, tokens_of
from .timeline import BARS, bars_of, timeline

_TURNS: Final = 200
"""Turns that are listed beside them."""
_RAW_WINDOW: Final = 60
_FILES: Final = 20
"""Files that are shown at once."""
_CALLS_BEFORE, _CALLS_LISTED = 40, 100
"""Calls that are listed before the one that is shown in other words, and in all."""
_OF_AGENT: Final = 60
_TABS: Final = {
    "said": "Said",
    "changes": "Changes",
    "timeline": "Timeline",
    "raw": "Raw",
    "words": "Other words",
}
_LONGEST_TEXT: Final = 150_000
"""Characters of one thing that was said."""
_LONGEST_RAW: Final = 20_000
"""Characters of one record that are shown; `dragoman events --raw` gives all of it."""


def session_screen(library: Library, id: str, parameters: Parameters) -> Screen:
    """A session, or with `agent` in the address one of its sub-agents."""
    tab = parameters.get("tab") or "said"
    is_first = not any(parameters.get(name) for name in ("from", "event", "all"))
    read = library.session(id, parameters.get("agent") or None, beginning=is_first)
    if tab == "said" and parameters.get("event"):
        read = _where_it_was(library, read, parameters["event"])
    if tab not in _TABS:
        raise Asked(f"there is no tab {tab!r}; there are {', '.join(_TABS)}", 404)
    here = session_address(read.row.session)
    kept = {name: parameters.get(name, "") for name in ("agent", "prose")}
    spent = None if read.is_of_another else library.spent([read.row]).get(read.row.session)
    with read.lock:
        shown = _said(library, read, here, parameters) if tab == "said" else _SHOWN[tab](read, here, parameters)
    body, data = shown
    head = [
        f'<article class="session{" prose-only" if parameters.get("prose") else ""}" data-session="{plain(read.row.session)}">',
        *_head(read, here, parameters, spent),
        '<nav class="tabs" aria-label="Views">',
        *(
            f'<a href="{plain(address(here, kept, tab="" if name == "said" else name))}"{current(is_it=name == tab)}>{word}</a>'
            for name, word in _TABS.items()
        ),
        "</nav>",
    ]
    everything = {"session": session_facts(read.row, spent), "tab": tab, **data}
    return Screen(read.conversation.title, "/", [*head, *body, "</article>"], everything)


def _where_it_was(library: Library, read: Read, sought: str) -> Read:
    """The conversation that the event with an anchor is of: a link of a session may lead to one of its agents."""
    with read.lock:
        if read.transcript is not None:
            event = read.transcript.event_at(sought)
        else:
            event = next((one for one in read.events if anchor(one.id) == sought), None)
    if event is None or key_of(event) == (read.conversation.id, read.conversation.stream):
        return read
    session, stream = key_of(event)
    return library.session(session if stream == "main" else read.row.session, None if stream == "main" else stream)


def _head(read: Read, here: str, parameters: Parameters, spent: Spent | None) -> Iterator[str]:
    row, conversation = read.row, read.conversation
    live = ' <span class="live">active</span>' if is_live(row) else ""
    yield f"<h1>{plain(conversation.title)}{live}</h1>"
    yield from facts(conversation.facts if conversation.stream != "main" else _facts(row, spent))
    if unread := row.unreadable + row.unknown:
        records = f"{unread:,} record{'s' if unread != 1 else ''} of this log {'were' if unread != 1 else 'was'}"
        yield (
            f'<p class="warning">{records} not understood; '
            f"<code>dragoman schema check {plain(row.session[:12])}</code> says what is new.</p>"
        )
    yield '<p class="actions">'
    if conversation.stream != "main":
        yield f'<a href="{plain(here)}">The whole session</a>'
    else:
        words = shlex.quote(row.session)
        yield f'<button type="button" data-copy="{plain(f"dragoman run --from {words} ")}">Copy command to continue</button>'
        yield f'<button type="button" data-copy="{plain(f"dragoman port {words} --to codex")}">Copy command to port</button>'
        yield f'<a href="{plain(address("/compare", {"a": row.session}))}">Compare</a>'
    prose = address(here, {**parameters, "prose": "" if parameters.get("prose") else "1"})
    yield f'<a href="{plain(prose)}" id="prose" aria-pressed="{"true" if parameters.get("prose") else "false"}" role="button">Prose only</a>'
    yield '<button type="button" id="follow" aria-pressed="false" hidden>Follow</button>'
    yield f'<a href="{plain(address(here, {**parameters, "format": "json"}))}">JSON</a></p>'


def _facts(row: SessionRow, spent: Spent | None) -> list[tuple[str, str]]:
    """What the index knows of a session: the same figures as in the list."""
    lasted = None if row.started is None or row.ended is None else (row.ended - row.started).total_seconds()
    tokens = tokens_of(row, spent)
    agents = f" with {row.agents:,} agent{'s' if row.agents != 1 else ''}" if row.agents and spent is not None else ""
    known = {
        "session": row.session,
        "client": " ".join(one for one in (row.client and client_name(row.client), row.version) if one),
        "model": ", ".join(row.models),
        "folder": row.cwd,
        "started": None if row.started is None else f"{row.started:%Y-%m-%d %H:%M:%S} UTC",
        "duration": duration(lasted) if lasted else None,
        "calls": f"{row.calls:,}{f', {row.failures:,} failed' if row.failures else ''}" if row.calls else None,
        "tokens": None if tokens is None else f"{tokens:,}{agents}{' (doubtful)' if row.doubtful else ''}",
        "cost": None if spent is None else cost_words(row, spent),
    }
    return [(name, value) for name, value in known.items() if value]


# ── said ─────────────────────────────────────────────────────────────────────


def _said(library: Library, read: Read, here: str, parameters: Parameters) -> tuple[list[str], dict[str, Any]]:
    conversation, begin, total = _shown_part(library, read, parameters)
    agent = "" if conversation.stream == "main" else conversation.stream

    def link(name: str, entry: int) -> str:
        return f"{address(here, {'agent': agent, 'from': entry // ENTRIES * ENTRIES})}#{name}"

    def links(said: Said) -> Iterator[tuple[str, str]]:
        if said.kind == "call" and said.operations:
            yield "other words", address(here, {"tab": "words", "event": anchor(said.event)})
        yield "raw", f"{address(here, {'tab': 'raw', 'event': anchor(said.event)})}#{anchor(said.event)}"

    markup = Markup(
        links=links,
        most_of_agent=_OF_AGENT,
        longest=_LONGEST_TEXT,
        agent_link=lambda one: session_address(read.row.session, agent=one.stream),
    )
    turns = contents(conversation, link, at=begin, most=_TURNS)
    body = ['<div class="with-side"><div class="side turns">', *turns, "</div>"]
    if total is None:
        before, after = "", _rest(here, parameters, read.row.events)
    else:
        before = after = "".join(_earlier_later(here, parameters, begin, total, ENTRIES))
    said = list(markup.parts(conversation, conversation.parts))
    if not said:
        raw = plain(address(here, {"agent": agent, "tab": "raw"}))
        said.append(
            f'<p class="empty">Nothing was said that could be read. <a href="{raw}">The records themselves</a></p>'
        )
    body += ['<div class="said" id="said">', before, *said, after, "</div></div>"]
    entries = [_entry(said) for part in conversation.parts for said in part.said]
    return body, {"from": begin, "total": total, "entries": entries}


def _shown_part(library: Library, read: Read, parameters: Parameters) -> tuple[Conversation, int, int | None]:
    """The conversation with a window of its entries, the first of them, and how many there are if that is known."""
    conversation, sought = read.conversation, parameters.get("event", "")
    key = (conversation.id, conversation.stream)
    if read.is_beginning:
        return beginning_of(library, read), 0, None
    if read.transcript is not None:
        total = read.transcript.count(key)
        found = read.transcript.entry_at(key, sought) if sought else None
        begin = _begin(parameters, total, ENTRIES) if found is None else found // ENTRIES * ENTRIES
        return read.transcript.window(key, conversation.title, begin, ENTRIES), begin, total
    total = sum(len(part.said) for part in conversation.parts)
    flat = (said for part in conversation.parts for said in part.said)
    places = (place for place, said in enumerate(flat) if anchor(said.event) == sought)
    found = next(places, None) if sought else None
    begin = _begin(parameters, total, ENTRIES) if found is None else found // ENTRIES * ENTRIES
    return conversation.window(begin, ENTRIES), begin, total


def _rest(here: str, parameters: Parameters, events: int) -> str:
    """Links from the beginning of a long session, of which only that was read."""
    after, end = (plain(address(here, {**parameters, "from": place})) for place in (ENTRIES, "end"))
    return (
        f'<nav class="pages" aria-label="Parts of the session"><span>The first {ENTRIES} entries of a session of'
        f' {events:,} events</span><a rel="next" href="{after}">Later</a><a href="{end}">End</a></nav>'
    )


def _entry(said: Said) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "event": said.event,
        "anchor": anchor(said.event),
        "kind": said.kind,
        "title": said.title,
        "time": said.time,
        "failed": said.failed,
        "result": said.result,
        "seconds": said.seconds,
        "operations": [msgspec.to_builtins(one) for one in said.operations],
        "text": [block.text for block in said.blocks],
        "agents": [one.stream for one in said.agents],
    }
    # 0 seconds are said: what is left out is only what there is not.
    return {name: value for name, value in facts.items() if not (value is None or value is False or value == [])}


def _begin(parameters: Parameters, total: int, size: int) -> int:
    text = parameters.get("from", "")
    if text == "end":
        return max(0, (total - 1) // size * size)
    asked = int(text) if text.isdecimal() and len(text) < 10 else 0
    return max(0, min(asked, (total - 1) // size * size))


def _earlier_later(
    here: str, parameters: Parameters, begin: int, total: int | None, size: int, *, of: int = 0, what: str = ""
) -> Iterator[str]:
    """Links to what is before and after a window; `of` is how many events there are where the total is not known."""
    if total is not None and total <= size:
        return
    last = begin + size if total is None else min(begin + size, total)
    known = f"of {total:,}{what and f' {what}'}" if total is not None else f"in a session of {of:,} events"
    before = plain(address(here, {**parameters, "from": max(0, begin - size) or "", "event": ""}))
    after = plain(address(here, {**parameters, "from": begin + size, "event": ""}))
    yield '<nav class="pages" aria-label="Parts of the session">'
    yield f'<a rel="prev" href="{before}">Earlier</a>' if begin else ""
    yield f"<span>{begin + 1:,}–{last:,} {known}</span>"
    if total is None or begin + size < total:
        yield f'<a rel="next" href="{after}">Later</a>'
        yield f'<a href="{plain(address(here, {**parameters, "from": "end", "event": ""}))}">End</a>'
    yield "</nav>"


# ── changes ──────────────────────────────────────────────────────────────────


def _changes(read: Read, here: str, parameters: Parameters) -> tuple[list[str], dict[str, Any]]:
    stories, is_part = stories_of(_events(read)), read.is_beginning
    steps = parameters.get("steps") == "1"
    body: list[str] = [*_of_part(read, here, parameters)]
    if not stories:
        body.append('<p class="empty">No file was changed with a tool in this session.</p>')
    else:
        counts = [(one.added, one.removed) for one in stories]
        added, removed = (sum(filter(None, one)) for one in zip(*counts, strict=True))
        least = "at least " if any(None in one for one in counts) else ""
        other = address(here, {**parameters, "steps": "" if steps else "1"})
        words = "Show each file as one diff" if steps else "Show every step"
        body.append(
            f'<p class="summary">{len(stories):,} file{"s" if len(stories) != 1 else ""} changed: {least}'
            f'<span class="plus">+{added:,}</span> <span class="minus">−{removed:,}</span> · <a href="{plain(other)}">{words}</a></p>'
        )
        body.append("<p>Changes made by commands are not among them: a log does not say what they did.</p>")
    begin = _begin(parameters, len(stories), _FILES)
    pages = list(_earlier_later(here, parameters, begin, len(stories), _FILES, what="files"))
    shown = stories[begin : begin + _FILES]
    body += pages
    for story in shown:
        body += _story(story, here, steps=steps)
    return [*body, *pages], {
        "files": [_told(story) for story in shown],
        "from": begin,
        "total": len(stories),
        "is_part": is_part,
    }


def _told(story: FileStory) -> dict[str, Any]:
    return {
        "path": story.path,
        "was": story.was,
        "kind": story.kind,
        "added": story.added,
        "removed": story.removed,
        "diff": story.whole,
        "steps": story.steps,
    }


def _story(story: FileStory, here: str, *, steps: bool) -> Iterator[str]:
    moved = f"{story.kind} from {plain(story.was)}" if story.was is not None else story.kind
    yield '<details class="call file" open><summary>'
    yield f'<code>{plain(story.path)}</code><span class="means">{moved}</span>'
    yield f'<span class="took">{_lines(story.added, story.removed)}</span></summary><div class="inside">'
    if story.whole is not None and not steps:
        yield (
            f'<pre class="diff" tabindex="0">{diff_html(story.whole)}</pre>'
            if story.whole
            else "<p>No line differs.</p>"
        )
    else:
        if story.whole is None and not steps:
            yield '<p class="label">The log does not hold enough of this file for one diff; these are its changes in order.</p>'
        for step in story.steps:
            link = f"{address(here, {'event': anchor(step.event)})}#{anchor(step.event)}"
            yield f'<p class="label"><a href="{plain(link)}">{plain(step.note)}</a></p>'
            if step.diff:
                yield f'<pre class="diff" tabindex="0">{diff_html(step.diff)}</pre>'
            elif step.diff is None and step.added is None:
                yield "<p>The log does not show which lines.</p>"
    yield "</div></details>"


def _lines(added: int | None, removed: int | None) -> str:
    if added is None and removed is None:
        return "lines not known"
    plus, minus = ("?" if one is None else f"{one:,}" for one in (added, removed))
    return f'<span class="plus">+{plus}</span> <span class="minus">−{minus}</span>'


def _events(read: Read) -> Iterable[AnyEvent]:
    """The events of what is shown: all of the session, or one agent's."""
    if _is_whole(read):
        return read.events
    key = (read.conversation.id, read.conversation.stream)
    return (event for event in read.events if key_of(event) == key)


def _is_whole(read: Read) -> bool:
    """Whether all of a session is shown, and not one agent's part."""
    return read.conversation.stream == "main" and read.conversation.id == read.row.session


def _of_part(read: Read, here: str, parameters: Parameters) -> Iterator[str]:
    if read.is_beginning:
        every = plain(address(here, {**parameters, "all": "1"}))
        yield (
            f'<p class="label">This is of the first {LONG:,} events of a session of {read.row.events:,}.'
            f' <a href="{every}">Show all of it</a></p>'
        )


# ── time ─────────────────────────────────────────────────────────────────────


def _timeline(read: Read, here: str, parameters: Parameters) -> tuple[list[str], dict[str, Any]]:
    bars, gaps = bars_of(_events(read))
    begin = _begin(parameters, len(bars), BARS)

    def link(event: str) -> str:
        return f"{address(here, {'event': anchor(event)})}#{anchor(event)}"

    body, data = timeline(bars, gaps, link, begin)
    pages = list(_earlier_later(here, parameters, begin, len(bars), BARS, what="bars"))
    return [*_of_part(read, here, parameters), *pages, *body], {**data, "is_part": read.is_beginning}


# ── bytes ────────────────────────────────────────────────────────────────────


def _raw(read: Read, here: str, parameters: Parameters) -> tuple[list[str], dict[str, Any]]:
    begin, records, total = _records(read, parameters)
    pages = list(_earlier_later(here, parameters, begin, total, _RAW_WINDOW, of=read.row.events, what="records"))
    body = [*pages]
    data: list[dict[str, Any]] = []
    with Originals() as originals:
        for group in records:
            source = group[0].source
            raw = None if source is None else written(originals.of(source))
            lines = [event_line(event) for event in group]
            data.append({"source": msgspec.to_builtins(source), "events": lines, "raw": raw})
            place = "" if source is None else f"{source.file} {source.row or _bytes_of(source)}"
            body.append(
                f'<section class="record" id="{anchor(group[0].id)}"><h3>{plain(place)}</h3><div class="beside">'
            )
            body.append("<div>")
            for event, line in zip(group, lines, strict=True):
                kept = {
                    name: value for name, value in line.items() if name not in ("id", "session", "source", "stream")
                }
                name = "" if event is group[0] else f' id="{anchor(event.id)}"'
                body.append(f'<p class="label"{name}>{plain(line["kind"])}</p>{_code(pretty(kept))}')
            body.append(
                f'</div><div><p class="label">original</p>{_code(raw if isinstance(raw, str) else pretty(raw))}</div>'
            )
            body.append("</div></section>")
    return [*body, *pages], {"from": begin, "total": total, "records": data}


def _bytes_of(source: Source) -> str:
    return f"{source.length:,} byte{'s' if source.length != 1 else ''} from {source.offset:,}"


def _records(read: Read, parameters: Parameters) -> tuple[int, list[list[AnyEvent]], int | None]:
    """One window of records: where it begins, the events of each, and how many records there are, if that is known."""
    sought, is_whole = parameters.get("event", ""), _is_whole(read)
    if read.is_beginning:
        records = groupby(_events(read), key=lambda event: event.source)
        return 0, [list(group) for _, group in islice(records, _RAW_WINDOW)], None
    if read.transcript is not None and is_whole:
        total = read.transcript.records
        place = read.transcript.record_at(sought) if sought else None
        begin = _begin(parameters, total, _RAW_WINDOW) if place is None else place // _RAW_WINDOW * _RAW_WINDOW
        events = read.transcript.events_of_records(begin, begin + _RAW_WINDOW)
        return begin, [list(group) for _, group in groupby(events, key=lambda event: event.source)], total
    groups = [list(group) for _, group in groupby(_events(read), key=lambda event: event.source)]
    found = (at for at, group in enumerate(groups) if any(anchor(one.id) == sought for one in group))
    place = next(found, None) if sought else None
    begin = _begin(parameters, len(groups), _RAW_WINDOW) if place is None else place // _RAW_WINDOW * _RAW_WINDOW
    return begin, groups[begin : begin + _RAW_WINDOW], len(groups)


def _code(text: str) -> str:
    left = len(text) - _LONGEST_RAW
    more = f"\n… {left:,} more characters" if left > 0 else ""
    return f'<pre tabindex="0">{plain(text[:_LONGEST_RAW])}{more}</pre>'


# ── other words ──────────────────────────────────────────────────────────────


def _words(read: Read, here: str, parameters: Parameters) -> tuple[list[str], dict[str, Any]]:
    sought = parameters.get("event", "")
    calls, chosen = _calls_around(_events(read), sought)
    if chosen is None and sought:
        calls, chosen = _calls_around(_events(read), "")
    if chosen is None:
        return ['<p class="empty">No tool was called in this session.</p>'], {"call": None, "said": {}}
    body = ['<div class="with-side"><div class="side turns"><nav class="contents calls" aria-label="Calls"><ol>']
    for event in calls:
        link = plain(address(here, {"tab": "words", "event": anchor(event.id)}))
        said = next((about(one) for one in event.call.operations), "")
        name = f"{plain(event.call.native.name)} <span>{plain(said)}</span>"
        body.append(f'<li><a href="{link}"{current(is_it=event is chosen)} title="{plain(said)}">{name}</a></li>')
    body.append("</ol></nav></div><div>")
    body.append(f"<h2>{plain(chosen.call.native.name)}</h2>")
    body.append(f'<p class="label">as it was called</p>{_code(_arguments(chosen.call.native.arguments))}')
    told: dict[str, Any] = {}
    for operation in chosen.call.operations:
        body.append(
            f'<p class="label">means {plain(str(operation.__struct_config__.tag))}</p>{_code(pretty(msgspec.to_builtins(operation)))}'
        )
    if not chosen.call.operations:
        body.append("<p>This call was not understood, so it cannot be said in other words.</p>")
    else:
        told = in_other_words(chosen.call)
        body += _vocabularies(told)
    body.append("</div></div>")
    return body, {"call": event_line(chosen), "said": told}


def _calls_around(events: Iterable[AnyEvent], sought: str) -> tuple[list[ToolCalled], ToolCalled | None]:
    """The call that is sought, or else the first, among those before and after it; no more is read than that takes."""
    before: deque[ToolCalled] = deque(maxlen=_CALLS_BEFORE)
    called = (event for event in events if isinstance(event, ToolCalled))
    for event in called:
        if not sought or anchor(event.id) == sought:
            after = islice(called, _CALLS_LISTED - len(before) - 1)
            return [*before, event, *after], event
        before.append(event)
    return [], None


def in_other_words(call: Call) -> dict[str, Any]:
    """A call in every vocabulary: the native calls, what is lost, or why it cannot be said."""
    told: dict[str, Any] = {}
    for name in sorted(DIALECTS.built_in):
        dialect: Dialect = DIALECTS[name]
        try:
            written = [one for operation in call.operations for one in dialect.write_call("1", operation)]
            lost = [loss for operation in call.operations for loss in dialect.loss(operation)]
        except Unspeakable as error:
            told[name] = {"reason": error.reason}
            continue
        told[name] = {
            "calls": [{"name": one.name, "arguments": one.arguments} for one in written],
            "lost": [{"field": loss.field, "reason": loss.reason} for loss in lost],
        }
    return told


def _vocabularies(told: dict[str, Any]) -> Iterator[str]:
    yield '<div class="vocabularies">'
    for name, said in told.items():
        if "reason" in said:
            continue
        yield f'<section class="vocabulary"><h3>{plain(client_name(name))}</h3>'
        for call in said["calls"]:
            yield f'<p class="label">{plain(call["name"])}</p>{_code(_arguments(call["arguments"]))}'
        for loss in said["lost"]:
            yield f'<p class="lost">Lost: {plain(loss["field"])} ({plain(loss["reason"])})</p>'
        if not said["lost"]:
            yield '<p class="kept">Nothing is lost.</p>'
        yield "</section>"
    yield "</div>"
    unspoken = [(name, said["reason"]) for name, said in told.items() if "reason" in said]
    if unspoken:
        yield '<h3>Cannot say it</h3><ul class="unspoken">'
        yield from (f"<li><b>{plain(client_name(name))}</b>: {plain(reason)}</li>" for name, reason in unspoken)
        yield "</ul>"


def _arguments(arguments: dict[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else pretty(arguments)


_SHOWN: Final = {"changes": _changes, "timeline": _timeline, "raw": _raw, "words": _words}
