"""Inputs and scenarios of a run, resolved, with the times at which one of them jumps."""

import hashlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from ssptool.documents.diagnostics import DataFinding
from ssptool.engine.failure import BadInputs
from ssptool.engine.stimuli.course import (
    Constant,
    Course,
    Function,
    Interpolation,
    Overridden,
    Override,
    Table,
    active,
)
from ssptool.fmu.description import Value
from ssptool.network.network import Assignment, Conversion, Network, Signal, TableComponent, Wire


@dataclass(frozen=True, slots=True)
class Driven:
    """An input with its course, in the unit and type that it has, and in words where that comes from.

    `file` is the file that it comes from, if it does. `table` is the component whose output it is; its first value is
    held before its first row.
    """

    signal: Signal
    course: Course
    origin: str
    file: Path | None = None
    table: TableComponent | None = None


class Gate(NamedTuple):
    """A connection that a scenario acts on: modifications of what its source gives and its destination gets."""

    source: Signal
    destination: Signal
    conversion: Conversion
    at_source: tuple[Override, ...]
    at_destination: tuple[Override, ...]


class Setting(NamedTuple):
    """A tunable parameter that a scenario changes; `base` is what it has otherwise."""

    signal: Signal
    base: Value
    modifications: tuple[Override, ...]


@dataclass(frozen=True, slots=True)
class Stimuli:
    """Driven inputs, gates and settings.

    `events` are the lines of the scenario in words, `files` what all of it was read from.
    """

    driven: tuple[Driven, ...] = ()
    gates: tuple[Gate, ...] = ()
    settings: tuple[Setting, ...] = ()
    events: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.driven or self.gates or self.settings)

    @property
    def jumps(self) -> tuple[float, ...]:
        """Times [s] at which something jumps, ascending."""
        return tuple(sorted(set(self._jumps())))

    @property
    def actions(self) -> tuple[float, ...]:
        """Times [s] at which a scenario does something."""
        return tuple(self._actions())

    def _jumps(self) -> Iterator[float]:
        for driven in self.driven:
            yield from driven.course.jumps
        yield from self._actions()

    def _actions(self) -> Iterator[float]:
        for driven in self.driven:
            if isinstance(driven.course, Overridden):
                yield from (one.time for one in driven.course.modifications)
        for gate in self.gates:
            yield from (one.time for one in (*gate.at_source, *gate.at_destination))
        for setting in self.settings:
            yield from (one.time for one in setting.modifications)

    def fingerprint(self) -> list[str]:
        """Texts that are equal where the same acts on a system, as far as can be seen: functions are taken on trust."""
        courses = [f"{one.signal}: {_digest(one.course)}" for one in self.driven]
        return [*courses, *map(_digest, self.gates), *map(_digest, self.settings)]

    def check_start(self, start: float) -> None:
        """That there are values from the start time [s] on.

        Raises
        ------
        BadInputs
        """
        findings = [
            DataFinding(
                driven.origin,
                0,
                str(driven.signal),
                f"its first value is at t = {driven.course.first:g} s, and the run starts at {start:g} s; "
                "add a row for the start time, or start later (--start-time)",
            )
            for driven in self.driven
            if driven.course.first > start and driven.table is None
        ]
        if findings:
            raise BadInputs(findings)


def of_tables(network: Network) -> tuple[Driven, ...]:
    """The outputs of the components that are tables."""
    return tuple(
        Driven(
            signal,
            Table(output.times, output.values, Interpolation.LINEAR if output.linear else Interpolation.HOLD),
            f"{table.source}, column {output.column} ({'linear' if output.linear else 'held'})",
            table=table,
        )
        for table in network.tables.values()
        for signal, output in table.outputs.items()
    )


def notes_on_tables(stimuli: Stimuli, start: float, stop: float) -> Iterator[str]:
    """In words, the tables that a run from start to stop [s] leaves."""
    told: set[str] = set()
    for driven in stimuli.driven:
        base = driven.course.base if isinstance(driven.course, Overridden) else driven.course
        if driven.table is None or not isinstance(base, Table) or driven.table.name in told:
            continue
        told.add(driven.table.name)
        first, last = base.times[0], base.times[-1]
        held = [f"first values are held until {first:g} s"] * (start < first)
        held += [f"last values are held from {last:g} s on"] * (stop > last)
        if held:
            rows = f"{driven.table.source} has rows from {first:g} s to {last:g} s"
            yield f"{driven.table.name}: {rows}; its {' and its '.join(held)}"


def _digest(stimulus: Course | Gate | Setting) -> str:
    match stimulus:
        case Overridden(base, modifications):
            return f"{_digest(base)}, {modifications}"
        case Function(steps=steps, interpolation=how):
            return f"a function, {steps}, {how}"
        case _:
            return hashlib.sha256(repr(stimulus).encode()).hexdigest()


NO_STIMULI = Stimuli()


def feed(signal: Signal) -> Signal:
    """The signal from which a driven input gets its values: an input of the system, which is its own, or one of a
    component, which gets one that no connector shows.
    """
    return signal if not signal.component else Signal("", f"{signal} (driven)")


def extended(network: Network, stimuli: Stimuli, start: float) -> Network:
    """The network with an input of the system, and a wire, for each driven input of a component; and with what
    parameters have at the start time [s].
    """
    ports = {port.signal: port for component in network.components.values() for port in component.ports}
    inside = [one.signal for one in stimuli.driven if one.signal.component]
    more = tuple(ports[signal]._replace(signal=feed(signal)) for signal in inside)
    wires = tuple(Wire(feed(signal), signal) for signal in inside)
    assignments = dict(network.assignments)
    for setting in stimuli.settings:
        if change := active(setting.modifications, start):
            assignments[setting.signal] = Assignment(setting.signal, change(setting.base), None, ())
    return replace(network, ports=(*network.ports, *more), wires=(*network.wires, *wires), assignments=assignments)


def held(network: Network, signal: Signal) -> Constant | None:
    """The value that an undriven input of a component has from the start, if the system or its FMU states one."""
    if signal in network.assignments:
        return Constant(network.assignments[signal].value)
    component = network.components.get(signal.component)
    start = component.description.variables[signal.variable].start if component else None
    return None if start is None else Constant(start)


SAME_TIME = 1e-12
"""Relative: jumps so close to each other, as 0.3 and 0.1 + 0.2, are one."""


class Boundary(NamedTuple):
    """One instant [s], as the earliest and the latest of the jumps that are at it state it."""

    first: float
    last: float


def boundaries(jumps: Iterable[float], start: float, stop: float) -> tuple[Boundary, ...]:
    """Those after the start and not after the stop [s], in order. What jumps at the start has done so then."""
    found: list[Boundary] = []
    for time in sorted(jumps):
        if same_time(time, start) or not start < time or (time > stop and not same_time(time, stop)):
            continue
        if found and same_time(found[-1].first, time):
            found[-1] = Boundary(found[-1].first, time)
        else:
            found.append(Boundary(time, time))
    return tuple(found)


def same_time(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=SAME_TIME, abs_tol=SAME_TIME)
