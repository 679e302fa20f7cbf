"""Names of a copy of a system and its files, next to the version that another program has saved."""

from collections.abc import Mapping
from pathlib import Path

from ssptool.documents.archive import Archive
from ssptool.errors import WrongUsage, abbreviated

Files = Mapping[str, bytes | None]


def free_name(system: Path, name: str, archive: Archive, edited: Files) -> Path:
    """Path of a new system of the same kind, relative to the folder that contains the system.

    Raises
    ------
    WrongUsage
        The name has the extension of another kind; or a copy of a lone `.ssd` would share edited files with it.
    FileExistsError
        The path already exists.
    """
    if not name.strip():
        raise WrongUsage("a system needs a name")
    endings = (".ssd", ".ssp") if archive.is_lone else (".ssp",) if archive.packed else ("", ".ssp")
    target = system.absolute().parent / name.strip()
    target = target if target.suffix else target.with_suffix(endings[0])
    if target.suffix.lower() not in endings:
        expected = f"it ends in {' or '.join(endings)}" if all(endings) else "a folder has no ending, a package .ssp"
        raise WrongUsage(f"{name!r} cannot be the name of the copy: {expected}")
    if target.exists():
        raise FileExistsError(f"{target} exists: choose another name")
    others = sorted(set(edited) - {archive.default})
    if target.suffix.lower() == ".ssd" and (others or target.parent != system.absolute().parent):
        reason = f"you have changed {abbreviated(others)}, too" if others else "the .ssd refers to files next to it"
        raise WrongUsage(f"{reason}: choose a name that ends in .ssp, which saves all files as a package")
    return target


def save_copy(archive: Archive, target: Path) -> None:
    """Save an archive under a name from `free_name`; a lone `.ssd` becomes a package with the files that it uses."""
    if not archive.is_lone or target.suffix.lower() == ".ssd":
        archive.save(target)
        return
    names = dict.fromkeys((*archive.names(), *archive.files_read))
    with Archive.create(target, archive.content(archive.default)) as package:
        for name in names:
            if name != archive.default and archive.has(name):
                package.put(name, archive.content(name))
        package.save()


def names_around(target: Path, around: Path, edited: Files, before: Files) -> dict[Path, bytes]:
    """Paths and contents of edited files around a system that are saved together with a copy of it.

    They keep their names, except files whose contents on disk differ from those `before` they were edited: these get
    the name of the copy as a second extension. Raises FileExistsError.
    """
    found = {}
    for name, content in edited.items():
        if content is None:
            continue
        file = target.parent / name
        on_disk = file.read_bytes() if file.is_file() else None
        if on_disk is not None and (target.parent != around or on_disk != before.get(name)):
            file = file.with_name(f"{file.stem}.{target.stem}{file.suffix}")
            if file.exists():
                raise FileExistsError(f"{file} exists: choose another name")
        found[file] = content
    return found
