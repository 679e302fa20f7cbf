"""Rules on units and enumerations."""

import math
from collections import Counter
from collections.abc import Iterator

from ssptool.documents import ssc, ssd, ssv
from ssptool.documents.element import Element
from ssptool.fmu.description import FmuDescription
from ssptool.fmu.units import PhysicalUnit, unit_of_name, without_brackets
from ssptool.rules.catalogue import (
    DERIVED,
    ERROR,
    INFO,
    MUST,
    POLICY,
    TEXT,
    WARNING,
    Chapter,
    Define,
    Finding,
    Fix,
    near,
    renamed,
    repeats,
    rewritten,
    without,
)
from ssptool.rules.connections import against
from ssptool.rules.links import alike
from ssptool.rules.subjects import WITH_UNITS, Structure, container, every, first, remembered

_WITH_UNIT: tuple[type[Element], ...] = (
    *(ssc.Real, ssc.Float64, ssc.Float32),
    *(ssv.Real, ssv.Float64, ssv.Float32),
)
UNITS = Chapter("Units (SSP 2.0 §4.4.2, §5.3.2)", section="SSP 2.0 §4.4.2")


@UNITS.rule("UNIT-001", severity=ERROR, basis=MUST)
def distinct_units(root: ssc.TopLevel, structure: Structure) -> Iterator[Finding]:
    """The units of a document have different names.

    Types refer to them by name.

    Fix: delete one of them, or rename it if it differs.

    Accepted: the first unit of a name counts.
    """
    first: dict[str, ssc.Unit] = {}
    for unit in getattr(root, "units", ()):
        other = first.setdefault(unit.name, unit)
        if other is not unit:
            yield Finding(unit, f"there are two units '{unit.name}'", "", "name", fix=repeats(unit, other))


@UNITS.rule("UNIT-002", severity=ERROR, basis=MUST, source="SSP 2.0 §4.4.2, §4.5.1, §6.2")
def known_units(root: ssc.TopLevel, structure: Structure) -> Iterator[Finding]:
    """A unit that a type names is defined in the same document.

    Each document stands for itself: a parameter set does not see the units of the system structure. Without the
    definition values cannot be converted. An empty unit means no unit (a warning). A unit with a plain name, such as
    `mm` or `N.m/rad`, is converted as its name says (a warning as well).

    Fix: add it to the `Units` of the document, or correct the name.

    Accepted: only the name of the unit is known, so values pass unchanged to a unit of the same name.
    """
    known = structure.units(root)
    for use in every(root, *_WITH_UNIT):
        unit = use.get("unit")
        if unit == "" and container(use) is root:
            message = "the unit is empty; it is read as no unit"
            yield Finding(use, message, "remove the attribute", "unit", WARNING, without(use, "unit"))
        elif unit is not None and unit not in known and container(use) is root:
            yield _undefined(use, unit, root, structure)


@UNITS.rule("UNIT-004", severity=ERROR, basis=DERIVED, blocks_run=True)
def usable_factors(base: ssc.BaseUnit, structure: Structure) -> Iterator[Finding]:
    """The factor of a unit is finite and not zero, its offset is finite.

    A value v is `factor * v + offset` in base units. With any other numbers the conversion cannot be inverted.

    Fix: correct the number.
    """
    if base.factor == 0 or not math.isfinite(base.factor):
        yield Finding(base, f"the factor is {base.factor:g}", "it is finite and not zero", "factor")
    if not math.isfinite(base.offset):
        yield Finding(base, f"the offset is {base.offset:g}", "it is finite", "offset")


