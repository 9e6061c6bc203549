"""What a server sent, made readable: bytes to text, HTML to Markdown or plain text.

Rules: nothing a reader would see is lost, it is only put in order: the main text comes first, what stands
around it after. Work and memory grow with the size of the page alone, whatever is in it.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from turbohtml import Document, Element, Markdown

Format = Literal["text", "markdown", "html"]

LONGEST_TITLE: Final = 300
AROUND: Final = "\n\n---\n\nAround the main text:\n\n"
"""What stands between the main text of a page and the rest of it."""

# The encodings of the web, by Python's name for them, and the codec that reads what is labelled so: pages
# say Latin-1 and mean Windows-1252. Any other label is one no browser knows; some of Python's codecs
# (punycode, unicode_escape) are no encodings of pages at all.
_CODECS: Final = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
    "iso8859-11": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
    **{
        name: name
        for name in (
            *("utf-8", "utf-16-le", "utf-16-be", "gb18030", "big5hkscs", "euc_jp", "iso2022_jp", "cp932", "cp949"),
            *("koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "cp866", "cp874"),
            *(f"cp125{number}" for number in range(9)),
            *(f"iso8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
        )
    },
}
_MARKS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DECLARED: Final = re.compile(
    rb"""<meta\s[^>]{0,300}?charset\s*=\s*["']?\s*([\w.:-]{1,40})|<\?xml\s[^>]{0,100}?encoding\s*=\s*["']([\w.:-]{1,40})""",
    re.IGNORECASE,
)
_PRESCAN: Final = 2048


def decode(data: bytes, charset: str | None) -> str:
    """The text of a page: a byte order mark decides, then what the server said, then what the page says of itself.

    What says nothing is UTF-8 if that is what it looks like, else Windows-1252. Bytes that mean nothing are U+FFFD.
    """
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(codec, "replace")
    codec = _codec(charset) or _declared(data) or _sniffed(data)
    return data.decode(codec, "replace")


def _codec(label: str | None) -> str | None:
    if not label or not label.isascii() or "\0" in label:
        return None
    try:
        return _CODECS.get(codecs.lookup(label.strip()).name)
    except LookupError:
        return None


def _declared(data: bytes) -> str | None:
    found = _DECLARED.search(data[:_PRESCAN])
    codec = _codec((found[1] or found[2]).decode("ascii", "replace")) if found else None
    # A page that could be read this far is not in UTF-16, whatever it says.
    return "utf-8" if codec and codec.startswith("utf-16") else codec


def _sniffed(data: bytes) -> str:
    from dragoman.tools.workspace.text import sniff

    encoding = sniff(data)
    return "cp1252" if encoding is not None and encoding.codec in ("cp1252", "latin-1") else "utf-8"


class PageText(NamedTuple):
    """A page's title, if it has one, and its text in the format asked for."""

    title: str | None
    text: str


def read_html(html: str, url: str, format: Format, *, rendered: bool = False) -> PageText:
    """A page as a reader sees it; `html` gives it as it was served. `rendered` says that its scripts have run."""
    import turbohtml

    document = turbohtml.parse(html, positions=False, scripting=rendered)
    title = _title(document)
    if format == "html":
        return PageText(title, html)
    document.remove(_UNSEEN_RENDERED if rendered else _UNSEEN)
    if format == "markdown":
        _fix_links(document, url)
        _plain_spans(document)
    options = _options(format, deep=_quoting(html) > _DEEPEST_QUOTE)
    parts: list[Document | Element] = [document]
    main = _main(document)
    if main is not None:
        # turbohtml 1.15.4 ends the process for a node without a parent that is not a block and holds white space alone.
        parts.insert(0, main.wrap(turbohtml.Element("div")).extract())
    text = AROUND.join(filter(None, (part.to_markdown(options) for part in parts)))
    return PageText(title, _LINE_END.sub("\n", text) if format == "text" else text)


