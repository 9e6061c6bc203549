"""Reading, writing, editing, moving and deleting files, and looking at pictures.

Rules: a read gives at most `TEXT_LIMIT` characters, `LINES_LIMIT` lines when no range was asked for, and
`LINE_LIMIT` characters of a line unless that line alone was asked for; what was cut says so. Line ends are
told as "\\n" and bytes that are no text as U+FFFD. A picture is given as a picture, a notebook as the text
of its file, a PDF document as the text of its pages.
"""

from __future__ import annotations

import codecs
import io
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import msgspec

from dragoman.errors import MissingExtra, ToolError
from dragoman.model import operations as op
from dragoman.model.outcomes import ChangesOutcome, FileOutcome, FilesOutcome, ImageOutcome, Media, NotebookOutcome

from .context import Context
from .definition import Tool
from .workspace import media
from .workspace.paths import HELD_LIMIT
from .workspace.text import MARKS, UTF_8, Encoding, binary, printable, sniff
from .workspace.tree import Passed, missing

if TYPE_CHECKING:
    from .workspace.tree import Opened
    from .workspace.workspace import Workspace

# What clients give a model at most: 2,000 lines and characters of a line (Claude Code 2.1.325), 50 to 256 KiB.
TEXT_LIMIT = 256 * 1024
LINES_LIMIT = 2000
LINE_LIMIT = 2000
FILES_LIMIT = 200
"""Files one `read_files` gives; their texts together have at most `FILES_TEXT_LIMIT` characters."""
FILES_TEXT_LIMIT = 1024 * 1024
IMAGE_LIMIT = 20 * 1024 * 1024
SCAN_LIMIT = 256 * 1024 * 1024
"""Bytes of a file too large to be held that are passed over on the way to the lines asked for."""

_HEAD = 1024 * 1024
_LARGE = 4 * _HEAD


# ── reading ──────────────────────────────────────────────────────────────────


def _read_file(operation: op.ReadFile, context: Context) -> FileOutcome | ImageOutcome | NotebookOutcome:
    """A file's lines, or its picture, or a notebook's cells where the vocabulary shows those."""
    _check_range(operation)
    workspace = context.workspace
    rules = context.edit_rules
    if rules is not None and rules.cells and operation.path.lower().endswith(".ipynb"):
        from .notebook import cells_of

        return cells_of(op.ReadNotebook(operation.path), context)
    found, resolved = _found(workspace, operation.path)
    with found.file:
        look = _passed_through(workspace, found) or _looked_at(workspace, found, HELD_LIMIT)
        path = operation.path if resolved is None else resolved
        kind = media.media_kind(look.data)
        if kind and kind.media_type == "application/pdf":
            outcome = _document(path, look, operation)
        elif operation.pages is not None:
            raise ToolError(f'"{path}" has no pages: leave out `pages`, or ask for lines', kind="invalid_arguments")
        elif kind and kind.media_type in media.SEEN:
            return _picture(path, look)
        else:
            outcome = _lines(path, look, operation)
    asked_for = found.path if resolved is None else workspace.resolve(operation.path)
    return msgspec.structs.replace(outcome, path=asked_for, resolved=resolved)


def _document(path: str, look: _Look, operation: op.ReadFile) -> FileOutcome:
    """The lines of a PDF document's text."""
    from .web.pdf import read_pdf

    if not look.whole:
        raise ToolError(f'"{path}" is a PDF document of {look.size:,} bytes, which is too large to be read')
    document = read_pdf(path, look.data, operation.pages, characters=TEXT_LIMIT)
    text = look._replace(data=document.text.encode("utf-8", "replace"))
    outcome = _lines(path, text, operation)
    return msgspec.structs.replace(outcome, truncated=outcome.truncated or document.cut, encoding=None)


def _check_range(operation: op.ReadFile) -> None:
    first, last = operation.first_line, operation.last_line
    if first is not None and first < 1:
        raise ToolError(f"lines count from 1, so there is no line {first}", kind="invalid_arguments")
    if last is not None and last < (first or 1):
        raise ToolError(f"the last line ({last}) is before the first ({first or 1})", kind="invalid_arguments")


def _found(workspace: Workspace, path: str) -> tuple[Opened, str | None]:
    """The file at a path or, in a forgiving workspace, the one file it can have been meant for, with its path."""
    found = workspace.find(path)
    if found is not None:
        return found, None
    near = workspace.same_name(path) if workspace.forgiving else None
    other = None if near is None else workspace.find(near)
    if other is None:
        raise missing(workspace, path)
    return other, near


