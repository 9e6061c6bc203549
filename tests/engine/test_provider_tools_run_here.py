"""Tools OpenAI defines and we run, in a request of any vocabulary: offered by id, answered in its shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman import ProviderTool, Toolset
from dragoman.dialects import DIALECTS
from dragoman.engine import Facade
from dragoman.model import ExecutedBy, NativeCall, NativeResult, ProviderDefinition, operations as op
from dragoman.registry import TOOLS
from dragoman.tools import DiskWorkspace, perform, standard_context

RUN_HERE = [TOOLS[name] for name in ("run_command", "write_file", "edit_file", "delete_file")]
SHELL = ProviderTool("openai.shell", {"environment": {"type": "local"}})
PATCH = ProviderTool("openai.apply_patch")


async def answered(facade: Facade, folder: Path, native: NativeCall) -> NativeResult:
    call = facade.read_call(native)
    async with standard_context(DiskWorkspace(folder, durable=False)) as context:
        return facade.write_result(call, [await perform(operation, context) for operation in call.operations])


def item(kind: str, **said: Any) -> dict[str, Any]:
    return {"type": kind, "call_id": "1", "status": "completed", **said}


@pytest.mark.parametrize("dialect", ["openai", "plain", "claude_code", "codex"])
async def test_they_stand_for_the_tools_that_run_them_whatever_the_vocabulary(dialect: str, tmp_path: Path) -> None:
    facade = Facade(DIALECTS[dialect], Toolset([*RUN_HERE, SHELL, PATCH]))
    assert facade.definitions == (
        ProviderDefinition("openai.shell", "shell", "shell", {"environment": {"type": "local"}}),
        ProviderDefinition("openai.apply_patch", "apply_patch", "apply_patch"),
    )
    operation = {"type": "create_file", "path": "a.txt", "diff": "+tea\n"}
    made = NativeCall("1", "apply_patch", operation, item=item("apply_patch_call", operation=operation))
    assert (await answered(facade, tmp_path, made)).content == "created a.txt"
    action = {"commands": ["cat a.txt", "exit 3"], "timeout_ms": None, "max_output_length": None}
    asked = NativeCall("2", "shell", action, item=item("shell_call", action=action))
    assert (await answered(facade, tmp_path, asked)).item == {
        "type": "shell_call_output",
        "output": [
            {"stdout": "tea\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
            {"stdout": "", "stderr": "", "outcome": {"type": "exit", "exit_code": 3}},
        ],
    }


def test_what_another_vendor_ran_is_read_by_the_row_it_was_asked_for_by() -> None:
    facade = Facade(DIALECTS["plain"], Toolset([ProviderTool("groq.search")]))
    native = NativeCall("1", "search", {"query": "tea"}, executed_by=ExecutedBy.PROVIDER, item={"type": "search"})
    assert facade.read_call(native).operations == (op.SearchWeb("tea"),)
