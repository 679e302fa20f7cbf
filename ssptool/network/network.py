"""The flat network: what a system of any nesting comes down to."""

from collections.abc import Mapping, Set
from dataclasses import field, replace
from enum import StrEnum
from typing import NamedTuple

from ssptool.dataclass import dataclass
from ssptool.documents.diagnostics import Position
from ssptool.fmu.description import FmuDescription, Value, Variable
from ssptool.fmu.units import Unit
from ssptool.network.experiment import Annotated
from ssptool.network.signals import Signal, Wire


@dataclass(frozen=True, slots=True)
class Port:
    """A connector of a component or of the root system, with everything deduced that the SSD may leave out.

    `kind` has SSP's spelling (`input`, `output`, `parameter` …); `type` has FMI 3.0's (`Float64` for `Real`);
    `unit` is the one that the signal's value is in while the system runs: that of the FMU variable. `clock` are the
    attributes that the SSD states of a connector of type Clock, as they are written.
    """

    signal: Signal
    kind: str
    type: str
    unit: str | None
    description: str
    position: Position
    clock: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Component:
    """One FMU in its place. `name` is the full dotted name; `source` the FMU's entry in the archive.

    `model_description` is the entry of its modelDescription.xml: the FMU may stand in the archive unpacked.
    """

    name: str
    source: str
    implementation: str
    description: FmuDescription
    ports: tuple[Port, ...]
    position: Position
    model_description: str = ""

    def of_kind(self, kind: str) -> tuple[Port, ...]:
        return tuple(port for port in self.ports if port.kind == kind)


class TableOutput(NamedTuple):
    """One column of a table: times [s], not descending, and the values at them, in the type and unit of its port.

    `linear`: between rows it is on the line from one to the next; else the earlier one is held.
    """

    column: str
    times: tuple[float, ...]
    values: tuple[Value, ...]
    linear: bool

    def __str__(self) -> str:
        count = len(self.times)
        between = "linear between" if self.linear else "held between"
        return f"column {self.column}, {between} {count} rows from {self.times[0]:g} s to {self.times[-1]:g} s"


class TableComponent(NamedTuple):
    """A component whose outputs are the columns of a CSV file; `source` is its entry in the archive.

    `outputs` are by their signals in the network, which are inputs of the root system there.
    """

    name: str
    source: str
    position: Position
    outputs: Mapping[Signal, TableOutput]


class StepKind(StrEnum):
    """What happened to a parameter value on its way (SSP 2.0 §5.2.3; catalogue §1.6)."""

    BINDING = "binding"
    PREFIX = "prefix"
    MAPPING = "mapping"
    UNIT = "unit"
    TRANSFORMATION = "transformation"
    CONNECTION = "connection"
    OVERRIDE = "override"


class ProvenanceStep(NamedTuple):
    """One step: what was done, where it is written, what the name, the value and its unit were afterwards."""

    kind: StepKind
    position: Position
    name: str
    value: Value
    detail: str = ""
    unit: str | None = None


class Assignment(NamedTuple):
    """The value of one parameter or start value, with the chain of steps that gave it.

    `overridden` are the assignments to the same variable that lost, the strongest first.
    """

    target: Signal
    value: Value
    unit: str | None
    chain: tuple[ProvenanceStep, ...]
    overridden: tuple["Overridden", ...] = ()


class Overridden(NamedTuple):
    """An assignment that lost, and in words the rule of precedence by which it did."""

    assignment: Assignment
    reason: str


class Experiment(NamedTuple):
    """SSD's DefaultExperiment; None where it is silent. [s]"""

    start: float | None
    stop: float | None


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Something that the documents ask for and this version cannot do: a system that has any is not run.

    `signal` is the variable or connector that goes without a value for it, if it is about one. `rules` are the codes
    of those that report it: a run that accepts the findings of one of them goes without what is asked for here.
    """

    position: Position
    feature: str
    signal: Signal | None = None
    rules: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.position}: not supported: {self.feature}"


class Unmatched(NamedTuple):
    """A parameter whose name (after prefix and mapping) is that of no variable; `near` are names like it."""

    position: Position
    name: str
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Network:
    """A system, flat.

    Components, ports and wires are in document order; a destination has at most one wire. `assignments` holds the
    winning value per variable; `ports` those of the root system itself (component "").

    What follows `unmatched` matters to explanations only. `boundaries` are the connectors of the systems inside,
    `boundary_assignments` the values that these were given, and `dangling` the flows that begin or end at one.

    Arrays are there as their elements, one signal each; `arrays` are the extents of those that these are elements of.
    `annotated` is what annotations of other tools state of a run; `assumed_units` are those without a definition, in
    which values are converted. `tables` are no `components`: each of their outputs is an input of the root system, in
    `ports`, that has the full name of the output.
    """

    name: str
    components: Mapping[str, Component]
    ports: tuple[Port, ...]
    wires: tuple[Wire, ...]
    assignments: Mapping[Signal, Assignment]
    experiment: Experiment
    unsupported: tuple[Unsupported, ...] = ()
    unmatched: tuple[Unmatched, ...] = ()
    boundaries: tuple[Port, ...] = ()
    boundary_assignments: Mapping[Signal, Assignment] = field(default_factory=dict)
    dangling: tuple[Wire, ...] = ()
    arrays: Mapping[Signal, tuple[int, ...]] = field(default_factory=dict)
    experiment_position: Position | None = None
    annotated: Annotated = Annotated()
    assumed_units: tuple[Unit, ...] = ()
    tables: Mapping[str, TableComponent] = field(default_factory=dict)

    def __repr__(self) -> str:
        counts = {"components": self.components, "wires": self.wires, "start values": self.assignments}
        return f"<Network of {self.name}: {', '.join(f'{len(found)} {name}' for name, found in counts.items())}>"

    def accepting(self, accepted: Set[str]) -> "Network":
        """The same without refusals that these rules report: what they are about is left out of the network."""
        return replace(self, unsupported=tuple(item for item in self.unsupported if not set(item.rules) & accepted))

    def variable(self, signal: Signal) -> Variable:
        """What the FMU of a component says of it."""
        return self.components[signal.component].description.variables[signal.variable]
