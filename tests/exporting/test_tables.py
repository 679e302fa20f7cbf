"""Inputs from tables in an exported system: as `simulate` has them, bit for bit, over jumps beside and on the grid."""

import numpy as np
import pytest

import ssptool
from ssptool.engine.failure import Unsupported
from tests.engine.stimuli.test_everywhere import INPUTS, WIRES
from tests.engine.systems import write_system
from tests.exporting.fmus import exported, in_fmpy, initialize, instance, real
from tests.exporting.test_derivatives import connected

STOP, STEP = 0.3, 0.01
ON_GRID = {"A.w": ssptool.types.Table((0.0, 0.1, 0.1, 0.3), (0.0, 0.05, 0.02, 0.04))}
WAYS = [
    {"master": "jacobi"},
    {"master": "jacobi", "approximation": "hold"},
    {"master": "gauss-seidel", "approximation": "interpolate"},
    {"master": "iterated"},
    {"master": "iterated", "iterations": 4, "substeps": {"Mass": 3}},
]


@pytest.fixture
def system(models, tmp_path):
    """A mass on a spring, cut in components that feed each other."""
    components = {"Mass": "Mass", "Spring": "SpringDamper", "A": "Affine", "B": "Affine"}
    return write_system(tmp_path / "system", models, components, WIRES)


COMMON = {
    "start_values": {"Mass.m": 0.5, "Spring.k": 10.0, "Spring.d": 0.0, "A.b": 1.0, "B.b": 1.0},
    "step_size": STEP,
    "stop_time": STOP,
    "accept": ["UNIT-006"],  # forces that pass through components without units
}


@pytest.mark.parametrize("inputs", [INPUTS, ON_GRID], ids=["beside", "on"])
@pytest.mark.parametrize("options", WAYS, ids=str)
def test_what_tables_drive_has_the_same_bits(options, inputs, system, fmi, tmp_path):
    options = {**options, **COMMON, "inputs": inputs}
    run = ssptool.simulate(system, **options).unwrap()
    found = in_fmpy(exported(system, tmp_path, fmi=fmi, **options), STEP)
    first = np.searchsorted(run.t, found["time"] - 1e-9)  # of the two rows of a jump, the one before it
    assert abs(run["Mass.z"][-1]) > 1e-5
    for name in found.dtype.names[1:]:
        np.testing.assert_array_equal(found[name], run[name][first], err_msg=name)


def test_what_no_exported_fmu_can_do_as_model_exchange_is_done_by_steps(models, fmi, tmp_path):
    """Tables drive inputs of co-simulation only; the FMU of the mass offers both."""
    folder = write_system(tmp_path / "system", models, {"Mass": "Mass"}, [], implementation="any")
    options = {"start_values": {"Mass.m": 2.0}, "step_size": STEP, "stop_time": STOP}
    options["inputs"] = {"Mass.F": ssptool.types.Table((0.0, 0.3), (1.0, 4.0))}
    assert ssptool.plan(folder, **options).is_one_ode
    found = in_fmpy(exported(folder, tmp_path, fmi=fmi, **options), STEP)
    run = ssptool.simulate(folder, implementation="cs", **options)
    assert run["Mass.z"][-1] > 0.01
    np.testing.assert_array_equal(found["Mass.z"], run["Mass.z"])
    with pytest.raises(Unsupported, match="tables as inputs"):
        exported(folder, tmp_path, fmi=fmi, implementation="me", **options)


def test_steps_of_an_importer_that_end_at_a_jump_and_beside_it(system, fmi, tmp_path):
    """The step to 0.1037 s ends before the jump, the next one begins after it."""
    options = {**COMMON, "inputs": INPUTS, "master": "jacobi"}
    run = ssptool.simulate(system, **options).unwrap()
    fmu = exported(system, tmp_path, fmi=fmi, **options)
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        slave.doStep(0.0, 0.1037)
        before = int(np.searchsorted(run.t, 0.1037))
        assert real(slave, "A.y") == run["A.y"][before] != run["A.y"][before + 1]
        state = slave.getFMUState()
        slave.doStep(0.1037, 0.3 - 0.1037)
        last = [real(slave, name) for name in ("Mass.z", "A.y", "B.y")]
        assert last == [run[name][-1] for name in ("Mass.z", "A.y", "B.y")]
        slave.setFMUState(state)
        slave.doStep(0.1037, 0.3 - 0.1037)
        assert [real(slave, name) for name in ("Mass.z", "A.y", "B.y")] == last
        slave.freeFMUState(state)


def test_an_input_that_a_table_drives_is_no_input_any_more(models, fmi, tmp_path):
    folder = write_system(tmp_path / "own", models, {"A": "Affine"}, [])
    connected(folder, {"r": "input", "s": "input", "y": "output"}, [("r", "A.u"), ("s", "A.w"), ("A.y", "y")])
    inputs = {"r": ssptool.types.Table((0.0, 1.0), (0.0, 2.0))}
    fmu = exported(folder, tmp_path, fmi=fmi, inputs=inputs, start_values={"A.b": 1.0}, step_size=0.1, stop_time=1.0)
    with instance(fmu, tmp_path / "unpacked") as slave:
        assert "r" not in slave.references and "s" in slave.references
        initialize(slave)
        slave.doStep(0.0, 0.5)
        assert real(slave, "y") == 1.0


def test_functions_and_scenarios_are_refused(system, tmp_path):
    with pytest.raises(Unsupported, match=r"input A\.w: functions as inputs"):
        exported(system, tmp_path, inputs={"A.w": np.sin}, **COMMON)
    scenario = ssptool.types.Scenario((ssptool.types.Event(0.1, "Spring.F", "bias", 0.01),))
    with pytest.raises(Unsupported, match="scenarios are not supported"):
        exported(system, tmp_path, scenario=scenario, **COMMON)
