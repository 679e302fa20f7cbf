"""FMUs in processes of their own: the same bits, one crash names one component, and no process stays behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool import Settings
from ssptool.engine.failure import Ending
from ssptool.engine.kernel.calls import prefix
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.settings import Limits
from ssptool.fmu.instance import FmiError
from ssptool.fmu.processes import AVAILABLE
from ssptool.fmu.processes import process as fmu_process
from tests.engine.dual_mass import FMI1, FMI2, FMI3, Folder, network, oscillator
from tests.engine.running import run
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.systems import write_system
from tests.fmus import build as fmus
from tests.waiting import until

pytestmark = [
    pytest.mark.skipif(not AVAILABLE, reason="FMUs have processes of their own on Linux only"),
    pytest.mark.one_in(3),
]

ONCE = 'canBeInstantiatedOnlyOncePerProcess="true"'


@pytest.fixture(params=["copies", "fresh"])
def start(request, monkeypatch):
    """Both ways of starting a process."""
    if request.param == "fresh":
        monkeypatch.setattr(fmu_process, "_ForkedProcess", fmu_process._NewProcess)


@pytest.fixture(autouse=True)
def _nothing_stays():
    before = children(os.getpid())
    yield
    assert children(os.getpid()) == before


def children(pid):
    """Processes that this one has started and not waited for, ended ones too."""
    return {int(number) for path in Path(f"/proc/{pid}/task").iterdir() for number in _listed(path / "children")}


def _listed(path):
    try:
        return path.read_text().split()
    except OSError:  # the thread has ended meanwhile
        return []


def both(net, isolated=False, processes="each", **settings):
    plans = (make_plan(net, Settings(processes=which, **settings)) for which in (None, processes))
    return tuple(run(plan, Folder(), isolated=isolated).unwrap() for plan in plans)


# -- the same bits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("sources", [FMI1, FMI2, FMI3], ids=["fmi1", "fmi2", "fmi3"])
def test_components_in_processes_of_their_own_give_the_same_bits(start, sources, isolated):
    here, there = both(oscillator(sources, System2__m_c=2.0), isolated, stop_time=0.5, step_size=0.01)
    assert np.array_equal(here.cells, there.cells)


@pytest.mark.parametrize(
    "settings",
    [
        {"master": "jacobi", "approximation": "hold"},
        {"master": "jacobi", "approximation": "extrapolate", "input_order": 2},
        {"master": "gauss-seidel"},
        {"master": "iterated", "acceleration": "anderson"},
        {"master": "iterated", "acceleration": "newton"},
        {"master": "jacobi", "threads": 2},
        {"adaptive": 1e-4},
        {"implementation": "me"},
        {"implementation": "me", "integrator": "adams"},
    ],
    ids=lambda settings: " ".join(map(str, settings.values())),
)
@pytest.mark.parametrize("sources", [FMI2, FMI3], ids=["fmi2", "fmi3"])
def test_every_master_gives_the_same_bits(sources, settings):
    here, there = both(oscillator(sources), stop_time=0.3, step_size=0.01, **settings)
    assert np.array_equal(here.cells, there.cells)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_components_share_processes_where_there_are_fewer(count):
    here, there = both(oscillator(), processes=count, stop_time=0.3, step_size=0.01)
    assert np.array_equal(here.cells, there.cells)


@pytest.mark.parametrize(
    "system", ["mass_spring_damper", "flyball_governor", "one_dof_oscillator", "rotational_spring_mass_damper"]
)
def test_the_example_systems_give_the_same_bits(system):
    path = Path(__file__).parents[2] / "systems" / system
    here, there = (
        ssptool.simulate(path, settings=Settings(stop_time=0.05, processes=which)).trace for which in (None, "each")
    )
    assert np.array_equal(here.cells, there.cells)


@pytest.mark.parametrize("version", [2, 3])
def test_texts_and_states_come_from_other_processes(tmp_path, version):
    """A text as long as the step number is sent from A to B, beyond what the memory has room for at first."""
    size = 200_000
    text = f"static char text[{size} + 1]; memset(text, 'x', {size}); text[{size}] = 0; set_text(&v->s, text);"
    make_fmu(tmp_path / "A.fmu", [Var("s", "output", "String", start="")], version=version, calc=text)
    take = [Var("s", "input", "String", start=""), Var("n", "output", needs=["s"])]
    make_fmu(tmp_path / "B.fmu", take, version=version, calc="v->n = strlen(v->s);")
    net = network({"A": "A.fmu", "B": "B.fmu"}, [("A.s", "B.s")], folder=tmp_path)
    plan = make_plan(net, Settings(stop_time=0.2, step_size=0.1, processes="each"))
    assert run(plan, Folder(tmp_path)).unwrap()["B.n"] == approx(np.full(3, size))


def test_components_with_one_fmu_may_ask_for_different_inputs(start, tmp_path):
    """The second one drives an input inside of its steps, the first has none that moves."""
    system = write_system(
        tmp_path / "s", fmus.build() / "fmi3", {"A": "Misbehaving", "B": "Misbehaving"}, [("A.y", "B.u")]
    )
    runs = [ssptool.simulate(system, implementation="cs", processes=which, step_size=0.1) for which in (None, 1)]
    assert np.array_equal(runs[0].trace.y, runs[1].trace.y) and runs[0]["B.y"][-1] > 0.1


def test_a_simulation_is_saved_and_goes_on_in_other_processes(tmp_path):
    path = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
    settings = Settings(stop_time=0.02, processes="each")
    with ssptool.Simulation(path, settings=settings) as one:
        one.run_until(0.01)
        one.set("System2.k3", 30.0)
        one.save(tmp_path / "state")
        one.run_until(0.02)
    with ssptool.Simulation(path, settings=settings, saved=tmp_path / "state") as other:
        other.run_until(0.02)
    assert np.array_equal(other.trace.y, one.trace.y[11:])  # from the row after what was set


# -- crashes ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def folder():
    return fmus.build()


@pytest.fixture
def misbehave(folder):
    """Run Good → Bad, of which Bad misbehaves from t = `when` on, with macro steps of 0.01 s until 1 s."""

    def simulate(what, when=0.455, *, version=2, processes="each", **options):
        source = f"fmi{version}/Misbehaving.fmu"
        values = {"Bad.what": what, "Bad.when": when}
        net = network({"Good": source, "Bad": source}, [("Good.y", "Bad.u")], values, folder=folder)
        plan = make_plan(net, Settings(stop_time=1.0, step_size=0.01, processes=processes))
        return run(plan, Folder(folder), **options)

    return simulate


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize(
    ("what", "ending", "words"),
    [
        (fmus.WRITE_TO_NULL, Ending.CRASHED, "was ended by SIGSEGV"),
        (fmus.KILL_ITSELF, Ending.CRASHED, "was ended by SIGKILL"),
        (fmus.EXIT_WITH_3, Ending.EXITED, "exited with status 3"),
    ],
)
def test_a_process_that_ends_names_component_call_and_time_and_rows_are_kept(
    misbehave, isolated, version, what, ending, words
):
    result = misbehave(what, version=version, isolated=isolated)
    failure = result.failure
    assert result.status is ending
    assert (failure.component, failure.function) == ("Bad", f"{prefix(version)}DoStep")
    assert failure.message.startswith(f"the process of component Bad {words}")
    assert failure.time == approx(0.45)
    assert (result.rows, len(result.trace)) == (46, 46)
    assert result.trace["Good.y"] == approx(1 - np.exp(-result.trace.t), abs=1e-9)


def test_a_crash_names_those_that_share_the_process(misbehave):
    result = misbehave(fmus.WRITE_TO_NULL, processes=1)
    assert "the process of component Bad, which it shares with Good, was ended by SIGSEGV" in result.failure.message


def test_a_crash_of_a_fresh_process_is_told_as_well(start, misbehave):
    result = misbehave(fmus.ABORT)
    assert (result.status, result.failure.component, result.rows) == (Ending.CRASHED, "Bad", 46)


def test_a_crash_while_starting_names_the_call(misbehave):
    result = misbehave(fmus.WRITE_TO_NULL, when=-1.0)
    assert (result.status, result.failure.component, result.rows) == (Ending.CRASHED, "Bad", 0)
    assert result.failure.function.startswith("fmi2")


def test_a_step_in_another_process_that_never_returns_ends_with_the_step_limit(misbehave):
    result = misbehave(fmus.HANG, isolated=True, limits=Limits(step_seconds=1.0))
    assert (result.status, result.failure.component) == (Ending.TIMEOUT, "Bad")
    assert (result.failure.function, result.rows) == ("fmi2DoStep", 46)


def test_memory_that_another_process_takes_counts(misbehave):
    result = misbehave(fmus.EAT_MEMORY, isolated=True, limits=Limits(memory=300 << 20))
    assert result.status is Ending.MEMORY


def test_what_an_fmu_prints_in_another_process_is_not_lost(misbehave, capfd):
    assert misbehave(fmus.PRINT).status is Ending.COMPLETED
    seen = capfd.readouterr()
    assert "says the FMU;" in seen.err and not seen.out


def test_an_fmu_that_crashes_while_it_is_loaded_is_named(tmp_path):
    crash = "} __attribute__((constructor)) static void crash(void) { abort();"
    make_fmu(tmp_path / "Bad.fmu", [Var("y", "output", needs=[])], calc=crash)
    plan = make_plan(network({"A": "Bad.fmu"}, [], folder=tmp_path), Settings(stop_time=1.0, processes="each"))
    with pytest.raises(FmiError, match=r"A: fmi2Instantiate returned fatal; .*\s+the process .* ended by SIGABRT"):
        run(plan, Folder(tmp_path))


@pytest.mark.parametrize("way", ["copies", "fresh"])
def test_no_process_outlives_one_that_is_killed(folder, way):
    """A program with an FMU that never returns is ended by SIGKILL."""
    program = f"""
