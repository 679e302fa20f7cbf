"""The example systems and their FMUs in FMPy, a program of others.

It reads `mass_spring_damper` but does not run it: its master knows no components that are systems.
"""

from pathlib import Path

import numpy as np
import pytest
from fmpy import read_model_description, simulate_fmu
from fmpy.ssp.simulation import simulate_ssp
from fmpy.ssp.ssd import read_ssd, read_ssv
from fmpy.validation import validate_fmu

import ssptool
from ssptool import Settings

ROOT = Path(__file__).parents[2] / "systems"
FMUS = sorted(ROOT.rglob("*.fmu"))
SYSTEMS = sorted(path.parent.name for path in ROOT.glob("*/SystemStructure.ssd"))


@pytest.mark.parametrize("fmu", FMUS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_fmu_is_valid_and_runs_alone(fmu):
    assert validate_fmu(str(fmu)) == []
    description = read_model_description(str(fmu))
    kinds = {"CoSimulation": description.coSimulation, "ModelExchange": description.modelExchange}
    for kind in (kind for kind, offered in kinds.items() if offered):
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
    settings = Settings(stop_time=1.0, step_size=1e-3, master="jacobi", approximation="hold", exchange="late")
    ours = ssptool.simulate(ROOT / name, settings=settings).trace
    for column in ours.columns:
        rows = theirs[column.signal][1:]
        assert np.array_equal(rows, ours[column.signal][: len(rows)]), column.signal


def test_where_bodies_move_before_the_first_forces_arrive_it_departs_in_proportion_to_the_step(tmp_path):
    """All connectors are 0 there at first, also the force of 5 N at mass 1 and the acceleration that it makes: the
    start is wrong for one step, and so is all that follows, by what a step is worth.
    """
    name = "dual_mass_oscillator"
    ssptool.pack(ROOT / name, tmp_path / "packed.ssp")
    values = read_ssv(str(ROOT / name / "resources" / f"{name}.ssv"))
    overridden_starts = []
    for step in (2e-3, 1e-3, 5e-4):
        theirs = simulate_ssp(str(tmp_path / "packed.ssp"), stop_time=1.0, step_size=step, parameter_set=values)
        settings = Settings(stop_time=1.0, step_size=step, master="jacobi", approximation="hold", exchange="late")
        ours = ssptool.simulate(ROOT / name, settings=settings).trace["System1.x1"]
        rows = theirs["System1.x1"][1:]
        overridden_starts.append(np.max(np.abs(rows - ours[: len(rows)])))
    assert overridden_starts[0] / overridden_starts[1] == pytest.approx(2, rel=0.02)
    assert overridden_starts[1] / overridden_starts[2] == pytest.approx(2, rel=0.02)
