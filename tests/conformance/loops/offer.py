"""What every loop is given on the command line, as JSON: cases, each with its dialect, its model and its folder."""

from __future__ import annotations

import json
import sys
from typing import Any

from dragoman import Toolset, tool
from dragoman.dialects import DIALECTS
from dragoman.engine import Facade
from dragoman.model.outcomes import ContentOutcome, Media
from dragoman.registry import TOOLS
from dragoman.tools import DiskWorkspace

CASES: list[list[str]] = json.loads(sys.argv[1])


@tool
def shout(text: str, times: int = 1) -> str:
    """Text in capitals."""
    return text.upper() * times


DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@tool
def picture() -> ContentOutcome:
    """A dot."""
    return ContentOutcome(("a dot:", Media("image/png", data=DOT)))


def tools_for(framework: str, dialect: str, folder: str) -> Any:
    facade = Facade(DIALECTS[dialect], Toolset([TOOLS["edit_file"], shout, picture]))
    return facade.tools_for(framework, workspace=DiskWorkspace(folder))
