"""Random SSP documents: valid ones from a grammar of the standard, and mutated ones.

The grammar is stated here once more, as productions of the standard's tables, so that neither our schemas nor the
official ones are the origin of what they are tested with. Equal seeds give equal documents.
"""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lxml import etree

from ssptool.documents.vocabulary import NSMAP, SSB, SSC, SSD, SSM, SSV

FORMATS = ("ssd", "ssv", "ssm", "ssb")
VERSIONS = ("1.0", "2.0")
FOREIGN = "urn:example:foreign"

BASE = "id:id? description:text?"
TOP = (
    BASE
    + " version!:version author:text? copyright:text? license:text? fileversion:text? generationTool:text?"
    + " generationDateAndTime:dateTime?"
)
BOX = "x1:double y1:double x2:double y2:double"
SIGNAL_1 = (
    "ssc:Real=WithUnit ssc:Integer=Empty ssc:Boolean=Empty ssc:String=Empty ssc:Enumeration=Named ssc:Binary=Binary"
)
SIGNAL_2 = (
    SIGNAL_1
    + " ssc:Float64=WithUnit ssc:Float32=WithUnit ssc:Clock=Clock "
    + " ".join(f"ssc:{sign}Int{bits}=Empty" for bits in (8, 16, 32, 64) for sign in ("", "U"))
)
TRANSFORMATIONS = (
    "ssc:LinearTransformation=Linear ssc:BooleanMappingTransformation=BooleanMapping"
    " ssc:IntegerMappingTransformation=IntegerMapping ssc:EnumerationMappingTransformation=EnumerationMapping"
)
VALUES_1 = (
    "ssv:Real=Doubles ssv:Integer=Ints ssv:Boolean=Booleans ssv:String=Strings ssv:Enumeration=Items ssv:Binary=Bytes"
)
VALUES_2 = VALUES_1 + (
    " ssv:Float64=Doubles ssv:Float32=Floats ssv:Int8=Int8s ssv:UInt8=UInt8s ssv:Int16=Int16s ssv:UInt16=UInt16s"
    " ssv:Int32=Ints ssv:UInt32=UInt32s ssv:Int64=Longs ssv:UInt64=UInt64s"
)
META = "ssc:MetaData* ssc:Signature* "

