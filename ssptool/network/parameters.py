"""Parameters: the value of every variable, and its provenance (SSP 2.0 §5.2.3; rule catalogue §1.6)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from math import prod
from pathlib import Path as FilePath
from typing import NamedTuple, TypeVar

from ssptool.documents import ssc, ssd, ssm, ssv
from ssptool.documents.archive import UnresolvableUri
from ssptool.documents.diagnostics import InvalidDocument, Position
from ssptool.documents.document import Document
from ssptool.documents.element import Element
from ssptool.documents.foreign_files import read_bytes
from ssptool.documents.storage import MissingEntry
from ssptool.documents.vocabulary import PARAMETER_MAPPING, PARAMETER_SET
from ssptool.errors import WrongValue, abbreviated, counted, similar_names
from ssptool.fmu.description import Shape, Value, element_names, shape_text
from ssptool.fmu.model_description_xml import MODEL_DESCRIPTION
from ssptool.fmu.units import PhysicalUnit, named, unit_of_name
from ssptool.network.conversion import (
    IncompatibleUnits,
    InvalidValue,
    allowed,
    bounds_text,
    conversion,
    convert,
    document_units,
    from_text,
    is_float,
    is_integer,
    number_and_unit,
    split_values,
    transformed,
)
from ssptool.network.network import (
    IDENTITY,
    Assignment,
    Conversion,
    Leg,
    LegKind,
    OverriddenAssignment,
    ProvenanceStep,
    Scope,
    Signal,
    StepKind,
    Unmatched,
)
from ssptool.network.targets import NamedTarget, SystemTarget, Targets, VariableTarget, unknown_variable
from ssptool.network.tree import ElementPath, Tree, dotted
from ssptool.network.wiring import Flow, Wiring
from ssptool.working_directory import absolute


class Priority(IntEnum):
    """Precedence of values, the weakest first."""

    BINDING = 0
    HOST_BINDING = 1
    """A binding of the component that refers to a system; it applies after the bindings of that system."""
    FILE = 2
    """A parameter set from outside of the package."""
    COMMAND_LINE = 3
    CONNECTION = 4
    """A connection from a connector with a given value (rule EXE-006, AMB-12)."""


class ValueSource(NamedTuple):
    """The source of a value: its priority, its level below the root, and its binding or file."""

    authority: Priority
    level: int = 0
    owner: str = ""
    position: Position | None = None

    @property
    def rank(self) -> tuple[int, int, int]:
        """The greater rank wins; among equal ranks the later value."""
        bound = self.authority <= Priority.HOST_BINDING
        return (0, -self.level, self.authority) if bound else (1, 0, self.authority)


def reason(winner: ValueSource, loser: ValueSource) -> str:
    """Reason why one source overrides another."""
    match winner.authority:
        case Priority.CONNECTION:
            return "a connection wins over a binding"
        case Priority.COMMAND_LINE if loser.authority is Priority.FILE:
            return "--set wins over --parameters"
        case Priority.COMMAND_LINE:
            return "--set wins over the documents of the system"
        case Priority.FILE if loser.authority is Priority.FILE:
            return _later(winner, loser, "of several --parameters the last one wins")
        case Priority.FILE:
            return "--parameters wins over the parameter sets that the system binds"
    if winner.level != loser.level:
        return f"outer bindings win: {winner.owner or 'the root system'} contains {loser.owner}"
    if winner.authority is not loser.authority:
        return "the bindings of a component override those of the system that it refers to"
    return _later(winner, loser, "of the bindings of one element the last one wins")


def _later(winner: ValueSource, loser: ValueSource, why: str) -> str:
    return "within one binding the last value wins" if winner.position == loser.position else why


class Candidate(NamedTuple):
    """A value for a variable, with its source."""

    giver: ValueSource
    assignment: Assignment


def settle(claims: list[Candidate]) -> Assignment:
    """The winning assignment, with overridden ones, the strongest first."""
    ranked = sorted(claims, key=lambda claim: claim.giver.rank)
    winner = ranked.pop()
    losers = (OverriddenAssignment(claim.assignment, reason(winner.giver, claim.giver)) for claim in reversed(ranked))
    final = winner.assignment
    return Assignment(final.target, final.value, final.unit, final.chain, tuple(losers))


@dataclass(frozen=True, slots=True)
class PendingParameter:
    """A value on its way from a parameter set to its targets.

    Elements of arrays are separate values: `name` is the name of the array, `element` the indices such as `[2,3]`, and
    `shape` the extents of the array.
    """

    name: str
    value: Value
    type: str
    unit: PhysicalUnit | None
    source_items: Mapping[str, int]
    position: Position
    chain: tuple[ProvenanceStep, ...]
    element: str = ""
    shape: Shape = ()

    @property
    def full_name(self) -> str:
        return self.name + self.element

    def after(self, kind: StepKind, position: Position, detail: str = "", **changes: object) -> "PendingParameter":
        """The value after one more step; `changes` may set `name`, `value` and `unit`."""
        moved = replace(self, **changes)  # type: ignore[arg-type]
        step = ProvenanceStep(kind, position, moved.full_name, moved.value, detail, unit_name(moved.unit))
        return replace(moved, chain=(*self.chain, step))


def read_set(
    parameters: ssv.ParameterSet, tree: Tree, detail: str, kind: StepKind = StepKind.BINDING
) -> Iterator[PendingParameter]:
    """Parameters of a set that have a value. Arrays with a wrong number of values are reported as unsupported."""
    units = document_units(parameters)
    for parameter in parameters.parameters:
        value, position, shape = parameter.value, parameter.position, _shape(parameter)
        if value is None or value == ():
            continue
        values = value if isinstance(value, tuple) else (value,)
        if len(values) != prod(shape):
            problem = f"{counted(len(values), 'value')} for the parameter {parameter.name!r}, {shape_text(shape)}"
            tree.refuse(position, problem, rules=("SSV-004", "SSV-006"))
            continue
        unit, items = named(units, parameter.unit), _items(parameter, parameters)
        for name, own in zip(element_names(parameter.name, shape), values, strict=True):
            yield PendingParameter(
                name=parameter.name,
                value=own,
                type=parameter.type_name or "",
                unit=unit,
                source_items=items,
                position=position,
                chain=(ProvenanceStep(kind, position, name, own, detail, parameter.unit),),
                element=name[len(parameter.name) :],
                shape=shape,
            )


def _shape(parameter: ssv.Parameter) -> Shape:
    return tuple(dimension.size or 0 for dimension in parameter.dimensions)


def _items(parameter: ssv.Parameter, parameters: ssv.ParameterSet) -> Mapping[str, int]:
    if not isinstance(parameter.type, ssv.Enumeration):
        return {}
    for enumeration in parameters.enumerations:
        if enumeration.name == parameter.type.name:
            return {item.name: item.value for item in enumeration.items}
    return {}


def by_source(mapping: ssm.ParameterMapping) -> dict[str, list[ssm.MappingEntry]]:
    """Mapping entries by source; a parameter may have several targets, each of which starts from its original value."""
    entries: dict[str, list[ssm.MappingEntry]] = {}
    for entry in mapping.entries:
        entries.setdefault(entry.source, []).append(entry)
    return entries


def converted_for(given: PendingParameter, target: NamedTarget, entry: ssm.MappingEntry | None) -> Assignment:
    """Unit conversion, then transformation, then type conversion (§5.2.3, §7.1.1).

    Raises
    ------
    IncompatibleUnits, InvalidValue
        The target does not accept this value.
    """
    at = given.position if entry is None else entry.position
    if isinstance(given.value, float) and not (entry is not None and entry.suppress_unit_conversion):
        change = conversion(given.unit, target.unit, target.relative)
        if change != Conversion():
            detail = f"{unit_name(given.unit)} → {unit_name(target.unit)}"
            given = given.after(StepKind.UNIT, at, detail, value=change(given.value), unit=target.unit)
    transformation: ssc.Transformation | None = None if entry is None else entry.transformation
    if transformation is not None:
        value, detail = transformed(given.value, transformation, given.source_items or target.items)
        given = given.after(StepKind.TRANSFORMATION, transformation.position, detail, value=value, unit=target.unit)
    value = convert(str(target), given.value, target.type, target.items)
    return Assignment(target.signal, value, unit_name(target.unit), given.chain)


def unit_name(unit: PhysicalUnit | None) -> str | None:
    return None if unit is None else unit.name


R = TypeVar("R", bound=Element)

COMMAND_LINE = Position("--set")
_SHOWN = 10
"""Largest number of array values that the provenance of each element repeats."""


class Bound(NamedTuple):
    """A binding of the element at `path`; `base` is the entry that sources "inside of the component" are relative
    to.
    """

    path: ElementPath
    authority: Priority
    binding: ssd.ParameterBinding
    scope: Scope
    base: str | None = None

    @property
    def giver(self) -> ValueSource:
        return ValueSource(self.authority, len(self.path), dotted(self.path), self.binding.position)


class Parameterization:
    """Collects the values of bindings, files and start values; `Priority` determines which value counts."""

    def __init__(self, tree: Tree, wiring: Wiring) -> None:
        self._tree = tree
        self._wiring = wiring
        self._targets = Targets(tree, wiring)
        self._claims: dict[NamedTarget, list[Candidate]] = defaultdict(list)
        self._matched: set[Position] = set()
        self._missed: dict[Position, str] = {}

    def apply_bindings(self) -> None:
        """Apply the bindings of all levels; those of one element in document order."""
        for bound in _bindings(self._tree):
            giver = bound.giver
            for given, entry in self._given_by(bound):
                self._apply(given, bound.path, entry, giver)

    def apply_file(self, file: FilePath | str) -> None:
        """Apply a parameter set from outside of the archive, like a last binding of the root system.

        Raises
        ------
        WrongValue
            None of its parameters matches a variable of the system.
        """
        document = Document(str(file), read_bytes(absolute(FilePath(file))))
        giver = ValueSource(Priority.FILE, position=Position(str(file)))
        parameters = list(
            read_set(document.root_as(ssv.ParameterSet), self._tree, "given by --parameters", StepKind.GIVEN)
        )
        for given in parameters:
            self._apply(given, self._targets.scope(given.full_name), None, giver)
        if parameters and not any(one.position in self._matched for one in parameters):
            names = [one.full_name for one in parameters]
            near = self._targets.similar(names[0])
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise WrongValue(f"{file}: the system has no variable that is called {abbreviated(names)}{hint}")

    def apply_start_values(self, start_values: Mapping[str, str]) -> None:
        """Apply start values: full names and values as text.

        Raises
        ------
        UnknownName
            The system has no such variable.
        InvalidValue
            The text is not a value of the type, or is outside the FMU's min and max, or the variable cannot be set.
        """
        for name, text in start_values.items():
            path = self._targets.scope(name)
            targets, shapes = self._targets.named(name, path), self._targets.shapes(name, path)
            if not targets and not shapes and (own := self._targets.in_other_case(name)) is not None:
                path = ()
                targets, shapes = self._targets.named(own, path), self._targets.shapes(own, path)
            if not targets and not shapes:
                raise unknown_variable(name, self._targets.similar(name), self._targets.why_unknown(name))
            for target in targets:
                self._override(name, text, target)
            for shape in dict.fromkeys(shapes):
                self._override_array(name, text, shape, path)

    def apply_sizes(self, start_values: Mapping[str, str]) -> None:
        """Apply integer start values, because some of them are sizes of arrays."""
        for name, text in start_values.items():
            for target in self._targets.named(name, self._targets.scope(name)):
                if target.settable and is_integer(target.type):
                    self._override(name, text, target)

    def _override(self, name: str, text: str, target: NamedTarget, detail: str = "") -> None:
        if not target.settable:
            raise InvalidValue(name, text, "no value: the FMU calculates this variable")
        value, unit = self._typed(name, text, target), unit_name(target.unit)
        _require_within(target.bounds, name, value)
        step = ProvenanceStep(StepKind.OVERRIDE, COMMAND_LINE, name, value, detail or f"{name}={text}", unit)
        self._claim(ValueSource(Priority.COMMAND_LINE), target, Assignment(target.signal, value, unit, (step,)))

    def _typed(self, name: str, text: str, target: NamedTarget) -> Value:
        """Value of a text, which may have a unit, in the unit of the target."""
        quantity = number_and_unit(text) if isinstance(text, str) and is_float(target.type) else None
        if quantity is None:
            return from_text(name, text, target.type, target.items)
        source = self._unit(quantity[1])
        if target.unit is None:
            raise InvalidValue(name, text, "a number without a unit, as the variable has none")
        if source is None:
            like = f"'{quantity[0]} {target.unit.name}'"
            raise InvalidValue(name, text, f"a number, or a number with a unit, such as {like}")
        try:
            return conversion(source, target.unit, target.relative)(float(quantity[0]))
        except IncompatibleUnits:
            wanted = f"a value in {target.unit.name}, to which {source.name} cannot be converted"
            raise InvalidValue(name, text, wanted) from None

    def _unit(self, name: str) -> PhysicalUnit | None:
        """Unit with this name in the documents and FMUs of the system, otherwise derived from the name; None if
        unknown.
        """
        scopes = [place.scope.units for place in self._tree.systems]
        scopes += [place.scope.units for place in self._tree.components]
        for units in (*scopes, *(place.fmu.units for place in self._tree.components)):
            if name in units and units[name].defined:
                return units[name]
        return unit_of_name(name)

    def _override_array(self, name: str, text: str, shape: Shape, path: ElementPath) -> None:
        """Set all elements; values are separated by white space, strings with white space are in quotes."""
        names = element_names(name, shape)
        texts = split_values(name, text)
        if len(texts) != len(names):
            raise InvalidValue(
                name, text, f"{counted(len(names), 'value')} for {shape_text(shape)}, separated by blanks"
            )
        for element, own in zip(names, texts, strict=True):
            for target in self._targets.named(element, path):
                self._override(element, own, target, f"{name}={text}" if len(names) <= _SHOWN else "")

    @cached_property
    def unmatched(self) -> tuple[Unmatched, ...]:
        """Parameters that match nothing in any binding of their set."""
        missed = {at: name for at, name in self._missed.items() if at not in self._matched}
        known = self._targets.names() if missed else ()
        near = {name: similar_names(name, known, asked=len(missed)) for name in dict.fromkeys(missed.values())}
        return tuple(Unmatched(at, name, near[name], self._targets.why_unknown(name)) for at, name in missed.items())

    def assignments(self) -> dict[Signal, Assignment]:
        """The winning values. Values of nested systems, and of parameters of the system, are passed on to connected
        variables.
        """
        claims: dict[Signal, list[Candidate]] = defaultdict(list)
        for target, claimed in self._claims.items():
            if _is_flat(target):
                claims[target.signal] += claimed
        for target, claimed in self._claims.items():
            if isinstance(target, SystemTarget) and self._hands_on(target):
                for assignment in self._through(target, settle(claimed)):
                    claims[assignment.target].append(Candidate(ValueSource(Priority.CONNECTION), assignment))
        return {signal: settle(claimed) for signal, claimed in claims.items()}

    def boundary_assignments(self) -> dict[Signal, Assignment]:
        """The winning values of the connectors of nested systems."""
        return {target.signal: settle(claims) for target, claims in self._claims.items() if not _is_flat(target)}

    def _hands_on(self, target: SystemTarget) -> bool:
        """True if a target is not a signal of the flat network, so that its value is passed on to connected
        variables.
        """
        return not _is_flat(target) or self._wiring.connectors[target.key].kind in _PARAMETERS

    def _claim(self, giver: ValueSource, target: NamedTarget, assignment: Assignment) -> None:
        self._claims[target].append(Candidate(giver, assignment))

    def _through(self, system: SystemTarget, assignment: Assignment) -> Iterator[Assignment]:
        """Pass the value of a system's connector on along its connections, unless the connector itself has a source."""
        if system.key in self._wiring.driven:
            return
        for flow in self._wiring.flows_from(system.key):
            variable = flow.destination.variable
            if variable is None:
                continue
            destination = flow.destination.signal
            carried = flow.conversion.carry(assignment.value)
            try:
                final = convert(str(destination), carried, variable.type, variable.items)
            except InvalidValue as problem:
                self._tree.refuse(flow.legs[-1].position, str(problem))
                continue
            chain = (*assignment.chain, *_steps(flow, assignment))
            yield Assignment(destination, final, unit_name(flow.destination.variable_unit), chain)

    def _given_by(self, bound: Bound) -> Iterator[tuple[PendingParameter, ssm.MappingEntry | None]]:
        """Values of a binding, by name after prefix and mapping."""
        binding = bound.binding
        parameters = self._parameter_set(bound)
        if parameters is None:
            return
        mapping = binding.parameter_mapping
        renamed = None if mapping is None else self._mapping(mapping, bound)
        if mapping is not None and renamed is None:
            return
        targets = {} if renamed is None else by_source(renamed)
        detail = f"bound to {dotted(bound.path) or 'the root system'} at {binding.position}"
        known = list(read_set(parameters, self._tree, detail))
        if renamed is not None and targets.keys().isdisjoint(binding.prefix + given.name for given in known):
            # A mapping may omit names; but if it contains none of them, the whole set is void.
            self._missed.update((given.position, ".".join((*bound.path, given.name))) for given in known)
        for given in known:
            if binding.prefix:
                name = binding.prefix + given.name
                given = given.after(StepKind.PREFIX, binding.position, repr(binding.prefix), name=name)
            if renamed is None:
                yield given, None
            for entry in targets.get(given.name, ()):
                detail = f"{given.name} → {entry.target}"
                yield given.after(StepKind.MAPPING, entry.position, detail, name=entry.target), entry

    def _apply(
        self, given: PendingParameter, path: ElementPath, entry: ssm.MappingEntry | None, giver: ValueSource
    ) -> None:
        targets = self._targets.named(given.full_name, path)
        at = given.position if entry is None else entry.position
        if not given.shape:
            targets = [target for target in targets if not target.is_element]
        shapes = self._targets.shapes(given.name, path)
        if wrong := [shape for shape in shapes if shape != given.shape]:
            self._mismatch(at, given, path, wrong[0])
            return
        if not shapes and given.shape and self._targets.named(given.name, path):
            self._mismatch(at, given, path, ())
            return
        if not targets:
            self._missed.setdefault(at, ".".join((*path, given.name)))
            return
        self._matched.add(at)
        for target in targets:
            if not target.settable:
                self._tree.refuse(
                    at, f"a value for {target}, which its FMU calculates", target.signal, ("SSD-PAR-017", "SSD-PAR-018")
                )
                continue
            try:
                assignment = converted_for(given, target, entry)
                self._claim(giver, target, assignment)
                if any(step.kind is StepKind.UNIT for step in assignment.chain):
                    self._tree.rely_on(given.unit, target.unit)
            except (IncompatibleUnits, InvalidValue) as problem:
                self._tree.refuse(
                    at, f"the value of {target}: {problem}", target.signal, ("SSD-PAR-021", "SSD-PAR-022")
                )

    def _mismatch(self, at: Position, given: PendingParameter, path: ElementPath, shape: Shape) -> None:
        self._matched.add(at)
        what = ".".join((*path, given.name))
        problem = f"the value of {what}: found {shape_text(given.shape)}, expected {shape_text(shape)}"
        signals = [target.signal for target in self._targets.named(given.name, path)]
        for signal in signals or (None,):
            self._tree.refuse(at, problem, signal, ("SSD-PAR-021",))

    def _parameter_set(self, bound: Bound) -> ssv.ParameterSet | None:
        binding = bound.binding
        if binding.type != PARAMETER_SET:
            return None  # rule SSD-PAR-006 reports other formats, which are skipped
        if binding.source is None:
            return binding.parameter_set
        return self._root(binding, binding.source, bound, ssv.ParameterSet)

    def _mapping(self, mapping: ssd.ParameterMapping, bound: Bound) -> ssm.ParameterMapping | None:
        if mapping.type != PARAMETER_MAPPING:
            return None
        if mapping.source is None:
            return mapping.inline
        return self._root(mapping, mapping.source, bound, ssm.ParameterMapping)

    def _root(
        self, element: ssd.ParameterBinding | ssd.ParameterMapping, source: str, bound: Bound, kind: type[R]
    ) -> R | None:
        archive, inside = bound.scope.archive, element.source_base is ssd.SourceBase.COMPONENT
        base = bound.base if inside else bound.scope.document.name
        try:
            if base is None:
                raise UnresolvableUri(source, "sourceBase='component' on an element that is not a component")
            return archive.document(archive.resolve(base, source)).root_as(kind)
        except (UnresolvableUri, MissingEntry, InvalidDocument) as problem:
            if inside:
                self._tree.refuse(element.position, f"the source {source!r} inside the component: {problem}")
            return None  # rules such as URI-002 and XML-001 report other problems


