"""What commands write: kept within bounds, decoded as it comes, cut in the middle, chosen by line."""

from __future__ import annotations

import codecs
import os
from collections import deque
from collections.abc import Sequence
from io import StringIO
from typing import Literal

from dragoman.environment import child_environment
from dragoman.errors import PatternError, ToolError

StreamName = Literal["stdout", "stderr", "output"]
"""Which stream of a command; "output" is a terminal, where both are one."""

READ_SIZE = 1 << 16
_PIECE = 1 << 12
_MATCH_SECONDS = 5.0


def cut_middle(text: str, limit: int) -> tuple[str, int]:
    """A text of at most `limit` characters and a mark where more were cut out of its middle, and how many."""
    cut = len(text) - limit
    return (text, 0) if cut <= 0 else (_joined(text, limit, cut), cut)


def _joined(text: str, limit: int, cut: int) -> str:
    front = limit // 2
    return f"{text[:front]}{_mark(cut)}{text[len(text) - (limit - front) :]}"


def _mark(cut: int) -> str:
    return f"\n… {cut:,} characters cut …\n"


class BoundedText:
    """A text that is added to without end, of which the beginning and the end are kept: `most` characters."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.total = 0
        self._head = StringIO()
        self._tail: deque[str] = deque()
        self._tail_size = 0

    def add(self, text: str) -> None:
        room = max(0, self.most // 2 - self.total)
        self.total += len(text)
        self._head.write(text[:room])
        text = text[room:]
        if not text:
            return
        if self._tail and len(self._tail[-1]) < _PIECE:
            self._tail[-1] += text
        else:
            self._tail.append(text)
        self._tail_size += len(text)
        while self._tail and self._tail_size - len(self._tail[0]) >= self.most - self.most // 2:
            self._tail_size -= len(self._tail.popleft())

    def text(self, limit: int) -> tuple[str, int]:
        """What is kept, cut to `limit` characters, and how many of all were cut."""
        limit = min(limit, self.most)
        kept = self._head.getvalue() + "".join(self._tail)
        cut = self.total - limit
        return (kept, 0) if cut <= 0 else (_joined(kept, limit, cut), cut)


class Stream:
    """One stream of a command: where it is read, and what came."""

    def __init__(self, name: StreamName, descriptor: int, most: int) -> None:
        self.name: StreamName = name
        self.most = most
        self.descriptor: int | None = descriptor
        self.at_end = False
        self.kept = BoundedText(most)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self) -> str | None:
        """What can be read now, nothing at the end; `None` when there is nothing at the moment."""
        if self.descriptor is None:
            return None
        try:
            data = os.read(self.descriptor, READ_SIZE)
        except BlockingIOError:
            return None
        except OSError:
            data = b""  # how a terminal says that its last user is gone
        text = self._decoder.decode(data, final=not data)
        self.kept.add(text)
        self.at_end = not data
        return text

    def settle(self) -> None:
        """Let no half of a character wait for its rest: what comes next is another's."""
        self.kept.add(self._decoder.decode(b"", final=True))
        self._decoder.reset()

    def close(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None

    def take(self) -> BoundedText:
        """What has come since this was last asked."""
        kept, self.kept = self.kept, BoundedText(self.most)
        return kept

    def put_back(self, kept: BoundedText) -> None:
        """Puts what was taken before what has come since."""
        newer, self.kept = self.kept, kept
        kept.add(newer.text(self.most)[0])


Chosen = list[tuple[str, int]]
"""The lines chosen from each stream, and how many characters of it were not there any more to choose from."""


def taken(
    streams: Sequence[Stream], limit: int, *, lines: int | None = None, matching: Chosen | None = None
) -> tuple[dict[StreamName, str], int]:
    """What is new in each stream, together no longer than `limit`, and how many characters were cut.

    `matching` are the lines that `taken_matching` chose, `lines` how many of the last ones are wanted.
    """
    if lines is None and matching is None:
        kept = {stream.name: stream.take() for stream in streams}
        shares = _shares(limit, [text.total for text in kept.values()])
        pieces = [text.text(share) for text, share in zip(kept.values(), shares, strict=True)]
    else:
        found = [stream.take().text(stream.most) for stream in streams] if matching is None else matching
        chosen = found if lines is None else [_of_last_lines(*one, lines, whole=matching is None) for one in found]
        shares = _shares(limit, [len(text) for text, _ in chosen])
        cuts = [cut_middle(text, share) for (text, _), share in zip(chosen, shares, strict=True)]
        pieces = [(text, cut + before) for (text, cut), (_, before) in zip(cuts, chosen, strict=True)]
    texts = {stream.name: text for stream, (text, _) in zip(streams, pieces, strict=True)}
    return texts, sum(cut for _, cut in pieces)


async def taken_matching(streams: Sequence[Stream], pattern: str, *, running: bool) -> Chosen:
    """The new lines of each stream that match; a line that is not whole yet waits for its rest.

    When the pattern is wrong, or the wait for it is cancelled, nothing is taken.
    """
    from .threads import in_thread

    kept = [(stream, stream.take()) for stream in streams]
    chosen: Chosen = []
    parts: list[str] = []
    try:
        for stream, new in kept:
            text, cut = new.text(stream.most)
            whole, newline, part = text.rpartition("\n") if running else (text, "", "")
            chosen.append((await in_thread(_matching, whole + newline, pattern), cut))
            parts.append(part)
    except BaseException:
        for stream, new in kept:
            stream.put_back(new)
        raise
    for (stream, _), part in zip(kept, parts, strict=True):
        rest = BoundedText(stream.most)
        rest.add(part)
        stream.put_back(rest)
    return chosen


def _of_last_lines(text: str, cut: int, lines: int, *, whole: bool) -> tuple[str, int]:
    last = _last_lines(text, lines)
    return last, 0 if whole and _mark(cut) not in last else cut


def _last_lines(text: str, count: int) -> str:
    start = len(text) - text.endswith("\n") + 1
    while count > 0 and start > 0:
        start = text.rfind("\n", 0, start - 1) + 1
        count -= 1
    return text[start:]


def _matching(text: str, pattern: str) -> str:
    """The lines of a text that match; by ripgrep, whose work grows with the text and never faster."""
    import subprocess

    from .ripgrep import ripgrep_path

    check_text("pattern", pattern, nul=False)
    options = [
        "--no-config",
        "--color=never",
        "--text",
        "--encoding=none",
        "--no-line-number",
        "--no-filename",
        "--regexp",
        pattern,
    ]
    command = [ripgrep_path(), *options, "-"]
    try:
        done = subprocess.run(
            command,
            input=text.encode(),
            capture_output=True,
            check=False,
            timeout=_MATCH_SECONDS,
            env=child_environment(),
        )
    except subprocess.TimeoutExpired:
        raise PatternError(
            pattern, f"took longer than {_MATCH_SECONDS:g} seconds to match; use a simpler one"
        ) from None
    if done.returncode > 1:
        raise ToolError(done.stderr.decode(errors="replace").strip(), kind="invalid_arguments")
    return done.stdout.decode()


def _shares(limit: int, sizes: list[int]) -> list[int]:
    """How much each of one or two texts may have: the shorter one as much as it needs, up to half."""
    if len(sizes) == 1:
        return [limit]
    first, second = sizes
    half = limit // 2
    if second <= half:
        return [limit - second, second]
    return [first, limit - first] if first <= half else [half, limit - half]


def check_text(name: str, text: str, *, nul: bool = True) -> None:
    """Refuse what no program could be given: half a character, or a NUL in an argument."""
    if not nul and "\0" in text:
        raise ToolError(f"{name} holds a NUL character, which no program can be given.", kind="invalid_arguments")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"{name} is not text: {error}.", kind="invalid_arguments") from None
