"""What is saved of a simulation, and how another one goes on from there."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ssptool.engine.assembly import Assembly
from ssptool.engine.kernel.interface import Kernel, SolveLoop
from ssptool.engine.loop_run import RunningLoop
from ssptool.engine.masters.partners import Memory
from ssptool.engine.plan import Plan
from ssptool.engine.stepping.errors import NotSavable
from ssptool.engine.stepping.saved import SavedLoop, SavedSimulation
from ssptool.fmu.description import InterfaceType
from ssptool.fmu.instance import FmiError

_FOLLOWS = "follows inputs"


def check_savable(plan: Plan) -> None:
    """That every FMU can serialize its state.

    Raises
    ------
    NotSavable
    """
    for planned in plan.instances:
        interface = planned.description.interface(planned.interface)
        if interface is None or not interface.serializes_state:
            raise NotSavable(f"the FMU of {planned.name} cannot serialize its state (canSerializeFMUState)")


def serialized(assembly: Assembly) -> tuple[bytes, ...]:
    """The states of all FMUs."""
    try:
        return tuple(instance.serialize() for instance in assembly.instances)
    except FmiError as error:
        raise NotSavable(str(error)) from None


def contents(kernel: Kernel) -> tuple[bytes, ...]:
    """All that the kernel has met, by number."""
    return tuple(kernel.content(number) for number in range(kernel.contents))


def saved_loops(loops: Mapping[int, RunningLoop]) -> dict[int, SavedLoop]:
    return {number: SavedLoop(loop.planned.calls.rtol, loop.chord) for number, loop in loops.items()}


def restored(plan: Plan, assembly: Assembly, saved: SavedSimulation) -> dict[int, RunningLoop]:
    """The FMUs are in their saved states, and the kernel knows what it knew of contents; the loops, by their number."""
    for content in saved.contents:
        assembly.kernel.number(content)  # in their order, so that they get the numbers that they had
    _restore_states(plan, assembly, saved)
    return {number: _loop_of(plan, assembly, number, loop) for number, loop in saved.loops.items()}


def refusals(kernel: Kernel) -> Memory:
    """The instances whose FMUs do not follow their inputs, with the order that is left to them."""
    return {_FOLLOWS: np.array([found[:2] for found in kernel.retreats], dtype=int).reshape(-1, 2)}


def recall_refusals(kernel: Kernel, saved: SavedSimulation) -> None:
    for instance, order in saved.memory[_FOLLOWS].tolist():
        kernel.limit_inputs(instance, order)


def accept_points(kernel: Kernel, saved: SavedSimulation) -> None:
    for point in saved.history:
        kernel.values[:] = point[1:]
        kernel.accept(float(point[0]))


def set_values(kernel: Kernel, saved: SavedSimulation) -> None:
    kernel.values[:] = saved.values
    kernel.input_value[:] = saved.input_value
    kernel.input_rates[:] = saved.input_rates


def _loop_of(plan: Plan, assembly: Assembly, number: int, saved: SavedLoop) -> RunningLoop:
    ode, planned = plan.coupled_ode, plan.loops[number]
    inside = ode is not None and SolveLoop(number) in ode.sweep
    own = assembly.of_ode if inside else assembly
    loop = RunningLoop(own, replace(planned, calls=replace(planned.calls, rtol=saved.rtol)), number)
    loop.chord = saved.chord
    own.kernel.set_chord(loop.index, saved.chord)
    return loop


def _restore_states(plan: Plan, assembly: Assembly, saved: SavedSimulation) -> None:
    limits: dict[int, int] = dict(saved.memory[_FOLLOWS].tolist())
    every = zip(plan.instances, assembly.instances, saved.states, strict=True)
    for number, (planned, instance, state) in enumerate(every):
        instance.deserialize(state)
        rates = saved.input_rates[:, list(planned.input_slots)]
        order = int(np.max(np.flatnonzero(rates.any(axis=1)) + 1, initial=0))
        order = min(order, limits.get(number, 2))
        if order and planned.capabilities.follows and planned.interface is InterfaceType.CO_SIMULATION:
            # The new kernel does not know that this FMU follows them; it would not tell it to stop.
            instance.forget_rates([signal.variable for signal in planned.inputs], order)
