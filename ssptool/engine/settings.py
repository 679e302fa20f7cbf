"""What a user may ask of a run. Needs nothing but the standard library, so that the command line can offer it
at once.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from pathlib import Path

from ssptool.dataclass import dataclass


class MasterName(StrEnum):
    """The order of exchanging and stepping; `auto` takes the most accurate that the FMUs support."""

    AUTO = "auto"
    JACOBI = "jacobi"
    GAUSS_SEIDEL = "gauss-seidel"
    ITERATED = "iterated"


class ExchangeName(StrEnum):
    """Of outputs that depend on an input at the same instant: consistent with it at each communication point, or
    late, as their FMU delivered them at the end of its own step.
    """

    CONSISTENT = "consistent"
    LATE = "late"


class AccelerationName(StrEnum):
    """How an iterated master gets from one iterate to the next."""

    NONE = "none"
    CONSTANT = "constant"
    AITKEN = "aitken"
    ANDERSON = "anderson"
    IQN_ILS = "iqn-ils"
    NEWTON = "newton"


class InputName(StrEnum):
    """How inputs run over a macro step."""

    AUTO = "auto"
    HOLD = "hold"
    EXTRAPOLATE = "extrapolate"
    INTERPOLATE = "interpolate"


class InitName(StrEnum):
    """How algebraic loops are solved at the start."""

    AUTO = "auto"
    NEWTON = "newton"
    AITKEN = "aitken"
    ANDERSON = "anderson"
    FIXED_POINT = "fixed-point"
    HOMOTOPY = "homotopy"


class ImplementationName(StrEnum):
    """As what components are run: model exchange or co-simulation; `auto` does as the system says, and where it
    says nothing takes co-simulation if the FMU offers it.
    """

    AUTO = "auto"
    ME = "me"
    CS = "cs"


class IntegratorName(StrEnum):
    """The formulas by which components of model exchange are integrated."""

    BDF = "bdf"
    ADAMS = "adams"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user asked for; None and `auto` leave the choice to the plan.

    Attributes
    ----------
    start_time, stop_time, step_size : [s]
    input_order
        Highest polynomial order of extrapolated and interpolated inputs, 1 or 2.
    tolerance
        Relative tolerance of the iterated master, and of the integrator of model exchange.
    log_loops, log_coupling
        Files (.csv or .jsonl) for every iterate of every algebraic loop, and of every iterated macro step.
    exchange
        Whether outputs with direct feedthrough are consistent at communication points; `late` serves comparisons.
    adaptive
        Let the macro step vary, so that the error of each stays below this, relative to the larger of value and
        nominal value. Where an FMU cannot save its state, so that the energy residual of each power bond stays about
        this part of the energy that goes through it.
    power_bonds
        Pairs of outputs, one of each of two components that exchange them, whose product is the power that goes into
        the component of the first: ("System1.v1", "System2.F"), velocity of a body and force on it. Which of both it
        goes into does not matter to the steps. None: those that terminals of the FMUs make.
    substeps
        Component → steps that it does in each macro step.
    convergence
        Measure of an iterated master (absolute, relative, residual-relative) → limit; all have to be met.
    iterations
        Each macro step of an iterated master is done exactly so often, whether its interface agrees or not.
    prediction_order
        Order of the polynomial that gives an iterated master its first guess, 0 to 2; 0: the present values.
    relaxation
        Factor above 0 and at most 1 of constant relaxation of iterated steps: the part of the way to the values that
        came out which the next iterate goes. Without an acceleration, constant relaxation goes with it.
    threads
        On which components step at the same time where the master allows it and their steps take long enough. Results
        do not depend on it.
    """

    start_time: float | None = None
    stop_time: float | None = None
    step_size: float | None = None
    master: MasterName = MasterName.AUTO
    acceleration: AccelerationName | None = None
    input: InputName = InputName.AUTO
    input_order: int | None = None
    init: InitName = InitName.AUTO
    tolerance: float | None = None
    max_iterations: int | None = None
    implementation: ImplementationName = ImplementationName.AUTO
    integrator: IntegratorName = IntegratorName.BDF
    log_loops: Path | None = None
    log_coupling: Path | None = None
    exchange: ExchangeName = ExchangeName.CONSISTENT
    adaptive: float | None = None
    substeps: Mapping[str, int] = field(default_factory=dict)
    convergence: Mapping[str, float] = field(default_factory=dict)
    iterations: int | None = None
    prediction_order: int | None = None
    relaxation: float | None = None
    threads: int = 1
    power_bonds: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        """Take plain text for the names, of files too, and refuse what is none of them."""
        for log in ("log_loops", "log_coupling"):
            if (path := getattr(self, log)) is not None:
                object.__setattr__(self, log, Path(path))
        if self.threads < 1:
            raise ValueError(f"threads must be at least 1, found {self.threads}")
        if self.tolerance is not None and not 0 < self.tolerance < float("inf"):
            raise ValueError(f"the tolerance must be positive, found {self.tolerance:g}")
        for bond in self.power_bonds:
            if isinstance(bond, str) or len(bond) != 2:
                raise ValueError(f"a power bond is a pair of names of signals, found {bond!r}")
        object.__setattr__(self, "power_bonds", tuple((first, second) for first, second in self.power_bonds))
        for setting, names in _NAMES.items():
            value = getattr(self, setting)
            if value is None:
                continue
            if value not in list(names):
                allowed = ", ".join(names)
                raise ValueError(f"{setting} must be one of {allowed}; found {value!r}")
            object.__setattr__(self, setting, names(value))


_NAMES: dict[str, type[StrEnum]] = {
    "master": MasterName,
    "acceleration": AccelerationName,
    "input": InputName,
    "init": InitName,
    "exchange": ExchangeName,
    "implementation": ImplementationName,
    "integrator": IntegratorName,
}
