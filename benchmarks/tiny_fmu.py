"""The FMU of tiny.c: one input, one output, two numbers of memory."""

import zipfile
from pathlib import Path

import fmpy
from fmpy.fmi2 import FMU2Slave

from tests.fmu.building import PLATFORM, build_model

SOURCE = Path(__file__).with_name("tiny.c")
NAME, TOKEN = "tiny", "{tiny}"
INPUT, OUTPUT = "u", "y"
DESCRIPTION = f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="{NAME}" guid="{TOKEN}">
<CoSimulation modelIdentifier="{NAME}" canHandleVariableCommunicationStepSize="true"/>
<ModelVariables>
<ScalarVariable name="{INPUT}" valueReference="0" causality="input" variability="continuous"><Real start="0"/>
</ScalarVariable>
<ScalarVariable name="{OUTPUT}" valueReference="1" causality="output" variability="continuous"><Real/></ScalarVariable>
</ModelVariables>
<ModelStructure>
<Outputs><Unknown index="2" dependencies=""/></Outputs>
<InitialUnknowns><Unknown index="2" dependencies=""/></InitialUnknowns>
</ModelStructure>
</fmiModelDescription>
"""


def library(folder: Path) -> Path:
    """tiny.so."""
    return build_model(folder / f"{NAME}.so", SOURCE, FMU2Slave, flags=("-O2",))


def build(folder: Path) -> Path:
    """tiny.fmu."""
    fmu = folder / f"{NAME}.fmu"
    with zipfile.ZipFile(fmu, "w") as archive:
        archive.writestr("modelDescription.xml", DESCRIPTION)
        archive.write(library(folder), f"binaries/{PLATFORM[2]}/{NAME}{fmpy.sharedLibraryExtension}")
    return fmu
