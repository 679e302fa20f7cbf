"""Messages that FMUs log: callbacks that format, count and store them per instance, and files of messages."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ssptool.errors import WrongValue, missing_kernel
from ssptool.fmu.c_types import fmi1, fmi2, fmi3
from ssptool.fmu.description import FmuDescription

if TYPE_CHECKING:
    from ssptool.fmu._messages import Clock, Log

STATUS = ("ok", "warning", "discard", "error", "fatal", "pending")

PROBLEM_CATEGORIES = ("logStatusWarning", "logStatusDiscard", "logStatusError", "logStatusFatal")
"""Standard categories of messages about problems (FMI 2.0.4 §2.2.4, FMI 3.0.2 §2.4.5)."""

LATEST = 5
"""Number of messages in the error of a failed call."""

LOG_FORMATS = (".csv", ".jsonl")
COLUMNS = ("time", "component", "status", "category", "text")

_PENDING = STATUS.index("pending")


def status_word(status: int) -> str:
    """FMI's name of a status, which may be undefined."""
    return STATUS[status] if 0 <= status < len(STATUS) else f"status {status}, which FMI does not define"


@dataclass(frozen=True, slots=True)
class FmuMessage:
    """A message of an FMU, and the number of messages of its kind (same status and category, text differs only in
    numbers).

    Attributes
    ----------
    time : [s]
        Time of the first message: the start of the communication step; None before initialization.
    """

    component: str
    status: str
    category: str
    text: str
    time: float | None
    count: int = 1

    def __str__(self) -> str:
        return f"{self.status}{f' ({self.category})' if self.category else ''}: {self.text}"


# -- the native module -----------------------------------------------------------------------------------------------

Raw: TypeAlias = tuple[float, int, bytes, bytes]
"""Time [s], status, category, text."""


@cache
def native_messages() -> Any:
    """The native module: callbacks (loggers with and without printf arguments, calloc, free), logs of instances and
    their files, the clock of a run, and the process state that calls must not change. Raises MissingPackage.
    """
    try:
        from ssptool.fmu import _messages
    except ImportError:
        raise missing_kernel() from None
    return _messages


# -- logs ------------------------------------------------------------------------------------------------------------


def new_clock() -> "Clock":
    """Present time of a run, which a kernel writes; nan before the start."""
    clock: Clock = native_messages().Clock()
    return clock


