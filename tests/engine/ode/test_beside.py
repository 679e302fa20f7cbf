"""Components of model exchange beside components of co-simulation: what is exact, what converges, and how fast."""

import ctypes
import time
from ctypes import c_void_p
from itertools import pairwise

import numpy as np
import pytest

from ssptool import Settings
from ssptool.engine.assembly import assembly
from ssptool.engine.failure import Ending, UnsupportedByFmu
from ssptool.engine.run import initialization
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.time_grid import grid_times
from ssptool.fmu.description import InterfaceType
from ssptool.renderers import call_sequence
from tests.engine.dual_mass import FMI2, FMI3, MIXED, WIRES, Folder, network, oscillator
from tests.engine.ode.systems import beside, both_sides, bounce_times, couple, lacking, oscillation, refuse_after, rigid
from tests.engine.running import run

pytestmark = pytest.mark.one_in(3)

EXCHANGE = pytest.mark.parametrize("exchange", ("System1", "System2"))
HEAVY = 5 / 3
MASTERS = [
    ({"master": "jacobi", "approximation": "hold"}, 1),
    ({"master": "jacobi", "approximation": "extrapolate"}, 2),
    ({"master": "gauss-seidel"}, 2),
    ({"master": "iterated", "approximation": "hold"}, 1),
    ({"master": "iterated"}, 2),
    ({"master": "iterated", "acceleration": "newton"}, 2),
]


def simulate(exchange, sources=FMI2, flange=0.0, **settings):
    settings = {"stop_time": 1.0, "step_size": 0.01, "tolerance": 1e-9} | settings
    net = beside(oscillator(sources, System2__m_c=flange) if flange else oscillator(sources), exchange)
    return run(make_plan(net, Settings(**settings)), Folder())


def error(trace, flange=0.0):
    exact = oscillation(trace.t, flange)
    names = ("System1.x1", "System1.v1")
    return max(np.max(np.abs(trace[name] - exact[row])) for name, row in zip(names, (0, 2), strict=True))


# -- the oscillator ------------------------------------------------------------------------------------------


@EXCHANGE
@pytest.mark.parametrize("flange", (0.0, HEAVY))
@pytest.mark.parametrize(("settings", "order"), MASTERS, ids=lambda value: str(value))
def test_the_order_is_that_of_the_master(exchange, flange, settings, order):
    """The ODE is solved to 1e-9, so what is left is the coupling's."""
    errors = [
        error(simulate(exchange, flange=flange, stop_time=0.4, step_size=h, **settings).unwrap(), flange)
        for h in (0.02, 0.01)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize("logged", [False, True])
def test_what_follows_an_ode_with_a_loop_gets_its_consistent_outputs_in_the_same_step(tmp_path, logged):
    """Third is driven by the force F of a loop inside the ODE, and tuned so that it moves as System1: order 2."""
    settings = {"master": "gauss-seidel", "log_loops": tmp_path / "loops.csv"} if logged else {"master": "gauss-seidel"}
    errors = []
    for h in (0.02, 0.01):
        trace = with_follower(("System1", "System2"), step_size=h, **settings).unwrap()
        errors.append(np.max(np.abs(trace["Third.x1"] - oscillation(trace.t, HEAVY)[0])))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)
    assert errors[1] < 5e-5


@EXCHANGE
def test_the_errors_are_those_of_co_simulation_of_both(exchange):
    """Whether an FMU or the integrator solves the equations of a component does not matter to the coupling."""
    settings = {"stop_time": 1.0, "step_size": 0.01, "master": "iterated"}
    both = error(run(make_plan(oscillator(), Settings(**settings)), Folder()).unwrap())
    assert error(simulate(exchange, **settings).unwrap()) == pytest.approx(both, rel=1e-2)


@EXCHANGE
@pytest.mark.parametrize("sources", (FMI2, FMI3, MIXED), ids=("fmi2", "fmi3", "mixed"))
@pytest.mark.parametrize("master", ("jacobi", "iterated"))
def test_signals_of_a_row_belong_to_one_instant_whatever_the_version(exchange, sources, master):
    """F = m1 a1 + k1 x1 + c1 v1 and the wires, with a loop across the border whose gain is −5/3."""
    trace = simulate(exchange, sources, HEAVY, master=master, step_size=0.02).unwrap()
    force = trace["System1.a1"] + 10 * trace["System1.x1"] + 0.2 * trace["System1.v1"]
    assert trace["System1.F"] == pytest.approx(force, abs=1e-9)
    for one, other in (("System1.F", "System2.F"), ("System2.x1", "System1.x1"), ("System2.a1", "System1.a1")):
        assert np.array_equal(trace[one], trace[other])
    assert error(trace, HEAVY) < 3e-2
    assert np.array_equal(trace.t, grid_times(0.0, 0.02, range(51)))