@UNITS.rule("UNIT-006", severity=ERROR, basis=DERIVED, source="SSP 2.0 §5.3.2; FMI 3.0 §2.4.4")
def convertible_units(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """The units of the two ends of a connection measure the same quantity.

    A value in metres means nothing in seconds: the exponents of the base units have to agree. The unit of an end is
    the one that its connector states, else that of the FMU's variable.

    Fix: connect other connectors, correct a unit, or set `suppressUnitConversion` to pass the number unchanged.

    Accepted: the value passes as it is, without conversion.
    """
    yield from against("UNIT-006", system, structure)


@UNITS.rule("UNIT-008", severity=INFO, basis=POLICY, source="SSP 2.0 §4.5.1; FMI 3.0")
def units_at_both_ends(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """Both ends of a connection have a unit, or neither has.

    Otherwise the value passes unchanged, whatever unit the other end assumes.

    Fix: state the unit at both ends.
    """
    for same in alike(system, structure):
        start, end = same[0].start.carried, same[0].end.carried
        if same[0].flow is None or (start.unit is None) is (end.unit is None):
            continue
        for link in same:
            having, other = (link.start, link.end) if end.unit is None else (link.end, link.start)
            unit = having.carried.unit
            if unit is not None and other.carried.floating and other.side.says.unit is None:
                yield Finding(link.connection, f"{having} is in '{unit.name}', {other} has no unit")


@UNITS.rule("UNIT-102", severity=WARNING, basis=DERIVED, source="FMI 2.0.4 §2.2.3; FMI 3.0 §2.4.4, relativeQuantity")
def differences_and_values(system: ssd.System, structure: Structure) -> Iterator[Finding]:
    """A difference of temperatures is not connected to an absolute temperature, nor the other way round.

    The zero of a temperature depends on its unit: 5 K are 5 °C as a difference, but −268.15 °C as a temperature. FMI
    marks differences with `relativeQuantity`. Between a difference and a value the number passes without the offset
    of the units.

    Fix: connect values of one kind, or add the reference temperature with a LinearTransformation.
    """
    yield from against("UNIT-102", system, structure)


@UNITS.rule("UNIT-009", severity=WARNING, basis=DERIVED, source="SSP 2.0 §4.4")
def same_units_by_name(structure: Structure) -> Iterator[Finding]:
    """A unit name means the same in all documents of a system.

    Each document defines its own units, and conversions go by the definitions; a name with two meanings misleads
    people, and tools that compare names.

    Fix: correct the definition that is wrong, or rename it.
    """
    known: dict[str, tuple[str, PhysicalUnit]] = {}
    for root in structure.documents():
        if not isinstance(root, WITH_UNITS):
            continue
        file = root.document_name
        for name, unit in structure.units(root).items():
            element = next(one for one in root.units if one.name == name)
            other_file, other = known.setdefault(name, (file, unit))
            if unit != other:
                yield Finding(
                    element,
                    f"'{name}' is {unit.in_base_units} here, but {other.in_base_units} in {other_file}",
                    "",
                    "name",
                )


def _undefined(use: Element, name: str, root: ssc.TopLevel, structure: Structure) -> Finding:
    """Finding on an undefined unit. The fix adds the only definition in other documents, or the one that follows from
    its name.
    """
    known, told = structure.units(root), unit_of_name(name)
    meant = _meanings(name, structure) or ([] if told is None else [told])
    message = f"the unit '{name}' is not defined in this document"
    fix = renamed(use, "unit", known)
    plain = without_brackets(name)
    if plain in known and told is not None and told[1:4] == known[plain][1:4]:
        fix = rewritten(use, "unit", plain)
    elif len(meant) == 1 and (fix is None or not fix.safe):
        certain = told is None or told[1:] == meant[0][1:]
        fix = Fix((Define(use, root, meant[0]),), safe=certain)
    advice = near(name, known) or "define it in the Units of this document"
    if told is None:
        return Finding(use, message, advice, "unit", fix=fix)
    advice = "define it in the Units of this document" if plain not in known else f"write '{plain}'"
    return Finding(use, f"{message}; it is read by its name as {told.in_base_units}", advice, "unit", WARNING, fix)


@remembered
def _meanings(name: str, structure: Structure) -> list[PhysicalUnit]:
    """The different definitions of a unit in the FMUs and the other documents of a system."""
    fmus = (fmu.units for fmu in structure.fmus.values() if isinstance(fmu, FmuDescription))
    documents = (structure.units(root) for root in structure.documents())
    found = [units[name] for units in (*documents, *fmus) if name in units and units[name].defined]
    return list(dict.fromkeys(found))


_NAMING: tuple[type[Element], ...] = (ssc.Enumeration, ssv.Enumeration)
ENUMERATIONS = Chapter("Enumerations (SSP 2.0 §4.4.1)", section="SSP 2.0 §4.4.1")


@ENUMERATIONS.rule("ENUM-001", severity=ERROR, basis=MUST)
def distinct_enumerations(root: ssc.TopLevel, structure: Structure) -> Iterator[Finding]:
    """The enumerations of a document have different names.

    Types refer to them by name.

    Fix: rename one of them, or delete it if they are the same.

    Accepted: the first enumeration of that name counts.
    """
    first: dict[str, ssc.Enumeration] = {}
    for enumeration in getattr(root, "enumerations", ()):
        other = first.setdefault(enumeration.name, enumeration)
        if other is not enumeration:
            message = f"there are two enumerations '{enumeration.name}'"
            yield Finding(enumeration, message, "", "name", fix=repeats(enumeration, other))


@ENUMERATIONS.rule("ENUM-002", severity=ERROR, basis=MUST, source="SSP 2.0 §4.4.1, §4.5.1")
def known_enumerations(root: ssc.TopLevel, structure: Structure) -> Iterator[Finding]:
    """An enumeration that a type names is defined in the same document.

    Each document stands for itself: a parameter set does not see the enumerations of the system structure. At the
    connector of an enumeration of an FMU it is a warning: the items of the FMU's variable count.

    Fix: add it to the `Enumerations` of the document, or correct the name.

    Accepted: the items of the FMU's variable count.
    """
    known = {enumeration.name for enumeration in getattr(root, "enumerations", ())}
    for use in every(root, *_NAMING):
        name = use.get("name")
        defines = first(use, ssc.EnumerationItem) is not None
        if name is not None and name not in known and not defines and container(use) is root:
            advice = near(name, known) or "define it in the Enumerations of this document"
            message = f"the enumeration '{name}' is not defined in this document"
            severity = None
            if _has_items(use, structure):
                message, severity = f"{message}; the items of the FMU's variable count", WARNING
            yield Finding(use, message, advice, "name", severity, renamed(use, "name", known))


def _has_items(use: Element, structure: Structure) -> bool:
    """True if an enumeration belongs to a connector whose variable in the FMU has items."""
    connector = use.getparent()
    holder = None if connector is None else connector.getparent()
    component = None if holder is None else holder.getparent()
    if not isinstance(connector, ssd.Connector) or not isinstance(component, ssd.Component):
        return False
    fmu = structure.fmu_of(component)
    variable = None if fmu is None else fmu.variables.get(connector.name)
    return variable is not None and bool(variable.items)


@ENUMERATIONS.rule("ENUM-004", severity=WARNING, basis=DERIVED, source="SSP 2.0 §4.4.1, FMI 3.0 §2.4.5")
def distinct_item_names(enumeration: ssc.Enumeration, structure: Structure) -> Iterator[Finding]:
    """The items of an enumeration have different names.

    Parameter values refer to items by name.

    Fix: rename one of them.
    """
    names = Counter(item.name for item in enumeration.items)
    for item in enumeration.items:
        if names[item.name] > 1:
            yield Finding(item, f"{names[item.name]} items are named '{item.name}'", "", "name")


@ENUMERATIONS.rule("ENUM-005", severity=WARNING, basis=DERIVED, source="SSP 2.0 §4.4.1, FMI 3.0 §2.4.5")
def distinct_item_values(enumeration: ssc.Enumeration, structure: Structure) -> Iterator[Finding]:
    """The items of an enumeration have different values.

    An FMU receives only the value, so it cannot distinguish two items with the same value.

    Fix: number them as the FMU does.
    """
    values = Counter(item.value for item in enumeration.items)
    for item in enumeration.items:
        if values[item.value] > 1:
            yield Finding(item, f"{values[item.value]} items have the value {item.value}", "", "value")


@ENUMERATIONS.rule("ENUM-006", severity=INFO, basis=TEXT, source="SSP 2.0 §4.4")
def same_enumerations_by_name(structure: Structure) -> Iterator[Finding]:
    """The name of an enumeration means the same in all documents of a system.

    Each document defines its own, so different definitions are legal; the target decides what a value means.

    Fix: correct the definition that is wrong, or rename it.
    """
    known: dict[str, tuple[str, dict[str, int]]] = {}
    for root in structure.documents():
        file = root.document_name
        for enumeration in getattr(root, "enumerations", ()):
            items = {item.name: item.value for item in enumeration.items}
            other_file, other = known.setdefault(enumeration.name, (file, items))
            if items != other:
                found = f"'{enumeration.name}' has other items in {other_file}"
                yield Finding(enumeration, found, ", ".join(f"{name}={value}" for name, value in other.items()), "name")
