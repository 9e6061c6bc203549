"""Drift over real sessions: what scripts made up is found, and what clients really say is known."""

from __future__ import annotations

import json

import jsonschema

from dragoman.logs import Found
from dragoman.logs.history import check_drift, extract_shapes
from tests.conformance.conftest import SHARED
from tests.conformance.test_history_export import TRACES, log_files

FILES = [
    one
    for client in sorted(path for path in TRACES.iterdir() if path.is_dir())
    for session in sorted(path for path in client.iterdir() if (path / "home").is_dir())
    for one in log_files(session / "home")
]


def test_no_name_that_a_script_made_up_is_drift() -> None:
    """A client refuses a name that it does not know, or was stopped before it could: neither is a new tool of it."""
    report = check_drift(FILES)
    assert sorted((one.client, one.kind, one.what) for one in report.drifts) == []
    assert report.calls > 1300


def test_every_scripted_tool_a_client_logged_has_a_shape_and_all_shapes_are_schemas() -> None:
    learnt = extract_shapes(FILES)
    for versions in learnt.values():
        for shapes in versions.values():
            document = shapes.document()
            for schema in (*document["tools"].values(), *document["records"].values()):
                jsonschema.Draft202012Validator.check_schema(schema)
    named = {name for its in learnt.values() for shapes in its.values() for name in shapes.tools}
    assert {"Bash", "Read", "exec_command", "apply_patch", "run_shell_command", "bash", "view"} <= named
    versions = {client: sorted(its) for client, its in learnt.items()}
    assert len(versions["codex"]) >= 7
    assert len(versions["claude_code"]) >= 7
    assert len(json.dumps(document)) > 1000


def test_logs_from_the_wild_are_checked_and_only_tools_of_nobody_are_new() -> None:
    files: list[Found] = list(log_files(SHARED / "traces-wild"))
    report = check_drift(files)
    assert (report.files, report.calls > 3000) == (len(files), True)
    new = {(one.client, one.name) for one in report.drifts if one.kind == "new_tool"}
    assert new <= {
        ("claude_code", "FailingTool"),
        ("claude_code", "ReadFile"),
        ("claude_code", "SearchCode"),
        ("gemini_cli", "search"),
        ("pi", "read_file"),
    }
    of_all_replies = ("without_tokens", "without_calls")
    assert all(one.source is not None or one.kind in of_all_replies for one in report.drifts)
    assert all(one.count >= 1 for one in report.drifts)
