"""The kinds of values a setting can have, and what a project's own file may do with each kind.

Rule: the kind decides, never the setting's name. Every setting states its kind, and a setting without one is an error.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec


class Rule(enum.Enum):
    """What a project's own file may do with a setting."""

    TIGHTEN = "any project may make it stricter; only a trusted one may make it looser"
    STRICTER = "any project may make it stricter; none may make it looser, trusted or not"
    TRUSTED = "only a trusted project may set it"
    OWN = "no project may set it, trusted or not"


# A plain name can only lead to something that is registered: it is no path, no URL and no file to import.
_NAME: Final = re.compile(r"(?!.*\.(?:py|toml|ya?ml)\Z)[a-z0-9_][a-z0-9_.-]*\Z", re.IGNORECASE)
_WORD: Final = r"[a-z0-9_]+(?:(?:[.@+-]+|:)[a-z0-9_]+)*"
_MODEL: Final = re.compile(rf"(?!.*\.gguf\Z){_WORD}(?:/{_WORD})*\Z", re.IGNORECASE)


class Kind(enum.Enum):
    """The kind of a value, by what it can cause. `plain` matches values that any project may set."""

    NAME = "the name of something registered, or a Python file that defines it", Rule.OWN, _NAME
    MODEL = "a model as provider:model, or the file of one", Rule.TRUSTED, _MODEL
    CHOICE = "one of a few values, of which some are stricter than others", Rule.TIGHTEN
    LIMIT = "a number that limits: the lower, the stricter; none means no limit", Rule.TIGHTEN
    RESTRICTIONS = "a list in which every entry forbids or hides something", Rule.TIGHTEN
    RULES = (
        "a list of verdicts: those that deny or ask are restrictions, those that allow are permissions",
        Rule.TIGHTEN,
    )
    GUARD = "one of a few values that protect what is outside the project, some stricter than others", Rule.STRICTER
    EXEMPTIONS = "a list in which every entry is an exception from such protection", Rule.STRICTER
    ADDRESS = "whom dragoman talks to, and how: a URL, a service, a wire API", Rule.TRUSTED
    SECRET = "a key, or where one is found", Rule.TRUSTED
    COMMAND = "a program to start, its arguments and its environment", Rule.TRUSTED
    PATH = "a file or folder anywhere on this machine", Rule.TRUSTED
    OPTIONS = "anything: it is passed on as it is", Rule.TRUSTED
    BOOKKEEPING = "what is recorded of a run, how it is charged, and what limits on cost are counted by", Rule.TRUSTED
    PROFILE = "the name of a profile, that is of values that may be looser", Rule.TRUSTED
    CODE = "Python that is imported", Rule.OWN
    RELAY = "who gets what other programs of the user say to their models", Rule.OWN
    NOTICE = "who is told of the user's runs, how and when", Rule.OWN
    ENFORCEMENT = "what is decided about the calls of other programs of the user", Rule.OWN
    TRUST = "whether what a stranger says of itself is believed", Rule.OWN
    STORAGE = "where dragoman keeps its own files", Rule.OWN
    DISPLAY = "how output looks on the user's terminal", Rule.OWN

    def __init__(self, meaning: str, rule: Rule, plain: re.Pattern[str] | None = None) -> None:
        self.meaning, self.rule, self.plain = meaning, rule, plain

    def is_plain(self, value: object) -> bool:
        """Whether this value is one that any project may set."""
        return self.plain is not None and isinstance(value, str) and self.plain.match(value) is not None


def file_named(kind: Kind | None, value: object) -> tuple[str, str] | None:
    """The file that a name stands for, and what comes before it: `local:` and `./x.gguf` in `local:./x.gguf`."""
    if not isinstance(value, str) or kind is None or kind.is_plain(value):
        return None
    if kind is Kind.NAME and value.lower().endswith((".py", ".toml", ".yaml", ".yml")):
        return "", value
    provider, colon, name = value.partition(":")
    if kind is Kind.MODEL and colon and (name.lower().endswith(".gguf") or name.startswith((".", "~", "/"))):
        return f"{provider}:", name
    return None


class Judged(msgspec.Struct, frozen=True):
    """What becomes of a value in a project's file: `value` holds, unless there is a `refusal`.

    Of rules both may be there: some hold, and others do not.
    """

    value: Any = None
    refusal: str | None = None
    trust_helps: bool = True


UNTRUSTED: Final = "the untrusted project's settings"
"""The source of rules that only make a verdict stricter, whatever else would decide."""


def _untrusted(rule: Any) -> Any:
    return msgspec.structs.replace(rule, source=UNTRUSTED)


def judged(kind: Kind, value: Any, before: Any, *, strictest_first: Sequence[Any], trusted: bool) -> Judged:
    """What becomes of a project's `value`, where the user's own settings alone give `before`."""
    if kind is Kind.RESTRICTIONS:  # joined, trusted or not: a project cannot know what the user's list holds
        return Judged((*before, *(entry for entry in value if entry not in before)))
    if kind is Kind.RULES:
        held = value if trusted else tuple(_untrusted(rule) for rule in value if rule.verdict != "allow")
        refused = len(value) - len(held)
        what = "a rule that allows" if refused == 1 else f"{refused} rules that allow"
        return Judged(held, f"{what} needs trust" if refused == 1 else f"{what} need trust" if refused else None)
    if kind.is_plain(value):
        return Judged(value)
    if kind.rule is Rule.OWN:
        what = "" if kind.plain is None else ", because it is more than a name"
        return Judged(refusal=f"only your own settings may set it{what}", trust_helps=False)
    if trusted and kind.rule is not Rule.STRICTER:
        return Judged(value)
    if kind.rule is Rule.TRUSTED:
        what = "" if kind.plain is None else ", because it is more than a name"
        return Judged(refusal=f"needs trust{what}")
    if _no_looser(kind, before, value, strictest_first):
        return Judged(value)
    if kind.rule is Rule.STRICTER:
        why = f"{_shown(value)} is not stricter than {_shown(before)}"
        return Judged(refusal=f"{why}, so only your own settings may set it", trust_helps=False)
    return Judged(refusal=f"{_shown(value)} is looser than {_shown(before)}, so it needs trust")


def _no_looser(kind: Kind, before: Any, after: Any, strictest_first: Sequence[Any]) -> bool:
    if kind in (Kind.CHOICE, Kind.GUARD):
        return after == before or _place(after, strictest_first) < _place(before, strictest_first)
    if kind is Kind.EXEMPTIONS:
        return all(entry in before for entry in after)
    return before is None or (after is not None and after <= before)


def _place(value: Any, strictest_first: Sequence[Any]) -> int:
    """Where a value is in the order; those in one tuple are neither stricter nor looser than each other."""
    return next(
        place for place, one in enumerate(strictest_first) if value == one or (isinstance(one, tuple) and value in one)
    )


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)
