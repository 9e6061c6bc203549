"""A rule on a domain holds for where a page redirects to."""

from __future__ import annotations

import pytest
from aiohttp.web import Response

from dragoman.engine import Answer, Approval, Executor, ToolPolicy
from dragoman.model import Call, Failure, NativeCall, Outcome, PagesOutcome, operations as op
from dragoman.registry import TOOLS
from dragoman.tools import Context, Toolset, Web
from tests.tools.pages import serving


def web_response(location: str) -> Response:
    return Response(status=302, headers={"Location": location})


async def fetched(policy: ToolPolicy, *, approved: bool = False) -> tuple[Outcome, list[str]]:
    """A page of 127.0.0.1 that leads to 127.0.0.2, and what that one was asked for."""
    async with serving({"/there": "<p>there"}, host="127.0.0.2") as far:
        routes = {
            "/": lambda: web_response(far.url("/there")),
            "/near": lambda: web_response("/here"),
            "/here": "<p>here",
        }
        async with serving(routes) as near, Web(allow=[near.place, far.place]) as web:
            context = Context(provides={Web: web})
            approver = (lambda _: Answer(allowed=True)) if approved else None
            executor = Executor(Toolset([TOOLS["fetch_page"]]), policy, context, approver=approver)
            results = await executor.run(
                [
                    Call(id, (op.FetchPage(near.url(path)),), NativeCall(id, "x", {}))
                    for id, path in (("c1", "/"), ("c2", "/near"))
                ]
            )
    assert isinstance(results[1].outcomes[0], PagesOutcome), "a redirect within the host is always followed"
    return results[0].outcomes[0], far.asked


NEAR = Approval("allow", domain="127.0.0.1")


async def test_a_rule_that_allows_a_domain_does_not_allow_where_it_redirects_to() -> None:
    outcome, asked = await fetched(ToolPolicy(default="ask", approval=(NEAR,)))
    assert isinstance(outcome, Failure)
    assert (outcome.kind, asked) == ("denied", [])
    assert "that would have to be asked about (the policy's default); fetch that address by itself" in outcome.message


async def test_a_rule_that_denies_a_domain_holds_for_a_redirect_of_a_call_somebody_approved() -> None:
    policy = ToolPolicy(default="ask", approval=(Approval("deny", domain="127.0.0.2"),))
    outcome, asked = await fetched(policy, approved=True)
    assert isinstance(outcome, Failure)
    assert (outcome.kind, asked) == ("denied", [])


@pytest.mark.parametrize(
    "policy, approved",
    [
        (ToolPolicy(default="ask"), True),
        (ToolPolicy(default="allow"), False),
        (ToolPolicy(default="ask", approval=(NEAR, Approval("allow", domain="127.0.0.*"))), False),
    ],
)
async def test_elsewhere_a_redirect_is_followed(policy: ToolPolicy, approved: bool) -> None:
    outcome, asked = await fetched(policy, approved=approved)
    assert (isinstance(outcome, PagesOutcome), asked) == (True, ["/there"])
