"""Completion: elements and attributes that SSP allows, and names that documents and FMUs define."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from lsprotocol import types

from ssptool.documents import ssb, ssc, ssd, ssm, ssv
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.document import Document
from ssptool.documents.element import Element
from ssptool.documents.unfinished import TypingPlace, element_kinds, typing_place, without_tag
from ssptool.documents.vocabulary import (
    FMU,
    MODELICA,
    NSMAP,
    PACKAGE,
    PARAMETER_MAPPING,
    PARAMETER_SET,
    SIGNAL_DICTIONARY,
    SYSTEM_STRUCTURE,
    TABLE,
)
from ssptool.fmu.description import FmuDescription, Variable
from ssptool.language_server.meanings import LISTS, SINCE_2_0, WORDS_SINCE_2_0, word_meaning
from ssptool.language_server.navigation import described, detail_of
from ssptool.language_server.places import Places
from ssptool.language_server.snapshot import SystemSnapshot
from ssptool.language_server.systems import Buffers
from ssptool.network.connectors import settable
from ssptool.rules.kept import Kept
from ssptool.rules.links import connectable
from ssptool.rules.selection import InvalidSettings
from ssptool.rules.subjects import Structure, around, container

Kind = types.CompletionItemKind


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed text with a short remark; `snippet`, if not empty, is inserted instead of the text."""

    label: str
    kind: types.CompletionItemKind
    detail: str = ""
    documentation: str = ""
    snippet: str = ""


@dataclass(frozen=True, slots=True)
class Here:
    """Position of the cursor: the element around the tag, if the document can be read without the tag."""

    place: TypingPlace
    snapshot: SystemSnapshot | None = None
    document: Document | None = None
    parent: Element | None = None

    @property
    def structure(self) -> Structure | None:
        return None if self.snapshot is None or self.document is None else self.snapshot.structure_of(self.document)

    def stated(self, attribute: str) -> str:
        return "" if self.place.tag is None else self.place.tag.attributes.get(attribute, "")

    def above(self, kind: type[Element]) -> Element | None:
        """The nearest enclosing element of a kind."""
        if self.parent is None or isinstance(self.parent, kind):
            return self.parent
        return next(around(self.parent, kind), None)


def completions_in(
    system: Path, path: Path, buffers: Buffers, places: Places, offset: int, kept: Kept, *, snippets: bool
) -> list[types.CompletionItem]:
    """Completions at a position in a document of a system, also if its text is not well-formed there. `kept` are data
    of earlier completions.
    """
    place = typing_place(places.text, offset)
    if not place.around and place.tag is None and not _BEGUN.search(places.text[: place.begin] + places.text[offset:]):
        root = _root(path.suffix.lower().removeprefix("."))
        return [_item(root, 0, places.range(place.begin, offset), snippets=snippets)]
    needs_names = place.tag is not None and place.attribute != ""
    if not needs_names:
        return completions(Here(place), places, offset, snippets=snippets)
    with ExitStack() as opened:
        # First the text that stays the same while somebody types in this tag, so that it is read once.
        for text in dict.fromkeys((without_tag(places.text, place, offset), places.text)):
            try:
                snapshot = opened.enter_context(SystemSnapshot(system, {**buffers, path: text}, places.codec, kept))
            except (InvalidDocument, InvalidSettings, OSError):
                continue
            # In this order: the package uses kept documents, unless they have been read already.
            known, document = snapshot.package.structures, snapshot.document(path)
            if known and document and (structure := snapshot.structure_of(document)) and structure.file.valid:
                at = document.text.node_at(len(text[: place.begin].encode()))
                here = Here(place, snapshot, document, at if isinstance(at, Element) else None)
                return completions(here, places, offset, snippets=snippets)
        return completions(Here(place), places, offset, snippets=snippets)


def completions(here: Here, places: Places, offset: int, *, snippets: bool) -> list[types.CompletionItem]:
    """Completions at a position, as edits that replace what is already typed."""
    typed = places.range(offset - len(here.place.typed), offset)
    if not here.place.in_name and here.place.tag is None:
        typed = places.range(offset, offset)
    return [_item(one, number, typed, snippets=snippets) for number, one in enumerate(_proposals(here))]


