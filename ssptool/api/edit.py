"""Create, edit, fix, pack and migrate systems; compare two systems by meaning.

Each function that writes checks the system before and after: new errors raise `BrokenEdit`, and nothing is written.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack
from urllib.parse import unquote

from ssptool.api.check import (
    Files,
    Subjects,
    ValidateOptions,
    refuse_unknown,
    shows,
    switches_of,
    validate_scope,
)
from ssptool.arguments import path as file_path
from ssptool.arguments import seconds, text, word
from ssptool.documents.archive import LONE_SUFFIXES, Archive
from ssptool.documents.diagnostics import Diagnostic, InvalidDocument, Severity
from ssptool.documents.foreign_files import ArchiveLimits, own_output
from ssptool.documents.saving import ChangedMeanwhile as ChangedMeanwhile
from ssptool.documents.saving import replaced_atomically
from ssptool.documents.ssd import Component
from ssptool.editing import package as packing
from ssptool.editing.changes import EditError, FileEdit
from ssptool.editing.changes import unified_diff as unified_diff
from ssptool.editing.diff import DIFF_RENDERERS as DIFF_RENDERERS
from ssptool.editing.diff import Comparison
from ssptool.editing.diff import compare as compare_structures
from ssptool.editing.draft import Packages, empty_structure
from ssptool.editing.editor import Editor as Editor
from ssptool.editing.editor import edit_block
from ssptool.editing.package import Packed, Unpacked, VariantEdit
from ssptool.editing.versions import (
    Migration,
    Version,
    downgrade_package,
    migrate_lone,
    upgrade_package,
)
from ssptool.fmu.read_description import read_description
from ssptool.foreign_text import joined_lines
from ssptool.network.inventory import VariantEntry
from ssptool.option_words import SharedWord, SspWord, Types, TypesWord
from ssptool.public_calls import public
from ssptool.rules.load import load
from ssptool.rules.report import Report, joined
from ssptool.rules.runner import check, check_path, open_checked
from ssptool.rules.runner import fix as fix_archive
from ssptool.rules.selection import Switches


class BrokenEdit(Exception):
    """The edit was not saved because it would add errors to the system; `diagnostics` are these errors."""

    def __init__(self, path: Path, diagnostics: tuple[Diagnostic, ...]) -> None:
        listed = "\n".join(f"  {diagnostic}" for diagnostic in diagnostics)
        what = f"{len(diagnostics)} new errors" if len(diagnostics) > 1 else "a new error"
        super().__init__(f"the edit would give {path} {what} and was not saved\n{listed}")
        self.path = path
        self.diagnostics = diagnostics


NOTHING_RENAMED: Mapping[str, str] = {}


def new_errors(
    archive: Archive, *, weaker_counts: bool = True, renamed: Mapping[str, str] = NOTHING_RENAMED
) -> tuple[Diagnostic, ...]:
    """Errors of an edited archive that the archive on disk does not have.

    `weaker_counts`: warnings on disk count as the same finding (some errors are warnings in SSP 1.0). `renamed`: names
    before → after, to recognize earlier errors.
    """
    now = check(archive).errors
    if not now:
        return ()
    found = (each for each in _found_on_disk(archive.path) if weaker_counts or each.severity is Severity.ERROR)
    return not_among(now, found, renamed)


def not_among(
    now: Iterable[Diagnostic], earlier: Iterable[Diagnostic], renamed: Mapping[str, str]
) -> tuple[Diagnostic, ...]:
    """The findings that differ from earlier ones in more than lines and renamed names."""
    old, new = _name_placeholders(renamed)
    before = {key for each in earlier for key in _identifying_keys(each, old)}
    return tuple(each for each in now if before.isdisjoint(_identifying_keys(each, new)))


def _found_on_disk(path: Path) -> tuple[Diagnostic, ...]:
    try:
        return check_path(path).diagnostics
    except FileNotFoundError:
        return ()


def _identifying_keys(diagnostic: Diagnostic, masks: Mapping[str, str]) -> tuple[tuple[str, ...], ...]:
    """Keys that identify a diagnostic after its line has changed: location or message, or both in a renamed file."""
    code, file = diagnostic.code, diagnostic.position.file
    address, message = (
        _with_placeholders(diagnostic.position.address, masks),
        _with_placeholders(diagnostic.message, masks),
    )
    return (
        (code, file, "at", address),
        (code, file, "says", message),
        (code, "anywhere", address, message),
    )


def _name_placeholders(renamed: Mapping[str, str]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Placeholders for names in messages before and after an edit; an object has the same placeholder in both.

    Old and new names are replaced in both messages, because paths keep the old name.
    """
    marks = [(old, new, f"\0{number}\0") for number, (old, new) in enumerate(renamed.items())]
    olds, news = {old: mark for old, _, mark in marks}, {new: mark for _, new, mark in marks}
    return news | olds, olds | news


