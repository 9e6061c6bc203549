"""A corpus in Azure's storage, as its emulator (Azurite, from npm) speaks it, and in Google's (`object_storage`)."""

from __future__ import annotations

import base64
import email.utils
import hashlib
import hmac
import re
import subprocess
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from dragoman.errors import LogError
from dragoman.logs.corpus import CorpusQuery, built, place_of, planned
from tests.conformance.object_storage import Puts, stored
from tests.conformance.packages import npm_package
from tests.conformance.test_corpus import SMALL, uploaded
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


class Service(NamedTuple):
    """What a place is called there, and what puts objects into it."""

    scheme: str
    puts: Puts

    def put(self, key: str, data: bytes) -> None:
        self.puts.put(key, data)


@contextmanager
def azurite() -> Iterator[Container]:
    program = npm_package("azurite", "3.37.0") / "dist" / "src" / "blob" / "main.js"
    options = ["--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry"]
    server = subprocess.Popen(
        ["node", str(program), "--blobHost", "127.0.0.1", "--blobPort", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        addresses = (re.search(r"listens on (http://\S+)", line) for line in server.stdout)
        address = next(found[1] for found in addresses if found is not None)
        rest = threading.Thread(target=server.stdout.read)  # it tells of each request
        rest.start()
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {
                "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
                "AZURE_STORAGE_ACCOUNT_KEY": KEY,
                "AZURE_STORAGE_ENDPOINT": f"{address}/{ACCOUNT}",
                "AZURE_ALLOW_HTTP": "true",
            }.items():
                patch.setenv(name, value)
            made = Container(address)
            made.put("", b"")
            yield made
        server.kill()
        rest.join()
    finally:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()


@pytest.fixture(scope="module", params=["az", "gs"])
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    if request.param == "gs":
        with stored() as bucket:
            yield Service("gs", bucket)
    else:
        with azurite() as container:
            yield Service("az", container)


def test_a_corpus_has_the_figures_of_the_logs_and_each_part_once(service: Service, tmp_path: Path) -> None:
    home = written(tmp_path / "logs", "claude_code", "codex", "gemini_cli")
    uploaded(service, home, "logs")
    source, to = place_of(f"{service.scheme}://company/logs"), place_of(f"{service.scheme}://company/corpus")
    plans = [planned(to, [source], part_bytes=SMALL) for _ in range(2)]
    counts = [built(plan) for plan in plans]
    assert (counts[0].parts, counts[1].made_elsewhere) == (len(plans[0].parts),) * 2
    assert counts[0].failures == counts[1].failures == []
    assert counts[0].parts > 1
    build(tmp_path / "local", home)
    with closing(CorpusQuery(to, tmp_path / "cache")) as remote, closing(asked(tmp_path / "local")) as local:
        remote.refresh()
        assert is_alike(list(figures(remote)), list(figures(local)))
    service.put("logs/claude_code/new.jsonl", CLAUDE.replace(b'"s-1"', b'"s-99"'))
    assert built(planned(to, [source], part_bytes=SMALL)).read == 1


def test_a_log_that_is_replaced_while_it_is_read_fails_and_is_read_next_time(service: Service, tmp_path: Path) -> None:
    service.put("changing/s.jsonl", CLAUDE)
    to, source = place_of(str(tmp_path / "corpus")), place_of(f"{service.scheme}://company/changing")
    plan = planned(to, [source])
    service.put("changing/s.jsonl", CLAUDE.replace(b'"s-1"', b'"s-2"'))
    ((address, reason),) = built(plan).failures
    assert (address, "changed while it was read" in reason) == (f"{service.scheme}://company/changing/s.jsonl", True)
    assert built(planned(to, [source])).read == 1


def test_a_name_that_is_no_path_is_told_and_other_folders_are_read(service: Service, tmp_path: Path) -> None:
    """Azure gives no list from a name on: what follows in the same folder cannot be read there, and that is told."""
    for name in ("a/s.jsonl", "b/s.jsonl", "b//s.jsonl", "c/s.jsonl"):
        service.put(f"strange/{name}", CLAUDE.replace(b'"s-1"', b'"%s"' % name.encode()))
    to = place_of(str(tmp_path / "corpus"))
    counts = built(planned(to, [place_of(f"{service.scheme}://company/strange")]))
    assert counts.read >= 2
    assert any(f"{service.scheme}://company/strange/b" in address for address, _ in counts.failures)
    with closing(asked(tmp_path / "corpus")) as query:
        assert {row.session for row in query.sessions()} >= {"a/s.jsonl", "c/s.jsonl"}


def test_a_container_that_is_not_there_is_told(service: Service, tmp_path: Path) -> None:
    with pytest.raises(LogError, match=f"{service.scheme}://nobody"):
        planned(place_of(str(tmp_path)), [place_of(f"{service.scheme}://nobody/logs")])


@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_a_part_whose_answer_was_lost_counts_as_made_here(tmp_path: Path, scheme: str) -> None:
    home = written(tmp_path / "logs", "claude_code", "codex")
    with stored("--lose-answers"):
        to = place_of(f"{scheme}://company/corpus")
        plan = planned(to, [place_of(str(home))], part_bytes=SMALL)
        counts = built(plan)
    assert (counts.parts, counts.made_elsewhere, counts.failures) == (len(plan.parts), 0, [])
