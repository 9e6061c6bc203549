from __future__ import annotations

import os
import subprocess
import sys
import typing
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from dragoman import config
from dragoman.config import (
    Configuration,
    Kind,
    Origin,
    PluginFolder,
    Price,
    Provider,
    Sandbox,
    Secret,
    Settings,
    configuration,
    known_settings,
    shown,
)
from dragoman.config.configuration import Refusal
from dragoman.config.files import system_folder, write_private
from dragoman.config.kinds import Rule
from dragoman.config.settings import Hook, Logs, Plugins, Policy, Search
from dragoman.errors import ConfigError, StorageError
from dragoman.policy_rule import PolicyRule

STRICTEST_FIRST = ("deny", "ask", "allow")


class Machine:
    """A user with a home, a settings file, an environment, and a project to stand in."""

    def __init__(self, root: Path) -> None:
        self.config_dir, self.data_dir, self.project = (
            root / "config",
            root / "data",
            root / "home" / "work" / "project",
        )
        self.project.mkdir(parents=True)
        self.config_dir.mkdir()
        self.environ = {"DRAGOMAN_CONFIG_DIR": str(self.config_dir), "DRAGOMAN_DATA_DIR": str(self.data_dir)}
        self.user_file = self.config_dir / "config.toml"
        self.project_file = self.project / "dragoman.toml"

    def user(self, text: str) -> None:
        self.user_file.write_text(text)
        self.user_file.chmod(0o600)

    def load(self, cwd: Path | None = None, /, flags: dict[str, object] | None = None, **environ: str) -> Configuration:
        return config.load(cwd=cwd or self.project, environ={**self.environ, **environ}, flags=flags)

    def trust(self) -> None:
        config.trust(self.project, self.data_dir)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Machine(tmp_path)


def from_user(machine: Machine, line: int) -> Origin:
    return Origin("user", str(machine.user_file), line)


# --- layers ------------------------------------------------------------------------------------------------------


def test_without_any_file_every_value_is_the_default(machine: Machine) -> None:
    found = config.load(cwd=machine.project, environ={"DRAGOMAN_CONFIG_DIR": str(machine.config_dir)})
    assert {value.origin for value in found.values.values()} == {Origin("default")}
    assert found.settings == Settings(data_dir=found.data_dir, cache_dir=found.cache_dir)
    assert (found.warnings, found.refusals, found.project) == ((), (), None)


def test_each_layer_wins_over_the_one_below(machine: Machine) -> None:
    machine.user("model = 'user'\ndialect = 'user'\n[policy]\ntimeout = 20\nmax_iterations = 15\n")
    machine.project_file.write_text(
        "dialect = 'project'\n[policy]\nmax_iterations = 10\ntimeout = 10\nmax_parallel = 2\n"
    )
    found = machine.load(
        flags={"policy.timeout": 5}, DRAGOMAN_POLICY__MAX_ITERATIONS="12", DRAGOMAN_POLICY__TIMEOUT="6"
    )
    keys = ("model", "dialect", "policy.max_parallel", "policy.max_iterations", "policy.timeout", "policy.max_retries")
    project = str(machine.project_file)
    assert {key: (found.values[key].value, found.values[key].origin) for key in keys} == {
        "model": ("user", from_user(machine, 1)),
        "dialect": ("project", Origin("project", project, 1)),
        "policy.max_parallel": (2, Origin("project", project, 5)),
        "policy.max_iterations": (12, Origin("environment", "DRAGOMAN_POLICY__MAX_ITERATIONS")),
        "policy.timeout": (5.0, Origin("flag", "policy.timeout")),
        "policy.max_retries": (2, Origin("default")),
    }
    assert found.settings.policy == Policy(max_iterations=12, timeout=5.0, max_parallel=2)


def test_every_setting_can_be_written_in_the_users_file(machine: Machine) -> None:
    machine.user(
        """
        model = "anthropic:claude"
        dialect = "claude_code"
        workspace = "~/work"
        colour = "never"
        record = false
        cache_dir = "../cache"

        [policy]
        approval = "allow"
        tools = { bash = "ask", delete_file = "deny" }
        max_iterations = 5
        timeout = 1.5
        max_parallel = 1
        max_retries = 0
        max_tokens = 1000
        max_cost = 2

        [providers.mine]
        api = "openai_chat"
        base_url = "http://127.0.0.1:8080/v1"
        api_key_env = "MINE_KEY"
        options = { seed = 1, nested = { a = [1, 2] } }

        [providers."other.one"]
        api_key = "sk-very-secret"

        [plugins]
        folders = ["plugs", "/opt/plugins"]

        [logs.homes]
        codex = "~/.codex"

        [search]
        backend = "searxng"
        url = "http://127.0.0.1:8888"

        [[prices]]
        model = "mine-1"
        input = 0.5
        output = 1.25
        valid_from = 2026-01-01

        [[prices]]
        model = "mine-1"
        input = "1"
        output = 2
        over = 1000
        """
    )
    home = Path(os.environ["HOME"])
    assert machine.load().settings == Settings(
        model="anthropic:claude",
        dialect="claude_code",
        workspace=home / "work",
        colour="never",
        record=False,
        data_dir=machine.data_dir,
        cache_dir=machine.config_dir.parent / "cache",
        policy=Policy(
            approval="allow",
            tools={"bash": "ask", "delete_file": "deny"},
            max_iterations=5,
            timeout=1.5,
            max_parallel=1,
            max_retries=0,
            max_tokens=1000,
            max_cost=2.0,
        ),
        providers={
            "mine": Provider(
                api="openai_chat",
                base_url="http://127.0.0.1:8080/v1",
                api_key_env="MINE_KEY",
                options={"seed": 1, "nested": {"a": [1, 2]}},
            ),
            "other.one": Provider(api_key=Secret("sk-very-secret")),
        },
        plugins=Plugins(folders=(machine.config_dir / "plugs", Path("/opt/plugins"))),
        logs=Logs(homes={"codex": home / ".codex"}),
        search=Search(backend="searxng", url="http://127.0.0.1:8888"),
        prices=(
            Price(model="mine-1", input=Decimal("0.5"), output=Decimal("1.25"), valid_from=date(2026, 1, 1)),
            Price(model="mine-1", input=Decimal(1), output=Decimal(2), over=1000),
        ),
    )


