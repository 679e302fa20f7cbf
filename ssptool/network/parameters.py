"""Parameters: which value every variable gets, and how it came about (SSP 2.0 §5.2.3; catalogue §1.6)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path as FilePath
from typing import TypeAlias, TypeVar

from ssptool.documents import ssc, ssd, ssm, ssv
from ssptool.documents.archive import UnresolvableUri
from ssptool.documents.diagnostics import InvalidDocument, Position
from ssptool.documents.document import Document
from ssptool.documents.element import Element
from ssptool.documents.entries import MissingEntry
from ssptool.fmu.description import Value
from ssptool.fmu.units import Unit
from ssptool.network.network import Assignment, ProvenanceStep, StepKind, Unmatched
from ssptool.network.signals import Conversion, Signal
from ssptool.network.targets import SystemTarget, Target, Targets, VariableTarget
from ssptool.network.transform import transformed
from ssptool.network.tree import Path, Scope, Tree, dotted
from ssptool.network.units import IncompatibleUnits, conversion, document_units, named
from ssptool.network.values import InvalidValue, convert, from_text
from ssptool.network.wiring import Wiring

R = TypeVar("R", bound=Element)

COMMAND_LINE = Position("--set")
PARAMETER_SET = "application/x-ssp-parameter-set"
PARAMETER_MAPPING = "application/x-ssp-parameter-mapping"
NEAR_MISSES = 3
MOST_COMPARED = 2_000_000
"""Pairs of names that are compared at most in the search for near misses; beyond, none are given."""


class UnknownName(LookupError):
    """A name that is no variable of the system; `near` are names like it."""

    def __init__(self, name: str, near: tuple[str, ...]) -> None:
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        super().__init__(f"the system has no variable {name!r}{hint}")
        self.name = name
        self.near = near

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class Given:
    """A value on its way from a parameter set to its targets."""

    name: str
    value: Value
    type: str
    unit: Unit | None
    source_items: Mapping[str, int]
    position: Position
    chain: tuple[ProvenanceStep, ...]

    def after(self, kind: StepKind, position: Position, detail: str = "", **changes: object) -> "Given":
        """This value one step on; `changes` may set `name`, `value` and `unit`."""
        moved = replace(self, **changes)  # type: ignore[arg-type]
        step = ProvenanceStep(kind, position, moved.name, moved.value, detail)
        return replace(moved, chain=(*self.chain, step))


Winner: TypeAlias = tuple[Value, str | None, tuple[ProvenanceStep, ...]]


class Parameterization:
    """Collects the values of bindings, files and overrides; what is applied later wins."""

    def __init__(self, tree: Tree, wiring: Wiring) -> None:
        self._tree = tree
        self._wiring = wiring
        self._targets = Targets(tree, wiring)
        self._winners: dict[Target, Winner] = {}
        self._matched: set[Position] = set()
        self._missed: dict[Position, str] = {}

    def apply_bindings(self) -> None:
        """Inner levels first, so that outer ones win; on one element in document order."""
        for path, binding, scope in sorted(_bindings(self._tree), key=lambda found: -len(found[0])):
            for given, entry in self._given_by(binding, scope, path):
                self._apply(given, path, entry)

    def apply_file(self, file: FilePath) -> None:
        """A parameter set from outside the archive, as if bound last to the root system."""
        document = Document(str(file), file.read_bytes())
        for given in _read(document.root_as(ssv.ParameterSet), self._tree, "given in addition"):
            self._apply(given, (), None)

    def apply_overrides(self, overrides: Mapping[str, str]) -> None:
        """Full names and values as text.

        Raises
        ------
        UnknownName
            There is no such variable.
        InvalidValue
            The text is no value of its type, it is outside of the FMU's min and max, or the variable takes none.
        """
        for name, text in overrides.items():
            targets = self._targets.named(name, ())
            if not targets:
                raise UnknownName(name, self._near([name])[name])
            for target in targets:
                if not target.settable:
                    raise InvalidValue(name, text, "no value at all: its FMU calculates this variable")
                value = from_text(name, text, target.type, target.items)
                _require_within(target.bounds, name, value)
                step = ProvenanceStep(StepKind.OVERRIDE, COMMAND_LINE, name, value, f"{name}={text}")
                self._winners[target] = (value, _name(target.unit), (step,))

    @cached_property
    def unmatched(self) -> tuple[Unmatched, ...]:
        """Parameters that set nothing, wherever their set is bound."""
        missed = {at: name for at, name in self._missed.items() if at not in self._matched}
        near = self._near(list(missed.values()))
        return tuple(Unmatched(at, name, near[name]) for at, name in missed.items())

    def assignments(self) -> dict[Signal, Assignment]:
        """The winning values. Those of systems inside go on to the variables that they are connected to."""
        final: dict[Signal, Assignment] = {}
        for target, (value, unit, chain) in self._winners.items():
            if isinstance(target, VariableTarget) or not target.key.path:
                final[target.signal] = Assignment(target.signal, value, unit, chain)
        for target, (value, _, chain) in self._winners.items():
            if isinstance(target, SystemTarget) and target.key.path:
                for assignment in self._through(target, value, chain):
                    final[assignment.target] = assignment
        return final

    def _through(self, system: SystemTarget, value: Value, chain: tuple[ProvenanceStep, ...]) -> Iterator[Assignment]:
        """A value set on a system's connector is the source of its connections, unless it has one itself."""
        if system.key in self._wiring.driven:
            return
        for flow in self._wiring.flows_from(system.key):
            destination = Signal(dotted(flow.destination.key.path), flow.destination.key.connector)
            variable = flow.destination.variable
            if variable is None:
                continue
            carried = flow.conversion(value) if isinstance(value, float) else value
            position = flow.origin[-1] if flow.origin else system.position
            try:
                final = convert(str(destination), carried, variable.type, variable.items)
            except InvalidValue as problem:
                self._tree.refuse(position, str(problem))
                continue
            detail = f"connected to {system}"
            step = ProvenanceStep(StepKind.TRANSFORMATION, position, str(destination), final, detail)
            yield Assignment(destination, final, _name(flow.destination.variable_unit), (*chain, step))

    def _given_by(
        self, binding: ssd.ParameterBinding, scope: Scope, path: Path
    ) -> Iterator[tuple[Given, ssm.MappingEntry | None]]:
        """The values of a binding under the names that they have after prefix and mapping."""
        parameters = self._parameter_set(binding, scope)
        if parameters is None:
            return
        mapping = binding.parameter_mapping
        renamed = None if mapping is None else self._mapping(mapping, scope)
        if mapping is not None and renamed is None:
            return
        targets = {} if renamed is None else _by_source(renamed)
        detail = f"bound to {dotted(path) or 'the system'}"
        for given in _read(parameters, self._tree, detail):
            if binding.prefix:
                name = binding.prefix + given.name
                given = given.after(StepKind.PREFIX, binding.position, repr(binding.prefix), name=name)
            if renamed is None:
                yield given, None
            for entry in targets.get(given.name, ()):
                yield (
                    given.after(StepKind.MAPPING, entry.position, f"{given.name} → {entry.target}", name=entry.target),
                    entry,
                )

    def _apply(self, given: Given, path: Path, entry: ssm.MappingEntry | None) -> None:
        targets = self._targets.named(given.name, path)
        at = given.position if entry is None else entry.position
        if not targets:
            self._missed.setdefault(at, ".".join((*path, given.name)))
            return
        self._matched.add(at)
        for target in targets:
            if not target.settable:
                self._tree.refuse(at, f"a value for {target}, which its FMU calculates")
                continue
            try:
                self._winners[target] = _suited(given, target, entry)
            except (IncompatibleUnits, InvalidValue) as problem:
                self._tree.refuse(at, f"the value of {target}: {problem}")

    def _parameter_set(self, binding: ssd.ParameterBinding, scope: Scope) -> ssv.ParameterSet | None:
        if binding.type != PARAMETER_SET:
            return None  # Other formats are skipped with a message of rule SSD-PAR-006.
        if binding.source is None:
            return binding.parameter_set
        return self._root(binding, binding.source, binding.source_base, scope, ssv.ParameterSet)

    def _mapping(self, mapping: ssd.ParameterMapping, scope: Scope) -> ssm.ParameterMapping | None:
        if mapping.type != PARAMETER_MAPPING:
            return None
        if mapping.source is None:
            return mapping.inline
        return self._root(mapping, mapping.source, mapping.source_base, scope, ssm.ParameterMapping)

    def _root(self, element: Element, source: str, base: ssd.SourceBase, scope: Scope, kind: type[R]) -> R | None:
        if base is ssd.SourceBase.COMPONENT:
            self._tree.refuse(element.position, f"the source {source!r} inside a component's archive")
            return None
        try:
            document = scope.archive.document(scope.archive.resolve(scope.document.name, source))
            return document.root_as(kind)
        except (UnresolvableUri, MissingEntry, InvalidDocument):
            return None  # Reported by the rules URI-002, XML-001 and their like.

    def _near(self, names: list[str]) -> dict[str, tuple[str, ...]]:
        known = self._targets.names() if names else []
        if len(known) * len(names) > MOST_COMPARED:
            return dict.fromkeys(names, ())
        return {name: tuple(get_close_matches(name, known, NEAR_MISSES)) for name in names}


