"""Pages: fetching, the browser, and searching the web."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .address_policy import REDIRECTS as REDIRECTS, host_of as host_of, hosts_of as hosts_of
    from .search import SearchBackend as SearchBackend
    from .web import PageReader as PageReader
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "address_policy": ("REDIRECTS", "host_of", "hosts_of"),
            "search": ("SearchBackend",),
            "web": ("PageReader",),
        },
    )
