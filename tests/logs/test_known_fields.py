"""What is learnt of the fields of logs, and how a log is held against it: with a client of our own invention."""

from __future__ import annotations

from typing import Any

from dragoman.logs.history.known_fields import Counted, Form, Readings, differences, version_number
from dragoman.logs.history.record_fields import Walk
from dragoman.model import Source

from .learner import Evidence, Learner

SOURCE = Source("a.jsonl", 0, 1)


def counted(*records: Any) -> Counted:
    walk, given = Walk(lambda tool: tool != "their_tool"), Counted()
    for record in records:
        for place, fields in walk.objects(record):
            given.add(place, fields, SOURCE)
    return given


def learnt(*logs: tuple[str, Evidence, list[Any]]) -> Form:
    learner = Learner()
    for version, evidence, records in logs:
        learner.learn("log", version, counted(*records), Readings({}, {}), evidence)
    return learner.known().forms["log"]


def told(form: Form, *records: Any, version: str = "1.0") -> list[tuple[str, str, str | None]]:
    found, _ = differences(form, counted(*records), [version])
    return sorted((one.kind, one.place, one.field) for one in found)


MESSAGES = [{"type": "message", "message": {"type": "reply", "role": "model", "id": f"m{n}"}} for n in range(4)]


def test_a_kind_that_is_said_in_two_fields_is_missed_in_each() -> None:
    form = learnt(("1.0", "captured", MESSAGES))
    for field in ("type", "role"):
        inner = {name: one for name, one in MESSAGES[0]["message"].items() if name != field}
        place = "message.message<reply/model>"
        assert told(form, {"type": "message", "message": inner}) == [("missing_field", place, field)]
        retyped = {**MESSAGES[0]["message"], field: 7}
        assert told(form, {"type": "message", "message": retyped}) == [("changed_type", place, field)]


def test_a_record_whose_kind_has_dots_is_a_record() -> None:
    turns = [{"type": "turn.ended", "kind": "event", "at": n} for n in range(4)]
    others = [{"type": "turn", "at": n, "text": ""} for n in range(4)]
    form = learnt(("1.0", "captured", [*turns, *others]))
    assert told(form, *turns, *others) == []
    assert told(form, {"type": "turn.ended", "at": 1}) == [("missing_field", "<turn.ended/event>", "kind")]
    assert told(form, {"type": "turn.begun", "kind": "word", "at": 1}) == [
        ("new_record", "<turn.begun/word>", None),
    ]


def test_a_field_that_was_never_null_is_missed_when_it_is() -> None:
    rows = [{"type": "row", "id": "a", "note": None}, *({"type": "row", "id": "a", "note": "b"} for _ in range(4))]
    form = learnt(("1.0", "captured", rows))
    assert told(form, {"type": "row", "id": "a", "note": None}) == []
    assert told(form, {"type": "row", "id": None, "note": "b"}) == [("missing_field", "row", "id")]


def test_a_part_that_has_nothing_any_more_is_told_with_what_it_might_have() -> None:
    parts = [{"text": "a"}, {"call": {"name": "x"}}, {"text": "b"}, {"data": "c"}]
    form = learnt(("1.0", "captured", [{"type": "user", "parts": parts}] * 2))
    empty = {"type": "user", "parts": [{}, {"call": {"name": "x"}}]}
    assert told(form, empty) == [("missing_field", "user.parts[]", "call or data or text")]


def test_values_of_a_map_from_models_or_files_are_looked_into_and_its_keys_are_no_fields() -> None:
    def of(**used: Any) -> dict[str, Any]:
        return {"type": "used", "by": {"gpt-5.2": {"tokens": 1, "cost": 2}, **used}}

    form = learnt(("1.0", "captured", [of(), of(), of()]))
    assert told(form, of(Makefile={"tokens": 3, "cost": 4})) == []
    changed = {"type": "used", "by": {"gpt-6.1": {"tokens2": 1, "cost": "2"}}}
    assert told(form, changed) == [
        ("changed_type", "used.by.*", "cost"),
        ("missing_field", "used.by.*", "tokens"),
        ("new_field", "used.by.*", "tokens2"),
    ]


def test_what_somebody_made_by_hand_does_not_widen_the_type_of_a_field() -> None:
    form = learnt(
        ("1.0", "captured", [{"type": "user", "content": "a"}] * 4),
        ("0.9", "made", [{"type": "user", "content": 5, "mood": "b"}]),
    )
    assert told(form, {"type": "user", "content": 5}) == [("changed_type", "user", "content")]
    assert told(form, {"type": "user", "content": "a", "mood": "c"}) == []


