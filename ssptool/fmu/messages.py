"""Messages that FMUs log: callbacks that format, count and keep them per instance, and files of messages."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from ssptool.errors import WrongValue, missing_kernel
from ssptool.fmu.c_types import fmi1, fmi2, fmi3
from ssptool.fmu.description import FmuDescription

STATUS = ("ok", "warning", "discard", "error", "fatal", "pending")

PROBLEM_CATEGORIES = ("logStatusWarning", "logStatusDiscard", "logStatusError", "logStatusFatal")
"""Standard categories of messages about problems (FMI 2.0.4 §2.2.4, FMI 3.0.2 §2.4.5)."""

LATEST = 5
"""Number of messages in the error of a failed call."""

LOG_FORMATS = (".csv", ".jsonl")
COLUMNS = ("time", "component", "status", "category", "text")

_PENDING = STATUS.index("pending")


def status_word(status: int) -> str:
    """FMI's name of a status; an FMU may return an undefined one."""
    return STATUS[status] if 0 <= status < len(STATUS) else f"status {status}, which FMI does not define"


@dataclass(frozen=True, slots=True)
class FmuMessage:
    """A message of an FMU, and the number of messages of its kind: with the same status and category, differing only in
    numbers.

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


class _Log(Protocol):
    """Messages of one instance."""

    @property
    def key(self) -> int:
        """A unique number of the log."""

    def answer_to(self, key: int) -> None:
        """Assign messages with this environment, or in FMI 1.0 this instance, to the log."""

    def begin(self) -> None:
        """Assign messages of this thread with an unknown key to the log, while the instance is made."""

    def end(self) -> None: ...
    def close(self) -> None:
        """Ignore all further messages."""

    def clear(self) -> None: ...
    def follow(self, clock: Any, /) -> None: ...

    def write_to(
        self, file: Any, level: int, categories: list[str], names: dict[str, str], references: bool, /
    ) -> None:
        """Write messages of at least this severity and one of the categories (empty: of all); errors of any."""

    def counts(self) -> Mapping[int, int]:
        """Number of messages by status."""

    def messages(self) -> Sequence[Raw]:
        """The last ones, oldest first."""

    def kinds(self) -> Sequence[tuple[int, Raw]]:
        """The first message of each kind worse than ok, and the number of its kind."""


class Callbacks(NamedTuple):
    """Addresses of C functions: of a logger with printf arguments (FMI 1.0 and 2.0), of one without (FMI 3.0), of
    calloc and of free; the receiver of messages; and the state of the process that calls must not change.
    """

    log_formatted: int
    log_plain: int
    allocate: int
    release: int
    log: Any
    file: Any
    clock: Any
    process_state: Any


@cache
def callbacks() -> Callbacks:
    """Callbacks of the native module. Raises MissingPackage."""
    try:
        from ssptool.fmu import _messages
    except ImportError:
        raise missing_kernel() from None
    return Callbacks(
        _messages.log_formatted,
        _messages.log_plain,
        _messages.allocate,
        _messages.release,
        _messages.Log,
        _messages.LogFile,
        _messages.Clock,
        _messages.ProcessState,
    )


# -- logs ------------------------------------------------------------------------------------------------------------


class RunTime(Protocol):
    """The present time of a run, written by a kernel."""

    time: float
    """[s]; nan: none yet."""

    @property
    def address(self) -> int:
        """The address of the double."""


def new_run_time() -> RunTime:
    clock: RunTime = callbacks().clock()
    return clock


class MessageFile:
    """A file of the messages of several instances, one row each, as CSV or JSON lines by its ending; a context manager.
    Each row is written at once, so that it survives a crash of an FMU.

    Raises
    ------
    WrongValue
        The ending is neither .csv nor .jsonl.
    OSError
        The file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        check_message_file(path)
        self.path = path
        json_lines = path.suffix.lower() == ".jsonl"
        with ExitStack() as opened:
            file = opened.enter_context(path.open("wb", buffering=0))
            if not json_lines:
                file.write((",".join(COLUMNS) + "\r\n").encode())
            self.rows = callbacks().file(file.fileno(), json_lines)
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


