"""Words of a command that make its program run another one: `make SHELL=./x`, `git -c core.pager=./x log`.

A rule that allows `make *` is about make. It does not cover a line whose options or assignments name another program,
or a file of commands, for make to run; a rule that has these words in its own pattern does. Programs that are there to
start others (`env`, `timeout`, `xargs`, `bash`) are not looked at: who allows `bash *` allows everything.

Rule: an option counts when it may be one of these; long options may be shortened, as GNU programs let them be.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from posixpath import basename
from typing import Final, NamedTuple

Leaves = Callable[[str], bool]
"""Whether a folder is outside of the project."""


class _Options(NamedTuple):
    """The options of a program that name another one. `short` is a pattern for the beginning of a word."""

    short: str = ""
    long: str = ""
    words: str = ""
    """A pattern for other words, searched for anywhere in them."""
    folder: str = ""
    """Options whose value is the folder that the program takes its commands from."""


_GENERAL: Final = re.compile(
    r"--?(?:[\w-]+[-_])?(?:exec|command|cmd|shell|pager|editor|program|rsh|eval|plugin|wrapper|launcher|preload|hook)"
    r"(?:=|\Z)"
)
"""Long options of any program whose names say that their value is run."""
_STEERING: Final = re.compile(
    r"(?:PATH|IFS|ENV|SHELL|PAGER|EDITOR|VISUAL|BROWSER|LD_\w+|DYLD_\w+|BASH_\w+|GIT_\w+|PYTHON(?:PATH|HOME|STARTUP|BREAKPOINT|USERBASE|EXECUTABLE)|PERL5\w+|RUBY(?:OPT|LIB)|"
    r"NODE_OPTIONS|\w*MAKEFLAGS|MAKEFILES|\w+_(?:COMMAND|CMD|PROGRAM|WRAPPER|LAUNCHER))\+?="
)
"""Variables that change which programs others start."""
_SSH: Final = (
    r"(?i:o?\s*=?(?!(?:StrictHostKeyChecking|ConnectTimeout|ConnectionAttempts|BatchMode|User|Port|LogLevel|"
    r"UserKnownHostsFile|ServerAlive\w+|IdentitiesOnly|Compression|RequestTTY)[ =]))"
)
_TO_MAKE: Final = r"(?!-)[^=]*="
_OPTIONS: Final[dict[str, _Options]] = {
    "make": _Options("-[bBdeikLmnpqrRsStvw]*[fEI]", "--file --makefile --eval --include-dir", folder="-C --directory"),
    "ninja": _Options("-f", folder="-C"),
    "just": _Options("-f|-c", "--justfile --shell --shell-arg --command", folder="-d --working-directory"),
    "cmake": _Options(
        r"-[EPC]\Z|-[CP]",
        "--toolchain",
        r"\A-?D?\s*\w*(?:COMPILER|LAUNCHER|PROGRAM|COMMAND|LINKER|EXECUTABLE|RULE_LAUNCH\w*|_AR)\w*(?::\w+)?=",
    ),
    "mvn": _Options("-[fs]", "--file --settings", r"exec\.|executable"),
    "gradle": _Options("-[IbcP]", "--init-script --build-file --settings-file", folder="-p --project-dir"),
    "find": _Options("-(?:exec|execdir|ok|okdir)\\Z"),
    "fd": _Options("-[a-zHILs]*[xX]", "--exec --exec-batch"),
    "tar": _Options(
        "-?[A-Za-z]*[IF]",
        "--use-compress-program --checkpoint-action --to-command --info-script --new-volume-script --rsh-command "
        "--rmt-command",
    ),
    "rsync": _Options("-[A-Za-z0-9]*[eM]", "--rsh --rsync-path --remote-option"),
    "ssh": _Options("-[46AaCfGgKkMNnqsTtVvXxYy]*[FI]", words=""),
    "scp": _Options("-[346ABCOpqRrsTv]*[FSD]"),
    "sftp": _Options("-[46AaCfNpqrv]*[FSDsb]"),
    "vim": _Options(r"-[cSsuUi]|-es|\+(?!\d*\Z)", "--cmd --remote --servername"),
    "emacs": _Options("-[lfLx]|-eval|-load|-funcall|-script", "--eval --load --funcall --script --directory"),
    "less": _Options(
        r"\+.*[!|:vs]|\+\+.*[!|v]|-[kKt]", "--lesskey-file --lesskey-src --lesskey-content --lesskey-context"
    ),
    "man": _Options("-[PHC]", "--pager --html --config-file"),
    "sort": _Options("", "--compress-program"),
    "split": _Options("", "--filter"),
    "zip": _Options("-[A-Za-z]*TT", "--unzip-command"),
    "wget": _Options("-[bcdnqrSvx]*e", "--execute --use-askpass --config"),
    "env": _Options("-[iv0]*S", "--split-string"),
    "rg": _Options("", "--pre --hostname-bin"),
    "bat": _Options("", "--pager"),
    "fzf": _Options("", "--bind --preview --listen --with-shell"),
    "npm": _Options(
        "-c",
        "--script-shell --node-options --call --git --editor --viewer --userconfig --globalconfig --prefix",
        folder="-C --dir --cwd",
    ),
    "cargo": _Options("-Z", "--config --manifest-path", r"\A\+", folder="-C"),
    "go": _Options(
        "--?(?:exec|toolexec|vettool|overlay|modfile|compiler|gccgoflags)(?:=|\\Z)",
        "",
        "-ext(?:ld|ar)|-linkmode",
        folder="-C --C",
    ),
    "gcc": _Options("-B|-fplugin|-wrapper|--?specs|-fuse-ld|-Xclang|@", "--plugin"),
    "pytest": _Options(
        r"-[hlqsvVx]*(?:p(?!\s*no:)|[co])|@",
        "--config-file --override-ini --rootdir --confcutdir --pdbcls --tx",
    ),
    "tox": _Options("-c|-x", "--conf --override"),
    "nox": _Options("-f", "--noxfile"),
    "uv": _Options("-p", "--python --project --directory --config-file"),
    "gdb": _Options("--?(?:ex|iex|x|ix|eval-command|init-eval-command|command|init-command)", ""),
    "tcpdump": _Options("-[A-Za-z]*z", "--postrotate-command"),
    "nc": _Options("-[A-Za-z46]*[ec]", "--exec --sh-exec --lua-exec"),
    "socat": _Options(words=r"(?i)\b(?:exec|system|shell):"),
    "psql": _Options("-[A-Za-z1]*f", "--file", r"\\[!|]|\\(?:i|ir|o|g|copy|setenv)\b|(?i:\bprogram\b)"),
    "mysql": _Options("", "--pager --init-command", r"\\!|(?i:\bsystem\b)"),
    "sqlite3": _Options("-(?:cmd|init)", "", r"(?m)^\s*\.|(?i:load_extension|edit\s*\()"),
    "svn": _Options("", "--diff-cmd --diff3-cmd --editor-cmd --merge-cmd --config-option --config-dir"),
    "hg": _Options("-R", "--config --config-file --ssh --remotecmd --repository"),
    "gpg": _Options("", "--photo-viewer --agent-program --dirmngr-program --options --homedir"),
    "kubectl": _Options("", "--kubeconfig"),
    "nmap": _Options("-sC|-A", "--script --datadir"),
    "curl": _Options("-[A-Za-z0-9#:]*K", "--config"),
    # Settings of these load code.
    "mypy": _Options("", "--config-file --custom-typeshed-dir --python-executable"),
    "pylint": _Options("", "--rcfile --load-plugins --init-hook"),
    "flake8": _Options("", "--config --append-config"),
    "coverage": _Options("", "--rcfile"),
    "sphinx-build": _Options("-[a-zA-Z]*c"),
    "eslint": _Options("-[cf]", "--config --rulesdir --parser --plugin --resolve-plugins-relative-to --format"),
    "prettier": _Options("", "--config --plugin"),
    "jest": _Options(
        "-c", "--config --globalSetup --globalTeardown --setupFiles --preset --runner --reporters --rootDir --resolver"
    ),
    "mocha": _Options("-r", "--require --config --file --reporter --ui"),
    "rspec": _Options("-[rIO]", "--require --options"),
    "rubocop": _Options("-[rc]", "--require --config --plugin"),
    "rake": _Options("-[frRIepE]", "--rakefile --require --libdir --execute"),
    "phpunit": _Options("-c", "--configuration --bootstrap --extension"),
    "ctest": _Options("-S", "--script --build-and-test --test-command"),
    "meson": _Options("", "--native-file --cross-file"),
    "bazel": _Options("", "--bazelrc --output_user_root --run_under"),
    "pre-commit": _Options("-c", "--config"),
}
_SAME: Final = {
    **dict.fromkeys(("gmake", "bmake"), "make"),
    **dict.fromkeys(("vi", "view", "nvim", "vimdiff", "gvim", "ex", "rvim"), "vim"),
    **dict.fromkeys(("fdfind",), "fd"),
    **dict.fromkeys(("gtar", "bsdtar"), "tar"),
    **dict.fromkeys(("more", "most"), "less"),
    **dict.fromkeys(("gsed",), "sed"),
    **dict.fromkeys(("gawk", "mawk", "nawk"), "awk"),
    **dict.fromkeys(("cc", "g++", "c++", "clang", "clang++"), "gcc"),
    **dict.fromkeys(("ncat", "netcat"), "nc"),
    **dict.fromkeys(("pnpm", "yarn"), "npm"),
    **dict.fromkeys(("gfind",), "find"),
    **dict.fromkeys(("py.test",), "pytest"),
    **dict.fromkeys(("batcat",), "bat"),
    **dict.fromkeys(("vitest",), "jest"),
    **dict.fromkeys(("bazelisk",), "bazel"),
    **dict.fromkeys(("mariadb",), "mysql"),
    **dict.fromkeys(("./gradlew", "gradlew"), "gradle"),
}
_STARTING: Final = frozenset(
    ("sudo", "doas", "env", "nohup", "nice", "ionice", "time", "timeout", "stdbuf", "setsid", "command", "exec", "uv")
)
_MAKE_PROGRAMS: Final = frozenset(
    "SHELL .SHELLFLAGS MAKE MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKEFILES MAKEFILE AR AS CC CXX CPP FC M2C PC CO GET LEX "  # noqa: SIM905
    "YACC LINT MAKEINFO TEX TEXI2DVI WEAVE CWEAVE TANGLE CTANGLE RM LD INSTALL OUTPUT_OPTION VPATH TESTS".split()
)
"""Variables that GNU make's own rules run, and those that say how it runs the others (its manual, 10.3)."""
_LONGEST: Final = 1000
"""Characters of a word that is looked at. In a longer one some of these patterns search for seconds, and a hook that is
late may be taken for a permission: such a word counts as one that names another program."""
_MAKE_PLACES: Final = re.compile(r"(?:DIR|PREFIX|ROOT|FILES?|OUT|OUTPUT|DEST|LOG)\Z", re.IGNORECASE)


