"""Tools that Cline's extension for editors and Roo Code, which began as a copy, say alike: read, never written."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from dragoman.model import operations as op, outcomes as out
from dragoman.model.calls import NativeResult
from dragoman.model.json_text import read_json

from .default_words import text_of, unnumbered
from .patch_text import read_patch
from .spelling import Spelling, Spoken, means, native_only

_REFUSED: tuple[tuple[re.Pattern[str], out.FailureKind], ...] = (
    (
        re.compile(r"The user denied|Access to .* is blocked by the \.\w+ignore file|Command execution blocked by"),
        "denied",
    ),
    (
        re.compile(r"Tool \[[^\]]*\] was not executed|Skipping tool |Command was cancelled by the user"),
        "cancelled",
    ),
    (
        re.compile(r"Missing value for required parameter|Failed to (?:write|edit) [^\n]* parameter was empty"),
        "invalid_arguments",
    ),
    (re.compile(r"The tool execution failed with the following error:"), "failed"),
)
_REFUSED_AS: dict[str, out.FailureKind] = {"denied": "denied", "error": "failed"}
_RAN = re.compile(
    r"Command (?:executed|failed)(?:[^\n]*?[Ee]xit code:? (?P<code>-?\d+))?[^\n]*(?:\n(?:Output:\n)?(?P<printed>.*))?",
    re.DOTALL,
)
_RUNS = re.compile(
    r"(?:Command is still running|(?P<late>Command timed out after|The command was terminated after exceeding)).*?"
    r"(?:(?:Here's the output so far|\nOutput so far):\n(?P<printed>.*))?",
    re.DOTALL,
)
_SAVED = re.compile(r"The (?:content was|updated content, [^\n]*? has been) successfully saved to [^\n]*?\.(?=\s|$)")
_WRITTEN = re.compile(r"<operation>(created|modified)</operation>")
_MARKED = re.compile(r"\A(?:\U0001f512|\U0001f6e1\ufe0f?) ")
"""How Roo Code marks what a model may not read, or not write (a lock, a shield): tasks of September and October 2025.
A name begins after it."""
_NOT_LISTED = re.compile(r"\n\n\(File list truncated\.[^\n]*\)\Z")
_SHOWN_LINES = re.compile(r"\n\n\((?:Showing lines \d+-\d+ of|File has) (?P<total>\d+) (?:lines )?total\.[^\n]*\)\Z")
_ONE_OF_FILES = r"<file><path>{path}</path>\n?(?P<told>.*?)</file>(?=\n<file>|\n</files>|\Z)"
_CONTENT = re.compile(r'<content lines="(?P<first>\d+)-\d+">\n(?P<lines>.*?)\n?</content>(?=\n|\Z)', re.DOTALL)
_OF_ALL = re.compile(r"<notice>Showing only \d+ of (?P<total>\d+) total lines")
_WRONG = re.compile(r"<error>(?P<failed>.*)</error>|<status>(?P<denied>Denied by user[^<]*)</status>", re.DOTALL)
_HEADED = re.compile(r"File: [^\n]*\n(?:Error: (?P<failed>.*)|(?:Lines \d+-\d+:\n)?(?P<lines>.*))", re.DOTALL)
_NO_FILE = ("<file", "[[NOTE]", "(tool did not return anything)")
"""How the text of a read begins that is not the file as it stands (Roo Code's tasks of February to October 2025)."""
_BLOCK = re.compile(
    r"^(?:<{7}|-{7}) SEARCH>?\n(?::\w+: ?\d+\n)*(?:-{7}\n)?"
    r"(?P<old>.*?)^={7}\n(?P<new>.*?)^(?:>{7}|\+{7}) REPLACE",
    re.DOTALL | re.MULTILINE,
)
_ITEM = re.compile(r"(?:-\s*)?\[\s*(?P<mark>[ xX~-])\s*\]\s+(?P<text>.+)")
_ITEM_STATUS: dict[str, op.PlanStatus] = {" ": "pending", "-": "in_progress", "~": "in_progress"}
_FILE = re.compile(r"<file>(?P<file>.*?)</file>", re.DOTALL)
_PATH = re.compile(r"<path>(.*?)</path>", re.DOTALL)
_RANGE = re.compile(r"<line_range>\s*(\d+)-(\d+)\s*</line_range>")


class InWords(Spelling[Spoken]):
    """Results as plain text, failures included; newer versions write JSON with a `status`
    (public source, November 2026)."""

    read_only = "a tool of the extension for editors, in words of its own or of a fork's; it is read in its tasks"

    task_progress: str | None = native_only("the client's own list of what there is to do, beside the call")

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        text = text_of(native.content)
        refused = _refused(text)
        if refused is not None:
            return refused
        if isinstance(native.content, tuple):
            return out.ContentOutcome(native.content)
        match operation:
            case op.RunCommand():
                return _ran(text)
            case op.EditFile() | op.WriteFile():
                return _changed(operation, text)
            case op.ListDirectory():
                return _listed(operation, text)
        return out.TextOutcome(text)


def _refused(text: str) -> out.Failure | None:
    told = decoded(text) if text.startswith('{"status"') else None
    if isinstance(told, dict) and isinstance(told.get("status"), str) and told["status"] in _REFUSED_AS:
        why = next((told[key] for key in ("error", "feedback", "message") if isinstance(told.get(key), str)), text)
        return out.Failure(_REFUSED_AS[told["status"]], why)
    kind = next((kind for pattern, kind in _REFUSED if pattern.match(text)), None)
    return None if kind is None else out.Failure(kind, text)


def _ran(text: str) -> out.CommandOutcome:
    ran, runs = _RAN.fullmatch(text), _RUNS.fullmatch(text)
    if ran is not None:
        return out.CommandOutcome(exit_code=_line(ran["code"]), output=ran["printed"] or "")
    if runs is not None:
        return out.CommandOutcome(output=runs["printed"] or "", running=not runs["late"], timed_out=bool(runs["late"]))
    return out.CommandOutcome(output=text)


def _changed(operation: op.EditFile | op.WriteFile, text: str) -> out.Outcome:
    told = decoded(text) if text.startswith("{") else None
    written, saved = _WRITTEN.search(text), _SAVED.search(text)
    kind = told.get("operation") if isinstance(told, dict) else written[1] if written is not None else None
    if kind in ("created", "modified"):
        return out.ChangesOutcome((out.Change(operation.path, "created" if kind == "created" else "modified"),))
    if saved is None:
        return out.TextOutcome(text)
    if isinstance(operation, op.EditFile):
        return out.ChangesOutcome((out.Change(operation.path, "modified"),))
    return out.DoneOutcome(saved[0])  # it may have been there before or not


def _listed(operation: op.ListDirectory, text: str) -> out.Outcome:
    body, cut = _NOT_LISTED.subn("", text)
    names = [] if body == "No files found." else [_MARKED.sub("", name) for name in body.split("\n")]
    entries = [out.Entry(name.removesuffix("/"), "directory" if name.endswith("/") else "file") for name in names]
    return out.DirectoryOutcome(operation.path, tuple(entries), truncated=bool(cut))


class ReadFileBefore(InWords[op.ReadFile]):
    """Read a file, or several with ranges of their lines."""

    native_name = "read_file"

    path: str | None = None
    start_line: int | str | None = means("first_line", default=None)
    end_line: int | str | None = means("last_line", default=None)
    offset: int | None = means(None, default=None)
    limit: int | None = means(None, default=None)
    mode: str | None = native_only("lines are read as they stand, or the block around one")
    indentation: dict[str, Any] | None = native_only("the block around a line is the client's to find")
    args: str | None = means(None, default=None)
    files: list[dict[str, Any]] | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        if self.path is not None:
            return (op.ReadFile(self.path, *self._range()),)
        told = [read for one in self.files or () if isinstance(one.get("path"), str) for read in _ranges(one)]
        for one in _FILE.finditer(self.args or ""):
            path, ranges = _PATH.search(one["file"]), _RANGE.findall(one["file"])
            if path is None:
                raise ValueError("args: a file has no path")
            read = op.ReadFile(path[1].strip())
            told += [op.ReadFile(read.path, int(first), int(last)) for first, last in ranges] or [read]
        if not told:
            raise ValueError("path: name a file")
        return tuple(told)

    def _range(self) -> tuple[int | None, int | None]:
        first, last = _line(self.start_line), _line(self.end_line)
        if self.mode == "indentation" or (self.offset is None and self.limit is None):
            return first, last
        return self.offset, None if self.limit is None else (self.offset or 1) + self.limit - 1

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        told = super().to_outcome(operation, native)
        if not isinstance(told, out.TextOutcome) or not isinstance(operation, op.ReadFile):
            return told
        if "<file><path>" in told.text:
            return _one_of_files(operation, told.text) or told
        headed, counted = _HEADED.fullmatch(told.text), _SHOWN_LINES.search(told.text)
        if headed is not None and headed["failed"] is not None:
            return out.Failure("failed", headed["failed"])
        if self.path is None or told.text.startswith(_NO_FILE) or told.text == "Successfully read image":
            return told
        body = headed["lines"] if headed is not None else told.text[: counted.start()] if counted else told.text
        lines = unnumbered(body, r" \| ?")
        if lines is None and (headed is not None or self._range() != (None, None)):
            return told  # which of its lines these are is not said
        first, text = lines or (1, body)
        return out.FileOutcome(self.path, text, first, None if counted is None else int(counted["total"]))


def _one_of_files(operation: op.ReadFile, text: str) -> out.Outcome | None:
    """What is told of this file among several, each in tags of its own with numbered lines."""
    found = re.search(_ONE_OF_FILES.format(path=re.escape(operation.path)), text, re.DOTALL)
    if found is None:
        return None
    wrong, counted = _WRONG.fullmatch(found["told"].strip()), _OF_ALL.search(found["told"])
    if wrong is not None:
        return out.Failure("failed" if wrong["failed"] else "denied", wrong["failed"] or wrong["denied"])
    pieces = list(_CONTENT.finditer(found["told"]))
    piece = next((one for one in pieces if int(one["first"]) == operation.first_line), pieces[0] if pieces else None)
    lines = None if piece is None else unnumbered(piece["lines"], r" \| ?")
    if lines is None:
        return None
    total = None if counted is None else int(counted["total"])
    return out.FileOutcome(operation.path, lines[1], lines[0], total, truncated=counted is not None)


def _ranges(file: dict[str, Any]) -> list[op.ReadFile]:
    """What is read of a file that is one of several: all of it, or pieces, each as a pair or as words."""
    given = file.get("line_ranges")
    found = [re.findall(r"\d+", str(one)) for one in given] if isinstance(given, list) else []
    path = str(file["path"])
    return [op.ReadFile(path, int(one[0]), int(one[1])) for one in found if len(one) == 2] or [op.ReadFile(path)]


class WriteToFile(InWords[op.WriteFile]):
    """Write a whole file."""

    native_name = "write_to_file"

    content: str = means()
    path: str | None = None
    absolutePath: str | None = means(None, default=None)  # noqa: N815 - the native name
    line_count: int | str | None = native_only("the content says it")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.WriteFile(_named(self.path, self.absolutePath), self.content),)


