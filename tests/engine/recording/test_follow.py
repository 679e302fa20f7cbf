"""Results that are read while somebody writes them: each row once, whole, and all of them at the end."""

import json
import os
import threading
import time
from dataclasses import asdict
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import ssptool
from ssptool.documents.csv_columns import sidecar
from ssptool.engine.recording.csv import CsvTail
from ssptool.engine.recording.formats import open_tail, open_writer
from ssptool.engine.trace import Column
from ssptool.errors import UnknownName, UnusableFile, WrongValue
from ssptool.exceptions import WrongUsage
from ssptool.types import Trace
from tests.engine.recording.files import at_once, write
from tests.waiting import PATIENCE

parquet = pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not installed")
ENDINGS = [".csv", pytest.param(".parquet", marks=parquet)]
ALL_TYPES = (
    Column("A.x", "m", description="Länge"),
    Column("B.n", type="Int64"),
    Column("B.on", type="Boolean"),
    Column('C."odd", name', type="String"),
    Column("D.raw", type="Binary"),
)
TEXTS = ["two\nlines", 'a "quote"', "comma, and ü", "", "\r\n", "plain"]


def some_trace(rows=6, shift=0.0):
    t = 0.1 * np.arange(rows)
    values = (
        np.sin(t) + shift,
        [2**62 + k for k in range(rows)],
        t > 0.25,
        [TEXTS[k % len(TEXTS)] for k in range(rows)],
        [bytes([k % 256, 0, 255]) for k in range(rows)],
    )
    return Trace.of(t, zip(ALL_TYPES, values, strict=True))


def plain_trace(rows=6, shift=0.0):
    t = 0.1 * np.arange(rows)
    return Trace.of(t, [(Column("A.x", "m"), np.sin(t) + shift), (Column("A.v", "m/s"), np.cos(t))])


def same(one, other):
    assert one.columns == other.columns
    assert np.array_equal(one.t, other.t)
    for signal in one:
        assert np.array_equal(one[signal], other[signal]), signal


def statuses(runs):
    return [(run.status, len(run.trace), run.ended) for run in runs]


# -- rows as they come ------------------------------------------------------------------------------------------


