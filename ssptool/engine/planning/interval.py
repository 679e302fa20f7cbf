"""Start time, stop time and macro step of a run, each with the reason for its choice; resolution of times."""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from ssptool.engine.planning.fixed_steps import (
    CLOSE_TO_WHOLE,
    MOST_STEPS,
    FixedStep,
    common_step,
    divided,
    finer,
    fitted,
    fixed_steps,
    nearest_stops,
    of_one_size,
    whole_number,
)
from ssptool.engine.settings import ASKED, BY_NEED, Choice, Settings, StepDefault
from ssptool.engine.time_grid import exactly, grid_time
from ssptool.errors import WrongValue
from ssptool.fmu.description import InterfaceType
from ssptool.network.network import FlatComponent, Network

RESOLUTION = 4
"""Smallest step, in distances of neighbouring floating-point numbers; smaller steps would become unequal by rounding.
"""


COARSE = 1e-3
"""Time resolution, as a fraction of a macro step, above which results are affected."""


def coarseness(step: float, start: float, stop: float) -> str:
    """Warning if times between `start` and `stop` [s] are coarse compared with macro steps of this size [s]; usually
    empty.
    """
    latest = max(abs(start), abs(stop))
    spacing = math.ulp(latest)
    if spacing <= COARSE * step:
        return ""
    return (
        f"times about {latest:.3g} s can be told apart to {spacing:.2g} s only, {100 * spacing / step:.2g} % of a "
        "macro step: no event or communication point is more exact than that; start the run closer to time zero"
    )


def check_step(what: str, step: float, start: float, stop: float) -> None:
    """Check that a step [s] changes every time between `start` and `stop` [s].

    Raises
    ------
    WrongValue
        The step is not a positive number, or too small.
    """
    if not (step > 0 and math.isfinite(step)):
        raise WrongValue(f"{what} must be greater than 0 s and finite, found {step:g} s")
    least = RESOLUTION * math.ulp(max(abs(start), abs(stop)))
    if step < least:
        raise WrongValue(
            f"{what} must be at least {least:.2g} s, because times from {start:g} s to {stop:g} s cannot be told apart "
            f"more finely; found {step:g} s"
        )


DEFAULT_STEPS = 1000
"""Number of macro steps in a default experiment, if no step size is stated."""

GUESS = 1e-3
"""Default macro step [s], if nothing determines its size."""

ALONE = 1.0
"""Default duration of the run of a single FMU [s]."""

FEWEST_BY_NEED = 2
"""Smallest number of substeps of a component with `needed` substeps: with two or more, its inputs vary within a macro
step.
"""

NEEDED = "as many as needed"

OF_ONE_FMU = f"the FMU states none, so that its run takes {ALONE:g} s"
OF_GUESS = "a guess: neither the system nor its FMUs state a step size or a stop time"
OF_ROWS = "a thousandth of the interval; it is the distance of rows only, the integrator chooses its own steps"


class NoStopTime(WrongValue):
    """No stop time is stated for a run that starts at `start` [s]."""

    def __init__(self, start: float) -> None:
        super().__init__(
            "no stop time: neither the system nor its FMUs state one in a DefaultExperiment; give one (--stop-time; in "
            "Python and under [settings] of a study: stop_time)"
        )
        self.start = start

    def __reduce__(self) -> tuple[type["NoStopTime"], tuple[float]]:
        return NoStopTime, (self.start,)


class Interval(NamedTuple):
    """start + k·step, k = 0 … steps. [s]

    If `end` is given, the last step is shorter and ends there.
    """

    start: float
    step: float
    steps: int
    end: float | None = None

    @property
    def stop(self) -> float:
        return self.time(self.steps) if self.end is None else self.end

    def time(self, point: int) -> float:
        """Time [s] of this point of the grid."""
        return grid_time(self.start, self.step, point)


