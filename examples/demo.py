"""The main job: one task, done with real tools in three models' own words, then by a model that is asked now.

Without a key and without a model server, a small model is fetched once (it is cached for all checkouts) and runs in a
process of this machine. `DEMO=quick` stops before that: no network, no model.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dragoman import NativeCall, Reply, Toolset
from dragoman.dialects import DIALECTS
from dragoman.engine import Orchestrator, ScriptedEngine
from dragoman.engine.models import MODEL_FILES, cached, default_model, fetched
from dragoman.errors import DragomanError
from dragoman.logs import Recorder, read_events
from dragoman.model import AnyEvent, CallPart, FinishReason, ModelSaid, ToolCalled, ToolReturned, operations as op
from dragoman.registry import TOOLS
from dragoman.tools import DiskWorkspace

TASK = "Read greet.py. Replace Helo with Hello in greet.py. Then run python3 test_greet.py."
PROJECT = {
    "greet.py": "def greet(name):\n    return f'Helo, {name}!'\n",
    "test_greet.py": "from greet import greet\n\nassert greet('Ada') == 'Hello, Ada!'\nprint('1 test passed')\n",
}
WRONG, RIGHT = "Helo", "Hello"
MEANING = op.EditFile("greet.py", (op.Edit("    return f'Helo, {name}!'\n", "    return f'Hello, {name}!'\n"),))
PATCH = (
    "*** Begin Patch\n*** Update File: greet.py\n@@\n"
    "-    return f'Helo, {name}!'\n+    return f'Hello, {name}!'\n*** End Patch"
)
RUN = "python3 test_greet.py"
TURNS: dict[str, tuple[tuple[str, dict[str, str] | str], ...]] = {
    # What a model of each family says, one call a turn, as it was recorded.
    "claude_code": (
        ("Read", {"file_path": "greet.py"}),
        ("Edit", {"file_path": "greet.py", "old_string": WRONG, "new_string": RIGHT}),
        ("Bash", {"command": RUN, "description": "Run the test"}),
    ),
    "gemini_cli": (
        ("read_file", {"file_path": "greet.py"}),
        (
            "replace",
            {"file_path": "greet.py", "instruction": "Fix the greeting.", "old_string": WRONG, "new_string": RIGHT},
        ),
        ("run_shell_command", {"command": RUN}),
    ),
    "codex": (
        ("exec_command", {"cmd": "cat greet.py"}),
        ("apply_patch", PATCH),
        ("exec_command", {"cmd": RUN}),
    ),
}
SPEAKERS = {"claude_code": "claude-sonnet-4-5", "gemini_cli": "gemini-2.5-pro", "codex": "gpt-5.1-codex"}
TOOLS_OF_THE_TASK = ("read_file", "edit_file", "run_command")
TOOLSET = Toolset([TOOLS[name] for name in TOOLS_OF_THE_TASK])
LABEL = 14


# ── what is printed ──────────────────────────────────────────────────────────


def width() -> int:
    return min(shutil.get_terminal_size().columns, 120)


def heading(text: str) -> None:
    print(f"\n── {text} {'─' * max(0, width() - len(text) - 4)}")


def paragraph(text: str) -> None:
    print(textwrap.fill(text, width(), break_long_words=False, break_on_hyphens=False))


def command(line: str) -> None:
    """A shell line; one that is too long is broken so that it is the same line when it is copied."""
    print("$ " + " \\\n".join(textwrap.wrap(line, width() - 4, break_long_words=False)), flush=True)


def row(label: str, text: str, taken: int = LABEL) -> None:
    """A text beside its label, which takes so many columns, as wide as the terminal; lines of its own stay lines."""
    first = f"  {label:<{taken - 1}} "
    for line in text.splitlines() or [""]:
        print(
            textwrap.fill(
                line,
                max(width(), 40),
                initial_indent=first,
                subsequent_indent=" " * (taken + 2),
                break_on_hyphens=False,
            )
            or first
        )
        first = " " * (taken + 2)


def shown(call: NativeCall, taken: int = LABEL) -> str:
    """A call in one line where it fits beside its label, else one line for each argument; a patch as it is written."""
    if isinstance(call.arguments, str):
        return f"{call.name}\n{call.arguments}"
    line = f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}"
    if len(line) <= width() - taken - 2:
        return line
    arguments = (f"  {name}: {json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items())
    return "\n".join([call.name, *arguments])


# ── recorded turns, real tools ───────────────────────────────────────────────


def one_meaning() -> None:
    heading("One meaning, in three models' own words")
    row("the meaning", f"EditFile: in greet.py, {WRONG} becomes {RIGHT}")
    for name in SPEAKERS:
        for call in DIALECTS[name].write_call("1", MEANING):
            back = DIALECTS[name].read_call(call).operations[0]
            lost = "; ".join(loss.reason for loss in DIALECTS[name].loss(MEANING)) or "nothing"
            row(name, shown(call))
            row("", f"(read back as {type(back).__name__}; lost on the way: {lost})")


def recorded(dialect: str) -> list[Reply | str]:
    """The turns of a model that knows this vocabulary: a call each, then its answer."""
    calls = [NativeCall(f"call_{number}", *said) for number, said in enumerate(TURNS[dialect], 1)]
    turns: list[Reply | str] = [Reply((CallPart(call),), FinishReason.CALLS) for call in calls]
    return [*turns, "Fixed: the greeting is “Hello”, and the test passes."]


def show_event(event: AnyEvent) -> None:
    if isinstance(event, ToolCalled):
        row("model calls", shown(event.call.native))
        row("which means", ", ".join(type(operation).__name__ for operation in event.call.operations))
    elif isinstance(event, ToolReturned) and event.result.native is not None:
        said = repr(event.result.native.content)
        row("it gets", said if len(said) <= 100 else f"{said[:99]}…")
    elif isinstance(event, ModelSaid):
        row("model says", event.text)


def new_project(folder: Path) -> None:
    for name, text in PROJECT.items():
        (folder / name).write_text(text)


async def the_task(dialect: str, folder: Path, record: Path) -> None:
    """The task in one vocabulary, and its record."""
    heading(f"The task in the words of {dialect}")
    new_project(folder)

    def emit(event: AnyEvent) -> None:
        keep(event)
        show_event(event)

    with ScriptedEngine(recorded(dialect)) as engine, Recorder(record) as keep:
        run = Orchestrator(
            engine, TOOLSET, model_name=SPEAKERS[dialect], dialect=dialect, workspace=DiskWorkspace(folder), emit=emit
        )
        result = await run.run(TASK)
    row("greet.py", f"{(folder / 'greet.py').read_text().splitlines()[1].strip()}   ({result.rounds} rounds)")


# ── a model that is asked now ────────────────────────────────────────────────


def live_model() -> str | None:
    """A model to ask now, ready to answer: one with a key, one of a server here, or the small one, fetched."""
    try:
        found = asyncio.run(default_model(may_fetch=lambda name: True))
        if found.model.startswith("local:"):
            fetch(found.model.removeprefix("local:"))
    except DragomanError as error:
        print()
        paragraph(f"No model can be asked on this machine, so this was the quick part: {error}")
        return None
    print()
    paragraph(f"Asked now: {found.model} ({found.why}).")
    measured = next((one.measured for name, one in MODEL_FILES.items() if found.model == f"local:{name}"), "")
    if measured:
        paragraph(f"It is a small model. On tasks it was not tuned on it did {measured}.")
    return found.model


def fetch(name: str) -> None:
    """The file of the small model, with its size said first."""
    if name not in MODEL_FILES or cached(name).is_file():
        return
    model = MODEL_FILES[name]
    print()
    paragraph(
        f"No key is set and no model server answers here, so {model.title} runs on this machine. It is "
        f"{model.size / 1e9:.1f} GB, fetched once into {cached(name).parent}. (DEMO=quick: without it.)"
    )
    with progress(model.size) as tell:
        fetched(name, progress=tell)


@contextmanager
def progress(whole: int) -> Iterator[Callable[[str, int, int], None]]:
    """A bar on a terminal, a line for every tenth elsewhere."""
    if not sys.stdout.isatty():
        last = ""

        def line(what: str, done: int, whole: int) -> None:
            nonlocal last
            text = f"  {what}: {done * 10 // whole * 10} % of {whole / 1e6:,.0f} MB" if whole else f"  {what}"
            if text != last:
                print(text, flush=True)
            last = text

        yield line
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("  {task.description}"), BarColumn(bar_width=None), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns) as bar:
        task = bar.add_task("the model", total=whole)
        yield lambda what, done, _: bar.update(task, description=what, completed=done)


def live(folder: Path, data: Path) -> bool | None:
    """The task by a model that is asked now: whether it was done; nothing where there is no model."""
    model = live_model()
    if model is None:
        return None
    heading("The same task, live")
    command(f'dragoman run "{TASK}"')
    new_project(folder)
    words = [sys.executable, "-m", "dragoman", "run", TASK, "--model", model, "--workspace", str(folder), "--yes"]
    code = subprocess.run(
        [*words, "--tools", ",".join(TOOLS_OF_THE_TASK)],
        check=False,
        env={**os.environ, "DRAGOMAN_DATA_DIR": str(data)},
    ).returncode
    test = subprocess.run([sys.executable, "test_greet.py"], cwd=folder, capture_output=True, text=True, check=False)
    print()
    if (code, test.stdout.strip()) == (0, "1 test passed"):
        paragraph("Checked by this program: greet.py was changed, and its test passes.")
        return True
    paragraph(
        f"Checked by this program: the task was not done (exit code {code}; {test.stdout or test.stderr.strip()})."
    )
    return False


# ── the same session, read back ──────────────────────────────────────────────


def read_back(record: Path) -> None:
    """The session as `dragoman show` tells it, then its calls in another vocabulary."""
    heading("That session, read back")
    command(f"dragoman show {record.name}")
    subprocess.run([sys.executable, "-m", "dragoman", "show", record.name], cwd=record.parent, check=True)
    calls = [event.call for event in read_events(record) if isinstance(event, ToolCalled)]
    spoken = {call.native.name for call in calls}
    other = "gemini_cli" if spoken & {name for name, _ in TURNS["claude_code"]} else "claude_code"
    heading(f"The same session in the words of {other}")
    taken = max((LABEL, *(len(name) + 1 for name in spoken)))
    for call in calls:
        for operation in call.operations:
            said = "\n".join(shown(native, taken) for native in DIALECTS[other].write_call(call.id, operation))
            row(call.native.name, said, taken)


def main() -> int:
    quick = os.environ.get("DEMO") == "quick"
    later = "" if quick else "; later, a model is asked"
    paragraph(f"dragoman: real tools in a scratch folder. The model's turns here are recorded{later}.")
    one_meaning()
    done: bool | None = None
    with tempfile.TemporaryDirectory() as scratch:
        project, data = Path(scratch) / "project", Path(scratch) / "data"
        project.mkdir()
        (data / "runs").mkdir(parents=True)
        record = data / "runs" / "recorded.jsonl"
        for dialect in SPEAKERS:
            asyncio.run(the_task(dialect, project, record.with_stem(dialect)))
        record = record.with_stem("claude_code")
        if quick:
            print("\nDEMO=quick: this is where a model would be asked, live.")
        else:
            done = live(project, data)
        if done is not None:
            record = max((data / "runs").glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
        read_back(record)
    print()
    paragraph("The project and its session were in a scratch folder, which is removed now.")
    print("Next:\n  pipx install '.[all]'     # or: uv tool install '.[all]'\n  dragoman run --help")
    return 1 if done is False else 0


if __name__ == "__main__":
    sys.exit(main())
