"""What is in a system, at a glance: `ssptool info`."""

from ssptool.dataclass import dataclass
from ssptool.documents import ssd
from ssptool.documents.archive import Archive
from ssptool.documents.document import Document
from ssptool.fmu.description import Causality, FmuDescription
from ssptool.network.network import Component, Experiment, Network


@dataclass(frozen=True, slots=True)
class VariantEntry:
    """One SSD at the root of the package."""

    name: str
    file: str
    version: str


@dataclass(frozen=True, slots=True)
class ComponentEntry:
    """One component and its FMU. `interfaces` and `capabilities` are FMI's words."""

    name: str
    source: str
    model: str
    fmi_version: str
    interfaces: tuple[str, ...]
    capabilities: tuple[str, ...]
    inputs: int
    outputs: int
    parameters: int


@dataclass(frozen=True, slots=True)
class Inventory:
    """The contents of one variant, and which others the package has."""

    path: str
    variant: VariantEntry
    variants: tuple[VariantEntry, ...]
    description: str
    components: tuple[ComponentEntry, ...]
    wires: int
    assignments: int
    experiment: Experiment


def take_inventory(archive: Archive, structure: Document, network: Network) -> Inventory:
    """Count and name what there is; reads no more than the documents and model descriptions."""
    root = structure.root_as(ssd.SystemStructureDescription)
    return Inventory(
        path=str(archive.path),
        variant=_variant(structure),
        variants=tuple(_variant(document) for document in archive.variants()),
        description=root.get("description", ""),
        components=tuple(_component(component) for component in network.components.values()),
        wires=len(network.wires),
        assignments=len(network.assignments),
        experiment=network.experiment,
    )


def _variant(document: Document) -> VariantEntry:
    return VariantEntry(document.root.get("name", ""), document.name, document.version)


def _component(component: Component) -> ComponentEntry:
    fmu = component.description
    causalities = [variable.causality for variable in (fmu.whole or fmu.variables).values()]
    return ComponentEntry(
        name=component.name,
        source=component.source,
        model=fmu.model_name,
        fmi_version=fmu.fmi_version,
        interfaces=fmu.interface_types,
        capabilities=_capabilities(fmu),
        inputs=causalities.count(Causality.INPUT),
        outputs=causalities.count(Causality.OUTPUT),
        parameters=causalities.count(Causality.PARAMETER) + causalities.count(Causality.STRUCTURAL_PARAMETER),
    )


def _capabilities(fmu: FmuDescription) -> tuple[str, ...]:
    """What the co-simulation interface can do beyond the minimum: it decides which masters can drive the FMU."""
    interface = fmu.co_simulation
    if interface is None:
        return ()
    flags = {
        "saves its state": interface.saves_state,
        "serializes its state": interface.serializes_state,
        "directional derivatives": interface.directional_derivatives,
        "input derivatives": interface.input_derivatives,
        "intermediate update": interface.intermediate_update,
        "variable steps": interface.variable_step,
    }
    return tuple(name for name, present in flags.items() if present)
