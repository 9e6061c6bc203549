"""The plan, which is kept as rows of a table and changed with SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dragoman.dialects.base.spelling import Spelling, means
from dragoman.dialects.base.words import by_hand, one_of
from dragoman.model import operations as op, outcomes as out

from .offered import NOT_OFFERED

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<word>[A-Za-z_][A-Za-z_0-9]*)|(?P<number>-?\d+)|(?P<mark>[(),=;*]))", re.DOTALL
)
_STATUSES: dict[str, op.PlanStatus] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "done": "completed",
    "blocked": "blocked",
    "completed": "completed",
    "cancelled": "cancelled",
}
_WORDS_OF_STATUS = {"pending": "pending", "in_progress": "in_progress", "completed": "done", "blocked": "blocked"}


class _Statement:
    """The words of one SQL statement, taken one after the other; what is not expected raises `ValueError`."""

    def __init__(self, tokens: Sequence[tuple[str, str]]) -> None:
        self._tokens = list(tokens)

    def next(self) -> tuple[str, str]:
        if not self._tokens:
            raise ValueError("the statement ends too early to be read as one about the plan")
        return self._tokens.pop(0)

    def word(self, *words: str) -> None:
        for word in words:
            kind, found = self.next()
            if kind == "text" or found.lower() != word:
                raise ValueError(f"{found!r} stands where {word!r} is read; only plain statements on todos are")

    def name(self) -> str:
        kind, found = self.next()
        if kind != "word":
            raise ValueError(f"{found!r} is no name")
        return found.lower()

    def value(self) -> str | None:
        kind, found = self.next()
        if kind == "text":
            return found[1:-1].replace("''", "'")
        if kind == "number":
            return found
        if found.lower() in ("null", "current_timestamp"):
            return None
        raise ValueError(f"{found!r} is computed, so what it will be is not known")

    def sees(self, word: str) -> bool:
        return bool(self._tokens) and self._tokens[0][0] != "text" and self._tokens[0][1].lower() == word

    def takes(self, word: str) -> bool:
        seen = self.sees(word)
        if seen:
            self._tokens.pop(0)
        return seen

    def ends(self) -> bool:
        return not self._tokens

    def values(self) -> list[str | None]:
        """A list in brackets."""
        return self._listed(self.value)

    def names(self) -> list[str]:
        return self._listed(self.name)

    def _listed(self, take: Callable[[], Any]) -> list[Any]:
        self.word("(")
        found = [take()]
        while self.takes(","):
            found.append(take())
        self.word(")")
        return found


def _statements(query: str) -> Iterator[_Statement]:
    tokens: list[tuple[str, str]] = []
    position, end = 0, len(query.rstrip())
    while position < end:
        found = _TOKEN.match(query, position)
        if found is None or found.lastgroup is None:
            raise ValueError(f"{query[position : position + 20]!r} is more than is read of SQL")
        position = found.end()
        if found[found.lastgroup] == ";":
            if tokens:
                yield _Statement(tokens)
            tokens = []
        else:
            tokens.append((found.lastgroup, found[found.lastgroup]))
    if tokens:
        yield _Statement(tokens)


def _plan_operations(query: str) -> tuple[op.Operation, ...]:
    """What plain statements with literal values do to the plan; any other raises `ValueError`."""
    operations: list[op.Operation] = []
    for statement in _statements(query):
        verb = statement.name()
        if verb not in _VERBS:
            raise ValueError(f"{verb!r} does nothing to the plan that is understood")
        operations += _VERBS[verb](statement)
        if not statement.ends():
            raise ValueError("the statement goes on after what is read of it")
    if not operations:
        raise ValueError("there is no statement")
    return tuple(operations)


def _inserted(statement: _Statement) -> list[op.Operation]:
    statement.word("into")
    table, columns = statement.name(), statement.names()
    statement.word("values")
    rows = [statement.values()]
    while statement.takes(","):
        rows.append(statement.values())
    named = [dict(zip(columns, row, strict=True)) for row in rows]  # a row of another length is a ValueError
    if table == "todo_deps":
        return list(_dependencies(named))
    if table != "todos":
        raise ValueError(f"{table!r} is not the plan")
    return [op.AddPlanItem(_item(row)) for row in named]


def _dependencies(rows: Sequence[Mapping[str, str | None]]) -> Iterator[op.ChangePlanItem]:
    waits: dict[str, list[str]] = {}
    for row in rows:
        item, other = row.get("todo_id"), row.get("depends_on")
        if item is None or other is None or len(row) != 2:
            raise ValueError("a dependency has a todo_id and a depends_on")
        waits.setdefault(item, []).append(other)
    for item, others in waits.items():
        yield op.ChangePlanItem(item, add_blocked_by=tuple(others))


_COLUMNS = ("id", "title", "description", "status")


def _item(row: Mapping[str, str | None]) -> op.PlanItem:
    if row.get("title") is None or not set(row) <= set(_COLUMNS):
        raise ValueError(f"a todo has a title and some of {', '.join(_COLUMNS)}")
    return op.PlanItem(
        str(row["title"]), _status(row.get("status")) or "pending", row.get("id"), row.get("description")
    )


def _status(word: str | None) -> op.PlanStatus | None:
    if word is not None and word not in _STATUSES:
        raise ValueError(f"{word!r} is no status of a todo")
    return None if word is None else _STATUSES[word]


def _which(statement: _Statement) -> list[str]:
    """The ids a statement is about: of one, or of several in a list."""
    statement.word("where", "id")
    if statement.takes("in"):
        found = statement.values()
    else:
        statement.word("=")
        found = [statement.value()]
    if None in found:
        raise ValueError("NULL is no id")
    return [str(id) for id in found]


def _updated(statement: _Statement) -> list[op.Operation]:
    statement.word("todos", "set")
    values: dict[str, str | None] = {}
    while True:
        column = statement.name()
        statement.word("=")
        values[column] = statement.value()
        if not statement.takes(","):
            break
    values.pop("updated_at", None)  # the table's own, whatever it is set to
    if not values or not set(values) <= {"title", "description", "status"} or None in values.values():
        raise ValueError("of a todo the title, the description and the status are changed")
    return [
        op.ChangePlanItem(id, values.get("title"), _status(values.get("status")), values.get("description"))
        for id in _which(statement)
    ]


def _deleted(statement: _Statement) -> list[op.Operation]:
    statement.word("from", "todos")
    return [op.ChangePlanItem(id, deleted=True) for id in _which(statement)]


def _selected(statement: _Statement) -> list[op.Operation]:
    statement.word("*", "from", "todos")
    return [op.ReadPlan()] if statement.ends() else [op.ReadPlan(id) for id in _which(statement)]


_VERBS = {"insert": _inserted, "update": _updated, "delete": _deleted, "select": _selected}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


ONE_CHANGE = "one statement deletes, changes, or adds what an item waits for"


_TABLE = re.compile(r"(\d+) row\(s\) returned(?::\n\n(\|.*?))?(?:\n\n.*)?", re.DOTALL)


def _changed(text: str, _asked: op.Operation) -> out.DoneOutcome | None:
    return out.DoneOutcome(text) if re.match(r"\d+ row\(s\) (?!returned)", text) else None


def _table(outcome: out.PlanOutcome, _asked: op.Operation) -> str:
    rows = [
        (item.id or "", item.text, item.description or "", _WORDS_OF_STATUS.get(item.status, item.status))
        for item in outcome.items
    ]
    lines = [_row(cells) for cells in (_COLUMNS, ("---",) * len(_COLUMNS), *rows)]
    return f"{len(rows)} row(s) returned:\n\n" + "\n".join(lines)


def _plan_in(text: str, _asked: op.Operation) -> out.PlanOutcome | None:
    found = _TABLE.fullmatch(text)
    items = None if found is None else _items((found[2] or "").split("\n"))
    return None if items is None else out.PlanOutcome(items)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _items(lines: Sequence[str]) -> tuple[op.PlanItem, ...] | None:
    """The items of a table; `None` when it is not the plan."""
    rows = [[cell.replace("\\|", "|") for cell in line[2:-2].split(" | ")] for line in lines if line]
    if not rows:
        return ()
    heads = rows[0]
    if "title" not in heads or any(len(row) != len(heads) for row in rows):
        return None
    named = [dict(zip(heads, row, strict=True)) for row in rows[2:]]
    if any(row.get("status", "pending") not in _STATUSES for row in named):
        return None
    return tuple(
        op.PlanItem(
            row["title"],
            _STATUSES[row.get("status", "pending")],
            _cell(row.get("id")),
            _cell(row.get("description")),
        )
        for row in named
    )


def _cell(cell: str | None) -> str | None:
    return None if cell in (None, "", "NULL", "null") else cell


class Sql(Spelling[op.AddPlanItem | op.ChangePlanItem | op.ReadPlan]):
    """Keep the plan: rows of the table todos (id, title, description, status: pending, in_progress, done, blocked).

    Dependencies are rows of todo_deps (todo_id, depends_on). Only plain statements with
    literal values are understood.
    """

    native_name = "sql"
    approximated = {
        "AddPlanItem.item": "a todo has an id, a title, a description and a status",
        **{f"ChangePlanItem.{field}": ONE_CHANGE for field in ("text", "status", "description", "add_blocked_by")},
    }
    unsaid = {
        f"ChangePlanItem.{field}": "the table has no column for it"
        for field in ("doing", "owner", "add_blocks", "metadata")
    }

    description: str = means("id", "What the statement is for, in a few words.")
    query: str = means("id", "The statement.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return _plan_operations(self.query)

    @classmethod
    def from_operation(cls, operation: op.AddPlanItem | op.ChangePlanItem | op.ReadPlan) -> Sql | None:
        match operation:
            case op.ReadPlan(id=None):
                return cls(description="Read the plan", query="SELECT * FROM todos")
            case op.ReadPlan(id=str(id)):
                return cls(description="Read the plan", query=f"SELECT * FROM todos WHERE id = {_quoted(id)}")
            case op.AddPlanItem(item=item):
                return cls._adding(item)
            case op.ChangePlanItem():
                query = _changing(operation)
                return None if query is None else cls(description="Change the plan", query=query)
        return None

    @classmethod
    def _adding(cls, item: op.PlanItem) -> Sql | None:
        status = _WORDS_OF_STATUS.get(item.status)
        if status is None:
            return None
        row = {"id": item.id, "title": item.text, "description": item.description, "status": status}
        said = {column: _quoted(value) for column, value in row.items() if value is not None}
        query = f"INSERT INTO todos ({', '.join(said)}) VALUES ({', '.join(said.values())})"
        return cls(description="Add to the plan", query=query)

    results = one_of(
        by_hand(out.DoneOutcome, lambda outcome, _asked: outcome.note or "1 row(s) changed.", _changed, says=("note",)),
        by_hand(out.PlanOutcome, _table, _plan_in, nearly={"items": "a row has no more than these columns"}),
    )


def _changing(operation: op.ChangePlanItem) -> str | None:
    which = f"WHERE id = {_quoted(operation.id)}"
    if operation.deleted:
        return f"DELETE FROM todos {which}"
    if operation.status is not None and operation.status not in _WORDS_OF_STATUS:
        return None
    status = None if operation.status is None else _WORDS_OF_STATUS[operation.status]
    values = {"title": operation.text, "description": operation.description, "status": status}
    said = [f"{column} = {_quoted(value)}" for column, value in values.items() if value is not None]
    if said:
        return f"UPDATE todos SET {', '.join(said)} {which}"
    rows = ", ".join(f"({_quoted(operation.id)}, {_quoted(other)})" for other in operation.add_blocked_by)
    return f"INSERT INTO todo_deps (todo_id, depends_on) VALUES {rows}" if rows else None


class UpdateTodo(Spelling[op.UpdatePlan]):
    """Keep the plan as a Markdown list."""

    native_name = "update_todo"
    read_only = NOT_OFFERED

    todos: str

    def to_operations(self) -> tuple[op.Operation, ...]:
        boxes = re.findall(r"^\s*[-*+] \[([ xX])\] ?(.*)$", self.todos, re.MULTILINE)
        return (
            op.UpdatePlan(tuple(op.PlanItem(text, "pending" if box == " " else "completed") for box, text in boxes)),
        )
