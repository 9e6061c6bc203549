"""One real client on a scripted model of another maker, started by `dragoman gateway`, and what came of its task.

A cell runs in a sandbox of its own, as those of `cell.py` do. The model answers in the words of its own family, and
refuses every request with a name or a parameter that is not of its vocabulary (`strict`).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from dragoman.apis import APIS
from dragoman.dialects import DIALECTS
from dragoman.model import (
    CallPart,
    Conversation,
    Failure,
    Media,
    MediaPart,
    NativeCall,
    NativeResult,
    ResultPart,
    ToolChoice,
)
from dragoman.serve.gateway import CLIENTS as POINTED
from tests.engine.loopback import Raw, Turn

from .cell import misfits
from .driven import CLIENTS
from .install import ripgrep
from .sandbox import programs_of, run_inside
from .server import MARK, Script, offers_tools, page_served, served
from .strict import Vocabulary, offered_names, refused
from .task import ANSWER, DONE, FILES, HELPER, MODELS, PARTS, WORD, Model, Step

ROOT = Path(__file__).parents[2]
KEY = "sk-upstream-key"
_SECONDS = 120
_PATIENCE = 60
"""How often the model waits half a second for its sub-agent; on a busy machine Codex 0.166.0 took more than four."""
_PEER = (sys.executable, str(ROOT / "tests" / "agents" / "mcp_peer.py"))
_MCP = {"toy": {"command": _PEER[0], "args": [_PEER[1]]}}
_TRUSTED = {"mcpServers": {"toy": {**_MCP["toy"], "trust": True}}}


@dataclass(frozen=True)
class Started:
    """How a client is started by the gateway, and which parts of the task it has."""

    named: str
    """Its name for the gateway."""
    options: Sequence[str]
    """What lets it work without asking; `{}` is the prompt."""
    files: Mapping[str, Any] = field(default_factory=dict)
    """Settings below its home: an MCP server, and what it would ask about at the first start."""
    agent: tuple[str, dict[str, Any], str] | None = None
    """Its own tool for sub-agents, which a model without a word for it is offered, and a kind of agent that it has."""
    page: tuple[str, dict[str, Any]] | None = None
    """The same for pages."""
    echo: tuple[str, dict[str, Any]] = ("*echo", {"text": "naïve ✓"})
    """How its MCP tool is called."""
    search: str | None = None
    """Its tool that finds MCP tools and the tool for sub-agents, where it does not offer them at once."""
    ends: str | None = None
    """What it says of a command that ended with 3; `None` where the model's own words must be there."""
    lacks: Mapping[str, str] = field(default_factory=dict)
    """The parts of the task that it cannot do here, and why."""
    kept: Mapping[str, str] = field(default_factory=dict)
    """Its tools for which a vocabulary has no word, by vocabulary; under the empty name those that only it has."""


def _agent(name: str, kind: str, key: str = "subagent_type") -> tuple[str, dict[str, Any], str]:
    return name, {"description": "Count beans", "prompt": f"Count the beans. {HELPER}", key: kind}, kind


