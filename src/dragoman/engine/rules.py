"""Rules: which of them fit a call, and the one order in which they decide. `docs/howto/approvals.md` says it for users.

1. A rule that denies wins, wherever it stands.
2. Otherwise each source of rules (the settings of the user, the project's, an agent's file, …) has the verdict of its
   first rule that fits, and of these verdicts the strictest holds.
3. Where no rule fits: what the tool itself says (`approval`), then the policy's default.
4. Of a policy and the one it is `within`, the stricter verdict holds.

A rule that denies or asks fits when anything in the call fits it: one of its paths, one of the commands in its line, a
file or an address that the line may reach (`shell_reach`). A rule that allows fits when everything does: all paths,
every command of the line, and nothing beside them.

5. A command line of which nobody can tell what it does has at least the verdict `ToolPolicy.unknown_commands`, unless
   a rule with a `command` allows it, or allows those commands while the others reach nothing (`make test | tail`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from posixpath import join, normpath
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import msgspec

from dragoman.errors import ToolError
from dragoman.model import Call, NativeCall, operations as op
from dragoman.model.effects import fields_of

from . import shell_reach
from .argument_reach import (
    addresses_in,
    command_lines_in,
    paths_in,
    place_of_resource,
    reach_of_arguments,
)
from .command_lines import CommandLine, read_command_line, words_of
from .reached_files import copies_links, fits_path, forget_listings, is_outside, names_of
from .reached_rules import allows, reaches
from .shell_reach import Effect, Folder, Reach, places_in

if TYPE_CHECKING:
    from dragoman.model import Kind
    from dragoman.policy_rule import Verdict
    from dragoman.tools import Workspace

    from .policy import Approval, ToolPolicy

DEFAULT_RULE: Final = "the policy's default"
"""What is named as the rule where no rule fits."""
UNKNOWN_RULE: Final = "it cannot be told what it does"
"""What is named as the rule for a command line, or a tool, that may do anything."""
STRICTNESS: Final = {"allow": 0, "ask": 1, "deny": 2}

Judged = tuple["Verdict", str | None]
"""A verdict, and the rule it came from in words."""


class JudgedTool(Protocol):
    """What rules look at of the tool that does an operation: ours, or one of a program that only asks us."""

    @property
    def name(self) -> str:
        """Its name here."""

    @property
    def kind(self) -> Kind | None:
        """The kind of its calls, if not the operation's."""

    @property
    def approval(self) -> Literal["never", "always", "policy"]:
        """What it says of itself."""

    @property
    def mcp(self) -> tuple[str, str] | None:
        """The server and the name there."""


def verdict_on(
    call: Call, tools: Sequence[JudgedTool], policy: ToolPolicy, workspace: Workspace | Folder | None = None
) -> Judged:
    """The strictest verdict on any operation of a call, and the rule it came from."""
    forget_listings()
    found: list[Judged] = []
    for operation, tool in zip(call.operations, tools, strict=True):
        case: Case | None = None
        bound: ToolPolicy | None = policy
        while bound is not None:
            if bound.approval or bound.unknown_commands != "allow":
                case = case or Case(operation, tool, workspace, policy.agent)
                found.append(_verdict(case, bound))
            else:
                found.append(_without_rule(tool, bound))
            bound = bound.within
    return found[0] if len(found) == 1 else _strictest(found) or ("allow", None)


def _strictest(found: Iterable[Judged]) -> Judged | None:
    """The strictest verdict. What no rule allows is stricter than what one does: a rule allows only what it is about,
    and a hook leaves the rest to its client."""
    return max(found, key=lambda one: (STRICTNESS[one[0]], one[1] is None), default=None)


def _verdict(case: Case, policy: ToolPolicy) -> Judged:
    rules = policy.approval
    for rule in rules:
        if rule.verdict == "deny" and (case.fits(rule) or case.reaches(rule) is True):
            return "deny", _told(rule, rules)  # before all else, also before what the tool says of itself
    if case.tool.approval == "always":
        return _without_rule(case.tool, policy)
    parts = case.parts()
    judged = _on_parts(parts, policy)
    if STRICTNESS[policy.unknown_commands] <= STRICTNESS[judged[0]]:
        return judged
    unclear = case.unclear(rules)
    if unclear is None or _allowed_or_idle(case, parts, rules):
        return judged
    return policy.unknown_commands, f"{UNKNOWN_RULE}: {unclear}"


