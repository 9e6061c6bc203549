"""Code mode: programs that call all other tools."""

from __future__ import annotations

from typing import Any

from dragoman.dialects.base.availability import offered_schema
from dragoman.dialects.base.code_mode import NestedCall, nested_calls, write_program
from dragoman.dialects.base.spelling import Freeform, Spelling, means
from dragoman.model import operations as op
from dragoman.model.calls import NativeCall

from .commands import NUMBER, ROUNDED, TOKENS, ExecCommand, WriteStdin
from .families import CODE_MODE
from .files import ApplyPatch, ViewImage
from .outside import ListMcpResources, ListMcpResourceTemplates, ReadMcpResource
from .results import CELL, PATCHING, ProgramResults

NESTED: tuple[Any, ...] = (
    ExecCommand,
    WriteStdin,
    ApplyPatch,
    ViewImage,
    ListMcpResources,
    ListMcpResourceTemplates,
    ReadMcpResource,
)
"""The tools a program can call."""


def _nested_loss(declared: str) -> dict[str, str]:
    """What is lost inside a program is what its calls lose."""
    return {
        f"{operation.__name__}.{field.rpartition('.')[2]}": reason
        for spelling in NESTED
        for operation in spelling.operation_types
        for field, reason in getattr(spelling, declared).items()
        if field.rpartition(".")[2] in operation.__struct_fields__
        and field.rpartition(".")[0] in ("", operation.__name__)
    }


def _declarations() -> str:
    """The tools a program can call, as it would call them."""
    lines = []
    for spelling in NESTED:
        if spelling.freeform is not None:
            lines.append(f"tools.{spelling.native_name}(text)")
            continue
        schema = offered_schema(spelling)
        parameters = ", ".join(
            f"{name}{'' if name in schema.get('required', ()) else '?'}: {row.get('type', 'string')}"
            for name, row in schema["properties"].items()
        )
        lines.append(f"tools.{spelling.native_name}({{{parameters}}})")
    return "; ".join(lines)


class Exec(
    ProgramResults,
    Spelling[
        op.RunCode
        | op.RunCommand
        | op.ReadOutput
        | op.TypeInto
        | op.StopCommand
        | op.WriteFile
        | op.EditFile
        | op.DeleteFile
        | op.ViewImage
        | op.ListMcpResources
        | op.ReadMcpResource
    ],
):
    __doc__ = (
        "Run a JavaScript program that calls tools and shows what it found with text(value) and image(value). "
        "Every tool is asynchronous and takes one argument: "
        f"{_declarations()}. An MCP server's tool is tools.mcp__server__tool(arguments)."
    )

    native_name, namespace = "exec", "functions"
    since, families = "0.166.0", CODE_MODE
    freeform = Freeform(
        "source",
        "lark",
        "start: (SETTINGS END)? PROGRAM\n"
        r"SETTINGS: /[ \t]*\/\/ @exec:[^\r\n]*/" + "\n"
        r"END: /\r?\n/" + "\n"
        r"PROGRAM: /[\s\S]+/" + "\n",
    )
    unsaid = {**_nested_loss("unsaid"), "RunCode.reason": "it is found in the program itself"}
    approximated = _nested_loss("approximated")
    edit_rules = PATCHING

    source: str = means(None, "The program.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        found: list[op.Operation] = []
        for call in nested_calls(self.source):
            if isinstance(call, NestedCall):
                found += _read_nested(call)
            else:
                found.append(op.RunCode(call.code, "javascript", call.reason))
        return tuple(found) or (op.RunCode(self.source, "javascript"),)

    @classmethod
    def from_operation(cls, operation: op.Operation) -> Any:
        if isinstance(operation, op.RunCode):
            program = cls(source=operation.code)
            alone = [type(one) for one in program.to_operations()] == [op.RunCode]
            return program if alone and operation.language == "javascript" else None
        for spelling in NESTED:
            said = spelling.from_operation(operation) if type(operation) in spelling.operation_types else None
            if said is not None:
                return tuple(cls(source=_program(one)) for one in (said if isinstance(said, tuple) else (said,)))
        return None


def _program(said: Spelling[Any]) -> str:
    arguments: dict[str, Any] | str = said.native_arguments()
    if said.freeform is not None and isinstance(arguments, dict):
        arguments = str(arguments[said.freeform.field])
    return write_program(said.native_name, arguments)


def _read_nested(call: NestedCall) -> tuple[op.Operation, ...]:
    """A call inside a program means what it would mean outside; there a namespace is part of the name."""
    from . import DIALECT  # which is made of this very module

    namespace, mark, name = call.name.partition("__")
    native = NativeCall("", call.name, call.arguments)
    if mark and namespace != "mcp" and DIALECT.knows(f"{namespace}.{name}"):
        native = NativeCall("", name, call.arguments, namespace=namespace)
    read = DIALECT.read_call(native)
    if read.failure is not None:
        return (op.RunCode(call.code, "javascript", read.failure.message),)
    return read.operations


class Wait(ProgramResults, Spelling[op.ReadOutput | op.StopCommand]):
    """Wait for a program that is still running, or end it."""

    native_name, namespace = "wait", "functions"
    since, families = "0.166.0", CODE_MODE
    unsaid = {
        "ReadOutput.lines": "output is cut by its length",
        "ReadOutput.pattern": "all output is given back",
        "ReadOutput.block": "it always waits for as long as it was told to",
    }
    approximated = {"output_limit": ROUNDED}

    cell_id: str = means("job", "The program.")
    yield_time_ms: int | None = means("wait_ms", "How long to wait, in milliseconds.", default=None, schema=NUMBER)
    max_tokens: int | None = means("output_limit", "Maximum output to return, in tokens.", default=None, schema=NUMBER)
    terminate: bool = means(None, "Whether to end it.", default=False)

    def to_operations(self) -> tuple[op.Operation, ...]:
        job = f"{CELL}{self.cell_id}"
        if self.terminate:
            return (op.StopCommand(job),)
        return (op.ReadOutput(job, self.yield_time_ms, output_limit=TOKENS.to(self.max_tokens)),)

    @classmethod
    def from_operation(cls, operation: op.ReadOutput | op.StopCommand) -> Wait | None:
        if not operation.job.startswith(CELL):
            return None
        cell = operation.job.removeprefix(CELL)
        if isinstance(operation, op.StopCommand):
            return cls(cell_id=cell, terminate=True)
        return cls(cell_id=cell, yield_time_ms=operation.wait_ms, max_tokens=TOKENS.back(operation.output_limit))
