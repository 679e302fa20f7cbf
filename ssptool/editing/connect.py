"""Match connectors, and connect or disconnect them: by the table of the standard, by names, or terminals by members."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from math import isfinite

from ssptool.documents import ssb, ssc, ssd
from ssptool.documents.vocabulary import number_text
from ssptool.editing.changes import EditError
from ssptool.editing.dictionaries import add_access, signal_of, signals_of
from ssptool.editing.draft import ConnectorPlace, Draft, Place
from ssptool.editing.names import Name, ambiguous_dots, find, places, shown
from ssptool.editing.transformations import AS_IT_IS, EndType, Treatment, treat
from ssptool.errors import AmbiguousName, UnknownName, UnusableFile, WrongUsage, counted
from ssptool.fmu.description import Variable, fixed_shape
from ssptool.fmu.terminals import FLOWS, MatchingRule, Terminal, TerminalMember, flow_factor, read_terminals
from ssptool.fmu.units import named, stated_or_own
from ssptool.network.conversion import Verdict, canonical, document_units, items_of
from ssptool.network.legality import Carried, ConnectionEnd, acting_kind, by_variable, direct, obstacles


@dataclass(frozen=True, slots=True, eq=False)
class NewConnection:
    """A connection to make in a system, from source to destination."""

    system: ssd.System
    source: ConnectorPlace
    destination: ConnectorPlace

    @property
    def start(self) -> ssd.ConnectorRef:
        return self.source.seen_from(self.system)

    @property
    def end(self) -> ssd.ConnectorRef:
        return self.destination.seen_from(self.system)


def joint_systems(a: Place, b: Place) -> list[ssd.System]:
    """Systems that can contain a connection between two elements: each element is the system itself, or directly in
    it.
    """
    candidates = [*a.around[-1:], *([a.element] if isinstance(a.element, ssd.System) else [])]
    return [system for system in candidates if b.element is system or (b.around and b.around[-1] is system)]


def flow(draft: Draft, first: ConnectorPlace, second: ConnectorPlace) -> NewConnection:
    """System and direction of a connection between two connectors.

    Raises
    ------
    EditError
        They are in different systems, or the table does not contain the pair.
    """
    systems = joint_systems(first.owner, second.owner)
    if not systems:
        raise EditError(
            f"{first} and {second} are not in one system: a connection cannot cross the boundary of a system; "
            "give that system a connector and connect both sides to it"
        )
    found = []
    for system in systems:
        start, end = (acting_end(draft, side, system) for side in (first, second))
        directed = direct(start, end, draft.version)
        if directed is not None:
            ordered = (first, second) if directed[0] is start else (second, first)
            found.append(NewConnection(system, *ordered))
        elif _undecided(start, end, draft.version):
            found.append(NewConnection(system, first, second))
    if not found:
        raise EditError(_illegal((start, first), (end, second), version=draft.version))
    # Two connectors of a system can be connected inside or outside; then the first one is the source.
    return next((pair for pair in found if pair.source.connector is first.connector), found[0])


def between(pair: NewConnection) -> ssd.Connection | None:
    """The existing connection of a pair, in either direction."""
    wanted = {pair.start, pair.end}
    return next((each for each in pair.system.connections if set(each.ends) == wanted), None)


def end_type(draft: Draft, side: ConnectorPlace) -> EndType:
    """Type of a connector; facts that it does not state are those of its variable."""
    known = carried_by(draft, side)
    return EndType(str(side), known.type, known.items or {})


def fits(draft: Draft, pair: NewConnection, treatment: Treatment = AS_IT_IS) -> str | None:
    """Reason why two connectors with fitting kinds cannot be connected; None if they can."""
    for connection in pair.system.connections:
        if pair.end not in connection.ends:
            continue
        ends = [_at(draft, pair.system, end) for end in connection.ends]
        source, destination = directed(connection, ends, draft.version)
        if destination == pair.end:
            if source == pair.start:
                return "they are connected already; use --factor, --offset or --map to transform the value"
            return f"{pair.destination} already has a source, {source}; disconnect that first"
    return incompatible(draft, pair, treatment)


def incompatible(draft: Draft, pair: NewConnection, treatment: Treatment = AS_IT_IS) -> str | None:
    """Reason why two connectors cannot be connected, because of types, units or sizes; None if they can."""
    sides = pair.source, pair.destination
    source, destination = (carried_by(draft, side) for side in sides)
    for one in obstacles(source, destination, *(_shape(draft, side) for side in sides)):
        passes = one.code == "UNIT-006" and treatment.suppress_unit_conversion
        passes = passes or (one.code == "SSD-CONN-009" and any(_only_element(draft, pair)))
        if one.verdict is Verdict.ERROR and not passes and not (one.lifted_by and treatment.table):
            return one.between(*sides)
    return None


def _only_element(draft: Draft, pair: NewConnection) -> tuple[str, str]:
    """Indices at source and destination for connecting a scalar with the only element of an array."""
    start, end = (_shape(draft, side) for side in (pair.source, pair.destination))
    if () not in (start, end) or {*(start or ()), *(end or ())} != {1}:
        return "", ""
    return " ".join(map(str, start or ())), " ".join(map(str, end or ()))


def directed(
    connection: ssd.Connection, ends: Sequence[ConnectionEnd | None], version: str
) -> tuple[ssd.ConnectorRef, ssd.ConnectorRef]:
    """Source and destination of a connection whose ends have these kinds; as written if the direction is unknown."""
    start, end = ends
    found = None if start is None or end is None else direct(start, end, version)
    return connection.ends if found is None or found[0] is start else (connection.end, connection.start)


def _at(draft: Draft, system: ssd.System, end: ssd.ConnectorRef) -> ConnectionEnd | None:
    owners = [system] if not end.element else [each for each in system.elements if each.name == end.element]
    sides = (ConnectorPlace(Place((one.name,), one), each) for one in owners for each in one.connectors)
    return next((acting_end(draft, side, system) for side in sides if side.connector.name == end.connector), None)


def acting_end(draft: Draft, side: ConnectorPlace, system: ssd.System) -> ConnectionEnd:
    """A connector in a connection of a system, with the kind that counts for the direction."""
    end, type = ConnectionEnd(*side.seen_from(system), side.connector.kind), side.connector.type
    if end.kind is not ssd.ConnectorKind.UNSPECIFIED and not isinstance(type, ssc.Clock | None):
        return end
    stated = None if type is None else type.get("intervalVariability")
    return end._replace(kind=acting_kind(end.owner, end.kind, stated, _variable(draft, side)))


def by_name(draft: Draft, first: Place, second: Place) -> tuple[list[NewConnection], list[str]]:
    """Pairs of connectors with equal names that can be connected, and reasons why others cannot."""
    if first.element is second.element:
        raise EditError(f"{first} cannot be matched with itself: name two connectors")
    others = {connector.name: connector for connector in second.element.connectors}
    pairs, skipped = [], []
    for connector in first.element.connectors:
        if connector.name not in others:
            continue
        sides = ConnectorPlace(first, connector), ConnectorPlace(second, others[connector.name])
        try:
            pair = flow(draft, *sides)
        except WrongUsage as problem:
            skipped.append(str(problem))
            continue
        if problem_found := fits(draft, pair):
            skipped.append(f"{sides[0]} and {sides[1]}: {problem_found}")
        else:
            pairs.append(pair)
    return pairs, skipped


MemberPair = tuple[TerminalMember, TerminalMember]


def terminal_pairs(a: Terminal, b: Terminal, first: str, second: str) -> Iterator[MemberPair]:
    """Pairs of members of two terminals according to their matching rule (FMI 3.0 §2.4.9.2.1).

    Raises
    ------
    EditError
        The terminals do not match.
    """
    rule = a.matching_rule
    if rule != b.matching_rule:
        raise EditError(f"{first} is matched by {rule!r}, {second} by {b.matching_rule!r}: they do not go together")
    if a.kind != b.kind:
        raise EditError(f"{first} is of kind {a.kind or 'none'!r}, {second} of kind {b.kind or 'none'!r}")
    if rule == MatchingRule.SEQUENCE:
        if len(a.members) != len(b.members):
            raise EditError(
                f"{first} has {len(a.members)} members, {second} {len(b.members)}: "
                "the matching rule 'sequence' needs equal numbers"
            )
        return zip(a.members, b.members, strict=True)
    if rule == MatchingRule.TRANSCEIVER:
        return _crossed(a, b, first, second)
    if rule not in (MatchingRule.PLUG, MatchingRule.BUS):
        raise EditError(
            f"the matching rule {rule!r} of {first} does not say which members belong together: "
            "connect connectors one by one"
        )
    return _by_member_name(a, b, first, second)


def _by_member_name(a: Terminal, b: Terminal, first: str, second: str) -> Iterator[MemberPair]:
    ours = {member.name: member for member in a.members}
    theirs = {member.name: member for member in b.members}
    alone = sorted(ours.keys() ^ theirs.keys())
    if alone and a.matching_rule == MatchingRule.PLUG:
        raise EditError(f"only one of {first} and {second} has the members {', '.join(alone)}: they do not match")
    common = [name for name in ours if name in theirs]
    if not common:
        raise EditError(f"{first} and {second} have no member in common")
    return ((ours[name], theirs[name]) for name in common)


_TRANSCEIVER = ("Tx_Data", "Tx_Clock", "Rx_Data", "Rx_Clock")


def _crossed(a: Terminal, b: Terminal, first: str, second: str) -> Iterator[MemberPair]:
    """Crossed pairs of members: one side of a bus transmits what the other side receives (FMI-LS-BUS, network
    abstraction).
    """
    sides = []
    for terminal, name in ((a, first), (b, second)):
        members = {member.name: member for member in terminal.members}
        if sorted(members) != sorted(_TRANSCEIVER) or len(terminal.members) != len(_TRANSCEIVER):
            found = ", ".join(member.name or "''" for member in terminal.members) or "none"
            raise EditError(f"{name} has the members {found}: {a.matching_rule} needs {', '.join(_TRANSCEIVER)}")
        sides.append(members)
    ours, theirs = sides
    return (
        (ours[one], theirs[other]) for one, other in zip(_TRANSCEIVER, _TRANSCEIVER[2:] + _TRANSCEIVER[:2], strict=True)
    )


def _undecided(a: ConnectionEnd, b: ConnectionEnd, version: str) -> bool:
    """True if the pair is legal in both directions, as for unspecified connectors."""
    return version != "1.0" and a.kind is b.kind is ssd.ConnectorKind.UNSPECIFIED


def _illegal(*ends: tuple[ConnectionEnd, ConnectorPlace], version: str) -> str:
    kinds = f"{ends[0][1]} is {_described(*ends[0])}, {ends[1][1]} {_described(*ends[1])}"
    if len({end.kind for end, _ in ends}) == 1:
        advice = "one of them has to be a source" if ends[0][0].kind == "input" else "only one can be the source"
    else:
        advice = f"the table of SSP {version} has no such connection"
    return f"{kinds}: {advice}"


def _described(end: ConnectionEnd, side: ConnectorPlace) -> str:
    if end.kind is side.connector.kind or side.connector.kind is ssd.ConnectorKind.UNSPECIFIED:
        return _article(end.kind)
    return f"a clock that ticks by itself (it counts as an {end.kind})"


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aiou" else f"a {kind}"


def carried_by(draft: Draft, side: ConnectorPlace) -> Carried:
    """Type, unit and items of a connector's value: its own, or those of its signal or variable."""
    own, variable = _stated(side.connector, draft.root), _variable(draft, side)
    signal, fmu = signal_of(draft, side.owner, side.connector.name), draft.fmu(side.owner.element)
    dictionary = None if signal is None else signal.getparent()
    if signal is not None and isinstance(dictionary, ssb.SignalDictionary):
        behind = _stated(signal, dictionary)
    elif fmu is not None and variable is not None:
        behind = by_variable(fmu, variable)
    else:
        return own
    unit = stated_or_own(own.unit, behind.unit)
    return Carried(own.type or behind.type, unit, own.items or behind.items, behind.relative)


