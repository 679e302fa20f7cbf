"""Set and remove the transformation of a connection."""

from collections.abc import Mapping
from dataclasses import dataclass

from ssptool.arguments import number
from ssptool.documents import ssc, ssd
from ssptool.documents.vocabulary import boolean, integer, number_text
from ssptool.editing.changes import EditError
from ssptool.errors import hint
from ssptool.network.conversion import is_float, is_integer


@dataclass(frozen=True, slots=True)
class Treatment:
    """Requested transformation of a connection; None and False change nothing.

    `table` maps values, or names of items, of the source to those of the destination. `plain` removes the present
    transformation.
    """

    factor: float | None = None
    offset: float | None = None
    table: Mapping[str, str] | None = None
    plain: bool = False
    suppress_unit_conversion: bool | None = None

    def __post_init__(self) -> None:
        for name in ("factor", "offset"):
            if (value := getattr(self, name)) is not None:
                number(name, value)
        if sum((self.linear, bool(self.table), self.plain)) > 1:
            raise EditError("a connection has one transformation: give a factor and an offset, or a table, or none")

    @property
    def linear(self) -> bool:
        return self.factor is not None or self.offset is not None

    @property
    def asked_for(self) -> bool:
        return self.linear or bool(self.table) or self.plain or self.suppress_unit_conversion is not None

    def transformation(self, ends: tuple["EndType", "EndType"]) -> ssc.Transformation | None:
        """The element for a connection between ends of these types; None if there is to be none.

        Raises
        ------
        EditError
            The standard does not allow this transformation between these types, or an entry of the table is not a value
            of them.
        """
        if self.linear:
            return self._linear(ends)
        return _mapping(self.table, ends) if self.table else None

    def _linear(self, ends: tuple["EndType", "EndType"]) -> ssc.LinearTransformation:
        for end in ends:
            if end.type is not None and not is_float(end.type):
                raise EditError(
                    f"{end.name} is of type {end.type}: a factor and an offset are for floating-point numbers; "
                    "use --map FROM=TO for others"
                )
        made = ssc.LinearTransformation.new()
        for key, value in (("factor", self.factor), ("offset", self.offset)):
            if value is not None:
                made.set(key, number_text(value))
        return made

    def __str__(self) -> str:
        told = []
        if self.linear:
            factor, offset = self.factor, self.offset or 0.0
            scaled = "value" if factor in (None, 1.0) else f"{number_text(factor or 0.0)} · value"
            told.append(scaled + (f" {'+' if offset > 0 else '−'} {number_text(abs(offset))}" if offset else ""))
        if self.table:
            told.append(", ".join(f"{source} → {target}" for source, target in self.table.items()))
        if self.plain:
            told.append("no transformation")
        if self.suppress_unit_conversion is not None:
            told.append("units are " + ("not " if self.suppress_unit_conversion else "") + "converted")
        return ", ".join(told)


AS_IT_IS = Treatment()


@dataclass(frozen=True, slots=True)
class EndType:
    """Type of one end of a connection (None if unknown), and the items of an enumeration."""

    name: str
    type: str | None
    items: Mapping[str, int]


def treat(connection: ssd.Connection, treatment: Treatment, ends: tuple[EndType, EndType]) -> None:
    """Apply the requested transformation to a connection, and keep the rest. Raises as `Treatment.transformation`."""
    if treatment.linear and isinstance(old := connection.transformation, ssc.LinearTransformation):
        treatment.transformation(ends)  # raises if it does not fit the types
        for key, value in (("factor", treatment.factor), ("offset", treatment.offset)):
            if value is not None:
                old.set(key, number_text(value))
    elif treatment.plain and connection.transformation is None:
        raise EditError(f"the connection of {ends[0].name} and {ends[1].name} has no transformation")
    elif treatment.linear or treatment.table or treatment.plain:
        connection.transformation = treatment.transformation(ends)
    if treatment.suppress_unit_conversion is not None:
        if treatment.suppress_unit_conversion:
            connection.suppress_unit_conversion = True
        else:
            connection.attrib.pop("suppressUnitConversion", "")


def _mapping(table: Mapping[str, str], ends: tuple[EndType, EndType]) -> ssc.Transformation:
    types = [end.type for end in ends]
    made: ssc.Transformation
    if types[0] == types[1] == "Boolean":
        made = ssc.BooleanMappingTransformation.new()
    elif types[0] == types[1] == "Enumeration" and not all(map(_is_integer, (*table, *table.values()))):
        made = ssc.EnumerationMappingTransformation.new()
    elif all(type == "Enumeration" or (type is not None and is_integer(type)) for type in types):
        made = ssc.IntegerMappingTransformation.new()
    else:
        told = " and ".join(f"{end.name} is {end.type or 'of no known type'}" for end in ends)
        raise EditError(
            f"{told}: tables are for two Booleans, two enumerations, or integers and enumerations; "
            "use --factor and --offset for floating-point numbers"
        )
    for source, target in table.items():
        pair = [_entry(text, end, made) for text, end in zip((source, target), ends, strict=True)]
        made.append(ssc.MapEntry.new(source=pair[0], target=pair[1]))
    return made


def _entry(text: str, end: EndType, made: ssc.Transformation) -> str:
    """One value of a table, as written in this kind of mapping."""
    if isinstance(made, ssc.BooleanMappingTransformation):
        if text not in ("true", "false", "0", "1"):
            raise EditError(f"{end.name} is Boolean, and {text!r} is neither true nor false")
        return boolean.write(boolean.read(text))
    if isinstance(made, ssc.EnumerationMappingTransformation):
        if end.items and text not in end.items:
            raise EditError(f"{end.name} has no item {text!r}{hint(text, end.items)}")
        return text
    if text in end.items:
        return str(end.items[text])
    if not _is_integer(text):
        raise EditError(f"{end.name} has no value {text!r}: expected an integer{hint(text, end.items)}")
    return text


def _is_integer(text: str) -> bool:
    try:
        integer.read(text)
    except ValueError:
        return False
    return True
