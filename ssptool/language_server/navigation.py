"""Hover texts, definitions, references, outlines and folding of documents."""

from collections.abc import Iterator

from lsprotocol import types

from ssptool.documents import ssb, ssc, ssd, ssm, ssv
from ssptool.documents.document import Document
from ssptool.documents.element import Element
from ssptool.drawing.text import explanations_text
from ssptool.errors import UnknownName
from ssptool.fmu.description import InterfaceType
from ssptool.language_server.meanings import meaning
from ssptool.language_server.names import Mention, Named, NameKind
from ssptool.language_server.places import uri_of
from ssptool.language_server.snapshot import ShownDescriptions, Spot, SystemSnapshot, signal_name, signals_of_parameter
from ssptool.network.explanation import explain as explain_names
from ssptool.network.network import Network

MOST_EXPLAINED = 4
"""Maximum number of variables of one parameter that a hover text explains."""


def hover(snapshot: SystemSnapshot, document: Document, at: types.Position) -> types.Hover | None:
    """Facts about the name at a position (origin of its value, its FMU, its definition), or about the element."""
    spot = snapshot.spot(document, snapshot.places(document).offset(at))
    if spot is None:
        return None
    text = (
        _explained(snapshot, spot) or _defined(snapshot, spot) or described(spot.element.element_class, spot.attribute)
    )
    if not text:
        return None
    content = types.MarkupContent(types.MarkupKind.Markdown, text)
    return types.Hover(content, snapshot.places(document).range(spot.start, spot.end))


def _explained(snapshot: SystemSnapshot, spot: Spot) -> str:
    """The text of `explain` for the variables or connectors at a position."""
    names = list(_signals(snapshot, spot))
    network = _network(snapshot, spot) if names else None
    if network is None:
        return ""
    try:
        found = explain_names(network, *names[:MOST_EXPLAINED])
    except UnknownName as problem:
        found = problem.found
    more = f"\n\n{len(names) - MOST_EXPLAINED} more variables" if len(names) > MOST_EXPLAINED else ""
    return f"```\n{explanations_text(found)}\n```{more}" if found else ""


def _network(snapshot: SystemSnapshot, spot: Spot) -> Network | None:
    """The network of the structure around a position, which takes time to make."""
    structure = snapshot.structure_of(spot.document)
    return None if structure is None else snapshot.network(structure)


def _signals(snapshot: SystemSnapshot, spot: Spot) -> Iterator[str]:
    """The full names of the connectors, or of the variables that a parameter sets, at a position."""
    parameter = next(iter((spot.element, *spot.element.iterancestors(ssv.Parameter.qualified_name))[-1:]), None)
    if isinstance(parameter, ssv.Parameter) and spot.attribute in ("name", "value"):
        network = _network(snapshot, spot)
        yield from () if network is None else signals_of_parameter(network, spot.document, parameter)
    for mention in snapshot.mentions(spot):
        named = mention.named
        if named.kind is NameKind.CONNECTOR and isinstance(named.scope, Element):
            yield signal_name(named.scope, named.name)


def _defined(snapshot: SystemSnapshot, spot: Spot) -> str:
    """The definition of the named thing as it is written, or the facts of its FMU."""
    for mention in snapshot.mentions(spot):
        if mention.named.kind is NameKind.FILE and (fmu := snapshot.fmu(mention.named.name)) is not None:
            offers = ", ".join(kind.words for kind in reversed(InterfaceType) if fmu.interface(kind) is not None)
            return f"**{fmu.model_name}**, FMI {fmu.fmi_version}: {offers}; {len(fmu.variables)} variables"
        for definition in snapshot.definitions(mention.named):
            if definition.element is not spot.element and definition.attribute:
                text = snapshot.places(definition.document).text
                start, end = snapshot.whole(definition.document, definition.element)
                stated = text[start:end] if end - start <= _LONGEST_SHOWN else text[slice(*_tag(snapshot, definition))]
                return f"```xml\n{stated}\n```"
    return ""


_LONGEST_SHOWN = 400


def _tag(snapshot: SystemSnapshot, mention: Mention) -> tuple[int, int]:
    return snapshot.extent(mention.document, mention.element)


def described(kind: type[Element], attribute: str) -> str:
    """Description in the declaration of an element, or of one of its attributes."""
    if attribute:
        declared = next((one for one in kind.attributes().values() if one.name == attribute), None)
        if declared is None:
            return ""
        default = "required" if declared.required else f"default: {declared.default!r}"
        told = f"**{attribute}**: {declared.converter.expected} ({default})"
        return "\n\n".join(filter(None, (told, meaning(kind.local_name, attribute))))
    told = vars(kind).get("__doc__") or ""
    attributes = ", ".join(one.name if one.required else f"[{one.name}]" for one in kind.attributes().values())
    lines = [f"**{kind.local_name}** {' '.join(told.split())}".rstrip(), f"Attributes: {attributes}" * bool(attributes)]
    return "\n\n".join(filter(None, lines)) if kind.local_name else ""


def definitions(
    snapshot: SystemSnapshot, document: Document, at: types.Position, shown: ShownDescriptions
) -> list[types.Location]:
    """Definitions of the thing that is named at a position: in a document, or in the model description of an FMU."""
    spot = snapshot.spot(document, snapshot.places(document).offset(at))
    found: list[types.Location] = []
    for named in _named(snapshot, spot):
        defining = [one for one in snapshot.definitions(named) if spot is None or one.element is not spot.element]
        found += [location(snapshot, mention) for mention in defining]
        if named.kind in (NameKind.VARIABLE, NameKind.FILE) and not defining:
            found += _in_fmu(snapshot, named, shown)
    return found


