"""Where the text of an edit stands in a file, by the steps that a vocabulary's rules state.

Rule: the steps are data (`EditRules`); this module does them and decides nothing by itself.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from dragoman.model.edit_rules import EditRules, Fold, Step

from .file_lines import LosesText, after_line_end, has_one_indent, indentation, indentation_at, written, written_loosely
from .folding import BLANKS, QUOTES, distance, escaped, folded, folded_text, split, strip, unescaped


class Place(NamedTuple):
    """A part of the file, and the text that takes its place."""

    start: int
    end: int
    new: str


class FoundPlaces(NamedTuple):
    """Where an edit's text stands. Several places where all are to be replaced; otherwise one, or too many."""

    places: tuple[Place, ...]
    too_many: bool = False
    too_large: bool = False
    times: int | None = None
    """How often it stands there, where that is counted otherwise than by the places."""


class _Search(NamedTuple):
    """A file's text, and what is looked for in it."""

    text: str
    old: str
    new: str


def search(text: str, old: str, new: str, rules: EditRules, *, everywhere: bool) -> FoundPlaces | None:
    """Where `old` stands and what is written there, by the first step that finds it; `None` where no step does."""
    if rules.repeat:
        return _repeated(text, old, new, rules, everywhere=everywhere)
    ambiguous: FoundPlaces | None = None
    for step in rules.steps:
        found = _by_step(_Search(text, old, new), step, rules, everywhere=everywhere)
        if found is None:
            continue
        if not found.too_many or step.many != "next":
            return found
        ambiguous = ambiguous or found
    return ambiguous


def _repeated(text: str, old: str, new: str, rules: EditRules, *, everywhere: bool) -> FoundPlaces | None:
    """All steps, again and again on what follows the place found last."""
    places: list[Place] = []
    position = 0
    while position <= len(text):
        rest = _Search(text[position:], old, new)
        first = next((one[0] for step in rules.steps if (one := _places(rest, step, text[:position]))), None)
        if first is None or first.end == first.start:
            break
        places.append(Place(first.start + position, first.end + position, first.new))
        position += first.end
    if not places:
        return None
    return FoundPlaces(tuple(places), too_many=len(places) > 1 and not everywhere)


def _by_step(asked: _Search, step: Step, rules: EditRules, *, everywhere: bool) -> FoundPlaces | None:
    if step.many == "refuse" and step.counted == "places" and not everywhere:
        spans = _spans(asked, step)
        if len(spans) > 1:  # nothing is written, so nobody asks what
            return FoundPlaces(tuple(Place(start, end, "") for start, end in spans), too_many=True)
    places = _places(asked, step, "")
    if not places:
        return None
    if step.counted == "folded":
        return _counted_folded(asked, rules.steps[-1], places, everywhere=everywhere)
    if step.counted in ("text", "overlapping"):
        return _counted_by_text(asked, step, rules, places, everywhere=everywhere)
    if everywhere or step.many == "first":
        return FoundPlaces(tuple(places if everywhere else places[:1]))
    return FoundPlaces(tuple(places), too_many=len(places) > 1)


def _counted_folded(asked: _Search, loosest: Step, places: Sequence[Place], *, everywhere: bool) -> FoundPlaces:
    wanted = folded_text(asked.old, loosest.fold)
    text = folded_text(asked.text, loosest.fold)
    count = text.count(wanted) if wanted else len(text) - 1
    return FoundPlaces(
        tuple(places if everywhere or count > 1 else places[:1]), too_many=count > 1 and not everywhere, times=count
    )


