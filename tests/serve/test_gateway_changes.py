"""Patches of a model through the gateway: checked as a whole, and made in texts that the client's own tool finds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from hypothesis import example, given, strategies as st

from dragoman.dialects import DIALECTS, Dialect
from dragoman.dialects.translation import Translation
from dragoman.model import Failure, NativeCall, NativeResult, operations as op
from dragoman.model.json_text import json_text
from dragoman.serve.gateway.changes import Changes, Plan, exact_edits
from tests.engine.loopback import Turn
from tests.examples import examples
from tests.serve.test_gateway import TOKEN, client, gateway, written

FILES = {
    "a.py": "x = 1\ny = 2\n",
    "b.py": "b = 1\n",
    "c.py": "c = 1\n",
    "twice.py": "def f():\n    pass\n\ndef g():\n    pass\n",
    "open.py": "first\nlast",
    "spaces.py": "if x:   \n    y = 1\n",
}


def patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch", ""))


def update(path: str, old: str, new: str, above: str = "@@") -> tuple[str, ...]:
    return (f"*** Update File: {path}", above, f"-{old}", f"+{new}")


ANOTHER = update("a.py", "x = 1", "x = 9")
CHANGED = {**FILES, "a.py": "x = 9\ny = 2\n"}
FIT = {
    "a last line without an end": (update("open.py", "last", "LAST"), {"open.py": "first\nLAST\n"}),
    "one of two places, by what is above it": (
        update("twice.py", "    pass", "    return 1", "@@ def g():"),
        {"twice.py": "def f():\n    pass\n\ndef g():\n    return 1\n"},
    ),
    "a line with other spaces at its end": (
        ("*** Update File: spaces.py", "@@", " if x:", "-    y = 1", "+    y = 2"),
        {"spaces.py": "if x:   \n    y = 2\n"},
    ),
}


@pytest.mark.parametrize("several", [True, False])
@pytest.mark.parametrize("name", FIT)
async def test_what_the_models_tool_finds_is_changed_by_the_clients(
    name: str, several: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, after = FIT[name]
    expected = {**(CHANGED if several else FILES), **after}
    assert await patched(tmp_path, monkeypatch, patch(*(ANOTHER if several else ()), *lines)) == expected


async def test_a_file_is_moved_into_a_folder_that_is_not_there_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = ("*** Update File: b.py", "*** Move to: new/deep/b.py", "@@", "-b = 1", "+b = 2", "*** Delete File: c.py")
    after = await patched(tmp_path, monkeypatch, patch(*ANOTHER, *moved))
    assert after == {name: text for name, text in CHANGED.items() if name != "c.py"} | {"b.py": "b = 2\n"}
    assert (tmp_path / "new" / "deep" / "b.py").exists()


@pytest.mark.parametrize(
    "missing",
    [
        ("*** Delete File: missing.py",),
        ("*** Update File: missing.py", "*** Move to: other.py", "@@", "-a", "+b"),
        update("missing.py", "a", "b"),
        update("twice.py", "    nothing like it", "    return 1"),
    ],
)
async def test_nothing_is_changed_when_one_part_of_a_patch_does_not_fit(
    missing: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await patched(tmp_path, monkeypatch, patch("*** Add File: n.py", "+n", *ANOTHER, *missing)) == FILES


async def patched(folder: Path, patch: pytest.MonkeyPatch, text: str) -> dict[str, str]:
    """The files after a patch by a model behind a client with Claude Code's tools."""
    for name, content in FILES.items():
        (folder / name).write_text(content)
    script = (Turn(calls=(("i1", "apply_patch", text),)), Turn("Done."))
    async with gateway(patch, "openai_responses", *script) as (served, _):
        await client(served, "claude_code", folder).run("Do it.")
    return written(folder)


# ── what a user stops ────────────────────────────────────────────────────────

OFFERED: Any = [
    {"name": one.name, "description": one.description, "input_schema": one.parameters}
    for one in DIALECTS["claude_code"].definitions({op.ReadFile, op.EditFile, op.WriteFile, op.RunCommand})
    if one.name in ("Read", "Edit", "Write", "Bash")
]
STOPPED = "[Request interrupted by user]"
REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit"


