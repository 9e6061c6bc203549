"""Everything that a command line may reach: an upper bound of its programs, files and addresses.

Rule: never less than what the shell does. Branches, loops and functions count as run; a word is every text it can
have; what is not known is said in `Reach.unknown`, and a rule must not let such a line pass. `programs.py` says what
the arguments of each known program are; every other program is unknown.

It does not see what is in no line: aliases, a program on `PATH` that is not the one of that name, what a configuration
file of a program makes it do.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import product
from typing import Final

from .line_effects import ANY_WORDS, IN_BRACKETS, MOST, UNKNOWN, Notes, Reach, State
from .programs import names_printed, run_program
from .shell_syntax import (
    Block,
    Chain,
    Command,
    Computed,
    Node,
    Part,
    Pipeline,
    Sequence,
    Text,
    Unreadable,
    Variable,
    Word,
    read_script,
    redirects_of,
)
from .text_patterns import ANY, ONE, STAR, is_certain, is_computed

_MOST_COMMANDS: Final = 3000
_PWD: Final = read_script("pwd")


@lru_cache(maxsize=32)
def reach_of(line: str, cwd: str, home: str | None = None) -> Reach:
    """What a line may reach that runs in the folder `cwd`."""
    walk = Walk()
    state = State({"HOME": frozenset((home,)) if home else UNKNOWN}, frozenset((cwd,)))
    walk.script(line, state)
    walk.follow_copies()
    walk.unhide()
    return Reach(tuple(walk.effects), tuple(walk.commands), tuple(walk.unknown))


class Walk(Notes):
    """Follows a line and notes what it may reach."""

    def __init__(self) -> None:
        super().__init__()
        self._left = _MOST_COMMANDS
        self._depth = 0

    def script(self, text: str, state: State) -> None:
        """Follows a command line that stands in another, or the line itself."""
        self._depth += 1
        try:
            if self._depth > 8:
                raise Unreadable("it is too deeply nested")
            self.run(read_script(text), state)
        except (Unreadable, RecursionError) as problem:
            self.cannot_tell(str(problem) or "it is too deeply nested")
            self.mention(_seen_words(text), state)
        finally:
            self._depth -= 1

    # ── statements ─────────────────────────────────────────────────────────

    def run(self, node: Node, state: State, *, succeeds: bool = False) -> None:
        """Follows a statement. `succeeds`: what comes after runs only if this succeeded."""
        match node:
            case Sequence(nodes):
                for place, one in enumerate(nodes):
                    self.run(one, state, succeeds=succeeds and place == len(nodes) - 1)
            case Chain(operator, left, right):
                before = state.copy()
                self.run(left, state, succeeds=operator == "&&")
                if operator == "||":
                    state.join(before)
                self.run(right, state, succeeds=succeeds and operator == "&&")
                if not (succeeds and operator == "&&"):
                    state.join(before)
            case Pipeline(nodes):
                for place, one in enumerate(nodes):
                    inner = state.copy()
                    names = self._names_from(nodes[place - 1], state) if place else None
                    if names is not None and isinstance(one, Command) and not redirects_of(one):
                        self._command(one, inner, succeeds=False, piped=names)
                    else:
                        self.run(one, inner)
                    state.join(inner)  # some shells run the last one in the shell itself
            case Block():
                self._block(node, state)
            case Command():
                self._command(node, state, succeeds=succeeds)

    def _block(self, node: Block, state: State) -> None:
        for word in node.words:
            self.fields(word, state)
        self._redirected(node, state)
        if node.kind == "group":
            for one in node.nodes:
                self.run(one, state)
        elif node.kind == "subshell":
            inner = state.copy()
            for one in node.nodes:
                self.run(one, inner)
        elif node.kind == "branch":
            for one in node.nodes:
                inner = state.copy()
                self.run(one, inner)
                state.join(inner)
        elif node.kind == "loop":
            self._loop(node, state)
        else:
            # It may be called at any time from now on: with any arguments, from any folder.
            inner, moves = State({}, UNKNOWN), self.moves
            inner.functions = {*state.functions, node.name or ""}
            for one in node.nodes:
                self.run(one, inner)
            state.functions.add(node.name or "")
            for name in inner.variables:
                state.variables[name] = UNKNOWN
            if self.moves != moves:
                state.folders = UNKNOWN

    def _loop(self, node: Block, state: State) -> None:
        if node.name is not None:
            values = {value for word in node.words for fields in self.fields(word, state) for value in fields}
            unclear = any(is_computed(value) for value in values)
            self.assign(node.name, UNKNOWN if unclear else frozenset(values or {""}), state)
        for _ in range(4):
            inner = state.copy()
            for one in node.nodes:
                self.run(one, inner)
            if node.name is not None:
                inner.variables[node.name] = state.value(node.name)
            if not state.widened(inner):
                return
        self.cannot_tell("a loop changes too much")

    def _redirected(self, node: Command | Block, state: State) -> str | None:
        """Notes where streams go; gives the text of a heredoc, when it is known."""
        given: str | None = None
        inputs = 0
        for operator, target, number in redirects_of(node):
            inputs += operator[0] == "<" and number in ("", "0")
            if operator in ("<<", "<<<"):
                texts = self._joined(target, state)
                given = next(iter(texts)) if len(texts) == 1 and is_certain(next(iter(texts))) else ANY
                given = given if number in ("", "0") else ANY
                continue
            for fields in self.fields(target, state):
                for name in fields or [ANY]:
                    if operator in (">&", "<&") and (name.rstrip("-").isdigit() or name == "-"):
                        continue
                    self.touch("read" if operator in ("<", "<&") else "write", name, state)
                    if operator == "<>":
                        self.touch("read", name, state)
        # The last one holds, and which that is, the place of a heredoc does not tell.
        return given if inputs < 2 else ANY

    # ── commands ───────────────────────────────────────────────────────────

    def _names_from(self, node: Node, state: State) -> list[str] | None:
        """The names of files that a command prints, where it is known that it prints no others."""
        if (
            not isinstance(node, Command)
            or node.assignments
            or any(isinstance(p, Computed) for w in node.words for p in w)
        ):
            return None
        if "find" in state.functions or any(
            operator[0] == ">" and number != "2" for operator, _, number in redirects_of(node)
        ):
            return None
        meanings = [self.fields(word, state) for word in node.words]
        if any(len(meaning) != 1 for meaning in meanings):
            return None
        return names_printed([word for meaning in meanings for word in meaning[0]])

    def _command(self, node: Command, state: State, *, succeeds: bool, piped: list[str] | None = None) -> None:
        self._left -= 1
        if self._left < 0:
            raise Unreadable("it has too many commands")
        for name, word in node.assignments:
            values = self._joined(word, state)
            # Without its redirection some shells do not assign; before a command it is set for that command alone.
            kept = values if not redirects_of(node) else values | state.value(name)
            self.assign(name, kept, state if not node.words else state.copy())
        given = self._redirected(node, state)
        if not node.words:
            return
        choices = [self.fields(word, state) for word in node.words]
        choices[0] = _without_names_of_none(choices[0])
        count = 1
        for choice in choices:
            count *= len(choice)
        meanings: Iterable[tuple[list[str], ...]] = product(*choices)
        if count > MOST:
            meanings = [tuple([*{value: None for fields in choice for value in fields}] for choice in choices)]
            if any(len(choice) > 1 for choice in choices[:1]):
                self.cannot_tell("the name of a program has too many values")
        before, after = state.copy(), None
        for meaning in meanings:
            inner = before.copy()
            words = [value for fields in meaning for value in fields]
            if words and words[0] != ANY_WORDS:
                self.commands[" ".join(words)] = None
            if words:
                self.piped = piped
                run_program(self, words, inner, given)
                self.piped = None
            if after is None:
                after = inner
            else:
                after.join(inner)
        if after is not None:
            state.variables, state.folders, state.functions = after.variables, after.folders, after.functions
        if not succeeds:
            state.go(state.folders | before.folders)  # `cd` may fail

    # ── words ──────────────────────────────────────────────────────────────

    def fields(self, word: Word, state: State) -> list[list[str]]:
        """What a word may become: for each possibility the words that the program gets."""
        found: list[list[str]] = [[]]
        for one in _braces(word):
            made = self._fields_of(one, state)
            found = [[*fields, *more] for fields in found for more in made]
            if len(found) > MOST:
                return [[ANY_WORDS]]
        return found

    def _fields_of(self, word: Word, state: State) -> list[list[str]]:
        # Each possibility: the words that are complete, the one that is begun, and whether it is there if empty.
        made: list[tuple[list[str], str, bool]] = [([], "", False)]
        parts = tuple(self._with_home(word, state))
        for place, part in enumerate(parts):
            if len(parts) > place + 1 and self._opens(part, state):
                # A `[` whose `]` is in a later part: what is between them may be quoted, or computed. Or a variable
                # that zsh changes by what follows.
                for rest in parts[place:]:
                    if not isinstance(rest, Text):
                        self._values(rest, state)
                splits = any(not isinstance(rest, Text) and not rest.quoted for rest in parts[place:])
                more = [ANY_WORDS] if splits else []
                return [[*whole, begun + ANY, *more] for whole, begun, _ in made]
            if isinstance(part, Text):
                text = part.text if part.quoted else _globs(part.text, alone=len(word) == 1)
                self.commands_in_text = self.commands_in_text or IN_BRACKETS.search(part.text) is not None
                made = [(whole, begun + text, True) for whole, begun, _ in made]
                continue
            values = self._values(part, state)
            if any(isinstance(one, Text) and one.text for one in parts) or len(parts) > 2:
                values = _known(values)
            if part.quoted:
                made = [(whole, begun + value, True) for whole, begun, _ in made for value in values]
            else:
                made = [more for one in made for value in values for more in _added(one, value)]
            if len(made) > MOST:
                for rest in word[place + 1 :]:
                    if not isinstance(rest, Text):
                        self._values(rest, state)
                return [[ANY_WORDS]]
        return [[*whole, begun] if there or begun else whole for whole, begun, there in made]

    def _opens(self, part: Part, state: State) -> bool:
        """Whether a part has a `[` outside quotes that does not end in it, or what follows may change it."""
        if isinstance(part, Variable) and part.changed:
            return True
        if part.quoted:
            return False
        texts = (part.text,) if isinstance(part, Text) else state.value(part.name) if isinstance(part, Variable) else ()
        return any(text.rfind("[") > text.rfind("]") for text in texts)

    def _joined(self, word: Word, state: State) -> frozenset[str]:
        """What a word may be where it is neither split nor matched with file names."""
        texts = {""}
        for part in self._with_home(word, state):
            values = frozenset((part.text,)) if isinstance(part, Text) else _known(self._values(part, state))
            texts = {text + value for text in texts for value in values}
            if len(texts) > MOST:
                texts = {ANY}
        if any(isinstance(part, Text) and not part.quoted and ":~" in part.text for part in word):
            return UNKNOWN
        if any(isinstance(part, Variable) and part.changed for part in word):
            return UNKNOWN
        return frozenset(texts)

    def _values(self, part: Variable | Computed, state: State) -> frozenset[str]:
        if isinstance(part, Variable):
            return state.value(part.name)
        if part.script is not None:
            self.run(part.script, state.copy())
            if part.script == _PWD and "pwd" not in state.functions and not any("\n" in one for one in state.folders):
                return state.folders
        if part.assigns:
            self.assign(part.assigns, UNKNOWN, state)
        return frozenset(("/dev/fd/63",)) if part.is_file else UNKNOWN

    def _with_home(self, word: Word, state: State) -> Iterable[Part]:
        """The parts of a word, with `~` as the folder it stands for."""
        first = word[0] if word else None
        if not isinstance(first, Text) or first.quoted or not first.text.startswith("~"):
            return word
        if first.text.startswith("~/") or (first.text == "~" and len(word) == 1):
            return (
                Variable("HOME", quoted=True),
                *(() if first.text == "~" else (Text(first.text[1:], quoted=False),)),
                *word[1:],
            )
        return (Computed(None, quoted=True), *word[1:])


def _without_names_of_none(choices: list[list[str]]) -> list[list[str]]:
    """What a command may begin with, without names with spaces that zsh would look for and not find."""
    found = [one for one in choices if not one or "/" in one[0] or len(one[0].split()) < 2]
    return found or choices


def _known(values: frozenset[str]) -> frozenset[str]:
    """The values of a variable where its text is used: which files a glob in it matched, only running would tell."""
    return values if all(is_certain(value) for value in values) else UNKNOWN


def _added(made: tuple[list[str], str, bool], value: str) -> list[tuple[list[str], str, bool]]:
    """A possibility with the value of a variable that is not quoted: split at its spaces, or, in zsh, as it is. An
    option with spaces in it is none that a program knows."""
    found = [_split_onto(made, value)]
    if is_certain(value) and len(value.split()) > 1 and (made[1] or not value.startswith("-")):
        found.append((made[0], made[1] + value, True))
    return found


def _split_onto(made: tuple[list[str], str, bool], value: str) -> tuple[list[str], str, bool]:
    """A possibility with the value of a variable that is not quoted: the shell splits it at spaces."""
    whole, begun, there = made
    if not is_certain(value):
        return [*whole, *([begun + ANY] if begun else []), ANY_WORDS], ANY, True
    pieces = value.split()
    if not pieces:
        return (whole, begun, there) if not value or not begun else ([*whole, begun], "", False)
    pieces = [_globs(piece, alone=False) for piece in pieces]
    if value[0].isspace() and (begun or there):
        whole, begun = [*whole, begun], ""
    pieces[0] = begun + pieces[0]
    if value[-1].isspace():
        return [*whole, *pieces], "", False
    return [*whole, *pieces[:-1]], pieces[-1], True


def _globs(text: str, *, alone: bool) -> str:
    """Text outside quotes with the shell's patterns as marks."""
    if text in ("[", "]") and alone:
        return text
    if "[" in text:
        start = text.index("[")
        end = text.rfind("]", start)
        text = text[:start] + ANY + (text[end + 1 :] if end >= 0 else "")
    return text.replace("**", ANY).replace("*", STAR).replace("?", ONE)


