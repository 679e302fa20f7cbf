"""Solvers of an ODE: CVODE, those of the kernel, and which of these replaces another one."""

from collections.abc import Callable
from typing import NamedTuple

from ssptool.engine.kernel.ode import Addresses, SolverKind
from ssptool.engine.ode.integrator import RETREATED, Method


class ChosenSolver(NamedTuple):
    """A solver for the kernel, with what gives addresses of functions of CVODE if it is of that."""

    kind: SolverKind
    cvode: Addresses | None = None


def choose_solver(method: Method, remark: Callable[[str], None]) -> ChosenSolver:
    """The solver of this method, or of one for the same problems where there is no CVODE, which is remarked on."""
    if not method.is_of_cvode:
        return ChosenSolver(SolverKind[method.name])
    try:
        return ChosenSolver(SolverKind[method.name], _cvode())
    except (ImportError, OSError) as error:
        other = method.of_kernel
        remark(
            f"FMPy brings no CVODE for this platform ({error}): the integrator {other.title} replaces {method.title}"
        )
        return ChosenSolver(SolverKind[other.name])


RETREAT = Method.DORMAND_PRINCE
"""Replaces another method that cannot go on, where the user has chosen none."""


def on_retreat(kind: SolverKind, t: float, reason: str) -> str:
    """Remark that another solver has gone on from t [s], for this reason."""
    return (
        f"{Method[kind.name].title} cannot go on from t = {t:g} s ({reason}): {RETREAT.title} replaces it from there "
        f"({RETREATED})"
    )


def _cvode() -> Addresses:
    # Imported here, because it loads libraries that are not there for all platforms.
    from ssptool.engine.ode.cvode import address

    return address
