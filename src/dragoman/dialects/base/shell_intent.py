"""What a command line is seen to do to files: read, search, list or write them, beside being a command.

Rule: never a guess. A command line is parsed as the shell would; a word that is computed (`$F`, `*`,
`~`), an option that is not known, or a command in a branch or a loop gives nothing at all. Reading
counts only where the output is shown; writing only where the content stands in the command line
(a heredoc, `echo`, `printf`), because no operation says "written, with content nobody knows".
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from dragoman.model import operations as op
from dragoman.model.calls import Call

from .patch_text import PatchError, read_patch, script_in

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


def with_intents(call: Call) -> Call:
    """The call with what its command lines are seen to do; the commands stay what they are."""
    found = [
        intent
        for operation in call.operations
        if isinstance(operation, op.RunCommand)
        for intent in intents(operation.command, operation.cwd)
    ]
    return replace(call, intents=tuple(found)) if found else call


def intents(command: str, directory: str | None = None) -> tuple[op.Operation, ...]:
    """What a command line that runs in `directory` is seen to do, in order."""
    try:
        root = _parser().parse(_to_parse(command)).root_node
    except UnicodeEncodeError:
        return ()
    if root.has_error:
        return ()
    shell = _Shell(directory)
    try:
        shell.run(root, ())
    except RecursionError:  # hundreds of commands in a row are nested as deeply
        return ()
    except UnicodeDecodeError:  # a word that ends inside a character, or one of `_STANDS_FOR`
        return ()
    return tuple(shell.found)


# tree-sitter-bash 0.25.1 looks characters up in a table of 256 without looking at their size: `{` before U+31860 ends
# the process with a segmentation fault (its issue 337, open). So it is given each byte of the text as a character of
# its own, none above U+00FF. Two of them would be taken for spaces; control characters stand for those.
_STANDS_FOR = {0x85: 0x01, 0xA0: 0x02}
_RESTORED = {0x01: 0x85, 0x02: 0xA0}


def _to_parse(command: str) -> bytes:
    return command.encode() if command.isascii() else command.encode().decode("latin-1").translate(_STANDS_FOR).encode()


def _restored(parsed: bytes) -> str:
    """The text of the command that `parsed` was made from."""
    text = parsed.decode()
    return text if text.isascii() else text.translate(_RESTORED).encode("latin-1").decode()


@cache
def _parser() -> Parser:
    # Loaded when the first command line is looked at: reading calls does without.
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


# ── words ────────────────────────────────────────────────────────────────────

Word = str | None
"""A word as the program gets it; `None` when only running would tell."""

_PLAIN = re.compile(
    # An option is no file's name, so the shell leaves the marks of a pattern in it alone.
    r"(?:[^\\*?\[\]{}~$`\"'<>|&;()\s!]|(?<=.)[~!]|\\.)+|!|-(?:[^\\{}~$`\"'<>|&;()\s]|\\.)+",
    re.DOTALL,
)


def _text(node: Node) -> str:
    return _restored(node.text or b"")


def _word(node: Node) -> Word:
    match node.type:
        case "command_name":
            return _word(node.children[0])
        case "word":
            text = _text(node)
            return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL) if _PLAIN.fullmatch(text) else None
        case "number":
            return _text(node)
        case "raw_string":
            return _text(node)[1:-1]
        case "string":
            inner = [child for child in node.named_children if child.type != "string_content"]
            return None if inner else re.sub(r"\\([\"\\$`])", r"\1", _text(node)[1:-1]).replace("\\\n", "")
        case "concatenation":
            words = [_word(child) for child in node.children]
            return None if None in words else "".join(word for word in words if word is not None)
    return None


class _Redirect(NamedTuple):
    """Where a stream goes to or comes from."""

    operator: str
    target: Word
    descriptor: str


class _Stage(NamedTuple):
    """One program of a pipeline."""

    words: tuple[Word, ...]
    redirects: tuple[_Redirect, ...] = ()

    @property
    def shown(self) -> bool:
        """Whether what it prints goes on to the next stage or to the reader."""
        return not any(
            one.operator in (">", ">>", "&>", "&>>", ">|") and one.descriptor in ("", "1") for one in self.redirects
        )

    @property
    def given(self) -> Word:
        """The text it is given in a heredoc; `None` when there is none, or its content is computed."""
        return next((one.target for one in self.redirects if one.operator == "<<"), None)


# ── the shell ────────────────────────────────────────────────────────────────


class _Shell:
    """Follows a command line: where it is, and what was found on the way."""

    def __init__(self, directory: str | None) -> None:
        self.found: list[op.Operation] = []
        self.directory = directory or ""
        self.lost = False  # it went where nobody can tell

    def run(self, node: Node, redirects: tuple[_Redirect, ...]) -> None:
        """Looks at a statement; `redirects` are those that stand after it."""
        match node.type:
            case "program" | "compound_statement":
                for child in node.named_children:
                    self.run(child, redirects)
            case "list":
                first, *rest = node.named_children
                self.run(first, ())
                if any(child.type == "&&" for child in node.children):
                    for child in rest:
                        self.run(child, redirects)
            case "redirected_statement":
                self._redirected(node, redirects)
            case "subshell":
                kept = self.directory, self.lost
                for child in node.named_children:
                    self.run(child, redirects)
                self.directory, self.lost = kept
            case "negated_command":
                self.run(node.named_children[0], redirects)
            case "pipeline" | "command":
                stages = [_stage(child) for child in ([node] if node.type == "command" else node.named_children)]
                if stages and all(stages):
                    self._pipeline([stage for stage in stages if stage], redirects)
            case "comment" | "variable_assignment" | "variable_assignments" | "declaration_command":
                pass
            case _:  # a branch or a loop: whether it goes anywhere is not known
                self.lost = self.lost or bool(re.search(r"\b(?:cd|pushd|popd)\b", _text(node)))

    def _redirected(self, node: Node, redirects: tuple[_Redirect, ...]) -> None:
        body = node.child_by_field_name("body")
        own = tuple(_redirects(node))
        heredoc = next((child for child in node.children if child.type == "heredoc_redirect"), None)
        rest = [] if heredoc is None else [child for child in heredoc.named_children if child.type == "pipeline"]
        right = None if heredoc is None else heredoc.child_by_field_name("right")
        if body is None:
            self._pipeline([_Stage((":",))], own)
        elif rest:
            first = _stage(body)
            stages = [_stage(child) for child in rest[0].named_children]
            if first is not None and all(stages):
                fed = first._replace(redirects=(*first.redirects, *own))
                self._pipeline([fed, *(stage for stage in stages if stage)], redirects)
        else:
            self.run(body, (*own, *redirects))
        if right is not None:
            self.run(right, redirects)

    def _pipeline(self, stages: Sequence[_Stage], redirects: tuple[_Redirect, ...]) -> None:
        last = stages[-1]
        stages = [*stages[:-1], last._replace(redirects=(*last.redirects, *redirects))]
        if len(stages) == 1 and stages[0].words[:1] in (("cd",), ("pushd",), ("popd",)):
            self._go(stages[0].words)
            return
        unwrapped = [stage._replace(words=_unwrapped(stage.words)) for stage in stages]
        script = script_in([word or "" for word in unwrapped[0].words]) if None not in unwrapped[0].words else None
        if script is not None:
            if len(stages) == 1 and stages[0].shown and not self.lost:
                self.found += intents(script, self.directory)
            return
        self.found += self._written(unwrapped)
        self.found += self._read(unwrapped)

    def _go(self, words: Sequence[Word]) -> None:
        goal = words[1] if len(words) == 2 and words[0] == "cd" else None
        if goal is None or goal.startswith("-"):
            self.lost = True
        elif goal.startswith("/"):
            self.directory, self.lost = goal, False
        else:
            self.directory = posixpath.join(self.directory, goal)

    def path(self, name: str) -> str | None:
        """A name as seen from where the command line began."""
        if name.startswith("/"):
            return name
        return None if self.lost else posixpath.join(self.directory, name)

    def here(self) -> str | None:
        return None if self.lost else self.directory or "."

    # ── writing ────────────────────────────────────────────────────────────

    def _written(self, stages: Sequence[_Stage]) -> list[op.Operation]:
        found: list[op.Operation] = []
        content: str | None = None
        for stage in stages:
            content = _printed(stage, content)
            for redirect in stage.redirects:
                if redirect.operator in (">", ">>", ">|") and redirect.descriptor in ("", "1"):
                    found += self._put(redirect.target, content, append=redirect.operator == ">>")
            if stage.words[:1] == ("tee",):
                options = _options(stage.words, flags="a", long_flags=("append",))
                for name in options.operands if options else ():
                    found += self._put(name, content, append=bool(options and options.has("a", "append")))
            change = _CHANGES.get(_program(stage))
            if change is not None:
                found += change(self, stage)
        return found

    def _put(self, name: Word, content: str | None, *, append: bool) -> list[op.Operation]:
        path = None if name is None else self.path(name)
        if path is None or content is None or path.startswith("/dev/"):
            return []
        if not append:
            return [op.WriteFile(path, content)]
        whole = content.endswith("\n")
        return [op.EditFile(path, (op.Edit(None, content, whole_lines=True),))] if whole else []

    # ── reading ────────────────────────────────────────────────────────────

    def _read(self, stages: Sequence[_Stage]) -> list[op.Operation]:
        """What the first program shows; the others may only narrow it."""
        first = stages[0]
        reader = _READERS.get(_program(first))
        if reader is None or not all(stage.shown for stage in stages):
            return []
        if not all(_program(stage) in _FILTERS for stage in stages[1:]):
            return []
        found = reader(self, first)
        for stage in stages[1:]:
            found = [_narrowed(one, stage) for one in found]
        return found


def _stage(node: Node) -> _Stage | None:
    if node.type == "redirected_statement":
        body = node.child_by_field_name("body")
        inner = None if body is None else _stage(body)
        return inner and inner._replace(redirects=(*inner.redirects, *_redirects(node)))
    if node.type != "command":
        return None
    parts = [child for child in node.named_children if child.type != "variable_assignment"]
    words = [_word(child) for child in parts if not child.type.endswith("_redirect")]
    return _Stage(tuple(words), tuple(_redirects(node)))


def _redirects(node: Node) -> Iterator[_Redirect]:
    for child in node.children:
        if child.type == "file_redirect":
            yield _file_redirect(child)
        elif child.type == "heredoc_redirect":
            yield _Redirect("<<", _heredoc(child), "")
            yield from (_file_redirect(inner) for inner in child.children if inner.type == "file_redirect")
        elif child.type == "herestring_redirect":
            word = _word(child.named_children[0]) if child.named_children else None
            yield _Redirect("<<", None if word is None else f"{word}\n", "")


def _file_redirect(node: Node) -> _Redirect:
    descriptor, target = node.child_by_field_name("descriptor"), node.child_by_field_name("destination")
    operator = next(_text(child) for child in node.children if not child.is_named)
    return _Redirect(
        operator, None if target is None else _word(target), "" if descriptor is None else _text(descriptor)
    )


def _heredoc(node: Node) -> Word:
    """The content of a heredoc, taken from the lines themselves: the parser's own node leaves some of it out."""
    parts = {child.type: child for child in node.children}
    start, end = parts.get("heredoc_start"), parts.get("heredoc_end")
    if start is None or end is None or node.children[0].type != "<<":
        return None
    root = node
    while root.parent is not None:
        root = root.parent
    line, *rest = (root.text or b"")[start.end_byte - root.start_byte :].split(b"\n")
    word = (start.text or b"").strip(b"'\"\\")
    if word not in rest or any(mark in line for mark in (b"'", b'"', b"\\")):
        return None  # a line that goes on elsewhere than where it seems to
    if any(child.start_point.row == start.start_point.row for child in node.children_by_field_name("argument")):
        return None  # more words for the program stand after it
    content = b"".join(one + b"\n" for one in rest[: rest.index(word)])
    if start.end_byte + len(line) + 1 + len(content) != end.start_byte:
        return None
    text = _restored(content)
    return text if _text(start)[:1] in "'\"\\" or not re.search(r"[\\$`]", text) else None


