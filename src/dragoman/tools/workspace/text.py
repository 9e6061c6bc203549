"""Files as text: which encoding their bytes are in, and text that keeps its line ends while it is edited.

Rule: bytes that nobody touched are written back as they were, whatever they mean. A line ends
with "\\n" or "\\r\\n"; a lone "\\r" is a character like any other.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from dragoman.errors import ToolError
from dragoman.model.edit_rules import EXACT, ByteOrderMark, EditRules, WholeFileRules

# Longest first: the mark of UTF-32 begins with the mark of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le", "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16-be"),
)
MARKS = tuple(mark for mark, _, _ in _MARKS)
"""The byte order marks."""
_SNIFFED = 8192
_TEXT_BYTES = bytes([*b"\b\t\n\v\f\r\x1b", *range(0x20, 0x7F), *range(0x80, 0x100)])
_STRAY = re.compile("[\ud800-\udfff]")


class Encoding(NamedTuple):
    """How text became bytes: a codec, and the mark that stands before it."""

    name: str
    codec: str
    mark: bytes = b""

    @property
    def errors(self) -> str:
        """Bytes that are not UTF-8 travel through the text as lone surrogates and come out unchanged."""
        return "surrogateescape" if self.codec in ("utf-8", "ascii") else "strict"


UTF_8 = Encoding("utf-8", "utf-8")


def sniff(data: bytes, *, whole: bool = True) -> Encoding | None:
    """The encoding of a file by its bytes, or by its beginning (`whole=False`); `None` when it is not text.

    A byte order mark decides; a NUL without one means binary. Otherwise it is UTF-8 if it decodes,
    or if more of its characters do than do not (a log with stray bytes); else Windows-1252, or
    Latin-1 for bytes that has no characters for.
    """
    for mark, name, codec in _MARKS:
        if data.startswith(mark):
            encoding = Encoding(name, codec, mark)
            return encoding if codec == "utf-8" or _decodes(data[len(mark) :], codec, whole=whole) else None
    if b"\0" in data[:_SNIFFED]:
        return None
    if _decodes(data, "utf-8", whole=whole):
        return UTF_8
    if data.translate(None, _TEXT_BYTES):
        return None
    text = data.decode("utf-8", "surrogateescape")
    strays = len(_STRAY.findall(text))
    if len(text) - strays - len(data.translate(None, bytes(range(0x80, 0x100)))) >= strays:
        return UTF_8
    return Encoding("cp1252", "cp1252") if _decodes(data, "cp1252", whole=True) else Encoding("latin-1", "latin-1")


def _decodes(data: bytes, codec: str, *, whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder(codec)().decode(data, whole)
    except UnicodeDecodeError:
        return False
    return True


def decode(data: bytes) -> tuple[str, Encoding] | None:
    """The text of a file as it stands, line ends and all, and its encoding; `None` when it is binary.

    Bytes that are not UTF-8 are lone surrogates in it: show it to nobody but through `printable`.
    """
    if not data.startswith(MARKS) and b"\0" not in data[:_SNIFFED]:
        try:
            return data.decode(), UTF_8  # what `sniff` would say, without decoding it twice
        except UnicodeDecodeError:
            pass
    encoding = sniff(data)
    return encoding and (data[len(encoding.mark) :].decode(encoding.codec, encoding.errors), encoding)


_SEVERAL_STRAYS = re.compile(rb"[\x80-\xff]{3}")
_CONTROLS = re.compile(rb"[\x80-\x9f]")


def decode_for_sure(data: bytes) -> tuple[str, Encoding] | None:
    """As `decode`, where a text in an encoding that is only guessed must take no character that it may lack.

    A file with none of the characters that Windows-1252 has and ISO-8859-1 lacks is in ISO-8859-1. Where bytes beyond
    ASCII stand together, as in Cyrillic or Asian text, nobody knows what they mean: nothing but ASCII can be added.
    """
    decoded = decode(data)
    if decoded is None or decoded[1].codec not in ("cp1252", "latin-1"):
        return decoded
    if _SEVERAL_STRAYS.search(data):
        return data.decode("ascii", "surrogateescape"), Encoding("an encoding that is not known", "ascii")
    if _CONTROLS.search(data):
        return decoded
    return data.decode("latin-1"), Encoding("ISO-8859-1", "latin-1")


def encode(text: str, encoding: Encoding) -> bytes:
    """The inverse of `decode`."""
    try:
        return encoding.mark + text.encode(encoding.codec, encoding.errors)
    except UnicodeEncodeError as error:
        character = text[error.start]
        raise ToolError(
            f"the file is in {encoding.name}, which has no {character!r} (U+{ord(character):04X}); "
            "use other characters, or convert the file to UTF-8 first",
            details={"reason": "encoding", "encoding": encoding.name},
        ) from None


def with_mark(text: str, encoding: Encoding) -> tuple[str, Encoding]:
    """A text with the byte order mark of its UTF-8 as its first character."""
    if not encoding.mark or encoding.codec != "utf-8":
        return text, encoding
    return f"\ufeff{text}", encoding._replace(mark=b"")


def without_second_mark(text: str, encoding: Encoding, mark: ByteOrderMark) -> str:
    """An edited text without the byte order marks that the rules do not write again."""
    if mark == "one":
        rest = text.removeprefix("\ufeff").removeprefix("\ufeff")  # as opencode 1.18.33 does
        return rest if encoding.mark or rest == text else f"\ufeff{rest}"
    twice = mark == "kept" or (mark == "not_twice_in_utf_8" and encoding.codec != "utf-8")
    return text if twice or mark == "text" or not encoding.mark else text.removeprefix("\ufeff")


def encoded(text: str) -> bytes:
    """Text from a model as UTF-8; half a surrogate pair is no text."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(
            f"the text cannot be written: character {error.start} is half of a surrogate pair", kind="invalid_arguments"
        ) from None


