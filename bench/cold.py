"""Starting, in a new process each time: importing the library, and importing it to define one tool.

`cold:import` is net of the bare interpreter; `cold:tool` is the whole process, as its user waits for it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.benches import Bench, Target
from bench.stopwatch import per_process

IMPORTS = {
    "interpreter": "pass",
    "msgspec": "import msgspec",
    "ours": "import dragoman",
    "ours, to define a tool": "from dragoman import tool",
    "pydantic": "import pydantic; pydantic.BaseModel",
    "pydantic_ai": "import pydantic_ai",
    "openai_agents": "import agents",
}

FUNCTION = '''
from typing import Literal

def find_parcels(text: str, towns: list[str], most: int = 10, order: Literal["oldest", "newest"] = "newest") -> str:
    """Find parcels that are under way.

    Args:
        text: What to look for, in plain words.
        towns: Where they are sent to.
        most: The largest number of parcels to list.
        order: Which parcels come first.
    """
    return text
'''

# Each ends with the tool's schema in hand; none makes a client.
TOOLS = {
    "ours": """
from dragoman import tool
schema = tool(find_parcels).parameters
""",
    "ours, on the wire": """
from dragoman import tool
from dragoman.apis import APIS
from dragoman.model import Request, user
request = Request("gpt-4o", (user("Hello"),), (tool(find_parcels).definition,))
schema = APIS["openai_chat"].encode(request).body["tools"]
""",
    "openai": """
from openai import pydantic_function_tool
from pydantic import BaseModel
class FindParcels(BaseModel):
    text: str
    towns: list[str]
    most: int = 10
    order: Literal["oldest", "newest"] = "newest"
schema = pydantic_function_tool(FindParcels)
""",
    "anthropic": """
from anthropic import beta_tool
schema = beta_tool(find_parcels).to_dict()
""",
    "google_genai": """
from google.genai import types
declare = types.FunctionDeclaration.from_callable_with_api_option
schema = declare(callable=find_parcels, api_option="GEMINI_API").model_dump(exclude_none=True)
""",
}
CHECK = """
if "towns" not in str(schema):
    raise SystemExit("the schema does not have the tool's parameters")
"""

HELP = {
    "interpreter": "pass",
    "click": """
import click, sys
@click.group()
def main() -> None: ...
@main.command()
@click.option("--model", help="The model to ask.")
def run(model: str | None) -> None:
    "Run it."
sys.argv = ["main", "run", "--help"]
main()
""",
    "ours": """
import sys
from dragoman.__main__ import entry
sys.argv = ["dragoman", "--help"]
entry()
""",
    "ours, run": """
import sys
from dragoman.__main__ import entry
sys.argv = ["dragoman", "run", "--help"]
entry()
""",
}

LINE = {
    "interpreter": "pass",
    "msgspec": "import msgspec",
    "ours": """
import sys
from dragoman.__main__ import entry
sys.argv = ["dragoman", "usage", "line"]
entry()
""",
}

_FOLDER = Path(__file__).parent
HOOK = {
    "interpreter": "pass",
    "msgspec": "import msgspec",
    **{
        column: f"""
