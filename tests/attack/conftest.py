"""What holds for every attack: its docstring opens with the rule it proves, and `docs/security.md` names it."""

from __future__ import annotations

import inspect

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    unstated = sorted(
        {item.nodeid.partition("[")[0] for item in items if isinstance(item, pytest.Function) and not rule_of(item)}
    )
    if unstated:
        raise pytest.UsageError(
            "these attacks state no rule (a docstring that says what is promised): " + ", ".join(unstated)
        )


def rule_of(item: pytest.Function) -> str:
    """The promise an attack proves: the first line of its docstring."""
    return (inspect.getdoc(item.function) or "").partition("\n")[0]
