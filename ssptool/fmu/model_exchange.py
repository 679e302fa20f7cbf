"""Model exchange: sizes and functions of one instance (FMI 2.0 §3, FMI 3.0 §3), which the kernel calls."""

import ctypes
from collections.abc import Mapping
from ctypes import c_int, c_size_t, c_void_p

from ssptool.fmu.description import FmuDescription
from ssptool.fmu.instance import FmiError, FmuInstance

_COMMON = (
    "SetTime",
    "SetContinuousStates",
    "GetContinuousStates",
    "GetNominalsOfContinuousStates",
    "GetEventIndicators",
    "EnterEventMode",
    "EnterContinuousTimeMode",
    "CompletedIntegratorStep",
    "GetDirectionalDerivative",
)
_STATES, _INDICATORS = "GetNumberOfContinuousStates", "GetNumberOfEventIndicators"
_OWN = {
    2: ("GetDerivatives", "NewDiscreteStates"),
    3: ("GetContinuousStateDerivatives", "UpdateDiscreteStates", _STATES, _INDICATORS),
}
_WARNING = 1


def functions_of_exchange(major: int) -> tuple[str, ...]:
    """The functions of model exchange, by major version of FMI."""
    return tuple(f"fmi{major}{name}" for name in (*_COMMON, *_OWN[major]))


class ContinuousModel:
    """A running instance of model exchange, from the end of its initialization on.

    Parameters
    ----------
    functions, component
        Addresses of the functions by name, and their instance; those of stand-ins if calls are watched.

    Attributes
    ----------
    functions, component
    major
        Version of FMI.
    states, indicators
        Numbers of states and event indicators.
    reports_steps
        Whether it must be notified of every completed integrator step.

    Raises
    ------
    FmiError
        It does not tell these numbers.
    """

    def __init__(
        self, instance: FmuInstance, description: FmuDescription, functions: Mapping[str, int], component: int
    ) -> None:
        self.name, self.major = instance.name, description.fmi_major
        self.functions, self.component = functions, component
        self._instance = instance
        interface = description.model_exchange
        self.reports_steps = interface is None or interface.needs_completed_step
        # Arrays and structural parameters of FMI 3.0 change them.
        asked = self.major == 3
        self.states = self._count(_STATES) if asked else len(description.state_derivatives)
        self.indicators = self._count(_INDICATORS) if asked else description.event_indicators

    def refusal(self, function: str, status: int) -> FmiError:
        """Error of a function, by its full name, which the kernel has called."""
        self._instance.note(status)
        return FmiError(self.name, function, status, self._instance.log.latest())

    def _count(self, name: str) -> int:
        number, function = c_size_t(), f"fmi{self.major}{name}"
        ask = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)(self.functions[function])
        status = ask(self.component, ctypes.addressof(number))
        if status > _WARNING:
            raise self.refusal(function, status)
        return number.value
