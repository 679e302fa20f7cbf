"""Fixed step sizes of FMUs: macro steps and substeps that fit all of them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from ssptool.engine.time_grid import exactly
from ssptool.errors import WrongValue
from ssptool.fmu.description import InterfaceType
from ssptool.network.network import FlatComponent, Network

CLOSE_TO_WHOLE = 1e-9
"""Largest deviation from a whole number of steps that is attributed to rounding."""

MOST_STEPS = 10**12
"""Largest number of macro steps of a run; at a microsecond each, they take 12 days."""

LARGEST_FACTOR = 1000
"""Largest ratio of the fixed steps of two FMUs that is searched."""


class FixedStep(NamedTuple):
    """Fixed steps of a co-simulation component: its FMU accepts only multiples of `size` [s]; `step` [s] is preferred.

    `internal`: the FMU computes in steps of this size; otherwise it requires steps of one size, and states this one.
    `divides`: macro steps of several such steps are done as substeps. `varies`: the number of such steps may differ
    from macro step to macro step.
    """

    component: str
    size: Fraction
    step: Fraction
    place: str
    internal: bool
    divides: bool
    varies: bool

    def ends_with_fewer(self, macro: Fraction) -> bool:
        """True if the last macro step may be shorter than the others, which have this size [s]."""
        return self.varies and not (self.divides and macro > self.step)


def fixed_steps(network: Network, of: Mapping[str, InterfaceType], asked: float | None) -> tuple[FixedStep, ...]:
    """The fixed steps that FMUs state, in document order; `of` is the interface of each component.

    A macro step `asked` for by the settings [s] may differ from the size that an FMU states, if all steps are equal.
    """
    found = (_fixed_step(one) for name, one in network.components.items() if of[name] is InterfaceType.CO_SIMULATION)
    return tuple(one for one in found if one is not None and (one.internal or _is_multiple(asked, one.size)))


def _is_multiple(asked: float | None, size: Fraction) -> bool:
    return asked is None or not math.isfinite(asked) or whole_number(exactly(asked) / size) is not None


def of_one_size(network: Network, of: Mapping[str, InterfaceType]) -> tuple[str, ...]:
    """Components of co-simulation whose FMUs accept only one step size."""
    return tuple(
        name
        for name, one in network.components.items()
        if of[name] is InterfaceType.CO_SIMULATION
        and (interface := one.description.interface(of[name])) is not None
        and not interface.variable_step
    )


def bound_to_steps(network: Network, of: Mapping[str, InterfaceType], asked: float | None) -> tuple[str, str] | None:
    """A component whose FMU does not accept steps of any size, and the reason; None if all do."""
    if rigid := of_one_size(network, of):
        return rigid[0], "takes steps of one size only (canHandleVariableCommunicationStepSize is not set)"
    internal = (one for one in fixed_steps(network, of, asked) if one.internal)
    return next(((one.component, f"takes multiples of {float(one.size):g} s only") for one in internal), None)


def _fixed_step(component: FlatComponent) -> FixedStep | None:
    """Fixed step of a component: `fixedInternalStepSize` (FMI 3.0), or the step size of an FMU that accepts only one;
    None if it has none.
    """
    interface, experiment = component.description.co_simulation, component.description.experiment
    assert interface is not None  # it runs as co-simulation
    stated = experiment.step_size if experiment.step_size is not None and experiment.step_size > 0 else None
    internal = interface.fixed_step
    if internal is None and (interface.variable_step or stated is None):
        return None
    size = stated if internal is None else internal
    assert size is not None
    step = stated if stated is not None and whole_number(exactly(stated) / exactly(size)) else size
    line = experiment.line if internal is None else interface.line
    place = f"{component.model_description}:{line}" if line else ""
    # In event mode, a step may end early, between substeps.
    divides = stated is not None and not (interface.variable_step and interface.event_mode)
    return FixedStep(
        component.name, exactly(size), exactly(step), place, internal is not None, divides, interface.variable_step
    )


def whole_number(ratio: Fraction) -> int | None:
    """The nearest whole number, if the ratio differs from it only by rounding and it is not 0; otherwise None."""
    nearest = round(ratio)
    close = abs(ratio - nearest) <= max(CLOSE_TO_WHOLE, 4 * math.ulp(float(ratio)))
    return nearest if nearest and close else None


def common_step(fixed: Sequence[FixedStep], substeps: Mapping[str, int]) -> Fraction:
    """The smallest macro step [s] that is a multiple of all fixed steps, times the number of substeps that the settings
    ask for.

    Raises
    ------
    WrongValue
        No such step exists.
    """
    first, *others = fixed
    common = first.size * max(1, substeps.get(first.component, 1))
    for one in others:
        own = one.size * max(1, substeps.get(one.component, 1))
        ratio = (common / own).limit_denominator(LARGEST_FACTOR)
        if not ratio or whole_number(common * ratio.denominator / own) != ratio.numerator:
            raise WrongValue(
                f"no macro step is a multiple of {' and of '.join(map(_own, (first, one)))}, whose FMUs take no other "
                "steps; run them in systems of their own"
            )
        common = min(common * ratio.denominator, own * ratio.numerator, key=lambda each: each.denominator)
    return common


def divided(macro: Fraction, fixed: Sequence[FixedStep]) -> Iterator[tuple[str, int]]:
    """Components with a fixed step, and its number per macro step [s]."""
    for one in fixed:
        if one.divides:
            yield one.component, whole_number(macro / one.step) or whole_number(macro / one.size) or 1


def finer(network: Network, of: Mapping[str, InterfaceType], macro: float) -> Iterator[tuple[str, int]]:
    """Components with a recommended step size, and the number of steps per macro step [s] that do not exceed it."""
    for name, one in network.components.items():
        interface, step = one.description.interface(of[name]), one.description.experiment.step_size
        simulated = of[name] is InterfaceType.CO_SIMULATION and interface is not None and not interface.event_mode
        if simulated and step is not None and step > 0:
            yield name, math.ceil(macro / step * (1 - CLOSE_TO_WHOLE))


def _divisors(number: int) -> tuple[int, ...]:
    """Divisors in ascending order; only 1 for a number that is too large for a run."""
    if number > MOST_STEPS:
        return (1,)
    low = [one for one in range(1, math.isqrt(number) + 1) if number % one == 0]
    return tuple(sorted({*low, *(number // one for one in low)}))


def fitted(
    start: Fraction, stop: Fraction, common: Fraction, wish: Fraction, asked: bool, fixed: Sequence[FixedStep]
) -> tuple[int, int]:
    """Number of common steps per macro step, and number of macro steps from start to stop [s]. The macro step has the
    size `wish` [s], or a near size unless it was `asked` for. The last macro step has fewer common steps if the size is
    asked for and all FMUs accept that.

    Raises
    ------
    WrongValue
        No such steps exist; the message lists the nearest possible stop times and step sizes.
    """
    whole, count = whole_number((stop - start) / common), whole_number(wish / common)
    if stop == start:
        return count or 1, 0
    near = count or max(1, math.floor(wish / common))
    if asked and whole and count and all(one.ends_with_fewer(wish) for one in fixed):
        return count, math.ceil(whole / count)
    if whole is None or (asked and (count is None or whole % near)):
        size = wish if asked else near * common
        raise WrongValue(
            f"from {_text(start)} to {_text(stop)} there are {float((stop - start) / size):.6g} macro steps of "
            f"{_text(size)}, but {_takes(fixed, common)}; {_remedies(start, stop, common, size)}"
        )
    if whole % near:
        near = max(one for one in _divisors(whole) if one <= near)
    return near, whole // near


def _takes(fixed: Sequence[FixedStep], common: Fraction) -> str:
    if len(fixed) == 1:
        place = f" ({fixed[0].place})" if fixed[0].place else ""
        return f"the FMU of {fixed[0].component} takes whole steps only, and only multiples of {_text(common)}{place}"
    return (
        f"a macro step must be a multiple of {_text(common)} for the FMUs, which take {' and '.join(map(_own, fixed))}"
    )


def _own(one: FixedStep) -> str:
    return f"steps of {_text(one.size)} of {one.component}{f' ({one.place})' if one.place else ''}"


def _remedies(start: Fraction, stop: Fraction, common: Fraction, size: Fraction) -> str:
    """Text for the nearest stop times and step sizes that fit [s]."""
    whole, count = whole_number((stop - start) / common), whole_number(size / common)
    told = []
    if whole is None or count is not None:
        told.append(nearest_stops(start, stop, size if count is not None else common))
    if whole is not None:
        sizes = [one * common for one in _divisors(whole)]
        below, above = [one for one in sizes if one < size], [one for one in sizes if one > size]
        told.append(_nearest("step size", [*below[-1:], *above[:1]]))
    elif count is None:
        told.append(_nearest("step size", [one * common for one in _around(size / common)]))
    return ", and ".join(told)


def nearest_stops(start: Fraction, stop: Fraction, step: Fraction) -> str:
    """Text for the nearest stop times [s] that lie a whole number of steps [s] after the start."""
    return _nearest("stop time", [start + one * step for one in _around((stop - start) / step)])


def _around(number: Fraction) -> list[int]:
    return [one for one in (math.floor(number), math.floor(number) + 1) if one]


def _nearest(what: str, found: Sequence[Fraction]) -> str:
    return f"the nearest {what}{'s are' if len(found) > 1 else ' is'} {' and '.join(map(_text, found))}"


def _text(time: Fraction) -> str:
    return f"{float(time):.12g} s"
