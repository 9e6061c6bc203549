"""Transactions interrupted at every call they make: a program, because what watches those calls stays for good.

`python -m tests.tools.interruptions CASE FOLDER` prints what happened as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.errors import ToolError
from dragoman.model import operations as op
from dragoman.tools.workspace.disk import DiskWorkspace
from tests.tools.workspaces import files

OLD = {path: f"old {path}\n" * 2000 for path in ("edited", "moved", "deleted", "folder/kept", "here", "there")}
ONE: list[op.Operation] = [op.WriteFile("edited", "new\n" * 3000)]
CREATED: list[op.Operation] = [op.WriteFile("new folder/deep/created", "new")]
MANY = [
    *ONE,
    *CREATED,
    op.EditFile("folder/kept", (op.Edit("old ", "new ", everywhere=True),)),
    op.MoveFile("moved", "new folder/moved"),
    op.DeleteFile("deleted"),
    op.MoveFile("here", "meanwhile"),
    op.MoveFile("there", "here"),
    op.MoveFile("meanwhile", "there"),
]
TURNED: list[op.Operation] = [
    op.MoveFile("edited", "meanwhile"),
    op.WriteFile("edited/deep/created", "new"),
    op.DeleteFile("deleted"),
    op.MoveFile("moved", "deleted/moved"),
    op.MoveFile("meanwhile", "edited/edited"),
]
# Calls that change something; opening counts when it makes a file.
CALLS = {
    *("open", "os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir"),
    *("os.chmod", "os.chown", "os.setxattr", "fcntl.flock"),
}


def main(case: str, folder: str) -> None:
    kind, _, what = case.partition(" ")
    operations = {"one": ONE, "created": CREATED, "many": MANY, "turned": TURNED}.get(what, [])
    if kind == "full":
        print(json.dumps(full(Path(folder))))
    elif kind == "between":
        print(json.dumps(between(Path(folder), what)))
    elif kind == "anytime":
        print(json.dumps([interrupted(Path(folder, str(n)), operations, alarmed(n)) for n in range(40)]))
    else:
        happened = []
        for number in range(0, 1000, 4 if kind == "rekilled" else 1):
            arm = at_call(number, killing=kind != "raised")
            happened.append(interrupted(Path(folder, str(number)), operations, arm, rekilled=kind == "rekilled"))
            if happened[-1]["ended"] == 0:
                break
        print(json.dumps(happened))


def interrupted(
    root: Path, operations: Sequence[op.Operation], arm: Callable[[], None], *, rekilled: bool = False
) -> dict[str, Any]:
    """What is there after a child was stopped in the middle, and after the workspace was opened again.

    With `rekilled`, those who open it again are killed too: at their first call, at their second, and so on.
    """
    for path, text in OLD.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)

    def work() -> None:
        workspace = DiskWorkspace(root)
        arm()
        workspace.apply(operations)

    def reopen(number: int) -> None:
        at_call(number, killing=True)()
        DiskWorkspace(root)

    ended = in_child(work)
    after = summary(root)
    if rekilled:
        next(number for number in range(1000) if in_child(partial(reopen, number)) == 0)
    workspace = DiskWorkspace(root, durable=False)
    reopened = summary(root)
    for place, _, _ in os.walk(root):
        workspace.write(f"{os.path.relpath(place, root)}/last", b"")
    left = [name for _, _, names in os.walk(root) for name in names if name.startswith(".dragoman-")]
    return {"ended": ended, "after": after, "reopened": reopened, "left": left}


def in_child(work: Callable[[], None]) -> int:
    """How a child ended that does some work: 0 when it came to its end."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1]


def summary(root: Path) -> dict[str, str]:
    """Every file as "old x" or "new x" when it is whole, as torn otherwise."""
    found = {}
    for place, _, names in os.walk(root):
        for name in names:
            path = Path(place, name)
            text = path.read_text()
            whole = text in OLD.values() or text in ("new", "new\n" * 3000, OLD["folder/kept"].replace("old ", "new "))
            found[str(path.relative_to(root))] = text.split("\n")[0] if whole else f"torn ({len(text)})"
    return {path: text for path, text in found.items() if not path.rpartition("/")[2].startswith(".dragoman-")}


def at_call(number: int, *, killing: bool) -> Callable[[], None]:
    def arm() -> None:
        left = [number]

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            if event in CALLS and (event != "open" or int(str(arguments[2])) & os.O_CREAT):
                left[0] -= 1
                if left[0] == -1:
                    if killing:
                        os.kill(os.getpid(), signal.SIGKILL)
                    raise KeyboardInterrupt

        sys.addaudithook(hook)

    return arm


def alarmed(number: int) -> Callable[[], None]:
    """The kernel ends the process after a random while, wherever it is; nothing of it runs after that."""
    return lambda: signal.setitimer(signal.ITIMER_REAL, random.Random(number).uniform(0.0001, 0.008)) and None


def between(root: Path, call: str) -> dict[str, Any]:
    """Somebody puts another file in place just before a call is made."""
    workspace = DiskWorkspace(made(root))
    if call != "os.link":
        workspace.write("f", b"old")
    waiting = [root / "theirs"]

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == call and waiting:
            theirs = waiting.pop()
            theirs.write_text("their work")
            os.replace(theirs, root / "f")

    sys.addaudithook(hook)
    try:
        workspace.write("f", b"mine")
    except ToolError as error:
        return {"details": error.details, "files": {path: data.decode() for path, data in files(workspace).items()}}
    return {"files": {path: data.decode() for path, data in files(workspace).items()}}


def full(root: Path) -> dict[str, Any]:
    """The system refuses to write more, halfway through a transaction."""
    import resource

    workspace = DiskWorkspace(root := made(root))
    workspace.write("f", b"old")
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    try:
        workspace.apply([op.WriteFile("f", "new"), op.WriteFile("folder/large", "x" * 200_000), op.DeleteFile("f")])
    except ToolError as error:
        return {"message": error.message, "files": next(os.walk(root))[1:]}
    return {}


def made(root: Path) -> Path:
    root.mkdir()
    return root


if __name__ == "__main__":
    main(*sys.argv[1:])
