"""CVODE of SUNDIALS, in the build that FMPy ships: x' = f(t, x), with roots of g(t, x) on the way.

References
----------
Hindmarsh et al. 2005, "SUNDIALS: Suite of nonlinear and differential/algebraic equation solvers".
"""

import ctypes
import math
from contextlib import suppress
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_double, c_int, c_int64, c_long, c_void_p
from typing import Any, Protocol
from weakref import finalize

import numpy as np
from fmpy.sundials import libraries

from ssptool.engine.kernel.interface import Floats
from ssptool.engine.kernel.ode import Arrival, Effort, Indicators, IntegrationFailed, Matrix, Slopes
from ssptool.engine.ode.integrator import Method

_NORMAL, _ONE_STEP = 1, 2
_TOO_MUCH_WORK = -1
_STOP_TIME_REACHED = 1
_ROOT_FOUND = 2
_RECOVERABLE = 1
_UNRECOVERABLE = -1

_Right = CFUNCTYPE(c_int, c_double, c_void_p, c_void_p, c_void_p)
_Root = CFUNCTYPE(c_int, c_double, c_void_p, c_void_p, c_void_p)
_Jacobian = CFUNCTYPE(c_int, c_double, *(c_void_p,) * 7)
_Report = CFUNCTYPE(None, c_int, c_char_p, c_char_p, c_char_p, c_int, c_void_p, c_void_p)


def _function(library: Any, name: str, result: Any, *arguments: Any) -> Any:
    # An item, unlike an attribute, is a function object of our own: FMPy gives the attributes other types.
    function = library[name]
    function.restype, function.argtypes = result, arguments
    return function


_core, _solver = libraries.sundials_core, libraries.sundials_cvode
_context_create = _function(_core, "SUNContext_Create", c_int, c_int, c_void_p)
_context_free = _function(_core, "SUNContext_Free", c_int, c_void_p)
_context_silence = _function(_core, "SUNContext_ClearErrHandlers", c_int, c_void_p)
_context_listen = _function(_core, "SUNContext_PushErrHandler", c_int, c_void_p, _Report, c_void_p)
_data = _function(_core, "N_VGetArrayPointer", c_void_p, c_void_p)
NUMBERS = ctypes.cast(_data, c_void_p).value or 0
"""Address of the function that finds the numbers of a vector."""
_vector = _function(libraries.sundials_nvecserial, "N_VNew_Serial", c_void_p, c_int64, c_void_p)
_vector_free = _function(libraries.sundials_nvecserial, "N_VDestroy_Serial", None, c_void_p)
_dense = _function(libraries.sundials_sunmatrixdense, "SUNDenseMatrix", c_void_p, c_int64, c_int64, c_void_p)
_dense_data = _function(libraries.sundials_sunmatrixdense, "SUNDenseMatrix_Data", c_void_p, c_void_p)
_dense_free = _function(libraries.sundials_sunmatrixdense, "SUNMatDestroy_Dense", None, c_void_p)
_linear = _function(libraries.sundials_sunlinsoldense, "SUNLinSol_Dense", c_void_p, *(c_void_p,) * 3)
_linear_free = _function(libraries.sundials_sunlinsoldense, "SUNLinSolFree_Dense", c_int, c_void_p)
_create = _function(_solver, "CVodeCreate", c_void_p, c_int, c_void_p)
_init = _function(_solver, "CVodeInit", c_int, c_void_p, _Right, c_double, c_void_p)
_reinit = _function(_solver, "CVodeReInit", c_int, c_void_p, c_double, c_void_p)
_tolerances = _function(_solver, "CVodeSVtolerances", c_int, c_void_p, c_double, c_void_p)
_root_init = _function(_solver, "CVodeRootInit", c_int, c_void_p, c_int, _Root)
_root_info = _function(_solver, "CVodeGetRootInfo", c_int, c_void_p, c_void_p)
_no_root_warning = _function(_solver, "CVodeSetNoInactiveRootWarn", c_int, c_void_p)
_no_small_step_warning = _function(_solver, "CVodeSetMaxHnilWarns", c_int, c_void_p, c_int)
_set_linear = _function(_solver, "CVodeSetLinearSolver", c_int, c_void_p, c_void_p, c_void_p)
_set_jacobian = _function(_solver, "CVodeSetJacFn", c_int, c_void_p, _Jacobian)
_set_first_step = _function(_solver, "CVodeSetInitStep", c_int, c_void_p, c_double)
_first_step = _function(_solver, "CVodeGetActualInitStep", c_int, c_void_p, POINTER(c_double))
_set_max_step = _function(_solver, "CVodeSetMaxStep", c_int, c_void_p, c_double)
_set_user_data = _function(_solver, "CVodeSetUserData", c_int, c_void_p, c_void_p)
_set_stop_time = _function(_solver, "CVodeSetStopTime", c_int, c_void_p, c_double)
_integrate = _function(_solver, "CVode", c_int, c_void_p, c_double, c_void_p, POINTER(c_double), c_int)
_interpolate = _function(_solver, "CVodeGetDky", c_int, c_void_p, c_double, c_int, c_void_p)
_free = _function(_solver, "CVodeFree", None, c_void_p)
_COUNTS = {
    name: _function(_solver, f"CVodeGet{name}", c_int, c_void_p, POINTER(c_long))
    for name in ("NumSteps", "NumRhsEvals", "NumErrTestFails", "NumNonlinSolvConvFails", "NumJacEvals", "NumGEvals")
}