def _stated(
    typed: ssd.Connector | ssb.DictionaryEntry, root: ssd.SystemStructureDescription | ssb.SignalDictionary
) -> Carried:
    type = None if typed.type_name is None else canonical(typed.type_name)
    units = {} if typed.unit is None else document_units(root)
    return Carried(type, named(units, typed.unit), items_of(typed, root.enumerations) or None)


def _variable(draft: Draft, side: ConnectorPlace) -> Variable | None:
    fmu = draft.fmu(side.owner.element)
    return None if fmu is None else fmu.variables.get(side.connector.name)


def _shape(draft: Draft, side: ConnectorPlace) -> tuple[int | None, ...] | None:
    stated, variable = tuple(one.size for one in side.connector.dimensions), _variable(draft, side)
    return stated if stated or variable is None else fixed_shape(variable)


@dataclass(frozen=True, slots=True, eq=False)
class TerminalPlace:
    """A terminal of the FMU of a component."""

    owner: Place
    terminal: Terminal

    def __str__(self) -> str:
        return ".".join((*self.owner.path, self.terminal.name))


Target = Place | ConnectorPlace | TerminalPlace


def connect(draft: Draft, a: Name, b: Name, treatment: Treatment = AS_IT_IS) -> list[ssd.Connection]:
    """Connect two connectors, two terminals member by member, or two elements by equal names of their connectors.

    The kinds of the connectors determine the source; if both directions are legal, the first connector is the source.

    Parameters
    ----------
    treatment
        Transformation of the value; if the connectors are already connected, their connection gets it.

    Raises
    ------
    UnknownName, AmbiguousName
        The connector, terminal or element does not exist, or there are several.
    EditError
        The table of the standard does not contain the pair, the destination already has a source, or the types or units
        are incompatible.
    """
    made = [*_reach_signals(draft, a, b)]
    try:
        return _connect(draft, a, b, treatment)
    except WrongUsage:
        for connector in made:
            connector.delete()
        raise


