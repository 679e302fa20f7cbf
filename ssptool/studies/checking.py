"""Check a study before its first run: first the definition alone, then with its system and the units of results."""

import ast
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any, Final

from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import BadData, DataFinding, Diagnostic, InvalidDocument
from ssptool.documents.outside import out_of_reach
from ssptool.engine.assembly.instances import with_libraries
from ssptool.engine.failure import Unsupported
from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.selection import Inside, select
from ssptool.engine.settings import Settings
from ssptool.errors import AmbiguousName, UnknownName, WrongValue, disk_trouble
from ssptool.fmu.description import UnreadableFmu
from ssptool.network.conversion import InvalidValue
from ssptool.rules.runner import check as check_rules
from ssptool.rules.selection import acceptable, accepted_codes, judge, unused_acceptance
from ssptool.rules.used_files import beyond_reach, system_beyond_reach
from ssptool.studies.accuracy import ACCURACY, LIMIT, REMARK
from ssptool.studies.definition import Factor, FactorRole, Points, Study, cycle, make_points
from ssptool.studies.designs import Computed, FactorValue, Levels, Range, TableDesign
from ssptool.studies.entries import Findings, beyond
from ssptool.studies.expressions import FUNCTIONS, MEASURES, BadExpression, Expression, unknown, unknown_function
from ssptool.studies.optimum import Optimize
from ssptool.studies.prepared import Configuration, PreparedSystem, Setter, configurations, settings_of

_TABLES = (("file",), ("files",), ("rows",))

RESERVED = ("run", "number", "status", "message", "seconds", "attempts", ACCURACY, REMARK, LIMIT)
"""Columns of every study."""


def check_definition(study: Study, findings: Findings) -> None:
    """Add findings on names, design, expressions and files."""
    # Entries that could not be read exist, so they are not reported as missing.
    unread = [name.split(".")[0] for table in ("factors", "results") for name in findings.names(table)]
    _check_names(study, findings)
    _check_design(study, findings)
    _check_expressions(study, findings, unread)
    _check_files(study, findings)


def _check_names(study: Study, findings: Findings) -> None:
    seen: dict[str, str] = {}
    for table, names in (("factors", [f.name for f in study.factors]), ("results", list(study.results))):
        for name in names:
            if name in RESERVED:
                findings.add((table, name), f"{name!r} is a column that every study has; choose another name")
            elif name in seen:
                findings.add((table, name), f"there is a {seen[name].rstrip('s')} of this name; choose another")
            seen[name] = table
    if sum(factor.role is FactorRole.VARIANT for factor in study.factors) > 1:
        findings.add(("factors",), f"there can be only one factor of role {FactorRole.VARIANT}")
    claimed: dict[str, str] = {}
    for factor in study.factors:
        for name in factor.sets or tuple(f"{factor.role} {of}" for of in factor.of):
            if name in claimed:
                findings.add(("factors", factor.name), f"{name} is set by {claimed[name]!r} already")
            claimed[name] = factor.name


def _check_design(study: Study, findings: Findings) -> None:
    design = study.design
    if findings.about("design"):
        return
    sources = {f.name: f.source for f in study.factors if not isinstance(f.source, Computed)}
    for name, problem in design.problems(sources):
        key = ("factors", name) if name in sources else ("design", name) if name else ("design",)
        findings.add(key, problem)
    for factor in study.factors:
        if factor.role not in (FactorRole.VARIABLE, FactorRole.FREE, FactorRole.SETTING) and isinstance(
            factor.source, Range
        ):
            findings.add(("factors", factor.name), f"a factor of role {factor.role} needs values: texts")


def _check_expressions(study: Study, findings: Findings, unread: Sequence[str]) -> None:
    factors = [*(factor.name for factor in study.factors), *unread]
    for factor in study.factors:
        if isinstance(factor.source, Computed):
            _check_expression(findings, ("factors", factor.name), factor.source.expression, factors, FUNCTIONS)
    if around := cycle(study.factors):
        findings.add(("factors", around[0]), f"these need each other: {' → '.join(around)}")
    known = list(factors)
    for name, expression in study.results.items():
        _check_expression(findings, ("results", name), expression, known, {**FUNCTIONS, **MEASURES})
        known.append(name)
    if isinstance(study.design, Optimize):
        _check_wishes(study.design, study.results, known, findings)


