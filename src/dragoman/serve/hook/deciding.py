"""What is decided about the calls of a payload, and by which rule."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from posixpath import join
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from dragoman.engine import Approval, ToolPolicy, verdict_on
from dragoman.engine.shell_reach import Folder, places_in
from dragoman.model import operations as op
from dragoman.model.calls import Call, NativeCall
from dragoman.model.effects import fields_of

from .client import Asked, Decision
from .default_rules import PROTECTED, SOURCE
from .other_names import found_by_end, named_otherwise
from .plain_reading import plain_operations

if TYPE_CHECKING:
    from dragoman.config import Configuration
    from dragoman.model.operation_base import Kind

    from .client import HookClient


class Tool(msgspec.Struct, frozen=True):
    """A client's tool as rules see it."""

    name: str
    mcp: tuple[str, str] | None = None
    kind: Kind | None = None
    approval: Literal["never", "always", "policy"] = "policy"


_HARMLESS: Final = (
    Approval("allow", kind="read", outside=False),
    Approval("allow", kind="search", outside=False),
    Approval("allow", kind="plan"),
    *(Approval("allow", operation=name) for name in ("read_output", "list_commands", "list_agents", "search_tools")),
)
"""What is not asked about where the settings ask about everything: reading and searching the project, the model's own
plan, and what runs already. The tools of clients are not kept to the project as ours are."""


class Rules(msgspec.Struct, frozen=True):
    """What holds for the calls of other clients: the user's rules, and what is decided where no rule can tell."""

    policy: ToolPolicy
    unknown_payloads: Literal["deny", "ask", "pass"] = "deny"
    decisions: Path | None = None
    """The folder in which decisions are recorded."""


def rules_of(configuration: Configuration) -> Rules:
    """The rules of the user's own settings. No project's file has a part in them."""
    settings = configuration.settings
    policy = ToolPolicy.from_settings(settings)
    stated = configuration.is_set("policy.approval")
    protection = tuple(Approval("deny", kind="write", path=glob, source=SOURCE) for glob in PROTECTED)
    policy = msgspec.structs.replace(
        policy,
        default=settings.policy.approval if stated else "allow",
        approval=(
            *(protection if settings.hook.protect else ()),
            *policy.approval,
            *(_HARMLESS if stated and settings.policy.approval == "ask" else ()),
        ),
        unknown_commands=settings.hook.unknown_commands,
    )
    decisions = configuration.data_dir / "decisions" if settings.hook.record else None
    return Rules(policy, settings.hook.unknown_payloads, decisions)


def decide(asked: Asked, client: HookClient, rules: Rules) -> Decision:
    """The strictest decision on any call of a payload."""
    decisions = [_on_call(native, asked, client, rules.policy) for native in asked.calls]
    return max(decisions, key=lambda one: _STRICTNESS[one.verdict], default=Decision("pass"))


_STRICTNESS: Final = {"pass": 0, "allow": 0, "ask": 1, "deny": 2}


def _on_call(native: NativeCall, asked: Asked, client: HookClient, policy: ToolPolicy) -> Decision:
    return decide_on(tuple(operations_of(native, asked, client)), native, asked, client, policy)


def decide_on(
    meant: tuple[op.Operation, ...], native: NativeCall, asked: Asked, client: HookClient, policy: ToolPolicy
) -> Decision:
    """The decision on what a call means."""
    place = place_of(asked)
    root = asked.root or _project_of(place, asked.projects)
    operations = tuple(located(one, place) for one in _with_other_names(meant, client, place))
    tools = tuple(_tool_of(one, native) for one in operations)
    policy = msgspec.structs.replace(policy, agent=asked.agent)
    call = Call(native.id, operations, native)
    verdict, rule = verdict_on(call, tools, policy, Folder(root, os.path.expanduser("~")))
    if asked.stage == "after":
        # It ran: somebody may have been asked, and only what is denied outright must not have run.
        if verdict != "deny":
            return Decision("pass")
        reason = f"Not allowed by dragoman, but it ran before it could be stopped: {rule}. Do not use what it gave; "
        return Decision("deny", f"{reason}tell the user what happened.", rule)
    if verdict == "allow" and rule is None:
        unread = any(isinstance(one, op.Unrecognised) for one in operations)
        if not unread or policy.unknown_commands == "allow":
            return Decision("pass")
        verdict, rule = policy.unknown_commands, f"it is not known what the tool {native.name} does"
    if verdict == "ask" and not client.asks:
        reason = f"{rule}; this needs the user's approval, and {client.title} cannot ask for it here"
        return Decision("deny", _said(reason), rule)
    return Decision(verdict, _said(rule or "it is allowed"), rule)


