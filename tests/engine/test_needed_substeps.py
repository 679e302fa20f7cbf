"""Substeps by need: a lag of 2 ms that one explicit step per communication step makes unstable, beside a lag of 1 s."""

import numpy as np
import pytest
from scipy.linalg import expm

import ssptool
from ssptool.engine.failure import UnsupportedByFmu
from ssptool.exceptions import ContradictingSettings, WrongArgument
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.systems import write_system

TAU, GAIN, OFFSET = 2e-3, 2.0, 0.5
STEP, STOP = 0.02, 1.0
NEED = {"Fast": "auto"}
WIRES = [("Slow.y", "Fast.u"), ("Fast.y", "Slow.u")]


def exact(t):
    """Slow.y and Fast.y: x' = -3 z - x and TAU z' = GAIN x + OFFSET - z, from 1 and 2.5."""
    matrix = np.array([[-1.0, -3.0, 0.0], [GAIN / TAU, -1 / TAU, OFFSET / TAU], [0.0, 0.0, 0.0]])
    return np.array([expm(matrix * one) @ [1.0, GAIN + OFFSET, 1.0] for one in t])[:, :2].T


def written(folder, *, saves=True, version=2):
    folder.mkdir(exist_ok=True)
    bodies = {
        "Fast": (GAIN + OFFSET, f"v->y += h * ({GAIN} * v->u + {OFFSET} - v->y) / {TAU};"),
        "Slow": (1.0, "v->y = -3 * v->u + (v->y + 3 * v->u) * exp(-h);"),
    }
    for name, (start, step) in bodies.items():
        variables = [Var("u", "input"), Var("y", "output", start=start, initial="exact")]
        step += " v->time = t + h; return OK;"
        make_fmu(folder / f"{name}.fmu", variables, me=None, step=step, saves=saves, version=version)
    return write_system(folder / "system", folder, {"Fast": "Fast", "Slow": "Slow"}, WIRES, STOP)


@pytest.fixture(params=[2, 3], ids=["FMI 2", "FMI 3"])
def system(request, tmp_path):
    return written(tmp_path, version=request.param)


def run(system, **settings):
    options = {"step_size": STEP, "isolated": False, "accuracy": "off", "substeps": NEED}
    return ssptool.simulate(system, **options | settings)


def errors(result):
    return [np.abs(result[name] - x).max() for name, x in zip(("Slow.y", "Fast.y"), exact(result.t), strict=True)]


def told(result):
    return next(one for one in result.choices if one.setting == "substeps")


@pytest.mark.parametrize(("master", "most"), [("iterated", 0.02), ("jacobi", 0.3), ("gauss-seidel", 0.3)])
def test_a_fast_lag_is_stable_beside_a_slow_one(system, master, most):
    assert max(errors(run(system, substeps={"Fast": 1}, master=master))) > 1e6
    result = run(system, master=master)
    assert max(errors(result.unwrap())) < most
    assert told(result).value == "8 of Fast" and result.settings.substeps == {"Fast": 8}


def test_the_error_falls_with_the_square_of_the_macro_step(tmp_path):
    """Inputs run on lines; the steps inside are so small that they do not show."""
    system, found = written(tmp_path), []
    for step in (0.02, 0.01, 0.005):
        numbers = {"substeps": {"Fast": 4096}, "tolerance": 1e-10}
        found.append(errors(run(system, step_size=step, master="iterated", **numbers).unwrap()))
    assert np.log2(found[0][0] / found[1][0]) > 1.5 and np.log2(found[1][0] / found[2][0]) > 1.7


def test_without_need_there_are_few(tmp_path):
    """The slow one is exact over each step."""
    result = run(written(tmp_path), substeps={"Slow": "auto", "Fast": 100})
    assert result.settings.substeps == {"Slow": 2, "Fast": 100}


@pytest.mark.parametrize("master", ["iterated", "jacobi"])
def test_the_same_bits_as_with_the_number_stated(system, tmp_path, master):
    stated = run(system, substeps={"Fast": 8}, master=master).unwrap()
    options = {"step_size": STEP, "master": master}
    for other in (
        run(system, master=master),
        run(system, master=master, isolated=True, output=tmp_path / "out.csv"),
    ):
        assert np.array_equal(other.unwrap().y, stated.y)
    assert ssptool.read_manifest(tmp_path / "out.csv")["settings"]["substeps"] == {"Fast": 8}
    with ssptool.Simulation(system, substeps=NEED, **options) as simulation:
        simulation.step(20)
        simulation.save(tmp_path / "saved")
        simulation.run_until(STOP)
        assert np.array_equal(simulation.trace.y, stated.y)
        simulation.reset()
        simulation.run_until(STOP)
        assert np.array_equal(simulation.trace.y, stated.y)
    with ssptool.Simulation(system, saved=tmp_path / "saved", substeps=NEED, **options) as simulation:
        simulation.run_until(STOP)
        assert np.array_equal(simulation.trace.y, stated.y[20:])
    with pytest.raises(Exception, match="substeps"):
        ssptool.Simulation(system, saved=tmp_path / "saved", substeps={"Fast": 4}, **options).__enter__()


def test_runs_of_a_study(tmp_path):
    system = written(tmp_path)
    study = {
        "system": str(system),
        "settings": {"step_size": STEP, "substeps": {"Fast": "auto"}},
        "factors": {"Slow.y": [1.0, 2.0]},
        "results": {"last": 'at("Fast.y", 1)'},
        "accuracy": "off",
    }
    rows = list(ssptool.study(study, tmp_path / "study").rows())
    for row in rows:
        single = run(system, start_values={"Slow.y": row["Slow.y"]}).unwrap()
        assert row["last"] == single["Fast.y"][-1]


def test_the_error_inside_shows_in_the_stated_error(tmp_path):
    """All runs of a check have the number of the first one: its steps inside become smaller with the macro step."""
    system = written(tmp_path)
    for accuracy in ("check", 1e-3):
        settings = {"accuracy": accuracy} | ({} if accuracy == "check" else {"step_size": None})
        result = run(system, **settings)
        true = max(error / np.ptp(x) for error, x in zip(errors(result), exact(result.t), strict=True))
        assert result.accuracy.error > true / 3
        assert isinstance(result.settings.substeps["Fast"], int) and "need" in told(result).reason


def test_what_cannot_be_is_refused_by_name(tmp_path):
    system = written(tmp_path)
    with pytest.raises(ContradictingSettings, match="substeps of Fast by need: the size of macro steps is not known"):
        run(system, adaptive=1e-3, step_size=None)
    with pytest.raises(WrongArgument, match=r"substeps\['Fast'\]"):
        run(system, substeps={"Fast": "many"})
    with pytest.raises(UnsupportedByFmu, match=r"Fast.*saves and restores its state"):
        run(written(tmp_path / "unsaved", saves=False))
    assert ssptool.plan(system, substeps=NEED).by_need == ("Fast",)
    with pytest.raises(Exception, match="substeps of Fast by need"):
        ssptool.export(system, tmp_path / "out.fmu", substeps=NEED)


def test_a_number_that_never_suffices_is_a_failure(tmp_path):
    """Each step adds the same, however short it is."""
    variables = [Var("y", "output", start=1.0, initial="exact")]
    make_fmu(tmp_path / "A.fmu", variables, me=None, step="v->y += 1; v->time = t + h; return OK;")
    system = write_system(tmp_path / "system", tmp_path, {"A": "A"}, [], 1.0)
    result = run(system, substeps={"A": "auto"})
    assert "the first macro step of A depends on the number of substeps" in result.failure.message
