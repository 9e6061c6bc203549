"""Questions to the user: the structs a client asks them in, as ours and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_type_hints

import msgspec

from dragoman.model import operations as op

from .conversions import Conversion
from .parts import struct_in

_QUESTION: Final = {
    "question": "text",
    "header": "header",
    "id": "id",
    "multiSelect": "multiple",
    "multiple": "multiple",
}
_OPTION: Final = {"label": "label", "description": "description", "preview": "preview", "markdown": "preview"}
"""What the fields of a client's structs mean."""


def questions(struct: type[msgspec.Struct], *, most: int | None = None, empty: bool = True) -> Conversion:
    """Between a tuple of these structs and our questions. An empty text says nothing.

    `most`: how many questions there may be, and then at least one. `empty`: whether a text that is required may be
    empty; otherwise a question without it cannot be asked.
    """
    asked_by = _said_by(struct, _QUESTION)
    choice = struct_in(get_type_hints(struct)["options"])
    assert choice is not None
    chosen_by = _said_by(choice, _OPTION)

    def to(asked: tuple[Any, ...]) -> tuple[op.Question, ...]:
        return tuple([op.Question(**_ours(one, asked_by), options=_options(one.options)) for one in asked])

    def _options(options: tuple[Any, ...]) -> tuple[op.Option, ...]:
        return tuple([op.Option(**_ours(one, chosen_by)) for one in options])

    def _ours(asked: Any, said_by: Mapping[str, str]) -> dict[str, Any]:
        said = {ours: getattr(asked, native) for native, ours in said_by.items()}
        return {ours: value for ours, value in said.items() if value != "" or not empty or ours in ("text", "label")}

    def back(asked: tuple[op.Question, ...]) -> tuple[Any, ...]:
        if most is not None and not 1 <= len(asked) <= most:
            raise ValueError(f"from one to {most} questions can be asked")
        rows = [
            {
                **_native(one, struct, asked_by),
                "options": [_native(option, choice, chosen_by) for option in one.options],
            }
            for one in asked
        ]
        return msgspec.convert(rows, tuple[struct, ...])  # type: ignore[valid-type]

    def _native(ours: Any, kind: type[msgspec.Struct], said_by: Mapping[str, str]) -> dict[str, Any]:
        required = {field.name for field in msgspec.structs.fields(kind) if field.required}
        row: dict[str, Any] = {}
        for native, field in said_by.items():
            value = getattr(ours, field)
            if value is not None:
                row[native] = value
            elif native in required and not empty:
                raise ValueError(f"a question needs a {field} here")
            elif native in required:
                row[native] = ""
        return row

    return Conversion(to, back)


def _said_by(struct: type[msgspec.Struct], fields: Mapping[str, str]) -> dict[str, str]:
    return {native: ours for native, ours in fields.items() if native in struct.__struct_fields__}


LABELS: Final = Conversion(
    to=lambda labels: tuple(map(op.Option, labels)), back=lambda options: tuple(option.label for option in options)
)
"""Options that are bare texts."""
