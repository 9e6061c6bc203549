"""How Codex tells what a call gave, in all the forms it has had: read from logs and live, and written.

Rule: text is all there is. Nothing on the wire says that a call failed, so failures are known by
their words; where a log keeps a record of its own beside the text (`NativeResult.item`: one record,
or those of all calls inside a program), it is asked for what the text does not say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, ClassVar, NamedTuple

import msgspec
from msgspec.structs import replace

from dragoman.dialects.base.default_words import tell, tell_all, text_of, understand
from dragoman.dialects.base.mcp_resources import resource_row, resources_in
from dragoman.dialects.base.patch_text import SUCCESS, changes_listed, same_path
from dragoman.dialects.base.spelling import Content
from dragoman.dialects.base.words import CALLED, Results, by_hand, in_json, one_of, words
from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import Call, NativeResult
from dragoman.model.edit_rules import AS_GIVEN, EditRules, PatchRules
from dragoman.model.json_text import json_text, read_json
from dragoman.model.json_values import as_integer, as_number

# ── what a command gave ──────────────────────────────────────────────────────

CHARACTERS_PER_TOKEN = 4  # the client counts four bytes as a token ("…12 tokens truncated…", 0.118 to 0.166)
TIMED_OUT = 124
_TIMED_OUT = re.compile(r"command timed out(?: after (\d+) milliseconds)?\n")
_CUT = re.compile(r"…(\d+) (tokens|chars) truncated…")
_CUT_NOTE = re.compile(r"(?:Warning: truncated output \(original token count: \d+\)\n)?Total output lines: \d+\n\n")
_FACTS = re.compile(
    r"(?:Command: .*|Chunk ID: .*|Original token count: \d+|Total output lines: \d+"
    r"|Wall time:? (?P<seconds>\d+(?:\.\d+)?) seconds|(?:Exit code:|Process exited with code) (?P<code>-?\d+)"
    r"|Process running with session ID (?P<job>.+)|(?P<running>Process running)|Process ended by signal (?P<signal>\d+)"
    r"|Characters cut: (?P<cut>\d+))"
)


class Report(NamedTuple):
    """What stands above the output of a command, and the output."""

    facts: dict[str, Any]
    body: str


def _report(text: str) -> Report | None:
    """The facts and the output in a result of a command, in any of the forms it has had; `None` when it is none."""
    if text.startswith('{"output":'):
        return _old_report(text)
    facts: dict[str, Any] = {}
    position = 0
    while (end := text.find("\n", position)) >= 0 and (found := _FACTS.fullmatch(text, position, end)) is not None:
        position = end + 1
        if found["seconds"]:
            facts["duration_ms"] = round(float(found["seconds"]) * 1000)
        if found["code"]:
            facts["exit_code"] = int(found["code"])
        if found["job"] or found["running"]:
            facts["running"] = True
        if found["job"]:
            facts["job"] = found["job"]
        if found["signal"]:
            facts["signal"] = int(found["signal"])
        if found["cut"]:
            facts["truncated"] = int(found["cut"])
    rest = text[position:]
    if rest == "Output:" or rest.startswith("Output:\n"):
        return Report(facts, rest[len("Output:\n") :])
    return Report(facts, rest) if "exit_code" in facts else None


def _old_report(text: str) -> Report | None:
    try:
        told = read_json(text, type=_Told)
    except msgspec.DecodeError:
        return None
    facts = {name: value for name, value in msgspec.structs.asdict(told.metadata).items() if value is not None}
    if (seconds := facts.pop("duration_seconds", None)) is not None:
        facts["duration_ms"] = round(seconds * 1000)
    return Report(facts, told.output)


class _Metadata(msgspec.Struct, omit_defaults=True):
    exit_code: int | None = None
    duration_seconds: float | None = None
    signal: int | None = None
    running: bool | None = None
    job: str | None = None
    truncated: int | None = None


class _Told(msgspec.Struct):
    """The first form of a command's result (0.20 to 0.119); of the facts, the client itself knew the first two."""

    output: str
    metadata: _Metadata


