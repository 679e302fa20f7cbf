"""What libxml2 says about a violated schema, in words for the author of the document."""

import re
from collections.abc import Callable
from difflib import get_close_matches

from lxml import etree

from ssptool.documents.converters import any_uri, boolean, double, hex_binary, integer, signed, unsigned
from ssptool.documents.element import Element
from ssptool.documents.namespaces import NSMAP

_PREFIXES = {uri: prefix for prefix, uri in NSMAP.items()}

_NAME = re.compile(r"\{([^{}]+)\}([\w.\-]+)")
_ATTRIBUTE = re.compile(r", attribute '([^']*)'")
_EXPECTED = re.compile(r"Expected is (?:one of )?\( (.*) \)")
_ITEM = re.compile(r"': '(.*)' is not a valid value of the (?:local )?atomic type '(?:xs:|\{[^}]*\})(\w+)'", re.DOTALL)
_SET = re.compile(r"is not an element of the set \{(.*)\}\.")
_NC_NAME = re.compile(r"[^\W\d][\w.\-]*")

# libxml2 names no more than ten elements of those that it expects.
_NAMED_AT_MOST = 10
_SHOWN_LENGTH = 60

_EXPECTED_OF_TYPE = {
    "anyURI": any_uri.expected,
    "boolean": boolean.expected,
    "double": double.expected,
    "float": double.expected,
    "hexBinary": hex_binary.expected,
    "byte": signed(8).expected,
    "short": signed(16).expected,
    "int": signed(32).expected,
    "long": signed(64).expected,
    "unsignedByte": unsigned(8).expected,
    "unsignedShort": unsigned(16).expected,
    "unsignedInt": unsigned(32).expected,
    "unsignedLong": unsigned(64).expected,
    "AnyInteger64": integer.expected,
    "dateTime": "a date and time such as 2024-05-17T09:30:00Z",
}


def in_words(element: Element, attribute: str, entry: etree._LogEntry) -> str:
    """What was found and what is allowed.

    Parameters
    ----------
    element, attribute
        What the entry is about; no attribute: "".
    """
    describe = _DESCRIPTIONS.get(entry.type_name, _anything_else)
    return describe(element, attribute, entry.message)


def attribute_of(entry: etree._LogEntry) -> str:
    """The name of the attribute that an entry is about, in lxml's notation; empty if it is about the element."""
    match = _ATTRIBUTE.search(entry.message)
    return match[1] if match else ""


def shown(name: str) -> str:
    """A name in lxml's notation, `{namespace}name`, with the usual prefix: `ssd:System`."""
    uri, _, local = name.rpartition("}")
    if not uri:
        return local
    prefix = _PREFIXES.get(uri[1:])
    return f"{prefix}:{local}" if prefix else f"{local} (of namespace {uri[1:]})"


def _quoted(value: str) -> str:
    return f"'{value}'" if len(value) <= _SHOWN_LENGTH else f"'{value[:_SHOWN_LENGTH]}…'"


def _tagged(name: str) -> str:
    return f"<{shown(name)}>"


def _where(element: Element, attribute: str) -> str:
    """The subject of a sentence about an attribute, with its value."""
    value = _quoted(element.get(attribute, ""))
    return f"{_tagged(element.tag)}: attribute '{shown(attribute)}' is {value}"


def _content(element: Element, _: str, message: str) -> str:
    listed = _EXPECTED.search(message)
    names = [name.strip() for name in listed[1].split(",")] if listed else []
    # A wildcard reads ##other{…}*; what it admits cannot be named.
    expected = [_tagged(name) for name in names if "*" not in name]
    choice = " or ".join(filter(None, [", ".join(expected[:-1]), *expected[-1:]]))
    if len(names) == _NAMED_AT_MOST:
        choice += " (among others)"
    if "Missing child" in message:
        return f"{_tagged(element.tag)} is incomplete: it lacks {choice}"
    parent = element.getparent()
    place = "" if parent is None else f" in {_tagged(parent.tag)}"
    local = element.tag.rpartition("}")[2]
    namesakes = [name for name in names if name.rpartition("}")[2] == local]
    advice = f"; its namespace should be that of {_tagged(namesakes[0])}" if namesakes else ""
    if not advice and choice:
        advice = f"; expected {choice}"
    return f"{_tagged(element.tag)} is not allowed at this place{place}{advice}"


