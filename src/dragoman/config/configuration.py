"""The settings that hold: every layer read, a project's own file held to its rules, and the result for this process."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from dragoman.errors import ConfigError, nearest

from .files.folders import current_folder, system_folder
from .kinds import Kind, judged
from .layers import (
    PREFIX,
    Layer,
    LayerValue,
    Origin,
    Reader,
    built,
    default_layer,
    environment_layer,
    file_layer,
    flag_layer,
    merged,
    read_settings_file,
)
from .projects import PROJECT_FOLDER, Project, Trust, digest, find_project, project_file, trust_of
from .settings import Key, Secret, Settings, fields_of


class Refusal(msgspec.Struct, frozen=True):
    """A setting of a project's file that does not hold, and why."""

    key: str
    origin: Origin
    reason: str
    trust_helps: bool = True


DATA_SUFFIXES: Final = (".toml", ".yaml", ".yml")
"""How the names of plugin files end that are data; all others are Python."""


def plugin_files(folder: Path) -> list[Path]:
    """The plugin files of a folder, without those whose names begin with `_` or `.`."""
    named = (file for file in folder.glob("*") if file.suffix in (".py", *DATA_SUFFIXES))
    return sorted(file for file in named if file.is_file() and file.name[0] not in "_.")


class PluginFolder(msgspec.Struct, frozen=True):
    """A place to look for plugin files.

    `digests` binds the files to what the user trusted; `refused` says why nothing of it may be loaded.
    """

    path: Path
    refused: str | None = None
    digests: dict[str, str] | None = None
    may_be_missing: bool = False


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """The settings in force, where each came from, and warnings about them.

    `values` has every setting by its dotted key, with its origin; `refusals` are settings of the project that are
    ignored.
    """

    settings: Settings
    values: dict[str, LayerValue]
    warnings: tuple[str, ...]
    refusals: tuple[Refusal, ...]
    config_dir: Path
    data_dir: Path
    cache_dir: Path
    project: Project | None
    layers: tuple[Layer, Layer, Layer] = ({}, {}, {})
    """What the values are made of: the user's file over the defaults, what holds of the project's, what is above it."""

    def with_profile(self, name: str) -> Configuration:
        """The same settings with another profile chosen; `ConfigError` when there is none of that name."""
        below, project, above = self.layers
        found = LayerValue(name, Origin("flag", "profile"), fields_of(Settings)["profile"])
        above = {**above, ("profile",): found}
        values = _with_profile(below, project, above)
        return msgspec.structs.replace(
            self,
            settings=built(Settings, values),
            values={".".join(path): found for path, found in values.items()},
            layers=(below, project, above),
        )

    def stated_by(self, profile: str) -> dict[str, Any]:
        """The values that a profile sets, by the key that each has outside of the profile."""
        values = merged(*self.layers)
        return {".".join(path[2:]): one.value for path, one in values.items() if path[:2] == ("profiles", profile)}

    def states(self, key: str, profile: str) -> bool:
        """Whether a value in force was set by this profile."""
        return self.values[key].origin.profile == profile

    @property
    def user_file(self) -> Path:
        """The user's settings file, whether or not it exists."""
        return self.config_dir / "config.toml"

    def is_own(self, key: str) -> bool:
        """Whether the value in force is the user's own or a default: no project's file set it.

        What imports a file because of a setting asks here too, so that a wrong kind alone does no harm.
        """
        return self.values[key].origin.layer != "project"

    def is_vouched(self, key: str) -> bool:
        """Whether the value in force is the user's own, a default, or of a trusted project."""
        return self.is_own(key) or (self.project is not None and self.project.trust.state == "trusted")

    @property
    def untrusted(self) -> str | None:
        """Why settings of the project are ignored, and what to run to trust it; `None` when it is trusted."""
        trusted = self.project is None or self.project.trust.state == "trusted"
        return None if trusted or self.project is None else _why_untrusted(self.project)

    def is_set(self, key: str) -> bool:
        """Whether some layer sets this value, so that it is not the default."""
        return self.values[key].origin.layer != "default"

    @property
    def plugin_folders(self) -> tuple[PluginFolder, ...]:
        """The folders plugins are loaded from: the user's, those of the settings, the project's if trusted."""
        own = PluginFolder(self.config_dir / "plugins", may_be_missing=True)
        named = tuple(PluginFolder(path) for path in self.settings.plugins.folders)
        return (own, *named, *self._project_plugins())

    def _project_plugins(self) -> tuple[PluginFolder, ...]:
        if self.project is None or not self.project.plugins.is_dir():
            return ()
        if self.project.trust.state != "trusted":
            return (PluginFolder(self.project.plugins, refused=_why_untrusted(self.project)),)
        inside = f"{PROJECT_FOLDER}/plugins/"
        digests = self.project.trust.digests.items()
        bound = {name.removeprefix(inside): value for name, value in digests if name.startswith(inside)}
        return (PluginFolder(self.project.plugins, digests=bound),)


