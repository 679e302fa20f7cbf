"""Wires, and the polynomials that inputs follow over a step."""

import math
from contextlib import nullcontext
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest import approx

from tests.engine.kernel.mock_fmu import DO_STEP, SET, SET_RATES, Mock, Mocks

# Fixtures of one example serve all others of the same test: each builds its own kernel and component.
shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)

numbers = st.floats(-10, 10, allow_subnormal=False)
steps = st.lists(st.floats(0.01, 2.0), min_size=3, max_size=6)


def integrator(make_kernel, mocks):
    """A kernel with one component: slot 1 feeds its input, slot 0; slot 2 is the integral of it."""
    kernel, mock = make_kernel(3), Mock()
    kernel.add(mocks.table(kernel, mock, inputs=[0], outputs=[2]))
    kernel.connect([1], [0], [1.0], [0.0])
    return kernel, mock, kernel.group([0])


def polynomial(coefficients, t):
    return sum(c * t**k for k, c in enumerate(coefficients))


def integral(coefficients, t0, t1):
    def primitive(t):
        return sum(c * t ** (k + 1) / (k + 1) for k, c in enumerate(coefficients))

    return primitive(t1) - primitive(t0)


def tolerance(coefficients, times):
    """Divided differences lose digits where steps are small beside the values: 1e-10 of their scale is left."""
    return 1e-10 * max(1.0, *(abs(c) * max(1.0, times[-1]) ** 3 for c in coefficients))


def test_a_wire_scales_and_shifts(make_kernel, mocks):
    """u = factor · y + offset; two inputs may share a source."""
    kernel = make_kernel(4)
    kernel.add(mocks.table(kernel, Mock(), inputs=[0, 1], outputs=[]))
    kernel.connect([3, 3], [0, 1], [2.0, -0.5], [1.0, 0.25])
    group = kernel.group([0])
    kernel.values[3] = 4.0
    kernel.exchange(group)
    assert kernel.values.tolist() == [9.0, -1.75, 0.0, 4.0]


def test_exchange_copies_only_into_the_group(make_kernel, mocks):
    kernel = make_kernel(3)
    for slot in (0, 1):
        kernel.add(mocks.table(kernel, Mock(), inputs=[slot], outputs=[]))
    kernel.connect([2, 2], [0, 1], [1.0, 1.0], [0.0, 0.0])
    second = kernel.group([1])
    kernel.values[2] = 5.0
    kernel.exchange(second)
    assert kernel.values.tolist() == [0.0, 5.0, 5.0]


def test_an_output_of_the_system_is_copied_when_the_step_is_accepted(make_kernel, mocks):
    kernel = make_kernel(2)
    kernel.add(mocks.table(kernel, Mock(), inputs=[], outputs=[0]))
    kernel.connect([0], [1], [1e3], [0.0])
    kernel.group([0])
    kernel.values[0] = 0.5
    kernel.accept(0.0)
    assert kernel.values[1] == 500.0


def test_held_inputs_keep_their_value(make_kernel, mocks):
    kernel, mock, group = integrator(make_kernel, mocks)
    kernel.values[0] = 3.0
    kernel.hold(group)
    kernel.values[0] = 99.0  # what happens to the slot afterwards does not matter
    assert kernel.advance(group, 0.0, 0.5).ok
    assert kernel.values[2] == pytest.approx(1.5, rel=1e-15)
    assert mock.calls[SET_RATES] == 0


@shared
@given(coefficients=st.lists(numbers, min_size=1, max_size=3), widths=steps)
def test_extrapolation_continues_a_polynomial_of_its_order(make_kernel, mocks, coefficients, widths):
    """Points on a polynomial of degree ≤ 2 at unequal steps: its continuation is exact, and so is the integral."""
    kernel, _mock, group = integrator(make_kernel, mocks)
    times = [0.0, *accumulate(widths)]
    for t in times[:-1]:
        kernel.values[0] = polynomial(coefficients, t)
        kernel.accept(t)
    t, end = times[-2:]
    kernel.values[0] = 1e9  # extrapolation looks at accepted points only
    kernel.extrapolate(group, 2)
    assert kernel.advance(group, t, end - t).ok
    assert kernel.values[2] == pytest.approx(integral(coefficients, t, end), abs=tolerance(coefficients, times))


