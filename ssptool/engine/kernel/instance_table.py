"""What a kernel needs to know of a running FMU."""

from collections.abc import Iterable, Mapping, Sequence

from ssptool.dataclass import dataclass
from ssptool.engine.kernel.arrays import Floats, Slots


@dataclass(frozen=True, slots=True)
class InstanceTable:
    """What a kernel needs to know of a running FMU: addresses, and which slots are which variables.

    `functions` maps FMI function names (`fmiDoStep`, `fmi2DoStep` …) to addresses in the loaded binary; `component` is
    the address that instantiation returned; `environment` that of an `Environment` of the same kernel (0:
    none), through which an FMI 3.0 FMU asks for inputs inside a step; it is then given all inputs of this
    table. Without one, an FMI 3.0 FMU cannot follow inputs that vary over a step, and `advance` with rates
    other than zero fails there.

    With a `report` (3,), the FMU is in event mode: its steps may end early and ask for an event, and say so there, as 1
    or 0 for an event and the time [s] that was reached. If the last number is not 0, `advance` leaves the instance
    where it is.

    An instance that is `apart` is stepped by the thread that asks and by no other, after all such that are before it in
    its group and beside those that are not apart: for one whose steps call others, or that others call in theirs.

    Types are those of `ACCESS`, one per slot; none at all: every variable is a Float64.

    An array (FMI 3.0) has a slot for each element, ascending and side by side in the table, with the reference of the
    array; `input_elements` and `output_elements` count them from 0, which also is what scalars have. None at all: there
    are no arrays. FMI sets and gets arrays as a whole, so that a `Call` with one element must have all.

    Observed variables are got for the rows of the trace only; they may be of any causality. `refreshed`: the inputs are
    set to their present values before that, so that what depends on them is consistent with the row.
    """

    fmi_major: int
    functions: Mapping[str, int]
    component: int
    input_slots: Slots
    input_references: Sequence[int]
    output_slots: Slots
    output_references: Sequence[int]
    environment: int = 0
    input_types: Sequence[str] = ()
    output_types: Sequence[str] = ()
    input_elements: Sequence[int] = ()
    output_elements: Sequence[int] = ()
    report: Floats | None = None
    apart: bool = False
    observed_slots: Slots = ()
    observed_references: Sequence[int] = ()
    observed_types: Sequence[str] = ()
    observed_elements: Sequence[int] = ()
    refreshed: bool = True


FUNCTIONS: Mapping[int, tuple[str, ...]] = {
    1: ("fmiSetReal", "fmiGetReal", "fmiSetRealInputDerivatives", "fmiDoStep"),
    2: (
        "fmi2SetReal",
        "fmi2GetReal",
        "fmi2SetRealInputDerivatives",
        "fmi2DoStep",
        "fmi2GetFMUstate",
        "fmi2SetFMUstate",
        "fmi2FreeFMUstate",
        "fmi2GetDirectionalDerivative",
    ),
    3: (
        "fmi3SetFloat64",
        "fmi3GetFloat64",
        "fmi3DoStep",
        "fmi3GetFMUState",
        "fmi3SetFMUState",
        "fmi3FreeFMUState",
        "fmi3GetDirectionalDerivative",
    ),
}
"""What an `InstanceTable` must bring, by major version of FMI."""

FLOAT = "Float64"
REAL_TYPES = frozenset({FLOAT, "Float32"})
"""Types whose slots hold doubles. All others hold integers."""

_SAME = ("Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Boolean", "String")
_BEFORE_FMI3 = {FLOAT: "Real", "Int32": "Integer", "Boolean": "Boolean", "Enumeration": "Integer", "String": "String"}
ACCESS: Mapping[int, Mapping[str, str]] = {
    1: _BEFORE_FMI3,
    2: _BEFORE_FMI3,
    3: {
        FLOAT: FLOAT,
        "Float32": "Float32",
        **{kind: kind for kind in _SAME},
        "Enumeration": "Int64",
        "Binary": "Binary",
    },
}
"""What the names of the functions end with that set and get variables of a type, by major version of FMI.

The types of a call are visited in this order.
"""


def prefix(major: int) -> str:
    """What the names of functions begin with, in FMI 1.0 behind the name of the model, which is left out."""
    return "fmi" if major == 1 else f"fmi{major}"


def functions_for(major: int, types: Iterable[str]) -> tuple[str, ...]:
    """What an `InstanceTable` with variables of these types must bring.

    Raises
    ------
    ValueError
        FMI has no such type, or it is none that a kernel carries.
    """
    wanted = set(types)
    if unknown := sorted(wanted - set(ACCESS[major])):
        raise ValueError(f"variables of type {unknown[0]} are not carried in FMI {major}: {', '.join(ACCESS[major])}")
    suffixes = dict.fromkeys(suffix for kind, suffix in ACCESS[major].items() if kind in wanted)
    access = (f"{prefix(major)}{verb}{suffix}" for suffix in suffixes for verb in ("Set", "Get"))
    return tuple(dict.fromkeys((*FUNCTIONS[major], *access)))
