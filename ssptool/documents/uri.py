"""Resolve URI references of documents to entries of the archive (SSP 2.0 §5.4; RFC 3986)."""

import re
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
    """The reason why a path is unsafe as the name of an entry; None if it is safe."""
    if not name or name.startswith("/"):
        return "is absolute" if name else "is empty"
    if "\\" in name:
        return "contains a backslash"
    if _DRIVE.match(name):
        return "starts with a drive letter"
    if _CONTROL.search(name):
        return "contains a control character"
    return "contains '..'" if ".." in name.split("/") else None


UP = "../"


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
    """A name without its leading `../`."""
    while name.startswith(UP):
        name = name[len(UP) :]
    return name


def _merged(base: str, uri: str, segments: list[str], upwards: bool) -> str:
    """Merge with the folder of `base` and remove dot segments: above the root of the archive only with `upwards`."""
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
