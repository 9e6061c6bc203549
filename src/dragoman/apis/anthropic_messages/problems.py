"""What the Messages API would refuse in a request, beyond what every API would."""

from __future__ import annotations

from collections.abc import Iterable

from dragoman.apis.base.api import Problem
from dragoman.apis.base.encoded import described
from dragoman.model.conversation import CallPart, ConversationItem, FinishReason, Reply, ResultPart
from dragoman.model.request import Features, Request

from .families import LEAST_BUDGET, Family
from .pictures import FEW, LARGEST_SIDE, largest_side, longer_side, pictures_in
from .settings import lower_response, max_tokens, wire_name, write_thinking_setting
from .tools import is_deferred


def problems_of(request: Request, family: Family, features: Features) -> Iterable[Problem]:
    """What the API would refuse in a request."""
    yield from _thinking_problems(request, family)
    yield from _sampling_problems(request, family)
    if request.definitions and all(map(is_deferred, request.definitions)):
        fix = "offer one that is not deferred, such as a tool that searches for tools"
        yield Problem("tools", "every tool is deferred: the model could call none", fix)
    if request.choice.mode == "one" and wire_name(request.choice.names[0], request) is None:
        message = f"{request.choice.names[0]!r} has no name to be chosen by"
        yield Problem("choice", message, 'choose "required", or a tool that has one')
    if request.response_schema is not None:
        if not features.response_schema:
            yield Problem("response_schema", "this model has none", "offer a tool with this schema and choose it")
        for problem in lower_response(request.response_schema).problems:
            yield Problem("response_schema", problem, "change the schema")
    if any(not word.strip() for word in request.stop):
        yield Problem("stop", "a stop sequence is nothing but space", "give one that holds a character")
    if "messages" not in request.provider_options:
        yield from _conversation_problems(request, family)
        yield from _picture_problems(request)


def _picture_problems(request: Request) -> Iterable[Problem]:
    """New pictures that are too large beside so many. Older ones are left out with a remark."""
    largest = largest_side(part for item in request.conversation for part in item.parts)
    if largest == LARGEST_SIDE:
        return
    for item in reversed(request.conversation):
        if item.role == "assistant":
            return
        for media in pictures_in(item.parts if item.role == "user" else ()):
            if largest < longer_side(media) <= LARGEST_SIDE:
                message = (
                    f"{media.name or 'a picture'} ({described(media)}) is too large for a request of more than {FEW}"
                )
                yield Problem("conversation", message, f"scale it down to {largest} pixels a side, or give fewer")


def _thinking_problems(request: Request, family: Family) -> Iterable[Problem]:
    asked = request.thinking
    if asked is None or asked.level == "off":
        return
    if family.thinks == "no":
        yield Problem("thinking", "this model does not think", "leave it out, or take a model that does")
        return
    setting = write_thinking_setting(request, family)[0].get("thinking", {})
    if setting.get("type") == "enabled":
        budget, most = setting["budget_tokens"], max_tokens(request, family)
        if budget >= most:
            message = f"{budget} tokens of thinking leave no room in max_output_tokens={most}"
            yield Problem("thinking", message, f"think with fewer (at least {LEAST_BUDGET}) or allow more output")
        forced = request.choice.mode in ("required", "one")
        # Other models cannot be forced with any kind of thinking; `choice_problems` reports that for all of them.
        if forced and family.thinks == "both":
            message = "this model cannot be forced to call a tool while it thinks with a budget"
            yield Problem("choice", message, "choose auto, or give thinking a level")
        if request.top_p is not None and request.top_p < 0.95:
            yield Problem("top_p", "while the model thinks it is at least 0.95", "leave it out")
    if request.temperature not in (None, 1):
        yield Problem("temperature", "while the model thinks it is 1", "leave it out, or switch thinking off")


def _sampling_problems(request: Request, family: Family) -> Iterable[Problem]:
    temperature, top_p = request.temperature, request.top_p
    if temperature is not None and not 0 <= temperature <= 1:
        yield Problem("temperature", f"{temperature:g} is outside 0 to 1", "give one inside")
    if not family.sampling:
        for name, value in (("temperature", temperature), ("top_p", top_p)):
            if value not in (None, 1):
                yield Problem(name, "this model takes none", "leave it out")
    elif family.one_sampling and temperature is not None and top_p is not None:
        yield Problem("top_p", "this model takes a temperature or a top_p, not both", "leave one out")


def _conversation_problems(request: Request, family: Family) -> Iterable[Problem]:
    said = [item for item in request.conversation if item.role not in ("system", "developer")]
    if not said:
        yield Problem("conversation", "nothing is asked", "add a user message")
        return
    if said[-1].role == "assistant" and not _goes_on(said[-1]):
        thinks = request.thinking is not None and request.thinking.level != "off"
        if not family.prefill or thinks:
            why = "this model does not" if not family.prefill else "a thinking model does not"
            yield Problem("conversation", f"{why} go on from words put into its mouth", "end with a user message")


def _goes_on(turn: ConversationItem) -> bool:
    """Whether the model's last turn asks for more by itself: calls to answer, or the provider's tools under way."""
    if isinstance(turn, Reply) and turn.finish is FinishReason.PAUSED:
        return True
    return any(isinstance(part, CallPart | ResultPart) for part in turn.parts)
