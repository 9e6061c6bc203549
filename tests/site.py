"""`make docs`: builds the documentation site into build/site, offline, and checks every link in it.

The pages are those of docs/, README, CONTRIBUTING, CHANGELOG and the like; the reference is made from docstrings.
`llms.txt` lists the pages for language models, and `llms-full.txt` holds them.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from tests import public_page
from tests.repository.test_doors import DOORS

ROOT = Path(__file__).parents[1]
SOURCE, SITE = ROOT / "build" / "docs", ROOT / "build" / "site"

NAMED = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
MODEL = ("operations", "outcomes", "calls", "conversation", "request", "events")
SECTIONS = {
    "Tutorial": ("tutorial.md",),
    "How-to": ("howto/*.md",),
    "Coming from": ("guides/*.md",),
    "Reference": ("reference/*.md", "mapping.md", "reference/api/*.md"),
    "Explanation": (
        *("origin.md", "architecture.md", "words.md", "security.md", "features.md"),
        *("explanation/*.md", "decisions/*.md"),
    ),
    "Project": ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "release.md"),
}

CONFIGURATION = """\
[project]
site_name = "dragoman"
site_description = "Define a tool once; speak it to every language model in the words it was trained on."
site_url = "https://dragoman.invalid/"
docs_dir = "docs"
site_dir = "site"
use_directory_urls = false
nav = {nav}

[project.theme]
language = "en"
font = false
features = ["content.code.copy", "navigation.sections", "navigation.top", "navigation.footer", "search.highlight"]

[project.markdown_extensions]
attr_list = {{}}
tables = {{}}
toc.permalink = true
pymdownx.highlight.pygments_lang_class = true
pymdownx.inlinehilite = {{}}
pymdownx.superfences = {{}}

[project.plugins.mkdocstrings.handlers.python]
paths = [{source}]

[project.plugins.mkdocstrings.handlers.python.options]
show_root_heading = true
show_source = false
heading_level = 2
members_order = "source"
show_if_no_docstring = false
merge_init_into_class = true
show_attribute_values = false
separate_signature = true
show_signature_annotations = true
"""


def main() -> None:
    collect()
    (SOURCE.parent / "zensical.toml").write_text(
        CONFIGURATION.format(nav=json.dumps(navigation()), source=json.dumps(str(ROOT / "src"))).replace('": ', '" = ')
    )
    shutil.rmtree(SITE, ignore_errors=True)
    done = subprocess.run(
        [Path(sys.executable).with_name("zensical"), "build", "--clean"],
        cwd=SOURCE.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"zensical failed:\n{done.stdout}{done.stderr}")
    write_for_models()
    problems = [*broken_links(), *missing_parts()]
    if problems:
        raise SystemExit("the site has broken links:\n  " + "\n  ".join(problems))
    pages = sum(1 for _ in SITE.rglob("*.html"))
    print(f"{pages} pages in {SITE.relative_to(ROOT)}, every link in them leads somewhere")


# ── the pages ────────────────────────────────────────────────────────────────


def collect() -> None:
    """Every page, with its links as they are in the site."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", SOURCE)
    for name in NAMED:
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, SOURCE / name)
    (SOURCE / "index.md").write_text((ROOT / "README.md").read_text())
    for page in SOURCE.rglob("*.md"):
        folder = ROOT if page.name in (*NAMED, "index.md") else (ROOT / "docs" / page.relative_to(SOURCE)).parent
        page.write_text(LINK.sub(lambda link, page=page, folder=folder: moved(link, page, folder), page.read_text()))  # type: ignore[misc]
    public = SOURCE / "reference" / "public.md"
    public.write_text(f"{public.read_text()}\n{public_page.text()}")
    for module, names in references():
        lines = [f"# {module}", ""]
        for name in names:
            lines += [f"::: {module}.{name}", ""]
        path = SOURCE / "reference" / "api" / f"{module}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines))


LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")


