"""ODE as an instance of the kernel: the functions of an FMI 3.0 co-simulation FMU, served by the native kernel, or from
Python for the twin.

One thread calls it and the components that it integrates (`apart` of all others, which may be stepped meanwhile). It
has no variables. Its inputs are those of the components of model exchange, which the kernel has as instances of their
own: they set inputs and compute outputs as others do, but their own steps do nothing."""

import ctypes
from collections.abc import Callable, Mapping
from ctypes import CFUNCTYPE, POINTER, c_bool, c_double, c_int, c_void_p
from dataclasses import replace
from typing import Any, Protocol

from ssptool.engine.assembly.event_members import StepReport
from ssptool.engine.failure import Failure, IntegrationStopped
from ssptool.engine.kernel import native_idle_functions, native_ode_component
from ssptool.engine.kernel.interface import FUNCTIONS, InstanceTable, Kernel

_OK, _DISCARD, _ERROR = 0, 2, 3
_FLAG = POINTER(c_bool)
_DO_STEP = CFUNCTYPE(c_int, c_void_p, c_double, c_double, c_bool, _FLAG, _FLAG, _FLAG, POINTER(c_double))
_STATE = CFUNCTYPE(c_int, c_void_p, POINTER(c_void_p))
_SET_STATE = CFUNCTYPE(c_int, c_void_p, c_void_p)
_NOTHING = CFUNCTYPE(c_int, c_void_p)


class SteppedInstance(Protocol):
    """A stepped ODE; all methods but `free` raise `IntegrationStopped`."""

    def step(self, t: float, h: float) -> float | None:
        """Step from t to t + h [s]; returns an earlier time where an event must be handled."""
        ...

    def save(self, number: int) -> int: ...

    def restore(self, number: int) -> None: ...

    def free(self, number: int) -> None: ...


class OdeInstance:
    """Functions of the ODE's instance; `stepped` must be set before the first call.

    Failures and exceptions are kept in `failure` and `error` for the caller of the kernel. With a `report`, steps may
    end at events.
    """

    def __init__(self, report: StepReport | None = None) -> None:
        self.report = report
        self.stepped: SteppedInstance
        self.failure: Failure | None = None
        self.error: BaseException | None = None
        # The kernel keeps the addresses only.
        self._callbacks = {
            "fmi3DoStep": _DO_STEP(lambda _own, t, h, _forget, *said: self._guarded(lambda: self._step(t, h, *said))),
            "fmi3GetFMUState": _STATE(lambda _own, place: self._guarded(lambda: self._save(place))),
            "fmi3SetFMUState": _SET_STATE(lambda _own, number: self._guarded(lambda: self.stepped.restore(number))),
            "fmi3FreeFMUState": _STATE(lambda _own, place: self._guarded(lambda: self._free(place))),
        }

    def table(self) -> InstanceTable:
        addresses = {name: _address(_idle) for name in FUNCTIONS[3]}
        addresses |= {name: _address(callback) for name, callback in self._callbacks.items()}
        return _table(addresses, 1, self.report)

    def explain(self) -> Failure:
        """Failure of the last call; raises errors that are not of a component."""
        if self.failure is not None:
            return self.failure
        raise self.error or AssertionError("nothing has failed")

    def _step(self, t: float, h: float, event: Any, _terminate: Any, early: Any, reached: Any) -> None:
        found = self.stepped.step(t, h)
        event[0] = early[0] = found is not None
        reached[0] = t + h if found is None else found

    def _save(self, place: Any) -> None:
        place[0] = self.stepped.save(place[0] or 0)

    def _free(self, place: Any) -> None:
        self.stepped.free(place[0] or 0)
        place[0] = None

    def _guarded(self, action: Callable[[], None]) -> int:
        # An exception cannot pass through the kernel.
        self.failure = self.error = None
        try:
            action()
        except IntegrationStopped as stopped:
            self.failure = stopped.failure
            return _DISCARD if stopped.failure.recoverable else _ERROR
        except BaseException as error:
            self.error = error
            return _ERROR
        return _OK


class KernelOdeInstance:
    """The same served by the native kernel; whoever integrates sets `explanation` before the first call."""

    def __init__(self, kernel: Kernel, report: StepReport | None = None) -> None:
        self.report = report
        self.core = native_ode_component(kernel)
        self.explanation: Callable[[], Failure]

    def table(self) -> InstanceTable:
        return _table(self.core.functions(FUNCTIONS[3]), self.core.address, self.report)

    def explain(self) -> Failure:
        """Failure of the last call; raises errors that are not of a component."""
        return self.explanation()


def _table(functions: Mapping[str, int], component: int, report: StepReport | None) -> InstanceTable:
    numbers = None if report is None else report.numbers
    return InstanceTable(3, functions, component, (), (), (), (), report=numbers, apart=True)


def idle_steps(table: InstanceTable, *, native: bool) -> InstanceTable:
    """The same instance with steps that do nothing and states that are not saved: the ODE does both."""
    idle = native_idle_functions(table.fmi_major) if native else _IDLE[table.fmi_major]
    return replace(table, functions={**table.functions, **idle}, apart=True)


_idle = _NOTHING(lambda _own: _OK)  # further arguments are for the caller to take away


def _pretend(_own: int, place: Any) -> int:
    place[0] = 1  # not a null pointer, which would be no state at all
    return _OK


_pretended = _STATE(_pretend)


def _address(callback: Any) -> int:
    return ctypes.cast(callback, c_void_p).value or 0


_IDLE: Mapping[int, Mapping[str, int]] = {
    2: {
        "fmi2DoStep": _address(_idle),
        "fmi2SetRealInputDerivatives": _address(_idle),
        "fmi2GetFMUstate": _address(_pretended),
        "fmi2SetFMUstate": _address(_idle),
        "fmi2FreeFMUstate": _address(_idle),
    },
    3: {
        "fmi3DoStep": _address(_idle),
        "fmi3GetFMUState": _address(_pretended),
        "fmi3SetFMUState": _address(_idle),
        "fmi3FreeFMUState": _address(_idle),
    },
}
