"""`ssptool validate` and `ssptool rule` as a user meets them."""

import json
import re
import zipfile
from pathlib import Path

import pytest
from lxml import etree

import ssptool as api

EMPTY_ELEMENT = """<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription version="2.0" name="Warned"
    xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
    xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon">
  <ssd:System name="S">
    <ssd:Connectors>
      <ssd:Connector name="u" kind="input"><ssc:Real/></ssd:Connector>
      <ssd:Connector name="y" kind="output"><ssc:Real/></ssd:Connector>
    </ssd:Connectors>
    <ssd:Connections>
      <ssd:Connection startElement="" startConnector="u" endConnector="y"/>
    </ssd:Connections>
  </ssd:System>
</ssd:SystemStructureDescription>
"""


@pytest.fixture
def warned(tmp_path) -> Path:
    """A system with a warning of an optional rule."""
    path = tmp_path / "warned.ssd"
    path.write_text(EMPTY_ELEMENT)
    return path


@pytest.mark.parametrize("format", ["text", "json", "sarif", "junit", "github"])
def test_reports_are_printed_or_written_in_any_format(format, ssptool, warned, tmp_path):
    status, printed, _ = ssptool("validate", warned, "--format", format)
    assert status == 0
    again, said, _ = ssptool("validate", warned, "--format", format, "--output", "report")
    assert (again, (tmp_path / "report").read_text()) == (0, printed)
    assert "1 warning" in said
    assert "report in report" in said
    match format:
        case "json" | "sarif":
            json.loads(printed)
        case "junit":
            etree.fromstring(printed.encode())


def test_strict_makes_warnings_fail(ssptool, warned):
    assert ssptool("validate", warned, "--strict")[0] == 1


def test_rules_are_switched_on_the_command_line_and_in_settings(ssptool, warned, tmp_path, monkeypatch):
    assert "SSD-CONN-013" not in ssptool("validate", warned, "--ignore", "SSD-CONN-013,SSD-GEO")[1]
    assert "SSD-CONN-013" not in ssptool("validate", warned, "--select", "URI", "--select", "VER")[1]
    (tmp_path / "ssptool.toml").write_text("strict = true\n")
    assert ssptool("validate", warned, "--settings", tmp_path / "ssptool.toml")[0] == 1
    monkeypatch.chdir(tmp_path)
    assert ssptool("validate", warned)[0] == 1
    assert ssptool("validate", warned, "--no-settings")[0] == 0
    assert ssptool("validate", warned, "--no-strict")[0] == 0
    assert ssptool("validate", warned, "--no-settings", "--settings", "ssptool.toml")[0] == 2


def test_wrong_settings_and_codes_are_told_without_a_traceback(ssptool, warned, tmp_path, monkeypatch):
    status, _, told = ssptool("validate", warned, "--ignore", "SSD-CNNO-013")
    assert status == 2
    assert "SSD-CONN-013" in told
    (tmp_path / "ssptool.toml").write_text("stricht = true\n")
    monkeypatch.chdir(tmp_path)
    status, _, told = ssptool("validate", warned)
    assert status == 2
    assert "ssptool.toml:1: there is no setting 'stricht'" in told


def test_rule_prints_the_page_of_a_rule_or_lists_all(ssptool):
    status, page, _ = ssptool("rule", "SSD-CONN-003")
    assert status == 0
    assert page.startswith("SSD-CONN-003: ")
    status, listed, _ = ssptool("rule", "--all")
    assert status == 0
    assert any(line.startswith("SSD-CONN-003 ") for line in listed.split("\n"))
    assert ssptool("rule", "--all", "--markdown")[1].startswith("# Rules")


@pytest.mark.parametrize(("arguments", "status"), [(["XYZ"], 2), ([], 2), (["URI-002", "--all"], 2)])
def test_rule_tells_what_is_wrong_with_its_arguments(arguments, status, ssptool):
    assert ssptool("rule", *arguments)[0] == status


def test_fixes_are_shown_or_applied(ssptool, warned):
    before = warned.read_text()
    status, printed, _ = ssptool("validate", warned, "--diff")
    assert status == 0
    assert '-      <ssd:Connection startElement="" startConnector="u" endConnector="y"/>' in printed.split("\n")
    assert warned.read_text() == before
    assert "1 can be fixed with --fix" in ssptool("validate", warned)[1]
    status, printed, said = ssptool("validate", warned, "--fix")
    assert status == 0
    assert "fixed SSD-CONN-013" in said
    assert "SSD-CONN-013" not in printed
    assert warned.read_text() == before.replace('startElement="" ', "")


def test_a_folder_is_searched_for_what_can_be_fixed(ssptool, repository):
    """Each system and document by itself; `git apply` takes the differences from the working folder."""
    before = {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()}
    status, shown, _ = ssptool("validate", "all", "--diff")
    assert status == 0
    names = re.findall(r"^\+\+\+ b/(.*)$", shown, re.M)
    assert sorted(names) == ["all/lone.ssd", "all/packed.ssp!SystemStructure.ssd", "all/plant/SystemStructure.ssd"]
    assert {path: path.read_bytes() for path in before} == before
    status, printed, said = ssptool("validate", "all", "--fix")
    assert status == 1  # what no fix can mend stays, and is in the one report
    assert all(re.search(rf"^fixed \S+ {re.escape(name)}:", said, re.M) for name in names), said
    changed = {path.relative_to(repository).as_posix() for path in before if path.read_bytes() != before[path]}
    assert changed == {"lone.ssd", "packed.ssp", "plant/SystemStructure.ssd"}
    assert "(4 systems and documents checked)" in printed
    assert "nothing to fix" in ssptool("validate", "all", "--diff")[2]


