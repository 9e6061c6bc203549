"""A command line as a tree: which commands there are, in which order, with which words.

Rule: what this reader does not know is `Unreadable`, never skipped. It reads what `bash` and `sh` have in common, and
of bash what models use. Reading takes time linear in the line.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from .text_patterns import MARKS


class Unreadable(Exception):
    """The line has something that this reader does not know."""


class Text(NamedTuple):
    """Characters of a word; `quoted` ones are taken as they are."""

    text: str
    quoted: bool


class Variable(NamedTuple):
    name: str
    quoted: bool
    changed: bool = False
    """Whether zsh changes its value by what stands behind it: `$x:h`, `$x[1,4]`."""


class Computed(NamedTuple):
    """A part whose text only running would tell; `script` is what runs for it."""

    script: Node | None
    quoted: bool
    is_file: bool = False
    """Whether it is a `<(…)`: the name of a pipe, and no text of any command."""
    assigns: str | None = None


Part = Text | Variable | Computed
Word = tuple[Part, ...]


class Redirect(NamedTuple):
    operator: str
    target: Word
    """For `<<` the text itself."""
    number: str = ""
    """The stream that is redirected, where it is written."""


class Command(NamedTuple):
    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()


class Sequence(NamedTuple):
    nodes: tuple[Node, ...]


class Chain(NamedTuple):
    """`a && b` or `a || b`."""

    operator: str
    left: Node
    right: Node


class Pipeline(NamedTuple):
    nodes: tuple[Node, ...]


class Block(NamedTuple):
    """A group, subshell, branch or loop: alternatives that may or may not run, in any number for a loop."""

    kind: str
    """group, subshell, branch, loop or function."""
    nodes: tuple[Node, ...]
    redirects: tuple[Redirect, ...] = ()
    words: tuple[Word, ...] = ()
    name: str | None = None
    """The variable of a `for`, or the name of a function."""


Node = Command | Sequence | Chain | Pipeline | Block

_SPACE: Final = " \t"
_ENDS_WORD: Final = " \t\n;&|<>()"
_OPERATORS: Final = ("&&", "||", ";;", "|&", ";", "&", "|", "\n", "(", ")")
_REDIRECTS: Final = ("<<<", "&>>", "<<-", "<<", ">>", ">|", "&>", "<>", ">&", "<&", ">", "<")
_AFTER_BOTH: Final = re.compile(r"[\n;|&()#]|[0-9]*[<>]|\Z")
"""What may follow `&> FILE` to mean the same in every shell."""
_NUMBERS: Final = re.compile(r"<[0-9]*-[0-9]*>")
_RESERVED: Final = frozenset(
    (
        "if",
        "then",
        "elif",
        "else",
        "fi",
        "for",
        "while",
        "until",
        "do",
        "done",
        "case",
        "esac",
        "select",
        "function",
        "{",
        "}",
        "!",
        "[[",
        "time",
        "coproc",
        "in",
    )
)
_DEEPEST: Final = 24
_LONGEST: Final = 1_000_000
_NAME_START: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_NAME: Final = _NAME_START | frozenset("0123456789")
_CHANGES: Final = re.compile(r"\[|:[a-zA-Z&]")
_SPECIAL: Final = frozenset("@*#?-$!0123456789")
_ARITHMETIC: Final = frozenset("0123456789 \t\n+-*/%()<>=&|!~^?:,")
_ESCAPES: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "e": "\x1b",
    "E": "\x1b",
}


def read_script(text: str, depth: int = 0) -> Sequence:
    """The tree of a command line or script; `Unreadable` when something in it is not known."""
    if len(text) > _LONGEST or depth > _DEEPEST:
        raise Unreadable("it is too long or too deeply nested")
    if "\0" in text or any(mark in text for mark in MARKS):
        raise Unreadable("it has characters that cannot be read")
    reader = _Reader(text, depth)
    found = reader.sequence(())
    if reader.place < len(text):
        raise Unreadable(f"it is not complete, or has {text[reader.place]!r} where no command can begin")
    if reader.heredocs:
        raise Unreadable("a heredoc does not end")
    return found


class _Reader:
    def __init__(self, text: str, depth: int) -> None:
        self.text, self.depth, self.place = text, depth, 0
        self.heredocs: list[tuple[str, bool, bool, list[Redirect], str]] = []

    # ── characters and tokens ──────────────────────────────────────────────

    def _skip(self) -> None:
        text = self.text
        while self.place < len(text):
            if text[self.place] in _SPACE:
                self.place += 1
            elif text.startswith("\\\n", self.place):
                self.place += 2
            elif text[self.place] == "#":
                end = text.find("\n", self.place)
                self.place = len(text) if end < 0 else end
            else:
                return

    def _operator(self) -> str | None:
        self._skip()
        if self._redirect_here():
            return None
        return next((one for one in _OPERATORS if self.text.startswith(one, self.place)), None)

    def _redirect_here(self) -> str | None:
        if self.text.startswith(("<(", ">("), self.place):
            return None
        return next((one for one in _REDIRECTS if self.text.startswith(one, self.place)), None)

    def _newline(self) -> None:
        """Passes the end of a line, and the heredocs that begin after it."""
        self.place += 1
        for word, quoted, tabs, into, number in self.heredocs:
            lines: list[str] = []
            begun: str | None = None
            while True:
                if self.place >= len(self.text):
                    raise Unreadable("a heredoc does not end")
                end = self.text.find("\n", self.place)
                end = len(self.text) if end < 0 else end
                line = self.text[self.place : end]
                self.place = min(end + 1, len(self.text))
                line = line.lstrip("\t") if tabs else line
                if begun is not None and word in (line, begun + line):
                    # bash looks for the end in the line that a backslash joins, and other shells in what is written.
                    raise Unreadable("a heredoc may end in a line that is continued")
                if line == word:
                    break
                goes_on = not quoted and (len(line) - len(line.rstrip("\\"))) % 2 == 1
                begun = (begun or "") + line[:-1] if goes_on else None
                lines.append(line + "\n")
            content = "".join(lines)
            parts: Word = (Text(content, quoted=True),)
            if not quoted and any(mark in content for mark in "$`\\"):
                inner = _Reader(content, self.depth + 1)
                parts = tuple(inner.double_quoted(until=None))
            into.append(Redirect("<<", parts, number))
        self.heredocs = []

    def _reserved(self) -> str | None:
        """The reserved word that is next, if one is."""
        self._skip()
        end = self.place
        while end < len(self.text) and self.text[end] not in _ENDS_WORD:
            end += 1
        word = self.text[self.place : end]
        return word if word in _RESERVED else None

    def _expect(self, word: str) -> None:
        self._lines()
        if self._reserved() != word:
            raise Unreadable(f"{word!r} is missing")
        self.place += len(word)

    def _lines(self) -> None:
        while True:
            self._skip()
            if self.text.startswith("\n", self.place):
                self._newline()
            else:
                return

    # ── commands ───────────────────────────────────────────────────────────

    def sequence(self, until: tuple[str, ...]) -> Sequence:
        """Commands up to one of these words or operators, which is left in place."""
        nodes: list[Node] = []
        while True:
            self._lines()
            if self.place >= len(self.text):
                if until:
                    raise Unreadable(f"{until[0]!r} is missing")
                break
            operator = self._operator()
            if operator in until or self._reserved() in until:
                break
            if operator is not None and operator != "(":
                break
            nodes.append(self._chain())
            operator = self._operator()
            if operator in (";", "&"):
                self.place += 1
                if operator == "&":  # in a shell of its own: what it assigns and where it goes is lost
                    nodes[-1] = Block("subshell", (nodes[-1],))
            elif operator == "\n":
                pass
            elif self.place < len(self.text) and operator not in until:
                break
        return Sequence(tuple(nodes))

    def _chain(self) -> Node:
        node = self._pipeline()
        while True:
            operator = self._operator()
            if operator not in ("&&", "||"):
                return node
            self.place += 2
            self._lines()
            node = Chain(operator, node, self._pipeline())

    def _pipeline(self) -> Node:
        while (word := self._reserved()) in ("!", "time"):
            self.place += len(word or "")
            self._skip()
            if word == "time" and self.text.startswith("-p", self.place):
                self.place += 2
        nodes = [self._command()]
        while self._operator() in ("|", "|&"):
            self.place += 2 if self._operator() == "|&" else 1
            self._lines()
            nodes.append(self._command())
        return nodes[0] if len(nodes) == 1 else Pipeline(tuple(nodes))

    def _command(self) -> Node:
        self.depth += 1
        if self.depth > 4 * _DEEPEST:
            raise Unreadable("it is too deeply nested")
        try:
            return self._compound() or self._simple()
        finally:
            self.depth -= 1

    def _compound(self) -> Node | None:
        if self._operator() == "(":
            if self.text.startswith("((", self.place):
                raise Unreadable("it has arithmetic in ((…))")
            self.place += 1
            body = self.sequence((")",))
            self.place += 1
            return Block("subshell", (body,), self._redirects())
        word = self._reserved()
        if word is None:
            return None
        self.place += len(word)
        match word:
            case "{":
                body = self.sequence(("}",))
                self.place += 1
                return Block("group", (body,), self._redirects())
            case "if":
                nodes = [self.sequence(("then",))]
                self._expect("then")
                nodes.append(self.sequence(("elif", "else", "fi")))
                while (word := self._reserved()) == "elif":
                    self.place += 4
                    nodes.append(self.sequence(("then",)))
                    self._expect("then")
                    nodes.append(self.sequence(("elif", "else", "fi")))
                if word == "else":
                    self.place += 4
                    nodes.append(self.sequence(("fi",)))
                self._expect("fi")
                return Block("branch", tuple(nodes), self._redirects())
            case "while" | "until":
                test = self.sequence(("do",))
                self._expect("do")
                body = self.sequence(("done",))
                self._expect("done")
                return Block("loop", (test, body), self._redirects())
            case "for" | "select":
                return self._for()
            case "case":
                return self._case()
            case "function":
                return self._function(self._plain_name())
            case "[[":
                return self._test()
        raise Unreadable(f"it has {word!r} where this reader does not know it")

    def _plain_name(self) -> str:
        self._skip()
        start = self.place
        while self.place < len(self.text) and self.text[self.place] not in _ENDS_WORD + "$`'\"\\{}=":
            self.place += 1
        if start == self.place:
            raise Unreadable("a name is missing")
        return self.text[start : self.place]

    def _for(self) -> Node:
        if self._operator() == "(":
            raise Unreadable("it has a loop with arithmetic")
        name = self._plain_name()
        words: list[Word] = []
        self._lines()
        if self._reserved() == "in":
            self.place += 2
            while self._operator() is None and self.place < len(self.text):
                words.append(self.word())
        else:
            words.append((Computed(None, quoted=False),))
        if self._operator() == ";":
            self.place += 1
        self._expect("do")
        body = self.sequence(("done",))
        self._expect("done")
        return Block("loop", (body,), self._redirects(), tuple(words), name)

    def _case(self) -> Node:
        self._skip()
        words = [self.word()]
        self._expect("in")
        nodes: list[Node] = []
        while True:
            self._lines()
            if self._reserved() == "esac":
                break
            if self._operator() == "(":
                self.place += 1
                self._skip()
            words.append(self.word())
            while self._operator() == "|":
                self.place += 1
                self._skip()
                words.append(self.word())
            if self._operator() != ")":
                raise Unreadable("a pattern of `case` does not end")
            self.place += 1
            nodes.append(self.sequence((";;", "esac")))
            if self._operator() == ";;":
                self.place += 2
                if self.text.startswith("&", self.place):
                    raise Unreadable("it has a `case` that goes on to the next pattern")
        self._expect("esac")
        return Block("branch", tuple(nodes), self._redirects(), tuple(words))

    def _function(self, name: str) -> Node:
        self._skip()
        if self.text.startswith("(", self.place):
            self.place += 1
            self._skip()
            if not self.text.startswith(")", self.place):
                raise Unreadable("it has parentheses that this reader does not know")
            self.place += 1
        self._lines()
        body = self._compound()
        if body is None:
            raise Unreadable("a function has no body")
        return Block("function", (body,), name=name)

    def _test(self) -> Node:
        """`[[ … ]]`: its words are only looked at for what runs in them."""
        words: list[Word] = []
        groups: list[list[Word]] = [[]]
        acts = False
        while True:
            self._skip()
            if self.place >= len(self.text) or self.text[self.place] == "\n":
                raise Unreadable("`[[` does not end in its line")
            if self.text.startswith("]]", self.place) and self.text[self.place + 2 : self.place + 3] in (
                *_ENDS_WORD,
                "",
            ):
                self.place += 2
                break
            if self.text[self.place] in "()<>&|;" and not self.text.startswith(("<(", ">("), self.place):
                joins = self.text.startswith(("&&", "||"), self.place)
                acts = acts or not (joins or self.text[self.place] in "()")
                self.place += 2 if joins else 1
                groups.append([])
                continue
            words.append(self.word())
            groups[-1].append(words[-1])
        for word in words:
            plain = "".join(part.text for part in word if isinstance(part, Text))
            if plain in ("-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"):
                raise Unreadable("it has arithmetic in [[ … ]]")
        if acts or not all(_is_test(group) for group in groups[1:] if group):
            # Where `[[` is no word of the shell, these are redirections, and what is behind `&&` and `||` is run.
            raise Unreadable("`[[` has something in it that other shells would do")
        return Command((), ((Text("[[", quoted=True),), *words), self._redirects())

    def _redirects(self) -> tuple[Redirect, ...]:
        found: list[Redirect] = []
        while True:
            self._skip()
            start = self.place
            while self.place < len(self.text) and self.text[self.place].isdigit():
                self.place += 1
            if not self._redirect(found, self.text[start : self.place]):
                self.place = start
                break
        return self._joined(found)

    def _joined(self, found: list[Redirect]) -> tuple[Redirect, ...]:
        # The text of a heredoc comes later, with the end of the line: the list itself is kept until then.
        return _Late(found) if self.heredocs else tuple(found)

    def _redirect(self, into: list[Redirect], number: str) -> bool:
        operator = self._redirect_here()
        if operator is None:
            return False
        if operator == "<" and _NUMBERS.match(self.text, self.place):
            raise Unreadable("it has <…->, by which zsh matches numbers in names of files")
        self.place += len(operator)
        self._skip()
        start = self.place
        if operator in ("<<", "<<-"):
            word = self.word()
            if not all(isinstance(part, Text) for part in word):
                raise Unreadable("the end of a heredoc is computed")
            written = self.text[start : self.place]
            plain = "".join(part.text for part in word if isinstance(part, Text))
            quoted = any(mark in written for mark in "'\"\\")
            self.heredocs.append((plain, quoted, operator == "<<-", into, number))
        else:
            into.append(Redirect(operator, self.word(), number))
            if ">" in operator and self.text.startswith(("!", "|"), start):
                raise Unreadable("it has `>!`, by which zsh writes to the word that follows")
        if operator.startswith("&"):
            self._skip()
            if not _AFTER_BOTH.match(self.text, self.place):
                # To dash it is `&`, and a redirection of the command that these words are.
                raise Unreadable(f"words follow {operator}, which other shells run as a command")
        return True

    def _simple(self) -> Node:
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            self._skip()
            if self.place >= len(self.text):
                break
            start = self.place
            while self.place < len(self.text) and self.text[self.place].isdigit():
                self.place += 1
            if self._redirect(redirects, self.text[start : self.place]):
                continue
            self.place = start
            operator = self._operator()
            if operator == "(" and len(words) == 1 and not assignments and not redirects:
                written = self.text[: self.place].rstrip().rpartition("\n")[2].split()[-1:]
                plain = "".join(part.text for part in words[0] if isinstance(part, Text))
                if len(words[0]) != 1 or written != [plain]:
                    raise Unreadable("it has parentheses that this reader does not know")
                return self._function(plain)
            if operator is not None:
                break
            name_end = self._assignment() if not words else None
            if name_end is not None:
                name = self.text[self.place : name_end]
                self.place = name_end + 1
                if self.text.startswith("(", self.place):
                    raise Unreadable("it has an array")
                assignments.append((name.removesuffix("+"), self.word(empty=True)))
                if name.endswith("+"):
                    assignments[-1] = (name[:-1], (Computed(None, quoted=True), *assignments[-1][1]))
                continue
            words.append(self.word())
        if not words and not assignments and not redirects and not self.heredocs:
            raise Unreadable("a command is missing")
        return Command(tuple(assignments), tuple(words), self._joined(redirects))

    def _assignment(self) -> int | None:
        """Where the name of an assignment ends, if one is next."""
        place, text = self.place, self.text
        if place >= len(text) or text[place] not in _NAME_START:
            return None
        while place < len(text) and text[place] in _NAME:
            place += 1
        if text.startswith("[", place):
            end = text.find("]", place)
            if end >= 0 and text.startswith(("=", "+="), end + 1):
                raise Unreadable("it has an array")
        if text.startswith("+=", place):
            return place + 1
        return place if text.startswith("=", place) else None

    # ── words ──────────────────────────────────────────────────────────────

    def word(self, *, empty: bool = False) -> Word:
        """The next word."""
        parts: list[Part] = []
        start = self.place
        text = self.text
        while self.place < len(text):
            character = text[self.place]
            if text.startswith(("<(", ">("), self.place) and not parts:
                self.place += 2
                parts.append(Computed(self._inner(")"), quoted=True, is_file=True))
            elif character in _ENDS_WORD:
                break
            elif character == "\\":
                if text.startswith("\\\n", self.place):
                    self.place += 2
                    continue
                parts.append(Text(text[self.place + 1 : self.place + 2] or "\\", quoted=True))
                self.place += 2
            elif character == "'":
                end = text.find("'", self.place + 1)
                if end < 0:
                    raise Unreadable("a quote does not end")
                parts.append(Text(text[self.place + 1 : end], quoted=True))
                self.place = end + 1
            elif character == '"':
                self.place += 1
                parts += [Text("", quoted=True), *self.double_quoted(until='"')]
            elif character == "$":
                parts.append(self._dollar(quoted=False))
            elif character == "`":
                parts.append(self._backticks(quoted=False))
            else:
                end = self.place + 1
                while end < len(text) and text[end] not in _ENDS_WORD and text[end] not in "\\'\"$`":
                    end += 1
                parts.append(Text(text[self.place : end], quoted=False))
                self.place = end
        if self.place == start and not empty:
            raise Unreadable("a word is missing")
        if self.heredocs and "\n" in text[start : self.place]:
            raise Unreadable("a word goes on behind the line in which a heredoc begins")
        return tuple(parts)

    def double_quoted(self, until: str | None) -> list[Part]:
        """The parts of a text in double quotes, or of a heredoc, which has no end mark."""
        parts: list[Part] = []
        plain: list[str] = []
        text = self.text

        def flush() -> None:
            if plain:
                parts.append(Text("".join(plain), quoted=True))
                plain.clear()

        while True:
            if self.place >= len(text):
                if until is None:
                    flush()
                    return parts
                raise Unreadable("a quote does not end")
            character = text[self.place]
            if character == until:
                self.place += 1
                flush()
                return parts
            if character == "\\":
                following = text[self.place + 1 : self.place + 2]
                self.place += 2
                if following == "\n":
                    continue
                plain.append(following if following in ("$", "`", "\\") or following == until else "\\" + following)
            elif character == "$":
                flush()
                parts.append(self._dollar(quoted=True))
            elif character == "`":
                flush()
                parts.append(self._backticks(quoted=True))
            else:
                plain.append(character)
                self.place += 1

    def _inner(self, until: str) -> Node:
        if self.depth > _DEEPEST:
            raise Unreadable("it is too deeply nested")
        inner = _Reader(self.text, self.depth + 1)
        inner.place = self.place
        node = inner.sequence((until,))
        if inner.heredocs:
            raise Unreadable("a heredoc begins in a substitution and ends behind it")
        self.place = inner.place + 1
        return node

    def _dollar(self, *, quoted: bool) -> Part:
        text = self.text
        following = text[self.place + 1 : self.place + 2]
        if text.startswith("$((", self.place):
            end = text.find("))", self.place)
            inside = text[self.place + 3 : end]
            if end < 0 or not set(inside) <= _ARITHMETIC:
                raise Unreadable("it has arithmetic with names in it")
            self.place = end + 2
            return Computed(None, quoted)
        if following == "(":
            self.place += 2
            return Computed(self._inner(")"), quoted)
        if following == "{":
            return self._braced(quoted=quoted)
        if following in _NAME_START:
            end = self.place + 1
            while end < len(text) and text[end] in _NAME:
                end += 1
            name = text[self.place + 1 : end]
            self.place = end
            return Variable(name, quoted, changed=_CHANGES.match(text, end) is not None)
        if following in "=~^+" and text[self.place + 2 : self.place + 3] in _NAME_START:
            raise Unreadable(f"it has ${following}…, in which zsh changes a variable")
        if following in _SPECIAL and following:
            self.place += 2
            return Computed(None, quoted and following != "@")
        if following == "'" and not quoted:
            return self._ansi()
        if following == '"' and not quoted:
            self.place += 2
            inner = self.double_quoted(until='"')
            if all(isinstance(part, Text) for part in inner):
                return Text("".join(part.text for part in inner if isinstance(part, Text)), quoted=True)
            raise Unreadable("it has a translated text that is computed")
        if following == "[":
            raise Unreadable("it has arithmetic in $[…]")
        self.place += 1
        return Text("$", quoted=True)

    def _braced(self, *, quoted: bool) -> Part:
        end = self.text.find("}", self.place)
        inside = self.text[self.place + 2 : end]
        if end < 0 or any(mark in inside for mark in "$`'\"\\{\n@"):
            raise Unreadable("it has ${…} with something in it that this reader does not know")
        self.place = end + 1
        if inside and inside[0] in _NAME_START and set(inside) <= _NAME:
            return Variable(inside, quoted)
        if inside[:1] == "!" and len(inside) > 1:
            # bash 5.2 runs what is in the brackets of `x='a[$(…)]'; echo ${!x}`.
            raise Unreadable("it has ${!…}, which is another variable")
        name = inside.lstrip("!#")
        length = 0
        while length < len(name) and name[length] in _NAME:
            length += 1
        rest = name[length:]
        if not length and inside not in ("#", "?", "$", "!", "-", "*"):
            raise Unreadable("it has ${…} without a name, which zsh computes")
        if "[" in rest[:1] or (rest.startswith(":") and rest[1:2] not in "-=?+"):
            raise Unreadable("it has ${…} with arithmetic in it")
        return Computed(None, quoted, assigns=name[:length] if rest.startswith(("=", ":=")) else None)

    def _ansi(self) -> Part:
        text, found = self.text, list[str]()
        self.place += 2
        while True:
            if self.place >= len(text):
                raise Unreadable("a quote does not end")
            character = text[self.place]
            self.place += 1
            if character == "'":
                return Text("".join(found), quoted=True)
            if character != "\\":
                found.append(character)
                continue
            letter = text[self.place : self.place + 1]
            self.place += 1
            if letter in _ESCAPES:
                found.append(_ESCAPES[letter])
            elif letter in ("\\", "'", '"', "?"):
                found.append(letter)
            else:
                found.append(self._numbered(letter))

    def _numbered(self, letter: str) -> str:
        digits, longest, base = {
            "x": ("0123456789abcdefABCDEF", 2, 16),
            "u": ("0123456789abcdefABCDEF", 4, 16),
            "U": ("0123456789abcdefABCDEF", 8, 16),
        }.get(letter, ("01234567", 3, 8))
        if letter not in "xuU":
            self.place -= 1
        start = self.place
        while self.place < len(self.text) and self.place - start < longest and self.text[self.place] in digits:
            self.place += 1
        number = int(self.text[start : self.place] or "x", base) if self.place > start else -1
        if not 0 < number < (0x80 if letter not in "uU" else 0x110000) or chr(number) in MARKS:
            raise Unreadable("it has an escape that this reader does not know")
        return chr(number)

    def _backticks(self, *, quoted: bool) -> Part:
        end = self.place + 1
        while end < len(self.text) and self.text[end] != "`":
            end += 2 if self.text[end] == "\\" else 1
        inside = self.text[self.place + 1 : end]
        if end >= len(self.text) or "\\" in inside:
            raise Unreadable("it has backquotes that this reader does not know")
        self.place = end + 1
        return Computed(read_script(inside, self.depth + 1), quoted)


def _is_test(words: list[Word]) -> bool:
    """Whether words behind an `&&` in `[[ … ]]` are no command elsewhere: the first is an option or a variable."""
    first = words[0][0] if words[0] else None
    return isinstance(first, Variable) or (isinstance(first, Text) and first.text[:1] in ("-", "!", ""))


class _Late(tuple[Redirect, ...]):
    """Redirections whose list still grows while the line is read."""

    def __new__(cls, found: list[Redirect]) -> _Late:
        made = super().__new__(cls, ())
        made.found = found
        return made

    found: list[Redirect]


def redirects_of(node: Command | Block) -> tuple[Redirect, ...]:
    """The redirections of a command, with the texts of its heredocs."""
    held = node.redirects
    return tuple(held.found) if isinstance(held, _Late) else held
