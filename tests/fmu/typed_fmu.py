"""The FMU of typed.c, built with the system's compiler, for FMI 2.0 and 3.0."""

import zipfile
from pathlib import Path

import fmpy
from fmpy.fmi2 import FMU2Slave
from fmpy.fmi3 import FMU3Slave

from tests.fmu.building import PLATFORM, build_model

SOURCE = Path(__file__).with_name("typed.c")
FMI3_TYPES = (
    *("Float32", "Float64", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64"),
    *("Boolean", "String", "Binary"),
)


def build_library(folder: Path) -> Path:
    """The shared library; functions of FMI that typed.c does not have return an error."""
    return build_model(folder / "typed.so", SOURCE, FMU2Slave, FMU3Slave)


def _fmi2_description() -> str:
    variables = [
        *((f"Real{i}", i, "<Real/>") for i in range(2)),
        *((f"Integer{i}", i, '<Integer start="0"/>') for i in range(2)),
        ("terminated_with", 63, '<Integer start="0"/>'),
        ("Boolean0", 0, "<Boolean/>"),
        ("String0", 0, "<String/>"),
        ("Enumeration0", 5, '<Enumeration declaredType="Gear"/>'),
        *((name, 40 + i, "<Real/>") for i, name in enumerate(("start", "stop", "tolerance"))),
        *((name, 43 + i, "<Boolean/>") for i, name in enumerate(("stop_defined", "tolerance_defined"))),
    ]
    rows = "".join(
        f'<ScalarVariable name="{name}" valueReference="{reference}" causality="local">{kind}</ScalarVariable>'
        for name, reference, kind in variables
    )
    return (
        '<fmiModelDescription fmiVersion="2.0" modelName="typed" guid="{typed}">'
        '<CoSimulation modelIdentifier="typed"/>'
        '<TypeDefinitions><SimpleType name="Gear"><Enumeration><Item name="a" value="1"/><Item name="b" value="2"/>'
        "</Enumeration></SimpleType></TypeDefinitions>"
        f"<ModelVariables>{rows}</ModelVariables><ModelStructure/></fmiModelDescription>"
    )


def _fmi3_description() -> str:
    variables = [
        *((kind, f"{kind}0", i) for i, kind in enumerate(FMI3_TYPES)),
        *(("Int32", f"Integer{i}", 20 + i) for i in range(2)),
        ("Int32", "terminated_with", 63),
        *(("Float64", name, 40 + i) for i, name in enumerate(("start", "stop", "tolerance"))),
        *(("Boolean", name, 43 + i) for i, name in enumerate(("stop_defined", "tolerance_defined"))),
        *(("UInt64", name, 45 + i) for i, name in enumerate(("environment", "callback", "required"))),
    ]
    rows = "".join(
        f'<{kind} name="{name}" valueReference="{reference}" causality="local"/>' for kind, name, reference in variables
    )
    gear = '<Enumeration name="Enumeration0" valueReference="30" causality="local" declaredType="Gear"/>'
    array = '<Float64 name="array" valueReference="31" causality="local"><Dimension start="3"/></Float64>'
    return (
        '<fmiModelDescription fmiVersion="3.0" modelName="typed" instantiationToken="{typed}">'
        '<CoSimulation modelIdentifier="typed"/>'
        '<TypeDefinitions><EnumerationType name="Gear"><Item name="a" value="1"/><Item name="b" value="2"/>'
        "</EnumerationType></TypeDefinitions>"
        f'<ModelVariables>{rows}{gear}{array}<Clock name="clock" valueReference="32" causality="local"/>'
        "</ModelVariables><ModelStructure/></fmiModelDescription>"
    )


DESCRIPTION = {2: _fmi2_description(), 3: _fmi3_description()}


def write_fmu(path: Path, version: int, library: Path | bytes | None, platform: str | None = None) -> Path:
    """An FMU with this library, or with no binary; for this platform if none is stated."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", DESCRIPTION[version])
        archive.writestr("resources/data.txt", "data")
        if library is not None:
            content = library.read_bytes() if isinstance(library, Path) else library
            archive.writestr(f"binaries/{platform or PLATFORM[version]}/typed{fmpy.sharedLibraryExtension}", content)
    return path
