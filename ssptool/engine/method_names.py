"""Names of methods in settings: master algorithms, accelerations, inputs, loop solvers, integrators, log levels.

Only the standard library is needed, so that the command line and `Settings` know the names without loading numerics. A
master is registered here by its name; all other properties are in its module
(`ssptool.engine.masters.registry.MasterEntry`).
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from ssptool.errors import WrongValue

AUTO = "auto"
"""Leaves the choice to the plan."""


class NamedMaster(NamedTuple):
    """A master and the name by which users select it.

    Attributes
    ----------
    name
        Name, as in `--master NAME`.
    help
        Order in which components step, in a few words.
    module
        Module whose attribute `MASTER` is the `MasterEntry`.
    """

    name: str
    help: str
    module: str


_REGISTERED: dict[str, NamedMaster] = {}


def register(master: NamedMaster) -> None:
    """Register a master under its name.

    Raises
    ------
    WrongValue
        The name is already in use.
    """
    known = _REGISTERED.get(master.name)
    if known is not None and known.module != master.module:
        raise WrongValue(
            f"{master.module}: {known.module} has registered a master {master.name!r}; choose another name"
        )
    if master.name == AUTO:
        raise WrongValue(f"{master.module}: the name {AUTO!r} leaves the choice to the plan; take another")
    _REGISTERED[master.name] = master


JACOBI, GAUSS_SEIDEL, ITERATED = "jacobi", "gauss-seidel", "iterated"
"""Masters from which the plan chooses by default."""

register(NamedMaster(JACOBI, "all components step at once", "ssptool.engine.masters.jacobi"))
register(NamedMaster(GAUSS_SEIDEL, "one after the other", "ssptool.engine.masters.gauss_seidel"))
register(
    NamedMaster(
        ITERATED,
        "repeat the step until coupled signals agree",
        "ssptool.engine.masters.iterated",
    )
)


def registered() -> Iterator[NamedMaster]:
    """Masters in the order of their registration."""
    yield from _REGISTERED.values()


def named(name: str) -> NamedMaster:
    """The master of this name. Raises KeyError."""
    return _REGISTERED[name]


def words() -> tuple[str, ...]:
    """Names that users may choose."""
    return (AUTO, *_REGISTERED)


def help_on_masters() -> str:
    """One sentence that names all masters."""
    *others, last = (f"{one.name} ({one.help})" for one in registered())
    return f"Use this master: {', '.join((AUTO, *others))} or {last}."


class ExchangeName(StrEnum):
    """Exchange of outputs with direct feedthrough: consistent with their inputs at each communication point, or late,
    with the values that the FMU delivered at the end of its own step.
    """

    CONSISTENT = "consistent"
    LATE = "late"


class AccelerationName(StrEnum):
    """Acceleration of an iterated master."""

    NONE = "none"
    CONSTANT = "constant"
    AITKEN = "aitken"
    ANDERSON = "anderson"
    IQN_ILS = "iqn-ils"
    NEWTON = "newton"


class ApproximationName(StrEnum):
    """Approximation of inputs over a macro step."""

    AUTO = "auto"
    HOLD = "hold"
    EXTRAPOLATE = "extrapolate"
    INTERPOLATE = "interpolate"
    MEAN = "mean"
    MID_STEP = "mid-step"


class InitName(StrEnum):
    """Solver of algebraic loops at the start."""

    AUTO = "auto"
    NEWTON = "newton"
    AITKEN = "aitken"
    ANDERSON = "anderson"
    FIXED_POINT = "fixed-point"
    HOMOTOPY = "homotopy"


class WarningsName(StrEnum):
    """Search of a run for signs of incorrect results."""

    ON = "on"
    OFF = "off"


class ImplementationName(StrEnum):
    """Interface that runs components: `me`, model exchange of all; `cs`, co-simulation of all that offer it; `auto`,
    the interface that the system states; if it states none, model exchange if all components offer it and no setting of
    co-simulation is given.
    """

    AUTO = "auto"
    ME = "me"
    CS = "cs"


class IntegratorName(StrEnum):
    """Formulas that integrate components of model exchange."""

    BDF = "bdf"
    ADAMS = "adams"
    DORMAND_PRINCE = "dormand-prince"
    ROSENBROCK = "rosenbrock"


class FmuLogLevel(StrEnum):
    """Lowest status of the messages of an FMU that are written; `ok`: all messages."""

    OK = "ok"
    WARNING = "warning"
    DISCARD = "discard"
    ERROR = "error"
    FATAL = "fatal"
