"""Several threads of a program run systems at the same time, also those whose FMUs go to another working directory."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import ssptool
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.systems import write_system

LAG = [Var("u", "input"), Var("x", "state", start=1.0), Var("d", "der", of="x"), Var("y", "output", needs=["x"])]
AWAY = 'chdir("/"); rk4(s, t, h); return OK;'
SETTINGS = ssptool.Settings(stop_time=1.0, step_size=0.01, master="jacobi", approximation="hold")


@pytest.fixture
def system(tmp_path):
    make_fmu(tmp_path / "Lag.fmu", LAG, calc="v->d = v->u - v->x; v->y = v->x;", step=AWAY)
    return write_system(tmp_path / "system", tmp_path, {"A": "Lag", "B": "Lag"}, [("A.y", "B.u"), ("B.y", "A.u")])


@pytest.mark.slow
@pytest.mark.parametrize("isolated", [False, True])
def test_runs_at_the_same_time_are_each_as_one_alone(system, isolated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    alone = ssptool.simulate(system, settings=SETTINGS).trace

    def one(number):
        output = tmp_path / f"{number}.csv"
        return ssptool.simulate(system, settings=SETTINGS, isolated=isolated, output=output).trace

    with ThreadPoolExecutor(6) as threads:
        traces = list(threads.map(one, range(18 if not isolated else 6)))
    assert all(np.array_equal(trace.cells, alone.cells) for trace in traces)
    assert Path.cwd() == tmp_path


def test_more_threads_than_a_system_has_components_are_none(system):
    one, many = (
        ssptool.simulate(system, settings=ssptool.Settings(stop_time=0.1, step_size=0.01, threads=count)).trace
        for count in (1, 1_000_000)
    )
    assert np.array_equal(one.cells, many.cells)
