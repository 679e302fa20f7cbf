"""Rows of the trace for events of an ODE inside macro steps, among those of communication points."""

from collections.abc import Callable, Iterator
from math import ceil

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.kernel.calls import Floats
from ssptool.engine.planning.plan import Plan
from ssptool.errors import abbreviated
from ssptool.fmu.description import InterfaceType

ROUNDING = 1e-9
"""Fraction of a macro step within which two times are equal."""

MOST_STEPS, MOST_SIZES = 10, 1000
"""A step size that ends steps at all events is looked for until it takes so many times the steps, among so many."""


class EventRows:
    """Signals of the ODE are as they were at an event. Outputs of other components keep the values of the last
    communication point, as these components have none there; reals that are driven from outside are interpolated, and
    integers are those at the point before.
    """

    def __init__(self, plan: Plan) -> None:
        integers, own, of_points = set(plan.integers), plan.slots_of_ode, plan.slots_of_points
        # Masks of a row (1 + recorded,).
        self._own = np.array([True, *(slot in own for slot in plan.recorded)])
        self._of_points = np.array([False, *(slot in of_points for slot in plan.recorded)])
        self._held = np.array([False, *(slot in integers for slot in plan.recorded)])
        self._between_points = EventsBetweenPoints(plan)

    def woven(
        self, before: Floats, rows: Floats, take: Callable[[float], Floats | None]
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Rows (k, 1 + recorded) with those of events in between, and which of them are communication points.

        `take` gives the next row of an event in a macro step that ends until a time [s].
        """
        found: list[Floats] = []
        points: list[bool] = []
        for row in rows:
            events = list(self._between(before, row, take))
            found += [*events, row]
            points += [*(False for _ in events), True]
            before = row
        return np.array(found), np.array(points)

    def _between(self, before: Floats, after: Floats, take: Callable[[float], Floats | None]) -> Iterator[Floats]:
        h = after[0] - before[0]
        while (row := take(after[0] + ROUNDING * h)) is not None:
            # The kernel's times of communication points are not the sums that steps end at, up to rounding.
            point = next((point for point in (after, before) if abs(point[0] - row[0]) <= ROUNDING * h), None)
            with np.errstate(over="ignore", invalid="ignore"):  # of integers, which are not taken from here
                others: Floats = before + (row[0] - before[0]) / h * (after - before)
            last = before if point is None else point
            others[self._of_points] = last[self._of_points]
            others[self._held] = before[self._held]
            others[self._own] = row[self._own]
            others[0] = row[0] if point is None else point[0]
            self._between_points.add(others[0], at_point=point is not None)
            yield others

    def remarks(self) -> Iterator[str]:
        """A remark on components without values at events, if there were such events."""
        return self._between_points.remarks()


class EventsBetweenPoints:
    """Times of events, as far as a step size that ends macro steps at all of them depends on them."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._first: float | None = None  # event between two points [s]
        self._sizes: list[float] | None = None  # that end steps at all events so far [s]

    def add(self, t: float, *, at_point: bool) -> None:
        """An event at t [s]."""
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
        """FMUs that take steps of one size only, for which steps do not end there."""
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


def all_points(rows: Floats) -> NDArray[np.bool_]:
    """All of them are communication points."""
    return np.ones(len(rows), dtype=bool)
