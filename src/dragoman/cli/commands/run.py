"""`dragoman run`: a task, a model, and the tools to do it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.given_answers import Given, answers_of
from dragoman.cli.session_options import Options, SessionCommand, concluded, session_options
from dragoman.cli.terminal.console import Console, ExitCode
from dragoman.cli.terminal.streams import stdout

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from dragoman.cli.session import Session
    from dragoman.engine import Prepared
    from dragoman.model import Message


def _complete_agents(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from .agents import complete_agents

    return complete_agents(ctx, parameter, incomplete)


@click.command(cls=SessionCommand)
@click.argument("task", nargs=-1)
@session_options
@click.option(
    "--agent", metavar="NAME|FILE", shell_complete=_complete_agents, help="Run an agent that is defined in a file."
)
@click.option(
    "--approve", metavar="CALL", multiple=True, help="With --resume: allow a waiting call, by id or digest, or all."
)
@click.option(
    "--refuse", metavar="CALL", multiple=True, help="With --resume: refuse a waiting call, by id or digest, or all."
)
@click.option(
    "--answer",
    metavar="CALL=TEXT",
    multiple=True,
    help="With --resume: answer a question the model asks, by the call's id; once per question.",
)
@click.option(
    "--schema",
    metavar="FILE|CLASS",
    help="Print the answer as JSON that fits a JSON Schema, or a class: package.module:Name or file.py:Name.",
)
@click.option("--run-id", metavar="ID", hidden=True, help="For workers: begin the run with this id, or continue it.")
@click.option("--dry-run", is_flag=True, help="Print the exact request without sending it.")
@click.pass_obj
def command(
    console: Console,
    /,
    *,
    task: tuple[str, ...],
    agent: str | None,
    approve: tuple[str, ...],
    refuse: tuple[str, ...],
    answer: tuple[str, ...],
    run_id: str | None,
    dry_run: bool,
    **given: Any,
) -> ExitCode:
    """Give a model a TASK and the tools to do it; "-" takes it, or the rest of it, from standard input.

    Without --model, the model of your settings answers, else one of the first provider whose key is set, else one
    that a server on this machine has (Ollama, llama.cpp, LM Studio), else a small one in this process.

    Calls that only read run at once. You are asked before anything is changed, run or fetched; without a terminal
    such calls are refused, unless --yes allows them or --ask makes the run wait.

    \b
    dragoman run "why does the last test fail?"
    dragoman run --yes --model openai:gpt-5.2 "fix it" > answer.txt
    git diff | dragoman run --tools none "review this:" -
    dragoman run -a chart.png -a notes.pdf "do these agree?"
    dragoman run --agent reviewer "look at the last commit"
    dragoman run --resume last "and now the other one"
    dragoman run --from 5f0c --model gemini:gemini-2.5-pro "go on"
    """
    options = Options(**given, run_id=run_id)
    if (approve or refuse or answer) and options.resume is None and run_id is None:
        raise click.UsageError(
            "--approve, --refuse and --answer are for calls of an earlier run: name it with --resume."
        )
    if options.resume is not None and options.system is not None:
        raise click.UsageError("A run that is resumed keeps its instructions: --system is for new ones.")
    text = _text(task, options)
    given_answers = Given(approve, refuse, answer)
    recorded = None if options.resume is None or agent is not None else _recorded_agent(console, options)
    if recorded is not None and not dry_run and options.schema is None and not options.attach:
        from dragoman.cli.agent_run import run_agent

        return concluded(console, options, lambda: run_agent(console, options, recorded, text, given_answers))
    if agent is not None:
        if options.resume is not None:
            raise click.UsageError("A run that is resumed keeps its agent: --agent is for new ones.")
        if dry_run:
            raise click.UsageError("--dry-run shows the request of one model; --agent runs a tree of them.")
        if options.schema is not None:
            raise click.UsageError(
                "--schema and --agent cannot be used together: an agent's file says what it returns."
            )
        if options.attach:
            raise click.UsageError("--attach and --agent cannot be used together: an agent's task is text.")
        from dragoman.cli.agent_run import run_agent

        return concluded(console, options, lambda: run_agent(console, options, agent, text, given_answers))
    return concluded(console, options, lambda: _run(console, options, text, given_answers, dry_run=dry_run))


def _recorded_agent(console: Console, options: Options) -> str | None:
    """The agent that the run to be resumed began with; `None` for a run without one."""
    from dragoman.cli.records import find_run, store_of
    from dragoman.model import SessionStarted

    store = store_of(console.configuration())
    try:
        events = store.read(find_run(store, options.resume or ""))
        started = next((event for event in events if isinstance(event, SessionStarted)), None)
    finally:
        store.close()
    return None if started is None else started.metadata.get("agent")


def _text(task: tuple[str, ...], options: Options) -> str:
    """What is to be done: the words, and where one of them is "-", what standard input holds."""
    text = " ".join(word for word in task if word != "-").strip()
    if "-" in task and "-" in options.attach:
        raise click.UsageError("Standard input can be the task or an attachment, not both.")
    if "-" in task:
        from dragoman.cli.vocabulary import text_from

        given = text_from("-").strip()
        if not given:
            raise click.UsageError("Standard input holds nothing.")
        return f"{text}\n\n{given}".strip()
    if not text and not options.attach and options.resume is None and options.from_session is None:
        raise click.UsageError('Give the task: dragoman run "…"')
    return text


def _run(console: Console, options: Options, task: str, given: Given, *, dry_run: bool) -> ExitCode:
    from dragoman.cli.runner import Runner
    from dragoman.cli.session import Session

    with Runner() as runner:
        session = runner.run(Session.open(console, options, sending=not dry_run))
        try:
            if options.from_session is not None and not task and session.finished():
                raise click.UsageError("The session is complete. Say what to do next.")
            message = runner.run(session.with_attachments(task))
            if dry_run:
                return _show(console, session, message, as_json=options.as_json)
            if options.run_id is not None and session.conversation():
                if session.finished():  # whoever ran it was killed before it could say so
                    return ExitCode.OK
                message = task = ""
                given = given.still_wanted(session.waiting_calls())
            answers = answers_of(session, task, given)
            session.begins()
            code = runner.run(session.turn(message, answers))
        except KeyboardInterrupt:
            session.stopped()
            code = ExitCode.INTERRUPTED
        finally:
            runner.finish(session.close())
        if code is ExitCode.WAITING and options.run_id is None:  # a worker tells of its own
            runner.run(session.tell_waiting(task))
        hint = session.how_to_resume(code, "run")
        if hint is not None and (code is not ExitCode.OK or sys.stderr.isatty()):
            console.note(hint)
        return code


def _show(console: Console, session: Session, task: str | Message, *, as_json: bool) -> ExitCode:
    """The exact first request. Its body goes to standard output, ready for another program."""
    import json

    session.tell_instructions()
    prepared = session.prepare(task)
    encoded = prepared.encoded
    assert encoded is not None
    url = session.url(encoded.path)
    if as_json:
        console.json({"method": "POST", "url": url, "headers": encoded.headers, "body": encoded.body})
        return ExitCode.OK
    console.note(f"POST {url}")
    for name, value in encoded.headers.items():
        console.note(f"{name}: {value}")
    console.note("(and the key, in its header)")
    if console.debug:
        _say_notes(console, prepared)
    if stdout().isatty():
        console.line(json.dumps(encoded.body, indent=2, ensure_ascii=False))
    else:
        console.encoded(encoded.to_bytes())
    return ExitCode.OK


def _say_notes(console: Console, prepared: Prepared) -> None:
    for note in prepared.notes:
        console.note(f"{note.tool}: {note.message}")
    for remark in prepared.encoded.report if prepared.encoded is not None else ():
        console.note(f"{remark.where}: {remark.message}")
