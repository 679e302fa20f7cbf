"""The public functions: each opens a system, takes it as far as asked, and returns a frozen value.

`path` is an `.ssp`, the folder of an unpacked one, or an `.ssd`. `variant` names an SSD of the package by its
`name` or its file; without it `SystemStructure.ssd` is meant. `parameters` are `.ssv` files applied on top of the
system's own bindings, the last one winning; `overrides` (name → text) win over everything.

Common errors: FileNotFoundError, `InvalidDocument` (the file cannot be read at all), `UnknownVariant`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import Diagnostic
from ssptool.documents.document import Document
from ssptool.documents.replacement import replacing
from ssptool.draw.explanation import EXPLANATION_RENDERERS as EXPLANATION_RENDERERS
from ssptool.draw.graphs import GRAPH_RENDERERS as GRAPH_RENDERERS
from ssptool.draw.inventory import INVENTORY_RENDERERS as INVENTORY_RENDERERS
from ssptool.draw.plot import Curve, plot_signals
from ssptool.draw.plot import check_plot_name as check_plot_name
from ssptool.edit.changes import unified_diff as unified_diff
from ssptool.edit.compare import Comparison
from ssptool.edit.compare import compare as compare_structures
from ssptool.edit.comparison_text import COMPARISON_RENDERERS as COMPARISON_RENDERERS
from ssptool.edit.creating import empty_structure
from ssptool.edit.editor import Editor as Editor
from ssptool.edit.versions import (
    LONE_SUFFIXES,
    Migration,
    Version,
    downgrade_package,
    migrate_lone,
    upgrade_package,
)
from ssptool.engine.call_sequence import call_sequence as call_sequence
from ssptool.engine.plan import Plan, make_plan
from ssptool.engine.settings import Settings as Settings
from ssptool.engine.simulate import Result, run
from ssptool.engine.trace import Trace
from ssptool.network.dependencies import Stage
from ssptool.network.explanation import Explained, explain_all
from ssptool.network.explanation import explain as explain_names
from ssptool.network.flatten import build_network
from ssptool.network.inventory import Inventory, take_inventory
from ssptool.network.network import Network
from ssptool.network.system_graph import SystemGraph, analyze
from ssptool.rules.renderers import RENDERERS
from ssptool.rules.report import Report
from ssptool.rules.runner import check, check_path

REPORT_RENDERERS = RENDERERS
NO_OVERRIDES: Mapping[str, str] = {}


class InvalidSystem(Exception):
    """The system has errors, so it is not run; `report` says which."""

    def __init__(self, report: Report) -> None:
        count = len(report.errors)
        what = f"{count} errors" if count > 1 else "an error"
        super().__init__(f"{report.subject} has {what} and is not run\n\n{RENDERERS['text'](report)}")
        self.report = report


class BrokenEdit(Exception):
    """An edit that would bring errors into a system, and was not saved; `diagnostics` are the new errors."""

    def __init__(self, path: Path, diagnostics: tuple[Diagnostic, ...]) -> None:
        listed = "\n".join(f"  {diagnostic}" for diagnostic in diagnostics)
        what = f"{len(diagnostics)} new errors" if len(diagnostics) > 1 else "a new error"
        super().__init__(f"the edit would give {path} {what} and was not saved\n{listed}")
        self.path = path
        self.diagnostics = diagnostics


def validate(path: Path | str, *, variant: str | None = None) -> Report:
    """Everything that is wrong with a system, with file, line, reason and fix. No FMU binary is loaded.

    Without `variant` all SSDs at the root of the package are checked. A file that cannot be opened as an archive is
    a finding as well.
    """
    return check_path(Path(path), variant)


def flatten(
    path: Path | str,
    *,
    variant: str | None = None,
    parameters: Sequence[Path] = (),
    overrides: Mapping[str, str] = NO_OVERRIDES,
) -> Network:
    """The flat network: components, wires with conversions, parameters with provenance."""
    with _valid(path, variant) as (archive, structure):
        return build_network(archive, structure, overrides=overrides, parameter_files=parameters)


def info(path: Path | str, *, variant: str | None = None) -> Inventory:
    """What is in a system, at a glance."""
    with Archive.open(path) as archive:
        structure = archive.structure(variant)
        return take_inventory(archive, structure, build_network(archive, structure))


def explain(
    path: Path | str,
    *names: str,
    variant: str | None = None,
    parameters: Sequence[Path] = (),
    overrides: Mapping[str, str] = NO_OVERRIDES,
) -> tuple[Explained, ...]:
    """Why variables and connectors have their values, by their full names; without a name, all of them.

    A system with errors is explained as far as it can be flattened.

    Raises
    ------
    UnknownName
        The system has no such variable; `near` has names like it.
    """
    with Archive.open(path) as archive:
        structure = archive.structure(variant)
        network = build_network(archive, structure, overrides=overrides, parameter_files=parameters)
    return explain_names(network, *names) if names else explain_all(network)


def graph(path: Path | str, *, variant: str | None = None, stage: Stage = Stage.COMMUNICATION) -> SystemGraph:
    """Component cycles, algebraic loops with what closes them, and the evaluation order."""
    return analyze(flatten(path, variant=variant), stage)


def plan(
    path: Path | str,
    *,
    variant: str | None = None,
    parameters: Sequence[Path] = (),
    overrides: Mapping[str, str] = NO_OVERRIDES,
    settings: Settings | None = None,
) -> Plan:
    """What a run would do, resolved to the last call, made without loading a binary."""
    network = flatten(path, variant=variant, parameters=parameters, overrides=overrides)
    return make_plan(network, settings or Settings())


def simulate(
    path: Path | str,
    *,
    variant: str | None = None,
    parameters: Sequence[Path] = (),
    overrides: Mapping[str, str] = NO_OVERRIDES,
    settings: Settings | None = None,
    output: Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Initialize and co-simulate a system.

    Parameters
    ----------
    output
        CSV file to which the trace is streamed; `time` first, then one column per connector by its full name.
    progress
        Called with the fraction 0 … 1 of the interval that is done.

    Returns
    -------
    Result
        The trace, how initialization went, statistics; `status` says whether the run reached its end.

    Raises
    ------
    InvalidSystem
        The system has errors. No binary has been loaded.
    """
    with _valid(path, variant) as (archive, structure):
        network = build_network(archive, structure, overrides=overrides, parameter_files=parameters)
        return run(make_plan(network, settings or Settings()), archive, output=output, progress=progress)


