"""Whether the embedded model does its tasks: fixed ones, with real tools in a folder of their own, checked by effect.

    python -m bench.local_tasks [--held-out] [--model local:…] [--dialect …] [--threads N] [--only a,b] [--verbose]

A task counts as done when the run ended by itself, the files are as they should be and the answer says what it must.
It prints one line a task and the rate, apart for tasks of one call and of several. On a machine that does other things
too the seconds of the processor say more than those of the clock: both are printed.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from dragoman.engine import Orchestrator, RunResult, ToolPolicy
from dragoman.engine.models import LocalEngine, engine_for
from dragoman.errors import DragomanError
from dragoman.model import AnyChunk, CallPart, Reply, ThinkingPart
from dragoman.registry import TOOLS
from dragoman.tools import DiskWorkspace, Toolset

OFFERED = ("read_file", "write_file", "edit_file", "list_directory", "search_text", "run_command")
SYSTEM = "You work in the current folder; paths are relative to it."


@dataclass(frozen=True)
class Task:
    """What is asked, what is there, and how to see that it was done."""

    name: str
    prompt: str
    files: Mapping[str, str] = field(default_factory=dict)
    says: str = ""
    """A regular expression the answer must contain."""
    leaves: Mapping[str, str] = field(default_factory=dict)
    """File → a regular expression its whole content must match, blank space at the ends aside."""
    steps: int = 1
    """Calls it takes when done well."""
    calls: bool = True
    """Whether a tool has to be used at all."""
    runs: str = ""
    """A regular expression that one of the calls must contain."""

    def done(self, folder: Path, result: RunResult) -> str:
        """Nothing when it was done, else what is wrong."""
        if result.status != "completed":
            return f"ended {result.status}"
        if self.calls is not any(calls_of(result)):
            return "no tool was used" if self.calls else "a tool was used"
        if not re.search(self.runs, "\n".join(calls_of(result))):
            return f"never called: {self.runs}"
        if not re.search(self.says, result.text, re.IGNORECASE):
            return f"answer: {result.text[:80]!r}"
        for name, content in self.leaves.items():
            path = folder / name
            if not path.is_file():
                return f"{name} is missing"
            if not re.fullmatch(content, path.read_text().strip()):
                return f"{name}: {path.read_text()[:60]!r}"
        return ""


def calls_of(result: RunResult) -> list[str]:
    return [
        f"{part.call.name}({part.call.arguments})"
        for item in result.conversation
        if isinstance(item, Reply)
        for part in item.parts
        if isinstance(part, CallPart)
    ]


def thoughts_of(result: RunResult) -> list[str]:
    replies = [item for item in result.conversation if isinstance(item, Reply)]
    return [part.text for reply in replies for part in reply.parts if isinstance(part, ThinkingPart)]


TASKS = (
    Task("greeting", "What is 2 + 2? Answer without using a tool.", says="4", calls=False),
    Task("read", "What is the secret number in notes.txt?", {"notes.txt": "The secret number is 42.\n"}, "42"),
    Task(
        "read-json",
        "Which version is written in package.json?",
        {"package.json": '{"name": "acme", "version": "3.1.4"}\n'},
        r"3\.1\.4",
    ),
    Task(
        "read-config",
        "Read config.ini and tell me the port.",
        {"config.ini": "[server]\nhost = localhost\nport = 8080\n"},
        "8080",
    ),
    Task("write", "Create a file hello.txt with the text: hello world", leaves={"hello.txt": "hello world"}),
    Task(
        "write-list",
        "Write a file fruits.txt with three lines: apple, banana, cherry.",
        leaves={"fruits.txt": "apple,?\nbanana,?\ncherry"},
    ),
    Task("write-code", "Create hello.py, a Python program that prints Hello.", leaves={"hello.py": r"(?s).*print\(.*"}),
    Task("list", "Which files are in this folder?", {"alpha.txt": "a\n", "beta.txt": "b\n"}, "alpha.*beta|beta.*alpha"),
    Task(
        "search",
        "Which file contains the word TODO?",
        {"one.py": "x = 1\n", "two.py": "# TODO: fix this\n", "three.py": "y = 2\n"},
        r"two\.py",
    ),
    Task("run", "Run the command: echo dragoman. What does it print?", says="dragoman"),
    Task(
        "run-count",
        "Run wc -l data.csv and tell me how many lines the file has.",
        {"data.csv": "a\nb\nc\nd\ne\nf\ng\n"},
        "7|seven",
        runs="wc -l",
    ),
    Task(
        "run-program",
        "Run python3 sum.py and tell me its output.",
        {"sum.py": "print(17 + 25)\n"},
        "42",
        runs=r"python3 \S*sum\.py",
    ),
    Task(
        "edit-port",
        "In config.ini change the port from 8080 to 9090.",
        {"config.ini": "host = localhost\nport = 8080\n"},
        leaves={"config.ini": "host = localhost\nport = 9090"},
    ),
    Task(
        "edit-typo",
        'In readme.md replace the word "teh" with "the".',
        {"readme.md": "This is teh readme.\n"},
        leaves={"readme.md": r"This is the readme\."},
    ),
    Task(
        "copy",
        "Read a.txt and write the same text to b.txt.",
        {"a.txt": "The quick brown fox.\n"},
        leaves={"b.txt": r"The quick brown fox\."},
        steps=2,
    ),
    Task(
        "sum",
        "Read x.txt and y.txt, which hold one number each. What is the sum of the two numbers?",
        {"x.txt": "12\n", "y.txt": "30\n"},
        "42",
        steps=2,
    ),
    Task(
        "write-and-run",
        "Create hi.py that prints Hi there, then run it with python3 and tell me what it printed.",
        says="Hi there",
        leaves={"hi.py": r"(?s).*print\(.*Hi there.*"},
        steps=2,
        runs=r"python3 \S*hi\.py",
    ),
    Task(
        "two-files",
        "Create one.txt with the text 1 and two.txt with the text 2.",
        leaves={"one.txt": "1", "two.txt": "2"},
        steps=2,
    ),
    Task(
        "extract",
        "Read settings.json and write the value of name to name.txt.",
        {"settings.json": '{"name": "Ada", "age": 36}\n'},
        leaves={"name.txt": '"?Ada"?'},
        steps=2,
    ),
    Task(
        "first-line",
        "Read todo.txt and write its first line to first.txt.",
        {"todo.txt": "buy milk\ncall mother\nsleep\n"},
        leaves={"first.txt": "buy milk"},
        steps=2,
    ),
    Task(
        "edit-and-run",
        "In greet.py change Hello to Goodbye, then run python3 greet.py and tell me what it prints.",
        {"greet.py": 'print("Hello, world")\n'},
        "Goodbye",
        {"greet.py": r'print\("Goodbye, world"\)'},
        steps=2,
        runs=r"python3 \S*greet\.py",
    ),
    Task(
        "search-and-read",
        "Find the file that defines the function area, read it and tell me which number it multiplies by.",
        {"shapes.py": "def area(r):\n    return 3.14159 * r * r\n", "main.py": "from shapes import area\n"},
        r"3\.14",
        steps=2,
    ),
    Task(
        "look-and-read",
        "There is one text file in the folder docs. Read it and tell me the password in it.",
        {"docs/guide.txt": "The password is swordfish.\n"},
        "swordfish",
        steps=2,
    ),
    Task(
        "run-fix",
        "Run python3 broken.py. It fails: change the file so that it prints 5, and run it again.",
        {"broken.py": "print(2 + three)\nthree = 3\n"},
        leaves={"broken.py": r"(?s)(?!print\(2 \+ three\)\nthree = 3)(?!.*print.*print).*print\(.*"},
        steps=4,
        runs=r"(?s)python3 \S*broken\.py.*python3 \S*broken\.py",
    ),
)


HELD_OUT = (
    # Written before anything was tuned, to see how far the rate carries to tasks nobody had in mind.
    Task(
        "who",
        "Who wrote poem.txt? The file says it.",
        {"poem.txt": "The Tyger\nby William Blake\n\nTyger Tyger, burning bright\n"},
        "Blake",
    ),
    Task("note", "Write the sentence Meeting at noon. into note.md", leaves={"note.md": r"Meeting at noon\.?"}),
    Task("date", "Use the shell to print the year 1999 with echo.", says="1999", runs="echo"),
    Task(
        "rename-variable",
        "In app.py replace total with amount.",
        {"app.py": "total = 3\n"},
        leaves={"app.py": "amount = 3"},
    ),
    Task(
        "upper",
        "Read name.txt and write its text in capital letters to loud.txt.",
        {"name.txt": "ada\n"},
        leaves={"loud.txt": "ADA"},
        steps=2,
    ),
    Task(
        "compare",
        "Read old.txt and new.txt and tell me which of the two holds the larger number.",
        {"old.txt": "17\n", "new.txt": "71\n"},
        r"new(\.txt)?",
        steps=2,
    ),
    Task(
        "make-and-list",
        "Create a file report.txt with the text draft, then list the files in this folder and name them.",
        {"data.csv": "1\n"},
        r"(?s)(?=.*report\.txt)(?=.*data\.csv)",
        {"report.txt": "draft"},
        steps=2,
    ),
    Task(
        "set-and-show",
        "Change the colour in theme.ini from blue to green, then read the file again and tell me what it says.",
        {"theme.ini": "colour = blue\nsize = 10\n"},
        "green",
        {"theme.ini": "colour = green\nsize = 10"},
        steps=2,
    ),
    Task(
        "run-and-save",
        "Run the command: expr 6 + 7. Then write its output to answer.txt.",
        leaves={"answer.txt": "13"},
        steps=2,
        runs="expr",
    ),
    Task(
        "find-and-fix",
        "Find the file that contains the word FIXME, and in that file replace FIXME with DONE.",
        {"a.py": "x = 1\n", "b.py": "# FIXME\n"},
        leaves={"b.py": "# DONE"},
        steps=2,
    ),
    Task(
        "three-files",
        "Create a.txt with the text red, b.txt with the text green and c.txt with the text blue.",
        leaves={"a.txt": "red", "b.txt": "green", "c.txt": "blue"},
        steps=3,
    ),
    Task(
        "write-run-save",
        "Create add.py, a Python program that prints 2 + 3, run it with python3, and write what it printed to sum.txt.",
        leaves={"add.py": r"(?s).*print\(.*", "sum.txt": "5"},
        steps=3,
        runs=r"python3 \S*add\.py",
    ),
)


class Watch:
    """When the first piece of a reply was seen."""

    def __init__(self) -> None:
        self.began, self.first = time.perf_counter(), 0.0

    def __call__(self, chunk: AnyChunk) -> None:
        self.first = self.first or time.perf_counter() - self.began


async def tried(
    task: Task, engine: LocalEngine, model: str, dialect: str | None
) -> tuple[str, RunResult | None, Watch]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, content in task.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content)
        run = Orchestrator(
            engine,
            Toolset([TOOLS[tool] for tool in OFFERED]),
            ToolPolicy(max_iterations=8),
            model_name=model,
            dialect=dialect,
            system=SYSTEM,
            workspace=DiskWorkspace(folder),
        )
        watch = Watch()
        try:
            result = await run.run(task.prompt, observe=watch)
        except DragomanError as error:
            return str(error), None, watch
        return task.done(folder, result), result, watch


async def measured(arguments: argparse.Namespace) -> int:
    engine, model = engine_for(arguments.model)
    if not isinstance(engine, LocalEngine):
        print(f"{arguments.model} is no model in this process: this measures local: models")
        return 2
    if arguments.threads:
        engine.threads = arguments.threads
    tasks = HELD_OUT if arguments.held_out else TASKS
    chosen = [task for task in tasks if not arguments.only or task.name in arguments.only.split(",")]
    print(f"{arguments.model}, {engine.threads} threads, {len(chosen)} tasks, tools: {', '.join(OFFERED)}", flush=True)
    firsts: list[float] = []
    done: dict[bool, list[bool]] = {False: [], True: []}
    for task in chosen:
        began, used = time.perf_counter(), time.process_time()
        wrong, result, watch = await tried(task, engine, model, arguments.dialect)
        seconds, worked = time.perf_counter() - began, time.process_time() - used
        firsts.append(watch.first)
        done[task.steps > 1].append(not wrong)
        rounds = 0 if result is None else result.rounds
        verdict = "done" if not wrong else f"FAILED ({wrong})"
        spent = f"{watch.first:5.1f} s to first {seconds:6.1f} s, processor {worked:5.1f} s"
        print(f"{task.name:16} {rounds} rounds {spent}  {verdict}", flush=True)
        if arguments.verbose and result is not None:
            said = [*thoughts_of(result), *calls_of(result)]
            print("".join(f"    {line}\n" for line in said) + f"    → {result.text!r}", flush=True)
    await engine.close()
    for several, name in ((False, "one call"), (True, "several calls")):
        print(f"{name}: {sum(done[several])} of {len(done[several])}")
    everything = [*done[False], *done[True]]
    print(f"all: {sum(everything)} of {len(everything)}; first token after {median(firsts):.1f} s (median)")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", default="local:qwen2.5-coder-1.5b")
    parser.add_argument("--dialect")
    parser.add_argument("--held-out", action="store_true", help="the tasks that nothing was tuned on")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    return asyncio.run(measured(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
