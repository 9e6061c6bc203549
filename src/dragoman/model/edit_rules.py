"""How a client finds the place of an edit, as data: a dialect states it, the workspace does it, reports print it.

A model was trained with a client that accepts a slightly wrong text in its own way. `EditRules` are the steps by which
that client looks for the text to replace, what it refuses before and after, and how it writes the file. Every value is
a word or a number: no rule is code.
"""

from __future__ import annotations

from typing import Final, Literal

from .base import Value

Fold = Literal[
    "right_trim", "trim", "trim_whole", "spaces", "no_spaces", "no_blank_lines", "dedent", "quotes", "typography",
    "typography_ellipsis", "typography_nfc", "signs", "nfkc", "nfkd", "case", "letter_case", "escapes",
    "quote_escapes", "unicode_escapes", "upper_unicode_escapes", "line_end_semicolon",
]  # fmt: skip
"""What is overlooked when two texts are compared.

`right_trim` and `trim` are white space at the end, or at both ends, of each line; `trim_whole` at both ends of the
text; `spaces` how much of it there is; `no_spaces` whether there is any; `no_blank_lines` lines of nothing else;
`dedent` the indentation all lines share; `quotes` whether quotes are curly; `typography` the shape of quotes, dashes
and spaces (`typography_ellipsis` of fewer of them, and of an ellipsis; `typography_nfc` of fewer, but of guillemets,
and how one character is put together); `signs` whether a sign is written with letters of ASCII (`©` as `(c)`);
`nfkc` forms of one character (`nfkd`: an accent is a character of its own); `case` upper and lower case
(`letter_case` of each letter alone: a sigma that ends a word is another letter); `escapes` backslashes before quotes
and letters (`\\n`, `\\"`), `quote_escapes` those before quotes alone, in the file too; `unicode_escapes` and
`upper_unicode_escapes` that the file writes characters beyond ASCII as `\\u00e9` or `\\u00E9`; `line_end_semicolon`
semicolons that end a line.
"""

Unit = Literal["text", "lines", "parts", "block", "words", "tokens", "anchors", "similar"]
"""What is compared: `text` anywhere, whole `lines` one by one, lines of which the first and the last may be `parts` of
the file's, a `block` of as many lines as one text, the `words` of a
line, the `tokens` of a text that begins a line, the first and last line of a block (`anchors`), or a block that is
`similar` enough."""


class Step(Value, frozen=True):
    """One way to look for a text. The first step that finds it decides, unless `many` is "next"."""

    unit: Unit = "text"
    fold: tuple[Fold, ...] = ()
    many: Literal["refuse", "first", "next"] = "refuse"
    """What happens when it is found in several places and not all are to be replaced."""
    counted: Literal["places", "text", "overlapping", "folded"] = "places"
    """What counts as another place: what this step finds; the text of the place it found first, wherever it stands (and
    `overlapping`, also where it stands over itself); or the old text in the file, both
    folded as in the last step."""
    write: Literal[
        "as_given", "reindent", "shift_indent", "file_lines", "file_lines_loosely", "file_quotes", "file_escapes"
    ] = "as_given"  # fmt: skip
    """What is done to the new text: `reindent` puts its lines below the indentation that the file has there;
    `shift_indent` does so only where the old text was indented otherwise; `file_lines` keeps the file's spelling of
    lines that the old text has in the same place, and gives other lines the file's indentation in place of the old
    text's; `file_lines_loosely` also leaves out blank lines at both ends; `file_quotes` and `file_escapes` write quotes
    and characters as the file does."""
    one_indent: bool = False
    """Whether only a place counts where each indentation of the old text stands for one of the file's; without it, the
    last one is written."""
    drop_last_empty: Literal["no", "old", "both"] = "no"
    """Whether an empty last line of the old text, or of both texts, is left out."""
    with_line_end: bool = False
    """`lines`: whether the end of the last line is part of the place where the old text ends with one."""
    one_line_end: bool = False
    """`lines`: whether a line end that closes the new text is the one that the file has there."""
    least_lines: int = 1
    least_characters: int = 0
    """Of the old text as it was given."""
    similarity: float = 1.0
    """`anchors`: how similar the lines between must be, on average; `similar`: one minus the share of characters that
    may differ."""
    equal_share: float = 0.0
    """`anchors`: the share of the lines between that must be equal, instead of similar."""
    length_share: float = 0.0
    """`anchors`: by which share of the old text's lines the block may be longer or shorter (one line at least)."""
    cost: float = 0.0
    """`similar`: nothing is compared where the file's lines times the square of the old text's length are more; 0: no
    limit."""


