"""Programs that read, search, list or write files, and what their options say of that.

Rule: an option that is not known, or a word that is computed, gives nothing at all.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from dragoman.model import operations as op

from .patch_text import PatchError, read_patch
from .shell_commands import replacement_in
from .shell_line import Stage, Word, program_of


class Place:
    """Where a command line is: the folder it went to, or lost if that is unknown."""

    def __init__(self, directory: str | None) -> None:
        self.directory = directory or ""
        self.lost = False

    def path(self, name: str) -> str | None:
        """A name as seen from where the command line began."""
        if name.startswith("/"):
            return name
        return None if self.lost else posixpath.join(self.directory, name)

    def here(self) -> str | None:
        """The folder itself."""
        return None if self.lost else self.directory or "."


# ── options ──────────────────────────────────────────────────────────────────


class _Options(NamedTuple):
    """A program's options, by letter or long name, and its other words."""

    given: dict[str, list[str]]
    operands: list[str]

    def has(self, *names: str) -> bool:
        return any(name in self.given for name in names)

    def last(self, *names: str) -> str | None:
        values = [value for name in names for value in self.given.get(name, ())]
        return values[-1] if values else None

    def number(self, *names: str) -> int | None:
        value = self.last(*names)
        return int(value) if value is not None and value.isdecimal() else None

    def odd(self, *names: str) -> bool:
        """Whether one of these has a value that is no number."""
        return any(not value.isdecimal() for name in names for value in self.given.get(name, ()))


def options_of(
    words: Sequence[Word],
    *,
    flags: str = "",
    valued: str = "",
    long_flags: Sequence[str] = (),
    long_valued: Sequence[str] = (),
    skip: int = 1,
) -> _Options | None:
    """The options and other words of a command, or `None` when one of them is computed or not known."""
    given: dict[str, list[str]] = {}
    operands: list[str] = []
    rest = list(words[skip:])
    if None in rest:
        return None
    texts = [word for word in rest if word is not None]
    while texts:
        word = texts.pop(0)
        if word == "--":
            return _Options(given, operands + texts)
        if word.startswith("--"):
            name, mark, value = word[2:].partition("=")
            if name in long_valued and (mark or texts):
                given.setdefault(name, []).append(value if mark else texts.pop(0))
            elif name in long_flags:
                given.setdefault(name, []).append(value)
            else:
                return None
        elif word.startswith("-") and len(word) > 1:
            letters = word[1:]
            while letters:
                letter, letters = letters[0], letters[1:]
                if letter in valued and (letters or texts):
                    given.setdefault(letter, []).append(letters or texts.pop(0))
                    letters = ""
                elif letter in flags:
                    given.setdefault(letter, []).append("")
                else:
                    return None
        else:
            operands.append(word)
    return _Options(given, operands)


# ── reading ──────────────────────────────────────────────────────────────────

Reader = Callable[[Place, Stage], list[op.Operation]]
_TextOption = Mapping[str, Any]

_CAT: _TextOption = {"flags": "AbeEnstTuv", "long_flags": ("number", "show-all", "number-nonblank", "squeeze-blank")}
_PAGER: _TextOption = {"flags": "NRSXFeirn", "long_flags": ("no-pager",)}
_NUMBERED: _TextOption = {"flags": "p", "valued": "bfhilnsvwd", "long_valued": ("body-numbering",)}
_BAT: _TextOption = {
    "flags": "pnAuPf",
    "valued": "rl",
    "long_flags": ("plain", "number", "no-pager"),
    "long_valued": ("line-range", "language", "style", "color", "paging", "theme", "decorations"),
}


def _files(place: Place, names: Sequence[str], first: int | None = None, last: int | None = None) -> list[op.Operation]:
    paths = [place.path(name) for name in names if name != "-"]
    return [op.ReadFile(path, first, last) for path in paths if path is not None]


def _reading(declared: _TextOption) -> Reader:
    def read(place: Place, stage: Stage) -> list[op.Operation]:
        options = options_of(stage.words, **declared)
        if options is None:
            return []
        names = options.operands or [
            one.target for one in stage.redirects if one.operator == "<" and one.target is not None
        ]
        return _files(place, names)

    return read


