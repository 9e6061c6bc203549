"""The patch that Cline offers to models of OpenAI in place of its editor (3.0.65, seen on loopback)."""

from __future__ import annotations

from typing import Any

from dragoman.dialects.base.default_words import tell_all, text_of, understand
from dragoman.dialects.base.patch_text import (
    ABOUT_PATCHES,
    CLINE,
    PATCH_NEARLY,
    PATCH_UNSAID,
    changes_listed,
    patches_for,
    read_patch,
    same_path,
)
from dragoman.dialects.base.spelling import Content, Spelling, means
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.edit_rules import AS_GIVEN, EditRules, PatchRules
from dragoman.model.json_text import json_text

from .entries import FAILURES, Entry, entries_of

PATCHING = ("*gpt*", "*codex*")
"""Models that are given `apply_patch`: those with these words in their names, whoever serves them (3.0.65)."""
EDITING = ("!*gpt*", "!*codex*")

PATCHING_RULES = EditRules(
    patch=PatchRules(
        passes=(
            ("typography_nfc", "quote_escapes"),
            ("right_trim", "typography_nfc", "quote_escapes"),
            ("trim", "typography_nfc", "quote_escapes"),
        ),
        white_space="javascript",
        similarity=0.66,
        empty_last="kept",
        missing_anchors="ignore",
        insert="cursor",
        line_ends="any",
        last_empty=True,
        at_end="preferred",
        byte_order_mark="text",
        no_change="accept",
        moves_over=True,
    ),
    whole_file=AS_GIVEN,
    encoding="utf_8",
)
"""Seen in its source (21cb8d2, 2026-08-22), and with 3.0.65 on loopback."""
_QUERY = "apply_patch"
_DONE = "Successfully applied patch to the following files:"
_DELETED = ": [deleted]"
_FAILED = "apply_patch failed: "


class ApplyPatch(Spelling[op.WriteFile | op.EditFile | op.DeleteFile | op.MoveFile]):
    __doc__ = ABOUT_PATCHES
    native_name = _QUERY
    families = PATCHING
    edit_rules = PATCHING_RULES
    unsaid = {**PATCH_UNSAID, "WriteFile.overwrite": "a file that is there is never replaced"}
    approximated = {"EditFile.edits": PATCH_NEARLY["EditFile.edits"]}

    input: str = means(None, "The whole patch.")

    # The last line of a new file gets no end here (3.0.65): an empty line after it says one.

    def to_operations(self) -> tuple[op.Operation, ...]:
        return tuple(
            op.WriteFile(one.path, one.content.removesuffix("\n"), overwrite=False)
            if isinstance(one, op.WriteFile)
            else one
            for one in read_patch(self.input, form=CLINE)
        )

    @classmethod
    def from_operation(cls, operation: op.WriteFile | op.EditFile | op.DeleteFile | op.MoveFile) -> Any:
        if isinstance(operation, op.WriteFile):
            operation = op.WriteFile(operation.path, f"{operation.content}\n")
        patches = patches_for(operation)
        return patches and tuple(cls(input=patch) for patch in patches)

    # Methods: one entry is the result of all operations of a patch.

    def from_outcomes(
        self, operations: tuple[op.Operation, ...], outcomes: tuple[out.Outcome, ...]
    ) -> tuple[Content, bool | None]:
        failure = next((one for one in outcomes if isinstance(one, out.Failure)), None)
        if failure is not None:
            return json_text(Entry(_QUERY, "", success=False, error=f"{_FAILED}{failure.message}")), None
        listed = _listed(outcomes)
        told = text_of(tell_all(operations, outcomes)) if listed is None else "\n".join([_DONE, *listed])
        return json_text(Entry(_QUERY, told, success=True)), None

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        entries = entries_of(text_of(native.content))
        if entries is None or len(entries) != 1:
            return tuple(understand(operation, native) for operation in operations)
        (entry,) = entries
        text = entry.result if isinstance(entry.result, str) else json_text(entry.result)
        if not entry.success:
            message = (entry.error or text).removeprefix(_FAILED)
            return (out.Failure(FAILURES.kind(message), message),) * len(operations)
        head, *lines = text.split("\n")
        if head != _DONE:
            told = NativeResult(native.call_id, text)
            return tuple(understand(operation, told) for operation in operations)
        added = [operation.path for operation in operations if isinstance(operation, op.WriteFile)]
        return changes_listed(operations, [_change(line, added) for line in lines])


def _listed(outcomes: tuple[out.Outcome, ...]) -> list[str] | None:
    """A line for each file; `None` where something else than files was changed."""
    if not outcomes or not all(isinstance(outcome, out.ChangesOutcome) for outcome in outcomes):
        return None
    changes = [change for outcome in outcomes if isinstance(outcome, out.ChangesOutcome) for change in outcome.changes]
    moved = {change.path: change.moved_to for change in changes if change.moved_to}
    lines = dict.fromkeys(
        f"{change.path}{_DELETED}"
        if change.kind == "deleted"
        else f"{change.path} -> {moved[change.path]}"
        if change.path in moved
        else change.path
        for change in changes
    )
    return list(lines)


def _change(line: str, added: list[str]) -> tuple[out.ChangeKind | None, str]:
    """What a line says of a file; whether the file is new, the patch says."""
    if line.endswith(_DELETED):
        return "deleted", line.removesuffix(_DELETED)
    path = line.rpartition(" -> ")[2]
    return "created" if any(same_path(path, one) for one in added) else "modified", path
