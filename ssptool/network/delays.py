"""Deliberate delays of connections in a run, for example to cut a loop that the real hardware also cuts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ssptool.documents.delays import DELAY, HELD, INPUT, OUTPUT, delay_file
from ssptool.documents.vocabulary import OWN_DELAY, OWN_HELD_DELAY
from ssptool.errors import WrongValue, in_other_case, similar_names
from ssptool.fmu.description import Variability
from ssptool.fmu.read_description import read_description
from ssptool.network.arrays import whole
from ssptool.network.network import Assignment, FlatComponent, Network, Port, Signal, Wire

REALS = ("Float64", "Float32")


def with_delays(network: Network, delays: Mapping[str, float]) -> Network:
    """The network with an additional component in each delayed connection.

    Parameters
    ----------
    delays : [s]
        Output of a component, whose connections to other components are all delayed; or an input, whose connection is
        delayed.

    Raises
    ------
    WrongValue
        No connection starts or ends there, or it does not pass on real numbers.
    """
    for name, delay in delays.items():
        wires = _delayed(network, name)
        for source in dict.fromkeys(wire.source for wire in wires):
            network = _with_delay(network, source, [wire for wire in wires if wire.source == source], delay)
    return network


def _delayed(network: Network, name: str) -> list[Wire]:
    """Connections between components that start at a signal of this name, or if there are none, that end there."""
    between = [wire for wire in network.wires if wire.source.component and wire.destination.component]
    known = dict.fromkeys(one for wire in between for end in _ends(wire) for one in _names(network, end))
    own = in_other_case(name, known) or name
    for end in (0, 1):
        if found := [wire for wire in between if own in _names(network, _ends(wire)[end])]:
            return found
    near = similar_names(name, known) or tuple(known)[:5]
    there = f"; there are {', '.join(near)}" if near else "; the system has none"
    raise WrongValue(f"delay: {name!r} is not an end of a connection between components{there}")


def _ends(wire: Wire) -> tuple[Signal, Signal]:
    return wire.source, wire.destination


def _names(network: Network, signal: Signal) -> tuple[str, str]:
    """Name of a signal, and name of the array that contains it."""
    return str(signal), str(whole(signal, network.arrays))


def _with_delay(network: Network, source: Signal, wires: Sequence[Wire], delay: float) -> Network:
    variable = network.variable(source)
    if variable.type not in REALS or variable.clocks:
        what = f"is of type {variable.type}" if variable.type not in REALS else "belongs to a clock"
        raise WrongValue(f"delay: {source} {what}; only connections of real numbers at all times can be delayed")
    held = variable.variability is not Variability.CONTINUOUS
    fmu = OWN_HELD_DELAY if held else OWN_DELAY
    name = next(one for one in _free(f"delay of {source}") if one not in network.components)
    feeding = network.components[source.component]
    ports = tuple(
        Port(Signal(name, end), kind, "Float64", variable.unit, "", feeding.position)
        for end, kind in ((INPUT, "input"), (OUTPUT, "output"))
    )
    component = FlatComponent(
        name, fmu, "CoSimulation", read_description(delay_file(fmu)), ports, feeding.position, fmu, delays=True
    )
    values = {Signal(name, DELAY): delay, Signal(name, HELD): float(held)}
    delayed = {wire: wire._replace(source=Signal(name, OUTPUT)) for wire in wires}
    return replace(
        network,
        components={**network.components, name: component},
        wires=(*(delayed.get(wire, wire) for wire in network.wires), Wire(source, Signal(name, INPUT))),
        assignments={**network.assignments, **{one: Assignment(one, value, None, ()) for one, value in values.items()}},
    )


def _free(name: str) -> Iterator[str]:
    """Possible names for the component: a signal can be delayed several times, for several inputs."""
    yield name
    number = 2
    while True:
        yield f"{name} ({number})"
        number += 1
