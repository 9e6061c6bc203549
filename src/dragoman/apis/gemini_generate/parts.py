"""The parts of a content, read and written: text, thoughts, media, calls and results, each with its own signature.

Rule: a signature belongs to the part it came with. What a part says beside its typed fields is kept in its metadata
under the protocol's own keys and goes back with it.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Final

from dragoman.apis.base.conversation_order import made_id
from dragoman.apis.base.encoded import not_shown, picture_type
from dragoman.model import conversation as conv
from dragoman.model.calls import ExecutedBy, NativeCall, NativeResult
from dragoman.model.json_values import as_list, as_name
from dragoman.model.outcomes import Media

from .fields import NAME, camel, metadata_of, write_json
from .paths import PathArguments

CODE_TOOL = "code_execution"
_OUTCOMES_OF_SUCCESS = ("OUTCOME_OK", 1)
PICTURES = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})
"""The pictures that Gemini's page on images lists. It answers GIF and BMP with 400."""


class Pairing:
    """The ids of calls in one reply or one conversation: given, or made where none was; and who waits for a result."""

    def __init__(self, *place: object) -> None:
        self.place = place
        self._count = 0
        self._taken: set[str] = set()
        self._waiting: list[tuple[str | None, str, str]] = []
        """(id on the wire, name, our id) of every call without a result so far."""

    def called(self, value: Any, name: str) -> str:
        """The id of a new call."""
        id = as_name(value)
        if id is None or id in self._taken:
            id = self._made(name)
        self._taken.add(id)
        self._waiting.append((as_name(value), name, id))
        return id

    def answered(self, value: Any, name: str | None) -> str:
        """The id of the call a result belongs to: the one that gave this id, or the first of its name."""
        wire = as_name(value)
        for place, (sent, called, id) in enumerate(self._waiting):
            if wire == sent if wire is not None else name is None or called == name:
                del self._waiting[place]
                return id
        return wire if wire is not None else self._made(name)

    def fork(self) -> Pairing:
        """A copy: both go on from here independently."""
        new = copy(self)
        new._taken, new._waiting = {*self._taken}, [*self._waiting]
        return new

    def _made(self, name: str | None) -> str:
        """Of the name too, for a server that gives all replies one id, or none."""
        id = made_id(*self.place, self._count, name or "")
        self._count += 1
        return id


