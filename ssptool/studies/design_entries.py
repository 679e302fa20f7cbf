"""Designs as they are written."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ssptool.studies.definition import Factor, Role
from ssptool.studies.designs.correlation import Correlations, normal_correlation
from ssptool.studies.designs.design import Design
from ssptool.studies.designs.grid import Grid
from ssptool.studies.designs.one_at_a_time import OneAtATime
from ssptool.studies.designs.random import LatinHypercube, Sobol
from ssptool.studies.designs.table import Table
from ssptool.studies.entries import Entries
from ssptool.studies.factor_entries import listed_files
from ssptool.studies.sources import Computed, Setting, Tabled

DESIGNS = ("grid", "table", "latin-hypercube", "sobol", "one-at-a-time")
PARAMETER_SET = "parameters"
"""The column of a table of parameter sets."""


def read_design(entries: Entries, folder: Path, factors: Mapping[str, Factor]) -> Design:
    """The design; that of a study which does not say is a grid."""
    kind = entries.text("kind") or "grid"
    known: tuple[str, ...] = ("kind",)
    design: Design = Grid()
    if kind not in DESIGNS:
        entries.find("kind", f"found {kind!r}, expected one of {', '.join(DESIGNS)}")
        return design
    if kind == "one-at-a-time":
        design = OneAtATime()
    elif kind == "table":
        design, known = _table(entries, folder, factors), ("kind", "file", "files", "rows")
    elif kind != "grid":
        design, known = _random(entries, kind, factors), ("kind", "runs", "seed", "correlations")
    entries.rest(f"key of a {kind} design", known)
    return design


def tabled_factors(design: Design, factors: Mapping[str, Factor]) -> tuple[Factor, ...]:
    """The factors that are stated, and those that are columns of a table and nothing else."""
    if not isinstance(design, Table):
        return tuple(factors.values())
    more = [name for name in design.values if name not in factors]
    role = {PARAMETER_SET: Role.PARAMETERS} if design.file == PARAMETER_SET else {}
    return (*factors.values(), *(Factor(name, Tabled(), role.get(name, Role.VARIABLE)) for name in more))


def _random(entries: Entries, kind: str, factors: Mapping[str, Factor]) -> Design:
    runs, seed = entries.count("runs"), entries.count("seed", 0)
    for name, value in (("runs", runs), ("seed", seed)):
        if value is None and name not in entries:
            entries.find("", f"a {kind} design needs {name}" + (", so that it can be repeated" * (name == "seed")))
    correlations = _correlations(entries, factors)
    return (Sobol if kind == "sobol" else LatinHypercube)(runs or 1, seed or 0, correlations)


def _correlations(entries: Entries, factors: Mapping[str, Factor]) -> Correlations:
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
        return f"{wrong[0]!r} is no factor that is drawn; there are {', '.join(drawn)}"
    if each[0] == each[1] or not -1 < each[2] < 1:
        return f"found {each!r}, expected two factors and a number between -1 and 1"
    return ""


def _table(entries: Entries, folder: Path, factors: Mapping[str, Factor]) -> Table:
    stated = [key for key in ("file", "files", "rows") if key in entries]
    if len(stated) != 1:
        entries.find(
            "", "a table needs one of: file (.csv), files (.ssv), rows; found " + (" and ".join(stated) or "none")
        )
        return Table()
    if stated == ["files"]:
        files = listed_files(entries.texts("files"), folder)
        return Table({PARAMETER_SET: files}, PARAMETER_SET)
    if stated == ["rows"]:
        return _rows(entries)
    name = entries.text("file")
    return Table() if name is None else _csv(folder / name, entries)


def _rows(entries: Entries) -> Table:
    rows = entries.take("rows")
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        entries.find("rows", "expected a list of tables: rows = [{k2 = 1, c2 = 0.1}, …]")
        return Table()
    names = list(dict.fromkeys(name for row in rows for name in row))
    for number, row in enumerate(rows, 1):
        for name in names:
            if not isinstance(row.get(name), bool | int | float | str):
                entries.find("rows", f"row {number}: {name}: found {row.get(name)!r}, expected a value")
                return Table()
    return Table({name: [row[name] for row in rows] for name in names})


def _csv(path: Path, entries: Entries) -> Table:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except OSError as error:
        entries.find("file", f"{path} cannot be read: {error.strerror}")
        return Table()
    except (UnicodeDecodeError, csv.Error) as error:
        entries.find("file", f"{path} is no CSV file in UTF-8: {error}")
        return Table()
    names = [name.strip() for name in rows[0]] if rows else []
    if not names or "" in names or len(set(names)) < len(names):
        entries.find("file", f"{path}:1: expected a row of different names, found {names}")
        return Table()
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(names):
            entries.find("file", f"{path}:{number}: found {len(row)} values, expected {len(names)}")
            return Table()
    texts = list(zip(*rows[1:], strict=True)) or [()] * len(names)
    return Table({name: _typed(column) for name, column in zip(names, texts, strict=True)}, str(path))


def _typed(texts: tuple[str, ...]) -> list[Setting]:
    """A column as whole numbers, numbers, truth values or texts: the first that all of them are."""
    for kind in (int, float, _truth):
        try:
            return [kind(text.strip()) for text in texts]
        except ValueError:
            continue
    return [text.strip() for text in texts]


def _truth(text: str) -> bool:
    try:
        return {"true": True, "false": False}[text.lower()]
    except KeyError:
        raise ValueError(text) from None
