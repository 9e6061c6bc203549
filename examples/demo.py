"""What dragoman does, in a few seconds and offline: a tool defined, spoken in every vocabulary, run, and heard back.

No model is asked yet: the calls below are written as a model of each vocabulary would write them.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path

from dragoman import NativeCall, Toolset, tool
from dragoman.dialects import DIALECTS
from dragoman.engine import Facade
from dragoman.errors import Unspeakable
from dragoman.model import operations as op
from dragoman.registry import TOOLS
from dragoman.tools import DiskWorkspace, perform, standard_context


@tool
def find_orders(customer: str, limit: int = 10) -> list[str]:
    """Find the orders of a customer.

    Args:
        customer: Name of the customer.
        limit: At most so many orders.
    """
    return [f"order {number} of {customer}" for number in range(1, limit + 1)]


def heading(text: str) -> None:
    print(f"\n── {text} {'─' * (76 - len(text))}")


def shown(call: NativeCall) -> str:
    if isinstance(call.arguments, str):
        return f"{call.name}\n" + "\n".join(f"      {line}" for line in call.arguments.splitlines())
    return f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}"


def a_tool_of_your_own() -> None:
    heading("1. A tool, defined once as a Python function")
    print("offered to a model as:", json.dumps(find_orders.definition.parameters["properties"], indent=2))
    sloppy = '{"customer": "Ada", "limit": "2"}'
    bound = find_orders.read(sloppy)
    print("called with:   ", sloppy)
    print("read as:       ", *(f"{c.path}: {c.before!r} → {c.after!r} ({c.rule})" for c in bound.coercions))
    print("gives:         ", bound.call_sync())


def one_meaning() -> None:
    heading("2. One meaning, said in every vocabulary, and heard back as the same")
    meaning = op.EditFile("greet.py", (op.Edit("print('helo')", "print('hello')"),))
    print(f"the meaning:  in {meaning.path}, {meaning.edits[0].old!r} becomes {meaning.edits[0].new!r}")
    for name in DIALECTS:
        dialect = DIALECTS[name]
        try:
            calls = dialect.write_call("1", meaning)
        except Unspeakable as silence:
            print(f"  {name:<12} cannot say it: {silence.reason}")
            continue
        for call in calls:
            heard = dialect.read_call(call)
            files = {getattr(operation, "path", None) for operation in heard.operations}
            print(f"  {name:<12} {shown(call)}")
            print(f"  {'':<12} heard as {heard.operations[0].__class__.__name__} of {', '.join(map(str, files))}")


async def done_in(folder: str) -> None:
    heading("3. Done here, in a workspace nothing can leave")
    toolset = Toolset([TOOLS[tag] for tag in ("read_file", "edit_file", "run_command")])
    facade = Facade(DIALECTS["gemini_cli"], toolset)
    print("a Gemini model is offered:", ", ".join(str(definition.name) for definition in facade.definitions))
    said = [
        NativeCall("1", "replace", {
            "file_path": "greet.py", "instruction": "Mend the greeting.", "old_string": "helo", "new_string": "hello",
        }),
        NativeCall("2", "run_shell_command", {"command": "python3 greet.py"}),
        NativeCall("3", "read_file", {"file_path": "../../etc/passwd"}),
    ]  # fmt: skip
    async with standard_context(DiskWorkspace(folder)) as context:
        for native in said:
            call = facade.read_call(native)
            outcomes = [await perform(operation, context) for operation in call.operations]
            told = facade.write_result(call, outcomes)
            print(f"  model says  {shown(native)}")
            print(f"  it is told  {told.content!r}")


def main() -> None:
    print("dragoman: recorded calls, real tools, no model and no network.")
    a_tool_of_your_own()
    one_meaning()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "greet.py").write_text("print('helo')\n")
        asyncio.run(done_in(folder))
    print("\nNext: `.venv/bin/dragoman --help`, `dragoman tool read_file path=README.md`, `dragoman tools --fidelity`.")


if __name__ == "__main__":
    main()
