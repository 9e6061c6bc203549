"""What the words of a task ask for, and what the words of an answer claim: as far as it can be seen without a model.

Rule: only what is plain counts. A task in other words, or in another language, asks for nothing that is checked here.
"""

from __future__ import annotations

import re
from typing import Final

_FILE: Final = r"[`'\"*]*[\w./~-]*\w\.\w+[`'\"*]*"
_CLAUSE: Final = (
    r"(?:^|[.:;!?\n(]\s+|,\s+|\b(?:and|then|please|also|now|just|finally|first|next|or)\s+"
    r"|\b(?:can|could|would|will) you\s+|\byou to\s+)"
    r"(?:(?:and|then|please|also|now|just)\s+)*"
    r"(?:in\s+(?:(?:that|this|the|each|every|both)\s+)?[\w./*-]+(?:\s+file|\s+folder)?,?\s+)?"
)
_PLAINLY: Final = (
    "append|bump|comment out|correct|delete|edit|fix|implement|insert|modify|prepend|refactor|rename|repair|rewrite"
    "|uncomment"
)
"""Verbs that ask for a change whatever follows."""
_OF_SOMETHING: Final = (
    "add|apply|change|convert|copy|create|disable|enable|extend|format|improve|increase|decrease|join|make|merge|move"
    "|put|remove|replace|reorder|save|set|simplify|sort|split|store|swap|translate|turn|update|upgrade|write"
)
"""Verbs that ask for a change of files when something that is in files is named with them."""
_THING: Final = re.compile(
    rf"(?:^|[\s(]){_FILE}(?=[\s.,;:!?)]|$)"
    r"|\b(?:files?|folders?|director(?:y|ies)|functions?|class(?:es)?|methods?|variables?|flags?|options?|arguments?"
    r"|parameters?|tests?|modules?|imports?|lines?|code|scripts?|programs?|config(?:uration)?|settings?|version|port"
    r"|keys?|entry|entries|sections?|comments?|docstrings?|readme|changelog|project|typos?|bugs?|package"
    r"|dependenc(?:y|ies)|makefile|dockerfile|branch)\b",
    re.IGNORECASE,
)
_CHANGE: Final = re.compile(
    rf"{_CLAUSE}(?:(?P<plainly>{_PLAINLY})|(?P<verb>{_OF_SOMETHING}))\b(?!\s*[:=(])[^\n;]*?"
    r"(?=[.!?;](?:\s+(?-i:[A-Z])|\s*$)|\n|$)",
    re.IGNORECASE,
)

_PROGRAMS: Final = (
    r"python[23]?(?:\.\d+)?|pytest|tox|nox|ruff|mypy|make|just|npm|npx|yarn|pnpm|node|deno|bun|cargo|go|gradle|mvn|java"
    r"|javac|gcc|ruby|rake|perl|php|bash|sh|zsh|uv|pip|git|echo|printf|expr|wc|ls|cat|grep|date|dotnet|\./[\w./-]+"
)
_COMMAND: Final = re.compile(rf"`(?P<quoted>[^`\n]+)`|(?<![\w./-])(?P<bare>(?:{_PROGRAMS})(?:[ \t]+[^\s,;]+)*)")
_AFTER: Final = frozenset(
    "a again after also and answer are as at before but by does explain fail fails finally for from gives has if in "  # noqa: SIM905
    "into is it its must no not now of on or please prints runs save says should shows so still succeeds tell that "
    "the their then this to until when where which while will with without works would write".split()
)
"""Words that follow a command in a sentence and are no part of it."""
_RUNS: Final = re.compile(r"\b(?:run|runs|rerun|execute|executes)\b", re.IGNORECASE)
_QUESTION: Final = re.compile(
    r"(?:what|which|who|why|how|when|where|is|are|was|does|do|did|explain how)\b.*\?$", re.IGNORECASE
)
_TESTS: Final = re.compile(
    r"\b(?:re)?run\s+(?:all\s+)?(?:the|its|my|our|all|that)?\s*(?:unit\s+)?tests?\b", re.IGNORECASE
)