@pytest.fixture
def repository(tmp_path, monkeypatch) -> Path:
    """A folder with a lone .ssd, a folder that is a system with a parameter set, a package, and a parameter set."""
    monkeypatch.chdir(tmp_path)
    wrong = EMPTY_ELEMENT.replace('kind="output"', 'kind="input"')
    (tmp_path / "all" / "plant" / "resources").mkdir(parents=True)
    (tmp_path / "all" / ".hidden").mkdir()
    (tmp_path / "all" / ".hidden" / "never.ssd").write_text("no XML")
    (tmp_path / "all" / "lone.ssd").write_text(EMPTY_ELEMENT)
    binding = '<ssd:ParameterBindings><ssd:ParameterBinding source="resources/k.ssv"/></ssd:ParameterBindings>'
    bound = wrong.replace("    <ssd:Connections>", f"    {binding}\n    <ssd:Connections>")
    (tmp_path / "all" / "plant" / "SystemStructure.ssd").write_text(bound)
    (tmp_path / "all" / "plant" / "resources" / "k.ssv").write_text(UNKNOWN_UNIT)
    (tmp_path / "all" / "free.ssv").write_text(UNKNOWN_UNIT)
    with zipfile.ZipFile(tmp_path / "all" / "packed.ssp", "w") as package:
        package.writestr("SystemStructure.ssd", wrong)
    return tmp_path / "all"


UNKNOWN_UNIT = """<?xml version="1.0" encoding="UTF-8"?>
<ssv:ParameterSet xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues" version="1.0" name="k">
  <ssv:Parameters>
    <ssv:Parameter name="a"><ssv:Real value="1" unit="[furlong]"/></ssv:Parameter>
    <ssv:Parameter name="b"><ssv:Real value="1" unit="[furlong]"/></ssv:Parameter>
  </ssv:Parameters>
</ssv:ParameterSet>
"""


def test_a_folder_is_searched_and_gives_one_report(ssptool, repository):
    status, printed, _ = ssptool("validate", "all", "--format", "json")
    assert status == 1
    report = json.loads(printed)
    systems = ["all/free.ssv", "all/lone.ssd", "all/packed.ssp", "all/plant"]
    assert sorted(Path(each).as_posix() for each in report["systems"]) == systems
    assert {one["file"] for one in report["diagnostics"]} == {
        "all/free.ssv",
        "all/lone.ssd",
        "all/packed.ssp!SystemStructure.ssd",
        "all/plant/SystemStructure.ssd",
        "all/plant/resources/k.ssv",
    }
    severities = [one["severity"] for one in report["diagnostics"]]
    assert severities == sorted(severities, key=["error", "warning", "info"].index)


def test_several_systems_give_the_report_of_the_folder_with_them(ssptool, repository):
    report = api.validate([each for each in repository.iterdir() if not each.name.startswith(".")])
    assert not report
    assert sorted(map(str, report.systems)) == sorted(
        str(repository / name) for name in ("free.ssv", "lone.ssd", "packed.ssp", "plant")
    )
    lone = api.validate([repository / "lone.ssd"])
    assert lone.ok
    assert {one.position.file for one in lone.diagnostics} == {(repository / "lone.ssd").as_posix()}
    assert {one.position.file for one in api.validate(repository / "lone.ssd").diagnostics} == {"lone.ssd"}


def test_a_document_that_a_system_refers_to_is_checked_once(ssptool, repository):
    both = api.validate([repository / "plant", repository / "plant" / "resources" / "k.ssv"])
    assert len(both.systems) == 1
    assert len({(one.code, one.position) for one in both.diagnostics}) == len(both.diagnostics)


@pytest.mark.parametrize("form", ["sarif", "junit", "github"])
def test_one_report_in_any_format_has_paths_from_the_working_folder(form, ssptool, repository):
    status, printed, _ = ssptool("validate", "all", "--format", form)
    assert status == 1
    for path in ("all/free.ssv", "all/lone.ssd", "all/packed.ssp", "all/plant/SystemStructure.ssd"):
        assert path in printed
    assert str(repository) not in printed
    if form == "sarif":
        assert len(json.loads(printed)["runs"]) == 1
    if form == "junit":
        etree.fromstring(printed.encode())


def test_findings_of_one_kind_are_one_in_text(ssptool, repository):
    grouped, each = ssptool("validate", "all/free.ssv")[1], ssptool("validate", "all/free.ssv", "--all")[1]
    assert len(re.findall("UNIT-002 × 2, first at free.ssv:4$", grouped, re.M)) == 1
    assert len(re.findall("UNIT-002 free.ssv:[45]$", each, re.M)) == 2
    assert "× " not in each


def test_the_hooks_for_commits_call_commands_that_there_are(ssptool, warned):
    hooks = (Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text()
    entries = re.findall(r"entry: ssptool (.*)", hooks)
    assert len(entries) == 2
    for entry in entries:
        assert ssptool(*entry.split(), warned)[0] == 0
