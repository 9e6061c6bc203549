"""`dragoman gateway`: any coding agent on any model, in the model's own words."""

from __future__ import annotations

import asyncio
import gc
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from dragoman import engine
from dragoman.cli.terminal.console import Console, ExitCode, json_option
from dragoman.engine import models
from dragoman.environment import child_environment
from dragoman.errors import ConfigError, nearest
from dragoman.serve import gateway
from dragoman.tools.processes import find_program

if TYPE_CHECKING:
    from dragoman.config import Configuration


@click.command
@click.argument("client", metavar="[CLIENT]", required=False)
@click.argument("arguments", metavar="[-- ARGUMENTS]...", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--model",
    "-m",
    metavar="PROVIDER:MODEL",
    help="The model that answers; of several with commas, the next if one fails. Default: that of your settings.",
)
@click.option(
    "--route",
    "routes",
    metavar="PATTERN=MODEL",
    multiple=True,
    help="Another model for some requests: by the name the client asks for, or @small, @summary, @thinking, @long.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="PORT", help="Default: a free port.")
@click.option(
    "--words",
    type=click.Choice(["model", "client"]),
    default="model",
    show_default=True,
    help="Whose tools the model is offered: its own, or those of the client as they are.",
)
@click.option(
    "--token",
    metavar="TEXT",
    help="The token that clients must send; else one is made. Other users of this machine can see it: --token-env.",
)
@click.option("--token-env", metavar="VARIABLE", help="The variable with the token that clients must send.")
@click.option(
    "--web", is_flag=True, help="Search the web and fetch pages here, where the model's provider does not do it."
)
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0),
    metavar="DOLLARS",
    help="Refuse further requests once this much was spent.",
)
@click.option(
    "--no-record", is_flag=True, help="Keep nothing on disk: no record of sessions, and nothing that a restart needs."
)
@click.option("--watch", is_flag=True, help="Show each exchange.")
@json_option
@click.pass_obj
def command(
    console: Console,
    *,
    client: str | None,
    arguments: tuple[str, ...],
    model: str | None,
    routes: tuple[str, ...],
    port: int,
    words: Literal["model", "client"],
    token: str | None,
    token_env: str | None,
    web: bool,
    max_cost: float | None,
    no_record: bool,
    watch: bool,
    as_json: bool,
) -> ExitCode:
    """Run a coding agent on the model of another provider, which gets tools under the names it was trained on.

    With CLIENT (claude, cline, codex, continue, copilot, gemini, opencode, qwen or pi) that program is started and
    pointed here; its own settings are not changed. Without, the gateway prints its address and its token and runs until
    Ctrl-C. It listens on 127.0.0.1 only. Your keys stay here: the client gets a token instead, and its own key is never
    passed on.

    \b
    dragoman gateway claude --model gemini:gemini-2.5-pro
    dragoman gateway codex --model anthropic:claude-sonnet-4-5 -- exec "fix the tests"
    dragoman gateway --port 8787 --route @small=openai:gpt-5-mini --watch
    """
    from dragoman.cli.runner import run

    configuration = console.configuration()
    program = None if client is None else _program(client)
    limits = [one for one in (max_cost, configuration.settings.gateway.max_cost) if one is not None]
    chosen = _routes(configuration, model, routes)
    for named in chosen.names:
        _check(named, configuration)
    served = gateway.Gateway(
        chosen,
        _token(token, token_env),
        words=words,
        folder=configuration.data_dir / "gateway" if configuration.settings.record and not no_record else None,
        max_cost=Decimal(str(min(limits))) if limits else None,
        own_prices=configuration.settings.prices,
        web=_web(console, configuration) if web else None,
        watch=_shown(console, as_json=as_json) if watch else None,
        warn=console.warn,
    )
    if client is None or program is None:
        run(_serve(console, served, port))
        return ExitCode.OK
    code = run(_started(served, port, program, gateway.CLIENTS[client], arguments, chosen.default[0]))
    return ExitCode.OK if code == 0 else ExitCode.NO


def _routes(configuration: Configuration, model: str | None, routes: tuple[str, ...]) -> gateway.Routes:
    """The routes of the command line, then those of the user's settings."""
    from dragoman.cli.runner import run

    settings = configuration.settings.gateway
    default = gateway.read_models(model or settings.model or "")
    if not default:
        if configuration.settings.model and not configuration.is_own("model"):
            raise ConfigError(
                "the project here chooses the model of runs, but not who gets what other programs say: "
                "name a model with --model, or as gateway.model in your own settings"
            )
        default = (run(models.default_model(configuration)).model,)
    stated = [gateway.read_route(one) for one in routes]
    stated += [gateway.read_route(f"{pattern}={named}") for pattern, named in settings.routes.items()]
    return gateway.Routes(default, tuple(stated), long=settings.long_context)


