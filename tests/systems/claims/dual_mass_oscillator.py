"""The dual-mass oscillator: consistent start, exact motion and energy of each of its variants."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.integrate import simpson
from scipy.interpolate import CubicSpline

import ssptool
from ssptool import Result, Settings
from tests.systems.claims.catalogue import SYSTEMS
from tests.systems.claims.claim import Absolute, AtMost, Claim
from tests.systems.claims.pages import Run, figure, quoted, run_figure, table
from tests.systems.exact_dual_mass import DualMass

SYSTEM = SYSTEMS / "dual_mass_oscillator"
HEAVY = SYSTEM / "resources" / "heavy_flange.ssv"
VARIANTS = {"FMI 2.0": None, "FMI 3.0": "DualMassOscillatorFMI3", "mixed": "DualMassOscillatorMixed"}
CO_SIMULATED = {"FMI 1.0": "DualMassOscillatorFMI1", **VARIANTS}
FLANGES = {"light flange": 0.0, "heavy flange": 2.0}
"""Mass of the flange [kg]."""
EXACT = {"implementation": "me", "integrator": "adams", "tolerance": 1e-11}
MOTIONS, FORCES = ("x1", "v1"), ("a1", "F")


def simulate(variant: str | None, m_c: float, **settings) -> Result:
    parameters = [HEAVY] if m_c else []
    return ssptool.simulate(SYSTEM, variant=variant, parameters=parameters, settings=Settings(**settings))


def error(variant: str | None, m_c: float, names: tuple[str, ...], **settings) -> float:
    """Largest deviation of signals of these names, outputs and inputs, from the matrix exponential."""
    trace = simulate(variant, m_c, **settings).unwrap()
    exact = DualMass(m_c=m_c).signals(trace.t)
    signals = [column.signal for column in trace.columns if column.signal.split(".")[1] in names]
    return max(float(np.max(np.abs(trace[signal] - exact[signal.split(".")[1]]))) for signal in signals)


def at_the_start(variant: str | None, m_c: float, signal: str) -> float:
    return float(simulate(variant, m_c, stop_time=0.001).unwrap()[signal][0])


def stored_and_dissipated(m_c: float) -> float:
    """Energy at the end [J]: of masses, springs and flange, and what the dampers have taken.

    System2 does not tell how its mass moves, but the force of spring and damper 2 does:
    c2 (v2 − v1) + k2 (x2 − x1) = F + m_c a1, an equation of first order for x2 − x1 =: d.
    """
    system = DualMass(m_c=m_c)
    trace = simulate(None, m_c, **EXACT).unwrap()
    x1, v1, a1, force = (trace[f"System1.{name}"] for name in ("x1", "v1", "a1", "F"))
    spring_damper = CubicSpline(trace.t, force + m_c * a1)
    h, rate = trace.t[1] - trace.t[0], system.k2 / system.c2
    d = [system.start[2] - system.start[0]]
    middles, ends = spring_damper(trace.t[:-1] + h / 2), spring_damper(trace.t)
    for left, middle, right in zip(ends[:-1], middles, ends[1:], strict=True):
        pushed = (np.exp(-rate * h) * left + 4 * np.exp(-rate * h / 2) * middle + right) * h / 6 / system.c2
        d.append(np.exp(-rate * h) * d[-1] + pushed)
    stretch = np.array(d)
    stretching = (ends - system.k2 * stretch) / system.c2
    x2, v2 = x1 + stretch, v1 + stretching
    stored = (system.m1 + m_c) * v1**2 + system.m2 * v2**2
    stored = (stored + system.k1 * x1**2 + system.k2 * stretch**2 + system.k3 * x2**2) / 2
    power = system.c1 * v1**2 + system.c2 * stretching**2 + system.c3 * v2**2
    return float(stored[-1] + simpson(power, x=trace.t))


def force_at_the_start(m_c: float) -> float:
    """a1 = (5 − m_c a1)/m1 = F [N]."""
    return 5.0 / (1.0 + m_c)


CLAIMS = (
    *(
        Claim(
            f"{signal} at the start, {name}, {flange}",
            "closed form: a1 = (k2 x2 − m_c a1)/m1, F = m1 a1",
            force_at_the_start(m_c),
            Absolute(1e-10),
            partial(at_the_start, variant, m_c, signal),
            unit=unit,
            digits=10,
        )
        for name, variant in CO_SIMULATED.items()
        for flange, m_c in FLANGES.items()
        for signal, unit in (("System2.F", "N"), ("System1.a1", "m/s²"))
    ),
    *(
        Claim(
            f"largest error of {what} over 10 s, model exchange, {name}, {flange}",
            "matrix exponential",
            bound,
            AtMost(),
            partial(error, variant, m_c, names, **EXACT),
            unit=unit,
            digits=1,
        )
        for name, variant in VARIANTS.items()
        for flange, m_c in FLANGES.items()
        for what, names, bound, unit in (
            ("x1 and v1", MOTIONS, 1e-8, "m, m/s"),
            ("F and a1", FORCES, 1e-7, "N, m/s²"),
        )
    ),
    *(
        Claim(
            f"largest error of x1 over 10 s of a run without settings, {name}, {flange}",
            "matrix exponential; second order at 1e-3 s",
            1e-6,
            AtMost(),
            partial(error, variant, m_c, ("x1",)),
            unit="m",
            digits=1,
        )
        for name, variant in VARIANTS.items()
        for flange, m_c in FLANGES.items()
    ),
    *(
        Claim(
            f"largest error of x1 over 10 s with macro steps of 5e-4 s, FMI 1.0, {flange}",
            "matrix exponential; second order, no iteration, because FMI 1.0 saves no states",
            1e-6,
            AtMost(),
            partial(error, CO_SIMULATED["FMI 1.0"], m_c, ("x1",), step_size=5e-4),
            unit="m",
            digits=1,
        )
        for flange, m_c in FLANGES.items()
    ),
    *(
        Claim(
            f"stored and dissipated energy after 10 s, model exchange, {flange}",
            "conserved; at the start springs 2 and 3 are stretched by 0.5 m",
            3.75,
            Absolute(1e-6),
            partial(stored_and_dissipated, m_c),
            unit="J",
            digits=8,
        )
        for flange, m_c in FLANGES.items()
    ),
)

PAGE = "systems/dual_mass_oscillator/README.md"


def figures() -> Iterator[Claim]:
    """Figures of the README of this system."""

    def first(found: Run, signal: str) -> float:
        return float(found.trace[signal][0])

    for row in table(PAGE, "`ssptool run systems/dual_mass_oscillator …`"):
        for (text, words), signal in zip(row.cells, ("System1.a1", "System2.F"), strict=True):
            yield run_figure(text, words, partial(first, signal=signal))
    (energy,) = quoted(PAGE, "add up to the # J of the start within 1e-6 J")
    yield figure("stored and dissipated energy after 10 s, model exchange", energy, partial(stored_and_dissipated, 0.0))