class _Look(NamedTuple):
    """A file's bytes: all of them, or its beginning when it is too large to be held."""

    data: bytes
    size: int
    whole: bool
    found: Opened
    lines: int | None = None
    """How many lines there are, where that is known of a file that is not held. It is in UTF-8 then."""


def _looked_at(workspace: Workspace, found: Opened, limit: int) -> _Look:
    # Read whole, it counts as seen: a later edit notices when somebody else has changed it.
    data = found.file.read(limit + 1 if found.size <= limit else _HEAD)
    whole = found.size <= limit and len(data) <= limit
    workspace.note_read(found.path)
    if whole:
        workspace.note_seen(found.path, data)
    return _Look(data, len(data) if whole else found.size, whole, found)


def _passed_through(workspace: Workspace, found: Opened) -> _Look | None:
    """A large file of UTF-8 text, of which few lines are shown; `None` for any other file.

    It is read once, block by block, for what a whole read tells: that it is text, how many lines it has, and whether
    somebody else changes it later. After that only the lines asked for are read, until it changes.
    """
    if found.stamp is None or not _LARGE < found.size <= HELD_LIMIT:
        return None
    head = found.file.read(_HEAD)
    passed = workspace.passed(found.path, found.stamp) or _measured(found, head)
    if passed is None:
        found.file.seek(0)
        return None
    workspace.note_read(found.path)
    workspace.note_passed(found.path, passed)
    return _Look(head, passed.size, whole=False, found=found, lines=passed.lines)


def _measured(found: Opened, head: bytes) -> Passed | None:
    """What is known of a large file after reading it block by block; `None` when it is not UTF-8 text."""
    assert found.stamp is not None  # it was asked for
    if head.startswith(MARKS) or b"\0" in head or media.media_kind(head) is not None:
        return None
    decoder = codecs.getincrementaldecoder("utf-8")()
    size = lines = 0
    begun = False  # whether a character is cut at the end of the block
    block = last = head
    while block:
        size += len(block)
        lines += block.count(b"\n")
        if begun or not block.isascii():
            try:
                decoder.decode(block)
            except UnicodeDecodeError:
                return None
            begun = bool(decoder.getstate()[0])
        last, block = block, found.file.read(_HEAD)
    if begun or size > HELD_LIMIT:
        return None
    return Passed(found.stamp, size, lines + (not last.endswith(b"\n")))


def _lines(path: str, look: _Look, operation: op.ReadFile) -> FileOutcome:
    encoding = UTF_8 if look.lines is not None else sniff(look.data, whole=look.whole)
    if encoding is None:
        raise binary(path, look.data, look.size)
    total = _count(look.data, encoding) if look.whole else look.lines
    # No file has more lines than this, and Python's own tools take no larger number.
    first = min(operation.first_line or 1, sys.maxsize)
    last = None if operation.last_line is None else min(operation.last_line, sys.maxsize)
    with io.BytesIO(look.data) if look.whole else look.found.file as file:
        lines = _streamed(file, encoding, skip=first - 1)
        taken = _taken(islice(lines, None if last is None else last - first + 1), operation)
    if not taken.parts and first > 1:
        has = "fewer" if total is None else f"{total}"
        raise ToolError(
            f'"{path}" has {has} lines, so there is no line {operation.first_line}',
            kind="invalid_arguments",
            details={"reason": "no_line", "path": path, "total_lines": total},
        )
    text = printable("".join(taken.parts))
    if taken.broken_off:
        text = text.removesuffix("\n")  # else the next line would seem to be shown, and to be empty
    return FileOutcome(path, text, first, total, look.size, taken.truncated, encoding.name)


def _count(data: bytes, encoding: Encoding) -> int:
    text = data[len(encoding.mark) :].decode(encoding.codec, encoding.errors)
    return text.count("\n") + (0 if not text or text.endswith("\n") else 1)


class _TooFarError(ToolError):
    """So much was read that nobody should wait for more."""

    def __init__(self) -> None:
        super().__init__(
            "the lines are too far into the file; use a command to get at them", details={"reason": "too_large"}
        )


class _Line(NamedTuple):
    """A line as far as it is held, with its end; `cut` counts the characters that are not."""

    text: str
    cut: int


