"""The FMU of typed.c, built with the system's compiler, for FMI 2.0 and 3.0."""

import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import fmpy
from fmpy.fmi2 import FMU2Slave
from fmpy.fmi3 import FMU3Slave

SOURCE = Path(__file__).with_name("typed.c")
LIFE = Path(__file__).with_name("fmi2_life.h")
PLATFORM = {1: fmpy.platform, 2: fmpy.platform, 3: fmpy.platform_tuple}
FMI2_TYPES = ("Real", "Integer", "Boolean", "String")
FMI3_TYPES = (
    *("Float32", "Float64", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64"),
    *("Boolean", "String", "Binary"),
)


def build_library(folder: Path) -> Path:
    """The shared library; functions of FMI that typed.c does not have return an error."""
    own = set(re.findall(r"\b(fmi[23]\w+)\(", SOURCE.read_text()))
    text = SOURCE.read_text()
    for version, types in ((2, FMI2_TYPES), (3, FMI3_TYPES)):
        own |= {f"fmi{version}{verb}{kind}" for kind in types for verb in ("Get", "Set") if kind in text}
    return build_shared(folder / "typed.so", SOURCE, write_stubs(folder / "stubs.c", own, FMU2Slave, FMU3Slave))


def build_fmi2(library: Path, source: Path) -> Path:
    """A model that includes fmi2_life.h; functions of FMI that it does not have return an error."""
    own = set(re.findall(r"\b(fmi2\w+)\(", source.read_text() + LIFE.read_text()))
    return build_shared(library, source, write_stubs(library.with_suffix(".stubs.c"), own, FMU2Slave), "-O2")


def write_stubs(path: Path, own: set[str], *models: type) -> Path:
    """C functions that return an error, for those of FMI that FMPy asks for in such a model and that are not `own`."""
    every = {name for model in models for name in dir(model) if name.startswith(("fmi2", "fmi3"))}
    path.write_text("".join(f"int {name}(void) {{ return 3; }}\n" for name in sorted(every - own)))
    return path


def build_shared(library: Path, *sources: Path | str) -> Path:
    """From sources, and what else the compiler is to be told."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    assert compiler, "a C compiler is needed to build the FMU that these tests use"
    flags = ["-std=c11", "-O1", "-g", "-Wall", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, *sources, "-o", library], check=True)
    return library


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
