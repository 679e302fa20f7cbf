"""Reasons why events or an integration stop, as systems report them."""

from enum import IntEnum


class StopCode(IntEnum):
    """Reason why events or an integration stop."""

    FMI = 0
    NONFINITE = 1
    INTEGRATION = 2
    EVENTS = 3
    LOOP = 4
    COUPLING = 5
    INPUTS = 6
    TERMINATED = 7


class Stopped(Exception):
    """Events or an integration cannot continue, for a reason in words, at a time [s]; `details` belong to the component
    that gave the reason.
    """

    def __init__(
        self,
        code: int,
        message: str,
        advice: str,
        t: float,
        component: str,
        recoverable: bool,
        function: str = "",
        details: object = None,
    ) -> None:
        super().__init__(message)
        self.code = StopCode(code)
        self.message = message
        self.advice = advice
        self.t = t
        self.component = component
        self.recoverable = recoverable
        self.function = function
        self.details = details


class Refused(Exception):
    """A function of a component returned a status worse than a warning."""

    def __init__(self, component: str, function: str, status: int) -> None:
        super().__init__(f"component {component}: {function} returned status {status}")
        self.component = component
        self.function = function
        self.status = status
