"""What the small logs of `samples.py` give, stored as one line for each event.

After a change that is meant: `python -m tests.logs.sample_events`, and look at the difference.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from dragoman.logs import FORMATS, read
from tests.logs.samples import SAMPLES

FOLDER = Path(__file__).with_name("events")
ALL = sorted(FORMATS.built_in)


def given(format: str, folder: Path) -> list[dict[str, Any]]:
    """The events of the samples of a format, without their places in the file and the path of the folder."""
    folder = folder / "home"  # Aider's sessions are named by their folder
    for name, data in SAMPLES[format]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    rows: list[dict[str, Any]] = []
    for name, _ in SAMPLES[format]:
        for event in read(folder / name):
            text = msgspec.json.encode(event).decode().replace(str(folder), "/logs")
            row = {"file": name, **json.loads(text)}
            row.pop("source", None)
            rows.append(row)
    return rows


def stored(format: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{format}.jsonl").read_text("utf-8").splitlines()]


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for format in ALL:
        with tempfile.TemporaryDirectory() as folder:
            lines = [json.dumps(row, ensure_ascii=True) for row in given(format, Path(folder).resolve())]
        (FOLDER / f"{format}.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")


if __name__ == "__main__":
    main()
