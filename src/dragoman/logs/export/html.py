"""A transcript as one HTML file that needs nothing else: no script, no picture, no address is loaded.

Rule: every foreign text goes through `_text`, and stands between tags only: none is ever part of a tag.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import BinaryIO, Final

from dragoman.tools.workspace import marked_lines

from .chosen import Chosen
from .transcript import Block, Conversation, Said, conversations_of, visible

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE: Final = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1c2024; --quiet: #687076; --line: #e4e7eb; --code: #f6f7f9;
  --user: #eef4ff; --user-line: #9db8f0; --good: #1a7f47; --bad: #c2352b; --add: #e3f6e8; --cut: #fde8e6;
  --hunk: #6b5bd2; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171a; --ink: #e6e8ea; --quiet: #949ba3; --line: #2c3238;
  --code: #1c2126; --user: #1a2438; --user-line: #3f5f9f; --good: #58c285; --bad: #ff8a80; --add: #14301f;
  --cut: #3a1d1b; --hunk: #a99cf5; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.5rem; line-height: 1.3; margin: 0 0 .75rem; overflow-wrap: anywhere; }
h2 { font-size: .8rem; letter-spacing: .06em; text-transform: uppercase; color: var(--quiet); font-weight: 600;
  margin: 2.25rem 0 .75rem; border-top: 1px solid var(--line); padding-top: .75rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0; font-size: .9rem; }
dt { color: var(--quiet); } dd { margin: 0; overflow-wrap: anywhere; }
article { margin: .75rem 0; }
header { display: flex; gap: .6rem; align-items: baseline; font-size: .85rem; color: var(--quiet); }
header b { color: var(--ink); } time { margin-left: auto; white-space: nowrap; font-variant-numeric: tabular-nums; }
.words { white-space: pre-wrap; overflow-wrap: anywhere; }
.user { background: var(--user); border-left: 3px solid var(--user-line); padding: .6rem .9rem; border-radius: 6px; }
.thought { color: var(--quiet); border-left: 3px solid var(--line); padding-left: .9rem; font-style: italic; }
.error { color: var(--bad); }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; }
summary { cursor: pointer; padding: .4rem .75rem; display: flex; gap: .75rem; font-size: .9rem; align-items: baseline; }
summary::before { content: "▸"; color: var(--quiet); } details[open] > summary::before { content: "▾"; }
summary code { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.state { margin-left: auto; font-size: .8rem; color: var(--good); white-space: nowrap; }
.failed > summary .state { color: var(--bad); font-weight: 600; }
.inside { padding: 0 .75rem .75rem; }
.label { font-size: .75rem; color: var(--quiet); margin: .5rem 0 .2rem; overflow-wrap: anywhere; }
pre, code { font: .83rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
pre { margin: 0; background: var(--code); border-radius: 4px; padding: .6rem .75rem; overflow: auto;
  max-height: 30rem; white-space: pre-wrap; overflow-wrap: anywhere; }
pre span { display: block; margin: 0 -.75rem; padding: 0 .75rem; min-height: 1.5em; }
.added { background: var(--add); } .removed { background: var(--cut); } .place { color: var(--hunk); }
.agent { border-left: 3px solid var(--hunk); padding-left: 1rem; margin: .75rem 0; }
.agent h1 { font-size: 1.1rem; }
""".strip()


def write(chosen: Chosen, out: BinaryIO) -> None:
    for piece in _page(conversations_of(chosen)):
        out.write(piece.encode("utf-8", "backslashreplace") + b"\n")


def _text(text: str) -> str:
    return escape(visible(text), quote=True)


def _page(conversations: list[Conversation]) -> Iterator[str]:
    title = _text(conversations[0].title) if conversations else "Nothing was recorded"
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f'<meta name="referrer" content="no-referrer">\n<title>{title}</title>\n<style>\n{_STYLE}\n</style>'
    yield "</head>\n<body>\n<main>"
    for conversation in conversations:
        yield from _conversation(conversation)
    yield "</main>\n</body>\n</html>"


def _conversation(conversation: Conversation) -> Iterator[str]:
    yield f"<section>\n<h1>{_text(conversation.title)}</h1>\n<dl>"
    for name, value in conversation.facts:
        yield f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>"
    yield "</dl>"
    for part in conversation.parts:
        if part.number is not None:
            yield f"<h2>Turn {part.number + 1}</h2>"
        for said in part.said:
            yield from _call(said) if said.kind == "call" else _said(said)
    for agent in conversation.agents:
        yield from _agent(agent)
    yield "</section>"


def _agent(agent: Conversation) -> Iterator[str]:
    yield '<div class="agent">'
    yield from _conversation(agent)
    yield "</div>"


def _said(said: Said) -> Iterator[str]:
    time = f"<time>{_text(said.time)}</time>" if said.time else ""
    yield f'<article class="{said.kind}">\n<header><b>{_text(said.title)}</b>{time}</header>'
    for block in said.blocks:
        yield from _block(block)
    yield "</article>"


def _call(said: Said) -> Iterator[str]:
    # What went wrong, what changed files and what has agents below it is what people look for: it stands open.
    shown = said.failed or said.agents or any(block.kind == "diff" for block in said.blocks)
    state = _text(said.result or "")
    yield f'<details class="{"failed" if said.failed else "call"}"{" open" if shown else ""}>'
    yield f'<summary><code>{_text(said.title)}</code><span class="state">{state}</span></summary>\n<div class="inside">'
    for block in said.blocks:
        yield from _block(block)
    for agent in said.agents:
        yield from _agent(agent)
    yield "</div>\n</details>"


def _block(block: Block) -> Iterator[str]:
    if block.kind == "raw":
        yield f"<details><summary>{_text(block.label or '')}</summary><pre>{_text(block.text)}</pre></details>"
        return
    if block.kind == "words":
        yield f'<div class="words">{_text(block.text)}</div>'
        return
    if block.label is not None:
        yield f'<div class="label">{_text(block.label)}</div>'
    text = _diff(block.text) if block.kind == "diff" else _text(block.text)
    yield f"<pre>{text}</pre>"


def _diff(text: str) -> str:
    return "".join(
        f'<span class="{_CLASSES.get(mark, "same")}">{_text(line)}</span>' for mark, line in marked_lines(text)
    )


_CLASSES: Final = {"+": "added", "-": "removed", "@": "place"}
