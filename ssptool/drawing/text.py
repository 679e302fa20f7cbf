"""Explanations and inventories of systems as text and JSON."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from ssptool.documents.diagnostics import Position
from ssptool.errors import counted
from ssptool.fmu.description import Value
from ssptool.fmu.units import with_unit
from ssptool.foreign_text import joined_lines, json_text
from ssptool.network.explanation import (
    Explained,
    Explanation,
    Explanations,
    ExplanationTable,
    Origin,
    UnresolvedEnd,
    origin_text,
    quantity,
)
from ssptool.network.inventory import ComponentEntry, InsideEntry, Inventory, VariableEntry
from ssptool.network.network import (
    IDENTITY,
    Assignment,
    Conversion,
    Leg,
    ProvenanceStep,
    Signal,
    StepKind,
    Unmatched,
    Wire,
)
from ssptool.network.parameter_table import ParameterTable, range_text
from ssptool.printed import prints


@prints(Explanations)
def explanations_text(explained: Sequence[Explained]) -> str:
    """One paragraph for each explanation: the value, its origin step by step, overridden values and destinations."""
    return "\n\n".join(joined_lines(_lines(each)) for each in explained)


@prints(ExplanationTable)
def explanations_table(explained: Sequence[Explained]) -> str:
    """One line for each explanation."""
    rows = [("name", "kind", "value", "from", "description"), *map(_row, explained)]
    return joined_lines(columns(rows))


def explanations_json(explained: Sequence[Explained]) -> str:
    """Explanations as JSON; names of signals and units are strings, steps and legs are in order."""
    return json_text([_content(each) for each in explained], indent=2)


EXPLANATION_RENDERERS: Mapping[str, Callable[[Sequence[Explained]], str]] = MappingProxyType(
    {"text": explanations_text, "table": explanations_table, "json": explanations_json}
)


@prints(Explanation)
@prints(Unmatched)
def _explanation_text(explained: Explained) -> str:
    return explanations_text((explained,))


def _lines(explained: Explained) -> Iterator[str]:
    if isinstance(explained, Unmatched):
        if explained.missing:
            yield f"the value of {explained.name} is not used, because {explained.missing}"
            yield f"  set at {explained.position}"
            return
        yield f"the system has no variable {explained.name}"
        yield f"  set at {explained.position}, without effect"
        if explained.near:
            yield f"  did you mean {' or '.join(explained.near)}?"
        return
    yield _headline(explained)
    yield f"  {_what(explained)}"
    if why := _why(explained):
        yield f"  {why}"
    if explained.arriving is not None:
        yield from _section("comes from", _way(explained.arriving, explained.brought))
    if explained.assignment is not None:
        yield from _assignment_lines(explained, explained.assignment)
    if explained.default is not None and explained.origin in (Origin.ASSIGNMENT, Origin.CONNECTION):
        value = quantity(explained.default.value, explained.unit)
        yield from _section("otherwise", [f"{value}, the start value in the FMU{_origin(explained)}"])
    if explained.refused:
        lines = [f"{item.feature}   {item.position}" for item in explained.refused]
        yield from _section("unsupported values", lines)
    yield from _section("connected, as far as the SSD says, to", map(_unresolved, explained.unresolved))
    yield from _section("during a run", explained.during)
    if explained.leaving:
        yield from _section("goes to", (line for wire in explained.leaving for line in _use_lines(wire)))


def _unresolved(end: UnresolvedEnd) -> str:
    return f"{end.signal}   {end.position}" + (f", but {end.missing}" if end.missing else "")


def _assignment_lines(explanation: Explanation, assignment: Assignment) -> Iterator[str]:
    if explanation.origin is Origin.ASSIGNMENT:
        yield from _section("set by", _steps(assignment.chain))
    elif assignment.chain[-1].kind is not StepKind.CONNECTION:
        yield from _section("also set by a parameter, but the connection wins", _steps(assignment.chain))
    yield from _section("instead of", _overridden_lines(assignment))


def _headline(explanation: Explanation) -> str:
    parts = [str(explanation.signal)]
    if explanation.arriving is not None:
        parts.append(explanation.arriving.conversion.formula(str(explanation.arriving.source)))
    if explanation.value is not None:
        parts.append(quantity(explanation.value, explanation.unit, explanation.item))
    return " = ".join(parts) + (f"   ({explanation.description})" if explanation.description else "")


def _what(explanation: Explanation) -> str:
    """A description of the connector or variable, e.g. `parameter of resources/System1.fmu, Float64 [kg], …:12`."""
    unit = f" [{explanation.unit}]" if explanation.unit else ""
    of = explanation.source or explanation.signal.component or "the root system"
    return f"{explanation.kind} of {of}, {explanation.type or 'of unstated type'}{unit}, {explanation.position}"


def _why(explanation: Explanation) -> str:
    """The origin as text, if no other line of the explanation states it."""
    match explanation.origin:
        case Origin.CONNECTION | Origin.ASSIGNMENT:
            return ""
        case Origin.CALCULATED:
            return "calculated by the FMU"
        case Origin.TABLE:
            return "read from the table"
        case Origin.MISSING:
            return f"only the SSD is known, because {explanation.missing}"
        case Origin.NOTHING if explanation.during:
            return "nothing in the system sets it"
        case Origin.NOTHING if explanation.refused:
            return "only unsupported values set it"
        case Origin.NOTHING if explanation.source:
            return "nothing sets it, and the FMU states no start value"
        case Origin.NOTHING if explanation.unresolved:
            return "connected to a missing component"
        case Origin.NOTHING:
            return "not connected, and no parameter sets it"
        case Origin.DEFAULT if explanation.unresolved and explanation.kind == "input":
            return f"the start value in the FMU{_origin(explanation)}, because it is connected to a missing component"
        case Origin.DEFAULT:
            why = "where a run starts" if explanation.during else _AT_DEFAULT.get(explanation.kind, _UNSET)
            return f"the start value in the FMU{_origin(explanation)}, {why}"


_UNSET = "because nothing else sets it"
_AT_DEFAULT = {
    "constant": "a constant",
    "output": "where the FMU's calculation starts",
    "local": "where the FMU's calculation starts",
    "input": "kept for the whole run, because the input is not connected",
}


def _origin(explanation: Explanation) -> str:
    return "" if explanation.default is None else f" ({explanation.default.position})"


def _overridden_lines(assignment: Assignment) -> Iterator[str]:
    for loser in assignment.overridden:
        yield f"{quantity(loser.assignment.value, loser.assignment.unit)}, because {loser.reason}"
        yield from (f"  {line}" for line in _steps(loser.assignment.chain))


def _steps(chain: Iterable[ProvenanceStep]) -> list[str]:
    return columns(
        (str(step.kind), f"{step.name} = {quantity(step.value, step.unit)}", *_place(step)) for step in chain
    )


def _place(step: ProvenanceStep) -> tuple[str, str]:
    if step.kind is StepKind.OVERRIDE:
        return f"{step.position} {step.detail}", ""
    return str(step.position), step.detail


def _way(wire: Wire, brought: Assignment | None) -> Iterator[str]:
    if brought is None:
        yield str(wire.source)
    else:
        yield f"{wire.source} = {quantity(brought.value, brought.unit)}"
        yield from (f"  {line}" for line in _steps(brought.chain))
    yield from columns((str(leg.kind), f"→ {leg.destination}", _change(leg), str(leg.position)) for leg in wire.legs)


def _use_lines(wire: Wire) -> Iterator[str]:
    equation = _equation(str(wire.destination), wire)
    if len(wire.legs) == 1:
        yield f"{equation}   {wire.legs[0].position}"
        return
    yield equation
    rows = ((str(leg.kind), f"→ {leg.destination}", _change(leg), str(leg.position)) for leg in wire.legs)
    yield from (f"  {line}" for line in columns(rows))


def _change(leg: Leg) -> str:
    """The conversion of a leg, e.g. `mm → m: 0.001·v, then 2·v + 1`."""
    parts = []
    if leg.units is not None:
        parts.append(f"{leg.units[0]} → {leg.units[1]}: {leg.unit_conversion}")
    if leg.transformation != IDENTITY:
        parts.append(str(leg.transformation))
    return ", then ".join(parts)


def _equation(destination: str, wire: Wire) -> str:
    return f"{destination} = {wire.conversion.formula(str(wire.source))}"


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    content = list(lines)
    if content:
        yield f"  {title}"
        yield from (f"    {line}" for line in content)


def columns(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Rows with aligned columns, three blanks between them."""
    table = list(rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    filled = [width > 0 for width in widths]
    return [
        "   ".join(cell.ljust(width) for cell, width, shown in zip(row, widths, filled, strict=True) if shown).rstrip()
        for row in table
    ]


def _row(explained: Explained) -> tuple[str, str, str, str, str]:
    if isinstance(explained, Unmatched):
        if explained.missing:
            return explained.name, "–", "", f"set at {explained.position}, not used, because {explained.missing}", ""
        near = f"; did you mean {explained.near[0]}?" if explained.near else ""
        return explained.name, "–", "", f"no such variable, set at {explained.position}{near}", ""
    value = "" if explained.value is None else quantity(explained.value, explained.unit, explained.item)
    during = "; changed during a run" if explained.during and explained.origin is not Origin.TABLE else ""
    return str(explained.signal), explained.kind, value, f"{origin_text(explained)}{during}", explained.description


@prints(ParameterTable)
def parameters_text(table: ParameterTable) -> str:
    """One line per parameter: name, value with unit, range and origin."""
    rows = [(row.name, with_unit(row.text, row.unit_name), row.range, row.origin) for row in table.values()]
    return joined_lines(columns([("name", "value", "range", "from"), *rows]))


def _content(explained: Explained) -> dict[str, Any]:
    if isinstance(explained, Unmatched):
        place = _position(explained.position)
        near, missing = list(explained.near), explained.missing or None
        return {"name": explained.name, "origin": "unmatched", "position": place, "near": near, "missing": missing}
    default, arriving = explained.default, explained.arriving
    return {
        "name": str(explained.signal),
        "component": explained.signal.component,
        "variable": explained.signal.variable,
        "kind": explained.kind,
        "type": explained.type,
        "unit": explained.unit,
        "description": explained.description,
        "fmu": explained.source or None,
        "position": _position(explained.position),
        "origin": explained.origin.value,
        "value": _plain(explained.value),
        "item": explained.item or None,
        "default": default and {"value": _plain(default.value), "position": _position(default.position)},
        "assignment": None if explained.assignment is None else _assignment(explained.assignment),
        "comesFrom": arriving
        and {
            **_wire(arriving, arriving.source),
            "assignment": None if explained.brought is None else _assignment(explained.brought),
        },
        "goesTo": [_wire(wire, wire.destination) for wire in explained.leaving],
        "duringRun": list(explained.during),
        "missing": explained.missing or None,
        "unresolved": [
            {"signal": str(one.signal), "position": _position(one.position)} for one in explained.unresolved
        ],
        "notSupported": [{"feature": item.feature, "position": _position(item.position)} for item in explained.refused],
    }


def _assignment(assignment: Assignment) -> dict[str, Any]:
    return {
        "value": _plain(assignment.value),
        "unit": assignment.unit,
        "steps": [
            {
                "kind": step.kind.value,
                "name": step.name,
                "value": _plain(step.value),
                "unit": step.unit,
                "detail": step.detail,
                "position": _position(step.position),
            }
            for step in assignment.chain
        ],
        "overridden": [{**_assignment(loser.assignment), "reason": loser.reason} for loser in assignment.overridden],
    }


def _wire(wire: Wire, other: Signal) -> dict[str, Any]:
    """A wire as seen from one end; `signal` is the other end."""
    return {"signal": str(other), **_factors(wire.conversion), "legs": [_leg_json(leg) for leg in wire.legs]}


def _leg_json(leg: Leg) -> dict[str, Any]:
    return {
        "kind": leg.kind.value,
        "source": str(leg.source),
        "destination": str(leg.destination),
        "units": None if leg.units is None else list(leg.units),
        "unitConversion": _factors(leg.unit_conversion),
        "transformation": _factors(leg.transformation),
        "position": _position(leg.position),
    }


def _factors(conversion: Conversion) -> dict[str, Any]:
    table = {"table": [list(pair) for pair in conversion.table]} if conversion.table else {}
    return {"factor": conversion.factor, "offset": conversion.offset, **table}


def _position(position: Position) -> dict[str, Any]:
    return {"file": position.file, "line": position.line, "address": position.address}


def _plain(value: Value | None) -> Any:
    return value.hex().upper() if isinstance(value, bytes) else value


SCREENFUL = 40
"""Number of listed variables of a component by default."""


def inventory_text(inventory: Inventory) -> str:
    return joined_lines(_inventory_lines(inventory))


@prints(Inventory)
def inventory_screenful(inventory: Inventory) -> str:
    """The text with the first variables of each component, and the number of the others."""
    return joined_lines(_inventory_lines(inventory, SCREENFUL))


def inventory_json(inventory: Inventory) -> str:
    return json_text(asdict(inventory), indent=2, default=bytes.hex)


def _inventory_lines(inventory: Inventory, most: int | None = None) -> Iterator[str]:
    if inventory.variables:
        yield from _with_variables(inventory, most)
        return
    variant, experiment = inventory.variant, inventory.experiment
    yield f"{variant.name}  ({_file(inventory)}, SSP {variant.version})"
    if inventory.description:
        yield f"  {inventory.description}"
    yield f"  {counted(inventory.wires, 'wire')}, {inventory.assignments} parameter and start values"
    if inventory.unresolved:
        lead = "leads" if inventory.unresolved == 1 else "lead"
        yield f"  {counted(inventory.unresolved, 'connection')} {lead} to missing components"
    stated = experiment.start is not None or experiment.stop is not None
    times = f"{_time(experiment.start)} … {_time(experiment.stop)}"
    yield f"  default experiment: {times if stated else 'none'}"
    yield ""
    yield "Components"
    for component in inventory.components:
        yield from (f"  {line}" for line in _component(component))
    yield ""
    yield "Variants"
    for entry in inventory.variants:
        yield f"  {entry.name}  ({entry.file}, SSP {entry.version})"


def _file(inventory: Inventory) -> str:
    """The file of the variant, and the package or folder that contains it; for a lone file, its folder."""
    path, file = PurePath(inventory.path), inventory.variant.file
    if path.name != file:
        return f"{file} in {inventory.path}"
    return file if path.parent == PurePath() else f"{file} in {path.parent}"


def _with_variables(inventory: Inventory, most: int | None) -> Iterator[str]:
    """Each component that has variables, with a table of at most `most` of them."""
    of: dict[str, list[VariableEntry]] = defaultdict(list)
    for variable in inventory.variables:
        of[variable.component].append(variable)
    for number, entry in enumerate(one for one in inventory.components if one.name in of):
        if number:
            yield ""
        yield from _component(entry)
        heads = ("variable", "causality", "variability", "type", "unit", "start", "range", "description")
        yield from (f"  {line}" for line in columns((heads, *map(_variable, of[entry.name][:most]))))
        if most is not None and len(of[entry.name]) > most:
            yield f"  … and {len(of[entry.name]) - most} more (--variables PATTERN; '*' lists all)"


def _variable(entry: VariableEntry) -> tuple[str, ...]:
    shape = f"[{', '.join(map(str, entry.shape))}]" if entry.shape else ""
    value = entry.start if entry.value is None else entry.value
    item = next((name for name, number in entry.items if number == value and not isinstance(value, bool)), "")
    start = "" if value is None else quantity(value, None, item) + (", …" if entry.shape else "")
    set_by = "" if entry.value is None else "  (set by the system)"
    return (
        entry.variable + shape,
        entry.causality,
        entry.variability,
        entry.type,
        entry.unit or "",
        start + set_by,
        range_text((entry.minimum, entry.maximum)),
        entry.description,
    )


def _time(value: float | None) -> str:
    return "not stated" if value is None else f"{value:g} s"


def _component(entry: ComponentEntry) -> Iterator[str]:
    yield f"{entry.name}  ({entry.source})"
    counts = {"input": entry.inputs, "output": entry.outputs, "parameter": entry.parameters}
    numbers = ", ".join(counted(count, kind) for kind, count in counts.items())
    if entry.missing:
        yield f"  {entry.missing}"
        yield f"  connectors in the SSD: {numbers}"
        return
    if not entry.fmi_version:
        yield f"  {entry.model}; {counted(entry.outputs, 'output')}"
        return
    yield f"  {entry.model}, FMI {entry.fmi_version}: {', '.join(entry.interfaces) or 'no interface'}"
    yield f"  {numbers}"
    if entry.capabilities:
        yield f"  {', '.join(entry.capabilities)}"
    for document in entry.documents:
        yield f"  inside: {document.file}{_document_facts(document)}"


def _document_facts(document: InsideEntry) -> str:
    """The name of a document in an FMU, with the number of parameters of a parameter set."""
    if document.problem:
        return f"  ({document.problem})"
    facts = [document.name] if document.name else []
    if document.kind == "ssv":
        parameters = counted(document.parameters, "parameter")
        matching = document.parameters - len(document.unmatched)
        facts.append(f"{parameters}, {matching} of {document.parameters} match a variable")
    return f"  ({': '.join(facts)})" if facts else ""


INVENTORY_RENDERERS: Mapping[str, Callable[[Inventory], str]] = MappingProxyType(
    {"text": inventory_text, "screenful": inventory_screenful, "json": inventory_json}
)