def load(
    *,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
    project_at: Path | None = None,
    profile: str | None = None,
) -> Configuration:
    """Reads every layer. The project is looked for from `project_at`, or from the current folder.

    `profile` chooses one, as the setting of that name does. What is wrong is a ConfigError: all of one's own layers at
    once, then all of the project's file.
    """
    flags = {**(flags or {}), "profile": profile} if profile is not None else flags
    cwd = current_folder() if cwd is None else cwd
    own = _own_layers(cwd, os.environ if environ is None else environ, flags or {})
    root = find_project(project_at or cwd)
    written = project_file(root) if root else None
    projected = [file_layer("project", *written, base=root)] if root and written else []
    _raise_problems(projected)
    project = _project(root, written, own.data_dir) if root else None
    trusted = project is not None and project.trust.state == "trusted"
    admitted, refusals = _admitted(projected[0].found if projected else {}, own.merged, trusted=trusted)
    values = _with_profile(own.below, admitted, own.above)
    return Configuration(
        settings=built(Settings, values),
        values={".".join(path): found for path, found in values.items()},
        warnings=(*own.warnings, *_project_warnings(project, refusals)),
        refusals=tuple(refusals),
        config_dir=own.config_dir,
        data_dir=own.data_dir,
        cache_dir=own.merged["cache_dir",].value,
        project=project,
        layers=(own.below, admitted, own.above),
    )


def _with_profile(below: Layer, project: Layer, above: Layer) -> Layer:
    """All layers in one. What the chosen profile states comes over the files, and below the environment and flags."""
    values = merged(below, project, above)
    chosen = values["profile",]
    if chosen.value is None:
        return values
    inside = ("profiles", chosen.value)
    stated = {path: found for path, found in values.items() if path[:2] == inside}
    if not stated:
        known = dict.fromkeys(path[1] for path in values if path[0] == "profiles")
        there = f" There are {', '.join(known)}." if known else " No settings define one: write [profiles.NAME]."
        raise ConfigError(
            f'there is no profile "{chosen.value}" ({chosen.origin}).{nearest(chosen.value, known)}{there}'
        )
    profile = {
        path[2:]: msgspec.structs.replace(found, origin=msgspec.structs.replace(found.origin, profile=chosen.value))
        for path, found in stated.items()
    }
    return merged(below, project, profile, above)


def data_dir(*, flags: Mapping[str, object] | None = None) -> Path:
    """The folder recordings and trust are kept in, without a look at any project's file."""
    return _own_layers(current_folder(), os.environ, flags or {}).data_dir


