"""Searching a workspace: text in files, files by name, and what a folder holds.

Rules, the same for all three. Paths in outcomes are relative to the workspace's root (those of a
listing to the folder listed), with "/". Order is by path, name by name, so what a folder holds stands
where the folder does; equal trees give equal outcomes, with a limit too. Hidden files count like others;
the stores of version control (`.git`, …) do not, unless the path leads into them. Links are not followed.
Ignore files (`.gitignore`, `.ignore`, `.rgignore`) are obeyed from the root down; a file or folder
named as the path is searched even when they leave it out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from dragoman.errors import ToolError, nearest
from dragoman.model.operations import FindFiles, ListDirectory, SearchText
from dragoman.model.outcomes import DirectoryOutcome, Entry, Match, MatchesOutcome, PathsOutcome

from .context import Context
from .definition import Tool
from .processes.ripgrep import VERSION_CONTROL, Ripgrep
from .workspace import globs
from .workspace.inside import Inside
from .workspace.matches import Block, Form, Lines, Runs
from .workspace.open_directory import Folder
from .workspace.paths import is_reserved, not_a_directory, wrong_kind
from .workspace.text import encoded
from .workspace.tree import missing

if TYPE_CHECKING:
    from .workspace.workspace import Workspace

_HELD = 64 << 20  # bytes of ripgrep's output
_HELD_WITH_LIMIT = 16 << 20
_MOST_IN_ONE_FILE = 100_000
_OPENED = 200  # files at once; a process may often have no more than some hundred
_LARGEST_NUMBER = 2**31 - 1
_LONGEST_PATTERN = 100_000


# ── what is searched ─────────────────────────────────────────────────────────


class _Selection(NamedTuple):
    """The files a search looks at: where, ripgrep's arguments for it, and what has the last word on a path."""

    where: str
    arguments: list[str]
    rules: list[str]
    """Ignore rules of the folders above, weakest first."""
    accepts: Callable[[str], bool] | None
    """Given a path below `where`; `None` accepts all."""


def _selection(
    workspace: Workspace,
    where: str,
    *,
    include: globs.Glob | None = None,
    exclude: str | None = None,
    narrowed: bool = True,
    respect_ignore: bool | None,
) -> _Selection:
    """The files below `where`; `narrowed=False` when ripgrep must not be told the names of `include`."""
    arguments: list[str] = []
    rules: list[str] = []
    if respect_ignore is False:
        arguments.append("--no-ignore")
    else:
        rules = [rule.line for each in reversed(_rules_above(workspace, where)) for rule in each]
    left_out: globs.Glob | None = None
    if exclude is not None:
        left_out = globs.covering(exclude)
        above = "" if where == "." else globs.escaped(where) + "/"
        arguments.append(f"--glob=!/{above}{globs.anywhere(exclude)}")
    # A type narrows what ripgrep opens; unlike --glob it leaves the ignore rules in force.
    if include and narrowed and all(map(_PLAIN_NAME.fullmatch, include.names)):
        arguments += [f"--type-add=wanted:{name}" for name in include.names]
        arguments.append("--type=wanted")
        include = None if include.by_name else include
    return _Selection(where, arguments, rules, _accepting(include, left_out))


# ripgrep's "?" and classes take a byte where ours take a character, so only stars are left to it.
_PLAIN_NAME = re.compile(r"(?!\*\*)[A-Za-z0-9_.*+=~@-]+")


def _accepting(include: globs.Glob | None, exclude: globs.Glob | None) -> Callable[[str], bool] | None:
    if include is None and exclude is None:
        return None
    wanted, unwanted = include and include.full.match, exclude and exclude.full.match
    return lambda path: bool(wanted is None or wanted(path)) and not (unwanted and unwanted(path))


_Rules = tuple[tuple[globs.Rule, ...], ...]
"""The rules that hold in a folder: for each kind of ignore file, strongest first, its rules from the root down."""


def _rules_above(workspace: Workspace, where: str) -> _Rules:
    """The rules of the folders above `where`."""
    rules: _Rules = ((),) * len(globs.IGNORE_FILES)
    if where == ".":
        return rules
    names = where.split("/")
    for count in range(len(names)):
        rules = _with_rules_in(workspace, "/".join(names[:count]), rules)
    return rules