def _streamed(file: BinaryIO, encoding: Encoding, *, skip: int) -> Iterator[_Line]:
    """The lines of a file after the first `skip`, one at a time, and no more of one than could be shown."""
    file.seek(len(encoding.mark))
    one_byte_ends = encoding.codec in ("utf-8", "cp1252", "latin-1")
    if one_byte_ends:
        _pass_over(file, skip)
    errors = encoding.errors if encoding.codec == "utf-8" else "replace"
    with io.TextIOWrapper(file, encoding.codec, errors, newline="\n") as text:
        yield from islice(_lines_of(text), 0 if one_byte_ends else skip, None)


def _pass_over(file: BinaryIO, lines: int) -> None:
    passed = 0
    while lines > 0 and (block := file.read(_HEAD)):
        passed += len(block)
        found = block.count(b"\n")
        if found >= lines:
            end = 0
            for _ in range(lines):
                end = block.find(b"\n", end) + 1
            file.seek(end - len(block), io.SEEK_CUR)
        elif passed > SCAN_LIMIT:
            raise _TooFarError
        lines -= found


def _lines_of(text: io.TextIOWrapper) -> Iterator[_Line]:
    passed = 0
    while line := text.readline(TEXT_LIMIT + 2):
        rest, cut = line, 0
        while not rest.endswith("\n") and passed < HELD_LIMIT and (rest := text.readline(TEXT_LIMIT)):
            cut += len(rest) - rest.endswith("\n")
            passed += len(rest)
        passed += len(line)
        yield _Line(line if line.endswith("\n") or not rest.endswith("\n") else f"{line}\n", cut)
        if passed > HELD_LIMIT:
            raise _TooFarError


def _taken(lines: Iterable[_Line], operation: op.ReadFile) -> _Taken:
    """The lines that fit."""
    asked = operation.first_line is not None or operation.last_line is not None
    alone = operation.first_line is not None and operation.first_line == operation.last_line
    longest = TEXT_LIMIT if alone else LINE_LIMIT
    taken = _Taken([], longest)
    try:
        for count, line in enumerate(lines, 1):
            if taken.room <= 0 or (count > LINES_LIMIT and not asked):
                taken.truncated = taken.broken_off = True
                break
            taken.add(line, "" if alone else "; read this line alone to see more")
    except _TooFarError:
        if not taken.parts:
            raise
        taken.truncated = taken.broken_off = True
    return taken


class _Taken(msgspec.Struct):
    """Lines that were taken, and whether anything of what was asked for was not."""

    parts: list[str]
    longest: int
    room: int = TEXT_LIMIT
    truncated: bool = False
    broken_off: bool = False
    """Whether lines follow that were asked for."""

    def add(self, line: _Line, advice: str) -> None:
        end = "\r\n" if line.text.endswith("\r\n") else "\n" if line.text.endswith("\n") else ""
        body = line.text.removesuffix(end)
        shown = body[: min(self.longest, self.room)]
        self.room -= len(shown) + 1
        if cut := len(body) - len(shown) + line.cut:
            self.truncated = True
            shown += f"… [{cut:,} more characters{advice}]"
        self.parts.append(shown + end[-1:])


def _read_files(operation: op.ReadFiles, context: Context) -> FilesOutcome:
    """Every file that matches a pattern, in their order; what cannot be read is passed over with the reason."""
    from .search import find_files
    from .workspace import globs

    bare = [globs.anywhere(pattern).rstrip("/") for pattern in operation.exclude]
    left_out = [globs.compiled(pattern).full for each in bare for pattern in (each, f"{each}/**")]
    paths: dict[str, None] = {}
    for pattern in operation.patterns:
        found = find_files.run(op.FindFiles(pattern, respect_ignore=operation.respect_ignore), context)
        paths |= dict.fromkeys(found.paths)
    files: list[FileOutcome] = []
    skipped: dict[str, str] = {}
    room = FILES_TEXT_LIMIT
    truncated = False
    for path in paths:
        if any(pattern.fullmatch(path) for pattern in left_out):
            continue
        if len(files) >= FILES_LIMIT or room <= 0:
            truncated = True
            skipped[path] = "left out: the limit of one read was reached"
            continue
        try:
            outcome = _read_file(op.ReadFile(path), context)
        except ToolError as error:
            skipped[path] = error.message
            continue
        if not isinstance(outcome, FileOutcome):
            skipped[path] = "a picture: look at it on its own"
        else:
            files.append(outcome)
            room -= len(outcome.text)
    return FilesOutcome(tuple(files), skipped, truncated or any(file.truncated for file in files))