class ReplaceInFile(InWords[op.EditFile]):
    """Replace whole lines of a file, block by block."""

    native_name = "replace_in_file"
    formerly = ("apply_diff",)

    path: str | None = None
    absolutePath: str | None = means(None, default=None)  # noqa: N815 - the native name
    diff: str = means("edits")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.EditFile(_named(self.path, self.absolutePath), edits_in(self.diff)),)


def edits_in(diff: str) -> tuple[op.Edit, ...]:
    """The replacements of whole lines that stand in blocks."""
    edits = tuple(op.Edit(one["old"], one["new"], whole_lines=True) for one in _BLOCK.finditer(diff))
    if not edits or not all(edit.old for edit in edits):
        raise ValueError("diff: each block needs lines to look for, after `SEARCH`, and `=======` and `REPLACE`")
    return edits


class EditByText(InWords[op.EditFile | op.WriteFile]):
    """Replace a piece of text in a file; in place of nothing, it is all of a new one."""

    native_name = "edit_file"
    formerly = ("edit", "search_replace")

    file_path: str = means("path")
    old_string: str = means(None)
    new_string: str = means(None)
    replace_all: bool | None = means(None, default=None)
    expected_replacements: int | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        if not self.old_string:
            return (op.WriteFile(self.file_path, self.new_string),)
        expected = None if self.expected_replacements in (None, 1) else self.expected_replacements
        everywhere = self.replace_all or expected is not None
        edit = op.Edit(self.old_string, self.new_string, everywhere=everywhere, expected=expected)
        return (op.EditFile(self.file_path, (edit,)),)