def test_the_environment_and_flags_can_set_what_is_nested_named_or_listed(machine: Machine) -> None:
    found = machine.load(
        flags={
            "policy.tools.write_file": "deny",
            "providers.Mine.options": '{"seed": 2}',
            "plugins.folders": '["here"]',
            "record": "false",
        },
        DRAGOMAN_PROVIDERS__OPENAI__BASE_URL="http://127.0.0.1:1",
        DRAGOMAN_POLICY__TOOLS='{"bash": "deny"}',
        DRAGOMAN_POLICY__MAX_COST="0.5",
        DRAGOMAN_POLICY__TOOLS__ReadFile="allow",
        DRAGOMAN_MODEL="",
    )
    assert found.settings.providers == {
        "Mine": Provider(options={"seed": 2}),
        "openai": Provider(base_url="http://127.0.0.1:1"),
    }
    assert found.settings.policy == Policy(
        tools={"ReadFile": "allow", "bash": "deny", "write_file": "deny"}, max_cost=0.5
    )
    assert (found.settings.plugins.folders, found.settings.record) == ((machine.project / "here",), False)
    assert found.settings.model is None


@pytest.mark.parametrize(
    "text, options",
    [('{"a": [1]}', {"a": [1]}), ("{a = [1], b = 'x'}", {"a": [1], "b": "x"}), (" { a.b = 2 } ", {"a": {"b": 2}})],
)
def test_a_table_in_a_flag_is_json_or_as_in_toml(machine: Machine, text: str, options: dict[str, object]) -> None:
    found = machine.load(flags={"providers.Mine.options": text, "plugins.folders": "['here']"})
    assert found.settings.providers["Mine"].options == options
    assert found.settings.plugins.folders == (machine.project / "here",)


def test_a_variable_that_looks_mistyped_is_reported_and_one_of_somebody_else_is_not(machine: Machine) -> None:
    found = machine.load(
        DRAGOMAN_MODLE="x",
        DRAGOMAN_POLICY__TIMOUT="1",
        DRAGOMAN_SOMETHING__ELSE="1",
        DRAGOMAN_SERVICE_HOST="10.0.0.1",
        DRAGOMAN_SHARED="../shared",
    )
    assert found.warnings == (
        'DRAGOMAN_MODLE names no setting and is ignored. Did you mean "DRAGOMAN_MODEL"?',
        'DRAGOMAN_POLICY__TIMOUT names no setting and is ignored. Did you mean "DRAGOMAN_POLICY__TIMEOUT"?',
        "DRAGOMAN_SOMETHING__ELSE names no setting and is ignored.",
    )


# --- what is wrong -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, problem",
    [
        ("modle = 'x'", ':1: modle: there is no such setting. Did you mean "model"?'),
        ("timeout = 5", ':1: timeout: there is no such setting. Did you mean "policy.timeout"?'),
        ("\n[polcy]\ntimeout = 5", ':2: polcy: there is no such setting. Did you mean "policy"?'),
        ("[policy]\ntimout = 5", ':2: policy.timout: there is no such setting. Did you mean "timeout"?'),
        ("[policy]\n\ntimeout = 'long'", ":3: policy.timeout: expected a number, got text"),
        ("[policy]\ntimeout = 0", ":2: policy.timeout: expected a number > 0.0"),
        ("[policy]\ntimeout = nan", ":2: policy.timeout: expected a number > 0.0"),
        ("[policy]\nmax_iterations = true", ":2: policy.max_iterations: expected a whole number, got true or false"),
        ("policy = { approval = 'yes' }", ":1: policy.approval: expected one of 'deny', 'ask', 'allow'"),
        ("policy.tools.bash = 'never'", ":1: policy.tools.bash: expected one of 'deny', 'ask', 'allow'"),
        ("colour = 'red'", ":1: colour: expected one of 'auto', 'always', 'never'"),
        ("record = 'yes'", ":1: record: expected true or false, got text"),
        ("workspace = 5", ":1: workspace: expected text, got a whole number"),
        ("policy = 'strict'", ":1: policy: expected a table, got text"),
        ("providers = 'x'", ":1: providers: expected a table, got text"),
        ("[providers]\nopenai = 'x'", ":2: providers.openai: expected a table, got text"),
        ("[providers.x]\napi_kee = 'x'", ':2: providers.x.api_kee: there is no such setting. Did you mean "api_key"?'),
        ("[providers.x]\napi_key = 12345", ":2: providers.x.api_key: expected text, got a whole number"),
        ("[[prices]]\nmodle = 'x'", ':2: prices.modle: there is no such setting. Did you mean "model"?'),
        ("[[prices]]\nmodel = 'x'", ":1: prices: object missing required field input - at $[0]"),
        (
            "[[prices]]\nmodel='x'\ninput=-1\noutput=1",
            ":1: prices: a price is a number of US dollars, 0 or more - at $[0]",
        ),
        ("prices = 5", ":1: prices: expected an array, got a whole number"),
    ],
)
def test_a_wrong_setting_is_told_with_file_line_key_and_what_was_expected(
    machine: Machine, text: str, problem: str
) -> None:
    machine.user(text)
    with pytest.raises(ConfigError) as caught:
        machine.load()
    assert str(caught.value) == f"{machine.user_file}{problem}"


def test_a_number_in_quotes_is_a_number_in_a_variable_and_a_mistake_in_a_file(machine: Machine) -> None:
    assert machine.load(DRAGOMAN_POLICY__MAX_ITERATIONS="5").settings.policy.max_iterations == 5
    machine.user('[policy]\nmax_iterations = "5"\n')
    with pytest.raises(ConfigError, match=r":2: policy\.max_iterations: expected "):
        machine.load()


def test_everything_that_is_wrong_is_told_at_once(machine: Machine) -> None:
    machine.user("modle = 'x'\nrecord = 5\n")
    with pytest.raises(ConfigError) as caught:
        machine.load(flags={"polcy.timeout": 1}, DRAGOMAN_POLICY__TIMEOUT="soon", DRAGOMAN_POLICY__TOOLS="deny")
    assert str(caught.value).splitlines() == [
        f'{machine.user_file}:1: modle: there is no such setting. Did you mean "model"?',
        f"{machine.user_file}:2: record: expected true or false, got a whole number",
        "DRAGOMAN_POLICY__TIMEOUT: policy.timeout: expected a number, got text",
        "DRAGOMAN_POLICY__TOOLS: policy.tools: expected a table, got text",
        'polcy.timeout: there is no such setting. Did you mean "policy.timeout"?',
    ]


