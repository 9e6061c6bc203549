"""What a command cannot do from inside a sandbox of the command line, run by root and by a user without rights."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.attack.nobody import NOBODY, as_nobody
from tests.engine.loopback import Turn, loopback

PATH = os.environ["PATH"]
SECONDS = 120
KEY = "sk-ant-0123456789"
SECRETS = (
    *(".ssh/id_ed25519", ".gnupg/private-keys-v1.d/x.key", ".password-store/bank.gpg", ".aws/credentials"),
    *(".config/gcloud/credentials.db", ".azure/msal_token_cache.json", ".kube/config", ".docker/config.json", ".netrc"),
    *(".npmrc", ".pypirc", ".cargo/credentials.toml", ".config/gh/hosts.yml", ".git-credentials", ".mozilla/key4.db"),
    *(".config/google-chrome/Default/Cookies", ".config/BraveSoftware/x", ".local/share/keyrings/login.keyring"),
    *(".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".config/dragoman/config.toml"),
    *(".local/share/dragoman/kept.sqlite", ".local/share/opencode/storage/x", ".factory/auth.json", ".bash_history"),
    *(".m2/settings.xml", ".gradle/gradle.properties", ".config/Code/User/globalStorage/state.vscdb"),
    *(".local/share/atuin/history.db", ".mcp-auth/tokens.json", ".zen/key4.db", ".config/Slack/Cookies", ".doppler/x"),
)


class Somebody:
    """A user at a machine, with a home full of secrets and a workspace in it."""

    def __init__(self, home: Path, name: str) -> None:
        self.home, self.name, self.work = home, name, home / "work"
        self.work.mkdir()
        for path in SECRETS:
            self.write(path, f"# MARKER of {path}\n").chmod(0o600)
        self.write("notes.txt", "public\n")
        self.write("work/file.txt", "text\n")

    def write(self, path: str, text: str) -> Path:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def own(self) -> None:
        """Everything in the home belongs to its user."""
        if self.name == "nobody":
            for path in (self.home, *self.home.rglob("*")):
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)

    def _as(self, words: Sequence[str]) -> list[str]:
        self.own()
        return list(words) if self.name == "root" else as_nobody(list(words))

    def git(self, *words: str, where: str = "work") -> str:
        environ = {"PATH": PATH, "HOME": str(self.home), "GIT_CONFIG_GLOBAL": "/dev/null"}
        me = ("-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "protocol.file.allow=always")
        words = ("git", *me, "-C", str(self.home / where), *words)
        return subprocess.run(self._as(words), env=environ, capture_output=True, text=True, check=True).stdout

    def dragoman(self, *words: str, cwd: str = "work", **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._as([sys.executable, "-m", "dragoman", *words]),
            cwd=self.home / cwd,
            env={"PATH": PATH, "HOME": str(self.home), "LANG": "C.UTF-8", **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def runs(self, command: str, *words: str, cwd: str = "work", **environ: str) -> Any:
        """What `dragoman tool run_command` gives."""
        given = self.dragoman("tool", "run_command", f"command={command}", "--json", *words, cwd=cwd, **environ)
        assert given.stdout, given.stderr
        return json.loads(given.stdout)

    def attempts(self, commands: Mapping[str, str], *words: str, **environ: str) -> set[str]:
        """Which of these commands end well, each in a shell of its own."""
        script = "\n".join(f"( {one} ) >/dev/null 2>&1 </dev/null && echo {name}" for name, one in commands.items())
        return set(self.runs(script, *words, **environ)["stdout"].split())

    def files(self, where: str = "") -> dict[str, str]:
        """Every file below a folder of the home, with what it holds."""
        root = self.home / where
        return {
            str(path.relative_to(root)): path.read_text(errors="replace") if path.is_file() else "(folder)"
            for path in sorted(root.rglob("*"))
        }


@pytest.fixture
def home() -> Iterator[Path]:
    """A home folder, away from the temporary folder that bubblewrap hides."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


@pytest.fixture(params=["root", "nobody"])
def somebody(home: Path, request: pytest.FixtureRequest) -> Somebody:
    return Somebody(home, str(request.param))


@pytest.fixture
def nobody(home: Path) -> Somebody:
    return Somebody(home, "nobody")


