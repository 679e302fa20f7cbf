"""Parts of FMI 1.0 inside: without an initialization mode, with steps that some can reject, and without states."""

import zipfile

import fmpy.validation
import pytest
from fmpy.fmi1 import FMICallException

import ssptool
from ssptool.fmu.read_description import read_description
from tests.engine.carriers import TYPES, build
from tests.engine.systems import write_system
from tests.exporting.fmus import (
    RESOURCES,
    SYSTEMS,
    Messages,
    assert_same_bits,
    exported,
    in_fmpy,
    initialize,
    instance,
    real,
    set_real,
    set_up,
)
from tests.exporting.test_derivatives import connected
from tests.exporting.test_types import EXTREMES, _get, _set, write_carried

OSCILLATOR = SYSTEMS / "dual_mass_oscillator"
WIRES = [
    ("System1.x1", "System2.x1"),
    ("System1.v1", "System2.v1"),
    ("System1.a1", "System2.a1"),
    ("System2.F", "System1.F"),
]


@pytest.mark.parametrize(("master", "approximation"), [("jacobi", "extrapolate"), ("gauss-seidel", "interpolate")])
def test_the_oscillator_of_fmi_1(master, approximation, fmi, tmp_path):
    options = {"variant": "FMI1", "master": master, "approximation": approximation, "stop_time": 1.0, "step_size": 0.01}
    run = ssptool.simulate(OSCILLATOR, **options).unwrap()
    fmu = exported(OSCILLATOR, tmp_path, fmi=fmi, **options)
    assert fmpy.validation.validate_fmu(str(fmu)) == []
    assert_same_bits(in_fmpy(fmu, 0.01), run)
    assert not read_description(fmu).co_simulation.saves_state


