"""What is removed takes with it what touches it, and nothing more."""

import pytest

import ssptool
from tests.editing.small_systems import SINK, changed_lines, errors, nested, refused, snapshot, ssd
from tests.network.packages import bindings, component, content, package, ssm, ssv


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
    assert f"resources/dual_mass_oscillator.ssv no longer has {names}" in notes
    left = (dual_mass / "resources" / "dual_mass_oscillator.ssv").read_text()
    assert "System1.m1" in left and "System2" not in left
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
        assert sum("<ssc:Unit " in line for line in changed_lines(made)) == 2 * 4  # of the structure and of the set
    assert errors(dual_mass) == []


def test_parameters_that_another_variant_needs_stay(variants):
    values = variants / "resources" / "dual_mass_oscillator.ssv"
    before = values.read_bytes()
    with ssptool.edit(variants) as made:
        made.remove("System2")
        assert any(note.startswith("resources/dual_mass_oscillator.ssv keeps System2.m2") for note in made.notes)
    assert values.read_bytes() == before and errors(variants) == []


def mapped_set(folder):
    """`A` and `B` are made of one FMU; of the set of the system `both` is mapped to both of them, `one` to `A`."""
    values = ssv('both Real value="2" unit="m"', 'one Real value="3" unit="N"', 'idle Real value="4" unit="m"')
    entries = ssm(*(f'source="{name}" target="{target}"' for name, target in MAPPED))
    parts = [component(name, "Sink", "input u Real m") for name in "AB"]
    mapping = '<ssd:ParameterMapping source="resources/k.ssm"/>'
    binding = f'<ssd:ParameterBinding source="resources/k.ssv">{mapping}</ssd:ParameterBinding>'
    bound = f"<ssd:ParameterBindings>{binding}</ssd:ParameterBindings>"
    files = {"resources/k.ssv": values, "resources/k.ssm": entries}
    package(folder, ssd(content("", parts, [], bound)), {"Sink": SINK}, files)
    return folder


MAPPED = (("both", "A.u"), ("both", "B.u"), ("one", "A.force"))


def test_what_a_mapping_has_for_the_removed_element_alone_goes(tmp_path):
    path = mapped_set(tmp_path / "system")
    assert errors(path) == []
    with ssptool.edit(path) as made:
        made.remove("A")
        notes = made.notes
    assert "resources/k.ssv no longer has A.force" in notes
    assert "the mapping in resources/k.ssm no longer sets A.u; the parameters stay in resources/k.ssv" in notes
    texts = {name: content.decode() for name, content in snapshot(path).items() if name.endswith((".ssv", ".ssm"))}
    assert "A." not in texts["resources/k.ssm"] and 'target="B.u"' in texts["resources/k.ssm"]
    assert (
        all(name in texts["resources/k.ssv"] for name in ("both", "idle")) and '"one"' not in texts["resources/k.ssv"]
    )
    assert errors(path) == []


def test_a_parameter_that_another_variant_reads_without_the_mapping_stays(tmp_path):
    path = mapped_set(tmp_path / "system")
    (path / "Other.ssd").write_text(ssd(content("parameter one Real N", [], [], bindings('source="resources/k.ssv"'))))
    before = (path / "resources" / "k.ssv").read_bytes()
    with ssptool.edit(path) as made:
        made.remove("A")
        notes = made.notes
    assert (path / "resources" / "k.ssv").read_bytes() == before
    stay = "the parameters stay in resources/k.ssv"
    assert f"the mapping in resources/k.ssm no longer sets A.u, A.force; {stay}" in notes
    assert not any("no longer has" in note for note in notes)


def test_a_set_that_becomes_empty_goes_with_its_binding(dual_mass):
    with ssptool.edit(dual_mass) as made:
        made.add("System2.fmu", name="Third").set("Third.m2", 7).set("Third.k2", 8)
        made.remove("Third", with_resource=True)
    assert errors(dual_mass) == []
    assert "Third" not in (dual_mass / "SystemStructure.ssd").read_text()


@pytest.mark.parametrize(("name", "hint"), [("", "whole system"), ("System3", "did you mean"), ("System1.q", "'q'")])
def test_what_cannot_be_removed_is_explained(dual_mass, name, hint):
    with refused(dual_mass, hint) as made:
        made.remove(name)
