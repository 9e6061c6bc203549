"""Whether a rule that forbids is about something a command line may reach.

The answer is yes, no, or `None`: it cannot be told, because a name is computed or the program is not known.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from .reached_files import Names, files_of, fits_path, is_outside, names_of
from .shell_reach import Effect, can_match, is_certain, is_computed

if TYPE_CHECKING:
    from dragoman.policy_rule import PolicyRule

_MEANING: Final = {
    "read": ("read", ("read_file",)),
    "list": ("read", ("list_directory",)),
    "write": ("write", ("write_file", "edit_file", "insert_text")),
    "move": ("write", ("move_file",)),
    "delete": ("write", ("delete_file",)),
    "fetch": ("fetch", ("fetch_page",)),
}
"""What each verb of an effect is as an operation: its kind, and the operations that do the same."""


def reaches(rule: PolicyRule, effect: Effect, root: str) -> bool | None:
    """Whether a rule is about one effect of a line that runs in the folder `root`."""
    certain = True
    if effect.verb == "mention":
        # The program is not known: its argument may be read, written or nothing of the kind.
        certain = rule.kind is None and rule.operation is None
        if rule.path is None and (rule.outside is None or certain):
            return False
    else:
        kind, operations = _MEANING[effect.verb]
        if rule.kind is not None and not fnmatchcase(kind, rule.kind):
            return False
        if rule.operation is not None and not any(fnmatchcase(one, rule.operation) for one in operations):
            return False
    if effect.verb == "fetch":
        if rule.path is not None or rule.outside is not None:
            return False
        if rule.domain is None:
            return True
        fits = can_match(effect.target, rule.domain.lower())
        return None if fits and is_computed(effect.target) else fits
    if rule.domain is not None:
        return False
    if rule.path is None and rule.outside is None:
        return True
    unsure = False
    for names in files_of(effect, root):
        if rule.path is not None and not fits_path(names, rule.path, root):
            continue
        outside = is_outside(names.real, root) if rule.outside is not None else None
        if rule.outside is not None and outside is not None and outside is not rule.outside:
            continue
        if (
            not certain
            or is_computed(effect.target)
            or is_computed(names.real)
            or (rule.outside is not None and outside is None)
        ):
            unsure = True
            continue
        return True
    return None if unsure else False


def allows(rule: PolicyRule, effect: Effect, root: str) -> bool:
    """Whether a rule that allows is about all of one effect: a single path, by every name it has, or a host."""
    if effect.verb == "mention" or effect.tree or not is_certain(effect.target):
        return False
    if (rule.tool, rule.server, rule.command, rule.shell, rule.cwd) != (None,) * 5 or rule.arguments:
        return False
    if rule.path is not None and effect.verb != "fetch":
        names = names_of(effect.target)
        if not all(fits_path(Names(name, name), rule.path, root) for name in (names.written, names.real)):
            return False
    return reaches(rule, effect, root) is True
