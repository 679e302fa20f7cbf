"""Repeat the run of a result from its manifest, and compare the values."""

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ssptool.api.check import Files, switches_of
from ssptool.api.run import MIB, limits_of, limits_of_child, read_manifest, read_trace, simulate
from ssptool.arguments import WrongArgument, flag, texts
from ssptool.arguments import path as checked_path
from ssptool.arguments import paths as checked_paths
from ssptool.child_processes import passing
from ssptool.documents.archive import Archive
from ssptool.documents.foreign_files import require_file
from ssptool.documents.outside import never_read, with_repositories
from ssptool.engine.failure import Ending
from ssptool.engine.run.manifest import INSIGHT, differences, versions
from ssptool.engine.run.result import Result
from ssptool.engine.settings import Limits
from ssptool.engine.trace import Trace
from ssptool.errors import WrongValue, abbreviated, counted, is_own
from ssptool.option_words import Boxing
from ssptool.public_calls import public
from ssptool.results.comparison import TraceComparison, compare_traces
from ssptool.results.recorded_run import (
    RecordedRun,
    recorded_run,
    require_readable_files,
    require_readable_system,
)
from ssptool.results.reproduction import REPRODUCTION_RENDERERS as REPRODUCTION_RENDERERS
from ssptool.results.reproduction import (
    TOLERANCE,
    InputCheck,
    InputState,
    ReproductionVerdict,
    changed_inputs,
    first_difference,
    with_results,
)
from ssptool.results.reproduction import CannotReproduce as CannotReproduce
from ssptool.results.reproduction import Reproduction as Reproduction
from ssptool.results.tolerance import Tolerance
from ssptool.rules.used_files import sha256
from ssptool.studies.bundle import pack
from ssptool.studies.checking import CheckedStudy, check_study
from ssptool.studies.dataset import DEFINITION, Dataset
from ssptool.studies.definition import FactorRole, RunOutcome, Study, Task
from ssptool.studies.designs import Levels, TableDesign
from ssptool.studies.stored_results import read_results
from ssptool.studies.study_file import study_from
from ssptool.studies.worker import StudyWorker
from ssptool.version import __version__


@public
def reproduce(
    result: Path | str,
    *,
    against: Path | str | None = None,
    system: Path | str | None = None,
    output: Path | str | None = None,
    tolerance: Tolerance | None = None,
    isolated: bool | None = None,
    timeout: float | str | None = None,
    step_timeout: float | str | None = None,
    memory_limit: float | None = None,
    sandbox: Boxing | None = None,
    compile: bool = False,
    env: str | Sequence[str] = (),
    allow_outside: Files = (),
) -> Reproduction:
    """Repeat the run of a result from its manifest, and compare the values.

    System, settings, stimuli and parameters come from the manifest. The caller states the output, the process of the
    FMUs, and the folders that may be read. Files of the manifest are read in the working folder, in the folders of the
    result and of `system`, in the repositories that contain these, and in `allow_outside`; in other places only if
    they have not changed since the run.

    Parameters
    ----------
    result
        Result file (.csv, .parquet, .mat, .h5, .mf4) with its manifest; or a run of a study, as `FOLDER.study#NUMBER`.
    against
        Compare with these results instead of those of `result`.
    system
        Present place of the system, if it has moved.
    output
        File for the results of the new run.
    tolerance
        Values within this tolerance count as the same (default: relative 1e-6).
    isolated, timeout, step_timeout, memory_limit, sandbox, compile, env
        As in `simulate`.
    allow_outside
        Folders outside of an .ssp in which it may read files, as in `simulate`, and in which changed inputs, parameters
        and scenarios of the manifest may be read.

    Returns
    -------
    Reproduction
        `verdict` states whether the values have the same bits, are within the tolerance, or differ; `first` is the
        first difference, and `reasons` lists changed files, versions and settings.

    Raises
    ------
    CannotReproduce
        The results cannot be read or have no manifest, the run used something that is not in a file, or the run is
        not possible. The message lists missing files.
    ContradictingSettings
        Limits or a sandbox are set, but `isolated` is False.

    Examples
    --------
    >>> ssptool.reproduce("plant.csv").same
    """
    given = str(result)
    allowed = TOLERANCE if tolerance is None else tolerance
    limits = limits_of(timeout, step_timeout, memory_limit, sandbox, switches_of(Path(given)).sandbox)
    apart = None if isolated is None else flag("isolated", isolated)
    process = _Process(apart, limits, limits_of_child(limits, apart), flag("compile", compile))
    folders = checked_paths("allow_outside", allow_outside)
    with passing(texts("env", env, "the name of an environment variable")):
        if study := re.fullmatch(r"(?P<folder>.+)#(?P<number>\d+)", given):
            return _study_run(given, Path(study["folder"]), int(study["number"]), allowed, process, folders)
        path = checked_path("result", result)
        if output is not None and Path(output).resolve() == path.resolve():
            raise WrongArgument("output", output, "another file than the result that it is compared with")
        moved = None if system is None else checked_path("system", system)
        return _run(path, against, moved, output, allowed, process, folders)


