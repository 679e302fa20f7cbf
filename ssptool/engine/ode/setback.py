"""Why an integrator cannot go on."""

from dataclasses import replace

from ssptool.engine.ending import Ending, Failure


def cannot_go_on(reason: str, t: float, setback: Failure | None) -> Failure:
    """For this reason, at t [s], after such a setback at a point that it could have avoided."""
    if setback is None:
        advice = "loosen the tolerance, or check parameters and start values: the solution may not exist from here"
        return Failure(Ending.INTEGRATION, f"the integrator cannot go on: {reason}", advice, t, recoverable=True)
    # What is nan is so at all points that the integrator could still try.
    ending = setback.ending if setback.ending is Ending.NONFINITE else Ending.INTEGRATION
    message = f"the integrator cannot go on: {reason}; last: {setback.message}"
    return replace(setback, ending=ending, message=message, time=t, recoverable=True)
