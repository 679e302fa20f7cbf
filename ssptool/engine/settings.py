"""Settings and limits of a run.

This module only needs the standard library, so that the command line can list values without loading numerics.
"""

import inspect
import sys
import textwrap
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from enum import EnumType, StrEnum
from functools import cache
from pathlib import Path
from typing import Any, TypedDict, Unpack

from ssptool.arguments import (
    WrongArgument,
    count,
    mapping,
    number,
    one_of,
    path,
    seconds,
    texts,
    unknown_argument,
    word,
)
from ssptool.engine.method_names import (
    AUTO,
    AccelerationName,
    ApproximationName,
    ExchangeName,
    FmuLogLevel,
    ImplementationName,
    InitName,
    IntegratorName,
    NamedMaster,
    WarningsName,
    help_on_masters,
    named,
    register,
    words,
)
from ssptool.errors import ContradictingSettings, RenamedSetting, WrongValue, in_other_case
from ssptool.option_words import (
    AccelerationWord,
    ApproximationWord,
    Boxing,
    ExchangeWord,
    FmuLogWord,
    ImplementationWord,
    InitWord,
    IntegratorWord,
    MasterWord,
    ProcessesWord,
    WarningsWord,
)
from ssptool.public_calls import public

EACH = "each"
"""Value of `processes`: each component runs in its own process."""


EVERY_COMPONENT = "*"
"""Key for all components without an own entry, in settings by component."""

EARLIER_NAMES: Mapping[str, str] = {"input": "approximation"}
"""Earlier name of a setting → its present name. Earlier names are accepted in this version only."""


def present_names(given: Mapping[str, Any], spelled: Callable[[str], str] | None = str) -> dict[str, Any]:
    """The same values, with present names of settings.

    Parameters
    ----------
    spelled
        Spelling of a name by the caller, for a warning; None: no warning, since ssptool itself wrote the names.

    Raises
    ------
    WrongValue
        A setting has both names.
    """
    earlier = [name for name in given if name in EARLIER_NAMES]
    for name in earlier:
        if EARLIER_NAMES[name] in given:
            raise WrongValue(
                f"{name} is the earlier name of {EARLIER_NAMES[name]}, and both are given; leave out {name}"
            )
        if spelled is not None:
            old, new = spelled(name), spelled(EARLIER_NAMES[name])
            warnings.warn(
                f"{old} is now {new}; the earlier name is for this version only", RenamedSetting, stacklevel=3
            )
    return {EARLIER_NAMES.get(name, name): value for name, value in given.items()} if earlier else dict(given)


class Kind(StrEnum):
    """Kind of the value of a setting; determines how the command line, Python and study files read it."""

    TIME = "time"
    NUMBER = "number"
    COUNT = "count"
    WORD = "word"
    FILE = "file"
    COUNTS = "counts"
    """Component → count."""
    NUMBERS = "numbers"
    """Name → number."""
    TIMES = "times"
    """Name → time."""
    PAIRS = "pairs"
    """Pairs of signals."""
    PROCESSES = "processes"
    LEVELS = "levels"
    """Component → level of its log."""
    CATEGORIES = "categories"
    """Component → categories of its log."""


TIME, COUPLING, MODEL_EXCHANGE, INSIGHT = "Time and start", "Coupling", "Model exchange", "Insight"
"""Groups of settings in the help; settings without a group come first."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Description of a field of `Settings`, for its command-line option, its Python argument and its entry in study
    files.

    Attributes
    ----------
    kind
        Kind of its value.
    effect
        Description of the effect, for both the option and the argument; `{words}` is replaced by the allowed words.
    metavar
        Placeholder of the value in the help of the command.
    group
        Group of settings in the help.
    words
        Allowed words: an enumeration, or a function that returns them.
    notes
        Word → its meaning, which the help shows in brackets.
    least, most
        Bounds of a count.
    more
        Additional text for the Python documentation.
    """

    kind: Kind
    effect: str
    metavar: str
    group: str = ""
    words: type[StrEnum] | Callable[[], tuple[str, ...]] | None = None
    least: int = 1
    most: int | None = None
    more: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def help(self) -> str:
        """The effect, with the allowed words as a list."""
        if self.words is None or not isinstance(self.words, EnumType):
            return self.effect
        *others, last = (f"{word} ({self.notes[word]})" if word in self.notes else str(word) for word in self.words)
        return self.effect.format(words=f"{', '.join(others)} or {last}" if others else last)