def _named(snapshot: SystemSnapshot, spot: Spot | None) -> list[Named]:
    """The things named at a position; for a parameter, also the variables that it sets."""
    if spot is None:
        return []
    named = [mention.named for mention in snapshot.mentions(spot)]
    of_parameter = isinstance(spot.element, ssv.Parameter) and spot.attribute == "name"
    network = _network(snapshot, spot) if of_parameter else None
    if network is not None:
        for signal in signals_of_parameter(network, spot.document, spot.element):
            for component in network.components.values():
                variable = signal.removeprefix(f"{component.name}.")
                if variable != signal and variable in component.description.variables:
                    named.append(Named(NameKind.VARIABLE, component.source, variable))
    return named


def _in_fmu(snapshot: SystemSnapshot, named: Named, shown: ShownDescriptions) -> Iterator[types.Location]:
    entry = str(named.scope)
    fmu = snapshot.fmu(entry)
    file = None if fmu is None else snapshot.description_file(entry, shown)
    if fmu is not None and file is not None:
        variable = fmu.variables.get(named.name)
        line = 0 if variable is None else variable.line - 1
        yield types.Location(uri_of(file), types.Range(types.Position(line, 0), types.Position(line, 0)))


def references(
    snapshot: SystemSnapshot, document: Document, at: types.Position, declaration: bool
) -> list[types.Location]:
    """All places that refer to the thing named at a position."""
    spot = snapshot.spot(document, snapshot.places(document).offset(at))
    mentions = {
        (mention.element, mention.attribute): mention
        for named in _named(snapshot, spot)
        for mention in snapshot.names.of.get(named, ())
        if mention.attribute and (declaration or not mention.defines)
    }
    return [location(snapshot, mention) for mention in mentions.values()]


def location(snapshot: SystemSnapshot, mention: Mention) -> types.Location:
    start, end = snapshot.extent(mention.document, mention.element, mention.attribute)
    place = snapshot.places(mention.document).range(start, end)
    return types.Location(uri_of(snapshot.path(mention.document.name)), place)


_SYMBOLS: dict[type[Element], types.SymbolKind] = {
    ssd.System: types.SymbolKind.Module,
    ssd.Component: types.SymbolKind.Class,
    ssd.SignalDictionaryReference: types.SymbolKind.Class,
    ssd.Connector: types.SymbolKind.Interface,
    ssd.Connection: types.SymbolKind.Event,
    ssd.ParameterBinding: types.SymbolKind.File,
    ssd.SignalDictionary: types.SymbolKind.Namespace,
    ssv.Parameter: types.SymbolKind.Constant,
    ssm.MappingEntry: types.SymbolKind.Event,
    ssb.DictionaryEntry: types.SymbolKind.Variable,
    ssc.Unit: types.SymbolKind.TypeParameter,
    ssc.EnumerationItem: types.SymbolKind.EnumMember,
}


def symbols(snapshot: SystemSnapshot, document: Document) -> list[types.DocumentSymbol]:
    """The outline of a document: systems, components, connectors, connections, parameters, units."""
    text = document.text
    tags, shown = text.tags, list[tuple[int, Element, types.SymbolKind]]()
    for number, node in enumerate(text.nodes):
        if isinstance(node, Element) and (kind := _SYMBOLS.get(node.element_class)) is not None:
            shown.append((number, node, kind))
    offsets = [offset for at, _, _ in shown for offset in (tags.start[at], tags.open_end[at], tags.end[at])]
    places = map(types.Position, *snapshot.lines_and_columns(document, offsets))
    outermost: list[types.DocumentSymbol] = []
    below: dict[int, list[types.DocumentSymbol]] = {-1: outermost}
    for (number, node, kind), start, tag_end, end in zip(shown, places, places, places, strict=True):
        parent = tags.parent[number]
        while parent not in below:
            parent = tags.parent[parent]
        around = types.Range(start, end)
        selected = around if tags.open_end[number] == tags.end[number] else types.Range(start, tag_end)
        inside = below[number] = []
        one = types.DocumentSymbol(_title(node), kind, around, selected, detail=detail_of(node), children=inside)
        below[parent].append(one)
    return outermost


def _title(element: Element) -> str:
    get = element.get
    match element:
        case ssd.Connection():
            ends = (filter(None, (get(f"{side}Element"), get(f"{side}Connector"))) for side in ("start", "end"))
            return " – ".join(map(".".join, ends)) or "connection"
        case ssm.MappingEntry():
            return f"{get('source', '')} → {get('target', '')}"
    return get("name") or get("source") or element.local_name


def detail_of(element: Element) -> str:
    """Kind, type, value and unit of an element, as far as it states them."""
    typed = next(
        (one for one in element.iterchildren("*") if isinstance(one, ssc.SignalType | ssv.ParameterType)), None
    )
    of_type = [] if typed is None else [typed.local_name, typed.get("value", ""), typed.get("unit", "")]
    return " ".join(filter(None, (element.get("kind", ""), *of_type)))


def folding(snapshot: SystemSnapshot, document: Document) -> list[types.FoldingRange]:
    """Elements and comments of more than one line."""
    places, found = snapshot.places(document), []
    for node in document.root.iter():
        start, end = map(places.position, snapshot.whole(document, node))
        if end.line > start.line:
            kind = None if isinstance(node.tag, str) else types.FoldingRangeKind.Comment
            found.append(types.FoldingRange(start.line, end.line, kind=kind))
    return found
