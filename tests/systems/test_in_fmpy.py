"""The example systems and their FMUs in FMPy, a program of others."""

from pathlib import Path

import numpy as np
import pytest
from fmpy import simulate_fmu
from fmpy.ssp.simulation import simulate_ssp
from fmpy.ssp.ssd import read_ssd, read_ssv
from fmpy.validation import validate_fmu

import ssptool
from ssptool import Settings

ROOT = Path(__file__).parents[2] / "systems"
FMUS = sorted(ROOT.rglob("*.fmu"))
SYSTEMS = ("dual_mass_oscillator", "rotational_spring_mass_damper", "one_dof_oscillator", "mass_spring_damper")


@pytest.mark.parametrize("fmu", FMUS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_fmu_is_valid_and_runs_alone(fmu):
    assert validate_fmu(str(fmu)) == []
    for kind in ("CoSimulation", "ModelExchange"):
        result = simulate_fmu(str(fmu), fmi_type=kind, stop_time=0.1)
        assert all(np.all(np.isfinite(result[name])) for name in result.dtype.names)


@pytest.mark.parametrize("name", SYSTEMS)
def test_packages_are_valid_there(name, tmp_path):
    ssptool.pack(ROOT / name, tmp_path / "packed.ssp")
    assert read_ssd(str(tmp_path / "packed.ssp"), validate=True).system.elements


@pytest.mark.parametrize("name", ["one_dof_oscillator", "rotational_spring_mass_damper"])
def test_late_exchange_is_its_algorithm_to_the_last_bit_but_one_step_behind(name, tmp_path):
    """Each component takes what the others delivered a step ago, and steps. There, all connectors are 0 at first, so
    that bodies at rest stay there for two steps until the first forces arrive; a row bears the time before its step.
    """
    ssptool.pack(ROOT / name, tmp_path / "packed.ssp")
    values = read_ssv(str(ROOT / name / "resources" / f"{name}.ssv"))
    theirs = simulate_ssp(str(tmp_path / "packed.ssp"), stop_time=1.0, step_size=1e-3, parameter_set=values)
    settings = Settings(stop_time=1.0, step_size=1e-3, master="jacobi", input="hold", exchange="late")
    ours = ssptool.simulate(ROOT / name, settings=settings).trace
    for column in ours.columns:
        rows = theirs[column.signal][1:]
        assert np.array_equal(rows, ours[column.signal][: len(rows)]), column.signal
