"""What passes between the kernel of an ODE and that of all components, beside which it is integrated."""

from itertools import chain

import numpy as np

from ssptool.engine.cells import copy_cells
from ssptool.engine.kernel.interface import Floats, Kernel
from ssptool.engine.plan import Plan, PlannedOde


class Border:
    """Both kernels have the same slots, but texts and bytes have numbers of their own in each.

    `inside` is the kernel of the ODE, `outside` that of all components.
    """

    def __init__(self, plan: Plan, ode: PlannedOde, inside: Kernel, outside: Kernel) -> None:
        self._inside, self._outside = inside, outside
        self._numbered = frozenset(plan.numbered)
        slots = {signal: slot for slot, signal in enumerate(plan.signals)}
        at_events = ode.events.signals & slots.keys()
        names = {plan.instances[index].name for index in ode.instances}
        sources = {wire.source for wire in ode.events.wires if wire.source.component not in names}
        every = chain.from_iterable((*one.input_slots, *one.output_slots) for one in plan.integrated)
        self._at_events = np.array([slots[signal] for signal in at_events], dtype=np.intp)
        self._everything = np.array([*every, *self._at_events], dtype=np.intp)
        self._sources = np.array([slots[signal] for signal in sources], dtype=np.intp)
        self._inputs = np.array([slot for one in plan.integrated for slot in one.input_slots], dtype=np.intp)
        self._columns = [place for place, slot in enumerate(plan.recorded, start=1) if slot in self._numbered]

    @property
    def listens(self) -> bool:
        """Whether something from outside is exchanged at events."""
        return bool(self._sources.size)

    def hear(self) -> None:
        """Inside, be told what is exchanged at events."""
        self._copy(self._outside, self._inside, self._sources)

    def hear_inputs(self) -> None:
        """Inside, be told all continuous inputs."""
        self._inside.values[self._inputs] = self._outside.values[self._inputs]

    def tell(self) -> None:
        """Tell outside of what components of the ODE have exchanged at events; it asks them for the rest itself."""
        self._copy(self._inside, self._outside, self._at_events)

    def tell_everything(self) -> None:
        self._copy(self._inside, self._outside, self._everything)

    def told(self, row: Floats) -> Floats:
        """A row (1 + recorded,) from inside as it is outside."""
        if self._columns:
            cells = row.view(np.int64)
            for place in self._columns:
                cells[place] = self._outside.number(self._inside.content(int(cells[place])))
        return row

    def _copy(self, source: Kernel, destination: Kernel, slots: "np.ndarray[tuple[int], np.dtype[np.intp]]") -> None:
        if slots.size:
            copy_cells(source, destination, slots, self._numbered.intersection(slots.tolist()))
