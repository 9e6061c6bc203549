"""The process that runs somebody's SQL: it fills the tables, closes itself to files and the network, and answers.

Rules: a program of its own that imports the standard library and DuckDB alone. It has no more memory and processor time
than its order says, and it ends with whoever started it. DuckDB's own limit on memory does not count every value, and
some of its functions do not heed an interrupt: both hold only for a process that can be ended.

Reads two lines of JSON from standard input: the order, and when it has said which columns the statement names, how the
tables are filled. Writes messages to standard output: eight bytes of length, then a pickle.
"""

from __future__ import annotations

import datetime
import io
import json
import os
import pickle
import signal
import struct
import sys
from typing import Any, Final

_BATCH: Final = 256
"""Rows fetched at once."""
_MESSAGE: Final = 1 << 20
"""Bytes from which on rows are sent one by one."""
_SLACK: Final = 256 << 20
"""Bytes allowed beyond DuckDB's own limit, for what it does not count."""


def main() -> int:
    """Carries out the order."""
    order = json.loads(sys.stdin.buffer.readline())
    _bound_to_starter(order["starter"])
    sys.path.append(order["packages"])
    import duckdb

    database = duckdb.connect(":memory:")
    _limit(order["memory"], order["seconds"])
    try:
        _tell("named", _columns_named(database, order["sql"], order["tables"]))
        order |= json.loads(sys.stdin.buffer.readline())
        for statement, values in order["statements"]:
            database.execute(statement, values)
        _tell("filled", None)
        try:
            answer = database.execute(order["sql"])
        except duckdb.BinderException:
            if not order["declared"]:
                raise
            # Tables with all their columns say what is wrong; if nothing is, the statement means one it does not name.
            for statement in order["declared"]:
                database.execute(statement)
            database.execute(order["sql"])
            _tell("whole", None)
        else:
            _answer(answer, order["row_bytes"])
    except (duckdb.OutOfMemoryException, MemoryError):
        _tell("memory", None)
    except duckdb.Error as error:
        message = str(error).partition("\nTraceback")[0]
        if "pytz" in message:  # DuckDB needs that package for them, and we do not have it
            message = "a TIMESTAMP WITH TIME ZONE cannot be returned; cast it to TIMESTAMP"
        _tell("memory" if "bad_alloc" in message else "refused", message)
    sys.stdout.flush()
    os._exit(0)  # DuckDB may take long to give back what it holds


_PLAIN: Final = frozenset(
    {
        *("BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION"),
        *("LAMBDA", "OPERATOR", "SUBQUERY", "WINDOW"),
        *("BASE_TABLE", "CTE_NODE", "EMPTY", "JOIN", "RECURSIVE_CTE_NODE", "SELECT_NODE", "SET_OPERATION_NODE"),
        *("DISTINCT_MODIFIER", "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "ORDER_MODIFIER", "TYPE"),
        *("ASCENDING", "DESCENDING", "ORDER_DEFAULT"),
    }
)
"""Parts of a statement that mean no other columns than those they name: no star, no pivot, no function of a table."""


def _columns_named(database: Any, sql: str, own: list[str]) -> list[str] | None:
    """The columns that a statement can mean, whichever table they are of; `None` is all of them."""
    import duckdb

    try:
        ((tree,),) = database.execute("SELECT json_serialize_sql(?)", [sql]).fetchall()
        parts = [json.loads(tree)]
    except (duckdb.Error, RecursionError):
        return None
    if parts[0]["error"]:
        return None
    named: set[str] = set()
    last: set[str] = set()
    tables: set[str] = set()
    """How tables are called, where rows are taken from them."""
    sources: set[str] = set()
    known = set(own)
    while parts:
        part = parts.pop()
        if not isinstance(part, dict):
            parts += part if isinstance(part, list) else ()
            continue
        kind = part.get("class", part.get("type"))
        if isinstance(kind, str) and kind not in _PLAIN:
            return None
        if part.get("ref_type") == "NATURAL" or part.get("column_name_alias"):
            return None
        names = [name.lower() for name in part.get("column_names", ())]
        named.update(names, (name.lower() for name in part.get("using_columns", ())))
        last.update(names[-1:])
        if kind == "BASE_TABLE":
            sources.add(part["table_name"].lower())
            if part["schema_name"] not in ("", "main"):
                return None
        known.update(one["key"].lower() for one in (part.get("cte_map") or {}).get("map", ()))
        if "class" not in part:
            tables.update(part[name].lower() for name in ("table_name", "alias") if isinstance(part.get(name), str))
        parts += part.values()
    # The name of a table among expressions is a row of it; a table of the database's own tells what columns there are.
    return None if last & tables or sources - known else sorted(named)


def _answer(asked: Any, row_bytes: int) -> None:
    if asked is None:
        _tell("nothing", None)
        return
    columns = [column[0] for column in asked.description or ()]
    _tell("columns", columns)
    while columns and (rows := asked.fetchmany(_BATCH)):
        told = _pickled(("rows", rows))
        if len(told) <= _MESSAGE:
            _send(told)
            continue
        del told
        for row in rows:
            told = _pickled(("rows", [row]))
            if len(told) > row_bytes:
                _tell("row", len(told))
                return
            _send(told)
    _tell("end", None)


def _tell(kind: str, value: Any) -> None:
    _send(_pickled((kind, value)))


class _Pickler(pickle.Pickler):
    """Writes times with the zone's offset: the classes of zones come from packages the other end may not have."""

    def reducer_override(self, value: Any) -> Any:
        if type(value) is datetime.datetime and value.tzinfo is not None:
            offset = datetime.timezone(value.utcoffset() or datetime.timedelta())
            return datetime.datetime, (*value.timetuple()[:6], value.microsecond, offset)
        return NotImplemented


def _pickled(value: Any) -> bytes:
    file = io.BytesIO()
    _Pickler(file, protocol=5).dump(value)
    return file.getvalue()


def _send(told: bytes) -> None:
    try:
        sys.stdout.buffer.write(struct.pack(">Q", len(told)))
        sys.stdout.buffer.write(told)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os._exit(0)


def _limit(memory: int, seconds: float) -> None:
    """Takes away what the order does not allow, where the system can."""
    try:
        import resource
    except ImportError:  # Windows: DuckDB's own limit, and the starter's clock, are all there is
        return
    processors = os.cpu_count() or 1
    limits = {"RLIMIT_CPU": int(seconds * processors) + 5, "RLIMIT_CORE": 0}
    used = _data_used()
    if used is not None:
        limits["RLIMIT_DATA"] = used + memory + memory // 4 + _SLACK
    for name, value in limits.items():
        kind = getattr(resource, name)
        _, most = resource.getrlimit(kind)
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(kind, (value, most if name == "RLIMIT_CPU" else value))


def _data_used() -> int | None:
    """Bytes of writable memory that this process has already; only Linux says so, and limits them."""
    try:
        with open("/proc/self/status", "rb") as file:
            for line in io.BytesIO(file.read()):
                if line.startswith(b"VmData:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def _bound_to_starter(starter: int) -> None:
    """Ends this process when its starter ends, however that ends. A Ctrl-C is for the starter to see to."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != starter:
            os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