ByteOrderMark = Literal["kept", "not_twice", "not_twice_in_utf_8", "not_alone", "one", "text", "text_once"]
"""What a byte order mark is: `kept` before the text, whatever that begins with; not written where the new text begins
with one (`not_twice`; in UTF-16 it may be, `not_twice_in_utf_8`), nor where there is no text (`not_alone`); `one`,
where the text has up to two (of more, two are left out); or `text` of the first line, which goes with it (`text_once`:
those of the new text are written as in `one`)."""


class PatchRules(Value, frozen=True):
    """How a client applies a patch of whole lines. The default is what dragoman itself does."""

    passes: tuple[tuple[Fold, ...], ...] = ((), ("right_trim",), ("trim",), ("trim", "typography"))
    """What is overlooked when lines are compared, one pass over the rest of the file after the other."""
    white_space: Literal["unicode", "javascript"] = "unicode"
    """What counts as white space: JavaScript has no U+0085, but the byte order mark."""
    similarity: float = 0.0
    """How similar lines must be where no pass finds them; 0: they are not found then."""
    empty_last: Literal["kept", "left_out", "left_out_after_others", "left_out_alone", "any_line"] = "left_out"
    """Whether an empty last line of a hunk is left out where it is not found: it may be the end of the line before
    (`left_out_alone`: only at the end of the file, and where no other line of the hunk is empty; `any_line`: one that
    is only shown stands for whatever line is there)."""
    missing_anchors: Literal["refuse", "ignore"] = "refuse"
    insert: Literal["anchor", "end", "cursor", "cursor_or_end"] = "anchor"
    """Where lines go that replace none: after the last anchor (without one, to the end), always to the end, or to where
    the search stands (`cursor_or_end`: those that must be at the end of the file, to the end)."""
    line_ends: Literal["per_line", "lf", "any", "first_five", "most"] = "per_line"
    """`per_line`: a line ends with LF, CRLF or CR, and a new one as the file's first does; `lf`: with LF alone, and a
    CR is text of its line; `any`: all lines with CRLF if any line had it, else with LF; `first_five`: if most of the
    first five had it; `most`: all lines with what most had, CR too."""
    returns: Literal["ends", "text"] = "ends"
    """Whether CRLF ends a line of the old and the new text too, or the CR is text of the line."""
    lone_returns: Literal["refuse", "accept"] = "accept"
    """Whether a file may have a CR that ends no line."""
    reindents: bool = False
    """Whether new lines get the file's indentation in place of that of the lines they are found by."""
    restores_end: bool = False
    """Whether the last line has an end where the file had one before, and one empty line there is left out."""
    last_empty: bool = False
    """Whether what follows the last line end counts as an empty line."""
    keeps_context: bool = True
    """Whether lines that are only shown keep the file's spelling; else they get the patch's."""
    ends_file: bool = False
    """Whether the file's last line always gets an end."""
    blank_end: bool = False
    """Whether an empty last line is taken for that end: lines that replace none go before it, and it gets no other."""
    anchors: Literal["trimmed", "trimmed_both", "any_line", "as_written", "as_written_first"] = "trimmed"
    """Whether blanks that end an anchor are part of it (`trimmed_both`: also those that begin it); trimmed, one without
    text (`@@ `) is none (`any_line`: one of blanks is). `as_written_first`: it is looked for trimmed only where it is
    not found as written; one that stands above where the search is passes for found, and one without text is refused
    but at the beginning."""
    at_end: Literal["after_cursor", "anywhere", "preferred", "ignored"] = "after_cursor"
    """Whether lines that must be at the end of the file must also come after those found before; or may also be
    elsewhere; or whether nobody asks where they are."""
    byte_order_mark: ByteOrderMark = "kept"
    no_change: Literal["refuse", "accept"] = "refuse"
    """What is done with a patch that leaves a file as it is (its line ends too)."""
    moves_over: bool = False
    """Whether a file may be moved over another."""
    moves_as_is: bool = False
    """Whether a file that is moved, and of which the patch only shows lines, keeps its line ends."""


class WholeFileRules(Value, frozen=True):
    """How a client writes a whole file where one is. The default is what dragoman itself does."""

    line_ends: Literal["if_all", "as_given", "any", "most"] = "if_all"
    """When the new text gets the line ends that were there: `if_all` had CRLF and it has none itself; `as_given`:
    never; all lines with CRLF if `any` line had it; as `most` had them, CR too, unless it has CRLF itself."""
    byte_order_mark: ByteOrderMark = "not_twice"
    ends_with_newline: Literal["as_given", "new", "always"] = "as_given"
    """Whether a file that is written, or only a new one, always ends with a line end."""
    empty_is_new: bool = False
    """Whether a file that was empty is said to have been created."""


