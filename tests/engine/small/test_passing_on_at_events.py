"""Tunable parameters that change during a run, and what components calculate from them for others: in model exchange,
in event mode, and between these."""

import pytest

import ssptool
from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu

KINDS = ("input", "output", "parameter", "calculatedParameter")
VARIABLES = (
    Var("k", "parameter", start=1.0, variability="tunable"),
    Var("twice", "calculated", needs=["k"], variability="tunable"),
    Var("level", "parameter", start=1e9, variability="tunable"),
    Var("u", "input", start=0.0),
    Var("x", "state", start=0.0),
    Var("dx", "der", of="x", needs=["u"]),
    Var("y", "output", needs=["x"]),
    Var("z", "indicator"),
    Var("above", "output", "Boolean", start=False, initial="exact", needs=[]),
)
"""x' = k + u; what is `above` the level is found out at events only."""

CALC = "v->twice = 2 * v->k; v->dx = v->k + v->u; v->y = v->x; v->z = v->x - v->level;"
EVENT = "v->above = v->z > 0; return OK;"
CHAIN = [("A.twice", "B.k"), ("B.twice", "C.k")]
ME, CS, EVENTFUL = "Exchanged", "Stepped", "Eventful"
OFFERED = {ME: {"cs": None}, CS: {"me": None}, EVENTFUL: {"me": None, "cs": 'hasEventMode="true"'}}
SYSTEMS = {
    "one ODE": (ME, ME, ME),
    "ODE first": (ME, CS, CS),
    "ODE last": (CS, CS, ME),
    "ODE on both sides": (ME, CS, ME),
    "event mode": (EVENTFUL, EVENTFUL, EVENTFUL),
    "event mode and ODE": (EVENTFUL, ME, EVENTFUL),
}
STEP = 0.25


@pytest.fixture(scope="module")
def fmus(tmp_path_factory):
    return built(tmp_path_factory.mktemp("fmus"), 3)


def built(folder, version):
    for name, offered in OFFERED.items():
        make_fmu(folder / f"{name}.fmu", VARIABLES, version=version, calc=CALC, event=EVENT, **offered)
    return folder


@pytest.fixture
def chain(fmus, tmp_path):
    """A.k is 1, and each k twice that of the one before."""
    return lambda kinds, connections=CHAIN: write(tmp_path, fmus, kinds, connections)


def write(folder, fmus, kinds, connections=CHAIN):
    return write_system(folder / "system", fmus, dict(zip("ABC", kinds, strict=True)), connections, kinds=KINDS)


EVERY_SYSTEM = pytest.mark.parametrize("kinds", SYSTEMS.values(), ids=SYSTEMS)
SETTINGS = ssptool.Settings(stop_time=1.0, step_size=STEP)


@EVERY_SYSTEM
def test_what_is_set_is_passed_on_at_once(chain, kinds):
    """x = ∫ k dt with k = 1, 2, 4 of A, B, C for 0.5 s, and 3, 6, 12 for the other half."""
    with ssptool.Simulation(chain(kinds), settings=SETTINGS) as run:
        run.step(2)
        assert [run.get(f"{name}.y") for name in "ABC"] == pytest.approx([0.5, 1.0, 2.0], abs=1e-6)
        run.set("A.k", 3.0)
        assert [run.get(f"{name}.k") for name in "ABC"] == [3.0, 6.0, 12.0]
        assert run.get("C.twice") == 24.0
        run.step(2)
        assert [run.get(f"{name}.y") for name in "ABC"] == pytest.approx([2.0, 4.0, 8.0], abs=1e-6)


@pytest.mark.parametrize("time", (0.5, 0.6), ids=("at a communication point", "between two"))
@pytest.mark.parametrize("version", (2, 3))
def test_in_one_ode_an_action_is_passed_on_at_its_time(fmus, tmp_path, version, time):
    """k = 1, 2, 4 until then, and 3, 6, 12 from then on."""
    fmus = fmus if version == 3 else built(tmp_path, version)
    trace = act(write(tmp_path, fmus, (ME, ME, ME)), "A.k", 3.0, time)
    for number, name in enumerate("ABC"):
        x = 2**number * (trace.t + 2 * (trace.t - time).clip(0.0))
        assert trace[f"{name}.y"] == pytest.approx(x, abs=1e-6)


def act(folder, name, value, time):
    scenario = ssptool.types.Scenario((ssptool.types.Event(time, name, "override", value),))
    return ssptool.simulate(folder, scenario=scenario, settings=SETTINGS).unwrap()


@EVERY_SYSTEM
def test_an_action_is_passed_on_at_its_time(chain, kinds):
    trace = act(chain(kinds), "A.k", 3.0, 0.5)
    assert [trace[f"{name}.y"][-1] for name in "ABC"] == pytest.approx([2.0, 4.0, 8.0], abs=1e-6)
    assert trace.t.tolist() == pytest.approx([0.0, 0.25, 0.5, 0.5, 0.75, 1.0])


@EVERY_SYSTEM
def test_what_is_passed_on_may_be_an_input(chain, kinds):
    """x' of C is 1 + 4, and from t = 0.5 s on 1 + 12."""
    folder = chain(kinds, connections=[("A.twice", "B.k"), ("B.twice", "C.u")])
    trace = act(folder, "A.k", 3.0, 0.5)
    assert trace["C.u"].tolist() == [4.0] * 3 + [12.0] * 3
    assert trace["C.y"][-1] == pytest.approx(2.5 + 6.5, abs=1e-6)


ODES = ("one ODE", "ODE last", "ODE on both sides")


@pytest.mark.parametrize("kinds", [SYSTEMS[name] for name in ODES], ids=ODES)
def test_a_level_that_is_passed_on_may_bring_about_an_event(chain, kinds):
    """x of C is 4 t; with B.twice for a level, that is 4 from the start, and 1 from t = 0.5 s on, where x is 2."""
    folder = chain(kinds, connections=[("A.twice", "B.k"), ("B.twice", "C.level")])
    with ssptool.Simulation(folder, settings=SETTINGS) as run:
        run.set("C.k", 4.0)
        run.step(2)
        assert run.get("C.above") == 0
        run.set("A.k", 0.25)
        assert run.get("C.level") == 1.0
        assert run.get("C.above") == 1
    trace = act(folder, "A.k", 0.5, 0.5)
    assert trace["C.above"].tolist()[-1] == 0  # x = t and the level 2, as k of C is 1


def test_a_run_that_is_saved_after_passing_on_goes_on_with_the_same_bits(chain, tmp_path):
    folder = chain((ME, CS, ME))
    with ssptool.Simulation(folder, settings=SETTINGS) as run:
        run.step(1)
        run.set("A.k", 3.0)
        run.step(1)
        run.save(tmp_path / "saved")
        list(run)
        expected = run.trace
    with ssptool.Simulation(folder, settings=SETTINGS, saved=tmp_path / "saved") as resumed:
        list(resumed)
        found = resumed.trace
    since = len(expected.t) - len(found.t)
    for name in ("A.y", "B.y", "C.y"):
        assert found[name].tolist() == expected[name][since:].tolist()
