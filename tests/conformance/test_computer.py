"""A page of a real browser as the screen a model acts on, in the words of each provider."""

from __future__ import annotations

import asyncio
import os
import sys
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from dragoman.model import (
    Failure,
    ImageOutcome,
    operations as op,
)
from dragoman.tools import Context, Web, browser_screen, computer_tool
from dragoman.tools.computer import PageScreen
from dragoman.tools.workspace.media import picture_size
from tests.engine.loopback import Turn, loopback
from tests.tools.pages import serving

PAGE = """<!doctype html><title>start</title><style>body {margin: 0; height: 3000px}</style>
<button style="position:absolute;left:100px;top:100px;width:100px;height:50px" onclick="add('clicked')"
 ondblclick="add('double')" oncontextmenu="add('menu');return false">go</button>
<input style="position:absolute;left:300px;top:100px;width:200px;height:30px" onchange="add('typed ' + value)">
<a href="/next" style="position:absolute;left:100px;top:300px;width:100px;height:30px">next</a>
<div style="position:absolute;left:500px;top:300px;width:100px;height:100px"
 onmousedown="add('down')" onmouseup="add('up')" onmouseenter="add('over')">x</div>
<script>const said = []; function add(words) {said.push(words); document.title = said.join(' ')}
addEventListener('keydown', event => {if (event.ctrlKey && event.key === 'b') add('ctrl-b')})</script>"""
NEXT = "<!doctype html><title>the next page</title>next"


@asynccontextmanager
async def screen() -> AsyncIterator[tuple[PageScreen, Any]]:
    async with (
        serving({"/": PAGE, "/next": NEXT}) as site,
        Web(allow=[site.place]) as web,
        browser_screen(web, site.url(), width=1000, height=500) as shown,
    ):
        yield shown, site


async def acts(shown: PageScreen, *done: tuple[str, dict[str, Any]]) -> list[Any]:
    tool = computer_tool(shown)
    outcomes = []
    for action, arguments in done:
        outcomes.append(await tool.run(op.UseComputer(action, arguments), Context()))
    return outcomes


ACTS: list[tuple[list[tuple[str, dict[str, Any]]], str]] = [
    ([("double_click", {"coordinate": [150, 125]})], "clicked clicked double"),
    ([("double_click", {"x": 150, "y": 125})], "clicked clicked double"),
    ([("right_click", {"coordinate": [150, 125]})], "menu"),
    ([("click", {"x": 150, "y": 125, "button": "right"})], "menu"),
    (
        [("left_click", {"coordinate": [400, 110]}), ("type", {"text": "tea"}), ("key", {"text": "Return"})],
        "typed tea",
    ),
    ([("click", {"x": 400, "y": 110}), ("type", {"text": "tea"}), ("keypress", {"keys": ["ENTER"]})], "typed tea"),
    ([("type_text_at", {"x": 400, "y": 220, "text": "tea", "press_enter": True})], "typed tea"),
    ([("key", {"text": "ctrl+b"})], "ctrl-b"),
    ([("keypress", {"keys": ["CTRL", "B"]})], "ctrl-b"),
    ([("key_combination", {"keys": "control+b"})], "ctrl-b"),
    ([("key", {"text": "ctrl+b", "repeat": 2})], "ctrl-b ctrl-b"),
    ([("mouse_move", {"coordinate": [550, 350]})], "over"),
    ([("move", {"x": 550, "y": 350})], "over"),
    ([("hover_at", {"x": 550, "y": 700})], "over"),
    ([("left_click_drag", {"start_coordinate": [520, 320], "coordinate": [580, 380]})], "over down up"),
    ([("drag", {"path": [{"x": 520, "y": 320}, {"x": 580, "y": 380}]})], "over down up"),
    ([("drag_and_drop", {"x": 520, "y": 640, "destination_x": 580, "destination_y": 760})], "over down up"),
    ([("mouse_move", {"coordinate": [550, 350]}), ("left_mouse_down", {}), ("left_mouse_up", {})], "over down up"),
    ([("left_click", {"coordinate": [150, 310]})], "the next page"),
    ([("click", {"x": 150, "y": 310}), ("go_back", {}), ("screenshot", {})], "start"),
    ([("wait", {"duration": 0}), ("zoom", {"region": [0, 0, 10, 10]}), ("open_web_browser", {})], "start"),
]
SCROLLS: list[tuple[tuple[str, dict[str, Any]], int]] = [
    (("scroll", {"coordinate": [700, 200], "scroll_direction": "down", "scroll_amount": 3}), 300),
    (("scroll", {"x": 700, "y": 200, "scroll_x": 0, "scroll_y": 250}), 250),
    (("scroll_document", {"direction": "down"}), 400),
    (("scroll_at", {"x": 700, "y": 400, "direction": "down", "magnitude": 500}), 250),
]
MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("left_click", {}, "left_click needs a place on the screen"),
    ("left_click", {"coordinate": [5000, 5]}, "left_click: the place is not on the screen of 1000×500"),
    ("left_click", {"coordinate": ["1", "2"]}, "left_click needs a place on the screen"),
    ("click", {"x": 1, "y": 1, "button": "fifth"}, "there is no button 'fifth'"),
    ("type", {}, "text is required"),
    ("key", {}, "key needs the keys to press"),
    ("scroll", {"coordinate": [1, 1], "scroll_direction": "in"}, "scroll needs a direction"),
    ("drag", {"path": [{"x": 1, "y": 1}]}, "drag needs a path"),
    ("dance", {}, 'the screen has no action "dance"'),
    ("navigate", {"url": "file:///etc/passwd"}, ""),
]


