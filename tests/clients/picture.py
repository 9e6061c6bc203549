"""Records a session that is ported and resumed by the real client, as the picture of docs/howto/move-a-session.md.

    python -m tests.clients.picture

Both commands run on a terminal in a sandbox, as in `cell`: nothing in the picture is written by hand.
"""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.cli.conftest import in_terminal

from .cell import ROOT, turns
from .driven import CLIENTS
from .install import program
from .server import Script, served

PICTURE = ROOT / "docs" / "howto" / "move-a-session.svg"
HOME = Path("/home/user")
"""Where the recorded session worked."""
_COLUMNS = 116
_PROMPT = "Change ported.txt: two is 2."


def main() -> int:
    from tests.conformance.conftest import SHARED

    client = program("codex")
    session = SHARED / "traces" / "claude-code" / "files" / "home"
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(session, Path(folder) / "user", copy_function=shutil.copyfile)
        for path in Path(folder).rglob("*"):
            path.chmod(0o700)
        seen = (ROOT, SHARED, client.parent, Path(sys.prefix), Path(sys.base_prefix))
        binds = [str(one) for path in dict.fromkeys(seen) for one in ("--ro-bind", path, path)]
        shut_in = ("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/home")
        alone = ("--unshare-net", "--unshare-pid", "--die-with-parent", "--new-session", "--chdir", str(ROOT))
        run = (sys.executable, "-m", "tests.clients.picture", str(client))
        done = subprocess.run(
            [*shut_in, "--bind", f"{folder}/user", str(HOME), *binds, *alone, *run],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr)
        return 1
    PICTURE.write_text(drawn(json.loads(done.stdout)))
    return 0


def recorded(client: Path) -> list[tuple[str, str]]:
    """The commands, and what was on the terminal after each."""
    project = HOME / "project"
    project.mkdir()
    (project / "ported.txt").write_text("one\ntwo\nthree\n")
    (HOME / "bin").mkdir()
    (HOME / "bin" / "codex").symlink_to(client)
    with served(Script(turns("codex", project / "ported.txt"), mark=_PROMPT)) as port:
        setup = CLIENTS["codex"].setup(port)
        for name, content in setup.files.items():
            (HOME / name).parent.mkdir(parents=True, exist_ok=True)
            (HOME / name).write_text(content)
        path = f"{HOME / 'bin'}:{Path(sys.executable).parent}:/usr/bin:/bin"
        environment = {
            "HOME": str(HOME),
            "PATH": path,
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            **setup.environment,
        }

        def typed(*words: str) -> tuple[str, str]:
            found = shutil.which(words[0], path=path)
            assert found is not None
            return shlex.join(words), in_terminal([found, *words[1:]], project, environment, _COLUMNS).out

        first = typed("dragoman", "port", "last", "--to", "codex")
        session = re.search(r"codex resume (\S+)", first[1])
        assert session is not None, first
        return [first, typed("codex", "exec", "resume", "--skip-git-repo-check", session[1], _PROMPT)]


def drawn(commands: list[tuple[str, str]]) -> str:
    from rich.console import Console
    from rich.terminal_theme import MONOKAI
    from rich.text import Text

    console = Console(record=True, width=_COLUMNS, file=io.StringIO(), force_terminal=True)
    for command, output in commands:
        console.print(Text.assemble(("~/project $ ", "bold green"), command))
        console.print(Text.from_ansi(output.rstrip()))
    svg = console.export_svg(title="", theme=MONOKAI, unique_id="port")
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # no fonts from elsewhere


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.stdout.write(json.dumps(recorded(Path(sys.argv[1]))))
    else:
        sys.exit(main())
