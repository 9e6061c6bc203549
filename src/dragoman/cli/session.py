"""What `run` and `chat` share: their options, and one conversation with everything it needs.

A session has a record, if it is kept, and every turn goes on from it: so a turn of a chat, a run that was stopped and
a run that waited for an answer are one thing.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from dragoman import agents
from dragoman.engine import history, models
from dragoman.errors import ConfigError, EngineError, nearest
from dragoman.logs import base
from dragoman.registry import DIALECTS

from . import stopping
from .advice import advice
from .answer_type import plain_value, wanted_type
from .embedded import OFFERED, SYSTEM, Consent
from .records import find_run, ledger_of, store_of
from .session_options import Options
from .terminal.console import Console, ExitCode, here

if TYPE_CHECKING:
    from dragoman.config import Sandbox
    from dragoman.dialects import Dialect
    from dragoman.engine import (
        Answer,
        Approver,
        Exchange,
        Hooks,
        Orchestrator,
        Prepared,
        Question,
        Running,
        RunResult,
        ToolPolicy,
    )
    from dragoman.fleet import SharedLedger
    from dragoman.logs.stores import EventStore, RunRecord
    from dragoman.model import AnyChunk, AnyEvent, Conversation, Message, NativeCall, SessionStarted
    from dragoman.tools import DiskWorkspace, Toolset

    from .secrets import Secrets
    from .terminal.approver import WaitingCall
    from .terminal.keyboard import Keyboard
    from .terminal.live import View


# ── a session ────────────────────────────────────────────────────────────────


class Session:
    """One conversation, from here or from its record. Open it with `open`, close it with `close`."""

    def __init__(self, console: Console, options: Options) -> None:
        from dragoman.engine import Approvals

        self._console, self._options = console, options
        self.configuration = console.configuration()
        self.events: list[AnyEvent] = []
        self.id = ""
        self.view: View
        self.orchestrator: Orchestrator
        self.workspace: DiskWorkspace
        self.model = ""
        self.why = ""
        self._record: RunRecord | None = None
        self._known_store: EventStore | None = None
        self._known_ledger: SharedLedger | None = None
        self.recorded = False
        """Whether there is a record to continue from."""
        self._started: SessionStarted | None = None
        self._told: tuple[AnyEvent, ...] = ()
        """What was told of another session: it is the beginning of the record."""
        self._keyboard: Keyboard | None = None
        self._stack = AsyncExitStack()
        self.results: list[RunResult] = []
        """How each turn of this process ended."""
        self._context: Any = None
        self._backend_searches = False
        """Whether the settings name something to search the web with."""
        self._servers: agents.McpServers | None = None
        self._noted = 0
        self._refused = 0
        self._consent = Consent(console, self.configuration.cache_dir, given=options.fetch)
        self._is_embedded = False
        self._vouched_model = self._vouched_dialect = True
        """Whether the user chose the model and the dialect that the options name."""
        self._known_secrets: Secrets | None = None
        self._approvals = Approvals()
        self._instructions: agents.Instructions | None = None
        self._instructions_told = False

    @classmethod
    async def open(cls, console: Console, options: Options, *, sending: bool = True) -> Session:
        """A session ready for its first turn. When nothing is to be sent, no key is needed."""
        session = cls(console, options)
        try:
            await session._open(sending=sending)
        except BaseException:
            await session.close()
            raise
        return session

    async def _open(self, *, sending: bool) -> None:
        import uuid

        from .terminal.live import JsonLines, Lines

        options, console = self._options, self._console
        self.view = JsonLines(console) if options.as_json else Lines(console, answers=options.schema is None)
        self.id = uuid.uuid4().hex
        if options.resume is not None:
            self._continue(find_run(self.store, options.resume), sending=sending)
        elif options.run_id is not None:
            self._continue(options.run_id)  # or begins it: then its record is empty
        elif options.from_session is not None:
            self._tell(options.from_session)
        self.workspace = self._workspace()
        await self._open_context()
        await self.use_model(options.model, sending=sending)

    @property
    def store(self) -> EventStore:
        """What keeps the records of runs."""
        if self._known_store is None:
            self._known_store = store_of(self.configuration)
        return self._known_store

    def _must_be_own_record(self, file: str) -> None:
        """Raises where others can have written what is continued: a dialect file is run, and names of it are theirs."""
        if self.configuration.settings.store.url is not None:
            raise click.BadParameter(
                f"this run began with the dialect file {file}, and others may write to {self.store.place}: "
                "if the file is yours, name it again.",
                param_hint="--dialect",
            )

    def _continue(self, run: str, *, sending: bool = True) -> None:
        """Takes up the record of a run; it is held before it is read, so that nobody adds to it in between."""
        from dragoman.model import SessionStarted, Unreadable

        record = self._held_record(run) if sending else None
        try:
            events = list(self.store.read(run))
        except BaseException:
            if record is not None:
                record.close()
            raise
        bad = sum(isinstance(event, Unreadable) for event in events)
        if bad:
            self._console.warn(
                f"run {run}: {bad} of its lines cannot be read and {'is' if bad == 1 else 'are'} left out"
            )
        self._close_record()
        self._record, self.recorded = record, record is not None
        self.events = [event for event in events if not isinstance(event, Unreadable)]
        self.id = run
        self._started = next((one for one in reversed(self.events) if isinstance(one, SessionStarted)), None)

    def _tell(self, session: str) -> None:
        """Begins with what was said in a session of any client."""
        from dragoman.model import SessionStarted

        from .from_session import told_events

        self.events = told_events(self._console, session, self.id)
        self._told = tuple(self.events)
        self._started = next(one for one in self.events if isinstance(one, SessionStarted))

    def _kept(self, name: str) -> Any:
        """What an earlier part of this conversation was led with.

        A worker leads every part by its own rules: whoever can write to the database of a queue can write records.
        """
        if self._started is None or self._options.run_id is not None:
            return None
        return self._started.metadata.get(name)

    def _profile_states(self, key: str) -> bool:
        """Whether the profile named on the command line sets this: then it counts for a run that is resumed too."""
        name = self._options.profile
        return name is not None and self.configuration.states(key, name)

    def _workspace(self) -> DiskWorkspace:
        from dragoman.tools import DiskWorkspace

        recorded = self._started.cwd if self._started is not None else None
        folder = self._options.workspace or (Path(recorded) if recorded else None)
        folder = folder or self.configuration.settings.workspace or here()
        if not folder.is_dir():
            raise ConfigError(f"the workspace {folder} is not there; name a folder with --workspace")
        return DiskWorkspace(folder)

    @property
    def folder(self) -> Path:
        with self.workspace.directory() as folder:
            return folder

    async def _open_context(self) -> None:
        """The shell, the web and the plan: they last as long as the session does."""
        from dragoman.engine import web_for
        from dragoman.tools import Shell, standard_context

        web = web_for(self.configuration)
        if web.why_no_search is not None:
            self._console.warn(f"the web is not searched with search.backend: {web.why_no_search}")
        self._backend_searches = web.can_search
        context = standard_context(self.workspace, shell=Shell(sandbox=self._sandbox()), web=web)
        self._context = await self._stack.enter_async_context(context)

    def _sandbox(self) -> Sandbox:
        from .terminal.keyboard import Keyboard

        chosen = self._options.approval
        if self._keyboard is None and chosen != "deny":
            self._keyboard = Keyboard.attached()
        # A run that is resumed may bring an answer along. With --yes, only what the model asks is put to the user.
        asks = self._keyboard is not None and chosen != "yes"
        askable = asks or chosen == "ask" or self._options.resume is not None
        return models.configured_sandbox(self.configuration, askable=askable)

    # ── the model ──────────────────────────────────────────────────────────

    async def use_model(self, wanted: str | None, *, sending: bool = True) -> None:
        """Makes a model the one that answers from here on: the one named, else the recorded, else a default."""
        from dragoman.engine import Orchestrator, Retry

        vouched = True
        if wanted is not None:
            model, why, vouched = wanted, "", self._vouched_model
        elif self._kept("model") and not self._profile_states("model"):
            model, why = str(self._kept("model")), "as before"
        else:
            found = await models.default_model(self.configuration, may_fetch=self._consent.instead)
            model, why, vouched = found.model, found.why, self.configuration.is_vouched("model")
        provider, name = self._parts_of(models.real_name(model, self.configuration), by_hand=wanted is not None)
        model = f"{provider}:{name}"
        self._is_embedded = provider in models.PROVIDERS and models.PROVIDERS[provider].in_process
        if self._is_embedded and sending:
            self._consent.needed_for(name)
            vouched = vouched or name in models.MODEL_FILES  # the user agreed to have it here
        engine, _ = models.engine_for(
            model,
            configuration=self.configuration,
            vouched=vouched,
            api_key=None if sending else "none is sent",
            retry=Retry(times=self._retries()),
            record=self._wire() if self._options.record_wire is not None else None,
            notice=lambda error, wait: self.view.notice(error, wait),
            ledger=self._ledger() if sending else None,
        )
        if isinstance(engine, models.LocalEngine):
            engine.progress = self.view.progress
        if hasattr(self, "orchestrator"):
            await self.orchestrator.close()
        dialect = self._dialect(name)
        policy = self._policy(provider, name)
        self.orchestrator = Orchestrator(
            engine,
            await self._tools(dialect, name),
            policy,
            model_name=name,
            dialect=dialect,
            system=self._system(),
            workspace=self.workspace,
            context=self._context,
            hooks=self._hooks(),
            approver=self._approver(),
            approvals=self._approvals,
            emit=self._emit,
            configuration=self.configuration,
            guard=self._options.guard,
            output=None if self._options.schema is None else wanted_type(self._options.schema),
        )
        self.model, self.why = model, why
        if "search_web" in self._words() and self.orchestrator.why_no_search is not None:
            message = f"search_web cannot be offered: {self.orchestrator.why_no_search}."
            raise click.BadParameter(message, param_hint="--tools")

    def _ledger(self) -> SharedLedger | None:
        """Where requests are counted, for all runs that share the queue."""
        if self._known_ledger is None:
            self._known_ledger = ledger_of(self.configuration)
            if self._known_ledger is not None:
                self._stack.callback(self._known_ledger.close)
        return self._known_ledger

    def _retries(self) -> int:
        chosen = self._options.retries
        return self.configuration.settings.retries if chosen is None else chosen

    def _parts_of(self, model: str, *, by_hand: bool) -> tuple[str, str]:
        """A model's provider and name; a mistake on the command line is a usage error."""
        try:
            provider, name = models.split_model(model)
        except ConfigError as error:
            raise (click.BadParameter(str(error), param_hint="--model") if by_hand else error) from error
        known = (*models.PROVIDERS, *self.configuration.settings.providers)
        if by_hand and provider not in known:
            message = f'there is no provider "{provider}".{nearest(provider, known)} There are {", ".join(known)}.'
            raise click.BadParameter(message, param_hint="--model")
        return provider, name

    def _dialect(self, model: str) -> Dialect:
        from dragoman.dialects.plugins import dialect_named, is_dialect_file

        chosen = self._options.dialect or (None if self._profile_states("dialect") else self._kept("dialect"))
        if chosen is not None and chosen not in DIALECTS and not is_dialect_file(chosen):
            raise click.BadParameter(
                f'there is no dialect "{chosen}".{nearest(chosen, DIALECTS)}', param_hint="--dialect"
            )
        if self._options.dialect is None and chosen is not None and is_dialect_file(chosen):
            self._must_be_own_record(chosen)
        if chosen is not None:
            return dialect_named(chosen, files=self._vouched_dialect)
        return models.configured_dialect(self.configuration, model) or dialect_named(
            models.dialect_of(model), files=False
        )

    def _system(self) -> str | None:
        """The system prompt: the words chosen or our own, then the project's instructions."""
        parts = (self._own_system(), self.instructions().text)
        return "\n\n".join(part for part in parts if part) or None

    def _own_system(self) -> str:
        if self._options.system is not None:
            return self._options.system
        if self.configuration.settings.system is not None:
            return self.configuration.settings.system
        return SYSTEM if self._is_embedded else _SYSTEM.format(folder=self.folder, system=sys.platform)

    def instructions(self) -> agents.Instructions:
        """What the project's and the user's own instruction files say to the model that answers."""
        if self._options.no_instructions:
            return agents.Instructions()
        if self._instructions is None:
            self._instructions = agents.find_instructions(self.configuration, self.folder)
            for problem in self._instructions.problems:
                self._console.warn(problem)
        length = len(self._instructions.text)
        if self._is_embedded and length > EMBEDDED_INSTRUCTIONS:
            self._console.warn(
                f"the instruction files are left out: {length:,} characters are too many for the embedded model"
            )
            return agents.Instructions()
        return self._instructions

    def _hooks(self) -> Hooks:
        from dragoman.engine import Hooks

        if self._options.no_instructions:
            return Hooks()
        longest = {"longest": EMBEDDED_INSTRUCTIONS} if self._is_embedded else {}
        nested = agents.NestedInstructions(
            self.configuration, self.workspace, self.folder, self._tell_nested, **longest
        )
        return Hooks(remind=nested)

    def _tell_nested(self, files: Sequence[Path], problems: Sequence[str]) -> None:
        if files:
            self.view.begins(f"instructions: {', '.join(map(self._place, files))}")
        for problem in problems:
            self._console.warn(problem)

    # ── tools and what they may do ─────────────────────────────────────────

    def _words(self) -> list[str]:
        """The tools named on the command line."""
        return [word.strip() for text in self._options.tools for word in text.split(",") if word.strip()]

    async def _tools(self, dialect: Dialect, model: str) -> Toolset:
        from dragoman.tools import Toolset

        from .mcp_tools import host_of, is_served, offer_served, opened_servers
        from .offered import tools_named, usual_tools

        words = self._words()
        option = "--tools" if words else None
        if not words and (self._kept("tools") is None or self._profile_states("tools")):
            words = list(self.configuration.settings.tools)
        served: list[str] | None = [word for word in words if is_served(word)]
        if not words and self._kept("tools") is not None:
            words = list(self._kept("tools")) or ["none"]
            served = None if any(is_served(word) for word in words) else []  # what servers have may have changed
        elif not words and self._is_embedded:
            words = [*OFFERED, "search_web"] if self._backend_searches else list(OFFERED)
        elif not words:
            served = None
        toolset = Toolset(
            tools_named((word for word in words if not is_served(word)), option)
            if words
            else usual_tools(dialect.at(family=model))
        )
        self._offer_skills(toolset, dialect.at(family=model), named=bool(words))
        own = self._own_servers()
        if (served != [] or own) and self._servers is None and not self._options.no_mcp:
            run, answers = lambda: getattr(self, "orchestrator", None), self._keyboard is not None
            host = host_of(self.configuration, self.folder, run, self.view.begins, answers=answers)
            self._servers = await opened_servers(self._console, self.configuration, self._stack, host, own)
        waiting = offer_served(toolset, self._servers, served, searched=self._searches_tools)
        if waiting:
            self._console.note(f"The {waiting} tools of MCP servers are searched for, not offered up front.")
        return toolset

    _searches_tools = True
    """Whether a model looks for the tools of servers when there are very many."""

    def _offer_skills(self, toolset: Toolset, dialect: Dialect, *, named: bool) -> None:
        """The skills there are, with their descriptions: where the tool is named, or the model has a word for it."""
        from dragoman.model import operations as op

        if ("use_skill" not in toolset) if named else not dialect.speaks(op.UseSkill):
            return
        tool = agents.skill_tool(self.configuration, self.folder)
        if "use_skill" in toolset:
            toolset.unregister("use_skill")
        if tool is not None:
            toolset.register(tool)
        elif named:
            self._console.warn("use_skill is left out: there are no skills here; `dragoman skills` lists them")

    def _own_servers(self) -> Sequence[agents.McpServer]:
        """MCP servers beside those that are set up."""
        return ()

    def _policy(self, provider: str, model: str) -> ToolPolicy:
        from dragoman.engine import ToolPolicy

        policy = ToolPolicy.from_settings(self.configuration.settings, provider, model)
        if self._options.max_iterations is not None:
            policy = msgspec.structs.replace(policy, max_iterations=self._options.max_iterations)
        if self._options.max_cost is not None:
            policy = msgspec.structs.replace(policy, max_cost=self._options.max_cost)
        if self._options.approval in ("ask", "deny"):
            policy = msgspec.structs.replace(policy, default="ask")
        return policy.reading_allowed()

    def _approver(self) -> Approver:
        from .terminal.approver import Asker, puts_off, says

        chosen, keyboard = self._options.approval, self._keyboard
        asker = None
        if keyboard is not None:
            asker = Asker(self._console, self.view, self.workspace, keyboard, self._note, self._next_id)
        if chosen == "yes":
            return says(allowed=True, by="--yes", asker=asker, no_answers=NO_TERMINAL)
        if chosen == "deny":
            why = "the user refuses everything that would need a yes"
            return says(allowed=False, by="--deny", reason=why, no_answers="--deny refuses every question")
        if asker is not None:
            return asker
        if chosen == "ask":
            return puts_off(self._note, self._next_id, self._console.note)
        return self._refuser()

    def _refuser(self) -> Approver:
        from dragoman.engine import Answer

        from .terminal.approver import DescribedApprover

        def refuse(question: Question) -> Answer:
            self._refused += 1
            return Answer(allowed=False, by="policy", reason=question.again or "nobody is there to be asked")

        return DescribedApprover(refuse, NO_TERMINAL)

    # ── events ─────────────────────────────────────────────────────────────

    def _emit(self, event: AnyEvent) -> None:
        from dragoman.dialects.plugins import is_dialect_file
        from dragoman.model import ModelFinished, SessionStarted

        if isinstance(event, SessionStarted):
            tools = [getattr(tool, "id", None) or tool.name for tool in self.orchestrator.toolset]
            dialect = self._options.dialect or self._kept("dialect")
            if dialect is not None and is_dialect_file(dialect):
                dialect = os.path.abspath(dialect)  # a resumed run may start in another folder, with another such file
            metadata = {"model": self.model, "tools": tools, "dialect": dialect, **self._noted_of_itself()}
            event = msgspec.structs.replace(event, cwd=str(self.folder), metadata=metadata)
        self.events.append(event)
        for shown in self._secrets.events(event):
            if self._record is not None:
                self._record(shown)
            if self._options.debug and shown.id == event.id:
                self._show_words(event)
            if isinstance(shown, ModelFinished) and shown.stream == "main":
                for chunk in self._secrets.rest():
                    self.view.chunk(chunk)
            self.view.event(shown)

    def _noted_of_itself(self) -> dict[str, Any]:
        """What a run that is resumed must know besides."""
        return {}

    def _note(self, event: AnyEvent) -> None:
        import datetime

        now = datetime.datetime.now(datetime.UTC)
        self._emit(msgspec.structs.replace(event, session=self.id, run=self.id, time=now, client="dragoman"))

    def _next_id(self) -> str:
        self._noted += 1
        return f"{self.id}-note-{len(self.events)}-{self._noted}"

    def _wire(self) -> Callable[[Exchange], None]:
        path = self._options.record_wire
        assert path is not None
        file = base.LineFile(path, mode=0o600, advice="--record-wire can name another file")
        self._stack.callback(file.close)

        def record(exchange: Exchange) -> None:
            file.add(msgspec.json.encode(self._secrets.value(exchange)) + b"\n")

        return record

    def _held_record(self, run: str) -> RunRecord | None:
        """The record of a run, held for this process; `None` where none is kept."""
        if self._options.no_record or not self.configuration.settings.record:
            return None
        from dragoman.config.files import OTHER_DATA_DIR

        advice = f"{OTHER_DATA_DIR}, and --no-record keeps no record"
        later = f"free some space, then continue with --resume {run[:8]}"
        return self.store.open(run, advice=advice, advice_later=later)

    def _open_record(self) -> None:
        """Made with the first turn: what never began leaves no record."""
        if self._record is not None:
            return
        self._record = self._held_record(self.id)
        if self._record is not None:
            self.recorded = True
            for event in self._told:
                self._record(self._secrets.value(event))

    def _close_record(self) -> None:
        if self._record is not None:
            self._record.close()
            self._record = None

    # ── turns ──────────────────────────────────────────────────────────────

    def begins(self) -> None:
        """Says who answers, in which words, and where."""
        dialect = self.orchestrator.dialect.name
        why = f" ({self.why})" if self.why else ""
        self.view.begins(f"{self.model}{why}, in the words of {dialect}, in {self.folder}")
        self.tell_instructions()

    def tell_instructions(self) -> None:
        """Says which instruction files the model got, and warns where nobody vouches for them and nobody is asked."""
        if self._instructions_told or any(item.role == "system" for item in self.conversation()):
            return  # a run that is resumed keeps the instructions it began with
        given = self.instructions()
        if not given.files and not given.nested:
            return
        self._instructions_told = True
        names = [self._place(one.path) for one in given.files]
        names += [f"{name} (when a file below {os.path.dirname(name)} is used)" for name in given.nested]
        self.view.begins(f"instructions: {', '.join(names)}")
        project = self.configuration.project
        trusted = project is not None and project.trust.state == "trusted"
        if self._options.approval == "yes" and given.of_project and not trusted:
            self._console.warn(
                "--yes allows every call, and this folder is not trusted: its instruction files tell the model what "
                "to do. Read them first, or use --no-instructions."
            )

    def _place(self, path: Path) -> str:
        folder = self.folder
        return os.path.relpath(path, folder) if path.is_relative_to(folder) else str(path)

    def conversation(self) -> Conversation:
        return history.conversation_of(self.events)

    def open_calls(self) -> tuple[NativeCall, ...]:
        """Calls that have no result yet."""
        from dragoman.engine.history import open_calls

        return open_calls(self.events)

    def waiting_calls(self) -> list[WaitingCall]:
        """Calls without a result that somebody was, or should have been, asked about."""
        from .waiting_runs import waiting_in

        return waiting_in(self.events)

    def finished(self) -> bool:
        """Whether the model has said all, so that only something new leads on."""
        from dragoman.model import FinishReason, Reply

        last = next(reversed(self.conversation()), None)
        return isinstance(last, Reply) and not self.open_calls() and last.finish is not FinishReason.PAUSED

    async def with_attachments(self, text: str) -> str | Message:
        """The first message, with what `--attach` names."""
        if not self._options.attach:
            return text
        from dragoman.tools import Web

        from .attachments import attached, message_of

        return message_of(text, await attached(self._options.attach, self._context.provides[Web]))

    def prepare(self, prompt: str | Message) -> Prepared:
        """What would be sent."""
        return self.orchestrator.prepare(prompt, history=self.conversation(), stream=True)

    def url(self, path: str) -> str:
        engine = self.orchestrator.engine
        return f"{engine.transport.base_url}/{path.lstrip('/')}" if hasattr(engine, "transport") else path

    def stopped(self) -> None:
        """A signal stopped it."""
        self.view.pause()
        if sys.stderr.isatty():
            sys.stderr.write("\r")  # over the terminal's own ^C
        self._console.error(stopping.words())

    async def turn(self, prompt: str | Message, answers: Mapping[str, Answer] | None = None) -> ExitCode:
        """One thing said to the model, up to the end of its answer."""
        self._open_record()
        running = self.orchestrator.resume(
            self.events, prompt=prompt, run_id=self.id, answers=answers, observe=self._observe
        )
        if self._options.debug:
            self._show_offer(running)
        began = time.monotonic()
        try:
            result = await running.result()
        except EngineError as error:
            self.view.pause()
            self._console.error(str(error))
            for line in await advice(error, self.model, self.orchestrator.engine):
                self._console.note(line)
            return ExitCode.ENGINE
        finally:
            self.view.pause()
        self.results.append(result)
        if result.report is not None:
            self.view.begins(self._secrets.text(result.report.summary))
        self.view.ended(result, time.monotonic() - began)
        if self._refused:
            calls = "1 call was" if self._refused == 1 else f"{self._refused} calls were"
            self._console.note(
                f"{calls} refused, since nobody could be asked: --yes allows them, --ask lets them wait."
            )
            self._refused = 0
        typed = self._typed(result)
        return self._verdict(result) if typed is None else typed

    def _typed(self, result: RunResult) -> ExitCode | None:
        """Prints the answer in the type that was asked for; `None` where the run says more of its end."""
        from dragoman.model import Failure

        if self.orchestrator.output is None or result.status not in ("completed", "failed"):
            return None
        if isinstance(result.error, Failure):
            self._console.error(result.error.message)
            return ExitCode.NO
        if not self._options.as_json:
            self._console.json(plain_value(result.output))
        return None

    def _verdict(self, result: RunResult) -> ExitCode:
        from dragoman.model import Failure, FinishReason

        if result.status == "waiting":
            from dragoman.model import operations as op

            from .terminal.call_lines import said_of

            questions = [call for call in result.waiting if any(isinstance(one, op.AskUser) for one in call.operations)]
            for head, calls in (
                ("These calls wait for your approval:", [one for one in result.waiting if one not in questions]),
                ("The model asks you:", questions),
            ):
                if calls:
                    self._console.note(head)
                for call in calls:
                    self._console.note(f"  {call.id}  {said_of(call)}")
            return ExitCode.WAITING
        if result.status == "limited":
            self._console.error(str(result.error))
            return ExitCode.LIMIT
        if result.report is not None and result.report.problems:
            for problem in result.report.problems:
                self._console.warn(self._secrets.text(problem))
            return ExitCode.NO
        if result.status == "failed":
            message = result.error.message if isinstance(result.error, Failure) else str(result.error)
            self._console.error(f"a call failed, and the policy says to end there: {message}")
            return ExitCode.TOOL
        if result.finish is FinishReason.LENGTH:
            self._console.error("the answer was cut off by the limit on its length")
            return ExitCode.LIMIT
        if result.finish in (FinishReason.REFUSED, FinishReason.FILTERED, FinishReason.CONTEXT_EXCEEDED):
            self._console.error(_STOPPED[str(result.finish)])
            return ExitCode.LIMIT if result.finish is FinishReason.CONTEXT_EXCEEDED else ExitCode.NO
        return ExitCode.OK

    async def tell_waiting(self, task: str) -> None:
        """Tells whoever the settings name that this run waits."""
        from .notices import facts_of, notifier_of

        notifier = notifier_of(self.configuration)
        if notifier is not None and self.recorded and "waiting" in self.configuration.settings.notify.when:
            calls, folder = self.waiting_calls(), str(self.folder)
            facts = facts_of(self.configuration, self.id, "waiting", task=task, folder=folder, calls=calls)
            for problem in await notifier.tell(facts):
                self._console.warn(f"nobody was told that this run waits: {problem}")

    def how_to_resume(self, code: ExitCode, command: str) -> str | None:
        """How to continue, or `None` when there is no record."""
        if not self.recorded:
            return None
        if code is ExitCode.WAITING:
            waiting = self.waiting_calls()
            ways = ["--answer 'ID=your answer'"] if any(call.asks for call in waiting) else []
            ways += ["--approve all"] if not all(call.asks for call in waiting) else []
            more = ", ".join(f"add {way}" for way in (*ways, "--refuse all"))
            return f"Answer and continue:  dragoman {command} --resume {self.id[:8]}  (or {more})"
        more = ' "what to do next"' if code is ExitCode.OK and command == "run" else ""
        more = " --model provider:model" if code is ExitCode.ENGINE else more
        return f"Continue:  dragoman {command} --resume {self.id[:8]}{more}"

    # ── in the model's own words ───────────────────────────────────────────

    def _show_offer(self, running: Running) -> None:
        from .debugging import offer

        for line in offer(running):
            self._console.note(self._secrets.text(line))

    def _show_words(self, event: AnyEvent) -> None:
        from .debugging import model_words

        words = model_words(event)
        if words is not None:
            self.view.pause()
            self._console.note(self._secrets.text(words))

    def _observe(self, chunk: AnyChunk) -> None:
        """A piece of a reply came."""
        for shown in self._secrets.chunks(chunk):
            self.view.chunk(shown)

    @property
    def _secrets(self) -> Secrets:
        if self._known_secrets is None:
            from .secrets import Secrets, secrets_of

            self._known_secrets = Secrets(secrets_of(self.configuration))
        return self._known_secrets

    async def close(self) -> None:
        """Ends what was begun, also when nobody reads any more what there is to say."""
        try:
            if hasattr(self, "view"):
                self.view.close()
        finally:
            if hasattr(self, "orchestrator"):
                await self.orchestrator.close()
            if self._keyboard is not None:
                self._keyboard.close()
            try:
                await self._stack.aclose()
            finally:
                self._close_record()
                if self._known_store is not None:
                    self._known_store.close()


EMBEDDED_INSTRUCTIONS: Final = 4000
"""Characters of instructions that a small model in this process is given: its context holds 8,192 tokens in all."""
NO_TERMINAL: Final = "nobody can answer: there is no terminal to ask on, and --ask is not given"
_SYSTEM: Final = (
    "You work in the folder {folder} on the user's machine ({system}). Use the tools to do what the user asks: look "
    "before you change anything, and check what you did. File tools reach nothing outside that folder. "
    "When you are done, say in a few sentences what you did."
)
_STOPPED: Final = {
    "refused": "the model refused",
    "filtered": "the provider withheld the answer",
    "context_exceeded": "the conversation is longer than the model can take: begin a new one, or use another model",
}
