"""What a scenario does to connections into inputs that are set at events only, which no kernel has."""

from collections.abc import Collection

from ssptool.engine.stimuli.modification import Modification, active
from ssptool.engine.stimuli.stimuli import Stimuli
from ssptool.fmu.description import Value
from ssptool.network.signals import Signal, Wire


class ActedAtEvents:
    """Of the connections into some inputs; nothing is done before `go_to`."""

    def __init__(self, stimuli: Stimuli, inputs: Collection[Signal]) -> None:
        self._gates = tuple(gate for gate in stimuli.gates if gate.destination in inputs)
        self._now: dict[Signal, tuple[Modification | None, Modification | None]] = {}

    def go_to(self, t: float) -> None:
        """From now on modifications are those at t [s]."""
        for gate in self._gates:
            self._now[gate.destination] = active(gate.at_source, t), active(gate.at_destination, t)

    def carry(self, wire: Wire, value: Value) -> Value:
        """What the destination of a wire gets where its source has this value."""
        at_source, at_destination = self._now.get(wire.destination, (None, None))
        if at_source is not None:
            value = at_source(value)
        value = wire.conversion.carry(value)
        return value if at_destination is None else at_destination(value)