def _with_placeholders(text: str, masks: Mapping[str, str]) -> str:
    if not masks:
        return text
    names = "|".join(re.escape(name) for name in sorted(masks, key=len, reverse=True))
    return re.sub(rf"(?<!\w)(?:{names})(?!\w)", lambda found: masks[found[0]], text)


@public
@edit_block
def edit(
    system: Path | str,
    *,
    variant: str | None = None,
    shared: SharedWord = "refuse",
    force: bool = False,
    save: bool = True,
    wait: bool = False,
    allow_outside: Files = (),
) -> Iterator[Editor]:
    """Edit a system: `with ssptool.edit("x.ssp") as system: system.connect("A.y", "B.u")`.

    At the end of the block, ssptool checks the system and saves it completely or not at all. If the block raises an
    exception, nothing is written. If `system` is a link, its target is edited.

    Parameters
    ----------
    shared
        Treatment of a nested document that several components use, or of a parameter set with several bindings:
        "refuse" the edit, edit it for "all" of them, or first give the named one its own "copy".
    force
        Save even if the edits add errors to the system.
    save
        False: check, but write nothing.
    wait
        Take turns with other editors of this system that also wait (such as the command line). Without it, saving
        fails if another program has changed the system in the meantime.
    allow_outside
        Folders outside of the system in which it may read files, as in `validate`.

    Raises
    ------
    BrokenEdit
        The edits add errors. Earlier errors of the system do not prevent saving.
    ChangedMeanwhile
        Another program has changed the system during the block.
    WrongUsage
        A document or an FMU, or its folder, is a link that points outside of the folder of the system.
    WrongUsage
        Another program has been editing the system for a minute, with `wait`.
    """
    with (
        Archive.open(system, outside=switches_of(system, allow_outside).outside, exclusive=wait) as archive,
        closing(Editor(archive, archive.structure(variant), shared)) as editor,
    ):
        archive.require_changeable()
        archive.require_links_inside()
        yield editor
        _finish(editor, force, save)


@public
@edit_block
def new(
    system: Path | str,
    *fmus: Path | str,
    name: str | None = None,
    ssp: SspWord = "1.0",
    start_time: float | str | None = None,
    stop_time: float | str | None = None,
    force: bool = False,
    save: bool = True,
) -> Iterator[Editor]:
    """Create a system: an `.ssp`, an `.ssd`, or a folder (any other name). It is saved at the end, as in `edit`.

    Parameters
    ----------
    fmus
        Create one component for each of these FMUs, as `Editor.add` does (default: none).
    name
        Name of the system (default: name of the file).
    ssp
        Version of SSP: 1.0, which every tool reads and which an edit raises to 2.0 if it needs that; or 2.0.
    start_time, stop_time
        Times of the default experiment [s].

    Raises
    ------
    FileExistsError
        `system` already exists.
    """
    path = file_path("system", system)
    start, stop = _time("start_time", start_time), _time("stop_time", stop_time)
    structure = empty_structure(path.stem if name is None else name, ssp, start, stop)
    with Archive.create(path, structure) as archive, closing(Editor(archive, archive.structure())) as editor:
        yield editor.add(*fmus)
        _finish(editor, force, save)


@public
def diff(
    a: Path | str,
    b: Path | str,
    *,
    variant: str | None = None,
    variant_b: str | None = None,
    allow_outside: Files = (),
) -> Comparison:
    """Differences between two systems by meaning, regardless of formatting, order and prefixes.

    Descriptions, geometry, annotations and metadata are not compared.

    Parameters
    ----------
    variant
        Variant of both systems, or only of the first if `variant_b` is given.
    allow_outside
        Folders outside of the systems in which they may read files, as in `validate`.
    """
    outside_a, outside_b = (switches_of(one, allow_outside).outside for one in (a, b))
    with Archive.open(a, outside=outside_a) as first, Archive.open(b, outside=outside_b) as second:
        structures = first.structure(variant), second.structure(variant_b or variant)
        return compare_structures((first, structures[0]), (second, structures[1]))