def names_another(command: Sequence[str], pattern: str, leaves: Leaves) -> str | None:
    """The first word by which a command names another program that `pattern` does not have in it, too."""
    said = Counter(pattern.split())
    starts = [0]
    if basename(command[0]) in _STARTING:
        starts += [place for place, word in enumerate(command) if place and _known(word) is not None]
    elif re.fullmatch(r"python[\d.]*", basename(command[0])) and command[1:2] == ["-m"]:
        starts = [2]
    for start in starts:
        for word in _naming(command[start:], leaves):
            if not said[word]:
                return word
            said[word] -= 1
    return None


def _known(word: str) -> str | None:
    name = _SAME.get(basename(word), basename(word))
    return name if name in _OPTIONS or name in ("git", "sed", "awk") else None


def _naming(words: Sequence[str], leaves: Leaves) -> Iterator[str]:
    """The words by which a command names another program."""
    program, rest = (_known(words[0]) if words else None), list(words[1:])
    found: list[str] = []
    if program == "git":
        found += _in_git(rest, leaves)
    elif program == "sed":
        found += _in_sed(rest)
    elif program == "awk":
        found += _in_awk(rest)
    elif program is not None:
        found += _by_options(program, rest, leaves)
    yield from found
    for word in rest:
        head = word.partition("=")[0]
        # With a pattern in it, the name of a file may make it any option.
        is_pattern = head.startswith("-") and any(mark in head for mark in "*?[")
        if word not in found and (is_pattern or _STEERING.match(word) or (_GENERAL.match(word) and program != "git")):
            yield word