# production: (attributes, content). Attributes are `name:type`, with ? if optional; content is a sequence of
# `tag=production` with ?, * or +, the production being the local name if not stated; (a b) is a choice.
COMMON: dict[str, tuple[str, str]] = {
    "Empty": ("", ""),
    "WithUnit": ("unit:text?", ""),
    "Named": ("name:text", ""),
    "Binary": ("mime-type:text?", ""),
    "Linear": ("factor:double? offset:double?", ""),
    "BooleanMapping": ("", "ssc:MapEntry=BooleanEntry+"),
    "BooleanEntry": ("source:boolean target:boolean", ""),
    "IntegerMapping": ("", "ssc:MapEntry=IntegerEntry+"),
    "EnumerationMapping": ("", "ssc:MapEntry=TextEntry+"),
    "TextEntry": ("source:text target:text", ""),
    "Annotations": ("", "ssc:Annotation+"),
    "Annotation": ("type:text", "any?"),
    "Enumerations": ("", "ssc:Enumeration=EnumerationDefinition+"),
    "EnumerationDefinition": (BASE + " name:text", "ssc:Item+ ssc:Annotations?"),
    "Item": ("name:text value:int", ""),
    "Units": ("", "ssc:Unit+"),
    "Unit": (BASE + " name:text", "ssc:BaseUnit ssc:Annotations?"),
    "BaseUnit": (
        "kg:int? m:int? s:int? A:int? K:int? mol:int? cd:int? rad:int? factor:double? offset:double?",
        "",
    ),
    "SystemStructureDescription": (
        TOP + " name:text",
        "ssd:System ssd:Enumerations? ssd:Units? ssd:DefaultExperiment? {meta}ssd:Annotations?",
    ),
    "DefaultExperiment": ("startTime:double? stopTime:double?", "ssd:Annotations?"),
    "System": (
        BASE + " name:name",
        "{element}ssd:Elements? ssd:Connections? ssd:SignalDictionaries? ssd:SystemGeometry? ssd:GraphicalElements?"
        " ssd:Annotations?",
    ),
    "Elements": ("", "(ssd:Component ssd:System ssd:SignalDictionaryReference)+"),
    "SignalDictionaryReference": (BASE + " name:name dictionary:text", "{element}ssd:Annotations?"),
    "Connectors": ("", "ssd:Connector+"),
    "ElementGeometry": (
        BOX + " rotation:double? iconRotation:double? iconSource:uri? iconFlip:boolean? iconFixedAspectRatio:boolean?",
        "",
    ),
    "SystemGeometry": (BOX, ""),
    "GraphicalElements": ("", "ssd:Note+"),
    "Note": (BOX + " text:text", ""),
    "Connections": ("", "ssd:Connection+"),
    "ConnectionGeometry": ("pointsX:doubles pointsY:doubles", ""),
    "ParameterBindings": ("", "ssd:ParameterBinding+"),
    "ParameterBinding": (
        BASE + " type:text? source:uri? sourceBase:sourceBase? prefix:text?",
        "ssd:ParameterValues? ssd:ParameterMapping=InlineMapping? {meta}ssd:Annotations?",
    ),
    "ParameterValues": ("", "any* ssv:ParameterSet? any?"),
    "InlineMapping": (BASE + " type:text? source:uri? sourceBase:sourceBase?", "any* ssm:ParameterMapping? any?"),
    "SignalDictionaries": ("", "ssd:SignalDictionary=InlineDictionary+"),
    "InlineDictionary": (BASE + " name:text type:text? source:uri?", "ssb:SignalDictionary? any*"),
    "ParameterSet": (TOP + " name:text", "ssv:Parameters ssv:Enumerations? ssv:Units? {meta}ssv:Annotations?"),
    "Parameters": ("", "ssv:Parameter*"),
    "ParameterMapping": (TOP, "ssm:MappingEntry* {meta}ssm:Annotations?"),
    "MappingEntry": (
        BASE + " source:text target:text suppressUnitConversion:boolean?",
        f"({TRANSFORMATIONS})? ssm:Annotations?",
    ),
    "SignalDictionary": (TOP, "ssb:DictionaryEntry* ssb:Enumerations? ssb:Units? {meta}ssb:Annotations?"),
}
ELEMENT = "ssd:Connectors? ssd:ElementGeometry? ssd:ParameterBindings? "
CONNECTION = (
    BASE + " startElement:text? startConnector:text endElement:text? endConnector:text suppressUnitConversion:boolean?"
)
GRAMMAR_1 = {name: (a, c.format(meta="", element=ELEMENT)) for name, (a, c) in COMMON.items()} | {
    "Component": (
        BASE + " name:name type:text? source:uri implementation:implementation1?",
        ELEMENT + "ssd:Annotations?",
    ),
    "Connector": (BASE + " name:text kind:kind1", f"({SIGNAL_1})? ssd:ConnectorGeometry? ssd:Annotations?"),
    "ConnectorGeometry": ("x:double y:double", ""),
    "Connection": (CONNECTION, f"({TRANSFORMATIONS})? ssd:ConnectionGeometry? ssd:Annotations?"),
    "IntegerEntry": ("source:int target:int", ""),
    "Parameter": (BASE + " name:text", f"({VALUES_1}) ssv:Annotations?"),
    "Doubles": ("value:double unit:text?", ""),
    "Ints": ("value:int", ""),
    "Booleans": ("value:boolean", ""),
    "Strings": ("value:text", ""),
    "Items": ("value:text name:text?", ""),
    "Bytes": ("value:hex mime-type:text?", ""),
    "DictionaryEntry": (BASE + " name:text", f"({SIGNAL_1}) ssb:Annotations?"),
}
ELEMENT_2 = ELEMENT + META
GRAMMAR_2 = {name: (a, c.format(meta=META, element=ELEMENT_2)) for name, (a, c) in COMMON.items()} | {
    "Annotation": ("type:text", "text any? text"),
    "Clock": (
        "intervalVariability:interval? intervalDecimal:double? shiftDecimal:double? supportsFraction:boolean?"
        " resolution:unsignedLong? intervalCounter:unsignedLong? shiftCounter:unsignedLong? priority:unsignedInt?",
        "",
    ),
    "Component": (
        BASE + " name:name type:text? source:uri? implementation:implementation2?",
        ELEMENT_2 + "ssd:Annotations?",
    ),
    "Connector": (
        BASE + " name:text kind:kind2",
        f"({SIGNAL_2})? ssc:Dimension* ssd:Clock=Named* ssd:ConnectorGeometry? ssd:Annotations?",
    ),
    "ConnectorGeometry": ("x:double y:double systemInnerX:double? systemInnerY:double?", ""),
    "Connection": (
        CONNECTION + " startIndices:unsignedLongs? endIndices:unsignedLongs?",
        f"({TRANSFORMATIONS})? ssd:ConnectionGeometry? ssd:Annotations?",
    ),
    "Dimension": ("size:unsignedLong? sizeConnector:text?", ""),
    "IntegerEntry": ("source:integer64 target:integer64", ""),
    "Parameter": (BASE + " name:text", f"({VALUES_2}) ssc:Dimension* ssv:Annotations?"),
    "Doubles": ("value:doubles unit:text?", ""),
    "Floats": ("value:doubles unit:text?", ""),
    "Int8s": ("value:bytes", ""),
    "UInt8s": ("value:unsignedBytes", ""),
    "Int16s": ("value:shorts", ""),
    "UInt16s": ("value:unsignedShorts", ""),
    "Ints": ("value:ints", ""),
    "UInt32s": ("value:unsignedInts", ""),
    "Longs": ("value:longs", ""),
    "UInt64s": ("value:unsignedLongs", ""),
    "Booleans": ("value:booleans", ""),
    "Strings": ("value:text?", "ssv:Value=TextValue*"),
    "Items": ("value:text? name:text?", "ssv:Value=TextValue*"),
    "Bytes": ("value:hex? mime-type:text?", "ssv:Value=HexValue*"),
    "TextValue": ("value:text", ""),
    "HexValue": ("value:hex", ""),
    "DictionaryEntry": (BASE + " name:text", f"({SIGNAL_2}) ssc:Dimension* ssb:Annotations?"),
    "MetaData": (BASE + " kind:metaKind type:text source:uri? sourceBase:metaBase?", "ssc:Content? ssc:Signature*"),
    "Signature": (BASE + " role:role type:text source:uri? sourceBase:signatureBase?", "ssc:Content?"),
    "Content": (BASE, "text any* text"),
}
GRAMMARS = {"1.0": GRAMMAR_1, "2.0": GRAMMAR_2}
ROOTS = {
    "ssd": "ssd:SystemStructureDescription",
    "ssv": "ssv:ParameterSet",
    "ssm": "ssm:ParameterMapping",
    "ssb": "ssb:SignalDictionary",
}

