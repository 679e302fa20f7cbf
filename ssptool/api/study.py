"""Studies (many runs of one system), calibration, and plots of both.

A study is a `Study`, a mapping with the same entries, or a .toml file. Its results are a folder, to which runs are
added until all points of the design are done.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os.path import relpath
from pathlib import Path
from typing import Any

from ssptool.api.check import Files, open_archive, switches_of
from ssptool.api.understand import info
from ssptool.arguments import WrongArgument, accuracy_of, boxing, flag, mapping, texts, word
from ssptool.arguments import number as real_number
from ssptool.arguments import path as file_path
from ssptool.child_processes import passing
from ssptool.confinement import confined_to
from ssptool.documents.outside import out_of_reach
from ssptool.documents.saving import save_file
from ssptool.documents.ssd import SystemStructureDescription
from ssptool.drawing.charts import draw_chart, draw_chart_page
from ssptool.drawing.plot_model import PAGES, check_plot_name
from ssptool.engine.run.result import Run, trace_of
from ssptool.engine.stimuli.stimuli import known_units
from ssptool.engine.trace import Trace
from ssptool.errors import ContradictingSettings, WrongValue
from ssptool.fmu.units import named
from ssptool.network.conversion import conversion, document_units
from ssptool.network.flatten import build_network
from ssptool.network.network import Signal
from ssptool.option_words import AccuracyWord, Boxing, ChartWord, StudyWord
from ssptool.public_calls import public
from ssptool.rules.selection import SettingsFile
from ssptool.rules.used_files import beyond_reach
from ssptool.sandbox import sandboxed
from ssptool.sandbox import wanted as in_sandbox
from ssptool.studies.calibration import CONFIDENCE, fit_targets, fit_trace, minimize_result, open_trials, write_fit
from ssptool.studies.calibration import CalibrationFailed as CalibrationFailed
from ssptool.studies.calibration import Fit as Fit
from ssptool.studies.charts import ChartKind, chart
from ssptool.studies.checking import CheckedStudy, check_places, check_study
from ssptool.studies.dataset import DEFINITION, Dataset, OtherStudy
from ssptool.studies.definition import Study, rows_of_columns
from ssptool.studies.designs import FactorValue
from ssptool.studies.entries import Findings, beyond
from ssptool.studies.first_draft import StudiedSystem, StudyKind, default_results, factor_of_sweep, first_draft
from ssptool.studies.forecast import Forecast
from ssptool.studies.next_commands import fit_commands
from ssptool.studies.optimization import optimize_study
from ssptool.studies.optimum import Optimize
from ssptool.studies.run import Interrupted as Interrupted
from ssptool.studies.run import begin_study, check_scheduler, run_study
from ssptool.studies.stored_results import StudyResults, read_results
from ssptool.studies.study_file import Calibration, draft_study, read_calibration, read_toml, study_from
from ssptool.studies.study_file import read_study as read_study
from ssptool.studies.summary import FIT_RENDERERS as FIT_RENDERERS
from ssptool.studies.summary import STUDY_RENDERERS as STUDY_RENDERERS
from ssptool.work_in_progress import NOTHING, tell

_VARIABLE = "the name of an environment variable"


@public
def study(
    study: Study | Mapping[str, object] | Path | str,
    output: Path | str | None = None,
    *,
    workers: int | None = None,
    scheduler: object = None,
    insecure_scheduler: bool = False,
    retry_failed: bool = False,
    compile: bool = False,
    env: str | Sequence[str] = (),
    sandbox: Boxing | None = None,
    allow_outside: Files = (),
    settings_file: SettingsFile = True,
    announce: Callable[[Forecast], None] | None = None,
    progress: Callable[[float], None] | None = None,
) -> StudyResults:
    """Run a study: all runs that are not in the result folder yet.

    The same call continues an interrupted study. If the design has more points, only the new points are run.

    Parameters
    ----------
    study
        A file (.toml), a mapping with the same entries, or a `Study`.
    output
        Result folder (default: NAME.study in the working folder).
    workers
        Number of processes on this machine (default: number of processors).
    scheduler
        Use the workers of this Dask scheduler: an address (tls://…), or a `distributed.Client`.
    insecure_scheduler
        Accept an address without TLS, such as tcp://…. Anyone who can reach it can run code on its workers.
    retry_failed
        Repeat failed runs.
    compile
        Compile FMUs that have sources but no library for this platform, as in `simulate`.
    env
        Names of further environment variables for the processes of FMUs on this machine, as in `simulate`.
    sandbox
        Run all FMUs in a sandbox, as in `simulate`.
    allow_outside, settings_file
        Folders outside of the system in which it may read files, and another settings file (False: none), as in
        `validate`.
    announce
        Called with a `Forecast` before most of the runs, and again if their pace differs from it by a factor of 1.5.
    progress
        Called with the finished fraction 0 … 1 of all runs and checks; the first call counts those of an earlier study.

    Raises
    ------
    BadData
        The study is not valid; the message lists all errors. Nothing has been run.
    OtherStudy
        The folder has results of a study that differs in more than its points.
    WrongUsage
        The address of the scheduler has no TLS.
    MissingPackage
        The packages of the extra `study` are not installed.
    NoWorkers, Interrupted
        The study could not start, or was interrupted. Results of finished runs are kept.
    """
    check_scheduler(scheduler, insecure=flag("insecure_scheduler", insecure_scheduler))
    checked = check_study(*_allowed(study, compile, allow_outside, settings_file))
    folder = file_path("output", output) if output is not None else Path(f"{checked.study.name}.study")
    how = {"workers": workers, "scheduler": scheduler, "retry_failed": retry_failed}
    return _run_checked_study(checked, folder, env, sandbox, announce=announce, progress=progress, **how)


@contextmanager
def _runs_in_sandbox(study: Study, sandbox: Boxing | None) -> Iterator[None]:
    """Runs of a study are in a sandbox meanwhile, if that is wanted. Raises NoSandbox, ContradictingSettings."""
    asked = in_sandbox(boxing(sandbox), study.switches.sandbox)
    if asked and study.settings.fmu_log is not None:
        raise ContradictingSettings(
            "fmu_log in a study in a sandbox",
            "each run would write a file of its own next to others of yours, which a sandbox does not allow",
            "leave out fmu_log, or run one point with `ssptool run --sandbox --fmu-log FILE`",
        )
    with sandboxed(asked):
        yield


def _run_checked_study(
    checked: CheckedStudy, folder: Path, env: str | Sequence[str], sandbox: Boxing | None, **how: Any
) -> StudyResults:
    """Run a checked study and return its results. Keywords as in `run_study`."""
    with passing(texts("env", env, _VARIABLE)), _runs_in_sandbox(checked.study, sandbox):
        tell(NOTHING)
        (optimize_study if isinstance(checked.study.design, Optimize) else run_study)(checked, folder, **how)
    return read_results(folder)


@public
def sweep(
    system: Path | str,
    factors: Mapping[str, object],
    results: str | Sequence[str] | Mapping[str, str] = (),
    output: Path | str | None = None,
    *,
    stop_time: float | None = None,
    settings: Mapping[str, object] | None = None,
    accuracy: AccuracyWord | float | None = None,
    variant: str | None = None,
    workers: int | None = None,
    compile: bool = False,
    sandbox: Boxing | None = None,
    allow_outside: Files = (),
    settings_file: SettingsFile = True,
    announce: Callable[[Forecast], None] | None = None,
    progress: Callable[[float], None] | None = None,
) -> StudyResults:
    """Run a system with each combination of values: a study without a file.

    Parameters
    ----------
    factors
        Parameters, start values, or settings of a run such as `step_size`, each with a list of values or a mapping
        with `low`, `high` and `count`.
    results
        Expressions such as `max("Motor.w")`, or a mapping from names to expressions (default: largest value of each
        output of real numbers, at most six).
    output
        Result folder (default: SYSTEM.sweep in the working folder, with a number if that folder has results of another
        sweep).
    stop_time : [s]
        Stop time of all runs (default: from `settings`, then from the system).
    settings
        Settings of all runs, as in the table `[settings]` of a study file.
    accuracy
        Check of some runs by runs with smaller steps, as `accuracy` of a study file.
    variant
        Variant of the system to run (default: the default variant).
    workers, compile, sandbox, allow_outside, settings_file, announce, progress
        As in `study`.

    Raises
    ------
    BadData, OtherStudy, MissingPackage, Interrupted
        As in `study`.
    """
    named = file_path("system", system)
    given = mapping("factors", factors, "values")
    if not results:
        inventory = info(
            named, variables="*", variant=variant, allow_outside=allow_outside, settings_file=settings_file
        )
        results = default_results(inventory.variables)
    if not isinstance(results, Mapping):
        results = {one: one for one in texts("results", results)}
    every = {**(settings or {}), **({} if stop_time is None else {"stop_time": stop_time})}
    table = {
        "name": named.resolve().stem,
        "system": str(named.resolve()),
        "factors": {name: factor_of_sweep(name, values) for name, values in given.items()},
        "results": dict(results),
        **({} if variant is None else {"variant": variant}),
        **({} if accuracy is None else {"accuracy": accuracy_of("accuracy", accuracy)}),
        **({"settings": every} if every else {}),
    }
    checked = check_study(*_allowed(table, compile, allow_outside, settings_file))
    attempt, folder = 1, Path(f"{named.resolve().stem}.sweep") if output is None else file_path("output", output)
    while True:
        try:
            how = {"workers": workers, "scheduler": None, "retry_failed": False}
            return _run_checked_study(checked, folder, (), sandbox, announce=announce, progress=progress, **how)
        except OtherStudy:
            if output is not None:
                raise
        attempt += 1
        folder = Path(f"{named.resolve().stem}-{attempt}.sweep")


@public
def new_study(
    system: Path | str,
    output: Path | str | None = None,
    *,
    design: StudyWord = "grid",
    data: Path | str | None = None,
    stop_time: float | None = None,
    variant: str | None = None,
    allow_outside: Files = (),
    settings_file: SettingsFile = True,
) -> Path:
    """Write a first study of a system: a commented .toml file with its parameters, units and values. Return the path.

    Parameters
    ----------
    output
        File to write (default: named after the system, in the working folder).
    design
        grid, lhs, sobol, morris, saltelli, optimize or calibrate.
    data
        For calibrate: file with the measured signals (.csv, .parquet, .mat, .h5, .mf4).
    stop_time : [s]
        Stop time of each run (default: stop time of the system, or the last time of `data` if that is later).
    variant, allow_outside, settings_file
        As in `info`.

    Raises
    ------
    WrongValue
        The design is unknown, the data are missing, or the system has nothing to vary or to compute.
    FileExistsError
        `output` exists.
    UnusableFile, OSError
        `data` cannot be read.
    """
    kind = word("design", design, StudyKind)
    named = file_path("system", system)
    file = Path(f"{named.resolve().stem}.toml") if output is None else file_path("output", output)
    if file.exists():
        raise FileExistsError(f"{file} exists: give another file, or delete it")
    inventory = info(named, variables="*", variant=variant, allow_outside=allow_outside, settings_file=settings_file)
    folder = file.resolve().parent
    stated = None if data is None else relpath(file_path("data", data).resolve(), folder)
    last = None if data is None else _last_time(file_path("data", data), inventory.experiment.stop)
    ends = None if last is None else (last, "the last time of the measurement")
    if stop_time is not None:
        ends = (stop_time, "as given")
    place = StudiedSystem(relpath(named.resolve(), folder), variant, ends, inventory.experiment.stop is not None)
    save_file(file, first_draft(place, inventory.variables, kind, str(file), stated))
    return file


def _last_time(data: Path, stop: float | None) -> float | None:
    """The last time of a measurement [s], if it is later than the stop time of the system."""
    if not len(trace := trace_of("data", data)):
        return None
    last = float(trace.t[-1])
    return last if stop is None or stop < last else None


@public
def resume_study(
    output: Path | str,
    *,
    workers: int | None = None,
    scheduler: object = None,
    insecure_scheduler: bool = False,
    retry_failed: bool = False,
    compile: bool = False,
    env: str | Sequence[str] = (),
    sandbox: Boxing | None = None,
    allow_outside: Files = (),
    settings_file: SettingsFile = True,
    announce: Callable[[Forecast], None] | None = None,
    progress: Callable[[float], None] | None = None,
) -> StudyResults:
    """Continue the study of a result folder.

    The study is read from its file, which may have more points now. If it was created in Python, or its file does not
    exist any more, it is read from the folder. Files outside of the working folder, the parent folder of `output` and
    the repository around are only read if they have not changed since the runs, or are in `allow_outside`.

    Raises
    ------
    UnusableFile
        The folder is not a result folder. Others as in `study`.
    """
    check_scheduler(scheduler, insecure=flag("insecure_scheduler", insecure_scheduler))
    folder = file_path("output", output)
    checked = check_study(*_stored(folder, compile, allow_outside, settings_file))
    how = {"workers": workers, "scheduler": scheduler, "retry_failed": retry_failed}
    return _run_checked_study(checked, folder, env, sandbox, announce=announce, progress=progress, **how)


def _stored(
    folder: Path, compile: object, allow_outside: Files, settings_file: SettingsFile
) -> tuple[Study, Findings | None]:
    """The study of a result folder, with the permissions of the caller. It reaches the folder around, and files that
    have not changed since its runs.
    """
    definition = Dataset(folder).definition()
    findings = Findings(str(folder / DEFINITION), {})
    source, around = Path(definition["source"]), folder.parent
    known = (*definition["files"].values(), definition.get("source_sha256", ""))
    allowed = switches_of(folder, allow_outside, settings_file).outside
    if source.is_file() and beyond_reach(source, around, allowed, known):
        findings.add(("source",), beyond(source))
        findings.check()
    if source.is_file() and not out_of_reach(source, around, allowed):
        return _allowed(source, compile, allow_outside, settings_file)
    wanted = study_from(definition["study"], source=str(Path(definition["folder"]) / DEFINITION))
    switches = switches_of(wanted.system, allow_outside, settings_file)
    wanted = replace(wanted, compile=flag("compile", compile), switches=switches)
    if not check_places(wanted, findings, around, known):
        findings.check()
    return wanted, findings


@public
def study_results(output: Path | str) -> StudyResults:
    """Results in a result folder, also while the study runs. Raises UnusableFile."""
    return read_results(file_path("output", output))


def _allowed(
    given: Study | Mapping[str, object] | Path | str, compile: object, allow_outside: Files, settings_file: SettingsFile
) -> tuple[Study, Findings | None]:
    """A draft with the permissions of the caller: compile FMUs, read files, accept findings."""
    allowed = switches_of(given, allow_outside, settings_file).outside if isinstance(given, Path | str) else ()
    wanted, findings = draft(given, allowed)
    switches = switches_of(wanted.system, allow_outside, settings_file)
    wanted = replace(wanted, compile=flag("compile", compile) or wanted.compile, switches=switches)
    if (wanted.source or confined_to()) and not check_places(
        wanted, checked := findings or Findings(wanted.source, wanted.lines)
    ):
        checked.check()
    return wanted, findings


def draft(
    given: Study | Mapping[str, object] | Path | str, allowed: Sequence[Path] = ()
) -> tuple[Study, Findings | None]:
    """The readable parts of a study, and the findings about the others."""
    if isinstance(given, Study):
        return given, None
    if isinstance(given, Mapping):
        return draft_study(given)
    content, lines = read_toml(file_path("study", given))
    return draft_study(content, lines, source=str(given), allowed=allowed)


@public
def calibrate(
    study: Study | Mapping[str, object] | Path | str,
    output: Path | str | None = None,
    *,
    data: Run | None = None,
    targets: Mapping[str, float] | None = None,
    minimize: str | None = None,
    scales: Mapping[str, float] | None = None,
    confidence: float = CONFIDENCE,
    workers: int | None = None,
    scheduler: object = None,
    insecure_scheduler: bool = False,
    compile: bool = False,
    env: str | Sequence[str] = (),
    sandbox: Boxing | None = None,
    allow_outside: Files = (),
    settings_file: SettingsFile = True,
) -> Fit:
    """Find parameter values, in the ranges of a study, that make the system follow measured signals or meet targets.

    Without `data`, `targets` and `minimize`, the table `[calibration]` of the study states the goal. A run that crashes
    or hangs does not end the calibration: its point is avoided, and a note reports it.

    Parameters
    ----------
    output
        Result folder of the study. The fit is also written to it, for `report`.
    data
        A result, a trace, a frame of pandas or polars (times as in `inputs`), or a file (.csv, .parquet, .mat, .h5,
        .mf4): fitted by least squares, with confidence intervals. Units in headers, such as `T [degF]`, are converted.
    targets
        Result → its target value.
    minimize
        Result to minimize.
    scales
        Signal or result → size of its errors; see `ssptool.studies.calibration`.
    workers, scheduler, insecure_scheduler, compile, env, sandbox, allow_outside, settings_file
        As in `study`.

    Raises
    ------
    BadData
        The study is not valid; the message lists all errors.
    CalibrationFailed
        The first run failed, or the runs around a point failed.
    """
    check_scheduler(scheduler, insecure=flag("insecure_scheduler", insecure_scheduler))
    if not 0 < real_number("confidence", confidence) < 1:
        raise WrongArgument("confidence", confidence, "a number between 0 and 1")
    if targets is not None:
        mapping("targets", targets, "a mapping from results to values, such as {'peak': 2.5}")
    wanted, findings = _allowed(study, compile, allow_outside, settings_file)
    if data is None and targets is None and minimize is None:
        stated = read_calibration(study, wanted)
        given: Run | None = stated.data
    else:
        stated, given = (
            Calibration(None, None if targets is None else dict(targets), minimize, dict(scales or {})),
            data,
        )
    if sum(one is not None for one in (given, stated.targets, stated.minimize)) != 1:
        raise WrongValue("give one of data, targets and minimize")
    checked = check_study(wanted, findings)
    trace = None if given is None else _in_own_units(wanted, trace_of("data", given))
    results = (*(stated.targets or ()), *([stated.minimize] if stated.minimize is not None else []))
    signals = () if trace is None else trace.signals
    with (
        passing(texts("env", env, _VARIABLE)),
        _runs_in_sandbox(checked.study, sandbox),
        open_trials(wanted, signals=signals, results=results, workers=workers, scheduler=scheduler) as trials,
    ):
        if trace is not None:
            fit = fit_trace(trials, trace, scales=stated.scales, confidence=confidence)
            fit = replace(fit, notes=(*trace.assumptions, *fit.notes))
        elif stated.targets is not None:
            fit = fit_targets(trials, stated.targets, scales=stated.scales)
        else:
            fit = minimize_result(trials, str(stated.minimize))
    folder = None if output is None else file_path("output", output)
    if folder is not None:
        begin_study(checked, folder)
        write_fit(fit, folder, {"study": wanted.name, "system": str(wanted.system.resolve())})
    return replace(fit, next=tuple(fit_commands(wanted, _point_of(wanted, fit), folder)))


def _point_of(study: Study, fit: Fit) -> dict[str, FactorValue]:
    """The values of all factors at a solution, including computed factors."""
    columns, _ = rows_of_columns(study, {one.name: [one.value] for one in fit.estimates})
    return {name: values[0] for name, values in columns.items()}


def _in_own_units(study: Study, measured: Trace) -> Trace:
    """A measured trace in the units of the signals of the system.

    Raises
    ------
    IncompatibleUnits
        A unit cannot be converted to that of the signal.
    """
    if not any(measured.units):
        return measured
    with open_archive(study.system, study.switches.outside) as archive:
        structure = archive.structure(study.variant)
        network = build_network(archive, structure)
        units = known_units(network, document_units(structure.root_as(SystemStructureDescription)))
    own = {str(port.signal): port.unit for one in network.components.values() for port in one.ports}
    own |= {str(port.signal): port.unit for port in network.ports}
    variables = ((name, one.description.variables) for name, one in network.components.items())
    relative = {
        str(Signal(name, key)) for name, found in variables for key, one in found.items() if one.relative_quantity
    }
    columns = []
    for column in measured.columns:
        wanted, values = own.get(column.signal), measured[column.signal]
        if column.real and wanted is not None and column.unit not in (None, wanted):
            change = conversion(named(units, column.unit), named(units, wanted), column.signal in relative)
            values, column = change.factor * values + change.offset, replace(column, unit=wanted)
        columns.append((column, values))
    return replace(Trace.of(measured.t, columns), assumptions=measured.assumptions)


@public
def plot_study(
    results: StudyResults | Path | str,
    output: Path | str,
    *,
    kind: ChartKind | ChartWord | None = None,
    signals: str | Sequence[str] = (),
    factors: str | Sequence[str] = (),
    colour: str | None = None,
    title: str | None = None,
) -> None:
    """Draw the results of a study as a PNG, SVG or PDF file, or as an HTML page with zoom.

    Parameters
    ----------
    kind
        `scatter`: results over factors. `tornado`: effect of each factor alone, in a one-at-a-time design. `envelope`:
        signals over time in all runs, with quantiles, if the study keeps traces. `sensitivity`: sensitivity of results
        to factors, in a saltelli or morris design. `parallel`: each run as a line across axes of factors and results.
        `surface`: results over two factors. The default depends on the study.
    signals
        Draw results or signals that match one of these patterns (default: all).
    factors
        Factors of a scatter or parallel plot, or the two factors of a surface, by patterns (default: all factors that
        vary).
    colour
        Factor that colours the runs of a scatter or parallel plot; a parallel plot also accepts a result (default
        there: the last result).
    title
        Title of the plot (default: name of the study).

    Raises
    ------
    WrongValue
        The ending of the file is not supported, or the plot would have too many panels.
    UnusableFile
        There is nothing to draw, or nothing of this kind.
    MissingPackage
        A library for drawing is not installed.
    """
    path = file_path("output", output)
    check_plot_name(path)
    found = results if isinstance(results, StudyResults) else read_results(file_path("results", results))
    wanted = chart(
        found,
        kind,
        texts("signals", signals, "a pattern such as '*.x1'"),
        factors=texts("factors", factors, "a pattern such as '*.k2'"),
        colour=colour,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    draw = draw_chart_page if path.suffix.lower() in PAGES else draw_chart
    draw(wanted, path, found.status.name if title is None else title)