def _item(one: Proposal, number: int, typed: types.Range, *, snippets: bool) -> types.CompletionItem:
    told = types.MarkupContent(types.MarkupKind.Markdown, one.documentation) if one.documentation else None
    return types.CompletionItem(
        one.label,
        kind=one.kind,
        detail=one.detail or None,
        documentation=told,
        text_edit=types.TextEdit(typed, one.snippet if one.snippet and snippets else one.label),
        insert_text_format=types.InsertTextFormat.Snippet if one.snippet and snippets else None,
        sort_text=f"{number:05}",
    )


_BEGUN = re.compile(r"<[\w]")
_ROOTS: Mapping[str, type[ssc.TopLevel]] = {
    "ssd": ssd.SystemStructureDescription,
    "ssv": ssv.ParameterSet,
    "ssm": ssm.ParameterMapping,
    "ssb": ssb.SignalDictionary,
}


_INSIDE = {
    "ssd": '<ssd:System name="$2">\n    $0\n  </ssd:System>',
    "ssv": "<ssv:Parameters>\n    $0\n  </ssv:Parameters>",
}


def _root(prefix: str) -> Proposal:
    """The root element of an empty document, with the namespaces and attributes that it needs."""
    kind = _ROOTS[prefix]
    name = f"{prefix}:{kind.local_name}"
    stated = "".join(f' xmlns:{one}="{NSMAP[one]}"' for one in (prefix, "ssc"))
    required = [one.name for one in kind.attributes().values() if one.required and one.name != "version"]
    own = "".join(f' {one}="${number}"' for number, one in enumerate(required, 1))
    inside = _INSIDE.get(prefix, "$0")
    text = f'<{name}{stated} version="1.0"{own}>\n  {inside}\n</{name}>\n'
    return Proposal(f"<{name}", Kind.Class, "", described(kind, ""), text)


def _proposals(here: Here) -> Iterator[Proposal]:
    place = here.place
    if place.closes:
        if place.around:
            yield Proposal(f"{place.around[-1].name}>", Kind.Class)
    elif place.tag is None:
        yield from _elements(place)
    elif (kind := place.kind(place.tag)) is None:
        return
    elif place.attribute:
        yield from _values(here, kind)
    else:
        for attribute in kind.attributes().values():
            if attribute.name not in place.tag.attributes and _is_known(place, attribute.name):
                told = described(kind, attribute.name)
                remark = "required" if attribute.required else ""
                yield Proposal(attribute.name, Kind.Property, remark, told, f'{attribute.name}="$1"')


def _is_known(place: TypingPlace, name: str) -> bool:
    """Whether the declared version of the document has an element or attribute."""
    return name not in SINCE_2_0 or not _is_old(place)


def _is_old(place: TypingPlace) -> bool:
    stated = (tag.attributes["version"] for tag in reversed(place.around) if "version" in tag.attributes)
    return next(stated, "") == "1.0"


def _elements(place: TypingPlace) -> Iterator[Proposal]:
    mark = "" if place.in_name else "<"
    for tag in place.allowed():
        if not _is_known(place, tag.rpartition("}")[2]):
            continue
        kind, name = element_kinds().get(tag), place.written(tag)
        required = [] if kind is None else [one.name for one in kind.attributes().values() if one.required]
        stated = "".join(f' {one}="${number}"' for number, one in enumerate(required, 1))
        end = "/>" if kind is not None and not kind.slots else f">$0</{name}>"
        told = LISTS.get(name.rpartition(":")[2], "") if kind is None else described(kind, "")
        yield Proposal(mark + name, Kind.Class, "", told, f"{mark}{name}{stated}{end}")


