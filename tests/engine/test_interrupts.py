"""Ctrl-C at any moment: what is said to be in the file is in it, and nothing else."""

import re
import signal
import sys
import time

import numpy as np
import pytest
from pytest import approx

from ssptool import Settings
from ssptool.engine import simulate
from ssptool.engine.isolation import child, parent
from ssptool.engine.recording import csv
from ssptool.engine.recording.csv import read_csv, read_manifest
from ssptool.engine.run import recorder
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.run.recorder import Recording, interrupts_deferred
from ssptool.tempfiles import locked_output
from tests.engine.dual_mass import Folder, oscillator
from tests.engine.running import run

pytestmark = pytest.mark.one_in(3)

WATCHED = {module.__file__ for module in (child, parent, recorder, simulate, csv)}
SAID = re.compile(r"the run had reached t = (\S+) s; (\d+) rows until then are in .*run\.csv")


class InterruptAtLine:
    """Raises SIGINT before the n-th line of the modules that follow a run is executed; counts the lines."""

    def __init__(self, n):
        self.left = n
        self.seen = 0

    def __call__(self, frame, event, _argument):
        if frame.f_code.co_filename not in WATCHED:
            return None
        if event == "line":
            self.seen += 1
            self.left -= 1
            if self.left == 0:
                signal.raise_signal(signal.SIGINT)
        return self


@pytest.fixture
def interrupted_at(tmp_path):
    """Run a system that takes some blocks of rows and interrupt it.

    Gives the file, what was said (None if it had ended), and the number of lines until then. The interrupts stay alive
    with all frames, as in a notebook.
    """
    interrupts = []
    plan = make_plan(oscillator(), Settings(stop_time=10.0, step_size=1e-3))
    path = tmp_path / "run.csv"

    def interrupted(line, *, isolated=True, **options):
        path.unlink(missing_ok=True)
        sys.settrace(at := InterruptAtLine(line))
        try:
            run(plan, Folder(), recording=Recording(path, keep=False, **options), isolated=isolated)
        except KeyboardInterrupt as stopped:
            interrupts.append(stopped)
            return path, getattr(stopped, "__notes__", []), at.seen
        finally:
            sys.settrace(None)
        return path, None, at.seen

    return interrupted


def test_an_interrupted_run_keeps_no_file_open(interrupted_at):
    """The next run could not write to it. The interrupts come from before the first row until after the last."""
    _, _, lines = interrupted_at(sys.maxsize, isolated=False)
    made = 0
    for line in range(1, lines, max(1, lines // 100)):
        path, _, _ = interrupted_at(line, isolated=False)
        if path.exists():
            locked_output(path)()
            made += 1
    assert made > 50


@pytest.mark.parametrize("options", [{}, {"every": 7}, {"output_step": 0.0137}], ids=str)
def test_the_last_row_in_the_file_is_the_one_that_is_named(interrupted_at, options):
    named = 0
    _, _, lines = interrupted_at(sys.maxsize, **options)
    for line in range(lines // 5, lines, lines // 20):
        path, notes, _ = interrupted_at(line, **options)
        if not notes or "had not begun" in notes[0]:
            continue
        time, rows = SAID.fullmatch(notes[0]).groups()
        trace = read_csv(path)
        assert (float(time), int(rows)) == (approx(trace.t[-1], rel=1e-5), len(trace))
        assert path.read_bytes().endswith(b"\n")
        assert read_manifest(path)["status"] == "interrupted"
        named += 1
    assert named > 6  # the others may come before the first row, or after the last


def test_what_the_child_has_done_by_then_is_in_the_file(tmp_path):
    """The child goes on while its parent does something else, until it has as many blocks as may wait: 1 row, 64 and
    at most eight times more each.
    """
    plan = make_plan(oscillator(), Settings(stop_time=20.0, step_size=1e-3))
    path = tmp_path / "run.csv"

    def progress(fraction):
        time.sleep(1.0)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        run(plan, Folder(), recording=Recording(path, keep=False), progress=progress, isolated=True)
    trace = read_csv(path)
    assert len(trace) > 1 + 64
    assert trace.t == approx(1e-3 * np.arange(len(trace)), abs=1e-9)
    assert f"{len(trace)} rows until then" in stopped.value.__notes__[0]


def test_an_interrupt_waits_for_the_end_of_what_must_not_be_done_by_halves():
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts_deferred():
        signal.raise_signal(signal.SIGINT)
        done.append("all")
    assert done == ["all"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_interrupt_does_not_wait():
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts_deferred():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        done.append("all")
    assert not done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
