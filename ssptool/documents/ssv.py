"""SSV elements: parameter sets and their values (SSP 1.0 and 2.0 §6)."""

from typing import Any, Generic, TypeVar

from ssptool.documents import ssc
from ssptool.documents.element import Attribute, Element, InvalidAttribute, at_most_one, attribute, children
from ssptool.documents.vocabulary import Converter, boolean, double, hex_binary, list_of, signed, string, unsigned
from ssptool.errors import WrongValue

T = TypeVar("T")


class ArrayItem(Element, tag="ssv:Value"):
    """One item of an array of strings, enumeration items or binaries (2.0)."""

    value = attribute(string)


class ParameterType(Element):
    """The type and value of a parameter; arrays are stored row by row."""

    @property
    def type_name(self) -> str:
        """The standard's name of the type, e.g. `Float64`."""
        return self.local_name

    @property
    def entries(self) -> tuple[Any, ...]:
        """All values in order; one value for a scalar."""
        raise NotImplementedError(f"{self.tag} is not a type of a parameter")

    @entries.setter
    def entries(self, values: tuple[Any, ...]) -> None:
        raise NotImplementedError(f"{self.tag} is not a type of a parameter")


class Numbers(ParameterType, Generic[T]):
    """Types whose `value` is a list of white-space separated items (of one item in 1.0)."""

    value: Attribute[tuple[T, ...]]

    @property
    def entries(self) -> tuple[T, ...]:
        return self.value

    @entries.setter
    def entries(self, values: tuple[T, ...]) -> None:
        self.value = values


class FloatingPoint(Numbers[float]):
    value = attribute(list_of(double))
    unit = attribute(string, default=None)


class Real(FloatingPoint, tag="ssv:Real"):
    """IEEE 754 double precision."""


class Float64(FloatingPoint, tag="ssv:Float64"):
    """The same as Real (2.0)."""


class Float32(FloatingPoint, tag="ssv:Float32"):
    """IEEE 754 single precision (2.0)."""


class Integer(Numbers[int], tag="ssv:Integer"):
    """An integer."""

    value = attribute(list_of(signed(32)))


class Int8(Numbers[int], tag="ssv:Int8"):
    """2.0"""

    value = attribute(list_of(signed(8)))


class UInt8(Numbers[int], tag="ssv:UInt8"):
    """2.0"""

    value = attribute(list_of(unsigned(8)))


class Int16(Numbers[int], tag="ssv:Int16"):
    """2.0"""

    value = attribute(list_of(signed(16)))


class UInt16(Numbers[int], tag="ssv:UInt16"):
    """2.0"""

    value = attribute(list_of(unsigned(16)))


class Int32(Numbers[int], tag="ssv:Int32"):
    """2.0"""

    value = attribute(list_of(signed(32)))


class UInt32(Numbers[int], tag="ssv:UInt32"):
    """2.0"""

    value = attribute(list_of(unsigned(32)))


class Int64(Numbers[int], tag="ssv:Int64"):
    """2.0"""

    value = attribute(list_of(signed(64)))


class UInt64(Numbers[int], tag="ssv:UInt64"):
    """2.0"""

    value = attribute(list_of(unsigned(64)))


class Boolean(Numbers[bool], tag="ssv:Boolean"):
    """A truth value."""

    value = attribute(list_of(boolean))


class Texts(ParameterType):
    """Types whose items may contain white space: one in `value`, or any number of `ArrayItem` children (2.0)."""

    value = attribute(string, default=None)
    items_in_children = children(ArrayItem)
    _item: Converter[Any] = string

    @property
    def entries(self) -> tuple[Any, ...]:
        alone = self.get("value")
        holders = self.items_in_children if alone is None else (self,)
        return tuple(self._read(holder) for holder in holders)

    @entries.setter
    def entries(self, values: tuple[Any, ...]) -> None:
        texts = [self._item.write(value) for value in values]
        items = self.items_in_children
        if len(texts) == 1 and not items:
            self.set("value", texts[0])
            return
        if "value" in self.attrib:
            del self.attrib["value"]
        for item, text in zip(items, texts, strict=False):
            item.value = text
        for item in items[len(texts) :]:
            item.delete()
        for text in texts[len(items) :]:
            self.add(ArrayItem.new(value=text))

    def _read(self, holder: Element) -> Any:
        text = holder.get("value")
        if text is None:
            raise InvalidAttribute(holder.position, "value", None, self._item.expected)
        try:
            return self._item.read(text)
        except ValueError:
            raise InvalidAttribute(holder.position, "value", text, self._item.expected) from None


class String(Texts, tag="ssv:String"):
    """UTF-8, without zero bytes."""


class Enumeration(Texts, tag="ssv:Enumeration"):
    """Item names; `name` is an enumeration of the same file (default: the enumeration of the target variable)."""

    name = attribute(string, default=None)


class Binary(Texts, tag="ssv:Binary"):
    """Bytes, written as hexadecimal digits."""

    mime_type = attribute(string, default="application/octet-stream", name="mime-type")
    value = attribute(hex_binary, default=None)  # type: ignore[assignment]
    _item = hex_binary


TYPES: tuple[type[ParameterType], ...] = (
    *(Real, Float64, Float32, Integer, Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64),
    *(Boolean, String, Enumeration, Binary),
)


class Parameter(ssc.Base, tag="ssv:Parameter"):
    """A name, and a value of one type."""

    name = attribute(string)
    type = at_most_one(*TYPES)
    dimensions = children(ssc.Dimension)
    annotations = children(ssc.Annotation, within="ssv:Annotations")

    @property
    def type_name(self) -> str | None:
        """The standard's name of the type, e.g. `Real`; None where the (required) type is missing."""
        return None if self.type is None else self.type.type_name

    @property
    def unit(self) -> str | None:
        return getattr(self.type, "unit", None) or None  # an empty unit counts as missing

    @property
    def value(self) -> Any:
        """The value as float, int, bool, str or bytes; for an array the tuple of its items, row by row.

        None if the type, or the value of a string, is missing.
        """
        entries = () if self.type is None else self.type.entries
        if self.dimensions or len(entries) > 1:
            return entries
        return entries[0] if entries else None

    @value.setter
    def value(self, value: Any) -> None:
        if self.type is None:
            raise WrongValue(f"{self.address} has no type: set `type` first")
        self.type.entries = tuple(value) if isinstance(value, tuple | list) else (value,)


class ParameterSet(ssc.TopLevel, tag="ssv:ParameterSet"):
    """The root of an SSV file; also inline in an SSD, with its own units and enumerations."""

    name = attribute(string)
    parameters = children(Parameter, within="ssv:Parameters", keep=True)
    enumerations = children(ssc.Enumeration, within="ssv:Enumerations")
    units = children(ssc.Unit, within="ssv:Units")
    meta_data = children(ssc.MetaData)
    signatures = children(ssc.Signature)
    annotations = children(ssc.Annotation, within="ssv:Annotations")