def _allowed_by_name(part: Case, rules: tuple[Approval, ...]) -> bool:
    """Whether a rule names this very command, or this tool of which only the arguments are known, and allows it,
    whatever it does."""
    return any(rule.verdict == "allow" and part.is_named_by(rule) and part.fits(rule) for rule in rules)


def _allowed_or_idle(case: Case, parts: list[Case], rules: tuple[Approval, ...]) -> bool:
    """Whether rules allow by name the commands of a line of which nobody can tell what they do.

    What comes before the first of them must be clear by itself. What comes after it may only read what it is given
    (`make test 2>&1 | tail`): a path may lead elsewhere by then.
    """
    allowed = [_allowed_by_name(part, rules) for part in parts]
    if all(allowed):
        return True
    if True not in allowed:
        return False
    first = allowed.index(True)
    after = [part for part, is_allowed in zip(parts[first:], allowed[first:], strict=True) if not is_allowed]
    before = case.only(parts[:first]) if first else None
    return (before is None or before.unclear(rules) is None) and all(part.is_idle() for part in after)


def _on_parts(parts: list[Case], policy: ToolPolicy) -> Judged:
    """The strictest verdict on any command. After one that a rule allows, what no rule is about counts for nothing if
    it only reads what it is given (`make test | tail`)."""
    found: dict[Judged, None] = {}
    known: dict[int, Judged] = {}
    ruled = False
    for part in parts:
        judged = known[id(part)] if id(part) in known else known.setdefault(id(part), _on_part(part, policy))
        if judged == ("allow", None) and ruled and part.is_idle():
            continue
        found[judged] = None
        ruled = ruled or judged[1] is not None
    return _strictest(found) or ("allow", None)


def _on_part(part: Case, policy: ToolPolicy) -> Judged:
    """The verdict on a call with one command, or with none."""
    rules = policy.approval
    found = [(rule.verdict, _told(rule, rules)) for rule in _first_of_each_source(rules, part.decider(rules))]
    if found:
        return _strictest(found) or found[0]
    return _without_rule(part.tool, policy)


def _without_rule(tool: JudgedTool, policy: ToolPolicy) -> Judged:
    """The verdict where no rule fits."""
    if tool.approval == "always":
        return "ask", "the tool asks each time"
    if tool.approval == "never" or policy.default == "allow":
        return "allow", None
    return policy.default, DEFAULT_RULE


def _first_of_each_source(rules: Iterable[Approval], fits: Callable[[Approval], bool]) -> Iterator[Approval]:
    seen: set[str | None] = set()
    for rule in rules:
        if rule.source not in seen and fits(rule):
            seen.add(rule.source)
            yield rule


def _told(rule: Approval, rules: tuple[Approval, ...]) -> str:
    """A rule in words: its number among those of its source, and its conditions."""
    number = [one for one in rules if one.source == rule.source].index(rule) + 1
    said = msgspec.to_builtins(rule)
    conditions = ", ".join(
        f"{key}={_plain(value)}"
        for key, value in said.items()
        if key not in ("verdict", "source") and value not in (None, {})
    )
    source = f" of {rule.source}" if rule.source else ""
    return f"rule {number}{source} ({conditions or 'everything'})"


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def rule_against(
    path: str,
    operation: op.Operation,
    tool: JudgedTool,
    policy: ToolPolicy,
    workspace: Workspace | Folder | None,
    agent: str | None,
) -> str | None:
    """The rule that keeps a file from a call that would reach it without naming it; `None` where none does."""
    case = Case(operation, tool, workspace, agent, paths=[path])
    rules = policy.approval
    for rule in rules:
        if rule.verdict == "deny" and rule.path is not None and case.fits(rule):
            return _told(rule, rules)
    if tool.approval != "policy":
        return None
    found = [(rule.verdict, rule) for rule in _first_of_each_source(rules, case.fits)]
    strictest = max(found, key=lambda one: STRICTNESS[one[0]], default=None)
    if strictest is None or strictest[0] == "allow" or strictest[1].path is None:
        return None
    return _told(strictest[1], rules)


