"""Drawings of places that no picture reaches: a message with file and line, or a drawing of finite numbers."""

import re
from pathlib import Path

import pytest

import ssptool as api
from ssptool.drawing.diagram.drawing import png
from ssptool.errors import is_own
from ssptool.exceptions import WrongUsage

SSD = """<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
  xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon" version="2.0" name="g"><ssd:System name="g">
<ssd:SystemGeometry x1="0" y1="0" x2="{canvas}" y2="100"/>
<ssd:Elements>
<ssd:Component name="A" source="a.fmu"><ssd:Connectors><ssd:Connector name="y" kind="output"><ssc:Real/>
<ssd:ConnectorGeometry x="{pin}" y="0.5"/>
</ssd:Connector></ssd:Connectors>
<ssd:ElementGeometry x1="0" y1="0" x2="{corner}" y2="20" rotation="{rotation}"/>
</ssd:Component>
<ssd:Component name="B" source="b.fmu"><ssd:Connectors><ssd:Connector name="u" kind="input"><ssc:Real/></ssd:Connector>
</ssd:Connectors><ssd:ElementGeometry x1="50" y1="0" x2="70" y2="20"/></ssd:Component>
</ssd:Elements>
<ssd:Connections><ssd:Connection startElement="A" startConnector="y" endElement="B" endConnector="u">
<ssd:ConnectionGeometry pointsX="30 {way}" pointsY="5 6"/>
</ssd:Connection></ssd:Connections>
<ssd:GraphicalElements><ssd:Note x1="0" y1="30" x2="{note}" y2="39" text="note"/></ssd:GraphicalElements>
</ssd:System></ssd:SystemStructureDescription>"""
USUAL = {"canvas": "100", "pin": "1", "corner": "20", "rotation": "0", "way": "40", "note": "20"}
LINES = {"canvas": 4, "pin": 7, "corner": 9, "way": 15, "note": 17}


@pytest.fixture
def drawn(tmp_path):
    def draw(ending, **places):
        path = tmp_path / "g.ssd"
        path.write_text(SSD.format_map({**USUAL, **places}))
        api.draw(path, tmp_path / f"g{ending}")
        return tmp_path / f"g{ending}"

    return draw


@pytest.mark.parametrize("value", ["NaN", "INF", "1e308", "-1e308", "1e-320", "1e9", "0"])
@pytest.mark.parametrize("name", USUAL)
def test_a_place_is_drawn_in_finite_numbers_or_named(drawn, name, value):
    for ending in (".svg", ".png"):
        try:
            file: Path = drawn(ending, **{name: value})
        except Exception as error:
            assert is_own(error), repr(error)
            assert f"g.ssd:{LINES[name]}: " in str(error)
        else:
            assert ending == ".png" or not re.search(r"[\s\",(](nan|inf)", file.read_text().replace("inf</", ""))


def test_a_picture_that_is_too_narrow_for_pixels_is_refused_as_such():
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}"/>'
    assert png(svg.format(1200, 2)).startswith(b"\x89PNG")
    for size in ((900_000, 20), (0.1, 900_000)):
        with pytest.raises(WrongUsage, match=r"too narrow for a PNG; write an \.svg"):
            png(svg.format(*size))