def _bat(place: Place, stage: Stage) -> list[op.Operation]:
    options = options_of(stage.words, **_BAT)
    if options is None:
        return []
    span = options.last("r", "line-range")
    found = re.fullmatch(r"(\d*):(\d*)", span) if span is not None else None
    if span is not None and found is None:
        return []
    first, last = (int(found[1]) if found[1] else None, int(found[2]) if found[2] else None) if found else (None, None)
    return _files(place, options.operands, first, last)


def _count(stage: Stage) -> tuple[str | None, list[str]] | None:
    """The count of `head` and `tail`, signs and all, and the files; `None` when it is not in lines."""
    words = [f"-n{word[1:]}" if word and re.fullmatch(r"-\d+", word) else word for word in stage.words]
    options = options_of(words, flags="qvfF", valued="n", long_flags=("quiet", "follow"), long_valued=("lines",))
    return None if options is None else (options.last("n", "lines"), options.operands)


def _head(place: Place, stage: Stage) -> list[op.Operation]:
    counted = _count(stage)
    if counted is None:
        return []
    count, names = counted
    if count is not None and not count.isdecimal():
        return []
    return _files(place, names, 1, 10 if count is None else int(count))


def _tail(place: Place, stage: Stage) -> list[op.Operation]:
    counted = _count(stage)
    if counted is None:
        return []
    count, names = counted
    # The last lines of a file have no numbers as long as nobody counted them.
    return _files(place, names, int(count[1:]) if count and re.fullmatch(r"\+\d+", count) else None)


def _ranges(stage: Stage) -> tuple[list[tuple[int, int | None]], list[str]] | None:
    """The lines `sed -n '5,9p'` prints and the files it prints them of."""
    options = options_of(stage.words, flags="nEru", valued="e", long_flags=("quiet", "silent"))
    if options is None or not options.has("n", "quiet", "silent"):
        return None
    scripts, names = options.given.get("e", []), options.operands
    if not scripts:
        scripts, names = names[:1], names[1:]
    found: list[tuple[int, int | None]] = []
    for part in ";".join(scripts).replace("\n", ";").split(";"):
        lines = re.fullmatch(r"\s*(\d+)(?:,\s*(\d+|\$))?\s*p\s*", part)
        if lines is None:
            return None
        first = int(lines[1])
        found.append((first, first if lines[2] is None else None if lines[2] == "$" else int(lines[2])))
    return found, names


def _sed(place: Place, stage: Stage) -> list[op.Operation]:
    read = _ranges(stage)
    if read is None:
        return []
    return [one for first, last in read[0] for one in _files(place, read[1], first, last)]


def narrowed(operation: op.Operation, stage: Stage) -> op.Operation:
    """A whole file that is shown through `sed -n`, `head` or `tail -n +5` is shown in part."""
    if not isinstance(operation, op.ReadFile) or operation.first_line is not None or operation.last_line is not None:
        return operation
    program = program_of(stage)
    if program == "sed":
        read = _ranges(stage)
        if read is not None and len(read[0]) == 1 and not read[1]:
            return op.ReadFile(operation.path, *read[0][0])
    elif program in ("head", "tail"):
        counted = _count(stage)
        count = None if counted is None or counted[1] else counted[0] or "10"
        if count is not None and program == "head" and count.isdecimal():
            return op.ReadFile(operation.path, 1, int(count))
        if count is not None and program == "tail" and re.fullmatch(r"\+\d+", count):
            return op.ReadFile(operation.path, int(count[1:]))
    return operation


# ── searching ────────────────────────────────────────────────────────────────

_CONTEXT = ("A", "B", "C", "after-context", "before-context", "context")
_RG: _TextOption = {
    "flags": "nNisSFlcUouHIp.z",
    "valued": "ABCegtmj",
    "long_flags": (
        "line-number", "no-line-number", "ignore-case", "case-sensitive", "smart-case", "fixed-strings",
        "files-with-matches", "count", "multiline", "only-matching", "hidden", "no-ignore", "no-heading", "heading",
        "files", "pretty", "with-filename", "no-filename", "no-messages", "column", "trim",
    ),
    "long_valued": (
        *_CONTEXT[3:], "regexp", "glob", "type", "max-count", "color", "sort", "threads", "max-columns", "colors",
    ),
}  # fmt: skip
_GREP: _TextOption = {
    "flags": "rRnilcFEPoHhsqIa",
    "valued": "ABCem",
    "long_flags": (
        "recursive", "line-number", "ignore-case", "files-with-matches", "count", "fixed-strings", "extended-regexp",
        "perl-regexp", "only-matching", "no-messages", "with-filename", "no-filename", "color", "colour",
    ),
    "long_valued": (*_CONTEXT[3:], "regexp", "include", "exclude", "exclude-dir", "max-count"),
}  # fmt: skip
_AG: _TextOption = {"flags": "ilsSQc", "valued": "ABCm", "long_flags": ("nocolor", "nogroup", "hidden")}


