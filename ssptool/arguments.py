"""Checks of the arguments of the public API, and their conversion to the types of the engine.

Each function gets the name and the value of an argument. It returns the converted value, or raises `WrongArgument` with
a message that contains name, value and allowed values. Only the standard library is imported.
"""

import math
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

from ssptool.errors import WrongType, WrongUsage, hint, similar_names
from ssptool.foreign_text import number_name
from ssptool.option_words import BEST, Boxing, argument_meant

Word = TypeVar("Word", bound=StrEnum)

EXPONENTS: Mapping[str, int] = {"": 0, "s": 0, "ms": -3, "us": -6, "µs": -6, "μs": -6, "ns": -9, "ps": -12}
"""Unit of time → its power of ten [s]. Both letters of Unicode for micro are known."""

MULTIPLES: Mapping[str, float] = {"min": 60.0, "h": 3600.0, "d": 86400.0}
"""Unit of time that SI accepts beside the second → how long it is [s]."""

SYSTEM_ENDINGS = (".ssp", ".ssd", ".fmu")
"""Endings of files that are systems; a folder is one as well."""

TIME_UNITS = "s, ms, us, ns, ps, min, h or d"

_TIME = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d+))?\s*([^\W\d_]*)", re.ASCII | re.IGNORECASE)
_MICRO = re.compile(r"[µμ]")
_MOST_SHOWN = 60
"""Letters of a value that a message repeats."""


class Frame(Protocol):
    """A table such as one of pandas."""

    @property
    def columns(self) -> Any: ...

    @property
    def index(self) -> Any: ...

    @property
    def iloc(self) -> Any: ...


class ColumnFrame(Protocol):
    """A table without an index, such as a frame of polars."""

    @property
    def columns(self) -> list[str]: ...

    def get_column(self, name: str, /) -> Any: ...


def is_frame(source: object) -> bool:
    """True for a table with an index, such as a frame of pandas."""
    return hasattr(source, "columns") and hasattr(source, "index") and hasattr(source, "iloc")


def is_column_frame(source: object) -> bool:
    """True for a table without an index, such as a frame of polars."""
    return hasattr(source, "columns") and hasattr(source, "get_column")


class AccuracyName(StrEnum):
    """Check of the error of a run by finer runs: none, one for runs of less than two seconds, or one in any case."""

    OFF = "off"
    AUTO = "auto"
    CHECK = "check"


WantedAccuracy: TypeAlias = AccuracyName | float
"""A check of the accuracy, or the error that is asked for, relative to the range of each signal."""

ACCURACY_VARIABLE = "SSPTOOL_ACCURACY"
"""Environment variable with the check of runs for which neither the caller nor a settings file states one."""


class WrongArgument(WrongUsage, ValueError):
    """Wrong argument of a function: its `name`, the value `found`, and the `expected` values in words."""

    def __init__(self, name: str, found: object, expected: str) -> None:
        super().__init__(f"{name} must be {expected}; found {shown(found)}")
        self.name = name
        self.found = found
        self.expected = expected

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.found, self.expected)


def unknown_argument(function: str, name: str, known: Collection[str]) -> WrongType:
    """The error for a keyword that a function does not take."""
    meant = argument_meant(name, known)
    near = hint(name, list(known), None if meant is None else (meant,))
    return WrongType(f"{function} has no argument {name!r}{near}")


def shown(value: object) -> str:
    """A value in a message: on one line, not longer than that, and with its type where its text does not say it."""
    text = " ".join(repr(value).split())
    text = text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"
    plain = value is None or isinstance(value, str | bool | int | float | list | tuple | dict)
    return text if plain or text.startswith("<") else f"{text} ({type(value).__name__})"


# -- times ---------------------------------------------------------------------------------------------------