class _Process(NamedTuple):
    """Options of the caller for the process of the FMUs."""

    isolated: bool | None
    limits: Limits
    child: Limits | None
    compile: bool

    def keywords(self) -> dict[str, Any]:
        limits = self.limits
        return {
            "isolated": self.isolated,
            "timeout": limits.seconds,
            "step_timeout": limits.step_seconds,
            "memory_limit": None if limits.memory is None else limits.memory / MIB,
            "sandbox": limits.sandbox,
            "compile": self.compile,
        }


def _run(
    path: Path,
    against: Path | str | None,
    system: Path | None,
    output: Path | str | None,
    tolerance: Tolerance,
    process: _Process,
    folders: Sequence[Path],
) -> Reproduction:
    manifest = _manifest(path)
    with _as_cannot_reproduce():
        reference = read_trace(path if against is None else checked_path("against", against))
        recorded = recorded_run(path, manifest)
    place = recorded.system if system is None else system
    known = [digest for _, digest in recorded.hashes]
    near = (*folders, *(() if system is None else with_repositories((system.parent,))))
    with _as_cannot_reproduce():
        require_readable_files(path, recorded.files, known, path.parent, near)
        if system is None:
            require_readable_system(path, place, recorded.arguments.get("variant"), known, path.parent, folders)
    outside = switches_of(place, folders).outside
    inputs = checked_inputs(recorded, place, outside)
    with _file_for(output, path) as written:
        again = _run_again(recorded, place, written, process, outside, inputs)
        found = read_trace(written)
        facts = read_manifest(written)
    other = {} if against is None else read_manifest(Path(against))
    reasons = (*changed_inputs(inputs), *_other_versions(manifest, facts), *_other_settings(facts, other))
    remarks = (*_other_end(manifest, again), *reference.assumptions)
    return judged(str(path), found, reference, tolerance, inputs, reasons, remarks)


OUTSIDE = frozenset({"interrupted", Ending.TIMEOUT, Ending.MEMORY})
"""Statuses of runs that were ended by something other than the system."""


def _manifest(path: Path) -> Mapping[str, Any]:
    """The manifest of a result whose run can be repeated."""
    require_file(path)
    if not path.is_file():
        raise CannotReproduce(f"{path}: no such result file; a run of a study is FOLDER.study#NUMBER")
    manifest = read_manifest(path)
    if not manifest:
        raise CannotReproduce(f"{path} has no manifest: another tool wrote it, or its run was interrupted or killed")
    if not manifest.get("arguments"):
        raise CannotReproduce(
            f"{path}: its manifest has no arguments: it is of a study (FOLDER.study#NUMBER repeats its runs), or an "
            "earlier version wrote it"
        )
    if missing := [name for name in ("status", "settings") if name not in manifest]:
        raise CannotReproduce(f"{path}: its manifest is incomplete: it has no {' and no '.join(missing)}")
    if manifest["status"] in OUTSIDE:
        raise CannotReproduce(
            f"{path}: the run ended early ({manifest['status']}), which depends on the machine; run again"
        )
    if unstated := manifest.get("unstated"):
        names = abbreviated(unstated)
        raise CannotReproduce(
            f"{path}: {names} of the run came from a program and are in no file; give them as files "
            "to make a run that can be repeated"
        )
    return manifest


@contextmanager
def _file_for(output: Path | str | None, like: Path) -> Iterator[Path]:
    """File of the new results, in the format of the old ones, to keep the same bits."""
    if output is not None:
        yield checked_path("output", output)
        return
    with tempfile.TemporaryDirectory(prefix="ssptool-") as folder:
        yield Path(folder) / f"again{like.suffix.lower()}"


