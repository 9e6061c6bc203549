"""Notebooks read cell by cell, and edited without touching what was not named."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from dragoman.errors import ToolError
from dragoman.model import operations as op, outcomes as out
from dragoman.model.edit_rules import EditRules
from dragoman.tools import Context, notebook
from dragoman.tools.files import read_file
from dragoman.tools.workspace.memory import MemoryWorkspace
from tests.strategies import JSON
from tests.tools.workspaces import KINDS, failure, run, told

every_kind = pytest.mark.parametrize("kind", KINDS)

CONTENT: dict[str, Any] = {
    "cells": [
        {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Report\n", "über alles"]},
        {
            "cell_type": "code",
            "execution_count": 1,
            "id": "calc",
            "metadata": {"tags": ["kept"]},
            "outputs": [{"name": "stdout", "output_type": "stream", "text": ["3\n"]}],
            "source": ["1 + 2"],
        },
        {"cell_type": "raw", "id": "raw", "metadata": {}, "source": "as it is"},
    ],
    "metadata": {"kernelspec": {"language": "python", "name": "python3"}, "language_info": {"name": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def written(content: Any, indent: int | None = 1) -> str:
    return json.dumps(content, indent=indent, ensure_ascii=False) + "\n"


def edited(operation: op.EditNotebook, before: str | None = None) -> Any:
    workspace = MemoryWorkspace({"n.ipynb": written(CONTENT) if before is None else before})
    run(notebook.edit_notebook, operation, workspace)
    return json.loads(workspace.read("n.ipynb"))


def cells_but(*changes: tuple[int, dict[str, Any] | None]) -> list[Any]:
    cells = [dict(cell) for cell in CONTENT["cells"]]
    for index, change in changes:
        cells[index] |= change or {}
    return cells


# ── reading ──────────────────────────────────────────────────────────────────


@every_kind
def test_cells_are_read_with_what_they_put_out(kind: str) -> None:
    with KINDS[kind]() as workspace:
        workspace.write("nb/n.ipynb", written(CONTENT).encode())
        assert run(notebook.read_notebook, op.ReadNotebook("nb/n.ipynb"), workspace) == out.NotebookOutcome(
            "nb/n.ipynb",
            (
                out.Cell("# Report\nüber alles", "markdown", "intro"),
                out.Cell("1 + 2", "code", "calc", "python", ("3\n",)),
                out.Cell("as it is", "raw", "raw"),
            ),
        )


@pytest.mark.parametrize("cell_id, source", [("calc", "1 + 2"), ("cell-1", "1 + 2"), ("2", "as it is")])
def test_one_cell_is_read_by_its_id_or_its_place(cell_id: str, source: str) -> None:
    workspace = MemoryWorkspace({"n.ipynb": written(CONTENT)})
    outcome = run(notebook.read_notebook, op.ReadNotebook("n.ipynb", cell_id), workspace)
    assert [cell.source for cell in outcome.cells] == [source]


def test_cells_without_ids_are_told_by_their_place() -> None:
    old = {"cells": [{"cell_type": "code", "source": "x", "outputs": []}], "nbformat": 4, "nbformat_minor": 2}
    workspace = MemoryWorkspace({"n.ipynb": written(old)})
    outcome = run(notebook.read_notebook, op.ReadNotebook("n.ipynb"), workspace)
    assert outcome == out.NotebookOutcome("n.ipynb", (out.Cell("x", "code", "cell-0"),))


def test_outputs_are_told_as_text_and_pictures() -> None:
    outputs = [
        {"output_type": "execute_result", "data": {"text/plain": ["4", "2"], "text/html": "<b>42</b>"}},
        {"output_type": "display_data", "data": {"image/png": "aGk=\n", "text/plain": "<Figure>"}},
        {"output_type": "display_data", "data": {"text/html": ["<i>only</i>"]}},
        {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[31mE\x1b[0m", "v"]},
        {"output_type": "error", "ename": "E", "evalue": "v"},
        {"output_type": "stream", "text": "x" * 20_000},
        {"output_type": "unheard of"},
        "nonsense",
    ]
    content = {"cells": [{"cell_type": "code", "source": "", "outputs": outputs}], "nbformat": 4}
    workspace = MemoryWorkspace({"n.ipynb": written(content)})
    (cell,) = run(notebook.read_notebook, op.ReadNotebook("n.ipynb"), workspace).cells
    assert cell.outputs == (
        "42",
        out.Media("image/png", data="aGk="),
        "<i>only</i>",
        "E\nv",
        "E: v",
        "x" * 16_000 + "\n… [4,000 more characters]",
    )


# ── editing ──────────────────────────────────────────────────────────────────


def test_a_replaced_code_cell_loses_what_it_had_put_out() -> None:
    new = edited(op.EditNotebook("n.ipynb", "2 + 3\n4", "calc"))
    assert new["cells"] == cells_but((1, {"source": ["2 + 3\n", "4"], "outputs": [], "execution_count": None}))


def test_a_cell_keeps_the_way_its_source_is_stored() -> None:
    new = edited(op.EditNotebook("n.ipynb", "a\nb", "raw"))
    assert new["cells"] == cells_but((2, {"source": "a\nb"}))


def test_a_cell_can_become_one_of_the_other_kind() -> None:
    new = edited(op.EditNotebook("n.ipynb", "text", "calc", "markdown"))
    assert new["cells"][1] == {
        "cell_type": "markdown",
        "id": "calc",
        "metadata": {"tags": ["kept"]},
        "source": ["text"],
    }
    new = edited(op.EditNotebook("n.ipynb", "code", "intro", "code"))
    assert new["cells"][0] == {
        "cell_type": "code",
        "id": "intro",
        "metadata": {},
        "source": ["code"],
        "outputs": [],
        "execution_count": None,
    }


def test_a_cell_is_inserted_after_another_or_first() -> None:
    new = edited(op.EditNotebook("n.ipynb", "# After\n", "calc", "markdown", "insert"))
    added = new["cells"].pop(2)
    assert new == CONTENT
    assert added == {"cell_type": "markdown", "id": added["id"], "metadata": {}, "source": "# After\n"}
    assert len(added["id"]) == 8
    new = edited(op.EditNotebook("n.ipynb", "1", mode="insert"))
    assert (new["cells"][0]["cell_type"], new["cells"][0]["outputs"]) == ("code", [])


def test_ids_are_given_only_where_the_format_has_them() -> None:
    old = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    new = edited(op.EditNotebook("n.ipynb", "1\n2", mode="insert"), written(old))
    assert new["cells"] == [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": ["1\n", "2"]}
    ]


def test_two_cells_of_the_same_source_have_ids_of_their_own() -> None:
    workspace = MemoryWorkspace({"n.ipynb": written(CONTENT)})
    workspace.apply([op.EditNotebook("n.ipynb", "same", mode="insert")] * 3)
    ids = [cell["id"] for cell in json.loads(workspace.read("n.ipynb"))["cells"]]
    assert len(set(ids)) == 6


def test_a_cell_is_deleted() -> None:
    assert edited(op.EditNotebook("n.ipynb", cell_id="calc", mode="delete"))["cells"] == [
        CONTENT["cells"][0],
        CONTENT["cells"][2],
    ]


@every_kind
@pytest.mark.parametrize(
    "before, after",
    [
        (written(CONTENT), written),
        (written(CONTENT, 2), lambda content: written(content, 2)),
        (written(CONTENT, None), lambda content: written(content, None)),
        (written(CONTENT)[:-1], lambda content: written(content)[:-1]),
        (written(CONTENT).replace("\n", "\r\n"), lambda content: written(content).replace("\n", "\r\n")),
        ("\ufeff" + written(CONTENT), lambda content: "\ufeff" + written(content)),
        (json.dumps(CONTENT, indent="\t"), lambda content: json.dumps(content, indent="\t")),
        (
            json.dumps(CONTENT, separators=(",", ":")),
            lambda content: json.dumps(content, separators=(",", ":")),
        ),
    ],
)
def test_the_way_the_file_is_written_is_kept(kind: str, before: str, after: Any) -> None:
    with KINDS[kind]() as workspace:
        workspace.write("n.ipynb", before.encode())
        outcome = run(notebook.edit_notebook, op.EditNotebook("n.ipynb", "Neu", "intro"), workspace)
        expected = {**CONTENT, "cells": cells_but((0, {"source": ["Neu"]}))}
        assert workspace.read("n.ipynb").decode() == after(expected)
        assert [change.kind for change in outcome.changes] == ["modified"]


@pytest.mark.parametrize(
    "operation, before, message",
    [
        (
            op.EditNotebook("n.ipynb", "x", "cals"),
            None,
            'no cell "cals" in "n.ipynb"; it has 3 cells: intro, calc, raw.',
        ),
        (op.EditNotebook("n.ipynb", "x", "cell-3"), None, 'no cell "cell-3" in "n.ipynb"; it has 3 cells'),
        (op.EditNotebook("n.ipynb", "x"), None, "which cell to replace is missing"),
        (op.EditNotebook("n.ipynb", mode="delete"), None, "which cell to delete is missing"),
        (op.EditNotebook("n.ipynb", cell_id="calc"), None, "the new source of the cell is missing"),
        (op.EditNotebook("n.ipynb", "\ud800", "calc"), None, "half of a surrogate pair"),
        (op.EditNotebook("n.ipynb", "x", "calc"), "not JSON", '"n.ipynb" is not a notebook: its JSON cannot be read'),
        (
            op.EditNotebook("n.ipynb", "x", "calc"),
            "[" * 100_000,
            '"n.ipynb" is not a notebook: its JSON cannot be read',
        ),
        (op.EditNotebook("n.ipynb", "x", "calc"), "[]", "it has no cells"),
        (op.EditNotebook("n.ipynb", "x", "calc"), '{"worksheets": []}', "the format of before 2015"),
        (op.EditNotebook("n.ipynb", "x", "calc"), '{"cells": [1]}', "cell-0 is not well formed"),
        (op.EditNotebook("n.ipynb", "x", "calc"), "\0", "is a binary file"),
    ],
)
def test_each_failure_says_why(operation: op.EditNotebook, before: str | None, message: str) -> None:
    text = written(CONTENT) if before is None else before
    workspace = MemoryWorkspace({"n.ipynb": text})
    assert message in failure(lambda: run(notebook.edit_notebook, operation, workspace)).message
    assert workspace.read("n.ipynb") == text.encode()


def test_a_wrong_cell_id_is_answered_with_the_nearest() -> None:
    workspace = MemoryWorkspace({"n.ipynb": written(CONTENT)})
    error = failure(lambda: run(notebook.read_notebook, op.ReadNotebook("n.ipynb", "cals"), workspace))
    assert error.message.endswith('Did you mean "calc"?')


def test_half_a_surrogate_pair_in_an_output_is_kept() -> None:
    text = written({**CONTENT, "cells": cells_but((0, {"source": ["X"]}))}).replace("X", "\\ud83d")
    new = edited(op.EditNotebook("n.ipynb", "2", "calc"), text)
    assert new["cells"][0]["source"] == ["\ud83d"]
    workspace = MemoryWorkspace({"n.ipynb": text})
    assert run(notebook.read_notebook, op.ReadNotebook("n.ipynb"), workspace).cells[0].source == "\ufffd"


@given(
    content=JSON
    | st.fixed_dictionaries(
        {"cells": st.lists(JSON | st.dictionaries(st.sampled_from(["source", "outputs", "cell_type", "id"]), JSON))}
    ),
    cell_id=st.none() | st.sampled_from(["cell-0", "0", "x", "\ud800"]),
    mode=st.sampled_from(["replace", "insert", "delete"]),
)
def test_any_json_is_a_notebook_or_a_failure(content: Any, cell_id: str | None, mode: Any) -> None:
    workspace = MemoryWorkspace({"n.ipynb": json.dumps(content)})
    for call in (
        lambda: run(notebook.read_notebook, op.ReadNotebook("n.ipynb", cell_id), workspace),
        lambda: run(notebook.edit_notebook, op.EditNotebook("n.ipynb", "x", cell_id, mode=mode), workspace),
    ):
        assert isinstance(told(call), out.Outcome | tuple)


def test_a_file_that_is_a_notebook_is_read_as_cells_where_the_vocabulary_shows_those() -> None:
    context = Context(workspace=MemoryWorkspace({"n.ipynb": written(CONTENT).encode()}))
    assert isinstance(read_file.run(op.ReadFile("n.ipynb"), context), out.FileOutcome)
    context.edit_rules = EditRules(cells=True)
    assert read_file.run(op.ReadFile("n.ipynb"), context) == notebook.read_notebook.run(
        op.ReadNotebook("n.ipynb"), context
    )
    broken = Context(workspace=MemoryWorkspace({"n.ipynb": b"{"}), edit_rules=EditRules(cells=True))
    with pytest.raises(ToolError, match="is not a notebook"):
        read_file.run(op.ReadFile("n.ipynb"), broken)
