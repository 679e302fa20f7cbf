"""What large documents cost: a system of 1 000 components and 100 000 connections, and an FMU of 50 000 variables.

Each stage runs in a process of its own, so that the peak of memory (above that of the imported libraries too) is its
own. Times are CPU times, without the import of libraries. They are divided by how much longer than 0.15 s
`import numpy` takes just before: budgets are those of a machine on which it takes 0.15 s.

The components stand in a row; each has 100 inputs and 100 outputs, and every output needs one input at the same
instant. The FMU has structured names as Modelica tools write them, among them such as der(der(x)), which FMI's naming
convention does not know. The start of a run is measured as the whole command, child process and imports included.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import fmpy

import ssptool
from benchmarks import tiny_fmu
from ssptool.documents.archive import Archive
from ssptool.documents.schema import schema_findings
from ssptool.network.dependencies import analyze
from ssptool.network.flatten import build_network
from tests.fmu.building import PLATFORM

COMPONENTS, WIDTH, NAMES = 1_000, 100, 50_000
SSP = "http://ssp-standard.org/SSP1/SystemStructure"


def structure(components: int, width: int) -> str:
    """A row of components, all connectors with type and unit."""
    connectors = "\n".join(
        f'<ssd:Connector name="{name}{number}" kind="{kind}"><ssc:Real unit="m"/></ssd:Connector>'
        for name, kind in (("u", "input"), ("y", "output"))
        for number in range(width)
    )
    elements = "\n".join(
        f'<ssd:Component name="C{number}" source="resources/M.fmu">\n'
        f"<ssd:Connectors>\n{connectors}\n</ssd:Connectors>\n</ssd:Component>"
        for number in range(components)
    )
    connections = "\n".join(
        f'<ssd:Connection startElement="C{number - 1}" startConnector="y{port}" '
        f'endElement="C{number}" endConnector="u{port}"/>'
        for number in range(1, components)
        for port in range(width)
    )
    extra = "\n".join(
        f'<ssd:Connection startConnector="U{port}" endElement="C0" endConnector="u{port}"/>' for port in range(width)
    )
    own = "\n".join(
        f'<ssd:Connector name="U{port}" kind="input"><ssc:Real unit="m"/></ssd:Connector>' for port in range(width)
    )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription xmlns:ssd="{SSP}Description" xmlns:ssc="{SSP}Common" version="2.0" name="row">
<ssd:System name="row">
<ssd:Connectors>
{own}
</ssd:Connectors>
<ssd:Elements>
{elements}
</ssd:Elements>
<ssd:Connections>
{connections}
{extra}
</ssd:Connections>
</ssd:System>
<ssd:Units><ssc:Unit name="m"><ssc:BaseUnit m="1"/></ssc:Unit></ssd:Units>
</ssd:SystemStructureDescription>
"""


def model_description(width: int) -> str:
    """An FMU in which each output depends on the input of the same number."""
    variables = [
        f'<ScalarVariable name="{name}{number}" valueReference="{number + shift}" causality="{causality}">'
        f'<Real unit="m"{start}/></ScalarVariable>'
        for name, causality, start, shift in (("u", "input", ' start="0"', 0), ("y", "output", "", width))
        for number in range(width)
    ]
    unknowns = "".join(f'<Unknown index="{width + n + 1}" dependencies="{n + 1}"/>' for n in range(width))
    return (
        '<fmiModelDescription fmiVersion="2.0" modelName="M" guid="g"><CoSimulation modelIdentifier="M"/>'
        '<UnitDefinitions><Unit name="m"><BaseUnit m="1"/></Unit></UnitDefinitions>'
        f"<ModelVariables>{''.join(variables)}</ModelVariables><ModelStructure><Outputs>{unknowns}</Outputs>"
        f"<InitialUnknowns>{unknowns}</InitialUnknowns></ModelStructure></fmiModelDescription>"
    )


def structured_names(count: int) -> str:
    """The model description of tiny.c with so many more variables in components, arrays and quotation marks."""
    kinds = ("part[{0}].x", "der(part[{0}].x)", "der(der(part[{0}].x))", "a.'b {0}'.c[{0},2]", "sub{0}.flange.tau")
    variables = "".join(
        f'<ScalarVariable name="{kinds[number % 5].format(number // 5)}" valueReference="{number + 2}" '
        f'causality="parameter" variability="tunable" description="variable {number}">\n'
        '<Real start="0" unit="m" declaredType="Length"/></ScalarVariable>\n'
        for number in range(count)
    )
    head, own, structure = re.split("(?<=<ModelVariables>)|(?=</ModelVariables>)", tiny_fmu.DESCRIPTION)
    head = head.replace(' guid="', ' variableNamingConvention="structured" guid="').replace(
        "<ModelVariables>",
        '<UnitDefinitions><Unit name="m"><BaseUnit m="1"/></Unit></UnitDefinitions>'
        '<TypeDefinitions><SimpleType name="Length"><Real unit="m"/></SimpleType></TypeDefinitions><ModelVariables>',
    )
    return head + own + variables + structure


