"""opencode's tools for the web, for asking the user, and for skills and servers."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from dragoman.dialects.base.mcp_resources import resource_row, resources_in
from dragoman.dialects.base.questions import questions
from dragoman.dialects.base.spelling import REQUIRED, SECONDS, Spelling, means, native_only, was
from dragoman.dialects.base.words import CALLED, body, by_hand, in_json, maybe, one_of, page_text, single, words
from dragoman.model import operations as op, outcomes as out

from .files import NOT_OFFERED

# ── web ──────────────────────────────────────────────────────────────────────


PAGES = one_of(
    words(
        out.TextOutcome,
        "{text}",
        text=body(),
        of=out.PagesOutcome,
        to=lambda asked, page: out.PagesOutcome((out.Page(asked.url, text=page.text),)),
        back=lambda _asked, pages: out.TextOutcome(page_text(pages)),
    )
)


class WebFetch(Spelling[op.FetchPage]):
    """Fetch a web page."""

    native_name = "webfetch"
    results = PAGES
    described_until = {"1.1.53": "Fetch a page of the web in one of three forms."}

    url: str = means("url", "URL of the page.")
    format: Literal["text", "markdown", "html"] | None = means(
        "format",
        "Format of the result.",
        default=None,
        since="1.18.4",
        was=was("1.1.53", type=Literal["text", "markdown", "html"], default=REQUIRED),
    )
    timeout: float | None = means("timeout_ms", "Timeout in seconds.", default=None, convert=SECONDS)


class WebSearch(Spelling[op.SearchWeb]):
    """Search the web."""

    native_name = "websearch"
    read_only = NOT_OFFERED

    query: str
    numResults: int | None = None  # noqa: N815 - the native name
    livecrawl: str | None = native_only("how the search engine gets its pages is its own affair")
    type: str | None = native_only("how hard the search engine tries is its own affair")
    contextMaxCharacters: int | None = native_only("how much comes back is the search engine's affair")  # noqa: N815

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.SearchWeb(self.query, limit=self.numResults),)


# ── people and extensions ────────────────────────────────────────────────────


class AskedOption(msgspec.Struct, frozen=True):
    """One answer to choose from."""

    label: str
    description: str


class AskedQuestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question to the user."""

    question: str
    header: str
    options: tuple[AskedOption, ...]
    multiple: bool = False


_ANSWERED = "User has answered your questions: "


def _answered(outcome: out.AnswersOutcome, _asked: op.Operation) -> str | None:
    said = (f'"{one.question}"="{one.text or ", ".join(one.choices)}"' for one in outcome.answers)
    return f"{_ANSWERED}{', '.join(said)}." if outcome.answers else None


def _answers_in(text: str, _asked: op.Operation) -> out.AnswersOutcome | None:
    if not text.startswith(_ANSWERED):
        return None
    found = re.findall(r'"(.*?)"="(.*?)"', text, re.DOTALL)
    return out.AnswersOutcome(tuple(out.Answer(question, text=answer) for question, answer in found))


class AskUser(Spelling[op.AskUser]):
    """Ask the user one or several questions."""

    native_name = "question"
    until = "1.1.53"
    approximated = {"questions": "a question has no id, no default, and its options no preview"}

    questions: tuple[AskedQuestion, ...] = means("questions", "The questions.", convert=questions(AskedQuestion))

    results = one_of(
        by_hand(
            out.AnswersOutcome,
            _answered,
            _answers_in,
            nearly={"answers": "an answer is read as a text, and one with quotes in it is cut"},
        )
    )


class UseSkill(Spelling[op.UseSkill]):
    """Load a skill: instructions for a kind of work."""

    native_name = "skill"

    name: str = means("name", "Name of the skill.")


def _listed(asked: op.ListMcpResources, outcome: out.ResourcesOutcome) -> dict[str, Any]:
    uri = "uriTemplate" if asked.templates else "uri"
    rows = [resource_row(one, "name", uri, "description", "mimeType", "server") for one in outcome.resources]
    return {"resourceTemplates" if asked.templates else "resources": rows}


RESOURCES = one_of(
    in_json(
        out.ResourcesOutcome,
        Any,
        to=lambda _asked, said: resources_in(said),
        back=_listed,
        nearly={"resources": "the content is not given"},
        indent=2,
    )
)


class ListMcpResources(Spelling[op.ListMcpResources]):
    """List the resources that MCP servers offer."""

    results = RESOURCES
    native_name = "list_mcp_resources"
    since = "1.18.4"
    always = {"templates": False}

    server: str | None = means("server", "List only the resources of this server.", default=None)


class ListMcpResourceTemplates(Spelling[op.ListMcpResources]):
    """List the resource templates that MCP servers offer."""

    results = RESOURCES
    native_name = "list_mcp_resource_templates"
    since = "1.18.4"
    always = {"templates": True}

    server: str | None = means("server", "List only the resources of this server.", default=None)


class ReadMcpResource(Spelling[op.ReadMcpResource]):
    """Read a resource of an MCP server."""

    native_name = "read_mcp_resource"
    since = "1.18.4"

    server: str = means("server", "Name of the MCP server.")
    uri: str = means("uri", "URI of the resource.")

    results = one_of(
        single(
            out.ResourcesOutcome,
            words(
                out.Resource,
                "Resource: {uri}\n",
                maybe("MIME: {media_type}\n"),
                "{text}",
                text=body(),
                server=CALLED,
                unsaid={
                    "name": "a resource is named by its URI",
                    "description": "only the content is given",
                    "data": "only text is given",
                },
            ),
        )
    )
