"""The tables that name everything: tools, dialects, APIs, log formats, providers and search backends.

A table is a list of names; what a name stands for is imported when it is first used. Names come from
- the rows below: `"name": "module:attribute"`, one line for one new file; a standard tool is named by its operation
  (`Operation.tool_module`);
- installed packages: entry points in the group `dragoman.<table>`, for example `dragoman.tools`;
- plugin files: Python, TOML and YAML files in `<config dir>/plugins`, in `plugins.folders` of the user's settings, and
  in `.dragoman/plugins` of a project the user trusts. A Python file says what it adds in module-level dicts with
  literal names, so that it can be listed without being run:

      TOOLS = {"shout": shout}
      DIALECTS = {"acme": DIALECT}

  The dicts are called as the tables are: TOOLS DIALECTS APIS FORMATS PROVIDERS SEARCH_BACKENDS. A TOML or YAML file is
  a dialect in data. A file whose name begins with `_` is passed over. Files do not see one another; what needs several
  files is a package.

Rule: a plugin breaks nothing but itself. One that cannot be read or imported is listed with the reason, and one that
takes a name already taken is not used at all: it should put its own name before it (`acme.shout`).
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec

from dragoman.errors import ConfigError, DefinitionError, DragomanError, MissingExtra, nearest

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from dragoman.config import PluginFolder

T = TypeVar("T")

BUILT_IN: Final = "built-in"
FILE: Final = "file"
"""The kind of an entry that is a plugin file as a whole: nothing in it could be read."""


class Entry(msgspec.Struct, frozen=True):
    """One row as it is listed: `broken` says why it cannot be used, as far as that is known without trying."""

    kind: str
    name: str
    origin: str
    target: str = ""
    loaded: bool = False
    broken: str | None = None


class _Row:
    """A name, and how to get what it stands for."""

    def __init__(self, name: str, target: str, origin: str, load: Callable[[], Any], broken: str | None = None) -> None:
        self.name, self.target, self.origin = name, target, origin
        self.broken = broken
        self.objection: Callable[[str, Any], str | None] = lambda *_: None
        """What the table says against what was loaded under this name."""
        self._load = load
        self._value: list[Any] = []

    @property
    def loaded(self) -> bool:
        return bool(self._value)

    def value(self) -> Any:
        # No lock: importing is safe from several threads, and loading twice gives the same object.
        if not self._value:
            try:
                value = self._load()
                objection = self.objection(self.name, value)
            except DragomanError as error:
                self.broken = str(error)
                raise
            except (Exception, SystemExit) as error:
                self.broken = _reason(error)
                raise DefinitionError(f'"{self.name}"', [self.broken], self.origin) from error
            self.broken = objection
            if objection is not None:
                raise DefinitionError(f'"{self.name}"', [objection], self.origin)
            self._value.append(value)
        return self._value[0]


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


class Registry(Generic[T]):
    """A table: `TABLE["name"]` imports and gives the thing; iterating gives the names and imports nothing.

    Names come in a fixed order: the rows as listed, then what was registered, then plugins sorted by name.
    """

    def __init__(
        self,
        kind: str,
        rows: Mapping[str, str] | str | None = None,
        *,
        plugins: Plugins | None = None,
        holds: Iterable[str] = (),
        own_names: bool = False,
    ) -> None:
        """`rows` may be the target of a mapping, which is imported when the table is first used.

        `holds` are targets of the types a plugin's thing must be of. With `own_names` it has its row's name; without,
        it may have another (`acme.shout` is a tool called `shout`), but not one of ours.
        """
        self.kind = kind
        self._holds, self._own_names = tuple(holds), own_names
        self._plugins = PLUGINS if plugins is None else plugins
        self._listed = rows or {}
        self._own: dict[str, _Row] | None = None
        self._lock = threading.RLock()

    @property
    def _rows(self) -> dict[str, _Row]:
        with self._lock:
            if self._own is None:
                listed = load_target(self._listed) if isinstance(self._listed, str) else self._listed
                self._own = {name: self._row(name, target, BUILT_IN) for name, target in listed.items()}
            return self._own

    @property
    def built_in(self) -> tuple[str, ...]:
        """The names this package itself lists: what its own laws hold for."""
        return tuple(name for name, row in tuple(self._rows.items()) if row.origin == BUILT_IN)

    def register(self, name: str, target: str | T, origin: str) -> None:
        """Adds one row: `"module:attribute"`, or the thing itself. A name that is taken is an error."""
        row = self._row(name, target, origin)
        with self._lock:
            taken = self._rows.get(name)
            if taken is not None:
                raise DefinitionError(f'"{name}"', [_taken(self.kind, name, taken.origin)], origin)
            self._rows[name] = row

    def _row(self, name: str, target: str | T, origin: str) -> _Row:
        if isinstance(target, str):
            return _Row(name, target, origin, lambda: load_target(target))
        row = _Row(name, "", origin, lambda: target)
        row.value()
        return row

    def __getitem__(self, name: str) -> T:
        row = None if self._own is None else self._own.get(name)
        if row is not None and row.loaded:  # asked for every file and record of a log
            loaded: T = row.value()
            return loaded
        row = self._rows.get(name) or self._usable().get(name)
        if row is None:
            singular = self.kind.removesuffix("s").replace("_", " ")
            known = f"There are {', '.join(self)}." if len(self) else "There are none yet."
            raise ConfigError(f'there is no {singular} "{name}".{nearest(str(name), self)} {known}')
        value: T = row.value()
        return value

    def get(self, name: str, default: T | None = None) -> T | None:
        """The thing of this name, or `default` when there is none of it."""
        return self[name] if name in self else default  # noqa: SIM401 - this is `get`

    def keys(self) -> tuple[str, ...]:
        """The names, in order; nothing is imported."""
        return tuple(self)

    def values(self) -> Iterator[T]:
        """The things, in order, each imported when it is reached."""
        return (self[name] for name in self)

    def items(self) -> Iterator[tuple[str, T]]:
        """Names and things, in order."""
        return ((name, self[name]) for name in self)

    def working(self) -> Iterator[tuple[str, T]]:
        """Names and things without the plugins that cannot be loaded: `entries` has the reasons."""
        for name in self:
            try:
                thing = self[name]
            except DragomanError:
                if name in self._rows:
                    raise
                continue
            yield name, thing

    def __contains__(self, name: object) -> bool:
        return name in self._rows or name in self._usable()

    def __iter__(self) -> Iterator[str]:
        return iter(self._usable())

    def __len__(self) -> int:
        return len(self._usable())

    def __repr__(self) -> str:
        return f"Registry({self.kind!r}, {list(self._rows)!r})"

    def _usable(self) -> dict[str, _Row]:
        return {row.name: row for row in self._all() if not isinstance(row, _Shadowed)}

    def _all(self) -> list[_Row]:
        own = dict(self._rows)
        taken = dict(own)
        plugins: list[_Row] = []
        for row in self._plugins.rows(self.kind):
            row.objection = self._objection
            if row.name in taken:
                plugins.append(_Shadowed(row, _taken(self.kind, row.name, taken[row.name].origin)))
            else:
                taken[row.name] = row
                plugins.append(row)
        return [*own.values(), *sorted(plugins, key=lambda row: row.name)]

    def _objection(self, name: str, value: Any) -> str | None:
        """What is wrong with a plugin's thing: else it would show where it is used, as somebody else's mistake."""
        if self._holds and not isinstance(value, tuple(load_target(target) for target in self._holds)):
            wanted = " or ".join(target.replace(":", ".") for target in self._holds)
            found = f"the class {value.__name__}" if isinstance(value, type) else f"of type {type(value).__name__}"
            return f"what it names must be of type {wanted}, and is {found}"
        called = getattr(value, "name", name)
        if self._own_names and called != name:
            return f"what it names calls itself {called!r}: both names must be the same"
        if called != name and called in self.built_in:
            return f"what it names calls itself {called!r}, as a built-in does: give it a name of its own"
        return None

    def entries(self) -> tuple[Entry, ...]:
        """Every row with its origin, those that cannot be used among them. Imports nothing."""
        return tuple(
            Entry(self.kind, row.name, row.origin, row.target, loaded=row.loaded, broken=row.broken)
            for row in self._all()
        )


class _Shadowed(_Row):
    """A plugin's row whose name was taken before it."""

    def __init__(self, row: _Row, reason: str) -> None:
        super().__init__(row.name, row.target, row.origin, row.value, broken=reason)


