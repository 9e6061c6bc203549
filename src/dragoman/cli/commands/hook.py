"""`dragoman hook`: your rules for every coding agent that has hooks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dragoman.cli.terminal.console import Console, ExitCode, here, json_option
from dragoman.config.files import home_folder
from dragoman.errors import ConfigError
from dragoman.serve.hook import CLIENTS

if TYPE_CHECKING:
    from dragoman.serve.hook import Change

_client_option = click.option(
    "--client",
    type=click.Choice(list(CLIENTS)),
    metavar="CLIENT",
    help=f"The client, if its payload does not say: {', '.join(CLIENTS)}.",
)
_event_option = click.option("--event", help="The event, if the payload does not say.")


@click.group(invoke_without_command=True)
@_client_option
@_event_option
@click.pass_context
def command(ctx: click.Context, /, *, client: str | None, event: str | None) -> int | None:
    """Decide about a coding agent's tool call by your [[policy.rules]].

    Without a sub-command it reads the payload of a hook on standard input and answers in the form of the client that
    sent it. `dragoman hook install` puts that line into a client's settings.
    """
    if ctx.invoked_subcommand is not None:
        return None
    from dragoman.serve.hook import answer_here

    return answer_here(client, event)


@command.command("test")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@_client_option
@_event_option
@json_option
@click.pass_obj
def test_payload(console: Console, /, *, file: Path, client: str | None, event: str | None, as_json: bool) -> ExitCode:
    """Show what would be decided about the payload in FILE, by which rule, and what the client would get."""
    from dragoman.serve.hook import handle, own_rules

    with click.open_file(str(file), "rb") as given:
        text = given.read((64 << 20) + 1)  # what is longer is no payload
    handled = handle(text, client, event, own_rules, saved=True)
    asked, decision = handled.asked, handled.decision
    if as_json:
        console.json({"asked": asked, "decision": decision, "answer": handled.answer, "note": handled.note})
        return ExitCode.OK
    if asked is not None:
        console.line(f"client    {asked.client}, event {asked.event}")
        for call in asked.calls:
            console.line(f"call      {call.name} {call.arguments}")
    console.line(f"decision  {decision.verdict}")
    console.line(f"rule      {decision.rule or '-'}")
    console.line(f"answer    {handled.answer.out or '(nothing)'}, exit code {handled.answer.code}")
    if handled.note:
        console.note(handled.note)
    return ExitCode.OK


_which = click.argument("client", type=click.Choice(list(CLIENTS)), metavar="[CLIENT]", required=False)
_all = click.option("--all", "every", is_flag=True, help="All clients whose folder is in your home.")
_project = click.option("--project", is_flag=True, help="In the current folder, instead of your own settings.")
_yes = click.option("--yes", is_flag=True, help="Change the files without asking.")


@command.command("install")
@_which
@_all
@_project
@click.option(
    "--outcomes",
    is_flag=True,
    help="Also record what each call gave, your prompts and the end of each turn, where the client tells them.",
)
@_yes
@click.pass_obj
def install(
    console: Console, /, *, client: str | None, every: bool, project: bool, outcomes: bool, yes: bool
) -> ExitCode:
    """Put the line that asks dragoman into a client's settings. The change is shown first.

    Everything else in the file stays. `dragoman hook uninstall` restores the file as it was.
    """
    from dragoman.serve.hook import ADVICE, changes_to_install

    return _change(
        console,
        _chosen(client, every=every),
        project=project,
        yes=yes,
        plan=lambda name, root: changes_to_install(name, root, outcomes=outcomes),
        advice=ADVICE,
    )


@command.command("uninstall")
@_which
@_all
@_project
@_yes
@click.pass_obj
def uninstall(console: Console, /, *, client: str | None, every: bool, project: bool, yes: bool) -> ExitCode:
    """Remove the line from a client's settings. The change is shown first."""
    from dragoman.serve.hook import changes_to_uninstall

    kept = _kept(console)
    return _change(
        console,
        _chosen(client, every=every),
        project=project,
        yes=yes,
        plan=lambda name, root: changes_to_uninstall(name, root, kept),
    )


