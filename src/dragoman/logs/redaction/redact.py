"""Recorded events without what nobody else should read: secrets, home folders, user names, e-mail addresses.

Rules: the same value becomes the same placeholder wherever it stands; what was found once, by its name (`API_KEY=…`) or
by its looks, is taken out everywhere, also percent-encoded and in the middle of a word; values known from elsewhere in
all forms of `masking.py`. A placeholder is never taken for a secret, so redacting twice changes nothing more. Text in
base64 is looked into; where something is in it, all of it goes. Pictures are not looked into.
"""

from __future__ import annotations

import binascii
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

import msgspec

from dragoman.model import Media

from .masking import SHORTEST as SHORTEST, Masker

Kept = TypeVar("Kept")

_SHORT: Final = 100
_MOST_ROUNDS: Final = 5

# JSON inside of JSON: a letter after a backslash is no letter of the word that follows.
_BEGINS: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=\\u[0-9a-fA-F]{4}))"

# Each is tried only on texts that hold one of its beginnings: looking for words is far quicker than any pattern.
_SHAPES: Final[tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]] = tuple(
    (beginnings, re.compile(pattern))
    for beginnings, pattern in (
        (
            ("-----BEGIN ",),
            r"-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY[A-Z ]*-----|\Z)",
        ),
        (("sk-",), _BEGINS + r"sk-[A-Za-z0-9_-]{16,}"),  # OpenAI, Anthropic, OpenRouter, DeepSeek, …
        (("gho_", "ghp_", "ghr_", "ghs_", "ghu_"), r"gh[oprsu]_[A-Za-z0-9]{20,}"),
        (("github_pat_",), r"github_pat_[A-Za-z0-9_]{20,}"),
        (("glpat-",), r"glpat-[A-Za-z0-9_-]{16,}"),
        (("AKIA", "ASIA", "ABIA", "ACCA"), _BEGINS + r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}"),
        (("AIza",), r"AIza[A-Za-z0-9_-]{30,}"),  # Google
        (("ya29.",), r"ya29\.[A-Za-z0-9_-]{20,}"),
        (("eyJ",), r"eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{4,}+\.[A-Za-z0-9_-]*"),  # JSON web tokens
        (("xox", "xapp-"), r"x(?:ox[abeoprs]|app)-[A-Za-z0-9-]{10,}"),  # Slack
        (
            ("hf_", "gsk_", "npm_", "r8_", "fw_", "nvapi-", "dop_v1_", "lin_api_", "shpat_"),
            _BEGINS + r"(?:hf|gsk|npm|r8|fw|nvapi|dop_v1|lin_api|shpat)[_-][A-Za-z0-9_-]{20,}",
        ),
        (
            ("xai-", "pplx-", "pypi-", "tvly-", "csk-"),
            _BEGINS + r"(?:xai|pplx|pypi|tvly|csk)-[A-Za-z0-9_-]{20,}",
        ),
        (("sk_", "rk_", "whsec_"), _BEGINS + r"(?:sk|rk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}"),  # Stripe
        (("SG.",), _BEGINS + r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
        (("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[0-9A-Z]{40,}"),
        (("hooks.slack.com",), r"(?<=hooks\.slack\.com/services/)[A-Za-z0-9/]{20,}"),
        (("/webhooks/",), r"(?<=/webhooks/)[0-9]{8,}/[A-Za-z0-9_-]{30,}"),  # Discord
        ((":AA",), r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),  # Telegram
    )
)
"""Secrets known by their looks."""

SECRET_WORDS: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL")
"""What the names of variables that hold secrets end with or hold."""
_QUIET: Final = (
    *("password", "passwd", "passphrase", "secret", "authorization"),
    *(
        f"{one}{between}key"
        for one in ("api", "access", "private", "secret", "account", "signing", "encryption", "shared", "master")
        for between in ("", "_", "-")
    ),
    *(
        f"{one}{between}token"
        for one in ("access", "auth", "refresh", "id", "session", "bearer", "api")
        for between in ("", "_", "-")
    ),
)
_LOOSE: Final = ("token", "pwd", "passwort")
"""What is the name of a secret only where its value looks like one."""
_NAME: Final = rf"(?:(?:{'|'.join(SECRET_WORDS)})[A-Z0-9_]{{0,40}}|_(?:PASS|PWD)(?![A-Za-z0-9_]))"


def _words(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in words)


_VALUE: Final = (
    r"(?:\\*\"(?P<double>(?:[^\"\\\n]|\\(?!\\*\"))+)|\\*'(?P<single>[^'\n]+)"
    r"|(?P<bare>(?:[^\s\"'`;&|()<>\\]|\\(?![nrt\"\\]))+))"
)
_ASSIGNED: Final = re.compile(
    # API_KEY=…, export API_KEY='…', $env:API_KEY = "…", "API_KEY": "…", API_KEY: …
    rf"(?P<name>{_NAME})(?:\\*[\"'])?(?:\s?=\s?|\s?:\s|:(?=\\*[\"']))" + _VALUE
)
_SAID: Final = re.compile(
    # password=…, --api-key …, "clientSecret": "…"
    rf"(?P<name>(?i:{_words(_QUIET)}))(?:\\*[\"'])?(?:\s?=\s?|\s?:\s?|(?<=key|ord|ken|ret)\s)" + _VALUE
)
_LOOSELY: Final = re.compile(rf"(?P<name>(?i:{_words(_LOOSE)}))(?:\\*[\"'])?\s?[=:]\s?" + _VALUE)
_BEARER: Final = re.compile(r"(?P<name>\b(?i:bearer|basic))\s+(?P<bare>[A-Za-z0-9._~+/-]{8,}+=*)")
_IN_URL: Final = re.compile(r":(?:\\*/){2}[^\s/:@\"'<>\\]*+:(?P<bare>[^\s/?#\"'<>\\]+)@")
_TYPED: Final = re.compile(
    # curl -u user:…, sshpass -p …
    r"(?:(?<![A-Za-z])curl(?:\s[^\n]{0,400}?)?\s(?:-u|--user)[\s=]?[\"']?[^\s:\"'\\]+:|(?<![A-Za-z])sshpass\s+-p[\s\"']*)"
    r"(?P<bare>[^\s\"'\\]+)"
)
_COOKIE: Final = re.compile(
    r"(?P<name>(?i:(?<![A-Za-z])(?:set-)?cookie))\\*[\"']?\s?:\s?\\*[\"']?(?P<bare>[^\r\n\"'\\]+)"
)
_EMAIL: Final = re.compile(r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]++@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}")
_SLASH: Final = r"(?:\\{0,8}/|\\{1,8})"
_HOME: Final = re.compile(
    # Not src/home/page.tsx, but a/home/ann/x in a diff.
    rf"{_SLASH}(?:"
    rf"(?:(?:var{_SLASH})?home|Users){_SLASH}(?P<name>[^\s/\\:\"'`<>|,;()\[\]{{}}*?$]+)|root(?![A-Za-z0-9._-]))"
)
_NOT_BEFORE_HOME: Final = re.compile(r"[A-Za-z0-9._-]\Z")
_BEFORE_HOME: Final = re.compile(r"(?:\\[bfnrt]|[A-Za-z]:|(?:\A|\s)[ab])\Z")
_DRIVE_HOME: Final = re.compile(rf"[A-Za-z]:{_SLASH}(?i:users){_SLASH}(?P<name>[^\s/\\:\"'`<>|,;*?]+)")


_NAMES: Final = re.compile(rf"^[A-Z0-9_]*{_NAME}$|(?i:(?:{_words(_QUIET)})[_-]?(?:key)?)$")
_LOOSE_NAMES: Final = re.compile(rf"(?i:{_words(_LOOSE)})$")
_BASE64: Final = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{16,}(?:={1,2})?")
_NO_TEXT: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SPELLED_OUT: Final = re.compile(r"(?<!\\)\\u00([2-7][0-9a-fA-F])")
_KEY_BEGINS: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY")
_KEY_ENDS: Final = re.compile(r"-----END [A-Z ]*PRIVATE KEY")
_KEY_LINE: Final = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{16,}+={0,2}+(?=\s*(?:\\+r)?\Z)")


# Words are looked for where a part of them stands: most texts have none.
_RARE: Final = {
    rare: tuple(word for word in _QUIET if rare in word) for rare in ("pass", "secret", "authorization", "key", "token")
}
_LOOSE_ENDS: Final = tuple(f"{word}{end}" for word in _LOOSE for end in ("=", ":", " =", " :", '"', "'", "\\"))


def _named_values(text: str) -> Iterator[re.Pattern[str]]:
    """The patterns that may find a value by what stands before it."""
    if any(word in text for word in SECRET_WORDS) or "_PASS" in text or "_PWD" in text:
        yield _ASSIGNED
    lowered = text.lower()
    if any(rare in lowered and any(word in lowered for word in words) for rare, words in _RARE.items()):
        yield _SAID
    if any(word in lowered for word in _LOOSE_ENDS):
        yield _LOOSELY
    if "cookie" in lowered:
        yield _COOKIE
    if "curl" in text or "sshpass" in text:
        yield _TYPED
    if "bearer" in lowered or "basic" in lowered:
        yield _BEARER
    if "@" in text and "/" in text:
        yield _IN_URL


def _is_home(match: re.Match[str]) -> bool:
    """Whether a path that could be a home folder is no part of another."""
    before = match.string[max(0, match.start() - 2) : match.start()]
    return not _NOT_BEFORE_HOME.search(before) or bool(_BEFORE_HOME.search(before))


def _has_home(text: str) -> bool:
    return "home" in text or "sers" in text or "SERS" in text or "root" in text


_EVERYBODY: Final = frozenset(
    {
        "root",
        "user",
        "users",
        "admin",
        "administrator",
        "ubuntu",
        "debian",
        "runner",
        "node",
        "app",
        "dev",
        "test",
        "tester",
        "testuser",
        "guest",
        "public",
        "shared",
        "default",
        "home",
        "agent",
        "vscode",
        "codespace",
        "coder",
        "docker",
        "linuxbrew",
        "someone",
        "username",
        "name",
        "you",
        "me",
    }
)
"""Names of users that are words: they go with their home folder, and stay where they mean something else."""
_PLACEHOLDER: Final = re.compile(r"REDACTED-(?:SECRET|HOME|USER|EMAIL)-\d+")


class Redactor:
    """Removes secrets and personal data from texts and events; `counts` has the number of removals of each kind.

    `secrets` are known values. Call `learn` with everything before redacting it: a secret may occur in a text before
    the name that gives it away.
    """

    def __init__(self, secrets: Iterable[str] = (), *, home: Path | str | None = None, user: str | None = None) -> None:
        self.counts: Counter[str] = Counter()
        """Kind of thing → how often it was taken out."""
        self._placeholders: dict[tuple[str, str], str] = {}
        self._numbers: Counter[str] = Counter()
        self._secrets: dict[str, None] = {}
        self._homes: dict[str, None] = {}
        self._users: dict[str, None] = {}
        self._looked_at: set[str] = set()
        self._unchanged: set[str] = set()
        """Short texts come again and again: most are names of things, and there is nothing in them."""
        known = tuple(secrets)
        self._masker = Masker(known)
        self._known: re.Pattern[str] | None = None
        self._named: re.Pattern[str] | None = None
        for secret in known:
            self._learn_secret(secret)
        if home is not None:
            self._homes[str(home).rstrip("/\\")] = None
        if user is not None:
            self._learn_user(user)

    # ── learning ───────────────────────────────────────────────────────────

    def learn(self, value: Any) -> None:
        """Finds secrets by their names or positions, anywhere in a value: its texts and their keys."""
        _walk(value, self._learn_text, self._learn_named, self._learn_lines)

    def _learn_text(self, text: str) -> str:
        if text in self._looked_at:
            return text
        if len(text) <= _SHORT:
            self._looked_at.add(text)
        inner = _document(text)
        if inner is not None:
            self.learn(inner)
        for pattern in _named_values(text):
            for match in pattern.finditer(text):
                if (value := _secret_in(match)) is not None:
                    self._learn_secret(value)
        for line in _key_lines(text):
            self._learn_secret(line)
        for beginnings, shape in _SHAPES[1:]:  # lines of a private key were learnt one by one
            if any(one in text for one in beginnings):
                for match in shape.finditer(text):
                    self._learn_secret(match[0])
        for _, said in _encoded(text):
            self._learn_text(said)
        if _has_home(text):
            for match in _HOME.finditer(text):
                if match["name"] and _is_home(match):
                    self._learn_user(match["name"])
            for match in _DRIVE_HOME.finditer(text):
                self._learn_user(match["name"])
        return text

    def _learn_lines(self, values: Sequence[Any]) -> None:
        """A key may be told line by line: none of its lines says what it is."""
        if any(isinstance(one, str) and "PRIVATE KEY" in one for one in values):
            for line in _key_lines("\n".join(one for one in values if isinstance(one, str))):
                self._learn_secret(line)

    def _learn_named(self, name: str, value: str) -> str:
        if _is_secret(name, value):
            self._learn_secret(value)
        return self._learn_text(value)

    def _learn_secret(self, value: str) -> None:
        value = value.strip()
        if len(value) >= SHORTEST and not _PLACEHOLDER.search(value) and value not in self._secrets:
            plain = value.replace("\\/", "/")
            escaped = json.dumps(value, ensure_ascii=False)[1:-1]
            for one in (
                value,
                plain,
                escaped,
                plain.replace("/", "\\/"),
                quote(plain, safe="", errors="surrogatepass"),
            ):
                self._secrets[one] = None
            self._known = None
            self._unchanged.clear()

    def _learn_user(self, name: str) -> None:
        name = name.rstrip(".")
        is_word = len(name) <= 2 or name.lower() in _EVERYBODY
        if not is_word and name not in self._users and not _PLACEHOLDER.search(name):
            self._users[name] = None
            self._named = None
            self._unchanged.clear()

    # ── redacting ──────────────────────────────────────────────────────────

    def value(self, value: Kept) -> Kept:
        """The redacted event, row or JSON value; the same object if there was nothing to remove."""
        changed: Kept = _walk(value, self.text, self._text_named)
        return changed

    def _text_named(self, name: str, value: str) -> str:
        return self._instead("secret", value) if _is_secret(name, value) else self.text(value)

    def text(self, text: str) -> str:
        """The redacted text."""
        if len(text) < 4 or text in self._unchanged:
            return text
        changed = self._changed(text)
        if changed == text:
            if len(text) <= _SHORT:
                self._unchanged.add(text)
            return text
        # What stands around a placeholder may look like a secret together with it (`xoxb-REDACTED-USER-1`).
        for _ in range(_MOST_ROUNDS):
            before, changed = changed, self._changed(changed)
            if changed == before:
                break
        return changed

    def _changed(self, text: str) -> str:
        text = self._masker.text(text, lambda found: self._instead("secret", found))
        inner = _document(text)
        if inner is not None:
            changed = self.value(inner)
            if changed is not inner and changed != inner:
                text = _written(changed, text)
        if "\\u00" in text:
            plain = _SPELLED_OUT.sub(_unspelled, text)
            if plain != text and (without := self._changed(plain)) != plain:
                return without
        for found, said in _encoded(text):
            if self._changed(said) != said:
                text = text.replace(found, self._instead("secret", found))
        if self._secrets:
            if self._known is None:
                self._known = re.compile(_alternatives(self._secrets))
            text = self._known.sub(lambda match: self._instead("secret", match[0]), text)
        for beginnings, shape in _SHAPES:
            if any(one in text for one in beginnings):
                text = shape.sub(lambda match: self._instead("secret", match[0]), text)
        for pattern in _named_values(text):
            text = pattern.sub(self._without_value, text)
        if "@" in text:
            text = _EMAIL.sub(lambda match: self._instead("email", match[0]), text)
        return self._nobodys(text)

    def _nobodys(self, text: str) -> str:
        for home in self._homes:
            if home in text:
                pattern = re.compile(rf"{re.escape(home)}(?![A-Za-z0-9._-])")
                text = pattern.sub(lambda match: self._homeless(match[0]), text)
        if _has_home(text):
            text = _DRIVE_HOME.sub(self._without_home, text)
            text = _HOME.sub(self._without_home, text)
        if self._users:
            if self._named is None:
                self._named = re.compile(rf"(?i:{_BEGINS}(?:{_alternatives(self._users)})(?![A-Za-z0-9]))")
            text = self._named.sub(lambda match: self._instead("user", match[0].lower()), text)
        return text

    def _without_value(self, match: re.Match[str]) -> str:
        value = _secret_in(match)
        if value is None:
            return match[0]
        group = next(group for group in ("double", "single", "bare") if match.groupdict().get(group) is not None)
        start, end = match.start(group) - match.start(), match.end(group) - match.start()
        return f"{match[0][:start]}{self._instead('secret', value)}{match[0][end:]}"

    def _without_home(self, match: re.Match[str]) -> str:
        name = match["name"]
        if match.re is _HOME and not _is_home(match):
            return match[0]
        return match[0] if name and _PLACEHOLDER.match(name) else self._homeless(match[0])

    def _homeless(self, home: str) -> str:
        """What was a whole path stays one: it begins as it did."""
        rest = home.lstrip("/\\")
        return home[: len(home) - len(rest)] + self._instead("home", re.sub(r"[/\\]+", "/", rest))

    def _instead(self, kind: str, value: str) -> str:
        if _PLACEHOLDER.fullmatch(value):
            return value
        self.counts[kind] += 1
        known = self._placeholders.get((kind, value))
        if known is None:
            self._numbers[kind] += 1
            known = self._placeholders[kind, value] = f"REDACTED-{kind.upper()}-{self._numbers[kind]}"
        return known


def _secret_in(match: re.Match[str]) -> str | None:
    """The value a name was given, where it may be a secret: no reference to one, no placeholder, no code."""
    groups = match.groupdict()
    value = next((groups[one] for one in ("double", "single", "bare") if groups.get(one) is not None), None)
    if value is None or _PLACEHOLDER.search(value):
        return None
    name = groups.get("name") or ""
    pattern = match.re
    if pattern is _IN_URL:
        return None if value.startswith(("$", "{", "<", "*")) else value
    if pattern is _TYPED:
        return None if value.startswith(("$", "{", "<", "*")) or len(value) < 4 or value.isdigit() else value
    if pattern is _COOKIE:
        return value if "=" in value and len(value) >= 16 and any(one.isdigit() for one in value) else None
    if pattern is _BEARER:
        return value if any(one.isdigit() for one in value) or len(value) >= 24 else None
    if not _is_secret(name, value):
        return None
    if pattern in (_SAID, _LOOSELY) and groups.get("bare") is not None and not _looks_random(value):
        return None  # `password=password` and `token: str` are code
    return value


def _is_secret(name: str, value: str) -> bool:
    """Whether a value of this name is one: not a variable, a number of tokens, a path or a flag."""
    if not _NAMES.search(name) and not (_LOOSE_NAMES.search(name) and _looks_random(value, 16)):
        return False
    if len(value) < 4 or value.startswith(("$", "%", "<", "*", "{")) or _PLACEHOLDER.search(value):
        return False
    if name.endswith("_PWD") and value.startswith("/"):
        return False
    return not (value.isdigit() and "TOKENS" in name.upper()) and value.lower() not in ("true", "false", "none", "null")


def _looks_random(value: str, shortest: int = SHORTEST) -> bool:
    return len(value) >= shortest and any(one.isdigit() for one in value)


def _unspelled(match: re.Match[str]) -> str:
    """`\\u0061` as the letter it is; what JSON may have to escape stays as it was."""
    letter = chr(int(match[1], 16))
    return letter if letter.isalnum() or letter in "-_.+=" else match[0]


def _key_lines(text: str) -> Iterator[str]:
    """The lines of private keys in a text, without what an editor or a diff put before them."""
    if "PRIVATE KEY" not in text or "-----" not in text:
        return
    inside, before = False, list[str]()
    for line in re.split(r"\n|\\+n", text):
        if _KEY_BEGINS.search(line):
            inside, before = True, []
        elif _KEY_ENDS.search(line):
            yield from before
            inside, before = False, []
        elif (found := _KEY_LINE.search(line)) is not None:
            before.append(found[0].lstrip("+"))  # a diff has it before each line
        elif not inside:
            before = []
    if inside:
        yield from before


def _encoded(text: str) -> Iterator[tuple[str, str]]:
    """What of a text is base64 of another text, and that one."""
    for match in _BASE64.finditer(text):
        pieces = [match[0], *(one for one in match[0].split("/") if len(one) >= 16 and one != match[0])]
        for piece in pieces:
            said = _decoded(piece)
            if said is not None:
                yield piece, said
                break


def _decoded(piece: str) -> str | None:
    bare = piece.rstrip("=")
    if len(bare) % 4 == 1:
        return None
    try:
        data = binascii.a2b_base64(bare.translate(_PLAIN) + "=" * (-len(bare) % 4))
        said = data.decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    return None if _NO_TEXT.search(said) else said


_PLAIN: Final = str.maketrans("-_", "+/")


def _alternatives(words: Iterable[str]) -> str:
    return "|".join(re.escape(one) for one in sorted(words, key=len, reverse=True))


def _document(text: str) -> Any:
    """The JSON a text is, if it is any that holds texts with escapes: they are looked at as what they say."""
    if "\\" not in text or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) else None