def _extended(pattern: str) -> str:
    """A basic regular expression in the usual form: what is special with a backslash and what without trade places."""

    def traded(found: re.Match[str]) -> str:
        text = found[0]
        if text[0] == "[":
            return text
        return text[1] if text[0] == "\\" and text[1] in "(){}|+?" else f"\\{text}" if text in "(){}|+?" else text

    return re.sub(r"\[\^?\]?[^\]]*\]|\\.|[(){}|+?]", traded, pattern, flags=re.DOTALL)


def _search(place: Place, options: _Options, names: Sequence[str], search: op.SearchText) -> list[op.Operation]:
    """The search in each of the places named, with what all search programs say alike."""
    if options.odd(*_CONTEXT, "m", "max-count"):
        return []
    around = options.number("C", "context")
    before, after = options.number("B", "before-context"), options.number("A", "after-context")
    search = replace(
        search,
        mode="files" if options.has("l", "files-with-matches") else "count" if options.has("c", "count") else "content",
        case_sensitive=False if options.has("i", "ignore-case") else search.case_sensitive,
        before=around if before is None else before,
        after=around if after is None else after,
        line_numbers=True if options.has("n", "line-number") else None,
        only_matching=options.has("o", "only-matching"),
        limit_per_file=options.number("m", "max-count"),
    )
    paths = [place.path(name) for name in names] if names else [place.here()]
    return [replace(search, path=path) for path in paths if path is not None]


def _ripgrep(place: Place, stage: Stage) -> list[op.Operation]:
    options = options_of(stage.words, **_RG)
    if options is None:
        return []
    globs = [*options.given.get("g", ()), *options.given.get("glob", ())]
    included = _either([glob for glob in globs if not glob.startswith("!")])
    excluded = _either([glob[1:] for glob in globs if glob.startswith("!")])
    ignoring = False if options.has("u", "no-ignore") else None
    if options.has("files"):
        return [] if excluded else _all_files(place, options.operands, included, respect_ignore=ignoring)
    patterns = [*options.given.get("e", ()), *options.given.get("regexp", ())]
    names = options.operands
    if not patterns:
        patterns, names = names[:1], names[1:]
    if len(patterns) != 1:
        return []
    search = op.SearchText(
        patterns[0],
        include=included,
        exclude=excluded,
        file_type=options.last("t", "type"),
        literal=options.has("F", "fixed-strings"),
        multiline=options.has("U", "multiline"),
        case_sensitive=True if options.has("s", "case-sensitive") else None,
        respect_ignore=ignoring,
    )
    return _search(place, options, names, search)


def _either(globs: Sequence[str]) -> str | None:
    """Several globs as one."""
    return globs[0] if len(globs) == 1 else f"{{{','.join(globs)}}}" if globs else None


def _all_files(
    place: Place, names: Sequence[str], glob: str | None = None, *, respect_ignore: bool | None = None
) -> list[op.Operation]:
    pattern = "**/*" if glob is None else glob if "/" in glob else f"**/{glob}"
    paths = [place.path(name) for name in names] if names else [place.here()]
    return [op.FindFiles(pattern, path, respect_ignore=respect_ignore) for path in paths if path is not None]


def _grep(
    place: Place, stage: Stage, *, recursive: bool = False, extended: bool = False, skip: int = 1
) -> list[op.Operation]:
    options = options_of(stage.words, **_GREP, skip=skip)
    if options is None:
        return []
    patterns = [*options.given.get("e", ()), *options.given.get("regexp", ())]
    names = options.operands
    if not patterns:
        patterns, names = names[:1], names[1:]
    excluded = [*options.given.get("exclude", ()), *(f"**/{one}/**" for one in options.given.get("exclude-dir", ()))]
    everywhere = recursive or options.has("r", "R", "recursive")
    if len(patterns) != 1 or (not names and not everywhere):
        return []  # without a file it filters what it is given
    literal = options.has("F", "fixed-strings")
    plain = literal or extended or options.has("E", "extended-regexp", "P", "perl-regexp")
    search = op.SearchText(
        patterns[0] if plain else _extended(patterns[0]),
        include=_either(options.given.get("include", [])),
        exclude=_either(excluded),
        literal=literal,
    )
    return _search(place, options, names, search)


