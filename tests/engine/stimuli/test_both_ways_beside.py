"""Inputs, scenarios and logs of iterates beside events and model exchange are the same in the system and in Python."""

import math

import pytest

import ssptool
from ssptool.studies.checking import check_study
from ssptool.studies.study_file import study_from
from tests.engine import both_ways
from tests.engine.dual_mass import Folder, oscillator
from tests.engine.dual_mass import simulate as simulate_oscillator
from tests.engine.event_mode.conftest import system
from tests.engine.event_mode.systems import write_system as write_clocked
from tests.engine.event_mode.test_both_ways_at_events import LOOP, PAIR, SWINGING, TICKED
from tests.engine.ode.systems import beside
from tests.engine.running import run
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.stimuli.test_at_events import CHAIN, KINDS, OTHER, TYPES, simulate
from tests.engine.stimuli.test_everywhere import INPUTS, SCENARIO, write_swing
from tests.engine.stimuli.test_everywhere import planned as planned_swing
from tests.engine.systems import state_implementation

pytestmark = pytest.mark.one_in(5)

__all__ = ["system", "write_swing"]

WAYS = [{"master": "jacobi"}, {"master": "gauss-seidel"}, {"master": "iterated"}, {"adaptive": 1e-3}]
WAY = pytest.mark.parametrize("way", WAYS, ids=str)
EVERY_WAY = pytest.mark.parametrize(
    ("kind", "way"), [(kind, way) for kind in KINDS for way in ([{}] if kind == "one ODE" else WAYS)], ids=str
)
INTEGRATORS = ["bdf", "adams", "dormand-prince", "rosenbrock"]


@EVERY_WAY
def test_actions_on_connections_of_every_type(engine_models, kind, way, compared):
    """At both ends, inside of steps and at their ends; right at the start, and at the stop time."""
    first, second, exchange = KINDS[kind]
    events = [(0.25, f"First.told_{one}", "override", OTHER[one]) for one in TYPES]
    events += [(0.5, f"Second.{one}", "override", OTHER[one]) for one in TYPES]
    events += [(0.55, f"First.told_{one}", "reset", None) for one in TYPES]
    events += [(0.0, "Second.count", "bias", 2), (0.65, "Second.count", "bias", 5), (1.0, "Second.count", "bias", -1)]
    files = {"First": first, "Second": second}
    simulate(engine_models.parent / "fmi3", files, CHAIN, None, exchange, events, **way).unwrap()
    assert compared()


@EVERY_WAY
def test_tables_of_every_type(engine_models, kind, way, compared):
    first, second, exchange = KINDS[kind]
    start = {"on": False, "mode": 1, "text": "start"}
    inputs = {
        f"First.{one}": ssptool.types.Table((0.0, 0.35), (start.get(one, 0), OTHER[one]), "hold") for one in TYPES
    }
    inputs["First.level"] = ssptool.types.Table((0.0, 0.2, 0.2, 1.0), (0.0, 1.0, 2.0, 0.0))
    events = [(0.25, "First.count", "override", 7), (0.75, "First.count", "reset", None)]
    files = {"First": first, "Second": second}
    simulate(engine_models.parent / "fmi3", files, CHAIN, None, exchange, events, inputs=inputs, **way).unwrap()
    assert compared()


@EVERY_WAY
@pytest.mark.parametrize("fails", [math.inf, 0.42, 0.5], ids=["", "in a step", "at a jump"])
def test_functions(engine_models, kind, way, fails, compared):
    def level(t):
        return math.sin(t) if t < fails else 1 / 0

    first, second, exchange = KINDS[kind]
    inputs = {
        "First.level": ssptool.types.Function(level, steps=(0.333, 0.5)),
        "First.count": ssptool.types.Function(lambda t: int(10 * t + 1e-9), interpolation="hold"),
        "First.text": ssptool.types.Function(lambda t: f"at {t:.1f}", steps=(0.25, 0.75), interpolation="hold"),
    }
    files = {"First": first, "Second": second}
    result = simulate(engine_models.parent / "fmi3", files, CHAIN, None, exchange, inputs=inputs, **way)
    assert result.ok if fails == math.inf else "ZeroDivisionError" in str(result.failure)
    assert compared()


@WAY
@pytest.mark.parametrize("exchange", [(), ("Second",)], ids=["event mode", "ODE"])
def test_what_belongs_to_a_clock(engine_models, exchange, way, compared):
    files = {"First": "SampledController", "Second": "Follower" if exchange else "SampledController"}
    taken = "v" if exchange else "y"
    wires = [("First.u", f"Second.{taken}"), *([("First.sample", "Second.trigger")] if exchange else [])]
    events = [(0.25, f"Second.{taken}", "override", 9.0), (0.5, f"Second.{taken}", "reset", None)]
    values = {"First.y": -2.0, "First.ki": 0.0}
    simulate(engine_models.parent / "fmi3", files, wires, values, exchange, events, **way).unwrap()
    assert compared()