def setting_field(default: Any, *facts: Any, **more: Any) -> Any:
    """Field of `Settings` with this default (`dict`: an empty one), described by a `Setting` from these arguments. A
    word as default states the allowed words.
    """
    if isinstance(default, StrEnum):
        more["words"] = type(default)
    given: dict[str, Any] = {"default_factory": dict} if default is dict else {"default": default}
    return field(**given, metadata={"setting": Setting(*facts, **more)})


@public
@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Settings:
    """Settings of a run; None and `auto` leave the choice to the plan.

    Words may be strings (`master="jacobi"`), and times may have a unit (`step_size="1ms"`).
    """

    stop_time: float | None = setting_field(
        None,
        Kind.TIME,
        "Stop at this time, in seconds or with a unit: 10, 500ms, 2min (default: default "
        "experiment of the system, then of its FMUs).",
        "T",
    )
    step_size: float | None = setting_field(
        None,
        Kind.TIME,
        "Use macro steps of this size (default: step size in osp: or oms: annotations; smallest "
        "step size that the FMUs recommend; one thousandth of the default experiment of the "
        "system, then of its FMUs; 1 ms).",
        "H",
    )
    start_time: float | None = setting_field(
        None,
        Kind.TIME,
        "Start at this time (default: default experiment of the system, then of its FMUs; 0).",
        "T",
        TIME,
    )
    master: str = setting_field(AUTO, Kind.WORD, help_on_masters(), "NAME", words=words)
    acceleration: AccelerationName | None = setting_field(
        None,
        Kind.WORD,
        "Accelerate iterations by: {words} (default: iqn-ils).",
        "METHOD",
        COUPLING,
        AccelerationName,
        notes={"constant": "relaxation"},
    )
    approximation: ApproximationName = setting_field(
        ApproximationName.AUTO, Kind.WORD, "Approximate inputs over a macro step: {words}.", "METHOD", COUPLING
    )
    input_order: int | None = setting_field(
        None,
        Kind.COUNT,
        "Extrapolate and interpolate inputs with polynomials of this order, 1 or 2 (default: 1).",
        "N",
        COUPLING,
        most=2,
    )
    init: InitName = setting_field(
        InitName.AUTO,
        Kind.WORD,
        "Solve algebraic loops at the start by: {words}.",
        "METHOD",
        TIME,
        notes={"auto": "Newton, then all others"},
    )
    tolerance: float | None = setting_field(
        None,
        Kind.NUMBER,
        "Set the relative tolerance of the iterated master, or of the model-exchange integrator (default: 1e-8).",
        "RTOL",
    )
    convergence: Mapping[str, float] = setting_field(
        dict,
        Kind.NUMBERS,
        "Require this limit of iterated steps: absolute, relative or residual-relative. All limits must be met.",
        "MEASURE=LIMIT",
        COUPLING,
        more="A mapping from measures to limits.",
    )
    max_iterations: int | None = setting_field(
        None, Kind.COUNT, "Iterate a step at most N times (default: 30).", "N", COUPLING
    )
    iterations: int | None = setting_field(
        None, Kind.COUNT, "Iterate each step exactly N times, converged or not.", "N", COUPLING
    )
    prediction_order: int | None = setting_field(
        None,
        Kind.COUNT,
        "Predict the first iterate by a polynomial of order 0, 1 or 2 (default: 2).",
        "N",
        COUPLING,
        least=0,
        most=2,
        more="Order of a polynomial through accepted points; 0: the present values.",
    )
    relaxation: float | None = setting_field(
        None,
        Kind.NUMBER,
        "Set the factor of constant relaxation, 0 < W <= 1 (default: 0.5).",
        "W",
        COUPLING,
        more="The next iterate goes this part of the way to the computed values. Without an "
        "acceleration, constant relaxation goes with it.",
    )
    adaptive: float | None = setting_field(
        None,
        Kind.NUMBER,
        "Adapt macro steps to this error of the run: by step doubling if FMUs save their state, "
        "otherwise by the energy residuals of power bonds, or by the errors of inputs.",
        "RTOL",
        COUPLING,
        more="The error is relative to the range of a signal, or to its nominal value if that is larger; an energy "
        "residual, to the energy that goes through the bond. Where FMUs save their states, signals that are not "
        "real numbers change in short steps only.",
    )
    max_step_size: float | None = setting_field(
        None, Kind.TIME, "Limit the size of adaptive macro steps (default: a fiftieth of the interval).", "H", COUPLING
    )
    power_bonds: tuple[tuple[str, str], ...] = setting_field(
        (),
        Kind.PAIRS,
        "Use this pair of outputs as a power bond. Their product is the power into the first component.",
        "A.v,B.F",
        COUPLING,
        more='Pairs of names: ("System1.v1", "System2.F"), velocity of a body and force on it. The direction '
        "of the power does not matter. None: the bonds that terminals of the FMUs declare.",
    )
    substeps: Mapping[str, int | str] = setting_field(
        dict,
        Kind.COUNTS,
        "Divide each macro step of component NAME into N steps; auto: into as many as its first macro step needs.",
        "NAME=N",
        COUPLING,
        more="A mapping from components to numbers of steps, or to 'auto'.",
    )
    delay: Mapping[str, float] = setting_field(
        dict,
        Kind.TIMES,
        "Delay connection NAME, an output (all its connections) or an input, by a time of at least "
        "one macro step; step is one macro step. This cuts loops.",
        "NAME=T",
        COUPLING,
        more="A mapping from ends of connections to times [s], or to 'step'. A delayed input has, until the delay "
        "has passed, the value of the start.",
    )
    exchange: ExchangeName = setting_field(
        ExchangeName.CONSISTENT,
        Kind.WORD,
        "Exchange outputs: {words}.",
        "HOW",
        COUPLING,
        notes={"late": "one step late, to compare with other tools"},
        more="Concerns outputs with direct feedthrough (dependent on an input at the same instant).",
    )
    implementation: ImplementationName = setting_field(
        ImplementationName.AUTO,
        Kind.WORD,
        "Run components as: {words}.",
        "KIND",
        MODEL_EXCHANGE,
        notes={
            "auto": "model exchange if all FMUs offer it and neither system nor options ask for coupling",
            "me": "all model exchange",
            "cs": "co-simulation",
        },
    )
    integrator: IntegratorName | None = setting_field(
        None,
        Kind.WORD,
        "Integrate with {words} (default: rosenbrock with state events, otherwise bdf; dormand-prince if they "
        "fail). Exported FMUs have rosenbrock (also for bdf) and dormand-prince.",
        "NAME",
        MODEL_EXCHANGE,
        IntegratorName,
        notes={"bdf": "stiff", "rosenbrock": "stiff"},
    )
    threads: int = setting_field(
        1, Kind.COUNT, "Step components in parallel on N threads.", "N", COUPLING, more="Results do not depend on it."
    )
    processes: str | int | None = setting_field(
        None,
        Kind.PROCESSES,
        "Give each FMU its own process, or distribute the FMUs over N processes.",
        "each|N",
        COUPLING,
        more="None: one process for all FMUs, except those that can be used only once per process. Results do not "
        "depend on it.",
    )
    warnings: str = setting_field(
        "on",
        Kind.WORD,
        "Look for signs of wrong results (RUN-101 and higher), and for undeclared feedthrough: {words}.",
        "NAME",
        INSIGHT,
        WarningsName,
    )
    log_loops: Path | None = setting_field(
        None, Kind.FILE, "Write each iterate of each algebraic loop to a .csv or .jsonl file.", "FILE", INSIGHT
    )
    log_coupling: Path | None = setting_field(
        None, Kind.FILE, "Write each iterate of each macro step to a .csv or .jsonl file.", "FILE", INSIGHT
    )
    fmu_log: Path | None = setting_field(
        None,
        Kind.FILE,
        "Write all messages of FMUs to a .csv or .jsonl file. FMUs run slower (default: count "
        "warnings and errors in the summary).",
        "FILE",
        INSIGHT,
        more="One row per message: time, component, status, category, text.",
    )
    fmu_log_level: Mapping[str, str] | str = setting_field(
        dict,
        Kind.LEVELS,
        "Write messages of this level or worse to --fmu-log: ok (all), warning, discard, error or"
        " fatal; for one component: System1=ok.",
        "LEVEL",
        INSIGHT,
        more="By component, a mapping from components to levels, with `*` for all others.",
    )
    fmu_log_categories: Mapping[str, Sequence[str]] | Sequence[str] = setting_field(
        dict,
        Kind.CATEGORIES,
        "Write only these categories to --fmu-log, separated by commas; for one component: System1=logEvents.",
        "NAMES",
        INSIGHT,
        more="A list of names, or a mapping from components to lists, with `*` for all others; none: all.",
    )

    def __init__(self, **options: Unpack["SettingsOptions"]) -> None:
        """Convert words, times with units and numpy numbers to the types of the fields; reject all other values with a
        message.
        """
        given, known = present_names(options), [one.name for one in fields(self)]
        for name in given:
            if name not in known:
                raise unknown_argument("Settings", name, known)
        for one in fields(self):
            value = given.get(one.name)
            if value is None:
                value = one.default if one.default_factory is MISSING else one.default_factory()
            read = None if value is None else _read(one.name, setting_of(one), value)
            object.__setattr__(self, one.name, read)
        chosen = [name for name in ("fmu_log_level", "fmu_log_categories") if getattr(self, name)]
        if self.fmu_log is None and chosen:
            raise ContradictingSettings(
                f"{' and '.join(chosen)} without fmu_log",
                "the chosen messages have no file",
                f"name the file with fmu_log, or leave out {' and '.join(chosen)}",
            )
        if self.tolerance is not None and not 0 < self.tolerance < float("inf"):
            raise WrongValue(f"the tolerance must be positive, found {self.tolerance:g}")

    def __repr__(self) -> str:
        """The settings that differ from their defaults, as the constructor takes them."""
        default = _default_settings()
        given = (one.name for one in fields(self) if getattr(self, one.name) != getattr(default, one.name))
        return f"Settings({', '.join(f'{name}={_plain(getattr(self, name))!r}' for name in given)})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Register the master in the other process as well; it may be defined outside of ssptool."""
        master = None if self.master == AUTO else named(self.master)
        return _unpickled, (master, {one.name: getattr(self, one.name) for one in fields(self)})

    def without_logs(self, **options: Any) -> "Settings":
        """A copy with changed `options` and without log files, for a run that must not overwrite the logs of another
        run.
        """
        none: dict[str, Any] = {"log_loops": None, "log_coupling": None}
        none |= {"fmu_log": None, "fmu_log_level": {}, "fmu_log_categories": {}}
        return replace(self, **{**none, **options})

    @property
    def stated_substeps(self) -> Mapping[str, int]:
        """Stated numbers of substeps, by component."""
        return {name: found for name, found in self.substeps.items() if isinstance(found, int)}

    def with_components(self, components: Collection[str]) -> "Settings":
        """A copy whose component names have the upper and lower case of the system.

        Raises
        ------
        AmbiguousName
            The names of two components differ only in case.
        """
        given = {name: getattr(self, name) for name in ("substeps", "fmu_log_level", "fmu_log_categories")}
        own = {
            one: in_other_case(one, components) or one
            for values in given.values()
            for one in values
            if one not in (*components, EVERY_COMPONENT)
        }
        renamed: dict[str, Any] = {
            name: {own.get(one, one): value for one, value in of.items()} for name, of in given.items()
        }
        return replace(self, **renamed) if own else self

    @classmethod
    def of(cls, given: "Settings | Mapping[str, Any] | None", options: Mapping[str, Any]) -> "Settings":
        """Settings from an object or a mapping, and from keywords, which override it.

        Raises
        ------
        WrongArgument
            The argument is neither, a name is not a field, or a value is not valid.
        """
        if isinstance(given, Settings):
            return replace(given, **options) if options else given
        stated = {} if given is None else mapping("settings", given, "a Settings object or a mapping from its fields")
        return cls(**{**stated, **options})


