"""Accelerations of an iterated step: relaxation per step, IQN-ILS, and Newton's method on the interface."""

from collections.abc import Mapping

from ssptool.engine.kernel.calls import IterateRule, RuleKind
from ssptool.engine.method_names import AccelerationName
from ssptool.engine.settings import ASKED, Choice, Settings
from ssptool.errors import ContradictingSettings, WrongValue

IQN_ILS = IterateRule(RuleKind.SECANTS, reuse=5, filter=1e-3, max_columns=60)
"""x ← found + W α with the α that makes V α + (found − x) least; columns of V and W are differences of found − x
and of found, the newest first.

The differences of the last `reuse` macro steps are kept: the response of a group changes little from step to step,
so that the first correction of a step is already good. A column that depends on previous columns, to within
`filter`, is left out.

References
----------
Degroote, Bathe, Vierendeels 2009, "Performance of a new partitioned procedure versus a monolithic procedure in
fluid-structure interaction", §4; Haelterman, Bogaers, Scheufele, Uekermann, Mehl 2016, "Improving the performance
of the partitioned QN-ILS procedure for fluid-structure interaction problems: filtering", §3 (filter QR2).
"""

INTERFACE_NEWTON = IterateRule(RuleKind.NEWTON)
"""Solve (dS/dx − 1) p = x − S(x), where S maps the inputs at the end of a step to the values that the step returns
for them.

dS/dx is computed from partial derivatives of the FMUs, where available, at their present point. This needs no step,
so it is done in every iteration if no column is missing. Missing columns come from finite differences of whole
steps, one step per colour of the dependency pattern; then the Jacobian is kept from iteration to iteration and from
step to step, and computed again when an iteration leaves more than a fifth of the residual.

Derivatives of FMUs need not be those of their steps. If two iterations of one step leave more of the residual than
that, with derivatives at the point itself, differences permanently replace the derivatives. The Jacobian changes
the number of iterations, not the solution of a step.

References
----------
Sicklinger, Belsky, Engelmann, Elmqvist, Olsson, Wüchner, Bletzinger 2014, "Interface Jacobian-based
co-simulation"; Curtis, Powell, Reid 1974 (colours); Kelley 2003, "Solving nonlinear equations with Newton's
method", §2.3 (when to renew the Jacobian).
"""

RELAXATION = 0.5
"""Default factor of constant relaxation. It converges while the interface answers a change with at most three times
that change, in the opposite direction.
"""

ACCELERATIONS: Mapping[AccelerationName, IterateRule] = {
    AccelerationName.NONE: IterateRule(),
    AccelerationName.CONSTANT: IterateRule(factor=RELAXATION),
    AccelerationName.AITKEN: IterateRule(RuleKind.AITKEN, 0.5),
    AccelerationName.ANDERSON: IterateRule(RuleKind.ANDERSON, window=8),
    AccelerationName.IQN_ILS: IQN_ILS,
    AccelerationName.NEWTON: INTERFACE_NEWTON,
}


def choose_acceleration(settings: Settings) -> tuple[IterateRule, tuple[Choice, ...]]:
    """The acceleration in the settings, or the default for the other settings.

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
        return ACCELERATIONS[name], (choice, *(default if name is AccelerationName.CONSTANT else ()))
    if name is not AccelerationName.CONSTANT:
        raise ContradictingSettings(
            f"relaxation {factor:g} with acceleration {name}",
            "only acceleration constant takes a relaxation factor",
            "use acceleration constant, or leave one of them out",
        )
    check_relaxation(factor)
    return IterateRule(factor=factor), (choice, Choice("relaxation", f"{factor:g}", ASKED))


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
    # This method learns the response of the group, so that most steps need two iterations, with soft and with stiff
    # coupling.
    return AccelerationName.IQN_ILS, "default"