_Element = tuple[str, bool] | Part


def _braces(word: Word) -> list[Word]:
    """The words that the braces in a word make of it."""
    if not any(isinstance(part, Text) and not part.quoted and "{" in part.text for part in word):
        return [word]
    elements: list[_Element] = []
    for part in word:
        if isinstance(part, Text) and not part.quoted:
            elements += [(character, False) for character in part.text]
        else:
            elements.append(part)
    return [_rejoined(one) for one in _expanded(elements, 0)]


def _expanded(elements: list[_Element], start: int) -> list[list[_Element]]:
    for first in range(start, len(elements)):
        if elements[first] != ("{", False):
            continue
        depth, commas, dots = 0, [first], False
        for place in range(first, len(elements)):
            element = elements[place]
            if element == ("{", False):
                depth += 1
            elif element == ("}", False):
                depth -= 1
                if depth == 0:
                    return _chosen(elements, first, place, commas, dots=dots)
            elif element == (",", False) and depth == 1:
                commas.append(place)
            elif element == (".", False) and depth == 1 and elements[place - 1] == (".", False):
                dots = True
        # No end: the shell may still find pairs further in, so everything from here on is open.
        return [[*elements[:first], Computed(None, quoted=False)]] if (",", False) in elements[first:] else [elements]
    return [elements]


