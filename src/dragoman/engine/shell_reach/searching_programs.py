"""What `grep` and `rg` look into: of everything below a folder, only what their options are sure to leave."""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import join
from typing import Final

from .arguments import Options, names_in, unknown
from .line_effects import Effect, Notes, State
from .text_patterns import MARKS, is_certain

_GREP: Final = Options(
    "efmABCDd regexp file max-count after-context before-context context binary-files devices directories include "
    "exclude exclude-from exclude-dir label group-separator",
    "EFGPivwxyclLoqshHnbTZzarRUI0123456789 extended-regexp fixed-strings basic-regexp perl-regexp ignore-case "
    "no-ignore-case invert-match word-regexp line-regexp count files-with-matches files-without-match "
    "only-matching quiet silent no-messages with-filename no-filename line-number byte-offset initial-tab null "
    "null-data text recursive "
    "dereference-recursive color colour line-buffered binary version help",
)
_RG: Final = Options(
    "efgtTABCmjMErd regexp file glob iglob type type-not after-context before-context context max-count threads "
    "max-columns max-depth encoding replace sort sortr color colors context-separator max-filesize",
    "nilcwvSsFoHNhxpaPUIqb0Lu. hidden unrestricted no-ignore-dot no-ignore-parent no-hidden "
    "line-number ignore-case files-with-matches count word-regexp invert-match smart-case "
    "case-sensitive fixed-strings only-matching with-filename no-line-number no-filename line-regexp pretty text pcre2 "
    "multiline multiline-dotall no-messages quiet byte-offset files files-without-match count-matches heading "
    "no-heading column vimgrep json stats trim null no-ignore no-ignore-vcs no-config passthru follow crlf debug",
)
_RG_TYPES: Final = {
    "py": "*.py *.pyi",
    "js": "*.cjs *.js *.jsx *.mjs *.vue",
    "ts": "*.cts *.mts *.ts *.tsx",
    "rust": "*.rs",
    "go": "*.go",
    "java": "*.java *.jsp *.jspx *.properties",
    "md": "*.markdown *.md *.mdown *.mdwn *.mdx *.mkd *.mkdn",
    "css": "*.css *.scss",
    "html": "*.ejs *.htm *.html",
    "yaml": "*.yaml *.yml",
}
"""Types of files as ripgrep 15.2 has them, where no other version has a type with a name that begins with a dot."""
PLAIN_GLOB: Final = re.compile(r"[^/\\\[\]{}!]+")
"""A glob that means the same to every program: a name with `*` and `?`."""


def _only(globs: list[str]) -> tuple[str, ...]:
    """Globs for names of files; none where one of them may mean more."""
    return tuple(globs) if all(is_certain(one) and PLAIN_GLOB.fullmatch(one) for one in globs) else ()


def _split(pattern: str) -> tuple[str, list[str]]:
    """The folder that the matches of a glob are below, and the rest of it."""
    parts = pattern.split("/")
    plain = next((place for place, part in enumerate(parts) if re.search(r"[*?\[\]{}!()]", part)), len(parts))
    return "/".join(parts[:plain]) or ("/" if pattern.startswith("/") else "."), parts[plain:]


def files_read(pattern: str, cwd: str) -> Effect:
    """What is read by a tool that reads every file, and every folder, whose path fits a glob."""
    folder, rest = _split(pattern)
    last = rest[-1] if rest and rest[-1] != "**" else ""
    return Effect("read", join(cwd, folder), tree=True, only=_only([last]) if last else ())


def folders_listed(pattern: str, place: str) -> Iterator[str]:
    """The folders in which a tool looks for files whose path fits a glob."""
    folder, rest = _split(pattern)
    yield folder if folder.startswith("~") else join(place, folder)
    if ".." in "/".join(rest) or re.search(r"[{,(|]/", pattern):
        yield "/"  # it may lead out again, or begin anywhere


def _is_here(operands: list[str], options: list[tuple[str, str]], *, known: bool) -> bool:
    """Whether no file is named for sure: the current folder is searched. An unknown option may have a value."""
    if not known:
        return True
    without_pattern = any(name in ("e", "f", "regexp", "file", "files") for name, _ in options)
    return len(operands) < (1 if without_pattern else 2)


def _files(operands: list[str], options: list[tuple[str, str]]) -> list[str]:
    """The files that `grep` reads: its operands without the pattern, and those that options name."""
    named = [value for name, value in options if name in ("f", "file", "exclude-from")]
    has_pattern = any(name in ("e", "f", "regexp", "file") for name, _ in options)
    return [*named, *(operands if has_pattern else operands[1:])]


def grep(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    recursive = any(
        re.match(r"-[a-zA-Z]*[rRd]", word) or word.startswith(("--rec", "--deref", "--dir")) for word in words[1:]
    )
    if any(word.startswith(MARKS) for word in words[1:]):
        walk.cannot_tell(f"an argument of {words[0]!r} is computed and may be an option")
    operands, options, known = _GREP.operands(words[1:])
    included = [value for name, value in options if name == "include"]
    # The first option of both kinds says what becomes of a file that none of them is about.
    others = any(name.startswith("exclude") and name != "exclude-dir" for name, _ in options)
    only = _only(included) if known and not others else ()
    follows = not known or any(name in ("R", "d", "dereference-recursive", "directories") for name, _ in options)
    for name in _files(operands, options) if known else [name for word in words[1:] for name in names_in(word)]:
        walk.touch("read", name, state, tree=recursive, only=only, follows=follows)
    if recursive and _is_here(operands, options, known=known):
        walk.touch("read", ".", state, tree=True, only=only, follows=follows)


def ripgrep(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    if any(
        word.startswith(("--pre", "--hostname-bin", "--search-zip", "-z", *MARKS)) or re.match(r"-[a-zA-Z]*z", word)
        for word in words[1:]
    ):
        unknown(walk, words, state, given)
    operands, options, known = _RG.operands(words[1:])
    globs = [value for name, value in options if name in ("g", "glob")]
    types = [value for name, value in options if name in ("t", "type")]
    only: tuple[str, ...] = ()
    hidden = True
    if known and not any(name == "iglob" for name, _ in options):
        # What a glob or a type has is searched, also where it is hidden; with both, what a glob has.
        chosen = [glob for glob in globs if not glob.startswith("!")]
        if not chosen and all(one in _RG_TYPES for one in types):
            chosen = [glob for one in types for glob in _RG_TYPES[one].split(" ")]
        only = _only(chosen)
        shown = any(name in ("u", ".", "hidden", "unrestricted") for name, _ in options)
        hidden = bool(chosen or types) or shown
    follows = not known or any(name in ("L", "follow") for name, _ in options)
    for word in words[1:]:
        for name in names_in(word):
            walk.touch("read", name, state, tree=True, only=only, hidden=hidden, follows=follows)
    if _is_here(operands, options, known=known):
        walk.touch("read", ".", state, tree=True, only=only, hidden=hidden, follows=follows)
