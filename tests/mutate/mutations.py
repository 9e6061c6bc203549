"""The changes that can be made to a module's source, found in its syntax tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

COMPARISONS = {
    ast.Lt: (r"<", "<="),
    ast.LtE: (r"<=", "<"),
    ast.Gt: (r">", ">="),
    ast.GtE: (r">=", ">"),
    ast.Eq: (r"==", "!="),
    ast.NotEq: (r"!=", "=="),
    ast.Is: (r"is\b", "is not"),
    ast.IsNot: (r"is\s+not\b", "is"),
    ast.In: (r"in\b", "not in"),
    ast.NotIn: (r"not\s+in\b", "in"),
}
ARITHMETIC = {
    ast.Add: (r"\+", "-"),
    ast.Sub: (r"-", "+"),
    ast.Mult: (r"\*", "+"),
    ast.FloorDiv: (r"//", "*"),
    ast.Div: (r"/", "*"),
    ast.Mod: (r"%", "*"),
}


class Mutation(NamedTuple):
    """One change: the bytes from `start` to `end` become `new`. `line` is where the changed code stands."""

    line: int
    start: int
    end: int
    old: str
    new: str

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]


def mutations(source: bytes) -> list[Mutation]:
    """Every change to a module, in the order of the source. A few leave no valid Python."""
    found = {(one.start, one.end, one.new): one for one in _Finder(source).found()}
    return [one for _, one in sorted(found.items())]


def is_valid(source: bytes) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


class _Finder:
    def __init__(self, source: bytes) -> None:
        self.source = source
        self.tree = ast.parse(source)
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def found(self) -> Iterator[Mutation]:
        yield from self._in(self.tree)

    def _in(self, node: ast.AST) -> Iterator[Mutation]:
        if _is_left_alone(node):
            return
        yield from self._of(node)
        annotations = {id(one) for one in (getattr(node, "annotation", None), getattr(node, "returns", None)) if one}
        decorators = {id(one) for one in getattr(node, "decorator_list", ())}
        for child in ast.iter_child_nodes(node):
            if id(child) not in annotations | decorators:
                yield from self._in(child)

    def _of(self, node: ast.AST) -> Iterator[Mutation]:
        match node:
            case ast.Compare():
                operands = [node.left, *node.comparators]
                for operator, left, right in zip(node.ops, operands, operands[1:], strict=False):
                    yield from self._between(left, right, *COMPARISONS[type(operator)])
            case ast.BoolOp():
                old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
                for left, right in zip(node.values, node.values[1:], strict=False):
                    yield from self._between(left, right, rf"{old}\b", new)
            case ast.BinOp() if type(node.op) in ARITHMETIC:
                yield from self._between(node.left, node.right, *ARITHMETIC[type(node.op)])
            case ast.UnaryOp(op=ast.Not()):
                yield self._replaced(node, self._text(node.operand))
            case ast.Constant(value=bool()):
                yield self._replaced(node, str(not node.value))
            case ast.Constant(value=int()):
                yield self._replaced(node, str(node.value + 1))
            case ast.If() | ast.While() | ast.IfExp():
                yield self._replaced(node.test, f"(not ({self._text(node.test)}))")
            case ast.Return(value=ast.expr()) if not isinstance(node.value, ast.Constant):
                yield self._replaced(node, "return None")
            case ast.Break():
                yield self._replaced(node, "continue")
            case ast.Continue():
                yield self._replaced(node, "break")
            case ast.Raise() | ast.AugAssign() | ast.Delete() | ast.Expr(value=ast.Call() | ast.Await()):
                yield self._replaced(node, "pass")
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                yield self._replaced(node, "pass")

    def _between(self, left: ast.expr, right: ast.expr, old: str, new: str) -> Iterator[Mutation]:
        """Replaces the operator between two operands; around it stand spaces and brackets alone."""
        start, end = self._end(left), self._start(right)
        operator = re.compile(old.encode()).search(self.source, start, end)
        if operator is not None:
            line = self.source.count(b"\n", 0, operator.start()) + 1
            yield Mutation(line, operator.start(), operator.end(), operator[0].decode(), new)

    def _replaced(self, node: ast.expr | ast.stmt, new: str) -> Mutation:
        return Mutation(node.lineno, self._start(node), self._end(node), self._text(node), new)

    def _text(self, node: ast.expr | ast.stmt) -> str:
        return self.source[self._start(node) : self._end(node)].decode()

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self.starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.starts[node.end_lineno - 1] + node.end_col_offset


def _is_left_alone(node: ast.AST) -> bool:
    """What has no effect when the program runs, or none that a test should hold fast."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Assert() | ast.JoinedStr():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.keyword(arg="gc"):  # whether a struct is tracked by the garbage collector
            return True
        case ast.Expr(value=ast.Constant()):  # a docstring, or the words after a field
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="LOG" | "logger" | "_LOG")))):
            return True
    return False