def _written(value: Any, like: str) -> str:
    end = like[len(like.rstrip("\r\n")) :]
    spaced = '": ' in like
    written = json.dumps(value, ensure_ascii=False, separators=None if spaced else (",", ":"))
    return written + end


def texts_changed(value: Kept, change: Callable[[str], str]) -> Kept:
    """A value with each text in it changed, also those that are keys; the thing itself where nothing was."""
    changed: Kept = _walk(value, change, lambda _, text: change(text))
    return changed


Listed = Callable[[Sequence[Any]], None]


def _walk(
    value: Any, change: Callable[[str], str], named: Callable[[str, str], str], listed: Listed | None = None
) -> Any:
    """A value with each text changed, also those that are keys; `named` changes the text a key stands for."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Media):
        kept = msgspec.structs.replace(value, data=None)
        changed = _fields(kept, change, named, listed)
        return msgspec.structs.replace(changed, data=_changed_data(value, change))
    if isinstance(value, msgspec.Struct):
        return _fields(value, change, named, listed)
    if isinstance(value, Mapping):
        return {
            change(key) if isinstance(key, str) else key: (
                named(key, one) if isinstance(key, str) and isinstance(one, str) else _walk(one, change, named, listed)
            )
            for key, one in value.items()
        }
    if isinstance(value, list | tuple):
        if listed is not None:
            listed(value)
        return type(value)(_walk(one, change, named, listed) for one in value)
    return value


def _changed_data(media: Media, change: Callable[[str], str]) -> str | None:
    """What is in a file that is text, not a picture, is changed as any text is; it stays base64."""
    said = None if media.data is None else _decoded("".join(media.data.split()))
    if said is None or (changed := change(said)) == said:
        return media.data
    return binascii.b2a_base64(changed.encode(), newline=False).decode()


def _fields(
    value: Any, change: Callable[[str], str], named: Callable[[str, str], str], listed: Listed | None = None
) -> Any:
    changed = {}
    for name in value.__struct_fields__:
        before = getattr(value, name)
        after = _walk(before, change, named, listed)
        if after is not before and after != before:
            changed[name] = after
    return msgspec.structs.replace(value, **changed) if changed else value
