"""The sandbox of one `Shell`: how its commands are started in it, and what is said when it got in their way.

Commands of one shell share a private folder for temporary files, which is removed with the shell.
"""

from __future__ import annotations

import itertools
import os
import re
import stat
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from dragoman.errors import ToolError
from dragoman.model.effects import fields_of
from dragoman.model.operations import Kind, RunCommand, WatchCommand
from dragoman.tools.workspace.git_control import repositories
from dragoman.tools.workspace.hidden_paths import is_within

from .layout import PROJECT_FILES, Layout, layout_of
from .mechanism import Mechanism, Wrapped, wrapped
from .sandbox import OUTSIDE, choose, described

if TYPE_CHECKING:
    from dragoman.config import Sandbox
    from dragoman.model.operations import Operation
    from dragoman.tools.processes.command import Command
    from dragoman.tools.workspace.workspace import Workspace

# How programs say that the system refused something, in English and by the names and numbers of the errors.
_REFUSED: Final = re.compile(
    r"read-only file system|permission denied|operation not permitted|device or resource busy"
    r"|\bE(?:ROFS|ACCES|PERM|BUSY)\b|\berrno (?:1|13|16|30)\b|\bos error (?:1|13|16|30)\b",
    re.IGNORECASE,
)
_NO_NETWORK: Final = re.compile(
    r"network is (?:unreachable|down)|could not resolve|name resolution|name or service not known|failed to lookup"
    r"|nodename nor servname|no address associated|getaddrinfo|connection refused|dns error"
    r"|\bE(?:NETUNREACH|AI_AGAIN|NOTFOUND|CONNREFUSED)\b",
    re.IGNORECASE,
)
_LOOKED_AT = 20_000
ASKS_TO_LEAVE: Final = "it is to run outside the sandbox (sandbox.unsandboxed)"


class Enclosure:
    """What the commands of one shell run in. It is looked for, and tried, when it is first needed."""

    def __init__(self, options: Sandbox) -> None:
        self.options = options
        self._found: Mechanism | None = None
        self._layout: Layout | None = None
        self._repositories: dict[str, list[str]] = {}
        self._temporary: str | None = None
        self._redirects: dict[str, str] = {}
        """What must not appear, with the folder that it is in and commands may write to."""
        self._states: dict[str, Any] = {}

    def mechanism(self, *, unsandboxed: bool = False) -> Mechanism:
        """What a command will run in; a `ToolError` where it must not run at all."""
        if self._found is None:
            self._found = choose(self.options.mode, network=self.options.network)
        if not unsandboxed or self._found.kind is None:
            return self._found
        if self.options.unsandboxed == "deny":
            raise ToolError("Running outside the sandbox is not allowed here: run it inside.", kind="denied")
        return Mechanism(OUTSIDE)

    @property
    def can_be_left(self) -> bool:
        """Whether a command may ask to run outside of it: there is one, and it may be asked."""
        return self.options.unsandboxed != "deny" and self._works()

    def left_by(self, operations: Iterable[Operation], workspace: Workspace | None) -> str | None:
        """Why an operation leaves the sandbox, where there is one: it asks to, or changes what is run outside."""
        for operation in operations:
            reason = ASKS_TO_LEAVE if getattr(operation, "unsandboxed", False) else _steers(operation, workspace)
            if reason is not None and self._works():
                return reason
        return None

    def around_commands(self, operations: Iterable[Operation]) -> str | None:
        """What the commands of a call will run in, in words; `None` where it starts none."""
        commands = [one for one in operations if isinstance(one, RunCommand | WatchCommand)]
        if not commands:
            return None
        if any(getattr(one, "unsandboxed", False) for one in commands) and self._works():
            return "NONE (it asks to run outside: it could read and change everything that you can)"
        return self.described()

    def described(self) -> str:
        """What commands run in, in words."""
        try:
            return described(self.mechanism(), self.options)
        except ToolError:
            return "none (one is required, so no command runs)"

    def _works(self) -> bool:
        try:
            return self.options.mode != "off" and self.mechanism().kind is not None
        except ToolError:
            return False

    @contextmanager
    def around(
        self, arguments: list[str], *, root: str, cwd: str, unsandboxed: bool
    ) -> Iterator[tuple[Mechanism, Wrapped]]:
        """A command line as it is to be started, while what was opened for it is open."""
        mechanism = self.mechanism(unsandboxed=unsandboxed)
        if mechanism.kind is None:
            yield mechanism, Wrapped(arguments)
            return
        if root not in self._repositories:
            self._repositories[root] = repositories(root)
        dot_git = os.path.join(root, ".git")  # it may have been made since the others were searched for
        found = dict.fromkeys([*([dot_git] if os.path.lexists(dot_git) else []), *self._repositories[root]])
        self._layout = layout = layout_of(self.options, root, self._temporary_folder(), found)
        for path in layout.redirects:
            if not os.path.lexists(path):
                self._redirects[path] = max((one for one in layout.writable if is_within(path, one)), key=len)
        if mechanism.kind == "landlock":
            self._states |= {path: _state(path) for path in layout.read_only}
        with wrapped(mechanism, layout, arguments, cwd=cwd, network=self.options.network) as command:
            yield mechanism, command

    def _temporary_folder(self) -> str:
        if self._temporary is None:
            import tempfile

            self._temporary = os.path.realpath(tempfile.mkdtemp(prefix="dragoman-"))
            self._removal = weakref.finalize(self, _remove, self._temporary)
        return self._temporary

    def close(self) -> None:
        """Remove what was made for the commands; all of them have ended."""
        self._swept()
        if self._temporary is not None:
            self._removal()
            self._temporary = None

    # -- what is said about it

    def notes(self, command: Command, output: str) -> Iterator[str]:
        """What the sandbox has to do with how a command went."""
        for done in self._swept():
            yield f"{done}, which this command made: Git would take settings or hooks from there"
        changed = [path for path, state in self._states.items() if _state(path) != state]
        self._states |= {path: _state(path) for path in changed}
        if changed:
            yield (
                f"{' and '.join(changed)} changed while this ran, which Landlock cannot prevent: "
                "look at it before you use Git or dragoman here"
            )
        if command.sandbox in ("bubblewrap", "landlock", "seatbelt") and not command.running and command.exit_code:
            yield from self._hindrance(command.sandbox, output[-_LOOKED_AT:])

    def _hindrance(self, kind: str, output: str) -> Iterator[str]:
        hidden = self._layout.hidden if self._layout is not None else ()
        limits: list[str] = []
        if _REFUSED.search(output) or any(path in output for path in hidden):
            but = "" if kind == "landlock" else " (but not .git/hooks, .git/config and dragoman's own files)"
            limits.append(f"writes only in the workspace{but} and $TMPDIR")
            limits.append("no access to keys and passwords in the home folder")
        if not self.options.network and _NO_NETWORK.search(output):
            limits.append("no network")
        if limits:
            way = (
                "ask to run it outside the sandbox" if self.can_be_left else "it cannot be run outside the sandbox here"
            )
            yield f"this ran in a sandbox ({kind}): {', '.join(limits)}. If it failed because of that, {way}"

    def _swept(self) -> list[str]:
        """Take away what must not appear in a repository; what was done with it."""
        done = (_taken_away(path, folder) for path, folder in self._redirects.items())
        return [one for one in done if one is not None]