def _bindings(tree: Tree) -> Iterator[tuple[Path, ssd.ParameterBinding, Scope]]:
    """Every binding with its element; a host's follow those of the system that it refers to."""
    for system in tree.systems:
        for binding in system.system.parameter_bindings:
            yield system.path, binding, system.scope
        if system.host is not None and system.host_scope is not None:
            for binding in system.host.parameter_bindings:
                yield system.path, binding, system.host_scope
    for component in tree.components:
        for binding in component.component.parameter_bindings:
            yield component.path, binding, component.scope


def _read(parameters: ssv.ParameterSet, tree: Tree, detail: str = "") -> Iterator[Given]:
    """The parameters of a set that have a value; arrays are refused by name."""
    units = document_units(parameters)
    for parameter in parameters.parameters:
        value, position = parameter.value, parameter.position
        if isinstance(value, tuple) and (value or parameter.dimensions):
            tree.refuse(position, f"the array {parameter.name!r} in a parameter set")
        elif value is not None and value != ():
            yield Given(
                name=parameter.name,
                value=value,
                type=parameter.type_name or "",
                unit=named(units, parameter.unit),
                source_items=_items(parameter, parameters),
                position=position,
                chain=(ProvenanceStep(StepKind.BINDING, position, parameter.name, value, detail),),
            )


