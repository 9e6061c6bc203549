"""`dragoman memory` and `dragoman skills`, as somebody types them."""

from __future__ import annotations

import json
from pathlib import Path

from dragoman.tools import Memories
from tests.cli.conftest import User


def _saved(user: User) -> Memories:
    memories = Memories.of_project(user.here, Path(user.environ["DRAGOMAN_DATA_DIR"]))
    memories.save("Use make ship.\nNot on Fridays.", "deploying")
    return memories


def test_memories_are_listed_shown_and_forgotten(user: User) -> None:
    assert "Nothing is remembered" in user.types("memory", "list").err
    memories = _saved(user)
    assert "deploying" in user.types("memory", "list").out
    (row,) = json.loads(user.types("memory", "list", "--all", "--json").out)
    assert (row["key"], row["text"], row["project"]) == (
        "deploying",
        "Use make ship.\nNot on Fridays.",
        memories.project,
    )
    assert user.types("memory", "show", "deploying").out == "Use make ship.\nNot on Fridays.\n"
    assert user.types("memory", "show", "nothing").code == 1
    assert user.types("memory", "forget").code == 2
    wrong = user.types("memory", "forget", "deployin")
    assert (wrong.code, 'Did you mean "deploying"?' in wrong.err) == (1, True)
    assert user.types("memory", "forget", "--all").out == "forgot deploying\n"
    assert memories.all() == []


def test_skills_are_listed_with_what_is_wrong(user: User) -> None:
    assert "There are no skills here" in user.types("skills").err
    user.write(user.home / ".claude/skills/letters/SKILL.md", "---\ndescription: Writes letters.\n---\nx\n")
    user.write(user.here / ".claude/skills/other/SKILL.md", "---\ndescription: Does.\n---\nx\n")
    mine, theirs = json.loads(user.types("skills", "--json").out)
    assert (mine["name"], mine["description"], mine.get("problem")) == ("letters", "Writes letters.", None)
    assert "run `dragoman trust`" in theirs["problem"]
