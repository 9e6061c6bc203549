"""requirements.lock pins, with hashes, everything pyproject.toml asks for, and names no machine or index."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def asked_for() -> list[Requirement]:
    lists = [
        PROJECT["build-system"]["requires"],
        PROJECT["project"]["dependencies"],
        *PROJECT["project"]["optional-dependencies"].values(),
        *PROJECT["dependency-groups"].values(),
    ]
    requirements = [Requirement(text) for texts in lists for text in texts]
    return [requirement for requirement in requirements if requirement.name != "dragoman"]


def pinned() -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9.-]+)==([^\s;]+)", LOCK, re.MULTILINE))


def test_everything_asked_for_is_pinned_at_a_version_that_was_asked_for() -> None:
    pins = pinned()
    unmet = [
        str(requirement)
        for requirement in asked_for()
        if not requirement.specifier.contains(pins.get(canonicalize_name(requirement.name), "0"), prereleases=True)
    ]
    assert unmet == [], "run `make lock`"


def test_every_requirement_has_a_lower_bound() -> None:
    assert [str(requirement) for requirement in asked_for() if not str(requirement.specifier).startswith(">=")] == []


def test_every_pin_has_hashes() -> None:
    entries = re.split(r"^(?=[a-z0-9.-]+==)", LOCK, flags=re.MULTILINE)[1:]
    assert [entry.splitlines()[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_lock_names_no_index_and_no_path() -> None:
    entries = [line.split("#")[0].strip().removesuffix("\\").strip() for line in LOCK.splitlines()]
    shapes = re.compile(r"|[a-z0-9.-]+==\S+( ; .+)?|--hash=sha256:[0-9a-f]{64}")
    assert [entry for entry in entries if not shapes.fullmatch(entry)] == []


def test_the_extra_all_is_the_sum_of_the_others() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    assert [set(Requirement(text).extras) for text in extras["all"]] == [set(extras) - {"all"}]
