"""Agent files of our own: what they say, what is wrong with them and where, and that any text at all is answered."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from dragoman.agents import AGENT_FORMATS, Agent, AgentLimits, CustomTool, parse_agent, read_agent, remarks
from dragoman.engine import ToolPolicy
from dragoman.errors import DefinitionError
from tests.strategies import JSON


def page(frontmatter: str, body: str = "Do it.") -> str:
    return f"---\n{textwrap.dedent(frontmatter).strip()}\n---\n{body}\n"


def problems_of(text: str, **options: Any) -> tuple[str, ...]:
    with pytest.raises(DefinitionError) as raised:
        parse_agent(text, **{"path": "agents/one.md", **options})
    return raised.value.problems


# ── what a file says ─────────────────────────────────────────────────────────


def test_a_whole_file_is_read() -> None:
    text = page("""
        name: librarian
        description: Looks things up.
        model: anthropic:claude-sonnet-4-5
        dialect: claude_code
        tools: [read_file, "*_plan", vfs_write, Bash, github/*]
        limits: {max_depth: 2, max_turns: 4, timeout: 60}
        policy:
          default: ask
          deny: ["path:*.env"]
          max_parallel: 1
        mcp_servers:
          github: {command: github-mcp, args: [--read-only]}
        custom_tools:
          - name: summarise
            description: Say it shorter.
            model: openai:gpt-5.1-mini
            repairs: 1
            parameters:
              text: {type: string, description: What to shorten.}
              style: {type: string, enum: [dry, warm], default: dry}
              topics: {type: array, items: {type: string}, required: false}
            result_schema: {type: array, items: {type: string}}
            limits: {max_turns: 2}
            prompt: "Shorten {{text}} ({{style}}) about {{topics}}"
    """)
    assert parse_agent(text, path="agents/librarian.md") == Agent(
        name="librarian",
        description="Looks things up.",
        instructions="Do it.",
        model="anthropic:claude-sonnet-4-5",
        dialect="claude_code",
        tools=(
            "read_file",
            "update_plan",
            "read_plan",
            "write_file",
            "run_command",
            "github/*",
        ),
        policy={"default": "ask", "max_parallel": 1, "approval": [{"verdict": "deny", "path": "*.env"}]},
        limits=AgentLimits(max_depth=2, max_turns=4, timeout=60.0),
        custom_tools=(
            CustomTool(
                name="summarise",
                description="Say it shorter.",
                prompt="Shorten {{text}} ({{style}}) about {{topics}}",
                parameters={
                    "type": "object",
                    "properties": {
                        "text": {"type": "string", "description": "What to shorten."},
                        "style": {"type": "string", "enum": ["dry", "warm"], "default": "dry"},
                        "topics": {"type": "array", "items": {"type": "string"}},
                    },
                    "required": ["text"],
                    "additionalProperties": False,
                },
                model="openai:gpt-5.1-mini",
                result_schema={"type": "array", "items": {"type": "string"}},
                limits=AgentLimits(max_turns=2),
                repairs=1,
                line=15,
            ),
        ),
        mcp_servers={"github": {"command": "github-mcp", "args": ["--read-only"]}},
        path="agents/librarian.md",
    )


def test_tools_written_out_in_the_list_are_its_own_and_close_nothing() -> None:
    entry = "{name: t, description: d, prompt: p}"
    alone = parse_agent(page(f"tools: [{entry}]"), path="one.md")
    beside = parse_agent(page(f"tools: [read_file, {entry}]"), path="one.md")
    assert (alone.tools, beside.tools, parse_agent(page("tools: []"), path="one.md").tools) == (
        None,
        ("read_file",),
        (),
    )
    assert [tool.name for tool in (*alone.custom_tools, *beside.custom_tools)] == ["t", "t"]


def test_parameters_may_be_written_as_json_schema() -> None:
    agent = parse_agent(
        page("""
            custom_tools:
              - name: t
                description: d
                prompt: "{{a}}"
                parameters: {type: object, properties: {a: {type: integer}}, required: [a]}
        """),
        path="one.md",
    )
    assert agent.custom_tools[0].parameters == {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
    }


def test_a_parameter_is_required_unless_it_says_otherwise_or_has_a_default() -> None:
    agent = parse_agent(
        page("""
            custom_tools:
              - name: t
                description: d
                prompt: "{{a}} {{b}} {{c}} {{d}} {{e}}"
                parameters:
                  a: {type: string}
                  b: {type: string, default: x}
                  c: {type: string, required: false}
                  d: {type: string, required: true, default: x}
                  e: {type: object, properties: {f: {type: string}}, required: [f]}
        """),
        path="one.md",
    )
    assert agent.custom_tools[0].parameters == {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "string", "default": "x"},
            "c": {"type": "string"},
            "d": {"type": "string", "default": "x"},
            "e": {"type": "object", "properties": {"f": {"type": "string"}}, "required": ["f"]},
        },
        "required": ["a", "d", "e"],
        "additionalProperties": False,
    }


def test_a_file_of_nothing_but_text_is_named_after_itself() -> None:
    assert parse_agent("Be brief.\n", path="agents/brief.md") == Agent(
        name="brief", instructions="Be brief.", path="agents/brief.md"
    )


def test_a_file_is_read_from_disk_and_its_folder_says_whose_it_is(tmp_path: Path) -> None:
    ours = tmp_path / "agents" / "one.md"
    theirs = tmp_path / ".claude" / "agents" / "one.md"
    for path in (ours, theirs):
        path.parent.mkdir(parents=True)
        path.write_bytes("\ufeff---\r\nname: ä\r\ndescription: d\r\ntools: [Read]\r\n---\r\nhi\r\n".encode())
    assert read_agent(theirs) == Agent(
        name="ä", description="d", instructions="hi", tools=("read_file",), path=str(theirs), format="claude_code"
    )
    with pytest.raises(DefinitionError, match='line 4: tools\\[0\\]: there is no tool "Read"'):
        read_agent(ours)


def test_a_name_the_caller_brings_is_known() -> None:
    text = page("tools: [weather]")
    assert parse_agent(text, path="one.md", known=("weather",)).tools == ("weather",)
    assert problems_of(text) == ('line 2: tools[0]: there is no tool "weather".',)


# ── what is wrong ────────────────────────────────────────────────────────────


def test_everything_wrong_is_told_at_once_with_its_line() -> None:
    text = page("""
        nmae: x
        description: ""
        dialect: claud_code
        tools:
          - reed_file
          - 7
          - name: two words
            description: d
            prompt: p
            parameters:
              a: {type: strin, desc: x}
              b: {type: array, items: {type: no}, required: maybe}
            result_schema: {type: object, properties: {c: {type: nope}}}
            limits: {max_turns: 0, max_dept: 1}
            repairs: -1
          - prompt: p
        policy:
          allow: [exekute, "path:", {kind: execute, nonsense: a}]
          max_iterations: 0
          aproval: []
        limits: {timeout: -1}
        mcp_servers: {a: {}}
    """)
    assert problems_of(text) == (
        'line 2: nmae: there is no key "nmae" here; known: name, description, profile, project_instructions, model, '
        'dialect, tools, custom_tools, limits, policy, sandbox, mcp_servers. Did you mean "name"?',
        "line 3: description: is empty",
        'line 4: dialect: there is no dialect "claud_code". Did you mean "claude_code"?',
        'line 6: tools[0]: there is no tool "reed_file". Did you mean "read_file"?',
        "line 7: tools[1]: must be the name of a tool, or a table that says one, not 7",
        "line 8: tools[2].name: 'two words' is not a tool's name: a name is 1 to 128 letters, digits, `_`, `-` and `.`",
        'line 12: tools[2].parameters.a.desc: there is no key "desc" in a parameter. Did you mean "$defs"?',
        'line 12: tools[2].parameters.a.type: "strin" is not a JSON type. Did you mean "string"?',
        "line 13: tools[2].parameters.b.required: must be true or false, not 'maybe'",
        'line 13: tools[2].parameters.b.items.type: "no" is not a JSON type.',
        'line 14: tools[2].result_schema.properties.c.type: "nope" is not a JSON type.',
        "line 15: tools[2].limits.max_turns: max_turns must be 1 or more, not 0",
        'line 15: tools[2].limits.max_dept: there is no limit "max_dept"; known: max_depth, max_fanout, '
        'max_agents, max_concurrency, max_turns, max_tokens, timeout. Did you mean "max_depth"?',
        "line 16: tools[2].repairs: must be 0 or more, not -1",
        'line 17: tools[3]: the tool has no "name"',
        'line 17: tools[3]: the tool has no "description"',
        'line 19: policy.allow[0]: there is no tool "exekute". Did you mean "execute"?',
        "line 19: policy.allow[1]: `path:` needs a pattern after it",
        'line 19: policy.allow[2]: there is no condition "nonsense"; known: kind, operation, tool, path, command, '
        "domain, server, agent, shell, cwd, outside, login, background, terminal, unsandboxed, arguments.",
        "line 20: policy.max_iterations: max_iterations must be 1 or more, not 0",
        'line 21: policy.aproval: there is no key "aproval" in a policy. Did you mean "approval"?',
        "line 22: limits.timeout: timeout must be more than 0 seconds, not -1",
        'line 23: mcp_servers.a: needs a "command" to start, or a "url" to reach',
    )


@pytest.mark.parametrize(
    "text, problem",
    [
        ("---\nname: a\n", "line 1: the frontmatter that begins here has no end; close it with a line `---`"),
        ("---\nname: a\nname: b\n---\n", 'line 3: "name" is there twice'),
        ("---\nname:\n\t- a\n---\n", "line 3: not valid YAML: found character '\\t' that cannot start any token"),
        ("---\nname: &a x\nmodel: *a\n---\n", "line 3: aliases (`*name`) are not read; write it out"),
        ("---\nname: !!python/name:os.system x\n---\n", "line 2: the tag 'tag:yaml.org,2002:python/name:os.system'"),
        ("---\n- a\n---\n", "line 2: the frontmatter is no table of `key: value` lines"),
        ("---\n? [a]\n: b\n---\n", "line 2: a key must be a word"),
        ("---\ntools: 3\n---\n", "line 2: tools: must be a list of names and tools, not 3"),
        ("---\nmodel:\n---\n", "line 2: model: is empty; it must be text"),
        (
            "\n\n---\npolicy: {deny: ['*']}\n---\n",
            "line 3: the frontmatter must begin on line 1, with a line of its own",
        ),
        ("---\rpolicy: {deny: ['*']}\r---\r", "line 1: the frontmatter must begin on line 1, with a line of its own"),
        ("---\ndescription: Use it: now\n---\n", "line 2: not valid YAML: mapping values are not allowed here; a text"),
        ('---\nname: "a\\ud83d"\n---\n', "line 2: 'a\\ud83d' holds half of a letter"),
        (
            "---\ntools: Bash\n---\n",
            'line 2: tools: there is no tool "Bash". claude_code says so; here it is run_command.',
        ),
        (
            "---\ntools: [Edit]\n---\n",
            'line 2: tools[0]: there is no tool "Edit". claude_code says so; here it is edit_file.',
        ),
        (
            "---\npolicy: {default: alow}\n---\n",
            "line 2: policy.default: must be deny, ask or allow, not 'alow'. Did you",
        ),
        ("---\ncustom_tools: [read_file]\n---\n", "line 2: custom_tools[0]: must be a table that says a tool"),
    ],
)
def test_a_mistake_is_told_with_its_line(text: str, problem: str) -> None:
    (told,) = problems_of(text)
    assert told.startswith(problem)


def test_a_tool_is_not_told_twice() -> None:
    tool = "{name: t, description: d, prompt: p}"
    assert problems_of(f"---\ntools:\n  - {tool}\ncustom_tools:\n  - {tool}\n---\n") == (
        'line 5: the tool "t" is already there, on line 3',
    )


@pytest.mark.parametrize("name", ["read_file", "spawn_agent", "signal_parent", "weather"])
def test_a_tool_of_its_own_has_a_name_of_its_own(name: str) -> None:
    text = f"---\ntools:\n  - {{name: {name}, description: d, prompt: p}}\n---\n"
    assert problems_of(text, known=("weather",)) == (
        f'line 3: there is a tool "{name}" already; give yours a name of its own',
    )


def test_every_parameter_that_is_no_table_is_a_problem_and_the_others_are_read_all_the_same() -> None:
    text = page("""
        custom_tools:
          - name: t
            description: d
            prompt: "{{a}} {{b}} {{c}}"
            parameters:
              a: string
              b: 5
              c: {type: strin}
    """)
    assert [problem.partition(".parameters.")[2] for problem in problems_of(text)] == [
        "a: must be a table with a type and a description, not 'string'",
        "b: must be a table with a type and a description, not 5",
        'c.type: "strin" is not a JSON type. Did you mean "string"?',
    ]


def test_a_key_that_was_mistyped_is_told_which_one_is_missing() -> None:
    missing, unknown = problems_of(
        page("""
            custom_tools:
              - name: t
                description: d
                promt: Do it.
        """)
    )
    assert missing.endswith('the tool has no "prompt"')
    assert unknown.endswith('Did you mean "prompt"?')


def test_a_default_is_something_that_the_parameter_may_be() -> None:
    text = page("""
        custom_tools:
          - name: t
            description: d
            prompt: "{{a}} {{b}} {{c}} {{d}}"
            parameters:
              a: {type: integer, default: many}
              b: {type: string, enum: [x, y], default: z}
              c: {type: string, default: null}
              d: {type: array, items: {type: integer}, default: [1, 2]}
          - name: u
            description: d
            prompt: "{{a}}"
            parameters:
              type: object
              properties:
                a: {$ref: "#/$defs/number", default: one}
              $defs: {number: {type: integer}}
    """)
    assert problems_of(text) == (
        "line 7: custom_tools[0].parameters.a.default: the default does not fit: the value must be an integer, "
        'not "many"',
        "line 8: custom_tools[0].parameters.b.default: the default does not fit: the value must be one of "
        '"x", "y", not "z"',
        "line 17: custom_tools[1].parameters.properties.a.default: the default does not fit: the value must be an "
        'integer, not "one"',
    )


def test_a_server_that_could_not_be_started_is_told_of() -> None:
    text = page("""
        mcp_servers:
          a: {comand: x}
          b: {command: x, argz: [y]}
          c: {url: 5}
          d: {command: x, url: "http://127.0.0.1/"}
          e: {command: x, args: [y], env: {A: b}, timeout: 5}
    """)
    assert problems_of(text) == (
        'line 3: mcp_servers.a: needs a "command" to start, or a "url" to reach',
        'line 4: mcp_servers.b: `argz` is nothing a server has. Did you mean "args"?',
        "line 5: mcp_servers.c: Expected `str | null`, got `int` - at `$.url`",
        "line 6: mcp_servers.d: give it a `command` to start, or a `url`, and not both",
    )


def test_a_letter_that_json_writes_in_two_halves_is_that_letter() -> None:
    assert parse_agent('---\ndescription: "\\ud83d\\ude00 tea"\n---\nx\n', path="one.md").description == "😀 tea"


def test_a_text_that_grows_out_of_references_is_refused_at_once() -> None:
    rows = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else 'x'}]" for n in range(30)]
    assert all("aliases" in problem or "no key" in problem for problem in problems_of(page("\n".join(rows))))


def test_what_is_nested_without_end_is_refused() -> None:
    (told,) = problems_of(f"---\nname: {'[' * 101}\n---\n")
    assert told == "line 1: it is nested too deeply"
    (told,) = problems_of(f"---\nname: {'[' * 100}x{']' * 100}\ndescription: x\n---\n")
    assert told.startswith("line 2: name: must be text")


def test_a_frontmatter_without_measure_is_not_read_at_all() -> None:
    assert problems_of(f"---\nname: [{'a,' * 100_000}]\n---\n") == (
        "line 1: the frontmatter is longer than 131072 characters; put the text below it",
    )


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    (tmp_path / "bytes.md").write_bytes(b"one\n\xff\n")
    (tmp_path / "large.md").write_bytes(b"x" * (1024 * 1024 + 1))
    with pytest.raises(DefinitionError, match="line 2: it is not UTF-8 text"):
        read_agent(tmp_path / "bytes.md")
    with pytest.raises(DefinitionError, match="larger than 1024 KiB"):
        read_agent(tmp_path / "large.md")
    with pytest.raises(DefinitionError, match="cannot be read"):
        read_agent(tmp_path / "none.md")


# ── what is worth knowing ────────────────────────────────────────────────────


def test_a_check_tells_what_may_not_be_meant() -> None:
    agent = parse_agent(
        page(
            """
            model: gemini-2.0-flash-lite
            custom_tools:
              - name: t
                description: d
                parameters: {a: {type: string}, b: {type: string}}
                prompt: "{{ a }} {{c}} {{ d }} {{c}}"
            """,
            body="",
        ),
        path="one.md",
    )
    assert remarks(agent) == (
        "it has no description, so no other agent knows what it is for",
        "it has no instructions: nothing stands below the frontmatter",
        "line 4: t: no parameter is called {{c}}; it stays in the prompt",
        "line 4: t: no parameter is called {{d}}; it stays in the prompt",
        'line 4: t: the prompt has no place for "b"',
    )


# ── laws ─────────────────────────────────────────────────────────────────────

PATHS = st.sampled_from(["agents/one.md", ".claude/agents/one.md", ".opencode/agent/one.md", ".codex/agents/one.toml"])
FORMATS = st.sampled_from(AGENT_FORMATS)


def agent_or_definition_error(text: str, path: str | None, format: str) -> None:
    problems: tuple[str, ...] = ()
    agent: Agent | None = None
    try:
        agent = parse_agent(text, path=path, format=format)
    except DefinitionError as error:
        problems = error.problems
    assert (agent is None) == bool(problems)
    if agent is not None:
        assert agent.name
        ToolPolicy.read(agent.policy)
        remarks(agent)


@given(st.text(), PATHS | st.none(), FORMATS)
def test_any_text_is_an_agent_or_says_what_is_wrong(text: str, path: str | None, format: str) -> None:
    agent_or_definition_error(text, path, format)


@given(st.text(st.sampled_from("-:#'\"[]{}&*!|>%@`, \n\t\\aA1~"), max_size=60), FORMATS)
def test_any_frontmatter_is_an_agent_or_says_what_is_wrong(text: str, format: str) -> None:
    agent_or_definition_error(f"---\nname: a\ndescription: b\n{text}\n---\nbody", "one.md", format)


KEYS = (
    *("name", "description", "model", "dialect", "tools", "custom_tools", "policy", "limits", "mcp_servers", "mode"),
    *("disallowedTools", "permissionMode", "maxTurns", "mcpServers", "permission", "steps", "kind", "max_turns"),
    *("timeout_mins", "temperature", "parameters", "result_schema", "prompt", "type", "properties", "required"),
    *(
        "allow",
        "ask",
        "deny",
        "default",
        "approval",
        "command",
        "path",
        "*",
        "bash",
        "edit",
        "repairs",
        "enum",
        "items",
    ),
)
WORDS = st.sampled_from(["read_file", "Read", "read", "bash", "*", "allow", "string", "object", "ask", "git *", "a/b"])
TREES = st.recursive(
    JSON | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(KEYS), TREES, max_size=6), FORMATS.filter(lambda one: one != "codex"))
def test_any_values_are_an_agent_or_say_what_is_wrong(values: dict[str, Any], format: str) -> None:
    text = yaml.safe_dump({"name": "a", "description": "b", **values}, allow_unicode=True)
    agent_or_definition_error(f"---\n{text}---\nbody", "one.md", format)


@pytest.mark.parametrize("source", ["x: [" + "a," * 60_000 + "]", "x:\n" + "- a\n" * 30_000, "k: [" + "{}," * 30_000])
def test_a_frontmatter_of_very_many_parts_is_refused_before_all_of_it_is_read(source: str) -> None:
    """PyYAML takes seconds for it, and the files of a project are read unasked."""
    from dragoman.agents.frontmatter_text import MOST_TOKENS
    from dragoman.config.files import read_yaml

    values, _, ((_, problem),) = read_yaml(source, MOST_TOKENS)
    assert values is None
    assert problem == f"not valid YAML: it has more than {MOST_TOKENS:,} parts (keys, values, brackets)"
