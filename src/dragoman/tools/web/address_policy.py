"""Which addresses the web tools may reach.

Rules: it is decided on the address a name stands for, never on how it is written; every address of a
name must be allowed, or none of them is used; a name is looked up once for a connection and what was
checked is what is connected to, so an answer that changes changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dragoman.errors import ConfigError, ToolError

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

    from aiohttp.abc import AbstractResolver, ResolveResult
    from yarl import URL

    Address = IPv4Address | IPv6Address

LookUp = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses of a name, as text."""

LONGEST_URL: Final = 8_000

# Names under which clouds give a machine its own secrets. Their addresses are refused as well; a name
# that is never looked up here (behind a proxy) must be refused as it stands.
METADATA_NAMES: Final = frozenset(
    {"metadata", "metadata.goog", "metadata.google.internal", "instance-data", "instance-data.ec2.internal"}
)

# network, what it is, and whether `allow_private` opens it. 168.63.129.16 and fd00:ec2::254 and their like
# hand out a machine's credentials, and so does 169.254.169.254: link-local stays shut with `allow_private`.
_NETWORKS_4: Final = (
    ("168.63.129.16/32", "a cloud metadata", False),
    ("100.100.100.200/32", "a cloud metadata", False),
    ("192.0.0.192/32", "a cloud metadata", False),
    ("169.254.169.254/32", "a cloud metadata", False),
    ("169.254.170.2/32", "a cloud metadata", False),
    ("0.0.0.0/8", "an unspecified", False),
    ("10.0.0.0/8", "a private", True),
    ("100.64.0.0/10", "a carrier's private", True),
    ("127.0.0.0/8", "a loopback", True),
    ("169.254.0.0/16", "a link-local", False),
    ("172.16.0.0/12", "a private", True),
    ("192.0.0.0/24", "a reserved", False),
    ("192.0.2.0/24", "a documentation", False),
    ("192.88.99.0/24", "a relay", False),
    ("192.168.0.0/16", "a private", True),
    ("198.18.0.0/15", "a benchmark", True),
    ("198.51.100.0/24", "a documentation", False),
    ("203.0.113.0/24", "a documentation", False),
    ("224.0.0.0/4", "a multicast", False),
    ("240.0.0.0/4", "a reserved", False),
)
# What is not listed here and not within 2000::/3 is no public address either.
_NETWORKS_6: Final = (
    ("fd00:ec2::/32", "a cloud metadata", False),
    ("fd20:ce::254/128", "a cloud metadata", False),
    ("::/128", "an unspecified", False),
    ("::1/128", "a loopback", True),
    ("fc00::/7", "a private", True),
    ("fe80::/10", "a link-local", False),
    ("fec0::/10", "a site-local", False),
    ("ff00::/8", "a multicast", False),
    ("2001::/23", "a tunnel or reserved", False),
    ("2001:db8::/32", "a documentation", False),
    ("2002::/16", "a tunnel", False),
    ("3fff::/20", "a documentation", False),
)

# Ports that speak other protocols, which a crafted URL could be made to talk to: the ports from 1024 on
# that the Fetch standard blocks. Below 1024 only the two ports of the web are open.
_BLOCKED_PORTS: Final = frozenset(
    {1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6679, 6697, 10080, *range(6665, 6670)}
)

_HOST: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*\Z")
_CREDENTIALS: Final = re.compile(r"//[^/?#]*@")
_PLACE: Final = re.compile(r"[^/@?#]+:[0-9]+")
_NUMBER: Final = re.compile(r"(0x[0-9a-f]*|[0-9]+)\Z")
_UNFIT: Final = re.compile(r"[\x00-\x1f\x7f\\]|[\ud800-\udfff]")