def _connect(draft: Draft, a: Name, b: Name, treatment: Treatment) -> list[ssd.Connection]:
    first, second = _target(draft, a), _target(draft, b)
    if treatment.asked_for and not (isinstance(first, ConnectorPlace) and isinstance(second, ConnectorPlace)):
        raise EditError(f"{treatment}: a transformation is for one connection; name two connectors, not {_noun(first)}")
    match first, second:
        case ConnectorPlace(), ConnectorPlace():
            return [_connect_two(draft, first, second, treatment)]
        case TerminalPlace(), TerminalPlace():
            return [_treated(draft, *one) for one in _terminals(draft, first, second)]
        case Place(), Place():
            pairs = _elements(draft, first, second)
        case _:
            raise EditError(
                f"{shown(a)} is {_noun(first)}, {shown(b)} is {_noun(second)}: name two connectors, two terminals or "
                "two elements"
            )
    return [_make(draft, pair) for pair in pairs]


def disconnect(draft: Draft, a: Name, b: Name) -> int:
    """Remove the connections between two connectors, terminals or elements; returns their number.

    Raises
    ------
    UnknownName, AmbiguousName
        The connector, terminal or element does not exist, or there are several.
    EditError
        They are not connected.
    """
    found = _connections(draft, a, b)
    for system, connection in found:
        draft.note(f"disconnected {described(connection, system.path)}")
        connection.delete()
    return len(found)


