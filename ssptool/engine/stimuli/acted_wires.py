"""Wires that a scenario acts on."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from ssptool.engine.kernel.interface import ActedWire, Kernel
from ssptool.engine.plan import Plan
from ssptool.engine.stimuli.feeds import change_of
from ssptool.engine.stimuli.modification import Modification, active


class _Acted(NamedTuple):
    destination: int
    source_type: str
    destination_type: str
    at_source: tuple[Modification, ...]
    at_destination: tuple[Modification, ...]


class ActedWires:
    """Of one kernel. `sources`: slots from which it has the wires."""

    def __init__(self, plan: Plan, kernel: Kernel, sources: Collection[int]) -> None:
        self._kernel = kernel
        self._wires = tuple(_acted(plan, sources))

    def go_to(self, t: float) -> None:
        """From now on modifications are those at t [s]."""
        kernel = self._kernel
        if self._wires:
            kernel.act(
                [
                    ActedWire(
                        one.destination,
                        change_of(kernel, one.source_type, active(one.at_source, t)),
                        change_of(kernel, one.destination_type, active(one.at_destination, t)),
                    )
                    for one in self._wires
                ]
            )


def _acted(plan: Plan, sources: Collection[int]) -> Iterator[_Acted]:
    slots = {signal: slot for slot, signal in enumerate(plan.signals)}
    elsewhere = plan.event_modes.inputs | (plan.ode.events.inputs if plan.ode is not None else frozenset())
    for gate in plan.stimuli.gates:
        if gate.destination in elsewhere:
            continue
        source, destination = slots[gate.source], slots[gate.destination]
        if source in sources:
            types = plan.types[source], plan.types[destination]
            yield _Acted(destination, *types, gate.at_source, gate.at_destination)
    # Connectors of systems inside on the way of what a source gives, which are there for the trace.
    changed = {slots[gate.source]: gate.at_source for gate in plan.stimuli.gates if gate.at_source}
    for wire in plan.shown_wires:
        if wire.source in changed and wire.source in sources:
            types = plan.types[wire.source], plan.types[wire.destination]
            yield _Acted(wire.destination, *types, changed[wire.source], ())