_UNSEEN: Final = ",".join(
    (
        *("script", "style", "template", "title"),
        '[hidden]:not([hidden="until-found" i])',
        *(f'[style*="{style}" i]' for style in ("display:none", "display: none")),
        *(f'[style*="{style}" i]' for style in ("visibility:hidden", "visibility: hidden")),
    )
)
_UNSEEN_RENDERED: Final = f"{_UNSEEN},noscript"

# Two spaces at the end of a line are Markdown for a line break.
_LINE_END: Final = re.compile(r"(?<! ) +\n")

# Every level of quoting is repeated on every line: a page of line breaks in a hundred quotes is no page of anybody's.
_DEEPEST_QUOTE: Final = 6
_QUOTE_TAG: Final = re.compile(r"<(/?)blockquote\b", re.IGNORECASE)


def _quoting(html: str) -> int:
    deepest = depth = 0
    for tag in _QUOTE_TAG.finditer(html):
        depth = max(0, depth - 1) if tag[1] else depth + 1
        deepest = max(deepest, depth)
    return deepest


def _options(format: Format, *, deep: bool) -> Markdown:
    from turbohtml import Markdown

    if format == "markdown":
        return Markdown(tables=Markdown.Tables(cell_blocks="text"), strip=("blockquote",) if deep else None)
    return Markdown(
        inline=Markdown.Inline(ignore_emphasis=True),
        links=Markdown.Links(ignore=True),
        images=Markdown.Images(mode="alt"),
        # The library's own plain text pads every column, which makes a wide table larger than memory.
        tables=Markdown.Tables(mode="strip"),
        escaping=Markdown.Escaping(mode="none", asterisks=False, underscores=False),
        strip=("h1", "h2", "h3", "h4", "h5", "h6", "code", "kbd", "samp", "tt", "blockquote"),
    )


def _title(document: Document) -> str | None:
    element = document.find("title")
    words = " ".join(element.text[: LONGEST_TITLE * 10].split()) if element is not None else ""
    return shortened(words, LONGEST_TITLE) or None


def shortened(text: str, limit: int) -> str:
    """Text of at most `limit` characters; what was cut is marked."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _main(document: Document) -> Element | None:
    """The one element that says it is the main text. Guessing would put a page out of its order."""
    for selector in ('main,[role="main"]', "article"):
        found = document.select(selector)
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _fix_links(document: Document, url: str) -> None:
    """Links as a reader elsewhere can use them: absolute, without scripts, without the bytes of pictures."""
    from urllib.parse import urljoin

    base_element = document.select_one("base[href]")
    base = _joined(urljoin, url, str(base_element.attrs.get("href") or "")) if base_element is not None else url
    if not base.startswith(("http://", "https://")):
        base = url
    document.strip_tags('a[href^="javascript:" i]')

    @lru_cache(maxsize=10_000)
    def fixed(link: str) -> str:
        if link[:5].lower() == "data:":
            return shortened(link.partition(",")[0].partition(";")[0], 100)
        return _joined(urljoin, base, link)

    document.rewrite_links(fixed)


def _joined(join: Callable[[str, str], str], base: str, link: str) -> str:
    try:
        return join(base, link)
    except ValueError:
        return link


# What is said in a table that stays HTML; of code blocks also the language, which stands in their class.
_SAID: Final = frozenset({"alt", "colspan", "href", "rowspan", "src", "start", "title"})


def _plain_spans(document: Document) -> None:
    """Tables with joined cells have no Markdown and stay HTML: then without what only a browser needs."""
    if document.select_one("td[colspan],td[rowspan],th[colspan],th[rowspan]") is None:
        return
    # All elements, not those of each table: tables within tables would be gone through again and again.
    for element in document.select("*"):
        said = _SAID | {"class"} if element.tag in ("pre", "code") else _SAID
        for name in [name for name in element.attrs if name not in said]:
            del element.attrs[name]