def _values(here: Here, kind: type[Element]) -> Iterator[Proposal]:
    attribute = here.place.attribute
    declared = next((one for one in kind.attributes().values() if one.name == attribute), None)
    if declared is not None and declared.converter.choices:
        for word in declared.converter.choices:
            if _is_old(here.place) and f"{attribute} {word}" in WORDS_SINCE_2_0:
                continue
            yield Proposal(word, Kind.EnumMember, "", word_meaning(attribute, word) or described(kind, attribute))
    elif attribute == "unit":
        yield from _units(here)
    for (owner, name), propose in _NAMES.items():
        if name == attribute and issubclass(kind, owner) and here.snapshot is not None:
            yield from propose(here)


def _units(here: Here) -> Iterator[Proposal]:
    """Units of the document, followed by units that only FMUs define."""
    known = set[str]()
    root = None if here.parent is None else container(here.parent)
    for unit in () if root is None else root.every(ssc.Unit):
        known.add(unit.name)
        yield Proposal(unit.name, Kind.Unit)
    for fmu in () if here.structure is None else here.structure.fmus.values():
        for name in fmu.units if isinstance(fmu, FmuDescription) else ():
            if name not in known:
                known.add(name)
                yield Proposal(name, Kind.Unit, "of an FMU; not defined in this document")


def _enumerations(here: Here) -> Iterator[Proposal]:
    root = None if here.parent is None else container(here.parent)
    for one in () if root is None else root.every(ssc.Enumeration):
        if len(one.items):
            yield Proposal(one.name, Kind.Enum, ", ".join(item.name for item in one.items))


def _elements_of_system(here: Here) -> Iterator[Proposal]:
    system = here.above(ssd.System)
    for element in system.elements if isinstance(system, ssd.System) else ():
        yield Proposal(element.name, Kind.Class, element.get("source", ""))


def _connectors(side: str) -> Callable[[Here], Iterator[Proposal]]:
    def propose(here: Here) -> Iterator[Proposal]:
        owner: ssd.SystemElement | None = None
        system, name = here.above(ssd.System), here.stated(f"{side}Element")
        if isinstance(system, ssd.System):
            owner = next((one for one in system.elements if one.name == name), None) if name else system
        beyond = "end" if side == "start" else "start"
        other = ssd.ConnectorRef(here.stated(f"{beyond}Element"), here.stated(f"{beyond}Connector"))
        for connector in () if owner is None else owner.connectors:
            this, decided = ssd.ConnectorRef(name, connector.name), other.connector and here.structure
            if not decided or not isinstance(system, ssd.System) or connectable(system, this, other, decided):
                yield Proposal(connector.name, Kind.Interface, detail_of(connector))

    return propose


def _siblings(here: Here) -> Iterator[Proposal]:
    owner = here.above(ssd.SystemElement)
    for connector in owner.connectors if isinstance(owner, ssd.SystemElement) else ():
        yield Proposal(connector.name, Kind.Interface, detail_of(connector))


def _variables_of_fmu(here: Here) -> Iterator[Proposal]:
    """Variables of the component's FMU that have no connector yet."""
    owner = here.above(ssd.SystemElement)
    fmu = None if here.structure is None else here.structure.fmu_of(owner)
    if fmu is not None and isinstance(owner, ssd.SystemElement):
        known = {connector.name for connector in owner.connectors} - {here.place.typed}
        for name, variable in fmu.variables.items():
            if name not in known and variable.causality in _EXPOSED:
                yield Proposal(name, Kind.Variable, _told(variable), variable.description)


_EXPOSED = ("input", "output", "parameter", "calculatedParameter", "structuralParameter", "local")


def _told(variable: Variable) -> str:
    return " ".join(filter(None, (str(variable.causality), variable.type, variable.unit)))