def _items(parameter: ssv.Parameter, parameters: ssv.ParameterSet) -> Mapping[str, int]:
    if not isinstance(parameter.type, ssv.Enumeration):
        return {}
    for enumeration in parameters.enumerations:
        if enumeration.name == parameter.type.name:
            return {item.name: item.value for item in enumeration.items}
    return {}


def _by_source(mapping: ssm.ParameterMapping) -> dict[str, list[ssm.MappingEntry]]:
    """A parameter may go to several targets; each starts from its original value."""
    entries: dict[str, list[ssm.MappingEntry]] = {}
    for entry in mapping.entries:
        entries.setdefault(entry.source, []).append(entry)
    return entries


def _suited(given: Given, target: Target, entry: ssm.MappingEntry | None) -> Winner:
    """Unit conversion, then transformation, then type conversion (§5.2.3, §7.1.1)."""
    at = given.position if entry is None else entry.position
    if isinstance(given.value, float) and not (entry is not None and entry.suppress_unit_conversion):
        change = conversion(given.unit, target.unit, target.relative)
        if change != Conversion():
            detail = f"{_name(given.unit)} → {_name(target.unit)}"
            given = given.after(StepKind.UNIT, at, detail, value=change(given.value), unit=target.unit)
    transformation: ssc.Transformation | None = None if entry is None else entry.transformation
    if transformation is not None:
        value, detail = transformed(given.value, transformation, given.source_items or target.items)
        given = given.after(StepKind.TRANSFORMATION, transformation.position, detail, value=value)
    value = convert(str(target), given.value, target.type, target.items)
    return value, _name(target.unit), given.chain


def _require_within(bounds: tuple[float, float], name: str, value: Value) -> None:
    lowest, highest = bounds
    if isinstance(value, int | float) and not lowest <= value <= highest:
        raise InvalidValue(name, value, f"a number from {lowest:g} to {highest:g}, as its FMU says")


def _name(unit: Unit | None) -> str | None:
    return None if unit is None else unit.name
