"""Tasks of workers and the outcomes of runs, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ssptool.studies.factor_sources import FactorValue, Floats


class RunStatus(StrEnum):
    """How a run ended."""

    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Samples:
    """Signals that are wanted at these times (n,) [s]."""

    signals: tuple[str, ...]
    times: Floats


@dataclass(frozen=True, slots=True)
class Task:
    """One run: its name, its place in the study, and its point.

    A `witness` of every bit that was recorded, and `samples` of it, are in the outcome if they are wanted.
    """

    run: str
    number: int
    point: Mapping[str, FactorValue]
    witness: bool = False
    samples: Samples | None = None


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How it went.

    Attributes
    ----------
    results
        By name; None where an expression has no value.
    message
        Why it failed, or why a result has no value.
    seconds : [s]
        Wall time of the run. Of these `own_seconds` went into initialization and stepping.
    trace
        The recorded signals, as the bytes of a Parquet file.
    samples : (n, signals)
        As the task wants them; nan at times that the run does not have.
    """

    task: Task
    status: RunStatus
    results: Mapping[str, float | None]
    message: str = ""
    seconds: float = 0.0
    own_seconds: float = 0.0
    attempts: int = 1
    trace: bytes | None = None
    witness: str = ""
    samples: Floats | None = None


def failed(task: Task, message: str, seconds: float = 0.0, attempts: int = 1) -> RunOutcome:
    return RunOutcome(task, RunStatus.FAILED, {}, message, seconds, attempts=attempts)