@command.command("status")
@json_option
@click.pass_obj
def status(console: Console, /, *, as_json: bool) -> ExitCode:
    """Show where the line is installed, whether it runs, and what switches hooks off in this project or for you."""
    from dragoman.serve.hook import ADVICE, installed, lines_in, obstacles, targets_of, tried

    rows: list[dict[str, str]] = []
    for name in CLIENTS:
        for scope, root in (("user", None), ("project", here())):
            path = targets_of(name, root)[0].path
            try:
                targets = installed(name, root)
                if not targets:
                    continue
                lines = [lines_in(target) for target in targets]
                problems: list[str] = []
            except ConfigError as problem:  # what cannot be read says nothing about the other clients
                lines, problems = [], [str(problem)]
            problems += [wrong for ours, _ in lines for line in ours if (wrong := tried(line, here()))]
            problems += [f"not the line that this installation writes: {line}" for _, other in lines for line in other]
            problems += obstacles(name, root, here(), home_folder())
            rows.append(
                {
                    "client": name,
                    "scope": scope,
                    "file": str(path),
                    "problem": "; ".join(problems),
                    "advice": ADVICE.get(name, ""),
                }
            )
    if as_json:
        console.json(rows)
    elif not rows:
        console.note("The hook is not installed for any client. Run: dragoman hook install CLIENT")
    else:
        console.table(
            ("client", "for", "file", "state"),
            [(row["client"], row["scope"], row["file"], row["problem"] or "denies what it should") for row in rows],
        )
        for row in rows:
            if row["advice"]:
                console.note(row["advice"])
    return ExitCode.NO if any(row["problem"] for row in rows) else ExitCode.OK


@command.command("serve")
@click.option("--check", is_flag=True, help="Only show whether a server of yours is running (exit code 1 if not).")
@click.pass_obj
def serve(console: Console, /, *, check: bool) -> ExitCode:
    """Answer hooks from one long-running process, at a fraction of the cost, until Ctrl-C.

    It listens on a socket that only you can open. The installed lines ask it when it runs, and decide by themselves
    when it does not.
    """
    from dragoman.serve.hook import Serving

    if check:
        is_running = Serving.is_running()
        console.note("A server is running." if is_running else "No server is running.")
        return ExitCode.OK if is_running else ExitCode.NO
    serving = Serving()
    console.note(f"Listening at {serving.path}")
    try:
        console.note(f"Ended: {serving.run()}.")
    finally:
        serving.close()
    return ExitCode.OK


def _kept(console: Console) -> Path:
    return console.configuration().data_dir / "hooks"


def _chosen(client: str | None, *, every: bool) -> list[str]:
    if (client is not None) == every:
        raise click.UsageError("Name one client, or use --all.")
    if client is not None:
        return [client]
    from dragoman.serve.hook import targets_of

    home = home_folder()
    folders = {name: targets_of(name, None)[0].path for name in CLIENTS}
    return [name for name, path in folders.items() if any(one != home and one.is_dir() for one in _above(path, home))]


def _above(path: Path, home: Path) -> list[Path]:
    """The folder of a client that has this file: the first below the home folder, or below `.config`."""
    try:
        parts = path.relative_to(home).parts
    except ValueError:
        return [path.parent]
    return [home.joinpath(*parts[: 2 if parts[0] == ".config" else 1])]


def _change(
    console: Console,
    clients: list[str],
    *,
    project: bool,
    yes: bool,
    plan: Callable[[str, Path | None], Iterable[Change]],
    advice: Mapping[str, str] | None = None,
) -> ExitCode:
    import difflib

    from dragoman.serve.hook import apply

    changes: list[tuple[str, Change]] = []
    left: list[str] = []
    for name in clients:
        try:
            changes += [(name, change) for change in plan(name, here() if project else None)]
        except ConfigError as problem:
            if len(clients) == 1:
                raise
            left.append(str(problem))
    for one in left:
        console.note(f"Left as it is: {one}")
    if not changes:
        console.note("There is nothing to change.")
        return ExitCode.DEFINITION if left else ExitCode.OK
    for _, change in changes:
        before, after = ((text or "").splitlines(keepends=True) for text in (change.before, change.after))
        path = str(change.target.path)
        console.diff("".join(difflib.unified_diff(before, after, path, path)))
    if not yes:
        if not sys.stdin.isatty():
            console.note("Nothing was changed: use --yes to change these files without being asked.")
            return ExitCode.NO
        if not click.confirm("Change these files?", default=False, err=True):
            return ExitCode.NO
    for _, change in changes:
        apply(change, _kept(console), undo=advice is None)
    for name in dict.fromkeys(name for name, _ in changes):
        if advice and name in advice:
            console.note(advice[name])
    return ExitCode.DEFINITION if left else ExitCode.OK
