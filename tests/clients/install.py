"""Installs the pinned clients from npm, below the user's cache folder.

`clients.json` pins each client and everything it needs, with the digest of every package; npm refuses a package that
does not match. Install scripts are not run. `python -m tests.clients.install` writes the file anew for these versions.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

PINS = Path(__file__).with_name("clients.json")
VERSIONS = {
    "claude_code": "2.1.325",
    "codex": "0.166.0",
    "gemini_cli": "0.61.0",
    "opencode": "1.18.33",
    "qwen_code": "0.24.4",
    "copilot": "1.0.102",
    "pi": "0.74.2",
    "continue": "1.5.47",
    "cline": "3.0.65",
}
HOOKED = {"droid": "0.215.0", "goose": "1.52.0"}
"""Clients of which only the hooks are tried, and of droid the edits."""
EARLIER = {"codex_in_lf": "0.128.0"}
"""Versions before, of which only one thing is tried: the last Codex that writes changed lines with LF."""
NODE = "24.21.0"
OLDEST_NODE = {"gemini_cli": 20, "qwen_code": 22, "pi": 20, "continue": 20}
"""The oldest Node that a client written for Node runs on."""

_PACKAGES = {
    # client: package and program. {arch}: a package for each processor, whose program needs no Node.
    "claude_code": ("@anthropic-ai/claude-code-linux-{arch}@{version}", "claude"),
    "codex": ("@openai/codex@{version}-linux-{arch}", "vendor/{cpu}-unknown-linux-musl/bin/codex"),
    "codex_in_lf": ("@openai/codex@{version}-linux-{arch}", "vendor/{cpu}-unknown-linux-musl/codex/codex"),
    "gemini_cli": ("@google/gemini-cli@{version}", ".bin/gemini"),
    "opencode": ("opencode-linux-{arch}@{version}", "bin/opencode"),
    "qwen_code": ("@qwen-code/qwen-code@{version}", ".bin/qwen"),
    "copilot": ("@github/copilot-linux-{arch}@{version}", "copilot"),
    "pi": ("@earendil-works/pi-coding-agent@{version}", ".bin/pi"),
    "continue": ("@continuedev/cli@{version}", ".bin/cn"),
    "cline": ("@cline/cli-linux-{arch}@{version}", "bin/cline"),
    "droid": ("@factory/cli-linux-{arch}@{version}", "bin/droid"),
    "goose": ("@aaif/goose-binary-linux-{arch}@{version}", "bin/goose"),
    "node": ("node-linux-{arch}@{version}", "bin/node"),
}
_PROCESSORS = {"x64": "x86_64", "arm64": "aarch64"}
_ONLY_FOR_READING = frozenset(("license", "funding", "engines", "deprecated", "hasInstallScript"))
_SECONDS = 300


def program(client: str) -> Path:
    """The program of a client, installed if it is not there yet."""
    arch = next((arch for arch, cpu in _PROCESSORS.items() if cpu == platform.machine()), None)
    if arch is None:
        raise SystemExit(f"the clients are not pinned for {platform.machine()}")
    package, path = _PACKAGES[client]
    inside = f"program-{arch}" if "{arch}" in package else ""
    found = _installed(client) / "node_modules" / inside / path.format(cpu=_PROCESSORS[arch])
    if not found.is_file():  # npm passes over an optional package that it cannot get
        raise SystemExit(f"npm did not install {found}; remove {_installed(client)} and try again")
    return found


def node_for(client: str) -> Path | None:
    """The Node that a client needs: the system's where it is new enough, else one from npm."""
    oldest = OLDEST_NODE.get(client)
    if oldest is None:
        return None
    found = shutil.which("node")
    if found is not None:
        version = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
        if (major := re.match(r"v(\d+)", version)) and int(major[1]) >= oldest:
            return Path(found)
    return program("node")


def ripgrep() -> Path:
    """The ripgrep that Codex brings along: other clients would download one when they search."""
    return program("codex").parents[1] / "codex-path" / "rg"


def _installed(client: str) -> Path:
    lock = json.loads(PINS.read_text())[client]
    digest = hashlib.sha256(json.dumps(lock, sort_keys=True).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dragoman-clients"
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / f"{client}-{digest}"
    with (cache / f"{client}.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=cache, prefix=f".{client}-") as temporary:
                made = Path(temporary) / "client"
                made.mkdir()
                (made / "package.json").write_text(json.dumps({"private": True, **lock["packages"][""]}))
                (made / "package-lock.json").write_text(json.dumps(lock))
                _npm("ci", made)
                made.rename(folder)
    return folder


def _npm(command: str, folder: Path, *more: str) -> None:
    quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--no-progress")
    done = subprocess.run(
        ["npm", command, *quiet, *more], cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    if done.returncode:
        raise SystemExit(f"npm {command} failed in {folder}:\n{(done.stdout + done.stderr)[:2_000]}")


def pinned(client: str, version: str) -> dict[str, Any]:
    """What npm installs for a client, as its lock file says it; no address is kept, so that any registry will do."""
    package = _PACKAGES[client][0].format(version=version, arch="{arch}")
    if "{arch}" in package:
        wanted = {f"program-{arch}": f"npm:{package.format(arch=arch)}" for arch in _PROCESSORS}
        manifest = {"optionalDependencies": wanted}
    else:
        name, _, number = package.rpartition("@")
        manifest = {"dependencies": {name: number}}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "package.json").write_text(json.dumps({"private": True, **manifest}))
        _npm("install", folder, "--package-lock-only", "--omit-lockfile-registry-resolved")
        lock: dict[str, Any] = json.loads((folder / "package-lock.json").read_text())
    # An optional package that the registry does not have is not in the lock, which `npm ci` would then refuse.
    found = {path.rpartition("node_modules/")[2] for path in lock["packages"]}
    for about in lock["packages"].values():
        if "optionalDependencies" in about:
            optional = about["optionalDependencies"].items()
            about["optionalDependencies"] = {name: wanted for name, wanted in optional if name in found}
    packages = {
        path: {key: value for key, value in about.items() if key not in _ONLY_FOR_READING}
        for path, about in lock["packages"].items()
    }
    return {"lockfileVersion": lock["lockfileVersion"], "requires": True, "packages": packages}


def _written(locks: dict[str, dict[str, Any]]) -> str:
    """The locks as JSON with one package on each line."""
    texts = []
    for client, lock in locks.items():
        head = json.dumps({key: value for key, value in lock.items() if key != "packages"})[1:-1]
        rows = [f"  {json.dumps(path)}: {json.dumps(about)}" for path, about in lock["packages"].items()]
        texts.append(f'{json.dumps(client)}: {{{head}, "packages": {{\n' + ",\n".join(rows) + "\n}}")
    return "{\n" + ",\n".join(texts) + "\n}\n"


if __name__ == "__main__":
    PINS.write_text(
        _written(
            {
                client: pinned(client, version)
                for client, version in (VERSIONS | HOOKED | EARLIER | {"node": NODE}).items()
            }
        )
    )