@pytest.mark.parametrize(
    "content, problem",
    [
        (b"model = \n", ": not valid TOML: Invalid value (at line 1, column 9)"),
        (b"model = 'a'\nmodel = 'b'\n", ": not valid TOML: Cannot overwrite a value (at line 2, column 12)"),
        (b"# fine\nmodel = '\xff'\n", ":2: not UTF-8 text; save the file as UTF-8"),
        (b"model = " + b"[" * 20_000, ": not valid settings: nested too deeply"),
        (
            b"\n[" + b"a." * 100_000 + b"a]",
            ": not valid TOML: more than 100 dots in keys or numbers (at line 2, column 1)",
        ),
        (b"#" * 300_000, ": larger than 256 KiB; settings are read from ordinary files of text only"),
    ],
)
def test_a_file_that_is_no_settings_file_is_told_with_its_name(machine: Machine, content: bytes, problem: str) -> None:
    machine.user_file.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        machine.load()
    assert str(caught.value) == f"{machine.user_file}{problem}"


def test_a_byte_order_mark_is_no_mistake(machine: Machine) -> None:
    machine.user_file.write_bytes(b"\xef\xbb\xbfmodel = 'x'\r\n")
    assert machine.load().settings.model == "x"


def test_a_pipe_or_a_folder_in_place_of_a_settings_file_is_refused_and_not_waited_for(machine: Machine) -> None:
    os.mkfifo(machine.project_file)
    with pytest.raises(ConfigError, match="not a regular file"):
        machine.load()
    machine.project_file.unlink()
    machine.user_file.mkdir()
    with pytest.raises(ConfigError, match="not a regular file"):
        machine.load()


def test_a_folder_that_is_gone_is_told_as_such(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    program = "import os, sys; os.rmdir(sys.argv[1]); from dragoman import config; config.load()"
    done = subprocess.run([sys.executable, "-c", program, gone], cwd=gone, capture_output=True, text=True, check=False)
    assert "ConfigError: the current folder no longer exists" in done.stderr


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(
        st.sampled_from([key for key, _ in known_settings()]) | st.text(max_size=10),
        json_like | st.text(max_size=10),
        max_size=4,
    )
)
def test_any_flags_give_settings_or_a_config_error(flags: dict[str, object]) -> None:
    try:
        found = config.load(cwd=Path("/"), environ={"DRAGOMAN_CONFIG_DIR": "/nonexistent"}, flags=flags)
    except ConfigError:
        return
    assert isinstance(found.settings, Settings)


# --- secrets -----------------------------------------------------------------------------------------------------


def test_a_secret_shows_itself_nowhere(machine: Machine) -> None:
    machine.user(
        "[providers.x]\napi_key = 'sk-hidden'\n"
        "options = { api_key = 'sk-hidden', inner = { auth_token = 'sk-hidden' } }\n"
    )
    found = machine.load()
    values = {key: shown(key, value.value) for key, value in found.values.items()}
    assert "sk-hidden" not in f"{values}"
    assert values["providers.x.api_key"] == values["providers.x.options.api_key"] == "********"
    key = found.settings.providers["x"].api_key
    assert key is not None
    assert (key.reveal(), repr(key), str(key)) == ("sk-hidden", "Secret('********')", "Secret('********')")
    assert "sk-hidden" not in repr(Provider(api_key=key))
    with pytest.raises(TypeError):
        msgspec.json.encode(key)


@pytest.mark.parametrize(
    "url, masked",
    [
        ("https://user:pass@host:1/v1?key=abc&x=1#f", "https://********@host:1/v1?********#f"),
        ("https://host/v1", "https://host/v1"),
        ("http://[broken", "********"),
    ],
)
def test_what_is_secret_in_a_url_is_not_shown(url: str, masked: str) -> None:
    assert shown("providers.x.base_url", url) == masked


def test_a_key_in_a_file_that_others_can_read_is_warned_of(machine: Machine) -> None:
    machine.user("[providers.x]\napi_key = 'sk'\n")
    assert machine.load().warnings == ()
    machine.user_file.chmod(0o644)
    assert machine.load().warnings == (
        f"{machine.user_file} holds a key and others can read it. Run: chmod 600 {machine.user_file}",
    )
    machine.user_file.write_text("model = 'x'\n")
    assert machine.load().warnings == ()


# --- what a project may do ---------------------------------------------------------------------------------------


def bare(hint: Any) -> Any:
    return bare(hint.__origin__) if hasattr(hint, "__metadata__") else hint


def types_in(hint: Any) -> set[Any]:
    """Every plain type inside a type hint."""
    inner = bare(hint)
    parts = typing.get_args(inner) if typing.get_origin(inner) is not typing.Literal else ()
    return {inner}.union(*(types_in(part) for part in parts if part is not Ellipsis))


# What can hold anything must be of a kind that assumes the worst of it.
KINDS_OF_TYPE: dict[Any, set[Kind]] = {
    Path: {Kind.PATH, Kind.CODE, Kind.STORAGE, Kind.RESTRICTIONS, Kind.EXEMPTIONS},
    Secret: {Kind.SECRET, Kind.COMMAND, Kind.STORAGE, Kind.NOTICE},
    Any: {Kind.OPTIONS},
    str: {
        *(Kind.NAME, Kind.MODEL, Kind.ADDRESS, Kind.SECRET, Kind.COMMAND),
        *(Kind.RESTRICTIONS, Kind.EXEMPTIONS, Kind.OPTIONS, Kind.PROFILE, Kind.RELAY, Kind.NOTICE),
    },
    int: {Kind.LIMIT, Kind.RELAY},
    float: {Kind.LIMIT},
    bool: {Kind.CHOICE, Kind.GUARD, Kind.BOOKKEEPING, Kind.TRUST, Kind.ENFORCEMENT, Kind.STORAGE, Kind.NOTICE},
}


