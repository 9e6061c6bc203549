"""The tool that takes a patch as its whole input, as several clients offer it to OpenAI's models."""

from __future__ import annotations

from typing import Any, ClassVar

from dragoman.model import operations as op

from .patch_text import ANY_FORM, GRAMMAR, PATCH_NEARLY, PATCH_UNSAID, PatchForm, patches_for, read_patch
from .spelling import Freeform, Spelling, means


class PatchTool(Spelling[op.WriteFile | op.EditFile | op.DeleteFile | op.MoveFile]):
    """A client says what it is called, and how it words the result."""

    freeform = Freeform("input", "lark", GRAMMAR)
    unsaid, approximated = PATCH_UNSAID, PATCH_NEARLY
    form: ClassVar[PatchForm] = ANY_FORM

    input: str = means(None, "The whole patch.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return read_patch(self.input, form=self.form)

    @classmethod
    def from_operation(cls, operation: op.WriteFile | op.EditFile | op.DeleteFile | op.MoveFile) -> Any:
        patches = patches_for(operation, cls.form)
        return patches and tuple(cls(input=patch) for patch in patches)
