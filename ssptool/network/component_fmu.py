"""The FMU behind a component: a zip, or an unpacked one, a folder."""

from pathlib import Path

from ssptool.documents.archive import Archive
from ssptool.fmu.packed import MODEL_DESCRIPTION

_ENDING = ".fmu"


def fmu_entry(archive: Archive, entry: str) -> str:
    """The name of the FMU that a component with the source `entry` means.

    A folder with a model description in it is an unpacked FMU. Where there is no `x.fmu`, the folder `x` is meant.
    """
    if archive.has(entry):
        return entry
    folder = entry.rstrip("/")
    plain = folder[: -len(_ENDING)] if folder.lower().endswith(_ENDING) else folder
    return next((name for name in (folder, plain) if archive.has(f"{name}/{MODEL_DESCRIPTION}")), entry)


def has_fmu(archive: Archive, entry: str) -> bool:
    """Whether there is a file or an unpacked FMU."""
    found = fmu_entry(archive, entry)
    return found != entry or archive.has(entry) or archive.has(f"{entry}/{MODEL_DESCRIPTION}")


def fmu_path(archive: Archive, entry: str) -> Path:
    """Where the FMU is, as `read_description` takes it.

    Raises
    ------
    MissingEntry, InvalidDocument
        It is not there, or cannot be unpacked.
    """
    return archive.local_path(fmu_entry(archive, entry))