def _token(token: str | None, variable: str | None) -> str:
    if token is not None and variable is not None:
        raise click.UsageError("Either --token or --token-env.")
    if variable is not None:
        token = os.environ.get(variable)
        if not token:
            raise ConfigError(f"the environment variable {variable} has no token in it")
    if token is None:
        return secrets.token_urlsafe(24)
    if not (token.isascii() and token.isprintable()) or token != token.strip() or not token:
        raise ConfigError("a token is sent in a header: it consists of ASCII letters, digits and signs")
    return token


def _web(console: Console, configuration: Configuration) -> gateway.OwnWeb:
    """What searches the web and fetches pages here, as the settings have it."""
    reaching = engine.web_for(configuration)
    if not reaching.can_search:
        console.note("Pages are fetched here, but nothing searches: set search.backend (dragoman config).")
    return gateway.OwnWeb(reaching)


def _check(named: str, configuration: Configuration) -> None:
    provider, _ = models.split_model(models.real_name(named, configuration))
    models.check_provider(provider, configuration)


def _program(client: str) -> str:
    known = gateway.CLIENTS
    if client not in known:
        raise click.BadParameter(
            f"there is no client {client!r}; known: {', '.join(known)}.{nearest(client, known)}", param_hint="CLIENT"
        )
    name = known[client].program
    program = find_program(name)
    if program is None:
        raise ConfigError(f"the program {name!r} is not installed, or not on your PATH")
    return program


async def _serve(console: Console, served: gateway.Gateway, port: int) -> None:
    await _listening(served, port)
    try:
        console.note(f"Listening at {served.url}")
        console.note(f"Clients must send this as their key: {served.token}")
        console.note(f"  ANTHROPIC_BASE_URL={served.url} ANTHROPIC_AUTH_TOKEN={served.token} claude")
        console.note("Ctrl-C ends it.")
        with _looking_for_cycles_seldom():
            await asyncio.Event().wait()
    finally:
        await served.close()


async def _listening(served: gateway.Gateway, port: int) -> None:
    try:
        await served.start(port)
    except OSError as error:
        raise ConfigError(f"cannot listen on port {port}: {error.strerror or error}; choose another") from error


@contextmanager
def _looking_for_cycles_seldom() -> Iterator[None]:
    """A conversation is tens of thousands of values that refer to each other without cycles. With Python's usual
    thresholds a quarter of what its first request costs is spent on looking for cycles in it. Requests that fail or are
    abandoned do leave cycles, each with its body: much more seldom than this, 100 of 100 kB kept 20 MB."""
    usual = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(5_000, 5, 10)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


def _write(folder: str, files: Mapping[str, str], url: str, model: str) -> None:
    for name, text in files.items():
        Path(folder, name).write_text(text.replace("{url}", url).replace("{model}", model), encoding="utf-8")


async def _started(
    served: gateway.Gateway,
    port: int,
    program: str,
    client: gateway.Client,
    arguments: tuple[str, ...],
    model: str,
) -> int:
    """Starts a client that asks here, and waits until it ends."""
    await _listening(served, port)
    try:
        told = (served.url, served.token, model)
        environment = child_environment("*")  # without keys: the client gets the token instead
        with tempfile.TemporaryDirectory(prefix="dragoman-gateway-", ignore_cleanup_errors=True) as folder:
            _write(folder, client.files, served.url, model)
            given = client.environment(*told)
            environment.update({name: value.replace("{folder}", folder) for name, value in given.items()})
            words = [word.replace("{folder}", folder) for word in client.arguments(*told)]
            process = await asyncio.create_subprocess_exec(program, *words, *arguments, env=environment)
            try:
                with _looking_for_cycles_seldom():
                    return await process.wait()
            finally:
                if process.returncode is None:
                    process.terminate()
                    await process.wait()
    finally:
        await served.close()


def _shown(console: Console, *, as_json: bool) -> gateway.Watch:
    """Prints each exchange on standard error, where it is in nobody's way."""

    def show(one: gateway.Exchanged) -> None:
        if as_json:
            console.json(one)
            return
        who = f"{one.client or 'a client'} ({one.api})"
        if one.error is not None:
            console.note(f"{who}: {one.status} {one.error}")
            return
        answered = one.model or "next step of a call"
        tokens = f"{one.usage.total or 0:,} tokens" if one.model else ""
        cost = "" if one.cost is None else f"${one.cost:.4f}"
        tools = f"{one.translated} tools translated, {len(one.passed)} passed through" if one.translated else ""
        calls = f"calls {', '.join(one.calls)}" if one.calls else ""
        left_out = f"left out: {', '.join(one.left_out)}" if one.left_out and one.model else ""
        facts = [fact for fact in (tokens, cost, f"{one.seconds:.1f} s", tools, calls, left_out) if fact]
        console.note(f"{who}: {one.asked} → {answered}: {', '.join(facts)}")

    return show