class Place(NamedTuple):
    """A host as a connection names it: lower case, ASCII, without a dot at its end; and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def place_of(url: URL) -> Place:
    return Place(url.raw_host or "", url.port or 0)


def parse_url(text: str) -> URL:
    """The address of a page, in the one form everything after it works on; or why it is none."""
    from yarl import URL

    stripped = text.strip()
    if len(stripped) > LONGEST_URL:
        raise _no_url(text, f"it is longer than {LONGEST_URL:,} characters")
    if _UNFIT.search(stripped):
        raise _no_url(text, "it holds a control character or a backslash")
    try:
        url = URL(stripped)
        host, port = url.raw_host, url.port
    except ValueError as error:
        raise _no_url(text, str(error)) from error
    if url.scheme not in ("http", "https"):
        raise _no_url(text, f'it begins with "{url.scheme}:"' if url.scheme else "it does not begin with https://")
    if not host:
        raise _no_url(text, "it names no host")
    if url.raw_user is not None or url.raw_password is not None:
        raise _no_url(text, "a user name or password in it is never sent")
    if not port:
        raise _no_url(text, "port 0 is none")
    return url.with_host(_canonical_host(text, host))


REDIRECTS: ContextVar[Callable[[str], str | None] | None] = ContextVar("redirects", default=None)
"""Says, while a call runs, why a redirect of it may not be followed (`None`: it may), given where it leads."""


def host_of(url: str) -> str:
    """The host an address leads to, in the one spelling that `parse_url` gives it; "" when it names none."""
    from urllib.parse import urlsplit

    try:
        return parse_url(url).raw_host or ""
    except ToolError:
        pass
    try:  # another scheme than ours, or a user name in it: other tools may take it
        return (urlsplit(url.strip()).hostname or "").removesuffix(".").lower()
    except ValueError:
        return ""


_AUTHORITY: Final = re.compile(r"(?i)(?:https?|wss?|ftp):[/\\]*([^/\\?#]*)")


def hosts_of(url: str) -> tuple[str, ...]:
    """Every host that a program may take an address to lead to: of `https://a.example\\@b.example/` it is the
    second to Python, and the first to a browser and to most clients (the URL Standard, 4.4)."""
    first = host_of(url)
    found = _AUTHORITY.match(re.sub(r"[\t\n\r]", "", url.strip("\0 \t\n\r")))
    if found is None:
        return (first,)
    from urllib.parse import unquote

    host = unquote(found[1]).rpartition("@")[2]
    host = host.partition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
    if not host.isascii():
        with suppress(UnicodeError):
            host = host.encode("idna").decode()
    host = host.removesuffix(".").lower()
    if _NUMBER.match(host.rpartition(".")[2]):
        from socket import inet_aton, inet_ntoa

        with suppress(OSError):
            host = inet_ntoa(inet_aton(host))
    return tuple(dict.fromkeys((first, host)))


def _canonical_host(text: str, host: str) -> str:
    from ipaddress import AddressValueError, IPv4Address, IPv6Address

    if ":" in host:
        try:
            address = IPv6Address(host)
        except AddressValueError as error:
            raise _no_url(text, str(error)) from error
        if address.scope_id is not None:
            raise _no_url(text, "an address with a zone is only known to this machine")
        return str(address)
    host = host.removesuffix(".")
    if not _HOST.match(host):
        raise _no_url(text, f'"{host[:80]}" is no host name')
    if _NUMBER.match(host.rpartition(".")[2]):
        try:
            return str(IPv4Address(host))
        except AddressValueError as error:
            # 0177.0.0.1, 127.1 and 2130706433 are read differently by different programs.
            raise _no_url(text, "an address in numbers is written as four decimal ones, such as 192.0.2.1") from error
    return host


def _no_url(text: str, reason: str) -> ToolError:
    url = _CREDENTIALS.sub("//", text)
    return ToolError(
        f'"{_short(url)}" is not the address of a web page: {reason}. '
        'Write the whole address, such as "https://example.com/page".',
        kind="invalid_arguments",
        details={"url": url},
    )


def _short(url: str) -> str:
    return url if len(url) <= 300 else f"{url[:300]}…"


class Reach:
    """What may be reached: public addresses, the places `allow` names, and with `allow_private` private ones.

    A place is "host:port". A host may be an address: then it is reached whatever name leads to it.
    """

    def __init__(
        self, allow: Iterable[str] = (), *, allow_private: bool = False, look_up: LookUp | None = None
    ) -> None:
        self.allow_private = allow_private
        self._allowed = frozenset(_parse_place(entry) for entry in allow)
        self._look_up = look_up or look_up_name

    def also(self, *places: Place) -> Reach:
        """The same, and these places too."""
        wider = Reach(allow_private=self.allow_private, look_up=self._look_up)
        wider._allowed = self._allowed.union(places)
        return wider

    def check_url(self, url: URL) -> None:
        """Refuses what can be refused without looking the name up: it is not enough, `addresses` decides."""
        from ipaddress import ip_address

        place = place_of(url)
        if place in self._allowed:
            return
        if place.host in METADATA_NAMES:
            raise self._refused(str(url), "a cloud metadata service answers there", place)
        if place.port not in (80, 443) and (place.port < 1024 or place.port in _BLOCKED_PORTS):
            raise self._refused(str(url), f"port {place.port} is not one web pages are served on", place)
        if _is_address(place.host):
            self._check_address(str(url), place, ip_address(place.host))

    async def addresses(self, place: Place) -> list[str]:
        """The addresses of a place, every one of them checked; a connection is made to these and no others."""
        from ipaddress import ip_address

        found = [place.host] if _is_address(place.host) else await self._look_up(place.host, place.port)
        for address in found:
            if place not in self._allowed:
                self._check_address(str(place), place, ip_address(address))
        return list(dict.fromkeys(found))

    def _check_address(self, url: str, place: Place, address: Address) -> None:
        if Place(str(address), place.port) in self._allowed:
            return
        for candidate in (address, *_inside(address)):
            reason = _refusal(candidate, allow_private=self.allow_private)
            if reason is not None:
                raise self._refused(url, f"{address} is {reason} address", place, address=str(address))

    def _refused(self, url: str, reason: str, place: Place, **details: Any) -> ToolError:
        advice = f'. Use a public page. Programs can allow the address with Web(allow=["{place}"]).'
        return refused(url, reason + advice, host=place.host, port=place.port, **details)


def _is_address(host: str) -> bool:
    return ":" in host or _NUMBER.match(host.rpartition(".")[2]) is not None


def refused(url: str, reason: str, **details: Any) -> ToolError:
    """The failure that an address may not be reached."""
    return ToolError(f"{_short(url)} may not be reached: {reason}", kind="denied", details={"url": url, **details})


def _parse_place(entry: str) -> Place:
    try:
        url = parse_url(f"http://{entry}/")
        if _PLACE.fullmatch(entry):
            return place_of(url)
    except ToolError:
        pass
    raise ConfigError(f'"{entry}" is not an address to allow; write "host:port", such as "localhost:8080"')


def _inside(address: Address) -> list[IPv4Address]:
    """The IPv4 addresses an IPv6 address leads to: mapped, behind NAT64, or named by its interface (ISATAP)."""
    from ipaddress import IPv4Address, IPv6Network

    if address.version == 4:
        return []
    last = IPv4Address(int(address) & 0xFFFFFFFF)
    isatap = int(address) >> 32 & 0xFDFFFFFF == 0x00005EFE
    if address.ipv4_mapped is not None or isatap or address in IPv6Network("64:ff9b::/96"):
        return [last]
    return []


def _refusal(address: Address, *, allow_private: bool) -> str | None:
    from ipaddress import IPv6Network, ip_network

    for network, what, private in _NETWORKS_4 if address.version == 4 else _NETWORKS_6:
        if address in ip_network(network):
            return None if private and allow_private else what
    if address.version == 4 or address in IPv6Network("2000::/3") or _inside(address):
        return None
    return "a reserved"


async def look_up_name(host: str, port: int) -> list[str]:
    """The addresses the system knows a name by."""
    import asyncio
    import socket

    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ToolError(
            f'there is no host named "{host}", or its name could not be looked up ({error}). Check the address.',
            details={"host": host},
        ) from error
    return [str(entry[4][0]).partition("%")[0] for entry in found]


def guarded_resolver(reach: Reach) -> AbstractResolver:
    """A resolver for aiohttp that gives checked addresses only."""
    import socket

    from aiohttp.abc import AbstractResolver

    class Resolver(AbstractResolver):
        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
        ) -> list[ResolveResult]:
            found = await reach.addresses(Place(host, port))
            return [
                {
                    "hostname": host,
                    "host": address,
                    "port": port,
                    "family": socket.AF_INET6 if ":" in address else socket.AF_INET,
                    "proto": 0,
                    "flags": socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
                }
                for address in found
            ]

        async def close(self) -> None:
            pass

    return Resolver()