def _counted_by_text(
    asked: _Search, step: Step, rules: EditRules, places: Sequence[Place], *, everywhere: bool
) -> FoundPlaces | None:
    """The text of the first place that stands in the file once; with `many="next"` the next place is tried too."""
    for place in places:
        text = asked.text[place.start : place.end]
        if not text and not asked.text:
            return FoundPlaces((place,))
        if not text and everywhere:
            raise LosesText  # opencode 1.18.33 puts the new text between all characters
        if not text:
            continue
        if rules.delete_line_end == "sought" and not place.new and text[-1] != "\n" and f"{text}\n" in asked.text:
            at = asked.text.index(f"{text}\n")
            text, place = f"{text}\n", Place(at, at + len(text) + 1, "")
        if rules.most_lines and _too_large(text, asked.old):
            return FoundPlaces((place,), too_large=True)
        if everywhere:
            same = (Place(at, at + len(text), place.new) for at in occurrences(asked.text, text))
            return FoundPlaces(tuple(same))
        overlapping = step.counted == "overlapping"
        others = [*occurrences(asked.text, text)]
        if len(others) == 1 and not (overlapping and asked.text.find(text, others[0] + 1) >= 0):
            return FoundPlaces((place,))
        if step.many == "first":
            return FoundPlaces((place,))
        if step.many == "refuse":
            starts = others if len(others) > 1 else [others[0], asked.text.find(text, others[0] + 1)]
            return FoundPlaces(tuple(Place(at, at + len(text), place.new) for at in starts), too_many=True)
    if step.many != "next":
        return None  # an empty line is no text that can be counted
    return FoundPlaces(tuple(places), too_many=True)


def _too_large(text: str, old: str) -> bool:
    lines, asked = text.count("\n") + 1, old.count("\n") + 1
    if lines >= max(asked + 3, 2 * asked):
        return True
    return asked > 1 and len(text) > max(len(old) + 500, 4 * len(old))


def occurrences(text: str, wanted: str) -> Iterator[int]:
    """Where a text stands, one after another."""
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        yield at
        at = text.find(wanted, at + len(wanted))


Span = tuple[int, int]


def _places(asked: _Search, step: Step, before: str) -> list[Place]:
    """What one step finds, in the order of the file, and what is written there. `before` stands before the text."""
    old, new = _texts(asked, step)
    return [_written(asked.text, span, old, new, step, before) for span in _spans(asked, step)]


def _spans(asked: _Search, step: Step) -> list[Span]:
    """What one step finds, in the order of the file."""
    old, _ = _texts(asked, step)
    if len(asked.old) < step.least_characters or asked.old.count("\n") + 1 < step.least_lines or not old:
        return []
    found = _UNITS[step.unit](asked.text, old, step)
    if not step.one_indent:
        return found
    return [span for span in found if has_one_indent(asked.text, *span, old, letters="nfkc" in step.fold)]


def _texts(asked: _Search, step: Step) -> tuple[str, str]:
    """The old and the new text as a step takes them; nothing to look for where it takes none."""
    match step.drop_last_empty:
        case "both":
            ended = asked.old.endswith("\n")
            return asked.old[:-1] if ended else "", asked.new.removesuffix("\n")
        case "old":
            return asked.old.removesuffix("\n"), asked.new
        case _:
            return asked.old, asked.new


# ── units ────────────────────────────────────────────────────────────────────


def _in_text(text: str, old: str, step: Step) -> list[Span]:
    sought = _as_written(old, step)
    if sought == old and not {"escapes", "unicode_escapes", "upper_unicode_escapes"}.isdisjoint(step.fold):
        return []
    if step.fold == ("trim_whole",):
        stripped = strip(old)
        if not stripped and step.many == "next":
            return [(0, 0)]  # nothing is found everywhere (opencode 1.18.33)
        return [(at, at + len(stripped)) for at in occurrences(text, stripped)]
    looked_in, wanted = folded(text, step.fold), folded_text(sought, step.fold)
    if not wanted and step.counted == "folded":
        return [(0, 0)]
    return [looked_in.span(at, at + len(wanted)) for at in occurrences(looked_in.text, wanted)]


def _as_written(text: str, step: Step) -> str:
    """A text of the call with the escapes that the step looks for, or without those that it overlooks."""
    for fold in ("unicode_escapes", "upper_unicode_escapes"):
        if fold in step.fold:
            return escaped(text, upper=fold == "upper_unicode_escapes")
    return unescaped(text, step.fold)


