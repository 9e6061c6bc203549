"""Laws of translation: from every vocabulary to every other, nothing is lost in silence and ids stay paired."""

from __future__ import annotations

from functools import cache
from itertools import permutations

import pytest
from hypothesis import given, strategies as st

from dragoman.dialects import DIALECTS, Dialect, joined, with_intents
from dragoman.dialects.base.default_words import tell
from dragoman.dialects.base.known_files import KnownFiles
from dragoman.dialects.plugins import laws
from dragoman.dialects.translation import Lost, Translated, Translation, still_runs
from dragoman.errors import Unspeakable
from dragoman.model import OPERATIONS, Call, NativeCall, Operation, operations as op, outcomes as out
from tests.examples import examples
from tests.plain_values import outcomes_of, plain_values

SPOKEN = {name: [OPERATIONS[tag] for tag in laws.spoken(DIALECTS[name])] for name in DIALECTS.built_in}
PAIRS = [(there, back) for there, back in permutations(DIALECTS.built_in, 2) if SPOKEN[there]]  # some are only read


def _fields(lost: tuple[Lost, ...]) -> set[str]:
    return {one.field for one in lost}


KINDS = {name: st.sampled_from(kinds) for name, kinds in SPOKEN.items()}


@cache
def _operations(source: str, kind: type[Operation]) -> st.SearchStrategy[Operation]:
    return st.sampled_from([one for one in plain_values(kind) if laws.sayable(DIALECTS[source], one)])


def _calls(source: Dialect, data: st.DataObject, kind: type[Operation] | None = None) -> list[NativeCall]:
    """An operation in the words of a vocabulary."""
    kind = data.draw(KINDS[source.name]) if kind is None else kind
    return list(source.write_call("call", data.draw(_operations(source.name, kind))))


def _meant(translated: Translated) -> tuple[Operation, ...]:
    return joined(translated.source.operations)


@pytest.mark.parametrize("there, back", PAIRS)
@examples(6)
@given(data=st.data())
@pytest.mark.slow
def test_there_and_back_a_call_means_the_same_but_for_what_is_reported_as_lost(
    there: str, back: str, data: st.DataObject
) -> None:
    source, target = DIALECTS[there], DIALECTS[back]
    native = data.draw(st.sampled_from(_calls(source, data)))
    translated = Translation(source, target).call(native)
    if not translated.calls:
        assert _fields(translated.lost) == {"*"}
        return
    lost = _fields(translated.lost)
    heard = joined([one for call in translated.calls for one in target.read_call(call.native).operations])
    for call in translated.calls:  # what a command says of an operation has laws of its own
        if call.id in translated.commands:
            assert with_intents(target.read_call(call.native)).intents == (translated.commands[call.id],)
    if "*" not in lost and not translated.commands:
        for said, understood in zip(_meant(translated), heard, strict=True):
            if {type(said), type(understood)} == {op.ReadFile, op.ViewImage}:  # a picture is read by either
                assert said.path == understood.path  # type: ignore[attr-defined]
                continue
            assert type(said) is type(understood)
            differing = {name for name in said.__struct_fields__ if getattr(said, name) != getattr(understood, name)}
            assert differing <= lost
    returning = Translation(target, source)
    for call in translated.calls:
        again = returning.call(call.native)
        assert again.calls or _fields(again.lost) == {"*"}


@pytest.mark.parametrize("there, back", PAIRS)
@examples(6)
@given(data=st.data())
@pytest.mark.slow
def test_every_call_gets_one_result_under_its_id_and_theirs_become_one_again(
    there: str, back: str, data: st.DataObject
) -> None:
    source, target = DIALECTS[there], DIALECTS[back]
    native = data.draw(st.sampled_from(_calls(source, data)))
    translation = Translation(source, target)
    translated = translation.call(native)
    ids = [call.id for call in translated.calls]
    assert len(set(ids)) == len(ids)
    assert [call.native.id for call in translated.calls] == ids
    assert all(id == native.id or id.startswith(f"{native.id}_") for id in ids)
    if not ids:
        return
    call = translated.source
    outcomes = tuple(data.draw(outcomes_of(operation)) for operation in call.operations)
    split = translation.split(translated, source.write_result(call, outcomes))
    assert [result.call_id for result in split.results] == ids
    assert [result.name for result in split.results] == [one.native.name for one in translated.calls]
    (whole,) = translation.join(translated, split.results).results
    assert (whole.call_id, whole.name) == (native.id, native.name)