def _command_outcome(report: Report) -> out.CommandOutcome:
    facts, body = dict(report.facts), report.body
    if facts.get("exit_code") == TIMED_OUT and (found := _TIMED_OUT.match(body)) is not None:
        # The client writes 124 for a command that timed out (0.44 to 0.142.5); the command itself never ended.
        facts.update(exit_code=None, timed_out=True)
        body = body[found.end() :]
    note = _CUT_NOTE.match(body)
    if note is not None:
        body = body[note.end() :]
    cut = _CUT.search(body)
    if cut is not None:
        facts["truncated"] = int(cut[1]) * (CHARACTERS_PER_TOKEN if cut[2] == "tokens" else 1)
    return out.CommandOutcome(output=body, **facts)


def _printed(outcome: out.CommandOutcome) -> str:
    """Both streams in one, as the client shows them."""
    output = outcome.output if outcome.output is not None else (outcome.stdout or "") + (outcome.stderr or "")
    if not outcome.timed_out:
        return output
    after = "" if outcome.duration_ms is None else f" after {outcome.duration_ms} milliseconds"
    return f"command timed out{after}\n{output}"


def _written(code_line: str) -> Callable[[out.CommandOutcome, op.Operation], str]:
    """A few lines of facts, then the output."""

    def write(outcome: out.CommandOutcome, _asked: op.Operation) -> str:
        lines = [] if outcome.duration_ms is None else [f"Wall time: {outcome.duration_ms / 1000:.4f} seconds"]
        code = TIMED_OUT if outcome.timed_out else outcome.exit_code
        if code is not None:
            lines.append(f"{code_line} {code}")
        if outcome.running:
            lines.append(f"Process running with session ID {outcome.job}" if outcome.job else "Process running")
        if outcome.signal is not None:
            lines.append(f"Process ended by signal {outcome.signal}")
        if outcome.truncated:
            lines.append(f"Characters cut: {outcome.truncated}")
        return "\n".join((*lines, "Output:", _printed(outcome)))

    return write


def _written_in_json(outcome: out.CommandOutcome, _asked: op.Operation) -> str:
    """The first form: JSON with the output and the exit code."""
    metadata = _Metadata(
        TIMED_OUT if outcome.timed_out else outcome.exit_code,
        None if outcome.duration_ms is None else outcome.duration_ms / 1000,
        outcome.signal,
        outcome.running or None,
        outcome.job,
        outcome.truncated or None,
    )
    return json_text(_Told(_printed(outcome), metadata))


def _command_read(_asked: op.Operation, native: NativeResult) -> out.Outcome:
    text = text_of(native.content)
    report = _report(text)
    return _unreported(text, native) if report is None else _command_outcome(report)


def _commands(write: Callable[[out.CommandOutcome, op.Operation], str]) -> Results:
    return one_of(
        by_hand(
            out.CommandOutcome,
            write,
            says=("exit_code", "signal", "running", "timed_out", "truncated"),
            nearly={
                "output": "a line that says how much was cut is read as that",
                "job": "only a command that runs has one",
                "duration_ms": "it is said in seconds with four digits",
            },
        ),
        from_native=_command_read,
    )


COMMANDS, SHELL_COMMANDS = _commands(_written("Process exited with code")), _commands(_written("Exit code:"))
COMMANDS_IN_JSON = _commands(_written_in_json)
"""By hand: the client's own facts stand in any order and number above the output (0.44 to 0.166), and its log may know
more."""


PATCHING = EditRules(
    patch=PatchRules(
        insert="end",
        returns="text",
        ends_file=True,
        byte_order_mark="text",
        no_change="accept",
        moves_over=True,
    ),
    whole_file=AS_GIVEN,
    encoding="utf_8",
)
"""Seen with 0.162.0 and 0.166.0, run as `apply_patch`. The client writes one file after the other, so a patch that
fails leaves the files before; here it changes nothing."""
PATCHING_IN_LF = replace(
    PATCHING,
    patch=replace(
        PATCHING.patch,
        line_ends="lf",
        keeps_context=False,
        at_end="anywhere",
        blank_end=True,
    ),
)
"""Seen with 0.140.0, 0.142.5 and 0.161.0: what a hunk shows is written as the hunk has it, with LF. 0.162.0 is the
first that keeps line ends by default; 0.151.0 to 0.161.0 do so with CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS=1."""
FIRST_PATCHING = replace(PATCHING_IN_LF, patch=replace(PATCHING_IN_LF.patch, anchors="as_written"))
"""Seen with 0.58.0, 0.128.0 and 0.139.0."""
PATCHING_UNTIL = {"0.139.0": FIRST_PATCHING, "0.161.0": PATCHING_IN_LF}