@WAY
def test_events_of_an_ode_and_others_together(engine_models, way, compared):
    """Ticks go around both; what an action changes meanwhile is an event of both."""
    files = {"Controller": "SampledController", "Tank": "Cistern"}
    events = [
        (0.31, "Controller.y", "bias", 0.5),
        (0.4, "Tank.amount", "override", 0.1),
        (0.7, "Tank.amount", "reset", 0),
    ]
    settings = {"step_size": 0.04, **way}
    simulate(engine_models.parent / "fmi3", files, TICKED, None, ("Tank",), events, **settings).unwrap()
    assert compared()


def test_an_integer_that_becomes_too_large(engine_models, compared):
    events = [(0.25, "Second.tiny", "bias", 100)]
    files = {"First": "Scribe", "Second": "Scribe"}
    result = simulate(engine_models.parent / "fmi3", files, CHAIN, {"First.tiny": 100}, (), events)
    assert "Second.tiny cannot be 200" in str(result.failure)
    assert compared()


# -- a swing of four components, any of which may be integrated ------------------------------------------------------


@pytest.mark.parametrize("settings", [{"approximation": "hold"}, {"substeps": {"Mass": 3}}, *WAYS], ids=str)
@pytest.mark.parametrize("integrated", [("A", "B"), ("Spring",), ("A", "B", "Spring")], ids=str)
def test_a_swing_beside_an_ode(write_swing, engine_models, integrated, settings, compared):
    folder = write_swing(engine_models, *integrated)
    assert run(planned_swing(folder, 2e-3, **{"tolerance": 1e-7} | settings), Folder(folder), isolated=False).ok
    assert compared()


FUNCTIONS = {"A.w": ssptool.types.Function(lambda t: 0.5 * t if t < 0.1037 else 0.02, (0.1037,)), "B.w": INPUTS["B.w"]}


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("inputs", [INPUTS, FUNCTIONS, {}], ids=["tables", "functions", ""])
def test_a_swing_as_one_ode(write_swing, models, integrator, inputs, compared):
    folder = write_swing(models)
    settings = {"implementation": "me", "integrator": integrator, "tolerance": 1e-7}
    scenario = SCENARIO if inputs else ssptool.types.Scenario(SCENARIO.events[:3])
    plan = planned_swing(folder, 2e-3, inputs or None, scenario, **settings)
    assert run(plan, Folder(folder), isolated=False).ok
    assert compared()


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("jumps", [(), (0.1037,)], ids=["in an evaluation", "at a jump"])
def test_a_function_that_fails_in_an_ode(write_swing, models, integrator, jumps, compared):
    folder = write_swing(models)
    wrong = ssptool.types.Function(lambda t: t if t < 0.1037 else 1 / 0, steps=jumps)
    settings = {"implementation": "me", "integrator": integrator}
    result = run(planned_swing(folder, 2e-3, {"A.w": wrong}, None, **settings), Folder(folder), isolated=False)
    assert "ZeroDivisionError" in str(result.failure)
    assert compared()


# -- parameters ------------------------------------------------------------------------------------------------------

PASSING = (
    *(Var(name, "parameter", start=1.0, variability="tunable") for name in ("p", "r")),
    Var("q", "calculated", needs=["p", "r"], variability="tunable"),
    *(Var("u", "input"), Var("x", "state", start=0.0), Var("dx", "der", of="x")),
    Var("y", "output", needs=["u"]),
)
MIXES = {
    "event mode": (),
    "one ODE": ("A", "B"),
    "ODE first": ("A",),
    "ODE last": ("B",),
}


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    ("change", "wires", "said"),
    [
        (("A.p", 2.0), [], ""),
        (("A.p", 9.0), [], "returned error"),
        (("A.r", 0.1), [], "returned error"),
        (("A.p", 4.0), [], "is nan"),
        (("A.r", 2.0), [("B.q", "A.p")], "do not settle"),
    ],
    ids=["", "refused", "refused behind", "not finite", "endless"],
)
def test_what_follows_from_parameters(mix, version, change, wires, said, tmp_path, compared):
    """From 8.5 on they are refused, and with 4 the output is none."""
    calc = "v->q = v->p / v->r; v->y = v->p == 4 ? 0.0 / 0.0 : v->p + v->x + v->u; v->dx = v->p - v->x;"
    event_mode = 'hasEventMode="true"' if version == 3 and mix == "event mode" else ""
    check = "return v->p < 8.5 ? OK : ERROR;"
    fmu = make_fmu(tmp_path / "Passes.fmu", PASSING, version=version, cs=event_mode, calc=calc, check=check)
    parts, kinds = {"A": "Passes", "B": "Passes"}, ("input", "output", "parameter", "calculatedParameter")
    wires = [("A.y", "B.u"), ("A.q", "B.p"), *wires]
    folder = write_clocked(tmp_path / "passing", fmu.parent, parts, wires, kinds=kinds)
    state_implementation(folder, *MIXES[mix])
    name, value = change
    scenario = ssptool.types.Scenario((ssptool.types.Event(0.3, name, "override", value),))
    result = ssptool.simulate(folder, scenario=scenario, step_size=0.1, stop_time=0.7, isolated=False)
    assert said in str(result.failure) if said else result.ok
    assert compared()


