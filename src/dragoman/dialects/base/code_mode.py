"""Programs that call tools: the nested calls of a JavaScript program, as far as they stand in it literally.

Rule: nothing is run and nothing is guessed. A call is known when its name and arguments are written
out (or held by a variable that is given a literal once and never changed) and when it is certain to
be made once; every other one is kept as its source text, with the reason why it is not known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from dragoman.model.json_text import json_text

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


class NestedCall(NamedTuple):
    """A call a program makes for certain, as it would stand on the wire."""

    name: str
    arguments: dict[str, Any] | str
    code: str


class ComputedCall(NamedTuple):
    """Source text that uses the tools in a way that only running it would tell."""

    code: str
    reason: str


def nested_calls(program: str) -> tuple[NestedCall | ComputedCall, ...]:
    """The uses a program makes of `tools`, in the order in which they are written; none when it uses no tool."""
    if "tools" not in program:
        return ()
    try:
        root = _parser().parse(program.encode()).root_node
    except UnicodeEncodeError:
        return (ComputedCall(program, "it holds half of a surrogate pair"),)
    if root.has_error:
        return (ComputedCall(program, f"it is no JavaScript: {_first_error(root)}"),)
    return _Program(root).calls(program)


def write_program(name: str, arguments: dict[str, Any] | str) -> str:
    """The program that makes one call and shows what it gave."""
    called = f"tools.{name}" if re.fullmatch(r"[A-Za-z_$][\w$]*", name) else f"tools[{json_text(name)}]"
    return f"text(await {called}({json_text(arguments)}));"


@cache
def _parser() -> Parser:
    # Loaded when the first program is read: most sessions hold none.
    import tree_sitter_javascript
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_javascript.language()))


def _walk(root: Node) -> Iterator[Node]:
    """Every node, in the order of the source."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


def _first_error(root: Node) -> str:
    wrong = next(node for node in _walk(root) if node.is_error or node.is_missing)
    return f"line {wrong.start_point.row + 1} has a syntax error"


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def _shown(node: Node) -> str:
    text = " ".join(_text(node).split())
    return f"`{text[:57]}…`" if len(text) > 58 else f"`{text}`"


class _ComputedError(Exception):
    """A value that is not written out; `what` shows where it would come from."""

    def __init__(self, what: str, path: str = "") -> None:
        self.what, self.path = what, path
        super().__init__(what)

    def below(self, key: str) -> _ComputedError:
        return _ComputedError(self.what, key if not self.path or self.path.startswith("[") else f"{key}.{self.path}")


# ── where a call stands ──────────────────────────────────────────────────────

_LOOPS = {"for_statement": ("initializer",), "for_in_statement": ("right",), "while_statement": (), "do_statement": ()}
_BRANCHES = {"if_statement": "condition", "ternary_expression": "condition", "switch_case": "value"}
_ALWAYS_BRANCHES = ("switch_default", "catch_clause")
_FUNCTIONS = (
    "arrow_function",
    "function_expression",
    "function_declaration",
    "generator_function",
    "generator_function_declaration",
    "method_definition",
)


def _uncertain(node: Node) -> str | None:
    """Why a call may be made never or more than once."""
    child, parent = node, node.parent
    while parent is not None:
        kind = parent.type
        if kind in _LOOPS and not any(parent.child_by_field_name(field) == child for field in _LOOPS[kind]):
            return "it runs in a loop"
        if kind in _ALWAYS_BRANCHES or (kind in _BRANCHES and parent.child_by_field_name(_BRANCHES[kind]) != child):
            return "it runs under a condition"
        if kind == "binary_expression" and _operator(parent) in ("&&", "||", "??") and _is(parent, "right", child):
            return "it runs under a condition"
        if kind in _FUNCTIONS and not _called_at_once(parent):
            return "it runs inside a function"
        child, parent = parent, parent.parent
    return None


def _called_at_once(function: Node) -> bool:
    """`(async () => { … })()`: a function in name only."""
    node, parent = function, function.parent
    while parent is not None and parent.type == "parenthesized_expression":
        node, parent = parent, parent.parent
    return parent is not None and parent.type == "call_expression" and _is(parent, "function", node)