class PartReader:
    """Reads parts in their order. `odd` are those that are no objects."""

    def __init__(self, pairing: Pairing) -> None:
        self.parts: list[conv.AnyPart] = []
        self.odd: list[Any] = []
        self._pairing = pairing
        self._code = Pairing("code", *pairing.place)
        self._open: PathArguments | None = None
        """The arguments of the last call of ours, while more of them come in parts of their own."""
        self._opened_at = 0

    def read(self, part: Any) -> None:
        """Takes the next part."""
        if not isinstance(part, dict):
            self.odd.append(part)
            return
        fields = camel(part)
        for kind, reader in _READERS.items():
            value = fields.get(kind)
            if isinstance(value, dict):
                read = reader(self, part, fields, camel(value))
                if read is not None:
                    self.parts.append(read)
                return
        self.parts.append(_read_words(part, fields))

    def _call(self, part: Any, fields: dict[str, Any], call: dict[str, Any]) -> conv.AnyPart | None:
        name = as_name(call.get("name"))
        if name is None:
            if self._open is None:
                return conv.OpaquePart(NAME, part)
            self._continue(call)
            return None
        self._open = None
        arguments: dict[str, Any] | str = _arguments(call.get("args"))
        streamed = "partialArgs" in call or call.get("willContinue") is True
        if streamed and isinstance(arguments, dict):
            self._open = PathArguments()
            self._open.value.update(arguments)
            arguments = self._open.value
        as_sent = {key: call[key] for key in call if key not in _OF_A_CALL}
        absent = ("id",) if streamed else ("id", "args")
        as_sent.update({key: None for key in absent if call.get(key) is None})
        id = self._pairing.called(call.get("id"), name)
        if as_name(call.get("id")) not in (None, id):
            as_sent["id"] = call["id"]
        metadata = _rest(fields, "functionCall", "thoughtSignature", **({"functionCall": as_sent} if as_sent else {}))
        signature = as_name(fields.get("thoughtSignature"))
        signed = conv.CallPart(NativeCall(id, name, arguments), signature=signature, metadata=metadata)
        if self._open is not None:
            self._opened_at = len(self.parts)
            self.parts.append(signed)
            self._continue(call)
            return None
        return signed

    def _continue(self, call: dict[str, Any]) -> None:
        """More of the arguments of the call before; a call that does not say it goes on has ended."""
        assert self._open is not None
        for assignment in as_list(call.get("partialArgs")):
            self._open.assign(assignment)
        self._open.settle()
        if call.get("willContinue") is not True:
            if self._open.unplaced:
                self._note_unplaced(self._open.unplaced)
            self._open = None

    def _note_unplaced(self, unplaced: list[Any]) -> None:
        part = self.parts[self._opened_at]
        if isinstance(part, conv.CallPart):
            metadata = {**own(part), "unplacedArgs": unplaced}
            self.parts[self._opened_at] = conv.CallPart(part.call, part.signature, {NAME: metadata})

    def _response(self, part: Any, fields: dict[str, Any], response: dict[str, Any]) -> conv.AnyPart | None:
        name = as_name(response.get("name"))
        id = self._pairing.answered(response.get("id"), name)
        result = read_response(id, name, response)
        wire_id = as_name(response.get("id"))
        marks = {} if wire_id == id else {"functionResponse": {"id": wire_id}}
        return conv.ResultPart(result, metadata=_rest(fields, "functionResponse", **marks))

    def _code_call(self, part: Any, fields: dict[str, Any], code: dict[str, Any]) -> conv.AnyPart | None:
        id = self._code.called(code.get("id"), CODE_TOOL)
        arguments = {key: value for key, value in code.items() if key != "id"}
        call = NativeCall(id, CODE_TOOL, arguments, executed_by=ExecutedBy.PROVIDER, item=part)
        return conv.CallPart(call, signature=as_name(fields.get("thoughtSignature")))

    def _code_result(self, part: Any, fields: dict[str, Any], result: dict[str, Any]) -> conv.AnyPart | None:
        id = self._code.answered(result.get("id"), CODE_TOOL)
        failed = result.get("outcome") not in _OUTCOMES_OF_SUCCESS
        output = result.get("output")
        content = output if isinstance(output, str) else "" if output is None else write_json(output)
        native = _provider_result(id, content, CODE_TOOL, part, is_error=failed)
        return conv.ResultPart(native, signature=_signature(fields))

    def _tool_call(self, part: Any, fields: dict[str, Any], call: dict[str, Any]) -> conv.AnyPart | None:
        name = _tool_type(call)
        if name is None:
            return conv.OpaquePart(NAME, part)
        id = self._code.called(call.get("id"), name)
        native = NativeCall(id, name, _arguments(call.get("args")), executed_by=ExecutedBy.PROVIDER, item=part)
        return conv.CallPart(native, signature=as_name(fields.get("thoughtSignature")))

    def _tool_response(self, part: Any, fields: dict[str, Any], response: dict[str, Any]) -> conv.AnyPart | None:
        name = _tool_type(response)
        id = self._code.answered(response.get("id"), name)
        content = response.get("response")
        native = _provider_result(id, "" if content is None else write_json(content), name, part, is_error=None)
        return conv.ResultPart(native, signature=_signature(fields))

    def _inline(self, part: Any, fields: dict[str, Any], data: dict[str, Any]) -> conv.AnyPart | None:
        return _media_part("inlineData", data, part, fields)

    def _file(self, part: Any, fields: dict[str, Any], data: dict[str, Any]) -> conv.AnyPart | None:
        return _media_part("fileData", data, part, fields)


_READERS = {
    "functionCall": PartReader._call,
    "functionResponse": PartReader._response,
    "executableCode": PartReader._code_call,
    "codeExecutionResult": PartReader._code_result,
    "toolCall": PartReader._tool_call,
    "toolResponse": PartReader._tool_response,
    "inlineData": PartReader._inline,
    "fileData": PartReader._file,
}
_OF_A_CALL = frozenset({"id", "name", "args", "partialArgs", "willContinue"})


def _rest(fields: dict[str, Any], *typed: str, **marks: Any) -> conv.Metadata:
    """What a part says beside its typed keys, which are kept too where they are of a wrong type."""
    rest = {
        key: value
        for key, value in fields.items()
        if not (key in typed and isinstance(value, str | dict) and value != "") and not (key == "thought" and not value)
    }
    return metadata_of({**rest, **marks})


