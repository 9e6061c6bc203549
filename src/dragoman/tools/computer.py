"""A screen that a model looks at and acts on: the providers' tools for it, and a page of a browser as one.

Each provider has words of its own for the same few acts (`left_click`, `click`, `click_at`). `computer_tool` reads all
of them and does them on a `Screen`; after every act the model gets a picture of what is shown.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

from dragoman.errors import ToolError
from dragoman.model import operations as op
from dragoman.model.outcomes import ImageOutcome, Media

from .context import Context
from .definition import Tool

if TYPE_CHECKING:
    from playwright.async_api import Page as Tab

    from .web.web import Web

LONGEST_WAIT: Final = 30.0
"""Seconds one act may wait."""
Button = str
Point = tuple[int, int]


class Screen(Protocol):
    """A screen with a pointer and a keyboard. Coordinates are in pixels from the upper left."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        ...

    async def picture(self) -> bytes:
        """What is shown now, as PNG."""
        ...

    async def move(self, x: int, y: int) -> None:
        """Move the pointer."""
        ...

    async def button(self, button: Button, *, down: bool) -> None:
        """Press or release a button of the mouse ("left", "middle" or "right") where the pointer is."""
        ...

    async def click(self, x: int, y: int, *, button: Button, times: int, holding: Sequence[str]) -> None:
        """Click at a point, `times` times, while the keys of `holding` are held down."""
        ...

    async def scroll(self, x: int, y: int, *, right: int, down: int) -> None:
        """Scroll by this many pixels, with the pointer at a point."""
        ...

    async def type(self, text: str) -> None:
        """Type a text."""
        ...

    async def press(self, keys: Sequence[str], *, seconds: float = 0.0) -> None:
        """Press keys together, and hold them for a time. Keys are named as in a browser: "Control", "Enter", "a"."""
        ...

    async def navigate(self, where: str) -> None:
        """Show another page: a URL, "back" or "forward". A screen without pages raises `ToolError`."""
        ...


def computer_tool(screen: Screen) -> Tool:
    """The tool that acts on a screen. Offer it together with the provider's own definition:

    `Toolset([computer_tool(screen), ProviderTool("anthropic.computer_20250124", {...})])`.
    """

    async def act(operation: op.UseComputer, context: Context) -> ImageOutcome:
        await _done(screen, operation.action, operation.arguments)
        picture = await screen.picture()
        width, height = screen.size
        data = b64encode(picture).decode()
        return ImageOutcome(Media(media_type="image/png", data=data, width=width, height=height, size=len(picture)))

    return Tool.from_operation(op.UseComputer, act, sequential=True)


# ── acts, in the words of each provider ──────────────────────────────────────

_CLICKS: Final[Mapping[str, tuple[Button, int]]] = {
    "click": ("left", 1),
    "click_at": ("left", 1),
    "left_click": ("left", 1),
    "right_click": ("right", 1),
    "middle_click": ("middle", 1),
    "double_click": ("left", 2),
    "triple_click": ("left", 3),
}
_DIRECTIONS: Final = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
_NOTCH: Final = 100
"""Pixels that a notch of a wheel stands for, the unit of scrolling in Anthropic's page on computer use."""


async def _done(screen: Screen, action: str, said: Mapping[str, Any]) -> None:
    """Does one act. What it needs and does not have is the model's mistake, and said so."""
    match action:
        case "screenshot" | "open_web_browser" | "zoom" | "cursor_position":
            pass  # the picture that follows every act is what is wanted
        case "wait" | "wait_5_seconds":
            default = 5.0 if action == "wait_5_seconds" else 1.0
            await asyncio.sleep(min(LONGEST_WAIT, max(0.0, float(said.get("duration", default)))))
        case _ if action in _CLICKS:
            button, times = _CLICKS[action]
            x, y = _place(screen, action, said)
            held = _keys(said.get("text") or said.get("keys") or ())
            await screen.click(x, y, button=_button(said.get("button")) or button, times=times, holding=held)
        case "mouse_move" | "move" | "hover_at":
            await screen.move(*_place(screen, action, said))
        case "left_mouse_down" | "left_mouse_up":
            await screen.button("left", down=action == "left_mouse_down")
        case "left_click_drag" | "drag" | "drag_and_drop":
            await _dragged(screen, _path(screen, action, said))
        case "scroll" | "scroll_at" | "scroll_document":
            await _scrolled(screen, action, said)
        case "type":
            await screen.type(_text(said, "text"))
        case "type_text_at":
            await _typed_at(screen, action, said)
        case "key" | "hold_key" | "keypress" | "key_combination":
            keys = _keys(said.get("text") or said.get("keys") or ())
            if not keys:
                raise ToolError(f"{action} needs the keys to press", kind="invalid_arguments")
            seconds = min(LONGEST_WAIT, float(said.get("duration") or 0.0))
            for _ in range(min(100, int(said.get("repeat") or 1))):
                await screen.press(keys, seconds=seconds)
        case "navigate":
            await screen.navigate(_text(said, "url"))
        case "go_back" | "go_forward":
            await screen.navigate(action.removeprefix("go_"))
        case _:
            raise ToolError(f'the screen has no action "{action}"', kind="invalid_arguments")


