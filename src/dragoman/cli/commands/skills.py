"""`dragoman skills`: the skills there are, and why one is not offered."""

from __future__ import annotations

import click

from dragoman.cli.terminal.console import Console, ExitCode, here, json_option


@click.command
@json_option
@click.pass_obj
def command(console: Console, *, as_json: bool) -> ExitCode:
    """List the skills a model can load here: folders with a SKILL.md, of the user's and of a trusted project's.

    They are looked for in ~/.claude/skills, ~/.agents/skills, ~/.gemini/skills, ~/.codex/skills, in skills of the
    settings folder, and in the same folders of a project.
    """
    from dragoman.agents import find_skills

    found = find_skills(console.configuration(), here())
    if as_json:
        console.json(found)
    elif found:
        rows = [(one.name, one.problem or one.description, str(one.path)) for one in found]
        console.table(("skill", "description or problem", "file"), rows)
    else:
        console.note("There are no skills here.")
    return ExitCode.OK