@contextmanager
def edit(path: Path | str, *, variant: str | None = None, force: bool = False, save: bool = True) -> Iterator[Editor]:
    """Edit a system: `with ssptool.edit("x.ssp") as system: system.connect("A.y", "B.u")`.

    At the end of the block the system is checked and saved, all of it or nothing. If the block raises, nothing is
    written.

    Parameters
    ----------
    force
        Save even if the edits bring new errors into the system.
    save
        False: check, but write nothing.

    Raises
    ------
    BrokenEdit
        The edits bring new errors. Errors that the system had before do not keep it from being saved.
    """
    with Archive.open(path) as archive:
        editor = Editor(archive, archive.structure(variant))
        yield editor
        _finish(editor, force, save)


@contextmanager
def new(
    path: Path | str,
    *,
    name: str | None = None,
    version: str = "2.0",
    start_time: float | None = None,
    stop_time: float | None = None,
    force: bool = False,
    save: bool = True,
) -> Iterator[Editor]:
    """Make a system: an `.ssp`, an `.ssd`, or else a folder; it is empty, and is saved as `edit` does.

    Parameters
    ----------
    name
        Of the system; else the file's.
    version
        Of SSP, 1.0 or 2.0.
    start_time, stop_time
        The default experiment [s].

    Raises
    ------
    FileExistsError
        There is something at `path`.
    """
    path = Path(path)
    structure = empty_structure(path.stem if name is None else name, version, start_time, stop_time)
    with Archive.create(path, structure) as archive:
        editor = Editor(archive, archive.structure())
        yield editor
        _finish(editor, force, save)


