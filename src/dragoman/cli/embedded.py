"""The small model that runs in this process: what it is offered, and that its file is fetched only after a yes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from dragoman.engine import models
from dragoman.errors import ConfigError, MissingExtra

from .terminal.console import Console

OFFERED: Final = ("read_file", "write_file", "edit_file", "list_directory", "search_text", "run_command")
"""Tools it has when none were named. More of them, and it takes the wrong one."""
SYSTEM: Final = "You work in the current folder; paths are relative to it."
"""Its instructions: what it does not need only takes it time."""


class Consent:
    """Whether a model's file may be fetched: said on the command line, or asked for once, with its size."""

    def __init__(self, console: Console, cache: Path, *, given: bool) -> None:
        self._console, self._cache, self._given = console, cache, given

    def needed_for(self, name: str) -> None:
        """Ends here, and says what to do, when a model of this name cannot be used."""
        if not models.can_run_here():
            raise MissingExtra("local", "a model in this process", "xllamacpp")
        if name in models.MODEL_FILES and not models.cached(name, cache=self._cache).is_file() and not self.asked(name):
            size = f"{models.MODEL_FILES[name].size / 1e9:.1f} GB"
            raise ConfigError(f"the file of {name} is not here: --fetch fetches it once ({size})")

    def instead(self, name: str) -> bool:
        """The same where nobody named that model: there is no other."""
        if not self._given and _somebody_is_there():
            self._console.note("No model is set, no key was found and no model server answers on this machine.")
        return self.asked(name)

    def asked(self, name: str) -> bool:
        """Whether it may be fetched. Where nobody can be asked, only when that was said before."""
        if not self._given and _somebody_is_there():
            model, folder = models.MODEL_FILES[name], models.cached(name, cache=self._cache).parent
            self._console.note(f"{model.title} can run in this process. Measured on new tasks: {model.measured}.")
            self._console.note(f"Its file is {model.size / 1e9:.1f} GB, fetched once into {folder}.")
            self._given = click.confirm("Fetch it now?", default=False, err=True)
        return self._given


def _somebody_is_there() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
