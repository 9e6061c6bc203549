"""Rules that would have allowed what was done in recorded sessions: a proposal, never more.

Rules: what ran was allowed, by the user or by the client's own settings; a proposed rule fits nothing that was denied;
a command is made general only where several lines of it were seen, and never one that can do any harm.
"""

from __future__ import annotations

import os
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from glob import escape
from typing import Final, Literal, NamedTuple

import msgspec

from dragoman import logs
from dragoman.engine import Approval, ToolPolicy
from dragoman.engine.shell_reach import reach_of, read_command_line
from dragoman.model import events as ev, operations as op, outcomes as out
from dragoman.model.calls import NativeCall

from .client import Asked
from .clients import client_named
from .deciding import decide_on

Risk = Literal["low", "middle", "high"]
RISKS: Final[tuple[Risk, ...]] = ("low", "middle", "high")
_MOST: Final = 3000
"""Different calls that are looked at, those that were made most often first."""
_HARMFUL: Final = frozenset(
    "rm rmdir unlink shred sudo doas su curl wget ssh scp rsync nc chmod chown dd kill pkill killall eval exec sh bash "  # noqa: SIM905
    "zsh dash fish xargs env find docker podman kubectl crontab mkfs mount systemctl ln mv tee awk sed perl "
    "timeout time nice ionice stdbuf setsid nohup command builtin watch strace ltrace gdb script screen tmux parallel "
    "flock unshare chroot runuser pkexec busybox at batch systemd-run npx bunx uvx pipx tar zip unzip vim vi nvim ed "
    "ex emacs less more man install truncate patch split sftp socat ncat pwsh powershell cmd osascript".split()
)
"""Programs that can do harm, or start any other one: their lines are never made general."""
_HARMFUL_VERBS: Final = frozenset(
    "push reset clean checkout restore rebase install add publish rm config run exec x dlx api submodule bisect "  # noqa: SIM905
    "worktree filter-branch difftool mergetool".split()
)
_WITH_VERBS: Final = frozenset("git npm pnpm yarn cargo go make pip uv poetry gh just task rake bundle dotnet".split())  # noqa: SIM905
_INTERPRETERS: Final = frozenset("python python3 node ruby php deno bun".split())  # noqa: SIM905


class Proposal(msgspec.Struct, frozen=True):
    """A rule, what it risks, how many calls it would have allowed, and some of them."""

    rule: Approval
    risk: Risk
    calls: int
    examples: tuple[str, ...]


class Learned(msgspec.Struct, frozen=True):
    """What recorded sessions teach."""

    proposals: tuple[Proposal, ...]
    calls: int
    """Calls that ran."""
    allowed: int
    """Those that your rules let run as they are."""
    more: int
    """Those that the proposals would let run besides."""
    left: tuple[tuple[str, int], ...]
    """What no proposal is for, and how often it was done."""


class _Done(NamedTuple):
    """Something that was done, and where. The same again is the same value."""

    data: bytes
    cwd: str

    @property
    def operation(self) -> op.Operation:
        return _operation(self.data)


def _done(operation: op.Operation, cwd: str) -> _Done:
    try:
        return _Done(msgspec.json.encode(operation), cwd)
    except UnicodeEncodeError:  # a half surrogate, which has no UTF-8
        return _Done(msgspec.json.encode(op.Unrecognised(str(operation.__struct_config__.tag))), cwd)


@lru_cache(maxsize=4 * _MOST)
def _operation(data: bytes) -> op.Operation:
    return _decoder().decode(data)


@cache
def _decoder() -> msgspec.json.Decoder[op.Operation]:
    return msgspec.json.Decoder(op.AnyOperation)


