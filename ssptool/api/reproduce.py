"""Make the run of a result again from its manifest, and compare."""

import hashlib
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ssptool.api.check import open_archive, switches_of
from ssptool.api.run import read_manifest, read_trace, simulate
from ssptool.arguments import WrongArgument, flag
from ssptool.arguments import path as checked_path
from ssptool.documents.archive import Archive
from ssptool.documents.foreign_files import open_bytes, require_file
from ssptool.engine.failure import Ending
from ssptool.engine.run.manifest import INSIGHT, differences, versions
from ssptool.engine.run.result import Result
from ssptool.engine.settings import Settings
from ssptool.engine.stimuli.inputs import Inputs
from ssptool.engine.trace import Trace
from ssptool.errors import abbreviated, counted, is_own
from ssptool.results.comparison import NothingToCompare, TraceComparison, compare_traces
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
from ssptool.studies.bundle import pack
from ssptool.studies.checking import CheckedStudy, check_study
from ssptool.studies.dataset import DEFINITION, Dataset
from ssptool.studies.definition import RunOutcome, Task
from ssptool.studies.study_file import study_from
from ssptool.studies.study_results import read_results
from ssptool.studies.worker import Bounds, Runner, StudyWorker
from ssptool.version import __version__


def reproduce(
    result: Path | str,
    *,
    against: Path | str | None = None,
    system: Path | str | None = None,
    output: Path | str | None = None,
    tolerance: Tolerance | None = None,
    isolated: bool = False,
) -> Reproduction:
    """Make the run of a result again, as its manifest says, and compare the values.

    Parameters
    ----------
    result
        A file of results (.csv, .parquet, .mat) with its manifest; or a run of a study, as `FOLDER.study#NUMBER`.
    against
        Results to compare with in place of those of `result`.
    system
        Where the system is now, if that is not where it was.
    output
        A file for the results of the new run.
    tolerance
        What counts as the same where bits differ. Default: relative 1e-6.
    isolated
        Run the FMUs in a process of their own, as `simulate` does.

    Returns
    -------
    Reproduction
        `verdict` says whether the values have the same bits, are inside the tolerance, or differ; `first` where they
        do for the first time, and `reasons` which files, versions and settings are not as they were.

    Raises
    ------
    CannotReproduce
        The results cannot be read or have no manifest, something of the run is in no file, or the run cannot be made;
        files that are missing are named.

    Examples
    --------
    >>> ssptool.reproduce("plant.csv").same
    """
    given = str(result)
    allowed = TOLERANCE if tolerance is None else tolerance
    if study := re.fullmatch(r"(?P<folder>.+)#(?P<number>\d+)", given):
        return _study_run(given, Path(study["folder"]), int(study["number"]), allowed, flag("isolated", isolated))
    path = checked_path("result", result)
    if output is not None and Path(output).resolve() == path.resolve():
        raise WrongArgument("output", output, "another file than the result that it is compared with")
    manifest = _manifest(path)
    with _told():
        reference = read_trace(path if against is None else checked_path("against", against))
    place = checked_path("system", system if system is not None else manifest["arguments"]["system"])
    arguments = {**manifest["arguments"], "system": str(place)}
    inputs = checked_inputs(manifest, arguments)
    with _file_for(output, path) as written:
        again = _run_again(arguments, manifest, written, flag("isolated", isolated), inputs)
        found = read_trace(written)
        facts = read_manifest(written)
    other = {} if against is None else read_manifest(Path(against))
    reasons = (*changed_inputs(inputs), *_other_versions(manifest, facts), *_other_settings(facts, other))
    remarks = (*_other_end(manifest, again), *reference.assumptions)
    return judged(given, found, reference, allowed, inputs, reasons, remarks)


OUTSIDE = frozenset({"interrupted", Ending.TIMEOUT, Ending.MEMORY})
"""Statuses of runs that something else than the system has ended."""


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
    """File of the new results, in the format of the old ones, which keeps the same bits."""
    if output is not None:
        yield checked_path("output", output)
        return
    with tempfile.TemporaryDirectory(prefix="ssptool-") as folder:
        yield Path(folder) / f"again{like.suffix.lower()}"


def _run_again(
    arguments: Mapping[str, Any],
    manifest: Mapping[str, Any],
    output: Path,
    isolated: bool,
    inputs: Sequence[InputCheck],
) -> Result:
    call = {name: value for name, value in arguments.items() if name != "system"}
    if isinstance(call.get("inputs"), dict | list):
        call["inputs"] = _inputs(call["inputs"])
    stated = {name: value for name, value in manifest["settings"].items() if name not in INSIGHT}
    with _told(inputs):
        settings = Settings.of(stated, {})
        return simulate(arguments["system"], settings=settings, output=output, keep=False, isolated=isolated, **call)


@contextmanager
def _told(inputs: Sequence[InputCheck] = ()) -> Iterator[None]:
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


