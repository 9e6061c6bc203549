"""One vocabulary's calls and results in another's: what may be said there, where paths lead, and results both ways."""

from __future__ import annotations

from contextlib import suppress
from itertools import product

import pytest

from dragoman.dialects import DIALECTS, Loss
from dragoman.dialects.translation import Lost, Translation, as_text, respoken
from dragoman.errors import Unspeakable
from dragoman.model import (
    AgentReport,
    AgentsOutcome,
    Call,
    CallPart,
    Change,
    ChangesOutcome,
    Failure,
    FunctionDefinition,
    Media,
    NativeCall,
    NativeResult,
    Provenance,
    Reply,
    operations as op,
    outcomes as out,
    user,
)
from dragoman.model.calls import NO_RESULT
from dragoman.model.conversation import ConversationItem, results_message

CLAUDE, CODEX, GEMINI, OPENCODE = (DIALECTS[name] for name in ("claude_code", "codex", "gemini_cli", "opencode"))
PATCH = """*** Begin Patch
*** Add File: b.txt
+two
*** Update File: a.txt
@@
-old
+new
@@
-x
+y
*** End Patch"""


def said(translation: Translation, name: str, arguments: dict[str, object] | str) -> list[tuple[str, str, object]]:
    translated = translation.call(NativeCall("c1", name, arguments))
    return [(call.id, call.native.name, call.native.arguments) for call in translated.calls]


def test_only_what_is_offered_is_said_and_another_tool_that_is_says_it() -> None:
    edit = ("replace", {"file_path": "a", "old_string": "x", "new_string": "y"})
    everything = Translation(GEMINI, OPENCODE)
    assert [name for _, name, _ in said(everything, *edit)] == ["edit"]
    patching = Translation(GEMINI, OPENCODE, offered=["apply_patch", "read"])
    assert [name for _, name, _ in said(patching, *edit)] == ["apply_patch"]
    neither = Translation(GEMINI, OPENCODE, offered=["read"]).call(NativeCall("c1", *edit))
    assert neither.calls == ()
    assert neither.lost == (Lost("c1", "replace", "*", "no tool that is offered says it"),)


def test_a_tool_that_this_version_no_longer_offers_is_said_only_where_it_is_offered() -> None:
    listing = ("list_directory", {"dir_path": "src"})
    newest = CLAUDE.at("2.1.325")
    # The client refuses a tool that it does not have any more (2.1.325).
    with pytest.raises(Unspeakable, match=r"no tool of 2\.1\.325 says it"):
        newest.write_call("1", op.ListDirectory("src"))
    assert [call.name for call in CLAUDE.at("1.0.88").write_call("1", op.ListDirectory("src"))] == ["LS"]
    assert said(Translation(GEMINI, newest, offered=["Read", "Glob"]), *listing) == []
    assert [name for _, name, _ in said(Translation(GEMINI, newest, offered=["LS"]), *listing)] == ["LS"]


def test_what_no_tool_says_is_said_as_a_command_and_its_output_is_the_result() -> None:
    translation = Translation(GEMINI, CLAUDE.at("2.1.325"), offered=["Read", "Bash", "Glob"])
    listed = NativeCall("c1", "list_directory", {"dir_path": "src"})
    translated = translation.call(listed)
    (call,) = translated.calls
    assert (call.native.name, call.native.arguments) == ("Bash", {"command": "ls -1Ap src"})
    assert (translated.lost, translated.commands) == ((), {"c1": op.ListDirectory("src")})
    told = NativeResult("c1", "Directory listing for src:\n[DIR] inner\na.py")
    (printed,) = translation.split(translated, told).results
    assert printed.content == "inner/\na.py"
    joined = translation.join(translated, [NativeResult("c1", "inner/\na.py\n", name="Bash")])
    assert GEMINI.read_result(translated.source, joined.results[0]).outcomes == (
        out.DirectoryOutcome("src", (out.Entry("inner", "directory"), out.Entry("a.py"))),
    )


