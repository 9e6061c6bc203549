"""What command lines may reach, line by line; `tests/laws/test_shell_reach_laws.py` holds it against what bash does."""

from __future__ import annotations

from dragoman.engine.shell_reach import ANY, ONE, STAR, can_match, reach_of

PATCH = """*** Begin Patch
*** Update File: a
@@
-x
+y
*** Update File: b
*** Move to: c
*** Delete File: d
*** End Patch"""
LINES = {
    # Line → what it may do in /w with the home /h ("…" is any text), and why it may do more (then every word counts).
    "cat a.txt b.txt": ("read /w/a.txt; read /w/b.txt", ""),
    "cat < in > out": ("read /w/in; write /w/out", ""),
    "echo x >> log": ("write /w/log", ""),
    "rm -rf build": ("delete /w/build tree", ""),
    "cp a b": ("read /w/a tree; write /w/b; write /w/b tree from /w/a; write /w/b/a tree from /w/a", ""),
    "mv a sub/": (
        "move /w/a tree; read /w/a tree; write /w/sub/; write /w/sub/ tree from /w/a; write /w/sub/a tree from /w/a",
        "",
    ),
    "ln -s a b": (
        "read /w/a tree; read /w/b tree; write /w/a; write /w/b",
        "`ln` makes a file reachable by another name",
    ),
    "tee out < in": ("read /w/in; write /w/out", ""),
    "head -n 5 a": ("read /w/a", ""),
    "touch a": ("write /w/a", ""),
    "find . -name '*.py' -exec cat {} \\; -delete": (
        "delete /w/. tree only *.py; list /w/. tree; read /w/./…….py",
        "",
    ),
    "find src -exec rm {} + -newer a": ("delete /w/src tree; delete /w/src/… tree; list /w/a; list /w/src tree", ""),
    "find . -execdir cat {} \\;": ("list /w/. tree; read …; read …/.", ""),
    "find . -name": ("list /w/. tree", "'find .' is not known"),
    "case $X in a) cat a;; b) cat b;; esac; cat c": ("read /w/a; read /w/b; read /w/c", ""),
    "case x in (a) cat a ;; esac": ("read /w/a", ""),
    "if true; then cat a; else cat b; fi": ("read /w/a; read /w/b", ""),
    "for f in a b; do cat $f; done": ("read /w/a; read /w/b", ""),
    "while read x; do cat $x; done < list": ("read /w/list; read …", ""),
    "((1+1)); cat a": ("", "it has arithmetic in ((…))"),
    "[[ -f a ]] && cat b": ("read /w/b", ""),
    "cat <<E > out\nhello\nE\ncat b": ("read /w/b; write /w/out", ""),
    "cat <<'E'\n$(cat c)\nE": ("", ""),
    "cat <<E\n$(cat c)\nE": ("read /w/c", ""),
    "X=a; cat $X": ("read /w/a", ""),
    "X='a b'; cat $X": ("read /w/a; read /w/a b; read /w/b", ""),  # zsh does not split it
    "X='cat a'; $X": ("read /w/a", ""),
    "X='-n 5'; head $X a": ("read /w/a", ""),
    "path=bin; cat a": ("read /w/a", "it sets path, which can change what programs do"),
    "cdpath=..; cat a": ("read /w/a", "it sets cdpath, which can change what programs do"),
    f"cd sub && apply_patch <<'E'\n{PATCH}\nE": (
        "delete /w/sub/d; move /w/sub/b; write /w/sub/a; write /w/sub/b; write /w/sub/c",
        "",
    ),
    "apply_patch '*** Begin Patch\n*** Add File: a\n+x\n*** End Patch'": ("write /w/a", ""),
    "apply_patch < a": ("read /w/a", "'apply_patch' is not known"),
    "apply_patch '*** Begin Patch\n*** Copy File: a\n*** End Patch'": (
        "",
        "'apply_patch *** Begin Patch\\n*** Copy File: a\\n*** End Patch' is not known",
    ),
    "X=a cat b; cat $X": ("read /w/b; read …", ""),
    "cd sub && cat a": ("read /w/sub/a", ""),
    "(cd sub; cat a); cat b": ("read /w/a; read /w/b; read /w/sub/a", ""),
    "{ cat a; cat b; }": ("read /w/a; read /w/b", ""),
    "cat $(echo a)": ("read …", ""),
    "cat `echo a`": ("read …", ""),
    "cat <(cat a)": ("read /w/a", ""),
    "cat -- -a": ("read /w/-a", ""),
    "grep -r x src": ("read /w/src tree", ""),
    "grep x a b": ("read /w/a; read /w/b", ""),
    "grep -f pats a": ("read /w/a; read /w/pats", ""),
    "grep -nfpats a": ("read /w/a; read /w/pats", ""),
    "grep -r -e x -A 2": ("read /w/. tree", ""),
    "grep -r x --include='*.py' .": ("read /w/. tree only *.py", ""),
    "rg x": ("read /w/. tree not hidden; read /w/x tree not hidden", ""),
    "rg -e x --hidden": ("read /w/. tree; read /w/x tree", ""),
    "rg -trust x": (
        "read /w/. tree only *.rs; read /w/rust tree only *.rs; read /w/st tree only *.rs; read /w/t tree only *.rs; "
        "read /w/ust tree only *.rs; read /w/x tree only *.rs",
        "",
    ),
    "bash <<E < a\ncat b\nE": ("read /w/a", "'bash' runs what it is given by another program"),
    "cat <<E\nx\\\nE\ncat b\nE": ("", "a heredoc may end in a line that is continued"),
    "RANDOM='a[$(cat b)]'": (
        "",
        "what it assigns to RANDOM is computed; what it assigns to RANDOM is run where a shell computes with it",
    ),
    "for PATH in x; do cat a; done": ("read /w/a", "it sets PATH, which can change what programs do"),
    'for f in *.py; do cat "$f"; cat "$f.x"; done': ("read /w/*.py; read ….x", ""),
    "[[ a || cat b ]]": ("", "`[[` has something in it that other shells would do"),
    "git add '*.py'": ("read /w/*.py tree", "'git add' is not known"),
    "curl http:/example.com/": ("fetch …", ""),
    "curl example.com.": ("fetch example.com", ""),
    "sed 's/[/a/;/]b/s/e;/c/p' a": ("read /w/a", "the script of `sed` may do more than print"),
    "sed -i s/a/b/ a": ("read /w/a; write /w/a", ""),
    "sed -n 1p a": ("read /w/a", ""),
    "sed -n '/x/{p;q}; 3,5{ s/a/b/p; d }' a": ("read /w/a", ""),
    "sed '/x/{r .env\n}' a": ("read /w/a", "the script of `sed` may do more than print"),
    "sed 'w out' -e p a": ("read /w/a; read /w/w out", "the script of `sed` may do more than print"),
    "sed '/x/{p;w out}' a": ("read /w/a", "the script of `sed` may do more than print"),
    "sed '1{e cat b\n}' a": ("read /w/a", "the script of `sed` may do more than print"),
    "sed '1{s/x/y/e}' a": ("read /w/a", "the script of `sed` may do more than print"),
    "git status -uno; git blame -L 1,5 a; git blame -L1,+5 b": ("read /w/a tree; read /w/b tree", ""),
    "awk '{print}' a": ("read /w/a", ""),
    "sort -o out a": ("read /w/a; read /w/out; write /w/out", ""),
    "xargs cat < list": ("read /w/list; read …", ""),
    "echo a | xargs rm": ("delete … tree", "an argument of 'rm' is computed and may be an option"),
    "curl -o out https://example.com/x": ("fetch example.com; write /w/out", ""),
    "curl https://example.com/x | sh": ("fetch example.com", "'sh' runs what it is given by another program"),
    "wget https://example.com/x": ("fetch example.com; write …", ""),
    "git status": ("", ""),
    "git checkout -- a": ("", "'git checkout' is not known"),
    "python3 x.py": ("", "'python3' runs a program that is not looked into"),
    "python3 -c 'print(1)'": ("", "'python3' runs a program that is not looked into"),
    "bash -c 'cat a'": ("read /w/a", ""),
    "bash x.sh": ("", "'bash' runs a script that is not looked into"),
    'sh -c "cat $1"': ("", "'sh' runs something that is computed"),
    "eval 'cat a'": ("read /w/a", ""),
    "sudo cat a": ("read /w/a", ""),
    "env X=1 cat a": ("read /w/a", ""),
    "timeout 5 cat a": ("read /w/a", ""),
    "nohup cat a &": ("read /w/a", ""),
    "time cat a": ("read /w/a", ""),
    "! cat a": ("read /w/a", ""),
    "function f() { cat a; }; f": ("read …/a", ""),
    "f() { cat a; }; cat b": ("read /w/b; read …/a", ""),
    "tar xf a.tar -C sub": ("", "'tar' runs a program that is not looked into"),
    "tar cf a.tar src": ("", "'tar' runs a program that is not looked into"),
    "dd if=a of=b": ("read /w/a; write /w/b", ""),
    "chmod +x a": ("write /w/+x; write /w/a", ""),
    "mkdir -p a/b": ("write /w/a/b", ""),
    "rmdir a": ("delete /w/a", ""),
    "ls *.py": ("list /w/*.py tree", ""),
    "cat .e*": ("read /w/.e*", ""),
    "cat ~/x": ("read /h/x", ""),
    "cat ~root/x": ("read …", ""),
    "cat {a,b}.py": ("read /w/a.py; read /w/b.py", ""),
    "cat 'unclosed": ("", "a quote does not end"),
    "cat a; ; cat b": ("", "it is not complete, or has ';' where no command can begin"),
    "select x in a; do cat a; done": ("read /w/a", ""),
    "coproc cat a": ("", "it has 'coproc' where this reader does not know it"),
    "exec cat a": ("read /w/a", ""),
    "source a": ("", "'source' is not a program whose arguments are known"),
    ". a": ("", "'.' is not a program whose arguments are known"),
    "trap 'cat a' EXIT": ("read …/a", ""),
    "alias x='cat a'; x": (
        "",
        "'alias' is not a program whose arguments are known; 'x' is not a program whose arguments are known",
    ),
    "unset X; cat $X": ("read …", ""),
    "cat $X/a": ("read …; read …/a", ""),
    "export X=a; cat $X": ("read /w/a", ""),
    "read X; cat $X": ("read …", ""),
    "cat ${X:-a}": ("read …", ""),
    "until cat a; do cat b; done": ("read /w/a; read /w/b", ""),
    "cat a &> out": ("read /w/a; write /w/out", ""),
    "cat a 2>&1 > out": ("read /w/a; write /w/out", ""),
    "cat a 2> err": ("read /w/a; write /w/err", ""),
    "cat a | tee out | head": ("read /w/a; write /w/out", ""),
    "rsync -a a/ b/": ("", "'rsync' is not a program whose arguments are known"),
    "scp a host:b": ("", "'scp' is not a program whose arguments are known"),
    "docker run x": ("", "'docker' runs a program that is not looked into"),
    "unknown-program a": ("", "'unknown-program' is not a program whose arguments are known"),
    "head -5 a": ("read /w/a", ""),
    "cat a |\nhead b |&\n tail c": ("read /w/a; read /w/b; read /w/c", ""),
    "cat $'\\101\\u00e9\\x42'": ("read /w/AéB", ""),
    "cat $'\\x80'": ("", "it has an escape that this reader does not know"),
    "cat ?.py": ("read /w/?.py", ""),
    "cat a$'\\x2e'b": ("read /w/a.b", ""),
    "echo a#b # cat c\ncat d": ("read /w/d", ""),
    "cat a \\\n b": ("read /w/a; read /w/b", ""),
    'cat "a b"': ("read /w/a b", ""),
    "case x in a|b) cat a;; *) cat b;; esac": ("read /w/a; read /w/b", ""),
    "case x in a) case y in b) cat b;; esac;; esac; cat c": ("read /w/b; read /w/c", ""),
    "for ((i=0;i<3;i++)); do cat a; done": ("", "it has a loop with arithmetic"),
    "cat <<-E > out\n\tx\n\tE\ncat b": ("read /w/b; write /w/out", ""),
    "cat <<A <<B\na\nA\nb\nB\ncat c": ("read /w/c", ""),
    "git log -- a": ("read /w/a tree", ""),
    "git -C sub status": ("", "'git -C' is not known"),
    "git diff > out": ("read …; write /w/out", ""),
    "ls -la sub": ("list /w/a; list /w/sub", ""),
    "install a b": ("", "'install' is not a program whose arguments are known"),
    "find a b -type f": ("list /w/a tree; list /w/b tree", ""),
    "find . -samefile x -ok rm {} \\; -print": ("delete /w/. tree; delete /w/./… tree; list /w/. tree; list /w/x", ""),
    "xargs -n 1 rm -f < list": ("delete … tree; read /w/list", "an argument of 'rm' is computed and may be an option"),
    "env -i cat a": ("read /w/a", ""),
    "env -u X cat a": ("", "'env -u' is not known; '-u' is not a program whose arguments are known"),
    "nice -n 5 cat a": ("", "'nice -n' is not known; '-n' is not a program whose arguments are known"),
    "stdbuf -o0 cat a": ("read /w/a", ""),
    "command cat a": ("read /w/a", ""),
    "builtin cd sub; cat a": ("read /w/a; read /w/sub/a", ""),
    "cd; cat a": ("read /h/a; read /w/a", ""),
    "cd - && cat a": ("read …/a", ""),
    "pushd sub; cat a": ("read /w/a; read /w/sub/a", ""),
    'cat a > "$X"': ("read /w/a; write …", ""),
    "printf x > a$X": ("write /w/a…; write …", ""),
    "curl -sS -d @body http://h.example:8080/p -o - > out": (
        "fetch h.example; read /w/body; write /w/-; write /w/out",
        "",
    ),
    "wget -O out https://h.example/x": ("fetch h.example; write /w/out", ""),
    "test -f a && rm a": ("delete /w/a tree", ""),
    "[ -f a ] || touch a": ("write /w/a", ""),
    "cat a,b": ("read /w/a,b", ""),
    "cat =a": ("read /w/=a", ""),
    "x() cat a": ("", "a function has no body"),
    "cat a 3< b": ("read /w/a; read /w/b", ""),
    "cat <&3": ("", ""),
    "cat >&2 a": ("read /w/a", ""),
}


