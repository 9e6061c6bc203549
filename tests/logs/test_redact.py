"""Redaction: nothing that was planted survives, in any target, in any place."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from dragoman.logs import Chosen, Redactor, numbered, read, write_as
from dragoman.logs.export import TARGETS
from dragoman.model import AnyEvent, Media
from tests.logs.samples import _block, _claude, _told, lines

SHAPED = {
    "openai": "sk-proj-Ab3dEf6hIj9kLm2nOp5q",
    "anthropic": "sk-ant-api03-Ab3dEf6hIj9kLm2nOp5q-AA",
    "github": "ghp_Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z",
    "github, fine": "github_pat_11ABCDEFG0Ab3dEf6hIj9k_Lm2nOp5q",
    "amazon": "AKIAIOSFODNN7EXAMPLE",
    "google": "AIzaSyAb3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zz",
    "slack": "xoxb-123456789012-Ab3dEf6hIj9k",
    "hugging face": "hf_Ab3dEf6hIj9kLm2nOp5qRs8t",
    "groq": "gsk_Ab3dEf6hIj9kLm2nOp5qRs8t",
    "stripe": "sk_live_Ab3dEf6hIj9kLm2n",
    "web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlLW9mLWl0",
    "address": "ann.lee+work@mail.example.org",
}
"""Known by their looks, wherever they stand."""

NAMED = {
    "a variable": ("export DB_PASSWORD=correct1horse && ./run", "correct1horse"),
    "a quoted variable": ("API_TOKEN='battery staple 9' ./run", "battery staple 9"),
    "a variable of PowerShell": ('$env:CLIENT_SECRET = "q1w2e3r4t5"; ./run', "q1w2e3r4t5"),
    "a line of settings": ("MY_SECRET_KEY: zyxwvut987", "zyxwvut987"),
    "a flag": ("deploy --api-key k1k2k3k4k5k6 now", "k1k2k3k4k5k6"),
    "a header": ("curl -H 'Authorization: Bearer a1b2c3d4e5f6g7' x.y", "a1b2c3d4e5f6g7"),
    "an address": ("git clone https://ann:p4ssw0rd99@host.example/x.git", "p4ssw0rd99"),
    "JSON": ('{"env": {"API_KEY": "json1secret2"}}', "json1secret2"),
    "JSON in JSON": (json.dumps({"text": json.dumps({"client_secret": "deep1secret2"})}), "deep1secret2"),
}
"""Known by their names; the value goes wherever else it stands too."""

KEY = (
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU\n"
    "AAAAB3NzaC1yc2E\n-----END OPENSSH PRIVATE KEY-----"
)


def planted(words: str, bare: str) -> bytes:
    """A session that says words in every place there is, and a bare value where nothing gives it away."""
    return lines(
        _claude("user", "u1", None, message={"role": "user", "content": f"Use it: {words}"}, cwd="/home/annlee/p"),
        _block("u2", "u1", {"type": "thinking", "thinking": f"So {bare} it is.", "signature": "s"}),
        _block("u3", "u2", {"type": "text", "text": f"I use\n{words}\nnow."}),
        _block("u4", "u3", {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": words}}),
        _told(
            "u5", "u4", "t1", f"ok\n{bare}\n", result={"stdout": f"ok\n{bare}\n", "stderr": "", "interrupted": False}
        ),
        _block(
            "u6",
            "u5",
            {
                "type": "tool_use",
                "id": "t2",
                "name": "made_up",
                "input": {"nested": [{f"at {bare}": words}], "s": words},
            },
        ),
        _told("u7", "u6", "t2", json.dumps({"said": words, "path": "/home/annlee/x.py"}), result="annlee did it"),
        _block(
            "u8", "u7", {"type": "tool_use", "id": "t3", "name": "Read", "input": {"file_path": f"/home/annlee/{bare}"}}
        ),
        _told(
            "u9",
            "u8",
            "t3",
            "1\ttext",
            result={"type": "text", "file": {"filePath": f"/home/annlee/{bare}", "content": words}},
        ),
        {"type": "a-new-kind", "sessionId": "s-1", "note": words, bare: 1},
    )


def exported(path: Path, target: str, strategy: Any, redactor: Redactor | None) -> bytes:
    def events() -> Iterator[AnyEvent]:
        return numbered(read(path))

    out = io.BytesIO()
    write_as(Chosen(events, strategy, redactor), target, out)
    return out.getvalue()


def tables_of(path: Path, folder: Path, redactor: Redactor) -> str:
    import duckdb

    write_as(Chosen(lambda: numbered(read(path)), "raw", redactor), "parquet", folder)
    said = [(folder / "events.jsonl").read_text()]
    for file in sorted(folder.glob("*.parquet")):
        said.append(repr(duckdb.sql(f"SELECT * FROM read_parquet('{file}')").fetchall()))
    return "\n".join(said)


FILES = [name for name, target in TARGETS.items() if not target.is_folder]


EVERYTHING = [*((one, one) for one in SHAPED.values()), *NAMED.values()]


def write_planted(folder: Path) -> Path:
    path = folder / "s-1.jsonl"
    path.write_bytes(planted("\n".join(words for words, _ in EVERYTHING), "\n".join(bare for _, bare in EVERYTHING)))
    return path


@pytest.mark.parametrize("target", FILES)
@pytest.mark.parametrize("strategy", [None, "raw", "clean", "reasoning"])
@pytest.mark.slow
def test_no_planted_secret_survives_in_any_target(tmp_path: Path, target: str, strategy: Any) -> None:
    path = write_planted(tmp_path)
    before = exported(path, target, strategy, None).decode()
    after = exported(path, target, strategy, Redactor()).decode()
    known = ["annlee", *(bare for _, bare in EVERYTHING)]
    assert [one for one in known if one not in before] == []
    assert [one for one in known if one in after] == []


def test_no_planted_secret_survives_in_the_tables(tmp_path: Path) -> None:
    said = tables_of(write_planted(tmp_path), tmp_path / "tables", Redactor())
    assert [one for one in ("annlee", *(bare for _, bare in EVERYTHING)) if one in said] == []


@pytest.mark.parametrize("words, bare", NAMED.values(), ids=NAMED)
def test_a_value_is_known_by_its_name_alone(tmp_path: Path, words: str, bare: str) -> None:
    path = tmp_path / "s-1.jsonl"
    path.write_bytes(planted(words, bare))
    assert bare not in exported(path, "jsonl", "raw", Redactor()).decode()


@pytest.mark.parametrize("target", FILES)
def test_a_private_key_goes_as_a_whole_also_with_its_lines_escaped(tmp_path: Path, target: str) -> None:
    path = tmp_path / "s-1.jsonl"
    path.write_bytes(planted(json.dumps({"key": KEY}), KEY))
    after = exported(path, target, "raw", Redactor()).decode()
    assert "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU" not in after
    assert "AAAAB3NzaC1yc2E" not in after


@given(
    st.sampled_from([*SHAPED.values()]),
    st.text(st.sampled_from(" \n\t\"'`=:;,()[]{}<>|&\\/é中"), max_size=4),
    st.text(st.sampled_from(" \n\t\"'`;,()[]{}<>|&é中"), max_size=4),
    st.integers(0, 3),
)
def test_a_secret_is_found_whatever_stands_around_it_and_however_often_it_is_escaped(
    secret: str, before: str, after: str, depth: int
) -> None:
    text = f"{before}{secret}{after}"
    for _ in range(depth):
        text = json.dumps({"text": text})
    assert secret not in Redactor().text(text)


@given(st.sampled_from(["ann", "bob.b", "m_k"]), st.integers(0, 3), st.sampled_from(["/home/{}/x", "C:\\Users\\{}\\x"]))
def test_a_home_folder_is_found_in_json_within_json(name: str, depth: int, path: str) -> None:
    text = path.format(name)
    for _ in range(depth):
        text = json.dumps({"path": text})
    redactor = Redactor()
    redactor.learn(text)
    assert name not in redactor.text(text).replace("REDACTED", "")


@given(st.text(max_size=60) | st.sampled_from([words for words, _ in NAMED.values()]))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    redactor = Redactor()
    redactor.learn(text)
    once = redactor.text(text)
    assert redactor.text(once) == once
    assert Redactor().text(once) == once


def test_the_same_value_has_the_same_placeholder_and_another_value_another() -> None:
    redactor = Redactor()
    one, other = SHAPED["github"], SHAPED["amazon"]
    assert redactor.text(f"{one} {other} {one}") == "REDACTED-SECRET-1 REDACTED-SECRET-2 REDACTED-SECRET-1"
    assert dict(redactor.counts) == {"secret": 3}


@pytest.mark.parametrize(
    "text",
    [
        "sorted(rows, key=lambda row: row.name)",
        "max_tokens: 4096, input_tokens=12",
        "MAX_TOKENS=4096 ./run",
        "the token = next(tokens) and the password field",
        "a task-oriented disk-cache-directory-of-some-length",
        "API_KEY=$API_KEY ./run",
        "see src/home/page.tsx and https://example.org/home",
        "password: str | None = None",
        "{'type': 'text', 'key': 'Enter'}",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    redactor = Redactor()
    redactor.learn(text)
    assert redactor.text(text) == text


def test_a_name_that_is_a_word_goes_with_its_home_only() -> None:
    redactor = Redactor()
    redactor.learn("/home/user/p")
    assert (
        redactor.text("the user of /home/user/p and of /root/x")
        == "the user of /REDACTED-HOME-1/p and of /REDACTED-HOME-2/x"
    )


def test_a_user_is_known_by_the_home_anywhere_in_what_is_redacted() -> None:
    redactor = Redactor()
    redactor.learn({"cwd": "/Users/annlee/p"})
    assert redactor.value({"by": "AnnLee <x>", "dir": "-Users-annlee-p", "other": "annleely"}) == {
        "by": "REDACTED-USER-1 <x>",
        "dir": "-Users-REDACTED-USER-1-p",
        "other": "annleely",
    }


def test_values_known_from_elsewhere_go_too() -> None:
    redactor = Redactor(["plainwords"], home="/srv/people/ann", user="annlee")
    text = "plainwords in /srv/people/ann/x of annlee, not in /srv/people/anna"
    assert redactor.text(text) == "REDACTED-SECRET-1 in /REDACTED-HOME-1/x of REDACTED-USER-1, not in /srv/people/anna"


@pytest.mark.parametrize("place", range(180, 202))
def test_no_half_a_secret_survives_where_a_text_is_cut(tmp_path: Path, place: int) -> None:
    path = tmp_path / "s-1.jsonl"
    secret = SHAPED["github"]
    path.write_bytes(
        lines(
            _claude("user", "u1", None, message={"role": "user", "content": "Go."}),
            _block("u4", "u1", {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "x"}}),
            _told("u5", "u4", "t1", "x" * place + secret + "x" * 300, result=None),
        )
    )
    assert secret[:4] not in exported(path, "jsonl", "reasoning", Redactor()).decode()


HIDDEN = {
    "in base64": (base64.b64encode(SHAPED["openai"].encode()).decode(), "c2stcHJvai1BYjNk"),
    "in base64, in a path": (f"/x/{base64.urlsafe_b64encode(SHAPED['openai'].encode()).decode()}", "c2stcHJvai1BYjNk"),
    "settings in base64": (base64.b64encode(b'{"password": "horse1battery"}').decode(), "eyJwYXNzd29yZCI6"),
    "letters spelled out": ('got {"k": "sk-\\u0070roj-Ab3dEf6hIj9kLm2nOp5q"}', "Ab3dEf6hIj9k"),
    "a variable named PASS": ("DB_PASS=correct1horse", "correct1horse"),
    "a variable named PWD": ("MYSQL_PWD=correct1horse", "correct1horse"),
    "a token": ('{"token": "a8f5f167f44f4964e6c998dee827110c"}', "a8f5f167f44f4964"),
    "a token in an address": ("https://h.example/x?token=a8f5f167f44f4964e6c998&b=1", "a8f5f167f44f4964"),
    "a cookie": ("Cookie: sid=a8f5f167f44f4964e6c998dee8; a=b", "a8f5f167f44f4964"),
    "an account's key": ("AccountName=x;AccountKey=abcdEFGH1234abcdEFGH==;", "abcdEFGH1234"),
    "a key in code": ('SecretKey: "abcdefgh12345678"', "abcdefgh12345678"),
    "an address with two at signs": ("postgres://ann:p4ss@w0rd9@localhost/x", "w0rd9"),
    "curl": ("curl -s -u ann:horse1battery https://h.example", "horse1battery"),
    "sshpass": ("sshpass -p horse1battery ssh h", "horse1battery"),
    "a hook": ("https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXX", "XXXXXXXXXXXX"),
    "the end of a key": ("b3BlbnNzaC1rZXktdjEAAAAABG5vbmU\n-----END OPENSSH PRIVATE KEY-----", "b3BlbnNzaC1rZXk"),
    "a key with numbers before": (
        "\n".join(f"{number}\u2192{line}" for number, line in enumerate(KEY.split("\n"))),
        "b3BlbnNzaC1rZXk",
    ),
}
"""Text and what of it must not be there; none of it is a line of a session."""


@pytest.mark.parametrize("what", HIDDEN)
def test_what_is_hidden_in_another_spelling_is_found(what: str) -> None:
    text, secret = HIDDEN[what]
    assert secret in text
    redactor = Redactor()
    redactor.learn(text)
    once = redactor.text(text)
    assert secret not in once
    assert redactor.text(once) == once


def test_what_is_known_by_its_name_goes_in_other_spellings_too() -> None:
    value = {
        "a": 'API_KEY="p/ss w0rd+1"',
        "b": "x?k=p%2Fss%20w0rd%2B1",
        "c": '{"k":"p\\/ss w0rd+1"',
        "d": base64.b64encode(b"u:p/ss w0rd+1").decode(),
    }
    redactor = Redactor()
    redactor.learn(value)
    after = redactor.value(value)
    assert "w0rd" not in str(after)
    assert after["d"].startswith("REDACTED-SECRET-")


def test_a_key_that_is_told_line_by_line_goes_line_by_line() -> None:
    told = {"lines": [f"+{line}" for line in KEY.split("\n")], "elsewhere": KEY.split("\n")[1]}
    redactor = Redactor()
    redactor.learn(told)
    assert redactor.value(told) == {
        "lines": [
            "+REDACTED-SECRET-1",
            "+REDACTED-SECRET-2",
            "+REDACTED-SECRET-3",
            "+-----END OPENSSH PRIVATE KEY-----",
        ],
        "elsewhere": "REDACTED-SECRET-2",
    }


def test_text_in_a_file_is_looked_into_and_a_picture_is_not() -> None:
    inside = base64.b64encode(b"Use ghp_Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z now").decode()
    picture = base64.b64encode(bytes(range(256))).decode()
    redactor = Redactor()
    file, kept = (Media("text/plain", data=data) for data in (inside, picture))
    redactor.learn([file, kept])
    after = redactor.value(file)
    assert base64.b64decode(after.data or "") == b"Use REDACTED-SECRET-1 now"
    assert redactor.value(kept) == kept


@pytest.mark.parametrize(
    "text",
    [
        "def f(token: str, pwd: str) -> None: ...",
        "PWD=/home/x OLDPWD=/home/y",
        'usage: {"input_tokens": 123456789012345678}',
        "the token count was 12345678901234567890",
        "docker run -u 1000:1000 x",
        "src/dragoman/logs/export/transcript.py",
        "http://localhost:3000?mail=a@b",
        'const token = "identifier";',
    ],
)
def test_code_and_numbers_and_paths_stay(text: str) -> None:
    redactor = Redactor()
    redactor.learn(text)
    assert redactor.counts["secret"] == 0
    redactor.text(text)
    assert redactor.counts["secret"] == 0


def test_a_long_line_beside_a_key_takes_no_time_that_grows_with_its_square() -> None:
    text = f"-----BEGIN PRIVATE KEY-----\n{'A' * 2_000_000}!\n-----END PRIVATE KEY-----"
    redactor = Redactor()
    redactor.learn(text)
    assert redactor.text(text) == "REDACTED-SECRET-1"
