"""Check of a network for unsupported features; connections of parameters, which act before the first step."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from ssptool.engine.failure import Unsupported
from ssptool.engine.trace import holds_integer
from ssptool.fmu.description import FmuDescription, Variable, element_names, unsupported_of_fmi1
from ssptool.network.connectors import settable
from ssptool.network.conversion import Relation, narrowing, relation
from ssptool.network.network import IDENTITY, Assignment, FlatComponent, Network, Port, Signal, Wire

GIVEN = frozenset({"parameter", "structuralParameter"})
"""Kinds of connectors of the system whose values are known before the run: they were already passed to the connected
elements (SSP 2.0 §5.2.3).
"""

CALCULATED = frozenset({"calculatedParameter", "constant"})
"""Kinds of connectors of components whose values an FMU knows only in initialization mode."""

_TAKING = frozenset({"input", "inout", "parameter"})


def with_connected_locals(network: Network) -> Network:
    """The network with connected connectors of kind `local` as outputs, because they act as such (SSP 2.0 §5.3.2.1,
    Allowed Connections).
    """
    if "local" not in network.kinds:
        return network
    ends = {end for wire in network.wires for end in (wire.source, wire.destination)}

    def acting(ports: tuple[Port, ...]) -> tuple[Port, ...]:
        return tuple(
            port._replace(kind="output") if port.kind == "local" and port.signal in ends else port for port in ports
        )

    components = {name: replace(one, ports=acting(one.ports)) for name, one in network.components.items()}
    return replace(network, components=components, ports=acting(network.ports))


def settle_parameters(network: Network) -> tuple[Network, tuple[Wire, ...], tuple[str, ...]]:
    """A network without its connections of parameters, those of them that pass values between FMUs in initialization
    mode, and notes.

    Raises
    ------
    Unsupported
        The destination of one of them must be set before its value is known.
    """
    if network.kinds.isdisjoint(GIVEN | CALCULATED):
        return network, (), ()
    ports = _ports(network)
    kinds = {signal: port.kind for signal, port in ports.items()}
    apart = [wire for wire in network.wires if _of_parameters(wire.source, kinds.get(wire.source, ""))]
    if not apart:
        return network, (), ()
    for wire in apart:
        if problem := _problem(network, wire, ports):
            raise problem
    calculated = tuple(wire for wire in apart if wire.source.component and wire.destination.component)
    out = [str(wire.destination) for wire in apart if not wire.destination.component]
    notes = (f"not recorded, because they are not signals: {', '.join(out)}",) if out else ()
    wires = tuple(wire for wire in network.wires if wire not in apart)
    return replace(network, wires=wires, dangling=(*network.dangling, *apart)), calculated, notes


def _of_parameters(source: Signal, kind: str) -> bool:
    """True if wires from a connector of this kind are connections of parameters."""
    return kind in (CALCULATED if source.component else GIVEN)


def _ports(network: Network) -> dict[Signal, Port]:
    return {port.signal: port for port in network.every_port()}


def _problem(network: Network, wire: Wire, ports: dict[Signal, Port]) -> Unsupported | None:
    subject, destination = f"connection {wire.source} → {wire.destination}", ports.get(wire.destination)
    if not wire.source.component or not wire.destination.component or destination is None:
        return None
    if destination.kind not in _TAKING:
        return Unsupported(
            subject,
            f"{wire.source} is known only in initialization mode, but the {destination.kind} "
            f"{wire.destination} must be set before",
            f"set {wire.destination} in a parameter set",
        )
    for signal in (wire.source, wire.destination):
        if network.components[signal.component].description.fmi_major == 1:
            return Unsupported(
                subject,
                f"the FMU of {signal.component} is of FMI 1.0, which has no initialization mode",
                "give the parameter its value in a parameter set",
            )
    return None


_EXCHANGED = frozenset({"input", "output"})
_CARRIED = frozenset({Relation.IDENTICAL, Relation.WIDENING, Relation.ENUMERATION})


def refuse(network: Network) -> None:
    """Raise `Unsupported` for the first feature that cannot be simulated."""
    for problem in _problems(network):
        raise problem


def _problems(network: Network) -> Iterator[Unsupported]:
    for item in network.unsupported:
        advice = "remove it to simulate the rest"
        if item.advice:
            advice = item.advice
        if item.rules:
            advice += f", or leave it out with --accept {','.join(item.rules)}"
        yield Unsupported(str(item.position), f"not supported: {item.feature}", advice)
    if not network.components:
        yield Unsupported(f"system {network.name}", "it has no components", "add one")
    for component in network.components.values():
        yield from _component(component)
    yield from _wires(network)
    yield from _assignments(network)
    yield from _aliases(network)


def _component(component: FlatComponent) -> Iterator[Unsupported]:
    fmu, subject = component.description, f"component {component.name}"
    if unsupported := unsupported_of_fmi1(fmu):
        yield Unsupported(subject, f"{unsupported} is not supported", "ask for an FMU of FMI 2.0 or 3.0")
    elif fmu.co_simulation is None and fmu.model_exchange is None:
        yield Unsupported(subject, "scheduled execution is not supported", "use co-simulation or model exchange")
    for port in component.ports:
        variable = fmu.variables.get(port.signal.variable)
        if variable is None or variable.negated or (port.kind == "input" and not settable(variable)):
            yield from _port(component, port, variable)


def _port(component: FlatComponent, port: Port, variable: Variable | None) -> Iterator[Unsupported]:
    if variable is None and port.kind in _EXCHANGED:
        yield Unsupported(
            f"connector {port.signal}", "the FMU has no such variable", "`ssptool validate` names file and line"
        )
    elif variable is not None and port.kind == "input" and not settable(variable):
        reason = f"the connector is an input, but the FMU calculates {variable.name} ({variable.causality})"
        yield Unsupported(f"connector {port.signal}", reason, "declare it with the causality of the variable")
    elif variable is not None and variable.negated and port.kind in _EXCHANGED:
        yield Unsupported(f"connector {port.signal}", _NEGATED, _instead(component.description, variable))


_NEGATED = "negated aliases of FMI 1.0 are not supported"


def _instead(fmu: FmuDescription, negated: Variable) -> str:
    same = [one for one in fmu.variables.values() if one.reference == negated.reference and one.type == negated.type]
    names = ", ".join(one.name for one in same if not one.negated)
    return f"use {names}, which has the other sign" if names else "use another variable"


def _assignments(network: Network) -> Iterator[Unsupported]:
    for signal in network.assignments:
        component = network.components.get(signal.component)
        variable = component.description.variables.get(signal.variable) if component else None
        if component is not None and variable is None:
            advice = "`ssptool validate` names file and line"
            yield Unsupported(f"value of {signal}", "the FMU has no such variable", advice)
        elif component is not None and variable is not None and variable.negated:
            yield Unsupported(f"value of {signal}", _NEGATED, _instead(component.description, variable))
        elif component is not None and variable is not None and variable.array is not None:
            yield from _beside(component, variable, network)


def _beside(component: FlatComponent, given: Variable, network: Network) -> Iterator[Unsupported]:
    """Errors for an array of which some elements have values and others do not: FMI sets whole arrays only."""
    if given.start is not None or given.array is None:
        return
    for name in element_names(given.array, component.description.arrays[given.array]):
        if Signal(component.name, name) not in network.assignments:
            yield Unsupported(
                f"value of {Signal(component.name, given.name)}",
                f"the FMU takes the whole array only, and neither the system nor the FMU gives {name} a value",
                f"give all elements of {Signal(component.name, given.array)} values",
            )
            return


def refuse_unchecked(network: Network, apart: Collection[str]) -> None:
    """Raise `Unsupported` for a narrowing conversion at components that run `apart`, where values are not checked."""
    if not apart:
        return
    types = {port.signal: port.type for component in network.components.values() for port in component.ports}
    for wire in network.wires:
        ends = wire.source, wire.destination
        source, destination = (types.get(end, "") for end in ends)
        if {end.component for end in ends} & set(apart) and narrowing(source, destination):
            raise Unsupported(
                f"connection {wire.source} → {wire.destination}",
                f"values of type {source} are not checked on their way to type {destination} in event mode and in "
                "model exchange",
                "convert them in a component between the two",
            )


def _aliases(network: Network) -> Iterator[Unsupported]:
    """Errors for several names of one FMU variable with different values: only the last value would count."""
    aliased = _with_aliases(network)
    if not aliased:
        return
    connected = dict.fromkeys(wire.destination for wire in network.wires)
    known: dict[tuple[str, str, int, int], Signal] = {}
    for signal in (*connected, *network.assignments):
        component = network.components.get(signal.component)
        if component is None or id(component.description) not in aliased:
            continue
        variable = component.description.variables.get(signal.variable)
        if variable is None or variable.negated:
            continue
        other = known.setdefault((signal.component, variable.type, variable.reference, variable.element), signal)
        given = [network.assignments.get(one) for one in (other, signal)]
        if other == signal or (other not in connected and _same(given)):
            continue
        told = (
            f"{one} is {'connected' if one in connected else f'set to {network.assignments[one].value!r}'}"
            for one in (other, signal)
        )
        yield Unsupported(
            f"{other} and {signal}",
            f"both are one variable of the FMU (value reference {variable.reference}), but {' and '.join(told)}",
            "connect or set one of them",
        )


def _with_aliases(network: Network) -> set[int]:
    """Identities of the model descriptions in which a variable has several names."""
    variables = {id(one): one.variables for one in network.descriptions}
    return {
        number
        for number, known in variables.items()
        if len({(one.type, one.reference, one.element) for one in known.values()}) < len(known)
    }


def _same(given: Sequence[Assignment | None]) -> bool:
    values = [None if one is None else one.value for one in given]
    return None not in values and values[0] == values[1]


def _wires(network: Network) -> Iterator[Unsupported]:
    stated = {port.signal: (port.kind, port.type) for port in network.every_port()}.get
    passed = set[tuple[object, ...]]()  # equal wires are checked once: there are very many
    for wire in network.wires:
        source, destination, conversion = wire.source, wire.destination, wire.conversion
        own = not source.component, not destination.component
        alike = (stated(source), stated(destination), own, conversion is IDENTITY or conversion)
        if alike not in passed:
            problems = tuple(_wire(wire, stated(source), stated(destination)))
            yield from problems
            passed.update([] if problems else [alike])


def _wire(wire: Wire, source: tuple[str, str] | None, destination: tuple[str, str] | None) -> Iterator[Unsupported]:
    """Problems of a wire between connectors of these kinds and types."""
    apart = source is not None and _of_parameters(wire.source, source[0])
    for signal, stated in () if apart else ((wire.source, source), (wire.destination, destination)):
        kind, _ = stated or (None, "")
        if kind not in _EXCHANGED:
            found = "no connector" if kind is None else f"of kind {kind}"
            yield Unsupported(
                f"connection {wire.source} → {wire.destination}",
                f"{signal} is {found}; only inputs and outputs, and parameters with each other, can be connected",
                "remove the connection, or set the parameter in a parameter set",
            )
    if source is not None and destination is not None:
        narrow = not apart and bool(wire.source.component and wire.destination.component)
        yield from _types(wire, source[1], destination[1], narrow=narrow)


def _types(wire: Wire, source: str, destination: str, *, narrow: bool) -> Iterator[Unsupported]:
    """Errors for the types of a wire. `narrow`: it connects an output of a component to an input of another one, which
    checks values.
    """
    subject, conversion = f"connection {wire.source} → {wire.destination}", wire.conversion
    if (checked := narrowing(source, destination)) and (not narrow or conversion.table):
        yield Unsupported(
            subject,
            f"values of type {source} become values of type {destination} only from an output of a component to an "
            "input of another one, without a mapping",
            "convert them in a component between the two",
        )
    elif not checked and relation(source, destination) not in _CARRIED:
        yield Unsupported(
            subject,
            f"values of type {source} cannot become values of type {destination} without loss",
            "convert them in a component between the two",
        )
    elif holds_integer(destination) and (conversion.factor, conversion.offset) != (1.0, 0.0):
        yield Unsupported(
            subject,
            f"values of type {destination} cannot be multiplied or shifted by units or a linear transformation",
            "use the same unit at both ends, and a mapping transformation",
        )
