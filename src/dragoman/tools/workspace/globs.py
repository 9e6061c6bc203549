"""Glob patterns and ignore files, as regular expressions over paths with "/".

Rules: `*`, `?` and `[…]` never match "/"; `**` as a whole name matches any number of folders;
`{a,b}` is either; `\\` takes the next character as it is; a leading dot is nothing special.
Matching takes time linear in the pattern and the path, whatever a model writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from dragoman.errors import ToolError

_MOST_ALTERNATIVES = 1024
_LONGEST = 4096
_LONGEST_IN_ALL = 100_000
"""Characters of all alternatives, and of the expression made of them: compiling takes some 10 microseconds for each."""
_TOO_LONG = "its braces give too many and too long patterns"
_SPECIAL = re.compile(r"[*?\[\]{}\\!#\s]")


def escaped(path: str) -> str:
    """A glob that matches this path alone."""
    return _SPECIAL.sub(r"\\\g<0>", path)


def alternatives(pattern: str) -> list[str]:
    """The same pattern without braces: one for each choice they give."""
    if len(pattern) > _LONGEST:
        raise _refused(pattern, f"it is longer than {_LONGEST} characters")
    found: list[str] = []
    waiting = [pattern]
    while waiting:
        wanted = waiting.pop()
        group = _first_group(wanted)
        if group is None:
            found.append(wanted)
            continue
        start, commas, end = group
        edges = [start, *commas, end]
        choices = [wanted[left + 1 : right] for left, right in pairwise(edges)]
        waiting += [wanted[:start] + choice + wanted[end + 1 :] for choice in reversed(choices)]
        if len(found) + len(waiting) > _MOST_ALTERNATIVES:
            raise _refused(pattern, f"its braces give more than {_MOST_ALTERNATIVES} patterns")
        if sum(map(len, found)) + sum(map(len, waiting)) > _LONGEST_IN_ALL:
            raise _refused(pattern, _TOO_LONG)
    return list(dict.fromkeys(found))


def _first_group(pattern: str) -> tuple[int, list[int], int] | None:
    """Where the first outermost braces open, where their commas are and where they close."""
    start, commas, depth = -1, [], 0
    position = 0
    while position < len(pattern):
        match pattern[position]:
            case "\\":
                position += 1
            case "[":
                position = _class_end(pattern, position)
            case "{":
                start = position if depth == 0 else start
                depth += 1
            case "," if depth == 1:
                commas.append(position)
            case "}" if depth > 0:
                depth -= 1
                if depth == 0:
                    return start, commas, position
        position += 1
    if depth:
        raise _refused(pattern, 'a "{" is never closed; write "\\{" for the character itself')
    return None


def _class_end(pattern: str, start: int) -> int:
    """Where the class that opens at `start` closes; a "]" that comes first is a member."""
    position = start + 1
    if pattern[position : position + 1] in ("!", "^"):
        position += 1
    if pattern[position : position + 1] == "]":
        position += 1
    while position < len(pattern) and pattern[position] != "]":
        position += 2 if pattern[position] == "\\" else 1
    if position >= len(pattern):
        raise _refused(pattern, 'a "[" is never closed; write "\\[" for the character itself')
    return position


def _refused(pattern: str, why: str) -> ToolError:
    shown = pattern if len(pattern) <= 100 else f"{pattern[:100]}…"
    return ToolError(f"{shown!r} is not a glob: {why}", kind="invalid_arguments", details={"pattern": shown})


# ── one pattern ──────────────────────────────────────────────────────────────


class Glob(NamedTuple):
    """A compiled pattern: `full` matches whole paths; `names` are globs the last name of each of them matches."""

    full: re.Pattern[str]
    names: tuple[str, ...]
    by_name: bool
    """Whether the last name alone decides."""


def compiled(pattern: str, *, case_sensitive: bool = True) -> Glob:
    """A glob over whole paths: `*.py` is in the top folder alone, `**/*.py` anywhere."""
    if not pattern:
        raise ToolError('an empty glob; "**" matches every file', kind="invalid_arguments")
    if "\0" in pattern:
        raise _refused(pattern, "no path holds a NUL character")
    parts = [_parts(each) for each in alternatives(pattern)]
    expression = "|".join(_expression(names) for names in parts)
    if len(expression) > _LONGEST_IN_ALL:
        raise _refused(pattern, _TOO_LONG)
    return Glob(
        re.compile(expression, re.DOTALL | (0 if case_sensitive else re.IGNORECASE)),
        tuple(dict.fromkeys(names[-1] for names in parts)),
        all(names[:-1] == ["**"] for names in parts),
    )


def split(pattern: str) -> tuple[str, str]:
    """The folders a pattern names before its first wildcard ("" for none, ending in "/" otherwise), and the rest."""
    wildcard = _SPECIAL.search(pattern)
    end = pattern.rfind("/", 0, wildcard.start() if wildcard else len(pattern)) + 1
    return pattern[:end], pattern[end:]


def anywhere(pattern: str) -> str:
    """A glob as ignore files and search filters mean it: without "/" it stands for a name at any depth."""
    if "/" in pattern.rstrip("/"):
        return pattern.lstrip("/")
    return f"**/{pattern}"


def covering(pattern: str) -> Glob:
    """What a filter leaves out: what the pattern matches as `anywhere` means it, and all that is below."""
    spelled = anywhere(pattern).rstrip("/")
    return compiled(f"{{{spelled},{spelled}/**}}")


def _parts(pattern: str) -> list[str]:
    """The names of a pattern; a trailing "/" means everything below."""
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    if pattern.endswith("/"):
        names.append("**")
    if ".." in names:
        raise _refused(pattern, '".." is understood only before the first wildcard')
    return names or ["**"]


def _expression(names: Sequence[str]) -> str:
    """Names as a regular expression for a whole path.

    What stands between two `**` is taken where it is first found and never again (an atomic group):
    an earlier place leaves the rest more room, so nothing is lost and nothing is tried twice.
    """
    runs: list[list[str]] = [[]]
    for name in names:
        if name != "**":
            runs[-1].append(_name_expression(name))
        elif runs[-1] or len(runs) == 1:
            runs.append([])
    first, *others = runs
    expression = "/".join(first)
    for number, run in enumerate(others, 1):
        before = "/" if number == 1 and first else ""
        if not run:
            return rf"(?:{expression}{before}[^/].*)\Z"
        body = "/".join(run)
        if number < len(others):
            expression += rf"{before}(?>(?:[^/]+/)*?{body}/)"
        else:
            expression += rf"{before}(?:[^/]+/)*{body}"
    return rf"(?:{expression})\Z"


def _name_expression(name: str) -> str:
    pieces: list[str] = [""]
    position = 0
    while position < len(name):
        match name[position]:
            case "*":
                if pieces[-1] or len(pieces) == 1:
                    pieces.append("")
            case "?":
                pieces[-1] += "[^/]"
            case "[":
                end = _class_end(name, position)
                pieces[-1] += _class_expression(name, name[position + 1 : end])
                position = end
            case "\\" if position + 1 < len(name):
                position += 1
                pieces[-1] += re.escape(name[position])
            case character:
                pieces[-1] += re.escape(character)
        position += 1
    first, *others = pieces
    if not others:
        return first
    middle = "".join(rf"(?>[^/]*?{piece})" for piece in others[:-1])
    # A name is never empty, so a lone star takes at least one character.
    star = "[^/]+" if not first and len(others) == 1 and not others[0] else "[^/]*"
    return f"{first}{middle}{star}{others[-1]}"


def _class_expression(name: str, body: str) -> str:
    negated = body[:1] in ("!", "^")
    rest = body[1:] if negated else body
    characters = re.findall(r"\\?.", rest, re.DOTALL)
    items: list[str] = []
    position = 0
    while position < len(characters):
        low = characters[position][-1]
        high = low
        if characters[position + 1 : position + 2] == ["-"] and position + 2 < len(characters):
            high = characters[position + 2][-1]
            position += 2
        if high < low:
            raise _refused(name, f'the range "{low}-{high}" runs backwards')
        items.append(f"\\U{ord(low):08x}-\\U{ord(high):08x}")
        position += 1
    return f"(?!/)[{'^' if negated else ''}{''.join(items)}]"


# ── ignore files ─────────────────────────────────────────────────────────────

IGNORE_FILES = (".rgignore", ".ignore", ".gitignore")
"""The files whose rules are kept, strongest first: a rule in an earlier one outdoes those in later ones."""


class Rule(NamedTuple):
    """One line of an ignore file; `line` says it from the root of the tree."""

    negated: bool
    folders_only: bool
    path: re.Pattern[str]
    line: str


def rule(pattern: str, folder: str = "", *, negated: bool = False) -> Rule:
    """A pattern as a line of an ignore file that stands in `folder`."""
    folders_only = pattern.endswith("/")
    spelled = anywhere(pattern.rstrip("/"))
    if folder:
        spelled = f"{escaped(folder)}/{spelled}"
    return Rule(negated, folders_only, compiled(spelled).full, f"{'!' * negated}/{spelled}{'/' * folders_only}")


def rules(text: str, folder: str = "") -> list[Rule]:
    """The rules of an ignore file that stands in `folder`."""
    found: list[Rule] = []
    for line in text.split("\n"):
        line = re.sub(r"(?<!\\)[ \t\r]+$", "", line)
        negated = line.startswith("!")
        pattern = line[1:] if negated else line
        if not pattern.strip("/") or line.startswith("#") or line.endswith("//"):
            continue
        try:
            found.append(rule(pattern, folder, negated=negated))
        except ToolError:
            continue  # somebody's file, not the model's argument; git passes over such a line too
    return found


def decides(rules: Iterable[Rule], path: str, *, is_folder: bool) -> bool | None:
    """Whether the rules leave a path out (the last one that matches decides); `None` when none matches."""
    decision: bool | None = None
    for rule in rules:
        if (is_folder or not rule.folders_only) and rule.path.match(path):
            decision = not rule.negated
    return decision
