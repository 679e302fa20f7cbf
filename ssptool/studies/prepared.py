"""A system prepared for the runs of one configuration, and the settings of these runs.

The system is open, planned, and ready for the values of a point. Some settings are fixed, others depend on a factor.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

from ssptool.arguments import seconds
from ssptool.documents.archive import Archive
from ssptool.documents.document import Document
from ssptool.documents.ssd import SystemStructureDescription
from ssptool.editing.editor import Editor
from ssptool.editing.replace import SameFmu
from ssptool.engine.assembly.instances import Sources, with_libraries
from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.make_plan import planned
from ssptool.engine.run.manifest import Override, replaced_value
from ssptool.engine.settings import BY_NEED, Kind, Settings, present_names, settings_by_name
from ssptool.errors import WrongValue, similar_names
from ssptool.fmu.description import Causality, Value
from ssptool.fmu.units import Exponents, PhysicalUnit, named
from ssptool.network.connectors import flat_connectors
from ssptool.network.conversion import InvalidValue, allowed, bounds_text, conversion, document_units, from_text
from ssptool.network.network import Conversion
from ssptool.network.targets import NamedTarget, Targets, VariableTarget, unknown_variable
from ssptool.network.tree import build_tree
from ssptool.network.wiring import Wiring
from ssptool.rules.selection import Acceptance, accepted_codes
from ssptool.studies.definition import Factor, FactorRole, Points, Study
from ssptool.studies.designs import FactorValue, value_text
from ssptool.studies.entries import StudyEntries
from ssptool.studies.expressions import unknown

LOGS = ("log_loops", "log_coupling")
"""Settings of files that every run would write; a study keeps traces instead."""

FMU_LOG = "fmu_log"
FMU_LOGS = (FMU_LOG, "fmu_log_level", "fmu_log_categories")
"""Settings of a message file for each run, which cannot be varied."""

KINDS = {name: setting.kind for name, setting in settings_by_name(Settings).items() if name not in LOGS}
"""Settings that a study may set or vary → kind of value."""

SETTINGS = tuple(KINDS)
BY_NAME = (Kind.COUNTS, Kind.NUMBERS, Kind.TIMES)
"""Kinds of settings that are tables."""
_EXAMPLES = {Kind.COUNTS: "System1", Kind.NUMBERS: "absolute", Kind.TIMES: "System1.v1"}


def read_settings(entries: StudyEntries, folder: Path) -> Settings:
    """Fixed settings, as far as they are valid; paths are relative to `folder`."""
    found: dict[str, Any] = {}
    try:
        keys = present_names({name: name for name in entries.names()}, "settings.{}".format)
        found = {name: value for name, key in keys.items() if (value := _fixed(entries, name, key)) is not None}
        if FMU_LOG in found:
            found[FMU_LOG] = (folder / found[FMU_LOG]).absolute()
        return Settings(**found)
    except ValueError as error:
        name = str(error).split()[0]
        entries.find(name if name in found else "", str(error))
        return Settings()


def _fixed(entries: StudyEntries, name: str, key: str) -> Any:
    """Value of a setting in its type, from this key of the file; None, with a finding, if it has another type."""
    if name not in SETTINGS:
        entries.find(key, unknown("setting", name, SETTINGS) if "." in name else setting_problem(name))
        return None
    return _READERS[KINDS[name]](entries, key)


def _table(read: Callable[[StudyEntries, str], Any]) -> Callable[[StudyEntries, str], Any]:
    """Reader of a nested table that keeps entries of the right type."""

    def entries_of(entries: StudyEntries, name: str) -> dict[str, Any]:
        inside = entries.table(name)
        return {key: value for key in inside.names() if (value := read(inside, key)) is not None}

    return entries_of


def _one_or_table(read: Callable[[StudyEntries, str], Any]) -> Callable[[StudyEntries, str], Any]:
    """Reader of a value for all components, or a table by component."""
    return lambda entries, name: (_table(read) if isinstance(entries.take(name), Mapping) else read)(entries, name)


def _bonds(entries: StudyEntries, name: str) -> tuple[tuple[str, str], ...] | None:
    """Power bonds: `[["System1.v1", "System2.F"]]`, or strings as on the command line: `["System1.v1,System2.F"]`."""
    value = entries.take(name)
    try:
        return tuple(_bond(each) for each in (value if isinstance(value, list | tuple) else [value]))
    except ValueError as error:
        entries.find(name, str(error))
        return None


def _count_or_need(entries: StudyEntries, name: str) -> int | str | None:
    return BY_NEED if entries.take(name) == BY_NEED else entries.count(name)


_READERS: Mapping[Kind, Callable[[StudyEntries, str], Any]] = {
    Kind.TIME: StudyEntries.time,
    Kind.NUMBER: StudyEntries.number,
    Kind.COUNT: lambda entries, name: entries.count(name, 0),
    Kind.WORD: StudyEntries.text,
    Kind.FILE: StudyEntries.text,
    Kind.COUNTS: _table(_count_or_need),
    Kind.NUMBERS: _table(StudyEntries.number),
    Kind.TIMES: _table(StudyEntries.time),
    Kind.PAIRS: _bonds,
    Kind.PROCESSES: StudyEntries.take,  # a word or a count; `Settings` checks it
    Kind.LEVELS: _one_or_table(StudyEntries.text),
    Kind.CATEGORIES: _one_or_table(StudyEntries.texts),
}
"""Kind of a setting → reader of its value in a study file."""


def fmu_log_of_run(settings: Settings, number: int) -> Settings:
    """Settings with a separate file for the messages of this run: `fmu.csv` becomes `fmu-17.csv`."""
    path = settings.fmu_log
    return settings if path is None else replace(settings, fmu_log=path.with_stem(f"{path.stem}-{number}"))


def _bond(given: Any) -> tuple[str, str]:
    parts = [part.strip() for part in given.split(",")] if isinstance(given, str) else given
    if not isinstance(parts, list | tuple) or len(parts) != 2 or not all(isinstance(p, str) and p for p in parts):
        raise WrongValue(f'found {given!r}, expected two names of signals, as ["System1.v1", "System2.F"]')
    return parts[0], parts[1]


def setting_problem(name: str) -> str:
    """Reason why a factor cannot vary a setting of this name; empty if it can. `substeps.System1` is inside of a
    table.
    """
    base, _, inside = name.partition(".")
    if base in LOGS:
        return f"{base} cannot be set in a study, whose runs would all write it"
    if base in FMU_LOGS:
        return f"{base} cannot be varied; state it in [settings]"
    if base not in SETTINGS or (inside and KINDS[base] not in BY_NAME):
        return unknown("setting", name, SETTINGS)
    if KINDS[base] in BY_NAME and not inside:
        return f"{base} has several values; name one, as {base}.{_EXAMPLES[KINDS[base]]}"
    return ""


def changed(settings: Settings, name: str, value: FactorValue) -> Settings:
    """These settings with one value replaced by that of a factor.

    Raises
    ------
    WrongValue
        The value is not valid for this setting.
    """
    base, _, inside = name.partition(".")
    kind = KINDS[base]
    if kind is Kind.WORD:
        typed: Any = _typed(value, str, f"{name} is one of its words")
    elif kind is Kind.PAIRS:
        typed = tuple(_bond(each) for each in str(value).split(";"))
    elif kind in (Kind.TIME, Kind.TIMES):
        typed = seconds(name, value)
    elif kind is Kind.PROCESSES and isinstance(value, str):
        typed = value
    elif kind in (Kind.NUMBER, Kind.NUMBERS):
        typed = _typed(value, float, f"{name} is a number")
    else:
        typed = _typed(value, int, f"{name} is a whole number")
    if inside:
        typed = {**getattr(settings, base), inside: typed}
    return replace(settings, **{base: typed})


def _typed(value: FactorValue, kind: type, said: str) -> Any:
    if kind is str and isinstance(value, str):
        return value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is float and number:
        return float(value)
    # All numbers of a column have the same type, which may be the type of real numbers.
    if kind is int and number and float(value).is_integer():
        return int(value)
    raise WrongValue(f"{said}; found {value!r}")


Point = Mapping[str, FactorValue]
Selection = Callable[[Plan], Plan]
"""Function that returns a plan which records some signals."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """Choices of a run in addition to parameter values; `fmus` are pairs (component, file)."""

    variant: str | None = None
    fmus: tuple[tuple[str, str], ...] = ()
    parameters: tuple[str, ...] = ()
    settings: tuple[tuple[str, FactorValue], ...] = ()


def configuration(study: Study, point: Point) -> Configuration:
    """Configuration of a run at a point."""
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
    """Settings of a configuration. Raises ValueError."""
    settings = study.settings
    for name, value in wanted.settings:
        settings = changed(settings, name, value)
    return settings


@dataclass(frozen=True, slots=True)
class Setter:
    """Connection from a factor to one variable."""

    factor: str
    name: str
    target: NamedTarget
    conversion: Conversion

    def text(self, value: FactorValue) -> str:
        """Text for `--set`, in the unit of the variable."""
        if isinstance(value, bool | str) or self.conversion == Conversion():
            return value_text(value)
        return value_text(self.conversion(float(value)))

    def value(self, value: FactorValue) -> Value:
        """Value in the type of the variable.

        Raises
        ------
        InvalidValue
            It does not have this type, or the FMU does not allow it.
        """
        found = from_text(self.name, self.text(value), self.target.type, self.target.items)
        if not allowed(found, self.target.bounds):
            raise InvalidValue(self.name, found, f"a number from {bounds_text(self.target.bounds)}, as its FMU says")
        return found


class PreparedSystem:
    """System of one configuration; a context manager. An `archive` that is already open can be passed, and stays open.

    Attributes
    ----------
    setters
        Setters of all factors that set variables.
    problems
        Factors that cannot be used, with the reason: they match no variable, or a variable with an incompatible unit.

    Raises
    ------
    InvalidDocument, UnknownName, EditError, UnreadableFmu, OSError
        The system cannot be opened in this configuration.
    """

    def __init__(self, study: Study, wanted: Configuration, archive: Archive | None = None) -> None:
        self.study = study
        self.wanted = wanted
        self._stack = ExitStack()
        self._plans: dict[tuple[tuple[tuple[str, str], ...], Selection | None], Plan] = {}
        self._sources: Sources | None = None
        with ExitStack() as stack:
            opened = archive or stack.enter_context(Archive.open(study.system, outside=study.switches.outside))
            self.archive = opened
            self.structure: Document = self.archive.structure(wanted.variant)
            if wanted.fmus:
                editor = Editor(self.archive, self.structure)
                stack.callback(editor.close)
                for component, file in wanted.fmus:
                    with suppress(SameFmu):  # one of the values may be the present FMU
                        editor.replace(component, study.file(file))
            self._stack = stack.pop_all()
        tree = build_tree(self.archive, self.structure)
        wiring = Wiring(tree, flat_connectors(tree))
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
        """The same open system with other settings; `close` of the original closes it."""
        other = copy(self)
        other.wanted = replace(self.wanted, settings=settings)
        other._plans = {}
        return other

    def with_fixed(self, settings: Settings) -> Self:
        """The same open system with exactly these settings; `close` of the original closes it."""
        other = self.with_settings(())
        other.study = replace(self.study, settings=settings)
        return other

    def variables(self) -> Collection[str]:
        """Names that factors and start values may have."""
        return self._targets.names()

    def variable(self, name: str) -> str:
        """Name of a variable, compared regardless of case.

        Raises
        ------
        UnknownName
            The variable does not exist; the message lists similar names.
        AmbiguousName
            Several variables match in different case.
        """
        if self._targets.named(name, self._targets.scope(name)):
            return name
        if (own := self._targets.in_other_case(name)) is not None and self._targets.named(own, ()):
            return own
        near = similar_names(name, self._targets.names()) if own is None else (own,)
        raise unknown_variable(name, near, self._targets.why_unknown(name))

    def plan(self, point: Point, selection: Selection | None = None) -> Plan:
        """The plan of a run at a point, with the selected signals (default: all exchanged signals).

        Most factors are parameters of FMUs, which are only start values in a plan that is shared by all points. For
        other factors, a separate plan is made.

        Raises
        ------
        InvalidValue
            Also all exceptions of `make_plan`.
        """
        direct = [setter for setter in self.setters if self.is_direct(setter)]
        others = tuple((s.name, s.text(point[s.factor])) for s in self.setters if not self.is_direct(s))
        if (others, selection) not in self._plans:
            made = self._make(dict(others))
            kept = {key: plan for key, plan in self._plans.items() if key[0] == others}
            self._plans = {**kept, (others, selection): made if selection is None else selection(made)}
        plan = self._plans[others, selection]
        starts: dict[str, dict[str, Value]] = {}
        for setter in direct:
            signal = setter.target.signal
            starts.setdefault(signal.component, {})[signal.variable] = setter.value(point[setter.factor])
        instances = tuple(
            replace(one, starts=MappingProxyType({**one.starts, **starts[one.name]})) if one.name in starts else one
            for one in plan.instances
        )
        return replace(plan, instances=instances)

    def overrides(self, point: Point) -> tuple[Override, ...]:
        """Values of a point that are contained in its plan only as start values of FMUs."""
        network = self.plan(point).network
        return tuple(
            replaced_value(network, setter.target.signal, setter.value(point[setter.factor]), f"factor {setter.factor}")
            for setter in self.setters
            if self.is_direct(setter)
        )

    def base_plan(self) -> Plan:
        """The plan of the configuration without the values of a point. Raises as `make_plan`."""
        return self._make({})

    def sources(self, plan: Plan) -> Sources:
        """Sources of the FMUs for the runs of a plan, with compiled libraries if the study allows that. Raises
        UnusableFmu.
        """
        if self._sources is None:
            self._sources = with_libraries(plan, self.archive)[1] if self.study.compile else self.archive
        return self._sources

    def is_direct(self, setter: Setter) -> bool:
        """True if a value goes to one FMU only, and no decision depends on it: for a parameter."""
        target = setter.target
        if self.study.scenario is not None:
            return False  # such a value may return to the one in the base plan
        parameter = isinstance(target, VariableTarget) and target.variable.causality is Causality.PARAMETER
        return parameter and not target.is_element

    def own_value(self, factor: Factor) -> FactorValue | None:
        """Value of the (first) variable of a factor in the system itself, in the unit of the factor."""
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
        for name in map(self.variable, factor.sets):
            for target in self._targets.named(name, self._targets.scope(name)):
                if not target.settable:
                    raise WrongValue(f"{name} takes no value: its FMU calculates this variable")
                if (other := next((s for s in self.setters if s.target.signal == target.signal), None)) is not None:
                    raise WrongValue(f"{name} is set by {other.factor!r} already")
                yield Setter(factor.name, name, target, self._conversion(factor, target))

    def _conversion(self, factor: Factor, target: NamedTarget) -> Conversion:
        if factor.unit is not None and factor.unit not in self.units:
            known = ", ".join(sorted(self.units)) or "none"
            raise WrongValue(f"the unit {factor.unit!r} is not known; known are {known}, and what [units] defines")
        return conversion(named(self.units, factor.unit), target.unit, target.relative)

    def _units(self, of_fmus: Iterator[Mapping[str, PhysicalUnit]]) -> dict[str, PhysicalUnit]:
        found = {name: _unit(name, parts) for name, parts in self.study.units.items()}
        own = document_units(self.structure.root_as(SystemStructureDescription))
        for units in (own, *of_fmus):
            for name, unit in units.items():
                if name not in found or found[name].exponents is None:
                    found[name] = unit
        return found


def _unit(name: str, parts: Mapping[str, float]) -> PhysicalUnit:
    exponents = Exponents(**{key: int(value) for key, value in parts.items() if key not in ("factor", "offset")})
    return PhysicalUnit(name, exponents, parts.get("factor", 1.0), parts.get("offset", 0.0))
