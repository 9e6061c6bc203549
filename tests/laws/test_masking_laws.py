"""Laws about masked secrets: in every form they are found, and a text in pieces is masked as it is in one."""

from __future__ import annotations

import json
import re
import shlex
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given, strategies as st

from dragoman.logs.redaction.masking import MASK, Masker

KEYS = (
    *("sk-ant-api03-Zm9v+9A_x7Qq/EzR0t", "sk-ant-other-key", 'it"s a \\ p&ss<word>/ä', "0123456789abcdef", "s" * 9),
    *("a%rd&x%25b@c", "50%off-today", "\\\\server\\share", "%41%42%43%44", "&amp;%5C\\x41", "x%%%%%%%%"),
)
keys = st.sampled_from(KEYS)
MASKER = Masker(KEYS)


def dump(data: bytes, *, line: str, text: str) -> str:
    """Bytes as xxd and its like print them: an offset, numbers, and (or not) the text."""
    rows = []
    for start in range(0, len(data), 16):
        row = data[start : start + 16]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        numbers = row.hex(" ", 2) if line.endswith(": ") else row.hex(" ")
        rows.append(line.format(start) + numbers.ljust(48) + text.format(shown))
    return "\n".join(rows) + "\n"


def words(data: bytes, size: int) -> str:
    """Bytes as `od -tx4` and its like print them on most machines: words, the last byte of each first."""
    whole = data + bytes(-len(data) % size)
    rows = [whole[start : start + 16] for start in range(0, len(whole), 16)]
    return "".join(
        " ".join([f"{16 * number:07o}", *(row[at : at + size][::-1].hex() for at in range(0, len(row), size))]) + "\n"
        for number, row in enumerate(rows)
    )


def characters(text: str) -> str:
    """A text as `od -c` prints it."""
    rows = [text[start : start + 16] for start in range(0, len(text), 16)]
    spelled = {"\n": "\\n", "\t": "\\t"}
    lines = [
        f"{16 * number:07o}" + "".join(spelled.get(one, one).rjust(4) for one in row) for number, row in enumerate(rows)
    ]
    return "\n".join([*lines, ""])


def wrapped(text: str, width: int, end: str) -> str:
    return end.join(text[start : start + width] for start in range(0, len(text), width))


FORMS: dict[str, Callable[[bytes], str]] = {
    "base64": lambda data: b64encode(data).decode(),
    "base64 for URLs": lambda data: urlsafe_b64encode(data).decode(),
    "base64 in lines": lambda data: wrapped(b64encode(data).decode(), 20, "\n"),
    "base64 in lines in JSON": lambda data: wrapped(b64encode(data).decode(), 19, "\\n"),
    "base64 in JSON": lambda data: b64encode(data).decode().replace("/", "\\/"),
    "hexadecimal": lambda data: data.hex(),
    "capital hexadecimal": lambda data: data.hex().upper(),
    "hexadecimal in lines": lambda data: wrapped(data.hex(), 20, "\n"),
    "hexadecimal with colons": lambda data: data.hex(":"),
    "hexadecimal with blanks": lambda data: data.hex(" "),
    "a list of numbers": lambda data: ", ".join(f"0x{byte:02x}" for byte in data),
    "escaped numbers": lambda data: "".join(f"\\x{byte:02x}" for byte in data),
    "percent-encoded": lambda data: quote(data, safe=""),
    "all percent-encoded": lambda data: "".join(f"%{byte:02X}" for byte in data),
    "xxd": lambda data: dump(data, line="{:08x}: ", text=" {}"),
    "hexdump -C": lambda data: dump(data, line="{:08x}  ", text="  |{}|"),
    "od": lambda data: dump(data, line="{:07o} ", text=""),
    "base64 in narrow lines": lambda data: wrapped(b64encode(data).decode(), 7, "\n"),
}
bytes_around = st.binary(max_size=20)


@pytest.mark.parametrize("form", FORMS)
@given(keys, bytes_around, bytes_around)
def test_a_secret_is_found_in_every_form_among_other_bytes(form: str, key: str, before: bytes, after: bytes) -> None:
    masked = MASKER.text(FORMS[form](before + key.encode() + after))
    assert MASK in masked
    # What is left has room for the other bytes and for little more, an offset for example.
    left = len(masked.replace(MASK, ""))
    assert left <= len(FORMS[form](before)) + len(FORMS[form](after)) + 12


@pytest.mark.parametrize("size", [2, 4])
@given(keys, bytes_around, bytes_around)
def test_a_secret_is_found_in_words_of_several_bytes(size: int, key: str, before: bytes, after: bytes) -> None:
    masked = MASKER.text(words(before + key.encode() + after, size))
    assert MASK in masked
    # What is left has room for the other bytes, those that share a word with them, and offsets.
    left = re.sub(r"\b[0-9a-f]{7}\b|\s", "", masked.replace(MASK, ""))
    assert len(left) <= 2 * len(before + after) + 8 * size


def test_a_byte_that_looks_like_the_text_beside_it_hides_no_secret() -> None:
    key = "33fFa35a458bE1af3bBb"  # its second row begins with 33, and the text beside its first row, too
    assert Masker([key]).text(dump(key.encode(), line="{:08x}  ", text="  |{}|")) == f"00000000  {MASK}\n"


