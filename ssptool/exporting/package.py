"""The files of an exported FMU: description, runtime, frozen plan, the FMUs of the parts, and the system itself."""

import hashlib
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from ssptool.documents.archive import DEFAULT_STRUCTURE, Archive
from ssptool.documents.aside import aside, referenced
from ssptool.documents.foreign_files import ForeignZip
from ssptool.documents.saving import save_file
from ssptool.documents.ssd import SystemStructureDescription
from ssptool.documents.uri import UP
from ssptool.documents.vocabulary import EXPORTED_SYSTEM, EXPORTED_VARIANT
from ssptool.engine.assembly.instances import Sources
from ssptool.engine.planning.plan import Plan, PlannedInstance
from ssptool.engine.run.freeze import firsts_of_sources, part_folder
from ssptool.engine.run.frozen_variables import Json
from ssptool.errors import abbreviated, counted
from ssptool.exporting.capabilities import ExportInterface
from ssptool.exporting.connectors import with_enumerations
from ssptool.exporting.continuous import with_continuous
from ssptool.exporting.description import in_tools, model_description, model_identifier
from ssptool.exporting.exposed import exported_variables
from ssptool.exporting.frozen_plan import frozen
from ssptool.exporting.interface import ExportedVariable, independent
from ssptool.exporting.refusals import refuse_export
from ssptool.exporting.runtimes import PLATFORM_FOLDERS, choose_platforms, runtime_library
from ssptool.exporting.terminals import exported_terminals, terminals_xml
from ssptool.fmu.model_description_xml import BINARIES, fmu_entries, named_library
from ssptool.fmu.terminals import TERMINALS
from ssptool.foreign_text import strict_json
from ssptool.network.conversion import document_units
from ssptool.network.explanation import notes_on_exported_inputs
from ssptool.printed import Printed, prints
from ssptool.tempfiles import TemporaryFolder

_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""Date of all entries, so that equal systems give identical files."""

_KEPT = ("binaries/", "resources/")
"""Folders of a part's FMU that its instances need."""


@dataclass(frozen=True, slots=True)
class ExportedFmu(Printed):
    """An exported FMU: its file, its variables, the entries of the archive, and its platforms.

    `notes` lists omitted platforms, FMUs that the embedded system lacks, and inputs without a connection. `step_size`
    is that of its macro steps [s], whatever the importer's steps are; None: it has no macro steps.
    """

    path: Path
    variables: tuple[ExportedVariable, ...]
    names: tuple[str, ...]
    platforms: tuple[str, ...]
    notes: tuple[str, ...] = ()
    step_size: float | None = None


@prints(ExportedFmu)
def exported_text(made: ExportedFmu) -> str:
    """Text with notes, the file, the number of its variables, and the size of its macro steps."""
    kinds = Counter(str(one.causality) for one in made.variables if one.causality != "independent")
    counts = ", ".join(counted(number, kind) for kind, number in kinds.items())
    steps = "" if made.step_size is None else f", macro steps of {made.step_size:g} s"
    return "\n".join([*(f"note: {note}" for note in made.notes), f"{made.path}: {counts or 'no variables'}{steps}"])


