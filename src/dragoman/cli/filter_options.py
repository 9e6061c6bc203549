"""Which sessions a command is about: the options all commands over the history share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from dragoman import logs, model
from dragoman.errors import nearest
from dragoman.logs import history

from .log_files import log_places, out_of_pipes

if TYPE_CHECKING:
    import datetime

    from click.shell_completion import CompletionItem

    from .terminal.console import Console

Function = TypeVar("Function", bound=Callable[..., Any])


def _moment(_: click.Context, __: click.Parameter, text: str | None) -> datetime.datetime | None:
    if text is None:
        return None
    try:
        return history.moment_asked(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _client(_: click.Context, __: click.Parameter, name: str | None) -> str | None:
    if name is None:
        return None
    if name not in logs.FORMATS:
        raise click.BadParameter(
            f"there is no client {name!r}; there are {', '.join(logs.FORMATS)}.{nearest(name, logs.FORMATS)}"
        )
    return name


def kind_of_event(_: click.Context, __: click.Parameter, said: str | tuple[str, ...] | None) -> Any:
    """`--kind`: what no event is called is told, instead of found nowhere."""
    known = [str(kind.__struct_config__.tag) for kind in get_args(model.AnyEvent)]
    for name in (said,) if isinstance(said, str) else said or ():
        if name not in known:
            raise click.BadParameter(
                f"there is no kind of event {name!r}; there are {', '.join(known)}.{nearest(name, known)}"
            )
    return said


def operation_named(context: click.Context, __: click.Parameter, name: str | None) -> str | None:
    """`--op`: a plugin may have operations of its own, so one that is not known is only warned of."""
    if name is None:
        return None
    known = {str(kind.__struct_config__.tag) for kind in _kinds_of(model.Operation)}
    if name not in known:
        context.find_root().obj.warn(
            f"no operation of dragoman's own is called {name!r}.{nearest(name, sorted(known))}"
        )
    return name


def _kinds_of(kind: type) -> Iterator[Any]:
    below: list[type] = kind.__subclasses__()
    yield from (one for each in below for one in _kinds_of(each)) if below else (kind,)


def complete_sessions(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids of sessions that begin so, the newest first, as the index has them; where none does, it may be a file."""
    from click.shell_completion import CompletionItem

    found = [row for row in _indexed() if row.session.startswith(incomplete)][:_COMPLETED]
    items = [CompletionItem(row.session, help=row.title) for row in found]
    return items or [CompletionItem(incomplete, type="file")]


def _complete_models(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    found = dict.fromkeys(one for row in _indexed() for one in row.models if one.startswith(incomplete))
    return list(found)[:_COMPLETED]


_COMPLETED = 50


def _indexed() -> list[logs.SessionRow]:
    """The sessions that the index knows; completing a word reads no log."""
    from dragoman.config import current

    if not (current().cache_dir / "history.sqlite").is_file():
        return []
    with closing(logs.Query()) as query:
        query.as_indexed()
        return query.sessions()


def filter_options(limit: int | None = None) -> Callable[[Function], Function]:
    """`--client`, `--project`, `--since`, `--until`, `--model`, `--limit`, `--all`: given to the command as `asked`.

    `limit` is how many things are shown when nothing else is said; `None` shows all.
    """

    def decorated(function: Function) -> Function:
        @functools.wraps(function)
        def with_filter(*arguments: Any, **options: Any) -> Any:
            everything = options.pop("everything")
            given = {name: options.pop(name) for name in ("client", "project", "since", "until", "model", "limit")}
            if everything:
                given["limit"] = None
            return function(*arguments, asked=logs.Filter(**given), **options)

        for option in reversed(_options(limit)):
            with_filter = option(with_filter)
        return with_filter  # type: ignore[return-value]

    return decorated


client_option = click.option("--client", callback=_client, help="Only sessions of this client, for example codex.")


def _options(limit: int | None) -> list[Callable[[Any], Any]]:
    some = click.IntRange(min=1)
    return [
        client_option,
        click.option("--project", help="Only sessions of this project: a folder or its name, worktrees included."),
        click.option("--since", callback=_moment, help="Only what is newer: a date, or an age such as 2d, 3h, 1w."),
        click.option("--until", callback=_moment, help="Only what is older: a date, or an age such as 2d, 3h, 1w."),
        click.option(
            "--model",
            shell_complete=_complete_models,
            help="Only sessions with a model whose name starts with this.",
        ),
        click.option("--limit", type=some, default=limit, show_default=limit is not None, help="Maximum results."),
        click.option("--all", "everything", is_flag=True, help="No limit."),
    ]


corpus_option = click.option(
    "--corpus", metavar="DST", help="Query a corpus that `dragoman corpus build` made: a folder, s3://bucket/folder, …"
)


def query_of(
    console: Console, wanted: tuple[str, ...] = (), *, update: bool = True, corpus: str | None = None
) -> logs.Query:
    """What the command asks: every log of this machine, or the files, folders and sessions that were named.

    Without `update`, what the index knows already. With `corpus`, what was built there and nothing of this machine.
    """
    if corpus is not None:
        return _corpus_query(console, wanted, corpus)
    places = log_places(console)
    files = out_of_pipes(wanted)
    index = None if files == wanted else logs.Index.in_memory()  # what came out of a pipe is gone with this command
    query = logs.Query(index, homes=places.homes, folders=places.folders, paths=files or None)
    click.get_current_context().call_on_close(query.close)
    if update or wanted:
        with console.progress("reading", query.expected()) as advance:
            query.refresh(advance)
    else:
        query.as_indexed()
    if query.index.note is not None:
        console.note(query.index.note)
    return query


def corpus_events(
    console: Console, corpus: str, wanted: tuple[str, ...], *, raw: bool, format: str | None
) -> Iterator[model.AnyEvent]:
    """The events of sessions of a corpus, by their ids or how these begin; `last` is the newest."""
    if raw or format is not None:
        option = "--raw" if raw else "--format"
        raise click.UsageError(f"{option} is about log files, and a corpus has tables: leave one of them out.")
    query = _corpus_query(console, (), corpus)
    for id in wanted:
        yield from query.events_of(id)


def _corpus_query(console: Console, wanted: tuple[str, ...], address: str) -> logs.Query:
    from dragoman.logs.corpus import CorpusQuery, place_of

    if wanted:
        raise click.UsageError("--corpus asks all of a corpus: leave out the files, folders and sessions.")
    query = CorpusQuery(place_of(address), console.configuration().cache_dir / "corpus")
    click.get_current_context().call_on_close(query.close)
    with console.progress("reading", None) as advance:
        query.refresh(advance)
    if query.index.note is not None:
        console.note(query.index.note)
    return query
