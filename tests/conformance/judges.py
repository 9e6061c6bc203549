"""Those who know other formats best, in an environment of their own under .lab/: they judge what we export."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from bench.environments import LAB, uv

# Harbor wants a newer Python than ours for its sandboxes; its validator runs on any that pydantic does.
ALONE = ("harbor>=0.25",)
PACKAGES = ("pydantic>=2.12", "opentelemetry-proto>=1.36", "polars>=1.30")

TRAJECTORIES = """
import json, sys
from harbor.utils.trajectory_validator import TrajectoryValidator
validator, found = TrajectoryValidator(), {}
for path in map(str.rstrip, sys.stdin):
    for number, line in enumerate(open(path, encoding="utf-8")):
        if not validator.validate(json.loads(line)):
            found[f"{path}:{number}"] = validator.get_errors()
print(json.dumps(found))
"""

# OTLP writes ids in hexadecimal where protobuf's own JSON has base64: the one difference between the two.
SPANS = """
import base64, json, sys
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
found = {}
for path in map(str.rstrip, sys.stdin):
    document = json.load(open(path, encoding="utf-8"))
    try:
        for resource in document["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    for name in {"traceId", "spanId", "parentSpanId"} & span.keys():
                        span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
        parsed = ParseDict(document, TracesData())
        spans = [one for resource in parsed.resource_spans for scope in resource.scope_spans for one in scope.spans]
        ids = {span.span_id for span in spans}
        assert len(ids) == len(spans), "a span id is there twice"
        for span in spans:
            assert (len(span.trace_id), len(span.span_id)) == (16, 8), "an id of the wrong length"
            assert not span.parent_span_id or span.parent_span_id in ids, "a parent that is not there"
            assert span.start_time_unix_nano <= span.end_time_unix_nano, "it ends before it begins"
    except Exception as error:
        found[path] = [f"{type(error).__name__}: {error}"]
print(json.dumps(found))
"""

TABLES = """
import json, sys
from pathlib import Path
import polars
print(json.dumps({
    folder: {path.stem: [polars.read_parquet(path).columns, len(polars.read_parquet(path))]
             for path in sorted(Path(folder).glob("*.parquet"))}
    for folder in map(str.rstrip, sys.stdin)
}))
"""


def judged(program: str, paths: list[Path]) -> Any:
    """What a judge's program says of these files."""
    words = [str(_python()), "-c", program]
    done = subprocess.run(words, input="\n".join(map(str, paths)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _python() -> Path:
    home = LAB / "judges"
    wanted = "\n".join((*ALONE, *PACKAGES))
    stamp = home / "made-from"
    if not stamp.exists() or stamp.read_text() != wanted:
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent) as beside:
            made = Path(beside) / "judges"
            _make(made)
            (made / "made-from").write_text(wanted)
            shutil.rmtree(home, ignore_errors=True)
            made.rename(home)  # whole or not at all
    return home / "bin" / "python"


def _make(folder: Path) -> None:
    import sys

    uv("venv", "--seed", "--python", sys.executable, str(folder))
    python = str(folder / "bin" / "python")
    uv("pip", "install", "--python", python, *PACKAGES)
    alone = ("--quiet", "--no-deps", "--ignore-requires-python")  # which only pip can
    subprocess.run([python, "-m", "pip", "install", *alone, *ALONE], check=True, capture_output=True)
