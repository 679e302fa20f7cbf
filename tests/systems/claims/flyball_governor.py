"""The flyball governor with stiff couplers: integrated as one, and cut into parts that are co-simulated."""

from functools import cache, partial

from ssptool.engine.trace import Trace
from tests.systems import flyball_governor as governor
from tests.systems.claims.claim import Absolute, AtLeast, AtMost, Claim, Relative
from tests.systems.claims.couplings import NAMES
from tests.systems.flyball_governor import CUT_AT_COUPLER, CUT_AT_SPINDLE

REFERENCE = "own integration of the equations of motion by Radau's method (tests/systems)"
PUBLISHED = "benchmark A05 of the library of multibody systems benchmarks"
PROTOTYPE = "prototype of the coupling with parts integrated exactly"


@cache
def trace() -> Trace:
    """Four parts as one differential equation over 10 s."""
    return governor.run(tolerance=1e-8).unwrap()


@cache
def long_trace() -> Trace:
    """The 350 s of the first edition of the benchmark; errors of the period add up over 341 swings."""
    return governor.run(tolerance=1e-10, stop_time=350.0, step_size=0.1).unwrap()


def _split(variant: str, cut: str, name: str, step: float, expected: float) -> Claim:
    measure = partial(governor.coupling_error, variant, step, **NAMES[name])
    title = f"largest error of s over 10 s, {cut}, {name}, step {step:g} s"
    return Claim(title, PROTOTYPE, expected, Relative(0.02), measure, unit="m", digits=3)


AT_SPINDLE = {
    "held": {1e-3: 5.53e-3, 1e-2: 6.92e-2},
    "held, one step late": {1e-3: 1.74e-2, 1e-2: 4.09e-1},
    "extrapolated": {1e-3: 2.46e-5, 1e-2: 2.43e-3},
    "iterated, end value": {1e-3: 5.28e-3, 1e-2: 4.36e-2},
    "iterated, interpolated": {1e-3: 4.92e-6, 1e-2: 4.92e-4},
}
"""[m] by step [s]."""

CLAIMS = (
    Claim(
        "largest error of s on the grid of 0.1 s over 10 s, model exchange",
        REFERENCE,
        1e-6,
        AtMost(),
        lambda: governor.height_error(trace()),
        unit="m",
        digits=1,
    ),
    Claim(
        "largest difference of s from the published values over 3 s, model exchange",
        PUBLISHED,
        2e-6,
        AtMost(),
        lambda: governor.published_error(trace()),
        unit="m",
    ),
    Claim(
        "largest relative change of the angular momentum over 10 s, model exchange",
        "conserved: no torque acts about the axis",
        0.0,
        Absolute(1e-12),
        lambda: governor.momentum_drift(trace()),
        digits=1,
    ),
    Claim(
        "stored energy at the start",
        "closed form",
        237.413950441526,
        Relative(1e-12),
        lambda: float(governor.stored_energy(trace())[0]),
        unit="J",
        digits=12,
    ),
    Claim(
        "largest relative change of stored and dissipated energy over 10 s, model exchange",
        "conserved",
        0.0,
        Absolute(1e-6),
        lambda: governor.energy_defect(trace()),
        digits=1,
    ),
    Claim(
        "largest error of s at 20, 50, 100, 200 and 350 s, model exchange",
        REFERENCE,
        1e-6,
        AtMost(),
        lambda: max(governor.later_errors(long_trace()).values()),
        unit="m",
        digits=1,
    ),
    Claim(
        "largest relative change of the angular momentum over 350 s, model exchange",
        "conserved: no torque acts about the axis",
        0.0,
        Absolute(1e-12),
        lambda: governor.momentum_drift(long_trace()),
        digits=1,
    ),
    *(
        _split(CUT_AT_SPINDLE, "cut at the spindle", name, step, expected)
        for name, errors in AT_SPINDLE.items()
        for step, expected in errors.items()
    ),
    *(
        _split(CUT_AT_COUPLER, "cut at the couplers", "held", step, expected)
        for step, expected in ((1e-4, 3.21e-5), (2e-4, 6.42e-5))
    ),
    Claim(
        "largest error of s over 10 s, cut at the couplers, held, step 0.0003 s",
        "unstable beyond 2/8121 s, the fastest eigenvalue being −8121 1/s",
        1e-2,
        AtLeast(),
        partial(governor.coupling_error, CUT_AT_COUPLER, 3e-4, **NAMES["held"]),
        unit="m",
        digits=1,
    ),
    Claim(
        "largest error of s over 10 s, cut at the couplers, interface Newton, interpolated, step 0.001 s",
        PROTOTYPE,
        1.84e-6,
        Relative(0.02),
        partial(
            governor.coupling_error, CUT_AT_COUPLER, 1e-3, acceleration="newton", **NAMES["iterated, interpolated"]
        ),
        unit="m",
        digits=3,
    ),
)
