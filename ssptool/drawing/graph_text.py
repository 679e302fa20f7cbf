"""A system graph as text for people."""

from collections.abc import Iterator

from ssptool.network.blocks import Block
from ssptool.network.cycles import AlgebraicLoop, ComponentCycle
from ssptool.network.network import Component, Network, Port
from ssptool.network.signals import Wire
from ssptool.network.system_graph import SystemGraph


def graph_text(graph: SystemGraph) -> str:
    """Components, wires, component cycles, algebraic loops and the evaluation order."""
    network = graph.network
    sections = [
        [network.name],
        ["Components", *(f"  {line}" for line in _components(network))],
        ["Wires", *(f"  {_wire(wire)}" for wire in network.wires)],
        ["Component cycles", *(f"  {line}" for line in _cycles(graph.cycles))],
        [f"Evaluation order ({graph.stage})", *(f"  {line}" for line in _order(graph.order))],
    ]
    return "\n\n".join("\n".join(section) for section in sections)


def _components(network: Network) -> Iterator[str]:
    for component in network.components.values():
        yield from _component(component, network)
    units = {port.signal: port.unit for port in network.ports}
    for table in network.tables.values():
        yield f"{table.name}  ({table.source}, a table)"
        names = {signal: signal.variable.removeprefix(f"{table.name}.") for signal in table.outputs}
        yield f"  output: {', '.join(f'{n} [{units[s]}]' if units[s] else n for s, n in names.items())}"


def _component(component: Component, network: Network) -> Iterator[str]:
    yield f"{component.name}  ({component.source}, FMI {component.description.fmi_version})"
    for kind in dict.fromkeys(port.kind for port in component.ports):
        yield f"  {kind}: {', '.join(_port(port, network) for port in component.of_kind(kind))}"


def _port(port: Port, network: Network) -> str:
    shape = network.arrays.get(port.signal)
    extents = "" if shape is None else f" ({' × '.join(map(str, shape))})"
    return f"{port.signal.variable}{extents}" + (f" [{port.unit}]" if port.unit else "")


def _wire(wire: Wire) -> str:
    text = f"{wire.source} → {wire.destination}"
    factor, offset = wire.conversion.factor, wire.conversion.offset
    if wire.conversion.table:
        return f"{text}   {wire.conversion.formula('v')}"
    if (factor, offset) != (1.0, 0.0):
        text += f"   · {factor:g}" + (f" {offset:+g}" if offset else "")
    return text


def _cycles(cycles: tuple[ComponentCycle, ...]) -> Iterator[str]:
    if not cycles:
        yield "none: the components can be run one after the other"
    for cycle in cycles:
        yield " ⇄ ".join(cycle.components)
        for loop in cycle.loops:
            yield from (f"  {line}" for line in _loop(loop))
        if not cycle.loops:
            yield "  no algebraic loop" + (", because" if cycle.broken_by else "")
            yield from (f"    {independence}" for independence in cycle.broken_by)


def _loop(loop: AlgebraicLoop) -> Iterator[str]:
    yield f"algebraic loop {{{', '.join(map(str, loop.outputs))}}}, closed by"
    yield from (f"  {dependence}" for dependence in loop.closed_by)
    yield f"iterated on: {', '.join(map(str, loop.block.torn))}"


def _order(order: tuple[Block, ...]) -> Iterator[str]:
    for number, block in enumerate(order, start=1):
        names = ", ".join(map(str, block.signals))
        yield f"{number:>3}  " + (f"loop {{{names}}}" if block.is_loop else names)
