"""`python -m dragoman` is the command `dragoman`."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # `python -m` puts the current folder first on the path, and most of dragoman is imported when it is used: a
    # project's `yaml.py` would be taken for the package. A folder `dragoman` was looked for before this line: where the
    # current folder is not yours, use `dragoman` or `python -P -m dragoman`.
    if not sys.flags.safe_path:
        del sys.path[0]

    from dragoman.cli import main

    raise SystemExit(main())