def _unpickled(master: NamedMaster | None, values: Mapping[str, Any]) -> Settings:
    if master is not None:
        register(master)
    return Settings(**values)


def setting_of(one: "Field[Any]") -> Setting:
    """The facts of a field of `Settings`."""
    setting: Setting = one.metadata["setting"]
    return setting


def settings_by_name(of: type[Settings]) -> dict[str, Setting]:
    """Name → description, in the order of the help."""
    return {one.name: setting_of(one) for one in fields(of)}


@cache
def _default_settings() -> Settings:
    return Settings()


def _described(settings: Mapping[str, Setting]) -> str:
    """Text of the section `Attributes` of the docstring."""
    lines = ["Attributes", "----------"]
    for name, setting in settings.items():
        texts = textwrap.wrap(f"{setting.help} {setting.more}".strip(), 112, break_on_hyphens=False)
        lines += [name, *(f"    {line}" for line in texts)]
    return "\n".join(lines)


Settings.__doc__ = f"{inspect.cleandoc(str(Settings.__doc__))}\n\n{_described(settings_by_name(Settings))}"


def _plain(value: object) -> object:
    """Text of a word, or name of a path: values that the constructor accepts as well."""
    return str(value) if isinstance(value, StrEnum | Path) else value


BY_NEED = "auto"
"""Word for the smallest sufficient number of substeps."""


