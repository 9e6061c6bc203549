"""Logs that attack who looks at them: hostile text in every field of the samples of every format.

A field is a place in the records of a log: the keys that lead to it, in JSON that stands in a text too. Those whose
value can be any are all made hostile at once; those that hold a log together (kinds, ids, times) one at a time.
"""

from __future__ import annotations

import io
import json
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dragoman.logs import read, recognise
from tests.logs.samples import SAMPLES

HOSTILE = (
    '"><script>alert(1)</script><img src=x onerror=alert(2)>\'"</title></textarea></pre>--><svg/onload=alert(3)>'
    "<iframe srcdoc='<script>alert(4)</script>'></iframe><a href='javascript:alert(5)' onclick=alert(6)>a</a>"
    "<style>@import 'http://evil.example/a.css'</style><base href='http://evil.example/'><form action=//evil.example>"
    "{{7*7}}\u202e\u2066\u200f [link](javascript:alert(7)) [l](  JaVa\tScRiPt:alert(8)) "
    "[l](data:text/html,<script>alert(9)</script>) "
    "![picture](http://evil.example/p.png) <javascript:alert(10)> &#x3C;script&#x3E;alert(11)&#x3C;/script&#x3E; "
    '`<script>alert(12)</script>` <!-- ]]> <a href="\n\n```html\n<script>alert(13)</script>\n'
)
HUGE = "<b>[" * 1_000
"""A long text, all of it the beginning of markup."""
BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

Path_ = tuple[str, ...]
Change = Callable[[Path_, str], str]


def _changed(value: Any, change: Change, at: Path_ = ()) -> Any:
    """A value with other texts in it."""
    if isinstance(value, dict):
        return {key: _changed(one, change, (*at, key)) for key, one in value.items()}
    if isinstance(value, list):
        return [_changed(one, change, (*at, "*")) for one in value]
    if not isinstance(value, str):
        return value
    inner = _json(value)
    return change(at, value) if inner is None else _text(_changed(inner, change, (*at, "{}")))


def _json(text: str) -> Any:
    """The object or list that stands in a text."""
    if text[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _with_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {**{key: _with_keys(one) for key, one in value.items()}, HOSTILE: HOSTILE}
    return [_with_keys(one) for one in value] if isinstance(value, list) else value


def _in_file(name: str, data: bytes, map_value: Callable[[str, Any], Any], scratch: Path) -> bytes:
    """A file with other values: a document, lines, or the cells of a database."""
    if data.startswith(b"SQLite format 3"):
        return _in_database(data, map_value, scratch)
    if data.startswith(b"PK"):
        return _in_archive(data, map_value, scratch)
    document = _json(data.decode())
    if document is not None:
        return _text(map_value(name, document)).encode()
    lines = []
    for line in data.decode().splitlines():
        record = _json(line)
        lines.append(map_value(name, line) if record is None else _text(map_value(name, record)))
    return ("\n".join(lines) + "\n").encode()


def _in_archive(data: bytes, map_value: Callable[[str, Any], Any], scratch: Path) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(out, "w") as after:
        for name in before.namelist():
            after.writestr(name, _in_file(name, before.read(name), map_value, scratch))
    return out.getvalue()


def _in_database(data: bytes, map_value: Callable[[str, Any], Any], scratch: Path) -> bytes:
    scratch.write_bytes(data)
    database = sqlite3.connect(scratch)
    for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        names = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
        for rowid, *cells in database.execute(f'SELECT rowid, * FROM "{table}"').fetchall():
            for column, cell in zip(names, cells, strict=True):
                if isinstance(cell, str):
                    other = map_value(f"{table}.{column}", cell)
                    database.execute(f'UPDATE OR IGNORE "{table}" SET "{column}" = ? WHERE rowid = ?', (other, rowid))
    database.commit()
    database.close()
    return scratch.read_bytes()


def _write(format: str, folder: Path, map_value: Callable[[str, Any], Any]) -> None:
    scratch = folder.with_name(f"{folder.name}.scratch")
    scratch.parent.mkdir(parents=True, exist_ok=True)
    for name, data in SAMPLES[format]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_in_file(name, data, map_value, scratch))


def _kinds(format: str, folder: Path) -> list[str]:
    """What is read of the files, by kind: how much of a log is understood."""
    found = []
    for name, _ in SAMPLES[format]:
        try:
            chosen, _ = recognise(folder / name)
            found += [f"{event.session} {type(event).__name__}" for event in read(folder / name, chosen.name)]
        except Exception as error:  # noqa: BLE001 (whatever it is, it is another reading)
            found.append(type(error).__name__)
    return found


def _fields(format: str, folder: Path) -> list[tuple[str, ...]]:
    fields: dict[tuple[str, ...], None] = {}

    def note(place: str, value: Any) -> Any:
        _changed(value, lambda at, text: (fields.__setitem__((place, *at), None), text)[1])
        return value

    _write(format, folder, note)
    return list(fields)


def _hostile_in(fields: set[tuple[str, ...]], text: str = HOSTILE) -> Callable[[str, Any], Any]:
    def change(place: str, value: Any) -> Any:
        return _changed(value, lambda at, said: f"{said} {text}" if (place, *at) in fields else said)

    return change


def hostile_logs(format: str, folder: Path) -> Iterator[Path]:
    """Folders with the samples of a format, each hostile in another way."""
    fields = _fields(format, folder / "plain")
    before = _kinds(format, folder / "plain")
    free: set[tuple[str, ...]] = set()
    for number, field in enumerate(fields):
        tried = folder / f"tried-{number}"
        _write(format, tried, _hostile_in({field}))
        if _kinds(format, tried) == before:
            free.add(field)
        else:
            yield tried
    for name, text in (("all", HOSTILE), ("huge", HUGE)):
        _write(format, folder / name, _hostile_in(free, text))
        yield folder / name
    if not free:  # a log of plain text: every line may mean something
        _write(format, folder / "lines", _hostile_in(set(fields), HOSTILE.replace("\n", " ")))
        yield folder / "lines"
    _write(format, folder / "keys", lambda _, value: _with_keys(value))
    yield folder / "keys"


class Harmless(HTMLParser):
    """A page, and what in it could do something."""

    def __init__(self, text: str, scripts: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self._scripts = scripts
        self.feed(text)
        self.close()
        self.wrong += [f"U+{ord(one):04X}" for one in BIDI if one in text]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("iframe", "object", "embed", "base", "math") or (tag == "style" and self._scripts):
            self.wrong.append(tag)
        if tag == "script" and given.get("src") not in self._scripts:
            self.wrong.append(f"script {given}")
        for name, value in attrs:
            if name.startswith("on") or name in ("srcdoc", "srcset", "style", "formaction", "ping", "background"):
                self.wrong.append(f"{tag} {name}={value}")
            elif name in ("href", "src", "action", "xlink:href", "poster", "data"):
                self._address(tag, name, value or "")

    def _address(self, tag: str, name: str, value: str) -> None:
        scheme, host = urlsplit(value)[:2] if "\t" not in value and "\n" not in value else ("control", "")
        if tag == "a" and scheme in ("http", "https", "mailto", ""):
            return
        if tag == "img" and value.startswith(
            ("data:image/png;", "data:image/jpeg;", "data:image/gif;", "data:image/webp;")
        ):
            return
        if (scheme or host) and (tag, value) != ("link", "data:,"):
            self.wrong.append(f"{tag} {name}={value[:60]}")
