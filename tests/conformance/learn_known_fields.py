"""Writes `src/dragoman/logs/history/known/`: the names and kinds of fields in captured sessions. `make known` runs it.

Sessions below `traces` and `traces-2` were captured from clients that were run; of those in `traces-wild` the index
says which are as a client left them. Of a format nobody captured, all there is counts, our own samples too, and the
names in the source of its reader are those that are read. Nothing but names of fields, kinds of values and versions is
written.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec

from dragoman.dialects.base import uncaptured
from dragoman.logs import Found, Originals
from dragoman.logs.history import find_logs, read_log
from dragoman.logs.history.known_fields import FOLDER, NO_VERSION, Counted, Known
from dragoman.logs.history.observed import Observed, is_document
from dragoman.logs.history.record_fields import is_name
from dragoman.registry import FORMATS
from tests.conformance.conftest import SHARED
from tests.logs.learner import Evidence, Learner
from tests.logs.samples import SAMPLES

WILD = SHARED / "traces-wild"
_VERSION_OF_FOLDER = re.compile(r"@(\d[\w.+-]*)")
_PRINTED = re.compile(r"/stream\d*\.jsonl|-stream/|exec-json/")


def found_logs() -> Iterator[tuple[Found, Evidence]]:
    """Every log below the shared folders that is read, with what it is evidence of."""
    with (WILD / "index.jsonl").open() as lines:
        origins = {row["path"]: row["origin"] for row in map(json.loads, lines)}
    for folder in (SHARED / "traces", SHARED / "traces-2"):
        for found in find_logs(str(folder)):
            if is_of_its_client(found):
                yield found, "captured"
    for found in find_logs(str(WILD)):
        origin = origins.get(str(found.path.relative_to(WILD)), "")
        yield found, "found" if origin == "recorded" else "made"


def is_of_its_client(found: Found) -> bool:
    """Whether a captured log is read as what it is: one of a client without a format may look like another's."""
    return found.format not in CLIENTS or found.format == client_of(found.path.relative_to(SHARED).parts[1])


def client_of(folder: str) -> str:
    """The client whose sessions a folder has: `claude-code@2.1.54` → `claude_code`."""
    return folder.partition("@")[0].replace("-", "_")


CLIENTS = {client_of(path.name) for folder in ("traces", "traces-2") for path in (SHARED / folder).iterdir()}


def observed(found: Found) -> tuple[Observed, Counted]:
    """A log as drift sees it."""
    seen = Observed(found)
    for event in read_log(found):
        seen.event(event)
    return seen, seen.finish()


def version_of(seen: Observed) -> str:
    """The newest version a log names, else that of its folder."""
    if seen.versions:
        return max(seen.versions, key=lambda version: [int(digits) for digits in re.findall(r"\d+", version)])
    of_folder = _VERSION_OF_FOLDER.search(str(seen.found.path))
    return of_folder[1] if of_folder else NO_VERSION


def learnt() -> dict[str, Known]:
    """What the sessions show of each client."""
    learners: dict[str, Learner] = defaultdict(Learner)
    both = clients_of_both_forms()
    with Originals() as originals, tempfile.TemporaryDirectory() as folder:
        for found, evidence in [*found_logs(), *own_samples(Path(folder))]:
            if found.format == "dragoman":
                continue
            seen, counted = observed(found)
            for kind, sources in seen.kinds(originals, seen.noted).items():
                notes = sum(seen.noted[source] for source in sources)
                seen.readings.records[kind] = [len(sources), notes]
            form = "printed" if _PRINTED.search(str(found.path)) else "log"
            if form == "log" and found.format in both and is_document(found.path):
                form = "document"
            if FORMATS[found.format].captured:
                learners[found.format].learn(form, version_of(seen), counted, seen.readings, evidence)
            else:
                learners[found.format].learn(form, NO_VERSION, counted, seen.readings, "captured")
    return {client: learner.known(names_read(client)) for client, learner in learners.items()}


def clients_of_both_forms() -> set[str]:
    """Clients of which captured logs are documents as well as lines."""
    captured = [
        found
        for found, evidence in found_logs()
        if evidence == "captured" and not _PRINTED.search(str(found.path))
        if found.path.suffix in (".json", ".jsonl")
    ]
    documents = {found.format for found in captured if is_document(found.path)}
    return documents & {found.format for found in captured if not is_document(found.path)}


def own_samples(folder: Path) -> Iterator[tuple[Found, Evidence]]:
    """Our samples of formats nobody captured."""
    for format in (name for name in SAMPLES if not FORMATS[name].captured):
        for number, (name, data) in enumerate(SAMPLES[format]):
            path = folder / format / str(number) / name
            path.parent.mkdir(parents=True)
            path.write_bytes(data)
            yield Found(path, format), "made"


def names_read(format: str) -> set[str]:
    """The names of fields in the source of a reader, for a format nobody captured."""
    if FORMATS[format].captured:
        return set()
    module = sys.modules[type(FORMATS[format]).__module__]
    parts = {inspect.getmodule(one) for one in vars(module).values() if inspect.isfunction(one)} - {None, module}
    sources = [module, *(one for one in parts if one is not None and ".formats.parts." in one.__name__), uncaptured]
    return {
        node.value
        for one in sources
        for node in ast.walk(ast.parse(inspect.getsource(one)))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and is_name(node.value)
    }


def written(known: Known) -> bytes:
    """As it stands in its file: one line for each place, so that a change of it can be read."""
    return re.sub(rb',("[^"]+":\[\{)', rb",\n\1", msgspec.json.encode(known)) + b"\n"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.json"):
        path.unlink()
    for client, known in learnt().items():
        Path(FOLDER, f"{client}.json").write_bytes(written(known))


if __name__ == "__main__":
    main()