def _with_rules_in(workspace: Workspace, folder: str, rules: _Rules) -> _Rules:
    """What holds below a folder ("" is the root), given what holds above it."""
    return tuple(
        (*above, *globs.rules(_ignore_file(workspace, f"{folder}/{name}" if folder else name), folder))
        for name, above in zip(globs.IGNORE_FILES, rules, strict=True)
    )


def _ignore_file(workspace: Workspace, path: str) -> str:
    try:
        entry = workspace.entry(path)
        if entry is None or entry.kind != "file":
            return ""
        with workspace.open(path) as file:
            # Each rule takes some 100 microseconds to compile, and nobody writes more of them by hand.
            return file.read(100_000).decode(errors="replace")
    except ToolError:
        return ""  # a link that leads out, or a file that cannot be read: git has no rules from it either


def located(workspace: Workspace, path: str) -> tuple[str, Entry]:
    """The one spelling of a path, and the file or folder that stands there."""
    where = workspace.resolve(path)
    entry = workspace.entry(where)
    if entry is None:
        raise missing(workspace, path)
    if entry.kind not in ("file", "directory"):
        raise wrong_kind(path, entry.kind)
    return where, entry


def _folder(workspace: Workspace, path: str) -> str:
    where, entry = located(workspace, path)
    if entry.kind != "directory":
        raise not_a_directory(path)
    return where


def _number(value: int | None, name: str, least: int = 0) -> int | None:
    if value is None:
        return None
    if value < least:
        raise ToolError(f"{name} is {value}; it must be at least {least}", kind="invalid_arguments")
    return min(value, _LARGEST_NUMBER)


class _Ask(NamedTuple):
    """What ripgrep is run on, whatever it is asked."""

    folder: Folder
    inside: Inside
    context: Context
    selection: _Selection

    @classmethod
    @contextmanager
    def on(cls, context: Context, selection: _Selection) -> Iterator[_Ask]:
        with context.workspace.open_directory() as folder:
            yield cls(folder, Inside(folder), context, selection)

    def run(self, arguments: Sequence[str]) -> Ripgrep:
        return Ripgrep(self._words(arguments), self.folder, self.context, rules=self.selection.rules)

    def _words(self, arguments: Sequence[str]) -> list[str]:
        selection = self.selection
        target = "./" if selection.where == "." else f"./{selection.where}"
        return [*selection.arguments, *arguments, "--", target]

    def run_on(self, paths: Iterable[bytes], arguments: Sequence[str]) -> tuple[list[bytes], bool]:
        """What ripgrep writes about these files alone, given them opened, some at a time; whether that is all."""
        import tempfile

        outputs: list[bytes] = []
        waiting = sorted(paths, key=lambda path: path.translate(_SWAPPED))
        room = _HELD
        while waiting and room > 0:
            some, waiting = waiting[:_OPENED], waiting[_OPENED:]
            with self.inside.opened(some) as held, tempfile.TemporaryDirectory(prefix="dragoman-") as place:
                for path, descriptor in held.items():
                    link = os.path.join(os.fsencode(place), path)
                    os.makedirs(os.path.dirname(link), exist_ok=True)
                    os.symlink(f"/dev/fd/{descriptor}", link)
                if held:
                    words = self._words(["--follow", "--no-ignore", "--sort=path", *arguments])
                    folder = Folder.at(place, handles=False)
                    with Ripgrep(words, folder, self.context, files=held.values()) as run:
                        output, whole = run.beginning(room)
                    outputs.append(output)
                    room = room - len(output) if whole else 0
        return outputs, not waiting and room > 0

    def accepts(self, path: str) -> bool:
        """Whether a path from the root is one of those asked for."""
        if ".dragoman-" in path and is_reserved(path.rpartition("/")[2]):
            return False
        accepts, where = self.selection.accepts, self.selection.where
        return accepts is None or accepts(path if where == "." else path[len(where) + 1 :])

    def wanted(self, blocks: list[Block]) -> list[Block]:
        if self.selection.accepts is None:
            return [
                block for block in blocks if b".dragoman-" not in block.path or self.accepts(os.fsdecode(block.path))
            ]
        return [block for block in blocks if self.accepts(block.path.decode(errors="replace"))]


