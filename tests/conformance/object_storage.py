"""A server of object storage for tests: moto, one request at a time, for clients of S3 and of Google Cloud Storage.

`python -m tests.conformance.object_storage` prints the port it was given and serves until it is killed. With
`--lose-answers` it does what it is asked, and the first time it writes an object it says that it failed.

One request at a time, because moto 5.2.5 looks whether there is an object and writes it in two steps: of four writers
of one name, two were told now and then that they were first (3 of 150 tries), or one got status 500 (2). A service does
both in one step.

Google's XML interface has the requests, lists and errors of S3, and other names for headers. The only one that is
needed here is that of a conditional put: `x-goog-if-generation-match: 0` is `If-None-Match: *`.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol

import pytest

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Puts(Protocol):
    """A place that objects can be put into."""

    def put(self, key: str, data: bytes) -> None: ...


class Stored:
    """A bucket, written to with plain requests."""

    def __init__(self, address: str) -> None:
        self.address = address

    def put(self, key: str, data: bytes) -> None:
        address = f"{self.address}/{urllib.parse.quote(key)}" if key else self.address
        headers = {"Content-Type": "application/octet-stream", "Authorization": "AWS key:signature"}
        urllib.request.urlopen(urllib.request.Request(address, data, headers, method="PUT")).close()


@contextmanager
def stored(*options: str) -> Iterator[Stored]:
    """The bucket `company` of a new server, which the environment names as it would a real one."""
    with served(*options) as address, pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": address,
            "AWS_ALLOW_HTTP": "true",
            "GOOGLE_BASE_URL": address,
            "GOOGLE_BEARER_TOKEN": "token",
            "GOOGLE_ALLOW_HTTP": "true",
        }.items():
            patch.setenv(name, value)
        bucket = Stored(f"{address}/company")
        bucket.put("", b"")
        yield bucket


@contextmanager
def served(*options: str) -> Iterator[str]:
    """The address of a new server."""
    # It chooses its port itself: one that was found free here may be another program's when the server has begun.
    command = [sys.executable, "-m", "tests.conformance.object_storage", *options]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert server.stdout is not None
    try:
        if not (port := server.stdout.readline().strip()):
            raise RuntimeError(f"the server of object storage ended with status {server.wait()}")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def one_at_a_time(application: Application, *, loses_answers: bool) -> Application:
    """The same, with the name that Google has for a condition."""
    lock = threading.Lock()
    written: set[str] = set()

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if environ.pop("HTTP_X_GOOG_IF_GENERATION_MATCH", None) == "0":
            environ["HTTP_IF_NONE_MATCH"] = "*"
        with lock:
            is_first = environ.get("HTTP_IF_NONE_MATCH") == "*" and environ["PATH_INFO"] not in written
            if loses_answers and is_first:
                written.add(environ["PATH_INFO"])
                list(application(environ, lambda *_: None))
                start("503 Service Unavailable", [("Content-Length", "0")])
                return []
            return list(application(environ, start))

    return answer


def main() -> None:
    moto: Any = import_module("moto.moto_server.threaded_moto_server")
    every = moto.DomainDispatcherApplication(moto.create_backend_app)
    application = one_at_a_time(every, loses_answers="--lose-answers" in sys.argv)
    server = moto.make_server("127.0.0.1", 0, application, True, request_handler=moto.MotoRequestHandler)
    print(server.port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
