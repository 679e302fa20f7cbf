"""SSD elements: the structure of a system (SSP 1.0 and 2.0 §5)."""

from collections.abc import Hashable, Iterator
from enum import StrEnum
from typing import NamedTuple, TypeVar, cast

from ssptool.documents import ssb, ssc, ssm, ssv
from ssptool.documents.element import Children, Element, at_most_one, attribute, child, children
from ssptool.documents.vocabulary import (
    FMU,
    PARAMETER_MAPPING,
    PARAMETER_SET,
    SIGNAL_DICTIONARY,
    SSD,
    TABLE,
    TABLES,
    any_uri,
    boolean,
    double,
    list_of,
    media_type,
    one_of,
    string,
    unsigned,
)
from ssptool.many_values import made

E = TypeVar("E", bound=Element)


class ConnectorKind(StrEnum):
    """The role of a connector; the last four exist since 2.0."""

    INPUT = "input"
    OUTPUT = "output"
    PARAMETER = "parameter"
    CALCULATED_PARAMETER = "calculatedParameter"
    INOUT = "inout"
    STRUCTURAL_PARAMETER = "structuralParameter"
    CONSTANT = "constant"
    LOCAL = "local"
    UNSPECIFIED = "unspecified"


class Implementation(StrEnum):
    """The interface of an FMU to use; scheduled execution exists since 2.0."""

    ANY = "any"
    MODEL_EXCHANGE = "ModelExchange"
    CO_SIMULATION = "CoSimulation"
    SCHEDULED_EXECUTION = "ScheduledExecution"


class SourceBase(StrEnum):
    """The base of a source URI: the SSD, or the archive of the component."""

    SSD = "SSD"
    COMPONENT = "component"


# --- Geometry ---


class Box(Element):
    """A rectangle in the canvas: x to the right, y up, nominally millimetres."""

    x1 = attribute(double)
    y1 = attribute(double)
    x2 = attribute(double)
    y2 = attribute(double)


class ElementGeometry(Box, tag="ssd:ElementGeometry"):
    """Position of an element in its parent's canvas; x1 > x2 or y1 > y2 mirrors it. Angles: degrees,
    counterclockwise.
    """

    rotation = attribute(double, default=0.0)
    icon_source = attribute(any_uri, default=None)
    icon_rotation = attribute(double, default=0.0)
    icon_flip = attribute(boolean, default=False)
    icon_fixed_aspect_ratio = attribute(boolean, default=False)


class SystemGeometry(Box, tag="ssd:SystemGeometry"):
    """The canvas of a system, lower left and upper right corner."""


class Note(Box, tag="ssd:Note"):
    """Text in the canvas; a line break starts a paragraph."""

    identity = ()
    text = attribute(string)  # the standard's attribute, not lxml's character data


class ConnectorGeometry(Element, tag="ssd:ConnectorGeometry"):
    """Position of a connector on its element, in fractions of the box; since 2.0 also its position inside of a
    system.
    """

    x = attribute(double)
    y = attribute(double)
    system_inner_x = attribute(double, default=None)
    system_inner_y = attribute(double, default=None)


class ConnectionGeometry(Element, tag="ssd:ConnectionGeometry"):
    """The way points between the two ends, in the canvas of the enclosing system."""

    points_x = attribute(list_of(double))
    points_y = attribute(list_of(double))


# --- Connectors and connections ---


class Clock(Element, tag="ssd:Clock"):
    """Name of the clock connector of the same element that clocks a connector (2.0)."""

    name = attribute(string)


class Connector(ssc.Base, tag="ssd:Connector"):
    """A named input, output or parameter of an element, with type and dimensions."""

    name = attribute(string)
    kind = attribute(one_of(ConnectorKind))
    type = at_most_one(*ssc.TYPES)
    dimensions = children(ssc.Dimension)
    clocks = children(Clock)
    geometry = at_most_one(ConnectorGeometry)
    annotations = children(ssc.Annotation, within="ssd:Annotations")

    @property
    def type_name(self) -> str | None:
        """The standard's name of the type, e.g. `Real`; None if the SSD states none."""
        type = self.type
        return None if type is None else type.type_name

    @property
    def unit(self) -> str | None:
        """Name of a unit of the same document; None if none is stated or the type has none."""
        return getattr(self.type, "unit", None) or None  # an empty unit counts as missing


