"""Operations as command lines of a shell, for a vocabulary that has a shell and no tool for them.

This is the reverse of `shell_intent`: whatever is written here, `intents` reads as the same operation. What such a
command prints is read as the outcome of the operation (`outcome_from`), and an outcome is written as what the command
would have printed (`printed_for`).

Rules: a command says the operation exactly, or is not written. What it leaves out (a limit on results, say) is the
difference between the operation and `InShell.meant`. The commands are those of a POSIX shell with `rg` for searches
and `python3` for replacements; none is written for PowerShell or `cmd`.
"""

from __future__ import annotations

import ast
import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from dragoman.model import operations as op, outcomes as out

from .match_lines import MatchLine, lines_of, matches_in


class InShell(NamedTuple):
    """A command line, and the operation that it says, which may be less than what was asked for."""

    command: str
    meant: op.Operation


def in_shell(operation: op.Operation) -> InShell | None:
    """The command line that does an operation; `None` when there is none."""
    writer = _WRITERS.get(type(operation))
    said = None if writer is None else writer(operation)
    return said if said is None or _can_be_typed(said.command) else None


def left_out(operation: op.Operation, said: InShell) -> tuple[str, ...]:
    """The fields of an operation that its command does not say."""
    if type(said.meant) is not type(operation):
        return ()
    return tuple(
        name for name in _LEFT_OUT.get(type(operation), ()) if getattr(said.meant, name) != getattr(operation, name)
    )


def _can_be_typed(command: str) -> bool:
    """Whether a shell can be given this text: no control characters, and every character has an encoding."""
    return re.search("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", command) is None


# ── paths ────────────────────────────────────────────────────────────────────

_TESTS: Final = ("-", "(", "!")
"""What `find` takes for a test and not for a folder."""
_WINDOWS: Final = re.compile(r"[A-Za-z]:[\\/]|\\\\")
"""How a path of Windows begins, whose shells are others."""
_SPECIAL: Final = re.compile(r"[*?\[\]{}\\]")


def _names(*paths: str) -> str | None:
    """Paths as the last words of a command; `None` for one that a shell, or `shell_intent`, takes for something else.

    `~` means the home folder to some tools and a file of that name to a program.
    """
    if any(not path or path == "-" or path.startswith("~") or _WINDOWS.match(path) for path in paths):
        return None
    marked = ["--"] if any(path.startswith("-") for path in paths) else []
    return shlex.join([*marked, *paths])


# ── reading and listing ──────────────────────────────────────────────────────


def _read(asked: op.ReadFile) -> InShell | None:
    names = _names(asked.path)
    if names is None or asked.pages is not None:
        return None
    if asked.first_line is None and asked.last_line is None:
        return InShell(f"cat {names}", asked)
    first, last = asked.first_line or 1, asked.last_line
    if first < 1 or (last is not None and last < first):  # `sed -n 5,3p` prints line 5
        return None
    span = f"'{first},$p'" if last is None else f"{first},{last}p" if last > first else f"{first}p"
    return InShell(f"sed -n {span} {names}", replace(asked, first_line=first))


def _file_printed(asked: op.ReadFile, outcome: out.Outcome) -> str | None:
    return outcome.text if isinstance(outcome, out.FileOutcome) else None


def _file_read(asked: op.ReadFile, printed: str) -> out.Outcome:
    return out.FileOutcome(asked.path, printed, asked.first_line or 1)


def _list(asked: op.ListDirectory) -> InShell | None:
    names = _names(asked.path)
    if names is None or asked.prefix is not None or asked.path.startswith("-"):
        return None
    depth = asked.depth or 1
    if depth < 1:
        return None
    if depth == 1:
        return InShell(f"ls -1Ap {names}", op.ListDirectory(asked.path))
    if asked.path.startswith(_TESTS):
        return None
    listing = f"find {names} -mindepth 1 -maxdepth {depth} -exec ls -1dp '{{}}' +"
    return InShell(listing, op.ListDirectory(asked.path, depth=depth))


def _entries_printed(asked: op.ListDirectory, outcome: out.Outcome) -> str | None:
    if not isinstance(outcome, out.DirectoryOutcome):
        return None
    folder = "" if asked.depth in (None, 1) else posixpath.join(asked.path, "")
    names = (f"{folder}{one.path}{'/' if one.kind == 'directory' else ''}" for one in outcome.entries)
    return _lines(names)


def _entries_read(asked: op.ListDirectory, printed: str) -> out.Outcome:
    folder = "" if asked.depth in (None, 1) else posixpath.join(asked.path, "")
    entries = [
        out.Entry(name.removeprefix(folder).rstrip("/"), "directory" if name.endswith("/") else "file")
        for name in printed.splitlines()
    ]
    return out.DirectoryOutcome(asked.path, tuple(entries))


