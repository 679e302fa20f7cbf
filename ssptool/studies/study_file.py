"""Read studies and calibrations from TOML files or equivalent mappings in Python, and write a study as a table.

`study_from` restores a study from a table that was written here. Line numbers of keys are found in the text, because
the TOML parser does not provide them.
"""

import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from ssptool.arguments import WantedAccuracy, WrongArgument, accuracy_of
from ssptool.arguments import path as file_path
from ssptool.documents.archive import DEFAULT_STRUCTURE
from ssptool.documents.diagnostics import BadData, DataFinding
from ssptool.documents.foreign_files import SpecialFile, read_text
from ssptool.documents.outside import out_of_reach
from ssptool.engine.settings import Settings
from ssptool.errors import WrongValue, disk_trouble
from ssptool.foreign_text import TOO_DEEP, too_deep
from ssptool.public_calls import public
from ssptool.studies.dataset import DEFINITION
from ssptool.studies.definition import Factor, FactorRole, RunEffort, Study, Traces
from ssptool.studies.designs import (
    Computed,
    FactorSource,
    LatinHypercube,
    Levels,
    LogNormal,
    Normal,
    Range,
    Sobol,
    Tabled,
    TableDesign,
    Triangular,
    value_text,
)
from ssptool.studies.entries import Findings, Key, StudyEntries, beyond
from ssptool.studies.expressions import BadExpression, Expression
from ssptool.studies.optimum import Optimize
from ssptool.studies.prepared import read_settings
from ssptool.studies.read_factors import (
    DESIGN_KEYS,
    FACTOR_KEYS,
    PARAMETER_SET,
    read_design,
    read_factor,
    tabled_factors,
)
from ssptool.studies.sensitivity import Morris, Saltelli


def study_table(study: Study) -> dict[str, Any]:
    """Table of a study. Paths are absolute, except values of factors, which determine the names of runs: these are
    relative to its folder.
    """
    table: dict[str, Any] = {
        "name": study.name,
        "system": str(study.system.resolve()),
        "variant": study.variant,
        "parameters": [str(path.resolve()) for path in study.parameters],
        "inputs": [str(path.resolve()) for path in study.inputs],
        "scenario": None if study.scenario is None else str(study.scenario.resolve()),
        "start_values": dict(study.start_values),
        "settings": _settings_table(study.settings),
        "units": {name: dict(parts) for name, parts in study.units.items()},
        "factors": {factor.name: _factor(factor) for factor in study.factors},
        "design": _design_table(study),
        "results": {name: expression.text for name, expression in study.results.items()},
        "traces": None if study.traces is None else _traces_table(study.traces),
        "effort": _effort_table(study.effort),
        "accept": list(study.accept),
        "accuracy": _plain(study.accuracy),
    }
    return {key: value for key, value in table.items() if value not in (None, [], {})}


def _settings_table(settings: Settings) -> dict[str, Any]:
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
    if factor.role in (FactorRole.VARIANT, FactorRole.PARAMETERS, FactorRole.FREE):
        table[factor.role.value] = True
    elif factor.of:
        table[factor.role.value] = list(factor.of)
    for key, value in (("unit", factor.unit), ("nominal", factor.nominal)):
        if value is not None:
            table[key] = value
    return table | _source(factor.source)


def _source(source: FactorSource) -> dict[str, Any]:
    match source:
        case Levels(values):
            return {"values": list(values)}
        case Range(low, high, count, log):
            found = {"low": low, "high": high, "count": count, "scale": "log" if log else None}
            return {name: value for name, value in found.items() if value is not None}
        case Normal() | LogNormal() | Triangular():
            # The fields have the same names as in the file; a bound without effect is not written.
            numbers = {field.name: getattr(source, field.name) for field in fields(source)}
            stated = {name: value for name, value in numbers.items() if math.isfinite(value)}
            return {"distribution": source.distribution, **stated}
        case Computed(expression):
            return {"expression": expression.text}
        case Tabled():
            return {}