class ApplyPatch(InWords[op.WriteFile | op.EditFile | op.DeleteFile | op.MoveFile]):
    """Change files with a patch."""

    native_name = "apply_patch"

    input: str | None = means(None, default=None)
    patch: str | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        given = self.input or self.patch or ""
        found = re.search(r"^\*\*\* Begin Patch\n.*^\*\*\* End Patch$", given, re.DOTALL | re.MULTILINE)
        return read_patch(given if found is None else found[0])


class InsertContent(InWords[op.InsertText]):
    """Insert lines before a line of a file."""

    native_name = "insert_content"

    path: str = means()
    line: int | str = means()
    content: str = means("text")

    def to_operations(self) -> tuple[op.Operation, ...]:
        line = _line(self.line)
        if not line:
            raise ValueError("line: lines count from 1; 0 stands for the end, wherever that is")
        return (op.InsertText(self.path, line - 1, self.content),)


class ExecuteCommand(InWords[op.RunCommand]):
    """Run a command line."""

    native_name = "execute_command"

    command: str = means()
    cwd: str | None = None
    requires_approval: bool | str | None = native_only("it is the client's to ask")
    timeout: float | str | None = native_only("it is in words where it is there at all")


class SearchFiles(InWords[op.SearchText]):
    """Search the files below a folder with a regular expression."""

    native_name = "search_files"

    path: str = "."
    regex: str = means("pattern")
    file_pattern: str | None = means("include", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.SearchText(self.regex, path=self.path, include=self.file_pattern or None),)

    def to_outcome(self, operation: op.Operation, native: NativeResult) -> out.Outcome:
        """That there was no match; lines that match are told without numbers, among those around them."""
        told = super().to_outcome(operation, native)
        is_none = isinstance(told, out.TextOutcome) and told.text.strip() == "Found 0 results."
        return out.MatchesOutcome(()) if is_none else told