def _lines(lines: Iterator[str]) -> str:
    return "".join([f"{line}\n" for line in lines])


# ── finding and searching ────────────────────────────────────────────────────


def _find(asked: op.FindFiles) -> InShell | None:
    """`find` with one test of the name: of files in a folder, or in all folders below it."""
    *folders, name = asked.pattern.split("/")
    plain = []
    while folders and not _SPECIAL.search(folders[0]):
        plain.append(folders.pop(0))
    below = "/" if plain == [""] else "/".join(plain)
    path = asked.path if not below else below if asked.path == "." else posixpath.join(asked.path, below)
    names = _names(path)
    if names is None or path.startswith(_TESTS) or folders not in ([], ["**"]):
        return None
    everywhere = bool(folders) or name == "**"
    globs = _choices("*" if name == "**" else name)
    if globs is None:
        return None
    test = "-iname" if asked.case_sensitive is False else "-name"
    tests = " -o ".join(f"{test} {shlex.quote(glob)}" for glob in globs)
    tests = f"\\( {tests} \\)" if len(globs) > 1 else tests
    depth = "" if everywhere else " -maxdepth 1"
    pattern = f"{'**/' if everywhere else ''}{_one_of(globs)}"
    sensitive = False if asked.case_sensitive is False else None
    return InShell(f"find {names}{depth} -type f {tests}", op.FindFiles(pattern, path, sensitive))


def _choices(glob: str) -> list[str] | None:
    """A glob with one list of choices as several without, because `find` knows no braces."""
    if not glob or "\\" in glob or "**" in glob:
        return None
    found = re.fullmatch(r"([^{}]*)\{([^{}]*)\}([^{}]*)", glob)
    if found is not None:
        return [f"{found[1]}{choice}{found[3]}" for choice in found[2].split(",")]
    return None if re.search(r"[{}]", glob) else [glob]


def _one_of(globs: Sequence[str]) -> str:
    return globs[0] if len(globs) == 1 else f"{{{','.join(globs)}}}"


def _paths_printed(asked: op.FindFiles, outcome: out.Outcome) -> str | None:
    return _lines(iter(outcome.paths)) if isinstance(outcome, out.PathsOutcome) else None


def _paths_read(asked: op.FindFiles, printed: str) -> out.Outcome:
    return out.PathsOutcome(tuple(line.removeprefix("./") for line in printed.splitlines()))


def _search(asked: op.SearchText) -> InShell | None:
    names = _names(asked.path)
    counts = (asked.before, asked.after, asked.limit_per_file)
    if names is None or not asked.pattern or any(count is not None and count < 0 for count in counts):
        return None
    meant = replace(
        asked,
        line_numbers=True,
        limit=None,
        offset=None,
        respect_ignore=False if asked.respect_ignore is False else None,
    )
    flags = {"content": "", "files": "l", "count": "c"}[asked.mode] + "".join(
        letter
        for letter, given in (
            ("i", asked.case_sensitive is False),
            ("s", asked.case_sensitive is True),
            ("F", asked.literal),
            ("U", asked.multiline),
            ("o", asked.only_matching),
        )
        if given
    )
    words = ["rg", f"-nH{flags}"]
    for option, number in (("-B", asked.before), ("-A", asked.after), ("-m", asked.limit_per_file)):
        words += [] if number is None else [option, str(number)]
    words += [] if asked.include is None else ["-g", asked.include]
    words += [] if asked.exclude is None else ["-g", f"!{asked.exclude}"]
    words += [] if asked.file_type is None else ["-t", asked.file_type]
    words += ["--no-ignore"] if asked.respect_ignore is False else []
    if asked.include is not None and asked.include.startswith("!"):
        return None
    pattern = ["-e", asked.pattern] if asked.pattern.startswith("-") else [asked.pattern]
    return InShell(f"{shlex.join([*words, *pattern])} {names}", meant)


_SEPARATOR: Final = "--"
_MATCH: Final = re.compile(r"(?P<path>.*?)(?P<mark>[:-])(?P<line>[0-9]+)(?P=mark)(?P<text>.*)")


def _matches_printed(asked: op.SearchText, outcome: out.Outcome) -> str | None:
    if not isinstance(outcome, out.MatchesOutcome) or outcome.mode != asked.mode:
        return None
    if outcome.mode == "files":
        return _lines(iter(match.path for match in outcome.matches))
    if outcome.mode == "count":
        return _lines(iter(f"{match.path}:{match.count}" for match in outcome.matches))
    if any(match.line is None for match in outcome.matches):
        return None
    around = asked.before or asked.after
    groups = (_lines(_printed_lines(match)) for match in outcome.matches)
    return f"{_SEPARATOR}\n".join(groups) if around else "".join(groups)


