"""Connect and disconnect connectors, elements by matching names, and terminals member by member."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from ssptool.documents import ssd
from ssptool.editing.changes import AmbiguousName, EditError, UnknownName
from ssptool.editing.dictionaries import add_access, signals_of
from ssptool.editing.draft import ConnectorPlace, Draft, Place
from ssptool.editing.matching import NewConnection, between, by_name, end_type, fits, flow, terminal_pairs
from ssptool.editing.names import Name, find, places, shown, unknown_connector
from ssptool.editing.transformations import AS_IT_IS, Treatment, treat
from ssptool.fmu.terminals import Terminal, UnreadableTerminals, read_terminals


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

    The kinds of the connectors decide which one is the source; only if both ways are legal the first one is.

    Parameters
    ----------
    treatment
        What happens to the value on its way from one connector to another; connectors that are connected already
        get it on their connection.

    Raises
    ------
    UnknownName, AmbiguousName
        There is no such connector, terminal or element, or there are several.
    EditError
        The table of the standard has no such pair, the destination has a source already, or the types or units do
        not go together.
    """
    made = [*_reach_signals(draft, a, b)]
    try:
        return _connect(draft, a, b, treatment)
    except EditError:
        for connector in made:
            connector.delete()
        raise


def _connect(draft: Draft, a: Name, b: Name, treatment: Treatment) -> list[ssd.Connection]:
    first, second = _target(draft, a), _target(draft, b)
    if treatment.asked_for and not (isinstance(first, ConnectorPlace) and isinstance(second, ConnectorPlace)):
        raise EditError(f"{treatment}: that is for one connection, so name two connectors, not {_kind(first)}")
    match first, second:
        case ConnectorPlace(), ConnectorPlace():
            return [_connect_two(draft, first, second, treatment)]
        case TerminalPlace(), TerminalPlace():
            pairs = _terminals(draft, first, second)
        case Place(), Place():
            pairs = _elements(draft, first, second)
        case _:
            raise EditError(
                f"{shown(a)} is {_kind(first)}, {shown(b)} is {_kind(second)}: name two connectors, two terminals or "
                "two elements"
            )
    return [_make(draft, pair) for pair in pairs]


def disconnect(draft: Draft, a: Name, b: Name) -> int:
    """Remove the connections between two connectors, terminals or elements; gives how many there were.

    Raises
    ------
    UnknownName, AmbiguousName
        There is no such connector, terminal or element, or there are several.
    EditError
        They are not connected.
    """
    first, second = _target(draft, a), _target(draft, b)
    found = [
        (system, connection)
        for system in _systems(draft)
        for connection in system.system.connections
        if _between(system, connection, first, second) or _between(system, connection, second, first)
    ]
    if not found:
        raise EditError(f"{first} and {second} are not connected{_neighbours(draft, first)}")
    for system, connection in found:
        draft.note(f"disconnected {described(connection, system.path)}")
        connection.delete()
    return len(found)


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
    """Give references to signal dictionaries the connectors for signals that are named and that they lack."""
    for name, other in ((a, b), (b, a)):
        with suppress(UnknownName, AmbiguousName):
            find(draft.system, name)
            continue
        for place in places(draft.system):
            if not shown(name).startswith(f"{place}.") or not (signals := signals_of(draft, place)):
                continue
            signal = shown(name).removeprefix(f"{place}.")
            if signal not in signals:
                raise UnknownName(f"signal that {place} reaches called", signal, signals)
            partner = find(draft.system, other)
            if isinstance(partner, ConnectorPlace):
                inside = partner.owner.element is place.system
                yield add_access(draft, place, signals[signal], partner.connector.kind, inside)


def _target(draft: Draft, name: Name) -> Target:
    """What a name means: an element or a connector, else a terminal."""
    try:
        return find(draft.system, name)
    except AmbiguousName:
        raise
    except UnknownName:
        found = list(_terminals_named(draft, shown(name)))
        if len(found) > 1:
            raise AmbiguousName(shown(name), [f"the terminal {each}" for each in found]) from None
        if not found:
            raise unknown_connector(draft.system, name) from None
        return found[0]


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
    except UnreadableTerminals as problem:
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
        treatment.transformation(ends)  # raises before anything is made
        connection = _make(draft, pair)
    if not treatment.asked_for:
        return connection
    treat(connection, treatment, ends)
    draft.note(f"{pair.source} → {pair.destination}: {treatment}")
    return connection


def _elements(draft: Draft, first: Place, second: Place) -> list[NewConnection]:
    pairs, skipped = by_name(draft, first, second)
    for reason in skipped:
        draft.note(f"skipped {reason}")
    if not pairs:
        reasons = "; ".join(skipped) or (
            f"no connector of {first} ({_listed(first)}) has the name of one of {second} ({_listed(second)})"
        )
        raise EditError(f"nothing to connect between {first} and {second}: {reasons}")
    return pairs


def _terminals(draft: Draft, first: TerminalPlace, second: TerminalPlace) -> list[NewConnection]:
    pairs = []
    for one, other in terminal_pairs(first.terminal, second.terminal, str(first), str(second)):
        ends = [_member(place, variable) for place, variable in ((first, one), (second, other))]
        pairs.append(_pair(draft, *ends))
    return pairs


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


def _kind(target: Target) -> str:
    if isinstance(target, ConnectorPlace):
        return "a connector"
    return "a terminal" if isinstance(target, TerminalPlace) else "an element"


def _listed(place: Place) -> str:
    return ", ".join(connector.name for connector in place.element.connectors) or "none"
