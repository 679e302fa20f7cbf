"""Steps and jumps of courses in one go, where jumps are so dense that there are few steps from one to the next."""

from collections.abc import Iterator
from typing import TypeGuard

import numpy as np

from ssptool.engine.ending import Failure
from ssptool.engine.kernel.interface import Code, Floats, Instruction, Op
from ssptool.engine.masters.master import CLOSE, Coupled, OneStepper, Stretch
from ssptool.engine.masters.program import Program

FEW_STEPS = 16
"""Between two jumps: with more than that, to let them happen one by one costs little beside."""


def goes_through(stepper: OneStepper, system: Coupled) -> TypeGuard[Program]:
    """Whether the kernel can do the next jump, with no more to it than the courses."""
    alone = system.ode is None and system.events is None and not system.stepwise
    drive = system.drive
    return alone and drive is not None and isinstance(stepper, Program) and drive.only_courses(drive.stretch)


def through_jumps(program: Program, t: float, rows: Floats) -> Stretch:
    """From t [s] as far as rows, dense jumps and the run go: a row for each step and each other side of a jump."""
    system, drive = program.system, program.system.drive
    assert drive is not None
    points = np.array([point for point, _ in zip(_points(system, t), rows, strict=False)])
    outcome = system.kernel.run_through(program.instructions(), _jump(system), points, rows[: len(points)])
    done = outcome.steps
    drive.go_to(drive.stretch + int(np.count_nonzero(points[:done, 1] == 0.0)))
    if outcome.ok:
        return Stretch(done)
    t, h, reached, _ = points[done].tolist()
    if outcome.code is not Code.LOOP:
        return Stretch(done, system.explain_step(outcome, t, reached if h else t))
    failure = _solved(system, reached, rows[done]) if h else _jumped(system, t, rows[done])
    return Stretch(done + (failure is None), failure)


def _points(system: Coupled, t: float) -> Iterator[tuple[float, float, float, float]]:
    """What the kernel is to do, until jumps are no longer dense."""
    drive = system.drive
    assert drive is not None
    stretch, stop = drive.stretch, system.stop
    _, end = drive.limits(stretch)
    while True:
        if t >= end:
            if not drive.only_courses(stretch):
                return
            stretch += 1
            begin, end = drive.limits(stretch)
            yield t, 0.0, begin, end
            if min(end, stop) - t > FEW_STEPS * system.step:
                return
        elif t >= stop - CLOSE * system.step:
            return
        else:
            h, point = system.next_step(t, min(end, stop))
            yield t, h, point, 0.0
            t = point


def _jump(system: Coupled) -> tuple[Instruction, ...]:
    """What `Coupled.settle` does, as a program."""
    group, sweep = system.everything.group, system.everything.sweep
    exchange = Instruction(Op.EXCHANGE, group)
    settled = (exchange, Instruction(Op.EVALUATE, sweep), exchange)
    return (*settled, Instruction(Op.FORGET), Instruction(Op.ACCEPT), Instruction(Op.RECORD))


def _solved(system: Coupled, reached: float, row: Floats) -> Failure | None:
    """What remains of a step with a loop that the kernel does not solve."""
    failure = system.evaluate(system.everything.sweep, reached)
    if failure is None:
        system.finish_at(reached, row)
    return failure


def _jumped(system: Coupled, t: float, row: Floats) -> Failure | None:
    """The jump at t [s] from its beginning: what the kernel has tried in a loop leads nowhere."""
    system.kernel.take_back()
    failure = system.through_jump(t)
    system.record(t, row)
    return failure
