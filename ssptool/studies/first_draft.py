"""First drafts of studies: a commented file with the names, units and values of a system, and the entries of a
sweep.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from itertools import islice
from math import isfinite
from typing import NamedTuple

from ssptool.engine.settings import EARLIER_NAMES, Settings
from ssptool.errors import WrongValue
from ssptool.foreign_text import json_text
from ssptool.network.inventory import VariableEntry


class StudyKind(StrEnum):
    """Kinds of first drafts: designs, and calibration."""

    GRID = "grid"
    LHS = "lhs"
    SOBOL = "sobol"
    MORRIS = "morris"
    SALTELLI = "saltelli"
    OPTIMIZE = "optimize"
    CALIBRATE = "calibrate"


_ACTIVE = {StudyKind.GRID: 2, StudyKind.MORRIS: 8, StudyKind.OPTIMIZE: 2, StudyKind.CALIBRATE: 2}
"""Number of factors that are active, not proposals in a comment; 3 for other kinds."""

_MOST_RESULTS = 6

_DESIGNS = {
    StudyKind.GRID: ('kind = "grid"', "every combination of the values"),
    StudyKind.LHS: ('kind = "latin-hypercube"\nruns = 50\nseed = 1', "random points, evenly spread over each range"),
    StudyKind.SOBOL: ('kind = "sobol"\nruns = 64\nseed = 1', "points that fill the ranges evenly; a power of 2"),
    StudyKind.MORRIS: (
        'kind = "morris"\ntrajectories = 20\nseed = 1',
        "finds the factors that matter: 20 × (factors + 1) runs",
    ),
    StudyKind.SALTELLI: (
        'kind = "saltelli"\nruns = 256\nseed = 1',
        "Sobol' indices: 256 × (factors + 2) runs; more runs make the intervals narrower",
    ),
    StudyKind.OPTIMIZE: (
        'kind = "optimize"\nminimize = "{result}"    # or maximize\n'
        '# constraints = ["{result} <= 1"]\nruns = 150                # at most\nseed = 1',
        "points that are chosen by the results before them",
    ),
}


class StudiedSystem(NamedTuple):
    """Path of a system, as stated in a study file, and a variant (None: the default). `stop` is the stop time [s] of
    the runs, with the reason; None: the stop time of the system, if it `states_stop`.
    """

    path: str
    variant: str | None
    stop: tuple[float, str] | None = None
    states_stop: bool = True


def first_draft(
    system: StudiedSystem, variables: Sequence[VariableEntry], kind: StudyKind, file: str, data: str | None = None
) -> str:
    """The text of a study file `file` (TOML).

    Parameters
    ----------
    data
        Path of the measured signals, as stated in the file.
    variables
        All variables of the system.

    Raises
    ------
    WrongValue
        The system has no parameters, or no outputs, that are real numbers; or `data` is missing or not usable.
    """
    if (kind is StudyKind.CALIBRATE) != (data is not None):
        wanted = "needs data: the file of the measured signals" if data is None else "takes no data"
        raise WrongValue(f"a study of the kind {kind} {wanted}")
    command = "study calibrate" if kind is StudyKind.CALIBRATE else "study"
    factors = list(_factors(variables, kind))
    if not factors:
        raise WrongValue("the system has no parameter that is a real number other than 0, so there is nothing to vary")
    results = [(name, _toml_text(expression)) for name, expression in _results(variables)]
    if not results and kind is not StudyKind.CALIBRATE:
        raise WrongValue("the system has no output that is a real number, so there is no result to begin with")
    lines = [
        f"# Run it: ssptool {command} {file}",
        "# Lines that begin with # are proposals: remove the sign to use them.",
        f"system = {json_text(system.path)}",
        *([] if system.variant is None else [f"variant = {json_text(system.variant)}"]),
        "",
        "[settings]                # of all runs",
        _stop_time(system),
        "",
        f"[factors]                 # what differs between runs; ranges are {_range_in_words(kind)}",
        *_active(factors, _ACTIVE.get(kind, 3)),
        "",
    ]
    if kind is StudyKind.CALIBRATE:
        file_of_data = json_text(data)
        lines += ["[calibration]", f"data = {file_of_data}    # columns: time, full names of signals"]
        return "\n".join(lines) + "\n"
    design, meaning = _DESIGNS[kind]
    lines += [
        "[results]                 # numbers of each run: final, min, max, mean, rms, integral, at, crossing, ...",
        *_active([f"{name} = {expression}" for name, expression in results], 1),
        "",
        f"[design]                  # {meaning}",
        design.format(result=results[0][0]),
    ]
    return "\n".join(lines) + "\n"


def _stop_time(system: StudiedSystem) -> str:
    if system.stop is not None:
        return "stop_time = {!r}    # seconds: {}".format(*system.stop)
    needed = "" if system.states_stop else "; needed if the FMUs state none: the system does not"
    return f"# stop_time = 10          # seconds, or a text such as '500ms'{needed}"


def default_results(variables: Sequence[VariableEntry]) -> dict[str, str]:
    """Default results: the largest value of each output, for at most six outputs."""
    return dict(islice(_results(variables), _MOST_RESULTS))


def factor_of_sweep(name: str, values: object) -> object:
    """Table of a factor of a study; the name of a setting varies that setting."""
    if name not in {*EARLIER_NAMES, *(field.name for field in fields(Settings))}:
        return values
    return {"setting": name, **(values if isinstance(values, Mapping) else {"values": values})}


def _active(lines: Sequence[str], count: int) -> list[str]:
    return [*lines[:count], *(f"# {line}" for line in lines[count:])]


def _range_in_words(kind: StudyKind) -> str:
    return "half and double the value of the system" if _is_wide(kind) else "± 20 % of the value of the system"


def _is_wide(kind: StudyKind) -> bool:
    return kind in (StudyKind.OPTIMIZE, StudyKind.CALIBRATE)


def _factors(variables: Sequence[VariableEntry], kind: StudyKind) -> Iterator[str]:
    for one in variables:
        value = one.start if one.value is None else one.value
        if (
            one.causality != "parameter"
            or one.shape
            or not isinstance(value, float)
            or not value
            or not isfinite(value)
        ):
            continue
        low, high = sorted((0.5 * value, 2 * value) if _is_wide(kind) else (0.8 * value, 1.2 * value))
        low = low if one.minimum is None else max(low, one.minimum)
        high = high if one.maximum is None else min(high, one.maximum)
        if low >= high:
            continue
        count = ", count = 3" if kind is StudyKind.GRID else ""
        unit, described = (f" {one.unit}" if one.unit else ""), (f", {one.description}" if one.description else "")
        about = " ".join(f"{value:g}{unit}{described}".split())
        yield f"{json_text(one.name)} = {{low = {low:g}, high = {high:g}{count}}}    # {about}"


def _results(variables: Sequence[VariableEntry]) -> Iterator[tuple[str, str]]:
    """Names and expressions: the largest value of each output."""
    taken = set[str]()
    for one in variables:
        if one.causality != "output" or one.shape or not one.type.startswith("Float"):
            continue
        name = "_".join(re.findall(r"[A-Za-z0-9]+", one.name)) + "_max"
        while name in taken or not name[0].isalpha():
            name = f"r_{name}"
        taken.add(name)
        yield name, f"max({json_text(one.name)})"


def _toml_text(text: str) -> str:
    """A TOML string, with quotation marks that need no escapes if possible."""
    return json_text(text) if "'" in text else f"'{text}'"
