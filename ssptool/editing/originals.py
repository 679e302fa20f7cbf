"""Originals that a 1.0 document cannot represent, stored in annotations so that they can be restored.

Each edit below is made and recorded in an annotation of our own type, at the nearest element that can have one:

    <ssc:Annotation type="io.github.ssptool.downgraded">
      <kept:kept xmlns:kept="urn:ssptool:downgraded">
        <kept:attribute name="kind" was="structuralParameter" now="parameter"/>
        <kept:element at="ssc:Real" was="ssc:Float32"/>
        <kept:removed index="3">…the element as text…</kept:removed>
      </kept:kept>
    </ssc:Annotation>

`at` is the path from the annotated element. Removed elements are stored as text, because a schema or a reader of 1.0
would check them as elements. `restore` undoes the records of one element, the last one first.
"""

from collections.abc import Iterator
from typing import cast

from lxml import etree

from ssptool.documents import ssc
from ssptool.documents.element import PARSER, Children, Element, expand, insert_indented, remove_with_line
from ssptool.documents.vocabulary import NSMAP

TYPE = "io.github.ssptool.downgraded"
NAMESPACE = "urn:ssptool:downgraded"

_KEPT = f"{{{NAMESPACE}}}kept"
_CONTENT = f"{{{NAMESPACE}}}content"
_ATTRIBUTE = f"{{{NAMESPACE}}}attribute"
_ELEMENT = f"{{{NAMESPACE}}}element"
_REMOVED = f"{{{NAMESPACE}}}removed"
_PREFIXES = {uri: prefix for prefix, uri in NSMAP.items()}
_DECLARATIONS = [f' xmlns:{prefix}="{uri}"' for prefix, uri in NSMAP.items()]


class EditedSince(Exception):
    """An original can no longer be restored, because the document was edited after its downgrade."""


def set_attribute(element: Element, name: str, value: str | None) -> None:
    """Set an attribute (None: remove it), and store its previous value."""
    was = element.get(name)
    _note(element, _ATTRIBUTE, element, {"name": name, "was": was, "now": value})
    _set(element, name, value)


def rename(element: Element, tag: str) -> None:
    """Change the kind of an element, e.g. to `ssc:Real`, and store its previous kind."""
    was = _prefixed(element.tag)
    element.tag = expand(tag)
    _note(element, _ELEMENT, element, {"was": was})


def remove(element: Element) -> None:
    """Remove and store an element, with every parent that is invalid without it."""
    victim = element
    while (parent := cast(Element, victim.getparent())) is not None and _needs_content(parent, victim):
        victim = parent
    holder = cast(Element, victim.getparent())
    index = str(holder.index(victim))
    text = _to_text(victim)
    remove_with_line(holder, victim)
    _note(holder, _REMOVED, holder, {"index": index}, text)


def wrap(annotation: ssc.Annotation) -> None:
    """Move the content of an annotation, including text, into one element."""
    content = PARSER.makeelement(_CONTENT, nsmap={"kept": NAMESPACE})
    content.text, annotation.text = annotation.text, None
    for child in list(annotation):
        content.append(child)
    annotation.append(content)


def unwrap(annotation: ssc.Annotation) -> bool:
    """Undo `wrap`; False if there is nothing to undo."""
    children = list(annotation)
    if [child.tag for child in children] != [_CONTENT]:
        return False
    content = children[0]
    annotation.remove(content)
    annotation.text = content.text
    for child in list(content):
        annotation.append(child)
    return True


def restore(annotation: ssc.Annotation) -> None:
    """Restore the originals in an annotation of our type, and remove it.

    Raises
    ------
    EditedSince
        An original cannot be restored any more. It stays in the annotation, together with earlier records.
    """
    carrier = cast(Element, cast(Element, annotation.getparent()).getparent())
    for kept in annotation.iterchildren(_KEPT):
        for note in reversed(list(kept.iterchildren("*"))):
            try:
                _undo(carrier, note)
            except (etree.XMLSyntaxError, KeyError, ValueError, IndexError):
                raise EditedSince("the note of it cannot be read any more") from None
            kept.remove(note)
    annotation.delete()


