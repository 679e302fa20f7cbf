"""Positions of many elements are those of each."""

import pytest

from ssptool.documents.document import Document, Positions
from ssptool.documents.element import Element
from ssptool.documents.xml_text import find_starts, find_tags

SSD = "http://ssp-standard.org/SSP1/SystemStructureDescription"
TEXT = f"""<?xml version="1.0" encoding="UTF-8"?>
<!-- before <a> --><?style <b?>
<ssd:SystemStructureDescription xmlns:ssd="{SSD}" version="2.0"
    name="a > b">
  <ssd:System name='it"s'><!-- <ssd:No/>
    -->
    <ssd:Connectors><ssd:Connector name="u" kind="input"/><ssd:Connector
      name="y" kind="output"/>
    </ssd:Connectors>
    <ssd:Elements><ssd:System name="S"/></ssd:Elements>
    <ssd:GraphicalElements>
      <ssd:Note text="one"/><ssd:Note text="two"/><?in <side/> ?>
    </ssd:GraphicalElements>
    <ssd:Annotations><any><![CDATA[<x> & <!-- y -->]]><z/></any></ssd:Annotations>
  </ssd:System>
</ssd:SystemStructureDescription>
<!-- after -->""".encode()


def test_a_survey_gives_the_position_of_every_element():
    document = Document("folder/a.ssd", TEXT)
    survey = Positions(document)
    elements = [node for node in document.root.iter() if isinstance(node, Element)]
    assert len(elements) == 13
    assert [survey.position(element) for element in elements] == [element.position for element in elements]


@pytest.mark.parametrize("text", [TEXT, TEXT.replace(b"\n", b"\r\n"), b"<a/>", b"<a>\n<!---->\n<b c='>'/></a>"])
def test_the_starts_of_nodes_are_those_of_their_tags(text):
    assert find_starts(text) == find_tags(text).start
