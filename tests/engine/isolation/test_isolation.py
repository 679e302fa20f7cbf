"""FMUs in a child process: whatever they do, the run ends with what it had, and says whose call it was."""

import zipfile
from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool import Settings, child_processes
from ssptool.engine.assembly.assembly import assemble
from ssptool.engine.failure import Ending
from ssptool.engine.isolation import child
from ssptool.engine.kernel.calls import Code, Outcome, prefix
from ssptool.engine.recording.csv import read_csv
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.run.recorder import Recording
from ssptool.engine.run.system import LoadedSystem
from ssptool.engine.settings import Limits
from ssptool.engine.watch import NATIVE
from ssptool.fmu.description import UnusableFmu
from ssptool.fmu.instance import FmiError
from tests.engine.dual_mass import FMI1, FMI2, FMI3, RESOURCES, Folder, network, oscillator
from tests.engine.running import run
from tests.fmus import build as fmus

pytestmark = pytest.mark.one_in(3)

stand_ins = pytest.mark.skipif(not NATIVE, reason="the stand-ins are not built")


@pytest.fixture(scope="session")
def folder():
    return fmus.build()


@pytest.fixture
def misbehave(folder):
    """Run Good → Bad, of which Bad misbehaves from t = `when` on, with macro steps of 0.01 s until 1 s."""

    def simulate(what, when=0.455, *, version=2, stop=1.0, **options):
        source = f"fmi{version}/Misbehaving.fmu"
        values = {"Bad.what": what, "Bad.when": when}
        net = network({"Good": source, "Bad": source}, [("Good.y", "Bad.u")], values, folder=folder)
        plan = make_plan(net, Settings(stop_time=stop, step_size=0.01))
        return run(plan, Folder(folder), isolated=True, **options)

    return simulate


@pytest.fixture(params=[True, False], ids=["forked", "fresh"])
def start(request, monkeypatch):
    """Both ways of starting a child."""
    monkeypatch.setattr(child, "_may_fork", lambda fork: request.param)


def test_an_error_of_the_operating_system_in_the_child_keeps_the_name_of_the_file(start, tmp_path):
    log = tmp_path / "none" / "loops.csv"
    plan = make_plan(oscillator(), Settings(stop_time=0.01, step_size=0.01, log_loops=log))
    with pytest.raises(FileNotFoundError, match=r"none/loops\.csv") as caught:
        run(plan, Folder(), isolated=True)
    assert caught.value.filename == str(log)


@pytest.mark.parametrize("sources", [FMI1, FMI2, FMI3])
def test_a_child_process_gives_the_same_bits(start, sources):
    plan = make_plan(oscillator(sources, System2__m_c=2.0), Settings(stop_time=2.0, step_size=0.01))
    here, there = run(plan, Folder()), run(plan, Folder(), isolated=True)
    assert np.array_equal(there.unwrap().y, here.unwrap().y)
    assert np.array_equal(there.trace.t, here.trace.t)
    assert there.initialization.loops[0].solution.iterations == here.initialization.loops[0].solution.iterations
    assert there.statistics.steps == here.statistics.steps
    assert there.statistics.iterations_mean == here.statistics.iterations_mean


def test_an_interpreter_that_starts_slowly_is_not_the_fault_of_an_fmu(monkeypatch):
    """It takes longer than the rest of a message may."""
    monkeypatch.setattr(child_processes, "REST_SECONDS", 1)
    monkeypatch.setattr(child_processes, "_START", "import time; time.sleep(1.5)\n" + child_processes._START)
    monkeypatch.setattr(child, "_may_fork", lambda fork: False)
    plan = make_plan(oscillator(), Settings(stop_time=0.01, step_size=0.01))
    assert run(plan, Folder(), isolated=True).ok


@stand_ins
@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize(
    ("what", "ending", "words"),
    [
        (fmus.WRITE_TO_NULL, Ending.CRASHED, "SIGSEGV"),
        (fmus.OVERFLOW_STACK, Ending.CRASHED, "SIGSEGV"),
        (fmus.ABORT, Ending.CRASHED, "SIGABRT"),
        (fmus.KILL_ITSELF, Ending.CRASHED, "SIGKILL"),
        (fmus.EXIT_WITH_3, Ending.EXITED, "exit status 3"),
    ],
)
def test_what_ends_the_process_ends_the_run_with_the_call_and_all_rows(
    misbehave, tmp_path, version, what, ending, words
):
    path = tmp_path / "run.csv"
    result = misbehave(what, version=version, output=path)
    assert result.status is ending
    failure = result.failure
    assert (failure.component, failure.function) == ("Bad", f"{prefix(version)}DoStep")
    assert words in failure.message and failure.advice
    assert failure.time == approx(0.45)
    assert (len(result.trace), result.rows, len(read_csv(path))) == (46, 46, 46)
    assert result.trace["Good.y"] == approx(1 - np.exp(-result.trace.t), abs=1e-9)
    assert not np.isnan(result.trace.y).any()


def test_a_thread_that_an_fmu_leaves_behind_does_not_crash_the_end(start, misbehave):
    """Its code would be gone if the library were closed."""
    result = misbehave(fmus.LEAVE_THREAD)
    assert (result.status, result.rows) == (Ending.COMPLETED, 101)


