"""Doubt about results: what a reader takes for names, a file or a good end, though the text speaks against it.

Tools that print bare names, or a file as it is, give no sign by which their output is known, so a reader of theirs
takes any text for it. What a version nobody has seen says instead is told from it here, for all readers: a message
where names should be ("Directory does not exist: nope"), lines with their numbers where a file should be, a sentence
about a picture. Such a result stays text. A command that did well because nothing said otherwise has no exit code when
its text says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final

import msgspec

from dragoman.model import NativeResult, operations as op, outcomes as out

from .default_words import text_of

DOUBTED: Final = frozenset(
    {
        *(out.DirectoryOutcome, out.PathsOutcome, out.MatchesOutcome, out.FileOutcome),
        *(out.CommandOutcome, out.AgentsOutcome, out.AnswersOutcome, out.PagesOutcome),
    }
)
"""Outcomes that are lists of names, the text of a file or a page, the end of a command or an agent, or an answer."""

_CELL: Final = re.compile(r"<(?:markdown|code|raw)_cell\b")
"""How a client tells of a notebook (Kilo 7.7.7), which is JSON."""

# ── names ────────────────────────────────────────────────────────────────────

_TELLING: Final = re.compile(
    r"\b(?:not|no|cannot|could|can't|does|doesn't|exists?|found|failed|error|denied|was|were|is|are|please|successfully"
    r"|unable|invalid|went|nothing|timed|after|exited|killed|rejected|interrupted|cancell?ed|aborted|returned|truncated"
    r"|wrote|written|saved|skipped|started|finished|completed|terminated|blocked|replaced|waiting|created|deleted"
    r"|removed|updated|searching|showing|listing)\b",
    re.IGNORECASE,
)
_ENDING: Final = re.compile(r"\.\w{1,8}\Z")
_NO_NAME: Final = re.compile(
    r"\s*"  # nothing
    r"|\[\]|\{.*\}|\{\".*|<.*>|[\[{\]}]|\".*"  # JSON, whole or cut off or in lines, a tag
    r"|[\[(].*\s.*[\])]|\W*truncated\W*"  # a note in brackets; Next.js has [id] and (group)
    r"|\[(?i:image|picture|photo|screenshot|binary|media|audio|video|pdf|document|attachment)\b[^\]]*\]"
    r"|\S+ .*\[[^\]]*[/ ][^\]]*\]"  # words with a note behind them
    r"|(?i:rc|code|status|exit\w*|return\w*) ?[=:] ?-?\d+"
    r"|\[.*[{\"'].*"  # a list in JSON
    r"|(?!.*\.\w{1,8}\Z).*\b\d+ of \d+\b.*"
    r"|(?:\.\.\.|…)(?:\s.*)?|(?:and )?\+? ?\d+ (?:\w+ )?(?:more|others?|omitted|hidden|remaining)\b.*"  # the rest
    r"|data:[\w/+.-]+[;,].*|%[A-Z]+-\d.*"  # a picture, a document
    r"|\d+ (?:\w+ )?(?:match|file|result|entr|item|hit|line|path)\w*(?::|,.*)?"
    r"|\S*:"  # a heading
    r"|total \d+"  # of `ls -l`
    r"|(?i:exit|return) ?(?i:code|status)\b.*"
)
_MARKED: Final = re.compile(
    r"\s.*"  # indented, as in a tree
    r"|.*[\t`|│├└→\x1b].*"
    r"|(?:[-*•+]|---|\+\+\+|@@|#+) .*"  # items of a list, and changes
    r"|(?:\[[A-Za-z]+\]|[\u2600-\u27bf\U0001f300-\U0001faff]\ufe0f?|(?i:file|dir|directory|folder|link|f|d|l)) .*"
    r"|.* \((?:file|dir|directory|folder|link|symlink|\d+ (?:line|entr|item|match|file)\w*)\)"
    r"|[-bcdlps](?:[-r][-w][-xsStT]){3}.*"  # `ls -l`
    r"|[\d.,]+ ?(?:[KMGT]i?B?|B) +\S.*"  # sizes and times
    r"|\d{4}-\d\d-\d\d[ T].*"
    r"|.*:\d+(?::.*)?|\d+[:>].*"  # places of matches, and numbers
    r"|\w+://.*"
)
"""Lines that have a name in them, and more than that."""
_MORE_THAN_A_NAME: Final = re.compile(
    r".*\S {2,}\S.*"  # columns
    r"|(?:[-=]?>|→|»|›|\?\?|!!|[MADRCUT]{2}|=+) .*|.* (?:[-=]>|→) .*"  # arrows, `git status --short`, headings
    r"|(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,64} .*|\d+ \.\.?(?:/.*)?"  # hashes and sizes
    r"|.*\.\w{1,8} [-–—] (?!.*\.\w{1,8}\Z).*|.*\.\w{1,8}[,;] ?\S.*"  # a remark about it, several in a line
    r"|'.*'|.*[*@]"  # quoted, and `ls -F`
    r"|\w[\w.-]* = .*|[A-Z][A-Z0-9_]*=.*"  # settings
    r"|(?:TRACE|DEBUG|INFO|NOTE|WARN|WARNING|ERROR|FATAL) .*"
)
"""The same, where nothing but these lines is there; a listing with a heading or marks may have such names."""
_WORD_ALONE: Final = re.compile(
    r"(?:ok(?:ay)?|done|success(?:ful)?|none|null|nil|n/a|true|false|undefined|empty|queued|pending|cancell?ed|denied)[.!]?"
    r"|no \w+[.!]?|(?!\.\.?/?\Z)\W+|\(.*\)|[-+]?\d+|nan"
    r"|yes|no|timeout|forbidden|unauthorized|unsupported|unknown|unavailable|loading|ignored|missing|busy|offline",
    re.IGNORECASE,
)
"""What stands for a whole result and says that there are no names."""
_DONE: Final = re.compile(r"(?:Done|OK|Success|Finished|Complete)[.!]?")
_SHOWN: Final = re.compile(r"[./\\~@_\[].*|.*[/\\\d(].*|.*\.\w{1,8}|\S*\w\.-?\w\S*", re.DOTALL)
"""What shows by itself that it is a name: a folder in it or behind it, an ending, a dot in it, a mark or a number."""
_PLAIN: Final = re.compile(r"[^\W\d_]+")
_TOKEN: Final = re.compile(r"[a-z][\w+-]*|\w+[-_+]\w*|\w*[a-z][A-Z]\w*", re.ASCII)
_USUAL: Final = re.compile(
    r"README|LICEN[CS]E|COPYING|CHANGELOG|NOTICE|AUTHORS|CONTRIBUTING|CODEOWNERS|VERSION|TODO|BUILD|WORKSPACE|\w+file"
)
"""Files without an ending that projects have."""
_NUMBERED_NAME: Final = re.compile(r"[^()]+ \(\d+\)")
"""As a second folder of a name is called."""
_FULL_WIDTH: Final = re.compile(r"[。！？，：；]")


def is_sentence(name: str) -> bool:
    """Whether a name reads like a message: words that tell something and do not end as a file does."""
    if ": " in name or (_FULL_WIDTH.search(name) is not None and _ENDING.search(name) is None):
        return True
    words = name.split()
    if len(words) < 3:
        return False
    if name.endswith((".", "!", "?", ":")):
        return True
    if len(words) > 3 and (_TELLING.fullmatch(words[0]) or _TELLING.fullmatch(words[1])):
        return True  # "Successfully wrote 5 bytes to config.json", "Output saved to out.txt"
    return _TELLING.search(name) is not None and _ENDING.search(name) is None


def _are_names(names: Sequence[str], text: str) -> bool:
    """Whether these are names, as far as they and the text of the result show it.

    None of them is more than a name, neither the first two nor the last is a message, and they are no numbered lines.
    Where the text has nothing else, a name alone must show that it is one, and of lines of several words so must half.
    """
    for name in (*names[:2], names[-1]):
        if is_sentence(name) or _NO_NAME.fullmatch(name):
            return False
    if any(not name.strip() or _MARKED.fullmatch(name) for name in names):
        return False
    if is_numbered(names) or _are_mostly_numbered(names):
        return False
    if len(text.split("\n")) > len(names) or (len(names) == 1 and text.rstrip("/") != names[0].rstrip("/")):
        return True  # a heading, or a mark that was taken away
    if any(map(_MORE_THAN_A_NAME.fullmatch, names)):
        return False
    if len(names) == 1:
        return _is_name_alone(names[0])
    if "," in names[0] and len({name.count(",") for name in names}) == 1:
        return False  # a table
    of_words = [name for name in names if " " in name and _SHOWN.fullmatch(name) is None]
    if 2 * len(of_words) > len(names) or any(len(name.split()) > 2 for name in of_words):
        return False  # sentences, in whatever language
    return _DONE.fullmatch(names[-1]) is None


def _is_name_alone(name: str) -> bool:
    """Whether the only line is a name: a word alone may be an answer as well ("Forbidden")."""
    words = name.split()
    if _WORD_ALONE.fullmatch(name) or ", " in name:
        return False
    if len(words) > 1 and (_TELLING.fullmatch(words[0]) or _SHOWN.fullmatch(name) is None):
        return False  # "Deleted src/a.py"; words in another language
    if len(words) > 3 and (all(map(_PLAIN.fullmatch, words[:3])) or len(re.split(r"[/\\]", name)[0].split()) > 2):
        return False  # "Awaiting approval of edit to src/a.py"
    if _SHOWN.fullmatch(name):
        return (
            len(words) == 1 or "/" in name or _NUMBERED_NAME.fullmatch(name) is not None or bool(_ENDING.search(name))
        )
    return _TELLING.fullmatch(name) is None and (_TOKEN.fullmatch(name) or _USUAL.fullmatch(name)) is not None


# ── lines ────────────────────────────────────────────────────────────────────

_NUMBER: Final = re.compile(
    r"[ \t]*(?:\x1b\[[\d;]*m)*[ \t]*(?:[Ll]ine )?[\[(L#]?0*(\d{1,7})(?:\x1b\[[\d;]*m)*(?:[→│|:.)\]>\t #-]|\Z)"
)
_MEDIA: Final = re.compile(
    r"\.(?:png|jpe?g|gif|webp|bmp|ico|tiff?|heic|avif|pdf|zip|gz|mp[34]|mov|wav|woff2?|ttf)\Z", re.IGNORECASE
)
_SOURCE: Final = re.compile(
    r"\.(?:py|[cm]?[jt]sx?|rs|go|java|c|cc|cpp|h|hpp|rb|php|sh|md|html?|css|toml|ya?ml|sql|kt)\Z"
)
_MESSAGE: Final = re.compile(
    r"\W{0,2}(?:error|warning|failed|failure|cannot|can't|could not|couldn't|unable|no such|not found|file not|access"
    r"|permission|denied|queued|unchanged|skipped|output saved|task started|this tool|binary|unsupported|viewed"
    r"|image|read image|the file|this file|file is|file does|file exists|file too|file content"
    r"|(?-i:E[A-Z]{3,})(?=:)|no changes|user|interrupted|cancell?ed|aborted|timed out|command|system-reminder"
    r"|tool_use_error)\b",
    re.IGNORECASE,
)


_PROSE: Final = re.compile(
    r"(?:\.(?:txt|md|mdx|markdown|rst|adoc|log|out|csv|tsv)|(?:\A|[/\\])[^./\\]+)\Z", re.IGNORECASE
)
"""Files that may hold any words, and those whose names do not say what they hold."""
_CODE: Final = re.compile(r"[=(){}\[\];<>|#@$\"'`*\\]|//|^\W")
"""What a line of a program or of settings has, and a message seldom."""
_OF_A_PROGRAM: Final = re.compile(
    r"[\w./-]{1,40}: .*\b(?:No such file|not found|cannot|can't|denied|no matches|not permitted|Is a directory)\b.*"
    r"|Traceback \(most recent call last\):"
    r"|<[a-z ]+>"
    r"|(?:Fehler|Erreur|Errore|Erro|Fel|Fout|Błąd|Hata|Ошибка|Помилка|错误|錯誤|エラー|오류)(?::| ?：).*"
)
"""What a program or a client says in place of a file, whatever file it is."""


_KEYWORD: Final = re.compile(
    r"(?:import|from|return|package|use|using|export|module|require|include|end|else|pass|raise|yield|del|goto|global"
    r"|public|private|async|await|throw|namespace|open|extends|in|is|not|or|and)\b"
)
_VALUE: Final = re.compile(r"\W+|[-+]?\d+|null|true|false")
_WORD: Final = re.compile(r"[A-Z][a-z]+[.!…]{0,3}|E[A-Z]{4,}")


def _is_message(outcome: out.FileOutcome, line: str, told: str) -> bool:
    """Whether the only line of a result, which ends without a newline, is words and no line of such a file."""
    if _OF_A_PROGRAM.fullmatch(line):
        return True
    if told.endswith("\n") or outcome.first_line > 1 or _PROSE.search(outcome.path) or _VALUE.fullmatch(line):
        return False
    if _WORD_ALONE.fullmatch(line) or _WORD.fullmatch(line):
        return True
    if _CODE.search(line) or _KEYWORD.match(line) or not line[:1].isalpha():
        return False
    return " " in line or not line.isascii()


def is_numbered(lines: Sequence[str], first: int | None = None) -> bool:
    """Whether there are two lines or more and each begins with its number (counted from `first`, if that is given)."""
    if len(lines) < 2:
        return False
    begin = _NUMBER.match(lines[0])
    if begin is None or (first is not None and int(begin[1]) != first):
        return False
    for number, line in enumerate(lines, int(begin[1])):
        found = _NUMBER.match(line)
        if found is None or int(found[1]) != number:
            return False
    return True


_NUMBER_AND_MARK: Final = re.compile(r"[ \t]*0*(\d{1,7})( ?[→│|\t]|: )")
"""Without the marks of lists in Markdown, which files have of their own."""
_BAR: Final = re.compile(r"[ \t]*0*(\d{1,7}) ?[→│|]")
_BARS: Final = ("→", "│")
_HEADING: Final = 6
_MOSTLY: Final = 4


def _have_numbers(lines: Sequence[str]) -> bool:
    """Whether each line has its number and a bar, however many were left out between them."""
    numbers: list[int] = []
    for line in lines:
        found = _BAR.match(line)
        if found is None:
            return False
        numbers.append(int(found[1]))
    return all(one < other for one, other in pairwise(numbers)) and (len(numbers) > 1 or "→" in lines[0])


def _are_mostly_numbered(lines: Sequence[str]) -> bool:
    """Whether numbered lines stand below a heading, or above a note or a line that was cut off."""
    for begin, line in enumerate(lines[:_HEADING]):
        found = _NUMBER_AND_MARK.match(line)
        if found is None:
            continue
        number, count = int(found[1]), 0
        for line in lines[begin:]:
            its = _NUMBER_AND_MARK.match(line)
            if its is None or (int(its[1]), its[2]) != (number + count, found[2]):
                break
            count += 1
        if found[2].strip() in _BARS and count > 1 and begin == 0:
            return True  # no file of a project begins so
        return count >= _MOSTLY and 3 * count >= 2 * len(lines)
    return False


def _is_no_file(outcome: out.FileOutcome, told: str) -> bool:
    """Whether what was taken for the text of a file, as it stands in the result, is something about it."""
    text = outcome.text
    if outcome.path.endswith(".ipynb") and _CELL.match(text):
        return True
    line, _, more = text.partition("\n")
    if not more.strip():
        if not line.strip() or line != told.strip("\r\n"):
            return False
        if _MEDIA.search(outcome.path) or _have_numbers([line]) or _NOTE.fullmatch(line):
            return True
        if line.startswith(('{"', '[{"')) and line.endswith(("}", "]")) and _SOURCE.search(outcome.path):
            return True  # what another client says in JSON
        if _is_message(outcome, line, told):
            return True
        return len(line.split()) > 1 and (_names(outcome.path, line) or (_MESSAGE.match(line) is not None))
    lines = text.removesuffix("\n").split("\n")
    if told.startswith(line) and _OF_A_PROGRAM.fullmatch(line) and _PROSE.search(outcome.path) is None:
        return True
    if told.startswith(line) and _is_around(outcome.path, line, lines[-1]):
        return True
    if _are_mostly_numbered(lines) or _have_numbers(lines):
        return "\n".join(lines[:_HEADING]) in told  # else the numbers were taken away, as below
    if _NUMBER.match(line) is None:
        return False
    if not any(is_numbered(lines, first) for first in {outcome.first_line, 1}) and not is_numbered(lines):
        return False
    return f"\n{lines[0]}\n{lines[1]}" in f"\n{told}"  # else the numbers were taken away, and these are the file's own


_RANGE: Final = re.compile(r"\W{0,3}(?:showing |reading |read )?lines? \d+ ?(?:-|–|to|through) ?\d+", re.IGNORECASE)
_NOTE: Final = re.compile(
    r"\(.*\)|\[(?:object Object|(?:image|picture|screenshot|binary|media|audio|video|pdf|attachment)\b[^\]]*)\]"
    r"|\W{0,2}truncated\b.*",
    re.IGNORECASE,
)


def _is_around(path: str, first: str, last: str) -> bool:
    """Whether the first line of a text is no line of the file, but says which file or what part of it follows."""
    if _RANGE.match(first):
        return True
    if first.startswith("```"):
        return last == "```" and not path.endswith((".md", ".mdx", ".markdown"))
    return _names(path, first) and (
        first.endswith(":") or (first.startswith(("<", "[")) and first.endswith((">", "]")))
    )


def _names(path: str, line: str) -> bool:
    """Whether a line names the file that it is said to be all of."""
    if len(path) <= 2:
        return False
    last = path.rpartition("/")[2]
    before, name, after = line.partition(last if last not in ("", ".") else PurePosixPath(path).name)
    return path in line or (name != "" and not before[-1:].isalnum() and not after[:1].isalnum())


# ── ends ─────────────────────────────────────────────────────────────────────

_NOT_WELL: Final = re.compile(
    r"(?i)\bexit(?:ed)?\b[^\n]{0,16}?\b(?:code|status)\W{1,3}(?!0\b)-?\d+"
    r"|\b(?:exit|return)(?:ed)?(?:[ _]?(?:code|status))?(?: with)?(?: code| status)?\W{1,4}-?[1-9]\d*\b"
    r"|\b(?:terminated|finished|ended|failed) with (?:error )?(?:code|status) -?[1-9]\d*\b"
    r"|\A(?:rc|code)[=:] ?-?[1-9]\d*\Z"
    r"|\bnon-?zero (?:exit )?(?:code|status)\b|\b(?:killed|terminated|stopped) by (?:signal|SIG[A-Z]+)\b"
    r"|\bmake: \*\*\* |\btimed out after\b|\W?command timed out\W?\Z|\A\W?(?:killed|stopped) after \d+"
    r"|\btimeout of [^\n]{0,16}?exceeded\b"
    r"|\AKilled(?:: 9)?(?: \([^)\n]*\))?\Z|\bcore dumped\)?\Z|\A\W?signal \d+\Z"
    r"|\bstill running\b|\A\W?running(?:\.\.\.|…)|\A(?:ba|z|da)?sh: [^\n]{1,80}: command not found\Z"
    r"|\b(?:running|started|moved|continues) (?:in|to) (?:the )?background\b"
)
_NOT_RUN: Final = re.compile(
    r"(?i)[^\n]{0,40}\b(?:(?:cancell?ed|interrupted|rejected|denied|blocked|aborted|stopped) by\b"
    r"|(?:waiting|queued) for\b|awaiting (?:approval|confirmation)\b|(?:has )?not (?:yet )?(?:begun|started)\b)"
    r"[^\n]{0,80}"
    r"|(?:the )?(?:command|tool call|execution)(?: was)? (?:not (?:executed|run|allowed)|interrupted|cancell?ed"
    r"|rejected|denied|blocked|aborted)\b[^\n]{0,80}"
    r"|(?:the )?user (?:has )?(?:denied|rejected|cancell?ed|declined|refused)\b[^\n]{0,80}"
    r"|permission denied: \w+\([^\n]*"
)
"""What a client may say in place of all output."""


_ENDED_SO: Final = re.compile(r"\AChunk ID: [^\n]*\n(?:[^\n]*\n)??Process exited with code (?!0\n)")
"""How Codex heads the output of a command (0.92.0 to 0.166.0)."""


def _ended_otherwise(outcome: out.CommandOutcome, native: NativeResult) -> bool:
    """Whether the first or the last line of a bare text says that a command did not end well, and nothing that it did.

    A client that marks failures says with a mark that it was none (Claude Code 2.1.325, pi 0.74.2).
    """
    if native.is_error is False:
        return False
    text = text_of(native.content).strip()
    if (outcome.output or outcome.stdout or "").strip() != text:
        return False
    first, last = text.partition("\n")[0], text.rpartition("\n")[2]
    if _ENDED_SO.search(text[:400]) is not None:
        return True
    if _NOT_RUN.fullmatch(text) is not None:
        return True
    return _NOT_WELL.search(first[:400]) is not None or _NOT_WELL.search(last[-400:]) is not None


# ── agents, people and pages ─────────────────────────────────────────────────

_HAS_NOT_ENDED: Final = re.compile(
    r"(?i)\W?(?:the |your )?(?:"
    r"(?:sub-?|background )?(?:agent|task|job)s?\b[^\n.:;]{0,40}\b(?:could not|cannot|can't|queued|timed out|background"
    r"|not (?:yet )?(?:begun|started|finished|completed)|still (?:running|working)|cancell?ed|interrupted|killed"
    r"|stopped|aborted|failed|crashed|died)"
    r"|still (?:running|working|waiting)|queued|timed out|(?:running|started|launched) in (?:the )?background"
    r")\b[^\n]{0,200}"
)
"""What a client may say in place of an agent's answer: in one line, that there is none."""
_NOT_ANSWERED: Final = re.compile(
    r"(?i)\W?(?:the )?user (?:did not|didn't|has not|hasn't|dismissed|declined|cancell?ed|skipped|rejected|refused"
    r"|interrupted|closed|is not|was not)\b[^\n]{0,200}"
    r"|\[(?:user|no answer|skipped|dismissed|cancell?ed|timed out)\b[^\]\n]*\]"
)
_NOT_FETCHED: Final = re.compile(
    r"(?i)HTTP/\d[^\n]{0,80}"
    r"|(?:the )?(?:request|fetch\w*|connection|navigation|page|url|host|server)\b[^\n]{0,160}\b"
    r"(?:blocked by|failed|timed out|refused|could not|cannot|can't|not (?:allowed|found|reachable|connected)|denied"
    r"|unreachable)\b[^\n]{0,160}|(?:failed|unable) to [^\n]{1,200}|(?:error|timeout)\b(?::| \d)[^\n]{0,200}"
)
"""What may stand in place of a page: one line, or the first of an answer of HTTP."""