def export_fmu(
    plan: Plan,
    archive: Archive,
    sources: Sources,
    target: Path,
    *,
    expose: Sequence[str] = (),
    fmi: int = 2,
    interface: ExportInterface = ExportInterface.CS,
    platforms: Sequence[str] = (),
) -> ExportedFmu:
    """Write the FMU (FMI 2.0 or 3.0), completely or not at all. For model exchange, the plan must integrate all
    components.

    Raises
    ------
    Unsupported
        The system or its settings use a feature that exported FMUs do not support, or a component lacks a library for a
        platform.
    UnknownName
        A pattern of `expose` matches no variable.
    UnknownName, MissingPackage, RuntimeNotBuilt
    """
    root = archive.structure(plan.variant or None).root_as(SystemStructureDescription)
    variables = with_enumerations(exported_variables(plan, expose, fmi), root)
    if interface is not ExportInterface.CS:
        variables = with_continuous(plan, variables, fmi)
    if fmi == 3:
        variables = (*variables, independent(variables))
    refuse_export(plan, variables, fmi)
    chosen, omitted = choose_platforms(plan, sources, platforms)
    libraries = {one: runtime_library(one) for one in chosen}
    content = frozen(plan, variables, interface)
    token = _token(content)
    with TemporaryFolder() as place:
        folder = Path(place)
        package = folder / "system" / "system.ssp"  # in its own folder, which is locked while it is written
        package.parent.mkdir()
        _save_package(archive, package)
        made = folder / "made.fmu"
        with zipfile.ZipFile(made, "w") as fmu:
            description = model_description(plan, variables, token, fmi, interface, document_units(root))
            _add(fmu, "modelDescription.xml", description)
            if terminals := exported_terminals(plan, variables, sources):
                _add(fmu, TERMINALS, terminals_xml(terminals))
            for platform, library in libraries.items():
                name = f"{BINARIES}{platform.folder(fmi)}/{model_identifier(plan.name)}{platform.ending}"
                _add(fmu, name, library.read_bytes())
            text = strict_json({**content, "token": token}, ensure_ascii=False, separators=(",", ":"))
            _add(fmu, "resources/plan.json", text.encode())
            for number, one in zip(firsts_of_sources(plan), plan.instances, strict=True):
                if plan.instances[number] is one:
                    kept = {platform.folder(one.description.fmi_major) for platform in chosen}
                    _add_part(fmu, number, one, sources.local_path(one.source), kept)
            _add(fmu, EXPORTED_SYSTEM, package.read_bytes())
            if plan.variant:
                _add(fmu, EXPORTED_VARIANT, plan.variant.encode())
            names = tuple(fmu.namelist())
        save_file(target, made.read_bytes())
    of_plan = (*_notes_on_tools(plan), *_notes_on_files_outside(plan), *notes_on_exported_inputs(plan.network))
    notes = (*omitted, *of_plan)
    step = None if plan.is_one_ode else plan.interval.step
    return ExportedFmu(target, variables, names, tuple(one.name for one in chosen), notes, step)


def _save_package(archive: Archive, target: Path) -> None:
    """Save the system without unrelated files; a lone `.ssd` with the files that were read for it; an FMU or a system
    of another format as its structure with its FMUs.
    """
    if archive.is_generated:
        files = [name for name in archive.names() if name != archive.default]
    else:
        files = [name for name in archive.files_read if name != archive.default]
    if not (archive.is_lone or archive.is_generated) or DEFAULT_STRUCTURE in files:
        archive.save(target, without=aside(archive).keys() - referenced(archive))
        return
    with Archive.create(target, archive.content(archive.default)) as made:
        for name in files:
            made.put(name, archive.local_path(name))
        made.save()


def _notes_on_tools(plan: Plan) -> Iterator[str]:
    if tools := in_tools(plan):
        yield f"the FMU runs only on machines with the tools that exported the FMUs of {abbreviated(tools)}"


def _notes_on_files_outside(plan: Plan) -> Iterator[str]:
    outside = sorted({one.source for one in plan.instances if one.source.startswith(UP)})
    if outside:
        lie, them = ("lies", "it") if len(outside) == 1 else ("lie", "them")
        yield (
            f"{abbreviated(outside)} {lie} outside the folder of the system: the FMU runs with {them}, but `ssptool "
            f"info`, validate and explain of it do not find {them}; copy {them} into the folder and correct the SSD"
        )


def _token(content: Json) -> str:
    """Token, equal for equal frozen plans."""
    return "{" + hashlib.sha256(strict_json(content, sort_keys=True).encode()).hexdigest()[:32] + "}"


def _add_part(fmu: zipfile.ZipFile, number: int, one: PlannedInstance, source: Path, kept: Set[str]) -> None:
    """Add the files of a part, without libraries for platforms that the FMU has no runtime for. If a library is the
    only one for its platform, it gets the name that the runtime expects.
    """
    names = fmu_entries(source)
    for name, content in _entries(source):
        if name == "modelDescription.xml" or (name.startswith(_KEPT) and not _is_of_other_platform(name, kept)):
            stated = named_library(name, names, one.used_interface)
            _add(fmu, f"resources/{part_folder(number)}/{stated}", content)


def _is_of_other_platform(name: str, kept: Set[str]) -> bool:
    first, _, rest = name.partition("/")
    folder, is_folder, _ = rest.partition("/")
    return f"{first}/" == BINARIES and bool(is_folder) and folder in PLATFORM_FOLDERS and folder not in kept


def _entries(source: Path) -> Iterator[tuple[str, bytes]]:
    if source.is_dir():
        for file in sorted(source.rglob("*")):
            if file.is_file():
                yield file.relative_to(source).as_posix(), file.read_bytes()
        return
    with ForeignZip(source) as contents:
        for info in contents.infolist():
            if not info.is_dir():
                yield info.filename, contents.read(info)


def _add(fmu: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, _LONG_AGO)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (0o755 if name.startswith(BINARIES) or f"/{BINARIES}" in name else 0o644) << 16
    fmu.writestr(info, content)
