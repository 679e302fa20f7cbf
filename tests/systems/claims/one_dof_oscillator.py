"""A mass and its spring-damper, coupled in several ways: how much the oscillation grows that should not."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

import ssptool
from ssptool import Settings
from ssptool.types import Trace
from tests.systems.claims.catalogue import SYSTEMS
from tests.systems.claims.claim import Absolute, AtMost, Claim, Relative
from tests.systems.claims.couplings import END_VALUE, EXTRAPOLATED, HELD, INTERPOLATED, LATE, NAMES
from tests.systems.claims.pages import figure, quoted, run_figure, table

SYSTEM = SYSTEMS / "one_dof_oscillator"
WITH_DAMPING = SYSTEM / "resources" / "damped.ssv"
EXACT, NEWMARK, SYMPLECTIC = "OneDofOscillator", "OneDofOscillatorNewmark", "OneDofOscillatorSymplectic"
M, K, D, Z0 = 0.03575, 69.48, 0.0039, 0.0016
W0 = np.sqrt(K / M)


def simulate(variant: str = EXACT, damped: bool = False, at_rest: bool = False, **settings) -> Trace:
    """`at_rest`: Newmark's method starts from a = 0 instead of the acceleration that the spring gives."""
    return ssptool.simulate(
        SYSTEM,
        variant=variant,
        parameters=[WITH_DAMPING] if damped else [],
        start_values={"Mass.a": "0"} if at_rest else {},
        settings=Settings(**settings),
    ).unwrap()


