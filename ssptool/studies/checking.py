"""Whether a study can be carried out: everything that is wrong with it, found before the first run."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ssptool.dataclass import dataclass
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.engine.plan import Plan
from ssptool.engine.recording.patterns import NothingMatches, check_patterns, fits_any
from ssptool.engine.settings import Settings
from ssptool.engine.stimuli.findings import BadData, DataFinding
from ssptool.engine.unsupported import Unsupported
from ssptool.fmu.description import UnreadableFmu
from ssptool.network.values import InvalidValue
from ssptool.rules.runner import check as check_rules
from ssptool.studies.definition import Factor, Role, Study
from ssptool.studies.designs.table import Table
from ssptool.studies.expressions import FUNCTIONS, BadExpression, Expression, unknown
from ssptool.studies.findings import Findings
from ssptool.studies.measures import MEASURES
from ssptool.studies.points import Points, cycle, make_points
from ssptool.studies.prepared import Configuration, Prepared, Setter, configuration
from ssptool.studies.sources import Computed, Levels, Range, Setting

RESERVED = ("run", "number", "status", "message", "seconds", "attempts")
"""Columns of every study."""

MOST_CONFIGURATIONS = 64
"""Configurations whose plans are made before the first run."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A study that can be carried out. `signals` are those that its results and traces need."""

    study: Study
    points: Points
    signals: tuple[str, ...]
    units: Mapping[str, str | None]
    notes: tuple[str, ...] = ()


def check_study(study: Study, findings: Findings | None = None) -> Checked:
    """Find everything that is wrong, or nothing. `findings` are those of reading the study, which is a draft then.

    Raises
    ------
    BadStudy
        With all findings.
    FileNotFoundError
        There is no such system.
    """
    checking = _Checking(study, findings)
    checked = checking.check()
    checking.findings.check()
    assert checked is not None
    return checked


