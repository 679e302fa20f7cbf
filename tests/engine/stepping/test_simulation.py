"""A simulation under control: step by step, with values read and set, saved and resumed."""

import copy
import math
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool import Settings
from ssptool.engine.failure import RunError
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.run.saved import NotSavable, SavedSimulation
from ssptool.engine.run.selection import select
from ssptool.engine.stepping.simulation import SteppedRun
from ssptool.errors import UnknownName, UnusableFile, WrongUsage, WrongValue
from tests.engine.dual_mass import FMI2, FMI3, MIXED, Folder, network, oscillator
from tests.engine.running import run
from tests.engine.small.fmus import Var, make_fmu


def plan(sources=None, *, stop_time=0.5, step_size=0.01, values=None, **settings):
    net = oscillator(sources, **(values or {}))
    return make_plan(net, Settings(stop_time=stop_time, step_size=step_size, **settings))


def alone():
    """System1 with its input F free: m1 a1 = F − k1 x1 − c1 v1."""
    net = network({"System1": "System1.fmu"}, [], {"System1.F": 0.0})
    return make_plan(net, Settings(stop_time=1.0, step_size=0.01))


# -- time ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
def test_stepping_gives_the_bits_of_a_run(master):
    whole = run(plan(master=master), Folder()).unwrap()
    with SteppedRun(plan(master=master), Folder()) as simulation:
        assert list(simulation) == whole.t[1:].tolist()
        assert simulation.finished
        assert np.array_equal(simulation.trace.y, whole.y)
        assert np.array_equal(simulation.trace.t, whole.t)


def test_many_steps_at_once_are_the_same_as_one_by_one():
    with SteppedRun(plan(stop_time=5.0), Folder()) as one, SteppedRun(plan(stop_time=5.0), Folder()) as other:
        one.step(500)
        for _ in range(500):
            other.step()
        assert np.array_equal(one.trace.y, other.trace.y)


def test_threads_wait_for_one_another():
    """Together they do the steps, and read and set values in between."""
    with SteppedRun(alone(), Folder()) as simulation:

        def work(_):
            for _ in range(5):
                simulation.step(2)
                simulation.set("System1.F", simulation.get("System1.F"))

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(work, range(10)))
        assert simulation.finished
        assert np.unique(simulation.trace.t).tolist() == run(alone(), Folder()).unwrap().t.tolist()


def test_a_simulation_is_not_copied():
    simulation = SteppedRun(plan(), Folder())
    for duplicate in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=r"save\(\)"):
            duplicate(simulation)


def test_leaving_what_was_not_entered_does_nothing():
    simulation = SteppedRun(plan(), Folder())
    simulation.__exit__(None, None, None)
    with simulation:
        simulation.step()


@pytest.mark.parametrize("time", [math.nan, math.inf])
def test_there_is_no_running_until_no_time(time):
    with SteppedRun(plan(), Folder()) as simulation, pytest.raises(ValueError, match="finite number of seconds"):
        simulation.run_until(time)


@pytest.mark.parametrize(("time", "reached"), [(0.1, 0.1), (0.095, 0.095), (0.1 + 1e-12, 0.1), (0.0, 0.0), (-1, 0.0)])
def test_running_until_a_time_ends_there_or_at_the_point_that_differs_by_rounding_only(time, reached):
    with SteppedRun(plan(), Folder()) as simulation:
        assert simulation.run_until(time) == reached


USES = [
    lambda simulation, _: simulation.step(),
    lambda simulation, _: simulation.run_until(0.2),
    lambda simulation, _: simulation.get("System1.x1"),
    lambda simulation, _: simulation.set("System1.m1", 2.0),
    lambda simulation, folder: simulation.save(folder / "saved"),
    lambda simulation, _: list(simulation),
]


@pytest.mark.parametrize("use", USES)
def test_outside_of_its_context_a_simulation_refuses_what_needs_its_fmus(use, tmp_path):
    simulation = SteppedRun(plan(), Folder())
    with pytest.raises(WrongUsage, match="`with` statement"):
        use(simulation, tmp_path)
    with simulation:
        simulation.step(3)
    with pytest.raises(WrongUsage, match="make a new one"):
        use(simulation, tmp_path)
    assert len(simulation.trace) == 4


