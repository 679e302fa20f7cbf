"""FMUs with arrays, and systems of them."""

import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import fmpy
from fmpy.fmi3 import FMU3Model, FMU3Slave

from tests.fmu.building import PLATFORM, build_model

HERE = Path(__file__).parent
_SSP = "http://ssp-standard.org/SSP1/"
TYPES = (
    *("Float64", "Float32", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64"),
    *("Boolean", "String"),
)


def build(folder: Path) -> None:
    """The libraries of state_space.c and reversed.c; functions of FMI that they do not have return an error."""
    for name in ("state_space", "reversed"):
        build_model(folder / f"{name}.so", HERE / f"{name}.c", FMU3Model, FMU3Slave)


def pack(fmu: Path, description: str, library: Path | None = None) -> Path:
    """An FMU with this description; without a library it can be looked at only."""
    with zipfile.ZipFile(fmu, "w") as archive:
        archive.writestr("modelDescription.xml", description)
        if library is not None:
            name = f"binaries/{PLATFORM[3]}/{library.stem}{fmpy.sharedLibraryExtension}"
            archive.writestr(name, library.read_bytes())
    return fmu


def state_space(
    n: int,
    m: int,
    p: int,
    *,
    sized: bool = False,
    feedthrough: bool = False,
    directional: bool = True,
    x0: str = "1",
    follows: bool = False,
) -> str:
    """The model description of state_space.c, with fixed sizes or structural parameters of these start values."""
    flags = 'canGetAndSetFMUState="true" canSerializeFMUState="true" canHandleVariableCommunicationStepSize="true" '
    flags += f'providesDirectionalDerivatives="{"true" if directional else "false"}"'
    exchange = flags.replace('canHandleVariableCommunicationStepSize="true" ', "")
    if follows:
        flags += ' providesIntermediateUpdate="true"'
    kind = "sized" if sized else "fixed"
    return (
        f'<fmiModelDescription fmiVersion="3.0" modelName="StateSpace" instantiationToken="{{{kind} {n} {m} {p}}}">'
        f'<ModelExchange modelIdentifier="state_space" {exchange}/>'
        f'<CoSimulation modelIdentifier="state_space" {flags}/>'
        f"<ModelVariables>{_state_space_variables({1: n, 2: m, 3: p}, sized, x0, follows)}</ModelVariables>"
        f"<ModelStructure>{_state_space_structure(n > 0, feedthrough)}</ModelStructure></fmiModelDescription>"
    )


def _state_space_variables(extents: Mapping[int, int], sized: bool, x0: str, follows: bool) -> str:
    """`extents` are n, m and p by their value references."""
    n = extents[1]
    structure = {"A": (1, 1), "B": (1, 2), "C": (3, 1), "D": (3, 2), "x0": (1,)}
    starts = {"A": " ".join("-1" if i == j else "0" for i in range(n) for j in range(n)), "B": "1", "C": "1", "D": "0"}
    starts["x0"] = x0
    references = {"A": 10, "B": 11, "C": 12, "D": 13, "x0": 14, "u": 20, "y": 21, "x": 22, "der(x)": 23}

    def row(name: str, dimensions: Sequence[int], facts: str) -> str:
        if not sized and not all(extents[one] for one in dimensions):
            return ""
        sides = "".join(
            f'<Dimension valueReference="{one}"/>' if sized else f'<Dimension start="{extents[one]}"/>'
            for one in dimensions
        )
        return f'<Float64 name="{name}" valueReference="{references[name]}" {facts}>{sides}</Float64>'

    rows = ['<Float64 name="time" valueReference="0" causality="independent" variability="continuous"/>']
    if sized:
        rows += [
            f'<UInt64 name="{name}" valueReference="{reference}" causality="structuralParameter" variability="fixed" '
            f'start="{extents[reference]}"/>'
            for name, reference in (("n", 1), ("m", 2), ("p", 3))
        ]
    rows += [
        row(name, dimensions, f'causality="parameter" variability="fixed" initial="exact" start="{starts[name]}"')
        for name, dimensions in structure.items()
    ]
    asks = ' intermediateUpdate="true"' if follows else ""
    rows.append(row("u", (2,), f'causality="input" variability="continuous" start="0"{asks}'))
    rows.append(row("y", (3,), 'causality="output" variability="continuous" initial="calculated"'))
    rows.append(row("x", (1,), 'causality="local" variability="continuous" initial="calculated"'))
    rows.append(row("der(x)", (1,), 'causality="local" variability="continuous" initial="calculated" derivative="22"'))
    return "".join(rows)


def _state_space_structure(states: bool, feedthrough: bool) -> str:
    needs = " ".join(map(str, [20] * feedthrough + [22] * states))
    initial = " ".join(map(str, [20] * feedthrough + [14] * states))
    rows = f'<Output valueReference="21" dependencies="{needs}"/>'
    rows += '<ContinuousStateDerivative valueReference="23" dependencies="20 22"/>' * states
    rows += f'<InitialUnknown valueReference="21" dependencies="{initial}"/>'
    if states:
        rows += '<InitialUnknown valueReference="22" dependencies="14"/>'
        rows += '<InitialUnknown valueReference="23" dependencies="14 20"/>'
    return rows


def reversed_arrays() -> str:
    """The model description of reversed.c."""
    rows, outputs = "", ""
    for number, kind in enumerate(TYPES):
        variability = "continuous" if kind.startswith("Float") else "discrete"
        start = {"Boolean": "false", "String": ""}.get(kind, "0")
        given = "" if kind == "String" else f' start="{start}"'
        texts = '<Start value=""/>' * 3 if kind == "String" else ""
        facts = f'name="{kind}_u" valueReference="{10 * number}" causality="input" variability="{variability}"{given}'
        rows += f'<{kind} {facts}><Dimension start="3"/>{texts}</{kind}>'
        facts = f'name="{kind}_y" valueReference="{10 * number + 1}" causality="output" variability="{variability}"'
        rows += f'<{kind} {facts}><Dimension start="3"/></{kind}>'
        outputs += f'<Output valueReference="{10 * number + 1}" dependencies="{10 * number}"/>'
    initial = outputs.replace("<Output ", "<InitialUnknown ")
    return (
        '<fmiModelDescription fmiVersion="3.0" modelName="Reversed" instantiationToken="{reversed}">'
        f'<CoSimulation modelIdentifier="reversed"/><ModelVariables>{rows}'
        '<Float64 name="time" valueReference="9999" causality="independent" variability="continuous"/>'
        f"</ModelVariables><ModelStructure>{outputs}{initial}</ModelStructure></fmiModelDescription>"
    )


def connector(name: str, kind: str, *extents: int | str | None, type: str = "Float64", unit: str = "") -> str:
    """Of a component or system; an extent is a size, the name of a connector, or None if it is left open."""
    sides = ""
    for extent in extents:
        size = f' size="{extent}"' if isinstance(extent, int) else f' sizeConnector="{extent}"'
        sides += f"<ssc:Dimension{'' if extent is None else size}/>"
    stated = f' unit="{unit}"' if unit else ""
    return f'<ssd:Connector name="{name}" kind="{kind}"><ssc:{type}{stated}/>{sides}</ssd:Connector>'


def component(name: str, source: str, connectors: Iterable[str], implementation: str = "CoSimulation") -> str:
    return (
        f'<ssd:Component name="{name}" source="{source}" type="application/x-fmu-sharedlibrary" '
        f'implementation="{implementation}">{_list("Connectors", connectors)}</ssd:Component>'
    )


def subsystem(name: str, connectors: Iterable[str], elements: Iterable[str], connections: Iterable[str]) -> str:
    return (
        f'<ssd:System name="{name}">{_list("Connectors", connectors)}{_list("Elements", elements)}'
        f"{_list('Connections', map(_connection, connections))}</ssd:System>"
    )


def values(name: str, numbers: Sequence[object], *extents: int, type: str = "Float64", unit: str = "") -> str:
    """A parameter of a parameter set."""
    sides = "".join(f'<ssc:Dimension size="{extent}"/>' for extent in extents)
    stated = f' unit="{unit}"' if unit else ""
    if type == "String":
        inside = "".join(f'<ssv:Value value="{each}"/>' for each in numbers)
        return f'<ssv:Parameter name="{name}"><ssv:String>{inside}</ssv:String>{sides}</ssv:Parameter>'
    text = " ".join(str(each).lower() if isinstance(each, bool) else str(each) for each in numbers)
    return f'<ssv:Parameter name="{name}"><ssv:{type} value="{text}"{stated}/>{sides}</ssv:Parameter>'


def write_system(
    folder: Path,
    elements: Iterable[str],
    connections: Iterable[str] = (),
    parameters: str = "",
    connectors: Iterable[str] = (),
    stop: float = 1.0,
    mapping: str = "",
    dictionaries: str = "",
) -> Path:
    """An unpacked package; connections as "A.y -> B.u" or "A.y[1] -> B.u[2]", or with XML behind `|`.

    `mapping` are the entries of a mapping of the parameters, `dictionaries` elements ssd:SignalDictionary.
    """
    folder.mkdir(exist_ok=True)
    entries = f'<ssm:ParameterMapping version="2.0">{mapping}</ssm:ParameterMapping>'
    mapped = f"<ssd:ParameterMapping>{entries}</ssd:ParameterMapping>" if mapping else ""
    bindings = (
        "<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues>"
        f'<ssv:ParameterSet version="2.0" name="p"><ssv:Parameters>{parameters}</ssv:Parameters>'
        '<ssv:Units><ssc:Unit name="mm"><ssc:BaseUnit m="1" factor="0.001"/></ssc:Unit></ssv:Units>'
        f"</ssv:ParameterSet></ssd:ParameterValues>{mapped}</ssd:ParameterBinding></ssd:ParameterBindings>"
        if parameters
        else ""
    )
    (folder / "SystemStructure.ssd").write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n<ssd:SystemStructureDescription '
        f'xmlns:ssd="{_SSP}SystemStructureDescription" xmlns:ssc="{_SSP}SystemStructureCommon" '
        f'xmlns:ssv="{_SSP}SystemStructureParameterValues" xmlns:ssm="{_SSP}SystemStructureParameterMapping" '
        f'xmlns:ssb="{_SSP}SystemStructureSignalDictionary" version="2.0" name="arrays"><ssd:System name="arrays">'
        f"{_list('Connectors', connectors)}{bindings}{_list('Elements', elements)}"
        f"{_list('Connections', map(_connection, connections))}"
        f"{_list('SignalDictionaries', [dictionaries])}</ssd:System>"
        '<ssd:Units><ssc:Unit name="m"><ssc:BaseUnit m="1"/></ssc:Unit><ssc:Unit name="mm">'
        '<ssc:BaseUnit m="1" factor="0.001"/></ssc:Unit></ssd:Units>'
        f'<ssd:DefaultExperiment startTime="0" stopTime="{stop}"/></ssd:SystemStructureDescription>',
        encoding="utf-8",
    )
    return folder


def write_packed_system(
    folder: Path, libraries: Path, fmus: Mapping[str, str], *arguments: Any, **options: Any
) -> Path:
    """A system of FMUs (name → model description), each with the one of the `libraries` that it needs; the other
    arguments are those of `write_system`.
    """
    folder.mkdir()
    for name, description in fmus.items():
        library = "reversed" if "Reversed" in description else "state_space"
        pack(folder / f"{name}.fmu", description, libraries / f"{library}.so")
    return write_system(folder, *arguments, **options)


def _list(name: str, items: Iterable[str]) -> str:
    content = "".join(items)
    return f"<ssd:{name}>{content}</ssd:{name}>" if content else ""


def _connection(text: str) -> str:
    ends, _, more = text.partition("|")
    parts = []
    for side, end in zip(("start", "end"), ends.split("->"), strict=True):
        owner, _, name = end.strip().rpartition(".")
        name, _, index = name.partition("[")
        parts.append(f'{side}Element="{owner}"' if owner else "")
        parts.append(f'{side}Connector="{name}"')
        parts.append(f'{side}Indices="{index.rstrip("]").replace(",", " ")}"' if index else "")
    return f"<ssd:Connection {' '.join(parts)}>{more}</ssd:Connection>"