@EXCHANGE
def test_adaptive_steps_are_those_of_co_simulation_of_both(exchange):
    settings = {"stop_time": 0.5, "step_size": 0.01, "adaptive": 1e-4, "master": "iterated"}
    both = run(make_plan(oscillator(), Settings(**settings)), Folder()).unwrap()
    trace = simulate(exchange, **settings).unwrap()
    assert len(trace.t) == pytest.approx(len(both.t), rel=0.1)
    assert trace.t[-1] == pytest.approx(0.5)
    assert error(trace) == pytest.approx(error(both), rel=0.1)


def test_logs_and_parts_do_as_the_kernel_does(tmp_path):
    whole = simulate("System1", flange=HEAVY, master="iterated").unwrap()
    logged = simulate("System1", flange=HEAVY, master="iterated", log_coupling=tmp_path / "log.csv").unwrap()
    assert np.array_equal(whole.y, logged.y)
    assert (tmp_path / "log.csv").stat().st_size > 1000


@EXCHANGE
@pytest.mark.parametrize("settings", [one for one, _ in MASTERS], ids=str)
def test_threads_change_nothing(long_steps, exchange, settings):
    one, two = (simulate(exchange, stop_time=0.3, threads=count, **settings).unwrap() for count in (1, 2))
    assert np.array_equal(one.y, two.y)


@pytest.fixture
def long_steps(monkeypatch):
    """Components of co-simulation whose steps are worth a thread."""
    start = ctypes.c_int, c_void_p, ctypes.c_double, ctypes.c_double
    kinds = {2: ctypes.CFUNCTYPE(*start, ctypes.c_int), 3: ctypes.CFUNCTYPE(*start, ctypes.c_bool, *4 * (c_void_p,))}
    made, kept = assembly._functions, []

    def functions(planned, *arguments):
        found = made(planned, *arguments)
        if planned.interface is not InterfaceType.CO_SIMULATION:
            return found
        major = planned.description.fmi_major
        name, kind = f"fmi{major}DoStep", kinds[major]
        step = kind(found[name])

        def long_step(*arguments):
            time.sleep(1e-4)
            return step(*arguments)

        kept.append(kind(long_step))
        return found | {name: ctypes.cast(kept[-1], c_void_p).value}

    monkeypatch.setattr(assembly, "_functions", functions)


# -- events --------------------------------------------------------------------------------------------------


def test_a_ball_bounces_when_it_should_beside_a_lag_that_follows_it(models):
    """The lag sees h as it is interpolated; the ball depends on nothing, so that its events are as exact as alone."""
    result = couple(
        models, {"Ball": "BouncingBall"}, {"Lag": "Lag"}, [("Ball.h", "Lag.u")], stop_time=2.25, tolerance=1e-10
    )
    trace = result.unwrap()
    events = both_sides(trace)
    assert trace.t[events] == pytest.approx(bounce_times(6), abs=1e-8)
    assert result.statistics.events == len(events) == 6
    before, after = trace["Ball.v"][events], trace["Ball.v"][events + 1]
    assert after == pytest.approx(-0.7 * before, abs=1e-12)
    assert np.array_equal(trace["Lag.u"], trace["Ball.h"])
    assert np.array_equal(trace["Lag.x"][events], trace["Lag.x"][events + 1])
    points = np.isin(trace.t, grid_times(0.0, 0.01, range(226)))
    assert np.sum(points) == 226 and np.all(np.diff(trace.t) >= 0)


def test_events_beside_communication_points_keep_their_exact_grid(models):
    trace = couple(models, {"Pulse": "Pulse"}, {"Lag": "Lag"}, [("Pulse.y", "Lag.u")], stop_time=1.0).unwrap()
    events = both_sides(trace)
    assert trace.t[events] == pytest.approx([0.3, 0.6, 0.9], abs=1e-15)
    assert len(trace.t) == 101 + 3
    assert trace["Pulse.y"][events].tolist() == [0.0, 1.0, 0.0]
    assert trace["Pulse.y"][events + 1].tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("master", ("jacobi", "iterated"))
