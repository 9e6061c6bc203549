"""What can be set: every setting with its type, its default and the kind of its value.

Rule: what a project's own file may do with a setting follows from its kind (`kinds.py`).
"""

import functools
import typing
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec

from dragoman.policy_rule import PolicyRule

from .kinds import Kind, Rule, judged

Approval = Literal["deny", "ask", "allow"]
VERDICTS: Final = ("deny", "ask", "allow")
"""The strictest first."""
Where = Literal["auto", "native", "local"]
SandboxMode = Literal["off", "auto", "require", "bubblewrap", "landlock"]


class Secret:
    """Text that never shows itself: not in a repr, a message or JSON. `reveal()` is the one way to read it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The secret itself."""
        return self._text

    def __repr__(self) -> str:
        return "Secret('********')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)


def setting(
    description: str, kind: Kind, *, strictest_first: Sequence[Any] = (), unset_means: str | None = None
) -> msgspec.Meta:
    """The mark on a setting.

    `strictest_first` lists the values of a `Kind.CHOICE`; `unset_means` names the setting that holds where this one is
    not set.
    """
    if (kind in (Kind.CHOICE, Kind.GUARD)) != bool(strictest_first):
        raise TypeError(f"{description!r}: a choice lists its values, strictest first, and no other kind does")
    return msgspec.Meta(
        description=description,
        extra={"kind": kind, "strictest_first": tuple(strictest_first), "unset_means": unset_means},
    )


