"""The screen **SQL**: the closed database of `dragoman query`, with tighter limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dragoman.errors import LimitReached, MissingExtra, QueryRefused
from dragoman.logs import SqlLimits
from dragoman.logs.export import plain

from .frame import Parameters, Screen, address, table
from .library import Library

_LIMITS: Final = SqlLimits(seconds=15.0, rows=1_000, memory=512 << 20)
_EXAMPLES: Final = {
    "Tools that fail most": "SELECT name, count(*) AS calls, count(*) FILTER (status = 'failed') AS failed"
    " FROM calls GROUP BY 1 ORDER BY 3 DESC LIMIT 20",
    "Cost per model": "SELECT model, sum(tokens) AS tokens, round(sum(cost), 2) AS dollars FROM usage"
    " WHERE NOT repeated GROUP BY 1 ORDER BY 3 DESC NULLS LAST",
    "Files changed most": "SELECT path, count(*) AS changes FROM operations WHERE kind = 'write' AND path IS NOT NULL"
    " GROUP BY 1 ORDER BY 2 DESC LIMIT 20",
    "Tables": "SELECT table_name, column_name, data_type FROM information_schema.columns",
}


def sql_screen(library: Library, parameters: Parameters) -> Screen:
    """The statement, and what it gives."""
    text = parameters.get("sql", "")
    body = ["<h1>SQL</h1>", *_form(text)]
    if not text.strip():
        return Screen("SQL", "/sql", body, {"columns": [], "rows": []})
    try:
        with library.answering:
            with library.lock:
                query = library.fresh()
            result = query.sql(text, _LIMITS, lock=library.lock)
    except (QueryRefused, LimitReached, MissingExtra) as error:
        body.append(f'<p class="warning exact" role="alert">{plain(str(error))}</p>')
        return Screen("SQL", "/sql", body, {"error": str(error)}, 400)
    numbers = frozenset(
        place for place in range(len(result.columns)) if any(_is_number(row[place]) for row in result.rows[:20])
    )
    body.append(f'<p class="summary">{len(result.rows):,} row{"s" if len(result.rows) != 1 else ""}</p>')
    body += table(result.columns, ([_cell(cell) for cell in row] for row in result.rows), numbers=numbers, name="rows")
    return Screen("SQL", "/sql", body, {"columns": result.columns, "rows": result.rows})


def _form(text: str) -> Iterator[str]:
    yield '<form class="sql" action="/sql"><label for="sql">One statement of DuckDB over the history. It reaches no file'
    yield f' and no network.</label><textarea id="sql" name="sql" rows="6" spellcheck="false">{plain(text)}</textarea>'
    yield '<p class="fields"><button>Run</button>'
    yield f" At most {_LIMITS.rows:,} rows and {_LIMITS.seconds:.0f} seconds.</p></form>"
    links = (f'<a href="{plain(address("/sql", {"sql": sql}))}">{name}</a>' for name, sql in _EXAMPLES.items())
    yield f'<p class="chosen">{"".join(links)}</p>'


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    return '<span class="null">NULL</span>' if value is None else plain(str(value)[:2_000])
