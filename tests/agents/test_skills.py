"""Skills of the user's and of a trusted project: found, offered with their descriptions, loaded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman import config
from dragoman.agents import find_skills, skill_tool
from dragoman.agents.skills import Skill
from dragoman.dialects import DIALECTS
from dragoman.engine import Facade
from dragoman.model import Failure, NativeCall, TextOutcome, operations as op
from dragoman.tools import DiskWorkspace, Toolset, perform, standard_context
from dragoman.tools.running import run_operation

SKILL = "---\nname: {name}\ndescription: {about}\n---\n# How\n\nDo it well.\n"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("HOME", "CODEX_HOME", "DRAGOMAN_CONFIG_DIR", "DRAGOMAN_DATA_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    (tmp_path / "work" / ".dragoman").mkdir(parents=True)
    return tmp_path / "work"


def _write(folder: Path, name: str, about: str = "Writes letters.", text: str = SKILL) -> Path:
    (folder / name).mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(text.format(name=name, about=about))
    return folder / name / "SKILL.md"


def _found(work: Path) -> tuple[Skill, ...]:
    return find_skills(config.load(project_at=work), work)


async def test_a_skill_of_the_users_is_offered_and_loaded(work: Path) -> None:
    path = _write(work.parent / "home" / ".claude" / "skills", "letters")
    (path.parent / "scripts").mkdir()
    (path.parent / "scripts" / "send.py").write_text("")
    assert _found(work) == (Skill(name="letters", description="Writes letters.", path=path, origin="user"),)
    tool = skill_tool(config.load(project_at=work), work)
    assert tool is not None
    facade = Facade(DIALECTS["claude_code"], Toolset([tool]))
    (definition,) = facade.definitions
    assert definition.name == "Skill"
    assert definition.description.endswith("\n\nSkills:\n- letters: Writes letters.")
    call = facade.read_call(NativeCall("1", "Skill", {"skill": "letters", "args": "to Ada"}))
    async with standard_context(DiskWorkspace(work)) as context:
        outcome = await run_operation(tool, call.operations[0], context)
        same = await perform(op.UseSkill("letters", "to Ada"), context)
        missing = await perform(op.UseSkill("leters"), context)
    where = f"Skill: letters\nFolder: {path.parent}\nFiles: scripts/send.py\nArguments: to Ada"
    assert outcome == same == TextOutcome(f"{where}\n\n# How\n\nDo it well.")
    assert isinstance(missing, Failure)
    assert 'Did you mean "letters"?' in missing.message


def test_a_projects_skill_is_offered_only_when_the_project_is_trusted(work: Path) -> None:
    path = _write(work / ".claude" / "skills", "letters")
    (skill,) = _found(work)
    assert (skill.origin, skill.problem is not None and "dragoman trust" in skill.problem) == ("project", True)
    assert skill_tool(config.load(project_at=work), work) is None
    config.trust(work, config.data_dir())
    described = {"name": "letters", "description": "Writes letters.", "origin": "project"}
    assert _found(work) == (Skill(**described, path=path, root=work),)


def test_the_users_skill_comes_before_the_projects_of_the_same_name(work: Path) -> None:
    mine = _write(work.parent / "home" / ".claude" / "skills", "letters", "Mine.")
    _write(work / ".claude" / "skills", "letters", "Theirs.")
    config.trust(work, config.data_dir())
    first, second = _found(work)
    assert (first.description, first.problem) == ("Mine.", None)
    assert second.problem == f"hidden by {mine}"


@pytest.mark.parametrize(
    "text, problem",
    [
        ("just words", "it has no description"),
        ("---\nname: x\nname: y\n---\nx", "line"),
        ("---\ndescription: x\nname: 3\n---\nx", "its name is no line of text"),
        ("\x00" * (1024 * 1024 + 1), "it is larger than"),
    ],
)
def test_a_broken_skill_is_listed_with_its_problem_and_not_offered(work: Path, text: str, problem: str) -> None:
    _write(work.parent / "home" / ".claude" / "skills", "odd").write_text(text)
    (skill,) = _found(work)
    assert skill.problem is not None
    assert problem in skill.problem
    assert skill_tool(config.load(project_at=work), work) is None


def test_a_link_out_of_the_project_is_not_read(work: Path) -> None:
    secret = _write(work.parent / "elsewhere", "secret", "Secret.")
    (work / ".claude" / "skills").mkdir(parents=True)
    (work / ".claude" / "skills" / "secret").symlink_to(secret.parent)
    config.trust(work, config.data_dir())
    (skill,) = _found(work)
    assert (skill.description, skill.problem) == ("", "it leads out of the project")


def test_a_pipe_in_place_of_a_skill_is_not_waited_for(work: Path) -> None:
    folder = work.parent / "home" / ".claude" / "skills" / "odd"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "SKILL.md")
    (skill,) = _found(work)
    assert skill.problem == "it is not a regular file"
