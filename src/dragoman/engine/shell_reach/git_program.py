"""What the arguments of `git` are.

`git` reads and runs what its configuration says, which no call may write; what its arguments make it run, or write
beside its own folder, is not known.
"""

from __future__ import annotations

import re
from typing import Final

from .arguments import has_only, unknown
from .line_effects import Notes, State
from .text_patterns import ANY, MARKS

_LISTS: Final = "n0123456789 oneline graph decorate all format pretty author since until max-count date abbrev-commit"
_CHANGES: Final = (
    "pubwUMCRz0123456789 patch no-patch unified cached staged quiet exit-code stat shortstat numstat summary name-only "
    "name-status color no-color word-diff ignore-all-space ignore-space-change ignore-blank-lines function-context "
    "merge-base find-renames no-renames diff-filter"
)
_READS: Final = {
    "status": "sbuzalnorm porcelain short branch untracked-files ignored show-stash",
    "diff": _CHANGES,
    "show": f"{_CHANGES.replace(' ', 's ', 1)} oneline format pretty abbrev-commit date no-notes",
    "blame": "wsel0123456789",
    "branch": "avr all list show-current verbose remotes",
    "rev-parse": "q short abbrev-ref show-toplevel is-inside-work-tree verify git-dir show-prefix",
    "ls-files": "comdszt cached others modified deleted exclude-standard",
    "describe": " tags always dirty long abbrev",
    "remote": "v verbose",
    "add": "AvnNu all verbose dry-run intent-to-add update",
    "tag": "ln list sort contains merged no-merged points-at",
    "stash": f"{_LISTS} stat name-only name-status",
    "log": f"{_LISTS} stat name-only name-status no-merges merges reverse follow grep",
}
"""The options with which a command of `git` only shows something, or notes what is in files."""
_SHOWS_NO_CONTENT: Final = re.compile("--(?:(?:short|num)?stat|name-only|name-status|quiet|no-patch|summary)|-s")
_SHOWS_NOTHING_MORE: Final = re.compile(
    "--(?:cached|staged|exit-code|(?:no-)?color|ignore-.*|merge-base|(?:find|no)-renames|diff-filter|oneline|format|"
    "pretty|abbrev-commit|date|no-notes)|-[bwMCRz]+"
)
_LINES: Final = re.compile(r"\0-L\0?[0-9,+-]+(?=\0|\Z)")
_COMMIT: Final = re.compile(r"(?:HEAD|@)(?:[~^]\d*)*")
"""A name that is always that of a commit, and never of a file's content."""


def git(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    rest = words[1:]
    if rest[:1] == ["--no-pager"]:
        rest = rest[1:]
    verb, rest = rest[0] if rest else "", rest[1:]
    known = _READS.get(verb)
    if verb == "stash":
        known, rest = (known, rest[1:]) if rest[:1] == ["list"] else (None, rest)
    if verb == "blame":  # which lines
        rest = _LINES.sub("", "\0".join(["", *rest])).split("\0")[1:]
    if known is None or any(word.startswith(MARKS) for word in rest):
        unknown(walk, words, state, given)
        return
    options = [word for word in rest if word.startswith("-")]
    operands = [word for word in rest if not word.startswith("-")]
    if (
        any(not has_only(word, known) for word in options)
        or (operands and verb in ("branch", "remote", "stash"))
        or (operands and verb == "tag" and not {"-l", "--list"} & {*options})
        or (verb == "blame" and len(operands) != 1)
    ):
        unknown(walk, words, state, given)
        return
    if verb in ("diff", "show"):
        shown = [word.partition("=")[0] for word in options if word != "--"]
        less = [word for word in shown if _SHOWS_NO_CONTENT.fullmatch(word)]
        if (
            not less
            or any(not _SHOWS_NOTHING_MORE.fullmatch(word) for word in shown if word not in less)
            or (verb == "show" and not all(map(_COMMIT.fullmatch, operands)))
        ):
            walk.touch("read", ANY, state)  # the content of files, also of those that are gone
    if verb == "add" and any(re.match("-[A-Za-z]*[Au]|--all|--update", word) for word in rest):
        operands = operands or ["."]
    if verb == "add" and any(re.search(r"[*?[\\]|^:", name) for name in operands):
        unknown(walk, words, state, given)  # git has patterns of its own
    for name in operands if verb != "tag" else ():
        walk.touch("read", name, state, tree=True)