AtLeastOne = Annotated[int, msgspec.Meta(ge=1)]
AtLeastNone = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[float, msgspec.Meta(gt=0)]


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table of a settings file."""


Limited = TypeVar("Limited", bound=Table)


class Policy(Table, frozen=True):
    """What the model may do, and for how long."""

    approval: Annotated[
        Approval, setting("Whether a tool runs: allow, ask first, or deny.", Kind.CHOICE, strictest_first=VERDICTS)
    ] = "ask"
    tools: Annotated[
        dict[str, Approval],
        setting(
            "The same for one tool, by its name.",
            Kind.CHOICE,
            strictest_first=VERDICTS,
            unset_means="policy.approval",
        ),
    ] = {}
    rules: Annotated[
        tuple[PolicyRule, ...],
        setting("Verdicts on calls by what they do; the first that fits decides, and a denial always.", Kind.RULES),
    ] = ()
    where: Annotated[
        dict[str, Where],
        setting(
            "Who does an operation that the model's provider can do too, by its name: native (the provider), local "
            "(our own tool) or auto. search_web is auto: the provider's search, else search.backend.",
            Kind.ADDRESS,
        ),
    ] = {}
    max_iterations: Annotated[AtLeastOne, setting("Rounds of asking the model in one run.", Kind.LIMIT)] = 20
    timeout: Annotated[Positive, setting("Seconds one tool call may take.", Kind.LIMIT)] = 30.0
    max_parallel: Annotated[AtLeastOne, setting("Tool calls running at the same time.", Kind.LIMIT)] = 3
    max_retries: Annotated[AtLeastNone, setting("How often a repeatable tool is tried again.", Kind.LIMIT)] = 2
    max_tokens: Annotated[AtLeastOne | None, setting("Tokens one run may use.", Kind.LIMIT)] = None
    max_cost: Annotated[Positive | None, setting("US dollars one run may cost.", Kind.LIMIT)] = None


class ProviderLimits(Table, frozen=True):
    """What one answer of a provider may take at the most: `Times` and `Sizes` of the engine have the same values."""

    connect_timeout: Annotated[Positive, setting("Seconds until there is a connection.", Kind.LIMIT)] = 10.0
    read_timeout: Annotated[Positive, setting("Seconds without a single byte.", Kind.LIMIT)] = 120.0
    content_timeout: Annotated[
        Positive, setting("Seconds with nothing but comments or pings; inf for no limit.", Kind.LIMIT)
    ] = 900.0
    total_timeout: Annotated[Positive, setting("Seconds for one whole answer; inf for no limit.", Kind.LIMIT)] = 3600.0
    max_header_count: Annotated[AtLeastOne, setting("Number of headers.", Kind.LIMIT)] = 256
    max_header_bytes: Annotated[AtLeastOne, setting("Bytes of all headers together.", Kind.LIMIT)] = 131_072
    max_body: Annotated[AtLeastOne, setting("Bytes of a body or a whole stream, after decompression.", Kind.LIMIT)] = (
        67_108_864
    )
    max_error_body: Annotated[AtLeastOne, setting("Bytes of an error's body.", Kind.LIMIT)] = 1_048_576
    max_event: Annotated[AtLeastOne, setting("Bytes of one event of a stream.", Kind.LIMIT)] = 33_554_432
    max_values: Annotated[AtLeastOne, setting("JSON objects and arrays in one answer.", Kind.LIMIT)] = 2_000_000


class Provider(Table, frozen=True):
    """How one provider is reached."""

    api: Annotated[str | None, setting("The wire API it speaks.", Kind.ADDRESS)] = None
    base_url: Annotated[str | None, setting("Where it listens.", Kind.ADDRESS)] = None
    api_key: Annotated[Secret | None, setting("The key itself; api_key_env is safer.", Kind.SECRET)] = None
    api_key_env: Annotated[str | None, setting("The environment variable that holds the key.", Kind.SECRET)] = None
    options: Annotated[dict[str, Any], setting("Sent to the provider as they are.", Kind.OPTIONS)] = {}
    policy: Annotated[
        dict[str, Any], setting("What differs from the policy when this provider answers.", Kind.OPTIONS)
    ] = {}
    requests_per_minute: Annotated[
        AtLeastOne | None,
        setting("Requests in any minute, of all runs that keep their records in one place.", Kind.LIMIT),
    ] = None
    tokens_per_minute: Annotated[
        AtLeastOne | None,
        setting(
            "Tokens in any minute, of the same runs; a request counts with an estimate until its reply has come.",
            Kind.LIMIT,
        ),
    ] = None
    limits: ProviderLimits = ProviderLimits()


class Model(Table, frozen=True):
    """Settings of one model; the name may be a glob (`claude-*`)."""

    dialect: Annotated[str | None, setting("The vocabulary to speak to it.", Kind.NAME)] = None
    window: Annotated[AtLeastNone | None, setting("Tokens it can be given at once, if not known.", Kind.LIMIT)] = None
    options: Annotated[dict[str, Any], setting("Sent to the provider as they are.", Kind.OPTIONS)] = {}
    policy: Annotated[
        dict[str, Any], setting("What differs from the policy when this model answers.", Kind.OPTIONS)
    ] = {}


class Sandbox(Table, frozen=True):
    """What commands may not do. A path may begin with `~`; a relative one is in the workspace."""

    mode: Annotated[
        SandboxMode,
        setting(
            "Which sandbox commands run in: auto (the best one that works here, or none), require (the same, but no "
            "command runs without one), bubblewrap, landlock, or off.",
            Kind.GUARD,
            # Landlock is weaker than what auto may find, and auto may find nothing: neither is stricter.
            strictest_first=("bubblewrap", "require", ("landlock", "auto"), "off"),
        ),
    ] = "auto"
    network: Annotated[
        bool, setting("Whether commands can use the network.", Kind.GUARD, strictest_first=(False, True))
    ] = True
    writable: Annotated[
        tuple[str, ...], setting("Paths that commands can change, besides the workspace.", Kind.EXEMPTIONS)
    ] = ()
    readable: Annotated[
        tuple[str, ...], setting("Paths that commands can read, although they are hidden by default.", Kind.EXEMPTIONS)
    ] = ()
    hidden: Annotated[tuple[str, ...], setting("Further paths that commands cannot read.", Kind.RESTRICTIONS)] = ()
    read_only: Annotated[
        tuple[str, ...], setting("Further paths in the workspace that commands cannot change.", Kind.RESTRICTIONS)
    ] = ()
    unsandboxed: Annotated[
        Approval,
        setting(
            "Whether a model can ask to run a command outside the sandbox: ask (you are asked each time, whatever "
            "other rules say), allow (the rules for commands decide) or deny.",
            Kind.GUARD,
            strictest_first=VERDICTS,
        ),
    ] = "ask"


class Plugins(Table, frozen=True):
    """Where plugins are found, besides installed packages and <config dir>/plugins."""

    folders: Annotated[tuple[Path, ...], setting("Folders of Python files, or single files.", Kind.CODE)] = ()


class Logs(Table, frozen=True):
    """Where agents keep their logs, when it is not the usual place."""

    homes: Annotated[dict[str, Path], setting("The folder of one log format, by its name.", Kind.PATH)] = {}
    folders: Annotated[tuple[Path, ...], setting("Further folders, with logs of any client.", Kind.PATH)] = ()


class Search(Table, frozen=True):
    """How the web is searched."""

    backend: Annotated[
        str | None,
        setting(
            "What searches the web for models whose provider does not: searxng, browser, or a provider that does "
            "(gemini, or gemini:gemini-2.5-flash).",
            Kind.ADDRESS,
        ),
    ] = None
    url: Annotated[str | None, setting("Where the search backend listens.", Kind.ADDRESS)] = None


class WebPages(Table, frozen=True):
    """How pages of the web are read."""

    reader_model: Annotated[
        str | None,
        setting(
            "The model that answers from a page, as provider:model, when a call of fetch_page has instructions; the "
            "run's own if not set.",
            Kind.MODEL,
        ),
    ] = None


class Instructions(Table, frozen=True):
    """Which files of a project are read as instructions for the model."""

    files: Annotated[
        tuple[str, ...],
        setting("Names of instruction files; the first found in a folder counts. [] reads none.", Kind.OPTIONS),
    ] = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
    imports: Annotated[
        tuple[str, ...],
        setting("Folders outside the project whose files its instructions may import with @path.", Kind.EXEMPTIONS),
    ] = ()


class McpServer(Table, frozen=True):
    """One MCP server: a command to start, or a URL. `${VARIABLE}` in any text is taken from the environment."""

    command: Annotated[str | None, setting("The program to start.", Kind.COMMAND)] = None
    args: Annotated[tuple[str, ...], setting("Its arguments.", Kind.COMMAND)] = ()
    env: Annotated[dict[str, Secret], setting("Variables it gets, beside PATH, HOME and the like.", Kind.COMMAND)] = {}
    cwd: Annotated[Path | None, setting("The folder it starts in, when not the current one.", Kind.PATH)] = None
    url: Annotated[str | None, setting("Where it listens.", Kind.ADDRESS)] = None
    headers: Annotated[dict[str, Secret], setting("Headers sent with every request.", Kind.SECRET)] = {}
    login: Annotated[
        dict[str, Secret],
        setting("How this program logs in without a user: client_id with client_secret or private_key.", Kind.SECRET),
    ] = {}
    transport: Annotated[Literal["http", "sse"], setting("What is spoken at the URL.", Kind.ADDRESS)] = "http"
    timeout: Annotated[Positive | None, setting("Seconds one of its calls may take.", Kind.LIMIT)] = None
    enabled: Annotated[bool, setting("Whether it is used.", Kind.CHOICE, strictest_first=(False, True))] = True
    trust_hints: Annotated[
        bool,
        setting("Whether its tools are believed to only read, or to be repeatable, when they say so.", Kind.TRUST),
    ] = False


class Mcp(Table, frozen=True):
    """Servers of the Model Context Protocol."""

    servers: dict[str, McpServer] = {}


class Gateway(Table, frozen=True):
    """Which models answer the clients of `dragoman gateway`."""

    model: Annotated[
        str | None,
        setting(
            "The model that answers, as provider:model; of several with commas, the next if one fails.", Kind.RELAY
        ),
    ] = None
    routes: Annotated[
        dict[str, str],
        setting(
            'Other models for some requests: by the name that a client asks for ("claude-haiku*"), or by kind (@small, '
            "@summary, @thinking, @long). The first that fits counts.",
            Kind.RELAY,
        ),
    ] = {}
    long_context: Annotated[AtLeastOne, setting("Tokens from which a request is @long.", Kind.RELAY)] = 60_000
    max_cost: Annotated[Positive | None, setting("US dollars after which requests are refused.", Kind.LIMIT)] = None


class Hook(Table, frozen=True):
    """What `dragoman hook` decides where no rule of the policy does."""

    unknown_commands: Annotated[
        Approval,
        setting(
            "What a coding agent may do with a command line or tool of which nobody can tell what it does, and "
            "which no rule allows by its command or tool: ask (denied where nobody can be asked), deny or allow.",
            Kind.ENFORCEMENT,
        ),
    ] = "ask"
    unknown_payloads: Annotated[
        Literal["deny", "ask", "pass"],
        setting(
            "What becomes of a call whose payload is not known: deny, ask (denied where the client cannot ask), or "
            "pass (the client's own rules decide).",
            Kind.ENFORCEMENT,
        ),
    ] = "deny"
    protect: Annotated[
        bool,
        setting(
            "Whether files that switch hooks off are protected from being written.",
            Kind.ENFORCEMENT,
        ),
    ] = True
    record: Annotated[bool, setting("Whether what hooks are called for is recorded.", Kind.BOOKKEEPING)] = True


class Store(Table, frozen=True):
    """Where the records of runs are kept, when not in files of the data folder."""

    url: Annotated[
        Secret | None,
        setting(
            "The database that keeps records and the queue: sqlite:PATH (relative to data_dir) or "
            "postgresql://user@host/database.",
            Kind.STORAGE,
        ),
    ] = None
    fsync: Annotated[
        bool,
        setting(
            "Whether each event is on the disk before the run continues, so that a power cut loses none. PostgreSQL "
            "does that anyway.",
            Kind.STORAGE,
        ),
    ] = False


class Notify(Table, frozen=True):
    """Who is told when a run waits for an answer, or ends. What is told is a JSON object."""

    command: Annotated[
        tuple[str, ...],
        setting("A program and its arguments, which gets the object on its standard input.", Kind.NOTICE),
    ] = ()
    url: Annotated[Secret | None, setting("An address that the object is sent to with POST.", Kind.NOTICE)] = None
    headers: Annotated[dict[str, Secret], setting("Headers sent with it.", Kind.NOTICE)] = {}
    allow_private: Annotated[
        bool, setting("Whether the address may be on this machine or in a private network.", Kind.NOTICE)
    ] = False
    when: Annotated[
        tuple[Literal["waiting", "failed", "done"], ...],
        setting("States that are told of; only tasks of the queue are told to have failed or to be done.", Kind.NOTICE),
    ] = ("waiting",)


class Price(Table, frozen=True):
    """What one model's tokens cost: US dollars per million, from a day on.

    `over` makes it the price of prompts longer than that many tokens. `None` is "not known", never "free".
    """

    model: str
    input: Decimal
    output: Decimal
    cached_read: Decimal | None = None
    cached_write: Decimal | None = None
    valid_from: date = date.min
    over: int = 0
    source: str = ""

    def __post_init__(self) -> None:
        amounts = (self.input, self.output, self.cached_read, self.cached_write)
        if any(amount is not None and not (amount.is_finite() and amount >= 0) for amount in amounts):
            raise ValueError("a price is a number of US dollars, 0 or more")


ModelName = Annotated[str | None, setting("The model to ask, as provider:model.", Kind.MODEL)]
DialectName = Annotated[str | None, setting("Vocabulary to use instead of the model's own.", Kind.NAME)]
Prompt = Annotated[str | None, setting("Instructions for the model, instead of a few words of ours.", Kind.OPTIONS)]
ToolNames = Annotated[
    tuple[str, ...], setting("The tools to offer, by name, glob or kind, when not the usual ones.", Kind.OPTIONS)
]


class Profile(Table, frozen=True):
    """Settings under a name. Where the profile is chosen, what it states holds in place of the same settings outside.

    What it does not state has its default here, and stays as it is outside: `Configuration.with_profile` knows which.
    """

    model: ModelName = None
    dialect: DialectName = None
    system: Prompt = None
    tools: ToolNames = ()
    policy: Policy = Policy()


class Settings(Table, frozen=True):
    """Everything that can be set."""

    profile: Annotated[str | None, setting("The profile that holds, by its name.", Kind.PROFILE)] = None
    model: ModelName = None
    dialect: DialectName = None
    system: Prompt = None
    tools: ToolNames = ()
    workspace: Annotated[Path | None, setting("The folder tools work in, when not the current one.", Kind.PATH)] = None
    colour: Annotated[Literal["auto", "always", "never"], setting("Colour on the terminal.", Kind.DISPLAY)] = "auto"
    record: Annotated[bool, setting("Whether runs are recorded.", Kind.BOOKKEEPING)] = True
    retries: Annotated[AtLeastNone, setting("How often a failed request is sent again.", Kind.LIMIT)] = 2
    cache: Annotated[bool, setting("Whether runs use the provider's prompt cache.", Kind.BOOKKEEPING)] = True
    data_dir: Annotated[Path | None, setting("Where recordings and trust are kept.", Kind.STORAGE)] = None
    cache_dir: Annotated[Path | None, setting("Where what can be made again is kept.", Kind.STORAGE)] = None
    store: Store = Store()
    notify: Notify = Notify()
    policy: Policy = Policy()
    profiles: dict[str, Profile] = {}
    sandbox: Sandbox = Sandbox()
    providers: dict[str, Provider] = {}
    models: dict[str, Model] = {}
    aliases: Annotated[
        dict[str, str], setting('Names of your own for models: fast = "gemini:gemini-2.5-flash".', Kind.ADDRESS)
    ] = {}
    plugins: Plugins = Plugins()
    logs: Logs = Logs()
    search: Search = Search()
    instructions: Instructions = Instructions()
    web: WebPages = WebPages()
    mcp: Mcp = Mcp()
    gateway: Gateway = Gateway()
    hook: Hook = Hook()
    prices: Annotated[
        tuple[Price, ...], setting("Prices that are missing here, or are yours alone.", Kind.BOOKKEEPING)
    ] = ()


Key = tuple[str, ...]


class Field(msgspec.Struct, frozen=True):
    """One field of a table. `table` is set when it holds tables; `named` when it holds any number, by name."""

    hint: Any
    description: str = ""
    kind: Kind | None = None
    """`None` for a field that holds tables: each of their fields has a kind of its own."""
    default: Any = None
    strictest_first: tuple[Any, ...] = ()
    unset_means: str | None = None
    table: type[msgspec.Struct] | None = None
    named: bool = False
    listed: type[msgspec.Struct] | None = None

    @property
    def rule(self) -> Rule:
        """What a project's own file may do with it."""
        assert self.kind is not None  # tables are taken apart before anybody asks
        return self.kind.rule


