"""Settings of a run in studies: fixed ones, and those that a factor changes."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ssptool.arguments import seconds
from ssptool.engine.settings import Kind, Settings, settings_by_name
from ssptool.errors import WrongValue
from ssptool.studies.entries import StudyEntries
from ssptool.studies.expressions import unknown
from ssptool.studies.factor_sources import FactorValue

LOGS = ("log_loops", "log_coupling")
"""Files that every run would write; a study keeps traces instead."""

FMU_LOG = "fmu_log"
FMU_LOGS = (FMU_LOG, "fmu_log_level", "fmu_log_categories")
"""Of a file for each run; these cannot be varied."""

KINDS = {name: setting.kind for name, setting in settings_by_name(Settings).items() if name not in LOGS}
"""What a study may set or vary → what its value is."""

SETTINGS = tuple(KINDS)
BY_NAME = (Kind.COUNTS, Kind.NUMBERS)
"""Kinds of settings that are tables."""


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
    if name not in SETTINGS:
        entries.find(name, unknown("setting", name, SETTINGS) if "." in name else setting_problem(name))
        return None
    return _READERS[KINDS[name]](entries, name)


def _table(read: Callable[[StudyEntries, str], Any]) -> Callable[[StudyEntries, str], Any]:
    """Entries of a table inside, as far as each is of its type."""

    def entries_of(entries: StudyEntries, name: str) -> dict[str, Any]:
        inside = entries.table(name)
        return {key: value for key in inside.names() if (value := read(inside, key)) is not None}

    return entries_of


def _one_or_table(read: Callable[[StudyEntries, str], Any]) -> Callable[[StudyEntries, str], Any]:
    """That of all components, or a table by component."""
    return lambda entries, name: (_table(read) if isinstance(entries.take(name), Mapping) else read)(entries, name)


def _bonds(entries: StudyEntries, name: str) -> tuple[tuple[str, str], ...] | None:
    """`[["System1.v1", "System2.F"]]`, or each as a text as the command line has it: `["System1.v1,System2.F"]`."""
    value = entries.take(name)
    try:
        return tuple(_bond(each) for each in (value if isinstance(value, list | tuple) else [value]))
    except ValueError as error:
        entries.find(name, str(error))
        return None


_READERS: Mapping[Kind, Callable[[StudyEntries, str], Any]] = {
    Kind.TIME: StudyEntries.time,
    Kind.NUMBER: StudyEntries.number,
    Kind.COUNT: lambda entries, name: entries.count(name, 0),
    Kind.WORD: StudyEntries.text,
    Kind.FILE: StudyEntries.text,
    Kind.COUNTS: _table(StudyEntries.count),
    Kind.NUMBERS: _table(StudyEntries.number),
    Kind.PAIRS: _bonds,
    Kind.PROCESSES: StudyEntries.take,  # a word or a count: `Settings` judges it
    Kind.LEVELS: _one_or_table(StudyEntries.text),
    Kind.CATEGORIES: _one_or_table(StudyEntries.texts),
}
"""Kind of a setting → its value in a study file."""


def fmu_log_of_run(settings: Settings, number: int) -> Settings:
    """With a file for the messages of this run alone: `fmu.csv` becomes `fmu-17.csv`."""
    path = settings.fmu_log
    return settings if path is None else replace(settings, fmu_log=path.with_stem(f"{path.stem}-{number}"))


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
    if base not in SETTINGS or (inside and KINDS[base] not in BY_NAME):
        return unknown("setting", name, SETTINGS)
    if KINDS[base] in BY_NAME and not inside:
        example = "System1" if KINDS[base] is Kind.COUNTS else "absolute"
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
    kind = KINDS[base]
    if kind is Kind.WORD:
        typed: Any = _typed(value, str, f"{name} is one of its words")
    elif kind is Kind.PAIRS:
        typed = tuple(_bond(each) for each in str(value).split(";"))
    elif kind is Kind.TIME:
        typed = seconds(name, value)
    elif kind is Kind.PROCESSES and isinstance(value, str):
        typed = value
    elif kind in (Kind.NUMBER, Kind.NUMBERS):
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