def _finish(editor: Editor, force: bool, save: bool) -> None:
    """Check and save the edits of an archive."""
    archive = editor.archive
    if not archive.edits():
        return
    if not force and (found := new_errors(archive, weaker_counts=False, renamed=editor.renamed)):
        raise BrokenEdit(archive.path, found)
    if save:
        archive.save()


def _time(name: str, given: float | str | None) -> float | None:
    return None if given is None else seconds(name, given)


@dataclass(frozen=True, slots=True)
class Mended:
    """Applied fixes, changed files, and the report of the remaining findings."""

    fixed: tuple[Diagnostic, ...]
    edits: tuple[FileEdit, ...]
    report: Report

    @property
    def diff(self) -> str:
        """The changes as unified diffs."""
        return unified_diff(self.edits)


@public
@shows(ValidateOptions.__annotations__, ValidateOptions)
def fix(system: Files, *, unsafe: bool = False, save: bool = True, **options: Unpack[ValidateOptions]) -> Mended:
    """Apply the fixes of rules and save the documents. All other bytes of the documents stay the same.

    Documents in nested packages are also fixed. A list of systems, documents and folders, or a folder that contains
    some, gives one result, as in `validate`. Each system is saved completely or not at all.

    Parameters
    ----------
    variant, select, ignore, strict, tools, allow_outside, settings_file
        As in `validate`. Only reported findings are fixed.
    unsafe
        Also apply guesses, such as the nearest known name.
    save
        False: write nothing.

    Raises
    ------
    InvalidDocument
        The archive cannot be opened.
    """
    refuse_unknown(fix, options)
    subjects = Subjects.of(system)
    mended = list(subjects.each(lambda path: _fix_one(path, unsafe, save, options), lambda one: one.report))
    if subjects.alone:
        return mended[0]
    return Mended(
        tuple(one.report.from_here(each) for one in mended for each in one.fixed),
        tuple(replace(edit, name=one.report.path_of(edit.name)) for one in mended for edit in one.edits),
        joined([one.report for one in mended]),
    )


def _fix_one(system: Path, unsafe: bool, save: bool, options: ValidateOptions) -> Mended:
    variant, switches = validate_scope(system, **options)
    with open_checked(system, switches.outside, exclusive=save) as archive, closing(Packages()) as packages:
        mended = fix_archive(archive, variant, switches=switches, unsafe=unsafe)
        fixed, report = mended.diagnostics, mended.report
        if inside := tuple(_fix_inside(archive, packages, variant, switches, unsafe)):
            fixed, report = (*fixed, *inside), check(archive, variant, switches=switches)
        edits = tuple(packages.edits(archive))
        if save and archive.edits():
            archive.save()
    return Mended(fixed, edits, report)


def _fix_inside(
    around: Archive, packages: Packages, variant: str | None, switches: Switches, unsafe: bool, depth: int = 1
) -> Iterator[Diagnostic]:
    """Fix each nested package separately, and write it back."""
    # Deeper ones are not checked either.
    for name in load(around, variant).packages if depth <= ArchiveLimits().depth else ():
        try:
            archive, inner = packages.open(around, name)
        except InvalidDocument:
            continue  # It is reported, and has no document to mend.
        here = fix_archive(archive, switches=switches, unsafe=unsafe).diagnostics
        for diagnostic in here:
            yield replace(diagnostic, position=diagnostic.position._replace(file=inner.name + diagnostic.position.file))
        yield from _fix_inside(archive, inner, None, switches, unsafe, depth + 1)
    packages.put_back(around)


@public
def upgrade(
    system: Path | str,
    *,
    types: TypesWord = "keep",
    output: Path | None = None,
    force: bool = False,
    save: bool = True,
    allow_outside: Files = (),
) -> Migration:
    """Convert a package or one document (`.ssd`, `.ssv`, `.ssm`, `.ssb`) to SSP 2.0; see `downgrade`.

    Nothing is lost. Content that an earlier downgrade kept in annotations is restored.

    Parameters
    ----------
    types
        "keep" the types of SSP 1.0, which are also valid in 2.0; or "fmi3": Real becomes Float64 and Integer becomes
        Int32, also in documents that already are SSP 2.0.
    """
    return _migrate(
        file_path("system", system), Version.V2_0, output, force, save, allow_outside, types=word("types", types, Types)
    )


