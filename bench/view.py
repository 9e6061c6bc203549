"""The first screens of `dragoman view` over very many sessions and of a very long one: CPU time of its process.

The home is made once: `DRAGOMAN_BENCH_LISTED` small sessions (100,000), a tenth of them in a home of its own, and one
session of 50,000 events. The index is up to date and the command has started when a screen is asked for.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from bench.benches import Bench, Target
from bench.environments import LAB
from bench.history import MEGABYTE, _seconds_of

OURS, ALLOWED = "ours", "allowed"
SECONDS = 0.3
EVENTS = 50_000
LONG = "long-session"
SCREENS = {
    "list": "/",
    "session": f"/session/{LONG}",
    "window": f"/session/{LONG}?from=21000",
    "changes": f"/session/{LONG}?tab=changes&all=1",
    "timeline": f"/session/{LONG}?tab=timeline&all=1",
    "raw": f"/session/{LONG}?tab=raw&from=12000",
}
WORDS = {
    "list": "sessions</h1>",
    "session": "The first 150 entries of a session of 50,",
    "window": "21,001–21,150",
    "changes": "No file was changed",
    "timeline": "A lane for the model of each agent",
    "raw": "12,001–12,060",
}
READ_BEFORE = ("window", "changes", "timeline", "raw")
"""Screens of a session that was read before: that happens once, whatever is shown of it."""
VISITED = 30
"""Pages of the list that are turned over, and sessions that are opened, before memory is looked at."""
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def _lines(session: str, number: int, turns: int) -> Iterator[str]:
    head = {"sessionId": session, "version": "2.1.300", "cwd": f"/home/user/project{number % 40:02}"}
    usage = {"input_tokens": 900 + number % 100, "cache_read_input_tokens": 7000, "output_tokens": 120}
    for turn in range(turns):
        time = BEGAN + timedelta(minutes=number * 3, seconds=turn * 4)
        call = {"type": "tool_use", "id": f"c{turn}", "name": "Bash", "input": {"command": f"pytest -q tests/{turn}"}}
        result = {"type": "tool_result", "tool_use_id": f"c{turn}", "content": f"{turn} passed in 0.3s"}
        model = {"role": "assistant", "model": "claude-sonnet-4-5", "usage": usage}
        said = (
            ("user", {"role": "user", "content": f"Fix number {number} in part {turn}, please."}),
            ("assistant", {**model, "id": f"m{session}{turn}a", "content": [{"type": "text", "text": "Now."}, call]}),
            ("user", {"role": "user", "content": [result]}),
            ("assistant", {**model, "id": f"m{session}{turn}b", "content": [{"type": "text", "text": "Done."}]}),
        )
        for place, (kind, message) in enumerate(said):
            stamp = (time + timedelta(seconds=place)).isoformat().replace("+00:00", "Z")
            record = {**head, "type": kind, "uuid": f"{session}-{turn}-{place}", "timestamp": stamp, "message": message}
            yield json.dumps(record) + "\n"


def home(share: int = 1) -> Path:
    """The home, made when it is not there yet."""
    count = int(os.environ.get("DRAGOMAN_BENCH_LISTED", "100000")) // share
    place = LAB / f"listed-{count}"
    if not place.is_dir():
        making = LAB / f"listed-{count}.making"
        shutil.rmtree(making, ignore_errors=True)
        for number in range(count):
            folder = making / ".claude" / "projects" / f"-home-user-project{number % 40:02}"
            if number < 40:
                folder.mkdir(parents=True)
            (folder / f"s{number:06}.jsonl").write_text("".join(_lines(f"s{number:06}", number, 1)))
        with (folder / f"{LONG}.jsonl").open("w") as file:
            file.writelines(_lines(LONG, 7, EVENTS // 7 + 1))
        making.rename(place)
    return place


class Viewed:
    """A page that is open."""

    def __init__(self, process: int, opening: str) -> None:
        self.process = process
        address = urlsplit(opening)
        self._connection = http.client.HTTPConnection("127.0.0.1", address.port or 0, timeout=600)
        self._cookie = ""
        self._cookie = str(self._asked(f"{address.path}?{address.query}")[1]["Set-Cookie"]).partition(";")[0]

    def _asked(self, path: str) -> tuple[int, http.client.HTTPMessage, bytes]:
        self._connection.request("GET", path, headers={"Cookie": self._cookie} if self._cookie else {})
        answer = self._connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def get(self, path: str) -> str:
        """A screen."""
        status, _, body = self._asked(path)
        if status != 200:
            raise SystemExit(f"{path} was answered with {status}")
        return body.decode()

    def seconds(self, path: str, words: str) -> float:
        """CPU time of the server for a screen, which holds these words."""
        before = _seconds_of(self.process)
        text = self.get(path)
        took = _seconds_of(self.process) - before
        if words not in text:
            raise SystemExit(f"{path} does not say {words!r}")
        return took

    def megabytes(self) -> float:
        """The most memory that the server had."""
        status = Path(f"/proc/{self.process}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / MEGABYTE


@contextmanager
def viewing(share: int = 1) -> Iterator[Viewed]:
    place = home(share)
    cache = LAB / f"{place.name}-cache"
    variables = {"HOME": str(place), "DRAGOMAN_CACHE_DIR": str(cache), "DRAGOMAN_DATA_DIR": str(cache)}
    # A process of its own makes the index: what that takes is another question.
    command = [sys.executable, "-I", "-m", "dragoman"]
    surroundings = {name: value for name, value in os.environ.items() if name != "CLAUDE_CONFIG_DIR"} | variables
    subprocess.run([*command, "usage", "daily"], check=True, env=surroundings, stdout=subprocess.DEVNULL)
    subprocess.run([*command, "sessions"], check=True, env=surroundings, stdout=subprocess.DEVNULL)
    process = subprocess.Popen(
        [*command, "view", "--no-open", "--json"], env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert process.stdout is not None
        yield Viewed(process.pid, json.loads(process.stdout.readline())["open"])
    finally:
        process.terminate()
        process.wait()


def _first(name: str) -> Callable[[str], list[float]]:
    path, words = SCREENS[name], WORDS[name]

    def measure(column: str) -> list[float]:
        if column == ALLOWED:
            return [SECONDS]
        with viewing() as page:
            if name in READ_BEFORE:
                page.get(f"/session/{LONG}?from=150")
            return [page.seconds(path, words)]

    return measure


def measure_memory(column: str) -> list[float]:
    """The most memory of the server, after pages were turned over and sessions were opened."""
    with viewing(10 if column.endswith("a tenth") else 1) as page:
        for number in range(VISITED):
            page.get(f"/?page={number * 3 + 1}")
            page.get(f"/session/s{number * 7:06}")
        page.get(f"/session/{LONG}")
        return [page.megabytes()]


BENCHES = {
    name: Bench(
        question="the first screen of all sessions" if name == "list" else f"{name} of a session of {EVENTS:,} events",
        environments=dict.fromkeys((OURS, ALLOWED), "base"),
        floor=ALLOWED,
        targets=(Target(OURS, ALLOWED, 1),),
        measure=_first(name),
    )
    for name in SCREENS
} | {
    "memory": Bench(
        question="megabytes of the page after many screens, and over a tenth of the sessions",
        environments=dict.fromkeys((OURS, f"{OURS}, a tenth"), "base"),
        floor=f"{OURS}, a tenth",
        targets=(Target(OURS, f"{OURS}, a tenth", 1.3),),
        measure=measure_memory,
    )
}
