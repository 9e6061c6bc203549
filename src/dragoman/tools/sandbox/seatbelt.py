"""The profile that macOS's `sandbox-exec` takes: what a command may touch, as text.

Not run by us: its text is tested, on Linux, and whether macOS takes it is found out there by the trial in `sandbox.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .layout import Layout

# Ways to have somebody outside do it: drive another program, open one, have launchd start one or the preferences daemon
# write. And no process outside can be signalled, dragoman first of all.
_OTHERS = (
    *("(deny appleevent-send)", "(deny lsopen)", "(deny job-creation)", "(deny user-preference-write)"),
    *("(deny signal)", "(allow signal (target same-sandbox))"),
)
_DEVICES = '(regex #"^/dev/(null|zero|fd/|ptmx|tty|pty|dtracehelper)")'


def profile(layout: Layout, *, network: bool) -> str:
    """A profile in which the last rule that fits an access decides about it; so inner paths come after outer ones."""
    rules: list[tuple[int, str]] = []
    for path in (*layout.writable, layout.temporary):
        rules.append((path.count("/"), f"(allow file-read* file-write* {_below(path)})"))
    for path in layout.hidden:
        rules.append((path.count("/"), f"(deny file-read* file-write* {_below(path)})"))
    for path in layout.shown:
        rules.append((path.count("/"), f"(allow file-read* {_below(path)})"))
    for path in layout.read_only:
        rules.append((path.count("/"), f"(deny file-write* {_below(path)})"))
    for path in (*layout.pinned, *layout.redirects):
        rules.append((path.count("/"), f"(deny file-write* (literal {_quoted(path)}))"))
    lines = ["(version 1)", "(allow default)", *_OTHERS, "(deny file-write*)", f"(allow file-write* {_DEVICES})"]
    lines += [rule for _, rule in sorted(rules, key=lambda one: one[0])]
    lines += [] if network else ["(deny network*)"]
    return "\n".join(lines) + "\n"


def _below(path: str) -> str:
    return f"(subpath {_quoted(path)})"


def _quoted(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
