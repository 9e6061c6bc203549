"""Notebook files: cells found and shown, and one of them replaced, inserted or deleted.

Rule: what an edit does not name stays as it was: other cells, their outputs, metadata, the
indentation of the file and its last line end. A cell is named by its id, or as "cell-3" by its
place, counted from 0, which is also how a cell without an id is shown.
"""

from __future__ import annotations

import re
from typing import Any

from dragoman.errors import ToolError, nearest
from dragoman.model import operations as op
from dragoman.model.outcomes import Cell, Media

from .text import Document, encoded, printable

OUTPUT_LIMIT = 16_000
"""Characters of one output that are shown; the rest is counted."""


_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


_INDENT = re.compile(r"\{\r?\n([ \t]*)\"")


_PLACE = re.compile(r"(?:cell-)?(\d{1,6})")


def edited_notebook(data: bytes, operation: op.EditNotebook) -> bytes:
    """The notebook file after one edit."""
    document = Document.of(data, operation.path)
    notebook = Notebook(document, operation.path)
    notebook.edit(operation)
    document.splice([(0, len(document.text), notebook.written())])
    return document.encode()


class Notebook:
    """A notebook's JSON, and what is known of how it was written."""

    def __init__(self, document: Document, path: str) -> None:
        import json  # keeps the order of keys and every number it can; msgspec cannot indent as notebooks do

        self.path, self.text = path, document.text
        try:
            self.content = json.loads(self.text)
        except (ValueError, RecursionError) as error:
            raise ToolError(
                f'"{path}" is not a notebook: its JSON cannot be read ({error})', details={"reason": "not_a_notebook"}
            ) from None
        cells = self.content.get("cells") if isinstance(self.content, dict) else None
        if not isinstance(cells, list):
            older = isinstance(self.content, dict) and "worksheets" in self.content
            why = (
                "it is in the format of before 2015; convert it with `jupyter nbconvert`"
                if older
                else "it has no cells"
            )
            raise ToolError(f'"{path}" cannot be used as a notebook: {why}', details={"reason": "not_a_notebook"})
        self.cells: list[dict[str, Any]] = cells
        for index, cell in enumerate(cells):
            if not isinstance(cell, dict) or not isinstance(cell.get("source", ""), str | list):
                raise ToolError(f'"{path}": cell-{index} is not well formed', details={"reason": "not_a_notebook"})

    # -- reading

    def ids(self) -> list[str]:
        return [str(cell.get("id") or f"cell-{index}") for index, cell in enumerate(self.cells)]

    def place(self, cell_id: str) -> int:
        """Which cell is meant: the one with that id, else the one at that place."""
        ids = self.ids()
        if cell_id in ids:
            return ids.index(cell_id)
        numbered = _PLACE.fullmatch(cell_id)
        if numbered and int(numbered[1]) < len(ids):
            return int(numbered[1])
        known = (
            f"it has {len(ids)} cells: {', '.join(ids[:20])}{', …' if len(ids) > 20 else ''}."
            if ids
            else "it has no cells."
        )
        raise ToolError(
            printable(f'no cell "{cell_id}" in "{self.path}"; {known}{nearest(cell_id, ids)}'),
            details={"reason": "no_cell", "path": self.path},
        )

    def cell_at(self, index: int) -> Cell:
        cell = self.cells[index]
        kind = str(cell.get("cell_type", "code"))
        outputs = cell.get("outputs")
        return Cell(
            source=printable(_joined(cell.get("source"))),
            cell_type=kind,
            id=self.ids()[index],
            language=self._language() if kind == "code" else None,
            outputs=tuple(_outputs(outputs)) if isinstance(outputs, list) else (),
        )

    def _language(self) -> str | None:
        metadata = self.content.get("metadata")
        for key, name in (("language_info", "name"), ("kernelspec", "language")):
            section = metadata.get(key) if isinstance(metadata, dict) else None
            language = section.get(name) if isinstance(section, dict) else None
            if isinstance(language, str):
                return language
        return None

    # -- changing

    def edit(self, operation: op.EditNotebook) -> None:
        if operation.mode != "delete" and operation.source is None:
            raise ToolError(f"the new source of the cell is missing ({operation.mode})", kind="invalid_arguments")
        if operation.mode != "insert" and operation.cell_id is None:
            raise ToolError(f"which cell to {operation.mode} is missing: give its id", kind="invalid_arguments")
        place = None if operation.cell_id is None else self.place(operation.cell_id)
        source = operation.source or ""
        encoded(source)
        if operation.mode == "insert":
            self.cells.insert(0 if place is None else place + 1, self._new(operation.cell_type or "code", source))
        elif operation.mode == "delete":
            del self.cells[place or 0]
        else:
            self._replace(self.cells[place or 0], operation.cell_type, source)

    def _replace(self, cell: dict[str, Any], kind: str | None, source: str) -> None:
        """New source: what the old one had put out, and its attachments, say nothing about it."""
        kind = kind or str(cell.get("cell_type", "code"))
        listed = isinstance(cell.get("source", []), list)
        if kind != cell.get("cell_type"):
            for key in ("outputs", "execution_count", "attachments"):
                cell.pop(key, None)
        cell["cell_type"] = kind
        cell["source"] = _lines(source) if listed else source
        if kind == "code":
            cell["execution_count"], cell["outputs"] = None, []

    def _new(self, kind: str, source: str) -> dict[str, Any]:
        listed = not any(isinstance(cell.get("source"), str) for cell in self.cells)
        cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": _lines(source) if listed else source}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        version = self.content.get("nbformat"), self.content.get("nbformat_minor")
        # Cells have ids since 4.5; a file of an older format would be made invalid by one.
        if all(isinstance(part, int) for part in version) and version >= (4, 5):
            cell["id"] = self._fresh_id(source)
        # As Jupyter writes them: keys in order.
        return dict(sorted(cell.items()))

    def _fresh_id(self, source: str) -> str:
        """An id nobody has, the same for the same notebook and source."""
        from hashlib import blake2b

        taken = {cell.get("id") for cell in self.cells}
        seed = encoded(source)
        while True:
            seed = blake2b(seed, digest_size=4).digest()
            if seed.hex() not in taken:
                return seed.hex()

    def written(self) -> str:
        import json

        found = _INDENT.match(self.text)
        indent = found[1] if found else (1 if self.text.count("\n") > 1 or not self.text.strip() else None)
        separators = None if indent is not None or ": " in self.text else (",", ":")
        # Escapes are kept where the file is written in them; half a surrogate pair can be written in no other way.
        escaped = ("\\u" in self.text and self.text.isascii()) or re.search(r"\\u[dD][89a-fA-F]", self.text) is not None
        text = json.dumps(self.content, indent=indent, separators=separators, ensure_ascii=escaped)
        return text + self.text[len(self.text.rstrip()) :]


