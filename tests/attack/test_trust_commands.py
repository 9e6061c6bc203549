"""Every command in a folder that nobody trusts."""

from __future__ import annotations

import pytest

from tests.cli.conftest import User, user
from tests.cli.test_untrusted import COMMANDS, DONE, EXITS, MODEL, SETTINGS, World, listener, traps
from tests.engine.loopback import loopback
from tests.hostile import Listener, Traps, tree, write_project

__all__ = ["listener", "traps", "user"]


@pytest.mark.parametrize("file, turn", [(SETTINGS[0], 0), (SETTINGS[1], 1)])
async def test_no_command_runs_fetches_or_writes_anything_because_of_an_untrusted_folder(
    user: User, traps: Traps, listener: Listener, file: str, turn: int
) -> None:
    """In a folder that nobody trusts, no command runs, fetches or writes anything because of what is in it."""
    write_project(traps, settings=file, turn=turn)
    before = tree(user.home)
    user.settings("[[prices]]\nmodel = 'played'\ninput = 1\noutput = 1\n")
    async with loopback(*[DONE] * 50) as server:
        world = World(user, traps, listener, server)
        for command, ways in COMMANDS.items():
            codes = []
            for arguments in ways:
                answer = await world.types(command, arguments)
                assert world.happened() == [], (command, arguments)
                assert "\x1b" not in answer.out + answer.err, (command, arguments)
                codes.append(answer.code)
            assert codes == EXITS.get(command, [0] * len(ways)), (command, answer.err[-500:])
            assert tree(user.home, world.out) == before, command


async def test_the_traps_spring_where_the_folder_is_trusted(user: User, traps: Traps, listener: Listener) -> None:
    """Where the folder is trusted, the same files do run: the traps of the other test work.

    The project is the same, with settings that do not stop one another.
    """
    write_project(traps)
    user.write(user.here / "dragoman.toml", f"[providers.openai-chat]\nbase_url = '{traps.url}'\n")
    async with loopback(*[DONE] * 50) as server:
        world = World(user, traps, listener, server)
        assert (await world.types("trust", ())).code == 0
        assert world.happened() == []
        for command, arguments, events in (
            (
                "tools",
                ("--dialect", "evil"),
                {f"ran {traps.project}/.dragoman/plugins/evil.py", "the marker was written"},
            ),
            ("mcp test", ("evil",), {"the marker was written"}),
            ("run", (*MODEL, "--no-mcp", "hi"), {"somebody connected"}),
        ):
            world.watched.events.clear()
            traps.marker.unlink(missing_ok=True)
            await world.types(command, arguments)
            assert events <= {event.partition(" evil.sh")[0] for event in world.happened()}, command
