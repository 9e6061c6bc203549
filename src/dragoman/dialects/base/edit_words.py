"""The rules by which a client applies edits, in plain words for reports."""

from __future__ import annotations

from typing import Final

from dragoman.model.edit_rules import EXACT, EditRules, Fold, PatchRules, Step

_OVERLOOKED: Final[dict[Fold, str]] = {
    "right_trim": "white space at the ends of lines",
    "trim": "white space at both ends of lines",
    "trim_whole": "white space around the text",
    "spaces": "how much white space there is",
    "no_spaces": "all white space",
    "no_blank_lines": "blank lines",
    "dedent": "shared indentation",
    "quotes": "curly quotes",
    "typography": "the shape of quotes, dashes and spaces",
    "typography_ellipsis": "the shape of quotes, dashes, spaces and ellipses",
    "typography_nfc": "the shape of quotes, dashes and spaces, and how a character is put together",
    "signs": "signs written with plain letters",
    "nfkc": "forms of one character",
    "nfkd": "forms of one character",
    "case": "case",
    "letter_case": "case",
    "escapes": "backslashes before quotes and letters",
    "quote_escapes": "backslashes before quotes",
    "unicode_escapes": r"that the file has `\u00e9` for a character",
    "upper_unicode_escapes": r"that the file has `\u00E9` for it",
    "line_end_semicolon": "semicolons at the end of a line",
}
_WRITTEN: Final = {
    "reindent": "with the file's indentation",
    "shift_indent": "with the file's indentation where the old text had another",
    "file_lines": "with the file's spelling of lines that stay, and its indentation",
    "file_lines_loosely": "the same, without blank lines at the ends",
    "file_quotes": "with the file's quotes",
    "file_escapes": "with such escapes",
}
_EDITED: Final = {
    "any": "",
    "that_fits": "",
    "utf_8": "files in another encoding than UTF-8 are refused",
    "utf_8_or_16": "files in another encoding than UTF-8 or UTF-16 are refused",
}
_REWRITTEN: Final = {
    "lines": "lines changed by a text that is not found exactly are written as it was found",
    "file": "where a text is not found exactly, the whole file is written as it was found",
}
_DELETED: Final = {
    "no": "",
    "after": "a deleted text takes its line end with it",
    "sought": "a deleted text takes its line end with it",
    "whole_lines": "deleted lines take their line end with them",
}
_ENDS: Final = {
    "any": "CRLF everywhere if the file had any",
    "first": "line ends as the first line's",
    "majority": "line ends as most lines'",
}


def described(rules: EditRules | None) -> str:
    """How the place of an edit is found and what is written there, in one sentence."""
    known = rules or EXACT
    if known.patch != EXACT.patch:
        return "; ".join(filter(None, [_patch(known.patch), _EDITED[known.encoding]]))
    if known.commands_read:
        return "a command that shows one file counts as reading it"
    steps = "; then ".join(map(_step, known.steps))
    more = [
        "a text found in several places goes to the next step" if _goes_on(known) else "a text must be in one place",
        "all steps are repeated on what follows" if known.repeat else "",
        "the file must have been read" if known.read_first else "",
        "notebooks are refused" if not known.notebooks else "",
        "words for left out code are refused" if known.placeholders else "",
        "a missing file is made" if known.missing == "create" else "",
        _ENDS.get(known.line_ends, ""),
        _MARKS[known.byte_order_mark],
        "the end of the last line is kept" if known.final_newline == "restored" else "",
        r"`\uXXXX` in the call stands for a character" if known.decode_escapes else "",
        _REWRITTEN.get(known.rewrites, ""),
        "blanks at the ends of new lines are taken off" if known.trim_new else "",
        _DELETED[known.delete_line_end],
        _EDITED[known.encoding],
        "lines around the change are shown" if known.shows != "nothing" else "",
    ]
    return "; ".join([f"looks for {steps}", *filter(None, more)])


def described_writing(rules: EditRules) -> str:
    """What of a file that is there stays when another text is written as the whole of it, in one sentence."""
    whole = rules.whole_file
    more = [
        "an existing file must have been read" if rules.read_first else "",
        _WHOLE_ENDS[whole.line_ends],
        _WHOLE_MARKS[whole.byte_order_mark],
        _ENCODINGS[rules.encoding],
        _NEWLINES[whole.ends_with_newline],
        r"`\uXXXX` stands for a character" if rules.decode_escapes else "",
        "blanks at the ends of lines are taken off" if rules.trim_new else "",
    ]
    return "; ".join(["writes a whole file", *filter(None, more)])