def _lines(source: str) -> list[str]:
    """A source as notebooks store it: lines with their ends."""
    lines = source.replace("\r\n", "\n").split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _joined(value: object) -> str:
    """Text that notebooks store as one string or as a list of them."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _outputs(outputs: list[Any]) -> list[str | Media]:
    told: list[str | Media] = []
    for output in outputs:
        if not isinstance(output, dict):
            continue
        if output.get("output_type") == "stream":
            told.append(_cut(_joined(output.get("text"))))
        elif output.get("output_type") == "error":
            trace = "\n".join(line for line in output.get("traceback") or () if isinstance(line, str))
            told.append(_cut(trace or f"{output.get('ename')}: {output.get('evalue')}"))
        elif isinstance(output.get("data"), dict):
            told += _shown(output["data"])
    return told


def _shown(data: dict[str, Any]) -> list[str | Media]:
    """What an output looks like: its pictures, else its plain text, else the first text it has."""
    pictures = [
        Media(media_type, data=_joined(value).replace("\n", ""))
        for media_type, value in data.items()
        if media_type.startswith("image/") and media_type != "image/svg+xml"
    ]
    if pictures:
        return list(pictures)
    texts = [_joined(data.get("text/plain")), *(_joined(value) for value in data.values())]
    text = next((text for text in texts if text), None)
    return [] if text is None else [_cut(text)]


def _cut(text: str) -> str:
    text = printable(_ESCAPES.sub("", text))
    if len(text) <= OUTPUT_LIMIT:
        return text
    return f"{text[:OUTPUT_LIMIT]}\n… [{len(text) - OUTPUT_LIMIT:,} more characters]"
