"""Initialization of running FMUs against closed forms."""

from dataclasses import replace

import pytest
from pytest import approx

from ssptool import Settings
from ssptool.engine.failure import Ending, Unsupported
from ssptool.engine.kernel.solutions import SolutionStatus
from ssptool.engine.run.make_plan import make_plan
from ssptool.network.network import Assignment, Port, Signal, Wire
from ssptool.network.signal_graph import Stage
from tests.engine.dual_mass import FMI2, FMI3, MIXED, NO_FLANGE, NOWHERE, Folder, network, oscillator, simulate
from tests.engine.running import run


def start(net, **settings):
    return simulate(net, stop_time=0.0, **settings)


@pytest.mark.parametrize("sources", [FMI2, FMI3, MIXED, NO_FLANGE])
def test_the_oscillator_starts_with_a_force_of_five(sources):
    """F = k2 (x2 − x1) = 10 · 0.5 N and a1 = F/m1; both exact to rounding."""
    trace = start(oscillator(sources)).unwrap()
    for name in ("System1.F", "System1.a1", "System2.F", "System2.a1"):
        assert trace[name][0] == approx(5.0, abs=1e-12)


@pytest.mark.parametrize("sources", [FMI2, FMI3, MIXED])
@pytest.mark.parametrize("m_c", [0.5, 0.99, 1.0, 2.0, 100.0, 1e4])
def test_a_loop_of_any_gain_is_solved(sources, m_c):
    """a1 = (5 − m_c a1)/m1 with m1 = 1: a loop of gain −m_c, solved by 5/(1 + m_c)."""
    result = start(oscillator(sources, System2__m_c=m_c))
    assert result.unwrap()["System1.a1"][0] == approx(5 / (1 + m_c), rel=1e-10)
    assert [loop.stage for loop in result.initialization.loops] == [Stage.INITIALIZATION, Stage.COMMUNICATION]


def test_directional_derivatives_solve_a_linear_loop_in_one_newton_step():
    first, _ = start(oscillator(System2__m_c=2.0)).initialization.loops
    assert first.solution.solver == "Newton (directional derivatives)"
    assert first.solution.iterations == 2


def test_finite_differences_do_where_an_fmu_gives_no_derivatives():
    net = oscillator(System2__m_c=2.0)
    one = net.components["System1"]
    interface = replace(one.description.co_simulation, directional_derivatives=False)
    other = replace(one, description=replace(one.description, co_simulation=interface))
    result = start(replace(net, components=net.components | {"System1": other}))
    assert result.unwrap()["System1.a1"][0] == approx(5 / 3, rel=1e-10)
    assert result.initialization.loops[0].solution.solver == "Newton (finite differences)"


def test_fixed_point_iteration_of_a_heavy_flange_fails_with_a_report():
    result = start(oscillator(System2__m_c=2.0), init="fixed-point")
    assert result.status is Ending.LOOP
    (loop,) = result.initialization.loops
    assert loop.solution.status is SolutionStatus.DIVERGED
    assert set(loop.residuals) == set(loop.torn)
    text = str(result.failure)
    for phrase in ("System1.a1", "System2.F", "residual", "diverged", "--init newton"):
        assert phrase in text
    assert len(result.trace) == 0


def test_fixed_point_iteration_does_for_small_gains():
    result = start(oscillator(System2__m_c=0.5), init="fixed-point")
    assert result.initialization.loops[0].solution.solver == "fixed point"
    assert result.unwrap()["System1.a1"][0] == approx(10 / 3, rel=1e-11)


def test_newton_alone_does_as_well():
    assert start(oscillator(System2__m_c=2.0), init="newton").unwrap()["System1.a1"][0] == approx(5 / 3, rel=1e-10)


def test_without_loop_there_is_one_pass():
    assert start(oscillator(NO_FLANGE)).initialization.loops == ()


def test_parameters_and_start_values_reach_the_fmus():
    """x2_start = 0.2, k2 = 30, m1 = 3: F = 6 N, a1 = 2 m/s²."""
    net = oscillator(System1__m1=3.0, System2__k2=30.0, System2__x2_start=0.2)
    trace = start(net).unwrap()
    assert (trace["System2.F"][0], trace["System1.a1"][0]) == approx((6.0, 2.0), abs=1e-12)


def test_wires_convert_values():
    """F arrives as 2 F + 1 = 11 N, hence a1 = 11 m/s²."""
    net = oscillator()
    wires = tuple(
        Wire(w.source, w.destination, replace(w.conversion, factor=2.0, offset=1.0)) if w.source.variable == "F" else w
        for w in net.wires
    )
    assert start(replace(net, wires=wires)).unwrap()["System1.a1"][0] == approx(11.0, abs=1e-12)