def _printed_lines(match: out.Match) -> Iterator[str]:
    for line in lines_of(match):
        mark = ":" if line.matched else "-"
        yield f"{line.path}{mark}{line.number}{mark}{line.text}"


def _matches_read(asked: op.SearchText, printed: str) -> out.Outcome | None:
    lines = printed.splitlines()
    if asked.mode == "files":
        return out.MatchesOutcome(tuple(out.Match(line) for line in lines), "files")
    if asked.mode == "count":
        counted = [line.rpartition(":") for line in lines]
        if any(not count.isdecimal() for _, _, count in counted):
            return None
        return out.MatchesOutcome(tuple(out.Match(path, count=int(count)) for path, _, count in counted), "count")
    read = [None if line == _SEPARATOR else _MATCH.fullmatch(line) for line in lines]
    if any(one is None and line != _SEPARATOR for one, line in zip(read, lines, strict=True)):
        return None
    shown = (one and MatchLine(one["path"], int(one["line"]), one["mark"] == ":", one["text"]) for one in read)
    matches = matches_in(shown, asked.after)
    return None if matches is None else out.MatchesOutcome(matches)


# ── changing ─────────────────────────────────────────────────────────────────


_LONGEST: Final = 60_000
"""Characters of a text in a command line: Linux takes 128 kB for one argument."""


def _write(asked: op.WriteFile) -> InShell | None:
    names, folder = _names(asked.path), posixpath.dirname(asked.path)
    if names is None or not asked.overwrite or len(asked.content) > _LONGEST or asked.path.startswith("-"):
        return None
    form = ["%s", asked.content]
    if not asked.content or "\r" in asked.content:  # shells lose a carriage return that is typed
        form = [re.sub(r"[\\%\r]", lambda found: _IN_FORMAT[found[0]], asked.content)]
        if form[0].startswith("-"):
            return None
    made = f"mkdir -p {shlex.quote(folder)} && " if folder.strip("./") else ""
    return InShell(f"{made}{shlex.join(['printf', *form])} > {names}", op.WriteFile(asked.path, asked.content))


_IN_FORMAT: Final = {"\\": "\\\\", "%": "%%", "\r": "\\r"}


def _delete(asked: op.DeleteFile) -> InShell | None:
    names = _names(asked.path)
    return None if names is None else InShell(f"rm {names}", asked)


def _move(asked: op.MoveFile) -> InShell | None:
    names = _names(asked.path, asked.to)
    if names is None or asked.to.endswith("/"):  # there it would keep its name
        return None
    return InShell(f"mv {names}", asked)


REPLACING: Final = """\
path = {path!r}
with open(path, encoding='utf-8', newline='') as file:
    text = file.read()
for old, new, count in {edits!r}:
    found = text.count(old)
    assert found == count if count else found, f'found {{found}} times: {{old!r}}'
    text = text.replace(old, new)
with open(path, 'w', encoding='utf-8', newline='') as file:
    file.write(text)
"""
"""A program that replaces exact texts in a file, or ends with an error before anything is written."""
_REPLACING: Final = re.compile(
    "(.*)".join(re.escape(part.format()) for part in re.split(r"\{(?:path|edits)!r\}", REPLACING))
)


def _replace(asked: op.EditFile) -> InShell | None:
    if not asked.edits or _names(asked.path) is None:
        return None
    if any(not one.old or one.whole_lines or one.anchors or one.at_end for one in asked.edits):
        return None
    if any(one.expected is not None and one.expected < 1 for one in asked.edits):
        return None
    edits = [(one.old, one.new, _count(one)) for one in asked.edits]
    meant = op.EditFile(asked.path, tuple(map(_edit, edits)))
    program = REPLACING.format(path=asked.path, edits=edits)
    return InShell(f"python3 <<'EOF'\n{program}EOF", meant)


def _count(edit: op.Edit) -> int | None:
    """How often the old text must be found; `None` for at least once."""
    return edit.expected or (None if edit.everywhere else 1)


def _edit(said: tuple[Any, ...]) -> op.Edit:
    old, new, count = said
    return op.Edit(old, new, everywhere=count != 1, expected=count if count and count > 1 else None)


