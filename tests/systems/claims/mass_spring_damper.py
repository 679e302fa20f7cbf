"""A mass-spring-damper as a part, used twice: each use follows the closed form of its own parameters."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import cumulative_simpson

import ssptool
from ssptool import Settings
from ssptool.types import Trace
from tests.systems.claims.catalogue import SYSTEMS
from tests.systems.claims.claim import Absolute, AtMost, Claim, Relative
from tests.systems.claims.pages import Run, quoted, run_figure, table
from tests.systems.exact_linear import states

SYSTEM = SYSTEMS / "mass_spring_damper"
RESOURCES = SYSTEM / "resources"
CHAIN = "MassSpringDamperChain"
M, C, G, THETA, S0 = 2.0, 50.0, 9.81, np.pi / 6, 0.3
EXACT = {"implementation": "me", "integrator": "adams", "tolerance": 1e-11, "step_size": 0.01}
FINE = EXACT | {"step_size": 1e-3}
"""Rows near enough for the lost work, which Simpson's rule adds up."""
LEVEL = {"mass.m": "1", "mass.theta": "0", "mass.s0": "0.1", "mass.v0": "1"} | {
    "spring_damper.c": "10",
    "spring_damper.d": "0.5",
}
Floats = NDArray[np.float64]


def exact(t: Floats, d: float) -> Floats:
    """Positions (n,) [m] of a mass that starts at rest, held by a spring-damper at a wall."""
    return exact_motion(t, d)[0]


def exact_motion(t: Floats, d: float) -> tuple[Floats, Floats]:
    """Positions and velocities, each (n,) [m, m/s]."""
    rest = -M * G * np.sin(THETA) / C
    k, q = d / (2 * M), C / M - (d / (2 * M)) ** 2
    w = np.sqrt(abs(q))
    if q > 0:
        cosine, sine = np.cos(w * t), np.sin(w * t) / w
    elif q < 0:
        cosine, sine = np.cosh(w * t), np.sinh(w * t) / w
    else:
        cosine, sine = np.ones_like(t), t
    fading = np.exp(-k * t) * (S0 - rest)
    return rest + fading * (cosine + k * sine), -fading * C / M * sine


def exact_chain(t: Floats) -> Floats:
    """Positions (n, 2) [m] of two masses, the second fixed to the first: their matrix exponential with the weight as a
    fifth state.
    """
    d1, d2, weight = 4.0, 52.0, -G * np.sin(THETA)
    pull = np.array([-C, -d2, C, d2, 0]) / M  # of the second spring-damper on the first mass, per mass
    first = pull + np.array([-C / M, -d1 / M, 0, 0, weight])
    second = -pull + np.array([0, 0, 0, 0, weight])
    matrix = np.array([[0, 1, 0, 0, 0], first, [0, 0, 0, 1, 0], second, np.zeros(5)])
    return states(matrix, np.array([S0, 0, S0, 0, 1]), t)[:, [0, 2]]


def traced(given: str = "", start_values: dict[str, str] | None = None, **settings) -> Trace:
    """A run; `given`: a parameter set in the resources."""
    return ssptool.simulate(
        SYSTEM,
        variant=settings.pop("variant", None),
        record=settings.pop("record", ()),
        parameters=[RESOURCES / f"{given}.ssv"] if given else [],
        start_values=start_values or {},
        settings=Settings(**(settings or EXACT)),
    ).unwrap()


def position(
    name: str, given: str = "", start_values: dict[str, str] | None = None, **settings
) -> tuple[Floats, Floats]:
    """Times and positions of the mass of one of the parts."""
    values = {f"{name}.{target}": value for target, value in (start_values or {}).items()}
    trace = traced(given, values, **settings)
    return trace.t, trace[f"{name}.mass.s"]


def at(time: float, name: str, given: str = "", start_values: dict[str, str] | None = None) -> float:
    t, s = position(name, given, start_values)
    return float(s[np.searchsorted(t, time - 1e-9)])


def error(name: str, d: float, given: str = "", **settings) -> float:
    """Largest deviation from the closed form [m]."""
    t, s = position(name, given, **settings)
    return float(np.max(np.abs(s - exact(t, d))))


def chain_error(name: str, column: int) -> float:
    t, s = position(name, variant=CHAIN, **EXACT)
    return float(np.max(np.abs(s - exact_chain(t)[:, column])))


