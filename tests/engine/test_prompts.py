"""What a run begins with: everything that people write as a prompt, and what is refused before anything is sent."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from dragoman import Image, Orchestrator, Toolset
from dragoman.engine import ScriptedEngine
from dragoman.errors import ConfigError, DefinitionError
from dragoman.model import assistant, user

PICTURE = Image(bytes.fromhex("89504e470d0a1a0a"))


def sent(prompt: Any, **options: Any) -> Any:
    engine = ScriptedEngine(["yes"])
    Orchestrator(engine).run_sync(prompt, **options)
    return engine.requests[0].conversation


@pytest.mark.parametrize(
    "prompt, expected",
    [
        ("Hello?", (user("Hello?"),)),
        (PICTURE, (user(PICTURE),)),
        (["What is this?", PICTURE], (user("What is this?", PICTURE),)),
        (("One.", "Two."), (user("One.", "Two."),)),
        (user("Hello?"), (user("Hello?"),)),
        ([user("Hello?"), assistant("Yes?"), user("Go on.")], (user("Hello?"), assistant("Yes?"), user("Go on."))),
        (iter([user("Hello?")]), (user("Hello?"),)),
    ],
)
def test_a_prompt_is_text_files_or_messages(prompt: Any, expected: Any) -> None:
    assert sent(prompt) == expected


@pytest.mark.parametrize("prompt, named", [(3, "int"), (None, "NoneType"), (b"x", "bytes"), ({"role": "user"}, "dict")])
def test_anything_else_is_refused_by_its_type(prompt: Any, named: str) -> None:
    with pytest.raises(ConfigError, match=f"a prompt is text, .* not {named}"):
        sent(prompt)


@pytest.mark.parametrize("history", ["before", [{"role": "user", "content": "before"}], 3])
def test_a_history_is_messages(history: Any) -> None:
    with pytest.raises(ConfigError, match="the history is the `conversation` of a result"):
        sent("Hello?", history=history)
    result = Orchestrator(ScriptedEngine(["yes"])).run_sync("Hello?")
    with pytest.raises(ConfigError, match="not RunResult"):
        sent("Hello?", history=result)
    assert sent("Again?", history=result.conversation) == (*result.conversation, user("Again?"))


def test_dicts_of_a_provider_are_refused_with_what_reads_them() -> None:
    with pytest.raises(ConfigError, match="read_conversation makes messages of a provider's dicts"):
        sent("Hello?", history=[{"role": "user", "content": "before"}])


@pytest.mark.parametrize("part", [b"x", pathlib.Path("picture.png"), None, ["What?"]])
def test_a_message_is_made_of_texts_media_and_parts(part: Any) -> None:
    with pytest.raises(TypeError, match=r"not (bytes|PosixPath|NoneType|list): for a file or bytes write Image\(…\)"):
        user("What is this?", part)


@pytest.mark.parametrize(
    "settings, problem",
    [
        ({"temperature": "hot"}, "temperature must be float | None, not 'hot'"),
        ({"max_output_tokens": 0.5, "seed": "x"}, "max_output_tokens must be int | None, not 0.5; seed must be"),
        ({"stop": [3]}, "stop must be tuple[str, ...], not (3,)"),
        ({"system": 3}, "system must be text, not 3"),
    ],
)
def test_settings_of_another_type_are_refused_at_once(settings: Any, problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Orchestrator(ScriptedEngine([]), **settings)
    assert problem in str(refused.value)


def test_tools_are_a_list_of_tools() -> None:
    tools: Any
    for tools in ("read_file", print):
        with pytest.raises(DefinitionError, match="tools are given as a list, not as"):
            Toolset(tools)
    tools = ["read_file"]
    with pytest.raises(DefinitionError, match=r"'read_file' is a name: .* TOOLS\['read_file'\]"):
        Orchestrator(ScriptedEngine([]), tools)