_DONE: Final = "added|appended|changed|corrected|created|deleted|edited|fixed|modified|removed|renamed|replaced|updated"
_CLAIM: Final = re.compile(
    rf"\b(?:(?:has|have)\s+(?:now\s+)?been|was|were|is\s+now|are\s+now|i|i\s+have|i've|successfully)\s+"
    rf"(?:successfully\s+|now\s+)?(?:{_DONE}|wrote|written|moved|copied|saved|set)\b",
    re.IGNORECASE,
)
_NOT: Final = re.compile(r"\b(?:not|no|nothing|never|neither|cannot|without|if|unless)\b|n't\b", re.IGNORECASE)
_FILES: Final = rf"(?:the\s+file\s+|both\s+)?{_FILE}(?:(?:,|,?\s+and)\s+(?:in\s+)?(?:the\s+file\s+)?{_FILE})*"
_WAS: Final = r"(?:(?:has|have)\s+(?:now\s+)?been|was|were|is\s+now|are\s+now)\s+(?:successfully\s+)?"
_CLAIMED: Final = (
    re.compile(rf"(?P<files>{_FILES})\s+{_WAS}(?:{_DONE})\b", re.IGNORECASE),
    re.compile(rf"\b{_WAS}(?:{_DONE})\b[^.!?]{{0,200}}?\sin\s+(?P<files>{_FILES})", re.IGNORECASE),
    re.compile(rf"\b(?:i|i\s+have|i've|successfully)\s+(?:{_DONE})\s+(?:the\s+)?(?P<files>{_FILES})", re.IGNORECASE),
)


def asks_for_change(task: str) -> bool:
    """Whether a task tells to change something in files."""
    return any(found["plainly"] or _THING.search(found[0]) for found in _CHANGE.finditer(task))


def commands_named(task: str) -> tuple[str, ...]:
    """The command lines that a task tells to run."""
    if not _RUNS.search(task):
        return ()
    found: dict[str, None] = {}
    told = " ".join(sentence for sentence in _sentences(task) if not _QUESTION.match(sentence))
    for match in _COMMAND.finditer(told):
        quoted = match["quoted"]
        if quoted is not None:
            if re.match(rf"(?:{_PROGRAMS})(?:\s|$)", quoted):
                found[" ".join(quoted.split())] = None
            continue
        command = _without_sentence(match["bare"].split())
        if len(command) > 1 or command[0] in ("pytest", "make", "tox", "nox") or command[0].startswith("./"):
            found[" ".join(command)] = None
    return tuple(found)


def _without_sentence(words: list[str]) -> list[str]:
    """The words of a command without those of the sentence it stands in."""
    command = [words[0]]
    for word in words[1:]:
        bare = word.rstrip(".:!?)")
        if bare.lower() in _AFTER:
            break
        if bare:
            command.append(bare)
        if bare != word:
            break
    return command


def names_tests(task: str) -> bool:
    """Whether a task tells to run its tests without saying how."""
    return _TESTS.search(task) is not None


def is_run_by(named: str, line: str) -> bool:
    """Whether a command line runs a command that was named: the same arguments, files by their last name."""
    words = {word.strip("'\"").rpartition("/")[2] for word in re.split(r"[\s;&|()]+", line)}
    program, *arguments = named.split()
    wanted = [word.strip("'\"").rpartition("/")[2] for word in (arguments or [program])]
    return all(word in words for word in wanted)


def is_test(line: str) -> bool:
    """Whether a command line looks like one that runs tests."""
    return re.search(r"test|\b(?:tox|nox|make|spec|check)\b", line) is not None


def claims_change(answer: str) -> bool:
    """Whether an answer says that something was changed."""
    return any(_CLAIM.search(sentence) and not _NOT.search(sentence) for sentence in _sentences(answer))


def files_claimed(answer: str) -> tuple[str, ...]:
    """The files that an answer says were changed."""
    found: dict[str, None] = {}
    for sentence in _sentences(answer):
        for pattern in () if _NOT.search(sentence) else _CLAIMED:
            for match in pattern.finditer(sentence):
                found |= dict.fromkeys(one.strip("`'\"*.") for one in re.findall(_FILE, match["files"]))
    return tuple(found)


def _sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?])\s+|\n+", text)
