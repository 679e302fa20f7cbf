"""How the iterated master is set up, and why so."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from ssptool.engine import loops, masters
from ssptool.engine.choices import ASKED, Choice
from ssptool.engine.few import few
from ssptool.engine.loops.fixed_point import FixedPoint
from ssptool.engine.masters.acceleration import Acceleration, EachStep
from ssptool.engine.masters.inputs import Hold, Inputs, Interpolate
from ssptool.engine.masters.iqn_ils import IqnIls
from ssptool.engine.masters.iterated import Iterated
from ssptool.engine.masters.iterated_natively import PREDICTION_ORDER
from ssptool.engine.masters.measures import MEASURES, AllOf, FixedCount, Measure, MeasureName, Relative
from ssptool.engine.settings import AccelerationName, MasterName, Settings
from ssptool.engine.unsupported import UnsupportedCombination

if TYPE_CHECKING:
    from ssptool.engine.master_choice import Situation

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
    AccelerationName.AITKEN: lambda: EachStep(loops.Aitken()),
    AccelerationName.ANDERSON: lambda: EachStep(loops.Anderson()),
    AccelerationName.IQN_ILS: IqnIls,
    AccelerationName.NEWTON: lambda: masters.InterfaceNewton(),
}


def choose_iterated(inputs: Inputs, settings: Settings, situation: "Situation") -> tuple[Iterated, list[Choice]]:
    """With acceleration, convergence and limits.

    Raises
    ------
    UnsupportedCombination
        A factor of relaxation with a method that has none.
    ValueError
        A number is out of range.
    """
    if not isinstance(inputs, (Hold, Interpolate)):
        raise AssertionError(f"iterated with {inputs.name}")
    name, acceleration, acceleration_reason = _acceleration(settings)
    measure, reason = _measure(settings, situation)
    limit = settings.max_iterations if settings.max_iterations is not None else COUPLING_ITERATIONS
    if limit < 1:
        raise ValueError(f"the iteration limit must be at least 1, found {limit}")
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
    return settings.master is not MasterName.AUTO or any(one is not None for one in asked)


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
        raise ValueError(f"relaxation must be greater than 0 and at most 1, found {factor:g}")
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
    reason = f"{few(silent)}: no partial derivatives by inputs and states"
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
            raise ValueError(f"convergence must be one of {', '.join(MeasureName)}; found {name!r}")
        if not 0 < limit < float("inf"):
            raise ValueError(f"the {name} limit of convergence must be positive, found {limit:g}")
        yield MEASURES[MeasureName(name)](limit)
