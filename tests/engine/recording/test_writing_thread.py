"""A file that a thread writes: the same as without one, errors that arrive, and no thread that stays."""

import json
import threading
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssptool import Settings, read_manifest, read_trace
from ssptool.engine.recording.formats import FORMATS, open_writer
from ssptool.engine.recording.writer import WritingThread
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.run.recorder import Recording
from ssptool.engine.trace import Column
from tests.engine.dual_mass import Folder, oscillator
from tests.engine.running import run
from tests.waiting import PATIENCE

ENDINGS = [ending for ending, format in FORMATS.items() if not format.package or find_spec(format.package)]
WAITING = 2
COLUMNS = [Column("x"), Column("n", type="Int32")]


class Listening:
    """A writer that keeps rows, waits when told to, and fails once, after some blocks, as those of files do."""

    def __init__(self, fails_after=None):
        self.blocks = []
        self.threads = set()
        self.closed = None
        self.go = threading.Event()
        self.go.set()
        self.fails_after = fails_after
        self.failed = False

    def write(self, rows):
        assert self.go.wait(PATIENCE)
        if self.failed:
            return
        if self.fails_after == len(self.blocks):
            self.failed = True
            raise OSError(28, "No space left on device")
        self.threads.add(threading.current_thread())
        self.blocks.append(rows.copy())

    def notes(self):
        return (f"{len(self.blocks)} blocks",)

    def close(self, manifest):
        if not self.failed:
            self.closed = manifest

    def release(self):
        pass


def begun(thread, writer):
    return thread.around(lambda _contents: writer)([b""])


def numbered(first, count):
    rows = np.repeat(np.arange(first, first + count, dtype=float)[:, None], 3, axis=1)
    rows[:, 2].view(np.int64)[:] = rows[:, 2].astype(int)
    return rows


@pytest.mark.parametrize("ending", ENDINGS)
@settings(max_examples=20)
@given(sizes=st.lists(st.integers(0, 400), max_size=12))
def test_files_have_all_rows_in_their_order(ending, sizes, tmp_path_factory):
    """The caller's memory is its own again after each `write`."""
    path, first = tmp_path_factory.mktemp("files") / f"trace{ending}", 0
    with WritingThread(WAITING) as thread:
        writer = thread.around(partial(open_writer, path, COLUMNS))([b""])
        for size in sizes:
            rows = numbered(first, size)
            writer.write(rows)
            rows[:] = np.nan
            first += size
        writer.close(json.dumps({"rows": first}))
    trace = read_trace(path)
    assert np.array_equal(trace.t, np.arange(first)) and np.array_equal(trace["n"], np.arange(first))
    assert read_manifest(path)["rows"] == first


@settings(max_examples=50)
@given(sizes=st.lists(st.tuples(st.integers(1, 300), st.integers(0, 300), st.sampled_from(["", "other"])), max_size=15))
def test_memory_that_is_lent_comes_back_with_its_rows(sizes):
    """Also where less is written than was lent, nothing at all, or other rows between; else the caller would wait."""
    kept, first = Listening(), 0
    with WritingThread(WAITING) as thread:
        writer = begun(thread, kept)
        for lent, count, other in sizes:
            space = thread.lend(lent, 3)
            assert space.shape == (lent, 3)
            rows = numbered(first, min(count, lent))
            space[: len(rows)] = rows
            if len(rows):
                writer.write(rows if other else space[: len(rows)])
            first += len(rows)
    assert [int(n) for block in kept.blocks for n in block[:, 0]] == list(range(first))


def test_rows_in_lent_memory_are_not_copied():
    kept, seen = Listening(), []
    kept.write = lambda rows: seen.append(rows.base)
    with WritingThread(WAITING) as thread:
        writer, bases = begun(thread, kept), []
        for _ in range(10):
            space = thread.lend(4, 3)
            bases.append(space.base)
            writer.write(space[:2])
    assert all(one is other for one, other in zip(seen, bases, strict=True))
    assert len({id(base) for base in bases}) <= WAITING + 1


def test_the_caller_does_not_write():
    kept = Listening()
    with WritingThread(WAITING) as thread:
        begun(thread, kept).write(numbered(0, 5))
    assert threading.current_thread() not in kept.threads and len(kept.threads) == 1


def test_few_blocks_wait_and_then_the_caller_does():
    kept = Listening()
    kept.go.clear()
    with WritingThread(WAITING) as thread:
        writer = begun(thread, kept)
        given_ = []
        caller = threading.Thread(target=lambda: [(writer.write(numbered(k, 1)), given_.append(k)) for k in range(20)])
        caller.start()
        caller.join(0.2)
        assert caller.is_alive() and len(given_) <= WAITING + 1
        kept.go.set()
        caller.join(PATIENCE)
    assert [int(block[0, 0]) for block in kept.blocks] == list(range(20))


@pytest.mark.parametrize("end", ["close", "write"])
def test_an_error_of_the_writer_reaches_the_caller(end):
    failing = Listening(fails_after=2)
    with WritingThread(WAITING) as thread:
        writer = begun(thread, failing)
        with pytest.raises(OSError, match="No space left on device"):
            for k in range(100 if end == "write" else 3):
                writer.write(numbered(k, 1))
            writer.close("{}")
    assert len(failing.blocks) == 2 and failing.closed is None


def test_notes_are_of_all_that_was_written():
    with WritingThread(WAITING) as thread:
        writer = begun(thread, Listening())
        for k in range(7):
            writer.write(numbered(k, 1))
        assert writer.notes() == ("7 blocks",)


def test_a_context_without_rows_starts_no_thread():
    before = set(threading.enumerate())
    with WritingThread(WAITING) as thread:
        begun(thread, Listening()).close("{}")
        assert set(threading.enumerate()) <= before


# -- in a run --------------------------------------------------------------------------------------------------


def ends(tmp_path, **options):
    """A run with a file in this process, after which there are no threads that were not there before."""
    before = set(threading.enumerate())
    plan = make_plan(oscillator(), Settings(stop_time=5.0, step_size=0.01))
    try:
        return run(plan, Folder(), recording=Recording(tmp_path / "run.csv"), **options)
    finally:
        assert set(threading.enumerate()) <= before


def test_a_run_leaves_no_thread_and_a_whole_file(tmp_path):
    result = ends(tmp_path)
    read = read_trace(tmp_path / "run.csv")
    assert np.array_equal(read.y, result.trace.y) and read_manifest(tmp_path / "run.csv")["status"] == "completed"


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_run_leaves_no_thread_and_what_was_recorded(tmp_path, error):
    def progress(part):
        if part > 0:
            raise error

    with pytest.raises(error):
        ends(tmp_path, progress=progress)
    assert len(read_trace(tmp_path / "run.csv").t) > 1
    assert read_manifest(tmp_path / "run.csv")["status"] == "interrupted"


def test_a_full_disk_ends_the_run_with_the_error_and_leaves_no_thread(tmp_path, monkeypatch):
    failing = Listening(fails_after=1)
    monkeypatch.setattr("ssptool.engine.simulate.open_writer", lambda *_, **_options: failing)
    with pytest.raises(OSError, match="No space left on device"):
        ends(tmp_path)
    assert failing.closed is None
