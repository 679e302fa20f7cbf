"""Settings of a run, and the limits of what it may take.

They need nothing but the standard library, so that the command line lists their values without loading numerics."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypedDict

from ssptool.arguments import UnknownArgument, WrongArgument, count, mapping, number, one_of, path, seconds, texts, word
from ssptool.engine.master_names import AUTO, words
from ssptool.errors import WrongValue


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


EACH = "each"
"""Of processes: every component has one of its own."""


class FmuLogLevel(StrEnum):
    """Status of the least serious messages of an FMU that are written; `ok`: all."""

    OK = "ok"
    WARNING = "warning"
    DISCARD = "discard"
    ERROR = "error"
    FATAL = "fatal"


EVERY_COMPONENT = "*"
"""In settings by component: all that are not named."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user asked for; None and `auto` leave the choice to the plan.

    Words may be texts (`master="jacobi"`), and times may have a unit (`step_size="1ms"`).

    Attributes
    ----------
    start_time, stop_time, step_size : [s]
        Interval and macro step. Without them: the system's default experiment, and the smallest step that the FMUs
        recommend, or a thousandth of the interval.
    master
        Order of exchanging and stepping: the name of a master, such as jacobi; auto takes the most accurate one that
        the FMUs support.
    acceleration
        Of the iterated master: none, constant, aitken, anderson, iqn-ils or newton.
    input
        Course of inputs over a macro step: auto, hold, extrapolate or interpolate.
    input_order
        Highest polynomial order of extrapolated and interpolated inputs, 1 or 2.
    init
        How algebraic loops are solved at the start: auto, newton, aitken, anderson, fixed-point or homotopy.
    tolerance
        Relative tolerance of the iterated master, and of the integrator of model exchange.
    max_iterations
        Limit of the iterations of one macro step of the iterated master.
    implementation, integrator
        Components as model exchange (me) or co-simulation (cs), else auto; bdf or adams.
    log_loops, log_coupling
        Files (.csv or .jsonl) for every iterate of every algebraic loop, and of every iterated macro step.
    fmu_log
        File (.csv or .jsonl) for the messages of the FMUs, one row each: time, component, status, category, text.
        Without it, FMUs log errors and warnings only, as far as they tell these apart from the rest.
    fmu_log_level
        `ok` (all messages), `warning`, `discard`, `error` or `fatal`; or component → level, with `*` for all others.
    fmu_log_categories
        Log categories to write; none: all. Or component → categories, with `*` for all others.
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
    processes
        For the FMUs: "each" component has one of its own, or components are distributed over so many. None: the process
        that steps them, but for FMUs that can be used only once per process. Results do not depend on it.
    """

    start_time: float | None = None
    stop_time: float | None = None
    step_size: float | None = None
    master: str = AUTO
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
    fmu_log: Path | None = None
    fmu_log_level: Mapping[str, str] | str = field(default_factory=dict)
    fmu_log_categories: Mapping[str, Sequence[str]] | Sequence[str] = field(default_factory=dict)
    exchange: ExchangeName = ExchangeName.CONSISTENT
    adaptive: float | None = None
    substeps: Mapping[str, int] = field(default_factory=dict)
    convergence: Mapping[str, float] = field(default_factory=dict)
    iterations: int | None = None
    prediction_order: int | None = None
    relaxation: float | None = None
    threads: int = 1
    power_bonds: tuple[tuple[str, str], ...] = ()
    processes: str | int | None = None

    def __post_init__(self) -> None:
        """Turn words, times with units and numbers of numpy into what the fields hold; refuse all else by name."""
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not None:
                object.__setattr__(self, one.name, _READERS[one.name](one.name, value))
            elif one.default_factory is not MISSING:
                object.__setattr__(self, one.name, one.default_factory())
            else:
                object.__setattr__(self, one.name, one.default)
        if self.fmu_log is None and (self.fmu_log_level or self.fmu_log_categories):
            raise WrongValue("fmu_log_level and fmu_log_categories need a file for the messages (fmu_log, --fmu-log)")
        if self.tolerance is not None and not 0 < self.tolerance < float("inf"):
            raise WrongValue(f"the tolerance must be positive, found {self.tolerance:g}")

    def __repr__(self) -> str:
        """The settings that differ from their defaults, as the constructor takes them."""
        default = Settings()
        given = (one.name for one in fields(self) if getattr(self, one.name) != getattr(default, one.name))
        return f"Settings({', '.join(f'{name}={_plain(getattr(self, name))!r}' for name in given)})"

    @classmethod
    def of(cls, given: "Settings | Mapping[str, Any] | None", options: Mapping[str, Any]) -> "Settings":
        """Settings from an object or a mapping, and from keywords, which win.

        Raises
        ------
        WrongArgument
            They are neither, a name is no field, or a value cannot be.
        """
        if isinstance(given, Settings):
            return replace(given, **options) if options else given
        stated = {} if given is None else mapping("settings", given, "a Settings object or a mapping from its fields")
        known = [one.name for one in fields(cls)]
        for name in stated:
            if name not in known:
                raise UnknownArgument("settings", name, known)
        return cls(**{**stated, **options})


def _plain(value: object) -> object:
    """A word as its text, a path as its name: what the constructor takes as well."""
    return str(value) if isinstance(value, StrEnum | Path) else value


def _substeps(name: str, value: object) -> dict[str, int]:
    found = mapping(name, value, "a mapping from components to numbers of steps, such as {'System2': 10}")
    return {component: count(f"{name}[{component!r}]", each) for component, each in found.items()}


def _convergence(name: str, value: object) -> dict[str, float]:
    found = mapping(name, value, "a mapping from measures to limits, such as {'absolute': 1e-6}")
    return {measure: number(f"{name}[{measure!r}]", each) for measure, each in found.items()}


def _power_bonds(name: str, value: object) -> tuple[tuple[str, str], ...]:
    """Pairs of names, each as a pair or as the command line has it: `"System1.v1,System2.F"`."""
    several = [value] if isinstance(value, str) else value
    if not isinstance(several, Iterable):
        raise WrongArgument(name, value, f"a list of pairs, such as {_BOND}")
    return tuple(_power_bond(name, each) for each in several)


_BOND = "('System1.v1', 'System2.F')"


def _power_bond(name: str, given: object) -> tuple[str, str]:
    parts = [part.strip() for part in given.split(",")] if isinstance(given, str) else given
    if isinstance(parts, Sequence) and len(parts) == 2 and all(isinstance(part, str) and part for part in parts):
        return parts[0], parts[1]
    raise WrongArgument(name, given, f"pairs of names of two signals, such as {_BOND}")


def _processes(name: str, value: object) -> str | int:
    """A number also as a text, as the command line has it."""
    if value == EACH:
        return EACH
    if isinstance(value, str) and value.isdecimal() and int(value) > 0:
        return int(value)
    try:
        return count(name, value)
    except WrongArgument:
        raise WrongArgument(name, value, f"{EACH!r} or a whole number of at least 1") from None


def _levels(name: str, value: object) -> dict[str, str]:
    """Component → level; one that is stated alone is that of every component."""
    stated = value if isinstance(value, Mapping) else {EVERY_COMPONENT: value}
    return {component: str(word(name, level, FmuLogLevel)) for component, level in stated.items()}


def _categories(name: str, value: object) -> dict[str, tuple[str, ...]]:
    """Component → categories; those that are stated alone are those of every component."""
    stated = value if isinstance(value, Mapping) else {EVERY_COMPONENT: value}
    found = {component: texts(name, each, "a log category") for component, each in stated.items()}
    return {component: categories for component, categories in found.items() if categories}


_READERS: Mapping[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(("start_time", "stop_time", "step_size"), seconds),
    **dict.fromkeys(("tolerance", "adaptive", "relaxation"), number),
    **dict.fromkeys(("max_iterations", "input_order", "iterations", "threads"), count),
    "prediction_order": lambda name, value: count(name, value, 0),
    "log_loops": path,
    "log_coupling": path,
    "fmu_log": path,
    "fmu_log_level": _levels,
    "fmu_log_categories": _categories,
    "substeps": _substeps,
    "convergence": _convergence,
    "power_bonds": _power_bonds,
    "master": lambda name, value: one_of(name, value, words()),
    "acceleration": lambda name, value: word(name, value, AccelerationName),
    "input": lambda name, value: word(name, value, InputName),
    "init": lambda name, value: word(name, value, InitName),
    "exchange": lambda name, value: word(name, value, ExchangeName),
    "implementation": lambda name, value: word(name, value, ImplementationName),
    "integrator": lambda name, value: word(name, value, IntegratorName),
    "processes": _processes,
}
"""Field → its value from what a caller gives."""


class SettingsOptions(TypedDict, total=False):
    """The fields of `Settings` as keywords of `simulate`, `plan` and `Simulation`, with the types that these take.

    A time is a number of seconds, or a text with a unit such as "10ms".
    """

    start_time: float | str | None
    stop_time: float | str | None
    step_size: float | str | None
    master: str | None
    acceleration: str | None
    input: str | None
    input_order: int | None
    init: str | None
    tolerance: float | None
    max_iterations: int | None
    implementation: str | None
    integrator: str | None
    log_loops: Path | str | None
    log_coupling: Path | str | None
    fmu_log: Path | str | None
    fmu_log_level: Mapping[str, str] | str | None
    fmu_log_categories: Mapping[str, Sequence[str]] | Sequence[str] | None
    exchange: str | None
    adaptive: float | None
    substeps: Mapping[str, int] | None
    convergence: Mapping[str, float] | None
    iterations: int | None
    prediction_order: int | None
    relaxation: float | None
    threads: int | None
    power_bonds: Iterable[tuple[str, str] | str] | None
    processes: str | int | None


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may take; None: as much as it likes.

    Attributes
    ----------
    seconds : [s]
        Wall time of the whole run, from the start of the child process.
    step_seconds : [s]
        Wall time of one macro step, or of loading and initialization.
    memory : [byte]
        Of the child process and of those of its FMUs, without what they share with others (Linux only).
    """

    seconds: float | None = None
    step_seconds: float | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        limits = {"timeout": self.seconds, "timeout of a step": self.step_seconds, "memory limit": self.memory}
        for name, value in limits.items():
            if value is not None and not value > 0:
                raise WrongValue(f"the {name} must be greater than 0, found {value:g}")
        if self.memory is not None and sys.platform != "linux":
            raise WrongValue("memory can be limited on Linux only")
