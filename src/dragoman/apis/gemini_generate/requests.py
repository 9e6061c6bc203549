"""A request on the wire: contents in the order Gemini demands, settings, and which tools may be called."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from dragoman.apis.base.api import Encoded, Tools
from dragoman.apis.base.conversation_order import History, Remark, Turn
from dragoman.apis.base.encoded import not_shown
from dragoman.apis.base.options import with_options
from dragoman.apis.lowering import GEMINI_JSON, GEMINI_SCHEMA, Lowering, lower
from dragoman.errors import ConfigError
from dragoman.model import conversation as conv, request as req
from dragoman.model.calls import ExecutedBy
from dragoman.model.outcomes import Media

from . import families
from .fields import NAME
from .parts import (
    own,
    wire_id,
    write_call,
    write_media,
    write_provider_call,
    write_provider_result,
    write_response,
    write_words,
)
from .tools import GeminiTools, wire_name

SERVER_SIDE = "includeServerSideToolInvocations"


def write_request(request: req.Request, history: History, tools: Tools | None, features: req.Features) -> Encoded:
    """The body, where it goes, and what was changed."""
    contents = Contents(request.model, features)
    for turn in history.turns:
        contents.add(turn)
    body: dict[str, Any] = {"contents": contents.written()}
    if contents.system:
        body["systemInstruction"] = {"parts": contents.system, **contents.system_role}
    report = contents.report
    if tools is not None:
        body["tools"] = tools.wire
    offered = tools if isinstance(tools, GeminiTools) else None
    config = tool_config(
        request,
        strict=offered is not None and offered.strict,
        mixed=(offered is not None and offered.mixed) or _mixed_by_options(request),
    )
    if config:
        body["toolConfig"] = config
    generation = generation_config(request, report)
    if generation:
        body["generationConfig"] = generation
    if request.parallel is False:
        report.append(Remark("parallel", "calls cannot be kept from coming together: this API has no such setting"))
    body = _without_nulls(with_options(body, request.provider_options, report))
    lowering = Lowering() if tools is None else tools.lowering
    return Encoded(body, path_of(request), lowering=lowering, report=tuple(report), tools=tools)


def _mixed_by_options(request: req.Request) -> bool:
    """Whether the caller's own tools make functions stand beside tools that the provider runs."""
    raw = request.provider_options.get("tools")
    kinds = {key for entry in raw if isinstance(entry, dict) for key in entry} if isinstance(raw, list) else set()
    functions = {"functionDeclarations", "function_declarations"}
    hosted = kinds - functions - {"computerUse", "computer_use"}
    offered = [isinstance(one, req.ProviderDefinition) for one in request.definitions]
    return bool(kinds) and bool(hosted or any(offered)) and bool(kinds & functions or not all(offered))


def path_of(request: req.Request) -> str:
    """Where the request goes, after the base URL: the model is named there, not in the body."""
    model = model_path(request.model)
    return f"{model}:streamGenerateContent?alt=sse" if request.stream else f"{model}:generateContent"


def model_path(model: str) -> str:
    """The name of a model as a part of a URL, so that it can name nothing but a model."""
    segments = (model if "/" in model else f"models/{model}").split("/")
    if not {"", ".", ".."}.isdisjoint(segments):
        raise ConfigError(f'"{model}" cannot be the name of a model: a part of it is empty or made of dots')
    return "/".join(quote(segment, safe="@", errors="replace") for segment in segments)


def _without_nulls(body: dict[str, Any]) -> dict[str, Any]:
    """A setting of tools that the caller's options make null is not sent: an endpoint may refuse it."""
    config = body.get("toolConfig")
    if not isinstance(config, dict) or None not in config.values():
        return body
    config = {key: value for key, value in config.items() if value is not None}
    rest = {key: value for key, value in body.items() if key != "toolConfig"}
    return {**rest, "toolConfig": config} if config else rest


# ── settings ─────────────────────────────────────────────────────────────────