def route(draft: Draft, a: Name, b: Name, points: Sequence[tuple[float, float]]) -> None:
    """Route the line of a connection over points [mm] from `a` to `b`; without points, automatically.

    Raises as `disconnect`; also EditError if there are several connections, a point is invalid, or an end has no
    position.
    """
    found = _connections(draft, a, b)
    if len(found) > 1:
        raise EditError(f"there are {len(found)} connections between them; name the two connectors of one")
    if not all(map(isfinite, chain.from_iterable(points))):
        raise EditError(f"a point is two finite numbers; found {points!r}")
    (system, connection), first = found[0], _target(draft, a)
    ends = (connection.start_element, connection.end_element)
    unplaced = [one.name for one in system.system.elements if one.name in ends and one.geometry is None]
    if points and unplaced:
        raise EditError(
            f"{' and '.join(unplaced)} get their places by the drawing; give them some with `ssptool place`"
        )
    forward = _touches(system, connection.ends[0], first)
    way = [*points] if forward else [*reversed(points)]
    geometry = ssd.ConnectionGeometry.new()
    geometry.set("pointsX", " ".join(number_text(x) for x, _ in way))
    geometry.set("pointsY", " ".join(number_text(y) for _, y in way))
    connection.geometry = geometry if way else None
    draft.note(f"routed {described(connection, system.path)}")


def _connections(draft: Draft, a: Name, b: Name) -> "list[tuple[_SystemPlace, ssd.Connection]]":
    """Connections between two objects, in either direction. Raises as `disconnect`."""
    first, second = _target(draft, a), _target(draft, b)
    found = [
        (system, connection)
        for system in _systems(draft)
        for connection in system.system.connections
        if _between(system, connection, first, second) or _between(system, connection, second, first)
    ]
    if not found:
        raise EditError(f"{first} and {second} are not connected{_neighbours(draft, first)}")
    return found