# Swapped, the byte that sorts first stands between the names of a path, and paths sort name by name.
_SWAPPED = bytes.maketrans(b"\0/", b"/\0")


def _paths(output: bytes, ask: _Ask, confirmed: Callable[[set[bytes]], set[bytes]]) -> list[str]:
    """The paths ripgrep wrote, each ended by NUL: those asked for, in order.

    `confirmed` tells which of those that are not sure to be inside are to be reported all the same.
    """
    swapped = output.translate(_SWAPPED).split(b"/")
    swapped.pop()
    swapped.sort()
    whole = b"/".join(swapped).translate(_SWAPPED)
    paths = [path[2:] for path in whole.decode(errors="replace").split("\0")]
    raw = whole.split(b"\0")
    if swapped and (unsure := ask.inside.unsure(raw)):
        sure = confirmed({path[2:] for path in unsure})
        paths = [path for path, one in zip(paths, raw, strict=True) if one not in unsure or one[2:] in sure]
        swapped = swapped if paths else []
    if ask.selection.accepts is None and b"/.dragoman-" not in output:
        return paths if swapped else []
    return [path for path in paths if path and ask.accepts(path)]


# ── text ─────────────────────────────────────────────────────────────────────


def _search_text(operation: SearchText, context: Context) -> MatchesOutcome:
    """Search file contents with ripgrep.

    Patterns are Rust regular expressions, or, when they are none (look-around, backreferences), those
    of PCRE2; they tell upper from lower case unless `case_sensitive=False`. A line ends with "\\n" or
    "\\r\\n", and `$` matches before either (in a pattern with `$`, a lone "\\r" ends a line too, unless
    the pattern names "\\r"). With `multiline`, `.`, `\\s` and negated classes match "\\r" and "\\n" one by
    one, and `\\n` matches "\\n" alone: `\\r?\\n` spans any line end. `include` and `exclude` without "/"
    are names at any depth, otherwise paths below `path`; `exclude` takes folders with all they hold; an
    `include` that begins with "!" excludes. A file named as the path is searched whatever they say. Files
    with a NUL byte are binary and passed over.

    A match is a line, or a run of lines with `multiline`, or each occurrence with `only_matching`. A
    line of context is told once: after the match before it, as far as `after` reaches, else before
    the next. `files` and `total` count everything found, also what `limit` and `offset` cut away;
    they are `None` where it was not counted: `total` when only files were asked for or
    `limit_per_file` cut some, both when there was more than can be held.
    """
    workspace = context.workspace
    limits = _Limits.of(operation)
    where, entry = located(workspace, operation.path)
    arguments = _pattern_arguments(operation, limits)
    if entry.kind == "file":
        selection = _Selection(where, [], [], None)
    else:
        selection = _text_selection(workspace, operation, where)
    form = (Runs if operation.multiline else Lines)(operation, where if entry.kind == "file" else None)
    with _Ask.on(context, selection) as ask:
        try:
            return _found(ask, arguments, operation.mode, form, limits)
        except ToolError as error:
            if operation.literal or not error.message.startswith("regex parse error"):
                raise _explained(error, ask) from None
            try:
                return _found(ask, [*arguments, "--pcre2"], operation.mode, form, limits)
            except ToolError as second:
                raise (error if second.kind == "invalid_arguments" else second) from None


class _Limits(NamedTuple):
    """How much is wanted."""

    limit: int | None
    offset: int
    per_file: int | None

    @property
    def kept(self) -> slice:
        return slice(self.offset, None if self.limit is None else self.offset + self.limit)

    @classmethod
    def of(cls, operation: SearchText) -> _Limits:
        _number(operation.before, "before")
        _number(operation.after, "after")
        return cls(
            _number(operation.limit, "limit"),
            _number(operation.offset, "offset") or 0,
            _number(operation.limit_per_file, "limit_per_file", least=1),
        )


