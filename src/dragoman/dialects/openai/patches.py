"""Patches: one file created, updated or deleted per call, the change itself as a diff without its header."""

from __future__ import annotations

import re
from typing import Any, Literal

from msgspec.structs import replace

from dragoman.dialects.base.default_words import tell, text_of, understand
from dragoman.dialects.base.patch_text import by_ends, in_whole_lines, read_patch, write_patch
from dragoman.dialects.base.spelling import Content, Spelling, means
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult

Changing = op.WriteFile | op.EditFile | op.DeleteFile
_FILE = "file"  # the path stands beside the diff, so any word will do inside the patch
_HEADERS = {"create_file": f"*** Add File: {_FILE}", "update_file": f"*** Update File: {_FILE}"}
_CHANGE = re.compile(r"(created|modified|deleted|moved|unchanged) ([^\n]*)")


class ApplyPatch(Spelling[op.WriteFile | op.EditFile | op.DeleteFile]):
    """Create, update or delete a file; its new lines, or the changed ones, are given as a diff."""

    native_name = "apply_patch"
    unsaid = {
        "WriteFile.overwrite": "a file that exists is replaced",
        "EditFile.purpose": "there is no parameter for it",
    }
    approximated = {
        "WriteFile.content": "a diff ends every line, so a last line without an end gets one",
        "EditFile.edits": "a diff speaks of whole lines, so a text is said as if it were whole lines",
    }

    type: Literal["create_file", "update_file", "delete_file"] = means(None, "What to do with the file.")
    path: str = means("path", "Path of the file.")
    diff: str | None = means(None, "The lines, each with its mark before it.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        if self.type == "delete_file":
            return (op.DeleteFile(self.path),)
        if self.diff is None:
            raise ValueError(f"{self.type} needs a diff")
        return (_placed(_meant(_HEADERS[self.type], self.diff), self.path),)

    @classmethod
    def from_operation(cls, operation: Changing) -> Any:
        match operation:
            case op.DeleteFile(path):
                return cls(type="delete_file", path=path)
            case op.WriteFile(path, content=""):
                return cls(type="create_file", path=path, diff="")
        kind: Literal["create_file", "update_file"] = (
            "create_file" if isinstance(operation, op.WriteFile) else "update_file"
        )
        diffs = [_diff(part) for part in by_ends(in_whole_lines(operation))]
        if not diffs or None in diffs:
            return None
        return tuple(cls(type=kind, path=operation.path, diff=diff) for diff in diffs)

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if not isinstance(outcome, out.ChangesOutcome) or any("\n" in change.path for change in outcome.changes):
            return tell(operation, outcome)
        return "\n".join(f"{change.kind} {change.path}" for change in outcome.changes)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        found = [_CHANGE.fullmatch(line) for line in text.split("\n")]
        changes = tuple(out.Change(one[2], one[1]) for one in found if one is not None)  # type: ignore[arg-type]
        if changes and len(changes) == len(found):
            return out.ChangesOutcome(changes)
        return understand(operation, native) if text or native.item is None else out.DoneOutcome()


def _meant(header: str, diff: str) -> op.Operation:
    """What a diff means; it speaks of one file, so whatever it says of another is refused."""
    lines = f"{diff}\n" if diff and not diff.endswith("\n") else diff
    operations = read_patch(f"*** Begin Patch\n{header}\n{lines}*** End Patch")
    if len(operations) != 1 or isinstance(operations[0], op.MoveFile | op.DeleteFile):
        raise ValueError("the diff does more than change one file; give one call for each")
    return operations[0]


def _placed(operation: op.Operation, path: str) -> op.Operation:
    assert isinstance(operation, op.WriteFile | op.EditFile)  # what is left of a patch with one such header
    return replace(operation, path=path)


def _diff(operation: op.Operation) -> str | None:
    patch = write_patch((_placed(operation, _FILE),))
    return None if patch is None else "".join(f"{line}\n" for line in patch.split("\n")[2:-1])
