"""One cause is one finding; the content of annotations is none."""

from pathlib import Path

import pytest

from ssptool.documents import ssd
from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import Severity
from ssptool.documents.document import Document
from ssptool.rules.runner import check_path, fix

SSD = """<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription
    xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
    xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon"
    xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues"
    xmlns:ssm="http://ssp-standard.org/SSP1/SystemStructureParameterMapping"
    version="{version}" name="Case">
  <ssd:System name="Root" id="r">{content}</ssd:System>
</ssd:SystemStructureDescription>
"""
BINDING = """<ssd:ParameterBindings><ssd:ParameterBinding>
<ssd:ParameterValues><ssv:ParameterSet version="{inline}" name="p"><ssv:Parameters>
{parameter}
</ssv:Parameters></ssv:ParameterSet></ssd:ParameterValues>{mapping}
</ssd:ParameterBinding></ssd:ParameterBindings>"""
MAPPING = """<ssd:ParameterMapping><ssm:ParameterMapping version="2.0">
<ssm:MappingEntry {entry}/></ssm:ParameterMapping></ssd:ParameterMapping>"""
K = '<ssv:Parameter name="k"><ssv:Real value="1"/></ssv:Parameter>'
A = '<ssd:Elements><ssd:System name="A"><ssd:Connectors>{}</ssd:Connectors></ssd:System></ssd:Elements>'.format(
    '<ssd:Connector name="m" kind="parameter"><ssc:Real/></ssd:Connector>'
)
FOREIGN = """<ssd:Annotations><ssc:Annotation type="com.example"><vendor xmlns="urn:example">
<ssd:System name="inner" id="r"><ssd:Elements><ssd:Component name="" source="#r"/></ssd:Elements></ssd:System>
<ssv:ParameterSet name="q"><ssv:Parameters><ssv:Parameter name="a"><ssv:Real unit="zz"/></ssv:Parameter>
</ssv:Parameters>
</ssv:ParameterSet></vendor></ssc:Annotation>
<ssc:Annotation type="com.example.set"><ssv:ParameterSet id="r" version="3.0"/></ssc:Annotation></ssd:Annotations>"""


def written(folder: Path, content: str, version: str = "2.0") -> Path:
    path = folder / "case.ssd"
    path.write_text(SSD.format(version=version, content=content), encoding="utf-8")
    return path


@pytest.mark.parametrize(("prefix", "line"), [("ssd", 3), ("ssc", 4)])
def test_a_misspelt_namespace_is_one_finding_at_its_declaration(tmp_path, prefix, line):
    connector = '<ssd:Connector name="n" kind="input"><ssc:Integer/></ssd:Connector>'
    path = written(tmp_path, A.replace("</ssd:Connectors>", f"{connector}</ssd:Connectors>"))
    right = SSD.split(f'xmlns:{prefix}="')[1].partition('"')[0]
    path.write_text(path.read_text("utf-8").replace(right, "http://ssp-standard.org/SSP1/Common"), encoding="utf-8")
    report = check_path(path, unguarded=True)
    (one,) = report.diagnostics
    assert one.code == "XML-008"
    assert right in one.advice
    region = report.region(one.position)
    assert (region.line, region.text.strip()) == (line, f'xmlns:{prefix}="http://ssp-standard.org/SSP1/Common"')


def codes(path: Path) -> list[str]:
    return [one.code for one in check_path(path, unguarded=True).diagnostics]


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ('source="" target="A.m"', "SSM-006"),
        ('source="k" target=""', "SSM-006"),
        ('source="nothing" target="A.m"', "SSM-003"),
        ('source="k" target="A.wrong"', "SSM-004"),
    ],
)
def test_a_wrong_mapping_entry_is_one_finding(entry: str, code: str, tmp_path: Path):
    mapping = MAPPING.format(entry=entry)
    path = written(tmp_path, BINDING.format(inline="2.0", parameter=K, mapping=mapping) + A)
    assert codes(path) == [code]


@pytest.mark.parametrize(
    "entry", ['source="nothing" target="A.m"', 'source="k" target="A.wrong"', 'source="k" target="q"']
)
def test_a_mapping_entry_without_effect_is_a_warning_on_either_side(entry: str, tmp_path: Path):
    mapping = MAPPING.format(entry=entry)
    path = written(tmp_path, BINDING.format(inline="2.0", parameter=K, mapping=mapping) + A)
    (found,) = check_path(path, unguarded=True).diagnostics
    assert found.severity is Severity.WARNING


