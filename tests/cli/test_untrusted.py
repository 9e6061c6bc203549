"""In a folder that nobody trusts, no command runs, fetches or writes anything because of what lies in it."""

from __future__ import annotations

import pytest

from .conftest import User

EVIL = "import pathlib\npathlib.Path({marker!r}).write_text('ran')\n"


@pytest.mark.parametrize("file", ["dragoman.toml", ".dragoman/config.toml"])
@pytest.mark.parametrize("key", ["dialect", "models.'*'.dialect"])
def test_a_dialect_file_of_a_project_is_not_run(user: User, file: str, key: str) -> None:
    marker = user.home / "marker"
    user.write(user.here / "evil.py", EVIL.format(marker=str(marker)))
    settings = user.write(user.here / file, f"{key} = './evil.py'\n")
    answer = user.types("run", "--dry-run", "--model", "openai:gpt-5", "hi")
    assert (answer.code, marker.exists()) == (0, False)
    assert f"{settings}: {key.replace(chr(39), '')} (line 1) is ignored: only your own settings" in answer.err


def test_a_dialect_file_is_run_for_a_flag_and_for_the_users_own_settings(user: User) -> None:
    marker = user.home / "marker"
    evil = user.write(user.here / "mine.py", EVIL.format(marker=str(marker)))
    for words in (("--dialect", "./mine.py"), ()):
        answer = user.types("run", "--dry-run", "--model", "openai:gpt-5", *words, "hi")
        assert (marker.exists(), "it sets neither DIALECT nor DIALECTS" in answer.err) == (True, True)
        marker.unlink()
        user.settings(f"dialect = '{evil}'\n")


def test_a_model_file_of_a_project_or_of_an_agent_is_not_opened(user: User) -> None:
    user.write(user.here / "evil.gguf", "GGUF")
    user.write(user.here / "agents" / "guest.md", "---\nname: guest\nmodel: local:./evil.gguf\n---\nHello.\n")
    file = user.write(user.here / "dragoman.toml", "model = 'local:./evil.gguf'\n")
    settings = user.types("run", "--dry-run", "hi")
    assert f"{file}: model (line 1) is ignored: needs trust, because it is more than a name" in settings.err
    agent = user.types("run", "--agent", "guest", "hi")
    assert (agent.code, "only you can choose it, with --model local:./evil.gguf" in agent.err) == (3, True)