@public
def downgrade(
    system: Path | str,
    *,
    drop: bool = False,
    output: Path | None = None,
    force: bool = False,
    save: bool = True,
    allow_outside: Files = (),
) -> Migration:
    """Convert a package or one document (`.ssd`, `.ssv`, `.ssm`, `.ssb`) to SSP 1.0.

    Only necessary changes are made. Weakened or dropped content is kept in annotations, and the result lists it.

    Parameters
    ----------
    drop
        Drop content that SSP 1.0 cannot represent.
    output
        File or folder to write (default: overwrite the source).
    force
        Write even if the system gets new errors.
    save
        False: report the changes, but write nothing.
    allow_outside
        Folders outside of the system in which it may read files, as in `validate`.

    Raises
    ------
    RefusedEdit
        SSP 1.0 cannot represent some content, and `drop` is not set.
    InvalidDocument
        A document is not valid in its declared version.
    BrokenEdit
        The result would have new errors.
    """
    return _migrate(file_path("system", system), Version.V1_0, output, force, save, allow_outside, drop=drop)


def _migrate(
    path: Path,
    version: Version,
    output: Path | None,
    force: bool,
    save: bool,
    allow_outside: Files,
    *,
    drop: bool = False,
    types: Types = Types.KEEP,
) -> Migration:
    if path.is_file() and path.suffix.lower() in LONE_SUFFIXES:
        return _migrate_lone(path, version, output, save, drop, types)
    outside = switches_of(path, allow_outside).outside
    with Archive.open(path, outside=outside, exclusive=save and output is None) as archive:
        archive.require_changeable()
        upgrades = version is Version.V2_0
        migration = upgrade_package(archive, types=types) if upgrades else downgrade_package(archive, drop=drop)
        if not force and (found := new_errors(archive)):
            raise BrokenEdit(path, found)
        if save and (migration.files or output):
            archive.save(output)
        return migration


def _migrate_lone(path: Path, version: Version, output: Path | None, save: bool, drop: bool, types: Types) -> Migration:
    with Archive.of_document(path, exclusive=save and output is None) as archive:
        document = archive.document(archive.default)
        migration = migrate_lone(document, version, drop=drop, types=types)
        if save and output is not None:
            with replaced_atomically(output) as file:
                file.write(document.to_bytes())
        elif save and migration.files:
            archive.save()
        return migration


def _not_in_folder(folder: Path, diagnostics: Sequence[Diagnostic]) -> EditError:
    """Error for a package that would lack files of its documents."""
    listed = joined_lines(f"  {one.position}: {one.message}" for one in diagnostics)
    advice = "copy the files into the folder and correct the references, or pack without them (--force)"
    return EditError(f"a package of {folder} would lack files that it needs; {advice}\n{listed}")


@public
def pack(folder: Path | str, target: Path | str | None = None, *, force: bool = False) -> Packed:
    """Pack a folder as a package; equal folders give equal files.

    READMEs, `ssptool.toml`, hidden files, and outputs of commands next to the structures are skipped; the result
    lists them.

    Parameters
    ----------
    target
        Package to write; an existing file is overwritten (default: FOLDER.ssp next to the folder).
    force
        Write even if the system needs files that are skipped or lie outside the folder.

    Raises
    ------
    EditError
        `folder` is not a folder, or has files that a package cannot contain.
    BrokenEdit
        The system needs a skipped file.
    EditError
        Documents refer to files outside the folder.
    """
    folder = file_path("folder", folder)
    if folder.exists() and not folder.is_dir():
        raise EditError(f"{folder} is not a folder: give the folder with SystemStructure.ssd in it")
    target = (
        file_path("target", target)
        if target is not None
        else own_output(folder.resolve().with_name(folder.resolve().name + packing.SUFFIX))
    )
    with Archive.open(folder) as archive:
        left_out = packing.leave_out(archive)
        if left_out and not force and (found := new_errors(archive)):
            raise BrokenEdit(folder, found)
        if not force and (outside := [one for one in check(archive).diagnostics if one.code == "URI-006"]):
            raise _not_in_folder(folder, outside)
        return Packed(target, packing.write_package(archive, target), left_out)


@dataclass(frozen=True, slots=True)
class Converted:
    """Result of a conversion to SSP: the written files, and notes on content of the source that SSP lacks."""

    path: Path
    names: tuple[str, ...]
    notes: tuple[str, ...]


