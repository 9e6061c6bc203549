"""What holds for every attack: its docstring opens with the rule it proves, and `docs/security.md` names it."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    attacks = [item for item in items if isinstance(item, pytest.Function) and item.path.is_relative_to(HERE)]
    unstated = sorted({item.nodeid.partition("[")[0] for item in attacks if not rule_of(item)})
    if unstated:
        raise pytest.UsageError(
            "these attacks state no rule (a docstring that says what is promised): " + ", ".join(unstated)
        )


def rule_of(item: pytest.Function) -> str:
    """The promise an attack proves: the first line of its docstring."""
    return (inspect.getdoc(item.function) or "").partition("\n")[0]
