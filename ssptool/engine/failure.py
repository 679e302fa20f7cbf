"""Ends of a run and refusals: failures as values, and the exceptions that stop a run before or while it computes."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ssptool.documents.diagnostics import DataFinding
from ssptool.foreign_text import one_line


class Ending(StrEnum):
    """Status of a run at its end."""

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
    """Reason of an early end of a run.

    Attributes
    ----------
    time : [s]
        The communication point at which it happened, or from which the failing step started; of a value that is not
        finite the time at which it is that.
    component, function
        Full name of the component and FMI function, if it happened in one place.
    messages
        Last log messages of the FMU.
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
        said = "".join(f"\n  {one_line(f'{self.component}: {message}')}" for message in self.messages)
        return f"at t = {self.time:g} s: {self.message}; {self.advice}{said}"


class RunError(Exception):
    """A run has not reached its end."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


def wish_to_end(name: str, t: float, reached: float | None = None) -> Failure:
    """Failure of a component that ends the simulation at this communication point [s], or in the step from there, which
    then leads to `reached` [s].

    It is a regular end once the run has begun.
    """
    at = t if reached is None else max(t, reached)
    return Failure(
        Ending.TERMINATED,
        f"component {name} ended the simulation at t = {at:.12g} s",
        "see its messages (--fmu-log FILE), and check its parameters and inputs",
        t,
        name,
    )


class IntegrationStopped(Exception):
    """Carries the reason through callbacks and loops."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


class Unsupported(Exception):
    """The system uses something that this version does not simulate."""

    def __init__(self, subject: str, reason: str, advice: str) -> None:
        super().__init__(f"{subject}: {reason}; {advice}")
        self.subject = subject
        self.reason = reason
        self.advice = advice


class UnsupportedByFmu(Unsupported):
    """A request needs a capability that an FMU does not have."""

    def __init__(self, component: str, capability: str, requested: str, alternative: str) -> None:
        super().__init__(
            f"component {component}",
            f"{requested} needs an FMU that {capability}, and this one does not",
            f"use {alternative}",
        )
        self.component = component
        self.capability = capability
        self.requested = requested
        self.alternative = alternative


class UnsupportedCombination(ValueError):
    """Settings that exclude each other."""

    def __init__(self, settings: str, reason: str, advice: str) -> None:
        super().__init__(f"{settings}: {reason}; {advice}")
        self.settings = settings
        self.reason = reason
        self.advice = advice


SHOWN = 50
"""Findings that a message lists before it counts the others."""


class BadData(ValueError):
    """Inputs or a scenario that cannot be used."""

    def __init__(self, what: str, findings: Sequence[DataFinding]) -> None:
        shown = [str(finding) for finding in findings[:SHOWN]]
        if len(findings) > SHOWN:
            shown.append(f"and {len(findings) - SHOWN} more")
        super().__init__(f"{what} cannot be used\n" + "\n".join(f"  {line}" for line in shown))
        self.findings = tuple(findings)


class BadInputs(BadData):
    """Inputs that cannot be used."""

    def __init__(self, findings: Sequence[DataFinding]) -> None:
        super().__init__("the inputs", findings)

    def failure(self, time: float) -> Failure:
        """Failure of a run in which this comes up, at a time [s]."""
        what = "; ".join(f"input {finding.column}: {finding.message}" for finding in self.findings)
        return Failure(Ending.INPUTS, what, "see the function that drives the input", time)


class BadScenario(BadData):
    """A scenario that cannot be used."""

    def __init__(self, findings: Sequence[DataFinding]) -> None:
        super().__init__("the scenario", findings)
