"""Events: what happens between one side of an instant and the other, and how often it may."""

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ssptool.engine.ending import Ending, Failure
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.ode.stopped import Stopped
from ssptool.engine.ode.system import Cause, OdeSystem
from ssptool.fmu.binary import FmiError
from ssptool.fmu.exchange import DiscreteUpdate

MAX_ITERATIONS = 100
"""Of one event. Discrete equations that need more chase each other."""

SETTLED = 1e-12
"""Relative change of a signal that counts as none: algebraic loops are solved to this."""

CHATTER_EVENTS = 10
CHATTER_TIME = 1e-4
"""So many events of one cause within this fraction of a communication step are no progress."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """After an event: the next time event [s] (inf: none is known) and whose it is, and whether nominal values of
    states changed. `changed` is False where the event had no effect on states and signals.
    """

    next_time: float
    timers: tuple[Cause, ...]
    nominals_changed: bool
    changed: bool


def iterate(system: OdeSystem, t: float, nominal: Floats) -> Outcome:
    """With all components in event mode: update discrete states and exchange signals until both stay.

    `nominal` (slots,) are the usual sizes of the signals.

    Raises
    ------
    Stopped
        The iteration does not end, or a component refuses or asks to end the simulation.

    References
    ----------
    FMI 2.0.4 §3.2.3, FMI 3.0 §3.1.2 (event iteration of connected FMUs).
    """
    system.settle(t)
    nominals_changed = changed = False
    updates: list[DiscreteUpdate] = []
    for _ in range(MAX_ITERATIONS):
        before = system.kernel.values.copy()
        updates = _update(system, t)
        nominals_changed = nominals_changed or any(update.nominals_changed for update in updates)
        system.settle(t)
        change = np.abs(system.kernel.values - before)
        moving = bool(np.any(~(change <= SETTLED * np.maximum(np.abs(before), nominal))))
        again = any(update.again for update in updates)
        changed = changed or moving or again or any(update.states_changed for update in updates)
        if not moving and not again:
            next_time = min((update.next_time for update in updates), default=np.inf)
            timed = zip(system.models, updates, strict=True)
            timers = tuple(Cause(model.name, "time event") for model, u in timed if u.next_time == next_time)
            return Outcome(next_time, timers, nominals_changed, changed)
    busy = [model.name for model, update in zip(system.models, updates, strict=True) if update.again]
    raise Stopped(_endless(busy, t))


def _update(system: OdeSystem, t: float) -> list[DiscreteUpdate]:
    updates = []
    for model in system.models:
        try:
            updates.append(model.update_discrete_states())
        except FmiError as error:
            raise system.refused(error, t) from None
        if updates[-1].terminate:
            raise Stopped(wish_to_end(model.name, t))
    return updates


def wish_to_end(name: str, t: float) -> Failure:
    return Failure(
        Ending.TERMINATED,
        f"component {name} asks to end the simulation",
        "see the messages of the FMU; its parameters or inputs lead to this",
        t,
        name,
    )


def _endless(busy: list[str], t: float) -> Failure:
    who = f"{', '.join(busy)} still want{'s' if len(busy) == 1 else ''} new discrete states" if busy else "signals move"
    return Failure(
        Ending.EVENTS,
        f"the event iteration has no end: after {MAX_ITERATIONS} iterations {who}",
        "look for discrete equations that contradict each other around a loop of connections",
        t,
        busy[0] if busy else "",
    )


class Chatter:
    """Watches for events of one cause that follow each other without the time moving on."""

    def __init__(self, step: float) -> None:
        self._window = CHATTER_TIME * step
        self._times: dict[Cause, deque[float]] = {}

    @property
    def seen(self) -> Mapping[Cause, tuple[float, ...]]:
        """When events of each cause have been [s], the latest ones."""
        return {cause: tuple(times) for cause, times in self._times.items()}

    @seen.setter
    def seen(self, times: Mapping[Cause, tuple[float, ...]]) -> None:
        self._times = {cause: deque(found, maxlen=CHATTER_EVENTS) for cause, found in times.items()}

    def note(self, t: float, causes: tuple[Cause, ...]) -> float:
        """One more event: how long ago one of its causes was last seen [s], or inf.

        Raises
        ------
        Stopped
            It is one too many.
        """
        recurrence = math.inf
        for cause in causes:
            times = self._times.setdefault(cause, deque(maxlen=CHATTER_EVENTS))
            if times:
                recurrence = min(recurrence, t - times[-1])
            times.append(t)
            if len(times) == CHATTER_EVENTS and t - times[0] <= self._window:
                raise Stopped(_chattering(cause, t, t - times[0]))
        return recurrence


def _chattering(cause: Cause, t: float, span: float) -> Failure:
    return Failure(
        Ending.EVENTS,
        f"component {cause.component} chatters: {CHATTER_EVENTS} events by {cause} within {span:.3g} s",
        "give its switching a hysteresis, or a smallest time or size below which it rests",
        t,
        cause.component,
    )