def _chosen(elements: list[_Element], first: int, last: int, commas: list[int], *, dots: bool) -> list[list[_Element]]:
    before, after = elements[:first], elements[last + 1 :]
    if len(commas) == 1:
        if dots:
            return _expanded([*before, Computed(None, quoted=True), *after], first)
        return _expanded(elements, first + 1)
    found: list[list[_Element]] = []
    for start, end in zip(commas, [*commas[1:], last], strict=True):
        found += _expanded([*before, *elements[start + 1 : end], *after], first)
        if len(found) > 64:
            raise Unreadable("it has braces that make too many words")
    return found


def _rejoined(elements: list[_Element]) -> Word:
    parts: list[Part] = []
    for element in elements:
        if isinstance(element, Text | Variable | Computed):
            parts.append(element)
        else:
            last = parts[-1] if parts else None
            if isinstance(last, Text) and not last.quoted:
                parts[-1] = Text(last.text + element[0], quoted=False)
            else:
                parts.append(Text(element[0], quoted=False))
    return tuple(parts)


def _seen_words(text: str) -> list[str]:
    """What looks like a word in a line that cannot be read."""
    for mark in "'\"`$(){};|&<>\\\n\t":
        text = text.replace(mark, " ")
    return [word for word in dict.fromkeys(text.split(" ")) if word][:2000]
