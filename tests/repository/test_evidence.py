"""Comments on what a client or a provider does say where that was seen: a version, a recording, a document.

What is looked at, and what is not:

- a comment (and a text below a constant) that speaks of a client, in every room that repeats what clients do;
- a docstring outside a client's own modules that names a client;
- a comment on a provider, by its name, in the rooms of the APIs;
- the first docstring of every vocabulary and of every log format, which also holds for the comments below it that
  speak of neither.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
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
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?")
_EVIDENCE = re.compile(
    r"\d+\.\d+"  # a version
    r"|[Rr]ecord(?:ed|ing)|[Dd]ocument(?:ation|ed)|API reference|\bpages? on\b|[Mm]igration guide|\bSDK\b|\btypes of\b"
    r"|public(?:ly| source)|published|[Ss]amples?\b|session in the tests|sessions? of \w+ \d{4}"
    r"|API's (?:own )?messages?|\w#\d+"  # an issue of a project
    r"|no (?:session|home)[^.]* (?:shows|has) "  # nothing was found, and that is said
    r"|\"[^\"]{6,}\""  # the words themselves
)


def texts(path: Path) -> Iterator[tuple[int, str]]:
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
    yield from ((first, text) for first, _, text in joined if not text.startswith(("──", "--", "noqa")))
    for before, node in pairwise(ast.parse(path.read_bytes()).body):
        text_below = _text(node)
        if isinstance(before, ast.Assign | ast.AnnAssign) and text_below is not None:
            yield node.lineno, text_below


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings of functions and classes."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            text = ast.get_docstring(node)
            if text is not None:
                yield node.lineno, " ".join(text.split())


def first_docstring(path: Path) -> str:
    return " ".join((ast.get_docstring(ast.parse(path.read_bytes())) or "").split())


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


def unproved(found: Iterator[tuple[Path, int, str]], about: re.Pattern[str]) -> list[str]:
    """Those of the texts that are about something and say nothing of where it was seen.

    A module that names one version, and no other, was seen with that.
    """
    return [
        f"{path.relative_to(SOURCE)}:{line}: {text}"
        for path, line, text in found
        if about.search(text) and not _EVIDENCE.search(text) and len(_versions(path)) != 1
    ]


def _versions(path: Path) -> set[str]:
    return set(_VERSION.findall(first_docstring(path)))


def test_a_comment_on_a_client_says_where_it_was_seen() -> None:
    everywhere = modules("dialects", "logs/formats", "tools", "serve/hook")
    assert unproved(((path, *one) for path in everywhere for one in texts(path)), _ON_A_CLIENT) == []


def test_a_docstring_that_names_a_client_elsewhere_says_where_it_was_seen() -> None:
    elsewhere = modules("dialects/base", "tools")
    assert unproved(((path, *one) for path in elsewhere for one in docstrings(path)), _NAMED) == []


def test_a_comment_on_a_provider_says_where_it_was_seen() -> None:
    assert unproved(((path, *one) for path in modules("apis") for one in texts(path)), _ON_A_PROVIDER) == []


def test_every_vocabulary_and_log_format_says_which_versions_it_was_seen_with() -> None:
    assert [
        str(path.relative_to(SOURCE))
        for path in clients_modules("dialects", "logs/formats")
        if not _EVIDENCE.search(first_docstring(path))
    ] == []


def test_the_rule_tells_a_bare_claim_from_one_with_evidence() -> None:
    bare = ("the client prints no empty line", "Codex and opencode begin so", "older clients did not say it")
    proved = (
        "the client prints no empty line (1.0.102)",
        "Codex begins so (public source)",
        "no session shows that the client has it",
    )
    assert [bool(_ON_A_CLIENT.search(text)) and not _EVIDENCE.search(text) for text in bare + proved] == [
        *[True] * 3,
        *[False] * 3,
    ]
