"""Times of macro steps: the doubles nearest to start + k·step as decimal numbers, in rows and for FMUs."""

from fractions import Fraction

import numpy as np
import pytest

import ssptool
from ssptool.engine.kernel.calls import Instruction, Op
from ssptool.engine.time_grid import grid_time, grid_times
from tests.engine.dual_mass import Folder
from tests.engine.event_mode.systems import write_system
from tests.engine.running import run
from tests.engine.small.fmus import Var, make_fmu

STEPS = (0.001, 0.1, 1e-3 / 7, 0.2 / 3, 1 / 1024, 3e-6, 1.05 / 11, 86400.0, 1.7e-9, 1.2345678901234567e-07)
STARTS = (0.0, 0.5, -0.3, 1 / 3, 1e6)


def nearest(start, step, point):
    return float(Fraction(repr(start)) + point * Fraction(repr(step)))


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("step", STEPS)
def test_times_are_the_doubles_nearest_to_the_decimal_numbers(make_kernel, start, step):
    """Neither sums of steps nor products of doubles are: 18 · 0.001 is 0.018000000000000002."""
    kernel = make_kernel(1)
    kernel.record_slots([0])
    for first in (0, 10**6 + 3, 123_456_789_012):
        rows = np.empty((200, 2))
        assert kernel.run([Instruction(Op.RECORD, 0)], start, step, first, rows).ok
        expected = [nearest(start, step, first + k + 1) for k in range(200)]
        assert rows[:, 0].tolist() == expected
        assert grid_times(start, step, range(first + 1, first + 201)).tolist() == expected
        assert grid_time(start, step, first + 1) == expected[0]


STAMP = (Var("stamp", "output", needs=[]), Var("told", "output", needs=[], start=-1.0, initial="exact"))
SHAPES = {
    "lone": {"cs": "", "me": None, "names": "A"},
    "coupled": {"cs": "", "me": None, "names": "AB"},
    "integrated": {"cs": None, "me": "", "names": "AB"},
    "events": {"cs": 'hasEventMode="true"', "me": None, "names": "AB"},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_runs_record_these_times_and_give_them_to_fmus(tmp_path, shape):
    """`told` is the start of the step that an FMU did last."""
    kind = SHAPES[shape]
    make_fmu(
        tmp_path / "Clock.fmu",
        (
            *STAMP,
            *((Var("count", "output", "Int32", start=0, initial="exact", needs=[]),) if shape == "events" else ()),
        ),
        version=3,
        cs=kind["cs"],
        me=kind["me"],
        calc="v->stamp = v->time;",
        step="v->told = t; v->time = t + h; return OK;",
    )
    folder = write_system(tmp_path / "system", tmp_path, dict.fromkeys(kind["names"], "Clock"))
    settings = ssptool.Settings(start_time=0.1, stop_time=1.1, step_size=0.001)
    expected = [nearest(0.1, 0.001, k) for k in range(1001)]
    result = run(ssptool.plan(folder, settings=settings), Folder(folder), isolated=False)
    assert result.t.tolist() == expected
    if shape != "integrated":
        assert result["A.told"][1:].tolist() == expected[:-1]
    with ssptool.Simulation(folder, settings=settings) as simulation:
        assert [simulation.time, *simulation] == expected


@pytest.mark.parametrize("ending", ["csv", "parquet", "mat"])
def test_files_have_these_times(tmp_path, ending):
    make_fmu(tmp_path / "Clock.fmu", STAMP, version=3, me=None, calc="v->stamp = v->time;", step="return OK;")
    path = tmp_path / f"out.{ending}"
    ssptool.simulate(tmp_path / "Clock.fmu", stop_time=0.1, step_size=0.001, output=path)
    assert ssptool.read_trace(path).t.tolist() == [nearest(0.0, 0.001, k) for k in range(101)]
    if ending == "csv":
        assert path.read_text().splitlines()[-83].startswith("0.018,")


def test_rows_at_an_output_step_have_such_times(tmp_path):
    make_fmu(tmp_path / "Clock.fmu", STAMP, version=3, me=None, calc="v->stamp = v->time;", step="return OK;")
    result = ssptool.simulate(tmp_path / "Clock.fmu", stop_time=3.0, step_size=0.01, output_step=0.1)
    assert result.t.tolist() == [nearest(0.0, 0.1, k) for k in range(31)]
