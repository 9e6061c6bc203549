"""Files: patches, pictures, and three tools that were only tried out."""

from __future__ import annotations

from typing import Any, ClassVar

from dragoman.dialects.base.conversions import among
from dragoman.dialects.base.patch_text import (
    ABOUT_PATCHES,
    CODEX,
    FIRST_CODEX,
    GRAMMAR,
    PATCH_NEARLY,
    PATCH_UNSAID,
    PatchForm,
    patches_for,
    read_patch,
)
from dragoman.dialects.base.spelling import Freeform, Spelling, means, native_only
from dragoman.model import operations as op

from .families import CATALOGUE, CLASSIC
from .results import IMAGE_SHOWN, PATCHING, PATCHING_UNTIL, PatchResults


class ApplyPatch(PatchResults, Spelling[op.WriteFile | op.EditFile | op.DeleteFile]):
    __doc__ = ABOUT_PATCHES
    native_name = "apply_patch"
    since, families = "0.140.0", CATALOGUE
    bounds_tried = True
    freeform = Freeform("input", "lark", GRAMMAR)
    unsaid, approximated = PATCH_UNSAID, PATCH_NEARLY
    edit_rules, edit_rules_until = PATCHING, PATCHING_UNTIL
    form: ClassVar[PatchForm] = CODEX

    input: str | None = means(None, default=None)
    raw: str | None = means(None, default=None)
    patch: str | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        text = next((text for text in (self.input, self.raw, self.patch) if text is not None), None)
        if text is None:
            raise ValueError("there is no patch; give it as the input")
        return read_patch(text, form=self.form)

    @classmethod
    def from_operation(cls, operation: op.WriteFile | op.EditFile | op.DeleteFile) -> Any:
        patches = patches_for(operation, cls.form)
        return patches and tuple(cls(input=patch) for patch in patches)


class FirstApplyPatch(ApplyPatch):
    __doc__ = ABOUT_PATCHES
    since, until, form = "0.77.0", "0.139.0", FIRST_CODEX


DETAILS = ("high", "original")


class ViewImage(Spelling[op.ViewImage]):
    """Look at an image file."""

    native_name = "view_image"
    results = IMAGE_SHOWN
    since, families = "0.166.0", ("gpt-5.5*",)
    approximated = {"detail": "only high and original can be asked for"}

    path: str = means("path", "Path of the image.")
    detail: str | None = means(
        "detail",
        "Level of detail of the image.",
        default=None,
        convert=among(*DETAILS),
        schema={"enum": list(DETAILS)},
    )


class PlainViewImage(Spelling[op.ViewImage]):
    """Look at an image file."""

    native_name = "view_image"
    results = IMAGE_SHOWN
    since, families = "0.44.0", (*CLASSIC, "!gpt-5.5*")

    path: str = means("path", "Path of the image.")


class ReadFile(Spelling[op.ReadFile]):
    """Read lines of a file."""

    native_name = "read_file"
    read_only = "a tool some versions tried out and none of those captured offers"

    file_path: str | None = None
    path: str | None = None
    offset: int | None = None
    limit: int | None = None
    mode: str | None = native_only("what belongs together is read as lines")
    indentation: dict[str, Any] | None = native_only("what belongs together is read as lines")

    def to_operations(self) -> tuple[op.Operation, ...]:
        path = self.file_path or self.path
        if path is None:
            raise ValueError("there is no path; give the file to read")
        last = None if self.limit is None else (self.offset or 1) + self.limit - 1
        return (op.ReadFile(path, self.offset, last),)


class ListDir(Spelling[op.ListDirectory]):
    """List a folder."""

    native_name = "list_dir"
    read_only = ReadFile.read_only

    dir_path: str = means("path", default=".")
    offset: int | None = native_only("a listing is read from its beginning")
    limit: int | None = None
    depth: int | None = None


class GrepFiles(Spelling[op.SearchText]):
    """Find the files whose content matches a regular expression."""

    native_name = "grep_files"
    read_only = ReadFile.read_only

    pattern: str
    include: str | None = None
    path: str | None = None
    limit: int | None = None

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.SearchText(self.pattern, self.path or ".", self.include, mode="files", limit=self.limit),)
