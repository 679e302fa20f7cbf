"""Packages and folders, and the variants in them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import unquote

from ssptool.api.editing import new
from ssptool.api.saving import BrokenEdit, new_errors
from ssptool.dataclass import dataclass
from ssptool.documents.archive import DEFAULT_STRUCTURE, Archive
from ssptool.documents.diagnostics import Diagnostic
from ssptool.documents.ssd import Component
from ssptool.editing import packing, variants
from ssptool.editing.errors import EditError
from ssptool.editing.packing import Packed, Unpacked
from ssptool.editing.variants import VariantEdit
from ssptool.fmu.description import read_description
from ssptool.network.inventory import VariantEntry
from ssptool.rules.runner import check


class NotInFolder(EditError):
    """A package would lack files that its documents name; `diagnostics` are the places."""

    def __init__(self, folder: Path, diagnostics: Sequence[Diagnostic]) -> None:
        listed = "\n".join(f"  {one.position}: {one.message}" for one in diagnostics)
        advice = "copy the files into the folder and correct the references, or pack without them (--force)"
        super().__init__(f"a package of {folder} would lack files that it needs; {advice}\n{listed}")
        self.diagnostics = tuple(diagnostics)


def pack(folder: Path | str, target: Path | str | None = None, *, force: bool = False) -> Packed:
    """Make a package of a folder; equal folders give equal files.

    `README.md` beside the structures and hidden files are left out, and named in the result.

    Parameters
    ----------
    target
        The package to write, which is replaced if it exists; else beside the folder, with its name.
    force
        Write even if what is left out, or lies outside the folder, is needed.

    Raises
    ------
    EditError
        `folder` is no folder, or has files that no package can hold.
    BrokenEdit
        Something that is left out is needed.
    NotInFolder
        Documents name files outside the folder.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise EditError(f"{folder} is no folder: give the folder with SystemStructure.ssd in it")
    target = Path(target) if target is not None else folder.resolve().with_name(folder.resolve().name + packing.SUFFIX)
    with Archive.open(folder) as archive:
        left_out = packing.leave_out(archive)
        if left_out and not force and (found := new_errors(archive)):
            raise BrokenEdit(folder, found)
        if not force and (outside := [one for one in check(archive).diagnostics if one.code == "URI-006"]):
            raise NotInFolder(folder, outside)
        return Packed(target, packing.write_package(archive, target), left_out)


@dataclass(frozen=True, slots=True)
class Converted:
    """An SSP that was written: its files, and notes on what it does not have of the source."""

    path: Path
    names: tuple[str, ...]
    notes: tuple[str, ...]


def convert(source: Path | str, target: Path | str) -> Converted:
    """Write an FMU, or a system of the Open Simulation Platform (OspSystemStructure.xml), as SSP with its FMUs.

    Connectors state type and unit of the FMUs' variables. Step sizes, algorithm and power bonds of the platform are
    annotations of the SSD; an FMU becomes a system of one component with its default experiment.

    Parameters
    ----------
    target
        A package (`.ssp`) or a folder.

    Raises
    ------
    EditError
        `source` is an SSP already, or `target` is no package or folder.
    FileExistsError
        There is something at `target`.
    InvalidDocument
        The source cannot be read, or has what SSP has no counterpart of (OSP-101).
    """
    target = Path(target)
    if target.suffix.lower() not in ("", packing.SUFFIX):
        raise EditError(f"{target} cannot be written: the target is a package ({packing.SUFFIX}) or a folder")
    with Archive.open(source) as archive:
        if not archive.is_generated:
            raise EditError(f"{source} is an SSP already: `ssptool pack` and `ssptool unpack` change its form")
        if archive.default == DEFAULT_STRUCTURE:
            return _converted_fmu(archive, target)
        with Archive.create(target, archive.structure().to_bytes()) as made:
            for name in archive.names():
                if name != archive.default:
                    made.put(name, archive.local_path(name))
            notes = (*archive.notes, *packing.complete(made))
            made.save()
            return Converted(target, made.names(), notes)


def _converted_fmu(archive: Archive, target: Path) -> Converted:
    component = next(archive.structure().structure.every(Component))
    fmu = archive.local_path(unquote(component.source or ""))
    with new(target, name=component.name) as editor:
        editor.add(fmu, name=component.name)
        experiment = read_description(fmu).experiment
        names = editor.archive.names()
    stated = (("step size", experiment.step_size), ("tolerance", experiment.tolerance))
    notes = (f"the {name} {value:g} stays in the FMU: SSP has no place for it" for name, value in stated if value)
    return Converted(target, names, tuple(notes))


def unpack(package: Path | str, folder: Path | str | None = None, *, force: bool = False) -> Unpacked:
    """Write the files of a package into a folder, all of them or none.

    Parameters
    ----------
    folder
        Else beside the package, with its name.
    force
        Write into a folder that is not empty; files that are not in the package stay.

    Raises
    ------
    InvalidDocument
        `package` is no readable package, or has names that lead out of it.
    FileExistsError
        The folder is not empty.
    """
    package = Path(package)
    if not package.exists():
        raise FileNotFoundError(f"{package} does not exist: expected an .ssp file")
    if package.is_dir() or package.suffix.lower() == ".ssd":
        raise EditError(f"{package} is no package: give an .ssp file")
    folder = package.with_suffix("") if folder is None else Path(folder)
    if folder == package:
        raise EditError(f"{package} has no ending to leave out: say which folder to write")
    with Archive.open(package) as archive:
        return packing.unpack_package(archive, folder, force=force)


def list_variants(system: Path | str) -> tuple[VariantEntry, ...]:
    """The variants of a package, the default first."""
    with Archive.open(system) as archive:
        return tuple(
            VariantEntry(document.root.get("name", ""), document.name, document.version)
            for document in archive.variants()
        )


def add_variant(
    system: Path | str, name: str, *, like: str | None = None, file: str | None = None, save: bool = True
) -> VariantEdit:
    """Copy a variant (`like`; else the default) under another name; `file` is else called after the name."""
    return _edit(system, lambda archive: variants.add_variant(archive, name, like=like, file=file), save)


def remove_variant(system: Path | str, variant: str, *, save: bool = True) -> VariantEdit:
    """Take a variant away, which must not be the default; the files that it refers to stay."""
    return _edit(system, lambda archive: variants.remove_variant(archive, variant), save)


def set_default_variant(system: Path | str, variant: str, *, save: bool = True) -> VariantEdit:
    """Make a variant the `SystemStructure.ssd`; the one that was gets a file called after its name."""
    return _edit(system, lambda archive: variants.set_default(archive, variant), save)


def _edit(system: Path | str, change: Callable[[Archive], VariantEdit], save: bool) -> VariantEdit:
    """Raises, besides what the change raises, BrokenEdit if it brings errors into the system."""
    with Archive.open(system) as archive:
        edit = change(archive)
        if edit.files and (found := new_errors(archive)):
            raise BrokenEdit(Path(system), found)
        if edit.files and save:
            archive.save()
        return edit