def _pattern_arguments(operation: SearchText, limits: _Limits) -> list[str]:
    pattern = operation.pattern
    if "\0" in pattern or len(encoded(pattern)) > _LONGEST_PATTERN:
        raise ToolError(
            f"the pattern holds a NUL character or more than {_LONGEST_PATTERN:,} bytes", kind="invalid_arguments"
        )
    arguments = [f"--regexp={pattern}", "--with-filename"]
    if operation.case_sensitive is False:
        arguments.append("--ignore-case")
    if operation.literal:
        arguments.append("--fixed-strings")
    if operation.multiline:
        arguments += ["--multiline", "--multiline-dotall"]
    # With --crlf no pattern can match "\r" itself, so it is left out where the pattern names that character.
    if not operation.literal and "$" in pattern and "\r" not in pattern and r"\r" not in pattern:
        arguments.append("--crlf")
    if limits.per_file is not None:
        # One more than wanted tells whether anything was cut.
        arguments.append(f"--max-count={limits.per_file + 1}")
    return arguments


def _text_selection(workspace: Workspace, operation: SearchText, where: str) -> _Selection:
    include, exclude, file_type = operation.include, operation.exclude, operation.file_type
    if include is not None and include.startswith("!"):
        exclude = include[1:] if exclude is None else f"{{{include[1:]},{exclude}}}"
        include = None
    for name, value in (("include", include), ("exclude", exclude), ("file_type", file_type)):
        if value is not None and (not encoded(value).strip(b"/") or "\0" in value):
            raise ToolError(f"{name} is {value!r}; leave it out to search all files", kind="invalid_arguments")
    selection = _selection(
        workspace,
        where,
        include=globs.compiled(globs.anywhere(include)) if include is not None else None,
        exclude=exclude,
        narrowed=file_type is None,  # ripgrep would search what is of either type
        respect_ignore=operation.respect_ignore,
    )
    if file_type is not None:
        selection.arguments.append(f"--type={file_type}")
    return selection


def _explained(error: ToolError, ask: _Ask) -> ToolError:
    """An unknown file type with what was likely meant; any other failure as it is."""
    unknown = re.match(r"unrecognized file type: (.*)", error.message)
    if not unknown:
        return error
    asked = unknown[1]
    with Ripgrep(["--type-list"], ask.folder, ask.context) as run:
        types = dict(line.split(": ", 1) for line in run.output().decode().splitlines())
    holder = next((name for name, held in types.items() if f"*.{asked.removeprefix('.')}" in held.split(", ")), None)
    advice = f' Files of that ending are of type "{holder}".' if holder else nearest(asked, types)
    return ToolError(
        f"there is no file type {asked!r}.{advice}",
        kind="invalid_arguments",
        details={"file_type": asked, "known": list(types)},
    )


def _found(ask: _Ask, arguments: list[str], mode: str, form: Form, limits: _Limits) -> MatchesOutcome:
    match mode:
        case "files":
            return _files_found(ask, arguments, limits)
        case "count":
            return _counts_found(ask, arguments, limits)
    return _lines_found(ask, arguments, form, limits)


def _files_found(ask: _Ask, arguments: list[str], limits: _Limits) -> MatchesOutcome:
    asked = [*arguments, "--files-with-matches"]

    def confirmed(unsure: set[bytes]) -> set[bytes]:
        return {path[2:] for output in ask.run_on(unsure, asked)[0] for path in output.split(b"\0")}

    with ask.run(asked) as run:
        found = _paths(run.output(), ask, confirmed)
    shown = found[limits.kept]
    return MatchesOutcome(
        tuple(map(Match, shown)),
        "files",
        files=len(found),
        truncated=limits.offset + len(shown) < len(found),
        skipped=run.skipped,
    )


def _counts_found(ask: _Ask, arguments: list[str], limits: _Limits) -> MatchesOutcome:
    with ask.run([*arguments, "--count"]) as run:
        rows = _counts(run.output())
    if unsure := ask.inside.unsure(rows):
        outputs, _ = ask.run_on(unsure, [*arguments, "--count"])
        rows = {path: count for path, count in rows.items() if path not in unsure} | _counts(b"".join(outputs))
    counts = {
        path.decode(errors="replace"): int(rows[path])
        for path in sorted(rows, key=lambda path: path.translate(_SWAPPED))
    }
    found = [(path, count) for path, count in counts.items() if ask.accepts(path)]
    most = limits.per_file or _LARGEST_NUMBER
    whole = all(count <= most for _, count in found)
    shown = found[limits.kept]
    return MatchesOutcome(
        tuple(Match(path, count=min(count, most)) for path, count in shown),
        "count",
        total=sum(count for _, count in found) if whole else None,
        files=len(found),
        truncated=limits.offset + len(shown) < len(found) or not whole,
        skipped=run.skipped,
    )


