"""What programs are given of our environment."""

from __future__ import annotations

import os

import pytest

from dragoman.environment import USUAL, child_environment, passes


def test_a_program_gets_what_is_named_for_it_and_what_it_needs_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    given = {"PATH": "/bin", "LC_ALL": "C", "LC_API_KEY": "k", "OPENAI_API_KEY": "k", "LD_LIBRARY_PATH": "/lib"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert child_environment() == {"LD_LIBRARY_PATH": "/lib"}
    assert child_environment(*USUAL) == {"PATH": "/bin", "LC_ALL": "C", "LD_LIBRARY_PATH": "/lib"}
    assert child_environment("OPENAI_API_KEY") == {"OPENAI_API_KEY": "k", "LD_LIBRARY_PATH": "/lib"}


def test_a_star_never_stands_for_a_secret() -> None:
    assert passes("NODE_ENV", ["NODE_*"])
    assert not passes("NODE_AUTH_TOKEN", ["NODE_*", "*"])
    assert passes("NODE_AUTH_TOKEN", ["NODE_AUTH_TOKEN"])
    assert not passes("NODE", ["NODE_*"])