def signal_error(name: str, d: float, given: str = "") -> float:
    """Largest deviation of the signals between the flanges from the closed form, relative to their largest values."""
    trace = traced(given, record=[f"{name}.spring_damper.*"], **EXACT)
    s, v = exact_motion(trace.t, d)
    expected = {"s_rel": -s, "v_rel": -v, "f_c": -C * s, "f_d": -d * v, "f": -C * s - d * v, "lossPower": d * v**2}
    found = {signal: trace[f"{name}.spring_damper.{signal}"] for signal in expected}
    return max(float(np.max(np.abs(found[one] - x)) / np.max(np.abs(x))) for one, x in expected.items())


def stored_energy(trace: Trace, *names: str) -> Floats:
    """Kinetic energy, weight and springs (n,) [J] of parts with m = 2 kg, c = 50 N/m, a slope of 30 degrees."""
    total = np.zeros_like(trace.t)
    for name in names:
        s, v, s_rel = (trace[f"{name}.{signal}"] for signal in ("mass.s", "mass.v", "spring_damper.s_rel"))
        total += M * v**2 / 2 + M * G * np.sin(THETA) * s + C * s_rel**2 / 2
    return total


def lost_work(trace: Trace, *names: str) -> Floats:
    """Lost in the dampers of parts until each row (n,) [J]."""
    power = np.sum([trace[f"{name}.spring_damper.lossPower"] for name in names], axis=0)
    return np.asarray(cumulative_simpson(power, x=trace.t, initial=0.0))


def energy_defect(*names: str, given: str = "", **settings) -> float:
    """Largest change of stored energy and lost work together, relative to the energy at the start."""
    record = [f"{name}.{pattern}" for name in names for pattern in ("mass.*", "spring_damper.*")]
    trace = traced(given, record=record, **settings)
    return energy_change(trace, *names)


def energy_change(trace: Trace, *names: str) -> float:
    total = stored_energy(trace, *names) + lost_work(trace, *names)
    return float(np.max(np.abs(total / total[0] - 1)))


def drift(given: str) -> float:
    """Largest distance of the first mass from where it starts [m]."""
    return float(np.max(np.abs(position("first", given)[1] - S0)))


def order(name: str, d: float) -> float:
    """Of convergence, from two steps of runs without other settings."""
    return float(np.log2(error(name, d, step_size=2e-3) / error(name, d, step_size=1e-3)))


USES = {
    "underdamped": ("first", 4.0, ""),
    "critically damped": ("first", 20.0, "critical"),
    "overdamped": ("second", 52.0, ""),
}
VALUES = {
    "underdamped": {0.1: 0.243095196510, 0.5: -0.388707089400, 1.0: -0.198951156995, 5.0: -0.193920380924},
    "critically damped": {0.1: 0.255240770024, 0.5: -0.053642982890, 1.0: -0.176139784194, 5.0: -0.196199999821},
    "overdamped": {0.1: 0.269790733101, 0.5: 0.117300457690, 1.0: -0.006052313845, 5.0: -0.192717323645},
}
"""Name of the case → time [s] → position [m]."""
FROM_ACCELERATION = {0.5: 0.235726813335, 1.0: 0.240332724119, 5.0: 0.248156997125}
CLOSED_FORM = "closed form of a linear oscillator under a constant force"