@pytest.mark.parametrize("key, field", list(known_settings()), ids=[key for key, _ in known_settings()])
def test_the_kind_of_a_setting_fits_the_type_of_its_value(key: str, field: Any) -> None:
    for kind in types_in(field.hint) & KINDS_OF_TYPE.keys():
        assert field.kind in KINDS_OF_TYPE[kind]


SENSITIVE_WORDS = {
    *("url", "uri", "host", "endpoint", "proxy", "key", "token", "secret", "password", "credentials", "env", "headers"),
    *("command", "commands", "argv", "args", "executable", "program", "binary", "shell", "hook", "hooks", "script"),
    *("plugin", "plugins", "folder", "folders", "path", "paths", "dir", "file", "files", "home", "homes", "workspace"),
    *("options", "api", "backend", "prices", "record"),
}


@pytest.mark.parametrize("key, field", list(known_settings()), ids=[key for key, _ in known_settings()])
def test_what_sounds_harmful_is_of_a_kind_that_needs_trust(key: str, field: Any) -> None:
    words = {word for part in key.split(".") for word in part.split("_")}
    if words & SENSITIVE_WORDS:
        assert field.rule in {Rule.TRUSTED, Rule.OWN} or field.kind in {Kind.RESTRICTIONS, Kind.EXEMPTIONS}


@pytest.mark.parametrize("key, field", list(known_settings()), ids=[key for key, _ in known_settings()])
def test_a_policy_can_only_be_tightened_without_trust(key: str, field: Any) -> None:
    if key.startswith(("policy.", "profiles.*.policy.")):
        assert field.rule in {Rule.TIGHTEN, Rule.TRUSTED}


@pytest.mark.parametrize("key, field", list(known_settings()), ids=[key for key, _ in known_settings()])
def test_a_choice_lists_all_its_values(key: str, field: Any) -> None:
    if field.kind in {Kind.CHOICE, Kind.GUARD}:
        inner = bare(field.hint)
        listed = {one for place in field.strictest_first for one in (place if isinstance(place, tuple) else (place,))}
        assert listed == ({True, False} if inner is bool else set(typing.get_args(inner)))


@pytest.mark.parametrize("key, field", list(known_settings()), ids=[key for key, _ in known_settings()])
def test_no_project_loosens_the_sandbox(key: str, field: Any) -> None:
    if key.startswith("sandbox."):
        assert field.rule is Rule.STRICTER or field.kind is Kind.RESTRICTIONS


def test_what_would_loosen_a_table_does_not_hold_and_the_reason_names_it() -> None:
    from dragoman.config.settings import Sandbox, tightened

    base = Sandbox(network=False, hidden=("a",))
    stricter, refused = tightened(base, {"network": True, "mode": "require", "writable": ("/etc",)})
    assert stricter == msgspec.structs.replace(base, mode="require")
    assert [line.partition(":")[0] for line in refused] == ["network", "writable"]


def test_a_setting_without_a_kind_is_an_error() -> None:
    from dragoman.config.settings import fields_of, setting

    class Unmarked(msgspec.Struct):
        anything: str = ""

    class Described(msgspec.Struct):
        anything: Annotated[str, msgspec.Meta(description="Anything.")] = ""

    for table in (Unmarked, Described):
        with pytest.raises(TypeError, match=f"{table.__name__}.anything: mark it with setting"):
            fields_of(table)
    with pytest.raises(TypeError, match="kind"):
        setting("Anything.")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="strictest first"):
        setting("One of a few.", Kind.CHOICE)


def test_the_page_on_trust_states_every_kind_and_its_rule() -> None:
    page = (Path(__file__).parents[1] / "docs" / "decisions" / "trust.md").read_text()
    stated = {
        cells[1].strip("` "): cells[3].strip() for line in page.splitlines() if len(cells := line.split("|")) == 5
    }
    assert {name: rule for name, rule in stated.items() if name in Kind.__members__} == {
        kind.name: _rule_in_words(kind) for kind in Kind
    }


def _rule_in_words(kind: Kind) -> str:
    words = {Rule.TIGHTEN: "stricter only", Rule.STRICTER: "stricter only, always", Rule.TRUSTED: "with trust"}
    rule = words.get(kind.rule, "never")
    return rule if kind.plain is None else f"a plain name; else {rule}"


def test_every_setting_is_described() -> None:
    assert [key for key, field in known_settings() if not field.description] == []


HARMFUL = """\
model = "cheap"
data_dir = "/elsewhere"
[providers.openai]
base_url = "http://evil.example"
[policy]
approval = "allow"
timeout = 5
max_iterations = 500
tools = { bash = "allow", delete_file = "deny" }
"""


def test_an_untrusted_project_sets_what_is_harmless_and_the_rest_is_reported(machine: Machine) -> None:
    machine.project_file.write_text(HARMFUL)
    found = machine.load()
    file = str(machine.project_file)
    assert found.settings == Settings(
        model="cheap",
        data_dir=machine.data_dir,
        cache_dir=found.cache_dir,
        policy=Policy(timeout=5.0, tools={"delete_file": "deny"}),
    )
    assert found.refusals == (
        Refusal("data_dir", Origin("project", file, 2), "only your own settings may set it", trust_helps=False),
        Refusal("providers.openai.base_url", Origin("project", file, 4), "needs trust"),
        Refusal("policy.approval", Origin("project", file, 6), "allow is looser than ask, so it needs trust"),
        Refusal("policy.max_iterations", Origin("project", file, 8), "500 is looser than 20, so it needs trust"),
        Refusal("policy.tools.bash", Origin("project", file, 9), "allow is looser than ask, so it needs trust"),
    )
    assert found.warnings == (
        f"{file}: data_dir (line 2) is ignored: only your own settings may set it",
        f"{file}: providers.openai.base_url (line 4) is ignored: needs trust",
        f"{file}: policy.approval (line 6) is ignored: allow is looser than ask, so it needs trust",
        f"{file}: policy.max_iterations (line 8) is ignored: 500 is looser than 20, so it needs trust",
        f"{file}: policy.tools.bash (line 9) is ignored: allow is looser than ask, so it needs trust",
        f"this project is not trusted. Read its files, then run: dragoman trust {machine.project}",
    )