async def test_the_acts_of_each_provider_do_the_same_on_one_screen() -> None:
    """One browser for all of them: starting one takes longer than every act together."""
    async with screen() as (shown, site):
        for done, title in ACTS:
            await shown.page.goto(site.url())
            outcomes = await acts(shown, *done)
            assert (done, await shown.page.title()) == (done, title)
            assert [type(outcome) for outcome in outcomes] == [ImageOutcome] * len(done)
            assert picture_size(b64decode(outcomes[-1].image.data)) == (1000, 500)
            await shown.move(999, 499)
        for scroll, down in SCROLLS:
            await shown.page.goto(site.url())
            await acts(shown, scroll)
            await shown.page.wait_for_function(f"scrollY === {down}")


async def test_an_act_that_cannot_be_done_is_a_failure_the_model_reads() -> None:
    async with serving({"/": "secret"}) as inner, screen() as (shown, _):
        for action, arguments, problem in MISTAKES:
            outcome = await outcome_in(shown, op.UseComputer(action, arguments))
            assert isinstance(outcome, Failure)
            assert (outcome.kind, outcome.message[: len(problem)]) == ("invalid_arguments", problem)
            assert await shown.page.title() == "start"
        # The page cannot lead where the web may not go.
        await outcome_in(shown, op.UseComputer("navigate", {"url": inner.url()}))
        assert inner.asked == []


async def outcome_in(shown: PageScreen, operation: op.UseComputer) -> Any:
    from dragoman.tools.running import outcome_of, run_operation

    tool = computer_tool(shown)
    return await outcome_of(lambda: run_operation(tool, operation, Context()))


# ── the example ──────────────────────────────────────────────────────────────


async def test_the_example_drives_a_real_page(tmp_path: Path) -> None:
    turns = (
        Turn(calls=(("c1", "computer", {"action": "screenshot"}),)),
        Turn(calls=(("c2", "computer", {"action": "left_click", "coordinate": [150, 310]}),)),
        Turn("It is the next page."),
    )
    async with serving({"/": PAGE, "/next": NEXT}) as site, loopback(*turns) as server:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(Path(__file__).parents[2] / "examples" / "computer.py"),
            *("anthropic:claude-sonnet-4-5", site.url(), "Click it.", "--allow", site.place),
            cwd=tmp_path,
            env={
                **os.environ,
                "DRAGOMAN_CONFIG_DIR": str(tmp_path),
                "ANTHROPIC_BASE_URL": server.url,
                "ANTHROPIC_API_KEY": "k",
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, errors = await asyncio.wait_for(process.communicate(), 100)
    assert process.returncode == 0, errors.decode()
    assert out.decode().splitlines()[-1] == "It is the next page."
    assert "/next" in site.asked
    assert "iVBOR" in str(server.requests[1].body)  # the picture, as PNG