def write_fmu(folder: Path) -> Path:
    library = tiny_fmu.library(folder)
    fmu = folder / "names.fmu"
    with zipfile.ZipFile(fmu, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", structured_names(NAMES))
        archive.write(library, f"binaries/{PLATFORM[2]}/{tiny_fmu.NAME}{fmpy.sharedLibraryExtension}")
    return fmu


def write_system(folder: Path, components: int, width: int) -> Path:
    (folder / "resources").mkdir(parents=True)
    (folder / "SystemStructure.ssd").write_text(structure(components, width), encoding="utf-8")
    with zipfile.ZipFile(folder / "resources" / "M.fmu", "w") as fmu:
        fmu.writestr("modelDescription.xml", model_description(width))
    return folder


def read(system: Path) -> str:
    """Open, validate by schema, and look at both ends of every connection."""
    with Archive.open(system) as archive:
        root = archive.structure().structure
        findings = list(schema_findings(root, "2.0"))
        ends = 0
        for connection in root.system.connections:
            ends += len((connection.start_element, connection.start_connector))
            ends += len((connection.end_element, connection.end_connector))
    return f"{ends} ends, {len(findings)} findings"


def flatten(system: Path) -> str:
    """Open, flatten, and analyze."""
    with Archive.open(system) as archive:
        graph = analyze(build_network(archive, archive.structure()))
    return f"{len(graph.network.wires)} wires, {len(graph.order)} blocks"


def check(system: Path) -> str:
    """Open, and apply all rules."""
    report = ssptool.validate(system)
    return f"{len(report.errors)} errors"


def names(system: Path) -> str:
    """Apply all rules to an FMU of 50 000 variables."""
    report = ssptool.validate(system)
    return f"{len(report.diagnostics)} findings"


def add(system: Path) -> str:
    """Add that FMU to a new system."""
    with ssptool.new(system.with_name("added")) as made:
        made.add(system)
    return "added"


def start(system: Path) -> str:
    """The command `ssptool run` with that FMU, one step."""
    script = "from ssptool.cli.main import main; main()"
    step = ["--stop-time", "0.001", "--step-size", "0.001", "-o", str(system.with_name("result.csv"))]
    subprocess.run([sys.executable, "-c", script, "run", str(system), *step], check=True, stdout=subprocess.DEVNULL)
    return "done"


def plan(system: Path) -> str:
    """Check, flatten, and plan a run."""
    planned = ssptool.plan(system, settings=ssptool.Settings(stop_time=1.0, step_size=0.1))
    return f"{len(planned.wires)} wires, {len(str(planned)) >> 20} MiB of text"


STAGES: dict[str, tuple[Callable[[Path], str], float, float]] = {
    "read": (read, 3.0, 500.0),
    "flatten": (flatten, 10.0, 1024.0),
    "check": (check, 5.0, 300.0),
    "plan": (plan, 7.0, 500.0),
    "names": (names, 2.0, 300.0),
    "add": (add, 2.5, 300.0),
    "start": (start, 2.5, 300.0),
}
"""By name: the stage, and its budget in seconds and MiB."""

IMPORT_OF_NUMPY = 0.15
"""CPU time of `python -c "import numpy"` on the machine of the budgets [s]."""


def peak_memory() -> float:
    """Of this process, or of the largest that it started [MiB].

    `getrusage` begins with the memory of the process that started one, which is right for no process but a small one's.
    """
    stated = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    assert stated is not None
    return max(int(stated[1]), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024


def processor_time() -> float:
    """Of this process and of those that it started [s]."""
    return sum(os.times()[:4])


def import_of_numpy() -> float:
    """CPU time of a process that imports numpy [s]."""
    began = processor_time()
    subprocess.run([sys.executable, "-c", "import numpy"], check=True)
    return processor_time() - began


def measure(stage: str, system: Path) -> None:
    """Run one stage in this process and print what it took."""
    run, seconds, mebibytes = STAGES[stage]
    for call in ("new", "plan", "validate"):
        getattr(ssptool, call)  # imports what it needs
    slower = min(import_of_numpy() for _ in range(4)) / IMPORT_OF_NUMPY
    began = processor_time()
    result = run(system)
    took, peak = (processor_time() - began) / slower, peak_memory()
    verdict = "ok" if took <= seconds and peak <= mebibytes else "OVER BUDGET"
    what = (run.__doc__ or "").rstrip(".")
    print(
        f"{stage:<8} {took:6.2f} s (≤ {seconds:g})   {peak:6.0f} MiB (≤ {mebibytes:g})   {verdict}   {what}: {result}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stage", choices=STAGES)
    parser.add_argument("--system", type=Path)
    parser.add_argument("--components", type=int, default=COMPONENTS)
    parser.add_argument("--width", type=int, default=WIDTH)
    arguments = parser.parse_args()
    if arguments.stage:
        measure(arguments.stage, arguments.system)
        return
    # Bytecode is kept, as it is where a package is installed.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        system = write_system(Path(folder) / "row", arguments.components, arguments.width)
        fmu = write_fmu(Path(folder))
        for stage in STAGES:
            subject = fmu if stage in ("names", "add", "start") else system
            command = [sys.executable, __file__, "--stage", stage, "--system", str(subject)]
            subprocess.run(command, check=True, env=environment)


if __name__ == "__main__":
    main()
