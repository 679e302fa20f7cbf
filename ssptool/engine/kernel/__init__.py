"""The two kernels: `_kernel` in C++, and its plain-Python twin where no compiler was at hand."""

from collections.abc import Mapping

from ssptool.engine.kernel.event_calls import EventCalls
from ssptool.engine.kernel.interface import Kernel, Slots
from ssptool.engine.kernel.ode import Addresses, Indicators, Matrix, OdeCalls, OdeOwner, OdeSolver, Slopes, SolverKind

try:
    from ssptool.engine.kernel._kernel import (
        NativeEvents,
        NativeIntegration,
        NativeKernel,
        NativeOdeComponent,
        NativeOdeSolver,
        idle_functions,
    )
except ImportError:
    NATIVE = False
else:
    NATIVE = True


def is_native(kernel: Kernel) -> bool:
    """True for a kernel in C++."""
    return NATIVE and isinstance(kernel, NativeKernel)


def native_events(kernel: Kernel, calls: EventCalls) -> "NativeEvents":
    """Events of components in event mode that are instances of this kernel, which must be native."""
    assert isinstance(kernel, NativeKernel)
    return NativeEvents(kernel, calls)


def native_integration(kernel: Kernel, events: "NativeEvents", calls: OdeCalls, owner: OdeOwner) -> "NativeIntegration":
    """Integration of components of model exchange that are instances of this kernel, which must be native."""
    assert isinstance(kernel, NativeKernel)
    return NativeIntegration(kernel, events, calls, owner)


def native_ode_component(kernel: Kernel) -> "NativeOdeComponent":
    """An ODE as one more instance of this kernel, which must be native, for `InstanceTable`."""
    assert isinstance(kernel, NativeKernel)
    return NativeOdeComponent(kernel)


def native_idle_functions(fmi_major: int) -> Mapping[str, int]:
    """Addresses of functions for a component whose steps and states are those of an ODE: they do nothing."""
    return idle_functions(fmi_major)


def create(slots: int, *, integers: Slots = (), native: bool | None = None) -> Kernel:
    """A kernel for `slots` values, of which some are `integers`.

    It is the native one where that was built, unless `native` says otherwise.

    Raises
    ------
    ImportError
        `native` is True and the native kernel was not built.
    """
    if native and not NATIVE:
        raise ImportError("the native kernel was not built: install ssptool with a C++20 compiler")
    if NATIVE and native is not False:
        return NativeKernel(slots, integers)
    # Imported here, because few runs need it.
    from ssptool.engine.kernel.twin.kernel import TwinKernel

    return TwinKernel(slots, integers)


def create_solver(
    kind: SolverKind,
    f: Slopes,
    n: int,
    *,
    rtol: float,
    g: Indicators | None = None,
    roots: int = 0,
    jacobian: Matrix | None = None,
    cvode: Addresses | None = None,
    native: bool = NATIVE,
) -> OdeSolver:
    """An integrator of the kernel, for n states and so many `roots`; without a `jacobian` it takes differences of f.

    One of CVODE needs to be told the addresses of its functions. The integrator is that of the core where it was built,
    unless `native` says otherwise; CVODE has no twin.
    """
    if native or cvode is not None:
        return NativeOdeSolver(kind, f, n, rtol, g, roots, jacobian, cvode)
    # Imported here, because few runs need it.
    from ssptool.engine.kernel.twin.ode_solvers import TwinOdeSolver

    return TwinOdeSolver(kind, f, n, rtol, g, roots, jacobian)