async def steps(served: Any, answered: Callable[[str, dict[str, Any]], list[dict[str, Any]]]) -> list[tuple[str, str]]:
    """The calls that a client gets; `answered` gives the blocks that it answers one with."""
    made: list[tuple[str, str]] = []
    said: list[dict[str, Any]] = [{"role": "user", "content": "Do it."}]
    async with aiohttp.ClientSession() as session:
        while True:
            body = {"model": "claude-x", "max_tokens": 1000, "messages": said, "tools": OFFERED}
            url, headers = f"{served.url}/v1/messages", {"x-api-key": TOKEN, "user-agent": "claude-cli/2.1.325"}
            async with session.post(url, json=body, headers=headers) as response:
                content = (await response.json())["content"]
            calls = [block for block in content if block["type"] == "tool_use"]
            if not calls:
                return made
            made += [(one["name"], one["input"].get("file_path") or one["input"]["command"]) for one in calls]
            said.append({"role": "assistant", "content": content})
            said.append({"role": "user", "content": [block for one in calls for block in answered(one["id"], one)]})


@pytest.mark.parametrize("interrupts", [True, False])
async def test_after_the_user_stopped_it_no_other_step_of_a_call_is_made(
    interrupts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answered(id: str, call: dict[str, Any]) -> list[dict[str, Any]]:
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": id}
        if call["name"] == "Read":
            return [{**result, "content": f"1\t{call['input']['file_path'][0]} = 1\n2\t"}]
        if interrupts:
            done = {**result, "content": "The file has been updated successfully."}
            return [done, {"type": "text", "text": STOPPED}, {"type": "text", "text": "Do something else."}]
        return [{**result, "content": REJECTED, "is_error": True}]

    text = patch(*update("a.py", "a = 1", "a = 2"), *update("b.py", "b = 1", "b = 2"))
    calls = (("i1", "apply_patch", text), ("i2", "exec_command", {"cmd": "make"}))
    async with gateway(monkeypatch, "openai_responses", Turn(calls=calls), Turn("Done.")) as (served, upstream):
        made = await steps(served, answered)
    assert made == [("Read", "a.py"), ("Read", "b.py"), ("Edit", "a.py")]
    told = [one["output"] for one in upstream.requests[-1].body["input"] if str(one.get("type")).endswith("output")]
    assert all("aborted by user" in one for one in told)
    assert [("remain so: a.py" in one) for one in told] == [interrupts, False]
    assert (len(told), "Do something else." in json_text(upstream.requests[-1].body["input"])) == (2, interrupts)


CLAUDE = DIALECTS["claude_code"].at("2.1.325", None)
OPENCODE = DIALECTS["opencode"].at("1.18.33", None)

# ── files that are read in parts ─────────────────────────────────────────────


def replayed(
    text: str, read: Callable[[dict[str, Any]], NativeResult], client: Dialect = CLAUDE
) -> tuple[list[dict[str, Any]], Plan]:
    """The reads for a patch, as the client answers them, and what comes of it."""
    codex = DIALECTS["codex"]
    translation = Translation(codex, client, losses=False)
    changes = Changes(client, translation, reads_first=True)
    native = NativeCall("c", "apply_patch", text)
    translated = translation.call(native)
    wanted, results, asked = changes.wanted(translated, frozenset()), dict[str, NativeResult](), list[dict[str, Any]]()
    while True:
        plan = changes.plan(translated, wanted, codex.edit_rules(native), "c", results)
        if plan.waiting is None or plan.waiting.name not in ("Read", "read"):
            return asked, plan
        assert isinstance(plan.waiting.arguments, dict)
        asked.append({**plan.waiting.arguments})
        results[plan.waiting.id] = msgspec_replace(read(asked[-1]), plan.waiting.id)


def msgspec_replace(result: NativeResult, id: str) -> NativeResult:
    return NativeResult(id, result.content, is_error=result.is_error)


LONG = [f"line {number}" for number in range(2501)]


def in_parts(asked: dict[str, Any]) -> NativeResult:
    first, most = asked.get("offset", 1), 1000
    if first > len(LONG):
        return NativeResult("", "the file exists but is shorter than the provided offset", is_error=True)
    shown = LONG[first - 1 :][: min(most, asked.get("limit", most))]
    numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate(shown, first))
    last = first + len(shown) - 1
    cut = f"\n\n[Truncated: PARTIAL view — big.py: showing lines {first}-{last} of {len(LONG)} total (9 tokens)]"
    return NativeResult("", numbered + (cut if "limit" not in asked else ""))