@public
def convert(source: Path | str, target: Path | str, *, allow_outside: Files = ()) -> Converted:
    """Convert an FMU, or a system of the Open Simulation Platform (OspSystemStructure.xml), to SSP with its FMUs.

    Connectors declare type and unit of the FMU variables. Step sizes, algorithm and power bonds of the platform become
    annotations of the SSD. An FMU becomes a system with one component and the default experiment of the FMU.

    Parameters
    ----------
    target
        A package (`.ssp`) or a folder.
    allow_outside
        Folders outside of an OspSystemStructure.xml in which it may read files, as in `validate`.

    Raises
    ------
    EditError
        `source` already is an SSP, or `target` is not a package or folder.
    FileExistsError
        `target` already exists.
    InvalidDocument
        The source cannot be read, or SSP has no counterpart for some of its content (OSP-101).
    """
    target = file_path("target", target)
    if target.suffix.lower() not in ("", packing.SUFFIX):
        hint = "; `ssptool export` makes FMUs" if target.suffix.lower() == ".fmu" else ""
        raise EditError(f"{target} cannot be written: the target is a package ({packing.SUFFIX}) or a folder{hint}")
    with Archive.open(source, outside=switches_of(source, allow_outside).outside) as archive:
        if not archive.is_generated:
            raise EditError(f"{source} is an SSP already: `ssptool pack` and `ssptool unpack` change its form")
        if archive.is_fmu:
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


@public
def unpack(
    package: Path | str, folder: Path | str | None = None, *, force: bool = False, portable: bool = False
) -> Unpacked:
    """Write the files of a package into a folder, all of them or none.

    Parameters
    ----------
    folder
        Folder to write (default: next to the package, with its name).
    force
        Write into a folder that is not empty. Its files that are not in the package stay.
    portable
        Reject names that are invalid on Linux, macOS or Windows, before anything is written.

    Raises
    ------
    EditError
        `package` is not an .ssp file; or, with `portable`, has such names.
    InvalidDocument
        `package` is not a readable package, or has names that point outside of it.
    FileExistsError
        The folder is not empty.
    """
    package = file_path("package", package)
    if not package.exists():
        raise FileNotFoundError(f"{package} does not exist: expected an .ssp file")
    if package.is_dir() or package.suffix.lower() == ".ssd":
        raise EditError(f"{package} is not a package: give an .ssp file")
    folder = own_output(package.with_suffix("")) if folder is None else file_path("folder", folder)
    if folder == package:
        raise EditError(f"{package} has no ending to leave out: say which folder to write")
    with Archive.open(package, inside=True) as archive:
        return packing.unpack_package(archive, folder, force=force, portable=portable)


@public
def list_variants(system: Path | str) -> tuple[VariantEntry, ...]:
    """The variants of a package, the default first."""
    with Archive.open(system) as archive:
        return tuple(
            VariantEntry(document.root.get("name", ""), document.name, document.version)
            for document in archive.variants()
        )


@public
def add_variant(
    system: Path | str, name: str, *, like: str | None = None, file: str | None = None, save: bool = True
) -> VariantEdit:
    """Copy the variant `like` (default: the default variant) under a new name, to `file` (default: NAME.ssd)."""
    return _edit(system, lambda archive: packing.add_variant(archive, text("name", name), like=like, file=file), save)


@public
def remove_variant(system: Path | str, variant: str, *, save: bool = True) -> VariantEdit:
    """Remove a variant, except the default one. Files that the variant refers to stay."""
    return _edit(system, lambda archive: packing.remove_variant(archive, variant), save)


@public
def set_default_variant(system: Path | str, variant: str, *, save: bool = True) -> VariantEdit:
    """Make a variant the default: its file becomes SystemStructure.ssd, the previous default becomes NAME.ssd."""
    return _edit(system, lambda archive: packing.set_default(archive, variant), save)


def _edit(system: Path | str, change: Callable[[Archive], VariantEdit], save: bool) -> VariantEdit:
    """Apply a change to a package. Raises the errors of the change, and BrokenEdit if it adds errors to the system."""
    with Archive.open(system, exclusive=save) as archive:
        edit = change(archive)
        if edit.files and (found := new_errors(archive)):
            raise BrokenEdit(Path(system), found)
        if edit.files and save:
            archive.save()
        return edit
