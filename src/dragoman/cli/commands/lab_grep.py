"""`dragoman lab grep`: search logs like grep searches files."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import islice

import click
import msgspec

from dragoman import logs, model
from dragoman.cli.filter_options import filter_options, kind_of_event, operation_named, query_of
from dragoman.cli.log_files import as_line, files_of, raw_lines
from dragoman.cli.terminal.console import Console, ExitCode, as_json, json_option
from dragoman.errors import PatternError
from dragoman.logs import history


class _Command(click.Command):
    """Reads `--raw=bytes`. An option whose value click may leave out would take the PATTERN after it for its value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        for one in args[:end]:
            if one.startswith("--raw=") and one != "--raw=bytes":
                raise click.UsageError(f'there is no "{one}": say --raw, or --raw=bytes.', ctx)
        args[:end] = ["--raw-bytes" if one == "--raw=bytes" else one for one in args[:end]]
        return super().parse_args(ctx, args)


@click.command("grep", cls=_Command)
@click.argument("pattern")
@click.argument("wanted", metavar="[PATH|ID]...", nargs=-1)
@click.option("--regex", "-E", is_flag=True, help="PATTERN is a regular expression (Python's).")
@click.option("--ignore-case", "-i", is_flag=True, help="Case-insensitive search.")
@click.option("--tool", help="Only calls of this tool, by its native name, and their results.")
@click.option(
    "--op",
    "operation",
    callback=operation_named,
    help="Only calls that mean this operation (run_command), and their results.",
)
@click.option("--kind", "--type", callback=kind_of_event, help="Only events of this kind (user_said, tool_called, …).")
@click.option(
    "--raw",
    is_flag=True,
    help="Search the bytes of the records, and show each as it was recorded beside what was read from it. "
    "--raw=bytes shows the records alone.",
)
@click.option("--raw-bytes", is_flag=True, hidden=True)
@click.option("--context", "-C", "around", type=click.IntRange(min=0), default=0, help="Lines around a match.")
@click.option("--before", "-B", type=click.IntRange(min=0), help="Lines before a match.")
@click.option("--after", "-A", type=click.IntRange(min=0), help="Lines after a match.")
@filter_options(limit=None)
@json_option
@click.pass_obj
def command(
    console: Console,
    *,
    pattern: str,
    wanted: tuple[str, ...],
    regex: bool,
    ignore_case: bool,
    tool: str | None,
    operation: str | None,
    kind: str | None,
    raw: bool,
    raw_bytes: bool,
    around: int,
    before: int | None,
    after: int | None,
    asked: logs.Filter,
    as_json: bool,
) -> ExitCode:
    """Search every log of this machine, or the files, folders and sessions that are named.

    This searches what was said, thought, called and returned, as the client logged it, without the escapes of JSON.
    With --json, a PATTERN with a quote in it is searched for in the printed JSON too, which reads every log. With --raw
    the records themselves are searched, byte for byte. Exits like grep: 0 when something was found, 1 when
    nothing was found, 2 for wrong usage.

    \b
    dragoman lab grep "Update File:"
    dragoman lab grep '"name":"apply_patch"' --json
    dragoman lab grep '"name":"apply_patch"' --raw --limit 5
    dragoman lab grep '"name":"apply_patch"' --raw=bytes | jq .payload.input
    dragoman lab grep -i "permission denied" --op run_command --since 1w
    """
    if not pattern:
        raise click.UsageError("PATTERN is empty: it would match everything. `dragoman events` prints everything.")
    asked = msgspec.structs.replace(asked, tool=tool, operation=operation, kind=kind)
    files = [found for found in files_of(console, wanted) if asked.client in (None, found.format)]
    try:
        compiled = history.Pattern(pattern, regex=regex, ignore_case=ignore_case)
    except PatternError as error:
        raise click.UsageError(f"{error}. Without --regex, PATTERN is searched for as plain text.") from error
    unread = (lambda error: console.warn(str(error))) if len(files) > 1 else None
    raw = raw or raw_bytes
    if raw_bytes and not as_json and msgspec.structs.replace(asked, client=None, limit=None) == logs.Filter():
        return _print_records(console, islice(history.grep_records(files, compiled, unread), asked.limit))
    found = 0
    printed = _Printer(console, around if before is None else before, around if after is None else after)
    with logs.Originals() as originals:
        printed_json = _json_of if as_json and not raw and '"' in pattern else None
        chosen = _chooser(console, wanted, asked)
        matches = history.grep(files, compiled, raw=raw, chosen=chosen, unread=unread, printed=printed_json)
        for match in islice(matches, asked.limit):
            found += 1
            if as_json:
                console.json(as_line(match.event, originals if raw else None))
            elif raw_bytes:
                console.line(match.text.rstrip("\n"))
            elif raw:
                printed.both(match)
            else:
                printed.match(match)
    return ExitCode.OK if found else ExitCode.NO


