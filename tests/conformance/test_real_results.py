"""Real results are read, and written again, as they were: a digest per vocabulary and tool is kept.

`python -m tests.conformance.test_real_results` writes the digests again, for a reading that was changed on purpose.
With a file name as its argument it writes the cases themselves there, so that two versions can be compared.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from dragoman.dialects import DIALECTS
from dragoman.errors import LogError
from dragoman.logs import FORMATS, read, recognise
from dragoman.model import ToolCalled, ToolReturned
from tests.conformance.conftest import SHARED

DIGESTS = Path(__file__).parent / "real_results.json"


@cache
def cases() -> dict[str, set[str]]:
    """Vocabulary and tool → its distinct results, each with how it is read and written again, as JSON."""
    found: dict[str, set[str]] = defaultdict(set)
    for folder in ("traces", "traces-2", "traces-wild"):
        for path in sorted((SHARED / folder).rglob("*")):
            for called, returned in _answered(path):
                dialect = FORMATS[called.client or ""].dialect
                again = DIALECTS[dialect].write_result(called.call, returned.result.outcomes)
                shown = (returned.result.native, returned.result.outcomes, again.content)
                found[f"{dialect} {called.call.native.name}"].add(msgspec.json.encode(shown).decode())
    return found


def _answered(path: Path) -> Iterator[tuple[ToolCalled, ToolReturned]]:
    try:
        format = recognise(path)[0].name if path.is_file() else None
    except LogError:
        return
    calls: dict[str | None, ToolCalled] = {}
    for event in () if format is None else read(path, format):
        if isinstance(event, ToolCalled):
            calls[event.call_id] = event
        elif isinstance(event, ToolReturned) and event.call_id in calls and event.result.native is not None:
            yield calls[event.call_id], event


def digests() -> dict[str, str]:
    return {
        tool: f"{len(texts)} {hashlib.sha256(json.dumps(sorted(texts)).encode()).hexdigest()[:16]}"
        for tool, texts in sorted(cases().items())
    }


def test_real_results_are_read_and_written_as_before() -> None:
    assert digests() == json.loads(DIGESTS.read_text())


if __name__ == "__main__":
    if sys.argv[1:]:
        Path(sys.argv[1]).write_text(json.dumps({tool: sorted(texts) for tool, texts in sorted(cases().items())}))
    else:
        DIGESTS.write_text(json.dumps(digests(), indent=0) + "\n")
