"""The rotational spring-mass-damper, each part a component: its exact motion, and how each coupling departs from it."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import simpson

import ssptool
from ssptool import Settings
from ssptool.engine.failure import Ending, RunError
from tests.systems.claims.catalogue import SYSTEMS
from tests.systems.claims.claim import Absolute, AtLeast, AtMost, Claim, Relative
from tests.systems.claims.couplings import END_VALUE, NAMES
from tests.systems.claims.pages import Run, figure, options, quoted, run_figure, table
from tests.systems.exact_linear import states

SYSTEM = SYSTEMS / "rotational_spring_mass_damper"
SIGNALS = ("inertia1.phi", "inertia1.w", "inertia2.phi", "inertia2.w")
J1, J2, C1, C2, D1, D2 = 0.4, 1.0, 11.0, 5.0, 0.2, 1.0
MATRIX = np.array(
    [
        [0, 1, 0, 0],
        [-C1 / J1, -D1 / J1, C1 / J1, D1 / J1],
        [0, 0, 0, 1],
        [C1 / J2, D1 / J2, -(C1 + C2) / J2, -(D1 + D2) / J2],
    ]
)
START = np.array([0.0, 0.0, 1.0, 0.0])
EXACT = {"implementation": "me", "integrator": "adams", "tolerance": 1e-11}
Floats = NDArray[np.float64]


def run(**settings) -> tuple[Floats, Floats]:
    """Times (n,) and the four states (n, 4) of a run that reaches its end."""
    trace = ssptool.simulate(SYSTEM, settings=Settings(**settings)).unwrap()
    return trace.t, np.stack([trace[signal] for signal in SIGNALS], axis=1)


def state_error(**settings) -> float:
    """Largest deviation of an angle or angular velocity from the closed form over 10 s [rad, rad/s]."""
    t, y = run(**settings)
    return float(np.max(np.abs(y - states(MATRIX, START, t))))


def torque_error(**settings) -> float:
    """Largest deviation of a torque of a spring or damper from the closed form over 10 s [N.m]."""
    trace = ssptool.simulate(SYSTEM, settings=Settings(**settings)).unwrap()
    phi1, w1, phi2, w2 = states(MATRIX, START, trace.t).T
    exact = {
        "spring1": C1 * (phi1 - phi2),
        "damper1": D1 * (w1 - w2),
        "spring2": C2 * phi2,
        "damper2": D2 * w2,
    }
    return max(float(np.max(np.abs(trace[f"{name}.tau_a"] + torque))) for name, torque in exact.items())


def angle_error(**settings) -> float:
    """Largest deviation of an angle from the closed form over 10 s [rad]."""
    t, y = run(**settings)
    return float(np.max(np.abs(y - states(MATRIX, START, t))[:, [0, 2]]))


def energy(y: Floats) -> Floats:
    """Kinetic and spring energy (n,) [J]."""
    phi1, w1, phi2, w2 = y.T
    return (J1 * w1**2 + J2 * w2**2 + C1 * (phi1 - phi2) ** 2 + C2 * phi2**2) / 2


def stored_at_the_end() -> float:
    return float(energy(run(**EXACT)[1])[-1])


def stored_and_dissipated() -> float:
    """At the end [J]; Simpson's rule on 10 000 intervals adds less than 1e-10 J."""
    t, y = run(**EXACT)
    power = D1 * (y[:, 1] - y[:, 3]) ** 2 + D2 * y[:, 3] ** 2
    return float(energy(y)[-1] + simpson(power, x=t))


