"""What the arguments of known programs are.

Rule: a program, option or argument that is not in these tables is not known, and the line with it may do anything. A
word that is read as a path without being one does no harm, so programs that only read have all of their words read as
paths.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Final

from .arguments import Handler, Names, Options, may_be_option, names_in, nothing, unknown, words as _w
from .download_programs import curl, wget
from .git_program import git
from .line_effects import ANY_WORDS, IN_BRACKETS, Notes, State, steers
from .searching_programs import PLAIN_GLOB, grep, ripgrep
from .text_patterns import ANY, MARKS, is_certain, is_computed

_SYSTEM_FOLDERS: Final = ("/bin", "/usr/bin")


def run_program(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    """Notes what a program reaches that is started with these words; `given` is the text of a heredoc."""
    name = words[0]
    if not is_certain(name):
        walk.cannot_tell("the name of a program is computed")
        walk.mention(words[1:], state)
        return
    if name in state.functions:
        return
    folder, slash, base = name.rpartition("/")
    name = base if folder in _SYSTEM_FOLDERS else name
    handler = _PROGRAMS.get(name) or (_version if name in _VERSION_OPTION else None)
    if handler is None or (slash and base in _BUILT_IN):
        walk.cannot_tell(f"{name!r} is not a program whose arguments are known")
        walk.mention(words if slash else words[1:], state)
        return
    if (base in _BUILT_IN or base in ("test", "[", "printf")) and any(
        IN_BRACKETS.search(word) or (walk.commands_in_text and not is_certain(word)) for word in (*words, given or "")
    ):
        walk.cannot_tell(f"{base!r} may compute what is in the brackets of an argument")  # zsh 5.9 does
    if not _asks_version(words):
        handler(walk, words, state, given)


# ── the shell's own ──────────────────────────────────────────────────────────


def _cd(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    walk.moves += 1
    rest = [word for word in words[1:] if word not in ("-L", "-P", "--")]
    goals = rest or list(state.value("HOME"))
    if words[0] == "popd" or (words[0] == "pushd" and not rest) or (rest and len(rest) != 1):
        state.go(frozenset((ANY,)))
        return
    found: set[str] = set()
    for goal in goals:
        if goal.startswith(("-", "+", ANY)) or not goal or (".." in goal and not is_certain(goal)):
            found.add(ANY)
        elif goal.startswith("/"):
            found.add(goal)
        else:
            # A `..` goes back along the name by which the folder was reached, and some shells along the folder's own.
            found |= {_up(folder, goal) for folder in state.folders}
            found |= {f"{folder.rstrip('/')}/{goal}" for folder in state.folders}
    state.go(frozenset(found))


def _up(folder: str, goal: str) -> str:
    parts = [part for part in folder.split("/") if part]
    for part in goal.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return ANY if is_computed(folder) and ".." in goal else "/" + "/".join(parts)


def _assigning(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    """`export`, `local`, `declare`, `readonly`, `unset`, `read`."""
    for word in words[1:]:
        name, mark, value = word.partition("=")
        if word.startswith("-"):
            if words[0] != "read" and not re.fullmatch(r"-[gpxfv]+", word):
                walk.cannot_tell(f"the option {word!r} of {words[0]!r} is not known")
            continue
        name = name.removesuffix("+")
        if not is_certain(name) or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            walk.cannot_tell("the name of a variable is computed")
            continue
        if words[0] == "readonly" or name in state.functions:
            walk.cannot_tell(f"{words[0]!r} of {name} is not followed")
        if mark or words[0] in ("read", "unset", "local", "declare", "typeset"):
            known = mark and not word.partition("=")[0].endswith("+") and words[0] != "read"
            before = state.value(name) if words[0] == "local" else frozenset[str]()  # it fails outside of functions
            walk.assign(name, frozenset((value,)) | before if known else frozenset((ANY,)), state)
        elif steers(name):
            walk.cannot_tell(f"it sets {name}, which can change what programs do")


def _set(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    if not all(re.fullmatch(r"[-+][euxvo]+|pipefail|errexit|nounset|xtrace", word) for word in words[1:]):
        unknown(walk, words, state, given)


def _printf(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    if len(words) > 1 and words[1].startswith(("-v", *MARKS)) and words[1] != "--":
        walk.cannot_tell("`printf` may set a variable")


def _test(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    for word in words[1:]:
        if word.startswith(("-v", "-R")):
            walk.cannot_tell("a test may compute something")


def _eval(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    text = " ".join(words[1:])
    if not is_certain(text):
        walk.cannot_tell("`eval` runs something that is computed")
        walk.mention(words[1:], state)
        return
    walk.script(text, state)


def _trap(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    if len(words) > 2 and words[1] not in ("-", "--"):
        inner = state.copy()
        inner.variables, inner.folders = {}, frozenset((ANY,))
        _eval(walk, ["eval", words[1]], inner, given)
    elif len(words) > 1 and words[1] != "-":
        unknown(walk, words, state, given)


# ── programs that start others ───────────────────────────────────────────────


def _start(walk: Notes, words: list[str], state: State, given: str | None, why: str) -> None:
    """The command that is left of a wrapper; it has no effect on the shell itself."""
    if not words:
        walk.cannot_tell(f"what {why!r} starts is not known")
        return
    walk.commands[" ".join(words)] = None
    if words[0] in _BUILT_IN and words[0] in ("cd", "eval", "exec"):
        walk.cannot_tell(f"{why} {words[0]} is not known")
    inner = state.copy()
    inner.functions = set()  # a program is started
    run_program(walk, words, inner, given)


def _wrapper(options: re.Pattern[str] | None = None, operands: int = 0) -> Handler:
    """A program that starts the command behind its options and some operands. `options` is a pattern of one option."""

    def handle(walk: Notes, words: list[str], state: State, given: str | None) -> None:
        rest = words[1:]
        while rest and options is not None and options.fullmatch(rest[0]):
            rest = rest[1:]
        if rest[:1] == ["--"]:
            rest = rest[1:]
        skipped, rest = rest[:operands], rest[operands:]
        if any(may_be_option(word) or "=" in word for word in (*skipped, *rest[:1])):
            unknown(walk, words, state, given)
        _start(walk, rest, state, given, words[0])

    return handle


def _env(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    rest = words[1:]
    while rest and (rest[0] in ("-i", "-", "--") or re.match(r"[A-Za-z_]\w*=", rest[0])):
        if steers(rest[0].partition("=")[0]):
            walk.cannot_tell(f"it sets {rest[0].partition('=')[0]}, which can change what programs do")
        rest = rest[1:]
    if not rest:
        return
    if may_be_option(rest[0]):
        unknown(walk, words, state, given)
    _start(walk, rest, state, given, "env")


def _command(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    rest = words[1:]
    if rest[:1] in (["-v"], ["-V"]):
        return
    if rest[:1] in (["-p"], ["--"]):
        rest = rest[1:]
    if not rest or may_be_option(rest[0]):
        unknown(walk, words, state, given)
    if rest:
        walk.commands[" ".join(rest)] = None
        inner = state.copy()
        inner.functions = set()
        run_program(walk, rest, inner, given)
        state.go(state.folders | inner.folders)
        state.join(inner)


def _shell(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    rest = words[1:]
    inner = state.copy()
    inner.variables, inner.functions = {"HOME": state.value("HOME")}, set()
    while rest and rest[0].startswith("-"):
        option, rest = rest[0], rest[1:]
        if option in ("--norc", "--noprofile", "--login", "--posix", "-"):
            continue
        if option in ("-o", "+o") and rest[:1] in (["pipefail"], ["errexit"], ["nounset"]):
            rest = rest[1:]
            continue
        if not re.fullmatch(r"-[leuxc]+", option):
            unknown(walk, words, state, given)
            return
        if "c" in option:
            if not rest or not is_certain(rest[0]):
                walk.cannot_tell(f"{words[0]!r} runs something that is computed")
                walk.mention(rest, state)
            else:
                walk.script(rest[0], inner)
            return
    if rest:
        walk.cannot_tell(f"{words[0]!r} runs a script that is not looked into")
        walk.mention(rest, state)
    elif given is not None and is_certain(given):
        walk.script(given, inner)
    else:
        walk.cannot_tell(f"{words[0]!r} runs what it is given by another program")


def _xargs(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    rest, placed, apart = words[1:], None, False
    names, walk.piped = walk.piped, None
    while rest and rest[0].startswith("-"):
        option, rest = rest[0], rest[1:]
        apart = apart or re.fullmatch("-[rtx]*0[rtx]*|--null", option) is not None
        if re.fullmatch(r"-[0rtx]+|-[nPL]\d+|--null|--no-run-if-empty|--verbose|--max-(args|procs)=\d+", option):
            continue
        if option in ("-n", "-P", "-L", "-d", "-I") and rest:
            placed = rest[0] if option == "-I" else placed
            rest = rest[1:]
        elif re.fullmatch(r"-I\S+|-d\S+", option):
            placed = option[2:] if option.startswith("-I") else placed
        else:
            unknown(walk, words, state, given)
            return
    rest = rest or ["echo"]
    if not is_certain(rest[0]) or (placed is not None and not placed):
        unknown(walk, words, state, given)
        return
    values = names if names is not None and apart else [ANY if placed else ANY_WORDS]
    if placed:
        for value in values:
            _start(walk, [word.replace(placed, value) for word in rest], state, None, "xargs")
    else:
        _start(walk, [*rest, *values], state, None, "xargs")


# ── programs with arguments of different kinds ───────────────────────────────

_FIND_VALUED: Final = frozenset(
    _w(
        "-name -iname -path -ipath -wholename -regex -iregex -type -maxdepth -mindepth -size -mtime -mmin "
        "-atime -amin -ctime -cmin -user -group -perm -printf -regextype -links -inum -xtype -lname -ilname"
    )
)
_FIND_ACTIONS: Final = frozenset(
    _w("-exec -execdir -ok -okdir -delete -print -print0 -printf -ls -fprint -fprint0 -fprintf -fls -quit")
)
_FIND_FLAGS: Final = frozenset(
    _w(
        "-print -print0 -ls -prune -quit -empty -not -o -or -a -and -depth -xdev -mount -true -false "
        "-executable -readable -writable -follow -H -L -P ! ( ) , -d -nouser -nogroup -daystart"
    )
)


def _name_wanted(expression: list[str]) -> str | None:
    """The glob that the name of everything has that an expression of `find` is true for; `None` where that is not one,
    or cannot be told."""
    if any(word in ("-o", "-or", ",", "!", "-not", "(") for word in expression) or expression.count("-name") != 1:
        return None
    glob = "".join(expression[expression.index("-name") + 1 :][:1])
    actions = [place for place, word in enumerate(expression) if word in _FIND_ACTIONS]
    is_first = not actions or expression.index("-name") < actions[0]
    return glob if is_first and is_certain(glob) and PLAIN_GLOB.fullmatch(glob) else None


def _found(root: str, glob: str | None) -> list[str]:
    """What `find` finds below a folder, and the folder, as far as their names fit."""
    if glob is None:
        return [f"{root.rstrip('/')}/{ANY}", root]
    below = f"{root.rstrip('/')}/{ANY}{glob.replace('*', ANY).replace('?', ANY)}"
    last = root.rstrip("/").rpartition("/")[2] or "/"
    return [below, root] if not is_certain(root) or fnmatchcase(last, glob) else [below]


def names_printed(words: list[str]) -> list[str] | None:
    """The names that `find … -print0` prints, by which no other program can be led elsewhere; `None` for others."""
    first = next((place for place, word in enumerate(words) if place and word.startswith(("-", "!", "(", ","))), None)
    if words[:1] != ["find"] or first is None or words[-1] != "-print0":
        return None
    roots, expression = words[1:first] or ["."], words[first:-1]
    glob = _name_wanted(expression)
    if glob is None or any(word in _FIND_ACTIONS for word in expression) or not all(map(is_certain, roots)):
        return None
    return [name for root in roots for name in _found(root, glob)]


def _find(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    rest, roots = words[1:], list[str]()
    while rest and rest[0] in ("-H", "-L", "-P"):
        rest = rest[1:]
    while rest and not rest[0].startswith(("-", "!", "(", ")", ",")):
        if not is_certain(rest[0][:1]):
            walk.cannot_tell("an argument of 'find' is computed and may be an action")
        roots.append(rest.pop(0))
    roots = roots or ["."]
    glob = _name_wanted(rest)
    for root in roots:
        walk.touch("list", root, state, tree=True)
    while rest:
        word = rest.pop(0)
        if word in _FIND_FLAGS:
            continue
        if word in _FIND_VALUED and rest:
            rest.pop(0)
        elif word in ("-newer", "-anewer", "-cnewer", "-samefile") and rest:
            walk.touch("list", rest.pop(0), state)
        elif word == "-delete":
            for root in roots:
                walk.touch("delete", root, state, tree=True, only=(glob,) if glob else ())
        elif word in ("-exec", "-execdir", "-ok", "-okdir"):
            ends = [
                place
                for place, one in enumerate(rest)
                if one == ";" or (one == "+" and rest[place - 1 : place] == ["{}"])
            ]
            if not ends:
                unknown(walk, words, state, given)
                return
            command, rest = rest[: ends[0]], rest[ends[0] + 1 :]
            for root in roots:
                inner = state.copy()
                if word.endswith("dir"):
                    inner.go(frozenset((ANY,)))
                for value in _found(root, glob) if word in ("-exec", "-ok") else (ANY, root):
                    _start(walk, [one.replace("{}", value) for one in command], inner, None, "find")
        else:
            unknown(walk, words, state, given)
            return


def _until(mark: str) -> str:
    """A pattern of `sed` up to a mark. In brackets the mark does not end it, so there must be none in them."""
    mark = re.escape(mark)
    in_brackets = rf"(?:[^]\[{mark}\\\n]|\[:[a-z]+:\]|\\[a-zA-Z.\-])"
    return rf"(?:[^{mark}\\\n\[]|\\[^\n]|\[\^?\]?{in_brackets}*\])*{mark}"


def _substitution(mark: str) -> str:
    until, mark = _until(mark), re.escape(mark)
    return rf"s{mark}{until}(?:[^{mark}\\\n]|\\[^\n])*{mark}[gpiI0-9]*"


_SED_LINE: Final = rf"(?:\d+|\$|\+\d+|/{_until('/')})"
_SED_SAFE: Final = re.compile(
    rf"\s*(?:{_SED_LINE}(?:,\s*{_SED_LINE})?\s*!?\s*)?"
    rf"(?:\{{|(?:[pdqDGHhgNnPx=}}]|q\d+|{'|'.join(_substitution(mark) for mark in '/|#,')}|)\s*(?:;|\n|\Z|(?=\}}))|"
    r"[aic][ \t]+[^\\\n]*(?:\n|\Z))"  # GNU sed: what follows is text up to the end of the line
)


def _harmless_sed(script: str) -> bool:
    """Whether a script of `sed` only changes what it prints: no `w`, `r`, `e`."""
    if not is_certain(script):
        return False
    place = 0
    while place < len(script):
        found = _SED_SAFE.match(script, place)
        if found is None or found.end() == place:
            return False
        place = found.end()
    return True


def _sed(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    rest, scripts, files, writes = words[1:], list[str](), list[str](), False
    late = False  # a script behind an operand: to the sed of BSD and macOS that operand is the script
    while rest:
        word = rest.pop(0)
        late = late or (bool(files) and word.startswith(("-", *MARKS)) and "e" in word)
        if re.fullmatch(
            r"-[nErsuz]+|--quiet|--silent|--regexp-extended|--posix|--sandbox|--null-data|--separate", word
        ):
            continue
        if word in ("-e", "--expression", "-ne", "-Ee", "-re") and rest:
            scripts.append(rest.pop(0))
        elif word.startswith("--expression="):
            scripts.append(word.partition("=")[2])
        elif re.fullmatch(r"-[nErsuz]*i|--in-place", word):
            writes = True
        elif re.match(r"-i|--in-place=", word) and is_certain(word) and "/" not in word and "*" not in word:
            writes = True
            walk.touch("write", ANY, state)  # the copies that are kept
        elif word == "--":
            files += rest
            rest = []
        elif may_be_option(word):
            unknown(walk, words, state, given)
            return
        else:
            files.append(word)
    if not scripts and files:
        scripts, files = files[:1], files[1:]
    elif late:
        scripts += files[:1]
    if not scripts or not all(_harmless_sed(script) for script in scripts):
        walk.cannot_tell("the script of `sed` may do more than print")
        walk.mention([word for script in scripts for word in re.split(r"[\s;}]+", script)], state)
    for name in files:
        if name != "-":
            walk.touch("read", name, state)
        if writes:
            walk.touch("write", name, state)


def _sort(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    rest = words[1:]
    if any(
        word.startswith(MARKS)
        or (
            word.startswith("--")
            and not word.startswith(
                (
                    "--reverse",
                    "--unique",
                    "--numeric-sort",
                    "--key=",
                    "--version-sort",
                    "--human-numeric-sort",
                    "--ignore-case",
                    "--field-separator=",
                )
            )
        )
        for word in rest
    ):
        unknown(walk, words, state, given)
    for place, word in enumerate(rest):
        if re.match(r"-[a-zA-Z]*o", word):
            target = word.partition("o")[2] or (rest[place + 1] if place + 1 < len(rest) else ANY)
            walk.touch("write", target, state)
        elif re.match(r"-[a-zA-Z]*[TS]", word):
            unknown(walk, words, state, given)
    for word in rest:
        for name in names_in(word):
            walk.touch("read", name, state)


_AWK_DOES_MORE: Final = re.compile(r"[>|@&<]|system|getline|close|ARG|ENVIRON|SYMTAB|FUNCTAB|PROCINFO|printf?\s*\(")


def _without_comparisons(script: str) -> str:
    """A script of `awk` without the comparisons of its first pattern, in which nothing can be printed."""
    pattern, brace, rest = script.partition("{")
    return re.sub(r"&&|\|\||[<>]=?", " ", pattern) + brace + rest


def _awk(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    rest = words[1:]
    while rest and re.match(r"-[Fv]", rest[0]):
        rest = rest[1:] if len(rest[0]) > 2 else rest[2:]
    if (
        not rest
        or may_be_option(rest[0])
        or not is_certain(rest[0])
        or _AWK_DOES_MORE.search(_without_comparisons(rest[0]))
    ):
        walk.cannot_tell("the script of `awk` may do more than print")
        walk.mention(rest, state)
        return
    for name in rest[1:]:
        if may_be_option(name):
            walk.cannot_tell("an argument of `awk` may be an option")
        walk.touch("read", name, state)


def _copying(*, moves: bool) -> Handler:
    """`cp`, `mv`, `install`: files are read, and the last one, or something in it, is written."""

    def handle(walk: Notes, words: list[str], state: State, given: str | None) -> None:
        rest, names, targets = words[1:], list[str](), list[str]()
        while rest:
            word = rest.pop(0)
            if word == "--":
                names += rest
                rest = []
            elif word in ("-t", "--target-directory") and rest:
                targets.append(rest.pop(0))
            elif word.startswith("--target-directory="):
                targets.append(word.partition("=")[2])
            elif word.startswith("-"):
                if not re.fullmatch(
                    r"-[abdfinprRuvPLHTxl]+|--(?:recursive|force|archive|verbose|no-clobber|update)", word
                ):
                    walk.cannot_tell(f"the option {word!r} of {words[0]!r} is not known")
                if "l" in word and not word.startswith("--"):
                    walk.cannot_tell(f"{words[0]!r} makes links")
                if re.match("-[^-]*[LH]", word):
                    walk.cannot_tell(f"{words[0]!r} follows links")
            else:
                if word.startswith(MARKS):
                    walk.cannot_tell(f"an argument of {words[0]!r} is computed and may be an option")
                names.append(word)
        if not targets:
            targets, names = names[-1:], names[:-1]
        for name in names:
            walk.touch("read", name, state, tree=True)
            if moves:
                walk.touch("move", name, state, tree=True)
        for target in targets:
            walk.touch("write", target, state)
            for name in names:
                last = name.rstrip("/").rpartition("/")[2]
                for place in (target, f"{target.rstrip('/')}/{last}"):
                    walk.copy(name, place, state)

    return handle


def _link(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    """A link makes a file reachable by another name, so everything below it counts as reached."""
    walk.cannot_tell("`ln` makes a file reachable by another name")
    for word in words[1:]:
        if not word.startswith("-"):
            walk.touch("read", word, state, tree=True)
            walk.touch("write", word, state)


def _date(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    for word in words[1:]:
        if word.startswith(MARKS) or re.match(r"-[^-I]*s|--s", word):
            walk.cannot_tell("`date` may set the clock")
        for name in names_in(word):
            walk.touch("read", name, state)


def _jq(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    if any(re.search(r"\b(?:import|include)\b|^-[^-]*[Lf]|^--(?:library|from-file)", word) for word in words[1:]):
        unknown(walk, words, state, given)
    for word in words[1:]:
        for name in names_in(word):
            walk.touch("read", name, state)


def _bare(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    """A program that tells something, and with arguments does something else."""
    if words[1:]:
        unknown(walk, words, state, given)


def _filter(options: Options) -> Handler:
    """A program that reads its first file and writes to the second."""

    def handle(walk: Notes, words: list[str], state: State, given: str | None) -> None:
        operands, _, known = options.operands(words[1:])
        if not known:
            walk.cannot_tell(f"an option of {words[0]!r} is not known")
            walk.mention(words[1:], state)
        for place, name in enumerate(operands):
            if name != "-":
                walk.touch("write" if place else "read", name, state)

    return handle


def _xxd(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    # Its options have names of several letters behind one dash, and with `-r` it makes a file of what it printed.
    rest = [word for word in words[1:] if not re.fullmatch(r"-(?:p|ps|plain|b|u|i|e|[cgls]\d+)", word)]
    while len(rest) > 1 and rest[0] in ("-c", "-g", "-l", "-s") and rest[1].isdigit():
        del rest[:2]
    if len(rest) > 1 or any(map(may_be_option, rest)):
        unknown(walk, words, state, given)
    for name in rest:
        walk.touch("read", name, state)


def _asks_version(words: list[str]) -> bool:
    name = words[0].rpartition("/")[2]
    return name in _VERSION_OPTION and words[1:] in (["--version"], [_VERSION_OPTION[name]])


def _version(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    if not _asks_version(words):
        walk.cannot_tell(f"{words[0]!r} runs a program that is not looked into")
        walk.mention(words[1:], state)


_PATCHED: Final = re.compile(r"\*\*\* (Add File|Update File|Delete File|Move to): (.+?)\s*\Z")
_AROUND: Final = re.compile(r"\*\*\* (?:Begin Patch|End Patch|End of File)\s*\Z")


def _apply_patch(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    """What Codex 0.166.0 does itself where a command line begins with it, and other clients may have as a program."""
    text = words[1] if len(words) == 2 else given if len(words) == 1 else None
    lines = text.split("\n") if text is not None and is_certain(text) else []
    headers = [line.strip() for line in lines if line.lstrip().startswith("*** ")]
    found = [_PATCHED.match(line) for line in headers if not _AROUND.match(line)]
    if not found or None in found:
        unknown(walk, words, state, given)
        return
    before = ""
    for verb, name in (one.groups() for one in found if one is not None):
        walk.touch("delete" if verb == "Delete File" else "write", name, state)
        if verb == "Move to":
            walk.touch("move", before, state)
        before = name


def _dd(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    for word in words[1:]:
        name, _, value = word.partition("=")
        if name == "if":
            walk.touch("read", value, state)
        elif name == "of":
            walk.touch("write", value, state)
        elif name not in ("bs", "count", "status", "skip", "seek", "conv", "iflag", "oflag", "ibs", "obs"):
            unknown(walk, words, state, given)


_VERSION_OPTION: Final = {
    **dict.fromkeys(_w("node npm npx git docker gcc g++ clang make"), "-v"),
    **dict.fromkeys(_w("python python3 pip pip3 uv ruff curl wget rg jq"), "-V"),
    **dict.fromkeys(_w("bash cmake tar sed grep awk"), "--version"),
}
"""Programs that only print their version when they are asked for it. Not those that look for one of their own in a file
of the project, and run that: cargo and rustc (`rust-toolchain.toml`), go (`go.mod`), yarn and pnpm."""
_READS: Final = Names(("read",))
_BUILT_IN: Final = frozenset(
    _w(
        ": . break builtin cd command continue declare eval exec exit export jobs local popd pushd read "
        "readonly return set shift source trap type typeset ulimit umask unset wait [["
    )
)
_PROGRAMS: Final[dict[str, Handler]] = {
    "wait": Names((), known="n"),
    "jobs": Names((), known="lprs"),
    "strings": Names(("read",), lists=("@",)),
    "wc": Names(("read",), lists=("--f",)),
    **dict.fromkeys(_w("md5sum sha1sum sha256sum sha512sum cksum"), Names(("read",), lists=("-c", "--c"))),
    "jq": _jq,
    **dict.fromkeys(
        _w(
            ": true false echo pwd sleep exit return break continue shift umask ulimit whoami id "
            "uname seq basename dirname tty nproc which printenv groups getconf locale tput uptime free ps kill "
            "pgrep cal factor hostid"
        ),
        nothing,
    ),
    **dict.fromkeys(
        _w(
            "cat nl tac rev paste fold fmt expand unexpand column comm cmp od hexdump stat readlink "
            "realpath join numfmt"
        ),
        _READS,
    ),
    **dict.fromkeys(("base64", "base32"), Names(("read",), refused=("-o", "--output"))),  # `-o FILE` of macOS
    **dict.fromkeys(("arch", "hostname"), _bare),
    **dict.fromkeys(("head", "tail"), Names(("read",), valued="nc")),
    "cut": Names(("read",), valued="bcdf"),
    "tr": nothing,
    "type": _READS,  # it shows a file where the shell is one of Windows
    "[[": nothing,
    "test": _test,
    "[": _test,
    "date": _date,
    "file": Names(
        ("read",), refused=("-C", "--compile", "-z", "-Z", "-m", "--magic-file", "-f", "--files-from", "--uncompress")
    ),
    "diff": Names(("read",), trees=("*",), follows=True, refused=("--to-file", "--from-file", "--paginate", "-l")),
    "uniq": _filter(
        Options("fsw skip-fields skip-chars check-chars", "cdDiuz0123456789 count repeated unique ignore-case")
    ),
    "xxd": _xxd,
    "ls": Names(("list",), trees=("-R", "--recursive"), here=True),
    "tree": Names(("list",), trees=("*",), here=True, refused=("-o", "--output", "-R", "--fromfile")),
    "du": Names(("list",), trees=("*",), here=True, lists=("--files",)),
    "df": Names(("list",), here=True),
    "mkdir": Names(("write",), known="pvm parents verbose mode"),
    "touch": Names(("write",), known="acmdrth no-create date reference"),
    "truncate": Names(("write",), known="csor0123456789KMG no-create size reference"),
    "tee": Names(("write",), known="ai append ignore-interrupts"),
    "chmod": Names(("write",), trees=("-R", "--recursive"), known="Rvcfrwx recursive verbose", itself=True),
    "chown": Names(("write",), trees=("-R", "--recursive"), known="Rvcfh recursive verbose", itself=True),
    "rm": Names(("delete",), trees=("*",), known="rRfidvI recursive force verbose one-file-system preserve-root"),
    "rmdir": Names(("delete",), known="pv parents verbose"),
    "unlink": Names(("delete",)),
    "shred": Names(("delete",), known="fnuvzx0123456789 remove"),
    "cp": _copying(moves=False),
    "mv": _copying(moves=True),
    "ln": _link,
    "dd": _dd,
    "cd": _cd,
    "pushd": _cd,
    "popd": _cd,
    **dict.fromkeys(("export", "local", "declare", "typeset", "readonly", "unset", "read"), _assigning),
    "set": _set,
    "printf": _printf,
    "eval": _eval,
    "trap": _trap,
    "env": _env,
    "command": _command,
    "builtin": _command,
    "exec": _wrapper(),
    "nohup": _wrapper(),
    "setsid": _wrapper(re.compile(r"-[fw]|--fork|--wait")),
    "nice": _wrapper(re.compile(r"-n\d+|-\d+|--adjustment=\d+")),
    "stdbuf": _wrapper(re.compile(r"-[ioe](?:L|\d+)")),
    "time": _wrapper(re.compile(r"-p")),
    "timeout": _wrapper(
        re.compile(r"-k\d+s?|--foreground|-v|--preserve-status|-s\w+|--signal=\w+|--kill-after=\d+s?"), operands=1
    ),
    "sudo": _wrapper(re.compile(r"-[nEHSk]")),
    "doas": _wrapper(re.compile(r"-n")),
    **dict.fromkeys(("sh", "bash", "dash"), _shell),
    "xargs": _xargs,
    "find": _find,
    "sed": _sed,
    "sort": _sort,
    **dict.fromkeys(("awk", "gawk", "mawk"), _awk),
    "curl": curl,
    "wget": wget,
    "git": git,
    "rg": ripgrep,
    **dict.fromkeys(("grep", "egrep", "fgrep"), grep),
    **dict.fromkeys(("apply_patch", "applypatch"), _apply_patch),
}
