"""Systems written to a folder as SSP, for tests that go through the public functions."""

import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from ssptool.fmu.read_description import read_description

_SSD = "http://ssp-standard.org/SSP1/SystemStructureDescription"
_SSC = "http://ssp-standard.org/SSP1/SystemStructureCommon"


def write_system(
    folder: Path,
    fmus: Path,
    components: Mapping[str, str],
    connections: Iterable[tuple[str, str]],
    stop: float = 1.0,
    *,
    implementation: str = "CoSimulation",
) -> Path:
    """A folder with components (name → FMU in `fmus`, without extension) and connections ("A.y", "B.u").

    `implementation` is stated for components whose FMU offers co-simulation.
    """
    resources = folder / "resources"
    resources.mkdir(parents=True)
    for fmu in set(components.values()):
        shutil.copy(fmus / f"{fmu}.fmu", resources)
    elements = "".join(_component(name, resources / f"{fmu}.fmu", implementation) for name, fmu in components.items())
    connected = "".join(map(_connection, connections))
    (folder / "SystemStructure.ssd").write_text(
        f'<?xml version="1.0" encoding="UTF-8"?>\n<ssd:SystemStructureDescription xmlns:ssd="{_SSD}" '
        f'xmlns:ssc="{_SSC}" version="1.0" name="test">\n<ssd:System name="test">\n<ssd:Elements>{elements}'
        f"</ssd:Elements>\n{f'<ssd:Connections>{connected}</ssd:Connections>' if connected else ''}\n"
        f'</ssd:System>\n<ssd:DefaultExperiment startTime="0" stopTime="{stop!r}"/></ssd:SystemStructureDescription>\n',
        encoding="utf-8",
    )
    return folder


def state_implementation(folder: Path, *names: str, implementation: str = "ModelExchange") -> None:
    """Let the system of a folder state the implementation of these components."""
    ssd = folder / "SystemStructure.ssd"
    text = ssd.read_text(encoding="utf-8")
    for name in names:
        tag = re.compile(rf'(<ssd:Component name="{name}"[^>]*?)(?: implementation="\w+")?>')
        text = tag.sub(rf'\1 implementation="{implementation}">', text, count=1)
    ssd.write_text(text, encoding="utf-8")


def _component(name: str, fmu: Path, implementation: str) -> str:
    description = read_description(fmu)
    stated = "any" if description.co_simulation is None else implementation
    connectors = "".join(
        f'<ssd:Connector name="{variable.name}" kind="{variable.causality}">'
        f"<ssc:{'Boolean' if variable.type == 'Boolean' else 'Real'}/></ssd:Connector>"
        for variable in description.variables.values()
        if variable.causality in ("input", "output")
    )
    return (
        f'<ssd:Component name="{name}" source="resources/{fmu.name}" type="application/x-fmu-sharedlibrary" '
        f'implementation="{stated}">'
        f"<ssd:Connectors>{connectors}</ssd:Connectors></ssd:Component>\n"
    )


def _connection(ends: tuple[str, str]) -> str:
    (start, output), (end, input_) = (name.split(".") for name in ends)
    return (
        f'<ssd:Connection startElement="{start}" startConnector="{output}" '
        f'endElement="{end}" endConnector="{input_}"/>\n'
    )
