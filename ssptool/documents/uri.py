"""Resolve URI references of documents to entries of the archive (SSP 2.0 §5.4; RFC 3986)."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from urllib.parse import unquote

_REFERENCE = re.compile(r"(?:(?P<scheme>[^:/?#]+):)?(?P<authority>//[^/?#]*)?(?P<path>[^?#]*)(?P<query>\?[^#]*)?")
_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class UnresolvableUri(ValueError):
    """The URI `uri` cannot be resolved to an entry of the archive, because of `reason`."""

    def __init__(self, uri: str, reason: str) -> None:
        super().__init__(f"cannot resolve the URI {uri!r}: {reason}")
        self.uri = uri
        self.reason = reason


def unsafe(name: str) -> str | None:
    """Reason why a path is unsafe as the name of an entry; None if it is safe."""
    if not name or name.startswith("/"):
        return "is absolute" if name else "is empty"
    if "\\" in name:
        return "contains a backslash"
    if _DRIVE.match(name):
        return "starts with a drive letter"
    if _CONTROL.search(name):
        return "contains a control character"
    return "contains '..'" if ".." in name.split("/") else None


_RESERVED = re.compile(r"(CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(COM|LPT)[0-9¹²³])", re.IGNORECASE)
_REFUSED = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\]')
LONGEST_PART = 255
"""Largest length of the name of a file or folder on Linux, macOS and Windows [bytes in UTF-8]."""
LONGEST_NAME = 240
"""Largest length of an entry's name [characters]: a path on Windows has at most 259, including the folder."""


def unportable(name: str) -> str | None:
    """Reason why Linux, macOS or Windows does not support a file of this name; None if all do."""
    for part in name.split("/"):
        if found := _REFUSED.search(part):
            return f"has the character {found[0]!a}, which Windows does not take"
        if part not in (".", "..") and part.endswith((".", " ")):
            return f"has the part {part!r}, whose last character Windows leaves out"
        if _RESERVED.fullmatch(part.partition(".")[0].rstrip(" ")):
            return f"has the part {part!r}, which is a device on Windows"
        if (size := len(part.encode("utf-8", "surrogatepass"))) > LONGEST_PART:
            return f"has a part of {size} bytes, more than the {LONGEST_PART} that file systems take"
    if len(name) > LONGEST_NAME:
        return f"has {len(name)} characters, more than the {LONGEST_NAME} that Windows takes inside a folder"
    return None


def unportable_names(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Names that Linux, macOS or Windows does not support, alone or together with earlier names, each with the
    reason.
    """
    spelled: dict[str, str] = {}
    for name in names:
        other = _other_spelling(name, spelled)
        reason = unportable(name) if other is None else f"differs from {other!r} in upper and lower case only"
        if reason is not None:
            yield name, reason


def _other_spelling(name: str, spelled: dict[str, str]) -> str | None:
    """A name in `spelled` that differs from this name, or from one of its folders, only in case. All of them are added
    to `spelled`.
    """
    ends = (*(found.start() for found in re.finditer("/", name)), len(name))
    for path in (name[:end] for end in ends):
        known = spelled.setdefault(unicodedata.normalize("NFC", path).casefold(), path)
        if known != path:
            return known
    return None


UP = "../"


@lru_cache(maxsize=8192)  # for all components, in each check while a user types
def resolve(base: str, uri: str, *, upwards: bool = False) -> str:
    """Resolve `uri` in the document `base` to the name of an entry.

    The empty reference is the document itself. A fragment is ignored, because it points inside the document. With
    `upwards` the name may lie outside the archive and start with `../`.

    Raises
    ------
    UnresolvableUri
        The URI has a scheme, an authority or a query, is absolute, or leaves the archive.
    """
    parts = _REFERENCE.match(uri.strip(" \t\r\n"))
    assert parts is not None  # every part is optional
    for part, reason in (
        ("scheme", "it has a scheme; only relative URIs are supported"),
        ("authority", "it names a host; only relative URIs are supported"),
        ("query", "it has a query, which nothing in an archive answers"),
    ):
        if parts[part] is not None:
            raise UnresolvableUri(uri, reason)
    path = parts["path"]
    if path.startswith("/"):
        raise UnresolvableUri(uri, "it is absolute; write it relative to the document")
    if _BAD_ESCAPE.search(path):
        raise UnresolvableUri(uri, "it has a '%' that is not followed by two hexadecimal digits")
    if not path:
        return base
    name = _merged(base, uri, [_decoded(segment, uri) for segment in path.split("/")], upwards)
    if problem := unsafe(without_ups(name) if upwards else name):
        raise UnresolvableUri(uri, f"the name {name!r} {problem}")
    return name


def _decoded(segment: str, uri: str) -> str:
    try:
        decoded = unquote(segment, errors="strict")
    except UnicodeDecodeError:
        raise UnresolvableUri(uri, "its percent-encoded bytes are not UTF-8") from None
    if "/" in decoded or "\\" in decoded:
        raise UnresolvableUri(uri, "a part of it contains a slash or backslash")
    return decoded


def without_ups(name: str) -> str:
    """Name without its leading `../`."""
    while name.startswith(UP):
        name = name[len(UP) :]
    return name


def _merged(base: str, uri: str, segments: list[str], upwards: bool) -> str:
    """Merge with the folder of `base` and remove dot segments; the result may lie above the root only with
    `upwards`.
    """
    path = base.split("/")[:-1]
    for segment in segments:
        if segment == "..":
            if path and path[-1] != "..":
                path.pop()
            elif upwards:
                path.append("..")
            else:
                raise UnresolvableUri(uri, "it lies outside the archive")
        elif segment not in ("", "."):
            path.append(segment)
    return "/".join(path)