class ListFiles(InWords[op.ListDirectory]):
    """List a folder, or all that is below it: files and folders, each with its path from there."""

    native_name = "list_files"

    path: str = "."
    recursive: bool | str | None = means("prefix", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        everything = self.recursive is True or str(self.recursive).strip().lower() == "true"
        return (op.ListDirectory(self.path, prefix="" if everything else None),)


class CodebaseSearch(InWords[op.SearchDocuments]):
    """Search the project's index by meaning."""

    native_name = "codebase_search"

    query: str = means()
    path: str | None = native_only("it narrows the index to a folder")


class AskFollowupQuestion(InWords[op.AskUser]):
    """Ask the user a question."""

    native_name = "ask_followup_question"

    question: str = means("questions")
    options: str | list[str] | None = means(None, default=None)
    follow_up: str | list[Any] | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        options: Any = self.options
        if isinstance(options, str) and options.startswith("["):
            options = decoded(options)
        told = [one for one in options if isinstance(one, str)] if isinstance(options, list) else []
        if isinstance(self.follow_up, str):
            told += re.findall(r"<suggest[^>]*>(.*?)</suggest>", self.follow_up)
        told += [
            one["text"] for one in self.follow_up or () if isinstance(one, dict) and isinstance(one.get("text"), str)
        ]
        return (op.AskUser((op.Question(self.question, tuple(op.Option(one) for one in told)),)),)


class UseMcpTool(InWords[op.CallMcpTool]):
    """Call a tool of a server."""

    native_name = "use_mcp_tool"

    server_name: str = means("server")
    tool_name: str = means("tool")
    arguments: str | dict[str, Any] | None = means("arguments", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        given = decoded(self.arguments) if isinstance(self.arguments, str) and self.arguments else self.arguments
        if given is not None and not isinstance(given, dict):
            raise ValueError("arguments: they are no JSON object")
        return (op.CallMcpTool(self.server_name, self.tool_name, given or {}),)


class AccessMcpResource(InWords[op.ReadMcpResource]):
    """Read a resource of a server."""

    native_name = "access_mcp_resource"

    server_name: str = means("server")
    uri: str = means("uri")


class UpdateTodoList(InWords[op.UpdatePlan]):
    """Say what there is to do, as a list with boxes to tick."""

    native_name = "update_todo_list"

    todos: str = means("items")

    def to_operations(self) -> tuple[op.Operation, ...]:
        found = [one for line in self.todos.split("\n") if (one := _ITEM.fullmatch(line.strip())) is not None]
        return (
            op.UpdatePlan(tuple(op.PlanItem(one["text"], _ITEM_STATUS.get(one["mark"], "completed")) for one in found)),
        )


class WebFetch(InWords[op.FetchPage]):
    """Fetch a page, and say what is wanted from it."""

    native_name = "web_fetch"

    url: str = means()
    prompt: str | None = means("instructions", default=None)


class WebSearch(InWords[op.SearchWeb]):
    """Search the web."""

    native_name = "web_search"

    query: str = means()
    allowed_domains: str | list[str] | None = means("allowed_domains", default=None)
    blocked_domains: str | list[str] | None = means("blocked_domains", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.SearchWeb(self.query, _domains(self.allowed_domains), _domains(self.blocked_domains)),)


def _domains(given: str | list[str] | None) -> tuple[str, ...]:
    """A list, which may be written as JSON."""
    read = decoded(given) if isinstance(given, str) else given
    return tuple(str(one) for one in read) if isinstance(read, list) else ()


class UseSubagents(InWords[op.SpawnAgent]):
    """Give a task each to several agents."""

    native_name = "use_subagents"

    prompt_1: str = means("prompt")
    prompt_2: str | None = means(None, default=None)
    prompt_3: str | None = means(None, default=None)
    prompt_4: str | None = means(None, default=None)
    prompt_5: str | None = means(None, default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        prompts = (self.prompt_1, self.prompt_2, self.prompt_3, self.prompt_4, self.prompt_5)
        if not any(prompts):
            raise ValueError("prompt_1: say what is to be done")
        return tuple(op.SpawnAgent(prompt) for prompt in prompts if prompt)


class UseSkillBefore(InWords[op.UseSkill]):
    """Load a skill."""

    native_name = "use_skill"
    formerly = ("skill",)

    skill_name: str | None = means("name", default=None)
    skill: str | None = means(None, default=None)
    args: str | None = means("arguments", default=None)

    def to_operations(self) -> tuple[op.Operation, ...]:
        name = self.skill_name or self.skill
        if not name:
            raise ValueError("skill_name: name a skill")
        return (op.UseSkill(name, self.args),)


class ReadCommandOutput(InWords[op.ReadOutput]):
    """Read the output of a command that was too long to be returned."""

    native_name = "read_command_output"

    artifact_id: str = means("job")
    search: str | None = means("pattern", default=None)
    offset: int | None = native_only("the client keeps the output in a file, counted in bytes")
    limit: int | None = native_only("the client keeps the output in a file, counted in bytes")

    def to_operations(self) -> tuple[op.Operation, ...]:
        return (op.ReadOutput(self.artifact_id, pattern=self.search),)


class GenerateImage(InWords[op.GenerateImage]):
    """Make an image, or change one, and save it."""

    native_name = "generate_image"

    prompt: str = means()
    path: str | None = native_only("where it is saved")
    image: str | None = native_only("the image that is changed")


def decoded(text: str) -> Any:
    """The JSON a text is, or `None` when it is none."""
    try:
        return read_json(text)
    except msgspec.DecodeError:
        return None


def _named(path: str | None, absolute: str | None) -> str:
    """A file's path, which models that are trained so say as an absolute one."""
    name = path or absolute
    if not name:
        raise ValueError("path: name a file")
    return name


def _line(number: int | str | None) -> int | None:
    return int(number) if number not in (None, "") else None