def _place(screen: Screen, action: str, said: Mapping[str, Any], x: str = "x", y: str = "y") -> Point:
    """Where an act happens. Google counts in thousandths of the screen, the others in pixels."""
    coordinate = said.get("coordinate") if x == "x" else said.get(x)
    if coordinate is None:
        coordinate = [said.get(x), said.get(y)]
    if not isinstance(coordinate, list | tuple) or len(coordinate) != 2 or not all(map(_is_number, coordinate)):
        raise ToolError(f"{action} needs a place on the screen", kind="invalid_arguments")
    width, height = screen.size
    across, down = coordinate
    if action in _IN_THOUSANDTHS:
        across, down = across * width / 1000, down * height / 1000
    if not (0 <= across <= width and 0 <= down <= height):
        raise ToolError(f"{action}: the place is not on the screen of {width}×{height}", kind="invalid_arguments")
    return min(round(across), width - 1), min(round(down), height - 1)


_IN_THOUSANDTHS: Final = frozenset({"click_at", "hover_at", "type_text_at", "scroll_at", "drag_and_drop"})


def _path(screen: Screen, action: str, said: Mapping[str, Any]) -> list[Point]:
    """The points along which something is dragged, first to last."""
    if action == "left_click_drag":
        first = {"coordinate": said.get("start_coordinate")}
        return [_place(screen, action, first), _place(screen, action, said)]
    if action == "drag_and_drop":
        there = {"x": said.get("destination_x"), "y": said.get("destination_y")}
        return [_place(screen, action, said), _place(screen, action, there)]
    path = said.get("path")
    if not isinstance(path, list | tuple) or len(path) < 2:
        raise ToolError("drag needs a path of at least two points", kind="invalid_arguments")
    return [_place(screen, action, point if isinstance(point, Mapping) else {"coordinate": point}) for point in path]


async def _dragged(screen: Screen, path: Sequence[Point]) -> None:
    await screen.move(*path[0])
    await screen.button("left", down=True)
    try:
        for point in path[1:]:
            await screen.move(*point)
    finally:
        await screen.button("left", down=False)


