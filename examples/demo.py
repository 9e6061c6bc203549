"""The main job in a few seconds: one agent task, done with real tools, in three models' own words; then live.

`DEMO=quick` stops before anything that needs a network or a model on this machine.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from dragoman import NativeCall, Reply, Toolset
from dragoman.dialects import DIALECTS
from dragoman.engine import MODEL_FILES, Orchestrator, ScriptedEngine, cached, default_model
from dragoman.errors import ConfigError
from dragoman.model import AnyEvent, CallPart, FinishReason, ModelSaid, ToolCalled, ToolReturned, operations as op
from dragoman.registry import TOOLS
from dragoman.tools import DiskWorkspace

TASK = "greet.py prints the wrong greeting. Fix it and run it."
SIMPLE_TASK = "In the file greet.py, replace helo with hello."
MEANING = op.EditFile("greet.py", (op.Edit("print('helo')\n", "print('hello')\n"),))
PATCH = "*** Begin Patch\n*** Update File: greet.py\n@@\n-print('helo')\n+print('hello')\n*** End Patch"
TURNS: dict[str, tuple[tuple[str, dict[str, str] | str], ...]] = {
    # What a model of each family says, one call a turn, as it was recorded.
    "claude_code": (
        ("Read", {"file_path": "greet.py"}),
        ("Edit", {"file_path": "greet.py", "old_string": "helo", "new_string": "hello"}),
        ("Bash", {"command": "python3 greet.py", "description": "Run it"}),
    ),
    "gemini_cli": (
        ("read_file", {"file_path": "greet.py"}),
        (
            "replace",
            {"file_path": "greet.py", "instruction": "Fix it.", "old_string": "helo", "new_string": "hello"},
        ),
        ("run_shell_command", {"command": "python3 greet.py"}),
    ),
    "codex": (
        ("exec_command", {"cmd": "cat greet.py"}),
        ("apply_patch", PATCH),
        ("exec_command", {"cmd": "python3 greet.py"}),
    ),
}
SPEAKERS = {"claude_code": "claude-sonnet-4-5", "gemini_cli": "gemini-2.5-pro", "codex": "gpt-5.1-codex"}
TOOLSET = Toolset([TOOLS[name] for name in ("read_file", "edit_file", "run_command")])


def heading(text: str) -> None:
    print(f"\n── {text} {'─' * (76 - len(text))}")


def shown(call: NativeCall) -> str:
    if isinstance(call.arguments, str):
        return f"{call.name}\n" + "\n".join(f"      {line}" for line in call.arguments.splitlines())
    return f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}"


def one_meaning() -> None:
    heading("One meaning, in three models' own words")
    print("  the meaning  EditFile: in greet.py, print('helo') becomes print('hello')")
    for name in SPEAKERS:
        for call in DIALECTS[name].write_call("1", MEANING):
            heard = DIALECTS[name].read_call(call).operations[0]
            lost = "; ".join(loss.reason for loss in DIALECTS[name].loss(MEANING)) or "nothing"
            print(f"  {name:<12} {shown(call)}")
            print(f"  {'':<12} heard back as {type(heard).__name__}; lost on the way: {lost}")


def recorded(dialect: str) -> list[Reply | str]:
    """The turns of a model that knows this vocabulary: a call each, then its answer."""
    calls = [NativeCall(f"call_{number}", *said) for number, said in enumerate(TURNS[dialect], 1)]
    turns: list[Reply | str] = [Reply((CallPart(call),), FinishReason.CALLS) for call in calls]
    return [*turns, "The greeting is right now: it prints “hello”."]


def told(event: AnyEvent) -> None:
    if isinstance(event, ToolCalled):
        meant = ", ".join(type(operation).__name__ for operation in event.call.operations)
        print(f"  model calls {shown(event.call.native)}\n  which means {meant}")
    elif isinstance(event, ToolReturned) and event.result.native is not None:
        print(f"  it is told  {event.result.native.content!r:.100}")
    elif isinstance(event, ModelSaid):
        print(f"  model says  {event.text}")


async def the_task(dialect: str, folder: Path) -> None:
    heading(f"“{TASK}” in the words of {dialect}")
    (folder / "greet.py").write_text("print('helo')\n")
    with ScriptedEngine(recorded(dialect)) as engine:
        run = Orchestrator(
            engine, TOOLSET, model_name=SPEAKERS[dialect], dialect=dialect, workspace=DiskWorkspace(folder), emit=told
        )
        result = await run.run(TASK)
    print(f"  greet.py    {(folder / 'greet.py').read_text().strip()}   ({result.rounds} rounds)")


def live_model() -> str | None:
    """A model to ask now: by key, on a server of this machine, or, where the user agrees, inside a process here."""
    try:
        found = asyncio.run(default_model(may_fetch=may_fetch))
    except ConfigError as nothing:
        print(f"\nNo model is asked live: {nothing}")
        return None
    print(f"\nAsked live next: {found.model} ({found.why}).")
    return found.model


def may_fetch(name: str) -> bool:
    """Whether the small model that runs in a process here may be fetched; its size is said first."""
    model = MODEL_FILES[name]
    print(f"\nNo key is set and no model server answers here. {model.title} can run in a process of this machine")
    print(f"(1.5B: simple tasks). It is {model.size / 1e9:.1f} GB, fetched once into {cached(name).parent}.")
    if not sys.stdin.isatty():
        print("Nobody is there to be asked, so it is not fetched. Run `make demo` on a terminal for it.")
        return False
    return input("Fetch it now? [y/N] ").strip().lower() in ("y", "yes")


def live(folder: Path) -> None:
    """The same task with a model that is asked now."""
    model = live_model()
    if model is None:
        return
    small = model.startswith("local:")
    task, tools = (SIMPLE_TASK, "edit_file") if small else (TASK, "read_file,edit_file,run_command")
    heading(f"{'A simpler task' if small else 'The same task'}, live, with {model}")
    (folder / "greet.py").write_text("print('helo')\n")
    words = [sys.executable, "-m", "dragoman", "run", task, "--model", model, "--workspace", str(folder), "--yes"]
    done = subprocess.run([*words, "--tools", tools, "--fetch"], check=False)  # what would be fetched was agreed to
    right = (folder / "greet.py").read_text().strip() == "print('hello')"
    verdict = "fixed" if right else "not fixed: small models miss some tasks"
    print(f"  greet.py is {verdict} (the run ended with {done.returncode})")


def main() -> None:
    print("dragoman: real tools in a scratch folder; the model's turns in this part are recorded, not asked for.")
    one_meaning()
    with tempfile.TemporaryDirectory() as folder:
        for dialect in SPEAKERS:
            asyncio.run(the_task(dialect, Path(folder)))
        if os.environ.get("DEMO") == "quick":
            print("\nDEMO=quick: this is where a model would be asked, live.")
        else:
            live(Path(folder))
    print("\nNext: `.venv/bin/dragoman run --help`, `dragoman say edit_file …`, `dragoman tools --fidelity`.")


if __name__ == "__main__":
    main()
