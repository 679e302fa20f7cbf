"""Find parameters: those with which a system follows a measured trace, meets targets, or does something best.

The uncertainty of what is found is that of nonlinear least squares, linearized at the solution θ with n residuals r,
p parameters and the Jacobian J = ∂r/∂θ:

    s² = |r|² / (n − p),   C = s² (JᵀJ)⁻¹,   θᵢ ± t(n − p) √Cᵢᵢ

with the quantile t of Student's distribution. It holds if the model is right, its residuals are independent and have
one variance (after division by the scale of their signal), it is nearly linear over the interval, and θ is inside its
bounds. Measured noise that is correlated from sample to sample makes true intervals wider.

References
----------
Seber and Wild 1989, "Nonlinear Regression", section 5.1. Bates and Watts 1988, section 1.3.
"""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import numpy as np

from ssptool.dataclass import dataclass
from ssptool.engine.ending import RunError
from ssptool.engine.trace import Floats, Trace
from ssptool.studies.definition import Factor, Study
from ssptool.studies.findings import Findings
from ssptool.studies.outcome import Task
from ssptool.studies.points import computed_order
from ssptool.studies.prepared import Configuration, Prepared
from ssptool.studies.sources import Computed, Range, Setting
from ssptool.studies.workshop import Workshop

DIFFERENCE = 1e-4
"""Step of the differences that give the Jacobian, of the width of a range: well above what is left of the iterations of
a simulation, and its error goes with the square.
"""

CONFIDENCE = 0.95


class CalibrationFailed(Exception):
    """A run that was tried failed, or there is nothing to find; `point` are the values of the factors."""

    def __init__(self, reason: str, point: Mapping[str, Setting]) -> None:
        where = ", ".join(f"{name} = {value:.6g}" for name, value in point.items() if isinstance(value, float))
        super().__init__(f"{reason}{f' (at {where})' if where else ''}")
        self.reason = reason
        self.point = dict(point)


@dataclass(frozen=True, slots=True)
class Estimate:
    """One parameter: its value, and the interval that holds the truth with the confidence that was asked for.

    `low` and `high` are nan where there is none: on a bound, or where the parameter has no influence.
    """

    name: str
    value: float
    low: float
    high: float
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Fit:
    """What was found.

    Attributes
    ----------
    converged
        Whether the method ended because it could not do better; `message` is its own.
    residual_rms
        Root of the mean square of the residuals, each divided by its scale.
    correlation : (p, p)
        Of the estimates; nan without intervals.
    runs
        Simulations that it took.
    """

    estimates: tuple[Estimate, ...]
    converged: bool
    message: str
    residual_rms: float
    correlation: Floats
    runs: int
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Estimate:
        return next(each for each in self.estimates if each.name == name)

    def __str__(self) -> str:
        width = max(len(each.name) for each in self.estimates)
        lines = [_line(each, width) for each in self.estimates]
        lines.append(f"{'converged' if self.converged else 'not converged'} after {self.runs} runs: {self.message}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def fit_trace(
    study: Study, measured: Trace, *, scales: Mapping[str, float] | None = None, confidence: float = CONFIDENCE
) -> Fit:
    """Fit the ranges of a study to a measured trace, by least squares.

    Parameters
    ----------
    measured
        Signals of the system, in their units; nan where nothing was measured.
    scales
        Signal → the size of its errors, in its unit, by which its residuals are divided; else the standard deviation of
        its samples. Only the ratios matter.

    Raises
    ------
    BadStudy
        A factor is no range, a signal is none of the system.
    CalibrationFailed
        A run failed.
    """
    with _Trials(study, measured.signals) as trials:
        scale = [_scale(measured, signal, scales or {}) for signal in measured.signals]

        def residuals(point: Mapping[str, Setting]) -> Floats:
            found = trials.trace(point)
            parts = [
                (np.interp(measured.t, found.t, found[signal]) - measured[signal]) / size
                for signal, size in zip(measured.signals, scale, strict=True)
            ]
            every = np.concatenate(parts)
            return np.asarray(every[np.isfinite(np.concatenate([measured[s] for s in measured.signals]))])

        trials.check_times(measured)
        return trials.least_squares(residuals, confidence)