def test_a_field_that_one_version_always_has_is_missed_there_and_in_no_other() -> None:
    often = [{"type": "reply", "text": "a", "speed": 1}] * 40
    rarely = [{"type": "reply", "text": "a", "speed": 1}, {"type": "reply", "text": "a"}] * 10
    form = learnt(("1.0", "captured", rarely), ("2.0", "captured", often))
    without = {"type": "reply", "text": "a"}
    assert told(form, *[without] * 4, version="1.0") == []
    assert told(form, *[without] * 4, version="2.0") == [("missing_field", "reply", "speed")]
    assert told(form, *[without] * 4, version="unknown") == []


def test_a_rare_field_that_a_version_nobody_captured_renames_is_missed_there() -> None:
    plain = [{"type": "end", "at": n} for n in range(20)]
    coded = [{"type": "end", "at": n, "exit": n} for n in range(3)]
    form = learnt(*((one, "captured", every) for one in ("1.0", "1.2") for every in (plain, [*plain, *coded])))
    for name in ("exitCode", "exit_code", "EXIT", "exits"):
        record = {"type": "end", "at": 1, name: 3}
        assert told(form, record, version="1.1") == [("missing_field", "end", "exit"), ("new_field", "end", name)]
    for addition in ({"signal": 3}, {"exitCode": "3"}, {"exit": 1, "exitCode": 3}, {"codeOfExit": 3}):
        told_of = {kind for kind, _, _ in told(form, {"type": "end", "at": 1, **addition}, version="1.1")}
        assert told_of == {"new_field"}


def test_a_field_that_is_not_always_there_and_was_never_null_is_told_when_it_is_always_null() -> None:
    results = [{"type": "said", "result": {"out": "x"}} for _ in range(6)]
    others = [{"type": "said"} for _ in range(2)]
    form = learnt(*(("1.0", "captured", [*results, *others]) for _ in range(3)))
    for version in ("1.0", "1.1"):
        empty = [{"type": "said", "result": None} for _ in range(3)]
        assert told(form, *empty, *others, version=version) == [("changed_type", "said", "result")]
        assert told(form, *empty, results[0], version=version) == []


def ran(tool: str, **state: Any) -> dict[str, Any]:
    return {"type": "part", "tool": tool, "state": state}


def test_a_field_that_results_of_all_tools_have_is_missed_though_no_tool_was_seen_often() -> None:
    worked = [ran(tool, status="done", output="a", **{f"{tool}s": 1}) for tool in ("cat", "ls", "cp", "mv")]
    failed = [ran(tool, status="failed", error="b") for tool in ("cat", "ls", "cp")]
    waiting = [ran("rm", status="running")]
    form = learnt(("1.0", "captured", [*worked, *failed, *waiting]))
    assert told(form, *worked, *failed, *waiting) == []
    assert told(form, *worked[:2]) == told(form, *failed[:1]) == told(form, *waiting) == []
    for output in ({}, {"output": None}):
        every = [ran(tool, status="done", **output, **{f"{tool}s": 1}) for tool in ("cat", "ls", "cp", "mv")]
        assert ("missing_field", "part.state@+done", "output") in told(form, *every)
    assert ("missing_field", "part.state@+failed", "error") in told(form, *[ran("cat", status="failed")] * 2)


def test_a_field_of_few_tools_is_not_missed_from_the_results_of_others() -> None:
    both = [ran("run", status="done", exit=0), ran("try", status="done", exit=0)] * 2
    others = [ran(tool, status="done") for tool in ("cat", "ls", "cp")]
    form = learnt(("1.0", "captured", [*both, *others]), ("1.0", "captured", [*both, *others]))
    assert told(form, *others * 5) == []
    counts = counted(*others * 5)
    assert differences(form, counts, ["1.0"], fell=True) == ([], 0)


def test_what_changed_in_the_results_of_one_tool_is_told_of_that_tool_alone() -> None:
    form = learnt(*[("1.0", "captured", [ran(tool, output="x", code=1) for tool in ("cat", "ls")])] * 3)
    for tool in ("cat", "brand_new"):
        assert told(form, ran(tool, output="x", code=1, more="y")) == [("new_field", f"part.state@{tool}", "more")]
    assert told(form, ran("cat", output=3, code=1)) == [("changed_type", "part.state@cat", "output")]


def test_a_field_is_missed_sooner_where_less_could_be_read() -> None:
    reply = {"type": "reply", "text": ""}
    form = learnt(("1.0", "captured", [{**reply, "calls": []}, reply, reply] * 3), ("1.0", "captured", [reply] * 2))
    for lacking in (reply, {**reply, "calls": None}):
        counts = counted(*[lacking] * 3)
        assert differences(form, counted(*[reply] * 3), ["1.0"]) == ([], 0)
        assert {one.field for one in differences(form, counts, ["1.0"], fell=True)[0]} == {"calls"}
    assert differences(form, counted(reply, reply), ["1.0"], fell=True) == ([], 0)