def redirect_check(
    operation: op.Operation, tool: JudgedTool, policy: ToolPolicy, workspace: Workspace | Folder | None
) -> Callable[[str], str | None]:
    """Why a redirect of this call may not be followed, given where it leads; `None` where it may.

    What was asked about may lead anywhere that is not denied: the person saw the address. What a rule allowed stays
    where rules allow it.
    """

    def verdict(one: op.Operation) -> Judged:
        return verdict_on(Call("", (one,), NativeCall("", "")), (tool,), policy, workspace)

    def check(url: str) -> str | None:
        judged, rule = verdict(msgspec.structs.replace(operation, url=url))
        if judged == "allow" or (judged == "ask" and verdict(operation)[0] != "allow"):
            return None
        return f"{'that is not allowed' if judged == 'deny' else 'that would have to be asked about'} ({rule})"

    return check


# ── which rules fit ──────────────────────────────────────────────────────────

_PATHS: Final = (
    *("path", "paths", "file", "files", "file_path", "file_paths", "filename", "folder", "directory"),
    *("source", "destination", "target", "to"),
)
_URLS: Final = ("url", "urls", "uri")
_SWITCHES: Final = ("login", "background", "terminal", "unsandboxed")
_KNOWN_SHELLS: Final = frozenset(
    f"{folder}{name}"
    for folder in ("", "/bin/", "/usr/bin/", "/usr/local/bin/")
    for name in ("sh", "bash", "dash", "zsh")
)


