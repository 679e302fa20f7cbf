"""What is wrong is found in systems inside systems, too, and where the two meet."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ssptool.api.check import valid
from ssptool.documents.diagnostics import Diagnostic, Severity
from ssptool.exceptions import InvalidSystem
from ssptool.rules.runner import check_path
from ssptool.types import Report
from tests.rules.wrapping import wrapped

HERE = Path(__file__).parent
# Rules on the content of documents. (What a package must look like concerns those inside as well, but not an SSD that
# stands in a folder.)
CHAPTERS = ("SSD-CONN", "SSD-CTR", "SSD-ELEM", "SSD-PAR", "SSM", "SSV", "UNIT", "TYPE", "TRF", "FMU", "ID")
CASES = sorted(path for path in HERE.glob("*-*/*") if path.parent.name.startswith(CHAPTERS))
FAILING = [case for case in CASES if case.name.startswith("fail-")]
PASSING = [case for case in CASES if case.name.startswith("pass-")]
CONNECTIONS = [case for case in FAILING if case.parent.name.startswith("SSD-CONN")]
ONE_DEEP = [("ssd",), ("ssp",)]
DEEP = [("ssp", "ssp"), ("ssd", "ssp"), ("ssp", "ssd"), ("ssd", "ssd", "ssd"), ("ssp", "ssd", "ssp")]


def name(case: object) -> str:
    return f"{case.parent.name}/{case.stem}" if isinstance(case, Path) else "-in-".join(case)  # type: ignore[arg-type]


def places(report: Report, code: str, prefix: str = "") -> set[tuple[str, int, str, Severity]]:
    found = [one for one in report.diagnostics if one.code == code]
    return {(prefix + one.position.file, one.position.line, one.position.address, one.severity) for one in found}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "kinds"),
    [(case, kinds) for case in FAILING for kinds in ONE_DEEP] + [(case, k) for case in CONNECTIONS for k in DEEP],
    ids=name,
)
def test_a_rule_blames_the_same_place_of_a_document_inside(
    case: Path, kinds: tuple[str, ...], package: Callable[[Path], Path]
):
    inner, code = package(case), case.parent.name
    alone = check_path(inner, unguarded=True)
    outer, prefix = wrapped(inner, kinds)
    report = check_path(outer, unguarded=True)
    assert places(report, code) == places(alone, code, prefix) != set()
    if any(one.code == code for one in alone.errors):
        with pytest.raises(InvalidSystem, match="cannot be run"), valid(outer, None):
            pass


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("case", [case for case in CONNECTIONS if case.is_file()], ids=name)
def test_a_rule_blames_the_same_line_of_a_system_in_systems(case: Path, depth: int, package: Callable[[Path], Path]):
    folder, code = package(case), case.parent.name
    document = folder / "SystemStructure.ssd"
    alone = {(line, severity) for _, line, _, severity in places(check_path(folder, unguarded=True), code)}
    start, end = "<ssd:System name", "</ssd:System>"
    before, middle = document.read_text().split(start, 1)
    content, after = middle.rsplit(end, 1)
    inside = "".join(f'<ssd:System name="Around{n}"><ssd:Elements>' for n in range(depth))
    outside = "</ssd:Elements></ssd:System>" * depth
    document.write_text(f"{before}{inside}{start}{content}{end}{outside}{after}")
    found = places(check_path(folder, unguarded=True), code)
    assert {(line, severity) for _, line, _, severity in found} == alone != set()


@pytest.mark.parametrize("case", PASSING, ids=name)
def test_passing_documents_have_no_errors_inside_either(case: Path, package: Callable[[Path], Path]):
    outer, _ = wrapped(package(case), ("ssd", "ssp"))
    assert [str(error) for error in check_path(outer, unguarded=True).errors] == []


# Where the two meet: the package inside is always this one.
INSIDE = HERE / "SSD-CTR-010" / "pass-inside"
BINDINGS = """    <ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues>
      <ssv:ParameterSet version="2.0" name="Values"><ssv:Parameters>
        <ssv:Parameter name="{}">{}</ssv:Parameter>
      </ssv:Parameters></ssv:ParameterSet>
    </ssd:ParameterValues>{}</ssd:ParameterBinding></ssd:ParameterBindings>"""
MAPPING = """<ssd:ParameterMapping><ssm:ParameterMapping version="2.0">
      <ssm:MappingEntry source="q" target="{}"/>
    </ssm:ParameterMapping></ssd:ParameterMapping>"""
ONE, TEXT = '<ssv:Real value="1"/>', '<ssv:String value="one"/>'


def around(package: Callable[[Path], Path], kinds: tuple[str, ...], **content: str) -> list[Diagnostic]:
    """The findings in the outermost document."""
    outer, _ = wrapped(package(INSIDE), kinds, **content)
    return [one for one in check_path(outer, unguarded=True).diagnostics if one.position.file == "SystemStructure.ssd"]


@pytest.mark.parametrize("kinds", [*ONE_DEEP, *DEEP], ids=name)
@pytest.mark.parametrize(
    ("parameter", "value", "code"),
    [
        ("A.m", ONE, ""),
        ("target", ONE, ""),
        ("A.mm", ONE, "SSD-PAR-023"),
        ("AA.m", ONE, "SSD-PAR-023"),
        ("A.m", TEXT, "SSD-PAR-021"),
        ("target", TEXT, "SSD-PAR-021"),
        ("A.g", ONE, "SSD-PAR-018"),
        ("A.initialMode", '<ssv:Enumeration value="of"/>', "SSD-PAR-022"),
        ("A.target", ONE, "SSD-PAR-024"),
    ],
)
def test_values_given_from_outside_are_checked_against_what_is_inside(
    kinds: tuple[str, ...], parameter: str, value: str, code: str, package: Callable[[Path], Path]
):
    path = "Between.Sub." * len(kinds)
    found = around(package, kinds, bindings=BINDINGS.format(path + parameter, value, ""))
    assert [one.code for one in found] == [code] * bool(code)


@pytest.mark.parametrize("kinds", ONE_DEEP, ids=name)
@pytest.mark.parametrize(("target", "codes"), [("A.m", []), ("A.mm", ["SSM-004"])])
def test_the_target_of_a_mapping_is_looked_for_inside(
    kinds: tuple[str, ...], target: str, codes: list[str], package: Callable[[Path], Path]
):
    found = around(package, kinds, bindings=BINDINGS.format("q", ONE, MAPPING.format("Between.Sub." + target)))
    assert [one.code for one in found] == codes


def connectors(attributes: str, type: str) -> str:
    return f"<ssd:Connectors><ssd:Connector {attributes}>{type}</ssd:Connector></ssd:Connectors>"


@pytest.mark.parametrize("kinds", ONE_DEEP, ids=name)
@pytest.mark.parametrize(
    ("stated", "codes"),
    [
        (connectors('name="target" kind="input"', ""), []),
        (connectors('name="target" kind="input"', "<ssc:Real/>"), []),
        (connectors('name="target" kind="input"', "<ssc:Boolean/>"), ["SSD-CTR-010"]),
        (connectors('name="bare" kind="input"', "<ssc:Boolean/>"), ["SSD-CTR-010"]),
        (connectors('name="bare" kind="input"', "<ssc:Integer/>"), []),
        (connectors('name="target" kind="output"', ""), ["SSD-CTR-009"]),
        (connectors('name="tarjet" kind="input"', ""), ["SSD-CTR-009"]),
    ],
)
def test_connectors_of_a_component_are_compared_with_those_inside(
    kinds: tuple[str, ...], stated: str, codes: list[str], package: Callable[[Path], Path]
):
    assert [one.code for one in around(package, kinds, connectors=stated)] == codes


def test_values_in_the_archive_of_a_component_are_checked(package: Callable[[Path], Path]):
    folder = package(HERE / "SSD-PAR-005" / "pass-component.ssd")
    values = [one for one in check_path(folder, unguarded=True).files if one.endswith(".ssv")]
    assert values == ["resources/Complete.fmu!resources/values.ssv"]
    document = folder / "SystemStructure.ssd"
    document.write_text(document.read_text().replace("values.ssv", "valves.ssv"))
    assert [one.code for one in check_path(folder, unguarded=True).errors] == ["URI-002"]
