"""The tools that fetch, show, search and find pages."""

from __future__ import annotations

from typing import Final

from dragoman.errors import ToolError
from dragoman.model.operations import FetchPage, FindInPage, SearchWeb, TakeScreenshot
from dragoman.model.outcomes import ImageOutcome, MatchesOutcome, Media, PagesOutcome
from dragoman.tools.context import Context
from dragoman.tools.definition import Tool

from .search import SearchBackend
from .web import PageReader, Web

_LONGEST_CALL: Final = 120
"""Seconds for a call in which a model may be asked: to search, or to read a page."""


async def _fetch(operation: FetchPage, context: Context) -> PagesOutcome:
    return await context.get(Web).fetch(operation, context.provides.get(PageReader))


async def _find(operation: FindInPage, context: Context) -> MatchesOutcome:
    return await context.get(Web).find(operation)


async def _search(operation: SearchWeb, context: Context) -> PagesOutcome:
    # A run provides the search of its model's own provider, where that is to be used.
    return await context.get(Web).search(operation, context.provides.get(SearchBackend))


fetch_page = Tool.from_operation(FetchPage, _fetch, name="fetch_page", repeatable=True, timeout=_LONGEST_CALL)
find_in_page = Tool.from_operation(FindInPage, _find, name="find_in_page", repeatable=True)
search_web = Tool.from_operation(SearchWeb, _search, name="search_web", repeatable=True, timeout=_LONGEST_CALL)


async def _screenshot(operation: TakeScreenshot, context: Context) -> ImageOutcome:
    import asyncio
    from base64 import b64encode

    from dragoman.tools.workspace.media import picture_size

    path = None
    if operation.save_to is not None:
        if not operation.save_to.lower().endswith(".png"):
            raise ToolError("save_to must end in .png: pictures of pages are PNG", kind="invalid_arguments")
        path = context.workspace.resolve(operation.save_to)
    picture = await context.get(Web).browser.screenshot(operation)
    if path is not None:
        await asyncio.to_thread(context.workspace.write, path, picture)
    size = picture_size(picture)
    return ImageOutcome(
        Media(
            media_type="image/png",
            data=b64encode(picture).decode(),
            path=path,
            width=size[0] if size else None,
            height=size[1] if size else None,
            size=len(picture),
        )
    )


take_screenshot = Tool.from_operation(TakeScreenshot, _screenshot, name="take_screenshot", repeatable=True)
