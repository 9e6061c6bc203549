"""Where agent files are, of ours and of other clients, and which of them the user vouches for.

Rule: only what the user wrote into the own settings folder, or trusts with just these contents, may loosen a policy.
Everything else that lies about in a project or was written for another client can only make it stricter.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final, Literal

import msgspec

from dragoman.config import Configuration, digest
from dragoman.config.files import home_folder
from dragoman.errors import ConfigError, DefinitionError, nearest

from .agent import Agent
from .clients import CLIENTS, OWN
from .frontmatter import format_of, parse_agent, text_of, text_with_place
from .frontmatter_text import line_of_key
from .profiles import with_profile

Origin = Literal["project", "user", "named"]


class FoundAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent file: what it says, or what is wrong with it.

    `trusted`: it may loosen a policy, and the commands it names may be run. `hidden_by`: another file, found earlier,
    has an agent of this name.
    """

    path: Path
    format: str
    origin: Origin
    trusted: bool
    agent: Agent | None = None
    problems: tuple[str, ...] = ()
    hidden_by: Path | None = None

    @property
    def name(self) -> str:
        """The agent's name; that of its file where the file cannot be read."""
        return self.path.stem if self.agent is None else self.agent.name


class Folder(msgspec.Struct, frozen=True):
    """A place to look for agent files."""

    path: Path
    format: str
    origin: Origin
    deep: bool = False
    """Whether folders within it are looked into."""
    root: Path | None = None
    """What its files must lie in: in a project a link could lead anywhere, and what it leads to be sent to a model."""

    def leads_out(self, path: Path) -> bool:
        return self.root is not None and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.root))


MOST_FILES: Final = 2000
"""Files that are read in one folder: a folder with more is no folder of agents."""


def agent_folders(configuration: Configuration, workspace: Path) -> tuple[Folder, ...]:
    """Every folder agents are looked for in, those of the workspace first."""
    roots = dict.fromkeys((workspace, *([configuration.project.root] if configuration.project else [])))
    clients = CLIENTS.values()
    found = [
        Folder(root / name, client.format, "project", client.deep, root)
        for root in roots
        for client in clients
        for name in client.project
    ]
    home = home_folder()
    found.append(Folder(configuration.config_dir / "agents", OWN, "user"))
    found += [
        Folder(place.path(home), client.format, "user", client.deep) for client in clients for place in client.user
    ]
    # For who works at home the folders of the workspace are the user's own.
    return tuple({folder.path: folder for folder in found}.values())


def find_agents(configuration: Configuration, workspace: Path) -> tuple[FoundAgent, ...]:
    """Every agent file. Of several agents with one name, the first is used; the others have `hidden_by` set."""
    found: list[FoundAgent] = []
    first: dict[str, Path] = {}
    for one in _all(configuration, workspace):
        if one.agent is not None and one.name in first:
            one = msgspec.structs.replace(one, hidden_by=first[one.name])
        elif one.agent is not None:
            first[one.name] = one.path
        found.append(one)
    return tuple(found)


def agent_named(given: str, configuration: Configuration, workspace: Path) -> FoundAgent:
    """The agent with this path or name. Raises `DefinitionError` if its file is wrong."""
    path = Path(given)
    if path.suffix in (".md", ".toml") or os.path.isfile(path):
        found = load_agent(path, configuration, "named")
    else:
        everything = find_agents(configuration, workspace)
        named = [one for one in everything if one.name == given and one.hidden_by is None]
        if not named and os.sep in given:  # in a name too: `team/reviewer` (opencode 1.18.33)
            named = [load_agent(path, configuration, "named")]
        if not named:
            known = [one.name for one in everything]
            hint = nearest(given, known) or " `dragoman agents list` shows them."
            raise ConfigError(f'there is no agent "{given}".{hint}')
        found = named[0]
    if found.agent is None:
        raise DefinitionError(f"agent file {found.path.name!r}", found.problems, str(found.path))
    return found


