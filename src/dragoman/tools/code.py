"""Searching and rewriting code by its syntax tree.

`$NAME` in a pattern stands for one node, `$$$NAME` for any number of them; a name used twice stands
for the same text, one that begins with "_" for anything. Files with syntax errors are searched as far
as they can be understood. What is not text, or larger than `LARGEST`, is passed over and counted.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from dragoman.errors import ToolError, nearest
from dragoman.model.operations import Edit, EditFile, RewriteCode, SearchCode
from dragoman.model.outcomes import ChangesOutcome, Match, MatchesOutcome

from .context import Context
from .definition import Tool
from .search import files_matching, located
from .workspace import globs
from .workspace.text import decode, encoded, printable

if TYPE_CHECKING:
    from .workspace.workspace import Workspace

LARGEST = 4 << 20
"""Bytes of the largest file that is looked at."""
TIMEOUT = 60.0
"""Seconds a search may take; a file that is being parsed is finished first."""

_LONGEST_PATTERN = 4000  # the parser's own stack bounds how deeply a pattern may nest
_LONGEST_TEXT = 20_000
_MOST_MATCHES = 100_000
_MOST_RENDERED = 64 << 20

LANGUAGES: dict[str, tuple[str, ...]] = {
    "bash": ("bash", "bats", "ksh", "sh", "zsh"),
    "c": ("c", "h"),
    "cpp": ("c++", "cc", "cpp", "cu", "cxx", "h", "hh", "hpp", "hxx", "ino"),
    "csharp": ("cs",),
    "css": ("css",),
    "dart": ("dart",),
    "elixir": ("ex", "exs"),
    "go": ("go",),
    "haskell": ("hs",),
    "hcl": ("hcl", "tf", "tfvars"),
    "html": ("htm", "html", "xhtml"),
    "java": ("java",),
    "javascript": ("cjs", "js", "jsx", "mjs"),
    "json": ("json",),
    "kotlin": ("kt", "ktm", "kts"),
    "lua": ("lua",),
    "nix": ("nix",),
    "php": ("php",),
    "python": ("bzl", "py", "pyi"),
    "ruby": ("gemspec", "rake", "rb"),
    "rust": ("rs",),
    "scala": ("sbt", "sc", "scala"),
    "solidity": ("sol",),
    "swift": ("swift",),
    "tsx": ("tsx",),
    "typescript": ("cts", "mts", "ts", "tsx"),
    "yaml": ("yaml", "yml"),
    "zig": ("zig",),
}
"""The languages there are grammars for, and the endings of their files."""

_OTHER_NAMES = {
    "c#": "csharp",
    "c++": "cpp",
    "ecmascript": "javascript",
    "golang": "go",
    "node": "javascript",
    "python3": "python",
    "shell": "bash",
    "terraform": "hcl",
    **{ending: name for name, endings in reversed(LANGUAGES.items()) for ending in endings},
}


def _language(name: str) -> str:
    known = name.strip().lower().removeprefix(".")
    if known not in LANGUAGES:
        known = _OTHER_NAMES.get(known, known)
    if known not in LANGUAGES:
        raise ToolError(
            f"there is no grammar for the language {name!r}; there are: {', '.join(LANGUAGES)}."
            + nearest(known, [*LANGUAGES, *_OTHER_NAMES]),
            kind="invalid_arguments",
            details={"language": name, "known": list(LANGUAGES)},
        )
    return known


def _grammar(language: str, path: str) -> str:
    """TypeScript with markup in it has a grammar of its own."""
    return "tsx" if language == "typescript" and path.endswith(".tsx") else language


# ── patterns ─────────────────────────────────────────────────────────────────

_VARIABLE = re.compile(r"(\$\$\$|\$\$?)([A-Z_][A-Z0-9_]*)(?![A-Za-z0-9_])")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")

Span = tuple[int, int]


class Place(NamedTuple):
    """Where a pattern matches, and where what its names stand for is; a name that stands for nothing has `None`."""

    start: int
    end: int
    captures: dict[str, Span | None]


class Pattern:
    """A pattern in one language, checked."""

    def __init__(self, source: str, language: str) -> None:
        if not source.strip():
            raise ToolError("the pattern is empty; write code to look for", kind="invalid_arguments")
        if "\0" in source or len(encoded(source)) > _LONGEST_PATTERN:
            raise ToolError(
                f"the pattern holds a NUL character or more than {_LONGEST_PATTERN:,} bytes", kind="invalid_arguments"
            )
        self.source, self.language = source, language
        self.names: dict[str, list[tuple[str, bool]]] = {}
        """Each name with the names it has where the pattern is asked for, and whether that is several nodes."""
        # The parser compares what a repeated name stands for by descending into it, as deep as it goes: its own
        # stack would overflow. So every use gets a name of its own, and the texts are compared.
        self.spelled = _VARIABLE.sub(self._spell, source)
        self.word = max(_WORD.findall(_VARIABLE.sub(" ", source)), key=len, default=None)
        """A word that every match holds."""
        for grammar in {_grammar(language, f"x.{ending}") for ending in LANGUAGES[language]}:
            self._nodes("", grammar)

    def _spell(self, variable: re.Match[str]) -> str:
        sign, name = variable.groups()
        if name.startswith("_"):
            return variable[0]
        uses = self.names.setdefault(name, [])
        own = f"{name}_{len(uses)}_" if uses else name
        while own != name and f"${own}" in self.source:
            own += "_"
        uses.append((own, sign == "$$$"))
        return sign + own

    def places(self, text: str, grammar: str, check: Callable[[], None]) -> list[Place]:
        """Where the pattern matches, by where it begins; of two that begin together the longer comes first.

        `check` is called on the way and may put an end to it.
        """
        found: dict[Span, Place] = {}
        for node in self._nodes(text, grammar):
            check()
            start, end = _span(node)
            captures: dict[str, Span | None] = {}
            for name, uses in self.names.items():
                spans = [_captured(node, own, several=several) for own, several in uses]
                if len(spans) > 1 and len({span and text[slice(*span)] for span in spans}) > 1:
                    break
                captures[name] = spans[0]
            else:
                found.setdefault((start, end), Place(start, end, captures))
        return sorted(found.values(), key=lambda place: (place.start, -place.end))

    def _nodes(self, text: str, grammar: str) -> Sequence[Any]:
        from ast_grep_py import SgRoot

        try:
            return SgRoot(text, grammar).root().find_all(pattern=self.spelled)
        except RuntimeError as error:
            raise self._refused(str(error)) from None
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # how the parser's own failures arrive
                raise
            raise ToolError(f"the {grammar} parser failed: {error}") from None

    def _refused(self, why: str) -> ToolError:
        # A list of causes, the last of which says it; a stack may follow.
        causes = re.findall(r"^\s*\d+: (.*)$", why.partition("Stack backtrace")[0], re.MULTILINE)
        reason = causes[-1].partition(" Please check the pattern source")[0] if causes else why
        return ToolError(
            f"the pattern {self.source!r} is not one piece of {self.language} code: {reason}"
            " Write a single expression, statement or definition.",
            kind="invalid_arguments",
            details={"pattern": self.source, "language": self.language},
        )

    def check_parsed(self) -> None:
        """Fail when the pattern itself has a syntax error: called when nothing matched, for that is then why."""
        from ast_grep_py import SgRoot

        plain = _VARIABLE.sub(r"\2", self.source).replace("$$$", "REST")
        trees = [SgRoot(spelled, self.language).root() for spelled in (plain, self.source)]
        if all(tree.find(kind="ERROR") is not None for tree in trees):
            raise ToolError(
                f"nothing matches: the pattern {self.source!r} has a syntax error as {self.language} code",
                kind="invalid_arguments",
                details={"pattern": self.source, "language": self.language},
            )


def _span(node: Any) -> Span:
    place = node.range()
    return place.start.index, place.end.index


def _captured(node: Any, name: str, *, several: bool) -> Span | None:
    if several:
        nodes = node.get_multiple_matches(name)
        return (_span(nodes[0])[0], _span(nodes[-1])[1]) if nodes else None
    one = node.get_match(name)
    return None if one is None else _span(one)


# ── files ────────────────────────────────────────────────────────────────────


class _Source(NamedTuple):
    """A file in which the pattern matches; `text` has "\\n" alone for line ends."""

    path: str
    text: str
    places: list[Place]


class _Scan:
    """The files an operation looks at, one by one in path order."""

    def __init__(self, operation: SearchCode | RewriteCode, context: Context) -> None:
        self.context = context
        self.end = time.monotonic() + TIMEOUT
        self.language = _language(operation.language)
        self.pattern = Pattern(operation.pattern, self.language)
        self.skipped = 0
        where, entry = located(context.workspace, operation.path)
        include = _included(operation.include)
        if entry.kind == "file":
            self.paths = [where]
            return
        endings = ",".join(LANGUAGES[self.language])
        found = files_matching(context, where, globs.compiled(f"**/*.{{{endings}}}"), self.pattern.word)
        start = 0 if where == "." else len(where) + 1
        self.paths = [path for path in found if include is None or include(path[start:])]

    def check(self) -> None:
        """Fail when it is no longer wanted, or took too long."""
        self.context.cancellation.raise_if_cancelled()
        if time.monotonic() >= self.end:
            raise ToolError(
                f"it took more than {TIMEOUT:g} seconds and was stopped; name a smaller folder, or an include",
                kind="timed_out",
            )

    def __iter__(self) -> Iterator[_Source]:
        found = False
        for path in self.paths:
            self.check()
            text = _text(self.context.workspace, path)
            if text is None:
                self.skipped += 1
                continue
            places = self.pattern.places(printable(text), _grammar(self.language, path), self.check)
            if places:
                found = True
                yield _Source(path, text, places)
        if not found:
            self.pattern.check_parsed()


def _included(include: str | None) -> Callable[[str], object] | None:
    if include is None:
        return None
    if not encoded(include).strip(b"/"):
        raise ToolError(f"include is {include!r}; leave it out to look at all files", kind="invalid_arguments")
    if include.startswith("!"):
        unwanted = globs.covering(include[1:]).full
        return lambda path: not unwanted.match(path)
    return globs.compiled(globs.anywhere(include)).full.match


def _text(workspace: Workspace, path: str) -> str | None:
    """The text of a file; `None` when it has none, is too large or cannot be read."""
    try:
        with workspace.open(path) as file:
            data = file.read(LARGEST + 1)
    except ToolError:
        return None
    decoded = decode(data) if len(data) <= LARGEST else None
    return None if decoded is None else decoded[0].replace("\r\n", "\n")


# ── searching ────────────────────────────────────────────────────────────────


def _search_code(operation: SearchCode, context: Context) -> MatchesOutcome:
    """Find every place in the code that a pattern matches, places inside one another too.

    `include` without "/" is a name at any depth, otherwise a path below `path`; a file named as the
    path is read as the language asked for, whatever its ending. With a `limit` the search stops when it is
    reached, and `total` and `files` are not known.
    """
    limit = operation.limit
    if limit is not None and limit < 0:
        raise ToolError(f"limit is {limit}; it must be at least 0", kind="invalid_arguments")
    most = _MOST_MATCHES if limit is None else min(limit, _MOST_MATCHES)
    scan = _Scan(operation, context)
    matches: list[Match] = []
    files = 0
    for source in scan:
        files += 1
        matches += _matches(source, most + 1 - len(matches))
        if len(matches) > most:
            return MatchesOutcome(tuple(matches[:most]), truncated=True, skipped=scan.skipped)
    return MatchesOutcome(tuple(matches), total=len(matches), files=files, skipped=scan.skipped)


def _matches(source: _Source, most: int) -> list[Match]:
    text = source.text
    starts = [0, *(end.end() for end in re.finditer("\n", text))]

    def match(place: Place) -> Match:
        line = bisect_right(starts, place.start)
        last = max(line, bisect_left(starts, place.end))
        captures = {name: _shown(text, span) if span else "" for name, span in place.captures.items()}
        column = place.start - starts[line - 1] + 1
        shown = _shown(text, (place.start, place.end))
        return Match(source.path, line, shown, (), (), column, last if last > line else None, None, captures)

    return [match(place) for place in source.places[:most]]


def _shown(text: str, span: Span) -> str:
    start, end = span
    if end - start <= _LONGEST_TEXT:
        return printable(text[start:end])
    return f"{printable(text[start : start + _LONGEST_TEXT])}… [{end - start - _LONGEST_TEXT:,} more characters]"


# ── rewriting ────────────────────────────────────────────────────────────────


def _rewrite_code(operation: RewriteCode, context: Context) -> ChangesOutcome:
    """Rewrite every place that a pattern matches, places inside what a name stands for too, in one transaction.

    A name in `rewrite` becomes what it stands for, separators included, its further lines indented as
    `rewrite` indents the name and the place it is written to; one that stands for nothing takes a comma
    beside it away. Encodings and line ends are kept (between changes in a file that mixes them, the more frequent);
    a file with bytes that are no text is passed over.
    """
    edits, counts, skipped = rewrites(operation, context)
    changes = zip(context.workspace.apply(edits, preview=operation.preview).changes, counts, strict=True)
    counted = tuple(msgspec.structs.replace(change, replacements=count) for change, count in changes)
    return ChangesOutcome(counted, operation.preview, skipped)


def rewrites(operation: RewriteCode, context: Context) -> tuple[list[EditFile], list[int], int]:
    """The edits that rewrite the code, how many places each changes, and how many files were passed over."""
    scan = _Scan(operation, context)
    template = Template(operation.rewrite, scan.pattern)
    edits: list[EditFile] = []
    counts: list[int] = []
    for source in scan:
        if printable(source.text) != source.text:
            scan.skipped += 1
            continue
        text = rewritten(source.text, source.places, template)
        if text != source.text:
            edits.append(EditFile(source.path, (Edit(source.text, text),)))
            counts.append(len(source.places))
    return edits, counts, scan.skipped


class Template:
    """What places are rewritten to: literal text and the names in it."""

    def __init__(self, rewrite: str, pattern: Pattern) -> None:
        encoded(rewrite)
        self.pieces: list[tuple[str, str | None, str]] = []
        """Literal text, the name after it (`None` after the last), and how the name's line is indented."""
        rewrite = rewrite.replace("\r\n", "\n")
        position = 0
        for variable in _VARIABLE.finditer(rewrite):
            name = variable[2]
            if name not in pattern.names:
                known = ", ".join(f"${each}" for each in pattern.names) or "none"
                raise ToolError(
                    f"the rewrite uses {variable[0]}, which the pattern does not name (it names: {known})."
                    + nearest(name, pattern.names),
                    kind="invalid_arguments",
                    details={"name": name, "known": list(pattern.names)},
                )
            own = _indentation(rewrite, variable.start())
            self.pieces.append((rewrite[position : variable.start()], name, own))
            position = variable.end()
        self.pieces.append((rewrite[position:], None, ""))

    def filled(self, place: Place, indentation: str, captured: Callable[[Span, str], str]) -> str:
        """The text for one place; `captured` gives what a span holds, its further lines indented by what it is told."""
        parts: list[str] = []
        comma_gone = False
        for literal, name, own in self.pieces:
            if comma_gone:
                literal = re.sub(r"\A\s*,\s*", "", literal)
            # No white space on empty lines, nor after the last.
            parts.append(re.sub(r"\n(?!\n)" if name else r"\n(?![\n]|\Z)", lambda _: f"\n{indentation}", literal))
            if name is None:
                break
            span = place.captures[name]
            text = captured(span, indentation + own) if span else ""
            comma_gone = False
            if not text:
                parts[-1], taken = re.subn(r"\s*,\s*\Z", "", parts[-1])
                comma_gone = not taken
            parts.append(text)
        return "".join(parts)


