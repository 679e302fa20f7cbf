"""The FMU behind a component."""

from pathlib import Path

from ssptool.documents.archive import Archive
from ssptool.fmu.packed import MODEL_DESCRIPTION


def fmu_path(archive: Archive, entry: str) -> Path:
    """Where the FMU is, as `read_description` takes it: an FMU may stand in the archive unpacked, as a folder.

    Raises
    ------
    MissingEntry, InvalidDocument
        It is not there, or cannot be unpacked.
    """
    if archive.has(entry):
        return archive.local_path(entry)
    return archive.local_path(f"{entry.rstrip('/')}/{MODEL_DESCRIPTION}").parent
