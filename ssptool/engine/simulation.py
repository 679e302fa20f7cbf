"""A co-simulation under the control of a program: step by step, with values that can be read and set in between."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from math import isfinite
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.assembly import Assembly, Sources, assemble
from ssptool.engine.cells import read_cell, write_cell
from ssptool.engine.coupling import Evaluation, couple
from ssptool.engine.ending import Failure, RunError
from ssptool.engine.event_mode.planned import CLOCK
from ssptool.engine.initialize import InitializationReport, initialize
from ssptool.engine.kernel.interface import LONG_AGO, Call, Floats, SolveLoop
from ssptool.engine.loop_run import RunningLoop
from ssptool.engine.masters.master import Coupled, Remembering, Stepper
from ssptool.engine.one_at_a_time import one_at_a_time
from ssptool.engine.passed_on import pass_on, why_not
from ssptool.engine.plan import Plan
from ssptool.engine.saved import SavedLoop, SavedSimulation
from ssptool.engine.simulation_errors import NotRunning, NotSavable, NotSettable, PastTheEnd, UnknownName
from ssptool.engine.stopped import Stopped
from ssptool.engine.trace import Trace
from ssptool.fmu.description import Causality, InterfaceType, Value, Variability
from ssptool.fmu.instance import FmiError, FmuInstance
from ssptool.network.arrays import elements
from ssptool.network.signals import Signal

Observer = Callable[[float, Mapping[str, Value]], None]
"""Takes a time [s] and a view of the values there."""

REMEMBERED = 3
"""Points that inputs may be extrapolated from: as many as a kernel remembers."""

TOLERANCE = 1e-9
"""Of a macro step: so close to a communication point is at it."""

_CHUNK = 256


class _View(Mapping[str, Value]):
    """The present values of a simulation, to be read."""

    def __init__(self, simulation: "Simulation") -> None:
        self._simulation = simulation
        self._names = tuple(column.signal for column in simulation.plan.columns)

    def __getitem__(self, name: str) -> Value:
        value: Value = self._simulation.get(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Simulation:
    """A system that is loaded and initialized on entry of the context, and freed on its exit.

    Several threads may use it: each waits until the call of another one has ended.

    Parameters
    ----------
    plan, sources
        What is to be done, and where the FMUs are.
    native
        True: the C++ kernel; False: its twin in Python; None: the first where it was built.
    saved
        A file of `save`, from which to go on instead of initializing.

    Raises
    ------
    RunError
        On entry: initialization failed. In `step` and `run_until`: a component or the coupling did.
    NotRunning
        Outside of the context, by all that needs the FMUs; what is recorded can still be read. By a second entry.
    """

    def __init__(self, plan: Plan, sources: Sources, *, native: bool | None = None, saved: Path | None = None) -> None:
        self.plan = plan
        self._columns = plan.columns
        self._chosen = [0, *(1 + slot for slot in plan.recorded)]
        # All slots, because they are the history from which a saved simulation goes on.
        self._whole = replace(plan, recorded=tuple(range(len(plan.signals))))
        self._slots = {signal: slot for slot, signal in enumerate(plan.signals)}
        self._arrays = plan.network.arrays
        self._sources = sources
        self._native = native
        self._saved = saved
        self._stack = ExitStack()
        self._lock = RLock()
        self._running = self._ended = False
        self._observers: list[Observer] = []
        self._assembly: Assembly
        self._system: Coupled
        self._evaluation: Evaluation
        self._loops: dict[int, RunningLoop]
        self._stepper: Stepper
        # Points from which inputs are extrapolated, and the last row, which need not be one of them.
        self._history: Floats = np.empty((0, 1 + len(plan.signals)))
        self._last: Floats = np.zeros(1 + len(plan.signals))
        self._rows: list[Floats] = []
        self._steps = 0
        self._at_point = True  # and not on a side of an event
        self._finished = False
        self._failure: Failure | None = None
        self.initialization: InitializationReport | None = None

    def __enter__(self) -> Self:
        if self._running or self._ended:
            raise NotRunning(ended=True)
        with ExitStack() as stack:
            self._assembly = stack.enter_context(assemble(self._whole, self._sources, self._native))
            if self._saved is None:
                self._initialize()
                self._stepper = self.plan.master.start(self._system)
            else:
                self._go_on(SavedSimulation.read(self._saved, self.plan))
            self._stack = stack.pop_all()
        self._running = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._running:
            return
        self._running, self._ended = False, True
        with self._stack:
            if self._failure is not None:
                self._assembly.abandon(self._failure)
            else:
                self._assembly.terminate(self.time)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a simulation can be neither copied nor pickled, as its FMUs: save() it, and go on from there")

    def _check_running(self) -> None:
        if not self._running:
            raise NotRunning(self._ended)

    # -- time ------------------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """The communication point that has been reached [s]."""
        return float(self._last[0])

    @property
    def finished(self) -> bool:
        """Whether the stop time of the plan has been reached."""
        return self._finished if self.plan.master.chooses_steps else self._steps >= self.plan.interval.steps

    @one_at_a_time
    def step(self, count: int = 1) -> float:
        """Do some macro steps; gives the time reached [s].

        Raises
        ------
        PastTheEnd
            There are not so many steps until the stop time, which the FMUs were told.
        """
        self._check_running()
        if count < 1:
            raise ValueError(f"the number of steps must be at least 1, found {count}")
        if not self.plan.master.chooses_steps and count > self.plan.interval.steps - self._steps:
            raise PastTheEnd(self.time + count * self.plan.interval.step, self.plan.interval.stop)
        while count > 0:
            if self.finished:
                raise PastTheEnd(self.time, self.plan.interval.stop)
            count -= self._run(1 if self._observers else min(count, _CHUNK))
        self._to_other_side()
        return self.time

    @one_at_a_time
    def run_until(self, time: float) -> float:
        """Step to the first communication point that is not before `time` [s]; gives that point [s].

        Raises
        ------
        PastTheEnd
            That is after the stop time.
        """
        self._check_running()
        if not isfinite(time):
            raise ValueError(f"the time must be a finite number of seconds, found {time}")
        interval = self.plan.interval
        if time > interval.stop + TOLERANCE * interval.step:
            raise PastTheEnd(time, interval.stop)
        if self.plan.master.chooses_steps:
            while (self.time < time or not self._at_point) and not self._finished:
                self._run(1)
            self._to_other_side()
            return self.time
        wanted = int(np.ceil((time - interval.start) / interval.step - TOLERANCE))
        return self.step(wanted - self._steps) if wanted > self._steps else self.time

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call `observer` at every communication point from now on; gives a function that ends that.

        It is called with the time [s] and a read-only mapping: values by full name, as `get` has them; its keys are the
        recorded signals. Where inputs jump it is called once for each side.
        """
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)

    def __iter__(self) -> Iterator[float]:
        """Step to the stop time; gives the times reached [s]."""
        while not self.finished:
            yield self.step()

    def _to_other_side(self) -> None:
        """Where inputs jump, and through events at the stop time, after which there is no step: one ends there."""
        drive, interval = self._system.drive, self.plan.interval
        if drive is not None and self._system.integration is None and self.time >= drive.end:
            self._run(1)
        while self.plan.master.chooses_steps and not self.finished and self._is_at(interval.stop):
            self._run(1)

    def _is_at(self, time: float) -> bool:
        return abs(self.time - time) <= TOLERANCE * self.plan.interval.step

    def _run(self, count: int) -> int:
        """At most so many rows; gives the number of steps among them, the other sides of jumps being none."""
        if self._failure is not None:
            raise RunError(self._failure)
        before, point = self.time, self._history[-1, 0]
        rows = np.empty((count, self._history.shape[1]))
        stretch = self._stepper.run(self._steps, rows)
        self._remember(rows[: stretch.steps], stretch.points)
        self._steps += stretch.steps
        self._finished = stretch.finished
        if stretch.failure is not None:
            self._failure = stretch.failure
            raise RunError(stretch.failure)
        for observer in tuple(self._observers):
            observer(self.time, _View(self))
        sided = self._system.drive is not None or self._system.events is not None
        if sided and self._system.integration is None:
            return int(np.count_nonzero(np.diff(rows[: stretch.steps, 0], prepend=before)))
        if stretch.points is not None:
            return int(np.count_nonzero(np.diff(rows[: stretch.steps, 0][stretch.points], prepend=point)))
        return max(stretch.steps, 1)

    def _remember(self, rows: Floats, points: NDArray[np.bool_] | None = None) -> None:
        if not len(rows):
            return
        self._at_point = points is None or bool(points[-1])
        self._last = rows[-1].copy()
        self._rows.append(rows[:, self._chosen])
        accepted = rows if points is None else rows[points]
        history = np.concatenate([self._history, accepted[-REMEMBERED:]])[-REMEMBERED:]
        sides = np.flatnonzero(np.diff(history[:, 0]) == 0)
        if sides.size:
            # At the other side of an event, what was before is forgotten.
            since = history[sides[-1] + 1 :]
            history = np.concatenate([[np.concatenate([[LONG_AGO], since[0, 1:]])], since])
        self._history = history

    @property
    @one_at_a_time
    def trace(self) -> Trace:
        """What was recorded so far, since entry; also when the context has been left."""
        if not self._rows:
            raise NotRunning(self._ended)
        rows = np.concatenate(self._rows)
        self._rows = [rows]
        return Trace(rows[:, 0], rows[:, 1:], self._columns, self._contents())

    # -- values ----------------------------------------------------------------------------------------------

    @one_at_a_time
    def get(self, name: str) -> Any:
        """The present value of a connector or of any variable of an FMU, by its full name; of an array all values.

        Returns
        -------
        float, int, bool, str or bytes; or a numpy array with the shape of the array that has the name, of texts and
        bytes one of objects

        Raises
        ------
        UnknownName
        """
        self._check_running()
        signal = self._signal(name)
        if signal in self._arrays:
            return self._get_array(signal)
        return self._get(signal)

    def _get(self, signal: Signal) -> Value:
        if signal in self._slots:
            slot = self._slots[signal]
            return read_cell(self._assembly.kernel, slot, self.plan.types[slot])
        return self._instance(signal).get([signal.variable])[signal.variable]

    def _get_array(self, array: Signal) -> NDArray[Any]:
        shape = self._arrays[array]
        every = elements(array, shape)
        if every and every[0] not in self._slots:
            values = list(self._instance(array).get([signal.variable for signal in every]).values())
        else:
            values = [self._get(signal) for signal in every]
        texts = any(isinstance(value, str | bytes) for value in values)
        return np.array(values, dtype=object if texts else None).reshape(shape)

    @one_at_a_time
    def set(self, name: str, value: Any) -> None:
        """Give an input that nothing drives, or a tunable parameter, a value from now on; an array one of its shape.

        All outputs follow at once. As inputs may jump then, none is extrapolated over this point. A value that is
        refused changes nothing.

        Raises
        ------
        UnknownName
        NotSettable
            It is driven, or fixed, or computed.
        FmiError
            The FMU refuses the value.
        TypeError, ValueError, OverflowError
            It is none of the variable's type, or nan; an array has another shape.
        """
        self._check_running()
        signal = self._signal(name)
        given = self._given(name, signal, value)
        self._check_settable(name, given)
        kernel = self._assembly.kernel
        before = kernel.integers.copy()  # the same memory as `values`
        try:
            self._write(name, given)
            self._tell(signal, given)
            told = self._pass_on(signal)
        except Exception:
            kernel.integers[:] = before
            raise
        self._settle(told)

    def _pass_on(self, signal: Signal) -> Collection[str]:
        """Parameters that follow from this one; gives the names of all components that were told something."""
        if not self.plan.parameter_wires or not signal.component:
            return (signal.component,)

        def give(signal: Signal, value: Value) -> None:
            self._write(str(signal), {signal: value})
            self._tell(signal, {signal: value})

        instances = {one.name: one for one in self._assembly.instances}
        try:
            return pass_on(self.plan, instances, (signal.component,), give, self.time)
        except Stopped as stopped:
            self._check(stopped.failure)
            raise

    def _write(self, name: str, given: Mapping[Signal, Any]) -> None:
        """Into the kernel, of what it knows."""
        for signal, value in given.items():
            if isinstance(value, float) and np.isnan(value):
                raise ValueError(f"{name} cannot be nan: no FMU could go on from there")
            if signal not in self._slots:
                continue
            slot = self._slots[signal]
            try:
                write_cell(self._assembly.kernel, slot, self.plan.types[slot], value)
            except (TypeError, ValueError, OverflowError) as error:
                expected = f"expected a value of type {self.plan.types[slot]}"
                raise type(error)(f"{name} cannot be {value!r}: {expected}") from error

    def _tell(self, signal: Signal, given: Mapping[Signal, Any]) -> None:
        """Them to the FMU."""
        values = {each.variable: own for each, own in given.items()}
        integrated = signal.component in {one.name for one in self.plan.integrated}
        if signal.component in self.plan.event_modes.members or (integrated and self.plan.event_modes.with_ode):
            self._set_at_event(signal, given)
        elif integrated:
            self._intervene(lambda: self._instance(signal).set(values))
        elif signal.component:
            self._instance(signal).set(values)
        elif self._system.integration is not None:
            self._intervene(lambda: None)

    def _given(self, name: str, signal: Signal, value: Any) -> dict[Signal, Any]:
        """The value of a scalar or of every element of an array."""
        if signal not in self._arrays:
            return {signal: value.item() if isinstance(value, np.generic) else value}
        shape, found = self._arrays[signal], np.asarray(value)
        if found.shape != shape:
            raise ValueError(f"{name} has the shape {shape}, the value {found.shape}")
        return dict(zip(elements(signal, shape), found.ravel().tolist(), strict=True))

    def _set_at_event(self, signal: Signal, given: Mapping[Signal, Any]) -> None:
        """Of a component in event mode. What belongs to a clock waits for its next tick."""
        assert self._system.events is not None
        values = {each.variable: own for each, own in given.items() if not self.plan.network.variable(each).clocks}

        def action() -> None:
            if values:
                self._instance(signal).set(values)

        self._check(self._system.events.intervene(self._system, self.time, action))

    def _intervene(self, action: Callable[[], None]) -> None:
        """In event mode, which is where most variables of model exchange may be set."""
        ode = self._system.integration or self._system.ode
        assert ode is not None
        self._check(ode.intervene(action))

    def _check_settable(self, name: str, signals: Collection[Signal]) -> None:
        for driven in self.plan.stimuli.driven:
            if driven.signal in signals:
                raise NotSettable(name, f"it is driven, by {driven.origin}")
        for wire in self.plan.network.wires:
            if wire.destination in signals:
                raise NotSettable(name, f"it is driven by {wire.source}")
        for signal in signals:
            self._check_kind(name, signal)

    def _check_kind(self, name: str, signal: Signal) -> None:
        if not signal.component:
            if self._slots[signal] not in self.plan.constants:
                raise NotSettable(name, "it is an output of the system")
            return
        variable = self.plan.network.variable(signal)
        if variable.type == CLOCK:
            raise NotSettable(name, "it is a clock; it ticks at its own times, or where a connection triggers it")
        tunable = variable.causality is Causality.PARAMETER and variable.variability is Variability.TUNABLE
        if not tunable and variable.causality is not Causality.INPUT:
            raise NotSettable(
                name, f"it is a {variable.variability} {variable.causality}; inputs and tunable parameters can be set"
            )
        if tunable and (reason := why_not(self.plan.network, self.plan.parameter_wires, signal)):
            raise NotSettable(name, reason)

    def _settle(self, components: Collection[str]) -> None:
        """Outputs follow from what was set in these components, and the past is forgotten."""
        kernel, system = self._assembly.kernel, self._system
        for index, planned in enumerate(self.plan.instances):
            if planned.name in components and planned.output_slots:
                outcome = self._assembly.perform([Call(index, (), planned.output_slots)])
                self._check(None if outcome.ok else self._assembly.explain(outcome, self.time))
        time = self.time
        self._check(system.settle(time))
        row = np.concatenate([[time], kernel.values])
        self._history, self._last = np.stack([np.concatenate([[LONG_AGO], kernel.values]), row]), row
        self._rows[-1][-1] = row[self._chosen]

    def _check(self, failure: Failure | None) -> None:
        if failure is not None:
            self._failure = failure
            raise RunError(failure)

    def _signal(self, name: str) -> Signal:
        """Names of components and of variables may both have dots, so each is tried."""
        if not isinstance(name, str):
            raise UnknownName(name)
        parts = name.split(".")
        for place in range(len(parts) - 1, -1, -1):
            signal = Signal(".".join(parts[:place]), ".".join(parts[place:]))
            component = self.plan.network.components.get(signal.component)
            known = component.description.variables if component else ()
            if signal in self._slots or signal in self._arrays or signal.variable in known:
                return signal
        raise UnknownName(name)

    def _instance(self, signal: Signal) -> FmuInstance:
        return next(one for one in self._assembly.instances if one.name == signal.component)

    # -- saving ----------------------------------------------------------------------------------------------

    @one_at_a_time
    def save(self, path: Path | str) -> None:
        """Write the complete co-simulation into a file, from which it can go on in another process.

        What a master has learned from earlier steps is part of it. An integrator of model exchange starts anew, here
        too, so that in any case this simulation and the one that goes on give the same bits.

        Raises
        ------
        NotSavable
            An FMU cannot serialize its state.
        """
        self._check_running()
        stepper = self._savable()
        kernel = self._assembly.kernel
        # First: it may bring the FMUs to where they are to be saved.
        memory = stepper.memory()
        try:
            states = tuple(instance.serialize() for instance in self._assembly.instances)
        except FmiError as error:
            raise NotSavable(str(error)) from None
        saved = SavedSimulation(
            steps=self._steps,
            values=kernel.values.copy(),
            input_value=kernel.input_value.copy(),
            input_rates=kernel.input_rates.copy(),
            history=self._history,
            last=self._last,
            loops={number: SavedLoop(loop.planned.calls.rtol, loop.chord) for number, loop in self._loops.items()},
            states=states,
            memory=memory,
            contents=self._contents(),
        )
        saved.write(Path(path), self.plan)

    def _contents(self) -> tuple[bytes, ...]:
        """All that the kernel has met, by number."""
        kernel = self._assembly.kernel
        return tuple(kernel.content(number) for number in range(kernel.contents))

    def _savable(self) -> Remembering:
        if self._failure is not None:
            raise NotSavable(f"it has failed {self._failure}")
        if not isinstance(self._stepper, Remembering):
            raise NotSavable(f"master {self.plan.master.name} does not remember")
        for planned in self.plan.instances:
            interface = planned.description.interface(planned.interface)
            if interface is None or not interface.serializes_state:
                raise NotSavable(f"the FMU of {planned.name} cannot serialize its state (canSerializeFMUState)")
        return self._stepper

    def _initialize(self) -> None:
        initialized = initialize(self._assembly)
        self.initialization = initialized.report
        if initialized.report.failure is not None:
            self._assembly.abandon(initialized.report.failure)
            raise RunError(initialized.report.failure)
        self._couple(initialized.loops)
        first = np.concatenate([[self.plan.interval.start], self._assembly.kernel.values])
        self._remember(first[None])

    def _go_on(self, saved: SavedSimulation) -> None:
        kernel = self._assembly.kernel
        for content in saved.contents:
            kernel.number(content)  # in their order, so that they get the numbers that they had
        self._restore_states(saved)
        self._couple({number: self._loop_of(number, loop) for number, loop in saved.loops.items()}, afresh=False)
        for point in saved.history:
            kernel.values[:] = point[1:]
            kernel.accept(float(point[0]))
        self._stepper = self.plan.master.start(self._system)
        if isinstance(self._stepper, Remembering):
            self._stepper.recall(saved.memory)
        kernel.values[:] = saved.values
        kernel.input_value[:] = saved.input_value
        kernel.input_rates[:] = saved.input_rates
        self._steps = saved.steps
        self._history, self._last = saved.history, saved.last
        self._rows = [saved.last[np.newaxis, self._chosen]]
        if self.plan.master.chooses_steps:  # and knows whether there is more to be done
            self._finished = self._stepper.run(self._steps, np.empty((0, self._history.shape[1]))).finished

    def _loop_of(self, number: int, saved: SavedLoop) -> RunningLoop:
        ode, planned = self.plan.coupled_ode, self.plan.loops[number]
        inside = ode is not None and SolveLoop(number) in ode.sweep
        assembly = self._assembly.of_ode if inside else self._assembly
        loop = RunningLoop(assembly, replace(planned, calls=replace(planned.calls, rtol=saved.rtol)), number)
        loop.chord = saved.chord
        assembly.kernel.set_chord(loop.index, saved.chord)
        return loop

    def _restore_states(self, saved: SavedSimulation) -> None:
        for planned, instance, state in zip(self.plan.instances, self._assembly.instances, saved.states, strict=True):
            instance.deserialize(state)
            rates = saved.input_rates[:, list(planned.input_slots)]
            order = int(np.max(np.flatnonzero(rates.any(axis=1)) + 1, initial=0))
            if order and planned.capabilities.follows and planned.interface is InterfaceType.CO_SIMULATION:
                # The new kernel does not know that this FMU follows them; it would not tell it to stop.
                instance.forget_rates([signal.variable for signal in planned.inputs], order)

    def _couple(self, loops: dict[int, RunningLoop], *, afresh: bool = True) -> None:
        self._loops = loops
        self._evaluation = Evaluation(self._assembly, tuple(loops.values()))
        self._system = couple(self._assembly, self._evaluation, loops, afresh=afresh)