def own_folders() -> tuple[Path, Path, Path]:
    """The folders of settings, of data and of caches, where the environment or the system puts them.

    No settings file is read: what one says of them is in `Configuration`.
    """
    cwd, data, cache = current_folder(), os.environ.get(f"{PREFIX}DATA_DIR"), os.environ.get(f"{PREFIX}CACHE_DIR")
    return (
        _config_dir(os.environ, cwd),
        cwd / os.path.expanduser(data) if data else system_folder("user_data_path"),
        cwd / os.path.expanduser(cache) if cache else system_folder("user_cache_path"),
    )


class _OwnLayers(msgspec.Struct, frozen=True, kw_only=True):
    """The user's own layers: those a project's file stands above (`below`) and those that stand above it."""

    below: Layer
    above: Layer
    config_dir: Path
    warnings: tuple[str, ...]

    @property
    def merged(self) -> Layer:
        return merged(self.below, self.above)

    @property
    def data_dir(self) -> Path:
        folder: Path = self.merged["data_dir",].value
        return folder


def _own_layers(cwd: Path, environ: Mapping[str, str], flags: Mapping[str, object]) -> _OwnLayers:
    folder = _config_dir(environ, cwd)
    file = folder / "config.toml"
    content = read_settings_file(file)
    user = [] if content is None else [file_layer("user", file, content, base=folder)]
    environment, warnings = environment_layer(environ, cwd)
    flagged = flag_layer(flags, cwd)
    _raise_problems([*user, *environment, *flagged])
    defaults = Settings(data_dir=system_folder("user_data_path"), cache_dir=system_folder("user_cache_path"))
    return _OwnLayers(
        below=merged(default_layer(defaults), *(reader.found for reader in user)),
        above=merged(*(reader.found for reader in (*environment, *flagged))),
        config_dir=folder,
        warnings=(*warnings, *_exposed_secrets(user, file)),
    )


def _config_dir(environ: Mapping[str, str], cwd: Path) -> Path:
    chosen = environ.get(f"{PREFIX}CONFIG_DIR")
    return Path(os.path.normpath(cwd / os.path.expanduser(chosen))) if chosen else system_folder("user_config_path")


def _raise_problems(readers: Sequence[Reader]) -> None:
    problems = [problem for reader in readers for problem in reader.problems]
    if problems:
        raise ConfigError("\n".join(problems))


def _project(root: Path, written: tuple[Path, bytes] | None, data_dir: Path) -> Project:
    trust = trust_of(root, data_dir)
    file = written[0] if written else None
    if written and trust.state == "trusted":
        # The settings were read before the digests were taken: what was read must be what is trusted.
        name = written[0].relative_to(root).as_posix()
        if trust.digests.get(name) != digest(written[1]):
            trust = Trust("changed", trust.digests, (name,))
    return Project(root, file, trust)


def _admitted(project: Layer, own: Layer, *, trusted: bool) -> tuple[Layer, list[Refusal]]:
    """What of a project's file holds. It is measured against all of the user's own layers, flags included."""
    admitted: Layer = {}
    refusals = []
    for path, found in project.items():
        field = found.field
        assert field.kind is not None  # a table was taken apart
        verdict = judged(
            field.kind,
            found.value,
            _own_value(path, found, own),
            strictest_first=field.strictest_first,
            trusted=trusted,
        )
        if verdict.refusal is None or (field.kind is Kind.RULES and verdict.value):
            admitted[path] = msgspec.structs.replace(found, value=verdict.value)
        if verdict.refusal is not None:
            refusals.append(Refusal(".".join(path), found.origin, verdict.refusal, verdict.trust_helps))
    return admitted, refusals


def _own_value(path: Key, found: LayerValue, own: Layer) -> Any:
    """The value that holds without the project."""
    if path in own:
        return own[path].value
    if path[0] == "profiles":  # it would take the place of the setting outside of the profile
        return _own_value(path[2:], found, own)
    fallback = tuple((found.field.unset_means or "").split("."))
    if fallback not in own:
        return found.field.default
    # For one provider or model another default may hold, and what is said of one tool would take its place too.
    order = found.field.strictest_first
    others = [one.value for key, one in own.items() if key[2:] == ("policy", "default") and one.value in order]
    return min(own[fallback].value, *others, key=order.index) if others else own[fallback].value