def _design_table(study: Study) -> dict[str, Any]:
    design = study.design
    if isinstance(design, LatinHypercube | Sobol):
        correlations = [list(each) for each in design.correlations]
        return {"kind": design.word, "runs": design.runs, "seed": design.seed, "correlations": correlations}
    if isinstance(design, Saltelli | Morris):
        stated = {one.name: getattr(design, one.name) for one in fields(design)}
        return {"kind": design.word, **stated}
    if isinstance(design, Optimize):
        return {"kind": design.word, **_optimize_table(design)}
    if not isinstance(design, TableDesign):
        return {"kind": design.word}
    if design.file not in ("", PARAMETER_SET):
        return {"kind": design.word, "file": str(Path(design.file).resolve())}
    rows = zip(*design.values.values(), strict=True)
    return {"kind": design.word, "rows": [dict(zip(design.values, row, strict=True)) for row in rows]}


def _optimize_table(design: Optimize) -> dict[str, Any]:
    found: dict[str, Any] = {"minimize": [], "maximize": []}
    for objective in design.objectives:
        found[objective.word].append(objective.result)
    found |= {"constraints": [one.text for one in design.constraints], "runs": design.runs, "seed": design.seed}
    found |= {} if design.population is None else {"population": design.population}
    return {key: value for key, value in found.items() if value != []}


def _traces_table(traces: Traces) -> dict[str, Any]:
    found: dict[str, Any] = {"signals": list(traces.signals), "every": traces.every}
    return found if traces.output_step is None else {**found, "output_step": traces.output_step}


def _effort_table(effort: RunEffort) -> dict[str, Any]:
    found: dict[str, Any] = {"retries": effort.retries}
    if effort.timeout is not None:
        found["timeout"] = effort.timeout
    if effort.memory is not None:
        found["memory"] = effort.memory / 2**20
    return found


_QUOTED = r'"(?:[^"\\]|\\.)*"|\'[^\']*\''
_KEY_LINE = re.compile(rf"^\s*((?:{_QUOTED}|[\w-]+)(?:\s*\.\s*(?:{_QUOTED}|[\w-]+))*)\s*=")
_TABLE = re.compile(rf"^\s*\[\[?\s*((?:{_QUOTED}|[^\]\"'])+)\]")


def key_lines(text: str) -> dict[Key, int]:
    """Key → line number, from 1; keys of inline tables are on the line of the table."""
    found: dict[Key, int] = {}
    table: Key = ()
    for number, line in enumerate(text.splitlines(), 1):
        if match := _TABLE.match(line):
            table = _path(match[1]) or table
            found.setdefault(table, number)
        elif match := _KEY_LINE.match(line):
            path = _path(match[1])
            for length in range(1, len(path) + 1):
                found.setdefault((*table, *path[:length]), number)
    return found


def _path(text: str) -> Key:
    try:
        return tuple(_key_parts(tomllib.loads(f"{text.strip()} = 0")))
    except tomllib.TOMLDecodeError:
        return ()


def _key_parts(nested: Mapping[str, Any]) -> Iterator[str]:
    inside: Any = nested
    while isinstance(inside, dict):
        name, inside = next(iter(inside.items()))
        yield name


_KEYS = (
    *("name", "system", "variant", "parameters", "inputs", "scenario", "start_values", "settings", "units", "accept"),
    "accuracy",
    *("factors", "design", "results", "traces", "effort", "calibration"),
)
_TRACES = ("signals", "output_step", "every")
_EFFORT = ("timeout", "retries", "memory")
_EXPONENTS = ("kg", "m", "s", "A", "K", "mol", "cd", "rad", "factor", "offset")


@public
def read_study(path: Path | str) -> Study:
    """Read a study from a file.

    Raises
    ------
    BadData
        The study is not valid; the message lists all errors.
    OSError
        The file cannot be read.
    """
    path = file_path("path", path)
    return study_from(*read_toml(path), source=str(path))


def _system_advice(path: Path) -> str:
    """Command that writes a study of a system; advice if a system was given instead of a study."""
    options = "--design optimize: to find a best point; --data FILE: to calibrate it"
    return f"; `ssptool study new {path}` writes a study of this system ({options})"


def _folder_advice(path: Path) -> str:
    """Commands for the results of a study; advice if they were given instead of its file."""
    if (path / DEFAULT_STRUCTURE).is_file():
        return _system_advice(path)
    if not (path / DEFINITION).is_file():
        return ""
    return (
        f"; `ssptool study resume {path}` continues the study in it, `ssptool study results {path}` lists its results"
    )


