"""The document on tool plugins: tools in a registry, eight built in, and tools an agent's file brings along.

Every interface, built-in, default and example of it, in its order. `docs/origin.md` lists its requirements.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman import Context, DefinitionError, NativeCall, ProviderTool, Tool, ToolError, ToolPolicy, Toolset, tool
from dragoman.agents import Activation, Agent, AgentLimits, Kernel, builtin_toolset, parse_agent, read_agent
from dragoman.agents.template import render
from dragoman.config import load
from dragoman.dialects import DIALECTS
from dragoman.engine import Approval, Executor, Facade, HttpEngine, Orchestrator, ScriptedEngine
from dragoman.engine.grounded_search import GroundedSearch
from dragoman.engine.models import engine_for
from dragoman.engine.transport import Transport
from dragoman.model import (
    Call,
    Failure,
    FunctionDefinition,
    JsonOutcome,
    Page,
    TextOutcome,
    ToolReturned,
    UserSaid,
    operations as op,
)
from dragoman.registry import TOOLS
from dragoman.tools import MemoryWorkspace, Web
from tests.agents.playing import Cast, agent, calls, custom, says, shape, told
from tests.engine.loopback import Raw, Turn, loopback
from tests.origin.command import run_command

BUILTINS = (
    *("vfs_read", "vfs_write", "vfs_list", "vfs_delete"),
    *("spawn_agent", "signal_parent", "web_fetch", "web_search"),
)
SUMMARIZE = """---
name: research-agent
tools:
  - name: summarize
    description: Summarize a document into key points
    model: {model}
    parameters:
      text:
        type: string
        description: The text to summarize
    result_schema:
      type: object
      properties:
        bullets:
          type: array
          items: {{ type: string }}
    prompt: "Return JSON {{bullets:[...]}}. Summarize:\\n\\n{{{{text}}}}"
