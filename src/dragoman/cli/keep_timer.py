"""A timer that keeps logs every day: what would be written and run, and doing it.

Nothing here is done unasked: the plan is printed first. launchd was not tried on a Mac.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape

import msgspec

from dragoman.config.files import home_folder
from dragoman.environment import USUAL, child_environment
from dragoman.errors import ConfigError, writing
from dragoman.logs import Places
from dragoman.registry import FORMATS
from dragoman.tools.processes import find_program

NAME: Final = "dragoman-keep"
_MARK: Final = "# dragoman keep: logs of coding agents are archived before they are deleted"
_LABEL: Final = "dev.dragoman.keep"
_FOLDERS: Final = (
    *("DRAGOMAN_CACHE_DIR", "DRAGOMAN_CONFIG_DIR", "DRAGOMAN_DATA_DIR"),
    *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"),
)
"""What decides where logs are kept; which are kept, the log formats say."""
_SERVICES: Final = (*USUAL, "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME")


class Plan(msgspec.Struct, frozen=True):
    """What installing or removing a timer does, in this order."""

    kind: str
    before: list[list[str]]
    """Commands that are run first."""
    files: dict[str, str | None]
    """Path → content; `None` for one that is deleted."""
    commands: list[list[str]]
    crontab: str | None = None
    """The whole table as it will be, where it is cron's."""
    notes: list[str] = []


def kind_here() -> str:
    """What this machine has timers of."""
    if sys.platform == "darwin":
        return "launchd"
    # A user without a session bus (in a container, or over plain ssh) has no systemd of their own.
    has_systemd = find_program("systemctl") is not None and os.environ.get("XDG_RUNTIME_DIR")
    return "systemd" if has_systemd else "cron"


def plan(kind: str, *, remove: bool = False) -> Plan:
    """What is to be done for a timer of this kind."""
    return _PLANS[kind](remove=remove)


def apply(made: Plan) -> None:
    """Does what a plan says; `ConfigError` where a command fails."""
    for command in made.before:
        _run(command)
    for name, content in made.files.items():
        path = Path(name)
        with writing(path, "check who owns that folder"):
            if content is None:
                path.unlink(missing_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content)
    for command in made.commands:
        _run(command)
    if made.crontab is not None:
        _run(["crontab", "-"], made.crontab)


def _run(command: list[str], text: str | None = None) -> str:
    done = _tried(command, text)
    if done.returncode:
        raise ConfigError(f"`{shlex.join(command)}` failed: {done.stderr.strip() or f'exit code {done.returncode}'}")
    return done.stdout


def _tried(command: list[str], text: str | None = None) -> subprocess.CompletedProcess[str]:
    name, *words = command
    program = find_program(name)
    if program is None:
        raise ConfigError(f"there is no `{name}` here; --with names another kind of timer")
    try:
        return subprocess.run(
            [program, *words],
            env=child_environment(*_SERVICES),
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"cannot run {name}: {getattr(error, 'strerror', None) or error}") from error


def _command() -> list[str]:
    return [sys.executable, "-P", "-m", "dragoman", "keep"]


def _environment() -> dict[str, str]:
    """What is set now and decides which logs are kept where."""
    asked = _Asked(os.environ)
    for _, chosen in FORMATS.working():
        list(chosen.homes(Places(home_folder(), asked)))
    found = {name: value for name in sorted({*_FOLDERS, *asked.names}) if (value := os.environ.get(name))}
    for name, value in found.items():
        if not value.isprintable():
            raise ConfigError(f"{name} holds a character that cannot be printed, which no timer can be given")
    return found


class _Asked(dict[str, str]):
    """Variables, and which of them were asked for."""

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(values)
        self.names: set[str] = set()

    def get(self, name: str, otherwise: Any = None) -> Any:
        """One of them, if it is set."""
        self.names.add(name)
        return super().get(name, otherwise)

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        return super().__getitem__(name)


def _systemd(*, remove: bool) -> Plan:
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or home_folder() / ".config") / "systemd" / "user"
    service, timer = folder / f"{NAME}.service", folder / f"{NAME}.timer"
    if remove:
        return Plan(
            "systemd",
            [["systemctl", "--user", "disable", "--now", timer.name]],
            {str(service): None, str(timer): None},
            [["systemctl", "--user", "daemon-reload"]],
        )
    chosen = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in _environment().items())
    words = " ".join(_quoted(word).replace("$", "$$") for word in _command())  # there a dollar names a variable
    return Plan(
        "systemd",
        [],
        {
            str(service): f"[Unit]\nDescription=Archive the logs of coding agents\n\n"
            f"[Service]\nType=oneshot\nNice=10\n{chosen}ExecStart={words}\n",
            str(timer): "[Unit]\nDescription=Archive the logs of coding agents every day\n\n"
            "[Timer]\nOnCalendar=daily\nPersistent=true\nRandomizedDelaySec=1h\n\n[Install]\nWantedBy=timers.target\n",
        },
        [["systemctl", "--user", "daemon-reload"], ["systemctl", "--user", "enable", "--now", timer.name]],
    )


def _quoted(word: str) -> str:
    """A word as systemd reads it: its percent signs mean something there."""
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") + '"'


def _cron(*, remove: bool) -> Plan:
    lines = _crontab().splitlines()
    kept: list[str] = []
    for line in lines:
        if kept and kept[-1] == _MARK:
            kept[-1:] = []  # the line after the mark is ours too
        else:
            kept.append(line)
    if not remove:
        chosen = [f"{name}={shlex.quote(value)}" for name, value in _environment().items()]
        words = " ".join([*chosen, *map(shlex.quote, _command())]).replace("%", "\\%")
        kept += [_MARK, f"17 12 * * * {words} >/dev/null"]
    return Plan("cron", [], {}, [], "".join(f"{line}\n" for line in kept))


def _crontab() -> str:
    """The user's table; for a user who has none the command fails and says so."""
    done = _tried(["crontab", "-l"])
    if done.returncode and "no crontab" not in done.stderr:
        raise ConfigError(f"cannot read the crontab: {done.stderr.strip()}")
    return "" if done.returncode else done.stdout


def _launchd(*, remove: bool) -> Plan:
    path = home_folder() / "Library" / "LaunchAgents" / f"{_LABEL}.plist"
    notes = ["launchd was not tried on a Mac yet: please look at the file before you rely on it."]
    target = f"gui/{os.getuid()}"
    if remove:
        return Plan("launchd", [["launchctl", "bootout", f"{target}/{_LABEL}"]], {str(path): None}, [], notes=notes)
    words = "".join(f"    <string>{escape(word)}</string>\n" for word in _command())
    chosen = "".join(
        f"    <key>{escape(name)}</key><string>{escape(value)}</string>\n" for name, value in _environment().items()
    )
    content = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n'
        f'<plist version="1.0"><dict>\n  <key>Label</key><string>{_LABEL}</string>\n'
        f"  <key>ProgramArguments</key><array>\n{words}  </array>\n"
        f"  <key>EnvironmentVariables</key><dict>\n{chosen}  </dict>\n"
        "  <key>StartCalendarInterval</key><dict><key>Hour</key><integer>12</integer>"
        "<key>Minute</key><integer>17</integer></dict>\n</dict></plist>\n"
    )
    return Plan("launchd", [], {str(path): content}, [["launchctl", "bootstrap", target, str(path)]], notes=notes)


_PLANS: Final[dict[str, Callable[..., Plan]]] = {"systemd": _systemd, "cron": _cron, "launchd": _launchd}
KINDS: Final = tuple(_PLANS)