def test_a_trusted_project_sets_everything_but_what_is_the_users_alone(machine: Machine) -> None:
    machine.project_file.write_text(HARMFUL)
    machine.trust()
    found = machine.load()
    assert found.settings == Settings(
        model="cheap",
        data_dir=machine.data_dir,
        cache_dir=found.cache_dir,
        providers={"openai": Provider(base_url="http://evil.example")},
        policy=Policy(
            approval="allow", timeout=5.0, max_iterations=500, tools={"bash": "allow", "delete_file": "deny"}
        ),
    )
    assert [refusal.key for refusal in found.refusals] == ["data_dir"]
    assert found.warnings == (
        f"{machine.project_file}: data_dir (line 2) is ignored: only your own settings may set it",
    )


def test_a_project_is_measured_against_the_environment_and_the_flags_too(machine: Machine) -> None:
    machine.project_file.write_text("[policy.tools]\nbash = 'ask'\n")
    assert machine.load().settings.policy.tools == {"bash": "ask"}
    assert machine.load(DRAGOMAN_POLICY__APPROVAL="deny").settings.policy.tools == {}
    assert machine.load(flags={"policy.approval": "deny"}).settings.policy.tools == {}


approvals = st.sampled_from(STRICTEST_FIRST)
limits = {
    "max_iterations": st.integers(1, 50),
    "timeout": st.floats(0.5, 50),
    "max_parallel": st.integers(1, 9),
    "max_retries": st.integers(0, 9),
    "max_tokens": st.integers(1, 9),
    "max_cost": st.floats(0.5, 9),
}
policies = st.fixed_dictionaries(
    {},
    optional={"approval": approvals, "tools": st.dictionaries(st.sampled_from("abc"), approvals), **limits},
)


def as_toml(policy: dict[str, Any]) -> str:
    tools = policy.get("tools", {})
    rest = [f"{name} = {value!r}" for name, value in policy.items() if name != "tools"]
    return "\n".join(["[policy]", *rest, "[policy.tools]", *(f"{name} = {value!r}" for name, value in tools.items())])