class ConnectorRef(NamedTuple):
    """Address of a connector in a connection: an element ("": the enclosing system), and a connector of this
    element.
    """

    element: str
    connector: str

    def __str__(self) -> str:
        return f"{self.element}.{self.connector}" if self.element else self.connector


class Connection(ssc.Base, tag="ssd:Connection"):
    """A connection between two ends; start and end imply no direction. A missing element is the enclosing system."""

    identity = ("startElement", "startConnector", "endElement", "endConnector")
    start_element = attribute(string, default="")
    start_connector = attribute(string)
    end_element = attribute(string, default="")
    end_connector = attribute(string)
    start_indices = attribute(list_of(unsigned(64)), default=None)  # 2.0; None is the whole connector
    end_indices = attribute(list_of(unsigned(64)), default=None)
    suppress_unit_conversion = attribute(boolean, default=False)
    transformation = at_most_one(*ssc.TRANSFORMATIONS)
    geometry = at_most_one(ConnectionGeometry)
    annotations = children(ssc.Annotation, within="ssd:Annotations")

    # --- Parameters and signal dictionaries ---

    @property
    def start(self) -> ConnectorRef:
        return ConnectorRef(self.start_element, self.start_connector)

    @property
    def end(self) -> ConnectorRef:
        return ConnectorRef(self.end_element, self.end_connector)

    @property
    def ends(self) -> tuple[ConnectorRef, ConnectorRef]:
        """Both addresses as written; they imply no direction."""
        get = self.attrib.get  # direct access, because there are very many connections
        start, end = get("startConnector"), get("endConnector")
        if start is None or end is None:
            return self.start, self.end
        first, last = (get("startElement", ""), start), (get("endElement", ""), end)
        return made(ConnectorRef, first), made(ConnectorRef, last)

    @property
    def indices(self) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
        """Indices at the start and at the end."""
        picks = self.get("startIndices") is not None or self.get("endIndices") is not None
        return (self.start_indices, self.end_indices) if picks else (None, None)


class ParameterValues(Element, tag="ssd:ParameterValues"):
    """Inline parameters, in the format of the binding's `type`."""


class ParameterMapping(ssc.Base, tag="ssd:ParameterMapping"):
    """Renames the parameters of a binding; inline or by `source`."""

    type = attribute(string, default=PARAMETER_MAPPING)
    source = attribute(any_uri, default=None)
    source_base = attribute(one_of(SourceBase), default=SourceBase.SSD)
    meta_data = children(ssc.MetaData)
    signatures = children(ssc.Signature)

    @property
    def inline(self) -> ssm.ParameterMapping | None:
        """The inline mapping; None if missing or not an SSM."""
        return _inline(self, ssm.ParameterMapping)


class ParameterBinding(ssc.Base, tag="ssd:ParameterBinding"):
    """Parameters of one source for an element; inline or by `source`. Later bindings override earlier ones."""

    identity = ("source",)
    type = attribute(string, default=PARAMETER_SET)
    source = attribute(any_uri, default=None)
    source_base = attribute(one_of(SourceBase), default=SourceBase.SSD)
    prefix = attribute(string, default="")  # the standard's attribute, not XML's prefix
    parameter_values = at_most_one(ParameterValues)
    parameter_mapping = at_most_one(ParameterMapping)
    meta_data = children(ssc.MetaData)
    signatures = children(ssc.Signature)
    annotations = children(ssc.Annotation, within="ssd:Annotations")

    @property
    def parameter_set(self) -> ssv.ParameterSet | None:
        """The inline values; None if missing or not an SSV."""
        return _inline(self.parameter_values, ssv.ParameterSet)


