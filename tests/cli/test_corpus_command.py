"""`--corpus` in the commands that show sessions."""

from __future__ import annotations

from tests.logs.samples import SAMPLES

from .conftest import User


def test_sessions_of_a_corpus_are_listed_and_shown(user: User) -> None:
    for name, data in SAMPLES["claude_code"]:
        path = user.here / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert user.types("corpus", "build", "logs", "corpus").code == 0
    listed = user.types("sessions", "--corpus", "corpus", "--json").json
    assert {one["id"] for one in listed} == {one["id"] for one in user.types("sessions", "logs", "--json").json}
    id = listed[0]["id"]
    shown = user.types("show", "--corpus", "corpus", id)
    assert (shown.code, listed[0]["title"].split("\n")[0][:20] in shown.out) == (0, True)
    lines = user.types("events", "--corpus", "corpus", id, "--kind", "tool_called")
    assert lines.code == 0
    assert len(lines.out.splitlines()) == listed[0]["calls"]
    for words, message in (
        (("show", "--corpus", "corpus", "--raw", id), "--raw is about log files"),
        (("events", "--corpus", "corpus", "--format", "codex", id), "--format is about log files"),
        (("sessions", "--corpus", "corpus", "logs"), "--corpus asks all of a corpus"),
        (("show", "--corpus", "corpus", "nobody"), "nobody"),
    ):
        wrong = user.types(*words)
        assert wrong.code in (2, 3, 5, 6), wrong
        assert message in wrong.err