def fit_targets(study: Study, targets: Mapping[str, float], *, scales: Mapping[str, float] | None = None) -> Fit:
    """Find values in the ranges of a study with which results meet targets, by least squares.

    Parameters
    ----------
    targets
        Result → value.
    scales
        Result → by what its distance is divided; else the magnitude of its target, or 1 where that is 0.

    Raises
    ------
    BadStudy, CalibrationFailed
    """
    _check_results(study, tuple(targets))
    with _Trials(study, ()) as trials:
        sizes = {name: (scales or {}).get(name, abs(value) or 1.0) for name, value in targets.items()}

        def residuals(point: Mapping[str, Setting]) -> Floats:
            found = trials.results(point)
            return np.array([(found[name] - value) / sizes[name] for name, value in targets.items()])

        # There is no noise here, of which intervals could tell.
        return trials.least_squares(residuals, None)


def minimize_result(study: Study, result: str) -> Fit:
    """Find values in the ranges of a study with which a result is as small as can be, by the method of Powell.

    Raises
    ------
    BadStudy, CalibrationFailed
    """
    optimize: Any = import_module("scipy.optimize")
    _check_results(study, (result,))
    with _Trials(study, ()) as trials:
        found = optimize.minimize(
            lambda u: trials.results(trials.point(u))[result],
            trials.start(),
            method="Powell",
            bounds=[(0.0, 1.0)] * len(trials.ranges),
            options={"xtol": 1e-6, "ftol": 1e-10},
        )
        nothing = np.full((len(trials.ranges),) * 2, np.nan)
        estimates = trials.estimates(found.x, np.full(len(found.x), np.nan))
        return Fit(estimates, bool(found.success), str(found.message), float("nan"), nothing, trials.runs)


class _Trials:
    """Runs of a study at points that a method of optimization chooses, which sees every range as 0 … 1."""

    def __init__(self, study: Study, signals: Sequence[str]) -> None:
        self.study = study
        self.ranges = {f.name: f.source for f in study.factors if isinstance(f.source, Range)}
        self.runs = 0
        self.units, own, recorded = _check(study, signals)
        self._own = own
        measured = [call.texts[0] for e in study.results.values() for call in e.calls if call.texts and call.texts[0]]
        needed = dict.fromkeys([*signals, *(name for name in measured if name is not None and name in recorded)])
        self._workshop = Workshop(study, tuple(needed))

    def __enter__(self) -> "_Trials":
        return self

    def __exit__(self, *_: object) -> None:
        self._workshop.close()

    def start(self) -> Floats:
        """The nominal values; else those of the system; else the middle."""
        return np.array([self._start(self.study.factor(name), source) for name, source in self.ranges.items()])

    def _start(self, factor: Factor, source: Range) -> float:
        value = factor.nominal if factor.nominal is not None else self._own.get(factor.name)
        if not isinstance(value, int | float) or not source.low < value < source.high:
            return 0.5
        if source.log:
            return float(np.log(value / source.low) / np.log(source.high / source.low))
        return (value - source.low) / (source.high - source.low)

    def point(self, u: Floats) -> dict[str, Setting]:
        """The values of all factors."""
        point: dict[str, Setting] = {n: _value(s, x) for (n, s), x in zip(self.ranges.items(), u, strict=True)}
        for name in computed_order(self.study.factors):
            source = self.study.factor(name).source
            assert isinstance(source, Computed)
            point[name] = source.expression.evaluate(point)
        return point

    def trace(self, point: Mapping[str, Setting]) -> Trace:
        self.runs += 1
        try:
            return self._workshop.trace_of(Task("", 0, point))
        except RunError as error:
            raise CalibrationFailed(f"a run failed {error}", point) from None

    def results(self, point: Mapping[str, Setting]) -> dict[str, float]:
        found, message = self._workshop.results(self.trace(point), point)
        if None in found.values():
            raise CalibrationFailed(f"a result has no value: {message}", point)
        return {name: value for name, value in found.items() if value is not None}

    def check_times(self, measured: Trace) -> None:
        """That the run is as long as the measurement."""
        found = self.trace(self.point(self.start()))
        if measured.t[0] < found.t[0] - 1e-9 or measured.t[-1] > found.t[-1] + 1e-9:
            raise CalibrationFailed(
                f"it was measured from {measured.t[0]:g} s to {measured.t[-1]:g} s, and the run is from "
                f"{found.t[0]:g} s to {found.t[-1]:g} s; set start_time and stop_time",
                {},
            )

    def least_squares(self, residuals: Callable[[Mapping[str, Setting]], Floats], confidence: float | None) -> Fit:
        optimize: Any = import_module("scipy.optimize")
        start = np.clip(self.start(), 1e-3, 1 - 1e-3)
        found: Any = optimize.least_squares(
            lambda u: residuals(self.point(u)),
            start,
            jac="3-point",
            # Steps are relative to what is varied, which may be nearly 0.
            diff_step=DIFFERENCE / np.maximum(np.abs(start), 0.05),
            bounds=(0.0, 1.0),
            x_scale=1.0,
            xtol=1e-9,
            ftol=1e-10,
        )
        half, correlation, notes = _uncertainty(found, confidence)
        named = [note.format(name=list(self.ranges)[place]) for place, note in notes]
        rms = float(np.sqrt(np.mean(found.fun**2)))
        estimates = self.estimates(found.x, half)
        return Fit(estimates, bool(found.success), str(found.message), rms, correlation, self.runs, tuple(named))

    def estimates(self, u: Floats, half: Floats) -> tuple[Estimate, ...]:
        return tuple(
            Estimate(name, _value(source, x), _value(source, x - h), _value(source, x + h), self.units.get(name))
            for (name, source), x, h in zip(self.ranges.items(), u, half, strict=True)
        )


def _uncertainty(found: Any, confidence: float | None) -> tuple[Floats, Floats, list[tuple[int, str]]]:
    """Half the width of every interval, the correlation of the estimates, and what spoils an interval, by place."""
    from scipy import stats

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
    half = stats.t.ppf(0.5 + confidence / 2, count - size) * deviation
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = covariance / np.outer(deviation, deviation)
    return np.asarray(half), np.asarray(correlation), notes


def _value(source: Range, u: float) -> float:
    if source.log:
        return float(source.low * (source.high / source.low) ** u)
    return float(source.low + (source.high - source.low) * u)


def _scale(measured: Trace, signal: str, scales: Mapping[str, float]) -> float:
    return scales.get(signal) or float(np.nanstd(measured[signal])) or 1.0


def _check(
    study: Study, signals: Sequence[str]
) -> tuple[dict[str, str | None], dict[str, Setting | None], Sequence[str]]:
    """Units of the factors, their values in the system, and the signals that there are. Raises BadStudy."""
    findings = Findings(study.source, study.lines)
    if not any(isinstance(factor.source, Range) for factor in study.factors):
        findings.add(("factors",), "there is nothing to find: no factor has low and high")
    for factor in study.factors:
        if not isinstance(factor.source, Range | Computed):
            findings.add(("factors", factor.name), "only a range (low, high), or an expression, can be calibrated")
    findings.check()
    with Prepared(study, Configuration(study.variant)) as prepared:
        for name, problem in prepared.problems.items():
            findings.add(("factors", name), problem)
        recorded = [column.signal for column in prepared.base_plan().columns]
        for signal in signals:
            if signal not in recorded:
                near = get_close_matches(signal, recorded)
                hint = f"; did you mean {' or '.join(near)}?" if near else f"; there are {', '.join(recorded)}"
                findings.add(("calibration",), f"no signal of the system is called {signal!r}{hint}")
        findings.check()
        units: dict[str, str | None] = {}
        for setter in prepared.setters:
            own = None if setter.target.unit is None else setter.target.unit.name
            units[setter.factor] = study.factor(setter.factor).unit or own
        return units, {factor.name: prepared.own_value(factor) for factor in study.factors}, recorded


def _check_results(study: Study, names: Sequence[str]) -> None:
    findings = Findings(study.source, study.lines)
    for name in names:
        if name not in study.results:
            findings.add(
                ("calibration",), f"no result is called {name!r}; there are {', '.join(study.results) or 'none'}"
            )
    findings.check()


def _line(each: Estimate, width: int) -> str:
    unit = f" {each.unit}" if each.unit else ""
    interval = f"  [{each.low:.6g}, {each.high:.6g}]" if np.isfinite(each.low) else ""
    return f"{each.name.ljust(width)} = {each.value:.8g}{unit}{interval}"