INLINE_ROOTS = {f"{{{NSMAP[format]}}}{tag.partition(':')[2]}": format for format, tag in ROOTS.items()}


def _integers(low: int, high: int) -> str:
    return f"{low}|{high}|0|1|+1|-0|007| 12 "


KINDS_1 = "input|output|parameter|calculatedParameter|inout"
# The texts of each type, separated by |; those of list types are drawn from the type of their items.
TEXTS = {
    "text": "|a|Motor.w_rel| two words |ä€𝄞|1.0|<&>\"'|\n\t",
    "name": "a|Motor.w_rel| |0",
    "uri": "|resources/A.fmu|#frag|http://example.org/a?b=c|../x y.ssd",
    "double": "0|1|-1.5|1e-3|.5|5.|INF|-INF|NaN| 2 |+1E+05|1e999",
    "boolean": "true|false|0|1| true ",
    "hex": "|0F|ab12CD| 00 ",
    "int": _integers(-(2**31), 2**31 - 1),
    "integer64": _integers(-(2**63), 2**64 - 1),
    "byte": _integers(-128, 127),
    "short": _integers(-(2**15), 2**15 - 1),
    "long": _integers(-(2**63), 2**63 - 1),
    "unsignedByte": _integers(0, 255),
    "unsignedShort": _integers(0, 2**16 - 1),
    "unsignedInt": _integers(0, 2**32 - 1),
    "unsignedLong": _integers(0, 2**64 - 1),
    "dateTime": "2024-02-29T12:00:00|2024-02-29T12:00:00Z|1999-12-31T23:59:59.5+14:00|0001-01-01T00:00:00.123-05:30",
    "sourceBase": "SSD|component",
    "metaBase": "file|resource",
    "signatureBase": "file|resource|metaData",
    "metaKind": "general|quality",
    "role": "authenticity|suitability",
    "kind1": KINDS_1,
    "kind2": KINDS_1 + "|structuralParameter|constant|local|unspecified",
    "implementation1": "any|ModelExchange|CoSimulation",
    "implementation2": "any|ModelExchange|CoSimulation|ScheduledExecution",
    "interval": "constant|fixed|tunable|changing|countdown|triggered",
}
# Texts that are wrong for some of the types, or for all.
NASTY = (
    *("", " ", "x", "-1", "1.5", "1,5", "0x1", "1e5", "+INF", "inf", "nan", "TRUE", "yes", "1 2", "1 x", "0F0", "0G"),
    *("128", "256", "-129", "32768", "65536", "2147483648", "-2147483649", "4294967296", "9223372036854775807"),
    *("9223372036854775808", "18446744073709551615", "18446744073709551616", "-9223372036854775809", "1_000", "٣"),
    *("1.0", "1.1", "1.10", "1.0-beta", "1.0-", "1.0-a b", "1", "1.", "2.0", "2.0.1", " 2.0", "1.0 ", "3.0", "1.x"),
    *("ssd", "component", "resource", "metaData", "Input", "inputs", "local", "ScheduledExecution", "CoSimulation"),
    *("2024-02-30T00:00:00", "2024-02-29", "2024-02-29T12:00", "a:b", "1a", "é", "a b", "http://[", "%zz", "\n"),
)
TERM = re.compile(r"(?:\((?P<choice>[^)]*)\)|(?P<one>[\w:=]+))(?P<times>[?*+]?)")


