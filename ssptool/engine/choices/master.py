"""Master algorithm of a run, with input course and acceleration."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches

from ssptool.engine.failure import UnsupportedByFmu, UnsupportedCombination
from ssptool.engine.master_names import AUTO
from ssptool.engine.masters.adaptive import Adaptive
from ssptool.engine.masters.capabilities import FOLLOWS, SAVES, VARIES_STEP
from ssptool.engine.masters.energy import EnergyControlled
from ssptool.engine.masters.master import CouplingMaster, StepSizeControl
from ssptool.engine.masters.program import Extrapolate, Hold, Interpolate, ProgrammedMaster
from ssptool.engine.masters.protocols import InputCourse
from ssptool.engine.masters.registry import Situation, check_settings_of_master, master_entry
from ssptool.engine.settings import ASKED, Choice, ExchangeName, InputName, Settings
from ssptool.errors import NAMED, WrongValue, abbreviated

JACOBI, GAUSS_SEIDEL, ITERATED = "jacobi", "gauss-seidel", "iterated"
"""Masters that are chosen where the user leaves the choice to the plan."""


def choose_master(
    situation: Situation, settings: Settings
) -> tuple[CouplingMaster | StepSizeControl, tuple[Choice, ...]]:
    """The master algorithm, complete with coupling of the inputs, acceleration and tolerances.

    Raises
    ------
    UnsupportedByFmu
        An FMU lacks what was asked for.
    UnsupportedCombination
        Master and coupling of inputs exclude each other.
    WrongValue
        A number is out of range.
    """
    situation, substeps = _divided(situation, settings)
    name, name_reason = _master_name(situation, settings)
    entry = master_entry(name)
    if entry.repeats_steps:
        _must_save(name, situation)
    check_settings_of_master(name, settings)
    _check_inputs(settings)
    inputs, inputs_reason = _inputs(name, situation, settings)
    base, more = entry.create(inputs, settings, situation)
    choices = [Choice("master", base.name, name_reason), Choice("input", inputs.name, inputs_reason), *more, *substeps]
    if settings.log_coupling is not None and not entry.repeats_steps:
        choices.append(Choice("log_coupling", "stays empty", f"master {base.name} iterates nothing"))
    if settings.adaptive is None:
        return base, tuple(choices)
    if settings.exchange is ExchangeName.LATE:
        raise UnsupportedCombination("exchange late with adaptive steps", *entry.settings["exchange"])
    master, how = _adaptive(base, situation, settings.adaptive)
    return master, (*choices, how)


def _adaptive(base: CouplingMaster, situation: Situation, tolerance: float) -> tuple[StepSizeControl, Choice]:
    """By step doubling where states can be saved, else by energy residuals."""
    if not 0 < tolerance < 1:
        raise WrongValue(f"the tolerance of adaptive steps must be between 0 and 1, found {tolerance:g}")
    _must_vary(situation)
    unable = [name for name, can in situation.everyone.items() if not can.saves_state]
    if not unable:
        unused = "; power bonds are not needed, since all FMUs save states" if situation.bonds else ""
        return Adaptive(base, tolerance), Choice("adaptive", f"error of a step at most {tolerance:g}", ASKED + unused)
    if not situation.bonds:
        raise UnsupportedByFmu(
            unable[0],
            SAVES,
            "adaptive steps",
            "adaptive steps by the energy residuals of power bonds, if you declare some (power_bonds, --power-bonds), "
            f"or fixed steps, {_alternative(situation)}",
        )
    if not isinstance(base, ProgrammedMaster):
        raise UnsupportedCombination(
            f"adaptive steps by energy residuals with master {base.name}",
            f"{unable[0]} cannot save its state, and the {base.name} master leaves no residual to choose steps by",
            "use master jacobi or gauss-seidel",
        )
    follow = all(situation.everyone[name].follows for name in situation.bonded)
    order = base.inputs.order_of_accuracy - 1 if follow else 0
    bonds = ", ".join(bond.name for bond in situation.bonds)
    return EnergyControlled(base, tolerance, situation.bonds, order), Choice(
        "adaptive",
        f"energy residuals of at most {tolerance:g} of the energy through {bonds}",
        f"{unable[0]} cannot save its state",
    )


def _divided(situation: Situation, settings: Settings) -> tuple[Situation, list[Choice]]:
    """In several steps per macro step a component can follow any inputs, step by step."""
    for component, count in settings.substeps.items():
        if component not in situation.everyone:
            near = get_close_matches(component, situation.everyone, 3) or list(situation.everyone)[:NAMED]
            raise WrongValue(f"substeps: there is no component {component!r}; there are {', '.join(near)}")
        if count < 1:
            raise WrongValue(f"substeps of {component} must be at least 1, found {count}")
    able = {
        # Of FMI 1.0 only the last of the steps could be done again.
        name: replace(can, obstacles=(), rejects_steps=False) if settings.substeps.get(name, 1) > 1 else can
        for name, can in situation.capabilities.items()
    }
    text = ", ".join(f"{count} of {name}" for name, count in settings.substeps.items())
    return replace(situation, capabilities=able), [Choice("substeps", text, ASKED)] if text else []


def _must_vary(situation: Situation) -> None:
    for name, can in situation.everyone.items():
        if not can.varies_step:
            raise UnsupportedByFmu(name, VARIES_STEP, "adaptive steps", f"fixed steps, {_alternative(situation)}")


def _master_name(situation: Situation, settings: Settings) -> tuple[str, str]:
    if settings.master != AUTO:
        return settings.master, ASKED
    if settings.exchange is ExchangeName.LATE:
        return JACOBI, "goes with late outputs"
    if settings.iterations is not None or settings.prediction_order is not None:
        return ITERATED, "goes with a number of iterations and an order of prediction"
    if settings.input is InputName.INTERPOLATE or _accelerated(settings):
        return ITERATED, "goes with interpolated inputs and acceleration"
    if not situation.cycles:
        return _without_cycles(situation, settings)
    if settings.adaptive is not None and not all(can.saves_state for can in situation.everyone.values()):
        return JACOBI, "goes with steps by energy residuals"
    if settings.input is InputName.EXTRAPOLATE:
        return JACOBI, "goes with extrapolated inputs"
    names = situation.cyclic
    feeding = f"{abbreviated(names)} feeds itself" if len(names) == 1 else f"{abbreviated(names)} feed each other"
    for name in situation.cyclic:
        if not situation.capabilities[name].repeats_steps:
            return JACOBI, f"{feeding}, but {name} cannot save its state"
        if not situation.capabilities[name].follows and settings.input is InputName.AUTO:
            return JACOBI, f"{feeding}, but inputs of {name} can only be held"
    saved = all(situation.capabilities[name].saves_state for name in situation.cyclic)
    able = "save states" if saved else "save states or can reject steps,"
    return ITERATED, f"{feeding}, and their FMUs {able} and follow inputs"


def _without_cycles(situation: Situation, settings: Settings) -> tuple[str, str]:
    reason = "no components feed each other"
    if settings.input is InputName.AUTO and not situation.successors.isdisjoint(situation.following()):
        return GAUSS_SEIDEL, f"{reason}: in their order inputs are known before they are used"
    return JACOBI, reason


def _must_save(name_of_master: str, situation: Situation) -> None:
    for name in situation.cyclic:
        can = situation.capabilities[name]
        if not can.repeats_steps:
            raise UnsupportedByFmu(name, SAVES, f"master {name_of_master}", _alternative(situation))


def _alternative(situation: Situation) -> str:
    """What these FMUs do best with fixed steps, in the words of the settings that ask for it."""
    name, _ = _master_name(situation, Settings())
    if not situation.following():
        return f"master {name} with held inputs"
    moving = {InputName.EXTRAPOLATE: "extrapolated", InputName.INTERPOLATE: "interpolated"}[master_entry(name).input]
    if situation.obstacles():
        return f"master {name} with input auto, {moving} where FMUs follow inputs"
    return f"master {name} with {moving} inputs"


def _accelerated(settings: Settings) -> bool:
    return settings.acceleration is not None or settings.relaxation is not None


def _check_inputs(settings: Settings) -> None:
    if settings.input_order not in (None, 1, 2):
        raise WrongValue(f"the order of inputs must be 1 or 2, found {settings.input_order}")
    if settings.input_order not in (None, 1) and settings.input is InputName.HOLD:
        raise UnsupportedCombination(
            f"input order {settings.input_order} with input hold",
            "inputs that are held have no order",
            "use input extrapolate or interpolate, or leave the order out",
        )


_COURSES: Mapping[InputName, Callable[[int], InputCourse]] = {
    InputName.HOLD: lambda order: Hold(),
    InputName.EXTRAPOLATE: Extrapolate,
    InputName.INTERPOLATE: Interpolate,
}


def _inputs(name: str, situation: Situation, settings: Settings) -> tuple[InputCourse, str]:
    order, best = settings.input_order or 1, master_entry(name).input
    if settings.input is InputName.HOLD:
        return Hold(), ASKED
    if settings.input is not InputName.AUTO:
        for component, can in situation.capabilities.items():
            if not can.follows:
                instead = "input auto, which holds only what such FMUs take" if situation.following() else "input hold"
                raise UnsupportedByFmu(component, FOLLOWS, f"input {settings.input}", instead)
        return _COURSES[settings.input](order), ASKED
    if settings.exchange is ExchangeName.LATE:
        return Hold(), "goes with late outputs"
    held = situation.obstacles()
    if not situation.following():
        return Hold(), f"no FMU can do better ({held})" if held else "no input of an FMU changes in a step"
    if best is InputName.HOLD:
        return Hold(), f"what master {name} takes"
    return _COURSES[best](order), f"held where the FMU can do no better ({held})" if held else "all FMUs follow inputs"
