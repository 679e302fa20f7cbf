"""Rules on parameter bindings, parameter sets and parameter mappings."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ssptool.documents import ssd, ssm, ssv
from ssptool.documents.element import Element
from ssptool.documents.vocabulary import PARAMETER_MAPPING, PARAMETER_SET, rounded_text
from ssptool.fmu.description import fixed_shape
from ssptool.fmu.units import PhysicalUnit
from ssptool.network.connectors import settable
from ssptool.network.conversion import InvalidValue, allowed, bounds_text, conversion, convert, convertible, transformed
from ssptool.rules.bindings import ParameterTarget, ParameterUse, uses, variables_of
from ssptool.rules.catalogue import (
    DERIVED,
    ERROR,
    INFO,
    MUST,
    POLICY,
    TEXT,
    WARNING,
    Chapter,
    Finding,
    deleted,
    near,
    repeats,
)
from ssptool.rules.links import enumeration_items
from ssptool.rules.subjects import Structure, around, container, content, wrong_content, wrong_number

BINDINGS = Chapter("Parameter bindings (SSP 2.0 §5.2.3)", section="SSP 2.0 §5.2.3")


@BINDINGS.rule("SSD-PAR-001", severity=ERROR, basis=MUST)
def one_place_of_values(binding: ssd.ParameterBinding, structure: Structure) -> Iterator[Finding]:
    """The values of a parameter binding are either written inline or named by `source`.

    Fix: remove the attribute or the `ParameterValues`, or add one of them.

    Accepted: the file that `source` names counts; with neither the binding is left out.
    """
    inline: list[Element] = [] if binding.parameter_values is None else [binding.parameter_values]
    yield from wrong_number(binding, binding.source, inline, "the binding")


@BINDINGS.rule("SSD-PAR-002", severity=ERROR, basis=MUST, source="SSP 2.0 §5.2.3.1")
def inline_values(binding: ssd.ParameterBinding, structure: Structure) -> Iterator[Finding]:
    """Inline parameter values are one `ssv:ParameterSet`.

    Parameters do not stand in the SSD directly.

    Fix: put an `ssv:ParameterSet` with `version` and `name` around them.

    Accepted: any other content is left out.
    """
    values = binding.parameter_values
    if values is not None and binding.type == PARAMETER_SET:
        yield from wrong_content(values, content(values), ssv.ParameterSet)
        if not content(values):
            yield Finding(values, "there are no values", "add a ParameterSet, or delete the binding")


@BINDINGS.rule("SSD-PAR-003", severity=ERROR, basis=MUST, source="SSP 2.0 §5.2.3.2")
def one_place_of_mapping(mapping: ssd.ParameterMapping, structure: Structure) -> Iterator[Finding]:
    """A parameter mapping is either written inline or named by `source`.

    Fix: remove the attribute or the content; without a mapping remove the element.

    Accepted: the file that `source` names counts; with neither the binding is left out.
    """
    yield from wrong_number(mapping, mapping.source, content(mapping), "the mapping")


@BINDINGS.rule("SSD-PAR-004", severity=ERROR, basis=MUST, source="SSP 2.0 §5.2.3.2")
def inline_mapping(mapping: ssd.ParameterMapping, structure: Structure) -> Iterator[Finding]:
    """An inline parameter mapping is one `ssm:ParameterMapping`.

    Mapping entries do not stand in the SSD directly.

    Fix: put an `ssm:ParameterMapping` with its `version` around them.

    Accepted: a binding with any other content in its mapping is left out.
    """
    if mapping.type == PARAMETER_MAPPING and mapping.source is None:
        yield from wrong_content(mapping, content(mapping), ssm.ParameterMapping)


@BINDINGS.rule("SSD-PAR-005", severity=ERROR, basis=DERIVED, blocks_run=True)
def base_component(structure: Structure) -> Iterator[Finding]:
    """`sourceBase="component"` needs a component with a `source`.

    The file is read from inside the archive of the component.

    Fix: write `sourceBase="SSD"`, or leave it out.
    """
    for element in structure.bindings_and_mappings():
        owner = next(around(element, ssd.SystemElement))
        based = element.source_base is ssd.SourceBase.COMPONENT
        if based and not (isinstance(owner, ssd.Component) and owner.source):
            yield Finding(element, f"'{owner.name}' is not a component with a source", "", "sourceBase")


@BINDINGS.rule("SSD-PAR-006", severity=WARNING, basis=TEXT, source="SSP 2.0 §2.1.4, §5.2.3")
def supported_formats(structure: Structure) -> Iterator[Finding]:
    """Parameters and mappings are in the formats of SSP.

    Other formats are allowed between tools that agree on them; ssptool skips such a binding.

    Fix: convert the file to an SSV or SSM; or correct the type.
    """
    for element in structure.bindings_and_mappings():
        known = PARAMETER_SET if isinstance(element, ssd.ParameterBinding) else PARAMETER_MAPPING
        if element.type != known:
            yield Finding(element, f"the type '{element.type}' is not supported: skipped", f"use {known}", "type")


@BINDINGS.rule("SSD-PAR-010", severity=WARNING, basis=TEXT)
def local_names(structure: Structure) -> Iterator[Finding]:
    """The names in a binding are relative to the element that has the binding.

    In a binding of component `C` the parameter is `k`; `C.k` would mean a component `C` inside `C`.

    Fix: leave out the name of the element, or move the binding to the system around it.
    """
    for use in uses(structure):
        if rest := _meant_inside(use, structure):
            message = f"'{use.name}' matches no variable: names in a binding of '{use.owner.name}' start inside it"
            yield Finding(_place(use), message, f"write '{rest}'", _attribute(use))


@BINDINGS.rule("SSD-PAR-017", severity=ERROR, basis=TEXT)
def settable_in_fmi1(structure: Structure) -> Iterator[Finding]:
    """A parameter sets a variable of an FMI 1.0 FMU only if it is an input or has a start value.

    The FMU calculates all other variables.

    Fix: delete the parameter, or name another variable.

    Accepted: the value is left out.
    """
    for use, target in _of_fmi(structure, "1."):
        variable = target.variable
        if variable is not None and variable.causality not in ("input", "parameter") and variable.start is None:
            yield Finding(_place(use), f"{target} is calculated by its FMU", "", _attribute(use))


@BINDINGS.rule("SSD-PAR-018", severity=ERROR, basis=TEXT)
def settable_in_fmi23(structure: Structure) -> Iterator[Finding]:
    """A parameter sets only variables that can be set before initialization.

    In FMI 2.0 and 3.0 these are inputs, and variables with `initial` exact or approx that are not constant. The FMU
    calculates all other variables, so a value for one of them is one start value too many: for example a position, a
    velocity, and the acceleration that follows from both.

    Fix: delete the parameter, or name the variable that the FMU calculates this one from.

    Accepted: the value is left out.
    """
    found = [
        (use, target, target.variable)
        for use, target in _of_fmi(structure, "2.", "3.")
        if target.variable is not None and not settable(target.variable)
    ]
    if not found:
        return
    # Other variants may use the file as well.
    alone = sum(name.endswith(".ssd") for name in structure.archive.names()) == 1
    needed = {_place(use) for use in uses(structure) if not use.targets or any(map(_takes_value, use.targets))}
    for use, target, variable in found:
        why = "is constant" if variable.variability == "constant" else "is calculated by its FMU"
        message, place = f"{target} {why}: its value cannot be set", _place(use)
        fix = None if place in needed else deleted(place, safe=place.position.file == structure.file.name or alone)
        yield Finding(place, message, _origin(target) or "leave it out", _attribute(use), fix=fix)


@BINDINGS.rule("SSD-PAR-021", severity=ERROR, basis=MUST)
def suitable_values(structure: Structure) -> Iterator[Finding]:
    """The value of a parameter suits its target: in shape, in type, in range, and in unit.

    An array takes an array with the same dimensions. Integers are converted to real numbers, and to integers of another
    width if they fit; no other types are converted. Units must measure the same quantity. A value outside the limits
    that the FMU states is a warning.

    Fix: correct the value, its type or its unit.

    Accepted: the value is left out.
    """
    for use in uses(structure):
        for target in use.targets:
            yield from _shaped(use, target) or _suits(use, target, structure)


@BINDINGS.rule("SSD-PAR-022", severity=ERROR, basis=TEXT, source="SSP 2.0 §6.2")
def known_items(structure: Structure) -> Iterator[Finding]:
    """The value of an enumeration parameter is an item of its target's enumeration.

    Items are matched by name; the values in the parameter set's own enumeration do not count.

    Fix: write the name of an item that the FMU has.

    Accepted: the value is left out.
    """
    for use in uses(structure):
        for target in use.targets:
            value, items = use.parameter.value, target.carried.items
            mapped = use.entry is not None and use.entry.transformation is not None
            both = use.parameter.type_name == target.carried.type == "Enumeration"
            if both and items and not mapped and isinstance(value, str) and value not in items:
                yield Finding(_value_place(use), f"{target} has no item '{value}'", near(value, items), "value")


@BINDINGS.rule("UNIT-101", severity=INFO, basis=POLICY, source="SSP 2.0 §6.2; FMI 3.0")
def units_at_both_sides(structure: Structure) -> Iterator[Finding]:
    """A parameter has a unit only if its target has one.

    Otherwise the number passes unchanged, whatever unit the target assumes (an information): 20 mH become 20, where the
    model may mean 20 H. With a unit that is another number in SI units, the number is probably wrong (a warning).

    Fix: give the number in the unit that the model means, without a unit; or state the variable's unit at a connector.
    """
    for use in uses(structure):
        given, entry = _unit(use, structure), use.entry
        on_purpose = entry is not None and (entry.suppress_unit_conversion or entry.transformation is not None)
        if given is None or on_purpose:
            continue
        for target in use.targets:
            if target.carried.floating and target.carried.unit is None:
                message = f"the value is in '{given.name}', {target} has no unit: the number passes unchanged"
                advice = "give it in the unit that the model means, without a unit"
                yield Finding(_value_place(use), message, advice, "unit", WARNING if given.changes_numbers else INFO)


@BINDINGS.rule("SSD-PAR-023", severity=INFO, basis=POLICY, source="SSP 2.0 §5.2.3, §6.2: such parameters are ignored")
def known_parameters(structure: Structure) -> Iterator[Finding]:
    """The name of a parameter matches a variable or connector.

    SSP ignores a parameter that matches nothing, so one large set can serve many systems (an information). If the name
    starts with that of an element of this system, but the element has no such variable, the name is probably wrong (a
    warning).

    Fix: correct the name, or delete the parameter.
    """
    for use in uses(structure):
        if use.entry is None and use.parameter.name.strip() and _matches_nothing(use, structure):
            yield _unmatched(use)


@BINDINGS.rule("SSM-004", severity=WARNING, basis=DERIVED, source="SSP 2.0 §5.2.3, §7.1.1")
def known_mapping_targets(structure: Structure) -> Iterator[Finding]:
    """The target of a mapping entry matches a variable or connector.

    Otherwise the entry has no effect, and the value is not applied: SSP ignores it. An entry, unlike a parameter of a
    set that serves many systems (SSD-PAR-023), is written for the names of one.

    Fix: correct the target, or delete the entry.
    """
    for use in uses(structure):
        if use.entry is not None and use.name.strip() and _matches_nothing(use, structure):
            yield _unmatched(use)


@BINDINGS.rule("SSM-003", severity=WARNING, basis=DERIVED, source="SSP 2.0 §7.1.1")
def known_mapping_sources(structure: Structure) -> Iterator[Finding]:
    """The source of a mapping entry is a parameter of the set that it is used with, prefix included.

    Otherwise the entry has no effect.

    Fix: correct the name; if the binding has a `prefix`, put that before it.
    """
    for binding in structure.all(ssd.ParameterBinding):
        parameters = structure.parameter_set_of(binding)
        mapping = binding.parameter_mapping
        renaming = None if mapping is None else structure.mapping_of(mapping)
        if parameters is not None and renaming is not None:
            names = {binding.prefix + parameter.name for parameter in parameters.parameters}
            for entry in renaming.entries:
                if entry.source not in names and entry.source.strip():  # otherwise a finding of SSM-006
                    message = f"the parameter set has no parameter '{entry.source}'"
                    yield Finding(entry, message, near(entry.source, names), "source")


@BINDINGS.rule("SSD-PAR-024", severity=WARNING, basis=POLICY, source="SSP 2.0 §5.2.3 and §5.3.2 do not say which wins")
def not_set_and_connected(structure: Structure) -> Iterator[Finding]:
    """A parameter does not set a variable that takes its value from a connection.

    In ssptool the connection wins; the parameter is the first guess if the connection is part of an algebraic loop.
    Other tools may differ.

    Fix: delete the parameter or the connection.
    """
    for use in uses(structure):
        for target in use.targets:
            if target.connected:
                message = f"{target} takes its value from a connection, but the parameter '{use.name}' sets it too"
                yield Finding(_place(use), message, "", _attribute(use))


def _place(use: ParameterUse) -> Element:
    return use.parameter if use.entry is None else use.entry


def _meant_inside(use: ParameterUse, structure: Structure) -> str:
    """The name relative to the owner of a binding, if the binding repeats the owner's name before it; otherwise
    empty.
    """
    outer = use.owner.name + "."
    if use.targets or not use.judged or not use.name.startswith(outer):
        return ""
    rest = use.name[len(outer) :]
    return rest if rest in variables_of(use.owner, structure) else ""


def _matches_nothing(use: ParameterUse, structure: Structure) -> bool:
    """True if a name has no target for a reason that no other rule reports (SSD-PAR-010)."""
    return use.judged and not use.targets and not _meant_inside(use, structure)


def _value_place(use: ParameterUse) -> Element:
    return use.parameter.type if use.parameter.type is not None else use.parameter


def _attribute(use: ParameterUse) -> str:
    return "name" if use.entry is None else "target"


def _takes_value(target: ParameterTarget) -> bool:
    return target.variable is None or settable(target.variable)


def _origin(target: ParameterTarget) -> str:
    """Advice on variables to set instead, if the FMU declares the variables from which a value is calculated."""
    known = sorted(target.follows_from or ())
    if not known:
        return ""
    return f"it follows from {', '.join(known)}: set those, and leave {target.name} out"


def _of_fmi(structure: Structure, *versions: str) -> Iterator[tuple[ParameterUse, ParameterTarget]]:
    for use in uses(structure):
        for target in use.targets:
            if target.fmi.startswith(versions):
                yield use, target


def _unmatched(use: ParameterUse) -> Finding:
    if use.addressed is None:
        message = f"'{use.name}' matches no variable or connector of '{use.owner.name}': ignored"
        advice = near(use.name.partition(".")[0], use.offered)
        return Finding(_place(use), message, advice, _attribute(use))
    message = f"'{use.addressed.name}' has no parameter '{use.rest}'"
    return Finding(_place(use), message, near(use.rest, use.offered), _attribute(use), WARNING)


def _shaped(use: ParameterUse, target: ParameterTarget) -> tuple[Finding, ...]:
    """Finding on a value with another shape than its variable; shapes of variable size are not compared."""
    if target.variable is None:
        return ()
    stated, own = [dimension.size for dimension in use.parameter.dimensions], fixed_shape(target.variable)
    sizes = zip(stated, own, strict=False)
    if len(stated) == len(own) and all(a == b for a, b in sizes if a is not None and b is not None):
        return ()
    found, wanted = ("[" + ", ".join("?" if n is None else str(n) for n in shape) + "]" for shape in (stated, own))
    message = f"{target} is {wanted if own else 'a scalar'}, the value is {found if stated else 'a scalar'}"
    return (Finding(use.parameter, message, "give it the dimensions of the variable"),)


def _suits(use: ParameterUse, target: ParameterTarget, structure: Structure) -> Iterator[Finding]:
    """Finding on a value that does not fit, or on the first wrong element of an array."""
    value = use.parameter.value
    for each in value if isinstance(value, tuple) else (value,):
        findings = list(_suits_one(use, target, each, structure))
        if findings:
            yield from findings
            return


def _suits_one(use: ParameterUse, target: ParameterTarget, value: Any, structure: Structure) -> Iterator[Finding]:
    if value is None or target.carried.type is None:
        return
    converts = use.entry is None or not use.entry.suppress_unit_conversion
    given = _unit(use, structure)
    if converts and given is not None and target.carried.unit is not None:
        if not convertible(given, target.carried.unit):
            message = f"the value is in '{given.name}', {target} in '{target.carried.unit.name}'"
            yield Finding(_value_place(use), message, "these units cannot be converted", "unit")
            return
        if isinstance(value, float):
            value = conversion(given, target.carried.unit, target.carried.relative is True)(value)
    if use.entry is not None and use.entry.transformation is not None:
        value, _ = transformed(value, use.entry.transformation, _source_items(use) or target.carried.items or {})
    if target.carried.type == "Enumeration" and isinstance(value, str):
        return
    try:
        value = convert(str(target), value, target.carried.type, target.carried.items or {})
    except InvalidValue as problem:
        message = f"{target} is {target.carried.type} and cannot be {problem.found!r} ({use.parameter.type_name})"
        yield Finding(_value_place(use), message, f"expected {problem.expected}", "value")
        return
    yield from _within_limits(use, target, value)


def _within_limits(use: ParameterUse, target: ParameterTarget, value: object) -> Iterator[Finding]:
    variable = target.variable
    if variable is None or isinstance(value, bool) or not isinstance(value, int | float):
        return
    bounds = (variable.minimum, variable.maximum)
    if not allowed(value, bounds):
        message = f"{target} = {rounded_text(value, 6)} is outside the FMU's limits {bounds_text(bounds)}"
        yield Finding(_value_place(use), message, "", "value", WARNING)


def _unit(use: ParameterUse, structure: Structure) -> PhysicalUnit | None:
    return structure.unit(container(use.parameter), use.parameter.unit)


def _source_items(use: ParameterUse) -> Mapping[str, int]:
    name = use.parameter.type.name if isinstance(use.parameter.type, ssv.Enumeration) else None
    return {} if name is None else enumeration_items(container(use.parameter), name) or {}


PARAMETER_SETS = Chapter("Parameter sets (SSP 2.0 §6)")


@PARAMETER_SETS.rule("SSV-001", severity=ERROR, basis=MUST, source="SSP 2.0 §6.2")
def distinct_parameters(parameters: ssv.ParameterSet, structure: Structure) -> Iterator[Finding]:
    """The parameters of a set have different names.

    Two values for one name are ambiguous.

    Fix: delete one of them.

    Accepted: the last parameter of a name counts.
    """
    first: dict[str, ssv.Parameter] = {}
    for parameter in parameters.parameters:
        other = first.setdefault(parameter.name, parameter)
        if other is not parameter:
            line = other.position.line
            message = f"line {line} already has a parameter '{parameter.name}'"
            yield Finding(parameter, message, "delete one of them", "name")


@PARAMETER_SETS.rule("SSV-004", severity=ERROR, basis=DERIVED, source="SSP 2.0 §6.2", versions=["2.0"])
def as_many_values(parameter: ssv.Parameter, structure: Structure) -> Iterator[Finding]:
    """A parameter has as many values as the product of its dimensions, or one without dimensions.

    Fix: add or delete values, or correct the dimensions.

    Accepted: the parameter is left out.
    """
    if isinstance(parameter.type, ssv.Numbers):
        sizes = [dimension.size for dimension in parameter.dimensions]
        wanted, found = math.prod(size or 0 for size in sizes), len(parameter.type.entries)
        if None not in sizes and wanted != found:
            yield Finding(parameter.type, f"found {found} values, expected {wanted} from the dimensions", "", "value")


@PARAMETER_SETS.rule("SSV-005", severity=ERROR, basis=MUST, source="SSP 2.0 §6.2")
def one_form_of_texts(parameter: ssv.Parameter, structure: Structure) -> Iterator[Finding]:
    """A text, enumeration or binary parameter has its value in the attribute or in `Value` elements, not in both.

    With neither, it has no value.

    Fix: keep one of them.

    Accepted: the `Value` elements count; without any value the parameter is left out.
    """
    if isinstance(parameter.type, ssv.Texts):
        attribute = parameter.type.get("value") is not None
        elements = bool(parameter.type.items_in_children)
        empty_array = any(dimension.size == 0 for dimension in parameter.dimensions)
        if attribute and elements:
            yield Finding(parameter.type, "the value is in the attribute and in Value elements", "", "value")
        elif not attribute and not elements and not empty_array:
            yield Finding(parameter.type, f"'{parameter.name}' has no value", "add the attribute 'value'")


@PARAMETER_SETS.rule("SSV-006", severity=ERROR, basis=MUST, source="SSP 2.0 §6.2", versions=["2.0"])
def texts_of_arrays(parameter: ssv.Parameter, structure: Structure) -> Iterator[Finding]:
    """The texts, items or binaries of an array stand in `Value` elements, as many as the dimensions say.

    An attribute cannot hold several texts, because a text may contain blanks.

    Fix: write one `ssv:Value` for each.

    Accepted: the parameter is left out.
    """
    if isinstance(parameter.type, ssv.Texts):
        sizes = [dimension.size for dimension in parameter.dimensions]
        wanted, found = math.prod(size or 0 for size in sizes), len(parameter.type.entries)
        if None not in sizes and found and wanted != found:
            yield Finding(parameter.type, f"found {found} values, expected {wanted} from the dimensions")


@PARAMETER_SETS.rule("SSV-008", severity=WARNING, basis=TEXT, source="SSP 2.0 §6.2")
def values_are_items(parameter: ssv.Parameter, structure: Structure) -> Iterator[Finding]:
    """The value of a parameter that names its enumeration is one of the items.

    Fix: write the name of an item.
    """
    if isinstance(parameter.type, ssv.Enumeration) and parameter.type.name is not None:
        parameters = next(around(parameter, ssv.ParameterSet))
        for enumeration in parameters.enumerations:
            if enumeration.name == parameter.type.name:
                items = [item.name for item in enumeration.items]
                for value in parameter.type.entries:
                    if value not in items:
                        message = f"'{value}' is not an item of '{enumeration.name}'"
                        yield Finding(parameter.type, message, near(value, items), "value")


@PARAMETER_SETS.rule("SSV-009", severity=WARNING, basis=POLICY, source="SSP 2.0 §6.2; the schema admits an empty name")
def named_parameters(parameter: ssv.Parameter, structure: Structure) -> Iterator[Finding]:
    """The name of a parameter is not empty.

    An empty name matches nothing, unless the binding has a prefix.

    Fix: write the name of a variable.
    """
    if not parameter.name.strip():
        yield Finding(parameter, "the name of the parameter is empty", "", "name")


MAPPINGS = Chapter("Parameter mappings (SSP 2.0 §7)")


@MAPPINGS.rule("SSM-001", severity=ERROR, basis=MUST, source="SSP 2.0 §7.1")
def distinct_targets(mapping: ssm.ParameterMapping, structure: Structure) -> Iterator[Finding]:
    """The entries of a mapping have different targets.

    Two values for one target are ambiguous. One source may have several targets.

    Fix: delete one of the entries.

    Accepted: the last entry of the target counts.
    """
    first: dict[str, ssm.MappingEntry] = {}
    for entry in mapping.entries:
        other = first.setdefault(entry.target, entry)
        if other is not entry:
            message = f"'{other.source}' in line {other.position.line} has the target '{entry.target}' too"
            yield Finding(entry, message, "delete one of the entries", "target", fix=repeats(entry, other))


@MAPPINGS.rule("SSM-006", severity=WARNING, basis=POLICY, source="SSP 2.0 §7.1.1; the schema admits empty names")
def filled_entries(entry: ssm.MappingEntry, structure: Structure) -> Iterator[Finding]:
    """Source and target of a mapping entry are not empty.

    An empty name matches nothing; perhaps a template was not filled in.

    Fix: write the names.
    """
    for attribute, name in (("source", entry.source), ("target", entry.target)):
        if not name.strip():
            yield Finding(entry, f"the {attribute} is empty", "", attribute)