def _taken(kind: str, name: str, by: str) -> str:
    return f'the name "{name}" is taken in {kind} by: {by}; give it a name of its own, such as "acme.{name}"'


def load_target(target: str) -> Any:
    """What `module:attribute` names."""
    module, colon, attribute = target.partition(":")
    if not (module and colon and attribute):
        raise DefinitionError(f'"{target}"', ['a target is written "module:attribute"'])
    value: Any = importlib.import_module(module)
    for part in attribute.split("."):
        value = getattr(value, part)
    return value


def need(extra: str, purpose: str, module: str, *, package: str | None = None) -> ModuleType:
    """Imports a module of an optional part; when it is not installed, says which extra or `package` brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # Only the module itself: one that is installed and broken must not be told to be installed.
        if error.name is not None and f"{module}.".startswith(f"{error.name}."):
            raise MissingExtra(extra, purpose, error.name, package=package) from error
        raise


# --- plugins -----------------------------------------------------------------------------------------------------


class _PluginFile:
    """One Python file of a plugin folder: its names are read from its text, it runs when one of them is used."""

    def __init__(self, path: Path, source: bytes) -> None:
        self.path = path
        self._source = source  # what was checked is what runs, whatever happens to the file meanwhile
        self._lock = threading.RLock()
        self._module: ModuleType | None = None
        self.names, self.problems = _declared(source)

    def rows(self, kind: str) -> Iterator[_Row]:
        table = kind.upper()
        for name in self.names.get(table, ()):
            yield _Row(name, f"{self.path.name}:{table}", str(self.path), self._loader(table, name))

    def _loader(self, table: str, name: str) -> Callable[[], Any]:
        return lambda: getattr(self._run(), table)[name]

    def _run(self) -> ModuleType:
        with self._lock:
            if self._module is None:
                self._module = run_file(self.path, self._source)
            return self._module


class _DataFile:
    """One TOML or YAML file of a plugin folder: a dialect, built when it is used. Nothing in it is ever run."""

    def __init__(self, path: Path, source: bytes) -> None:
        self.path = path
        self._source = source
        self._name: str | None = None
        self.problems: list[str] = []
        try:
            self._name = load_target("dragoman.dialects.plugins.from_data:declared_name")(path, source)
        except DefinitionError as error:
            self.problems = list(error.problems)

    def rows(self, kind: str) -> Iterator[_Row]:
        if kind == "dialects" and self._name is not None:
            yield _Row(self._name, self.path.name, str(self.path), self._build)

    def _build(self) -> Any:
        return load_target("dragoman.dialects.plugins.from_data:from_source")(self.path, self._source)


def run_file(path: Path, source: bytes) -> ModuleType:
    """Runs the source of a Python file as a module of its own, which no other file sees."""
    import hashlib
    from importlib.util import module_from_spec, spec_from_file_location

    name = f"dragoman_plugin_{path.stem}_{hashlib.sha256(os.fsencode(path)).hexdigest()[:12]}"
    spec = spec_from_file_location(name, path)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[name] = module  # type hints in the file are resolved through it
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _declared(source: bytes) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """The tables a file fills and the names in them, read from its text; and what is wrong with that."""
    import ast

    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        line = f" (line {error.lineno})" if error.lineno else ""
        return {}, [f"SyntaxError: {error.msg}{line}"]
    except (ValueError, RecursionError, MemoryError) as error:
        return {}, [_reason(error)]
    names: dict[str, tuple[str, ...]] = {}
    problems = []
    for node in tree.body:
        table = _table_assigned(node)
        if table is None:
            continue
        keys = _literal_names(node)
        if keys is None or table in names:
            problems.append(f"{table} must be one dict with literal text as names (line {node.lineno})")
        elif len(set(keys)) < len(keys):
            problems.append(f"{table} has a name twice (line {node.lineno})")
        else:
            names[table] = keys
    if not names and not problems:
        problems.append(f"adds nothing: none of {', '.join(TABLES)} is set in it")
    return names, problems


def _table_assigned(node: Any) -> str | None:
    import ast

    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    named = [target.id for target in targets if isinstance(target, ast.Name) and target.id in TABLES]
    return named[0] if named else None


def _literal_names(node: Any) -> tuple[str, ...] | None:
    import ast

    value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
    if not isinstance(value, ast.Dict):
        return None
    names = [key.value for key in value.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    return tuple(names) if len(names) == len(value.keys) else None


class Plugins:
    """Where rows come from besides the tables themselves. Looked through once, when a name is not built in."""

    def __init__(self, folders: Callable[[], Iterable[PluginFolder]] | None = None, *, packages: bool = True) -> None:
        self._folders = _configured_folders if folders is None else folders
        self._packages = packages
        self._lock = threading.RLock()
        self._files: list[_PluginFile | _DataFile] | None = None
        self._broken: list[Entry] = []
        self._rows: dict[str, list[_Row]] = {}

    def rows(self, kind: str) -> list[_Row]:
        with self._lock:
            if kind not in self._rows:
                packaged = _packaged_rows(kind) if self._packages else []
                self._rows[kind] = [*packaged, *(row for file in self._read_files() for row in file.rows(kind))]
            return self._rows[kind]

    def broken_files(self) -> tuple[Entry, ...]:
        """Plugin files and folders that could not be read, with the reason."""
        with self._lock:
            self._read_files()
            return tuple(self._broken)

    def forget(self) -> None:
        """Looks again at the next question: after the configuration or a file changed."""
        with self._lock:
            self._files, self._broken, self._rows = None, [], {}

    def _read_files(self) -> list[_PluginFile | _DataFile]:
        if self._files is None:
            folders = list(self._folders())
            self._files = []
            for folder in folders:
                for path in _plugin_files(folder, self._refuse):
                    self._read_file(path, folder)
        return self._files

    def _read_file(self, path: Path, folder: PluginFolder) -> None:
        from dragoman.config import DATA_SUFFIXES, digest

        if folder.refused is not None:
            self._refuse(path, folder.refused)
            return
        try:
            source = path.read_bytes()
        except OSError as error:
            self._refuse(path, f"cannot be read ({error.strerror})")
            return
        if folder.digests is not None and folder.digests.get(path.name) != digest(source):
            self._refuse(path, "changed since the project was trusted")
            return
        file = _DataFile(path, source) if path.suffix in DATA_SUFFIXES else _PluginFile(path, source)
        for problem in file.problems:
            self._refuse(path, problem)
        assert self._files is not None
        self._files.append(file)

    def _refuse(self, path: Path, reason: str) -> None:
        self._broken.append(Entry(FILE, path.stem, str(path), broken=reason))


def _configured_folders() -> Iterable[PluginFolder]:
    from dragoman.config import current

    return current().plugin_folders


def _plugin_files(folder: PluginFolder, refuse: Callable[[Path, str], None]) -> list[Path]:
    from dragoman.config import plugin_files

    path = folder.path
    try:
        if path.is_file():
            return [path]
        if path.is_dir():
            return plugin_files(path)
    except OSError as error:
        refuse(path, f"cannot be read ({error.strerror})")
        return []
    if not folder.may_be_missing:
        refuse(path, "there is no such file or folder")
    return []


def _packaged_rows(kind: str) -> list[_Row]:
    if not _has_packaged_rows():
        return []
    from importlib.metadata import entry_points  # slow to import, and to ask

    found = entry_points(group=f"dragoman.{kind}")
    rows = [(point.name, _distribution(point), point.value.partition("[")[0].strip()) for point in found]
    return [
        _Row(name, target, f"package {package}", lambda target=target: load_target(target))  # type: ignore[misc]
        for name, package, target in sorted(set(rows))
    ]


def _has_packaged_rows() -> bool:
    """Whether an installed package may name rows of ours.

    Seen by a look at the very files: to ask for the entry points of every package takes longer than most commands do.
    """
    if any(hasattr(finder, "find_distributions") and finder is not PathFinder for finder in sys.meta_path):
        return True
    return any(map(_may_name_rows, sys.path))


def _may_name_rows(folder: str) -> bool:
    if not os.path.isdir(folder or "."):
        return os.path.exists(folder)  # an archive, which is not looked into here
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return False
    for name in names:
        if name.endswith((".dist-info", ".egg-info")) or name == "EGG-INFO":
            with suppress(OSError), open(os.path.join(folder, name, "entry_points.txt"), "rb") as file:
                if b"[dragoman." in file.read():
                    return True
    return False


def _distribution(point: Any) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "of unknown name"


PLUGINS: Final = Plugins()

# --- the tables: one line for one new file -----------------------------------------------------------------------

TOOLS: Final[Registry[Any]] = Registry(
    "tools",
    "dragoman.model.operations:STANDARD_TOOLS",
    holds=("dragoman.tools:Tool", "dragoman.tools:ProviderTool"),
)

DIALECTS: Final[Registry[Any]] = Registry(
    "dialects",
    {
        "claude_code": "dragoman.dialects.claude_code:DIALECT",
        "codex": "dragoman.dialects.codex:DIALECT",
        "gemini_cli": "dragoman.dialects.gemini_cli:DIALECT",
        "opencode": "dragoman.dialects.opencode:DIALECT",
        "qwen_code": "dragoman.dialects.qwen_code:DIALECT",
        "copilot": "dragoman.dialects.copilot:DIALECT",
        "pi": "dragoman.dialects.pi:DIALECT",
        "mistral_vibe": "dragoman.dialects.mistral_vibe:DIALECT",
        "openhands": "dragoman.dialects.openhands:DIALECT",
        "cline": "dragoman.dialects.cline:DIALECT",
        "continue": "dragoman.dialects.continue_:DIALECT",
        "droid": "dragoman.dialects.droid:DIALECT",
        "goose": "dragoman.dialects.goose:DIALECT",
        "kilo": "dragoman.dialects.kilo:DIALECT",
        "kimi_code": "dragoman.dialects.kimi_code:DIALECT",
        "aider": "dragoman.dialects.aider:DIALECT",
        "amp": "dragoman.dialects.amp:DIALECT",
        "cursor": "dragoman.dialects.cursor:DIALECT",
        "roo_code": "dragoman.dialects.roo_code:DIALECT",
        "swe_agent": "dragoman.dialects.swe_agent:DIALECT",
        "inspect_ai": "dragoman.dialects.inspect_ai:DIALECT",
        "zai": "dragoman.dialects.zai:DIALECT",
        "anthropic": "dragoman.dialects.anthropic:DIALECT",
        "openai": "dragoman.dialects.openai:DIALECT",
        "google": "dragoman.dialects.google:DIALECT",
        "plain": "dragoman.dialects.plain:DIALECT",
    },
    holds=("dragoman.dialects:Dialect",),
    own_names=True,
)

APIS: Final[Registry[Any]] = Registry(
    "apis",
    {
        "openai_chat": "dragoman.apis.openai_chat:API",
        "openai_responses": "dragoman.apis.openai_responses:API",
        "anthropic_messages": "dragoman.apis.anthropic_messages:API",
        "gemini_generate": "dragoman.apis.gemini_generate:API",
    },
    holds=("dragoman.apis:Api",),
    own_names=True,
)

FORMATS: Final[Registry[Any]] = Registry(
    "formats",
    {
        "aider": "dragoman.logs.formats.aider:FORMAT",
        "amp": "dragoman.logs.formats.amp:FORMAT",
        "atif": "dragoman.logs.formats.atif:FORMAT",
        "claude_code": "dragoman.logs.formats.claude_code:FORMAT",
        "cline": "dragoman.logs.formats.cline:FORMAT",
        "codex": "dragoman.logs.formats.codex:FORMAT",
        "continue": "dragoman.logs.formats.continue_:FORMAT",
        "copilot": "dragoman.logs.formats.copilot:FORMAT",
        "cursor": "dragoman.logs.formats.cursor:FORMAT",
        "dragoman": "dragoman.logs.formats.dragoman:FORMAT",
        "droid": "dragoman.logs.formats.droid:FORMAT",
        "gemini_cli": "dragoman.logs.formats.gemini_cli:FORMAT",
        "goose": "dragoman.logs.formats.goose:FORMAT",
        "inspect_ai": "dragoman.logs.formats.inspect_ai:FORMAT",
        "kilo": "dragoman.logs.formats.kilo:FORMAT",
        "kimi_code": "dragoman.logs.formats.kimi_code:FORMAT",
        "mini_swe_agent": "dragoman.logs.formats.mini_swe_agent:FORMAT",
        "mistral_vibe": "dragoman.logs.formats.mistral_vibe:FORMAT",
        "opencode": "dragoman.logs.formats.opencode:FORMAT",
        "openhands": "dragoman.logs.formats.openhands:FORMAT",
        "pi": "dragoman.logs.formats.pi:FORMAT",
        "qwen_code": "dragoman.logs.formats.qwen_code:FORMAT",
        "roo_code": "dragoman.logs.formats.roo_code:FORMAT",
        "swe_agent": "dragoman.logs.formats.swe_agent:FORMAT",
        "vscode_chat": "dragoman.logs.formats.vscode_chat:FORMAT",
    },
    holds=("dragoman.logs:LogFormat",),
    own_names=True,
)

PROVIDERS: Final[Registry[Any]] = Registry(
    "providers",
    {
        "openai": "dragoman.engine.models.providers:openai",
        "openai-chat": "dragoman.engine.models.providers:openai_chat",
        "anthropic": "dragoman.engine.models.providers:anthropic",
        "gemini": "dragoman.engine.models.providers:gemini",
        "azure": "dragoman.engine.models.providers:azure",
        "openrouter": "dragoman.engine.models.providers:openrouter",
        "groq": "dragoman.engine.models.providers:groq",
        "deepseek": "dragoman.engine.models.providers:deepseek",
        "mistral": "dragoman.engine.models.providers:mistral",
        "xai": "dragoman.engine.models.providers:xai",
        "together": "dragoman.engine.models.providers:together",
        "fireworks": "dragoman.engine.models.providers:fireworks",
        "cerebras": "dragoman.engine.models.providers:cerebras",
        "perplexity": "dragoman.engine.models.providers:perplexity",
        "moonshot": "dragoman.engine.models.providers:moonshot",
        "zai": "dragoman.engine.models.providers:zai",
        "alibaba": "dragoman.engine.models.providers:alibaba",
        "huggingface": "dragoman.engine.models.providers:huggingface",
        "nvidia": "dragoman.engine.models.providers:nvidia",
        "ollama": "dragoman.engine.models.providers:ollama",
        "llamacpp": "dragoman.engine.models.providers:llamacpp",
        "vllm": "dragoman.engine.models.providers:vllm",
        "lmstudio": "dragoman.engine.models.providers:lmstudio",
        "local": "dragoman.engine.models.providers:local",
        "local-free": "dragoman.engine.models.providers:local_free",
    },
    holds=("dragoman.engine.models:Provider",),
)

SEARCH_BACKENDS: Final[Registry[Any]] = Registry(
    "search_backends",
    {
        "searxng": "dragoman.tools.web.search_backends:SearxngSearch",
        "browser": "dragoman.tools.web.search_backends:BrowserSearch",
    },
    holds=("collections.abc:Callable",),
)

TABLES: Final[Mapping[str, Registry[Any]]] = {
    table.kind.upper(): table for table in (TOOLS, DIALECTS, APIS, FORMATS, PROVIDERS, SEARCH_BACKENDS)
}


def entries() -> tuple[Entry, ...]:
    """Every row of every table, then the plugin files that could not be read. Imports nothing."""
    rows = tuple(entry for table in TABLES.values() for entry in table.entries())
    return (*rows, *PLUGINS.broken_files())
