"""`dragoman keys`, `dragoman models` and aliases of models."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from dragoman import config
from dragoman.cli.commands.models import _row

from .conftest import Answer, User
from .prepared import run
from .test_run import NOTHING_LOCAL

KEY = "sk-test-0123456789"


@contextmanager
def lists(*models: str) -> Iterator[str]:
    """A provider that lists models to whoever has the key."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            right = self.headers["authorization"] == f"Bearer {KEY}"
            rows = ", ".join(f'{{"id": "{model}"}}' for model in models)
            body = f'{{"data": [{rows}]}}' if right else '{"error": {"message": "wrong key"}}'
            self.send_response(200 if right else 401)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def types(user: User, *words: str, stdin: str = "", **environ: str) -> Answer:
    return Answer.of(run(words, user.here, {**user.environ, **environ}, stdin.encode()))


async def test_a_key_is_stored_for_its_owner_alone_used_and_never_shown(user: User) -> None:
    with lists("gpt-5.2", "my-own") as url:
        environ = {"OPENAI_BASE_URL": url}
        missing = await asyncio.to_thread(types, user, "keys", "test", "openai", **environ)
        stored = await asyncio.to_thread(types, user, "keys", "set", "openai", stdin=f"{KEY}\n")
        works = await asyncio.to_thread(types, user, "keys", "test", "openai", **environ)
        listed = await asyncio.to_thread(types, user, "keys", "list")
        models = await asyncio.to_thread(types, user, "models", "openai", **environ)
        before = await asyncio.to_thread(types, user, "keys", "test", "openai", OPENAI_API_KEY="sk-other", **environ)
        assert "run `dragoman keys set openai`" in missing.err
        assert missing.code == 3  # as `run` answers a key that is not set
    file = user.config_dir / "keys.json"
    assert stored == Answer(0, "", f"The key of openai is stored in {file}, which only you can read.\n")
    assert (file.stat().st_mode & 0o777, KEY in file.read_text()) == (0o600, True)
    assert works == Answer(0, "", "openai accepts the key and lists 2 models.\n")
    assert listed.out.splitlines()[-1].split() == ["openai", "keys.json"]
    rows = [line.split() for line in models.out.splitlines()[-2:]]
    assert rows == [["openai:gpt-5.2", "400,000", "1.75", "14"], ["openai:my-own"]]
    assert (before.code, "wrong key" in before.err) == (4, True)
    assert not any(KEY in answer.out + answer.err for answer in (missing, stored, works, listed, models, before))


BACKEND = """
import json, os
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

FILE = os.environ["RING"]

class Keyring(KeyringBackend):
    priority = 5

    def _all(self):
        if os.path.exists(FILE + ".locked"):
            raise KeyringLocked("the collection is locked")
        return json.load(open(FILE)) if os.path.exists(FILE) else {}

    def get_password(self, service, username):
        return self._all().get(f"{service}/{username}")

    def set_password(self, service, username, password):
        whole = {**self._all(), f"{service}/{username}": password}
        json.dump(whole, open(FILE, "w"))

    def delete_password(self, service, username):
        raise PasswordDeleteError("not needed here")
"""