def test_an_empty_parameter_name_is_one_finding(tmp_path: Path):
    empty = K.replace('"k"', '""')
    assert codes(written(tmp_path, BINDING.format(inline="2.0", parameter=empty, mapping="") + A)) == ["SSV-009"]


def test_a_name_with_its_own_component_before_it_is_one_finding(tmp_path: Path):
    binding = BINDING.format(inline="2.0", parameter=K.replace('"k"', '"A.m"'), mapping="")
    inside = A.replace("</ssd:Connectors>", "</ssd:Connectors>" + binding)
    assert codes(written(tmp_path, inside)) == ["SSD-PAR-010"]


def test_the_content_of_annotations_is_not_judged(tmp_path: Path):
    path = written(tmp_path, FOREIGN)
    assert codes(path) == []
    assert [system.name for system in Document(path.name, path.read_bytes()).root_as(_ROOT).systems()] == ["Root"]


_ROOT = ssd.SystemStructureDescription


@pytest.mark.parametrize("outer", ["1.0", "2.0"])
def test_inline_content_of_1_0_that_uses_2_0_is_told_to_declare_it(outer: str, tmp_path: Path):
    newer = '<ssv:Parameter name="k"><ssv:Float64 value="1"/></ssv:Parameter>'
    path = written(tmp_path, BINDING.format(inline="1.0", parameter=newer, mapping=""), outer)
    (found,) = check_path(path).errors
    assert found.code == "XML-005"
    roots = ["<ParameterSet>", "<SystemStructureDescription>"][: 2 if outer == "1.0" else 1]
    assert found.advice == f'write version="2.0" in {" and ".join(roots)}'
    with Archive.open(path) as archive:
        assert fix(archive).report.errors == ()


@pytest.mark.parametrize(
    ("there", "advice"),
    [
        (["a.ssv"], "add the file, or correct the reference"),
        (["a.ssv", "Motor2.fmu"], "did you mean 'Motor2.fmu'?"),
        (["Motor.ssv"], "add the file, or correct the reference"),
        (["Load.fmu", "Sensor3.fmu"], "add the file, or correct the reference"),
        (["Load.fmu", "Motors.fmu", "Rotor.FMU"], "did you mean 'Motors.fmu' or 'Rotor.FMU'?"),
        (["resources/Motor.fmu", "resources/Pump.fmu"], "did you mean 'resources/Motor.fmu'?"),
    ],
)
def test_for_a_missing_file_only_one_of_its_kind_with_a_similar_name_is_offered(tmp_path, there, advice):
    (tmp_path / "resources").mkdir()
    for name in there:
        (tmp_path / name).touch()
    path = tmp_path / "SystemStructure.ssd"
    component = '<ssd:Elements><ssd:Component name="M" source="Motor.fmu"/></ssd:Elements>'
    path.write_text(SSD.format(version="2.0", content=component), encoding="utf-8")
    found = [one.advice for one in check_path(tmp_path, unguarded=True).diagnostics if one.code == "URI-002"]
    assert found == [advice]


def test_an_fmu_of_several_components_is_one_finding_that_names_them(tmp_path, package):
    """A and B in a loop, and N.C outside of it, have one FMU that saves no state, needs a tool and has no binary."""
    text = (Path(__file__).parent / "FMU-106" / "fail-cycle.ssd").read_text("utf-8")
    for fmu in ("Single.fmu", "Complete.fmu"):
        text = text.replace(fmu, "Elsewhere.fmu")
    component = '<ssd:Component name="C" source="resources/Elsewhere.fmu"/>'
    nested = f'<ssd:System name="N"><ssd:Elements>{component}</ssd:Elements></ssd:System>'
    (tmp_path / "case.ssd").write_text(text.replace("</ssd:Elements>", f"{nested}</ssd:Elements>"), "utf-8")
    report = check_path(package(tmp_path / "case.ssd"), unguarded=True)
    found = [one for one in report.diagnostics if one.code in ("FMU-102", "FMU-103", "FMU-106")]
    assert [(one.code, one.position.line) for one in found] == [("FMU-102", 11), ("FMU-103", 11), ("FMU-106", 11)]
    assert all(one.message.endswith(" (3 components: A, B, N.C)") for one in found[:2])
    assert found[2].message.endswith(": A, B")
