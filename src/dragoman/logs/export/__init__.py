"""A session in another form: one file per target, each with a `write` that is given what was chosen.

A new target is a file here and a line in `TARGETS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .blocks import about as about, pretty as pretty
    from .changes import FileStory as FileStory, stories_of as stories_of
    from .chosen import STRATEGIES as STRATEGIES, Chosen as Chosen, Strategy as Strategy
    from .html import style as style
    from .lines import event_line as event_line, written as written
    from .long_transcript import LongTranscript as LongTranscript
    from .markup import Markup as Markup, anchor as anchor, contents as contents, diff_html as diff_html, facts as facts
    from .rich_text import plain as plain
    from .site import write_site as write_site
    from .targets import TARGETS as TARGETS, Target as Target, write_as as write_as
    from .transcript import (
        Conversation as Conversation,
        Part as Part,
        Said as Said,
        Spending as Spending,
        call_seconds as call_seconds,
        conversations_of as conversations_of,
        dollars as dollars,
        duration as duration,
        waits_for_a_person as waits_for_a_person,
    )
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "blocks": ("about", "pretty"),
            "changes": ("FileStory", "stories_of"),
            "chosen": ("STRATEGIES", "Chosen", "Strategy"),
            "html": ("style",),
            "lines": ("event_line", "written"),
            "long_transcript": ("LongTranscript",),
            "markup": ("Markup", "anchor", "contents", "diff_html", "facts"),
            "rich_text": ("plain",),
            "site": ("write_site",),
            "targets": ("TARGETS", "Target", "write_as"),
            "transcript": (
                "Conversation",
                "Part",
                "Said",
                "Spending",
                "call_seconds",
                "conversations_of",
                "dollars",
                "duration",
                "waits_for_a_person",
            ),
        },
    )