@shared
@given(coefficients=st.lists(numbers, min_size=1, max_size=3), widths=steps)
def test_interpolation_follows_a_polynomial_of_its_order(make_kernel, mocks, coefficients, widths):
    kernel, _mock, group = integrator(make_kernel, mocks)
    times = [0.0, *accumulate(widths)]
    for t in times[:-1]:
        kernel.values[0] = polynomial(coefficients, t)
        kernel.accept(t)
    t, end = times[-2:]
    kernel.values[0] = polynomial(coefficients, end)
    kernel.interpolate(group, 2, end - t)
    assert kernel.advance(group, t, end - t).ok
    assert kernel.values[2] == pytest.approx(integral(coefficients, t, end), abs=tolerance(coefficients, times))


@pytest.mark.parametrize(("points", "rates"), [(1, (0.0, 0.0)), (2, (3.0, 0.0)), (3, (4.0, 2.0)), (4, (6.0, 2.0))])
def test_extrapolation_uses_as_many_points_as_there_are(make_kernel, mocks, points, rates):
    """Of t² at t = 0, 1 (slope 1 at most), …: with y = t² + 2t: the line through t = 0, 1 has slope 3."""
    kernel, _, group = integrator(make_kernel, mocks)
    for t in range(points):
        kernel.values[0] = t**2 + 2.0 * t
        kernel.accept(float(t))
    kernel.extrapolate(group, 2)
    expected = rates if points < 3 else (2.0 * (points - 1) + 2.0, 2.0)
    assert kernel.input_rates[:, 0].tolist() == pytest.approx(expected, abs=1e-13)
    assert kernel.input_value[0] == (points - 1) ** 2 + 2.0 * (points - 1)


def test_the_first_interpolated_step_is_linear(make_kernel, mocks):
    kernel, _, group = integrator(make_kernel, mocks)
    kernel.values[0] = 1.0
    kernel.accept(0.0)
    kernel.values[0] = 2.0
    kernel.interpolate(group, 2, 0.25)
    assert kernel.input_value[0] == 1.0
    assert kernel.input_rates[:, 0].tolist() == [4.0, 0.0]


@pytest.mark.parametrize("operation", ["extrapolate", "interpolate"])
def test_without_history_inputs_are_held(make_kernel, mocks, operation):
    kernel, _, group = integrator(make_kernel, mocks)
    kernel.values[0] = 7.0
    arguments = (group, 1) if operation == "extrapolate" else (group, 1, 0.1)
    getattr(kernel, operation)(*arguments)
    assert kernel.input_value[0] == 7.0
    assert not kernel.input_rates.any()


def test_accepting_an_instant_again_replaces_it(make_kernel, mocks):
    kernel, _, group = integrator(make_kernel, mocks)
    for t, value in [(0.0, 0.0), (1.0, 50.0), (2.0, 60.0), (1.0, 3.0)]:
        kernel.values[0] = value
        kernel.accept(t)
    kernel.extrapolate(group, 2)
    assert kernel.input_value[0] == 3.0
    assert kernel.input_rates[:, 0].tolist() == [3.0, 0.0]


@pytest.mark.parametrize("order", [1, 2])
def test_stale_rates_do_not_act_on_held_inputs(make_kernel, mocks, order):
    """After a step with input derivatives, a held step integrates a constant."""
    kernel, mock, group = integrator(make_kernel, mocks)
    for t in (0.0, 1.0, 2.0):
        kernel.values[0] = t**order
        kernel.accept(t)
    kernel.extrapolate(group, order)
    assert kernel.advance(group, 2.0, 1.0).ok
    kernel.values[0] = 5.0
    kernel.hold(group)
    for t in (3.0, 4.0):
        before = kernel.values[2]
        assert kernel.advance(group, t, 1.0).ok
        assert kernel.values[2] - before == pytest.approx(5.0, rel=1e-14)
    if mocks.version == 2:
        assert mock.calls[SET_RATES] == 2  # the rates, then once the zeros


