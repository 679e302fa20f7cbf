"""Looking up the functions of a library: as FMPy does it, but once."""

import ctypes
from pathlib import Path

import fmpy
import pytest
from fmpy import extract, fmi2, fmi3, read_model_description

from ssptool.fmu.binary import SharedFunctions
from tests.engine.dual_mass import RESOURCES

CLASSES = [
    (fmi2.FMU2Slave, "System1.fmu"),
    (fmi2.FMU2Model, "System1.fmu"),
    (fmi3.FMU3Slave, "fmi3/System1.fmu"),
    (fmi3.FMU3Model, "fmi3/System1.fmu"),
]


@pytest.mark.skipif(not (RESOURCES / "System1.fmu").exists(), reason="the FMUs are not built: make setup")
@pytest.mark.parametrize(("kind", "fmu"), CLASSES, ids=lambda value: getattr(value, "__name__", ""))
def test_every_function_has_the_arguments_that_fmpy_gives_it(tmp_path, kind, fmu):
    description = read_model_description(RESOURCES / fmu)
    extract(RESOURCES / fmu, str(tmp_path))
    arguments = {"guid": description.guid, "unzipDirectory": str(tmp_path), "modelIdentifier": "System1"}
    library = SharedFunctions()
    slow = kind(**arguments)
    fast = library.instance(kind, Path(slow.dll._name))
    assert set(fast._functions) == set(slow._functions)
    for name, function in slow._functions.items():
        other = fast._functions[name]
        assert other.argnames == function.argnames
        assert list(other.argtypes) == list(function.argtypes)
        assert other.restype is function.restype
    slow.freeLibrary()
    fast.freeLibrary()
    library.close()


@pytest.mark.skipif(not (RESOURCES / "System1.fmu").exists(), reason="the FMUs are not built: make setup")
def test_instances_share_functions_that_outlive_the_first_of_them(tmp_path):
    extract(RESOURCES / "System1.fmu", str(tmp_path))
    path = tmp_path / "binaries" / fmpy.platform / f"System1{fmpy.sharedLibraryExtension}"
    library = SharedFunctions()
    first = library.instance(fmi2.FMU2Slave, path)
    first.freeLibrary()
    second = library.instance(fmi2.FMU2Slave, path)
    assert isinstance(second, fmi2.FMU2Slave)
    assert second._functions["fmi2GetVersion"] is first._functions["fmi2GetVersion"]
    assert second.fmi2GetVersion() == b"2.0"
    own = ctypes.cast(second.dll.fmi2DoStep, ctypes.c_void_p).value
    assert library.addresses["fmi2DoStep"] == own
    second.freeLibrary()
    library.close()
