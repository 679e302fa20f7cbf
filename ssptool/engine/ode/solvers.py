"""Solvers of an ODE: CVODE, those of the kernel, and the choice of a replacement."""

from collections.abc import Callable

from ssptool.engine.kernel.ode import Addresses
from ssptool.engine.ode.integrator import RETREATED, Method


def choose_solver(method: Method, remark: Callable[[str], None]) -> tuple[Method, Addresses | None]:
    """The method, and for CVODE the addresses of its functions. Without CVODE, a method of the kernel for the same kind
    of problems replaces it, with a remark.
    """
    if not method.is_of_cvode:
        return method, None
    try:
        return method, _cvode()
    except (ImportError, OSError) as error:
        other = method.of_kernel
        remark(
            f"FMPy brings no CVODE for this platform ({error}): the integrator {other.title} replaces {method.title}"
        )
        return other, None


RETREAT = Method.DORMAND_PRINCE
"""Method that replaces one that cannot continue, if the user has not chosen a method."""


def on_retreat(method: Method, t: float, reason: str) -> str:
    """Remark that another solver continues from t [s], for this reason."""
    return (
        f"{method.title} cannot go on from t = {t:g} s ({reason}): {RETREAT.title} replaces it from there ({RETREATED})"
    )


def _cvode() -> Addresses:
    # Imported here, because it loads libraries that do not exist for all platforms.
    from ssptool.engine.ode.cvode import address

    return address
