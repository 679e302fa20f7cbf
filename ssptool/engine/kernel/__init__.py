"""The native kernel (`_kernel`, C++). Without it, ssptool can check, explain and edit systems, but not run them."""

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
