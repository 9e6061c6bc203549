"""Every recorded session is written for every client: nothing is lost, and only what cannot be said is told as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from dragoman.dialects import DIALECTS, Dialect
from dragoman.dialects.base.availability import qualified
from dragoman.dialects.base.shell_commands import in_shell
from dragoman.dialects.translation import WHOLE
from dragoman.errors import Unspeakable
from dragoman.logs import FORMATS, Places, numbered, read
from dragoman.logs.port import Ported, history_of, ported, targets
from dragoman.model import CallPart, Conversation, ExecutedBy, FunctionDefinition, NativeCall, operations as op
from dragoman.model.request import Definition
from dragoman.schema import problems_against
from tests.conformance.conftest import SHARED
from tests.conformance.scripted_sessions import ROOTS, log_files

FOLDER = "/home/user/project"
PAGE = Path(__file__).parents[2] / "docs" / "howto" / "move-a-session.md"
CLIENTS = sorted(f"{root}/{path.name}" for root in ROOTS for path in (SHARED / root).iterdir() if path.is_dir())


@cache
def sessions(client: str) -> tuple[tuple[str, Conversation], ...]:
    """The vocabulary and the conversation of every session of a client."""
    return tuple(_sessions(SHARED / client))


def _sessions(folder: Path) -> Iterator[tuple[str, Conversation]]:
    format = folder.name.partition("@")[0].replace("-", "_")
    for session in sorted(path for path in folder.iterdir() if (path / "script.json").is_file()):
        for file in log_files(session / "home", format):
            events = list(numbered(read(file, format)))
            for id in dict.fromkeys(event.session for event in events):
                mine = [event for event in events if event.session == id]
                told = history_of(mine, FORMATS[format].dialect)
                if told.conversation:
                    yield FORMATS[format].dialect, told.conversation


def written(conversation: Conversation, to: str, home: Path) -> Ported:
    return ported(conversation, to=to, folder=FOLDER, began=FOLDER, places=Places(home))


def offered_to(to: str, version: str) -> Dialect:
    """The words of a client that its new session may use."""
    writer = FORMATS[to].writer()
    assert writer is not None
    dialect: Dialect = DIALECTS[FORMATS[to].dialect].at(version)
    return dialect.only([str(one.name) for one in dialect.definitions() if one.name not in writer.withheld])


def can_be_said(operation: op.Operation, words: Dialect) -> bool:
    """Whether a client has a tool for an operation, or a shell that can do it, and arguments that the tool takes."""
    command = in_shell(operation)
    offered = {qualified(getattr(one, "namespace", None), str(one.name)): one for one in words.definitions()}
    for one in (operation, None if command is None else op.RunCommand(command.command)):
        if one is not None:
            try:
                natives = words.write_call("c", one)
            except Unspeakable:
                continue
            if all(native.executed_by is ExecutedBy.CLIENT and _fits(native, offered) for native in natives):
                return True
    return False


def _fits(native: NativeCall, offered: dict[str, Definition]) -> bool:
    definition = offered[qualified(native.namespace, native.name)]
    if not isinstance(definition, FunctionDefinition):
        return True
    return not problems_against(definition.parameters, native.arguments)


@pytest.mark.parametrize("to", targets())
@pytest.mark.parametrize("client", CLIENTS)
def test_no_call_is_lost_and_none_is_told_as_text_that_could_be_said(client: str, to: str, tmp_path: Path) -> None:
    assert sessions(client)
    for source, conversation in sessions(client):
        done = written(conversation, to, tmp_path)
        calls = {part.call.id: part.call for item in conversation for part in item.parts if isinstance(part, CallPart)}
        made = sum(isinstance(part, CallPart) for item in conversation for part in item.parts)
        assert sum(done.ways.values()) == made
        words = offered_to(to, done.version)
        for lost in done.lost:
            if lost.field == WHOLE:
                call = DIALECTS[source].read_call(calls[lost.call_id])
                known = [one for one in call.operations if not isinstance(one, op.Unrecognised)]
                sayable = [can_be_said(one, words) for one in known]
                assert call.failure is not None or not known or not all(sayable), lost


def table() -> str:
    """How the calls of all sessions are said by each client."""
    rows = ["| to | calls of other clients | by its tools | through its shell | as text |", "|---|---|---|---|---|"]
    for to in targets():
        ways: Counter[str] = Counter()
        for client in CLIENTS:
            for source, conversation in sessions(client):
                if source != FORMATS[to].dialect:
                    ways.update(written(conversation, to, Path("/nowhere")).ways)
        total = sum(ways.values())
        shares = " | ".join(f"{ways[way] * 100 / total:.0f} %" for way in ("native", "shell", "text"))
        rows.append(f"| `{to}` | {total:,} | {shares} |")
    return "\n".join(rows)


def test_the_page_has_the_shares_that_were_measured() -> None:
    assert table() in PAGE.read_text()
