"""Accelerations of an iterated step: relaxation per step, IQN-ILS, and Newton's method on the interface."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.iterated.acceleration import SecantIterates
from ssptool.engine.iterated.jacobians import Domain, FiniteDifferences
from ssptool.engine.iterated.proposals import AitkenRelaxation, AndersonMixing, Proposal, Relaxation
from ssptool.engine.kernel.interface import Floats, IterateRule, RuleKind, SecantMemory
from ssptool.engine.masters.protocols import SavedState, StepDerivatives
from ssptool.engine.method_names import AccelerationName
from ssptool.engine.settings import ASKED, Choice, Settings
from ssptool.errors import ContradictingSettings, WrongValue


class GroupInterface(NamedTuple):
    """The unknowns of a group, in nominal values (all about 1).

    Attributes
    ----------
    step
        x (m,) → outputs (m,) of the present step when it is repeated with x; nan where that fails.
    pattern
        (m, m): values that come out (rows) and may depend on values that go in (columns).
    derivatives
        Derivatives of `step` at the present point, as far as FMUs give them, for nominal values as well; None: nothing
        is known.
    """

    step: Callable[[Floats], Floats]
    pattern: Callable[[], NDArray[np.bool_]]
    derivatives: Callable[[], StepDerivatives] | None = None


class Accelerator(Protocol):
    """A method at work on one interface; it may remember from step to step what it has seen."""

    def begin(self) -> Proposal:
        """A new macro step."""
        ...

    def save_state(self) -> SavedState:
        """State that the acceleration has collected."""
        ...

    def restore_state(self, state: SavedState) -> None:
        """Mark the change as seen."""
        ...


class Acceleration(Protocol):
    """Method that makes the next iterate from the last ones."""

    @property
    def name(self) -> str: ...

    def start(self, interface: GroupInterface) -> Accelerator: ...


@dataclass(frozen=True, slots=True)
class EachStep:
    """A rule that begins anew with every macro step."""

    rule: IterateRule

    @property
    def name(self) -> str:
        match self.rule.kind:
            case RuleKind.AITKEN:
                return "Aitken"
            case RuleKind.ANDERSON:
                return "Anderson"
            case _ if self.rule.factor == 1:
                return "fixed point"
            case _:
                return f"fixed point (relaxation {self.rule.factor:g})"

    def start(self, interface: GroupInterface) -> Accelerator:
        return self

    def begin(self) -> Proposal:
        match self.rule.kind:
            case RuleKind.AITKEN:
                return AitkenRelaxation(self.rule.factor)
            case RuleKind.ANDERSON:
                return AndersonMixing(self.rule.window, self.rule.factor)
            case _:
                return Relaxation(self.rule.factor)

    def save_state(self) -> SavedState:
        return {}

    def restore_state(self, state: SavedState) -> None:
        pass


@dataclass(frozen=True, slots=True)
class IqnIls:
    """x ← found + W α with the α that makes V α + (found − x) least; columns of V and W are differences of found − x
    and of found, the newest first.

    The differences of the last `reuse` macro steps are kept: how a group answers changes little from step to step,
    so that the first correction of a step is a good one already. A column that depends on those before it, to
    `filter`, is left out.

    References
    ----------
    Degroote, Bathe, Vierendeels 2009, "Performance of a new partitioned procedure versus a monolithic procedure in
    fluid-structure interaction", §4; Haelterman, Bogaers, Scheufele, Uekermann, Mehl 2016, "Improving the performance
    of the partitioned QN-ILS procedure for fluid-structure interaction problems: filtering", §3 (filter QR2).
    """

    reuse: int = 5
    filter: float = 1e-3
    max_columns: int = 60

    @property
    def name(self) -> str:
        return "IQN-ILS"

    def start(self, interface: GroupInterface) -> Accelerator:
        return _Secants(self)


class _Secants:
    """`SecantIterates` whose memory is saved."""

    def __init__(self, method: IqnIls) -> None:
        self.iterates = SecantIterates(method.reuse, method.filter, method.max_columns)

    def begin(self) -> Proposal:
        return self.iterates.begin()

    def save_state(self) -> SavedState:
        return saved_secants(self.iterates.memory)

    def restore_state(self, state: SavedState) -> None:
        self.iterates.memory = restored_secants(state)


def saved_secants(memory: SecantMemory) -> SavedState:
    """Memory of IQN-ILS as arrays by name."""
    return memory._asdict()


def restored_secants(state: SavedState) -> SecantMemory:
    """The inverse of `saved_secants`."""
    return SecantMemory(**{name: state[name] for name in SecantMemory._fields})


def kernel_rule(acceleration: Acceleration) -> IterateRule | None:
    """The same acceleration inside a kernel; None if a kernel has none such."""
    match acceleration:
        case EachStep(rule):
            return rule
        case IqnIls(reuse, limit, max_columns):
            return IterateRule(RuleKind.SECANTS, reuse=reuse, filter=limit, max_columns=max_columns)
        case InterfaceNewton():
            return IterateRule(RuleKind.NEWTON)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class InterfaceNewton:
    """Solve (dS/dx − 1) p = x − S(x), where S maps the inputs at the end of a step to what comes out for them.

    dS/dx follows from partial derivatives of the FMUs where they give them, at the point where they are. That takes no
    step, so it is done in every iteration if no column is missing. Missing columns come from finite differences of
    whole steps, one step per colour of the dependency pattern; then the Jacobian is kept from iteration to iteration
    and from step to step, and computed again when an iteration reduces the residual by less than `contraction`.

    Derivatives of FMUs need not be those of their steps: after `misses` iterations of one step that reduce the residual
    by less than that, with derivatives taken at the point itself, differences take their place for good. The Jacobian
    changes the number of iterations, not the solution of a step.

    References
    ----------
    Sicklinger, Belsky, Engelmann, Elmqvist, Olsson, Wüchner, Bletzinger 2014, "Interface Jacobian-based
    co-simulation"; Curtis, Powell, Reid 1974 (colours); Kelley 2003, "Solving nonlinear equations with Newton's
    method", §2.3 (when to renew the Jacobian).
    """

    contraction: float = 0.2
    relative_step: float = 1e-5
    derivatives: bool = True
    misses: int = 2

    @property
    def name(self) -> str:
        return "interface Newton"

    def start(self, interface: GroupInterface) -> Accelerator:
        return _KeptJacobian(self, interface)


class _KeptJacobian:
    """Remembers the inverse of dS/dx − 1."""

    def __init__(self, method: InterfaceNewton, interface: GroupInterface) -> None:
        self.method = method
        self.interface = interface
        self.derivatives = interface.derivatives if method.derivatives else None
        self.inverse: Floats | None = None
        self.last_size: float | None = None
        self.free = False  # the inverse was taken without any step, at the last iterate
        self.misses = 0

    def begin(self) -> Proposal:
        self.last_size, self.misses = None, 0
        return self

    def save_state(self) -> SavedState:
        own = {"differences": np.array(self.derivatives is None), "free": np.array(self.free)}
        return own if self.inverse is None else {**own, "inverse": self.inverse}

    def restore_state(self, state: SavedState) -> None:
        self.inverse = state.get("inverse")
        self.free = bool(state["free"])
        if state["differences"]:
            self.derivatives = None

    def __call__(self, x: Floats, value: Floats) -> Floats:
        residual = value - x
        size = float(np.linalg.norm(residual))
        slow = self.last_size is not None and size > self.method.contraction * self.last_size
        if slow and self.free:
            self._doubt()
        if self.inverse is None or slow or self.free:
            self.inverse = self._inverse(x, value)
        self.last_size = size
        return value if self.inverse is None else x - self.inverse @ residual

    def _doubt(self) -> None:
        self.misses += 1
        if self.misses == self.method.misses:
            self.derivatives = None

    def _inverse(self, x: Floats, value: Floats) -> Floats | None:
        """None where the step cannot be done at the points that are needed, or where it answers nothing definite."""
        system = self._jacobian(x, value) - np.eye(len(x))
        if not np.all(np.isfinite(system)) or np.linalg.matrix_rank(system) < len(system):
            return None
        return np.asarray(np.linalg.inv(system))

    def _jacobian(self, x: Floats, value: Floats) -> Floats:
        """Differences last: they leave the components at another point."""
        matrix, left = np.zeros((len(x), len(x))), np.ones(len(x), dtype=bool)
        if self.derivatives is not None:
            found = self.derivatives()
            matrix, left = found.matrix, ~found.known
        self.free = not left.any()
        if not self.free:
            matrix[:, left] = self._differences(left, x, value)
        return matrix

    def _differences(self, columns: NDArray[np.bool_], x: Floats, value: Floats) -> Floats:
        def step(part: Floats) -> Floats:
            moved = x.copy()
            moved[columns] = part
            return self.interface.step(moved)

        differences = FiniteDifferences(self.interface.pattern()[:, columns], self.method.relative_step)
        return differences.at(step, x[columns], value, Domain.of_size(int(columns.sum())))


RELAXATION = 0.5
"""Default factor of constant relaxation: the interface may then change by up to three times what it was, the
other way.
"""

ACCELERATIONS: Mapping[AccelerationName, Callable[[], Acceleration]] = {
    AccelerationName.NONE: lambda: EachStep(IterateRule()),
    AccelerationName.CONSTANT: lambda: EachStep(IterateRule(factor=RELAXATION)),
    AccelerationName.AITKEN: lambda: EachStep(IterateRule(RuleKind.AITKEN, 0.5)),
    AccelerationName.ANDERSON: lambda: EachStep(IterateRule(RuleKind.ANDERSON, window=8)),
    AccelerationName.IQN_ILS: IqnIls,
    AccelerationName.NEWTON: lambda: InterfaceNewton(),
}


def choose_acceleration(settings: Settings) -> tuple[Acceleration, tuple[Choice, ...]]:
    """The acceleration that was asked for, or the one that goes with the other settings.

    Raises
    ------
    ContradictingSettings
        A factor of relaxation with a method that has none.
    WrongValue
        The factor is out of range.
    """
    name, reason = _acceleration_name(settings)
    factor, choice = settings.relaxation, Choice("acceleration", name, reason)
    if factor is None:
        default = (Choice("relaxation", f"{RELAXATION:g}", "default"),)
        return ACCELERATIONS[name](), (choice, *(default if name is AccelerationName.CONSTANT else ()))
    if name is not AccelerationName.CONSTANT:
        raise ContradictingSettings(
            f"relaxation {factor:g} with acceleration {name}",
            "only acceleration constant takes a relaxation factor",
            "use acceleration constant, or leave one of them out",
        )
    check_relaxation(factor)
    return EachStep(IterateRule(factor=factor)), (choice, Choice("relaxation", f"{factor:g}", ASKED))


def check_relaxation(factor: float) -> None:
    """Raise WrongValue if it is out of range."""
    if not 0 < factor <= 1:
        raise WrongValue(f"relaxation must be greater than 0 and at most 1, found {factor:g}")


def _acceleration_name(settings: Settings) -> tuple[AccelerationName, str]:
    if settings.acceleration is not None:
        return settings.acceleration, ASKED
    if settings.relaxation is not None:
        return AccelerationName.CONSTANT, "required by relaxation"
    if settings.iterations is not None:
        return AccelerationName.NONE, "required by a fixed number of iterations"
    # It learns the response of the group, so that most steps take two iterations, with soft and with stiff coupling.
    return AccelerationName.IQN_ILS, "default"
