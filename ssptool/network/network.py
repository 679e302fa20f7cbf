"""The flat network: components, ports and wires, with start values and their provenance.

These are values: `build_network` makes them from documents, and every later layer reads them. A signal is named by its
component and its variable; the component "" is the root system."""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import Position
from ssptool.documents.document import Document, Positions
from ssptool.errors import counted
from ssptool.fmu.description import FmuDescription, Value, Variable
from ssptool.fmu.units import PhysicalUnit
from ssptool.printed import printed_text


class LoneFmu(str):
    """Name of the component in a system that consists of a single FMU. Its variables have their own names: `y`, not
    `Component.y`.
    """

    __slots__ = ()


class Signal(NamedTuple):
    """The full address of one variable of one component, e.g. ("Plant.System1", "x1").

    The component "" is the root system itself: its own inputs, outputs and parameters. A tuple, because graphs and
    tables of large systems hash and compare signals millions of times.
    """

    component: str
    variable: str

    def __str__(self) -> str:
        own = not self.component or isinstance(self.component, LoneFmu)
        return self.variable if own else f"{self.component}.{self.variable}"

    @property
    def alias(self) -> str:
        """The name with the component, for a variable of a single FMU; otherwise empty."""
        return f"{self.component}.{self.variable}" if isinstance(self.component, LoneFmu) else ""


@dataclass(frozen=True, slots=True)
class Conversion:
    """v ↦ factor · v + offset: unit conversion, then linear transformation (SSP 2.0 §4.5.2.1, §5.3.2).

    For Booleans, integers and enumeration values, it may be v ↦ `table` entry, or v without an entry (SSP 2.0
    §4.5.2.2–4); false and true are 0 and 1 in the table.
    """

    factor: float = 1.0
    offset: float = 0.0
    table: tuple[tuple[int, int], ...] = ()

    def __call__(self, value: float) -> float:
        if self.table:
            return dict(self.table).get(int(value), value)
        # The identity preserves the sign of zero.
        return value if (self.factor, self.offset) == (1.0, 0.0) else self.factor * value + self.offset

    def carry(self, value: Value) -> Value:
        """Convert a value of any type: `factor` and `offset` apply to numbers, `table` to integers."""
        if isinstance(value, float):
            return self(value)
        return type(value)(self(value)) if self.table and isinstance(value, int) else value

    def __str__(self) -> str:
        return self.formula("v")

    def formula(self, name: str) -> str:
        """Formula of the conversion for a name, e.g. `0.001·T + 273.15`."""
        if self.table:
            return f"{name} with {', '.join(f'{source} → {target}' for source, target in self.table)}"
        factor = "" if self.factor == 1 else f"{self.factor:.12g}·"
        offset = "" if self.offset == 0 else f" {'-' if self.offset < 0 else '+'} {abs(self.offset):.12g}"
        return f"{factor}{name}{offset}"

    def then(self, following: "Conversion") -> "Conversion":
        """The conversion that applies this one first, then `following`."""
        if following is IDENTITY or self is IDENTITY:
            return following if self is IDENTITY else self
        first, second = dict(self.table), dict(following.table)
        composed = {**second, **{source: second.get(target, target) for source, target in first.items()}}
        return Conversion(
            following.factor * self.factor,
            following.factor * self.offset + following.offset,
            tuple((source, target) for source, target in composed.items() if source != target),
        )


IDENTITY = Conversion()


class LegKind(StrEnum):
    """Kind of a leg of a wire."""

    CONNECTION = "connection"
    BOUNDARY = "boundary"
    """Step between the outside of a component that refers to a system and the inside of that system."""
    DICTIONARY = "dictionary"
    """Step between a reference to a signal dictionary and the entry of the dictionary."""
    VARIABLE = "variable"
    """Conversion between the unit of an FMU's variable and another unit that the SSD states for its connector."""


class Leg(NamedTuple):
    """One step of a wire, from connector to connector.

    `units` are the names of the units of a conversion, or None without a conversion; `transformation` is the
    transformation of the connection, which follows. `position` is the position of the connection or connector.
    """

    kind: LegKind
    source: Signal
    destination: Signal
    position: Position
    units: tuple[str, str] | None = None
    unit_conversion: Conversion = IDENTITY
    transformation: Conversion = IDENTITY

    @property
    def conversion(self) -> Conversion:
        return self.unit_conversion.then(self.transformation)


class Wire(NamedTuple):
    """One directed flow: the value of `source`, converted, becomes that of `destination`.

    `conversion` is composed of the conversions of all `legs`.
    """

    source: Signal
    destination: Signal
    conversion: Conversion = IDENTITY
    legs: tuple[Leg, ...] = ()

    @property
    def origin(self) -> tuple[Position, ...]:
        """The connections that the wire was made from."""
        return tuple(leg.position for leg in self.legs if leg.kind is LegKind.CONNECTION)


class Stated(NamedTuple):
    """A number in a document; `by` is the name of the element that states it."""

    value: float
    by: str
    position: Position


