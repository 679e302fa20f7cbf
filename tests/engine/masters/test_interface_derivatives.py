"""The Jacobian of a macro step from partial derivatives of the FMUs: what it is, and what it is worth."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy.linalg import expm

import ssptool
from ssptool import Settings
from ssptool.engine.iterated.jacobians import Domain, FiniteDifferences
from ssptool.engine.masters import acceleration
from ssptool.engine.masters.acceleration import GroupInterface, InterfaceNewton
from ssptool.engine.masters.protocols import StepDerivatives
from ssptool.engine.masters.registry import ADJOINT
from ssptool.engine.method_names import AccelerationName
from ssptool.engine.ode.jacobian import FORWARD, PartialDerivatives
from ssptool.engine.run.interface_jacobian import _response, exponential
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.simulate import run
from tests.engine.dual_mass import FMI2, FMI3, MIXED, Folder, network, oscillator, simulate
from tests.engine.masters.test_interfaces import iterations
from tests.engine.systems import write_system
from tests.systems import flyball_governor as governor


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((2, 2)),
        np.array([[0.0, 1.0], [0.0, 0.0]]),
        np.array([[0.0, 30.0], [-30.0, 0.0]]),
        np.diag([-8117.0, -20.0, 0.0]),
        np.array([[-8e4, 8e4, 1.0], [1.0, -2.0, 3.0], [0.0, 0.0, 0.0]]),
    ],
)
def test_the_exponential_is_that_of_scipy(matrix):
    """To 1e-7 of the largest element: 30 radians of rotation or 3e5 of a decay, times 4e-11."""
    assert exponential(matrix) == approx(expm(matrix), abs=1e-7 * np.abs(expm(matrix)).max())


def test_inputs_act_on_a_mass_as_the_integrals_say():
    """z'' = u/m over h = 0.1 s. Held: z = h²/2m, v = h/m per N; as a ramp, h²/6m and h/2m; on the parabola through two
    zeros h apart, u = s (s + h)/2h², h²/8m and 5h/12m.
    """
    a, b, h, m = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0] * 3, [0.5] * 3]), 0.1, 2.0
    found = _response(a, b, h, np.array([0, 1, 2]))
    assert found[0] == approx(np.array([1 / 2, 1 / 6, 1 / 8]) * h**2 / m, rel=1e-12)
    assert found[1] == approx(np.array([1, 1 / 2, 5 / 12]) * h / m, rel=1e-12)


class Witness:
    """An acceleration that compares derivatives with differences of whole steps at each first iterate."""

    name = "witness"

    def __init__(self):
        self.pairs, self.inner = [], InterfaceNewton()

    def start(self, interface):
        self.interface, self.accelerator = interface, self.inner.start(interface)
        return self

    def begin(self):
        self.accelerator.begin()
        self.first = True
        return self

    def __call__(self, x, value):
        if self.first:
            known = self.interface.derivatives()
            differences = FiniteDifferences(None, 1e-4).at(self.interface.step, x, value, Domain.of_size(len(x)))
            self.pairs.append((known, differences))
            self.interface.step(x)
        self.first = False
        return self.accelerator(x, value)

    def save_state(self):
        return {}


@pytest.fixture
def witness(monkeypatch):
    found = Witness()
    monkeypatch.setitem(acceleration.ACCELERATIONS, AccelerationName.NEWTON, lambda: found)
    return found


def offering(net, name, **flags):
    one = net.components[name]
    interface = replace(one.description.co_simulation, **flags)
    return replace(
        net,
        components=net.components | {name: replace(one, description=replace(one.description, co_simulation=interface))},
    )


MASS_ON_A_SPRING = [("Mass.z", "Spring.z"), ("Mass.v", "Spring.v"), ("Spring.F", "Mass.F")]


def mass_on_a_spring(fmus, folder):
    return write_system(folder / "system", fmus, {"Mass": "Mass", "Spring": "SpringDamper"}, MASS_ON_A_SPRING)


@pytest.mark.parametrize("sources", [FMI2, FMI3, MIXED])
@pytest.mark.parametrize(("approximation", "order"), [("hold", 1), ("interpolate", 1), ("interpolate", 2)])
@pytest.mark.parametrize("m_c", [0.0, 2.0])
def test_of_linear_components_the_jacobian_is_exact(witness, sources, approximation, order, m_c):
    """Also through the algebraic loop of a heavy flange. Differences of steps integrated to 1e-9 or so, over 1e-4."""
    settings = {
        "approximation": approximation,
        "input_order": order,
        "acceleration": "newton",
        "stop_time": 0.2,
        "step_size": 0.05,
    }
    assert simulate(oscillator(sources, System2__m_c=m_c), **settings).ok
    found, differences = witness.pairs[-1]  # with two points of the past that order 2 needs
    assert found.known.all() and np.abs(differences).max() > 0.1
    assert found.matrix == approx(differences, abs=2e-4)


def test_adjoint_derivatives_serve_as_well(witness):
    net = oscillator(FMI3)
    for name in FMI3:
        net = offering(net, name, directional_derivatives=False)
    assert simulate(net, acceleration="newton", stop_time=0.2, step_size=0.05).ok
    found, differences = witness.pairs[-1]
    assert found.known.all() and found.matrix == approx(differences, abs=2e-4)


def test_columns_of_an_fmu_without_derivatives_are_left_to_differences(witness):
    """System1 knows how F moves it; its a1 follows from F at once, but it knows that too. System2 knows neither how its
    inputs move it nor how they pass, so that not even the column of F is known: x1, v1 and a1 lead through System2.
    """
    settings = {"acceleration": "newton", "stop_time": 0.2, "step_size": 0.05}
    assert simulate(offering(oscillator(), "System2", directional_derivatives=False), **settings).ok
    assert not witness.pairs[-1][0].known.any()


def test_columns_that_meet_no_unknown_feedthrough_are_known(witness, engine_models):
    """The spring passes z and v on at once, the mass nothing: without derivatives of the mass, its column alone is
    missing.
    """
    net = network({"Mass": "Mass.fmu", "Spring": "SpringDamper.fmu"}, MASS_ON_A_SPRING, folder=engine_models)
    net = offering(net, "Mass", directional_derivatives=False)
    plan = make_plan(net, Settings(stop_time=0.01, step_size=1e-3, acceleration="newton"))
    assert run(plan, Folder(engine_models)).ok
    found, differences = witness.pairs[-1]
    assert found.known.tolist() == [False, True, True]  # Mass.F; Spring.z, Spring.v, which have no states to move
    assert found.matrix[:, 1:] == approx(differences[:, 1:], abs=1e-6)


def test_the_plan_says_where_the_jacobian_comes_from():
    def choice(net):
        plan = make_plan(net, Settings(acceleration="newton"))
        return next(one for one in plan.choices if one.setting == "jacobian")

    assert choice(oscillator()).value == "directional derivatives"
    partly = choice(offering(oscillator(), "System2", directional_derivatives=False))
    assert "finite differences where there are none" in partly.value and "System2" in partly.reason
    silent = offering(
        offering(oscillator(), "System2", directional_derivatives=False), "System1", directional_derivatives=False
    )
    assert choice(silent).value == "finite differences"


@pytest.mark.parametrize(("adjoint", "calls"), [(True, 1), (False, 3)])
def test_the_way_that_takes_fewer_calls_is_taken(adjoint, calls):
    """One unknown y = 2 a + 3 b + 4 c: one row, or three columns."""
    asked = []

    def answer(seed, row):
        asked.append(1)
        return np.array([2.0, 3.0, 4.0]) * seed[0] if row else np.array([np.array([2.0, 3.0, 4.0]) @ seed])

    found = derivatives(answer, adjoint)()
    assert found.tolist() == [[2.0, 3.0, 4.0]] and len(asked) == calls


def test_an_fmu_that_refuses_is_asked_once():
    asked = []

    def answer(seed, row):
        asked.append(1)

    one = derivatives(answer, False)
    assert one() is None and one() is None and len(asked) == 1


def derivatives(answer, adjoint):
    """Those of an FMU of FMI 3.0 with one unknown and three knowns that answers like this; None: an error."""

    def function(row):
        def call(instance, unknowns, m, knowns, n, seed, seeds, sensitivity, count):
            vector = answer(np.ctypeslib.as_array(ctypes.cast(seed, DOUBLES), (seeds,)), row)
            if vector is not None:
                np.ctypeslib.as_array(ctypes.cast(sensitivity, DOUBLES), (count,))[:] = vector
            return 3 if vector is None else 0

        pair = (ctypes.c_void_p, ctypes.c_size_t)
        return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *pair * 4)(call)

    kept = {FORWARD[3]: function(False), ADJOINT: function(True)}
    functions = {name: ctypes.cast(one, ctypes.c_void_p).value for name, one in kept.items()}
    references = np.array([7], dtype=np.uint32), np.array([1, 2, 3], dtype=np.uint32)
    pattern = np.ones((1, 3), dtype=bool)
    made = PartialDerivatives(functions, 0, *references, pattern, 3, forward=True, adjoint=adjoint)
    KEPT.append(kept)
    return made


DOUBLES = ctypes.POINTER(ctypes.c_double)
KEPT = []
"""Functions must outlive those who call them."""


# -- the method on a closed form ---------------------------------------------------------------------------------

A = np.array([[0.0, -20.0], [15.0, 3.0]])


def newton(matrix, known, steps=1):
    """Iterations of each of some steps of x = A x + 1, and calls of the step, with what are said to be derivatives."""
    calls, counts = [], []

    def step(x):
        calls.append(x)
        return A @ x + 1.0

    derivatives = StepDerivatives(matrix, np.array(known))
    interface = GroupInterface(step, lambda: np.ones((2, 2), dtype=bool), lambda: derivatives)
    accelerator = InterfaceNewton().start(interface)
    for _ in range(steps):
        x, count = iterations(accelerator, lambda x: A @ x + 1.0, np.zeros(2))
        assert x == approx(np.linalg.solve(np.eye(2) - A, np.ones(2)), rel=1e-6)
        counts.append(count)
    return counts, len(calls)


def test_with_all_derivatives_no_step_is_done_for_the_jacobian():
    assert newton(A, [True, True]) == ([2], 0)


def test_only_missing_columns_cost_steps():
    """One column: one step."""
    counts, calls = newton(np.array([[0.0, 0.0], [15.0, 0.0]]), [True, False])
    assert counts[0] <= 3 and calls == 1


def test_derivatives_that_are_not_those_of_the_steps_give_way_to_differences():
    """Two iterations in vain, then two differences, once and for all."""
    counts, calls = newton(np.zeros((2, 2)), [True, True], steps=3)
    assert counts[0] <= 7 and counts[1:] == [counts[1]] * 2 and counts[1] <= 3
    assert calls == 2


# -- what it is worth -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("step", "iterations"), [(1e-3, 2.05), (1e-2, 3.6)])
def test_the_stiff_coupler_takes_hardly_more_than_two_iterations(step, iterations):
    """One to find out, one to see that it is right; at 1e-2 s the step is not linear. Without derivatives it is 2.6 and
    8.5 beside the steps for differences, and 2.1 and 5.2 of IQN-ILS.
    """
    settings = {"step_size": step, "stop_time": 2.0}
    result = governor.run(governor.CUT_AT_COUPLER, acceleration="newton", **settings)
    assert result.unwrap() and result.statistics.iterations_mean <= iterations
    other = governor.run(governor.CUT_AT_COUPLER, acceleration="anderson", **settings)
    assert other.statistics.iterations_mean > 1.5 * result.statistics.iterations_mean
    assert np.max(np.abs(result.trace["Slider.s"] - other.unwrap()["Slider.s"])) <= 1e-8


def test_a_stiff_spring_on_a_mass_takes_two_iterations(engine_models, tmp_path):
    """k h²/6m = 324: the plain iteration grows by that, a linear one with its exact Jacobian is over at the second."""
    system = mass_on_a_spring(engine_models, tmp_path)

    def stiff(acceleration):
        settings = Settings(stop_time=0.1, step_size=1e-3, acceleration=acceleration)
        return ssptool.simulate(system, start_values={"Spring.k": "69.48e6", "Spring.d": "100"}, settings=settings)

    assert not stiff("none").ok
    found = stiff("newton")
    assert found.ok and found.statistics.iterations_max <= 3 and found.statistics.iterations_mean <= 2.1
