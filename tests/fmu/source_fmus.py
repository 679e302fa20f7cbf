"""Source FMUs: System1 of the example systems with its C sources in place of a library."""

import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import quoteattr

SYSTEMS = Path(__file__).parents[2] / "systems"
WRAPPER = SYSTEMS / "models" / "wrapper"
RESOURCES = SYSTEMS / "dual_mass_oscillator" / "resources"
CORE = ("instance.c", "token.c", "saved_state.c", "derivatives.c", "cosimulation.c", "integrate.c")


def system1(
    target: Path, version: int, *, listed: bool = True, broken: str = "", suffix: str = ".c", build: str = ""
) -> Path:
    """FMI 2.0 lists the sources in its model description, FMI 3.0 in a build description.

    `build` is another content of the build description. `broken` is appended to the model; with another `suffix` one
    more file is in another language.
    """
    source = RESOURCES / ("fmi3/System1.fmu" if version == 3 else "System1.fmu")
    with zipfile.ZipFile(source) as built:
        description = built.read("modelDescription.xml").decode()
    files = {name: (WRAPPER / name).read_text() for name in (*CORE, f"fmi{version}.c")}
    files["System1.c"] = (SYSTEMS / "models" / "System1.c").read_text() + broken
    files["complex/System1_complex.c"] = '#define COMPLEX_NUMBERS\n#include "System1.c"\n'
    if suffix != ".c":
        files[f"more{suffix}"] = "#include <vector>\nstatic std::vector<double> unused(3);\n"
    names = list(files) if listed else []
    headers = {header.name: header.read_text() for header in WRAPPER.glob("*.h")}
    if version == 3:
        headers["buildDescription.xml"] = build or build_description(names)
    else:
        entries = "".join(f'<File name="{name}"/>' for name in names)
        replaced = rf"\1><SourceFiles>{entries}</SourceFiles></\2>"
        description = re.sub(r"(<(CoSimulation|ModelExchange)[^>]*?)/>", replaced, description)
    with zipfile.ZipFile(target, "w") as packed:
        packed.writestr("modelDescription.xml", description)
        for name, text in (files | headers).items():
            packed.writestr(f"sources/{name}", text)
    return target


def build_description(
    names: Iterable[str] = (*CORE, "fmi3.c", "System1.c", "complex/System1_complex.c"),
    *,
    options: str = "",
    more: str = "",
    definition: str = "SPARE",
) -> str:
    # By language: what is C++ is in a set of its own.
    c = "".join(f'<SourceFile name="{name}"/>' for name in names if name.endswith(".c"))
    plus = "".join(f'<SourceFile name="{name}"/>' for name in names if not name.endswith(".c"))
    cxx = f'<SourceFileSet language="C++17">{plus}</SourceFileSet>' if plus else ""
    return (
        '<fmiBuildDescription fmiVersion="3.0"><BuildConfiguration modelIdentifier="System1">'
        f'<SourceFileSet language="C11" compiler="gcc" compilerOptions={quoteattr(options)}>{c}'
        f'<PreprocessorDefinition name={quoteattr(definition)} value="1"/>'
        f'<IncludeDirectory name="complex"/></SourceFileSet>{cxx}{more}</BuildConfiguration></fmiBuildDescription>'
    )
