"""What is removed takes with it what touches it, and nothing more."""

import pytest

import ssptool
from tests.editing.small_systems import changed_lines, errors, nested, refused, snapshot


def test_an_element_goes_with_its_connections(dual_mass):
    with ssptool.edit(dual_mass) as made:
        made.remove("System2")
        notes = made.notes
        assert all(line[0] == "-" or "SystemGeometry" in line for line in changed_lines(made))
    assert [note for note in notes if note.startswith("disconnected")] == [
        "disconnected System1.x1 and System2.x1",
        "disconnected System1.v1 and System2.v1",
        "disconnected System1.a1 and System2.a1",
        "disconnected System2.F and System1.F",
    ]
    names = ", ".join(f"System2.{name}" for name in ("m2", "k2", "c2", "k3", "c3", "x2_start"))
    assert f"parameters that address System2 have no effect now: {names}" in notes
    assert "nothing refers to resources/System2.fmu any more" in notes
    assert errors(dual_mass) == []
    assert "resources/System2.fmu" in snapshot(dual_mass)


def test_its_file_goes_if_asked_for_and_nothing_else_uses_it(dual_mass):
    with ssptool.edit(dual_mass) as made:
        made.add("System2.fmu", name="Twin").remove("System2", with_resource=True)
    assert "resources/System2.fmu" in snapshot(dual_mass)
    with ssptool.edit(dual_mass) as made:
        made.remove("Twin", with_resource=True)
    assert "resources/System2.fmu" not in snapshot(dual_mass)


def test_a_file_that_another_variant_uses_stays(variants):
    with ssptool.edit(variants) as made:
        made.remove("System1", with_resource=True)
    assert "resources/System1.fmu" in snapshot(variants)
    assert errors(variants) == []


def test_a_connector_goes_with_the_connections_on_both_sides(tmp_path):
    path = nested(tmp_path)
    with ssptool.edit(path) as made:
        made.remove("Sub.u")
        assert made.notes[:3] == (
            "disconnected Sub.u and Sub.B.u",
            "disconnected A.y and Sub.u",
            "removed the connector Sub.u",
        )
    assert ssptool.flatten(path).wires == ()
    assert errors(path) == []


def test_a_system_goes_with_everything_in_it(tmp_path):
    path = nested(tmp_path)
    with ssptool.edit(path) as made:
        made.remove("Sub", with_resource=True)
    assert [component.name for component in ssptool.info(path).components] == ["A"]
    assert "resources/Sink.fmu" not in snapshot(path)
    assert errors(path) == []


def test_units_that_something_else_uses_stay(dual_mass):
    with ssptool.edit(dual_mass) as made:
        made.remove("System1")
        assert not any("<ssc:Unit" in line for line in changed_lines(made))
        made.remove("System2")
        assert sum("<ssc:Unit " in line for line in changed_lines(made)) == 4
    assert errors(dual_mass) == []


@pytest.mark.parametrize(("name", "hint"), [("", "whole system"), ("System3", "did you mean"), ("System1.q", "'q'")])
def test_what_cannot_be_removed_is_explained(dual_mass, name, hint):
    with refused(dual_mass, hint) as made:
        made.remove(name)
