"""Heat capacities and conductances whose link is much stiffer than the step: right, or failed, and never absurd."""

import numpy as np
import pytest
from scipy.linalg import expm

import ssptool
from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu

BODY = (
    Var("q", "input", start=0.0),
    Var("q2", "input", start=0.0),
    Var("T", "output", start=300.0, initial="exact", needs=[]),
    Var("C", "parameter", start=1.0),
)
LINK = (
    Var("Ta", "input", start=300.0),
    Var("Tb", "input", start=300.0),
    Var("qa", "output", needs=["Ta", "Tb"]),
    Var("qb", "output", needs=["Ta", "Tb"]),
    Var("k", "parameter", start=1.0),
)
WIRES = [("A.T", "L1.Ta"), ("B.T", "L1.Tb"), ("L1.qa", "A.q"), ("L1.qb", "B.q")]
WIRES += [("B.T", "L2.Ta"), ("D.T", "L2.Tb"), ("L2.qa", "B.q2"), ("L2.qb", "D.q")]
CAPACITIES = {"A": 1.0, "B": 10.0, "D": 5.0}
STARTS = np.array([400.0, 300.0, 300.0])


@pytest.fixture(scope="module")
def fmus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fmus")
    follows = 'canInterpolateInputs="true"'
    slopes = "double slope[2];"
    make_fmu(
        folder / "Body.fmu",
        BODY,
        me=None,
        cs=follows,
        own=slopes,
        lead="if (order != 1) return ERROR; v->slope[r == VR_q2] = x; return OK;",
        step="double q = v->q + v->q2, rate = v->slope[0] + v->slope[1]; v->T += (q * h + rate * h * h / 2) / v->C;"
        " v->q += v->slope[0] * h; v->q2 += v->slope[1] * h; v->time = t + h; return OK;",
    )
    make_fmu(
        folder / "Link.fmu",
        LINK,
        me=None,
        cs=follows,
        own=slopes,
        calc="v->qb = v->k * (v->Ta - v->Tb); v->qa = -v->qb;",
        lead="if (order != 1) return ERROR; v->slope[r == VR_Tb] = x; return OK;",
        step="v->Ta += v->slope[0] * h; v->Tb += v->slope[1] * h; v->time = t + h; return OK;",
    )
    return folder


@pytest.fixture
def line(fmus, tmp_path):
    parts = {"A": "Body", "L1": "Link", "B": "Body", "L2": "Link", "D": "Body"}
    return write_system(tmp_path / "line", fmus, parts, WIRES)


def simulate(folder, k, **settings):
    values = {f"{name}.C": str(size) for name, size in CAPACITIES.items()} | {"A.T": "400", "L1.k": str(k), "L2.k": "1"}
    return ssptool.simulate(
        folder,
        start_values=values,
        settings=ssptool.Settings(stop_time=10.0, step_size=0.01, **settings),
        isolated=False,
        output=None,
    )


def exact(k, t):
    rates = np.array([[-k, k, 0], [k / 10, -(k + 1) / 10, 1 / 10], [0, 1 / 5, -1 / 5]])
    return np.array([expm(rates * one) @ STARTS for one in t])


def temperatures(trace):
    return np.column_stack([trace[f"{name}.T"] for name in CAPACITIES])


def test_a_soft_link_is_exact_to_the_order_of_the_coupling(line):
    trace = simulate(line, 1.0).unwrap()
    assert temperatures(trace) == pytest.approx(exact(1.0, trace.t), abs=1e-2)


@pytest.mark.parametrize("k", [1e4, 1e5, 1e6, 1e7, 1e8])
def test_a_stiff_link_is_exact_behind_the_start(line, k):
    """Exchange conserves ΣCT. The first step, of the implicit Euler method, is off by 100 K / (1 + k h / C) at most."""
    trace = simulate(line, k).unwrap()
    found = temperatures(trace)
    assert found @ list(CAPACITIES.values()) == pytest.approx(4900.0, rel=1e-6)
    assert found[1:] == pytest.approx(exact(k, trace.t)[1:], abs=0.05 + 100 / (1 + k * 0.01))
    assert found[20:] == pytest.approx(exact(k, trace.t)[20:], abs=0.01)


RING = np.array([400.0, 300.0, 350.0, 280.0])


@pytest.fixture
def ring(fmus, tmp_path):
    parts = {f"B{i}": "Body" for i in range(4)} | {f"L{i}": "Link" for i in range(4)}
    wires = []
    for i in range(4):
        after = (i + 1) % 4
        wires += [(f"B{i}.T", f"L{i}.Ta"), (f"B{after}.T", f"L{i}.Tb")]
        wires += [(f"L{i}.qa", f"B{i}.q"), (f"L{i}.qb", f"B{after}.q2")]
    return write_system(tmp_path / "ring", fmus, parts, wires)


@pytest.mark.parametrize("acceleration", [None, "newton"])
@pytest.mark.parametrize("k", [1e4, 1e5, 1e6])
def test_a_step_that_does_not_converge_is_solved_by_newton_before_inputs_are_extrapolated(ring, k, acceleration):
    """Fewer steps than end a run: inputs that run linearly make of C T' = −k L T the trapezoidal rule, and only
    agreement at the end of each step does.
    """
    steps, h, capacity = 9, 0.01, 2.0
    values = {f"B{i}.C": str(capacity) for i in range(4)} | {f"L{i}.k": str(k) for i in range(4)}
    values |= {f"B{i}.T": str(T) for i, T in enumerate(RING)}
    settings = ssptool.Settings(
        stop_time=steps * h, step_size=h, acceleration=acceleration, approximation="interpolate"
    )
    result = ssptool.simulate(ring, start_values=values, settings=settings, isolated=False, output=None)
    found = np.column_stack([result.unwrap()[f"B{i}.T"] for i in range(4)])
    laplacian = 2 * np.eye(4) - np.roll(np.eye(4), 1, axis=0) - np.roll(np.eye(4), -1, axis=0)
    half = h / 2 * k / capacity * laplacian
    rule = np.linalg.solve(np.eye(4) + half, np.eye(4) - half)
    expected = [np.linalg.matrix_power(rule, n) @ RING for n in range(steps + 1)]
    assert found == pytest.approx(np.array(expected), abs=1e-3)
    assert not any("extrapolated" in note for note in result.notes)
    if acceleration is None and k == 1e6:
        assert any("Newton's method" in note for note in result.notes)
