"""Systems with unusual names, files and places: a valid FMU that runs and shows the system, or a refusal by name."""

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu
from typer.testing import CliRunner

import ssptool
from ssptool.cli.app import app
from ssptool.engine.failure import Unsupported
from tests.accuracy import thermostat
from tests.exporting.fmus import RESOURCES, SYSTEMS, assert_same_bits, exported, in_fmpy

pytestmark = pytest.mark.one_in(3)

UNITS = (
    '<ssd:Units><ssc:Unit name="mm"><ssc:BaseUnit m="1" factor="0.001"/></ssc:Unit>'
    '<ssc:Unit name="degC"><ssc:BaseUnit K="1" offset="273.15"/></ssc:Unit></ssd:Units>'
)
ENUMERATIONS = (
    '<ssd:Enumerations><ssc:Enumeration name="Gear"><ssc:Item name="back &amp; forth" value="-3"/>'
    '<ssc:Item name="Größe" value="7"/></ssc:Enumeration></ssd:Enumerations>'
)
DISTANCE = '<ssc:Real unit="mm"/>'


def write(
    folder, *, connector="y", component="A", name="plant", source="resources/System1.fmu", more="", type=DISTANCE
):
    """One component, whose x1 is an output of the system."""
    (folder / "resources").mkdir(parents=True)
    shutil.copy(RESOURCES / "System1.fmu", folder / "resources")
    (folder / "SystemStructure.ssd").write_text(
        f'<?xml version="1.0" encoding="UTF-8"?>\n'
        '<ssd:SystemStructureDescription xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription" '
        f'xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon" version="1.0" name="{name}">'
        f'<ssd:System name="{name}"><ssd:Connectors><ssd:Connector name="{connector}" kind="output">{type}'
        f'</ssd:Connector>{more}</ssd:Connectors><ssd:Elements><ssd:Component name="{component}" source="{source}" '
        'type="application/x-fmu-sharedlibrary"><ssd:Connectors><ssd:Connector name="x1" kind="output">'
        '<ssc:Real unit="m"/></ssd:Connector></ssd:Connectors></ssd:Component></ssd:Elements><ssd:Connections>'
        f'<ssd:Connection startElement="{component}" startConnector="x1" endConnector="{connector}"/>'
        f'</ssd:Connections></ssd:System>{ENUMERATIONS}{UNITS}<ssd:DefaultExperiment startTime="0" stopTime="0.1"/>'
        "</ssd:SystemStructureDescription>",
        encoding="utf-8",
    )
    return folder


def explained(fmu, *options):
    """What `ssptool explain` says of the system in an exported FMU."""
    command = [sys.executable, "-m", "ssptool", "explain", str(fmu), "--all", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "name", ["A B", "Größe", "日本", "a/b\\c", "..", "$x%s%n", "a{b}[1]", "CON", "x" * 300, "&lt;&quot;"]
)
def test_names_of_all_kinds_are_those_of_the_fmu(name, fmi, tmp_path):
    system = write(tmp_path / "plant", connector=name, component=name, name=name)
    fmu = exported(system, tmp_path, fmi=fmi, step_size=0.01)
    plain = name.replace("&lt;", "<").replace("&quot;", '"')
    assert validate_fmu(str(fmu)) == []
    assert in_fmpy(fmu, 0.01).dtype.names == ("time", plain)
    assert plain in explained(fmu)


def test_a_connector_with_the_name_of_an_exposed_variable_is_refused(fmi, tmp_path):
    system = write(tmp_path / "plant", connector="A.x1")
    with pytest.raises(Unsupported, match=r"variable A\.x1: 2 variables .* this name; .*do not expose"):
        exported(system, tmp_path, fmi=fmi, expose="A.x1")
    assert validate_fmu(str(exported(system, tmp_path, fmi=fmi))) == []


@pytest.mark.parametrize("control", ["\n", "\t"])
def test_a_name_with_a_control_character_is_refused(control, fmi, tmp_path):
    system = write(tmp_path / "plant", connector=f"a&#{ord(control)};b")
    with pytest.raises(Unsupported, match=r"variable 'a\\.b': FMI does not allow the character"):
        exported(system, tmp_path, fmi=fmi)


def test_units_that_the_document_defines_are_defined_in_the_fmu(fmi, tmp_path):
    """y [mm] = 1000 x1 [m], and an importer knows as much."""
    more = '<ssd:Connector name="T" kind="input"><ssc:Real unit="degC"/></ssd:Connector>'
    fmu = exported(write(tmp_path / "plant", more=more), tmp_path, fmi=fmi)
    units = {one.name: one.baseUnit for one in fmpy.read_model_description(str(fmu)).unitDefinitions}
    assert (units["mm"].m, units["mm"].factor) == (1, 0.001)
    assert (units["degC"].K, units["degC"].offset) == (1, 273.15)


