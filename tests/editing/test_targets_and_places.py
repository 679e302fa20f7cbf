"""What could be connected is what `connect` takes; elements are placed and keep mirrored corners."""

import shutil
from itertools import product
from pathlib import Path

import pytest

import ssptool
from ssptool.errors import WrongUsage
from tests.editing.small_systems import DUAL_MASS

SYSTEMS = Path(__file__).parents[2] / "systems"


@pytest.mark.parametrize("name", ["dual_mass_oscillator", "mass_spring_damper", "flyball_governor"])
def test_legal_targets_are_those_that_connect_takes(name):
    with ssptool.edit(SYSTEMS / name, save=False, force=True, shared="all") as editor:
        system = editor.system
        for connection in system.connections[::2]:
            connection.delete()
        ends = [(one.name, each.name) for one in system.elements for each in one.connectors]
        found = {(end, target.path) for end in ends for target in editor.targets(end)}
    for a, b in product(ends, ends):
        with ssptool.edit(SYSTEMS / name, save=False, force=True, shared="all") as editor:
            for connection in editor.system.connections[::2]:
                connection.delete()
            if a[0] == ends[0][0]:  # of one element: each pair takes a reading of the system
                assert ((a, b) in found) is _connects(editor, a, b), (a, b)


def _connects(editor, a, b) -> bool:
    try:
        editor.connect(a, b)
    except WrongUsage:
        return False
    return True


def test_suggestions_name_sources_of_equal_name_first():
    with ssptool.edit(SYSTEMS / "dual_mass_oscillator", save=False, force=True) as editor:
        editor.disconnect("System1", "System2")
        found = {one.destination: [each.path for each in one.sources] for one in editor.suggestions()}
    assert found == {
        ("System1", "F"): [("System2", "F")],
        ("System2", "x1"): [("System1", "x1")],
        ("System2", "v1"): [("System1", "v1")],
        ("System2", "a1"): [("System1", "a1")],
    }


def test_a_place_keeps_size_and_mirror_and_grows_the_canvas():
    with ssptool.edit(SYSTEMS / "dual_mass_oscillator", save=False) as editor:
        before = editor.system.elements[0].geometry
        before.set("x1", before.get("x2")), before.set("x2", "10")
        editor.place("System1", -20, 30)
        after, canvas = editor.system.elements[0].geometry, editor.system.system_geometry
        assert (after.x1, after.y1, after.x2, after.y2) == (20, 30, -20, 70)
        assert (canvas.x1, canvas.y1, canvas.x2, canvas.y2) == (-20, 0, 140, 70)
        editor.place("System1", 0, 0, 30, 20)
        assert (after.x1, after.y1, after.x2, after.y2) == (30, 0, 0, 20)


@pytest.mark.parametrize(
    ("to", "corners"),
    [
        ("left", [(0, 0), (0, 50), (0, 100)]),
        ("right", [(80, 0), (70, 50), (50, 100)]),
        ("bottom", [(0, 0), (30, 0), (50, 0)]),
        ("top", [(0, 110), (30, 100), (50, 100)]),
        ("centre", [(40, 0), (35, 50), (25, 100)]),
        ("middle", [(0, 55), (30, 50), (50, 50)]),
        ("across", [(0, 0), (20, 50), (50, 100)]),
        ("down", [(0, 0), (30, 45), (50, 100)]),
    ],
)
def test_elements_are_aligned_to_the_box_around_them_or_spread_in_it(to, corners):
    """Three elements of 20 × 10, 30 × 20 and 50 × 20 in a box of 100 × 120."""
    places = [(0, 0, 20, 10), (30, 50, 30, 20), (50, 100, 50, 20)]
    with ssptool.edit(SYSTEMS / "mass_spring_damper", save=False, force=True, shared="all") as editor:
        names = [element.name for element in editor.system.elements][:3]
        for name, place in zip(names, places, strict=True):
            editor.place(name, *place)
        editor.align(*names, to=to)
        boxes = [element.geometry for element in editor.system.elements][:3]
        assert [(box.x1, box.y1) for box in boxes] == corners
        assert [(box.x2 - box.x1, box.y2 - box.y1) for box in boxes] == [place[2:] for place in places]


def test_a_line_is_led_over_points_in_the_direction_in_which_it_is_named():
    with ssptool.edit(SYSTEMS / "dual_mass_oscillator", save=False) as editor:
        ends = ("System2.x1", "System1.x1")
        line = next(one for one in editor.system.connections if one.ends[0].connector == one.ends[1].connector == "x1")
        begins = line.ends[0].element
        editor.route(*ends, [(60, 30), (70, 10.5)])
        ways = [[60, 70], [30, 10.5]] if begins == "System2" else [[70, 60], [10.5, 30]]
        assert [list(line.geometry.points_x), list(line.geometry.points_y)] == ways
        editor.route(*ends)
        assert line.geometry is None


def test_sums_of_positions_leave_no_rounding_in_files(tmp_path):
    path = shutil.copytree(DUAL_MASS, tmp_path / "s")
    with ssptool.edit(path) as made:
        made.place("System1", 9.1, -28.1, 60, 20)
    assert b'x1="9.1" y1="-28.1" x2="69.1" y2="-8.1"' in (path / "SystemStructure.ssd").read_bytes()