async def _scrolled(screen: Screen, action: str, said: Mapping[str, Any]) -> None:
    width, height = screen.size
    if "scroll_x" in said or "scroll_y" in said:  # OpenAI (SDK 3.49.0): pixels
        right, down = int(said.get("scroll_x") or 0), int(said.get("scroll_y") or 0)
    else:
        direction = str(said.get("scroll_direction") or said.get("direction") or "")
        if direction not in _DIRECTIONS:
            raise ToolError(f"{action} needs a direction: {', '.join(_DIRECTIONS)}", kind="invalid_arguments")
        across, along = _DIRECTIONS[direction]
        if action == "scroll":  # Anthropic (computer_20250124): notches of a wheel
            far = int(said.get("scroll_amount") or 1) * _NOTCH
        else:  # Google's page on computer use: thousandths of the screen
            far = round(int(said.get("magnitude") or 800) * (width if across else height) / 1000)
        right, down = across * far, along * far
    anywhere = said.get("coordinate") is None and said.get("x") is None
    x, y = (width // 2, height // 2) if anywhere else _place(screen, action, said)
    await screen.scroll(x, y, right=right, down=down)


async def _typed_at(screen: Screen, action: str, said: Mapping[str, Any]) -> None:
    x, y = _place(screen, action, said)
    await screen.click(x, y, button="left", times=1, holding=())
    if said.get("clear_before_typing", True):
        await screen.press(("ControlOrMeta", "a"))
        await screen.press(("Delete",))
    await screen.type(_text(said, "text"))
    if said.get("press_enter", True):
        await screen.press(("Enter",))


def _text(said: Mapping[str, Any], name: str) -> str:
    text = said.get(name)
    if not isinstance(text, str):
        raise ToolError(f"{name} is required", kind="invalid_arguments")
    return text


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _button(said: Any) -> Button | None:
    if said is None:
        return None
    names = {"left": "left", "right": "right", "wheel": "middle", "middle": "middle"}
    if said not in names:
        raise ToolError(f"there is no button {said!r}; there are {', '.join(names)}", kind="invalid_arguments")
    return names[said]


_KEYS: Final = {
    **dict.fromkeys(("ctrl", "control"), "Control"),
    **dict.fromkeys(("alt", "option"), "Alt"),
    "shift": "Shift",
    **dict.fromkeys(("meta", "cmd", "command", "super", "super_l", "win"), "Meta"),
    **dict.fromkeys(("return", "enter", "kp_enter"), "Enter"),
    **dict.fromkeys(("esc", "escape"), "Escape"),
    **dict.fromkeys(("backspace", "back_space"), "Backspace"),
    **dict.fromkeys(("delete", "del"), "Delete"),
    "insert": "Insert",
    "tab": "Tab",
    "space": "Space",
    "home": "Home",
    "end": "End",
    **dict.fromkeys(("pageup", "page_up", "prior"), "PageUp"),
    **dict.fromkeys(("pagedown", "page_down", "next"), "PageDown"),
    **dict.fromkeys(("up", "arrowup"), "ArrowUp"),
    **dict.fromkeys(("down", "arrowdown"), "ArrowDown"),
    **dict.fromkeys(("left", "arrowleft"), "ArrowLeft"),
    **dict.fromkeys(("right", "arrowright"), "ArrowRight"),
    "plus": "+",
    "minus": "-",
    "capslock": "CapsLock",
    **{f"f{number}": f"F{number}" for number in range(1, 13)},
}
"""Names of keys as xdotool and the pages on computer use of OpenAI and Google have them → as a browser does."""


def _keys(said: Any) -> tuple[str, ...]:
    """Keys that are pressed together: "ctrl+a", or a list of them."""
    words = said.split("+") if isinstance(said, str) and len(said) > 1 else [said] if isinstance(said, str) else said
    keys = [str(word).strip() or "+" for word in words]
    return tuple(_KEYS.get(key.lower(), key if len(key) > 1 else key.lower()) for key in keys)


# ── a page of a browser ──────────────────────────────────────────────────────


class PageScreen:
    """A page of a browser as a screen. What it loads goes through the rules of the `Web` it was made with."""

    def __init__(self, tab: Tab) -> None:
        self._tab = tab
        view = tab.viewport_size
        assert view is not None  # every page of ours has one
        self._size = (view["width"], view["height"])

    @property
    def size(self) -> tuple[int, int]:
        return self._size

    @property
    def page(self) -> Tab:
        """The page that is shown: a click may have opened another."""
        open_pages = [page for page in self._tab.context.pages if not page.is_closed()]
        return open_pages[-1] if open_pages else self._tab

    async def picture(self) -> bytes:
        from .web.browser import picture_of

        return await picture_of(self.page)

    async def move(self, x: int, y: int) -> None:
        await self.page.mouse.move(x, y)

    async def button(self, button: Button, *, down: bool) -> None:
        mouse = self.page.mouse
        act = mouse.down if down else mouse.up
        await act(button=button)  # type: ignore[arg-type]

    async def click(self, x: int, y: int, *, button: Button, times: int, holding: Sequence[str]) -> None:
        page = self.page
        for key in holding:
            await page.keyboard.down(key)
        try:
            await page.mouse.click(x, y, button=button, click_count=times)  # type: ignore[arg-type]
        finally:
            for key in reversed(holding):
                await page.keyboard.up(key)
        await self._settled()

    async def scroll(self, x: int, y: int, *, right: int, down: int) -> None:
        await self.page.mouse.move(x, y)
        await self.page.mouse.wheel(right, down)

    async def type(self, text: str) -> None:
        await self.page.keyboard.type(text)

    async def press(self, keys: Sequence[str], *, seconds: float = 0.0) -> None:
        await self.page.keyboard.press("+".join(keys), delay=seconds * 1000)
        await self._settled()

    async def navigate(self, where: str) -> None:
        page = self.page
        if where == "back":
            await page.go_back()
        elif where == "forward":
            await page.go_forward()
        else:
            from .web.address_policy import parse_url

            parse_url(where)  # only http and https
            await page.goto(where, wait_until="load")

    async def _settled(self) -> None:
        """Waits for a page that an act may have led to, but not for long."""
        await self.page.wait_for_load_state("load", timeout=_SETTLES_MS)


_SETTLES_MS: Final = 5_000


@asynccontextmanager
async def browser_screen(web: Web, url: str, *, width: int = 1280, height: int = 800) -> AsyncIterator[PageScreen]:
    """A page of the browser of a `Web`, open for as long as the context is.

    Every request of the page goes through the rules of `web`: private addresses are out of reach unless it allows them.
    """
    async with web.browser.page(url, width=width, height=height) as tab:
        yield PageScreen(tab)
