"""Files in the folder of a system that do not belong to it: hidden files, README, settings, outputs of commands."""

from collections.abc import Mapping
from contextlib import suppress

from ssptool.documents.archive import LONE_SUFFIXES, Archive, UnresolvableUri
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.vocabulary import SETTINGS_FILE, is_named_as_output


def aside(archive: Archive) -> Mapping[str, str]:
    """Entries of an unpacked system that do not go into a package, by name, each with the reason.

    Results, logs, plots and studies that commands wrote next to the structure are left out, unless a document refers to
    them. All entries of a package belong to it.
    """
    if not archive.unpacked:
        return {}
    names = archive.names()
    outputs = set(filter(is_named_as_output, names))
    if outputs:
        outputs -= referenced(archive)
    reasons = {name: _reason(name, name in outputs) for name in names}
    return {name: reason for name, reason in reasons.items() if reason}


def _reason(name: str, is_output: bool) -> str:
    """Reason for leaving out an entry; empty if it belongs to the system."""
    if hidden(name) is not None:
        return "hidden"
    if "/" not in name and name.lower().startswith("readme"):
        return "not part of the system"
    if name == SETTINGS_FILE:
        return "settings of ssptool"
    return "written by a command" if is_output else ""


def hidden(name: str) -> str | None:
    """The outermost hidden file or folder in a path; None if there is none."""
    parts = name.split("/")
    return next(("/".join(parts[: depth + 1]) for depth, part in enumerate(parts) if part.startswith(".")), None)


def referenced(archive: Archive) -> set[str]:
    """Entries that any URI of the documents refers to, including URIs in annotations, because other tools may need the
    files.
    """
    found = set()
    for name in archive.names():
        if not name.lower().endswith((".ssd", *LONE_SUFFIXES)):
            continue
        with suppress(InvalidDocument):
            for node in archive.document(name).root.iter("*"):
                for uri_of in filter(None, (node.get("source"), node.get("iconSource"))):
                    with suppress(UnresolvableUri):
                        found.add(archive.resolve(name, uri_of))
    return found
