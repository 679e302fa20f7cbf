"""Instances that do several steps in each step of the kernel."""

from dataclasses import replace

import numpy as np
import pytest

from ssptool.engine.kernel.calls import Substeps
from tests.engine.kernel.mock_fmu import DO_STEP, Mock

H = 0.2


def integrator(make_kernel, mocks, substeps):
    """Slot 1 is the integral of slot 0."""
    kernel, mock = make_kernel(2), Mock()
    kernel.add(replace(mocks.table(kernel, mock, [0], [1]), substeps=substeps))
    return kernel, mock, kernel.group([0])


@pytest.mark.parametrize("count", [1, 3, 8])
@pytest.mark.parametrize("follows", [True, False])
def test_moving_inputs_run_over_substeps(make_kernel, mocks, count, follows):
    """∫ of 2 - 3 t + 30 t² is exact where the FMU follows it, else that of the midpoint rule."""
    kernel, mock, group = integrator(make_kernel, mocks, Substeps(count, follows, moving=(0,)))
    kernel.input_value[0], kernel.input_rates[:, 0] = 2.0, (-3.0, 60.0)
    assert kernel.advance(group, 0.0, H).ok
    t = (np.arange(count) + 0.5) * H / count
    middles = H / count * np.sum(2.0 - 3.0 * t + 30.0 * t**2)
    exact = 2.0 * H - 1.5 * H**2 + 10.0 * H**3
    expected = exact if follows or count == 1 else middles
    assert kernel.values[1] == pytest.approx(expected, rel=1e-14)
    assert mock.calls[DO_STEP] == count
    assert mock.last_t == pytest.approx(H - H / count) and mock.last_h == pytest.approx(H / count)
    assert (kernel.input_value[0], *kernel.input_rates[:, 0]) == (2.0, -3.0, 60.0)


def test_a_step_that_fails_among_them_ends_it(make_kernel, mocks):
    kernel, mock, group = integrator(make_kernel, mocks, Substeps(4, True, moving=(0,)))
    mock.refuse(DO_STEP, from_call=3)
    outcome = kernel.advance(group, 0.0, H)
    assert not outcome.ok and mock.calls[DO_STEP] == 3


def test_no_steps_at_all_are_refused(make_kernel, mocks):
    with pytest.raises(ValueError, match="must be at least 1"):
        integrator(make_kernel, mocks, Substeps(0))