# ── files ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mechanism", ["bubblewrap", "landlock"])
def test_a_command_of_the_command_line_stays_in_the_workspace(somebody: Somebody, mechanism: str) -> None:
    """Nothing outside the workspace is changed, for root and for a user without rights; work inside goes on."""
    home = somebody.home
    before = {path: text for path, text in somebody.files().items() if not path.startswith("work")}
    done = somebody.attempts(
        {
            "make": f"echo >{home}/made",
            "change": f"echo more >>{home}/notes.txt",
            "empty": f"truncate -s 0 {home}/notes.txt",
            "remove": f"rm {home}/notes.txt",
            "move": f"mv {home}/notes.txt .",
            "link": f"ln {home}/notes.txt linked",
            "through": f"ln -s {home}/notes.txt link && echo more >>link",
            "startup": f"mkdir -p {home}/.config/autostart && echo >{home}/.config/autostart/x",
            "temporary": "echo >/var/tmp/made-by-a-sandbox",
            "kernel": "now=$(cat /proc/sys/kernel/core_pattern) && echo $now >/proc/sys/kernel/core_pattern",
            "mount": f"mount -o remount,rw / || mount --bind . {home}",
            "namespace": f"unshare -rm sh -c 'mount -o remount,rw,bind / && echo >{home}/made'",
            "ours": 'echo >in && echo >"$TMPDIR/in" && cat file.txt',
        },
        *("--sandbox", mechanism),
    )
    assert done == {"ours"}
    assert {path: text for path, text in somebody.files().items() if not path.startswith("work")} == before
    assert not os.path.exists("/var/tmp/made-by-a-sandbox")


@pytest.mark.parametrize("mechanism", ["bubblewrap", "landlock"])
def test_secrets_in_the_home_folder_cannot_be_read(somebody: Somebody, mechanism: str) -> None:
    """Keys, credentials, browsers and dragoman's own settings in the home folder cannot be read by a command."""
    each = " ".join(f"{somebody.home}/{path}" for path in SECRETS)
    ways = f"cat {each}; for file in {each}; do cp $file copy; dd if=$file; cat <$file; cat copy; done"
    given = somebody.runs(f"{ways}; grep -rs . {somebody.home}", "--sandbox", mechanism)
    assert "public" in given["stdout"], "what is no secret can be read"
    assert "MARKER" not in given["stdout"] + given["stderr"]
    opened = somebody.runs("cat ~/.netrc", "--sandbox", mechanism, DRAGOMAN_SANDBOX__READABLE='["~/.netrc"]')
    assert opened["stdout"] == "# MARKER of .netrc\n", "a user can open what is hidden"


def test_secrets_stay_hidden_where_the_home_folder_is_the_workspace(nobody: Somebody) -> None:
    """Where the home folder is the workspace, secrets can neither be read nor be moved to where they could be."""
    moves = ("mv ~/.config ~/x", "mv ~/.config/gcloud ~/y", "mv ~/.ssh ~/z", "mv ~/.local ~/l", "ln ~/.netrc ~/n")
    look = "grep -rs MARKER ~"
    first = nobody.runs("; ".join([*moves, look]), "--sandbox", "bubblewrap", cwd="")
    second = nobody.runs(look, "--sandbox", "bubblewrap", cwd="")
    assert "MARKER" not in first["stdout"] + second["stdout"]
    forged = "mkdir -p ~/.local/share/dragoman/trusted && echo '{}' >~/.local/share/dragoman/trusted/forged.json"
    assert nobody.runs(forged, "--sandbox", "bubblewrap", cwd="")["exit_code"] != 0
    assert not list(nobody.home.rglob("forged.json"))


# ── what steers Git and dragoman ─────────────────────────────────────────────


def control(somebody: Somebody) -> dict[str, str]:
    """What in the workspace steers Git and dragoman."""
    found = somebody.files("work")
    parts = {"hooks", "config", "commondir", "gitdir", "config.worktree"}
    folders = {".git", "mirror.git"}
    git = {path for path in found if folders & set(path.split("/")) and not parts.isdisjoint(path.split("/"))}
    pointers = {path for path in found if path.endswith("/.git") and found[path] != "(folder)"}
    named = {"dragoman.toml", ".dragoman", ".mcp.json", ".husky", ".gitconfig", "more", "hooks", "later"}
    ours = {path for path in found if path.split("/")[0] in named}
    return {path: found[path] for path in sorted(ours | git | pointers)}


