"""What fetching a page gave, within which limits, which kinds of content are text, and how fetching fails."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from dragoman.errors import ToolError

from .page_text import shortened

HTML: Final = ("text/html", "application/xhtml+xml")
_TEXT: Final = re.compile(
    r"text/.*|(application|image|model)/(.+\+)?(json|xml|yaml)|application/(x-)?(javascript|ecmascript|ndjson|jsonl|"
    r"json-seq|toml|yaml|sh|sql|graphql|typescript|httpd-php|perl|python|ruby|tex|latex|rtf|www-form-urlencoded)"
)


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """What a server answered. `rendered` says that a browser made the body of it."""

    url: str
    final_url: str
    status: int
    body: bytes
    media_type: str | None = None
    charset: str | None = None
    rendered: bool = False


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How large pages may be, and how long they may take; see `Web`."""

    max_bytes: int
    timeout_ms: int
    most_timeout_ms: int
    connect_timeout_ms: int
    read_timeout_ms: int

    def seconds(self, timeout_ms: int | None) -> float:
        """How long one call may take."""
        if timeout_ms is not None and timeout_ms < 1:
            raise ToolError(f"timeout_ms is {timeout_ms}; it must be at least 1", kind="invalid_arguments")
        return min(timeout_ms or self.timeout_ms, self.most_timeout_ms) / 1000


def is_text(media_type: str) -> bool:
    return media_type in HTML or _TEXT.fullmatch(media_type) is not None


def timed_out(what: str, seconds: float) -> ToolError:
    return ToolError(
        f"{shortened(what, 300)} took longer than {seconds:g} seconds and was given up",
        kind="timed_out",
        details={"seconds": seconds},
    )


def too_large(url: str, limit: int, size: int | None) -> ToolError:
    stated = f" ({size:,} bytes as sent)" if size else ""
    return ToolError(
        f"{shortened(url, 300)} is larger than the {limit:,} bytes a page may have{stated}",
        details={"url": url, "limit": limit, "size": size},
    )


def not_text(url: str, media_type: str, size: int | None) -> ToolError:
    of_size = "of unknown size" if size is None else f"{size:,} bytes"
    return ToolError(
        f"{shortened(url, 300)} is no page of text but {shortened(media_type, 100)}, {of_size}. "
        "Download it with a command if it is needed.",
        details={"url": url, "media_type": media_type, "size": size},
    )
