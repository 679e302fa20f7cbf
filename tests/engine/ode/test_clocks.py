"""Clocks of components of model exchange."""

import numpy as np
import pytest

from ssptool import Settings
from ssptool.engine.run.make_plan import make_plan
from tests.engine.dual_mass import Folder, network
from tests.engine.ode.systems import both_sides, check_same, integrate, saved_and_resumed

SOURCES = {"Tank": "Vessel", "Sampler": "Sampler", "Follower": "Follower"}
WIRES = [("Tank.x", "Sampler.u"), ("Sampler.third", "Follower.trigger"), ("Sampler.value", "Follower.v")]
VALUES = {"Tank.fill": 1.0}


def sampled(folder, **settings):
    return integrate(folder, SOURCES, WIRES, VALUES, **{"step_size": 0.25, "tolerance": 1e-9} | settings)


def test_a_periodic_clock_ticks_when_it_says_between_communication_points_too(hybrids3):
    """x = t is sampled every 0.1 s, from t = 0 on."""
    trace = sampled(hybrids3).unwrap()
    events = both_sides(trace)
    assert trace.t[events] == pytest.approx(np.arange(1, 11) / 10, abs=1e-12)
    assert trace["Sampler.held"][events + 1] == pytest.approx(np.arange(1, 11) / 10, abs=1e-8)
    assert trace["Sampler.held"][events] == pytest.approx(np.arange(10) / 10, abs=1e-8)
    assert trace["Sampler.y"][events + 1] == pytest.approx(np.arange(1, 11) / 5, abs=1e-8)
    assert trace["Sampler.samples"][-1] == 11


def test_an_output_clock_triggers_another_component_with_the_values_of_that_instant(hybrids3):
    """Every third sample: at 0.2, 0.5 and 0.8."""
    trace = sampled(hybrids3).unwrap()
    changes = np.flatnonzero(np.diff(trace["Follower.ticks"]))
    assert trace.t[changes] == pytest.approx([0.2, 0.5, 0.8], abs=1e-12)
    assert trace["Follower.last"][changes + 1] == pytest.approx([100.2, 100.5, 100.8], abs=1e-8)
    assert trace["Follower.v"][changes + 1] == pytest.approx([100.2, 100.5, 100.8], abs=1e-8)


def test_ticks_are_exact_over_many_periods(hybrids3):
    """The sum of a hundred doubles of 0.1 would be off by 1e-14, and the last tick would be missing or double."""
    result = sampled(hybrids3, stop_time=10.0, step_size=1.0)
    trace = result.unwrap()
    assert trace["Sampler.samples"][-1] == 101
    assert trace.t[both_sides(trace)] == pytest.approx(np.arange(1, 101) / 10, abs=1e-12)


def test_clocks_go_on_elsewhere_where_they_were(hybrids3, tmp_path):
    files = {name: f"{fmu}.fmu" for name, fmu in SOURCES.items()}
    plan = make_plan(
        network(files, WIRES, VALUES, folder=hybrids3), Settings(implementation="me", stop_time=1.0, step_size=0.25)
    )
    check_same(*saved_and_resumed(plan, Folder(hybrids3), tmp_path / "saved", 2))
