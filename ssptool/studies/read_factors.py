"""Read factors and designs from the entries of a study."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ssptool.documents.csv_columns import CsvForm
from ssptool.documents.foreign_files import open_text
from ssptool.documents.outside import out_of_reach
from ssptool.engine.settings import present_names
from ssptool.errors import disk_trouble
from ssptool.studies.definition import Factor, FactorRole
from ssptool.studies.designs import (
    Computed,
    Correlations,
    Design,
    FactorSource,
    FactorValue,
    GridDesign,
    LatinHypercube,
    Levels,
    LogNormal,
    Normal,
    OneAtATime,
    Range,
    Sobol,
    Tabled,
    TableDesign,
    Triangular,
    design_named,
    normal_correlation,
)
from ssptool.studies.entries import StudyEntries, beyond
from ssptool.studies.expressions import BadExpression, Expression
from ssptool.studies.optimum import MOST_OBJECTIVES, Constraint, Objective, Optimize
from ssptool.studies.prepared import setting_problem
from ssptool.studies.sensitivity import LEVELS, Morris, Saltelli

_ROLES = (
    FactorRole.VARIABLE,
    FactorRole.FMU,
    FactorRole.SETTING,
    FactorRole.VARIANT,
    FactorRole.PARAMETERS,
    FactorRole.FREE,
)
_DISTRIBUTIONS = {
    "uniform": ("low", "high"),
    "loguniform": ("low", "high"),
    Normal.distribution: ("mean", "std"),
    LogNormal.distribution: ("median", "spread"),
    Triangular.distribution: ("low", "mode", "high"),
}
_NUMBERS = ("low", "high", "mean", "std", "median", "spread", "mode")
FACTOR_KEYS = (*_ROLES, "unit", "nominal", "values", *_NUMBERS, "count", "scale", "distribution", "expression")


def read_factor(name: str, factors: StudyEntries) -> Factor | None:
    """Read one entry of `factors`: a table, or as a short form a list of values or the text of an expression."""
    content = factors.take(name)
    if isinstance(content, list | tuple):
        content = {"values": list(content)}
    elif isinstance(content, str):
        content = {"expression": content}
    entries = StudyEntries(content, (*factors.key, name), factors.findings)
    role, of = _role(entries)
    nominal = entries.take("nominal")
    if nominal is not None and not _is_setting(nominal):
        entries.find("nominal", f"found {nominal!r}, expected a number, true, false or a text")
        nominal = None
    unit = entries.text("unit")
    if unit is not None and role is not FactorRole.VARIABLE:
        entries.find("unit", f"only values of variables have units, this is a factor of role {role}")
    source = _source(entries)
    entries.rest("key of a factor", FACTOR_KEYS)
    return None if source is None else Factor(name, source, role, of, unit, nominal)


def _role(entries: StudyEntries) -> tuple[FactorRole, tuple[str, ...]]:
    stated = [role for role in _ROLES if role.value in entries]
    if len(stated) > 1:
        entries.find(stated[1], f"a factor is one of {', '.join(_ROLES)}; found {' and '.join(stated)}")
    role = stated[0] if stated else FactorRole.VARIABLE
    if role in (FactorRole.VARIANT, FactorRole.PARAMETERS, FactorRole.FREE):
        if role in stated and not entries.flag(role):
            entries.find(role, "expected true, or nothing")
        return role, ()
    of = entries.texts(role) if stated else ()
    if role in (FactorRole.FMU, FactorRole.SETTING) and len(of) != 1:
        entries.find(
            role, f"found {len(of)} names, expected the name of one {'component' if role is FactorRole.FMU else role}"
        )
    if role is FactorRole.SETTING:
        of = tuple(present_names(dict.fromkeys(of), f"{'.'.join(entries.key)}.{role} {{}}".format))
    if role is FactorRole.SETTING and len(of) == 1 and (problem := setting_problem(of[0])):
        entries.find(role, problem)
    return role, of


def _source(entries: StudyEntries) -> FactorSource | None:
    stated = [key for key in ("values", "expression", "distribution") if key in entries]
    if len(stated) > 1:
        allowed = "values, or a range, or a distribution, or an expression"
        entries.find(stated[1], f"a factor has {allowed}; found {' and '.join(stated)}")
        for key in stated:
            entries.take(key)
        return None
    if stated == ["values"]:
        return _levels(entries)
    if stated == ["expression"]:
        return _computed(entries)
    if stated == ["distribution"]:
        return _distribution(entries)
    return _range(entries) if "low" in entries or "high" in entries else Tabled()


def _levels(entries: StudyEntries) -> Levels | None:
    values = entries.take("values")
    if isinstance(values, str):
        values = [values]
    if not isinstance(values, list | tuple) or not values:
        entries.find("values", f"found {values!r}, expected a list of values")
        return None
    for value in values:
        if not _is_setting(value):
            entries.find("values", f"found {value!r}, expected numbers, true and false, or texts")
            return None
    kinds = {bool if isinstance(v, bool) else float if isinstance(v, int | float) else str for v in values}
    if len(kinds) > 1:
        entries.find("values", f"numbers, truth values and texts are mixed: {values!r}")
        return None
    # All numbers of a column have the same type: 1 and 1.5 are both real numbers.
    numbers = any(isinstance(value, float) for value in values)
    return Levels(tuple(float(value) if numbers else value for value in values))


def _is_setting(value: Any) -> bool:
    return isinstance(value, bool | int | float | str) and value == value


def _computed(entries: StudyEntries) -> Computed | None:
    text = entries.text("expression")
    if text is None:
        return None
    try:
        return Computed(Expression(text))
    except BadExpression as problem:
        entries.find("expression", problem.reason)
        return None


def _numbers(entries: StudyEntries, names: tuple[str, ...], what: str) -> list[float] | None:
    found = [entries.number(name) for name in names]
    for name, value in zip(names, found, strict=True):
        if value is None and name not in entries:
            entries.find("", f"{what} needs {', '.join(names)}; {name} is missing")
    return None if None in found else [value for value in found if value is not None]


def _range(entries: StudyEntries, log: bool = False) -> Range | None:
    bounds, count = _numbers(entries, ("low", "high"), "a range"), entries.count("count", 2)
    scale = entries.text("scale") or "linear"
    if scale not in ("linear", "log"):
        entries.find("scale", f"found {scale!r}, expected linear or log")
    if bounds is None:
        return None
    low, high = bounds
    log = log or scale == "log"
    if not low < high:
        entries.find("high", f"must be greater than low: found {low:g} to {high:g}")
        return None
    if log and low <= 0:
        entries.find("low", f"must be greater than 0 on a logarithmic scale; found {low:g}")
        return None
    return Range(low, high, count, log)


def _distribution(entries: StudyEntries) -> FactorSource | None:
    kind = entries.text("distribution")
    if kind not in _DISTRIBUTIONS:
        entries.find("distribution", f"found {kind!r}, expected one of {', '.join(_DISTRIBUTIONS)}")
        for name in _NUMBERS:
            entries.take(name)
        return None
    if kind in ("uniform", "loguniform"):
        return _range(entries, kind == "loguniform")
    values = _numbers(entries, _DISTRIBUTIONS[kind], f"a {kind} distribution")
    low, high = entries.number("low"), entries.number("high")
    if values is None:
        return None
    made = _MADE[kind](values, low, high)
    if isinstance(made, str):
        entries.find("", made)
        return None
    return made


def _normal(values: list[float], low: float | None, high: float | None) -> Normal | str:
    bounds = -float("inf") if low is None else low, float("inf") if high is None else high
    if not values[1] > 0:
        return f"std must be greater than 0, found {values[1]:g}"
    return (
        Normal(values[0], values[1], *bounds)
        if bounds[0] < bounds[1]
        else f"high must be greater than low, found {bounds}"
    )


def _lognormal(values: list[float], low: float | None, high: float | None) -> LogNormal | str:
    if low is not None or high is not None:
        return "a lognormal distribution cannot be cut off; use a normal one"
    return LogNormal(*values) if min(values) > 0 else "median and spread must be greater than 0"


def _triangular(values: list[float], low: float | None, high: float | None) -> Triangular | str:
    a, mode, b = values
    return Triangular(*values) if a <= mode <= b and a < b else "expected low <= mode <= high, and low < high"


_MADE = {Normal.distribution: _normal, LogNormal.distribution: _lognormal, Triangular.distribution: _triangular}


def listed_files(values: tuple[FactorValue, ...], folder: Path) -> tuple[str, ...]:
    """Files by name or pattern (`sets/*.ssv`), sorted within each pattern."""
    found: list[str] = []
    for value in values:
        text = str(value)
        pattern = any(letter in text for letter in "*?[") and not Path(text).is_absolute()
        matched = sorted(str(path.relative_to(folder)) for path in folder.glob(text)) if pattern else []
        found += matched or [text]
    return tuple(found)


DESIGNS = ("grid", "table", "latin-hypercube", "sobol", "one-at-a-time", "saltelli", "morris", "optimize")
PARAMETER_SET = "parameters"
"""Column of a table with parameter sets."""


DESIGN_KEYS = (
    *("kind", "runs", "seed", "correlations", "trajectories", "levels", "file", "files", "rows"),
    *("minimize", "maximize", "constraints", "population"),
)
"""Keys of all kinds of designs."""


def read_design(
    entries: StudyEntries, folder: Path, factors: Mapping[str, Factor], allowed: Iterable[Path] | None = ()
) -> Design:
    """The design (default: a grid).

    A table may be read from the folder of the study, and from folders in `allowed` (None: from any folder).
    """
    kind = entries.text("kind") or "grid"
    known: tuple[str, ...] = ("kind",)
    design: Design = GridDesign()
    if kind not in DESIGNS:
        entries.find("kind", f"found {kind!r}, expected one of {', '.join(DESIGNS)}")
        return design
    if kind == "one-at-a-time":
        design = OneAtATime()
    elif kind == "table":
        design, known = _table(entries, folder, factors, allowed), ("kind", "file", "files", "rows")
    elif kind == "saltelli":
        runs, seed = _needed(entries, kind, "runs", "seed")
        design, known = Saltelli(runs or 1, seed), ("kind", "runs", "seed")
    elif kind == "morris":
        trajectories, seed = _needed(entries, kind, "trajectories", "seed")
        levels = entries.count("levels", 2) or LEVELS
        design, known = Morris(trajectories or 1, seed, levels), ("kind", "trajectories", "seed", "levels")
    elif kind == "optimize":
        design, known = (
            _optimize(entries),
            ("kind", "minimize", "maximize", "constraints", "runs", "seed", "population"),
        )
    elif kind != "grid":
        design, known = _random(entries, kind, factors), ("kind", "runs", "seed", "correlations")
    entries.rest(f"key of {design_named(kind)}", known)
    return design


def _optimize(entries: StudyEntries) -> Optimize:
    runs, seed = _needed(entries, "optimize", "runs", "seed")
    objectives = [Objective(name) for name in entries.texts("minimize")]
    objectives += [Objective(name, maximize=True) for name in entries.texts("maximize")]
    if not 1 <= len(objectives) <= MOST_OBJECTIVES:
        found = f"found {len(objectives)}" if objectives else "found none"
        entries.find("", f"an optimize design has one objective or two: minimize or maximize = a result; {found}")
    constraints: list[Constraint] = []
    for text in entries.texts("constraints"):
        try:
            constraints.append(Constraint(text))
        except BadExpression as problem:
            entries.find("constraints", str(problem))
    population = entries.count("population", 4)
    return Optimize(tuple(objectives[:MOST_OBJECTIVES]), runs or 1, seed, tuple(constraints), population)


def tabled_factors(design: Design, factors: Mapping[str, Factor]) -> tuple[Factor, ...]:
    """The stated factors, and columns of a table that are not stated as factors."""
    if not isinstance(design, TableDesign):
        return tuple(factors.values())
    more = [name for name in design.values if name not in factors]
    role = {PARAMETER_SET: FactorRole.PARAMETERS} if design.file == PARAMETER_SET else {}
    return (*factors.values(), *(Factor(name, Tabled(), role.get(name, FactorRole.VARIABLE)) for name in more))


def _random(entries: StudyEntries, kind: str, factors: Mapping[str, Factor]) -> Design:
    runs, seed = _needed(entries, kind, "runs", "seed")
    correlations = _correlations(entries, factors)
    return (Sobol if kind == "sobol" else LatinHypercube)(runs or 1, seed, correlations)


def _needed(entries: StudyEntries, kind: str, size: str, seed: str) -> tuple[int, int]:
    """Two required numbers of a random design; 0 for an invalid one."""
    numbers = {size: entries.count(size), seed: entries.count(seed, 0)}
    for name, value in numbers.items():
        if value is None and name not in entries:
            entries.find("", f"{design_named(kind)} needs {name}" + (", so that it can be repeated" * (name == seed)))
    return numbers[size] or 0, numbers[seed] or 0


def _correlations(entries: StudyEntries, factors: Mapping[str, Factor]) -> Correlations:
    listed = entries.take("correlations") or []
    found: list[tuple[str, str, float]] = []
    drawn = [name for name, factor in factors.items() if not isinstance(factor.source, Computed)]
    for each in listed if isinstance(listed, list) else [listed]:
        problem = _correlation_problem(each, drawn)
        if problem:
            entries.find("correlations", problem)
        else:
            found.append((each[0], each[1], float(each[2])))
    if found:
        try:
            normal_correlation(drawn, tuple(found))
        except ValueError as error:
            entries.find("correlations", str(error))
            return ()
    return tuple(found)


def _correlation_problem(each: Any, drawn: list[str]) -> str:
    if not isinstance(each, list | tuple) or len(each) != 3 or not isinstance(each[2], int | float):
        return f'found {each!r}, expected ["one factor", "another", rank correlation]'
    if wrong := [name for name in each[:2] if name not in drawn]:
        return f"{wrong[0]!r} is not a factor that is drawn; there are {', '.join(drawn)}"
    if each[0] == each[1] or not -1 < each[2] < 1:
        return f"found {each!r}, expected two factors and a number between -1 and 1"
    return ""


def _table(
    entries: StudyEntries, folder: Path, factors: Mapping[str, Factor], allowed: Iterable[Path] | None
) -> TableDesign:
    stated = [key for key in ("file", "files", "rows") if key in entries]
    if len(stated) != 1:
        entries.find(
            "", "a table needs one of: file (.csv), files (.ssv), rows; found " + (" and ".join(stated) or "none")
        )
        return TableDesign()
    if stated == ["files"]:
        files = listed_files(entries.texts("files"), folder)
        return TableDesign({PARAMETER_SET: files}, PARAMETER_SET)
    if stated == ["rows"]:
        return _rows(entries)
    name = entries.text("file")
    if name is not None and allowed is not None and out_of_reach(folder / name, folder, allowed):
        entries.find("file", beyond(folder / name))
        return TableDesign()
    return TableDesign() if name is None else _csv(folder / name, entries)


def _rows(entries: StudyEntries) -> TableDesign:
    rows = entries.take("rows")
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        entries.find("rows", "expected a list of tables: rows = [{k2 = 1, c2 = 0.1}, …]")
        return TableDesign()
    names = list(dict.fromkeys(name for row in rows for name in row))
    for number, row in enumerate(rows, 1):
        for name in names:
            if not isinstance(row.get(name), bool | int | float | str):
                entries.find("rows", f"row {number}: {name}: found {row.get(name)!r}, expected a value")
                return TableDesign()
    return TableDesign({name: [row[name] for row in rows] for name in names})


def _csv(path: Path, entries: StudyEntries) -> TableDesign:
    try:
        with open_text(path, newline="") as file:
            text = file.read()
        form = CsvForm.of(text)
        lines = csv.reader(io.StringIO(text[form.start :], newline=""), delimiter=form.separator, strict=True)
        rows = [(form.first_line - 1 + lines.line_num, row) for row in lines if row]
    except OSError as error:
        entries.find("file", f"{path} cannot be read: {disk_trouble(error)}")
        return TableDesign()
    except (UnicodeDecodeError, csv.Error) as error:
        entries.find("file", f"{path} is not a CSV file in UTF-8: {error}")
        return TableDesign()
    names = [name.strip() for name in rows[0][1]] if rows else []
    if not names or "" in names or len(set(names)) < len(names):
        entries.find("file", f"{path}:{form.first_line}: expected a row of different names, found {names}")
        return TableDesign()
    for number, row in rows[1:]:
        if len(row) != len(names):
            entries.find("file", f"{path}:{number}: found {len(row)} values, expected {len(names)}")
            return TableDesign()
    texts = list(zip(*(row for _, row in rows[1:]), strict=True)) or [()] * len(names)
    return TableDesign(
        {name: _typed(form.numbers(column)) for name, column in zip(names, texts, strict=True)}, str(path)
    )


def _typed(texts: Sequence[str]) -> list[FactorValue]:
    """A column as integers, real numbers, truth values or strings: the first type that fits all cells."""
    for kind in (int, float, _boolean):
        try:
            return [kind(text.strip()) for text in texts]
        except ValueError:
            continue
    return [text.strip() for text in texts]


def _boolean(text: str) -> bool:
    try:
        return {"true": True, "false": False}[text.lower()]
    except KeyError:
        raise ValueError(text) from None