class OrPatched:
    """A command that is a patch in a heredoc means several operations, and one list is the result of all of them."""

    results: ClassVar[Results | None] = COMMANDS
    edit_rules: ClassVar[EditRules | None] = PATCHING
    edit_rules_until: ClassVar[Mapping[str, EditRules]] = PATCHING_UNTIL

    def from_outcomes(
        self, operations: tuple[op.Operation, ...], outcomes: tuple[out.Outcome, ...]
    ) -> tuple[Content, bool | None]:
        if len(outcomes) == 1 and isinstance(outcomes[0], out.CommandOutcome) and self.results is not None:
            written = self.results.write(operations[0], outcomes[0])
            if written is not None:
                return written, None
        return _tell_changes(operations, outcomes), None

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        if any(isinstance(operation, op.Writing) for operation in operations):
            return _changes(operations, native)
        return (_command_read(operations[0], native),) * len(operations)


def _unreported(text: str, native: NativeResult) -> out.Outcome:
    """A command's result without facts: the log's own record of the command may know more."""
    recorded = _recorded_command(native.item)
    if recorded is not None:
        return recorded
    if "timed out" in text and text.startswith("failed in sandbox"):
        return out.CommandOutcome(timed_out=True)
    return out.CommandOutcome(output=text)


# ── what a patch changed ─────────────────────────────────────────────────────

_LETTERS: Mapping[type[op.Operation], str] = {op.WriteFile: "A", op.DeleteFile: "D"}
_KINDS: Mapping[str, out.ChangeKind] = {"A": "created", "M": "modified", "D": "deleted", "U": "unchanged"}


def _tell_changes(operations: Sequence[op.Operation], outcomes: Sequence[out.Outcome]) -> Content:
    failure = next((outcome for outcome in outcomes if isinstance(outcome, out.Failure)), None)
    if failure is not None:
        return FAILURES.words("apply_patch", failure)
    changes = [one for outcome in outcomes if isinstance(outcome, out.ChangesOutcome) for one in outcome.changes]
    if len(changes) != len(operations) or len(outcomes) != len(operations):
        return tell_all(operations, outcomes)
    # Added, changed and deleted files in this order, whatever the order of the patch; one that is replaced counts as
    # added, one whose lines are all kept as changed (0.166.0).
    named = [
        f"{_LETTERS.get(type(one), 'M')} {one.to if isinstance(one, op.MoveFile) else getattr(one, 'path', '')}"
        for one, after in zip_longest(operations, operations[1:])
        if not (isinstance(one, op.EditFile) and isinstance(after, op.MoveFile) and after.path == one.path)
    ]
    listed = sorted(named, key=lambda line: "AMD".index(line[0]))
    return "".join(f"{line}\n" for line in ("Exit code: 0", "Output:", SUCCESS, *listed))


def _changes(operations: Sequence[op.Operation], native: NativeResult) -> tuple[out.Outcome, ...]:
    """One outcome per operation of a patch, by the list of files its result names."""
    text = text_of(native.content)
    report = _report(text)
    while report is not None and (inner := _report(report.body)) is not None:
        report = inner  # the result of a patch in a heredoc is inside that of a command (0.20 to 0.142.5)
    body = text if report is None else report.body
    if not body.startswith(f"{SUCCESS}\n"):
        code = None if report is None else report.facts.get("exit_code")
        if code not in (None, 0):
            return (out.Failure("failed", body, {"exit_code": code}),) * len(operations)
        return tuple(understand(operation, native) for operation in operations)
    lines = body[len(SUCCESS) + 1 :].splitlines()
    listed = [(_KINDS.get(line[:1]), line[2:]) for line in lines if line[1:2] == " "]
    return changes_listed(operations, listed, lambda path: _lines_of(path, native.item))


