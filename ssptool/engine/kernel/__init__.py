"""The two kernels: `_kernel` in C++, and its plain-Python twin where no compiler was at hand."""

from collections.abc import Sequence

from ssptool.engine.kernel.interface import Kernel, Slots

try:
    from ssptool.engine.kernel._kernel import NativeKernel, NativeSlopes
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
        Address of the function that finds the numbers of the integrator's vectors.
    """
    return (
        NativeSlopes(kernel, schedule, parts, inputs, numbers) if NATIVE and isinstance(kernel, NativeKernel) else None
    )


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
