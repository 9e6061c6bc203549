"""What Gemini refuses in a request, found before it is sent."""

from __future__ import annotations

from collections.abc import Iterable

from dragoman.apis.base.api import Problem, chosen_by, hosted_of
from dragoman.model.request import Features, Request

from .families import takes_tools_with_a_schema
from .requests import is_unsigned


def problems_of(request: Request, features: Features) -> Iterable[Problem]:
    """Every problem that is this protocol's own."""
    if not any(item.role not in ("system", "developer") for item in request.conversation):
        yield Problem("conversation", "nothing is said", "give at least one message of the user")
    for index, item in enumerate(request.conversation):
        if is_unsigned(item, request.model):
            message = "this model demands the signature of a call, and this one has none from it"
            yield Problem(f"conversation[{index}]", message, "encoding sends the documented stand-in", fixed=True)
    yield from _tools(request, features)
    yield from _thinking(request, features)
    if {"cachedContent", "cached_content"} & request.provider_options.keys() and (
        request.definitions or any(item.role in ("system", "developer") for item in request.conversation)
    ):
        message = "cached content cannot be used with instructions or tools"
        yield Problem("provider_options.cachedContent", message, "put them into the cached content")


def _tools(request: Request, features: Features) -> Iterable[Problem]:
    if request.definitions and request.response_schema is not None and not takes_tools_with_a_schema(request.model):
        message = "this model takes no tools while its answer is held to a schema"
        yield Problem("response_schema", message, "leave one out, or ask a model from Gemini 3 on")
    choice = request.choice
    if choice.mode in ("auto", "none"):
        return
    hosted = hosted_of(request.definitions)
    names = {name for one in hosted for name in chosen_by(one)}
    for name in choice.names:
        if name in names:
            yield Problem("choice", f"{name!r} is the provider's own tool and cannot be chosen", "choose a function")
    if choice.mode == "required" and hosted and len(hosted) == len(request.definitions):
        yield Problem("choice", "only functions can be required, and none is offered", "offer one, or choose auto")
    if choice.mode == "subset" and not choice.required and not features.strict_tools:
        yield Problem("choice", "this model takes a subset only as required", "require it, or offer only those tools")


def _thinking(request: Request, features: Features) -> Iterable[Problem]:
    thinking = request.thinking
    if thinking is None:
        return
    if thinking.level == "off":
        if features.thinking and not features.thinking_off:
            yield Problem("thinking", "this model cannot be kept from thinking", "ask for little, or another model")
    elif not features.thinking:
        yield Problem("thinking", "this model does not think", "leave `thinking` out, or ask another model")
