"""Parameters from measurements and targets."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ssptool.api.studying import draft
from ssptool.engine.result import Result, trace_of
from ssptool.engine.trace import Trace
from ssptool.studies.calibration import CONFIDENCE, fit_targets, fit_trace, minimize_result, open_trials
from ssptool.studies.calibration import CalibrationFailed as CalibrationFailed
from ssptool.studies.calibration_entries import Calibration, read_calibration
from ssptool.studies.checking import check_study
from ssptool.studies.definition import Study
from ssptool.studies.fit import Fit as Fit
from ssptool.studies.fit import write_fit
from ssptool.studies.running import begin_study


def calibrate(
    study: Study | Mapping[str, Any] | Path | str,
    output: Path | str | None = None,
    *,
    data: Result | Trace | Path | str | None = None,
    targets: Mapping[str, float] | None = None,
    minimize: str | None = None,
    scales: Mapping[str, float] | None = None,
    confidence: float = CONFIDENCE,
    workers: int | None = None,
    scheduler: str | Any | None = None,
) -> Fit:
    """Find the values in the ranges of a study with which the system follows a measured trace or meets targets.

    Without `data`, `targets` and `minimize`, the study says in `[calibration]` what is wanted. A run that crashes or
    hangs does not end the calibration: its point is avoided, and a note says so.

    Parameters
    ----------
    output
        The folder of results of the study, into which what was found is written as well, for `report`.
    data
        A result, a trace or a file of one (.csv, .parquet, .mat): fitted by least squares, with confidence intervals.
    targets
        Result → value that it shall have.
    minimize
        The result that shall be as small as can be.
    scales
        Signal or result → the size of its errors; see `ssptool.studies.calibration`.
    workers, scheduler
        Where runs are done, as of `study`.

    Raises
    ------
    BadStudy
        With everything that is wrong with it.
    CalibrationFailed
        The first run failed, or those around a point.
    """
    wanted, findings = draft(study)
    if data is None and targets is None and minimize is None:
        stated = read_calibration(study, wanted)
        given: Result | Trace | Path | str | None = stated.data
    else:
        stated, given = (
            Calibration(None, None if targets is None else dict(targets), minimize, dict(scales or {})),
            data,
        )
    if sum(one is not None for one in (given, stated.targets, stated.minimize)) != 1:
        raise ValueError("give one of data, targets and minimize")
    checked = check_study(wanted, findings)
    trace = None if given is None else trace_of("data", given)
    results = (*(stated.targets or ()), *([stated.minimize] if stated.minimize is not None else []))
    signals = () if trace is None else trace.signals
    with open_trials(wanted, signals=signals, results=results, workers=workers, scheduler=scheduler) as trials:
        if trace is not None:
            fit = fit_trace(trials, trace, scales=stated.scales, confidence=confidence)
        elif stated.targets is not None:
            fit = fit_targets(trials, stated.targets, scales=stated.scales)
        else:
            fit = minimize_result(trials, str(stated.minimize))
    if output is not None:
        begin_study(checked, Path(output))
        write_fit(fit, Path(output), {"study": wanted.name, "system": str(wanted.system.resolve())})
    return fit