class Case:
    """An operation and the tool that does it, as rules look at them; or one command of a line that has several."""

    def __init__(
        self,
        operation: op.Operation,
        tool: JudgedTool,
        workspace: Workspace | Folder | None,
        agent: str | None,
        *,
        paths: list[str] | None = None,
        part: tuple[str, CommandLine] | None = None,
        whole: Case | None = None,
    ) -> None:
        self.operation, self.tool, self._workspace, self._agent = operation, tool, workspace, agent
        self._given_paths, self._part = paths, part
        self._fields = fields_of(operation)
        # What is the same for every command of a line is found out once: a line may have thousands.
        self._whole = whole or self
        self._reached: dict[tuple[int, ...], bool | None] = {}
        self._line_matched: dict[str, bool] = {}

    def parts(self) -> list[Case]:
        """The case for each command of a line that is made of nothing else; otherwise the whole is one."""
        lines = self._lines
        if len(lines) != 1 or not lines[0].plain or len(lines[0].commands) < 2:
            return [self]
        facts = (self.operation, self.tool, self._workspace, self._agent)
        shared: Any = {"paths": self._given_paths, "whole": self}
        cases: dict[str, Case] = {}
        for command in lines[0].commands:
            cases[command] = cases.get(command) or Case(*facts, part=(command, lines[0]), **shared)
        return [cases[command] for command in lines[0].commands]

    def only(self, parts: Sequence[Case]) -> Case:
        """The case of a line with some of its commands alone, each of which may have failed."""
        line = "; ".join(part._part[0] for part in parts if part._part is not None)
        is_line = isinstance(self.operation, op.RunCommand | op.WatchCommand)
        operation = msgspec.structs.replace(self.operation, command=line) if is_line else op.RunCommand(line)
        return Case(operation, self.tool, self._workspace, self._agent, paths=self._given_paths)

    def is_named_by(self, rule: Approval) -> bool:
        """Whether a rule names what is run, and not only what it is about."""
        return rule.command is not None or (self._arguments is not None and (rule.tool or rule.server) is not None)

    def is_idle(self) -> bool:
        """Whether one command of a line reaches nothing but what it is given by the command before."""
        reach = self.only([self])._reach if self._part is not None else None
        return reach is not None and not reach.effects and not reach.unknown

    def fits(self, rule: Approval) -> bool:
        """Whether a rule is about this."""
        kind = self.tool.kind or self.operation.kind
        tag = str(self.operation.__struct_config__.tag)
        if rule.kind is not None and not fnmatchcase(str(kind), rule.kind):
            return False
        if rule.operation is not None and not fnmatchcase(tag, rule.operation):
            return False
        if rule.tool is not None and not self._tool_fits(rule, rule.tool):
            return False
        if rule.agent is not None and not fnmatchcase(self._agent or "", rule.agent):
            return False
        if rule.server is not None and (self._server is None or not fnmatchcase(self._server, rule.server)):
            return False
        covers = all if rule.verdict == "allow" else any
        if rule.path is not None and not self._paths_fit(rule.path, covers):
            return False
        if rule.outside is not None and not self._outside_fits(covers, wanted=rule.outside):
            return False
        if rule.domain is not None and not (self._hosts and covers(_domain(one, rule.domain) for one in self._hosts)):
            return False
        if rule.command is not None and not self._command_fits(rule, rule.command):
            return False
        return self._settings_fit(rule) and self._arguments_fit(rule, covers)

    def decider(self, rules: tuple[Approval, ...]) -> Callable[[Approval], bool]:
        """Whether a rule is about this, or about something a command line may reach that no earlier rule allows."""

        def decides(rule: Approval) -> bool:
            if self.fits(rule):
                return True
            if rule.verdict == "allow":
                return False
            mine = [one for one in rules if one.source == rule.source]
            allowing = [one for one in mine[: mine.index(rule)] if one.verdict == "allow"]
            return self.reaches(rule, allowing) is True

        return decides

    def reaches(self, rule: Approval, allowing: Sequence[Approval] = ()) -> bool | None:
        """Whether a command line may reach what a rule forbids; `None` when that cannot be told.

        What one of the rules in `allowing` is about is left out.
        """
        reach = self._reach
        if reach is None or rule.server is not None or rule.arguments:
            return False
        if (rule.kind, rule.operation, rule.path, rule.outside, rule.domain) == (None,) * 5:
            return False
        if rule.tool is not None and not self._tool_fits(rule, rule.tool):
            return False
        if rule.agent is not None and not fnmatchcase(self._agent or "", rule.agent):
            return False
        if not self._settings_fit(rule) or (rule.command is not None and not self._command_fits(rule, rule.command)):
            return False
        known, key = self._whole._reached, (id(rule), *map(id, allowing))
        if key not in known:
            answers = {
                reaches(rule, effect, self._root)
                for effect in reach.effects
                if not any(allows(one, effect, self._root) for one in allowing)
            }
            known[key] = True if True in answers else None if None in answers else False
        return known[key]

    def unclear(self, rules: Iterable[Approval]) -> str | None:
        """Why it is unclear what a command line does, or whether it does what a rule forbids."""
        if isinstance(self.operation, op.RunCode | op.TypeInto | op.UseComputer):
            return "it is run, or typed into a running program, without being looked at"
        reach = self._reach
        if reach is None:
            return None
        if reach.unknown:
            return reach.unknown[0]
        if len(reach.commands) > 1 and any(copies_links(one) for one in reach.effects):
            return "it copies or moves a link, and goes on"
        why = "a name in it is computed" if self._arguments is None else "the tool may do anything with its arguments"
        for rule in rules:
            if rule.verdict != "allow" and self.reaches(rule) is None:
                return f"{why}, and {_told(rule, tuple(rules))} may be about it"
        return None

    @cached_property
    def _root(self) -> str:
        if self._whole is not self:
            return self._whole._root
        root = getattr(self._workspace, "root", None)
        return "/" if root is None else os.path.realpath(str(root))

    @cached_property
    def _reach(self) -> Reach | None:
        """What a command line may reach; `None` for other operations."""
        if self._whole is not self:
            return self._whole._reach
        operation = self.operation
        home = getattr(self._workspace, "home", None)
        if isinstance(operation, op.RunCommand | op.WatchCommand) and operation.command is not None:
            place = normpath(join(self._root, getattr(operation, "cwd", None) or "."))
            found = shell_reach.reach_of(operation.command, place, home)
            standing = getattr(operation, "job", None) is not None and not getattr(operation, "background", False)
            shell = getattr(operation, "shell", None)
            if shell is not None and shell not in _KNOWN_SHELLS:
                found = found._replace(unknown=(*found.unknown, f"{shell!r} is not a shell that is known"))
            return (
                found._replace(unknown=(*found.unknown, "it runs in a shell that is used before"))
                if standing
                else found
            )
        if not isinstance(self._workspace, Folder):
            return None
        # Another program searches, reads or rewrites: nothing can be left out of what it finds.
        if isinstance(operation, op.SearchText | op.SearchCode):
            return Reach((Effect("read", join(self._root, operation.path), tree=True),), (), ())
        if isinstance(operation, op.RewriteCode):
            return Reach((Effect("write", join(self._root, operation.path), tree=True),), (), ())
        if isinstance(operation, op.ReadFiles):
            return Reach(tuple(shell_reach.files_read(one, self._root) for one in operation.patterns), (), ())
        if isinstance(operation, op.WatchCommand) and operation.url is not None:
            return Reach((Effect("fetch", shell_reach.host_in(operation.url).lower()),), (), ())
        if self._arguments is not None:
            return reach_of_arguments(self._arguments, self._root, home)
        return None

    # ── conditions ─────────────────────────────────────────────────────────

    def _tool_fits(self, rule: Approval, pattern: str) -> bool:
        """By the tool's name here; one of a server also by its name there, which each client puts into another form.
        Servers have tools of one name, so a rule that allows has to say the server too."""
        if fnmatchcase(self.tool.name, pattern):
            return True
        if self.tool.mcp is None or (rule.verdict == "allow" and rule.server is None):
            return False
        return fnmatchcase(self.tool.mcp[1], pattern)

    def _outside_fits(self, covers: Callable[[Iterable[bool]], bool], *, wanted: bool) -> bool:
        found = [os.path.realpath(join(self._root, os.path.expanduser(path))) for path in self._named_paths]
        return bool(found) and covers(is_outside(path, self._root) is wanted for path in found)

    def _paths_fit(self, pattern: str, covers: Callable[[Iterable[bool]], bool]) -> bool:
        paths = self._paths
        if covers is any and isinstance(self._workspace, Folder):
            # By every name: as it is written, with links resolved, with `~` as the folder it may mean.
            names = [names_of(join(self._root, one)) for path in self._named_paths for one in (path, _at_home(path))]
            if any(fits_path(name, pattern, self._root) for name in names):
                return True
        return bool(paths) and covers(any(fnmatchcase(one, pattern) for one in spelled) for spelled in paths)

    def _command_fits(self, rule: Approval, pattern: str) -> bool:
        lines = self._lines
        if rule.verdict != "allow":
            if self._part is not None and self._whole._line_matches(pattern):
                return True  # it is about the line as a whole
            return any(
                fnmatchcase(one.text, pattern) or (one.anywhere and fnmatchcase(one.text, f"* {pattern}"))
                for line in lines
                for one in line.candidates
            )
        if len(lines) != 1 or isinstance(self.operation, op.TypeInto | op.RunCode):
            return False  # what it is typed into, or written in, need not be a shell
        shell = getattr(self.operation, "shell", None)
        if shell is not None and rule.shell is None and shell not in _KNOWN_SHELLS:
            return False
        if self._part is not None:
            if self._part[1].candidates[0].text == pattern:
                return True
            return fnmatchcase(self._part[0], pattern) and self._is_covered(self._part[0], pattern)
        written = self._written[0]
        if written == pattern or not pattern.strip("*"):
            return True  # the very line, or any line
        return lines[0].plain and all(
            fnmatchcase(one, pattern) and self._is_covered(one, pattern) for one in lines[0].commands
        )

    def _line_matches(self, pattern: str) -> bool:
        known = self._line_matched
        if pattern not in known:
            known[pattern] = fnmatchcase(self._lines[0].candidates[0].text, pattern)
        return known[pattern]

    def _is_covered(self, command: str, pattern: str) -> bool:
        """Whether a rule that allows one program has no other one named to it by what its `*` stands for."""
        if command == pattern or not pattern.strip("*"):
            return True
        from .named_programs import names_another

        place = join(self._root, getattr(self.operation, "cwd", None) or ".")

        def leaves(folder: str) -> bool:
            return is_outside(os.path.realpath(join(place, os.path.expanduser(folder))), self._root) is not False

        return names_another(words_of(command), pattern, leaves) is None

    def _settings_fit(self, rule: Approval) -> bool:
        for name in _SWITCHES:
            wanted, given = getattr(rule, name), bool(getattr(self.operation, name, False))
            if wanted is not None and (given != wanted or not hasattr(self.operation, name)):
                return False
        # To leave the sandbox is never a detail: an allow has to say so.
        if rule.verdict == "allow" and rule.unsandboxed is None and getattr(self.operation, "unsandboxed", False):
            return False
        if rule.shell is not None and not fnmatchcase(getattr(self.operation, "shell", None) or "", rule.shell):
            return False
        if rule.cwd is None:
            return True
        if not hasattr(self.operation, "cwd"):
            return False
        return any(fnmatchcase(one, rule.cwd) for one in self._spellings(self.operation.cwd or "."))

    def _arguments_fit(self, rule: Approval, covers: Callable[[Iterable[bool]], bool]) -> bool:
        return all(self._argument_fits(name, wanted, covers) for name, wanted in (rule.arguments or {}).items())

    def _argument_fits(self, name: str, wanted: Any, covers: Callable[[Iterable[bool]], bool]) -> bool:
        value = self._value(name)
        if isinstance(wanted, str):
            texts = [one for one in (value if isinstance(value, list | tuple) else [value]) if isinstance(one, str)]
            return bool(texts) and covers(fnmatchcase(text, wanted) for text in texts)
        if covers is any:  # a server may take "true", or 1, for true
            text = value.strip().casefold() if isinstance(value, str) else None
            return bool(value == wanted) or text == _plain(wanted).casefold()
        return type(value) is type(wanted) and bool(value == wanted)

    # ── what the operation says ────────────────────────────────────────────

    @property
    def _server(self) -> str | None:
        named = getattr(self.operation, "server", None)
        return str(named) if named is not None else self.tool.mcp[0] if self.tool.mcp is not None else None

    @cached_property
    def _paths(self) -> list[list[str]]:
        """Each path of the operation, in all its spellings."""
        return [self._spellings(path) for path in self._named_paths]

    @property
    def _named_paths(self) -> list[str]:
        if self._given_paths is not None:
            return self._given_paths
        if self._arguments is not None and isinstance(self._workspace, Folder):
            return list(paths_in(self._arguments))  # nobody knows which of them its program takes for a path
        if isinstance(self.operation, op.FindFiles) and isinstance(self._workspace, Folder):
            return list(shell_reach.folders_listed(self.operation.pattern, self.operation.path))
        return self._text(*self._fields.path) if self._arguments is None else self._text(*_PATHS)

    @cached_property
    def _hosts(self) -> list[str]:
        urls = self._text(*self._fields.url) if self._arguments is None else self._text(*_URLS)
        if self._arguments is not None and isinstance(self._workspace, Folder):
            urls = list(addresses_in(self._arguments))
        if not urls:
            return []
        from dragoman.tools.web import hosts_of

        return [host for url in urls for host in hosts_of(url)]

    @cached_property
    def _lines(self) -> list[CommandLine]:
        if self._part is not None:
            return [read_command_line(self._part[0])]
        return [read_command_line(text) for text in self._written]

    @cached_property
    def _written(self) -> list[str]:
        """The command lines of the operation, as they are written."""
        if self._arguments is not None:
            return list(command_lines_in(self._arguments))
        return self._text(*self._fields.command)

    @cached_property
    def _arguments(self) -> dict[str, Any] | None:
        """The arguments of a function or a server's tool: they are its fields. Of another program's tool without a
        shared meaning, those that hold a place or a program by their names."""
        if isinstance(self.operation, op.CallFunction | op.CallMcpTool | op.Unrecognised):
            given = self.operation.arguments
            return given if isinstance(given, dict) else {}
        if isinstance(self._workspace, Folder):
            if isinstance(self.operation, op.SteerClient):
                return places_in(self.operation.arguments)
            if isinstance(self.operation, op.ReadMcpResource | op.ListMcpResources) and self.operation.uri:
                return {"path": place_of_resource(self.operation.uri)}
        return None

    def _value(self, name: str) -> Any:
        if self._arguments is not None and name in self._arguments:
            return self._arguments[name]
        if isinstance(self.operation, op.CallFunction | op.CallMcpTool | op.Unrecognised):
            return None
        return getattr(self.operation, name, None)

    def _text(self, *names: str) -> list[str]:
        found: list[str] = []
        for name in names:
            value = self._value(name)
            found += [one for one in (value if isinstance(value, list | tuple) else (value,)) if isinstance(one, str)]
        return found

    def _spellings(self, path: str) -> list[str]:
        """The forms in which a rule may name a path: within the workspace, and from the root of the machine.

        Never as the model wrote it: `src/../secret` must not pass for something in `src`.
        """
        workspace = self._workspace
        try:
            inside = normpath(path) if workspace is None else workspace.resolve(path)
        except (ToolError, OSError, ValueError):
            if isinstance(workspace, Folder):
                return [os.path.realpath(join(workspace.root, path))]
            return [normpath(path)]  # it leads out, or nowhere: the tool will say so
        root = getattr(workspace, "root", None)
        return [inside] if root is None else [inside, normpath(join(str(root), inside))]


def _at_home(path: str) -> str:
    return os.path.expanduser(path) if path.startswith("~") else path


def _domain(host: str, pattern: str) -> bool:
    """Whether a host is one a rule names: `example.com`, or `*.example.com` for those below it."""
    return bool(host) and fnmatchcase(host, pattern.lower())