def _lines_of(path: str, item: Any) -> tuple[int | None, int | None]:
    return next((count for name, count in _counted(item).items() if same_path(name, path)), (None, None))


def _counted(item: Any) -> dict[str, tuple[int, int]]:
    """Lines added and removed per file, where the log's own record of the patch is at hand."""
    is_patch = isinstance(item, dict) and item.get("type") in ("FileChange", "patch_apply_end")
    changes = item.get("changes") if is_patch else None
    found: dict[str, tuple[int, int]] = {}
    for path, change in changes.items() if isinstance(changes, dict) else ():
        match change:
            case {"type": "add", "content": str(content)}:
                found[path] = (content.count("\n"), 0)
            case {"type": "delete", "content": str(content)}:
                found[path] = (0, content.count("\n"))
            case {"type": "update", "unified_diff": str(diff)}:
                lines = diff.split("\n")
                found[path] = (sum(line[:1] == "+" for line in lines), sum(line[:1] == "-" for line in lines))
    return found


class PatchResults:
    """Results of patches: the files that were added (A), modified (M) and deleted (D), one list for all operations."""

    def from_outcomes(
        self, operations: tuple[op.Operation, ...], outcomes: tuple[out.Outcome, ...]
    ) -> tuple[Content, bool | None]:
        return _tell_changes(operations, outcomes), None

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        return _changes(operations, native)


# ── pictures, agents, resources ──────────────────────────────────────────────

PLAN_HEARD = one_of(words(out.PlanOutcome, "Plan updated", items=CALLED, explanation=CALLED))
"""A plan that was said is the plan as it stands, so "Plan updated" is enough (0.20 to 0.151)."""

_ATTACHED = "attached local image path"
IMAGE_SHOWN = one_of(formerly=(words(out.DoneOutcome, _ATTACHED, note=_ATTACHED),))
"""A picture comes back as it is; Codex 0.44.0 to 0.101.0 (rollout logs) only say that it is in the conversation now."""

_STATUSES: Mapping[str, Any] = {
    "pending_init": "running",
    "running": "running",
    "interrupted": "interrupted",
    "completed": "completed",
    "errored": "failed",
    "shutdown": "cancelled",
    "not_found": "unknown",
}
_STATUS_WORDS = {ours: native for native, ours in _STATUSES.items() if native != "pending_init"}


def agent_report(id: str | None, status: Any, **known: Any) -> out.AgentReport:
    """`"running"`, or `{"completed": "what it said"}`."""
    if isinstance(status, dict) and len(status) == 1:
        ((word, text),) = status.items()
        said = text if isinstance(text, str) else None
        return out.AgentReport(id, _STATUSES.get(word, "unknown"), said, **known)
    return out.AgentReport(id, _STATUSES.get(str(status), "unknown"), **known)


def status_of(report: out.AgentReport) -> Any:
    word = _STATUS_WORDS.get(report.status, "running")
    return {word: report.text} if report.text is not None or word == "completed" else word


def agents_in_json(
    to: Callable[[Any, Any], Any], back: Callable[[Any, Any], Any], *lost: str, record: Any = Any
) -> Results:
    """What agents did, as JSON; each tool has its own keys for it. `lost`: what is not said of an agent."""
    nearly = {"agents": f"of an agent {', '.join(lost)} are not said"}
    return one_of(in_json(out.AgentsOutcome, record, to=to, back=back, nearly=nearly))


def one_agent(key: str) -> Results:
    """How one agent is doing, or was when it was stopped, under one key."""

    def back(_asked: op.Operation, outcome: out.AgentsOutcome) -> Any:
        return {key: status_of(outcome.agents[0])} if len(outcome.agents) == 1 else None

    def to(asked: op.Operation, said: Any) -> out.AgentsOutcome | None:
        if not isinstance(said, dict) or key not in said:
            return None
        return out.AgentsOutcome((agent_report(str(getattr(asked, "agent", "")), said[key]),))

    return agents_in_json(to, back, "its name", "its type", "its task")


