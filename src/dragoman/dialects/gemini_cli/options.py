"""Why `wait_for_previous`, a parameter of many tools, has no meaning here."""

from __future__ import annotations

WAIT = "the order in which calls run is the executor's to decide"
