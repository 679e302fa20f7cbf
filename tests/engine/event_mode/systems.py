"""Systems of FMI 3.0 FMUs with clocks, written as SSP 2.0, and what comes out of them."""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

import ssptool
from ssptool.fmu.read_description import read_description

_SSD = "http://ssp-standard.org/SSP1/SystemStructureDescription"
_SSC = "http://ssp-standard.org/SSP1/SystemStructureCommon"
_SSV = "http://ssp-standard.org/SSP1/SystemStructureParameterValues"


def write_system(
    folder: Path,
    fmus: Path,
    components: Mapping[str, str],
    connections: Iterable[tuple[str, str]] = (),
    parameters: str = "",
    kinds: tuple[str, ...] = ("input", "output"),
    connectors: str = "",
) -> Path:
    """Components (name → FMU below `fmus`, such as fmi3/Ball), all their inputs and outputs as connectors, and
    connections ("A.y", "B.u"); `parameters` are elements of a parameter set. Variables of other `kinds` may have
    connectors too, and the system its own `connectors`, which are ".name" in connections.
    """
    resources = folder / "resources"
    resources.mkdir(parents=True)
    for fmu in set(components.values()):
        shutil.copy(fmus / f"{fmu}.fmu", resources / f"{_file(fmu)}")
    elements = "".join(_component(name, resources / _file(fmu), kinds) for name, fmu in components.items())
    (folder / "SystemStructure.ssd").write_text(
        f'<?xml version="1.0" encoding="UTF-8"?>\n<ssd:SystemStructureDescription xmlns:ssd="{_SSD}" '
        f'xmlns:ssc="{_SSC}" xmlns:ssv="{_SSV}" version="2.0" name="test">\n<ssd:System name="test">\n'
        f"{_own(connectors)}{_bindings(parameters)}<ssd:Elements>{elements}</ssd:Elements>\n"
        f"{_connections(connections)}"
        f'</ssd:System>\n<ssd:DefaultExperiment startTime="0" stopTime="1"/></ssd:SystemStructureDescription>\n',
        encoding="utf-8",
    )
    return folder


def _file(fmu: str) -> str:
    return f"{fmu.replace('/', '-')}.fmu"


def _own(connectors: str) -> str:
    return f"<ssd:Connectors>{connectors}</ssd:Connectors>\n" if connectors else ""


def _bindings(parameters: str) -> str:
    if not parameters:
        return ""
    return (
        '<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet version="2.0" name="p">'
        f"<ssv:Parameters>{parameters}</ssv:Parameters></ssv:ParameterSet></ssd:ParameterValues>"
        "</ssd:ParameterBinding></ssd:ParameterBindings>\n"
    )


def _component(name: str, fmu: Path, kinds: tuple[str, ...]) -> str:
    description = read_description(fmu)
    stated = "any" if description.co_simulation is None else "CoSimulation"
    connectors = "".join(
        f'<ssd:Connector name="{variable.name}" kind="{variable.causality}">{_type(variable)}'
        + "".join(f'<ssc:Dimension size="{size}"/>' for size in variable.shape)
        + "".join(f'<ssd:Clock name="{clock}"/>' for clock in variable.clocks)
        + "</ssd:Connector>"
        for variable in description.variables.values()
        if variable.causality in kinds
    )
    return (
        f'<ssd:Component name="{name}" source="resources/{fmu.name}" type="application/x-fmu-sharedlibrary" '
        f'implementation="{stated}">'
        f"<ssd:Connectors>{connectors}</ssd:Connectors></ssd:Component>\n"
    )


def _type(variable) -> str:
    mime_type = f' mime-type="{variable.mime_type}"' if variable.mime_type else ""
    return f"<ssc:{variable.type}{mime_type}/>"


def _connections(connections: Iterable[tuple[str, str]]) -> str:
    inside = "".join(map(_connection, connections))
    return f"<ssd:Connections>{inside}</ssd:Connections>\n" if inside else ""


def _connection(ends: tuple[str, str]) -> str:
    (start, output), (end, input_) = (name.split(".") for name in ends)
    start, end = (f'{which}Element="{name}" ' if name else "" for which, name in (("start", start), ("end", end)))
    return f'<ssd:Connection {start}startConnector="{output}" {end}endConnector="{input_}"/>\n'


def simulate(folder, stop, step, parameters=None, *, inputs=None, isolated=False, output=None, **settings):
    """With these start_values of parameters by full name."""
    return ssptool.simulate(
        folder,
        start_values=parameters or {},
        settings=ssptool.Settings(stop_time=stop, step_size=step, **settings),
        inputs=inputs,
        isolated=isolated,
        output=output,
    )


def column(trace, name):
    return trace.y[:, trace.signals.index(name)]


def before_and_after(trace, name):
    """What a signal is before and after each event: pairs of rows of the same time."""
    at = np.flatnonzero(np.diff(trace.t) == 0)
    values = column(trace, name)
    return trace.t[at], values[at], values[at + 1]
