"""Runs of the flyball governor, and by how much they miss what they should be: each function measures one figure."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import cumulative_simpson

import ssptool
from ssptool import Result, Settings
from ssptool.types import Trace
from tests.systems import reference_flyball_governor as reference

SYSTEM = Path(__file__).parents[2] / "systems" / "flyball_governor"
NO_BALLS = SYSTEM / "resources" / "no_balls.ssv"
FOUR_PARTS, CUT_AT_SPINDLE, CUT_AT_COUPLER = (
    "FlyballGovernor",
    "FlyballGovernorCutAtSpindle",
    "FlyballGovernorCutAtCoupler",
)
HEIGHT = {FOUR_PARTS: "Slider.s", CUT_AT_SPINDLE: "Linkage.s", CUT_AT_COUPLER: "Slider.s"}
Floats = NDArray[np.float64]


def run(variant: str = FOUR_PARTS, *, system: Path = SYSTEM, **settings) -> Result:
    return ssptool.simulate(system, variant=variant, settings=Settings(**settings))


def height_error(trace: Trace, signal: str = "Slider.s") -> float:
    """Largest |s − reference| [m] of all rows."""
    return float(np.max(np.abs(trace[signal] - reference.height(trace.t))))


def published_heights(trace: Trace) -> Floats:
    """s (31,) [m] at the instants of the published values."""
    return np.asarray(trace["Slider.s"][np.searchsorted(trace.t, np.arange(31) * 0.1 - 1e-9)])


def published_error(trace: Trace) -> float:
    """Largest |s − published value| [m] over 3 s."""
    return float(np.max(np.abs(published_heights(trace) - reference.PUBLISHED)))


def momentum_drift(trace: Trace) -> float:
    """Largest change of (J_hub + J_arms) Omega, relative, from the outputs of both parts."""
    momentum = (reference.J_HUB + trace["Arms.J_arms"]) * trace["Spindle.Omega"]
    return float(np.max(np.abs(momentum / reference.MOMENTUM - 1)))


def stored_energy(trace: Trace) -> Floats:
    """Kinetic and potential energy (n,) [J] of all parts."""
    alpha, s = trace["Arms.alpha"], trace["Slider.s"]
    kinetic = (reference.J_HUB + trace["Arms.J_arms"]) * trace["Spindle.Omega"] ** 2 / 2
    kinetic += reference.I_HINGE * trace["Arms.alphaDot"] ** 2 + reference.M_SLIDER * trace["Slider.sDot"] ** 2 / 2
    lifted = 2 * reference.G0 * reference.H * (reference.M_ARM + reference.M_BALL) - 2 * reference.WEIGHT * np.sin(
        alpha
    )
    sprung = reference.K * (trace["Coupler.l"] - reference.L0) ** 2
    return np.asarray(kinetic + lifted + reference.M_SLIDER * reference.G0 * s + sprung)


def dissipated_energy(trace: Trace) -> Floats:
    """By both dampers until each row (n,) [J], from that part of the tension that the spring does not carry."""
    damping = trace["Coupler.F"] - reference.K * (trace["Coupler.l"] - reference.L0)
    return np.asarray(cumulative_simpson(2 * damping**2 / reference.C, x=trace.t, initial=0.0))


def energy_defect(trace: Trace) -> float:
    """Largest change of stored and dissipated energy together, relative to that at the start."""
    total = stored_energy(trace) + dissipated_energy(trace)
    return float(np.max(np.abs(total / total[0] - 1)))


def later_errors(trace: Trace) -> dict[float, float]:
    """t → |s − reference| [m] at the instants of `reference.LATER`."""
    rows = {t: int(np.searchsorted(trace.t, t - 1e-9)) for t in reference.LATER}
    return {t: abs(float(trace["Slider.s"][rows[t]]) - s) for t, s in reference.LATER.items()}


def coupling_error(variant: str, step: float, stop: float = 10.0, **settings) -> float:
    """Largest |s − reference| [m] of a co-simulation; inf where it ends early."""
    result = run(variant, step_size=step, stop_time=round(stop / step) * step, **settings)
    return height_error(result.trace, HEIGHT[variant]) if result.ok else float("inf")
