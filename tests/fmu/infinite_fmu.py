"""The FMU of infinite.c, built with the system's compiler, for FMI 2.0 and 3.0: parameters that are not finite."""

import zipfile
from pathlib import Path

import fmpy
from fmpy.fmi2 import FMU2Slave
from fmpy.fmi3 import FMU3Slave

from tests.fmu.building import PLATFORM, build_model

SOURCE = Path(__file__).with_name("infinite.c")
STARTS = {"big": "INF", "negative": "-INF", "undefined": "NaN", "text": "INF"}
FINITE = {"big": "2.5", "negative": "-3.5", "undefined": "4.5", "text": "none"}
ARRIVED = 1111.0
"""The output if all of `STARTS` have arrived."""


def build(folder: Path, version: int, starts: dict[str, str]) -> Path:
    """The folder with Infinite.fmu, whose parameters start at these values."""
    library = build_model(folder / "infinite.so", SOURCE, FMU2Slave, FMU3Slave)
    with zipfile.ZipFile(folder / "Infinite.fmu", "w") as archive:
        archive.writestr("modelDescription.xml", _description(version, starts))
        archive.write(library, f"binaries/{PLATFORM[version]}/infinite{fmpy.sharedLibraryExtension}")
    return folder


def _description(version: int, starts: dict[str, str]) -> str:
    rows = "".join(_parameter(version, place, name, start) for place, (name, start) in enumerate(starts.items(), 1))
    known = 'name="y" valueReference="0" causality="output" variability="continuous"'
    if version == 2:
        token, output = "guid", f"<ScalarVariable {known}><Real/></ScalarVariable>"
        structure = '<Outputs><Unknown index="1"/></Outputs><InitialUnknowns><Unknown index="1"/></InitialUnknowns>'
    else:
        token, output = "instantiationToken", f"<Float64 {known}/>"
        structure = '<Output valueReference="0"/><InitialUnknown valueReference="0"/>'
    return (
        f'<?xml version="1.0"?>\n<fmiModelDescription fmiVersion="{version}.0" modelName="infinite" {token}="{{i}}">'
        '<CoSimulation modelIdentifier="infinite" canHandleVariableCommunicationStepSize="true"/>'
        f"<ModelVariables>{output}{rows}</ModelVariables><ModelStructure>{structure}</ModelStructure>"
        "</fmiModelDescription>"
    )


def _parameter(version: int, reference: int, name: str, start: str) -> str:
    known = f'name="{name}" valueReference="{reference}" causality="parameter" variability="tunable"'
    if version == 2:
        kind = "String" if name == "text" else "Real"
        return f'<ScalarVariable {known}><{kind} start="{start}"/></ScalarVariable>'
    if name == "text":
        return f'<String {known}><Start value="{start}"/></String>'
    return f'<Float64 {known} start="{start}"/>'
