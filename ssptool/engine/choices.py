"""What a run takes where the user leaves a choice: each with its reason."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from ssptool.dataclass import dataclass
from ssptool.engine import ode
from ssptool.engine.capabilities import Capabilities
from ssptool.engine.masters.master import Master
from ssptool.engine.settings import ExchangeName, InputName, IntegratorName, MasterName, Settings
from ssptool.engine.time_resolution import check_step
from ssptool.engine.unsupported import UnsupportedCombination
from ssptool.network.network import Network

DEFAULT_STEPS = 1000

INTEGRATION_TOLERANCE = 1e-6

COUPLED_TOLERANCE = 1e-8
"""Of an integrator that starts anew with every macro step: the errors of all these starts add up."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One setting of a run: its value, and why it is that."""

    setting: str
    value: str
    reason: str


ASKED = "asked for"


class Interval(NamedTuple):
    """start + k·step, k = 0 … steps. [s]"""

    start: float
    step: float
    steps: int

    @property
    def stop(self) -> float:
        return self.start + self.steps * self.step


def choose_interval(network: Network, settings: Settings) -> tuple[Interval, tuple[Choice, ...]]:
    """The times of a run.

    Raises
    ------
    ValueError
        There is no stop time; it is before the start; the step is not positive; the step size asked for does
        not divide the interval into whole steps, to within 1e-9 of a step.
    """
    start, start_reason = start_time(network, settings)
    stop, stop_reason = _stop(network, settings)
    for what, time in (("start", start), ("stop", stop)):
        if not math.isfinite(time):
            raise ValueError(f"the {what} time must be a finite number of seconds, found {time:g}")
    if stop < start:
        raise ValueError(f"the stop time must not be before the start time, found {start:g} s … {stop:g} s")
    step, steps, step_reason = _step(network, settings, start, stop)
    choices = (
        Choice("start_time", f"{start:g} s", start_reason),
        Choice("stop_time", f"{stop:g} s", stop_reason),
        Choice("step_size", f"{step:g} s", step_reason),
    )
    return Interval(start, step, steps), choices


def start_time(network: Network, settings: Settings) -> tuple[float, str]:
    """[s], and why."""
    if settings.start_time is not None:
        return settings.start_time, ASKED
    if network.experiment.start is not None:
        return network.experiment.start, "default experiment of the system"
    return 0.0, "neither asked for nor in the system"


def _stop(network: Network, settings: Settings) -> tuple[float, str]:
    if settings.stop_time is not None:
        return settings.stop_time, ASKED
    if network.experiment.stop is not None:
        return network.experiment.stop, "default experiment of the system"
    raise ValueError("no stop time: the system has no DefaultExperiment with a stopTime; give one (--stop-time)")


def _step(network: Network, settings: Settings, start: float, stop: float) -> tuple[float, int, str]:
    length = stop - start
    if settings.step_size is not None:
        check_step("the step size", settings.step_size, start, stop)
        steps = _whole_steps(length, settings.step_size)
        return length / steps if steps else settings.step_size, steps, ASKED
    wishes = [
        (component.description.step_size, component.name)
        for component in network.components.values()
        if component.description.step_size
    ]
    if not wishes:
        return length / DEFAULT_STEPS or 1.0, DEFAULT_STEPS if length else 0, "a thousandth of the interval"
    wish, name = min(wishes)
    steps = math.ceil(length / wish * (1 - 1e-9))
    fits = not steps or math.isclose(length / steps, wish, rel_tol=1e-9)
    fitted = "" if fits else ", made to fit the interval"
    return length / steps if steps else wish, steps, f"recommended by the FMU of {name}{fitted}"


def _whole_steps(length: float, step: float) -> int:
    exact = length / step
    steps = round(exact)
    # The quotient itself is exact to half a unit in the last place only.
    if abs(exact - steps) > max(1e-9, 4 * math.ulp(exact)):
        nearest = length / max(steps, 1)
        raise ValueError(
            f"the interval of {length:.12g} s is not a whole number of steps of {step:.12g} s ({exact:.6g} steps); "
            f"the nearest step size that fits is {nearest!r} s"
        )
    return steps


def choose_integrator(
    capabilities: Mapping[str, Capabilities], settings: Settings
) -> tuple[Master, tuple[Choice, ...]]:
    """How a system of model exchange is integrated.

    Raises
    ------
    UnsupportedCombination
        The settings are those of a master that couples steps.
    ValueError
        The tolerance is not a positive number below 1.
    """
    asked = {
        f"master {settings.master}": settings.master is not MasterName.AUTO,
        f"input {settings.input}": settings.input is not InputName.AUTO,
        "input order": settings.input_order is not None,
        "exchange late": settings.exchange is ExchangeName.LATE,
        f"acceleration {settings.acceleration}": settings.acceleration is not None,
        f"relaxation {settings.relaxation}": settings.relaxation is not None,
        f"iterations {settings.iterations}": settings.iterations is not None,
        "prediction order": settings.prediction_order is not None,
        "adaptive steps": settings.adaptive is not None,
        "power bonds": bool(settings.power_bonds),
        "substeps": bool(settings.substeps),
        "convergence": bool(settings.convergence),
    }
    if found := [name for name, given in asked.items() if given]:
        raise UnsupportedCombination(
            f"{', '.join(found)} with model exchange",
            "one integrator solves all components together, so no steps are coupled",
            f"leave {'it' if len(found) == 1 else 'them'} out, or use --implementation cs",
        )
    master, choices = integrator_of(capabilities, settings)
    return master, (Choice("master", master.name, "components of model exchange are one ODE"), *choices)


def refuse_integrator(settings: Settings) -> None:
    """Raise UnsupportedCombination if one is asked for where nothing is integrated."""
    if settings.integrator is not IntegratorName.BDF:
        raise UnsupportedCombination(
            f"integrator {settings.integrator} without model exchange",
            "all components are co-simulated, and integrate themselves",
            "use --implementation me, or leave it out",
        )


def integrator_of(
    capabilities: Mapping[str, Capabilities], settings: Settings, default: float = INTEGRATION_TOLERANCE
) -> "tuple[ode.Integrated, tuple[Choice, ...]]":
    """The integrator of components of model exchange; `default` is its tolerance where none is asked for.

    Raises
    ------
    ValueError
        The tolerance is not a positive number below 1.
    """
    tolerance = settings.tolerance if settings.tolerance is not None else default
    if not 0 < tolerance < 1:
        raise ValueError(f"the tolerance of the integrator must be between 0 and 1, found {tolerance:g}")
    lacking = [name for name, can in capabilities.items() if not can.directional_derivatives]
    reason = f"{lacking[0]} has no directional derivatives" if lacking else "all FMUs give them"
    return ode.Integrated(ode.Method[settings.integrator.upper()], tolerance, not lacking), (
        Choice("integrator", settings.integrator, "default" if settings.integrator == IntegratorName.BDF else ASKED),
        Choice("tolerance", f"{tolerance:g}", ASKED if settings.tolerance is not None else "default"),
        Choice("jacobian", "finite differences" if lacking else "directional derivatives", reason),
    )


def refuse_substeps(capabilities: Mapping[str, Capabilities], settings: Settings) -> None:
    """Raise `UnsupportedCombination` where substeps are asked for of a component of model exchange."""
    for name in capabilities:
        if name in settings.substeps:
            raise UnsupportedCombination(
                f"substeps of {name}, which is run as model exchange",
                "the integrator takes the steps that its tolerance allows",
                f"leave them out, or run {name} as co-simulation",
            )