from ssptool.fmu.processes import process
from tests.engine.test_processes import *
process._ForkedProcess = {"process._NewProcess" if way == "fresh" else "process._ForkedProcess"}
values = {{"A.what": fmus.HANG, "A.when": 0.0}}
net = network({{"A": "fmi2/Misbehaving.fmu", "B": "fmi2/Misbehaving.fmu"}}, [], values, folder=Path({str(folder)!r}))
plan = make_plan(net, Settings(stop_time=1.0, step_size=0.01, processes="each", master="jacobi"))
run(plan, Folder(Path({str(folder)!r})))
"""
    with subprocess.Popen([sys.executable, "-c", program]) as started:
        try:
            found = until(lambda: len(children(started.pid)) == 2 and children(started.pid))
        finally:  # else the program, which never ends, would be waited for
            started.send_signal(signal.SIGKILL)
    until(lambda: not any(Path(f"/proc/{number}").exists() for number in found))


# -- once per process ------------------------------------------------------------------------------------------------


@pytest.fixture
def counting(tmp_path):
    """A network of three; all instances in a process add to the same sum, and in a process of its own y = u t."""
    variables = [Var("u", "input", start=1.0, variability="continuous"), Var("y", "output", needs=[])]
    step = "static double sum; sum += v->u * h; v->y = sum; return OK;"
    make_fmu(tmp_path / "Counting.fmu", variables, cs=ONCE, me=None, step=step)
    return network(dict.fromkeys("ABC", "Counting.fmu"), [], {"A.u": 1.0, "B.u": 2.0, "C.u": 4.0}, folder=tmp_path)


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("processes", [None, "each", 1, 2])
def test_fmus_of_which_a_process_takes_one_are_right(counting, isolated, processes, tmp_path):
    plan = make_plan(counting, Settings(stop_time=1.0, step_size=0.125, processes=processes))
    trace = run(plan, Folder(tmp_path), isolated=isolated).unwrap()
    for name, u in {"A": 1.0, "B": 2.0, "C": 4.0}.items():
        assert trace[f"{name}.y"] == approx(u * trace.t, abs=1e-15)


def test_what_is_moved_to_another_process_is_told(counting):
    plan = make_plan(counting, Settings(stop_time=1.0))
    assert [one.process for one in plan.instances] == [0, 1, 2]
    note = next(note for note in plan.notes if "OnlyOncePerProcess" in note)
    assert note.startswith("B, C have processes of their own, because Counting.fmu sets")
    choice = next(choice for choice in plan.choices if choice.setting == "processes")
    assert choice.value == "2" and "process 1: B; process 2: C" in choice.reason


@pytest.mark.parametrize("value", ["all", 0, -1, 1.5, True])
def test_processes_that_cannot_be_are_refused(value):
    with pytest.raises(ValueError, match="processes"):
        Settings(processes=value)


@pytest.mark.skipif(sys.platform != "linux", reason="on_exit")
def test_an_fmu_that_exits_runs_no_exit_handler_of_its_parent():
    """A handler of a library that the parent has used crashes in a copy, which has none of the library's threads."""
    code = """
import ctypes
import os

from ssptool.child_processes import Fork

c, parent = ctypes.CDLL(None), os.getpid()
crash_in_a_copy = ctypes.CFUNCTYPE(None)(lambda: os.getpid() == parent or os.abort())
c.__cxa_atexit(crash_in_a_copy, None, None)

def work():
    c.printf(b"says the FMU;")
    c.exit(3)

copy = Fork(work)
print(copy.wait(), flush=True)
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("3\n", "says the FMU;\n")