def test_a_picture_is_read_with_the_tool_for_pictures_where_there_is_no_other() -> None:
    translation = Translation(CLAUDE, DIALECTS["codex"].at("0.166.0"))
    assert said(translation, "Read", {"file_path": "/w/a.PNG"}) == [("c1", "view_image", {"path": "/w/a.PNG"})]
    assert [name for _, name, _ in said(translation, "Read", {"file_path": "/w/a.py"})] == ["exec_command"]
    back = Translation(DIALECTS["codex"], CLAUDE)
    assert said(back, "view_image", {"path": "/w/a.png"}) == [("c1", "Read", {"file_path": "/w/a.png"})]


def test_parameters_that_an_offered_definition_lacks_are_left_out_and_reported() -> None:
    schema = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
    bash = FunctionDefinition("Bash", "Runs it.", schema)
    call = NativeCall("c1", "run_shell_command", {"command": "ls", "description": "list"})
    translated = Translation(GEMINI, CLAUDE, offered=[bash]).call(call)
    assert [one.native.arguments for one in translated.calls] == [{"command": "ls"}]
    assert translated.lost == (
        Lost("c1", "run_shell_command", "description", "the offered tool has no such parameter"),
    )
    strict = FunctionDefinition("Bash", "Runs it.", {**schema, "required": ["command", "why"]})
    refused = Translation(GEMINI, CLAUDE, offered=[strict]).call(call)
    assert (refused.calls, refused.lost[0].reason) == ((), "the offered tool requires why")


def test_a_search_that_was_run_here_is_not_said_as_one_the_provider_ran() -> None:
    search = NativeCall("c1", "google_web_search", {"query": "tea"})
    translated = Translation(GEMINI, DIALECTS["anthropic"], offered=["web_search"]).call(search)
    assert (translated.calls, translated.lost[0].field) == ((), "*")


def test_paths_become_absolute_or_relative_with_the_folder_of_the_session() -> None:
    absolute = Translation(GEMINI, CLAUDE, folder="/srv/app/", paths="absolute")
    for given, path in (("src/a.py", "/srv/app/src/a.py"), ("./a", "/srv/app/a"), ("/etc/hosts", "/etc/hosts")):
        assert said(absolute, "read_file", {"file_path": given}) == [("c1", "Read", {"file_path": path})]
    relative = Translation(CLAUDE, GEMINI, folder="/srv/app", paths="relative")
    for given, path in (("/srv/app/src/a.py", "src/a.py"), ("/srv/apple/a", "/srv/apple/a"), ("a", "a")):
        assert said(relative, "Read", {"file_path": given}) == [("c1", "read_file", {"file_path": path})]
    assert said(Translation(CLAUDE, GEMINI), "Read", {"file_path": "/x"}) == [("c1", "read_file", {"file_path": "/x"})]


def test_one_call_becomes_several_and_their_results_become_one() -> None:
    translation = Translation(CODEX, CLAUDE)
    translated = translation.call(NativeCall("c1", "apply_patch", PATCH))
    assert [(call.id, call.native.name) for call in translated.calls] == [
        ("c1_1", "Write"),
        ("c1_2_1", "Edit"),
        ("c1_2_2", "Edit"),
    ]
    created = (ChangesOutcome((Change("b.txt", "created"),)),)
    modified = (ChangesOutcome((Change("a.txt", "modified"),)),)
    told = [
        CLAUDE.write_result(call, outcomes)
        for call, outcomes in zip(translated.calls, (created, modified, modified), strict=True)
    ]
    (joined,) = translation.join(translated, told).results
    assert (joined.call_id, joined.name) == ("c1", "apply_patch")
    outcomes = CODEX.read_result(translated.source, joined).outcomes
    assert [one.changes[0].path for one in outcomes if isinstance(one, ChangesOutcome)] == ["b.txt", "a.txt"]


