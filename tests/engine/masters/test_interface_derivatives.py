"""The Jacobian of a macro step from partial derivatives of the FMUs: what it is, and what it is worth."""

import ctypes
from dataclasses import dataclass, replace

import numpy as np
import pytest
from pytest import approx
from scipy.linalg import expm

import ssptool
from ssptool import Settings
from ssptool.engine.failure import Ending
from ssptool.engine.kernel._methods import exponential, step_response
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.run.system import SystemSteps
from ssptool.fmu.instance import FmuInstance
from tests.engine.dual_mass import FMI2, FMI3, MIXED, Folder, network, oscillator, simulate
from tests.engine.ode.systems import check_same, saved_and_resumed
from tests.engine.running import run
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
    found = step_response(a, b, h, [0, 1, 2])
    assert found[0] == approx(np.array([1 / 2, 1 / 6, 1 / 8]) * h**2 / m, rel=1e-12)
    assert found[1] == approx(np.array([1, 1 / 2, 5 / 12]) * h / m, rel=1e-12)


@dataclass(frozen=True)
class LastStep:
    """Of the last step of a run: derivatives that FMUs give, which columns are known, and differences of the step."""

    matrix: np.ndarray
    known: list[bool]
    differences: np.ndarray


@pytest.fixture
def last_step(monkeypatch, reached):
    """Asks for the last step of the runs that come; all in nominal values."""
    found, remarks = [], SystemSteps.remarks

    def look(steps):
        kernel, plan = steps.kernel, steps.assembly.plan
        (unknowns,) = (list(group.unknowns) for group in plan.groups if group.unknowns)
        x = kernel.values[unknowns] / np.array(plan.nominal)[unknowns]
        matrix, known = kernel.step_derivatives(0)
        kernel.discard_point()  # the step is done again, from the point before
        value, sizes = kernel.repeat_step(0, x), 1e-4 * np.maximum(np.abs(x), 1.0)
        changes = [kernel.repeat_step(0, moved) - value for moved in x + np.diag(sizes)]
        found.append(LastStep(matrix, list(known), np.transpose(changes) / sizes))
        return remarks(steps)

    monkeypatch.setattr(SystemSteps, "remarks", look)
    return lambda: found[-1]


def offering(net, name, **flags):
    one = net.components[name]
    interface = replace(one.description.co_simulation, **flags)
    return replace(
        net,
        components=net.components | {name: replace(one, description=replace(one.description, co_simulation=interface))},
    )


NEWTON = {"acceleration": "newton", "stop_time": 0.2, "step_size": 0.05}
MASS_ON_A_SPRING = [("Mass.z", "Spring.z"), ("Mass.v", "Spring.v"), ("Spring.F", "Mass.F")]


def mass_on_a_spring(fmus, folder):
    return write_system(folder / "system", fmus, {"Mass": "Mass", "Spring": "SpringDamper"}, MASS_ON_A_SPRING)


@pytest.mark.parametrize("sources", [FMI2, FMI3, MIXED])
@pytest.mark.parametrize(
    ("approximation", "order"), [("hold", 1), ("mid-step", 1), ("interpolate", 1), ("interpolate", 2)]
)
@pytest.mark.parametrize("m_c", [0.0, 2.0])
def test_of_linear_components_the_jacobian_is_exact(last_step, sources, approximation, order, m_c):
    """Also through the algebraic loop of a heavy flange. Differences of steps integrated to 1e-9 or so, over 1e-4."""
    settings = {
        "approximation": approximation,
        "input_order": order,
        "acceleration": "newton",
        "stop_time": 0.2,
        "step_size": 0.05,
    }
    assert simulate(oscillator(sources, System2__m_c=m_c), **settings).ok
    found = last_step()  # with two points of the past that order 2 needs
    assert all(found.known) and np.abs(found.differences).max() > 0.1
    assert found.matrix == approx(found.differences, abs=2e-4)


def test_adjoint_derivatives_serve_as_well(last_step):
    net = oscillator(FMI3)
    for name in FMI3:
        net = offering(net, name, directional_derivatives=False)
    assert simulate(net, **NEWTON).ok
    found = last_step()
    assert all(found.known) and found.matrix == approx(found.differences, abs=2e-4)


def test_columns_of_an_fmu_without_derivatives_are_left_to_differences(last_step):
    """System1 knows how F moves it; its a1 follows from F at once, but it knows that too. System2 knows neither how its
    inputs move it nor how they pass, so that not even the column of F is known: x1, v1 and a1 lead through System2.
    """
    assert simulate(offering(oscillator(), "System2", directional_derivatives=False), **NEWTON).ok
    assert not any(last_step().known)