def _with_other_names(meant: Iterable[op.Operation], client: HookClient, place: str) -> Iterator[op.Operation]:
    """The operations of a call, and those on other files that the client may take its paths for."""
    for one in meant:
        taken = (one, *named_otherwise(one))
        yield from taken
        if client.finds_by_end:
            for other in taken:
                yield from found_by_end(other, place)


def place_of(asked: Asked) -> str:
    """The folder that a call is made in."""
    return asked.cwd if asked.cwd and os.path.isabs(asked.cwd) else os.getcwd()


def _said(reason: str) -> str:
    """A reason as the model reads it."""
    return f"Not allowed by dragoman: {reason}. Do not try it in another way; tell the user what you wanted to do."


def _project_of(place: str, projects: Iterable[str]) -> str:
    """The folder of the work: what the client says it is, if the current folder is in it."""
    for folder in projects:
        if os.path.isabs(folder):
            real, here = os.path.realpath(folder), os.path.realpath(place)
            if here == real or here.startswith(f"{real.rstrip('/')}/"):
                return folder
    return place


def operations_of(native: NativeCall, asked: Asked, client: HookClient) -> Iterator[op.Operation]:
    """What a call means. A tool that is not known is `Unrecognised`, never skipped."""
    arguments = native.arguments if isinstance(native.arguments, dict) else {"text": native.arguments}
    served = _served(native.name, asked.server)
    if served is not None:
        yield op.CallMcpTool(*served, arguments)
        return
    yield from _meant(native, asked.dialect or client.dialect, arguments)


def _meant(native: NativeCall, dialect: str, arguments: dict[str, Any]) -> tuple[op.Operation, ...]:
    plain = plain_operations(dialect, native.name, native.arguments)
    if plain is not None:
        return plain
    from dragoman.registry import DIALECTS

    call: Call = DIALECTS[dialect].read_call(native)
    if call.failure is not None or not call.operations:
        return (op.Unrecognised(native.name, arguments),)
    return (*call.operations, *_unmapped(call))


_FOLDERS: Final = ("cwd", "workdir", "working_dir", "working_directory", "directory")
"""What clients call the folder that a command runs in."""


def _unmapped(call: Call) -> Iterator[op.Operation]:
    """What the parameters may mean that the vocabulary does not know: a newer client may honour them."""
    for operation in call.operations:
        if isinstance(operation, op.RunCommand):
            folders = (call.unmapped[name] for name in _FOLDERS if name in call.unmapped)
            yield from (msgspec.structs.replace(operation, cwd=one) for one in folders if isinstance(one, str))
    if places_in(call.unmapped):
        yield op.SteerClient(call.native.name, call.unmapped)


def _served(name: str, server: str | None) -> tuple[str | None, str] | None:
    """The MCP server of a call and its tool there."""
    if name.startswith("mcp__"):
        named, _, tool = name.removeprefix("mcp__").partition("__")
        if server is not None and name.startswith(f"mcp__{server}__"):
            return server, name.removeprefix(f"mcp__{server}__")
        return server or named, tool
    if "___" in name:
        named, _, tool = name.partition("___")
        return named, tool
    if server is None:
        return None
    return server, name.removeprefix(f"mcp_{server}_").removeprefix(f"{server}__")


def _tool_of(operation: op.Operation, native: NativeCall) -> Tool:
    if isinstance(operation, op.CallMcpTool):
        return Tool(native.name, mcp=(operation.server or "", operation.tool))
    named = isinstance(operation, op.Unrecognised | op.CallFunction | op.SteerClient)
    return Tool(native.name if named else str(operation.__struct_config__.tag))


def located(operation: op.Operation, place: str) -> op.Operation:
    """An operation whose paths begin at the root of the machine."""
    changes: dict[str, Any] = {}
    if hasattr(operation, "cwd"):
        changes["cwd"] = join(place, operation.cwd or "")
    if not isinstance(operation, op.CallMcpTool | op.CallFunction | op.Unrecognised):
        for name in fields_of(operation).path:
            value = getattr(operation, name)
            if isinstance(value, str) and not value.startswith("~"):
                changes[name] = join(place, value)
    return msgspec.structs.replace(operation, **changes) if changes else operation