def test_a_simulation_is_entered_once():
    simulation = SteppedRun(plan(), Folder())
    with pytest.raises(WrongUsage):
        _ = simulation.trace
    with simulation, pytest.raises(WrongUsage):
        simulation.__enter__()
    with pytest.raises(WrongUsage):
        simulation.__enter__()


def test_there_is_no_step_beyond_the_stop_time_that_the_fmus_know():
    with SteppedRun(plan(stop_time=0.1), Folder()) as simulation:
        for call in (lambda: simulation.step(11), lambda: simulation.run_until(0.11)):
            with pytest.raises(WrongValue, match=r"after the stop time of 0\.1 s"):
                call()
        simulation.run_until(0.055)
        with pytest.raises(WrongValue):
            simulation.step(6)
        assert simulation.time == 0.055
        assert simulation.step(5) == approx(0.1)
        assert simulation.finished
        with pytest.raises(WrongValue):
            simulation.step()


@pytest.mark.parametrize("settings", [{}, {"adaptive": 1e-3}, {"implementation": "me"}], ids=str)
def test_a_simulation_without_time_is_finished_at_its_start(settings):
    with SteppedRun(plan(stop_time=0.0, **settings), Folder()) as simulation:
        assert simulation.finished and list(simulation) == [] and simulation.run_until(0.0) == 0.0
        with pytest.raises(WrongValue):
            simulation.step()
        assert len(simulation.trace.t) == 1


def test_observers_see_every_step_until_they_are_removed():
    seen = []
    with SteppedRun(plan(), Folder()) as simulation:
        remove = simulation.observe(lambda t, now: seen.append((t, now["System1.x1"])))
        simulation.step(3)
        remove()
        simulation.step(3)
        trace = simulation.trace
    assert seen == list(zip(trace.t[1:4].tolist(), trace["System1.x1"][1:4].tolist(), strict=True))


def test_only_chosen_signals_are_in_the_trace():
    with SteppedRun(select(plan(), ["*.x1"]), Folder()) as simulation:
        simulation.step(50)
        trace = simulation.trace
    assert trace.signals == ("System1.x1", "System2.x1")
    assert np.array_equal(trace["System1.x1"], run(plan(), Folder()).trace["System1.x1"])


def test_initialization_that_fails_is_raised_on_entry():
    with (
        pytest.raises(RunError, match="algebraic loop"),
        SteppedRun(plan(values={"System2__m_c": 2.0}, init="fixed-point"), Folder()),
    ):
        pass


# -- values --------------------------------------------------------------------------------------------------


def test_values_are_got_by_name_whether_they_are_connected_or_not():
    with SteppedRun(plan(), Folder()) as simulation:
        assert simulation.get("System2.F") == approx(5.0, abs=1e-12)
        assert simulation.get("System2.x2") == approx(0.5)
        assert simulation.get("System1.m1") == 1.0


def test_an_unknown_name_is_refused():
    with SteppedRun(plan(), Folder()) as simulation, pytest.raises(UnknownName, match=r"'System1\.y'"):
        simulation.get("System1.y")


def test_a_free_input_can_be_set_and_outputs_follow_at_once():
    with SteppedRun(alone(), Folder()) as simulation:
        simulation.step(10)
        assert simulation.get("System1.x1") == 0.0
        simulation.set("System1.F", 3.0)
        assert simulation.get("System1.a1") == approx(3.0)
        assert simulation.trace["System1.a1"][-1] == approx(3.0)
        simulation.step(10)
        # From rest: x1 = F t²/2 (1 − c1 t/3 − k1 t²/12 …), here to the order of t⁴.
        assert simulation.get("System1.x1") == approx(3 * 0.1**2 / 2 * (1 - 0.2 * 0.1 / 3 - 10 * 0.1**2 / 12), rel=1e-3)


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (True, TypeError, "F = True"),
        ("x", ValueError, r"System1\.F cannot be 'x': expected a value of type"),
        (None, TypeError, r"System1\.F cannot be None"),
        (np.array([1.0, 2.0]), TypeError, r"System1\.F cannot be array"),
        (math.nan, ValueError, r"System1\.F cannot be NaN"),
    ],
    ids=repr,
)
def test_a_value_that_is_refused_changes_nothing(value, kind, words):
    with SteppedRun(alone(), Folder()) as simulation:
        simulation.set("System1.F", np.float32(3.0))  # numbers of numpy are numbers
        with pytest.raises(kind, match=words):
            simulation.set("System1.F", value)
        assert simulation.get("System1.F") == 3.0
        simulation.step(10)
        assert simulation.trace["System1.F"].tolist() == [0.0, *11 * [3.0]]


