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
        filled = self._hand_out(rows)
        iterations: tuple[int, ...] = ()
        rejected = 0
        while filled < len(rows) and not self.done and self.failure is None:
            count = len(rows) - filled if self.chooses_steps else min(len(rows) - filled, self.steps - self.point)
            # Where they belong if there are no events: who follows the run, or survives it, sees each step at once.
            stretch = self.base.run(self.point, rows[filled : filled + count])
            iterations += stretch.iterations
            rejected += stretch.rejected
            filled = self._take(stretch, rows, filled)
        failure = None if self.rows else self.failure
        events, evaluations = self.ode.news()
        finished = self.done and not self.rows
        return Stretch(filled, failure, iterations, rejected, finished, events, evaluations)

    def _take(self, stretch: Stretch, rows: Floats, filled: int) -> int:
        """Put rows of events between those of a stretch; what finds no room waits. Returns how many are filled now."""
        self.point += stretch.steps
        self.failure = stretch.failure
        self.done = stretch.finished if self.chooses_steps else self.point == self.steps
        if not stretch.steps:
            return filled
        found = rows[filled : filled + stretch.steps]
        woven = self.ode.weave(self.last, found)
        self.last = found[-1].copy()
        room = len(rows) - filled
        self.rows.extend(woven[room:])
        rows[filled : filled + len(woven[:room])] = woven[:room]
        return filled + len(woven[:room])

    def _hand_out(self, rows: Floats) -> int:
        filled = 0
        while filled < len(rows) and self.rows:
            rows[filled] = self.rows.popleft()
            filled += 1
        return filled