def read_toml(path: Path) -> tuple[dict[str, Any], dict[Key, int]]:
    """Content of a TOML file, and the lines of its keys. Raises BadData."""
    try:
        text = read_text(path)
    except SpecialFile:
        raise
    except IsADirectoryError:
        raise WrongValue(f"{path} is a folder, not a study file (.toml){_folder_advice(path)}") from None
    except OSError as error:
        raise type(error)(f"the study {path} cannot be read: {disk_trouble(error)}") from None
    except UnicodeDecodeError as error:
        if path.suffix.lower() in (".ssp", ".fmu"):
            raise WrongValue(f"{path} is not a study file (.toml){_system_advice(path)}") from None
        raise BadData("the study", [DataFinding(str(path), 1, "", f"it is not UTF-8: {error}")]) from None
    return read_toml_text(text, str(path))


def read_toml_text(text: str, source: str) -> tuple[dict[str, Any], dict[Key, int]]:
    """Content of a TOML text, and the lines of its keys. Raises BadData."""
    try:
        content = tomllib.loads(text)
        if too_deep(content):
            raise BadData("the study", [DataFinding(source, 1, "", TOO_DEEP)])
        if large := next(_beyond_64_bits(content), None):
            raise BadData(
                "the study", [DataFinding(source, 1, large, "the integer has more than 64 bits, which TOML forbids")]
            )
        return content, key_lines(text)
    except RecursionError:
        raise BadData("the study", [DataFinding(source, 1, "", TOO_DEEP)]) from None
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise BadData(
            "the study", [DataFinding(source, int(line[1]) if line else 1, "", f"it is not TOML: {error}")]
        ) from None


def _beyond_64_bits(content: Any, key: str = "") -> Iterator[str]:
    """Keys of integers that exceed the range of TOML and of floating-point numbers."""
    match content:
        case dict():
            for name, value in content.items():
                yield from _beyond_64_bits(value, f"{key}.{name}".lstrip("."))
        case list():
            for value in content:
                yield from _beyond_64_bits(value, key)
        case int() if not -(2**63) <= content < 2**63:
            yield key


def study_from(content: Mapping[str, Any], lines: Mapping[Key, int] | None = None, *, source: str = "") -> Study:
    """A study from a table with the structure of the file.

    Parameters
    ----------
    source
        The file; paths are relative to its folder.

    Raises
    ------
    BadData
    """
    study, findings = draft_study(content, lines, source=source)
    findings.check()
    return study


def draft_study(
    content: Mapping[str, Any],
    lines: Mapping[Key, int] | None = None,
    *,
    source: str = "",
    allowed: Iterable[Path] = (),
) -> tuple[Study, Findings]:
    """The readable parts of a study, and findings on the others. A study in the file `source` may read a table from its
    folder, and from folders in `allowed`.
    """
    findings = Findings(source, lines or {})
    study = _study(StudyEntries(content, (), findings), source, allowed)
    return replace(study, lines=dict(lines or {})), findings


def _study(entries: StudyEntries, source: str, allowed: Iterable[Path]) -> Study:
    folder = Path(source).parent if source else Path()
    system = entries.take("system")
    if not isinstance(system, str | Path):
        said = "it is missing" if system is None else f"found {system!r}"
        entries.find("system", f"{said}; expected the path of an .ssp file, a folder or an .ssd file")
    design_entries = entries.table("design")
    stated = _factors(entries.table("factors"))
    design = read_design(design_entries, folder, stated, allowed if source else None)
    scenario = entries.text("scenario")
    entries.take("calibration")  # has its own reader
    study = Study(
        system=folder / str(system),
        factors=tabled_factors(design, stated),
        design=design,
        results=_results(entries.table("results")),
        traces=_traces(entries.table("traces")) if "traces" in entries else None,
        settings=read_settings(entries.table("settings"), folder),
        variant=entries.text("variant"),
        parameters=tuple(folder / name for name in entries.texts("parameters")),
        start_values=_start_values(entries.table("start_values")),
        inputs=tuple(folder / name for name in entries.texts("inputs")),
        scenario=None if scenario is None else folder / scenario,
        units=_units(entries.table("units")),
        effort=_effort(entries.table("effort")),
        accept=entries.texts("accept"),
        accuracy=_accuracy(entries),
        name=entries.text("name") or (Path(source).stem if source else "study"),
        source=source,
    )
    entries.rest("key of a study", _KEYS)
    return study


