"""Factors as they are written."""

from pathlib import Path
from typing import Any

from ssptool.studies.definition import Factor, Role
from ssptool.studies.entries import Entries
from ssptool.studies.expressions import BadExpression, Expression
from ssptool.studies.run_settings import setting_problem
from ssptool.studies.sources import Computed, Levels, LogNormal, Normal, Range, Setting, Source, Tabled, Triangular

_ROLES = (Role.VARIABLE, Role.FMU, Role.SETTING, Role.VARIANT, Role.PARAMETERS, Role.FREE)
_DISTRIBUTIONS = {
    "uniform": ("low", "high"),
    "loguniform": ("low", "high"),
    Normal.distribution: ("mean", "std"),
    LogNormal.distribution: ("median", "spread"),
    Triangular.distribution: ("low", "mode", "high"),
}
_NUMBERS = ("low", "high", "mean", "std", "median", "spread", "mode")
_KEYS = (*_ROLES, "unit", "nominal", "values", *_NUMBERS, "count", "scale", "distribution", "expression")


def read_factor(name: str, factors: Entries) -> Factor | None:
    """One entry of `factors`: a table; short for it a list of values, or the text of an expression."""
    content = factors.take(name)
    if isinstance(content, list):
        content = {"values": content}
    elif isinstance(content, str):
        content = {"expression": content}
    entries = Entries(content, (*factors.key, name), factors.findings)
    role, of = _role(entries)
    nominal = entries.take("nominal")
    if nominal is not None and not _is_setting(nominal):
        entries.find("nominal", f"found {nominal!r}, expected a number, true, false or a text")
        nominal = None
    unit = entries.text("unit")
    if unit is not None and role is not Role.VARIABLE:
        entries.find("unit", f"only values of variables have units, this is a factor of role {role}")
    source = _source(entries)
    entries.rest("key of a factor", _KEYS)
    return None if source is None else Factor(name, source, role, of, unit, nominal)


def _role(entries: Entries) -> tuple[Role, tuple[str, ...]]:
    stated = [role for role in _ROLES if role.value in entries]
    if len(stated) > 1:
        entries.find(stated[1], f"a factor is one of {', '.join(_ROLES)}; found {' and '.join(stated)}")
    role = stated[0] if stated else Role.VARIABLE
    if role in (Role.VARIANT, Role.PARAMETERS, Role.FREE):
        if role in stated and not entries.flag(role):
            entries.find(role, "expected true, or nothing")
        return role, ()
    of = entries.texts(role) if stated else ()
    if role in (Role.FMU, Role.SETTING) and len(of) != 1:
        entries.find(role, f"found {len(of)} names, expected that of one {'component' if role is Role.FMU else role}")
    if role is Role.SETTING and len(of) == 1 and (problem := setting_problem(of[0])):
        entries.find(role, problem)
    return role, of


def _source(entries: Entries) -> Source | None:
    stated = [key for key in ("values", "expression", "distribution") if key in entries]
    if len(stated) > 1:
        allowed = "values, or a range, or a distribution, or an expression"
        entries.find(stated[1], f"a factor has {allowed}; found {' and '.join(stated)}")
        for key in stated:
            entries.take(key)
        return None
    if stated == ["values"]:
        return _levels(entries)
    if stated == ["expression"]:
        return _computed(entries)
    if stated == ["distribution"]:
        return _distribution(entries)
    return _range(entries) if "low" in entries or "high" in entries else Tabled()


def _levels(entries: Entries) -> Levels | None:
    values = entries.take("values")
    if isinstance(values, str):
        values = [values]
    if not isinstance(values, list | tuple) or not values:
        entries.find("values", f"found {values!r}, expected a list of values")
        return None
    for value in values:
        if not _is_setting(value):
            entries.find("values", f"found {value!r}, expected numbers, true and false, or texts")
            return None
    kinds = {bool if isinstance(v, bool) else float if isinstance(v, int | float) else str for v in values}
    if len(kinds) > 1:
        entries.find("values", f"numbers, truth values and texts are mixed: {values!r}")
        return None
    # One type for a column: 1 and 1.5 are both numbers.
    numbers = any(isinstance(value, float) for value in values)
    return Levels(tuple(float(value) if numbers else value for value in values))