def _parameters(here: Here) -> Iterator[Proposal]:
    """Names of the variables that a parameter, or the target of a mapping, can set where the document is bound."""
    structure, root = here.structure, None if here.parent is None else container(here.parent)
    network = None if structure is None or here.snapshot is None else here.snapshot.network(structure)
    if structure is None or network is None:
        return
    known = set[str]()
    for binding in structure.all(ssd.ParameterBinding):
        holder = binding.parameter_mapping
        bound = (structure.parameter_set_of(binding), None if holder is None else structure.mapping_of(holder))
        owner = next(around(binding, ssd.SystemElement), None)
        if owner is None or all(one is not root for one in bound):
            continue
        systems = [one.name for one in around(owner, ssd.System)][-2::-1]
        path = ".".join((*systems, *([owner.name] if next(around(owner, ssd.System), None) is not None else [])))
        below, prefix = f"{path}." if path else "", binding.prefix if isinstance(root, ssv.ParameterSet) else ""
        for component in network.components.values():
            for name, variable in component.description.variables.items():
                full = f"{component.name}.{name}"
                own = full.removeprefix(below)
                if not (settable(variable) and full.startswith(below) and own.startswith(prefix)):
                    continue
                if (written := own.removeprefix(prefix)) not in known:
                    known.add(written)
                    yield Proposal(written, Kind.Variable, _told(variable), variable.description)


def _mapped_parameters(here: Here) -> Iterator[Proposal]:
    structure, root = here.structure, None if here.parent is None else container(here.parent)
    for binding in () if structure is None else structure.all(ssd.ParameterBinding):
        holder = binding.parameter_mapping
        values = structure.parameter_set_of(binding) if structure is not None else None
        if structure is not None and holder is not None and values is not None and structure.mapping_of(holder) is root:
            yield from (Proposal(one.name, Kind.Constant) for one in values.every(ssv.Parameter))


def _dictionaries(here: Here) -> Iterator[Proposal]:
    system = here.above(ssd.System)
    for one in (system, *around(system, ssd.System)) if isinstance(system, ssd.System) else ():
        yield from (Proposal(dictionary.name, Kind.Module) for dictionary in one.signal_dictionaries)


def _files(*endings: str) -> Callable[[Here], Iterator[Proposal]]:
    def propose(here: Here) -> Iterator[Proposal]:
        assert here.snapshot is not None
        folder = "" if here.document is None else posixpath.dirname(here.document.name)
        for name in here.snapshot.archive.names():
            if name.lower().endswith(endings) and (here.document is None or name != here.document.name):
                yield Proposal(quote(posixpath.relpath(name, folder or ".")), Kind.File)

    return propose


def _media_types(*names: str) -> Callable[[Here], Iterator[Proposal]]:
    return lambda here: (Proposal(name, Kind.Constant) for name in names)


_NAMES: dict[tuple[type[Element], str], Callable[[Here], Iterator[Proposal]]] = {
    (ssd.Connection, "startElement"): _elements_of_system,
    (ssd.Connection, "endElement"): _elements_of_system,
    (ssd.Connection, "startConnector"): _connectors("start"),
    (ssd.Connection, "endConnector"): _connectors("end"),
    (ssd.Connector, "name"): _variables_of_fmu,
    (ssd.Clock, "name"): _siblings,
    (ssc.Dimension, "sizeConnector"): _siblings,
    (ssd.SignalDictionaryReference, "dictionary"): _dictionaries,
    (ssc.Enumeration, "name"): _enumerations,
    (ssv.Enumeration, "name"): _enumerations,
    (ssv.Parameter, "name"): _parameters,
    (ssm.MappingEntry, "source"): _mapped_parameters,
    (ssm.MappingEntry, "target"): _parameters,
    (ssd.Component, "source"): _files(".fmu", ".ssd", ".ssp", ".csv"),
    (ssd.ParameterBinding, "source"): _files(".ssv"),
    (ssd.ParameterMapping, "source"): _files(".ssm"),
    (ssd.SignalDictionary, "source"): _files(".ssb"),
    (ssd.Component, "type"): _media_types(FMU, SYSTEM_STRUCTURE, PACKAGE, TABLE, MODELICA),
    (ssd.ParameterBinding, "type"): _media_types(PARAMETER_SET),
    (ssd.ParameterMapping, "type"): _media_types(PARAMETER_MAPPING),
    (ssd.SignalDictionary, "type"): _media_types(SIGNAL_DICTIONARY),
    (ssb.SignalDictionary, "version"): _media_types("1.0", "2.0"),
    (ssd.SystemStructureDescription, "version"): _media_types("1.0", "2.0"),
}
"""Class and attribute → proposed names."""