def _read_words(part: dict[str, Any], fields: dict[str, Any]) -> conv.AnyPart:
    text, thought = fields.get("text"), fields.get("thought")
    if thought is True and (
        isinstance(text, str) or ("text" not in fields and as_name(fields.get("thoughtSignature")))
    ):
        words = {key: value for key, value in fields.items() if key not in ("text", "thought")}
        marks = {"text": None} if text is None else {}
        metadata = _rest(words, "thoughtSignature", **marks)
        return conv.ThinkingPart(text or "", signature=as_name(fields.get("thoughtSignature")), metadata=metadata)
    if not isinstance(text, str):
        return conv.OpaquePart(NAME, part)
    if len(fields) == 1:
        return conv.TextPart(text)
    words = {key: value for key, value in fields.items() if key != "text"}
    return conv.TextPart(text, metadata=_rest(words, "thoughtSignature"), signature=_signature(fields))


def _signature(fields: dict[str, Any]) -> str | None:
    return as_name(fields.get("thoughtSignature"))


def _arguments(args: Any) -> dict[str, Any] | str:
    if args is None:
        return {}
    return args if isinstance(args, dict | str) else write_json(args)


def _tool_type(fields: dict[str, Any]) -> str | None:
    kind = fields.get("toolType")
    return str(kind) if isinstance(kind, str | int) and kind != "" else None


def _provider_result(id: str, content: str, name: str | None, part: Any, *, is_error: bool | None) -> NativeResult:
    return NativeResult(id, content, is_error=is_error, name=name, executed_by=ExecutedBy.PROVIDER, item=part)


# ── media ────────────────────────────────────────────────────────────────────


def _media_part(kind: str, data: dict[str, Any], part: dict[str, Any], fields: dict[str, Any]) -> conv.AnyPart:
    media = read_media(kind, data)
    if media is None:
        return conv.OpaquePart(NAME, part)
    return conv.MediaPart(media, metadata=_rest(fields, kind, "thoughtSignature"), signature=_signature(fields))


_STANDARD: Final = str.maketrans("-_", "+/")


def read_media(kind: str, data: dict[str, Any]) -> Media | None:
    """A blob or a file, or `None` when it has no more than is said here."""
    source = "data" if kind == "inlineData" else "fileUri"
    if not set(data) <= {source, "mimeType", "displayName"} or not isinstance(data.get(source), str):
        return None
    media_type, name = data.get("mimeType", ""), data.get("displayName")
    if not isinstance(media_type, str) or not isinstance(name, str | None):
        return None
    if kind == "inlineData":
        # google-genai 3.1.0 sends the alphabet for URLs, which Gemini takes as well and no other API does.
        return Media(media_type, data=data["data"].translate(_STANDARD), name=name)
    return Media(media_type, url=data["fileUri"], name=name)


def write_media(media: Media) -> dict[str, Any] | None:
    """A part's data, or `None` for media whose bytes are not here and for pictures that Gemini does not take."""
    named = {} if media.name is None else {"displayName": media.name}
    media_type: str | None = media.media_type
    if media.media_type.startswith("image/") and media.data is not None:
        media_type = picture_type(media.media_type, PICTURES)
        if media_type is None:
            return None
    typed = {"mimeType": media_type} if media_type else {}
    if media.data is not None:
        if media_type and "*" in media_type:  # another provider did not say what it is, and Gemini has to know
            return None
        return {"inlineData": {**typed, "data": media.data, **named}}
    place = media.url if media.url is not None else media.file_id
    if place is not None and media.media_type.endswith("/*"):  # other APIs name no type beside an address; Gemini asks
        typed = {"mimeType": _type_at(place) or media.media_type}
    return None if place is None else {"fileData": {**typed, "fileUri": place, **named}}


def _type_at(address: str) -> str | None:
    """The media type of what is at an address, by its name."""
    from mimetypes import guess_type

    return guess_type(address.partition("?")[0].partition("#")[0])[0]


# ── results ──────────────────────────────────────────────────────────────────


def read_response(id: str, name: str | None, fields: dict[str, Any]) -> NativeResult:
    """A function's response; `item` is the whole of it where text, media and an error flag do not say it all."""
    response = fields.get("response")
    is_error = True if isinstance(response, dict) and "error" in response and "output" not in response else None
    text = response.get("error" if is_error else "output") if isinstance(response, dict) else None
    if not isinstance(text, str) or not isinstance(response, dict) or len(response) != 1:
        text = "" if response is None else write_json(response)
    media: list[Media] = []
    for part in as_list(fields.get("parts")):
        for kind in ("inlineData", "fileData"):
            found = camel(part).get(kind)
            read = read_media(kind, camel(found)) if isinstance(found, dict) else None
            if read is not None:
                media.append(read)
    plain = NativeResult(id, (text, *media) if media else text, is_error=is_error, name=name)
    whole = {key: value for key, value in fields.items() if key not in ("id", "name")}
    written, left_over = write_response(plain)
    if written == whole and not left_over:
        return plain
    return NativeResult(id, plain.content, is_error=is_error, name=name, item=whole)


