"""Two traces made comparable: the same names, units and types where one can be expressed by the other."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssptool.dataclass import dataclass
from ssptool.engine.columns import NUMBERED, machine_type
from ssptool.engine.trace import Column, Trace
from ssptool.fmu.units import unit_of_name
from ssptool.network.signals import Conversion
from ssptool.network.units import conversion, convertible


@dataclass(frozen=True, slots=True)
class Alignment:
    """A trace and its reference. `remarks` says by signal what was converted."""

    trace: Trace
    reference: Trace
    remarks: Mapping[str, str]


def aligned(trace: Trace, reference: Trace) -> Alignment:
    """The trace in the units of the reference, as far as the names of its units tell them; and whole numbers in both as
    what the other says that they are, since not every file tells integers and Booleans from real numbers.
    """
    theirs = {column.signal: column for column in trace.columns}
    ours = {column.signal: column for column in reference.columns}
    remarks: dict[str, str] = {}
    changed: dict[str, tuple[Column, NDArray[Any]]] = {}
    expected: dict[str, tuple[Column, NDArray[Any]]] = {}
    for signal in theirs.keys() & ours.keys():
        found, wanted = theirs[signal], ours[signal]
        if found.real and wanted.real:
            change = _conversion(found.unit, wanted.unit)
            if change is not None:
                changed[signal] = replace(found, unit=wanted.unit), trace[signal] * change.factor + change.offset
                remarks[signal] = f"converted from {found.unit}"
        elif found.real and _is_whole(trace[signal], wanted.type):
            changed[signal] = replace(found, type=wanted.type), trace[signal].astype(machine_type(wanted.type))
        elif wanted.real and _is_whole(reference[signal], found.type):
            expected[signal] = replace(wanted, type=found.type), reference[signal].astype(machine_type(found.type))
    return Alignment(_with(trace, changed), _with(reference, expected), remarks)


def without_prefix(trace: Trace, prefix: str) -> Trace:
    """The trace with names from which this beginning is dropped, where they have it."""
    columns = tuple(replace(column, signal=column.signal.removeprefix(prefix)) for column in trace.columns)
    return replace(trace, columns=columns)


def _conversion(one: str | None, other: str | None) -> Conversion | None:
    """None between units of the same name, and where the names do not tell how to convert."""
    source, target = unit_of_name(one or ""), unit_of_name(other or "")
    if one == other or source is None or target is None or not convertible(source, target):
        return None
    return conversion(source, target)


def _is_whole(values: NDArray[Any], kind: str) -> bool:
    """Whether doubles are values of a type of whole numbers."""
    if kind in NUMBERED:
        return False
    with np.errstate(invalid="ignore"):
        cast = values.astype(machine_type(kind))
    return bool(np.array_equal(cast.astype(np.float64), values))


def _with(trace: Trace, changed: Mapping[str, tuple[Column, NDArray[Any]]]) -> Trace:
    if not changed:
        return trace
    return Trace.of(trace.t, (changed.get(column.signal) or (column, trace[column.signal]) for column in trace.columns))