def _is_long(word: str, options: str) -> bool:
    """Whether a word is one of these long options, or the beginning of one."""
    name = word.partition("=")[0]
    return len(name) > 2 and name.startswith("--") and any(one.startswith(name) for one in options.split())


def _by_options(program: str, rest: Sequence[str], leaves: Leaves) -> Iterator[str]:
    options = _OPTIONS[program]
    for place, word in enumerate(rest):
        if word == "--" and program not in ("cmake", "make", "go", "npm", "uv"):
            return
        if len(word) > _LONGEST:
            yield word
            continue
        may_be = word.startswith(("-", "+", "@")) or (place == 0 and program == "tar")  # its old form: `tar xIf`
        following = "".join(rest[place + 1 : place + 2])
        if program == "pytest" and word == "-p" and following.startswith("no:"):
            continue  # a plugin is left out
        if (
            (may_be and options.short and re.match(options.short, word))
            or _is_long(word, options.long)
            or (options.words and re.search(options.words, word))
        ):
            yield word
        elif program in ("ssh", "scp", "sftp") and (found := re.match("-[46AaBCfGgKkMNnOpqRrsTtVvXxYy]*o", word)):
            value = word[found.end() :] or following
            if re.match(_SSH, f"{value} "):
                yield word
        elif program in ("make", "cmake") and re.match(_TO_MAKE, word) and _runs(word):
            yield word
        if any(leaves(folder) for folder in _values(options.folder, rest, place)):
            yield word


