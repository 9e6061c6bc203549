"""Comments on what a client or a provider does say with which version that was seen, or when, or who wrote it down.

What is looked at, and what is not:

- a comment (and a text below a constant) that names a client or a provider, in every module;
- one that speaks of "the client", in every room that repeats what clients do;
- a docstring that tells versions of a client apart, in these rooms, and one in what all clients share that names one;
- the first docstring of every vocabulary and of every log format, which also holds for the comments below it that
  speak of neither. Where it names one version alone, all of the module was seen with that.

A provider's API has a version seldom: there the words of its message, or the page of its documentation, are as good.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "dragoman"
OURS = {"__init__.py", "base", "plain.py", "plugins", "translation.py", "zai.py", "dragoman.py", "parts"}
"""What is in a folder of clients' modules and is no single client's."""
_NAMES = (
    r"Claude Code|Codex|Gemini CLI|Qwen Code|Copilot(?: CLI)?|Cline|opencode|Kilo|Roo Code|Kimi Code|droid|Goose"
    r"|OpenHands|Mistral Vibe|Cursor|Amp|aider|SWE-agent"
)
_ON_A_CLIENT = re.compile(
    r"\b(?:the client(?!'s)|(?:some|newer|older|first) (?:versions|clients)"
    rf"|clients (?:give|log|print|do|have|read|write)|{_NAMES})\b"
)
_NAMED = re.compile(rf"\b(?:{_NAMES})\b")
_ON_A_PROVIDER = re.compile(
    r"\b(?:Anthropic|Azure|Bedrock|DeepSeek|Google|Groq|llama\.cpp|Mistral|Moonshot|Ollama|OpenAI|OpenRouter|Together"
    r"|Vertex|xAI|Z\.ai)\b|\b(?:some|most) (?:providers|servers|vendors)\b"
)
_ON_VERSIONS = re.compile(
    r"\b(?:some|newer|older|first|earlier|later) (?:versions|clients)\b|\bpublic source\b|\bpublished\b"
)
_LABEL = re.compile(r"(?:[A-Z][\w.]*(?:, | and |, …)?)+")
"""Names and nothing else, which claim nothing."""
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?")
_SEEN = (
    r"\d+\.\d+"  # a version
    r"|20[12]\d"  # a year, with its month or without, or a version that is a date
    r"|\w#\d+"  # an issue of a project
    r"|no (?:session|home)[^.]* (?:shows|has) "  # nothing was found, and that is said
)
EVIDENCE = re.compile(_SEEN)
EVIDENCE_OF_AN_API = re.compile(
    rf'{_SEEN}|"[^"]{{12,}}"|\b[Pp]ages? on\b|\b[Gg]uides? o[nf]\b|\bAPI reference\b|\b[Rr]eference of\b'
)


@cache
def texts(path: Path) -> list[tuple[int, str]]:
    """Comments and the texts below constants, with their line; comments on lines of their own in a row are one."""
    with path.open("rb") as file:
        found = [token for token in tokenize.tokenize(file.readline) if token.type == tokenize.COMMENT]
    joined: list[tuple[int, int, str]] = []
    for token in found:
        line, text = token.start[0], token.string.removeprefix("#").strip()
        is_alone = token.line.lstrip().startswith("#")
        if is_alone and joined and joined[-1][1] == line - 1:
            joined[-1] = joined[-1][0], line, f"{joined[-1][2]} {text}"
        else:
            joined.append((line, line, text))
    alone = [(first, text) for first, _, text in joined if not text.startswith(("──", "--", "noqa"))]
    below = (
        (node.lineno, _text(node))
        for before, node in pairwise(parsed(path).body)
        if isinstance(before, ast.Assign | ast.AnnAssign)
    )
    return [*alone, *((line, text) for line, text in below if text is not None)]


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings of functions and classes."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            text = ast.get_docstring(node)
            if text is not None:
                yield node.lineno, " ".join(text.split())


def first_docstring(path: Path) -> str:
    return " ".join((ast.get_docstring(parsed(path)) or "").split())


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


def clients_modules(*folders: str) -> Iterator[Path]:
    """The module of each vocabulary or log format; of a package its door."""
    for folder in folders:
        for entry in sorted((SOURCE / folder).iterdir()):
            if entry.name not in OURS and not entry.name.startswith("__"):
                yield entry if entry.suffix == ".py" else entry / "__init__.py"


def modules(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((SOURCE / folder).rglob("*.py"))


def _text(node: ast.stmt) -> str | None:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return " ".join(node.value.value.split())
    return None


def unproved(
    found: Iterator[tuple[Path, int, str]], about: re.Pattern[str], evidence: re.Pattern[str] = EVIDENCE
) -> list[str]:
    """Those of the texts that are about something and do not say with what, or when, it was seen."""
    return [
        f"{path.relative_to(SOURCE)}:{line}: {text}"
        for path, line, text in found
        if about.search(text) and not evidence.search(text) and not _LABEL.fullmatch(text) and len(_versions(path)) != 1
    ]


def _versions(path: Path) -> set[str]:
    return set(_VERSION.findall(first_docstring(path)))


def test_a_comment_that_names_a_client_says_with_which_version_it_was_seen() -> None:
    assert unproved(((path, *one) for path in modules(".") for one in texts(path)), _NAMED) == []


def test_a_comment_on_the_client_says_with_which_version_it_was_seen() -> None:
    everywhere = modules("dialects", "logs/formats", "tools", "serve/hook")
    assert unproved(((path, *one) for path in everywhere for one in texts(path)), _ON_A_CLIENT) == []


def test_a_docstring_on_versions_of_a_client_says_which() -> None:
    everywhere = modules("dialects", "logs/formats", "serve/hook")
    assert unproved(((path, *one) for path in everywhere for one in docstrings(path)), _ON_VERSIONS) == []


def test_a_docstring_that_names_a_client_elsewhere_says_with_which_version_it_was_seen() -> None:
    elsewhere = modules("dialects/base", "tools")
    assert unproved(((path, *one) for path in elsewhere for one in docstrings(path)), _NAMED) == []


def test_a_comment_on_a_provider_says_where_it_was_seen() -> None:
    found = ((path, *one) for path in modules(".") for one in texts(path))
    assert unproved(found, _ON_A_PROVIDER, EVIDENCE_OF_AN_API) == []


def test_a_docstring_on_a_provider_says_where_it_was_seen() -> None:
    found = ((path, *one) for path in modules("apis") for one in docstrings(path))
    assert unproved(found, _ON_A_PROVIDER, EVIDENCE_OF_AN_API) == []


def test_every_vocabulary_and_log_format_says_which_versions_it_was_seen_with() -> None:
    assert [
        str(path.relative_to(SOURCE))
        for path in clients_modules("dialects", "logs/formats")
        if not EVIDENCE.search(first_docstring(path))
    ] == []


def test_the_rule_tells_a_bare_claim_from_one_with_evidence() -> None:
    bare = (
        "the client prints no empty line",
        "Codex and opencode begin so",
        "older clients did not say it",
        "Amp keeps it elsewhere (public source)",
        'Codex says "there is no such file or folder"',
    )
    proved = (
        "the client prints no empty line (1.0.102)",
        "Codex begins so (public source of March 2026)",
        "no session shows that the client has it",
        "Claude Code cuts lines (claude-code#50347)",
    )
    assert [bool(_ON_A_CLIENT.search(text)) and not EVIDENCE.search(text) for text in bare + proved] == [
        *[True] * len(bare),
        *[False] * len(proved),
    ]
    of_apis = (
        ("recorded at Together", "documented by Mistral"),
        (
            "recorded at Together in June 2024",
            'Gemini: "Unsupported MIME type"',
            "Anthropic's page on vision",
        ),
    )
    assert [bool(EVIDENCE_OF_AN_API.search(text)) for text in (*of_apis[0], *of_apis[1])] == [False] * 2 + [True] * 3
