"""Event iterations: values and ticks of clocks go around, and discrete states are updated, until all settle."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ssptool.dataclass import dataclass
from ssptool.engine.ending import Ending, Failure
from ssptool.engine.event_mode.agenda import WithoutInterval, without_interval
from ssptool.engine.event_mode.running import OutOfRange, RunningEvents
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.partners import Updated
from ssptool.engine.stopped import Stopped
from ssptool.network.signals import Signal

MAX_ITERATIONS = 100
"""Of one event. Discrete equations that need more chase each other."""

SETTLED = 1e-12
"""Relative change of a signal that counts as none: algebraic loops are solved to this."""

SINGLE_SETTLED = 1e-4
"""The same with algebraic loops of Float32: gains around them multiply its rounding."""


@dataclass(frozen=True, slots=True)
class EventIteration:
    """Brings connected components in event mode to where they settle, and leaves them in event mode.

    Attributes
    ----------
    running
        What is exchanged at events only, and the clocks.
    nominal : (slots,)
        Usual sizes of the signals.
    evaluate
        Everything else that is exchanged, at a time [s]. May raise `Stopped`.
    update
        The discrete states of all components, at a time [s]. May raise `Stopped`, `FmiError`.

    References
    ----------
    FMI 2.0.4 §3.2.3, FMI 3.0 §2.2.8 (clocks), §2.3.3 (event mode, fmi3UpdateDiscreteStates), §4.2.1.
    """

    running: RunningEvents
    nominal: Floats
    evaluate: Callable[[float], None]
    update: Callable[[float], Sequence[Updated]]

    def settle(self, t: float, until: float) -> bool:
        """The event at t [s], with the ticks of all clocks that are due `until` then; whether anything has changed.

        Raises
        ------
        Stopped
            It has no end, a component does not say when its clock ticks, or a scenario adds too much to an integer.
        FmiError
        """
        try:
            return self._settle(t, until)
        except WithoutInterval as error:
            raise Stopped(without_interval(error, t)) from None
        except OutOfRange as error:
            raise Stopped(error.failure(t)) from None

    def _settle(self, t: float, until: float) -> bool:
        agenda, running = self.running.agenda, self.running
        timers = agenda.due(until)
        ticked = {number for number, timer in enumerate(agenda.timers) if timer in timers}
        due = [Signal(running.members[timer.member].name, timer.clock.name) for timer in timers]
        changed = False
        for _ in range(MAX_ITERATIONS):
            changed |= self._exchange(t, due)
            due = []
            before = running.kernel.values.copy()
            ticking = running.ticking
            updates = self.update(t)
            agenda.after(t, ticked, running.modes)
            ticked = set()
            running.rest()
            self.evaluate(t)
            again = [one.component for one in updates if one.again]
            changed = changed or bool(again) or self._moved(before, slice(None))
            # Who counts its events must not be asked once more because its own outputs have changed.
            if not again and not self._moved(before, running.inputs) and not running.pending():
                return changed
        raise Stopped(endless(t, again, ticking))

    def _exchange(self, t: float, due: Sequence[Signal]) -> bool:
        """Within one event iteration: ticks and values go where connections lead, until nothing moves any more."""
        running, waiting, moved = self.running, list(due), False
        for _ in range(MAX_ITERATIONS):
            fresh = set(running.tick(waiting))
            self.evaluate(t)
            changed = [*running.pass_on(frozenset(fresh)), *running.collect()]
            heard = running.listen()
            waiting = list(running.triggered_by([*fresh, *heard]))
            if not (fresh or heard or changed or waiting):
                return moved
            moved = True
        raise Stopped(endless(t, (), running.ticking, changed))

    def _moved(self, before: Floats, slots: slice | NDArray[np.intp]) -> bool:
        """Whether any of these slots has another value than before (slots,)."""
        now, real = self.running.kernel.values[slots], self.running.real[slots]
        old, nominal = before[slots], self.nominal[slots]
        if np.any(now.view(np.int64)[~real] != old.view(np.int64)[~real]):
            return True
        change = np.abs(now[real] - old[real])
        settled = SINGLE_SETTLED if self.running.single else SETTLED
        return bool(np.any(~(change <= settled * np.maximum(np.abs(old[real]), nominal[real]))))


def endless(t: float, again: Sequence[str], ticking: Sequence[str], moving: Sequence[Signal] = ()) -> Failure:
    """What an event iteration comes to that does not settle: who wants another one, and what ticks and moves."""
    clocks = f"; clocks that tick: {', '.join(ticking)}" if ticking else ""
    who = f"{', '.join(again)} still want{'s' if len(again) == 1 else ''} new discrete states" if again else ""
    signals = f"signals still move: {', '.join(map(str, moving))}" if moving else "signals still move"
    return Failure(
        Ending.EVENTS,
        f"the event iteration has no end: after {MAX_ITERATIONS} iterations {who or signals}{clocks}",
        "look for clocks and discrete equations that drive each other around a loop of connections",
        t,
        again[0] if again else "",
    )
