"""What a step of an FMU in event mode says besides its status, which a kernel does not pass on."""

import ctypes
from collections.abc import Callable
from ctypes import POINTER, c_bool, c_double, c_int, c_void_p
from typing import Any

_OK = 0
_FLAG, _TIME = POINTER(c_bool), POINTER(c_double)
_DO_STEP = ctypes.CFUNCTYPE(c_int, c_void_p, c_double, c_double, c_bool, _FLAG, _FLAG, _FLAG, _TIME)


class ReportedStep:
    """Stands in for fmi3DoStep of one instance, and tells the kernel that every step went all the way.

    Attributes
    ----------
    wants_event
        The last step says that an event is to be handled.
    reached
        Where it ended [s].
    announced
        It has said so of a longer step, which now ends where it did then.
    waits
        The instance is where the next step ends, and does nothing in it.
    """

    def __init__(self, do_step: int) -> None:
        self.wants_event = False
        self.reached: float | None = None
        self.announced = False
        self.waits = False
        self._do_step: Callable[..., int] = _DO_STEP(do_step)
        self._callback = _DO_STEP(self._step)  # kept alive: the kernel has only its address

    @property
    def address(self) -> int:
        return ctypes.cast(self._callback, c_void_p).value or 0

    def reset(self) -> None:
        """Nothing has been heard of the step that begins."""
        self.wants_event = self.announced = self.waits = False
        self.reached = None

    def _step(
        self, component: int, t: float, h: float, final: bool, event: Any, terminate: Any, early: Any, reached: Any
    ) -> int:
        if self.waits:
            event[0] = terminate[0] = early[0] = False
            reached[0] = t + h
            return _OK
        own_event, own_early, own_reached = c_bool(), c_bool(), c_double(t + h)
        flags = (own_event, own_early, own_reached)
        status = self._do_step(component, t, h, final, flags[0], terminate, flags[1], flags[2])
        self.wants_event = own_event.value or own_early.value
        self.reached = own_reached.value if own_early.value else t + h
        event[0] = early[0] = False
        reached[0] = t + h
        return status