class NativeRight(Protocol):
    """f without Python: a C function, with the user data that it is called with; `rest` does what it cannot."""

    @property
    def function(self) -> int: ...

    @property
    def own(self) -> int: ...

    def rest(self, function: int) -> None: ...

    def origin(self, t: float) -> None: ...


class Cvode:
    """One integrator. `x` (n,) is a view of its state vector; `reach` advances it by one internal step.

    Inside, time is counted from the last start, so that its steps and roots have all their digits however late it is;
    f, g and the Jacobian are asked for at absolute times.

    An exception raised in f, g or the Jacobian ends the step and comes out of `reach`.
    """

    def __init__(
        self,
        method: Method,
        f: Slopes,
        n: int,
        *,
        rtol: float,
        g: Indicators | None = None,
        roots: int = 0,
        jacobian: Matrix | None = None,
        native: NativeRight | None = None,
    ) -> None:
        self._f, self._g, self._matrix = f, g, jacobian
        self._roots = (c_int * roots)()
        self._size = n
        self._rtol = rtol
        self._error: BaseException | None = None
        self._messages: list[str] = []
        self._done = Effort()
        self._started = False
        self._origin = 0.0  # the time of the last start [s]
        self._t = c_double()  # since then
        self._context = self._make_context()
        self._x, self.x = self._make_vector()
        self._atol, self.atol = self._make_vector()
        self._between, self.between = self._make_vector()
        self._memory = _create(method, self._context)
        self._matrix_memory = _dense(n, n, self._context)
        self._linear = _linear(self._x, self._matrix_memory, self._context)
        # CVODE keeps the addresses only, so these must live as long as it does.
        self._callbacks = (_Right(self._right), _Root(self._root), _Jacobian(self._fill))
        self._native = native
        self._function = self._callbacks[0]
        if native is not None:
            native.rest(ctypes.cast(self._function, c_void_p).value or 0)
            self._function = _Right(native.function)
        vectors = (self._x, self._atol, self._between)
        self._release = finalize(
            self, _release, self._memory, self._linear, self._matrix_memory, vectors, self._context, self._report
        )

    def start(self, t: float, first_step: float = 0.0) -> None:
        """Start from t [s] and the present `x`, with the present absolute tolerances `atol` (n,), without history. The
        first step has the given size, or if that is 0 an estimated one.
        """
        self._origin, self._t.value = t, 0.0
        if self._native is not None:
            self._native.origin(t)
        if self._started:
            self._done = self.effort
            self._require(_reinit(self._memory, 0.0, self._x))
        else:
            self._require(_init(self._memory, self._function, 0.0, self._x))
            self._require(_set_linear(self._memory, self._linear, self._matrix_memory))
            if self._native is not None:
                self._require(_set_user_data(self._memory, self._native.own))
            if self._matrix is not None:
                self._require(_set_jacobian(self._memory, self._callbacks[2]))
            if self._roots:
                self._require(_root_init(self._memory, len(self._roots), self._callbacks[1]))
                self._require(_no_root_warning(self._memory))
            self._require(_no_small_step_warning(self._memory, -1))
            self._started = True
        self._require(_tolerances(self._memory, self._rtol, self._atol))
        self._require(_set_first_step(self._memory, first_step))

    def reach(self, limit: float, *, step_by_step: bool = True) -> Arrival:
        """One internal step towards `limit` [s], never past it; shorter where a root is found.

        If it need not be `step_by_step`, as many as lead there, up to some hundreds.

        Raises
        ------
        IntegrationFailed
            No step satisfies the error test, f cannot be evaluated, or `limit` is too close.
        """
        end = limit - self._origin
        self._require(_set_stop_time(self._memory, end))
        flag = _integrate(self._memory, end, self._x, byref(self._t), _ONE_STEP if step_by_step else _NORMAL)
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        if flag == _TOO_MUCH_WORK:
            return Arrival(self.time)
        self._require(flag)
        if flag != _ROOT_FOUND:
            return Arrival(limit if flag == _STOP_TIME_REACHED else self.time)
        self._require(_root_info(self._memory, self._roots))
        return Arrival(self.time, tuple(i for i, found in enumerate(self._roots) if found))

    @property
    def time(self) -> float:
        """Present time [s]."""
        return self._origin + self._t.value

    @property
    def elapsed(self) -> float:
        """Since the last start [s]."""
        return self._t.value

    def limit_step(self, h: float) -> None:
        """No internal step longer than h [s] from now on; inf: no limit."""
        self._require(_set_max_step(self._memory, 0.0 if h == math.inf else h))

    @property
    def first_step(self) -> float:
        """Size of the first step since the last start [s]; 0 where a step since then was too large at first."""
        if self._count("NumErrTestFails"):
            return 0.0
        found = c_double()
        self._require(_first_step(self._memory, byref(found)))
        return found.value

    @property
    def has_moved(self) -> bool:
        """True if there was a step since the last start."""
        return self._count("NumSteps") > 0

    def interpolate(self, t: float) -> None:
        """Fill `between` (n,) with x at a time t [s] within the last step."""
        self._require(_interpolate(self._memory, t - self._origin, 0, self._between))

    @property
    def effort(self) -> Effort:
        if not self._started:
            return self._done
        return self._done + Effort(*map(self._count, _COUNTS))

    def close(self) -> None:
        """Free everything; may be called again. Afterwards only `effort` is available."""
        self._done, self._started = self.effort, False
        self._release()

    def _count(self, name: str) -> int:
        value = c_long()
        return value.value if _COUNTS[name](self._memory, byref(value)) == 0 else 0

    def _make_context(self) -> int:
        context = c_void_p()
        _context_create(0, byref(context))
        messages = self._messages

        def keep(_line: int, _function: bytes, _file: bytes, text: bytes, *_: object) -> None:
            with suppress(Exception):
                messages.append(text.decode("utf-8", errors="replace").strip())

        # Not a method: a finalizer must not keep this object alive.
        self._report = _Report(keep)
        # By default messages go to standard error.
        _context_silence(context)
        _context_listen(context, self._report, None)
        return int(context.value or 0)

    def _make_vector(self) -> tuple[int, Floats]:
        vector = _vector(self._size, self._context)
        return vector, _view(_data(vector), self._size)

    def _require(self, flag: int) -> None:
        if flag < 0:
            reason = self._messages[-1] if self._messages else ""
            raise IntegrationFailed(self.time, reason or f"CVODE ended with {flag}")

    # An exception cannot pass through C, so it waits in `_error` until CVODE has returned.

    def _right(self, t: float, x: int, slopes: int, _user: int) -> int:
        try:
            return 0 if self._f(self._origin + t, _data(x), _data(slopes)) else _RECOVERABLE
        except BaseException as error:
            self._error = error
            return _UNRECOVERABLE

    def _root(self, t: float, x: int, found: int, _user: int) -> int:
        assert self._g is not None
        try:
            return 0 if self._g(self._origin + t, _data(x), found) else _RECOVERABLE
        except BaseException as error:
            self._error = error
            return _UNRECOVERABLE

    def _fill(self, t: float, x: int, _slopes: int, matrix: int, *_: int) -> int:
        assert self._matrix is not None
        try:
            entries = _view(_dense_data(matrix), self._size * self._size).reshape(self._size, self._size, order="F")
            return 0 if self._matrix(self._origin + t, _data(x), entries) else _RECOVERABLE
        except BaseException as error:
            self._error = error
            return _UNRECOVERABLE


def _release(memory: int, linear: int, matrix: int, vectors: tuple[int, ...], context: int, _listener: object) -> None:
    _free(byref(c_void_p(memory)))
    _linear_free(linear)
    _dense_free(matrix)
    for vector in vectors:
        _vector_free(vector)
    _context_free(byref(c_void_p(context)))


def _view(address: int, size: int) -> Floats:
    return np.ctypeslib.as_array(ctypes.cast(address, POINTER(c_double)), (size,))