_WHOLE_ENDS: Final = {
    "if_all": "LF becomes CRLF where all lines of the file had it",
    "as_given": "line ends as they are given",
    "any": "CRLF everywhere if the file had any",
    "most": "LF and CR become what most lines of the file had, where the text has no CRLF",
}
_WHOLE_MARKS: Final = {
    "kept": "the file's byte order mark stays, and one of the text comes after it",
    "not_twice": "the file's byte order mark stays",
    "not_twice_in_utf_8": "the file's byte order mark stays",
    "not_alone": "the file's byte order mark stays before a text that is not empty",
    "one": "the file's byte order mark stays, and two are written as one",
    "text": "the file's byte order mark goes",
    "text_once": "the file's byte order mark goes, and two of the text are written as one",
}
_ENCODINGS: Final = {
    "any": "in the file's encoding if that has all characters, else in UTF-8",
    "that_fits": "in the file's encoding, or not at all where that lacks a character",
    "utf_8": "in UTF-8, whatever the file was in",
    "utf_8_or_16": "files in another encoding than UTF-8 or UTF-16 are refused",
}
_NEWLINES: Final = {
    "as_given": "",
    "new": "a new file ends with a line end",
    "always": "the file ends with a line end",
}
_MARKS = {
    "kept": "",
    "not_twice": "a byte order mark is not written twice",
    "not_twice_in_utf_8": "a byte order mark is not written twice, but in UTF-16",
    "not_alone": "a byte order mark is not written twice, nor alone",
    "one": "two byte order marks are written as one",
    "text": "a byte order mark is text of the first line",
    "text_once": "a byte order mark is text of the first line",
}


def _goes_on(rules: EditRules) -> bool:
    return any(step.many == "next" for step in rules.steps)


def _step(step: Step) -> str:
    overlooked = " and ".join(_OVERLOOKED[fold] for fold in step.fold)
    without = f", overlooking {overlooked}" if overlooked else ""
    match step.unit:
        case "text":
            said = "the exact text" if not step.fold else f"the text{without}"
        case "lines":
            said = f"whole lines{without}"
        case "parts":
            said = f"lines, the first and the last in part{without}"
        case "block":
            said = f"as many lines as one text{without}"
        case "words":
            said = "its words in one line"
        case "tokens":
            said = "its tokens from the beginning of a line"
        case "anchors":
            share = step.equal_share or step.similarity
            alike = "equal" if step.equal_share else "alike"
            said = f"its first and last line, {share:.0%} {alike} between"
        case "similar":
            said = f"lines that are at least {step.similarity:.0%} the same"
    if step.write.startswith("file_lines") and not step.one_indent:
        said += ", however they are indented"
    written = _WRITTEN.get(step.write)
    return said if written is None else f"{said} ({written})"


def _patch(rules: PatchRules) -> str:
    places = {
        "anchor": "after the last anchor",
        "end": "at the end of the file",
        "cursor": "after what was found last",
        "cursor_or_end": 'after what was found last, or with "*** End of File" there',
    }
    more = [
        f"lines that replace none go {places[rules.insert]}",
        "context keeps the file's spelling" if rules.keeps_context else "context gets the patch's spelling",
        _PATCH_ENDS[rules.line_ends],
        "new lines get the file's indentation" if rules.reindents else "",
        "a file with a CR that ends no line is refused" if rules.lone_returns == "refuse" else "",
        "the last line gets an end" if rules.ends_file else "",
        "the last line has an end if it had one" if rules.restores_end else "",
        "an empty last line is taken for it" if rules.blank_end else "",
        "blanks at the end of an anchor count" if rules.anchors == "as_written" else "",
        "a file may be moved over another" if rules.moves_over else "",
        "anchors that are not found are passed over" if rules.missing_anchors == "ignore" else "",
    ]
    passes = "; then ".join(
        f"overlooking {' and '.join(_OVERLOOKED[fold] for fold in folds)}" if folds else "exact"
        for folds in rules.passes
    )
    similar = f"; then lines that are at least {rules.similarity:.0%} the same" if rules.similarity else ""
    found = f"looks for lines from where the hunk before ended: {passes}{similar}; the first place counts"
    return "; ".join([found, *filter(None, more)])


_PATCH_ENDS: Final = {
    "per_line": "line ends stay",
    "lf": "changed lines end with LF",
    "any": _ENDS["any"],
    "first_five": "line ends as most of the first five lines'",
    "most": _ENDS["majority"],
}
