"""Parameters: which value every variable gets, and how it came about (SSP 2.0 §5.2.3; catalogue §1.6)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path as FilePath
from typing import NamedTuple, TypeVar

from ssptool.documents import ssd, ssm, ssv
from ssptool.documents.archive import UnresolvableUri
from ssptool.documents.diagnostics import InvalidDocument, Position
from ssptool.documents.document import Document
from ssptool.documents.element import Element
from ssptool.documents.entries import MissingEntry
from ssptool.documents.media_types import PARAMETER_MAPPING, PARAMETER_SET
from ssptool.fmu.description import Value
from ssptool.fmu.packed import MODEL_DESCRIPTION
from ssptool.fmu.shapes import Shape, element_names, in_words
from ssptool.network.given import Given, by_source, read_set, suited, unit_name
from ssptool.network.near import UnknownName, near_misses
from ssptool.network.network import Assignment, ProvenanceStep, StepKind, Unmatched
from ssptool.network.places import Path, Scope, Tree, dotted
from ssptool.network.precedence import Authority, Claim, Giver, settle
from ssptool.network.signals import IDENTITY, Leg, LegKind, Signal
from ssptool.network.targets import SystemTarget, Target, Targets, VariableTarget
from ssptool.network.types import is_integer
from ssptool.network.units import IncompatibleUnits
from ssptool.network.values import InvalidValue, convert, from_text, split_values
from ssptool.network.wiring import Flow, Wiring
from ssptool.working_directory import absolute

R = TypeVar("R", bound=Element)

COMMAND_LINE = Position("--set")
_SHOWN = 10
"""As many values of an array are repeated in the provenance of each of them."""


class Bound(NamedTuple):
    """A binding of the element at `path`; `base` is the entry to which sources "inside the component" are relative."""

    path: Path
    authority: Authority
    binding: ssd.ParameterBinding
    scope: Scope
    base: str | None = None

    @property
    def giver(self) -> Giver:
        return Giver(self.authority, len(self.path), dotted(self.path), self.binding.position)


class Parameterization:
    """Collects the values of bindings, files and start_values; see `precedence` for which one wins."""

    def __init__(self, tree: Tree, wiring: Wiring) -> None:
        self._tree = tree
        self._wiring = wiring
        self._targets = Targets(tree, wiring)
        self._claims: dict[Target, list[Claim]] = defaultdict(list)
        self._matched: set[Position] = set()
        self._missed: dict[Position, str] = {}

    def apply_bindings(self) -> None:
        """The bindings of all levels; on one element in document order."""
        for bound in _bindings(self._tree):
            giver = bound.giver
            for given, entry in self._given_by(bound):
                self._apply(given, bound.path, entry, giver)

    def apply_file(self, file: FilePath | str) -> None:
        """A parameter set from outside the archive, as if bound last to the root system."""
        document = Document(str(file), absolute(FilePath(file)).read_bytes())
        giver = Giver(Authority.FILE, position=Position(str(file)))
        for given in read_set(document.root_as(ssv.ParameterSet), self._tree, "given in addition"):
            self._apply(given, (), None, giver)

    def apply_start_values(self, start_values: Mapping[str, str]) -> None:
        """Full names and values as text.

        Raises
        ------
        UnknownName
            There is no such variable.
        InvalidValue
            The text is no value of its type, it is outside of the FMU's min and max, or the variable takes none.
        """
        for name, text in start_values.items():
            targets, shapes = self._targets.named(name, ()), self._targets.shapes(name, ())
            if not targets and not shapes:
                raise UnknownName(name, near_misses([name], self._targets.names())[name])
            for target in targets:
                self._override(name, text, target)
            for shape in dict.fromkeys(shapes):
                self._override_array(name, text, shape)

    def apply_sizes(self, start_values: Mapping[str, str]) -> None:
        """Of the start_values those that give integers to what there is: some of them size arrays."""
        for name, text in start_values.items():
            for target in self._targets.named(name, ()):
                if target.settable and is_integer(target.type):
                    self._override(name, text, target)

    def _override(self, name: str, text: str, target: Target, detail: str = "") -> None:
        if not target.settable:
            raise InvalidValue(name, text, "no value at all: its FMU calculates this variable")
        value, unit = from_text(name, text, target.type, target.items), unit_name(target.unit)
        _require_within(target.bounds, name, value)
        step = ProvenanceStep(StepKind.OVERRIDE, COMMAND_LINE, name, value, detail or f"{name}={text}", unit)
        self._claim(Giver(Authority.COMMAND_LINE), target, Assignment(target.signal, value, unit, (step,)))

    def _override_array(self, name: str, text: str, shape: Shape) -> None:
        """All elements, their values apart by white space; quotes keep a text with white space together."""
        names = element_names(name, shape)
        texts = split_values(name, text)
        if len(texts) != len(names):
            raise InvalidValue(name, text, f"{len(names)} values for {in_words(shape)}, apart by blanks")
        for element, own in zip(names, texts, strict=True):
            for target in self._targets.named(element, ()):
                self._override(element, own, target, f"{name}={text}" if len(names) <= _SHOWN else "")

    @cached_property
    def unmatched(self) -> tuple[Unmatched, ...]:
        """Parameters that set nothing, wherever their set is bound."""
        missed = {at: name for at, name in self._missed.items() if at not in self._matched}
        near = near_misses(missed.values(), self._targets.names()) if missed else {}
        return tuple(Unmatched(at, name, near[name]) for at, name in missed.items())

    def assignments(self) -> dict[Signal, Assignment]:
        """The winning values. Those of systems inside, and of parameters of the system, go on to the variables that
        they are connected to.
        """
        claims: dict[Signal, list[Claim]] = defaultdict(list)
        for target, claimed in self._claims.items():
            if _is_flat(target):
                claims[target.signal] += claimed
        for target, claimed in self._claims.items():
            if isinstance(target, SystemTarget) and self._hands_on(target):
                for assignment in self._through(target, settle(claimed)):
                    claims[assignment.target].append(Claim(Giver(Authority.CONNECTION), assignment))
        return {signal: settle(claimed) for signal, claimed in claims.items()}

    def boundary_assignments(self) -> dict[Signal, Assignment]:
        """The winning values of the connectors of systems inside."""
        return {target.signal: settle(claims) for target, claims in self._claims.items() if not _is_flat(target)}

    def _hands_on(self, target: SystemTarget) -> bool:
        """Whether what a value is given to is no signal of the flat network, so that the value has to go on now."""
        return not _is_flat(target) or self._wiring.terminals[target.key].kind in _PARAMETERS

    def _claim(self, giver: Giver, target: Target, assignment: Assignment) -> None:
        self._claims[target].append(Claim(giver, assignment))

    def _through(self, system: SystemTarget, assignment: Assignment) -> Iterator[Assignment]:
        """A value set on a system's connector is the source of its connections, unless it has one itself."""
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

    def _given_by(self, bound: Bound) -> Iterator[tuple[Given, ssm.MappingEntry | None]]:
        """The values of a binding under the names that they have after prefix and mapping."""
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
        for given in read_set(parameters, self._tree, detail):
            if binding.prefix:
                name = binding.prefix + given.name
                given = given.after(StepKind.PREFIX, binding.position, repr(binding.prefix), name=name)
            if renamed is None:
                yield given, None
            for entry in targets.get(given.name, ()):
                detail = f"{given.name} → {entry.target}"
                yield given.after(StepKind.MAPPING, entry.position, detail, name=entry.target), entry

    def _apply(self, given: Given, path: Path, entry: ssm.MappingEntry | None, giver: Giver) -> None:
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
                assignment = suited(given, target, entry)
                self._claim(giver, target, assignment)
                if any(step.kind is StepKind.UNIT for step in assignment.chain):
                    self._tree.rely_on(given.unit, target.unit)
            except (IncompatibleUnits, InvalidValue) as problem:
                self._tree.refuse(
                    at, f"the value of {target}: {problem}", target.signal, ("SSD-PAR-021", "SSD-PAR-022")
                )

    def _mismatch(self, at: Position, given: Given, path: Path, shape: Shape) -> None:
        self._matched.add(at)
        what = ".".join((*path, given.name))
        problem = f"the value of {what}: it is {in_words(given.shape)}, where {in_words(shape)} is needed"
        signals = [target.signal for target in self._targets.named(given.name, path)]
        for signal in signals or (None,):
            self._tree.refuse(at, problem, signal, ("SSD-PAR-021",))

    def _parameter_set(self, bound: Bound) -> ssv.ParameterSet | None:
        binding = bound.binding
        if binding.type != PARAMETER_SET:
            return None  # Other formats are skipped with a message of rule SSD-PAR-006.
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
                raise UnresolvableUri(source, "sourceBase='component' on what is no component")
            return archive.document(archive.resolve(base, source)).root_as(kind)
        except (UnresolvableUri, MissingEntry, InvalidDocument) as problem:
            if inside:
                self._tree.refuse(element.position, f"the source {source!r} inside the component: {problem}")
            return None  # Else reported by the rules URI-002, XML-001 and their like.


