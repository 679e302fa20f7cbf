"""Inputs of an exported system that run over a communication step, by the derivatives that an importer gives."""

import math
import shutil
import zipfile

import fmpy.validation
import numpy as np
import pytest
from fmpy.fmi1 import FMICallException

import ssptool
from ssptool.fmu.read_description import read_description
from tests.engine.systems import write_system
from tests.exporting.fmus import exported, initialize, instance, real, set_real
from tests.exporting.test_derivatives import connected


@pytest.fixture
def masses(models, tmp_path):
    """First is pushed by F, Second by the velocity of First: v = ∫ F, w = ∫ v."""
    folder = write_system(tmp_path / "masses", models, {"First": "Mass", "Second": "Mass"}, [("First.v", "Second.F")])
    wires = [("F", "First.F"), ("First.v", "v"), ("Second.v", "w")]
    return connected(folder, {"F": "input", "v": "output", "w": "output"}, wires)


OPTIONS = {
    "start_values": {"First.m": 1.0, "Second.m": 1.0},
    "master": "jacobi",
    "approximation": "extrapolate",
    "accept": ["UNIT-006"],  # a velocity as a force
}


def tell(slave, name, rates):
    """Derivatives of an input, the first one first."""
    references = [slave.references[name]] * len(rates)
    slave.setRealInputDerivatives(references, list(range(1, len(rates) + 1)), rates)


def pushed(slave, steps, order):
    """v(1) and w(1) after F = cos t in so many steps, of which each knows so many derivatives of F at its start."""
    initialize(slave)
    for number in range(steps):
        t = number / steps
        set_real(slave, "F", math.cos(t))
        if order:
            tell(slave, "F", [-math.sin(t), -math.cos(t)][:order])
        slave.doStep(t, 1.0 / steps)
    return np.array([real(slave, "v"), real(slave, "w")])


@pytest.mark.parametrize(("order", "expected"), [(0, (1, 1)), (1, (2, 2)), (2, (3, 2))])
def test_the_order_of_what_is_integrated_is_one_more_than_that_of_the_derivatives(order, expected, masses, tmp_path):
    """v = sin t, w = 1 - cos t. Second extrapolates v, to order 2, over communication points at which F goes on."""
    errors = []
    for steps in (40, 80):
        fmu = exported(masses, tmp_path, step_size=1.0 / steps, stop_time=1.0, **OPTIONS)
        assert fmpy.validation.validate_fmu(str(fmu)) == []
        with instance(fmu, tmp_path / f"unpacked{steps}") as slave:
            errors.append(np.abs(pushed(slave, steps, order) - [math.sin(1.0), 1.0 - math.cos(1.0)]))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(expected, abs=0.25)


def test_a_parabola_is_integrated_exactly_however_many_macro_steps_fill_the_step(masses, tmp_path):
    fmu = exported(masses, tmp_path, step_size=0.1, stop_time=1.0, **OPTIONS)
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        set_real(slave, "F", 2.0)
        tell(slave, "F", [-3.0, 60.0])
        slave.doStep(0.0, 0.5)
        assert real(slave, "F") == pytest.approx(2.0 - 3.0 * 0.5 + 30.0 * 0.25, rel=1e-14)
        assert real(slave, "v") == pytest.approx(2.0 * 0.5 - 1.5 * 0.25 + 10.0 * 0.125, rel=1e-9)
        before, reached = real(slave, "v"), real(slave, "F")
        slave.doStep(0.5, 0.1)  # derivatives are those of one step
        assert real(slave, "F") == reached
        assert real(slave, "v") - before == pytest.approx(0.1 * reached, rel=1e-9)