AS_GIVEN: Final = WholeFileRules(line_ends="as_given", byte_order_mark="text")
"""Nothing stays of the file that was there."""


class EditRules(Value, frozen=True):
    """How a client applies edits."""

    steps: tuple[Step, ...] = (Step(),)
    repeat: bool = False
    """Whether all steps are tried again on what follows a place: a looser match then counts as another place."""
    batch: Literal["in_turn", "against_original"] = "in_turn"
    """Whether the edits of one call see what the earlier ones did."""
    identical: Literal["refuse", "refuse_if_found", "refuse_if_unchanged", "accept"] = "refuse"
    """What is done with an edit whose old and new text are the same; `refuse_if_unchanged` asks whether the new text is
    what the file already has in its place."""
    empty_old: Literal["refuse", "create", "fill_empty", "fill_blank", "insert_first"] = "refuse"
    """What an empty old text does: `create` makes a file where there is none, `fill_empty` fills an empty file,
    `fill_blank` makes one, or fills one that has no text, `insert_first` puts the new text before the first line (so
    does an old text of white space alone)."""
    empty_first: bool = False
    """Whether an empty old text is refused as such where the new text is empty too."""
    missing: Literal["refuse", "create"] = "refuse"
    """What is done where there is no file: `create` makes it with the new text."""
    read_first: bool = False
    """Whether the file must have been read; of a tool that writes whole files, an existing one."""
    commands_read: bool = False
    """Of a tool that runs commands: whether a command that does nothing but show one file counts as reading it."""
    notebooks: bool = True
    """Whether a notebook's file can be edited as text."""
    cells: bool = False
    """Of a tool that reads files: whether it gives the cells of a notebook with their outputs, and not its file."""
    placeholders: tuple[str, ...] = ()
    """Words that, with an ellipsis and alone on a line of the new text, stand for left out code, and are refused."""
    file_view: Literal["lf", "kept", "all_lf"] = "lf"
    """How the file's line ends are seen: `lf` takes CRLF for LF, `all_lf` a lone CR too."""
    byte_order_mark: ByteOrderMark = "kept"
    texts_view: Literal["lf", "kept", "as_file", "new_as_first"] = "lf"
    """How those of the old and the new text are seen: `as_file` as the file has them; `new_as_first` those of the
    new text as most of the file's first five lines have them, and those of the old text as they are given."""
    line_ends: Literal["per_line", "any", "first", "majority"] = "per_line"
    """How the file is written: each line as it was, or all lines with CRLF if any line, the first or most had it."""
    final_newline: Literal["as_edited", "restored"] = "as_edited"
    """Whether the end of the last line stays as it was, whatever the edit did."""
    decode_escapes: bool = False
    """Whether `\\uXXXX` in the old and the new text is read as the character it stands for."""
    rewrites: Literal["matches", "lines", "file"] = "matches"
    """What is written as the last step sees it when a text is not found exactly: nothing, the lines that the edits
    change, or the whole file."""
    trim_new: bool = False
    """Whether blanks at the end of the new text's lines are taken off, except in Markdown files, and in files that an
    edit creates."""
    delete_line_end: Literal["no", "after", "sought", "whole_lines"] = "no"
    """Whether the line end after a text is deleted with it. `sought`: where the file has the text with a line end
    after it, only such places count; `after`: only those are deleted, and all count; `whole_lines`: only where nothing
    of its lines is left."""
    most_lines: bool = False
    """Whether a place of twice as many lines as the old text, and three more, or four times as many characters, and 500
    more, is refused as not meant."""
    whole_file: WholeFileRules = WholeFileRules()
    """How whole files are written."""
    encoding: Literal["any", "that_fits", "utf_8", "utf_8_or_16"] = "any"
    """Which encodings a file may have. `any`: it stays, unless the text of a whole file has characters that it lacks;
    `that_fits`: such a text is refused. `utf_8`: files in another are not edited, and whole files are written in it.
    `utf_8_or_16`: files in another are not written at all (of UTF-16, the one with the low byte first, and a mark)."""
    shows: Literal["nothing", "places", "span"] = "nothing"
    """Which lines of the edited file come back with the result: none, those around each change, or those around all of
    them."""
    shown_around: int = 0
    """How many lines before and after."""
    shown_most: int | None = None
    """More lines than these are cut off."""
    diff_line_ends: bool = False
    """Whether the difference shows CRLF as it is, and lines that differ in that alone."""
    says_current: bool = False
    """Whether the result says that the file need not be read again."""
    patch: PatchRules = PatchRules()
    """How edits of whole lines are applied."""


EXACT: Final = EditRules(steps=(Step(counted="overlapping"),))
"""What dragoman itself does: the text as it is written, in one place."""