def _ag(place: Place, stage: Stage) -> list[op.Operation]:
    options = options_of(stage.words, **_AG)
    if options is None or not options.operands:
        return []
    pattern, *names = options.operands
    case = True if options.has("s") else None
    return _search(place, options, names, op.SearchText(pattern, literal=options.has("Q"), case_sensitive=case))


# ── listing ──────────────────────────────────────────────────────────────────


def _listing(place: Place, names: Sequence[str], depth: int | None = None) -> list[op.Operation]:
    paths = [place.path(name) for name in names] if names else [place.here()]
    return [op.ListDirectory(path, depth=depth) for path in paths if path is not None]


def _ls(place: Place, stage: Stage) -> list[op.Operation]:
    options = options_of(
        stage.words, flags="1aAlhFtrSRpsinogGkLcuUCmx", long_flags=("all", "almost-all", "color", "human-readable")
    )
    if options is None:
        return []
    return _all_files(place, options.operands) if options.has("R") else _listing(place, options.operands)


def _tree(place: Place, stage: Stage) -> list[op.Operation]:
    options = options_of(stage.words, flags="aCFhnpsd", valued="L", long_flags=("noreport", "dirsfirst"))
    if options is None or options.odd("L") or options.has("d"):
        return []
    depth = options.number("L")
    return _all_files(place, options.operands) if depth is None else _listing(place, options.operands, depth)


def _find(place: Place, stage: Stage) -> list[op.Operation]:
    words = [word for word in stage.words[1:] if word is not None]
    if len(words) != len(stage.words) - 1:
        return []
    start = next((index for index, word in enumerate(words) if word.startswith(("-", "(", "!"))), len(words))
    names, tests = words[:start], words[start:]
    match tests:  # a listing, as `shell_commands` writes it
        case ["-mindepth", "1", "-maxdepth", depth, "-exec", "ls", "-1dp", "{}", "+"] if depth.isdecimal():
            return _listing(place, names, int(depth))
    glob, sensitive, below = "*", None, "**/"
    while tests:
        match tests:
            case ["-type", "f", *rest]:
                pass
            case ["-maxdepth", "1", *rest]:
                below = ""
            case ["-name" | "-iname" as test, name, *rest] if glob == "*":
                glob, sensitive = name, False if test == "-iname" else None
            case ["(", "-name" | "-iname" as test, *_, ")"] if glob == "*":
                globs = tests[2:-1:3]
                if tests[1:] != [*_joined([[test, one] for one in globs], "-o"), ")"]:
                    return []
                glob, sensitive, rest = _either(globs) or "*", False if test == "-iname" else None, []
            case ["-print", *rest]:
                pass
            case _:
                return []
        tests = rest
    paths = [place.path(name) for name in names] if names else [place.here()]
    return [op.FindFiles(f"{below}{glob}", path, sensitive) for path in paths if path is not None]


def _joined(parts: Sequence[Sequence[str]], mark: str) -> list[str]:
    return [word for index, part in enumerate(parts) for word in ([mark, *part] if index else part)]


def _fd(place: Place, stage: Stage) -> list[op.Operation]:
    options = options_of(
        stage.words,
        flags="gHIu",
        valued="et",
        long_flags=("glob", "hidden", "no-ignore"),
        long_valued=("extension", "type"),
    )
    if options is None or options.last("t", "type") not in (None, "f", "file"):
        return []
    extension = options.last("e", "extension")
    names = options.operands
    ignoring = False if options.has("I", "u", "no-ignore") else None
    if extension is not None and len(names) <= 1 and names[:1] in ([], ["."]):
        return _all_files(place, [], f"*.{extension}", respect_ignore=ignoring)
    if options.has("g", "glob") and names and extension is None:
        return _all_files(place, names[1:], names[0], respect_ignore=ignoring)
    return []  # anything else is a regular expression