def _are_reports(outcome: out.AgentsOutcome, text: str) -> out.AgentsOutcome:
    """Agents of which nothing but an answer is known have not ended where that answer says so."""
    if _HAS_NOT_ENDED.fullmatch(text) is None:
        return outcome
    agents = [
        msgspec.structs.replace(one, status="unknown") if one.status == "completed" and one.text == text else one
        for one in outcome.agents
    ]
    return outcome if tuple(agents) == outcome.agents else msgspec.structs.replace(outcome, agents=tuple(agents))


def _is_no_page(outcome: out.PagesOutcome, text: str) -> bool:
    told = outcome.answer if outcome.answer is not None else outcome.pages[0].text if len(outcome.pages) == 1 else None
    return told is not None and told.strip() == text and _NOT_FETCHED.fullmatch(text.partition("\n\n")[0]) is not None


# ── all ──────────────────────────────────────────────────────────────────────


def doubted(outcome: out.Outcome, native: NativeResult, asked: Sequence[op.Operation] = ()) -> out.Outcome:
    """The outcome of what was `asked`; a text, or one that says less, where it is not believed."""
    match outcome:
        case out.CommandOutcome(exit_code=0):
            return msgspec.structs.replace(outcome, exit_code=None) if _ended_otherwise(outcome, native) else outcome
        case out.CommandOutcome():
            return outcome
        case out.FileOutcome():
            believed = not _is_no_file(outcome, text_of(native.content))
        case out.DirectoryOutcome(entries=entries):
            believed = not entries or _are_names([one.path for one in entries], text_of(native.content).strip())
        case out.PathsOutcome(paths=paths):
            believed = not paths or (_are_names(paths, text_of(native.content).strip()) and _end_as(asked, paths))
        case out.MatchesOutcome(matches=matches):
            believed = not matches or _are_matches(matches, text_of(native.content).strip())
        case out.AgentsOutcome():
            return _are_reports(outcome, text_of(native.content).strip())
        case out.AnswersOutcome(answers=answers):
            text = text_of(native.content).strip()
            believed = [one.text for one in answers] != [text] or _NOT_ANSWERED.fullmatch(text) is None
        case out.PagesOutcome():
            believed = not _is_no_page(outcome, text_of(native.content).strip())
        case _:
            return outcome
    return outcome if believed else out.TextOutcome(text_of(native.content))


