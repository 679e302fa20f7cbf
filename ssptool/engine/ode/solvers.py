"""Solvers of an ODE: CVODE, those of the kernel, and which of these stands in for CVODE where there is none."""

from dataclasses import replace

from ssptool.engine.failure import Ending, Failure
from ssptool.engine.kernel import create_solver, is_native
from ssptool.engine.kernel.ode import OdeSolver, SolverKind
from ssptool.engine.ode.integrator import Method
from ssptool.engine.ode.jacobian import OdeJacobian
from ssptool.engine.ode.system import OdeSystem

_KINDS = {Method.DORMAND_PRINCE: SolverKind.DORMAND_PRINCE, Method.ROSENBROCK: SolverKind.ROSENBROCK}


def make_solver(method: Method, system: OdeSystem, rtol: float, jacobian: OdeJacobian) -> OdeSolver:
    """The solver of this method, or of one for the same problems where FMPy brings no CVODE, which is remarked on."""
    if not method.is_of_cvode:
        return solver_of_kernel(method, system, rtol, jacobian)
    try:
        # Imported here, because it loads libraries that are not there for all platforms.
        from ssptool.engine.ode.cvode import NUMBERS, Cvode
    except (ImportError, OSError) as error:
        other = method.of_kernel
        system.remark(
            f"FMPy brings no CVODE for this platform ({error}): the integrator {other.title} replaces {method.title}"
        )
        return solver_of_kernel(other, system, rtol, jacobian)
    return Cvode(
        method,
        system.slopes,
        system.size,
        rtol=rtol,
        g=system.signs,
        roots=system.indicators,
        jacobian=jacobian,
        native=system.native_slopes(NUMBERS),
    )


def solver_of_kernel(method: Method, system: OdeSystem, rtol: float, jacobian: OdeJacobian) -> OdeSolver:
    return create_solver(
        _KINDS[method],
        system.slopes,
        system.size,
        rtol=rtol,
        g=system.signs,
        roots=system.indicators,
        jacobian=jacobian,
        slopes=system.native_slopes(0),
        native=is_native(system.kernel),
    )


def cannot_go_on(reason: str, t: float, last_failure: Failure | None) -> Failure:
    """Failure of the integrator for this reason at t [s]; `last_failure` is that of the last point which it avoided."""
    if last_failure is None:
        advice = "loosen the tolerance, or check parameters and start values: the solution may not exist from here"
        return Failure(Ending.INTEGRATION, f"the integrator cannot go on: {reason}", advice, t, recoverable=True)
    # A value that is nan stays so at all points that the integrator could still try.
    ending = last_failure.ending if last_failure.ending is Ending.NONFINITE else Ending.INTEGRATION
    message = f"the integrator cannot go on: {reason}; last: {last_failure.message}"
    return replace(last_failure, ending=ending, message=message, time=t, recoverable=True)