def test_a_status_that_fmi_does_not_know_is_reported_as_it_is():
    plan = make_plan(oscillator(), Settings(stop_time=0.1, step_size=0.01))
    loaded = LoadedSystem(plan)
    with assemble(loaded.native, loaded.adopted, plan, Folder()) as assembly:
        failure = assembly.explain(Outcome(Code.FMI, 1, "fmi2DoStep", 77), 0.05)
    assert failure.message == "component System2: fmi2DoStep returned status 77, which FMI does not define"
    assert "status -1, which FMI does not define" in str(FmiError("System2", "fmi2Terminate", -1, ()))


def test_a_crash_is_survived_however_the_child_was_started(start, misbehave):
    result = misbehave(fmus.WRITE_TO_NULL)
    assert (result.status, result.rows) == (Ending.CRASHED, 46)


def test_a_crash_while_starting_names_the_call_too(misbehave):
    result = misbehave(fmus.WRITE_TO_NULL, when=-1.0)
    assert result.status is Ending.CRASHED
    assert (result.failure.component, result.rows) == ("Bad", 0)
    assert result.failure.function.startswith("fmi2")
    assert not result.initialization.ok


@stand_ins
def test_a_step_that_never_returns_ends_with_the_step_limit(start, misbehave):
    result = misbehave(fmus.HANG, limits=Limits(step_seconds=1.0))
    assert result.status is Ending.TIMEOUT
    assert (result.failure.component, result.failure.function) == ("Bad", "fmi2DoStep")
    assert "a macro step exceeds its time limit of 1 s" in result.failure.message
    assert result.rows == 46


@stand_ins
def test_a_run_that_never_returns_ends_with_the_limit_of_the_run(start, misbehave):
    result = misbehave(fmus.HANG, limits=Limits(seconds=1.5))
    assert result.status is Ending.TIMEOUT
    assert "the run exceeds its time limit of 1.5 s" in result.failure.message
    assert (result.failure.component, result.rows) == ("Bad", 46)


def test_a_run_that_gets_on_slowly_does_not_offend_the_step_limit(start, misbehave):
    """Only the whole run takes longer than a step may: 1000 steps of at least 10 evaluations of 0.1 ms each."""
    result = misbehave(fmus.KILL_COMMAND, when=1e9, stop=10.0, limits=Limits(step_seconds=0.9))
    assert result.ok
    assert result.statistics.seconds > 0.9


@stand_ins
def test_memory_that_grows_beyond_its_limit_ends_the_run(misbehave):
    result = misbehave(fmus.EAT_MEMORY, limits=Limits(memory=400 << 20))
    assert result.status is Ending.MEMORY
    assert (result.failure.component, result.failure.function) == ("Bad", "fmi2DoStep")
    assert "allowed are 400 MiB" in result.failure.message
    assert result.rows == 46


def test_nan_ends_the_run_as_it_does_without_a_child(misbehave):
    result = misbehave(fmus.NOT_A_NUMBER)
    assert result.status is Ending.NONFINITE
    assert "Bad.y is nan" in result.failure.message
    assert result.failure.time == pytest.approx(0.46)  # where the value is, which the step from 0.45 s leads to
    assert result.rows == 47  # the last one with that value


def test_what_is_raised_in_the_child_is_raised_here(monkeypatch):
    """With its facts, although its constructor does not take what pickle would give it."""
    net = oscillator()
    part = net.components["System2"]
    other = replace(part, description=replace(part.description, token="another model"))
    net = replace(net, components={**net.components, "System2": other})
    with pytest.raises(FmiError) as caught:
        run(make_plan(net, Settings(stop_time=0.1, step_size=0.01)), Folder(), isolated=True)
    assert (caught.value.instance, caught.value.function) == ("System2", "fmi2Instantiate")


def test_nothing_is_left_behind_after_a_crash(misbehave, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    misbehave(fmus.WRITE_TO_NULL)
    assert list(tmp_path.iterdir()) == []


def test_limits_are_positive():
    with pytest.raises(ValueError, match="the timeout must be greater than 0, found -1"):
        Limits(seconds=-1)


def test_a_child_names_the_original_of_a_temporary_copy(start, tmp_path):
    with zipfile.ZipFile(RESOURCES / "System1.fmu") as packed:
        packed.extractall(tmp_path / "Spring")
    for library in (tmp_path / "Spring" / "binaries").rglob("*.*"):
        library.write_text("x")
    with pytest.raises(UnusableFmu) as found:
        ssptool.simulate(tmp_path / "Spring", isolated=True)
    assert str(found.value).startswith(f"{tmp_path / 'Spring'}: the binary cannot be loaded")


def test_a_trace_that_was_not_kept_says_where_it_is(tmp_path):
    path = tmp_path / "run.csv"
    plan = make_plan(oscillator(), Settings(stop_time=0.1, step_size=0.01))
    result = run(plan, Folder(), isolated=True, recording=Recording(path, keep=False))
    assert (result.rows, result.last_time) == (11, approx(0.1))
    with pytest.raises(Exception, match=r"not kept in memory; read .*run\.csv"):
        result.unwrap()
    assert len(read_csv(path)) == 11