@dataclass(frozen=True)
class Sample:
    """A document of the corpus. `schema_version`: by which it is judged; `mutations`: none if meant to be valid."""

    format: str
    schema_version: str
    text: bytes
    mutations: tuple[str, ...]


class Author:
    """Writes valid documents of one version."""

    def __init__(self, version: str, chance: random.Random) -> None:
        self.version = version
        self.chance = chance
        self.ids = 0
        self.written: list[tuple[str, etree._Element]] = []

    def document(self, format: str) -> etree._Element:
        tag = ROOTS[format]
        return self.element(tag, tag.partition(":")[2], 0)

    def element(self, tag: str, production: str, depth: int) -> etree._Element:
        prefix, _, local = tag.partition(":")
        element = etree.Element(f"{{{NSMAP[prefix]}}}{local}", nsmap=NSMAP)
        self.written.append((production, element))
        attributes, content = GRAMMARS[self.version][production]
        for declared in attributes.split():
            name, _, type_name = declared.rstrip("?").partition(":")
            if not declared.endswith("?") or self.chance.random() < 0.3:
                element.set(name.rstrip("!"), self.text(type_name))
        for term in TERM.finditer(content):
            for _ in range(self._repetitions(term["times"], depth)):
                self._append(element, self.chance.choice((term["choice"] or term["one"]).split()), depth)
        return element

    def text(self, type_name: str) -> str:
        if type_name == "version":
            return self.version
        if type_name == "id":
            self.ids += 1
            return f"id-{self.ids}_.é"
        if type_name in TEXTS:
            return self.chance.choice(TEXTS[type_name].split("|"))
        items = TEXTS[type_name.removesuffix("s")].split("|")
        return " ".join(self.chance.choices(items, k=self.chance.randrange(4)))

    def _repetitions(self, times: str, depth: int) -> int:
        often = self.chance.random() < 0.55 / (1 + 0.12 * depth)
        return {"": 1, "?": int(often), "*": often * self.chance.randrange(3), "+": 1 + often}[times]

    def _append(self, parent: etree._Element, term: str, depth: int) -> None:
        if term == "any":
            parent.append(self.foreign())
        elif term == "text":
            if len(parent):
                parent[-1].tail = self.text("text")
            else:
                parent.text = self.text("text")
        else:
            tag, _, production = term.partition("=")
            parent.append(self.element(tag, production or tag.partition(":")[2], depth + 1))

    def foreign(self) -> etree._Element:
        element = etree.Element(self.chance.choice((f"{{{FOREIGN}}}thing", "thing")), nsmap={"f": FOREIGN})
        element.set(self.chance.choice(("id", "x", f"{{{FOREIGN}}}y")), self.chance.choice(("same", "1")))
        if self.chance.random() < 0.4:
            element.text = "text"
        if self.chance.random() < 0.3:
            element.append(self.foreign())
        return element