def described(connection: ssd.Connection, path: tuple[str, ...] = ()) -> str:
    """Both ends with their full names."""
    return " and ".join(".".join((*path, str(end))) for end in connection.ends)


@dataclass(frozen=True, slots=True, eq=False)
class _SystemPlace:
    path: tuple[str, ...]
    system: ssd.System


def _systems(draft: Draft) -> Iterator[_SystemPlace]:
    for place in places(draft.system):
        if isinstance(place.element, ssd.System):
            yield _SystemPlace(place.path, place.element)


def _reach_signals(draft: Draft, a: Name, b: Name) -> Iterator[ssd.Connector]:
    """Add missing connectors for the named signals to references to signal dictionaries."""
    for name, other in ((a, b), (b, a)):
        with suppress(UnknownName, AmbiguousName):
            find(draft.system, name, exact=True)
            continue
        for place in places(draft.system):
            if not shown(name).startswith(f"{place}.") or not (signals := signals_of(draft, place)):
                continue
            signal = shown(name).removeprefix(f"{place}.")
            if signal not in signals:
                raise UnknownName(f"{place} reaches no signal {signal!r}", signal, signals)
            partner = find(draft.system, other)
            if isinstance(partner, ConnectorPlace):
                inside = partner.owner.element is place.system
                yield add_access(draft, place, signals[signal], partner.connector.kind, inside)


def _target(draft: Draft, name: Name) -> Target:
    """Target of a name: an element, a connector, or a terminal."""
    try:
        return find(draft.system, name, exact=True)
    except AmbiguousName:
        raise
    except UnknownName:
        found = list(_terminals_named(draft, shown(name)))
        if len(found) > 1:
            raise ambiguous_dots(shown(name), [f"the terminal {each}" for each in found]) from None
        return found[0] if found else find(draft.system, name)


def _terminals_named(draft: Draft, name: str) -> Iterator[TerminalPlace]:
    for place in places(draft.system):
        prefix = ".".join(place.path) + "."
        if place.path and name.startswith(prefix):
            terminal = _terminals_of(draft, place).get(name.removeprefix(prefix))
            if terminal is not None:
                yield TerminalPlace(place, terminal)


def _terminals_of(draft: Draft, place: Place) -> dict[str, Terminal]:
    entry = draft.entry(place.element.source) if isinstance(place.element, ssd.Component) else None
    if entry is None or draft.fmu(place.element) is None:
        return {}
    try:
        return read_terminals(draft.archive.local_path(entry))
    except UnusableFile as problem:
        raise EditError(f"the terminals of {place} cannot be used: {problem.reason}") from problem


def _pair(draft: Draft, first: ConnectorPlace, second: ConnectorPlace) -> NewConnection:
    pair = flow(draft, first, second)
    if problem := fits(draft, pair):
        raise EditError(f"{first} and {second} cannot be connected: {problem}")
    return pair


def _connect_two(draft: Draft, first: ConnectorPlace, second: ConnectorPlace, treatment: Treatment) -> ssd.Connection:
    pair = flow(draft, first, second)
    ends = end_type(draft, pair.source), end_type(draft, pair.destination)
    connection = between(pair)
    if connection is None or not treatment.asked_for:
        if problem := fits(draft, pair, treatment):
            raise EditError(f"{first} and {second} cannot be connected: {problem}")
        treatment.transformation(ends)  # raises before anything is created
        connection = _make(draft, pair)
    return _treated(draft, pair, treatment, connection)


def _treated(
    draft: Draft, pair: NewConnection, treatment: Treatment, connection: ssd.Connection | None = None
) -> ssd.Connection:
    connection = _make(draft, pair) if connection is None else connection
    if treatment.asked_for:
        treat(connection, treatment, (end_type(draft, pair.source), end_type(draft, pair.destination)))
        draft.note(f"{pair.source} → {pair.destination}: {treatment}")
    return connection


def _elements(draft: Draft, first: Place, second: Place) -> list[NewConnection]:
    pairs, skipped = by_name(draft, first, second)
    for reason in skipped:
        draft.note(f"skipped: {reason}")
    if not pairs:
        others = f"; {counted(len(skipped) - 1, 'other pair')} cannot be connected either" if len(skipped) > 1 else ""
        reasons = (
            f"{skipped[0]}{others}"
            if skipped
            else (
                f"they have no connectors with equal names ({first}: {_listed(first)}; {second}: {_listed(second)}); "
                f"name two connectors: {_example(first, second)}"
            )
        )
        raise EditError(f"nothing to connect between {first} and {second}: {reasons}")
    return pairs


