"""Which sandbox is chosen, what it is told, and what is said of it; what each keeps out is tested in tests/attack."""

from __future__ import annotations

import asyncio
import os
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from dragoman.config import Sandbox
from dragoman.errors import ConfigError, ToolError
from dragoman.logs.base.format import Places
from dragoman.model.operations import ReadOutput, RunCommand
from dragoman.model.outcomes import CommandOutcome
from dragoman.registry import FORMATS
from dragoman.tools.processes.landlock import landlock_version
from dragoman.tools.sandbox.bubblewrap import bubblewrap
from dragoman.tools.sandbox.layout import Layout, layout_of
from dragoman.tools.sandbox.mechanism import Mechanism
from dragoman.tools.sandbox.sandbox import Mode, choose, described
from dragoman.tools.sandbox.seatbelt import profile
from dragoman.tools.shell import Shell
from dragoman.tools.workspace.hidden_paths import is_within
from tests.tools.sandboxes import pretended_bubblewrap
from tests.tools.shells import PATIENCE, Bench, nothing_left

leaves_nothing = pytest.fixture(autouse=True)(nothing_left)

NOTHING = "bubblewrap is not installed, and this system has no Landlock"


# ── choosing ─────────────────────────────────────────────────────────────────


def test_without_a_sandbox_asked_for_none_is_looked_for() -> None:
    assert choose("off") == Mechanism(None)


@pytest.mark.parametrize("word", ["required", "Off", "", True, None])
def test_a_word_that_is_no_mode_is_refused_at_once(word: Any) -> None:
    attempts = (
        lambda: Shell(sandbox=word),
        lambda: Shell(sandbox=Sandbox(mode=word)),
        lambda: choose(word, path="", landlock=0),
    )
    for attempt in attempts:
        with pytest.raises(ConfigError) as failure:
            attempt()
        modes = '"off", "auto", "require", "bubblewrap", "landlock"'
        assert str(failure.value).startswith(f"there is no sandbox mode {word!r}; the modes are {modes}.")


def test_where_there_is_none_the_reasons_are_given() -> None:
    assert choose("auto", path="", landlock=0, platform="linux") == Mechanism(f"none: {NOTHING}")
    assert choose("auto", path="", landlock=2, platform="linux") == Mechanism(
        "none: bubblewrap is not installed, and this kernel's Landlock is version 2, 3 is needed"
    )
    assert choose("auto", path="", landlock=3, network=False, platform="linux") == Mechanism(
        "none: bubblewrap is not installed, and this kernel's Landlock is version 3, 4 is needed to close the network"
    )


@pytest.mark.parametrize(
    "mode, what, why",
    [
        ("require", "a sandbox", NOTHING),
        ("bubblewrap", "the sandbox bubblewrap", "bubblewrap is not installed"),
        ("landlock", "the sandbox landlock", "this system has no Landlock"),
    ],
)
def test_where_one_is_required_and_there_is_none_the_error_says_what_to_install(
    mode: Mode, what: str, why: str
) -> None:
    with pytest.raises(ToolError) as failure:
        choose(mode, path="", landlock=0, platform="linux")
    assert (failure.value.kind, failure.value.message) == (
        "denied",
        f"Commands must run in {what} here, and there is none: {why}. Nothing was run. "
        "Install bubblewrap (the package is named bubblewrap, the program bwrap) "
        "or use a Linux kernel of version 6.2 or newer with Landlock enabled.",
    )


def test_landlock_is_used_where_there_is_no_bubblewrap() -> None:
    # A kernel without Landlock is a machine on which this can only be told, not used.
    works = landlock_version() >= 3
    assert (choose("auto", path="").kind == "landlock") is works
    if works:
        expected = Mechanism("landlock", "landlock")
        assert choose("require", path="") == choose("landlock") == choose("auto", path="") == expected