def _counts(output: bytes) -> dict[bytes, bytes]:
    return dict(re.findall(rb"\./([^\0]*)\0(\d+)\r?\n", output))


def _lines_found(ask: _Ask, arguments: list[str], form: Form, limits: _Limits) -> MatchesOutcome:
    blocks, complete, skipped = _collected(ask, [*arguments, *form.arguments()], form, limits)
    most = limits.per_file or _LARGEST_NUMBER
    stop = _LARGEST_NUMBER if limits.limit is None else limits.offset + limits.limit
    matches: list[Match] = []
    seen, counted = 0, complete
    for block in blocks:
        count = block.count
        if count > most:
            count, counted = most, False
        if seen < stop and seen + count > limits.offset:
            matches += form.matches(block)[max(limits.offset - seen, 0) : min(count, stop - seen)]
        seen += count
    return MatchesOutcome(
        tuple(matches),
        "content",
        total=seen if counted else None,
        files=len(blocks) if complete else None,
        truncated=not counted or limits.offset + len(matches) < seen,
        skipped=skipped,
    )


def _collected(ask: _Ask, arguments: list[str], form: Form, limits: _Limits) -> tuple[list[Block], bool, int]:
    """Everything found, in order, or the first of it when it is too much to hold; whether it is all; what was skipped.

    ripgrep is fastest when it writes files as its threads finish them, so it does, and we sort. Only where its
    output is too large (or one file's, which it would hold in memory) is it asked again, in order, and stopped
    as soon as there is enough. The size of its output does not depend on its threads, so neither does ours.
    """
    capped = [] if limits.per_file is not None else [f"--max-count={_MOST_IN_ONE_FILE + 1}"]
    with ask.run([*arguments, *capped]) as run:
        output = run.output(_HELD if limits.limit is None else _HELD_WITH_LIMIT)
        if output is not None:
            blocks, complete = _inside(ask.wanted(form.blocks(output)), ask, [*arguments, *capped], form)
            if not capped or all(block.count <= _MOST_IN_ONE_FILE for block in blocks):
                blocks.sort(key=lambda block: block.path.translate(_SWAPPED))
                return blocks, complete, run.skipped
    with ask.run([*arguments, "--sort=path"]) as run:
        blocks, complete = _first(run, ask, form, None if limits.limit is None else limits.offset + limits.limit)
        blocks, checked = _inside(blocks, ask, arguments, form)
        return blocks, complete and checked, run.skipped


def _inside(blocks: list[Block], ask: _Ask, arguments: list[str], form: Form) -> tuple[list[Block], bool]:
    """What was found, files that are not sure to be inside searched again as open files; whether that is all of it."""
    unsure = ask.inside.unsure([block.path for block in blocks])
    if not unsure:
        return blocks, True
    outputs, whole = ask.run_on(unsure, arguments)
    again = {block.path: block for output in outputs for block in form.blocks(output)}
    checked = (again.get(block.path) if block.path in unsure else block for block in blocks)
    return [block for block in checked if block is not None], whole


def _first(run: Ripgrep, ask: _Ask, form: Form, enough: int | None) -> tuple[list[Block], bool]:
    """What a run in path order finds first: more than `enough`, or as much as can be held, or all of it; and which."""
    output = bytearray()
    looked_at = 1 << 20
    for chunk in run:
        output += chunk
        if len(output) < looked_at:
            continue
        looked_at *= 2
        whole = bytes(output[: output.rfind(b"\n", 0, _HELD) + 1])
        blocks = ask.wanted(form.blocks(whole))
        if len(output) >= _HELD or (enough is not None and sum(block.count for block in blocks) > enough):
            return blocks, False
    return ask.wanted(form.blocks(bytes(output))), True


# ── files ────────────────────────────────────────────────────────────────────


