"""Steps on several threads: the same results, whatever happens when."""

import ctypes
import threading
from dataclasses import replace

import numpy as np
import pytest

from ssptool.engine.kernel.calls import FUNCTIONS, Code
from tests.engine.kernel.kernels import create_kernel
from tests.engine.kernel.methods import InstanceTable
from tests.engine.kernel.mock_fmu import DO_STEP
from tests.engine.kernel.test_steps import END, PROGRAMS, coupled

LONG = 1e-4
"""[s] A step that is worth a thread."""


def slow(make_kernel, mocks, threads, seconds=LONG):
    kernel, components = coupled(make_kernel, mocks)
    for mock in components:
        mock.seconds = seconds
    kernel.use_threads(threads)
    return kernel, components


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("threads", [2, 3, 8])
def test_threads_do_not_change_a_bit(mocks, name, threads):
    traces = []
    for count in (1, threads):
        kernel, _components = slow(create_kernel, mocks, count)
        rows = np.empty((100, 12))
        assert kernel.run([*PROGRAMS[name], *END], 0.0, 0.013, 0, rows).steps == 100
        traces.append(rows.tobytes())
    assert traces[0] == traces[1]


def test_short_steps_are_not_worth_a_thread_and_give_the_same(mocks):
    traces = []
    for count in (1, 2):
        kernel, _components = slow(create_kernel, mocks, count, seconds=0.0)
        rows = np.empty((100, 12))
        assert kernel.run([*PROGRAMS["jacobi, held"], *END], 0.0, 0.013, 0, rows).ok
        traces.append(rows.tobytes())
    assert traces[0] == traces[1]


def test_of_steps_that_fail_at_the_same_time_the_first_in_order_is_reported(mocks):
    kernel, components = slow(create_kernel, mocks, 2)
    for mock in components[1:]:
        mock.refuse(DO_STEP, status=3, from_call=10)
    outcome = kernel.run([*PROGRAMS["jacobi, held"], *END], 0.0, 0.013, 0, np.empty((20, 12)))
    assert (outcome.code, outcome.instance, outcome.steps) == (Code.FMI, 1, 9)


def test_threads_end_with_their_kernel_and_can_be_changed(make_kernel, mocks):
    kernel, _components = slow(make_kernel, mocks, 4)
    for count in (2, 1, 3):
        kernel.use_threads(count)
        assert kernel.run([*PROGRAMS["jacobi, held"], *END], 0.0, 0.013, 0, np.empty((10, 12))).ok
    with pytest.raises(ValueError, match="at least 1 thread"):
        kernel.use_threads(0)


# -- beside an instance that is apart --------------------------------------------------------------------------

ALONE = 3
"""Steps in which it is measured how long others take; all are on the thread that asks."""


class Meeting:
    """What two instances do in a step of one second: each waits for the other one to be in its own."""

    def __init__(self, barrier, refuses_from=np.inf):
        self.barrier, self.refuses_from = barrier, refuses_from
        self.met = 0
        self.callers = set()

    def step(self, t, h):
        if t >= self.refuses_from:
            raise ArithmeticError
        self.callers.add(threading.get_ident())
        try:
            self.barrier.wait(0.01 if t < ALONE else 60.0)
            self.met += 1
        except threading.BrokenBarrierError:
            self.barrier.reset()


class Served:
    """An instance of FMI 3.0 whose steps are those of a `Meeting`, and whose other functions do nothing."""

    def __init__(self, meeting):
        flag = ctypes.POINTER(ctypes.c_bool)
        step = (ctypes.c_int, ctypes.c_void_p, ctypes.c_double, ctypes.c_double, ctypes.c_bool, flag, flag, flag)

        def do_step(_own, t, h, _forget, _event, _terminate, _early, reached):
            try:
                meeting.step(t, h)
            except ArithmeticError:
                return 3
            reached[0] = t + h
            return 0

        self.do_step = ctypes.CFUNCTYPE(*step, ctypes.POINTER(ctypes.c_double))(do_step)
        self.nothing = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda _own: 0)

    def table(self, apart):
        functions = dict.fromkeys(FUNCTIONS[3], ctypes.cast(self.nothing, ctypes.c_void_p).value)
        functions["fmi3DoStep"] = ctypes.cast(self.do_step, ctypes.c_void_p).value
        return InstanceTable(3, functions, 1, (), (), (), (), apart=apart)


def beside(order=(0, 1), refuses_from=np.inf):
    """A kernel, the group of both in this order, and both: the second is apart. `kept` are their functions."""
    kernel, barrier = create_kernel(0), threading.Barrier(2)
    both = [Meeting(barrier, refuses_from) for _ in range(2)]
    kept = [Served(one) for one in both]
    for apart, one in enumerate(kept):
        kernel.add(one.table(bool(apart)))
    kernel.use_threads(2)
    return kernel, kernel.group(order), both, kept


def test_what_is_apart_is_stepped_by_the_thread_that_asks_while_another_steps_the_others():
    kernel, group, (free, apart), _kept = beside()
    for t in range(10):
        assert kernel.advance(group, float(t), 1.0).ok
    assert (free.met, apart.met) == (10 - ALONE, 10 - ALONE)
    assert apart.callers == {threading.get_ident()} and len(free.callers) == 2


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_also_beside_one_that_is_apart_the_first_failure_in_order_is_reported(order):
    kernel, group, _both, _kept = beside(order, refuses_from=6.0)
    outcomes = [kernel.advance(group, float(t), 1.0) for t in range(7)]
    assert [outcome.ok for outcome in outcomes] == [True] * 6 + [False]
    assert (outcomes[-1].code, outcomes[-1].instance) == (Code.FMI, order[0])


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_that_is_apart_does_not_change_a_bit(mocks, name):
    traces = []
    for apart in (False, True):
        kernel, components = coupled(create_kernel, Apart(mocks) if apart else mocks)
        for mock in components:
            mock.seconds = LONG
        kernel.use_threads(3 if apart else 1)
        rows = np.empty((50, 12))
        assert kernel.run([*PROGRAMS[name], *END], 0.0, 0.013, 0, rows).steps == 50
        traces.append(rows.tobytes())
    assert traces[0] == traces[1]


class Apart:
    """Mocks of which every second one is apart."""

    def __init__(self, mocks):
        self._mocks, self._made = mocks, 0

    def table(self, *arguments, **options):
        self._made += 1
        return replace(self._mocks.table(*arguments, **options), apart=self._made % 2 == 0)

    def __getattr__(self, name):
        return getattr(self._mocks, name)
