"""Master algorithm of a run, with input course and acceleration."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from ssptool.engine.failure import UnsupportedByFmu, UnsupportedCombination
from ssptool.engine.loops.fixed_point import Aitken, Anderson, FixedPoint
from ssptool.engine.master_names import AUTO
from ssptool.engine.masters.acceleration import Acceleration, EachStep, InterfaceNewton, IqnIls
from ssptool.engine.masters.adaptive import Adaptive
from ssptool.engine.masters.capabilities import FOLLOWS, SAVES, VARIES_STEP, Capabilities
from ssptool.engine.masters.convergence import MEASURES, AllOf, FixedCount, Measure, MeasureName, Relative
from ssptool.engine.masters.energy import Bond, EnergyControlled
from ssptool.engine.masters.gauss_seidel import GaussSeidel
from ssptool.engine.masters.iterated import PREDICTION_ORDER, Iterated
from ssptool.engine.masters.jacobi import Jacobi
from ssptool.engine.masters.master import Master
from ssptool.engine.masters.program import Extrapolate, Hold, InputCourse, Interpolate
from ssptool.engine.planning.interval import ASKED, Choice
from ssptool.engine.settings import AccelerationName, ExchangeName, InputName, Settings
from ssptool.engine.text import NAMED, abbreviated
from ssptool.errors import WrongValue

JACOBI, GAUSS_SEIDEL, ITERATED = "jacobi", "gauss-seidel", "iterated"
"""Masters that are chosen where the user leaves the choice to the plan."""

COUPLING_TOLERANCE = 1e-8
SINGLE_TOLERANCE = 1e-5
COUPLING_ITERATIONS = 30

RELAXATION = 0.5
"""Of constant relaxation, if none is asked for: the interface may then change by up to three times what it was, the
other way.
"""

ACCELERATIONS: Mapping[AccelerationName, Callable[[], Acceleration]] = {
    AccelerationName.NONE: lambda: EachStep(FixedPoint()),
    AccelerationName.CONSTANT: lambda: EachStep(FixedPoint(relaxation=RELAXATION)),
    AccelerationName.AITKEN: lambda: EachStep(Aitken()),
    AccelerationName.ANDERSON: lambda: EachStep(Anderson()),
    AccelerationName.IQN_ILS: IqnIls,
    AccelerationName.NEWTON: lambda: InterfaceNewton(),
}


def choose_iterated(inputs: InputCourse, settings: Settings, situation: "Situation") -> tuple[Iterated, list[Choice]]:
    """With acceleration, convergence and limits.

    Raises
    ------
    UnsupportedCombination
        A factor of relaxation with a method that has none.
    WrongValue
        A number is out of range.
    """
    if not isinstance(inputs, (Hold, Interpolate)):
        raise AssertionError(f"iterated with {inputs.name}")
    name, acceleration, acceleration_reason = _acceleration(settings)
    measure, reason = _measure(settings, situation)
    limit = settings.max_iterations if settings.max_iterations is not None else COUPLING_ITERATIONS
    if limit < 1:
        raise WrongValue(f"the iteration limit must be at least 1, found {limit}")
    if settings.iterations is not None:
        measure, reason, limit = FixedCount(settings.iterations), ASKED, settings.iterations
    order = PREDICTION_ORDER if settings.prediction_order is None else settings.prediction_order
    asked = {True: ASKED, False: "default"}
    relaxation = [_relaxation(settings)] if name is AccelerationName.CONSTANT else []
    jacobian = [_jacobian(situation)] if name is AccelerationName.NEWTON else []
    return Iterated(inputs, acceleration, measure, limit, order, not _asked_for(settings)), [
        Choice("acceleration", name, acceleration_reason),
        *relaxation,
        Choice("convergence", measure.name, reason),
        Choice("max_iterations", str(limit), asked[settings.max_iterations is not None]),
        Choice("prediction_order", str(order), asked[settings.prediction_order is not None]),
        *jacobian,
    ]


def _asked_for(settings: Settings) -> bool:
    """Whether the user wants iterated steps, or a way to do them, by name."""
    asked = settings.acceleration, settings.relaxation, settings.iterations, settings.prediction_order
    return settings.master != AUTO or any(one is not None for one in asked)


def _acceleration(settings: Settings) -> tuple[AccelerationName, Acceleration, str]:
    name, reason = _acceleration_name(settings)
    factor = settings.relaxation
    if factor is None:
        return name, ACCELERATIONS[name](), reason
    if name is not AccelerationName.CONSTANT:
        raise UnsupportedCombination(
            f"relaxation {factor:g} with acceleration {name}",
            "only constant relaxation has a factor to choose",
            "use acceleration constant, or leave one of them out",
        )
    if not 0 < factor <= 1:
        raise WrongValue(f"relaxation must be greater than 0 and at most 1, found {factor:g}")
    return name, EachStep(FixedPoint(relaxation=factor)), reason


def _relaxation(settings: Settings) -> Choice:
    if settings.relaxation is None:
        return Choice("relaxation", f"{RELAXATION:g}", "default")
    return Choice("relaxation", f"{settings.relaxation:g}", ASKED)


def _acceleration_name(settings: Settings) -> tuple[AccelerationName, str]:
    if settings.acceleration is not None:
        return settings.acceleration, ASKED
    if settings.relaxation is not None:
        return AccelerationName.CONSTANT, "goes with a factor of relaxation"
    if settings.iterations is not None:
        return AccelerationName.NONE, "goes with a fixed number of iterations"
    # It remembers how the group answers, so that most steps take two iterations, soft and stiff ones alike.
    return AccelerationName.IQN_ILS, "default"


def _jacobian(situation: "Situation") -> Choice:
    """Where interface Newton has its Jacobian from, component by component."""
    silent = [name for name in situation.cyclic if not situation.capabilities[name].answers_by_derivatives]
    if not silent:
        return Choice("jacobian", "directional derivatives", "all FMUs give them")
    reason = f"{abbreviated(silent)}: no partial derivatives by inputs and states"
    if len(silent) == len(situation.cyclic):
        return Choice("jacobian", "finite differences", reason)
    return Choice("jacobian", "directional derivatives, and finite differences where there are none", reason)


def _measure(settings: Settings, situation: "Situation") -> tuple[Measure, str]:
    measures = list(_measures(settings))
    if not measures and situation.single:
        return Relative(SINGLE_TOLERANCE), "signals of type Float32"
    if not measures:
        return Relative(COUPLING_TOLERANCE), "default"
    return measures[0] if len(measures) == 1 else AllOf(tuple(measures)), ASKED


def _measures(settings: Settings) -> Iterator[Measure]:
    """`tolerance` is the short way to state a relative one."""
    limits: dict[str, float] = {} if settings.tolerance is None else {MeasureName.RELATIVE: settings.tolerance}
    for name, limit in (limits | dict(settings.convergence)).items():
        if name not in list(MeasureName):
            raise WrongValue(f"convergence must be one of {', '.join(MeasureName)}; found {name!r}")
        if not 0 < limit < float("inf"):
            raise WrongValue(f"the {name} limit of convergence must be positive, found {limit:g}")
        yield MEASURES[MeasureName(name)](limit)


@dataclass(frozen=True, slots=True)
class Situation:
    """What the choice of a master depends on, in document order: the components with connected inputs, those that feed
    each other, and all. `bonds` are the power bonds between the components `bonded`; `successors` are fed by others.
    `single`: inputs of components that feed each other are of type Float32.
    """

    capabilities: Mapping[str, Capabilities]
    cycles: Sequence[tuple[str, ...]]
    everyone: Mapping[str, Capabilities]
    bonds: tuple[Bond, ...] = ()
    bonded: tuple[str, ...] = ()
    successors: frozenset[str] = frozenset()
    single: bool = False

    @property
    def cyclic(self) -> tuple[str, ...]:
        return tuple(name for cycle in self.cycles for name in cycle)

    def following(self) -> tuple[str, ...]:
        return tuple(name for name, can in self.capabilities.items() if can.follows)

    def obstacles(self) -> str:
        """Why some inputs can only be held; empty if none."""
        held = [f"{name}: {', '.join(can.obstacles)}" for name, can in self.capabilities.items() if can.obstacles]
        return abbreviated(held, separator="; ")


def choose_master(situation: Situation, settings: Settings) -> tuple[Master, tuple[Choice, ...]]:
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
    if name == ITERATED:
        _must_save(situation)
    _check_combination(name, settings)
    inputs, inputs_reason = _inputs(name, situation, settings)
    base, more = _base(name, inputs, settings, situation)
    choices = [Choice("master", base.name, name_reason), Choice("input", inputs.name, inputs_reason), *more, *substeps]
    if settings.log_coupling is not None and name != ITERATED:
        choices.append(Choice("log_coupling", "stays empty", f"master {base.name} iterates nothing"))
    if settings.adaptive is None:
        return base, tuple(choices)
    master, how = _adaptive(base, situation, settings.adaptive)
    return master, (*choices, how)


def _adaptive(
    base: "Jacobi | GaussSeidel | Iterated", situation: Situation, tolerance: float
) -> "tuple[Adaptive | EnergyControlled, Choice]":
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
    if isinstance(base, Iterated):
        raise UnsupportedCombination(
            "adaptive steps by energy residuals with master iterated",
            f"{unable[0]} cannot save its state, and the iterated master leaves no residual to choose steps by",
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


def _base(
    name: str, inputs: InputCourse, settings: Settings, situation: Situation
) -> "tuple[Jacobi | GaussSeidel | Iterated, list[Choice]]":
    if name == ITERATED:
        return choose_iterated(inputs, settings, situation)
    if name == GAUSS_SEIDEL and isinstance(inputs, (Hold, Extrapolate, Interpolate)):
        return GaussSeidel(inputs), []
    if isinstance(inputs, (Hold, Extrapolate)):
        return Jacobi(inputs, late=settings.exchange is ExchangeName.LATE), []
    raise AssertionError(f"{name} with {inputs.name}")


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


def _must_save(situation: Situation) -> None:
    for name in situation.cyclic:
        can = situation.capabilities[name]
        if not can.repeats_steps:
            raise UnsupportedByFmu(name, SAVES, "master iterated", _alternative(situation))


def _alternative(situation: Situation) -> str:
    """What these FMUs do best with fixed steps, in the words of the settings that ask for it."""
    name, _ = _master_name(situation, Settings())
    if not situation.following():
        return f"master {name} with held inputs"
    moving = {InputName.EXTRAPOLATE: "extrapolated", InputName.INTERPOLATE: "interpolated"}[_BEST[name]]
    if situation.obstacles():
        return f"master {name} with input auto, {moving} where FMUs follow inputs"
    return f"master {name} with {moving} inputs"


def _check_combination(name: str, settings: Settings) -> None:
    if name == JACOBI and settings.input is InputName.INTERPOLATE:
        raise UnsupportedCombination(
            "master jacobi with input interpolate",
            "what to interpolate to is known only after the step",
            "use master iterated, or input extrapolate",
        )
    if name == ITERATED and settings.input is InputName.EXTRAPOLATE:
        raise UnsupportedCombination(
            "master iterated with input extrapolate",
            "extrapolated inputs do not change from one iteration to the next",
            "use input interpolate, or master jacobi",
        )
    if name != ITERATED and settings.acceleration not in (None, AccelerationName.NONE):
        raise UnsupportedCombination(
            f"acceleration {settings.acceleration} with master {name}",
            "only the iterated master can be accelerated",
            "use master iterated",
        )
    if settings.convergence and name != ITERATED:
        raise UnsupportedCombination(
            f"convergence with master {name}",
            "only the iterated master has something to converge",
            "use master iterated",
        )
    _check_iterations(name, settings)
    if settings.exchange is ExchangeName.LATE and (name != JACOBI or settings.adaptive is not None):
        raise UnsupportedCombination(
            f"exchange late with {'adaptive steps' if settings.adaptive is not None else f'master {name}'}",
            "late outputs are there to compare with tools that couple like this, with fixed steps",
            "use master jacobi with fixed steps, or exchange consistent",
        )
    if settings.input_order not in (None, 1, 2):
        raise WrongValue(f"the order of inputs must be 1 or 2, found {settings.input_order}")
    if settings.input_order not in (None, 1) and settings.input is InputName.HOLD:
        raise UnsupportedCombination(
            f"input order {settings.input_order} with input hold",
            "inputs that are held have no order",
            "use input extrapolate or interpolate, or leave the order out",
        )


def _accelerated(settings: Settings) -> bool:
    return settings.acceleration is not None or settings.relaxation is not None


def _check_iterations(name: str, settings: Settings) -> None:
    asked = {
        "iterations": settings.iterations,
        "prediction_order": settings.prediction_order,
        "relaxation": settings.relaxation,
    }
    for what, value in asked.items():
        if value is not None and name != ITERATED:
            raise UnsupportedCombination(
                f"{what} {value} with master {name}", "only the iterated master repeats steps", "use master iterated"
            )
    if settings.prediction_order not in (None, 0, 1, 2):
        raise WrongValue(f"the order of prediction must be 0, 1 or 2, found {settings.prediction_order}")
    if settings.iterations is None:
        return
    if settings.iterations < 1:
        raise WrongValue(f"the number of iterations must be at least 1, found {settings.iterations}")
    for what, given in (
        ("tolerance", settings.tolerance is not None),
        ("convergence", bool(settings.convergence)),
        ("max_iterations", settings.max_iterations is not None),
        ("adaptive steps", settings.adaptive is not None),
    ):
        if given:
            raise UnsupportedCombination(
                f"iterations {settings.iterations} with {what}",
                "steps of a fixed number of iterations do not ask whether they have converged",
                f"leave out iterations or {what}",
            )


_MOVING: Mapping[InputName, type[Extrapolate] | type[Interpolate]] = {
    InputName.EXTRAPOLATE: Extrapolate,
    InputName.INTERPOLATE: Interpolate,
}
_BEST = {
    JACOBI: InputName.EXTRAPOLATE,
    GAUSS_SEIDEL: InputName.INTERPOLATE,
    ITERATED: InputName.INTERPOLATE,
}


def _inputs(name: str, situation: Situation, settings: Settings) -> tuple[InputCourse, str]:
    order = settings.input_order or 1
    if settings.input is InputName.HOLD:
        return Hold(), ASKED
    if settings.input is not InputName.AUTO:
        for component, can in situation.capabilities.items():
            if not can.follows:
                instead = "input auto, which holds only what such FMUs take" if situation.following() else "input hold"
                raise UnsupportedByFmu(component, FOLLOWS, f"input {settings.input}", instead)
        return _MOVING[settings.input](order), ASKED
    if settings.exchange is ExchangeName.LATE:
        return Hold(), "goes with late outputs"
    held = situation.obstacles()
    if not situation.following():
        return Hold(), f"no FMU can do better ({held})" if held else "no input of an FMU changes in a step"
    best = _MOVING[_BEST[name]](order)
    return best, f"held where the FMU can do no better ({held})" if held else "all FMUs follow inputs"