VOCABULARY = sorted(
    {
        f"{{{NSMAP[prefix]}}}{local}"
        for attributes, content in GRAMMAR_2.values()
        for prefix, local in re.findall(r"(\w+):(\w+)", content)
    }
)
ATTRIBUTES = sorted({name for attributes, _ in GRAMMAR_2.values() for name in re.findall(r"([\w-]+)!?:", attributes)})
PRODUCTIONS = sorted({term for _, content in GRAMMAR_2.values() for term in re.findall(r"\w+:[\w=]+", content)})

Mutation = Callable[[etree._Element, random.Random], None]


def delete_element(root: etree._Element, chance: random.Random) -> None:
    if (victim := _inner(root, chance)) is not None:
        victim.getparent().remove(victim)


def duplicate_element(root: etree._Element, chance: random.Random) -> None:
    if (victim := _inner(root, chance)) is not None:
        victim.addnext(etree.fromstring(etree.tostring(victim, with_tail=False)))


def rename_element(root: etree._Element, chance: random.Random) -> None:
    _any(root, chance).tag = chance.choice(VOCABULARY)


def change_namespace(root: etree._Element, chance: random.Random) -> None:
    victim = _any(root, chance)
    space = chance.choice((SSC, SSD, SSV, SSM, SSB, FOREIGN))
    victim.tag = f"{{{space}}}{etree.QName(victim).localname}"


def move_element(root: etree._Element, chance: random.Random) -> None:
    victim, place = _inner(root, chance), _any(root, chance)
    if victim is not None and victim not in place.iterancestors() and victim is not place:
        place.insert(chance.randrange(len(place) + 1), victim)


def swap_siblings(root: etree._Element, chance: random.Random) -> None:
    parents = [element for element in root.iter("*") if len(element) > 1]
    if parents:
        parent = chance.choice(parents)
        parent.insert(0, parent[chance.randrange(1, len(parent))])


def insert_element(root: etree._Element, chance: random.Random) -> None:
    place = _any(root, chance)
    tag, _, production = chance.choice(PRODUCTIONS).partition("=")
    author = Author("2.0", chance)
    author.ids = 1000
    new = author.element(tag, production or tag.partition(":")[2], 6)
    place.insert(chance.randrange(len(place) + 1), new)


def insert_foreign_element(root: etree._Element, chance: random.Random) -> None:
    place = _any(root, chance)
    place.insert(chance.randrange(len(place) + 1), Author("2.0", chance).foreign())


def insert_text(root: etree._Element, chance: random.Random) -> None:
    _any(root, chance).text = chance.choice(("text", " ", "\n", "0"))


def empty_element(root: etree._Element, chance: random.Random) -> None:
    victim = _any(root, chance)
    for child in list(victim):
        victim.remove(child)