@given(user=policies, project=policies, environment=policies)
def test_no_untrusted_project_ever_loosens_a_policy(
    user: dict[str, Any], project: dict[str, Any], environment: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    machine = Machine(tmp_path_factory.mktemp("law"))
    machine.user(as_toml(user))
    variables = {f"DRAGOMAN_POLICY__{name.upper()}": str(value) for name, value in environment.items()}
    if "tools" in environment:
        variables["DRAGOMAN_POLICY__TOOLS"] = msgspec.json.encode(environment["tools"]).decode()
    alone = machine.load(**variables).settings.policy
    machine.project_file.write_text(as_toml(project))
    together = machine.load(**variables).settings.policy
    for tool in "abcd":
        before, after = (policy.tools.get(tool, policy.approval) for policy in (alone, together))
        assert STRICTEST_FIRST.index(after) <= STRICTEST_FIRST.index(before)
    for name in limits:
        before, after = getattr(alone, name), getattr(together, name)
        assert before is None or after <= before


@pytest.mark.parametrize(
    "value",
    [
        *("./evil.py", "evil.py", "EVIL.PY", "evil.toml", "evil.yaml", "evil.yml", "/tmp/evil.py", "~/evil.py"),
        *(
            "..",
            ".",
            "",
            "a/b",
            "a\\b",
            "module:attribute",
            "https://evil.example/x",
            "a b",
            "a\nb",
            "a\x1b[0m",
            "$(x)",
        ),
    ],
)
@pytest.mark.parametrize("trusted", [False, True])
def test_a_project_names_a_registered_dialect_and_nothing_else(machine: Machine, value: str, trusted: bool) -> None:
    written = msgspec.json.encode(value).decode()
    machine.project_file.write_text(f"dialect = {written}\n[models.'*']\ndialect = {written}\n")
    if trusted:
        machine.trust()
    found = machine.load()
    assert (found.settings.dialect, found.settings.models) == (None, {})
    assert [(refusal.key, refusal.trust_helps) for refusal in found.refusals] == [
        ("dialect", False),
        ("models.*.dialect", False),
    ]


def test_any_project_may_choose_a_registered_dialect_and_a_model_by_name(machine: Machine) -> None:
    machine.project_file.write_text(
        "dialect = 'claude_code'\nmodel = 'openrouter:qwen/qwen3-coder:free'\n[models.'gpt*']\ndialect = 'acme.words'\n"
    )
    found = machine.load()
    assert found.settings.model == "openrouter:qwen/qwen3-coder:free"
    assert (found.settings.dialect, found.settings.models["gpt*"].dialect) == ("claude_code", "acme.words")
    assert found.refusals == ()
    assert [found.is_own("dialect"), found.is_vouched("dialect"), found.is_own("retries")] == [False, False, True]


@pytest.mark.parametrize(
    "value",
    [
        *("local:./evil.gguf", "local:evil.gguf", "local:a/evil.GGUF", "local:/tmp/x", "local:~/x", "local:../x"),
        *(
            "local:.evil",
            "gemini:../../files",
            "gemini:x?key=",
            "gemini:x#",
            "http://evil.example/v1",
            "a:b\n",
            "a:",
            "",
        ),
    ],
)
def test_a_model_that_is_more_than_a_name_needs_trust(machine: Machine, value: str) -> None:
    machine.project_file.write_text(f"model = {msgspec.json.encode(value).decode()}\n")
    found = machine.load()
    assert found.settings.model is None
    assert [(refusal.reason, refusal.trust_helps) for refusal in found.refusals] == [
        ("needs trust, because it is more than a name", True)
    ]
    machine.trust()
    trusted = machine.load()
    assert trusted.settings.model is not None
    assert (trusted.is_own("model"), trusted.is_vouched("model"), trusted.refusals) == (False, True, ())


def test_a_file_that_a_name_stands_for_is_relative_to_the_file_that_says_it(machine: Machine) -> None:
    machine.user("dialect = './mine.py'\nmodel = 'local:mine.gguf'\n[models.'*']\ndialect = '~/other.toml'\n")
    found = machine.load().settings
    assert (found.dialect, found.model) == (
        str(machine.config_dir / "mine.py"),
        f"local:{machine.config_dir / 'mine.gguf'}",
    )
    assert found.models["*"].dialect == str(Path.home() / "other.toml")
    flagged = machine.load(flags={"dialect": "./mine.py", "model": "openai:gpt-5"}).settings
    assert (flagged.dialect, flagged.model) == (str(machine.project / "mine.py"), "openai:gpt-5")


@pytest.mark.parametrize(
    "variable, value",
    [
        ("DRAGOMAN_DIALECT", "./mine.py"),
        ("DRAGOMAN_MODEL", "local:mine.gguf"),
        ("DRAGOMAN_PLUGINS__FOLDERS", '["/opt/plugins", "plugins"]'),
    ],
)
def test_a_variable_names_no_file_by_a_relative_path(machine: Machine, variable: str, value: str) -> None:
    """It is set for every folder: in a stranger's, the file would be the stranger's."""
    with pytest.raises(ConfigError, match=f"{variable}: .*: expected the whole path of the file"):
        machine.load(**{variable: value})
    assert machine.load(**{variable: value.replace("./", "").replace("mine", "/mine").replace('"plugins', '"/plugins')})


def test_a_list_of_restrictions_grows_and_a_list_of_exemptions_shrinks() -> None:
    from dragoman.config.kinds import Judged, judged

    def project(kind: Kind, value: tuple[str, ...], *, trusted: bool = False) -> Judged:
        return judged(kind, value, ("a", "b"), strictest_first=(), trusted=trusted)

    assert project(Kind.RESTRICTIONS, ("c", "a")) == Judged(("a", "b", "c"))
    assert project(Kind.RESTRICTIONS, (), trusted=True) == Judged(("a", "b"))
    assert project(Kind.EXEMPTIONS, ("b",)) == Judged(("b",))
    refusal = "[b, c] is not stricter than [a, b], so only your own settings may set it"
    assert project(Kind.EXEMPTIONS, ("b", "c")) == Judged(refusal=refusal, trust_helps=False)


def test_a_hook_is_strict_unless_the_user_says_otherwise() -> None:
    assert Hook() == Hook(unknown_commands="ask", unknown_payloads="deny", protect=True, record=True)


def test_what_protects_the_machine_is_never_made_looser_by_a_project() -> None:
    from dragoman.config.kinds import Judged, judged

    order = ("bubblewrap", "require", ("landlock", "auto"), "off")
    for trusted in (True, False):
        for place, value in enumerate(("bubblewrap", "require", "auto", "off")):
            for other, before in enumerate(("bubblewrap", "require", "auto", "off")):
                given = judged(Kind.GUARD, value, before, strictest_first=order, trusted=trusted)
                if place <= other:
                    assert given == Judged(value)
                else:
                    why = f"{value} is not stricter than {before}, so only your own settings may set it"
                    assert given == Judged(refusal=why, trust_helps=False)
        for value, before in (("landlock", "auto"), ("auto", "landlock")):
            assert judged(Kind.GUARD, value, before, strictest_first=order, trusted=trusted).refusal is not None
        assert judged(Kind.EXEMPTIONS, ("a",), ("a", "b"), strictest_first=(), trusted=trusted) == Judged(("a",))
        more = judged(Kind.EXEMPTIONS, ("c",), ("a", "b"), strictest_first=(), trusted=trusted)
        assert more.refusal == "[c] is not stricter than [a, b], so only your own settings may set it"


def test_a_project_tightens_the_sandbox_and_never_loosens_it(machine: Machine) -> None:
    machine.user("[sandbox]\nwritable = ['~/.cache/pip', '/opt/data']\nhidden = ['~/notes']\n")
    machine.project_file.write_text(
        "[sandbox]\nmode = 'require'\nnetwork = false\nwritable = ['/opt/data']\nhidden = ['.env']\n"
        "read_only = ['docs']\nunsandboxed = 'deny'\n"
    )
    tighter = Sandbox(
        mode="require",
        network=False,
        writable=("/opt/data",),
        hidden=("~/notes", ".env"),
        read_only=("docs",),
        unsandboxed="deny",
    )
    assert (machine.load().settings.sandbox, machine.load().refusals) == (tighter, ())
    machine.user("[sandbox]\nmode = 'require'\nnetwork = false\nunsandboxed = 'deny'\n")
    machine.project_file.write_text(
        "[sandbox]\nmode = 'off'\nnetwork = true\nwritable = ['/']\nreadable = ['~/.ssh']\nunsandboxed = 'allow'\n"
    )
    for _ in range(2):
        found = machine.load()
        assert found.settings.sandbox == Sandbox(mode="require", network=False, unsandboxed="deny")
        assert {refusal.key: refusal.trust_helps for refusal in found.refusals} == {
            f"sandbox.{name}": False for name in ("mode", "network", "writable", "readable", "unsandboxed")
        }
        machine.trust()


def test_a_project_may_switch_off_a_server_of_the_user_and_never_one_on(machine: Machine) -> None:
    machine.user("[mcp.servers.on]\ncommand = 'x'\n[mcp.servers.off]\ncommand = 'x'\nenabled = false\n")
    machine.project_file.write_text(
        "[mcp.servers.on]\nenabled = false\ntimeout = 5\n[mcp.servers.off]\nenabled = true\n"
    )
    found = machine.load()
    servers = found.settings.mcp.servers
    assert {name: (row.enabled, row.timeout) for name, row in servers.items()} == {
        "on": (False, 5.0),
        "off": (False, None),
    }
    assert [refusal.reason for refusal in found.refusals] == ["true is looser than false, so it needs trust"]


# --- finding the project -----------------------------------------------------------------------------------------


def test_the_project_is_found_upwards_as_far_as_the_repository(machine: Machine) -> None:
    inner = machine.project / "a" / "b"
    inner.mkdir(parents=True)
    assert config.find_project(inner) is None
    (machine.project.parent / "dragoman.toml").touch()
    assert config.find_project(inner) == machine.project.parent
    (machine.project / ".git").touch()
    assert config.find_project(inner) is None
    (machine.project / ".dragoman").mkdir()
    assert config.find_project(inner) == machine.project
    (machine.project / "a" / "dragoman.toml").touch()
    assert config.find_project(inner) == machine.project / "a"


def test_the_home_folder_speaks_for_nobody_but_itself(machine: Machine) -> None:
    home = machine.project.parent.parent
    (home / "dragoman.toml").touch()
    (home.parent / "dragoman.toml").touch()
    assert config.find_project(machine.project) is None
    assert config.find_project(home) == home


def test_two_settings_files_in_one_project_are_one_too_many(machine: Machine) -> None:
    machine.project_file.touch()
    (machine.project / ".dragoman").mkdir()
    (machine.project / ".dragoman" / "config.toml").touch()
    with pytest.raises(ConfigError, match="keep one of them"):
        machine.load()


def test_paths_in_a_file_start_at_the_file(machine: Machine) -> None:
    (machine.project / ".dragoman").mkdir()
    (machine.project / ".dragoman" / "config.toml").write_text("workspace = 'src'\n")
    machine.trust()
    assert machine.load().settings.workspace == machine.project / "src"


# --- trust -------------------------------------------------------------------------------------------------------


def with_plugins(machine: Machine) -> Path:
    plugins = machine.project / ".dragoman" / "plugins"
    plugins.mkdir(parents=True)
    (plugins / "a.py").write_text("TOOLS = {'a': 1}\n")
    (machine.project / ".dragoman" / "config.toml").write_text("[search]\nurl = 'http://127.0.0.1'\n")
    return plugins


def test_plugins_of_a_project_are_refused_until_it_is_trusted(machine: Machine) -> None:
    plugins = with_plugins(machine)
    own = PluginFolder(machine.config_dir / "plugins", may_be_missing=True)
    advice = f"this project is not trusted. Read its files, then run: dragoman trust {machine.project}"
    found = machine.load()
    assert found.plugin_folders == (own, PluginFolder(plugins, refused=advice))
    assert found.warnings[1:] == (f"{plugins}: these plugins are not loaded: they need trust", advice)
    machine.trust()
    trusted = machine.load()
    digests = {"a.py": config.digest(b"TOOLS = {'a': 1}\n")}
    assert trusted.plugin_folders == (own, PluginFolder(plugins, digests=digests))
    assert trusted.warnings == ()


@pytest.mark.parametrize("change", ["edit", "edit plugin", "add", "add hidden", "remove", "link", "link folder"])
def test_any_change_asks_again(machine: Machine, change: str) -> None:
    plugins = with_plugins(machine)
    machine.trust()
    assert machine.load().settings.search.url == "http://127.0.0.1"
    match change:
        case "edit":
            (machine.project / ".dragoman" / "config.toml").write_text("[search]\nurl = 'http://evil.example'\n")
        case "edit plugin":
            (plugins / "a.py").write_text("TOOLS = {}\n")
        case "add":
            (plugins / "b.py").touch()
        case "add hidden":
            (plugins / ".data").touch()
        case "remove":
            (plugins / "a.py").unlink()
        case "link":
            (plugins / "a.py").rename(machine.project / "a.py")
            (plugins / "a.py").symlink_to(machine.project / "a.py")
        case "link folder":
            (machine.project / "more").mkdir()
            (plugins / "more").symlink_to(machine.project / "more")
    found = machine.load()
    assert found.project is not None
    assert found.project.trust.state == "changed"
    assert len(found.project.trust.changed) == 1
    assert found.settings.search == Search()
    assert found.plugin_folders[-1].refused is not None
    assert "is not trusted any more: changed since (" in found.plugin_folders[-1].refused


def test_a_file_that_changed_between_reading_and_checking_is_not_trusted(machine: Machine) -> None:
    machine.project_file.write_text("[search]\nurl = 'http://127.0.0.1'\n")
    machine.trust()
    read_before = (machine.project_file, b"[search]\nurl = 'http://evil.example'\n")
    project = configuration._project(machine.project, read_before, machine.data_dir)
    assert (project.trust.state, project.trust.changed) == ("changed", ("dragoman.toml",))


def test_trust_can_be_taken_back_and_is_listed(machine: Machine) -> None:
    with_plugins(machine)
    machine.trust()
    assert config.trusted_folders(machine.data_dir) == [machine.project]
    assert config.untrust(machine.project, machine.data_dir)
    assert not config.untrust(machine.project, machine.data_dir)
    assert config.trusted_folders(machine.data_dir) == []
    assert machine.load().settings.search == Search()


def test_trust_is_of_one_folder_and_not_of_a_copy(machine: Machine) -> None:
    with_plugins(machine)
    machine.trust()
    moved = machine.project.parent / "moved"
    machine.project.rename(moved)
    assert machine.load(moved).settings.search == Search()


def test_trust_goes_by_the_real_place_of_a_folder(machine: Machine) -> None:
    with_plugins(machine)
    link = machine.project.parent / "link"
    link.symlink_to(machine.project)
    config.trust(link, machine.data_dir)
    assert machine.load().settings.search.url == machine.load(link).settings.search.url == "http://127.0.0.1"


@pytest.mark.parametrize("what", ["link", "link to a folder", "linked folder", "pipe"])
def test_what_has_no_contents_of_its_own_cannot_be_trusted(machine: Machine, what: str) -> None:
    folder = machine.project / ".dragoman"
    if what == "linked folder":
        (machine.project / "real").mkdir()
        folder.symlink_to(machine.project / "real")
    else:
        folder.mkdir()
        if what == "pipe":
            os.mkfifo(folder / "x")
        else:
            (folder / "x").symlink_to("/etc" if what == "link to a folder" else "/etc/passwd")
    with pytest.raises(ConfigError, match="cannot be trusted"):
        machine.trust()


def test_nothing_can_not_be_trusted(machine: Machine) -> None:
    with pytest.raises(ConfigError, match="nothing to trust here"):
        machine.trust()


def test_a_record_of_trust_that_cannot_be_read_trusts_nothing(machine: Machine) -> None:
    with_plugins(machine)
    machine.trust()
    (record,) = (machine.data_dir / "trusted").iterdir()
    record.write_text("{}")
    with pytest.raises(ConfigError, match="remove it and trust again"):
        machine.load()


def test_a_folder_whose_name_is_no_text_can_be_trusted(machine: Machine) -> None:
    odd = Path(os.fsdecode(os.fsencode(machine.project) + b"/\xff"))
    odd.mkdir()
    (odd / "dragoman.toml").write_text("[search]\nurl = 'http://127.0.0.1'\n")
    config.trust(odd, machine.data_dir)
    assert machine.load(odd).settings.search.url == "http://127.0.0.1"
    assert config.trusted_folders(machine.data_dir) == [odd]


# --- files and folders -------------------------------------------------------------------------------------------


def test_what_is_written_privately_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "secret"
    write_private(path, b"first")
    write_private(path, b"second")
    assert path.read_bytes() == b"second"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [file.name for file in path.parent.iterdir()] == ["secret"]


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    (path / "inside").mkdir(parents=True)
    with pytest.raises(StorageError, match="directory"):
        write_private(path, b"x")
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


def test_what_a_killed_command_left_is_removed_by_the_next_that_writes(tmp_path: Path) -> None:
    program = (
        "import os, pathlib, sys; from dragoman.config.files import system_folder, write_private\n"
        "os.fsync = lambda descriptor: os.kill(os.getpid(), 9)\n"
        "write_private(pathlib.Path(sys.argv[1]), b'new')"
    )
    path = tmp_path / "secret"
    path.write_bytes(b"old")
    killed = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert (killed.returncode, path.read_bytes(), len(list(tmp_path.iterdir()))) == (-9, b"old", 2)
    write_private(path, b"newer")
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("secret", b"newer")]


