"""Programs in a language of their own, run as commands are: in the same sandbox, under the same limits."""

from __future__ import annotations

import shlex
from typing import Final

from dragoman.errors import ToolError, nearest
from dragoman.model.operations import RunCode, RunCommand
from dragoman.model.outcomes import CommandOutcome

from .context import Context
from .definition import Tool
from .processes.programs import find_program
from .shell import Shell

LANGUAGES: Final = {"python": ("python3", "-c"), "javascript": ("node", "-e")}
"""The program for each language, and the option that takes the code."""
_ALIASES: Final = {"py": "python", "python3": "python", "js": "javascript", "node": "javascript"}
_LONGEST: Final = 100_000
"""Characters of code: it is an argument of a command, and Linux takes 128 kB as one."""


def runnable() -> tuple[str, ...]:
    """The languages whose interpreter is installed."""
    return tuple(language for language, (program, _) in LANGUAGES.items() if find_program(program) is not None)


async def _run_code(operation: RunCode, context: Context) -> CommandOutcome:
    """Run a program to its end in the workspace; its output and exit code come back."""
    asked = operation.language.strip().casefold()
    language = _ALIASES.get(asked, asked)
    if language not in LANGUAGES:
        hint = nearest(language, tuple(LANGUAGES))
        message = f"no program runs {operation.language!r} here (known: {', '.join(LANGUAGES)}).{hint}"
        raise ToolError(message, kind="invalid_arguments")
    program, option = LANGUAGES[language]
    if find_program(program) is None:
        raise ToolError(f"{program} is not installed here, so {language} cannot be run")
    if len(operation.code) > _LONGEST:
        message = f"the code is longer than {_LONGEST} characters; write it to a file and run that"
        raise ToolError(message, kind="invalid_arguments")
    return await context.get(Shell).run(RunCommand(shlex.join([program, option, operation.code])), context)


run_code = Tool.from_operation(
    RunCode,
    _run_code,
    name="run_code",
    only_plain="the vocabulary's own tool runs programs that call the client's tools",
)