_CODEX_MCP = ("-c", f'mcp_servers.toy.command="{_PEER[0]}"', "-c", f'mcp_servers.toy.args=["{_PEER[1]}"]')
STARTED = {
    "claude_code": Started(
        "claude",
        (
            *("-p", "{}", "--dangerously-skip-permissions", "--mcp-config", json.dumps({"mcpServers": _MCP})),
            *("--settings", '{"skipWebFetchPreflight": true}'),
        ),
        agent=_agent("Agent", "general-purpose"),
        page=("WebFetch", {"url": "{url}", "prompt": "Which word?"}),
        kept={
            "": "CronCreate CronDelete CronList EnterWorktree ExitWorktree ReportFindings ScheduleWakeup",
            "gemini-cli": "ListAgents Monitor NotebookEdit SendMessage TaskStop Workflow",
            "codex": "Monitor NotebookEdit Skill TaskStop WebFetch WebSearch Workflow",
            "qwen-code": "ListMcpResourcesTool ReadMcpResourceDirTool WebSearch Workflow",
        },
    ),
    "codex": Started(
        "codex",
        (
            *("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-m", "gpt-5.5"),
            *(*_CODEX_MCP, "{}"),
        ),
        agent=("*spawn_agent", {"message": f"Count the beans. {HELPER}"}, "default"),
        lacks={"web page": "OpenAI's own tool"},
        kept={"": r"create_goal get_goal update_goal tool_search multi_agent_v1__\w+", "gemini-cli": "ask_user"},
        search="tool_search",
    ),
    "gemini_cli": Started(
        "gemini",
        ("-p", "{}", "-m", "gemini-2.5-pro", "--yolo", "--skip-trust"),
        {".gemini/settings.json": _TRUSTED},
        agent=("invoke_agent", {"agent_name": "generalist", "prompt": f"Count the beans. {HELPER}"}, "generalist"),
        lacks={"web page": "it fetches nothing from this machine"},
        kept={
            "": "enter_plan_mode list_background_processes update_topic complete_task",
            "claude-code": "read_background_output",
            "codex": "activate_skill google_web_search web_fetch write_todos",
        },
    ),
    "opencode": Started(
        "opencode",
        ("run", "{}"),
        {".config/opencode/opencode.json": {"mcp": {"toy": {"type": "local", "command": _PEER, "enabled": True}}}},
        agent=_agent("task", "general"),
        page=("webfetch", {"url": "{url}", "format": "text"}),
        kept={"gemini-cli": "todowrite", "codex": "skill todowrite webfetch"},
        ends="naïve",  # opencode 1.18 never tells a model how a command ended
    ),
    "qwen_code": Started(
        "qwen",
        ("-p", "{}", "--yolo"),
        {".qwen/settings.json": _TRUSTED},
        agent=_agent("agent", "general-purpose"),
        page=("tool_call", {"name": "web_fetch", "arguments": {"url": "{url}", "prompt": "Which word?"}}),
        kept={
            "": r"tool_call get_goal update_goal loop_wakeup report_findings record_artifact cron_\w+ \w+_worktree",
            "codex": "notebook_edit skill monitor web_fetch zoom_image",
            "gemini-cli": "list_agents monitor notebook_edit send_message task_stop tool_search zoom_image",
            "claude-code": "zoom_image",
        },
        echo=("tool_call", {"name": "mcp__toy__echo", "arguments": {"text": "naïve ✓"}}),
    ),
    "copilot": Started(
        "copilot",
        (
            *("-p", "{}", "--no-auto-update", "--allow-all"),
            *(
                "--additional-mcp-config",
                json.dumps({"mcpServers": {"toy": {**_MCP["toy"], "type": "local", "tools": ["*"]}}}),
            ),
        ),
        agent=(
            "task",
            {
                "name": "beans",
                "description": "Count beans",
                "prompt": f"Count the beans. {HELPER}",
                "agent_type": "general-purpose",
            },
            "general-purpose",
        ),
        lacks={
            "image": "it sends no pictures to a provider of the user's own",
            "web page": "it fetches nothing without a network",
        },
        kept={
            "": r"fetch_copilot_cli_documentation sql session_store_sql toy-\w+",
            "gemini-cli": "stop_bash read_agent list_agents write_agent tool_search_tool",
            "codex": "list_bash skill",
        },
    ),
    "continue": Started(
        "continue",
        ("-p", "{}", "--auto"),
        lacks={
            "image": "its tool for files reads text only",
            "sub-agent": "Continue has none by default",
            "MCP": "its servers are in the configuration that is replaced",
            "web page": "not tried",
        },
        kept={"": "Checklist Exit", "gemini-cli": "ask_user", "codex": "Fetch Skills"},
        ends="naïve",  # Continue 1.5.47 gives the output of a failed command and not its exit code
    ),
    "cline": Started(
        "cline",
        ("--json", "--auto-approve", "true", "{}"),
        {".cline/data/settings/cline_mcp_settings.json": {"mcpServers": {"toy": {**_MCP["toy"], "disabled": False}}}},
        agent=("spawn_agent", {"systemPrompt": "You count.", "task": f"Count the beans. {HELPER}"}, "default"),
        page=("fetch_web_content", {"requests": [{"url": "{url}", "prompt": "Which word?"}]}),
        kept={"": r"team_\w+", "gemini-cli": "ask_user", "codex": "fetch_web_content"},
    ),
    "pi": Started("pi", ("-p", "{}"), lacks=dict.fromkeys(("sub-agent", "MCP", "web page"), "pi has none")),
}