def _values(options: str, rest: Sequence[str], place: int) -> Iterator[str]:
    """The value that a word gives one of these options, if it does."""
    word, following = rest[place], rest[place + 1 : place + 2]
    for option in options.split():
        if option.startswith("--"):
            if _is_long(word, option):
                yield from [word.partition("=")[2]] if "=" in word else following
        elif found := re.match(f"-[A-Za-z]*?{option[1]}", word) if not word.startswith("--") else None:
            yield from [word[found.end() :].removeprefix("=")] if word[found.end() :] else following


def _runs(assignment: str) -> bool:
    """Whether a variable that make gets may be run: by its name, or because its value is a path or has commands."""
    name, _, value = assignment.partition("=")
    if not re.fullmatch(r"[.\w-]+", name):  # `x!=command` runs it (GNU make 4.4), also with spaces around the name
        return True
    if name in _MAKE_PROGRAMS or re.search(r"[$`;|&<>()!\\\n]", value):
        return True
    return "/" in value and not _MAKE_PLACES.search(name)


_GIT_HARMLESS: Final = re.compile(
    r"(?i)(?:user\.(?:name|email)|color\.[\w.]+|core\.(?:quotepath|abbrev|autocrlf|safecrlf|commentchar)|advice\.\w+|"
    r"commit\.gpgsign|tag\.gpgsign|init\.defaultbranch|pull\.(?:rebase|ff)|push\.(?:default|autosetupremote)|"
    r"rebase\.auto\w+|merge\.(?:conflictstyle|ff)|diff\.(?:algorithm|renames|context)|log\.\w+|column\.ui|"
    r"http\.(?:postbuffer|lowspeed\w+)|gc\.auto|fetch\.\w+|status\.\w+)(?:=|\Z)"
)
"""Settings of git that name no program."""
_GIT_LONG: Final = {
    "": "--config-env --exec-path --git-dir --work-tree",
    "*": "--upload-pack --receive-pack --exec --extcmd --template --open-files-in-pager --tool",
    "clone": "--config",
}
_GIT_SHORT: Final = {"clone": "-[a-z]*[cu]", "rebase": "-[a-z]*x", "difftool": "-[xt]", "mergetool": "-t", "grep": "-O"}
_GIT_STARTS: Final = frozenset(
    ("filter-branch", "filter-repo", "difftool", "mergetool", "instaweb", "web--browse", "shell")
)