@dataclass(frozen=True, slots=True)
class Annotated:
    """Run settings from annotations.

    `tolerance` is the relative tolerance of a model-exchange integrator; `step_sizes` are those of single components,
    by name [s]. `power_bonds` are pairs of outputs. `notes` list ignored settings.
    """

    step_size: Stated | None = None
    tolerance: Stated | None = None
    step_sizes: dict[str, Stated] = field(default_factory=dict)
    power_bonds: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


class Port(NamedTuple):
    """A connector of a component or of the root system, completed with everything that the SSD may leave out.

    `kind` has SSP's spelling (`input`, `output`, `parameter` …); `type` has FMI 3.0's (`Float64` for `Real`); `unit` is
    the unit of the value during a run: that of the FMU variable. `clock` contains the attributes of a connector of type
    Clock in the SSD, as written.
    """

    signal: Signal
    kind: str
    type: str
    unit: str | None
    description: str
    position: Position
    clock: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class FlatComponent:
    """One FMU in the system. `name` is the full dotted name; `source` the FMU's entry in the archive.

    `model_description` is the path of its modelDescription.xml for the user, because the FMU may be unpacked in the
    archive, or stand alone. `delays`: its outputs at the end of a step depend on no input in the step.
    """

    name: str
    source: str
    implementation: str
    description: FmuDescription
    ports: tuple[Port, ...]
    position: Position
    model_description: str = ""
    delays: bool = False

    def of_kind(self, kind: str) -> tuple[Port, ...]:
        return tuple(port for port in self.ports if port.kind == kind)

    @cached_property
    def sorts(self) -> frozenset[tuple[str, str]]:
        """Kind and type of the ports."""
        return frozenset([(port.kind, port.type) for port in self.ports])


class TableOutput(NamedTuple):
    """One column of a table: times [s], which do not decrease, and their values, in the type and unit of its port.

    `linear`: true if values are interpolated linearly between rows; false if the earlier one is held.
    """

    column: str
    times: tuple[float, ...]
    values: tuple[Value, ...]
    linear: bool

    def __str__(self) -> str:
        count = len(self.times)
        between = "linear between" if self.linear else "held between"
        return (
            f"column {self.column}, {between} {counted(count, 'row')} from {self.times[0]:g} s to {self.times[-1]:g} s"
        )


class TableComponent(NamedTuple):
    """A component whose outputs are the columns of a CSV file; `source` is its entry in the archive.

    `outputs` are given by their signals in the network, which are inputs of the root system.
    """

    name: str
    source: str
    position: Position
    outputs: Mapping[Signal, TableOutput]


class MissingComponent(NamedTuple):
    """A component whose implementation is missing or not read.

    `kind` is the kind of the missing file, such as FMU, and `problem` the reason. `ports` are the connectors in the
    SSD; their `type` is empty if not stated.
    """

    name: str
    source: str
    kind: str
    problem: str
    ports: tuple[Port, ...]
    position: Position

    def __str__(self) -> str:
        return f"the {self.kind} of {self.name} is {self.problem}"


class UnresolvedConnection(NamedTuple):
    """A connection to a connector of a missing component; start and end imply no direction."""

    start: Signal
    end: Signal
    position: Position


class StepKind(StrEnum):
    """The kind of a step from a parameter set to a variable (SSP 2.0 §5.2.3; catalogue §1.6)."""

    BINDING = "binding"
    GIVEN = "parameters"
    """A parameter set from outside of the package, given by the caller."""
    PREFIX = "prefix"
    MAPPING = "mapping"
    UNIT = "unit"
    TRANSFORMATION = "transformation"
    CONNECTION = "connection"
    OVERRIDE = "override"


class ProvenanceStep(NamedTuple):
    """One step of provenance: its kind and position, and the name, value and unit after the step."""

    kind: StepKind
    position: Position
    name: str
    value: Value
    detail: str = ""
    unit: str | None = None


class Assignment(NamedTuple):
    """The value of one parameter or start value, with the chain of steps that led to it.

    `overridden` are the overridden assignments to the same variable, the strongest first.
    """

    target: Signal
    value: Value
    unit: str | None
    chain: tuple[ProvenanceStep, ...]
    overridden: tuple["OverriddenAssignment", ...] = ()


class OverriddenAssignment(NamedTuple):
    """An overridden assignment, and the rule of precedence as text."""

    assignment: Assignment
    reason: str


class Experiment(NamedTuple):
    """The DefaultExperiment of the SSD [s]; None for times that are not stated."""

    start: float | None
    stop: float | None


@dataclass(frozen=True, slots=True)
class UnsupportedFeature:
    """A feature of the documents that ssptool does not support: a system with such a feature is not run.

    `signal` is the variable or connector that lacks a value because of it, if any. `rules` are the codes of rules that
    report it. If errors of one of these rules are accepted, a run ignores the feature. `advice` is an alternative to
    removing it.
    """

    position: Position
    feature: str
    signal: Signal | None = None
    rules: tuple[str, ...] = ()
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.position}: not supported: {self.feature}"