@given(keys)
def test_a_secret_is_found_with_escapes(key: str) -> None:
    once = json.dumps(key)
    html = key.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for text in (key, repr(key)[1:-1], quote(key, safe=""), quote(quote(key, safe=""), safe=""), quote_plus(key)):
        assert MASKER.text(f"<{text}>") == f"<{MASK}>"
    spelled_out = "".join(f"\\u{ord(char):04x}" for char in key)
    assert MASKER.text(once) == f'"{MASK}"'
    assert MASKER.text(json.dumps(once)) == f'"\\"{MASK}\\""'
    assert MASKER.text(html) == MASK
    assert MASKER.text(f"<{spelled_out}>") == f"<{MASK}>"
    assert MASKER.text("0000000   " + "   ".join(key)) == f"0000000   {MASK}"
    for escaped in (re.sub(r"([^\w\s])", r"\\\1", key), key.replace("'", "'\\''"), repr(key.encode())[2:-1]):
        assert MASKER.text(f"<{escaped}>") == f"<{MASK}>"


@pytest.mark.parametrize("key", ["x'y\"z$`~^{}[]", "it's'my'secret", "'''quoted'''"])
def test_a_secret_with_quotes_is_found_however_a_shell_is_given_it(key: str) -> None:
    masker = Masker([key])
    for escaped in (shlex.quote(key)[1:-1], key.replace("'", "'\\''")):
        for text in (f"'{escaped}'", json.dumps(f"'{escaped}'")[1:-1]):
            assert masker.text(text) == f"'{MASK}'"
            stream = masker.stream()
            assert "".join(map(stream.add, text)) + stream.end() == f"'{MASK}'"


@given(keys, st.integers(1, 8), st.integers(0, 3))
def test_a_secret_of_which_a_part_is_highlighted_is_found(key: str, at: int, longer: int) -> None:
    highlighted = f"{key[:at]}\x1b[01;31m\x1b[K{key[at : at + longer]}\x1b[m\x1b[K{key[at + longer :]}"
    masked = MASKER.text(f"<{highlighted}>")
    assert re.sub(r"\x1b\[[0-9;]*[mK]", "", masked) == f"<{MASK}>"  # colours behind its end are no part of it


pieces_of_text = st.one_of(
    keys,
    keys.map(lambda key: f"{key[:3]}\x1b[1;31m{key[3:5]}\x1b[0m\x1b[K{key[5:]}"),
    st.builds(lambda form, *parts: FORMS[form](b"".join(parts)), st.sampled_from(sorted(FORMS)), keys.map(str.encode)),
    st.builds(
        lambda form, key, before: FORMS[form](before + key.encode()), st.sampled_from(sorted(FORMS)), keys, bytes_around
    ),
    st.builds(lambda key, end: key[:end], keys, st.integers(0, 30)),
    st.builds(lambda before, key: characters(before + key), st.text("a \n", max_size=20), keys),
    st.builds(
        lambda size, before, key: words(before + key.encode(), size), st.sampled_from([2, 4]), bytes_around, keys
    ),
    st.sampled_from(["\n", " ", "%", "\\", "\\u00", "73", "00000010: ", "s", "c2st", "&#", "=", "\\n"]),
    st.text("sk-ant 0123456789abcdef\n%\\:", max_size=12),
)


@given(st.lists(pieces_of_text, max_size=6).map("".join), st.data())
@example("0" * 20, None)
def test_a_text_in_pieces_is_masked_as_it_is_in_one(text: str, data: st.DataObject | None) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=8)) if data else range(len(text))
    ends = sorted({*cuts, len(text)})
    stream = MASKER.stream()
    released = [stream.add(text[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
    assert "".join([*released, stream.end()]) == MASKER.text(text)


@given(st.text(st.characters(exclude_characters="%\\&"), max_size=300))
def test_a_text_without_a_secret_stays_as_it_is(text: str) -> None:
    assert MASKER.text(text) == text
    stream = MASKER.stream()
    assert stream.add(text) + stream.end() == text


def test_nothing_is_held_back_of_what_cannot_begin_a_secret() -> None:
    stream = Masker([KEYS[0]]).stream()
    for line in (
        "compiling 73 files\n",
        "done in 1.73 seconds\n",
        "exit code 73 \n",
        "cc\n",
        "so it is.",
        " sk-b",
        "sk\n",
    ):
        assert stream.add(line) == line
    assert stream.add("the key is sk-ant-api") == "the key is "
    assert stream.add("no") == "sk-ant-apino"


def test_a_long_secret_is_found_in_parts_and_a_short_one_is_none() -> None:
    long = "".join(f"{number:03d}-" for number in range(200))
    private = (
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSjAgEAAoIBAQC7\n-----END PRIVATE KEY-----"
    )
    masker = Masker([long, private, "short"])
    assert masker.text(f"<{long}>").strip(f"<{MASK}>") == ""
    assert masker.text(b64encode(b"x" + long.encode()).decode()).replace(MASK, "") == "eD"
    assert masker.text(private) == f"-----BEGIN PRIVATE KEY-----\n{MASK}\n{MASK}\n-----END PRIVATE KEY-----"
    assert masker.text("short") == "short"


def test_masking_nothing_changes_nothing() -> None:
    stream = Masker([]).stream()
    assert Masker([]).text("sk-ant") == stream.add("sk-ant") == "sk-ant"
    assert stream.end() == ""