def parse_time(text: str) -> float:
    """Seconds of a text such as `10`, `1e-3`, `1ms`, `2 min`.

    Raises
    ------
    ValueError
        It is none; the message is what is allowed.
    """
    if text.strip().lower().lstrip("+-") in ("inf", "infinity", "nan"):
        return float(text)  # numbers, which whoever needs finite ones refuses
    match = _TIME.fullmatch(_MICRO.sub("u", text.strip()))
    if match is None or match[3] not in (*EXPONENTS, *MULTIPLES):
        raise ValueError(f"a number of seconds, or a number with one of the units {TIME_UNITS}, such as 10 or 1ms")
    mantissa, exponent, unit = match[1], int(match[2] or 0), match[3]
    if unit in MULTIPLES:
        return float(f"{mantissa}e{exponent}") * MULTIPLES[unit]
    # One rounding: 3us is 3e-06, to the last bit.
    return float(f"{mantissa}e{exponent + EXPONENTS[unit]}")


def in_seconds(value: float, unit: str) -> float:
    """A time in one of the units of time, in seconds. Raises KeyError."""
    return value * MULTIPLES[unit] if unit in MULTIPLES else value / 10 ** -EXPONENTS[unit]


def seconds(name: str, value: object) -> float:
    """A time [s]: a number, or a text with a unit of time."""
    if isinstance(value, str):
        try:
            return parse_time(value)
        except ValueError as error:
            raise WrongArgument(name, value, str(error)) from None
    found = _number(value)
    if found is None:
        raise WrongArgument(name, value, f"a number of seconds, or a text with a unit ({TIME_UNITS})")
    return found


# -- numbers and words ---------------------------------------------------------------------------------------


def number(name: str, value: object) -> float:
    """A real number; no text, and no truth value."""
    found = _number(value)
    if found is None:
        raise WrongArgument(name, value, "a number")
    return found


def _number(value: object) -> float | None:
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:  # an integer that no double holds
        return None


MOST = 2**31 - 1
"""Largest count that all parts of the engine hold."""


def count(name: str, value: object, least: int = 1) -> int:
    """A whole number from `least` to `MOST`."""
    found = plain(value)
    if isinstance(found, bool) or not isinstance(found, Integral) or found < least:
        raise WrongArgument(name, value, f"a whole number of at least {least}")
    if int(found) > MOST:
        raise WrongArgument(name, value, f"a whole number of at most {MOST}")
    return int(found)


def flag(name: str, value: object) -> bool:
    """True or False."""
    found = plain(value)
    if not isinstance(found, bool):
        raise WrongArgument(name, value, "True or False")
    return found


def word(name: str, value: object, words: type[Word]) -> Word:
    """A member of an enumeration, or its text."""
    return words(one_of(name, value, list(words)))


ACCURACIES = "off, auto, check, or an error between 0 and 1, such as 1e-3"


def accuracy_of(name: str, value: object) -> WantedAccuracy:
    """A check of the accuracy, or the error that is asked for, as a number or its text.

    Raises
    ------
    WrongArgument
        It is none of these, or not between 0 and 1.
    """
    found = value
    if isinstance(value, str):
        if value in tuple(AccuracyName):
            return AccuracyName(value)
        with suppress(ValueError):
            found = float(value)
    wanted = _number(found)
    if wanted is None or not 0 < wanted < 1:
        raise WrongArgument(name, value, ACCURACIES)
    return wanted


def accuracy_by_default(stated: WantedAccuracy | None) -> WantedAccuracy:
    """The check of the accuracy that a settings file states, else that of the environment, else auto.

    Raises
    ------
    WrongArgument
        The environment variable has another value.
    """
    if stated is not None:
        return stated
    return accuracy_of(ACCURACY_VARIABLE, os.environ.get(ACCURACY_VARIABLE) or AccuracyName.AUTO)


def one_of(name: str, value: object, words: Collection[str]) -> str:
    """One of these texts."""
    if isinstance(value, str) and value in words:
        return str(value)
    near = similar_names(value, words, 1) if isinstance(value, str) else ()
    meant = f" (did you mean {near[0]}?)" if near else ""
    raise WrongArgument(name, value, f"one of {', '.join(words)}{meant}")


