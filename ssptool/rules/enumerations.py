"""Enumerations (SSP 2.0 §4.4.1)."""

from collections import Counter
from collections.abc import Iterator

from ssptool.documents import ssc, ssv
from ssptool.documents.element import Element
from ssptool.rules.catalogue import DERIVED, ERROR, INFO, MUST, TEXT, WARNING, Chapter, Finding, near
from ssptool.rules.fixes import renamed, repeats
from ssptool.rules.subjects import Structure, container, every, first

_NAMING: tuple[type[Element], ...] = (ssc.Enumeration, ssv.Enumeration)
ENUMERATIONS = Chapter("Enumerations (SSP 2.0 §4.4.1)", section="SSP 2.0 §4.4.1")


@ENUMERATIONS.rule("ENUM-001", severity=ERROR, basis=MUST)
def distinct_enumerations(root: ssc.TopLevel, structure: Structure) -> Iterator[Finding]:
    """The enumerations of a document have different names.

    Types refer to them by name.

    Fix: rename one of them, or delete it if they are the same.

    Accepted: the first enumeration of that name counts.
    """
    first: dict[str, ssc.Enumeration] = {}
    for enumeration in getattr(root, "enumerations", ()):
        other = first.setdefault(enumeration.name, enumeration)
        if other is not enumeration:
            message = f"there are two enumerations '{enumeration.name}'"
            yield Finding(enumeration, message, "", "name", fix=repeats(enumeration, other))


@ENUMERATIONS.rule("ENUM-002", severity=ERROR, basis=MUST, source="SSP 2.0 §4.4.1, §4.5.1")
def known_enumerations(root: ssc.TopLevel, structure: Structure) -> Iterator[Finding]:
    """An enumeration that a type names is defined in the same document.

    Each document stands for itself: a parameter set does not see the enumerations of the system structure.

    Fix: add it to the `Enumerations` of the document, or correct the name.

    Accepted: the items of the FMU's variable count.
    """
    known = {enumeration.name for enumeration in getattr(root, "enumerations", ())}
    for use in every(root, *_NAMING):
        name = use.get("name")
        defines = first(use, ssc.Item) is not None
        if name is not None and name not in known and not defines and container(use) is root:
            advice = near(name, known) or "define it in the Enumerations of this document"
            message = f"the enumeration '{name}' is not defined in this document"
            yield Finding(use, message, advice, "name", fix=renamed(use, "name", known))


@ENUMERATIONS.rule("ENUM-004", severity=WARNING, basis=DERIVED, source="SSP 2.0 §4.4.1, FMI 3.0 §2.4.5")
def distinct_item_names(enumeration: ssc.Enumeration, structure: Structure) -> Iterator[Finding]:
    """The items of an enumeration have different names.

    Parameter values name items.

    Fix: rename one of them.
    """
    names = Counter(item.name for item in enumeration.items)
    for item in enumeration.items:
        if names[item.name] > 1:
            yield Finding(item, f"{names[item.name]} items are named '{item.name}'", "", "name")


@ENUMERATIONS.rule("ENUM-005", severity=WARNING, basis=DERIVED, source="SSP 2.0 §4.4.1, FMI 3.0 §2.4.5")
def distinct_item_values(enumeration: ssc.Enumeration, structure: Structure) -> Iterator[Finding]:
    """The items of an enumeration have different values.

    An FMU knows the number only, so that two items of one value cannot be told apart.

    Fix: number them as the FMU does.
    """
    values = Counter(item.value for item in enumeration.items)
    for item in enumeration.items:
        if values[item.value] > 1:
            yield Finding(item, f"{values[item.value]} items have the value {item.value}", "", "value")


@ENUMERATIONS.rule("ENUM-006", severity=INFO, basis=TEXT, source="SSP 2.0 §4.4")
def same_enumerations_by_name(structure: Structure) -> Iterator[Finding]:
    """The name of an enumeration means the same in all documents of a system.

    Each document defines its own, so different ones are legal; what a value means is decided by its target.

    Fix: correct the definition that is wrong, or rename it.
    """
    known: dict[str, tuple[str, dict[str, int]]] = {}
    for root in structure.documents():
        file = root.getroottree().docinfo.URL or ""
        for enumeration in getattr(root, "enumerations", ()):
            items = {item.name: item.value for item in enumeration.items}
            other_file, other = known.setdefault(enumeration.name, (file, items))
            if items != other:
                found = f"'{enumeration.name}' has other items in {other_file}"
                yield Finding(enumeration, found, ", ".join(f"{name}={value}" for name, value in other.items()), "name")