PAIRS = (
    ("claude_code", "gemini_generate"),
    ("claude_code", "openai_responses"),
    ("claude_code", "openai_chat"),
    ("codex", "anthropic_messages"),
    ("codex", "gemini_generate"),
    ("gemini_cli", "anthropic_messages"),
    ("gemini_cli", "openai_responses"),
    ("opencode", "gemini_generate"),
    ("opencode", "openai_responses"),
    ("opencode", "anthropic_messages"),
    ("qwen_code", "anthropic_messages"),
    ("qwen_code", "openai_responses"),
    ("qwen_code", "gemini_generate"),
    ("copilot", "gemini_generate"),
    ("copilot", "openai_responses"),
    ("continue", "gemini_generate"),
    ("continue", "openai_responses"),
    ("cline", "gemini_generate"),
    ("cline", "openai_responses"),
    ("pi", "gemini_generate"),
    ("pi", "openai_responses"),
)
"""Clients, and the APIs of the models that they are tried on."""


class Seen(msgspec.Struct):
    """What a cell showed."""

    parts: list[str] = []
    """The parts of the task that were done."""
    files: dict[str, bytes] = {}
    problems: list[str] = []


def tried(client: str, api: str, shared: Path, folder: Path) -> Seen:
    """Runs a cell in its sandbox; `folder` is where it may write."""
    folder.mkdir(parents=True)
    words = (client, api, shared, folder, *programs_of(client), ripgrep())
    seen = run_inside("tests.clients.behind_gateway", *words, folder=folder, seconds=_SECONDS * 2, type=Seen)
    return seen if isinstance(seen, Seen) else Seen(problems=[seen])


class Played(Script):
    """The model: it does the steps of the task, waits for its sub-agent, and refuses foreign words."""

    def __init__(self, steps: Sequence[Step], model: Model, vocabulary: Vocabulary) -> None:
        super().__init__([])
        self.steps, self.model, self.vocabulary = list(steps), model, vocabulary
        self.made: list[tuple[Step, list[str]]] = []
        """The steps that were taken, with the names of their calls."""
        self.offered: set[str] = set()
        self.refusals: list[str] = []
        self.missing: list[str] = []
        self._waited = 0

    def answer(self, api: str, body: dict[str, Any]) -> Turn | Raw:
        with self._lock:
            self.api = api
            if found := [*self.vocabulary.refusals(api, body)]:
                self.refusals += found
                return Raw(400, refused(api, "; ".join(found)))
            text = json.dumps(body, ensure_ascii=False)
            if MARK not in text:
                return (
                    self._helper(api, body) if HELPER in text else Turn(f"It says {WORD}." if WORD in text else "Beans")
                )
            if not offers_tools(body):
                return Turn("A title")
            self.taken.append(body)
            self.offered |= offered_names(api, body)
            return self._next(text)

    def _helper(self, api: str, body: dict[str, Any]) -> Turn:
        """The sub-agent answers; Gemini CLI's do so by a call."""
        ends = [name for name in offered_names(api, body) if name.endswith("complete_task")]
        return Turn(calls=(("done", ends[0], {"result": {"response": ANSWER}}),)) if ends else Turn(ANSWER)

    def _next(self, text: str) -> Turn:
        if self.made and self.made[-1][0].part == "sub-agent" and ANSWER not in text and self._waited < _PATIENCE:
            self._waited += 1
            name, arguments = self.model.wait
            return Turn(calls=((f"wait_{self._waited}", name, _filled(arguments, number=str(self._waited))),))
        while self.steps:
            step = self.steps.pop(0)
            calls = []
            wanted = list(step.calls)
            if step.otherwise is not None and self._named(wanted[0][0]) is None:
                wanted = [step.otherwise]
            for name, arguments in wanted:
                found = self._named(name)
                if found is None:
                    self.missing.append(f"{step.part}: {name} is not offered")
                    break
                calls.append((f"id_{len(self.made)}_{len(calls)}", found, arguments))
            else:
                self.made.append((step, [name for _, name, _ in calls]))
                return Turn(f"Now: {step.part}.", calls=tuple(calls))
        return Turn("All done.")

    def _named(self, name: str) -> str | None:
        fits = [one for one in self.offered if one == name or (name[0] == "*" and one.endswith(name[1:]))]
        return min(fits, key=len) if fits else None