@functools.cache
def fields_of(table: type[msgspec.Struct]) -> dict[str, Field]:
    hints = typing.get_type_hints(table, include_extras=True)
    names, defaults = table.__struct_fields__, table.__struct_defaults__
    first = len(names) - len(defaults)
    return {
        name: _field(f"{table.__name__}.{name}", hints[name], defaults[place - first] if place >= first else None)
        for place, name in enumerate(names)
    }


def _field(place: str, hint: Any, default: Any) -> Field:
    marks = getattr(hint, "__metadata__", ())
    extra: dict[str, Any] = next((mark.extra for mark in marks if mark.extra), {})
    inner = hint.__origin__ if marks else hint
    origin, arguments = typing.get_origin(inner), typing.get_args(inner)
    named, listed = origin is dict, origin is tuple and _is_table(arguments[0])
    held = arguments[1] if named else inner
    table = held if _is_table(held) else None
    kind = extra.get("kind")
    if (kind is None) == (table is None):
        raise TypeError(
            f"{place}: mark it with setting(description, kind); a table has no kind, but each setting in it"
        )
    return Field(
        hint=hint if not named else held,
        description=next((mark.description for mark in marks if mark.description), ""),
        kind=kind,
        default=None if named or default is msgspec.NODEFAULT else default,
        strictest_first=extra.get("strictest_first", ()),
        unset_means=extra.get("unset_means"),
        table=table,
        named=named,
        listed=arguments[0] if listed else None,
    )


