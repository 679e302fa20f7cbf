"""An exported system has the values of `simulate`, bit for bit, at every communication point of any importer."""

import fmpy.validation
import numpy as np
import pytest

import ssptool
from tests.exporting.fmus import SYSTEMS, assert_same_bits, exported, in_fmpy, initialize, instance, real
from tests.systems.peers import in_ecos, in_libcosim, where_wheels_are

pytestmark = pytest.mark.one_in(3)

COSIMULATED = ["dual_mass_oscillator", "mass_spring_damper", "one_dof_oscillator", "rotational_spring_mass_damper"]
MASTERS = ["auto", "jacobi", "gauss-seidel"]


@pytest.mark.parametrize("name", COSIMULATED)
@pytest.mark.parametrize("master", MASTERS)
def test_example_systems_in_fmpy(name, master, fmi, tmp_path):
    options = {"master": master, "stop_time": 1.0}
    run = ssptool.simulate(SYSTEMS / name, **options).unwrap()
    fmu = exported(SYSTEMS / name, tmp_path, fmi=fmi, **options)
    assert fmpy.validation.validate_fmu(str(fmu)) == []
    assert_same_bits(in_fmpy(fmu, 0.001), run)
    assert_same_bits(in_fmpy(fmu, 0.025), run, every=25)


def test_delayed_connections_in_fmpy(fmi, tmp_path):
    options = {"stop_time": 1.0, "delay": {"System2.F": "10ms", "System1.x1": "step"}}
    run = ssptool.simulate(SYSTEMS / "dual_mass_oscillator", **options).unwrap()
    fmu = exported(SYSTEMS / "dual_mass_oscillator", tmp_path, fmi=fmi, **options)
    assert_same_bits(in_fmpy(fmu, 0.001), run)
    assert_same_bits(in_fmpy(fmu, 0.025), run, every=25)


@where_wheels_are
@pytest.mark.parametrize(("importer", "fmi"), [(in_libcosim, 2), (in_ecos, 2), (in_ecos, 3)])
def test_in_co_simulation_programs_of_others(importer, fmi, tmp_path):
    """Their times are sums of steps, or whole nanoseconds; the points of the system's own grid are met all the same."""
    run = ssptool.simulate(SYSTEMS / "one_dof_oscillator", master="jacobi").unwrap()
    fmu = exported(SYSTEMS / "one_dof_oscillator", tmp_path, master="jacobi", fmi=fmi).rename(tmp_path / "plant.fmu")
    package = tmp_path / "plant.ssp"
    ssptool.convert(fmu, package)
    if fmi == 3:
        ssptool.downgrade(package)  # they read SSP 1.0
    if importer is in_ecos:
        with ssptool.edit(package) as system:
            (tmp_path / "values.ssv").write_text(_NO_VALUES)
            system.bind(tmp_path / "values.ssv", to="plant", inline=True)
    signals = [f"plant.{name}" for name in ("Mass.z", "Mass.v", "SpringDamper.F")]
    found = importer(package, 0.001, signals, 500)
    for signal, values in found.items():
        np.testing.assert_array_equal(values[1:], run[signal.removeprefix("plant.")][1 : len(values)], err_msg=signal)


_NO_VALUES = """<ssv:ParameterSet version="1.0" name="values"
    xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues"><ssv:Parameters/></ssv:ParameterSet>"""


def test_as_a_component_in_ssptool(fmi, tmp_path):
    run = ssptool.simulate(SYSTEMS / "one_dof_oscillator", master="jacobi").unwrap()
    fmu = exported(SYSTEMS / "one_dof_oscillator", tmp_path, master="jacobi", fmi=fmi)
    nested = ssptool.simulate(fmu).unwrap()
    for name in ("Mass.z", "Mass.v", "SpringDamper.F"):
        np.testing.assert_array_equal(nested[f"one_dof_oscillator.{name}"], run[name])


@pytest.mark.parametrize("step", [0.0004, 0.0037, 0.25])
def test_steps_of_an_importer_are_filled_with_macro_steps_and_a_shortened_one(step, fmi, tmp_path):
    """The first one as a run to that stop time. Then each begins and ends beside the grid, and all lead to the same."""
    name = "one_dof_oscillator"
    fmu = exported(SYSTEMS / name, tmp_path, master="jacobi", fmi=fmi)
    short = ssptool.simulate(SYSTEMS / name, master="jacobi", stop_time=step, step_size=0.001).unwrap()
    whole = ssptool.simulate(SYSTEMS / name, master="jacobi").unwrap()
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        slave.doStep(0.0, step)
        assert (real(slave, "Mass.z"), real(slave, "Mass.v")) == (short["Mass.z"][-1], short["Mass.v"][-1])
        for number in range(1, 4):
            slave.doStep(number * step, step)
        slave.doStep(4 * step, 1.0 - 4 * step) if 4 * step < 1.0 else None
        assert real(slave, "Mass.z") == pytest.approx(whole["Mass.z"][-1], abs=2e-6)


def test_two_instances_and_exports_of_both_versions_in_one_process_do_not_disturb_each_other(fmi, tmp_path):
    name = "one_dof_oscillator"
    run = ssptool.simulate(SYSTEMS / name, master="jacobi").unwrap()
    other = ssptool.simulate(SYSTEMS / name, master="jacobi", start_values={"Mass.z": 0.01}).unwrap()
    first = exported(SYSTEMS / name, tmp_path, master="jacobi", expose=["Mass.z"], fmi=fmi)
    (tmp_path / "second").mkdir()
    second = exported(SYSTEMS / name, tmp_path / "second", master="jacobi", start_values={"Mass.z": 0.01}, fmi=5 - fmi)
    with (
        instance(first, tmp_path / "a") as a,
        instance(first, tmp_path / "b") as b,
        instance(second, tmp_path / "c") as c,
    ):
        for slave in (a, b, c):
            initialize(slave)
        for number in range(100):
            for slave in (a, b, c):
                slave.doStep(number * 0.001, 0.001)
        assert real(a, "Mass.z") == real(b, "Mass.z") == run["Mass.z"][100]
        assert real(c, "Mass.z") == other["Mass.z"][100]
