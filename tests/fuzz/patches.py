"""The patch language, and commands that hold a patch."""

from __future__ import annotations

from dragoman.dialects.base.patch_text import PatchError, in_whole_lines, patch_in_command, read_patch, write_patch

from .drawing import Draw
from .target import Target

LINES = (
    *("*** Begin Patch", "*** End Patch", "*** Add File: a.py", "*** Update File: b.py", "*** Delete File: c d"),
    *("*** Move to: e", "*** End of File", "*** Environment ID: x", "@@", "@@ def f():", "@@ -1,2 +3,4 @@", "+new"),
    *("-old", " kept", "", " ", "+", "-", "junk", "*** ", "***", "*** Update File: ", "\t+x", "+\r", "EOF", "<<'EOF'"),
)
PATCH = """*** Begin Patch
*** Add File: hello.txt
+Hello world
+
*** Update File: src/app.py
*** Move to: src/main.py
@@ def greet():
-print("Hi")
+print("Hello, world!")
@@ class A
@@   def b(self):
 kept
-gone
*** End of File
*** Delete File: obsolete.txt
*** End Patch"""
COMMANDS = (
    "apply_patch <<'EOF'\n{}\nEOF\n",
    "cd sub && apply_patch <<EOF\n{}\nEOF",
    "bash -lc 'apply_patch <<PATCH\n{}\nPATCH'",
    "apply_patch '{}'",
    'applypatch "{}"',
    "{}",
)


def draw_patch(draw: Draw) -> str:
    if draw.one_in(2):
        text = draw.damaged_text(PATCH, LINES)
    else:
        text = "\n".join(["*** Begin Patch", *draw.some(LINES, 14), "*** End Patch"][draw.one_in(20) :])
        text = draw.damaged_text(text, LINES) if draw.one_in(3) else text
    if draw.one_in(4):
        text = draw.choice(COMMANDS).replace("{}", text)
        text = draw.damaged_text(text) if draw.one_in(4) else text
    return text


def check_patch(text: str) -> None:
    patch_in_command(text)
    try:
        operations = read_patch(text)
    except PatchError as error:
        assert 1 <= error.line <= text.count("\n") + 1, "it names a line that is not there"
        return
    assert operations, "a patch that does nothing is none"
    written = write_patch(operations)
    assert written is None or read_patch(written) == operations, "what is written reads back as something else"
    for operation in operations:
        nearest = in_whole_lines(operation)
        assert in_whole_lines(nearest) == nearest


TARGETS = [Target("patches", draw_patch, check_patch)]