def _check_wishes(
    design: Optimize, results: Mapping[str, Expression], known: Sequence[str], findings: Findings
) -> None:
    """Add findings on objectives, which must be results, and on constraints, which must be about results and
    factors.
    """
    for objective in design.objectives:
        if objective.result not in results:
            findings.add(("design", objective.word), unknown("result", objective.result, results))
    for constraint in design.constraints:
        key, expression = ("design", "constraints"), constraint.expression
        measured = [call for call in expression.calls if call.function in MEASURES and any(call.texts)]
        for call in measured:
            text = f'{call.function}("{call.texts[0]}")'
            findings.add(key, f"constraints compare results and factors: give {text} a name in [results]")
        if not measured:
            _check_expression(findings, key, expression, known, FUNCTIONS)


def _check_expression(
    findings: Findings,
    key: tuple[str, ...],
    expression: Expression,
    names: Sequence[str],
    functions: Mapping[str, Any],
) -> None:
    for name in expression.names:
        if name not in names:
            findings.add(key, unknown("factor or earlier result", name, names))
    for call in expression.calls:
        if call.function not in functions and call.function != "value":
            findings.add(key, unknown_function(call.function, functions))
        if call.function == "value" and (len(call.texts) != 1 or call.texts[0] not in names):
            findings.add(key, f"value(…) wants one of {', '.join(names)} in quotes, found {call.texts}")
        elif call.function in MEASURES and call.function not in FUNCTIONS and not (call.texts and call.texts[0]):
            findings.add(key, f'{call.function} wants the name of a signal in quotes, as "System1.x1"')


def check_places(study: Study, findings: Findings, folder: Path | None = None, known: Collection[str] = ()) -> bool:
    """Add which files a study from a file must not reach, its system among them; whether there are none.

    Parameters
    ----------
    folder
        Folder whose files it may name (default: that of its file).
    known
        SHA-256 of files that it may read elsewhere: those of its earlier runs.
    """
    folder, allowed = study.folder if folder is None else folder, study.switches.outside
    named: list[tuple[tuple[str, ...], Path]] = [(("parameters",), path) for path in study.parameters]
    named += [(("inputs",), path) for path in study.inputs]
    named += [] if study.scenario is None else [(("scenario",), study.scenario)]
    for factor in study.factors:
        if factor.role in (FactorRole.PARAMETERS, FactorRole.FMU):
            values = dict.fromkeys(map(str, choices(factor, study)))
            named += [(key_of(study, factor.name), study.file(value)) for value in values]
    wrong = [(key, path, "read") for key, path in named if beyond_reach(path, folder, allowed, known)]
    varied = any(factor.role is FactorRole.VARIANT for factor in study.factors)
    if system_beyond_reach(study.system, study.variant, folder, allowed, () if varied else known):
        wrong.append((("system",), study.system, "read"))
    log = study.settings.fmu_log
    if log is not None and out_of_reach(log, folder, allowed):
        wrong.append((("settings", "fmu_log"), log, "write"))
    for key, path, does in wrong:
        findings.add(key, beyond(path, does))
    return not wrong


def _check_files(study: Study, findings: Findings) -> None:
    listed = [("parameters", study.parameters), ("inputs", study.inputs)]
    listed.append(("scenario", () if study.scenario is None else (study.scenario,)))
    for key, paths in listed:
        for path in paths:
            if not path.is_file():
                findings.add((key,), f"{path} does not exist")
    for factor in study.factors:
        if factor.role is FactorRole.PARAMETERS:
            for value in dict.fromkeys(map(str, choices(factor, study))):
                if not study.file(value).is_file():
                    what = "no file fits to" if any(letter in value for letter in "*?[") else "there is no file"
                    findings.add(key_of(study, factor.name), f"{what} {study.folder / value}")


def key_of(study: Study, name: str) -> tuple[str, ...]:
    """Key that states a factor: its own key, or a column of the table."""
    if not study.lines or ("factors", name) in study.lines:
        return "factors", name
    return next((key for key in study.lines if key[0] == "design" and key[1:] in _TABLES), ("design",))


