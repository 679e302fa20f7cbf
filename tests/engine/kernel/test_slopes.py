"""The right-hand side of an ODE without Python, against the same arithmetic in Python."""

import ctypes
import math
from ctypes import CFUNCTYPE, POINTER, addressof, c_double, c_int, c_size_t, c_void_p

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ssptool.engine.kernel import native_slopes
from ssptool.engine.kernel.interface import Call, Code
from ssptool.engine.ode.system import NO_POLYNOMIALS, OdeInputPolynomials
from tests.engine.kernel.kernels import make_native, make_twin
from tests.engine.kernel.mock_fmu import GET, Mock

EVALUATE = CFUNCTYPE(c_int, c_double, c_void_p, c_void_p, c_void_p)
NUMBERS = CFUNCTYPE(c_void_p, c_void_p)
SET_TIME = CFUNCTYPE(c_int, c_void_p, c_double)
STATES = CFUNCTYPE(c_int, c_void_p, POINTER(c_double), c_size_t)

TIME, STATES_SET, SWEEP, SLOPES, FINITE = range(1, 6)
"""Where an evaluation can stop."""

OUTSIDE, INPUT, OUTPUT = range(3)
"""Slots: what leads into the system, and the input that it is wired to; the output y = 2 u of the component."""

REST = 7
"""What the rest of an evaluation returns."""


class Model:
    """x' = x · y + t, element by element, with y = 2 u of a mock as it is when x' is asked for.

    Calls are logged, those for slopes with the number of times that the mock's outputs were asked for before.
    """

    def __init__(self, mock: Mock, states: int, log: list[str]) -> None:
        self.t, self.x, self.statuses = math.nan, [math.nan] * states, dict.fromkeys((TIME, STATES_SET, SLOPES), 0)
        self._mock, self._log, self._states = mock, log, states
        self._functions = SET_TIME(self._set_time), STATES(self._set_states), STATES(self._slopes)

    @property
    def part(self) -> tuple[int, int, int, int, int]:
        set_time, set_states, slopes = (ctypes.cast(one, c_void_p).value or 0 for one in self._functions)
        return addressof(self._mock), set_time, set_states, slopes, self._states

    def _set_time(self, component: int, t: float) -> int:
        assert component == addressof(self._mock)
        self._log.append("time")
        self.t = t
        return self.statuses[TIME]

    def _set_states(self, _component: int, x, count: int) -> int:
        self._log.append("states")
        self.x = x[:count]
        return self.statuses[STATES_SET]

    def _slopes(self, _component: int, slopes, count: int) -> int:
        self._log.append(f"slopes after {self._mock.calls[GET]}")
        for i in range(count):
            slopes[i] = self.x[i] * (2.0 * self._mock.u[0]) + self.t
        return self.statuses[SLOPES]


class Ode:
    """Components with so many states each, all fed by one output; vectors hold the address of their numbers."""

    def __init__(self, mocks, *states: int, rest: bool = True) -> None:
        self.kernel = make_native(3)
        self.mock, self.log, self.rests = Mock([[2.0]]), [], []
        self.kernel.add(mocks.table(self.kernel, self.mock, [INPUT], [OUTPUT]))
        self.kernel.connect([OUTSIDE], [INPUT], [1.0], [0.0])
        self.models = [Model(self.mock, count, self.log) for count in states]
        self._numbers = NUMBERS(lambda vector: c_void_p.from_address(vector).value)
        self.native = native_slopes(
            self.kernel,
            self.kernel.schedule([Call(0, [INPUT], [OUTPUT])]),
            [model.part for model in self.models],
            [OUTSIDE],
            ctypes.cast(self._numbers, c_void_p).value or 0,
        )
        self._rest = EVALUATE(self._do_rest)
        if rest:
            self.native.rest(ctypes.cast(self._rest, c_void_p).value)

    def _do_rest(self, *arguments) -> int:
        self.rests.append(arguments)
        return REST

    def evaluate(self, t: float, x: np.ndarray) -> tuple[int, np.ndarray]:
        """What an integrator is told, and the slopes."""
        slopes = np.full(max(1, len(x)), -1.0)
        vectors = c_void_p(x.ctypes.data), c_void_p(slopes.ctypes.data)
        self.arguments = t, *map(addressof, vectors), self.native.own
        return EVALUATE(self.native.function)(*self.arguments), slopes


@pytest.fixture
def ode(mocks) -> Ode:
    return Ode(mocks, 2, 1)


numbers = st.floats(-1e6, 1e6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    t=numbers, start=numbers, course=st.tuples(numbers, numbers, numbers), x=st.lists(numbers, min_size=3, max_size=3)
)
def test_slopes_have_the_bits_of_the_same_arithmetic_in_python(mocks, t, start, course, x):
    ode = Ode(mocks, 2, 1)
    inputs = OdeInputPolynomials(start, *(np.array([one]) for one in course))
    ode.native.input_polynomials(*inputs)
    status, slopes = ode.evaluate(t, np.array(x))
    assert status == 0
    (u,) = inputs.at(t).tolist()
    assert slopes.tolist() == [one * (2.0 * u) + t for one in x]


