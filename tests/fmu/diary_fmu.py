"""The FMU of diary.c, built with the system's compiler: it shows whether its library and folder are fresh."""

import zipfile
from pathlib import Path

import fmpy
from fmpy.fmi2 import FMU2Slave

from tests.fmu.building import PLATFORM, build_model

SOURCE = Path(__file__).with_name("diary.c")
DESCRIPTION = """<?xml version="1.0"?>
<fmiModelDescription fmiVersion="2.0" modelName="diary" guid="{diary}">
<CoSimulation modelIdentifier="diary" canHandleVariableCommunicationStepSize="true"/>
<ModelVariables>
<ScalarVariable name="gain" valueReference="0" causality="output"><Real/></ScalarVariable>
<ScalarVariable name="loads" valueReference="1" causality="output"><Real/></ScalarVariable>
<ScalarVariable name="visits" valueReference="2" causality="output"><Real/></ScalarVariable>
<ScalarVariable name="writes" valueReference="3" causality="parameter" variability="fixed"><Real start="0"/>
</ScalarVariable>
<ScalarVariable name="factor" valueReference="4" causality="parameter" variability="fixed"><Real start="1"/>
</ScalarVariable>
<ScalarVariable name="told" valueReference="5" causality="output"><Real/></ScalarVariable>
</ModelVariables>
<ModelStructure><Outputs><Unknown index="1" dependencies=""/><Unknown index="2" dependencies=""/>
<Unknown index="3" dependencies=""/><Unknown index="6"/></Outputs></ModelStructure></fmiModelDescription>
"""


def build(fmu: Path, scratch: Path, gain: int = 1, *flags: str) -> Path:
    """An FMU, stored without compression so that other gains give files of the same size."""
    library = build_model(scratch / "diary.so", SOURCE, FMU2Slave, flags=(f"-DGAIN={gain}", *flags))
    with zipfile.ZipFile(fmu, "w") as archive:
        archive.writestr("modelDescription.xml", DESCRIPTION)
        archive.writestr(zipfile.ZipInfo("resources/diary"), b"\0")
        archive.write(library, f"binaries/{PLATFORM[2]}/diary{fmpy.sharedLibraryExtension}")
    return fmu
