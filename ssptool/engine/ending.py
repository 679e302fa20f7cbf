"""How a run ended, and why."""

from enum import StrEnum

from ssptool.dataclass import dataclass


class Ending(StrEnum):
    """How a run ended."""

    COMPLETED = "completed"
    LOOP = "an algebraic loop was not solved"
    COUPLING = "the iteration of a macro step did not converge"
    STEP = "the macro step became too small"
    FMI = "an FMU refused a call"
    NONFINITE = "a component returned nan or inf"
    CRASHED = "the process of the FMUs crashed"
    EXITED = "an FMU ended the process"
    TIMEOUT = "the time allowed was used up"
    MEMORY = "the memory allowed was used up"
    INTEGRATION = "the integrator could not go on"
    EVENTS = "events without end"
    INPUTS = "an input has no value"
    TERMINATED = "ended by a component"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run ended early.

    Attributes
    ----------
    time : [s]
        The communication point at which it happened, or from which the failing step started; of a value that is not
        finite the time at which it is that.
    component, function
        Where it happened, if it was in one place: full name, FMI function.
    messages
        What the FMU itself said last.
    recoverable
        The FMU can go on from a saved state: it only rejected what it was asked for.
    """

    ending: Ending
    message: str
    advice: str
    time: float
    component: str = ""
    function: str = ""
    messages: tuple[str, ...] = ()
    recoverable: bool = False

    def __str__(self) -> str:
        said = "".join(f"\n  {self.component}: {message}" for message in self.messages)
        return f"at t = {self.time:g} s: {self.message}; {self.advice}{said}"


class RunError(Exception):
    """A run has not reached its end."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure
