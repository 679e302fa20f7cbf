"""Notes in diagrams: written, moved and removed, without a change of anything else."""

import shutil

import pytest

import ssptool
from tests.editing.small_systems import DUAL_MASS, errors, refused, snapshot
from tests.network.packages import content, package, ssd, system


@pytest.fixture
def path(tmp_path):
    inner = system("Inner", "", [system("Deep", "input u Real m", [], [])], []).replace(
        "<ssd:Connections>\n</ssd:Connections>", ""
    )
    root = ssd(content("input a Real m, output c Real m", [inner], ["a -> c"])).replace(
        "<ssd:Elements></ssd:Elements>", ""
    )
    package(tmp_path / "s", root.replace("<ssd:Connections>\n</ssd:Connections>", ""), {})
    return tmp_path / "s"


def notes(path, inner: bool = False) -> list[tuple[str, tuple[float, ...]]]:
    with ssptool.edit(path, save=False) as made:
        owner = made.system.elements[0] if inner else made.system
        return [(one.text, (one.x1, one.y1, one.x2, one.y2)) for one in owner.notes]


def test_a_note_is_written_moved_and_removed_again(path):
    before = snapshot(path)
    with ssptool.edit(path) as made:
        made.annotate("valid up to 80 °C\nmeasured <twice>", x=10, y=-30, width=50.5, height=12)
        made.annotate("inside", of="Inner")
    assert errors(path) == []
    assert notes(path) == [("valid up to 80 °C\nmeasured <twice>", (10.0, -30.0, 60.5, -18.0))]
    assert notes(path, inner=True) == [("inside", (0.0, 0.0, 60.0, 20.0))]
    with ssptool.edit(path) as made:
        made.annotate("valid up to 80 °C\nmeasured <twice>", x=0, y=1)
    assert notes(path)[0][1] == (0.0, 1.0, 50.5, 13.0)
    with ssptool.edit(path) as made:
        made.remove_note("valid").remove_note("inside", of="Inner")
    assert snapshot(path) == before


def test_a_note_stands_below_elements_and_notes_and_the_canvas_holds_it(tmp_path):
    path = tmp_path / "s"
    package(path, ssd(content("", [system("A", "input u Real m", [], [])], [])), {})
    with ssptool.edit(path, force=True) as made:
        made.place("A", 100, 200, 40, 30).annotate("one").annotate("two")
    (_, one), (_, two) = notes(path)
    assert one[0] == two[0] == 100.0
    assert one[3] < 200.0
    assert two[3] < one[1]


def test_notes_that_cannot_be_are_refused(path):
    with ssptool.edit(path) as made:
        made.annotate("note one").annotate("note two")
    for call, told in (
        (lambda made: made.annotate(" "), "is empty"),
        (lambda made: made.annotate("a", x=1), "both x and y"),
        (lambda made: made.annotate("a", x=1, y=float("nan")), "finite"),
        (lambda made: made.annotate("a", width=0, height=5), "above 0"),
        (lambda made: made.remove_note("note"), "2 notes"),
        (lambda made: made.remove_note("nota one"), "did you mean note one"),
        (lambda made: made.remove_note("x", of="Inner"), "has no notes"),
    ):
        with refused(path, told) as made:
            call(made)


def test_values_and_wires_stay_as_they_are(tmp_path):
    path = shutil.copytree(DUAL_MASS, tmp_path / "s")
    before = ssptool.flatten(path)
    with ssptool.edit(path) as made:
        made.annotate("a note")
    after = ssptool.flatten(path)
    assert [str(one) for one in after.wires] == [str(one) for one in before.wires]
