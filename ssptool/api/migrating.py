"""From one version of SSP to the other."""

from pathlib import Path

from ssptool.api.saving import BrokenEdit, new_errors
from ssptool.documents.archive import Archive
from ssptool.documents.document import Document
from ssptool.documents.replacement import replacing
from ssptool.editing.versions import (
    LONE_SUFFIXES,
    Migration,
    Types,
    Version,
    downgrade_package,
    migrate_lone,
    upgrade_package,
)


def upgrade(
    system: Path | str,
    *,
    types: str = "keep",
    output: Path | None = None,
    force: bool = False,
    save: bool = True,
) -> Migration:
    """Make a package, or one document (`.ssd`, `.ssv`, `.ssm`, `.ssb`), one of SSP 2.0; see `downgrade`.

    Nothing is lost, and what an earlier downgrade kept aside comes back.

    Parameters
    ----------
    types
        "keep" those of SSP 1.0, which 2.0 has as well; or "fmi3": Real becomes Float64 and Integer becomes Int32, also
        in documents that are of 2.0 already.
    """
    return _migrate(Path(system), Version.V2_0, output, force, save, types=Types(types))


def downgrade(
    system: Path | str, *, drop: bool = False, output: Path | None = None, force: bool = False, save: bool = True
) -> Migration:
    """Make a package, or one document (`.ssd`, `.ssv`, `.ssm`, `.ssb`), one of SSP 1.0.

    Only what must change does. What is weakened or dropped is kept in annotations, and named in the result.

    Parameters
    ----------
    drop
        Drop what 1.0 cannot hold.
    output
        Where to write; without it in place.
    force
        Write even if the system gets new errors.
    save
        False: say what would be written, and write nothing.

    Raises
    ------
    NotRepresentable
        1.0 cannot hold something, and it is not to be dropped.
    InvalidDocument
        A document is not valid in the version that it declares.
    BrokenEdit
        The result would have errors that were not there before.
    """
    return _migrate(Path(system), Version.V1_0, output, force, save, drop=drop)


def _migrate(
    path: Path,
    version: Version,
    output: Path | None,
    force: bool,
    save: bool,
    *,
    drop: bool = False,
    types: Types = Types.KEEP,
) -> Migration:
    if path.is_file() and path.suffix.lower() in LONE_SUFFIXES:
        document = Document(path.name, path.read_bytes())
        migration = migrate_lone(document, version, drop=drop, types=types)
        if save and (migration.files or output):
            with replacing(output or path) as file:
                file.write(document.to_bytes())
        return migration
    with Archive.open(path) as archive:
        upgrades = version is Version.V2_0
        migration = upgrade_package(archive, types=types) if upgrades else downgrade_package(archive, drop=drop)
        if not force and (found := new_errors(archive)):
            raise BrokenEdit(path, found)
        if save and (migration.files or output):
            archive.save(output)
        return migration