def choices(factor: Factor, study: Study) -> Sequence[FactorValue]:
    """Values that are listed one by one, in the study or in the table; empty for ranges and distributions."""
    if isinstance(factor.source, Levels):
        return factor.source.values
    return study.design.values.get(factor.name, ()) if isinstance(study.design, TableDesign) else ()


_OF_SIGNAL: Final = {"final", "initial", "min", "max", "mean", "rms", "at"}
_OF_TIME: Final = {"time_of_min", "time_of_max", "crossing"}
_KEEPING: Final = {"min", "max", "abs", "hypot"}
"""Functions of numbers whose value has the unit of all arguments."""


def result_unit(
    expression: Expression, names: Mapping[str, str | None], signals: Mapping[str, str | None]
) -> str | None:
    """Unit of the value of an expression; None if it has none, or if it is not certain.

    Measures of a signal have its unit or are times; sums and differences have that of both sides. A product may be a
    conversion, so its unit is unknown.

    Parameters
    ----------
    names
        Units of the available names: factors and earlier results.
    signals
        Units of the available signals.
    """

    def unit(node: ast.expr) -> str | None:
        match node:
            case ast.Name(id=name) | ast.Call(func=ast.Name(id="value"), args=[ast.Constant(value=str(name))]):
                return names.get(name)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                return unit(operand)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                return common(left, right)
            case ast.IfExp(body=one, orelse=other):
                return common(one, other)
            case ast.Call(func=ast.Name(id=function), args=[ast.Constant(value=str(signal)), *_]):
                return "s" if function in _OF_TIME else signals.get(signal) if function in _OF_SIGNAL else None
            case ast.Call(func=ast.Name(id=function), args=arguments) if function in _KEEPING:
                return common(*arguments)
            case _:
                return None

    def common(*nodes: ast.expr) -> str | None:
        found = {unit(node) for node in nodes}
        return found.pop() if len(found) == 1 else None

    return unit(expression.tree)


CHECK_SECONDS = 30.0
"""Time for opening and planning configurations before the first run; those with a new file, variant or setting come
first.
"""

MOST_CONFIGURATIONS = 8
"""Largest number of configurations that are reported as impossible, with their reasons."""

MOST_VALUES = 3
"""Largest number of wrong values of a factor that are reported."""


@dataclass(frozen=True, slots=True)
class CheckedStudy:
    """A study without errors. `signals` are those that its results and traces need."""

    study: Study
    points: Points
    signals: tuple[str, ...]
    units: Mapping[str, str | None]
    notes: tuple[str, ...] = ()


def check_study(study: Study, findings: Findings | None = None) -> CheckedStudy:
    """Check a study completely. `findings` are those of reading a draft of the study.

    Raises
    ------
    BadData
        The study has errors; the exception lists all findings.
    FileNotFoundError
        The system does not exist.
    """
    checking = _StudyCheck(study, findings)
    checked = checking.check()
    checking.findings.check()
    assert checked is not None
    return checked


def check_names(study: Study, findings: Findings, archive: Archive) -> None:
    """Add findings on the names of variables, units and signals, in the open system of the study.

    Errors of the system itself are not reported here; a system that cannot be planned has no signals yet.
    """
    checking = _StudyCheck(study, findings)
    if findings.about("system"):
        return
    try:
        prepared = PreparedSystem(study, checking.first_configuration(), archive)
    except (InvalidDocument, UnreadableFmu, OSError, LookupError, ValueError):
        return
    with prepared:
        checking.check_names(prepared)


