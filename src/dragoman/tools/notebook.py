"""The tools that read and edit notebooks; `workspace/notebook_file.py` reads and writes the files."""

from __future__ import annotations

from dragoman.model import operations as op
from dragoman.model.outcomes import ChangesOutcome, NotebookOutcome

from .context import Context
from .definition import Tool
from .workspace.notebook_file import Notebook
from .workspace.text import Document


def cells_of(operation: op.ReadNotebook, context: Context) -> NotebookOutcome:
    """The cells of a notebook, or one of them."""
    workspace = context.workspace
    notebook = Notebook(Document.of(workspace.read(operation.path), operation.path), operation.path)
    chosen = range(len(notebook.cells))
    if operation.cell_id is not None:
        place = notebook.place(operation.cell_id)
        chosen = range(place, place + 1)
    return NotebookOutcome(workspace.resolve(operation.path), tuple(notebook.cell_at(index) for index in chosen))


def _edit_notebook(operation: op.EditNotebook, context: Context) -> ChangesOutcome:
    return context.workspace.apply([operation])


read_notebook = Tool.from_operation(op.ReadNotebook, cells_of, name="read_notebook", repeatable=True)
edit_notebook = Tool.from_operation(op.EditNotebook, _edit_notebook, name="edit_notebook")
