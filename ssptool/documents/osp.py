"""Systems of the Open Simulation Platform: an OspSystemStructure.xml (OSP-IS) read as a system structure of SSP.

Simulators and sums become components; connections of variables, of variable groups and through linear transformations
become connections; initial values become parameter bindings. Times, step sizes, algorithm and power bonds stay
annotations of the platform. Variable groups come from the files `NAME_OspModelDescription.xml`. Elements of the
generated structure have the lines of their sources.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from lxml import etree

from ssptool.confinement import is_outside, require_inside
from ssptool.documents.diagnostics import Diagnostic, InvalidDocument, Position, error
from ssptool.documents.document import Document
from ssptool.documents.foreign_files import links_below, read_bytes
from ssptool.documents.generated import OSP_STRUCTURE, GeneratedEntries, fmu_facts
from ssptool.documents.outside import around, below, of_the_kernel, refused
from ssptool.documents.sums import MOST as MOST_TERMS
from ssptool.documents.sums import Sum
from ssptool.documents.vocabulary import SSC, SSD, SSV
from ssptool.documents.xml_text import quoted
from ssptool.errors import counted
from ssptool.working_directory import real

OSP = "http://opensimulationplatform.com/SSP/OSPAnnotations"
_MODEL = "OspModelDescription.xml"
_TYPES = {"Real": "Float64", "Integer": "Int32", "Boolean": "Boolean", "String": "String"}
_PARTS = ("StartTime", "EndTime", "BaseStepSize", "Algorithm", "Simulators", "Functions", "Connections")
_ECCO = "EccoConfiguration"


@dataclass(frozen=True, slots=True)
class OspEndpoint:
    """A variable of a simulator."""

    simulator: str
    variable: str


@dataclass(frozen=True, slots=True)
class OspConnection:
    """A generated connection: from an output to an input, with factor and offset of a function."""

    start: OspEndpoint
    end: OspEndpoint
    line: int
    transformation: tuple[str, str] | None = None
    bond: str = ""


class VariableGroup(NamedTuple):
    """A variable group: its kind (the name of its element), variables, and the groups inside it."""

    kind: str
    variables: tuple[str, ...]
    groups: tuple["VariableGroup", ...]


def system_of_osp(path: Path, allowed: Sequence[Path] = ()) -> GeneratedEntries:
    """The system at `path`, a file or the folder around it, with its FMUs.

    The FMUs must lie in its folder, the working folder, the repository around it, or the folders `allowed`.

    Raises
    ------
    InvalidDocument
        The file is not XML (XML-001, -002, -011), or not an OspSystemStructure (XML-003). Features without counterpart
        in SSP (OSP-101) are `problems` of the entries instead.
    """
    file = path / OSP_STRUCTURE if path.is_dir() else path
    require_inside(file)
    source = read_bytes(file)
    reader = _OspReader(file, Document(file.name, source), [*map(real, (*around(file.parent), *allowed))])
    structure, lines = reader.structure()
    made = {file.name: source, **reader.made}
    documents = {file.name: Document(file.name, structure, lines)}
    return GeneratedEntries(made, reader.files, documents, tuple(reader.notes), reader.stated, reader.problems)


class _OspReader:
    """Reader of one OspSystemStructure.

    `problems` are features without counterpart, `files` the FMUs by entry, `made` the generated FMUs of sums, and
    `stated` the paths of all FMUs in the file.
    """

    def __init__(self, file: Path, document: Document, folders: Sequence[str]) -> None:
        self.file, self.document, self.root = file, document, document.root
        self._folders = folders
        self.problems: list[Diagnostic] = []
        self.files: dict[str, Path] = {}
        self.stated: dict[str, str] = {}
        self._places: dict[str, Path] = {}
        self.notes: list[str] = []
        if _name(self.root) != "OspSystemStructure":
            position = Position(file.name, document.line_of(self.root))
            message = f"the root element is {_name(self.root)}, not OspSystemStructure"
            raise InvalidDocument(error("XML-003", position, message, "choose an .ssp, .ssd or .fmu file or a folder"))
        self.simulators = {node.get("name", ""): node for node in self._all("Simulators")}
        self.sources = {name: self._source(node) for name, node in self.simulators.items()}
        facts = {name: fmu_facts(self._fmu(name)) for name in self.simulators}
        self.models = {name: model for name, (model, _) in facts.items()}
        self.causalities = {name: signals for name, (_, signals) in facts.items()}
        self.functions: dict[str, etree._Element] = {}
        self.sums: dict[str, Sum] = {}
        self.made: dict[str, bytes] = {}
        self._read_functions()
        self._check_names()

    def structure(self) -> tuple[bytes, tuple[int, ...]]:
        """The SSD, and the line of each of its elements."""
        links = tuple(self._links())
        made = _XmlText()
        name = self.file.resolve().parent.name if self.file.name == OSP_STRUCTURE else self.file.stem
        spaces = f'xmlns:ssd="{SSD}" xmlns:ssc="{SSC}" xmlns:ssv="{SSV}" xmlns:osp="{OSP}"'
        line = self.document.line_of(self.root)
        made.start("ssd:SystemStructureDescription", line, {"version": "2.0", "name": name}, spaces)
        made.start("ssd:System", line, {"name": name})
        if self.simulators or self.sums:
            made.start("ssd:Elements", line)
            for simulator, node in self.simulators.items():
                self._component(made, simulator, node, links)
            for name, one in self.sums.items():
                self._sum(made, name, one)
            made.end()
        if links:
            made.start("ssd:Connections", links[0].line)
            for link in links:
                _connection(made, link)
            made.end()
        made.end()
        self._experiment(made)
        made.end()
        return made.bytes(), tuple(made.lines)

    # -- simulators -------------------------------------------------------------------------------------------------

    def _component(self, made: "_XmlText", name: str, node: etree._Element, links: tuple[OspConnection, ...]) -> None:
        line = self.document.line_of(node)
        source = self.sources[name]
        stated = {"name": name, "type": "application/x-fmu-sharedlibrary", "source": source}
        made.start("ssd:Component", line, stated)
        if connectors := self._connectors(name, links):
            made.start("ssd:Connectors", line)
            for variable, kind in connectors.items():
                made.empty("ssd:Connector", line, {"name": variable, "kind": kind})
            made.end()
        if values := [value for part in node if _name(part) == "InitialValues" for value in part if _name(value)]:
            self._values(made, name, values)
        if step := node.get("stepSize"):
            _annotation(made, line, "osp:StepSizeHint", {"value": step})
        made.end()

    def _connectors(self, name: str, links: tuple[OspConnection, ...]) -> dict[str, str]:
        """Connectors of the FMU; for a missing FMU the connected ones."""
        if found := self.causalities[name]:
            return found
        for link in links:
            for end, kind in ((link.start, "output"), (link.end, "input")):
                if end.simulator == name:
                    found.setdefault(end.variable, kind)
        return found

    def _values(self, made: "_XmlText", name: str, values: list[etree._Element]) -> None:
        first = self.document.line_of(values[0])
        made.start("ssd:ParameterBindings", first)
        made.start("ssd:ParameterBinding", first)
        made.start("ssd:ParameterValues", first)
        made.start("ssv:ParameterSet", first, {"version": "2.0", "name": f"initial values of {name}"})
        made.start("ssv:Parameters", first)
        for value in values:
            typed = next((child for child in value if _name(child)), None)
            kind = "" if typed is None else _name(typed)
            if typed is None or kind not in _TYPES:
                self._refuse(value, f"the initial value of {value.get('variable')!r} has the type {kind or 'none'}")
                continue
            made.start("ssv:Parameter", self.document.line_of(value), {"name": value.get("variable", "")})
            made.empty(f"ssv:{_TYPES[kind]}", self.document.line_of(typed), {"value": typed.get("value", "")})
            made.end()
        for _ in range(5):
            made.end()

    def _source(self, node: etree._Element) -> str:
        """URI of the FMU in the generated structure, independent of the location of the file."""
        source = node.get("source", "")
        if "://" in source and not source.startswith("file://"):
            return source  # rules report unreachable files
        stated = unquote(source.removeprefix("file://"))
        entry = f"resources/{Path(stated).name}"
        place = self.file.parent / stated
        outside = is_outside(place) or any(map(is_outside, links_below(place)))
        if not outside and place.exists() and not self._may_read(place):
            self._report(node, *refused(source, place))
            outside = True
        number = 1
        while self._places.get(entry, place) != place:
            number += 1
            entry = f"resources/{Path(stated).stem}_{number}{Path(stated).suffix}"
        self._places[entry] = place
        self.stated.setdefault(entry, stated)
        if not outside and place.exists():
            self.files[entry] = place
        return quote(entry)

    def _may_read(self, place: Path) -> bool:
        found = [real(one) for one in (place, *links_below(place))]
        return all(below(one, self._folders) and not of_the_kernel(one) for one in found)

    def _fmu(self, name: str) -> Path | None:
        return self.files.get(unquote(self.sources[name]))

    # -- connections ------------------------------------------------------------------------------------------------

    def _read_functions(self) -> None:
        for node in self._all("Functions"):
            kind, name = _name(node), node.get("name", "")
            if name in self.simulators or name in self.functions:
                self._report(node, f"a second simulator or function has the name {name!r}", "rename one of them")
            elif kind in ("Sum", "VectorSum"):
                self._read_sum(node, kind, name)
            elif kind != "LinearTransformation":
                self._refuse(node, f"the function {kind} {name!r}")
            self.functions[name] = node

    def _read_sum(self, node: etree._Element, kind: str, name: str) -> None:
        sizes = []
        for attribute in ("inputCount", "dimension")[: 1 if kind == "Sum" else 2]:
            stated = node.get(attribute, "").strip()
            if not (stated.isdecimal() and 1 <= int(stated) <= MOST_TERMS):
                message = f"{attribute} of the {kind} {name!r} is {stated or 'missing'}"
                self._report(node, message, f"state a number from 1 to {MOST_TERMS}")
                return
            sizes.append(int(stated))
        self.sums[name] = one = Sum(*sizes)
        try:
            if _entry(one) not in self.made:
                self.made[_entry(one)] = one.fmu()
        except FileNotFoundError:
            advice = "install ssptool where there is a C compiler, or from a wheel"
            self._report(node, f"the {kind} {name!r} needs a library that this installation does not have", advice)

    def _sum(self, made: "_XmlText", name: str, one: Sum) -> None:
        line = self.document.line_of(self.functions[name])
        stated = {"name": name, "type": "application/x-fmu-sharedlibrary", "source": quote(_entry(one))}
        made.start("ssd:Component", line, stated)
        made.start("ssd:Connectors", line)
        for signal, variables in one.signals.items():
            for variable in variables:
                kind = "output" if signal == "out" else "input"
                made.empty("ssd:Connector", line, {"name": variable, "kind": kind})
        made.end()
        made.end()

    def _links(self) -> Iterator[OspConnection]:
        into: dict[str, OspEndpoint] = {}
        out: list[tuple[str, OspEndpoint, int]] = []
        summed = set[tuple[str, str]]()
        for node in self._all("Connections"):
            kind, ends = _name(node), [child for child in node if _name(child)]
            tags = sorted(map(_name, ends))
            if kind == "VariableConnection" and len(ends) == 2:
                yield self._link(_end(ends[0]), _end(ends[1]), node)
            elif kind == "VariableGroupConnection" and len(ends) == 2:
                yield from self._of_groups(ends[0], ends[1], node)
            elif (kind, tags) in (
                ("SignalConnection", ["Signal", "Variable"]),
                ("SignalGroupConnection", ["SignalGroup", "VariableGroup"]),
            ):
                signal, variable = sorted(ends, key=_name)
                function = signal.get("function", "")
                if function not in self.functions:
                    self._report(node, f"there is no function {function!r}", "correct the name")
                elif function in self.sums:
                    summed.add((function, signal.get("name", "")))
                    yield from self._with_sum(signal, variable, node)
                elif signal.get("name") == "in":
                    into[function] = self._known(_end(variable), node)
                else:
                    out.append((function, self._known(_end(variable), node), self.document.line_of(node)))
            else:
                self._refuse(node, f"the connection {kind} of {len(ends)} ends ({', '.join(map(_name, ends))})")
        yield from self._through(into, out)
        self._check_sums(summed)

    def _with_sum(
        self, signal: etree._Element, variable: etree._Element, node: etree._Element
    ) -> Iterator[OspConnection]:
        """The connections of one term, or of the result, of a sum; of a vector, element by element."""
        name, stated = signal.get("function", ""), signal.get("name", "")
        one, end = self.sums[name], self._known(_end(variable), node)
        of_vectors = _name(self.functions[name]) == "VectorSum"
        if of_vectors != (_name(signal) == "SignalGroup") or stated not in one.signals:
            message = f"{_name(self.functions[name])} {name!r} has no {_name(signal)} {stated!r}"
            known = f"its {'signal groups' if of_vectors else 'signals'} are {', '.join(one.signals)}"
            self._report(node, message, known)
            return
        theirs: tuple[str, ...] = (end.variable,)
        if of_vectors:
            group = self._group(variable) if end.simulator in self.simulators else None
            if group is None:
                return
            theirs = tuple(_variables(group))
        if len(theirs) != len(one.outputs):
            message = f"the variable group {end.simulator}.{end.variable} has {counted(len(theirs), 'variable')}"
            self._report(node, f"{message}, and {name!r} sums vectors of {len(one.outputs)}", "correct the dimension")
            return
        for their, our in zip(theirs, one.signals[stated], strict=True):
            outside, own = OspEndpoint(end.simulator, their), OspEndpoint(name, our)
            start, target = (own, outside) if stated == "out" else (outside, own)
            yield OspConnection(start, target, self.document.line_of(node))

    def _check_sums(self, connected: set[tuple[str, str]]) -> None:
        """Report terms without a connection, which would silently count as 0."""
        for name, one in self.sums.items():
            for signal in one.signals:
                if signal != "out" and (name, signal) not in connected:
                    node = self.functions[name]
                    message = f"{signal} of the {_name(node)} {name!r} is not connected"
                    self._report(node, message, "connect it, or reduce inputCount")

    def _through(
        self, into: Mapping[str, OspEndpoint], out: list[tuple[str, OspEndpoint, int]]
    ) -> Iterator[OspConnection]:
        """Connections through linear transformations."""
        transformations = {name: node for name, node in self.functions.items() if _name(node) == "LinearTransformation"}
        for function, end, line in out:
            if function in into and function in transformations:
                node = transformations[function]
                yield OspConnection(into[function], end, line, (node.get("factor", "1"), node.get("offset", "0")))
        for name, node in transformations.items():
            if name not in into or name not in {function for function, _, _ in out}:
                message = f"the function LinearTransformation {name!r} is not connected on both sides"
                self._report(node, message, "connect its signals in and out, or remove it")

    def _link(self, first: OspEndpoint, second: OspEndpoint, node: etree._Element) -> OspConnection:
        """A connection from output to input, according to the causalities in the FMUs; if these are unknown, from the
        first to the second.
        """
        for end in (first, second):
            self._known(end, node)
        turned = (
            self.causalities.get(first.simulator, {}).get(first.variable) == "input"
            or self.causalities.get(second.simulator, {}).get(second.variable) == "output"
        )
        start, end = (second, first) if turned else (first, second)
        return OspConnection(start, end, self.document.line_of(node), bond=node.get("powerBond", ""))

    def _known(self, end: OspEndpoint, node: etree._Element) -> OspEndpoint:
        if end.simulator not in self.simulators:
            known = ", ".join(self.simulators)
            self._report(node, f"there is no simulator {end.simulator!r}", f"the simulators are {known}")
        return end

    def _of_groups(
        self, first: etree._Element, second: etree._Element, node: etree._Element
    ) -> Iterator[OspConnection]:
        ends = [_end(each) for each in (first, second)]
        for end in ends:
            self._known(end, node)
        if any(end.simulator not in self.simulators for end in ends):
            return
        groups = [self._group(each) for each in (first, second)]
        if groups[0] is None or groups[1] is None:
            return
        one, other = (each.get("simulator", "") for each in (first, second))
        pairs = list(_paired(groups[0], groups[1]))
        if not all(a and b for a, b in pairs):
            names = " and ".join(f"{each.get('simulator')}.{each.get('name')}" for each in (first, second))
            message = f"the variable groups {names} are connected, but have different numbers of variables"
            self._report(node, message, "connect their variables one by one (VariableConnection)")
            return
        links = [self._link(OspEndpoint(one, a or ""), OspEndpoint(other, b or ""), node) for a, b in pairs]
        position = f"{self.file.name}:{self.document.line_of(node)}"
        made = counted(len(links), "connection")
        self.notes.append(f"{position}: the connected variable groups become {made} of variables")
        there = [link for link in links if link.start.simulator == one]
        back = [link for link in links if link.start.simulator != one]
        # Effort in one direction, flow in the other: these elements are power bonds.
        bonds = len(there) == len(back) and groups[0].kind.endswith("Port")
        for several in (there, back):
            for number, link in enumerate(several, 1):
                name = f"{first.get('simulator')} {first.get('name')} {second.get('simulator')} {number}"
                yield OspConnection(link.start, link.end, link.line, bond=name if bonds else "")

    def _group(self, node: etree._Element) -> VariableGroup | None:
        simulator, name = node.get("simulator", ""), node.get("name", "")
        file = self._model_description(simulator)
        if file is None:
            message = f"the variable group {name!r} of {simulator!r} is not known: there is no {simulator}_{_MODEL}"
            self._report(node, message, "put that file beside the structure or the FMU")
            return None
        if not self._may_read(file):
            self._report(node, *refused(file.name, file))
            return None
        groups = Document(file.name, read_bytes(file)).root.iter("{*}VariableGroups")
        for each in next(groups, etree.Element("none")):
            if each.get("name") == name and _name(each):
                return _read_group(each)
        self._report(node, f"{file.name} defines no variable group {name!r}", "correct the name")
        return None

    def _model_description(self, simulator: str) -> Path | None:
        """File named after the model, the FMU or the simulator, next to the structure or the FMU, regardless of
        case.
        """
        fmu = self._fmu(simulator)
        source = self.simulators[simulator].get("source", "") if simulator in self.simulators else ""
        stated = Path(unquote(source.rpartition("file=")[2]))  # proxyfmu://host?file=x.fmu
        names = (self.models.get(simulator, ""), stated.stem, simulator)
        wanted = [f"{name}_{_MODEL}".lower() for name in names if name]
        folders = (self.file.parent, *(() if fmu is None else (fmu.parent,)), self.file.parent / stated.parent)
        for folder in folders:
            found = [] if is_outside(folder) else sorted(folder.glob(f"*{_MODEL}"))
            files = {file.name.lower(): file for file in found if not is_outside(file)}
            for name in wanted:
                if name in files:
                    return Path(files[name])
        return None

    # -- times and the algorithm ------------------------------------------------------------------------------------

    def _experiment(self, made: "_XmlText") -> None:
        parts = {_name(node): node for node in self.root if _name(node)}
        times = {"startTime": parts.get("StartTime"), "stopTime": parts.get("EndTime")}
        stated = {name: (node.text or "").strip() for name, node in times.items() if node is not None}
        first = next((parts[name] for name in ("EndTime", "StartTime", "BaseStepSize") if name in parts), self.root)
        made.start("ssd:DefaultExperiment", self.document.line_of(first), stated)
        algorithm, base = parts.get("Algorithm"), parts.get("BaseStepSize")
        named = "fixedStep" if algorithm is None else (algorithm.text or "").strip()
        step = {} if base is None else {"baseStepSize": (base.text or "").strip()}
        if named not in ("fixedStep", "ecco"):
            self._refuse(self.root if algorithm is None else algorithm, f"the algorithm {named!r}")
        if named == "ecco" or base is not None:
            where = self.root if base is None else base
            if named == "ecco" and _ECCO in parts:
                options = {_name(each): (each.text or "").strip() for each in parts[_ECCO] if _name(each)}
                step |= {name[0].lower() + name[1:]: text for name, text in options.items()}
            tag = "osp:EccoAlgorithm" if named == "ecco" else "osp:FixedStepAlgorithm"
            _annotation(made, self.document.line_of(where), tag, step, inside="osp:Algorithm")
        made.end()

    # -- errors -----------------------------------------------------------------------------------------------------

    def _all(self, part: str) -> Iterator[etree._Element]:
        for node in self.root:
            if _name(node) == part:
                yield from (each for each in node if _name(each))

    def _check_names(self) -> None:
        for node in self.root:
            if _name(node) and _name(node) not in (*_PARTS, _ECCO):
                self._refuse(node, f"the element {_name(node)}")
        seen = set()
        for node in self._all("Simulators"):
            if node.get("name") in seen:
                self._report(node, f"a second simulator has the name {node.get('name')!r}", "rename one of them")
            seen.add(node.get("name"))
            if _name(node) != "Simulator":
                self._refuse(node, f"the element {_name(node)}")
            for each in node:
                if _name(each) not in ("", "InitialValues"):
                    self._refuse(each, f"the element {_name(each)} of {node.get('name')}")

    def _refuse(self, node: etree._Element, what: str) -> None:
        advice = "connect the variables without it, or run the system in a tool of the platform"
        self._report(node, f"{what} has no counterpart in SSP", advice)

    def _report(self, node: etree._Element, message: str, advice: str) -> None:
        position = Position(self.file.name, self.document.line_of(node))
        self.problems.append(error("OSP-101", position, message, advice))


class _XmlText:
    """XML text under construction, with the source line of each element."""

    def __init__(self) -> None:
        self.lines: list[int] = []
        self._parts = ['<?xml version="1.0" encoding="UTF-8"?>\n']
        self._open: list[str] = []

    def start(self, tag: str, line: int, attributes: Mapping[str, str] | None = None, more: str = "") -> None:
        self._write(tag, line, attributes or {}, more, ">")
        self._open.append(tag)

    def empty(self, tag: str, line: int, attributes: Mapping[str, str]) -> None:
        self._write(tag, line, attributes, "", "/>")

    def end(self) -> None:
        tag = self._open.pop()
        self._parts.append(f"{'  ' * len(self._open)}</{tag}>\n")

    def bytes(self) -> bytes:
        return "".join(self._parts).encode()

    def _write(self, tag: str, line: int, attributes: Mapping[str, str], more: str, closing: str) -> None:
        stated = "".join(f" {name}={quoted(value)}" for name, value in attributes.items())
        self._parts.append(f"{'  ' * len(self._open)}<{tag}{' ' + more if more else ''}{stated}{closing}\n")
        self.lines.append(line)


def _connection(made: _XmlText, link: OspConnection) -> None:
    stated = {
        "startElement": link.start.simulator,
        "startConnector": link.start.variable,
        "endElement": link.end.simulator,
        "endConnector": link.end.variable,
    }
    if link.transformation is None and not link.bond:
        made.empty("ssd:Connection", link.line, stated)
        return
    made.start("ssd:Connection", link.line, stated)
    if link.transformation is not None:
        factor, offset = link.transformation
        made.empty("ssc:LinearTransformation", link.line, {"factor": factor, "offset": offset})
    if link.bond:
        _annotation(made, link.line, "osp:PowerBond", {"name": link.bond})
    made.end()


def _annotation(made: _XmlText, line: int, tag: str, attributes: Mapping[str, str], inside: str = "") -> None:
    made.start("ssd:Annotations", line)
    made.start("ssc:Annotation", line, {"type": "com.opensimulationplatform"})
    if inside:
        made.start(inside, line)
    made.empty(tag, line, attributes)
    for _ in range(3 if inside else 2):
        made.end()


def _name(node: etree._Element) -> str:
    """Name of an element without its namespace; empty for comments."""
    return etree.QName(node).localname if isinstance(node.tag, str) else ""


def _entry(one: Sum) -> str:
    """Entry of the FMU of a sum, at a path that an FMU of the system cannot have."""
    return f"resources/sums/{one.name}.fmu"


def _variables(group: VariableGroup) -> Iterator[str]:
    yield from group.variables
    for inner in group.groups:
        yield from _variables(inner)


def _end(node: etree._Element) -> OspEndpoint:
    return OspEndpoint(node.get("simulator", ""), node.get("name", ""))


def _read_group(node: etree._Element) -> VariableGroup:
    inside = [each for each in node if _name(each)]
    variables = tuple(each.get("ref", "") for each in inside if _name(each) == "Variable")
    groups = tuple(_read_group(each) for each in inside if _name(each) != "Variable")
    return VariableGroup(_name(node), variables, groups)


def _paired(first: VariableGroup, second: VariableGroup) -> Iterator[tuple[str | None, str | None]]:
    """Pairs of variables by order, and of inner groups by kind and order; None if the numbers differ."""
    yield from zip_longest(first.variables, second.variables)
    for one, other in zip_longest(_ordered(first), _ordered(second), fillvalue=VariableGroup("", (), ())):
        yield from _paired(one, other)


def _ordered(group: VariableGroup) -> list[VariableGroup]:
    return sorted(group.groups, key=lambda each: each.kind)
