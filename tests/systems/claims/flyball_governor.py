"""The flyball governor with stiff couplers: integrated as one, and cut into parts that are co-simulated."""

from collections.abc import Iterator
from functools import cache, partial

from ssptool.types import Trace
from tests.systems import flyball_governor as governor
from tests.systems.claims.claim import Absolute, AtLeast, AtMost, Claim, Relative
from tests.systems.claims.couplings import NAMES
from tests.systems.claims.pages import Run, options, quoted, run_figure, table
from tests.systems.flyball_governor import CUT_AT_COUPLER, CUT_AT_SPINDLE

REFERENCE = "independent integration of the equations of motion with Radau's method (tests/systems)"
PUBLISHED = "benchmark A05 of the library of multibody systems benchmarks"
PROTOTYPE = "prototype of the coupling with exact integration of the parts"


@cache
def trace() -> Trace:
    """Four parts as one differential equation over 10 s."""
    return governor.run(tolerance=1e-8).unwrap()


@cache
def long_trace() -> Trace:
    """The 350 s of the first edition of the benchmark; errors of the period add up over 341 swings."""
    return governor.run(tolerance=1e-10, stop_time=350.0, step_size=0.1).unwrap()


def _later_error(**settings: float) -> float:
    """Largest |s − reference| [m] at the later instants of a run of 350 s with steps as they are chosen."""
    return max(governor.later_errors(governor.run(stop_time=350.0, **settings).unwrap()).values())


def _split(variant: str, cut: str, name: str, step: float, expected: float, stop: float = 10.0) -> Claim:
    measure = partial(governor.coupling_error, variant, step, stop, **NAMES[name])
    title = f"largest error of s over {stop:g} s, {cut}, {name}, step {step:g} s"
    return Claim(title, PROTOTYPE, expected, Relative(0.02), measure, unit="m", digits=3)


def _rattles(step: float) -> Claim:
    return Claim(
        f"largest error of s over 10 s, cut at the couplers, held, step {step:g} s",
        "unstable beyond 2/8121 s, the fastest eigenvalue being −8121 1/s",
        1e-2,
        AtLeast(),
        partial(governor.coupling_error, CUT_AT_COUPLER, step, **NAMES["held"]),
        unit="m",
        digits=1,
    )


def _newton(name: str, step: float, expected: float) -> Claim:
    return Claim(
        f"largest error of s over 10 s, cut at the couplers, interface Newton, {name}, step {step:g} s",
        PROTOTYPE,
        expected,
        Relative(0.02),
        partial(governor.coupling_error, CUT_AT_COUPLER, step, acceleration="newton", **NAMES[name]),
        unit="m",
        digits=3,
    )


AT_SPINDLE = {
    "held, one step late": {1e-3: 1.74e-2, 5e-3: 1.20e-1, 1e-2: 4.09e-1},
    "held": {1e-3: 5.53e-3, 5e-3: 3.04e-2, 1e-2: 6.92e-2, 2e-2: 1.86e-1},
    "extrapolated": {1e-3: 2.46e-5, 5e-3: 6.11e-4, 1e-2: 2.43e-3, 2e-2: 9.76e-3},
    "iterated, end value": {1e-3: 5.28e-3, 5e-3: 2.42e-2, 1e-2: 4.36e-2, 2e-2: 7.19e-2},
    "iterated, interpolated": {1e-3: 4.92e-6, 5e-3: 1.23e-4, 1e-2: 4.92e-4, 2e-2: 1.97e-3},
}
"""[m] by step [s]."""