def test_a_part_that_failed_and_those_after_it_that_were_not_made_are_told() -> None:
    translation = Translation(CODEX, CLAUDE)
    translated = translation.call(NativeCall("c1", "apply_patch", PATCH))
    wrote, edited, _ = translated.calls
    told = [
        CLAUDE.write_result(wrote, (ChangesOutcome((Change("b.txt", "created"),)),)),
        CLAUDE.write_result(edited, (Failure("failed", "String to replace not found in file."),)),
    ]
    (joined,) = translation.join(translated, told).results
    assert "not found" in str(joined.content)


def test_an_agent_of_unknown_state_is_not_told_as_done_where_any_answer_means_that() -> None:
    call = CLAUDE.read_call(CLAUDE.write_call("c1", op.SpawnAgent("look"))[0])
    told = CLAUDE.write_result(call, (AgentsOutcome((AgentReport("a1", "unknown"),)),))
    translation = Translation(CLAUDE, DIALECTS["qwen_code"])
    retold = translation.split(translation.say(call), told)
    assert [result.content for result in retold.results] == ["Agent (id a1) is in an unknown state."]
    reason = "its tool has no words for what still runs; plain ones are used"
    assert retold.lost == (Lost("c1", call.native.name, "result", reason),)


def test_what_has_no_meaning_elsewhere_and_what_results_lose_is_listed_by_call() -> None:
    call = NativeCall("c1", "Read", {"file_path": "a.py", "made_up": 1})
    translation = Translation(CLAUDE, GEMINI)
    translated = translation.call(call)
    assert translated.lost == (Lost("c1", "Read", "made_up", "it has no meaning outside its vocabulary"),)
    retold = translation.split(translated, NativeResult("c1", "1\tone\n2\ttwo"))
    assert {lost.call_id for lost in retold.lost} <= {"c1"}
    assert all(lost.field.startswith("result") for lost in retold.lost)


def test_a_call_told_as_text_says_whether_it_took_effect() -> None:
    called = "[An earlier call that the tools here cannot make: NotebookEdit]\n"
    call = NativeCall("c1", "NotebookEdit", {"cell": 1})
    assert as_text(call, None) == (
        f'{called}{{"cell":1}}\n[No result of it was recorded, so whether it took effect is not known.]'
    )
    seen = NativeResult("c1", ("done", Media("image/png", data="")))
    assert as_text(call, seen) == f'{called}{{"cell":1}}\n[Its result:]\ndone\n(image/png)'


def test_a_vocabulary_that_says_only_some_tools_still_reads_the_others() -> None:
    few = CLAUDE.only(["Read"])
    assert few.read_call(NativeCall("1", "Write", {"file_path": "a", "content": ""})) == Call(
        "1", (op.WriteFile("a", ""),), NativeCall("1", "Write", {"file_path": "a", "content": ""})
    )


def test_losses_need_not_be_looked_for_but_a_call_that_cannot_be_said_is_listed_all_the_same() -> None:
    quick = Translation(CLAUDE, GEMINI, losses=False)
    call = NativeCall("c1", "Bash", {"command": "ls", "timeout": 5000})
    assert Translation(CLAUDE, GEMINI).call(call).lost != ()
    assert quick.call(call).lost == ()
    assert quick.call(NativeCall("c1", "made_up", {})).lost == (
        Lost("c1", "made_up", "*", "its vocabulary has no tool 'made_up'"),
    )


def test_codex_is_given_a_reason_only_with_a_request_to_leave_the_sandbox() -> None:
    codex = CODEX.at("0.166.0")
    (plain,) = codex.write_call("c1", op.RunCommand("ls", purpose="list"))
    (outside,) = codex.write_call("c1", op.RunCommand("ls", purpose="list", unsandboxed=True))
    assert plain.arguments == {"cmd": "ls"}
    assert outside.arguments == {
        "cmd": "ls",
        "sandbox_permissions": "require_escalated",
        "justification": "list",
    }
    assert [one.field for one in codex.loss(op.RunCommand("ls", purpose="list"))] == ["purpose"]


# ── changes of part of a line ────────────────────────────────────────────────

UPDATED = "The file /w/a.py has been updated successfully."
READ = NativeCall("c1", "Read", {"file_path": "/w/a.py"})


