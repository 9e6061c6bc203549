"""`docs/words.md` has the words of our declarations, and no word that the code does not use."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import dragoman
from dragoman.dialects import Dialect, Spelling
from dragoman.model import operations as op

ROOT = Path(__file__).parents[2]
WORDS = re.findall(r"\*\*([^*]+)\*\*", (ROOT / "docs" / "words.md").read_text())
SOURCE = "\n".join(path.read_text() for path in sorted((ROOT / "src").rglob("*.py"))).lower()

OF_SPELLINGS = {
    name
    for name in Spelling.__annotations__
    if not name.startswith("_") and name not in vars(Spelling).get("__struct_fields__", ())
} - {
    # Filled in when the class is made, or explained with another word.
    *("earlier", "operation_types", "parameters", "meaningful", "required", "reshaped", "parts", "refine", "results"),
    *("tells", "on_request_since", "settings", "provider_id", "executed_by"),
}
OF_DIALECTS = {*inspect.signature(Dialect).parameters} - {
    # What a dialect is made for: not words of a declaration.
    *("name", "version", "family", "servers", "functions", "mcp_items", "failures", "only"),
}
OF_EFFECTS = {*op.Effects.__struct_fields__} - {"path", "url", "command"}
AT_THE_DOOR = {name for name in dragoman.__all__ if name not in ("__version__", "TOOLS", "tool")} - {
    # Kinds of a word that is there: an error, an outcome, a workspace.
    *("DragomanError", "Failure", "DiskWorkspace"),
}


def spaced(name: str) -> str:
    """`NativeCall` and `native_call` → `native call`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").lower()


@pytest.mark.parametrize("word", WORDS)
def test_the_code_uses_each_word(word: str) -> None:
    written = "[ _]?".join(map(re.escape, word.lower().split()))
    assert re.search(rf"(?<![a-z]){written}", SOURCE)


def test_no_word_is_explained_twice() -> None:
    assert sorted(WORDS) == sorted({*WORDS})


@pytest.mark.parametrize(
    "names", [OF_SPELLINGS, OF_DIALECTS, OF_EFFECTS, AT_THE_DOOR], ids=["spellings", "dialects", "effects", "door"]
)
def test_the_words_of_declarations_are_explained(names: set[str]) -> None:
    said = {word.lower() for word in WORDS}
    assert {spaced(name).removesuffix("s") for name in names} <= {word.removesuffix("s") for word in said}
