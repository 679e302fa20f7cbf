"""Co-simulation under the control of a program: step by step, with values read and set in between."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import wraps
from math import isfinite
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Concatenate, NoReturn, ParamSpec, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from ssptool.arguments import count as whole_number
from ssptool.arguments import path as file_path
from ssptool.arguments import seconds, text
from ssptool.documents.saving import save_file
from ssptool.engine.assembly.assembly import Assembly, assemble
from ssptool.engine.assembly.fmu_log import LoggedProblems, logged_problems
from ssptool.engine.assembly.instances import Pool, Sources
from ssptool.engine.failure import Ending, Failure, RunError
from ssptool.engine.kernel.calls import Floats
from ssptool.engine.kernel.solutions import StepBatch
from ssptool.engine.masters.master import CLOSE
from ssptool.engine.planning.plan import FoundAtStart, Plan
from ssptool.engine.run.indicators import too_inexact_steps
from ssptool.engine.run.initialization import InitializationReport
from ssptool.engine.run.last_row import last_row
from ssptool.engine.run.make_plan import completed
from ssptool.engine.run.manifest import Override, OverrideKind, overrides
from ssptool.engine.run.saved import (
    NotSavable,
    SavedSimulation,
    check_savable,
    contents,
    memory_of,
    with_saved_substeps,
)
from ssptool.engine.run.steps import steps_of
from ssptool.engine.run.system import LoadedSystem, SystemSteps, system_for
from ssptool.engine.stepping.snapshots import PointOfRun, SimulationSnapshot
from ssptool.engine.stepping.values import (
    SimulationRows,
    SimulationValues,
    check_end,
    check_settable,
    not_running,
    past_the_end,
)
from ssptool.engine.time_grid import grid_time
from ssptool.engine.trace import Trace
from ssptool.errors import UnusableFile, WrongValue
from ssptool.fmu.binary import UNUSABLE
from ssptool.fmu.description import Value
from ssptool.fmu.instance import FmiError
from ssptool.option_words import Boxing
from ssptool.public_calls import public
from ssptool.working_directory import KeptWorkingDirectory, absolute

_P = ParamSpec("_P")
_R = TypeVar("_R")


def one_at_a_time(method: Callable[Concatenate[Any, _P], _R]) -> Callable[Concatenate[Any, _P], _R]:
    """Decorator: serialize method calls with the object's `_lock` (RLock), and keep the working directory."""

    @wraps(method)
    def waiting(self: Any, /, *arguments: _P.args, **named: _P.kwargs) -> _R:
        with self._lock, KeptWorkingDirectory():
            return method(self, *arguments, **named)

    return waiting


Observer = Callable[[float, Mapping[str, Value]], None]
"""Function of a time [s] and a view of the values at this time."""

TOLERANCE = 1e-9
"""Fraction of a macro step within which a time counts as a communication point."""

_CHUNK = 256


