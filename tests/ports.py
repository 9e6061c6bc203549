"""Ports for tests that need a certain one: nobody is given it by chance."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def quiet_port(*hosts: str) -> int:
    """A port that is free on all these addresses, and that the system gives to nobody who asks for any.

    A port the system chose may be free on one address and taken on another, and is given away again once it is closed.
    """
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    span = first - 2048
    # Processes of the tests begin at different places, so that they do not try the same ports.
    for number in range(span):
        port = 2048 + (os.getpid() * 199 + number) % span
        if all(_is_free(host, port) for host in hosts):
            return port
    raise AssertionError(f"no port is free on {', '.join(hosts)}")


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


@contextmanager
def nobody_listening() -> Iterator[int]:
    """A port that stays taken, so that nobody else begins to listen there."""
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        yield deaf.getsockname()[1]
