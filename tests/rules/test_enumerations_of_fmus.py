"""Enumerations that only the FMU defines."""

import pytest

from ssptool.documents.diagnostics import Severity
from ssptool.rules.runner import check_path

CASE = """<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
    xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon" version="2.0" name="Case">
  <ssd:System name="Root">
    <ssd:Elements>
      <ssd:Component name="A" source="resources/Mass.fmu"><ssd:Connectors>
        <ssd:Connector name="{}" kind="input"><ssc:Enumeration name="Elsewhere"/></ssd:Connector>
      </ssd:Connectors></ssd:Component>
    </ssd:Elements>
  </ssd:System>
</ssd:SystemStructureDescription>
"""


@pytest.mark.parametrize(("variable", "severity"), [("mode", Severity.WARNING), ("F", Severity.ERROR)])
def test_the_items_of_the_variable_count_where_it_has_some(tmp_path, package, variable, severity):
    (tmp_path / "case.ssd").write_text(CASE.format(variable))
    report = check_path(package(tmp_path / "case.ssd"))
    (found,) = [one for one in report.diagnostics if one.code == "ENUM-002"]
    assert found.severity is severity
