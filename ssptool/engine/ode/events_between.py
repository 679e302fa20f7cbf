"""Events of an ODE inside macro steps, where other components have no values."""

from collections.abc import Iterator
from math import ceil

from ssptool.engine.planning.plan import Plan
from ssptool.errors import abbreviated
from ssptool.fmu.description import InterfaceType

ROUNDING = 1e-9
"""Fraction of a macro step within which two times are equal."""

MOST_STEPS, MOST_SIZES = 10, 1000
"""Limits of the search for a step size that ends steps at all events: the number of steps may grow by the first factor;
the second is the number of sizes.
"""


class EventsBetweenPoints:
    """Times of events between communication points, and the step sizes at which macro steps would end at all of
    them.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._first: float | None = None  # first event between two points [s]
        self._sizes: list[float] | None = None  # sizes that end steps at all events so far [s]

    def add(self, t: float, *, at_point: bool) -> None:
        """Add an event at t [s]."""
        if self._first is None and not at_point:
            self._first = t
        interval = self._plan.interval
        elapsed = t - interval.start
        if self._sizes is None and elapsed > 0:
            least = ceil(elapsed / interval.step * (1 - ROUNDING))
            most = min(MOST_STEPS * least, least + MOST_SIZES)
            self._sizes = [elapsed / number for number in range(least, most + 1)]
        self._sizes = self._sizes and [size for size in self._sizes if _divides(size, elapsed)]

    def remarks(self) -> Iterator[str]:
        if self._first is None:
            return
        stepped = (one.name for one in self._plan.instances if one.interface is InterfaceType.CO_SIMULATION)
        yield (
            f"{abbreviated(stepped)}: at events between communication points, first at t = {self._first:.6g} s, rows "
            f"repeat the values of the communication point before{self._reason()}; {self._advice()}"
        )

    def _reason(self) -> str:
        """Text on FMUs that accept only one step size, which prevents macro steps from ending at events."""
        rigid = [one.name for one in self._plan.instances if not one.capabilities.varies_step]
        return f" ({abbreviated(rigid)} accepts steps of one size only)" if rigid else ""

    def _advice(self) -> str:
        if self._sizes:
            size = next((one for one in self._sizes if _is_short(one)), self._sizes[0])
            fixed = "" if self._plan.settings.adaptive is None else " without --adaptive"
            return f"--step-size {size:.12g}{fixed} ends steps at these events"
        if all(one.description.model_exchange is not None for one in self._plan.instances):
            return "--implementation me has values there"
        return "with smaller steps they are closer to the event"


def _divides(size: float, elapsed: float) -> bool:
    steps = elapsed / size
    return abs(steps - round(steps)) <= ROUNDING


def _is_short(size: float) -> bool:
    return abs(float(f"{size:.6g}") - size) <= 1e-12 * size
