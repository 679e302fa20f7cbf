"""Courses of inputs as columns of a kernel."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssptool.dataclass import dataclass
from ssptool.engine.cells import cell
from ssptool.engine.kernel.interface import (
    FLOAT,
    UNCHANGED,
    Change,
    ChangeKind,
    Column,
    Courses,
    DrivenInput,
    Floats,
    Kernel,
    Running,
)
from ssptool.engine.plan import Plan, PlannedInstance
from ssptool.engine.settings import InputName
from ssptool.engine.stimuli.course import Constant, Course, Table
from ssptool.engine.stimuli.modification import Action, Modification, Modified, active
from ssptool.engine.stimuli.stimuli import feed
from ssptool.fmu.description import Value, Variability

_KINDS = {Action.OVERRIDE: ChangeKind.OVERRIDE, Action.BIAS: ChangeKind.BIAS, Action.RESET: ChangeKind.NONE}


def change_of(kernel: Kernel, kind: str, modification: Modification | None) -> Change:
    """What a modification does to values of a type."""
    if modification is None or modification.action is Action.RESET:
        return UNCHANGED
    return Change(_KINDS[modification.action], cell(kernel, kind, modification.value))


class Feed(NamedTuple):
    """A slot of a type, with the course that drives it."""

    slot: int
    type: str
    course: Course


def feeds_of(plan: Plan) -> tuple[Feed, ...]:
    slots = {signal: slot for slot, signal in enumerate(plan.signals)}
    places = [(slots[feed(driven.signal)], driven.course) for driven in plan.stimuli.driven]
    return tuple(Feed(slot, plan.types[slot], course) for slot, course in places)


class _Rows(NamedTuple):
    times: tuple[float, ...]
    values: tuple[Value, ...]
    linear: bool


_ANY_TIME = (0.0,)


def _rows(course: Course) -> _Rows | None:
    """Of a course that is a table; a constant is one of one row."""
    match course:
        case Constant(value):
            return _Rows(_ANY_TIME, (value,), False)
        case Table(times, values):
            return _Rows(times, values, course.continuous)
        case Modified(base):
            return _rows(base)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class _Sampled:
    """A function, of which the kernel has the value of the moment: a column of one row."""

    feed: Feed
    cells: Floats


class Feeds:
    """What drives inputs. The kernel has all tables; functions are asked for their values here."""

    def __init__(self, plan: Plan, kernel: Kernel) -> None:
        self.kernel = kernel
        self._feeds = feeds_of(plan)
        self._begin = self._end = 0.0
        self._sampled: tuple[_Sampled, ...] = ()
        if not self._feeds:
            return
        axes: dict[int, NDArray[np.float64]] = {}  # by what they were made of, which columns share
        places: dict[int, int] = {}
        columns = []
        for one in self._feeds:
            rows = _rows(one.course) or _Rows(_ANY_TIME, (one.course.after(plan.interval.start),), False)
            place = places.setdefault(id(rows.times), len(places))
            axes.setdefault(place, np.array(rows.times, dtype=np.float64))
            cells = np.array([cell(kernel, one.type, value) for value in rows.values])
            columns.append(Column(one.slot, place, cells, rows.linear))
        kernel.courses(Courses(tuple(axes.values()), columns, driven_inputs(plan)))
        functions = [place for place, one in enumerate(self._feeds) if _rows(one.course) is None]
        self._sampled = tuple(_Sampled(self._feeds[place], kernel.course(place)) for place in functions)

    def __bool__(self) -> bool:
        return bool(self._feeds)

    @property
    def has_functions(self) -> bool:
        return bool(self._sampled)

    def between(self, begin: float, end: float) -> None:
        """The present stretch [s]."""
        self._begin, self._end = begin, end
        self.kernel.between(begin, end)
        for place, one in enumerate(self._feeds):
            if isinstance(one.course, Modified) and _rows(one.course) is not None:
                change = active(one.course.modifications, begin)
                self.kernel.change(place, change_of(self.kernel, one.type, change))

    def write(self, t: float) -> None:
        self._sample(t)
        self.kernel.write(t)

    def drive(self, t: float, h: float) -> None:
        """Over the step of size h [s] to t [s]."""
        self._sample(t)
        self.kernel.drive(t, h)

    def _sample(self, t: float) -> None:
        for one in self._sampled:
            course = one.feed.course
            value = course.before(self._end) if t >= self._end else course.after(max(t, self._begin))
            one.cells[0] = cell(self.kernel, one.feed.type, value, keep=False)  # in its slot before the next one


def driven_inputs(plan: Plan) -> tuple[DrivenInput, ...]:
    """Inputs of components that driven inputs lead to."""
    courses = {one.slot: one.course for one in feeds_of(plan)}
    sources = {wire.destination: courses[wire.source] for wire in plan.wires if wire.source in courses}
    return tuple(
        DrivenInput(slot, _running(plan, one, place, sources[slot]))
        for one in plan.instances
        for place, slot in enumerate(one.input_slots)
        if slot in sources
    )


def _running(plan: Plan, instance: PlannedInstance, place: int, course: Course) -> Running:
    """As its course does, if it can; else at the value of the middle of a step, if it is continuous."""
    if not course.continuous or instance.input_types[place] != FLOAT or plan.settings.input is InputName.HOLD:
        return Running.HELD
    variable = instance.description.variables[instance.inputs[place].variable]
    if variable.variability is not Variability.CONTINUOUS:
        return Running.HELD
    if instance.capabilities.follows or plan.settings.substeps.get(instance.name, 1) > 1:
        return Running.FOLLOWING
    return Running.MIDDLE
