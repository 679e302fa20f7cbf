"""Runs: what they return, what they write, and how they end when something goes wrong on the way."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from ssptool import Settings
from ssptool.engine.failure import Ending, RunError
from ssptool.engine.recording.csv import read_csv
from ssptool.engine.run.initialization import Initialization
from ssptool.engine.run.make_plan import make_plan
from ssptool.fmu.instance import FmuInstance
from tests.engine.dual_mass import Folder, network, oscillator, simulate
from tests.engine.running import run


def test_a_trace_knows_its_columns_and_times():
    trace = simulate(oscillator(), stop_time=0.5, step_size=0.125).unwrap()
    assert trace.t.tolist() == [0.0, 0.125, 0.25, 0.375, 0.5]
    assert trace.signals[:4] == ("System1.F", "System1.x1", "System1.v1", "System1.a1")
    assert trace.units[:4] == ("N", "m", "m/s", "m/s2")
    assert set(trace.types) == {"Float64"}


def test_the_file_holds_the_trace_bit_by_bit(tmp_path):
    path = tmp_path / "run.csv"
    result = simulate(oscillator(), stop_time=0.5, step_size=0.01, output=path)
    read = read_csv(path)
    assert read.signals == result.trace.signals
    assert np.array_equal(read.t, result.trace.t) and np.array_equal(read.y, result.trace.y)
    assert result.output == path


def test_progress_grows_from_nothing_to_all():
    seen = []
    run(make_plan(oscillator(), Settings(stop_time=1.0, step_size=0.01)), Folder(), progress=seen.append)
    assert seen[0] == 0.0 and seen[-1] == 1.0
    assert seen == sorted(seen)


@pytest.mark.parametrize("isolated", [False, True])
def test_progress_begins_before_the_first_row(isolated):
    """Loading and initialization may take long: there is nothing done yet once before them, and once after them."""
    seen = []
    run(
        make_plan(oscillator(), Settings(stop_time=1.0, step_size=0.01)),
        Folder(),
        progress=seen.append,
        isolated=isolated,
    )
    assert seen[:2] == [0.0, 0.0] and seen[2] > 0.0


def test_a_run_starts_at_another_time_than_zero():
    """The system is autonomous: shifted in time, the same trace, but for the rounding of t."""
    here = simulate(oscillator(), start_time=0.0, stop_time=0.5, step_size=0.01).unwrap()
    later = simulate(oscillator(), start_time=7.0, stop_time=7.5, step_size=0.01).unwrap()
    assert later.t == approx(here.t + 7, rel=1e-15)
    assert later.y == approx(here.y, abs=1e-10)


def test_statistics_count_what_was_done():
    statistics = simulate(oscillator(), stop_time=0.5, step_size=0.01).statistics
    assert statistics.steps == 50
    assert 1 < statistics.iterations_mean <= statistics.iterations_max
    assert statistics.seconds > 0 and statistics.initialization_seconds > 0
    assert statistics.real_time_factor == approx(0.5 / statistics.seconds)
    assert statistics.loops_rescued == 0


@pytest.mark.parametrize("logged", [False, True], ids=["silent", "logged"])
def test_iterations_of_loops_within_steps_are_counted(tmp_path, logged):
    """The force on each mass needs the acceleration of the other: a linear loop, which the chord of its solution solves
    in two evaluations, or in one where the guess is right already. Held inputs: once per step.
    """
    log = tmp_path / "loops.csv" if logged else None
    wanted = Settings(stop_time=0.5, step_size=0.01, master="jacobi", log_loops=log)
    statistics = run(make_plan(oscillator(), wanted), Folder()).statistics
    assert statistics.loops_solved == 50
    assert 50 <= statistics.loop_iterations <= 100
    if log is not None:
        assert log.read_text().count(",chord,") == statistics.loop_iterations


def test_two_components_may_share_one_fmu():
    net = network({"A": "System1.fmu", "B": "System1.fmu"}, [], {"A.F": 1.0, "B.F": 2.0})
    trace = simulate(net, stop_time=1.0, step_size=0.01).unwrap()
    assert trace["B.x1"] == approx(2 * trace["A.x1"], abs=1e-12)


# -- failures ------------------------------------------------------------------------------------------------


@pytest.fixture
def failing(monkeypatch):
    """Let an FMI function of System2 return an error from a time on."""
    step = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_double, ctypes.c_double, ctypes.c_int)
    real = FmuInstance.functions.fget
    kept = []

    def functions(self):
        table = dict(real(self))
        if self.name == "System2":
            original = step(table["fmi2DoStep"])
            kept.append(step(lambda c, t, h, n: 3 if t >= 0.2 - 1e-12 else original(c, t, h, n)))
            table["fmi2DoStep"] = ctypes.cast(kept[-1], ctypes.c_void_p).value
        return table

    monkeypatch.setattr(FmuInstance, "functions", property(functions))
    return kept


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
def test_a_failing_step_ends_the_run_with_its_place_and_keeps_the_rows(failing, tmp_path, master):
    path = tmp_path / "run.csv"
    result = simulate(oscillator(), stop_time=1.0, step_size=0.01, master=master, output=path)
    assert result.status is Ending.FMI
    failure = result.failure
    assert (failure.component, failure.function) == ("System2", "fmi2DoStep")
    assert failure.time == approx(0.2, abs=1e-12)
    assert failure.advice
    assert len(result.trace) == 21
    assert result.trace.t[-1] == approx(0.2)
    assert len(read_csv(path)) == 21
    with pytest.raises(RunError, match="System2: fmi2DoStep returned error"):
        result.unwrap()


def test_an_unstable_coupling_ends_long_before_a_component_overflows():
    """Held inputs with h = 0.5 s and k2 = 1e6 N/m: |x| grows by orders of magnitude per step."""
    net = oscillator(System2__k2=1e6)
    result = simulate(net, master="jacobi", approximation="hold", stop_time=100.0, step_size=0.5)
    assert result.status is Ending.UNSTABLE
    assert 0 < len(result.trace) < 20
    assert result.trace.t[-1] == approx(result.failure.time)
    assert 1e12 < np.abs(result.trace.y).max() < np.inf


def test_an_iteration_that_does_not_converge_is_a_failure_with_advice():
    """k2 = 1e4 N/m and h = 0.1 s: the plain iteration grows by about k2 h²/6 = 17 each time."""
    result = simulate(oscillator(System2__k2=1e4), stop_time=1.0, step_size=0.1, acceleration="none")
    assert result.status is Ending.COUPLING
    assert "System1, System2" in result.failure.message
    assert "smaller --step-size" in result.failure.advice
    assert result.failure.time == 0.0
    assert len(result.trace) == 1


def test_too_few_iterations_are_a_failure_not_a_result():
    asked = {"master": "iterated", "max_iterations": 1, "tolerance": 1e-12}
    result = simulate(oscillator(), stop_time=1.0, step_size=0.1, **asked)
    assert result.status is Ending.COUPLING
    assert "after 1 iteration" in result.failure.message


def test_a_chord_that_is_out_of_date_is_renewed_and_the_run_goes_on(monkeypatch, reached):
    """Without a chord the kernel iterates x ← g(x), which diverges for the heavy flange; the chain steps
    in.
    """
    plan = make_plan(oscillator(System2__m_c=2.0), Settings(stop_time=0.2, step_size=0.01, master="jacobi"))
    reference = run(plan, Folder())
    first_point = Initialization._evaluate_first_point

    def without_chords(self):
        first_point(self)
        known = ((number, index) for number, index in enumerate(self._native.loops) if index >= 0)
        for number, index in known:
            self._assembly.kernel.set_chord(index, -np.eye(len(self._plan.loops[number].torn)))

    monkeypatch.setattr(Initialization, "_evaluate_first_point", without_chords)
    result = run(plan, Folder())
    assert result.statistics.loops_rescued == 1
    assert result.unwrap().y == approx(reference.unwrap().y, abs=1e-10)


def test_a_file_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        simulate(oscillator(), stop_time=0.1, step_size=0.1, output=tmp_path / "nowhere" / "run.csv")


def test_an_interval_without_length_gives_the_first_row():
    result = simulate(oscillator(), stop_time=0.0)
    assert result.ok and result.trace.t.tolist() == [0.0]


def test_fmus_are_freed_whatever_happens(monkeypatch, failing):
    freed = []
    real = FmuInstance.free
    monkeypatch.setattr(FmuInstance, "free", lambda self: (freed.append(self.name), real(self))[1])
    simulate(oscillator(), stop_time=1.0, step_size=0.01, master="jacobi")
    assert {"System1", "System2"} <= set(freed)
    freed.clear()
    simulate(oscillator(System2__m_c=2.0), stop_time=0.1, step_size=0.01, init="fixed-point")
    assert {"System1", "System2"} <= set(freed)


def test_dependencies_that_are_not_declared_count_as_all():
    """The loop is found and solved without them, a little later: signals are then in one block more."""
    net = oscillator(System2__m_c=2.0)
    bare = {
        name: replace(one, description=replace(one.description, outputs={}, initial_unknowns={}))
        for name, one in net.components.items()
    }
    result = simulate(replace(net, components=bare), stop_time=0.5, step_size=0.01)
    reference = simulate(net, stop_time=0.5, step_size=0.01)
    assert result.trace["System1.a1"][0] == approx(5 / 3, rel=1e-10)
    assert result.unwrap().y == approx(reference.unwrap().y, abs=1e-8)