@given(cuts=st.lists(st.integers(0, 400), max_size=8))
@example(cuts=list(range(400)))
def test_a_csv_file_cut_anywhere_gives_its_whole_rows_and_each_once(cuts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    done, path = folder / "done.csv", folder / "run.csv"
    write(done, some_trace())
    content, rows = done.read_bytes(), []
    tail = CsvTail(path)
    write(path, some_trace(0), closed=False)  # header, and the file beside it
    for cut in [*sorted(min(cut, len(content)) for cut in cuts), len(content)]:
        path.write_bytes(content[:cut])
        news = tail.read()
        assert not news.replaced
        assert not news.manifest
        assert list(news.columns) == (list(ALL_TYPES) if news.begun else [])
        rows += zip(news.times, *news.values, strict=True)
        # A cut file is read as far as its rows are whole.
        expected = ssptool.read_trace(path) if b"\n" in content[:cut] else some_trace(0)
        assert [row[0] for row in rows] == expected.t.tolist()
    whole = some_trace()
    assert rows == list(zip(whole.t.tolist(), *(whole[signal].tolist() for signal in whole), strict=True))


@pytest.mark.parametrize("ending", ENDINGS)
def test_values_grow_while_a_thread_writes_and_end_with_the_whole_trace(ending, tmp_path, monkeypatch):
    at_once(monkeypatch)
    path, whole = tmp_path / f"run{ending}", some_trace(200)
    go_on = threading.Semaphore(0)

    def run():
        writer = open_writer(path, whole.columns, list(whole.contents))
        for block in np.array_split(np.column_stack([whole.t, whole.cells]), 40):
            go_on.acquire(timeout=60)
            writer.write(block)
        writer.close(json.dumps({"status": "completed", "columns": [asdict(one) for one in whole.columns]}))

    thread = threading.Thread(target=run)
    thread.start()
    met = []
    for run in ssptool.follow(path, interval=0.01):
        met.append(run)
        go_on.release()  # so that there are many looks, however slow the machine is
    thread.join()
    lengths = [len(run.trace) for run in met]
    assert all(before <= after for before, after in pairwise(lengths))
    assert len(set(lengths)) > 10
    assert [run.ended for run in met] == [False] * (len(met) - 1) + [True]
    assert {run.status for run in met[:-1]} <= {"waiting", "running"}
    assert met[-1].status == "completed"
    same(met[-1].trace, whole)
    same(met[-1].trace, ssptool.read_trace(path))
    for run in met:
        # What was given earlier is still what it was: the first rows.
        assert np.array_equal(run.trace.t, whole.t[: len(run.trace)])
        if len(run.trace):
            assert np.array_equal(run.trace["A.x"], whole["A.x"][: len(run.trace)])


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_was_given_cannot_be_changed(ending, tmp_path):
    path = tmp_path / f"run{ending}"
    write(path, plain_trace())
    (run,) = ssptool.follow(path)
    for values in (run.trace.t, run.trace.cells, run.trace["A.x"]):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 1.0
    with pytest.raises(AttributeError):
        run.status = "running"


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_file_may_come_later_and_nothing_new_is_given_as_well(ending, tmp_path, monkeypatch):
    at_once(monkeypatch)
    path, whole = tmp_path / f"run{ending}", plain_trace()
    rows = np.column_stack([whole.t, whole.cells])
    runs = ssptool.follow(path, interval=0.001)
    assert statuses([next(runs), next(runs)]) == [("waiting", 0, False)] * 2
    writer = open_writer(path, whole.columns)
    assert next(runs).status == "waiting"
    writer.write(rows[:2])
    assert statuses([next(runs), next(runs)]) == [("running", 2, False)] * 2
    writer.write(rows[2:])
    writer.close(json.dumps({"status": "interrupted", "columns": [asdict(one) for one in whole.columns]}))
    assert statuses(runs) == [("interrupted", 6, True)]


def test_a_long_file_is_read_in_parts_and_a_row_may_be_longer_than_a_part(tmp_path, monkeypatch):
    monkeypatch.setattr("ssptool.engine.recording.csv.MOST_BYTES", 64)
    path = tmp_path / "run.csv"
    t = 0.1 * np.arange(50)
    texts = ["short"] * 20 + ["long\n" * 200] + ["short"] * 29
    whole = Trace.of(t, [(Column("A.x"), np.sin(t)), (Column("A.s", type="String"), texts)])
    write(path, whole)
    met = list(ssptool.follow(path, interval=30))  # nobody waits while there is more to read
    assert len(met) > 5
    same(met[-1].trace, whole)


@parquet
def test_groups_of_a_parquet_file_are_read_in_parts(tmp_path, monkeypatch):
    at_once(monkeypatch)
    monkeypatch.setattr("ssptool.engine.recording.parquet.MOST_VALUES", 5)
    path = tmp_path / "run.parquet"
    write(path, plain_trace(40), chunks=10)
    lengths = [len(run.trace) for run in ssptool.follow(path, interval=30)]
    assert lengths == [4, 8, 12, 16, 20, 24, 28, 32, 36, 40]


# -- the end, and another beginning -----------------------------------------------------------------------------


def test_a_failed_run_ends_with_its_rows_and_its_reason(tmp_path):
    path, whole = tmp_path / "run.csv", plain_trace()
    writer = open_writer(path, whole.columns)
    writer.write(np.column_stack([whole.t, whole.cells]))
    failure = {"message": "A refused 1", "time": 0.5, "messages": []}
    columns = [asdict(one) for one in whole.columns]
    writer.close(json.dumps({"status": "an FMU refused a call", "failure": failure, "columns": columns}))
    (run,) = ssptool.follow(path)
    assert (run.status, run.failure, run.ended) == ("an FMU refused a call", "at t = 0.5 s: A refused 1", True)
    assert len(run.trace) == 6


@pytest.mark.parametrize("removed", [True, False], ids=["removed", "in place"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_run_that_is_started_again_replaces_the_trace(ending, removed, tmp_path, monkeypatch):
    at_once(monkeypatch)
    # The first run was killed, with which its lock ended.
    monkeypatch.setattr("ssptool.engine.recording.formats.locked_output", lambda _path: lambda: None)
    path = tmp_path / f"run{ending}"
    write(path, plain_trace(4), closed=False)
    runs = ssptool.follow(path, interval=0.001)
    assert len(next(runs).trace) == 4
    if removed:
        path.unlink()
        assert statuses([next(runs)]) == [("waiting", 0, False)]
    other = plain_trace(9, shift=0.25)  # longer than what was there
    write(path, other)
    run = list(runs)[-1]
    assert run.ended
    same(run.trace, other)


def test_the_manifest_of_the_run_before_does_not_end_the_one_that_has_just_begun(tmp_path):
    path = tmp_path / "run.csv"
    write(path, plain_trace())
    header = path.read_bytes().split(b"\n")[0] + b"\n"
    path.write_bytes(header)  # a run begins the file so, and then the one beside it
    later = sidecar(path).stat().st_mtime_ns + 1_000_000
    os.utime(path, ns=(later, later))
    runs = ssptool.follow(path, interval=0.001)
    assert statuses([next(runs)]) == [("waiting", 0, False)]
    write(path, plain_trace(3))
    assert statuses(runs)[-1] == ("completed", 3, True)


def test_a_run_without_rows_ends_too(tmp_path):
    path = tmp_path / "run.csv"
    write(path, plain_trace(0))
    assert statuses(ssptool.follow(path)) == [("completed", 0, True)]


def test_a_description_that_is_being_written_is_waited_for(tmp_path):
    path = tmp_path / "run.csv"
    write(path, some_trace(), closed=False)
    described = sidecar(path).read_text(encoding="utf-8")
    sidecar(path).write_text(described[:40], encoding="utf-8")
    tail = CsvTail(path)
    assert not tail.read().begun
    sidecar(path).write_text(described, encoding="utf-8")
    assert tail.read().columns == ALL_TYPES


def test_results_of_another_tool_end_at_the_stop_time(tmp_path):
    path = tmp_path / "tool.csv"
    path.write_text("time;speed [km/h];gear\n0;1,5;1\n", encoding="utf-8")
    runs = ssptool.follow(path, interval=0.001, stop_time="200ms")
    assert statuses([next(runs)]) == [("running", 1, False)]
    with path.open("a", encoding="utf-8") as file:
        file.write("0,1;2,5;1\n0,2;3,5;2\n0,2;4,5")
    assert statuses([next(runs)]) == [("running", 3, False)]
    with path.open("a", encoding="utf-8") as file:
        file.write(";3\n")
    assert statuses([next(runs)]) == [("running", 4, False)], "as long as rows come, there may be more"
    *_, last = runs
    assert (last.status, last.ended) == ("at the stop time", True)
    assert last.trace.t.tolist() == [0.0, 0.1, 0.2, 0.2]
    assert last.trace["speed"].tolist() == [1.5, 2.5, 3.5, 4.5]
    assert last.trace.columns[0].unit == "km/h"


# -- signals, and what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ENDINGS)
def test_only_signals_that_a_pattern_fits_are_given(ending, tmp_path):
    path, whole = tmp_path / f"run{ending}", some_trace()
    write(path, whole)
    (run,) = ssptool.follow(path, signals=["B.*", "D.raw"])
    assert run.trace.signals == ("B.n", "B.on", "D.raw")
    assert all(np.array_equal(run.trace[signal], whole[signal]) for signal in run.trace)
    with pytest.raises(UnknownName, match=r"A\.x"):
        list(ssptool.follow(path, signals="x"))


def test_a_mat_file_is_refused_by_name_with_what_to_write_instead(tmp_path):
    with pytest.raises(WrongValue, match=r"run\.mat: .*\.csv or \.parquet") as refused:
        ssptool.follow(tmp_path / "run.mat")
    assert isinstance(refused.value, WrongUsage)
    with pytest.raises(WrongValue, match=r"\.xlsx"):
        ssptool.follow(tmp_path / "run.xlsx")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"interval": 0}, "interval"),
        ({"interval": "1 metre"}, "interval"),
        ({"interval": float("inf")}, "interval"),
        ({"stop_time": float("nan")}, "stop_time"),
        ({"signals": 3}, "signals"),
    ],
)
def test_wrong_arguments_are_named_before_anything_is_read(arguments, words, tmp_path):
    with pytest.raises(WrongUsage, match=words):
        ssptool.follow(tmp_path / "run.csv", **arguments)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"speed,time\n0,1\n", "first column"),
        (b"time,x\n0,1\n1\n", ":3: 2 values expected"),
        (b"time,x\n0,1\n1,fast\n", ":3: x: expected a number"),
        (b"time,x\nnan,1\n", "row 1"),
        (b"time,x\n0,\xff\n", "UTF-8"),
        (b"time,x,x\n0,1,2\n", "several columns"),
        (b"time," + b"x" * 5000 + b"\n0,1\n", "5000 characters"),
    ],
)
def test_what_is_no_trace_is_told_with_its_place(content, words, tmp_path):
    path = tmp_path / "run.csv"
    path.write_bytes(content)
    with pytest.raises(UnusableFile, match=words):
        next(ssptool.follow(path))