CLAIMS = (
    *(
        Claim(
            f"s at {t:g} s, {case}",
            CLOSED_FORM,
            expected,
            Absolute(1e-8),
            partial(at, t, USES[case][0], USES[case][2]),
            unit="m",
            digits=8,
        )
        for case, values in VALUES.items()
        for t, expected in values.items()
    ),
    *(
        Claim(
            f"largest error of s over 5 s, model exchange, {case}",
            CLOSED_FORM,
            1e-8,
            AtMost(),
            partial(error, name, d, given),
            unit="m",
            digits=1,
        )
        for case, (name, d, given) in USES.items()
    ),
    *(
        Claim(
            f"largest relative error of s_rel, v_rel, f_c, f_d, f and lossPower over 5 s, model exchange, {case}",
            CLOSED_FORM,
            1e-8,
            AtMost(),
            partial(signal_error, name, d, given),
            digits=1,
        )
        for case, (name, d, given) in USES.items()
    ),
    *(
        Claim(
            f"largest relative change of stored energy and work lost in the damper over 5 s, model exchange, {case}",
            "conserved",
            0.0,
            Absolute(2e-8),
            partial(energy_defect, name, given=given, **FINE),
            digits=1,
        )
        for case, (name, _, given) in USES.items()
    ),
    Claim(
        "largest relative change of stored energy and work lost in both dampers over 5 s, model exchange, in a chain",
        "conserved",
        0.0,
        Absolute(2e-8),
        partial(energy_defect, "first", "second", variant=CHAIN, **FINE),
        digits=1,
    ),
    *(
        Claim(
            f"largest relative change of stored energy and lost work over 5 s of a run without settings, {case}",
            "conserved, except for the error of a coupling of order 2",
            0.0,
            Absolute(5e-6),
            partial(energy_defect, name, step_size=1e-3),
            digits=1,
        )
        for case, (name, _, given) in USES.items()
        if not given
    ),
    *(
        Claim(
            f"largest error of s over 5 s of a run without settings, {case}",
            CLOSED_FORM,
            1e-6,
            AtMost(),
            partial(error, name, d, step_size=1e-3),
            unit="m",
            digits=2,
        )
        for case, (name, d, given) in USES.items()
        if not given
    ),
    *(
        Claim(
            f"order of convergence of a run without settings, {case}",
            "inputs that are linear over a step give order 2",
            2.0,
            Relative(0.02),
            partial(order, name, d),
            digits=3,
        )
        for case, (name, d, given) in USES.items()
        if not given
    ),
    Claim(
        "largest distance from the start, stretch found from a0 = 0 and v0 = 0 (R1)",
        "closed form: the mass stays at rest, with any slope",
        0.0,
        Absolute(1e-12),
        partial(drift, "equilibrium"),
        unit="m",
        digits=1,
    ),
    *(
        Claim(
            f"s at {t:g} s, stretch found from a0 = −1.5 m/s² and v0 = 0.1 m/s (R1)",
            CLOSED_FORM,
            expected,
            Absolute(1e-8),
            partial(at, t, "first", "from_acceleration"),
            unit="m",
            digits=8,
        )
        for t, expected in FROM_ACCELERATION.items()
    ),
    *(
        Claim(
            f"s at {t:g} s, level, m = 1 kg, c = 10 N/m, d = 0.5 N.s/m, s0 = 0.1 m, v0 = 1 m/s",
            CLOSED_FORM,
            expected,
            Absolute(1e-8),
            partial(at, t, "first", start_values=LEVEL),
            unit="m",
            digits=8,
        )
        for t, expected in {1.0: -0.080607165314, 5.0: -0.033631007470}.items()
    ),
    *(
        Claim(
            f"largest error of s over 5 s, model exchange, in a chain, {name} mass",
            "matrix exponential",
            1e-8,
            AtMost(),
            partial(chain_error, name, column),
            unit="m",
            digits=1,
        )
        for name, column in (("first", 0), ("second", 1))
    ),
)

PAGE = "systems/mass_spring_damper/README.md"


def _at(found: Run, time: float, signal: str) -> float:
    return float(found.trace[signal][np.searchsorted(found.trace.t, time - 1e-9)])


def figures() -> Iterator[Claim]:
    """Figures of the README of this system."""
    for row in table(PAGE, "`ssptool run systems/mass_spring_damper --implementation me"):
        (mass, _), *positions = row.cells
        for (text, words), time in zip(positions, (0.5, 5.0), strict=True):
            yield run_figure(text, words, partial(_at, time=time, signal=f"{mass}.mass.s"))
    for row in table(PAGE, "`ssptool run systems/mass_spring_damper …`"):
        for (text, words), name in zip(row.cells, ("mass.a", "spring_damper.stretch"), strict=True):
            yield run_figure(text, words, partial(_at, time=0.0, signal=f"first.{name}"))
    (start, lost) = quoted(PAGE, "`first` starts with # J and loses # J until t = 5 s")
    words = ("systems/mass_spring_damper", "--implementation", "me", "--tolerance", "1e-11", "--record", "first.*")
    yield run_figure(start, words, lambda found: float(stored_energy(found.trace, "first")[0]))
    yield run_figure(lost, words, lambda found: float(lost_work(found.trace, "first")[-1]))
    (defect,) = quoted(PAGE, "decrease and lost work differ by less than # of that energy")
    yield run_figure(f"< {defect}", words, lambda found: energy_change(found.trace, "first"))
    (rest,) = quoted(PAGE, "they come to rest at −m g sin(theta)/c = # m")
    words = ("systems/mass_spring_damper", "--stop-time", "100", "--step-size", "0.1")
    yield run_figure(rest, words, partial(_at, time=100.0, signal="first.mass.s"))
