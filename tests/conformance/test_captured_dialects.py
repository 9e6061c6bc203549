"""Dialects begun from every captured client load, and break no law but by what is left to do."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
import pytest

from dragoman.dialects.plugins import captured_tools, check, dialect_from_file, drafted

from .conftest import SHARED

CLIENTS = sorted(path.stem for path in (SHARED / "vocab").glob("*.json"))


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("language, suffix", [("toml", ".toml"), ("python", ".py")])
def test_a_dialect_begun_from_a_client_holds_but_for_what_is_left_to_do(
    client: str, language: Literal["toml", "python"], suffix: str, tmp_path: Path
) -> None:
    tools, _ = captured_tools(msgspec.json.decode((SHARED / "vocab" / f"{client}.json").read_bytes()))
    path = tmp_path / f"mine{suffix}"
    path.write_text(drafted("mine", tools, language))
    dialect = dialect_from_file(path)
    known = {one.native_name for one in dialect.spellings} | {one.name for one in dialect.steering}
    assert known == {tool.name for tool in tools}
    assert len(dialect.spellings) >= 5
    assert {problem.law for problem in check(dialect)} <= {"to do"}


def test_every_captured_client_is_there() -> None:
    assert len(CLIENTS) >= 9
