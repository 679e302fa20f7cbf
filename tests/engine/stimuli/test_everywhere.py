"""Tables and scenarios together, with every master, in one ODE, beside one, in small steps, on threads, resumed.

A mass on a spring, cut in components that feed each other: m z'' + k z = F. Pushes add up, so that z is the sum of what
each gives: F0/k (1 − cos ω s) for a step of F0 and c/k (s − sin(ω s)/ω) for a slope of c, s after it began.
"""

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool.engine.method_names import AccelerationName
from tests.engine.dual_mass import Folder
from tests.engine.running import run
from tests.engine.stimuli.test_coupled import OMEGA, STIFFNESS
from tests.engine.systems import state_implementation, write_system

pytestmark = pytest.mark.one_in(3)

STOP = 0.3
WIRES = [("Mass.z", "Spring.z"), ("Mass.v", "Spring.v"), ("Spring.F", "A.u"), ("A.y", "B.u"), ("B.y", "Mass.F")]
INPUTS = {
    "A.w": ssptool.types.Table((0.0, 0.1037, 0.1037, 0.4), (0.0, 0.05, 0.02, 0.02)),
    "B.w": ssptool.types.Table((0.0, 0.052), (0.0, 0.01), "hold"),
}
SCENARIO = ssptool.types.Scenario(
    (
        ssptool.types.Event(0.1511, "Spring.F", "bias", 0.01),
        ssptool.types.Event(0.2, "A.u", "bias", -0.01),
        ssptool.types.Event(0.2251, "Spring.F", "reset"),
        ssptool.types.Event(0.25, "B.c", "bias", 0.005),
        ssptool.types.Event(0.27, "B.w", "override", 0.0),
    )
)
SLOPES = ((0.0, 0.05 / 0.1037), (0.1037, -0.05 / 0.1037))
STEPS = (
    *((0.1037, -0.03), (0.052, 0.01), (0.1511, 0.01), (0.2, -0.01), (0.2251, -0.01)),
    *((0.25, 0.005), (0.27, -0.01)),
)
AMPLITUDE = 0.05 / STIFFNESS

FIRST_ORDER = [{"master": "jacobi", "approximation": "hold"}, {"master": "gauss-seidel", "approximation": "hold"}]
SECOND_ORDER = [
    {"master": "jacobi"},
    {"master": "gauss-seidel"},
    {"master": "gauss-seidel", "approximation": "interpolate"},
    *({"master": "iterated", "acceleration": name.value} for name in AccelerationName),
    {"master": "iterated", "input_order": 2},
    {"master": "iterated", "iterations": 8},
    {"adaptive": 1e-6, "approximation": "interpolate"},
    {"master": "jacobi", "threads": 2},
    {"master": "iterated", "substeps": {"Mass": 3}},
    {"master": "jacobi", "substeps": {"Mass": 2, "A": 3}},
]
INTEGRATED = [{"implementation": "me", "tolerance": 1e-9}]
EVERY = [*FIRST_ORDER, *SECOND_ORDER, *INTEGRATED]


def exact(t):
    def past(start):
        return np.maximum(t - start, 0.0)

    slopes = (c * (past(a) - np.sin(OMEGA * past(a)) / OMEGA) for a, c in SLOPES)
    steps = (force * (1 - np.cos(OMEGA * past(a))) for a, force in STEPS)
    return (sum(slopes) + sum(steps)) / STIFFNESS


@pytest.fixture
def swing(models, write_swing):
    return write_swing(models)


@pytest.fixture
def write_swing(tmp_path):
    def write(fmus, *integrated):
        folder = write_system(
            tmp_path / "swing", fmus, {"Mass": "Mass", "Spring": "SpringDamper", "A": "Affine", "B": "Affine"}, WIRES
        )
        ssd = folder / "SystemStructure.ssd"
        text = ssd.read_text()
        for end in ('endElement="A"', 'startElement="B"'):
            text = text.replace(end, f'suppressUnitConversion="true" {end}')
        ssd.write_text(text)
        state_implementation(folder, *integrated)
        return folder

    return write


def planned(folder, h=5e-4, inputs=INPUTS, scenario=SCENARIO, **settings):
    return ssptool.plan(
        folder,
        inputs=inputs,
        scenario=scenario,
        start_values={"Mass.z": "0", "A.b": "1", "B.b": "1"},
        settings=ssptool.Settings(step_size=h, stop_time=STOP, **settings),
    )


def error(trace):
    """The largest one, relative."""
    return np.max(np.abs(trace["Mass.z"] - exact(trace.t))) / AMPLITUDE


def simulated(folder, **settings):
    return run(planned(folder, **settings), Folder(folder)).unwrap()


@pytest.mark.parametrize("settings", EVERY, ids=str)
def test_all_that_acts_from_outside_adds_up(swing, settings):
    """Held inputs let an oscillation grow by h ω²/2 per second if coupled explicitly: 0.3 s · 5e-4 · 1943/2 = 0.15."""
    limit = 0.3 if settings in FIRST_ORDER else 2e-7 if settings in INTEGRATED else 5e-3
    assert error(simulated(swing, **settings)) < limit


@pytest.mark.parametrize("settings", [{"master": "jacobi"}, {"master": "iterated"}], ids=str)
@pytest.mark.parametrize("integrated", [("A", "B"), ("Mass",), ("A", "B", "Spring")], ids=str)
def test_it_does_so_beside_an_ode(write_swing, engine_models, integrated, settings):
    folder = write_swing(engine_models, *integrated)
    trace = simulated(folder, tolerance=1e-9, **settings)
    assert error(trace) < 5e-3


@pytest.mark.parametrize("settings", EVERY, ids=str)
def test_a_function_does_what_the_table_does(write_swing, engine_models, settings):
    """Asked for at each step, which is done from Python."""
    folder = write_swing(engine_models)
    ramp = ssptool.types.Function(lambda t: t * 0.05 / 0.1037 if t < 0.1037 else 0.02, (0.1037,))
    functions = {"A.w": ramp, "B.w": INPUTS["B.w"]}
    one, other = (simulated(folder, inputs=inputs, **settings) for inputs in (INPUTS, functions))
    tight = 1e-6 if "implementation" in settings else 1e-9
    assert one["Mass.z"][-1] == approx(other["Mass.z"][-1], rel=tight)


@pytest.mark.parametrize("settings", EVERY, ids=str)
@pytest.mark.parametrize("time", [0.0613, 0.1711])
def test_what_is_saved_in_the_middle_of_a_table_goes_on_with_the_same_bits(
    write_swing, engine_models, tmp_path, settings, time
):
    """Between rows of both tables; the second time with a wire acted on."""
    folder = write_swing(engine_models)
    facts = {"inputs": INPUTS, "scenario": SCENARIO, "start_values": {"Mass.z": "0", "A.b": "1", "B.b": "1"}}
    facts["settings"] = ssptool.Settings(step_size=2e-3, stop_time=STOP, **settings)
    with ssptool.Simulation(folder, **facts) as simulation:
        simulation.run_until(time)
        simulation.save(tmp_path / "state")
        simulation.run_until(STOP)
        whole = simulation.trace
    with ssptool.Simulation(folder, **facts, saved=tmp_path / "state") as simulation:
        simulation.run_until(STOP)
        rest = simulation.trace
    assert np.array_equal(rest.t, whole.t[-len(rest.t) :])
    assert np.array_equal(rest.cells, whole.cells[-len(rest.t) :])
