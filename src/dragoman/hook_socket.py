"""The socket of `dragoman hook serve`, and the installed line that asks it before it decides by itself.

Rules: nothing is imported here that a new process does not have anyway, because this is what a hook costs while a
server runs. The server is believed only if its folder and its socket belong to this user and to nobody else, and if
its answer is whole; in every other case the caller decides in its own process. Nothing in a project's folder has a
part in it.
"""

from __future__ import annotations

import os
import signal
import stat
import sys

SECONDS = 4.0
"""How long a server may take. The process that asks then still has time to decide by itself."""
PAYLOAD_SECONDS = 8.0
"""How long the payload may take to come."""
DECIDING = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")
"""Variables, with all that begin with `DRAGOMAN_`, that lead to settings: a server with others does not answer."""
PROJECTS = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "FACTORY_PROJECT_DIR")
"""Variables in which a client names the folder of the work."""
_LONGEST = 64 * 1024 * 1024


def socket_path() -> str:
    """Where the socket is: in the user's runtime folder, or in their cache where the system has none."""
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    if not os.path.isabs(runtime) or not os.path.isdir(runtime):
        runtime = os.path.expanduser("~/.cache")
    return os.path.join(runtime, "dragoman-hook", "socket")


def is_private(path: str) -> bool:
    """Whether a socket is there that only this user can have made, in a folder that only this user can change."""
    try:
        folder, found = os.lstat(os.path.dirname(path)), os.lstat(path)
    except OSError:
        return False
    mine = folder.st_uid == found.st_uid == os.getuid()
    closed = not (folder.st_mode & 0o077 or found.st_mode & 0o077)
    return mine and closed and stat.S_ISDIR(folder.st_mode) and stat.S_ISSOCK(found.st_mode)


def deciding_variables() -> list[str]:
    """The variables that lead to settings, as `NAME=value`."""
    names = sorted(name for name in os.environ if name in DECIDING or name.startswith("DRAGOMAN_"))
    return [f"{name}={os.environ[name]}" for name in names]


def request(client: str | None, event: str | None, payload: bytes) -> bytes:
    """What is sent: the length of a head, the head, and the payload. Texts of the head are separated by NUL."""
    projects = [f"{name}={os.environ[name]}" for name in PROJECTS if name in os.environ]
    texts = [client or "", event or "", os.getcwd(), "\n".join(projects), *deciding_variables()]
    head = os.fsencode("\0".join(texts))
    return b"%d\n" % len(head) + head + payload


def read_request(data: bytes) -> tuple[list[str], bytes] | None:
    """The texts of the head, and the payload."""
    length, _, rest = data.partition(b"\n")
    if not length.isdigit() or len(length) > 9 or len(rest) < int(length):
        return None
    texts = os.fsdecode(rest[: int(length)]).split("\0")
    return (texts, rest[int(length) :]) if len(texts) >= 4 else None


def reply(code: int, note: str, out: str) -> bytes:
    """What is answered: exit code, the text for standard error and the text for standard output, with their lengths."""
    parts = [text.encode("utf-8", "surrogatepass") for text in (note, out)]
    return b"%d %d %d\n" % (code, len(parts[0]), len(parts[1])) + parts[0] + parts[1]


def read_reply(data: bytes) -> tuple[int, bytes, bytes] | None:
    """The parts of an answer; `None` for one that is not whole."""
    head, _, rest = data.partition(b"\n")
    numbers = head.split(b" ")
    if len(numbers) != 3 or not all(one.isdigit() and len(one) < 10 for one in numbers):
        return None
    code, noted, length = map(int, numbers)
    if len(rest) != noted + length:
        return None
    return code, rest[:noted], rest[noted:]


def ask(client: str | None, event: str | None, payload: bytes) -> tuple[int, bytes, bytes] | None:
    """What a server answers: exit code, text for standard error, text for standard output; `None` if none does."""
    path = socket_path()
    if not is_private(path):
        return None
    import socket

    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
            asking.settimeout(SECONDS)
            asking.connect(path)
            asking.sendall(request(client, event, payload))
            asking.shutdown(socket.SHUT_WR)
            pieces = []
            while piece := asking.recv(65536):
                pieces.append(piece)
    except (OSError, ValueError):
        return None
    return read_reply(b"".join(pieces))


def _payload() -> bytes:
    def late(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, PAYLOAD_SECONDS)
    try:
        return sys.stdin.buffer.read(_LONGEST + 1)
    except TimeoutError:
        return b""
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def answer_from_server(client: str | None, event: str | None) -> tuple[int | None, bytes | None]:
    """The exit code, if a server answered and its answer is printed, and the payload if it was read for that.

    A payload that does not come is an empty one, which is denied.
    """
    if not hasattr(os, "getuid") or not is_private(socket_path()):
        return None, None
    payload = _payload()
    found = ask(client, event, payload) if payload else None
    if found is None:
        return None, payload
    code, note, out = found
    sys.stderr.buffer.write(note)
    sys.stderr.flush()
    sys.stdout.buffer.write(out)
    sys.stdout.flush()
    return code, payload
