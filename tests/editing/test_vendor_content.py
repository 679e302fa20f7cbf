"""Edits never read or change the content of annotations, however much it looks like SSP."""

from pathlib import Path

import pytest

import ssptool
from tests.network.packages import bindings, component, connectors, content, model, package, ssd, ssv

MODEL = model('input u Real start="0"; output y Real; parameter k Real start="1"')
BOUND = bindings(ssv("A.k Real value='2'"), 'source="resources/k.ssv"')
SYSTEM = content(
    "input u Real, output y Real",
    [
        component("A", "M", "input u Real, output y Real, parameter k Real"),
        component("B", "M", "input u Real, output y Real"),
    ],
    ["u -> A.u", "A.y -> B.u", "B.y -> y"],
    BOUND,
)
VENDOR = f"""<ssd:Annotations><ssc:Annotation type="org.example"><v:tool xmlns:v="urn:vendor" source="resources/N.fmu">
  <ssd:System name="root">{SYSTEM}</ssd:System>
  <ssd:Component name="C" source="Other.ssd"/><ssd:Component name="A" source="resources/N.fmu"/>
  <ssd:Connection startElement="A" startConnector="y" endElement="B" endConnector="u"/>
  <ssd:Units><ssc:Unit name="mm"><ssc:BaseUnit/></ssc:Unit></ssd:Units>
  <ssd:DefaultExperiment startTime="7" stopTime="8"/>
</v:tool></ssc:Annotation></ssd:Annotations>"""


def made(folder: Path, vendor: str) -> Path:
    """The system with an annotation in the document, its system, and a component."""
    inside = SYSTEM.replace("</ssd:Connectors></ssd:Component>", f"</ssd:Connectors>{vendor}</ssd:Component>", 1)
    structure = ssd(inside + vendor).replace(
        "</ssd:SystemStructureDescription>", f"{vendor}</ssd:SystemStructureDescription>"
    )
    other = ssd(f"<ssd:Elements>{component('X', 'M')}</ssd:Elements>" + vendor).replace('name="test"', 'name="Other"')
    files = {"Other.ssd": other, "resources/k.ssv": ssv("B.k Real value='3'"), "resources/N.fmu": b"no FMU"}
    return package(folder, structure, {"M": MODEL}, files).path


EDITS = {
    "rename a component": lambda plant: plant.rename("A", "Motor"),
    "rename a connector": lambda plant: plant.rename("u", "speed"),
    "remove a component": lambda plant: plant.remove("A"),
    "remove a component and its file": lambda plant: plant.remove("A", with_resource=True),
    "remove a connector": lambda plant: plant.remove("B.u"),
    "set": lambda plant: plant.set("A.k", 5),
    "unset": lambda plant: plant.unset("A.k"),
    "unbind": lambda plant: plant.unbind("resources/k.ssv"),
    "connect": lambda plant: plant.disconnect("A.y", "B.u").connect("u", "B.u"),
    "disconnect": lambda plant: plant.disconnect("A.y", "B.u"),
    "add a system": lambda plant: plant.add_system("Part"),
    "add a component": lambda plant: plant.add(SOURCE, name="D"),
    "set the experiment": lambda plant: plant.set_experiment(0, 3),
}
SOURCE = Path(__file__).parents[2] / "systems/dual_mass_oscillator/resources/System1.fmu"


def structure(folder: Path, name: str = "SystemStructure.ssd") -> str:
    return (folder / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_an_edit_does_what_it_does_without_annotations(edit, tmp_path):
    """It leaves them byte for byte, and makes of the rest what it makes where there are none."""
    plain, annotated = made(tmp_path / "plain", ""), made(tmp_path / "annotated", VENDOR)
    for folder in (plain, annotated):
        with ssptool.edit(folder) as plant:
            edit(plant)
    removed = structure(plain).count("<ssd:Component ") < 2  # one of the annotations goes with its component
    assert structure(annotated).count(VENDOR) == (2 if removed else 3)
    assert squeezed(structure(annotated).replace(VENDOR, "")) == squeezed(structure(plain))


def squeezed(text: str) -> str:
    """Without white space between elements."""
    return "><".join(part.strip() for part in text.replace(">", ">\0").split("\0")).replace("><<", "><")


def test_another_default_variant_changes_the_sources_of_components_only(tmp_path):
    folder = made(tmp_path / "annotated", VENDOR)
    ssptool.variants.set_default_variant(folder, "Other")
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("*.ssd")]
    assert sorted(text.count(VENDOR) for text in texts) == [1, 3]


@pytest.mark.parametrize("change", [ssptool.downgrade, ssptool.upgrade], ids=["downgrade", "upgrade"])
def test_another_version_changes_no_annotation(change, tmp_path):
    folder = made(tmp_path / "annotated", VENDOR)
    change(folder)
    assert structure(folder).count(VENDOR) == 3


def test_fixes_change_no_annotation(tmp_path):
    """What is wrong stands in the system and in each annotation."""
    folder = made(tmp_path / "annotated", VENDOR)
    right, wrong = 'startConnector="u" endElement', 'startElement="" startConnector="u" endElement'
    path = folder / "SystemStructure.ssd"
    path.write_text(structure(folder).replace(right, wrong), encoding="utf-8")
    assert "SSD-CONN-013" in {one.code for one in ssptool.fix(folder).fixed}
    assert structure(folder).count(VENDOR.replace(right, wrong)) == 3
    assert structure(folder).count(wrong) == 3


def test_a_structure_whose_annotations_name_files_can_be_a_component(tmp_path):
    folder = made(tmp_path / "plain", "")
    part = tmp_path / "part.ssd"
    part.write_text(ssd(connectors("input u Real") + VENDOR), encoding="utf-8")
    with ssptool.edit(folder) as plant:
        plant.add(part, name="Part")
    assert VENDOR in (folder / "resources/part.ssd").read_text(encoding="utf-8")
