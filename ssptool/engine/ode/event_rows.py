"""Rows of the trace for events of an ODE inside macro steps, among those of communication points."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.kernel.interface import Floats, Kernel
from ssptool.engine.masters.protocols import SavedState
from ssptool.engine.ode.events import IntegrationState
from ssptool.engine.ode.system import OdeSystem
from ssptool.engine.planning.plan import Plan, PlannedOde

ROUNDING = 1e-9
"""Fraction of a macro step within which two times are equal."""


class EventRow(NamedTuple):
    """A side of an event, within the macro step that ends at `end` [s]."""

    end: float
    row: Floats


class EventRows:
    """Signals of the ODE are as they were at an event; of others reals are interpolated between communication points,
    and integers are still those at the point before.
    """

    def __init__(self, plan: Plan, ode: PlannedOde) -> None:
        instances = [plan.instances[index] for index in ode.instances]
        slots = set(
            chain.from_iterable((*one.input_slots, *one.output_slots, *one.observed_slots) for one in instances)
        )
        slots |= {wire.destination for wire in (*plan.wires, *plan.shown_wires) if wire.source in slots}
        slots |= set(plan.ode_event_slots)
        integers = set(plan.integers)
        # Masks of a row (1 + recorded,).
        self._own = np.array([True, *(slot in slots for slot in plan.recorded)])
        self._held = np.array([False, *(slot in integers for slot in plan.recorded)])

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
            with np.errstate(over="ignore", invalid="ignore"):  # of integers, which are not taken from here
                others: Floats = before + (row[0] - before[0]) / h * (after - before)
            others[self._held] = before[self._held]
            others[self._own] = row[self._own]
            # The kernel's times of communication points are not the sums that steps end at, up to rounding.
            others[0] = next((point for point in (after[0], before[0]) if abs(point - row[0]) <= ROUNDING * h), row[0])
            yield others


def all_points(rows: Floats) -> NDArray[np.bool_]:
    """All of them are communication points."""
    return np.ones(len(rows), dtype=bool)


def saved_component(
    system: OdeSystem, position: IntegrationState, signs: Floats, end: float, rows: Iterable[EventRow]
) -> SavedState:
    """State of an ODE beside co-simulation: its `position`, event indicators `signs` (k,) at the `end` [s] of its last
    step, and rows that were not handed out; with the contents of its own kernel.
    """
    kernel = system.kernel
    table = [np.concatenate(((one.end,), one.row)) for one in rows]
    return {
        **position.save_state(),
        "signs": signs,
        "end": np.array(end),
        "rows": np.array(table).reshape(-1, 1 + system.width),
        "contents": np.array([kernel.content(number).hex() for number in range(kernel.contents)], dtype=np.str_),
    }


def saved_rows(state: SavedState) -> Iterator[EventRow]:
    """Rows that were not handed out."""
    return (EventRow(float(row[0]), row[1:]) for row in state["rows"])


def restore_contents(kernel: Kernel, state: SavedState) -> None:
    """In their order, so that they get the numbers that they had."""
    for content in state["contents"].tolist():
        kernel.number(bytes.fromhex(content))