def learned(query: logs.Query, asked: logs.Filter, policy: ToolPolicy) -> Learned:
    """The smallest set of rules beside `policy` that would have allowed what ran in the sessions that are asked for."""
    ran, denied = _seen(query, asked)
    unsettled: Counter[_Done] = Counter()
    calls = allowed = 0
    for done, count in ran.most_common(_MOST):
        calls += count
        if _passes(done, policy):
            allowed += count
        elif not denied[done]:
            unsettled[done] = count
    found = [(one, done) for one, done in _proposed(unsettled) if not any(_fits(one.rule, other) for other in denied)]
    wider = msgspec.structs.replace(policy, approval=(*policy.approval, *(one.rule for one, _ in found)))
    # What another rule denies stays denied, and a rule that allows it would be of no use.
    proposals = [one for one, members in found if any(_passes(done, wider) for done in members)]
    left: Counter[str] = Counter()
    more = 0
    for done, count in unsettled.items():
        if _passes(done, wider):
            more += count
        else:
            left[_words(done.operation)] += count
    order = {risk: number for number, risk in enumerate(RISKS)}
    ordered = sorted(proposals, key=lambda one: (order[one.risk], -one.calls))
    return Learned(tuple(ordered), calls, allowed, more, tuple(left.most_common()))


def _seen(query: logs.Query, asked: logs.Filter) -> tuple[Counter[_Done], Counter[_Done]]:
    """The operations of calls that ran, and of those that were denied."""
    folders = {
        row.session: row.cwd or row.project or ""
        for row in query.sessions(asked, with_agents=True)
        if not (row.client or "").endswith(" hook")
    }
    ran: Counter[_Done] = Counter()
    denied: Counter[_Done] = Counter()
    waiting: dict[tuple[str | None, str], ev.ToolCalled] = {}
    for event in query.events(asked):
        if isinstance(event, ev.ToolCalled):
            waiting[event.session, event.call.id] = event
        elif isinstance(event, ev.ToolReturned):
            called = waiting.pop((event.session, event.result.call_id), None)
            place = folders.get(event.session or "", "")
            if called is None or not os.path.isabs(place):
                continue
            refused = any(isinstance(one, out.Failure) and one.kind == "denied" for one in event.result.outcomes)
            for operation in called.call.operations:
                for one in _parts(operation):
                    (denied if refused else ran)[_done(one, place)] += 1
    return ran, denied


def _parts(operation: op.Operation) -> Iterator[op.Operation]:
    """An operation, or each command of a line that is made of nothing else, as rules see it."""
    if isinstance(operation, op.RunCommand):
        line = read_command_line(operation.command)
        for command in line.commands if line.plain else (operation.command.strip(),):
            yield op.RunCommand(command)
    elif isinstance(operation, op.WriteFile):
        yield op.WriteFile(operation.path, "")
    else:
        yield operation


def _passes(done: _Done, policy: ToolPolicy) -> bool:
    call = NativeCall("", str(done.operation.__struct_config__.tag), {})
    asked = Asked(client="claude_code", event="", stage="before", calls=(call,), cwd=done.cwd)
    return decide_on((done.operation,), call, asked, client_named("claude_code"), policy).verdict in ("allow", "pass")


def _fits(rule: Approval, done: _Done) -> bool:
    """Whether a rule alone lets a call run that was denied."""
    return _passes(done, ToolPolicy(default="deny", approval=(rule,)))


# ── rules ────────────────────────────────────────────────────────────────────


_Group = tuple[Proposal, list[_Done]]
"""A proposal and what it is made from."""


def _proposed(unsettled: Counter[_Done]) -> Iterator[_Group]:
    lines: defaultdict[str, Counter[_Done]] = defaultdict(Counter)
    others: dict[str, tuple[Risk, Approval, Counter[_Done]]] = {}
    for done, count in unsettled.items():
        operation = done.operation
        if isinstance(operation, op.RunCommand):
            lines[operation.command][done] += count
        elif (found := _rule_for(operation, done.cwd)) is not None:
            others.setdefault(as_toml(found[1]), (*found, Counter()))[2][done] += count
    for risk, rule, members in others.values():
        yield _group(rule, risk, members)
    yield from _for_lines(lines)


