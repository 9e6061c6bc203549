"""Which model answers a request to the gateway: routes of the command line and of the user's settings."""

from __future__ import annotations

import json
import sys

import pytest

from dragoman.model import FunctionDefinition, Request, Thinking, system, user as said
from dragoman.serve.gateway import Routes, read_route
from tests.cli.conftest import User, user as user

TOOL = FunctionDefinition("t", "A tool.", {"type": "object", "properties": {}})
WRITTEN = (
    "claude-haiku*=a:haiku",
    "@small=a:small",
    "@summary=a:summary,a:second",
    "@thinking=a:think",
    "@long=a:long",
)
ROUTES = Routes(("a:default",), tuple(map(read_route, WRITTEN)), long=1000)


@pytest.mark.parametrize(
    "request_, tokens, models",
    [
        (Request("claude-opus", (said("x"),), (TOOL,)), 10, ("a:default",)),
        (Request("claude-haiku-4", (said("x"),), (TOOL,)), 10, ("a:haiku", "a:default")),
        (Request("a:think", (said("x"),), (TOOL,)), 10, ("a:think",)),
        (Request("claude-opus", (said("Write a title."),)), 10, ("a:small", "a:default")),
        (
            Request("o", (said("Your task is to create a detailed summary of the conversation so far."),), (TOOL,)),
            5000,
            ("a:summary", "a:second", "a:default"),
        ),
        (
            Request("o", (system("… <state_snapshot> …"), said("x")), (TOOL,)),
            10,
            ("a:summary", "a:second", "a:default"),
        ),
        (Request("o", (said("<state_snapshot>"), said("Go on.")), (TOOL,)), 10, ("a:default",)),
        (Request("o", (said("x"),), (TOOL,), thinking=Thinking(tokens=9)), 10, ("a:think", "a:default")),
        (Request("o", (said("x"),), (TOOL,)), 1000, ("a:long", "a:default")),
    ],
)
def test_a_request_goes_to_the_model_of_the_first_route_that_fits(
    request_: Request, tokens: int, models: tuple[str, ...]
) -> None:
    assert ROUTES.models(request_, tokens) == models


def listed(user: User, *words: str) -> tuple[int, list[str], str]:
    """The models that a client which the gateway starts finds in its list."""
    program = user.write(
        user.home / "bin" / "claude",
        f"#!{sys.executable}\nimport json, os, urllib.request as web\n"
        "asked = web.Request(os.environ['ANTHROPIC_BASE_URL'] + '/v1/models')\n"
        "asked.add_header('x-api-key', os.environ['ANTHROPIC_AUTH_TOKEN'])\n"
        "print(web.urlopen(asked).read().decode())\n",
    )
    program.chmod(0o700)
    keys = {"OPENAI_API_KEY": "sk-of-a-test", "GEMINI_API_KEY": "of-a-test"}
    path = f"{user.home / 'bin'}:{user.environ['PATH']}"
    done = user.starts("gateway", "claude", *words, PATH=path, **keys)
    rows = json.loads(done.stdout)["data"] if done.stdout else []
    return done.returncode, [row["id"] for row in rows], done.stderr.decode()


def test_models_and_routes_come_from_the_users_settings(user: User) -> None:
    user.settings(
        '[gateway]\nmodel = "openai:gpt-5, gemini:gemini-2.5-pro"\n[gateway.routes]\n"@small" = "openai:gpt-5-mini"\n'
    )
    assert listed(user)[:2] == (0, ["openai:gpt-5", "gemini:gemini-2.5-pro", "openai:gpt-5-mini"])
    code, models, _ = listed(user, "--model", "gemini:gemini-2.5-flash", "--route", "@long=openai:gpt-5")
    assert (code, models) == (0, ["gemini:gemini-2.5-flash", "openai:gpt-5", "openai:gpt-5-mini"])


@pytest.mark.parametrize("setting", ['[gateway]\nmodel = "evil:m"\n', '[gateway.routes]\n"*" = "evil:m"\n'])
def test_no_project_decides_who_gets_what_a_client_says(user: User, setting: str) -> None:
    user.settings('[gateway]\nmodel = "openai:gpt-5"\n')
    user.write(user.here / ".dragoman" / "config.toml", setting)
    user.types("trust", "--yes")
    code, models, told = listed(user)
    assert (code, models) == (0, ["openai:gpt-5"])
    assert "only your own settings may set it" in told


def test_the_model_that_a_project_chooses_for_runs_is_not_taken(user: User) -> None:
    user.write(user.here / ".dragoman" / "config.toml", 'model = "openai:gpt-5"\n')
    code, models, told = listed(user)
    assert (code, models) == (3, [])
    assert "gateway.model in your own settings" in told