def too_large(asked: dict[str, Any]) -> NativeResult:
    if "limit" not in asked:
        message = "File content (31210 tokens) exceeds maximum allowed tokens (25000). Use offset and limit"
        return NativeResult("", message, is_error=True)
    return in_parts(asked)


@pytest.mark.parametrize("read", [in_parts, too_large])
def test_a_file_that_is_too_long_to_be_read_at_once_is_read_in_parts(
    read: Callable[[dict[str, Any]], NativeResult],
) -> None:
    asked, plan = replayed(patch(*update("big.py", "line 2400", "LINE")), read)
    assert len(asked) == (3 if read is in_parts else 7)
    assert plan.unfit is None
    assert plan.waiting is not None
    assert isinstance(plan.waiting.arguments, dict)
    assert plan.waiting.arguments["old_string"] == "line 2400\n"
    _, unfit = replayed(patch(*update("big.py", "line 9999", "LINE")), read)
    assert isinstance(unfit.unfit, Failure)


# ── files whose end is not shown ─────────────────────────────────────────────


@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize(
    "lines, after",
    [
        (("-x = 1", "+x = 2", " y = 1"), "x = 2\ny = 1"),
        ((" x = 1", "-y = 1", "+y = 2"), "x = 1\ny = 2"),
        ((" x = 1", " y = 1", "+z = 1"), "x = 1\ny = 1\nz = 1"),
        ((" x = 1", "-y = 1"), "x = 1"),
        (("-x = 1", "+x = 2", "-y = 1", "+y = 2"), "x = 2\ny = 2"),
    ],
)
def test_the_last_line_keeps_its_end_where_a_client_does_not_show_it(
    lines: tuple[str, ...], after: str, end: str
) -> None:
    """opencode 1.18.33 shows `x = 1` for a file with and without an end of its last line."""
    text = f"x = 1\ny = 1{end}"

    def read(asked: dict[str, Any]) -> NativeResult:
        shown = "<path>/a.py</path>\n<type>file</type>\n<content>\n1: x = 1\n2: y = 1\n\n(End of file - total 2 lines)"
        return NativeResult("", f"{shown}\n</content>")

    _, plan = replayed(patch("*** Update File: a.py", "@@", *lines), read, OPENCODE)
    assert plan.unfit is None
    for call in plan.translated.calls:
        arguments: Any = call.native.arguments
        assert places(text, arguments["oldString"]) == 1
        text = text.replace(arguments["oldString"], arguments["newString"])
    assert text == f"{after}{end}"


# ── the law ──────────────────────────────────────────────────────────────────

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "ab\n", "  a\n", "\n", "ä\r\n"]), max_size=12).map("".join)


@example("a\na\na\n", "a\na\nb\na\nb\n", "")
@example("a\na\na\n", "a\nb\n", "")
@example("a\na\na\n", "b\na\na\n", "")
@given(TEXTS, TEXTS, st.sampled_from(["", "end"]))
@examples(200)
def test_exact_edits_are_each_found_once_and_make_the_one_text_of_the_other(old: str, new: str, end: str) -> None:
    hold(old + end, new)


def test_exact_edits_between_all_short_texts() -> None:
    texts = ["".join(lines) for count in range(6) for lines in product(("a\n", "b\n"), repeat=count)]
    for old, new in product(texts, texts):
        hold(old, new)
        hold(old.removesuffix("\n"), new)


def hold(before: str, after: str) -> None:
    text, ends = before, 0
    for edit in exact_edits(before, after):
        assert edit.old
        assert (places(before, edit.old), places(text, edit.old)) == (1, 1)
        assert before.index(edit.old) >= ends
        ends = before.index(edit.old) + len(edit.old)
        text = text.replace(edit.old, edit.new)
    assert text == (after if before else "")


def places(text: str, part: str) -> int:
    """How often a text holds another, with places that overlap."""
    return sum(text.startswith(part, at) for at in range(len(text)))


def test_exact_edits_of_a_long_file_of_few_different_lines_take_no_long_time() -> None:
    before = "a\n" * 100_000
    assert [*exact_edits(before, f"x\n{before}y\n")] == [op.Edit(before, f"x\n{before}y\n")]