def growth(step: float, count: int, **settings) -> float:
    """Amplitude of the last fifth of a run over that of the second fifth, when only the slowest mode is left; infinite
    if the run blows up.
    """
    try:
        _, y = run(step_size=step, stop_time=step * count, **settings)
    except RunError as error:
        if error.failure.ending is not Ending.UNSTABLE:
            raise
        return np.inf
    return float(np.max(np.abs(y[-count // 5 :])) / np.max(np.abs(y[count // 5 : 2 * count // 5])))


def limit(holds: Callable[[float], bool], near: float) -> float:
    """Where `holds` ends, between 0.9 and 1.1 of `near`, by bisection to 0.3 %; nan if it does not end in between."""
    below, above = 0.9 * near, 1.1 * near
    if not holds(below) or holds(above):
        return float("nan")
    for _ in range(5):
        middle = (below + above) / 2
        below, above = (middle, above) if holds(middle) else (below, middle)
    return (below + above) / 2


def stability_limit(near: float, count: int, **settings) -> float:
    return limit(lambda step: growth(step, count, **settings) < 1, near)


def contraction_limit(near: float, **settings) -> float:
    """Largest step at which plain repetition of an iterated step converges."""

    def converges(step: float) -> bool:
        more = {"max_iterations": 2000, "acceleration": "none"}
        chosen = Settings(step_size=step, stop_time=20 * step, **more, **settings)
        return ssptool.simulate(SYSTEM, settings=chosen).ok

    return limit(converges, near)


ERRORS = {
    "held": {0.1: None, 0.01: 6.473e-2, 0.001: 5.969e-3},
    "held, one step late": {0.1: None, 0.01: 2.526e-1, 0.001: 1.824e-2},
    "extrapolated": {0.1: 3.398e-1, 0.01: 2.933e-3, 0.001: 2.940e-5},
    "Gauss–Seidel": {0.1: None, 0.01: 7.761e-2, 0.001: 7.355e-3},
    "iterated, end value": {0.1: 3.364e-1, 0.01: 5.428e-2, 0.001: 5.865e-3},
    "iterated, interpolated": {0.1: 5.329e-2, 0.01: 5.490e-4, 0.001: 5.491e-6},
}
"""[rad]; None: unstable."""
LIMITS = {
    "held": (0.052312, 2000),
    "held, one step late": (0.017295, 2000),
    "extrapolated": (0.132718, 2000),
    "Gauss–Seidel": (0.065894, 2000),
    "iterated, interpolated": (0.547255, 200),
}
"""[s], and how many steps show it."""
DIFFERENCE_EQUATION = "difference equation of the ideal coupling against the matrix exponential"


def _error(name: str, step: float, expected: float | None) -> Claim:
    settings = NAMES[name]
    if expected is None:
        title, measure = f"growth of the amplitude, {name}, step {step:g} s", partial(growth, step, 100, **settings)
        return Claim(title, "spectral radius of the difference equation", 1.0, AtLeast(), measure)
    title = f"largest error of the angles over 10 s, {name}, step {step:g} s"
    measure = partial(angle_error, step_size=step, **settings)
    return Claim(title, DIFFERENCE_EQUATION, expected, Relative(1e-3), measure, unit="rad", digits=4)


CLAIMS = (
    Claim(
        "largest error of angles and angular velocities, model exchange",
        "matrix exponential",
        1e-8,
        AtMost(),
        partial(state_error, **EXACT),
        digits=1,
    ),
    Claim(
        "largest error of the torques, model exchange",
        "matrix exponential",
        1e-7,
        AtMost(),
        partial(torque_error, **EXACT),
        unit="N.m",
        digits=1,
    ),
    Claim(
        "stored energy after 10 s, model exchange",
        "matrix exponential",
        1.489933452e-3,
        Absolute(1e-9),
        stored_at_the_end,
        unit="J",
        digits=8,
    ),
    Claim(
        "stored and dissipated energy after 10 s, model exchange",
        "conserved; at the start both springs are wound up by 1 rad",
        8.0,
        Absolute(1e-6),
        stored_and_dissipated,
        unit="J",
        digits=8,
    ),
    *(_error(name, step, expected) for name, errors in ERRORS.items() for step, expected in errors.items()),
    *(
        Claim(
            f"largest stable step, {name}",
            "spectral radius 1 of the difference equation",
            expected,
            Relative(0.01),
            partial(stability_limit, expected, count, **NAMES[name]),
            unit="s",
            digits=3,
        )
        for name, (expected, count) in LIMITS.items()
    ),
    *(
        Claim(
            f"growth of the amplitude, iterated, end value, step {step:g} s",
            "spectral radius of the difference equation: stable with any step",
            1.0,
            AtMost(),
            partial(growth, step, 200, **END_VALUE),
        )
        for step in (0.1, 1.0, 5.0)
    ),
    *(
        Claim(
            f"largest step at which plain repetition converges, {name}",
            "spectral radius 1 of one repetition",
            expected,
            Relative(0.01),
            partial(contraction_limit, expected, **NAMES[name]),
            unit="s",
            digits=3,
        )
        for name, expected in (("iterated, end value", 0.197943), ("iterated, interpolated", 0.348637))
    ),
    Claim(
        "largest error of the angles over 10 s of a run without settings",
        DIFFERENCE_EQUATION,
        5.491e-6,
        Relative(1e-3),
        angle_error,
        unit="rad",
        digits=4,
    ),
)

PAGE = "systems/rotational_spring_mass_damper/README.md"


def _angles(found: Run) -> float:
    """Largest error of the two angles [rad]."""
    exact = states(MATRIX, START, found.trace.t)
    return max(float(np.max(np.abs(found.trace[SIGNALS[k]] - exact[:, k]))) for k in (0, 2))


def figures() -> Iterator[Claim]:
    """Figures of the README of this system; `unstable`: over 10 s the error exceeds the 1 rad of the start."""
    for row in table(PAGE, "`ssptool run systems/rotational_spring_mass_damper …`"):
        *errors, (limit, _) = row.cells
        for text, words in errors:
            yield run_figure("> 1" if text == "unstable" else text, words, _angles)
        name = row.name.partition(":")[0]
        for claim in CLAIMS:
            if claim.name == f"largest stable step, {name}":
                yield figure(claim.name, limit, claim.measure)
    sentence = (
        "`ssptool run systems/rotational_spring_mass_damper --implementation me --integrator adams --tolerance 1e-10`"
    )
    (bound,) = quoted(PAGE, f"{sentence} integrates all parts as one differential equation, with an error < # rad")
    yield run_figure(f"< {bound}", options(sentence), _angles)
