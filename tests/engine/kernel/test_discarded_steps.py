"""Steps that an FMU discards are done in smaller ones, where it can go back to their start.

The FMU of FMI 2.0 is x' = u with u on a line, which it integrates exactly, in steps of at most `longest`.
"""

import ctypes
from ctypes import POINTER, c_double, c_int, c_size_t, c_uint, c_void_p
from dataclasses import dataclass, field

import pytest

from ssptool.engine.kernel.calls import FUNCTIONS, Code
from tests.engine.kernel.methods import InstanceTable

OK, DISCARD = 0, 2
LAST_SUCCESSFUL_TIME, TERMINATED = 2, 3
_DO_STEP = ctypes.CFUNCTYPE(c_int, c_void_p, c_double, c_double, c_int)
_REALS = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(c_uint), c_size_t, POINTER(c_double))
_RATES = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(c_uint), c_size_t, POINTER(c_int), POINTER(c_double))
_TAKE = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(c_void_p))
_PUT = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)
_DERIVATIVES = ctypes.CFUNCTYPE(
    c_int, c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, POINTER(c_double), POINTER(c_double)
)
_BOOLEAN = ctypes.CFUNCTYPE(c_int, c_void_p, c_int, POINTER(c_int))
_REAL = ctypes.CFUNCTYPE(c_int, c_void_p, c_int, POINTER(c_double))


@dataclass
class Integrator:
    """An FMU; `spoils`: a discarded step leaves its state wrong. `tells`: it says where it is."""

    longest: float
    spoils: bool = True
    tells: bool = False
    ends: bool = False
    from_time: float = -1.0  # it discards from then on [s]
    x: float = 0.0
    u: float = 0.0
    rate: float = 0.0
    t: float = 0.0
    steps: list[tuple[float, float]] = field(default_factory=list)
    discarded: int = 0
    saved: list[tuple[float, float]] = field(default_factory=list)

    def do_step(self, _, t, h, _no_set_state):
        if h > self.longest and t >= self.from_time:
            self.discarded += 1
            if self.spoils:
                self.x, self.t = self.x + 100.0, t + h / 3
            return DISCARD
        self.x += h * (self.u + 0.5 * h * self.rate)
        self.t = t + h
        self.steps.append((t, h))
        return OK

    def set_real(self, _, references, count, values):
        if count:
            self.u, self.rate = values[0], 0.0
        return OK

    def set_rates(self, _, references, count, orders, values):
        self.rate = values[0]
        return OK

    def get_real(self, _, references, count, values):
        if count:
            values[0] = self.x
        return OK

    def get_state(self, _, state):
        self.saved.append((self.x, self.t))
        state[0] = len(self.saved)
        return OK

    def set_state(self, _, state):
        self.x, self.t = self.saved[state - 1]
        return OK

    def boolean_status(self, _, kind, value):
        value[0] = int(self.ends and kind == TERMINATED)
        return OK

    def real_status(self, _, kind, value):
        assert kind == LAST_SUCCESSFUL_TIME
        value[0] = self.t
        return OK if self.tells else DISCARD

    def functions(self):
        """Its functions by name, which must live as long as it is used."""
        return {
            "fmi2DoStep": _DO_STEP(self.do_step),
            "fmi2SetReal": _REALS(self.set_real),
            "fmi2GetReal": _REALS(self.get_real),
            "fmi2SetRealInputDerivatives": _RATES(self.set_rates),
            "fmi2GetFMUstate": _TAKE(self.get_state),
            "fmi2SetFMUstate": _PUT(self.set_state),
            "fmi2FreeFMUstate": _TAKE(lambda *_: OK),
            "fmi2GetDirectionalDerivative": _DERIVATIVES(lambda *_: DISCARD),
            "fmi2GetBooleanStatus": _BOOLEAN(self.boolean_status),
            "fmi2GetRealStatus": _REAL(self.real_status),
        }


@pytest.fixture
def stepping(make_kernel):
    """Gives a kernel with one such FMU, whose input is 3 + 2 t."""
    alive = []

    def make(fmu):
        functions = fmu.functions()
        alive.append(functions)
        kernel = make_kernel(2)
        addresses = {name: ctypes.cast(one, c_void_p).value for name, one in functions.items()}
        assert set(FUNCTIONS[2]) <= addresses.keys()
        kernel.add(InstanceTable(2, addresses, 1, (0,), (0,), (1,), (1,)))
        return kernel, kernel.group([0])

    yield make


def step(kernel, group, t, h):
    kernel.values[0] = 3 + 2 * (t + h)
    kernel.input_value[0], kernel.input_rates[0, 0] = 3 + 2 * t, 2.0
    return kernel.advance(group, t, h)


def exact(t):
    return 3 * t + t * t


def test_it_goes_back_to_a_saved_state(stepping):
    fmu = Integrator(longest=0.3)
    kernel, group = stepping(fmu)
    for t in (0.0, 1.0):
        assert kernel.save(group).ok
        assert step(kernel, group, t, 1.0).ok
        assert kernel.values[1] == pytest.approx(exact(t + 1), rel=1e-14)
    assert fmu.steps == [(k / 4, 0.25) for k in range(8)]
    assert fmu.discarded == 4  # 1 and 1/2, twice
    assert (kernel.input_value[0], kernel.input_rates[0, 0]) == (5.0, 2.0)  # as before
    kernel.restore(group)
    assert fmu.x == pytest.approx(exact(1), rel=1e-14)
    found = kernel.divided_steps
    assert [tuple(one) for one in found] == [(0, 2, 4, 0.0)]


def test_it_is_where_it_says_that_it_is(stepping):
    fmu = Integrator(longest=0.3, spoils=False, tells=True)
    kernel, group = stepping(fmu)
    assert step(kernel, group, 0.0, 1.0).ok
    assert kernel.values[1] == pytest.approx(exact(1), rel=1e-14)
    assert [h for _, h in fmu.steps] == [0.25] * 4


@pytest.mark.parametrize("spoils", [True, False])
def test_without_either_it_is_not_known_where_it_is(stepping, spoils):
    fmu = Integrator(longest=0.3, spoils=spoils, tells=spoils)  # beyond the start, or silent
    kernel, group = stepping(fmu)
    outcome = step(kernel, group, 0.0, 1.0)
    assert (outcome.code, outcome.function, outcome.fmi_status) == (Code.FMI, "fmi2DoStep", DISCARD)
    assert fmu.steps == []


def test_a_state_of_an_earlier_step_is_no_way_back(stepping):
    fmu = Integrator(longest=0.3, from_time=0.9)
    kernel, group = stepping(fmu)
    assert kernel.save(group).ok
    assert step(kernel, group, 0.0, 1.0).ok
    assert not step(kernel, group, 1.0, 1.0).ok
    assert [t for t, _ in fmu.steps] == [0.0]


def test_an_end_is_an_end(stepping):
    fmu = Integrator(longest=0.3, ends=True)
    kernel, group = stepping(fmu)
    assert kernel.save(group).ok
    assert not step(kernel, group, 0.0, 1.0).ok
    assert (fmu.steps, fmu.discarded) == ([], 1)


def test_there_is_a_smallest_part(stepping):
    fmu = Integrator(longest=1e-4)
    kernel, group = stepping(fmu)
    assert kernel.save(group).ok
    outcome = step(kernel, group, 0.0, 1.0)
    assert (outcome.code, outcome.fmi_status) == (Code.FMI, DISCARD)
    assert fmu.discarded == 11  # 1, 1/2, …, 1/1024
    assert kernel.divided_steps == ()
