"""Events: what happens between one side of an instant and the other, and how often it may."""

from dataclasses import dataclass

import numpy as np

from ssptool.engine.chatter import Cause, wish_to_end
from ssptool.engine.ending import Ending, Failure
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.ode.system import OdeSystem
from ssptool.engine.stopped import Stopped
from ssptool.fmu.exchange import DiscreteUpdate
from ssptool.fmu.instance import FmiError

MAX_ITERATIONS = 100
"""Of one event. Discrete equations that need more chase each other."""

SETTLED = 1e-12
"""Relative change of a signal that counts as none: algebraic loops are solved to this."""


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


def _endless(busy: list[str], t: float) -> Failure:
    who = f"{', '.join(busy)} still want{'s' if len(busy) == 1 else ''} new discrete states" if busy else "signals move"
    return Failure(
        Ending.EVENTS,
        f"the event iteration has no end: after {MAX_ITERATIONS} iterations {who}",
        "look for discrete equations that contradict each other around a loop of connections",
        t,
        busy[0] if busy else "",
    )
