"""Studies: many runs of one system."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ssptool.studies.checking import check_study
from ssptool.studies.dataset import DEFINITION, Dataset
from ssptool.studies.definition import Study
from ssptool.studies.findings import BadStudy as BadStudy
from ssptool.studies.findings import Findings
from ssptool.studies.running import Forecast, run_study
from ssptool.studies.running import Interrupted as Interrupted
from ssptool.studies.study_file import draft_study, read_toml, study_from
from ssptool.studies.study_file import read_study as read_study
from ssptool.studies.study_results import StudyResults, read_results


def study(
    study: Study | Mapping[str, Any] | Path | str,
    output: Path | str | None = None,
    *,
    workers: int | None = None,
    scheduler: str | Any | None = None,
    retry_failed: bool = False,
    announce: Callable[[Forecast], None] | None = None,
    progress: Callable[[float], None] | None = None,
) -> StudyResults:
    """Carry out a study: all runs that are not in the folder of results yet.

    Started again after it was stopped, it goes on; with more points in its design, it does these.

    Parameters
    ----------
    study
        A file (.toml), a table of the same shape, or a `Study`.
    output
        The folder of results; else named after the study, with the ending `.study`, in the working directory.
    workers
        Processes here; None: as many as there are processors.
    scheduler
        In place of processes here: the address of a Dask scheduler (tcp://…), or a `distributed.Client`.
    retry_failed
        Do runs again that failed.
    announce
        Told before most of the runs how many there are, and about how long they take.
    progress
        Called with the fraction 0 … 1 of what was left to do.

    Raises
    ------
    BadStudy
        With everything that is wrong with it. Nothing has been run.
    OtherStudy
        The folder has results of a study that differs in more than its points.
    StudiesUnavailable
        The packages of the extra `study` are not installed.
    NoScheduler, LostScheduler, LostWorkers, Interrupted
        It could not begin, or was stopped; what has finished is kept.
    """
    wanted, findings = draft(study)
    folder = Path(output) if output is not None else Path(f"{wanted.name}.study")
    run_study(
        check_study(wanted, findings),
        folder,
        workers=workers,
        scheduler=scheduler,
        retry_failed=retry_failed,
        announce=announce,
        progress=progress,
    )
    return read_results(folder)


def resume_study(
    output: Path | str,
    *,
    workers: int | None = None,
    scheduler: str | Any | None = None,
    retry_failed: bool = False,
    announce: Callable[[Forecast], None] | None = None,
    progress: Callable[[float], None] | None = None,
) -> StudyResults:
    """Go on with the study that a folder of results is of.

    It is read from its file again, which may have got more points in the meantime. One that was made in Python, or
    whose file is not there any more, is what the folder says.

    Raises
    ------
    NotResults
        The folder has none; and as `study`.
    """
    definition = Dataset(Path(output)).definition()
    there = bool(definition["source"]) and Path(definition["source"]).is_file()
    source: Study | str = definition["source"]
    if not there:
        source = study_from(definition["study"], source=str(Path(definition["folder"]) / DEFINITION))
    return study(
        source,
        output,
        workers=workers,
        scheduler=scheduler,
        retry_failed=retry_failed,
        announce=announce,
        progress=progress,
    )


def study_results(output: Path | str) -> StudyResults:
    """What is in a folder of results, also while the study runs. Raises NotResults."""
    return read_results(Path(output))


def draft(given: Study | Mapping[str, Any] | Path | str) -> tuple[Study, Findings | None]:
    """As much of a study as can be understood, and what cannot."""
    if isinstance(given, Study):
        return given, None
    if isinstance(given, Mapping):
        return draft_study(given)
    content, lines = read_toml(Path(given))
    return draft_study(content, lines, source=str(given))