def test_a_bubblewrap_that_may_not_do_its_work_is_not_used(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    program.chmod(0o755)
    assert choose("auto", path=str(tmp_path), landlock=0) == Mechanism(
        "none: bubblewrap does not work here (bwrap: No permissions to create new namespace), "
        "and this system has no Landlock"
    )


def test_a_program_that_is_called_bubblewrap_and_confines_nothing_is_not_used(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n')
    program.chmod(0o755)
    assert choose("auto", path=str(tmp_path), landlock=0) == Mechanism(
        "none: bubblewrap does not work here (a trial command could write outside its folder), "
        "and this system has no Landlock"
    )


def test_a_bubblewrap_that_does_its_work_is_used_and_tried_once(tmp_path: Path) -> None:
    program = pretended_bubblewrap(tmp_path)
    found = Mechanism("bubblewrap", "bubblewrap", str(program))
    assert choose("auto", path=str(tmp_path), landlock=3) == found
    program.write_text("#!/bin/sh\nexit 1\n")
    assert choose("bubblewrap", path=str(tmp_path)) == choose("require", path=str(tmp_path)) == found


def test_macos_has_its_own(tmp_path: Path) -> None:
    if not os.path.exists("/usr/bin/sandbox-exec"):
        assert choose("auto", platform="darwin") == Mechanism("none: this system has no sandbox-exec")
    with pytest.raises(ToolError, match="landlock is not available on this system"):
        choose("landlock", platform="darwin")


# ── what a sandbox is told ───────────────────────────────────────────────────

SYSTEM = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
NAMESPACES = ["--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]


def words_for(layout: Layout, *, network: bool = False) -> list[str]:
    with ExitStack() as stack:
        words, opened = bubblewrap("bwrap", layout, stack, cwd="/w", network=network)
        return [f"<{opened.index(int(word))}>" if word.isdigit() and int(word) in opened else word for word in words]


def test_what_bubblewrap_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    root, secret = tmp_path / "root", Path("/usr/lib")
    (root / ".git" / "hooks").mkdir(parents=True)
    layout = Layout(
        writable=(str(root),),
        temporary="/private",
        hidden=(str(secret), "/bin/sh", "/tmp", "/run/secrets"),
        shown=(str(secret / "shown"),),
        read_only=(str(root / ".git/hooks"),),
        pinned=(str(root / ".git"),),
    )
    words = words_for(layout)
    assert words[: len(NAMESPACES) + 7] == ["bwrap", *NAMESPACES, "--cap-drop", "ALL", "--unshare-net", *SYSTEM[:3]]
    mounts = words[words.index("/proc") + 1 :]
    assert "--bind /private /tmp --tmpfs /run" in " ".join(mounts)
    assert f"--perms 0111 --tmpfs {secret}" in " ".join(mounts)
    assert "--ro-bind /dev/null /bin/sh" in " ".join(mounts)
    assert [mounts.count(path) for path in ("/tmp", "/run", "/run/secrets")] == [1, 1, 0], "they are private anyway"
    inner = ["--bind", str(root), str(root), "--ro-bind", str(secret / "shown"), str(secret / "shown")]
    inner += ["--bind-fd", "<0>", str(root / ".git"), "--ro-bind-fd", "<1>", str(root / ".git/hooks")]
    assert all(word in mounts for word in inner)
    for nested in ((root, root / ".git", root / ".git/hooks"), (secret, secret / "shown")):
        places = [mounts.index(str(path)) for path in nested]
        assert places == sorted(places), "outer paths come before inner ones"
    assert mounts[-5:] == ["--remount-ro", str(secret), "--chdir", "/w", "--"]
    assert "--unshare-net" not in words_for(layout, network=True)


def test_root_keeps_only_what_it_needs_for_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    words = words_for(Layout(writable=("/w",), temporary="/private"))
    added = [words[place + 1] for place, word in enumerate(words) if word == "--cap-add"]
    kept = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "NET_BIND_SERVICE")
    assert added == [f"CAP_{name}" for name in kept]
    if os.path.exists("/proc/sys"):
        assert "--ro-bind /proc/sys /proc/sys" in " ".join(words), "there root could change the whole machine"


def test_what_was_replaced_by_a_link_is_not_bound(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / ".git").symlink_to(tmp_path)
    layout = Layout(writable=(str(tmp_path / "root"),), temporary="/private", pinned=(str(tmp_path / "root/.git"),))
    with pytest.raises(ToolError, match=r"\.git changed meanwhile \(it is a link now\)"):
        words_for(layout)


def test_the_profile_for_seatbelt() -> None:
    layout = Layout(
        writable=("/Users/me/work", "/Users/me/Library/Caches/pip"),
        temporary="/private/var/folders/x",
        hidden=("/Users/me/.ssh",),
        shown=("/Users/me/.ssh/known_hosts",),
        read_only=("/Users/me/work/.git/hooks", '/Users/me/work/.git/"odd"'),
        pinned=("/Users/me/work/.git",),
        redirects=("/Users/me/work/.git/commondir",),
    )
    assert profile(layout, network=False) == (
        "(version 1)\n"
        "(allow default)\n"
        "(deny appleevent-send)\n"
        "(deny lsopen)\n"
        "(deny job-creation)\n"
        "(deny user-preference-write)\n"
        "(deny signal)\n"
        "(allow signal (target same-sandbox))\n"
        "(deny file-write*)\n"
        '(allow file-write* (regex #"^/dev/(null|zero|fd/|ptmx|tty|pty|dtracehelper)"))\n'
        '(allow file-read* file-write* (subpath "/Users/me/work"))\n'
        '(deny file-read* file-write* (subpath "/Users/me/.ssh"))\n'
        '(allow file-read* file-write* (subpath "/private/var/folders/x"))\n'
        '(allow file-read* (subpath "/Users/me/.ssh/known_hosts"))\n'
        '(deny file-write* (literal "/Users/me/work/.git"))\n'
        '(allow file-read* file-write* (subpath "/Users/me/Library/Caches/pip"))\n'
        '(deny file-write* (subpath "/Users/me/work/.git/hooks"))\n'
        '(deny file-write* (subpath "/Users/me/work/.git/\\"odd\\""))\n'
        '(deny file-write* (literal "/Users/me/work/.git/commondir"))\n'
        "(deny network*)\n"
    )
    assert "(deny network*)" not in profile(layout, network=True)


class SeatbeltProfile:
    """What `sandbox-exec` makes of a profile: of the rules about an access, the last one decides."""

    # The operations and filters that are used, of those that Apple's own profiles and its guide know.
    OPERATIONS = frozenset(
        {"default", "file-read*", "file-write*", "network*", "signal", "appleevent-send", "lsopen", "job-creation"}
    ) | {"user-preference-write"}

    def __init__(self, text: str) -> None:
        words = re.findall(r'#?"(?:[^"\\]|\\.)*"|[()]|[^\s()"]+', text)
        assert "".join(words) == re.sub(r'("(?:[^"\\]|\\.)*")|\s', lambda found: found[1] or "", text)
        (version, *self.rules) = self._lists(iter(words))
        assert version == ["version", "1"]

    def _lists(self, words: Iterator[str]) -> list[Any]:
        found: list[Any] = []
        for word in words:
            if word == ")":
                return found
            found.append(self._lists(words) if word == "(" else word)
        return found

    def allows(self, operation: str, path: str = "/", *, same_sandbox: bool = False) -> bool:
        decided = None
        for verdict, *parts in self.rules:
            operations = [part for part in parts if isinstance(part, str)]
            assert verdict in ("allow", "deny")
            assert set(operations) <= self.OPERATIONS
            filters = [part for part in parts if not isinstance(part, str)]
            meant = any(one == "default" or fnmatchcase(operation, one) for one in operations)
            if meant and all(self._fits(kind, value, path, same_sandbox) for kind, value in filters):
                decided = verdict
        return decided == "allow"

    def _fits(self, kind: str, value: str, path: str, same_sandbox: bool) -> bool:
        if kind == "target":
            assert value == "same-sandbox"
            return same_sandbox
        if kind == "regex":
            return re.search(value.removeprefix("#")[1:-1], path) is not None
        named = re.sub(r"\\(.)", r"\1", value[1:-1])
        assert (kind, named[0]) in (("subpath", "/"), ("literal", "/"))
        return path == named or (kind == "subpath" and path.startswith(f"{named}/"))


FOLDERS = st.sampled_from(["a", "b", 'odd "name" \\', "c d"])
PATHS_OF_WORK = st.lists(FOLDERS, max_size=3).map(lambda names: "/".join(["/Users/me/work", *names]))


@given(st.data())
def test_under_the_profile_for_seatbelt_the_inner_of_two_rules_holds_and_nobody_outside_is_used(
    data: st.DataObject,
) -> None:
    """As its language is documented: the profile itself was never run by us."""
    some = st.lists(PATHS_OF_WORK, max_size=3).map(tuple)
    below = PATHS_OF_WORK.filter(lambda path: path != "/Users/me/work")
    hidden = data.draw(st.lists(below, max_size=2).map(tuple))
    library = "/Users/me/Library"
    layout = Layout(
        writable=("/Users/me/work", f"{library}/Caches/pip"),
        temporary="/private/tmp/x",
        hidden=(*hidden, f"{library}/shown/keys", library),
        shown=(f"{library}/shown",),
        read_only=data.draw(some),
    )
    network = data.draw(st.booleans())
    made = SeatbeltProfile(profile(layout, network=network))
    path = f"{data.draw(PATHS_OF_WORK)}/file"
    closed = any(is_within(path, one) for one in (*layout.hidden, *layout.read_only))
    assert made.allows("file-write-data", path) is not closed
    assert made.allows("file-read-data", path) is not any(is_within(path, one) for one in layout.hidden)
    for outside in ("/Users/me/other", "/Users/me/workshop/file", "/etc/hosts", "/private/tmp/y", "/Users/me"):
        assert (made.allows("file-write-create", outside), made.allows("file-read-data", outside)) == (False, True)
    for path in ("/private/tmp/x/file", "/dev/null", f"{library}/Caches/pip/file"):
        assert (made.allows("file-write-data", path), made.allows("file-read-data", path)) == (True, True)
    reads = [made.allows("file-read-data", f"{library}/{name}/file") for name in ("", "shown", "shown/keys")]
    assert reads == [False, True, False]
    assert not made.allows("file-write-data", f"{library}/shown/file")
    for operation in ("appleevent-send", "lsopen", "job-creation", "user-preference-write", "signal"):
        assert not made.allows(operation)
    assert made.allows("signal", same_sandbox=True)
    assert made.allows("network-outbound") is network
    assert made.allows("process-fork")


# ── what commands may touch ──────────────────────────────────────────────────


class Machine:
    """A user with a home folder, and a workspace in it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self.work = folder / "home", folder / "home" / "work"
        self.work.mkdir(parents=True)
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "XDG_CONFIG_HOME"):
            monkeypatch.delenv(name, raising=False)
        for name in ("CONFIG", "DATA", "CACHE"):
            monkeypatch.setenv(f"DRAGOMAN_{name}_DIR", str(self.home / ".dragoman-own" / name.lower()))

    def make(self, path: str, text: str | None = None) -> str:
        made = self.home / path
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(text) if text is not None else made.mkdir(exist_ok=True)
        return str(made)

    def repository(self, path: str) -> Path:
        folder = self.home / path
        for name in ("objects", "refs"):
            (folder / name).mkdir(parents=True)
        (folder / "HEAD").write_text("ref: refs/heads/main\n")
        return folder

    def layout(self, options: Sandbox | None = None, root: Path | None = None) -> Layout:
        from dragoman.tools.workspace.git_control import repositories

        where = str(root or self.work)
        found = layout_of(options or Sandbox(), where, "/private", repositories(where))
        ours = str(self.home)
        return Layout(
            writable=found.writable,
            temporary=found.temporary,
            # The machine's real user has a home with secrets too.
            hidden=tuple(path for path in found.hidden if path.startswith(ours)),
            shown=found.shown,
            read_only=found.read_only,
            pinned=found.pinned,
            redirects=found.redirects,
        )


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_secrets_in_the_home_folder_are_hidden_where_they_are(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = machine.make("elsewhere/keys")
    (machine.home / ".ssh").symlink_to(real)
    expected = {real, machine.make(".netrc", ""), machine.make(".cargo/credentials.toml", "")}
    expected |= {machine.make(".config/google-chrome-beta"), machine.make(".config/gcloud"), machine.make(".codex")}
    expected |= {machine.make("moved/kubeconfig", ""), machine.make(".dragoman-own/config")}
    monkeypatch.setenv("KUBECONFIG", f"{machine.home}/moved/kubeconfig:relative:/nowhere")
    machine.make(".gitconfig", "")
    machine.make(".cargo/config.toml", "")
    assert set(machine.layout().hidden) == expected


@pytest.mark.parametrize("client", [name for name in FORMATS if name != "dragoman"])
def test_every_folder_that_a_client_keeps_sessions_in_is_hidden(machine: Machine, client: str) -> None:
    """Keys are pasted into conversations, and many clients keep their own keys beside them."""
    homes = FORMATS[client].homes(Places(machine.home))
    for home in homes:
        home.mkdir(parents=True, exist_ok=True)
    hidden = machine.layout().hidden
    assert [str(home) for home in homes if not any(is_within(str(home), folder) for folder in hidden)] == []


def test_our_own_conversations_are_hidden_until_the_user_opens_them(machine: Machine) -> None:
    data = machine.make(".dragoman-own/data")
    assert machine.layout().hidden == (data,)
    assert machine.layout(Sandbox(readable=("~/.dragoman-own/data",))).hidden == ()


def test_what_the_user_opens_is_open_and_what_anybody_closes_is_closed(machine: Machine) -> None:
    ssh, known, aws = machine.make(".ssh"), machine.make(".ssh/known_hosts", ""), machine.make(".aws")
    cache, notes, env = machine.make(".cache/pip"), machine.make("notes"), machine.make("work/.env", "")
    own, docs = machine.make("work/dragoman.toml", ""), machine.make("work/docs")
    options = Sandbox(
        writable=("~/.cache/pip", "dragoman.toml", "/nowhere"),
        readable=("~/.aws", "~/.ssh/known_hosts", "~/notes"),
        hidden=("~/notes", ".env", "missing"),
        read_only=("docs", "missing"),
    )
    assert machine.layout(options) == Layout(
        writable=(str(machine.work), cache),
        temporary="/private",
        hidden=(ssh, notes, env),
        shown=(known, notes),
        read_only=(docs,),
    )
    assert machine.layout().hidden == (ssh, aws)
    assert machine.layout().read_only == (own,)


def test_secrets_are_hidden_where_links_and_variables_lead_and_devices_are_left_alone(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = machine.make("dotfiles/ssh")
    (machine.home / ".ssh").symlink_to(kept)
    (machine.home / ".bash_history").symlink_to("/dev/null")
    history = machine.make("elsewhere", "typed")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("HISTFILE", history)
    found = layout_of(Sandbox(), str(machine.work), "/private", [])
    assert {kept, history} <= set(found.hidden)
    assert "/dev/null" not in found.hidden


def test_a_link_in_the_workspace_opens_nothing_outside(machine: Machine) -> None:
    secret = machine.make(".ssh")
    (machine.work / "link").symlink_to(machine.home)
    (machine.work / "keys").symlink_to(secret)
    (machine.work / ".dragoman").symlink_to(machine.home)
    options = Sandbox(writable=("link", "link/.ssh"), readable=("keys",), read_only=("link",))
    found = machine.layout(options)
    assert (found.writable, found.hidden, found.read_only) == ((str(machine.work),), (secret,), ())


def test_what_is_closed_around_the_workspace_closes_the_workspace(machine: Machine) -> None:
    cache = machine.make(".cache/pip")
    for named in ("/", "~", ".", "~/work/../work"):
        found = machine.layout(Sandbox(read_only=(named,), writable=("~/.cache/pip",)))
        assert str(machine.work) in found.read_only
        assert (cache in found.read_only) is (named in ("/", "~"))
    assert str(machine.work) not in machine.layout(Sandbox(read_only=("~/.cache", "~/work-2"))).read_only


@pytest.mark.parametrize("named", ["/", ".", "~/work"])
def test_a_sandbox_that_hides_the_workspace_itself_is_refused_with_the_reason(machine: Machine, named: str) -> None:
    with pytest.raises(ToolError, match=r"hides /.* from it, as the setting sandbox\.hidden says") as failure:
        machine.layout(Sandbox(hidden=(named,)))
    assert failure.value.kind == "denied"
    working_on_settings = machine.layout(root=Path(machine.make(".claude")))
    assert working_on_settings.hidden == (), "who works in a folder that is hidden by default opens it"


def test_what_is_hidden_inside_of_something_opened_stays_hidden(machine: Machine) -> None:
    env, keys, notes = machine.make("work/.env", ""), machine.make("docs/mine/keys"), machine.make("docs/mine")
    outer = (machine.make("docs"), str(machine.home))
    found = machine.layout(Sandbox(hidden=(*outer, ".env", keys), readable=(notes,)))
    assert (found.hidden, found.shown) == ((outer[1], env, keys), (notes,))


def test_a_link_that_settings_close_is_closed_where_it_leads(machine: Machine) -> None:
    secret, docs = machine.make("elsewhere/secrets", "KEY=1"), machine.make("work/real")
    (machine.work / ".env").symlink_to(secret)
    (machine.work / "docs").symlink_to("real")
    (machine.work / "made-by-a-command").symlink_to("/")
    found = machine.layout(Sandbox(hidden=(".env", "made-by-a-command"), read_only=("docs", "made-by-a-command")))
    assert (found.hidden, found.read_only) == ((secret,), (docs,))


def test_sockets_of_agents_and_engines_are_hidden(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as stack:
        places = {name: machine.home / name for name in ("agent", "docker", "podman", ".bitwarden-ssh-agent.sock")}
        for place in places.values():
            monkeypatch.chdir(machine.home)  # the path of a socket may have 107 bytes
            stack.enter_context(socket.socket(socket.AF_UNIX)).bind(place.name)
        monkeypatch.setenv("SSH_AUTH_SOCK", str(places["agent"]))
        monkeypatch.setenv("DOCKER_HOST", f"unix://{places['docker']}")
        monkeypatch.setenv("CONTAINER_HOST", f"unix:path={places['podman']},guid=1")
        hidden = machine.layout().hidden
    assert set(hidden) == {str(place) for place in places.values()}


def test_hooks_and_settings_of_a_bare_repository_are_closed_and_none_are_made(machine: Machine) -> None:
    bare, sample = machine.repository("work/mirror.git"), machine.repository("work/tests/sample")
    machine.make("work/mirror.git/hooks")
    (bare / "config").write_text("\ufeff[core]\n\tbare = true\n\thooksPath = more\n")
    machine.make("work/mirror.git/more")
    found = machine.layout()
    assert set(found.read_only) == {f"{bare}/hooks", f"{bare}/config", f"{bare}/more"}
    assert set(found.pinned) == {str(bare), str(sample)}
    assert set(found.redirects) == {
        f"{bare}/commondir",
        *(f"{sample}/{name}" for name in ("commondir", "hooks", "config")),
    }
    assert sorted(os.listdir(sample)) == ["HEAD", "objects", "refs"]
    assert machine.layout(root=bare).read_only == (f"{bare}/hooks", f"{bare}/config", f"{bare}/more")


def test_hooks_and_settings_of_a_repository_are_closed(machine: Machine) -> None:
    git = machine.repository("work/.git")
    found = machine.layout()
    assert found.read_only == (f"{git}/hooks", f"{git}/config")
    assert found.pinned == (str(git),)
    assert found.redirects == (f"{git}/commondir",)
    assert ((git / "hooks").is_dir(), (git / "config").read_text()) == (True, ""), "what is missing could be made"


def test_hooks_and_settings_that_are_elsewhere_are_closed_too(machine: Machine) -> None:
    git = machine.repository("work/.git")
    (git / "config").write_text(
        '# a comment\n[core]\n\thooksPath = ".husky/_" ; the hooks\n[include] path = ../shared.gitconfig\n'
        '[includeIf "gitdir:~/"]\n  path = missing\n[remote "origin"]\n  path = ../not-this\n'
    )
    hooks, shared = machine.make("work/.husky/_"), machine.make("work/shared.gitconfig", "")
    machine.make("work/not-this", "")
    (git / "config.worktree").write_text("")
    assert machine.layout() == Layout(
        writable=(str(machine.work),),
        temporary="/private",
        read_only=(f"{git}/hooks", f"{git}/config", f"{git}/config.worktree", hooks, shared),
        pinned=(str(git), str(machine.work / ".husky")),
        redirects=(f"{git}/commondir", f"{git}/missing"),
    )


def test_what_settings_name_is_closed_however_it_is_named_and_before_it_is_there(machine: Machine) -> None:
    git = machine.repository("work/.git")
    (git / "config").write_text(
        "[extensions]\n\tworktreeConfig = true\n[include]\n\tpath = ../a.cfg\n[core]\n\thooksPath = l\\\nater\n"
        '[include] path = "nul\0"\n[include] path =\n'
    )
    (git / "config.worktree").write_text("[core] hooksPath = tree\n")
    chain = [machine.make(f"work/{name}", text) for name, text in (("a.cfg", "[include] path=deep/b.cfg\n"),)]
    chain.append(machine.make("work/deep/b.cfg", "[include] path = ../a.cfg\n[include] path = c.cfg\n"))
    named = [machine.make(f"work/{name}") for name in ("global", "tree")]
    machine.make(".gitconfig", "[core]\n\thooksPath = global\n")
    found = machine.layout()
    own = (f"{git}/hooks", f"{git}/config", f"{git}/config.worktree")
    assert (set(found.read_only), len(found.read_only)) == ({*own, *chain, *named}, 7)
    assert found.redirects == (f"{git}/commondir", f"{machine.work}/later", f"{machine.work}/deep/c.cfg")
    lifted = machine.layout(Sandbox(writable=("later",)))
    assert lifted.redirects == (f"{git}/commondir", f"{machine.work}/deep/c.cfg")


def test_a_repository_whose_hooks_are_a_link_is_closed_whole(machine: Machine) -> None:
    git = machine.repository("work/.git")
    (git / "hooks").symlink_to(machine.home)
    assert machine.layout().read_only == (str(git),)
    assert machine.layout().pinned == ()


def test_repositories_in_the_workspace_and_submodules_are_closed(machine: Machine) -> None:
    outer = machine.repository("work/.git")
    module = machine.repository("work/.git/modules/libs/one")
    pointer = machine.make("work/libs/one/.git", "gitdir: ../../.git/modules/libs/one\n")
    nested = machine.repository("work/vendor/two/.git")
    machine.repository("work/node_modules/three/.git")
    found = machine.layout()
    assert set(found.read_only) == {
        *(f"{folder}/{name}" for folder in (outer, module, nested) for name in ("hooks", "config")),
        pointer,
    }
    # Folders over a nested repository can be renamed: see `_above`.
    assert set(found.pinned) == {
        *(str(outer), str(outer / "modules"), str(outer / "modules/libs"), str(module), str(nested)),
        *(str(machine.work / "libs"), str(machine.work / "libs/one")),
    }


def test_a_further_working_tree_keeps_its_pointer_and_where_it_points_to(machine: Machine) -> None:
    main = machine.repository("main/.git")
    linked = main / "worktrees" / "work"
    linked.mkdir(parents=True)
    (linked / "commondir").write_text("../..\n")
    (linked / "gitdir").write_text(f"{machine.work}/.git\n")
    pointer = machine.make("work/.git", f"gitdir: {linked}\n")
    assert machine.layout().read_only == (pointer,)
    found = machine.layout(Sandbox(writable=("~/main",)))
    assert set(found.read_only) == {
        *(pointer, f"{linked}/commondir", f"{linked}/gitdir", f"{main}/hooks", f"{main}/config")
    }
    assert set(found.pinned) == {str(main), str(main / "worktrees"), str(linked)}


@pytest.mark.parametrize("missing", ["HEAD", "objects", "refs"])
def test_a_repository_without_one_of_its_parts_is_closed_all_the_same(machine: Machine, missing: str) -> None:
    git = machine.repository("work/.git")
    module = machine.repository("work/.git/modules/one")
    for folder in (git, module):
        machine.layout()  # makes what is missing, as the first command does
        (folder / missing).rename(machine.home / f"{missing}-{folder.name}")
    closed = {f"{folder}/{name}" for folder in (git, module) for name in ("hooks", "config")}
    assert set(machine.layout().read_only) == closed


def test_further_working_trees_cannot_be_sent_elsewhere(machine: Machine) -> None:
    git = machine.repository("work/.git")
    machine.make("work/.git/worktrees/one/commondir", "../..\n")
    (git / "config").write_text("[extensions]\n\tworktreeConfig = true\n")
    closed = ("hooks", "config", "config.worktree", "worktrees/one/commondir")
    found = machine.layout()
    assert found.read_only == tuple(f"{git}/{name}" for name in closed)
    assert set(found.pinned) == {str(git), f"{git}/worktrees", f"{git}/worktrees/one"}
    assert (git / "config.worktree").read_text() == "", "Git would read it, so a command must not make it"


def test_what_is_no_repository_yet_is_left_alone(machine: Machine) -> None:
    machine.make("work/.git")
    assert machine.layout() == Layout(writable=(str(machine.work),), temporary="/private")
    assert os.listdir(machine.work / ".git") == []


def test_where_the_home_folder_is_the_workspace_our_own_folders_are_made_and_closed(machine: Machine) -> None:
    secret = machine.make(".config/gcloud")
    found = machine.layout(root=machine.home)
    own = machine.home / ".dragoman-own"
    assert found == Layout(
        writable=(str(machine.home),),
        temporary="/private",
        hidden=(secret, str(own / "config"), str(own / "data")),
        read_only=(str(own / "data"), str(own / "cache")),
        pinned=(str(machine.home / ".config"), str(own)),
    )


# ── what is said ─────────────────────────────────────────────────────────────


def test_a_sandbox_is_described_in_one_line() -> None:
    options = Sandbox()
    assert described(Mechanism(None), options) == "none (sandbox.mode is off)"
    assert described(Mechanism(f"none: {NOTHING}"), options) == f"none ({NOTHING})"
    assert described(Mechanism("bubblewrap", "bubblewrap", "/usr/bin/bwrap"), options) == (
        "bubblewrap (writes only in the workspace and a temporary folder, network on, "
        "secrets in the home folder hidden)"
    )
    assert described(Mechanism("landlock", "landlock"), Sandbox(network=False)) == (
        "landlock (writes only in the workspace and a temporary folder, network off (TCP, not UDP), secrets in the "
        "home folder unreadable; does not protect .git/hooks, .git/config and other read-only paths in the workspace, "
        "hide other processes or block sockets that are files)"
    )


@pytest.fixture
def pretended(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which bubblewrap is found."""
    folder = tmp_path_factory.mktemp("bin")
    pretended_bubblewrap(folder)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


async def test_the_outcome_says_what_the_command_ran_in(tmp_path: Path, pretended: None) -> None:
    async with Bench(tmp_path, sandbox="auto") as bench:
        given = await bench.run("echo here >file; cat file")
        assert given == CommandOutcome(exit_code=0, stdout="here\n", stderr="", sandbox="bubblewrap")
        job = await bench.do(RunCommand("true", background=True))
        assert job == CommandOutcome(running=True, job="2", sandbox="bubblewrap")


async def test_nobody_leaves_the_sandbox_without_leave(tmp_path: Path, pretended: None) -> None:
    for options in ("auto", Sandbox(unsandboxed="deny")):
        async with Bench(tmp_path, sandbox=options) as bench:
            failure = await bench.failure(RunCommand("touch file", unsandboxed=True))
            assert (failure.kind, failure.message) == (
                "denied",
                "Running outside the sandbox is not allowed here: run it inside.",
            )
            assert not (tmp_path / "file").exists()
            assert not bench.shell.enclosure.can_be_left
    async with Bench(tmp_path, sandbox=Sandbox(mode="require", unsandboxed="ask")) as bench:
        assert bench.shell.enclosure.can_be_left
        given = await bench.run("true", unsandboxed=True)
        assert given == CommandOutcome(exit_code=0, stdout="", stderr="", sandbox="none: it was asked to run outside")
    async with Bench(tmp_path) as bench:
        assert await bench.run("true", unsandboxed=True) == CommandOutcome(exit_code=0, stdout="", stderr="")
        assert not bench.shell.enclosure.can_be_left


REFUSALS = (
    "touch: cannot touch '/etc/x': Read-only file system",
    "bash: /root/x: Permission denied",
    "error: could not write config file .git/config: Device or resource busy",
    "Error: EROFS: read-only file system, open '/root/.npm/x'",
    "OSError: [Errno 30] Read-only file system: '/x'",
    "error: Permission denied (os error 13)",
)


def note(way: str) -> str:
    return (
        "dragoman: this ran in a sandbox (bubblewrap): writes only in the workspace (but not .git/hooks, .git/config "
        "and dragoman's own files) and $TMPDIR, no access to keys and passwords in the home folder. "
        f"If it failed because of that, {way}\n"
    )


async def test_a_command_that_fails_because_of_the_sandbox_says_so(tmp_path: Path, pretended: None) -> None:
    async with Bench(tmp_path, sandbox=Sandbox()) as bench:
        told = note("ask to run it outside the sandbox")
        for refusal in REFUSALS:
            (tmp_path / "said").write_text(refusal + "\n")
            given = await bench.run("cat said >&2; exit 3")
            assert (given.stderr, given.exit_code) == (f"{refusal}\n{told}", 3)
        assert (await bench.run("cat said; exit 1")).stderr == told
        assert (await bench.run("cat said", job="standing")).stderr == ""
        assert (await bench.run("cat said; false", job="standing")).stderr == told
        assert (await bench.run("cat said")).stderr == ""
        assert (await bench.run("echo other >&2; exit 1")).stderr == "other\n"
    async with Bench(tmp_path, sandbox="auto") as bench:
        told = note("it cannot be run outside the sandbox here")
        assert (await bench.run("cat said; exit 1")).stderr == told
    async with Bench(tmp_path) as bench:
        assert (await bench.run("cat said; exit 1")).stderr == ""


async def test_a_command_that_needs_the_network_is_told_where_there_is_none(tmp_path: Path, pretended: None) -> None:
    command = "echo 'curl: (6) Could not resolve host: example.org' >&2; exit 6"
    async with Bench(tmp_path, sandbox=Sandbox(network=False)) as bench:
        assert (await bench.run(command)).stderr == (
            "curl: (6) Could not resolve host: example.org\n"
            "dragoman: this ran in a sandbox (bubblewrap): no network. If it failed because of that, "
            "ask to run it outside the sandbox\n"
        )
    async with Bench(tmp_path, sandbox="auto") as bench:
        assert (await bench.run(command)).stderr == "curl: (6) Could not resolve host: example.org\n"


async def test_a_job_is_told_when_its_end_is_read(tmp_path: Path, pretended: None) -> None:
    async with Bench(tmp_path, sandbox="auto") as bench:
        await bench.run("echo Permission denied >&2; exit 1", background=True)
        read = await bench.do(ReadOutput("1", block=True))
        assert "dragoman: this ran in a sandbox (bubblewrap)" in read.stderr


async def test_a_file_that_sends_git_elsewhere_is_removed(tmp_path: Path, pretended: None) -> None:
    for name in ("objects", "refs"):
        (tmp_path / ".git" / name).mkdir(parents=True)
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    redirect, made = tmp_path / ".git" / "commondir", asyncio.Event()
    async with Bench(tmp_path, sandbox="auto", observer=lambda _: made.set()) as bench:
        given = await bench.run("echo ../evil >.git/commondir")
        assert given.stderr == (
            f"dragoman: removed {redirect}, which this command made: Git would take settings or hooks from there\n"
        )
        assert not redirect.exists()
        made.clear()
        await bench.run("echo ../evil >.git/commondir; echo made; sleep 100", background=True)
        async with asyncio.timeout(PATIENCE):
            await made.wait()
        assert redirect.exists()
    assert not redirect.exists(), "the end of the shell looks once more"


@pytest.mark.parametrize(
    "command, left",
    [
        ("mkdir -p .husky/_; echo x >.husky/_/a", [".husky", ".husky/_.unused-1", ".husky/_.unused-1/a"]),
        (
            "mkdir -p .husky/_ .husky/_.unused-1; chmod 0 .husky/_; chmod 111 .husky",
            [".husky", ".husky/_.unused-1", ".husky/_.unused-2"],
        ),
        ("ln -s ../victim .husky", []),
        ("mkdir -p x/_; ln -s x .husky", ["x", "x/_"]),
        ("mkdir .husky; ln -s ../../victim .husky/_", [".husky"]),
        ("echo text >.husky", [".husky"]),
        ("true", []),
    ],
)
async def test_hooks_that_appear_where_settings_look_for_them_have_no_effect(
    tmp_path: Path, pretended: None, command: str, left: list[str]
) -> None:
    work, kept = tmp_path / "work", tmp_path / "victim" / "_" / "kept"
    kept.parent.mkdir(parents=True)
    kept.write_text("kept")
    (work / ".git" / "objects").mkdir(parents=True)
    (work / ".git" / "config").write_text("[core]\n\thooksPath = .husky/_\n")
    async with Bench(work, sandbox="auto") as bench:
        given = await bench.run(command)
    found = sorted(str(path.relative_to(work)) for path in work.rglob("*") if ".git" not in path.parts)
    assert (found, kept.read_text()) == (left, "kept")
    assert ("which this command made" in str(given.stderr)) == (command not in ("true", "echo text >.husky"))