def test_inputs_that_cross_a_level_within_a_macro_step_are_an_event_there(models, master):
    """x = 1 − exp(−t/T) of a lag (T = 0.5) passes 0.25 where t = T ln(4/3); the comparator sees a parabola."""
    trace = couple(
        models,
        {"High": "Comparator"},
        {"Lag": "Lag"},
        [("Lag.x", "High.u")],
        {"Lag.u": 1.0, "High.level": 0.25},
        master=master,
        input_order=2,
        tolerance=1e-9,
    ).unwrap()
    events = both_sides(trace)
    assert trace.t[events] == pytest.approx([0.5 * np.log(4 / 3)], abs=1e-5)
    assert trace["High.y"][[events[0], events[0] + 1]].tolist() == [0.0, 1.0]


def test_inputs_that_jump_over_a_level_at_a_communication_point_are_an_event_there(models):
    """Held, the input never passes 0.25 within a step."""
    wires, values = [("Lag.x", "High.u")], {"Lag.u": 1.0, "High.level": 0.25}
    settings = {"master": "jacobi", "approximation": "hold"}
    trace = couple(models, {"High": "Comparator"}, {"Lag": "Lag"}, wires, values, **settings).unwrap()
    event = both_sides(trace)
    assert trace.t[event] == pytest.approx([0.15])  # the first point after T ln(4/3) = 0.1438
    assert trace["High.y"][[event[0], event[0] + 1]].tolist() == [0.0, 1.0]


def test_a_step_with_events_is_repeated_from_before_them(models):
    """Ball and echo are one ODE, so the lag between them closes a cycle and steps are iterated: the ball bounces as if
    alone, and each bounce counts once.
    """
    wires = [("Ball.h", "Lag.u"), ("Lag.x", "Echo.u")]
    # Every step starts the integrator anew, and repeats what its tolerance allows.
    settings = {"stop_time": 1.5, "tolerance": 1e-12, "acceleration": "none", "convergence": {"relative": 1e-8}}
    result = couple(models, {"Ball": "BouncingBall", "Echo": "Lag"}, {"Lag": "Lag"}, wires, **settings)
    trace = result.unwrap()
    events = both_sides(trace)
    assert result.statistics.iterations_mean > 1
    assert trace.t[events] == pytest.approx(bounce_times(2), abs=1e-8)
    assert trace["Ball.bounces"][-1] == result.statistics.events == 2


@pytest.mark.parametrize("tolerance", (1e-4, 1e-6))
def test_adaptive_steps_go_back_over_events(models, tolerance):
    """A step that is too large, or done whole and in halves, sees a bounce several times; it counts once."""
    result = couple(
        models,
        {"Ball": "BouncingBall"},
        {"Lag": "Lag"},
        [("Ball.h", "Lag.u")],
        stop_time=1.5,
        tolerance=1e-12,
        convergence={"relative": 1e-8},
        adaptive=tolerance,
        step_size=0.05,
        master="iterated",
    )
    trace = result.unwrap()
    events = both_sides(trace)
    assert trace.t[events] == pytest.approx(bounce_times(2), abs=1e-8)
    assert trace["Ball.bounces"][-1] == result.statistics.events == 2
    assert np.all(np.diff(trace.t) >= 0)


# -- loops, refusals, FMUs that can do less ------------------------------------------------------------------


def with_follower(exchange, **settings):
    """The oscillator, and as a third component another System1 that the force F drives, but nothing comes back from."""
    net = network({**FMI2, "Third": "System1.fmu"}, [*WIRES, ("System2.F", "Third.F")], {"System2.m_c": HEAVY})
    asked = {"stop_time": 1.0, "step_size": 0.01, "tolerance": 1e-9} | settings
    return run(make_plan(beside(net, *exchange), Settings(**asked)), Folder())


def test_a_loop_inside_of_the_ode_is_solved_inside_of_it(tmp_path):
    """Both masses are exact, as if alone; the third one does what the first does, but for the coupling."""
    result = with_follower(("System1", "System2"), log_loops=tmp_path / "loops.csv")
    trace = result.unwrap()
    assert error(trace, HEAVY) < 1e-7
    assert trace["Third.x1"] == pytest.approx(trace["System1.x1"], abs=3e-5)
    assert result.statistics.iterations_max == 1
    assert (tmp_path / "loops.csv").stat().st_size > 1000


def test_a_loop_across_the_border_beside_others_of_the_ode():
    """System1 and Third are one ODE, and the loop leads through System2."""
    trace = with_follower(("System1", "Third"), master="iterated").unwrap()
    assert trace["Third.x1"] == pytest.approx(trace["System1.x1"], abs=1e-7)
    force = trace["System1.a1"] + 10 * trace["System1.x1"] + 0.2 * trace["System1.v1"]
    assert trace["System1.F"] == pytest.approx(force, abs=1e-9)