def rewritten(text: str, places: Sequence[Place], template: Template) -> str:
    """The text with all places rewritten, from the innermost out."""
    done: dict[Span, str] = {}
    room = _MOST_RENDERED
    starts = [place.start for place in places]

    def within(start: int, end: int, apart_from: Span | None = None) -> str:
        """What a span holds, with the outermost places in it rewritten."""
        parts: list[str] = []
        position = start
        number = bisect_left(starts, start)
        while number < len(places) and starts[number] < end:
            span = (place := places[number]).start, place.end
            number += 1
            if place.end <= end and span != apart_from:
                parts += (text[position : place.start], done[span])
                position = place.end
                number = bisect_left(starts, position, number)
        return "".join((*parts, text[position:end]))

    for place in sorted(places, key=lambda place: place.end - place.start):
        own = (place.start, place.end)

        def captured(span: Span, indentation: str, own: Span = own) -> str:
            return _indented(within(*span, own), _indentation(text, span[0]), indentation)

        done[own] = template.filled(place, _indentation(text, place.start), captured)
        room -= len(done[own])
        if room < 0:
            raise ToolError("the code to rewrite is nested too deeply, or the rewrite is too long")
    return within(0, len(text))


_WHITE = re.compile(r"[ \t]*")


def _indentation(text: str, position: int) -> str:
    """What the line that holds a position begins with, as far as the position."""
    white = _WHITE.match(text, text.rfind("\n", 0, position) + 1, position)
    return white[0] if white else ""


def _indented(text: str, was: str, wanted: str) -> str:
    """Lines after the first moved from one indentation to another; what is not indented so is left (a long string)."""
    if was == wanted or "\n" not in text:
        return text
    first, *others = text.split("\n")
    moved = [wanted + line[len(was) :] if line.strip() and line.startswith(was) else line for line in others]
    return "\n".join([first, *moved])


search_code = Tool.from_operation(SearchCode, _search_code, name="search_code", repeatable=True)
rewrite_code = Tool.from_operation(RewriteCode, _rewrite_code, name="rewrite_code")