def write_response(result: NativeResult) -> tuple[dict[str, Any], list[Media]]:
    """What a function's response says beside its name and id, and the media that could not go into it."""
    if isinstance(result.item, dict) and isinstance(result.item.get("response"), dict):
        return result.item, []
    pieces, kind = result.content, "error" if result.is_error else "output"
    if isinstance(pieces, str):
        return {"response": {kind: pieces}}, []
    texts: list[str] = []
    parts: list[dict[str, Any]] = []
    unsent: list[Media] = []
    for piece in pieces:
        if isinstance(piece, str):
            texts.append(piece)
        elif (part := write_media(piece)) is not None:
            parts.append(part)
        else:
            unsent.append(piece)
            texts.append(not_shown(piece))
    written: dict[str, Any] = {"response": {kind: "\n".join(texts)}}
    if parts:
        written["parts"] = parts
    return written, unsent


# ── writing ──────────────────────────────────────────────────────────────────


def own(part: conv.AnyPart) -> dict[str, Any]:
    """What this API said about a part beside its typed fields."""
    return {} if isinstance(part, conv.OpaquePart) else part.metadata.get(NAME, {})


def wire_id(part: conv.CallPart) -> str | None:
    """The id a call has on the wire: the one it came with, if any; a call from elsewhere keeps its own."""
    marks = own(part).get("functionCall")
    if isinstance(marks, dict) and "id" in marks:
        return as_name(marks["id"])
    return part.call.id


def write_words(part: conv.TextPart | conv.ThinkingPart | conv.RefusalPart) -> dict[str, Any]:
    """Text or a thought, with what came beside it."""
    rest = dict(own(part))
    if not isinstance(part, conv.ThinkingPart):
        signature = part.signature if isinstance(part, conv.TextPart) else None
        return {"text": part.text, **({} if signature is None else {"thoughtSignature": signature}), **rest}
    written: dict[str, Any] = {"text": part.text, "thought": True}
    if "text" in rest:
        del written["text"], rest["text"]
    if part.signature is not None:
        written["thoughtSignature"] = part.signature
    return {**written, **rest}


def write_call(part: conv.CallPart, name: str) -> dict[str, Any]:
    """A call of ours."""
    arguments = part.call.arguments
    id = wire_id(part)
    call: dict[str, Any] = {} if id is None else {"id": id}
    call["name"] = name
    call["args"] = arguments if isinstance(arguments, dict) else {"input": arguments}
    rest = dict(own(part))
    marks = rest.pop("functionCall", None)
    rest.pop("unplacedArgs", None)
    if isinstance(marks, dict):
        for key, value in marks.items():
            if value is not None:
                call[key] = value
            elif key == "args" and not arguments:
                del call["args"]
    signed = {} if part.signature is None else {"thoughtSignature": part.signature}
    return {"functionCall": call, **signed, **rest}


def write_provider_call(part: conv.CallPart) -> dict[str, Any]:
    """A call the provider ran, as it came."""
    call = part.call
    if call.item is not None:
        return call.item
    signed = {} if part.signature is None else {"thoughtSignature": part.signature}
    if call.name == CODE_TOOL and isinstance(call.arguments, dict):
        return {"executableCode": {"id": call.id, **call.arguments}, **signed}
    args = call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}
    return {"toolCall": {"id": call.id, "toolType": call.name, "args": args}, **signed}


def write_provider_result(result: NativeResult) -> dict[str, Any]:
    """What the provider's own tool gave, as it came."""
    if isinstance(result.item, dict):
        return result.item
    text = result.content if isinstance(result.content, str) else "".join(map(str, result.content))
    if result.name == CODE_TOOL:
        outcome = "OUTCOME_FAILED" if result.is_error else "OUTCOME_OK"
        return {"codeExecutionResult": {"id": result.call_id, "outcome": outcome, "output": text}}
    return {"toolResponse": {"id": result.call_id, "toolType": result.name, "response": {"output": text}}}
