from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from dragoman import registry
from dragoman.config import PluginFolder, digest
from dragoman.errors import ConfigError, DefinitionError, MissingExtra
from dragoman.installation import install_command, packages_of
from dragoman.registry import FILE, TABLES, Entry, Plugins, Registry, need

SHOUT = """
def shout(text):
    return text.upper()

TOOLS = {"shout": shout}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder of plugin files. What they were imported as is forgotten afterwards."""
    path = tmp_path / "plugins"
    path.mkdir()
    before = set(sys.modules)
    yield path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def plugins_in(*folders: Path | PluginFolder) -> Plugins:
    places = [PluginFolder(place) if isinstance(place, Path) else place for place in folders]
    return Plugins(lambda: places, packages=False)


def write(folder: Path, name: str, source: str) -> Path:
    path = folder / name
    path.write_text(source)
    return path


def install(site: Path, name: str, version: str, entry_points: str) -> None:
    """What a package manager leaves behind, as far as entry points go."""
    information = site / f"{name.replace('-', '_')}-{version}.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (information / "entry_points.txt").write_text(entry_points)


# --- built-in rows -----------------------------------------------------------------------------------------------


def test_a_row_is_imported_when_it_is_used() -> None:
    table: Registry[object] = Registry("tools", {"path": "os:path", "join": "os:path.join"}, plugins=plugins_in())
    assert table.entries() == (
        Entry("tools", "path", "built-in", "os:path"),
        Entry("tools", "join", "built-in", "os:path.join"),
    )
    assert table["join"] is os.path.join
    assert [entry.loaded for entry in table.entries()] == [False, True]


def test_rows_keep_the_order_they_are_listed_in() -> None:
    table: Registry[object] = Registry(
        "tools", {"b": "os:path", "a": "os:sep", "c": "os:linesep"}, plugins=plugins_in()
    )
    assert (list(table), len(table), table.built_in) == (["b", "a", "c"], 3, ("b", "a", "c"))


def test_an_unknown_name_says_what_is_known_and_what_is_near() -> None:
    table: Registry[object] = Registry("dialects", {"gemini_cli": "os:sep", "codex": "os:sep"}, plugins=plugins_in())
    assert "gemni_cli" not in table
    with pytest.raises(ConfigError) as caught:
        table["gemni_cli"]
    assert str(caught.value) == (
        'there is no dialect "gemni_cli". Did you mean "gemini_cli"? There are gemini_cli, codex.'
    )


@pytest.mark.parametrize("target", ["", "os", "os:", ":sep"])
def test_a_target_without_a_module_or_an_attribute_is_a_wrong_definition(target: str) -> None:
    table: Registry[object] = Registry("tools", {"x": target}, plugins=plugins_in())
    with pytest.raises(DefinitionError, match="module:attribute"):
        table["x"]


def test_a_row_that_cannot_be_imported_is_a_wrong_definition_and_stays_listed() -> None:
    table: Registry[object] = Registry("tools", {"x": "no_such_module:x", "y": "os:nothing"}, plugins=plugins_in())
    for name in ("x", "y"):
        with pytest.raises(DefinitionError):
            table[name]
    assert [entry.broken for entry in table.entries()] == [
        "ModuleNotFoundError: No module named 'no_such_module'",
        "AttributeError: module 'os' has no attribute 'nothing'",
    ]


def test_a_missing_extra_reaches_the_caller_as_it_is(folder: Path) -> None:
    write(
        folder,
        "wants.py",
        "from dragoman.registry import need\nneed('mcp', 'MCP servers', 'no_such_module')\nTOOLS = {'wants': 1}\n",
    )
    table: Registry[object] = Registry("tools", plugins=plugins_in(folder))
    with pytest.raises(MissingExtra, match="needs the extra 'mcp'"):
        table["wants"]


# --- registered rows ---------------------------------------------------------------------------------------------


def test_a_thing_or_a_target_can_be_registered() -> None:
    table: Registry[object] = Registry("tools", {"a": "os:sep"}, plugins=plugins_in())
    thing = object()
    table.register("thing", thing, "this test")
    table.register("target", "os:linesep", "this test")
    assert (table["thing"], table["target"], list(table)) == (thing, os.linesep, ["a", "thing", "target"])
    assert table.built_in == ("a",)


def test_a_taken_name_cannot_be_registered() -> None:
    table: Registry[object] = Registry("tools", {"a": "os:sep"}, plugins=plugins_in())
    with pytest.raises(DefinitionError) as caught:
        table.register("a", object(), "this test")
    assert caught.value.problems == (
        'the name "a" is taken in tools by: built-in; give it a name of its own, such as "acme.a"',
    )
    assert table["a"] == os.sep


