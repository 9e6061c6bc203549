"""`dragoman completion`: the script that completes dragoman's words in a shell."""

from __future__ import annotations

import sys

import click

from dragoman.cli.terminal.console import Console, ExitCode


@click.command
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, /, *, shell: str) -> ExitCode:
    """Print the script that completes dragoman's words in your shell.

    \b
    bash: put  eval "$(dragoman completion bash)"  in ~/.bashrc
    zsh:  put  eval "$(dragoman completion zsh)"  in ~/.zshrc
    fish: dragoman completion fish > ~/.config/fish/completions/dragoman.fish
    """
    from click.shell_completion import ShellComplete, get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    completion = kind(ctx.find_root().command, {}, "dragoman", "_DRAGOMAN_COMPLETE")
    console = ctx.ensure_object(Console)
    # Not `completion.source()`: for bash that starts a bash, only to look at its version.
    script = ShellComplete.source(completion).strip()
    # For bash click runs what was typed, and `./dragoman` may be anybody's: completing a word runs nothing else.
    console.line(script.replace("_complete $1)", "_complete dragoman)"))
    if sys.stdout.isatty():
        console.note("This is for your shell to read: `dragoman completion --help` says where to put it.")
    return ExitCode.OK
