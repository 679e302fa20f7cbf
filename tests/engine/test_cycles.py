"""Create, run and free, over and over in one process: nothing is left, and nothing changes.

SSPTOOL_CYCLES says how often; 5000 is the full measurement, a few minutes long.
"""

import gc
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from ssptool import Settings
from ssptool.engine.run.make_plan import make_plan
from tests.engine.dual_mass import FMI2, FMI3, Folder, oscillator
from tests.engine.running import run

CYCLES = int(os.environ.get("SSPTOOL_CYCLES", "48"))
BLOCKS = 6
WARM_UP = 20
"""Cycles in which caches of libraries fill up."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")


def resident():
    """[byte], without what only waits for the garbage collector."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def open_files():
    """Descriptor → what it leads to, without files of tests before this one that wait for the garbage collector."""
    gc.collect()
    return {entry.name: entry.readlink() for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()}


def libraries():
    return {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith(".so")}


def children() -> set[str]:
    """Processes of this one, zombies included; those that other tests have left may be among them."""
    lists = Path("/proc/self/task").glob("*/children")
    return {process for one in lists for process in one.read_text().split()}


@pytest.mark.parametrize("sources", [FMI2, FMI3], ids=["fmi2", "fmi3"])
def test_cycles_leak_nothing_and_change_no_result(sources):
    """An allocator takes memory in lumps, now and then; what leaks comes in every block of cycles. Allowed is a kB per
    cycle: an instance, a state or a table that is not freed has more than that.
    """
    plan = make_plan(oscillator(sources, System2__m_c=2.0), Settings(stop_time=0.02, step_size=0.01))
    reference = run(plan, Folder()).unwrap().y.copy()
    for _ in range(WARM_UP):
        run(plan, Folder())
    files, loaded = open_files(), libraries()
    memory = [resident()]
    for _ in range(BLOCKS):
        for _ in range(CYCLES // BLOCKS):
            assert np.array_equal(run(plan, Folder()).unwrap().y, reference)
        memory.append(resident())
    assert np.median(np.diff(memory)) <= 1024 * (CYCLES // BLOCKS)
    assert open_files().items() <= files.items()
    assert libraries() <= loaded


def test_children_leave_no_files_open_and_no_processes():
    plan = make_plan(oscillator(), Settings(stop_time=0.02, step_size=0.01))
    run(plan, Folder(), isolated=True)
    files, others = open_files(), children()
    for _ in range(10):
        run(plan, Folder(), isolated=True)
    assert open_files().items() <= files.items()
    assert children() <= others
