"""What is inside an element: drawn in its box, and what FMUs and nested systems say of places and icons."""

from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import pytest
from lxml import etree

import ssptool
from ssptool.documents.archive import Archive
from ssptool.drawing.diagram.arrange import arranged
from ssptool.drawing.diagram.model import Icon, Rectangle, Sheet
from ssptool.drawing.diagram.read import Placement, stated_sheets
from tests.drawing.sheets.test_sheets import SVG, SYSTEMS, connector, element, system

IMAGES = SYSTEMS.parent / "docs" / "images"
ICON = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><rect width="1" height="1"/></svg>'
TERMINALS = """<fmiTerminalsAndIcons fmiVersion="3.0">
  <GraphicalRepresentation>
    <CoordinateSystem x1="-100" y1="-100" x2="100" y2="100"/><Icon x1="-100" y1="-50" x2="100" y2="50"/>
  </GraphicalRepresentation>
  <Terminals><Terminal name="flange">
    <TerminalMemberVariable variableName="y" memberName="y" variableKind="signal"/>
    <TerminalGraphicalRepresentation x1="-10" y1="40" x2="10" y2="60" iconBaseName="flange"/>
  </Terminal></Terminals>
</fmiTerminalsAndIcons>"""


def drawn(path: Path, depth: int = 0) -> Sheet:
    with Archive.open(path) as archive:
        return arranged(stated_sheets(archive, archive.structure()), depth=depth)


def fmu(folder: Path, name: str, **entries: str) -> None:
    with ZipFile(folder / f"{name}.fmu", "w") as archive:
        archive.writestr(
            "modelDescription.xml",
            f'<fmiModelDescription fmiVersion="2.0" modelName="{name}" guid="g">'
            f'<CoSimulation modelIdentifier="{name}"/>'
            '<ModelVariables><ScalarVariable name="y" valueReference="0" causality="output"><Real/></ScalarVariable>'
            '</ModelVariables><ModelStructure><Outputs><Unknown index="1"/></Outputs></ModelStructure>'
            "</fmiModelDescription>",
        )
        for entry, content in entries.items():
            archive.writestr(f"terminalsAndIcons/{entry.replace('_', '.')}", content)


def nested(inner: str, geometry: str = "", canvas: str = "") -> str:
    return f'<ssd:System name="In">\n{geometry}<ssd:Elements>\n{inner}</ssd:Elements>\n{canvas}</ssd:System>\n'


@pytest.mark.parametrize(
    ("box", "corner", "mirrored"),
    [
        ('x1="0" y1="0" x2="40" y2="20"', (4, 2), (False, False)),
        ('x1="40" y1="0" x2="0" y2="20"', (36, 2), (True, False)),
        ('x1="40" y1="20" x2="0" y2="0"', (36, 18), (True, True)),
        # A half turn about the centre (20, 10).
        ('x1="0" y1="0" x2="40" y2="20" rotation="180"', (36, 18), (False, False)),
    ],
)
def test_a_nested_canvas_is_stretched_to_its_box_mirrored_and_turned(tmp_path, box, corner, mirrored):
    """SSP 2.0, SystemGeometry: x goes to x1_AE + (x - x1_AS) (x2_AE - x1_AE) / (x2_AS - x1_AS), then rotation."""
    part = element("A", "", '<ssd:ElementGeometry x1="10" y1="10" x2="30" y2="50"/>')
    canvas = '<ssd:SystemGeometry x1="0" y1="0" x2="100" y2="100"/>\n'
    sheet = drawn(system(tmp_path / "s", nested(part, f"<ssd:ElementGeometry {box}/>\n", canvas)), depth=1)
    (inset,) = sheet.insets
    extent, turned = inset.blocks[0].extent, inset.blocks[0].rotation % 360
    first = (extent.x1, extent.y1) if turned == 0 else (extent.x2, extent.y2)
    assert first == pytest.approx(corner)
    assert (extent.width, extent.height) == pytest.approx((8, 8))
    assert (extent.x1 > extent.x2, extent.y1 > extent.y2) == mirrored


def test_what_lies_in_a_nested_system_is_stretched_as_it_lies():
    """A quarter turn: the box 20 x 10 covers 10 x 20 of the canvas, which becomes 20 x 10 of one twice as wide and half
    as high."""
    placement = Placement(Rectangle(0, 0, 100, 100), Rectangle(0, 0, 200, 50))
    extent, rotation = placement._extent(Rectangle(10, 20, 30, 30), 90.0)
    covered = extent.turned(rotation)
    assert (covered.width, covered.height) == pytest.approx((20, 10))
    assert covered.centre == pytest.approx((40, 12.5))


