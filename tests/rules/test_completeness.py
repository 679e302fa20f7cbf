"""All that the standard demands of documents is checked by a rule, or listed with where it is checked instead."""

from pathlib import Path

import pytest

from ssptool.rules.catalogue import RULES
from ssptool.rules.chapters import ELSEWHERE
from ssptool.rules.runner import check_path

# The catalogue of what SSP 1.0 and 2.0 demand of documents and packages, by area: all of it but what only an
# execution can violate. Codes of our own, for what FMI demands of an FMU and for what the standard leaves open, start
# at 101.
CATALOGUE = {
    "ANN": "001 002 003 004 005",
    "CLK": "001 002 003 005 006 007",
    "DIM": "001 002 003 004 005",
    "ENUM": "001 002 003 004 005 006",
    "FMU": "001 002 003 004 005 006 007 008 009 010 011 012 013",
    "ID": "001 002",
    "META": "001 002 003 004 005 006",
    "PKG": "001 002 003 004 005 006 007 008 009 010 011 012 015 016 017 018 020 021 022 023 024",
    "SSB": "001 002 003",
    "SSD-COMP": "001 002 003 004 005 006 007 008 009 010 011 013",
    "SSD-CONN": "001 002 003 004 007 008 009 010 011 012 013 014 015",
    "SSD-CTR": "001 002 003 004 005 006 007 008 009 010",
    "SSD-DICT": "001 002 003 004 006 007 008 009 011",
    "SSD-ELEM": "001 002 003",
    "SSD-EXP": "002 004",
    "SSD-GEO": "001 002 003 004 005 006 007 008 010",
    "SSD-PAR": "001 002 003 004 005 006 010 017 018 021 022 023 024",
    "SSD-ROOT": "001",
    "SSM": "001 003 004 005 006",
    "SSV": "001 002 003 004 005 006 008 009 011",
    "TRF": "001 002 003 004 005 007 008 009 010 011",
    "TYPE": "001 002 003 004",
    "UNIT": "001 002 003 004 006 008 009 010",
    "URI": "002 003 004 006",
    "VER": "001 002 004",
    "XML": "001 002 003 004 005 006 007 008 009 010 011 012",
}
OWN = range(101, 200)


def test_every_demand_of_the_standard_has_a_rule_or_a_place_where_it_is_checked():
    demands = {f"{area}-{number}" for area, numbers in CATALOGUE.items() for number in numbers.split()}
    own = {
        f"{area}-{number}"
        for area in ("DIM", "FMU", "META", "OSP", "PKG", "SSD-CONN", "TABLE", "UNIT", "XML")
        for number in OWN
    }
    own |= {code for code, rule in RULES.items() if rule.tools}  # limits of other tools
    assert demands - set(RULES) - set(ELSEWHERE) == set()
    assert (set(RULES) | set(ELSEWHERE)) - demands - own == set()


HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription version="{version}" name="Case"
    xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
    xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon"
    xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues"
    xmlns:ssb="http://ssp-standard.org/SSP1/SystemStructureSignalDictionary">
{content}
</ssd:SystemStructureDescription>
"""
SYSTEM = '<ssd:System name="S">{}</ssd:System>'
CONNECTORS = SYSTEM.format("<ssd:Connectors>{}</ssd:Connectors>")
UNITS = SYSTEM.format("") + "<ssd:Units>{}</ssd:Units>"
PARAMETER = SYSTEM.format(
    "<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues>"
    '<ssv:ParameterSet version="2.0" name="p"><ssv:Parameters>{}</ssv:Parameters></ssv:ParameterSet>'
    "</ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings>"
)
DICTIONARY = SYSTEM.format(
    '<ssd:SignalDictionaries><ssd:SignalDictionary name="d"><ssb:SignalDictionary version="2.0">{}'
    "</ssb:SignalDictionary></ssd:SignalDictionary></ssd:SignalDictionaries>"
)
TWO_TYPES = '<ssd:Connector name="c" kind="input"><ssc:Real/><ssc:Integer/></ssd:Connector>'
TWO_TRANSFORMATIONS = (
    "<ssd:Connectors>"
    '<ssd:Connector name="u" kind="input"><ssc:Real/></ssd:Connector>'
    '<ssd:Connector name="y" kind="output"><ssc:Real/></ssd:Connector>'
    '</ssd:Connectors><ssd:Connections><ssd:Connection startConnector="u" endConnector="y">'
    "<ssc:LinearTransformation/><ssc:LinearTransformation/></ssd:Connection></ssd:Connections>"
)
ANNOTATION = SYSTEM.format("<ssd:Annotations>{}</ssd:Annotations>")
ENUMERATION = (
    SYSTEM.format("") + '<ssd:Enumerations><ssc:Enumeration name="e"><ssc:Item name="i" value="{}"/>'
    "</ssc:Enumeration></ssd:Enumerations>"
)
SCHEMA = {"XML-004", "XML-005", "XML-008", "VER-002"}
# Of each demand that the schema checks, documents that violate it, with the version that they declare.
VIOLATIONS = [
    ("ANN-001", "2.0", ANNOTATION.format("<ssc:Annotation/>")),
    ("ANN-004", "1.0", ANNOTATION.format('<ssc:Annotation type="com.example">text</ssc:Annotation>')),
    ("ANN-005", "2.0", ANNOTATION.format('<ssc:Annotation type="com.example"><a/><b/></ssc:Annotation>')),
    ("ENUM-003", "1.0", ENUMERATION.format(2**40)),
    ("ENUM-003", "2.0", ENUMERATION.format(2**70)),
    ("META-001", "2.0", SYSTEM.format('<ssc:MetaData type="text/plain" source="a"/>')),
    ("META-001", "2.0", SYSTEM.format('<ssc:Signature role="authenticity" source="a"/>')),
    ("SSB-002", "2.0", DICTIONARY.format('<ssb:DictionaryEntry name="e"/>')),
    ("SSD-CTR-002", "2.0", CONNECTORS.format('<ssd:Connector name="c" kind="inpt"/>')),
    ("SSD-ROOT-001", "2.0", ""),
    ("SSD-ROOT-001", "2.0", SYSTEM.format("") * 2),
    ("SSV-002", "2.0", PARAMETER.format('<ssv:Parameter name="p"/>')),
    ("SSV-002", "2.0", PARAMETER.format('<ssv:Parameter name="p"><ssv:Clock/></ssv:Parameter>')),
    ("SSV-003", "2.0", PARAMETER.format('<ssv:Parameter name="p"><ssv:Int8 value="200"/></ssv:Parameter>')),
    ("TRF-011", "2.0", SYSTEM.format(TWO_TRANSFORMATIONS)),
    ("TYPE-001", "2.0", CONNECTORS.format(TWO_TYPES)),
    ("UNIT-003", "2.0", UNITS.format('<ssc:Unit name="m"/>')),
    ("UNIT-003", "2.0", UNITS.format('<ssc:Unit name="m"><ssc:BaseUnit m="1.5"/></ssc:Unit>')),
    ("XML-010", "2.0", '<ssd:Units><ssc:Unit name="m"><ssc:BaseUnit/></ssc:Unit></ssd:Units>' + SYSTEM.format("")),
]


@pytest.mark.parametrize(("code", "version", "content"), VIOLATIONS)
def test_what_is_left_to_the_schema_is_found_by_it(code: str, version: str, content: str, tmp_path: Path):
    path = tmp_path / "case.ssd"
    path.write_text(HEAD.format(version=version, content=content))
    assert {error.code for error in check_path(path, unguarded=True).errors} & SCHEMA
    assert code in ELSEWHERE


def test_all_that_is_left_to_the_schema_is_tried():
    left = {code for code, (_, reason) in ELSEWHERE.items() if "XML-004" in reason}
    assert left == {code for code, _, _ in VIOLATIONS}
