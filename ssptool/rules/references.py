"""Where the URI of a `source` attribute leads (SSP 2.0 §5.4, RFC 3986)."""

import re
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import unquote

from ssptool.documents import ssc, ssd
from ssptool.documents import uri as uris
from ssptool.documents.archive import DEFAULT_STRUCTURE, Archive
from ssptool.documents.element import Element
from ssptool.documents.nesting import INSIDE
from ssptool.rules.trees import around

_NOT_IN_URIS = re.compile(r'[\s\\<>"{}|^`]|%(?![0-9A-Fa-f]{2})')
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:|/")


class Reach(StrEnum):
    """Where a URI leads."""

    INSIDE = "to an entry of the package"
    SAME_DOCUMENT = "to the document itself"
    OUTSIDE = "out of the package"
    ABSOLUTE = "to an absolute address"
    INVALID = "nowhere: it is not a URI"
    UNKNOWN = "into a component that cannot be opened"


class Reference(NamedTuple):
    """A URI seen from a file: `entry` is the path inside the archive if it leads there, `fragment` what follows `#`."""

    uri: str
    reach: Reach
    entry: str = ""
    fragment: str = ""
    reason: str = ""


def inside(reference: Reference) -> str:
    """The entry of the system structure that a reference to a package means: that of its fragment, or the default."""
    return f"{reference.entry}{INSIDE}{unquote(reference.fragment) or DEFAULT_STRUCTURE}"


def resolve(uri: str, base: str, within: Callable[[str, str], str] = uris.resolve) -> Reference:
    """Resolve a URI against the file of the archive that contains it; `within` knows packages inside the archive."""
    path, _, fragment = uri.partition("#")
    if wrong := _NOT_IN_URIS.search(uri):
        return Reference(uri, Reach.INVALID, reason=f"the character {wrong[0][:1]!r} may not stand there")
    if _ABSOLUTE.match(path):
        return Reference(uri, Reach.ABSOLUTE, fragment=fragment)
    if not path:
        return Reference(uri, Reach.SAME_DOCUMENT, base, fragment)
    try:
        return Reference(uri, Reach.INSIDE, within(base, path), fragment)
    except uris.UnresolvableUri as problem:
        leaves = ".." in path.split("/")
        return Reference(uri, Reach.OUTSIDE if leaves else Reach.INVALID, reason=problem.reason)


def refer(element: Element, uri: str, base: str, archive: Archive) -> Reference:
    """Where a URI of an element of the file `base` leads: `sourceBase` may say into or beside another file."""
    holder = _base(element)
    if holder is None:
        return resolve(uri, base, archive.resolve)
    whole = refer(holder, getattr(holder, "source", None) or "", base, archive)
    if whole.reach is not Reach.INSIDE or not archive.has(whole.entry):
        return Reference(uri, Reach.UNKNOWN)
    if isinstance(holder, ssd.Component) and not whole.entry.lower().endswith(".ssd"):
        return resolve(uri, whole.entry, archive.inside)
    return resolve(uri, whole.entry, archive.resolve)


def _base(element: Element) -> Element | None:
    """The element around another one to whose file that one's URI is relative; None if that is the document itself."""
    match getattr(element, "source_base", None):
        case ssd.SourceBase.COMPONENT:
            return next(around(element, ssd.Component), None)
        case ssc.MetaSourceBase.RESOURCE | ssc.MetaSourceBase.META_DATA:
            return next(around(element, Element), None)
        case _:
            return None