@pytest.mark.parametrize(("x1", "x2", "turned"), [(0, 100, 30.0), (100, 0, -30.0)])
def test_an_icon_turns_against_its_angle_where_its_system_is_mirrored(x1, x2, turned):
    """As its element does: both are at 30 degrees, and turn with the system by 90."""
    (block, *_) = drawn(SYSTEMS / "dual_mass_oscillator").blocks
    block = replace(block, rotation=30.0, icon=Icon(b"", "image/png", 30.0))
    placed = Placement(Rectangle(0, 0, 100, 100), Rectangle(x1, 0, x2, 100), 90.0)._block(block)
    assert placed.icon.rotation == placed.rotation == 90.0 + turned


def test_an_empty_system_says_so(tmp_path):
    folder = system(tmp_path / "s", "")
    assert "This system has no elements." in ssptool.draw(folder).svg
    assert "This system has no elements." not in ssptool.draw(SYSTEMS / "dual_mass_oscillator").svg


def test_depth_says_how_many_levels_are_drawn():
    assert [one.path for one in drawn(SYSTEMS / "mass_spring_damper").all()] == [()]
    assert [one.path for one in drawn(SYSTEMS / "mass_spring_damper", 1).all()] == [(), ("first",), ("second",)]
    with pytest.raises(ValueError, match="depth must be a whole number of at least 0; found -1"):
        ssptool.draw(SYSTEMS / "mass_spring_damper", depth=-1)


def test_lines_meet_inside_and_outside_of_a_nested_box(tmp_path):
    """In a free layout the pins of the element are where those of its system are, to the grid of heights [mm]."""
    own = "<ssd:Connectors>" + connector("u", "input") + "</ssd:Connectors>\n"
    line = '<ssd:Connections><ssd:Connection startConnector="u" endElement="B" endConnector="u"/></ssd:Connections>\n'
    part = element("B", connector("u", "input"))
    inner = f'<ssd:System name="In">\n{own}<ssd:Elements>\n{part}</ssd:Elements>\n{line}</ssd:System>\n'
    outer = '<ssd:Connection startElement="A" startConnector="y" endElement="In" endConnector="u"/>\n'
    sheet = drawn(system(tmp_path / "s", element("A", connector("y", "output")) + inner, outer), depth=1)
    (inset,) = sheet.insets
    assert sheet.lines[0].points[-1] == pytest.approx(inset.lines[0].points[0], abs=0.004)


def test_connectors_without_a_place_are_where_the_fmu_has_its_terminals(tmp_path):
    """The terminal is in the middle of the icon's upper edge."""
    box = '<ssd:ElementGeometry x1="0" y1="0" x2="40" y2="20"/>'
    folder = system(tmp_path / "s", element("A", connector("y", "output"), box))
    fmu(folder, "A", terminalsAndIcons_xml=TERMINALS)
    (pin,) = drawn(folder).blocks[0].pins
    assert pin.at == pytest.approx((20, 20))
    assert pin.outward == pytest.approx((0, 1))


def test_places_of_the_document_win_over_those_of_the_fmu(tmp_path):
    box = '<ssd:ElementGeometry x1="0" y1="0" x2="40" y2="20"/>'
    folder = system(tmp_path / "s", element("A", connector("y", "output", 'x="1" y="0.5"'), box))
    fmu(folder, "A", terminalsAndIcons_xml=TERMINALS)
    assert drawn(folder).blocks[0].pins[0].at == pytest.approx((40, 10))


@pytest.mark.parametrize("content", ["<a", "<a/>", TERMINALS.replace('x2="10"', 'x2="wide"')])
def test_terminals_that_state_no_place_leave_the_layout_to_us(tmp_path, content):
    box = '<ssd:ElementGeometry x1="0" y1="0" x2="40" y2="20"/>'
    folder = system(tmp_path / "s", element("A", connector("y", "output"), box))
    fmu(folder, "A", terminalsAndIcons_xml=content)
    assert drawn(folder).blocks[0].pins[0].at == pytest.approx((40, 10))


def test_connectors_without_a_place_are_where_the_nested_structure_has_them(tmp_path):
    """A component's own places win; it has none here."""
    folder = system(
        tmp_path / "s",
        element("A", connector("y", "output"), '<ssd:ElementGeometry x1="0" y1="0" x2="40" y2="20"/>').replace(
            'source="A.fmu"', 'type="application/x-ssp-definition" source="A.ssd"'
        ),
    )
    own = "<ssd:Connectors>" + connector("y", "output", 'x="0.25" y="0"') + "</ssd:Connectors>\n"
    inner = system(tmp_path / "inner", element("B"), own=own)
    (inner / "SystemStructure.ssd").rename(folder / "A.ssd")
    assert drawn(folder).blocks[0].pins[0].at == pytest.approx((10, 0))


def test_components_without_geometry_have_the_icon_of_their_fmu(tmp_path):
    folder = system(tmp_path / "s", element("A", connector("y", "output")))
    fmu(folder, "A", icon_svg=ICON)
    block = drawn(folder).blocks[0]
    assert block.icon is not None
    assert block.icon.content == ICON.encode()
    inside, box = block.icon_extent, block.extent
    assert box.x1 < inside.x1 < inside.x2 < box.x2
    assert box.y1 < inside.y1 < inside.y2 < box.y2


