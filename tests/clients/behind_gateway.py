"""One real client on a scripted model of another maker, started by `dragoman gateway`, and what the model was asked.

A cell runs in a sandbox of its own, as those of `cell.py` do. The model answers in the words of its own family only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from dragoman.apis import APIS
from dragoman.model import ToolChoice
from tests.engine.loopback import Turn

from .cell import misfits
from .driven import CLIENTS
from .install import node_for, program
from .server import MARK, Script, served

ROOT = Path(__file__).parents[2]
_SECONDS = 120
BAD = (
    "*** Begin Patch\n*** Add File: never.py\n+z = 1\n*** Update File: src/a.py\n@@\n-x = 1\n+x = 7\n"
    "*** Update File: src/b.py\n@@\n-not there\n+z\n*** End Patch\n"
)
GOOD = (
    "*** Begin Patch\n*** Add File: new.py\n+z = 1\n*** Update File: src/a.py\n@@\n-x = 1\n+x = 2\n"
    "*** Update File: src/b.py\n@@\n-y = 1\n+y = 2\n*** Delete File: old.txt\n*** End Patch\n"
)
FAILS = "cat src/a.py src/b.py new.py; exit 3"
MODELS: dict[str, tuple[str, dict[str, str], list[tuple[str, Any]]]] = {
    # API → the model, where it is asked (below the port), and the calls that it makes, in its own words.
    "gemini_generate": (
        "gemini:gemini-3-pro-preview",
        {"GOOGLE_GEMINI_BASE_URL": "/v1beta", "GEMINI_API_KEY": ""},
        [
            ("read_file", {"file_path": "src/a.py"}),
            ("grep_search", {"pattern": "y ="}),
            ("replace", {"file_path": "src/a.py", "instruction": "x", "old_string": "x = 1", "new_string": "x = 2"}),
            ("replace", {"file_path": "src/b.py", "instruction": "x", "old_string": "y = 1", "new_string": "y = 2"}),
            ("write_file", {"file_path": "new.py", "content": "z = 1\n"}),
            ("run_shell_command", {"command": "rm old.txt"}),
            ("run_shell_command", {"command": FAILS}),
        ],
    ),
    "openai_responses": (
        "openai:gpt-5.5",
        {"OPENAI_BASE_URL": "/v1", "OPENAI_API_KEY": ""},
        [
            ("exec_command", {"cmd": "cat src/a.py"}),
            ("apply_patch", BAD),
            ("apply_patch", GOOD),
            ("exec_command", {"cmd": FAILS}),
        ],
    ),
    "anthropic_messages": (
        "anthropic:claude-sonnet-4-5",
        {"ANTHROPIC_BASE_URL": "", "ANTHROPIC_API_KEY": ""},
        [
            ("Read", {"file_path": "src/a.py"}),
            ("Edit", {"file_path": "src/a.py", "old_string": "x = 1", "new_string": "x = 2"}),
            ("Edit", {"file_path": "src/b.py", "old_string": "y = 1", "new_string": "y = 2"}),
            ("Write", {"file_path": "new.py", "content": "z = 1\n"}),
            ("Bash", {"command": "rm old.txt"}),
            ("Bash", {"command": FAILS}),
        ],
    ),
}
FILES = {"src/a.py": "x = 1\n", "src/b.py": "y = 1\n", "old.txt": "old\n"}
DONE = {"src/a.py": "x = 2\n", "src/b.py": "y = 2\n", "new.py": "z = 1\n"}
STARTED: dict[str, tuple[str, Sequence[str], set[str]]] = {
    # Client → its name for the gateway, options that let it work without asking, and words of its own.
    "claude_code": ("claude", ("-p", "{}", "--dangerously-skip-permissions"), {"Read", "Edit", "Write", "Bash"}),
    "codex": (
        "codex",
        ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-m", "gpt-5.5", "{}"),
        {"exec_command", "apply_patch"},
    ),
    "gemini_cli": ("gemini", ("-p", "{}", "-m", "gemini-2.5-pro", "--yolo", "--skip-trust"), {"replace", "read_file"}),
    "opencode": ("opencode", ("run", "{}"), {"read", "edit", "write", "bash", "apply_patch"}),
    "qwen_code": ("qwen", ("-p", "{}", "--yolo"), {"edit", "read_file", "write_file"}),
}


class Seen(msgspec.Struct):
    """What a cell showed."""

    files: dict[str, str] = {}
    asked: int = 0
    """How often the model was asked."""
    foreign: list[str] = []
    """Names of the client's own tools that the model was offered or that stood in its history."""
    problems: list[str] = []