def test_a_file_is_held_while_it_is_changed_so_that_no_change_is_lost(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys; from dragoman.config.files import replacing; path = pathlib.Path(sys.argv[1])\n"
        "for _ in range(20):\n"
        "    with replacing(path) as write:\n"
        "        write(str(int(path.read_bytes()) + 1).encode())"
    )
    path = tmp_path / "count"
    path.write_bytes(b"0")
    processes = [subprocess.Popen([sys.executable, "-c", program, str(path)]) for _ in range(4)]
    assert [process.wait() for process in processes] == [0, 0, 0, 0]
    assert path.read_bytes() == b"80"


def test_the_folders_follow_the_system_and_the_environment(tmp_path: Path) -> None:
    program = (
        "from dragoman import config; c = config.load();"
        "print(c.config_dir, c.data_dir, c.cache_dir, config.data_dir() == c.data_dir)"
    )

    def folders(**environ: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={"HOME": str(tmp_path), **environ},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    chosen = {f"DRAGOMAN_{name}_DIR": name.lower() for name in ("CONFIG", "DATA", "CACHE")}
    assert folders(**chosen) == [*(str(tmp_path / name) for name in ("config", "data", "cache")), "True"]
    if sys.platform == "linux":
        usual = (".config/dragoman", ".local/share/dragoman", ".cache/dragoman")
        assert folders() == [*(str(tmp_path / name) for name in usual), "True"]


def test_the_configuration_of_the_process_is_read_once_or_given(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in machine.environ.items():
        monkeypatch.setenv(name, value)
    config.use(None)
    assert config.current() is config.current()
    given = machine.load()
    config.use(given)
    assert config.current() is given
    config.use(None)


# --- rules -------------------------------------------------------------------------------------------------------

USER_RULES = """\
[[policy.rules]]
verdict = "deny"
command = "*sudo*"

[[policy.rules]]
verdict = "allow"
operation = "run_command"
command = "git status*"
unsandboxed = false
arguments = { timeout_ms = 5000, job = "main*" }
"""
PROJECT_RULES = """\
[[policy.rules]]
verdict = "allow"
kind = "execute"

[[policy.rules]]
verdict = "deny"
path = "*.env"

[[policy.rules]]
verdict = "ask"
domain = "*.example.com"
"""


def test_rules_of_all_layers_hold_and_each_knows_whose_it_is(machine: Machine) -> None:
    machine.user(USER_RULES)
    machine.project_file.write_text(PROJECT_RULES)
    found = machine.load(
        flags={"policy.rules": '[{"verdict": "deny", "server": "prod"}]'},
        DRAGOMAN_POLICY__RULES='[{"verdict": "ask", "agent": "a*"}]',
    )
    assert found.settings.policy.rules == (
        PolicyRule(verdict="deny", command="*sudo*", source="your settings"),
        PolicyRule(
            verdict="allow",
            operation="run_command",
            command="git status*",
            unsandboxed=False,
            arguments={"timeout_ms": 5000, "job": "main*"},
            source="your settings",
        ),
        PolicyRule(verdict="deny", path="*.env", source="the untrusted project's settings"),
        PolicyRule(verdict="ask", domain="*.example.com", source="the untrusted project's settings"),
        PolicyRule(verdict="ask", agent="a*", source="the environment"),
        PolicyRule(verdict="deny", server="prod", source="--set"),
    )
    file = str(machine.project_file)
    assert found.refusals == (Refusal("policy.rules", Origin("project", file, 1), "a rule that allows needs trust"),)
    machine.trust()
    trusted = machine.load()
    assert (len(trusted.settings.policy.rules), trusted.refusals) == (5, ())


@pytest.mark.parametrize(
    "rule, problem",
    [
        ("path = 'x'", "policy.rules: object missing required field verdict - at $[0]"),
        ("verdict = 'maybe'", "policy.rules: invalid enum value 'maybe' - at $[0].verdict"),
        ("verdict = 'deny'\npth = 'x'", 'policy.rules.pth: there is no such setting. Did you mean "path"?'),
        ("verdict = 'deny'\nsource = 'your settings'", "policy.rules.source: there is no such setting."),
        (
            "verdict = 'deny'\nunsandboxed = 'yes'",
            "policy.rules: expected true or false, got text - at $[0].unsandboxed",
        ),
    ],
)
def test_what_is_wrong_with_a_rule_is_told(machine: Machine, rule: str, problem: str) -> None:
    machine.user(f"[[policy.rules]]\n{rule}\n")
    with pytest.raises(ConfigError) as error:
        machine.load()
    assert problem in str(error.value)


@given(st.data())
def test_the_usual_folders_are_those_of_platformdirs(data: st.DataObject) -> None:
    import platformdirs

    folders = ("/home/me", "/x/.y-z_1", "", " ", "~", "~/a", "relative", "/a b", "/a//b", "/a/", "/ü", "/$HOME/x")
    names = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")
    environ = data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(names, st.sampled_from(folders))))
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.delenv(name, raising=False)
        for name, value in environ.items():
            patch.setenv(name, value)
        for function in ("user_config_path", "user_data_path", "user_cache_path"):
            try:
                expected = getattr(platformdirs, function)("dragoman", appauthor=False)
            except RuntimeError:
                with pytest.raises(ConfigError):
                    system_folder(function)
            else:
                assert system_folder(function) == expected
