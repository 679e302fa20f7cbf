"""The kernel: `_kernel`, in C++. Without it systems are checked, explained and edited, not run."""

from ssptool.errors import MissingKernel

try:
    from ssptool.engine.kernel._kernel import NativeSystem
except ImportError:
    NATIVE = False
else:
    NATIVE = True


def native_system(plan: bytes) -> "NativeSystem":
    """A system that carries out a frozen plan. Raises MissingKernel."""
    if not NATIVE:
        raise MissingKernel
    return NativeSystem(plan)
