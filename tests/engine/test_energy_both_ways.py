"""Steps chosen by energy residuals that systems carry out are the same as in Python; see test_both_ways.py."""

import math

import pytest

import ssptool
from ssptool import Settings
from ssptool.engine.run.make_plan import make_plan
from ssptool.studies.checking import check_study
from ssptool.studies.study_file import study_from
from tests.engine.both_ways import runs_of_a_study
from tests.engine.dual_mass import FMI2, FMI3, MIXED, RESOURCES, Folder, oscillator
from tests.engine.event_mode.systems import write_system as write_system_at_events
from tests.engine.masters.test_adaptive import without
from tests.engine.masters.test_energy import BOND, HELD, write_forgetful
from tests.engine.ode.systems import couple
from tests.engine.running import run
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.systems import write_system
from tests.engine.test_both_ways import STEADY

pytestmark = pytest.mark.one_in(3)

MASTERS = pytest.mark.parametrize("master", ["jacobi", "gauss-seidel"])
UNITS = {"N": 'kg="1" m="1" s="-2"', "m/s": 'm="1" s="-1"'}
COUPLED = [("Mass.v", "Spring.v"), ("Spring.F", "Mass.F")]
CONTROL = {"adaptive": 1e-2, "power_bonds": (("Mass.v", "Spring.F"),), "step_size": 0.01}


@MASTERS
@pytest.mark.parametrize("hold", [True, False])
@pytest.mark.parametrize("sources", [FMI2, FMI3, MIXED], ids=["2", "3", "mixed"])
def test_the_oscillator(sources, hold, master, tmp_path, compared):
    """The log has the same energies, residuals and errors."""
    net = oscillator(sources)
    for name in net.components:
        net = without(net, name, **(HELD if hold else {"saves_state": False}))
    log = tmp_path / "energy.csv"
    options = {"adaptive": 1e-2, "power_bonds": (BOND,), "stop_time": 3.0, "master": master, "log_coupling": log}
    assert run(make_plan(net, Settings(**options)), Folder(), isolated=False).ok
    assert compared()
    assert len(log.read_text().splitlines()) > 100


@pytest.mark.parametrize(
    "options",
    [
        *({"input_order": 2}, {"max_step_size": 0.004}, {"step_size": 1.0}, {"record": ["*"]}, {"threads": 2}),
        {"accuracy": "check"},  # rows at stated times, over which no step leads
    ],
    ids=str,
)
def test_settings(options, tmp_path, compared):
    settings = {"adaptive": 1e-2, "power_bonds": (BOND,), "stop_time": 1.0, "implementation": "cs"}
    assert ssptool.simulate(write_forgetful(tmp_path), **{**settings, **options}, isolated=False).ok
    assert compared()


def test_fmus_of_fmi1(compared):
    """Which never save their states; units are those of the SSD."""
    options = {"adaptive": 1e-2, "power_bonds": (BOND,), "stop_time": 2.0}
    assert ssptool.simulate(RESOURCES.parent, variant="DualMassOscillatorFMI1", isolated=False, **options).ok
    assert compared()


# -- a mass on a spring that does what a test needs -------------------------------------------------------------------


def swinging(folder, step="return OK;", calc="v->F = -40 * v->x - v->a * v->v;"):
    """The spring's step ends with this code; it has a Boolean `on`."""
    forgets = {"me": None, "saves": False, "units": UNITS, "version": 2}
    mass = (
        *(Var("F", "input", unit="N"), Var("w", "input", unit="N"), Var("v", "output", unit="m/s", needs=["s"])),
        *(Var("s", "state", start=1.0), Var("ds", "der", of="s", needs=["F", "w"])),
    )
    make_fmu(folder / "Mass.fmu", mass, calc="v->ds = v->F + v->w; v->v = v->s;", **forgets)
    spring = (
        *(Var("v", "input", unit="m/s"), Var("F", "output", unit="N", needs=["x", "v"])),
        *(Var("x", "state", start=0.0), Var("dx", "der", of="x", needs=["v"])),
        *(Var("a", "parameter", start=0.3), Var("on", "output", "Boolean", start=False, initial="exact")),
    )
    make_fmu(folder / "Spring.fmu", spring, calc=f"v->dx = v->v; {calc}", step=f"rk4(s, t, h); {step}", **forgets)
    return write_system(folder / "swinging", folder, {"Mass": "Mass", "Spring": "Spring"}, COUPLED)


@MASTERS
def test_sizes_begin_anew_where_a_signal_changes(master, tmp_path, compared):
    folder = swinging(tmp_path, "v->on = v->x > 0; return OK;")
    result = ssptool.simulate(folder, master=master, stop_time=2.0, isolated=False, **CONTROL)
    assert len(set(result["Spring.on"].tolist())) == 2
    assert compared()


PUSHES = {
    "lines": ssptool.types.Table((0.0, 0.3, 0.3, 0.9), (1.0, 1.0, -2.0, 4.0)),
    "steps": ssptool.types.Table((0.0, 0.204, 0.2051, 0.21, 0.5), (0.0, 1.0, 3.0, 2.0, 0.0), "hold"),
    "function": ssptool.types.Function(lambda t: math.floor(10 * t) + t, steps=(0.1, 0.2, 0.3, 0.4)),
    "held function": ssptool.types.Function(math.sin, interpolation="hold"),
}
ACTS = ssptool.types.Scenario(
    (
        ssptool.types.Event(0.05, "Mass.F", "bias", 2.0),
        ssptool.types.Event(0.2, "Spring.v", "override", -1.0),
        ssptool.types.Event(0.31, "Spring.v", "reset"),
        ssptool.types.Event(0.4, "Mass.F", "reset"),
    )
)


