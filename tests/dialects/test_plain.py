"""How plain words tell results: in sentences, or as the file or page itself."""

from __future__ import annotations

import pytest

from dragoman.dialects import DIALECTS
from dragoman.model import NativeCall, NativeResult, operations as op, outcomes as out
from dragoman.tools import MemoryWorkspace, perform, standard_context

PLAIN = DIALECTS["plain"]
PLAN = (op.PlanItem("Read", "completed", "1"), op.PlanItem("Write", "in_progress", "2", blocked_by=("1",)))
TOLD: list[tuple[op.Operation, out.Outcome, str]] = [
    (
        op.WriteFile("a.md", "x"),
        out.ChangesOutcome((out.Change("a.md", "created", added=2),)),
        "Created a.md (2 lines added).",
    ),
    (
        op.EditFile("a.md", ()),
        out.ChangesOutcome((out.Change("a.md", "modified", added=1, removed=3, replacements=1),)),
        "Changed a.md (1 replacement, 1 line added, 3 lines removed).",
    ),
    (op.DeleteFile("a.md"), out.ChangesOutcome((out.Change("a.md", "deleted"),)), "Deleted a.md."),
    (
        op.MoveFile("a.md", "b.md"),
        out.ChangesOutcome((out.Change("a.md", "moved", "b.md"),), skipped=2),
        "Moved a.md to b.md.\nSkipped 2 files.",
    ),
    (op.UndoEdit("a.md"), out.ChangesOutcome(()), "Nothing was changed."),
    (
        op.FetchPage("https://a.b"),
        out.PagesOutcome((out.Page("https://a.b", "Tea", "A drink.", status=200, total_chars=90, truncated=True),)),
        "URL: https://a.b\nStatus: 200\nTitle: Tea\n\nA drink.\n[cut here; 90 characters in all]",
    ),
    (
        op.DeleteFile("a.md"),
        out.UnknownOutcome("the process ended"),
        "It is not known whether this was done: the process ended",
    ),
    (op.ReadPlan(), out.PlanOutcome((op.PlanItem("Read"),)), "1. [pending] Read"),
    (op.ReadFile("a.md"), out.FileOutcome("a.md", "one\ntwo\n"), "1\tone\n2\ttwo"),
    (op.ReadFile("a.md"), out.FileOutcome("a.md", "one\ntwo"), "1\tone\n2\ttwo\n[no newline at the end]"),
    (op.ReadFile("a.md"), out.FileOutcome("a.md", "one\n\n"), "1\tone\n2\t"),
    (op.ReadFile("a.md"), out.FileOutcome("a.md", ""), "[no lines]"),
]
SAID: list[tuple[op.Operation, out.Outcome, str]] = [
    (
        op.SpawnAgent("go"),
        out.AgentsOutcome((out.AgentReport("a1", "completed", "Here it is.", agent="helper"),)),
        "Agent helper (id a1) completed its task:\nHere it is.",
    ),
    (
        op.FetchPage("https://a.b", "the price"),
        out.PagesOutcome((out.Page("https://a.b", "Shop"),), answer="40 euros"),
        "40 euros\n\nSources:\n- Shop: https://a.b",
    ),
    (
        op.ReadPlan(),
        out.PlanOutcome(PLAN, "Two steps."),
        "Two steps.\n\n1. [completed] Read (id 1)\n2. [in_progress] Write (id 2; waits for 1)",
    ),
    (op.ListCommands(), out.JobsOutcome((out.Job("1", "make", False, 2),)), "Job 1: ended with exit code 2: make"),
    (
        op.AskUser(()),
        out.AnswersOutcome((out.Answer("Tea?", ("green", "black"), "no milk"),)),
        "Question: Tea?\nAnswer: green, black, no milk",
    ),
    (
        op.SearchTools("mail"),
        out.ToolsOutcome(("send_mail",), ({"name": "send_mail", "description": "Send it.\nNow."},)),
        "Tools you can call from now on:\n- send_mail: Send it.",
    ),
    (
        op.ReadFiles(("*",)),
        out.FilesOutcome((out.FileOutcome("a", "x\n"),), {"b": "too large"}),
        "== a\n1\tx\n\nSkipped b: too large",
    ),
    (
        op.RewriteCode("a", "b", "python", preview=True),
        out.ChangesOutcome((out.Change("a.py", "modified", diff="-a\n+b\n"),), preview=True),
        "Preview; no file was changed.\nChanged a.py.\n-a\n+b\n",
    ),
]