def edit(id: str, old: str, new: str) -> NativeCall:
    return NativeCall(id, "Edit", {"file_path": "/w/a.py", "old_string": old, "new_string": new})


def to_codex(*steps: tuple[tuple[NativeCall, str], ...]) -> tuple[list[NativeCall], tuple[Lost, ...]]:
    """Calls of Claude Code, several at a time, each with its result, as Codex makes them; and what was lost of them."""
    codex = CODEX.at("0.166.0")
    translation = Translation(CLAUDE, codex, offered=codex.definitions(), folder="/w", paths="absolute")
    made_by = Provenance("log", dialect="claude_code")
    conversation: list[ConversationItem] = [user("Go.")]
    for step in steps:
        conversation.append(Reply(tuple(CallPart(native) for native, _ in step), provenance=made_by))
        conversation.append(results_message(*(NativeResult(native.id, content) for native, content in step)))
    new = respoken(tuple(conversation), codex.name, lambda _: translation)
    calls = [part.call for item in new.conversation for part in item.parts if isinstance(part, CallPart)]
    return calls, tuple(one for one in new.lost if not one.field.startswith("result"))


def test_part_of_a_line_is_changed_by_a_patch_where_the_lines_are_known() -> None:
    calls, lost = to_codex(
        ((READ, "1\tx = 1\n2\ty = 3\n3\t"),),
        ((edit("c2", "= 1", "= 2"), UPDATED),),
        ((edit("c3", "x = 2", "x = 4"), UPDATED),),
    )
    assert [call.name for call in calls] == ["exec_command", "apply_patch", "apply_patch"]
    assert calls[1].arguments == "*** Begin Patch\n*** Update File: /w/a.py\n@@\n-x = 1\n+x = 2\n*** End Patch"
    assert lost == ()


def test_a_tool_for_whole_lines_has_words_for_no_part_of_one() -> None:
    """What a translation relies on: where one such change is lost, every change that ends in a line is."""
    texts, counts = ("a", "x\ny", " a "), (None, 1, 2)
    found: set[str] = set()
    for name in DIALECTS:
        loses = DIALECTS[name].loss
        try:
            if not _edits_are_lost(loses(op.EditFile("f", (op.Edit("a", "b"),)))):
                continue
        except Unspeakable:
            continue
        found.add(name)
        for old, new, everywhere, expected in product(texts, ("b", "b\n", ""), (False, True), counts):
            change = op.Edit(old, new, everywhere=everywhere, expected=expected)
            for edits in ((change,), (change, op.Edit("q\n", "r\n", whole_lines=True))):
                with suppress(Unspeakable):
                    assert _edits_are_lost(loses(op.EditFile("f", edits))), (name, edits)
    assert {"codex", "openai"} <= found


def _edits_are_lost(losses: tuple[Loss, ...]) -> bool:
    return any(one.field == "edits" for one in losses)


def test_part_of_a_line_is_changed_by_a_command_where_the_lines_are_not_known() -> None:
    asked = ((edit("c2", "= 1", "= 2"), UPDATED),)
    partly = NativeCall("c1", "Read", {"file_path": "/w/a.py", "limit": 1})
    run = NativeCall("c5", "Bash", {"command": "make"})
    whole = "1\tx = 1\n2\t"
    for before in (
        (),  # it was not read
        (((partly, "1\tx = 1"),),),
        (((READ, whole),), ((run, ""),)),  # a command may have changed it
        (((READ, "1\tx = 1\n2\tx = 1\n3\t"),),),  # which of them is meant?
    ):
        calls, lost = to_codex(*before, asked)
        assert calls[-1].name == "exec_command"
        assert "('= 1', '= 2', 1)" in str(calls[-1].arguments)
        assert lost == ()


