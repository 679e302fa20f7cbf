"""An inventory as text or JSON."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from types import MappingProxyType

from ssptool.network.inventory import ComponentEntry, Inventory


def inventory_text(inventory: Inventory) -> str:
    return "\n".join(_lines(inventory))


def inventory_json(inventory: Inventory) -> str:
    return json.dumps(asdict(inventory), indent=2, ensure_ascii=False)


def _lines(inventory: Inventory) -> Iterator[str]:
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


def _time(value: float | None) -> str:
    return "not stated" if value is None else f"{value:g} s"


def _component(entry: ComponentEntry) -> Iterator[str]:
    yield f"{entry.name}  ({entry.source})"
    yield f"  {entry.model}, FMI {entry.fmi_version}: {', '.join(entry.interfaces) or 'no interface'}"
    yield f"  {entry.inputs} inputs, {entry.outputs} outputs, {entry.parameters} parameters"
    if entry.capabilities:
        yield f"  {', '.join(entry.capabilities)}"


INVENTORY_RENDERERS: Mapping[str, Callable[[Inventory], str]] = MappingProxyType(
    {"text": inventory_text, "json": inventory_json}
)