def test_a_part_that_follows_no_inputs_has_them_at_the_middle_of_macro_steps(masses, tmp_path):
    for fmu in (masses / "resources").glob("*.fmu"):
        with zipfile.ZipFile(fmu) as old, zipfile.ZipFile(tmp_path / "made.fmu", "w") as new:
            for name in old.namelist():
                new.writestr(name, old.read(name).replace(b'canInterpolateInputs="true"', b""))
        shutil.move(tmp_path / "made.fmu", fmu)
    fmu = exported(masses, tmp_path, step_size=0.1, stop_time=1.0, **OPTIONS | {"approximation": None})
    assert read_description(fmu).co_simulation.input_derivatives
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        set_real(slave, "F", 2.0)
        tell(slave, "F", [-3.0])
        slave.doStep(0.0, 0.5)
        assert real(slave, "v") == pytest.approx(2.0 * 0.5 - 1.5 * 0.25, rel=1e-9)


def test_inputs_that_are_held_everywhere_cannot_be_interpolated(masses, tmp_path):
    fmu = exported(masses, tmp_path, step_size=0.1, stop_time=1.0, **OPTIONS | {"approximation": "hold"})
    assert not read_description(fmu).co_simulation.input_derivatives


def test_derivatives_are_part_of_the_state(masses, tmp_path):
    fmu = exported(masses, tmp_path, step_size=0.1, stop_time=1.0, **OPTIONS)
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        set_real(slave, "F", 2.0)
        tell(slave, "F", [-3.0, 60.0])
        state = slave.getFMUState()
        content = slave.serializeFMUState(state)
        slave.doStep(0.0, 0.25)
        first = real(slave, "v"), real(slave, "w")
        slave.setFMUState(state)
        slave.doStep(0.0, 0.25)
        assert (real(slave, "v"), real(slave, "w")) == first
        again = slave.deserializeFMUState(content)
        slave.setFMUState(again)
        slave.doStep(0.0, 0.25)
        assert (real(slave, "v"), real(slave, "w")) == first
        for one in (state, again):
            slave.freeFMUState(one)


@pytest.mark.parametrize(("name", "order", "status"), [("v", 1, 3), ("F", 3, 2), ("F", 0, 2)])
def test_derivatives_that_nothing_follows_are_refused(name, order, status, masses, tmp_path):
    with instance(exported(masses, tmp_path, step_size=0.1, **OPTIONS), tmp_path / "unpacked") as slave:
        initialize(slave)
        with pytest.raises(FMICallException) as error:
            slave.setRealInputDerivatives([slave.references[name]], [order], [1.0])
        assert error.value.status == status


@pytest.mark.parametrize("master", ["jacobi", "iterated"])
def test_a_nested_mass_follows_its_force_as_one_that_is_not(master, models, tmp_path):
    """A mass on a spring. Held over steps of 0.01 s, the force of the nested one would be another by 1e-3."""
    place = tmp_path / "fmus"
    place.mkdir()
    for name in ("Mass", "SpringDamper"):
        shutil.copy(models / f"{name}.fmu", place)
    inner = write_system(tmp_path / "inner", place, {"M": "Mass"}, [])
    connected(inner, {"F": "input", "z": "output", "v": "output"}, [("F", "M.F"), ("M.z", "z"), ("M.v", "v")])
    values = {"M.m": 0.5, "M.z": 0.02}
    exported(inner, place, step_size=0.01, stop_time=1.0, start_values=values).rename(place / "Nested.fmu")
    wires = [("Mass.z", "S.z"), ("Mass.v", "S.v"), ("S.F", "Mass.F")]
    options = {"step_size": 0.01, "stop_time": 1.0, "master": master}
    spring = {"S.k": 10.0, "S.d": 0.1}
    runs = [
        ssptool.simulate(
            write_system(tmp_path / kind, place, {"Mass": kind, "S": "SpringDamper"}, wires),
            **options,
            start_values=spring | more,
        ).unwrap()
        for kind, more in (("Mass", {"Mass.m": 0.5, "Mass.z": 0.02}), ("Nested", {}))
    ]
    np.testing.assert_allclose(runs[1]["Mass.z"], runs[0]["Mass.z"], atol=1e-9)
