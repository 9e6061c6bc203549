"""Media from a path, bytes or a URL."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman import Audio, Document, Image
from dragoman.errors import MediaError
from dragoman.model import Media
from dragoman.tools.workspace import attachment

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnWAAAAEklEQVR4nGNgYGD4DwMMcAYAlPoE/FQ1HKYAAAAASUVORK5CYII="
)
PDF = b"%PDF-1.7\n%"


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def test_a_picture_is_the_same_from_a_path_and_from_bytes(tmp_path: Path) -> None:
    file = tmp_path / "dot.png"
    file.write_bytes(PNG)
    expected = Media("image/png", encoded(PNG), name="dot.png", width=2, height=3, size=len(PNG))
    assert Image(file) == Image(str(file)) == Image(PNG, name="dot.png") == attachment(PNG, "dot.png") == expected


def test_bytes_in_media_are_encoded_and_their_size_is_known() -> None:
    content: Any = PNG
    assert Media("image/png", content) == Media("image/png", encoded(PNG), size=len(PNG))
    with pytest.raises(TypeError, match="not int"):
        Media("image/png", 5)  # type: ignore[arg-type]


def test_documents_are_pdfs_and_texts(tmp_path: Path) -> None:
    assert Document(PDF) == Media("application/pdf", encoded(PDF), size=len(PDF))
    (tmp_path / "a.csv").write_text("a,b\n")
    assert Document(tmp_path / "a.csv") == Media("text/csv", encoded(b"a,b\n"), name="a.csv", size=4)


def test_a_url_is_left_to_the_provider() -> None:
    assert Image("https://x.example/a.jpg?b=1") == Media("image/jpeg", url="https://x.example/a.jpg?b=1")
    assert Image("https://x.example/a") == Media("image/*", url="https://x.example/a")
    assert Document("https://x.example/a.pdf").media_type == "application/pdf"


@pytest.mark.parametrize(
    "make, source, message",
    [
        (Image, PDF, "the content is not a picture that can be sent (application/pdf)"),
        (Image, b"text", "the content is not a picture that can be sent (text/plain)"),
        (Document, PNG, "the content is not a document that can be sent (image/png)"),
        (Document, b"\0\1", "the content is not a document that can be sent (of unknown type)"),
        (Audio, PNG, "the content is not a sound that can be sent (image/png)"),
        (Document, b"", "the content is empty"),
        (Image, b"", "the content is empty"),
        (
            Image,
            "ftp://x.example/a.png",
            "ftp:// is not a URL that can be sent: give http://, https:// or data:, or a path",
        ),
        (Image, "data:image/png;base64,!", "the data: URL cannot be read: Only base64 data is allowed"),
        (Image, "data:image/png", "the data: URL cannot be read: it has no comma"),
        (Image, "data:text/plain,hello", "the content is not a picture that can be sent (text/plain)"),
        (Image, "missing.png", "cannot read missing.png: No such file or directory"),
        (
            Image,
            "https://x.example/a.pdf",
            "https://x.example/a.pdf is not a picture by its name (application/pdf); give media_type if it is one",
        ),
    ],
)
def test_what_is_of_another_kind_is_refused_with_a_reason(make: Any, source: Any, message: str) -> None:
    with pytest.raises(MediaError) as found:
        make(source)
    assert str(found.value) == message


def test_a_data_url_and_other_bytes_are_content() -> None:
    expected = Image(PNG)
    assert Image(f"data:image/png;base64,{encoded(PNG)}") == expected
    assert Image(bytearray(PNG)) == Image(memoryview(PNG)) == expected
    assert Document("data:text/csv,a%2Cb") == Media("text/csv", encoded(b"a,b"), size=3)
    assert Audio(b"\0\0\0\x20ftypM4A \0\0\0\0").media_type == "audio/mp4"


def test_content_is_not_sent_as_another_type_than_it_is() -> None:
    with pytest.raises(MediaError, match="the content is image/png, not image/jpeg: leave media_type out"):
        Image(PNG, media_type="image/jpeg")
    assert Document(b"a,b", media_type="text/csv").media_type == "text/csv"


@pytest.mark.parametrize("source", [None, 5, ["a.png"]])
def test_what_is_neither_path_nor_bytes_nor_url_is_a_type_error(source: Any) -> None:
    with pytest.raises(TypeError, match="expected a path, bytes or a URL, not"):
        Image(source)


def test_types_guessed_from_a_url_are_those_that_providers_know() -> None:
    assert Audio("https://x.example/a.wav").media_type == "audio/wav"
    assert Audio("https://x.example/a.m4a").media_type == "audio/mp4"


def test_the_helpers_are_on_the_public_door() -> None:
    assert {"Audio", "Document", "Image"} <= set(dragoman.__all__)
