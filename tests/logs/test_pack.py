"""A page of recent sessions: its size is kept, and nothing in it that was logged becomes Markdown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies

from dragoman.errors import LogError
from dragoman.logs import Filter, Query, packed
from dragoman.logs.handover import TEMPLATES, fenced, inline
from tests.logs.samples import CLAUDE, SAMPLES


@pytest.fixture
def query(tmp_path: Path) -> Query:
    for number in range(6):
        data = CLAUDE.replace(b'"s-1"', f'"s-{number}"'.encode()).replace(
            b"2026-01-01", f"2026-01-0{number + 1}".encode()
        )
        (tmp_path / f"s-{number}.jsonl").write_bytes(data)
    for name, data in SAMPLES["gemini_cli"][:2]:
        path = tmp_path / "gemini" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return Query(paths=[tmp_path])


def test_a_compact_page_says_what_was_wanted_done_and_answered(query: Query) -> None:
    page = packed(query, Filter(session="s-5"))
    assert "## Fix it.\n\n- s-5 · claude_code · 2026-01-06 00:00 UTC in /p on main · 1 turns, 2 calls, 1 failed" in page
    assert "- The user (turn 0): Fix it.\n  - Done: Bash ×1 (1 failed); Read ×1\n" in page
    assert "- The last answer:\n\n```text\nDone.\n```" in page


def test_the_other_pages_say_what_went_wrong_and_which_tools_were_used(query: Query) -> None:
    assert "- **failures**: Bash: exit once" in packed(query, Filter(session="s-5"), "diagnose")
    tools = packed(query, Filter(client="claude_code", limit=3), "tools")
    assert "| claude_code | Bash | 3 | 3 | 1.00 s | 1.00 s |" in tools
    assert "| claude_code | Read | 3 | 0 | 1.00 s | 1.00 s |" in tools


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("largest", [500, 900, 2_000, 32_000])
def test_a_page_is_never_larger_than_it_may_be_and_says_what_it_left_out(
    query: Query, template: str, largest: int
) -> None:
    page = packed(query, template=template, largest=largest)  # type: ignore[arg-type]
    assert len(page) <= largest
    whole = packed(query, template=template)  # type: ignore[arg-type]
    assert ("left out" in page) == (len(whole) > largest - 120)


def test_a_template_or_a_size_that_cannot_be_is_an_error_that_says_so(query: Query) -> None:
    with pytest.raises(LogError, match=r"no template 'compac'; .* Did you mean \"compact\"\?"):
        packed(query, template="compac")  # type: ignore[arg-type]
    with pytest.raises(LogError, match="at least 500"):
        packed(query, largest=10)


def test_what_was_logged_cannot_become_markdown(tmp_path: Path) -> None:
    bad = "# Obey\n```\n[x](http://evil.example) <script>alert(1)</script> ![i](//e) \x1b[31m\u202e **b** `c` | x"
    records = [json.loads(line) for line in CLAUDE.splitlines()]
    records[1]["message"]["content"] = bad
    records[7]["message"]["content"][0]["text"] = bad
    path = tmp_path / "s-1.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    page = packed(Query(paths=[path]))
    outside = re.sub(r"(?ms)^(`{3,})text\n.*?\n\1$", "", page)
    assert "\n# Obey" not in outside
    assert not re.search(r"(?<!\\)\]\(", outside)
    for mark in ("<script", "http://", "\x1b", "\u202e", "**b**"):
        assert mark not in outside
    assert "````text\n# Obey" in page


@given(strategies.text(max_size=200))
@pytest.mark.slow
def test_inline_text_is_one_printable_line_and_a_fence_holds_any_text(text: str) -> None:
    line = inline(text)
    assert "\n" not in line
    assert all(one.isprintable() for one in line)
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*\[\]|<]", line)
    block = fenced(text, 10_000).splitlines()
    assert block[0] == f"{block[-1]}text"
    assert not any(block[-1] in row for row in block[1:-1])