def _operator(node: Node) -> str:
    operator = node.child_by_field_name("operator")
    return "" if operator is None else _text(operator)


def _is(parent: Node, field: str, child: Node) -> bool:
    return parent.child_by_field_name(field) == child


# ── values ───────────────────────────────────────────────────────────────────

_UNDEFINED: Any = object()
_CONSTANTS = {"true": True, "false": False, "null": None, "undefined": _UNDEFINED}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_DEEPEST = 60
_LONGEST = 1_000_000  # a few lines of variables can spell a text of any length
_LARGEST = 2**53  # beyond it a JavaScript number is another one


class _Program:
    """One parsed program: its calls, and the variables that hold literals."""

    def __init__(self, root: Node) -> None:
        self.nodes = list(_walk(root))
        self._bound: dict[str, Node | None] | None = None
        self._held: dict[str, Any] = {}

    def calls(self, program: str) -> tuple[NestedCall | ComputedCall, ...]:
        found: list[NestedCall | ComputedCall] = []
        for node in self.nodes:
            if node.type in ("identifier", "shorthand_property_identifier") and _text(node) == "tools":
                call = _call_of(node)
                if call is None:  # what is called by another name cannot be followed
                    return (ComputedCall(program, f"`tools` has another name or meaning: {_shown(_statement(node))}"),)
                found.append(self._read(call))
        return tuple(found)

    def _read(self, call: Node) -> NestedCall | ComputedCall:
        try:
            name = self._name(_field(call, "function"))
        except _ComputedError as error:
            return ComputedCall(_text(call), f"which tool it calls is computed: {error.what}")
        reasons: list[str] = []
        arguments: dict[str, Any] | str = {}
        try:
            arguments = self._arguments(call)
        except _ComputedError as error:
            reasons.append(f"{error.path or 'its argument'} is computed: {error.what}")
        uncertain = _uncertain(call)
        if uncertain is not None:
            reasons.append(uncertain)
        if reasons:
            return ComputedCall(_text(call), f"{name}: {'; '.join(reasons)}")
        return NestedCall(name, arguments, _text(call))

    def _name(self, access: Node) -> str:
        if access.type == "member_expression":
            return _text(_field(access, "property"))
        name = self.value(_field(access, "index"))
        if not isinstance(name, str):
            raise _ComputedError(_shown(access))
        return name

    def _arguments(self, call: Node) -> dict[str, Any] | str:
        given = _field(call, "arguments")
        if given.type != "arguments":
            raise _ComputedError(_shown(given))
        nodes = [node for node in given.named_children if node.type != "comment"]
        if not nodes:
            return {}
        value = self.value(nodes[0]) if len(nodes) == 1 else _UNDEFINED
        if not isinstance(value, dict | str):
            raise _ComputedError(_shown(given))
        return value

    def value(self, node: Node, depth: int = 0) -> Any:
        """The value an expression is certain to have; raises `_ComputedError` when running would tell."""
        if depth > _DEEPEST:
            raise _ComputedError("values nested too deep")
        kind = node.type
        if kind in _CONSTANTS:
            return _CONSTANTS[kind]
        if kind == "string":
            return _whole("".join(map(_piece, node.named_children)), node)
        if kind == "template_string":
            return self._template(node, depth)
        if kind == "number":
            return _number(node)
        if kind == "object":
            return self._object(node, depth)
        if kind == "array":
            return self._array(node, depth)
        if kind == "parenthesized_expression":
            return self.value(node.named_children[0], depth + 1)
        if kind in ("identifier", "shorthand_property_identifier"):
            return self._variable(node, depth)
        if kind == "unary_expression" and _operator(node) == "-":
            number = self.value(_field(node, "argument"), depth + 1)
            if isinstance(number, int | float) and not isinstance(number, bool):
                return -number
        if kind == "binary_expression" and _operator(node) == "+":
            return self._sum(node, depth)
        if kind == "call_expression":
            return self._called(node, depth)
        raise _ComputedError(_shown(node))

    def _template(self, node: Node, depth: int) -> str:
        pieces: list[str] = []
        for child in node.named_children:
            if child.type == "template_substitution":
                value = self.value(child.named_children[0], depth + 1)
                pieces.append(_as_text(value, child))
            else:
                pieces.append(_piece(child).replace("\r\n", "\n"))
        return _whole(_joined(pieces, node), node)

    def _object(self, node: Node, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for child in node.named_children:
            if child.type == "comment":
                continue
            if child.type == "shorthand_property_identifier":
                key, given = _text(child), child
            elif child.type == "pair":
                key, given = self._key(_field(child, "key"), depth), _field(child, "value")
            else:
                raise _ComputedError(_shown(child))
            try:
                value = self.value(given, depth + 1)
            except _ComputedError as error:
                raise error.below(key) from None
            found.pop(key, None)
            if value is not _UNDEFINED:  # JSON leaves it out, so it was not said
                found[key] = value
        return found

    def _key(self, key: Node, depth: int) -> str:
        if key.type == "property_identifier":
            return _text(key)
        if key.type == "computed_property_name":
            key = key.named_children[0]
        return _as_text(self.value(key, depth + 1), key)

    def _array(self, node: Node, depth: int) -> list[Any]:
        children = [child for child in node.named_children if child.type != "comment"]
        values = [self.value(child, depth + 1) for child in children]
        # A gap (`[1, , 2]`) is no node, so it is seen by its commas alone.
        marks = "".join(child.type if child.type in ("[", ",") else "x" for child in node.children)
        if ",," in marks or "[," in marks or any(value is _UNDEFINED for value in values):
            raise _ComputedError(_shown(node))
        return values

    def _sum(self, node: Node, depth: int) -> Any:
        terms: list[Node] = []
        rest: Node = node
        while rest.type == "binary_expression" and _operator(rest) == "+":
            terms.append(_field(rest, "right"))
            rest = _field(rest, "left")
        total = self.value(rest, depth + 1)
        for term in reversed(terms):
            value = self.value(term, depth + 1)
            if isinstance(total, str) or isinstance(value, str):
                total = _joined([_as_text(total, node), _as_text(value, node)], node)
            elif type(total) is int and type(value) is int and abs(total + value) <= _LARGEST:
                total += value
            else:
                raise _ComputedError(_shown(node))
        return total

    def _called(self, node: Node, depth: int) -> str:
        """The two calls that only put literals together: `String.raw` and `[…].join("…")`."""
        function, given = _field(node, "function"), _field(node, "arguments")
        if given.type == "template_string" and _text(function) == "String.raw":
            if all(child.type != "template_substitution" for child in given.named_children):
                return _text(given)[1:-1].replace("\r\n", "\n")
        elif function.type == "member_expression" and _text(_field(function, "property")) == "join":
            items = self.value(_field(function, "object"), depth + 1)
            separators = [self.value(child, depth + 1) for child in given.named_children]
            if isinstance(items, list) and all(isinstance(item, str) for item in [*items, *separators]):
                separator = separators[0] if separators else ","
                return _joined([piece for item in items for piece in (separator, item)][1:], node)
        raise _ComputedError(_shown(node))

    # ── variables ──────────────────────────────────────────────────────────

    def _variable(self, node: Node, depth: int) -> Any:
        name = _text(node)
        if name in self._held:
            return self._held[name]
        if self._bound is None:
            self._bound = self._bindings()
        given = self._bound.get(name)
        if given is None:
            raise _ComputedError(f"`{name}`")
        if given.type in ("array", "object") and not all(map(_leaves_alone, self._uses(name))):
            raise _ComputedError(f"`{name}`, which may be changed")
        self._held[name] = self.value(given, depth + 1)
        return self._held[name]

    def _uses(self, name: str) -> Iterator[Node]:
        return (node for node in self.nodes if node.type == "identifier" and _text(node) == name)

    def _bindings(self) -> dict[str, Node | None]:
        """Every name the program gives a value, with that value when it is given once and at its declaration."""
        bound: dict[str, Node | None] = {}

        def bind(target: Node | None, value: Node | None = None) -> None:
            if target is None:
                return
            names = (
                [target]
                if target.type == "identifier"
                else [
                    node
                    for node in _walk(target)
                    if node.type in ("identifier", "shorthand_property_identifier_pattern")
                ]
            )
            for one in names:
                name = _text(one)
                bound[name] = value if name not in bound and target.type == "identifier" else None

        for node in self.nodes:
            if node.type == "variable_declarator":
                bind(node.child_by_field_name("name"), node.child_by_field_name("value"))
            elif node.type in ("assignment_expression", "augmented_assignment_expression", "for_in_statement"):
                bind(node.child_by_field_name("left"))
            elif node.type == "update_expression":
                bind(node.child_by_field_name("argument"))
            elif node.type == "formal_parameters":
                bind(node)
            elif node.type in (*_FUNCTIONS, "catch_clause", "class_declaration"):
                bind(node.child_by_field_name("parameter"))
                bind(node.child_by_field_name("name"))
        return bound


def _call_of(tools: Node) -> Node | None:
    """The call `tools.name(…)` or `tools["name"](…)` this name stands in; `None` when it stands elsewhere."""
    access = tools.parent
    if access is None or access.type not in ("member_expression", "subscript_expression"):
        return None
    call = access.parent
    if call is None or call.type != "call_expression":
        return None
    return call if _is(access, "object", tools) and _is(call, "function", access) else None


def _leaves_alone(use: Node) -> bool:
    """Whether this use of a list or an object cannot change it."""
    parent = use.parent
    if parent is None:
        return False
    if parent.type == "variable_declarator":
        return _is(parent, "name", use)
    if parent.type == "arguments":
        called = "" if parent.parent is None else _text(_field(parent.parent, "function"))
        return called == "text" or called.startswith("tools")
    if parent.type == "member_expression" and _is(parent, "object", use):
        return _text(_field(parent, "property")) == "join"
    return False


def _statement(node: Node) -> Node:
    while node.parent is not None and not node.type.endswith(("_statement", "_declaration")):
        node = node.parent
    return node


def _field(node: Node, name: str) -> Node:
    child = node.child_by_field_name(name)
    if child is None:
        raise _ComputedError(_shown(node))
    return child


def _piece(node: Node) -> str:
    """A stretch of a text literal, its escape undone."""
    text = _text(node)
    if node.type != "escape_sequence":
        return text
    escape = text[1:]
    if escape[0] in "\r\n\u2028\u2029":
        return ""
    if escape[0] in "xu":
        code = int(escape[1:].strip("{}"), 16)
        if code <= 0x10FFFF:
            return chr(code)
    elif escape == "0" or not escape.isdecimal():
        return _ESCAPES.get(escape, escape)
    raise _ComputedError(f"`{text}`, which is no character")


def _joined(pieces: Sequence[str], node: Node) -> str:
    if sum(map(len, pieces)) > _LONGEST:
        raise _ComputedError(f"{_shown(node)}, which is very long")
    return "".join(pieces)


def _whole(text: str, node: Node) -> str:
    """A text whose halves of characters (`\\ud83d\\ude00`) have met."""
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise _ComputedError(f"{_shown(node)}, which holds half of a surrogate pair") from None


def _number(node: Node) -> int | float:
    text = _text(node).replace("_", "").lower()
    try:
        whole = int(text, 0) if text[:2] in ("0x", "0o", "0b") or text.isdecimal() else None
        value = float(text if whole is None else whole)
    except (ValueError, OverflowError):  # `10n` and `010` are no JSON
        raise _ComputedError(_shown(node)) from None
    if math.isinf(value) or (whole is not None and whole != value):
        raise _ComputedError(_shown(node))  # JavaScript has no such number
    return int(value) if value.is_integer() and abs(value) <= _LARGEST else value


def _as_text(value: Any, node: Node) -> str:
    """A value as JavaScript writes it into a text; only where there is no doubt how."""
    if isinstance(value, str):
        return value
    if type(value) is int:
        return str(value)
    raise _ComputedError(_shown(node))
