"""FMUs that do not follow their inputs as they declare."""

import numpy as np
import pytest

import ssptool
from tests.engine.dual_mass import Folder
from tests.engine.event_mode.systems import write_system
from tests.engine.running import run
from tests.engine.small.fmus import Var, make_fmu

H = 0.1
SOURCE = (Var("y", "output", start=0.0, needs=[], initial="exact"),)
SUM = (Var("u", "input", start=0.0), Var("y", "output", start=0.0, needs=[], initial="exact"))
NOTED = {
    1: "run along lines (order 1) from t = 0.1 s on",
    0: "are held at their value in the middle of each step from t = 0 s on",
}


@pytest.fixture(scope="module")
def fmus(tmp_path_factory):
    """A source of t², and integrators that follow polynomials up to some order."""
    folder = tmp_path_factory.mktemp("fmus")
    make_fmu(folder / "Source.fmu", SOURCE, me=None, step="v->y = (t + h) * (t + h); return OK;")
    for status in ("ERROR", "DISCARD"):
        for order in (0, 1, 2):
            make_fmu(
                folder / f"Sum{order}{status}.fmu",
                SUM,
                me=None,
                cs='canInterpolateInputs="true"',
                own="double rate[3];",
                lead=f"if (order > {order}) return {status}; v->rate[order] = x; return OK;",
                step="v->y += h * (v->u + h / 2 * (v->rate[1] + h / 3 * v->rate[2])); return OK;",
            )
    return folder


def plan(fmus, folder, name, **settings):
    write_system(folder, fmus, {"S": "Source", "I": name}, [("S.y", "I.u")])
    return ssptool.plan(folder, settings=ssptool.Settings(stop_time=1.0, step_size=H, **settings))


def expected(order):
    """The trapezoidal rule in the first step, which has no past; then what is left of a parabola: itself, the line
    through its ends, its middle.
    """
    a = np.arange(10) * H
    b, middle = a + H, a + H / 2
    parts = [H * middle**2, H / 2 * (a**2 + b**2), (b**3 - a**3) / 3][order]
    parts[0] = H / 2 * (a[0] ** 2 + b[0] ** 2)
    return np.concatenate(([0.0], np.cumsum(parts)))


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("status", ["ERROR", "DISCARD"])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_course_that_is_refused_is_replaced_by_one_of_lower_order(fmus, tmp_path, order, status, isolated):
    settings = {"master": "gauss-seidel", "approximation": "interpolate", "input_order": 2}
    made = plan(fmus, tmp_path / "s", f"Sum{order}{status}", **settings)
    result = run(made, Folder(tmp_path / "s"), isolated=isolated)
    assert result.ok
    assert result.trace["I.y"] == pytest.approx(expected(order), abs=1e-14)
    notes = [note for note in result.notes if "SetRealInputDerivatives" in note]
    assert notes == [
        f"component I: fmi2SetRealInputDerivatives returned {status.lower()}, so its inputs {NOTED[one]}"
        for one in [order]
        if one < 2
    ]


@pytest.mark.parametrize("order", [0, 1])
def test_the_default_completes_too(fmus, tmp_path, order):
    made = plan(fmus, tmp_path / "s", f"Sum{order}ERROR")
    trace = run(made, Folder(tmp_path / "s"), isolated=False).unwrap()
    assert trace["I.y"][-1] == pytest.approx(1 / 3 + H**2 / 6, abs=1e-14)  # the trapezoidal rule


def test_extrapolated_inputs_of_many_steps_are_held_too(fmus, tmp_path):
    """The kernel has a way of its own for lines."""
    made = plan(fmus, tmp_path / "s", "Sum0ERROR", master="jacobi", approximation="extrapolate")
    trace = run(made, Folder(tmp_path / "s"), isolated=False).unwrap()
    t = np.arange(10) * H
    before = np.concatenate(([0.0], t[:-1]))
    middle = t**2 + (t**2 - before**2) / 2  # of the line through the last two points
    assert trace["I.y"] == pytest.approx(np.concatenate(([0.0], np.cumsum(H * middle))), abs=1e-14)


def test_a_simulation_that_goes_on_elsewhere_remembers_the_refusal(fmus, tmp_path):
    settings = ssptool.Settings(
        stop_time=1.0, step_size=H, master="gauss-seidel", approximation="interpolate", input_order=2
    )
    plan(fmus, tmp_path / "s", "Sum1ERROR")
    with ssptool.Simulation(tmp_path / "s", settings=settings) as simulation:
        simulation.run_until(0.5)
        simulation.save(tmp_path / "state")
        simulation.run_until(1.0)
        whole = simulation.get("I.y")
        assert NOTED[1] in simulation.notes[-1]
    with ssptool.Simulation(tmp_path / "s", settings=settings, saved=tmp_path / "state") as simulation:
        simulation.run_until(1.0)
        assert simulation.get("I.y") == whole