def printable(text: str) -> str:
    """Text that can be shown and stored: what was no text in the file is U+FFFD."""
    return text if text.isascii() else _STRAY.sub("\ufffd", text)


def binary(path: str, data: bytes, size: int | None = None) -> ToolError:
    """The file is not text: say what it is."""
    from .media import describe

    return ToolError(
        f'"{path}" is a binary file ({describe(data)}, {len(data) if size is None else size:,} bytes), not text',
        details={"reason": "binary", "path": path, "size": len(data) if size is None else size},
    )


def most_common_end(text: str) -> str:
    """The line end that most lines have; of LF and another as often, LF; of CRLF and CR, CRLF."""
    crlf = text.count("\r\n")
    lf, cr = text.count("\n") - crlf, text.count("\r") - crlf
    if cr > max(crlf, lf):
        return "\r"
    return "\r\n" if crlf > lf else "\n"


def rewritten(before: bytes | None, content: str, path: str, rules: EditRules = EXACT) -> bytes:
    """`content` as the whole of a file, with what the rules keep of the one that was there (`None`: none was)."""
    encoded(content)
    whole = rules.whole_file
    check_encoding(before, path, rules, whole=True)
    newline = "\r\n" if "\r\n" in content else "\n"
    ends = whole.ends_with_newline == "always" or (whole.ends_with_newline == "new" and before is None)
    if ends and not content.endswith("\n"):
        content += newline
    decoded = _decoded_by(before or b"", rules)
    if decoded is None:
        return encoded(content)
    text, encoding = decoded
    content = _with_line_ends(content, text, whole)
    content, encoding = _with_mark_of(content, encoding, whole.byte_order_mark)
    try:
        return encode(content, encoding)
    except ToolError:
        if rules.encoding != "any":
            raise
        return encoded(content)


def _decoded_by(data: bytes, rules: EditRules) -> tuple[str, Encoding] | None:
    if rules.encoding == "utf_8":
        return _as_utf_8(data)
    return decode_for_sure(data) if rules.encoding == "that_fits" else decode(data)


def _as_utf_8(data: bytes) -> tuple[str, Encoding]:
    """A file as those see it who take all files for UTF-8."""
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    return data[len(mark) :].decode("utf-8", "surrogateescape"), UTF_8._replace(mark=mark)


def _with_line_ends(content: str, before: str, rules: WholeFileRules) -> str:
    """A whole file's text with the line ends that the rules give it."""
    has_crlf = "\r\n" in content
    match rules.line_ends:
        case "if_all" if not has_crlf and 0 < before.count("\n") == before.count("\r\n"):
            return content.replace("\n", "\r\n")
        case "any" if "\r\n" in before:
            return content.replace("\r\n", "\n").replace("\n", "\r\n")
        case "most" if not has_crlf and (newline := most_common_end(before)) != "\n":
            return content.replace("\r", "\n").replace("\n", newline)
    return content


def _with_mark_of(content: str, encoding: Encoding, rule: ByteOrderMark) -> tuple[str, Encoding]:
    """A whole file's text and its encoding, with the byte order mark before it that the rules keep."""
    if rule in ("text", "text_once") or (rule == "not_alone" and not content):
        unmarked = encoding._replace(mark=b"")
        return without_second_mark(content, unmarked, "one" if rule == "text_once" else "text"), unmarked
    return without_second_mark(content, encoding, rule), encoding