def choose_interval(
    network: Network, settings: Settings, of: Mapping[str, InterfaceType]
) -> tuple[Interval, Mapping[str, int], tuple[Choice, ...], tuple[str, ...]]:
    """The times of a run and the substeps of components in each macro step, with reasons and notes; `of` is the
    interface of each component.

    Raises
    ------
    WrongValue
        There is no stop time; it is before the start; the step is not positive; the requested step size does not divide
        the interval into whole steps, to within 1e-9 of a step, although an FMU needs whole steps; FMUs do not accept
        steps of this size; there are more than `MOST_STEPS` steps.
    """
    start, start_reason, start_place = start_time(network, settings)
    stop, stop_reason, stop_place = _stop(network, settings)
    for what, time in (("start", start), ("stop", stop)):
        if not math.isfinite(time):
            raise WrongValue(f"the {what} time must be a finite number of seconds, found {time:g}")
    if stop < start:
        raise WrongValue(f"the stop time must not be before the start time, found {start:g} s … {stop:g} s")
    if settings.step_size is not None:
        check_step("the step size", settings.step_size, start, stop)
    fixed = fixed_steps(network, of, settings.step_size)
    interval, chosen = (
        _in_fixed_steps(network, settings, fixed, start, stop)
        if fixed
        else _interval(network, settings, of, start, stop)
    )
    if interval.steps > MOST_STEPS:
        raise WrongValue(
            f"from t = {start:g} s to t = {stop:g} s there are {interval.steps:.3g} macro steps of {interval.step:g} s "
            f"(step size: {chosen.reason}; stop time: {stop_reason}), allowed are {MOST_STEPS:.0e}; "
            "choose an earlier --stop-time or a larger --step-size"
        )
    choices = (
        Choice("start_time", f"{start:g} s", start_reason, start_place),
        Choice("stop_time", f"{stop:g} s", stop_reason, stop_place),
        chosen,
    )
    substeps, more = _substeps(network, settings, of, fixed, interval.step)
    return interval, substeps, (*choices, *more), tuple(_notes(interval, chosen, stop_reason, stop_place))


def _notes(interval: Interval, chosen: Choice, stop_reason: str, stop_place: str) -> Iterator[str]:
    step = interval.step
    if stop_reason == OF_ONE_FMU:
        yield f"the run ends at {interval.stop:g} s, as the FMU states no stop time; choose one with --stop-time"
    if not interval.steps and stop_reason != ASKED:
        stated = ", ".join(filter(None, (stop_reason, stop_place)))
        yield f"nothing is simulated: the run ends at {interval.stop:g} s, where it begins ({stated}); use --stop-time"
    if chosen.default is StepDefault.GUESSED:
        yield f"the step size of {step:g} s is a guess; compare the results with those of --step-size {step / 2:g}"


def start_time(network: Network, settings: Settings) -> tuple[float, str, str]:
    """Start time [s], the reason, and the location that states it."""
    if settings.start_time is not None:
        return settings.start_time, ASKED, ""
    if network.experiment.start is not None:
        return network.experiment.start, *_of_system(network)
    stop = next((time for time in (settings.stop_time, network.experiment.stop) if time is not None), math.inf)
    stated = [(one.description.experiment.start, one) for one in network.components.values()]
    if found := [(time, one) for time, one in stated if time is not None and time < stop]:
        time, component = min(found, key=lambda each: each[0])
        return time, *_of_fmu(component, "the earliest" if len({time for time, _ in found}) > 1 else "")
    return 0.0, "neither asked for nor in the system", ""


def _stop(network: Network, settings: Settings) -> tuple[float, str, str]:
    if settings.stop_time is not None:
        return settings.stop_time, ASKED, ""
    if network.experiment.stop is not None:
        return network.experiment.stop, *_of_system(network)
    stated = [(one.description.experiment.stop, one) for one in network.components.values()]
    if found := [(time, one) for time, one in stated if time is not None]:
        time, component = max(found, key=lambda each: each[0])
        return time, *_of_fmu(component, "the latest" if len({time for time, _ in found}) > 1 else "")
    if len(network.components) == 1 and not network.tables:
        return start_time(network, settings)[0] + ALONE, OF_ONE_FMU, ""
    raise NoStopTime(start_time(network, settings)[0])


def _of_system(network: Network) -> tuple[str, str]:
    return "default experiment of the system", str(network.experiment_position or "")