def _find_files(operation: FindFiles, context: Context) -> PathsOutcome:
    """Find files by a glob over their whole path below `path`: `*.py` is in that folder alone, `**/*.py` anywhere.

    Folders the pattern names before its first wildcard are taken as part of `path`, so it may be
    absolute; nothing is found when they do not exist. Upper and lower case are told apart unless
    `case_sensitive=False`. Regular files only; in path order; `total` is exact.
    """
    workspace = context.workspace
    limit = _number(operation.limit, "limit")
    encoded(operation.pattern)
    where = _folder(workspace, operation.path)
    case_sensitive = operation.case_sensitive is not False
    named, pattern = globs.split(operation.pattern)
    if not case_sensitive and not named.startswith("/") and ".." not in named.split("/"):
        named, pattern = "", operation.pattern
    glob = globs.compiled(pattern or ("**" if named else ""), case_sensitive=case_sensitive)
    if named:
        where = workspace.resolve(named if named.startswith("/") else f"{where}/{named}")
        entry = workspace.entry(where)
        if entry is None or entry.kind != "directory":
            return PathsOutcome((), total=0)
    selection = _selection(
        workspace, where, include=glob, narrowed=case_sensitive, respect_ignore=operation.respect_ignore
    )
    with _Ask.on(context, selection) as ask, ask.run(["--files"]) as run:
        found = _paths(run.output(), ask, ask.inside.files)
    return PathsOutcome(tuple(found[:limit]), len(found), truncated=limit is not None and limit < len(found))


def files_matching(context: Context, where: str, glob: globs.Glob, word: str | None = None) -> list[str]:
    """The files below a folder that match a glob, ignore files obeyed; with `word`, those that hold it in any case."""
    selection = _selection(context.workspace, where, include=glob, respect_ignore=True)
    asked = ["--files"] if word is None else ["--files-with-matches", "-F", "--ignore-case", f"--regexp={word}"]
    with _Ask.on(context, selection) as ask, ask.run(asked) as run:
        return _paths(run.output(), ask, ask.inside.files)


# ── folders ──────────────────────────────────────────────────────────────────


def _list_directory(operation: ListDirectory, context: Context) -> DirectoryOutcome:
    """List what a folder holds, `depth` levels down, in path order: a folder, then what is in it.

    Everything is listed but the stores of version control, unless `respect_ignore` asks to obey
    ignore files. `ignore` are globs: without "/" a name at any depth, otherwise a path below the
    folder. What was left out is counted in `ignored`, a folder as one. With a `limit` the upper
    levels come first. `truncated` says that the limit cut it, or that a folder below could not be read.

    With a `prefix`, only files are listed, at every level unless `depth` is given, and 1000 unless `limit` is given.
    """
    workspace = context.workspace
    limit = _number(operation.limit, "limit")
    depth = _number(operation.depth, "depth", least=1) or 1
    if operation.prefix is not None:
        encoded(operation.prefix)
        depth = depth if operation.depth is not None else _LARGEST_NUMBER
        limit = limit if limit is not None else _MOST_BY_PREFIX
    where = _folder(workspace, operation.path)
    for pattern in operation.ignore:
        if not encoded(pattern).strip(b"/"):
            raise ToolError(f"ignore holds {pattern!r}, which is no name", kind="invalid_arguments")
    rules = _rules_above(workspace, where) if operation.respect_ignore else None
    asked = [globs.rule(pattern) for pattern in operation.ignore]
    listing = _Listing(context, asked, depth, limit, operation.prefix)
    listing.walk(_Folder(where, "", 1, rules))
    return DirectoryOutcome(where, tuple(listing.in_order()), listing.truncated, listing.ignored)


_MOST_BY_PREFIX = 1000
"""Files that are listed by a prefix when no limit is given: a folder of packages holds very many."""


def _may_hold(folder: str, prefix: str) -> bool:
    """Whether paths in a folder can begin with a prefix."""
    return f"{folder}/".startswith(prefix) or prefix.startswith(f"{folder}/")


class _Folder(NamedTuple):
    """A folder to be listed: its path, its path below the one asked for, its level, and the rules that hold in it."""

    path: str
    below: str
    level: int
    rules: _Rules | None

    def child(self, name: str, shown: str) -> _Folder:
        return _Folder(name if self.path == "." else f"{self.path}/{name}", shown, self.level + 1, self.rules)


