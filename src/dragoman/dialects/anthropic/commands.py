"""Anthropic's tools that act on a machine of ours: the shell, the screen and the browser."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from dragoman.dialects.base.default_words import tell, text_of, understand
from dragoman.dialects.base.spelling import REQUIRED, Content, Spelling, SpellingMeta, means
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_text import converted

ONE_SHELL = "the shell takes a command line and nothing beside it"
BY_COMMAND = {field: ONE_SHELL for field in op.RunCommand.__struct_fields__ if field != "command"}
STANDING = "bash"
"""What we call the one shell that every command runs in: it stays open between them."""
RESTARTED = "tool has been restarted."


def command_in(native: NativeResult) -> out.Outcome:
    """What a command gave; a text that does not say how it ended is its output."""
    understood = understand(op.RunCommand(""), native)
    return out.CommandOutcome(output=understood.text) if isinstance(understood, out.TextOutcome) else understood


class Bash(Spelling[op.RunCommand | op.StopCommand]):
    """Run a command line in a bash that stays open, or restart it."""

    native_name = "bash"
    unsaid = {field: reason for field, reason in BY_COMMAND.items() if field != "job"}
    approximated = {"job": "there is one shell, whatever it is called elsewhere"}

    command: str | None = means("command", "The command line.", default=None)
    restart: bool | None = means("job", "Whether to begin anew, in a new shell.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        if self.command is None and not self.restart:
            raise ValueError("command: it must be given, unless the shell is restarted")
        restarted = (op.StopCommand(STANDING),) if self.restart else ()
        return restarted if self.command is None else (*restarted, op.RunCommand(self.command, job=STANDING))

    @classmethod
    def from_operation(cls, operation: op.RunCommand | op.StopCommand) -> Bash:
        return cls(restart=True) if isinstance(operation, op.StopCommand) else cls(command=operation.command)

    def from_outcome(self, operation: op.Operation, outcome: out.Outcome) -> Content:
        if isinstance(operation, op.StopCommand) and isinstance(outcome, out.CommandOutcome | out.DoneOutcome):
            return RESTARTED
        if isinstance(outcome, out.CommandOutcome) and outcome.job == STANDING and not outcome.running:
            outcome = msgspec.structs.replace(outcome, job=None)  # there is only one shell, so it is not named
        return tell(operation, outcome)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        if isinstance(operation, op.StopCommand):
            restarted = re.search(r"\brestarted\b", text_of(native.content))
            return out.CommandOutcome(job=operation.job) if restarted else understand(operation, native)
        return command_in(native)


NEEDS_A_SCREEN = "it must be told of the screen, and no tool of ours acts on one"
Point = list[int | float]


class Acting(Spelling[op.UseComputer]):
    """What all acts on a screen have in common: the parameters are the arguments of the act."""

    only_by_id = NEEDS_A_SCREEN

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.UseComputer(self.native_name, self.native_arguments()),)

    @classmethod
    def from_operation(cls, operation: op.UseComputer) -> Acting | None:
        return cls.saying(operation.arguments) if operation.action == cls.native_name else None

    @classmethod
    def saying(cls, arguments: dict[str, Any]) -> Any:
        """A call with these arguments; `None` when it cannot say all of them."""
        try:
            said = converted(arguments, cls)
        except msgspec.ValidationError:
            return None
        return said if said.native_arguments() == arguments else None


class Computer(Acting):
    """Look at a screen and act on it: the pointer, the keyboard, a picture of what is shown."""

    native_name = "computer"

    action: str = means("action", "What to do.")
    coordinate: Point | None = means(None, "Where, in pixels from the upper left.", default=None)
    start_coordinate: Point | None = means(None, "Where to begin dragging.", default=None)
    text: str | None = means(None, "What to type, or the keys.", default=None)
    key: str | None = means(None, "A key to hold meanwhile.", default=None)
    duration: float | None = means(None, "How long, in seconds.", default=None)
    repeat: int | None = means(None, "How often.", default=None)
    scroll_direction: str | None = means(None, "Where to scroll to.", default=None)
    scroll_amount: int | None = means(None, "How far to scroll.", default=None)
    region: Point | None = means(None, "The part of the screen to look at closely.", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        arguments = self.native_arguments()
        return (op.UseComputer(arguments.pop("action"), arguments),)

    @classmethod
    def from_operation(cls, operation: op.UseComputer) -> Acting | None:
        if "action" in operation.arguments:
            return None
        said: Acting | None = cls.saying({**operation.arguments, "action": operation.action})
        return said


_TYPES: dict[str, Any] = {
    "coordinate": Point,
    "start_coordinate": Point,
    "region": Point,
    "duration": float,
    "repeat": int,
    "scroll_amount": int,
    "depth": int,
    "paths": list[str],
    "document_ids": list[str],
    "target": dict[str, Any],
    "from": dict[str, Any],
    "value": Any,
}
"""Parameters that are no text."""

_AT = "coordinate? text?"
_ON = "target modifiers? tab_id?"

COMPUTER_MEMBERS: dict[str, str] = {
    "key": "text repeat?",
    "hold_key": "text duration",
    "type": "text",
    "cursor_position": "",
    "mouse_move": "coordinate",
    "left_mouse_down": "",
    "left_mouse_up": "",
    "left_click": _AT,
    "left_click_drag": "start_coordinate coordinate text?",
    "right_click": _AT,
    "middle_click": _AT,
    "double_click": _AT,
    "triple_click": _AT,
    "scroll": "scroll_direction scroll_amount coordinate? text?",
    "wait": "duration",
    "screenshot": "",
    "zoom": "region",
}
"""The members of the toolset for a screen, with their parameters; those with "?" may be left out."""

BROWSER_MEMBERS: dict[str, str] = {
    "navigate": "url tab_id?",
    "list_tabs": "",
    "new_tab": "",
    "switch_tab": "tab_id",
    "close_tab": "tab_id",
    "read_page": "depth? filter? ref? tab_id?",
    "get_page_text": "tab_id?",
    "read_console": "tab_id?",
    "read_network": "tab_id?",
    "find": "query tab_id?",
    "form_input": "target value tab_id?",
    "file_upload": "target paths? document_ids? tab_id?",
    "scroll_to": "target tab_id?",
    "screenshot": "tab_id?",
    "zoom": "region tab_id?",
    "left_click": _ON,
    "right_click": _ON,
    "middle_click": _ON,
    "double_click": _ON,
    "triple_click": _ON,
    "hover": "target tab_id?",
    "left_click_drag": "from target tab_id?",
    "left_mouse_down": "target tab_id?",
    "left_mouse_up": "target tab_id?",
    "mouse_move": "target tab_id?",
    "scroll": "scroll_direction target scroll_amount? tab_id?",
    "type": "text tab_id?",
    "key": "text repeat? tab_id?",
    "hold_key": "text duration tab_id?",
    "wait": "duration tab_id?",
    "javascript_exec": "text tab_id?",
}
"""The members of the toolset for a browser."""


def _member(toolset: str, name: str, parameters: Sequence[str]) -> type[Acting]:
    """The spelling of one member; the model calls it by its name, and says of which toolset it is."""
    fields: dict[str, Any] = {}
    annotations: dict[str, Any] = {}
    for parameter in parameters:
        wire = parameter.removesuffix("?")
        field = f"{wire}_" if wire == "from" else wire
        hint = _TYPES.get(wire, str)
        annotations[field] = hint | None if parameter.endswith("?") else hint
        default = None if parameter.endswith("?") else REQUIRED
        fields[field] = means(None, f"The {wire.replace('_', ' ')}.", name=wire, default=default)
    namespace = {
        "__annotations__": annotations,
        "__doc__": f"Act on the {toolset}: {name.replace('_', ' ')}.",
        "__module__": __name__,
        "native_name": name,
        "namespace": toolset,
        **fields,
    }
    made: type[Acting] = SpellingMeta(f"{toolset.title()}_{name}", (Acting,), namespace)
    return made


COMPUTER = tuple(_member("computer", name, said.split()) for name, said in COMPUTER_MEMBERS.items())
BROWSER = tuple(_member("browser", name, said.split()) for name, said in BROWSER_MEMBERS.items())
