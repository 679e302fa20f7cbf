"""Messages on malformed XML: the error in the text, and the correct spelling.

libxml2 reports its own functions (`xmlParseEntityRef: no name`) instead of the wrong quote or ampersand.
"""

import re
from typing import NamedTuple

from ssptool.documents.vocabulary import NSMAP


class Fault(NamedTuple):
    """A syntax error in words, and advice."""

    message: str
    advice: str


# libxml2 appends the position; for its limits it also appends advice for programmers.
_PLACE = re.compile(r",? line \d+, column \d+")
_LIMIT = re.compile(r",? (?:use|try) XML_PARSE_HUGE(?: option)?")
_AMPERSAND = "write `&amp;` for `&`"
_QUOTES = 'write attributes as name="value"'
_BLANKS = f"{_QUOTES}, with blanks between them"
_FAULTS = {
    r"xmlParseEntityRef: no name|EntityRef: expecting ';'": ("a `&` is not escaped", _AMPERSAND),
    r"Entity '(.+)' not defined": (r"XML has no entity `&\1;`", "write the character itself, or `&amp;` for `&`"),
    r"AttValue: \" or ' expected": ("the value of an attribute has no quotes", _QUOTES),
    r"AttValue: ' expected": ("the value of an attribute has no quote at its end", _QUOTES),
    r"Unescaped '<' not allowed in attributes values": (
        "the value of an attribute contains `<`",
        "write `&lt;` for `<`, or add the quote that ends the value before it",
    ),
    r"error parsing attribute name": (
        "a tag continues with something that is not an attribute",
        f"add the `>` that ends the tag before it, or {_BLANKS}",
    ),
    r"attributes construct error|Specification mandates value for attribute .*": (
        "the attributes of a tag cannot be told apart",
        f"look for a quote that is missing or too many, and {_BLANKS}",
    ),
    r"Couldn't find end of Start Tag (\S+)(?: line (\d+))?": (r"the tag <\1> has no end", "add the `>` or `/>`"),
    r"expected '>'": ("an end tag has no `>`", "add it"),
    r"Opening and ending tag mismatch: (\S+) line (\d+) and (\S+)": (
        r"found the end tag of \3, expected the end tag of \1, which begins in line \2",
        r"add the end tag of \1 before it, or correct the name",
    ),
    r"Premature end of data in tag (\S+) line (\d+)": (
        r"the file ends before the end tag of \1, which begins in line \2",
        r"add the end tag of \1; the end of the file may be lost",
    ),
    r"Attribute (\S+) redefined": (r"the attribute \1 occurs twice in a tag", "remove one of them"),
    r"Namespace prefix (\S+) .*is not defined": (r"the prefix \1 has no namespace", ""),
    r"Document is empty|no element found": ("the file is empty", "restore it, or make a system with `ssptool new`"),
    r"Start tag expected, '<' not found": ("no element begins here", "the file may be of another format"),
    r"Extra content at the end of the document": (
        "text or an element follows the end of the root element",
        "remove it, or move it into the root element",
    ),
    r"XML declaration allowed only at the start of the document": (
        "the declaration <?xml …?> is not the first thing in the file",
        "remove blanks and lines before it",
    ),
    r"Double hyphen within comment.*": ("a comment contains `--`", "write a single hyphen"),
}
_KNOWN = [(re.compile(pattern), words) for pattern, words in _FAULTS.items()]


def fault_of(message: str) -> Fault:
    """Meaning of an error of libxml2 or expat."""
    if _LIMIT.search(message):
        return _beyond_limits(message)
    told = _PLACE.sub("", message).strip()
    for pattern, (what, advice) in _KNOWN:
        if found := pattern.fullmatch(told):
            remedy = found.expand(advice) if advice else _declaration(found[1])
            return Fault(f"not well-formed XML: {found.expand(what)}", remedy)
    return Fault(f"not well-formed XML: {told}", "correct the syntax")


def _declaration(prefix: str) -> str:
    return f'write xmlns:{prefix}="{NSMAP.get(prefix, "…")}" into the root element'


def _beyond_limits(message: str) -> Fault:
    """Nesting or text beyond a limit, with advice; the syntax may be correct."""
    deep = re.search(r"Excessive depth in document: (\d+)", message)
    if deep is not None:
        return Fault(
            f"elements are nested deeper than the limit of {deep[1]} levels",
            "use fewer levels: a nested system may be a document of its own, the source of a component",
        )
    told = _LIMIT.sub("", _PLACE.sub("", message)).removeprefix("Resource limit exceeded: ").strip()
    return Fault(
        f"the document exceeds a limit of the XML reader: {told[:1].lower()}{told[1:]}",
        "shorten its texts and attributes (at most 10 MB each), or refer to a file with the content",
    )