def test_all_components_have_time_and_states_before_outputs_and_outputs_before_slopes(ode):
    ode.evaluate(1.0, np.array([1.0, 2.0, 3.0]))
    assert ode.log == ["time", "states", "time", "states", "slopes after 1", "slopes after 1"]
    assert [model.x for model in ode.models] == [[1.0, 2.0], [3.0]]


def test_without_a_course_inputs_stay_as_they_are(ode):
    ode.native.input_polynomials(0.0, np.ones(1), np.ones(1), np.ones(1))
    ode.native.input_polynomials(*NO_POLYNOMIALS)
    ode.kernel.values[OUTSIDE] = 5.0
    _, slopes = ode.evaluate(3.0, np.array([1.0, 2.0, 3.0]))
    assert slopes.tolist() == [13.0, 23.0, 33.0]


def test_components_without_states_are_told_the_time_and_nothing_else(mocks):
    """The integrator needs a state all the same: one that is constant."""
    ode = Ode(mocks, 0, 0)
    assert (ode.log, ode.evaluate(4.0, np.zeros(1))[1].tolist()) == (["time", "time"], [0.0])
    assert [model.t for model in ode.models] == [4.0, 4.0]


@pytest.mark.parametrize("status", [2, 3])
@pytest.mark.parametrize(
    ("stage", "done"),
    [
        (TIME, ["time", "states", "time"]),
        (STATES_SET, ["time", "states", "time", "states"]),
        (SLOPES, ["time", "states", "time", "states", "slopes after 1", "slopes after 1"]),
    ],
)
def test_a_refusal_is_told_with_its_place_and_nobody_is_asked_further(ode, stage, done, status):
    ode.models[1].statuses[stage] = status
    assert ode.evaluate(0.0, np.ones(3))[0] == REST
    assert ode.log == done
    found = ode.native.take_trouble()
    assert found[:3] == (stage, 1, status) and found[3].ok


@pytest.mark.parametrize("stage", [TIME, STATES_SET, SLOPES])
def test_warnings_end_nothing(ode, stage):
    ode.models[0].statuses[stage] = 1
    assert ode.evaluate(0.0, np.ones(3))[0] == 0
    assert ode.native.take_trouble() is None and not ode.rests


def test_outputs_that_cannot_be_had_are_told_as_the_kernel_tells_them(ode):
    ode.mock.refuse(GET)
    assert ode.evaluate(0.0, np.ones(3))[0] == REST
    stage, _, _, outcome = ode.native.take_trouble()
    assert (stage, outcome.code, outcome.instance, outcome.fmi_status) == (SWEEP, Code.FMI, 0, 3)
    assert ode.log == ["time", "states", "time", "states"]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_slopes_that_are_no_numbers_are_left_to_the_rest(ode, bad):
    status, _ = ode.evaluate(0.0, np.array([1.0, 1.0, 1.0]) * [1.0, bad, 1.0])
    assert status == REST
    assert ode.native.take_trouble()[0] == FINITE


def test_the_rest_is_given_what_the_integrator_gave_and_trouble_is_told_once(ode):
    ode.models[0].statuses[SLOPES] = 3
    ode.evaluate(0.5, np.ones(3))
    assert ode.rests == [ode.arguments]
    assert ode.native.take_trouble() is not None
    assert ode.native.take_trouble() is None


def test_what_nobody_does_the_rest_of_ends_the_integration(mocks):
    """Less than zero is what an integrator does not try again (CVODE: unrecoverable)."""
    ode = Ode(mocks, 1, rest=False)
    assert ode.evaluate(0.0, np.ones(1))[0] == 0
    ode.models[0].statuses[TIME] = 3
    assert ode.evaluate(0.0, np.ones(1))[0] < 0


@pytest.mark.parametrize("sizes", [(1, 0, 0), (1, 1, 0), (0, 1, 1), (2, 2, 2), (0, 0, 1)])
def test_courses_of_other_lengths_than_the_inputs_are_refused(ode, sizes):
    with pytest.raises(ValueError, match="as many values as inputs"):
        ode.native.input_polynomials(0.0, *map(np.zeros, sizes))


def test_inputs_without_a_slot_are_refused(mocks):
    kernel = make_native(2)
    with pytest.raises(IndexError, match="slot 2 does not exist"):
        native_slopes(kernel, kernel.schedule([]), [], [2], 0)


def test_the_twin_has_none():
    kernel = make_twin(1)
    assert native_slopes(kernel, kernel.schedule([]), [], [], 0) is None


def test_they_keep_their_kernel_alive(mocks):
    ode = Ode(mocks, 1)
    del ode.kernel
    assert ode.evaluate(2.0, np.ones(1))[1].tolist() == [2.0]
