"""Failures of systems in C++ outside of steps, in words."""

from collections.abc import Iterable
from dataclasses import replace

from ssptool.engine.failure import Ending, Failure, RunError, wish_to_end
from ssptool.engine.kernel.stopped import Refused, StopCode, Stopped
from ssptool.fmu.instance import FmiError, FmuInstance


def explanation(error: Stopped | Refused, instances: Iterable[FmuInstance]) -> RunError | FmiError:
    """The error in the words of the kernel that called one of these instances."""
    if isinstance(error, Stopped):
        return RunError(failure_of(error))
    instance = next(one for one in instances if one.name == error.component)
    instance.note(error.status)
    return FmiError(error.component, error.function, error.status, instance.log.latest())


def failure_of(stopped: Stopped) -> Failure:
    """Failure from the reason that the kernel stopped with."""
    known = stopped.details
    if isinstance(known, Failure):
        if (known.message, known.time) == (stopped.message, stopped.t):
            return known
        return replace(
            known,
            ending=Ending[stopped.code.name],
            message=stopped.message,
            time=stopped.t,
            recoverable=stopped.recoverable,
        )
    if stopped.code is StopCode.TERMINATED:
        return wish_to_end(stopped.component, stopped.t)
    return Failure(
        Ending[stopped.code.name],
        stopped.message,
        stopped.advice,
        stopped.t,
        stopped.component,
        stopped.function,
        recoverable=stopped.recoverable,
    )


def as_stopped(failure: Failure) -> Stopped:
    """Reason for the kernel from a failure; the kernel does not know all endings."""
    code = StopCode.__members__.get(failure.ending.name, StopCode.FMI)
    return Stopped(
        code,
        failure.message,
        failure.advice,
        failure.time,
        failure.component,
        failure.recoverable,
        failure.function,
        failure,
    )