def drop_attribute(root: etree._Element, chance: random.Random) -> None:
    victims = [element for element in root.iter("*") if element.attrib]
    if victims:
        victim = chance.choice(victims)
        del victim.attrib[chance.choice(victim.keys())]


def add_attribute(root: etree._Element, chance: random.Random) -> None:
    names = (*ATTRIBUTES, "Name", "xyz", f"{{{FOREIGN}}}a", "{http://www.w3.org/XML/1998/namespace}lang")
    _any(root, chance).set(chance.choice(names), chance.choice(NASTY))


def alter_value(root: etree._Element, chance: random.Random) -> None:
    victims = [element for element in root.iter("*") if element.attrib]
    if victims:
        victim = chance.choice(victims)
        victim.set(chance.choice(victim.keys()), chance.choice(NASTY))


def alter_version(root: etree._Element, chance: random.Random) -> None:
    root.set("version", chance.choice([text for text in NASTY if text[:1] in ("1", "2", " ", "")]))


def repeat_id(root: etree._Element, chance: random.Random) -> None:
    for victim in chance.choices(list(root.iter("*")), k=2):
        victim.set("id", "twice")


MUTATIONS: tuple[Mutation, ...] = (
    *(delete_element, duplicate_element, rename_element, change_namespace, move_element, swap_siblings),
    *(insert_element, insert_foreign_element, insert_text, empty_element, drop_attribute, add_attribute),
    *(alter_value, alter_value, alter_version, repeat_id),
)


def _any(root: etree._Element, chance: random.Random) -> etree._Element:
    return chance.choice(list(root.iter("*")))


def _inner(root: etree._Element, chance: random.Random) -> etree._Element | None:
    inner = list(root.iterdescendants("*"))
    return chance.choice(inner) if inner else None


def corpus(format: str, version: str, valid: int, mutated: int) -> Iterator[Sample]:
    """Documents to be judged by the schemas of one version; some of the mutated ones stay valid."""
    chance = random.Random(f"{format} {version}")
    for _ in range(valid):
        yield Sample(format, version, _bytes(Author(version, chance).document(format)), ())
    for number in range(mutated):
        # Every fifth is a document of the other version that claims to be of this one.
        written_in = version if number % 5 else next(other for other in VERSIONS if other != version)
        root = Author(written_in, chance).document(format)
        root.set("version", version)
        mutations = chance.choices(MUTATIONS, k=chance.choice((1, 1, 2)) if number % 5 else 0)
        for mutate in mutations:
            mutate(root, chance)
        names = tuple(mutate.__name__ for mutate in mutations) or (f"written in {written_in}",)
        yield Sample(format, version, _bytes(root), names)


def attribute_corpus(version: str) -> Iterator[Sample]:
    """Each attribute of each production once missing and once with each nasty text, in an otherwise valid document."""
    for production, (format, root, element) in sorted(_examples(version).items()):
        for declared in GRAMMARS[version][production][0].split():
            name = declared.partition(":")[0].rstrip("!")
            original = dict(element.attrib)
            for text in (None, *NASTY):
                element.attrib.pop(name, None)
                if text is not None:
                    element.set(name, text)
                yield Sample(format, version, _bytes(root), (f"{production}/@{name} = {text!r}",))
            element.attrib.clear()
            element.attrib.update(original)


def _examples(version: str) -> dict[str, tuple[str, etree._Element, etree._Element]]:
    """A small document and an element in it for each production that the schemas of its format see."""
    smallest: dict[str, tuple[int, str, etree._Element, etree._Element]] = {}
    for format in FORMATS:
        chance = random.Random(f"examples {format} {version}")
        for _ in range(400):
            author = Author(version, chance)
            root = author.document(format)
            for production, element in author.written:
                inline = any(
                    above.tag in INLINE_ROOTS for above in (element, *element.iterancestors()) if above is not root
                )
                size = len(author.written)
                if not inline and size < smallest.get(production, (size + 1,))[0]:
                    smallest[production] = (size, format, root, element)
    return {production: example[1:] for production, example in smallest.items()}


def _bytes(root: etree._Element) -> bytes:
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8")