def test_a_wrong_row_that_comes_late_is_told_with_its_line(tmp_path):
    path = tmp_path / "run.csv"
    path.write_bytes(b"time,x\n0,1\n")
    tail = open_tail(path)
    assert len(tail.read().times) == 1
    path.write_bytes(b"time,x\n0,1\n1,2\n2,two\n")
    with pytest.raises(UnusableFile, match=":4: x: expected a number, found 'two'"):
        tail.read()


@parquet
def test_a_parquet_file_without_a_footer_is_damaged_only_if_it_stays_so(tmp_path):
    path = tmp_path / "run.parquet"
    write(path, plain_trace())
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    tail = open_tail(path)
    assert not tail.read().begun
    path.write_bytes(whole)
    assert len(tail.read().times) == 6
    path.write_bytes(whole[:-20])
    assert not tail.read().begun
    with pytest.raises(UnusableFile):
        tail.read()


def test_whoever_has_seen_enough_leaves(tmp_path):
    path = tmp_path / "run.csv"
    write(path, plain_trace(), closed=False)
    began = time.monotonic()
    for run in ssptool.follow(path, interval=10 * PATIENCE):
        if run.trace.t[-1] >= 0.5:
            break
    assert len(run.trace) == 6
    assert time.monotonic() - began < PATIENCE