def _bindings(tree: Tree) -> Iterator[Bound]:
    """Every binding with its element, a host's with the element in whose place its system stands."""
    for system in tree.systems:
        for binding in system.system.parameter_bindings:
            yield Bound(system.path, Authority.BINDING, binding, system.scope)
        if system.host is not None and system.host_scope is not None:
            # The SSDs of a package are at its root, so that their base is that of the package as well (AMB-10).
            base = system.scope.document.name
            for binding in system.host.parameter_bindings:
                yield Bound(system.path, Authority.HOST_BINDING, binding, system.host_scope, base)
    for component in tree.components:
        base = component.scope.archive.inside(component.source, MODEL_DESCRIPTION)
        for binding in component.component.parameter_bindings:
            yield Bound(component.path, Authority.BINDING, binding, component.scope, base)


_PARAMETERS = frozenset({"parameter", "structuralParameter"})


def _is_flat(target: Target) -> bool:
    """Whether it is in the flat network: a component's, or the root system's."""
    return isinstance(target, VariableTarget) or target.key.of_root


def _steps(flow: Flow, assignment: Assignment) -> Iterator[ProvenanceStep]:
    """The legs of a flow as steps of the value that it carries."""
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
    lowest, highest = bounds
    if isinstance(value, int | float) and not lowest <= value <= highest:
        raise InvalidValue(name, value, f"a number from {lowest:g} to {highest:g}, as its FMU says")
