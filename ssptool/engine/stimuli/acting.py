"""How a master algorithm changes where something acts on the system from outside."""

from collections.abc import Mapping

from ssptool.engine import masters
from ssptool.engine.capabilities import VARIES_STEP, Capabilities
from ssptool.engine.choices import Interval
from ssptool.engine.masters.master import CLOSE, Master
from ssptool.engine.stimuli.boundaries import boundaries
from ssptool.engine.stimuli.stimuli import Stimuli
from ssptool.engine.unsupported import UnsupportedByFmu


def acted_on(master: Master, stimuli: Stimuli, everyone: Mapping[str, Capabilities], interval: Interval) -> Master:
    """The master, with macro steps that end where something jumps.

    Raises
    ------
    UnsupportedByFmu
        An FMU takes steps of one size only, and something jumps in the middle of one.
    """
    if not stimuli:
        return master
    assert isinstance(
        master,
        masters.Jacobi | masters.GaussSeidel | masters.Iterated | masters.Adaptive | masters.EnergyControlled,
    )
    between = _between(stimuli, interval)
    for name, can in everyone.items():
        if between is not None and not can.varies_step:
            raise UnsupportedByFmu(
                name,
                VARIES_STEP,
                f"a jump of an input at t = {between!r} s, which is inside a macro step of {interval.step:g} s,",
                "a step size that divides the times of all jumps",
            )
    return masters.Eventful(master)


def _between(stimuli: Stimuli, interval: Interval) -> float | None:
    """The first jump that is not at the end of a macro step [s]."""
    for time, _ in boundaries(stimuli.jumps, interval.start, interval.stop):
        steps = (time - interval.start) / interval.step
        if abs(steps - round(steps)) > CLOSE:
            return time
    return None