def steering(somebody: Somebody) -> dict[str, str]:
    """A repository with a submodule, others in it, a further working tree and hooks elsewhere; and ours."""
    somebody.git("init", "-q", "-b", "main", ".")
    somebody.git("commit", "-q", "--allow-empty", "-m", "one")
    (somebody.home / "other").mkdir()
    somebody.git("init", "-q", ".", where="other")
    somebody.git("commit", "-q", "--allow-empty", "-m", "one", where="other")
    somebody.git("submodule", "-q", "add", f"{somebody.home}/other", "libs/other")
    somebody.git("clone", "-q", f"{somebody.home}/other", "vendored")
    somebody.git("clone", "-q", "--bare", f"{somebody.home}/other", "mirror.git")
    somebody.git("worktree", "add", "-q", f"{somebody.home}/tree")
    shutil.rmtree(somebody.work / "vendored" / ".git" / "hooks")
    (somebody.work / "vendored" / ".git" / "hooks").mkdir()
    somebody.git("config", "core.hooksPath", ".husky/_")
    somebody.git("config", "include.path", "../.gitconfig")
    somebody.write("work/.gitconfig", "[include]\n\tpath = more/settings\n[include]\n\tpath = later/settings\n")
    somebody.write("work/more/settings", "[core]\n\thooksPath = later/hooks\n")
    somebody.write(".gitconfig", "[core]\n\thooksPath = hooks\n")
    for path in (".husky/_/pre-commit", "hooks/post-checkout", "dragoman.toml", ".dragoman/agents/a.md", ".mcp.json"):
        somebody.write(f"work/{path}", "" if path.endswith("toml") else "{}")
    return control(somebody)


EVIL = "'[core]\\n\\tfsmonitor = touch ran; false\\n'"
STEERING = {
    "hook": "echo evil >.git/hooks/pre-commit",
    "samples": "rm -r .git/hooks || rm .git/hooks/*",
    "swap": "mv .git/hooks .git/old",
    "config": f"printf {EVIL} >.git/config",
    "replace": f"printf {EVIL} >x && mv x .git/config",
    "link": "ln -sf ../x .git/config",
    "command": "git config core.fsmonitor 'touch ran'",
    "hooks_path": "git config core.hooksPath evil",
    "husky": "echo evil >.husky/_/pre-commit || mv .husky .husky2",
    "included": f"printf {EVIL} >.gitconfig || mv .gitconfig x",
    "included_by_it": f"printf {EVIL} >more/settings || mv more x",
    "of_all_repositories": "echo evil >hooks/pre-commit || mv hooks x",
    "move": "mv .git elsewhere",
    "pointer": "echo 'gitdir: evil' >libs/other/.git",
    "pointed": "echo 'gitdir: evil' >x && mv x libs/other/.git",
    "module": f"printf {EVIL} >.git/modules/libs/other/config",
    "module_hook": "echo evil >.git/modules/libs/other/hooks/pre-commit",
    "modules": "mv .git/modules .git/old",
    "tree": "echo ../../../evil >.git/worktrees/tree/commondir || mv .git/worktrees/tree .git/worktrees/old",
    "nested": f"printf {EVIL} >vendored/.git/config || echo evil >vendored/.git/hooks/post-checkout",
    "nested_move": "mv vendored/.git vendored/x",
    "bare": f"printf {EVIL} >mirror.git/config || echo evil >mirror.git/hooks/post-update || mv mirror.git x",
    "settings": "echo 'model = 1' >>dragoman.toml || mv dragoman.toml x || rm dragoman.toml",
    "agents": "echo evil >.dragoman/agents/a.md || echo >.dragoman/new || mv .dragoman x",
    "servers": "echo evil >.mcp.json || rm .mcp.json",
    "modes": "chmod 777 .git/hooks || chmod +x .git/config",
}


def test_what_steers_git_and_dragoman_cannot_be_changed(somebody: Somebody) -> None:
    """Hooks and settings of repositories in the workspace, and dragoman's files, are the same after any command."""
    before = steering(somebody)
    assert (somebody.attempts(STEERING, "--sandbox", "bubblewrap"), control(somebody)) == (set(), before)
    for made in ("mkdir -p evil && echo ../evil >.git/commondir", f"mkdir later; printf {EVIL} >later/settings"):
        assert "removed" in somebody.runs(made, "--sandbox", "bubblewrap")["stderr"]
        shutil.rmtree(somebody.work / "later", ignore_errors=True)
    hooks = somebody.runs("mkdir -p later/hooks; echo evil >later/hooks/pre-commit", "--sandbox", "bubblewrap")
    assert f"renamed {somebody.work}/later/hooks to hooks.unused-1" in hooks["stderr"]
    shutil.rmtree(somebody.work / "later")
    assert control(somebody) == before
    commit = "git -c user.name=me -c user.email=me@example.org -c core.hooksPath=/dev/null commit -qm two"
    work = f"echo more >>file.txt && git add file.txt && {commit} && git checkout -qb side && git log --format=%s -n1"
    assert somebody.runs(work, "--sandbox", "bubblewrap")["stdout"] == "two\n", "Git works inside"