def test_records_with_a_flag_do_not_excuse_those_without() -> None:
    def said(**beside: Any) -> dict[str, Any]:
        return {"type": "user", "message": {"content": [{"type": "answer"}]}, **beside}

    own, others = said(result="a", isAside=False), said(isAside=True)
    form = learnt(("1.0", "captured", [own] * 4), ("1.0", "captured", [others] * 30))
    assert told(form, own, others) == told(form, others) == []
    assert told(form, said(isAside=False)) == [("missing_field", "user+answer", "result")]


def test_what_was_made_before_a_release_is_before_it() -> None:
    every = ["1.10.0", "1.1", "1.0.1", "1.0.0", "1.0.0-alpha.11", "1.0.0-alpha.2", "0.9"]
    assert sorted(every, key=version_number, reverse=True) == every
    assert version_number("no number") == []


def test_two_kinds_of_documents_that_say_no_kind_do_not_excuse_each_other() -> None:
    about = {"session": "a", "status": "done", "model": "m"}
    messages = {"version": 1, "messages": [], "origin": "o"}
    logs: list[tuple[str, Evidence, list[Any]]] = [("1.0", "captured", [one]) for one in (about, messages) * 3]
    form = learnt(*logs)
    assert told(form, about) == told(form, messages) == []
    assert told(form, {"session": "a", "model": "m"}) == [("missing_field", "record", "status")]


def test_fields_of_a_result_are_the_client_s_only_if_the_tool_is() -> None:
    called = {
        "type": "assistant",
        "message": {"content": [{"type": "tool_use", "id": "1", "name": "Bash", "input": {}}]},
    }
    returned = {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "1"}]}}
    result = {**returned, "toolUseResult": {"stdout": "x"}}
    for is_own in (True, False):
        walk = Walk(lambda tool, is_own=is_own: is_own and tool == "Bash")  # type: ignore[misc]
        places = [place for record in (called, result) for place, _ in walk.objects(record)]
        assert any(place.endswith("toolUseResult@Bash") for place in places) is is_own
        assert any(place.startswith("user") for place in places)


def answered(**given: Any) -> dict[str, Any]:
    return {"type": "answered", "toolName": "their_tool", "result": given}


def test_what_a_client_puts_around_the_result_of_a_server_is_told_when_it_changes() -> None:
    block, picture = {"type": "text", "text": "x"}, {"kind": "file", "url": "data:"}
    form = learnt(
        ("1.0", "captured", [answered(content=[block], isError=False), answered(structuredContent={"label": "a"})] * 3),
        ("1.0", "captured", [answered(content=[block], attachments=[picture])] * 3),
    )
    place = "answered.result@*"
    assert told(form, answered(structuredContent={"of": 1, "another": {"server": True}})) == []
    assert (
        told(form, answered(content=[{"type": "link", "uri": "x"}], _meta={"a": 1}, problem="the server is gone")) == []
    )
    assert told(form, answered(structured={"label": "a"})) == [("new_field", place, "structured")]
    assert told(form, answered(content={"text": "x"})) == [("changed_type", place, "content")]
    of_new_kind = answered(content=[block], attachments=[{**picture, "kind": "blob"}])
    assert told(form, of_new_kind) == [("new_record", f"{place}.attachments[]<blob>", "blob")]


def returned(tool: str, text: str) -> dict[str, Any]:
    return {"type": "returned", "toolName": tool, "content": text}


EDITED = '{"success": true, "lines": [{"number": 1}]}'


def test_what_a_client_writes_as_json_in_a_text_is_told_when_it_changes() -> None:
    form = learnt(("1.0", "captured", [*[returned("Edit", EDITED)] * 3, returned("Edit", "No such file.")]))
    assert told(form, returned("Edit", EDITED), returned("Edit", "Denied.")) == []
    assert told(form, returned("Edit", EDITED.replace("success", "done"))) == [
        ("missing_field", "returned.content{Edit}", "success"),
        ("new_field", "returned.content{Edit}", "done"),
    ]
    assert told(form, returned("Edit", EDITED.replace("1", '"1"'))) == [
        ("changed_type", "returned.content{Edit}.lines[]", "number"),
    ]


def test_a_file_or_an_answer_that_is_json_is_not_the_client_s() -> None:
    files = [returned("Read", text) for text in ("a", "b", '{"name": "x"}', "c", '{"name": "y"}', '{"name": "z"}', "d")]
    form = learnt(("1.0", "captured", [*files, *[returned("Edit", EDITED)] * 3]))
    assert [place for place in form.places if "{" in place] == [
        "returned.content{Edit}",
        "returned.content{Edit}.lines[]",
    ]
    others = [returned("Read", '{"version": 2}'), returned("Write", '{"success": 1}')]
    assert told(form, *others) == []
