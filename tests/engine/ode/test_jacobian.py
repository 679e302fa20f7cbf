"""df/dx from directional derivatives and from differences, against the matrix of the oscillator."""

from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from ssptool import Settings
from ssptool.engine.assembly.assembly import assemble
from ssptool.engine.ode.structure import structure
from ssptool.engine.run import frozen_integration
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.run.ode_steps import OdeSteps
from ssptool.engine.run.system import LoadedSystem
from tests.engine.dual_mass import MIXED, Folder, network, oscillator


@contextmanager
def steps_of(net, folder=None):
    plan = make_plan(net, Settings(implementation="me", integrator="rosenbrock", stop_time=1.0))
    loaded = LoadedSystem(plan)
    with assemble(loaded.native, loaded.adopted, plan, folder or Folder()) as assembly:
        report, _ = loaded.initialize(assembly)
        assert report.ok
        yield OdeSteps(loaded, assembly)


def evaluations(steps):
    """Since the last time."""
    return steps.run(np.empty((0, 1 + len(steps.assembly.plan.recorded)))).evaluations


@pytest.fixture
def differences(monkeypatch):
    """Jacobians by differences, though the FMUs give directional derivatives."""
    found = frozen_integration.integrator_of
    monkeypatch.setattr(frozen_integration, "integrator_of", lambda plan: replace(found(plan), directional=False))


def check_oscillator(flange, precision):
    """States in the order x1, v1, x2, v2."""
    m = 1 + flange
    expected = [[0, 1, 0, 0], [-20 / m, -0.7 / m, 10 / m, 0.5 / m], [0, 0, 0, 1], [10, 0.5, -30, -0.8]]
    with steps_of(oscillator(MIXED, System2__m_c=flange)) as found:
        matrix = found.jacobian(0.0, np.array([0.1, -0.2, 0.3, 0.4]))
    assert matrix == pytest.approx(np.array(expected), rel=precision, abs=precision)


@pytest.mark.parametrize("flange", (0.0, 2.0, 100.0))
def test_it_is_that_of_the_whole_system_loops_included(flange):
    check_oscillator(flange, 1e-12)


@pytest.mark.usefixtures("differences")
@pytest.mark.parametrize("flange", (0.0, 2.0, 100.0))
def test_differences_to_one_side_are_exact_to_about_their_steps(flange):
    check_oscillator(flange, 1e-5)


def test_its_pattern_follows_wires_and_declared_dependencies(models3):
    """In a chain of lags each depends on itself and on the one before it alone."""
    sources = dict.fromkeys("ABCD", "Lag.fmu")
    wires = [("A.x", "B.u"), ("B.x", "C.u"), ("C.x", "D.u")]
    plan = make_plan(network(sources, wires, folder=models3), Settings(implementation="me", stop_time=1.0))
    assert np.array_equal(structure(plan).pattern(), np.tri(4, dtype=bool) & ~np.tri(4, k=-2, dtype=bool))


def test_a_loop_makes_its_pattern_that_of_all_its_states():
    plan = make_plan(oscillator(), Settings(implementation="me"))
    expected = [[0, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 1], [1, 1, 1, 1]]
    assert np.array_equal(structure(plan).pattern(), np.array(expected, dtype=bool))


@pytest.mark.usefixtures("differences")
def test_differences_evaluate_f_once_per_colour(models3):
    """The columns of a bidiagonal matrix need two colours, however many there are; one more is to the other side."""
    names = [f"L{number:02}" for number in range(20)]
    wires = [(f"{a}.x", f"{b}.u") for a, b in pairwise(names)]
    net = network(dict.fromkeys(names, "Lag.fmu"), wires, folder=models3)
    with steps_of(net, Folder(models3)) as found:
        evaluations(found)
        matrix = found.jacobian(0.0, np.zeros(20))
        assert evaluations(found) == 1 + 2 + 1
    assert matrix == pytest.approx(-2 * np.eye(20) + 2 * np.eye(20, k=-1), abs=1e-6)