def test_stale_rates_do_not_come_back_with_a_restored_state(make_kernel, mocks):
    kernel, _, group = integrator(make_kernel, mocks)
    kernel.input_value[0], kernel.input_rates[0, 0] = 0.0, 1.0
    assert kernel.advance(group, 0.0, 1.0).ok
    assert kernel.save(group).ok
    kernel.values[0] = 5.0
    kernel.hold(group)
    results = []
    for _ in range(2):
        assert kernel.restore(group).ok
        assert kernel.advance(group, 1.0, 1.0).ok
        results.append(kernel.values[2])
    kernel.release()
    assert results == pytest.approx([5.5, 5.5], rel=1e-14)


def test_an_fmi3_component_without_intermediate_update_cannot_follow_rates(make_kernel, mock_library):
    """The kernel says so instead of holding the input silently."""
    mocks, mock, kernel = Mocks(mock_library, 3), Mock(), make_kernel(2)
    kernel.add(mocks.table(kernel, mock, inputs=[0], outputs=[1], ask=False))
    group = kernel.group([0])
    kernel.input_rates[0, 0] = 1.0
    outcome = kernel.advance(group, 0.0, 1.0)
    assert (outcome.code.name, outcome.instance, outcome.function) == ("FMI", 0, "fmi3DoStep:intermediateUpdate")
    assert mock.calls[DO_STEP] == 0


@pytest.mark.parametrize("order", [-1, 0, 3])
def test_orders_other_than_1_and_2_are_refused(make_kernel, mocks, order):
    """Of order 0, the mean of both ends is interpolated."""
    kernel, _, group = integrator(make_kernel, mocks)
    with pytest.raises(ValueError, match="order"):
        kernel.extrapolate(group, order)
    with pytest.raises(ValueError, match="order") if order else nullcontext():
        kernel.interpolate(group, order, 0.1)


def test_of_order_0_an_input_is_the_mean_of_both_ends(make_kernel, mocks):
    kernel, _, group = integrator(make_kernel, mocks)
    kernel.values[0] = 3.0
    kernel.accept(0.0)
    kernel.values[0] = 8.0
    kernel.interpolate(group, 0, 0.1)
    assert (kernel.input_value[0], *kernel.input_rates[:, 0]) == (5.5, 0.0, 0.0)


def accepted(kernel, points):
    for t, value in points:
        kernel.values[1] = value
        kernel.exchange(0)
        kernel.accept(t)


RAMP = [(0.0, 1.0), (0.5, 2.0), (0.75, 2.5), (1.75, 4.5)]
"""1 + 2 t, in unequal steps."""


def test_at_mid_step_a_smooth_input_continues_to_the_middle(make_kernel, mocks):
    kernel, _, group = integrator(make_kernel, mocks)
    for end in (3, 4):
        accepted(kernel, RAMP[:end])
        kernel.mid_step(group, 0, 0.3)
        assert kernel.input_value[0] == approx(1 + 2 * (RAMP[end - 1][0] + 0.15), rel=1e-15)
        assert kernel.input_rates[:, 0].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "values",
    [
        [0.0, 1.0],
        [0.0, 0.0, 0.0, 1.0],
        [0.0, 0.1, 0.2, 1.0],
        [0.0, 1.0, 0.5, 1.5],
        [1.0, 2.0, 1.5, 1.4],
        [0, 4, 5, 5.2],
    ],
    ids=["start", "jump", "jump of a ramp", "oscillation", "extremum", "fast decay"],
)
def test_at_mid_step_other_inputs_are_held(make_kernel, mocks, values):
    kernel, _, group = integrator(make_kernel, mocks)
    accepted(kernel, enumerate(map(float, values)))
    kernel.mid_step(group, 0, 1.0)
    assert kernel.input_value[0] == values[-1]


def event(kernel, t, value):
    kernel.values[1] = value
    kernel.exchange(0)
    kernel.accept_after_event(t)


def test_points_before_a_jump_do_not_count_at_mid_step(make_kernel, mocks):
    kernel, _, group = integrator(make_kernel, mocks)
    accepted(kernel, RAMP)
    event(kernel, 1.75, 7.0)
    for t, value, held in ((1.75, 7.0, 7.0), (2.0, 7.5, 7.5), (2.25, 8.0, 8.0), (2.5, 8.5, 8.75)):
        accepted(kernel, [(t, value)])
        kernel.mid_step(group, 0, 0.25)
        assert kernel.input_value[0] == held


