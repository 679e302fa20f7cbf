"""Steps on several threads: the same results, whatever happens when."""

import numpy as np
import pytest

from ssptool.engine.kernel.interface import Code
from tests.engine.kernel.kernels import make_native
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
        kernel, _components = slow(make_native, mocks, count)
        rows = np.empty((100, 12))
        assert kernel.run([*PROGRAMS[name], *END], 0.0, 0.013, 0, rows).steps == 100
        traces.append(rows.tobytes())
    assert traces[0] == traces[1]


def test_short_steps_are_not_worth_a_thread_and_give_the_same(mocks):
    traces = []
    for count in (1, 2):
        kernel, _components = slow(make_native, mocks, count, seconds=0.0)
        rows = np.empty((100, 12))
        assert kernel.run([*PROGRAMS["jacobi, held"], *END], 0.0, 0.013, 0, rows).ok
        traces.append(rows.tobytes())
    assert traces[0] == traces[1]


def test_of_steps_that_fail_at_the_same_time_the_first_in_order_is_reported(mocks):
    kernel, components = slow(make_native, mocks, 2)
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
