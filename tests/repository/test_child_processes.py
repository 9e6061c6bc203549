"""Every program that dragoman starts is given an environment that was chosen for it: never all of ours."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "dragoman"

# What the standard library starts programs with and takes an environment for.
_WITH_ENVIRONMENT = {
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
    "subprocess": {"Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput", "run"},
}
_OTHERS = {
    "os": {
        *("execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe", "fork", "forkpty"),
        *("popen", "posix_spawn", "posix_spawnp", "spawnl", "spawnle", "spawnv", "spawnve", "startfile", "system"),
    },
    "pty": {"fork", "spawn"},
}
_LIBRARIES = {"ProcessPoolExecutor", "async_playwright", "stdio_client", "sync_playwright"}

STATED = {
    "agents/mcp/connection.py": (
        1,
        "stdio_client",
        "the MCP package's own short list, and what the server's `env` names",
    ),
    "agents/mcp/watch.py": (1, "posix_spawnp", "its own, which is that of the server"),
    "serve/status_line.py": (1, "posix_spawn", "its own: dragoman itself, which finds logs by what clients set there"),
    "tools/web/browser.py": (1, "async_playwright", "`_started` gives it what the browser gets"),
    "tools/processes/landlock.py": (1, "execv", "that of the trial of a sandbox"),
    "tools/processes/supervisor.py": (4, "fork, execve, posix_spawn", "a copy of itself; that of the order"),
}
"""File → how many programs it starts in another way, how, and what environment they get."""

PASSED_IN = {
    ("agents/mcp/stdio.py", "dict(env)"): "the MCP package's short list, and what the server's `env` names",
    (
        "logs/corpus/engines.py",
        "dict(os.environ)",
    ): "all of ours: it reads logs and writes parts as we do, with our keys",
    ("fleet/program.py", "dict(environment)"): (
        "a notice gets child_environment; a worker all of ours, for `dragoman run`, which reads settings and keys"
    ),
}
"""Where a program gets an environment that its caller has chosen, and which that is."""


_MODULES = ("asyncio", "multiprocessing", "os", "pty", "subprocess")
_STARTING = {name for names in (*_WITH_ENVIRONMENT.values(), *_OTHERS.values()) for name in names} | _LIBRARIES
_CALLED = re.compile(
    rf"\b(?:{'|'.join(_MODULES)})\s*\.\s*(?:{'|'.join(sorted(_STARTING))})\b|{'|'.join(sorted(_LIBRARIES))}"
)
_RENAMED = re.compile(
    rf"^\s*(?:import\b.*\b(?:{'|'.join(_MODULES)})\s+as\b|(?:import|from)\b.*\b(?:multiprocessing|pty)\b"
    r"|from\s+(?:asyncio|os|subprocess)\s+import\b)",
    re.MULTILINE,
)


def may_start(text: str) -> bool:
    """Whether a module has the words of a call that starts a program; parsing every module takes seconds."""
    return bool(_CALLED.search(text))


def started(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """The calls that start a program, and the name of what is called."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(module), attr=name)):
                if name in _WITH_ENVIRONMENT.get(module, ()) or name in _OTHERS.get(module, ()) or name in _LIBRARIES:
                    yield name, node
            case ast.Call(func=ast.Name(name)) if name in _LIBRARIES:
                yield name, node


def environment(call: ast.Call) -> str | None:
    """What a call says the environment is."""
    return next((ast.unparse(one.value) for one in call.keywords if one.arg == "env"), None)


def test_every_program_is_given_an_environment_that_was_chosen_for_it() -> None:
    stated: Counter[str] = Counter()
    unstated: list[str] = []
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        if not may_start(text):
            continue
        file = path.relative_to(SOURCE).as_posix()
        tree = ast.parse(text)
        chosen = {
            ast.unparse(node.targets[0])
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and ast.unparse(node.value).startswith("child_environment(")
        }
        for name, call in started(tree):
            given = environment(call)
            if not any(name in names for names in _WITH_ENVIRONMENT.values()):
                stated[file] += 1
            elif (file, given) in PASSED_IN:
                continue
            elif given is None or not (given.startswith("child_environment(") or given in chosen):
                unstated.append(f"{file}:{call.lineno} {name} env={given}")
    assert unstated == []
    assert stated == {file: count for file, (count, _, _) in STATED.items()}


def test_no_program_is_started_under_another_name() -> None:
    hidden: list[str] = []
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        if not _RENAMED.search(text):
            continue
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.Import(names=names):
                    renamed = any(one.name in ("asyncio", "os", "subprocess") and one.asname for one in names)
                    other = any(one.name.partition(".")[0] in ("multiprocessing", "pty") for one in names)
                    hidden += [f"{path.relative_to(SOURCE)}:{node.lineno}"] if renamed or other else []
                case ast.ImportFrom(module="asyncio" | "os" | "subprocess", names=names):
                    taken = any(one.name in _STARTING for one in names)
                    hidden += [f"{path.relative_to(SOURCE)}:{node.lineno}"] if taken else []
                case ast.ImportFrom(module="multiprocessing" | "pty"):
                    hidden.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert hidden == []


def test_a_program_that_inherits_everything_is_noticed() -> None:
    text = "import subprocess\nsubprocess.run(['x'])\nsubprocess.Popen(['x'], env=child_environment())\n"
    assert may_start(text)
    tree = ast.parse(text)
    assert [(name, environment(call)) for name, call in started(tree)] == [
        ("run", None),
        ("Popen", "child_environment()"),
    ]


@pytest.mark.parametrize(
    "text, is_looked_at",
    [
        ("import subprocess as s", True),
        ("    import os as o", True),
        ("from os import (\n    fork,\n)", True),
        ("import multiprocessing.pool", True),
        ("from pty import spawn", True),
        ("import os", False),
    ],
)
def test_a_module_that_may_hide_what_it_starts_is_looked_at(text: str, is_looked_at: bool) -> None:
    assert bool(_RENAMED.search(text)) == is_looked_at