def expected(client: str) -> Seen:
    """What a cell shows when all is well."""
    return Seen([part for part in PARTS if part not in STARTED[client].lacks], DONE)


def steps_of(client: str, api: str, url: str) -> list[Step]:
    """The task as this model does it with this client."""
    started, model = STARTED[client], MODELS[api]
    steps = [
        replace(step, holds=[started.ends]) if step.part == "command" and started.ends is not None else step
        for step in model.steps
    ]
    if started.agent is not None:
        own = _filled(started.agent[1], agent=started.agent[2])
        name, arguments = model.agent or (started.agent[0], own)
        filled = _filled(arguments, agent=started.agent[2])
        steps += _found(started, "sub-agent", "spawn a sub-agent", "agent")
        steps.append(Step("sub-agent", [(name, filled)], otherwise=(started.agent[0], own)))
    steps += _found(started, "MCP", "echo", "echo")
    steps.append(Step("MCP", [started.echo], ["naïve ✓"]))
    if started.page is not None:
        mine = (started.page[0], _filled(started.page[1], url=url))
        theirs = mine if model.page is None else (model.page[0], _filled(model.page[1], url=url))
        steps.append(Step("web page", [theirs], [WORD], mine))
    return [step for step in steps if step.part not in started.lacks]


def _found(started: Started, part: str, query: str, holds: str) -> list[Step]:
    """The search for a tool that the client does not offer at once, in its words or in those of Claude Code."""
    if started.search is None:
        return []
    own = ("ToolSearch", {"query": query, "max_results": 10})
    return [Step(part, [(started.search, {"query": query})], [holds], own)]


def _filled(arguments: Mapping[str, Any], **values: str) -> dict[str, Any]:
    text = json.dumps(arguments)
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    filled: dict[str, Any] = json.loads(text)
    return filled


@dataclass(frozen=True)
class Home:
    """Where a client works, and the variables with which it and the gateway are started."""

    project: Path
    environment: dict[str, str]


def home_of(client: str, api: str, folder: Path, programs: Sequence[str], port: int) -> Home:
    """Makes a home for a client and for a gateway to the model at this port.

    The programs are the client, its Node where it needs one, and ripgrep.
    """
    home, bin = folder / "home", folder / "bin"
    project = home / "project"
    for made in (project, bin, folder / "tmp"):
        made.mkdir(parents=True)
    started, model, setup = STARTED[client], MODELS[api], CLIENTS[client].setup(port)
    program = POINTED[started.named].program
    for name, found in zip((program, "node", "rg"), programs, strict=True):
        if found:
            (bin / name).symlink_to(found)
    asks = client in ("gemini_cli", "qwen_code")  # they ask how to log in before they do anything else
    for name in {*started.files, *(setup.files if asks else ())}:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        content = {**(setup.files.get(name, {}) if asks else {}), **started.files.get(name, {})}
        (home / name).write_text(json.dumps(content))
    urls = {name: path for name, path in model.environment.items() if path or "URL" in name}
    environment = {
        "HOME": str(home),
        "PATH": f"{bin}{os.pathsep}{os.environ['PATH']}",
        "TMPDIR": str(folder / "tmp"),
        "SHELL": "/bin/bash",
        "TERM": "xterm",
        "LANG": "C.UTF-8",
        **{name: value for name, value in setup.environment.items() if "URL" not in name and value != "none"},
        **{name: f"http://127.0.0.1:{port}{path}" for name, path in urls.items()},
        **{name: KEY for name in model.environment if name.endswith("KEY")},
    }
    return Home(project, environment)


def words_of(client: str, prompt: str) -> list[str]:
    """The options of a client that does what a prompt says without asking."""
    return [prompt if one == "{}" else one for one in STARTED[client].options]


