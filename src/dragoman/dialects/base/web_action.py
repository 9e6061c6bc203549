"""One tool for the whole web: `web_search{action: {type, query | url | pattern}}`.

Several vocabularies read it, because models call it whether or not it was offered. It is offered as a variant:
`dialect.but(WebAction)`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from dragoman.model import operations as op

from .spelling import Spelling, means


class Action(msgspec.Struct, frozen=True, omit_defaults=True):
    """What to do: search, open a page, or find a text in one."""

    type: Literal["search", "open_page", "find_in_page"]
    query: str | None = None
    url: str | None = None
    pattern: str | None = None


def _meant(action: Action) -> op.Operation:
    match action:
        case Action(type="search", query=str(query)):
            return op.SearchWeb(query)
        case Action(type="open_page", url=str(url)):
            return op.FetchPage(url)
        case Action(type="find_in_page", url=str(url), pattern=str(pattern)):
            return op.FindInPage(url, pattern)
    wanted = {"search": "`query`", "open_page": "`url`", "find_in_page": "`url` and `pattern`"}
    raise ValueError(f"the action {action.type!r} needs {wanted[action.type]}")


def _action(operation: op.SearchWeb | op.FetchPage | op.FindInPage) -> Action:
    match operation:
        case op.SearchWeb():
            return Action("search", query=operation.query)
        case op.FetchPage():
            return Action("open_page", url=operation.url)
        case _:
            return Action("find_in_page", url=operation.url, pattern=operation.pattern)


class WebAction(Spelling[op.SearchWeb | op.FetchPage | op.FindInPage]):
    """Use the web: search it, open a page, or find a text in a page."""

    native_name = "web_search"
    unsaid = {
        "SearchWeb.allowed_domains": "an action has no domains",
        "SearchWeb.blocked_domains": "an action has no domains",
        "SearchWeb.limit": "an action has no number of results",
        "FetchPage.instructions": "the page itself is wanted",
        "FetchPage.format": "a page has one form",
        "FetchPage.timeout_ms": "an action has no time limit",
        "FetchPage.offset": "a page is taken from its start",
        "FetchPage.limit": "a page is given whole",
    }

    action: Action = means(None, "What to do, and with what.")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (_meant(self.action),)

    @classmethod
    def from_operation(cls, operation: op.SearchWeb | op.FetchPage | op.FindInPage) -> WebAction:
        return cls(action=_action(operation))


class UnofferedWebAction(Spelling[op.SearchWeb | op.FetchPage | op.FindInPage]):
    """The same, from a model that calls it though it was not offered: nested, or flat with `action_type`."""

    native_name = "web_search"
    read_only = "it is offered as the variant `.but(WebAction)`"
    unsaid = WebAction.unsaid

    action: Action | Literal["search", "open_page", "find_in_page"] | None = None
    action_type: Literal["search", "open_page", "find_in_page"] | None = None
    query: str | None = None
    url: str | None = None
    pattern: str | None = None

    def to_operations(self) -> tuple[op.Operation, ...]:
        if isinstance(self.action, Action):
            return (_meant(self.action),)
        kind = self.action_type or self.action
        if kind is None:
            if self.query is None:
                raise ValueError("there is neither a query nor an action")
            kind = "search"
        return (_meant(Action(kind, self.query, self.url, self.pattern)),)