def text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise WrongArgument(name, value, "a text")
    return value


def plain(value: object) -> object:
    """A scalar of numpy as what Python has for it; anything else as it is."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        return value.item()
    return value


# -- texts, files and tables ---------------------------------------------------------------------------------


def texts(name: str, value: object, what: str = "a text") -> tuple[str, ...]:
    """One text, or several."""
    if isinstance(value, str):
        return (value,)
    found = _several(value)
    if found is None or not all(isinstance(one, str) for one in found):
        raise WrongArgument(name, value, f"{what} or a list of them")
    return tuple(str(one) for one in found)


def path(name: str, value: object) -> Path:
    """A path, also as a text."""
    if isinstance(value, str | os.PathLike) and isinstance(found := os.fspath(value), str) and found:
        if "\0" in found:  # which no system takes
            raise WrongArgument(name, value, "a path without a null character")
        return Path(found)
    raise WrongArgument(name, value, "a path (a text or a pathlib.Path)")


def paths(name: str, value: object) -> tuple[Path, ...]:
    """One path, or several."""
    if isinstance(value, str | os.PathLike):
        return (path(name, value),)
    found = _several(value)
    if found is None or not all(isinstance(one, str | os.PathLike) for one in found):
        raise WrongArgument(name, value, "a path or a list of paths")
    return tuple(path(name, one) for one in found)


def _several(value: object) -> list[Any] | None:
    """The members of a list, tuple, set, generator or array of one dimension; None of anything else."""
    if isinstance(value, Mapping | bytes) or not isinstance(value, Iterable):
        return None
    return [plain(one) for one in value]


def mapping(name: str, value: object, what: str) -> Mapping[str, Any]:
    """A mapping from texts; `what` says from what to what, with an example."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise WrongArgument(name, value, what)
    return value


def start_value_texts(name: str, given: object) -> dict[str, str]:
    """Start values as texts, which the variables read: numbers without loss, arrays with blanks between elements."""
    found = mapping(name, given, "a mapping from full names to values, such as {'System1.m1': 2.0}")
    return {variable: _value_text(f"{name}[{variable!r}]", value) for variable, value in found.items()}


def _value_text(name: str, value: object) -> str:
    if isinstance(value, str | bytes):
        return _scalar_text(name, value)
    if hasattr(value, "tolist"):  # an array of numpy, a series of pandas
        value = value.tolist()
    if isinstance(value, Sequence):
        return " ".join(_element_text(name, value, one) for one in _flat(value))
    return _scalar_text(name, value)


def _element_text(name: str, value: object, element: object) -> str:
    try:
        text = _scalar_text(name, element)
    except WrongArgument:
        raise WrongArgument(name, value, _VALUES) from None
    if isinstance(element, str) and (not text or any(letter in " \t\n\r\"'\\" for letter in text)):
        return "'" + text.replace("'", "'\"'\"'") + "'"  # as a shell quotes, which the reader of arrays undoes
    return text


def _flat(value: Sequence[Any]) -> Iterator[Any]:
    """The elements of nested lists, row by row."""
    for one in value:
        one = one.tolist() if hasattr(one, "tolist") else one
        if isinstance(one, Sequence) and not isinstance(one, str | bytes):
            yield from _flat(one)
        else:
            yield one


def _scalar_text(name: str, value: object) -> str:
    value = plain(value)
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case bytes():
            return value.hex()
        case Integral():
            return str(int(value))
        case Real():
            return repr(float(value)) if math.isfinite(value) else number_name(float(value))
        case _:
            raise WrongArgument(name, value, _VALUES)


_VALUES = "a number, True or False, a text, bytes, the name of an enumeration's item, or a list of them"


def boxing(value: object) -> Boxing | None:
    """Raises WrongArgument."""
    if value is None or isinstance(value, bool) or value == BEST:
        return value
    raise WrongArgument("sandbox", value, "True, False or 'best'")
