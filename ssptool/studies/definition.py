"""Definition of a study as frozen values: factors and points, and the tasks and outcomes of its runs."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple, TypeAlias

from ssptool.arguments import WantedAccuracy
from ssptool.engine.run.accuracy import AccuracyLimit
from ssptool.engine.settings import Settings
from ssptool.errors import is_own
from ssptool.foreign_text import strict_json
from ssptool.rules.selection import EVERYTHING, Switches
from ssptool.studies.designs import Computed, Design, FactorSource, FactorValue, Floats, GridDesign
from ssptool.studies.expressions import FUNCTIONS, BadExpression, Expression


class RunStatus(StrEnum):
    """Status of a run at its end."""

    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Samples:
    """Requested signals at these times (n,) [s]."""

    signals: tuple[str, ...]
    times: Floats


class SidePoints(NamedTuple):
    """Points on both sides of that of a task: one coordinate is larger by `up`, or smaller by `down`."""

    up: float
    down: float
    above: Mapping[str, FactorValue]
    below: Mapping[str, FactorValue]


class SideOutcome(NamedTuple):
    """Results and samples of a point next to that of a task, from derivatives."""

    results: Mapping[str, float | None]
    samples: Floats | None


@dataclass(frozen=True, slots=True)
class Task:
    """One run: its name, its number in the study, and its point.

    If requested, the outcome contains a `witness` (hash) of all recorded data, and `samples` of it. To `check` it, the
    run is repeated with smaller steps (or stricter tolerances): results and samples are those with half the step.
    With `sides`, the run is an integration of the variational equations, and its outcome has those of all sides too.
    """

    run: str
    number: int
    point: Mapping[str, FactorValue]
    witness: bool = False
    samples: Samples | None = None
    check: bool = False
    sides: tuple[SidePoints, ...] = ()


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """Outcome of a run.

    Attributes
    ----------
    results
        Results by name; None if an expression has no value.
    message
        Reason of the failure, or of results without a value.
    seconds : [s]
        Wall time of the run, of which `own_seconds` are initialization and steps.
    trace
        The recorded signals, as the bytes of a Parquet file.
    samples : (n, signals)
        Samples that the task requests; nan at times that the run does not contain.
    accuracy, accuracy_remark, accuracy_limit
        For a checked run: its estimated error, relative to the range of each recorded signal (None if unknown), the
        text of the check, and the kind of its limit.
    sides
        Outcomes of the points above and below, one pair after the other.
    """

    task: Task
    status: RunStatus
    results: Mapping[str, float | None]
    message: str = ""
    seconds: float = 0.0
    own_seconds: float = 0.0
    attempts: int = 1
    trace: bytes | None = None
    witness: str = ""
    samples: Floats | None = None
    accuracy: float | None = None
    accuracy_remark: str = ""
    accuracy_limit: AccuracyLimit = AccuracyLimit.NONE
    sides: tuple[SideOutcome, ...] = ()


def failed(task: Task, message: str | Exception, seconds: float = 0.0, attempts: int = 1) -> RunOutcome:
    """The outcome of a run that failed; errors of other packages are named with their class."""
    if isinstance(message, Exception):
        message = str(message) if is_own(message) else f"{type(message).__name__}: {message}"
    return RunOutcome(task, RunStatus.FAILED, {}, message, seconds, attempts=attempts)


class FactorRole(StrEnum):
    """Role of a factor in the runs."""

    VARIABLE = "variable"
    FMU = "fmu"
    SETTING = "setting"
    VARIANT = "variant"
    PARAMETERS = "parameters"
    FREE = "free"


@dataclass(frozen=True, slots=True)
class Factor:
    """A quantity that differs between runs.

    Attributes
    ----------
    role, of
        A parameter or start value of all variables `of`; the FMU file of a component; a solver setting; the variant; a
        parameter set (.ssv) that overrides all others; or only a name for expressions.
    unit
        Unit of its values, which are converted to the unit of the variable.
    nominal
        Value while another factor is varied, in a one-at-a-time design (default: the value in the system).
    """

    name: str
    source: FactorSource
    role: FactorRole = FactorRole.VARIABLE
    of: tuple[str, ...] = ()
    unit: str | None = None
    nominal: FactorValue | None = None

    @property
    def sets(self) -> tuple[str, ...]:
        """The variables that the factor sets."""
        return (self.of or (self.name,)) if self.role is FactorRole.VARIABLE else ()


@dataclass(frozen=True, slots=True)
class Traces:
    """Signals over time that are kept for each run (patterns), and their distance [s]."""

    signals: tuple[str, ...] = ()
    output_step: float | None = None
    every: int = 1


@dataclass(frozen=True, slots=True)
class RunEffort:
    """Limits of a run.

    Attributes
    ----------
    timeout : [s]
        Wall time of a run; None: derived from the pilot run.
    retries
        Number of repetitions of a run whose process crashed or was stopped.
    memory : [byte]
        Resident memory of a process with FMUs; None: only the limit of the worker.
    """

    timeout: float | None = None
    retries: int = 1
    memory: int | None = None


DefinedUnits: TypeAlias = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Study:
    """Many runs of one system.

    Attributes
    ----------
    settings, parameters, start_values, inputs, scenario, variant
        As in `ssptool.simulate`, for all runs; a factor may replace a setting or the variant, or override parameters.
    factors
        Factors, in the order of the columns of the results.
    results
        Name → expression over signals, factors and earlier results.
    units
        More units than the system defines: name → exponents, factor and offset, as in SSP.
    accept
        Codes of rules whose findings are accepted, as in `ssptool.simulate`.
    accuracy
        Check of some runs by finer ones: off, auto, check, or the allowed error; None: as in the caller's settings file
        (default: auto).
    compile
        Compile FMUs that contain sources but no library, as in `ssptool.simulate`. The caller who starts the study
        allows it; it is not stated in a file, and is not part of the definition.
    switches
        The caller's settings for the rules, with folders outside of a zip that it may read; also not part of the
        definition.
    source
        The file that the study was read from; empty if it was made in Python. Paths are relative to its folder.
    files
        Locations of files that are values of factors, if they differ from their names.
    """

    system: Path
    factors: tuple[Factor, ...] = ()
    design: Design = field(default_factory=GridDesign)
    results: Mapping[str, Expression] = field(default_factory=dict)
    traces: Traces | None = None
    settings: Settings = field(default_factory=Settings)
    variant: str | None = None
    parameters: tuple[Path, ...] = ()
    start_values: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[Path, ...] = ()
    scenario: Path | None = None
    units: DefinedUnits = field(default_factory=dict)
    effort: RunEffort = field(default_factory=RunEffort)
    accept: tuple[str, ...] = ()
    accuracy: WantedAccuracy | None = None
    compile: bool = False
    switches: Switches = EVERYTHING
    name: str = ""
    source: str = ""
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return Path(self.source).parent if self.source else Path()

    def file(self, name: str) -> Path:
        """The file that a value of a factor refers to."""
        return self.folder / self.files.get(name, name)

    def factor(self, name: str) -> Factor:
        return next(factor for factor in self.factors if factor.name == name)


_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Points:
    """Columns by factor, in the order of the study, without repeated points; `ids` are the names of the runs.

    `repeated` is the number of repeated points that were dropped.
    """

    columns: Mapping[str, Sequence[FactorValue]]
    ids: tuple[str, ...]
    repeated: int = 0

    def __len__(self) -> int:
        return len(self.ids)

    def at(self, number: int) -> dict[str, FactorValue]:
        return {name: column[number] for name, column in self.columns.items()}


def computed_order(factors: Sequence[Factor]) -> list[str]:
    """Factors that are expressions, each after the factors that it needs. Raises CycleError."""
    graph = {f.name: _factors_in_expression(f) for f in factors if isinstance(f.source, Computed)}
    return [name for name in TopologicalSorter(graph).static_order() if name in graph]


def _factors_in_expression(factor: Factor) -> set[str]:
    if not isinstance(factor.source, Computed):
        return set()
    expression = factor.source.expression
    quoted = {text for call in expression.calls if call.function == "value" for text in call.texts if text}
    return {*expression.names, *quoted}


def cycle(factors: Sequence[Factor]) -> tuple[str, ...]:
    """Factors that depend on each other in a cycle; empty if all can be computed."""
    try:
        computed_order(factors)
    except CycleError as error:
        return tuple(error.args[1])
    return ()


def make_points(study: Study, nominal: Mapping[str, FactorValue]) -> Points:
    """All different points. Raises BadExpression if an expression has no value."""
    ordered, ids = rows_of_design(study, nominal)
    count = len(ids)
    first = {each: k for k, each in reversed(list(enumerate(ids)))}
    if len(first) == count:
        return Points(ordered, ids)
    kept = sorted(first.values())
    unique = {name: [column[k] for k in kept] for name, column in ordered.items()}
    return Points(unique, tuple(ids[k] for k in kept), count - len(kept))


def rows_of_design(
    study: Study, nominal: Mapping[str, FactorValue]
) -> tuple[dict[str, Sequence[FactorValue]], tuple[str, ...]]:
    """Columns by factor, as in the design, and the names of the runs; equal rows are the same run.

    Raises BadExpression if an expression has no value.
    """
    sources = {f.name: f.source for f in study.factors if not isinstance(f.source, Computed)}
    return rows_of_columns(study, study.design.columns(sources, nominal))


def rows_of_columns(
    study: Study, stated: Mapping[str, Sequence[FactorValue]]
) -> tuple[dict[str, Sequence[FactorValue]], tuple[str, ...]]:
    """Rows as in `rows_of_design`, from columns for all factors that are not expressions."""
    columns = dict(stated)
    count = len(next(iter(columns.values()))) if columns else 1
    for name in computed_order(study.factors):
        source = study.factor(name).source
        assert isinstance(source, Computed)
        columns[name] = [_computed(name, source, columns, k) for k in range(count)]
    ordered = {factor.name: columns[factor.name] for factor in study.factors}
    return ordered, tuple(run_id({name: column[k] for name, column in ordered.items()}) for k in range(count))


def _computed(name: str, source: Computed, columns: Mapping[str, Sequence[FactorValue]], number: int) -> FactorValue:
    names = {known: column[number] for known, column in columns.items()}
    found = source.expression.evaluate(names, {**FUNCTIONS, "value": names.__getitem__})
    if isinstance(found, bool | str):
        return found
    if not isinstance(found, int | float) or found != found:
        raise BadExpression(source.expression.text, f"{name} would be {found!r} in run {number}")
    return float(found)


def run_id(point: Mapping[str, FactorValue]) -> str:
    """Name of the run at a point: equal points always have equal names."""
    canonical = [[name, _canonical(value)] for name, value in sorted(point.items())]
    return hashlib.sha256(strict_json(canonical, ensure_ascii=False).encode()).hexdigest()[:16]


def _canonical(value: FactorValue) -> FactorValue:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if whole and abs(value) < _EXACT else value  # type: ignore[arg-type]
