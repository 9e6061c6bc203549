"""All events of all recorded sessions are what they were, whatever was changed to read them faster.

One digest for each client is kept. `python -m tests.conformance.test_real_events` writes them again, for a reading that
was changed on purpose; with a file name as its argument it writes one digest for each log there, so that two versions
can be compared.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from dragoman.errors import LogError
from dragoman.logs import read, recognise
from tests.conformance.conftest import SHARED

DIGESTS = Path(__file__).parent / "real_events.json"
FOLDERS = ("traces", "traces-2", "traces-wild")


def logs() -> Iterator[tuple[str, str, str, int]]:
    """Each log: its client, its name, the digest of its events, and how many there are."""
    for folder in FOLDERS:
        for path in sorted((SHARED / folder).rglob("*")):
            try:
                format = recognise(path)[0] if path.is_file() else None
            except LogError:
                continue
            if format is None:
                continue
            digest, count = hashlib.sha256(), 0
            for event in read(format.whole(path), format.name):
                count += 1
                # Every field, with the types of all values; where the logs lie on this machine is no part of it.
                digest.update(repr(event).replace(str(SHARED), "").encode("utf-8", "surrogatepass"))
            yield format.name, str(path.relative_to(SHARED)), digest.hexdigest(), count


def digests() -> dict[str, str]:
    events: defaultdict[str, int] = defaultdict(int)
    lines: defaultdict[str, list[str]] = defaultdict(list)
    for client, name, digest, count in logs():
        events[client] += count
        lines[client].append(f"{name} {digest}")
    return {
        client: f"{events[client]} events of {len(of)} logs {hashlib.sha256(repr(of).encode()).hexdigest()[:16]}"
        for client, of in sorted(lines.items())
    }


def test_the_events_of_all_recorded_sessions_are_what_they_were() -> None:
    assert digests() == json.loads(DIGESTS.read_text())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text("".join(f"{name} {digest}\n" for _, name, digest, _ in logs()))
    else:
        DIGESTS.write_text(json.dumps(digests(), indent=0) + "\n")
