"""Signals over time of many runs are kept in few files, and each is found again as it was."""

import numpy as np
import pandas
import pytest
from pyarrow import parquet

import ssptool
from ssptool.engine.recording.formats import open_writer
from ssptool.engine.trace import Column
from ssptool.errors import UnusableFile
from ssptool.studies import dataset
from ssptool.studies.definition import Task
from ssptool.types import Trace
from tests.fmus import build as fmus


def task(number: int) -> Task:
    return Task(f"r{number:05d}", number, {})


def made(number: int, *names: str) -> Trace:
    """A trace whose values and number of rows are those of its run alone."""
    t = np.linspace(0.0, 1.0, 2 + number % 5)
    columns = [(Column(name, "m"), number + place + np.sin(t)) for place, name in enumerate(names)]
    texts = np.array([f"{number} at {time:g} s" for time in t], dtype=object)
    columns += [(Column("A.text", type="String"), texts), (Column("A.n", type="Int32"), np.arange(len(t)))]
    return Trace.of(t, columns)


def content(path, trace: Trace, number: int) -> bytes:
    """As the process of a run hands it over."""
    writer = open_writer(path, trace.columns, trace.contents)
    writer.write(np.column_stack([trace.t, trace.cells]))
    writer.close(f'{{"status": "completed", "notes": ["{number} … ü"]}}')
    return path.read_bytes()


def same(one: Trace, other: Trace) -> bool:
    pairs = ((one[signal], other[signal]) for signal in one)
    return one.columns == other.columns and np.array_equal(one.t, other.t) and all(np.array_equal(*p) for p in pairs)


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Traces of 470 runs, of which every 47th has another signal, added in parts of 9; 200 go into a file."""
    assert dataset.RUNS_OF_FILE == 1_000
    monkeypatch.setattr(dataset, "RUNS_OF_FILE", 200)
    parts = dataset.TraceParts(tmp_path)
    for number in range(470):
        trace = made(number, "A.x", "A.z") if number % 47 == 0 else made(number, "A.x")
        parts.add(task(number), content(tmp_path / "one.parquet", trace, number))
        if number % 9 == 8:
            parts.flush()
    parts.flush()
    return parts


def test_a_file_has_many_runs_and_each_is_found_as_it_was(kept):
    before = len(kept.parts)
    kept.gather()
    assert before > 50 and len(kept.parts) == 4, "460 of the one kind, 10 of the other"
    sizes = sorted(parquet.read_table(path, columns=["run"])["run"].to_pandas().nunique() for path in kept.parts)
    assert sum(sizes) == 470 and sizes[0] == 10 and min(sizes[2:]) >= 200
    for number in (0, 1, 46, 47, 199, 200, 469):
        trace, manifest = kept.of(f"r{number:05d}")
        assert same(trace, made(number, "A.x", "A.z") if number % 47 == 0 else made(number, "A.x"))
        assert manifest["notes"] == [f"{number} … ü"]
    found = dict(kept.each())
    assert len(found) == 470
    assert all(same(trace, made(int(run[1:]), "A.x")) for run, trace in found.items() if int(run[1:]) % 47)
    kept.gather()
    assert len(kept.parts) == 4
    assert kept.of("r99999") is None


def test_gathering_goes_on_where_it_stopped(kept):
    kept.gather()
    files = {path: path.stat().st_mtime_ns for path in kept.parts}
    for number in range(470, 480):
        kept.add(task(number), content(kept.folder / "one.parquet", made(number, "A.x"), number))
        kept.flush()
    kept.gather()
    assert len(kept.parts) == 4
    untouched = [path for path in kept.parts if files.get(path) == path.stat().st_mtime_ns]
    assert len(untouched) == 3, "only the file with few runs was written anew"


def test_a_signal_may_be_called_run(tmp_path):
    parts = dataset.TraceParts(tmp_path)
    trace = Trace.of([0.0, 1.0], [(Column("run", "1"), [3.0, 4.0])])
    parts.add(task(7), content(tmp_path / "one.parquet", trace, 7))
    parts.flush()
    assert same(parts.of("r00007")[0], trace)


def test_what_a_killed_study_left_is_taken_out(kept):
    kept.gather()
    (kept.place / "part-00000000-copy.parquet").write_bytes(kept.parts[0].read_bytes())
    runs = {f"r{number:05d}" for number in range(0, 470, 2)}
    kept.keep(runs)
    frame = pandas.concat(parquet.read_table(path, columns=["run", "time"]).to_pandas() for path in kept.parts)
    assert set(frame["run"]) == runs
    assert not frame.duplicated().any()
    kept.keep(set())
    assert kept.parts == []


def test_a_damaged_file_is_named(kept):
    kept.gather()
    file = kept.parts[0]
    file.write_bytes(file.read_bytes()[:-50])
    with pytest.raises(UnusableFile, match=rf"{file.name} is damaged"):
        list(kept.each())


def test_failed_runs_that_are_repeated_have_one_trace(misbehaving, tmp_path):
    study = misbehaving([fmus.NOT_A_NUMBER, fmus.NOTHING], values=[1.0, 2.0], traces={"signals": ["Good.y"]})
    for again in (False, True):
        results = ssptool.study(study, tmp_path / "out", workers=1, retry_failed=again)
        assert results.status.failed
        frame = pandas.read_parquet(tmp_path / "out" / "traces")
        assert not frame.duplicated(["run", "time"]).any()
        assert set(frame["run"]) == set(results.table()["run"].to_pylist())