@pytest.fixture
def mixed(tmp_path):
    """System1 of FMI 1.0, which can reject steps, and System2 of FMI 2.0."""
    fmus = tmp_path / "fmus"
    fmus.mkdir()
    with zipfile.ZipFile(RESOURCES / "fmi1" / "System1.fmu") as old, zipfile.ZipFile(fmus / "System1.fmu", "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename == "modelDescription.xml":
                content = content.replace(b"<Capabilities ", b'<Capabilities canRejectSteps="true" ')
            new.writestr(entry, content)
    (fmus / "System2.fmu").write_bytes((RESOURCES / "System2.fmu").read_bytes())
    return write_system(tmp_path / "mixed", fmus, {"System1": "System1", "System2": "System2"}, WIRES)


def test_iterated_steps_of_what_can_reject_them(mixed, fmi, tmp_path):
    options = {"step_size": 0.01, "stop_time": 1.0, "master": "iterated"}
    result = ssptool.simulate(mixed, **options)
    assert result.statistics.iterations_max > 1
    assert_same_bits(in_fmpy(exported(mixed, tmp_path, fmi=fmi, **options), 0.01), result.unwrap())


# -- initialization ---------------------------------------------------------------------------------------------------


@pytest.fixture
def steady(models, tmp_path):
    """Systems of Steady (FMI 1.0) and others: y = x with der(x) = a u + c - x, at rest at the start."""
    fmus = tmp_path / "fmus"
    fmus.mkdir()
    for name, version in (("Steady", 1), ("Unresettable", 1), ("Affine", 2)):
        (fmus / f"{name}.fmu").write_bytes((models.parent / f"fmi{version}" / f"{name}.fmu").read_bytes())

    def write(sources, wires):
        return write_system(tmp_path / "system", fmus, sources, wires)

    return write


def test_a_row_of_parts_starts_with_the_inputs_that_the_ones_before_have(steady, fmi, tmp_path):
    """A = 3, B = 2 A = 6, C = B + 1 = 7: at rest for ever, as only consistent initial states are."""
    system = steady(dict.fromkeys("CBA", "Steady"), [("A.y", "B.u"), ("B.y", "C.u")])
    values = {"A.c": 3.0, "B.a": 2.0, "C.c": 1.0}
    found = in_fmpy(exported(system, tmp_path, fmi=fmi, step_size=0.1, stop_time=1.0, start_values=values), 0.1)
    for name, value in (("A", 3.0), ("B", 6.0), ("C", 7.0)):
        assert found[f"{name}.y"] == pytest.approx([value] * 11, rel=1e-12)


@pytest.mark.parametrize("other", ["Steady", "Affine"])
def test_initial_states_that_need_each_other_are_found(other, steady, fmi, tmp_path):
    """A = B/2 + 1, B = A/2: A = 4/3, B = 2/3."""
    system = steady({"A": "Steady", "B": other}, [("A.y", "B.u"), ("B.y", "A.u")])
    options = {"start_values": {"A.a": 0.5, "A.c": 1.0, "B.a": 0.5}, "step_size": 0.1, "stop_time": 1.0}
    found = in_fmpy(exported(system, tmp_path, fmi=fmi, **options), 0.1)
    assert (found["A.y"][0], found["B.y"][0]) == pytest.approx((4 / 3, 2 / 3), rel=1e-11)
    assert_same_bits(found, ssptool.simulate(system, **options).unwrap())


def test_initial_states_that_cannot_be_found_without_a_mode_are_refused(steady, fmi, tmp_path):
    """A = 2 B + 1, B = A: a gain of 2 leads away from the solution, -1."""
    system = steady({"A": "Steady", "B": "Steady"}, [("A.y", "B.u"), ("B.y", "A.u")])
    fmu = exported(system, tmp_path, fmi=fmi, start_values={"A.a": 2.0, "A.c": 1.0}, step_size=0.1)
    said = Messages()
    with instance(fmu, tmp_path / "unpacked", said) as slave, pytest.raises(FMICallException):
        initialize(slave)
    assert any("initial inputs of FMUs of FMI 1.0 still change" in text and "B.u" in text for _, _, text in said)


def test_a_part_that_cannot_be_reset_is_named(steady, fmi, tmp_path):
    system = steady({"A": "Unresettable", "B": "Unresettable"}, [("A.y", "B.u"), ("B.y", "A.u")])
    values = {"A.a": 0.5, "A.c": 1.0, "B.a": 0.5}
    said = Messages()
    fmu = exported(system, tmp_path, fmi=fmi, start_values=values, step_size=0.1)
    with instance(fmu, tmp_path / "unpacked", said) as slave, pytest.raises(FMICallException):
        initialize(slave)
    assert any("component A: fmiResetSlave returned error" in text for _, _, text in said)
    assert any(text.startswith("A: ") and "there is no way back" in text for _, _, text in said)


@pytest.fixture
def driven(steady):
    """y = a u + c of a part at rest, behind one that passes r on."""
    system = steady({"A": "Affine", "B": "Steady"}, [("A.y", "B.u")])
    return connected(system, {"r": "input", "y": "output"}, [("r", "A.u"), ("B.y", "y")])


def test_inputs_and_parameters_that_are_set_before_and_in_initialization_mode_act_on_initial_states(
    driven, fmi, tmp_path
):
    fmu = exported(driven, tmp_path, fmi=fmi, expose=["B.c", "B.a"], step_size=0.1, stop_time=1.0)
    with instance(fmu, tmp_path / "unpacked") as slave:
        for _ in range(2):
            set_real(slave, "B.c", 2.0)
            set_real(slave, "r", 3.0)
            set_up(slave)
            assert real(slave, "y") == 5.0
            set_real(slave, "r", 4.0)
            assert real(slave, "y") == 6.0
            set_real(slave, "B.a", 10.0)
            slave.exitInitializationMode()
            assert real(slave, "y") == 42.0
            for number in range(3):
                slave.doStep(number * 0.1, 0.1)
            assert real(slave, "y") == pytest.approx(42.0, rel=1e-12)
            set_real(slave, "r", 1000.0)  # the lag sets off
            slave.doStep(0.3, 0.1)
            assert real(slave, "y") > 50.0
            slave.terminate()
            slave.reset()


# -- values and messages ----------------------------------------------------------------------------------------------


def test_values_of_every_type_pass_without_loss(fmi, tmp_path):
    build(tmp_path)
    system = write_carried(tmp_path / "system", tmp_path, 1, TYPES[1])
    fmu = exported(system, tmp_path, step_size=0.1, fmi=fmi)
    of_fmi = {one.name: one.type for one in fmpy.read_model_description(str(fmu)).modelVariables}
    with instance(fmu, tmp_path / "unpacked") as slave:
        initialize(slave)
        for number in range(2):
            for kind in TYPES[1]:
                _set(slave, of_fmi, f"{kind}_u", EXTREMES[kind][number])
            for kind in TYPES[1]:
                assert _get(slave, of_fmi, f"{kind}_is") == EXTREMES[kind][number], kind
            slave.doStep(number * 0.1, 0.1)
            for kind in TYPES[1]:
                assert _get(slave, of_fmi, f"{kind}_was") == EXTREMES[kind][number], kind


def test_a_step_that_a_part_discards_is_discarded_with_its_message(fmi, tmp_path):
    """An infinite stiffness leaves no solution over the step."""
    options = {"variant": "FMI1", "master": "jacobi", "approximation": "hold", "step_size": 0.1}
    fmu = exported(OSCILLATOR, tmp_path, fmi=fmi, expose=["System2.k3"], **options)
    said = Messages()
    with instance(fmu, tmp_path / "unpacked", said) as slave:
        set_real(slave, "System2.k3", float("inf"))
        initialize(slave)
        with pytest.raises(FMICallException) as error:
            slave.doStep(0.0, 0.1)
        assert error.value.status == 2
    assert any("component System2: fmiDoStep returned discard" in text for _, _, text in said)
    assert any(text.startswith("System2: ") and "no solution" in text for _, _, text in said)
