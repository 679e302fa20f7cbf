"""The functions of FMI, as their headers declare them, in a library that is loaded."""

import ctypes
import sys
from collections.abc import Callable, Mapping
from ctypes import CFUNCTYPE, Structure, c_bool, c_char, c_char_p, c_double, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ssptool.fmu.description import InterfaceType
from ssptool.fmu.working_directory import visited

Function = Callable[..., Any]

LOGGER = CFUNCTYPE(None, c_void_p, c_char_p, c_int, c_char_p, c_char_p)
ALLOCATE = CFUNCTYPE(c_void_p, c_size_t, c_size_t)
FREE = CFUNCTYPE(None, c_void_p)
LOG_MESSAGE = CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_char_p)
"""The logger of FMI 3.0."""


_CALLBACKS = (("logger", LOGGER), ("allocateMemory", ALLOCATE), ("freeMemory", FREE), ("stepFinished", c_void_p))


class Callbacks1(Structure):
    """fmiCallbackFunctions."""

    _fields_ = _CALLBACKS


class Callbacks2(Structure):
    """fmi2CallbackFunctions."""

    _fields_ = (*_CALLBACKS, ("componentEnvironment", c_void_p))


_TYPES: Mapping[str, Any] = MappingProxyType(
    {
        "p": c_void_p,  # an address: of the instance, of values, of a state, of a function
        "s": c_char_p,
        "i": c_int,
        "u": c_uint,
        "d": c_double,
        "z": c_size_t,
        "b": c_bool,
        "c": c_char,
        "f": Callbacks1,
    }
)
_GET_SET = ("Get", "Set")
_STATES = {
    "GetFMU{}": "pp",
    "SetFMU{}": "pp",
    "FreeFMU{}": "pp",
    "SerializedFMU{}Size": "ppp",
    "SerializeFMU{}": "pppz",
}
_STATUS = {**{f"Get{kind}Status": "pip" for kind in ("", "Real", "Integer", "Boolean", "String")}, "CancelStep": "p"}
_DERIVATIVES = {"SetRealInputDerivatives": "ppzpp", "GetRealOutputDerivatives": "ppzpp"}
_BEFORE_FMI3 = {
    "GetTypesPlatform": "",
    "GetVersion": "",
    **{f"{do}{kind}": "ppzp" for do in _GET_SET for kind in ("Real", "Integer", "Boolean", "String")},
}
_MODES = {"EnterInitializationMode": "p", "ExitInitializationMode": "p", "Terminate": "p", "Reset": "p"}
_CONTINUOUS = {
    "EnterEventMode": "p",
    "EnterContinuousTimeMode": "p",
    "SetTime": "pd",
    **dict.fromkeys(("SetContinuousStates", "GetContinuousStates", "GetNominalsOfContinuousStates"), "ppz"),
    "GetEventIndicators": "ppz",
}

