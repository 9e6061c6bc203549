"""Encodings by their bytes, binary files by theirs, and diffs that stay cheap."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, strategies as st

from dragoman.tools.workspace import diff, media, text


@pytest.mark.parametrize(
    "data, name",
    [
        (b"", "utf-8"),
        (b"plain", "utf-8"),
        ("déjà".encode(), "utf-8"),
        (b"\xef\xbb\xbfx", "utf-8-sig"),
        (b"\xff\xfex\0", "utf-16-le"),
        (b"\xfe\xff\0x", "utf-16-be"),
        (b"\xff\xfe\0\0x\0\0\0", "utf-32-le"),
        (b"\0\0\xfe\xff\0\0\0x", "utf-32-be"),
        (b"caf\xe9", "cp1252"),
        (b"\x93quoted\x94", "cp1252"),
        (b"\x81\xe9", "latin-1"),
        ("déjà vu ".encode() + b"\xff", "utf-8"),
        (b"\x1b[31mred\x1b[0m", "utf-8"),
        (b"a\0b", None),
        (b"x" * 9000 + b"\0", "utf-8"),
        (b"\xe9\x01\x02", None),
        (b"\xff\xfex", None),
        (b"\xff\xfe\0\xd8", None),
        (b"\x89PNG\r\n\x1a\n\0\0", None),
    ],
)
def test_an_encoding_is_told_by_the_bytes(data: bytes, name: str | None) -> None:
    found = text.sniff(data)
    assert (found.name if found else None) == name


@given(st.binary(max_size=60) | st.text().map(str.encode))
def test_text_that_is_decoded_is_encoded_to_the_same_bytes(data: bytes) -> None:
    decoded = text.decode(data)
    if decoded is not None:
        assert text.encode(*decoded) == data
        assert text.Document(*decoded).encode() == data
        text.printable(decoded[0]).encode()


@given(st.binary(max_size=60))
def test_the_beginning_of_a_text_is_text(data: bytes) -> None:
    whole = ("é" * 20).encode() + data
    if text.sniff(whole) == text.UTF_8:
        assert text.sniff(whole[:21], whole=False) == text.UTF_8


@pytest.mark.parametrize(
    "data, media_type, size",
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0\0\0\0\x80", "image/png", (256, 128)),
        (b"GIF89a\x05\0\x06\0", "image/gif", (5, 6)),
        (b"\xff\xd8\xff\xe0\0\x04xx\xff\xff\xc0\0\x0b\x08\0\x20\0\x10\x03", "image/jpeg", (16, 32)),
        (b"\xff\xd8\xff\xe0\0\x04xx", "image/jpeg", None),
        (b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x0f\0\0\x1f\0\0", "image/webp", (16, 32)),
        (b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x0f\xc0\x07\0", "image/webp", (16, 32)),
        (b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x10\0\x20\0", "image/webp", (16, 32)),
        (b"RIFF\0\0\0\0WEBPxxxx", "image/webp", None),
        (b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x10\0\0\0\xe0\xff\xff\xff", "image/bmp", (16, 32)),
        (b"BM\0\0\0\0\0\0\0\0\x1a\0\0\0\x0c\0\0\0\x10\0\x20\0", "image/bmp", (16, 32)),
        (b"\x89PNG\r\n\x1a\n", "image/png", None),
        (b"%PDF-1.7", "application/pdf", None),
        (b"RIFF\0\0\0\0WAVE", "audio/wav", None),
        (b"\0\0\0\x18ftypmp42", "video/mp4", None),
        (b"BM is also how a text may begin", None, None),
        (b"<svg>", None, None),
    ],
)
def test_a_picture_is_known_and_measured_by_its_header(
    data: bytes, media_type: str | None, size: tuple[int, int] | None
) -> None:
    found = media.media_kind(data)
    assert (found.media_type if found else None, media.picture_size(data)) == (media_type, size)


@given(st.sampled_from([b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBP", b"BM"]), st.binary())
def test_a_broken_picture_has_no_size_and_breaks_nothing(start: bytes, rest: bytes) -> None:
    size = media.picture_size(start + rest)
    assert size is None or min(size) >= 0


# ── diffs ────────────────────────────────────────────────────────────────────

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n", "e\n"]), max_size=12)


@given(LINES, LINES)
def test_opcodes_lead_from_one_text_to_the_other(old: list[str], new: list[str]) -> None:
    built: list[str] = []
    position = 0
    for first, last, new_first, new_last in diff.opcodes(old, new):
        assert position <= first
        built += old[position:first] + new[new_first:new_last]
        position = last
    assert built + old[position:] == new


@pytest.mark.parametrize("seed", range(3))
def test_long_texts_are_compared_by_the_lines_they_have_once(seed: int) -> None:
    draw = random.Random(seed)
    old = [f"{draw.randrange(20_000)}\n" for _ in range(30_000)]
    new = old.copy()
    for _ in range(40):
        at = draw.randrange(len(new))
        new[at : at + draw.randrange(3)] = [f"new {draw.random()}\n"]
    told = diff.difference("f", "".join(old).encode(), "".join(new).encode())
    assert (told["added"], told["removed"] <= 80) == (40, True)


def test_texts_that_defeat_comparing_are_told_as_replaced() -> None:
    """Each of these takes a line-by-line comparison minutes to hours."""
    same, other = "x\n" * 60_000, "x\ny\n" * 30_000
    told = diff.difference("f", same.encode(), other.encode())
    assert (told["added"], told["removed"]) == (59_999, 59_999)
    told = diff.difference("f", ("x\n" * 999).encode(), ("x\ny\n" * 500).encode())
    assert told["added"] - told["removed"] == 1


def test_a_diff_is_as_other_programs_write_it() -> None:
    before = b"".join(b"%d\n" % number for number in range(1, 21))
    after = before.replace(b"3\n4\n", b"3\nthree and a half\n4\n", 1).replace(b"\n20\n", b"\n20")
    assert diff.difference("some/file", before, after) == {
        "diff": "--- a/some/file\n+++ b/some/file\n"
        "@@ -1,6 +1,7 @@\n 1\n 2\n 3\n+three and a half\n 4\n 5\n 6\n"
        "@@ -17,4 +18,4 @@\n 17\n 18\n 19\n-20\n+20\n\\ No newline at end of file\n",
        "added": 2,
        "removed": 1,
    }


def test_a_diff_that_is_too_long_is_only_counted() -> None:
    long = b"some line or other\n" * 100_000
    assert diff.difference("f", None, long) == {"diff": None, "added": 100_000, "removed": 0}


def test_what_is_no_text_has_no_diff() -> None:
    assert diff.difference("f", b"text", b"\0") == {}


def test_only_other_line_ends_are_no_other_lines() -> None:
    assert diff.difference("f", b"a\n", b"a\r\n") == {"diff": "", "added": 0, "removed": 0}


@pytest.mark.parametrize(
    "before, content, expected",
    [
        (b"a\r\n", "x\n", b"x\r\n"),
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\n", "x\n", b"x\n"),
        (b"a", "x\n", b"x\n"),
        (b"a\r\n", "x\r\ny\n", b"x\r\ny\n"),
        (None, "x\n", b"x\n"),
    ],
)
def test_a_file_that_is_written_anew_keeps_its_line_ends(before: bytes | None, content: str, expected: bytes) -> None:
    assert text.rewritten(before, content, "a.txt") == expected