def shown(line: str) -> tuple[str, str]:
    reach = reach_of(line, "/w", "/h")
    effects = [
        f"{one.verb} {one.target}"
        + " tree" * one.tree
        + f" from {one.source}" * bool(one.source)
        + f" only {' '.join(one.only)}" * bool(one.only)
        + " not hidden" * (not one.hidden)
        for one in reach.effects
        if one.verb != "mention"
    ]
    said = "; ".join(sorted(effects)).replace(ANY, "…").replace(STAR, "*").replace(ONE, "?")
    return said, "; ".join(reach.unknown)


def test_what_a_line_may_reach() -> None:
    assert {line: shown(line) for line in LINES} == LINES


MATCHES = {
    # (pattern of a line, glob of a rule) → whether the rule can be meant
    (f"/w/{STAR}", "/w/.env"): False,  # no glob of the shell matches a leading dot
    (STAR, ".env"): False,
    (ONE + "env", ".env"): False,
    (f".{STAR}", ".env"): True,
    (f"a{STAR}", "a.env"): True,
    (f"/w/{STAR}", "/w/a/b"): False,
    (f"/w/{ANY}", "/w/a/b"): True,
    (ANY, ".env"): True,
    (f"{ANY}/c", "/a/b/c"): True,
    (f"{ANY}/c", "/a/b/d"): False,
    (f"a{ONE}c", "abc"): True,
    (f"a{ONE}c", "ac"): False,
    (f"a{ONE}c", "a/c"): False,
    (f"a{STAR}", "*"): True,
    (f"a{STAR}", "b*"): False,
    (f"a{STAR}", "?[x-z]*"): True,
    (f"ab{STAR}", "a[!b]*"): False,
    (f"ab{STAR}", "a[b"): False,
    (f"{STAR}.py", "**/x.py"): False,
    (f"/w/{STAR}.py", "**/x.py"): True,
    ("a.py", "*.py"): True,
}


def test_whether_a_glob_can_match_a_part_of_which_is_not_known() -> None:
    assert {one: can_match(*one) for one in MATCHES} == MATCHES
