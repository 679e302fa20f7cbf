"""Connections with a deliberate delay, and the check that the macro steps of a run allow it."""

from ssptool.engine.method_names import ApproximationName
from ssptool.engine.planning.fixed_steps import CLOSE_TO_WHOLE
from ssptool.engine.settings import Choice, Settings
from ssptool.errors import ContradictingSettings, WrongValue
from ssptool.network.delays import with_delays
from ssptool.network.network import Network

_INSIDE_STEPS = (ApproximationName.MID_STEP, ApproximationName.MEAN)
"""Approximations with other input values than those at the start of a step."""


def delayed(network: Network, settings: Settings, longest: float) -> tuple[Network, Choice]:
    """The network with the delays in the settings, and the choice that the plan reports.

    Raises
    ------
    WrongValue
        A delay is shorter than the `longest` macro step [s], or the connection does not exist.
    ContradictingSettings
        The settings ask for inputs at other times than the start of steps.
    """
    if settings.approximation in _INSIDE_STEPS:
        raise ContradictingSettings(
            f"delay, with approximation {settings.approximation}",
            "a delay knows values at the start of each step",
            "use approximation auto",
        )
    times = {}
    for name, asked in settings.delay.items():
        if asked == 0.0 and settings.adaptive is not None:
            raise ContradictingSettings(
                f"delay of {name} by a step, with adaptive steps", "steps have no size", "state a time"
            )
        times[name] = asked or longest
        if times[name] < longest * (1 - CLOSE_TO_WHOLE):
            remedy = "max_step_size" if settings.adaptive is not None else "step_size"
            raise WrongValue(
                f"delay of {name} must be at least a macro step of {longest:g} s, found {asked:g} s; "
                f"{remedy} {asked:g} allows it"
            )
    told = ", ".join(f"{name} by {time:g} s" for name, time in times.items())
    return with_delays(network, times), Choice("delay", told, "asked for")
