"""Plots in a terminal, read back from their dots: what rises, rises, at the times and values that the axes state."""

import re
import unicodedata

import numpy as np
import pytest
from rich.cells import cell_len

from ssptool.drawing.plot_model import Curve
from ssptool.drawing.terminal_plot import LEAST_HEIGHT, LEAST_WIDTH, terminal_lines

STYLE = re.compile("\x1b\\[([0-9;]*)m")
# Of the eight dots of a cell, by their bits: column, and row from above.
DOTS = {0: (0, 0), 1: (0, 1), 2: (0, 2), 6: (0, 3), 3: (1, 0), 4: (1, 1), 5: (1, 2), 7: (1, 3)}
T = np.linspace(0.0, 10.0, 1001)


def curve(label="A.x", y=T, unit="m", t=T, **more):
    return Curve(label, unit, t, np.asarray(y, dtype=float), **more)


def panels_of(lines):
    """Of each panel the labels of its ends and its rows, without styles."""
    found = []
    for line in map(plain, lines):
        if match := re.match(r" *(\S*) ([┤│])(.*)$", line):
            label, bar, cells = match.groups()
            if bar == "┤" and (not found or len(found[-1][0]) == 2):
                found.append(([], []))
            if label:
                found[-1][0].append(label)
            found[-1][1].append(cells)
    return found


def plain(line):
    return STYLE.sub("", line)


def dots_of(rows):
    """Places (column, height above the lowest) of all dots."""
    found = set()
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            pattern = ord(cell) - 0x2800
            if 0 < pattern < 256:
                inside = [DOTS[bit] for bit in DOTS if pattern >> bit & 1]
                found |= {(2 * column + x, 4 * (len(rows) - row) - 1 - y) for x, y in inside}
    return found


def the_panel(*curves, width=80, height=20, **more):
    ((labels, rows),) = panels_of(terminal_lines(curves, "run", width, height, **more))
    return labels, rows, dots_of(rows)


def test_a_ramp_rises_from_corner_to_corner():
    labels, rows, dots = the_panel(curve())
    assert labels == ["10", "0"]
    width, height = 80 - len("10") - 2, 4 * len(rows)
    by_column = [[y for x, y in dots if x == column] for column in range(2 * width)]
    assert all(by_column), "a line has no gaps"
    assert by_column[0] == [0]
    assert by_column[-1] == [height - 1]
    for column, heights in enumerate(by_column):
        expected = column / (2 * width - 1) * (height - 1)
        assert max(heights) - min(heights) <= 1
        assert abs(np.mean(heights) - expected) <= 1


def test_a_sine_is_where_its_values_are():
    labels, rows, dots = the_panel(curve(y=np.sin(T)), width=120, height=40)
    low, high = map(float, reversed(labels))
    columns = max(x for x, _ in dots) + 1
    height = 4 * len(rows)
    for x, y in dots:
        t = 10.0 * x / (columns - 1)
        around = np.sin(np.linspace(t - 0.06, t + 0.06, 21))
        value = low + (high - low) * y / (height - 1)
        assert around.min() - 0.02 <= value <= around.max() + 0.02


