"""The agents under `examples` and on the pages about agents are what they say they are."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from dragoman.agents import AgentLimits, parse_agent, read_agent, remarks
from dragoman.engine import ToolPolicy

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "agents").glob("*.md"))
PAGES = [ROOT / "docs" / "howto" / "write-an-agent.md", ROOT / "docs" / "reference" / "agent-files.md"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_well_defined_and_leaves_nothing_to_remark(path: Path) -> None:
    agent = read_agent(path)
    assert (agent.name, remarks(agent)) == (path.stem, ())
    ToolPolicy.read(agent.policy)


def test_one_example_has_two_tools_whose_answers_are_checked() -> None:
    tools = read_agent(ROOT / "examples" / "agents" / "reviewer.md").custom_tools
    assert [(tool.name, tool.result_schema is not None) for tool in tools] == [
        ("judge_hunk", True),
        ("missing_tests", True),
    ]


def test_every_agent_of_the_pages_is_one() -> None:
    blocks = [block for page in PAGES for block in re.findall(r"```markdown\n(.*?)```", page.read_text(), re.DOTALL)]
    agents = [parse_agent(block) for block in blocks]
    assert [(agent.name, remarks(agent)) for agent in agents] == [("librarian", ()), ("editor", ())]


def test_the_program_of_the_reference_runs() -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGES[1].read_text(), re.DOTALL)
    exec(program, {})


def test_the_reference_names_every_limit_and_every_part_of_a_policy() -> None:
    text = PAGES[1].read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", text, re.MULTILINE))
    stated = {
        field.name: "none" if field.default is None else str(field.default)
        for field in msgspec.structs.fields(AgentLimits)
    }
    assert {name: rows.get(name) for name in stated} == stated
    # Those two are for code that lays one policy over another.
    parts = {field.name for field in msgspec.structs.fields(ToolPolicy)} - {"within", "agent", "unknown_commands"}
    assert [name for name in sorted(parts) if f"`{name}`" not in text] == []