def _is_setting(value: Any) -> bool:
    return isinstance(value, bool | int | float | str) and value == value


def _computed(entries: Entries) -> Computed | None:
    text = entries.text("expression")
    if text is None:
        return None
    try:
        return Computed(Expression(text))
    except BadExpression as problem:
        entries.find("expression", problem.reason)
        return None


def _numbers(entries: Entries, names: tuple[str, ...], what: str) -> list[float] | None:
    found = [entries.number(name) for name in names]
    for name, value in zip(names, found, strict=True):
        if value is None and name not in entries:
            entries.find("", f"{what} needs {', '.join(names)}; {name} is missing")
    return None if None in found else [value for value in found if value is not None]


def _range(entries: Entries, log: bool = False) -> Range | None:
    bounds, count = _numbers(entries, ("low", "high"), "a range"), entries.count("count", 2)
    scale = entries.text("scale") or "linear"
    if scale not in ("linear", "log"):
        entries.find("scale", f"found {scale!r}, expected linear or log")
    if bounds is None:
        return None
    low, high = bounds
    log = log or scale == "log"
    if not low < high:
        entries.find("high", f"must be greater than low: found {low:g} to {high:g}")
        return None
    if log and low <= 0:
        entries.find("low", f"must be greater than 0 on a logarithmic scale; found {low:g}")
        return None
    return Range(low, high, count, log)


def _distribution(entries: Entries) -> Source | None:
    kind = entries.text("distribution")
    if kind not in _DISTRIBUTIONS:
        entries.find("distribution", f"found {kind!r}, expected one of {', '.join(_DISTRIBUTIONS)}")
        for name in _NUMBERS:
            entries.take(name)
        return None
    if kind in ("uniform", "loguniform"):
        return _range(entries, kind == "loguniform")
    values = _numbers(entries, _DISTRIBUTIONS[kind], f"a {kind} distribution")
    low, high = entries.number("low"), entries.number("high")
    if values is None:
        return None
    made = _MADE[kind](values, low, high)
    if isinstance(made, str):
        entries.find("", made)
        return None
    return made


def _normal(values: list[float], low: float | None, high: float | None) -> Normal | str:
    bounds = -float("inf") if low is None else low, float("inf") if high is None else high
    if not values[1] > 0:
        return f"std must be greater than 0, found {values[1]:g}"
    return (
        Normal(values[0], values[1], *bounds)
        if bounds[0] < bounds[1]
        else f"high must be greater than low, found {bounds}"
    )


def _lognormal(values: list[float], low: float | None, high: float | None) -> LogNormal | str:
    if low is not None or high is not None:
        return "a lognormal distribution cannot be cut off; use a normal one"
    return LogNormal(*values) if min(values) > 0 else "median and spread must be greater than 0"


def _triangular(values: list[float], low: float | None, high: float | None) -> Triangular | str:
    a, mode, b = values
    return Triangular(*values) if a <= mode <= b and a < b else "expected low <= mode <= high, and low < high"


_MADE = {Normal.distribution: _normal, LogNormal.distribution: _lognormal, Triangular.distribution: _triangular}


def listed_files(values: tuple[Setting, ...], folder: Path) -> tuple[str, ...]:
    """Files by name or pattern (`sets/*.ssv`), sorted within each pattern."""
    found: list[str] = []
    for value in values:
        text = str(value)
        pattern = any(letter in text for letter in "*?[") and not Path(text).is_absolute()
        matched = sorted(str(path.relative_to(folder)) for path in folder.glob(text)) if pattern else []
        found += matched or [text]
    return tuple(found)
