"""The row at the time of a value that is not finite."""

from itertools import product

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool import Settings
from ssptool.engine.failure import Ending, RunError
from ssptool.engine.recording.decimation import Grid, decimated
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.run.recorder import Recording
from ssptool.engine.stepping.simulation import SteppedRun
from tests.engine.dual_mass import Folder, network
from tests.engine.running import run
from tests.fmus import build as fmus

H, WHEN = 0.01, 0.455
"""[s] Macro steps, and the time from which on Bad.y is nan: first at 0.46 s."""


def a_plan(version=2, **settings):
    """Good and Bad feed each other."""
    source = f"fmi{version}/Misbehaving.fmu"
    values = {"Bad.what": fmus.NOT_A_NUMBER, "Bad.when": WHEN}
    wires = [("Good.y", "Bad.u"), ("Bad.y", "Good.u")]
    net = network({"Good": source, "Bad": source}, wires, values, folder=fmus.build())
    return make_plan(net, Settings(stop_time=1.0, step_size=H, **settings))


def check(trace, time):
    """All rows as ever, and the last one with the value that is not finite, at its time."""
    assert np.isnan(trace["Bad.y"][-1]) and np.isfinite(trace["Bad.y"][:-1]).all()
    assert trace.t[-1] == time == approx(0.46, abs=1e-12)
    assert np.isfinite(trace["Good.y"]).all()
    assert (np.diff(trace.t) > 0).all()


@pytest.mark.parametrize(
    ("version", "master"),
    # FMUs of FMI 1.0 cannot repeat steps.
    [*product((1, 2, 3), ("jacobi", "gauss-seidel")), (2, "iterated"), (3, "iterated")],
)
def test_the_row_with_nan_is_there(version, master):
    plan = a_plan(version, master=master)
    result = run(plan, Folder(fmus.build()))
    assert result.status is Ending.NONFINITE and "Bad.y is nan" in result.failure.message
    check(result.trace, result.failure.time)
    assert len(result.trace) == result.rows == 47


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".mat", ".h5", ".mf4"])
@pytest.mark.parametrize("isolated", [True, False], ids=["child", "here"])
def test_it_is_in_files_too(tmp_path, suffix, isolated):
    path = tmp_path / f"result{suffix}"
    result = run(a_plan(), Folder(fmus.build()), isolated=isolated, recording=Recording(path))
    check(ssptool.read_trace(path), result.failure.time)


def test_a_simulation_has_it():
    with SteppedRun(a_plan(), Folder(fmus.build())) as simulation:
        with pytest.raises(RunError, match=r"Bad\.y is nan") as caught:
            simulation.run_until(1.0)
        check(simulation.trace, caught.value.failure.time)
        assert np.isnan(simulation.get("Bad.y"))


def test_rows_at_equal_distances_have_no_nan_before_it():
    rows = np.array([[0.0, 1.0, 0.0], [0.3, 1.0, 3.0], [0.6, np.nan, 6.0]])
    found = np.concatenate(list(decimated(Grid(0.0, 0.1), rows)))
    assert found[:, 0] == approx(np.arange(7) * 0.1)
    assert (found[:6, 1] == 1.0).all() and np.isnan(found[6, 1])
    assert found[:, 2] == approx(np.arange(7.0))
