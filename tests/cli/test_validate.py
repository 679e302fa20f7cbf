"""`ssptool validate` and `ssptool rule` as a user meets them."""

import json
import re
from pathlib import Path

import pytest
from lxml import etree

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


def test_rules_are_switched_on_the_command_line_and_in_settings(ssptool, warned, tmp_path):
    assert "SSD-CONN-013" not in ssptool("validate", warned, "--ignore", "SSD-CONN-013,SSD-GEO")[1]
    assert "SSD-CONN-013" not in ssptool("validate", warned, "--select", "URI", "--select", "VER")[1]
    (tmp_path / "ssptool.toml").write_text("strict = true\n")
    assert ssptool("validate", warned)[0] == 1
    assert ssptool("validate", warned, "--no-strict")[0] == 0


def test_wrong_settings_and_codes_are_told_without_a_traceback(ssptool, warned, tmp_path):
    status, _, told = ssptool("validate", warned, "--ignore", "SSD-CNNO-013")
    assert status == 2
    assert "SSD-CONN-013" in told
    (tmp_path / "ssptool.toml").write_text("stricht = true\n")
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


def test_several_systems_are_checked_in_turn(ssptool, warned, tmp_path):
    other = tmp_path / "other.ssd"
    other.write_text(EMPTY_ELEMENT.replace('kind="output"', 'kind="input"'))
    status, printed, _ = ssptool("validate", warned, other, "--format", "github")
    assert status == 1
    assert "file=" in printed
    assert "warned.ssd,line=" in printed
    assert "other.ssd,line=" in printed
    assert ssptool("validate", warned, other, "--format", "sarif")[0] == 2


def test_the_hooks_for_commits_call_commands_that_there_are(ssptool, warned):
    hooks = (Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text()
    entries = re.findall(r"entry: ssptool (.*)", hooks)
    assert len(entries) == 2
    for entry in entries:
        assert ssptool(*entry.split(), warned)[0] == 0