class SignalDictionary(ssc.Base, tag="ssd:SignalDictionary"):
    """A named dictionary of signals, inline or by `source`, for all references below its system."""

    type = attribute(string, default=SIGNAL_DICTIONARY)
    source = attribute(any_uri, default=None)
    name = attribute(string)
    meta_data = children(ssc.MetaData)
    signatures = children(ssc.Signature)

    @property
    def inline(self) -> ssb.SignalDictionary | None:
        """The inline dictionary; None if missing or not an SSB."""
        return _inline(self, ssb.SignalDictionary)


# --- Elements ---


class SystemElement(ssc.Base):
    """An element of a system: a system, a component or a reference to a signal dictionary."""

    name = attribute(string)
    connectors = children(Connector, within="ssd:Connectors")
    geometry = at_most_one(ElementGeometry)
    parameter_bindings = children(ParameterBinding, within="ssd:ParameterBindings")
    meta_data = children(ssc.MetaData)
    signatures = children(ssc.Signature)

    def likeness_of_connectors(self) -> Hashable | None:
        """A key that elements of the document share only if their connectors are equal; None: not known."""
        container = cast(Element | None, self.find(f"{{{SSD}}}Connectors"))
        return None if container is None else container.likeness()


class Component(SystemElement, tag="ssd:Component"):
    """A leaf with a `source`: an FMU, or another SSD or SSP. Without a source (2.0): a placeholder."""

    type = attribute(string, default=FMU)
    source = attribute(any_uri, default=None)
    implementation = attribute(one_of(Implementation), default=Implementation.ANY)
    annotations = children(ssc.Annotation, within="ssd:Annotations")

    @property
    def media_type(self) -> str:
        """The normalized `type`; for a CSV file without a type, the type of tables."""
        stated = self.get("type")
        if stated is None:
            return TABLE if (self.source or "").lower().endswith(".csv") else FMU
        return media_type(stated)

    @property
    def is_table(self) -> bool:
        """True if the outputs are the columns of a file."""
        return self.media_type in TABLES


class SignalDictionaryReference(SystemElement, tag="ssd:SignalDictionaryReference"):
    """Access to the signals of a dictionary of this system or of an enclosing one."""

    dictionary = attribute(string)
    annotations = children(ssc.Annotation, within="ssd:Annotations")


class System(SystemElement, tag="ssd:System"):
    """Elements and the connections between them; also an element of the system around it."""

    elements: Children[SystemElement] = children(
        "ssd:Component", "ssd:SignalDictionaryReference", "ssd:System", within="ssd:Elements"
    )
    connections = children(Connection, within="ssd:Connections")
    signal_dictionaries = children(SignalDictionary, within="ssd:SignalDictionaries")
    system_geometry = at_most_one(SystemGeometry)
    notes = children(Note, within="ssd:GraphicalElements")
    annotations = children(ssc.Annotation, within="ssd:Annotations")


class DefaultExperiment(Element, tag="ssd:DefaultExperiment"):
    """Default interval of a simulation [s]."""

    start_time = attribute(double, default=None)
    stop_time = attribute(double, default=None)
    annotations = children(ssc.Annotation, within="ssd:Annotations")


class SystemStructureDescription(ssc.TopLevel, tag="ssd:SystemStructureDescription"):
    """The root of an SSD file."""

    name = attribute(string)
    system = child(System)
    enumerations = children(ssc.Enumeration, within="ssd:Enumerations")
    units = children(ssc.Unit, within="ssd:Units")
    default_experiment = at_most_one(DefaultExperiment)
    meta_data = children(ssc.MetaData)
    signatures = children(ssc.Signature)
    annotations = children(ssc.Annotation, within="ssd:Annotations")

    def systems(self) -> Iterator[System]:
        """The root system and all systems inside it, outer ones first."""
        return self.every(System)


def _inline(container: Element | None, kind: type[E]) -> E | None:
    """The first element of this kind directly inside a container of any content."""
    if container is None:
        return None
    found = next(container.iterchildren(kind.qualified_name), None)
    return found if isinstance(found, kind) else None