def test_an_ode_without_events_goes_back_although_its_fmu_cannot():
    net = lacking(beside(oscillator(), "System1"), "System1", saves_state=False)
    trace = run(make_plan(net, Settings(stop_time=0.5, step_size=0.01)), Folder()).unwrap()
    assert np.array_equal(trace.y, simulate("System1", stop_time=0.5, tolerance=None).unwrap().y)


def ball_and_echo(models, **settings):
    files = {"Lag": "Lag.fmu", "Ball": "BouncingBall.fmu", "Echo": "Lag.fmu"}
    net = network(files, [("Ball.h", "Lag.u"), ("Lag.x", "Echo.u")], folder=models)
    net = lacking(beside(net, "Ball", "Echo"), "Ball", saves_state=False)
    return make_plan(net, Settings(stop_time=1.0, step_size=0.01, **settings))


def test_threads_change_no_event(long_steps, models):
    one, two = (run(ball_and_echo(models, threads=count), Folder(models)) for count in (1, 2))
    assert one.statistics.events == two.statistics.events > 0
    assert np.array_equal(one.unwrap().y, two.unwrap().y) and np.array_equal(one.trace.t, two.trace.t)


def test_an_fmu_with_events_that_does_not_save_is_not_iterated_unless_asked_for(models):
    plan = ball_and_echo(models)
    assert plan.master.name == "jacobi"
    with pytest.raises(UnsupportedByFmu, match=r"Ball.*saves and restores its state.*jacobi"):
        ball_and_echo(models, master="iterated")
    assert run(plan, Folder(models)).ok


def pulsed(models, net_of=lambda net: net):
    files = {"Lag": "Lag.fmu", "Pulse": "Pulse.fmu", "Echo": "Lag.fmu"}
    net = network(files, [("Pulse.y", "Lag.u"), ("Lag.x", "Echo.u")], folder=models)
    net = net_of(lacking(beside(net, "Pulse", "Echo"), "Pulse", saves_state=False))
    plan = make_plan(net, Settings(stop_time=1.0, step_size=0.04, master="iterated", acceleration="none"))
    return run(plan, Folder(models))


def test_a_step_with_an_event_that_cannot_be_repeated_ends_the_run(models):
    """The lag takes steps of one size only; after the first event there is no way back."""
    result = pulsed(models, rigid)
    assert result.failure.component == "Pulse"
    for words in ("an event must be repeated", "Pulse cannot", "--master jacobi"):
        assert words in str(result.failure)
    assert result.failure.time == pytest.approx(0.3)


def test_a_step_that_ends_at_a_time_event_can_be_repeated(models):
    """x' = (u − x)/T (T = 0.5) of the lag, with u = 0, 1, 0, 1 from 0, 0.3, 0.6 and 0.9 s on."""
    trace = pulsed(models).unwrap()
    x = [0.0]
    for before, after in pairwise(trace.t):
        u = int((before + after) / 2 / 0.3) % 2
        x.append(u + (x[-1] - u) * np.exp((before - after) / 0.5))
    assert trace["Lag.x"] == pytest.approx(np.array(x), abs=1e-6)
    assert trace.t[both_sides(trace)] == pytest.approx([0.3, 0.6, 0.9], abs=1e-12)


def test_a_component_that_refuses_ends_the_run_with_its_name(models, monkeypatch):
    """Error, in the middle of a macro step."""
    refuse_after(monkeypatch, 3, 0.455, "A")
    result = couple(models, {"A": "Lag"}, {"B": "Lag"}, [("A.x", "B.u")], {"A.u": 1.0})
    assert result.status is Ending.FMI
    assert (result.failure.component, result.failure.function) == ("A", f"{models.name}SetTime")
    assert result.trace.t[-1] == pytest.approx(0.45)
    assert result.trace["A.x"] == pytest.approx(1 - np.exp(-result.trace.t / 0.5), abs=1e-5)


def test_late_outputs_are_those_of_co_simulation_of_both():
    settings = Settings(stop_time=1.0, step_size=0.01, exchange="late")
    both = run(make_plan(oscillator(), settings), Folder()).unwrap()
    # The starts of the integrator add up to about a hundred times its tolerance of 1e-8.
    for name in ("System1", "System2"):
        trace = run(make_plan(beside(oscillator(), name), settings), Folder()).unwrap()
        assert trace.y == pytest.approx(both.y, abs=1e-4)


