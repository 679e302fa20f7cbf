"""Which kernel is under test."""

import os
from pathlib import Path

import pytest

import ssptool.engine.kernel as kernels
from ssptool.engine.kernel import _kernel, create
from ssptool.engine.kernel.interface import Kernel


def test_the_kernel_asked_for_is_the_one_that_is_made():
    assert create(1, native=False).name == "twin"
    assert create(1, native=True).name == create(1).name == "native"


def test_the_build_asked_for_is_the_one_under_test():
    """A run with sanitizers must not pass by testing the ordinary build."""
    asked = os.environ.get("SSPTOOL_KERNEL")
    assert _kernel.sanitized is (asked is not None)
    if asked:
        assert Path(_kernel.__file__).samefile(asked)


def test_both_kernels_offer_the_whole_protocol_and_nothing_else():
    offered = {name for name in vars(Kernel) if not name.startswith("_")}
    for native in (False, True):
        assert {name for name in dir(create(1, native=native)) if not name.startswith("_")} == offered


ELSEWHERE = {
    "clocks",
    "continuous_model",
    "event_mode",
    "events",
    "fractions",
    "integration",
    "ode_component",
    "ode_events",
    "ode_jacobian",
    "ode_system",
    "stopped",
    "time_grid",
    "zeno",
}
"""Files of the core whose Python is in engine, engine/ode, engine/event_mode and engine/assembly."""


def test_each_file_of_the_twin_has_its_pair_in_the_core():
    folder = Path(kernels.__file__).parent
    twin = {path.stem for path in (folder / "twin").glob("[!_]*.py")}
    core = {path.stem for path in (folder / "core").glob("*.?pp")}
    alone = {"calls", "digits", "floating_point", "fmi", "solutions", "special_numbers", "workers"} | ELSEWHERE
    assert (core - twin, twin - core) == (alone, set())


@pytest.mark.parametrize("native", [False, True])
def test_kernels_of_one_process_are_independent(native):
    first, second = create(2, native=native), create(2, native=native)
    first.values[:] = 1.0
    assert second.values.tolist() == [0.0, 0.0]
    assert create(1, native=native).environment() != 0