class _Listing:
    """A listing being made, level by level."""

    def __init__(
        self,
        context: Context,
        asked: Sequence[globs.Rule],
        depth: int,
        limit: int | None,
        prefix: str | None = None,
    ) -> None:
        self.context, self.asked, self.depth, self.prefix = context, asked, depth, prefix
        self.room = _LARGEST_NUMBER if limit is None else limit
        self.ignored = 0
        self.truncated = False
        self._held: dict[str, list[Entry]] = {}
        """What each folder holds, by its path below the one asked for."""

    def walk(self, top: _Folder) -> None:
        waiting = [top]
        for folder in waiting:
            self.context.cancellation.raise_if_cancelled()
            try:
                entries = self.context.workspace.entries(folder.path, below=f"{folder.below}/" if folder.below else "")
            except ToolError:
                if folder is top:
                    raise
                self.truncated = True
                continue
            waiting += self._hold(self._obeying(folder, entries), entries)
            if self.room < 0:
                return

    def _hold(self, folder: _Folder, entries: list[Entry]) -> list[_Folder]:
        """Take a folder's entries up; what is to be looked into next."""
        if not self.asked and not folder.rules and self.prefix is None:
            return self._hold_all(folder, entries)
        kept = self._held[folder.below] = []
        folders: list[_Folder] = []
        for entry in entries:
            shown = entry.path
            name = shown.rpartition("/")[2]
            is_folder = entry.kind == "directory"
            if name in VERSION_CONTROL or self._left_out(folder, name, shown, is_folder=is_folder):
                self.ignored += 1
                continue
            if self.prefix is not None:
                if is_folder and folder.level < self.depth and _may_hold(shown, self.prefix):
                    folders.append(folder.child(name, shown))
                if is_folder or not shown.startswith(self.prefix):
                    continue
            self.room -= 1
            if self.room < 0:
                self.truncated = True
                break
            kept.append(entry)
            if is_folder and folder.level < self.depth:
                folders.append(folder.child(name, shown))
        return folders

    def _hold_all(self, folder: _Folder, entries: list[Entry]) -> list[_Folder]:
        """A folder of which nothing but version control is left out, taken up at once: the usual case."""
        start = len(folder.below) + 1 if folder.below else 0
        wanted = [entry for entry in entries if entry.path[start:] not in VERSION_CONTROL]
        self.ignored += len(entries) - len(wanted)
        if len(wanted) > self.room:
            wanted, self.room, self.truncated = wanted[: self.room], -1, True
        else:
            self.room -= len(wanted)
        self._held[folder.below] = wanted
        if folder.level >= self.depth:
            return []
        return [folder.child(entry.path[start:], entry.path) for entry in wanted if entry.kind == "directory"]

    def _obeying(self, folder: _Folder, entries: Sequence[Entry]) -> _Folder:
        if folder.rules is None or not any(entry.path.rpartition("/")[2] in globs.IGNORE_FILES for entry in entries):
            return folder
        place = "" if folder.path == "." else folder.path
        return folder._replace(rules=_with_rules_in(self.context.workspace, place, folder.rules))

    def _left_out(self, folder: _Folder, name: str, shown: str, *, is_folder: bool) -> bool:
        if globs.decides(self.asked, shown, is_folder=is_folder):
            return True
        path = name if folder.path == "." else f"{folder.path}/{name}"
        decisions = (globs.decides(rules, path, is_folder=is_folder) for rules in folder.rules or ())
        return bool(next((decision for decision in decisions if decision is not None), False))

    def in_order(self) -> list[Entry]:
        """All that was taken up: a folder, then what it holds."""
        if self.prefix is not None:
            return sorted((entry for held in self._held.values() for entry in held), key=lambda entry: entry.path)
        ordered: list[Entry] = []
        waiting = [iter(self._held.pop(""))]
        while waiting:
            for entry in waiting[-1]:
                ordered.append(entry)
                if entry.kind == "directory" and entry.path in self._held:
                    waiting.append(iter(self._held[entry.path]))
                    break
            else:
                waiting.pop()
        return ordered


search_text = Tool.from_operation(SearchText, _search_text, name="search_text", repeatable=True)
find_files = Tool.from_operation(FindFiles, _find_files, name="find_files", repeatable=True)
list_directory = Tool.from_operation(ListDirectory, _list_directory, name="list_directory", repeatable=True)