def _listed(asked: op.Operation, outcome: out.ResourcesOutcome) -> dict[str, Any]:
    templates = isinstance(asked, op.ListMcpResources) and asked.templates
    uri = "uriTemplate" if templates else "uri"
    rows = [
        resource_row(one, "server", uri, "name", "description", "mimeType", "text", "blob") for one in outcome.resources
    ]
    reading = isinstance(asked, op.ReadMcpResource)
    named = {"contents" if reading else "resourceTemplates" if templates else "resources": rows}
    return named if outcome.cursor is None else {**named, "nextCursor": outcome.cursor}


RESOURCES = one_of(
    in_json(
        out.ResourcesOutcome,
        Any,
        to=lambda _asked, said: resources_in(said) if isinstance(said, dict) else None,
        back=_listed,
        says=("resources", "cursor"),
    )
)
"""Resources, as the JSON the server gave."""

# ── programs ─────────────────────────────────────────────────────────────────

CELL = "cell:"
"""A yielded program and a session are both waited for and are numbered apart (0.166.0), so a program's job says what it
is."""

_SCRIPT = re.compile(
    r"Script (?P<state>completed|failed|terminated|running)(?: with cell ID (?P<cell>\S+))?\n"
    r"(?:Wall time:? (?P<seconds>\d+(?:\.\d+)?) seconds\n)?Output:\n?"
)
_SCRIPT_ERROR = "Script error:\n"


class Script(NamedTuple):
    """How it stands with a program, and what it has shown."""

    state: str
    cell: str | None
    duration_ms: int | None
    shown: tuple[str | out.Media, ...]

    @property
    def text(self) -> str:
        return "".join(piece for piece in self.shown if isinstance(piece, str))


def _script(content: Content) -> Script | None:
    pieces = (content,) if isinstance(content, str) else content
    found = _SCRIPT.match(pieces[0]) if pieces and isinstance(pieces[0], str) else None
    if found is None or not isinstance(pieces[0], str):
        return None
    seconds = None if found["seconds"] is None else round(float(found["seconds"]) * 1000)
    rest = pieces[0][found.end() :]
    return Script(found["state"], found["cell"], seconds, (*((rest,) if rest else ()), *pieces[1:]))


class ProgramResults:
    """A line that says how it stands with the program, then what it has shown."""

    def from_outcomes(
        self, operations: tuple[op.Operation, ...], outcomes: tuple[out.Outcome, ...]
    ) -> tuple[Content, bool | None]:
        running = next((one for one in outcomes if isinstance(one, out.CommandOutcome) and one.running), None)
        failed = any(isinstance(outcome, out.Failure) for outcome in outcomes)
        job = None if running is None else running.job
        state = "failed" if failed else "completed"
        if job is not None and job.startswith(CELL):
            state = f"running with cell ID {job.removeprefix(CELL)}"
        shown: list[str | out.Media] = []
        for operation, outcome in zip(operations, outcomes, strict=False):
            told = _shown(operation, outcome)
            shown += (told,) if isinstance(told, str) else told
        return (f"Script {state}\nOutput:\n", *shown), None

    def to_outcomes(self, operations: tuple[op.Operation, ...], native: NativeResult) -> tuple[out.Outcome, ...]:
        script = _script(native.content)
        recorded = _recorded(operations, native.item)
        if script is None:
            unread = tuple(understand(operation, native) for operation in operations)
            return tuple(known or other for known, other in zip(recorded, unread, strict=True))
        told = _by_operation(operations, script)
        return tuple(known or other for known, other in zip(recorded, told, strict=True))


def _shown(operation: op.Operation, outcome: out.Outcome) -> Content:
    """What a program shows of one outcome."""
    match outcome:
        case out.CommandOutcome(running=True, job=str(job)) if job.startswith(CELL):
            return _printed(outcome)
        case out.CommandOutcome() if isinstance(operation, op.RunCode):
            return _printed(outcome)
        case out.CommandOutcome():
            return _result_object(outcome)
        case out.Failure():
            return f"{_SCRIPT_ERROR}{FAILURES.words('exec', outcome)}"
        case out.ChangesOutcome():
            return _tell_changes((operation,), (outcome,))
    return tell(operation, outcome)


