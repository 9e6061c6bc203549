"""The upper bound of a command line, held against what bash does: nothing runs that the bound does not have."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from glob import escape
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from dragoman.engine.shell_reach import Reach, can_match, is_certain, reach_of

PROGRAMS = ("cat", "touch", "rm", "ls", "cp", "head", "tee")
RECORDER = """#!/bin/sh
printf '%s\\0' "$PWD" "${0##*/}" "$@" >> "$RECORD/$$"
"""

words = st.sampled_from(
    r"""a b.py .env sub/c *.py .e* sub/* '.e''nv' "a" $X ${Y} "$X" $X.py "$X"/c {a,b.py} su{b/c,b/.env} {a,{b.py,.env}}
    ~/h "~"/a $(echo\ a) `echo\ .env` \.env $'\x2eenv' ../a sub/../a [ab].py ? .[e]nv $Z a$Z" "b ${X:-a} ${Z:=.env}
    link/c link/../a {a..c} a{b "a b" $# -- $1 .["e"]nv .e[$X]v .e[n]["v"] $PWD/a $PWD/../a $_ $REPLY""".replace(
        "\\ ", "\0"
    ).split()
).map(lambda word: word.replace("\0", " "))


def _filled(template: str) -> st.SearchStrategy[str]:
    pieces = template.split("W")
    return st.lists(words, min_size=len(pieces) - 1, max_size=len(pieces) - 1).map(
        lambda chosen: "".join(a + b for a, b in zip(pieces, [*chosen, ""], strict=True))
    )


simple = st.sampled_from(
    (
        *("cat W", "cat W W", "touch W", "rm -f W", "ls W", "ls", "cp W W", "head -n 1 W", "echo W > W", "echo x >> W"),
        *(
            "cat < W",
            "X=W",
            "Y=W",
            "X=$X$Y",
            'Y="$X W"',
            "cd sub",
            "cd ..",
            "cd W",
            "cd link",
            "X=W cat W",
            "read X < a",
        ),
        *(
            "bash -c 'cat a; cat $X'",
            'sh -c "cat $X"',
            "echo W | xargs cat",
            "eval cat W",
            "eval 'cat $X'",
            "export X=W",
        ),
        *(r"find sub -name c -exec cat {} \;", "f() { cat $1; X=sub/c; }", "f W", "env A=1 cat W", "command cat W"),
        *(
            "timeout 5 cat W",
            "[ -f W ]",
            "[[ -n W ]]",
            "set -- W",
            'cat "$@"',
            "echo W | tee W",
            "cat W 2>&1 > W",
            "$X W",
        ),
        *("cat <(cat W)", "cat <<< W", "unset X", "printf '%s' W > W", "X=cat; $X W", "ca''t W", "\\cat W", "true"),
    )
).flatmap(_filled)


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    shapes = st.sampled_from(
        (
            *("{}; {}", "{} && {}", "{} || {}", "{} | {}", "{}\n{}", "( {}; {} )", "{{ {}; {}; }}", "! {}; {}"),
            *(
                "if {}; then {}; fi",
                "for X in a W .env; do {}; {}; done",
                "case W in a) {};; *) {};; esac",
                "{} & wait; {}",
                "X=W & {}; {}",
                "cat() {{ :; }} | {}; {}",
                "if {}; then cat() {{ :; }}; fi; {}",
            ),
            *(
                "cat <<E\n$X $(cat W)\nE\n{}; {}",
                "while {}; do {}; break; done",
                "g() {{ {}; }}; {}; g W",
                "x=$({}); {}",
            ),
        )
    )
    return st.tuples(shapes, inner, inner).flatmap(lambda made: _filled(made[0].format(made[1], made[2])))


lines = st.recursive(simple, _nested, max_leaves=5)


def _scratch() -> tuple[Path, Path]:
    top = Path(tempfile.mkdtemp(prefix="reach-")).resolve()
    folder = top.joinpath(*"123456789", "p")
    (folder / "sub").mkdir(parents=True)
    (top / "bin").mkdir()
    for name in (".env", "a", "b.py", "sub/c", "sub/.env"):
        (folder / name).write_text("sub/c\n")
    (folder / "link").symlink_to("sub")
    for name in PROGRAMS:
        program = top / "bin" / name
        program.write_text(RECORDER)
        program.chmod(0o755)
    return top, folder


def _files(top: Path) -> set[str]:
    return {str(path) for path in top.rglob("*") if path.is_file()}


def _covered(path: str, reach: Reach, verbs: tuple[str, ...]) -> bool:
    normal = os.path.normpath(path)
    for verb, target, tree, *_ in reach.effects:
        if verb not in verbs:
            continue
        if is_certain(target):
            real = {os.path.normpath(target), os.path.realpath(target)}
            if normal in real or os.path.realpath(path) in real:
                return True
        if any(
            can_match(one, escape(name))
            for one in (target, f"{target}/\uf8f0"[: None if tree else len(target)])
            for name in (path, normal)
        ):
            return True
    return False


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(lines)
@example("X=.e; Y=nv; cat $X$Y")
@example("cd sub && cd .. && cat c; cat link/../a")
@example("cd nosuch; cat a; cd sub; cat c")
@example("Y=a; for X in 1 2; do cat $Y; Y=b.py; done")
@example("Y=a; if false; then Y=.env; fi; cat $Y; Y=b.py; g() { Y=sub/c; }; g; cat $Y")
@example("Y='a .env'; cat $Y; cat \"$Y\"")
@example("f() { cd sub; X=a; }; f; cat $X")
@example("cat <<E\nx\\\nE\ncat .env\nE\n")
@example("cat <<EOF\nEO\\\nF\ncat .env\nEOF\n")
@example("bash <<E < a\ncat b.py\nE\n")
@example("RANDOM='x[$(cat .env >&2)]'; for OPTIND in 'x[$(touch a)]'; do :; done")
@example('for X in sub/*; do cat "$X"; cat "$X/../../a"; done')
@example('for X in su?; do cat "$X/c"; Y="$X"; cat "$Y/.env"; done')
@example("x='cat .env'; $x; eval $x; bash -c \"$x\"")
@example("cat a | while read Y; do cat $Y; done")
@example('X=n; cat .e["n"]v; cat .e[$X]v; X="[n"; cat .e$X]v')
@example("X=a; X=.env & cat $X; cd sub & cat c; cd sub; cat $PWD/c; _=a; : .env; cat $_; local X=b.py; cat $X")
@example("false && cat() { :; }; cat .env; touch() { :; }; echo b | xargs touch; touch b; mkdir -p y; cp -r y z")
@pytest.mark.slow
def test_nothing_runs_in_bash_that_the_bound_of_its_line_does_not_have(line: str) -> None:
    top, folder = _scratch()
    try:
        home, record = top / "home", top / "record"
        environment = {"PATH": f"{top / 'bin'}:/usr/bin:/bin", "HOME": str(home), "RECORD": str(record)}
        record.mkdir()
        before = _files(top)
        subprocess.run(
            ["bash", "-c", line], cwd=folder, env=environment, timeout=20, stdin=subprocess.DEVNULL, capture_output=True
        )
        reach = reach_of(line, str(folder), str(home))
        if reach.unknown:
            return
        for path in _files(top) - before:
            if path.startswith(f"{record}/"):
                continue
            assert _covered(path, reach, ("write",)), f"{path} was written by {line!r}: {reach}"
        for call in record.iterdir():
            place, program, *arguments = call.read_text().split("\0")[:-1]
            for name in arguments:
                if name.startswith("-") or not name or (program == "head" and name == "1"):
                    continue
                path = name if name.startswith("/") else f"{place}/{name}"
                if not path.startswith("/dev/"):
                    verbs = {"touch": ("write",), "rm": ("delete",), "tee": ("write",), "ls": ("list",)}.get(
                        program, ("read", "write")
                    )
                    assert _covered(path, reach, verbs), f"{program} {name!r} in {place} by {line!r}: {reach}"
    finally:
        shutil.rmtree(top)


def test_a_line_of_known_programs_is_known() -> None:
    ordinary = (
        *(
            "ls -la src",
            "cat README.md | head -20",
            "git status && git log --oneline -5",
            "mkdir -p build/x",
            "grep -rn x src",
        ),
        *(
            "cd src && ls",
            "sed -n 1,20p a.py",
            "echo done > out.txt",
            "for f in *.py; do wc -l $f; done",
            "rm build/a.o",
        ),
        *("find . -name '*.py' | sort | uniq -c", "sed -i 's/a/b/' x.py", "curl -s https://example.com/a -o a.json"),
    )
    assert {line: reach_of(line, "/p").unknown for line in ordinary} == dict.fromkeys(ordinary, ())


def test_a_line_that_may_do_anything_is_not_known() -> None:
    hidden = (
        *(
            "python x.py",
            "python -c 'x'",
            "sh x.sh",
            "./x",
            "echo x | sh",
            "eval $X",
            "$X",
            "source a",
            ". ./a",
            "npm test",
        ),
        *(
            "PATH=.:$PATH ls",
            "LD_PRELOAD=x ls",
            "IFS=x; cat a",
            "sed 'w f' a",
            "sed '1e rm x' a",
            "awk 'BEGIN{system(1)}'",
        ),
        *(
            "find . -fprint x",
            "xargs $X",
            "git diff --output=x",
            "git -c a=b status",
            "tar xf a",
            "ssh h ls",
            "ln -s / x",
            "alias ls=rm",
        ),
        *(
            "sort --compress-program=x a",
            "rg --pre x y",
            'bash -c "$X"',
            "echo $((x))",
            "coproc ls",
            "a=(1 2)",
            "env -S 'x'",
        ),
        *(
            "enable -f x y",
            "shopt -s dotglob",
            "cat ${X@P}",
            "cat 'x",
            "echo \ue000 \uf8f0",
            "curl -K c",
            "function",
            "if x; fi",
        ),
        *(
            "/tmp/cat a",
            "/opt/ls",
            "printf -v X a",
            "declare -n X=Y",
            "(( x ))",
            "[[ x -eq y ]]",
            "wget -i list",
            "busybox rm x",
        ),
    )
    assert [line for line in hidden if not reach_of(line, "/p").unknown] == []