_BEFORE = ("time", "nohup", "command", "sudo", "exec", "builtin")


def _unwrapped(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """A command without the programs that only start another."""
    while len(words) > 1:
        first, second = words[0], words[1]
        if second is None or second.startswith("-"):
            return words
        if first in _BEFORE or (first == "timeout" and re.fullmatch(r"[\d.]+[smhd]?", second)):
            words = words[2:] if first == "timeout" else words[1:]
        elif first == "env" and re.fullmatch(r"\w+=.*", second, re.DOTALL):
            words = ("env", *words[2:])
        elif first == "env":
            words = words[1:]
        else:
            return words
    return words


def _program(stage: _Stage) -> str:
    words = stage.words
    if not words or words[0] is None:
        return ""
    name = words[0].rpartition("/")[2]
    return f"git {words[1]}" if name == "git" and len(words) > 1 else name


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


def _options(
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

Reader = Callable[[_Shell, _Stage], list[op.Operation]]
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


def _files(
    shell: _Shell, names: Sequence[str], first: int | None = None, last: int | None = None
) -> list[op.Operation]:
    paths = [shell.path(name) for name in names if name != "-"]
    return [op.ReadFile(path, first, last) for path in paths if path is not None]


def _reading(declared: _TextOption) -> Reader:
    def read(shell: _Shell, stage: _Stage) -> list[op.Operation]:
        options = _options(stage.words, **declared)
        if options is None:
            return []
        names = options.operands or [
            one.target for one in stage.redirects if one.operator == "<" and one.target is not None
        ]
        return _files(shell, names)

    return read


def _bat(shell: _Shell, stage: _Stage) -> list[op.Operation]:
    options = _options(stage.words, **_BAT)
    if options is None:
        return []
    span = options.last("r", "line-range")
    found = re.fullmatch(r"(\d*):(\d*)", span) if span is not None else None
    if span is not None and found is None:
        return []
    first, last = (int(found[1]) if found[1] else None, int(found[2]) if found[2] else None) if found else (None, None)
    return _files(shell, options.operands, first, last)


def _count(stage: _Stage) -> tuple[str | None, list[str]] | None:
    """The count of `head` and `tail`, signs and all, and the files; `None` when it is not in lines."""
    words = [f"-n{word[1:]}" if word and re.fullmatch(r"-\d+", word) else word for word in stage.words]
    options = _options(words, flags="qvfF", valued="n", long_flags=("quiet", "follow"), long_valued=("lines",))
    return None if options is None else (options.last("n", "lines"), options.operands)


def _head(shell: _Shell, stage: _Stage) -> list[op.Operation]:
    counted = _count(stage)
    if counted is None:
        return []
    count, names = counted
    if count is not None and not count.isdecimal():
        return []
    return _files(shell, names, 1, 10 if count is None else int(count))


def _tail(shell: _Shell, stage: _Stage) -> list[op.Operation]:
    counted = _count(stage)
    if counted is None:
        return []
    count, names = counted
    # The last lines of a file have no numbers as long as nobody counted them.
    return _files(shell, names, int(count[1:]) if count and re.fullmatch(r"\+\d+", count) else None)


def _ranges(stage: _Stage) -> tuple[list[tuple[int, int | None]], list[str]] | None:
    """The lines `sed -n '5,9p'` prints and the files it prints them of."""
    options = _options(stage.words, flags="nEru", valued="e", long_flags=("quiet", "silent"))
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


def _sed(shell: _Shell, stage: _Stage) -> list[op.Operation]:
    read = _ranges(stage)
    if read is None:
        return []
    return [one for first, last in read[0] for one in _files(shell, read[1], first, last)]


def _narrowed(operation: op.Operation, stage: _Stage) -> op.Operation:
    """A whole file that is shown through `sed -n`, `head` or `tail -n +5` is shown in part."""
    if not isinstance(operation, op.ReadFile) or operation.first_line is not None or operation.last_line is not None:
        return operation
    program = _program(stage)
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


def _search(shell: _Shell, options: _Options, names: Sequence[str], search: op.SearchText) -> list[op.Operation]:
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
    paths = [shell.path(name) for name in names] if names else [shell.here()]
    return [replace(search, path=path) for path in paths if path is not None]


def _ripgrep(shell: _Shell, stage: _Stage) -> list[op.Operation]:
    options = _options(stage.words, **_RG)
    if options is None:
        return []
    globs = [*options.given.get("g", ()), *options.given.get("glob", ())]
    included = _either([glob for glob in globs if not glob.startswith("!")])
    excluded = _either([glob[1:] for glob in globs if glob.startswith("!")])
    ignoring = False if options.has("u", "no-ignore") else None
    if options.has("files"):
        return [] if excluded else _all_files(shell, options.operands, included, respect_ignore=ignoring)
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
    return _search(shell, options, names, search)


def _either(globs: Sequence[str]) -> str | None:
    """Several globs as one."""
    return globs[0] if len(globs) == 1 else f"{{{','.join(globs)}}}" if globs else None


def _all_files(
    shell: _Shell, names: Sequence[str], glob: str | None = None, *, respect_ignore: bool | None = None
) -> list[op.Operation]:
    pattern = "**/*" if glob is None else glob if "/" in glob else f"**/{glob}"
    paths = [shell.path(name) for name in names] if names else [shell.here()]
    return [op.FindFiles(pattern, path, respect_ignore=respect_ignore) for path in paths if path is not None]


def _grep(
    shell: _Shell, stage: _Stage, *, recursive: bool = False, extended: bool = False, skip: int = 1
) -> list[op.Operation]:
    options = _options(stage.words, **_GREP, skip=skip)
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
    return _search(shell, options, names, search)


def _ag(shell: _Shell, stage: _Stage) -> list[op.Operation]:
    options = _options(stage.words, **_AG)
    if options is None or not options.operands:
        return []
    pattern, *names = options.operands
    case = True if options.has("s") else None
    return _search(shell, options, names, op.SearchText(pattern, literal=options.has("Q"), case_sensitive=case))


# ── listing ──────────────────────────────────────────────────────────────────


def _listing(shell: _Shell, names: Sequence[str], depth: int | None = None) -> list[op.Operation]:
    paths = [shell.path(name) for name in names] if names else [shell.here()]
    return [op.ListDirectory(path, depth=depth) for path in paths if path is not None]


def _ls(shell: _Shell, stage: _Stage) -> list[op.Operation]:
    options = _options(
        stage.words, flags="1aAlhFtrSRpsinogGkLcuUCmx", long_flags=("all", "almost-all", "color", "human-readable")
    )
    if options is None:
        return []
    return _all_files(shell, options.operands) if options.has("R") else _listing(shell, options.operands)


def _tree(shell: _Shell, stage: _Stage) -> list[op.Operation]:
    options = _options(stage.words, flags="aCFhnpsd", valued="L", long_flags=("noreport", "dirsfirst"))
    if options is None or options.odd("L") or options.has("d"):
        return []
    depth = options.number("L")
    return _all_files(shell, options.operands) if depth is None else _listing(shell, options.operands, depth)


def _find(shell: _Shell, stage: _Stage) -> list[op.Operation]:
    words = [word for word in stage.words[1:] if word is not None]
    if len(words) != len(stage.words) - 1:
        return []
    start = next((index for index, word in enumerate(words) if word.startswith(("-", "(", "!"))), len(words))
    names, tests = words[:start], words[start:]
    glob, sensitive = "*", None
    while tests:
        match tests[:2]:
            case ["-type", "f"]:
                pass
            case ["-name" | "-iname" as test, name] if glob == "*":
                glob, sensitive = name, False if test == "-iname" else None
            case ["-print", *_]:
                tests = [tests[0], *tests]
            case _:
                return []
        tests = tests[2:]
    paths = [shell.path(name) for name in names] if names else [shell.here()]
    return [op.FindFiles(f"**/{glob}", path, sensitive) for path in paths if path is not None]


def _fd(shell: _Shell, stage: _Stage) -> list[op.Operation]:
    options = _options(
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
        return _all_files(shell, [], f"*.{extension}", respect_ignore=ignoring)
    if options.has("g", "glob") and names and extension is None:
        return _all_files(shell, names[1:], names[0], respect_ignore=ignoring)
    return []  # anything else is a regular expression


_READERS: Mapping[str, Reader] = {
    **dict.fromkeys(("cat", "tac"), _reading(_CAT)),
    **dict.fromkeys(("less", "more"), _reading(_PAGER)),
    "nl": _reading(_NUMBERED),
    **dict.fromkeys(("bat", "batcat"), _bat),
    "head": _head,
    "tail": _tail,
    "sed": _sed,
    "rg": _ripgrep,
    "grep": _grep,
    "egrep": lambda shell, stage: _grep(shell, stage, extended=True),
    "git grep": lambda shell, stage: _grep(shell, stage, recursive=True, skip=2),
    "ag": _ag,
    "ls": _ls,
    "tree": _tree,
    "find": _find,
    **dict.fromkeys(("fd", "fdfind"), _fd),
    "git ls-files": lambda shell, stage: _all_files(shell, []) if len(stage.words) == 2 else [],
}
_FILTERS = frozenset(
    ("cat", "nl", "head", "tail", "sed", "grep", "egrep", "rg", "sort", "uniq", "cut", "tr", "less", "more", "column")
)  # fmt: skip
"""Programs that show what they are given, or part of it."""


# ── writing ──────────────────────────────────────────────────────────────────


def _printed(stage: _Stage, given: str | None) -> str | None:
    """What a program prints, where that stands in the command line."""
    words = stage.words
    match _program(stage):
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
            return None if re.search(r"%|\\[^nt\\]", words[1]) else _unescaped(words[1])
        case "printf" if len(words) == 3 and words[1] in ("%s", "%s\\n") and words[2] is not None:
            return words[2] + ("\n" if words[1] == "%s\\n" else "")
    return None


def _unescaped(text: str) -> str:
    return re.sub(r"\\([nt\\])", lambda found: {"n": "\n", "t": "\t", "\\": "\\"}[found[1]], text)


def _rm(shell: _Shell, stage: _Stage, skip: int = 1) -> list[op.Operation]:
    # With `-r` it may be a folder, which no operation deletes.
    options = _options(stage.words, flags="fivq", long_flags=("force", "verbose", "cached"), skip=skip)
    if options is None or options.has("cached"):
        return []
    paths = [shell.path(name) for name in options.operands]
    return [op.DeleteFile(path) for path in paths if path is not None]


def _mv(shell: _Shell, stage: _Stage, skip: int = 1) -> list[op.Operation]:
    options = _options(stage.words, flags="fivn", long_flags=("force", "verbose"), skip=skip)
    if options is None or len(options.operands) < 2:
        return []
    *names, goal = options.operands
    into = goal.endswith("/") or len(names) > 1
    found: list[op.Operation] = []
    for name in names:
        to = posixpath.join(goal, posixpath.basename(name.rstrip("/"))) if into else goal
        path, target = shell.path(name), shell.path(to)
        if path is not None and target is not None:
            found.append(op.MoveFile(path, target))
    return found


def _patch(shell: _Shell, stage: _Stage) -> list[op.Operation]:
    text = stage.given if len(stage.words) == 1 else stage.words[1] if len(stage.words) == 2 else None
    if text is None or shell.lost:
        return []
    try:
        return list(read_patch(text, shell.directory or None))
    except PatchError:
        return []


_CHANGES: Mapping[str, Reader] = {
    "rm": _rm,
    "git rm": lambda shell, stage: _rm(shell, stage, skip=2),
    "mv": _mv,
    "git mv": lambda shell, stage: _mv(shell, stage, skip=2),
    **dict.fromkeys(("apply_patch", "applypatch"), _patch),
}
