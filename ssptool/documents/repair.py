"""Bytes of a document that no XML reader accepts, rewritten so that one does: in UTF-8, with all prefixes declared."""

import re
from dataclasses import dataclass
from xml.parsers import expat

from lxml import etree

from ssptool.documents.element import PARSER
from ssptool.documents.vocabulary import NSMAP

_UTF8, _UTF8_MARK = "utf-8", b"\xef\xbb\xbf"
_WIDE = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"<\x00", "utf-16-le"), (b"\x00<", "utf-16-be"))
_ENCODING = re.compile(r"""(<\?xml[^>]*?\sencoding\s*=\s*)(["'])([^"'<>]*)["']""")
_UNDECLARED = re.compile(r"Namespace prefix (\S+) (?:on|for) ")
_WITHOUT_DECLARATION = "windows-1252"
_PREFIXES = {**NSMAP, "xsi": "http://www.w3.org/2001/XMLSchema-instance"}


@dataclass(frozen=True, slots=True)
class Repair:
    """The repaired bytes; `certain`: no other reading of the original is possible."""

    content: bytes
    certain: bool


def in_utf8(source: bytes) -> Repair | None:
    """A document in another encoding as UTF-8, its declaration included; None if it cannot be read."""
    text, certain = decoded(source)
    if text is None:
        return None
    declared = _ENCODING.sub(r"\g<1>\g<2>UTF-8\g<2>", text.removeprefix("\ufeff"), count=1)
    return Repair(declared.encode(_UTF8), certain)


def decoded(source: bytes) -> tuple[str | None, bool]:
    """The text of a document in any encoding (None if it cannot be read), and whether that is certain.

    The byte order mark or zero bytes tell UTF-16; else the declaration counts (XML 1.0 §4.3.3, appendix F). It is not
    certain to be right where bytes beyond ASCII are also valid UTF-8, nor is a guess where it states UTF-8 or nothing.
    """
    wide = next((encoding for mark, encoding in _WIDE if source.startswith(mark)), None)
    if wide is not None:
        return _decoded(source, wide), True
    plain = source.removeprefix(_UTF8_MARK)
    found = _ENCODING.match(plain.decode("latin-1"))
    stated = "" if found is None else found[3].strip()
    as_utf8 = _decoded(plain, _UTF8)
    if as_utf8 is not None:
        marked = len(plain) < len(source)
        return as_utf8, plain.isascii() or marked or _decoded(plain, stated) in (None, as_utf8)
    known = stated.lower() not in ("", _UTF8, "utf8")
    return _decoded(plain, stated if known else _WITHOUT_DECLARATION), known


def _decoded(source: bytes, encoding: str) -> str | None:
    try:
        return source.decode(encoding)
    except (LookupError, ValueError):
        return None


def with_prefixes(source: bytes) -> Repair | None:
    """A document whose root declares the usual prefixes of SSP where the document uses them undeclared; None if that
    does not make it well-formed.
    """
    at = _end_of_root_name(source)
    declared = set[str]()
    while at is not None:
        added = "".join(f' xmlns:{prefix}="{_PREFIXES[prefix]}"' for prefix in sorted(declared)).encode()
        content = source[:at] + added + source[at:]
        try:
            etree.fromstring(content, PARSER)
        except etree.XMLSyntaxError as problem:
            found = _UNDECLARED.match(problem.msg or "")
            if found is None or found[1] not in _PREFIXES or found[1] in declared:
                return None
            declared.add(found[1])
        else:
            return Repair(content, True) if declared else None
    return None


def _end_of_root_name(source: bytes) -> int | None:
    """The place behind the name in the start tag of the root; None if there is none, or a document type comes first."""
    places: list[int] = []

    def start(name: str, _: object) -> None:
        if not places:
            places.append(reader.CurrentByteIndex + 1 + len(name.encode()))

    def refuse(*_: object) -> None:
        places.append(-1)

    reader = expat.ParserCreate()
    reader.StartElementHandler = start
    reader.StartDoctypeDeclHandler = refuse
    try:
        reader.Parse(source, True)
    except expat.ExpatError:
        return None
    return places[0] if places and places[0] >= 0 else None
