"""Commands that usually follow a study or a calibration, with real names, so that they can be pasted into a
terminal.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ssptool.documents.outside import permission
from ssptool.documents.vocabulary import rounded_text
from ssptool.studies.definition import Factor, FactorRole, Study
from ssptool.studies.designs import FactorValue, value_text
from ssptool.studies.enough_runs import TooFewRuns
from ssptool.studies.sensitivity import Morris
from ssptool.studies.stored_results import StudyResults
from ssptool.studies.study_file import study_table
from ssptool.working_directory import absolute, shown

DIGITS = 8
"""Number of digits of a value that a search found."""

_PLAIN = ("start_time", "stop_time", "step_size", "master", "tolerance", "implementation", "integrator", "init")
"""Settings whose option accepts the value as the study states it."""


def study_commands(results: StudyResults, study: Study, few: Sequence[TooFewRuns]) -> Iterator[str]:
    """Commands after a study, depending on its progress."""
    status, folder = results.status, _word(results.folder)
    if status.left:
        yield f"ssptool study resume {folder}"
    if status.failed:
        yield f"ssptool study resume {folder} --retry-failed"
    if not status.completed:
        return
    yield f"ssptool report {folder}"
    yield f"ssptool plot {folder}"
    source = results.definition["source"]
    if few and source and Path(source).is_file():
        most = max(few, key=lambda one: one.wanted)
        words = f"ssptool study {_word(Path(source))} -o {folder}{permission(study.system, Path(source).parent)}"
        yield f"{words}    # after `{most.key} = {most.wanted}` in [design]"
    elif isinstance(study.design, Morris):
        yield f"ssptool study new {_word(study.system)} --design saltelli -o {status.name}-saltelli.toml"
    best = results.optimum()
    if best is not None and best.best is not None:
        run = {factor.name: best.best[factor.name] for factor in study.factors}
        yield from run_at(study, run)
    elif best is None and not few:
        yield f"ssptool study results {folder} -o {_word(Path(f'{results.folder}.csv'))}"


def fit_commands(study: Study, point: Mapping[str, FactorValue], folder: Path | None) -> Iterator[str]:
    """Commands after a calibration with this solution, which is stored in a folder or not at all."""
    if folder is not None:
        yield f"ssptool report {_word(folder)}"
        yield f"ssptool plot {_word(folder)}"
    elif study.source:
        kept = _word(Path(f"{Path(study.source).stem}.study"))
        words = f"ssptool study calibrate {_word(Path(study.source))} -o {kept}{permission(study.system, study.folder)}"
        yield f"{words}    # keeps the fit for report and plot"
    yield from run_at(study, point)


def run_at(study: Study, point: Mapping[str, FactorValue]) -> Iterator[str]:
    """Command that runs the system at a point; empty if `run` has no option for an entry of the study."""
    stated = study_table(study)
    settings = stated.get("settings", {})
    strange = [name for name in settings if name not in _PLAIN]
    files = any(factor.role is FactorRole.FMU for factor in study.factors)
    units = any(factor.unit in study.units for factor in study.factors)
    if strange or files or units:
        return
    words = ["ssptool run", _word(study.system)]
    options = {name: settings[name] for name in settings}
    for factor in study.factors:
        value = _text(point[factor.name])
        if factor.role is FactorRole.SETTING and factor.of[0] not in _PLAIN:
            return
        words += _options(study, factor, value, options)
    words += [f"--{name.replace('_', '-')} {shlex.quote(_text(value))}" for name, value in options.items()]
    words += [f"--set {shlex.quote(f'{name}={value}')}" for name, value in study.start_values.items()]
    for option in ("parameters", "inputs"):
        words += [f"--{option} {_word(Path(path))}" for path in stated.get(option, ())]
    words += [] if study.scenario is None else [f"--scenario {_word(study.scenario)}"]
    words += [] if study.variant is None else [f"--variant {shlex.quote(study.variant)}"]
    yield " ".join(words + [f"--accept {code}" for code in study.accept])


def _options(study: Study, factor: Factor, value: str, settings: dict[str, object]) -> Iterator[str]:
    """Options for the value of a factor; the option of a setting replaces that of all runs."""
    unit = f" {factor.unit}" if factor.unit else ""
    yield from (f"--set {shlex.quote(f'{name}={value}{unit}')}" for name in factor.sets)
    if factor.role is FactorRole.SETTING:
        settings[factor.of[0]] = value
    elif factor.role is FactorRole.VARIANT:
        yield f"--variant {shlex.quote(value)}"
    elif factor.role is FactorRole.PARAMETERS:
        yield f"--parameters {_word(study.file(value))}"


def _text(value: object) -> str:
    assert isinstance(value, float | int | bool | str)
    return rounded_text(value, DIGITS) if isinstance(value, float) else value_text(value)


def _word(path: Path) -> str:
    """A path, quoted for the shell."""
    return shlex.quote(str(shown(absolute(path))))
