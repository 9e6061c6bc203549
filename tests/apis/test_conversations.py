"""Messages to and from the format of each provider: whatever way a conversation goes, it arrives the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dragoman.apis import APIS, Remark
from dragoman.errors import DefinitionError
from dragoman.model import (
    Media,
    assistant,
    system,
    tool_call,
    tool_result,
    user,
)

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "convert-messages.md"
ASKED = tool_call("weather", {"city": "Rome"})
CONVERSATIONS: dict[str, Any] = {
    "a question": (user("How is Rome?"),),
    "a picture": (user("What is this?", Media("image/png", "AAAA")), assistant("A dot.")),
    "a call": (system("Be brief."), user("How is Rome?"), ASKED, tool_result(ASKED, "clear"), assistant("Clear.")),
    "an answer and a question": (user("One?"), assistant("Two."), user("Three?")),
}


@pytest.mark.parametrize("there", list(APIS))
@pytest.mark.parametrize("here", list(APIS))
@pytest.mark.parametrize("kind", CONVERSATIONS)
def test_a_conversation_that_went_through_another_format_is_written_as_if_it_had_not(
    here: str, there: str, kind: str
) -> None:
    conversation = CONVERSATIONS[kind]
    between = APIS[here].read_conversation(APIS[here].write_conversation(conversation))
    assert [message.role for message in between] == [message.role for message in conversation]
    assert APIS[there].write_conversation(between) == APIS[there].write_conversation(conversation)


@pytest.mark.parametrize("api", list(APIS))
def test_only_the_fields_of_the_conversation_are_written_and_a_whole_request_is_read(api: str) -> None:
    fields = APIS[api].write_conversation(CONVERSATIONS["a call"])
    assert set(fields) == set(APIS[api].conversation_fields)
    whole = {**fields, "model": "m", "max_tokens": 5, "stream": True}
    assert APIS[api].read_conversation(whole) == APIS[api].read_conversation(fields)


@pytest.mark.parametrize("api", list(APIS))
def test_what_is_left_out_is_reported(api: str) -> None:
    report: list[Remark] = []
    lost = tool_result(tool_call("weather", {"city": "Rome"}), "clear")
    fields = APIS[api].write_conversation((*CONVERSATIONS["a question"], lost), report=report)
    assert "clear" not in str(fields)
    (remark,) = report
    assert remark.message.endswith("which no call waits for, was left out")


@pytest.mark.parametrize("api", list(APIS))
def test_what_holds_no_conversation_and_what_cannot_be_carried_is_an_error(api: str) -> None:
    with pytest.raises(DefinitionError, match=f"conversation for {api}"):
        APIS[api].read_conversation({"prompt": "Hi"})
    with pytest.raises(DefinitionError, match="video/x"):
        APIS[api].write_conversation((user("Look.", Media("video/x", path="/nowhere")),))


ITEMS = {
    "openai_chat": "messages",
    "openai_responses": "input",
    "anthropic_messages": "messages",
    "gemini_generate": "contents",
}


@pytest.mark.parametrize("api", list(APIS))
@pytest.mark.parametrize("wrong", [5, ["Hi", 7], [{"role": "wat", "content": "x"}, 7]])
def test_what_is_no_message_is_never_left_out_in_silence(api: str, wrong: Any) -> None:
    with pytest.raises(DefinitionError, match=f"the conversation for {api} cannot be read") as refused:
        APIS[api].read_conversation({ITEMS[api]: wrong})
    assert ITEMS[api] in refused.value.problems[0]


def test_the_message_that_cannot_be_read_is_named() -> None:
    with pytest.raises(DefinitionError) as refused:
        APIS["openai_chat"].read_conversation(
            {"messages": [{"role": "user", "content": "Hi"}, {"role": "wat", "content": "x"}]}
        )
    assert refused.value.problems == ("messages[1] is no message: {'content': 'x', 'role': 'wat'}",)


def test_the_page_prints_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(program, {})
    shown = [line.removeprefix("# ") for line in program.splitlines() if line.startswith("# ")]
    assert capsys.readouterr().out.splitlines() == shown


@pytest.mark.parametrize("api", list(APIS))
def test_what_is_no_dict_and_no_message_is_refused_with_what_to_give(api: str) -> None:
    dicts: Any = [{"role": "user", "content": "Hi"}]
    for given in (dicts, None, "Hi"):
        with pytest.raises(DefinitionError, match=r"it is a dict with its messages, \{\"(messages|input|contents)\": "):
            APIS[api].read_conversation(given)
    for given in (dicts, dicts[0], None, "Hi", ("Hi",)):
        with pytest.raises(DefinitionError, match="is no message: make them with `user`"):
            APIS[api].write_conversation(given)
