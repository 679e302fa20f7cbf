"""Folders into which an importer unpacks an exported FMU: any name, and a URI or a path to its resources."""

import pytest
from fmpy.fmi2 import FMU2Slave

from tests.exporting.fmus import SYSTEMS, exported, initialize, instance, real

SYSTEM = SYSTEMS / "one_dof_oscillator"
NAMES = ["with blanks and 100%25", "Größe 漢字 č", "a+b#c?d=e&f"]


def outputs_after_a_step(slave):
    slave.doStep(0.0, 0.01)
    return [real(slave, name) for name in sorted(slave.references) if name != "time"]


@pytest.mark.parametrize("name", NAMES)
def test_any_name(name, fmi, tmp_path):
    fmu = exported(SYSTEM, tmp_path, fmi=fmi)
    found = []
    for folder in (tmp_path / "plain", tmp_path / name):
        with instance(fmu, folder) as slave:
            initialize(slave)
            found.append(outputs_after_a_step(slave))
    assert found[1] == found[0]


@pytest.mark.parametrize("prefix", ["file://", "file://localhost", "file:", ""])
def test_resources_as_uri_and_as_path(prefix, tmp_path, monkeypatch):
    """A path is not a URI: its percent signs stand for themselves."""
    fmu = exported(SYSTEM, tmp_path, fmi=2)
    folder = tmp_path / "100%25"
    resources = str(folder / "resources")
    given = prefix + (resources.replace("%", "%25") if prefix else resources)
    call = FMU2Slave._call

    def with_resources(slave, name, *arguments):
        if name == "fmi2Instantiate":
            arguments = (*arguments[:3], given.encode(), *arguments[4:])
        return call(slave, name, *arguments)

    monkeypatch.setattr(FMU2Slave, "_call", with_resources)
    with instance(fmu, folder) as slave:
        initialize(slave)
        assert len(outputs_after_a_step(slave)) > 0
