"""Tables of other tools: names, units and times of their columns."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

import numpy as np

from ssptool.arguments import TIME_UNITS, in_seconds
from ssptool.documents.csv_columns import KNOWN_TIME_UNITS, bracketed, time_unit
from ssptool.engine.trace import TIME_NAMES, Column, Floats, column_with
from ssptool.errors import UnusableFile

NO_TIMES = "must be 'time', or with a unit 'time [ms]'"
"""End of the message on a file without a time column."""


def time_header(names: Iterable[str]) -> str | None:
    """Header of the time column: `time`, or with a unit `time [ms]`; None if there is none."""
    found = list(names)
    exact = next((name for name in found if name in TIME_NAMES), None)
    return exact or next((name for name in found if time_unit(name) is not None), None)


def is_time(name: str) -> bool:
    """True for the name of a time column with a known unit."""
    return name.lower() in TIME_NAMES or time_unit(name) in KNOWN_TIME_UNITS


def times_of(header: str, times: Any, unit: str = "") -> Floats:
    """Times (n,) [s] below such a header.

    Parameters
    ----------
    times
        Numbers in the unit of the header, or differences of time.
    unit
        Unit that the file states elsewhere. It applies if the header has none.

    Raises
    ------
    ValueError
        The values are neither numbers nor differences of time, or the unit is not a unit of time.
    """
    found, stated = np.asarray(times), _unit(header, unit)
    if stated not in KNOWN_TIME_UNITS:
        raise ValueError(f"{stated} is not a unit of time; expected one of {TIME_UNITS}")
    if found.dtype.kind == "O" and all(isinstance(time, timedelta) for time in found):
        found = np.array([time.total_seconds() for time in found]) * np.timedelta64(1, "s")
    if found.dtype.kind == "m":
        return np.asarray(found / np.timedelta64(1, "s"), dtype=np.float64)
    try:
        if found.dtype.kind == "M":
            raise TypeError
        numbers: Any = found.astype(np.float64)
    except (TypeError, ValueError):
        told = f"found {found.ravel()[0]!s}" if found.size else "found none"
        raise ValueError(f"{told}, expected numbers or differences of time (timedelta)") from None
    return numbers if stated in ("", "s") else np.asarray(in_seconds(numbers, stated))


def _unit(header: str, elsewhere: str) -> str:
    """Unit of the times: in the header, elsewhere in the file, or seconds."""
    return (time_unit(header) or "s") if "[" in header or not elsewhere else elsewhere


def column_named(name: str, kind: str, facts: Mapping[str, str]) -> Column:
    """Column of a file that states facts about its columns. Files of other tools have none, and may have names such as
    `speed [km/h]`.

    Parameters
    ----------
    kind
        Type of the values in the file.

    Raises
    ------
    ValueError
        The facts cannot be read.
    """
    own = None if "type" in facts else bracketed(name)
    return column_with(name, {"type": kind, **facts}) if own is None else Column(own[0], own[1] or None, kind)


def read_times(path: object, header: str, times: Any, unit: str = "") -> Floats:
    """`times_of` for a file. Raises UnusableFile."""
    try:
        return times_of(header, times, unit)
    except ValueError as error:
        raise UnusableFile(path, f"column {header}: {error}") from None