_FMI1_CO_SIMULATION = {
    **_BEFORE_FMI3,
    **_DERIVATIVES,
    **_STATUS,
    "InstantiateSlave": "ssssdccfc",
    "InitializeSlave": "pdcd",
    "TerminateSlave": "p",
    "ResetSlave": "p",
    "FreeSlaveInstance": "p",
    "SetDebugLogging": "pc",
    "DoStep": "pddc",
}
_FMI2 = {
    **_BEFORE_FMI3,
    **_MODES,
    **{name.format("state"): arguments for name, arguments in _STATES.items()},
    "DeSerializeFMUstate": "ppzp",
    "Instantiate": "sisspii",
    "FreeInstance": "p",
    "SetDebugLogging": "pizp",
    "SetupExperiment": "piddid",
    "GetDirectionalDerivative": "ppzpzpp",
}
_FMI2_CO_SIMULATION = {**_FMI2, **_DERIVATIVES, **_STATUS, "DoStep": "pddi"}
_FMI2_MODEL_EXCHANGE = {
    **_FMI2,
    **_CONTINUOUS,
    "GetDerivatives": "ppz",
    "NewDiscreteStates": "pp",
    "CompletedIntegratorStep": "pipp",
}
_NUMBERS = ("Float32", "Float64", *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)))
_FMI3 = {  # a library has them all, whatever it implements
    **_MODES,
    **_CONTINUOUS,
    **{name.format("State"): arguments for name, arguments in _STATES.items()},
    **{f"{do}{kind}": "ppzpz" for do in _GET_SET for kind in (*_NUMBERS, "Boolean", "String")},
    **{f"{do}Binary": "ppzppz" for do in _GET_SET},
    **{f"{do}Clock": "ppzp" for do in _GET_SET},
    "GetVersion": "",
    "SetDebugLogging": "pbzp",
    "InstantiateCoSimulation": "sssbbbbpzppp",
    "InstantiateModelExchange": "sssbbpp",
    "InstantiateScheduledExecution": "sssbbppppp",
    "FreeInstance": "p",
    "EnterInitializationMode": "pbddbd",
    "EnterConfigurationMode": "p",
    "ExitConfigurationMode": "p",
    "EnterStepMode": "p",
    "DoStep": "pddbpppp",
    "ActivateModelPartition": "pud",
    "DeserializeFMUState": "ppzp",
    "GetDirectionalDerivative": "ppzpzpzpz",
    "GetAdjointDerivative": "ppzpzpzpz",
    "GetOutputDerivatives": "ppzppz",
    "GetContinuousStateDerivatives": "ppz",
    "GetNumberOfContinuousStates": "pp",
    "GetNumberOfEventIndicators": "pp",
    "GetNumberOfVariableDependencies": "pup",
    "GetVariableDependencies": "puppppz",
    "EvaluateDiscreteStates": "p",
    "UpdateDiscreteStates": "ppppppp",
    "CompletedIntegratorStep": "pbpp",
    "GetIntervalDecimal": "ppzpp",
    "GetIntervalFraction": "ppzppp",
    "GetShiftDecimal": "ppzp",
    "GetShiftFraction": "ppzpp",
    "SetIntervalDecimal": "ppzp",
    "SetIntervalFraction": "ppzpp",
    "SetShiftDecimal": "ppzp",
    "SetShiftFraction": "ppzpp",
}
_TABLES: Mapping[tuple[int, InterfaceType], Mapping[str, str]] = {
    (1, InterfaceType.CO_SIMULATION): _FMI1_CO_SIMULATION,
    (2, InterfaceType.CO_SIMULATION): _FMI2_CO_SIMULATION,
    (2, InterfaceType.MODEL_EXCHANGE): _FMI2_MODEL_EXCHANGE,
    (3, InterfaceType.CO_SIMULATION): _FMI3,
    (3, InterfaceType.MODEL_EXCHANGE): _FMI3,
}


def prefix(major: int) -> str:
    """What names of functions begin with in this version of FMI."""
    return "fmi" if major == 1 else f"fmi{major}"


@cache
def prototypes(major: int, interface: InterfaceType) -> Mapping[str, Any]:
    """Name of each function that FMI demands of a library → its type in C."""
    return MappingProxyType(
        {
            prefix(major) + name: CFUNCTYPE(_result(name), *(_TYPES[letter] for letter in arguments))
            for name, arguments in _TABLES[major, interface].items()
        }
    )


def _result(name: str) -> Any:
    if name.startswith("Instantiate"):
        return c_void_p
    if name.startswith("Free") and name.endswith("Instance"):
        return None
    return c_char_p if name in ("GetVersion", "GetTypesPlatform") else c_int


class Library:
    """A library that is loaded, and all functions that FMI demands of it.

    Parameters
    ----------
    before
        What the names of functions begin with in the library, besides: of FMI 1.0 the model identifier.

    Raises
    ------
    OSError
        It cannot be loaded.
    AttributeError
        It lacks a function.
    """

    def __init__(self, path: Path, major: int, interface: InterfaceType, before: str = "") -> None:
        # Some libraries look for others beside them.
        with visited(path.parent):
            self._library: ctypes.CDLL | None = ctypes.CDLL(str(path))
        self.functions: Mapping[str, Function] = {
            name: kind((before + name, self._library)) for name, kind in prototypes(major, interface).items()
        }
        self.addresses: Mapping[str, int] = {name: _address(function) for name, function in self.functions.items()}

    def close(self) -> None:
        """Let go of it; doing it again does no harm."""
        if self._library is not None:
            _let_go()(self._library._handle)
            self._library = None


@cache
def _let_go() -> Function:
    if sys.platform == "win32":
        release: Any = ctypes.windll.kernel32.FreeLibrary
    else:
        release = ctypes.CDLL(None).dlclose
    release.argtypes = (c_void_p,)
    found: Function = release
    return found


def _address(function: Any) -> int:
    return ctypes.cast(function, c_void_p).value or 0
