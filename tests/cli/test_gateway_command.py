"""`dragoman gateway`: what is wrong on its line is said before anything listens."""

from __future__ import annotations

import pytest

from tests.cli.conftest import User


@pytest.mark.parametrize(
    "words, code, told",
    [
        (("--token", "a", "--token-env", "B"), 2, "Either --token or --token-env."),
        (("--token-env", "NO_SUCH"), 3, "NO_SUCH has no token in it"),
        (("--token", ""), 3, "a token is sent in a header"),
        (("--token", "two\nlines"), 3, "a token is sent in a header"),
        (("--token", "schlüssel"), 3, "a token is sent in a header"),
    ],
)
def test_a_token_that_cannot_be_sent_is_refused(
    words: tuple[str, ...], code: int, told: str, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    done = user.types("gateway", "--model", "openai:gpt-5.5", *words)
    assert (done.code, told in done.err) == (code, True), done.err
