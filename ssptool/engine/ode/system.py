"""The components of model exchange as one right-hand side x' = f(t, x), with event indicators g(t, x)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from ctypes import c_double, memset
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ssptool.engine.assembly import Assembly
from ssptool.engine.chatter import Cause
from ssptool.engine.ending import Ending, Failure
from ssptool.engine.kernel import native_slopes
from ssptool.engine.kernel.interface import Code, Floats, Outcome
from ssptool.engine.masters.partners import Drive
from ssptool.engine.ode.course import NO_COURSE, Course
from ssptool.engine.plan import PlannedInstance, PlannedOde
from ssptool.engine.stimuli.findings import BadInputs
from ssptool.engine.stopped import Stopped
from ssptool.fmu.exchange import DERIVATIVES, DISCARD, GET_DERIVATIVES, GET_INDICATORS, ContinuousModel
from ssptool.fmu.exchange import functions_of_exchange as functions_of_exchange
from ssptool.fmu.instance import FmiError

if TYPE_CHECKING:
    # Not where it was not built.
    from ssptool.engine.kernel._kernel import NativeSlopes

BELOW_ZERO = -1e-300
"""What an event indicator that is exactly zero is taken for."""

_DOUBLE = 8  # bytes
_REFUSING = {1: "SetTime", 2: "SetContinuousStates", 4: DERIVATIVES}
"""Functions that may refuse, by stage of a native evaluation."""


class Sweeps(NamedTuple):
    """Of the kernel: everything, and what state derivatives and event indicators need."""

    whole: int
    slopes: int


class OdeSystem:
    """Sweeps the components in the order of their continuous dependencies; loops are solved in passing, each from
    its last solution.

    The state vector is that of all components, one after the other. A system without states gets one that is
    constant, because the integrator needs one to follow indicators and time.

    Attributes
    ----------
    size, indicators
        Lengths of x and g.
    causes
        What the elements of g are, numbered from 0 in each component.
    width
        Of a row of the trace.
    setback
        Why f or g could last not be evaluated, at a point that the integrator can avoid.
    course
        Of the inputs that others than its components feed, if they vary.
    drive
        What acts from outside on a system that is nothing but this ODE, if anything does.
    events
        What its components exchange at events only, and their clocks.
    """

    def __init__(
        self,
        assembly: Assembly,
        ode: PlannedOde,
        sweeps: Sweeps,
        group: int,
        evaluate: Callable[[int, float], Failure | None],
        drive: Drive | None = None,
    ) -> None:
        self.models = tuple(_model(assembly, index) for index in ode.instances)
        self.kernel = assembly.kernel
        self._course: Course | None = None
        self._native: NativeSlopes | None = None
        self.drive = drive
        self.events = assembly.events_of_ode()
        self._inputs = np.array(ode.inputs, dtype=np.intp)
        self._assembly, self._sweeps, self._group, self._evaluate = assembly, sweeps, group, evaluate
        self.width = 1 + len(assembly.plan.recorded)
        states = [model.states for model in self.models]
        indicators = [model.indicators for model in self.models]
        self.size, self.indicators = sum(states) or 1, sum(indicators)
        self._stateless = not any(states)
        # Byte offsets of each component's part of x and g; those without states need the time all the same.
        self._parts = tuple(zip(self.models, _offsets(states), strict=True))
        self._slopes = tuple((model, offset) for model, offset in self._parts if model.states)
        self._signs = tuple(
            (model, offset) for model, offset in zip(self.models, _offsets(indicators), strict=True) if model.indicators
        )
        self.causes = tuple(
            Cause(model.name, f"event indicator {i}") for model in self.models for i in range(model.indicators)
        )
        self._derivatives = tuple(_derivatives(self.models, assembly.plan.integrated)) or (Cause("", "nothing"),)
        self._views: dict[tuple[int, int], Floats] = {}
        self.setback: Failure | None = None

    @property
    def course(self) -> Course | None:
        return self._course

    @course.setter
    def course(self, course: Course | None) -> None:
        self._course = course
        if self._native is not None:
            self._native.course(*(course or NO_COURSE))

    # -- what the integrator calls -------------------------------------------------------------------------

    def native_slopes(self, numbers: int) -> "NativeSlopes | None":
        """`slopes` without Python, which calls `slopes` for what it cannot do; None where there is no such thing, or
        something acts from outside.
        """
        if self.drive is None:
            parts = [model.addresses for model in self.models]
            self._native = native_slopes(self.kernel, self._sweeps.slopes, parts, self._inputs.tolist(), numbers)
        return self._native

    def slopes(self, t: float, x: int, place: int) -> bool:
        """f: write x' at (t, x); both vectors by address."""
        trouble = None if self._native is None else self._native.take_trouble()
        try:
            if not (self._move(t, x, self._sweeps.slopes) if trouble is None else self._over(t, *trouble)):
                return False
            for model, offset in self._slopes:
                model.slopes(place + offset)
        except FmiError as error:
            return self.avoid(error, t)
        if self._stateless:
            memset(place, 0, _DOUBLE)
        return self._finite(t, self._view(place, self.size), self._derivatives, GET_DERIVATIVES)

    def signs(self, t: float, x: int, place: int) -> bool:
        """g: write the event indicators at (t, x).

        An event is a change between z > 0 and z ≤ 0 (FMI 2.0.4 §3.1.1, FMI 3.0 §3.2.1), so zero counts as negative:
        where the integrator stops, an indicator that rises is then above zero indeed.
        """
        try:
            if not self._move(t, x, self._sweeps.slopes):
                return False
            for model, offset in self._signs:
                model.event_indicators(place + offset)
        except FmiError as error:
            return self.avoid(error, t)
        found = self._view(place, self.indicators)
        found[found == 0.0] = BELOW_ZERO
        return self._finite(t, found, self.causes, GET_INDICATORS)

    def reach(self, t: float, x: int, *, whole: bool = False) -> bool:
        """Be at (t, x), with inputs that are consistent, and all outputs if it is to be the `whole`; False where that
        cannot be.
        """
        try:
            return self._move(t, x, self._sweeps.whole if whole else self._sweeps.slopes)
        except FmiError as error:
            return self.avoid(error, t)

    def vector(self, address: int) -> Floats:
        """A view of a state vector."""
        return self._view(address, self.size)

    # -- what the driver calls -------------------------------------------------------------------------------

    def jump(self, t: float) -> None:
        """Let what acts from outside jump, with all components in event mode. Raises `Stopped`, FmiError."""
        assert self.drive is not None
        try:
            outcome = self.drive.jump()
        except BadInputs as error:
            raise Stopped(error.failure(t)) from None
        if not outcome.ok:
            raise Stopped(self._assembly.explain(outcome, t))

    def place(self, t: float, x: Floats) -> None:
        """Be at (t, x): everything set, all outputs consistent.

        Raises
        ------
        Stopped
            The system cannot be evaluated there.
        """
        if not self.reach(t, x.ctypes.data, whole=True):
            raise self.stopped()

    def settle(self, t: float) -> None:
        """Make inputs and outputs consistent where the components are. Raises `Stopped`."""
        if not self._evaluated(t, self._sweeps.whole):
            raise self.stopped()

    def row(self, t: float) -> Floats:
        """Time and recorded signals, as they are. Raises `Stopped`."""
        self.kernel.exchange(self._group)
        self.kernel.accept(t)
        row = np.empty(self.width)
        outcome = self.kernel.record(t, row)
        if not outcome.ok:
            raise Stopped(self._assembly.explain(outcome, t))
        return row

    def indicators_at(self, t: float, x: Floats) -> Floats:
        """Event indicators (k,) at (t, x), where the components are left. Raises `Stopped`."""
        found = np.empty(self.indicators)
        if self.indicators and not self.signs(t, x.ctypes.data, found.ctypes.data):
            raise self.stopped()
        return found

    def present_signs(self, t: float) -> Floats:
        """Event indicators (k,) where the components are, at t [s]. Raises `Stopped`."""
        found = np.empty(self.indicators)
        try:
            for model, offset in self._signs:
                model.event_indicators(found.ctypes.data + offset)
        except FmiError as error:
            self.avoid(error, t)
            raise self.stopped() from None
        return found

    def read_states(self, x: Floats) -> None:
        """Fill x from the components."""
        for model, offset in self._parts:
            model.present_states(x.ctypes.data + offset)

    def read_nominals(self, nominal: Floats) -> None:
        """Fill (n,) with the usual sizes of the states."""
        nominal[:] = 1.0
        for model, offset in self._parts:
            model.nominals(nominal.ctypes.data + offset)
        nominal[:] = np.abs(nominal)
        nominal[~(np.isfinite(nominal) & (nominal > 0))] = 1.0

    def stopped(self) -> Stopped:
        """After a point that cannot be avoided."""
        if self.setback is None:
            raise AssertionError("nothing went wrong")
        return Stopped(self.setback)

    def remark(self, text: str) -> None:
        """Something to be said of the run besides its results."""
        self._assembly.remark(text)

    def refused(self, error: FmiError, t: float) -> Stopped:
        return Stopped(self._assembly.refused(error, t))

    # -------------------------------------------------------------------------------------------------------

    def _move(self, t: float, x: int, sweep: int) -> bool:
        if self.course is not None:
            self.kernel.values[self._inputs] = self.course.at(t)
        if self.drive is not None:
            try:
                self.drive.write(t)
            except BadInputs as error:
                raise Stopped(error.failure(t)) from None
        for model, offset in self._parts:
            model.move(t, x + offset)
        return self._evaluated(t, sweep)

    def _over(self, t: float, stage: int, part: int, status: int, outcome: Outcome) -> bool:
        """Get over what a native evaluation has stopped at; an FMU that has refused is not asked again."""
        if function := _REFUSING.get(stage):
            self.models[part].refuse(function, status)
        return self._judged(t, self._sweeps.slopes, outcome)

    def _evaluated(self, t: float, sweep: int) -> bool:
        return self._judged(t, sweep, self.kernel.evaluate(sweep))

    def _judged(self, t: float, sweep: int, outcome: Outcome) -> bool:
        if outcome.ok:
            return True
        if outcome.code is Code.LOOP:
            self.setback = self._evaluate(sweep, t)
            return self.setback is None
        self.setback = self._assembly.explain(outcome, t)
        if outcome.code is Code.FMI and outcome.fmi_status != DISCARD:
            raise Stopped(self.setback)
        return False

    def _view(self, address: int, size: int) -> Floats:
        """Of a vector of the integrator, of which there are few, each asked for again and again."""
        view = self._views.get((address, size))
        if view is None:
            view = np.ctypeslib.as_array((c_double * size).from_address(address))
            self._views[address, size] = view
        return view

    def _finite(self, t: float, found: Floats, what: Sequence[Cause], function: Mapping[int, str]) -> bool:
        """Whether these are all numbers; if not, it is a point to stay away from."""
        finite = np.isfinite(found)
        if finite.all():
            return True
        first = int(np.argmin(finite))
        component, name = what[first].component, what[first].what
        major = next(model.major for model in self.models if model.name == component)
        self.setback = Failure(
            Ending.NONFINITE,
            f"component {component}: {name} is {found[first]} (from {function[major]})",
            "check parameters and start values: the solution may not exist from here",
            t,
            component,
            function[major],
        )
        return False

    def avoid(self, error: FmiError, t: float) -> bool:
        """A point that an FMU discards is one for the integrator to stay away from; other refusals end the run."""
        self.setback = self._assembly.refused(error, t)
        if error.status != DISCARD:
            raise Stopped(self.setback) from None
        return False


def _model(assembly: Assembly, index: int) -> ContinuousModel:
    table = assembly.tables[index]
    planned = assembly.plan.instances[index]
    return ContinuousModel(assembly.instances[index], planned.description, table.functions, table.component)


def _derivatives(models: Sequence[ContinuousModel], planned: Sequence[PlannedInstance]) -> Iterator[Cause]:
    """What the elements of x' are."""
    for model, one in zip(models, planned, strict=True):
        names = [variable.name for variable in one.description.state_derivatives]
        if len(names) != model.states:  # arrays
            names = [f"state derivative {number}" for number in range(model.states)]
        yield from (Cause(model.name, name) for name in names)


def _offsets(sizes: list[int]) -> list[int]:
    return [_DOUBLE * offset for offset in accumulate(sizes, initial=0)][:-1]
