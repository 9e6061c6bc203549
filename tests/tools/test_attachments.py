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


def test_the_helpers_are_on_the_public_door() -> None:
    assert {"Audio", "Document", "Image"} <= set(dragoman.__all__)
