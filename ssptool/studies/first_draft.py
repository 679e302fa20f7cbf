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
from ssptool.fmu.description import Value
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
        "each run is chosen from the results of earlier runs",
    ),
}


class ChosenStudy(NamedTuple):
    """Factors with their values as somebody types them (see `values_from`), and the expression of the result."""

    factors: Mapping[str, str]
    result: str


class StudiedSystem(NamedTuple):
    """Path of a system, as stated in a study file, and a variant (None: the default). `stop` is the stop time [s] of
    the runs, with the reason; None: the stop time of the system, if it `states_stop`.
    """

    path: str
    variant: str | None
    stop: tuple[float, str] | None = None
    states_stop: bool = True


def first_draft(
    system: StudiedSystem,
    variables: Sequence[VariableEntry],
    kind: StudyKind,
    file: str,
    data: str | None = None,
    chosen: ChosenStudy | None = None,
) -> str:
    """The text of a study file `file` (TOML).

    Parameters
    ----------
    data
        Path of the measured signals, as stated in the file.
    variables
        All variables of the system.
    chosen
        Factors and result (None: all parameters of the system are proposed, and all outputs).

    Raises
    ------
    WrongValue
        The system has no parameters, or no outputs, that are real numbers; or `data` is missing or not usable; or
        there is no such chosen factor.
    """
    if (kind is StudyKind.CALIBRATE) != (data is not None):
        wanted = "needs data: the file of the measured signals" if data is None else "takes no data"
        raise WrongValue(f"a study of the kind {kind} {wanted}")
    command = "study calibrate" if kind is StudyKind.CALIBRATE else "study"
    factors = list(_factors(variables, kind) if chosen is None else _chosen_factors(variables, chosen.factors))
    if not factors:
        raise WrongValue("the system has no parameter that is a real number other than 0, so there is nothing to vary")
    of_outputs = dict(_results(variables))
    expressions = of_outputs if chosen is None else {_name_of(chosen.result, of_outputs): chosen.result}
    results = [(name, _toml_text(expression)) for name, expression in expressions.items()]
    if not results and kind is not StudyKind.CALIBRATE:
        raise WrongValue("the system has no output that is a real number, so there is no result to begin with")
    about_ranges = f"; ranges are {_range_in_words(kind)}" if chosen is None else ""
    lines = [
        f"# Run it: ssptool {command} {file}",
        "# Lines that begin with # are proposals: remove the sign to use them.",
        f"system = {json_text(system.path)}",
        *([] if system.variant is None else [f"variant = {json_text(system.variant)}"]),
        "",
        "[settings]                # same for all runs",
        _stop_time(system),
        "",
        f"[factors]                 # values that vary from run to run{about_ranges}",
        *_active(factors, _ACTIVE.get(kind, 3) if chosen is None else len(factors)),
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
    return f"# stop_time = 10          # seconds, or a string such as '500ms'{needed}"


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
        span = _range(one, kind) if one.causality == "parameter" else None
        if span is not None:
            count = ", count = 3" if kind is StudyKind.GRID else ""
            yield f"{json_text(one.name)} = {{low = {span[0]:g}, high = {span[1]:g}{count}}}    # {_about(one)}"


def _chosen_factors(variables: Sequence[VariableEntry], chosen: Mapping[str, str]) -> Iterator[str]:
    known = {one.name: one for one in variables}
    for name, typed in chosen.items():
        if name not in known:
            raise WrongValue(f"the system has no variable {name!r} that can differ between runs")
        yield f"{json_text(name)} = {values_from(known[name], typed)}    # {_about(known[name])}"


def _range(one: VariableEntry, kind: StudyKind) -> tuple[float, float] | None:
    """The values around that of the system, within the bounds of the FMU; None if there is no such range."""
    value = _value(one)
    if one.shape or not isinstance(value, float) or not value or not isfinite(value):
        return None
    low, high = sorted((0.5 * value, 2 * value) if _is_wide(kind) else (0.8 * value, 1.2 * value))
    low = low if one.minimum is None else max(low, one.minimum)
    high = high if one.maximum is None else min(high, one.maximum)
    return (low, high) if low < high else None


def _value(one: VariableEntry) -> Value | None:
    return one.start if one.value is None else one.value


def _about(one: VariableEntry) -> str:
    """Value, unit and description in one line."""
    unit, described = (f" {one.unit}" if one.unit else ""), (f", {one.description}" if one.description else "")
    return " ".join(f"{_shown(_value(one))}{unit}{described}".split())


def _shown(value: Value | None) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


_RANGE = re.compile(r"(\S+)\s+to\s+(\S+)(?:\s+in\s+(\d+))?")


def proposed_values(one: VariableEntry) -> str:
    """Values of a factor as `values_from` reads them: a range around the value of the system, or this value alone."""
    span = _range(one, StudyKind.GRID)
    return _shown(_value(one)) if span is None else f"{span[0]:g} to {span[1]:g} in 3"


def values_from(one: VariableEntry, typed: str) -> str:
    """The values of a factor for a study file. `5, 10, 20` is a list, `8 to 12` a range, `8 to 12 in 5` has 5 points.

    Raises
    ------
    WrongValue
        There are no values, the ends of a range are not numbers in ascending order, or a text stands for a number.
    """
    found = _RANGE.fullmatch(typed.strip())
    if found is None:
        values = [part.strip() for part in typed.split(",") if part.strip()]
        if not values:
            raise WrongValue(f"{one.name} has no values; expected a list such as 5, 10, 20, or a range such as 8 to 12")
        return f"[{', '.join(_toml_value(one, value) for value in values)}]"
    low, high = (_number(part) for part in found.groups()[:2])
    if low is None or high is None or low >= high:
        raise WrongValue(f"{one.name}: {typed!r} is not a range of numbers from low to high, such as 8 to 12")
    count = f", count = {found[3]}" if found[3] else ""
    return f"{{low = {low!r}, high = {high!r}{count}}}"


def _toml_value(one: VariableEntry, text: str) -> str:
    """A value of a variable. Raises WrongValue."""
    if one.type == "Boolean" and text.lower() in ("true", "false"):
        return text.lower()
    number = None if one.type == "String" else _number(text)
    if number is None and one.type.startswith(("Float", "Int", "UInt")):
        raise WrongValue(f"{one.name}: {text!r} is not a number")
    if number is None:
        return json_text(text)
    return str(int(text)) if re.fullmatch(r"[-+]?\d+", text) else repr(number)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _name_of(expression: str, known: Mapping[str, str]) -> str:
    return next((name for name, one in known.items() if one == expression), "result")


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
