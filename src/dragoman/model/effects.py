"""What each field of each operation does to its effect: what a question shows, rules match and "always" leaves open.

Rule: every field of every operation is in exactly one of four groups. A field nobody put into one is an error of the
tests, and until then it is treated as a setting: shown, and the same for an "always" to hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from . import operations as op


class Fields(msgspec.Struct, frozen=True):
    """The fields of one operation by what they do.

    `subject` is what it is about: shown always; an "always" holds whatever it is. `setting` changes how it is done:
    shown when it is not the default; an "always" holds for the same value only. `limit` bounds how long it takes or
    how much it gives back: shown when it is not the default, open under an "always". `comment` has no effect: shown as
    the model's own words, matched by no rule.

    `path`, `url` and `command` say which of them name files to be read or changed, addresses and command lines.
    """

    subject: tuple[str, ...] = ()
    setting: tuple[str, ...] = ()
    limit: tuple[str, ...] = ()
    comment: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    url: tuple[str, ...] = ()
    command: tuple[str, ...] = ()

    @property
    def classified(self) -> tuple[str, ...]:
        return (*self.subject, *self.setting, *self.limit, *self.comment)


def _fields(
    subject: str = "",
    setting: str = "",
    limit: str = "",
    comment: str = "",
    *,
    path: str = "",
    url: str = "",
    command: str = "",
) -> Fields:
    return Fields(*(tuple(text.split()) for text in (subject, setting, limit, comment, path, url, command)))


_CALL = _fields("arguments", "name")

FIELDS: Final[Mapping[type[op.Operation], Fields]] = {
    # files
    op.ReadFile: _fields("path", "pages", "first_line last_line", path="path"),
    op.ReadFiles: _fields("patterns", "exclude respect_ignore"),
    op.ReadNotebook: _fields("path cell_id", path="path"),
    op.ViewImage: _fields("path", "detail region", path="path"),
    op.ListDirectory: _fields("path prefix", "ignore respect_ignore", "depth limit", path="path"),
    op.WriteFile: _fields("path content", "overwrite", path="path"),
    op.EditFile: _fields("path edits", comment="purpose", path="path"),
    op.InsertText: _fields("path line text", path="path"),
    op.DeleteFile: _fields("path", path="path"),
    op.MoveFile: _fields("path to", path="path to"),
    op.UndoEdit: _fields("path", path="path"),
    op.EditNotebook: _fields("path source cell_id", "cell_type mode", path="path"),
    op.FindFiles: _fields("pattern path", "case_sensitive respect_ignore", "limit", path="path"),
    # shell
    op.RunCommand: _fields(
        "command",
        "cwd background job shell login terminal unsandboxed",
        "timeout_ms wait_ms output_limit",
        "purpose",
        command="command",
    ),
    op.ReadOutput: _fields("job", "pattern block", "wait_ms lines output_limit"),
    op.TypeInto: _fields("text", "job", "wait_ms output_limit", command="text"),
    op.StopCommand: _fields("job"),
    op.ListCommands: _fields(),
    op.WatchCommand: _fields(
        "command",
        "url cwd",
        "timeout_ms idle_timeout_ms limit",
        "purpose",
        url="url",
        command="command",
    ),
    # search
    op.SearchText: _fields(
        "pattern path",
        "include exclude file_type mode case_sensitive literal multiline only_matching line_numbers respect_ignore",
        "before after limit offset limit_per_file",
        path="path",
    ),
    op.SearchCode: _fields("pattern path", "language include", "limit", path="path"),
    op.RewriteCode: _fields("pattern rewrite path include", "language preview", path="path"),
    op.SearchTools: _fields("query", limit="limit"),
    op.SearchDocuments: _fields("query", "stores", "limit"),
    # web
    op.SearchWeb: _fields("query", "allowed_domains blocked_domains", "limit"),
    op.FetchPage: _fields("url instructions", "format", "timeout_ms offset limit", url="url"),
    op.FindInPage: _fields("url pattern", url="url"),
    op.TakeScreenshot: _fields("url", "full_page save_to", "width height", path="save_to", url="url"),
    # plan
    op.UpdatePlan: _fields("items", comment="explanation"),
    op.AddPlanItem: _fields("item"),
    op.ChangePlanItem: _fields("id text status description doing owner add_blocks add_blocked_by metadata deleted"),
    op.ReadPlan: _fields("id"),
    # agents
    op.SpawnAgent: _fields(
        "prompt",
        "agent name system_prompt model effort background isolation cwd history tools continues command",
        "max_turns",
        "description",
    ),
    op.MessageAgent: _fields("message", "to interrupt starts_turn notify_when_idle", comment="summary"),
    op.WaitForAgent: _fields("agents", "block since_turn", "timeout_ms"),
    op.StopAgent: _fields("agent"),
    op.ResumeAgent: _fields("agent"),
    op.ListAgents: _fields("query", "scope"),
    op.SignalParent: _fields("message"),
    op.ReturnToParent: _fields("result"),
    # people, memory, extensions
    op.AskUser: _fields("questions"),
    op.SaveMemory: _fields("text key"),
    op.RecallMemory: _fields("query", limit="limit"),
    op.CallMcpTool: _fields("arguments", "server tool"),
    op.ReadMcpResource: _fields("uri", "server"),
    op.ListMcpResources: _fields("uri", "server templates", "cursor"),
    op.UseSkill: _fields("arguments", "name"),
    op.RunCode: _fields("code", "language", comment="reason", command="code"),
    op.GenerateImage: _fields("prompt", "size format"),
    op.UseComputer: _fields("arguments", "action"),
    # what has no shared meaning
    op.CallFunction: _CALL,
    op.SteerClient: _fields("arguments", "action"),
    op.Unrecognised: _CALL,
}


def fields_of(operation: op.Operation) -> Fields:
    """The groups of an operation's fields; one that is in none is a setting."""
    known = FIELDS.get(type(operation), Fields())
    rest = tuple(name for name in operation.__struct_fields__ if name not in known.classified)
    return msgspec.structs.replace(known, setting=(*known.setting, *rest)) if rest else known


def stated(operation: op.Operation) -> Iterator[tuple[str, Any]]:
    """The fields that are not at their defaults, with their values, in the order of the operation."""
    for field in msgspec.structs.fields(operation):
        value = getattr(operation, field.name)
        if field.default is not msgspec.NODEFAULT and type(value) is type(field.default) and value == field.default:
            continue
        if field.default_factory is not msgspec.NODEFAULT and value == field.default_factory():
            continue
        yield field.name, value