class _View(Mapping[str, Value]):
    """Read-only view of the present values of a simulation."""

    def __init__(self, simulation: "SteppedRun") -> None:
        self._simulation = simulation
        self._names = tuple(column.signal for column in simulation.plan.columns)

    def __getitem__(self, name: str) -> Value:
        value: Value = self._simulation.get(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@public
class SteppedRun:
    """A system that is loaded and initialized when the context is entered, and freed when it is left.

    Several threads may use it; each waits until the calls of the others have ended.

    Parameters
    ----------
    plan, sources
        The plan, and the sources of its FMUs.
    saved
        Continue from this file of `save`, or from the state of another simulation, instead of initializing.
    sandbox
        Run the FMUs in a child process in a sandbox.

    Raises
    ------
    RunError
        When the context is entered: initialization failed. In `step` and `run_until`: a component or the coupling
        failed.
    WrongUsage
        A method that needs the FMUs is called outside of the context (recorded data can still be read), or the context
        is entered again.
    """

    def __init__(
        self,
        plan: Plan,
        sources: Sources,
        *,
        saved: Path | SavedSimulation | None = None,
        sandbox: Boxing = False,
    ) -> None:
        self._use(plan)
        self._sources = sources
        self._saved = saved if saved is None or isinstance(saved, SavedSimulation) else absolute(saved)
        self._sandbox = sandbox
        self._pool = Pool(sandbox=sandbox)
        self._stack = ExitStack()
        self._lock = RLock()
        self._running = self._ended = False
        self._observers: list[Observer] = []
        self._loaded: LoadedSystem
        self._assembly: Assembly
        self._stepper: SystemSteps
        self._values: SimulationValues
        self._sets: list[Override] = []
        self._kept: set[int] = set()  # numbers of snapshots
        self._forgotten: list[int] = []
        self._steps = 0
        self._finished = False
        self._failure: Failure | None = None
        self._terminated = False
        self.initialization: InitializationReport | None = None

    def __repr__(self) -> str:
        now = f"at t = {self.time:g} s" if self._running else "closed" if self._ended else "not begun: use it in `with`"
        return f"<{type(self).__name__} of {self.plan.name}: {now}>"

    def __enter__(self) -> Self:
        if self._running or self._ended:
            raise not_running(ended=True)
        with KeptWorkingDirectory(), ExitStack() as failing:
            failing.callback(lambda: self._pool.close())
            try:
                self._begin_completed()
            except (RunError, *UNUSABLE) as error:
                if self.plan.instead is None or self._saved is not None:
                    raise
                self._use(self.plan.instead(f"model exchange failed before its first step: {error}"))
                self._renew()
                self._begin_completed()
            failing.pop_all()
        self._running = True
        return self

    def _use(self, plan: Plan) -> None:
        self.plan = plan
        # All slots, because a simulation that continues from a saved state may record other signals.
        self._whole = replace(plan, recorded=tuple(range(len(plan.signals))))
        self._rows = SimulationRows(len(plan.signals), plan.recorded)

    def _begin_completed(self) -> None:
        if isinstance(self._saved, Path):
            self._use(with_saved_substeps(self._saved, self.plan))
        while (found := self._begin()) is not None:
            self.plan, self._whole = (completed(one, found) for one in (self.plan, self._whole))
            self._renew()

    def _renew(self) -> None:
        """Prepare new FMUs."""
        self._pool.close()
        self._pool = Pool(sandbox=self._sandbox)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._running:
            return
        self._running, self._ended = False, True
        with KeptWorkingDirectory(), self._pool, self._stack:
            self._stop()

    def _stop(self) -> None:
        """End all FMUs."""
        if self._failure is not None:
            self._assembly.abandon(self._failure)
        else:
            self._assembly.terminate(self.time)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a simulation cannot be copied or pickled; use save(), and continue from its file")

    def _check_running(self) -> None:
        if not self._running:
            raise not_running(ended=self._ended)

    # -- time ------------------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Time [s] of the present communication point."""
        return self._rows.time

    @property
    @one_at_a_time
    def problems(self) -> tuple[LoggedProblems, ...]:
        """Warnings and errors that FMUs have logged so far, by component."""
        self._check_running()
        return logged_problems(self._assembly.instances)

    @property
    def finished(self) -> bool:
        """True if the simulation has reached its stop time, or a component has ended it earlier."""
        return self._terminated or self._finished

    @one_at_a_time
    def step(self, count: int = 1) -> float:
        """Take `count` macro steps, or fewer if a component ends the simulation. Return the time reached [s].

        A step ends at the next point that all FMUs have reached. With step doubling (adaptive steps), this is the end
        of both half steps; the row between them is only in the trace.

        Raises
        ------
        WrongValue
            Fewer steps are left until the stop time (the FMUs know this time), or a component ended the simulation
            in an earlier call.
        """
        self._check_running()
        count = whole_number("count", count)
        if self._terminated:
            raise past_the_end(self.time + count * self.plan.interval.step, self.time, ended=True)
        if not self.plan.master.chooses_steps and count > self._left:
            raise past_the_end(self.time + count * self.plan.interval.step, self.plan.interval.stop)
        while count > 0 and not self._terminated:
            if self.finished:
                raise past_the_end(self.time, self.plan.interval.stop)
            count -= self._run(1 if self._observers or self.plan.master.chooses_steps else min(count, _CHUNK))
        self._to_other_side()
        return self.time

    @one_at_a_time
    def run_until(self, time: float | str) -> float:
        """Step to `time` [s]. Return the time reached, equal to `time` except for rounding.

        A step of fixed size is shortened to end at `time`, and the next step ends at the next point of the grid. A time
        in the past has no effect. If a component ends the simulation, this call ends at that time.

        Raises
        ------
        WrongValue
            The time is after the stop time, or a component ended the simulation in an earlier call; or a step would
            have to end at this time, and an FMU does not accept its size. The simulation has not advanced.
        """
        self._check_running()
        time = seconds("time", time)
        if not isfinite(time):
            raise WrongValue(f"the time must be a finite number of seconds, found {time}")
        interval = self.plan.interval
        if time > interval.stop + TOLERANCE * interval.step:
            raise past_the_end(time, interval.stop)
        if self._terminated and time > self.time:
            raise past_the_end(time, self.time, ended=True)
        time = interval.stop if self._same(time, interval.stop) else time
        if time > self.time and not self._same(time, self.time):
            check_end(self.plan, time, self.time)
        self._run_to(time)
        self._to_other_side()
        return self.time

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call `observer` at every communication point from now on. Return a function that removes it.

        The arguments are the time [s] and a read-only mapping from full names to values, as in `get`; its keys are the
        recorded signals. At jumps of inputs, and at events that end macro steps, it is called for both sides if
        components are coupled, and for the later side if all components are one ODE.
        """
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)

    def __iter__(self) -> Iterator[float]:
        """Step until the stop time, or until a component ends the simulation. Yield the times reached [s]."""
        while not self.finished:
            before, time = self.time, self.step()
            if not self._terminated or time > before:
                yield time

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the simulation so far, for example that a component has ended it, or that steps are not as exact as
        requested.
        """
        assembly = self._assembly
        so_far = (*assembly.retreats(), *self._stepper.remarks(), *self._stepper.growth(), *assembly.remarks)
        inexact = too_inexact_steps(self.plan, self._stepper.inexact, self._steps)
        return (*self.plan.notes, *dict.fromkeys(so_far), *map(str, inexact))

    def _to_other_side(self) -> None:
        """Pass jumps of inputs, and events at the stop time, which has no later step."""
        if self._terminated:
            return
        interval = self.plan.interval
        if self.time >= self._stepper.next_jump:
            self._run(1)
        while self.plan.master.chooses_steps and not self.finished and self._same(self.time, interval.stop):
            self._run(1)

    @property
    def _left(self) -> int:
        """Steps of fixed size until the stop time."""
        if self._finished:
            return 0
        interval = self.plan.interval
        number = round((self.time - interval.start) / interval.step)
        passed = grid_time(interval.start, interval.step, number) <= self.time + CLOSE * interval.step
        return interval.steps - (number if passed else number - 1)

    def _same(self, one: float, other: float) -> bool:
        return abs(one - other) <= TOLERANCE * self.plan.interval.step

    def _run_to(self, time: float) -> None:
        """Step until `time` [s], where a step ends."""
        stepper, count = self._stepper, 1 if self._observers or self.plan.master.chooses_steps else _CHUNK
        rows = -1
        try:
            while (
                not self.finished
                and self._rows.count > rows
                and (not self._rows.at_point or (self.time < time and not self._same(self.time, time)))
            ):
                stepper.limit, rows = time, self._rows.count
                self._run(count)
        finally:
            stepper.limit = self.plan.interval.stop

    def _run(self, count: int) -> int:
        """Take steps for about this number of rows, until all FMUs have reached the last row. Return the number of
        steps, without the right sides of jumps.
        """
        if self._failure is not None:
            raise RunError(self._failure)
        before, point = self._rows.count, self._rows.accepted
        batch = self._next_rows(count)
        while batch.waiting:
            batch = self._next_rows(1)
        if batch.failure is not None:
            self._end(batch.failure)
        self._check_observed()
        done = self._rows.count - before
        if done and (self._rows.at_point or self._terminated):
            for observer in tuple(self._observers):
                observer(self.time, _View(self))
        if self.plan.master.chooses_steps:
            return int(self._rows.at_point and self.time > point)
        return max(done, 1)

    def _end(self, failure: Failure) -> None:
        """Record the last row. Raises `RunError` unless a component has ended the simulation."""
        row, remark = last_row(self._stepper, failure, self._rows.last)
        if row is not None:
            self._rows.add(row[np.newaxis], np.array([False]))
        if remark:
            self._assembly.remark(remark)
        if failure.ending is not Ending.TERMINATED:
            self._failure = failure
            raise RunError(failure)
        self._terminated = True
        self._assembly.remark(failure.message)

    def _next_rows(self, count: int) -> StepBatch:
        rows = np.empty((count, len(self._rows.last)))
        batch = self._stepper.run(rows)
        self._assembly.restore_surroundings()
        self._rows.add(rows[: batch.steps], batch.points)
        self._steps += batch.steps
        self._finished = batch.finished
        return batch

    @property
    @one_at_a_time
    def trace(self) -> Trace:
        """The trace recorded since the context was entered; also available after it was left."""
        rows = self._rows.recorded
        if not len(rows):
            raise not_running(ended=self._ended)
        table = contents(self._assembly.kernel)
        return Trace(rows[:, 0], rows[:, 1:], tuple(self.plan.columns), table, points=self._rows.points)

    # -- values ----------------------------------------------------------------------------------------------

    @one_at_a_time
    def get(self, name: str) -> Any:
        """Get the present value of a connector or of any variable of an FMU, by full name; all values of an array.

        Returns
        -------
        float, int, bool, str or bytes; for an array a numpy array of its shape (of objects for strings and bytes)

        Raises
        ------
        UnknownName
        """
        self._check_running()
        return self._values.get(self._values.signal(text("name", name)))

    def __getitem__(self, name: str) -> Any:
        """The same as `get`."""
        return self.get(name)

    def __setitem__(self, name: str, value: ArrayLike) -> None:
        """The same as `set`."""
        self.set(name, value)

    @one_at_a_time
    def __contains__(self, name: object) -> bool:
        """True if `get` accepts the name; outside of the context, if a signal of this name was recorded."""
        if not self._running:
            return any(column.signal == name for column in self.plan.columns)
        return isinstance(name, str) and self._values.knows(name)

    @one_at_a_time
    def set(self, name: str, value: ArrayLike) -> None:
        """Set an unconnected input or a tunable parameter from now on. The value of an array has its shape; the value
        of an enumeration is the name or the number of an item.

        All outputs are updated at once, in one more row of the trace for all changes at this time. Inputs are not
        extrapolated across this point, because they may jump. A rejected value changes nothing.

        Raises
        ------
        UnknownName
        WrongValue
            The variable is driven, fixed or computed.
        FmiError
            The FMU rejects the value.
        TypeError, ValueError, OverflowError
            The value does not have the type of the variable, is not an item of its enumeration, or is nan; or an array
            has another shape.
        """
        self._check_running()
        signal = self._values.signal(text("name", name))
        given = self._values.given(name, signal, value)
        check_settable(self.plan, name, given)
        before = self._values.get(signal)
        try:
            self._values.change(self._stepper, name, signal, given, self.time)
        except RunError as error:
            self._failure = error.failure
            raise
        self._sets.append(
            Override(OverrideKind.SET, name, before, cast("Value", value), by="Simulation.set", time=self.time)
        )
        self._rows.jump(self._row(self.time)[1:])
        self._stepper.restart()

    @property
    def overrides(self) -> tuple[Override, ...]:
        """Values overridden by the caller: before the start, then by `set`."""
        return (*overrides(self.plan), *self._sets)

    # -- saving ----------------------------------------------------------------------------------------------

    @one_at_a_time
    def save(self, path: Path | str) -> None:
        """Write the complete co-simulation to a file, from which it can continue in another process.

        The file includes the memory of the master about earlier steps. An integrator of model exchange restarts, also
        in this simulation, so that both continue with the same bits.

        Raises
        ------
        NotSavable
            An FMU cannot serialize its state.
        """
        self._check_running()
        save_file(absolute(file_path("path", path)), self._saved_now().content(self.plan))

    def _saved_now(self) -> SavedSimulation:
        """The complete simulation at the present point. Raises `NotSavable`."""
        if self._failure is not None:
            raise NotSavable(f"it has failed: {self._failure}")
        if self._terminated:
            raise NotSavable("a component has ended it")
        return SavedSimulation.now(self._stepper, self.plan, self._steps, self._rows.accepted, self._rows.last)

    @one_at_a_time
    def fork(self) -> "SteppedRun":
        """Make another simulation that continues from the present point, with FMUs of its own. It begins when its
        context is entered, which must be inside of the context of this simulation.

        As in `save`, an integrator of model exchange restarts, so that both continue with the same bits. `snapshot` and
        `restore` are faster where one branch after the other suffices.

        Raises
        ------
        NotSavable
            An FMU cannot serialize its state.
        """
        self._check_running()
        return SteppedRun(self.plan, self._sources, saved=self._saved_now(), sandbox=self._sandbox)

    @one_at_a_time
    def snapshot(self) -> SimulationSnapshot:
        """Keep the complete co-simulation in memory, for `restore`.

        As in `save`, an integrator of model exchange restarts, so that this simulation continues with the same bits as
        after `restore`.

        Raises
        ------
        NotSavable
            An FMU cannot save its state.
        """
        self._check_running()
        self._drop_forgotten()
        if self._failure is not None:
            raise NotSavable(f"it has failed: {self._failure}")
        check_savable(self.plan, in_memory=True)
        memory = memory_of(self._stepper, self.plan)
        try:
            number = self._stepper.keep()
        except FmiError as error:
            raise NotSavable(str(error)) from None
        rows = self._rows.point()
        point = PointOfRun(rows, memory, self._steps, len(self._sets), self._finished, self._terminated)
        self._kept.add(number)
        return SimulationSnapshot(number, point, self._forgotten)

    @one_at_a_time
    def restore(self, snapshot: SimulationSnapshot) -> float:
        """Restore a snapshot of this simulation. Return its time [s]. The trace ends there, and later calls of `set`
        are undone. Notes on later times stay.

        Raises
        ------
        RunError
            The simulation has failed since then, and its FMUs cannot continue.
        WrongValue
            The snapshot belongs to another simulation, or was taken before a `reset`.
        FmiError
            An FMU rejects the state.
        """
        self._check_running()
        if self._failure is not None:
            raise RunError(self._failure)
        if snapshot._forgotten is not self._forgotten or snapshot._number not in self._kept:
            raise WrongValue("the snapshot is that of another simulation, or from before a reset")
        self._drop_forgotten()
        self._stepper.go_back(snapshot._number)
        point = snapshot._point
        self._stepper.recall(point.memory)
        self._rows.go_back(point.rows)
        self._steps, self._finished, self._terminated = point.steps, point.finished, point.terminated
        del self._sets[point.sets :]
        return self.time

    @one_at_a_time
    def reset(self) -> None:
        """Restart as if the context were entered again, with reset or new FMUs, and without earlier `set` calls and
        rows.

        Raises the same errors as entering the context.
        """
        self._check_running()
        self._running, self._ended = False, True  # until initialization succeeds
        with ExitStack() as failing:
            failing.callback(lambda: self._pool.close())
            with self._stack:
                self._stop()
            before = self.initialization
            self._use(self.plan)
            self._kept, self._forgotten = set(), []
            self._sets.clear()
            self._steps, self._failure, self._terminated = 0, None, False
            self._begin_completed()
            failing.pop_all()
        if before is not None and self.initialization is not None:
            # Notes of start values are not repeated for FMUs that were reset.
            self.initialization = self.initialization._replace(unheld=before.unheld)
        self._running, self._ended = True, False

    def _drop_forgotten(self) -> None:
        """Free snapshots without references. This is delayed, because FMUs may be busy in another thread."""
        while self._forgotten:
            number = self._forgotten.pop()
            self._kept.discard(number)
            self._loaded.native.drop(number)

    def _begin(self) -> FoundAtStart | None:
        """Load and initialize, or continue. If the plan lacks something that is found then, only return that."""
        with ExitStack() as stack:
            self._loaded = system_for(self._whole, self._pool)
            self._assembly = stack.enter_context(
                assemble(self._loaded.native, self._loaded.adopted, self._whole, self._sources, pool=self._pool)
            )
            self._values = SimulationValues(self.plan, self._assembly)
            if self._saved is not None:
                self._go_on(self._saved)
            elif (found := self._initialize()) is not None:
                self._assembly.terminate(self.plan.interval.start)
                return found
            else:
                self._finished = self.plan.interval.steps == 0
            self._stack = stack.pop_all()
        return None

    def _initialize(self) -> FoundAtStart | None:
        report, found = self._loaded.initialize(self._assembly)
        self.initialization = report
        if report.failure is not None:
            self._assembly.abandon(report.failure)
            raise RunError(report.failure)
        if found is None:
            self._step_by(steps_of(self._loaded, self._assembly))
            self._rows.add(self._row(self.plan.interval.start)[None])
        return found

    def _row(self, time: float) -> Floats:
        """(1 + slots,) The present row at this time [s]. Raises RunError."""
        row = np.empty(1 + len(self._whole.recorded))
        self._stepper.record(time, row)
        self._check_observed()
        return row

    def _check_observed(self) -> None:
        if self._stepper.unobserved:
            self._failure = self._stepper.unobserved[0]
            raise RunError(self._failure)

    def _go_on(self, source: Path | SavedSimulation) -> None:
        saved = SavedSimulation.read(source, self.plan) if isinstance(source, Path) else source
        try:
            self._step_by(saved.resumed(self._loaded, self._assembly))
        except ValueError as error:
            raise UnusableFile(source, str(error)) from None
        self._steps = saved.steps
        self._rows.go_on(saved.accepted, saved.last)
        self._finished = self._stepper.run(np.empty((0, len(saved.last)))).finished

    def _step_by(self, steps: SystemSteps) -> None:
        self._assembly, self._stepper = steps.assembly, steps
