"""A mass that an input of the system pushes: m v' = F, z' = v, from rest at z = 0; m = 2 kg."""

import shutil

import numpy as np

MASS = 2.0
_NAMESPACES = (
    'xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription" '
    'xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon" '
    'xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues"'
)
_UNITS = (
    '<ssd:Units><ssc:Unit name="N"><ssc:BaseUnit kg="1" m="1" s="-2"/></ssc:Unit>'
    '<ssc:Unit name="kN"><ssc:BaseUnit kg="1" m="1" s="-2" factor="1000"/></ssc:Unit></ssd:Units>'
)
_VALUES = "".join(
    f'<ssv:Parameter name="Mass.{name}"><ssv:Real value="{value}"/></ssv:Parameter>'
    for name, value in (("m", MASS), ("z", 0.0))
)


def write_pushed_mass(folder, fmus, *, outer=True, stop=1.0):
    """The system in a folder. `outer`: the system itself has the input `push`; else Mass.F is connected to nothing."""
    resources = folder / "resources"
    resources.mkdir(parents=True)
    shutil.copy(fmus / "Mass.fmu", resources)
    connectors = (
        '<ssd:Connectors><ssd:Connector name="push" kind="input"><ssc:Real unit="N"/></ssd:Connector></ssd:Connectors>'
    )
    connection = (
        '<ssd:Connections><ssd:Connection startConnector="push" endElement="Mass" endConnector="F"/></ssd:Connections>'
    )
    (folder / "SystemStructure.ssd").write_text(
        f'<ssd:SystemStructureDescription {_NAMESPACES} version="2.0" name="pushed"><ssd:System name="pushed">'
        f"{connectors if outer else ''}"
        f'<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet version="2.0" name="p">'
        f"<ssv:Parameters>{_VALUES}</ssv:Parameters></ssv:ParameterSet></ssd:ParameterValues></ssd:ParameterBinding>"
        f"</ssd:ParameterBindings><ssd:Elements>"
        f'<ssd:Component name="Mass" source="resources/Mass.fmu" type="application/x-fmu-sharedlibrary" '
        'implementation="CoSimulation">'
        "<ssd:Connectors>"
        f'<ssd:Connector name="F" kind="input"><ssc:Real unit="N"/></ssd:Connector>'
        f'<ssd:Connector name="z" kind="output"><ssc:Real/></ssd:Connector>'
        f'<ssd:Connector name="v" kind="output"><ssc:Real/></ssd:Connector>'
        f"</ssd:Connectors></ssd:Component></ssd:Elements>{connection if outer else ''}</ssd:System>"
        f'{_UNITS}<ssd:DefaultExperiment startTime="0" stopTime="{stop}"/></ssd:SystemStructureDescription>'
    )
    return folder


def ramp(t, slope):
    """z and v under F = slope · t: v = slope t²/(2 m), z = slope t³/(6 m)."""
    t = np.asarray(t)
    return slope * t**3 / (6 * MASS), slope * t**2 / (2 * MASS)


def step(t, at, height):
    """z and v under a force that jumps from 0 to `height` at this time."""
    past = np.maximum(np.asarray(t) - at, 0.0)
    return height * past**2 / (2 * MASS), height * past / MASS