def exact(t: NDArray[np.float64], damped: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Position [m] and velocity [m/s] after a start at rest."""
    s = D / (2 * M) if damped else 0.0
    w = np.sqrt(W0**2 - s**2)
    decay = np.exp(-s * t)
    return Z0 * decay * (np.cos(w * t) + s / w * np.sin(w * t)), -Z0 * decay * W0**2 / w * np.sin(w * t)


def amplitude(trace: Trace) -> float:
    """Of the oscillation at the end, relative to that at the start; exactly solved without damping, it stays 1."""
    return float(np.hypot(trace["Mass.z"][-1], trace["Mass.v"][-1] / W0) / Z0)


def grown(variant: str, damped: bool, at_rest: bool = False, **settings) -> float:
    return amplitude(simulate(variant, damped, at_rest, **settings))


def error(damped: bool, **settings) -> float:
    """Largest deviation of the position from the closed form, relative to the amplitude."""
    trace = simulate(damped=damped, **settings)
    return float(np.max(np.abs(trace["Mass.z"] - exact(trace.t, damped)[0])) / Z0)


def drift_of_the_invariant() -> float:
    """Over seventy periods, relative."""
    h = 1e-3
    trace = simulate(step_size=h, stop_time=10.0, **INTERPOLATED)
    invariant = trace["Mass.v"] ** 2 + W0**2 * (1 - (W0 * h) ** 2 / 12) * trace["Mass.z"] ** 2
    return float(np.ptp(invariant) / invariant[0])


def growth_rate(step: float, **settings) -> float:
    """[1/s] of the damped oscillation, from its amplitude after 2 s or a little more."""
    stop = round(2 / step) * step
    return float(np.log(amplitude(simulate(damped=True, step_size=step, stop_time=stop, **settings))) / stop)


def limit(near: float, **settings) -> float:
    """Step [s] at which the damped oscillation neither grows nor decays: the growth rate is linear in the step."""
    a, b = 0.9 * near, 1.1 * near
    at_a, at_b = growth_rate(a, **settings), growth_rate(b, **settings)
    return a - at_a * (b - a) / (at_b - at_a)


def outer(count: int) -> dict[str, object]:
    """Outer iterations of a solver of flows: so many evaluations of the force per step, the first at its start."""
    return {"approximation": "hold", "iterations": count, "prediction_order": 0}


CASES = [(False, 1e-3), (False, 5e-4), (True, 1e-3), (True, 5e-4)]
SCHEMES = {
    "Newmark, no outer iteration": (NEWMARK, HELD, (2.633900435, 1.623555273, 2.494671136, 1.537606606)),
    "Newmark, 2 outer iterations": (NEWMARK, outer(2), (0.999529213, 0.999941125, 0.946555957, 0.946970984)),
    "Newmark, 4 outer iterations": (NEWMARK, outer(4), (1.0, 1.0, 0.947051925, 0.947039264)),
    "Newmark, converged": (NEWMARK, END_VALUE, (1.0, 1.0, 0.947051925, 0.947039264)),
    "symplectic": (SYMPLECTIC, HELD, (0.999997261, 0.999999349, 0.947035250, 0.947034839)),
    "held": (EXACT, HELD, (1.623556497, 1.274250603, 1.537597725, 1.206766402)),
    "held, one step late": (EXACT, LATE, (4.272503106, 2.068580708, 4.047037790, 1.959120400)),
    "extrapolated": (EXACT, EXTRAPOLATED, (1.000634929, 1.000079746, 0.947573238, 0.947094801)),
    "iterated, end value": (EXACT, END_VALUE, (0.615931765, 0.784774991, 0.583321622, 0.743213487)),
    "iterated, interpolated": (EXACT, INTERPOLATED, (0.999999205, 0.999999790, 0.947046888, 0.947037991)),
}
FROM_REST = {
    "Newmark, no outer iteration": (HELD, (2.633257598, 1.623454075)),
    "Newmark, 2 outer iterations": (outer(2), (0.999286481, 0.999880400)),
    "Newmark, 4 outer iterations": (outer(4), (0.999757151, 0.999939271)),
}
DIFFERENCE_EQUATION = "amplification matrix of the scheme or ideal coupling to the power of the number of steps"
CLAIMS = (
    *(
        Claim(
            f"amplitude after 1 s, {scheme}, {'damped' if damped else 'undamped'}, step {step:g} s",
            DIFFERENCE_EQUATION,
            expected[number],
            Relative(1e-6),
            partial(grown, variant, damped, step_size=step, **settings),
            digits=8,
        )
        for scheme, (variant, settings, expected) in SCHEMES.items()
        for number, (damped, step) in enumerate(CASES)
    ),
    *(
        Claim(
            f"amplitude after 1 s, {scheme} from a(0) = 0, undamped, step {step:g} s",
            DIFFERENCE_EQUATION,
            expected[number],
            Relative(1e-6),
            partial(grown, NEWMARK, False, at_rest=True, step_size=step, **settings),
            digits=8,
        )
        for scheme, (settings, expected) in FROM_REST.items()
        for number, step in enumerate((1e-3, 5e-4))
    ),
    *(
        Claim(
            f"largest error of z, {name}, undamped, step {step:g} s, relative to the amplitude",
            "difference equation against closed form; the error grows with the square of the step",
            expected * (step / 1e-3) ** 2,
            Relative(0.02),
            partial(error, False, step_size=step, **NAMES[name]),
            digits=3,
        )
        for name, expected in (("extrapolated", 1.72e-2), ("iterated, interpolated", 3.43e-3))
        for step in (1e-3, 5e-4)
    ),
    *(
        Claim(
            f"largest error of z, model exchange, {'damped' if damped else 'undamped'}, relative to the amplitude",
            "closed form z0 e^(−st) (cos wt + (s/w) sin wt)",
            1e-8,
            AtMost(),
            partial(error, damped, implementation="me", integrator="adams", tolerance=1e-11),
            digits=1,
        )
        for damped in (False, True)
    ),
    *(
        Claim(
            f"largest stable step with damping, {name}",
            "spectral radius 1 of the difference equation; close to d = k tau for a mean delay tau",
            expected,
            Relative(0.01),
            partial(limit, expected, **NAMES[name]),
            unit="s",
            digits=4,
        )
        for name, expected in (("held", 1.122625e-4), ("held, one step late", 3.742077e-5))
    ),
    Claim(
        "largest stable step with damping, Newmark, no outer iteration",
        "spectral radius 1 of the difference equation; close to d = k tau for a mean delay tau",
        5.613117e-5,
        Relative(0.01),
        partial(limit, 5.613117e-5, variant=NEWMARK, **HELD),
        unit="s",
        digits=4,
    ),
    Claim(
        "drift over 10 s of v² + w0² (1 − w0² h²/12) z², iterated, interpolated, undamped",
        "invariant of Newmark's method with beta = 1/6; allowance for an iteration to 1e-8",
        0.0,
        Absolute(1e-10),
        drift_of_the_invariant,
        digits=1,
    ),
)

PAGE = "systems/one_dof_oscillator/README.md"


def figures() -> Iterator[Claim]:
    """Figures of the README of this system."""
    for header in (
        "`ssptool run systems/one_dof_oscillator …`",
        "`ssptool run systems/one_dof_oscillator --variant …`",
    ):
        for row in table(PAGE, header):
            for number, (text, words) in enumerate(row.cells):
                damping = ("--parameters", "systems/one_dof_oscillator/resources/damped.ssv") if number > 1 else ()
                yield run_figure(text, (*words, *damping), lambda found: amplitude(found.trace))
    (left,) = quoted(PAGE, "decays to # in 1 s")
    yield figure("amplitude of the closed form after 1 s, damped", left, amplitude_left)
    limits = (*quoted(PAGE, "# s (held) or # s (`--exchange late`"), *quoted(PAGE, "stable only below # s."))
    for text, claim in zip(limits, (one for one in CLAIMS if "largest stable step" in one.name), strict=True):
        yield figure(claim.name, text, claim.measure)


def amplitude_left() -> float:
    """Of the damped oscillation after 1 s, exactly."""
    z, v = exact(np.array(1.0), damped=True)
    return float(np.hypot(z, v / W0) / Z0)
