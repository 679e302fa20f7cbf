"""What a step of an FMU of FMI 1.0 may answer."""

import ctypes

import pytest

from ssptool.engine.kernel.calls import Code
from tests.engine.kernel.methods import InstanceTable

_DO_STEP = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_double, ctypes.c_double, ctypes.c_bool)
_ACCESS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


@pytest.fixture
def answering(make_kernel):
    """A kernel with an FMU whose steps answer this; and its functions, which must live as long."""

    def make(status):
        functions = {
            "fmiDoStep": _DO_STEP(lambda *_: status),
            **{name: _ACCESS(lambda *_: 0) for name in ("fmiSetReal", "fmiGetReal", "fmiSetRealInputDerivatives")},
        }
        addresses = {name: ctypes.cast(one, ctypes.c_void_p).value for name, one in functions.items()}
        kernel = make_kernel(0)
        kernel.add(InstanceTable(1, addresses, 1, (), (), (), ()))
        return kernel, kernel.group([0]), functions

    return make


@pytest.mark.parametrize("status", [0, 1])
def test_ok_and_a_warning_are_a_step(answering, status):
    kernel, group, _functions = answering(status)
    assert kernel.advance(group, 0.0, 0.1).ok


@pytest.mark.parametrize("status", [2, 3, 4, 5], ids=["discard", "error", "fatal", "pending"])
def test_what_is_worse_ends_the_run_pending_included(answering, status):
    """Steps that go on in the background (fmiPending) are not waited for."""
    kernel, group, _functions = answering(status)
    outcome = kernel.advance(group, 0.0, 0.1)
    assert (outcome.code, outcome.function, outcome.fmi_status) == (Code.FMI, "fmiDoStep", status)