def generation_config(request: req.Request, report: list[Remark]) -> dict[str, Any]:
    """How the model is to answer."""
    config: dict[str, Any] = {
        "maxOutputTokens": request.max_output_tokens,
        "temperature": request.temperature,
        "topP": request.top_p,
        "stopSequences": list(request.stop) or None,
        "seed": request.seed,
        "thinkingConfig": thinking_config(request.thinking, request.model),
    }
    if request.response_schema is not None:
        newer = families.takes_json_schema(request.model)
        lowered = lower(request.response_schema, GEMINI_JSON if newer else GEMINI_SCHEMA)
        report.extend(Remark(f"response_schema{one.path}", one.message) for one in lowered.rewrites)
        config["responseMimeType"] = "application/json"
        config["responseJsonSchema" if newer else "responseSchema"] = lowered.schema
    return {key: value for key, value in config.items() if value is not None}


def thinking_config(thinking: req.Thinking | None, model: str) -> dict[str, Any] | None:
    """How much to think: a level from Gemini 3 on, tokens before. What is thought is asked for."""
    if thinking is None:
        return None
    if thinking.tokens is not None:
        return {"thinkingBudget": thinking.tokens, "includeThoughts": True}
    level = thinking.level or "off"
    if level == "off":
        return {"thinkingLevel": "minimal"} if families.thinks_by_level(model) else {"thinkingBudget": 0}
    if families.thinks_by_level(model):
        return {"thinkingLevel": level, "includeThoughts": True}
    return {"thinkingBudget": families.BUDGETS[level], "includeThoughts": True}


def tool_config(request: req.Request, *, strict: bool, mixed: bool) -> dict[str, Any]:
    """Which functions may or must be called, and whether the provider's own calls are shown beside ours."""
    config: dict[str, Any] = {}
    calling = _calling(request, strict=strict)
    if calling:
        config["functionCallingConfig"] = calling
    if mixed and not families.is_vertex(request.model):
        config[SERVER_SIDE] = True
    return config


def _calling(request: req.Request, *, strict: bool) -> dict[str, Any] | None:
    choice = request.choice
    if not request.definitions:
        return None
    if choice.mode == "auto":
        return {"mode": "VALIDATED"} if strict else None
    if choice.mode == "none":
        return {"mode": "NONE"}
    if choice.mode == "required":
        return {"mode": "ANY"}
    # A name list is refused with AUTO; VALIDATED takes one and leaves the model free to answer in words.
    mode = "ANY" if choice.mode == "one" or choice.required else "VALIDATED"
    return {"mode": mode, "allowedFunctionNames": chosen_names(request, choice)}


def chosen_names(request: req.Request, choice: req.ToolChoice) -> list[str]:
    """The names of a choice as they stand on the wire."""
    written: dict[str, str] = {}
    for one in request.definitions:
        if isinstance(one, req.FunctionDefinition | req.FreeformDefinition):
            name = wire_name(one.name, one.namespace)
            written.setdefault(one.name, name)
            if one.namespace is not None:
                written[f"{one.namespace}.{one.name}"] = name
    return [written.get(name, name) for name in choice.names]


# ── contents ─────────────────────────────────────────────────────────────────


class _Results:
    """The one content that answers all calls of a turn."""

    def __init__(self, calls: list[conv.CallPart]) -> None:
        self.parts: list[dict[str, Any]] = []
        self.order = {part.call.id: place for place, part in enumerate(calls)}
        self.places: list[tuple[int, int]] = []
        """(place among the parts, place of the call) of each result."""
        self.role: dict[str, Any] = {"role": "user"}

    def settled(self) -> dict[str, Any]:
        """The content. Without ids a result is known by its name and its place, so results stand as their calls do."""
        responses = [self.parts[place] for place, _ in self.places]
        calls = [call for _, call in self.places]
        if calls != sorted(calls) and any("id" not in part["functionResponse"] for part in responses):
            by_call = sorted(range(len(responses)), key=lambda index: self.places[index][1])
            for (place, _), index in zip(self.places, by_call, strict=True):
                self.parts[place] = responses[index]
        return {**self.role, "parts": self.parts}


