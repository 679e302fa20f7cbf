"""Inputs of type Real or Float64 that an FMU declares as discrete."""

import numpy as np
import pytest

import ssptool
from ssptool.engine.simulate import run
from tests.engine.dual_mass import Folder
from tests.engine.event_mode.systems import write_system
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


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("settings", COUPLINGS, ids=str)
@pytest.mark.parametrize("version", [2, 3])
def test_connected_ones_are_held(tmp_path, version, settings, native):
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
    trace = run(plan, Folder(folder), native=native, isolated=False).unwrap()
    begin, end = trace.t[:-1] ** 2, trace.t[1:] ** 2
    held = begin if plan.master.name == "jacobi" else end
    assert np.diff(trace["I.y"]) == pytest.approx(H * held, abs=1e-14)


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