def test_a_tunable_parameter_can_be_set_and_the_loop_is_solved_anew():
    """At t = 0 with m_c = 0: a1 = F/m1 = 5/m1."""
    with SteppedRun(plan(), Folder()) as simulation:
        simulation.set("System1.m1", 2.0)
        assert simulation.get("System1.a1") == approx(2.5, abs=1e-12)
        simulation.set("System2.m_c", 2.0)
        assert simulation.get("System1.a1") == approx(5 / 4, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("System1.F", r"driven by System2\.F"),
        ("System1.x1", "output"),
        ("System1.x1_start", "fixed parameter"),
        ("System2.x2", "local"),
    ],
)
def test_what_is_not_the_users_to_choose_is_refused(name, reason):
    with SteppedRun(plan(), Folder()) as simulation, pytest.raises(WrongValue, match=reason):
        simulation.set(name, 1.0)


# -- saving --------------------------------------------------------------------------------------------------

MASTERS = [
    {"master": "jacobi", "approximation": "hold"},
    {"master": "jacobi", "approximation": "extrapolate", "input_order": 2},
    {"master": "gauss-seidel"},
    {"master": "iterated", "acceleration": "anderson"},
    {"master": "iterated", "acceleration": "anderson", "input_order": 2},
    {"master": "iterated", "acceleration": "iqn-ils"},
    {"master": "iterated", "acceleration": "newton"},
]


@pytest.mark.parametrize("sources", [FMI2, FMI3, MIXED])
@pytest.mark.parametrize("settings", MASTERS, ids=lambda s: "-".join(map(str, s.values())))
def test_a_resumed_simulation_has_the_bits_of_one_that_was_never_saved(tmp_path, sources, settings):
    heavy = {"System2__m_c": 2.0}
    whole = run(plan(sources, values=heavy, **settings), Folder()).unwrap()
    with SteppedRun(plan(sources, values=heavy, **settings), Folder()) as simulation:
        simulation.step(17)
        simulation.save(tmp_path / "state")
        simulation.step(33)
        assert np.array_equal(simulation.trace.y, whole.y)
    with SteppedRun(plan(sources, values=heavy, **settings), Folder(), saved=tmp_path / "state") as resumed:
        assert resumed.time == whole.t[17]
        resumed.step(33)
        assert np.array_equal(resumed.trace.t, whole.t[17:])
        assert np.array_equal(resumed.trace.y, whole.y[17:])


@pytest.mark.parametrize("acceleration", ["iqn-ils", "newton"])
def test_what_a_master_has_learned_goes_on_with_it(tmp_path, acceleration):
    """Steps that differ much from plain iteration: the memory counts, and without it other bits would follow."""
    settings = {"master": "iterated", "acceleration": acceleration, "tolerance": 1e-11, "step_size": 0.05}
    heavy = {"System2__m_c": 50.0}
    whole = run(plan(values=heavy, **settings), Folder()).unwrap()
    with SteppedRun(plan(values=heavy, **settings), Folder()) as simulation:
        simulation.step(4)
        simulation.save(tmp_path / "state")
    with SteppedRun(plan(values=heavy, **settings), Folder(), saved=tmp_path / "state") as resumed:
        resumed.step(6)
        assert np.array_equal(resumed.trace.y, whole.y[4:])


@pytest.mark.parametrize("steps", [1, 2, 7])
@pytest.mark.parametrize("master", ["jacobi", "iterated"])
def test_adaptive_steps_go_on_with_the_same_bits(tmp_path, master, steps):
    """Each has two rows."""
    settings = {"master": master, "adaptive": 1e-4}
    whole = run(plan(**settings), Folder()).unwrap()
    with SteppedRun(plan(**settings), Folder()) as simulation:
        simulation.step(steps)
        simulation.save(tmp_path / "state")
        list(simulation)
        assert np.array_equal(simulation.trace.y, whole.y)
    with SteppedRun(plan(**settings), Folder(), saved=tmp_path / "state") as resumed:
        assert resumed.time == whole.t[2 * steps]
        list(resumed)
        assert np.array_equal(resumed.trace.t, whole.t[2 * steps :])
        assert np.array_equal(resumed.trace.y, whole.y[2 * steps :])