def _bindings(tree: Tree) -> Iterator[Bound]:
    """Every binding with its element; bindings of a host with the system that the host refers to."""
    for system in tree.systems:
        for binding in system.system.parameter_bindings:
            yield Bound(system.path, Priority.BINDING, binding, system.scope)
        if system.host is not None and system.host_scope is not None:
            # The SSDs of a package are at its root, so their base is also that of the package (AMB-10).
            base = system.scope.document.name
            for binding in system.host.parameter_bindings:
                yield Bound(system.path, Priority.HOST_BINDING, binding, system.host_scope, base)
    for component in tree.components:
        base = component.scope.archive.inside(component.source, MODEL_DESCRIPTION)
        for binding in component.component.parameter_bindings:
            yield Bound(component.path, Priority.BINDING, binding, component.scope, base)


_PARAMETERS = frozenset({"parameter", "structuralParameter"})


def _is_flat(target: NamedTarget) -> bool:
    """True if a target is in the flat network: it belongs to a component or to the root system."""
    return isinstance(target, VariableTarget) or target.key.of_root


def _steps(flow: Flow, assignment: Assignment) -> Iterator[ProvenanceStep]:
    """The legs of a flow as provenance steps of its value."""
    value, unit = assignment.value, assignment.unit
    for leg in flow.legs:
        value = leg.conversion.carry(value)
        unit = unit if leg.units is None else leg.units[1]
        kind = StepKind.UNIT if leg.kind is LegKind.VARIABLE else StepKind.CONNECTION
        yield ProvenanceStep(kind, leg.position, str(leg.destination), value, _detail(leg), unit)


def _detail(leg: Leg) -> str:
    units = "" if leg.units is None else f"{leg.units[0]} → {leg.units[1]}"
    transformation = "" if leg.transformation == IDENTITY else str(leg.transformation)
    return ", then ".join(filter(None, (units, transformation)))


def _require_within(bounds: tuple[float, float], name: str, value: Value) -> None:
    if not allowed(value, bounds):
        raise InvalidValue(name, value, f"a number from {bounds_text(bounds)}, as its FMU says")