---
"""


class Found:
    """A search backend that always finds the same."""

    asked: int | None = None

    async def search(self, query: str, *, limit: int, **_: Any) -> list[Page]:
        self.asked = limit
        return [Page(f"https://a.example/{number}", "Tea", snippet="A drink.") for number in range(limit)]


async def heard(*made: tuple[str, dict[str, Any]], files: Any = None, **more: Any) -> list[str]:
    """What an agent with the built-ins is told when it makes these calls, one after the other."""
    ended, _ = await ran(*made, files=files, **more)
    return told(ended)


async def ran(*made: tuple[str, dict[str, Any]], files: Any = None, **more: Any) -> tuple[Activation, MemoryWorkspace]:
    cast = Cast(boss=[*(calls(one) for one in made), says("Done.")])
    workspace = files if isinstance(files, MemoryWorkspace) else MemoryWorkspace(files or {})
    kernel = Kernel([agent("boss")], engines=cast, workspace=workspace, tools=builtin_toolset(), **more)
    ended = await kernel.run("boss", "Go")
    assert ended.status == "completed", ended.error
    return ended, workspace


async def outcomes(cast: Cast, boss: Agent, **more: Any) -> list[Any]:
    """What the calls of an agent gave."""
    events: list[Any] = []
    await Kernel([boss], engines=cast, emit=events.append, **more).run(boss.name, "Go")
    return [one.result.outcomes[0] for one in events if isinstance(one, ToolReturned) and one.stream == "main"]


def read(workspace: MemoryWorkspace, path: str) -> str:
    with workspace.open(path) as file:
        return file.read().decode()


# ── the goal ─────────────────────────────────────────────────────────────────


def test_s3_1_tools_are_in_a_registry_and_a_file_adds_one(tmp_path: Path) -> None:
    plugins = tmp_path / "config" / "plugins"
    plugins.mkdir(parents=True)
    (plugins / "shout.py").write_text(
        "from dragoman import tool\n\n\n@tool(kind='read')\ndef shout(text: str) -> str:\n"
        '    """Say it louder."""\n    return text.upper()\n\n\nTOOLS = {"shout": shout}\n'
    )
    done = run_command(tmp_path, "tool", "shout", "text=hello")
    assert (done.returncode, done.stdout.strip()) == (0, "HELLO")
    assert "read_file" in TOOLS


async def test_s3_2_a_call_is_looked_up_in_the_registry_and_an_unknown_one_is_answered() -> None:
    executor = Executor(Toolset([tool(shout)]), ToolPolicy(), Context())
    made = [call_of("shout", text="tea"), call_of("whisper", text="tea")]
    found, missing = await executor.run(made)
    assert found.outcomes == (TextOutcome("TEA"),)
    assert [one.kind for one in missing.outcomes if isinstance(one, Failure)] == ["unknown_tool"]


def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


def call_of(name: str, **arguments: Any) -> Call:
    return Call(name, (op.CallFunction(name, arguments),), NativeCall(name, name, arguments))


async def test_s3_3_in_python_everything_in_the_toolset_is_allowed_unless_a_rule_says_otherwise() -> None:
    assert ToolPolicy().default == "allow"
    _, workspace = await ran(("vfs_write", {"path": "a.md", "content": "tea\n"}))
    assert read(workspace, "a.md") == "tea\n"
    denied, _ = await ran(
        ("vfs_write", {"path": "a.md", "content": "tea\n"}),
        policy=ToolPolicy(approval=(Approval("deny", kind="write"),)),
    )
    assert "denied" in told(denied)[0]


def test_s3_3_on_the_command_line_the_default_is_to_ask(tmp_path: Path) -> None:
    shown = run_command(tmp_path, "config", "show", "policy.approval", "--json")
    assert (shown.returncode, '"ask"' in shown.stdout) == (0, True)


async def test_s3_4_gemini_searches_with_the_engine_and_key_that_is_there() -> None:
    searched = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "A drink."}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    }
    script = (
        Turn(calls=(("1", "google_web_search", {"query": "tea"}),)),
        Raw(body=json.dumps(searched).encode()),
        Turn(text="Done."),
    )
    async with loopback(*script) as server:
        transport = Transport(server.url, headers={"x-goog-api-key": "of-nobody"})
        kernel = Kernel(
            [agent("boss", model="gemini-2.5-pro")],
            engines=lambda name: (HttpEngine("gemini_generate", transport, provider="gemini"), name),
            workspace=MemoryWorkspace(),
            tools=builtin_toolset(),
        )
        ended = await kernel.run("boss", "Go")
    assert (ended.status, ended.text) == ("completed", "Done.")
    assert [one.body["tools"] for one in server.requests][1] == [{"googleSearch": {}}]
    assert {one.headers["x-goog-api-key"] for one in server.requests} == {"of-nobody"}


# ── a plugin ─────────────────────────────────────────────────────────────────


def test_s3_5_a_plugin_has_a_name_a_description_parameters_and_a_handler() -> None:
    parameters = {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "The text."}},
        "required": ["text"],
    }
    made = Tool("shout", "Say it louder.", parameters, lambda arguments: arguments["text"].upper())
    assert (made.name, made.description, made.parameters) == ("shout", "Say it louder.", parameters)
    assert made.call_sync({"text": "tea"}) == "TEA"


@pytest.mark.parametrize("type", ["string", "number", "boolean", "object"])
def test_s3_6_a_parameter_has_one_of_four_types_a_description_and_may_be_left_out(type: str) -> None:
    made = parse_agent(
        "---\ndescription: d\ntools:\n  - name: t\n    description: d\n    prompt: '{{needed}} {{more}}'\n"
        f"    parameters:\n      needed: {{ type: {type}, description: What. }}\n"
        f"      more: {{ type: {type}, description: More., required: false }}\n---\nHi.\n",
        path="a.md",
    )
    (one,) = made.custom_tools
    assert one.parameters["properties"]["needed"] == {"type": type, "description": "What."}
    assert one.parameters["required"] == ["needed"]


async def test_s3_7_a_handler_is_async_and_gets_the_arguments_and_a_context() -> None:
    @tool
    async def count(path: str, context: Context) -> str:
        """Count the letters of a file."""
        with context.workspace.open(path) as file:
            return f"{len(file.read())} in {context.call_id}"

    assert list(count.parameters["properties"]) == ["path"]
    executor = Executor(Toolset([count]), ToolPolicy(), Context(workspace=MemoryWorkspace({"a.md": "tea"})))
    (result,) = await executor.run([call_of("count", path="a.md")])
    assert result.outcomes == (TextOutcome("3 in count"),)


async def test_s3_8_a_context_knows_its_agent_its_parent_depth_and_limits() -> None:
    seen: list[Any] = []

    @tool
    def look(context: Context) -> str:
        """Look around."""
        seen.append(context.agent)
        return "seen"

    spawn = ("spawn_agent", {"agent": "kid", "prompt": "Look.", "background": False})
    cast = Cast(boss=[calls(("look", {})), calls(spawn), says("Done.")], kid=[calls(("look", {})), says("Looked.")])
    agents = [agent("boss", limits=AgentLimits(max_depth=2, max_fanout=3)), agent("kid")]
    ended = await Kernel(agents, engines=cast, workspace=MemoryWorkspace(), tools=[look]).run("boss", "Go")
    boss, kid = seen
    assert (boss.name, boss.depth, boss.parent, boss.left.depth, boss.left.fanout) == ("boss", 0, None, 2, 3)
    assert (kid.name, kid.depth, kid.parent, kid.left.depth) == ("kid", 1, boss.id, 1)
    assert (boss.id, [child.id for child in ended.children]) == (ended.id, [kid.id])


async def test_s3_8_a_context_starts_agents_under_the_limits_and_adds_events() -> None:
    @tool
    async def ask(context: Context) -> str:
        """Ask another agent."""
        report = await context.spawn("How are you?", agent="kid")
        context.emit("asked", {"status": report.status})
        return str(report.text)

    events: list[Any] = []
    for most, expected in ((1, "Fine."), (0, "fan")):
        cast = Cast(boss=[calls(("ask", {})), says("Done.")], kid=[says("Fine.")])
        agents = [agent("boss", limits=AgentLimits(max_fanout=most)), agent("kid")]
        ended = await Kernel(agents, engines=cast, tools=[ask], emit=events.append).run("boss", "Go")
        assert expected in told(ended)[0]
        assert len(ended.children) == most
    assert [event.data for event in events if getattr(event, "name", None) == "tool.asked"] == [{"status": "completed"}]


# ── the registry ─────────────────────────────────────────────────────────────


def test_s3_9_the_registry_registers_unregisters_gets_one_and_all() -> None:
    registry = Toolset()
    registry.register(shout)
    assert [one.name for one in registry.list()] == ["shout"]
    assert registry.get("shout").name == "shout"
    registry.unregister("shout")
    assert registry.list() == ()
    with pytest.raises(ToolError):
        registry.get("shout")


@pytest.mark.parametrize("dialect", ["plain", "gemini_cli"])
def test_s3_10_the_registry_becomes_the_definitions_a_provider_expects(dialect: str) -> None:
    definitions = Facade(DIALECTS[dialect], Toolset([shout])).definitions
    assert definitions == (tool(shout).definition,)
    assert isinstance(definitions[0], FunctionDefinition)


async def test_s3_11_eight_are_built_in_and_an_agents_own_are_added_for_it_alone() -> None:
    cast = Cast(
        boss=[calls(("spawn_agent", {"prompt": "x", "background": False})), says("Hm."), says("Done.")],
    )
    boss = agent("boss", custom_tools=(custom("summarize"),))
    web = lambda: Web(search=Found())  # noqa: E731 - a search that nobody can do is not offered
    kernel = Kernel([boss], engines=cast, workspace=MemoryWorkspace(), tools=builtin_toolset(), web=web)
    await kernel.run("boss", "Go")
    root, child = cast.offered("boss")[:2]
    assert {*BUILTINS} - {"signal_parent"} | {"summarize"} <= root
    assert {*BUILTINS} <= child
    assert "summarize" not in child


# ── the eight ────────────────────────────────────────────────────────────────


async def test_s3_12_vfs_read_reads_a_file_of_the_workspace() -> None:
    (text,) = await heard(("vfs_read", {"path": "notes/tea.md"}), files={"notes/tea.md": "green\nblack\n"})
    assert ("green" in text, "black" in text) == (True, True)


async def test_s3_13_vfs_write_writes_and_updates_a_file_of_the_workspace() -> None:
    _, workspace = await ran(
        ("vfs_write", {"path": "new/a.md", "content": "one\n"}), ("vfs_write", {"path": "new/a.md", "content": "two\n"})
    )
    assert read(workspace, "new/a.md") == "two\n"


FILES = {"memos/a.md": "tea\n", "memos/b.md": "cup\n", "src/plan.md": "plan\n"}


@pytest.mark.parametrize(
    "prefix, listed",
    [
        ("me", {"memos/a.md", "memos/b.md"}),
        ("memos/", {"memos/a.md", "memos/b.md"}),
        ("src/p", {"src/plan.md"}),
        (None, {*FILES}),
    ],
)
async def test_s3_14_vfs_list_lists_files_by_prefix_with_whole_paths(prefix: str | None, listed: set[str]) -> None:
    (text,) = await heard(("vfs_list", {} if prefix is None else {"prefix": prefix}), files=FILES)
    assert {path for path in FILES if path in text} == listed
    assert "directory" not in text


@pytest.mark.parametrize(
    "name, said",
    [
        ("vfs_write", {"path": "a.md", "content": "x\n"}),
        ("vfs_delete", {"path": "memos/a.md"}),
        ("vfs_read", {"path": "memos/a.md"}),
    ],
)
async def test_s3_14_results_in_plain_words_are_no_json_and_number_no_line_that_is_not_there(
    name: str, said: dict[str, Any]
) -> None:
    (text,) = await heard((name, said), files=FILES)
    assert not text.startswith(("{", "["))
    assert name != "vfs_read" or text.rstrip("\n").splitlines() == ["1\ttea"]


async def test_s3_15_vfs_delete_deletes_a_file_of_the_workspace() -> None:
    _, workspace = await ran(("vfs_delete", {"path": "a.md"}), files={"a.md": "tea\n", "b.md": "tea\n"})
    assert (workspace.entry("a.md"), workspace.entry("b.md") is None) == (None, False)


async def test_s3_16_spawn_agent_makes_a_child_and_starts_it() -> None:
    spawn = ("spawn_agent", {"name": "digger", "system_prompt": "You dig.", "prompt": "Dig.", "background": False})
    cast = Cast(boss=[calls(spawn), says("Found a bone."), says("We have a bone.")])
    ended = await Kernel([agent("boss")], engines=cast, workspace=MemoryWorkspace()).run("boss", "Go")
    assert shape(ended) == ("boss", "completed", [("digger", "completed", [])])
    assert "Found a bone." in told(ended)[0]


async def test_s3_17_signal_parent_sends_a_message_to_the_parent() -> None:
    spawn = ("spawn_agent", {"name": "digger", "system_prompt": "You dig.", "prompt": "Dig.", "background": False})
    cast = Cast(
        boss=[calls(spawn), calls(("signal_parent", {"message": "a bone!"})), says("Dug."), says("We have a bone.")]
    )
    events: list[Any] = []
    kernel = Kernel([agent("boss")], engines=cast, workspace=MemoryWorkspace(), emit=events.append)
    await kernel.run("boss", "Go")
    assert [one.text for one in events if isinstance(one, UserSaid) and "a bone!" in one.text and one.stream == "main"]


async def fetched(body: str, **arguments: Any) -> str:
    async with loopback(Raw(body=body.encode(), content_type="text/html")) as server:
        (text,) = await heard(("web_fetch", {"url": server.url, **arguments}), web=lambda: Web(allow_private=True))
    return text


async def test_s3_18_web_fetch_takes_a_url_and_a_length_of_50000_unless_it_says_otherwise() -> None:
    parameters = {
        one.name: one.parameters
        for one in Facade(DIALECTS["plain"], Toolset([TOOLS["fetch_page"]])).definitions
        if isinstance(one, FunctionDefinition)
    }["web_fetch"]
    assert (parameters["required"], parameters["properties"]["url"]["type"]) == (["url"], "string")
    assert "50000" in parameters["properties"]["maxLength"]["description"]
    long = "<p>" + "x" * 60_000 + "</p>"
    assert (await fetched(long)).count("x") in range(49_900, 50_010)
    assert (await fetched(long, maxLength=100)).count("x") in range(90, 110)


async def test_s3_19_html_is_stripped_of_its_tags_and_cut_to_the_length() -> None:
    text = await fetched("<html><script>no()</script><p>green <b>tea</b></p></html>")
    assert "green **tea**" in text or "green tea" in text
    assert "<p>" not in text
    assert "no()" not in text
    assert "tea" not in await fetched("<p>green tea</p>", maxLength=5)


async def test_s3_20_a_page_that_allows_no_other_origin_is_fetched_all_the_same() -> None:
    assert "green tea" in await fetched("<p>green tea</p>")


async def test_s3_21_web_search_takes_a_query_and_finds_five_unless_it_says_otherwise() -> None:
    backend = Found()
    (text,) = await heard(("web_search", {"query": "tea"}), web=lambda: Web(search=backend))
    assert (backend.asked, len(json.loads(text))) == (5, 5)
    (text,) = await heard(("web_search", {"query": "tea", "maxResults": 2}), web=lambda: Web(search=backend))
    assert (backend.asked, len(json.loads(text))) == (2, 2)


def grounded(model: str = "gemini-2.5-pro") -> dict[str, Any]:
    """A reply of Gemini that is grounded in two pages, of which one supports what it says."""
    return {
        "candidates": [
            {
                "content": {"role": "model", "parts": [{"text": "Tea is a drink."}]},
                "finishReason": "STOP",
                "groundingMetadata": {
                    "groundingChunks": [{"web": {"uri": "https://a.example/tea", "title": "a.example"}}],
                    "groundingSupports": [
                        {
                            "segment": {"startIndex": 0, "endIndex": 15, "text": "Tea is a drink."},
                            "groundingChunkIndices": [0],
                        }
                    ],
                    "webSearchQueries": ["tea"],
                },
            }
        ],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        "modelVersion": model,
    }


async def test_s3_22_web_search_returns_title_url_and_snippet_of_each_page() -> None:
    (text,) = await heard(("web_search", {"query": "tea", "maxResults": 1}), web=lambda: Web(search=Found()))
    assert json.loads(text) == [{"title": "Tea", "url": "https://a.example/0", "snippet": "A drink."}]


async def test_s3_22_a_grounded_search_gives_the_passage_each_page_supports() -> None:
    async with loopback(Raw(body=json.dumps(grounded()).encode())) as server:
        engine = HttpEngine("gemini_generate", Transport(server.url), provider="gemini")
        search = GroundedSearch(engine, "gemini-2.5-pro", ProviderTool("google.google_search"))
        found = await search.search("tea", allowed_domains=(), blocked_domains=(), limit=5)
        await engine.close()
    assert [(page.title, page.url, page.snippet) for page in found.pages] == [
        ("a.example", "https://a.example/tea", "Tea is a drink.")
    ]
    assert found.answer == "Tea is a drink."


async def test_s3_23_a_separate_gemini_client_searches_for_any_other_model(tmp_path: Path) -> None:
    searched = Raw(body=json.dumps(grounded()).encode())
    script = (Turn(calls=(("1", "web_search", {"query": "tea"}),)), Turn(text="Done."))
    async with loopback(searched) as gemini, loopback(*script) as local:
        flags = {
            "search.backend": "gemini",
            "providers.gemini.base_url": gemini.url,
            "providers.gemini.api_key": "of-nobody",
            "providers.ollama.base_url": local.url,
        }
        configuration = load(flags=flags, cwd=tmp_path, environ={"HOME": str(tmp_path)})
        run = Orchestrator(
            "ollama:llama-4", [TOOLS["search_web"]], workspace=MemoryWorkspace(), configuration=configuration
        )
        result = await run.run("Search for tea.")
        await run.close()
    assert (result.status, result.text) == ("completed", "Done.")
    assert [one.body["tools"] for one in gemini.requests] == [[{"googleSearch": {}}]]
    told_to_the_model = json.dumps(local.requests[1].body)
    assert ("https://a.example/tea" in told_to_the_model, "Tea is a drink." in told_to_the_model) == (True, True)


# ── tools in an agent's file ─────────────────────────────────────────────────


def test_s3_24_an_agent_defines_tools_in_its_frontmatter(tmp_path: Path) -> None:
    (tmp_path / "research-agent.md").write_text(SUMMARIZE.format(model="gemini:gemini-2.0-flash-lite"))
    made = read_agent(tmp_path / "research-agent.md")
    (one,) = made.custom_tools
    assert (made.name, one.name, one.model) == ("research-agent", "summarize", "gemini:gemini-2.0-flash-lite")
    assert one.description == "Summarize a document into key points"
    assert one.parameters["properties"] == {"text": {"type": "string", "description": "The text to summarize"}}
    assert one.result_schema == {
        "type": "object",
        "properties": {"bullets": {"type": "array", "items": {"type": "string"}}},
    }
    assert one.prompt == "Return JSON {bullets:[...]}. Summarize:\n\n{{text}}"


BARE = SUMMARIZE.format(model="gemini-2.0-flash-lite          # Optional model override")


def test_s3_25_the_documents_own_agent_file_is_checked_and_its_bare_model_is_known(tmp_path: Path) -> None:
    (tmp_path / "research-agent.md").write_text(BARE)
    done = run_command(tmp_path, "agents", "check", "research-agent.md")
    assert done.returncode == 0, done.stdout
    assert "provider:model" not in done.stdout
    engine, model = engine_for("gemini-2.0-flash-lite", configuration=None, api_key="of-nobody")
    assert (engine.name, model) == ("gemini_generate", "gemini-2.0-flash-lite")


async def test_s3_25_a_call_of_its_tool_asks_that_model_and_is_held_to_its_schema() -> None:
    made = parse_agent(BARE, path="research-agent.md")
    async with loopback(Turn(text='{"bullets": ["a drink"]}')) as server:

        def engines(model: str) -> tuple[Any, str]:
            if model == "boss":
                return ScriptedEngine([calls(("summarize", {"text": "Tea is a drink."})), says("Done.")]), model
            return engine_for(model, configuration=None, api_key="of-nobody", base_url=server.url)

        ended = await Kernel([made], engines=engines, model="boss").run("research-agent", "Go")
    assert (ended.status, [json.loads(one) for one in told(ended)]) == ("completed", [{"bullets": ["a drink"]}])
    assert "gemini-2.0-flash-lite" in server.requests[0].path


def test_s3_25_a_tool_that_can_never_run_fails_the_check(tmp_path: Path) -> None:
    (tmp_path / "research-agent.md").write_text(SUMMARIZE.format(model="no-such-family-1"))
    done = run_command(tmp_path, "agents", "check", "research-agent.md")
    assert (done.returncode, "no-such-family-1" in done.stdout) == (1, True)


async def test_s3_26_each_of_them_becomes_a_tool_of_the_agent() -> None:
    cast = Cast(boss=[says("Done.")])
    boss = agent("boss", custom_tools=(custom("summarize"), custom("translate")))
    await Kernel([boss], engines=cast).run("boss", "Go")
    assert {"summarize", "translate"} <= cast.offered("boss")[0]


def summing(**facts: Any) -> Any:
    return custom("summarize", model="kid", prompt="Summarize:\n\n{{text}}", **facts)


async def test_s3_27_the_arguments_stand_in_the_prompt_in_place_of_their_names() -> None:
    cast = Cast(boss=[calls(("summarize", {"text": "All about tea."})), says("Done.")], kid=[says("Tea.")])
    await outcomes(cast, agent("boss", custom_tools=(summing(),)))
    assert cast.asked("kid")[0].conversation[-1].text == "Summarize:\n\nAll about tea."


async def test_s3_28_a_call_starts_a_child_agent_with_the_tools_own_model() -> None:
    cast = Cast(boss=[calls(("summarize", {"text": "tea"})), says("Done.")], kid=[says("Tea.")])
    ended = await Kernel([agent("boss", custom_tools=(summing(),))], engines=cast).run("boss", "Go")
    assert [(child.status, child.depth) for child in ended.children] == [("completed", 1)]
    assert cast.asked("kid")[0].model == "kid"


async def test_s3_29_the_child_is_waited_for_and_its_output_collected() -> None:
    boss = [
        calls(("summarize", {"text": "tea"})),
        lambda request: f"It said: {request.conversation[-1].parts[0].result.content}",
    ]
    ended = await Kernel(
        [agent("boss", custom_tools=(summing(),))], engines=Cast(boss=boss, kid=[says("Tea is a drink.")])
    ).run("boss", "Go")
    assert "Tea is a drink." in ended.text


BULLETS = {
    "type": "object",
    "properties": {"bullets": {"type": "array", "items": {"type": "string"}}},
    "required": ["bullets"],
}


async def test_s3_30_an_answer_is_held_to_the_result_schema() -> None:
    good, bad = says('{"bullets": ["tea"]}'), says('{"bullets": "tea"}')
    once = [calls(("summarize", {"text": "tea"})), says("Done.")]
    boss = agent("boss", custom_tools=(summing(result_schema=BULLETS),))
    assert await outcomes(Cast(boss=once, kid=[bad, good]), boss) == [JsonOutcome({"bullets": ["tea"]})]
    (failure,) = await outcomes(Cast(boss=once, kid=[bad, bad, bad]), boss)
    assert isinstance(failure, Failure)


async def test_s3_31_without_a_schema_the_text_of_the_child_is_the_result() -> None:
    cast = Cast(boss=[calls(("summarize", {"text": "tea"})), says("Done.")], kid=[says("Tea is a drink.")])
    assert await outcomes(cast, agent("boss", custom_tools=(summing(),))) == [TextOutcome("Tea is a drink.")]


@pytest.mark.parametrize("limits", [AgentLimits(max_depth=0), AgentLimits(max_fanout=0)])
async def test_s3_32_they_count_toward_the_limits_on_depth_and_fan_out(limits: AgentLimits) -> None:
    cast = Cast(boss=[calls(("summarize", {"text": "tea"})), says("Done.")])
    (failure,) = await outcomes(cast, agent("boss", custom_tools=(summing(),), limits=limits))
    assert isinstance(failure, Failure)
    assert "summarize" not in cast.offered("boss")[0]


@pytest.mark.parametrize(
    "template, filled",
    [
        ("{{name}}", "tea"),
        ("{{name}} and {{name}}", "tea and tea"),
        ("{{missing}} stays", "{{missing}} stays"),
        ("{{#if name}}no logic{{/if}}", "{{#if name}}no logic{{/if}}"),
        ("{{> partial}}", "{{> partial}}"),
        ("{name}", "{name}"),
        ("{{count}}", "3"),
    ],
)
def test_s3_33_a_template_has_places_and_nothing_else(template: str, filled: str) -> None:
    assert render(template, {"name": "tea", "count": 3}) == filled


# ── how it fits together ─────────────────────────────────────────────────────


async def test_s3_34_the_kernel_gives_each_agent_the_built_ins_and_its_own_tools() -> None:
    cast = Cast(one=[says("Done.")], other=[says("Done.")])
    agents = [agent("one", custom_tools=(custom("summarize"),)), agent("other", custom_tools=(custom("translate"),))]
    for name in ("one", "other"):
        kernel = Kernel(agents, engines=cast, workspace=MemoryWorkspace(), tools=builtin_toolset())
        await kernel.run(name, "Go")
    assert [{"summarize", "translate"} & cast.offered(name)[0] for name in ("one", "other")] == [
        {"summarize"},
        {"translate"},
    ]
    assert {"vfs_read", "web_fetch"} <= cast.offered("one")[0]


@pytest.mark.parametrize(
    "written, problem",
    [
        ("{ description: d, prompt: p }", "name"),
        ("{ name: t, prompt: p }", "description"),
        ("{ name: t, description: d }", "prompt"),
        ("{ name: t, description: d, prompt: p, parameters: { a: { type: strin } } }", "strin"),
        ("{ name: t, description: d, prompt: p, result_schema: { type: 3 } }", "result_schema"),
        ("{ name: read_file, description: d, prompt: p }", "read_file"),
    ],
)
def test_s3_35_definitions_of_custom_tools_are_validated(written: str, problem: str) -> None:
    with pytest.raises(DefinitionError, match=problem):
        parse_agent(f"---\ndescription: d\ntools:\n  - {written}\n---\nHi.\n", path="a.md")


async def test_s3_36_an_agent_with_custom_tools_runs_end_to_end(tmp_path: Path) -> None:
    (tmp_path / "research-agent.md").write_text(SUMMARIZE.format(model="kid"))
    made = read_agent(tmp_path / "research-agent.md")
    cast = Cast(
        boss=[
            calls(("vfs_read", {"path": "tea.md"})),
            calls(("summarize", {"text": "Tea is a drink. It is hot."})),
            says("A drink, hot."),
        ],
        kid=[says('{"bullets": ["a drink", "hot"]}')],
    )
    files = MemoryWorkspace({"tea.md": "Tea is a drink. It is hot.\n"})
    kernel = Kernel([made], engines=cast, model="boss", workspace=files, tools=builtin_toolset())
    ended = await kernel.run("research-agent", "Sum up tea.md.")
    assert (ended.status, ended.text) == ("completed", "A drink, hot.")
    assert json.loads(told(ended)[1]) == {"bullets": ["a drink", "hot"]}
    prompt = "Return JSON {bullets:[...]}. Summarize:\n\nTea is a drink. It is hot."
    assert cast.asked("kid")[0].conversation[-1].text.startswith(prompt)


async def test_s3_37_agents_have_permissions_of_their_own() -> None:
    rules = "tools: [read_file]\npolicy: { default: deny, allow: [read] }"
    boss = parse_agent(f"---\nname: boss\nmodel: boss\ndescription: d\n{rules}\n---\nHi.\n", path="boss.md")
    cast = Cast(boss=[calls(("vfs_write", {"path": "a.md", "content": "x"})), says("Done.")])
    files = MemoryWorkspace()
    ended = await Kernel([boss], engines=cast, workspace=files, tools=builtin_toolset()).run("boss", "Go")
    assert (ended.status, files.entry("a.md")) == ("completed", None)
    assert "vfs_write" not in cast.offered("boss")[0]
