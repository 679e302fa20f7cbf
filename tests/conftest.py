"""What holds for all tests."""

import gc
import os
import signal
import sys
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

# Matrices of tests are small: threads that multiply them wait for each other, and so for other tests. Programs that
# tests start have as many as those of users.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np  # noqa: F401
import scipy.linalg  # noqa: F401

del os.environ["OPENBLAS_NUM_THREADS"]

# Examples are whole documents, systems and runs: a machine that is busy takes longer over them than hypothesis expects.
settings.register_profile("whole documents", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("whole documents")

# Thousands of tests simulate, and most of them are about something else: those about accuracy ask for it.
os.environ["SSPTOOL_ACCURACY"] = "off"

# Shells let what they run in the background ignore interrupts, and so would every process that a test starts and
# interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

POSIX = (
    "cli/test_full_disks.py",
    "cli/test_isolated_runs.py",
    "cli/test_live_plot.py",
    "cli/test_work_in_progress.py",
    "editing/test_interrupted_edits.py",
    "editing/test_packing.py",
    "editing/test_several_editors.py",
    "engine/test_cycles.py",
    "engine/test_processes.py",
    "rules/test_fuzz.py",
    "safety/campaign.py",
    "safety/test_bounded_work.py",
    "safety/test_children.py",
    "safety/test_left_processes.py",
    "safety/test_sandbox.py",
    "safety/test_sandboxed_commands.py",
    "safety/test_shared_memory.py",
    "safety/test_special_files.py",
    "safety/test_studies.py",
    "safety/test_terminals.py",
    "safety/test_together.py",
    "studies/test_running.py",
    "studio/test_arranging.py",
    "studio/test_unsaved.py",
    "test_tempfiles.py",
)
"""Modules that need what only POSIX has: signals that cannot be caught, limits, forks, named pipes."""

collect_ignore = list(POSIX) if sys.platform == "win32" else []


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of each test in a module marked `one_in(n)`, all parameters are slow except each n-th. Random orders take others
    each time.
    """
    parameters: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("one_in")
        if mark is not None and isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            name = f"{item.path}::{item.originalname}"
            if parameters[name] % mark.args[0]:
                item.add_marker("slow")
            parameters[name] += 1


def pytest_collection_finish() -> None:
    """Tests live until the end: looking for garbage among them takes time, and finds none."""
    gc.collect()
    gc.freeze()