def _result_object(outcome: out.CommandOutcome) -> str:
    """A command's result as a program gets it."""
    facts = {
        "wall_time_seconds": None if outcome.duration_ms is None else outcome.duration_ms / 1000,
        "exit_code": TIMED_OUT if outcome.timed_out else outcome.exit_code,
        "session_id": _session(outcome),
        "output": _printed(outcome),
    }
    return json_text({name: value for name, value in facts.items() if value is not None})


def _session(outcome: out.CommandOutcome) -> int | str | None:
    if not outcome.running or outcome.job is None:
        return None
    return int(outcome.job) if outcome.job.isdecimal() else outcome.job


def _result_in(piece: str | out.Media) -> out.CommandOutcome | None:
    if not isinstance(piece, str) or not piece.startswith("{"):
        return None
    try:
        told = read_json(piece)
    except msgspec.DecodeError:
        return None
    match told:
        case {"output": str(output), "exit_code": int(code), **rest} if as_integer(code) is not None:
            return _command_outcome(Report({"exit_code": code, **_duration(rest)}, output))
        case {"output": str(output), "session_id": int() | str() as session, **rest}:
            return _command_outcome(Report({"running": True, "job": str(session), **_duration(rest)}, output))
    return None


def _duration(told: Mapping[Any, Any]) -> dict[str, int]:
    seconds = as_number(told.get("wall_time_seconds"))
    return {} if seconds is None else {"duration_ms": round(seconds * 1000)}


def _by_operation(operations: tuple[op.Operation, ...], script: Script) -> tuple[out.Outcome, ...]:
    """What a program's result says of each call in it: what it shows need not be what they gave."""
    if script.state == "running":
        if len(operations) == 1:
            job = f"{CELL}{script.cell}"
            running = out.CommandOutcome(output=script.text, running=True, job=job, duration_ms=script.duration_ms)
            return (running,)
        return (out.UnknownOutcome(f"the program is still running as cell {script.cell}"),) * len(operations)
    if script.state == "terminated" and all(isinstance(operation, op.StopCommand) for operation in operations):
        return tuple(_seen(operation, script) for operation in operations)
    if script.state in ("failed", "terminated"):
        message = script.text.removeprefix(_SCRIPT_ERROR) or f"the program was {script.state}"
        failure = FAILURES.of(message) or out.Failure("failed" if script.state == "failed" else "cancelled", message)
        if len(operations) == 1:
            return (failure,)
        return (out.UnknownOutcome(f"the program {script.state}: {message}"),) * len(operations)
    results = [result for piece in script.shown if (result := _result_in(piece)) is not None]
    commands = [
        operation for operation in operations if isinstance(operation, op.RunCommand | op.ReadOutput | op.TypeInto)
    ]
    told = iter(results) if len(results) == len(commands) else iter(())
    return tuple(
        (next(told, None) if operation in commands else None) or _seen(operation, script) for operation in operations
    )


def _seen(operation: op.Operation, script: Script) -> out.Outcome:
    if isinstance(operation, op.ReadOutput | op.StopCommand):
        return out.CommandOutcome(output=script.text, duration_ms=script.duration_ms)
    if isinstance(operation, op.Writing) and SUCCESS in script.text:
        listing = script.text[script.text.index(SUCCESS) :]
        return _changes((operation,), NativeResult("", listing))[0]
    if any(isinstance(piece, out.Media) for piece in script.shown):
        return understand(operation, NativeResult("", script.shown))
    return out.TextOutcome(script.text)


# ── what the log itself records ──────────────────────────────────────────────


def _recorded(operations: tuple[op.Operation, ...], items: Any) -> tuple[out.Outcome | None, ...]:
    """What a log's records of the calls inside a program say of each operation, found by what they did."""
    records = [item for item in (items if isinstance(items, list) else [items]) if isinstance(item, dict)]
    found: list[out.Outcome | None] = []
    for operation in operations:
        index = next((index for index, item in enumerate(records) if _records(item, operation)), None)
        if index is None:
            found.append(None)
        elif isinstance(operation, op.Writing):
            found.append(_recorded_change(operation, records[index]))  # one record serves all files of a patch
        elif isinstance(operation, op.CallMcpTool):
            found.append(_recorded_mcp(records.pop(index)))
        else:
            found.append(_recorded_command(records.pop(index)))
    return tuple(found)


