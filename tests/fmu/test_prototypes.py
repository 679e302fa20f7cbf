"""The functions of FMI have the arguments that FMPy gives them, which is another reading of the headers."""

import ctypes
import inspect
from types import UnionType
from typing import Any, get_args

import pytest
from fmpy import extract, fmi1, fmi2, fmi3

from ssptool.fmu.description import InterfaceType
from ssptool.fmu.platforms import library
from ssptool.fmu.prototypes import Library, prefix, prototypes
from tests.engine.dual_mass import RESOURCES

CO_SIMULATION, MODEL_EXCHANGE = InterfaceType.CO_SIMULATION, InterfaceType.MODEL_EXCHANGE
CLASSES = [
    (1, CO_SIMULATION, fmi1.FMU1Slave),
    (2, CO_SIMULATION, fmi2.FMU2Slave),
    (2, MODEL_EXCHANGE, fmi2.FMU2Model),
    (3, CO_SIMULATION, fmi3.FMU3Slave),
    (3, MODEL_EXCHANGE, fmi3.FMU3Model),
]
NEEDS_FMUS = pytest.mark.skipif(not (RESOURCES / "System1.fmu").exists(), reason="the FMUs are not built: make setup")


def kind(annotation: Any) -> tuple[str, int]:
    """What matters to a caller: whether it is a number with a point, and how many bytes it has."""
    plain = get_args(annotation)[0] if isinstance(annotation, UnionType) else annotation
    plain = {bytes: ctypes.c_char_p, int: ctypes.c_int}.get(plain, plain)
    return "float" if plain in (ctypes.c_double, ctypes.c_float) else "other", ctypes.sizeof(plain)


def stated_by_fmpy(of: type) -> dict[str, tuple[list[tuple[str, int]], int]]:
    found = {}
    for name, method in inspect.getmembers(of, inspect.isfunction):
        if name.startswith(("fmi1", "fmi2", "fmi3")):
            signature = inspect.signature(method)
            _self, *parameters = signature.parameters.values()
            result = signature.return_annotation
            size = 0 if result is None else kind(result)[1]
            found[name] = [kind(one.annotation) for one in parameters], size
    return found


@pytest.mark.parametrize(("major", "interface", "of"), CLASSES, ids=[one[2].__name__ for one in CLASSES])
def test_every_function_has_the_arguments_that_fmpy_gives_it(major, interface, of):
    theirs = {name.replace("fmi1", "fmi"): stated for name, stated in stated_by_fmpy(of).items()}
    if major == 1:
        del theirs["fmiSetRealInputDerivatives"]  # FMPy gives it the arguments of another one
    ours = prototypes(major, interface)
    assert set(theirs) == set(ours) - ({"fmiSetRealInputDerivatives"} if major == 1 else set())
    for name, (arguments, result) in theirs.items():
        assert [kind(one) for one in ours[name]._argtypes_] == arguments, name
        own = 0 if ours[name]._restype_ is None else ctypes.sizeof(ours[name]._restype_)
        # Of FMI 1.0, FMPy declares a text where there is a status.
        assert own == result or (major == 1 and own == ctypes.sizeof(ctypes.c_int)), name


@NEEDS_FMUS
def test_a_library_has_the_functions_and_their_addresses(tmp_path):
    extract(RESOURCES / "System1.fmu", str(tmp_path))
    path = tmp_path / library(2, "System1")
    loaded = Library(path, 2, CO_SIMULATION)
    assert loaded.functions["fmi2GetVersion"]() == b"2.0"
    own = ctypes.cast(ctypes.CDLL(str(path)).fmi2DoStep, ctypes.c_void_p).value
    assert loaded.addresses["fmi2DoStep"] == own
    assert set(loaded.addresses) == set(prototypes(2, CO_SIMULATION))
    loaded.close()
    loaded.close()


@NEEDS_FMUS
def test_a_function_that_is_missing_is_named(tmp_path):
    extract(RESOURCES / "System1.fmu", str(tmp_path))
    with pytest.raises(AttributeError, match="fmi3"):
        Library(tmp_path / library(2, "System1"), 3, CO_SIMULATION)
    assert prefix(3) == "fmi3"