def test_a_repository_taken_apart_by_a_command_is_protected_from_the_next(nobody: Somebody) -> None:
    """A command that removes parts of a repository does not free its hooks and settings for a later command."""
    before = steering(nobody)
    parts = (".git", ".git/modules/libs/other", "vendored/.git")
    apart = "; ".join(f"rm -rf {part}/HEAD {part}/objects {part}/refs" for part in parts)
    assert nobody.runs(apart, "--sandbox", "bubblewrap")["exit_code"] == 0
    assert (nobody.attempts(STEERING, "--sandbox", "bubblewrap"), control(nobody)) == (set(), before)


def test_changes_that_landlock_cannot_prevent_are_reported(nobody: Somebody) -> None:
    """Where Landlock is all there is, a command that changed hooks or settings of a repository is reported."""
    nobody.git("init", "-q", ".")
    given = nobody.runs("echo evil >.git/hooks/pre-commit; git config core.fsmonitor evil", "--sandbox", "landlock")
    assert f"{nobody.work}/.git/hooks and {nobody.work}/.git/config changed while this ran" in given["stderr"]
    assert "changed" not in nobody.runs("true", "--sandbox", "landlock").get("stderr", "")


def test_what_the_user_closes_is_closed_also_behind_links_and_around_the_workspace(nobody: Somebody) -> None:
    """`hidden` and `read_only` hold where a link leads and for the workspace itself; nothing of them is ignored."""
    nobody.write("elsewhere/env", "TOKEN=MARKER")
    nobody.write("work/real/page", "text")
    for name, target in ((".env", "../elsewhere/env"), ("docs", "real")):
        (nobody.work / name).symlink_to(target)
    closed = {"DRAGOMAN_SANDBOX__HIDDEN": '[".env"]', "DRAGOMAN_SANDBOX__READ_ONLY": '["docs"]'}
    look = "cat .env ~/elsewhere/env; echo evil >docs/page; echo evil >real/page; cat real/page; echo fine >in; cat in"
    assert nobody.runs(look, "--sandbox", "bubblewrap", **closed)["stdout"] == "textfine\n"
    assert "MARKER" not in nobody.runs(look, "--sandbox", "landlock", **closed)["stdout"]
    for mechanism in ("bubblewrap", "landlock"):
        whole = nobody.runs(
            "echo >made || echo >$TMPDIR/x && echo kept", "--sandbox", mechanism, DRAGOMAN_SANDBOX__READ_ONLY='["/"]'
        )
        assert (whole["stdout"], (nobody.work / "made").exists()) == ("kept\n", False)
        refused = nobody.dragoman(
            "tool", "run_command", "command=ls", "--sandbox", mechanism, DRAGOMAN_SANDBOX__HIDDEN='["/"]'
        )
        assert refused.returncode != 0
        assert "No command can run in a sandbox that hides / from it" in refused.stdout + refused.stderr


# ── models and projects ──────────────────────────────────────────────────────

# Counted, since the key itself would be masked in what is shown; and not found in the words of the search itself.
FIND_KEY = "grep -asl 'sk-an[t]-0123' /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ /proc/[0-9]*/cmdline | wc -l"


@pytest.mark.parametrize("mechanism", ["bubblewrap", "landlock"])
async def test_a_command_of_a_model_cannot_read_the_providers_key(somebody: Somebody, mechanism: str) -> None:
    """A command of a model cannot read the provider's key from dragoman's process, not even as root."""
    look = Turn("I look.", calls=(("c1", "Bash", {"command": FIND_KEY}),))
    async with loopback(look, Turn("Done.")) as server:
        done = await asyncio.to_thread(
            somebody.dragoman,
            *("run", "--yes", "--no-record", "--sandbox", mechanism, "--tools", "run_command", "find it"),
            ANTHROPIC_API_KEY=KEY,
            ANTHROPIC_BASE_URL=server.url,
        )
    assert done.returncode == 0, done.stderr
    (result,) = [part for part in server.requests[1].body["messages"][-1]["content"] if part["type"] == "tool_result"]
    assert str(result["content"]).strip() == "0", result