def _inputs(stated: Any) -> Any:
    """Inputs as they were given, from the manifest."""
    if isinstance(stated, list):
        return [_inputs(one) for one in stated]
    if isinstance(stated, Mapping) and stated.keys() == {"source", "interpolation", "columns"}:
        return Inputs(_inputs(stated["source"]), stated["interpolation"], stated["columns"])
    return stated


def checked_inputs(manifest: Mapping[str, Any], arguments: Mapping[str, Any]) -> tuple[InputCheck, ...]:
    """State of each input file of the run: the same, changed or missing.

    Raises
    ------
    CannotReproduce
        The system is not there.
    """
    system = Path(arguments["system"])
    if not system.exists():
        raise CannotReproduce(f"{system}: the system is not there any more; --system says where it is now")
    given = [Path(text) for text in _texts({**arguments, "start_values": None}) if Path(text).is_absolute()]
    with open_archive(system, arguments.get("allow_outside", ()), settings_file=False) as archive:
        return tuple(
            InputCheck(one["name"], _state(_place(archive, one["name"], given), one["sha256"]))
            for one in manifest.get("inputs", ())
        )


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list() | tuple():
            for one in value:
                yield from _texts(one)
        case Mapping():
            for one in value.values():
                yield from _texts(one)


def _place(archive: Archive, name: str, given: Sequence[Path]) -> Path:
    """Present path of a file of the manifest; its name may be relative to the working folder of the run."""
    if archive.has(name):
        return archive.local_path(name)
    parts = tuple(part for part in Path(name).parts if part not in ("..", "."))
    return next((path for path in given if path.parts[-len(parts) :] == parts), Path(name))


def _state(path: Path, digest: str) -> InputState:
    if not path.is_file():
        return InputState.MISSING
    with open_bytes(path) as file:
        same = hashlib.file_digest(file, "sha256").hexdigest() == digest
    return InputState.SAME if same else InputState.CHANGED


def _other_versions(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Libraries, the platform and the kernel, as far as both runs know of them."""
    there, here = before.get("versions", {}), {**now.get("versions", {}), **versions()}
    for name in there:
        if name in here and there[name] != here[name]:
            yield f"{name} {here[name]} (then {there[name]})"
    kernels = [facts.get("statistics", {}).get("kernel") for facts in (before, now)]
    if None not in kernels and kernels[0] != kernels[1]:
        yield f"kernel {kernels[1]} (then {kernels[0]})"


def _other_settings(made: Mapping[str, Any], against: Mapping[str, Any]) -> Iterator[str]:
    """Overrides and settings that another result has otherwise."""
    if against:
        here, there = differences([made, against])
        yield from (f"{name}: {value}, in the other result {there[name]}" for name, value in here.items())


def _other_end(manifest: Mapping[str, Any], again: Result) -> Iterator[str]:
    if manifest["status"] != again.status:
        why = "" if again.failure is None else f" ({again.failure})"
        yield f"the run ends otherwise: {again.status}{why}, then {manifest['status']}"


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
        except NothingToCompare:
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


def _study_run(name: str, folder: Path, number: int, tolerance: Tolerance, isolated: bool) -> Reproduction:
    """A run of a study again, with the study as the folder of its results has it."""
    dataset = Dataset(folder)
    with _told():
        definition, rows = dataset.definition(), read_results(folder).rows()
    row = next((row for row in rows if row["number"] == number), None)
    if row is None:
        raise CannotReproduce(f"{folder} has no run {number}: {counted(len(rows), 'run')} done of {definition['runs']}")
    with _told():
        wanted = study_from(definition["study"], source=str(Path(definition["folder"]) / DEFINITION))
        checked = check_study(replace(wanted, switches=switches_of(wanted.system)))
        packed = pack(checked.study, checked.points, checked.signals)
        then = {name: digest for name, digest in definition["files"].items() if name not in packed.unused}
        inputs = tuple(_study_inputs(then, packed.files))
        point = checked.points.at(checked.points.ids.index(row["run"]))
        outcome = _outcome(checked, Task(row["run"], number, point), isolated)
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


def _outcome(checked: CheckedStudy, task: Task, isolated: bool) -> RunOutcome:
    if not isolated:
        with StudyWorker(checked.study, checked.signals) as worker:
            return worker.run(task)
    with Runner(checked.study, checked.signals, Bounds(retries=0)) as runner:
        return next(runner.run([task]))


def _study_inputs(then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[InputCheck]:
    for file, digest in then.items():
        if file not in now:
            yield InputCheck(file, InputState.MISSING)
        else:
            yield InputCheck(file, InputState.SAME if now[file] == digest else InputState.CHANGED)


def _other_outcome(row: Mapping[str, Any], outcome: RunOutcome) -> Iterator[str]:
    if str(row["status"]) != str(outcome.status):
        yield f"the run ends otherwise: {outcome.status} {outcome.message}, then {row['status']} {row['message']}"