def test_items_that_the_document_states_are_those_of_an_enumeration(fmi, tmp_path):
    gear = '<ssc:Enumeration name="Gear"/>'
    more = f'<ssd:Connector name="gear" kind="input">{gear}</ssd:Connector>'
    description = fmpy.read_model_description(str(exported(write(tmp_path / "plant", more=more), tmp_path, fmi=fmi)))
    (declared,) = (one.declaredType for one in description.modelVariables if one.name == "gear")
    assert [(one.name, int(one.value)) for one in declared.items] == [("back & forth", -3), ("Größe", 7)]


def test_a_library_under_another_name_is_found(fmi, tmp_path):
    """It is the only one for its platform, so `run` takes it as well."""
    system = write(tmp_path / "plant")
    fmu = system / "resources" / "System1.fmu"
    with zipfile.ZipFile(RESOURCES / "System1.fmu") as whole, zipfile.ZipFile(fmu, "w") as changed:
        for name in whole.namelist():
            changed.writestr(re.sub(r"/System1\.(so|dll|dylib)$", r"/other.\1", name), whole.read(name))
        assert not any(Path(name).stem == "System1" for name in changed.namelist())
    run = ssptool.simulate(system, step_size=0.01).unwrap()
    assert_same_bits(in_fmpy(exported(system, tmp_path, fmi=fmi, step_size=0.01), 0.01), run)


def test_an_fmu_made_of_a_variant_shows_that_variant(tmp_path):
    system = write(tmp_path / "plant")
    other = (system / "SystemStructure.ssd").read_text(encoding="utf-8").replace('"A"', '"Other"')
    (system / "Other.ssd").write_text(other.replace('name="plant"', 'name="other"'), encoding="utf-8")
    fmu = exported(system, tmp_path, variant="other")
    assert "Other.x1" in explained(fmu)
    assert "A.x1" in explained(fmu, "--variant", "plant")
    assert "A.x1" in explained(exported(system, tmp_path))


def test_a_lone_document_travels_with_the_files_that_it_refers_to(tmp_path):
    folder = tmp_path / "oscillator"
    shutil.copytree(SYSTEMS / "dual_mass_oscillator", folder)
    (folder / "SystemStructure.ssd").rename(folder / "lone.ssd")
    (folder / "unrelated.txt").write_text("of somebody else")
    fmu = exported(folder / "lone.ssd", tmp_path, step_size=1e-3, stop_time=0.01)
    assert_same_bits(in_fmpy(fmu, 1e-3), ssptool.simulate(folder / "lone.ssd", step_size=1e-3, stop_time=0.01).unwrap())
    ssptool.unpack(fmu, tmp_path / "unpacked")
    files = {one.relative_to(tmp_path / "unpacked").as_posix() for one in (tmp_path / "unpacked").rglob("*.*")}
    parts = {f"resources/{name}" for name in ("dual_mass_oscillator.ssv", "System1.fmu", "System2.fmu")}
    assert files == {"SystemStructure.ssd", *parts}
    assert explained(fmu) == explained(SYSTEMS / "dual_mass_oscillator")


def test_fmus_outside_the_folder_are_inside_the_fmu_and_a_note_says_what_is_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    system = write(tmp_path / "plant", source="../System1.fmu")
    (system / "resources" / "System1.fmu").rename(tmp_path / "System1.fmu")
    made = ssptool.export(system, tmp_path / "plant.fmu", step_size=0.01)
    assert [note for note in made.notes if note.startswith("../System1.fmu lies outside")]
    (tmp_path / "System1.fmu").unlink()
    assert len(in_fmpy(made.path, 0.01)) == 11


def test_inputs_without_a_connection_are_noted_with_what_makes_inputs_of_them(tmp_path):
    folder = SYSTEMS / "mass_spring_damper"
    system = Path(shutil.copytree(folder, tmp_path / "chain"))
    (note,) = (note for note in ssptool.export(system, tmp_path / "chain.fmu").notes if "first.mass.F" in note)
    for command in re.findall(r"ssptool (.*? SYSTEM [^,)]+)", note):
        words = [str(system) if word == "SYSTEM" else word for word in command.split()]
        assert CliRunner().invoke(app, words).exit_code == 0
    assert not [note for note in ssptool.export(system, tmp_path / "c.fmu").notes if "first.mass.F" in note]


@pytest.mark.parametrize("tool", [True, False])
def test_a_system_without_a_stop_time_is_exported_with_the_needs_of_its_fmus(tool, tmp_path):
    system = thermostat.write_system(tmp_path / "heating", more='needsExecutionTool="true"' if tool else "")
    made = ssptool.export(system, tmp_path / "heating.fmu", step_size=0.01)
    description = fmpy.read_model_description(str(made.path))
    assert description.coSimulation.needsExecutionTool is tool
    assert any("Room, Thermostat" in note for note in made.notes) is tool
    assert str(made).splitlines()[-1] == f"{made.path}: 2 outputs, macro steps of 0.01 s"
    found = fmpy.simulate_fmu(str(made.path), stop_time=20, output_interval=0.01)
    result = ssptool.simulate(system, stop_time=20, step_size=0.01)
    again = ssptool.simulate(made.path, stop_time=20, step_size=0.01)
    assert np.array_equal(again["Room.T"], result["Room.T"])
    assert np.allclose(found["Room.T"], result["Room.T"], rtol=0, atol=1e-9)
