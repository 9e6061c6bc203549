"""`dragoman eval`: how well models do tasks, and in which vocabulary they do them best."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from dragoman.cli.sandbox import sandbox_option, use_mode
from dragoman.cli.terminal.console import Console, ExitCode, json_option

if TYPE_CHECKING:
    from dragoman.config import Configuration
    from dragoman.dialects import Dialect


@click.command
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--model", "models", multiple=True, metavar="MODEL", help="Try this model, in place of those in FILE.")
@click.option(
    "--dialect",
    "vocabularies",
    multiple=True,
    metavar="NAME|FILE",
    help='Try this vocabulary, in place of those in FILE; "own" is the one the model was trained on.',
)
@click.option("--seed", "seeds", multiple=True, type=int, help="Try this seed, in place of those in FILE.")
@click.option("--only", metavar="REGEX", help="Only tasks whose name matches.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first tasks, this many.")
@click.option("--against", metavar="NAME", help="The vocabulary to compare with. Default: the first one.")
@click.option("--judge", metavar="MODEL", help="The model that judges answers by a rubric.")
@click.option(
    "--jobs", "at_once", type=click.IntRange(min=1), default=1, show_default=True, help="Attempts at the same time."
)
@click.option(
    "--to",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of results and records. Default: FILE without its ending, and -results.",
)
@click.option(
    "--yes", is_flag=True, help="Allow commands and the web, to models and to the tasks that are graded by commands."
)
@sandbox_option
@json_option
@click.pass_obj
def command(
    console: Console,
    *,
    file: Path,
    models: tuple[str, ...],
    vocabularies: tuple[str, ...],
    seeds: tuple[int, ...],
    only: str | None,
    limit: int | None,
    against: str | None,
    judge: str | None,
    at_once: int,
    folder: Path | None,
    yes: bool,
    sandbox: str | None,
    as_json: bool,
) -> ExitCode:
    """Try every task of FILE with every model, vocabulary and seed, and compare them.

    Each attempt has a scratch folder of its own, which is deleted afterwards. What was tried is not tried again: stop
    it when you like, and continue with the same command. `dragoman show` shows the records. Exits with 1 when a
    provider failed.
    """
    from dragoman.cli.runner import run as run_in_loop
    from dragoman.engine.models import engine_for
    from dragoman.evaluation import Attempt, differences, evaluate, load_suite, rates
    from dragoman.patterns import Pattern

    use_mode(console, sandbox)
    configuration = console.configuration()
    suite = load_suite(file)
    wanted = None if only is None else Pattern(only)
    tasks = [task for task in suite.tasks if wanted is None or wanted.search(task.name)][:limit]
    if not tasks:
        raise click.UsageError(f"No task matches {only!r}.")
    suite = msgspec.structs.replace(suite, tasks=tuple(tasks))
    place = folder or file.with_name(f"{file.stem}-results")
    # FILE may be somebody else's: it names vocabularies that are installed, and no model that is a file.
    own = {*models, *([judge] if judge else ()), *_configured(configuration)}
    names = models or suite.models or _configured(configuration)

    def report(attempt: Attempt) -> None:
        mark = "error" if attempt.done is None else "done" if attempt.done else "not done"
        why = f": {attempt.problems[0]}" if attempt.problems else ""
        console.note(f"{attempt.task}, {attempt.model}, {attempt.vocabulary}, seed {attempt.seed}: {mark}{why}")

    attempts = run_in_loop(
        evaluate(
            suite,
            place,
            models=names,
            vocabularies=dict(map(_vocabulary, vocabularies)),
            seeds=seeds,
            judge=judge,
            commands=yes,
            at_once=at_once,
            engines=lambda name: engine_for(name, configuration=configuration, vouched=name in own),
            configuration=configuration,
            report=report,
        )
    )
    rows, compared = rates(attempts), differences(attempts, against)
    if as_json:
        console.json({"attempts": attempts, "rates": rows, "differences": compared, "folder": str(place)})
    else:
        console.table(
            ("model", "vocabulary", "tasks", "done", "rate", "95 %", "misread calls", "calls", "tokens", "errors"),
            [
                (
                    row.model,
                    row.vocabulary,
                    str(row.attempts),
                    str(row.done),
                    _percent(row.rate),
                    f"{_percent(row.low)} to {_percent(row.high)}",
                    str(row.misread),
                    str(row.calls),
                    "?" if row.tokens is None else f"{row.tokens:,}",
                    str(row.errors),
                )
                for row in rows
            ],
        )
        if compared:
            console.line()
            console.table(
                ("model", "vocabulary", "against", "pairs", "difference", "95 %", "better", "worse", "p"),
                [
                    (
                        row.model,
                        row.vocabulary,
                        row.against,
                        str(row.pairs),
                        _points(row.difference),
                        f"{_points(row.low)} to {_points(row.high)}",
                        str(row.better),
                        str(row.worse),
                        f"{row.p:.3f}",
                    )
                    for row in compared
                ],
            )
        if any(name.partition(":")[0] == "local" for name in names):
            console.note("A local model can only write calls of the right form: tools refuse only its values.")
        console.note(f"Records are in {place / 'records'}; dragoman show FILE shows one.")
    return ExitCode.NO if any(attempt.done is None for attempt in attempts) else ExitCode.OK


def _vocabulary(name: str) -> tuple[str, str | Dialect]:
    """A vocabulary, and what the results call it: one made from an installed vocabulary is called after its file."""
    from dragoman.dialects import DIALECTS
    from dragoman.dialects.plugins import dialect_named

    if name == "own":
        return name, name
    dialect = dialect_named(name, files=True)
    if not Path(name).is_file():
        return name, dialect
    return (Path(name).stem if dialect.name in DIALECTS else dialect.name), dialect


def _configured(configuration: Configuration) -> tuple[str, ...]:
    """The model of the settings, if the user chose it."""
    model = configuration.settings.model
    return (model,) if model is not None and configuration.is_vouched("model") else ()


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _points(difference: float) -> str:
    return f"{100 * difference:+.1f}"