def _substeps(name: str, value: object) -> dict[str, int | str]:
    found = mapping(name, value, "a mapping from components to numbers of steps, such as {'System2': 10}")
    return {
        component: BY_NEED if each == BY_NEED else count(f"{name}[{component!r}]", each)
        for component, each in found.items()
    }


STEP = "step"
"""Word for a delay of one macro step, which is stored as 0."""


def _delay(name: str, value: object) -> dict[str, float]:
    found = mapping(name, value, "a mapping from ends of connections to times, such as {'System1.v1': '10ms'}")
    return {end: 0.0 if each == STEP else seconds(f"{name}[{end!r}]", each) for end, each in found.items()}


def _convergence(name: str, value: object) -> dict[str, float]:
    found = mapping(name, value, "a mapping from measures to limits, such as {'absolute': 1e-6}")
    return {measure: number(f"{name}[{measure!r}]", each) for measure, each in found.items()}


def _power_bonds(name: str, value: object) -> tuple[tuple[str, str], ...]:
    """Pairs of names, each as a pair or as on the command line: `"System1.v1,System2.F"`."""
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
    """Number of processes; also accepts text, as on the command line."""
    if value == EACH:
        return EACH
    if isinstance(value, str) and value.isdecimal() and int(value) > 0:
        return int(value)
    try:
        return count(name, value)
    except WrongArgument:
        raise WrongArgument(name, value, f"{EACH!r} or a whole number of at least 1") from None


