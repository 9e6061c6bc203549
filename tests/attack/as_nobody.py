"""Becomes a user without rights, and then another program: `python -m tests.attack.as_nobody PROGRAM …`."""

from __future__ import annotations

import os
import sys

from tests.attack.apart import become_nobody

if __name__ == "__main__":
    become_nobody()
    os.execv(sys.argv[1], sys.argv[1:])