@pytest.mark.parametrize("events", [1, 3])
def test_a_value_that_an_event_leaves_alone_continues_at_mid_step(make_kernel, mocks, events):
    """Of several events at one instant, too."""
    kernel, _, group = integrator(make_kernel, mocks)
    accepted(kernel, RAMP)
    for _ in range(events):
        event(kernel, 1.75, 4.5)
    kernel.mid_step(group, 0, 0.5)
    assert kernel.input_value[0] == approx(5.0, rel=1e-15)


def test_lines_lead_through_an_event_and_parabolas_begin_there(make_kernel, mocks):
    """1 + 2 t until 1.75 s, then with the slope 6: a parabola would have the slope 10 at 2.25 s."""
    kernel, _, group = integrator(make_kernel, mocks)
    accepted(kernel, RAMP)
    event(kernel, 1.75, 4.5)
    for _ in range(2):
        kernel.extrapolate(group, 2)
        assert (kernel.input_value[0], *kernel.input_rates[:, 0]) == (4.5, 2.0, 0.0)
        kernel.accept(1.75)  # as when a step is taken back
    accepted(kernel, [(2.25, 7.5)])
    kernel.extrapolate(group, 2)
    assert (kernel.input_value[0], *kernel.input_rates[:, 0]) == (7.5, 6.0, 0.0)
    kernel.values[0] = 10.5
    kernel.interpolate(group, 2, 0.5)
    assert kernel.input_rates[:, 0].tolist() == [6.0, 0.0]


def test_short_steps_after_an_event_have_its_rate_of_change_at_once(make_kernel, mocks):
    """1 + 2 t until 1.75 s, then with the slope 6 in steps of 1e-8 of those before."""
    kernel, _, group = integrator(make_kernel, mocks)
    accepted(kernel, RAMP)
    event(kernel, 1.75, 4.5)
    accepted(kernel, [(1.75 + number * 2.0**-27, 4.5 + 6 * number * 2.0**-27) for number in (1, 2)])
    kernel.extrapolate(group, 1)
    assert kernel.input_rates[0, 0] == 6.0


def test_rates_of_change_are_not_those_of_points_that_nearly_coincide(make_kernel, mocks):
    """An event just before a point of the grid, whose value has noise of 1e-9."""
    kernel, _, group = integrator(make_kernel, mocks)
    accepted(kernel, [*RAMP, (2.75, 6.5), (2.75 + 1e-9, 6.5 + 1e-9)])
    kernel.extrapolate(group, 1)
    assert kernel.input_rates[0, 0] == approx(2.0, rel=1e-6)


def test_at_mid_step_no_input_leaves_its_range(make_kernel, mocks):
    for ends, expected in (((-math.inf, 4.6), 4.6), ((0.0, 4.0), 4.5), ((5.0, 9.0), 5.5)):
        kernel = make_kernel(3)
        kernel.add(mocks.table(kernel, Mock(), inputs=[0], outputs=[2]))
        kernel.connect([1], [0], [1.0], [0.0], ranges={0: ends})
        group = kernel.group([0])
        accepted(kernel, RAMP)
        kernel.mid_step(group, 0, 1.0)
        assert kernel.input_value[0] == expected


def test_an_input_with_a_discrete_source_keeps_its_value(make_kernel, mocks):
    kernel = make_kernel(3)
    kernel.add(mocks.table(kernel, Mock(), inputs=[0], outputs=[2]))
    kernel.connect([1], [0], [1.0], [0.0], discrete=[0])
    group = kernel.group([0])
    accepted(kernel, RAMP)
    for move in (lambda: kernel.mid_step(group, 0, 1.0), lambda: kernel.extrapolate(group, 1)):
        move()
        assert (kernel.input_value[0], *kernel.input_rates[:, 0]) == (4.5, 0.0, 0.0)


