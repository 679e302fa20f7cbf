"""Selection of recorded signals by pattern, among exchanged signals and all variables of FMUs."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from ssptool.engine.kernel.calls import ACCESS
from ssptool.engine.planning.plan import Plan, PlannedInstance, PlannedWire
from ssptool.engine.recording.patterns import checked_patterns, fits, fits_any
from ssptool.engine.trace import NUMBERED, Column, holds_integer
from ssptool.errors import in_other_case
from ssptool.fmu.description import Causality, Value, Variability, Variable, element_names
from ssptool.network.network import IDENTITY, Conversion, Port, Signal, Wire

RECORDABLE = "signal or variable that can be recorded"
NOTHING_RECORDED = "no signal is recorded: no component has connectors for outputs (--record 'NAME.*' records others)"
_SETTLED_KINDS = frozenset({"parameter", "structuralParameter", "calculatedParameter", "constant"})


def select(plan: Plan, patterns: Sequence[str]) -> Plan:
    """The plan that records only signals that match one of the patterns; without patterns, it records all signals, with
    a note if there are none.

    In addition to exchanged signals, patterns may match all variables of the FMUs and the connectors of nested systems:
    `component.variable`, with the full path of nested systems. A pattern that matches varying signals does not match
    parameters and constants, unless it is their name.

    Raises
    ------
    UnknownName
        A pattern matches none of them.
    """
    if not patterns:
        silent = not plan.recorded and NOTHING_RECORDED not in plan.notes
        return replace(plan, notes=(*plan.notes, NOTHING_RECORDED)) if silent else plan
    inside = Inside(plan)
    exchanged, shown = inside.chosen(patterns)
    plan = replace(
        plan,
        columns=tuple(plan.columns[number] for number in exchanged),
        recorded=tuple(plan.recorded[number] for number in exchanged),
    )
    if (instead := plan.instead) is not None:
        plan = replace(plan, instead=lambda reason: select(instead(reason), patterns))
    return _showing(plan, inside, shown) if shown else plan


def select_first(plan: Plan, patterns: Sequence[str]) -> Plan:
    """The plan that records the signals of `select` first, and then all other exchanged signals."""
    chosen = select(plan, patterns)
    others = [number for number, slot in enumerate(plan.recorded) if slot not in chosen.recorded]
    return replace(
        chosen,
        columns=(*chosen.columns, *(plan.columns[number] for number in others)),
        recorded=(*chosen.recorded, *(plan.recorded[number] for number in others)),
    )


class Route(NamedTuple):
    """Conversion from another signal to the value of a connector."""

    source: Signal
    conversion: Conversion


class Inside:
    """Signals that can be recorded in addition to exchanged ones: variables of FMUs, and connectors of nested systems
    whose values follow from those variables or from signals.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._slots = {signal: slot for slot, signal in enumerate(plan.signals)}
        self._components = {one.name: one for one in plan.instances}

    @cached_property
    def signals(self) -> tuple[Signal, ...]:
        """Variables in the order of the components, then connectors."""
        variables = (
            Signal(one.name, variable.name)
            for one in self._plan.instances
            for variable in one.description.variables.values()
            if self._can_be_got(one, variable)
        )
        return (*(signal for signal in variables if signal not in self._slots), *self.connectors)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(map(str, self.signals))

    def called(self, name: str) -> str | None:
        """Full name of the recordable signal with this `name`: an exact match, a match without the name of the only
        component, or a match regardless of case. None if there is none.

        Raises
        ------
        AmbiguousName
            Several signals match in different upper and lower case.
        """
        every = (*(column.signal for column in self._plan.columns), *self.names)
        meant = (name, self._plan.network.in_the_only_component(name))
        exact = (one for one in meant if one in every)
        return next(exact, None) or next(filter(None, (in_other_case(one, every) for one in meant)), None)

    @cached_property
    def arrays(self) -> tuple[str, ...]:
        """The names of whole arrays."""
        return tuple(map(str, self._plan.network.arrays))

    def chosen(self, patterns: Sequence[str]) -> tuple[list[int], list[Signal]]:
        """Column numbers of the plan, and signals inside, that match the patterns. Raises UnknownName."""
        names = [column.signal for column in self._plan.columns]
        patterns = [self._full(pattern, names) for pattern in patterns]
        if set(patterns).issubset(names):
            return [number for number, name in enumerate(names) if name in patterns], []
        patterns = checked_patterns(patterns, [*names, *self.names, *self.arrays], RECORDABLE)
        arrays = {str(array) for array in self._plan.network.arrays}
        wholes = [f"{pattern}[*]" for pattern in patterns if pattern in arrays]
        exchanged = [number for number, name in enumerate(names) if fits_any((*patterns, *wholes), name)]
        shown = set(chain.from_iterable(self._fitting(pattern, names) for pattern in patterns))
        known = zip(self.signals, self.names, strict=True)
        return exchanged, [signal for signal, name in known if name in shown or fits_any(wholes, name)]

    def _full(self, pattern: str, exchanged: Sequence[str]) -> str:
        """The pattern itself; in a system of one component, a pattern without a match gets the name of the
        component.
        """
        network = self._plan.network
        others = [
            network.in_the_only_component(pattern),
            *([pattern.removeprefix("*.")] if network.of_lone_fmu else []),
        ]
        every = [pattern, *(other for other in others if other != pattern)]
        if len(every) == 1:
            return pattern
        names = [name.casefold() for name in (*exchanged, *self.arrays, *self.names)]
        alike = (one for one in every if any(fits(one.casefold(), name) for name in names))
        return next((one for one in every if self._fits_some(one, exchanged)), next(alike, pattern))

    def _fits_some(self, pattern: str, exchanged: Sequence[str]) -> bool:
        """True if a pattern matches any name. Names inside are checked last, because there may be very many."""
        known = any(fits(pattern, name) for name in (*exchanged, *self.arrays))
        return known or any(fits(pattern, name) for name in self.names)

    def _fitting(self, pattern: str, exchanged: Iterable[str]) -> Iterator[str]:
        """Names inside that match a pattern. If varying signals match, parameters and constants only match by their
        exact name.
        """
        found = [(signal, name) for signal, name in zip(self.signals, self.names, strict=True) if fits(pattern, name)]
        varying = [name for signal, name in found if self._varies(signal)]
        some = bool(varying) or any(fits(pattern, name) for name in exchanged)
        yield from varying
        yield from (name for _, name in found if not some or name == pattern)

    def _varies(self, signal: Signal) -> bool:
        variable = self.variable(signal)
        if variable is None:
            return self.connectors[signal].kind not in _SETTLED_KINDS
        varies = variable.variability in (Variability.CONTINUOUS, Variability.DISCRETE)
        return varies and variable.causality is not Causality.INDEPENDENT

    @cached_property
    def connectors(self) -> Mapping[Signal, Port]:
        """Connectors of systems without a slot, whose values are known."""
        network = self._plan.network
        ports = {port.signal: port for port in (*network.ports, *network.boundaries)}
        found = {s: port for s, port in ports.items() if s not in self._slots and port.type in ACCESS[3]}
        return {s: port for s, port in found.items() if self.route(s) or s in network.boundary_assignments}

    def route(self, signal: Signal) -> Route | None:
        """Source of the value of a connector; None if it has no connection."""
        return next((route for route in self._routes.get(signal, ()) if self.is_known(route.source)), None)

    def is_known(self, signal: Signal) -> bool:
        """True if the signal has a slot, or is a variable that can be read."""
        one = self._components.get(signal.component)
        variable = None if one is None else one.description.variables.get(signal.variable)
        return signal in self._slots or (one is not None and variable is not None and self._can_be_got(one, variable))

    @cached_property
    def _routes(self) -> Mapping[Signal, list[Route]]:
        """Routes of all wires: the connectors from source to destination."""
        forward: dict[Signal, list[Route]] = defaultdict(list)
        backward: dict[Signal, list[Route]] = defaultdict(list)
        network = self._plan.network
        for wire in chain(network.wires, network.dangling):
            for signal, conversion in _passed(wire):
                forward[signal].append(Route(wire.source, conversion))
                if (back := _inverse(wire.conversion)) is not None:
                    backward[signal].append(Route(wire.destination, back.then(conversion)))
        return {signal: [*routes, *backward[signal]] for signal, routes in forward.items()}

    @staticmethod
    def _can_be_got(one: PlannedInstance, variable: Variable) -> bool:
        return not variable.negated and variable.type in ACCESS[one.description.fmi_major]

    def variable(self, signal: Signal) -> Variable | None:
        one = self._components.get(signal.component)
        return None if one is None else one.description.variables.get(signal.variable)

    def together(self, signal: Signal) -> tuple[Signal, ...]:
        """Variables that are read together with this one: for an element of an array, all its elements."""
        variable, arrays = self.variable(signal), self._components[signal.component].description.arrays
        if variable is None or variable.array is None:
            return (signal,)
        names = element_names(variable.array, arrays[variable.array])
        return tuple(Signal(signal.component, name) for name in names)

    def kind(self, signal: Signal) -> str:
        """Type of any known signal."""
        if signal in self._slots:
            return self._plan.types[self._slots[signal]]
        if (variable := self.variable(signal)) is not None:
            return variable.type
        stated, route = self.connectors[signal].type, self.route(signal)
        source = stated if route is None else self.kind(route.source)
        if stated == source or ({stated, source}.isdisjoint(NUMBERED) and not holds_integer(stated)):
            return stated
        return source

    def unit(self, signal: Signal) -> str | None:
        """Unit of a connector; if it states none, the unit of the signal that it follows from."""
        if (variable := self.variable(signal)) is not None:
            return variable.unit
        port = self.connectors.get(signal)
        if port is None:
            every = (*self._plan.network.ports, *self._plan.network.boundaries)
            return next((one.unit for one in every if one.signal == signal), None)
        route = self.route(signal)
        return self.unit(route.source) if port.unit is None and route and route.conversion == IDENTITY else port.unit

    def column(self, signal: Signal) -> Column:
        kind, variable = self.kind(signal), self.variable(signal)
        if variable is not None:
            discrete = variable.variability is not Variability.CONTINUOUS and not holds_integer(kind)
            return Column(
                str(signal),
                variable.unit,
                kind,
                variable.description,
                discrete,
                full_name=signal.alias,
                relative=variable.relative_quantity,
                display=variable.display,
            )
        route = self.route(signal)
        source = "" if route is None or route.conversion != IDENTITY else str(route.source)
        return Column(str(signal), self.unit(signal), kind, self.connectors[signal].description, carried_from=source)


