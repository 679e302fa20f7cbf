"""A study as it is written: what is wrong with it can be said without its system."""

from collections.abc import Mapping, Sequence
from typing import Any

from ssptool.studies.definition import Factor, Role, Study
from ssptool.studies.designs.table import Table
from ssptool.studies.expressions import FUNCTIONS, Expression, unknown
from ssptool.studies.findings import Findings
from ssptool.studies.measures import MEASURES
from ssptool.studies.points import cycle
from ssptool.studies.sources import Computed, Levels, Range, Setting

_TABLES = (("file",), ("files",), ("rows",))

RESERVED = ("run", "number", "status", "message", "seconds", "attempts")
"""Columns of every study."""


def check_as_written(study: Study, findings: Findings) -> None:
    """Add what is wrong with names, design, expressions and files."""
    # What could not be read is there all the same, and is not reported as missing.
    unread = [name.split(".")[0] for table in ("factors", "results") for name in findings.names(table)]
    _names(study, findings)
    _design(study, findings)
    _expressions(study, findings, unread)
    _files(study, findings)


def _names(study: Study, findings: Findings) -> None:
    seen: dict[str, str] = {}
    for table, names in (("factors", [f.name for f in study.factors]), ("results", list(study.results))):
        for name in names:
            if name in RESERVED:
                findings.add((table, name), f"{name!r} is a column that every study has; choose another name")
            elif name in seen:
                findings.add((table, name), f"there is a {seen[name].rstrip('s')} of this name; choose another")
            seen[name] = table
    if sum(factor.role is Role.VARIANT for factor in study.factors) > 1:
        findings.add(("factors",), f"there can be only one factor of role {Role.VARIANT}")
    claimed: dict[str, str] = {}
    for factor in study.factors:
        for name in factor.sets or tuple(f"{factor.role} {of}" for of in factor.of):
            if name in claimed:
                findings.add(("factors", factor.name), f"{name} is set by {claimed[name]!r} already")
            claimed[name] = factor.name


def _design(study: Study, findings: Findings) -> None:
    design = study.design
    if findings.about("design"):
        return
    sources = {f.name: f.source for f in study.factors if not isinstance(f.source, Computed)}
    for name, problem in design.problems(sources):
        key = ("factors", name) if name in sources else ("design", name) if name else ("design",)
        findings.add(key, problem)
    for factor in study.factors:
        if factor.role not in (Role.VARIABLE, Role.FREE, Role.SETTING) and isinstance(factor.source, Range):
            findings.add(("factors", factor.name), f"a factor of role {factor.role} needs values: texts")


def _expressions(study: Study, findings: Findings, unread: Sequence[str]) -> None:
    factors = [*(factor.name for factor in study.factors), *unread]
    for factor in study.factors:
        if isinstance(factor.source, Computed):
            _expression(findings, ("factors", factor.name), factor.source.expression, factors, FUNCTIONS)
    if around := cycle(study.factors):
        findings.add(("factors", around[0]), f"these need each other: {' → '.join(around)}")
    known = list(factors)
    for name, expression in study.results.items():
        _expression(findings, ("results", name), expression, known, {**FUNCTIONS, **MEASURES})
        known.append(name)


def _expression(
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
            findings.add(key, unknown("function", call.function, functions))
        if call.function == "value" and (len(call.texts) != 1 or call.texts[0] not in names):
            findings.add(key, f"value(…) wants one of {', '.join(names)} in quotes, found {call.texts}")
        elif call.function in MEASURES and call.function not in FUNCTIONS and not (call.texts and call.texts[0]):
            findings.add(key, f'{call.function} wants the name of a signal in quotes, as "System1.x1"')


def _files(study: Study, findings: Findings) -> None:
    listed = [("parameters", study.parameters), ("inputs", study.inputs)]
    listed.append(("scenario", () if study.scenario is None else (study.scenario,)))
    for key, paths in listed:
        for path in paths:
            if not path.is_file():
                findings.add((key,), f"{path} does not exist")
    for factor in study.factors:
        if factor.role is Role.PARAMETERS:
            for value in dict.fromkeys(map(str, choices(factor, study))):
                if not study.file(value).is_file():
                    what = "no file fits to" if any(letter in value for letter in "*?[") else "there is no file"
                    findings.add(key_of(study, factor.name), f"{what} {study.folder / value}")


def key_of(study: Study, name: str) -> tuple[str, ...]:
    """Where a factor is stated: by itself, or as a column of the table."""
    if not study.lines or ("factors", name) in study.lines:
        return "factors", name
    return next((key for key in study.lines if key[0] == "design" and key[1:] in _TABLES), ("design",))


def choices(factor: Factor, study: Study) -> Sequence[Setting]:
    """The values that are stated one by one: in a list, or in the table; of a range, or what is drawn, none."""
    if isinstance(factor.source, Levels):
        return factor.source.values
    return study.design.values.get(factor.name, ()) if isinstance(study.design, Table) else ()
