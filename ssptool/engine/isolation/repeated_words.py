"""Repeat a failed run once with all messages of its FMUs, to learn the reason of the failure."""

import contextlib
from dataclasses import replace
from pathlib import Path

from ssptool.engine.assembly.assembly import CHECK_IT, DO_STEP, SHORTER_STEPS
from ssptool.engine.failure import Ending, Failure
from ssptool.engine.isolation.parent import execute_isolated
from ssptool.engine.run.execution import Execution, Job
from ssptool.engine.run.recorder import Recorder
from ssptool.engine.settings import EVERY_COMPONENT, Limits
from ssptool.errors import WrongValue
from ssptool.fmu.instance import FmiError
from ssptool.tempfiles import TemporaryFolder

MOST_SECONDS = 30.0
"""Limit of the wall time of a repeat; longer runs are not repeated."""

_TELLING = ("error", "fatal", "discard")
"""Statuses of messages that explain a failed call."""

_HEARD = "its messages are those of one repeat of the run with all messages on"
_UNHEARD = "a repeat of the run with all messages on said no more"


def with_words(job: Job, execution: Execution, limits: Limits) -> Execution:
    """The execution; a failure without messages of its FMU gets those of a repeat."""
    failure = execution.failure
    if failure is None or failure.ending is not Ending.FMI or not failure.component:
        return execution
    if not _is_silent(job, failure.messages) or execution.statistics.seconds > MOST_SECONDS:
        return execution
    again = None
    with contextlib.suppress(FmiError):
        again = _failure_again(job, limits)
    if again is None or (again.component, again.function) != (failure.component, failure.function):
        return execution
    shorter = SHORTER_STEPS if failure.recoverable and failure.function in DO_STEP else ""
    if again.messages:
        told = replace(failure, advice="; ".join(filter(None, (shorter, _HEARD))), messages=again.messages)
    else:
        told = replace(failure, advice=f"{shorter or CHECK_IT}; {_UNHEARD}")
    report = execution.initialization
    if report.failure is not None:
        report = report._replace(failure=told)
    return execution._replace(failure=told, initialization=report)


def error_with_words(job: Job, error: FmiError, limits: Limits) -> FmiError:
    """The error of an FMU that was not instantiated; if it has no messages, those of a repeated run are added."""
    if not _is_silent(job, error.messages):
        return error
    try:
        _failure_again(job, limits)
    except FmiError as again:
        if again.messages and (again.instance, again.function) == (error.instance, error.function):
            return FmiError(error.instance, error.function, error.status, again.messages, _HEARD)
    return error


def _is_silent(job: Job, messages: tuple[str, ...]) -> bool:
    """True if a repeat may explain more: no message is about the failed call, and some messages were off."""
    settings = job.plan.settings
    everything = settings.fmu_log is not None and not settings.fmu_log_level and not settings.fmu_log_categories
    return job.realtime is None and not everything and not any(one.startswith(_TELLING) for one in messages)


def _failure_again(job: Job, limits: Limits) -> Failure | None:
    """Failure of the same run, repeated in a child process with all messages. Raises FmiError."""
    seconds = MOST_SECONDS if limits.seconds is None else min(limits.seconds, MOST_SECONDS)
    with TemporaryFolder() as place:
        # A level that all FMUs have and a category that none has: FMUs log everything, and the file has only errors.
        settings = job.plan.settings.without_logs(
            fmu_log=Path(place) / "repeat.jsonl",
            fmu_log_level={EVERY_COMPONENT: "ok"},
            fmu_log_categories={EVERY_COMPONENT: ("none",)},
        )
        plan = replace(job.plan, settings=settings)
        recorder = Recorder(plan, keep=False)
        with contextlib.suppress(WrongValue, OSError):
            return execute_isolated(replace(job, plan=plan), recorder, replace(limits, seconds=seconds)).failure
    return None
