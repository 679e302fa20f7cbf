"""Settings of a run in studies: fixed ones, and those that a factor changes."""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from ssptool.arguments import seconds
from ssptool.engine.settings import Settings
from ssptool.errors import WrongValue
from ssptool.studies.entries import StudyEntries
from ssptool.studies.expressions import unknown
from ssptool.studies.factor_sources import FactorValue

LOGS = ("log_loops", "log_coupling")
"""Files that every run would write; a study keeps traces instead."""

TIMES = ("start_time", "stop_time", "step_size")
NUMBERS = ("tolerance", "adaptive", "relaxation")
COUNTS = ("max_iterations", "input_order", "iterations", "prediction_order", "threads")
WORDS = ("master", "acceleration", "input", "init", "implementation", "integrator", "exchange")
COUNTS_BY_NAME, NUMBERS_BY_NAME, BONDS = "substeps", "convergence", "power_bonds"
PROCESSES = "processes"  # a word or a count
FMU_LOG, FMU_LOG_LEVEL, FMU_LOG_CATEGORIES = FMU_LOGS = ("fmu_log", "fmu_log_level", "fmu_log_categories")
"""Of a file for each run; these cannot be varied."""

SETTINGS = tuple(field.name for field in fields(Settings) if field.name not in LOGS)
"""What a study may set or vary."""


def read_settings(entries: StudyEntries, folder: Path) -> Settings:
    """Fixed settings, as far as they can be understood; paths are relative to `folder`."""
    found = {name: value for name in entries.names() if (value := _fixed(entries, name)) is not None}
    if FMU_LOG in found:
        found[FMU_LOG] = (folder / found[FMU_LOG]).absolute()
    try:
        return Settings(**found)
    except ValueError as error:
        name = str(error).split()[0]
        entries.find(name if name in found else "", str(error))
        return Settings()


def _fixed(entries: StudyEntries, name: str) -> Any:
    """A setting of the type that it has; None, with a finding, if it is another."""
    if name in (COUNTS_BY_NAME, NUMBERS_BY_NAME):
        inside = entries.table(name)
        read: Callable[[str], Any] = inside.number if name == NUMBERS_BY_NAME else inside.count
        return {key: value for key in inside.names() if (value := read(key)) is not None}
    if name not in SETTINGS:
        entries.find(name, unknown("setting", name, SETTINGS) if "." in name else setting_problem(name))
        return None
    if name in TIMES:
        return entries.time(name)
    if name in FMU_LOGS:
        return _of_fmu_log(entries, name)
    if name in NUMBERS:
        return entries.number(name)
    if name in COUNTS:
        return entries.count(name, 0)
    if name in WORDS:
        return entries.text(name)
    if name == PROCESSES:
        return entries.take(name)  # `Settings` judges it
    return _bonds(entries, name)


def _of_fmu_log(entries: StudyEntries, name: str) -> Any:
    """Level and categories are those of all components, or a table by component."""
    if name == FMU_LOG:
        return entries.text(name)
    if isinstance(entries.take(name), Mapping):
        inside = entries.table(name)
        read: Callable[[str], Any] = inside.text if name == FMU_LOG_LEVEL else inside.texts
        return {component: value for component in inside.names() if (value := read(component)) is not None}
    return entries.text(name) if name == FMU_LOG_LEVEL else entries.texts(name)


def fmu_log_of_run(settings: Settings, number: int) -> Settings:
    """With a file for the messages of this run alone: `fmu.csv` becomes `fmu-17.csv`."""
    path = settings.fmu_log
    return settings if path is None else replace(settings, fmu_log=path.with_stem(f"{path.stem}-{number}"))


def _bonds(entries: StudyEntries, name: str) -> tuple[tuple[str, str], ...] | None:
    """`[["System1.v1", "System2.F"]]`, or each as a text as the command line has it: `["System1.v1,System2.F"]`."""
    value = entries.take(name)
    try:
        return tuple(_bond(each) for each in (value if isinstance(value, list | tuple) else [value]))
    except ValueError as error:
        entries.find(name, str(error))
        return None


def _bond(given: Any) -> tuple[str, str]:
    parts = [part.strip() for part in given.split(",")] if isinstance(given, str) else given
    if not isinstance(parts, list | tuple) or len(parts) != 2 or not all(isinstance(p, str) and p for p in parts):
        raise WrongValue(f'found {given!r}, expected two names of signals, as ["System1.v1", "System2.F"]')
    return parts[0], parts[1]


def setting_problem(name: str) -> str:
    """Why a factor cannot vary a setting of this name; empty if it can. `substeps.System1` is one inside a table."""
    base, _, inside = name.partition(".")
    if base in LOGS:
        return f"{base} cannot be set in a study, whose runs would all write it"
    if base in FMU_LOGS:
        return f"{base} cannot be varied; state it in [settings]"
    if base not in SETTINGS or (inside and base not in (COUNTS_BY_NAME, NUMBERS_BY_NAME)):
        return unknown("setting", name, SETTINGS)
    if base in (COUNTS_BY_NAME, NUMBERS_BY_NAME) and not inside:
        example = "System1" if base == COUNTS_BY_NAME else "absolute"
        return f"{base} has several values; name one, as {base}.{example}"
    return ""


def changed(settings: Settings, name: str, value: FactorValue) -> Settings:
    """These settings with another value of one, as a factor gives it.

    Raises
    ------
    WrongValue
        The value is none for this setting.
    """
    base, _, inside = name.partition(".")
    if base in WORDS:
        typed: Any = _typed(value, str, f"{name} is one of its words")
    elif base == BONDS:
        typed = tuple(_bond(each) for each in str(value).split(";"))
    elif base in TIMES:
        typed = seconds(name, value)
    elif base == PROCESSES and isinstance(value, str):
        typed = value
    elif base in NUMBERS or base == NUMBERS_BY_NAME:
        typed = _typed(value, float, f"{name} is a number")
    else:
        typed = _typed(value, int, f"{name} is a whole number")
    if inside:
        typed = {**getattr(settings, base), inside: typed}
    return replace(settings, **{base: typed})


def _typed(value: FactorValue, kind: type, said: str) -> Any:
    if kind is str and isinstance(value, str):
        return value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is float and number:
        return float(value)
    # Columns of numbers are of one type, which may be that of real ones.
    if kind is int and number and float(value).is_integer():
        return int(value)
    raise WrongValue(f"{said}; found {value!r}")
