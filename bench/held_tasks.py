"""24 tasks that nothing is tuned on: they were written before the code that leads a small model was last changed.

Half are done with one call on one file. The other half take two or more files, or three or more calls.
"""

from __future__ import annotations

from .small_tasks import Task

_UNITTEST = """\
import unittest


class Sums(unittest.TestCase):
    def test_one(self):
        self.assertEqual(1 + 1, 2)

    def test_two(self):
        self.assertEqual(2 + 2, 5)

    def test_three(self):
        self.assertEqual(3 + 3, 6)
"""

_CLI = """\
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("name")
arguments = parser.parse_args()
print("Hello, " + arguments.name)
"""

_LOG = """\
09:00 INFO started
09:01 ERROR disk full
09:02 INFO retry
09:03 ERROR disk full
09:04 WARNING slow
09:05 ERROR timeout
09:06 INFO stopped
09:07 ERROR restart failed
"""

_TEST_CALC = "from calc import add\n\nassert add(2, 3) == 5\nprint('passed')\n"

HELD = (
    # ── one call, one file ───────────────────────────────────────────────────
    Task(
        "explain",
        "Run python3 report.py and explain why it fails.",
        {"report.py": 'import json\n\ndata = json.loads("{}")\nprint(data["total"])\n'},
        "KeyError|total",
        runs=r"python3 \S*report\.py",
    ),
    Task("count", "How many lines of server.log contain ERROR?", {"server.log": _LOG}, r"\b4\b|\bfour\b"),
    Task(
        "rename",
        "Rename draft.txt to final.txt.",
        {"draft.txt": "The last word.\n"},
        leaves={"final.txt": r"The last word\."},
        gone=("draft.txt",),
    ),
    Task("delete", "Delete old.log.", {"old.log": "1\n", "new.log": "2\n"}, leaves={"new.log": "2"}, gone=("old.log",)),
    Task(
        "move",
        "Move notes.txt into the folder archive.",
        {"notes.txt": "Buy bread.\n", "archive/2024.txt": "Old.\n"},
        leaves={"archive/notes.txt": r"Buy bread\.", "archive/2024.txt": r"Old\."},
        gone=("notes.txt",),
    ),
    Task(
        "set-option",
        "Set debug to false in settings.toml.",
        {"settings.toml": 'title = "shop"\ndebug = true\nworkers = 4\n'},
        leaves={"settings.toml": 'title = "shop"\ndebug = false\nworkers = 4'},
    ),
    Task(
        "append",
        "Add the line *.pyc at the end of .gitignore.",
        {".gitignore": "build/\ndist/\n"},
        leaves={".gitignore": r"build/\ndist/\n\*\.pyc"},
    ),
    Task(
        "bump",
        "Change the version in pyproject.toml from 1.2.0 to 1.3.0.",
        {"pyproject.toml": '[project]\nname = "shop"\nversion = "1.2.0"\n'},
        leaves={"pyproject.toml": r'\[project\]\nname = "shop"\nversion = "1\.3\.0"'},
    ),
    Task(
        "where-defined",
        "In which file is the function parse_date defined?",
        {"dates.py": "def parse_date(text):\n    return text.split('-')\n", "app.py": "x = 1\n", "cli.py": "y = 2\n"},
        r"dates\.py",
    ),
    Task(
        "test-result",
        "Run python3 -m unittest and tell me how many tests fail.",
        {"test_sums.py": _UNITTEST},
        r"\b1\b|\bone\b",
        runs="unittest",
    ),
    Task("make-empty", "Create an empty file logs/.keep.", leaves={"logs/.keep": ""}),
    Task(
        "which-version",
        "Which Python version does the Dockerfile use?",
        {"Dockerfile": 'FROM python:3.12-slim\nCOPY . /app\nCMD ["python", "/app/main.py"]\n'},
        r"3\.12",
    ),
    # ── two or more files, or three or more calls ────────────────────────────
    Task(
        "rename-function",
        "Rename the function load to load_config in config.py, and in main.py where it is called.",
        {
            "config.py": "def load(path):\n    return open(path).read()\n",
            "main.py": "from config import load\n\nprint(load('app.ini'))\n",
            "app.ini": "colour = blue\n",
        },
        leaves={
            "config.py": r"def load_config\(path\):\n    return open\(path\)\.read\(\)",
            "main.py": r"from config import load_config\n\nprint\(load_config\('app\.ini'\)\)",
        },
        steps=3,
        passes="python3 main.py",
    ),
    Task(
        "add-flag",
        "Read cli.py. Add a flag --shout that prints the greeting in capitals, then run python3 cli.py ada --shout.",
        {"cli.py": _CLI},
        leaves={"cli.py": r"(?s).*--shout.*"},
        steps=3,
        runs=r"python3 \S*cli\.py ada --shout",
        passes="python3 cli.py ada --shout | grep -q 'HELLO, ADA' && python3 cli.py ada | grep -q 'Hello, ada'",
    ),
    Task(
        "fix-test",
        "python3 test_calc.py fails. Find out why, fix calc.py and run the test again.",
        {"calc.py": "def add(a, b):\n    return a - b\n", "test_calc.py": _TEST_CALC},
        leaves={"calc.py": r"(?s)def add\(.*", "test_calc.py": r"(?s)from calc import add\n.*== 5.*"},
        steps=4,
        runs=r"python3 \S*test_calc\.py",
        passes="python3 test_calc.py",
    ),
    Task(
        "find-cause",
        "Run python3 main.py. It fails: tell me in which file the error is and what is wrong there.",
        {
            "main.py": "from helper import share\n\nprint(share(12, 0))\n",
            "helper.py": "def share(cake, people):\n    return cake / people\n",
        },
        r"(?s)(?=.*(helper\.py|main\.py|share))(?=.*(zero|by 0|== 0))",
        steps=2,
        runs=r"python3 \S*main\.py",
    ),
    Task(
        "move-module",
        "Move util.py into the folder lib, and change the import in app.py so that python3 app.py still runs.",
        {"util.py": "def twice(n):\n    return 2 * n\n", "app.py": "from util import twice\n\nprint(twice(4))\n"},
        leaves={"lib/util.py": r"(?s)def twice.*", "app.py": r"(?s).*lib.*twice\(4\).*"},
        steps=3,
        gone=("util.py",),
        passes="python3 app.py",
    ),
    Task(
        "delete-several",
        "Delete every file whose name ends in .tmp, and tell me which files are left.",
        {"a.tmp": "1\n", "b.tmp": "2\n", "keep.txt": "3\n"},
        r"keep\.txt",
        {"keep.txt": "3"},
        steps=2,
        gone=("a.tmp", "b.tmp"),
    ),
    Task(
        "count-several",
        "How many lines do a.csv and b.csv have together?",
        {"a.csv": "x\ny\nz\n", "b.csv": "p\nq\nr\ns\nt\n"},
        r"\b8\b|\beight\b",
        steps=2,
    ),
    Task(
        "config-several",
        "Change the port from 8000 to 8080 in server.ini and in client.ini.",
        {"server.ini": "host = 0.0.0.0\nport = 8000\n", "client.ini": "url = localhost\nport = 8000\n"},
        leaves={"server.ini": r"host = 0\.0\.0\.0\nport = 8080", "client.ini": "url = localhost\nport = 8080"},
        steps=2,
    ),
    Task(
        "join",
        "Write the text of first.txt, followed by the text of second.txt, to both.txt.",
        {"first.txt": "Roses are red.\n", "second.txt": "Violets are blue.\n"},
        leaves={"both.txt": r"Roses are red\.\s+Violets are blue\."},
        steps=3,
    ),
    Task(
        "module-and-test",
        "Create square.py with a function square(n), create test_square.py that asserts square(3) == 9, and run "
        "python3 test_square.py.",
        leaves={"square.py": r"(?s)def square\(.*", "test_square.py": r"(?s).*assert.*9.*"},
        steps=3,
        runs=r"python3 \S*test_square\.py",
        passes="python3 test_square.py",
    ),
    Task(
        "find-and-delete",
        "Find the file that contains the word DEPRECATED and delete it.",
        {"one.py": "x = 1\n", "two.py": "# DEPRECATED\n", "three.py": "z = 3\n"},
        leaves={"one.py": "x = 1", "three.py": "z = 3"},
        steps=2,
        gone=("two.py",),
    ),
    Task(
        "changelog",
        "Read the version in package.json, and add it as a heading (two # signs and the version) at the top of "
        "CHANGELOG.md. Keep what CHANGELOG.md has.",
        {
            "package.json": '{"name": "shop", "version": "2.4.0"}\n',
            "CHANGELOG.md": "## 2.3.0\n\n- The basket can be emptied.\n",
        },
        leaves={"CHANGELOG.md": r"## 2\.4\.0\s+## 2\.3\.0\s+- The basket can be emptied\."},
        steps=3,
    ),
)
