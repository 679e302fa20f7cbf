"""True errors of runs of the systems with an exact answer, beside the errors that the runs state."""

from pathlib import Path

import numpy as np

import ssptool
from ssptool import Result
from tests.accuracy.parts import write_part
from tests.accuracy.systems import Floats, Switches, System
from tests.engine.systems import write_system

NOT_MORE_THAN = 3.0
"""Largest ratio of a true error to the stated one."""

EXACT = 1e-9
"""True error that needs no statement."""


def written(system: System, folder: Path) -> Path:
    """The folder of a system, with its FMUs beside."""
    for name, part in system.parts.items():
        write_part(folder / f"{name}.fmu", part)
    components = {name: name for name in system.parts}
    return write_system(folder / "system", folder, components, system.wires, system.stop, implementation="any")


def carried_out(system: System, folder: Path, **options: object) -> Result:
    """A run with the default settings, or those of the system."""
    return ssptool.simulate(folder, output=None, **{**system.settings, **options})


def true_error(system: System, result: Result) -> tuple[float, str]:
    """The largest error of all signals, and the signal: relative to its range; of one that switches, in times relative
    to the interval, and 1 if the number of switches is another one.
    """
    errors = {name: _error(result.t, result[name], exact) for name, exact in system.exact(result.t).items()}
    worst = max(errors, key=lambda name: errors[name])
    return errors[worst], worst


def _error(t: Floats, found: Floats, exact: Floats | Switches) -> float:
    if not isinstance(exact, Switches):
        return float(np.max(np.abs(found - exact)) / np.ptp(exact))
    times = t[1:][found[1:] != found[:-1]]
    if len(times) != len(exact.times):
        return 1.0
    return float(np.max(np.abs(times - exact.times), initial=0.0) / (t[-1] - t[0]))


def silence(system: System, result: Result) -> str:
    """Why a run is silently wrong; empty if it is right, or tells that it is not."""
    if not result.ok or result.warnings:
        return ""
    error, signal = true_error(system, result)
    stated = result.accuracy.error
    if error <= EXACT or (stated is not None and error <= NOT_MORE_THAN * stated):
        return ""
    if stated is None and system.blind:
        return "" if "inside" in result.accuracy.remark else "does not say what it cannot see"
    return f"{signal} is off by {error:.2g}, stated is {result.accuracy}"