def check_encoding(data: bytes | None, path: str, rules: EditRules, *, whole: bool = False) -> None:
    """Refuse a file in an encoding that the rules do not write."""
    if not data or rules.encoding in ("any", "that_fits") or (whole and rules.encoding == "utf_8"):
        return
    encoding = sniff(data)
    if encoding is None:
        raise binary(path, data)
    if (encoding.codec == "utf-8" and _decodes(data, "utf-8", whole=True)) or (
        encoding.name == "utf-16-le" and rules.encoding == "utf_8_or_16"
    ):
        return
    raise ToolError(
        f'"{path}" is not UTF-8 but {encoding.name}, as far as its bytes tell, and would be damaged; convert it first',
        details={"reason": "encoding", "encoding": encoding.name, "path": path},
    )


class Document:
    """Text being edited: `text` has "\\n" alone, and every line gets its own end back in `encode`.

    With the view "kept" it has its line ends as they are; with "all_lf" a lone "\\r" is one too, and becomes "\\n"
    unless all lines get the end that most of them had.
    """

    def __init__(self, text: str, encoding: Encoding, view: Literal["lf", "kept", "all_lf"] = "lf") -> None:
        self.encoding = encoding
        # One character is looked for much faster than two.
        self.text = text.replace("\r\n", "\n") if view != "kept" and "\r" in text else text
        returns = len(text) - len(self.text)
        ends = self.text.count("\n") if returns else 0
        first = text.find("\n")
        self._began_with = "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"
        self._had_returns = returns > 0
        self.newline = "\r\n" if returns * 2 > ends else "\n"
        # One byte for each line end, 1 for "\r\n"; only a file that mixes them has it.
        self._ends: bytearray | None = None
        if 0 < returns < ends:
            self._ends = bytearray(line.endswith("\r") for line in text.split("\n")[:-1])
        if view == "all_lf":
            self.newline = most_common_end(text)
            self.text = self.text.replace("\r", "\n")

    @classmethod
    def of(
        cls,
        data: bytes,
        path: str,
        view: Literal["lf", "kept", "all_lf"] = "lf",
        *,
        mark_is_text: bool = False,
        for_sure: bool = False,
    ) -> Document:
        """The text of a file, or the failure that it has none; UTF-8's byte order mark may be its first character."""
        decoded = decode_for_sure(data) if for_sure else decode(data)
        if decoded is None:
            raise binary(path, data)
        text, encoding = with_mark(*decoded) if mark_is_text else decoded
        return cls(text, encoding, view)

    def unify(self, line_ends: Literal["per_line", "any", "first", "majority"]) -> None:
        """Gives all lines one end: "\\r\\n" if any line had it, the first or most of them."""
        if line_ends == "per_line":
            return
        self._ends = None
        if line_ends == "any":
            self.newline = "\r\n" if self._had_returns else "\n"
        elif line_ends == "first":
            self.newline = self._began_with
        if self.newline == "\r\n":
            # A text that a call gave with CRLF, and that was not seen as LF, has its ends already (Qwen Code 0.24.4).
            self.text = self.text.replace("\r\n", "\n")

    def splice(self, changes: Iterable[tuple[int, int, str]]) -> None:
        """Replace spans of `text` (start, end, new), given in order and apart from each other."""
        kept: list[str] = []
        ends = bytearray()
        position = line = 0
        for start, end, new in changes:
            if self._ends is not None:
                start, end, new = _core(self.text, start, end, new)
                same = self.text.count("\n", position, start)
                gone = self.text.count("\n", start, end)
                ends += self._ends[line : line + same]
                ends += bytes([self.newline == "\r\n"]) * new.count("\n")
                line += same + gone
            kept += (self.text[position:start], new)
            position = end
        self.text = "".join((*kept, self.text[position:]))
        if self._ends is not None:
            self._ends = ends + self._ends[line:]

    def encode(self) -> bytes:
        text = self.text
        if self._ends is not None:
            lines = self.text.split("\n")
            text = "\n".join([line + "\r" * crlf for line, crlf in zip(lines, self._ends, strict=False)] + lines[-1:])
        elif self.newline != "\n":
            text = self.text.replace("\n", self.newline)
        return encode(text, self.encoding)


def _core(text: str, start: int, end: int, new: str) -> tuple[int, int, str]:
    """The same change without the lines at its two ends that it leaves alone."""
    old = text[start:end]
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    return start + head, end - tail, new[head : len(new) - tail]


def _common(one: str, other: str) -> int:
    limit = min(len(one), len(other))
    if one[:limit] == other[:limit]:
        return limit
    return next(index for index in range(limit) if one[index] != other[index])
