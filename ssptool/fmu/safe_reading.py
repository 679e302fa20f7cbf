"""Safe readings of flawed model descriptions: each flaw is reported with its line, its variable, and the assumption.

A value that its type does not allow is replaced by its only possible meaning, or left out. A reference to a missing
variable is left out; an output with unknown dependencies depends on everything. The tree is changed in place, and the
remaining tree is read like any other.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from math import isfinite, prod
from types import MappingProxyType
from typing import NamedTuple

from lxml import etree

from ssptool.documents.schema import Violation, violations
from ssptool.fmu.description import FmuDescription
from ssptool.fmu.model_description_xml import source_line

MODEL_DESCRIPTION_IDENTITY = frozenset(
    {"name", "valueReference", "index", "modelIdentifier", "fmiVersion", "guid", "instantiationToken", "modelName"}
)
"""Attributes without which nothing can be read."""


class DescriptionProblem(NamedTuple):
    """A problem of a model description; `line` is 0 if unknown."""

    line: int
    message: str


def read_safely(
    root: etree._Element, schema: etree.XMLSchema
) -> tuple[list[DescriptionProblem], list[DescriptionProblem]]:
    """Reduce a tree to what can be read safely. Returns problems that have a safe reading, and schema violations of
    the remaining tree.
    """
    told: list[DescriptionProblem] = []
    left: list[DescriptionProblem] = []
    told += _of_version(root)
    for node, violation in violations(root, schema):
        reading = _of_value(node, violation)
        (left if reading is None else told).append(reading or DescriptionProblem(source_line(node), violation.message))
    told += _of_types(root)
    told += _of_limits(root)
    told += _of_roles(root)
    told += _of_references(root)
    return told, left


def _of_version(root: etree._Element) -> Iterator[DescriptionProblem]:
    """Problem of a patch release number, which is not part of the version that FMUs state (FMI 2.0.4 §2.2.1)."""
    version = root.get("fmiVersion", "")
    short = version[:3]
    if version != short and short in ("1.0", "2.0"):
        root.set("fmiVersion", short)
        yield DescriptionProblem(source_line(root), f'fmiVersion="{version}" is read as {short}')


# -- values that their types do not allow --------------------------------------------------------------------------

_VALUE = re.compile(
    r"'(.*)' is not a valid value of the (?:local )?(?:atomic|list|union) type(?: '([^']*)')?", re.DOTALL
)
_ONE_OF = re.compile(r"The value '(.*)' is not an element of the set \{(.*)\}\.", re.DOTALL)
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?")
_SPECIAL = {"inf": "INF", "+inf": "INF", "infinity": "INF", "-inf": "-INF", "-infinity": "-INF", "nan": "NaN"}
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_TOO_LARGE = Decimal(2**64)
_BYTES = re.compile(r"[0-9A-Fa-f]*")


def _real(text: str) -> str | None:
    plain = text.strip().lower().replace("d", "e")
    if plain.count(",") == 1 and "." not in plain:
        plain = plain.replace(",", ".")
    return plain if _DECIMAL.fullmatch(plain) else _SPECIAL.get(plain)


def _integer(text: str) -> str | None:
    if _WHOLE.fullmatch(text):  # a number out of range stays
        return text
    real = _real(text)
    if real is None or not _DECIMAL.fullmatch(real) or abs(number := Decimal(real)) >= _TOO_LARGE:
        return None
    return str(int(number)) if number == int(number) else None


def _boolean(text: str) -> str | None:
    return {"true": "true", "false": "false", "1.0": "true", "0.0": "false"}.get(text.strip().lower())


def _binary(text: str) -> str | None:
    plain = text.strip()
    plain = plain[2:] if plain[:2] in ("0x", "0X") else plain
    return ("0" * (len(plain) % 2) + plain) if _BYTES.fullmatch(plain) else None


class _Type(NamedTuple):
    name: str
    read: Callable[[str], str | None]


_REAL, _INTEGER = _Type("a number", _real), _Type("an integer", _integer)
_BOOLEAN, _BINARY = _Type("true or false", _boolean), _Type("bytes in hexadecimal digits", _binary)
_OF_ELEMENTS: Mapping[str, _Type] = MappingProxyType(
    {
        **dict.fromkeys(("Real", "RealType", "Float32", "Float64", "Float32Type", "Float64Type"), _REAL),
        **dict.fromkeys(("Boolean", "Clock"), _BOOLEAN),
        **dict.fromkeys((f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)), _INTEGER),
        **dict.fromkeys(("Integer", "Enumeration", "IntegerType"), _INTEGER),
    }
)
"""Types of start values, limits and nominal values in elements."""

_OF_SCHEMA: Mapping[str, _Type] = MappingProxyType(
    {
        **dict.fromkeys(("xs:double", "xs:float"), _REAL),
        "xs:boolean": _BOOLEAN,
        "xs:hexBinary": _BINARY,
        **dict.fromkeys(
            (f"xs:{sign}{size}" for sign in ("", "unsigned") for size in ("byte", "short", "int", "long")), _INTEGER
        ),
        **dict.fromkeys(("xs:unsignedByte", "xs:unsignedShort", "xs:unsignedInt", "xs:unsignedLong"), _INTEGER),
    }
)


def _of_value(node: etree._Element, violation: Violation) -> DescriptionProblem | None:
    """Problem of an attribute's value and its reading; None if the element is wrong, or cannot be read without the
    attribute.
    """
    attribute = violation.attribute
    value = node.get(attribute) if attribute else None
    if value is None or attribute in MODEL_DESCRIPTION_IDENTITY:
        return None
    if (choice := _ONE_OF.search(violation.message)) is not None:
        allowed = re.findall(r"'([^']*)'", choice[2])
        alike = [one for one in allowed if one.lower() == value.strip().lower()]
        return _read_as(node, attribute, f"is none of {', '.join(allowed)}", alike[0] if alike else None)
    if (found := _VALUE.search(violation.message)) is None:
        return None
    kind = _OF_SCHEMA.get(found[2] or "") or _OF_ELEMENTS.get(str(node.tag))
    if kind is None:
        return _read_as(node, attribute, "is not a valid value", None)
    several = [kind.read(one) for one in value.split()] or [None]
    reading = None if None in several else " ".join(one for one in several if one is not None)
    if reading == value:  # for example an integer out of range
        return None
    return _read_as(node, attribute, f"is not {kind.name}", reading)


def _read_as(node: etree._Element, attribute: str, flaw: str, reading: str | None) -> DescriptionProblem:
    """Problem of an attribute, which gets another value, or is removed if there is none."""
    told = f'{subject(node)}: {attribute}="{node.get(attribute)}" {flaw}; '
    if reading is None:
        del node.attrib[attribute]
        return DescriptionProblem(source_line(node), f"{told}it is left out")
    node.set(attribute, reading)
    return DescriptionProblem(source_line(node), f'{told}read as "{reading}"')


def subject(node: etree._Element) -> str:
    """The variable or type that contains an element; otherwise the element itself."""
    for one in (node, *node.iterancestors()):
        parent = one.getparent()
        if parent is not None and parent.tag in _NAMED:
            return f'{_NAMED[str(parent.tag)]} "{one.get("name", "")}"'
    return f"<{node.tag}>"


_NAMED = {"ModelVariables": "variable", "TypeDefinitions": "type", "UnitDefinitions": "unit"}


# -- types and units -----------------------------------------------------------------------------------------------


def _of_types(root: etree._Element) -> Iterator[DescriptionProblem]:
    """Problems of declared types and display units that are not defined."""
    units = {node.get("name", node.get("unit")): node for node in root.iterfind("UnitDefinitions/*")}
    types = {node.get("name"): node for node in root.iterfind("TypeDefinitions/*")}
    for node in root.iterfind(".//*[@declaredType]"):
        if node.get("declaredType") not in types:
            yield _read_as(node, "declaredType", "is not defined", None)
    for node in root.iterfind(".//*[@displayUnit]"):
        if node.tag == "DisplayUnitDefinition":
            continue
        unit = node.get("unit") or _unit_of_type(types.get(node.get("declaredType")))
        if unit is None and node.tag != "Alias":
            yield _read_as(node, "displayUnit", "has no unit beside it", None)
        elif unit is not None and unit not in units:
            yield _read_as(node, "displayUnit", f'belongs to the unit "{unit}", which is not defined', None)


def _unit_of_type(node: etree._Element | None) -> str | None:
    """Unit of a declared type; in FMI 2 the attributes are in a child element."""
    return None if node is None else next((one.get("unit") for one in node.iter() if one.get("unit")), None)


def _of_limits(root: etree._Element) -> Iterator[DescriptionProblem]:
    """Problems of ranges that contain no number."""
    for node in root.iterfind(".//*[@min]"):
        least, most = _number(node.get("min")), _number(node.get("max"))
        if least is not None and most is not None and least > most:
            told = f'{subject(node)}: min="{node.get("min")}" is above max="{node.get("max")}"; both are left out'
            yield DescriptionProblem(source_line(node), told)
            del node.attrib["min"], node.attrib["max"]


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def of_starts(fmu: FmuDescription) -> Iterator[DescriptionProblem]:
    """Problems of start values out of range, and of arrays with fewer start values than elements (FMI 3.0 §2.4.7.5)."""
    for name, variable in fmu.variables.items():
        starts, low, high = variable.starts, variable.minimum, variable.maximum
        outside = [one for one in starts if isinstance(one, int | float) and not low <= one <= high]
        if outside and isfinite(outside[0]):
            told = f'variable "{name}": its start value {outside[0]:g} is outside of {low:g} … {high:g}; it is taken'
            yield DescriptionProblem(variable.line, told)
        wanted = prod(variable.shape)
        if len(starts) > 1 and len(starts) != wanted:
            told = f'variable "{name}": it has {wanted} elements and {len(starts)} start values; '
            yield DescriptionProblem(variable.line, f"{told}those that the FMU itself has are taken")


# -- causalities and variabilities ------------------------------------------------------------------------------------

_SETTLED = ("fixed", "tunable")
_CHANGING = ("discrete", "continuous")
_ALLOWED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "parameter": _SETTLED,
        "structuralParameter": _SETTLED,
        "calculatedParameter": _SETTLED,
        "input": _CHANGING,
        "independent": ("continuous",),
        "output": ("constant", *_CHANGING),
        "local": ("constant", *_SETTLED, *_CHANGING),
    }
)
"""Variabilities of each causality (FMI 2.0.4 §2.2.7, FMI 3.0 §2.4.7.5)."""


def allowed_variabilities(causality: str) -> tuple[str, ...]:
    """Variabilities that FMI allows for a causality; empty for an invalid causality."""
    return _ALLOWED.get(causality, ())


def _of_roles(root: etree._Element) -> Iterator[DescriptionProblem]:
    """Problems of combinations of causality and variability that FMI does not allow."""
    if root.get("fmiVersion") == "1.0":
        return
    default = "continuous" if root.get("fmiVersion") == "2.0" else None  # in FMI 3.0, the default fits the causality
    for node in root.iterfind("ModelVariables/*"):
        causality, variability = node.get("causality", "local"), node.get("variability", default)
        allowed = allowed_variabilities(causality)
        if variability is None or not allowed or variability in allowed:
            continue
        flaw = f'{subject(node)}: causality="{causality}" and variability="{variability}" is not a combination of FMI; '
        if variability == "constant":
            node.set("causality", "local")
            reading = "read as a constant, which cannot be set"
        else:
            node.set("variability", _nearest(variability, allowed, node))
            reading = f'read as variability="{node.get("variability")}"'
        yield DescriptionProblem(source_line(node), flaw + reading)


def _nearest(variability: str, allowed: tuple[str, ...], node: etree._Element) -> str:
    if allowed == _SETTLED:
        return "tunable" if variability in _CHANGING else "fixed"
    real = node.tag in ("Float32", "Float64") or node.find("Real") is not None
    return "continuous" if real else "discrete"


# -- references ------------------------------------------------------------------------------------------------------


def _of_references(root: etree._Element) -> Iterator[DescriptionProblem]:
    """Problems of references to variables that do not exist."""
    if root.get("fmiVersion") == "1.0":
        return
    variables = [node for node in root.iterfind("ModelVariables/*") if node.get("name") is not None]
    by_index = root.get("fmiVersion") == "2.0"
    key = "index" if by_index else "valueReference"
    numbers = map(str, range(1, len(variables) + 1)) if by_index else (_plain(one.get(key)) for one in variables)
    known = dict(zip(numbers, (str(one.get("name")) for one in variables), strict=True))
    seen: dict[str, str] = {}
    for node in list(root.iterfind("ModelStructure/*/Unknown" if by_index else "ModelStructure/*")):
        yield from _of_entry(node, key, known, seen)
    for node in root.iterfind("ModelVariables//*[@derivative]"):
        if _plain(node.get("derivative")) not in known:
            yield _read_as(node, "derivative", "is not a variable", None)
    for node in root.iterfind("ModelVariables/*[@clocks]"):
        if any(_plain(one) not in known for one in node.get("clocks", "").split()):
            yield _read_as(node, "clocks", "names a variable that does not exist", None)


def _of_entry(
    node: etree._Element, key: str, known: Mapping[str, str], seen: dict[str, str]
) -> Iterator[DescriptionProblem]:
    """Problem of an entry of the model structure whose variable or dependencies are not in `known`; `seen` caches lists
    of dependencies, which many entries share.
    """
    parent = node.getparent()
    assert parent is not None
    place = str(node.tag) if parent.tag == "ModelStructure" else f"{parent.tag}/{node.tag}"
    name = known.get(_plain(node.get(key)))
    if name is None:
        told = f'<{place}>: there is no variable of {key}="{node.get(key)}"; the entry is left out'
        yield DescriptionProblem(source_line(node), told)
        parent.remove(node)
        return
    if missing := _missing(node.get("dependencies", ""), known, seen):
        told = f'<{place}> of variable "{name}": there is no variable of {key}="{missing}" in its dependencies; '
        yield DescriptionProblem(source_line(node), f"{told}read as one that depends on all")
        for one in {"dependencies", "dependenciesKind"} & set(node.keys()):
            del node.attrib[one]


def _missing(stated: str, known: Mapping[str, str], seen: dict[str, str]) -> str:
    """The first unknown reference; empty if all are known."""
    if stated not in seen:
        seen[stated] = next((one for one in stated.split() if one not in known and _plain(one) not in known), "")
    return seen[stated]


def _plain(text: str | None) -> str:
    """A number without leading zeros, for comparing references."""
    plain = (text or "").strip()
    return str(int(plain)) if plain.isascii() and plain.isdecimal() else plain