RUNNING = [
    (op.RunCommand("make", background=True), out.CommandOutcome(output="a\n", running=True, job="7")),
    (op.SpawnAgent("look"), out.AgentsOutcome((out.AgentReport("a1", "running"),))),
    (op.SpawnAgent("look"), out.AgentsOutcome((out.AgentReport("a1", "unknown"),))),
    (op.WaitForAgent(("a1",)), out.AgentsOutcome((out.AgentReport("a1", "running"),))),
]


@pytest.mark.parametrize("operation, outcome", RUNNING)
@pytest.mark.parametrize("name", DIALECTS.built_in)
def test_a_result_that_would_say_that_something_ended_which_still_runs_is_in_plain_words(
    name: str, operation: Operation, outcome: out.Outcome
) -> None:
    dialect = DIALECTS[name]
    if isinstance(operation, op.SpawnAgent):
        operation = op.SpawnAgent("look", agent="general")  # which some vocabularies require
    try:
        (native,) = dialect.write_call("c", operation)
    except (Unspeakable, ValueError):
        return
    call = dialect.read_call(native)
    told = dialect.write_result(call, (outcome,))
    assert not told.is_error
    understood = dialect.read_result(call, told).outcomes[0]
    if not still_runs(understood):  # the words of this tool are for what has ended, so they are not used
        assert told.content == tell(operation, outcome)


@pytest.mark.parametrize("operation, outcome", RUNNING)
@pytest.mark.parametrize("there", DIALECTS.built_in)
def test_what_still_runs_is_never_told_as_ended(there: str, operation: Operation, outcome: out.Outcome) -> None:
    source = DIALECTS[there]
    try:
        (native,) = source.write_call("c", operation)
    except (Unspeakable, ValueError):
        return
    for back in DIALECTS.built_in:
        target = DIALECTS[back]
        translation = Translation(source, target)
        translated = translation.call(native)
        told = source.write_result(translated.source, (outcome,))
        if not translated.calls or not still_runs(source.read_result(translated.source, told).outcomes[0]):
            continue
        retold = translation.split(translated, told)
        (understood,) = target.read_result(translated.calls[0], retold.results[0]).outcomes
        # Where any words of a tool mean that it is done, plain ones say how it stands, and that is reported.
        plainly = any(lost.field == "result" for lost in retold.lost) and retold.results[0].is_error is None
        text = isinstance(understood, out.TextOutcome | out.ContentOutcome)
        assert still_runs(understood) or text or plainly, back


@pytest.mark.parametrize("name", DIALECTS.built_in)
@examples(20)
@given(data=st.data())
def test_nothing_is_said_but_calls_of_offered_tools(name: str, data: st.DataObject) -> None:
    target = DIALECTS[name]
    source = DIALECTS[data.draw(st.sampled_from([one for one, kinds in SPOKEN.items() if kinds]))]
    names = sorted({definition.name for definition in target.definitions() if definition.name})
    offered = data.draw(st.sets(st.sampled_from(names))) if names else set()
    for native in _calls(source, data):
        translated = Translation(source, target, offered=offered).call(native)
        assert {call.native.name for call in translated.calls} <= offered
        assert translated.calls or _fields(translated.lost) == {"*"}


@pytest.mark.parametrize("name", DIALECTS.built_in)
def test_a_foreign_name_is_never_written(name: str) -> None:
    for call in (NativeCall("1", "made_up", {"x": 1}), NativeCall("1", "made_up", "text")):
        translated = Translation(DIALECTS["claude_code"], DIALECTS[name]).call(call)
        assert translated == Translated(
            Call("1", (op.Unrecognised("made_up", call.arguments),), call),
            (),
            (),
            (Lost("1", "made_up", "*", "its vocabulary has no tool 'made_up'"),),
        )


@examples(60)
@given(
    text=st.text("ab \n", max_size=30),
    edits=st.lists(st.tuples(st.text("ab \n", min_size=1, max_size=4), st.text("abc\n", max_size=4)), max_size=3),
)
def test_edits_in_whole_lines_do_what_the_edits_of_parts_of_lines_do(text: str, edits: list[tuple[str, str]]) -> None:
    files = KnownFiles()
    files.end(op.ReadFile("a"), out.FileOutcome("a", text))
    asked = op.EditFile("a", tuple(op.Edit(old, new) for old, new in edits))
    whole = files.in_whole_lines(asked)
    if whole is None:
        return
    expected, changed = text, text
    for old, new in edits:
        assert expected.count(old) == 1
        expected = expected.replace(old, new)
    for edit in whole.edits:
        assert edit.old is not None
        assert edit.whole_lines
        start = changed.index(edit.old)
        assert start == 0 or changed[start - 1] == "\n"
        assert changed.count(edit.old) == 1
        changed = changed.replace(edit.old, edit.new)
    assert changed == expected