def _exposed_secrets(user: Sequence[Reader], path: Path) -> list[str]:
    holds_secret = any(isinstance(found.value, Secret) for reader in user for found in reader.found.values())
    if not holds_secret or os.name != "posix" or not path.stat().st_mode & 0o077:
        return []
    return [f"{path} holds a key and others can read it. Run: chmod 600 {_quoted(path)}"]


def _project_warnings(project: Project | None, refusals: Sequence[Refusal]) -> list[str]:
    if project is None:
        return []
    warnings = [f"{refusal.origin.source}: {_told(refusal)} is ignored: {refusal.reason}" for refusal in refusals]
    plugins = project.trust.state != "trusted" and project.plugins.is_dir() and bool(plugin_files(project.plugins))
    if plugins:
        warnings.append(f"{project.plugins}: these plugins are not loaded: they need trust")
    if plugins or any(refusal.trust_helps for refusal in refusals):
        warnings.append(_why_untrusted(project))
    return warnings


def _told(refusal: Refusal) -> str:
    return refusal.key if refusal.origin.line is None else f"{refusal.key} (line {refusal.origin.line})"


def _why_untrusted(project: Project) -> str:
    # A name may hold line breaks: what follows them would pass for words of ours.
    names = ", ".join(one if one.isprintable() else repr(one)[1:-1] for one in project.trust.changed)
    changed = f" any more: changed since ({names})" if names else ""
    return f"this project is not trusted{changed}. Read its files, then run: dragoman trust {_quoted(project.root)}"


def _quoted(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))


MASK: Final = "********"
_SECRET_WORDS: Final = ("key", "token", "secret", "password", "authorization", "credential", "cookie")


def shown(key: str, value: Any) -> Any:
    """A value as it may be shown: plain data, with everything secret masked."""
    if isinstance(value, Secret):
        return MASK
    if isinstance(value, dict):
        return {name: shown(f"{key}.{name}", inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [shown(key, inner) for inner in value]
    # What is passed on to a provider untouched has no field to mark it by, so its name must tell.
    if isinstance(value, str) and ".options." in key and any(word in key.lower() for word in _SECRET_WORDS):
        return MASK
    if isinstance(value, str) and "://" in value:
        return _without_credentials(value)
    return msgspec.to_builtins(value, enc_hook=os.fspath)


def _without_credentials(url: str) -> str:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
    except ValueError:
        return MASK
    host = f"{MASK}@{parts.netloc.rpartition('@')[2]}" if "@" in parts.netloc else parts.netloc
    return parts._replace(netloc=host, query=MASK if parts.query else "").geturl()


_current: Configuration | None = None

Chosen = Configuration | msgspec.UnsetType | None
"""What a `configuration` parameter takes: the settings to go by, or `None` to read none at all.

Left out (`UNSET`), the settings of this process hold: every layer that the command line reads, under the same rules.
"""


def chosen(configuration: Chosen) -> Configuration | None:
    """The settings that a `configuration` parameter selects."""
    return current() if isinstance(configuration, msgspec.UnsetType) else configuration


def current() -> Configuration:
    """The configuration of this process: the one given to `use`, otherwise read once and kept.

    What the user should know about it (settings of an untrusted project that are ignored, a key that others can read)
    is logged as a warning when it is read. A command shows the warnings itself, and calls `use`.
    """
    global _current
    if _current is None:
        _current = load()
        if _current.warnings:
            import logging

            log = logging.getLogger("dragoman.config")
            for warning in _current.warnings:
                log.warning("%s", warning)
    return _current


def use(configuration: Configuration | None) -> None:
    """Makes this the configuration of the process. With `None` it is read again when it is next needed."""
    global _current
    _current = configuration
