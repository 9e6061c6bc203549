"""docs/reference/settings.md lists every setting; `python -m tests.repository.test_settings_page` writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman.config.kinds import Rule
from dragoman.config.settings import Field, known_settings

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"
HEAD = """# Settings

Every setting, as `dragoman config show` lists them. They are written in `config.toml` of your settings folder, in
`.dragoman/config.toml` of a project, as variables (`DRAGOMAN_POLICY__TIMEOUT=60`) and on the command line
(`--set policy.timeout=60`); of several, the later one holds. `*` is a name of your choice. The last column is what a
project's own file may do with a setting ([why](../decisions/trust.md)). This page is written from the settings
themselves: `python -m tests.repository.test_settings_page`.

| setting | default | | a project |
|---|---|---|---|
"""
RULES = {
    Rule.TIGHTEN: "may tighten it",
    Rule.STRICTER: "may only tighten it",
    Rule.TRUSTED: "if trusted",
    Rule.OWN: "may not",
}


def written() -> str:
    """The page."""
    rows = [
        f"| `{name}` | {_shown(field.default)} | {_cell(field.description)} | {_rule(field)} |"
        for name, field in known_settings()
    ]
    return HEAD + "\n".join(rows) + "\n"


def _rule(field: Field) -> str:
    if field.kind is not None and field.kind.plain is not None:
        return "may set a plain name" + ("; more if trusted" if field.rule is Rule.TRUSTED else "")
    return RULES[field.rule]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _shown(value: Any) -> str:
    if value is None or value == ():
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def test_the_page_lists_every_setting() -> None:
    assert PAGE.read_text(encoding="utf-8") == written(), "run `python -m tests.repository.test_settings_page`"


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
