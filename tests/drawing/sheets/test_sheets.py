"""Drawings are where the standard says: corners, fractions, mirrored and turned boxes, way points (SSP 2.0 §5.2)."""

import re
from pathlib import Path

import pytest
from lxml import etree

import ssptool
from ssptool.documents.archive import Archive
from ssptool.drawing.diagram.arrange import arranged
from ssptool.drawing.diagram.model import MIXED, Sheet
from ssptool.drawing.diagram.read import stated_sheets

SYSTEMS = Path(__file__).parents[3] / "systems"
SVG = {"svg": "http://www.w3.org/2000/svg"}
HEAD = (
    '<?xml version="1.0"?>\n<ssd:SystemStructureDescription xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructure'
    'Description" xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon" version="2.0" name="S">\n'
)


def system(folder: Path, elements: str, connections: str = "", more: str = "", own: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    lines = f"<ssd:Connections>\n{connections}</ssd:Connections>\n" if connections else ""
    (folder / "SystemStructure.ssd").write_text(
        f'{HEAD}<ssd:System name="S">\n{own}<ssd:Elements>\n{elements}</ssd:Elements>\n'
        f"{lines}{more}</ssd:System>\n</ssd:SystemStructureDescription>\n"
    )
    return folder


def element(name: str, connectors: str = "", geometry: str = "") -> str:
    return (
        f'<ssd:Component name="{name}" source="{name}.fmu">\n<ssd:Connectors>\n{connectors}</ssd:Connectors>\n'
        f"{geometry}</ssd:Component>\n"
    )


def connector(name: str, kind: str, place: str = "") -> str:
    geometry = f"<ssd:ConnectorGeometry {place}/>" if place else ""
    return f'<ssd:Connector name="{name}" kind="{kind}"><ssc:Real/>{geometry}</ssd:Connector>\n'


def sheets(path: Path) -> dict[str, Sheet]:
    with Archive.open(path) as archive:
        stated = stated_sheets(archive, archive.structure())
        return {".".join(path): arranged(stated, path) for path in stated}


@pytest.mark.parametrize(
    ("box", "at", "outward"),
    [
        ('x1="0" y1="0" x2="40" y2="20"', (40, 5), (1, 0)),
        ('x1="40" y1="0" x2="0" y2="20"', (0, 5), (-1, 0)),  # mirrored: u runs from x1 to x2
        ('x1="0" y1="20" x2="40" y2="0"', (40, 15), (1, 0)),
        # A quarter turn about the centre (20, 10): (20, -5) from it becomes (5, 20).
        ('x1="0" y1="0" x2="40" y2="20" rotation="90"', (25, 30), (0, 1)),
        ('x1="0" y1="0" x2="40" y2="20" rotation="180"', (0, 15), (-1, 0)),
    ],
)
def test_connectors_are_mirrored_and_turned_with_their_element(tmp_path, box, at, outward):
    part = element("A", connector("y", "output", 'x="1" y="0.25"'), f"<ssd:ElementGeometry {box}/>")
    (pin,) = sheets(system(tmp_path / "s", part))[""].blocks[0].pins
    assert pin.at == pytest.approx(at)
    assert pin.outward == pytest.approx(outward)


def test_way_points_are_those_of_the_document_between_the_ends(tmp_path):
    parts = element(
        "A", connector("y", "output", 'x="1" y="0.5"'), '<ssd:ElementGeometry x1="0" y1="0" x2="10" y2="10"/>'
    ) + element("B", connector("u", "input", 'x="0" y="0.5"'), '<ssd:ElementGeometry x1="50" y1="20" x2="60" y2="30"/>')
    line = (
        '<ssd:Connection startElement="A" startConnector="y" endElement="B" endConnector="u">'
        '<ssd:ConnectionGeometry pointsX="30 30" pointsY="5 25"/></ssd:Connection>\n'
    )
    assert sheets(system(tmp_path / "s", parts, line))[""].lines[0].points == ((10, 5), (30, 5), (30, 25), (50, 25))


def test_a_systems_connector_has_another_place_inside(tmp_path):
    own = (
        '<ssd:Connectors><ssd:Connector name="u" kind="input"><ssc:Real/>'
        '<ssd:ConnectorGeometry x="1" y="0.5" systemInnerX="0" systemInnerY="0.25"/></ssd:Connector></ssd:Connectors>\n'
    )
    canvas = '<ssd:SystemGeometry x1="-100" y1="0" x2="100" y2="40"/>\n'
    part = element("A", "", '<ssd:ElementGeometry x1="0" y1="0" x2="10" y2="10"/>')
    (pin,) = sheets(system(tmp_path / "s", part, "", canvas, own))[""].pins
    assert pin.at == (-100, 10)
    assert pin.outward == (1, 0)


def test_connectors_at_one_place_are_one_pin():
    blocks = sheets(SYSTEMS / "rotational_spring_mass_damper")[""].blocks
    (flange,) = next(block.pins for block in blocks if block.name == "inertia1")
    assert flange.kind == MIXED
    assert [text.partition(":")[0] for text in flange.described] == ["phi", "w", "tau3", "tau4"]


def test_what_has_no_place_stands_below_what_has(tmp_path):
    parts = element("A", "", '<ssd:ElementGeometry x1="0" y1="0" x2="10" y2="10"/>') + element("B") + element("C")
    found = {block.name: block.extent for block in sheets(system(tmp_path / "s", parts))[""].blocks}
    assert max(found["B"].y2, found["C"].y2) < 0.0
    canvas = sheets(tmp_path / "s")[""].canvas
    assert all(canvas.y1 <= extent.y1 and extent.y2 <= canvas.y2 for extent in found.values())


def folders() -> list[Path]:
    return sorted(path.parent for path in SYSTEMS.glob("*/SystemStructure.ssd"))


@pytest.mark.parametrize("folder", folders(), ids=lambda path: path.name)
@pytest.mark.parametrize("ending", ["svg", "png", "html"])
def test_every_example_can_be_drawn(folder, ending, tmp_path):
    ssptool.draw(folder, tmp_path / f"d.{ending}", highlight=["loops", "findings"])
    content = (tmp_path / f"d.{ending}").read_bytes()
    if ending == "png":
        assert content.startswith(b"\x89PNG")
        return
    text = content.decode()
    with Archive.open(folder) as archive:
        for part in archive.structure().structure.system.elements:
            assert f">{part.name}<" in text
    if ending == "html":
        assert re.findall(r'(?:src|href)="(?!#|data:)', text) == []


def test_algebraic_loops_stand_out(tmp_path):
    ssptool.draw(SYSTEMS / "dual_mass_oscillator", tmp_path / "d.svg", highlight=["loops"])
    lines = etree.parse(tmp_path / "d.svg").findall("svg:path[@class]", SVG)
    loud = [line.findtext("svg:title", namespaces=SVG) for line in lines if "loop" in str(line.get("class"))]
    assert {text.splitlines()[0] for text in loud} == {"System1.a1 – System2.a1", "System2.F – System1.F"}


def test_findings_stand_out_where_they_are(tmp_path):
    """The FMUs are missing, which is an error of both components."""
    parts = element("A", connector("y", "output")) + element("B", connector("u", "input"))
    ssptool.draw(system(tmp_path / "s", parts), tmp_path / "d.svg", highlight=["findings"])
    groups = etree.parse(tmp_path / "d.svg").findall("svg:g[@class]", SVG)
    assert [group.get("class") for group in groups] == ["block error", "block error", "legend"]
    assert [text.text for text in groups[-1].findall("svg:text", SVG)] == ["error"]


def test_a_page_links_to_the_sheets_inside(tmp_path):
    ssptool.draw(SYSTEMS / "mass_spring_damper", tmp_path / "d.html")
    page = (tmp_path / "d.html").read_text(encoding="utf-8")
    sections = set(re.findall(r'<section id="([^"]*)"', page))
    assert sections == {"system", "system/first", "system/second"}
    assert {address.removeprefix("#") for address in re.findall(r'href="(#[^"]*)"', page)} <= sections


def test_what_cannot_be_drawn_is_named_and_writes_nothing(tmp_path):
    with pytest.raises(ssptool.exceptions.UnknownName, match="first, second"):
        ssptool.draw(SYSTEMS / "mass_spring_damper", tmp_path / "d.svg", level="third")
    with pytest.raises(ValueError, match=r"\.svg, \.png, \.html"):
        ssptool.draw(SYSTEMS / "mass_spring_damper", tmp_path / "d.gif")
    assert list(tmp_path.iterdir()) == []
