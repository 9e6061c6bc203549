"""Tells somebody what became of a run: by a program of the user's, or by a POST to an address.

Rules: what is told is one JSON object, for a program on its standard input. The program starts outside of the folder of
the work, with no key in its environment. An address is reached as the web tools reach one: public ones only, unless
private ones are allowed, and no redirect is followed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from dragoman.environment import USUAL, child_environment
from dragoman.errors import ConfigError, ToolError
from dragoman.tools import Web

from .program import Program

_PATIENCE: Final = 30.0
"""Seconds that telling may take."""
_LONGEST: Final = 500


class Notifier:
    """Tells by a program, an address or both. `folder` is where the program starts."""

    def __init__(
        self,
        folder: Path,
        *,
        command: Sequence[str] = (),
        url: str | None = None,
        headers: Mapping[str, str] = {},
        allow_private: bool = False,
    ) -> None:
        self._command, self._folder, self._url = tuple(command), folder, url
        self._headers, self._allow_private = dict(headers), allow_private

    async def tell(self, facts: Mapping[str, Any] | msgspec.Struct) -> list[str]:
        """Tells these facts, as JSON, and gives what went wrong; nothing did if it is empty."""
        body = msgspec.json.encode(facts)
        ways = [self._started(self._command, body)] if self._command else []
        ways += [self._posted(self._url, body)] if self._url is not None else []
        found = await asyncio.gather(*ways)
        return [problem for problem in found if problem is not None]

    async def _started(self, command: Sequence[str], body: bytes) -> str | None:
        name = f"notify.command ({command[0]})"
        try:
            program = await Program.start(
                command, folder=self._folder, environment=child_environment(*USUAL), given=body
            )
        except (OSError, ValueError) as error:
            return f"{name} could not be started: {error}"
        try:
            async with asyncio.timeout(_PATIENCE):
                code = await program.ended()
        except TimeoutError:
            return f"{name} was stopped: it took longer than {_PATIENCE:g} seconds"
        finally:
            await program.stop(grace=0.0)
        if code == 0:
            return None
        words = program.last_words(_LONGEST)
        return f"{name} ended with code {code}" + (f": {words}" if words else "")

    async def _posted(self, url: str, body: bytes) -> str | None:
        try:
            async with Web(allow_private=self._allow_private, timeout_ms=int(_PATIENCE * 1000)) as web:
                await web.post(url, body, {"content-type": "application/json", **self._headers})
        except (ToolError, ConfigError) as error:
            # The address may hold a key, and a message of the web tools begins with it.
            advice = " (notify.allow_private opens private addresses)" if getattr(error, "kind", "") == "denied" else ""
            return f"notify.url: {str(error).replace(url, 'the address')}{advice}"
        return None
