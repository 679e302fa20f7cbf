"""Libraries that lack functions which a plain run does not call, and FMUs that do not return their inputs."""

import shutil
import zipfile

import fmpy
import numpy as np
import pytest
from fmpy.fmi2 import FMU2Model, FMU2Slave
from fmpy.fmi3 import FMU3Model, FMU3Slave

import ssptool
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.systems import write_system
from tests.fmu.building import PLATFORM

VARIABLES = (
    Var("u", "input", start=0.25),
    Var("k", "parameter", start=2.0),
    Var("x", "state", start=1.0),
    Var("dx", "der", of="x", needs=["x", "u"]),
    Var("y", "output", needs=["x"]),
)
CALC = "v->dx = v->k * v->u - v->x; v->y = 3 * v->x;"
NEEDED = {
    2: "Instantiate FreeInstance SetupExperiment EnterInitializationMode ExitInitializationMode Terminate DoStep "
    "GetReal SetReal",
    3: "InstantiateCoSimulation FreeInstance EnterInitializationMode ExitInitializationMode Terminate DoStep "
    "GetFloat64 SetFloat64",
}
EXCHANGE = {
    2: "SetTime SetContinuousStates GetContinuousStates GetDerivatives NewDiscreteStates EnterContinuousTimeMode "
    "EnterEventMode CompletedIntegratorStep GetEventIndicators "
    "GetNominalsOfContinuousStates",
    3: "InstantiateModelExchange SetTime SetContinuousStates GetContinuousStates GetContinuousStateDerivatives "
    "UpdateDiscreteStates EnterContinuousTimeMode EnterEventMode CompletedIntegratorStep GetEventIndicators "
    "GetNumberOfContinuousStates GetNumberOfEventIndicators GetNominalsOfContinuousStates",
}


def functions(kind, version, needed):
    every = {name for name in dir(kind) if name.startswith(f"fmi{version}")}
    return sorted(every - {f"fmi{version}{name}" for name in needed.split()})


OPTIONAL = [
    *((2, "cs", name) for name in functions(FMU2Slave, 2, NEEDED[2])),
    *((3, "cs", name) for name in functions(FMU3Slave, 3, NEEDED[3])),
    *((2, "me", name) for name in functions(FMU2Model, 2, NEEDED[2] + " " + EXCHANGE[2])),
    *((3, "me", name) for name in functions(FMU3Model, 3, NEEDED[3] + " " + EXCHANGE[3])),
]


def without(path, version, *names):
    """The FMU with other names for these functions of its library."""
    place = f"binaries/{PLATFORM[version]}/{path.stem}{fmpy.sharedLibraryExtension}"
    return changed(
        path, place, *((b"\0" + name.encode() + b"\0", b"\0x" + name.encode()[1:] + b"\0") for name in names)
    )


def changed(path, place, *changes):
    """The FMU with other bytes in one of its files."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    for before, after in changes:
        assert before in entries[place]
        entries[place] = entries[place].replace(before, after)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


@pytest.fixture(scope="module")
def fmus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return {version: make_fmu(folder / f"A{version}.fmu", VARIABLES, version=version, calc=CALC) for version in (2, 3)}


def simulated(fmu, **more):
    settings = {"stop_time": 1.0, "step_size": 0.01, "isolated": False, "accuracy": "off"}
    return ssptool.simulate(fmu, **{**settings, **more})


@pytest.mark.parametrize(("version", "implementation", "function"), OPTIONAL)
def test_a_plain_run_does_without_it(tmp_path, fmus, version, implementation, function):
    """x' = 2 · 0.25 − x from 1: x = 0.5 + 0.5 exp(−t)."""
    fmu = without(shutil.copy(fmus[version], tmp_path / fmus[version].name), version, function)
    result = simulated(fmu, implementation=implementation)
    assert result.unwrap()[f"A{version}.y"][-1] == pytest.approx(1.5 + 1.5 * np.exp(-1.0), rel=1e-6)
    assert result.warnings == ()


@pytest.mark.parametrize("processes", [None, 1])
def test_a_function_that_a_run_asks_for_is_named(tmp_path, fmus, processes):
    """Steps that are repeated need saved states, which the description promises."""
    without(shutil.copy(fmus[2], tmp_path / "A2.fmu"), 2, "fmi2GetFMUstate").rename(tmp_path / "A.fmu")
    wires = [("P.y", "Q.u"), ("Q.y", "P.u")]
    system = write_system(tmp_path / "s", tmp_path, {"P": "A", "Q": "A"}, wires, 1.0)
    result = simulated(system, implementation="cs", master="iterated", processes=processes)
    assert not result.ok
    assert "fmi2GetFMUstate" in result.failure.message and "does not have it" in result.failure.message


@pytest.mark.parametrize(("version", "function"), [(2, "fmi2SetInteger"), (3, "fmi3SetInt32")])
def test_a_function_for_start_values_of_a_type_that_no_connection_has_is_named(tmp_path, version, function):
    variables = (*VARIABLES, Var("n", "parameter", "Int32", start=7))
    fmu = without(make_fmu(tmp_path / "A.fmu", variables, version=version, calc=CALC), version, function)
    result = simulated(fmu, implementation="cs", start_values={"n": 9})
    assert not result.ok and function in result.failure.message and "does not have it" in result.failure.message


def test_a_function_that_every_run_needs_is_named_before_it(tmp_path, fmus):
    fmu = without(shutil.copy(fmus[2], tmp_path / "A2.fmu"), 2, "fmi2DoStep")
    with pytest.raises(Exception, match="fmi2DoStep"):
        simulated(fmu, implementation="cs")


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("start", [True, False])
def test_inputs_that_an_fmu_does_not_return_begin_as_stated(tmp_path, version, start):
    """The values come from their sources: y = 3 x with x' = 8 − x from 1. Until u is set the FMU returns nothing."""
    fmu = make_fmu(
        tmp_path / "A.fmu",
        (*VARIABLES[:-1], Var("y", "output", needs=["x", "u"])),
        version=version,
        calc=CALC,
        own="bool known;",
        check="v->known = true; return OK;",
        got="return v->known ? OK : ERROR;",
    )
    if not start:
        changed(fmu, "modelDescription.xml", (b' start="0.25"', b""))
    make_fmu(tmp_path / "T.fmu", (Var("y", "output", needs=[]),), version=version, calc="v->y = 4.0;")
    system = write_system(tmp_path / "s", tmp_path, {"A": "A", "T": "T"}, [("T.y", "A.u")], 1.0)
    result = simulated(system, implementation="cs")
    assert result.unwrap()["A.y"][-1] == pytest.approx(3 * (8 - 7 * np.exp(-1.0)), rel=1e-6)
    notes = [note for note in result.notes if "first guess of u" in note]
    assert len(notes) == (not start) and all(" A " in note for note in notes)
