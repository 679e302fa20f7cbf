"""Calibration: parameters that make a system follow measured signals, meet targets or minimize a result.

The uncertainty of a fit is that of nonlinear least squares, linearized at the solution θ with n residuals r, p
parameters and the Jacobian J = ∂r/∂θ:

    s² = |r|² / (n − p),   C = s² (JᵀJ)⁻¹,   θᵢ ± t(n − p) √Cᵢᵢ

with the quantile t of Student's distribution. It is valid if the model is right, its residuals are independent and have
one variance (after division by the scale of their signal), it is nearly linear over the interval, and θ is inside its
bounds. If the measured noise is correlated from sample to sample, the true intervals are wider.

Runs are isolated from this process like those of a study, and the runs for the columns of the Jacobian run in parallel.
A trial step to a point whose run fails is shortened. If a run for the Jacobian fails, the other side of the difference
is used.

- Seber and Wild 1989, "Nonlinear Regression", section 5.1; Bates and Watts 1988, section 1.3.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ssptool.documents.foreign_files import read_text
from ssptool.documents.saving import replaced_atomically, stay_inside
from ssptool.engine.run.accuracy import AccuracyLimit, is_within
from ssptool.engine.run.selection import Inside
from ssptool.engine.trace import Column, Floats, Trace
from ssptool.errors import UnknownName, similar_names, studies_need
from ssptool.foreign_text import json_content, json_text
from ssptool.printed import Printed
from ssptool.studies.accuracy import is_checked, wanted_accuracy
from ssptool.studies.dataset import intact
from ssptool.studies.definition import (
    Factor,
    FactorRole,
    RunOutcome,
    RunStatus,
    Samples,
    Study,
    Task,
    computed_order,
)
from ssptool.studies.designs import Computed, FactorValue, Range
from ssptool.studies.entries import Findings
from ssptool.studies.prepared import Configuration, PreparedSystem
from ssptool.studies.run import Evaluations, open_evaluations
from ssptool.studies.varied_fit import DIFFERENCE, FINE, NoVariation, Varied, VariedFit, sides_of

CALIBRATION, FITTED = "calibration.json", "calibration.parquet"


@dataclass(frozen=True, slots=True)
class Estimate:
    """One parameter: its value, and its confidence interval.

    `low` and `high` are nan if there is no interval: on a bound, or if the parameter has no influence.
    """

    name: str
    value: float
    low: float
    high: float
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class FittedTrace:
    """Signals: `measured` (nan where nothing was measured), and `found` in the run with the estimates."""

    measured: Trace
    found: Trace


@dataclass(frozen=True, slots=True)
class Verification:
    """Check of a solution by a run with half the step.

    Attributes
    ----------
    error
        Estimated error of the signals that the calibration uses, relative to the range of each; None: not known.
    remark
        Text of the check.
    before, after
        Root mean square of the residuals, or the minimized result, at the solution and at the same point with half the
        step; nan if there is none.
    moves : (p,)
        Estimated change of each estimate with half the step, from one Gauss-Newton step; empty without residuals.
    wanted
        Requested error; None: none was requested.
    limit
        Kind of the limit of the estimate, as in `Accuracy`.
    """

    error: float | None
    remark: str
    before: float = float("nan")
    after: float = float("nan")
    moves: tuple[float, ...] = ()
    wanted: float | None = None
    limit: AccuracyLimit = AccuracyLimit.NONE

    @property
    def met(self) -> bool:
        """True unless the study states an error that is missed or not known."""
        return is_within(self.wanted, self.error, self.limit)

    def lines(self, estimates: Sequence[Estimate]) -> Iterator[str]:
        """Text of the check."""
        missed = "" if self.met else f"; not within the stated {self.wanted:g}"
        yield f"accuracy: {self.remark}{missed}"
        if not np.isfinite(self.after):
            return
        moves = zip(estimates, self.moves, strict=False)
        parts = [f"{each.name} by {move:+.2g}{f' {each.unit}' if each.unit else ''}" for each, move in moves]
        if parts:
            yield f"with half the step the estimates move: {', '.join(parts)}"
        what = "the root mean square of the residuals" if parts else "the result"
        yield f"with half the step {what} at this point is {self.after:.6g} instead of {self.before:.6g}"


@dataclass(frozen=True, slots=True)
class Fit(Printed):
    """Result of a calibration.

    Attributes
    ----------
    converged
        True if the method ended because the fit no longer improves; `message` is that of the method.
    residual_rms
        Root of the mean square of the residuals, each divided by its scale.
    correlation : (p, p)
        Correlation of the estimates; nan without intervals.
    runs
        Number of simulations.
    confidence
        Confidence level of the intervals; None: there are no intervals.
    history : (runs,)
        For each run in order: root mean square of its residuals, or the minimized result; nan if the run failed.
    fitted
        Fitted signals together with the measurement; None without a measurement.
    verification
        Check of the solution by a run with half the step; None if it was not checked.
    next
        Commands that usually follow.
    """

    estimates: tuple[Estimate, ...]
    converged: bool
    message: str
    residual_rms: float
    correlation: Floats
    runs: int
    notes: tuple[str, ...] = ()
    confidence: float | None = None
    history: tuple[float, ...] = ()
    fitted: FittedTrace | None = None
    verification: Verification | None = None
    next: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Estimate:
        """Estimate of a factor.

        Raises
        ------
        UnknownName
            A KeyError: the study has no factor of this name.
        """
        found = next((each for each in self.estimates if each.name == name), None)
        if found is None:
            raise UnknownName(f"no factor is called {name!r}", name, [each.name for each in self.estimates])
        return found


def write_fit(fit: Fit, folder: Path, about: Mapping[str, Any]) -> Path:
    """Write the solution to a result folder, with the facts `about` the calibration; nan becomes null."""
    content = {**about, **fit_content(fit)}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / CALIBRATION
    for name in (CALIBRATION, FITTED):
        stay_inside(folder, name)
    if fit.fitted is not None:
        _write_fitted(fit.fitted, folder / FITTED)
    else:
        (folder / FITTED).unlink(missing_ok=True)
    with replaced_atomically(path) as file:
        file.write(json_text(without_nan(content), indent=1).encode())
    return path


def fit_content(fit: Fit) -> dict[str, Any]:
    """Content of a fit for JSON, without the fitted trace and without commands."""
    content = asdict(replace(fit, fitted=None))
    del content["next"]
    return {**content, "correlation": fit.correlation.tolist()}


def _write_fitted(fitted: FittedTrace, path: Path) -> None:
    """Write a table with the time, and two columns for each signal."""
    arrow, parquet = studies_need("pyarrow"), studies_need("pyarrow.parquet")
    fields, columns = [arrow.field("time", arrow.float64(), metadata={"unit": "s"})], [fitted.found.t]
    for which, trace in (("found", fitted.found), ("measured", fitted.measured)):
        for column, values in zip(trace.columns, trace.y.T, strict=True):
            about = {"unit": column.unit} if column.unit else None
            fields.append(arrow.field(f"{which} {column.signal}", arrow.float64(), metadata=about))
            columns.append(values)
    with replaced_atomically(path) as file:
        parquet.write_table(arrow.table(columns, schema=arrow.schema(fields)), file, compression="zstd")


def read_fitted(folder: Path) -> FittedTrace | None:
    """The fit and the measurement from the folder of a study; None if there is none. Raises UnusableFile."""
    path = folder / FITTED
    if not path.is_file():
        return None
    parquet = studies_need("pyarrow.parquet")
    with intact(folder, path):
        table = parquet.ParquetFile(path).read()
        columns: dict[str, list[tuple[Column, Floats]]] = {"found": [], "measured": []}
        for field in table.schema:
            which, _, signal = field.name.partition(" ")
            if signal:
                unit = (field.metadata or {}).get(b"unit", b"").decode() or None
                columns[which].append((Column(signal, unit), table[field.name].to_numpy()))
        t = table["time"].to_numpy()
        return FittedTrace(Trace.of(t, columns["measured"]), Trace.of(t, columns["found"]))


def read_fit(folder: Path) -> Fit | None:
    """The fit in the folder of a study; None if nothing was calibrated. Raises UnusableFile if it is damaged."""
    path = folder / CALIBRATION
    if not path.is_file():
        return None
    with intact(folder, path):
        content = json_content(read_text(path, "utf-8"))
        estimates = [Estimate(**{**one, **_numbers(one, "value", "low", "high")}) for one in content["estimates"]]
        return Fit(
            tuple(estimates),
            content["converged"],
            content["message"],
            _numbers(content, "residual_rms")["residual_rms"],
            np.array(content["correlation"], dtype=float),
            content["runs"],
            tuple(content["notes"]),
            content["confidence"],
            tuple(float("nan") if one is None else one for one in content.get("history", ())),
            verification=_verification(content.get("verification")),
        )


def _verification(content: Mapping[str, Any] | None) -> Verification | None:
    if content is None:
        return None
    values = {**content, "moves": tuple(content["moves"]), "limit": AccuracyLimit(content.get("limit", ""))}
    return Verification(**{**values, **_numbers(content, "before", "after")})


def _numbers(content: Mapping[str, Any], *names: str) -> dict[str, float]:
    return {name: float("nan") if content[name] is None else content[name] for name in names}


def without_nan(content: Any) -> Any:
    """The content with None in place of each number that is not finite."""
    if isinstance(content, dict):
        return {name: without_nan(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [without_nan(value) for value in content]
    return None if isinstance(content, float) and not np.isfinite(content) else content


CONFIDENCE = 0.95


class CalibrationFailed(Exception):
    """A necessary run failed or has no residuals, or there is no parameter to find; `point` contains the values of the
    factors, if known.
    """

    def __init__(self, reason: str, point: Mapping[str, FactorValue] = MappingProxyType({})) -> None:
        where = ", ".join(f"{name} = {value:.6g}" for name, value in point.items() if isinstance(value, float))
        super().__init__(f"{reason}{f' (at {where})' if where else ''}")
        self.reason = reason
        self.point = dict(point)


Residuals = Callable[[RunOutcome], Floats]
"""Function: completed run → residuals. Raises CalibrationFailed if there are none."""


def fit_trace(trials: "Trials", measured: Trace, *, scales: Mapping[str, float], confidence: float = CONFIDENCE) -> Fit:
    """Fit the ranges of a study to a measured trace, by least squares.

    Parameters
    ----------
    measured
        Signals of the system, in their units; nan where nothing was measured.
    scales
        Signal → the size of its errors, in its unit, by which its residuals are divided (default: the standard
        deviation of its samples). Only the ratios matter.

    Raises
    ------
    CalibrationFailed
        The first run failed, or those around a point; or the run is shorter than the measurement.
    """
    scale = np.array([_scale(measured, signal, scales) for signal in measured.signals])
    wanted = np.column_stack([measured[signal].astype(np.float64) for signal in measured.signals])
    there = np.isfinite(wanted)

    def residuals(outcome: RunOutcome) -> Floats:
        assert outcome.samples is not None
        found = ((outcome.samples - wanted) / scale)[there]
        if not np.isfinite(found).all():
            raise CalibrationFailed(
                f"it was measured from {measured.t[0]:g} s to {measured.t[-1]:g} s, and the run does not have all of "
                "that; set start_time and stop_time"
            )
        return np.asarray(found)

    samples = Samples(measured.signals, measured.t)
    fit, left = trials.least_squares(residuals, samples, confidence)
    found = np.full(wanted.shape, np.nan)
    found[there] = wanted[there] + left * np.broadcast_to(scale, wanted.shape)[there]
    columns = [Column(one.signal, one.unit) for one in measured.columns]
    traces = (Trace.of(measured.t, list(zip(columns, each.T, strict=True))) for each in (wanted, found))
    return replace(fit, fitted=FittedTrace(*traces))


def fit_targets(trials: "Trials", targets: Mapping[str, float], *, scales: Mapping[str, float]) -> Fit:
    """Find values in the ranges of a study for which results meet targets, by least squares.

    Parameters
    ----------
    targets
        Result → value.
    scales
        Result → divisor of its distance (default: the magnitude of its target, or 1 if that is 0).

    Raises
    ------
    CalibrationFailed
    """
    sizes = {name: scales.get(name, abs(value) or 1.0) for name, value in targets.items()}

    def residuals(outcome: RunOutcome) -> Floats:
        found = [(_value_of(outcome, name) - value) / sizes[name] for name, value in targets.items()]
        return np.array(found)

    # Targets have no noise, so there are no intervals.
    return trials.least_squares(residuals, None, None)[0]


def minimize_result(trials: "Trials", result: str) -> Fit:
    """Find values in the ranges of a study that minimize a result, by the method of Powell.

    A run that fails counts as worse than all that have completed.

    Raises
    ------
    CalibrationFailed
        The first run failed.
    """
    optimize: Any = import_module("scipy.optimize")
    found = optimize.minimize(
        trials.objective(lambda outcome: _value_of(outcome, result)),
        trials.start(),
        method="Powell",
        bounds=[(0.0, 1.0)] * len(trials.ranges),
        options={"xtol": 1e-6, "ftol": 1e-10},
    )
    nothing = np.full((len(trials.ranges),) * 2, np.nan)
    estimates = trials.estimates(found.x, np.full(len(found.x), np.nan))
    converged, message = bool(found.success), str(found.message)
    history = tuple(trials.history)
    fit = Fit(estimates, converged, message, float("nan"), nothing, trials.runs, trials.notes(), history=history)

    def compared(finer: RunOutcome) -> dict[str, Any]:
        return {"before": float(found.fun), "after": _value_of(finer, result)}

    return replace(fit, verification=trials.verified(found.x, None, compared))


@contextmanager
def open_trials(
    study: Study,
    *,
    signals: Sequence[str] = (),
    results: Sequence[str] = (),
    workers: int | None = None,
    scheduler: str | Any | None = None,
) -> "Iterator[Trials]":
    """Context with everything that runs of a calibration need: local processes, or the workers of a Dask scheduler.

    Parameters
    ----------
    signals, results
        Signals and results that the calibration uses.

    Raises
    ------
    BadData
        A factor is not a range, or the system does not have a signal or result.
    CalibrationFailed
        The first run failed.
    """
    about = _CheckedPoints(study, signals, results)
    start = about.point(about.start())
    recorded = dict.fromkeys([*signals, *about.measured])
    first = Task("", 0, start)
    with open_evaluations(study, tuple(recorded), first, workers=workers, scheduler=scheduler) as evaluations:
        if evaluations.first.status is RunStatus.FAILED:
            raise CalibrationFailed(f"the first run failed: {evaluations.first.message}", start)
        yield Trials(about, evaluations)


class Trials:
    """Runs of a study at points that an optimization method chooses; for the method every range is 0 … 1."""

    def __init__(self, about: "_CheckedPoints", evaluations: Evaluations) -> None:
        self.about = about
        self.ranges = about.ranges
        self._evaluations = evaluations
        self._failures: list[str] = []
        self.history: list[float] = []

    @property
    def runs(self) -> int:
        return self._evaluations.runs

    def start(self) -> Floats:
        """Start point: the nominal values; otherwise those of the system; otherwise the middle of the ranges."""
        return self.about.start()

    def notes(self) -> tuple[str, ...]:
        if not self._failures:
            return ()
        return (f"runs of no use, whose points were avoided: {len(self._failures)}; the first: {self._failures[0]}",)

    def objective(self, value: Callable[[RunOutcome], float]) -> Callable[[Floats], float]:
        """Objective function for a minimization method."""
        worst: list[float] = []

        def at(u: Floats) -> float:
            (found,) = self._evaluate([u], lambda outcome: np.array([value(outcome)]), None)
            self.history.append(float("nan") if isinstance(found, CalibrationFailed) else float(found[0]))
            if isinstance(found, CalibrationFailed) and not worst:
                raise CalibrationFailed(f"the first run is of no use: {found}", self.about.point(u))
            if isinstance(found, CalibrationFailed):
                return max(worst) + abs(max(worst)) + 1.0
            worst.append(float(found[0]))
            return worst[-1]

        return at

    def verified(
        self, u: Floats, samples: Samples | None, compared: Callable[[RunOutcome], dict[str, Any]]
    ) -> Verification | None:
        """Check of a solution: `compared` values of a run with half the step; None if it is not wanted."""
        wanted = wanted_accuracy(self.about.study)
        if not is_checked(wanted, self._evaluations.seconds):
            return None
        outcome = self._evaluations.check(self.about.point(u), samples)
        stated = wanted if isinstance(wanted, float) else None
        if outcome.status is RunStatus.FAILED:
            return Verification(None, outcome.message, wanted=stated)
        found = Verification(outcome.accuracy, outcome.accuracy_remark, wanted=stated, limit=outcome.accuracy_limit)
        with suppress(CalibrationFailed):
            found = replace(found, **compared(outcome))
        return found

    def least_squares(
        self, residuals: Residuals, samples: Samples | None, confidence: float | None
    ) -> tuple[Fit, Floats]:
        """The fit, and its residuals."""
        optimize: Any = import_module("scipy.optimize")
        seen: dict[bytes, Floats] = {}

        def at(u: Floats) -> Floats:
            (found,) = self._residuals([u], residuals, samples)
            if isinstance(found, CalibrationFailed):
                if not seen:
                    raise CalibrationFailed(str(found), self.about.point(u))
                return np.full_like(next(iter(seen.values())), np.nan)  # scipy then shortens its step
            seen[u.tobytes()] = found
            return found

        def jacobian(u: Floats) -> Floats:
            return self._jacobian(u, seen[u.tobytes()], residuals, samples)

        def solved(
            at: Callable[[Floats], Floats], start: Floats, jacobian: Callable[[Floats], Floats], tolerance: float = FINE
        ) -> Any:
            return optimize.least_squares(
                at, start, jac=jacobian, bounds=(0.0, 1.0), x_scale=1.0, xtol=tolerance, ftol=0.1 * tolerance
            )

        start = np.clip(self.start(), 1e-3, 1 - 1e-3)
        varied = VariedFit(self._varied(residuals, samples), at, solved)
        try:
            found = varied.solution(start)
        except NoVariation as none:
            varied.note = f"the Jacobian comes from differences of runs, because {none}"
            found = solved(at, start, jacobian)
        self._failures += varied.avoided
        half, correlation, spoilt = _uncertainty(found, confidence)
        notes = [note.format(name=list(self.ranges)[place]) for place, note in spoilt]
        rms = float(np.sqrt(np.mean(found.fun**2)))
        stated = confidence if np.isfinite(half).any() else None
        estimates, converged = self.estimates(found.x, half), bool(found.success)
        every = (*notes, *self.notes(), varied.note)
        ending, history = _ENDINGS[found.status], tuple(self.history)
        fit = Fit(estimates, converged, ending, rms, correlation, self.runs, every, stated, history)

        def compared(finer: RunOutcome) -> dict[str, Any]:
            left = residuals(finer)
            there = self.estimates(_after_gauss_newton_step(found, left), half)
            moves = tuple(one.value - each.value for one, each in zip(there, estimates, strict=True))
            return {"before": rms, "after": float(np.sqrt(np.mean(left**2))), "moves": moves}

        return replace(fit, verification=self.verified(found.x, samples, compared)), np.asarray(found.fun)

    def _varied(self, residuals: Residuals, samples: Samples | None) -> Varied:
        """Function: point → its residuals and their Jacobian, by the variational equations."""

        def at(u: Floats) -> tuple[Floats, Floats]:
            sides = sides_of(u, self.about.point)
            outcome = self._evaluations.varied(self.about.point(u), sides, samples)
            if outcome.status is RunStatus.FAILED:
                raise NoVariation(outcome.message)
            beside = (
                residuals(replace(outcome, results=one.results, samples=one.samples, sides=())) for one in outcome.sides
            )
            try:
                base, sided = residuals(outcome), list(beside)
            except CalibrationFailed as problem:
                raise NoVariation(str(problem)) from None
            columns = [(sided[2 * k] - sided[2 * k + 1]) / (one.up + one.down) for k, one in enumerate(sides)]
            return base, np.column_stack(columns)

        return at

    def _jacobian(self, u: Floats, base: Floats, residuals: Residuals, samples: Samples | None) -> Floats:
        """Jacobian by central differences, in parallel runs; by one-sided differences at a bound, or next to a failed
        run.
        """
        steps = DIFFERENCE * np.eye(len(u))
        sides = np.clip(np.concatenate([u + steps, u - steps]), 0.0, 1.0)
        found = self._residuals(sides, residuals, samples)
        columns = []
        for k in range(len(u)):
            usable = [(u[k], base)]
            for side in (k, k + len(u)):
                each = found[side]
                if not isinstance(each, CalibrationFailed) and sides[side, k] != u[k]:
                    usable.append((float(sides[side, k]), each))
            if len(usable) == 1:
                raise CalibrationFailed(f"runs on both sides failed: {found[k]}", self.about.point(u))
            (one, low), (other, high) = usable[-2:]
            columns.append((high - low) / (other - one))
        return np.column_stack(columns)

    def _residuals(
        self, places: Sequence[Floats] | Floats, residuals: Residuals, samples: Samples | None
    ) -> list[Floats | CalibrationFailed]:
        found = self._evaluate(places, residuals, samples)
        sizes = (np.nan if isinstance(one, CalibrationFailed) else np.sqrt(np.mean(one**2)) for one in found)
        self.history += map(float, sizes)
        return found

    def _evaluate(
        self, places: Sequence[Floats] | Floats, residuals: Residuals, samples: Samples | None
    ) -> list[Floats | CalibrationFailed]:
        found: list[Floats | CalibrationFailed] = []
        for outcome in self._evaluations([self.about.point(u) for u in places], samples):
            try:
                if outcome.status is RunStatus.FAILED:
                    raise CalibrationFailed(f"a run failed: {outcome.message}")
                found.append(residuals(outcome))
            except CalibrationFailed as problem:
                self._failures.append(str(problem))
                found.append(problem)
        return found

    def estimates(self, u: Floats, half: Floats) -> tuple[Estimate, ...]:
        units = self.about.units
        return tuple(
            Estimate(name, _value(source, x), _value(source, x - h), _value(source, x + h), units.get(name))
            for (name, source), x, h in zip(self.ranges.items(), u, half, strict=True)
        )


def _after_gauss_newton_step(found: Any, left: Floats) -> Floats:
    """Solution of least squares for these residuals, after one Gauss-Newton step; estimates at bounds stay there."""
    free = np.flatnonzero(found.active_mask == 0)
    u = np.array(found.x)
    u[free] += np.linalg.lstsq(found.jac[:, free], found.fun - left, rcond=None)[0]
    return np.asarray(np.clip(u, 0.0, 1.0))


def _uncertainty(found: Any, confidence: float | None) -> tuple[Floats, Floats, list[tuple[int, str]]]:
    """Half-width of every interval, correlation of the estimates, and reasons why intervals are invalid, by index."""
    from scipy.special import stdtrit  # scipy.stats has it too, and takes a second to load

    count, size = found.jac.shape
    nothing = np.full(size, np.nan), np.full((size, size), np.nan)
    notes: list[tuple[int, str]] = [
        (k, "{name} is on its bound; widen its range") for k in range(size) if found.active_mask[k]
    ]
    notes += [(k, "{name} has no influence") for k in range(size) if not np.abs(found.jac[:, k]).max(initial=0.0) > 0]
    if confidence is None or notes or count <= size:
        return *nothing, notes
    normal = found.jac.T @ found.jac
    if np.linalg.cond(normal) > 1e14:
        notes.append(
            (0, "only a combination of the parameters can be found: their effects are the same ({name} and others)")
        )
        return *nothing, notes
    covariance = np.linalg.inv(normal) * (found.fun @ found.fun) / (count - size)
    deviation = np.sqrt(np.diag(covariance))
    half = stdtrit(count - size, 0.5 + confidence / 2) * deviation
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = covariance / np.outer(deviation, deviation)
    return np.asarray(half), np.asarray(correlation), notes


def _value(source: Range, u: float) -> float:
    if source.log:
        return float(source.low * (source.high / source.low) ** u)
    return float(source.low + (source.high - source.low) * u)


def _scale(measured: Trace, signal: str, scales: Mapping[str, float]) -> float:
    return scales.get(signal) or float(np.nanstd(measured[signal])) or 1.0


def _value_of(outcome: RunOutcome, result: str) -> float:
    found = outcome.results[result]
    if found is None:
        raise CalibrationFailed(f"a result has no value: {outcome.message}")
    return found


class _CheckedPoints:
    """Checked facts of a study for its calibration: ranges, their units, the start point, and the measured signals.

    Raises
    ------
    BadData
    """

    def __init__(self, study: Study, signals: Sequence[str], results: Sequence[str]) -> None:
        self.study = study
        self.ranges = {f.name: f.source for f in study.factors if isinstance(f.source, Range)}
        self._findings = Findings(study.source, study.lines)
        self._check_factors()
        for name in results:
            if name not in study.results:
                known = ", ".join(study.results) or "none"
                self._findings.add(("calibration",), f"no result is called {name!r}; there are {known}")
        self._findings.check()
        with PreparedSystem(study, Configuration(study.variant)) as prepared:
            for name, problem in prepared.problems.items():
                self._findings.add(("factors", name), problem)
            plan = prepared.base_plan()
            inside = Inside(plan)
            self._check_signals(signals, inside, [column.signal for column in plan.columns])
            self._findings.check()
            self.units = _units(prepared)
            self._own = {factor.name: prepared.own_value(factor) for factor in study.factors}
        texts = [call.texts[0] for e in study.results.values() for call in e.calls if call.texts]
        self.measured = tuple(name for name in dict.fromkeys(texts) if name and inside.called(name))

    def start(self) -> Floats:
        return np.array([self._start(self.study.factor(name), source) for name, source in self.ranges.items()])

    def point(self, u: Floats) -> dict[str, FactorValue]:
        """Values of all factors."""
        point: dict[str, FactorValue] = {n: _value(s, x) for (n, s), x in zip(self.ranges.items(), u, strict=True)}
        for name in computed_order(self.study.factors):
            source = self.study.factor(name).source
            assert isinstance(source, Computed)
            point[name] = source.expression.evaluate(point)
        return point

    def _start(self, factor: Factor, source: Range) -> float:
        value = factor.nominal if factor.nominal is not None else self._own.get(factor.name)
        if not isinstance(value, int | float) or not source.low < value < source.high:
            return 0.5
        if source.log:
            return float(np.log(value / source.low) / np.log(source.high / source.low))
        return (value - source.low) / (source.high - source.low)

    def _check_factors(self) -> None:
        if not self.ranges:
            self._findings.add(("factors",), "there is nothing to find: no factor has low and high")
        for factor in self.study.factors:
            if not isinstance(factor.source, Range | Computed):
                problem = "only a range (low, high), or an expression, can be calibrated"
                self._findings.add(("factors", factor.name), problem)
            elif factor.role not in (FactorRole.VARIABLE, FactorRole.FREE):
                problem = f"variables can be calibrated, not a factor of role {factor.role}"
                self._findings.add(("factors", factor.name), problem)

    def _check_signals(self, signals: Sequence[str], inside: Inside, exchanged: Sequence[str]) -> None:
        for signal in signals:
            if inside.called(signal) is None:
                recorded = [*exchanged, *inside.names]
                near = similar_names(signal, recorded)
                hint = f"; did you mean {' or '.join(near)}?" if near else f"; there are {', '.join(recorded)}"
                self._findings.add(("calibration",), f"no signal of the system is called {signal!r}{hint}")


def _units(prepared: PreparedSystem) -> dict[str, str | None]:
    units: dict[str, str | None] = {}
    for setter in prepared.setters:
        own = None if setter.target.unit is None else setter.target.unit.name
        units[setter.factor] = prepared.study.factor(setter.factor).unit or own
    return units


_ENDINGS = {
    0: "the limit of runs is reached",
    1: "the gradient of the sum of squares is zero within the tolerance",
    2: "the sum of squares no longer decreases",
    3: "the parameters no longer change",
    4: "neither the sum of squares nor the parameters change any more",
}
"""Texts for the status of scipy's `least_squares`."""
