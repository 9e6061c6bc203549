"""Patterns of JSON Schema mean what JavaScript's regular expressions mean; each row was tried in Node 20."""

from __future__ import annotations

import pytest

from dragoman.errors import PatternError
from dragoman.schema import problems_against
from dragoman.schema.ecma_patterns import as_python, compiled_pattern

MATCHES = (
    # pattern, a text it is found in, one it is not found in
    (r"^\d$", "1", "٣"),
    (r"^\D$", "٣", "1"),
    (r"^\w$", "a", "é"),
    (r"^[\W]$", "é", "a"),
    (r"é\b", "éa", "é"),
    (r"^\s$", "\ufeff", "\u0085"),
    (r"^[^\s]$", "\u200b", "\u2003"),
    (r"^[\S]$", "a", "\u3000"),
    (r"^a$", "a", "a\n"),
    (r"^.$", "\u0085", "\u2028"),
    (r"^\p{L}+$", "Éxß日", "a1"),
    (r"^\p{Letter}[\p{gc=Nd}']$", "a٣", "aa"),
    (r"^[^\p{Lu}]$", "a", "Ü"),
    (r"^\P{Uppercase_Letter}$", "ü", "Ü"),
    (r"^[\P{L}]$", "1", "a"),
    (r"^\p{LC}$", "ǅ", "日"),
    (r"^\p{White_Space}\p{ASCII}$", "\u0085a", "\ufeffa"),
    (r"^\p{Any}$", "\U0001f600", ""),
    (r"^\cA\x41\u0042\u{1F600}$", "\x01AB\U0001f600", "AB"),
    (r"^\ud83d\ude00{2}$", "\U0001f600\U0001f600", "\U0001f600"),
    (r"^[\ud83d\ude00-\u{1F610}]$", "\U0001f605", "\U0001f5ff"),
    (r"^(?<year>\d{4})-\k<year>$", "2026-2026", "2026-2025"),
    (r"(?<!a)b(?=c)", "bc", "ab"),
    (r"^$|[]", "", "a"),
    (r"^[^]$", "\n", ""),
    (r"^[[a]$", "[", "b"),
    (r"^[a&&b]$", "&", "c"),
    (r"^[\w-.]+$", "a-.", "a b"),
    (r"^[+-\d]$", "-", ","),
    (r"^[\]\-]$", "]", "a"),
    (r"^\/\.\$$", "/.$", "/a$"),
    (r"^[$.^|]$", "$", "a"),
    # Only Python reads these, so they were written for Python.
    (r"^(?P<a>\d)(?P=a)\Z", "٣٣", "٣"),
    (r"(?i)^é$", "É\n", "e"),
    (r"\A\w\Z", "é", "é\n"),
)


@pytest.mark.parametrize("pattern, found, missing", MATCHES, ids=ascii)
def test_a_pattern_means_what_it_means_in_javascript(pattern: str, found: str, missing: str) -> None:
    compiled = compiled_pattern(pattern)
    assert compiled.search(found)
    assert not compiled.search(missing)
    assert problems_against({"pattern": pattern}, missing) != []
    assert problems_against({"patternProperties": {pattern: False}}, {missing: 1}) == []


@pytest.mark.parametrize(
    "pattern, problem",
    [
        (r"\p{Script=Greek}", "names the Unicode property 'Script=Greek'; only general categories"),
        (r"[\p{Leter}]", 'Did you mean "Letter"?'),
        ("[a", "is not a regular expression"),
        ("(", "is not a regular expression"),
        (r"\u{110000}", "is not a regular expression"),
        ("(?<=a+)b", "is not a regular expression: look-behind requires fixed-width pattern"),
        (r"\p{L}" * 6, "large ranges"),
    ],
)
def test_what_cannot_be_read_is_refused_in_the_words_of_its_author(pattern: str, problem: str) -> None:
    with pytest.raises(PatternError) as refused:
        compiled_pattern(pattern)
    assert problem in str(refused.value)
    assert "(?a:" not in str(refused.value)


def test_messages_show_the_pattern_as_it_is_written() -> None:
    assert problems_against({"pattern": r"^\p{Lu}$"}, "a") == [r'the value must match "^\\p{Lu}$", not "a"']


def test_a_translated_pattern_still_takes_bounded_time() -> None:
    assert not compiled_pattern(r"^(\p{L}+\s?)+!$").search("word " * 4_000)


def test_plain_patterns_stay_readable() -> None:
    assert as_python("^[a-z]+(foo|bar){2,3}") == "(?a:^[a-z]+(foo|bar){2,3})"
