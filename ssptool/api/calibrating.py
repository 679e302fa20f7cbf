"""Parameters from measurements and targets."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ssptool.api.studying import draft
from ssptool.engine.recording.files import read_trace
from ssptool.engine.trace import Trace
from ssptool.studies.calibration import CONFIDENCE, Fit, fit_targets, fit_trace, minimize_result
from ssptool.studies.calibration import CalibrationFailed as CalibrationFailed
from ssptool.studies.calibration_entries import read_calibration
from ssptool.studies.checking import check_study
from ssptool.studies.definition import Study


def calibrate(
    study: Study | Mapping[str, Any] | Path | str,
    *,
    data: Trace | Path | str | None = None,
    targets: Mapping[str, float] | None = None,
    minimize: str | None = None,
    scales: Mapping[str, float] | None = None,
    confidence: float = CONFIDENCE,
) -> Fit:
    """Find the values in the ranges of a study with which the system follows a measured trace or meets targets.

    Without `data`, `targets` and `minimize`, the study says in `[calibration]` what is wanted.

    Parameters
    ----------
    data
        A trace or a file of one (.csv, .parquet, .mat): fitted by least squares, with confidence intervals.
    targets
        Result → value that it shall have.
    minimize
        The result that shall be as small as can be.
    scales
        Signal or result → the size of its errors; see `ssptool.studies.calibration`.

    Raises
    ------
    BadStudy
        With everything that is wrong with it.
    CalibrationFailed
        A run failed, or a result has no value.
    """
    wanted, findings = draft(study)
    if data is None and targets is None and minimize is None:
        stated = read_calibration(study, wanted)
        data, targets, minimize, scales = stated.data, stated.targets, stated.minimize, stated.scales
    if sum(given is not None for given in (data, targets, minimize)) != 1:
        raise ValueError("give one of data, targets and minimize")
    check_study(wanted, findings)
    if data is not None:
        trace = data if isinstance(data, Trace) else read_trace(data)
        return fit_trace(wanted, trace, scales=scales, confidence=confidence)
    if targets is not None:
        return fit_targets(wanted, targets, scales=scales)
    return minimize_result(wanted, str(minimize))