def _levels(name: str, value: object) -> dict[str, str]:
    """Component → level; a single level applies to all components."""
    stated = value if isinstance(value, Mapping) else {EVERY_COMPONENT: value}
    return {component: str(word(name, level, FmuLogLevel)) for component, level in stated.items()}


def _categories(name: str, value: object) -> dict[str, tuple[str, ...]]:
    """Component → categories; categories without components apply to all components."""
    stated = value if isinstance(value, Mapping) else {EVERY_COMPONENT: value}
    found = {component: texts(name, each, "a log category") for component, each in stated.items()}
    return {component: categories for component, categories in found.items() if categories}


def _word(name: str, setting: Setting, value: object) -> str:
    if isinstance(setting.words, type):
        return word(name, value, setting.words)
    return one_of(name, value, setting.words() if setting.words is not None else ())


_READERS: Mapping[Kind, Callable[[str, Any], Any]] = {
    Kind.TIME: seconds,
    Kind.NUMBER: number,
    Kind.FILE: path,
    Kind.COUNTS: _substeps,
    Kind.NUMBERS: _convergence,
    Kind.TIMES: _delay,
    Kind.PAIRS: _power_bonds,
    Kind.PROCESSES: _processes,
    Kind.LEVELS: _levels,
    Kind.CATEGORIES: _categories,
}


