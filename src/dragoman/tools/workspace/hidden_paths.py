"""Where secrets are kept on a machine, so that commands in a sandbox are kept from reading them.

Folders that hold nothing but one program's own data are hidden whole: a single file that another program replaces
while a command runs would show up again.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final

_EDITORS: Final = (
    *(f".config/{name}" for name in ("Code*", "VSCodium", "Cursor", "Windsurf")),
    *(f".{name}/data" for name in ("vscode-server*", "vscode-remote", "cursor-server", "windsurf-server")),
    *(f"Library/Application Support/{name}" for name in ("Code*", "VSCodium", "Cursor", "Windsurf")),
)

IN_HOME: Final = (
    # Keys and password stores.
    *(".ssh", ".gnupg", ".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".config/op"),
    *(".config/keepassxc", ".config/Bitwarden*", ".vault-token", ".Xauthority", ".ICEauthority", ".config/sops"),
    *(".bitcoin", ".ethereum", ".electrum", ".config/solana", ".config/1Password", ".config/rbw", ".local/share/rbw"),
    *(".lpass", ".local/share/lpass", ".config/age", ".doppler", ".config/doppler", ".infisical", ".tsh"),
    # What holds the sockets of agents, which sign with keys for whoever asks.
    *(".1password", ".bitwarden-ssh-agent.sock", ".var/app/com.bitwarden.desktop", ".proton-pass"),
    # What was typed, keys among it.
    *(".bash_history", ".zsh_history", ".python_history", ".psql_history", ".mysql_history", ".local/share/fish"),
    *(".zhistory", ".histfile", ".history", ".local/share/atuin", ".local/share/powershell", ".node_repl_history"),
    *(".sqlite_history", ".rediscli_history", ".mariadb_history", ".irb_history", ".duckdb_history", ".lesshst"),
    # Clouds and clusters.
    *(".aws", ".config/gcloud", ".azure", ".kube", ".oci", ".config/doctl", ".config/hcloud", ".fly", ".terraform.d"),
    *(".terraformrc", ".s3cfg", ".boto", ".config/rclone", ".databrickscfg", ".config/openstack", ".netlify"),
    *(".wrangler", ".config/.wrangler", ".local/share/com.vercel.cli", ".config/heroku", ".config/configstore"),
    *(".config/ngrok", ".ngrok2", ".pulumi", ".supabase", ".config/stripe", ".aliyun", ".tccli", ".bluemix"),
    *(".config/scw", ".config/linode-cli", ".config/exoscale", ".config/netlify", ".config/turborepo", ".railway"),
    *(".snowflake", ".config/snowflake", ".snowsql", ".dbt/profiles.yml", ".minikube/profiles", ".config/argocd"),
    # Package registries and container engines, whose sockets lead out of any sandbox.
    *(".docker", ".config/containers", ".colima", ".lima", ".rd", ".orbstack", ".finch", ".netrc", "_netrc"),
    *(".local/share/containers/podman", ".npmrc", ".pypirc"),
    *(".cargo/credentials*", ".gem/credentials", ".m2/settings*.xml", ".config/composer/auth.json"),
    *(".composer/auth.json", ".config/helm/registry", ".gradle/gradle.properties", ".yarnrc.yml", ".bunfig.toml"),
    *(".config/pip", ".pip", ".local/share/uv/credentials", ".config/pypoetry/auth.toml", ".nuget/NuGet/NuGet.Config"),
    *(".config/NuGet", ".sbt/.credentials", ".ivy2/.credentials", ".bundle/config"),
    # Code hosts and databases.
    *(".git-credentials", ".config/git/credentials", ".config/gh", ".config/glab-cli", ".config/hub"),
    *(".pgpass", ".my.cnf", ".mylogin.cnf", ".subversion/auth", ".yarnrc", ".config/tea", ".local/share/DBeaverData"),
    # Model providers and coding agents: keys, and conversations in which keys were pasted.
    *(".claude", ".claude.json", ".codex", ".gemini", ".qwen", ".copilot", ".config/github-copilot", ".cline"),
    *(".continue", ".cursor", ".pi", ".local/share/opencode", ".config/opencode", ".local/share/kilo"),
    *(".config/claude", ".factory", ".kimi*", ".vibe", ".openhands", ".config/goose", ".local/share/goose"),
    *(".local/share/amp", ".config/amp", ".aider*", ".config/io.datasette.llm", ".cache/huggingface/token"),
    *(
        ".cache/huggingface/stored_tokens",
        ".huggingface",
        ".kaggle",
        ".config/anthropic",
        ".mcp-auth",
        ".ollama/id_ed25519",
    ),
    *(".config/Claude", "Library/Application Support/Claude", ".local/share/zed", ".local/share/crush"),
    # Editors keep keys and the conversations of their agents in these.
    *(f"{editor}/User/{kind}" for editor in _EDITORS for kind in ("globalStorage", "workspaceStorage", "History")),
    # Browsers and mail.
    *(".mozilla", ".librewolf", ".waterfox", ".thunderbird", ".config/google-chrome*", ".config/chromium"),
    *(".config/BraveSoftware", ".config/microsoft-edge*", ".config/vivaldi*", ".config/opera*", "snap/firefox"),
    *("snap/chromium", "snap/brave", "snap/thunderbird", ".var/app/org.mozilla.*", ".var/app/com.google.Chrome*"),
    *(".var/app/org.chromium.*", ".var/app/com.brave.Browser", ".var/app/com.microsoft.Edge*", ".zen", ".floorp"),
    *(".var/app/app.zen_browser.zen", ".var/app/io.gitlab.librewolf-community", ".var/app/com.vivaldi.Vivaldi"),
    *(".var/app/com.opera.Opera", ".var/app/org.gnome.Epiphany", ".local/share/epiphany", ".local/share/qutebrowser"),
    *(".config/yandex-browser", ".config/thorium", ".config/net.imput.helium", ".cache/mozilla"),
    # Messengers.
    *(".config/Slack", ".config/discord", ".config/Signal", ".config/Element", ".local/share/TelegramDesktop"),
    # macOS.
    *("Library/Keychains", "Library/Cookies", "Library/Safari", "Library/Application Support/Google/Chrome*"),
    *("Library/Application Support/Firefox", "Library/Application Support/Chromium"),
    *("Library/Application Support/BraveSoftware", "Library/Application Support/Microsoft Edge*"),
    *("Library/Application Support/Arc", "Library/Application Support/com.apple.TCC"),
)
"""Paths below a home folder; a part may be a glob."""

BY_VARIABLE: Final = (
    *("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG"),
    *("AZURE_CONFIG_DIR", "KUBECONFIG", "DOCKER_CONFIG", "NETRC", "NPM_CONFIG_USERCONFIG", "GH_CONFIG_DIR"),
    *("GNUPGHOME", "PASSWORD_STORE_DIR", "PGPASSFILE", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XAUTHORITY"),
    *(
        "HISTFILE",
        "PIP_CONFIG_FILE",
        "TF_CLI_CONFIG_FILE",
        "OCI_CLI_CONFIG_FILE",
        "DATABRICKS_CONFIG_FILE",
        "BOTO_CONFIG",
    ),
    *("HF_TOKEN_PATH", "SOPS_AGE_KEY_FILE", "MCP_REMOTE_CONFIG_DIR"),
    *("SSH_AUTH_SOCK", "DOCKER_HOST", "CONTAINER_HOST", "PODMAN_HOST", "DBUS_SESSION_BUS_ADDRESS"),
)
"""Variables that say where one of them is instead. `KUBECONFIG` may name several files, and some name a socket."""
_SOCKET: Final = re.compile(r"^unix:(?:path=|//)")

FOR_ROOT: Final = ("etc/shadow", "etc/shadow-", "etc/gshadow", "etc/gshadow-", "etc/ssl/private", "etc/ssh/*_key")
"""Only root can read these, so they are hidden from its commands alone."""


def homes() -> list[str]:
    """The home folders whose secrets this process could read: the user's own and, as root, everybody's."""
    import glob
    import pwd

    found = [os.path.expanduser("~")]
    with suppress(KeyError):  # a user without an entry, as in containers
        found.append(pwd.getpwuid(os.getuid()).pw_dir)
    if os.geteuid() == 0:
        found += ["/root", *glob.glob("/home/*")]
    return _distinct(os.path.realpath(home) for home in found if home not in ("", "/", "~"))


def secret_paths(environ: Mapping[str, str]) -> list[str]:
    """Every path with secrets that exists now, links resolved."""
    import glob

    places = [(home, name) for home in homes() for name in IN_HOME]
    places += [("/", name) for name in FOR_ROOT] if os.geteuid() == 0 else []
    found: list[str] = []
    for folder, name in places:
        # Most names are no globs, and looking for them as such would list every folder on the way.
        found += glob.glob(os.path.join(glob.escape(folder), name)) if "*" in name else [os.path.join(folder, name)]
    for name in BY_VARIABLE:
        value = environ.get(name, "")
        socket = _SOCKET.match(value)
        paths = value.split(os.pathsep) if socket is None else [value[socket.end() :].partition(",")[0]]
        found += [path for path in paths if os.path.isabs(path)]
    # Most are not there, and resolving takes long. A device is no secret: `~/.bash_history` may be a link to /dev/null.
    return _distinct(os.path.realpath(path) for path in found if _can_be_hidden(path))


def _can_be_hidden(path: str) -> bool:
    try:
        kind = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(kind) or stat.S_ISDIR(kind) or stat.S_ISSOCK(kind)


def _distinct(paths: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(paths))


def is_within(path: str, folder: str) -> bool:
    """Whether a path is the folder itself or something in it; both are absolute and normal."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def between(folder: str, path: str) -> Iterator[str]:
    """The folders on the way from `folder` to `path`, both left out, the outermost first."""
    parts = os.path.relpath(path, folder).split("/")
    for count in range(1, len(parts)):
        yield os.path.join(folder, *parts[:count])
