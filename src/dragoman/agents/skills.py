"""Skills: folders with a SKILL.md, as Claude Code, Codex, Gemini CLI and others have them.

Rule: the user's own skills are offered; those of a project only when the user trusts it. A skill is text for a model:
nothing in it is run, and it loosens no rule.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec

from dragoman.config import SKILL_FOLDERS, Configuration, load
from dragoman.config.files import home_folder, read_with_place
from dragoman.errors import ToolError, nearest
from dragoman.model import TextOutcome, operations as op
from dragoman.tools import Context, Tool

from .frontmatter_text import LARGEST_FILE, Problems, read_page

_FILE: Final = "SKILL.md"
_IN_PROJECT: Final = (".dragoman/skills", *SKILL_FOLDERS)
_MOST: Final = 200
"""Skills that are looked at in one folder."""
_LISTED: Final = 50
"""Files of a skill that are named to the model."""
_LONGEST_DESCRIPTION: Final = 500
"""Characters of a description that are offered: every request carries all of them."""


class Skill(msgspec.Struct, frozen=True, kw_only=True):
    """One skill: what it is called and for, and where it is; `problem` says why it is not offered."""

    name: str
    description: str
    path: Path
    origin: Literal["user", "project"]
    root: Path | None = None
    """The project it must be in; none for a skill of the user's."""
    problem: str | None = None


def find_skills(configuration: Configuration, folder: Path) -> tuple[Skill, ...]:
    """Every skill for work in a folder, the user's own first. Of several with one name, the first is offered."""
    found: dict[str, Skill] = {}
    hidden: list[Skill] = []
    for skill in _all(configuration, folder):
        if skill.problem is None and skill.name in found and found[skill.name].problem is None:
            hidden.append(msgspec.structs.replace(skill, problem=f"hidden by {found[skill.name].path}"))
        elif skill.problem is not None and skill.name in found:
            hidden.append(skill)
        else:
            if skill.name in found:
                hidden.append(found[skill.name])
            found[skill.name] = skill
    return (*found.values(), *hidden)


def _all(configuration: Configuration, folder: Path) -> Iterator[Skill]:
    home = home_folder()
    codex = Path(os.environ.get("CODEX_HOME") or home / ".codex")
    own = (
        configuration.config_dir / "skills",
        home / ".agents" / "skills",
        home / ".claude" / "skills",
        home / ".gemini" / "skills",
        codex / "skills",
    )
    for place in own:
        yield from _in(place, "user", None, None)
    project = configuration.project
    root = folder if project is None else project.root
    trusted = project is not None and project.trust.state == "trusted"
    why = None if trusted else "the project is not trusted: read its skills, then run `dragoman trust`"
    if project is None:
        why = "the folder is not trusted: read its skills, create a folder .dragoman in it, then run `dragoman trust`"
    for name in _IN_PROJECT:
        if root / name not in own:  # for who works at home these are the user's own
            yield from _in(root / name, "project", root, why)


def _in(place: Path, origin: Literal["user", "project"], root: Path | None, why: str | None) -> Iterator[Skill]:
    try:
        names = sorted(os.listdir(place))[:_MOST]
    except OSError:
        return
    for name in names:
        path = place / name / _FILE
        if os.path.lexists(path):
            yield _read(path, origin, root, why)


def _read(path: Path, origin: Literal["user", "project"], root: Path | None, why: str | None) -> Skill:
    name, problems = path.parent.name, Problems()
    text, problem = _text_of(path, root)
    page = None if text is None else read_page(text, problems, lenient=True)
    if page is None or problems:
        problem = problem or "; ".join(problems.in_order()) or "it cannot be read"
        return Skill(name=name, description="", path=path, origin=origin, problem=problem)
    called, described = page.values.get("name", name), page.values.get("description")
    if not isinstance(described, str) or not described.strip():
        described, problem = "", "it has no description, so no model can tell what it is for"
    if not isinstance(called, str) or not called.strip() or not called.isprintable():
        called, problem = name, "its name is no line of text"
    return Skill(
        name=called.strip(),
        description=" ".join(described.split()),
        path=path,
        origin=origin,
        root=root,
        problem=problem or why,
    )


def _text_of(path: Path, root: Path | None) -> tuple[str | None, str | None]:
    """The text of a skill, or why there is none. One of a project is judged by the file that was opened."""
    try:
        content, place = read_with_place(path, LARGEST_FILE)
    except OSError as error:
        return None, f"it cannot be read: {error.strerror}"
    except ValueError as error:
        return None, f"it is {error}"
    if root is not None and not place.is_relative_to(os.path.realpath(root)):
        return None, "it leads out of the project"
    try:
        return content.decode(), None
    except UnicodeDecodeError:
        return None, "it is no UTF-8 text"


# ── the tool ─────────────────────────────────────────────────────────────────


def skill_tool(configuration: Configuration, folder: Path) -> Tool | None:
    """A tool that loads the current skills, offered with their descriptions; `None` if there are none."""
    skills = {skill.name: skill for skill in find_skills(configuration, folder) if skill.problem is None}
    if not skills:
        return None

    def use(operation: op.UseSkill, _: Context) -> TextOutcome:
        """Load the instructions of a skill."""
        return _loaded(skills, operation)

    shown = [f"- {name}: {_cut(skill.description)}" for name, skill in skills.items()]
    listed = "\n".join(["Skills:", *shown])
    about = (op.UseSkill("a skill"), "name", listed)
    return Tool.from_operation(op.UseSkill, use, name="use_skill", listed=about, repeatable=True)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_DESCRIPTION else f"{text[: _LONGEST_DESCRIPTION - 1]}…"


def _loaded(skills: dict[str, Skill], operation: op.UseSkill) -> TextOutcome:
    skill = skills.get(operation.name)
    if skill is None:
        known = ", ".join(skills) or "none"
        hint = nearest(operation.name, tuple(skills))
        raise ToolError(f"there is no skill {operation.name!r} (there are: {known}).{hint}", kind="invalid_arguments")
    text, problem = _text_of(skill.path, skill.root)
    page = None if text is None else read_page(text, Problems(), lenient=True)
    if page is None:
        raise ToolError(f"the skill {skill.name!r} cannot be read: {problem or 'its frontmatter is broken'}")
    files = [str(path.relative_to(skill.path.parent)) for path in _files(skill.path.parent)]
    about = [f"Skill: {skill.name}", f"Folder: {skill.path.parent}"]
    about += [f"Files: {', '.join(files)}"] if files else []
    about += [f"Arguments: {operation.arguments}"] if operation.arguments else []
    return TextOutcome("\n".join([*about, "", page.body]))


def _files(folder: Path) -> list[Path]:
    found: list[Path] = []
    for parent, folders, files in os.walk(folder):
        folders.sort()
        found += [Path(parent) / name for name in sorted(files) if name != _FILE or Path(parent) != folder]
        if len(found) >= _LISTED:
            return found[:_LISTED]
    return found


def _use_skill(operation: op.UseSkill, context: Context) -> TextOutcome:
    """Load the instructions of a skill of the user's, or of a trusted project."""
    folder = Path(getattr(context.workspace, "root", "."))
    skills = find_skills(load(project_at=folder), folder)
    return _loaded({skill.name: skill for skill in skills if skill.problem is None}, operation)


use_skill = Tool.from_operation(op.UseSkill, _use_skill, name="use_skill", repeatable=True)
