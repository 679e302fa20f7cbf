"""Records of calls to FMUs: the function of each instance that is running now, readable from another process.

A `Watch` observes all calls of FMUs. The kernel gets stand-ins instead of an FMU's functions (`_watch.c`), and calls
from Python go through `around`. Both write records to memory that may be shared with a parent process, so that the
records survive a crash.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from time import perf_counter_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssptool.foreign_text import one_line

try:
    from ssptool.engine.watch._watch import functions as _found
    from ssptool.engine.watch._watch import record_size as _record_size
except ImportError:
    _found, _record_size = {}, 0

_RECORD = np.dtype(
    [
        ("component", np.uint64),
        ("in_flight", np.int64),
        ("functions", np.uint64),
        ("counts", np.uint64),
        ("padding", np.uint64, (4,)),
    ]
)
"""The layout of `Record` in _watch.c."""

STAND_INS: Mapping[str, tuple[int, int, int]] = _found if _record_size == _RECORD.itemsize else {}
"""Function → (index, address of its stand-in, address of the stand-in that counts and measures). Empty if the module
was built for another layout.
"""

NATIVE = bool(STAND_INS)
"""True if the stand-ins were built. Without them, calls of the kernel are not recorded."""

_COUNT = len(STAND_INS)
_NAMES = {index: name for name, (index, _, _) in STAND_INS.items()}

_ALIGNMENT = 64  # bytes of a cache line
_FIELDS: list[tuple[Any, ...]] = [
    # The layout of `Counts` …
    ("calls", np.int64, (_COUNT,)),
    ("nanoseconds", np.int64, (_COUNT,)),
    ("slowest_nanoseconds", np.int64),
    ("slowest_time", np.float64),
    # … followed by the function that Python is calling.
    ("called", "S48"),
]
_NOTES = np.dtype([*_FIELDS, ("padding", np.uint8, (-np.dtype(_FIELDS).itemsize % _ALIGNMENT,))])


@dataclass(frozen=True, slots=True)
class CallCount:
    """Number of calls of a function of an instance, and their time [s]."""

    component: str
    function: str
    calls: int
    seconds: float


@dataclass(frozen=True, slots=True)
class SlowestStep:
    """The slowest call of fmiDoStep, fmi2DoStep or fmi3DoStep: its start time [s], and its duration [s]."""

    component: str
    time: float
    seconds: float


class CallPhase(StrEnum):
    """Phase of a run, by which call times are added up."""

    COMPONENT = "component"
    ENGINE = "engine"
    WAITING = "waiting for the clock"


@dataclass(frozen=True, slots=True)
class Cost:
    """A part of the wall time of steps: calls to the FMU of a component, the engine, or waiting.

    `percent` has one decimal; the values of a run sum to 100. Simultaneous calls on several threads are counted
    separately, so percentages then refer to the sum of all parts.
    """

    part: CallPhase
    component: str
    seconds: float
    percent: float


def costs(components: Mapping[str, float], seconds: float, waited: float = 0.0) -> tuple[Cost, ...]:
    """Time of each component and of the engine, the largest first.

    Parameters
    ----------
    components
        Full name → time in calls of its FMU [s].
    seconds, waited : [s]
        Wall time of stepping, and the part of it in which the run waited for the clock.
    """
    engine = max(0.0, seconds - waited - sum(components.values()))
    parts = [(CallPhase.COMPONENT, name, spent) for name, spent in components.items()]
    parts += [(CallPhase.ENGINE, "", engine)] + ([(CallPhase.WAITING, "", waited)] if waited > 0 else [])
    parts.sort(key=lambda part: -part[2])
    tenths = _tenths([spent for _, _, spent in parts])
    return tuple(Cost(*part, tenth / 10) for part, tenth in zip(parts, tenths, strict=True))


def _tenths(amounts: Sequence[float]) -> list[int]:
    """Shares in tenths of a percent that sum to 1000: rounded down, and then up for the largest remainders."""
    total = sum(amounts)
    exact = [1000 * amount / total if total > 0 else 1000 / len(amounts) for amount in amounts]
    rounded = [int(share) for share in exact]
    by_loss = sorted(range(len(exact)), key=lambda place: rounded[place] - exact[place])
    for place in by_loss[: 1000 - sum(rounded)]:
        rounded[place] += 1
    return rounded


def _stated(called: bytes) -> str:
    """Function that a process has recorded; another text if an FMU has overwritten the record."""
    return one_line(called.decode(errors="replace"))


class Watch:
    """Records of the calls to some instances.

    Parameters
    ----------
    memory
        A writable buffer of `Watch.size(len(names))` bytes, all zero at first.
    names
        Names of the instances.
    measured
        Count and time all calls, at the cost of reading the clock twice for each.
    """

    def __init__(self, memory: Any, names: Sequence[str], *, measured: bool = False) -> None:
        self.names = tuple(names)
        self.measured = measured
        count = len(self.names)
        self._records: NDArray[Any] = np.frombuffer(memory, dtype=_RECORD, count=count)
        self._notes: NDArray[Any] = np.frombuffer(memory, dtype=_NOTES, count=count, offset=self._records.nbytes)
        self._addresses: dict[frozenset[tuple[str, int]], NDArray[np.uint64]] = {}
        self._python: dict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0])

    @staticmethod
    def size(count: int) -> int:
        """Size of the records of `count` instances [byte]."""
        return count * (_RECORD.itemsize + _NOTES.itemsize)

    @classmethod
    def private(cls, names: Sequence[str], *, measured: bool = False) -> "Watch":
        """Records for this process only."""
        # numpy aligns to 16 bytes. That suffices here, because the records only have to stay at their address.
        return cls(np.zeros(max(1, cls.size(len(names))), dtype=np.uint8), names, measured=measured)

    # -- recording -------------------------------------------------------------------------------------------

    def stand_ins(self, instance: int, functions: Mapping[str, int], component: int) -> tuple[dict[str, int], int]:
        """Stand-ins for the functions that have one, and the component argument for them. If no stand-ins were built,
        functions and component are unchanged.
        """
        if not NATIVE:
            return dict(functions), component
        noted = {name: address for name, address in functions.items() if name in STAND_INS}
        record = self._records[instance : instance + 1]
        record["component"] = component
        record["functions"] = self._at_indices(noted).ctypes.data
        record["counts"] = self._notes[instance : instance + 1].ctypes.data
        which = 2 if self.measured else 1
        return {name: STAND_INS[name][which] for name in noted}, record.ctypes.data

    def _at_indices(self, functions: Mapping[str, int]) -> NDArray[np.uint64]:
        """Array of the addresses of the functions for the stand-ins; one for all instances of an FMU."""
        known = frozenset(functions.items())
        if known not in self._addresses:
            addresses = self._addresses[known] = np.zeros(_COUNT, dtype=np.uint64)
            for name, address in functions.items():
                addresses[STAND_INS[name][0]] = address
        return self._addresses[known]

    def around(self, instance: int) -> Callable[[str, Callable[..., Any]], Callable[..., Any]]:
        """Wrapper for functions of the instance that are called from Python."""

        def wrap(function: str, call: Callable[..., Any]) -> Callable[..., Any]:
            def noted(*arguments: Any) -> Any:
                with self.during(instance, function):
                    return call(*arguments)

            return noted

        return wrap

    @contextmanager
    def during(self, instance: int, function: str) -> Iterator[None]:
        """Context in which this function of the instance is recorded as running."""
        called = self._notes["called"]
        outer, called[instance] = called[instance], function.encode()
        began = perf_counter_ns()
        try:
            yield
        finally:
            called[instance] = outer
            count = self._python[instance, function]
            count[0] += 1
            count[1] += perf_counter_ns() - began

    # -- reading ---------------------------------------------------------------------------------------------

    def in_flight(self) -> tuple[tuple[str, str], ...]:
        """(component, function) of every call that has started and not returned."""
        found: list[tuple[str, str]] = []
        native, called = self._records["in_flight"], self._notes["called"]
        for instance in np.flatnonzero((native != 0) | (called != b"")):
            inner = _NAMES.get(int(native[instance]) - 1)
            found.append((self.names[instance], inner or _stated(called[instance])))
        return tuple(found)

    def seconds(self) -> dict[str, float]:
        """Component → time in all calls so far [s]."""
        totals = self._notes["nanoseconds"].sum(axis=1)
        for (instance, _), (_, nanoseconds) in self._python.items():
            totals[instance] += nanoseconds
        return {name: int(total) * 1e-9 for name, total in zip(self.names, totals, strict=True)}

    def slowest_step(self) -> SlowestStep | None:
        """Slowest step of all components; None if none was measured, for example because all are integrated as one
        ODE.
        """
        took = self._notes["slowest_nanoseconds"]
        if not took.any():
            return None
        place = int(took.argmax())
        return SlowestStep(self.names[place], float(self._notes["slowest_time"][place]), int(took[place]) * 1e-9)

    def calls(self) -> tuple[CallCount, ...]:
        """Calls from Python and through measuring stand-ins, by component and function."""
        totals: dict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0])
        for key, (calls, nanoseconds) in (*self._python.items(), *self._native()):
            totals[key][0] += calls
            totals[key][1] += nanoseconds
        return tuple(
            CallCount(self.names[instance], function, calls, nanoseconds * 1e-9)
            for (instance, function), (calls, nanoseconds) in sorted(totals.items())
        )

    def _native(self) -> Iterator[tuple[tuple[int, str], tuple[int, int]]]:
        calls, nanoseconds = self._notes["calls"], self._notes["nanoseconds"]
        for i, k in zip(*np.nonzero(calls), strict=True):
            yield (int(i), _NAMES[k]), (int(calls[i, k]), int(nanoseconds[i, k]))
