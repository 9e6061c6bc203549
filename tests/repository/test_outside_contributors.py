"""What a contributor from outside finds: files of the forge that are well formed and say what is so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import dragoman
from tests import public_page
from tests.repository.test_doors import DOORS

ROOT = Path(__file__).parents[2]
TARGETS = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))


def read(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text())


def test_the_workflow_runs_targets_that_exist() -> None:
    jobs = read(".github/workflows/ci.yml")["jobs"].values()
    commands = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    made = [target for command in commands for target in re.findall(r"\bmake ([a-z-]+)", command)]
    assert {"test", "check", "docs"} <= set(made) <= TARGETS


def test_the_workflow_gives_no_rights_beyond_reading() -> None:
    assert read(".github/workflows/ci.yml")["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("form", ["bug", "idea", "log_not_read"])
def test_an_issue_form_has_what_a_form_needs(form: str) -> None:
    found = read(f".github/ISSUE_TEMPLATE/{form}.yml")
    assert {"name", "description", "body"} <= set(found)
    ids = [field["id"] for field in found["body"]]
    assert len(set(ids)) == len(ids)
    assert {field["type"] for field in found["body"]} <= {"textarea", "input", "markdown", "dropdown"}
    assert any(field.get("validations", {}).get("required") for field in found["body"])


def test_pre_commit_runs_the_tools_of_make_check() -> None:
    entries = [hook["entry"] for repository in read(".pre-commit-config.yaml")["repos"] for hook in repository["hooks"]]
    checks = (ROOT / "Makefile").read_text().partition("check: ")[2].partition("\n\n")[0]
    for tool in ("ruff format", "ruff check", "mypy", "lint-imports"):
        assert tool in checks
        assert any(tool in entry for entry in entries)


def test_the_citation_names_this_version() -> None:
    assert str(read("CITATION.cff")["version"]) == dragoman.__version__


def test_the_changelog_has_a_section_for_what_is_not_released_and_for_each_release() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    assert [line for line in headings[1:] if not re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}", line)] == []


def test_the_list_of_public_names_has_every_door_with_its_stability() -> None:
    listed = public_page.text()
    assert "## dragoman\n\nStable.\n" in listed
    assert "## dragoman.engine\n\nProvisional.\n" in listed
    for door, names in DOORS.items():
        if not door.startswith("dragoman.cli"):
            part = listed.partition(f"## {door}\n")[2].partition("\n## ")[0]
            assert [name for name in names if f"| `{name}` |" not in part] == []
