"""The FMU of chatty.c, built with the system's compiler, for FMI 2.0 and 3.0; and systems of two of them."""

import zipfile
from pathlib import Path

import fmpy
from fmpy.fmi2 import FMU2Slave
from fmpy.fmi3 import FMU3Slave

from tests.fmu.building import PLATFORM, build_model

SOURCE = Path(__file__).with_name("chatty.c")
TOKEN = "{chatty}"
NONE, WARN, FAIL, FAIL_SILENTLY, LOG_ODDLY, CRASH, LOG_IN_THREADS, REFUSE_LOGGING, FAIL_ELSEWHERE = range(9)
"""Habits from time `when` on, by the parameter `habit`."""

CATEGORIES = ("logEvents", "logStatusWarning", "logStatusDiscard", "logStatusError", "logStatusFatal", "logFmiCall")
EXTRA = 1000
VARIABLES = (
    ("u", "input", "continuous", "0"),
    ("y", "output", "continuous", None),
    ("habit", "parameter", "fixed", "0"),
    ("when", "parameter", "fixed", "0"),
    ("x", "parameter", "fixed", "0"),
    *((f"extra[{i}]", "local", "continuous", None) for i in range(1, EXTRA + 1)),
)
"""By value reference: name, causality, variability, start; x is a parameter, so that its start value can be set."""


def build(folder: Path) -> Path:
    """The folder with chatty2.fmu and chatty3.fmu."""
    library = build_model(folder / "chatty.so", SOURCE, FMU2Slave, FMU3Slave, flags=("-O2", "-pthread"))
    for version in (2, 3):
        with zipfile.ZipFile(folder / f"chatty{version}.fmu", "w") as archive:
            archive.writestr("modelDescription.xml", description(version))
            archive.write(library, f"binaries/{PLATFORM[version]}/chatty{fmpy.sharedLibraryExtension}")
    return folder


def description(version: int) -> str:
    categories = "".join(f'<Category name="{name}"/>' for name in CATEGORIES)
    token = "guid" if version == 2 else "instantiationToken"
    rows = "".join(_variable(version, reference, *variable) for reference, variable in enumerate(VARIABLES))
    structure = (
        '<Outputs><Unknown index="2" dependencies=""/></Outputs>'
        '<InitialUnknowns><Unknown index="2" dependencies=""/></InitialUnknowns>'
        if version == 2
        else '<Output valueReference="1" dependencies=""/><InitialUnknown valueReference="1" dependencies=""/>'
    )
    return (
        f'<?xml version="1.0"?>\n<fmiModelDescription fmiVersion="{version}.0" modelName="chatty" {token}="{TOKEN}">'
        '<CoSimulation modelIdentifier="chatty" canHandleVariableCommunicationStepSize="true"/>'
        f"<LogCategories>{categories}</LogCategories>"
        f"<ModelVariables>{rows}</ModelVariables><ModelStructure>{structure}</ModelStructure></fmiModelDescription>"
    )


def _variable(version: int, reference: int, name: str, causality: str, variability: str, start: str | None) -> str:
    value = "" if start is None else f' start="{start}"'
    known = f'name="{name}" valueReference="{reference}" causality="{causality}" variability="{variability}"'
    if version == 2:
        return f"<ScalarVariable {known}><Real{value}/></ScalarVariable>\n"
    return f"<Float64 {known}{value}/>\n"
