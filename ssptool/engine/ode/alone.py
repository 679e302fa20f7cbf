"""An ODE that is all there is of a system: from communication point to communication point."""

import contextlib
from collections.abc import Callable
from dataclasses import field

import numpy as np

from ssptool.dataclass import dataclass
from ssptool.engine.choices import Interval
from ssptool.engine.ending import Ending, Failure
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.master import Stretch
from ssptool.engine.masters.partners import Memory, part_of, under
from ssptool.engine.ode.cvode import Effort
from ssptool.engine.ode.integration import Integration, OdeStatistics
from ssptool.engine.ode.position import Position
from ssptool.engine.stopped import Stopped
from ssptool.fmu.instance import FmiError


@dataclass(slots=True)
class Tally:
    """Of what an integration counts, that which has not been reported yet."""

    integration: Integration
    told: OdeStatistics = field(default_factory=lambda: OdeStatistics(0, Effort()))

    def news(self) -> tuple[int, int]:
        """Events, and evaluations of f."""
        before, self.told = self.told, self.integration.statistics
        return self.told.events - before.events, self.told.effort.evaluations - before.effort.evaluations


class Alone:
    """Steps an integration to the end of the run. What has gone wrong before comes out of the first `run`."""

    def __init__(self, integration: Integration, interval: Interval) -> None:
        self.integration = integration
        self._interval = interval
        self._tally = Tally(integration)
        self._point = 1  # the next communication point
        self._at_point = True  # the last row that was made is that of a communication point
        self._reached = interval.start  # by rows that were handed out
        self._failure: Failure | None = None

    def begin(self) -> None:
        """From initialized components to the first instant of continuous time."""
        start = self._interval.start
        try:
            self.integration.begin()
        except Stopped as stopped:
            self._failure = stopped.failure
        except FmiError as error:
            self._failure = self.integration.system.refused(error, start).failure
        else:
            self.integration.system.row(start)  # the first point of the history

    def run(self, _first: int, rows: Floats) -> Stretch:
        waiting, filled = self.integration.rows, 0
        points = np.zeros(len(rows), dtype=bool)
        while filled < len(rows) and self._produce():
            rows[filled] = waiting.popleft()
            points[filled] = self._at_point and not waiting
            self._reached = float(rows[filled, 0])
            filled += 1
        finished = self._point > self._interval.steps and not waiting
        failure = None if waiting else self._failure
        events, evaluations = self._tally.news()
        return Stretch(
            filled, failure, finished=finished, events=events, evaluations=evaluations, points=points[:filled]
        )

    def _produce(self) -> bool:
        """Go on until there is a row to hand out; False at the end of the run and after a failure."""
        integration = self.integration
        try:
            if self._point == 1 and self._failure is None:
                integration.cross_at_start()
            while not integration.rows and self._failure is None and self._point <= self._interval.steps:
                point = min(self._interval.start + float(self._point) * self._interval.step, self._interval.stop)
                self._at_point = integration.advance(point, self._interval.stop)
                self._point += self._at_point
        except Stopped as stopped:
            self._failure = stopped.failure
            self._end_there()
        except FmiError as error:
            self._failure = integration.system.refused(error, integration.time).failure
        return bool(integration.rows)

    def _end_there(self) -> None:
        """A row where a component has ended the simulation, which need be no communication point."""
        integration, failure = self.integration, self._failure
        if failure is None or failure.ending is not Ending.TERMINATED or integration.rows:
            return
        if self._reached < failure.time <= self._interval.stop:
            with contextlib.suppress(Stopped, FmiError):  # the end itself is well without it
                integration.rows.append(integration.system.row(failure.time))

    def intervene(self, action: Callable[[], None]) -> Failure | None:
        """Let something be done to the components, at the communication point that was reached."""
        integration = self.integration
        try:
            integration.go_to(integration.position(self._reached))
            integration.intervene(action)
        except Stopped as stopped:
            return stopped.failure
        except FmiError as error:
            return integration.system.refused(error, self._reached).failure
        return None

    def memory(self) -> Memory:
        rows, drive = self.integration.rows, self.integration.system.drive
        t = float(rows[-1][0]) if rows else self._reached
        position = self.integration.position(t)
        self.integration.start_over(position)
        return {
            "point": np.array([self._point, self._at_point]),
            "rows": np.array(rows).reshape(-1, self.integration.system.width),
            **({} if drive is None else {"stretch": np.array(drive.stretch)}),
            **under("position", position.memory()),
        }

    def recall(self, memory: Memory) -> None:
        self._point, self._at_point = memory["point"].tolist()
        self.integration.rows.extend(memory["rows"])
        if self.integration.system.drive is not None:
            self.integration.system.drive.go_to(int(memory["stretch"]))
        position = Position.recalled(part_of(memory, "position"))
        self._reached = position.t
        self.integration.go_to(position)
        self._tally = Tally(self.integration, self.integration.statistics)