def test_an_unconnected_input_keeps_its_start_value():
    net = network({"System1": "System1.fmu"}, [], {"System1.F": 4.0})
    trace = simulate(net, stop_time=0.1, step_size=0.05).unwrap()
    assert trace["System1.F"] == approx([4.0] * 3)
    assert trace["System1.a1"][0] == approx(4.0, abs=1e-12)


@pytest.mark.parametrize("given", [True, False])
def test_inputs_and_outputs_of_the_system_itself_are_exchanged(given):
    """System input → System1.F; System1.a1 → system output. Without a value the component's own start value
    holds.
    """
    outside, inside = Signal("", "force"), Signal("System1", "F")
    net = network({"System1": "System1.fmu"}, [("System1.a1", ".acc")])
    value = Assignment(outside if given else inside, 4.0, None, ())
    net = replace(
        net,
        ports=(
            Port(outside, "input", "Float64", "N", "", NOWHERE),
            Port(Signal("", "acc"), "output", "Float64", "m/s2", "", NOWHERE),
        ),
        wires=(Wire(Signal("System1", "a1"), Signal("", "acc")), Wire(outside, inside)),
        assignments={value.target: value},
    )
    trace = start(net).unwrap()
    assert (trace["force"][0], trace["System1.F"][0], trace["acc"][0]) == approx((4.0, 4.0, 4.0), abs=1e-12)


def test_a_parameter_that_makes_the_equations_singular_is_reported_with_its_component():
    """m1 = 0: a1 = F/0."""
    result = start(oscillator(System1__m1=0.0))
    assert result.status is Ending.LOOP
    assert "component System1: " in result.failure.message


def test_a_loop_without_solution_is_reported_as_singular():
    """m_c = −1: a1 = 5 + a1 holds for no a1."""
    result = start(oscillator(System2__m_c=-1.0))
    assert result.status is Ending.LOOP
    assert "System1.a1" in result.failure.message


def test_an_unknown_parameter_is_refused():
    with pytest.raises(Unsupported, match=r"value of System1\.no_such: the FMU has no such variable"):
        start(oscillator(System1__no_such=1.0))


# -- nonlinear loops: y = a sqrt(u) + sin(w) -----------------------------------------------------------------


def stateless(folder, wires, **values):
    names = {name.split(".")[0] for wire in wires for name in wire}
    assigned = {name.replace("__", "."): value for name, value in values.items()}
    net = network(dict.fromkeys(sorted(names), "Stateless.fmu"), wires, assigned, folder=folder)
    return run(make_plan(net, Settings(stop_time=0.0)), Folder(folder))


def test_a_component_that_feeds_itself_is_solved(test_models):
    """y = 3 sqrt(y) has the solutions 0 and 9; from u = 1 the iteration finds 9."""
    result = stateless(test_models, [("S.y", "S.u")])
    assert result.unwrap()["S.y"][0] == approx(9.0, rel=1e-11)


def test_a_nonlinear_loop_through_two_components_is_solved(test_models):
    """A.y = 3 sqrt(B.y), B.y = 2 sqrt(A.y): B.y = 2·3^½·B.y^¼, hence B.y = (12)^(2/3) and A.y = 3 B.y^½."""
    result = stateless(test_models, [("A.y", "B.u"), ("B.y", "A.u")], B__a=2.0)
    b = 12 ** (2 / 3)
    assert result.unwrap()["B.y"][0] == approx(b, rel=1e-11)
    assert result.trace["A.y"][0] == approx(3 * b**0.5, rel=1e-11)


def test_the_start_value_of_a_connected_input_is_where_the_solver_starts(test_models):
    """u = 100 is the guess of the torn y, where g(y) = 3·10 = 30."""
    result = stateless(test_models, [("S.y", "S.u")], S__u=100.0)
    assert result.initialization.loops[0].solution.history[0] == approx(abs(30 - 100))
    assert result.unwrap()["S.y"][0] == approx(9.0, rel=1e-11)


def test_a_guess_at_which_a_component_cannot_be_evaluated_is_reported(test_models):
    result = stateless(test_models, [("S.y", "S.u")], S__u=-1.0)
    assert result.status is Ending.LOOP
    assert "component S: " in result.failure.message
    assert "start values" in result.failure.advice


def test_a_component_that_cannot_be_evaluated_outside_of_loops_fails_the_initialization(test_models):
    """A.y = −√A.u is negative, and S.y = 3 √S.u."""
    result = stateless(test_models, [("A.y", "S.u")], A__a=-1.0)
    assert (result.status, result.failure.component, result.failure.time) == (Ending.NONFINITE, "S", 0.0)
    assert result.initialization.failure == result.failure