@MASTERS
@pytest.mark.parametrize("scenario", [None, ACTS], ids=["", "scenario"])
@pytest.mark.parametrize("push", [None, *PUSHES])
def test_inputs_and_scenarios(push, scenario, master, tmp_path, compared):
    inputs = {"Mass.w": PUSHES[push]} if push else None
    options = {"inputs": inputs, "scenario": scenario, "master": master, "stop_time": 0.505}
    assert ssptool.simulate(swinging(tmp_path), **options, isolated=False, **CONTROL).ok
    assert compared()


@pytest.mark.parametrize("jumps", [(), (0.255,)])
def test_a_function_that_fails(jumps, tmp_path, compared):
    wrong = ssptool.types.Function(lambda t: 1.0 if t < 0.255 else 1 / 0, steps=jumps)
    result = ssptool.simulate(swinging(tmp_path), inputs={"Mass.w": wrong}, stop_time=0.5, isolated=False, **CONTROL)
    assert "ZeroDivisionError" in str(result.failure)
    assert 0.1 < result.t[-1] <= 0.255
    assert compared()


@MASTERS
@pytest.mark.parametrize(("status", "word"), [(2, "discard"), (3, "error"), (4, "fatal")])
def test_a_step_that_is_refused(status, word, master, tmp_path, compared):
    """None is tried again."""
    folder = swinging(tmp_path, f"return t + h > 0.25 ? {status} : OK;")
    result = ssptool.simulate(folder, master=master, stop_time=1.0, isolated=False, **CONTROL)
    assert f"returned {word}" in str(result.failure)
    assert compared()


@MASTERS
def test_a_signal_that_grows_without_limit(master, tmp_path, compared):
    """Of residuals that no step makes small enough: the force has another sign in each step."""
    folder = swinging(tmp_path, "v->a = -3 * v->a; return OK;", "v->F = 1e3 * v->a;")
    result = ssptool.simulate(folder, master=master, stop_time=1.0, isolated=False, **CONTROL)
    assert "energy residuals of the power bonds are" in str(result.failure)
    assert compared()


@MASTERS
@pytest.mark.parametrize("gain", [-3.0, 1.0])
def test_a_loop_whose_gain_jumps(gain, master, tmp_path, compared):
    """Beside the bond; with a gain of 1 nothing solves it."""
    calc = f"v->ds = 1.0; v->y = (v->s > 0.15 ? {gain} : 0.5) * v->u + 1.0;"
    bends = (
        *(Var("u", "input"), Var("s", "state", start=0.0), Var("ds", "der", of="s")),
        Var("y", "output", needs=["u", "s"]),
    )
    swinging(tmp_path)  # the FMUs
    make_fmu(tmp_path / "Bends.fmu", bends, version=2, me=None, calc=calc)
    make_fmu(tmp_path / "Passes.fmu", STEADY, version=2, me=None, calc="v->y = v->u;")
    wires = [*COUPLED, ("A.y", "B.u"), ("B.y", "A.u")]
    parts = {"Mass": "Mass", "Spring": "Spring", "A": "Bends", "B": "Passes"}
    folder = write_system(tmp_path / "bending", tmp_path, parts, wires)
    log = tmp_path / "log.csv"
    result = ssptool.simulate(folder, master=master, stop_time=0.5, log_loops=log, isolated=False, **CONTROL)
    assert result.ok == (gain != 1.0)
    assert compared()


@MASTERS
def test_events_of_a_component_beside_them(master, engine_models, tmp_path, compared):
    """No step is taken back: an event is handled at the end of that in which it happened."""
    swinging(tmp_path)
    wires = [*COUPLED, ("Mass.v", "Tank.u")]
    parts = {"Mass": str(tmp_path / "Mass"), "Spring": str(tmp_path / "Spring"), "Tank": "fmi3/Tank"}
    folder = write_system_at_events(tmp_path / "events", engine_models.parent, parts, wires)
    assert ssptool.simulate(folder, master=master, stop_time=1.0, isolated=False, **CONTROL).ok
    assert compared()


def test_runs_of_a_study(tmp_path, compared):
    """One system carries them out, one after the other."""
    definition = {
        "system": str(swinging(tmp_path)),
        "settings": {"adaptive": 1e-2, "power_bonds": [["Mass.v", "Spring.F"]], "stop_time": 0.5},
        "design": {"kind": "latin-hypercube", "runs": 4, "seed": 1},
        "factors": {"Spring.a": {"low": 0.1, "high": 1.5}},
        "results": {"peak": 'max("Spring.F")'},
    }
    count = runs_of_a_study(check_study(study_from(definition)), True)
    assert compared() == count


@MASTERS
def test_an_ode_beside_them(master, test_models, tmp_path, compared):
    """What the velocity leads to is integrated."""
    swinging(tmp_path)
    names = {"Mass": str(tmp_path / "Mass"), "Spring": str(tmp_path / "Spring")}
    wires = [*COUPLED, ("Mass.v", "Lag.u")]
    assert couple(test_models, {"Lag": "Lag"}, names, wires, master=master, **CONTROL).ok
    assert compared()