READERS: Mapping[str, Reader] = {
    **dict.fromkeys(("cat", "tac"), _reading(_CAT)),
    **dict.fromkeys(("less", "more"), _reading(_PAGER)),
    "nl": _reading(_NUMBERED),
    **dict.fromkeys(("bat", "batcat"), _bat),
    "head": _head,
    "tail": _tail,
    "sed": _sed,
    "rg": _ripgrep,
    "grep": _grep,
    "egrep": lambda place, stage: _grep(place, stage, extended=True),
    "git grep": lambda place, stage: _grep(place, stage, recursive=True, skip=2),
    "ag": _ag,
    "ls": _ls,
    "tree": _tree,
    "find": _find,
    **dict.fromkeys(("fd", "fdfind"), _fd),
    "git ls-files": lambda place, stage: _all_files(place, []) if len(stage.words) == 2 else [],
}
FILTERS = frozenset(
    ("cat", "nl", "head", "tail", "sed", "grep", "egrep", "rg", "sort", "uniq", "cut", "tr", "less", "more", "column")
)  # fmt: skip
"""Programs that show what they are given, or part of it."""


# ── writing ──────────────────────────────────────────────────────────────────


def printed(stage: Stage, given: str | None) -> str | None:
    """What a program prints, where that stands in the command line."""
    words = stage.words
    match program_of(stage):
        case ":" | "true":
            return ""
        case "cat" if len(words) == 1:
            return stage.given if stage.given is not None else given
        case "tee":
            return stage.given if stage.given is not None else given
        case "echo" if None not in words[1:]:
            texts = [word or "" for word in words[1:]]
            ended = texts[:1] != ["-n"]
            # Which backslashes `echo` minds depends on the shell.
            if any("\\" in text for text in texts) or (ended and re.match(r"-[eEn]+$", texts[0] if texts else "")):
                return None
            return " ".join(texts if ended else texts[1:]) + ("\n" if ended else "")
        case "printf" if len(words) == 2 and words[1] is not None:
            # Backslashes are read in pairs: the second of one escapes nothing.
            return _unescaped(words[1]) if _FORMAT.fullmatch(words[1]) else None
        case "printf" if len(words) == 3 and words[1] in ("%s", "%s\\n") and words[2] is not None:
            return words[2] + ("\n" if words[1] == "%s\\n" else "")
    return None


_ESCAPES: Final = {"\\n": "\n", "\\t": "\t", "\\r": "\r", "\\\\": "\\", "%%": "%"}
_FORMAT: Final = re.compile(r"(?:[^%\\]|%%|\\[ntr\\])*")
"""What `printf` prints without arguments, as far as every shell prints the same."""


def _unescaped(text: str) -> str:
    return re.sub(r"\\[ntr\\]|%%", lambda found: _ESCAPES[found[0]], text)


def _rm(place: Place, stage: Stage, skip: int = 1) -> list[op.Operation]:
    # With `-r` it may be a folder, which no operation deletes.
    options = options_of(stage.words, flags="fivq", long_flags=("force", "verbose", "cached"), skip=skip)
    if options is None or options.has("cached"):
        return []
    paths = [place.path(name) for name in options.operands]
    return [op.DeleteFile(path) for path in paths if path is not None]


def _mv(place: Place, stage: Stage, skip: int = 1) -> list[op.Operation]:
    options = options_of(stage.words, flags="fivn", long_flags=("force", "verbose"), skip=skip)
    if options is None or len(options.operands) < 2:
        return []
    *names, goal = options.operands
    into = goal.endswith("/") or len(names) > 1
    found: list[op.Operation] = []
    for name in names:
        to = posixpath.join(goal, posixpath.basename(name.rstrip("/"))) if into else goal
        path, target = place.path(name), place.path(to)
        if path is not None and target is not None:
            found.append(op.MoveFile(path, target))
    return found


def _patch(place: Place, stage: Stage) -> list[op.Operation]:
    text = stage.given if len(stage.words) == 1 else stage.words[1] if len(stage.words) == 2 else None
    if text is None or place.lost:
        return []
    try:
        return list(read_patch(text, place.directory or None))
    except PatchError:
        return []


def _python(place: Place, stage: Stage) -> list[op.Operation]:
    done = replacement_in(stage.given) if len(stage.words) == 1 and stage.given is not None else None
    path = None if done is None else place.path(done.path)
    return [] if done is None or path is None else [replace(done, path=path)]


CHANGES: Mapping[str, Reader] = {
    "python3": _python,
    "rm": _rm,
    "git rm": lambda place, stage: _rm(place, stage, skip=2),
    "mv": _mv,
    "git mv": lambda place, stage: _mv(place, stage, skip=2),
    **dict.fromkeys(("apply_patch", "applypatch"), _patch),
}