def _passed(wire: Wire) -> Iterator[tuple[Signal, Conversion]]:
    """All connectors along a wire, including its ends, each with the conversion from the source of the wire."""
    conversion = IDENTITY
    yield wire.source, conversion
    for leg in wire.legs:
        conversion = conversion.then(leg.conversion)
        yield leg.destination, conversion


def _inverse(conversion: Conversion) -> Conversion | None:
    if conversion.table or not conversion.factor:
        return None
    if (conversion.factor, conversion.offset) == (1.0, 0.0):
        return IDENTITY
    return Conversion(1 / conversion.factor, -conversion.offset / conversion.factor)


def _showing(plan: Plan, inside: Inside, shown: Sequence[Signal]) -> Plan:
    """The plan with additional slots for these variables and connectors, which are also recorded."""
    routes = {signal: inside.route(signal) for signal in shown if inside.variable(signal) is None}
    needed = (route.source for route in routes.values() if route is not None)
    variables = [signal for signal in (*shown, *needed) if signal not in routes and signal not in plan.signals]
    own: dict[str, list[Signal]] = defaultdict(list)
    for signal in dict.fromkeys(chain.from_iterable(map(inside.together, variables))):
        own[signal.component].append(signal)
    every = (*chain.from_iterable(own.values()), *routes)
    slots = {signal: slot for slot, signal in enumerate((*plan.signals, *every))}
    wires = tuple(
        PlannedWire(slots[route.source], slots[signal], route.conversion)
        for signal, route in routes.items()
        if route is not None
    )
    given = plan.network.boundary_assignments
    constants: dict[int, Value] = {slots[s]: given[s].value for s, route in routes.items() if route is None}
    return replace(
        plan,
        signals=(*plan.signals, *every),
        types=(*plan.types, *map(inside.kind, every)),
        nominal=(*plan.nominal, *(1.0 for _ in every)),
        columns=(*plan.columns, *map(inside.column, shown)),
        recorded=(*plan.recorded, *(slots[signal] for signal in shown)),
        instances=tuple(_observing(one, own[one.name], slots) if one.name in own else one for one in plan.instances),
        constants=MappingProxyType({**plan.constants, **constants}),
        shown=tuple(slots[signal] for signal in every),
        shown_wires=wires,
    )


def _observing(one: PlannedInstance, observed: Sequence[Signal], slots: Mapping[Signal, int]) -> PlannedInstance:
    return replace(one, observed=tuple(observed), observed_slots=tuple(slots[signal] for signal in observed))
