"""What is asked of a small model, and how to see that it was done: by files, by commands and by words of the answer.

`TASKS` and `EARLIER` were looked at while prompts were tuned, and `DEVELOPMENT` is for comparing settings, such as the
vocabulary. The tasks that nothing is tuned on are in `held_tasks.py`.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dragoman.engine import RunResult
from dragoman.model import CallPart, Reply


@dataclass(frozen=True)
class Task:
    """What is asked, what is there, and how to see that it was done."""

    name: str
    prompt: str
    files: Mapping[str, str] = field(default_factory=dict)
    says: str = ""
    """A regular expression the answer must contain."""
    leaves: Mapping[str, str] = field(default_factory=dict)
    """File → a regular expression its whole content must match, blank space at the ends aside."""
    steps: int = 1
    """Calls it takes when done well."""
    calls: bool = True
    """Whether a tool has to be used at all."""
    runs: str = ""
    """A regular expression that the commands that were run must contain, one command a line."""
    gone: tuple[str, ...] = ()
    """Files that must not exist any more."""
    passes: str = ""
    """A shell command that must end with 0 in the folder."""

    def done(self, folder: Path, result: RunResult, ran: Sequence[str]) -> str:
        """Empty when the task was done, otherwise what is wrong. `ran` are the command lines that were run."""
        if result.status != "completed":
            return f"ended {result.status}: {getattr(result.error, 'message', result.error)}"
        wrong = self.undone(folder, result, ran)
        if not wrong and not re.search(self.says, result.text, re.IGNORECASE):
            return f"answer: {result.text[:80]!r}"
        return wrong

    def undone(self, folder: Path, result: RunResult, ran: Sequence[str]) -> str:
        """The same, whatever the answer says and however the run ended."""
        if self.calls is not any(calls_of(result)):
            return "no tool was used" if self.calls else "a tool was used"
        if not re.search(self.runs, "\n".join(ran)):
            return f"never run: {self.runs}"
        for name, content in self.leaves.items():
            path = folder / name
            if not path.is_file():
                return f"{name} is missing"
            if not re.fullmatch(content, path.read_text().strip()):
                return f"{name}: {path.read_text()[:60]!r}"
        for name in self.gone:
            if (folder / name).exists():
                return f"{name} is still there"
        if self.passes:
            checked = subprocess.run(
                self.passes, shell=True, cwd=folder, capture_output=True, text=True, timeout=30, check=False
            )
            if checked.returncode:
                return f"{self.passes} ends with {checked.returncode}: {checked.stderr.strip()[-60:]!r}"
        return ""

    @property
    def changes(self) -> bool:
        """Whether it asks for a change of files."""
        return bool(self.leaves or self.gone)


def calls_of(result: RunResult) -> list[str]:
    return [
        f"{part.call.name}({part.call.arguments})"
        for item in result.conversation
        if isinstance(item, Reply)
        for part in item.parts
        if isinstance(part, CallPart)
    ]


_DONE = (
    "changed|updated|created|written|renamed|deleted|removed|moved|replaced|added|fixed|edited|appended|modified|saved"
)
_CHANGED = re.compile(
    rf"\b((has|have) been|was|were|is now|are now|I|I have|successfully) (successfully |now )?({_DONE}|wrote|set)\b",
    re.IGNORECASE,
)
"""Words of an answer that says something was changed."""


def claims(task: Task, result: RunResult, changed: set[str]) -> str:
    """What a run that counts as a success says was changed though it was not; empty when there is no such claim.

    A run that ends as a success in a task that asks for a change claims one, whatever its words are.
    """
    if result.status != "completed":
        return ""
    if not changed:
        claim = task.changes or _CHANGED.search(result.text)
        return f"nothing was changed: {result.text[:80]!r}" if claim else ""
    missing = [
        name
        for name in (*task.leaves, *task.gone)
        if name not in changed and re.search(rf"{re.escape(name)}\W+{_CHANGED.pattern}", result.text, re.IGNORECASE)
    ]
    return f"not changed: {', '.join(missing)}" if missing else ""


TASKS = (
    Task("greeting", "What is 2 + 2? Answer without using a tool.", says="4", calls=False),
    Task("read", "What is the secret number in notes.txt?", {"notes.txt": "The secret number is 42.\n"}, "42"),
    Task(
        "read-json",
        "Which version is written in package.json?",
        {"package.json": '{"name": "acme", "version": "3.1.4"}\n'},
        r"3\.1\.4",
    ),
    Task(
        "read-config",
        "Read config.ini and tell me the port.",
        {"config.ini": "[server]\nhost = localhost\nport = 8080\n"},
        "8080",
    ),
    Task("write", "Create a file hello.txt with the text: hello world", leaves={"hello.txt": "hello world"}),
    Task(
        "write-list",
        "Write a file fruits.txt with three lines: apple, banana, cherry.",
        leaves={"fruits.txt": "apple,?\nbanana,?\ncherry"},
    ),
    Task("write-code", "Create hello.py, a Python program that prints Hello.", leaves={"hello.py": r"(?s).*print\(.*"}),
    Task("list", "Which files are in this folder?", {"alpha.txt": "a\n", "beta.txt": "b\n"}, "alpha.*beta|beta.*alpha"),
    Task(
        "search",
        "Which file contains the word TODO?",
        {"one.py": "x = 1\n", "two.py": "# TODO: fix this\n", "three.py": "y = 2\n"},
        r"two\.py",
    ),
    Task("run", "Run the command: echo dragoman. What does it print?", says="dragoman"),
    Task(
        "run-count",
        "Run wc -l data.csv and tell me how many lines the file has.",
        {"data.csv": "a\nb\nc\nd\ne\nf\ng\n"},
        "7|seven",
        runs="wc -l",
    ),
    Task(
        "run-program",
        "Run python3 sum.py and tell me its output.",
        {"sum.py": "print(17 + 25)\n"},
        "42",
        runs=r"python3 \S*sum\.py",
    ),
    Task(
        "edit-port",
        "In config.ini change the port from 8080 to 9090.",
        {"config.ini": "host = localhost\nport = 8080\n"},
        leaves={"config.ini": "host = localhost\nport = 9090"},
    ),
    Task(
        "edit-typo",
        'In readme.md replace the word "teh" with "the".',
        {"readme.md": "This is teh readme.\n"},
        leaves={"readme.md": r"This is the readme\."},
    ),
    Task(
        "copy",
        "Read a.txt and write the same text to b.txt.",
        {"a.txt": "The quick brown fox.\n"},
        leaves={"b.txt": r"The quick brown fox\."},
        steps=2,
    ),
    Task(
        "sum",
        "Read x.txt and y.txt, which hold one number each. What is the sum of the two numbers?",
        {"x.txt": "12\n", "y.txt": "30\n"},
        "42",
        steps=2,
    ),
    Task(
        "write-and-run",
        "Create hi.py that prints Hi there, then run it with python3 and tell me what it printed.",
        says="Hi there",
        leaves={"hi.py": r"(?s).*print\(.*Hi there.*"},
        steps=2,
        runs=r"python3 \S*hi\.py",
    ),
    Task(
        "two-files",
        "Create one.txt with the text 1 and two.txt with the text 2.",
        leaves={"one.txt": "1", "two.txt": "2"},
        steps=2,
    ),
    Task(
        "extract",
        "Read settings.json and write the value of name to name.txt.",
        {"settings.json": '{"name": "Ada", "age": 36}\n'},
        leaves={"name.txt": '"?Ada"?'},
        steps=2,
    ),
    Task(
        "first-line",
        "Read todo.txt and write its first line to first.txt.",
        {"todo.txt": "buy milk\ncall mother\nsleep\n"},
        leaves={"first.txt": "buy milk"},
        steps=2,
    ),
    Task(
        "edit-and-run",
        "In greet.py change Hello to Goodbye, then run python3 greet.py and tell me what it prints.",
        {"greet.py": 'print("Hello, world")\n'},
        "Goodbye",
        {"greet.py": r'print\("Goodbye, world"\)'},
        steps=2,
        runs=r"python3 \S*greet\.py",
    ),
    Task(
        "search-and-read",
        "Find the file that defines the function area, read it and tell me which number it multiplies by.",
        {"shapes.py": "def area(r):\n    return 3.14159 * r * r\n", "main.py": "from shapes import area\n"},
        r"3\.14",
        steps=2,
    ),
    Task(
        "look-and-read",
        "There is one text file in the folder docs. Read it and tell me the password in it.",
        {"docs/guide.txt": "The password is swordfish.\n"},
        "swordfish",
        steps=2,
    ),
    Task(
        "run-fix",
        "Run python3 broken.py. It fails: change the file so that it prints 5, and run it again.",
        {"broken.py": "print(2 + three)\nthree = 3\n"},
        leaves={"broken.py": r"(?s)(?!print\(2 \+ three\)\nthree = 3)(?!.*print.*print).*print\(.*"},
        steps=4,
        runs=r"(?s)python3 \S*broken\.py.*python3 \S*broken\.py",
    ),
)


EARLIER = (
    # Held out once; later some of them were run while prompts were tuned.
    Task(
        "who",
        "Who wrote poem.txt? The file says it.",
        {"poem.txt": "The Tyger\nby William Blake\n\nTyger Tyger, burning bright\n"},
        "Blake",
    ),
    Task("note", "Write the sentence Meeting at noon. into note.md", leaves={"note.md": r"Meeting at noon\.?"}),
    Task("date", "Use the shell to print the year 1999 with echo.", says="1999", runs="echo"),
    Task(
        "rename-variable",
        "In app.py replace total with amount.",
        {"app.py": "total = 3\n"},
        leaves={"app.py": "amount = 3"},
    ),
    Task(
        "upper",
        "Read name.txt and write its text in capital letters to loud.txt.",
        {"name.txt": "ada\n"},
        leaves={"loud.txt": "ADA"},
        steps=2,
    ),
    Task(
        "compare",
        "Read old.txt and new.txt and tell me which of the two holds the larger number.",
        {"old.txt": "17\n", "new.txt": "71\n"},
        r"new(\.txt)?",
        steps=2,
    ),
    Task(
        "make-and-list",
        "Create a file report.txt with the text draft, then list the files in this folder and name them.",
        {"data.csv": "1\n"},
        r"(?s)(?=.*report\.txt)(?=.*data\.csv)",
        {"report.txt": "draft"},
        steps=2,
    ),
    Task(
        "set-and-show",
        "Change the colour in theme.ini from blue to green, then read the file again and tell me what it says.",
        {"theme.ini": "colour = blue\nsize = 10\n"},
        "green",
        {"theme.ini": "colour = green\nsize = 10"},
        steps=2,
    ),
    Task(
        "run-and-save",
        "Run the command: expr 6 + 7. Then write its output to answer.txt.",
        leaves={"answer.txt": "13"},
        steps=2,
        runs="expr",
    ),
    Task(
        "find-and-fix",
        "Find the file that contains the word FIXME, and in that file replace FIXME with DONE.",
        {"a.py": "x = 1\n", "b.py": "# FIXME\n"},
        leaves={"b.py": "# DONE"},
        steps=2,
    ),
    Task(
        "three-files",
        "Create a.txt with the text red, b.txt with the text green and c.txt with the text blue.",
        leaves={"a.txt": "red", "b.txt": "green", "c.txt": "blue"},
        steps=3,
    ),
    Task(
        "write-run-save",
        "Create add.py, a Python program that prints 2 + 3, run it with python3, and write what it printed to sum.txt.",
        leaves={"add.py": r"(?s).*print\(.*", "sum.txt": "5"},
        steps=3,
        runs=r"python3 \S*add\.py",
    ),
)


_GREETER = """\
import sys


