"""Files: patches, pictures, and three tools that were only tried out."""

from __future__ import annotations

from typing import Any

from dragoman.dialects.base.conversions import among
from dragoman.dialects.base.patch_text import GRAMMAR, by_ends, in_whole_lines, read_patch, write_patch
from dragoman.dialects.base.spelling import Freeform, Spelling, means, native_only
from dragoman.model import operations as op

from .families import CATALOGUE, CLASSIC
from .results import IMAGE_SHOWN, PatchResults


class ApplyPatch(PatchResults, Spelling[op.WriteFile | op.EditFile | op.DeleteFile | op.MoveFile]):
    """Change files with a patch: between "*** Begin Patch" and "*** End Patch" add, update (and move) or delete files.

    A new file's lines have "+" before them. An update names its places by "@@" and a line that stands
    above, shows lines with " ", takes them out with "-" and puts them in with "+".
    """

    native_name = "apply_patch"
    since, families = "0.77.0", CATALOGUE
    freeform = Freeform("input", "lark", GRAMMAR)
    unsaid = {
        "WriteFile.overwrite": "a file that exists is replaced",
        "EditFile.purpose": "there is no place for it in a patch",
    }
    approximated = {
        "WriteFile.content": "a patch ends every line, so a last line without an end gets one",
        "EditFile.edits": "a patch speaks of whole lines, so a text is said as if it were whole lines",
    }

    input: str | None = means(None, default=None)
    raw: str | None = means(None, default=None)
    patch: str | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        text = next((text for text in (self.input, self.raw, self.patch) if text is not None), None)
        if text is None:
            raise ValueError("there is no patch; give it as the input")
        return read_patch(text)

    @classmethod
    def from_operation(cls, operation: op.WriteFile | op.EditFile | op.DeleteFile | op.MoveFile) -> Any:
        nearest = in_whole_lines(operation)
        patches = [write_patch((part,)) for part in by_ends(nearest)]
        return tuple(cls(input=patch) for patch in patches) if patches and None not in patches else None


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
        "How closely to look.",
        default=None,
        convert=among(*DETAILS),
        schema={"enum": list(DETAILS)},
    )


class PlainViewImage(Spelling[op.ViewImage]):
    """Look at an image file."""

    native_name = "view_image"
    results = IMAGE_SHOWN
    since, families = "0.44.0", (*CLASSIC, "!gpt-5.5*")
    unsaid = {"region": "images are shown whole", "detail": "there is no parameter for it"}

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

    dir_path: str = "."
    offset: int | None = native_only("a listing is read from its beginning")
    limit: int | None = None
    depth: int | None = None

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.ListDirectory(self.dir_path, depth=self.depth, limit=self.limit),)


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
