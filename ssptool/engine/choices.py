"""What a run takes where the user leaves a choice: each with its reason."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ssptool.engine.capabilities import FOLLOWS, SAVES, Capabilities
from ssptool.engine.loops.aitken import Aitken
from ssptool.engine.loops.anderson import Anderson
from ssptool.engine.loops.fixed_point import FixedPoint
from ssptool.engine.loops.solution import Convergence
from ssptool.engine.masters.gauss_seidel import GaussSeidel
from ssptool.engine.masters.inputs import Extrapolate, Hold, Inputs, Interpolate
from ssptool.engine.masters.iterated import Acceleration, Iterated
from ssptool.engine.masters.jacobi import Jacobi
from ssptool.engine.masters.master import Master
from ssptool.engine.ode.integrated import Integrated
from ssptool.engine.ode.method import Method
from ssptool.engine.settings import AccelerationName, InputName, IntegratorName, MasterName, Settings
from ssptool.engine.unsupported import UnsupportedByFmu, UnsupportedCombination
from ssptool.network.network import Network

DEFAULT_STEPS = 1000
COUPLING_TOLERANCE = 1e-8
INTEGRATION_TOLERANCE = 1e-6
COUPLING_ITERATIONS = 30

NAMED = 5
"""Components that a reason names before it counts the others."""

ACCELERATIONS: Mapping[AccelerationName, Acceleration] = {
    AccelerationName.NONE: FixedPoint(),
    AccelerationName.CONSTANT: FixedPoint(relaxation=0.5),
    AccelerationName.AITKEN: Aitken(),
    AccelerationName.ANDERSON: Anderson(),
}


@dataclass(frozen=True, slots=True)
class Choice:
    """One setting of a run: its value, and why it is that."""

    setting: str
    value: str
    reason: str


ASKED = "asked for"


@dataclass(frozen=True, slots=True)
class Interval:
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
    start, start_reason = _start(network, settings)
    stop, stop_reason = _stop(network, settings)
    if not (math.isfinite(start) and math.isfinite(stop) and stop >= start):
        raise ValueError(f"the stop time must not be before the start time, found {start:g} s … {stop:g} s")
    step, steps, step_reason = _step(network, settings, stop - start)
    choices = (
        Choice("start_time", f"{start:g} s", start_reason),
        Choice("stop_time", f"{stop:g} s", stop_reason),
        Choice("step_size", f"{step:g} s", step_reason),
    )
    return Interval(start, step, steps), choices


def _start(network: Network, settings: Settings) -> tuple[float, str]:
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


def _step(network: Network, settings: Settings, length: float) -> tuple[float, int, str]:
    if settings.step_size is not None:
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
    if not (step > 0 and math.isfinite(step)):
        raise ValueError(f"the step size must be positive, found {step:g} s")
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


@dataclass(frozen=True, slots=True)
class Situation:
    """What the choice of a master depends on: components in document order, and those that feed each
    other.
    """

    capabilities: Mapping[str, Capabilities]
    cycles: Sequence[tuple[str, ...]]

    @property
    def cyclic(self) -> tuple[str, ...]:
        return tuple(name for cycle in self.cycles for name in cycle)

    def following(self) -> tuple[str, ...]:
        return tuple(name for name, can in self.capabilities.items() if can.follows)

    def obstacles(self) -> str:
        """Why some inputs can only be held; empty if none."""
        held = [f"{name}: {', '.join(can.obstacles)}" for name, can in self.capabilities.items() if can.obstacles]
        more = [f"and {len(held) - NAMED} more"] if len(held) > NAMED else []
        return "; ".join(held[:NAMED] + more)


def choose_master(situation: Situation, settings: Settings) -> tuple[Master, tuple[Choice, ...]]:
    """The master algorithm, complete with coupling of the inputs, acceleration and tolerances.

    Raises
    ------
    UnsupportedByFmu
        An FMU lacks what was asked for.
    UnsupportedCombination
        Master and coupling of inputs exclude each other.
    ValueError
        A number is out of range.
    """
    name, name_reason = _master_name(situation, settings)
    if name is MasterName.ITERATED:
        _must_save(situation)
    _check_combination(name, settings)
    inputs, inputs_reason = _inputs(name, situation, settings)
    choices = [Choice("master", name, name_reason), Choice("input", inputs.name, inputs_reason)]
    if name is MasterName.ITERATED:
        master, more = _iterated(inputs, settings)
        return master, (*choices, *more)
    if name is MasterName.GAUSS_SEIDEL and isinstance(inputs, (Hold, Extrapolate, Interpolate)):
        return GaussSeidel(inputs), tuple(choices)
    if isinstance(inputs, (Hold, Extrapolate)):
        return Jacobi(inputs), tuple(choices)
    raise AssertionError(f"{name} with {inputs.name}")


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
    if settings.master is not MasterName.AUTO or settings.input is not InputName.AUTO or settings.acceleration:
        raise UnsupportedCombination(
            "master, input or acceleration with model exchange",
            "one integrator solves all components together, so no steps are coupled",
            "leave them out, or use --implementation cs",
        )
    tolerance = settings.tolerance if settings.tolerance is not None else INTEGRATION_TOLERANCE
    if not 0 < tolerance < 1:
        raise ValueError(f"the tolerance of the integrator must be between 0 and 1, found {tolerance:g}")
    lacking = [name for name, can in capabilities.items() if not can.directional_derivatives]
    reason = f"{lacking[0]} has no directional derivatives" if lacking else "all FMUs give them"
    master = Integrated(Method[settings.integrator.upper()], tolerance, not lacking)
    return master, (
        Choice("master", master.name, "components of model exchange are one ODE"),
        Choice("integrator", settings.integrator, "default" if settings.integrator == IntegratorName.BDF else ASKED),
        Choice("tolerance", f"{tolerance:g}", ASKED if settings.tolerance is not None else "default"),
        Choice("jacobian", "finite differences" if lacking else "directional derivatives", reason),
    )


def _master_name(situation: Situation, settings: Settings) -> tuple[MasterName, str]:
    if settings.master is not MasterName.AUTO:
        return settings.master, ASKED
    if settings.input is InputName.INTERPOLATE or settings.acceleration is not None:
        return MasterName.ITERATED, "goes with interpolated inputs and acceleration"
    if not situation.cycles:
        return MasterName.JACOBI, "no components feed each other"
    if settings.input is InputName.EXTRAPOLATE:
        return MasterName.JACOBI, "goes with extrapolated inputs"
    names = situation.cyclic
    cycle = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
    for name in situation.cyclic:
        if not situation.capabilities[name].saves_state:
            return MasterName.JACOBI, f"{cycle} feed each other, but {name} cannot save its state"
        if not situation.capabilities[name].follows and settings.input is InputName.AUTO:
            return MasterName.JACOBI, f"{cycle} feed each other, but inputs of {name} can only be held"
    return MasterName.ITERATED, f"{cycle} feed each other, and their FMUs save states and follow inputs"


def _must_save(situation: Situation) -> None:
    for name in situation.cyclic:
        if not situation.capabilities[name].saves_state:
            raise UnsupportedByFmu(name, SAVES, "master iterated", _alternative(situation))


def _alternative(situation: Situation) -> str:
    inputs = "extrapolated" if situation.following() else "held"
    return f"master jacobi with {inputs} inputs"


def _check_combination(name: MasterName, settings: Settings) -> None:
    if name is MasterName.JACOBI and settings.input is InputName.INTERPOLATE:
        raise UnsupportedCombination(
            "master jacobi with input interpolate",
            "what to interpolate to is known only after the step",
            "use master iterated, or input extrapolate",
        )
    if name is MasterName.ITERATED and settings.input is InputName.EXTRAPOLATE:
        raise UnsupportedCombination(
            "master iterated with input extrapolate",
            "extrapolated inputs do not change from one iteration to the next",
            "use input interpolate, or master jacobi",
        )
    if name is not MasterName.ITERATED and settings.acceleration not in (None, AccelerationName.NONE):
        raise UnsupportedCombination(
            f"acceleration {settings.acceleration} with master {name}",
            "only the iterated master can be accelerated",
            "use master iterated",
        )
    if settings.input_order not in (None, 1, 2):
        raise ValueError(f"the order of inputs must be 1 or 2, found {settings.input_order}")


_MOVING: Mapping[InputName, type[Extrapolate] | type[Interpolate]] = {
    InputName.EXTRAPOLATE: Extrapolate,
    InputName.INTERPOLATE: Interpolate,
}
_BEST = {
    MasterName.JACOBI: InputName.EXTRAPOLATE,
    MasterName.GAUSS_SEIDEL: InputName.INTERPOLATE,
    MasterName.ITERATED: InputName.INTERPOLATE,
}


def _inputs(name: MasterName, situation: Situation, settings: Settings) -> tuple[Inputs, str]:
    order = settings.input_order or 1
    if settings.input is InputName.HOLD:
        return Hold(), ASKED
    if settings.input is not InputName.AUTO:
        for component, can in situation.capabilities.items():
            if not can.follows:
                raise UnsupportedByFmu(component, FOLLOWS, f"input {settings.input}", "input hold")
        return _MOVING[settings.input](order), ASKED
    if not situation.following():
        return Hold(), f"no FMU can do better ({situation.obstacles()})"
    best = _MOVING[_BEST[name]](order)
    held = situation.obstacles()
    return best, f"held where the FMU can do no better ({held})" if held else "all FMUs follow inputs"


def _iterated(inputs: Inputs, settings: Settings) -> tuple[Iterated, tuple[Choice, ...]]:
    if not isinstance(inputs, (Hold, Interpolate)):
        raise AssertionError(f"iterated with {inputs.name}")
    # Its first proposal is the plain one, so that steps which need no acceleration cost no more.
    acceleration = settings.acceleration or AccelerationName.ANDERSON
    tolerance = settings.tolerance if settings.tolerance is not None else COUPLING_TOLERANCE
    limit = settings.max_iterations if settings.max_iterations is not None else COUPLING_ITERATIONS
    if limit < 1:
        raise ValueError(f"the iteration limit must be at least 1, found {limit}")
    master = Iterated(inputs, ACCELERATIONS[acceleration], Convergence(rtol=tolerance), limit)
    asked = {True: ASKED, False: "default"}
    return master, (
        Choice("acceleration", acceleration, asked[settings.acceleration is not None]),
        Choice("tolerance", f"{tolerance:g}", asked[settings.tolerance is not None]),
        Choice("max_iterations", str(limit), asked[settings.max_iterations is not None]),
    )