def _records(item: Mapping[str, Any], operation: op.Operation) -> bool:
    match operation, item:
        case op.RunCommand(command), {"type": "CommandExecution", "command": list(arguments)}:
            return bool(arguments) and arguments[-1] == command
        case op.CallMcpTool(server, tool), {"type": "McpToolCall", "server": named, "tool": called}:
            return (named, called) == (server, tool)
        case op.Writing(), {"type": "FileChange", "changes": dict(changes)}:
            return any(same_path(path, str(getattr(operation, "path", ""))) for path in changes)
    return False


def _recorded_command(item: Any) -> out.CommandOutcome | None:
    match item:
        case {"type": "CommandExecution" | "exec_command_end", "aggregated_output": str(output), **rest}:
            code, milliseconds = rest.get("exit_code"), None
            match rest.get("duration"):
                case {"secs": int(seconds), "nanos": int(nanoseconds)} if nanoseconds < 10**9:
                    milliseconds = as_integer(seconds * 1000 + round(nanoseconds / 1_000_000))
            return out.CommandOutcome(exit_code=as_integer(code), output=output, duration_ms=milliseconds)
    return None


def _recorded_change(operation: op.Operation, item: Mapping[str, Any]) -> out.Outcome:
    path = str(getattr(operation, "path", ""))
    if isinstance(operation, op.MoveFile):
        return out.ChangesOutcome((out.Change(path, "moved", moved_to=operation.to),))
    change = next(change for name, change in item["changes"].items() if same_path(name, path))
    kinds: Mapping[Any, Any] = {"add": "created", "delete": "deleted"}
    kind = kinds.get(change.get("type") if isinstance(change, dict) else None, "modified")
    added, removed = _lines_of(path, item)
    return out.ChangesOutcome((out.Change(path, kind, added=added, removed=removed),))


def _recorded_mcp(item: Mapping[str, Any]) -> out.Outcome | None:
    match item.get("result"):
        case {"Err": str(problem)}:  # of an event; no session shows it
            return FAILURES.of(problem) or out.Failure("failed", problem)
        case {"content": list(blocks), **rest} | {"Ok": {"content": list(blocks), **rest}}:
            content = _blocks(blocks)
            if rest.get("isError") is True:
                return out.Failure("failed", text_of(content))
            return _content_outcome(content, rest.get("structuredContent"))
    return None


def _blocks(blocks: Sequence[Any]) -> tuple[str | out.Media, ...]:
    """The content of an MCP server's answer."""
    found: list[str | out.Media] = []
    for block in blocks:
        match block:
            case {"type": "text", "text": str(text)}:
                found.append(text)
            case {"type": "image" | "audio", "data": str(data), "mimeType": str(media_type)}:
                found.append(out.Media(media_type, data))
            case _:
                found.append(json_text(block))
    return tuple(found)


def _content_outcome(content: tuple[str | out.Media, ...], structured: Any = None) -> out.Outcome:
    if len(content) == 1 and isinstance(content[0], str) and structured is None:
        return out.TextOutcome(content[0])
    return out.ContentOutcome(content, structured)


def json_object(native: NativeResult) -> Any:
    """The JSON a result is, or `None` when it is none."""
    text = text_of(native.content)
    if text[:1] not in ("{", "["):
        return None
    try:
        return read_json(text)
    except msgspec.DecodeError:
        return None


# ── results of calls that are no tool of the client's ────────────────────────


