"""Namespaces, media types and simple types of SSP (SSP 2.0 §5.2.3, §5.3.3, §5.4).

The namespaces are the same in SSP 1.0 and 2.0; only the root attribute `version` differs. A simple type is a
`Converter` between the text of an attribute and its value. Reading is exactly as strict as the schema (Python's own
`float` and `int` accept `1_000`, `infinity` and digits of other scripts, XML Schema does not); writing gives a text
that is read back as the same value.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Generic, TypeVar

from ssptool.foreign_text import number_name

SSC = "http://ssp-standard.org/SSP1/SystemStructureCommon"
SSD = "http://ssp-standard.org/SSP1/SystemStructureDescription"
SSV = "http://ssp-standard.org/SSP1/SystemStructureParameterValues"
SSM = "http://ssp-standard.org/SSP1/SystemStructureParameterMapping"
SSB = "http://ssp-standard.org/SSP1/SystemStructureSignalDictionary"

NSMAP = {"ssc": SSC, "ssd": SSD, "ssv": SSV, "ssm": SSM, "ssb": SSB}


FMU = "application/x-fmu-sharedlibrary"
SYSTEM_STRUCTURE = "application/x-ssp-definition"
PACKAGE = "application/x-ssp-package"
PARAMETER_SET = "application/x-ssp-parameter-set"
PARAMETER_MAPPING = "application/x-ssp-parameter-mapping"
SIGNAL_DICTIONARY = "application/x-ssp-signal-dictionary"
MODELICA = "text/x-modelica"
EXPORTED_SYSTEM = "extra/ssptool/system.ssp"
"""Entry of the system in an FMU that was exported from one."""
EXPORTED_VARIANT = "extra/ssptool/variant.txt"
"""Entry with the SSD of that system, if it is not the default."""
TABLE = "text/csv"
"""Type of a component whose outputs are the columns of a CSV file, as in OMSimulator; not in the standard."""
TABLES = (TABLE, "application/table")
"""Types of tables, including that of older versions of OMSimulator."""


@lru_cache(maxsize=256)
def media_type(stated: str) -> str:
    """A media type without parameters, in lower case (RFC 2045 §5.1)."""
    return stated.partition(";")[0].strip().lower()


T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

_DOUBLE = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_SPECIAL = {"INF": math.inf, "-INF": -math.inf, "NaN": math.nan}
_BOOLEAN = {"true": True, "1": True, "false": False, "0": False}
_SPACE = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Converter(Generic[T]):
    """A simple type: `read` raises ValueError for a text that is not of the type, `expected` describes valid texts.

    `choices` are the texts of an enumerated type.
    """

    read: Callable[[str], T]
    write: Callable[[T], str]
    expected: str
    choices: tuple[str, ...] = ()


def _read_double(text: str) -> float:
    text = text.strip(_SPACE)
    if text in _SPECIAL:
        return _SPECIAL[text]
    if not _DOUBLE.fullmatch(text):
        raise ValueError(text)
    return float(text)


def _write_double(value: float) -> str:
    value = float(value)
    return repr(value) if math.isfinite(value) else number_name(value)


def _read_boolean(text: str) -> bool:
    try:
        return _BOOLEAN[text.strip(_SPACE)]
    except KeyError:
        raise ValueError(text) from None


def _read_hex_binary(text: str) -> bytes:
    text = text.strip(_SPACE)
    if any(character.isspace() for character in text):
        raise ValueError(text)
    return bytes.fromhex(text)


def _integer_between(lowest: int, highest: int, expected: str) -> Converter[int]:
    def within(value: int) -> int:
        if not lowest <= value <= highest:
            raise ValueError(f"{value} is not {expected}")
        return value

    def read(text: str) -> int:
        text = text.strip(_SPACE)
        # The limit of the length bounds the work for absurdly long numbers; leading zeros are legal, but never that
        # many.
        if len(text) > 400 or not _INTEGER.fullmatch(text):
            raise ValueError(text)
        return within(int(text))

    return Converter(read, lambda value: str(within(value)), expected)


def signed(bits: int) -> Converter[int]:
    """Signed integers with this number of bits."""
    return _integer_between(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, f"an integer of {bits} bits")


def unsigned(bits: int) -> Converter[int]:
    """Unsigned integers with this number of bits."""
    return _integer_between(0, 2**bits - 1, f"an integer from 0 to {2**bits - 1}")


def list_of(item: Converter[T]) -> Converter[tuple[T, ...]]:
    """Items with white space between them; the empty text is the empty list."""
    return Converter(
        lambda text: tuple(item.read(part) for part in text.split()),
        lambda values: " ".join(item.write(value) for value in values),
        f"a list, each {item.expected}",
    )


def one_of(enum: type[E]) -> Converter[E]:
    """One word of an enumeration, in the standard's spelling."""
    members = {member.value: member for member in enum}

    def read(text: str) -> E:  # a dictionary look-up is faster than a call of the enumeration
        try:
            return members[text]
        except KeyError:
            raise ValueError(text) from None

    return Converter(read, lambda value: str(enum(value)), "one of " + ", ".join(enum), tuple(members))


string: Converter[str] = Converter(str, str, "a text")
any_uri: Converter[str] = Converter(lambda text: text.strip(_SPACE), str, "a URI")
double: Converter[float] = Converter(_read_double, _write_double, "a number such as 1, -2.5e-3, INF or NaN")
boolean: Converter[bool] = Converter(
    _read_boolean, lambda value: "true" if value else "false", "true or false", ("true", "false")
)
# A number that fits neither signed nor unsigned 64-bit integers does not fit any integer type of SSP.
integer: Converter[int] = _integer_between(-(2**63), 2**64 - 1, "an integer of 64 bits")
hex_binary: Converter[bytes] = Converter(
    _read_hex_binary, lambda value: value.hex().upper(), "pairs of hexadecimal digits"
)


def number_text(value: float) -> str:
    """Shortest text that is read back as the same number: `10` for 10.0."""
    return double.write(value).removesuffix(".0")


def rounded_text(value: float, digits: int) -> str:
    """A number with this number of significant digits; INF, -INF and NaN as in documents."""
    return f"{value:.{digits}g}" if math.isfinite(value) else number_name(value)


SETTINGS_FILE = "ssptool.toml"
"""File with the settings of ssptool in a folder; not part of a system."""


OUTPUT_ENDINGS = (".csv", ".csv.json", ".parquet", ".mat", ".h5", ".mf4", ".jsonl", ".png", ".svg", ".pdf", ".html")
"""Extensions of results, logs, plots and reports; documents of a system do not have them."""

STUDY_ENDING = ".study"
"""Extension of folders with the results of a study."""


def is_named_as_output(name: str) -> bool:
    """True if a file is named and located like an output of commands, next to the system structure."""
    top, _, below = name.lower().partition("/")
    return top.endswith(STUDY_ENDING) if below else top.endswith(OUTPUT_ENDINGS)


class IntervalVariability(StrEnum):
    """Variability of the interval between ticks of a clock (FMI 3.0 §2.2.8.3)."""

    CONSTANT = "constant"
    FIXED = "fixed"
    TUNABLE = "tunable"
    CHANGING = "changing"
    COUNTDOWN = "countdown"
    TRIGGERED = "triggered"


OWN_DELAY, OWN_HELD_DELAY = "ssptool/delay.fmu", "ssptool/delay-held.fmu"
"""Names, in place of entries, of FMUs that delay a signal; they are not part of any archive."""

OWN_FMUS = (OWN_DELAY, OWN_HELD_DELAY)
