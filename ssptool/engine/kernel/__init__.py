"""The kernel: `_kernel`, in C++. Without it systems are checked, explained and edited, not run."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ssptool.engine.kernel.event_calls import EventCalls
from ssptool.engine.kernel.interface import Kernel, Slots
from ssptool.errors import MissingKernel

if TYPE_CHECKING:
    from ssptool.engine.kernel.ode import OdeCalls, OdeOwner

try:
    from ssptool.engine.kernel._kernel import (
        NativeEvents,
        NativeIntegration,
        NativeKernel,
        NativeOdeComponent,
        NativeSystem,
        idle_functions,
    )
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


def native_integration(
    kernel: Kernel, events: "NativeEvents", calls: "OdeCalls", owner: "OdeOwner"
) -> "NativeIntegration":
    """Integration of components of model exchange that are instances of this kernel."""
    return NativeIntegration(_native(kernel), events, calls, owner)


def native_ode_component(kernel: Kernel) -> "NativeOdeComponent":
    """An ODE as one more instance of this kernel, for `InstanceTable`."""
    return NativeOdeComponent(_native(kernel))


def native_system(plan: bytes) -> "NativeSystem":
    """A system that carries out a frozen plan. Raises MissingKernel."""
    if not NATIVE:
        raise MissingKernel
    return NativeSystem(plan)


def native_idle_functions(fmi_major: int) -> Mapping[str, int]:
    """Addresses of functions for a component whose steps and states are those of an ODE: they do nothing."""
    return idle_functions(fmi_major)


def _native(kernel: Kernel) -> "NativeKernel":
    assert isinstance(kernel, NativeKernel)
    return kernel
