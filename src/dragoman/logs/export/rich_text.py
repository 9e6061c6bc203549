"""What people and models say, as HTML: Markdown rendered, code in its colours.

Rules: HTML in the text stays text. A link leads to http, https or mailto and nowhere else, a picture is a link, and
nothing is loaded. What would take long to render is shown as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from html import escape
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from pygments.lexer import Lexer

# Control characters but for line breaks and tabs, what turns the direction of text, invisible marks, tags and lone
# surrogates: the same that the command line never prints as they are.
_STEERING: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_LONGEST_MARKDOWN: Final = 100_000
_MOST_BRACKETS: Final = 2_000
"""Every opening bracket may begin a link, and what follows it is looked at for its end."""
_LONGEST_CODE: Final = 20_000
"""Characters that are highlighted at most; a highlighter works with regular expressions, whose time may grow fast."""
SAFE_LINK: Final = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_FIRST_HEADING: Final = 3
"""Headings of the page are above those in what is said."""


def visible(text: str) -> str:
    """Text from anywhere in which nothing steers who shows it: control characters are written out, as `\\x1b`."""
    return _STEERING.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def plain(text: str) -> str:
    """Text from anywhere as it may stand between tags and in a quoted attribute."""
    return escape(visible(text), quote=True)


def rendered(text: str) -> str:
    """Markdown as HTML."""
    text = visible(text)
    if len(text) > _LONGEST_MARKDOWN or text.count("[") > _MOST_BRACKETS:
        return f'<div class="words">{escape(text)}</div>'
    try:
        return str(_markdown().render(text))
    except RecursionError:  # brackets or quotes nested deeper than the stack is
        return f'<div class="words">{escape(text)}</div>'


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML

    class Renderer(RendererHTML):
        def image(self, tokens: Sequence[Any], idx: int, options: Any, env: Any) -> str:
            token = tokens[idx]
            address, words = str(token.attrGet("src") or ""), token.content or "picture"
            if not SAFE_LINK.match(address):
                return f"[{escape(words)}]"
            return f'<a href="{escape(address)}" rel="noreferrer noopener nofollow">{escape(words)}</a>'

        def link_open(self, tokens: Sequence[Any], idx: int, options: Any, env: Any) -> str:
            address = str(tokens[idx].attrGet("href") or "")
            if not SAFE_LINK.match(address):
                return f'<a title="{escape(address)}">'  # a path, or a place in a page that is not here
            return f'<a href="{escape(address)}" rel="noreferrer noopener nofollow">'

        def heading_open(self, tokens: Sequence[Any], idx: int, options: Any, env: Any) -> str:
            return f"<{_heading(tokens[idx].tag)}>"

        def heading_close(self, tokens: Sequence[Any], idx: int, options: Any, env: Any) -> str:
            return f"</{_heading(tokens[idx].tag)}>\n"

        def fence(self, tokens: Sequence[Any], idx: int, options: Any, env: Any) -> str:
            language = tokens[idx].info.split(maxsplit=1)[0] if tokens[idx].info.strip() else ""
            return _pre(tokens[idx].content, language=language)

        def code_block(self, tokens: Sequence[Any], idx: int, options: Any, env: Any) -> str:
            return _pre(tokens[idx].content)

        def th_open(self, tokens: Sequence[Any], idx: int, options: Any, env: Any) -> str:
            return "<th>"  # alignment is an inline style, which the policy of the page refuses

        def td_open(self, tokens: Sequence[Any], idx: int, options: Any, env: Any) -> str:
            return "<td>"

        def ordered_list_open(self, tokens: Sequence[Any], idx: int, options: Any, env: Any) -> str:
            start = tokens[idx].attrGet("start")
            return "<ol>\n" if start is None else f'<ol start="{int(start)}">\n'

    made = MarkdownIt("commonmark", {"html": False}, renderer_cls=Renderer)
    return made.enable(["table", "strikethrough"])


def _heading(tag: str) -> str:
    return f"h{min(6, int(tag[1:]) + _FIRST_HEADING - 1)}"


def _pre(text: str, *, language: str = "") -> str:
    return f'<pre tabindex="0"><code>{coloured(text.rstrip(chr(10)), language=language)}</code></pre>\n'


def coloured(text: str, *, language: str = "", path: str = "") -> str:
    """Code as HTML, in the colours of its language where that is known by its name or by the file's."""
    text = visible(text)
    lexer = _lexer(language.lower()[:40], path.rpartition("/")[2][-60:]) if len(text) <= _LONGEST_CODE else None
    if lexer is None:
        return escape(text)
    from pygments.token import STANDARD_TYPES

    parts = []
    for _, kind, piece in lexer.get_tokens_unprocessed(text):
        while kind not in STANDARD_TYPES:
            kind = kind.parent
        name = _COLOURS.get(STANDARD_TYPES[kind][:1], "")
        parts.append(f'<i class="{name}">{escape(piece)}</i>' if name else escape(piece))
    return "".join(parts)


_COLOURS: Final = {"k": "k", "s": "s", "c": "c", "m": "m", "n": "", "o": "", "p": "", "g": "", "l": "s"}
"""The first letter of a kind of token → its class: keyword, string, comment, number. Names stay as they are."""
_LANGUAGES: Final = frozenset(
    [
        "python",
        "py",
        "bash",
        "sh",
        "shell",
        "console",
        "json",
        "yaml",
        "yml",
        "toml",
        "ini",
        "javascript",
        "js",
        "jsx",
        "typescript",
        "ts",
        "tsx",
        "html",
        "css",
        "sql",
        "rust",
        "rs",
        "go",
        "c",
        "cpp",
        "c++",
        "java",
        "kotlin",
        "ruby",
        "rb",
        "php",
        "lua",
        "swift",
        "scala",
        "r",
        "make",
        "makefile",
        "dockerfile",
        "diff",
        "xml",
        "markdown",
        "md",
    ]
)
_ENDINGS: Final = {
    "py": "python",
    "sh": "bash",
    "json": "json",
    "yaml": "yaml",
    "yml": "yaml",
    "toml": "toml",
    "js": "javascript",
    "ts": "typescript",
    "tsx": "tsx",
    "jsx": "jsx",
    "html": "html",
    "css": "css",
    "sql": "sql",
    "rs": "rust",
    "go": "go",
    "c": "c",
    "h": "c",
    "cpp": "cpp",
    "java": "java",
    "kt": "kotlin",
    "rb": "ruby",
    "php": "php",
}


@lru_cache(maxsize=256)
def _lexer(language: str, file: str) -> Lexer | None:
    language = language or _ENDINGS.get(file.rpartition(".")[2].lower(), "")
    if language not in _LANGUAGES:
        return None
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None
