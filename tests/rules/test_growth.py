"""The work of the rules grows as the documents do, not as their square: what is counted are lines of Python."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import ssptool.rules
from ssptool.rules.runner import check_path
from ssptool.rules.subjects import Structure

RULES = str(Path(ssptool.rules.__file__).parent)
DOCUMENT = """<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription version="2.0" name="{name}"
    xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
    xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon">
  <ssd:System name="{name}">
    {connectors}
    {content}
  </ssd:System>
</ssd:SystemStructureDescription>
"""


def connectors(count: int, kind: str, type: str = "") -> str:
    rows = "".join(f'<ssd:Connector name="{kind}{k}" kind="{kind}">{type}</ssd:Connector>' for k in range(count))
    return f"<ssd:Connectors>{rows}</ssd:Connectors>"


def a_system_in_a_component(folder: Path, count: int) -> None:
    """Each of its inputs is connected to one outside, and to the same input of a system inside."""
    wires = "".join(
        f'<ssd:Connection startConnector="input{k}" endElement="Sub" endConnector="input{k}"/>' for k in range(count)
    )
    through = f"<ssd:Connections>{wires}</ssd:Connections>"
    sub = '<ssd:Component name="Sub" type="application/x-ssp-definition" source="sub.ssd">{}</ssd:Component>'
    own = f"<ssd:Elements>{sub.format(connectors(count, 'input'))}</ssd:Elements>"
    real = connectors(count, "input", "<ssc:Real/>")
    nested = f'<ssd:Elements><ssd:System name="Sub">{real}</ssd:System></ssd:Elements>'
    (folder / "SystemStructure.ssd").write_text(
        DOCUMENT.format(name="Around", connectors=connectors(count, "input"), content=own + through)
    )
    (folder / "sub.ssd").write_text(DOCUMENT.format(name="Sub", connectors=real, content=nested + through))


def lines_run(work: Callable[[], object]) -> int:
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace if frame.f_code.co_filename.startswith(RULES) else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def test_twice_the_connectors_of_a_system_in_a_component_are_no_more_than_twice_the_work(tmp_path: Path):
    lines = []
    for count in (100, 200):
        folder = tmp_path / str(count)
        folder.mkdir()
        a_system_in_a_component(folder, count)
        assert [str(error) for error in check_path(folder).errors] == []
        lines.append(lines_run(lambda folder=folder: check_path(folder)))
    few, many = lines
    assert many <= 2 * few


def test_a_unit_without_a_definition_is_looked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Each search walks through all documents, whose lines are none of Python."""
    real = connectors(50, "input", '<ssc:Real unit="N"/>')
    path = tmp_path / "SystemStructure.ssd"
    path.write_text(DOCUMENT.format(name="Lone", connectors=real, content=""))
    searches, documents = [], Structure.documents
    monkeypatch.setattr(Structure, "documents", lambda structure: searches.append(1) or documents(structure))
    assert len([one for one in check_path(tmp_path).diagnostics if one.code == "UNIT-002"]) == 50
    assert len(searches) < 50