class Contents:
    """Turns as contents: the system's apart, and all results of a turn in the one content that follows it."""

    def __init__(self, model: str, features: req.Features) -> None:
        self.system: list[dict[str, Any]] = []
        self.system_role: dict[str, Any] = {}
        self.report: list[Remark] = []
        self._model = model
        self._features = features
        self._contents: list[dict[str, Any] | _Results] = []
        self._results: _Results | None = None
        self._wire_ids: dict[str, str | None] = {}

    def written(self) -> list[dict[str, Any]]:
        whole = [one.settled() if isinstance(one, _Results) else one for one in self._contents]
        return [content for content in whole if content["parts"]]

    def add(self, turn: Turn) -> None:
        """The next turn."""
        if turn.role in ("system", "developer"):
            self._instruct(turn)
        elif turn.role == "assistant":
            self._said(turn)
        else:
            self._told(turn)

    def _note(self, turn: Turn, message: str) -> None:
        self.report.append(Remark(turn.where, message))

    def _role(self, turn: Turn, role: str) -> dict[str, Any]:
        stated = turn.metadata.get(NAME, {})
        return {"role": stated.get("role", role)} if stated.get("role", role) is not None else {}

    def _instruct(self, turn: Turn) -> None:
        if self._contents:
            self._note(turn, "instructions can only come first: they were moved there")
        for part in turn.parts:
            if isinstance(part, conv.TextPart):
                self.system.append(write_words(part))
            else:
                self._note(turn, "instructions can only be text: the rest was left out")
        stated = turn.metadata.get(NAME, {})
        if "role" in stated:
            self.system_role = {"role": stated["role"]}

    def _said(self, turn: Turn) -> None:
        parts = [written for part in turn.parts for written in self._write(turn, part)]
        if turn.item is not None and not may_sign(turn.item, self._model):
            parts = self._unsigned(turn, parts)
        if turn.item is not None and is_unsigned(turn.item, self._model):
            self._sign(turn, parts)
        if not parts:
            self._note(turn, "a turn without content cannot be sent and was left out")
        self._contents.append({**self._role(turn, "model"), "parts": parts})
        calls = [part for part in turn.parts if isinstance(part, conv.CallPart) and _is_ours(part)]
        self._results = None
        if calls:
            self._wire_ids.update({part.call.id: wire_id(part) for part in calls})
            self._results = _Results(calls)
            self._contents.append(self._results)

    def _unsigned(self, turn: Turn, parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """What another model said, without what only that model can read: signatures, and tools run with them."""
        if any(_SIGNATURES & part.keys() for part in parts):
            self._note(turn, "signatures of another model were left out")
        bare = [{key: value for key, value in part.items() if key not in _SIGNATURES} for part in parts]
        if any(_SIGNED_TOOLS & part.keys() for part in bare):
            self._note(turn, "tools the provider ran for another model were left out")
        empty: tuple[dict[str, Any], ...] = ({}, {"text": ""}, {"thought": True})
        return [part for part in bare if part not in empty and not _SIGNED_TOOLS & part.keys()]

    def _sign(self, turn: Turn, parts: list[dict[str, Any]]) -> None:
        """Only the first of parallel calls carries a signature, and only there one is demanded."""
        for part in parts:
            if "functionCall" in part:
                if "thoughtSignature" not in part:
                    part["thoughtSignature"] = families.DUMMY_SIGNATURE
                    self._note(turn, "a call this model did not make carries the stand-in for a signature")
                return

    def _told(self, turn: Turn) -> None:
        results = [part for part in turn.parts if isinstance(part, conv.ResultPart) and _is_ours(part)]
        others = [part for part in turn.parts if not (isinstance(part, conv.ResultPart) and _is_ours(part))]
        waiting = self._results
        if not results or waiting is None:
            parts = [written for part in turn.parts for written in self._write(turn, part)]
            self._contents.append({**self._role(turn, "user"), "parts": parts})
            return
        alone = not waiting.parts and self._contents[-1] is waiting
        if alone:
            waiting.role = self._role(turn, "user")
        after: list[dict[str, Any]] = []
        for part in turn.parts if alone else results:
            written = self._write(turn, part)
            if isinstance(part, conv.ResultPart) and _is_ours(part):
                waiting.places.append((len(waiting.parts), waiting.order.get(part.result.call_id, 0)))
                waiting.parts.append(written[0])
                after.extend(written[1:])
            else:
                waiting.parts.extend(written)
        waiting.parts.extend(after)
        if not alone and others:
            parts = [written for part in others for written in self._write(turn, part)]
            self._contents.append({**self._role(turn, "user"), "parts": parts})

    # ── parts ──────────────────────────────────────────────────────────────

    def _write(self, turn: Turn, part: conv.AnyPart) -> list[dict[str, Any]]:
        """A part on the wire; a result's media that it cannot hold come after it."""
        if isinstance(part, conv.MediaPart):
            signed = {} if part.signature is None else {"thoughtSignature": part.signature}
            return self._media(turn, part.media, {**signed, **own(part)})
        if isinstance(part, conv.CallPart):
            if not _is_ours(part):
                return [dict(write_provider_call(part))]
            return [write_call(part, wire_name(part.call.name, part.call.namespace))]
        if isinstance(part, conv.ResultPart):
            if not _is_ours(part):
                return [dict(write_provider_result(part.result))]
            return self._result(turn, part)
        if isinstance(part, conv.OpaquePart):
            if part.api == NAME and part.item:
                return [dict(part.item)]
            what = "an empty part" if part.api == NAME else f"a part of {part.api}"
            self._note(turn, f"{what} cannot be sent and was left out")
            return []
        return [write_words(part)]

    def _media(self, turn: Turn, media: Media, beside: dict[str, Any]) -> list[dict[str, Any]]:
        written = write_media(media)
        if written is None:
            self._note(turn, f"{media.media_type} cannot be sent: a text says so")
            return [{"text": not_shown(media)}]
        return [{**written, **beside}]

    def _result(self, turn: Turn, part: conv.ResultPart) -> list[dict[str, Any]]:
        result = part.result
        beside = dict(own(part))
        marks = beside.pop("functionResponse", None)
        stated = marks.get("id") if isinstance(marks, dict) else self._wire_ids.get(result.call_id, result.call_id)
        response, unsaid = write_response(result)
        for media in unsaid:
            self._note(turn, f"{media.media_type} in the result of {result.name!r} cannot be sent: a text says so")
        whole: dict[str, Any] = {} if stated is None else {"id": stated}
        if result.name is not None:
            whole["name"] = wire_name(result.name, result.namespace)
        whole.update(response)
        after: list[dict[str, Any]] = []
        if result.item is None and "parts" in whole and not self._features.images_in_results:
            after = whole.pop("parts")
            self._note(turn, f"results hold no media on this model: those of {result.name!r} come after it")
        return [{"functionResponse": whole, **beside}, *after]


_SIGNATURES = frozenset({"thoughtSignature", "thought_signature"})
_SIGNED_TOOLS = frozenset({"toolCall", "tool_call", "toolResponse", "tool_response"})


def may_sign(item: conv.ConversationItem, model: str) -> bool:
    """Whether the signatures of a turn may go to a model: only to the one that made them, under any of its names."""
    made_by = item.provenance
    return made_by is None or (made_by.api in (None, NAME) and families.same_line(made_by.model, model))


def is_unsigned(item: conv.ConversationItem, model: str) -> bool:
    """Whether a turn's first call lacks the signature that the model demands; what the model said itself is right."""
    if not families.demands_signatures(model):
        return False
    first = next((part for part in item.parts if isinstance(part, conv.CallPart) and _is_ours(part)), None)
    if first is None:
        return False
    if not may_sign(item, model):
        return True
    return first.signature is None and (item.provenance is None or item.provenance.api != NAME)


def _is_ours(part: conv.CallPart | conv.ResultPart) -> bool:
    native = part.call if isinstance(part, conv.CallPart) else part.result
    return native.executed_by is ExecutedBy.CLIENT