# -- logs of iterates --------------------------------------------------------------------------------------------------

LOGS = pytest.mark.parametrize("log", ["log_loops", "log_coupling"])


@LOGS
@pytest.mark.parametrize("settings", [{}, {"adaptive": 1e-4}, {"iterations": 2}, {"max_iterations": 2}], ids=str)
@pytest.mark.parametrize("exchange", ["System1", "System2"])
def test_logs_beside_an_ode(exchange, log, settings, tmp_path, compared):
    net = beside(oscillator(System2__m_c=0.5), exchange)
    options = {"master": "iterated", "stop_time": 0.2, "step_size": 0.01, log: tmp_path / "log.csv", **settings}
    simulate_oscillator(net, **options)
    assert compared()


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_logs_of_loops_of_one_ode(integrator, tmp_path, compared):
    log = tmp_path / "log.csv"
    options = {"implementation": "me", "integrator": integrator, "stop_time": 0.5, "log_loops": log}
    assert simulate_oscillator(oscillator(System2__m_c=2.0), **options).ok
    assert compared()
    assert len(log.read_text().splitlines()) > 1


@LOGS
@pytest.mark.parametrize("settings", [{}, {"adaptive": 1e-3}, {"iterations": 2}, {"max_iterations": 1}], ids=str)
@pytest.mark.parametrize("step", [0.04, 0.3])
def test_logs_beside_events(system, log, settings, step, tmp_path, compared):
    options = {"master": "iterated", "stop_time": 0.7, "step_size": step, "isolated": False, log: tmp_path / "log.csv"}
    ssptool.simulate(system(SWINGING, [*LOOP, *PAIR]), start_values={"Plant.m": "1"}, **options, **settings)
    assert compared()


@LOGS
def test_logs_of_loops_beside_events(engine_models, log, tmp_path, compared):
    """Events of an ODE and of others, with actions."""
    files = {"Controller": "SampledController", "Tank": "Cistern"}
    events = [(0.31, "Controller.y", "bias", 0.5)]
    settings = {"step_size": 0.04, "master": "iterated", log: tmp_path / "log.csv"}
    simulate(engine_models.parent / "fmi3", files, TICKED, None, ("Tank",), events, **settings).unwrap()
    assert compared()


def test_ticks_are_over_at_the_next_event(engine_models, tmp_path, compared):
    """Also where it ends the step that begins with a tick, and steps are done one by one, for the log."""
    fmus, files = engine_models.parent / "fmi3", {"Controller": "SampledController", "Tank": "Cistern"}
    events = [(0.1999999999999, "Controller.u", "bias", 0.84)]
    settings = {"step_size": 0.1, "master": "iterated"}
    ways = [{}, {"log_loops": tmp_path / "loops.csv"}]
    traces = [simulate(fmus, files, TICKED, None, ("Tank",), events, **settings, **way).unwrap() for way in ways]
    assert traces[0].cells.tobytes() == traces[1].cells.tobytes()
    trace = traces[0]
    before = [row for row, ticks in enumerate(trace["Controller.sample"]) if ticks]
    assert before and all(trace.t[row - 1] == trace.t[row] for row in before if row)
    assert compared() == 2


# -- one system after the other --------------------------------------------------------------------------------------


@pytest.mark.parametrize("implementation", ["me", "cs"])
def test_runs_of_a_study(write_swing, models, implementation, tmp_path, compared):
    folder = write_swing(models)
    (tmp_path / "push.csv").write_text("time,A.w\n0,0\n0.1037,0.05\n0.1037,0.02\n")
    checked = check_study(
        study_from(
            {
                "system": str(folder),
                "inputs": str(tmp_path / "push.csv"),
                "settings": {"step_size": 0.002, "stop_time": 0.3, "implementation": implementation},
                "design": {"kind": "latin-hypercube", "runs": 4, "seed": 1},
                "factors": {"A.b": {"low": 0.5, "high": 1.5}},
                "results": {"peak": 'max("Mass.z")'},
            }
        )
    )
    assert both_ways.runs_of_a_study(checked, True) == compared()
