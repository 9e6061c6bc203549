"""What the arguments of `curl` and `wget` are: addresses, files that are sent, files that are written."""

from __future__ import annotations

import re
from typing import Final

from .arguments import may_be_option, unknown, words as _w
from .line_effects import Notes, State, host_in
from .text_patterns import ANY, MARKS, is_certain, is_computed

_CURL_FLAGS: Final = frozenset("sSfLkivIgGNO#064")
_CURL_LONG_FLAGS: Final = frozenset(
    _w(
        "silent show-error fail location insecure include verbose head compressed get globoff no-buffer "
        "http1.1 http2 ipv4 ipv6 progress-bar fail-with-body no-progress-meter remote-name"
    )
)
_CURL_VALUED: Final = frozenset(
    _w(
        "-H -X -A -u -m -e -b -r --header --request --user-agent --user --max-time --referer "
        "--connect-timeout --retry --retry-delay --range --max-redirs --data-raw"
    )
)
_CURL_SENT: Final = frozenset(
    ("-d", "--data", "--data-binary", "--data-ascii", "--data-urlencode", "--json", "--url-query")
)


_SCHEMES: Final = frozenset(("http", "https", "ftp", "ftps", "ws", "wss"))


def curl(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    rest = words[1:]
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            if word.startswith(MARKS):
                walk.cannot_tell("an argument of 'curl' is computed and may be an option")
            _address(walk, word)
            continue
        option, value = word, None
        if word.startswith("--"):
            option, mark, after = word.partition("=")
            value = after if mark else None
            if option[2:] in _CURL_LONG_FLAGS:
                if option == "--remote-name":
                    walk.touch("write", ANY, state)
                continue
        else:
            letters = word[1:]
            while letters and letters[0] in _CURL_FLAGS:
                if letters[0] == "O":
                    walk.touch("write", ANY, state)
                letters = letters[1:]
            if not letters:
                continue
            option, value = f"-{letters[0]}", letters[1:] or None
        if value is None:
            value = rest.pop(0) if rest else ANY
        if option in ("-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar"):
            walk.touch("write", ANY if "#" in value else value, state)  # `#1` is a part of the address
        elif option in ("-T", "--upload-file"):
            walk.touch("read", ANY if re.search(r"[][{}]", value) else value, state)
        elif option in ("-F", "--form"):
            _form(walk, value, state)
        elif option in _CURL_SENT:
            # `@file`, or `name@file` for what is encoded: all that is behind the mark is the name.
            if "@" in value and (value.startswith("@") or option in ("--data-urlencode", "--url-query")):
                walk.touch("read", value.partition("@")[2], state)
            if is_computed(value[:1]):
                walk.touch("read", ANY, state)
        elif option in ("-x", "--proxy", "--url", "--preproxy", "--socks5"):
            _address(walk, value)
        elif option in ("-w", "--write-out"):
            if "@" in value[:1] or "%output" in value or not is_certain(value):
                unknown(walk, words, state, given)
        elif option in _CURL_VALUED:
            if option in ("-H", "--header") and value.startswith(("@", *MARKS)):
                walk.touch("read", value.lstrip("@"), state)
            if option == "-b" and "=" not in value:
                walk.touch("read", value, state)
        else:
            unknown(walk, words, state, given)
            return


def _form(walk: Notes, value: str, state: State) -> None:
    """`name=@file`, `name=<file`, several files with commas, and more of them among the settings of a part."""
    if not re.search("[@<]", value) and is_certain(value):
        return
    for piece in re.split(r"[=@<;,]", value):
        walk.touch("read", piece, state)
    if '"' in value or "\\" in value or not is_certain(value):
        walk.cannot_tell("a form of `curl` names files in a way that is not known")


def _address(walk: Notes, word: str) -> None:
    # `{a,b}` and `[1-3]` are several addresses to curl.
    walk.fetch(ANY if any(mark in host_in(word) for mark in "{}[]") else host_in(word))
    scheme, mark, _ = word.partition("://")
    if word.lower().startswith("file:") or (mark and scheme.lower() not in _SCHEMES):
        walk.cannot_tell("an address may be a file of this machine")


def wget(walk: Notes, words: list[str], state: State, given: str | None) -> None:
    rest = words[1:]
    named = False
    while rest:
        word = rest.pop(0)
        if re.fullmatch(r"-[qvSnc]+|-nv|-nc|--quiet|--no-verbose|--no-check-certificate|--continue", word):
            continue
        if word in ("-O", "--output-document", "-qO") and rest:
            named = True
            target = rest.pop(0)
            if target != "-":
                walk.touch("write", target, state)
        elif re.fullmatch(r"-q?O-|--output-document=-", word):
            named = True
        elif word in ("-T", "--timeout", "-t", "--tries", "-U", "--user-agent", "--header") and rest:
            rest.pop(0)
        elif word.startswith("--post-file="):
            walk.touch("read", word.partition("=")[2], state)
        elif may_be_option(word):
            unknown(walk, words, state, given)
            return
        else:
            _address(walk, word)
    if not named:
        walk.touch("write", ANY, state)
