"""Which signals and which rows are recorded."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from ssptool import Settings, read_trace
from ssptool.engine.recording import decimation
from ssptool.engine.recording.decimation import Every, Grid
from ssptool.engine.recording.patterns import checked_patterns
from ssptool.engine.recording.writer import BLOCK_BYTES
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.run.recorder import Recording
from ssptool.engine.run.selection import select
from ssptool.errors import UnknownName
from tests.engine.dual_mass import Folder, oscillator
from tests.engine.running import run


def plan(**settings):
    return make_plan(oscillator(), Settings(**{"stop_time": 0.5, "step_size": 0.01, **settings}))


def chunks(sizes):
    """Rows 0, 1, 2, … in chunks of these sizes."""
    first = 0
    for size in sizes:
        yield np.arange(first, first + size, dtype=float).reshape(-1, 1)
        first += size


def thinned(decimation, rows):
    kept = [block for chunk in rows for block in decimation.keep(chunk)]
    return np.concatenate([*kept, decimation.rest()])[:, 0].tolist()


# -- signals -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        (["System1.x1"], ["System1.x1"]),
        (["*.F"], ["System1.F", "System2.F"]),
        (["System2.x?", "System1.v1"], ["System1.v1", "System2.x1", "System2.x2"]),
        (["System2.der(?2)"], ["System2.der(x2)", "System2.der(v2)"]),
        (["System1.?1*"], ["System1.x1", "System1.v1", "System1.a1"]),
        (["System1.k*", "System2.c3"], ["System1.k1", "System2.c3"]),
        (["System1.x1", "*.c3", "*.x1_start"], ["System1.x1", "System1.x1_start", "System2.c3"]),
        ([], None),
    ],
)
def test_patterns_choose_signals_in_the_order_of_the_system(patterns, chosen):
    whole = plan()
    everything = [column.signal for column in whole.columns]
    assert [column.signal for column in select(whole, patterns).columns] == (chosen or everything)


def test_a_pattern_that_fits_nothing_is_refused_with_what_is_near():
    with pytest.raises(UnknownName, match=r"called 'System1\.y1'; did you mean System1\.[xva]1"):
        select(plan(), ["System1.y1"])


def test_chosen_signals_have_the_values_that_they_have_among_all():
    whole = run(plan(), Folder()).unwrap()
    part = run(plan(), Folder(), recording=Recording(signals=["*.x1", "System2.F"])).unwrap()
    assert set(part.signals) == {"System1.x1", "System2.x1", "System2.F"}
    for signal in part.signals:
        assert np.array_equal(part[signal], whole[signal])


# -- rows ----------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 7), max_size=8), st.integers(1, 9))
def test_every_nth_row_and_the_last_however_they_come(sizes, n):
    total = sum(sizes)
    wanted = sorted({*range(0, total, n), *([total - 1] if total else [])})
    if total:
        assert thinned(Every(n), chunks(sizes)) == wanted


@given(st.lists(st.integers(0, 7), max_size=8), st.floats(0.3, 3.0))
def test_a_grid_is_the_same_however_the_rows_come(sizes, step):
    """Rows at 0, 1, 2, …: straight lines between them are exact for time itself."""
    total = sum(sizes)
    if total:
        wanted = (np.arange(0, (total - 1) / step + 1e-9) * step).tolist()
        if total - 1 - wanted[-1] > 1e-9 * step:
            wanted.append(total - 1)
        assert thinned(Grid(0.0, step), chunks(sizes)) == approx(wanted, abs=1e-12)


def on_grid(grid, *chunks):
    return np.concatenate([*(block for rows in chunks for block in grid.keep(rows)), grid.rest()])


def test_between_two_rows_a_grid_is_linear():
    rows = np.array([[0.0, 0.0], [1.0, 10.0], [3.0, 30.0]])
    assert on_grid(Grid(0.0, 0.5), rows)[:, 1].tolist() == [0, 5, 10, 15, 20, 25, 30]


def test_a_grid_has_the_last_row_where_it_does_not_end_there():
    rows = np.array([[0.0, 0.0], [1.0, 10.0], [3.0, 30.0]])
    assert on_grid(Grid(0.0, 2.0), rows).tolist() == [[0.0, 0.0], [2.0, 20.0], [3.0, 30.0]]


def test_between_two_rows_a_grid_holds_discrete_columns():
    """Also integers, whose cells are not doubles."""
    rows = np.array([[0.0, 0.0, 2.0, 0.0], [1.0, 10.0, 4.0, 0.0], [3.0, 30.0, 6.0, 0.0]])
    rows.view(np.int64)[:, 3] = [2**63 - 1, -5, 7]
    found = on_grid(Grid(0.0, 0.5, [False, True, True]), rows)
    assert found[:, 1].tolist() == [0, 5, 10, 15, 20, 25, 30]
    assert found[:, 2].tolist() == [2, 2, 4, 4, 4, 4, 6]
    assert found.view(np.int64)[:, 3].tolist() == [2**63 - 1] * 2 + [-5] * 4 + [7]


@given(st.lists(st.integers(0, 4), max_size=6), st.floats(0.3, 3.0))
def test_held_columns_have_the_last_value_before_each_point_of_a_grid(sizes, step):
    """Rows at 0, 1, 2, … with their number as an integer: at t it is the whole part of t."""
    total = sum(sizes)
    if not total:
        return
    rows = np.arange(total, dtype=float)[:, None].repeat(2, axis=1)
    rows.view(np.int64)[:, 1] = np.arange(total)
    grid = Grid(0.0, step, [True])
    found = on_grid(grid, *np.split(rows, np.cumsum(sizes)[:-1]))
    assert found.view(np.int64)[:, 1].tolist() == np.floor(found[:, 0] + Grid.TOLERANCE * step).astype(int).tolist()


def test_a_grid_beside_an_infinite_value_keeps_the_finite_one():
    rows = np.array([[0.0, 1.0], [1.0, np.inf], [2.0, 3.0]])
    assert on_grid(Grid(0.0, 1.0), rows)[:, 1].tolist() == [1.0, np.inf, 3.0]


@pytest.mark.parametrize("cut", range(5))
def test_a_grid_has_both_sides_of_an_event(cut):
    """Also if the other side of the event comes later."""
    rows = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 5.0], [2.0, 6.0]])
    found = on_grid(Grid(0.0, 0.5), rows[:cut], rows[cut:])
    assert found[:, 0].tolist() == [0, 0.5, 1, 1, 1.5, 2]
    assert found[:, 1].tolist() == [0, 0.5, 1, 5, 5.5, 6]


instants = st.lists(st.sampled_from((1, 1, 1, 2, 3)), min_size=1, max_size=12)


def with_events(sizes):
    """Rows at 0, 1, 2, …, so many at each instant, with the number of the row as the value."""
    t = np.repeat(np.arange(len(sizes), dtype=float), sizes)
    return np.column_stack([t, np.arange(len(t), dtype=float)])


def in_chunks(rows, cuts):
    return np.split(rows, sorted(cut % (len(rows) + 1) for cut in cuts))


@given(instants, st.lists(st.integers(0, 40), max_size=6), st.integers(1, 5))
def test_of_every_nth_instant_no_event_is_left_out_however_the_rows_come(sizes, cuts, n):
    rows = with_events(sizes)
    own = [k for k, size in enumerate(sizes) if size > 1 or k % n == 0 or k == len(sizes) - 1]
    wanted = rows[np.isin(rows[:, 0], own)]
    assert on_grid(Every(n), *in_chunks(rows, cuts)).tolist() == wanted.tolist()


@given(instants, st.lists(st.integers(0, 40), max_size=6), st.sampled_from((0.25, 0.4, 1.0, 1.5, 4.0)))
def test_a_grid_leaves_no_event_out_however_the_rows_come(sizes, cuts, step):
    rows = with_events(sizes)
    found = on_grid(Grid(0.0, step), *in_chunks(rows, cuts))
    several = [k for k, size in enumerate(sizes) if size > 1]
    assert found[np.isin(found[:, 0], several)].tolist() == rows[np.isin(rows[:, 0], several)].tolist()
    others = found[~np.isin(found[:, 0], several), 0]
    grid = step * np.arange(int((len(sizes) - 1) / step + 1e-9) + 1)
    wanted = {round(t, 9) for t in [*grid.tolist(), len(sizes) - 1.0]} - {float(k) for k in several}
    assert sorted(wanted) == approx(others.tolist(), abs=1e-9)
    assert np.all(np.diff(found[:, 0]) >= 0)


def test_an_event_between_communication_points_is_no_instant_that_counts():
    rows = np.array([[0.0], [0.5], [0.5], [1.0], [2.0], [3.0]])
    points = np.array([True, False, False, True, True, True])
    every = Every(2)
    kept = [block for k in (slice(0, 2), slice(2, 6)) for block in every.keep(rows[k], points[k])]
    assert np.concatenate([*kept, every.rest()])[:, 0].tolist() == [0.0, 0.5, 0.5, 2.0, 3.0]


def test_every_nth_row_of_a_run_is_one_of_all_its_rows(tmp_path):
    whole = run(plan(), Folder()).unwrap()
    result = run(plan(), Folder(), recording=Recording(tmp_path / "r.csv", every=7))
    chosen = [*range(0, 51, 7), 50]
    assert np.array_equal(result.unwrap().y, whole.y[chosen])
    assert (result.rows, result.statistics.steps) == (9, 50)
    assert (tmp_path / "r.csv").read_text().count("\n") == 10


@pytest.mark.parametrize("settings", [{}, {"adaptive": 1e-4}, {"implementation": "me"}], ids=str)
@pytest.mark.parametrize("distance", [0.1, 0.015, 0.0042])
def test_rows_of_an_output_step_are_there_whatever_steps_are_made(settings, distance):
    trace = run(plan(**settings), Folder(), recording=Recording(output_step=distance)).unwrap()
    assert trace.t[:-1] == approx(distance * np.arange(len(trace) - 1), abs=1e-12)
    assert trace.t[-1] == approx(0.5, abs=1e-12)
    assert 0 < trace.t[-1] - trace.t[-2] <= distance * (1 + 1e-9)


def test_between_macro_steps_rows_of_an_output_step_are_on_straight_lines():
    whole = run(plan(), Folder()).unwrap()
    part = run(plan(), Folder(), recording=Recording(output_step=0.015)).unwrap()
    for signal in whole.signals:
        assert part[signal] == approx(np.interp(part.t, whole.t, whole[signal]), abs=1e-12)


@pytest.mark.parametrize("distance", [0.1, 0.01])
def test_rows_of_an_output_step_that_fits_have_the_bits_of_the_run(distance):
    whole = run(plan(), Folder()).unwrap()
    part = run(plan(), Folder(), recording=Recording(output_step=distance)).unwrap()
    assert np.array_equal(part.y, whole.y[:: round(distance / 0.01)])


@pytest.mark.parametrize(
    ("recording", "reason"),
    [
        (Recording(output_step=0.0), "greater than 0 s and finite, found 0"),
        (Recording(output_step=np.inf), "greater than 0 s and finite, found inf"),
        (Recording(output_step=0.1, every=2), "leave one of them out"),
        (Recording(every=0), "at least 1; found 0"),
    ],
)
def test_numbers_that_do_not_fit_are_refused_before_anything_is_loaded(recording, reason):
    with pytest.raises(ValueError, match=reason):
        run(plan(), None, recording=recording)


def test_a_pattern_that_is_like_no_signal_is_told_what_there_is():
    with pytest.raises(UnknownName, match=r"no result is called 'z\*'; there are peak, settled$"):
        checked_patterns(["z*"], ["peak", "settled"], "result")
    with pytest.raises(UnknownName, match=r"there are s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11 and 988 more$"):
        checked_patterns(["z*"], [f"s{n}" for n in range(1000)], "result")


def test_a_grid_far_finer_than_the_steps_comes_in_blocks_of_bounded_size():
    """10¹⁰ rows between two macro steps: as many as are asked for, at k·1e-9 s, none of them in memory before."""
    blocks = Grid(0.0, 1e-9).keep(np.array([[0.0, 0.0], [10.0, 20.0]]))
    rows = np.concatenate([first := next(blocks), next(blocks)])
    assert first.nbytes <= BLOCK_BYTES
    assert rows[:, 0] == approx(1e-9 * np.arange(len(rows)), rel=1e-12)
    assert rows[:, 1] == approx(2 * rows[:, 0], rel=1e-12)


@pytest.mark.parametrize(
    ("settings", "recording", "count"),
    [
        ({"step_size": 1e-12}, Recording(), r"500,000,000,00\d"),
        ({"step_size": 1e-12}, Recording(every=10, signals=["*.x1"]), r"50,000,000,00\d"),
        ({}, Recording(output_step=1e-12), r"500,000,000,00\d"),
    ],
    ids=["steps", "every", "grid"],
)
def test_a_trace_that_memory_cannot_hold_is_refused_with_its_size(monkeypatch, settings, recording, count):
    monkeypatch.setattr(decimation, "machine_memory", lambda: 16 * 10**9)
    with pytest.raises(decimation.WrongValue, match=rf"{count} rows of \d numbers.*TB.*16 GB.*--output-step"):
        run(plan(**settings), Folder(), recording=recording)


def test_a_file_takes_what_memory_cannot_hold_until_somebody_ends_it(tmp_path):
    """Rows at every picosecond; after the tenth block somebody interrupts, between two macro steps."""
    path, calls = tmp_path / "run.csv", iter(range(10))

    def progress(fraction):
        if next(calls, None) is None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        run(plan(), Folder(), recording=Recording(path, keep=False, output_step=1e-12), progress=progress)
    trace = read_trace(path)
    assert 0 < trace.t[-1] < 0.01
    assert trace.t == approx(1e-12 * np.arange(len(trace)), abs=1e-15)
    assert f"t = {trace.t[-1]:g} s; {len(trace)} rows" in stopped.value.__notes__[0]


def test_a_grid_keeps_the_sign_of_a_zero():
    rows = np.array([[0.0, -0.0, 0.0], [1.0, -0.0, 0.0]])
    assert np.signbit(on_grid(Grid(0.0, 0.25), rows)[:, 1:]).tolist() == [[True, False]] * 5
