"""Where agents are found, and who vouches for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman import config
from dragoman.agents import agent_named, find_agents, load_agent
from dragoman.agents.folders import vouched_for
from dragoman.config import Configuration
from dragoman.errors import ConfigError, DefinitionError

TEXT = "---\ndescription: d\n---\nhi\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    project = tmp_path / "home" / "project"
    (project / ".dragoman" / "agents").mkdir(parents=True)
    return project


def loaded(here: Path) -> Configuration:
    environ = {
        "HOME": str(here.parent),
        "DRAGOMAN_CONFIG_DIR": str(here.parent / "config"),
        "DRAGOMAN_DATA_DIR": str(here.parent / "data"),
        "DRAGOMAN_CACHE_DIR": str(here.parent / "cache"),
    }
    return config.load(cwd=here, environ=environ)


def written(path: Path, text: str = TEXT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_trust_is_for_the_text_that_was_read(here: Path) -> None:
    path = written(here / ".dragoman" / "agents" / "one.md")
    beside = written(here / "agents" / "two.md")
    assert not vouched_for(path, TEXT, loaded(here))
    config.trust(here, loaded(here).data_dir)
    trusting = loaded(here)
    assert vouched_for(path, TEXT, trusting)
    assert not vouched_for(path, TEXT + "more", trusting)
    assert not vouched_for(beside, TEXT, trusting)


def test_what_lies_in_the_own_settings_is_vouched_for_unless_it_lies_elsewhere(here: Path) -> None:
    own = written(here.parent / "config" / "agents" / "one.md")
    elsewhere = written(here / "agents" / "two.md")
    link = own.parent / "two.md"
    link.symlink_to(elsewhere)
    assert vouched_for(own, TEXT, loaded(here))
    assert not load_agent(link, loaded(here), "user").trusted


def test_the_project_around_a_folder_is_looked_into_too(here: Path) -> None:
    inner = here / "deep" / "inside"
    names = {"agents/a.md", ".dragoman/agents/b.md", "deep/inside/agents/c.md"}
    for name in names:
        written(here / name)
    found = find_agents(loaded(inner.parent), inner)
    assert {one.path.relative_to(here).as_posix() for one in found} == names


def test_an_agent_of_opencode_in_a_folder_is_found_by_its_name(here: Path) -> None:
    path = written(here / ".opencode" / "agents" / "team" / "reviewer.md", "---\ndescription: d\n---\nLook.\n")
    assert agent_named("team/reviewer", loaded(here), here).path == path
    with pytest.raises(DefinitionError, match="cannot be read"):
        agent_named("team/nobody", loaded(here), here)


def test_a_name_a_path_and_what_is_neither(here: Path) -> None:
    written(here / "agents" / "one.md")
    broken = written(here / "agents" / "broken.md", "---\n")
    configuration = loaded(here)
    by_name = agent_named("one", configuration, here)
    by_path = agent_named(str(here / "agents" / "one.md"), configuration, here)
    assert (by_name.agent, by_name.origin, by_path.origin) == (by_path.agent, "project", "named")
    with pytest.raises(ConfigError, match=r'there is no agent "onne"\. Did you mean "one"\?'):
        agent_named("onne", configuration, here)
    with pytest.raises(DefinitionError, match="has no end"):
        agent_named("broken", configuration, here)
    assert load_agent(broken, configuration, "named").problems == (
        "line 1: the frontmatter that begins here has no end; close it with a line `---`",
    )


def test_a_profile_that_is_not_there_is_told_with_its_line(here: Path) -> None:
    page = "---\nname: one\ndescription: One.\nprofile: careful\n---\nDo it.\n"
    (problem,) = load_agent(written(here / "agents" / "one.md", page), loaded(here), "named").problems
    assert problem.startswith('line 4: profile: there is no profile "careful"')
