"""The rotational spring-mass-damper: what the claims about it rest on, and how its flanges are wired."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool import Settings
from tests.systems.claims.couplings import END_VALUE, INTERPOLATED
from tests.systems.claims.rotational_spring_mass_damper import EXACT, MATRIX, START, SYSTEM, energy, run
from tests.systems.exact_linear import states


def test_the_graph_has_no_algebraic_loop():
    """Inertias give angle and velocity, which are states: no torque depends on itself at the same instant."""
    assert all(cycle.loops == () for cycle in ssptool.graph(SYSTEM).cycles)


@pytest.mark.parametrize(
    ("t", "expected"),
    [
        (0.1, (0.129223892390, 2.458130157428, 0.926152492456, -1.396792160189)),
        (1.0, (-0.409827992508, -1.154158083198, 0.263925448932, -1.091102392927)),
        (10.0, (0.013708334244, 0.036699117157, 0.016823728209, 0.030318067119)),
    ],
)
def test_the_closed_form_has_the_values_of_an_independent_computation(t, expected):
    """A matrix exponential with 40 digits; its figures are printed to half a unit of the twelfth decimal."""
    assert states(MATRIX, START, np.array([0.0, t]))[-1] == approx(expected, abs=1e-12)


def test_both_springs_are_wound_up_at_the_start():
    t, y = run(stop_time=0.01, **EXACT)
    assert t[0] == 0.0
    assert energy(y)[0] == approx(8.0, abs=1e-12)


@pytest.mark.parametrize(
    ("coupling", "limit"),
    [pytest.param(END_VALUE, 0.197943, id="end-value"), pytest.param(INTERPOLATED, 0.348637, id="interpolated")],
)
def test_acceleration_converges_where_plain_repetition_does_not(coupling, limit):
    """Half as far again as the spectral radius of one repetition allows."""
    settings = Settings(step_size=1.5 * limit, stop_time=30 * limit, max_iterations=2000, **coupling)
    assert ssptool.simulate(SYSTEM, settings=settings).ok


FLANGES = [
    ("inertia1.flange_b", "spring1.flange_a"),
    ("inertia1.flange_b2", "damper1.flange_a"),
    ("spring1.flange_b", "inertia2.flange_a"),
    ("damper1.flange_b", "inertia2.flange_a2"),
    ("inertia2.flange_b", "spring2.flange_a"),
    ("inertia2.flange_b2", "damper2.flange_a"),
    ("spring2.flange_b", "ground.flange"),
    ("damper2.flange_b", "ground.flange"),
]


def wires(path: Path) -> set[tuple[str, str]]:
    return {(str(wire.source), str(wire.destination)) for wire in ssptool.flatten(path).wires}


def test_connecting_the_flanges_makes_all_connections_of_the_system(tmp_path):
    """Each flange is a terminal of an FMU: motion goes one way and torque the other."""
    rewired = shutil.copytree(SYSTEM, tmp_path / "rewired")
    expected = wires(SYSTEM)
    with ssptool.edit(rewired) as system:
        for a, b in FLANGES:
            system.disconnect(a, b)
    assert not wires(rewired)
    with ssptool.edit(rewired) as system:
        for a, b in FLANGES:
            system.connect(a, b)
    assert wires(rewired) == expected
    settings = Settings(stop_time=0.1)
    traces = [ssptool.simulate(path, settings=settings).trace for path in (SYSTEM, rewired)]
    assert np.array_equal(traces[0].y, traces[1].y)