class _Checking:
    def __init__(self, study: Study, findings: Findings | None) -> None:
        self.study = study
        self.findings = findings or Findings(study.source, study.lines)
        # What could not be read is there all the same, and is not reported as missing.
        self.unread = [name.split(".")[0] for table in ("factors", "results") for name in self.findings.names(table)]

    def check(self) -> Checked | None:
        self._names()
        self._design()
        self._expressions()
        self._files()
        if not self.study.system.exists() and not self.findings.about("system"):
            self.findings.add(("system",), f"{self.study.system} does not exist")
            return None
        if self.findings.about("system"):
            return None
        first = self._first()
        if first is None:
            return None
        with first:
            plan = self._plan(first, {})
            self._setters(first)
            nominal = self._nominal(first)
            signals = () if plan is None else self._signals(plan)
            if self.findings.found:
                return None
            units = _units(first, plan)
        try:
            points = make_points(self.study, nominal)
        except BadExpression as problem:
            name = next((f.name for f in self.study.factors if _text(f) == problem.text), "")
            self.findings.add(("factors", name, "expression"), problem.reason)
            return None
        self._values(points)
        notes = (f"{points.repeated} points are there more than once, and are run once",) if points.repeated else ()
        return Checked(self.study, points, signals, units, notes)

    # -- without the system ----------------------------------------------------------------------------------

    def _names(self) -> None:
        seen: dict[str, str] = {}
        for table, names in (("factors", [f.name for f in self.study.factors]), ("results", list(self.study.results))):
            for name in names:
                if name in RESERVED:
                    self.findings.add((table, name), f"{name!r} is a column that every study has; choose another name")
                elif name in seen:
                    self.findings.add(
                        (table, name), f"there is a {seen[name].rstrip('s')} of this name; choose another"
                    )
                seen[name] = table
        for role in (Role.VARIANT,):
            if len([factor for factor in self.study.factors if factor.role is role]) > 1:
                self.findings.add(("factors",), f"there can be only one factor of role {role}")
        claimed: dict[str, str] = {}
        for factor in self.study.factors:
            for name in factor.sets or tuple(f"{factor.role} {of}" for of in factor.of):
                if name in claimed:
                    self.findings.add(("factors", factor.name), f"{name} is set by {claimed[name]!r} already")
                claimed[name] = factor.name

    def _design(self) -> None:
        design = self.study.design
        if self.findings.about("design"):
            return
        sources = {f.name: f.source for f in self.study.factors if not isinstance(f.source, Computed)}
        for name, problem in design.problems(sources):
            key = ("factors", name) if name in sources else ("design", name) if name else ("design",)
            self.findings.add(key, problem)
        for factor in self.study.factors:
            if factor.role not in (Role.VARIABLE, Role.FREE, Role.SETTING) and isinstance(factor.source, Range):
                self.findings.add(("factors", factor.name), f"a factor of role {factor.role} needs values: texts")

    def _expressions(self) -> None:
        factors = [*(factor.name for factor in self.study.factors), *self.unread]
        for factor in self.study.factors:
            if isinstance(factor.source, Computed):
                self._expression(("factors", factor.name), factor.source.expression, factors, FUNCTIONS)
        if around := cycle(self.study.factors):
            self.findings.add(("factors", around[0]), f"these need each other: {' → '.join(around)}")
        known = list(factors)
        for name, expression in self.study.results.items():
            self._expression(("results", name), expression, known, {**FUNCTIONS, **MEASURES})
            known.append(name)

    def _expression(
        self, key: tuple[str, ...], expression: Expression, names: Sequence[str], functions: Mapping[str, Any]
    ) -> None:
        for name in expression.names:
            if name not in names:
                self.findings.add(key, unknown("factor or earlier result", name, names))
        for call in expression.calls:
            if call.function not in functions and call.function != "value":
                self.findings.add(key, unknown("function", call.function, functions))
            if call.function == "value" and (len(call.texts) != 1 or call.texts[0] not in names):
                self.findings.add(key, f"value(…) wants one of {', '.join(names)} in quotes, found {call.texts}")
            elif call.function in MEASURES and call.function not in FUNCTIONS and not (call.texts and call.texts[0]):
                self.findings.add(key, f'{call.function} wants the name of a signal in quotes, as "System1.x1"')

    def _files(self) -> None:
        study = self.study
        listed = [("parameters", study.parameters), ("inputs", study.inputs)]
        listed.append(("scenario", () if study.scenario is None else (study.scenario,)))
        for key, paths in listed:
            for path in paths:
                if not path.is_file():
                    self.findings.add((key,), f"{path} does not exist")

    # -- with the system -------------------------------------------------------------------------------------

    def _first(self) -> Prepared | None:
        """The system as most of what is checked sees it: with no file replaced, of the first variant."""
        variant = next((f for f in self.study.factors if f.role is Role.VARIANT), None)
        values = () if variant is None else _choices(variant, self.study)
        return self._prepare(Configuration(str(values[0]) if values else self.study.variant), ("system",))

    def _prepare(self, wanted: Configuration, key: tuple[str, ...]) -> Prepared | None:
        try:
            prepared = Prepared(self.study, wanted)
        except (InvalidDocument, UnreadableFmu, OSError, LookupError, ValueError) as problem:
            self.findings.add(key, f"{_described(wanted)}{problem}")
            return None
        errors = check_rules(prepared.archive, prepared.structure.name).errors
        if errors:
            place = (
                f"{self.study.system}, {_described(wanted)}" if wanted != Configuration() else str(self.study.system)
            )
            for error in errors:
                at = error.position
                self.findings.found.append(DataFinding(f"{place}: {at.file}", at.line, error.code, error.message))
            prepared.close()
            return None
        return prepared

    def _plan(self, prepared: Prepared, point: Mapping[str, Setting]) -> Plan | None:
        """The plan of the system without its factors, if `point` is empty."""
        try:
            return prepared.plan(point) if point else prepared.base_plan()
        except BadData as problem:
            self.findings.found += problem.findings
        except OSError as problem:
            if not any(map(self.findings.about, ("parameters", "inputs", "scenario"))):
                self.findings.add(("system",), str(problem))
        except (Unsupported, InvalidDocument, LookupError, ValueError) as problem:
            self.findings.add(("settings",) if self.study.settings != Settings() else ("system",), str(problem))
        return None

    def _setters(self, prepared: Prepared) -> None:
        for name, problem in prepared.problems.items():
            factor = self.study.factor(name)
            self.findings.add(("factors", name, "variable") if factor.of else ("factors", name), problem)

    def _nominal(self, prepared: Prepared) -> dict[str, Setting]:
        found: dict[str, Setting] = {}
        if self.study.design.word != "one-at-a-time":
            return found
        for factor in self.study.factors:
            if isinstance(factor.source, Computed):
                continue
            value = factor.nominal if factor.nominal is not None else prepared.own_value(factor)
            if value is None and factor.name not in prepared.problems:
                self.findings.add(("factors", factor.name), "the system gives it no value; state the nominal one")
            if value is not None:
                found[factor.name] = value
        return found

    def _signals(self, plan: Plan) -> tuple[str, ...]:
        names = [column.signal for column in plan.columns]
        found: list[str] = []
        for name, expression in self.study.results.items():
            for call in expression.calls:
                signal = call.texts[0] if call.function in MEASURES and call.texts else None
                if signal is not None and signal not in names:
                    self.findings.add(("results", name), unknown("signal that is recorded", signal, names))
                elif signal is not None:
                    found.append(signal)
        traces = self.study.traces
        if traces is not None:
            try:
                check_patterns(traces.signals, names, "signal that can be recorded")
            except NothingMatches as problem:
                self.findings.add(("traces", "signals"), str(problem))
            found += [name for name in names if not traces.signals or fits_any(traces.signals, name)]
        return tuple(dict.fromkeys(found))

    def _values(self, points: Points) -> None:
        """Every value of every factor in every configuration that there is, as far as these can be told apart."""
        examples: dict[Configuration, int] = {}
        if any(factor.role not in (Role.VARIABLE, Role.FREE) for factor in self.study.factors):
            for number in range(len(points)):
                examples.setdefault(configuration(self.study, points.at(number)), number)
                if len(examples) > MOST_CONFIGURATIONS:
                    break
        for wanted, number in list(examples.items() or [(configuration(self.study, points.at(0)), 0)]):
            prepared = self._prepare(wanted, ("factors",))
            if prepared is None:
                continue
            with prepared:
                self._setters(prepared)
                before = len(self.findings.found)
                for setter in prepared.setters:
                    self._column(setter, points.columns[setter.factor])
                if len(self.findings.found) == before and not prepared.problems:
                    self._plan(prepared, points.at(number))

    def _column(self, setter: Setter, column: Sequence[Setting]) -> None:
        numbers = all(isinstance(value, float) for value in column)
        # A conversion of units keeps or reverses the order, so the ends are enough.
        for value in (min(column), max(column)) if numbers else dict.fromkeys(column):
            try:
                converted = setter.value(value)
                if isinstance(converted, float) and not math.isfinite(converted):
                    raise InvalidValue(setter.name, converted, "a finite number")
            except InvalidValue as problem:
                self.findings.add(("factors", setter.factor), str(problem))


def _text(factor: Factor) -> str:
    return factor.source.expression.text if isinstance(factor.source, Computed) else ""


def _choices(factor: Factor, study: Study) -> Sequence[Setting]:
    if isinstance(factor.source, Levels):
        return factor.source.values
    return study.design.values.get(factor.name, ()) if isinstance(study.design, Table) else ()


def _described(wanted: Configuration) -> str:
    parts = [f"variant {wanted.variant}"] if wanted.variant else []
    parts += [f"{component} = {file}" for component, file in wanted.fmus]
    parts += [*wanted.parameters, *(f"{name} = {value}" for name, value in wanted.settings)]
    return f"with {', '.join(parts)}: " if parts else ""


def _units(prepared: Prepared, plan: Plan | None) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for factor in prepared.study.factors:
        target = next((s.target for s in prepared.setters if s.factor == factor.name), None)
        own = None if target is None or target.unit is None else target.unit.name
        found[factor.name] = factor.unit or own
    for column in plan.columns if plan is not None else ():
        found[column.signal] = column.unit
    return found