def greeting(name):
    return "Hi, " + name


print(greeting(sys.argv[1]))
"""

DEVELOPMENT = (
    # ── one call, one file ───────────────────────────────────────────────────
    Task(
        "rename-file",
        "Rename todo.txt to done.txt.",
        {"todo.txt": "Water the plants.\n"},
        leaves={"done.txt": r"Water the plants\."},
        gone=("todo.txt",),
    ),
    Task(
        "remove-file",
        "Delete the file cache.db.",
        {"cache.db": "x\n", "main.db": "y\n"},
        leaves={"main.db": "y"},
        gone=("cache.db",),
    ),
    Task(
        "set-value",
        "Set timeout to 60 in service.yaml.",
        {"service.yaml": "name: mail\ntimeout: 30\nretries: 3\n"},
        leaves={"service.yaml": "name: mail\ntimeout: 60\nretries: 3"},
    ),
    Task(
        "add-line",
        "Add the line requests at the end of requirements.txt.",
        {"requirements.txt": "flask\nmsgspec\n"},
        leaves={"requirements.txt": "flask\nmsgspec\nrequests"},
    ),
    Task(
        "why-fails",
        "Run python3 load.py and explain why it fails.",
        {"load.py": 'print(open("prices.csv").read())\n'},
        r"FileNotFoundError|prices\.csv|No such file",
        runs=r"python3 \S*load\.py",
    ),
    Task(
        "count-word",
        "How many lines of access.log contain 404?",
        {"access.log": "GET / 200\nGET /a 404\nGET /b 404\nGET /c 200\nGET /d 404\nGET /e 500\n"},
        r"\b3\b|\bthree\b",
    ),
    # ── two or more files, or three or more calls ────────────────────────────
    Task(
        "rename-everywhere",
        "Rename the function total to amount in shop.py, and in bill.py where it is called.",
        {
            "shop.py": "def total(prices):\n    return sum(prices)\n",
            "bill.py": "from shop import total\n\nprint(total([1, 2]))\n",
        },
        leaves={
            "shop.py": r"def amount\(prices\):\n    return sum\(prices\)",
            "bill.py": r"from shop import amount\n\nprint\(amount\(\[1, 2\]\)\)",
        },
        steps=3,
        passes="python3 bill.py",
    ),
    Task(
        "change-two",
        "Change the colour from red to blue in a.css and in b.css.",
        {"a.css": "p { colour: red }\n", "b.css": "h1 { colour: red }\n"},
        leaves={"a.css": r"p \{ colour: blue \}", "b.css": r"h1 \{ colour: blue \}"},
        steps=2,
    ),
    Task(
        "fix-and-run",
        "python3 check.py fails. Find out why, fix area.py and run the check again.",
        {
            "area.py": "def area(width, height):\n    return width + height\n",
            "check.py": "from area import area\n\nassert area(3, 4) == 12\nprint('passed')\n",
        },
        leaves={"area.py": r"(?s)def area\(.*", "check.py": r"(?s)from area import area\n.*== 12.*"},
        steps=4,
        runs=r"python3 \S*check\.py",
        passes="python3 check.py",
    ),
    Task(
        "change-and-run",
        "In greeter.py change Hi to Hello, then run python3 greeter.py ada and tell me what it prints.",
        {"greeter.py": _GREETER},
        "Hello, ada",
        {"greeter.py": r"(?s).*\"Hello, \" \+ name.*"},
        steps=2,
        runs=r"python3 \S*greeter\.py ada",
    ),
    Task(
        "find-and-remove",
        "Find the file that contains the word OBSOLETE and delete it.",
        {"red.txt": "new\n", "green.txt": "OBSOLETE\n", "blue.txt": "new\n"},
        leaves={"red.txt": "new", "blue.txt": "new"},
        steps=2,
        gone=("green.txt",),
    ),
    Task(
        "write-and-test",
        "Create double.py with a function double(n), create test_double.py that asserts double(4) == 8, and run "
        "python3 test_double.py.",
        leaves={"double.py": r"(?s)def double\(.*", "test_double.py": r"(?s).*assert.*8.*"},
        steps=3,
        runs=r"python3 \S*test_double\.py",
        passes="python3 test_double.py",
    ),
)
