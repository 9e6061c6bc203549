"""`dragoman lab`: looking into logs closely; its commands are files of their own."""

from __future__ import annotations

import click

from dragoman.cli import CommandFiles


class _Lab(CommandFiles):
    # `export` and `stats` are the commands of that name: people look for them here too.
    texts = {
        "grep": "Search what was said and done, or the bytes of the records.",
        "export": "Write a session in another form.",
        "stats": "Count calls, failures, tokens and cost.",
    }
    files = {"grep": "lab_grep"}


@click.group(cls=_Lab)
def command() -> None:
    """Look into logs closely."""