def _json_of(event: model.AnyEvent) -> str:
    """An event as --json prints it."""
    return as_json(as_line(event)).decode()


def _print_records(console: Console, records: Iterable[bytes]) -> ExitCode:
    code = ExitCode.NO
    for record in records:
        code = ExitCode.OK
        console.line(record.decode("utf-8", "backslashreplace").rstrip("\n"))
    return code


def _chooser(
    console: Console, files: tuple[str, ...], asked: logs.Filter
) -> Callable[[Iterable[model.AnyEvent]], Iterable[model.AnyEvent]]:
    """What picks from a file's events; only what is asked of whole sessions needs the index."""
    if asked.project is None and asked.model is None:
        return lambda events: history.chosen_events(events, asked)
    query = query_of(console, files)
    keys = {(row.session, row.stream) for rows in query.families(asked) for row in rows}
    return lambda events: (event for event in history.chosen_events(events, asked) if logs.key_of(event) in keys)


class _Printer:
    """Prints matches: a heading for each event, below it the lines that match with what is around them."""

    def __init__(self, console: Console, before: int, after: int) -> None:
        self._console, self._before, self._after = console, before, after

    def both(self, match: history.Match) -> None:
        """The record as it was written, and what was read from it."""
        self._heading(match)
        line = as_line(match.event)
        read = line.get("operations") or line.get("outcomes") or [line]
        for title, lines in (
            ("original", raw_lines(match.original)),
            ("normalised", [as_json(one).decode() for one in read]),
        ):
            self._console.line(f"  {title}", "quiet")
            for text in lines:
                self._console.line(f"    {text}")

    def match(self, match: history.Match) -> None:
        self._heading(match)
        shown = -1
        for number, (line, spans) in _lines(match, self._before, self._after).items():
            if shown not in (-1, number - 1):
                self._console.line("  ⋮", "quiet")
            self._console.line("  " + _cut(line, spans), None if spans else "quiet")
            shown = number

    def _heading(self, match: history.Match) -> None:
        event = match.event
        where = ".".join(str(number) for number in (event.turn, event.step) if number is not None)
        tool = getattr(getattr(event, "call", None), "native", None) or getattr(
            getattr(event, "result", None), "native", None
        )
        named = getattr(tool, "name", None)
        facts = [event.client, (event.session or "")[:12], where, str(event.__struct_config__.tag), named]
        self._console.line(" · ".join(fact for fact in facts if fact), "strong")


def _lines(match: history.Match, before: int, after: int) -> dict[int, tuple[str, list[tuple[int, int]]]]:
    """The lines to show by their number, each with the matches in it."""
    lines = match.text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    found: dict[int, tuple[str, list[tuple[int, int]]]] = {}
    for start, end in match.spans:
        first, last = bisect_right(starts, start) - 1, bisect_right(starts, max(start, end - 1)) - 1
        for number in range(max(0, first - before), min(len(lines), last + after + 1)):
            line, spans = found.setdefault(number, (lines[number], []))
            if first <= number <= last:
                spans.append((max(0, start - starts[number]), min(len(line), end - starts[number])))
    return dict(sorted(found.items()))


_WIDEST = 400


def _cut(line: str, spans: list[tuple[int, int]]) -> str:
    """A line, or the part of a very long one where the first match is."""
    if len(line) <= _WIDEST:
        return line
    start = max(0, (spans[0][0] if spans else 0) - 80)
    return ("…" if start else "") + line[start : start + _WIDEST] + ("…" if start + _WIDEST < len(line) else "")
