"""Packages for tests, written as files: SSDs as text, and FMUs that hold nothing but a model description."""

import io
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from ssptool.documents.archive import Archive
from ssptool.network.flatten import build_network
from ssptool.network.network import Network

SSP = "http://ssp-standard.org/SSP1/SystemStructure"
NAMESPACES = (
    f'xmlns:ssd="{SSP}Description" xmlns:ssc="{SSP}Common" xmlns:ssv="{SSP}ParameterValues" '
    f'xmlns:ssm="{SSP}ParameterMapping"'
)
UNITS = """
    <ssc:Unit name="K"><ssc:BaseUnit K="1"/></ssc:Unit>
    <ssc:Unit name="degC"><ssc:BaseUnit K="1" offset="273.15"/></ssc:Unit>
    <ssc:Unit name="m"><ssc:BaseUnit m="1"/></ssc:Unit>
    <ssc:Unit name="mm"><ssc:BaseUnit m="1" factor="0.001"/></ssc:Unit>
    <ssc:Unit name="N"><ssc:BaseUnit kg="1" m="1" s="-2"/></ssc:Unit>
"""
FMU_UNITS = UNITS.replace("ssc:", "")
ITEMS = '<Item name="off" value="3"/><Item name="on" value="7"/>'
MODE = f'<SimpleType name="Mode"><Enumeration>{ITEMS}</Enumeration></SimpleType>'
"""An enumeration among the types of an FMU."""


def ssd(system: str, version: str = "2.0", extra: str = "") -> str:
    """A system structure around the content of its root system."""
    return (
        f'<ssd:SystemStructureDescription {NAMESPACES} version="{version}" name="test">\n'
        f'<ssd:System name="root">{system}</ssd:System>\n{extra}'
        f"<ssd:Units>{UNITS}</ssd:Units></ssd:SystemStructureDescription>"
    )


def ssv(*parameters: str, extra: str = "") -> str:
    """A parameter set; each parameter like `"k Real value='2' unit='mm'"`."""
    lines = []
    for parameter in parameters:
        name, kind, attributes = parameter.split(" ", 2)
        lines.append(f'<ssv:Parameter name="{name}"><ssv:{kind} {attributes}/></ssv:Parameter>')
    return (
        f'<ssv:ParameterSet {NAMESPACES} version="2.0" name="set">\n<ssv:Parameters>\n'
        + "\n".join(lines)
        + f"\n</ssv:Parameters>{extra}<ssv:Units>{UNITS}</ssv:Units></ssv:ParameterSet>"
    )


def ssm(*entries: str) -> str:
    """A parameter mapping; each entry like `"source='a' target='b'"`, with a transformation after a `|`."""
    lines = []
    for entry in entries:
        attributes, _, transformation = entry.partition("|")
        lines.append(f"<ssm:MappingEntry {attributes}>{transformation}</ssm:MappingEntry>")
    return f'<ssm:ParameterMapping {NAMESPACES} version="2.0">{"".join(lines)}</ssm:ParameterMapping>'


def bindings(*contents: str) -> str:
    """Bindings, each given as its attributes (external) or as `ssv(…)` (inline)."""
    made = (
        f"<ssd:ParameterBinding><ssd:ParameterValues>{content}</ssd:ParameterValues></ssd:ParameterBinding>"
        if content.startswith("<ssv:ParameterSet")
        else f"<ssd:ParameterBinding {content}/>"
        for content in contents
    )
    return f"<ssd:ParameterBindings>{''.join(made)}</ssd:ParameterBindings>"


def mapped(values: str, mapping: str, attributes: str = "") -> str:
    """Bindings with one inline set and one inline mapping."""
    return (
        f"<ssd:ParameterBindings><ssd:ParameterBinding {attributes}>"
        f"<ssd:ParameterValues>{values}</ssd:ParameterValues>"
        f"<ssd:ParameterMapping>{mapping}</ssd:ParameterMapping>"
        "</ssd:ParameterBinding></ssd:ParameterBindings>"
    )


