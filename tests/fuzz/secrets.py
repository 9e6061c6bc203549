"""Redaction: no planted secret survives, and what was redacted is not redacted again."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import quote

from dragoman.logs.redaction.redact import Redactor

from .drawing import Draw
from .target import Target

SECRETS = (
    "sk-proj-Zx8fQ2mN5vB7cD1eG4hJ6kL9pR3sT0uW",
    "ghp_Zx8fQ2mN5vB7cD1eG4hJ6kL9pR3sT0uWyA",
    "AKIAZX8FQ2MN5VB7CD1E",
    "AIzaZx8fQ2mN5vB7cD1eG4hJ6kL9pR3sT0uWy",
    "xoxb-1234567890-Zx8fQ2mN5vB7",
    "glpat-Zx8fQ2mN5vB7cD1eG4hJ",
    "hf_Zx8fQ2mN5vB7cD1eG4hJ6kL9",
)
KNOWN = "correct-Horse7battery"
"""A secret known by its value alone."""
TEXTS = (
    'export API_KEY="{}"; curl -H "Authorization: Bearer {}" https://api.example/v1',
    '{{"password": "{}", "nested": {{"clientSecret": "{}", "token": "{}"}}, "note": "mail ann@example.com"}}',
    "postgres://user:{}@db.example/x and https://h.example/?key={}\nCookie: a={}; b=2",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n{}\n-----END PRIVATE KEY-----",
    "/home/annette/work {} C:\\Users\\annette\\x a/home/annette/b ~/x",
    "plain words {} and more of them",
    "{}",
)
WORDS = (
    *(
        "API_KEY=",
        "password: ",
        '"token": "',
        "Bearer ",
        "secret",
        "TOKEN",
        "=",
        ":",
        '"',
        "'",
        "\\",
        "\\n",
        "\\u0041",
        "\\/",
    ),
    *(
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
        "-----BEGIN ",
        "PRIVATE KEY-----",
        "REDACTED-SECRET-1",
        "://a:b@",
        "@",
    ),
    *(
        "/home/ann/",
        "/Users/ann",
        "C:\\Users\\",
        "ann@example.com",
        "Y29ycmVjdA==",
        "%20",
        "%",
        "+",
        "{",
        "}",
        "[",
        "]",
    ),
)


def draw_text(draw: Draw) -> tuple[str, str]:
    """A text, and a secret that stands in it somewhere, with blanks around it."""
    secret = draw.choice((*SECRETS, KNOWN))
    text = draw.choice(TEXTS).format(*[draw.choice((*SECRETS, "hunter2", "x", KNOWN))] * 3)
    text = draw.damaged_text(text, (*WORDS, *SECRETS, KNOWN))
    planted = draw.choice((secret, secret, secret, quote(secret, safe="")))
    if draw.one_in(8):
        planted = base64.b64encode(f"the key is {secret} , really".encode()).decode()
    place = draw.randrange(len(text) + 1)
    return f"{text[:place]} {planted} {text[place:]}", secret


def check_text(given: tuple[str, str]) -> None:
    text, secret = given
    redactor = Redactor([KNOWN], home="/home/annette", user="annette")
    redactor.learn(text)
    once = redactor.text(text)
    assert isinstance(once, str)
    assert secret not in (*SECRETS, KNOWN) or secret not in once, "a secret is still there"
    assert KNOWN not in once, "a known secret is still there"
    assert redactor.text(once) == once, "redacted twice it is another text"


def draw_value(draw: Draw) -> Any:
    return draw.damaged_json(
        [
            b'{"env":{"API_KEY":"sk-proj-Zx8fQ2mN5vB7cD1eG4hJ6kL9pR3sT0uW","HOME":"/home/annette"},"list":["a",1,null]}',
            b'{"type":"tool_result","content":"password=hunter2hunter2 /home/annette/x","args":["--token","abcd1234"]}',
            b'["-----BEGIN PRIVATE KEY-----","MIIEvQIBADANBgkqhkiG9w0BAQEFAASC","-----END PRIVATE KEY-----"]',
        ],
        most=6,
    )


def check_value(value: Any) -> None:
    redactor = Redactor([KNOWN], home="/home/annette", user="annette")
    redactor.learn(value)
    once = redactor.value(value)
    assert KNOWN not in repr(once)
    assert redactor.value(once) == once, "redacted twice it is another value"


TARGETS = [
    Target(
        "redacted_texts",
        draw_text,
        check_text,
        examples=[
            ("rAKIAZX8FQ2MN5VB7CD1E AKIAZX8FQ2MN5VB7CD1E", "AKIAZX8FQ2MN5VB7CD1E"),
            ("xoxb-C:\\Users\\3", ""),
            ("n@e.om@e.co", ""),
            ('{"password":"\\ud8002mN5vB7"}', ""),
        ],
    ),
    Target("redacted_values", draw_value, check_value),
]
