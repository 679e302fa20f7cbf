"""The kernel: `_kernel`, in C++. Without it systems are checked, explained and edited, not run."""

from ssptool.errors import missing_kernel

try:
    from ssptool.engine.kernel._kernel import NativeSystem
except ImportError:
    NATIVE = False
else:
    NATIVE = True


def native_system(plan: bytes) -> "NativeSystem":
    """A system that carries out a frozen plan. Raises MissingPackage."""
    if not NATIVE:
        raise missing_kernel()
    return NativeSystem(plan)
