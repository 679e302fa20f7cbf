"""Set parameters from a table: a file, a frame, or a table of parameters with changed values."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from math import isclose, isnan
from pathlib import Path
from typing import Any

from ssptool.arguments import WrongArgument, is_frame
from ssptool.documents.diagnostics import BadData, DataFinding
from ssptool.editing.bind import Addressees
from ssptool.editing.changes import EditError
from ssptool.editing.draft import Draft
from ssptool.editing.parameter_files import read_parameters
from ssptool.editing.parameter_rows import StatedRow, rows_of_frame, rows_of_table
from ssptool.editing.requested_values import ROUNDING, RequestedValue, requested_value, target_called, value_now
from ssptool.editing.set import set_value
from ssptool.editing.units import unit_named
from ssptool.errors import WrongUsage
from ssptool.fmu.description import Value
from ssptool.fmu.units import PhysicalUnit, with_unit
from ssptool.network.conversion import (
    IncompatibleUnits,
    Verdict,
    conversion,
    document_units,
    expected,
    is_float,
    verdict,
)
from ssptool.network.flatten import build_network
from ssptool.network.network import Network
from ssptool.network.parameter_table import ParameterTable, parameter_table, value_text
from ssptool.network.targets import NamedTarget
from ssptool.option_words import Sharing
from ssptool.printed import Printed, prints


@dataclass(frozen=True, slots=True)
class ParameterDifference(Printed):
    """A parameter whose value in a table differs from that in the system.

    Attributes
    ----------
    before
        Value in the system with its unit, as text; empty if there is none.
        after
            Value in the table with its unit, as text.
    place
        File and line of the table.
    """

    name: str
    before: str
    after: str
    place: str
    value: Any
    unit: PhysicalUnit | None


@prints(ParameterDifference)
def _difference_text(one: ParameterDifference) -> str:
    return f"{one.name}: {one.before or 'no value'} → {one.after}  ({one.place})"


def set_table(draft: Draft, table: object, into: str | None, sharing: Sharing) -> None:
    """Set the parameters whose values in a table differ from those in the system. Raises as `differences`."""
    for one in differences(draft, table):
        set_value(draft, one.name, one.value, one.unit, into, sharing)


def differences(draft: Draft, table: object) -> tuple[ParameterDifference, ...]:
    """Parameters whose values in a table differ from those in the system.

    Raises
    ------
    BadData
        Names are unknown, or values or units are wrong; the error lists all findings.
    """
    network = build_network(draft.archive, draft.document)
    present = parameter_table(network, document_units(draft.root))
    reading = _Reading(draft, Addressees(draft), network, present)
    found = tuple(reading.differing(_rows(table)))
    if reading.findings:
        raise BadData("the table of parameters", reading.findings)
    return found


def _rows(table: object) -> Iterable[StatedRow]:
    if isinstance(table, Path):
        return read_parameters(table)
    if isinstance(table, ParameterTable):
        return rows_of_table(table)
    if not is_frame(table):
        raise WrongArgument("table", table, "the path (Path) of a file, a table of parameters, or a frame of pandas")
    return rows_of_frame(table)


@dataclass(slots=True)
class _Reading:
    """Comparison of the rows of a table with a system; collects findings."""

    draft: Draft
    addressees: Addressees
    network: Network
    present: ParameterTable
    findings: list[DataFinding] = field(default_factory=list)

    def differing(self, rows: Iterable[StatedRow]) -> Iterator[ParameterDifference]:
        places: dict[str, StatedRow] = {}
        for row in rows:
            column = "name"
            try:
                name, whole, target = target_called(self.addressees, row.name)
                if name in places:
                    raise EditError(f"{name} has a row before, {places[name].place}: keep one of them")
                places[name] = row
                column = "type"
                _require_type(row, name, target)
                column = "unit"
                unit = self._unit(row, name, target)
                column = "value"
                yield from self._difference(row, name, whole, target, unit)
            except WrongUsage as problem:
                self.findings.append(row.finding(column, problem))

    def _unit(self, row: StatedRow, name: str, target: NamedTarget) -> PhysicalUnit | None:
        """Unit of a value; None: the unit of the parameter."""
        own = target.unit
        if row.unit is None or (own is not None and row.unit in (own, own.name)):
            return None
        unit = unit_named(self.draft, row.unit) if isinstance(row.unit, str) else row.unit
        try:
            conversion(unit, own, target.relative)
        except IncompatibleUnits as problem:
            raise EditError(f"{name}: {problem}; state a unit of the same quantity") from None
        return unit

    def _difference(
        self, row: StatedRow, name: str, whole: str, target: NamedTarget, unit: PhysicalUnit | None
    ) -> Iterator[ParameterDifference]:
        now = self.present.get(whole)
        if row.value is None and now is not None and now.text in ("", "NaN"):
            return
        value = _value(row, name, target)
        requested = requested_value(self.draft, self.addressees, self.network, name, value, unit)
        values = tuple(value_now(self.network, signal) for signal in requested.signals)
        if now is not None:
            values = now.values if requested.index is None else (now.values[requested.index],)
        if all(map(partial(_equal, requested), requested.in_target_unit, values)):
            return
        own = "" if target.unit is None else target.unit.name
        before = " ".join(map(partial(_shown, target), values)) if None not in values else ""
        after = with_unit(requested.text, requested.unit and requested.unit.name)
        yield ParameterDifference(name, before and with_unit(before, own), after, row.place, value, unit)


def _require_type(row: StatedRow, name: str, target: NamedTarget) -> None:
    """Raise EditError if values of the stated type are not valid for the parameter."""
    stated = row.type.partition("[")[0].strip()
    if stated and verdict(stated, target.type) not in (Verdict.OK, Verdict.INFO):
        raise EditError(f"{name} is of type {target.type}, found {stated}; tables cannot change types")


def _value(row: StatedRow, name: str, target: NamedTarget) -> Any:
    """Value of a cell, as an argument of `set`."""
    value = row.value.item() if getattr(row.value, "ndim", None) == 0 else row.value
    if value is None and target.type != "String":
        advice = "delete the row to keep the value"
        advice += f", or remove the value: `ssptool unset SYSTEM {name}`"
        raise EditError(f"{name} has an empty cell, expected {expected(target.type, target.items)}; {advice}")
    if isinstance(value, float) and value.is_integer() and not is_float(target.type):
        return int(value)
    if isinstance(value, str) and row.decimal_commas and is_float(target.type):
        return value.replace(",", ".")
    return "" if value is None else value


def _equal(requested: RequestedValue, wanted: Value, value: Value | None) -> bool:
    """True if a value equals the wanted one, within the rounding of numbers in files and of unit conversions."""
    if isinstance(wanted, bool) or isinstance(value, bool) or not isinstance(wanted, float | int):
        return wanted == value or (value is not None and requested.target.items.get(str(wanted)) == value)
    if not isinstance(value, float | int):
        return False
    units = [unit for unit in (requested.unit, requested.target.unit) if unit is not None]
    zero = max((abs(unit.offset / unit.factor) for unit in units if unit.factor), default=0.0)
    return isclose(wanted, value, rel_tol=ROUNDING, abs_tol=ROUNDING * zero) or (isnan(wanted) and isnan(value))


def _shown(target: NamedTarget, value: Value | None) -> str:
    items = {number: item for item, number in target.items.items()}
    item = items.get(value) if isinstance(value, int) and not isinstance(value, bool) else None
    return value_text(value) if item is None else item