def _of_fmu(component: FlatComponent, which: str) -> tuple[str, str]:
    more = f", {which} of those that FMUs state" if which else ""
    return f"default experiment of the FMU of {component.name}{more}", experiment_place(component)


def experiment_place(component: FlatComponent) -> str:
    line = component.description.experiment.line
    return f"{component.model_description}:{line}" if line else ""


def _interval(
    network: Network, settings: Settings, of: Mapping[str, InterfaceType], start: float, stop: float
) -> tuple[Interval, Choice]:
    """The interval, and its step size with the reason."""
    rigid = of_one_size(network, of)
    if settings.step_size is not None:
        return _of_size(_Recommended(settings.step_size, ASKED), start, stop, rigid)
    wish = _recommended(network) or _of_experiments(network)
    if wish is None and InterfaceType.CO_SIMULATION not in of.values():
        rows = Interval(start, (stop - start) / DEFAULT_STEPS or 1.0, DEFAULT_STEPS * (stop > start))
        return rows, Choice("step_size", f"{rows.step:g} s", OF_ROWS)
    wish = wish or _Recommended(GUESS, OF_GUESS, default=StepDefault.GUESSED)
    check_step("the step size", wish.value, start, stop)
    steps = math.ceil((stop - start) / wish.value * (1 - 1e-9))
    if rigid and steps and not math.isclose((stop - start) / steps, wish.value, rel_tol=1e-9):
        fitting = Interval(start, (stop - start) / steps, steps)
        reason = f", made to fit the interval, since the FMU of {rigid[0]} accepts no shorter last step"
        return fitting, wish.choice(fitting, reason)
    return _of_size(wish, start, stop, ())


def _in_fixed_steps(
    network: Network, settings: Settings, fixed: Sequence[FixedStep], start: float, stop: float
) -> tuple[Interval, Choice]:
    """The interval if FMUs have fixed steps: the macro step is a multiple of each."""
    asked = None if settings.step_size is None else _Recommended(settings.step_size, ASKED)
    wish = asked or _recommended(network, fixed)
    assert wish is not None  # there are fixed steps
    common = common_step(fixed, settings.stated_substeps)
    count, steps = fitted(exactly(start), exactly(stop), common, exactly(wish.value), asked is not None, fixed)
    step = float(count * common)
    if steps and whole_number((exactly(stop) - exactly(start)) / (count * common)) != steps:
        return _of_size(wish._replace(value=step), start, stop, ())
    if grid_time(start, step, steps) != stop:
        step = (stop - start) / steps if steps else step
    interval = Interval(start, step, steps)
    return interval, wish.choice(interval, _fitted(wish.value, step, common, fixed))


def _fitted(wish: float, step: float, common: Fraction, fixed: Sequence[FixedStep]) -> str:
    """Reason for a macro step that differs from the wish; empty if it does not."""
    if math.isclose(wish, step, rel_tol=CLOSE_TO_WHOLE):
        return ""
    if whole_number(exactly(wish) / common) is not None:
        return ", made to fit the interval"
    sizes = " and ".join(f"{float(one.size):g} s of {one.component}" for one in fixed)
    return f", made a multiple of the fixed step{'s' if len(fixed) > 1 else ''} {sizes}"


def _substeps(
    network: Network, settings: Settings, of: Mapping[str, InterfaceType], fixed: Sequence[FixedStep], step: float
) -> tuple[Mapping[str, int], tuple[Choice, ...]]:
    """Number of steps of components per macro step [s], if greater than 1: from the settings, or from the FMUs."""
    asked, annotated = settings.substeps, network.annotated
    own: dict[str, int] = {}
    if fixed and settings.step_size is None:  # a requested step size applies to all components
        beside = {} if annotated.step_size or annotated.step_sizes else dict(finer(network, of, step))
        own = {**beside, **dict(divided(exactly(step), fixed))}
    every = {**own, **dict.fromkeys(asked, FEWEST_BY_NEED), **settings.stated_substeps}
    several = {name: count for name, count in every.items() if name in asked or count > 1}
    reasons = [ASKED] * bool(asked) + ["steps that FMUs state"] * (len(several) > len(asked))
    told = (f"{NEEDED if asked.get(name) == BY_NEED else count} of {name}" for name, count in several.items())
    return several, (Choice("substeps", ", ".join(told), "; ".join(reasons)),) if several else ()


