"""Iterated master: groups of components that are mutually coupled repeat their macro steps until they agree."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ssptool.engine.kernel.calls import Instruction, IterateRule, Op, RuleKind, Trial
from ssptool.engine.masters.acceleration import IQN_ILS, choose_acceleration
from ssptool.engine.masters.convergence import (
    DEFAULT_TOLERANCE,
    SINGLE_TOLERANCE,
    Measure,
    choose_measure,
    relative,
)
from ssptool.engine.masters.master import Coupling
from ssptool.engine.masters.program import (
    HOLD,
    FrozenIteration,
    Program,
    ProgrammedMaster,
    interpolate,
    mid_step,
    set_inputs,
)
from ssptool.engine.masters.protocols import InputApproximation, InstanceGroup, Participants
from ssptool.engine.masters.registry import MasterEntry, Refusal, Situation
from ssptool.engine.method_names import AUTO, ApproximationName
from ssptool.engine.settings import ASKED, Choice, Settings
from ssptool.errors import ContradictingSettings, WrongValue, abbreviated, counted

PREDICTION_ORDER = 2
"""Order of the first guess: one more than the accuracy needs, because a better guess saves iterations at no cost."""


@dataclass(frozen=True, slots=True)
class Iterated(ProgrammedMaster):
    """Groups of instances that are mutually coupled repeat a step until their inputs at its end agree with their
    sources.

    The first guess continues the polynomial of order `prediction` through the accepted points; with order 0, inputs
    keep the present values of their sources. Instances outside of such groups step once, in the order of the signal
    flow. Interpolated inputs of order k give order k + 1, held ones (at their value at the end of the step) order 1 and
    much damping, the mean of both ends order 2.

    A change that stops decreasing at the noise of the FMUs is accepted. A step that does not converge is iterated by
    `newton`. If that is off or fails, it is a failure; if the master `retreats`, the step is done with stronger
    damping, and then without repetition.

    Attributes
    ----------
    inputs
        Approximation of the inputs over a macro step.
    acceleration
        Method that computes the next iterate from the previous ones.
    measure
        Criterion of convergence.
    max_iterations
        Limit of one macro step.
    prediction
        Order of the polynomial through accepted points that gives the first guess.
    retreats
        True if steps that do not converge are repeated with stronger damping, and then done without repetition.
    newton
        True if such steps are iterated by Newton's method first.
    damps
        True if inputs are held at their value at the end in steps in which a stiff coupling would ring.

    References
    ----------
    Kübler and Schiehlen 2000, "Two methods of simulator coupling"; Küttler and Wall 2008 (acceleration).
    """

    inputs: InputApproximation = field(default_factory=interpolate)
    acceleration: IterateRule = IQN_ILS
    measure: Measure = field(default_factory=lambda: relative(DEFAULT_TOLERANCE))
    max_iterations: int = 30
    prediction: int = PREDICTION_ORDER
    retreats: bool = False
    newton: bool = False
    damps: bool = False

    @property
    def plain_iterations(self) -> int:
        """Number of plain iterates before the acceleration is used.

        No method can agree before the second iterate. As long as plain iteration does, the default method is not
        needed, and costs more than a small FMU.
        """
        return 2 if self.acceleration.kind is RuleKind.SECANTS else 1

    @property
    def tries(self) -> bool:
        """True if trial steps in a cycle decide how to hold inputs that can only be constant."""
        return self.inputs.where_held.tried

    @property
    def count(self) -> int:
        """Number of iterations of each step, if it is fixed."""
        return self.measure.count

    @property
    def name(self) -> str:
        return "iterated"

    def program(self, coupling: Coupling) -> Program:
        return _program(self, coupling)

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        lines: list[str] = []
        for group in groups:
            moves = group.moves(self.inputs.name, self.inputs.where_held.name)
            if group.iterated:
                lines += [
                    f"save states of {group}; guess their inputs at the end of the step by extrapolation of order "
                    f"{self.prediction}",
                    self._repetition(),
                    *(f"  {line}" for line in (*moves, f"step {group}", "evaluate")),
                    f"  exchange; if they do not agree, restore states of {group}",
                ]
            else:
                lines += ["exchange", *moves, f"step {group}", "evaluate"]
        return tuple(lines)

    def _repetition(self) -> str:
        if self.count:
            times = counted(self.count, "time")
            return f"repeat, exactly {times} in all (acceleration: {self.acceleration.name}):"
        return (
            f"repeat, at most {counted(self.max_iterations, 'time')}, until inputs and their sources agree "
            f"({self.measure.name}; acceleration: {self.acceleration.name}):"
        )


MAX_ITERATIONS = 30


def _held_inputs(inputs: InputApproximation) -> str:
    """Value over a step of inputs that can only be constant, if their values at its end are known: at the end, the mean
    of both ends, the mean if the value runs smoothly (otherwise the end), or tried, i.e. `mid_step` if trial steps show
    that the components integrate their inputs, otherwise `end`.
    """
    if inputs.op is Op.MID_STEP:
        return "tried" if inputs.tried else "mid_step"
    return "mean" if inputs.op is Op.INTERPOLATE else "end"


def _tried(inputs: InputApproximation, trial: int) -> InputApproximation:
    """The approximation of inputs after trial steps."""
    held = mid_step(ends=True) if trial == Trial.INTEGRATES else HOLD
    return replace(inputs, held=held) if inputs.op is Op.INTERPOLATE and inputs.order else held


def _iteration(method: Iterated, group: InstanceGroup) -> FrozenIteration:
    """The iterated step of this group, as the frozen plan contains it.

    Inputs of instances in `following` are interpolated with `order`, inputs of those in `held` are constant, as
    `held_inputs` says. An iterate agrees if it meets all `measures`. Otherwise the first `plain_iterations` iterations
    use the found values as next guess, as long as this converged in earlier steps; `rule` computes the others. With a
    `count`, a step has exactly that number of iterations.
    """
    return {
        "group": group.group,
        "following": group.following,
        "held": group.held,
        "schedule": group.schedule,
        "unknowns": list(group.unknowns),
        "nominal": list(group.nominal),
        "order": method.inputs.order,
        "prediction": method.prediction,
        "plain_iterations": method.plain_iterations,
        "max_iterations": method.max_iterations,
        "retreats": method.retreats,
        "count": method.count,
        "newton": method.newton,
        "damps": method.damps,
        "rule": method.acceleration._asdict() | {"kind": method.acceleration.kind.name.lower()},
        "measures": [{"kind": one.kind.name.lower(), "limit": one.limit} for one in method.measure.limits],
        "held_inputs": _held_inputs(method.inputs.where_held),
    }


def _program(method: Iterated, coupling: Coupling) -> Program:
    """Steps of all groups in the order of the signal flow; groups with feedback are iterated."""
    steps: list[Instruction] = []
    iterations: list[FrozenIteration] = []
    once = _tried(method.inputs, Trial.STEPS) if method.tries else method.inputs
    for group in coupling.groups:
        if len(group.unknowns):
            steps.append(Instruction(Op.ITERATE, len(iterations)))
            iterations.append(_iteration(method, group))
        else:  # values from earlier groups are known at the end of the step
            steps += [
                Instruction(Op.EXCHANGE, group.group),
                *set_inputs(group, once),
                Instruction(Op.ADVANCE, group.group),
                Instruction(Op.EVALUATE, group.schedule),
            ]
    return Program(tuple(steps), tuple(iterations), consistent=False, interruptible=False)


def create(inputs: InputApproximation, settings: Settings, situation: Situation) -> tuple[Iterated, Sequence[Choice]]:
    """Create the master with acceleration, convergence and limits.

    Raises
    ------
    ContradictingSettings
        A factor of relaxation with a method that has none; a fixed number of iterations with a limit of convergence.
    WrongValue
        A number is out of range.
    """
    _check_iterations(settings)
    acceleration, how = choose_acceleration(settings)
    measure, reason = choose_measure(settings, single=situation.single)
    limit = settings.max_iterations if settings.max_iterations is not None else MAX_ITERATIONS
    if settings.iterations is not None:
        limit = settings.iterations
        measure = relative(SINGLE_TOLERANCE if situation.single else DEFAULT_TOLERANCE, limit)
        reason = ASKED
    order = PREDICTION_ORDER if settings.prediction_order is None else settings.prediction_order
    asked = {True: ASKED, False: "default"}
    jacobian = [_jacobian(situation)] if acceleration.kind is RuleKind.NEWTON else []
    default = settings.acceleration is None and settings.max_iterations is None
    method = Iterated(
        inputs,
        acceleration,
        measure,
        limit,
        order,
        retreats=not _asked_for(settings),
        newton=default and acceleration.kind is RuleKind.SECANTS,
        damps=_damps(inputs, settings),
    )
    return method, (
        *how,
        Choice("convergence", measure.name, reason),
        Choice("max_iterations", str(limit), asked[settings.max_iterations is not None]),
        Choice("prediction_order", str(order), asked[settings.prediction_order is not None]),
        *jacobian,
    )


def _damps(inputs: InputApproximation, settings: Settings) -> bool:
    """True unless a setting contradicts steps with inputs held at their value at the end."""
    runs = inputs.order > 0 or inputs.where_held.op is not Op.HOLD
    asked = settings.iterations, settings.adaptive, settings.acceleration, settings.relaxation
    return runs and settings.approximation is ApproximationName.AUTO and all(one is None for one in asked)


def _asked_for(settings: Settings) -> bool:
    """True if the settings ask for iterated steps, or for one of their options, explicitly."""
    asked = settings.acceleration, settings.relaxation, settings.iterations, settings.prediction_order
    return settings.master != AUTO or any(one is not None for one in asked)


def _jacobian(situation: Situation) -> Choice:
    """Origin of the Jacobian of interface Newton, component by component."""
    silent = [name for name in situation.cyclic if not situation.capabilities[name].answers_by_derivatives]
    if not silent:
        return Choice("jacobian", "directional derivatives", "all FMUs give them")
    reason = f"{abbreviated(silent)}: no partial derivatives by inputs and states"
    if len(silent) == len(situation.cyclic):
        return Choice("jacobian", "finite differences", reason)
    return Choice("jacobian", "directional derivatives, and finite differences where there are none", reason)


def _check_iterations(settings: Settings) -> None:
    if settings.prediction_order not in (None, 0, 1, 2):
        raise WrongValue(f"the order of prediction must be 0, 1 or 2, found {settings.prediction_order}")
    if settings.max_iterations is not None and settings.max_iterations < 1:
        raise WrongValue(f"the iteration limit must be at least 1, found {settings.max_iterations}")
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
            raise ContradictingSettings(
                f"iterations {settings.iterations} with {what}",
                "with a fixed number of iterations convergence is not tested",
                f"leave out iterations or {what}",
            )


_ADVICE = "use master iterated, or leave the setting out"
_REPEATS = Refusal("only master iterated repeats steps", _ADVICE)

MASTER = MasterEntry(
    create,
    approximation=ApproximationName.INTERPOLATE,
    refused_approximations={
        ApproximationName.EXTRAPOLATE: Refusal(
            "extrapolated inputs do not change from one iteration to the next",
            "use approximation interpolate, or master jacobi",
        )
    },
    settings={
        "acceleration": Refusal("only master iterated has an acceleration", _ADVICE),
        "convergence": Refusal("only master iterated has a criterion of convergence", _ADVICE),
        "iterations": _REPEATS,
        "max_iterations": _REPEATS,
        "prediction_order": _REPEATS,
        "relaxation": _REPEATS,
    },
    repeats_steps=True,
)