_ENDED_BY: Final = re.compile(r"\*(\.\w+)\Z")


def _end_as(asked: Sequence[op.Operation], paths: Sequence[str]) -> bool:
    """Whether files are of the kind that was looked for: what `**/*.py` finds ends in `.py`."""
    wanted = [_ENDED_BY.search(one.pattern) if isinstance(one, op.FindFiles) else None for one in asked]
    endings = tuple(one[1].lower() for one in wanted if one is not None)
    if not endings or len(endings) < len(wanted):
        return True
    return all(path.lower().endswith(endings) for path in (*paths[:2], paths[-1]))


def _are_matches(matches: Sequence[out.Match], text: str) -> bool:
    first = matches[0]
    if first.line is None and first.count is None:
        if first.text is None:
            return _are_names([match.path for match in matches], text)
        if first.text.startswith(" ") and not re.search(r"[./\\]", first.path):
            return False  # "Error: no such file"
        if len(matches) == 1 and _REMARK.fullmatch(first.text):
            return False  # "src/a.py: no such file"
        if is_numbered([f"{match.path}:" for match in matches]):
            return False
        if (
            _PLACED.search(first.path)
            or first.text.startswith("//")
            or text.startswith("data:image/")
            or _COUNTED.fullmatch(first.text)
        ):
            return False
    if any(match.line == 0 for match in matches):
        return False  # lines are counted from 1
    return not is_sentence(first.path) and not _NO_NAME.fullmatch(first.path)


_REMARK: Final = re.compile(r" [A-Za-z][\w' ]*[.!]?")
"""Beside a path: words, and no line of a program."""
_PLACED: Final = re.compile(r"#L\d+|\(\d+(?:,\d+)?\)$|^\d\d:?$|\s\S+\s\S+$")
"""In what should be a path: the line of the match, a time, or words."""
_COUNTED: Final = re.compile(r"\s*(?:\d+ \w+\.?)?")
"""Beside a path: how many matches it has, or nothing as below a heading."""
