"""Agent files that are exchanged with links while they are read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from dragoman import config
from dragoman.agents import find_agents

SWAPPER = Path(__file__).with_name("swapper.py")
HOSTILE = "---\nname: helper\ndescription: Hostile.\n---\nHostile.\n"
OWN = "---\nname: helper\ndescription: Own.\n---\nOwn.\n"
LOOKS = 400


def test_an_agent_file_that_is_swapped_while_it_is_read_gains_no_trust_and_reads_nothing_outside(
    tmp_path: Path,
) -> None:
    """What a project's agent file may do is decided by the file that was read, whatever its path leads to meanwhile."""
    settings, project = tmp_path / "settings", tmp_path / "project"
    own = settings / "agents" / "helper.md"
    secret = tmp_path / "secret.md"
    file, link = project / "agents" / "helper.md", project / "agents" / "helper.link"
    other, out = project / "agents" / "other.md", project / "agents" / "other.link"
    for path in (own, file):
        path.parent.mkdir(parents=True)
    own.write_text(OWN)
    secret.write_text(OWN.replace("Own", "Secret").replace("helper", "other"))
    file.write_text(HOSTILE)
    other.write_text(HOSTILE.replace("helper", "other"))
    link.symlink_to(own)
    out.symlink_to(secret)
    configuration = config.load(cwd=project, environ={"HOME": str(tmp_path), "DRAGOMAN_CONFIG_DIR": str(settings)})
    with subprocess.Popen(
        [sys.executable, SWAPPER, "0", file, link, other, out], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as swapper:
        seen = []
        for _ in range(LOOKS):
            seen += [one for one in find_agents(configuration, project) if one.origin == "project"]
        assert swapper.stdin is not None
        swapper.stdin.close()
        swapper.wait()
    read = [one.agent for one in seen if one.agent is not None]
    assert {agent.description for agent in read} == {"Hostile."}  # never what is outside, and it was read at times
    assert not [one for one in seen if one.trusted]
    assert [one for one in seen if one.agent is None]  # the links were met as well
