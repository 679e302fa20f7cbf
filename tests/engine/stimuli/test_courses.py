"""Courses of inputs over time."""

import math

from hypothesis import given
from hypothesis import strategies as st

from ssptool.engine.stimuli.stimuli import boundaries
from ssptool.engine.stimuli.time_signals import Action, Constant, Interpolation, Overridden, SignalOverride
from ssptool.types import Function, Table

STAIRS = Table((0.0, 1.0, 2.0), (1, 1, 4), Interpolation.HOLD)
KINKED = Table((0.0, 1.0, 1.0, 3.0), (0.0, 2.0, 5.0, 1.0))


def test_a_held_table_jumps_where_its_value_changes_and_nowhere_else():
    assert STAIRS.jumps == (2.0,)
    assert (STAIRS.before(2.0), STAIRS.after(2.0), STAIRS.after(1.5)) == (1, 4, 1)


def test_a_linear_table_jumps_at_times_that_it_has_twice():
    assert KINKED.jumps == (1.0,)
    assert (KINKED.before(1.0), KINKED.after(1.0)) == (2.0, 5.0)
    assert (KINKED.after(0.5), KINKED.after(2.0)) == (1.0, 3.0)


def test_the_last_value_of_a_table_stays():
    assert (KINKED.after(1e6), KINKED.before(1e6), STAIRS.after(3.0)) == (1.0, 1.0, 4)


def test_of_three_rows_at_one_time_the_first_ends_and_the_last_begins():
    table = Table((0.0, 1.0, 1.0, 1.0, 2.0), (0.0, 1.0, 7.0, 3.0, 3.0))
    assert (table.before(1.0), table.after(1.0), table.after(1.5)) == (1.0, 3.0, 3.0)


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(-1e6, 1e6)), min_size=2, max_size=6), st.floats(0, 12))
def test_away_from_jumps_a_table_has_one_value(rows, t):
    rows.sort(key=lambda row: row[0])
    for how in Interpolation:
        table = Table(tuple(row[0] for row in rows), tuple(row[1] for row in rows), how)
        if t not in table.times:
            assert table.before(t) == table.after(t)
        values = [row[1] for row in rows]
        assert min(values) - 1e-6 <= table.after(t) <= max(values) + 1e-6


def test_a_function_jumps_where_it_is_said_to():
    function = Function(lambda t: 1.0 if t >= 0.5 else 0.0, (0.5,))
    assert (function.before(0.5), function.after(0.5)) == (0.0, 1.0)


def test_modifications_act_from_their_time_on_and_the_later_one_counts():
    changed = Overridden(
        Constant(2.0),
        (
            SignalOverride(1.0, Action.BIAS, 0.5),
            SignalOverride(2.0, Action.OVERRIDE, 9.0),
            SignalOverride(3.0, Action.RESET),
        ),
    )
    assert [changed.after(t) for t in (0.5, 1.0, 2.0, 3.0)] == [2.0, 2.5, 9.0, 2.0]
    assert [changed.before(t) for t in (1.0, 2.0, 3.0)] == [2.0, 2.5, 9.0]
    assert changed.jumps == (1.0, 2.0, 3.0)


def test_instants_that_differ_by_rounding_are_one():
    found = boundaries([0.3, 0.1 + 0.2, 0.7], 0.0, 1.0)
    assert [boundary.first for boundary in found] == [0.3, 0.7]
    assert found[0].last == math.nextafter(0.3, 1)


def test_what_jumps_at_the_start_or_after_the_stop_is_no_instant_of_the_run():
    assert [boundary.first for boundary in boundaries([0.0, 0.5, 1.0, 1.5], 0.0, 1.0)] == [0.5, 1.0]
