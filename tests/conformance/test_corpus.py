"""A corpus of real sessions, in object storage too: the figures of the logs themselves, whoever is killed meanwhile."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from dragoman.errors import LogError, StorageError
from dragoman.logs import Index, Query
from dragoman.logs.corpus import CorpusQuery, built, built_on_dask, place_of, planned
from tests.conformance.conftest import SHARED
from tests.conformance.object_storage import Puts, Stored, stored
from tests.logs.samples import CLAUDE, SAMPLES
from tests.logs.test_corpus import HERE, SMALL, asked, build, figures, is_alike, local_query, written

TRACES = SHARED / "traces"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return written(tmp_path / "logs", "claude_code", "codex", "gemini_cli")


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """Real sessions of clients that keep each in a file."""
    folder = tmp_path / "real"
    for client in ("claude-code", "codex", "gemini-cli"):
        for path in sorted((TRACES / client).rglob("*.json*")):
            to = folder / path.relative_to(TRACES)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to)
    return folder


def test_every_figure_of_a_corpus_is_that_of_the_logs_it_was_built_from(tmp_path: Path) -> None:
    home = written(tmp_path / "logs", *SAMPLES)
    counts = build(tmp_path / "corpus", home, part_bytes=100_000)
    assert counts.parts > 1
    assert (counts.failed, counts.unchanged) == (0, 0)
    with closing(asked(tmp_path / "corpus")) as corpus, closing(local_query(home, tmp_path)) as local:
        for (by, ours), (_, theirs) in zip(figures(corpus), figures(local), strict=True):
            assert is_alike(ours, theirs), by
        for table in ("turns", "calls", "operations", "outcomes", "usage"):
            ours, theirs = corpus.table(table), local.table(table)
            place = ours.columns.index("file")
            assert ours.columns == theirs.columns
            told = [
                [tuple(cell for at, cell in enumerate(row) if at != place) for row in one.rows]
                for one in (ours, theirs)
            ]
            assert told[0] == told[1]
        rows = [
            corpus.sql("SELECT DISTINCT machine FROM sessions").rows,
            local.sql("SELECT DISTINCT machine FROM sessions").rows,
        ]
        assert rows == [[("here",)], [(None,)]]


def test_a_builder_that_began_in_the_middle_makes_no_log_count_twice(home: Path, tmp_path: Path) -> None:
    to, source = place_of(str(tmp_path / "corpus")), place_of(str(home))
    early = planned(to, [source], labels=HERE, part_bytes=SMALL)
    built(msgspec.structs.replace(early, parts=early.parts[:1]))
    built(planned(to, [source], labels=HERE, part_bytes=1 << 30))
    built(msgspec.structs.replace(early, parts=early.parts[1:]))  # those logs are in two parts now
    build(tmp_path / "alone", home)
    with closing(asked(tmp_path / "corpus")) as one, closing(asked(tmp_path / "alone")) as other:
        assert is_alike(list(figures(one)), list(figures(other)))


def test_the_shards_of_a_build_are_all_of_it_and_no_log_is_in_two(home: Path, tmp_path: Path) -> None:
    whole = build(tmp_path / "whole", home)
    shards = [build(tmp_path / "corpus", home, shard=(one, 3)) for one in (1, 2, 3)]
    assert sum(one.inputs for one in shards) == whole.inputs
    assert sum(one.read for one in shards) == whole.read
    assert build(tmp_path / "corpus", home).unchanged == whole.inputs


def test_names_of_any_kind_are_read_and_a_corpus_inside_its_source_is_left_out(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path / "logs")
    names = [b"new\nline", b"\xff\xfe", b"..hidden", b"quote'\"", b"s" * 200, "é".encode(), b" "]
    for name in names:
        os.makedirs(folder + b"/" + name)
        Path(os.fsdecode(folder + b"/" + name + b"/s-1.jsonl")).write_bytes(
            CLAUDE.replace(b'"s-1"', b'"%s"' % name.hex().encode())
        )
    to = tmp_path / "logs" / "corpus"
    assert build(to, tmp_path / "logs").read == len(names)
    again = build(to, tmp_path / "logs")
    assert (again.inputs, again.unchanged) == (len(names), len(names))
    with closing(asked(to)) as query:
        assert {row.session for row in query.sessions()} == {name.hex() for name in names}


# ── object storage ───────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def bucket() -> Iterator[Stored]:
    with stored() as made:
        yield made


def uploaded(bucket: Puts, folder: Path, prefix: str) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            bucket.put(f"{prefix}/{path.relative_to(folder)}", path.read_bytes())


@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_a_corpus_in_object_storage_has_the_figures_of_the_logs(
    bucket: Stored, real: Path, tmp_path: Path, scheme: str
) -> None:
    uploaded(bucket, real, "logs")
    source, to = place_of(f"{scheme}://company/logs"), place_of(f"{scheme}://company/corpus-{scheme}")
    counts = built(planned(to, [source], part_bytes=1 << 20))
    assert counts.parts > 1
    assert counts.failed == 0
    build(tmp_path / "local", real)
    with (
        closing(CorpusQuery(to, tmp_path / "cache")) as remote,
        closing(asked(tmp_path / "local")) as local,
    ):
        remote.refresh()
        assert is_alike(list(figures(remote)), list(figures(local)))
        assert remote.sql("SELECT count(*) FROM calls").rows[0][0] > 100
    again = built(planned(to, [source], part_bytes=1 << 20))
    assert (again.parts, again.unchanged) == (0, counts.inputs)


@pytest.mark.parametrize(
    "client", ["openhands", "mistral-vibe", "kilo", "cline@2.14.0", "cline@3.0.64", "droid", "goose", "opencode@1.1.11"]
)
def test_sessions_kept_in_many_files_are_read_from_object_storage_as_from_their_folder(
    bucket: Stored, tmp_path: Path, client: str
) -> None:
    """Every table is that of the folder, agents and who spawned them too; nothing is read twice or on its own."""
    (folder,) = (found for one in ("traces", "traces-2") if (found := SHARED / one / client).is_dir())
    uploaded(bucket, folder, f"many/{client}")
    to, source = place_of(str(tmp_path / "corpus")), place_of(f"s3://company/many/{client}")
    counts = built(planned(to, [source]))
    assert counts.failures == []
    build(tmp_path / "local", folder)
    with closing(asked(tmp_path / "corpus")) as remote, closing(asked(tmp_path / "local")) as local:
        assert is_alike(list(figures(remote)), list(figures(local)))
        for table in ("sessions", "turns", "calls", "outcomes", "usage"):
            ours, theirs = (sorted(map(str, cells(one, table))) for one in (remote, local))
            assert ours == theirs, table
            assert ours, table
    again = built(planned(to, [source]))
    assert (again.parts, again.unchanged) == (0, counts.inputs)


def cells(query: CorpusQuery, table: str) -> list[list[object]]:
    """A table without what says where its logs are."""
    found = query.table(table)
    places = [at for at, name in enumerate(found.columns) if name not in ("file", "machine", "source_file")]
    return [[row[at] for at in places] for row in found.rows]


@pytest.mark.parametrize("below", ["", "deep/er"])
def test_one_name_that_is_no_path_costs_no_other_object(bucket: Stored, tmp_path: Path, below: str) -> None:
    """Such names are told, and what lies after them in the same folder or in other folders is read."""
    good = ["a/s.jsonl", "b/s.jsonl", "b/z/s.jsonl", "c/d/s.jsonl", "c/s.jsonl", "d/u.jsonl", "e/s.jsonl", "s.jsonl"]
    bad = ["b//s.jsonl", "c/d/../s.jsonl", "d/t\t.jsonl", "d/t\x7f.jsonl", "e/./s.jsonl", "e/.."]
    above = f"some-{len(below)}/{below}".rstrip("/")
    for name in good:
        bucket.put(f"{above}/{name}", CLAUDE.replace(b'"s-1"', b'"%s"' % name.encode()))
    for name in bad:
        bucket.put(f"{above}/{name}", CLAUDE)

    def found(to: Path) -> tuple[set[str], set[str]]:
        source = place_of(f"s3://company/some-{len(below)}")
        counts = built(planned(place_of(str(to)), [source]))
        assert counts.failed == len(counts.failures)
        with closing(asked(to)) as query:
            return {one for one, _ in counts.failures}, {row.session for row in query.sessions()}

    assert found(tmp_path / "one") == ({f"s3://company/{above}/{name}" for name in bad}, {*good})
    # With such a name beside all folders, obstore can list none of them; what may be missing is told.
    bucket.put(f"{above}//s.jsonl", CLAUDE)
    told, read = found(tmp_path / "two")
    assert told >= {f"s3://company/{above}/{name}" for name in (*bad, "/s.jsonl")}
    assert {*good} - read == {"a/s.jsonl"}
    assert f"s3://company/{above}/b" in told
    with pytest.raises(LogError, match="rename"):  # a corpus itself has no such names
        list(place_of("s3://company/some-0").listed())


def test_objects_of_any_name_are_read_and_no_file_here_is_taken_for_one(bucket: Stored, tmp_path: Path) -> None:
    names = ["..etc/s.jsonl", "a b/é/s.jsonl", "quote'/s.jsonl", "x" * 300 + "/s.jsonl"]
    for name in names:
        data = CLAUDE.replace(b'"s-1"', b'"%s"' % name.encode().hex()[:60].encode())
        bucket.put(f"hostile/{name}", data)
    bucket.put("hostile/note.json", b'{"no": "log"}')
    to = place_of(str(tmp_path / "corpus"))
    counts = built(planned(to, [place_of("s3://company/hostile")]))
    assert (counts.read + counts.failed, counts.no_logs) == (len(names), 1)
    assert all("hostile" in address for address, _ in counts.failures)
    with closing(asked(tmp_path / "corpus")) as query:
        assert len(query.sessions()) == counts.read


def test_logs_that_grow_or_are_compressed_or_are_read_by_another_version_count_once(
    bucket: Stored, real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same figures as those of the local index over the files, after every build, and only what is new is read."""
    codex, claude = (
        sorted((real / "codex").rglob("rollout-*.jsonl"))[:2],
        sorted((real / "claude-code").rglob("*.jsonl")),
    )
    folder = tmp_path / "here"
    for path in (*codex, *claude[:3]):
        (folder / path.relative_to(real).parent).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / path.relative_to(real))
    growing = folder / codex[0].relative_to(real)
    lines = growing.read_bytes().splitlines(keepends=True)
    growing.write_bytes(b"".join(lines[: len(lines) // 2]))
    packed = folder / codex[1].relative_to(real)
    packed.with_name(packed.name + ".gz").write_bytes(gzip.compress(packed.read_bytes()))
    packed.unlink()
    uploaded(bucket, folder, "growing")
    source, to = place_of("s3://company/growing"), place_of("s3://company/grown")

    def built_and_compared() -> tuple[int, int]:
        counts = built(planned(to, [source]))
        assert counts.failures == []
        local = Query(Index(tmp_path / "local.sqlite"), paths=[folder])
        with closing(CorpusQuery(to, tmp_path / "cache")) as remote, closing(local):
            remote.refresh()
            assert is_alike(list(figures(remote)), list(figures(local)))
            tables = ("turns", "calls", "outcomes", "usage")
            assert [sorted(map(str, cells(remote, one))) for one in tables] == [
                sorted(map(str, cells(local, one))) for one in tables
            ]
        return counts.read, counts.unchanged

    files = sum(path.is_file() for path in folder.rglob("*"))
    assert built_and_compared() == (files, 0)
    growing.write_bytes(b"".join(lines))
    bucket.put(f"growing/{growing.relative_to(folder).as_posix()}", growing.read_bytes())
    read, unchanged = built_and_compared()
    assert (read, unchanged) == (1, files - 1)
    assert built_and_compared() == (0, files)
    monkeypatch.setattr("dragoman.logs.corpus.build.reader_version", lambda: "another version")
    assert built_and_compared() == (files, 0)
    assert built_and_compared() == (0, files)


def test_secrets_stay_out_of_a_remote_corpus_unless_that_is_asked_for(bucket: Stored, tmp_path: Path) -> None:
    import duckdb

    secret = "sk-ant-api03-" + "q7Zx" * 20
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "s-1.jsonl").write_bytes(CLAUDE.replace(b'"/p"', b'"/p/%s"' % secret.encode()))
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}

    def has_secret(to: str, *words: str) -> bool:
        line = command(tmp_path / "logs", to, *words, home=tmp_path)
        assert json.loads(subprocess.run(line, env=environment, check=True, capture_output=True).stdout)["read"] == 1
        place, texts = place_of(to), []
        for number, one in enumerate(place.listed()):
            path = tmp_path / f"{number}.parquet"
            path.write_bytes(place.get(one.name))
            is_table = one.name.endswith(".parquet")
            rows = duckdb.execute(f"SELECT * FROM '{path}'").fetchall() if is_table else path.read_bytes()
            texts.append(str(rows))
        assert len(texts) > 4
        return any(secret in text for text in texts)

    assert not has_secret("s3://company/safe")
    assert has_secret("s3://company/unsafe", "--no-redact")
    assert has_secret(str(tmp_path / "local"))
    assert not has_secret(str(tmp_path / "local-safe"), "--redact")


def test_what_the_service_refuses_is_told(bucket: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises((LogError, StorageError), match="no-such-bucket"):
        planned(place_of("s3://no-such-bucket/corpus"), [])
    with pytest.raises(LogError, match="company/nothing"):
        CorpusQuery(place_of("s3://company/nothing"), tmp_path).refresh()


def test_two_builders_on_one_bucket_make_each_part_once(bucket: Stored, home: Path) -> None:
    to, source = place_of("s3://company/two"), place_of(str(home))
    plans = [planned(to, [source], labels=HERE, part_bytes=SMALL) for _ in range(2)]
    waiting = [msgspec.structs.replace(plan, parts=[part]) for plan in plans for part in plan.parts]
    random.Random(1).shuffle(waiting)
    counts = [built(plan) for plan in waiting]
    assert sum(one.parts for one in counts) == sum(one.made_elsewhere for one in counts) == len(plans[0].parts)


@pytest.mark.parametrize("where", ["folder", "s3", "gs"])
def test_processes_that_build_at_the_same_time_make_each_part_once(
    bucket: Stored, real: Path, tmp_path: Path, where: str
) -> None:
    """Three real processes are held until all are planned, then race for every part of one destination."""
    to = str(tmp_path / "corpus") if where == "folder" else f"{where}://company/race-{where}"
    program = tmp_path / "build.py"
    program.write_text(
        "import json, sys, msgspec\n"
        "from dragoman.logs.corpus import Labels, built, place_of, planned\n"
        "to, source = map(place_of, sys.argv[1:])\n"
        "plan = planned(to, [source], labels=Labels(machine='here'), part_bytes=150_000)\n"
        "plan.parts.sort(key=lambda part: part[0].address)\n"  # the same part at the same moment, as often as can be
        "print('ready', flush=True)\n"
        "sys.stdin.readline()\n"
        "print(json.dumps({**msgspec.to_builtins(built(plan)), 'planned': len(plan.parts)}))\n"
    )
    source = real / "codex"
    words = [sys.executable, str(program), to, str(source)]
    racing = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for one in racing:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    answers = []
    for one in racing:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    for one in racing:
        out, _ = one.communicate()
        assert one.returncode == 0
        answers.append(json.loads(out))
    (count,) = {one["planned"] for one in answers}
    assert count > 3
    assert sum(one["parts"] for one in answers) == count
    assert sum(one["made_elsewhere"] for one in answers) == 2 * count
    assert sum(one["failed"] for one in answers) == 0
    entries = [json.loads(place_of(to).get(one.name)) for one in place_of(to).listed("manifest")]
    addresses = [log["address"] for entry in entries for log in entry["logs"]]
    assert len(entries) == count
    assert len(addresses) == len(set(addresses))
    build(tmp_path / "alone", source, part_bytes=1 << 20)
    with closing(CorpusQuery(place_of(to), tmp_path / "cache")) as one, closing(asked(tmp_path / "alone")) as other:
        one.refresh()
        assert is_alike(list(figures(one)), list(figures(other)))


# ── killed ───────────────────────────────────────────────────────────────────


def command(*words: str | Path, home: Path) -> list[str]:
    return [sys.executable, "-m", "dragoman", "corpus", "build", "--json", *map(str, words)]


@pytest.mark.parametrize("where", ["folder", "s3", "gs"])
def test_a_build_that_is_killed_is_gone_on_with_and_reads_only_what_is_missing(
    bucket: Stored, real: Path, tmp_path: Path, where: str
) -> None:
    # Enough bytes for several parts: copies with other ids.
    for number in range(12):
        to = tmp_path / "many" / f"{number}"
        to.mkdir(parents=True)
        for path in sorted(real.rglob("rollout-*.jsonl"))[:4]:
            (to / path.name).write_bytes(path.read_bytes().replace(b'"id":"0', b'"id":"%d' % (number % 10)) * 80)
    size = sum(path.stat().st_size for path in (tmp_path / "many").rglob("*.jsonl"))
    source, corpus = str(tmp_path / "many"), str(tmp_path / "corpus")
    if where != "folder":
        uploaded(bucket, tmp_path / "many", f"many-{where}")
        source, corpus = f"{where}://company/many-{where}", f"{where}://company/killed-{where}"
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    line = command(source, corpus, "--workers", "2", home=tmp_path)
    done, kills, read = 0, 0, 0
    while True:
        process = subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, start_new_session=True)
        before = done
        while process.poll() is None and kills < 3:
            done = len(list(place_of(corpus).listed("manifest")))
            if done > before:
                os.killpg(process.pid, signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.01)
        out, _ = process.communicate()
        if process.returncode != -signal.SIGKILL:
            told = json.loads(out)
            break
    assert kills >= 1
    entries = [json.loads(place_of(corpus).get(one.name)) for one in place_of(corpus).listed("manifest")]
    addresses = [log["address"] for entry in entries for log in entry["logs"]]
    assert len(entries) >= 3  # or a build that is killed after its first entry has nothing left to do
    assert len(addresses) == len(set(addresses)) == told["inputs"]  # nothing was read into two parts
    read = sum(log.get("bytes", 0) for entry in entries for log in entry["logs"])
    assert read == size
    assert told["unchanged"] > 0
    assert told["read"] + told["unchanged"] == told["inputs"]


def test_processes_make_the_same_parts_however_long_their_answers_are(tmp_path: Path) -> None:
    for number in range(900):  # what is said of so many logs is longer than a pipe holds
        path = tmp_path / "logs" / f"{'folder' * 20}-{number}" / "s-1.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(CLAUDE.replace(b'"s-1"', b'"s-%d"' % number))
    size = sum(path.stat().st_size for path in (tmp_path / "logs").rglob("*.jsonl"))
    to, source = place_of(str(tmp_path / "two")), place_of(str(tmp_path / "logs"))
    plan = planned(to, [source], labels=HERE, part_bytes=size // 2 + 1)
    counts = built(plan, workers=2)
    assert (len(plan.parts), counts.parts, counts.read) == (2, 2, 900)


def test_dask_makes_the_same_parts(home: Path, tmp_path: Path) -> None:
    source = place_of(str(home))
    to = place_of(str(tmp_path / "dask"))
    counts = built_on_dask(planned(to, [source], labels=HERE, part_bytes=SMALL), workers=2)
    alone = build(tmp_path / "alone", home)
    names = [sorted(one.name for one in place_of(str(tmp_path / where)).listed()) for where in ("dask", "alone")]
    assert names[0] == names[1]
    assert (counts.read, counts.rows) == (alone.read, alone.rows)


def has_no_dragoman(*_: object) -> None:
    """What happens on a worker without this package; Dask's processes import it."""
    raise ModuleNotFoundError("No module named 'dragoman'")


def test_a_dask_cluster_that_cannot_make_a_part_is_told(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.logs.corpus.engines.make_part", has_no_dragoman)
    plan = planned(place_of(str(tmp_path / "dask")), [place_of(str(home))], labels=HERE)
    with pytest.raises(LogError, match=r"No module named 'dragoman'; build again"):
        built_on_dask(plan)