def _is_table(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, msgspec.Struct)


def known_settings(table: type[msgspec.Struct] = Settings, path: Key = ()) -> Iterator[tuple[str, Field]]:
    """Every setting there is, as `policy.timeout`; `*` stands for a name the user chooses."""
    for name, field in fields_of(table).items():
        here = (*path, name, "*") if field.named else (*path, name)
        if field.table is not None:
            yield from known_settings(field.table, here)
        else:
            yield ".".join(here), field


class Place(msgspec.Struct, frozen=True):
    """What a dotted key means. `one` is set when it goes to one of many by name, as `policy.tools.bash` does."""

    path: Key
    field: Field
    one: bool = False


def place_of(segments: Sequence[str]) -> Place | None:
    """The setting these words lead to, or nothing when there is none."""
    table: type[msgspec.Struct] | None = Settings
    path: Key = ()
    remaining = list(segments)
    while remaining and table is not None:
        name = remaining.pop(0).lower()
        field = fields_of(table).get(name)
        if field is None:
            return None
        path = (*path, name)
        one = field.named and bool(remaining)
        if one:
            # The environment shouts: PROVIDERS__OPENAI is providers.openai, while a mixed-case name is meant as it is.
            chosen = remaining.pop(0)
            path = (*path, chosen.lower() if chosen.isupper() else chosen)
        if not remaining:
            return Place(path, field, one)
        table = field.table
    return None


def tightened(base: Limited, stated: Mapping[str, Any]) -> tuple[Limited, tuple[str, ...]]:
    """A table with the values that somebody else states, as far as they are not looser; and why others do not hold.

    The values are of the types of the fields.
    """
    changes: dict[str, Any] = {}
    refused: list[str] = []
    for name, value in stated.items():
        field = fields_of(type(base))[name]
        assert field.kind is not None  # it holds no tables
        verdict = judged(field.kind, value, getattr(base, name), strictest_first=field.strictest_first, trusted=False)
        if verdict.refusal is None:
            changes[name] = verdict.value
        else:
            refused.append(f"{name}: {verdict.refusal}")
    return msgspec.structs.replace(base, **changes), tuple(refused)