class MessageFile:
    """A file of the messages of several instances, one row each, as CSV or JSON lines depending on its extension; a
    context manager. Each row is written at once, so that it survives a crash of an FMU.

    Raises
    ------
    WrongValue
        The extension is neither .csv nor .jsonl.
    OSError
        The file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        check_log_name(path)
        self.path = path
        json_lines = path.suffix.lower() == ".jsonl"
        with ExitStack() as opened:
            file = opened.enter_context(path.open("wb", buffering=0))
            if not json_lines:
                file.write((",".join(COLUMNS) + "\r\n").encode())
            self.rows = native_messages().LogFile(file.fileno(), json_lines)
            opened.callback(self.rows.close)
            self._opened = opened.pop_all()

    @property
    def lost(self) -> int:
        """Number of messages that could not be written."""
        return int(self.rows.lost)

    @property
    def error(self) -> int:
        """The errno of the latest failure."""
        return int(self.rows.error)

    def __enter__(self) -> "MessageFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()


def check_log_name(path: Path) -> None:
    """Raise ValueError for a file name with an unsupported extension."""
    if path.suffix.lower() not in LOG_FORMATS:
        raise WrongValue(f"the name of a log must end in {' or '.join(LOG_FORMATS)}, found {path.name!r}")


class MessageLog:
    """The messages of an instance."""

    def __init__(self, component: str, description: FmuDescription) -> None:
        self.component = component
        self._description = description
        self._native = native_messages()
        self._log: Log = self._native.Log(component)
        self._fmi2 = fmi2.fmi2CallbackFunctions(
            logger=fmi2.fmi2CallbackLoggerTYPE(self._native.log_formatted),
            allocateMemory=fmi2.fmi2CallbackAllocateMemoryTYPE(self._native.allocate),
            freeMemory=fmi2.fmi2CallbackFreeMemoryTYPE(self._native.release),
            componentEnvironment=self._log.key,
        )

    def fmi1_callbacks(self) -> Any:
        """The fmiCallbackFunctions of FMI 1.0; call `answer_to` for the instance after it was made."""
        return fmi1.fmi1CallbackFunctions(
            logger=fmi1.fmi1CallbackLoggerTYPE(self._native.log_formatted),
            allocateMemory=fmi1.fmi1CallbackAllocateMemoryTYPE(self._native.allocate),
            freeMemory=fmi1.fmi1CallbackFreeMemoryTYPE(self._native.release),
            stepFinished=None,
        )

    def fmi2_callbacks(self) -> Any:
        """The fmi2CallbackFunctions."""
        self.answer_to(self._log.key)
        return self._fmi2

    def fmi3_callback(self, environment: int) -> tuple[Any, int]:
        """The fmi3LogMessageCallback and the instanceEnvironment: the given one, or a new one for 0."""
        self.answer_to(environment or self._log.key)
        return fmi3.fmi3LogMessageCallback(self._native.log_plain), environment or self._log.key

    def answer_to(self, key: int) -> None:
        """Receive messages with this environment (in FMI 1.0: of this instance)."""
        self._log.answer_to(key)

    @contextmanager
    def making(self) -> Iterator[None]:
        """Context for making the instance: receive messages although its address is unknown."""
        self._log.begin()
        try:
            yield
        finally:
            self._log.end()

    def follow(self, clock: "Clock") -> None:
        """Use the time of a run for messages."""
        self._log.follow(clock)

    def write_to(self, file: MessageFile, level: str = "ok", categories: Sequence[str] = ()) -> None:
        """Write messages of at least this status and, if any are stated, in these categories; errors in any
        category.
        """
        references = self._description.fmi_major < 3
        names = _names(self._description) if references else {}
        self._log.write_to(file.rows, STATUS.index(level), list(categories), names, references)

    def clear(self) -> None:
        """Forget all messages."""
        self._log.clear()

    def close(self) -> None:
        """Close the log of a freed instance."""
        self._log.close()

    @property
    def lines(self) -> tuple[str, ...]:
        """The latest messages, oldest first."""
        return tuple(str(self._message(raw)) for raw in self._log.messages())

    def latest(self, count: int = LATEST) -> tuple[str, ...]:
        """The latest messages up to a number, oldest first; only problems, if there are any."""
        messages = self._log.messages()
        problems = [raw for raw in messages if _severity(raw[1]) > 0]
        return tuple(str(self._message(raw)) for raw in (problems or messages)[-count:])

    @property
    def kinds(self) -> tuple[FmuMessage, ...]:
        """The first message of each kind that is worse than ok, in order of occurrence."""
        return tuple(self._message(raw, count) for count, raw in self._log.kinds())

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of messages by status."""
        return {status_word(status): count for status, count in sorted(self._log.counts().items())}

    def _message(self, raw: Raw, count: int = 1) -> FmuMessage:
        time, status, category, text = raw
        shown = _decoded(text)
        if self._description.fmi_major < 3 and "#" in shown:
            shown = _resolved(shown, _names(self._description))
        stated = None if math.isnan(time) else time
        return FmuMessage(self.component, status_word(status), _decoded(category), shown, stated, count)


def problem_categories(description: FmuDescription) -> tuple[str, ...]:
    """Standard categories of problems that the FMU declares; empty for FMUs in Python.

    pythonfmu and pythonfmu3 log exceptions without a category, whatever they declare.
    """
    declared = tuple(name for name in PROBLEM_CATEGORIES if name in description.log_categories)
    return (*declared, "") if declared and description.python_modules else declared


_LETTER = {"Float64": "r", "Int32": "i", "Enumeration": "i", "Boolean": "b", "String": "s"}


def _names(description: FmuDescription) -> dict[str, str]:
    """Name such as r12 → the first variable of type Real with the value reference 12."""
    found: dict[str, str] = {}
    for variable in description.variables.values():
        if variable.type in _LETTER:
            found.setdefault(f"{_LETTER[variable.type]}{variable.reference}", variable.name)
    return found


def _resolved(text: str, names: Mapping[str, str]) -> str:
    """Replace `#r12#` by names of variables, and `##` by `#` (FMI 2.0.4 §2.1.5)."""
    return re.sub(r"#([ribs]\d+)?#", lambda found: names.get(found[1], found[0]) if found[1] else "#", text)


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", errors="replace")


def _severity(status: int) -> int:
    return 0 if status == _PENDING else status
