"""The master of a system in which an ODE stands beside components of co-simulation."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ssptool.engine.ending import Failure
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.master import Component, Coupled, Master, Participants, Stepper, Stretch
from ssptool.engine.ode.integrated import Integrated


@dataclass(frozen=True, slots=True)
class Beside:
    """`base` couples; to it the ODE of all components of model exchange is one more component of co-simulation.

    All that this adds is rows: each event inside a macro step has one for its left and one for its right side. There
    the signals of the ODE are those that it had, and all others are interpolated between communication points.
    """

    base: Master
    integrator: Integrated

    @property
    def name(self) -> str:
        return self.base.name

    @property
    def chooses_steps(self) -> bool:
        return True

    def start(self, system: Coupled) -> Stepper:
        if system.ode is None:
            raise ValueError("there are no components of model exchange in this system")
        return _WithEvents(self.base.start(system), system, system.ode, self.base.chooses_steps)

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        return (*self.base.outline(groups), *self.integrator.as_component())


class _WithEvents:
    """Puts rows of events between those of communication points."""

    def __init__(self, base: Stepper, system: Coupled, ode: Component, chooses_steps: bool) -> None:
        self.base, self.system, self.ode, self.chooses_steps = base, system, ode, chooses_steps
        self.steps = round((system.stop - system.start) / system.step)
        self.point = 0  # communication points since the start
        self.rows: deque[Floats] = deque()  # not handed out yet
        self.last = np.concatenate(((system.start,), system.kernel.values[system.recorded]))
        self.failure: Failure | None = None
        self.done = self.steps == 0

    def run(self, _first: int, rows: Floats) -> Stretch:
        filled = self._hand_out(rows, 0)
        iterations: tuple[int, ...] = ()
        rejected = 0
        while filled < len(rows) and not self.done and self.failure is None:
            stretch = self._base(len(rows) - filled, rows.shape[1])
            iterations += stretch.iterations
            rejected += stretch.rejected
            filled = self._hand_out(rows, filled)
        failure = None if self.rows else self.failure
        events, evaluations = self.ode.news()
        finished = self.done and not self.rows
        return Stretch(filled, failure, iterations, rejected, finished, events, evaluations)

    def _base(self, most: int, width: int) -> Stretch:
        """Some macro steps; their rows, and those of events in them, wait to be handed out."""
        count = most if self.chooses_steps else min(most, self.steps - self.point)
        found = np.empty((count, width))
        stretch = self.base.run(self.point, found)
        self.point += stretch.steps
        self.failure = stretch.failure
        self.done = stretch.finished if self.chooses_steps else self.point == self.steps
        for row in found[: stretch.steps]:
            self.rows.extend(self.ode.events_between(self.last, row))
            self.rows.append(row)
            self.last = row
        return stretch

    def _hand_out(self, rows: Floats, filled: int) -> int:
        while filled < len(rows) and self.rows:
            rows[filled] = self.rows.popleft()
            filled += 1
        return filled