def test_columns_that_meet_no_unknown_feedthrough_are_known(last_step, engine_models):
    """The spring passes z and v on at once, the mass nothing: without derivatives of the mass, its column alone is
    missing.
    """
    net = network({"Mass": "Mass.fmu", "Spring": "SpringDamper.fmu"}, MASS_ON_A_SPRING, folder=engine_models)
    net = offering(net, "Mass", directional_derivatives=False)
    plan = make_plan(net, Settings(stop_time=0.01, step_size=1e-3, acceleration="newton"))
    assert run(plan, Folder(engine_models)).ok
    found = last_step()
    assert found.known == [False, True, True]  # Mass.F; Spring.z, Spring.v, which have no states to move
    assert found.matrix[:, 1:] == approx(found.differences[:, 1:], abs=1e-6)


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


@pytest.mark.parametrize(
    ("adjoint", "function", "calls"),
    [(True, "fmi3GetAdjointDerivative", 3), (False, "fmi3GetDirectionalDerivative", 5)],
)
def test_the_way_that_takes_fewer_calls_is_taken(adjoint, function, calls):
    """Of System2: the slopes of two states, and F, by these states and three inputs, where no two rows or columns have
    nothing in common. Three directional derivatives are those of inputs at the start.
    """
    net = offering(oscillator(FMI3), "System2", adjoint_derivatives=adjoint)
    result = run(make_plan(net, Settings(**NEWTON)), Folder(), measured=True)
    asked = {one.function: one.calls for one in result.statistics.calls if one.component == "System2"}
    assert asked[function] == 4 * calls + (0 if adjoint else 3)


NAME = "fmi3GetDirectionalDerivative"
PAIR = (ctypes.c_void_p, ctypes.c_size_t)
ASK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *PAIR * 4)


@pytest.fixture
def answers(monkeypatch):
    """Has an FMU of FMI 3.0 say that nothing depends on anything, or refuse, where it is asked for three columns or
    more; the number of these questions.
    """
    asked, kept, functions = [], [], FmuInstance.functions

    def become(component, status):
        def changed(instance):
            found = functions.fget(instance)
            if instance.name != component:
                return found
            own = ASK(found[NAME])

            def ask(fmu, unknowns, m, knowns, n, seed, seeds, derivatives, count):
                if n < 3:
                    return own(fmu, unknowns, m, knowns, n, seed, seeds, derivatives, count)
                asked.append(seeds)
                ctypes.memset(derivatives, 0, 8 * count)
                return status

            kept.append(ASK(ask))
            return {**found, NAME: ctypes.cast(kept[-1], ctypes.c_void_p).value}

        monkeypatch.setattr(FmuInstance, "functions", property(changed))
        return asked

    yield become
    kept.clear()


def test_an_fmu_that_refuses_is_asked_once(answers):
    asked = answers("System1", 3)
    net = offering(oscillator(FMI3), "System1", adjoint_derivatives=False)
    assert simulate(net, **NEWTON).ok
    assert len(asked) == 1


def test_derivatives_that_are_not_those_of_the_steps_give_way_to_differences(answers):
    """After two iterations of one step in vain, once and for all: x1, v1 and a1 do not follow from F, says System1, on
    which a stiff spring acts.
    """
    asked = answers("System1", 0)
    net = offering(oscillator(FMI3, System2__k2=1e4), "System1", adjoint_derivatives=False)
    counts = []
    for stop in (0.2, 0.4):
        result = simulate(net, **{**NEWTON, "stop_time": stop})
        assert result.ok and result.statistics.iterations_mean <= 4.0
        counts.append(len(asked))
    assert counts == [counts[0], 2 * counts[0]] and 0 < counts[0] <= 4 * 3  # three columns: two states and F


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
    """k h²/6m = 324: the plain iteration grows by that, a linear one with its exact Jacobian is over at the second.

    The steps themselves are not stable, so that a longer run fails.
    """
    system = mass_on_a_spring(engine_models, tmp_path)

    def stiff(acceleration, stop_time=0.01):
        settings = Settings(stop_time=stop_time, step_size=1e-3, acceleration=acceleration)
        return ssptool.simulate(system, start_values={"Spring.k": "69.48e6", "Spring.d": "100"}, settings=settings)

    assert not stiff("none").ok
    found = stiff("newton")
    assert found.ok and found.statistics.iterations_max <= 3 and found.statistics.iterations_mean <= 2.1
    assert stiff("newton", 0.1).status is Ending.UNSTABLE


@pytest.mark.parametrize("silent", [[], ["System2"], ["System1", "System2"]], ids=str)
def test_a_saved_simulation_goes_on_with_the_jacobian_that_it_had(silent, tmp_path):
    """As many iterations and the same bits as without a break."""
    net = oscillator(System2__k2=1e4)
    for name in silent:
        net = offering(net, name, directional_derivatives=False)
    plan = make_plan(net, Settings(**{**NEWTON, "stop_time": 0.4}))
    check_same(*saved_and_resumed(plan, Folder(), tmp_path / "saved", 7))
