"""Clients and vocabularies have the names that people know them by."""

from __future__ import annotations

from dragoman.client_names import NAMES, client_name
from dragoman.dialects import DIALECTS
from dragoman.logs import FORMATS
from dragoman.serve.hook import CLIENTS, client_named


def test_every_client_and_vocabulary_has_a_name() -> None:
    assert {*FORMATS.built_in, *DIALECTS.built_in} == NAMES.keys()


def test_hooks_call_clients_by_the_same_name() -> None:
    # Cline's hooks are those of its command line; its sessions may also be from an editor.
    others = [name for name in CLIENTS if name != "cline"]
    assert [client_named(name).title for name in others] == [client_name(name) for name in others]


def test_a_client_of_a_plugin_is_called_by_its_own_name_and_a_hook_is_one() -> None:
    assert client_name("my_agent") == "my agent"
    assert client_name("gemini_cli hook") == "Gemini CLI (hook)"
