"""The types of provider tools' settings: what type checkers are told is what the rows of the dialects say."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import get_args

from dragoman.dialects import DIALECTS, Settings

ROOT = Path(__file__).parents[2]
VENDORS = ("anthropic", "google", "openai")


def ids_of(settings: type[Settings]) -> tuple[str, ...]:
    """The ids that the type annotations list settings for."""
    (base,) = vars(settings)["__orig_bases__"]
    (ids,) = get_args(base)
    return get_args(ids)


def test_settings_are_for_the_tools_whose_rows_have_them() -> None:
    rows = [row for vendor in VENDORS for row in DIALECTS[vendor].provider_tools if row.settings is not Settings]
    declared = {id: settings for settings in {row.settings for row in rows} for id in ids_of(settings)}
    assert declared == {row.id: row.settings for row in rows}


def test_every_type_is_imported_from_the_module_of_its_vendor() -> None:
    for vendor in VENDORS:
        names = {row.settings.__name__: row.settings for row in DIALECTS[vendor].provider_tools}
        there = import_module(f"dragoman.dialects.{vendor}")
        assert {name for name, one in names.items() if one is not Settings and getattr(there, name) is not one} == set()