class _Recommended(NamedTuple):
    """Step size [s], the reason for it, the location that states it, and its kind if nobody states it."""

    value: float
    by: str
    place: str = ""
    default: StepDefault | None = None

    def choice(self, interval: Interval, more: str = "") -> Choice:
        """The step size of an interval, with this reason and `more`."""
        return Choice("step_size", f"{interval.step:g} s", f"{self.by}{more}", self.place, self.default)


def _recommended(network: Network, fixed: Sequence[FixedStep] = ()) -> _Recommended | None:
    """Step size [s] that the system states; if it states none, the smallest one stated for a component or by its
    FMU.
    """
    annotated = network.annotated
    if annotated.step_size is not None:
        stated = annotated.step_size
        return _Recommended(stated.value, f"stated by {stated.by}", str(stated.position))
    of_components = [
        _Recommended(one.value, f"stated by {one.by} of {name}", str(one.position))
        for name, one in annotated.step_sizes.items()
    ]
    of_fmus = [
        _Recommended(step, f"recommended by the FMU of {one.name}", experiment_place(one))
        for one in network.components.values()
        if (step := one.description.experiment.step_size) is not None and step > 0
    ]
    of_fixed = [_Recommended(float(one.step), f"fixed step of the FMU of {one.component}", one.place) for one in fixed]
    return min(of_components or [*of_fixed, *of_fmus], default=None)


def _of_experiments(network: Network) -> _Recommended | None:
    """Step size from default experiments: a thousandth of that of the system, or of the shortest one of an FMU. It does
    not depend on the requested stop time.
    """
    start, _, _ = start_time(network, Settings())
    stop = network.experiment.stop
    if stop is not None and stop > start:
        by, place = _of_system(network)
        return _Recommended((stop - start) / DEFAULT_STEPS, f"a thousandth of the {by}", place, StepDefault.DERIVED)
    stated = ((one, one.description.experiment) for one in network.components.values())
    lengths = [(own.stop - (own.start or 0.0), one) for one, own in stated if own.stop is not None]
    found = [(length, one) for length, one in lengths if length > 0]
    if not found:
        return None
    length, component = min(found, key=lambda each: each[0])
    by, place = _of_fmu(component, "the shortest" if len({length for length, _ in found}) > 1 else "")
    return _Recommended(length / DEFAULT_STEPS, f"a thousandth of the {by}", place, StepDefault.DERIVED)


def _of_size(wish: _Recommended, start: float, stop: float, rigid: Sequence[str]) -> tuple[Interval, Choice]:
    """Steps of a given size, the last one shorter if necessary; and the size with its reason."""
    step, length = wish.value, stop - start
    exact = length / step
    steps = round(exact)
    # The quotient itself is only exact to half a unit in the last place.
    if abs(exact - steps) <= max(1e-9, 4 * math.ulp(exact)):
        interval = Interval(start, length / steps if steps else step, steps)
        return interval, wish.choice(interval)
    whole = math.floor(exact)
    if rigid:
        nearest = [f"{length / count!r} s" for count in (whole, whole + 1) if count]
        sizes = f"sizes that fit are {' and '.join(nearest)}" if whole else f"size that fits is {nearest[0]}"
        times = nearest_stops(exactly(start), exactly(stop), exactly(step))
        raise WrongValue(
            f"the interval of {length!r} s is not a whole number of steps of {step!r} s ({exact:.6g} steps), and the "
            f"FMU of {rigid[0]} accepts no shorter last step (canHandleVariableCommunicationStepSize is not set); "
            f"{times}, the nearest step {sizes}"
        )
    if not whole:  # an integer number of half steps
        interval = Interval(start, length, 1)
        return interval, wish.choice(interval, f"; the only step is {length:.6g} s")
    interval = Interval(start, step, whole + 1, stop)
    return interval, wish.choice(interval, f"; the last step is {stop - grid_time(start, step, whole):.6g} s")