def _run(client: str, api: str, shared: Path, folder: Path, programs: Sequence[str]) -> Seen:
    """The inner side of a cell; the programs are the client, its Node where it needs one, and ripgrep."""
    started, model = STARTED[client], MODELS[api]
    kept = f"{started.kept.get('', '')} {started.kept.get(model.vocabulary, '')}".split()
    vocabulary = Vocabulary(model.vocabulary, shared, [re.compile(one) for one in (r"(mcp_+)?toy_+\w+", *kept)])
    script = Played([], model, vocabulary)
    with served(script) as port, page_served(folder) as (page, trusted):
        script.steps = steps_of(client, api, page)
        home = home_of(client, api, folder, programs, port)
        project = home.project
        for name, data in FILES.items():
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            (project / name).write_bytes(data)
        gateway = (Path(sys.executable).parent / "dragoman", "gateway", started.named, "--model", model.named)
        done = subprocess.run(
            [str(one) for one in (*gateway, "--watch", "--", *words_of(client, f"Do it. {MARK}"))],
            cwd=project,
            env={**home.environment, "NODE_EXTRA_CA_CERTS": str(trusted)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    said = (done.stderr + done.stdout).decode("utf-8", "replace")
    files = {str(file.relative_to(project)): file.read_bytes() for file in project.rglob("*.*") if file.is_file()}
    seen = Seen(files=files)
    if done.returncode or b"All done." not in done.stdout:
        seen.problems.append(f"it ended with {done.returncode}: {said[-3_000:]}")
    if KEY in said:
        seen.problems.append("the key of the provider was shown")
    seen.problems += [*dict.fromkeys(f"refused: {one}" for one in script.refusals), *script.missing]
    for body in script.taken:
        request = msgspec.structs.replace(APIS[api].read_request(body, model="m"), choice=ToolChoice())
        seen.problems += [one for one in misfits(request) if one not in seen.problems]
    if script.taken:
        conversation = APIS[api].read_request(script.taken[-1], model="m").conversation
        failed = [*_failed(script, model, conversation)]
        seen.problems += [f"{part}: {why}" for part, why in failed]
        wrong = {part for part, _ in failed}
        seen.parts = [part for part in dict.fromkeys(step.part for step, _ in script.made) if part not in wrong]
    return seen


def _failed(script: Played, model: Model, conversation: Conversation) -> Iterator[tuple[str, str]]:
    """The parts of the task whose calls have not the result that they must have, and why."""
    calls = [part.call for item in conversation for part in item.parts if isinstance(part, CallPart)]
    results = {
        part.result.call_id: part.result for item in conversation for part in item.parts if isinstance(part, ResultPart)
    }
    calls = [call for call in calls if "waiting for" not in json.dumps(call.arguments)]
    if [call.name for call in calls] != [name.rpartition(".")[2] for _, names in script.made for name in names]:
        yield "all", f"the history has the calls {[call.name for call in calls]}"
        return
    left = iter(calls)
    for step, names in script.made:
        for number, call in enumerate(islice(left, len(names))):
            result = results.get(call.id)
            if result is None:
                yield step.part, f"{call.name} has no result"
                continue
            text = _text(result)
            if number < len(step.holds) and step.holds[number] not in text:
                yield step.part, f"{call.name} was answered {text[:500]!r}"
            if step.fails != _is_failure(model, call, result) and step.part != "command":
                yield step.part, f"{call.name} was answered {text[:500]!r}"
            if step.part == "image" and not _has_image(conversation, result):
                yield step.part, f"no picture came: {text[:500]!r}"
            if step.part == "sub-agent" and ANSWER not in "\n".join(map(_text, results.values())) + _said(conversation):
                yield step.part, f"{call.name} was answered {text[:500]!r}, and its agent's answer never came"


def _is_failure(model: Model, call: NativeCall, result: NativeResult) -> bool:
    dialect = DIALECTS[model.dialect]
    return any(isinstance(one, Failure) for one in dialect.read_result(dialect.read_call(call), result).outcomes)


def _has_image(conversation: Conversation, result: NativeResult) -> bool:
    apart = any(isinstance(part, MediaPart) for item in conversation for part in item.parts)
    return apart or any(isinstance(one, Media) for one in result.content if not isinstance(result.content, str))


def _text(result: NativeResult) -> str:
    content = result.content
    return content if isinstance(content, str) else "\n".join(one for one in content if isinstance(one, str))


def _said(conversation: Conversation) -> str:
    return "\n".join(getattr(part, "text", "") for item in conversation for part in item.parts)


if __name__ == "__main__":
    wanted, asked, facts, place, *found_ = sys.argv[1:]
    outcome = _run(wanted, asked, Path(facts), Path(place), found_)
    sys.stdout.buffer.write(msgspec.json.encode(outcome) + b"\n")