def _rule_for(operation: op.Operation, cwd: str) -> tuple[Risk, Approval] | None:
    if isinstance(operation, op.FetchPage):
        from dragoman.tools.web import hosts_of

        hosts = hosts_of(operation.url)
        return ("high", Approval("allow", kind="fetch", domain=hosts[0])) if len(hosts) == 1 and hosts[0] else None
    if isinstance(operation, op.CallMcpTool) and operation.server:
        return "high", Approval(
            "allow", server=escape(operation.server), tool=f"*{escape(operation.tool)}", operation="call_mcp_tool"
        )
    tag, is_reading = str(operation.__struct_config__.tag), operation.kind.value in ("read", "search")
    if isinstance(operation, op.ReadMcpResource):
        server = operation.server
        return ("high", Approval("allow", operation=tag, server=escape(server))) if server else None
    path = getattr(operation, "path", None)
    if isinstance(path, str) and not path.startswith("~"):
        return _rule_for_path(operation, os.path.normpath(os.path.join(cwd, path)), cwd, is_reading=is_reading)
    if operation.kind.value == "plan" or (is_reading and path is None and not isinstance(operation, op.ReadFiles)):
        return "low", Approval("allow", operation=tag)
    return None


def _rule_for_path(operation: op.Operation, path: str, cwd: str, *, is_reading: bool) -> tuple[Risk, Approval]:
    """A rule for a folder of the project, or for the very file outside of it: what is beside that may be anything."""
    kind = operation.kind.value
    project = os.path.normpath(cwd)
    if path != project and not path.startswith(f"{project.rstrip('/')}/"):
        return "high", Approval("allow", kind=kind, path=escape(path))
    if isinstance(operation, op.SearchText | op.SearchCode | op.FindFiles | op.ListDirectory):
        return "low", Approval("allow", operation=str(operation.__struct_config__.tag), outside=False)
    return "low" if is_reading else "high", Approval("allow", kind=kind, path=f"{escape(os.path.dirname(path))}/*")


def _for_lines(lines: dict[str, Counter[_Done]]) -> Iterator[_Group]:
    """One rule for several lines of the same command, and the line itself where there is one, or it can do harm."""
    alike: defaultdict[str | None, list[str]] = defaultdict(list)
    for line in lines:
        alike[_beginning(line)].append(line)
    for beginning, members in alike.items():
        longer = [line for line in members if line != beginning] if beginning is not None else []
        if len(longer) > 1:
            together = sum((lines[line] for line in longer), Counter[_Done]())
            yield _group(Approval("allow", command=f"{escape(beginning or '')} *"), "middle", together)
        for line in members if len(longer) < 2 else [line for line in members if line == beginning]:
            if lines[line].total() > 1 or beginning is not None:
                risk: Risk = "middle" if beginning is not None else "high"
                exact = escape(line) if read_command_line(line).plain else line
                yield _group(Approval("allow", command=exact), risk, lines[line])


def _beginning(line: str) -> str | None:
    """The words of a command that say what it does; `None` where it could do harm, or anything."""
    if not read_command_line(line).plain:
        return None
    try:
        words = shlex.split(line)
    except ValueError:
        return None
    if not words or words[0] in _HARMFUL or "/" in words[0]:
        return None
    if words[0] in _INTERPRETERS:
        count = 3 if words[1:2] == ["-m"] else 2
        if len(words) < count or (count == 2 and words[1].startswith("-")):
            return None
    else:
        count = 2 if words[0] in _WITH_VERBS else 1
        if count == 2 and (len(words) < 2 or words[1].startswith("-") or words[1] in _HARMFUL_VERBS):
            return None
    beginning = " ".join(words[:count])
    reach = reach_of(line, "/")
    if reach.effects and not reach.unknown:
        return line  # it is known to read or write the files it names, and others would be other files
    return beginning if line.startswith(beginning) else None


def _group(rule: Approval, risk: Risk, members: Counter[_Done]) -> _Group:
    examples = dict.fromkeys(_words(done.operation) for done, _ in members.most_common())
    return Proposal(rule, risk, members.total(), tuple(examples)[:3]), list(members)


def _words(operation: op.Operation) -> str:
    about: Iterable[object] = (getattr(operation, name, None) for name in ("command", "path", "url", "query", "tool"))
    said = next((one for one in about if isinstance(one, str) and one), "")
    tag = str(operation.__struct_config__.tag)
    return said if isinstance(operation, op.RunCommand) else f"{tag} {said}".strip()


def as_toml(rule: Approval) -> str:
    """A rule as it is written in settings."""
    said = msgspec.to_builtins(rule)
    lines = [f"{name} = {msgspec.json.encode(value).decode()}" for name, value in said.items() if name != "source"]
    return "\n".join(["[[policy.rules]]", *lines, ""])