@pytest.mark.parametrize(
    ("fmu", "output", "words"),
    (("Relay", "x", "Bad chatters"), ("Restless", "y", "Bad still needs new discrete states")),
)
def test_events_without_end_are_reported(models, fmu, output, words):
    result = couple(models, {"Bad": fmu}, {"Lag": "Lag"}, [(f"Bad.{output}", "Lag.u")])
    assert result.status is Ending.EVENTS
    assert words in result.failure.message
    assert result.failure.time == pytest.approx(0.5, abs=1e-6)


def test_components_without_states_and_stiff_ones_are_as_good_as_alone(models):
    trace = couple(models, {"S": "Stateless"}, {"Lag": "Lag"}, [("S.z", "Lag.u")], {"S.u": 4.0}).unwrap()
    assert trace["S.z"] == pytest.approx(trace.t**2, abs=1e-14)
    result = couple(models, {"S": "Stiff"}, {"Lag": "Lag"}, [("S.x", "Lag.u")], tolerance=1e-8)
    assert result.unwrap()["S.x"] == pytest.approx(np.cos(result.trace.t), abs=1e-6)
    assert result.statistics.evaluations < 1000


@pytest.mark.parametrize("step", (0.02, 0.03, 0.05))
@pytest.mark.parametrize("acceleration", ("none", "iqn-ils"))
def test_events_at_the_end_of_iterated_steps_keep_both_rows(models, step, acceleration):
    """The pulse switches at 0.3, 0.6 and 0.9, which are communication points up to rounding."""
    wires = [("Pulse.y", "Lag.u"), ("Lag.x", "Echo.u")]
    settings = {"step_size": step, "stop_time": 0.9 if step == 0.03 else 1.0, "acceleration": acceleration}
    result = couple(models, {"Pulse": "Pulse", "Echo": "Lag"}, {"Lag": "Lag"}, wires, **settings)
    trace = result.unwrap()
    assert result.statistics.iterations_mean > 1
    events = both_sides(trace)
    assert trace.t[events] == pytest.approx([0.3, 0.6, 0.9], abs=1e-12)
    assert trace["Pulse.y"][events].tolist() == [0.0, 1.0, 0.0]
    assert trace["Pulse.y"][events + 1].tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("where", ["outside", "inside", "both"])
def test_a_loop_that_the_kernel_does_not_solve_in_the_middle_of_a_step_does_not_end_it_there(
    monkeypatch, reached, where
):
    """Without a Jacobian the kernel iterates x ← g(x), which diverges for the heavy flange; what is left of the macro
    step, in which Third is stepped, is done after the full solvers have helped.
    """
    reference = with_follower(("System1", "System2"), master="gauss-seidel").unwrap()
    first_point = initialization.Initialization._evaluate_first_point

    def without_chords(self):
        first_point(self)
        outside, inside = (
            (self._assembly.kernel, self._native.loops),
            (self._native.kernel_of_ode(), self._native.loops_of_ode),
        )
        for kernel, loops in {"outside": [outside], "inside": [inside], "both": [outside, inside]}[where]:
            for number, index in enumerate(loops):
                if index >= 0:
                    kernel.set_chord(index, -np.eye(len(self._plan.loops[number].torn)))

    monkeypatch.setattr(initialization.Initialization, "_evaluate_first_point", without_chords)
    result = with_follower(("System1", "System2"), master="gauss-seidel")
    assert result.statistics.loops_rescued > 0
    assert result.unwrap().y == pytest.approx(reference.y, abs=1e-7)


@pytest.mark.parametrize(
    ("exchange", "settings", "value", "words"),
    [
        (["System1"], {"master": "jacobi"}, "3", "the others step those of co-simulation"),
        (["System1"], {"master": "gauss-seidel"}, "1", "one component after the other"),
        (["System1", "System2"], {}, "1", "integrated as one"),
    ],
)
def test_the_plan_says_what_threads_do_beside_an_ode(exchange, settings, value, words):
    plan = make_plan(beside(oscillator(), *exchange), Settings(threads=3, **settings))
    (told,) = (one for one in plan.choices if one.setting == "threads")
    assert told.value == value and words in told.reason


def test_the_plan_says_that_an_ode_is_evaluated_before_what_is_stepped_after_it():
    net = network({**FMI2, "Third": "System1.fmu"}, [*WIRES, ("System2.F", "Third.F")])
    plan = make_plan(beside(net, "System1", "System2"), Settings(master="gauss-seidel", step_size=0.01))
    lines = [line.strip() for line in call_sequence(plan)]
    stepped = lines.index("step the ODE of System1, System2")
    assert lines[stepped + 1] == "evaluate the ODE of System1, System2"
    assert lines.index("step Third") > stepped
