"""Keys of providers that `dragoman keys set` stored: in the system's keyring where there is one, else in a file.

Rule: a key is never in a settings file, on a command line or in output. The file is readable by its owner alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from dragoman.errors import ConfigError

from .private_file import replacing

_FILE: Final = "keys.json"
_SERVICE: Final = "dragoman"

Place = Literal["keyring", "file"]


class StoredKey(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the key of one provider is: `key` holds it, unless it is in the keyring."""

    place: Place
    key: str | None = None


def stored_keys(config_dir: Path) -> dict[str, StoredKey]:
    """What is stored, by provider; keys in the keyring are not read."""
    try:
        content = (config_dir / _FILE).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigError(f"{config_dir / _FILE}: cannot be read ({error.strerror})") from error
    try:
        return msgspec.json.decode(content, type=dict[str, StoredKey])
    except msgspec.DecodeError as error:
        raise ConfigError(f"{config_dir / _FILE}: cannot be read ({error}); set the keys again") from error


def stored_key(config_dir: Path, provider: str) -> str | None:
    """The stored key of a provider, or `None` when there is none."""
    found = stored_keys(config_dir).get(provider)
    if found is None or found.place == "file":
        return None if found is None else found.key
    ring = _keyring()
    with _keyring_errors():
        key: str | None = None if ring is None else ring.get_password(_SERVICE, provider)
    if key is None:
        raise ConfigError(f"the key of {provider} is no longer in the system's keyring: dragoman keys set {provider}")
    return key


def store_key(config_dir: Path, provider: str, key: str) -> Place:
    """Stores a key, and says where."""
    ring = _keyring()
    if ring is not None:
        with _keyring_errors():
            ring.set_password(_SERVICE, provider, key)
    row = StoredKey("file", key) if ring is None else StoredKey("keyring")
    with replacing(config_dir / _FILE) as write:
        write(msgspec.json.encode({**stored_keys(config_dir), provider: row}))
    return row.place


@contextmanager
def _keyring_errors() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # what a backend raises is its own: of D-Bus, of the system, of the package
        raise ConfigError(
            f"the system's keyring cannot be used ({str(error) or type(error).__name__}): unlock it, or set the "
            "variable PYTHON_KEYRING_BACKEND=keyring.backends.null.Keyring to keep keys in a file only you can read"
        ) from error


def _keyring() -> Any:
    """The keyring of this system, where the package `keyring` is installed and finds one that can be used."""
    try:
        import keyring  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    return keyring if getattr(keyring.get_keyring(), "priority", 0) >= 1 else None