CLAIMS = (
    Claim(
        "largest error of s over 10 s, model exchange",
        REFERENCE,
        2e-6,
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
    *(
        Claim(
            f"largest error of s at 20, 50, 100, 200 and 350 s, model exchange, {case}",
            REFERENCE,
            expected,
            AtMost(),
            partial(_later_error, **settings),
            unit="m",
            digits=1,
        )
        for case, expected, settings in (("no settings", 5e-5, {}), ("tolerance 1e-6", 5e-3, {"tolerance": 1e-6}))
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
        for step, expected in ((5e-5, 1.60e-5), (1e-4, 3.21e-5), (2e-4, 6.42e-5), (2.4e-4, 7.70e-5))
    ),
    *map(_rattles, (2.6e-4, 3e-4)),
    *(
        _split(CUT_AT_COUPLER, "cut at the couplers", "held, one step late", step, expected, stop=3.0)
        for step, expected in ((5e-5, 1.27e-5), (1e-4, 2.53e-5))
    ),
    *(_newton("iterated, end value", step, expected) for step, expected in ((1e-3, 3.21e-4), (1e-2, 3.19e-3))),
    *(_newton("iterated, interpolated", step, expected) for step, expected in ((1e-3, 1.84e-6), (1e-2, 2.26e-4))),
)

PAGE = "systems/flyball_governor/README.md"


def _height(run: Run) -> float:
    """Largest |s − reference| [m]."""
    return governor.height_error(run.trace, _signal(run))


def _signal(run: Run) -> str:
    return "Linkage.s" if "Linkage.s" in run.trace.signals else "Slider.s"


def _height_later(run: Run) -> float:
    return max(governor.later_errors(run.trace).values()) if run.trace.t[-1] > 10 else _height(run)


def _energy(run: Run) -> float:
    return governor.energy_defect(run.trace)


def _lowest(run: Run, last: float = 10.0) -> float:
    return float(run.trace[_signal(run)][run.trace.t > run.trace.t[-1] - last].min())


def _highest(run: Run, last: float = 10.0) -> float:
    return float(run.trace[_signal(run)][run.trace.t > run.trace.t[-1] - last].max())


def figures() -> Iterator[Claim]:
    """Figures of the README of this system."""
    yield from _figures_of_one_equation()
    for row in table(PAGE, "`ssptool run systems/flyball_governor --variant FlyballGovernorCutAtSpindle"):
        *errors, (swing, words) = row.cells
        yield from (run_figure(text, words, _height) for text, words in errors)
        words = (*words, "--step-size", "1e-2")
        for text, measure in zip(swing.split(" … "), (_lowest, _highest), strict=True):
            yield run_figure(text, words, partial(measure, last=1.03))
    for row in table(PAGE, "`ssptool run systems/flyball_governor --variant FlyballGovernorCutAtCoupler …`"):
        ((text, words),) = row.cells
        yield run_figure(text, words, _height)
    for row in table(PAGE, "`ssptool run systems/flyball_governor --variant FlyballGovernorCutAtCoupler --stop-time"):
        for text, words in row.cells:
            yield run_figure(text, words, lambda found: float(found.statistics["iterations_mean"]))


def _figures_of_one_equation() -> Iterator[Claim]:
    """Those of the four parts that are integrated as one differential equation."""
    for row in table(PAGE, "`ssptool run systems/flyball_governor --tolerance 1e-8 --stop-time 3"):
        for text, words in row.cells:
            yield run_figure(text, words, lambda found: governor.published_error(found.trace))
    sentence = "between # and # m (`ssptool run systems/flyball_governor --tolerance 1e-10`)"
    for text, measure in zip(quoted(PAGE, sentence), (_lowest, _highest), strict=True):
        yield run_figure(text, options(sentence), measure)
    measures = (_height_later, _energy, lambda found: float(found.statistics["evaluations"]))
    for row in table(PAGE, "`ssptool run systems/flyball_governor …`"):
        for (text, words), measure in zip(row.cells, measures if len(row.cells) == 3 else measures[::2], strict=True):
            yield run_figure(text, words, measure)
    for text, measure in zip(quoted(PAGE, "at 1e-2 s (exact: # … # m)"), (_lowest, _highest), strict=True):
        yield run_figure(text, options(sentence), partial(measure, last=1.03))
    (arms,) = quoted(PAGE, "(arms # kg.m2")
    yield run_figure(arms, ("systems/flyball_governor",), lambda found: float(found.trace["Arms.J_arms"][0]))
    (text,) = quoted(PAGE, "sum of stored and dissipated energy, # J at the start")
    yield run_figure(text, ("systems/flyball_governor",), lambda found: float(governor.stored_energy(found.trace)[0]))