def check_message_file(path: Path) -> None:
    """Raise ValueError for a file name with an unsupported ending."""
    if path.suffix.lower() not in LOG_FORMATS:
        raise WrongValue(f"the name of a log must end in {' or '.join(LOG_FORMATS)}, found {path.name!r}")


class MessageLog:
    """The messages of an instance."""

    def __init__(self, component: str, description: FmuDescription) -> None:
        self.component = component
        self.clock: RunTime | None = None
        self._description = description
        self._callbacks = callbacks()
        self._log: _Log = self._callbacks.log(component)
        self._fmi2 = fmi2.fmi2CallbackFunctions(
            logger=fmi2.fmi2CallbackLoggerTYPE(self._callbacks.log_formatted),
            allocateMemory=fmi2.fmi2CallbackAllocateMemoryTYPE(self._callbacks.allocate),
            freeMemory=fmi2.fmi2CallbackFreeMemoryTYPE(self._callbacks.release),
            componentEnvironment=self._log.key,
        )

    def fmi1_callbacks(self) -> Any:
        """The fmiCallbackFunctions of FMI 1.0; `answer_to` the instance once it was made."""
        return fmi1.fmi1CallbackFunctions(
            logger=fmi1.fmi1CallbackLoggerTYPE(self._callbacks.log_formatted),
            allocateMemory=fmi1.fmi1CallbackAllocateMemoryTYPE(self._callbacks.allocate),
            freeMemory=fmi1.fmi1CallbackFreeMemoryTYPE(self._callbacks.release),
            stepFinished=None,
        )

    def fmi2_callbacks(self) -> Any:
        """The fmi2CallbackFunctions."""
        self.answer_to(self._log.key)
        return self._fmi2

    def fmi3_callback(self, environment: int) -> tuple[Any, int]:
        """The fmi3LogMessageCallback and the instanceEnvironment: this one, or a new one for 0."""
        self.answer_to(environment or self._log.key)
        return fmi3.fmi3LogMessageCallback(self._callbacks.log_plain), environment or self._log.key

    def answer_to(self, key: int) -> None:
        """Receive messages with this environment, or in FMI 1.0 of this instance."""
        self._log.answer_to(key)

    @contextmanager
    def making(self) -> Iterator[None]:
        """Receive messages while the body makes the instance, whose address is still unknown."""
        self._log.begin()
        try:
            yield
        finally:
            self._log.end()

    def follow(self, clock: RunTime) -> None:
        """Take the times of messages from a run."""
        self.clock = clock
        self._log.follow(clock)

    def write_to(self, file: MessageFile, level: str = "ok", categories: Sequence[str] = ()) -> None:
        """Write messages of at least this status and, if any are stated, of these categories; errors of any."""
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
        """The last messages, oldest first."""
        return tuple(str(self._message(raw)) for raw in self._log.messages())

    def latest(self, count: int = LATEST) -> tuple[str, ...]:
        """The last messages up to a number, oldest first; only those about problems, if there are any."""
        messages = self._log.messages()
        problems = [raw for raw in messages if _severity(raw[1]) > 0]
        return tuple(str(self._message(raw)) for raw in (problems or messages)[-count:])

    @property
    def kinds(self) -> tuple[FmuMessage, ...]:
        """The first message of each kind that is worse than ok, in the order in which they came."""
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
    """Standard categories of problems that the FMU declares; none if it is made of Python.

    pythonfmu and pythonfmu3 log exceptions without a category, whatever they declare.
    """
    declared = tuple(name for name in PROBLEM_CATEGORIES if name in description.log_categories)
    return (*declared, "") if declared and description.python_modules else declared


_LETTER = {"Float64": "r", "Int32": "i", "Enumeration": "i", "Boolean": "b", "String": "s"}


def _names(description: FmuDescription) -> dict[str, str]:
    """r12 → the first variable of type Real with the value reference 12."""
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
