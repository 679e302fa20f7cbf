"""Parts of FMI 3.0 inside: with arrays, asking for inputs inside a step, and made by generators of others."""

import shutil

import fmpy.validation
import numpy as np
import pytest

import ssptool
from tests.engine.systems import write_system
from tests.exporting.fmus import assert_same_bits, exported, in_fmpy, initialize, instance, real, set_real
from tests.fmu.array_fmus import build, pack, state_space
from tests.foreign.generators import python_fmu

pytestmark = pytest.mark.one_in(3)

CONNECTIONS = [("Spring.F", "Mass.F"), ("Mass.z", "Spring.z"), ("Mass.v", "Spring.v")]


@pytest.mark.parametrize("master", ["auto", "jacobi", "gauss-seidel"])
@pytest.mark.parametrize("approximation", ["hold", "extrapolate"])
@pytest.mark.parametrize("spring", [2, 3], ids="spring{}".format)
def test_an_oscillator_whose_parts_ask_for_inputs_inside_a_step(master, approximation, spring, fmi, models, tmp_path):
    fmus = tmp_path / "fmus"
    fmus.mkdir()
    shutil.copy(models.parent / "fmi3" / "Mass.fmu", fmus)
    shutil.copy(models.parent / f"fmi{spring}" / "SpringDamper.fmu", fmus)
    system = write_system(tmp_path / "system", fmus, {"Mass": "Mass", "Spring": "SpringDamper"}, CONNECTIONS)
    values = {"Mass.m": 0.5, "Mass.z": 0.02, "Spring.k": 10.0, "Spring.d": 0.1}
    options = {
        "master": master,
        "approximation": approximation,
        "step_size": 0.01,
        "stop_time": 0.5,
        "start_values": values,
    }
    run = ssptool.simulate(system, **options).unwrap()
    fmu = exported(system, tmp_path, fmi=fmi, **options)
    assert fmpy.validation.validate_fmu(str(fmu)) == []
    found = in_fmpy(fmu, 0.01)
    assert abs(found["Mass.z"][-1] - 0.02) > 0.001
    assert_same_bits(found, run)


@pytest.mark.parametrize("package", [2, 3], ids="pythonfmu{}".format)
def test_a_spring_from_python_and_our_mass(package, fmi, models, tmp_path):
    fmus = tmp_path / "fmus"
    python_fmu("Spring", package, fmus)
    shutil.copy(models.parent / "fmi3" / "Mass.fmu", fmus)
    connections = [("Spring.F", "Mass.F"), ("Mass.z", "Spring.z")]
    system = write_system(tmp_path / "system", fmus, {"Mass": "Mass", "Spring": "Spring"}, connections)
    values = {"Mass.m": 0.5, "Mass.z": 0.02, "Spring.k": 10.0}
    options = {"master": "jacobi", "step_size": 0.01, "stop_time": 0.5, "start_values": values}
    run = ssptool.simulate(system, **options).unwrap()
    assert_same_bits(in_fmpy(exported(system, tmp_path, fmi=fmi, **options), 0.01), run)


def test_elements_of_arrays_of_a_part_are_variables(fmi, tmp_path):
    """x' = -x + u with two states: each input has its own output, and arrays are passed whole."""
    fmus = tmp_path / "fmus"
    fmus.mkdir()
    build(fmus)
    pack(fmus / "Space.fmu", state_space(2, 2, 2), fmus / "state_space.so")
    system = write_system(tmp_path / "system", fmus, {"A": "Space", "B": "Space"}, [("A.y", "B.u")])
    options = {"step_size": 0.1, "stop_time": 1.0, "master": "jacobi"}
    run = ssptool.simulate(system, **options).unwrap()
    fmu = exported(system, tmp_path, fmi=fmi, **options)
    assert fmpy.validation.validate_fmu(str(fmu)) == []
    found = in_fmpy(fmu, 0.1)
    if fmi == 2:
        assert {"A.y[1]", "B.y[2]"} <= set(found.dtype.names)
        assert_same_bits(found, run)
    else:
        for name in ("A.y", "B.y"):
            for i in range(2):
                assert np.array_equal(found[name][:, i], run[f"{name}[{i + 1}]"])


def test_an_element_of_an_array_that_is_no_connector_is_got(fmi, tmp_path):
    """x' = -x + u with u = 0 and x = 1 at the start."""
    fmus = tmp_path / "fmus"
    fmus.mkdir()
    build(fmus)
    pack(fmus / "Space.fmu", state_space(2, 2, 2), fmus / "state_space.so")
    system = write_system(tmp_path / "system", fmus, {"A": "Space"}, [])
    fmu = exported(system, tmp_path, expose=["A.x[2]"], step_size=0.1, fmi=fmi)
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        assert real(slave, "A.x[2]") == 1.0
        slave.doStep(0.0, 0.5)
        assert abs(real(slave, "A.x[2]") - np.exp(-0.5)) < 1e-12


def test_a_parameter_of_a_part_of_fmi_3_is_set(fmi, models, tmp_path):
    values = {"Mass.m": 0.5, "Spring.k": 10.0, "Spring.d": 0.1}
    parts = {"Mass": "Mass", "Spring": "SpringDamper"}
    system = write_system(tmp_path / "system", models.parent / "fmi3", parts, CONNECTIONS)
    at_start = {"Mass.z": 0.02}
    options = {"master": "jacobi", "step_size": 0.01, "stop_time": 0.5}
    run = ssptool.simulate(system, start_values={**at_start, **values}, **options).unwrap()
    fmu = exported(system, tmp_path, fmi=fmi, start_values=at_start, expose=[*values, "Mass.v"], **options)
    with instance(fmu, tmp_path / "unpacked") as slave:
        for name, value in values.items():
            set_real(slave, name, value)
        initialize(slave)
        slave.doStep(0.0, 0.5)
        assert real(slave, "Mass.v") == run["Mass.v"][-1]
        assert real(slave, "Spring.k") == 10.0
