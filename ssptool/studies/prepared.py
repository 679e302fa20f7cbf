"""A system prepared for the runs of one configuration: open, planned, ready for the values of a point."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from ssptool.documents.archive import Archive
from ssptool.documents.document import Document
from ssptool.documents.ssd import SystemStructureDescription
from ssptool.editing.editor import Editor
from ssptool.editing.replace import SameFmu
from ssptool.engine.choices.make_plan import planned
from ssptool.engine.planning.plan import Plan
from ssptool.engine.settings import Settings
from ssptool.errors import WrongValue
from ssptool.fmu.description import Causality, Exponents, Unit, Value, named
from ssptool.network.connectors import terminals
from ssptool.network.conversion import InvalidValue, conversion, document_units, from_text
from ssptool.network.near import near_misses
from ssptool.network.network import Conversion
from ssptool.network.targets import Target, Targets, UnknownName, VariableTarget
from ssptool.network.tree import build_tree
from ssptool.network.wiring import Wiring
from ssptool.rules.selection import Acceptance, accepted_codes, find_settings
from ssptool.studies.definition import Factor, FactorRole, Points, Study
from ssptool.studies.factor_sources import FactorValue
from ssptool.studies.run_settings import changed
from ssptool.studies.study_file import value_text

Point = Mapping[str, FactorValue]


@dataclass(frozen=True, slots=True)
class Configuration:
    """What of a run is more than values of parameters; `fmus` are pairs (component, file)."""

    variant: str | None = None
    fmus: tuple[tuple[str, str], ...] = ()
    parameters: tuple[str, ...] = ()
    settings: tuple[tuple[str, FactorValue], ...] = ()


def configuration(study: Study, point: Point) -> Configuration:
    """That of a run at a point."""
    of = {role: [factor for factor in study.factors if factor.role is role] for role in FactorRole}
    variants = [str(point[factor.name]) for factor in of[FactorRole.VARIANT]]
    return Configuration(
        variants[-1] if variants else study.variant,
        tuple((factor.of[0], str(point[factor.name])) for factor in of[FactorRole.FMU]),
        tuple(str(point[factor.name]) for factor in of[FactorRole.PARAMETERS]),
        tuple((factor.of[0], point[factor.name]) for factor in of[FactorRole.SETTING]),
    )


def configurations(study: Study, points: Points) -> dict[Configuration, Sequence[int]]:
    """Every configuration of a study, with the numbers of its runs."""
    deciding = [f for f in study.factors if f.role not in (FactorRole.VARIABLE, FactorRole.FREE)]
    if not deciding:
        return {configuration(study, points.at(0)): range(len(points))}
    rows: dict[tuple[FactorValue, ...], list[int]] = {}
    for number, values in enumerate(zip(*(points.columns[f.name] for f in deciding), strict=True)):
        rows.setdefault(values, []).append(number)
    return {configuration(study, points.at(numbers[0])): numbers for numbers in rows.values()}


def settings_of(study: Study, wanted: Configuration) -> Settings:
    """Raises ValueError."""
    settings = study.settings
    for name, value in wanted.settings:
        settings = changed(settings, name, value)
    return settings


@dataclass(frozen=True, slots=True)
class Setter:
    """How the value of a factor reaches one variable."""

    factor: str
    name: str
    target: Target
    conversion: Conversion

    def text(self, value: FactorValue) -> str:
        """As `--set` takes it, in the unit of the variable."""
        if isinstance(value, bool | str) or self.conversion == Conversion():
            return value_text(value)
        return value_text(self.conversion(float(value)))

    def value(self, value: FactorValue) -> Value:
        """Of the type of the variable.

        Raises
        ------
        InvalidValue
            It is none, or one that the FMU does not allow.
        """
        found = from_text(self.name, self.text(value), self.target.type, self.target.items)
        lowest, highest = self.target.bounds
        if isinstance(found, int | float) and not lowest <= found <= highest:
            raise InvalidValue(self.name, found, f"a number from {lowest:g} to {highest:g}, as its FMU says")
        return found


class PreparedSystem:
    """A context manager; `files` says where the files of values are.

    Attributes
    ----------
    setters
        Of all factors that set variables.
    problems
        Factors that cannot be used, and why: those of them that name no variable, or one in another unit.

    Raises
    ------
    InvalidDocument, UnknownVariant, EditError, UnreadableFmu, OSError
        The system cannot be opened as the configuration wants it.
    """

    def __init__(self, study: Study, wanted: Configuration) -> None:
        self.study = study
        self.wanted = wanted
        self._stack = ExitStack()
        self._plans: dict[tuple[tuple[str, str], ...], Plan] = {}
        with ExitStack() as stack:
            self.archive = stack.enter_context(
                Archive.open(study.system, outside=find_settings(study.system).allow_outside)
            )
            self.structure: Document = self.archive.structure(wanted.variant)
            if wanted.fmus:
                editor = Editor(self.archive, self.structure)
                stack.callback(editor.close)
                for component, file in wanted.fmus:
                    with suppress(SameFmu):  # one of the values may be what is there
                        editor.replace(component, study.file(file))
            self._stack = stack.pop_all()
        tree = build_tree(self.archive, self.structure)
        wiring = Wiring(tree, terminals(tree))
        self._targets = Targets(tree, wiring)
        self.units = self._units(place.fmu.units for place in tree.components)
        self.setters: tuple[Setter, ...] = ()
        self.problems: dict[str, str] = {}
        for factor in study.factors:
            try:
                self.setters += tuple(self._setters(factor))
            except (LookupError, ValueError) as problem:
                self.problems[factor.name] = str(problem)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the archive."""
        self._stack.close()

    def with_settings(self, settings: tuple[tuple[str, FactorValue], ...]) -> Self:
        """The same, open system; `close` of the original closes it."""
        other = copy(self)
        other.wanted = replace(self.wanted, settings=settings)
        other._plans = {}
        return other

    def plan(self, point: Point) -> Plan:
        """The plan of a run at a point.

        Most factors are parameters of FMUs, which are nothing but start values in a plan that serves all points; for
        others a plan is made.

        Raises
        ------
        InvalidValue, and as `make_plan`.
        """
        direct = [setter for setter in self.setters if self.is_direct(setter)]
        others = tuple((s.name, s.text(point[s.factor])) for s in self.setters if not self.is_direct(s))
        if others not in self._plans:
            self._plans = {others: self._make(dict(others))}
        plan = self._plans[others]
        starts: dict[str, dict[str, Value]] = {}
        for setter in direct:
            signal = setter.target.signal
            starts.setdefault(signal.component, {})[signal.variable] = setter.value(point[setter.factor])
        instances = tuple(
            replace(one, starts=MappingProxyType({**one.starts, **starts[one.name]})) if one.name in starts else one
            for one in plan.instances
        )
        return replace(plan, instances=instances)

    def base_plan(self) -> Plan:
        """The plan of the configuration without the values of a point. Raises as `make_plan`."""
        return self._make({})

    def is_direct(self, setter: Setter) -> bool:
        """Whether a value goes to one FMU and nowhere else, and decides nothing: that of a parameter."""
        target = setter.target
        if self.study.scenario is not None:
            return False  # which may go back to the value that the plan began with
        parameter = isinstance(target, VariableTarget) and target.variable.causality is Causality.PARAMETER
        return parameter and not target.is_element

    def own_value(self, factor: Factor) -> FactorValue | None:
        """What the system itself gives the (first) variable of a factor, in the unit of the factor."""
        setter = next((setter for setter in self.setters if setter.factor == factor.name), None)
        if setter is None:
            return None
        network = self._make({}).network
        given = network.assignments.get(setter.target.signal)
        value = given.value if given is not None else None
        if value is None and isinstance(setter.target, VariableTarget):
            value = setter.target.variable.start
        if isinstance(value, float) and setter.conversion.factor:
            return (value - setter.conversion.offset) / setter.conversion.factor
        return value if isinstance(value, bool | int | float | str) else None

    def _make(self, start_values: Mapping[str, str]) -> Plan:
        study = self.study
        return planned(
            self.archive,
            self.structure,
            parameters=[*study.parameters, *(study.file(name) for name in self.wanted.parameters)],
            start_values={**study.start_values, **start_values},
            settings=settings_of(study, self.wanted),
            inputs=[Path(path) for path in study.inputs] or None,
            scenario=study.scenario,
            accepted=Acceptance(codes=accepted_codes(study.accept)),
        )

    def _setters(self, factor: Factor) -> Iterator[Setter]:
        for name in factor.sets:
            targets = self._targets.named(name, ())
            if not targets:
                raise UnknownName(name, near_misses([name], self._targets.names())[name])
            for target in targets:
                if not target.settable:
                    raise WrongValue(f"{name} takes no value: its FMU calculates this variable")
                yield Setter(factor.name, name, target, self._conversion(factor, target))

    def _conversion(self, factor: Factor, target: Target) -> Conversion:
        if factor.unit is not None and factor.unit not in self.units:
            known = ", ".join(sorted(self.units)) or "none"
            raise WrongValue(f"the unit {factor.unit!r} is not known; known are {known}, and what [units] defines")
        return conversion(named(self.units, factor.unit), target.unit, target.relative)

    def _units(self, of_fmus: Iterator[Mapping[str, Unit]]) -> dict[str, Unit]:
        found = {name: _unit(name, parts) for name, parts in self.study.units.items()}
        own = document_units(self.structure.root_as(SystemStructureDescription))
        for units in (own, *of_fmus):
            for name, unit in units.items():
                if name not in found or found[name].exponents is None:
                    found[name] = unit
        return found


def _unit(name: str, parts: Mapping[str, float]) -> Unit:
    exponents = Exponents(**{key: int(value) for key, value in parts.items() if key not in ("factor", "offset")})
    return Unit(name, exponents, parts.get("factor", 1.0), parts.get("offset", 0.0))