def _in_git(rest: Sequence[str], leaves: Leaves) -> Iterator[str]:
    place = 0
    while place < len(rest) and rest[place].startswith("-"):
        word, value = rest[place], "".join(rest[place + 1 : place + 2])
        place += 1
        if word == "-c":
            place += 1
            if not _GIT_HARMLESS.match(value):
                yield word
        elif word == "-C":
            place += 1
            if leaves(value):
                yield word
        elif _is_long(word, _GIT_LONG[""]):
            place += "=" not in word
            yield word
        elif word == "--namespace":
            place += 1
    verb, given = "".join(rest[place : place + 1]), rest[place + 1 :]
    for word in given:
        if word == "--":
            break
        long = f"{_GIT_LONG['*']} {_GIT_LONG.get(verb, '')}"
        short = _GIT_SHORT.get(verb)
        # `--tool` and `--exec` may be shortened, `--t` to `--tags` as well: those two are meant when they are whole.
        if (
            (_is_long(word, long) and len(word.partition("=")[0]) > 4)
            or (short and re.match(short, word))
            or word.startswith("ext::")
        ):
            yield word
    if verb in _GIT_STARTS:
        yield verb
    if verb == "bisect" and given[:1] == ["run"]:
        yield "run"
    if verb == "submodule" and "foreach" in given:
        yield "foreach"
    if verb == "config" and _sets(given):
        yield verb


def _sets(given: Sequence[str]) -> bool:
    """Whether `git config` sets something that may name a program."""
    words = [word for word in given if not word.startswith("-")]
    options = {word.partition("=")[0] for word in given if word.startswith("-")}
    if options & {"-e", "--edit", "-f", "--file", "--blob"} or words[:1] == ["edit"]:
        return True
    if words[:1] in (["get"], ["list"], ["unset"]) or options & {"--get", "--get-all", "--list", "-l", "--get-regexp"}:
        return False
    words = words[1:] if words[:1] == ["set"] else words
    return len(words) > 1 and not _GIT_HARMLESS.match(words[0])


_SED_SUBSTITUTION: Final = re.compile(
    r"s([/|#,:@])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpiImM0-9]*(?=[\s;}]|\Z)"
)


def _in_sed(rest: Sequence[str]) -> Iterator[str]:
    """Scripts with `e`, or with something that may be one; files of commands."""
    scripts: list[str] = []
    operands: list[str] = []
    words = iter(rest)
    for word in words:
        if re.match("-[nErsuz]*f|--fi", word):
            yield word
        elif re.fullmatch("-[nErsuz]*e|--expression", word):
            scripts.append(next(words, ""))
        elif found := re.match("-[nErsuz]*e|--e[a-z]*=", word):
            scripts.append(word[found.end() :])
        elif not word.startswith("-"):
            operands.append(word)
    for script in scripts or operands[:1]:
        left = _SED_SUBSTITUTION.sub("", script)
        left = re.sub(r"/(?:[^/\\\n]|\\.)*/[IM]?", "", left) if left.count("/") % 2 == 0 and "s" not in left else left
        if "e" in left:
            yield script


def _in_awk(rest: Sequence[str]) -> Iterator[str]:
    words = iter(rest)
    for word in words:
        if re.match("-[fEilD]|--(?:fi|ex|in|lo|de)", word):
            yield word
        elif word in ("-F", "-v"):
            next(words, None)
        elif not word.startswith("-"):
            # `|` and `|&` start a program, `@` loads code or calls a function whose name is computed.
            if re.search(r"system|(?<!\|)\|(?!\|)|@", re.sub(r"/(?:[^/\\\n]|\\.)*/", "", word)) or "system" in word:
                yield word
            return
