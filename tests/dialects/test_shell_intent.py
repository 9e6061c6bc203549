"""What command lines are seen to do, and where nothing is claimed."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from dragoman.dialects import DIALECTS
from dragoman.dialects.base.shell_intent import intents, with_intents
from dragoman.model import Call, NativeCall, operations as op


def appended(path: str, text: str) -> op.EditFile:
    return op.EditFile(path, (op.Edit(None, text, whole_lines=True),))


@pytest.mark.parametrize(
    "command, seen",
    [
        ("cat src/a.py", [op.ReadFile("src/a.py")]),
        ("cat -n 'b c' d\\ e \"f\"'g'h", [op.ReadFile("b c"), op.ReadFile("d e"), op.ReadFile("fgh")]),
        ("cat < a", [op.ReadFile("a")]),
        ("/bin/cat -- -odd", [op.ReadFile("-odd")]),
        ("bat -r 5:9 a.py", [op.ReadFile("a.py", 5, 9)]),
        ("less a.py", [op.ReadFile("a.py")]),
        ("nl -ba a.py", [op.ReadFile("a.py")]),
        ("head a", [op.ReadFile("a", 1, 10)]),
        ("head -n 5 a", [op.ReadFile("a", 1, 5)]),
        ("head -5 a b", [op.ReadFile("a", 1, 5), op.ReadFile("b", 1, 5)]),
        ("head --lines=5 a", [op.ReadFile("a", 1, 5)]),
        ("tail -n +7 a", [op.ReadFile("a", 7)]),
        ("tail -20 a", [op.ReadFile("a")]),
        ("sed -n '1,20p' a.py", [op.ReadFile("a.py", 1, 20)]),
        ("sed -n 7p a", [op.ReadFile("a", 7, 7)]),
        ("sed -n '5,9p;20,$p' a", [op.ReadFile("a", 5, 9), op.ReadFile("a", 20)]),
        ("sed -n -e 1,2p -e 5p a", [op.ReadFile("a", 1, 2), op.ReadFile("a", 5, 5)]),
        ("nl -ba a.py | sed -n '10,20p'", [op.ReadFile("a.py", 10, 20)]),
        ("cat a | sed -n '1,2p;5,6p'", [op.ReadFile("a")]),
        ("cat a | sed -n 3p b", [op.ReadFile("a")]),
        ("cat a | sed -n '/x/p'", [op.ReadFile("a")]),
        ("cat a | head -50", [op.ReadFile("a", 1, 50)]),
        ("cat a | tail -n +3 | head", [op.ReadFile("a", 3)]),
        ("cat a | grep x | sort | uniq", [op.ReadFile("a")]),
        ("cat a 2>/dev/null", [op.ReadFile("a")]),
        ("cat a 2>&1", [op.ReadFile("a")]),
    ],
)  # fmt: skip
def test_files_are_read(command: str, seen: list[op.Operation]) -> None:
    assert intents(command) == tuple(seen)


@pytest.mark.parametrize(
    "command, seen",
    [
        ("rg total", [op.SearchText("total")]),
        ("rg -n 'a b' src tests", [
            op.SearchText("a b", "src", line_numbers=True), op.SearchText("a b", "tests", line_numbers=True)
        ]),
        ("rg -il -g '*.py' x", [op.SearchText("x", include="*.py", mode="files", case_sensitive=False)]),
        ("rg x -g '*.py' -g '*.md' -g '!dist'", [op.SearchText("x", include="{*.py,*.md}", exclude="dist")]),
        ("rg -F -C2 -m 3 -t py --hidden -e 'a.b'", [
            op.SearchText("a.b", file_type="py", literal=True, before=2, after=2, limit_per_file=3)
        ]),
        ("rg -c -s -uA1 X", [
            op.SearchText("X", mode="count", case_sensitive=True, after=1, respect_ignore=False)
        ]),
        ("rg -n x | head -20", [op.SearchText("x", line_numbers=True)]),
        ("grep -rn TODO", [op.SearchText("TODO", line_numbers=True)]),
        ("grep -rE 'a|b+' src --include=*.py", [op.SearchText("a|b+", "src", "*.py")]),
        ("grep 'a\\|(b)\\{2\\}[|+]' x.txt", [op.SearchText("a|\\(b\\){2}[|+]", "x.txt")]),
        ("grep -r x . --exclude-dir=dist", [op.SearchText("x", ".", exclude="**/dist/**")]),
        ("egrep 'a|b' x", [op.SearchText("a|b", "x")]),
        ("git grep -n x -- src", [op.SearchText("x", "src", line_numbers=True)]),
        ("ag -Q x src", [op.SearchText("x", "src", literal=True)]),
    ],
)  # fmt: skip
def test_texts_are_searched(command: str, seen: list[op.Operation]) -> None:
    assert intents(command) == tuple(seen)


@pytest.mark.parametrize(
    "command, seen",
    [
        ("ls", [op.ListDirectory()]),
        ("ls -la src tests/", [op.ListDirectory("src"), op.ListDirectory("tests/")]),
        ("ls -R src", [op.FindFiles("**/*", "src")]),
        ("tree -L 2", [op.ListDirectory(depth=2)]),
        ("tree src", [op.FindFiles("**/*", "src")]),
        ("rg --files", [op.FindFiles("**/*")]),
        ("rg --files src -g '*.ts' | sort | head", [op.FindFiles("**/*.ts", "src")]),
        ("find . -name '*.py' -type f", [op.FindFiles("**/*.py")]),
        ("find src lib -iname 'a*' -print", [
            op.FindFiles("**/a*", "src", case_sensitive=False), op.FindFiles("**/a*", "lib", case_sensitive=False)
        ]),
        ("fd -e py", [op.FindFiles("**/*.py")]),
        ("fd -g '*.md' docs", [op.FindFiles("**/*.md", "docs")]),
        ("git ls-files", [op.FindFiles("**/*")]),
    ],
)  # fmt: skip
def test_folders_are_listed(command: str, seen: list[op.Operation]) -> None:
    assert intents(command) == tuple(seen)


@pytest.mark.parametrize(
    "command, seen",
    [
        ("cat > a.txt <<'EOF'\none $x\ntwo\nEOF", [op.WriteFile("a.txt", "one $x\ntwo\n")]),
        ("cat <<EOF > a.txt\none\nEOF\n", [op.WriteFile("a.txt", "one\n")]),
        ("cat > a <<'EOF'\n\n  one\n\n\ttwo\n\nEOF\nmake", [op.WriteFile("a", "\n  one\n\n\ttwo\n\n")]),
        ("cat > a <<'EOF'\nEOF", [op.WriteFile("a", "")]),
        ("cat > a <<'EOF'\n\n\nEOF", [op.WriteFile("a", "\n\n")]),
        ("  cat <<'EOF'   >  a  \n  x\nEOF", [op.WriteFile("a", "  x\n")]),
        ("cat <<'EOF' >> a.txt\none\nEOF", [appended("a.txt", "one\n")]),
        ("tee a b <<'EOF' >/dev/null\none\nEOF", [op.WriteFile("a", "one\n"), op.WriteFile("b", "one\n")]),
        ("cat <<'EOF' | tee -a a\none\nEOF", [appended("a", "one\n")]),
        ("echo hello  'big world' > a", [op.WriteFile("a", "hello big world\n")]),
        ("echo -n x > a", [op.WriteFile("a", "x")]),
        ("echo x | tee a", [op.WriteFile("a", "x\n")]),
        ("printf 'a\\tb\\n' > a", [op.WriteFile("a", "a\tb\n")]),
        ("printf '%s\\n' 'a b' > a", [op.WriteFile("a", "a b\n")]),
        (": > a", [op.WriteFile("a", "")]),
        ("> a", [op.WriteFile("a", "")]),
        ("rm -f a 'b c'", [op.DeleteFile("a"), op.DeleteFile("b c")]),
        ("git rm a", [op.DeleteFile("a")]),
        ("mv a b", [op.MoveFile("a", "b")]),
        ("mv a b/c d/", [op.MoveFile("a", "d/a"), op.MoveFile("b/c", "d/c")]),
        ("git mv a b", [op.MoveFile("a", "b")]),
        ("apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nEOF\nmake", [op.DeleteFile("a")]),
        ("apply_patch '*** Begin Patch\n*** Delete File: a\n*** End Patch'", [op.DeleteFile("a")]),
    ],
)
def test_files_are_written(command: str, seen: list[op.Operation]) -> None:
    assert intents(command) == tuple(seen)


@pytest.mark.parametrize(
    "command, seen",
    [
        ("cat a && ls; rg x & rm b", [op.ReadFile("a"), op.ListDirectory(), op.SearchText("x"), op.DeleteFile("b")]),
        ("make && cat a\nls", [op.ReadFile("a"), op.ListDirectory()]),
        ("bash -lc \"cat 'a b' | head -3\"", [op.ReadFile("a b", 1, 3)]),
        ("A=1 B='x y' cat a", [op.ReadFile("a")]),
        ("env A=1 cat a", [op.ReadFile("a")]),
        ("time sudo cat a", [op.ReadFile("a")]),
        ("timeout 5s cat a", [op.ReadFile("a")]),
        ("! grep -q x a", [op.SearchText("x", "a")]),
        ("{ cat a; ls; }", [op.ReadFile("a"), op.ListDirectory()]),
        ("cat a # not b", [op.ReadFile("a")]),
        ("cat a \\\n  b", [op.ReadFile("a"), op.ReadFile("b")]),
        ("cat <<'EOF' > a && cat b\nx\nEOF\ncat c", [op.WriteFile("a", "x\n"), op.ReadFile("b"), op.ReadFile("c")]),
    ],
)
def test_a_command_line_may_do_several_things(command: str, seen: list[op.Operation]) -> None:
    assert intents(command) == tuple(seen)


@pytest.mark.parametrize(
    "command, seen",
    [
        ("cd src && cat a.py && ls", [op.ReadFile("src/a.py"), op.ListDirectory("src")]),
        ("cd 'my src'; cd lib; rg x", [op.SearchText("x", "my src/lib")]),
        ("(cd src && ls); ls", [op.ListDirectory("src"), op.ListDirectory()]),
        ("cd /tmp && rm a", [op.DeleteFile("/tmp/a")]),
        ("cd src && bash -c 'cat a'", [op.ReadFile("src/a")]),
        # Where it went is not known, so a relative path says nothing.
        ("cd $HOME && cat a /etc/hosts", [op.ReadFile("/etc/hosts")]),
        ("cd - && ls", []),
        ("if x; then cd src; fi; cat a", []),
    ],
)
def test_paths_are_seen_from_where_the_command_line_began(command: str, seen: list[op.Operation]) -> None:
    assert intents(command) == tuple(seen)


@pytest.mark.parametrize(
    "command",
    [
        "cat $F", 'cat "$F"', "cat a $F", "cat *.py", "cat a?b", "cat {a,b}", "cat ~/x", "cat $(ls)", "cat `ls`",
        "cat <(ls)", "cat", "cat -", "cat --new-option a", "bat -x a", "head -c 5 a", "head -n -5 a",
        "sed 's/a/b/' a", "sed -n '/x/p' a", "sed -i 's/a/b/' a", "awk '{print}' a",
        "rg", "rg -w x", "rg -v x", "rg x $DIR", "rg --pre cat x", "rg -A x y", "grep x", "rg --files -g '!x'",
        "ls *.py", "ls -d x", "find . -exec rm {} ;", "find . -type d", "find . -not -name x", "fd x",
        "cat a > b", "cat a b >> c", "python x > a", "cp a b", "rm -rf build", "rm $F", "mv a $B", "touch a",
        "cat > a <<EOF\n$x\nEOF", "cat > a <<EOF\n`x`\nEOF", "cat > $F <<'EOF'\nx\nEOF", "cat <<-'EOF' > a\n\tx\nEOF",
        "cat <<'EOF' b > a\nx\nEOF", "cat <<'EOF' > 'a\nb'\nx\nEOF",
        "echo $x > a", "echo -e 'a' > b", "echo 'a\\n' > b", "printf '%d' 5 > a", "echo x > /dev/null", "echo x >&2",
        "cat a | python x.py", "cat a | xargs rm", "xargs cat", "cat a > /dev/null",
        "if true; then cat a; fi", "for f in a; do cat $f; done", "while true; do cat a; done", "f() { cat a; }",
        "x || cat b", "case x in a) cat b;; esac",
        "cat 'a", "cat a &&& b", "eval 'cat a'", "", "   ", "# cat a", "apply_patch <<'EOF'\nnonsense\nEOF",
    ],
)  # fmt: skip
def test_nothing_is_claimed_that_is_not_certain(command: str) -> None:
    assert intents(command) == ()


def test_intents_stand_beside_the_command_and_are_seen_from_its_folder() -> None:
    native = NativeCall("1", "exec_command", {"cmd": "cat a.py", "workdir": "src"})
    call = DIALECTS["codex"].read_call(native)
    assert with_intents(call) == Call(
        "1", (op.RunCommand("cat a.py", "src"),), native, intents=(op.ReadFile("src/a.py"),)
    )


def test_a_call_without_intents_stays_as_it_is() -> None:
    call = DIALECTS["codex"].read_call(NativeCall("1", "exec_command", {"cmd": "make"}))
    assert with_intents(call) is call


_PIECES = [
    "cat",
    "rg",
    "sed -n",
    "a",
    "'b c'",
    "$x",
    "|",
    "&&",
    ";",
    ">",
    "<<'E'\n",
    "E\n",
    "(",
    ")",
    "-n",
    "5",
    " ",
    "\n",
    '"',
    "cd",
]


@given(st.text(max_size=40) | st.lists(st.sampled_from(_PIECES), max_size=12).map(" ".join))
def test_any_command_line_is_looked_at_without_an_exception(command: str) -> None:
    assert isinstance(intents(command), tuple)


@given(st.text("ab \t\n'\"<>|&;$`\\#(){}é", max_size=30).filter(lambda text: "EOF" not in text))
def test_a_quoted_heredoc_is_written_as_it_stands_or_not_claimed(text: str) -> None:
    content = f"{text}\n" if text else ""
    seen = intents(f"cat > out.txt <<'EOF'\n{content}EOF\n")
    # The parser gives up on some backslashes.
    assert seen == (op.WriteFile("out.txt", content),) or (not seen and "\\" in content)


@pytest.mark.parametrize("name", ["été/Å.txt", "日本.txt", "\U00031860", "\x01", "a…b"])
def test_a_file_is_named_as_it_is_written_whatever_its_letters(name: str) -> None:
    assert intents(f"cat {name}") == (op.ReadFile(name),)
    assert intents(f"cat '{name}' 'Å …'") == (op.ReadFile(name), op.ReadFile("Å …"))


def test_a_heredoc_keeps_every_letter() -> None:
    assert intents("cat > out.txt <<'EOF'\nÅ …\n日本\nEOF\n") == (op.WriteFile("out.txt", "Å …\n日本\n"),)
