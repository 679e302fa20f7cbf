"""Exported FMUs with libraries that lack functions which a plain run does not call."""

import shutil

import numpy as np
import pytest

from tests.engine.small.fmus import make_fmu
from tests.engine.systems import write_system
from tests.exporting.fmus import exported, in_fmpy
from tests.fmu.test_absent_functions import CALC, VARIABLES, without


@pytest.mark.parametrize("version", [2, 3])
def test_they_run_without_saved_states_and_derivatives(tmp_path, version):
    """x' = 2 · 0.25 − x from 1: y = 3 x = 1.5 + 1.5 exp(−t)."""
    fmu = make_fmu(tmp_path / "A.fmu", VARIABLES, version=version, calc=CALC, saves=False, me=None)
    state = {2: "fmi2GetFMUstate", 3: "fmi3GetFMUState"}[version]
    without(fmu, version, state, f"fmi{version}GetDirectionalDerivative")
    system = write_system(tmp_path / "s", tmp_path, {"A": "A"}, [], 1.0)
    shutil.copy(fmu, system / "resources" / "A.fmu")
    found = in_fmpy(exported(system, tmp_path), 0.1, stop_time=1.0)
    name = next(name for name in found.dtype.names if name.endswith("y"))
    assert found[name][-1] == pytest.approx(1.5 + 1.5 * np.exp(-1.0), rel=1e-4)
