"""An inventory as text or JSON."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from types import MappingProxyType

from ssptool.drawing.explanation import columns, quantity
from ssptool.network.inventory import ComponentEntry, InsideEntry, Inventory, VariableEntry

SCREENFUL = 40
"""Variables of a component that are listed where nobody asked for more."""


def inventory_text(inventory: Inventory) -> str:
    return "\n".join(_lines(inventory))


def inventory_screenful(inventory: Inventory) -> str:
    """The text with the first variables of each component, and the number of the others."""
    return "\n".join(_lines(inventory, SCREENFUL))


def inventory_json(inventory: Inventory) -> str:
    return json.dumps(asdict(inventory), indent=2, ensure_ascii=False, default=bytes.hex)


def _lines(inventory: Inventory, most: int | None = None) -> Iterator[str]:
    if inventory.variables:
        yield from _with_variables(inventory, most)
        return
    variant, experiment = inventory.variant, inventory.experiment
    yield f"{variant.name}  ({variant.file} in {inventory.path}, SSP {variant.version})"
    if inventory.description:
        yield f"  {inventory.description}"
    yield f"  {inventory.wires} wires, {inventory.assignments} parameter and start values"
    yield f"  default experiment: {_time(experiment.start)} … {_time(experiment.stop)}"
    yield ""
    yield "Components"
    for component in inventory.components:
        yield from (f"  {line}" for line in _component(component))
    yield ""
    yield "Variants"
    for entry in inventory.variants:
        yield f"  {entry.name}  ({entry.file}, SSP {entry.version})"


def _with_variables(inventory: Inventory, most: int | None) -> Iterator[str]:
    """Each component that has any, with a table of `most` of them."""
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
    bounds = "" if entry.minimum is entry.maximum is None else f"{_bound(entry.minimum)} … {_bound(entry.maximum)}"
    return (
        entry.variable + shape,
        entry.causality,
        entry.variability,
        entry.type,
        entry.unit or "",
        start + set_by,
        bounds,
        entry.description,
    )


def _bound(value: float | None) -> str:
    return "" if value is None else f"{value:.15g}"


def _time(value: float | None) -> str:
    return "not stated" if value is None else f"{value:g} s"


def _component(entry: ComponentEntry) -> Iterator[str]:
    yield f"{entry.name}  ({entry.source})"
    if not entry.fmi_version:
        yield f"  {entry.model}; {entry.outputs} outputs"
        return
    yield f"  {entry.model}, FMI {entry.fmi_version}: {', '.join(entry.interfaces) or 'no interface'}"
    yield f"  {entry.inputs} inputs, {entry.outputs} outputs, {entry.parameters} parameters"
    if entry.capabilities:
        yield f"  {', '.join(entry.capabilities)}"
    for document in entry.documents:
        yield f"  inside: {document.file}{_told(document)}"


def _told(document: InsideEntry) -> str:
    """The name of a document in an FMU, and of a parameter set how many parameters it has."""
    if document.problem:
        return f"  ({document.problem})"
    facts = [document.name] if document.name else []
    if document.kind == "ssv":
        parameters = "1 parameter" if document.parameters == 1 else f"{document.parameters} parameters"
        matching = document.parameters - len(document.unmatched)
        facts.append(f"{parameters}, {matching} of {document.parameters} match a variable")
    return f"  ({': '.join(facts)})" if facts else ""


INVENTORY_RENDERERS: Mapping[str, Callable[[Inventory], str]] = MappingProxyType(
    {"text": inventory_text, "screenful": inventory_screenful, "json": inventory_json}
)
