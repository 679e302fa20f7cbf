"""A package becomes a component with the connectors of its root system, edited by names with dots from then on."""

import shutil
from pathlib import Path

import pytest

import ssptool
from tests.editing.small_systems import DUAL_MASS, errors, fmu, refused, snapshot
from tests.network.packages import component, content, model, package, packed, ssd

TYPES = '<SimpleType name="Gear"><Enumeration><Item name="first" value="1"/></Enumeration></SimpleType>'
M = model(
    'input u Real start="0" unit="m"; output y Real unit="m"; parameter k Real start="1"; '
    'input gear Enumeration declaredType="Gear" start="1"',
    types=TYPES,
)


@pytest.fixture
def part(tmp_path) -> Path:
    """A package whose root system has an input in mm, an output, an enumeration and a parameter."""
    with ssptool.new(tmp_path / "part.ssp", name="Part") as made:
        made.add(fmu(tmp_path, "m", M), name="A", parameters=True)
        made.add_connector("u", "input", unit="m").add_connector("y", "output").add_connector("k", "parameter")
        made.connect("u", "A.u").connect("A.y", "y").connect("k", "A.k")
    return tmp_path / "part.ssp"


@pytest.mark.parametrize("name", ["whole", "whole.ssp"])
def test_a_package_is_a_component_at_once(tmp_path, part, name):
    with ssptool.new(tmp_path / name) as made:
        made.add(part).add(part, name="second", parameters=True).connect("part.y", "second.u")
        assert made.notes[1] == (
            "added second to the system: Part, resources/part.ssp, connectors u (input), y (output), k (parameter)"
        )
    assert errors(tmp_path / name) == []
    network = ssptool.flatten(tmp_path / name)
    assert [f"{wire.source} -> {wire.destination}" for wire in network.wires if wire.source.component] == [
        "part.A.y -> second.A.u"
    ]


def test_what_is_added_can_be_edited_inside_and_taken_away_again(tmp_path, part):
    with ssptool.new(tmp_path / "whole"):
        pass
    before = snapshot(tmp_path / "whole")
    with ssptool.edit(tmp_path / "whole") as made:
        made.add(part, name="P").rename("P.A", "B").set("P.B.k", 4)
    assert errors(tmp_path / "whole") == []
    assert "P.B" in ssptool.flatten(tmp_path / "whole").components
    with ssptool.edit(tmp_path / "whole") as made:
        made.unset("P.B.k").remove("P", with_resource=True)
    assert snapshot(tmp_path / "whole") == before


def test_a_structure_in_the_resources_is_named_by_its_entry(tmp_path):
    path = Path(shutil.copytree(DUAL_MASS.with_name("mass_spring_damper"), tmp_path / "masses"))
    with ssptool.edit(path) as made:
        made.add("MassSpringDamper.ssd", name="third")
    assert errors(path) == []
    assert "third.mass" in ssptool.flatten(path).components


def test_units_and_enumerations_get_definitions_outside(tmp_path):
    items = '<ssc:Enumeration name="E"><ssc:Item name="a" value="1"/></ssc:Enumeration>'
    interface = (
        '<ssd:Connectors><ssd:Connector name="e" kind="input"><ssc:Enumeration name="E"/></ssd:Connector>'
        '<ssd:Connector name="n" kind="input"><ssc:Int64/><ssc:Dimension size="3"/></ssd:Connector>'
        '<ssd:Connector name="u" kind="input" description="Width"><ssc:Float32 unit="mm"/></ssd:Connector>'
        "</ssd:Connectors>"
    )
    text = ssd(
        f'{interface}<ssd:Elements><ssd:System name="S"/></ssd:Elements>',
        extra=f"<ssd:Enumerations>{items}</ssd:Enumerations>",
    )
    (tmp_path / "part.ssp").write_bytes(packed({"SystemStructure.ssd": text}))
    with ssptool.new(tmp_path / "whole") as made:
        made.add(tmp_path / "part.ssp")
    structure = (tmp_path / "whole" / "SystemStructure.ssd").read_text()
    assert errors(tmp_path / "whole") == []
    assert '<ssc:Enumeration name="E">' in structure and '<ssc:Unit name="mm">' in structure
    assert 'name="u" kind="input" description="Width"' in structure and '<ssc:Dimension size="3"/>' in structure
    assert 'version="2.0"' in structure, "SSP 1.0 has no arrays"


def test_what_cannot_be_a_part_is_refused_by_name(tmp_path, part):
    lone = package(tmp_path / "lone", ssd(content("", [component("A", "m", "output y Real m")], [])), {"m": M}).path
    (tmp_path / "no.ssp").write_bytes(b"no zip")
    with ssptool.new(tmp_path / "whole") as made:
        made.add(part)
    for file, hint in (
        (lone / "SystemStructure.ssd", "refers to files next to it"),
        (tmp_path / "no.ssp", "not a readable zip"),
        (tmp_path / "nowhere.ssp", "does not exist"),
    ):
        with refused(tmp_path / "whole", hint, Exception) as made:
            made.add(file)
    before = part.read_bytes()
    with pytest.raises(Exception, match="cannot be a part of itself"), ssptool.edit(part) as made:
        made.add(part)
    assert part.read_bytes() == before
