"""The example systems as pyssp_standard, a library of others, reads them."""

import pytest
from pyssp_standard.ssp import SSP

import ssptool
from ssptool.documents.archive import Archive
from tests.systems.peers import SYSTEMS, packed

NAMES = sorted(path.parent.name for path in SYSTEMS.glob("*/SystemStructure.ssd"))


@pytest.mark.parametrize("name", NAMES)
def test_it_finds_the_same_elements_and_connections(name, tmp_path):
    path = packed(name, tmp_path)
    with Archive.open(path) as archive:
        system = archive.structure().structure.system
        elements = [element.name for element in system.elements]
        connections = [(c.start_element, c.start_connector, c.end_element, c.end_connector) for c in system.connections]
    with SSP(path, mode="r") as theirs, theirs.system_structure as structure:
        assert [element.name for element in structure.system.elements] == elements
        found = [(c.start_element, c.start_connector, c.end_element, c.end_connector) for c in structure.connections()]
    assert found == connections


@pytest.mark.parametrize("name", NAMES)
def test_it_finds_the_same_in_the_package_after_an_upgrade(name, tmp_path):
    ssptool.upgrade(SYSTEMS / name, output=tmp_path / "new")
    ssptool.pack(tmp_path / "new", tmp_path / "new.ssp")
    with SSP(tmp_path / "new.ssp", mode="r") as theirs, theirs.system_structure as structure:
        assert structure.version == "2.0"
        found = {element.name for element in structure.system.elements}
    with Archive.open(SYSTEMS / name) as archive:
        assert found == {element.name for element in archive.structure().structure.system.elements}