class _Lines:
    """A text as lines, with the place where each begins."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.is_ended = self.lines[-1] == "" and len(self.lines) > 1

    @property
    def count(self) -> int:
        """Lines, without the empty rest after the last line end."""
        return len(self.lines) - self.is_ended

    def span(self, first: int, last: int) -> Span:
        """The lines from `first` to `last`, which is still one of them, without the end of the last."""
        return self.starts[first], self.starts[last] + len(self.lines[last])


def _in_lines(text: str, old: str, step: Step) -> list[Span]:
    lines = _Lines(text)
    if "no_blank_lines" in step.fold:
        return _overlooking_blank_lines(lines, old, step)
    if step.write == "file_lines" and old.endswith("\n"):
        spans = _line_spans(lines, old[:-1], step)
        if len(spans) != 1:
            return spans
        start, end = spans[0]
        after = after_line_end(text, end)
        if after == end:
            raise LosesText  # the last line has no end, and Copilot CLI looks no further (1.0.102)
        return [(start, after)]
    return _line_spans(lines, old, step)


def _line_spans(lines: _Lines, old: str, step: Step) -> list[Span]:
    text, sought = lines.text, [folded_text(line, step.fold) for line in old.split("\n")]
    there = [folded_text(line, step.fold) for line in lines.lines]
    found: list[Span] = []
    at = 0
    # What follows the last line end counts as an empty line, except in Gemini CLI (0.61.0).
    count = lines.count if step.write == "reindent" else len(lines.lines)
    while at + len(sought) <= count:
        if there[at : at + len(sought)] == sought:
            start, end = lines.span(at, at + len(sought) - 1)
            found.append((start, end + (step.with_line_end and old.endswith("\n") and text[end : end + 1] == "\n")))
            at += 1 if step.many == "next" or step.write == "file_lines" else len(sought)
        else:
            at += 1
    return found


def _overlooking_blank_lines(lines: _Lines, old: str, step: Step) -> list[Span]:
    folds = tuple(fold for fold in step.fold if fold != "no_blank_lines")
    sought = [folded_text(line, folds) for line in old.split("\n") if strip(line)]
    there = [folded_text(line, folds) for line in lines.lines]
    texts = [number for number, kept in enumerate(there) if kept]
    found: list[Span] = []
    at = 0
    while sought and at < len(there):
        # A first line of nothing but semicolons is found as a blank one (Copilot CLI 1.0.102); later ones are not.
        after = bisect_right(texts, at)
        following = texts[after : after + len(sought) - 1] if there[at] == sought[0] else []
        if there[at] != sought[0] or [there[number] for number in following] != sought[1:]:
            at += 1
            continue
        last = following[-1] if following else at
        start, end = lines.span(at, last)
        if old.endswith("\n"):
            end = min(lines.starts[last + 1], len(lines.text))
        found.append((start, end))
        at += 1
    return found


def _in_parts(text: str, old: str, step: Step) -> list[Span]:
    """Lines of which the first may be the end of one, and the last the beginning of one; or a part of one line.

    Only the white space at the ends of such a part is overlooked.
    """
    whole = tuple(fold for fold in step.fold if fold != "no_blank_lines")
    other: dict[Fold, Fold] = {"no_spaces": "trim", "nfkc": "nfkd"}
    part = tuple(other.get(fold, fold) for fold in whole if fold != "line_end_semicolon")
    sought = [(folded_text(line, whole), folded_text(line, part)) for line in old.split("\n") if strip(line)]
    lines = _Lines(text)
    there = [(number, kept) for number, line in enumerate(lines.lines) if (kept := folded_text(line, whole))]
    found: list[Span] = []
    cut = False
    for at in range(len(there) - len(sought) + 1 if sought else 0):
        window = there[at : at + len(sought)]
        if any(kept != wanted for (_, kept), (wanted, _) in zip(window[1:-1], sought[1:-1], strict=True)):
            continue
        (first, first_folded), (last, last_folded) = window[0], window[-1]
        start, end = lines.span(first, last)
        begins, ends = folded(lines.lines[first], part), folded(lines.lines[last], part)
        wanted, last_wanted = sought[0][1], sought[-1][1]
        at_end = len(begins.text) - len(wanted) if begins.text.endswith(wanted) else -1
        if len(sought) == 1:
            at_end = at_end if at_end >= 0 else begins.text.find(wanted)
            last_place = at_end + len(wanted)
        else:
            at_end = 0 if first_folded == sought[0][0] else at_end
            begun = ends.text.startswith(last_wanted)
            last_place = len(last_wanted) if begun else len(ends.text)
            if last_folded != sought[-1][0] and not begun:
                continue
        if at_end < 0:
            continue
        cut = begins.cuts(at_end) or ends.cuts(last_place)
        # A part at the beginning of a line begins before the indentation; one at its end ends after the blanks there.
        found.append(
            (
                lines.starts[first] + begins.span(at_end, at_end + 1)[0] if at_end else start,
                end if last_place == len(ends.text) else lines.starts[last] + ends.span(0, last_place)[1],
            )
        )
    if len(found) == 1 and cut:
        raise LosesText  # Copilot CLI 1.0.102 takes a ligature or a letter with its accent apart
    return found


def _in_blocks(text: str, old: str, step: Step) -> list[Span]:
    """As many lines as the old text has, compared as one text."""
    lines = _Lines(text)
    escaped = unescaped(old, step.fold)
    wanted = folded_text(escaped, step.fold)
    size = old.count("\n") + 1
    if size == 1 and step.fold == ("spaces",):
        return []  # `words` compares a line
    found = []
    for at in range(len(lines.lines) - size + 1):
        block = "\n".join(lines.lines[at : at + size])
        if folded_text(unescaped(block, step.fold), step.fold) == wanted:
            found.append(lines.span(at, at + size - 1))
    return found


def _in_words(text: str, old: str, step: Step) -> list[Span]:
    """A line that has the same words, or a part of one with white space between them."""
    wanted = split(old)
    lines = _Lines(text)
    if not wanted:  # no word is found in each line, and blank lines are found whole (opencode 1.18.33)
        spans = [lines.span(number, number) for number in range(len(lines.lines))]
        return [(start, start if strip(text[start:end]) else end) for start, end in spans]
    pattern = re.compile(f"[{BLANKS}]+".join(map(re.escape, wanted)))
    found: list[Span] = []
    for number, line in enumerate(lines.lines):
        if split(line) == wanted:
            found.append(lines.span(number, number))
        elif part := pattern.search(line):
            found.append((lines.starts[number] + part.start(), lines.starts[number] + part.end()))
    return found


_MARKS = re.compile(r"([():\[\]{}><=])")
_LINE_START = r"(?:\A|(?<=[\n\r\u2028\u2029]))[ \t]*"
"""What JavaScript takes for the beginning of a line."""


def _in_tokens(text: str, old: str, step: Step) -> list[Span]:
    """The tokens of the old text at the beginning of a line, with any white space or none between them."""
    tokens = split(_MARKS.sub(r" \1 ", old))
    if not tokens:
        return []
    pattern = re.compile(_LINE_START + f"[{BLANKS}]*".join(map(re.escape, tokens)))
    return [found.span() for found in pattern.finditer(text)]


def _in_anchors(text: str, old: str, step: Step) -> list[Span]:
    """Blocks whose first and last lines are those of the old text, and that are alike between."""
    sought = old.split("\n")
    if len(sought) < 2:
        return []
    lines = _Lines(text)
    there = [strip(line) for line in lines.lines]
    first, last = strip(sought[0]), strip(sought[-1])
    blocks: list[tuple[float, int, int]] = []
    for start, line in enumerate(there):
        if line != first:
            continue
        end = next((at for at in range(start + 2, len(there)) if there[at] == last), None)
        if end is None:
            continue
        block = there[start : end + 1]
        asked = [strip(line) for line in sought]
        if step.equal_share:
            if len(block) == len(asked) and _equal_share(block, asked) >= step.equal_share:
                return [lines.span(start, end)]
            continue
        if abs(len(block) - len(asked)) <= max(1, int(len(asked) * step.length_share)):
            blocks.append((_likeness(block, asked), start, end))
    best = max(blocks, key=lambda block: block[0], default=None)
    return [] if best is None or best[0] < step.similarity else [lines.span(best[1], best[2])]


def _equal_share(block: Sequence[str], asked: Sequence[str]) -> float:
    pairs = [(one, other) for one, other in zip(block[1:-1], asked[1:-1], strict=True) if one or other]
    return sum(one == other for one, other in pairs) / len(pairs) if pairs else 1.0


def _likeness(block: Sequence[str], asked: Sequence[str]) -> float:
    """How alike the lines between the anchors are, on average; a pair of empty lines counts nothing."""
    count = min(len(block), len(asked)) - 2
    if count <= 0:
        return 1.0
    total = 0.0
    for one, other in zip(block[1 : count + 1], asked[1 : count + 1], strict=True):
        longer = max(len(one), len(other))
        if longer:
            total += 1 - distance(one, other) / longer
    return total / count


def _similar(text: str, old: str, step: Step) -> list[Span]:
    """Blocks that differ from the old text in few characters, the best first, none over another."""
    lines = _Lines(text)
    if step.cost and lines.count * len(old) ** 2 > step.cost:
        return []
    sought = [line.rstrip(BLANKS) for line in old.split("\n")]
    wanted = "\n".join(sought)
    bare = "".join(split(wanted))
    most = round(1 - step.similarity, 9) * len(wanted)
    scored: list[tuple[float, int]] = []
    for at in range(lines.count - len(sought) + 1):
        block = "\n".join(line.rstrip(BLANKS) for line in lines.lines[at : at + len(sought)])
        bare_block = "".join(split(block))
        if abs(len(bare_block) - len(bare)) > most:
            continue
        letters = distance(bare_block, bare)
        if letters <= most:
            score = letters + _SPACE_WEIGHT * (distance(block, wanted) - letters)
            if score <= most:
                scored.append((score, at))
    chosen: list[int] = []
    for _, at in sorted(scored):
        if all(abs(at - other) >= len(sought) for other in chosen):
            chosen.append(at)
    return [lines.span(at, at + len(sought) - 1) for at in sorted(chosen)]


_SPACE_WEIGHT: Final = 0.1
"""What a character of white space counts for (Gemini CLI 0.61.0)."""

_UNITS: Final[dict[str, Callable[[str, str, Step], list[Span]]]] = {
    "text": _in_text,
    "lines": _in_lines,
    "parts": _in_parts,
    "block": _in_blocks,
    "words": _in_words,
    "tokens": _in_tokens,
    "anchors": _in_anchors,
    "similar": _similar,
}


# ── what is written there ────────────────────────────────────────────────────


def _written(text: str, span: Span, old: str, new: str, step: Step, before: str) -> Place:
    start, end = span
    if step.write in ("file_lines", "file_lines_loosely") and text[end - 1 : end + 1] == "\r\n":
        end -= 1  # the CR belongs to the line's end, which stays
    match step.write:
        case "reindent":
            if new == "" and text[end : end + 1] == "\n" and step.unit == "lines":
                end += 1  # the line goes, and not only its text
            if step.one_line_end and text[end : end + 1] == "\n":
                new = new.removesuffix("\n")
            new = _reindented(new, indentation_at(before + text, len(before) + start))
        case "shift_indent":
            new = _shifted(new, _first_indentation(old), indentation_at(before + text, len(before) + start, BLANKS))
        case "file_lines":
            new = written(text, start, end, old, new, letters="nfkc" in step.fold)
        case "file_lines_loosely":
            return Place(*written_loosely(text, start, end, old, new))
        case "file_quotes":
            new = _with_quotes_of(new, text[start:end])
        case "file_escapes":
            new = _as_written(new, step)
    return Place(start, end, new)


def _first_indentation(text: str) -> str:
    return indentation(next((line for line in text.split("\n") if strip(line)), ""), BLANKS)


def _reindented(new: str, target: str) -> str:
    """The lines of `new` below `target`, as deep as they were below their first line."""
    lines = new.split("\n")
    reference = indentation(lines[0])
    return "\n".join(
        ""
        if not strip(line)
        else target + (line[len(reference) :] if line.startswith(reference) else line.lstrip(BLANKS))
        for line in lines
    )


def _shifted(new: str, given: str, found: str) -> str:
    """The indentation of the old text taken off the first line of `new`, and the file's in its place on the others."""
    if given == found:
        return new
    first, *others = new.split("\n")
    moved = [found + line[len(given) :] if strip(line) and line.startswith(given) else line for line in others]
    return "\n".join([first.removeprefix(given), *moved])


def _with_quotes_of(new: str, found: str) -> str:
    """`new` with curly quotes where the text it replaces has them."""
    curly = {plain for character in "‘’“”" if character in found for plain in (character.translate(QUOTES),)}
    if not curly:
        return new
    written = list(new)
    for index, character in enumerate(new):
        if character not in curly:
            continue
        before = new[index - 1] if index else ""
        opens = not before or before in " \t\n\r([{–—"
        between = bool(before) and before.isalpha() and new[index + 1 : index + 2].isalpha()
        if character == '"':
            written[index] = "“" if opens else "”"
        else:
            written[index] = "‘" if opens and not between else "’"
    return "".join(written)
