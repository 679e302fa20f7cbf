"""SSC elements, common to all documents: annotations, units, enumerations, types, transformations, metadata.

SSP 1.0 and 2.0 §4. Elements marked 2.0 do not exist in 1.0 documents.
"""

from enum import StrEnum
from typing import TypeVar

from ssptool.documents.element import Element, InvalidAttribute, at_most_one, attribute, child, children
from ssptool.documents.vocabulary import (
    Converter,
    IntervalVariability,
    any_uri,
    boolean,
    double,
    integer,
    one_of,
    signed,
    string,
    unsigned,
)

T = TypeVar("T")


class Base(Element):
    """The attributes of nearly every element."""

    id = attribute(string, default=None)
    description = attribute(string, default=None)


class TopLevel(Base):
    """The attributes of the four root elements. The date is stored as text, because Python does not accept
    `T24:00:00Z`.
    """

    author = attribute(string, default=None)
    fileversion = attribute(string, default=None)
    copyright = attribute(string, default=None)
    license = attribute(string, default=None)
    generation_tool = attribute(string, default=None)
    generation_date_and_time = attribute(string, default=None)
    version = attribute(string)


class Annotation(Element, tag="ssc:Annotation"):
    """Data of other tools: any content, preserved and never interpreted. `type` is a reverse domain name."""

    identity = ("type",)
    type = attribute(string)


class EnumerationItem(Element, tag="ssc:Item"):
    """One value of an enumeration."""

    name = attribute(string)
    value = attribute(signed(64))


class SignalType(Element):
    """The type of a connector or a dictionary entry."""

    @property
    def type_name(self) -> str:
        """The standard's name of the type, e.g. `Float64`."""
        return self.local_name


class Enumeration(SignalType, tag="ssc:Enumeration"):
    """Enumeration. As a type: the name of an enumeration of the same file. In `Enumerations`: its definition, with
    items.
    """

    id = attribute(string, default=None)
    description = attribute(string, default=None)
    name = attribute(string)
    items = children(EnumerationItem)  # type: ignore[assignment]  # XML attributes as a list: see `attrib`
    annotations = children(Annotation, within="ssc:Annotations")


class BaseUnit(Element, tag="ssc:BaseUnit"):
    """Exponents of the SI base units and the radian; a value v of the unit is `factor * v + offset` of the base
    unit.
    """

    kg = attribute(signed(32), default=0)
    m = attribute(signed(32), default=0)
    s = attribute(signed(32), default=0)
    A = attribute(signed(32), default=0)
    K = attribute(signed(32), default=0)
    mol = attribute(signed(32), default=0)
    cd = attribute(signed(32), default=0)
    rad = attribute(signed(32), default=0)
    factor = attribute(double, default=1.0)
    offset = attribute(double, default=0.0)


class Unit(Base, tag="ssc:Unit"):
    """A unit, defined by its base units."""

    name = attribute(string)
    base_unit = child(BaseUnit)
    annotations = children(Annotation, within="ssc:Annotations")


# --- Types ---


class FloatingPoint(SignalType):
    unit = attribute(string, default=None)


class Real(FloatingPoint, tag="ssc:Real"):
    """IEEE 754 double precision."""


class Float64(FloatingPoint, tag="ssc:Float64"):
    """The same as Real (2.0)."""


class Float32(FloatingPoint, tag="ssc:Float32"):
    """IEEE 754 single precision (2.0)."""


class Integer(SignalType, tag="ssc:Integer"):
    """32 bits, signed."""


class Int8(SignalType, tag="ssc:Int8"):
    """2.0"""


class UInt8(SignalType, tag="ssc:UInt8"):
    """2.0"""


class Int16(SignalType, tag="ssc:Int16"):
    """2.0"""


class UInt16(SignalType, tag="ssc:UInt16"):
    """2.0"""


class Int32(SignalType, tag="ssc:Int32"):
    """2.0"""


class UInt32(SignalType, tag="ssc:UInt32"):
    """2.0"""


class Int64(SignalType, tag="ssc:Int64"):
    """2.0"""


class UInt64(SignalType, tag="ssc:UInt64"):
    """2.0"""


class Boolean(SignalType, tag="ssc:Boolean"):
    """True or false."""


class String(SignalType, tag="ssc:String"):
    """UTF-8, without zero bytes."""


