"""Where event indicators cross zero, as far as an integrator does not find that by itself."""

import math
from typing import NamedTuple

import numpy as np

from ssptool.engine.chatter import Cause
from ssptool.engine.choices import Interval
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.ode.cvode import Arrival
from ssptool.engine.ode.outlook import Outlook, nears_zero, outlook
from ssptool.engine.ode.system import OdeSystem
from ssptool.engine.time_resolution import tolerance_of_times


class Anchor(NamedTuple):
    """A time [s], the states and the event indicators there."""

    t: float
    x: Floats
    signs: Floats


class Crossings:
    """An integrator sees that an indicator has another sign at the end of a step than at its beginning. It does not see
    one that goes there and back within a step, nor that one is zero at a communication point up to rounding.

    Attributes
    ----------
    anchor
        The last place at which all indicators had the signs that they should.
    restarted : [s]
        When the integrator was started last.
    at_zero
        Indicators that were zero then, or were about to cross it.
    leaving, ahead
        The latter, by number, and where they have done so, until the integrator has made a step.
    """

    def __init__(self, system: OdeSystem, interval: Interval) -> None:
        self._system, self._macro_step, self._stop = system, interval.step, interval.stop
        self.anchor = Anchor(interval.start, np.empty(0), np.empty(0))
        self.restarted = interval.start
        self.at_zero: frozenset[Cause] = frozenset()
        self.leaving: frozenset[int] = frozenset()
        self.ahead: Outlook | None = None

    def drop_anchor(self, t: float, x: Floats) -> None:
        """Remember where the components are, at (t, x). Raises `Stopped`."""
        if self._system.indicators:
            self.anchor = Anchor(t, x.copy(), self._system.present_signs(t))

    def hold(self, t: float, x: Floats) -> bool:
        """Whether all have the signs that they had, at (t, x), where the components are. Raises `Stopped`."""
        if not self._system.indicators:
            return True
        signs = self._system.present_signs(t)
        held = np.array_equal(signs > 0, self.anchor.signs > 0)
        if held:
            self.anchor = Anchor(t, x.copy(), signs)
        return held

    def start(self, t: float, x: Floats, roots: tuple[int, ...]) -> None:
        """The integrator has been started at (t, x), where the components are; `roots` were zero just before.

        Raises
        ------
        Stopped
        """
        self.drop_anchor(t, x)
        zero = np.flatnonzero(self.anchor.signs == 0.0).tolist() if self._system.indicators else ()
        self.restarted, self.at_zero = t, frozenset(self._system.causes[i] for i in zero)
        self.look_ahead(t, x, roots)

    def look_ahead(self, t: float, x: Floats, roots: tuple[int, ...] = ()) -> None:
        """Find out which are `leaving`, if the integrator has just been started at (t, x) where some are zero, or have
        been a moment ago. Raises `Stopped`.
        """
        self.leaving = frozenset()
        moment = tolerance_of_times(t, self._macro_step)
        if abs(t - self.restarted) <= moment and (roots or self.at_zero):
            self.ahead = outlook(self._system, t, x, moment, self._stop)
            self._system.place(t, x)
            self.leaving = frozenset() if self.ahead is None else self.ahead.crossed(self.anchor.signs)
            self.at_zero |= {self._system.causes[i] for i in self.leaving}

    def is_leaving(self, t: float, causes: tuple[Cause, ...]) -> bool:
        """Whether indicators only leave zero, to which the event before has put them: that is an event only if it
        changes something.
        """
        just_now = abs(t - self.restarted) <= tolerance_of_times(t, self._macro_step)
        return just_now and all(cause in self.at_zero for cause in causes)

    def unseen(self, arrival: Arrival) -> frozenset[int]:
        """Those that must have crossed zero and come back in the first step after a start."""
        leaving, self.leaving = self.leaving, frozenset()
        return frozenset() if leaving.intersection(arrival.roots) else leaving

    def just_ahead(self, t: float, x: Floats) -> Outlook | None:
        """Where an indicator has crossed zero that is about to, so soon that it is at the communication point (t, x),
        where the components are. Raises `Stopped`.
        """
        moment = max(tolerance_of_times(t, self._macro_step) / 2, math.ulp(t))
        if not self._system.indicators or abs(t - self.restarted) <= moment:
            return None
        signs = self._system.present_signs(t)
        if not nears_zero(self.anchor.signs, signs, t - self.anchor.t, moment):
            return None
        ahead = outlook(self._system, t, x, moment, self._stop)
        self._system.place(t, x)
        return ahead if ahead is not None and ahead.crossed(signs) else None
