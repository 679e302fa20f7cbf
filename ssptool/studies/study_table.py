"""A study as a table of the shape of its file: what `study_from` reads gives the same study again."""

import math
from dataclasses import fields
from pathlib import Path
from typing import Any

from ssptool.engine.settings import Settings
from ssptool.studies.definition import Effort, Factor, Role, Study, Traces
from ssptool.studies.design_entries import PARAMETER_SET
from ssptool.studies.designs.random import LatinHypercube, Sobol
from ssptool.studies.designs.table import Table
from ssptool.studies.sources import Computed, Levels, LogNormal, Normal, Range, Source, Tabled, Triangular


def study_table(study: Study) -> dict[str, Any]:
    """Paths in it are absolute, but for values of factors, which name runs: these are relative to its folder."""
    table: dict[str, Any] = {
        "name": study.name,
        "system": str(study.system.resolve()),
        "variant": study.variant,
        "parameters": [str(path.resolve()) for path in study.parameters],
        "inputs": [str(path.resolve()) for path in study.inputs],
        "scenario": None if study.scenario is None else str(study.scenario.resolve()),
        "start_values": dict(study.start_values),
        "settings": _settings(study.settings),
        "units": {name: dict(parts) for name, parts in study.units.items()},
        "factors": {factor.name: _factor(factor) for factor in study.factors},
        "design": _design(study),
        "results": {name: expression.text for name, expression in study.results.items()},
        "traces": None if study.traces is None else _traces(study.traces),
        "effort": _effort(study.effort),
        "accept": list(study.accept),
    }
    return {key: value for key, value in table.items() if value not in (None, [], {})}


def _settings(settings: Settings) -> dict[str, Any]:
    default = Settings()
    found = {field.name: getattr(settings, field.name) for field in fields(Settings)}
    changed = {name: value for name, value in found.items() if value != getattr(default, name)}
    return {name: _plain(value) for name, value in changed.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, str | Path):
        return str(value)
    return {name: _plain(each) for name, each in value.items()} if hasattr(value, "items") else value


def _factor(factor: Factor) -> dict[str, Any]:
    table: dict[str, Any] = {}
    if factor.role in (Role.VARIANT, Role.PARAMETERS, Role.FREE):
        table[factor.role.value] = True
    elif factor.of:
        table[factor.role.value] = list(factor.of)
    for key, value in (("unit", factor.unit), ("nominal", factor.nominal)):
        if value is not None:
            table[key] = value
    return table | _source(factor.source)


def _source(source: Source) -> dict[str, Any]:
    match source:
        case Levels(values):
            return {"values": list(values)}
        case Range(low, high, count, log):
            found = {"low": low, "high": high, "count": count, "scale": "log" if log else None}
            return {name: value for name, value in found.items() if value is not None}
        case Normal() | LogNormal() | Triangular():
            # Their fields are called as the file calls them; a bound that cuts nothing off is not written.
            numbers = {field.name: getattr(source, field.name) for field in fields(source)}
            stated = {name: value for name, value in numbers.items() if math.isfinite(value)}
            return {"distribution": source.distribution, **stated}
        case Computed(expression):
            return {"expression": expression.text}
        case Tabled():
            return {}


def _design(study: Study) -> dict[str, Any]:
    design = study.design
    if isinstance(design, LatinHypercube | Sobol):
        correlations = [list(each) for each in design.correlations]
        return {"kind": design.word, "runs": design.runs, "seed": design.seed, "correlations": correlations}
    if not isinstance(design, Table):
        return {"kind": design.word}
    if design.file not in ("", PARAMETER_SET):
        return {"kind": design.word, "file": str(Path(design.file).resolve())}
    rows = zip(*design.values.values(), strict=True)
    return {"kind": design.word, "rows": [dict(zip(design.values, row, strict=True)) for row in rows]}


def _traces(traces: Traces) -> dict[str, Any]:
    found: dict[str, Any] = {"signals": list(traces.signals), "every": traces.every}
    return found if traces.output_step is None else {**found, "output_step": traces.output_step}


def _effort(effort: Effort) -> dict[str, Any]:
    found: dict[str, Any] = {"retries": effort.retries}
    if effort.timeout is not None:
        found["timeout"] = effort.timeout
    if effort.memory is not None:
        found["memory"] = effort.memory / 2**20
    return found