@pytest.mark.parametrize(
    ("values", "end", "expected"),
    [
        ([1.0, 2.0, 3.0, 4.0], 6.0, 5.0),
        ([1.0, 2.0, 3.0, 2.5], 2.0, 2.25),  # an extremum
        ([0.0, 1.0, 0.0, 1.0], 0.0, 0.0),  # it rings
        ([1.0, 2.0], 3.0, 3.0),  # nobody knows yet
    ],
)
def test_mid_step_of_a_known_end_is_the_mean_unless_the_input_rings(make_kernel, mocks, values, end, expected):
    kernel, _, group = integrator(make_kernel, mocks)
    accepted(kernel, enumerate(values))
    kernel.values[0] = end
    kernel.mid_step(group, 1, 1.0)
    assert kernel.input_value[0] == expected


def test_the_views_are_the_kernels_memory_and_keep_it_alive(make_kernel):
    kernel = make_kernel(5)
    values, rates = kernel.values, kernel.input_rates
    assert (values.shape, rates.shape, kernel.input_value.shape) == ((5,), (2, 5), (5,))
    values[3] = math.pi
    assert kernel.values[3] == math.pi
    del kernel
    values += 1.0
    assert values[3] == math.pi + 1.0
    assert np.array_equal(rates, np.zeros((2, 5)))


@pytest.mark.parametrize("status", [2, 3])
def test_inputs_that_are_not_followed_are_held_at_the_middle_of_the_step(make_kernel, mock_library, status):
    """No step is lost, and the FMU is not asked again."""
    kernel, mock, group = integrator(make_kernel, Mocks(mock_library, 2))
    mock.refuse(SET_RATES, status)
    kernel.input_value[0], kernel.input_rates[:, 0] = 5.0, (2.0, 4.0)
    for step in range(3):
        before = kernel.values[2]
        assert kernel.advance(group, step * 0.5, 0.5).ok
        assert kernel.values[2] - before == pytest.approx(0.5 * (5.0 + 0.25 * (2.0 + 0.125 * 4.0)), rel=1e-14)
    assert mock.calls[SET_RATES] == 2  # of order 2, and of order 1
    assert kernel.retreats == ((0, 0, 0.0, "fmi2SetRealInputDerivatives", status),)


def test_a_fatal_answer_to_input_derivatives_ends_the_run(make_kernel, mock_library):
    kernel, mock, group = integrator(make_kernel, Mocks(mock_library, 2))
    mock.refuse(SET_RATES, 4)
    kernel.input_rates[0, 0] = 2.0
    outcome = kernel.advance(group, 0.0, 0.5)
    assert (outcome.function, outcome.fmi_status) == ("fmi2SetRealInputDerivatives", 4)
    assert kernel.retreats == ()


def test_inputs_that_are_refused_inside_a_step_stay_and_then_are_held(make_kernel, mock_library):
    kernel, mock, group = integrator(make_kernel, Mocks(mock_library, 3))
    mock.refuse(SET, from_call=2)  # the first is that at the start of the step
    kernel.input_value[0], kernel.input_rates[0, 0] = 5.0, 2.0
    assert kernel.advance(group, 0.0, 0.5).ok
    assert kernel.values[2] == pytest.approx(0.5 * 5.0, rel=1e-14)
    assert kernel.retreats == ((0, 0, 0.0, "fmi3SetFloat64", 3),)
    mock.refuse(SET, 0)
    assert kernel.advance(group, 0.5, 0.5).ok
    assert kernel.values[2] == pytest.approx(0.5 * 5.0 + 0.5 * 5.5, rel=1e-14)


@pytest.mark.parametrize("order", [0, 1])
def test_a_limit_of_the_order_is_kept(make_kernel, mock_library, order):
    """As after a refusal: a line through both ends of the parabola, or its middle."""
    kernel, _, group = integrator(make_kernel, Mocks(mock_library, 2))
    kernel.limit_inputs(0, order)
    kernel.input_value[0], kernel.input_rates[:, 0] = 1.0, (2.0, 4.0)
    assert kernel.advance(group, 0.0, 1.0).ok
    assert kernel.values[2] == pytest.approx([1.0 + 0.5 * (2.0 + 0.25 * 4.0), 1.0 + 0.5 * (2.0 + 0.5 * 4.0)][order])
    assert kernel.retreats == ((0, order, 0.0, "", 0),)