def _run_again(
    recorded: RecordedRun,
    system: Path,
    output: Path,
    process: _Process,
    outside: Sequence[Path],
    inputs: Sequence[InputCheck],
) -> Result:
    with _as_cannot_reproduce(inputs):
        return simulate(
            system,
            settings=recorded.settings,
            output=output,
            keep=False,
            accuracy="off",
            allow_outside=outside,
            settings_file=False,
            **recorded.arguments,
            **process.keywords(),
        )


@contextmanager
def _as_cannot_reproduce(inputs: Sequence[InputCheck] = ()) -> Iterator[None]:
    """Raise errors of the repetition as CannotReproduce, with the files that changed."""
    try:
        yield
    except CannotReproduce:
        raise
    except Exception as error:
        if not (is_own(error) or isinstance(error, OSError)):
            raise
        changed = "".join(f"; {line}" for line in changed_inputs(inputs))
        raise CannotReproduce(f"the run cannot be made again: {error}{changed}") from error


def checked_inputs(recorded: RecordedRun, system: Path, outside: Sequence[Path]) -> tuple[InputCheck, ...]:
    """State of each input file of the run: the same, changed or missing.

    Raises
    ------
    CannotReproduce
        The system does not exist.
    """
    if not system.exists():
        raise CannotReproduce(f"{system}: the system does not exist any more; give its current path with --system")
    with Archive.open(system, outside=outside, inside=True) as archive:
        return tuple(
            InputCheck(name, _input_state(_present_path(archive, name, recorded.files), digest))
            for name, digest in recorded.hashes
        )


def _present_path(archive: Archive, name: str, given: Sequence[Path]) -> Path:
    """Present path of a file of the manifest; its name may be relative to the working folder of the run."""
    if archive.has(name):
        return archive.local_path(name)
    parts = tuple(part for part in Path(name).parts if part not in ("..", "."))
    return next((path for path in given if path.parts[-len(parts) :] == parts), Path(name))


def _input_state(path: Path, digest: str) -> InputState:
    if never_read(path) or not path.is_file():
        return InputState.MISSING
    return InputState.SAME if sha256(path) == digest else InputState.CHANGED