def _read(name: str, setting: Setting, value: object) -> Any:
    """Value of a field, from the value that a caller gives."""
    if setting.kind is Kind.COUNT:
        return count(name, value, setting.least)
    if setting.kind is Kind.WORD:
        return _word(name, setting, value)
    return _READERS[setting.kind](name, value)


class StepDefault(StrEnum):
    """Kind of a macro step that neither the user nor the system nor an FMU states."""

    DERIVED = "derived"
    """Determined by a default experiment, or by the first steps of the run."""
    GUESSED = "guessed"


@dataclass(frozen=True, slots=True)
class Choice:
    """A setting of a run: its value, the reason, and the location (file:line) that states it.

    `default` is the kind of a step size that nobody states; None: it is stated, or it is another setting.
    """

    setting: str
    value: str
    reason: str
    place: str = ""
    default: StepDefault | None = None


ASKED = "asked for"
"""Reason of a choice that the user made."""


class SettingsOptions(TypedDict, total=False):
    """The fields of `Settings` as keywords of `simulate`, `plan` and `Simulation`, with the types that these take.

    A time is a number of seconds, or a string with a unit such as "10ms".
    """

    stop_time: float | str | None
    step_size: float | str | None
    start_time: float | str | None
    master: MasterWord | None
    acceleration: AccelerationWord | None
    approximation: ApproximationWord | None
    input_order: int | None
    init: InitWord | None
    tolerance: float | None
    convergence: Mapping[str, float] | None
    max_iterations: int | None
    iterations: int | None
    prediction_order: int | None
    relaxation: float | None
    adaptive: float | None
    max_step_size: float | str | None
    power_bonds: Iterable[tuple[str, str] | str] | None
    substeps: Mapping[str, int | str] | None
    delay: Mapping[str, float | str] | None
    exchange: ExchangeWord | None
    implementation: ImplementationWord | None
    integrator: IntegratorWord | None
    threads: int | None
    processes: ProcessesWord | int | None
    warnings: WarningsWord | None
    log_loops: Path | str | None
    log_coupling: Path | str | None
    fmu_log: Path | str | None
    fmu_log_level: Mapping[str, FmuLogWord] | FmuLogWord | None
    fmu_log_categories: Mapping[str, Sequence[str]] | Sequence[str] | None


Settings.__init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY),
        *(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
            for name, annotation in SettingsOptions.__annotations__.items()
        ),
    ]
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a run; None: no limit.

    Attributes
    ----------
    seconds : [s]
        Wall time of the whole run, from the start of the child process.
    step_seconds : [s]
        Wall time of one macro step, or of loading and initialization.
    memory : [byte]
        Memory of the child process and of those of its FMUs, without shared pages (Linux only).
    sandbox
        The child process has no network, reads the system's libraries and its FMUs, and writes a temporary folder;
        "best": as far as the system can close this.
    go_on
        Called every few milliseconds, also while an FMU calculates; it ends the run by raising an exception.
    """

    seconds: float | None = None
    step_seconds: float | None = None
    memory: int | None = None
    sandbox: Boxing = False
    go_on: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        limits = {"timeout": self.seconds, "timeout of a step": self.step_seconds, "memory limit": self.memory}
        for name, value in limits.items():
            if value is not None and not value > 0:
                raise WrongValue(f"the {name} must be greater than 0, found {value:g}")
        if self.memory is not None and sys.platform != "linux":
            raise WrongValue("memory can be limited on Linux only")