def names_in(study: Study, archive: Archive) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Variables of the open system of a study, and signals that it records; empty if it cannot be read."""
    try:
        with PreparedSystem(study, Configuration(study.variant), archive) as prepared:
            variables = tuple(prepared.variables())
            plan = prepared.base_plan()
    except (BadData, Unsupported, InvalidDocument, UnreadableFmu, OSError, LookupError, ValueError):
        return (), ()
    return variables, (*(column.signal for column in plan.columns), *Inside(plan).names)


class _StudyCheck:
    def __init__(self, study: Study, findings: Findings | None) -> None:
        self.study = study
        self.findings = findings or Findings(study.source, study.lines)
        self._unplanned = 0
        self._told: dict[str, set[str]] = {}

    def check(self) -> CheckedStudy | None:
        check_definition(self.study, self.findings)
        if not self.study.system.exists() and not self.findings.about("system"):
            self.findings.add(("system",), f"{self.study.system} does not exist")
            return None
        try:
            accepted_codes(self.study.accept)
        except (UnknownName, WrongValue) as problem:
            self.findings.add(("accept",), str(problem))
            return None
        if self.findings.about("system"):
            return None
        first = self._first()
        if first is None:
            return None
        with first:
            plan, signals = self.check_names(first)
            nominal = self._nominal(first)
            if self.findings.found:
                self._known_values(first)
                return None
            units = _units(first, plan)
            compiled = self._compiled(first, plan)
        try:
            points = make_points(self.study, nominal)
        except BadExpression as problem:
            name = next((f.name for f in self.study.factors if _text(f) == problem.text), "")
            self.findings.add(("factors", name, "expression"), problem.reason)
            return None
        notes = [f"repeated points are run once: {points.repeated}"] if points.repeated else []
        notes += [*compiled, *self._configurations(points)]
        self._report_unplanned_configurations()
        return CheckedStudy(self.study, points, signals, units, tuple(notes))

    def _first(self) -> PreparedSystem | None:
        """The system for most checks: the first variant, without replaced files."""
        return self._prepare(self.first_configuration(), ("system",))

    def first_configuration(self) -> Configuration:
        variant = next((f for f in self.study.factors if f.role is FactorRole.VARIANT), None)
        values = () if variant is None else choices(variant, self.study)
        return Configuration(str(values[0]) if values else self.study.variant)

    def check_names(self, prepared: PreparedSystem) -> tuple[Plan | None, tuple[str, ...]]:
        """The plan without the factors, and the signals that results and traces need."""
        known = {}
        for name, value in self.study.start_values.items():
            try:
                prepared.variable(name)
                known[name] = value
            except LookupError as problem:
                self.findings.add(("start_values", name), str(problem))
        prepared.study = replace(self.study, start_values=known)
        plan = self._plan(prepared, {})
        self._setters(prepared)
        return plan, () if plan is None else self._signals(plan)

    def _prepare(self, wanted: Configuration, key: tuple[str, ...]) -> PreparedSystem | None:
        try:
            prepared = PreparedSystem(self.study, wanted)
        except (InvalidDocument, UnreadableFmu, OSError, LookupError, ValueError) as problem:
            said = str(problem)
            named = [component for component, file in wanted.fmus if file in said or component in said]
            factor = next(
                (f.name for f in self.study.factors if f.role is FactorRole.FMU and f.of[0] in named[:1]), None
            )
            self.findings.add(key if factor is None else key_of(self.study, factor), f"{_described(wanted)}{said}")
            return None
        errors = self._refused(prepared)
        if errors:
            place = (
                f"{self.study.system}, {_described(wanted)}" if wanted != Configuration() else str(self.study.system)
            )
            for error in errors:
                at = error.position
                self.findings.found.append(DataFinding(f"{place}: {at.file}", at.line, error.code, error.message))
            if all(map(acceptable, errors)):
                codes = ", ".join(f'"{code}"' for code in dict.fromkeys(error.code for error in errors))
                self.findings.add(("accept",), f"to run it all the same, write accept = [{codes}]")
            report = check_rules(prepared.archive, prepared.structure.name)
            if advice := unused_acceptance(report, errors, self.study.accept, self.study.switches):
                self.findings.add(("accept",), advice)
            prepared.close()
            return None
        return prepared

    def _refused(self, prepared: PreparedSystem) -> tuple[Diagnostic, ...]:
        """Errors that are not accepted. Codes of accepted errors become part of the study, for runs on other
        machines.
        """
        report = check_rules(prepared.archive, prepared.structure.name)
        refused, accepted = judge(report, self.study.accept, self.study.switches)
        more = sorted({one.code for one in accepted.findings} - accepted_codes(self.study.accept))
        self.study = prepared.study = replace(self.study, accept=(*self.study.accept, *more))
        return refused

    def _plan(
        self,
        prepared: PreparedSystem,
        point: Mapping[str, FactorValue],
        key: tuple[str, ...] = (),
        described: str = "",
    ) -> Plan | None:
        """Plan of the system; without its factors if `point` is empty."""
        stated = "settings" if self.study.settings != Settings() else "system"
        try:
            return prepared.plan(point) if point else prepared.base_plan()
        except BadData as problem:
            self.findings.found += problem.findings
        except OSError as problem:
            if not any(map(self.findings.about, ("parameters", "inputs", "scenario"))):
                file = "" if problem.filename is None else f"{problem.filename}: "
                self.findings.add(("system",), f"{file}{disk_trouble(problem)}")
        except (Unsupported, InvalidDocument, LookupError, ValueError) as problem:
            self.findings.add(key or (stated,), f"{described}{problem}")
        return None

    def _compiled(self, prepared: PreparedSystem, plan: Plan | None) -> tuple[str, ...]:
        """Compile FMUs before the first run, if the study allows that, so that all runs use the result; returns notes.
        Raises UnusableFmu.
        """
        if plan is None or not self.study.compile:
            return ()
        made, _ = with_libraries(plan, prepared.archive)
        return made.notes[len(plan.notes) :]

    def _setters(self, prepared: PreparedSystem) -> None:
        for name, problem in prepared.problems.items():
            factor = self.study.factor(name)
            self.findings.add(("factors", name, "variable") if factor.of else key_of(self.study, name), problem)

    def _nominal(self, prepared: PreparedSystem) -> dict[str, FactorValue]:
        found: dict[str, FactorValue] = {}
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
        inside = Inside(plan)
        every = [*(column.signal for column in plan.columns), *inside.names]
        found: list[str] = []
        for name, expression in self.study.results.items():
            for call in expression.calls:
                signal = call.texts[0] if call.function in MEASURES and call.texts else None
                try:
                    if signal is not None and inside.called(signal) is None:
                        self.findings.add(("results", name), unknown("signal that is recorded", signal, every))
                    elif signal is not None:
                        found.append(signal)
                except AmbiguousName as problem:
                    self.findings.add(("results", name), str(problem))
        traces = self.study.traces
        if traces is not None:
            try:
                found += [column.signal for column in select(plan, traces.signals).columns]
            except UnknownName as problem:
                self.findings.add(("traces", "signals"), str(problem))
        return tuple(dict.fromkeys(found))

    def _configurations(self, points: Points) -> list[str]:
        """Check every value in every configuration, as long as time allows; returns notes on what was not checked."""
        rows = configurations(self.study, points)
        # Settings are checked by themselves at once, so no wrong one is left to what time allows.
        ordered = [each for each in _different_ones_first(rows) if self._check_settings(each)]
        end = monotonic() + CHECK_SECONDS
        current: tuple[Configuration | None, PreparedSystem | None] = None, None
        with ExitStack() as stack:
            for place, wanted in enumerate(ordered):
                if place and monotonic() > end:
                    return [f"{place} of {len(ordered)} configurations were checked before the first run"]
                # Settings change only the plan.
                system = replace(wanted, settings=())
                if system != current[0]:
                    stack.close()
                    current = system, self._prepare(system, ("factors",))
                    if current[1] is not None:
                        stack.enter_context(current[1])
                        self._setters(current[1])
                if current[1] is not None:
                    self._configuration(current[1], wanted, points, rows[wanted])
        return []

    def _check_settings(self, wanted: Configuration) -> bool:
        """Check the settings of a configuration; returns False after a finding."""
        try:
            settings_of(self.study, wanted)
        except ValueError as problem:
            varied = [factor for factor in self.study.factors if factor.role is FactorRole.SETTING]
            named = next((factor.name for factor in varied if str(problem).startswith(factor.of[0])), "")
            self.findings.add(("factors", named) if named else ("factors",), str(problem))
            return False
        return True

    def _configuration(
        self, prepared: PreparedSystem, wanted: Configuration, points: Points, rows: Sequence[int] | range
    ) -> None:
        wrong = {s.factor: self._wrong_values(s, points.columns[s.factor], rows) for s in prepared.setters}
        usable = (row for row in rows if not any(points.columns[name][row] in wrong[name] for name in wrong))
        if prepared.problems or (row := next(usable, None)) is None:
            return
        # Settings differ most between configurations, then parameter sets.
        telling = [
            factor.name
            for role in (FactorRole.SETTING, FactorRole.PARAMETERS)
            for factor in self.study.factors
            if factor.role is role
        ]
        key = key_of(self.study, telling[0]) if telling else ("factors",)
        before = len(self.findings.found)
        self._plan(prepared.with_settings(wanted.settings), points.at(row), key, _described(wanted))
        if len(self.findings.found) > before:
            self._unplanned += 1
            if self._unplanned > MOST_CONFIGURATIONS:
                del self.findings.found[before:]

    def _known_values(self, prepared: PreparedSystem) -> None:
        """Check values that are known without the points, which do not exist if there are errors."""
        for setter in prepared.setters:
            values = choices(self.study.factor(setter.factor), self.study)
            self._wrong_values(setter, values, range(len(values)), "value")

    def _wrong_values(
        self, setter: Setter, column: Sequence[FactorValue], rows: Sequence[int] | range, word: str = "run"
    ) -> set[FactorValue]:
        first: dict[FactorValue, int] = {}
        for row in rows:
            first.setdefault(column[row], row)
        values = list(first)
        if values and all(isinstance(value, float) and math.isfinite(value) for value in values):
            # A conversion of units is monotonic, so checking the ends suffices.
            values = list(dict.fromkeys((min(values), max(values))))
        wrong = {value: problem for value in values if (problem := _value_problem(setter, value))}
        told = self._told.setdefault(setter.factor, set())
        for value, problem in wrong.items():
            if problem not in told and len(told) < MOST_VALUES:
                self.findings.add(key_of(self.study, setter.factor), f"{problem} ({word} {first[value]})")
            told.add(problem)
        return set(wrong)

    def _report_unplanned_configurations(self) -> None:
        if (more := self._unplanned - MOST_CONFIGURATIONS) > 0:
            self.findings.add(("factors",), f"{more} more configurations cannot be run")
        for name, told in self._told.items():
            if len(told) > MOST_VALUES:
                self.findings.add(
                    key_of(self.study, name), f"{len(told) - MOST_VALUES} more values are wrong like that"
                )


def _value_problem(setter: Setter, value: FactorValue) -> str:
    """Reason why a variable cannot have this value; empty if it can."""
    try:
        converted = setter.value(value)
        if isinstance(converted, float) and not math.isfinite(converted):
            raise InvalidValue(setter.name, converted, "a finite number")
    except InvalidValue as problem:
        return str(problem)
    return ""


def _different_ones_first(configurations: Iterable[Configuration]) -> list[Configuration]:
    """Configurations, beginning with those that have a new file, variant or setting; those of one system are
    adjacent.
    """
    seen: set[object] = set()
    telling: list[Configuration] = []
    others: list[Configuration] = []
    for each in configurations:
        parts = {("variant", each.variant), *each.fmus, *each.parameters, *each.settings}
        (others if parts <= seen else telling).append(each)
        seen |= parts
    return [*_side_by_side(telling), *_side_by_side(others)]


def _side_by_side(configurations: Sequence[Configuration]) -> list[Configuration]:
    """Configurations ordered so that those of one system are adjacent."""
    place: dict[Configuration, int] = {}
    for each in configurations:
        place.setdefault(replace(each, settings=()), len(place))
    return sorted(configurations, key=lambda each: place[replace(each, settings=())])


def _text(factor: Factor) -> str:
    return factor.source.expression.text if isinstance(factor.source, Computed) else ""


def _described(wanted: Configuration) -> str:
    parts = [f"variant {wanted.variant}"] if wanted.variant else []
    parts += [f"{component} = {file}" for component, file in wanted.fmus]
    parts += [*wanted.parameters, *(f"{name} = {value}" for name, value in wanted.settings)]
    return f"with {', '.join(parts)}: " if parts else ""


def _units(prepared: PreparedSystem, plan: Plan | None) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for factor in prepared.study.factors:
        target = next((s.target for s in prepared.setters if s.factor == factor.name), None)
        own = None if target is None or target.unit is None else target.unit.name
        found[factor.name] = factor.unit or own
    columns = () if plan is None else plan.columns
    signals = {name: column.unit for column in columns for name in (column.signal, column.full_name) if name}
    folded = {name.casefold(): unit for name, unit in signals.items()}
    measured = (call.texts[0] for one in prepared.study.results.values() for call in one.calls if call.texts)
    signals |= {one: folded.get(one.casefold()) for one in measured if one and one not in signals}
    for name, expression in prepared.study.results.items():
        found[name] = result_unit(expression, found, signals)
    return signals | found