def _other_versions(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Versions of libraries and platform that differ, as far as both runs state them."""
    there, here = before.get("versions", {}), {**now.get("versions", {}), **versions()}
    for name in there:
        if name in here and there[name] != here[name]:
            yield f"{name} {here[name]} (then {there[name]})"


def _other_settings(made: Mapping[str, Any], against: Mapping[str, Any]) -> Iterator[str]:
    """Overrides and settings that differ in another result."""
    if against:
        here, there = differences([made, against])
        yield from (f"{name}: {value}, in the other result {there[name]}" for name, value in here.items())


def _other_end(manifest: Mapping[str, Any], again: Result) -> Iterator[str]:
    if manifest["status"] != again.status:
        why = "" if again.failure is None else f" ({again.failure})"
        yield f"the run ended with status {again.status}{why}; the recorded status is {manifest['status']}"


def judged(
    name: str,
    found: Trace,
    reference: Trace,
    tolerance: Tolerance,
    inputs: Sequence[InputCheck] = (),
    reasons: Sequence[str] = (),
    remarks: Sequence[str] = (),
) -> Reproduction:
    """Compare the values of a repeated run with those of its result."""
    first = first_difference(found, reference)
    comparison: TraceComparison | None = None
    verdict = ReproductionVerdict.SAME_BITS
    if first is not None:
        try:
            comparison = compare_traces(found, reference, tolerance=tolerance)
            verdict = ReproductionVerdict.INSIDE if comparison.agrees else ReproductionVerdict.DIFFERS
            remarks = (*remarks, *comparison.remarks)
        except WrongValue:
            verdict = ReproductionVerdict.DIFFERS
    if remarks:
        verdict = ReproductionVerdict.DIFFERS
    return Reproduction(
        result=name,
        verdict=verdict,
        tolerance=tolerance,
        rows=len(reference),
        signals=len(reference.columns),
        first=first,
        comparison=comparison,
        inputs=tuple(inputs),
        reasons=tuple(reasons),
        remarks=tuple(remarks),
    )


def _study_run(
    name: str, folder: Path, number: int, tolerance: Tolerance, process: _Process, folders: Sequence[Path]
) -> Reproduction:
    """Repeat a run of a study, with the study as stored in its result folder."""
    dataset = Dataset(folder)
    with _as_cannot_reproduce():
        definition, rows = dataset.definition(), read_results(folder).rows()
    row = next((row for row in rows if row["number"] == number), None)
    if row is None:
        raise CannotReproduce(f"{folder} has no run {number}: {counted(len(rows), 'run')} done of {definition['runs']}")
    with _as_cannot_reproduce():
        wanted = _recorded_study(folder, definition, process, folders)
        checked = check_study(wanted)
        packed = pack(checked.study, checked.points, checked.signals)
        then = {name: digest for name, digest in definition["files"].items() if name not in packed.unused}
        inputs = tuple(_study_inputs(then, packed.files))
        point = checked.points.at(checked.points.ids.index(row["run"]))
        outcome = _outcome(checked, Task(row["run"], number, point), process)
    version = definition["version"]
    versions_told = [] if version == __version__ else [f"ssptool {__version__} (then {version})"]
    reasons = (*changed_inputs(inputs), *versions_told)
    remarks = tuple(_other_outcome(row, outcome))
    values = {result: (value, row[result]) for result, value in outcome.results.items()}
    if outcome.trace is not None and (kept := dataset.traces.of(row["run"])) is not None:
        with tempfile.TemporaryDirectory(prefix="ssptool-") as place:
            path = Path(place) / "trace.parquet"
            path.write_bytes(outcome.trace)
            traces = judged(name, read_trace(path), kept[0], tolerance, inputs, reasons, remarks)
        return with_results(traces, values)
    without_trace = Reproduction(name, ReproductionVerdict.SAME_BITS, tolerance, 0, 0, inputs=inputs, reasons=reasons)
    return with_results(without_trace, values, remarks)


def _recorded_study(folder: Path, definition: Mapping[str, Any], process: _Process, folders: Sequence[Path]) -> Study:
    """The study of a result folder, without logs, without other files to read, compiling only if the caller allows it.

    Raises
    ------
    BadData, CannotReproduce
    """
    table = dict(definition["study"])
    if isinstance(table.get("settings"), Mapping):
        table["settings"] = {name: value for name, value in table["settings"].items() if name not in INSIGHT}
    base, near, digests = Path(definition["folder"]), folder.parent, tuple(definition["files"].values())
    require_readable_files(folder, [base / name for name in _named_files(table)], digests, near, folders)
    study = study_from(table, source=str(base / DEFINITION))
    require_readable_files(folder, list(_value_files(study)), digests, near, folders)
    require_readable_system(folder, study.system, study.variant, digests, near, folders, "--allow-outside")
    return replace(study, compile=process.compile, switches=switches_of(study.system, folders))


def _named_files(table: Mapping[str, Any]) -> Iterator[str]:
    """Files that a study refers to, except its system and the values of factors."""
    design = table.get("design")
    yield from _texts([table.get(name) for name in ("parameters", "inputs", "scenario")])
    yield from _texts(design.get("file") if isinstance(design, Mapping) else None)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def _value_files(study: Study) -> Iterator[Path]:
    """Files used as values of factors."""
    for factor in study.factors:
        if factor.role in (FactorRole.FMU, FactorRole.PARAMETERS):
            levels = factor.source.values if isinstance(factor.source, Levels) else ()
            rows = study.design.values.get(factor.name, ()) if isinstance(study.design, TableDesign) else ()
            yield from (study.file(str(value)) for value in (*levels, *rows))


def _outcome(checked: CheckedStudy, task: Task, process: _Process) -> RunOutcome:
    with StudyWorker(checked.study, checked.signals) as worker:
        return worker.run(task) if process.child is None else worker.run_apart(task, process.child)


def _study_inputs(then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[InputCheck]:
    for file, digest in then.items():
        if file not in now:
            yield InputCheck(file, InputState.MISSING)
        else:
            yield InputCheck(file, InputState.SAME if now[file] == digest else InputState.CHANGED)


def _other_outcome(row: Mapping[str, Any], outcome: RunOutcome) -> Iterator[str]:
    if str(row["status"]) != str(outcome.status):
        yield (
            f"the run ended with status {outcome.status} {outcome.message}; "
            f"the recorded status is {row['status']} {row['message']}"
        )