def _undo(carrier: Element, note: etree._Element) -> None:
    place = _find(carrier, note.get("at", ""))
    if note.tag == _ATTRIBUTE:
        name, was, now = note.get("name", ""), note.get("was"), note.get("now")
        if place.get(name) != now:
            raise EditedSince(f"{name} was {was!r} and became {now!r}, but is {place.get(name)!r} now")
        _set(place, name, was)
    elif note.tag == _ELEMENT:
        place.tag = expand(note.get("was", ""))
    elif note.tag == _REMOVED:
        index = min(int(note.get("index", "0")), len(place))
        insert_indented(place, index, _from_text(note.text or ""))
    else:
        raise EditedSince(f"{note.tag} is unknown to this version of ssptool")


def _set(element: Element, name: str, value: str | None) -> None:
    if value is None:
        element.attrib.pop(name, "")
    else:
        element.set(name, value)


def _note(
    near: Element, tag: str, element: Element, attributes: dict[str, str | None], text: str | None = None
) -> None:
    carrier = _carrier(near)
    kept = _kept(carrier)
    note = PARSER.makeelement(tag, nsmap={"kept": NAMESPACE})
    if way := _way(carrier, element):
        note.set("at", way)
    for name, value in attributes.items():
        if value is not None:
            note.set(name, value)
    note.text = text
    insert_indented(kept, len(kept), note)


def _kept(carrier: Element) -> etree._Element:
    """Records of an element; its annotation is created if necessary."""
    slot: Children[ssc.Annotation] = type(carrier).annotations  # type: ignore[attr-defined]
    for annotation in slot.elements(carrier):
        if annotation.get("type") == TYPE and (kept := next(annotation.iterchildren(_KEPT), None)) is not None:
            return kept
    annotation = ssc.Annotation.new(type=TYPE)
    kept = PARSER.makeelement(_KEPT, nsmap={"kept": NAMESPACE})
    annotation.append(kept)
    carrier.add(annotation)
    return kept


def _carrier(element: Element) -> Element:
    """The nearest element, from this one outwards, that can contain annotations."""
    while not _can_be_annotated(element):
        element = cast(Element, element.getparent())
    return element


def _can_be_annotated(element: Element) -> bool:
    if isinstance(element, ssc.Enumeration):  # a type of the same name cannot
        return cast(Element, element.getparent()).tag.endswith("}Enumerations")
    return hasattr(element, "annotations")


def _needs_content(parent: Element, child: Element) -> bool:
    """True if `parent` is invalid without `child`: a plural container, a mapping, an enumeration."""
    if any(other.tag == child.tag or not isinstance(parent, ssc.Enumeration) for other in _siblings(child)):
        return False
    if isinstance(parent, ssc.Transformation):
        return True
    if isinstance(parent, ssc.Enumeration):
        return isinstance(child, ssc.EnumerationItem)
    owner = parent.getparent()
    return isinstance(owner, Element) and any(s.container == parent.tag and not s.keep for s in type(owner).slots)


def _siblings(element: Element) -> Iterator[etree._Element]:
    yield from element.itersiblings("*", preceding=True)
    yield from element.itersiblings("*")


def _prefixed(tag: str) -> str:
    uri, _, local = tag[1:].rpartition("}")
    return f"{_PREFIXES[uri]}:{local}"


def _way(carrier: Element, element: Element) -> str:
    steps = []
    node: etree._Element = element
    while node is not carrier:
        number = 1 + sum(1 for _ in node.itersiblings(node.tag, preceding=True))
        steps.append(_prefixed(node.tag) + (f"[{number}]" if number > 1 else ""))
        node = cast(etree._Element, node.getparent())
    return "/".join(reversed(steps))


def _find(carrier: Element, way: str) -> Element:
    node: etree._Element = carrier
    for step in filter(None, way.split("/")):
        name, _, number = step.rstrip("]").partition("[")
        like = list(node.iterchildren(expand(name)))
        if len(like) < int(number or 1):
            raise EditedSince(f"there is no {step} any more")
        node = like[int(number or 1) - 1]
    return cast(Element, node)


def _to_text(element: etree._Element) -> str:
    """Text of an element; the usual prefixes need no declaration."""
    text = etree.tostring(element, encoding="unicode", with_tail=False)
    start, end, rest = text.partition(">")
    for declaration in _DECLARATIONS:
        start = start.replace(declaration, "")
    return start + end + rest


def _from_text(text: str) -> etree._Element:
    outer = etree.fromstring(f"<outer{''.join(_DECLARATIONS)}>{text}</outer>", PARSER)
    element = outer[0]
    outer.remove(element)
    return element
