"""Studies from TOML files, and from tables of the same shape in Python."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ssptool.documents.diagnostics import DataFinding
from ssptool.studies.definition import Effort, Factor, Study, Traces
from ssptool.studies.design_entries import read_design, tabled_factors
from ssptool.studies.entries import Entries
from ssptool.studies.expressions import BadExpression, Expression
from ssptool.studies.factor_entries import read_factor
from ssptool.studies.findings import BadStudy, Findings, Key
from ssptool.studies.run_settings import read_settings
from ssptool.studies.toml_lines import key_lines

_KEYS = (
    *("name", "system", "variant", "parameters", "inputs", "scenario", "start_values", "settings", "units", "accept"),
    *("factors", "design", "results", "traces", "effort", "calibration"),
)
_TRACES = ("signals", "output_step", "every")
_EFFORT = ("timeout", "retries", "memory")
_EXPONENTS = ("kg", "m", "s", "A", "K", "mol", "cd", "rad", "factor", "offset")


def read_study(path: Path | str) -> Study:
    """A study from a file.

    Raises
    ------
    BadStudy
        With everything that is wrong with it.
    OSError
        It cannot be read.
    """
    return study_from(*read_toml(Path(path)), source=str(path))


def read_toml(path: Path) -> tuple[dict[str, Any], dict[Key, int]]:
    """The content of a TOML file, and the lines of its keys. Raises BadStudy."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        return tomllib.loads(text), key_lines(text)
    except OSError as error:
        raise type(error)(f"the study {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise BadStudy([DataFinding(str(path), 1, "", f"it is not UTF-8: {error}")]) from None
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise BadStudy([DataFinding(str(path), int(line[1]) if line else 1, "", f"it is no TOML: {error}")]) from None


def study_from(content: Mapping[str, Any], lines: Mapping[Key, int] | None = None, *, source: str = "") -> Study:
    """A study from a table of the shape of the file.

    Parameters
    ----------
    source
        The file, to whose folder paths are relative.

    Raises
    ------
    BadStudy
    """
    study, findings = draft_study(content, lines, source=source)
    findings.check()
    return study


def draft_study(
    content: Mapping[str, Any], lines: Mapping[Key, int] | None = None, *, source: str = ""
) -> tuple[Study, Findings]:
    """As much of a study as can be understood, and what cannot."""
    findings = Findings(source, lines or {})
    study = _study(Entries(content, (), findings), source)
    return replace(study, lines=dict(lines or {})), findings


def _study(entries: Entries, source: str) -> Study:
    folder = Path(source).parent if source else Path()
    system = entries.take("system")
    if not isinstance(system, str | Path):
        said = "it is missing" if system is None else f"found {system!r}"
        entries.find("system", f"{said}; expected the path of an .ssp file, a folder or an .ssd file")
    design_entries = entries.table("design")
    stated = _factors(entries.table("factors"))
    design = read_design(design_entries, folder, stated)
    scenario = entries.text("scenario")
    entries.take("calibration")  # has a reader of its own
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
        name=entries.text("name") or (Path(source).stem if source else "study"),
        source=source,
    )
    entries.rest("key of a study", _KEYS)
    return study


def _factors(entries: Entries) -> dict[str, Factor]:
    return {name: factor for name in entries.names() if (factor := read_factor(name, entries)) is not None}


def _results(entries: Entries) -> dict[str, Expression]:
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


def _traces(entries: Entries) -> Traces:
    traces = Traces(entries.texts("signals"), entries.duration("output_step"), entries.count("every") or 1)
    if traces.every != 1 and traces.output_step is not None:
        entries.find("every", "every n-th row and an output step exclude each other")
    entries.rest("key of traces", _TRACES)
    return traces


def _effort(entries: Entries) -> Effort:
    retries, memory = entries.count("retries", 0), entries.positive("memory")
    effort = Effort(
        timeout=entries.duration("timeout"),
        retries=Effort().retries if retries is None else retries,
        memory=None if memory is None else int(memory * 2**20),
    )
    entries.rest("key of effort", _EFFORT)
    return effort


def _start_values(entries: Entries) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in entries.names():
        value = entries.take(name)
        if isinstance(value, bool | int | float | str):
            found[name] = value_text(value)
        else:
            entries.find(name, f"found {value!r}, expected a number, true, false or a text")
    return found


def value_text(value: float | int | bool | str) -> str:
    """As a person types it, without loss."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def _units(entries: Entries) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for name in entries.names():
        unit = entries.table(name)
        values = {key: unit.number(key) for key in _EXPONENTS if key in unit}
        unit.rest("part of a unit", _EXPONENTS)
        found[name] = {key: value for key, value in values.items() if value is not None}
    return found