@pytest.mark.slow
async def test_a_key_goes_into_the_systems_keyring_where_there_is_one(user: User, tmp_path: Path) -> None:
    (tmp_path / "filering.py").write_text(BACKEND)
    ring = tmp_path / "ring.json"
    environ = {
        "PYTHONPATH": str(tmp_path),
        "PYTHON_KEYRING_BACKEND": "filering.Keyring",
        "RING": str(ring),
        "XDG_CONFIG_HOME": str(tmp_path),
    }
    with lists("gpt-5.2") as url:
        environ["OPENAI_BASE_URL"] = url
        stored = await asyncio.to_thread(types, user, "keys", "set", "openai", stdin=KEY, **environ)
        assert (stored.code, stored.err) == (0, "The key of openai is stored in the system's keyring.\n")
        listed = await asyncio.to_thread(types, user, "keys", "list", "--json", **environ)
        tried = await asyncio.to_thread(types, user, "keys", "test", "openai", **environ)
    assert json.loads(ring.read_text()) == {"dragoman/openai": KEY}
    assert KEY not in (user.config_dir / "keys.json").read_text()
    assert listed.json == [{"provider": "openai", "from": "the system's keyring"}]
    assert (tried.code, tried.err) == (0, "openai accepts the key and lists 1 model.\n")
    # What a keyring cannot do is an error that says so, and no key ends up elsewhere.
    (tmp_path / "ring.json.locked").touch()
    for words in (("set", "openai"), ("test", "openai")):
        locked = await asyncio.to_thread(types, user, "keys", *words, stdin="sk-other", **environ)
        assert locked.code != 0
        assert "the system's keyring" in locked.err
        assert "the collection is locked" in locked.err
        assert "Traceback" not in locked.err
    assert "sk-other" not in (user.config_dir / "keys.json").read_text()
    (tmp_path / "ring.json.locked").unlink()
    ring.write_text("{}")
    gone = await asyncio.to_thread(types, user, "keys", "test", "openai", **environ)
    assert "the key of openai is no longer in the system's keyring: dragoman keys set openai" in gone.err


async def test_a_provider_whose_key_is_set_and_that_fails_is_named_and_local_models_cost_nothing(user: User) -> None:
    with lists("gpt-5.2") as url:
        environ = {
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": url,
            "ANTHROPIC_API_KEY": "sk-x",
            "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
            "OLLAMA_BASE_URL": "http://127.0.0.1:9",
            "LLAMACPP_BASE_URL": "http://127.0.0.1:9",
            "LMSTUDIO_BASE_URL": "http://127.0.0.1:9",
        }
        listed = await asyncio.to_thread(types, user, "models", "--json", **environ)
    assert {row["model"] for row in listed.json} == {"openai:gpt-5.2", "openai-chat:gpt-5.2"}
    assert listed.err.count("warning:") == 1
    assert "warning: anthropic: " in listed.err
    assert [_row(config.load(), name, "qwen3")["output"] for name in ("ollama", "openai")] == [0.0, None]


def test_a_key_is_no_argument_and_a_provider_must_be_known(user: User) -> None:
    assert user.types("keys", "set", "openai", KEY).code == 2
    assert user.types("keys", "set", "opena").code == 2
    assert types(user, "keys", "set", "openai", stdin="two words\n").code == 2
    assert types(user, "keys", "set", "openai", stdin="k" * 100_000).code == 2, "a part of it would be stored"
    assert not (user.config_dir / "keys.json").exists()


def test_an_alias_stands_for_a_model(user: User) -> None:
    user.settings("[aliases]\nfast = 'openai:gpt-5.2'\n")
    shown = user.types("run", "--dry-run", "--model", "fast", "--json", "hi")
    assert (shown.code, shown.json["body"]["model"]) == (0, "gpt-5.2")


def test_a_project_does_not_change_what_an_alias_means(user: User) -> None:
    user.settings("[aliases]\nfast = 'openai:gpt-5.2'\n")
    user.write(user.here / "dragoman.toml", "[aliases]\nfast = 'openrouter:evil'\n")
    shown = user.types("run", "--dry-run", "--model", "fast", "--json", "hi")
    assert (shown.code, shown.json["body"]["model"]) == (0, "gpt-5.2")


def test_a_provider_that_cannot_be_reached_is_not_answered_with_advice_to_set_its_key(user: User) -> None:
    environ = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.1:9"}
    failed, nothing_set = types(user, "models", "openai", **environ), types(user, "models", **NOTHING_LOCAL)
    assert (failed.code, "warning: openai: " in failed.err, "set a key" in failed.err) == (1, True, False)
    assert (nothing_set.code, "dragoman keys set PROVIDER" in nothing_set.err) == (1, True)
