"""A session that somebody sits at, turn by turn: what each turn changed is noted, and what the user does between two
turns reaches the model with the next message."""

from __future__ import annotations

import re
import uuid
from base64 import b64decode
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from dragoman import engine, logs, tools
from dragoman.config.files import private
from dragoman.errors import MediaError, ToolError, writing
from dragoman.model import user
from dragoman.model.outcomes import ChangesOutcome, CommandOutcome
from dragoman.registry import TOOLS
from dragoman.tools import workspace
from dragoman.tools.workspace import LARGEST_ATTACHMENT

from .attachments import attached, content_of, message_of
from .records import find_run
from .session import Session
from .session_options import Options
from .terminal.console import Console, ExitCode, foreign

if TYPE_CHECKING:
    from dragoman.agents.mcp import McpPrompt
    from dragoman.model import Media, Message
    from dragoman.model.outcomes import Outcome, Resource

    from .terminal.type_ahead import TypeAhead

_LONGEST_OUTPUT: Final = 30_000
"""Characters of a command's output that the model is given."""
_FILE: Final = re.compile(r"""(?<![^\s("'])@(?:"(?P<quoted>[^"\n]+)"|(?P<plain>[^\s"]\S*))""")
_PLANNING: Final = (
    "(Plan mode is on: read and search what you need, then answer with a plan. Change nothing: calls that change or "
    "run something are refused.)"
)