def replacement_in(program: str) -> op.EditFile | None:
    """The edits that a program does, where it is one of ours."""
    found = _REPLACING.fullmatch(program)
    if found is None:
        return None
    try:
        path, edits = (ast.literal_eval(part) for part in found.groups())
        said = [(str(old), str(new), None if count is None else int(count)) for old, new, count in edits]
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return op.EditFile(path, tuple(map(_edit, said))) if isinstance(path, str) else None


def _silent(asked: op.Operation, outcome: out.Outcome) -> str | None:
    return "" if isinstance(outcome, out.ChangesOutcome | out.DoneOutcome) else None


def _deleted(asked: op.DeleteFile, printed: str) -> out.Outcome:
    return out.ChangesOutcome((out.Change(asked.path, "deleted"),))


def _written(asked: op.WriteFile, printed: str) -> out.Outcome:
    return out.DoneOutcome()  # whether there was a file before, nobody knows


def _moved(asked: op.MoveFile, printed: str) -> out.Outcome:
    return out.ChangesOutcome((out.Change(asked.path, "moved", asked.to),))


def _replaced(asked: op.EditFile, printed: str) -> out.Outcome:
    return out.ChangesOutcome((out.Change(asked.path, "modified"),))


# ── results ──────────────────────────────────────────────────────────────────


def printed_for(operation: op.Operation, outcome: out.Outcome) -> out.Outcome:
    """An outcome of an operation as that of its command.

    What is no result of the operation itself (it was refused, it still runs, nobody knows) stays what it is.
    """
    if isinstance(outcome, out.Failure) and outcome.kind == "failed":
        return out.CommandOutcome(exit_code=1, output=outcome.message)
    printed = _RESULTS[type(operation)][0](operation, outcome)
    if printed is None and isinstance(outcome, out.TextOutcome):
        printed = outcome.text
    if printed is None:
        return outcome
    found = not isinstance(operation, op.SearchText) or bool(printed)
    return out.CommandOutcome(exit_code=0 if found else 1, output=printed)


def outcome_from(operation: op.Operation, outcome: out.Outcome) -> out.Outcome:
    """What an operation's command did as the outcome of the operation.

    A command that did not end by itself, or whose output was cut, says nothing certain of it and stays a command.
    """
    if not isinstance(outcome, out.CommandOutcome) or outcome.exit_code is None or outcome.truncated:
        return outcome
    printed = outcome.output if outcome.output is not None else outcome.stdout or ""
    nothing_found = isinstance(operation, op.SearchText) and outcome.exit_code == 1 and not printed
    if outcome.exit_code != 0 and not nothing_found:
        said = printed or outcome.stderr or f"exit code {outcome.exit_code}"
        return out.Failure("failed", _reason(said) if isinstance(operation, op.EditFile) else said)
    return _RESULTS[type(operation)][1](operation, printed) or outcome


def _reason(printed: str) -> str:
    """Why a replacement failed, without where in our program: the model did not write it."""
    if not printed.lstrip().startswith("Traceback (most recent call last):"):
        return printed
    kind, _, reason = printed.strip().rpartition("\n")[2].partition(": ")
    return f"the text to replace was {reason}" if kind == "AssertionError" else reason or kind


_Writer = Callable[[Any], InShell | None]
_WRITERS: Final[Mapping[type[op.Operation], _Writer]] = {
    op.ReadFile: _read,
    op.ListDirectory: _list,
    op.FindFiles: _find,
    op.SearchText: _search,
    op.DeleteFile: _delete,
    op.MoveFile: _move,
    op.EditFile: _replace,
    op.WriteFile: _write,
}
IN_SHELL: Final = frozenset(_WRITERS)
"""The operations that a command can do, as far as its values allow."""
_RESULTS: Final[
    Mapping[
        type[op.Operation],
        tuple[Callable[[Any, out.Outcome], str | None], Callable[[Any, str], out.Outcome | None]],
    ]
] = {
    op.ReadFile: (_file_printed, _file_read),
    op.ListDirectory: (_entries_printed, _entries_read),
    op.FindFiles: (_paths_printed, _paths_read),
    op.SearchText: (_matches_printed, _matches_read),
    op.DeleteFile: (_silent, _deleted),
    op.MoveFile: (_silent, _moved),
    op.EditFile: (_silent, _replaced),
    op.WriteFile: (_silent, _written),
}
_LEFT_OUT: Final[Mapping[type[op.Operation], tuple[str, ...]]] = {
    op.ListDirectory: ("ignore", "limit", "respect_ignore"),
    op.FindFiles: ("limit", "respect_ignore"),
    op.SearchText: ("limit", "offset", "respect_ignore"),
    op.EditFile: ("purpose",),
}
"""Fields that a command leaves out. The others differ from what was asked only in how they say the same."""
