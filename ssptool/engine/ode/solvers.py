"""Solvers of an ODE: CVODE, those of the kernel, and the choice of a replacement."""

from collections.abc import Callable
from typing import NamedTuple

from ssptool.engine.kernel.ode import Addresses, SolverKind
from ssptool.engine.ode.integrator import RETREATED, Method


class ChosenSolver(NamedTuple):
    """A solver for the kernel; if it is one of CVODE, with a function that returns addresses of CVODE functions."""

    kind: SolverKind
    cvode: Addresses | None = None


def choose_solver(method: Method, remark: Callable[[str], None]) -> ChosenSolver:
    """The solver of this method; without CVODE one for the same kind of problems, with a remark."""
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
"""Method that replaces one that cannot continue, if the user has not chosen a method."""


def on_retreat(kind: SolverKind, t: float, reason: str) -> str:
    """Remark that another solver continues from t [s], for this reason."""
    return (
        f"{Method[kind.name].title} cannot go on from t = {t:g} s ({reason}): {RETREAT.title} replaces it from there "
        f"({RETREATED})"
    )


def _cvode() -> Addresses:
    # Imported here, because it loads libraries that do not exist for all platforms.
    from ssptool.engine.ode.cvode import address

    return address
