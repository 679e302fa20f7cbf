"""The two kernels: `_kernel` in C++, and its plain-Python twin where no compiler was at hand."""

from collections.abc import Sequence

from ssptool.engine.kernel.event_calls import EventCalls
from ssptool.engine.kernel.interface import Kernel, Slots
from ssptool.engine.kernel.ode import Indicators, Matrix, OdeSolver, Slopes, SolverKind

try:
    from ssptool.engine.kernel._kernel import NativeEvents, NativeKernel, NativeOdeSolver, NativeSlopes
except ImportError:
    NATIVE = False
else:
    NATIVE = True


def native_slopes(
    kernel: Kernel, schedule: int, parts: Sequence[tuple[int, int, int, int, int]], inputs: Slots, numbers: int
) -> "NativeSlopes | None":
    """The right-hand side of an ODE with no Python in it; None for a kernel that is not native.

    Parameters
    ----------
    schedule
        Schedule of the kernel that evaluates the outputs once time and states are set.
    parts
        Of each component: the instance, its functions that set time and states and get derivatives, by address, and the
        number of its states.
    inputs
        Slots that `NativeSlopes.input_polynomials` is about.
    numbers
        Address of the function that finds the numbers of CVODE's vectors; 0 for integrators of the kernel.
    """
    return (
        NativeSlopes(kernel, schedule, parts, inputs, numbers) if NATIVE and isinstance(kernel, NativeKernel) else None
    )


def is_native(kernel: Kernel) -> bool:
    """True for a kernel in C++."""
    return NATIVE and isinstance(kernel, NativeKernel)


def native_events(kernel: Kernel, calls: EventCalls) -> "NativeEvents":
    """Events of components in event mode that are instances of this kernel, which must be native."""
    assert isinstance(kernel, NativeKernel)
    return NativeEvents(kernel, calls)


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
    slopes: "NativeSlopes | None" = None,
    native: bool = NATIVE,
) -> OdeSolver:
    """An integrator of the kernel, for n states and so many `roots`; without a `jacobian` it takes differences of f.

    `slopes` are asked before `f`, which does what they cannot. The integrator is that of the core where it was built,
    unless `native` says otherwise.
    """
    if native:
        return NativeOdeSolver(kind, f, n, rtol, g, roots, jacobian, slopes)
    # Imported here, because few runs need it.
    from ssptool.engine.kernel.twin.ode_solvers import TwinOdeSolver

    return TwinOdeSolver(kind, f, n, rtol, g, roots, jacobian)
