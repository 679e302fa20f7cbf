"""The example system is in order; broken copies of it are each told by rule, file and line."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ssptool.renderers import REPORT_RENDERERS
from ssptool.rules.runner import check_path

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
SSD = "SystemStructure.ssd"
VALUES = "resources/dual_mass_oscillator.ssv"

pytestmark = pytest.mark.skipif(
    not (SYSTEM / "resources" / "System1.fmu").exists(), reason="the FMUs are not built: make setup"
)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SYSTEM, tmp_path / "copy"))


def replace(file: Path, old: str, new: str) -> int:
    """Replace the only place of a text; the line where it stood."""
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file.name}"
    file.write_text(text.replace(old, new), encoding="utf-8")
    return text[: text.index(old)].count("\n") + 1


@dataclass(frozen=True)
class Break:
    """One change of one file: the rule that must tell, and how many lines below the change."""

    code: str
    old: str
    new: str
    file: str = SSD
    below: int = 0


CONNECTION = '<ssd:Connection startElement="System2" startConnector="F" endElement="System1" endConnector="F"/>'
A1 = '<ssd:Connector name="a1" kind="output" description="Acceleration of mass 1"><ssc:Real unit="m/s2"/>'
F1 = '<ssd:Connector name="F" kind="input" description="Force of the coupling spring on mass 1"><ssc:Real unit="N"/>'
BREAKS = {
    "missing FMU": Break("URI-002", "resources/System2.fmu", "resources/System3.fmu"),
    "unknown connector": Break("SSD-CONN-002", 'startConnector="a1"', 'startConnector="a2"'),
    "connector that is not a variable": Break("FMU-002", A1, A1.replace("a1", "a7")),
    "two sources for one input": Break(
        "SSD-CONN-004",
        CONNECTION,
        CONNECTION + "\n" + CONNECTION.replace("System2", "System1", 1).replace("F", "x1", 1),
        below=1,
    ),
    "output to output": Break("SSD-CONN-003", CONNECTION, CONNECTION.replace('"F"/>', '"x1"/>')),
    "type mismatch with the FMU": Break("FMU-005", A1, A1.replace('Real unit="m/s2"', "Boolean")),
    "causality mismatch": Break("FMU-004", A1, A1.replace("output", "parameter")),
    "unit of a connector": Break("FMU-006", F1, F1.replace('"N"', '"m/s"')),
    "unknown parameter": Break("SSD-PAR-023", "System2.k3", "System2.k7", VALUES),
    "value of the wrong type": Break(
        "SSD-PAR-021", '<ssv:Real value="20" unit="N/m"/>', '<ssv:String value="20"/>', VALUES
    ),
    "duplicate names": Break("SSD-ELEM-002", '<ssd:Component name="System2"', '<ssd:Component name="System1"'),
    "malformed XML": Break("XML-001", "</ssd:Connections>", "</ssd:Connection>"),
    "schema violation": Break("XML-101", 'endConnector="v1"/>', 'endConnector="v1" colour="red"/>'),
}


@pytest.mark.parametrize("kind", BREAKS)
def test_a_broken_copy_is_told_by_rule_file_and_line(kind: str, copy: Path):
    change = BREAKS[kind]
    line = replace(copy / change.file, change.old, change.new) + change.below
    report = check_path(copy, unguarded=True)
    told = [(one.position.file, one.position.line) for one in report.diagnostics if one.code == change.code]
    assert (change.file, line) in told
    assert report.errors or report.warnings
    assert f"{change.code} {change.file}:{line}" in REPORT_RENDERERS["text"](report)


def both_ends(copy: Path) -> int:
    """The unit of System1.a1 becomes that of a velocity, at the connector alone."""
    replace(copy / SSD, A1, A1.replace("m/s2", "m/s"))
    return line_of(copy / SSD, 'startConnector="a1"')


def boolean_input(copy: Path) -> int:
    """The SSD says Boolean at one end of a connection."""
    replace(copy / SSD, F1, F1.replace('Real unit="N"', "Boolean"))
    return line_of(copy / SSD, CONNECTION)


def line_of(file: Path, text: str) -> int:
    return file.read_text(encoding="utf-8").split(text)[0].count("\n") + 1


@pytest.mark.parametrize(("code", "damage"), [("UNIT-006", both_ends), ("SSD-CONN-008", boolean_input)])
def test_a_connection_of_unlike_quantities_is_told_at_the_connection(
    code: str, damage: Callable[[Path], int], copy: Path
):
    line = damage(copy)
    report = check_path(copy, "DualMassOscillator", unguarded=True)
    assert [(one.position.file, one.position.line) for one in report.errors if one.code == code] == [(SSD, line)]


def test_a_truncated_zip_is_told_as_a_whole(tmp_path: Path):
    path = Path(shutil.make_archive(str(tmp_path / "package"), "zip", SYSTEM))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    report = check_path(path, unguarded=True)
    assert [(one.code, one.position.file) for one in report.errors] == [("PKG-001", path.name)]


def test_a_truncated_fmu_is_told_at_its_component(copy: Path):
    fmu = copy / "resources" / "System2.fmu"
    fmu.write_bytes(fmu.read_bytes()[:1000])
    told = [
        one.position for one in check_path(copy, "DualMassOscillator", unguarded=True).errors if one.code == "FMU-001"
    ]
    assert [(one.file, one.line) for one in told] == [(SSD, line_of(copy / SSD, '<ssd:Component name="System2"'))]


@pytest.mark.parametrize("path", ["", SSD, "FMI3.ssd", "Mixed.ssd", "NoFlange.ssd"])
def test_the_system_and_its_variants_are_in_order(path: str):
    report = check_path(SYSTEM / path, unguarded=True)
    assert [str(one) for one in (*report.errors, *report.warnings)] == []


def test_a_malformed_document_is_not_buried_under_what_follows_from_it(copy: Path):
    replace(copy / SSD, "</ssd:Connections>", "</ssd:Connection>")
    report = check_path(copy, unguarded=True)
    assert [one.code for one in report.diagnostics if one.position.file == SSD] == ["XML-001"]
    assert [skipped.file for skipped in report.skipped] == [SSD]


def test_only_the_chosen_variant_is_checked(copy: Path):
    replace(copy / "FMI3.ssd", 'endConnector="v1"', 'endConnector="v2"')
    assert check_path(copy, "DualMassOscillator", unguarded=True).ok
    assert not check_path(copy, "DualMassOscillatorFMI3", unguarded=True).ok
    assert not check_path(copy, "FMI3.ssd", unguarded=True).ok
    assert not check_path(copy, unguarded=True).ok
