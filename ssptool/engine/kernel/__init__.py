"""The kernel: `_kernel`, in C++. Without it systems are checked, explained and edited, not run."""

from ssptool.engine.kernel.event_calls import EventCalls
from ssptool.engine.kernel.interface import Kernel, Slots
from ssptool.errors import MissingKernel

try:
    from ssptool.engine.kernel._kernel import NativeEvents, NativeKernel, NativeSystem
except ImportError:
    NATIVE = False
else:
    NATIVE = True


def create(slots: int, *, integers: Slots = ()) -> "NativeKernel":
    """A kernel for `slots` values, of which some are `integers`. Raises MissingKernel."""
    if not NATIVE:
        raise MissingKernel
    return NativeKernel(slots, integers)


def native_events(kernel: Kernel, calls: EventCalls) -> "NativeEvents":
    """Events of components in event mode that are instances of this kernel."""
    return NativeEvents(_native(kernel), calls)


def native_system(plan: bytes) -> "NativeSystem":
    """A system that carries out a frozen plan. Raises MissingKernel."""
    if not NATIVE:
        raise MissingKernel
    return NativeSystem(plan)


def _native(kernel: Kernel) -> "NativeKernel":
    assert isinstance(kernel, NativeKernel)
    return kernel