def tried(client: str, api: str, folder: Path) -> Seen:
    """Runs a cell in its sandbox; `folder` is where it may write."""
    programs = (program(client), node_for(client) or "")
    folder.mkdir(parents=True)
    shut_in = ("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", folder, folder)
    alone = ("--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session")
    run = (sys.executable, "-m", "tests.clients.behind_gateway", client, api, folder, *programs)
    done = subprocess.run(
        [str(one) for one in (*shut_in, *alone, "--chdir", ROOT, *run)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_SECONDS * 2,
        check=False,
    )
    if done.returncode:
        return Seen(problems=[(done.stdout + done.stderr).decode("utf-8", "replace")[-3_000:]])
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Seen)


def _run(client: str, api: str, folder: Path, found: Path, node: Path | None) -> Seen:
    """The inner side of a cell."""
    home, project, programs = folder / "home", folder / "home" / "project", folder / "bin"
    for name, text in FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    (folder / "tmp").mkdir()
    programs.mkdir()
    named, options, own = STARTED[client]
    (programs / named).symlink_to(found)
    model, address, calls = MODELS[api]
    turns = [Turn(f"Step {place}.", calls=((f"id_{place}", *call),)) for place, call in enumerate(calls)]
    script = Script([*turns, Turn("All done.")])
    with served(script) as port:
        setup = CLIENTS[client].setup(port)
        if client in ("gemini_cli", "qwen_code"):  # they ask how to log in before they do anything else
            for name, content in setup.files.items():
                (home / name).parent.mkdir(parents=True, exist_ok=True)
                (home / name).write_text(json.dumps(content))
        path = [programs, *([node.parent] if node is not None else []), *os.environ["PATH"].split(os.pathsep)]
        environment = {
            "HOME": str(home),
            "PATH": os.pathsep.join(map(str, path)),
            "TMPDIR": str(folder / "tmp"),
            "SHELL": "/bin/bash",
            "TERM": "xterm",
            **{name: value for name, value in setup.environment.items() if "URL" not in name and value != "none"},
            **{name: f"http://127.0.0.1:{port}{path}" for name, path in address.items() if name.endswith("URL")},
            **{name: "sk-upstream-key" for name in address if name.endswith("KEY")},
        }
        prompt = f"Do it. {MARK}"
        gateway = (Path(sys.executable).parent / "dragoman", "gateway", named, "--model", model, "--watch", "--")
        argv = [str(one) for one in (*gateway, *(prompt if one == "{}" else one for one in options))]
        done = subprocess.run(
            argv,
            cwd=project,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS,
            check=False,
        )
    said = done.stdout.decode("utf-8", "replace")
    seen = Seen(
        {str(file.relative_to(project)): file.read_text() for file in project.rglob("*.*") if file.is_file()},
        len(script.taken),
    )
    if done.returncode or "All done." not in said:
        seen.problems.append(f"it ended with {done.returncode}: {said[-3_000:]}")
    if "sk-upstream-key" in said:
        seen.problems.append("the key of the provider was shown")
    for body in script.taken:
        request = msgspec.structs.replace(APIS[api].read_request(body, model="m"), choice=ToolChoice())
        seen.problems += misfits(request)
        names = {str(one.name) for one in request.definitions}
        seen.foreign += sorted(names & own - {name for name, _ in calls} - _SHARED.get(api, set()))
    return seen


_SHARED = {"gemini_generate": {"read_file", "write_file", "replace", "edit"} - {"edit"}}
"""Words that two vocabularies have alike: Qwen Code's began as Gemini CLI's."""

if __name__ == "__main__":
    wanted, asked, place, program_, node_ = sys.argv[1:]
    outcome = _run(wanted, asked, Path(place), Path(program_), Path(node_) if node_ else None)
    sys.stdout.buffer.write(msgspec.json.encode(outcome) + b"\n")