def told(operation: op.Operation, outcome: out.Outcome) -> tuple[object, out.Outcome]:
    call = PLAIN.read_call(PLAIN.write_call("1", operation)[0])
    result = PLAIN.write_result(call, (outcome,))
    return result.content, PLAIN.read_result(call, result).outcomes[0]


@pytest.mark.parametrize("operation, outcome, text", TOLD)
def test_an_outcome_is_told_in_sentences_and_read_back(
    operation: op.Operation, outcome: out.Outcome, text: str
) -> None:
    assert told(operation, outcome) == (text, outcome)


@pytest.mark.parametrize("operation, outcome, text", SAID)
def test_an_outcome_is_told_in_sentences(operation: op.Operation, outcome: out.Outcome, text: str) -> None:
    assert told(operation, outcome) == (text, out.TextOutcome(text))


@pytest.mark.parametrize(
    "path, arguments", [("", {}), (".", {}), ("src", {"prefix": "src/"}), ("src/", {"prefix": "src/"})]
)
def test_an_empty_prefix_is_the_folder_it_is_given_for(path: str, arguments: dict[str, str]) -> None:
    (call,) = PLAIN.write_call("1", op.ListDirectory(path, prefix=""))
    assert (call.name, call.arguments) == ("vfs_list", arguments)


def test_an_older_recording_told_as_json_is_still_read() -> None:
    call = PLAIN.read_call(NativeCall("1", "vfs_delete", {"path": "a"}))
    from dragoman.model import NativeResult

    old = NativeResult("1", '{"type":"changes_outcome","changes":[{"path":"a","kind":"deleted"}]}')
    assert PLAIN.read_result(call, old).outcomes == (out.ChangesOutcome((out.Change("a", "deleted"),)),)


FILES = {"memos/a.md": b"1", "memos/b.md": b"2", "src/plan.md": b"3", "menu.md": b"4", "src/deep/me.md": b"5"}


async def _listed(arguments: dict[str, object]) -> object:
    call = PLAIN.read_call(NativeCall("1", "vfs_list", arguments))
    async with standard_context(MemoryWorkspace(FILES)) as context:
        return PLAIN.write_result(call, (await perform(call.operations[0], context),)).content


@pytest.mark.parametrize(
    "arguments, listed",
    [
        ({"prefix": "me"}, "memos/a.md\nmemos/b.md\nmenu.md"),
        ({"prefix": "memos/"}, "memos/a.md\nmemos/b.md"),
        ({"prefix": "memos/b"}, "memos/b.md"),
        ({"prefix": "src"}, "src/deep/me.md\nsrc/plan.md"),
        ({}, "memos/a.md\nmemos/b.md\nmenu.md\nsrc/deep/me.md\nsrc/plan.md"),
        ({"prefix": "src", "depth": 2}, "src/plan.md"),
        ({"prefix": "me", "limit": 1}, "menu.md\n[cut here; more files follow]"),
        ({"prefix": "", "ignore": ["memos"]}, "menu.md\nsrc/deep/me.md\nsrc/plan.md"),
        ({"prefix": "nowhere"}, "[no files found]"),
        ({"folder": "src"}, "src/deep/\nsrc/plan.md"),
        ({"folder": "src", "prefix": "de"}, "src/deep/me.md"),
    ],
)
async def test_files_are_listed_by_prefix_with_whole_paths(arguments: dict[str, object], listed: str) -> None:
    assert await _listed(arguments) == listed


def test_counts_of_which_one_is_no_number_stay_text() -> None:
    (native,) = PLAIN.write_call("1", op.SearchText("x", mode="count"))
    call = PLAIN.read_call(native)
    good, bad = "a.py: 3\nb.py: 4", "a.py: 3\nb.py: many"
    counted = out.MatchesOutcome((out.Match("a.py", count=3), out.Match("b.py", count=4)), "count")
    assert PLAIN.read_result(call, NativeResult("1", good)).outcomes == (counted,)
    assert PLAIN.read_result(call, NativeResult("1", bad)).outcomes == (out.TextOutcome(bad),)