async def test_a_model_cannot_leave_the_sandbox_without_a_yes_of_its_own(nobody: Somebody) -> None:
    """With `--yes` a model can neither run a command outside, nor write a hook or a setting that is run outside."""
    nobody.git("init", "-q", ".")
    out = nobody.home / "notes.txt"
    calls: tuple[Any, ...] = (
        ("c1", "Bash", {"command": f"echo evil >>{out}", "dangerouslyDisableSandbox": True}),
        ("c2", "Write", {"file_path": ".git/hooks/pre-commit", "content": "evil"}),
        ("c3", "Write", {"file_path": "dragoman.toml", "content": "[sandbox]\nmode = 'off'\n"}),
        ("c4", "Write", {"file_path": "allowed.txt", "content": "fine"}),
    )
    before = control(nobody)
    async with loopback(Turn("I try.", calls=calls), Turn("Done.")) as server:
        done = await asyncio.to_thread(
            nobody.dragoman,
            *("run", "--yes", "--no-record", "try"),
            ANTHROPIC_API_KEY=KEY,
            ANTHROPIC_BASE_URL=server.url,
        )
    assert done.returncode == 0, done.stderr
    assert "dangerouslyDisableSandbox" not in json.dumps(server.requests[0].body["tools"])
    assert (out.read_text(), control(nobody)) == ("public\n", before)
    assert (nobody.work / "allowed.txt").read_text() == "fine"


def test_a_project_cannot_loosen_the_sandbox(nobody: Somebody) -> None:
    """No file of a project, trusted or not, switches the sandbox off, opens paths or lets commands leave it."""
    nobody.write(
        "work/dragoman.toml",
        f"[sandbox]\nmode = 'off'\nwritable = ['{nobody.home}']\nreadable = ['~/.ssh']\nunsandboxed = 'allow'\n",
    )
    for _ in range(2):
        given = nobody.runs("cat ~/.ssh/id_ed25519; echo >~/made; echo >>~/notes.txt")
        assert (given["stdout"], given["sandbox"]) == ("", "bubblewrap")
        assert (nobody.home / "notes.txt").read_text() == "public\n"
        assert nobody.dragoman("trust").returncode == 0


# ── other programs, other machines ───────────────────────────────────────────


def test_other_programs_are_out_of_reach_through_their_sockets(nobody: Somebody) -> None:
    """From bubblewrap no socket in /run or /tmp, none of an agent and no abstract one leads to a program outside."""
    name = f"dragoman-test-{os.getpid()}"
    agent = f"/var/tmp/{name}"
    places = [f"/run/{name}", f"/tmp/{name}", f"\0{name}", agent]
    with ExitStack() as stack:
        for place in places:
            server = stack.enter_context(socket.socket(socket.AF_UNIX))
            server.bind(place)
            server.listen()
            if not place.startswith("\0"):
                stack.callback(os.unlink, place)
                os.chmod(place, 0o777)
        connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1].replace(chr(64), chr(0)))"
        names = [place.replace("\0", "@") for place in places]
        attempts = {str(number): f"/usr/bin/python3 -c '{connect}' {name}" for number, name in enumerate(names)}
        assert nobody.attempts(attempts, "--sandbox", "bubblewrap", SSH_AUTH_SOCK=agent) == set()
        assert nobody.attempts(attempts, "--sandbox", "off") == set("0123"), "the attack works without"


@pytest.mark.parametrize("mechanism", ["bubblewrap", "landlock"])
def test_a_command_can_neither_write_to_the_users_terminal_nor_read_from_it(nobody: Somebody, mechanism: str) -> None:
    """A command cannot paint over a question on the terminal that it was asked at, nor take its answer."""
    ours, theirs = os.openpty()
    try:
        name = os.ttyname(theirs)
        os.chown(name, NOBODY, NOBODY)
        os.write(ours, b"yes\n")
        ways = {
            "write": f"echo evil >{name}",
            "read": f"timeout 5 head -c 1 {name}",
            "both": f"timeout 5 cat {name} <>{name}",
        }
        assert nobody.attempts(ways, "--sandbox", mechanism) == set()
        assert nobody.attempts({"write": ways["write"]}, "--sandbox", "off") == {"write"}, "the attack works without"
    finally:
        os.close(ours)
        os.close(theirs)


def test_landlock_is_used_where_bubblewrap_may_not_work(nobody: Somebody) -> None:
    """Where bubblewrap is installed and not allowed to work, commands run in Landlock."""
    nobody.own()
    words = ["bwrap", "--unshare-user", "--disable-userns", "--dev-bind", "/", "/", "--"]
    words += [sys.executable, "-m", "dragoman", "tool", "run_command", f"command=echo >{nobody.home}/made", "--json"]
    environ = {"PATH": PATH, "HOME": str(nobody.home)}
    given = subprocess.run(
        as_nobody(words), cwd=nobody.work, env=environ, capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert json.loads(given.stdout)["sandbox"] == "landlock", given.stderr
    assert not (nobody.home / "made").exists()