# ── pictures ─────────────────────────────────────────────────────────────────


def _view_image(operation: op.ViewImage, context: Context) -> ImageOutcome:
    """A picture, or a part of it."""
    workspace = context.workspace
    found, near = _found(workspace, operation.path)
    with found.file:
        outcome = _picture(near or operation.path, _looked_at(workspace, found, IMAGE_LIMIT))
    return outcome if operation.region is None else ImageOutcome(_cut_out(outcome.image, operation.region))


def _picture(path: str, look: _Look) -> ImageOutcome:
    import base64

    data = look.data
    kind = media.media_kind(data)
    if kind is None or kind.media_type not in media.SEEN:
        what = kind.name if kind else ("text" if sniff(data[:_HEAD], whole=False) else "of unknown type")
        raise ToolError(
            f'"{path}" is not a picture that can be shown ({what}); PNG, JPEG, GIF and WebP can',
            details={"reason": "not_a_picture", "path": path},
        )
    if not look.whole or look.size > IMAGE_LIMIT:
        raise ToolError(
            f'"{path}" is a picture of more than {IMAGE_LIMIT:,} bytes; make it smaller with a command',
            details={"reason": "too_large", "path": path},
        )
    width, height = media.picture_size(data) or (None, None)
    resolved = look.found.path
    text = base64.b64encode(data).decode("ascii")
    return ImageOutcome(
        Media(
            kind.media_type,
            data=text,
            path=resolved,
            name=resolved.rpartition("/")[2],
            width=width,
            height=height,
            size=len(data),
        )
    )


def _cut_out(image: Media, region: tuple[int, int, int, int]) -> Media:
    """The rectangle of a picture, as a PNG."""
    import base64

    from dragoman.registry import need

    left, top, right, bottom = region
    if image.width is None or image.height is None:
        raise ToolError(f'the size of "{image.path}" is not known, so no part of it can be cut out')
    if not (0 <= left < right <= image.width and 0 <= top < bottom <= image.height):
        raise ToolError(
            f"the region {region} is not inside the picture, which has {image.width} × {image.height} pixels",
            kind="invalid_arguments",
        )
    try:
        pillow = need("images", "cutting a region out of a picture", "PIL.Image")
    except MissingExtra as error:
        raise ToolError(str(error), details={"reason": "missing_extra"}) from None
    written = io.BytesIO()
    try:
        with pillow.open(io.BytesIO(base64.b64decode(image.data or ""))) as picture:
            picture.crop(region).save(written, "PNG")
    except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError) as error:
        raise ToolError(f'"{image.path}" cannot be decoded: {error}', details={"reason": "not_a_picture"}) from None
    data = written.getvalue()
    return msgspec.structs.replace(
        image,
        media_type="image/png",
        data=base64.b64encode(data).decode("ascii"),
        width=right - left,
        height=bottom - top,
        size=len(data),
    )


# ── changing ─────────────────────────────────────────────────────────────────


def _change(operation: op.Operation, context: Context) -> ChangesOutcome:
    """The workspace knows how: see `Workspace.apply`."""
    return context.workspace.apply([operation], rules=context.edit_rules)


def _undo(operation: op.UndoEdit, context: Context) -> ChangesOutcome:
    """The workspace remembers: see `Workspace.undo`."""
    return context.workspace.undo(operation.path)


read_file = Tool.from_operation(op.ReadFile, _read_file, name="read_file", repeatable=True)
read_files = Tool.from_operation(op.ReadFiles, _read_files, name="read_files", repeatable=True)
view_image = Tool.from_operation(op.ViewImage, _view_image, name="view_image", repeatable=True)
write_file = Tool.from_operation(op.WriteFile, _change, name="write_file")
edit_file = Tool.from_operation(op.EditFile, _change, name="edit_file")
insert_text = Tool.from_operation(op.InsertText, _change, name="insert_text")
replace_lines = Tool.from_operation(op.ReplaceLines, _change, name="replace_lines")
delete_file = Tool.from_operation(op.DeleteFile, _change, name="delete_file")
move_file = Tool.from_operation(op.MoveFile, _change, name="move_file")
undo_edit = Tool.from_operation(op.UndoEdit, _undo, name="undo_edit")