def load_agent(
    path: Path, configuration: Configuration, origin: Origin, format: str | None = None, folder: Folder | None = None
) -> FoundAgent:
    """Reads one file. Its problems are in `problems`; nothing is raised, so that other files can still be read."""
    format = format_of(str(path)) if format is None else format
    agent: Agent | None = None
    problems: tuple[str, ...] = ()
    trusted = False
    try:
        # Trust and place are those of what was read: the path may lead to another file by now.
        text, place = _read(path, folder)
        trusted = vouched_for(place, text, configuration)
        agent = with_profile(parse_agent(text, path=str(path), format=format), configuration)
    except DefinitionError as error:
        problems = error.problems
    except ConfigError as error:
        problems = (f"line {line_of_key(text, 'profile')}: profile: {error}",)
    except Exception as error:  # noqa: BLE001 - a defect of ours is reported with the file that shows it
        problems = (f"dragoman cannot read it, which is a defect of dragoman: {type(error).__name__}: {error}",)
    return FoundAgent(path=path, format=format, origin=origin, trusted=trusted, agent=agent, problems=problems)


def vouched_for(real: Path, text: str, configuration: Configuration) -> bool:
    """Whether the user wrote the file at this place (a path without links), or trusts it as it is."""
    if real.parent == Path(os.path.realpath(configuration.config_dir / "agents")):
        return True
    project = configuration.project
    if project is None or project.trust.state != "trusted" or not real.is_relative_to(project.root):
        return False
    trusted_as = project.trust.digests.get(real.relative_to(project.root).as_posix())
    return trusted_as is not None and trusted_as == digest(text.encode())


# ── looking ──────────────────────────────────────────────────────────────────


def _all(configuration: Configuration, workspace: Path) -> Iterator[FoundAgent]:
    for folder in agent_folders(configuration, workspace):
        declared: set[Path] = set()
        for one in _declared(folder):
            declared.add(one.path)
            yield one
        unread: list[FoundAgent] = []
        for path in _files(folder, unread):
            if path not in declared:
                yield load_agent(path, configuration, folder.origin, folder.format, folder)
        yield from unread


def _read(path: Path, folder: Folder | None) -> tuple[str, Path]:
    """The text of a file and where it is; a `DefinitionError` when that is not below the folder's root.

    The place is that of the file which was opened: the path may lead elsewhere a moment before or after.
    """
    if folder is None:
        return text_with_place(path)
    outside = DefinitionError(
        f"agent file {path.name!r}", [f"it leads out of {folder.root}, so it is not read"], str(path)
    )
    if folder.leads_out(path):
        raise outside
    text, place = text_with_place(path)
    if folder.leads_out(place):
        raise outside
    return text, place


def _unread(folder: Folder, path: Path, *problems: str) -> FoundAgent:
    return FoundAgent(path=path, format=folder.format, origin=folder.origin, trusted=False, problems=problems)


def _files(folder: Folder, unread: list[FoundAgent]) -> list[Path]:
    """The agent files of a folder; what cannot be looked into is added to `unread`."""

    def note(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            unread.append(_unread(folder, Path(error.filename), f"this folder cannot be read: {error.strerror}"))

    suffix = CLIENTS[folder.format].suffix
    found: list[Path] = []
    for parent, folders, names in os.walk(folder.path, onerror=note):
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if folder.deep else []
        found += [Path(parent) / name for name in sorted(names) if _is_agent(name, suffix)]
        if len(found) > MOST_FILES:
            unread.append(_unread(folder, folder.path, f"only {MOST_FILES} of its files are read; remove some"))
            break
    return found[:MOST_FILES]


def _is_agent(name: str, suffix: str) -> bool:
    return name.endswith(suffix) and name[0] not in "_." and name.lower() != "readme.md"


def _declared(folder: Folder) -> Iterator[FoundAgent]:
    """Agents that the client's settings name, each with the file that says the rest."""
    beside = CLIENTS[folder.format].settings
    settings = None if beside is None else folder.path.parent / beside
    if settings is None or not os.path.lexists(settings):
        return
    reader = import_module(f".foreign_{folder.format}", __package__)
    try:
        rows = reader.declared_roles(text_of(settings), str(settings))
    except DefinitionError as error:
        yield _unread(folder, settings, *error.problems)
        return
    for name, row in rows.items():
        path = Path(os.path.normpath(settings.parent / os.path.expanduser(row["config_file"])))
        agent: Agent | None = None
        problems: tuple[str, ...] = ()
        try:
            agent = reader.declared_role(_read(path, folder)[0], str(path), name, row)
        except DefinitionError as error:
            problems = error.problems
        yield msgspec.structs.replace(_unread(folder, path, *problems), agent=agent)
