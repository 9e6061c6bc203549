"""Resources of MCP servers as rows of JSON, in the names of the protocol."""

from __future__ import annotations

from typing import Any, Final

from dragoman.model import outcomes as out

_FIELDS: Final = {
    "uri": "uri",
    "uriTemplate": "uri",
    "name": "name",
    "description": "description",
    "mimeType": "media_type",
    "server": "server",
    "text": "text",
    "blob": "data",
}
_LISTS: Final = ("resources", "resourceTemplates", "contents")


def resource_row(resource: out.Resource, *names: str) -> dict[str, str]:
    """What is known of a resource, under these names and in this order."""
    return {name: value for name in names if (value := getattr(resource, _FIELDS[name])) is not None}


def resources_in(said: Any) -> out.ResourcesOutcome | None:
    """The resources of a list, which may stand in an object under its name; `None` where there is none."""
    known = said if isinstance(said, dict) else {}
    listed = said if isinstance(said, list) else next((known[name] for name in _LISTS if name in known), None)
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        return None
    found = [_resource(one, known.get("server")) for one in listed]
    if None in found:
        return None
    cursor = known.get("nextCursor")
    named = tuple([one for one in found if one is not None])
    return out.ResourcesOutcome(named, cursor if isinstance(cursor, str) else None)


def _resource(row: dict[str, Any], server: Any) -> out.Resource | None:
    texts = {"server": server, **row}
    fields = {_FIELDS[name]: text for name, text in texts.items() if name in _FIELDS and isinstance(text, str)}
    return out.Resource(**fields) if "uri" in fields else None
