"""What acts on a running system from outside: writes the slots of driven inputs, and lets jumps happen."""

import math
from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.cells import holds_integer, write_cell
from ssptool.engine.kernel.interface import FLOAT, OK, Call, Kernel, Outcome
from ssptool.engine.plan import Plan
from ssptool.engine.settings import InputName
from ssptool.engine.stimuli.boundaries import boundaries, same_time
from ssptool.engine.stimuli.course import Course
from ssptool.engine.stimuli.gated import GatedKernel, GatedWire
from ssptool.engine.stimuli.modification import active
from ssptool.engine.stimuli.stimuli import feed
from ssptool.fmu.description import Variability
from ssptool.fmu.instance import FmuInstance


class _Feed(NamedTuple):
    slot: int
    type: str
    course: Course


class _Ends(NamedTuple):
    """Inputs of components that driven inputs lead to, by slot.

    Places in `all`: `following` run as their courses do over a macro step, `middle` are held at the value of its
    middle, all others at the one of its start.
    """

    all: NDArray[np.intp]
    following: NDArray[np.intp]
    middle: NDArray[np.intp]


class Driver:
    """Goes through the stretches between jumps. Within each, every course is continuous, and at its ends has the
    limit from inside.

    Attributes
    ----------
    end : [s]
        Of the present stretch; inf where nothing jumps any more.
    stretch
        Its number, from 0.
    """

    def __init__(self, plan: Plan, kernel: Kernel, instances: tuple[FmuInstance, ...]) -> None:
        self.kernel = kernel
        self._plan = plan
        self._instances = {instance.name: instance for instance in instances}
        self._gated = kernel if isinstance(kernel, GatedKernel) else None
        self._feeds = tuple(_feeds(plan))
        self._ends = _ends(plan)
        self._boundaries = boundaries(plan.stimuli.jumps, plan.interval.start, plan.interval.stop)
        self._knots = sorted(set(chain.from_iterable(one.course.knots for one in self._feeds)))
        self.stretch = 0
        self._begin = plan.interval.start
        self.end = self._boundaries[0].first if self._boundaries else math.inf
        self._values = kernel.values
        self._integers = kernel.integers
        self._input_value, self._input_rates = kernel.input_value.view(np.int64), kernel.input_rates
        self._held = self._integers[self._ends.all]
        self._change = np.zeros(len(self._ends.all))

    # -- stretches -------------------------------------------------------------------------------------------

    def write(self, t: float) -> None:
        """What the courses are at t [s], which is in the present stretch."""
        for one in self._feeds:
            value = one.course.before(self.end) if t >= self.end else one.course.after(max(t, self._begin))
            if holds_integer(one.type):
                write_cell(self.kernel, one.slot, one.type, value)
            else:
                self._values[one.slot] = value

    def jump(self) -> Outcome:
        """From the end of the present stretch to the start of the next, with tunable parameters that change there.

        Raises
        ------
        FmiError
            An FMU refuses the value of a parameter.
        """
        boundary = self._boundaries[self.stretch]
        self.go_to(self.stretch + 1)
        self.write(self._begin)
        changed = dict.fromkeys(self._set_parameters(boundary.first, boundary.last))
        calls = [Call(i, (), one.output_slots) for i, one in enumerate(self._plan.instances) if one.name in changed]
        calls = [call for call in calls if call.outputs]
        return self.kernel.evaluate(self.kernel.sweep(calls)) if calls else OK

    def go_to(self, stretch: int) -> None:
        """The stretch after so many jumps, in which values and parameters are already what they were there."""
        self.stretch = stretch
        self._begin = self._boundaries[stretch - 1].last if stretch else self._plan.interval.start
        self.end = self._boundaries[stretch].first if stretch < len(self._boundaries) else math.inf
        if self._gated is not None:
            self._gated.go_to(self._begin)

    def limit(self, t: float) -> float:
        """The next time after t [s] that an integrator must not step over; inf if there is none."""
        for knot in self._knots[bisect_right(self._knots, t) :]:
            if not same_time(knot, t):
                return min(knot, self.end)
        return self.end

    def due(self, t: float) -> bool:
        """Whether the end of the present stretch is reached at t [s]."""
        return t >= self.end or same_time(t, self.end)

    def _set_parameters(self, first: float, last: float) -> Iterator[str]:
        for setting in self._plan.stimuli.settings:
            if any(first <= one.time <= last for one in setting.modifications):
                change = active(setting.modifications, last)
                value = setting.base if change is None else change(setting.base)
                self._instances[setting.signal.component].set({setting.signal.variable: value})
                yield setting.signal.component

    # -- macro steps -----------------------------------------------------------------------------------------

    @property
    def steady(self) -> bool:
        """Whether nothing changes between jumps, so that macro steps need not be watched."""
        return self._gated is None and all(one.course.steady for one in self._feeds)

    def begin(self, end: float, everything: int) -> None:
        """Before a macro step to `end` [s] of the group `everything`: what courses lead to has its value there."""
        ends = self._ends
        start = self._integers[ends.all]  # as integers, whose bits need not be those of a number
        self.write(end)
        self.kernel.exchange(everything)
        first, second = start.view(np.float64), self._values[ends.all]
        self._change[ends.following] = second[ends.following] - first[ends.following]
        first[ends.middle] = 0.5 * (first[ends.middle] + second[ends.middle])
        self._held = start

    def over(self, h: float) -> None:
        """Let inputs run over the macro step of size h [s] as the courses say, whatever the coupling made of them."""
        every = self._ends.all
        self._input_value[every] = self._held
        self._input_rates[0][every] = self._change / h
        self._input_rates[1][every] = 0.0


def gated(plan: Plan, kernel: Kernel) -> Kernel:
    """The kernel, or where a scenario acts on wires, one that copies these."""
    if not plan.stimuli.gates:
        return kernel
    slots = {signal: slot for slot, signal in enumerate(plan.signals)}
    wires = [
        GatedWire(
            source := slots[gate.source],
            destination := slots[gate.destination],
            gate.conversion,
            plan.types[source],
            plan.types[destination],
            gate.at_source,
            gate.at_destination,
        )
        for gate in plan.stimuli.gates
    ]
    return cast(Kernel, GatedKernel(kernel, wires, plan.interval.start))


def _feeds(plan: Plan) -> Iterator[_Feed]:
    slots = {signal: slot for slot, signal in enumerate(plan.signals)}
    for driven in plan.stimuli.driven:
        slot = slots[feed(driven.signal)]
        yield _Feed(slot, plan.types[slot], driven.course)


def _ends(plan: Plan) -> _Ends:
    courses = {one.slot: one.course for one in _feeds(plan)}
    sources = {wire.destination: courses[wire.source] for wire in plan.wires if wire.source in courses}
    slots: list[int] = []
    following: list[bool] = []
    middle: list[bool] = []
    asked_to_hold = plan.settings.input is InputName.HOLD
    for one in plan.instances:
        follows = one.capabilities.follows or plan.settings.substeps.get(one.name, 1) > 1
        for signal, slot, kind in zip(one.inputs, one.input_slots, one.input_types, strict=True):
            if slot not in sources:
                continue
            variable = one.description.variables[signal.variable]
            moves = sources[slot].continuous and kind == FLOAT and not asked_to_hold
            slots.append(slot)
            following.append(moves and follows)
            middle.append(moves and not follows and variable.variability is Variability.CONTINUOUS)
    return _Ends(np.array(slots, dtype=np.intp), np.flatnonzero(following), np.flatnonzero(middle))
