"""Solvers of an ODE: CVODE, those of the kernel, and which of these replaces another one."""

from dataclasses import replace
from typing import NamedTuple

from ssptool.engine.failure import Ending, Failure
from ssptool.engine.kernel import NATIVE
from ssptool.engine.kernel.ode import Addresses, SolverKind
from ssptool.engine.ode.integrator import RETREATED, Method
from ssptool.engine.ode.system import OdeSystem


class ChosenSolver(NamedTuple):
    """A solver for the kernel, with what gives addresses of functions of CVODE if it is of that."""

    kind: SolverKind
    cvode: Addresses | None = None


def choose_solver(method: Method, system: OdeSystem) -> ChosenSolver:
    """The solver of this method, or of one for the same problems where there is no CVODE, which is remarked on."""
    if not method.is_of_cvode:
        return ChosenSolver(SolverKind[method.name])
    try:
        return ChosenSolver(SolverKind[method.name], _cvode())
    except (ImportError, OSError) as error:
        other = method.of_kernel
        system.remark(
            f"FMPy brings no CVODE for this platform ({error}): the integrator {other.title} replaces {method.title}"
        )
        return ChosenSolver(SolverKind[other.name])


RETREAT = Method.DORMAND_PRINCE
"""Replaces another method that cannot go on, where the user has chosen none."""


def remark_on_retreat(system: OdeSystem, kind: SolverKind, t: float, reason: str) -> None:
    """Remark that another solver has gone on from t [s], for this reason."""
    system.remark(
        f"{Method[kind.name].title} cannot go on from t = {t:g} s ({reason}): {RETREAT.title} replaces it from there "
        f"({RETREATED})"
    )


def _cvode() -> Addresses:
    if not NATIVE:
        raise ImportError("only a kernel in C++ calls it")
    # Imported here, because it loads libraries that are not there for all platforms.
    from ssptool.engine.ode.cvode import address

    return address


def cannot_go_on(reason: str, t: float, last_failure: Failure | None) -> Failure:
    """Failure of the integrator for this reason at t [s]; `last_failure` is that of the last point which it avoided."""
    if last_failure is None:
        advice = "loosen the tolerance, or check parameters and start values: the solution may not exist from here"
        return Failure(Ending.INTEGRATION, f"the integrator cannot go on: {reason}", advice, t, recoverable=True)
    # A value that is nan stays so at all points that the integrator could still try.
    ending = last_failure.ending if last_failure.ending is Ending.NONFINITE else Ending.INTEGRATION
    message = f"the integrator cannot go on: {reason}; last: {last_failure.message}"
    return replace(last_failure, ending=ending, message=message, time=t, recoverable=True)