@pytest.mark.parametrize(
    "content, name, told",
    [
        ("x = 1\n", "apply_patch", "*** Begin Patch\n*** Add File: p/a.py\n+x = 1\n*** End Patch"),
        ("", "exec_command", {"cmd": "mkdir -p p && printf '' > p/a.py"}),
        ("x = 1", "exec_command", {"cmd": "mkdir -p p && printf %s 'x = 1' > p/a.py"}),
        ("x\r\n%", "exec_command", {"cmd": "mkdir -p p && printf 'x\\r\n%%' > p/a.py"}),
    ],
)
def test_a_text_that_a_patch_cannot_hold_is_written_by_a_command(content: str, name: str, told: object) -> None:
    to_codex = Translation(CLAUDE, CODEX.at("0.166.0"))
    translated = to_codex.call(NativeCall("c1", "Write", {"file_path": "p/a.py", "content": content}))
    (call,) = translated.calls
    assert (call.native.name, call.native.arguments, translated.lost) == (name, told, ())


def test_two_changes_of_a_file_at_once_are_not_both_said_of_the_lines_before_them() -> None:
    both = ((edit("c2", "= 1", "= 2"), UPDATED), (edit("c3", "x", "z"), UPDATED))
    calls, _ = to_codex(((READ, "1\tx = 1\n2\t"),), both)
    assert [call.name for call in calls] == ["exec_command", "apply_patch", "exec_command"]


def test_a_call_by_itself_is_always_said_in_the_same_way() -> None:
    """A gateway says a call again with each request: what it became must not depend on what came since."""
    codex = CODEX.at("0.166.0")
    translation = Translation(CLAUDE, codex, offered=codex.definitions())
    first = translation.call(edit("c2", "= 1", "= 2"))
    translation.split(translation.call(READ), NativeResult("c1", "1\tx = 1\n2\t"))
    assert translation.call(edit("c2", "= 1", "= 2")) == first


# ── Windows ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", [name for name in DIALECTS.built_in if DIALECTS[name].speaks(op.RunCommand)])
def test_a_command_for_powershell_is_never_given_to_another_shell(name: str) -> None:
    target = DIALECTS[name]
    command = NativeCall("c1", "PowerShell", {"command": "Get-ChildItem"})
    translated = Translation(CLAUDE, target, losses=False).call(command)
    heard = [one for call in translated.calls for one in target.read_call(call.native).operations]
    assert all(isinstance(one, op.RunCommand) and one.shell == "powershell" for one in heard)
    assert translated.calls or "its shell is not powershell" in translated.lost[0].reason


def test_no_command_of_a_posix_shell_is_written_for_files_of_windows() -> None:
    codex = CODEX.at("0.166.0")
    windows = Translation(CLAUDE, codex, offered=codex.definitions(), folder="C:\\work", paths="absolute")
    anywhere = Translation(CLAUDE, codex, offered=codex.definitions())
    for path in ("C:\\work\\a.py", "c:/work/a.py", "\\\\server\\share\\a.py"):
        assert said(windows, "Read", {"file_path": path}) == []
        assert said(anywhere, "Read", {"file_path": path}) == []
    assert said(windows, "Grep", {"pattern": "x", "path": "src"}) == []


def test_paths_in_a_folder_of_windows_are_joined_as_windows_does() -> None:
    absolute = Translation(GEMINI, CLAUDE, folder="C:\\work\\", paths="absolute")
    for given, path in (("src\\a.py", "C:\\work\\src\\a.py"), (".\\a.py", "C:\\work\\a.py"), ("D:\\b", "D:\\b")):
        assert said(absolute, "read_file", {"file_path": given}) == [("c1", "Read", {"file_path": path})]


@pytest.mark.parametrize("to", ["codex", "gemini_cli", "pi", "opencode"])
def test_a_result_that_nobody_has_gets_no_exit_code(to: str) -> None:
    arguments = {"file_path": "/p/a.py", "old_string": "one", "new_string": "two"}
    translation = Translation(DIALECTS["claude_code"], DIALECTS[to])
    translated = translation.call(NativeCall("c1", "Edit", arguments))
    retold = translation.split(translated, NativeResult("c1", NO_RESULT, is_error=True))
    assert [(one.content, one.is_error) for one in retold.results] == [(NO_RESULT, True)]
