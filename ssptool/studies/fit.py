"""What a calibration found, and how that is kept beside the results of a study."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ssptool.dataclass import dataclass
from ssptool.documents.replacement import replacing
from ssptool.engine.trace import Floats

CALIBRATION = "calibration.json"


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
    confidence
        That the intervals were made for; None: there are none.
    """

    estimates: tuple[Estimate, ...]
    converged: bool
    message: str
    residual_rms: float
    correlation: Floats
    runs: int
    notes: tuple[str, ...] = ()
    confidence: float | None = None

    def __getitem__(self, name: str) -> Estimate:
        return next(each for each in self.estimates if each.name == name)

    def __str__(self) -> str:
        width = max(len(each.name) for each in self.estimates)
        lines = [_line(each, width) for each in self.estimates]
        lines.append(f"{'converged' if self.converged else 'not converged'} after {self.runs} runs: {self.message}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def _line(each: Estimate, width: int) -> str:
    unit = f" {each.unit}" if each.unit else ""
    interval = f"  [{each.low:.6g}, {each.high:.6g}]" if np.isfinite(each.low) else ""
    return f"{each.name.ljust(width)} = {each.value:.8g}{unit}{interval}"


def write_fit(fit: Fit, folder: Path, about: Mapping[str, Any]) -> Path:
    """Write what was found into a folder of results, with what it is `about`; nan becomes null."""
    content = {**about, **asdict(fit), "correlation": fit.correlation.tolist()}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / CALIBRATION
    with replacing(path) as file:
        file.write(json.dumps(_without_nan(content), indent=1, ensure_ascii=False).encode())
    return path


def read_fit(folder: Path) -> Fit | None:
    """What was found for the study of a folder; None if nothing was calibrated."""
    path = folder / CALIBRATION
    if not path.is_file():
        return None
    content = json.loads(path.read_text(encoding="utf-8"))
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
    )


def _numbers(content: Mapping[str, Any], *names: str) -> dict[str, float]:
    return {name: float("nan") if content[name] is None else content[name] for name in names}


def _without_nan(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _without_nan(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_without_nan(value) for value in content]
    return None if isinstance(content, float) and not np.isfinite(content) else content