class ServerResults:
    """Results of MCP servers: the time it took, then what the server gave."""

    def tell(self, operations: Sequence[op.Operation], outcomes: Sequence[out.Outcome]) -> Content:
        """The outcomes, as a server's answer is shown."""
        return tell_all(operations, outcomes)

    def understand(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        """What a server gave; its answer in the log's own record says more than what is shown."""
        if not isinstance(operation, op.CallMcpTool):
            return understand(operation, native)
        recorded = _recorded_mcp(native.item) if isinstance(native.item, dict) else None
        if recorded is not None:
            return recorded
        if isinstance(native.content, str):
            blocks = json_object(native) if native.content.startswith('[{"') else None
            if isinstance(blocks, list):
                return _content_outcome(_blocks(blocks))
            report = _report(native.content)
            return understand(operation, native) if report is None else out.TextOutcome(report.body)
        first = native.content[0] if native.content else None
        headed = isinstance(first, str) and (report := _report(first)) is not None and not report.body
        return _content_outcome(native.content[1:] if headed else native.content)


# ── failures ─────────────────────────────────────────────────────────────────


class CodexFailures:
    """What went wrong, as plain text: nothing on the wire flags it."""

    _MARKS: ClassVar[tuple[tuple[out.FailureKind, str], ...]] = (
        ("unknown_tool", r"unsupported (?:custom tool )?call: "),
        ("invalid_arguments", r"failed to parse function arguments: "),
        ("invalid_arguments", r"(?=(?:unknown variant|missing field|invalid type|unknown field)[ :])"),
        ("invalid_arguments", r"apply_patch verification failed: (?=invalid (?:hunk|patch))"),
        ("invalid_arguments", r"(?=patch rejected: empty patch)"),
        ("cancelled", r"(?:Wall time: [\d.]+ seconds\n)?(?=(?:command )?aborted by user)"),
        ("cancelled", r"(?=user cancelled MCP tool call)"),
        ("denied", r"(?=patch rejected)"),
        ("denied", r"(?=approval policy is \w+; reject)"),
        ("denied", r"(?=(?:exec command |user )?rejected)"),
        ("denied", r"(?=request_user_input is unavailable)"),
        ("denied", r"\w+ failed[^\n:]*: (?=.*rejected by user)"),
        ("timed_out", r"(?=tool call timed out)"),
        ("failed", r"apply_patch verification failed: "),
        ("failed", r"(?:exec_command|write_stdin|exec|apply_patch) failed[^\n:]*: "),
        ("failed", r"failed in sandbox \w+ with execution error: (?!.*timed out)"),
        ("failed", r"(?=unable to (?:locate|read|process) image)"),
        ("failed", r"(?=unknown MCP server )"),
        ("failed", r"(?=invalid agent id |agent with id |live agent path )"),
        ("failed", r"tool call (?:error|failed): "),
        ("failed", r"error: (?=Failed to |ComputeReplacements)"),
    )
    _READ: ClassVar[tuple[tuple[out.FailureKind, re.Pattern[str]], ...]] = tuple(
        (kind, re.compile(mark, re.DOTALL)) for kind, mark in _MARKS
    )
    _ANY: ClassVar[re.Pattern[str]] = re.compile("|".join(mark for _, mark in _MARKS), re.DOTALL)
    _WORDS: ClassVar[Mapping[str, str]] = {
        "unknown_tool": "unsupported call: ",
        "invalid_arguments": "failed to parse function arguments: ",
        "denied": "rejected: ",
        "cancelled": "aborted by user: ",
        "timed_out": "tool call timed out: ",
    }

    def of(self, text: str) -> out.Failure | None:
        """The failure a text tells of."""
        for kind, mark in self._READ if self._ANY.match(text) else ():
            found = mark.match(text)
            if found is not None:
                return out.Failure(kind, text if kind == "unknown_tool" else text[found.end() :])
        return None

    def words(self, tool: str, failure: out.Failure) -> str:
        """A failure in these words; a message that already says it so stays as it is."""
        known = self.of(failure.message)
        if known is not None and known.kind == failure.kind:
            return failure.message
        shown = "apply_patch" if tool == "apply_patch" else "exec"
        return self._WORDS.get(failure.kind, f"{shown} failed: ") + failure.message

    def tell(self, call: Call, failure: out.Failure) -> tuple[Content, bool | None]:
        """The text alone."""
        return self.words(call.native.name, failure), None

    def understand(self, call: Call, native: NativeResult) -> out.Failure | None:
        """A failure by its words."""
        return self.of(text_of(native.content))


FAILURES = CodexFailures()