def moved(link: re.Match[str], page: Path, folder: Path) -> str:
    """A link as the page has it in the site; the text alone where it leads to a file that is not in the site."""
    text, target = link.groups()
    path, _, fragment = target.partition("#")
    if not path or urlsplit(target).scheme:
        return link[0]
    there = (folder / path).resolve()
    if there == ROOT / "README.md":
        inside = SOURCE / "index.md"
    elif there.is_relative_to(ROOT / "docs"):
        inside = SOURCE / there.relative_to(ROOT / "docs")
    elif there.parent == ROOT and there.name in NAMED:
        inside = SOURCE / there.name
    elif there.exists():
        return text  # a file of the repository
    else:
        return link[0]  # broken: the check of the built site names it
    if there.is_dir():
        return text
    up = Path(*[".."] * len(page.parent.relative_to(SOURCE).parts)) if page.parent != SOURCE else Path()
    return f"[{text}]({(up / inside.relative_to(SOURCE)).as_posix()}{'#' + fragment if fragment else ''})"


def references() -> Iterator[tuple[str, list[str]]]:
    """Module → its public names, of which the reference has a page."""
    for door, names in DOORS.items():
        if "cli" not in door.split(".") and door.count(".") < 2:
            yield door, sorted(names)
    for name in MODEL:
        text = (ROOT / "src" / "dragoman" / "model" / f"{name}.py").read_text()
        yield f"dragoman.model.{name}", re.findall(r"^(?:class|def) ([A-Za-z]\w*)", text, re.MULTILINE)
    text = (ROOT / "src" / "dragoman" / "errors.py").read_text()
    yield "dragoman.errors", re.findall(r"^class ([A-Z]\w*)", text, re.MULTILINE)


def pages_of(section: str) -> list[Path]:
    patterns = SECTIONS[section]
    return [page for pattern in patterns for page in sorted(SOURCE.glob(pattern))]


def navigation() -> list[dict[str, object]]:
    found: list[dict[str, object]] = [{"dragoman": "index.md"}]
    for section in SECTIONS:
        rows = [{title_of(page): page.relative_to(SOURCE).as_posix()} for page in pages_of(section)]
        if rows:
            found.append({section: rows if len(rows) > 1 else next(iter(rows[0].values()))})
    return found


def title_of(page: Path) -> str:
    heading = re.search(r"^# (.+)$", page.read_text(), re.MULTILINE)
    assert heading is not None, f"{page} has no heading"
    return heading[1].replace("`", "")


def write_for_models() -> None:
    """`llms.txt` and `llms-full.txt`, as https://llmstxt.org describes them."""
    lines = ["# dragoman", "", "> Define a tool once; speak it to every language model in the words it was trained on,"]
    lines[-1] += " run it, and read it back from any agent's log."
    whole = [(SOURCE / "index.md").read_text()]
    for section in SECTIONS:
        lines += ["", f"## {section}", ""]
        for page in pages_of(section):
            path = page.relative_to(SOURCE).as_posix()
            lines.append(f"- [{title_of(page)}]({path})")
            whole += [] if path.startswith("reference/api/") else [page.read_text()]
            (SITE / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(page, SITE / path)
    (SITE / "llms.txt").write_text("\n".join(lines) + "\n")
    (SITE / "llms-full.txt").write_text("\n\n".join(whole))


# ── checking ─────────────────────────────────────────────────────────────────


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif name in ("href", "src") and value is not None and tag in ("a", "img", "link", "script"):
                self.links.append(value)


def broken_links() -> list[str]:
    """Every link within the site that leads to no file or no heading, and everything that is fetched from elsewhere."""
    read: dict[Path, _Links] = {}
    for page in sorted(SITE.rglob("*.html")):
        read[page] = _Links()
        read[page].feed(page.read_text())
    found = []
    for page, parsed in read.items():
        if page.name == "404.html":
            continue
        for link in parsed.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("#__"):
                continue
            path, fragment = urldefrag(link)
            there = (page.parent / unquote(path)).resolve() if path else page
            if not there.exists():
                found.append(f"{page.relative_to(SITE)}: {link} is not there")
            elif fragment and there.suffix == ".html" and unquote(fragment) not in read[there].ids:
                found.append(f"{page.relative_to(SITE)}: {link} has no such heading")
    return sorted(set(found))


def missing_parts() -> list[str]:
    """What the site must have: an index to search in, and an entry for every public name of the reference."""
    found = [] if list(SITE.rglob("search*.js*")) else ["there is no search index"]
    for module, names in references():
        page = SITE / "reference" / "api" / f"{module}.html"
        text = page.read_text() if page.exists() else ""
        found += [f"the reference has no entry for {module}.{name}" for name in names if f".{name}" not in text]
    return found


if __name__ == "__main__":
    main()