class Unmatched(NamedTuple):
    """A parameter whose name (after prefix and mapping) matches no variable; `near` are similar names.

    `missing` is a note if it is a parameter of a missing component.
    """

    position: Position
    name: str
    near: tuple[str, ...] = ()
    missing: str = ""

    def __str__(self) -> str:
        return printed_text(self)


@dataclass(frozen=True, slots=True)
class Network:
    """A flat system.

    Components, ports and wires are in document order; a destination has at most one wire. `assignments` contains the
    value in force of each variable, `ports` the connectors of the root system itself (component "").

    The fields from `unmatched` on are only for explanations. `boundaries` are the connectors of nested systems,
    `boundary_assignments` their assigned values, and `dangling` the flows that start or end at them.

    Arrays appear as their elements, one signal each; `arrays` maps arrays to their extents. `annotated` contains run
    settings from annotations; `assumed_units` are undefined units that are interpreted by name. `tables` are not in
    `components`: each of their outputs is an input of the root system, in `ports`, with the full name of the output.
    `missing` components are not in `components` either, and `unresolved` connections to them are not wires.
    """

    name: str
    components: Mapping[str, FlatComponent]
    ports: tuple[Port, ...]
    wires: tuple[Wire, ...]
    assignments: Mapping[Signal, Assignment]
    experiment: Experiment
    unsupported: tuple[UnsupportedFeature, ...] = ()
    unmatched: tuple[Unmatched, ...] = ()
    boundaries: tuple[Port, ...] = ()
    boundary_assignments: Mapping[Signal, Assignment] = field(default_factory=dict)
    dangling: tuple[Wire, ...] = ()
    arrays: Mapping[Signal, tuple[int, ...]] = field(default_factory=dict)
    experiment_position: Position | None = None
    annotated: Annotated = field(default_factory=Annotated)
    assumed_units: tuple[PhysicalUnit, ...] = ()
    tables: Mapping[str, TableComponent] = field(default_factory=dict)
    missing: Mapping[str, MissingComponent] = field(default_factory=dict)
    unresolved: tuple[UnresolvedConnection, ...] = ()

    def __repr__(self) -> str:
        counts = {"components": self.components, "wires": self.wires, "start values": self.assignments}
        return f"<Network of {self.name}: {', '.join(f'{len(found)} {name}' for name, found in counts.items())}>"

    def accepting(self, accepted: Set[str]) -> "Network":
        """The network without the unsupported features reported by these rules."""
        return replace(self, unsupported=tuple(item for item in self.unsupported if not set(item.rules) & accepted))

    def every_port(self) -> Iterator[Port]:
        """The ports of the root system itself, then those of the components."""
        yield from self.ports
        for component in self.components.values():
            yield from component.ports

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of all ports."""
        return frozenset(kind for kind, _ in self._sorts)

    @property
    def types(self) -> frozenset[str]:
        """The types of all ports."""
        return frozenset(type for _, type in self._sorts)

    @property
    def _sorts(self) -> frozenset[tuple[str, str]]:
        own = ((port.kind, port.type) for port in self.ports)
        return frozenset(own).union(*(component.sorts for component in self.components.values()))

    @property
    def descriptions(self) -> tuple[FmuDescription, ...]:
        """The model descriptions of the components, each once."""
        return tuple({id(one.description): one.description for one in self.components.values()}.values())

    @property
    def own_clocks(self) -> frozenset[Signal]:
        """Connectors of type Clock of the root system itself."""
        return frozenset(port.signal for port in self.ports if port.type == "Clock")

    def in_the_only_component(self, name: str) -> str:
        """The full name for a name without component, if the system has only one component; for a lone FMU, the name
        without component. Other names stay the same.
        """
        only = [one for one in self.components if not self.tables and not self.missing]
        if len(only) != 1:
            return name
        return name.removeprefix(f"{only[0]}.") if self.of_lone_fmu else f"{only[0]}.{name}"

    def readings(self, name: str) -> Iterator[Signal]:
        """Possible signals for a name with or without the name of the only component."""
        for own in dict.fromkeys((name, self.in_the_only_component(name))):
            yield from self.called(own)

    def called(self, name: str) -> Iterator[Signal]:
        """Possible signals with this full name: names of components and of variables may both contain dots."""
        if self.of_lone_fmu:
            yield Signal(next(iter(self.components)), name)
            return
        parts = name.split(".")
        for place in range(len(parts) - 1, -1, -1):
            yield Signal(".".join(parts[:place]), ".".join(parts[place:]))

    @property
    def of_lone_fmu(self) -> bool:
        """True if the system is a single FMU without SSP."""
        return any(isinstance(name, LoneFmu) for name in self.components)

    def variable(self, signal: Signal) -> Variable:
        """The variable of a signal in the FMU of its component."""
        return self.components[signal.component].description.variables[signal.variable]


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """A document in its archive: the scope of relative references and unit names."""

    archive: Archive
    document: Document
    units: Mapping[str, PhysicalUnit]
    survey: Positions
