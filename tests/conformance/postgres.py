"""A PostgreSQL server of our own, from Debian's packages, that ends with the test."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Server:
    """A server that listens on a socket in its own folder alone."""

    def __init__(self, folder: Path, *, is_durable: bool = False) -> None:
        self.folder, self._is_durable = folder, is_durable
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb")) or [shutil.which("initdb") or ""]
        assert found[-1], "PostgreSQL is not installed: .ci/install-packages postgresql"
        self._programs = Path(found[-1]).parent
        # The server refuses to run as root; Debian's package brings a user for it.
        self._user = "postgres" if os.geteuid() == 0 else None
        if self._user is not None:
            who = pwd.getpwnam(self._user)
            os.chown(folder, who.pw_uid, who.pw_gid)
        self._run("initdb", "-A", "trust", "-U", "dragoman", "-D", str(folder / "data"), "--no-sync")

    @property
    def address(self) -> str:
        return f"postgresql://dragoman@/postgres?host={self.folder}"

    def start(self) -> None:
        fsync = "on" if self._is_durable else "off"
        options = f"-c listen_addresses='' -k {self.folder} -c fsync={fsync} -c max_connections=100"
        self._control("start", "-w", "-l", str(self.folder / "log"), "-o", options)

    def stop(self, mode: str = "fast") -> None:
        """`immediate` is the end without a farewell: the server recovers when it starts."""
        self._control("stop", "-m", mode, "-w")

    def _control(self, *words: str) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), *words)

    def _run(self, program: str, *words: str) -> None:
        # Not in pipes: the server keeps what it inherits open.
        with open(self.folder.parent / f"{self.folder.name}.out", "ab") as out:
            command = [str(self._programs / program), *words]
            done = subprocess.run(command, stdout=out, stderr=out, user=self._user, cwd="/", timeout=60)
        assert done.returncode == 0, Path(out.name).read_text()


@contextmanager
def serving(*, is_durable: bool = False) -> Iterator[Server]:
    """A server that runs meanwhile; unless it is durable, a power cut may cost it what it stored last."""
    # Not below pytest's own folder: only its owner may look into that, and a socket's path has to be short.
    with tempfile.TemporaryDirectory(prefix="dragoman-") as place:
        os.chmod(place, 0o755)
        folder = Path(place) / "pg"
        folder.mkdir(mode=0o700)
        server = Server(folder, is_durable=is_durable)
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")
