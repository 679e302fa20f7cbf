"""FMUs of kernel/carrier.c, and systems of them with connections of any type."""

import zipfile
from collections.abc import Iterable
from pathlib import Path

import fmpy
from fmpy.fmi1 import FMU1Slave
from fmpy.fmi2 import FMU2Slave
from fmpy.fmi3 import FMU3Slave

from tests.fmu.building import PLATFORM, build_model

_SSD = "http://ssp-standard.org/SSP1/SystemStructureDescription"
_SSC = "http://ssp-standard.org/SSP1/SystemStructureCommon"
_SSV = "http://ssp-standard.org/SSP1/SystemStructureParameterValues"
SOURCE = Path(__file__).parent / "kernel" / "carrier.c"
TYPES = {
    **dict.fromkeys((1, 2), ("Real", "Integer", "Boolean", "String", "Enumeration")),
    3: (
        *("Float64", "Float32", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64"),
        *("Boolean", "String", "Enumeration"),
    ),
}
_PLACES = {"Enumeration": 2}  # its variables share the storage of integers, so they take others


def build(folder: Path) -> None:
    """carrier1.fmu, carrier2.fmu and carrier3.fmu."""
    slaves = (FMU1Slave, FMU2Slave, FMU3Slave)
    library = build_model(folder / "carrier.so", SOURCE, *slaves, prefix1="carrier_").read_bytes()
    for version in TYPES:
        with zipfile.ZipFile(folder / f"carrier{version}.fmu", "w") as archive:
            archive.writestr("modelDescription.xml", _description(version))
            archive.writestr(f"binaries/{PLATFORM[version]}/carrier{fmpy.sharedLibraryExtension}", library)


def _variables(version: int) -> list[tuple[str, str, int, str]]:
    """(name, type, reference, causality): u, what it was at the last step, and what it is."""
    found = []
    for kind in TYPES[version]:
        place = _PLACES.get(kind, 0)
        found += [(f"{kind}_u", kind, place, "input"), (f"{kind}_was", kind, 10 + place, "output")]
        found += [(f"{kind}_is", kind, 20 + place, "output")]
    return found


def _description(version: int) -> str:
    variables = _variables(version)
    if version == 1:
        return _description_of_fmi1(variables)
    rows = [_row(version, *variable) for variable in variables]
    if version == 3:
        rows.append('<Float64 name="time" valueReference="9999" causality="independent" variability="continuous"/>')
    outputs = [n for n, variable in enumerate(variables) if variable[3] == "output"]
    if version == 2:
        needs = {n: "" if variables[n][0].endswith("_was") else str(n - 1) for n in outputs}
        unknowns = "".join(f'<Unknown index="{n + 1}" dependencies="{needs[n]}"/>' for n in outputs)
        structure = f"<Outputs>{unknowns}</Outputs><InitialUnknowns>{unknowns}</InitialUnknowns>"
        gears = (
            '<SimpleType name="Gear"><Enumeration><Item name="a" value="1"/><Item name="b" value="2"/></Enumeration>'
        )
        head, types = 'fmiVersion="2.0" guid="{carrier}"', f"{gears}</SimpleType>"
        flags = 'canGetAndSetFMUstate="true" canInterpolateInputs="true"'
    else:
        number = {v[0]: 100 * TYPES[3].index(v[1]) + v[2] for v in variables}
        structure = ""
        for n in outputs:
            name = variables[n][0]
            needed = "" if name.endswith("_was") else str(number[variables[n - 2][0]])
            structure += f'<Output valueReference="{number[name]}" dependencies="{needed}"/>'
        structure += structure.replace("<Output ", "<InitialUnknown ")
        head = 'fmiVersion="3.0" instantiationToken="{carrier}"'
        types = '<EnumerationType name="Gear"><Item name="a" value="1"/><Item name="b" value="2"/></EnumerationType>'
        flags = 'canGetAndSetFMUState="true"'
    return (
        f'<fmiModelDescription {head} modelName="carrier"><CoSimulation modelIdentifier="carrier" {flags}/>'
        f"<TypeDefinitions>{types}</TypeDefinitions><ModelVariables>{''.join(rows)}</ModelVariables>"
        f"<ModelStructure>{structure}</ModelStructure></fmiModelDescription>"
    )


def _description_of_fmi1(variables: list[tuple[str, str, int, str]]) -> str:
    rows = []
    for name, kind, reference, causality in variables:
        row = _row(2, name, kind, reference, causality)
        if causality == "output":
            needed = "" if name.endswith("_was") else f"<Name>{kind}_u</Name>"
            row = row.replace("</Sc", f"<DirectDependency>{needed}</DirectDependency></Sc")
        rows.append(row)
    return (
        '<fmiModelDescription fmiVersion="1.0" modelName="carrier" modelIdentifier="carrier" guid="{carrier}" '
        'numberOfContinuousStates="0" numberOfEventIndicators="0"><TypeDefinitions><Type name="Gear"><EnumerationType>'
        '<Item name="a"/><Item name="b"/></EnumerationType></Type></TypeDefinitions>'
        f"<ModelVariables>{''.join(rows)}</ModelVariables><Implementation><CoSimulation_StandAlone>"
        '<Capabilities canInterpolateInputs="true"/></CoSimulation_StandAlone></Implementation></fmiModelDescription>'
    )


def _row(version: int, name: str, kind: str, reference: int, causality: str) -> str:
    declared = ' declaredType="Gear"' if kind == "Enumeration" else ""
    starts = {"String": "", "Boolean": "false", "Enumeration": "1"}
    start = starts.get(kind, "0") if causality == "input" else None
    continuous = kind in ("Real", "Float64", "Float32")
    facts = f'name="{name}" causality="{causality}" variability="{"continuous" if continuous else "discrete"}"'
    if version == 2:
        given = "" if start is None else f' start="{start}"'
        return f'<ScalarVariable {facts} valueReference="{reference}"><{kind}{declared}{given}/></ScalarVariable>'
    number = 100 * TYPES[3].index(kind) + reference
    if kind == "String" and start is not None:
        return f'<String {facts} valueReference="{number}"><Start value="{start}"/></String>'
    given = "" if start is None else f' start="{start}"'
    return f'<{kind} {facts} valueReference="{number}"{declared}{given}/>'


def write_system(
    folder: Path, fmus: Path, components: Iterable[tuple[str, int]], connections: Iterable[str], values: str = ""
) -> Path:
    """Carriers (name, version of FMI) with all their connectors; connections as "A.y -> B.u", or with XML behind `|`.

    `values` are the parameters of an inline parameter set.
    """
    folder.mkdir()
    elements = ""
    for name, version in components:
        (folder / f"carrier{version}.fmu").write_bytes((fmus / f"carrier{version}.fmu").read_bytes())
        connectors = "".join(_connector(*variable) for variable in _variables(version))
        elements += (
            f'<ssd:Component name="{name}" source="carrier{version}.fmu" type="application/x-fmu-sharedlibrary">'
            f"<ssd:Connectors>{connectors}</ssd:Connectors></ssd:Component>"
        )
    bindings = (
        "<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues>"
        f'<ssv:ParameterSet version="2.0" name="p"><ssv:Parameters>{values}</ssv:Parameters></ssv:ParameterSet>'
        "</ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings>"
        if values
        else ""
    )
    (folder / "SystemStructure.ssd").write_text(
        f'<?xml version="1.0" encoding="UTF-8"?>\n<ssd:SystemStructureDescription xmlns:ssd="{_SSD}" '
        f'xmlns:ssc="{_SSC}" xmlns:ssv="{_SSV}" version="2.0" name="test"><ssd:System name="test">{bindings}'
        f"<ssd:Elements>{elements}</ssd:Elements>"
        f"<ssd:Connections>{''.join(map(_connection, connections))}</ssd:Connections>"
        f"</ssd:System>"
        '<ssd:Enumerations><ssc:Enumeration name="Gear"><ssc:Item name="a" value="1"/><ssc:Item name="b" value="2"/>'
        '</ssc:Enumeration></ssd:Enumerations><ssd:DefaultExperiment startTime="0" stopTime="1"/>'
        "</ssd:SystemStructureDescription>",
        encoding="utf-8",
    )
    return folder


def _connector(name: str, kind: str, _reference: int, causality: str) -> str:
    declared = ' name="Gear"' if kind == "Enumeration" else ""
    return f'<ssd:Connector name="{name}" kind="{causality}"><ssc:{kind}{declared}/></ssd:Connector>'


def _connection(text: str) -> str:
    ends, _, more = text.partition("|")
    (start, output), (end, input_) = (part.strip().split(".") for part in ends.split("->"))
    return (
        f'<ssd:Connection startElement="{start}" startConnector="{output}" endElement="{end}" '
        f'endConnector="{input_}">{more}</ssd:Connection>'
    )