def _terminals(draft: Draft, first: TerminalPlace, second: TerminalPlace) -> list[tuple[NewConnection, Treatment]]:
    pairs = []
    for one, other in terminal_pairs(first.terminal, second.terminal, str(first), str(second)):
        ends = [_member(place, member.variable) for place, member in ((first, one), (second, other))]
        pair, factor = _pair(draft, *ends), flow_factor(one.kind, other.kind)
        if factor is None:
            kinds = f"{ends[0]} is of variableKind '{one.kind}', {ends[1]} of '{other.kind}'"
            raise EditError(f"{kinds}: a flow is connected to a flow only")
        if one.kind in FLOWS:
            _refuse_node(pair)
        treatment = Treatment(factor=factor) if factor != 1.0 else AS_IT_IS
        treatment.transformation((end_type(draft, pair.source), end_type(draft, pair.destination)))
        pairs.append((pair, treatment))
    return pairs


def _refuse_node(pair: NewConnection) -> None:
    """Raise EditError if a third flow would be connected to two flows."""
    for connection in pair.system.connections:
        for side, end in ((pair.source, pair.start), (pair.destination, pair.end)):
            if end in connection.ends:
                raise EditError(
                    f"{side} is a flow and is connected already ({described(connection)}): the flows of three "
                    "terminals at one node sum to zero, which connections do not express; put a component that adds "
                    "them between"
                )


def _member(place: TerminalPlace, variable: str) -> ConnectorPlace:
    for connector in place.owner.element.connectors:
        if connector.name == variable:
            return ConnectorPlace(place.owner, connector)
    raise EditError(
        f"{place.owner} has no connector for {variable!r}, a member of its terminal {place.terminal.name!r}; "
        "terminals are connected through connectors for all their members"
    )


def _make(draft: Draft, pair: NewConnection) -> ssd.Connection:
    connection = ssd.Connection.new()
    start, end = pair.start, pair.end
    if start.element:
        connection.start_element = start.element
    connection.start_connector = start.connector
    if end.element:
        connection.end_element = end.element
    connection.end_connector = end.connector
    for name, indices in zip(("startIndices", "endIndices"), _only_element(draft, pair), strict=True):
        if indices:
            connection.set(name, indices)
    pair.system.add(connection)
    draft.note(f"connected {pair.source} → {pair.destination}")
    return connection


def _between(place: _SystemPlace, connection: ssd.Connection, first: Target, second: Target) -> bool:
    return _touches(place, connection.start, first) and _touches(place, connection.end, second)


def _touches(place: _SystemPlace, end: ssd.ConnectorRef, target: Target) -> bool:
    owner = target if isinstance(target, Place) else target.owner
    if ((*place.path, end.element) if end.element else place.path) != owner.path:
        return False
    match target:
        case ConnectorPlace():
            return end.connector == target.connector.name
        case TerminalPlace():
            return end.connector in {member.variable for member in target.terminal.members}
        case _:
            return True


def _neighbours(draft: Draft, target: Target) -> str:
    names = []
    for system in _systems(draft):
        for connection in system.system.connections:
            if any(_touches(system, end, target) for end in connection.ends):
                names.append(described(connection, system.path))
    return f"; connected are {', '.join(names[:6])}" if names else f"; nothing is connected to {target}"


def _noun(target: Target) -> str:
    if isinstance(target, ConnectorPlace):
        return "a connector"
    return "a terminal" if isinstance(target, TerminalPlace) else "an element"


def _example(first: Place, second: Place) -> str:
    """Example of two connectors that can be connected, as arguments of `connect`."""
    outputs = [one.name for one in first.element.connectors if one.kind is ssd.ConnectorKind.OUTPUT]
    inputs = [one.name for one in second.element.connectors if one.kind is ssd.ConnectorKind.INPUT]
    return f"{first}.{outputs[0] if outputs else 'OUTPUT'} {second}.{inputs[0] if inputs else 'INPUT'}"


def _listed(place: Place) -> str:
    return ", ".join(connector.name for connector in place.element.connectors) or "none"