def test_a_held_signal_is_a_staircase_and_another_one_a_line():
    t = np.array([0.0, 5.0, 10.0])
    y = [0.0, 0.0, 1.0]
    _, rows, held = the_panel(curve(t=t, y=y, held=True))
    top = 4 * len(rows) - 1
    assert {y for _, y in held} == set(range(top + 1))
    corner = max(x for x, _ in held)
    assert {y for x, y in held if x < corner} == {0}
    _, _, line = the_panel(curve(t=t, y=y))
    assert {y for x, y in line if x < corner} > {0, top // 2}


def test_values_that_are_no_numbers_are_gaps():
    y = np.where((T > 4) & (T < 6), np.nan, 1.0 + T)
    _, _, dots = the_panel(curve(y=y))
    last = max(x for x, _ in dots)
    columns = {x for x, _ in dots}
    assert not columns & set(range(round(0.42 * last), round(0.58 * last)))
    assert {0, round(0.3 * last), round(0.7 * last), last} <= columns
    labels, _, dots = the_panel(curve(y=np.full_like(T, np.inf)))
    assert not dots
    assert len(labels) == 2


@pytest.mark.parametrize(
    ("value", "labels"), [(5.0, ["5.25", "4.75"]), (0.0, ["1", "-1"]), (1.7e308, ["1.785e+308", "1.615e+308"])]
)
def test_a_constant_is_a_level_line_in_the_middle(value, labels):
    found, rows, dots = the_panel(curve(y=np.full_like(T, value)))
    assert found == labels
    heights = {y for _, y in dots}
    assert len(heights) == 1
    assert abs(heights.pop() - 2 * len(rows)) <= 1


@pytest.mark.parametrize("size", [1e-300, 1e300, 1.7e308])
def test_the_range_may_be_as_large_and_as_small_as_numbers_are(size):
    _, rows, dots = the_panel(curve(y=size * (T / 5 - 1)))
    assert {y for _, y in dots} == set(range(4 * len(rows)))


def test_labels_have_the_digits_that_tell_them_apart():
    labels, _, _ = the_panel(curve(y=1000 + 1e-6 * T))
    low, high = map(float, reversed(labels))
    assert high - low == pytest.approx(1e-5, rel=0.1)


def test_times_stand_below_what_they_are_the_times_of():
    lines = terminal_lines([curve(t=100 + T)], "run", 80, 20)
    rule, times = lines[-2], lines[-1]
    margin = rule.index("└") + 1
    ticks = [place - margin for place, letter in enumerate(rule) if letter == "┴"]
    stated = [float(text) for text in re.findall(r"\d+(?:\.\d+)?", times)]
    assert len(ticks) == len(stated) >= 4
    columns = len(rule) - margin
    for tick, time in zip(ticks, stated, strict=True):
        assert abs(tick - (time - 100) / 10 * (columns - 1)) <= 1
        place = times.index(f"{time:g}") + len(f"{time:g}") / 2
        assert abs(place - (margin + tick)) <= len("110") / 2 + 1


def test_a_run_with_one_row_is_one_dot():
    _, _, dots = the_panel(curve(t=np.array([3.0]), y=[2.0]))
    assert len(dots) == 1


def test_before_the_first_row_there_is_the_title_alone():
    assert terminal_lines([], "run: waiting", 80, 20) == ["run: waiting"]
    assert terminal_lines([curve(t=np.empty(0), y=[])], "run: waiting", 80, 20) == ["run: waiting"]


# -- legends ----------------------------------------------------------------------------------------------------


def test_above_a_panel_stand_names_last_values_and_units():
    lines = terminal_lines([curve(y=2 * T), curve("B.v", -T, "m/s"), curve("C", T + 0.25, "")], "run", 80, 24)
    legends = [line for line in lines if ": " in line]
    assert legends == ["─ A.x: 20 m", "─ B.v: -10 m/s", "─ C: 10.25"]


def test_curves_of_a_panel_have_letters_on_them():
    _, rows, dots = the_panel(curve(), curve("A.y", 10 - T), height=24)
    letters = [(4 * (len(rows) - row) - 2, 2 * place, cell) for row, cells in enumerate(rows) for place, cell in
               enumerate(cells) if cell in "ab"]  # fmt: skip
    assert {letter for _, _, letter in letters} == {"a", "b"}
    last, top = max(x for x, _ in dots), 4 * len(rows)
    for height, place, letter in letters:
        part = place / last if letter == "a" else 1 - place / last
        assert abs(height - part * top) <= 6, letter
    lines = terminal_lines([curve(), curve("A.y", 10 - T)], "run", 80, 24)
    assert lines[1] == "a A.x: 10 m   b A.y: 0 m"


def test_letters_are_there_however_short_the_curves_are():
    t = np.array([0.0, 0.1])
    curves = [curve(f"A.x{number}", np.array([0.0, 1.0 + number]), t=t) for number in range(8)]
    _, rows, _ = the_panel(*curves, curve("A.long", T / 10), height=30)
    assert set("abcdefghi") <= set("".join(rows))


@pytest.mark.parametrize(("width", "height"), [(30, 8), (80, 24), (120, 40), (200, 60)])
@pytest.mark.parametrize("count", [1, 3, 12, 300])
@pytest.mark.parametrize("units", [1, 4, 40])
def test_a_picture_fits_and_counts_what_it_has_no_room_for(width, height, count, units):
    curves = [curve(f"Component{number}.variable", np.sin(T + number), f"u{number % units}") for number in range(count)]
    lines = [plain(line) for line in terminal_lines(curves, "a title " * 30, width, height)]
    assert len(lines) <= height
    assert max(map(cell_len, lines)) <= width
    text = "\n".join(lines)
    # Names are cut to 8 columns at least.
    named = len(re.findall(r"(?:─|[a-zA-Z]) Compone\S*: ", text))
    more = [
        int(number)
        for number in re.findall(r"… (\d+) more|(\d+) more signals? \(", text)
        for number in number
        if number
    ]
    assert named + sum(more) == count
    assert named >= 1 or width == LEAST_WIDTH


def test_what_has_no_room_is_named_with_the_way_out():
    curves = [curve(f"A.x{number}", T, f"u{number}") for number in range(9)]
    lines = terminal_lines(curves, "run", 80, 20)
    shown = len(panels_of(lines))
    names = ", ".join(f"A.x{number}" for number in range(shown, 9))
    assert lines[-1] == f"{9 - shown} more signals (choose by --signals, or enlarge): {names}"


def test_without_a_height_all_is_there():
    curves = [curve(f"A.x{number}", T * (1 + number), f"u{number % 10}") for number in range(60)]
    text = "\n".join(terminal_lines(curves, "run", 80))
    assert all(f"A.x{number}:" in text for number in range(60))
    assert "--signals" not in text


@pytest.mark.parametrize(("width", "height"), [(LEAST_WIDTH - 1, 40), (80, LEAST_HEIGHT - 1), (1, 1)])
def test_a_terminal_that_is_too_small_is_told_the_least_size(width, height):
    lines = terminal_lines([curve()], "run", width, height)
    assert len(lines) <= height
    if width > 3 and height > 3:
        assert f"{LEAST_WIDTH} x {LEAST_HEIGHT}" in " ".join(lines)


# -- styles and foreign names -----------------------------------------------------------------------------------


def test_colours_tell_curves_apart_and_are_the_only_difference():
    curves = [curve(), curve("A.y", 10 - T)]
    coloured, without = (terminal_lines(curves, "run", 80, 20, colour=colour) for colour in (True, False))
    assert [plain(line) for line in coloured] == without
    assert "\x1b" not in "".join(without)
    legend = dict(zip("ab", STYLE.findall(coloured[1])[::2], strict=True))
    assert legend["a"] != legend["b"]
    rows = [line for line in coloured if "│" in line or "┤" in line]
    for letter, style in legend.items():
        assert any(re.search(f"\x1b\\[{style}m[^\x1b]*{letter}", row) for row in rows)
    assert all(line.endswith("\x1b[0m") for line in rows if "\x1b" in line)


def test_the_environment_does_not_matter(monkeypatch):
    expected = terminal_lines([curve()], "run", 80, 20, colour=True)
    for name, value in (("NO_COLOR", "1"), ("FORCE_COLOR", "1"), ("COLUMNS", "20"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)
        assert terminal_lines([curve()], "run", 80, 20, colour=True) == expected


@pytest.mark.parametrize("colour", [True, False])
def test_hostile_and_wide_names_stay_in_their_lines(colour):
    names = ["\x1b[2J\x07", "a\nb", "\u202eabc", "日本" * 60, "e\u0301" * 40, "x" * 5000, ""]
    curves = [curve(name, T + number, name[:6]) for number, name in enumerate(names)]
    lines = [plain(line) for line in terminal_lines(curves, "\x1b[2J\n", 80, 40, colour=colour)]
    assert max(map(cell_len, lines)) <= 80
    assert len(lines) <= 40
    assert not [letter for line in lines for letter in line if unicodedata.category(letter) in ("Cc", "Cf")]
    assert any("\\x1b[2J\\x07: 10 \\x1b[2J" in line for line in lines)
