"""Writes the tasks of examples/evaluation: 210 of one call and 48 edits of one file, the same ones every time.

    python -m bench.eval_tasks

They are our own, made from templates with a fixed seed. Tasks of one call are graded by what the call means, as the
Berkeley Function Calling Leaderboard does, edits by the whole file at the end.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from dragoman.evaluation import Expected, Function, Task

FOLDER = Path(__file__).parents[1] / "examples" / "evaluation"
EACH_CALL, EACH_EDIT = 30, 6

NOUNS = [
    "invoice",
    "order",
    "parser",
    "session",
    "ledger",
    "widget",
    "report",
    "market",
    "signal",
    "garden",
    "harbour",
    "lantern",
    "kettle",
    "orbit",
]
VERBS = ["load", "save", "merge", "split", "check", "count", "render", "update", "remove", "collect"]
CITIES = ["Rome", "Oslo", "Lima", "Cairo", "Kyoto", "Quito", "Accra", "Porto", "Delhi", "Tunis"]
FOLDERS = ["src", "lib", "docs", "data", "config", "tools"]


def python_file(chance: random.Random, functions: int = 3) -> tuple[str, list[str]]:
    """A small module, as text and as lines."""
    nouns = chance.sample(NOUNS, functions)
    lines = [f'"""Works on {nouns[0]}s."""', "", f"LIMIT = {chance.randint(10, 99)}", ""]
    for noun in nouns:
        lines += [
            "",
            f"def {chance.choice(VERBS)}_{noun}(items, limit=LIMIT):",
            f"    total = {chance.randint(0, 9)}",
            "    for item in items[:limit]:",
            f"        total += item * {chance.randint(2, 9)}",
            "    return total",
            "",
        ]
    return "\n".join(lines) + "\n", lines


def project(chance: random.Random) -> dict[str, str]:
    """Some files in some folders."""
    files = {}
    for folder in chance.sample(FOLDERS, 2):
        for noun in chance.sample(NOUNS, 2):
            files[f"{folder}/{noun}.py"] = python_file(chance, 2)[0]
    files["README.md"] = f"# {chance.choice(NOUNS).title()}\n\nSee `{next(iter(files))}`.\n"
    files["settings.toml"] = f"[server]\nport = {chance.randint(1000, 9999)}\n"
    return files


# ── tasks of one call ────────────────────────────────────────────────────────


def one_call(name: str, prompt: str, wanted: dict[str, Any], files: dict[str, str], *functions: Function) -> Task:
    expect = Expected(calls=(wanted,), only_calls=True)
    return Task(name, prompt, expect, files, functions, () if functions else None, 1)


def read_whole(chance: random.Random, name: str) -> Task:
    files = project(chance)
    path = chance.choice(sorted(files))
    prompt = chance.choice(("Show me {}.", "What is in {}?", "Read {}.", "Open the file {} and tell me what it says."))
    return one_call(name, prompt.format(path), {"type": "read_file", "path": path}, files)


def read_lines(chance: random.Random, name: str) -> Task:
    files = project(chance)
    path = chance.choice([path for path in sorted(files) if path.endswith(".py")])
    first = chance.randint(3, 12)
    last = first + chance.randint(2, 8)
    prompt = chance.choice(("Read lines {1} to {2} of {0}.", "Show only lines {1} through {2} of {0}."))
    wanted = {"type": "read_file", "path": path, "first_line": first, "last_line": last}
    return one_call(name, prompt.format(path, first, last), wanted, files)


def list_folder(chance: random.Random, name: str) -> Task:
    files = project(chance)
    folder = chance.choice(sorted({path.partition("/")[0] for path in files if "/" in path}))
    prompt = chance.choice(
        ("List the folder {}.", "Which files are directly in {}?", "List what is in the directory {}.")
    )
    whole = {"type": "list_directory", "path": folder}
    by_prefix = {"type": "list_directory", "prefix": {"one_of": [folder, f"{folder}/"]}}
    return one_call(name, prompt.format(folder), {"one_of": [whole, by_prefix]}, files)


def search(chance: random.Random, name: str) -> Task:
    files = project(chance)
    word = chance.choice(("LIMIT", "total", "items", "return total"))
    folder = chance.choice(sorted({path.partition("/")[0] for path in files if "/" in path}))
    prompt = chance.choice(('Search for the text "{0}" in the folder {1}.', 'Find every line with "{0}" below {1}.'))
    patterns = list(dict.fromkeys((word, word.replace(" ", r"\s+"), word.replace(" ", r"\ "))))
    wanted = {"type": "search_text", "pattern": {"one_of": patterns}, "path": folder}
    return one_call(name, prompt.format(word, folder), wanted, files)


def find(chance: random.Random, name: str) -> Task:
    ending = chance.choice(("py", "toml", "md"))
    prompt = chance.choice(("Find all files in this project whose names end in .{}.", "Find every .{} file here."))
    wanted = {"type": "find_files", "pattern": {"one_of": [f"**/*.{ending}", f"*.{ending}"]}, "path": "."}
    return one_call(name, prompt.format(ending), wanted, project(chance))


def write(chance: random.Random, name: str) -> Task:
    path = f"notes/{chance.choice(NOUNS)}.txt"
    content = f"{chance.choice(VERBS)} the {chance.choice(NOUNS)} in {chance.choice(CITIES)}"
    prompt = chance.choice(('Create the file {0} with this one line: "{1}"', 'Write "{1}" into a new file {0}.'))
    wanted = {"type": "write_file", "path": path, "content": {"one_of": [content, f"{content}\n"]}}
    return one_call(name, prompt.format(path, content), wanted, project(chance))


def schema(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def text(description: str, *choices: str) -> dict[str, Any]:
    return {"type": "string", "description": description, **({"enum": list(choices)} if choices else {})}


WEATHER = Function(
    "get_weather",
    "The weather of a city.",
    schema(city=text("Name of the city."), unit=text("Unit of the temperature.", "celsius", "fahrenheit")),
)
BOOK = Function(
    "book_table",
    "Book a table in a restaurant.",
    schema(
        city=text("City of the restaurant."),
        guests={"type": "integer", "description": "Number of guests."},
        time=text("Time of day, as HH:MM."),
    ),
)
CONVERT = Function(
    "convert_money",
    "Convert an amount of money.",
    schema(
        amount={"type": "number", "description": "The amount."},
        source=text("Currency it is in, three letters."),
        target=text("Currency wanted, three letters."),
    ),
)


def function(chance: random.Random, name: str) -> Task:
    city = chance.choice(CITIES)
    kind = chance.randrange(3)
    arguments: dict[str, Any]
    if kind == 0:
        unit = chance.choice(("celsius", "fahrenheit"))
        wanted, arguments, prompt = WEATHER, {"city": city, "unit": unit}, f"How is the weather in {city}, in {unit}?"
    elif kind == 1:
        guests, time = chance.randint(2, 9), f"{chance.randint(17, 21)}:{chance.choice(('00', '30'))}"
        wanted, arguments = BOOK, {"city": city, "guests": guests, "time": time}
        prompt = f"Book a table for {guests} in {city} at {time}."
    else:
        amount, (source, target) = chance.randint(5, 900), chance.sample(("EUR", "USD", "JPY", "INR"), 2)
        wanted, arguments = CONVERT, {"amount": amount, "source": source, "target": target}
        prompt = f"How much is {amount} {source} in {target}?"
    offered = chance.sample((WEATHER, BOOK, CONVERT), 3)
    call = {"type": "call_function", "name": wanted.name, "arguments": arguments}
    return one_call(name, prompt, call, {}, *offered)


# ── edits of one file ────────────────────────────────────────────────────────


def edit(name: str, prompt: str, path: str, before: str, after: str) -> Task:
    assert before != after, name
    return Task(
        name, prompt, Expected(files={path: after}, unchanged=True), {path: before, "other.txt": "left alone\n"}
    )


def module(chance: random.Random) -> tuple[str, str, list[str], list[str]]:
    """A path, the text of a module, its lines and the names of its functions."""
    content, lines = python_file(chance)
    functions = [line.removeprefix("def ").partition("(")[0] for line in lines if line.startswith("def ")]
    return f"src/{chance.choice(NOUNS)}.py", content, lines, functions


def change_constant(chance: random.Random, name: str) -> Task:
    path, content, lines, _ = module(chance)
    number = chance.randint(100, 999)
    return edit(
        name, f"In {path}, set LIMIT to {number}.", path, content, content.replace(lines[2], f"LIMIT = {number}")
    )


def rename_function(chance: random.Random, name: str) -> Task:
    path, content, _, functions = module(chance)
    old, new = chance.choice(functions), f"{chance.choice(VERBS)}_all_{chance.choice(NOUNS)}s"
    return edit(name, f"Rename the function {old} to {new} in {path}.", path, content, content.replace(old, new))


def change_default(chance: random.Random, name: str) -> Task:
    path, content, _, functions = module(chance)
    wanted, number = chance.choice(functions), chance.randint(2, 9)
    prompt = f"In {path}, change the default of the parameter limit of {wanted} to {number}. Change nothing else."
    return edit(
        name,
        prompt,
        path,
        content,
        content.replace(f"{wanted}(items, limit=LIMIT)", f"{wanted}(items, limit={number})"),
    )


def fix_operator(chance: random.Random, name: str) -> Task:
    path, content, _, functions = module(chance)
    wanted = chance.choice(functions)
    head, mark, tail = content.partition(f"def {wanted}(")
    broken = head + mark + tail.replace("total += item", "total -= item", 1)
    prompt = f"The function {wanted} in {path} subtracts each item, but must add it. Fix that line."
    return edit(name, prompt, path, broken, content)


def add_docstring(chance: random.Random, name: str) -> Task:
    path, content, _, functions = module(chance)
    wanted, noun = chance.choice(functions), chance.choice(NOUNS)
    line = f"def {wanted}(items, limit=LIMIT):\n"
    prompt = f'In {path}, give the function {wanted} the docstring """Adds up every {noun}.""" on a line of its own.'
    return edit(name, prompt, path, content, content.replace(line, f'{line}    """Adds up every {noun}."""\n'))


def delete_line(chance: random.Random, name: str) -> Task:
    path, content, lines, _ = module(chance)
    spoilt = content.replace(f"{lines[2]}\n", f'{lines[2]}\nprint("debugging")\n')
    return edit(name, f"Remove the line that prints from {path}.", path, spoilt, content)


def change_setting(chance: random.Random, name: str) -> Task:
    keys = chance.sample(NOUNS, 4)
    values = [chance.randint(1000, 9999) for _ in keys]
    before = "[server]\n" + "".join(f"{key} = {value}\n" for key, value in zip(keys, values, strict=True))
    number, wanted = chance.randint(100, 999), chance.randrange(4)
    after = before.replace(f"{keys[wanted]} = {values[wanted]}\n", f"{keys[wanted]} = {number}\n")
    return edit(name, f"Set {keys[wanted]} to {number} in settings.toml.", "settings.toml", before, after)


def change_heading(chance: random.Random, name: str) -> Task:
    nouns = chance.sample(NOUNS, 4)
    before = "".join(f"## The {noun}\n\nAll about the {noun}.\n\n" for noun in nouns[:3])
    after = before.replace(f"## The {nouns[1]}\n", f"## The {nouns[3]}\n")
    prompt = f'In guide.md, change the heading "The {nouns[1]}" to "The {nouns[3]}". Leave the text below it as it is.'
    return edit(name, prompt, "guide.md", before, after)


CALLS = (read_whole, read_lines, list_folder, search, find, write, function)
EDITS = (
    *(change_constant, rename_function, change_default, fix_operator),
    *(add_docstring, delete_line, change_setting, change_heading),
)


def made(kinds: tuple[Callable[[random.Random, str], Task], ...], each: int) -> Iterator[Task]:
    for number in range(each):  # kinds take turns, so that the first tasks are of all kinds
        for kind in kinds:
            name = f"{kind.__name__}-{number + 1}"
            yield kind(random.Random(name), name)


def files() -> dict[str, bytes]:
    """File → what it holds."""
    return {
        name: b"".join(msgspec.json.encode(task) + b"\n" for task in made(kinds, each))
        for name, kinds, each in (("one_call.jsonl", CALLS, EACH_CALL), ("edits.jsonl", EDITS, EACH_EDIT))
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, content in files().items():
        (FOLDER / name).write_bytes(content)
        print(f"{name}: {len(content.splitlines())} tasks")
