"""Runs that are carried out at once are the same row by row."""

import math

import numpy as np
import pytest

import ssptool
from ssptool.engine.assembly.assembly import asks_for_inputs
from ssptool.engine.recording import iteration_log
from ssptool.engine.run.make_plan import make_plan
from ssptool.fmu.processes import AVAILABLE
from ssptool.studies.checking import check_study
from ssptool.studies.study_file import study_from
from tests.engine import both_ways
from tests.engine.carriers import TYPES
from tests.engine.carriers import write_system as write_carriers
from tests.engine.dual_mass import FMI3, RESOURCES, Folder, oscillator
from tests.engine.event_mode.systems import write_system as write_system_at_events
from tests.engine.running import run
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.small.test_endings import ASKS, DISCARDS
from tests.engine.small.test_endings import system as ending_system
from tests.engine.systems import write_system
from tests.fmus import build
from tests.fmus.build import EXIT_WITH_3, KILL_ITSELF, NOT_A_NUMBER

pytestmark = pytest.mark.one_in(5)

SYSTEMS = RESOURCES.parents[1]
EXAMPLES = ["dual_mass_oscillator", "mass_spring_damper", "one_dof_oscillator", "rotational_spring_mass_damper"]
OSCILLATOR = SYSTEMS / "dual_mass_oscillator"