def test_findings_inside_show_on_the_element_that_holds_them(tmp_path):
    ssptool.draw(
        system(tmp_path / "s", nested(element("A") + element("B"))), tmp_path / "d.svg", highlight=["findings"]
    )
    (group,) = etree.parse(tmp_path / "d.svg").findall("svg:g[@class='block opens error']", SVG)
    assert "inside: 2 remarks" in group.findtext("svg:title", namespaces=SVG)


def looks(root: etree._Element) -> list[tuple[str, str | None, str | None]]:
    """What is in a picture and how it is drawn; not where, which may be otherwise on another machine."""
    return [(node.tag, node.text, node.get("class")) for node in root.iter()]


@pytest.mark.parametrize(
    "picture", [*SYSTEMS.glob("*/resources/graph.svg"), IMAGES / "dual_mass_oscillator_graph.svg"], ids=str
)
def test_pictures_of_graphs_in_the_documents_are_those_of_the_tool(picture):
    folder = picture.parents[1] if picture.name == "graph.svg" else SYSTEMS / "dual_mass_oscillator"
    made = ssptool.renderers.GRAPH_RENDERERS["svg"](ssptool.graph(folder))
    assert looks(etree.parse(picture).getroot()) == looks(etree.fromstring(made))


@pytest.mark.parametrize(
    ("picture", "name", "depth"),
    [
        ("mass_spring_damper_inside.svg", "mass_spring_damper", 1),
        ("rotational_spring_mass_damper.svg", "rotational_spring_mass_damper", 0),
    ],
)
def test_diagrams_in_the_documents_are_those_of_the_tool(picture, name, depth):
    made = etree.fromstring(ssptool.draw(SYSTEMS / name, depth=depth).svg)
    assert looks(etree.parse(IMAGES / picture).getroot()) == looks(made)


@pytest.mark.parametrize(
    "box",
    [
        'x1="0" y1="0" x2="0" y2="10"',
        'x1="0" y1="5" x2="40" y2="5"',
        'x1="0" y1="0" x2="INF" y2="10"',
        'x1="NaN" y1="0" x2="40" y2="10"',
    ],
)
def test_a_box_that_covers_nothing_or_is_no_number_is_laid_out(tmp_path, box):
    """SSP leaves open what such a box means; the drawing is as if it were not there."""
    pins = connector("u", "input", 'x="NaN" y="0.5"') + connector("y", "output")
    folder = system(tmp_path / "s", element("A", pins, f'<ssd:ElementGeometry {box} rotation="30"/>') + element("B"))
    extent = drawn(folder).blocks[0].extent
    assert extent.width > 0
    assert extent.height > 0
    for ending in ("svg", "png", "html"):
        ssptool.draw(folder, tmp_path / f"d.{ending}")
    assert "nan" not in (tmp_path / "d.svg").read_text()


@pytest.mark.parametrize("points", ['pointsX="5 6" pointsY="1"', 'pointsX="INF" pointsY="1"'])
def test_way_points_that_are_none_are_passed_over(tmp_path, points):
    parts = element("A", connector("y", "output")) + element("B", connector("u", "input"))
    ends = '<ssd:Connection startElement="A" startConnector="y" endElement="B" endConnector="u"'
    whole = f"{ends}><ssd:ConnectionGeometry {points}/></ssd:Connection>\n"
    found = drawn(system(tmp_path / "s", parts, whole)).lines[0].points
    assert found == drawn(system(tmp_path / "t", parts, f"{ends}/>\n")).lines[0].points


def test_icons_of_a_package_inside_are_from_its_own_archive(tmp_path):
    inner = SYSTEMS / "rotational_spring_mass_damper"
    folder = system(
        tmp_path / "s",
        element("pkg").replace('source="pkg.fmu"', 'type="application/x-ssp-package" source="inner.ssp"'),
    )
    with ZipFile(folder / "inner.ssp", "w") as archive:
        for file in (file for file in inner.rglob("*") if file.is_file()):
            archive.write(file, file.relative_to(inner).as_posix())
    (inset,) = drawn(folder, depth=1).insets
    assert all(block.icon is not None for block in inset.blocks)
    assert [len(line.described) for line in inset.lines] == [len(line.described) for line in drawn(inner).lines]


def test_a_huge_system_is_drawn_as_a_smaller_png(tmp_path):
    """A hundred and fifty elements in a row that have their places: 13 pixels of letter would be more than 12 000."""
    parts = "".join(
        element(f"part{n}", "", f'<ssd:ElementGeometry x1="{100 * n}" y1="0" x2="{100 * n + 20}" y2="20"/>')
        for n in range(150)
    )
    ssptool.draw(system(tmp_path / "s", parts), tmp_path / "d.png")
    header = (tmp_path / "d.png").read_bytes()[16:24]
    assert int.from_bytes(header[:4]) == pytest.approx(12_000, abs=2)
