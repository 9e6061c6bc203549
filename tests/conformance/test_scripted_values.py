"""Every scripted call, result, token count, prompt and sub-agent, compared in value with what the logs give.

A script says what the model answered; the project the sessions worked in and the toy server say what each call had to
give (`scripted_truth`). A value that the events lack is excused only when the bytes of the log do not hold it either.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from tests.conformance import scripted_truth as truth
from tests.conformance.scripted_sessions import CLIENTS, LATER_CLIENTS, ROOTS, sessions

SESSIONS = {
    f"{session.client}/{session.name}": (session, format)
    for client, format in {**CLIENTS, **LATER_CLIENTS}.items()
    for session in sessions(client, format, ROOTS)
}


@cache
def compared(key: str) -> truth.Compared:
    session, format = SESSIONS[key]
    return truth.compare(session, session.events(format))


@pytest.mark.parametrize("key", SESSIONS)
def test_what_was_scripted_is_what_is_read(key: str) -> None:
    assert compared(key).wrong == []


def test_how_much_is_compared() -> None:
    held: Counter[str] = Counter()
    for key in SESSIONS:
        held += compared(key).held
    assert sum(held.values()) >= 25_000
    assert min(held.values()) >= 4, held