def _taken_away(path: str, folder: str) -> str | None:
    """Remove a file that appeared, or rename a folder, and say so. A link on the way is removed itself.

    There was none when the path was worked out. A folder may hold files that somebody wants; under another name it
    has no effect.
    """
    *above, last = os.path.relpath(path, folder).split("/")
    current = _entered(folder, None)
    try:
        for name in above:
            mode = _mode(name, current)
            if mode is None or not (stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
                return None
            if stat.S_ISLNK(mode):
                last = name
                break
            inner = _entered(name, current)
            os.close(current)
            current = inner
        mode = _mode(last, current)
        if mode is None:
            return None
        own = os.fstat(current).st_mode
        if ~own & stat.S_IRWXU:  # a command may have locked it
            os.fchmod(current, stat.S_IMODE(own) | stat.S_IRWXU)
        if not stat.S_ISDIR(mode):
            os.unlink(last, dir_fd=current)
            return f"removed {path}"
        other = next(new for count in itertools.count(1) if _mode(new := f"{last}.unused-{count}", current) is None)
        os.rename(last, other, src_dir_fd=current, dst_dir_fd=current)
        return f"renamed {path} to {other}"
    except OSError as error:
        return f"could not remove {path} ({error.strerror})"
    finally:
        os.close(current)


def _mode(name: str, folder: int) -> int | None:
    try:
        return os.lstat(name, dir_fd=folder).st_mode
    except FileNotFoundError:
        return None


def _entered(name: str, folder: int | None) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, flags, dir_fd=folder)
    except PermissionError:  # a command may have locked it; its files can be used all the same
        os.chmod(name, stat.S_IRWXU, dir_fd=folder)
        return os.open(name, flags, dir_fd=folder)


def _steers(operation: Operation, workspace: Workspace | None) -> str | None:
    """Whether a change of a file is one that commands in the sandbox are kept from, and why."""
    if operation.kind is not Kind.WRITE or workspace is None:
        return None
    for name in fields_of(operation).path:
        named = getattr(operation, name)
        for follow in (True, False) if isinstance(named, str) else ():
            try:
                parts = workspace.resolve(named, follow=follow).lower().split("/")
            except ToolError:
                continue  # it leads out of the workspace: the tool will say so
            if ".git" in parts or parts[0] in PROJECT_FILES:
                return f"it changes what runs outside the sandbox: {named} (sandbox.unsandboxed)"
    return None


def _state(path: str) -> Any:
    """What tells whether a file, or anything in a folder, was changed."""
    try:
        status = os.lstat(path)
        names = sorted(os.listdir(path)) if os.path.isdir(path) and not os.path.islink(path) else []
    except OSError:
        return None
    inside = [_state(os.path.join(path, name)) for name in names]
    return (status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size, names, inside)


def _remove(path: str) -> None:
    """Remove a file or a folder of the commands', also when they locked themselves out of a part of it."""
    import shutil

    if os.path.islink(path) or not os.path.isdir(path):
        os.unlink(path)
        return
    for parent, names, _ in os.walk(path):
        for name in names:
            inner = os.path.join(parent, name)
            if not os.path.islink(inner):
                os.chmod(inner, 0o700)
    shutil.rmtree(path)
