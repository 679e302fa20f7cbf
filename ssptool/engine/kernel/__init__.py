"""The two kernels: `_kernel` in C++, and its plain-Python twin where no compiler was at hand."""

from ssptool.engine.kernel.interface import Kernel, Slots

try:
    from ssptool.engine.kernel._kernel import NativeKernel
except ImportError:
    NATIVE = False
else:
    NATIVE = True


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
    # Loaded here, because every run would pay for what few need.
    from ssptool.engine.kernel.twin import TwinKernel

    return TwinKernel(slots, integers)
