"""Tables that drive slots over time, how inputs behind them run over steps, and wires that are acted on."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssptool.engine.kernel.calls import (
    Call,
    DrivenInput,
    DrivenInputMode,
    Instruction,
    LoopCalls,
    Op,
)
from tests.engine.kernel.methods import (
    OverriddenWire,
    SlotOverride,
    SlotOverrideKind,
    SlotPolynomial,
    TableColumn,
    TimeTables,
)
from tests.engine.kernel.mock_fmu import SET_RATES, Mock
from tests.engine.kernel.test_inputs import shared

numbers = st.floats(-1e3, 1e3, allow_subnormal=False)
times = st.floats(0.0, 10.0, allow_subnormal=False)
tables = st.lists(st.tuples(times, numbers), min_size=1, max_size=12).map(lambda rows: sorted(rows, key=lambda r: r[0]))
OVERRIDE, BIAS = SlotOverrideKind.OVERRIDE, SlotOverrideKind.BIAS


def array(values):
    return np.array(values, dtype=np.float64)


def bits(*values):
    """Integers in the cells of doubles."""
    return np.array(values, dtype=np.int64).view(np.float64)


def driven(make_kernel, rows, linear=True, slots=1):
    """A kernel whose slot 0 follows a table; no component."""
    kernel = make_kernel(slots)
    kernel.time_tables(
        TimeTables([array([t for t, _ in rows])], [TableColumn(0, 0, array([y for _, y in rows]), linear)], [])
    )
    return kernel


def written(kernel, t):
    kernel.write(t)
    return kernel.values[0]


# -- values ----------------------------------------------------------------------------------------------------


@shared
@given(rows=tables, asked=st.lists(st.floats(-5.0, 15.0), min_size=1, max_size=20))
def test_a_linear_table_is_what_numpy_interpolates(make_kernel, rows, asked):
    """Before the first row and after the last these stay, as numpy has it, whatever the order of the times asked for.

    At repeated times numpy does not say which row it takes. Two rounded differences of up to 2e3 and one product leave
    an error of a few units in the last place of 2e3, as the slope does of numpy, which multiplies in another order.
    """
    kernel = driven(make_kernel, rows)
    x, y = zip(*rows, strict=True)
    gaps = np.diff(x)
    for t in asked:
        if t not in x and not ((gaps > 0) & (gaps < 1e-9)).any():
            assert written(kernel, t) == pytest.approx(np.interp(t, x, y), rel=1e-12, abs=1e-11)


@shared
@given(rows=tables, asked=st.lists(st.floats(-5.0, 15.0), min_size=1, max_size=20))
def test_a_held_table_has_the_last_row_that_is_not_later(make_kernel, rows, asked):
    kernel = driven(make_kernel, rows, linear=False)
    for t in asked:
        before = [value for time, value in rows if time <= t]
        assert written(kernel, t) == (before[-1] if before else rows[0][1])


@shared
@given(rows=tables)
def test_rows_are_met_exactly(make_kernel, rows):
    """Of rows at one time the first is the limit from the left, the last that from the right."""
    kernel = driven(make_kernel, rows)
    for t in {t for t, _ in rows}:
        here = [value for time, value in rows if time == t]
        kernel.between(t, math.inf)
        assert written(kernel, t) == here[-1]
        kernel.between(-math.inf, t)
        assert written(kernel, t) == here[0]


def test_a_stretch_has_the_limits_from_inside(make_kernel):
    """A jump from 1 to 5 at t = 1; the clock that asks may be off by a rounding error."""
    kernel = driven(make_kernel, [(0.0, 0.0), (1.0, 1.0), (1.0, 5.0), (2.0, 6.0)])
    kernel.between(0.0, 1.0)
    assert [written(kernel, t) for t in (0.5, 1.0, math.nextafter(1.0, 2.0))] == [0.5, 1.0, 1.0]
    kernel.between(1.0, math.inf)
    assert [written(kernel, t) for t in (math.nextafter(1.0, 0.0), 1.0, 1.5, 9.0)] == [5.0, 5.0, 5.5, 6.0]


def test_one_row_is_a_constant(make_kernel):
    for linear in (False, True):
        kernel = driven(make_kernel, [(3.0, 7.0)], linear)
        assert [written(kernel, t) for t in (-math.inf, 0.0, 3.0, 4.0, math.inf)] == [7.0] * 5


def test_columns_share_an_axis_and_integers_keep_their_bits(make_kernel):
    kernel = make_kernel(3, (1, 2))
    cells = [array([1.0, 2.0]), bits(-1, 2**63 - 1), bits(7, 8)]
    axes = [array([0.0, 1.0]), array([0.5])]
    columns = [TableColumn(0, 0, cells[0], True), TableColumn(1, 0, cells[1], False), TableColumn(2, 1, bits(9), False)]
    kernel.time_tables(TimeTables(axes, columns, []))
    kernel.write(0.5)
    assert (kernel.values[0], *kernel.integers[1:].tolist()) == (1.5, -1, 9)
    kernel.override_column(1, SlotOverride(BIAS, bits(3)[0]))
    kernel.write(0.75)
    assert kernel.integers[1] == 2
    kernel.override_column(1, SlotOverride(OVERRIDE, bits(-5)[0]))
    kernel.write(1.0)
    assert kernel.integers[1] == -5
    kernel.override_column(1, SlotOverride())
    kernel.write(1.0)
    assert kernel.integers[1] == 2**63 - 1


def test_the_cells_of_a_column_can_be_changed(make_kernel):
    kernel = driven(make_kernel, [(0.0, 1.0)])
    kernel.table_column(0)[0] = 4.0
    assert written(kernel, 0.0) == 4.0


@pytest.mark.parametrize(
    ("axis", "cells", "linear", "message"),
    [
        ([], [], True, "axis 0 has no times"),
        ([0.0, math.nan], [1.0, 1.0], True, "axis 0 has a time that is not finite"),
        ([0.0, math.inf], [1.0, 1.0], True, "axis 0 has a time that is not finite"),
        ([1.0, 0.0], [1.0, 1.0], True, "axis 0 has times that descend"),
        ([0.0], [1.0, 1.0], True, "the column of slot 0 has 2 rows, its axis has 1"),
        ([0.0], [math.nan], False, "the column of slot 0 has a value that is not finite"),
        ([0.0], [math.inf], False, "the column of slot 0 has a value that is not finite"),
    ],
)
def test_a_table_that_cannot_be_right_is_refused(make_kernel, axis, cells, linear, message):
    kernel = make_kernel(1)
    with pytest.raises(ValueError, match=message):
        kernel.time_tables(TimeTables([array(axis)], [TableColumn(0, 0, array(cells), linear)], []))


def test_what_does_not_exist_is_refused(make_kernel, mocks):
    kernel = make_kernel(2, (1,))
    kernel.add(mocks.table(kernel, Mock(), inputs=[0], outputs=[]))
    one = TableColumn(0, 0, array([1.0]), False)
    with pytest.raises(IndexError, match="axis 1 does not exist"):
        kernel.time_tables(TimeTables([array([0.0])], [one._replace(axis=1)], []))
    with pytest.raises(IndexError, match="slot 9"):
        kernel.time_tables(TimeTables([array([0.0])], [one._replace(slot=9)], []))
    with pytest.raises(ValueError, match="slot 1, an integer, cannot be linear"):
        kernel.time_tables(TimeTables([array([0.0])], [TableColumn(1, 0, bits(1), True)], []))
    with pytest.raises(ValueError, match="slot 1 holds integers, which are held"):
        kernel.time_tables(TimeTables([array([0.0])], [one], [DrivenInput(1, DrivenInputMode.MIDDLE)]))
    for wrong in (-1, 0):
        with pytest.raises(IndexError, match="column"):
            kernel.override_column(wrong, SlotOverride())
        with pytest.raises(IndexError, match="column"):
            kernel.table_column(wrong)
    with pytest.raises(ValueError, match="no wire ends at slot 0"):
        kernel.override_wires([OverriddenWire(0)])
    with pytest.raises(IndexError, match="slot 5"):
        kernel.override_wires([OverriddenWire(5)])
    kernel.group([0])
    with pytest.raises(ValueError, match="before groups"):
        kernel.time_tables(TimeTables([array([0.0])], [one], []))


# -- steps -----------------------------------------------------------------------------------------------------


def pushed(make_kernel, mocks, rows, running, linear=True):
    """A table in slot 0 feeds the input in slot 1; slot 2 is the integral of it."""
    kernel, mock = make_kernel(3), Mock()
    kernel.add(mocks.table(kernel, mock, inputs=[1], outputs=[2]))
    kernel.connect([0], [1], [2.0], [1.0])
    table = TableColumn(0, 0, array([y for _, y in rows]), linear)
    kernel.time_tables(TimeTables([array([t for t, _ in rows])], [table], [DrivenInput(1, running)]))
    group = kernel.group([0])
    kernel.record_slots([0, 1, 2])
    kernel.write(0.0)
    kernel.exchange(group)
    kernel.accept(0.0)
    return kernel, mock, group


def program(group, *steps):
    begin, end = (
        Instruction(Op.DRIVE),
        (Instruction(Op.EXCHANGE, group), Instruction(Op.ACCEPT), Instruction(Op.RECORD)),
    )
    return (begin, *steps, Instruction(Op.ADVANCE, group), *end)


@pytest.mark.parametrize(
    ("running", "area"),
    [(DrivenInputMode.HELD, lambda t, h: 2 * t + 1), (DrivenInputMode.FOLLOWING, None), (DrivenInputMode.MIDDLE, None)],
    ids=["held", "following", "middle"],
)
@pytest.mark.parametrize("coupling", [Op.HOLD, Op.EXTRAPOLATE, Op.INTERPOLATE])
def test_whole_stretches_run_as_the_course_does(make_kernel, mocks, running, area, coupling):
    """u = 2 t + 1: lines and middles have the very integral, held inputs that of the left sides. The coupling of all
    other inputs has no part in it.
    """
    kernel, mock, group = pushed(make_kernel, mocks, [(0.0, 0.0), (10.0, 10.0)], running)
    rows, h = np.zeros((10, 4)), 0.25
    assert kernel.run(program(group, Instruction(coupling, group, 1)), 0.0, h, 0, rows).ok
    t = rows[:, 0]
    assert rows[:, 1] == pytest.approx(t)
    assert rows[:, 2] == pytest.approx(2 * t + 1)
    expected = np.cumsum(h * area(t - h, h)) if area else t**2 + t
    assert rows[:, 3] == pytest.approx(expected, rel=1e-14)
    if mocks.version == 2:
        assert bool(mock.calls[SET_RATES]) == (running is DrivenInputMode.FOLLOWING)


@pytest.mark.parametrize("coupling", [Op.HOLD, Op.EXTRAPOLATE, Op.INTERPOLATE])
def test_middles_of_steps_with_rows_inside_are_means(make_kernel, mocks, coupling):
    """∫ 2 y + 1 of a table with three rows in the first step, none in the second, and one in the third."""
    rows = [(0.0, 3.0), (0.1, 0.0), (0.15, 8.0), (0.2, -1.0), (0.5, 2.0), (0.6, 2.5), (3.0, 2.5)]
    kernel, _, group = pushed(make_kernel, mocks, rows, DrivenInputMode.MIDDLE)
    found = np.zeros((4, 4))
    assert kernel.run(program(group, Instruction(coupling, group, 1)), 0.0, 0.25, 0, found).ok
    t, y = array([t for t, _ in rows]), array([y for _, y in rows])
    fine = np.union1d(t, found[:, 0])
    heights = np.interp(fine, t, y)
    areas = np.concatenate([[0.0], np.cumsum(0.5 * (heights[1:] + heights[:-1]) * np.diff(fine))])
    exact = 2 * areas[np.searchsorted(fine, found[:, 0])] + found[:, 0]
    assert found[:, 3] == pytest.approx(exact, rel=1e-14)
    assert found[:, 1] == pytest.approx(np.interp(found[:, 0], t, y), rel=1e-14)


# -- polynomials -----------------------------------------------------------------------------------------------


def on_a_parabola(make_kernel, mocks, running):
    """u(t) = 1 + 2 t + 3 t² in slot 0, twice that and 1 more in the input in slot 1; slot 2 is the integral of it."""
    kernel, mock = make_kernel(3), Mock()
    kernel.add(mocks.table(kernel, mock, inputs=[1], outputs=[2]))
    kernel.connect([0], [1], [2.0], [1.0])
    kernel.time_tables(TimeTables([], [], [DrivenInput(1, running)]))
    group = kernel.group([0])
    kernel.record_slots([0, 1, 2])
    kernel.follow([SlotPolynomial(0, 0.5, 2.75, 5.0, 6.0)])
    kernel.write(0.0)
    kernel.exchange(group)
    kernel.accept(0.0)
    return kernel, group


@pytest.mark.parametrize("running", DrivenInputMode)
def test_inputs_behind_a_polynomial_run_as_it_does(make_kernel, mocks, running):
    """∫ 2u + 1 = 3 t + 2 t² + 2 t³; middles leave 2 ∫ (u - its chord) = -t h², as ∫ of 3 x (x - h) says."""
    kernel, group = on_a_parabola(make_kernel, mocks, running)
    rows, h = np.zeros((10, 4)), 0.25
    assert kernel.run(program(group, Instruction(Op.HOLD, group)), 0.0, h, 0, rows).ok
    t = rows[:, 0]
    assert rows[:, 1] == pytest.approx(1 + 2 * t + 3 * t**2, rel=1e-14)
    assert rows[:, 2] == pytest.approx(3 + 4 * t + 6 * t**2, rel=1e-14)
    exact = 3 * t + 2 * t**2 + 2 * t**3
    left = t - h
    expected = {
        DrivenInputMode.HELD: np.cumsum(h * (3 + 4 * left + 6 * left**2)),
        DrivenInputMode.FOLLOWING: exact,
        DrivenInputMode.MIDDLE: exact + t * h**2,
    }[running]
    assert rows[:, 3] == pytest.approx(expected, rel=1e-13)
    kernel.follow([])
    kernel.write(77.0)
    assert kernel.values[0] == rows[-1, 1]


@pytest.mark.parametrize(("slot", "error"), [(1, ValueError), (2, IndexError)])
def test_a_polynomial_that_cannot_be_right_is_refused(make_kernel, slot, error):
    with pytest.raises(error, match=f"slot {slot}"):
        make_kernel(2, (1,)).follow([SlotPolynomial(slot, 0.0, 1.0)])


def test_a_held_integer_is_set_at_the_start_of_the_step(make_kernel):
    """Of inputs of other types than Float64 there is nothing but to hold them."""
    kernel = make_kernel(2, (0, 1))
    column = TableColumn(0, 0, bits(-3, 4), False)
    kernel.time_tables(TimeTables([array([0.0, 1.0])], [column], [DrivenInput(0, DrivenInputMode.HELD)]))
    kernel.write(0.0)
    kernel.drive(1.0, 1.0)
    assert kernel.input_value.view(np.int64)[0] == -3
    assert kernel.integers[0] == 4


# -- wires -----------------------------------------------------------------------------------------------------


def wired(make_kernel, mocks):
    """u = 2 y + 1 from slot 0 to slot 1."""
    kernel = make_kernel(2)
    kernel.add(mocks.table(kernel, Mock(), inputs=[1], outputs=[]))
    kernel.connect([0], [1], [2.0], [1.0])
    kernel.values[0] = 3.0
    return kernel


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize(
    ("source", "destination", "found"),
    [
        (SlotOverride(), SlotOverride(), 7.0),
        (SlotOverride(BIAS, 0.5), SlotOverride(), 8.0),
        (SlotOverride(OVERRIDE, 10.0), SlotOverride(), 21.0),
        (SlotOverride(), SlotOverride(BIAS, 0.5), 7.5),
        (SlotOverride(OVERRIDE, 10.0), SlotOverride(BIAS, 0.5), 21.5),
        (SlotOverride(BIAS, 10.0), SlotOverride(OVERRIDE, -4.0), -4.0),
    ],
)
def test_a_wire_delivers_what_is_done_at_its_ends(make_kernel, mocks, source, destination, found, early):
    """Whether it is acted on before groups are registered or after; and nothing is left of it afterwards."""
    kernel = wired(make_kernel, mocks)
    group = None if early else kernel.group([0])
    kernel.override_wires([OverriddenWire(1, SlotOverride(BIAS, 99.0), SlotOverride(BIAS, 98.0))])
    kernel.override_wires([OverriddenWire(1, source, destination)])
    group = kernel.group([0]) if group is None else group
    kernel.exchange(group)
    assert kernel.values[1] == found
    kernel.override_wires([OverriddenWire(1)])
    kernel.exchange(group)
    assert kernel.values[1] == 7.0


@pytest.mark.parametrize("before", [5.0, -5.0, 0.0, -0.0, math.inf])
@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize("scale", [(1.0, 0.0), (2.0, 1.0)])
def test_a_zero_that_replaces_a_value_keeps_its_sign(make_kernel, before, zero, scale):
    """At the destination whatever the wire does; at the source, where the wire passes it on as it is."""
    kernel = make_kernel(2)
    kernel.connect([0], [1], *([each] for each in scale))
    kernel.values[0] = before
    ends = [(SlotOverride(), SlotOverride(OVERRIDE, zero))]
    if scale == (1.0, 0.0):
        ends.append((SlotOverride(OVERRIDE, zero), SlotOverride()))
    for source, destination in ends:
        kernel.override_wires([OverriddenWire(1, source, destination)])
        kernel.accept(0.0)
        assert (kernel.values[1], math.copysign(1.0, kernel.values[1])) == (0.0, math.copysign(1.0, zero))


def test_wires_of_sweeps_outputs_and_courses_are_acted_on_too(make_kernel, mocks):
    kernel = wired(make_kernel, mocks)
    group, schedule = kernel.group([0]), kernel.schedule([Call(0, (1,), ())])
    kernel.override_wires([OverriddenWire(1, SlotOverride(OVERRIDE, 1.0))])
    assert kernel.evaluate(schedule).ok
    assert kernel.values[1] == 3.0
    outer = make_kernel(2)
    outer.connect([0], [1], [1.0], [0.0])
    outer.override_wires([OverriddenWire(1, SlotOverride(), SlotOverride(BIAS, 2.0))])
    outer.accept(0.0)
    assert outer.values[1] == 2.0
    assert group == 0


def test_integers_are_changed_before_and_after_the_table_of_the_wire(make_kernel):
    """From integer to integer by the table 5 → 6, and to a double."""
    kernel = make_kernel(3, (0, 1))
    kernel.connect([0, 0], [1, 2], [1.0, 0.5], [0.0, 0.25], {0: {5: 6}})
    kernel.integers[0] = 3
    both = [OverriddenWire(slot, SlotOverride(BIAS, bits(2)[0])) for slot in (1, 2)]
    kernel.override_wires(both)
    kernel.accept(0.0)
    assert (kernel.integers[1], kernel.values[2]) == (6, 2.75)
    kernel.override_wires(
        [
            OverriddenWire(1, SlotOverride(OVERRIDE, bits(5)[0]), SlotOverride(BIAS, bits(-7)[0])),
            OverriddenWire(2, SlotOverride(), SlotOverride(OVERRIDE, 9.0)),
        ]
    )
    kernel.accept(1.0)
    assert (kernel.integers[1], kernel.values[2]) == (-1, 9.0)


def test_sums_of_integers_wrap_around(make_kernel):
    kernel = make_kernel(2, (0, 1))
    kernel.connect([0], [1], [1.0], [0.0])
    kernel.integers[0] = 2**63 - 1
    kernel.override_wires([OverriddenWire(1, SlotOverride(BIAS, bits(1)[0]))])
    kernel.accept(0.0)
    assert kernel.integers[1] == -(2**63)


def test_the_derivative_of_a_loop_is_that_of_its_wires_as_they_are(make_kernel, mocks):
    """y = 0.5 u and u = 2 y + 1, cut at y: dy/dy = 1; nothing comes through where the wire is overridden."""
    kernel, mock = make_kernel(2), Mock(feedthrough=[[0.5]])
    kernel.add(mocks.table(kernel, mock, inputs=[1], outputs=[0]))
    kernel.connect([0], [1], [2.0], [1.0])
    loop = kernel.loop(LoopCalls((0,), (Call(0, (1,), (0,)),), (1.0,), 1e-12, 0.0, 10))
    for change, slope in ((SlotOverride(), 1.0), (SlotOverride(BIAS, 3.0), 1.0), (SlotOverride(OVERRIDE, 3.0), 0.0)):
        kernel.override_wires([OverriddenWire(1, SlotOverride(), change)])
        assert kernel.residual(loop, array([0.0]))[0].ok
        outcome, product = kernel.jacobian_product(loop, array([1.0]))
        assert outcome.ok and product.tolist() == [slope]


# -- through jumps ---------------------------------------------------------------------------------------------


def test_none_at_all_is_nothing_to_do(make_kernel):
    assert make_kernel(0).group([]) == 0
    empty = make_kernel(1)
    empty.time_tables(TimeTables([], [], []))
    empty.write(0.0)
    empty.drive(1.0, 1.0)
    assert empty.values.tolist() == [0.0]


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("second", [-0.0, 5.0, -5.0])
def test_a_zero_keeps_its_sign(make_kernel, second, linear):
    """At a row, and between two of them as long as both are zero."""
    kernel = driven(make_kernel, [(0.0, -0.0), (1.0, second)], linear)
    for t in (-1.0, 0.0, *([0.5] if second == 0.0 or not linear else [])):
        assert math.copysign(1.0, written(kernel, t)) == -1.0