def connectors(text: str) -> str:
    """Connectors, each like `input u Real mm`, `output y Real` or `input u` (no type), separated by commas."""
    lines = []
    for each in filter(None, (part.strip() for part in text.split(","))):
        kind, name, *rest = each.split()
        unit = f' unit="{rest[1]}"' if len(rest) > 1 else ""
        type_ = f"<ssc:{rest[0]}{unit}/>" if rest else ""
        lines.append(f'<ssd:Connector name="{name}" kind="{kind}">{type_}</ssd:Connector>')
    return f"<ssd:Connectors>{''.join(lines)}</ssd:Connectors>" if lines else ""


def component(name: str, fmu: str, interface: str = "", bound: str = "") -> str:
    return f'<ssd:Component name="{name}" source="resources/{fmu}.fmu">{connectors(interface)}{bound}</ssd:Component>'


def system(name: str, interface: str, elements: Iterable[str], wires: Iterable[str], bound: str = "") -> str:
    """A system inside another; for the root system use `content` alone."""
    return f'<ssd:System name="{name}">{content(interface, elements, wires, bound)}</ssd:System>'


def content(interface: str, elements: Iterable[str], wires: Iterable[str], bound: str = "") -> str:
    return (
        f"{connectors(interface)}{bound}<ssd:Elements>{''.join(elements)}</ssd:Elements>"
        f"<ssd:Connections>\n{''.join(map(connection, wires))}</ssd:Connections>"
    )


def connection(text: str) -> str:
    """`"A.y -> B.u"`, or `"u -> A.u"` for a connector of the system; attributes and content after a `|`."""
    ends, _, more = text.partition("|")
    attributes, _, transformation = more.partition("|")
    start, end = (each.strip().rpartition(".") for each in ends.split("->"))
    return (
        "<ssd:Connection"
        + (f' startElement="{start[0]}"' if start[0] else "")
        + f' startConnector="{start[2]}"'
        + (f' endElement="{end[0]}"' if end[0] else "")
        + f' endConnector="{end[2]}" {attributes}>{transformation}</ssd:Connection>\n'
    )


def model(variables: str, structure: str = "", types: str = "", version: str = "2.0") -> str:
    """A model description; variables like `input u Real unit="mm" start="0"`, separated by semicolons."""
    lines = []
    for number, each in enumerate(filter(None, (part.strip() for part in variables.split(";")))):
        causality, name, kind, *attributes = each.split(" ")
        fixed = ' variability="fixed"' if "arameter" in causality else ""
        discrete = ' variability="discrete"' if kind != "Real" and not fixed else ""
        lines.append(
            f'<ScalarVariable name="{name}" valueReference="{number}" causality="{causality}"{fixed}{discrete}>'
            f"<{kind} {' '.join(attributes)}/></ScalarVariable>"
        )
    return (
        f'<fmiModelDescription fmiVersion="{version}" modelName="M" guid="g" numberOfContinuousStates="0">'
        '<CoSimulation modelIdentifier="M"/>'
        f"<UnitDefinitions>{FMU_UNITS}</UnitDefinitions><TypeDefinitions>{types}</TypeDefinitions>"
        f"<ModelVariables>\n{chr(10).join(lines)}</ModelVariables><ModelStructure>{structure}</ModelStructure>"
        "</fmiModelDescription>"
    )


def packed(files: Mapping[str, str | bytes]) -> bytes:
    """A zip."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


def package(
    folder: Path, structure: str, fmus: Mapping[str, str], files: Mapping[str, str | bytes] | None = None
) -> Archive:
    """An unpacked SSP: `fmus` by name, other files by path."""
    resources = folder / "resources"
    resources.mkdir(parents=True, exist_ok=True)
    (folder / "SystemStructure.ssd").write_text(structure, encoding="utf-8")
    for name, text in fmus.items():
        with zipfile.ZipFile(resources / f"{name}.fmu", "w") as archive:
            archive.writestr("modelDescription.xml", text)
    for name, text in (files or {}).items():
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return Archive.open(folder)


def flat(archive: Archive, **options: object) -> Network:
    return build_network(archive, archive.structure(), **options)


def wires(network: Network) -> dict[str, tuple[float, float]]:
    """`"A.y -> B.u"` → (factor, offset)."""
    return {
        f"{wire.source} -> {wire.destination}": (wire.conversion.factor, wire.conversion.offset)
        for wire in network.wires
    }


def values(network: Network) -> dict[str, object]:
    return {str(signal): assignment.value for signal, assignment in network.assignments.items()}
