"""The command that adds packages, for each way of installing; real installations are tried in conformance."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from dragoman.installation import install_command, packages_of

WHEEL = "/somewhere/dragoman-0.2.0-py3-none-any.whl"


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment named dragoman that this process seems to run in."""
    folder = tmp_path / "dragoman"
    (folder / "bin").mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(sys, "executable", str(folder / "bin" / "python"))
    monkeypatch.setenv("PATH", "/nowhere")
    return folder


def receipt(folder: Path, text: str) -> None:
    (folder / "uv-receipt.toml").write_text(f"[tool]\n{text}\n")


def test_pipx_injects_into_the_environment_of_its_name(prefix: Path) -> None:
    (prefix / "pipx_metadata.json").write_text("{}")
    assert install_command("duckdb>=1.4", "mcp") == "pipx inject dragoman 'duckdb>=1.4' mcp"


def test_a_uv_tool_is_installed_again_with_everything_it_has(prefix: Path, tmp_path: Path) -> None:
    wheel = tmp_path / "dragoman.whl"
    wheel.touch()
    receipt(
        prefix,
        f'python = "3.12"\nrequirements = [{{ name = "dragoman", extras = ["mcp", "pdf"], path = "{wheel}" }},'
        ' { name = "duckdb", specifier = ">=1.4" }]',
    )
    words = f"uv tool install --python 3.12 '{wheel}[mcp,pdf]' --with 'duckdb>=1.4' --with 'pillow>=11.2'"
    assert install_command("pillow>=11.2") == words


@pytest.mark.parametrize(
    "row,words",
    [
        ('{ name = "dragoman" }', "dragoman"),
        ('{ name = "dragoman", specifier = "==0.2.0" }', "dragoman==0.2.0"),
        ('{ name = "dragoman", directory = "HERE" }', "HERE"),
        ('{ name = "dragoman", editable = "HERE" }', "--editable HERE"),
        (
            '{ name = "dragoman", git = "https://a.example/d.git?rev=v1" }',
            "'dragoman @ git+https://a.example/d.git?rev=v1'",
        ),
    ],
)
def test_a_uv_tool_keeps_its_source(prefix: Path, tmp_path: Path, row: str, words: str) -> None:
    receipt(prefix, f"requirements = [{row.replace('HERE', str(tmp_path))}]")
    assert install_command("mcp") == f"uv tool install {words.replace('HERE', str(tmp_path))} --with mcp"


@pytest.mark.parametrize(
    "text", [f'requirements = [{{ name = "dragoman", path = "{WHEEL}" }}]', "", "requirements = []"]
)
def test_a_uv_tool_that_cannot_be_installed_again_is_added_to(
    prefix: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    receipt(prefix, text)
    assert install_command("mcp") == f"uv pip install --python {prefix}/bin/python mcp"


def test_an_environment_of_pip_is_named_unless_its_pip_is_the_one_on_the_path(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: ModuleSpec(name, None))
    assert install_command("mcp") == f"{prefix}/bin/python -m pip install mcp"
    pip = prefix / "bin" / "pip"
    pip.touch()
    pip.chmod(0o755)
    monkeypatch.setenv("PATH", str(prefix / "bin"))
    assert install_command("mcp", "a b") == "pip install mcp 'a b'"


def test_an_extra_is_its_packages_with_their_bounds() -> None:
    mcp = packages_of("mcp")
    assert [package.partition(">=")[0] for package in mcp] == ["mcp", "uvicorn"]
    assert set(mcp) < set(packages_of("all"))
    assert packages_of("unheard-of") == ("dragoman[unheard-of]",)
