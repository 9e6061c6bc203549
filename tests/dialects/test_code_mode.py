"""Which calls of a program are known without running it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from dragoman.dialects.base.code_mode import ComputedCall, NestedCall, nested_calls, write_program
from tests.strategies import JSON_OBJECT, TEXT


def known(program: str) -> list[tuple[str, object]]:
    calls = nested_calls(program)
    assert all(isinstance(call, NestedCall) for call in calls), calls
    return [(call.name, call.arguments) for call in calls if isinstance(call, NestedCall)]


def reasons(program: str) -> list[str]:
    return [call.reason for call in nested_calls(program) if isinstance(call, ComputedCall)]


@pytest.mark.parametrize(
    "argument, value",
    [
        ("{}", {}),
        ("", {}),
        ("{a: 1, 'b c': -2.5, \"d\": 0x1f, e: 1_000, f: 1e3}", {"a": 1, "b c": -2.5, "d": 31, "e": 1000, "f": 1000}),
        ("{a: true, b: false, c: null, d: undefined}", {"a": True, "b": False, "c": None}),
        ("{a: [1, 'x', [{}],], b: {c: {d: ``}}}", {"a": [1, "x", [{}]], "b": {"c": {"d": ""}}}),
        (r"'a\n\t\\\'\x41\u00e9\u{1F600}\ud83d\ude00\q'", "a\n\t\\'Aé😀😀q"),
        (r'"it\"s `x` ${y}"', 'it"s `x` ${y}'),
        ("`two\nlines \\`and\\` \\${more}`", "two\nlines `and` ${more}"),
        ("String.raw`a\\nb`", "a\\nb"),
        ("'a' + \"b\" + `c` + 1 + 2", "abc12"),
        ("{n: 1 + 2}", {"n": 3}),
        ("['a', 'b'].join('\\n')", "a\nb"),
        ("('x')", "x"),
        ("{['a' + 'b']: 1, /* why */ c: 2}", {"ab": 1, "c": 2}),
    ],
)
def test_what_is_written_out_is_known(argument: str, value: object) -> None:
    assert known(f"await tools.go({argument});") == [("go", value)]


def test_a_variable_that_is_given_a_literal_once_stands_for_it() -> None:
    program = """
    const folder = "src";
    const options = {cmd: `ls ${folder}`, workdir: folder};
    let lines = ["one", "two"];
    const cmd = lines.join("\\n");
    await tools.go(options);
    await tools.go({cmd});
    text(options);
    """
    assert known(program) == [("go", {"cmd": "ls src", "workdir": "src"}), ("go", {"cmd": "one\ntwo"})]


def test_the_name_may_be_given_as_text() -> None:
    assert known("tools['a-b']({}); tools?.c({}); const n = 'd'; tools[n]({})") == [("a-b", {}), ("c", {}), ("d", {})]


def test_calls_are_found_wherever_they_are_certain_to_be_made() -> None:
    program = """
    // @exec: {"yield_time_ms": 500}
    const [a, b] = await Promise.all([tools.a({}), tools.b({})]);
    (async () => { text(await tools.c({})); })();
    try { await tools.d({}) } catch (error) { text(error) } finally { await tools.e({}) }
    if ((await tools.f({})).ok) text('yes');
    for (const line of (await tools.g({})).lines) text(line);
    """
    assert [name for name, _ in known(program)] == list("abcdefg")


@pytest.mark.parametrize(
    "program, reason",
    [
        ("tools.go({cmd: other})", "go: cmd is computed: `other`"),
        ("tools.go({a: {b: [f()]}})", "go: a.b is computed: `f()`"),
        ("tools.go(...args)", "go: its argument is computed: `...args`"),
        ("tools.go({...options})", "go: its argument is computed: `...options`"),
        ("tools.go('a', 'b')", "go: its argument is computed: `('a', 'b')`"),
        ("tools.go(5)", "go: its argument is computed: `(5)`"),
        ("tools.go({a: `x${y}`})", "go: a is computed: `y`"),
        ("tools.go({a: 10n})", "go: a is computed: `10n`"),
        ("tools.go({a: 9007199254740993})", "go: a is computed: `9007199254740993`"),
        ("tools.go({a: [1,,2]})", "go: a is computed: `[1,,2]`"),
        (r"tools.go({a: '\ud83d'})", r"go: a is computed: `'\ud83d'`, which holds half of a surrogate pair"),
        (r"tools.go({a: '\u{110000}'})", r"go: a is computed: `\u{110000}`, which is no character"),
        (r"tools.go({a: '\12'})", r"go: a is computed: `\12`, which is no character"),
        ("let a = 'x'; a = 'y'; tools.go({a})", "go: a is computed: `a`"),
        ("let a = 1; a++; tools.go({a})", "go: a is computed: `a`"),
        ("const a = {}; a.b = 1; tools.go(a)", "go: its argument is computed: `a`"),
        ("const a = []; a.push(1); tools.go({a})", "go: a is computed: `a`, which may be changed"),
        ("const a = {}; Object.assign(a, b); tools.go(a)", "go: its argument is computed: `a`, which may be changed"),
        ("tools[name]({})", "which tool it calls is computed: `name`"),
        ("for (const x of xs) tools.go({})", "go: it runs in a loop"),
        ("while (await tools.go({})) text(1)", "go: it runs in a loop"),
        ("if (x) tools.go({})", "go: it runs under a condition"),
        ("x && tools.go({})", "go: it runs under a condition"),
        ("x ? tools.go({}) : 1", "go: it runs under a condition"),
        ("try { x() } catch { tools.go({}) }", "go: it runs under a condition"),
        ("switch (x) { case 1: tools.go({}) }", "go: it runs under a condition"),
        ("xs.map(x => tools.go({x}))", "go: x is computed: `x`; it runs inside a function"),
        ("async function main() { tools.go({}) } main()", "go: it runs inside a function"),
        ("const t = tools; t.go({})", "`tools` has another name or meaning: `const t = tools;`"),
        ("const {go} = tools; go({})", "`tools` has another name or meaning: `const {go} = tools;`"),
        ("run(tools.go)", "`tools` has another name or meaning: `run(tools.go)`"),
        ("(tools) => tools.go({})", "`tools` has another name or meaning: `(tools) => tools.go({})`"),
        ("text(1)\ntools.go({", "it is no JavaScript: line 2 has a syntax error"),
    ],
)
def test_what_only_running_would_tell_says_what_is_computed(program: str, reason: str) -> None:
    assert reasons(program) == [reason]


def test_a_computed_call_is_kept_as_it_is_written_and_the_others_are_known() -> None:
    program = "const s = await tools.start({});\nawait tools.stop({id: s.id});"
    assert nested_calls(program) == (
        NestedCall("start", {}, "tools.start({})"),
        ComputedCall("tools.stop({id: s.id})", "stop: id is computed: `s.id`"),
    )


def test_a_program_without_tools_has_no_calls() -> None:
    assert nested_calls("text(ALL_TOOLS.length)") == ()


def test_no_program_can_make_a_text_without_end() -> None:
    doubling = "".join(f"const a{n} = a{n - 1} + a{n - 1};" for n in range(1, 25))
    assert reasons(f"const a0 = 'xxxxxxxx'; {doubling} tools.go({{a: a24}})") == [
        "go: a is computed: `a16 + a16`, which is very long"
    ]
    assert reasons("tools.go(" + "[" * 5000 + "]" * 5000 + ")") == [
        "go: its argument is computed: values nested too deep"
    ]


@given(st.from_regex(r"[A-Za-z_$][A-Za-z0-9_$-]{0,8}", fullmatch=True), JSON_OBJECT | TEXT)
def test_a_program_that_is_written_is_read_back(name: str, arguments: dict[str, object] | str) -> None:
    (call,) = nested_calls(write_program(name, arguments))
    assert isinstance(call, NestedCall)
    assert (call.name, call.arguments) == (name, arguments)


@given(
    st.text(max_size=60)
    | st.lists(
        st.sampled_from(["tools", ".", "go", "(", ")", "{", "}", "'", "`", "${", "=", "[", "x", ";", " "]), max_size=30
    ).map("".join)
)
def test_any_text_is_read_as_something(program: str) -> None:
    assert isinstance(nested_calls(program), tuple)