def _attribute_missing(element: Element, _: str, message: str) -> str:
    missing = re.search(r"attribute '([^']*)' is required", message)
    return f"{_tagged(element.tag)} lacks the attribute '{missing[1] if missing else ''}'"


def _attribute_not_allowed(element: Element, attribute: str, _: str) -> str:
    declared = [known.name for known in type(element).attributes().values()]
    similar = get_close_matches(attribute, set(declared) - {attribute} - set(element.keys()), n=1)
    advice = f"; did you mean '{similar[0]}'?" if similar else ""
    return f"{_tagged(element.tag)}: attribute '{shown(attribute)}' is not allowed{advice}"


def _not_of_type(element: Element, attribute: str, message: str) -> str:
    item = _ITEM.search(message)
    if item is None:
        return _anything_else(element, attribute, message)
    found, expected = item[1], _EXPECTED_OF_TYPE.get(item[2], item[2])
    if item[2] == "ID":
        expected = "a name: letters, digits, '.', '-', '_', and a letter or '_' first"
        if _NC_NAME.fullmatch(found.strip()):
            return f"{_where(element, attribute)}, but another element has this {attribute} already"
    if found == element.get(attribute):
        return f"{_where(element, attribute)}, not {expected}"
    return f"{_where(element, attribute)}; in this list {_quoted(found)} is not {expected}"


def _not_in_set(element: Element, attribute: str, message: str) -> str:
    allowed = _SET.search(message)
    return f"{_where(element, attribute)}; allowed are {allowed[1] if allowed else 'other values'}"


def _too_short(element: Element, attribute: str, _: str) -> str:
    return f"{_tagged(element.tag)}: attribute '{shown(attribute)}' must not be empty"


def _no_such_version(element: Element, attribute: str, message: str) -> str:
    if attribute != "version":
        return _anything_else(element, attribute, message)
    return f"{_where(element, attribute)}; the schema of SSP 1.0 allows '1.0'"


def _out_of_range(element: Element, attribute: str, _: str) -> str:
    # The only range that no built-in type of XML Schema expresses.
    return f"{_where(element, attribute)}, not {integer.expected}"


def _text_not_allowed(element: Element, _: str, __: str) -> str:
    return f"{_tagged(element.tag)} may contain elements, but no text"


def _must_be_empty(element: Element, _: str, __: str) -> str:
    return f"{_tagged(element.tag)} must be empty: no elements, no text, no blanks"


def _wrong_root(element: Element, _: str, __: str) -> str:
    return (
        f"{_tagged(element.tag)} is no root of an SSP document; these are <ssd:SystemStructureDescription>, "
        "<ssv:ParameterSet>, <ssm:ParameterMapping> and <ssb:SignalDictionary>"
    )


def _anything_else(_: Element, __: str, message: str) -> str:
    """libxml2's own words, with prefixes for namespaces."""
    return _NAME.sub(lambda name: shown(name[0]), message)


_DESCRIPTIONS: dict[str, Callable[[Element, str, str], str]] = {
    "SCHEMAV_CVC_COMPLEX_TYPE_2_1": _must_be_empty,
    "SCHEMAV_CVC_COMPLEX_TYPE_2_3": _text_not_allowed,
    "SCHEMAV_CVC_COMPLEX_TYPE_3_2_1": _attribute_not_allowed,
    "SCHEMAV_CVC_COMPLEX_TYPE_3_2_2": _attribute_not_allowed,
    "SCHEMAV_CVC_COMPLEX_TYPE_4": _attribute_missing,
    "SCHEMAV_CVC_DATATYPE_VALID_1_2_1": _not_of_type,
    "SCHEMAV_CVC_ELT_1": _wrong_root,
    "SCHEMAV_CVC_ENUMERATION_VALID": _not_in_set,
    "SCHEMAV_CVC_MAXINCLUSIVE_VALID": _out_of_range,
    "SCHEMAV_CVC_MININCLUSIVE_VALID": _out_of_range,
    "SCHEMAV_CVC_MINLENGTH_VALID": _too_short,
    "SCHEMAV_CVC_PATTERN_VALID": _no_such_version,
    "SCHEMAV_ELEMENT_CONTENT": _content,
}
