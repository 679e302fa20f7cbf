"""Inventory of a system or an FMU: the content of `ssptool info`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isfinite

from ssptool.documents import ssd, ssv
from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.document import Document
from ssptool.errors import UnknownName, counted, in_other_case
from ssptool.fmu.description import Causality, FmuDescription, Value, Variability, Variable, element_names
from ssptool.network.network import (
    Experiment,
    FlatComponent,
    MissingComponent,
    Network,
    Port,
    Signal,
    TableComponent,
    TableOutput,
)
from ssptool.printed import Printed

MOST_NAMED = 6
"""Number of components in a message if no name is similar."""


@dataclass(frozen=True, slots=True)
class VariantEntry:
    """One SSD at the root of the package."""

    name: str
    file: str
    version: str


@dataclass(frozen=True, slots=True)
class InsideEntry:
    """A document of SSP in an FMU. `file` is its path in the FMU, `kind` its extension: `ssv`, `ssm`, `ssb` or `srmd`.

    For a parameter set, `parameters` is the number of its parameters, and `unmatched` are the names that are not
    variables of the FMU. `problem` is the reason if the document cannot be read.
    """

    file: str
    kind: str
    name: str = ""
    parameters: int = 0
    unmatched: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ComponentEntry:
    """One component and its FMU. `interfaces` and `capabilities` have the names of FMI; `documents` are SSP documents
    in the FMU. For a table, `fmi_version` is empty and `model` states the number of rows. `missing` describes a missing
    implementation; the counts are then those of the connectors in the SSD.
    """

    name: str
    source: str
    model: str
    fmi_version: str
    interfaces: tuple[str, ...]
    capabilities: tuple[str, ...]
    inputs: int
    outputs: int
    parameters: int
    documents: tuple[InsideEntry, ...] = ()
    missing: str = ""


@dataclass(frozen=True, slots=True)
class VariableEntry:
    """One variable of a component's FMU. `causality`, `variability` and `type` have the names of FMI, types in the
    spelling of FMI 3.0.

    `start` is the start value of the FMU, `value` the value in the system that replaces it; None if there is none. Both
    are in `unit`, as `minimum` and `maximum` are; None: no bound. `items` are the names of an enumeration's values. An
    array (`shape`) has one entry, with its first value.
    """

    name: str
    component: str
    variable: str
    causality: str
    variability: str
    type: str
    unit: str | None
    start: Value | None
    value: Value | None
    minimum: float | None
    maximum: float | None
    description: str
    shape: tuple[int, ...] = ()
    items: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Inventory(Printed):
    """The contents of one variant, and the other variants of the package. `variables` are the requested ones.

    `unresolved` is the number of connections with missing components, which are not wires.
    """

    path: str
    variant: VariantEntry
    variants: tuple[VariantEntry, ...]
    description: str
    components: tuple[ComponentEntry, ...]
    wires: int
    assignments: int
    experiment: Experiment
    variables: tuple[VariableEntry, ...] = ()
    unresolved: int = 0

    def __repr__(self) -> str:
        counts = counted(len(self.components), "component"), counted(self.wires, "wire")
        return f"<Inventory of {self.variant.name}: SSP {self.variant.version}, {', '.join(counts)}>"


def take_inventory(archive: Archive, structure: Document, network: Network) -> Inventory:
    """Collect the inventory of a system from its documents and model descriptions."""
    root = structure.root_as(ssd.SystemStructureDescription)
    return Inventory(
        path=str(archive.path),
        variant=_variant(structure),
        variants=tuple(_variant(document) for document in archive.variants()),
        description=root.get("description", ""),
        components=(
            *(_component(component, archive) for component in network.components.values()),
            *map(_table, network.tables.values()),
            *map(_missing, network.missing.values()),
        ),
        wires=len(network.wires),
        assignments=len(network.assignments),
        experiment=network.experiment,
        unresolved=len(network.unresolved),
    )


def _variant(document: Document) -> VariantEntry:
    return VariantEntry(document.root.get("name", ""), document.name, document.version)


def _component(component: FlatComponent, archive: Archive) -> ComponentEntry:
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
        documents=tuple(_documents(component, archive)),
    )


def _table(table: TableComponent) -> ComponentEntry:
    outputs = tuple(table.outputs.values())
    times = outputs[0].times if outputs else ()
    rows = f", {counted(len(times), 'row')} from {times[0]:g} s to {times[-1]:g} s" if times else ""
    return ComponentEntry(
        name=table.name,
        source=table.source,
        model=f"table{rows}",
        fmi_version="",
        interfaces=(),
        capabilities=(),
        inputs=0,
        outputs=len(outputs),
        parameters=0,
    )


def _missing(component: MissingComponent) -> ComponentEntry:
    kinds = [port.kind for port in component.ports]
    return ComponentEntry(
        name=component.name,
        source=component.source,
        model="",
        fmi_version="",
        interfaces=(),
        capabilities=(),
        inputs=kinds.count("input"),
        outputs=kinds.count("output"),
        parameters=kinds.count("parameter") + kinds.count("structuralParameter"),
        missing=f"{component.kind} {component.problem}",
    )


_KINDS = ("ssv", "ssm", "ssb", "srmd")


def _documents(component: FlatComponent, archive: Archive) -> Iterator[InsideEntry]:
    """Documents of SSP in `extra/` and `resources/` of an FMU (FMI 3.0 §2.5.1, SSP 2.0 §5.2.3)."""
    try:
        names = archive.names_inside(component.source)
    except InvalidDocument:
        return
    for file in sorted(names):
        kind = file.lower().rpartition(".")[2]
        if kind in _KINDS:
            yield _inside(file, kind, component, archive)


def _inside(file: str, kind: str, component: FlatComponent, archive: Archive) -> InsideEntry:
    try:
        document = archive.document(archive.inside(component.source, file))
        name = document.root.get("name", "")
        if kind != "ssv":
            return InsideEntry(file, kind, name)
        parameters = [parameter.name for parameter in document.root_as(ssv.ParameterSet).parameters]
    except InvalidDocument as problem:
        return InsideEntry(file, kind, problem=problem.diagnostics[0].message)
    fmu = component.description
    unmatched = (name for name in parameters if name not in fmu.variables and name not in fmu.whole)
    return InsideEntry(file, kind, name, len(parameters), tuple(unmatched))


def _capabilities(fmu: FmuDescription) -> tuple[str, ...]:
    """Optional capabilities of the co-simulation interface, which determine the available masters."""
    interface = fmu.co_simulation
    if interface is None:
        return ()
    flags = {
        "saves its state": interface.saves_state,
        "serializes its state": interface.serializes_state,
        "directional derivatives": interface.directional_derivatives,
        "input derivatives": interface.input_derivatives,
        "intermediate update": interface.intermediate_update,
        "variable steps": interface.any_step,
    }
    return tuple(name for name, present in flags.items() if present)


def components_called(network: Network, name: str) -> tuple[str, ...]:
    """The component with this name, or all components in the nested system with this name.

    Raises
    ------
    UnknownName
    """
    known = (*network.components, *network.tables, *network.missing)
    found = tuple(own for own in known if own == name or own.startswith(f"{name}."))
    if not found and (other := in_other_case(name, known)) is not None:
        return (other,)
    if not found:
        raise UnknownName(f"the system has no component {name!r}", name, known)
    return found


def list_variables(network: Network, components: Iterable[str]) -> tuple[VariableEntry, ...]:
    """Variables of components in the order of their FMUs, including clocks; for tables the outputs."""
    found: list[VariableEntry] = []
    ports = {port.signal: port for port in network.ports}
    for name in components:
        if name in network.tables:
            table = network.tables[name]
            found += (_output(table, ports[signal], output) for signal, output in table.outputs.items())
            continue
        if name in network.missing:
            continue
        own = network.components[name]
        variables = (own.description.whole or own.description.variables).values()
        found += (_entry(network, own, variable) for variable in variables)
    return tuple(found)


def _output(table: TableComponent, port: Port, output: TableOutput) -> VariableEntry:
    return VariableEntry(
        name=str(port.signal),
        component=table.name,
        variable=str(port.signal).removeprefix(f"{table.name}."),
        causality=Causality.OUTPUT,
        variability=Variability.CONTINUOUS if output.linear else Variability.DISCRETE,
        type=port.type,
        unit=port.unit,
        start=output.values[0],
        value=None,
        minimum=None,
        maximum=None,
        description=port.description or f"column {output.column}",
    )


def _entry(network: Network, component: FlatComponent, variable: Variable) -> VariableEntry:
    shape = component.description.arrays.get(variable.name, ())
    signal = Signal(component.name, element_names(variable.name, shape)[0] if all(shape) else variable.name)
    given = network.assignments.get(signal)
    return VariableEntry(
        name=str(Signal(component.name, variable.name)),
        component=component.name,
        variable=variable.name,
        causality=variable.causality,
        variability=variable.variability,
        type=variable.type,
        unit=variable.unit,
        start=variable.start,
        value=None if given is None else given.value,
        minimum=variable.minimum if isfinite(variable.minimum) else None,
        maximum=variable.maximum if isfinite(variable.maximum) else None,
        description=variable.description,
        shape=shape,
        items=tuple(variable.items.items()),
    )
