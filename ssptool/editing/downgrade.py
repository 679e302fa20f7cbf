"""Downgrade from SSP 2.0 to 1.0: one step per difference (catalogue of differences, column "Down").

A step handles one part of a document. It makes changes without loss; it reports weakening changes with `weakened` (and
preserves the original, see `originals`); and it reports content that 1.0 cannot represent with `dropped`, which the
runner removes if the user agrees. Steps run in the order of the table: first dropping steps, then weakening ones.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar, cast

from ssptool.documents import ssb, ssc, ssd, ssm, ssv
from ssptool.documents.element import Element, expand
from ssptool.documents.ssd import ConnectorKind as Kind
from ssptool.documents.vocabulary import MODELICA, integer
from ssptool.editing import originals
from ssptool.editing.cascade import Gone, connections_of, ends_of, gone_with
from ssptool.editing.changes import Change, Loss
from ssptool.network.legality import ConnectionEnd, direct

E = TypeVar("E", bound=Element)

ROOTS = (ssd.SystemStructureDescription, ssv.ParameterSet, ssm.ParameterMapping, ssb.SignalDictionary)
# The content of these elements is foreign: data of other tools, and metadata.
_OPAQUE = (ssc.Annotation, ssc.MetaData, ssc.Signature)
# These elements contain anything; documents and metadata in them are ours.
_HOLDERS = (ssd.ParameterValues, ssd.ParameterMapping, ssd.SignalDictionary)


class Part:
    """A root with its elements: the document itself, or an inline document. Each has its own version."""

    def __init__(self, root: Element) -> None:
        self.root = root
        self.inline: list[Part] = []
        self._by_kind: dict[type[Element], list[Element]] = {}
        self._gone: set[Element] = set()
        self._collect(root)

    @property
    def version(self) -> str:
        return self.root.get("version", "")

    def every(self, kind: type[E]) -> Iterator[E]:
        """Remaining elements of exactly this kind, in document order."""
        for element in self._by_kind.get(kind, []):
            if element not in self._gone:
                yield cast(E, element)

    def forget(self, element: Element) -> None:
        """Register that an element and its content were removed."""
        self._gone.update(cast(Iterator[Element], element.iter("*")))

    def with_inline(self) -> Iterator["Part"]:
        """This part and its inline documents."""
        yield self
        for part in self.inline:
            yield from part.with_inline()

    def _collect(self, element: Element) -> None:
        pending = [element]
        while pending:
            node = pending.pop()
            self._by_kind.setdefault(node.element_class, []).append(node)
            if isinstance(node, _OPAQUE):
                continue
            below = cast(Iterator[Element], node.iterchildren("*"))
            children = [child for child in below if child.element_class is not Element or _plural(child)]
            if isinstance(node, _HOLDERS):
                self.inline += [Part(child) for child in children if isinstance(child, ROOTS)]
                children = [child for child in children if isinstance(child, _OPAQUE)]
            pending += children[::-1]


def _plural(element: object) -> bool:
    """True if an element is a plural container of SSP, such as `Connectors`; these have no class of their own."""
    tag = cast(Element, element).tag
    return tag.startswith("{http://ssp-standard.org/SSP1/")


FmiVersionOf: TypeAlias = Callable[[ssd.Component], str | None]
Typed: TypeAlias = ssd.Connector | ssb.DictionaryEntry

INT32 = range(-(2**31), 2**31)
IN_1_0 = {Kind.STRUCTURAL_PARAMETER: Kind.PARAMETER, Kind.CONSTANT: Kind.CALCULATED_PARAMETER, Kind.LOCAL: Kind.OUTPUT}
"""Replacements for the kinds of connectors that do not exist in 1.0; `unspecified` has none."""

_SAME = {"Float64": "Real", "Int32": "Integer"}
_WIDER = {"Float32": "Real", "Int8": "Integer", "UInt8": "Integer", "Int16": "Integer", "UInt16": "Integer"}
_WIDE = ("UInt32", "Int64", "UInt64")
# Types whose values all fit into 32-bit signed integers.
_NARROW = ("Integer", "Int8", "UInt8", "Int16", "UInt16", "Int32")

NOTHING_TO_DO = {
    "DIFF-02": "versions of 2.0 documents have no suffix",
    "DIFF-19": "any name of a connector is one in 1.0",
    "DIFF-20": "names of variants that differ may differ in 1.0",
    "DIFF-22": "linear transformations follow the types of their connectors (DIFF-03)",
    "DIFF-24": "when parameters are set follows the kinds of connectors (DIFF-08)",
    "DIFF-25": "the conversion of types on connections is up to the tool in both versions",
    "DIFF-26": "URIs that are not of an SSD are in metadata only (DIFF-16)",
    "DIFF-30": "clarifications of 2.0.1 that 1.0 documents need not meet",
}
"""Differences that require no change of a 2.0 document."""


@dataclass(frozen=True, slots=True)
class Noted:
    """Note of a step on an element, taken before the element changes."""

    element: Element
    loss: Loss
    message: str


Step: TypeAlias = Callable[[Part], Iterator[Noted]]
STEPS: list[tuple[str, Step]] = []
"""Table of steps: difference, and function."""
COVERED: set[str] = {"DIFF-01", "DIFF-23"}
"""Differences that have a step; these two are handled in `Downgrade.run`, because the version is written last."""


def step(*codes: str) -> Callable[[Step], Step]:
    """Decorator: append a step to the table."""

    def register(function: Step) -> Step:
        STEPS.append((codes[0], function))
        COVERED.update(codes)
        return function

    return register


def weakened(element: Element, message: str) -> Noted:
    return Noted(element, Loss.WEAKENED, message)


def dropped(element: Element, message: str) -> Noted:
    return Noted(element, Loss.DROPPED, message)


@dataclass(slots=True)
class Downgrade:
    """The steps applied to one part; `changes` describes losses."""

    part: Part
    fmi_version: FmiVersionOf
    changes: list[Change] = field(default_factory=list)
    gone: list[Gone] = field(default_factory=list)

    def run(self) -> None:
        for code, apply in STEPS:
            for noted in apply(self.part):
                self._note(code, noted)
                if noted.loss is Loss.DROPPED:
                    self._drop(code, noted.element)
        for component in self.part.every(ssd.Component):
            if (self.fmi_version(component) or "").startswith("3"):
                message = f"the FMU of {component.name!r} is of FMI 3.0, which SSP 1.0 does not know"
                self._note("DIFF-23", weakened(component, message))
        self.part.root.set("version", "1.0")

    def _note(self, code: str, noted: Noted) -> None:
        self.changes.append(Change(code, noted.loss, noted.element.position, noted.message))

    def _drop(self, code: str, element: Element) -> None:
        """Remove an element and its connections; `cascading` handles other references to it."""
        touching = connections_of(element, _owner(element)) if isinstance(element, ssd.Connector) else ()
        for connection in list(touching):
            self._note(code, dropped(connection, f"the connection {ends_of(connection)} is dropped with its connector"))
            self.part.forget(connection)
            originals.remove(connection)
        self.gone += gone_with(element, self.part.root)
        self.part.forget(element)
        originals.remove(element)


# --- Arrays, clocks, connections that 1.0 cannot represent ---


@step("DIFF-05")
def arrays(part: Part) -> Iterator[Noted]:
    """Remove arrays; an array with a single element becomes a scalar."""
    for typed in _typed(part):
        if typed.dimensions:
            if all(dimension.size == 1 for dimension in typed.dimensions):
                yield from _without_dimensions(typed)
            else:
                yield dropped(typed, f"{_name(typed)} is an array")
    for parameter in part.every(ssv.Parameter):
        numbers = len(parameter.type.value) if isinstance(parameter.type, ssv.Numbers) else 1
        if numbers != 1 or not all(dimension.size == 1 for dimension in parameter.dimensions):
            what = "an array" if numbers or parameter.dimensions else "without a value"
            yield dropped(parameter, f"the parameter {parameter.name!r} is {what}")
        elif parameter.dimensions:
            yield from _without_dimensions(parameter)


@step("DIFF-28")
def texts_in_children(part: Part) -> Iterator[Noted]:
    """Move the values of strings from child elements to attributes."""
    for parameter in part.every(ssv.Parameter):
        if not isinstance(parameter.type, ssv.Texts):
            continue
        values = parameter.type.items_in_children
        stated = len(values) + ("value" in parameter.type.attrib)
        if stated != 1:
            count = f"{stated} values" if stated else "no value"
            yield dropped(parameter, f"the parameter {parameter.name!r} has {count}")
        elif values:
            parameter.type.set("value", values[0].get("value", ""))
            values[0].delete()


@step("DIFF-07")
def clocks(part: Part) -> Iterator[Noted]:
    """Remove clocks, and references of connectors to clocks, which do not exist in 1.0."""
    for typed in _typed(part):
        if isinstance(typed.type, ssc.Clock):
            yield dropped(typed, f"{_name(typed)} is a clock")
    for connector in part.every(ssd.Connector):
        for clock in connector.clocks:
            yield weakened(clock, f"{_name(connector)} no longer says that it follows the clock {clock.name!r}")
            part.forget(clock)
            originals.remove(clock)


@step("DIFF-11")
def unspecified_kinds(part: Part) -> Iterator[Noted]:
    for connector in part.every(ssd.Connector):
        if connector.kind is Kind.UNSPECIFIED:
            yield dropped(connector, f"{_name(connector)} is of kind unspecified")


@step("DIFF-06")
def element_wise_connections(part: Part) -> Iterator[Noted]:
    for connection in part.every(ssd.Connection):
        if connection.start_indices is not None or connection.end_indices is not None:
            yield dropped(connection, f"{ends_of(connection)} connects elements of arrays")


@step("DIFF-12", "DIFF-09")
def new_pairs(part: Part) -> Iterator[Noted]:
    """Replace kinds of connectors that do not exist in 1.0, if the connections stay legal and keep their meaning."""
    for system in part.every(ssd.System):
        connectors = _interface(system)
        for connection in list(system.connections):
            ends = _ends_of(connection, connectors)
            pair = None if ends is None else direct(*ends, "2.0")
            if pair is None:
                continue
            source, destination = pair
            if source.kind is Kind.CONSTANT and destination.kind is Kind.STRUCTURAL_PARAMETER:
                yield dropped(connection, f"{ends_of(connection)} sets a structural parameter to a constant")
            elif direct(_in_1_0(source), _in_1_0(destination), "1.0") is None:
                yield dropped(connection, f"{ends_of(connection)}: {source.kind} to {destination.kind} is new in 2.0")


@step("DIFF-21")
def wide_mappings(part: Part) -> Iterator[Noted]:
    """Reduce integers in mappings to 32 bits. Source values outside of the range of the source type are never looked
    up.
    """
    for mapping in part.every(ssc.IntegerMappingTransformation):
        narrow = _maps_narrow(mapping)
        for entry in mapping.entries:
            source, target = integer.read(entry.source), integer.read(entry.target)
            if source not in INT32 and narrow:
                part.forget(entry)
                originals.remove(entry)
            elif source not in INT32 or target not in INT32:
                yield dropped(entry, f"the mapping of {source} to {target} needs more than 32 bits")


@step("DIFF-27")
def wide_items(part: Part) -> Iterator[Noted]:
    for enumeration in part.every(ssc.Enumeration):
        for item in enumeration.items:
            if item.value not in INT32:
                where = f"the item {item.name!r} of the enumeration {enumeration.name!r}"
                yield dropped(item, f"{where} is {item.value}, which needs more than 32 bits")


@step("DIFF-04")
def parameter_types(part: Part) -> Iterator[Noted]:
    for parameter in part.every(ssv.Parameter):
        type_ = parameter.type_name or ""
        what = f"the parameter {parameter.name!r} of type {type_}"
        if type_ in _WIDE and parameter.value not in INT32:
            yield dropped(parameter, f"{what} is {parameter.value}, which needs more than 32 bits")
        elif type_ in _SAME:
            cast(Element, parameter.type).tag = expand(f"ssv:{_SAME[type_]}")
        elif type_ in _WIDER or type_ in _WIDE:
            new = _WIDER.get(type_, "Integer")
            yield weakened(parameter, f"{what} is {new}")
            originals.rename(cast(Element, parameter.type), f"ssv:{new}")


@step("DIFF-03")
def signal_types(part: Part) -> Iterator[Noted]:
    for typed in _typed(part):
        type_ = typed.type_name or ""
        if type_ in _WIDE and isinstance(typed, ssb.DictionaryEntry):
            yield dropped(typed, f"{_name(typed)} is of type {type_}, which SSP 1.0 does not have")
        elif type_ in _WIDE:
            yield weakened(typed, f"{_name(typed)} of type {type_} has no type: it is that of its variable")
            originals.remove(cast(Element, typed.type))
        elif type_ in _SAME:
            cast(Element, typed.type).tag = expand(f"ssc:{_SAME[type_]}")
        elif type_ in _WIDER:
            yield weakened(typed, f"{_name(typed)} of type {type_} is {_WIDER[type_]}")
            originals.rename(cast(Element, typed.type), f"ssc:{_WIDER[type_]}")


# --- Kinds of connectors ---


@step("DIFF-10")
def local_kinds(part: Part) -> Iterator[Noted]:
    """Make connected local variables outputs, as which they act; remove the connectors of others, which nothing
    uses.
    """
    connected = {
        (system, element, connector)
        for system in part.every(ssd.System)
        for connection in system.connections
        for element, connector in connection.ends
    }
    for connector in part.every(ssd.Connector):
        if connector.kind is not Kind.LOCAL:
            continue
        owner = _owner(connector)
        if connected.isdisjoint(_addresses_of(connector, owner)):
            yield weakened(connector, f"{_name(connector)} of kind local is not connected, and goes")
            part.forget(connector)
            originals.remove(connector)
        else:
            yield weakened(connector, f"{_name(connector)} of kind local is an output")
            originals.set_attribute(connector, "kind", Kind.OUTPUT)


@step("DIFF-08")
def structural_parameters(part: Part) -> Iterator[Noted]:
    yield from _of_another_kind(part, Kind.STRUCTURAL_PARAMETER, Kind.PARAMETER)


@step("DIFF-09")
def constants(part: Part) -> Iterator[Noted]:
    yield from _of_another_kind(part, Kind.CONSTANT, Kind.CALCULATED_PARAMETER)


def _of_another_kind(part: Part, old: Kind, new: Kind) -> Iterator[Noted]:
    for connector in part.every(ssd.Connector):
        if connector.kind is old:
            yield weakened(connector, f"{_name(connector)} of kind {old} is a {new}")
            originals.set_attribute(connector, "kind", new)


# --- Components ---


@step("DIFF-14")
def scheduled_execution(part: Part) -> Iterator[Noted]:
    for component in part.every(ssd.Component):
        if component.implementation is ssd.Implementation.SCHEDULED_EXECUTION:
            yield weakened(component, f"{component.name!r} no longer asks for scheduled execution")
            originals.set_attribute(component, "implementation", None)


@step("DIFF-15")
def modelica(part: Part) -> Iterator[Noted]:
    for component in part.every(ssd.Component):
        if component.media_type == MODELICA:
            yield weakened(component, f"{component.name!r} is a Modelica model, which SSP 1.0 does not know")


@step("DIFF-13")
def missing_implementations(part: Part) -> Iterator[Noted]:
    """Replace components without a source, which 1.0 requires, by empty systems."""
    for component in part.every(ssd.Component):
        if component.get("source") is None:
            yield weakened(component, f"{component.name!r} has no implementation and is an empty system")
            for name in ("type", "implementation"):
                if component.get(name) is not None:
                    originals.set_attribute(component, name, None)
            originals.rename(component, "ssd:System")


# --- Metadata, annotations, geometry ---


@step("DIFF-16", "DIFF-29")
def metadata(part: Part) -> Iterator[Noted]:
    for element in (*part.every(ssc.MetaData), *part.every(ssc.Signature)):
        what = "a signature" if isinstance(element, ssc.Signature) else "metadata"
        void = "; it does not sign the changed document" if isinstance(element, ssc.Signature) else ""
        yield weakened(element, f"{what} is kept in an annotation{void}")
        part.forget(element)
        originals.remove(element)


@step("DIFF-17")
def text_in_annotations(part: Part) -> Iterator[Noted]:
    for annotation in part.every(ssc.Annotation):
        texts = [annotation.text, *(child.tail for child in annotation)]
        if any(text and text.strip(" \t\r\n") for text in texts):
            yield weakened(annotation, f"the text of the annotation {annotation.type!r} is in an element")
            originals.wrap(annotation)


@step("DIFF-18")
def inner_placement(part: Part) -> Iterator[Noted]:
    for geometry in part.every(ssd.ConnectorGeometry):
        names = [name for name in ("systemInnerY", "systemInnerX") if geometry.get(name) is not None]
        if names:
            yield weakened(geometry, f"the place of {_name(_owner_of(geometry))} seen from inside is kept aside")
            for name in names:
                originals.set_attribute(geometry, name, None)


# --- Queries ---


def _typed(part: Part) -> Iterator[Typed]:
    yield from part.every(ssd.Connector)
    yield from part.every(ssb.DictionaryEntry)


def _without_dimensions(typed: Typed | ssv.Parameter) -> Iterator[Noted]:
    yield weakened(typed, f"{_name(typed)} is an array of one element, and a scalar now")
    for dimension in reversed(typed.dimensions):
        originals.remove(dimension)


def _owner(connector: ssd.Connector) -> ssd.SystemElement:
    return cast(ssd.SystemElement, cast(Element, connector.getparent()).getparent())


def _owner_of(geometry: ssd.ConnectorGeometry) -> ssd.Connector:
    return cast(ssd.Connector, geometry.getparent())


def _name(element: Typed | ssv.Parameter) -> str:
    if isinstance(element, ssd.Connector):
        return f"the connector {element.name!r} of {_owner(element).get('name', '')!r}"
    what = "entry" if isinstance(element, ssb.DictionaryEntry) else "parameter"
    return f"the {what} {element.name!r}"


def _addresses_of(connector: ssd.Connector, owner: ssd.SystemElement) -> set[tuple[Element, str, str]]:
    """Names of a connector in connections: inside of its system, and in the system around it."""
    around = owner.getparent()
    outer = None if around is None else around.getparent()
    found: set[tuple[Element, str, str]] = set()
    if isinstance(owner, ssd.System):
        found.add((owner, "", connector.name))
    if isinstance(outer, ssd.System):
        found.add((outer, owner.name, connector.name))
    return found


def _interface(system: ssd.System) -> dict[tuple[str, str], Kind]:
    owners: list[tuple[str, ssd.SystemElement]] = [("", system), *((child.name, child) for child in system.elements)]
    return {(name, connector.name): connector.kind for name, owner in owners for connector in owner.connectors}


def _ends_of(
    connection: ssd.Connection, kinds: dict[tuple[str, str], Kind]
) -> tuple[ConnectionEnd, ConnectionEnd] | None:
    start, end = connection.ends
    if start not in kinds or end not in kinds:
        return None
    return ConnectionEnd(*start, kinds[start]), ConnectionEnd(*end, kinds[end])


def _in_1_0(end: ConnectionEnd) -> ConnectionEnd:
    return ConnectionEnd(end.element, end.connector, IN_1_0.get(end.kind, end.kind))


def _maps_narrow(mapping: ssc.IntegerMappingTransformation) -> bool:
    """True if both ends of the connection of a mapping are known to have at most 32 bits."""
    connection = mapping.getparent()
    if not isinstance(connection, ssd.Connection):
        return False
    system = cast(ssd.System, cast(Element, connection.getparent()).getparent())
    owners: list[tuple[str, ssd.SystemElement]] = [("", system), *((child.name, child) for child in system.elements)]
    types = {(name, connector.name): connector.type_name for name, owner in owners for connector in owner.connectors}
    return all(types.get(address) in _NARROW for address in connection.ends)
