"""Calls that a real client is asked for by its scripted model: the files it leaves, and what it tells the model.

The client runs in a sandbox of its own, as those of `cell.py` do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dragoman.apis import APIS
from dragoman.model.calls import NativeCall
from tests.engine.loopback import Turn

from .cell import results, text_of
from .driven import SETUPS
from .sandbox import programs_of, run_inside
from .server import MARK, Script, served

_SECONDS = 240
MODELS = {"gemini_cli": "gemini-2.5-pro", "qwen_code": "qwen3-coder-plus", "copilot": "claude-sonnet-4.5"}
"""The model that a client is told to ask; Claude Sonnet where none is named."""
PATCHING_MODEL = "gpt-5"
"""A model that opencode, Copilot and Cline offer a tool for patches."""
STARTED: dict[str, Callable[[str, str], Sequence[str]]] = {
    # Client → options that do a prompt with a model, without asking.
    "claude_code": lambda prompt, model: ("-p", prompt, "--model", model, "--dangerously-skip-permissions"),
    "gemini_cli": lambda prompt, model: ("-p", prompt, "-m", model, "--yolo", "--skip-trust"),
    "qwen_code": lambda prompt, model: ("-p", prompt, "-m", model, "--auth-type", "openai", "--yolo"),
    "opencode": lambda prompt, model: ("run", "-m", f"anthropic/{model}", prompt),
    "copilot": lambda prompt, _: ("-p", prompt, "--no-auto-update", "--allow-all"),
    "pi": lambda prompt, model: ("-p", "--provider", "here", "--model", model, "--offline", prompt),
    "continue": lambda prompt, _: ("-p", prompt, "--auto"),
    "cline": lambda prompt, model: ("--json", "--auto-approve", "true", "-P", "openai-compatible", "-m", model, prompt),
    "droid": lambda prompt, _: ("exec", "--model", "custom:here-0", "--skip-permissions-unsafe", prompt),
}


def options(client: str, prompt: str, model: str | None = None) -> Sequence[str]:
    """How a client is started to do a prompt."""
    return STARTED[client](prompt, model or MODELS.get(client, "claude-sonnet-4-5"))


class Asked(msgspec.Struct):
    """Files by their names in the project, and turns of calls."""

    files: dict[str, bytes]
    turns: list[list[tuple[str, str, dict[str, Any] | str]]]
    """(id, name, arguments)."""
    model: str


class Answered(msgspec.Struct):
    """The project's files afterwards, and by the id of each call what the client told its model."""

    files: dict[str, bytes] = {}
    told: dict[str, str] = {}
    problem: str = ""


def project_in(folder: Path) -> Path:
    """Where the files are."""
    return folder / "home" / "project"


def answered(
    client: str,
    files: Mapping[str, bytes],
    turns: Sequence[Sequence[NativeCall]],
    folder: Path,
    *,
    model: str | None = None,
) -> Answered:
    """What a client does when it is asked for these calls; `folder` is where it may write."""
    folder.mkdir(parents=True)
    said = [[(native.id, native.name, native.arguments) for native in turn] for turn in turns]
    asked = Asked(dict(files), said, model or MODELS.get(client, "claude-sonnet-4-5"))
    (folder / "asked.json").write_bytes(msgspec.json.encode(asked))
    words = (client, folder, *programs_of(client))
    found = run_inside("tests.clients.asked", *words, folder=folder, seconds=_SECONDS * 2, type=Answered)
    return found if isinstance(found, Answered) else Answered(problem=found)


def _run(client: str, folder: Path, program: Path, node: Path | None) -> Answered:
    """The inner side."""
    home, project = folder / "home", project_in(folder)
    project.mkdir(parents=True)
    (folder / "tmp").mkdir()
    asked = msgspec.json.decode((folder / "asked.json").read_bytes(), type=Asked)
    for name, data in asked.files.items():
        (project / name).write_bytes(data)
    script = Script([*(Turn(calls=tuple(calls)) for calls in asked.turns), Turn("Done.")])
    with served(script) as port:
        setup = SETUPS[client](port, asked.model)
        for name, content in setup.files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(content if isinstance(content, str) else json.dumps(content))
        path = os.environ["PATH"] if node is None else f"{node.parent}{os.pathsep}{os.environ['PATH']}"
        environment = {"HOME": str(home), "PATH": path, "TMPDIR": str(folder / "tmp"), "SHELL": "/bin/bash"}
        for given in (*setup.first, options(client, f"Do it. {MARK}", asked.model)):
            done = subprocess.run(
                [str(program), *given],
                cwd=project,
                env={**environment, "TERM": "xterm", "LANG": "C.UTF-8", **setup.environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_SECONDS,
                check=False,
            )
    if len(script.taken) <= len(asked.turns):
        said = done.stdout.decode("utf-8", "replace")
        return Answered(problem=f"asked {len(script.taken)} times for {len(asked.turns) + 1} turns:\n{said[-2_000:]}")
    request = APIS[script.api].read_request(script.taken[len(asked.turns)], model="a-model")
    told = [text_of(result) for result in results(request.conversation)]
    calls = [id for turn in asked.turns for id, _, _ in turn]
    if len(told) != len(calls):
        return Answered(problem=f"{len(told)} results of {len(calls)} calls")
    # Not every client keeps the ids of calls, but all keep their order.
    files = {file.name: file.read_bytes() for file in project.iterdir() if file.is_file()}
    return Answered(files, dict(zip(calls, told, strict=True)))


if __name__ == "__main__":
    name, place, found, runs_on = sys.argv[1:]
    outcome = _run(name, Path(place), Path(found), Path(runs_on) if runs_on else None)
    sys.stdout.buffer.write(msgspec.json.encode(outcome) + b"\n")