def _factors(entries: StudyEntries) -> dict[str, Factor]:
    return {name: factor for name in entries.names() if (factor := read_factor(name, entries)) is not None}


def _results(entries: StudyEntries) -> dict[str, Expression]:
    found: dict[str, Expression] = {}
    for name in entries.names():
        text = entries.text(name)
        if text is None:
            continue
        try:
            found[name] = Expression(text)
        except BadExpression as problem:
            entries.find(name, problem.reason)
    return found


def _traces(entries: StudyEntries) -> Traces:
    traces = Traces(entries.texts("signals"), entries.duration("output_step"), entries.count("every") or 1)
    if traces.every != 1 and traces.output_step is not None:
        entries.find("every", "every n-th row and an output step exclude each other")
    entries.rest("key of traces", _TRACES)
    return traces


def _effort(entries: StudyEntries) -> RunEffort:
    retries, memory = entries.count("retries", 0), entries.positive("memory")
    effort = RunEffort(
        timeout=entries.duration("timeout"),
        retries=RunEffort().retries if retries is None else retries,
        memory=None if memory is None else int(memory * 2**20),
    )
    entries.rest("key of effort", _EFFORT)
    return effort


def _accuracy(entries: StudyEntries) -> WantedAccuracy | None:
    value = entries.take("accuracy")
    try:
        return None if value is None else accuracy_of("accuracy", value)
    except WrongArgument as wrong:
        entries.find("accuracy", f"found {value!r}, expected {wrong.expected}")
        return None


def _start_values(entries: StudyEntries) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in entries.names():
        value = entries.take(name)
        if isinstance(value, bool | int | float | str):
            found[name] = value_text(value)
        else:
            entries.find(name, f"found {value!r}, expected a number, true, false or a text")
    return found


def _units(entries: StudyEntries) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for name in entries.names():
        unit = entries.table(name)
        values = {key: unit.number(key) for key in _EXPONENTS if key in unit}
        unit.rest("part of a unit", _EXPONENTS)
        found[name] = {key: value for key, value in values.items() if value is not None}
    return found


_CALIBRATION_KEYS = ("data", "targets", "minimize", "scales")

KEYS_OF_TABLES: Mapping[str, Sequence[str]] = {
    "": _KEYS,
    "settings": [field.name for field in fields(Settings)],
    "traces": _TRACES,
    "effort": _EFFORT,
    "calibration": _CALIBRATION_KEYS,
    "design": DESIGN_KEYS,
    "factors": FACTOR_KEYS,
    "units": _EXPONENTS,
}
"""Keys of the file and of its tables; those of `factors` and `units` are the keys of each factor and unit."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A measured trace, targets, or a result to minimize."""

    data: Path | None
    targets: dict[str, float] | None
    minimize: str | None
    scales: dict[str, float]


def read_calibration(given: Study | Mapping[str, Any] | Path | str, study: Study) -> Calibration:
    """Calibration from a study. Raises BadData."""
    content: Any = {}
    if isinstance(given, Mapping):
        content = given
    elif not isinstance(given, Study):
        content = read_toml(Path(given))[0]
    findings = Findings(study.source, study.lines)
    if "calibration" not in content:
        findings.add(("calibration",), "it is missing: give data (a file), targets, or minimize (a result)")
        findings.check()
    entries = StudyEntries(content["calibration"], ("calibration",), findings)
    data, minimize = entries.text("data"), entries.text("minimize")
    found = Calibration(
        None if data is None else study.folder / data,
        _numbers(entries.table("targets")) if "targets" in entries else None,
        minimize,
        _numbers(entries.table("scales")),
    )
    entries.rest("key of a calibration", _CALIBRATION_KEYS)
    if sum(key in entries for key in ("data", "targets", "minimize")) != 1:
        entries.find("", "give one of data, targets and minimize")
    if found.data is not None and study.source and out_of_reach(found.data, study.folder, study.switches.outside):
        entries.find("data", beyond(found.data))
    elif found.data is not None and not found.data.is_file():
        entries.find("data", f"{found.data} does not exist")
    findings.check()
    return found


def _numbers(entries: StudyEntries) -> dict[str, float]:
    found = {name: entries.number(name) for name in entries.names()}
    return {name: value for name, value in found.items() if value is not None}