import io, json, os, sys
os.environ |= {{"DRAGOMAN_CONFIG_DIR": {str(_FOLDER / "hook_settings")!r}}}
os.environ |= {{"DRAGOMAN_DATA_DIR": {str(_FOLDER.parent / "build" / "bench-hook")!r}}}
call = {{"session_id": "s", "prompt_id": "p", "cwd": os.getcwd(), "hook_event_name": "PreToolUse", **{call!r}}}
sys.stdin = io.TextIOWrapper(io.BytesIO(json.dumps(call).encode()))
sys.argv = ["dragoman", "hook", "--client", "claude_code", "--event", "PreToolUse"]
from dragoman.__main__ import entry
entry()
"""
        for column, call in {
            "ours, a command line": {"tool_name": "Bash", "tool_input": {"command": "cat README.md | head -5"}},
            "ours, a denial": {"tool_name": "Bash", "tool_input": {"command": "cat .env"}},
            "ours, a file tool": {"tool_name": "Read", "tool_input": {"file_path": "README.md"}},
            "ours, a page": {"tool_name": "WebFetch", "tool_input": {"url": "https://example.com/", "prompt": "x"}},
            "ours, a plan": {
                "tool_name": "TodoWrite",
                "tool_input": {"todos": [{"content": "x", "status": "pending", "activeForm": "y"}]},
            },
            "ours, a server's tool": {"tool_name": "mcp__x__run", "tool_input": {"command": "cat README.md | head"}},
            "ours, with its vocabulary": {"tool_name": "Read", "tool_input": {"file_path": "README.md", "offset": 5}},
            "ours, served": {"tool_name": "Grep", "tool_input": {"pattern": "heliotrope"}},
        }.items()
    },
}

SDKS = ("openai", "anthropic", "google_genai")
PEERS = (*SDKS, "pydantic", "pydantic_ai", "openai_agents")


def measure(programs: dict[str, str], column: str) -> list[float]:
    return per_process([sys.executable, "-I", "-c", programs[column]], quiet=programs in (HELP, HOOK))


def measure_line(column: str) -> list[float]:
    """The line from figures that were counted before, as a client asks for it again and again."""
    command = [sys.executable, "-I", "-c", LINE[column]]
    with TemporaryDirectory() as folder:
        places = {f"DRAGOMAN_{name}_DIR": folder for name in ("CACHE", "CONFIG", "DATA")}
        os.environ |= {"HOME": folder, **places}
        if column == "ours":
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            if not (Path(folder) / "usage-line.json").is_file():
                raise SystemExit("no figures were written")
        return per_process(command, quiet=True)


def measure_hook(column: str) -> list[float]:
    """The line of a hook; for one column, while `dragoman hook serve` runs."""
    if column != "ours, served":
        os.environ["XDG_RUNTIME_DIR"] = "/nowhere"
        return measure(HOOK, column)
    settings = {"DRAGOMAN_CONFIG_DIR": str(_FOLDER / "hook_settings")}
    settings |= {"DRAGOMAN_DATA_DIR": str(_FOLDER.parent / "build" / "bench-hook")}
    with TemporaryDirectory() as folder:
        os.environ |= {"XDG_RUNTIME_DIR": folder, **settings}
        server = [sys.executable, "-P", "-m", "dragoman", "hook", "serve"]
        with subprocess.Popen(server, stderr=subprocess.PIPE, cwd="/") as serving:
            assert serving.stderr is not None
            if b"Listening" not in serving.stderr.readline():
                raise SystemExit("no server")
            try:
                return measure(HOOK, column)
            finally:
                serving.terminate()


def _environments(columns: dict[str, str]) -> dict[str, str]:
    return {column: column if column in PEERS else "base" for column in columns}


BENCHES = {
    "import": Bench(
        question="import the library",
        environments=_environments(IMPORTS),
        floor="msgspec",
        targets=(Target("ours", "msgspec", 2.5), Target("ours, to define a tool", "msgspec", 2.5)),
        measure=partial(measure, IMPORTS),
        net_of="interpreter",
    ),
    "help": Bench(
        question="start and print the help of a command",
        environments=dict.fromkeys(HELP, "base"),
        floor="click",
        targets=(Target("ours, run", "click", 1.5),),
        measure=partial(measure, HELP),
    ),
    "line": Bench(
        question="print the status line of a coding agent",
        environments=dict.fromkeys(LINE, "base"),
        floor="msgspec",
        targets=(Target("ours", "msgspec", 2.0),),
        measure=measure_line,
    ),
    "hook": Bench(
        question="decide about one call of a coding agent, and record that",
        environments=dict.fromkeys(HOOK, "base"),
        floor="msgspec",
        targets=[
            *(
                Target(f"ours, {what}", "msgspec", 2.5)
                for what in ("a command line", "a denial", "a file tool", "a page", "a plan", "a server's tool")
            ),
            Target("ours, served", "msgspec", 1.0),
        ],
        measure=measure_hook,
    ),
    "tool": Bench(
        question="start, define one tool and have its schema",
        environments=_environments(TOOLS),
        floor="ours",
        targets=[Target("ours", sdk, 1 / 6) for sdk in SDKS],
        measure=partial(measure, {column: FUNCTION + program + CHECK for column, program in TOOLS.items()}),
    ),
}