def test_a_simulation_goes_on_in_another_process(tmp_path):
    with SteppedRun(plan(), Folder()) as simulation:
        simulation.step(20)
        simulation.save(tmp_path / "state")
        simulation.step(30)
        expected = simulation.trace.y[20:]
    program = """
import sys
import numpy as np
from tests.engine.stepping.test_simulation import Folder, SteppedRun, plan
with SteppedRun(plan(), Folder(), saved=sys.argv[1]) as simulation:
    simulation.step(30)
    np.save(sys.argv[2], simulation.trace.y)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "state"), str(tmp_path / "rows.npy")]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[3])
    assert np.array_equal(np.load(tmp_path / "rows.npy"), expected)


def test_what_was_set_is_part_of_what_is_saved(tmp_path):
    with SteppedRun(plan(), Folder()) as simulation:
        simulation.step(5)
        simulation.set("System1.m1", 3.0)
        simulation.save(tmp_path / "state")
        simulation.step(20)
        expected = simulation.trace.y[6:]
    with SteppedRun(plan(), Folder(), saved=tmp_path / "state") as resumed:
        assert resumed.get("System1.m1") == 3.0
        resumed.step(20)
        assert np.array_equal(resumed.trace.y, expected)


def test_a_state_of_another_system_is_refused_with_what_differs(tmp_path):
    with SteppedRun(plan(), Folder()) as simulation:
        simulation.save(tmp_path / "state")
    with (
        pytest.raises(
            UnusableFile, match=r"was saved with interval \[0\.0, 0\.01\], but interval is now \[0\.0, 0\.02\]"
        ),
        SteppedRun(plan(step_size=0.02), Folder(), saved=tmp_path / "state"),
    ):
        pass
    with (
        pytest.raises(UnusableFile, match=r"was saved with FMUs .*, but FMUs is now"),
        SteppedRun(plan(FMI3), Folder(), saved=tmp_path / "state"),
    ):
        pass


def test_what_is_no_state_is_refused(tmp_path):
    (tmp_path / "state").write_bytes(b"something else")
    with (
        pytest.raises(UnusableFile, match="state: not a saved simulation"),
        SteppedRun(plan(), Folder(), saved=tmp_path / "state"),
    ):
        pass


def test_a_saved_file_with_a_wrong_bit_is_read_or_refused(tmp_path):
    """Each time another bit; in most places a checksum tells, in some nothing depends on it."""
    planned, path = plan(master="jacobi"), tmp_path / "state"
    with SteppedRun(planned, Folder()) as simulation:
        simulation.step(3)
        simulation.save(path)
    content, refused = path.read_bytes(), 0
    for place in range(0, len(content), 11):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        try:
            SavedSimulation.read(path, planned)
        except UnusableFile:
            refused += 1
    assert refused > len(content) / 11 / 4


def test_an_fmu_that_cannot_serialize_is_refused_by_name(tmp_path):
    planned = plan()
    one, two = planned.instances
    silent = replace(two.description.co_simulation, serializes_state=False)
    two = replace(two, description=replace(two.description, co_simulation=silent))
    planned = replace(planned, instances=(one, two))
    with SteppedRun(planned, Folder()) as simulation, pytest.raises(NotSavable, match="FMU of System2"):
        simulation.save(tmp_path / "state")
    assert list(tmp_path.iterdir()) == []


def test_items_of_enumerations_are_set_by_name_and_numbers_of_none_are_refused(tmp_path):
    """The items have the numbers 3 and 7."""
    variables = [Var("mode", "input", "Enumeration", start=3), Var("y", "output", needs=["mode"])]
    fmu = make_fmu(tmp_path / "Modes.fmu", variables, me=None, items={"slow": 3, "fast": 7}, calc="v->y = v->mode;")
    with ssptool.Simulation(fmu, stop_time=1.0, step_size=0.1) as simulation:
        for value, number in (("fast", 7), (3, 3), ("slow", 3), (7, 7)):
            simulation.set("mode", value)
            simulation.step()
            assert (simulation.get("mode"), simulation.get("y")) == (number, float(number))
        for wrong in (5, "quick", 3.0, True):
            with pytest.raises(ValueError, match="slow, fast"):
                simulation.set("mode", wrong)
        assert simulation.get("mode") == 7