def plot(trace: Trace, path: Path, title: str = "") -> None:
    """Draw every signal of a trace, one panel per unit, into a PNG, SVG or PDF file."""
    curves = [
        Curve(column.signal, column.unit, trace[column.signal]) for column in trace.columns if column.type == "Float64"
    ]
    plot_signals(trace.t, curves, path, title)


def compare(a: Path | str, b: Path | str, *, variant: str | None = None, variant_b: str | None = None) -> Comparison:
    """What differs between two systems by meaning, whatever their formatting, order or prefixes.

    Not compared are descriptions, geometry, annotations and metadata.

    Parameters
    ----------
    variant
        Of both systems; or with `variant_b` of the first.
    """
    with Archive.open(a) as first, Archive.open(b) as second:
        structures = first.structure(variant), second.structure(variant_b or variant)
        return compare_structures((first, structures[0]), (second, structures[1]))


def upgrade(path: Path | str, *, output: Path | None = None, write: bool = True) -> Migration:
    """Make a package, or one document (`.ssd`, `.ssv`, `.ssm`, `.ssb`), one of SSP 2.0; see `downgrade`.

    Nothing is lost, and what an earlier downgrade kept aside comes back.
    """
    return _migrate(Path(path), Version.V2_0, output, write, drop=False)


def downgrade(path: Path | str, *, drop: bool = False, output: Path | None = None, write: bool = True) -> Migration:
    """Make a package, or one document (`.ssd`, `.ssv`, `.ssm`, `.ssb`), one of SSP 1.0.

    Only what must change does. What is weakened or dropped is kept in annotations, and named in the result.

    Parameters
    ----------
    drop
        Drop what 1.0 cannot hold.
    output
        Where to write; without it in place.
    write
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
    return _migrate(Path(path), Version.V1_0, output, write, drop=drop)


def _migrate(path: Path, version: Version, output: Path | None, write: bool, *, drop: bool) -> Migration:
    if path.is_file() and path.suffix.lower() in LONE_SUFFIXES:
        document = Document(path.name, path.read_bytes())
        migration = migrate_lone(document, version, drop=drop)
        if write and (migration.files or output):
            with replacing(output or path) as file:
                file.write(document.to_bytes())
        return migration
    with Archive.open(path) as archive:
        upgrades = version is Version.V2_0
        migration = upgrade_package(archive) if upgrades else downgrade_package(archive, drop=drop)
        if found := _new_errors(archive):
            raise BrokenEdit(path, found)
        if write and (migration.files or output):
            archive.save(output)
        return migration


@contextmanager
def _valid(path: Path | str, variant: str | None) -> Iterator[tuple[Archive, Document]]:
    """An open archive and a structure in it that has no errors."""
    with Archive.open(path) as archive:
        structure = archive.structure(variant)
        report = check(archive, structure.name)
        if report.errors:
            raise InvalidSystem(report)
        yield archive, structure


def _finish(editor: Editor, force: bool, save: bool) -> None:
    """Check and save the edits of an archive."""
    archive = editor.archive
    if not archive.edits():
        return
    if not force and (found := _new_errors(archive)):
        raise BrokenEdit(archive.path, found)
    if save:
        archive.save()


def _new_errors(archive: Archive) -> tuple[Diagnostic, ...]:
    """The errors of an edited archive that the one on disk does not have, not even as warnings of SSP 1.0."""
    now = check(archive).errors
    if not now:
        return ()
    before = {essence for each in _found_on_disk(archive.path) for essence in _essences(each)}
    return tuple(each for each in now if before.isdisjoint(_essences(each)))


def _found_on_disk(path: Path) -> tuple[Diagnostic, ...]:
    try:
        return check_path(path).diagnostics
    except FileNotFoundError:
        return ()


def _essences(diagnostic: Diagnostic) -> tuple[tuple[str, ...], ...]:
    """By what a diagnostic is known again, although lines have changed: by its place, or by its words."""
    code, file = diagnostic.code, diagnostic.position.file
    return (code, file, "at", diagnostic.position.address), (code, file, "says", diagnostic.message)