class Binary(SignalType, tag="ssc:Binary"):
    """Bytes of a known length."""

    mime_type = attribute(string, default="application/octet-stream", name="mime-type")


class Clock(SignalType, tag="ssc:Clock"):
    """A clock of FMI 3.0 (2.0). A lower priority value is more urgent."""

    interval_variability = attribute(one_of(IntervalVariability), default=None)
    interval_decimal = attribute(double, default=None)
    shift_decimal = attribute(double, default=0.0)
    supports_fraction = attribute(boolean, default=False)
    resolution = attribute(unsigned(64), default=None)
    interval_counter = attribute(unsigned(64), default=None)
    shift_counter = attribute(unsigned(64), default=0)
    priority = attribute(unsigned(32), default=None)


TYPES: tuple[type[SignalType], ...] = (
    *(Real, Float64, Float32, Integer, Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64),
    *(Boolean, String, Enumeration, Binary, Clock),
)


class Dimension(Element, tag="ssc:Dimension"):
    """One extent of an array: fixed, or the value of the sibling connector named `size_connector` (2.0)."""

    size = attribute(unsigned(64), default=None)
    size_connector = attribute(string, default=None)


# --- Transformations ---


class Transformation(Element):
    """A transformation of a value on a connection or mapping, after the conversion of units."""


class LinearTransformation(Transformation, tag="ssc:LinearTransformation"):
    """`factor * value + offset`."""

    factor = attribute(double, default=1.0)
    offset = attribute(double, default=0.0)


class MapEntry(Element, tag="ssc:MapEntry"):
    """One row of a mapping, as text; the mappings below return the rows in the type of their values."""

    identity = ("source",)
    source = attribute(string)
    target = attribute(string)

    def read(self, name: str, converter: Converter[T]) -> T:
        """Value of an attribute in the type of the mapping. Raises InvalidAttribute."""
        text = str(getattr(self, name))
        try:
            return converter.read(text)
        except ValueError:
            raise InvalidAttribute(self.position, name, text, converter.expected) from None


class BooleanMappingTransformation(Transformation, tag="ssc:BooleanMappingTransformation"):
    """Replace truth values."""

    entries = children(MapEntry)

    @property
    def table(self) -> dict[bool, bool]:
        return {entry.read("source", boolean): entry.read("target", boolean) for entry in self.entries}


class IntegerMappingTransformation(Transformation, tag="ssc:IntegerMappingTransformation"):
    """Replace integers."""

    entries = children(MapEntry)

    @property
    def table(self) -> dict[int, int]:
        return {entry.read("source", integer): entry.read("target", integer) for entry in self.entries}


class EnumerationMappingTransformation(Transformation, tag="ssc:EnumerationMappingTransformation"):
    """Item names to item names."""

    entries = children(MapEntry)

    @property
    def table(self) -> dict[str, str]:
        return {entry.source: entry.target for entry in self.entries}


TRANSFORMATIONS: tuple[type[Transformation], ...] = (
    LinearTransformation,
    BooleanMappingTransformation,
    IntegerMappingTransformation,
    EnumerationMappingTransformation,
)


# --- Metadata (2.0) ---


class MetaDataKind(StrEnum):
    GENERAL = "general"
    QUALITY = "quality"


class SignatureRole(StrEnum):
    AUTHENTICITY = "authenticity"
    SUITABILITY = "suitability"


class MetaSourceBase(StrEnum):
    """Attributes of the source of metadata or a signature; metadata itself has only the first two."""

    FILE = "file"
    RESOURCE = "resource"
    META_DATA = "metaData"


class Content(Base, tag="ssc:Content"):
    """Inline metadata or signature: any elements and text."""


class Signature(Base, tag="ssc:Signature"):
    """Signature of the parent element (2.0)."""

    content = at_most_one(Content)
    role = attribute(one_of(SignatureRole))
    type = attribute(string)
    source = attribute(any_uri, default=None)
    source_base = attribute(one_of(MetaSourceBase), default=MetaSourceBase.FILE)
    identity = ("role", "source")


class MetaData(Base, tag="ssc:MetaData"):
    """Metadata of the parent element (2.0)."""

    content = at_most_one(Content)
    signatures = children(Signature)
    kind = attribute(one_of(MetaDataKind))
    type = attribute(string)
    source = attribute(any_uri, default=None)
    source_base = attribute(one_of(MetaSourceBase), default=MetaSourceBase.FILE)
    identity = ("kind", "source")