@pytest.mark.parametrize("master", ["auto", "jacobi", "gauss-seidel", "iterated"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_systems(name, master, compared):
    assert ssptool.simulate(SYSTEMS / name, master=master, stop_time=0.5, isolated=False).ok
    assert compared()


@pytest.mark.parametrize(
    "options",
    [
        {"iterations": 2},
        {"iterations": 1},
        {"acceleration": "aitken"},
        {"acceleration": "anderson"},
        {"relaxation": 0.5},
        {"convergence": {"absolute": 1e-6, "residual-relative": 1e-4}},
        {"max_iterations": 1},
        {"approximation": "hold"},
        {"approximation": "mean"},
        {"substeps": {"System1": 3}},
        {"threads": 2},
    ],
    ids=str,
)
def test_settings_of_iterated_steps(options, compared):
    """Some do not converge in the iterations that they have: a failure, or steps of which a note says so."""
    ssptool.simulate(OSCILLATOR, master="iterated", stop_time=1.0, step_size=0.01, isolated=False, **options)
    assert compared()


OWN_PROCESSES = pytest.mark.skipif(not AVAILABLE, reason="FMUs have processes of their own on Linux only")


@OWN_PROCESSES
@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
def test_components_in_processes_of_their_own(master, compared):
    assert ssptool.simulate(OSCILLATOR, master=master, stop_time=0.5, processes="each", isolated=False).ok
    assert compared()


@OWN_PROCESSES
@pytest.mark.parametrize(
    ("what", "words"), [(KILL_ITSELF, "was ended by SIGKILL"), (EXIT_WITH_3, "exited with status 3")]
)
@pytest.mark.parametrize("when", [-1.0, 0.05])
@pytest.mark.parametrize("version", [2, 3])
def test_a_process_that_ends(version, when, what, words, tmp_path, compared):
    """In initialization, or in a step."""
    folder = write_system(tmp_path / "ends", build.build() / f"fmi{version}", {"Bad": "Misbehaving"}, [])
    start = {"Bad.what": what, "Bad.when": when}
    options = {"start_values": start, "step_size": 0.01, "stop_time": 0.1, "processes": "each"}
    result = ssptool.simulate(folder, isolated=False, **options)
    assert f"the process of component Bad {words}" in str(result.failure)
    assert compared()


PUSHES = [
    {"Sum.w": ssptool.types.Table((0.0, 0.3, 0.3, 0.9), (1.0, 1.0, -2.0, 4.0))},
    {"Sum.w": ssptool.types.Table((0.0, 0.204, 0.2051, 0.21, 0.5), (0.0, 1.0, 3.0, 2.0, 0.0), "hold")},
    {"Sum.w": 2.0},
]


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
@pytest.mark.parametrize("inputs", PUSHES, ids=["lines", "steps", "constant"])
def test_tables_that_drive_inputs(inputs, master, swing, compared):
    """Jumps are at points of the grid, beside it and close together; the stop time is beside it, too."""
    result = ssptool.simulate(swing, inputs=inputs, master=master, step_size=0.01, stop_time=0.505, isolated=False)
    assert result.ok
    assert compared()


ACTS = ssptool.types.Scenario(
    (
        ssptool.types.Event(0.0, "Sum.w", "bias", 0.5),
        ssptool.types.Event(0.1013, "Spring.F", "bias", 1.0),
        ssptool.types.Event(0.15, "Sum.u", "override", -1.0),
        ssptool.types.Event(0.2, "Sum.c", "bias", 0.5),
        ssptool.types.Event(0.2, "Sum.w", "reset"),
        ssptool.types.Event(0.25, "Sum.u", "reset"),
        ssptool.types.Event(0.4, "Sum.c", "reset"),
    )
)
DRIVERS = {
    "nothing": {},
    "table": {"Sum.w": ssptool.types.Table((0.0, 0.2, 0.5), (1.0, 2.0, -3.0))},
    "function": {"Sum.w": ssptool.types.Function(lambda t: math.floor(10 * t) + t, steps=(0.1, 0.2, 0.3, 0.4))},
    "held function": {"Sum.w": ssptool.types.Function(math.sin, interpolation="hold")},
}


@pytest.mark.parametrize("scenario", [None, ACTS], ids=["", "scenario"])
@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
@pytest.mark.parametrize("inputs", DRIVERS)
def test_functions_and_scenarios(inputs, scenario, master, swing, compared):
    options = {"master": master, "step_size": 0.01, "stop_time": 0.5, "isolated": False}
    assert ssptool.simulate(swing, inputs=DRIVERS[inputs] or None, scenario=scenario, **options).ok
    assert compared()


@pytest.mark.parametrize("jumps", [(), (0.255,)])
def test_a_function_that_fails(jumps, swing, compared):
    """In a step, or where it jumps."""
    wrong = ssptool.types.Function(lambda t: 1.0 if t < 0.255 else 1 / 0, steps=jumps)
    result = ssptool.simulate(swing, inputs={"Sum.w": wrong}, step_size=0.01, stop_time=0.5, isolated=False)
    assert "ZeroDivisionError" in str(result.failure)
    assert result.t[-1] == (0.255 if jumps else 0.25)
    assert compared()


@pytest.mark.parametrize("version", [2, 3])
def test_overrides_of_every_type(version, carriers, tmp_path, compared):
    kinds = TYPES[version]
    wires = [f"A.{kind}_is -> B.{kind}_u" for kind in kinds]
    folder = write_carriers(tmp_path / "types", carriers, [("A", version), ("B", version)], wires)
    value = {"Boolean": True, "String": "κ", "Enumeration": "b"}
    events = [ssptool.types.Event(0.2, f"B.{kind}_u", "override", value.get(kind, 3)) for kind in kinds]
    scenario = ssptool.types.Scenario(tuple(events), end=0.4)
    options = {"step_size": 0.1, "stop_time": 0.5, "record": ["*"], "isolated": False}
    assert ssptool.simulate(folder, scenario=scenario, **options).ok
    assert compared()


def test_a_parameter_that_is_refused(tmp_path, compared):
    """From 2 on it cannot be."""
    parameter, check = Var("p", "parameter", start=1.0, variability="tunable"), "return v->p < 2 ? OK : ERROR;"
    make_fmu(tmp_path / "Takes.fmu", (parameter, *STEADY[1:]), version=2, me=None, calc="v->y = v->p;", check=check)
    folder = write_system(tmp_path / "takes", tmp_path, {"A": "Takes"}, [])
    events = [ssptool.types.Event(0.2, "A.p", "override", 1.5), ssptool.types.Event(0.3, "A.p", "override", 2.5)]
    scenario = ssptool.types.Scenario(tuple(events))
    result = ssptool.simulate(folder, scenario=scenario, step_size=0.1, stop_time=0.5, isolated=False)
    assert "fmi2SetReal returned error" in str(result.failure)
    assert result["A.y"].tolist() == [1.0, 1.0, 1.0, 1.5, 1.5]
    assert compared()


@pytest.mark.parametrize(
    "settings",
    [
        *({"master": "jacobi"}, {"master": "jacobi", "approximation": "hold"}, {"master": "gauss-seidel"}),
        *({"master": "jacobi", "exchange": "late"}, {"master": "iterated"}),
    ],
    ids=str,
)
def test_dense_jumps(settings, swing, compared):
    """On the grid of 0.01 s, beside it, several in one step."""
    random = np.random.default_rng(3)
    times = np.sort(np.concatenate([[0.0], random.uniform(0.0, 0.5, 60), random.integers(0, 50, 60) / 100]))
    table = ssptool.types.Table(tuple(times.tolist()), tuple(random.normal(size=len(times)).tolist()), "hold")
    options = {"step_size": 0.01, "stop_time": 0.5, "isolated": False, **settings}
    assert ssptool.simulate(swing, inputs={"Sum.w": table}, scenario=ACTS, **options).ok
    assert compared()


def test_a_loop_that_jumps_from_bad_to_worse(tmp_path, compared):
    """y = u² / 2 + w, u = y: w = 0.3 → y = 1 − √0.4; there is no solution any more with w = 1."""
    square = (Var("u", "input"), Var("w", "input"), Var("y", "output", needs=["u", "w"]))
    make_fmu(tmp_path / "Square.fmu", square, version=2, me=None, calc="v->y = v->u * v->u / 2 + v->w;")
    make_fmu(tmp_path / "Passes.fmu", STEADY, version=2, me=None, calc="v->y = v->u;")
    parts, wires = {"A": "Square", "B": "Passes"}, [("A.y", "B.u"), ("B.y", "A.u")]
    folder = write_system(tmp_path / "square", tmp_path, parts, wires)
    inputs = {"A.w": ssptool.types.Table((0.0, 0.2, 0.4), (0.0, 0.3, 1.0), "hold")}
    result = ssptool.simulate(folder, inputs=inputs, step_size=0.1, stop_time=1.0, isolated=False)
    assert result["A.y"][-1] == pytest.approx(1 - math.sqrt(0.4))
    assert "the algebraic loop" in str(result.failure)
    assert compared()


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
@pytest.mark.parametrize("options", [{}, {"input_order": 2}, {"substeps": {"System1": 2}}], ids=str)
def test_inputs_that_are_asked_for_inside_steps(options, master, compared):
    plan = make_plan(oscillator(FMI3), ssptool.Settings(master=master, step_size=0.01, stop_time=0.5, **options))
    assert any(map(asks_for_inputs, plan.instances))
    assert run(plan, Folder()).ok
    assert compared()


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize(
    "options", [{}, {"iterations": 2}, {"max_iterations": 2}, {"substeps": {"System1": 3}}], ids=str
)
def test_logs_of_iterated_steps(options, ending, tmp_path, compared):
    log = tmp_path / f"steps.{ending}"
    ssptool.simulate(
        OSCILLATOR, master="iterated", stop_time=0.5, step_size=0.01, log_coupling=log, isolated=False, **options
    )
    assert compared()
    assert len(log.read_text().splitlines()) > 1


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
@pytest.mark.parametrize("gain", [-3.0, 1.0])
def test_logs_of_loops(gain, master, tmp_path, compared):
    """In initialization and in steps, solved or not."""
    log, steps = tmp_path / "loops.csv", tmp_path / "steps.csv"
    options = {"master": master, "stop_time": 0.5, "step_size": 0.1, "start_values": {"A.a": gain}}
    result = ssptool.simulate(bending(tmp_path), isolated=False, log_loops=log, log_coupling=steps, **options)
    assert result.ok == (gain != 1.0)
    assert compared()
    assert len(log.read_text().splitlines()) > 5


def test_a_log_that_cannot_be_written_ends_the_run(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(iteration_log.IterationLog, "write", refuse)
    with pytest.raises(OSError, match="the disk is full"):
        ssptool.simulate(OSCILLATOR, master="iterated", stop_time=0.5, log_coupling=tmp_path / "a.csv", isolated=False)


def test_columns_that_are_only_observed(compared):
    result = ssptool.simulate(OSCILLATOR, stop_time=0.1, isolated=False, record=["*"])
    assert result.ok
    assert compared()


@pytest.mark.parametrize("when", [0.0, 0.05])
@pytest.mark.parametrize("version", [2, 3])
def test_a_value_that_is_not_finite(version, when, tmp_path, compared):
    folder = write_system(tmp_path / "bad", build.build() / f"fmi{version}", {"Bad": "Misbehaving"}, [])
    start = {"Bad.what": NOT_A_NUMBER, "Bad.when": when}
    result = ssptool.simulate(folder, start_values=start, step_size=0.01, stop_time=0.1, isolated=False)
    assert "not finite" in str(result.failure) or "nan" in str(result.failure)
    assert compared()


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
@pytest.mark.parametrize(("version", "step"), [(2, DISCARDS), (3, ASKS)])
def test_an_end_that_a_component_asks_for(version, step, master, tmp_path, compared):
    folder = ending_system(tmp_path, version, step)
    result = ssptool.simulate(folder, master=master, stop_time=1.0, step_size=0.1, isolated=False)
    assert result.status == "ended by a component"
    assert compared()


STEADY = (Var("p", "parameter", start=1.0), Var("u", "input"), Var("y", "output", needs=["u"]))


@pytest.mark.parametrize(("status", "word"), [(2, "discard"), (3, "error"), (4, "fatal")])
def test_a_step_that_is_refused(status, word, tmp_path, compared):
    """From the third step on."""
    step = f"if (t > 0.25) return {status}; return OK;"
    fmu = make_fmu(tmp_path / "Refuses.fmu", STEADY, version=2, me=None, calc="v->y = v->u;", step=step)
    folder = write_system(tmp_path / "refusing", fmu.parent, {"A": "Refuses", "B": "Refuses"}, [("A.y", "B.u")])
    result = ssptool.simulate(folder, stop_time=1.0, step_size=0.1, isolated=False)
    assert f"DoStep returned {word}" in str(result.failure)
    assert compared()


def test_numbers_that_json_lacks(tmp_path, compared):
    fmu = make_fmu(tmp_path / "Big.fmu", STEADY, version=2, me=None, calc="v->y = v->p > 1e300 ? 2.0 : 3.0;")
    folder = write_system(tmp_path / "big", fmu.parent, {"A": "Big"}, [])
    result = ssptool.simulate(folder, start_values={"A.p": "INF"}, stop_time=0.2, step_size=0.1, isolated=False)
    assert result.unwrap()["A.y"][-1] == 2.0
    assert compared()


@pytest.mark.parametrize(("gain", "offset"), [(0.5, 0.0), (1.0, 1.0), (1.0, 0.0)])
def test_loops_with_and_without_a_solution(gain, offset, system, compared):
    folder = system({"A": "Affine", "B": "Affine"}, [("A.y", "B.u"), ("B.y", "A.u")])
    start = {"A.a": gain, "A.c": offset, "B.c": offset}
    result = ssptool.simulate(folder, start_values=start, stop_time=0.2, step_size=0.1, isolated=False)
    assert result.ok == (gain != 1.0)
    assert compared()


@pytest.mark.parametrize(
    ("fmu", "gain", "said"), [("Steady", 0.5, ""), ("Steady", 4.0, "52 rounds"), ("Unresettable", 0.5, "--set A.u=0.5")]
)
def test_initial_states_without_a_mode_that_need_each_other(fmu, gain, said, engine_models, tmp_path, compared):
    wires = [("A.y", "B.u"), ("B.y", "A.u")]
    folder = write_system(tmp_path / "old", engine_models.parent / "fmi1", {"A": fmu, "B": fmu}, wires)
    start = {"A.a": gain, "A.c": 1.0, "B.a": 0.5}
    result = ssptool.simulate(folder, start_values=start, stop_time=0.5, step_size=0.1, isolated=False)
    assert said in str(result.failure) if said else result.ok
    assert compared()


@pytest.mark.parametrize("endless", [False, True])
def test_parameters_that_components_calculate(endless, engine_models, tmp_path, compared):
    """Each passes on a quotient of its parameters, q = a/b, which halves again and again around a loop."""
    wires = [("A.q", "B.a"), ("B.q", "C.a"), ("C.q", "A.a")][: 3 if endless else 2]
    kinds = ("input", "output", "parameter", "calculatedParameter")
    fmus = dict.fromkeys("CBA", "fmi3/Ratio")
    folder = write_system_at_events(tmp_path / "ratios", engine_models.parent, fmus, wires, kinds=kinds)
    start = {"A.b": 2.0, "B.b": 2.0}
    result = ssptool.simulate(folder, start_values=start, stop_time=0.5, step_size=0.1, isolated=False)
    assert "A.a, C.a, B.a" in str(result.failure) if endless else result["C.y"][-1] == 0.25
    assert compared()


BENDS = (
    *(Var("s", "state"), Var("ds", "der", of="s"), Var("a", "parameter"), Var("u", "input")),
    Var("y", "output", needs=["u", "s"]),
)


def bending(tmp_path):
    """A loop whose gain becomes that of A.a at t = 0.15 s."""
    calc = "v->ds = 1.0; v->y = (v->s > 0.15 ? v->a : 0.5) * v->u + 1.0;"
    fmu = make_fmu(tmp_path / "Bends.fmu", BENDS, version=2, me=None, calc=calc)
    make_fmu(tmp_path / "Passes.fmu", STEADY, version=2, me=None, calc="v->y = v->u;")
    wires = [("A.y", "B.u"), ("B.y", "A.u")]
    return write_system(tmp_path / "bending", fmu.parent, {"A": "Bends", "B": "Passes"}, wires)


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
@pytest.mark.parametrize("gain", [-3.0, 1.0])
def test_a_loop_whose_gain_jumps(gain, master, tmp_path, compared):
    """y = a u + 1 from t = 0.15 s on, where a was 0.5 before, and u = y: the chord does not do any more. With a = 1, no
    value is a solution.
    """
    options = {"master": master, "stop_time": 0.5, "step_size": 0.1, "start_values": {"A.a": gain}}
    result = ssptool.simulate(bending(tmp_path), isolated=False, **options)
    assert result.ok == (gain != 1.0)
    assert not result.ok or result["A.y"][-1] == pytest.approx(0.25)
    assert not result.ok or result.statistics.loops_rescued == 1
    assert compared()


@pytest.mark.parametrize(
    ("reuse", "settings"),
    [(True, {}), (False, {}), pytest.param(True, {"processes": "each"}, marks=OWN_PROCESSES)],
    ids=str,
)
def test_runs_of_a_study(reuse, settings, compared):
    """One system carries them out, one after the other; each is that of its own parameters, failures included."""
    checked = check_study(
        study_from(
            {
                "system": str(OSCILLATOR),
                "settings": {"step_size": 0.01, "stop_time": 0.5, **settings},
                "design": {"kind": "latin-hypercube", "runs": 6, "seed": 1},
                "factors": {"System2.k2": {"low": 5.0, "high": 15.0}, "System1.c1": {"low": 0.05, "high": 0.2}},
                "results": {"peak": 'max("System1.x1")'},
            }
        )
    )
    assert both_ways.runs_of_a_study(checked, reuse) == compared()