class ChatSession(Session):
    """One conversation and everything said around it."""

    def __init__(self, console: Console, options: Options) -> None:
        super().__init__(console, options)
        self.typing: TypeAhead | None = None
        """Who keeps what is typed while a turn runs."""
        self._pending: list[str] = []
        """What the model is told with the next message."""
        self._turns: list[tuple[workspace.Journal, int]] = []
        """What each turn that changed files did to them, and how many events there were before it."""
        self._whole = workspace.Journal()
        self._planning = False
        self._attached: Sequence[str | Media] = ()

    async def _open(self, *, sending: bool) -> None:
        await super()._open(sending=sending)
        self._attached = await attached(self._options.attach, self._context.provides[tools.Web])
        self.workspace.follow(self._whole)

    # ── turns ──────────────────────────────────────────────────────────────

    async def turn(self, prompt: str | Message, answers: Mapping[str, engine.Answer] | None = None) -> ExitCode:
        from .terminal.live import Lines

        journal, begun = workspace.Journal(), len(self.events)
        message = await self._message(prompt) if isinstance(prompt, str) and prompt else prompt
        self.workspace.follow(journal)
        try:
            with ExitStack() as stack:
                if self.typing is not None and isinstance(self.view, Lines):
                    stack.enter_context(self.view.reading(self.typing))
                return await super().turn(message, answers)
        finally:
            self.workspace.unfollow(journal)
            if journal:
                self._turns.append((journal, begun))

    def _commands_since(self, begun: int) -> int:
        """How many commands the model and the user ran since there were so many events."""
        from dragoman.model import CommandInvoked, ToolCalled, operations as op

        events = self.events[begun:]
        called = [event for event in events if isinstance(event, ToolCalled)]
        ran = sum(isinstance(one, op.RunCommand) for event in called for one in event.call.operations)
        return ran + sum(isinstance(event, CommandInvoked) and event.name == "!" for event in events)

    async def _message(self, text: str) -> Message:
        """What is sent for what was typed: with what happened since the last turn, and what it names with "@"."""
        parts: list[str | Media] = [*self._pending, text, *self._attached]
        self._attached = ()
        self._pending.clear()
        named = (found["quoted"] or found["plain"].rstrip(".,;:!?)'\"") for found in _FILE.finditer(text))
        for name in dict.fromkeys(named):
            content = self._file(name)
            contents = await self._resource(name) if content is None else [content]
            if contents:
                parts += contents
                self._console.note(foreign(f"with {name}", one_line=True))
        parts += [_PLANNING] if self._planning else []
        return message_of("", parts)

    def _file(self, name: str) -> str | Media | None:
        """A file of the workspace that a message names; `None` when there is none of that name."""
        try:
            entry = self.workspace.entry(name)
            if entry is None or entry.kind != "file":
                self._say_why_no_file(name, is_folder=entry is not None and entry.kind == "directory")
                return None
            return content_of(self.workspace.read(name, limit=LARGEST_ATTACHMENT + 1), name)
        except (MediaError, ToolError) as error:
            self._console.warn(f"@{name} is left out: {error}")
            return None

    async def _resource(self, name: str) -> Sequence[str | Media]:
        """A resource of an MCP server that a message names: `SERVER:URI`."""
        server, colon, uri = name.partition(":")
        connection = self._servers.connections.get(server) if self._servers is not None and colon else None
        if connection is None or not connection.has_resources:
            return []
        try:
            read = await connection.read_resource(uri)
            return [self._part_of(one) for one in read.resources]
        except (MediaError, ToolError) as error:
            self._console.warn(f"@{name} is left out: {error}")
            return []

    def _part_of(self, resource: Resource) -> str | Media:
        if resource.text is not None:
            return f"Contents of {resource.uri}:\n\n{resource.text}"
        return content_of(b64decode(resource.data or ""), resource.uri)

    # ── prompts of servers ─────────────────────────────────────────────────

    async def prompts(self) -> list[McpPrompt]:
        """Those of all servers; a server that cannot tell is a warning."""
        found: list[McpPrompt] = []
        if self._servers is None:
            return found
        for server in self._servers.with_prompts:
            try:
                found += await self._servers.prompts(server)
            except ToolError as error:
                self._console.warn(str(error))
        return found

    async def prompt_turn(self, server: str, name: str, given: Mapping[str, str]) -> ExitCode:
        """A turn that says what a server's prompt says."""
        if self._servers is None:
            raise ToolError("no MCP server is open; `dragoman mcp list` shows those that are set up")
        said = await self._servers.prompt(server, name, given)
        by_user = all(one.role == "user" for one in said)
        parts = [part for one in said for part in (*([] if by_user else [f"{one.role}:"]), *one.parts)]
        return await self.turn(user(*parts))

    def _say_why_no_file(self, name: str, *, is_folder: bool) -> None:
        """A name that looks like one of a file is not passed over in silence; `@someone` is no such name."""
        if is_folder:
            self._console.note(f"@{name} is a folder: name a file in it to add one")
        elif ("." in name or "/" in name) and ":" not in name:  # with one it may be a resource of a server
            self._console.note(f"there is no file {name} here: @{name} is sent as text")

    # ── files ──────────────────────────────────────────────────────────────

    def file_changes(self) -> ChangesOutcome:
        """What is different now from before this conversation, as far as file tools did it."""
        return ChangesOutcome(tuple(one.change for one in self._whole.changes(self.workspace.held)))

    def undo(self) -> tuple[ChangesOutcome, int]:
        """Undoes what file tools wrote in the last turn in which they did; and how many commands ran since it began.

        What commands changed is not known, so it stays.
        """
        if not self._turns:
            raise ToolError(
                "there is nothing to undo: the model's file tools changed no file since this chat was opened, and what "
                "commands changed cannot be undone"
            )
        journal, begun = self._turns[-1]
        try:
            undone = self.workspace.take_back(journal, author="undo")
        except ToolError as error:
            raise ToolError(f"nothing was undone: {error.message}") from error
        self._turns.pop()
        paths = ", ".join(change.path for change in undone.changes)
        self._pending.append(f"(I undid the file changes of an earlier turn of yours: {paths}.)")
        return undone, self._commands_since(begun)

    # ── the conversation ───────────────────────────────────────────────────

    def plans(self, *, on: bool) -> None:
        """Switches plan mode."""
        self._planning = on
        provider, _, name = self.model.partition(":")
        self.orchestrator.policy = self._policy(provider, name)

    def _policy(self, provider: str, model: str) -> engine.ToolPolicy:
        policy = super()._policy(provider, model)
        if not self._planning:
            return policy
        denied = tuple(
            engine.Approval("deny", kind=kind, source="plan mode") for kind in ("write", "execute", "agent", "other")
        )
        return msgspec.structs.replace(policy, approval=(*denied, *policy.approval))

    async def compact(self, request: str) -> None:
        """Lets the model sum the conversation up; from then on the summary stands for it."""
        from dragoman.model import ContextCompacted, ToolChoice

        orchestrator = self.orchestrator
        policy = orchestrator.policy
        if "none" in orchestrator.engine.features(orchestrator.model).choices:
            orchestrator.policy = msgspec.structs.replace(policy, choice=ToolChoice("none"))
        try:
            code = await super().turn(request)
        finally:
            orchestrator.policy = policy
        result = self.results[-1] if code is ExitCode.OK else None
        if result is None or not result.text.strip():
            self._console.error("the conversation stays as it is: the model gave no summary")
            return
        before = None if result.reply is None else result.reply.usage.total
        self._note(
            ContextCompacted(id=self._next_id(), summary=result.text.strip(), trigger="manual", tokens_before=before)
        )
        self._console.note("The summary replaces the conversation from here on; the record keeps all of it.")

    async def begin_anew(self) -> None:
        """Leaves the conversation, which stays in its record, for an empty one with the same model."""
        self._leave(uuid.uuid4().hex)
        await self.use_model(self.model)

    async def continue_with(self, wanted: str) -> None:
        """Leaves the conversation for an earlier run in this folder."""
        from dragoman.model import SessionStarted

        run = find_run(self.store, wanted)
        if run == self.id:
            raise click.UsageError("That is the conversation you are in.")
        places = [event.cwd for event in self.store.read(run) if isinstance(event, SessionStarted)]
        if places and places[-1] is not None and Path(places[-1]) != self.folder:
            raise click.UsageError(
                f"That run worked in {places[-1]}. Continue it there: dragoman chat --resume {run[:8]}"
            )
        self._continue(run)
        self._forget()
        await self.use_model(None)
        if self.open_calls():
            await self.turn("")

    def _leave(self, id: str) -> None:
        self._close_record()
        self.recorded = False
        self.id, self.events, self._started = id, [], None
        self._forget()

    def _forget(self) -> None:
        """Of the conversation that was left, nothing is carried into the next."""
        self._told = ()
        self._approvals, self._instructions, self._instructions_told = engine.Approvals(), None, False
        self._pending.clear()
        self._turns.clear()

    def last_answer(self) -> str | None:
        """What the model said last."""
        from dragoman.model import Reply

        said = (item.text for item in reversed(self.conversation()) if isinstance(item, Reply))
        return next((text for text in said if text), None)

    def save(self, path: Path) -> None:
        """Writes the conversation as Markdown, with known secrets masked."""
        events = [self._secrets.value(event) for event in self.events]
        with writing(path), open(path, "xb", opener=private) as file:
            logs.write_as(logs.Chosen(lambda: events, "clean"), "markdown", file)

    def request_sizes(self) -> list[tuple[str, int]]:
        """What the next request holds, in characters."""
        request = self.orchestrator.prepare("?", history=self.conversation()).request
        sizes: dict[str, int] = {"instructions": 0, "tools": len(msgspec.json.encode(request.definitions))}
        for item in request.conversation[:-1] if not self.conversation() else request.conversation:
            kind = {"system": "instructions", "tool": "results", "assistant": "answers"}.get(item.role, "your messages")
            sizes[kind] = sizes.get(kind, 0) + len(msgspec.json.encode(item.parts))
        return list(sizes.items())

    # ── commands of the user ───────────────────────────────────────────────

    async def user_command(self, line: str) -> Outcome:
        """Runs a command that the user typed: in the sandbox of all commands, unless a rule denies it. Typing it is the
        approval. The model sees it with the next message."""
        from dragoman.model import Call, CommandInvoked, NativeCall, operations as op

        operation = op.RunCommand(line)
        provider, _, name = self.model.partition(":")
        call = Call("user", (operation,), NativeCall("user", "run_command", {"command": line}))
        verdict, rule = engine.verdict_on(
            call, (TOOLS["run_command"],), super()._policy(provider, name), self.workspace
        )
        if verdict == "deny":
            raise ToolError(f"a rule denies this command: {rule}", kind="denied")
        self._open_record()
        self._note(CommandInvoked(id=self._next_id(), name="!", arguments=line))
        outcome = await tools.perform(operation, self._context)
        told = _words(outcome) if isinstance(outcome, CommandOutcome) else getattr(outcome, "message", str(outcome))
        self._pending.append(f"(I ran this command myself: {line}\n{told})")
        return outcome


def _words(outcome: Any) -> str:
    output: str = outcome.output or f"{outcome.stdout or ''}{outcome.stderr or ''}"
    if len(output) > _LONGEST_OUTPUT:
        half = _LONGEST_OUTPUT // 2
        output = f"{output[:half]}\n… {len(output) - _LONGEST_OUTPUT:,} characters left out …\n{output[-half:]}"
    return f"It wrote:\n{output.rstrip()}\nExit code: {outcome.exit_code}"
