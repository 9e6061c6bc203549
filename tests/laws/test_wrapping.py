"""Lines cut for a terminal: nothing is lost, and nothing is wider than the terminal."""

from __future__ import annotations

from hypothesis import given, strategies as st
from rich.cells import cell_len

from dragoman.cli.terminal.visible import wrapped

TEXT = st.text(st.sampled_from("ab é–漢 →"), max_size=200)


@given(TEXT, st.integers(2, 60), st.booleans())
def test_pieces_are_the_line_and_each_fits(text: str, width: int, words: bool) -> None:
    pieces = list(wrapped(text, width, words=words))
    assert "".join(pieces) == text
    assert all(cell_len(piece) <= width for piece in pieces)


@given(st.lists(st.text(st.sampled_from("abé→"), min_size=1, max_size=20), max_size=30))
def test_a_word_that_is_short_is_not_torn(words: list[str]) -> None:
    pieces = list(wrapped(" ".join(words), 40, words=True))
    assert " ".join(piece.strip() for piece in pieces).split() == words
