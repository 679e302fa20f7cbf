"""Functions of model exchange (FMI 2.0 §3, FMI 3.0 §3), which the kernel calls."""

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


def functions_of_exchange(major: int) -> tuple[str, ...]:
    """The functions of model exchange, by major version of FMI."""
    return tuple(f"fmi{major}{name}" for name in (*_COMMON, *_OWN[major]))