# --- plugin files ------------------------------------------------------------------------------------------------


def test_a_plugin_file_adds_what_it_declares(folder: Path) -> None:
    path = write(folder, "loud.py", SHOUT + 'DIALECTS: dict = {"acme": "words"}\n')
    plugins = plugins_in(folder)
    tools: Registry[Callable[[str], str]] = Registry("tools", {"path": "os:path"}, plugins=plugins)
    dialects: Registry[str] = Registry("dialects", plugins=plugins)
    assert tools["shout"]("a") == "A"
    assert dialects["acme"] == "words"
    assert tools.entries() == (
        Entry("tools", "path", "built-in", "os:path"),
        Entry("tools", "shout", str(path), "loud.py:TOOLS", loaded=True),
    )


def test_listing_runs_no_plugin(folder: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    write(folder, "a.py", f"open({str(marker)!r}, 'w').close()\nTOOLS = {{'a': 1}}\n")
    table: Registry[int] = Registry("tools", plugins=plugins_in(folder))
    assert [entry.name for entry in table.entries()] == list(table) == ["a"]
    assert "a" in table
    assert not marker.exists()
    assert table["a"] == 1
    assert marker.exists()


def test_a_built_in_name_is_found_without_a_look_at_plugins() -> None:
    def never() -> list[PluginFolder]:
        raise AssertionError("looked for plugins")

    table: Registry[object] = Registry("tools", {"path": "os:path"}, plugins=Plugins(never))
    assert "path" in table
    assert table["path"] is os.path


def test_type_hints_inside_a_plugin_file_can_be_resolved(folder: Path) -> None:
    write(
        folder,
        "typed.py",
        "from __future__ import annotations\nimport msgspec\n"
        "class Point(msgspec.Struct):\n    x: Other\nclass Other(msgspec.Struct):\n    y: int\n"
        "TOOLS = {'point': Point}\n",
    )
    import msgspec

    point = Registry[type[msgspec.Struct]]("tools", plugins=plugins_in(folder))["point"]
    assert msgspec.to_builtins(msgspec.convert({"x": {"y": 1}}, point)) == {"x": {"y": 1}}


@pytest.mark.parametrize(
    "source, reason",
    [
        ("def broken(:\n", "SyntaxError: invalid syntax (line 1)"),
        ("\0", "source code string cannot contain null bytes"),
        ("x = 1\n", "adds nothing: none of TOOLS, DIALECTS, APIS, FORMATS, PROVIDERS, SEARCH_BACKENDS is set in it"),
        ("TOOLS = dict(a=1)\n", "TOOLS must be one dict with literal text as names (line 1)"),
        ("TOOLS = {**{}}\n", "TOOLS must be one dict with literal text as names (line 1)"),
        ("TOOLS = {1: 2}\n", "TOOLS must be one dict with literal text as names (line 1)"),
        ("TOOLS = {'a': 1}\nTOOLS |= {'b': 2}\n", "TOOLS must be one dict with literal text as names (line 2)"),
        ("TOOLS = {'a': 1, 'a': 2}\n", "TOOLS has a name twice (line 1)"),
    ],
)
def test_a_file_that_cannot_be_read_is_listed_with_the_reason(folder: Path, source: str, reason: str) -> None:
    path = write(folder, "broken.py", source)
    write(folder, "good.py", SHOUT)
    plugins = plugins_in(folder)
    table: Registry[Callable[[str], str]] = Registry("tools", plugins=plugins)
    assert table["shout"]("a") == "A"
    (entry,) = plugins.broken_files()
    assert (entry.kind, entry.name, entry.origin) == (FILE, "broken", str(path))
    assert entry.broken is not None
    assert entry.broken.endswith(reason)


@pytest.mark.parametrize(
    "source, reason",
    [
        ("raise ValueError('no')", "ValueError: no"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("del TOOLS", "AttributeError: module '{module}' has no attribute 'TOOLS'"),
        ("TOOLS.clear()", "KeyError: 'a'"),
    ],
)
def test_a_file_that_fails_when_run_breaks_only_its_own_names(folder: Path, source: str, reason: str) -> None:
    write(folder, "bad.py", f"TOOLS = {{'a': 1}}\n{source}\n")
    write(folder, "good.py", SHOUT)
    table: Registry[Callable[[str], str]] = Registry("tools", plugins=plugins_in(folder))
    with pytest.raises(DefinitionError) as caught:
        table["a"]
    broken = table.entries()[0].broken
    assert broken == caught.value.problems[0]
    assert broken.partition("'")[0] == reason.partition("'")[0]
    assert table["shout"]("a") == "A"


def test_a_file_that_failed_leaves_no_half_module_behind(folder: Path) -> None:
    write(folder, "bad.py", "TOOLS = {'a': 1}\nraise ValueError\n")
    before = set(sys.modules)
    with pytest.raises(DefinitionError):
        Registry[int]("tools", plugins=plugins_in(folder))["a"]
    assert {name for name in set(sys.modules) - before if "plugin" in name} == set()


def test_files_that_are_not_plugins_are_passed_over(folder: Path) -> None:
    for name in ("_private.py", ".hidden.py", "notes.txt"):
        write(folder, name, SHOUT)
    (folder / "folder.py").mkdir()
    plugins = plugins_in(folder)
    assert (list(Registry("tools", plugins=plugins)), plugins.broken_files()) == ([], ())


def test_one_file_can_be_named_instead_of_a_folder(folder: Path) -> None:
    assert list(Registry("tools", plugins=plugins_in(write(folder, "loud.py", SHOUT)))) == ["shout"]


def test_a_named_folder_that_is_missing_is_listed_and_the_usual_one_may_be_missing(tmp_path: Path) -> None:
    named, usual = tmp_path / "named", PluginFolder(tmp_path / "usual", may_be_missing=True)
    assert plugins_in(named, usual).broken_files() == (
        Entry(FILE, "named", str(named), broken="there is no such file or folder"),
    )


def test_a_plugin_never_takes_the_name_of_a_built_in(folder: Path) -> None:
    path = write(folder, "sly.py", "TOOLS = {'path': 'mine', 'acme.path': 'named apart'}\n")
    table: Registry[object] = Registry("tools", {"path": "os:path"}, plugins=plugins_in(folder))
    assert table["path"] is os.path
    assert table["acme.path"] == "named apart"
    assert list(table) == ["path", "acme.path"]
    shadowed = [entry for entry in table.entries() if entry.broken]
    assert shadowed == [
        Entry(
            "tools",
            "path",
            str(path),
            "sly.py:TOOLS",
            broken='the name "path" is taken in tools by: built-in; give it a name of its own, such as "acme.path"',
        )
    ]


def test_a_plugin_never_calls_itself_as_a_built_in_does(folder: Path) -> None:
    write(folder, "sly.py", "from types import SimpleNamespace as S\nTOOLS = {'acme.path': S(name='path')}\n")
    table: Registry[object] = Registry("tools", {"path": "os:path"}, plugins=plugins_in(folder))
    with pytest.raises(DefinitionError, match="calls itself 'path', as a built-in does"):
        table["acme.path"]
    assert [name for name, _ in table.working()] == ["path"]


def test_of_two_plugins_with_one_name_the_first_keeps_it_and_the_other_is_listed(folder: Path) -> None:
    first, second = (write(folder, f"{name}.py", f"TOOLS = {{'x': '{name}'}}\n") for name in ("a", "b"))
    table: Registry[str] = Registry("tools", plugins=plugins_in(folder))
    assert table["x"] == "a"
    assert [(entry.origin, entry.broken is None) for entry in table.entries()] == [
        (str(first), True),
        (str(second), False),
    ]


def test_a_refused_folder_is_listed_file_by_file_and_nothing_of_it_is_used(folder: Path) -> None:
    path = write(folder, "loud.py", SHOUT)
    plugins = plugins_in(PluginFolder(folder, refused="not trusted"))
    assert list(Registry("tools", plugins=plugins)) == []
    assert plugins.broken_files() == (Entry(FILE, "loud", str(path), broken="not trusted"),)


def test_a_file_that_is_not_as_it_was_trusted_is_not_used(folder: Path) -> None:
    same = write(folder, "same.py", SHOUT)
    changed = write(folder, "changed.py", "TOOLS = {'a': 1}\n")
    added = write(folder, "new.py", "TOOLS = {'b': 1}\n")
    trusted = {same.name: digest(same.read_bytes()), changed.name: digest(b"TOOLS = {}")}
    plugins = plugins_in(PluginFolder(folder, digests=trusted))
    assert list(Registry("tools", plugins=plugins)) == ["shout"]
    reason = "changed since the project was trusted"
    assert plugins.broken_files() == (
        Entry(FILE, "changed", str(changed), broken=reason),
        Entry(FILE, "new", str(added), broken=reason),
    )


def test_what_was_checked_is_what_runs(folder: Path) -> None:
    path = write(folder, "swapped.py", "TOOLS = {'a': 'as checked'}\n")
    table: Registry[str] = Registry("tools", plugins=plugins_in(folder))
    assert "a" in table
    path.write_text("TOOLS = {'a': 'swapped'}\n")
    assert table["a"] == "as checked"


def test_plugins_are_looked_for_again_when_told_to(folder: Path) -> None:
    plugins = plugins_in(folder)
    table: Registry[object] = Registry("tools", plugins=plugins)
    assert list(table) == []
    write(folder, "loud.py", SHOUT)
    assert list(table) == []
    plugins.forget()
    assert list(table) == ["shout"]


def test_a_plugin_file_runs_once_however_many_threads_use_it(folder: Path, tmp_path: Path) -> None:
    record = tmp_path / "runs"
    body = f"with open({str(record)!r}, 'a') as file:\n    file.write('ran\\n')\n"
    long_enough_to_be_interrupted = "for _ in range(300_000):\n    pass\n"
    write(folder, "a.py", f"{body}{long_enough_to_be_interrupted}TOOLS = {{'a': object()}}\n")
    table: Registry[object] = Registry("tools", plugins=plugins_in(folder))
    start = threading.Barrier(8)
    seen: list[object] = []

    def use() -> None:
        start.wait()
        seen.append(table["a"])

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (record.read_text(), len(seen), len(set(map(id, seen)))) == ("ran\n", 8, 1)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_plugin_file_or_a_listed_problem(source: bytes) -> None:
    names, problems = registry._declared(source)
    assert names or problems


# --- packages ----------------------------------------------------------------------------------------------------


def test_an_installed_package_adds_names_by_entry_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acme_words.py").write_text("GREETING = 'hello'\n")
    install(tmp_path, "acme-words", "1.2", "[dragoman.tools]\nacme = acme_words:GREETING\npath = acme_words:GREETING\n")
    install(tmp_path, "zeta", "3", "[dragoman.tools]\nacme = zeta:OTHER\nalone = acme_words\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    table: Registry[object] = Registry("tools", {"path": "os:path"}, plugins=Plugins(list))
    assert "acme_words" not in sys.modules
    assert table["acme"] == "hello"
    with pytest.raises(DefinitionError, match="module:attribute"):
        table["alone"]
    ours = [entry for entry in table.entries() if "acme_words" in entry.target or "zeta" in entry.target]
    taken = 'the name "{0}" is taken in tools by: {1}; give it a name of its own, such as "acme.{0}"'
    assert ours == [
        Entry("tools", "acme", "package acme-words 1.2", "acme_words:GREETING", loaded=True),
        Entry("tools", "acme", "package zeta 3", "zeta:OTHER", broken=taken.format("acme", "package acme-words 1.2")),
        Entry("tools", "alone", "package zeta 3", "acme_words", broken=ours[2].broken),
        Entry(
            "tools", "path", "package acme-words 1.2", "acme_words:GREETING", broken=taken.format("path", "built-in")
        ),
    ]


# --- the tables --------------------------------------------------------------------------------------------------


def test_the_tables_are_called_as_the_dicts_in_a_plugin_file() -> None:
    assert {name: getattr(registry, name) for name in TABLES} == dict(TABLES)
    assert list(TABLES) == ["TOOLS", "DIALECTS", "APIS", "FORMATS", "PROVIDERS", "SEARCH_BACKENDS"]


@pytest.mark.parametrize("name", TABLES)
def test_every_listed_row_can_be_loaded(name: str) -> None:
    table = TABLES[name]
    assert [table[row] for row in table.built_in if table[row] is None] == []


# --- optional parts ----------------------------------------------------------------------------------------------


def test_a_missing_optional_part_names_its_extra() -> None:
    with pytest.raises(MissingExtra) as caught:
        need("mcp", "talking to MCP servers", "no_such_package.client")
    assert str(caught.value) == (
        "talking to MCP servers needs the extra 'mcp' (no_such_package is not installed): "
        + install_command(*packages_of("mcp"))
    )


def test_an_installed_optional_part_is_imported() -> None:
    assert need("mcp", "anything", "os.path") is os.path


def test_a_part_that_is_installed_and_broken_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half_installed.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        need("mcp", "anything", "half_installed")


def test_a_table_reads_like_a_mapping() -> None:
    from dragoman.registry import APIS

    assert APIS.keys() == tuple(APIS)
    assert [name for name, _ in APIS.items()] == list(APIS)
    assert list(APIS.values()) == [APIS[name] for name in APIS]
    assert APIS.get("openai_chat") is APIS["openai_chat"]
    assert APIS.get("no such API") is None
