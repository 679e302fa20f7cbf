"""Inputs of type Real or Float64 that an FMU declares as discrete."""

import numpy as np
import pytest

import ssptool
from tests.engine.dual_mass import Folder
from tests.engine.event_mode.systems import write_system
from tests.engine.running import run
from tests.engine.small.fmus import Var, make_fmu

H = 0.1
COUPLINGS = [
    {"master": "jacobi"},
    {"master": "gauss-seidel"},
    {"master": "iterated"},
    {"substeps": {"I": 4}},
    {"master": "gauss-seidel", "substeps": {"I": 4}},
    {"master": "jacobi", "input_order": 2, "substeps": {"I": 4}},
]


@pytest.mark.slow
@pytest.mark.parametrize("settings", COUPLINGS, ids=str)
@pytest.mark.parametrize("version", [2, 3])
def test_connected_ones_are_held(tmp_path, version, settings):
    """The integrator of t² sees a value that is one of the source's at communication points in each of its steps."""
    source = (Var("y", "output", start=0.0, needs=[], initial="exact"),)
    total = (
        Var("u", "input", start=0.0, variability="discrete"),
        Var("y", "output", start=0.0, needs=[], initial="exact"),
    )
    make_fmu(tmp_path / "S.fmu", source, version=version, me=None, step="v->y = (t + h) * (t + h); return OK;")
    cs = 'canInterpolateInputs="true"' if version == 2 else 'providesIntermediateUpdate="true"'
    make_fmu(tmp_path / "I.fmu", total, version=version, me=None, cs=cs, step="v->y += h * v->u; return OK;")
    folder = write_system(tmp_path / "system", tmp_path, {"S": "S", "I": "I"}, [("S.y", "I.u")])
    plan = ssptool.plan(folder, settings=ssptool.Settings(stop_time=1.0, step_size=H, **settings))
    trace = run(plan, Folder(folder), isolated=False).unwrap()
    begin, end = trace.t[:-1] ** 2, trace.t[1:] ** 2
    held = begin if plan.master.name == "jacobi" else end
    assert np.diff(trace["I.y"]) == pytest.approx(H * held, abs=1e-14)


@pytest.mark.parametrize(
    ("settings", "first"),
    [
        (
            {"master": "jacobi", "approximation": "extrapolate"},
            0.0,
        ),  # without a past, the first step holds inputs
        ({"master": "jacobi"}, 0.0),
        ({"master": "gauss-seidel", "approximation": "interpolate"}, H**2 / 2),
        ({"master": "iterated", "input_order": 2}, H**2 / 2),
        ({"master": "gauss-seidel", "substeps": {"I": 4}}, H**2 / 2),
        ({"master": "jacobi", "processes": "each"}, 0.0),
    ],
    ids=str,
)
def test_the_others_of_the_same_component_follow_their_course(tmp_path, settings, first):
    """u = t runs along its line, w = t² keeps the value that it has when a step begins, and the FMU is told nothing
    else of it: the integrals are t²/2, but for the first step, and a sum of rectangles.
    """
    source = (
        Var("u", "output", start=0.0, needs=[], initial="exact"),
        Var("w", "output", start=0.0, needs=[], initial="exact"),
    )
    total = (
        Var("w", "input", start=0.0, variability="discrete"),
        Var("u", "input", start=0.0),
        Var("of_u", "output", start=0.0, needs=[], initial="exact"),
        Var("of_w", "output", start=0.0, needs=[], initial="exact"),
    )
    make_fmu(tmp_path / "S.fmu", source, me=None, step="v->u = t + h; v->w = (t + h) * (t + h); return OK;")
    make_fmu(
        tmp_path / "I.fmu",
        total,
        me=None,
        cs='canInterpolateInputs="true"',
        own="double rate[3];",
        lead="if (r != VR_u) return 4; v->rate[order] = x; return OK;",
        step="v->of_u += h * (v->u + h / 2 * (v->rate[1] + h / 3 * v->rate[2])); v->of_w += h * v->w; return OK;",
    )
    folder = write_system(tmp_path / "system", tmp_path, {"S": "S", "I": "I"}, [("S.u", "I.u"), ("S.w", "I.w")])
    plan = ssptool.plan(folder, settings=ssptool.Settings(stop_time=1.0, step_size=H, **settings))
    result = run(plan, Folder(folder), isolated=False)
    trace = result.unwrap()
    assert trace["I.of_u"][1] == pytest.approx(first, abs=1e-14)
    assert np.diff(trace["I.of_u"])[1:] == pytest.approx(np.diff(trace.t**2 / 2)[1:], abs=1e-14)
    assert np.diff(trace["I.of_w"]) == pytest.approx(H * trace.t[:-1] ** 2, abs=1e-14)
    assert not [note for note in result.notes if "returned" in note]


@pytest.mark.parametrize("settings", [{}, {"substeps": {"I": 4}}], ids=str)
def test_driven_ones_are_held_from_the_start_of_each_step(tmp_path, settings):
    total = (
        Var("u", "input", start=0.0, variability="discrete"),
        Var("y", "output", start=0.0, needs=[], initial="exact"),
    )
    cs = 'canInterpolateInputs="true"'
    make_fmu(tmp_path / "I.fmu", total, me=None, cs=cs, step="v->y += h * v->u; return OK;")
    folder = write_system(tmp_path / "system", tmp_path, {"I": "I"})
    (tmp_path / "u.csv").write_text("time,I.u\n0,0\n1,1\n")
    settings = ssptool.Settings(stop_time=1.0, step_size=H, **settings)
    trace = ssptool.simulate(folder, settings=settings, inputs=tmp_path / "u.csv", isolated=False).unwrap()
    assert np.diff(trace["I.y"]) == pytest.approx(H * trace.t[:-1], abs=1e-14)
