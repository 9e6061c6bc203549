"""What a command line is seen to do to files: read, search, list or write them, beside being a command.

Rule: never a guess. A command line is parsed as the shell would; a word that is computed (`$F`, `*`,
`~`), an option that is not known, or a command in a branch or a loop gives nothing at all. Reading
counts only where the output is shown; writing only where the content stands in the command line
(a heredoc, `echo`, `printf`), because no operation says "written, with content nobody knows".
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dragoman.model import operations as op
from dragoman.model.calls import Call

from .patch_text import script_in
from .shell_line import (
    Redirect,
    Stage,
    Word,
    parser,
    program_of,
    redirects_of,
    stage_of,
    text_of,
    to_parse,
    without_wrappers,
)
from .shell_programs import CHANGES, FILTERS, READERS, Place, narrowed, options_of, printed

if TYPE_CHECKING:
    from tree_sitter import Node

_NO_NUMBER = re.compile(r"\d{1000}")
"""No line has such a number, and Python converts none of 4,300 digits."""


def with_intents(call: Call) -> Call:
    """The call with what its command lines are seen to do; the commands stay what they are."""
    found = [
        intent
        for operation in call.operations
        if isinstance(operation, op.RunCommand)
        for intent in intents(operation.command, operation.cwd)
    ]
    return replace(call, intents=tuple(found)) if found else call


def intents(command: str, directory: str | None = None) -> tuple[op.Operation, ...]:
    """What a command line that runs in `directory` is seen to do, in order."""
    try:
        root = parser().parse(to_parse(command)).root_node
    except UnicodeEncodeError:
        return ()
    if root.has_error:
        return ()
    shell = _Shell(directory)
    try:
        shell.run(root, ())
    except RecursionError:  # hundreds of commands in a row are nested as deeply
        return ()
    except UnicodeDecodeError:  # a word that ends inside a character, or one of `_STANDS_FOR`
        return ()
    return tuple(shell.found)


class _Shell(Place):
    """Follows a command line: where it is, and what was found on the way."""

    def __init__(self, directory: str | None) -> None:
        super().__init__(directory)
        self.found: list[op.Operation] = []

    def run(self, node: Node, redirects: tuple[Redirect, ...]) -> None:
        """Looks at a statement; `redirects` are those that stand after it."""
        match node.type:
            case "program" | "compound_statement":
                for child in node.named_children:
                    self.run(child, redirects)
            case "list":
                first, *rest = node.named_children
                self.run(first, ())
                if any(child.type == "&&" for child in node.children):
                    for child in rest:
                        self.run(child, redirects)
            case "redirected_statement":
                self._redirected(node, redirects)
            case "subshell":
                kept = self.directory, self.lost
                for child in node.named_children:
                    self.run(child, redirects)
                self.directory, self.lost = kept
            case "negated_command":
                self.run(node.named_children[0], redirects)
            case "pipeline" | "command":
                stages = [stage_of(child) for child in ([node] if node.type == "command" else node.named_children)]
                if stages and all(stages):
                    self._pipeline([stage for stage in stages if stage], redirects)
            case "comment" | "variable_assignment" | "variable_assignments" | "declaration_command":
                pass
            case _:  # a branch or a loop: whether it goes anywhere is not known
                self.lost = self.lost or bool(re.search(r"\b(?:cd|pushd|popd)\b", text_of(node)))

    def _redirected(self, node: Node, redirects: tuple[Redirect, ...]) -> None:
        body = node.child_by_field_name("body")
        own = tuple(redirects_of(node))
        heredoc = next((child for child in node.children if child.type == "heredoc_redirect"), None)
        rest = [] if heredoc is None else [child for child in heredoc.named_children if child.type == "pipeline"]
        right = None if heredoc is None else heredoc.child_by_field_name("right")
        if body is None:
            self._pipeline([Stage((":",))], own)
        elif rest:
            first = stage_of(body)
            stages = [stage_of(child) for child in rest[0].named_children]
            if first is not None and all(stages):
                fed = first._replace(redirects=(*first.redirects, *own))
                self._pipeline([fed, *(stage for stage in stages if stage)], redirects)
        else:
            self.run(body, (*own, *redirects))
        if right is not None:
            self.run(right, redirects)

    def _pipeline(self, stages: Sequence[Stage], redirects: tuple[Redirect, ...]) -> None:
        last = stages[-1]
        stages = [*stages[:-1], last._replace(redirects=(*last.redirects, *redirects))]
        if len(stages) == 1 and stages[0].words[:1] in (("cd",), ("pushd",), ("popd",)):
            self._go(stages[0].words)
            return
        unwrapped = [stage._replace(words=without_wrappers(stage.words)) for stage in stages]
        script = script_in([word or "" for word in unwrapped[0].words]) if None not in unwrapped[0].words else None
        if script is not None:
            if len(stages) == 1 and stages[0].shown and not self.lost:
                self.found += intents(script, self.directory)
            return
        self.found += self._written(unwrapped)
        self.found += self._read(unwrapped)

    def _go(self, words: Sequence[Word]) -> None:
        goal = words[1] if len(words) == 2 and words[0] == "cd" else None
        if goal is None or goal.startswith("-"):
            self.lost = True
        elif goal.startswith("/"):
            self.directory, self.lost = goal, False
        else:
            self.directory = posixpath.join(self.directory, goal)

    # ── writing ────────────────────────────────────────────────────────────

    def _written(self, stages: Sequence[Stage]) -> list[op.Operation]:
        found: list[op.Operation] = []
        content: str | None = None
        for stage in stages:
            content = printed(stage, content)
            for redirect in stage.redirects:
                if redirect.operator in (">", ">>", ">|") and redirect.descriptor in ("", "1"):
                    found += self._put(redirect.target, content, append=redirect.operator == ">>")
            if stage.words[:1] == ("tee",):
                options = options_of(stage.words, flags="a", long_flags=("append",))
                for name in options.operands if options else ():
                    found += self._put(name, content, append=bool(options and options.has("a", "append")))
            change = CHANGES.get(program_of(stage))
            if change is not None:
                found += change(self, stage)
        return found

    def _put(self, name: Word, content: str | None, *, append: bool) -> list[op.Operation]:
        path = None if name is None else self.path(name)
        if path is None or content is None or path.startswith("/dev/"):
            return []
        if not append:
            return [op.WriteFile(path, content)]
        whole = content.endswith("\n")
        return [op.EditFile(path, (op.Edit(None, content, whole_lines=True),))] if whole else []

    # ── reading ────────────────────────────────────────────────────────────

    def _read(self, stages: Sequence[Stage]) -> list[op.Operation]:
        """What the first program shows; the others may only narrow it."""
        first = stages[0]
        reader = READERS.get(program_of(first))
        if reader is None or not all(stage.shown for stage in stages):
            return []
        if not all(program_of(stage) in FILTERS for stage in stages[1:]):
            return []
        if any(_NO_NUMBER.search(word or "") for stage in stages for word in stage.words):
            return []
        found = reader(self, first)
        for stage in stages[1:]:
            found = [narrowed(one, stage) for one in found]
        return found
