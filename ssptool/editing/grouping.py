"""Wrap elements into a system, unwrap a system, and move elements into and out of systems.

The meaning is preserved. If a connection crosses the boundary of a system after the move, the system gets a connector,
and both sides are connected to it. If it no longer crosses the boundary, its two parts are joined. Parameters are
adapted.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import TypeVar

from ssptool.documents import ssc, ssd
from ssptool.documents.vocabulary import number_text
from ssptool.editing.bind import Addressees, uses
from ssptool.editing.changes import EditError
from ssptool.editing.connect import carried_by, described
from ssptool.editing.draft import ConnectorPlace, Draft, Place
from ssptool.editing.interface import CanvasBox, box_of, hold, put_beside, shift_by
from ssptool.editing.names import Name, find_element, find_system, require_free
from ssptool.editing.rename import addressing, follow, require_free_to_follow


def wrap(draft: Draft, names: Sequence[Name], new: str) -> None:
    """Move elements of one system into a new nested system with the necessary connectors.

    Raises
    ------
    UnknownName, AmbiguousName
        An element does not exist, or there are several.
    EditError
        They are not in the same system, the name is already used, or an object cannot cross the boundary; see `move`.
    """
    moved = elements_of_one_system(draft, names)
    around = _around(moved[0])
    require_free(moved[0].system, new, str(around), "choose another name")
    shell = Place((*around.path, new), ssd.System.new(name=new), (*around.around, moved[0].system))
    passage = _Passage(draft, shell, moved, inwards=True)
    box = box_around(one.element for one in moved)
    moved[0].element.add_before(shell.element)
    draft.note(f"added the system {new} to {around}")
    passage.carry_out(keeps_places=True)
    if box is not None:
        passage.system.geometry = _at(ssd.ElementGeometry.new(), box)
        passage.system.system_geometry = _at(ssd.SystemGeometry.new(), box)


def unwrap(draft: Draft, name: Name) -> None:
    """Move all content of a system to the enclosing system, and remove the empty one.

    Raises
    ------
    UnknownName, AmbiguousName
        The element does not exist, or there are several.
    EditError
        It is not a system, or it is the root system; a name in it is already used in the enclosing system, or one of
        its own connectors has a value; see `move`.
    """
    shell, system = find_system(draft.system, name)
    outer = shell.system
    moved = [Place((*shell.path, one.name), one, (*shell.around, system)) for one in system.elements]
    _require_own_values(draft, shell, system)
    taken = {one.name for one in outer.signal_dictionaries} & {one.name for one in system.signal_dictionaries}
    if taken:
        raise EditError(f"both {shell} and the system around it have a signal dictionary {min(taken)!r}: rename one")
    passage = _Passage(draft, shell, moved, inwards=False, all_of_it=True)
    passage.carry_out(keeps_places=True)
    for one in outer.connections:
        if shell.path[-1] in {end.element for end in one.ends}:
            draft.note(f"disconnected {described(one, shell.path[:-1])}, which led nowhere")
            one.delete()
    # Outer systems override inner ones, and of several bindings the last one counts.
    for binding in (*system.parameter_bindings, *outer.parameter_bindings) if system.parameter_bindings else ():
        binding.delete()
        outer.add(binding, keeps_lines=True)
    for dictionary in system.signal_dictionaries:
        dictionary.delete()
        outer.add(dictionary, keeps_lines=True)
    system.delete()
    draft.note(f"unwrapped {shell}")


def move(draft: Draft, names: Sequence[Name], into: Name) -> None:
    """Move elements of one system to a nested or to the enclosing system.

    Raises
    ------
    UnknownName, AmbiguousName
        An element does not exist, or there are several.
    EditError
        The elements are not in the same system, the other system is not directly inside or around it, a name is already
        used there, or an object cannot cross the boundary: clocks, sizes of arrays by connectors, a signal dictionary
        that does not exist on the other side, or transformations on both sides.
    """
    moved = elements_of_one_system(draft, names)
    target, system = find_system(draft.system, into)
    if system in {one.element for one in moved}:
        raise EditError(f"{target} cannot be moved into itself")
    if target.around and target.system is moved[0].system:
        passage = _Passage(draft, target, moved, inwards=True)
    elif moved[0].around[-2:-1] == (system,):
        passage = _Passage(draft, _around(moved[0]), moved, inwards=False)
    else:
        raise EditError(f"{target} is neither inside the system of {moved[0]} nor directly around it: move in steps")
    passage.carry_out()


def elements_of_one_system(draft: Draft, names: Sequence[Name]) -> list[Place]:
    """The elements with these names, which must be in the same system."""
    found = list({(one := find_element(draft.system, name)).path: one for name in names}.values())
    if not found:
        raise EditError("name at least one element")
    if not all(one.path for one in found):
        raise EditError("the root system cannot be moved: name elements in it")
    if len({one.path[:-1] for one in found}) > 1:
        raise EditError("these elements are in different systems: name elements of one system")
    return found


def _around(one: Place) -> Place:
    return Place(one.path[:-1], one.system, one.around[:-1])


@dataclass(frozen=True, slots=True, eq=False)
class _Joint:
    """A connection that replaces two connections that met at a connector of the shell."""

    connection: ssd.Connection
    start: tuple[ssd.ConnectorRef, str]
    end: tuple[ssd.ConnectorRef, str]


class _Passage:
    """Move of elements into or out of a system, the `shell`. Impossible moves are rejected before anything is changed.

    Connections on the present side of the elements are `near`, those on their new side are `far`.
    """

    def __init__(
        self, draft: Draft, shell: Place, moved: Sequence[Place], *, inwards: bool, all_of_it: bool = False
    ) -> None:
        self._draft, self.shell, self._moved, self._inwards = draft, shell, moved, inwards
        self._names = {one.element.name for one in moved}
        self._made: dict[ssd.ConnectorRef, str] = {}
        target = self._target
        for one in moved:
            require_free(target, one.element.name, ".".join(self._target_path) or "the system", "rename one of them")
        self._require_dictionaries(all_of_it)
        near = [one for one in self._origin.connections if self._sides(one)]
        self._whole = [one for one in near if len(self._sides(one)) == 2]
        crossing = [one for one in near if len(self._sides(one)) == 1]
        self._ending = [one for one in crossing if self._is_of_shell(self._other_end(one), self._inwards)]
        self._crossing = [one for one in crossing if one not in self._ending]
        self._joints = [joint for one in self._ending for joint in self._joined(one)]
        for crosses in self._crossing:
            self._require_passing(self._crossing_end(crosses))
        self._gone = self._needless()
        path = self._target_path
        found = list(chain.from_iterable(addressing(draft, one.path, (*path, one.element.name), None) for one in moved))
        self._following = [one for one in found if one.use.bound.place.element is not self.system]
        if len(found) > len(self._following) and not all_of_it:
            use = next(one.use for one in found if one not in self._following)
            raise EditError(f"{use.bound} of {shell} gives {use.full} a value, and does not reach it there")
        require_free_to_follow(self._following)

    @property
    def system(self) -> ssd.System:
        assert isinstance(self.shell.element, ssd.System)
        return self.shell.element

    @property
    def _origin(self) -> ssd.System:
        return self.shell.system if self._inwards else self.system

    @property
    def _target(self) -> ssd.System:
        return self.system if self._inwards else self.shell.system

    @property
    def _target_path(self) -> tuple[str, ...]:
        return self.shell.path if self._inwards else self.shell.path[:-1]

    def carry_out(self, *, keeps_places: bool = False) -> None:
        """Move the elements. They keep their positions if the diagram of the other system has the same coordinates."""
        shift = self._shift() if keeps_places else None
        for joint in self._joints:
            self._add(joint.connection, joint.start, joint.end)
        for one in self._ending:
            one.delete()
        for one in self._crossing:
            self._lead_through(one)
        for connector in self._gone:
            self._drop(connector)
        for one in self._whole:
            one.delete()
            if shift is None or any(shift):
                one.geometry = None
            self._target.add(one, keeps_lines=True)
        for element in self._moved:
            self._carry(element, shift)
        self._draft.note(f"moved {', '.join(map(str, self._moved))} into {'.'.join(self._target_path) or 'the system'}")
        follow(self._following)

    def _carry(self, one: Place, shift: tuple[float, float] | None) -> None:
        element = one.element
        element.delete()
        if self._inwards:
            self._target.add(element, keeps_lines=True)
        else:
            self.shell.element.add_before(element)
        if shift is None:
            put_beside(element, self._target)
        elif any(shift):
            shift_by(element, *shift)
        if not self._inwards and (now := box_of(element)) is not None:
            hold(self._target, now)

    def _shift(self) -> tuple[float, float]:
        """Shift from the inside of the shell to its position, for elements that leave it."""
        inside, outside = box_around(one.element for one in self._moved), box_of(self.shell.element)
        if self._inwards or inside is None or outside is None:
            return 0.0, 0.0
        return outside.x1 - inside.x1, outside.y1 - inside.y1

    # -- ends of connections -------------------------------------------------------------------------------------

    def _sides(self, connection: ssd.Connection) -> list[ssd.ConnectorRef]:
        """Ends at moved elements."""
        return [end for end in connection.ends if end.element in self._names]

    def _other_end(self, connection: ssd.Connection) -> ssd.ConnectorRef:
        """End at an element that is not moved."""
        return next(end for end in connection.ends if end.element not in self._names)

    def _is_of_shell(self, end: ssd.ConnectorRef, outside: bool) -> bool:
        """True if an end is a connector of the shell, seen from outside or from inside."""
        return end.element == (self.shell.path[-1] if outside else "")

    def _crossing_end(self, connection: ssd.Connection) -> ConnectorPlace:
        """End of a crossing connection that will be inside of the shell."""
        end = self._sides(connection)[0] if self._inwards else self._other_end(connection)
        found = self._side(self._origin, end)
        if found is None:
            raise EditError(f"{end} is not declared: give it a connector first")
        return found

    def _side(self, system: ssd.System, end: ssd.ConnectorRef) -> ConnectorPlace | None:
        """The connector at an end of a connection in a system."""
        owners = [system] if not end.element else [one for one in system.elements if one.name == end.element]
        path = self.shell.path if system is self.system else self.shell.path[:-1]
        for owner in owners:
            for connector in owner.connectors:
                if connector.name == end.connector:
                    return ConnectorPlace(Place((*path, end.element) if end.element else path, owner), connector)
        return None

    # -- connections that cross the boundary after the move ----------------------------------------------------------

    def _require_passing(self, side: ConnectorPlace) -> None:
        connector = side.connector
        if connector.clocks or isinstance(connector.type, ssc.Clock):
            raise EditError(f"{side} is a clock or belongs to one, which a connector of a system does not pass on")
        if any(one.size_connector is not None for one in connector.dimensions):
            raise EditError(f"{side} is an array whose size another connector gives: state its size first")

    def _lead_through(self, connection: ssd.Connection) -> None:
        """Connect one end of a connection to a connector of the shell, which passes on the value."""
        inside = self._crossing_end(connection)
        ref = self._sides(connection)[0] if self._inwards else self._other_end(connection)
        outside = ssd.ConnectorRef(self.shell.path[-1], self._passing(ref, inside.connector))
        start, end = ((one, _indices(connection, one)) for one in connection.ends)
        start, end = ((outside, picked) if one == ref else (one, picked) for one, picked in (start, end))
        connection.geometry = None
        if not self._inwards:
            connection.delete()
            self._target.add(connection)
        _lead(connection, start, end)

    def _passing(self, inside: ssd.ConnectorRef, like: ssd.Connector) -> str:
        """Connector of the shell that passes on a connector inside."""
        if inside not in self._made:
            taken = {one.name for one in self.system.connectors}
            names = chain(
                (inside.connector, f"{inside.element}_{inside.connector}"),
                (f"{inside.connector}_{number}" for number in count(2)),
            )
            self._made[inside] = name = next(one for one in names if one not in taken)
            made = ssd.Connector.new(name=name, kind=like.kind)
            for part in (like.type, *like.dimensions):
                if part is not None:
                    made.add(part.copied())
            self.system.add(made)
            ends = (inside, ""), (ssd.ConnectorRef("", name), "")
            connection = ssd.Connection.new()
            _lead(connection, *(ends if like.kind is ssd.ConnectorKind.OUTPUT else ends[::-1]))
            self.system.add(connection)
            self._draft.note(f"added the connector {name} ({like.kind}) to {self.shell}")
        return self._made[inside]

    # -- connections that no longer cross it ---------------------------------------------------------------------

    def _beyond(self, connector: str) -> list[ssd.Connection]:
        """Connections of a connector of the shell on the new side of the elements."""
        end = ssd.ConnectorRef("" if self._inwards else self.shell.path[-1], connector)
        return [one for one in self._target.connections if end in one.ends]

    def _joined(self, near: ssd.Connection) -> Iterator[_Joint]:
        """Connections that replace a connection to a connector of the shell, and the connections on the other side of
        it.
        """
        here, meeting = self._sides(near)[0], self._other_end(near)
        for far in self._beyond(meeting.connector):
            at = next(end for end in far.ends if self._is_of_shell(end, not self._inwards))
            there = next(end for end in far.ends if end != at)
            if not self._inwards and self._is_of_shell(there, outside=True):
                raise EditError(f"{self.shell} is connected with itself, {described(far)}: connect inside it first")
            keeping, plain = (far, near) if _treats(far) else (near, far)
            if _treats(near) and _treats(far):
                raise EditError(
                    f"the connections of {described(near)} and of {described(far)} both treat the value: take one "
                    "transformation away first"
                )
            if _treats(keeping):
                self._require_no_conversion(near, far, plain)
            ends = {near: (here, meeting), far: (there, at)}
            yield self._joint(keeping, plain, ends[keeping], ends[plain])

    def _joint(
        self,
        keeping: ssd.Connection,
        plain: ssd.Connection,
        ends: tuple[ssd.ConnectorRef, ssd.ConnectorRef],
        others: tuple[ssd.ConnectorRef, ssd.ConnectorRef],
    ) -> _Joint:
        own, meeting = ends
        picks = {one: _indices(keeping, one) for one in ends}
        if any(_indices(plain, one) for one in others):
            if any(picks.values()):
                raise EditError(
                    f"the connections of {described(keeping)} and of {described(plain)} both pick elements of arrays: "
                    "connect them without the system first"
                )
            picks = {own: _indices(plain, others[1]), meeting: _indices(plain, others[0])}
        made = keeping.copied()
        made.geometry = None
        start, end = ((others[0], picks[one]) if one == meeting else (one, picks[one]) for one in keeping.ends)
        return _Joint(made, start, end)

    def _require_no_conversion(self, near: ssd.Connection, far: ssd.Connection, plain: ssd.Connection) -> None:
        """Check that units are not converted on the part without a transformation, because the order of both would
        change.
        """
        inner = far if self._inwards else near
        meeting = self._other_end(near)
        inside = next(end for end in inner.ends if not self._is_of_shell(end, outside=False))
        sides = [self._side(self.system, ssd.ConnectorRef("", meeting.connector)), self._side(self.system, inside)]
        at_shell, at_inside = (None if side is None else carried_by(self._draft, side).unit for side in sides)
        at_shell = at_shell or at_inside
        if plain is inner:
            other = at_inside
        else:
            outside = next(end for end in plain.ends if not self._is_of_shell(end, outside=True))
            side = self._side(self.shell.system, outside)
            other = None if side is None else carried_by(self._draft, side).unit
        if at_shell is not None and other is not None and at_shell.name != other.name:
            raise EditError(
                f"the connection of {described(plain)} converts {at_shell.name} and {other.name}, and its other part "
                "has a transformation: give both ends of it one unit first"
            )

    def _add(
        self,
        connection: ssd.Connection,
        start: tuple[ssd.ConnectorRef, str],
        end: tuple[ssd.ConnectorRef, str],
    ) -> None:
        _lead(connection, start, end)
        self._target.add(connection)
        self._draft.note(f"connected {described(connection, self._target_path)}")

    def _needless(self) -> list[str]:
        """Connectors of the shell that are no longer used on the side of the elements."""
        found = []
        for connector in dict.fromkeys(self._other_end(one).connector for one in self._ending):
            end = ssd.ConnectorRef(self.shell.path[-1] if self._inwards else "", connector)
            if any(end in one.ends for one in self._origin.connections if one not in self._ending):
                continue
            _require_no_value(self._draft, self.shell, connector)
            found.append(connector)
        return found

    def _drop(self, connector: str) -> None:
        for one in self._beyond(connector):
            one.delete()
        for declared in self.system.connectors:
            if declared.name == connector:
                declared.delete()
                self._draft.note(f"removed the connector {self.shell}.{connector}, which nothing needs any more")

    def _require_dictionaries(self, all_of_it: bool) -> None:
        """Check that references find their signal dictionaries on the other side."""
        own = {one.name for one in self.system.signal_dictionaries}
        for one in self._moved:
            for reference in one.element.every(ssd.SignalDictionaryReference):
                if reference.dictionary in own and not all_of_it:
                    raise EditError(f"{one} reaches another signal dictionary {reference.dictionary!r} there")


def _treats(connection: ssd.Connection) -> bool:
    return connection.transformation is not None or connection.suppress_unit_conversion


def _indices(connection: ssd.Connection, end: ssd.ConnectorRef) -> str:
    """Indices of an array at an end of a connection, as written."""
    return connection.get("startIndices" if end == connection.start else "endIndices") or ""


def _lead(connection: ssd.Connection, start: tuple[ssd.ConnectorRef, str], end: tuple[ssd.ConnectorRef, str]) -> None:
    """Set the ends of a connection, with indices; attributes keep their usual order."""
    parts = {
        word + name: value
        for word, (ref, indices) in (("start", start), ("end", end))
        for name, value in (("Element", ref.element), ("Connector", ref.connector), ("Indices", indices))
    }
    parts = {name: value for name, value in parts.items() if value}
    parts |= {str(name): str(value) for name, value in connection.attrib.items() if name not in _ENDS}
    connection.attrib.clear()
    for name, value in parts.items():
        connection.set(name, value)


_ENDS = frozenset(word + name for word in ("start", "end") for name in ("Element", "Connector", "Indices"))


def box_around(elements: Iterable[ssd.SystemElement]) -> CanvasBox | None:
    """The box around all elements that have a position."""
    boxes = [box for one in elements if (box := box_of(one)) is not None]
    if not boxes:
        return None
    return CanvasBox(
        min(one.x1 for one in boxes),
        min(one.y1 for one in boxes),
        max(one.x2 for one in boxes),
        max(one.y2 for one in boxes),
    )


Geometry = TypeVar("Geometry", ssd.ElementGeometry, ssd.SystemGeometry)


def _at(geometry: Geometry, box: CanvasBox) -> Geometry:
    for corner in ("x1", "y1", "x2", "y2"):
        geometry.set(corner, number_text(getattr(box, corner)))
    return geometry


def _require_own_values(draft: Draft, shell: Place, system: ssd.System) -> None:
    """Check that the system's own connectors have no values and that names of its bindings are unambiguous, because the
    values would be lost.
    """
    for connector in system.connectors:
        _require_no_value(draft, shell, connector.name)
    for one in system.connections:
        if not any(end.element for end in one.ends):
            raise EditError(f"{shell} connects {described(one)} straight through: connect around it first")
    addressees = Addressees(draft)
    for use in uses(draft):
        around = ".".join((*shell.path[:-1], use.name))
        if use.bound.place.element is system and not addressees.of(use.full) and addressees.of(around):
            raise EditError(f"the parameter {use.name} of {use.bound} would give {around} a value: remove it first")


def _require_no_value(draft: Draft, shell: Place, connector: str) -> None:
    path = (*shell.path, connector)
    if addressing(draft, path, path, connector):
        raise EditError(f"a parameter gives {shell}.{connector} a value: unset it first")
