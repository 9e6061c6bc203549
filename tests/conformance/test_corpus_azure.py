"""A corpus in Azure's storage, as its emulator (Azurite, from npm) speaks it."""

from __future__ import annotations

import base64
import email.utils
import hashlib
import hmac
import socket
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dragoman.errors import LogError
from dragoman.logs.corpus import CorpusQuery, built, place_of, planned
from tests.conformance.packages import npm_package
from tests.conformance.test_corpus import SMALL, uploaded, wait_for
from tests.logs.samples import CLAUDE
from tests.logs.test_corpus import asked, build, figures, is_alike, written

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The emulator's account and key, which its documentation gives for everybody."""


class Container:
    """A container, written to with requests signed here: names that are no paths too."""

    def __init__(self, address: str) -> None:
        self.address = address

    def put(self, key: str, data: bytes) -> None:
        kind = "application/octet-stream"
        headers = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
        if key:
            headers["x-ms-blob-type"] = "BlockBlob"
        path, query = f"/{ACCOUNT}/company", "" if key else "restype=container"
        path += f"/{urllib.parse.quote(key)}" if key else ""
        signed = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()))
        resource = f"/{ACCOUNT}{path}" + (f"\n{query.replace('=', ':')}" if query else "")
        text = f"PUT\n\n\n{len(data) or ''}\n\n{kind}\n\n\n\n\n\n\n{signed}{resource}"
        mark = base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()
        headers |= {"Authorization": f"SharedKey {ACCOUNT}:{mark}", "Content-Type": kind}
        address = f"{self.address}{path}" + (f"?{query}" if query else "")
        urllib.request.urlopen(urllib.request.Request(address, data, headers, method="PUT")).close()


@pytest.fixture(scope="module")
def container() -> Iterator[Container]:
    program = npm_package("azurite", "3.37.0") / "dist" / "src" / "blob" / "main.js"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent"]
    server = subprocess.Popen(
        ["node", str(program), "--blobHost", "127.0.0.1", "--blobPort", str(port), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    patch = pytest.MonkeyPatch()
    for name, value in {
        "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
        "AZURE_STORAGE_ACCOUNT_KEY": KEY,
        "AZURE_STORAGE_ENDPOINT": f"{address}/{ACCOUNT}",
        "AZURE_ALLOW_HTTP": "true",
    }.items():
        patch.setenv(name, value)
    try:
        wait_for(port)
        made = Container(address)
        made.put("", b"")
        yield made
    finally:
        server.kill()
        server.wait()
        patch.undo()


def test_a_corpus_has_the_figures_of_the_logs_and_each_part_once(container: Container, tmp_path: Path) -> None:
    home = written(tmp_path / "logs", "claude_code", "codex", "gemini_cli")
    uploaded(container, home, "logs")
    source, to = place_of("az://company/logs"), place_of("az://company/corpus")
    plans = [planned(to, [source], part_bytes=SMALL) for _ in range(2)]
    counts = [built(plan) for plan in plans]
    assert (counts[0].parts, counts[1].made_elsewhere) == (len(plans[0].parts),) * 2
    assert counts[0].failures == counts[1].failures == []
    assert counts[0].parts > 1
    build(tmp_path / "local", home)
    with closing(CorpusQuery(to, tmp_path / "cache")) as remote, closing(asked(tmp_path / "local")) as local:
        remote.refresh()
        assert is_alike(list(figures(remote)), list(figures(local)))
    container.put("logs/claude_code/new.jsonl", CLAUDE.replace(b'"s-1"', b'"s-99"'))
    assert built(planned(to, [source], part_bytes=SMALL)).read == 1


def test_a_log_that_is_replaced_while_it_is_read_fails_and_is_read_next_time(
    container: Container, tmp_path: Path
) -> None:
    container.put("changing/s.jsonl", CLAUDE)
    to, source = place_of(str(tmp_path / "corpus")), place_of("az://company/changing")
    plan = planned(to, [source])
    container.put("changing/s.jsonl", CLAUDE.replace(b'"s-1"', b'"s-2"'))
    ((address, reason),) = built(plan).failures
    assert (address, "changed while it was read" in reason) == ("az://company/changing/s.jsonl", True)
    assert built(planned(to, [source])).read == 1


def test_a_name_that_is_no_path_is_told_and_other_folders_are_read(container: Container, tmp_path: Path) -> None:
    """Azure gives no list from a name on: what follows in the same folder cannot be read, and that is told."""
    for name in ("a/s.jsonl", "b/s.jsonl", "b//s.jsonl", "c/s.jsonl"):
        container.put(f"strange/{name}", CLAUDE.replace(b'"s-1"', b'"%s"' % name.encode()))
    to = place_of(str(tmp_path / "corpus"))
    counts = built(planned(to, [place_of("az://company/strange")]))
    assert counts.read >= 2
    assert any("az://company/strange/b" in address for address, _ in counts.failures)
    with closing(asked(tmp_path / "corpus")) as query:
        assert {row.session for row in query.sessions()} >= {"a/s.jsonl", "c/s.jsonl"}


def test_a_container_that_is_not_there_is_told(container: Container, tmp_path: Path) -> None:
    with pytest.raises(LogError, match="az://nobody"):
        planned(place_of(str(tmp_path)), [place_of("az://nobody/logs")])
