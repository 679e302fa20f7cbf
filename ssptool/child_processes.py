"""Child processes of the package: their interpreter, their environment, and messages from parent to child and back.

A child loads FMUs, which are foreign code. It imports nothing from the current folder, gets only the environment
variables that FMUs need, and answers with data. The parent never executes data from a child.
"""

import base64
import copyreg
import ctypes
import dataclasses
import importlib
import io
import json
import math
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from enum import Enum
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from ssptool.errors import WrongUsage
from ssptool.foreign_output import ChildOutput, is_child, leave_terminal
from ssptool.foreign_text import NOT_FINITE, number_name, strict_json
from ssptool.guard import signalled_with_parent, stands

if sys.platform == "win32":
    import _winapi
    import msvcrt
    from multiprocessing.connection import PipeConnection as _Connection

    _NO_WAITING, _KILL = 0, signal.SIGTERM
else:
    from multiprocessing.connection import Connection as _Connection

    _NO_WAITING, _KILL = os.WNOHANG, signal.SIGKILL

Connection: TypeAlias = _Connection
"""One end of a pipe between parent and child."""

T = TypeVar("T")

# -- from parent to child


class Pickler(pickle.Pickler):
    """Pickler that also takes frozen mappings, and errors whose constructors do not take what `args` holds."""

    dispatch_table = copyreg.dispatch_table.copy()
    dispatch_table[MappingProxyType] = lambda mapping: (_frozen, (dict(mapping),))

    def reducer_override(self, value: Any) -> Any:
        # Those of the operating system keep what they are about, such as the name of a file, by themselves.
        if isinstance(value, BaseException) and not isinstance(value, OSError):
            return _rebuild, (type(value), value.args, value.__dict__)
        return NotImplemented


def _frozen(entries: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(entries)


def _rebuild(kind: type[BaseException], arguments: tuple[Any, ...], facts: dict[str, Any]) -> BaseException:
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(facts)
    return error


def dumps(value: Any) -> bytes:
    """A message for a child, as bytes for `pickle.loads`. What a child sends is `encoded`."""
    buffer = io.BytesIO()
    Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(value)
    return buffer.getvalue()


# -- interpreter and environment

ENVIRONMENT: Mapping[str, tuple[str, ...]] = {
    "programs and libraries that FMUs start and load": ("PATH", "LD_LIBRARY_PATH", "DYLD_*", "SYSTEMROOT", "WINDIR"),
    "settings and licenses in the folder of the user": ("HOME", "USER", "LOGNAME", "USERPROFILE", "APPDATA"),
    "temporary files": ("TMPDIR", "TMP", "TEMP", "XDG_RUNTIME_DIR"),
    "language, formats of numbers and time zone": ("LANG", "LANGUAGE", "LC_*", "TZ"),
    "number of threads": ("OMP_*", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    "license servers": ("*_LICENSE_FILE", "*_LICENSE_SERVER", "*_LICENSE", "*_LICENSE_PATH"),
    "compilation of FMUs with sources (--compile)": (
        *("CC", "CXX", "CFLAGS", "CXXFLAGS", "XDG_CACHE_HOME", "COMPILER_PATH", "GCC_EXEC_PREFIX", "LIBRARY_PATH"),
        *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "SDKROOT", "DEVELOPER_DIR", "NIX_CC*", "NIX_LD*"),
    ),
    "ssptool itself": ("SSPTOOL_*",),
}
"""Reason → patterns of the environment variables that a child gets. All others need `env` (`--env NAME`)."""

PASSED = "SSPTOOL_ENV"
"""Variable that names more of them, separated by commas: for the children of children."""

_UNBUFFERED = {"GFORTRAN_UNBUFFERED_PRECONNECTED": "1"}
"""Streams of Fortran keep nothing, so that what an FMU prints before it crashes is not lost."""

_passed: ContextVar[tuple[str, ...]] = ContextVar("passed", default=())


def _not_in_environment(name: str) -> WrongUsage:
    """A variable that children should get is not set."""
    return WrongUsage(f"--env {name}: the environment has no variable {name}; set it, or leave out the option")


@contextmanager
def passing(names: Iterable[str]) -> Iterator[None]:
    """Children that are started meanwhile get these environment variables as well. Raises WrongUsage."""
    names = tuple(names)
    for name in names:
        if name not in os.environ:
            raise _not_in_environment(name)
    token = _passed.set((*_passed.get(), *names))
    try:
        yield
    finally:
        _passed.reset(token)


def child_environment() -> dict[str, str]:
    """The variables of this process that a child gets."""
    more = [*_passed.get(), *filter(None, os.environ.get(PASSED, "").split(","))]
    patterns = [*more, *(pattern for patterns in ENVIRONMENT.values() for pattern in patterns)]
    found = {name: value for name, value in os.environ.items() if any(fnmatchcase(name, one) for one in patterns)}
    return found | _UNBUFFERED | ({PASSED: ",".join(dict.fromkeys(more))} if more else {})


def scrub() -> None:
    """Make a fork of the parent like a new interpreter: its environment, and where it looks for modules."""
    wanted = child_environment()
    for name in set(os.environ) - set(wanted):
        del os.environ[name]
    os.environ.update(wanted)
    sys.path[:] = import_path()


def import_path() -> list[str]:
    """Search path without the current folder, and without entries that another working directory would change."""
    return [entry for entry in sys.path if Path(entry).is_absolute()]


_STDERR = 2


def close_descriptors(kept: Collection[int]) -> None:
    """Close what a fork of the parent has inherited from it, but for these descriptors and the standard streams.

    The null device takes the place of each: a file object of the parent that is destroyed here writes to nothing else.
    """
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in _open_descriptors():
        if descriptor > _STDERR and descriptor not in kept and descriptor != null:
            with suppress(OSError):
                os.fstat(descriptor)  # that of the list is no longer open
                os.dup2(null, descriptor, inheritable=False)
    os.close(null)


def _open_descriptors() -> list[int]:
    if sys.platform == "win32":
        raise AssertionError("there are no forks")
    for folder in (Path("/proc/self/fd"), Path("/dev/fd")):
        with suppress(OSError):
            return [int(entry.name) for entry in folder.iterdir()]
    return list(range(os.sysconf("SC_OPEN_MAX")))


def interpreter(code: str) -> list[str]:
    """The command of a new interpreter that executes code of ours.

    Folders of modules that only this process has, such as that of its script, come last there: a file in them takes the
    place of no installed module. The current folder is none of them, and PYTHON* variables have no effect.
    """
    options = ["-E", "-P", *(["-s"] if sys.flags.no_user_site else [])]
    path = f"import sys\nsys.path += [entry for entry in {import_path()!r} if entry not in sys.path]\n"
    return [sys.executable, *options, "-c", path + code]


_START = """from ssptool.foreign_output import settle_streams
settle_streams()
{first}
from {module} import {function}
{function}()"""


class Interpreter(subprocess.Popen[bytes]):
    """A new interpreter, which has no terminal."""

    output: ChildOutput | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Wait as `Popen` does, then show what it has printed."""
        status = super().wait(timeout)
        if self.output is not None:
            self.output.finish()
        return status

    def kill(self) -> None:
        """Kill it and what it has started: nothing of it gets the interrupts of a terminal."""
        if self.output is not None and self.returncode is None:
            self.output.send(_KILL)
        super().kill()


def start_interpreter(
    entry: str, arguments: Sequence[int], inherited: Sequence[int], *, guarded: bool = False, offline: bool = False
) -> Interpreter:
    """A new interpreter that calls an entry (`module:function`) and inherits descriptors (Windows: handles).

    `guarded`: it has a guard, so that it ends with all that it starts. `offline`: it leaves the network first, while it
    has one thread.
    """
    module, _, function = entry.partition(":")
    first = f"from ssptool.sandbox import leave_network; leave_network(apart={guarded})\n" if offline else ""
    if guarded:
        first += f"from ssptool.guard import stand_guard; stand_guard({os.getpid()}, apart={offline})"
    code = _START.format(first=first, module=module, function=function)
    command = [*interpreter(code), *map(str, arguments)]
    if is_child():
        return _started(command, inherited, None)
    output = ChildOutput()
    try:
        process = _started(command, inherited, output.end)
    except BaseException:
        output.give_up()
        raise
    process.output = output
    output.begin(process.pid)
    return process


def _started(command: list[str], inherited: Sequence[int], end: int | None) -> Interpreter:
    """`end`: descriptor for what it prints; None: it shares the streams and the session of this process."""
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": end, "stderr": end}
    if sys.platform == "win32":
        for handle in inherited:
            os.set_handle_inheritable(handle, True)
        startup = subprocess.STARTUPINFO(lpAttributeList={"handle_list": list(inherited)})
        unseen = subprocess.CREATE_NO_WINDOW
        return Interpreter(command, startupinfo=startup, env=child_environment(), creationflags=unseen, **streams)
    session = end is not None
    return Interpreter(command, pass_fds=inherited, env=child_environment(), start_new_session=session, **streams)


def handle_of(descriptor: int) -> int:
    """The number under which a child inherits an open file: Windows has handles behind descriptors."""
    if sys.platform == "win32":
        return msvcrt.get_osfhandle(descriptor)
    return descriptor


def descriptor_of(handle: int) -> int:
    """The inverse of `handle_of`, in the child."""
    if sys.platform == "win32":
        return msvcrt.open_osfhandle(handle, os.O_RDWR)
    return handle


class Fork:
    """A copy of this process that does some work, has no terminal, and ends. Raises OSError.

    Attributes
    ----------
    pid
        The process id.
    output
        None: it shares the streams and the session of this process.
    """

    output: ChildOutput | None = None

    def __init__(self, work: Callable[[], object]) -> None:
        flush_c_streams()  # what FMUs have printed is printed once
        output = None if is_child() or sys.platform == "win32" else ChildOutput()
        try:
            with warnings.catch_warnings():
                # Only idle threads of the BLAS library are counted here, and BLAS handles forks.
                warnings.simplefilter("ignore", DeprecationWarning)
                self.pid = _fork()
        except OSError:
            if output is not None:
                output.give_up()
            raise
        if self.pid == 0:
            try:
                _leave_exit_handlers()
                if output is not None:
                    leave_terminal(output.end)
                work()
            finally:
                os._exit(1)
        self._status: int | None = None
        if output is not None:
            self.output = output
            output.begin(self.pid)

    def poll(self) -> int | None:
        """The exit status, or minus the number of the signal that ended it; None while it goes on."""
        if self._status is None:
            self._status = self._waited(_NO_WAITING)
        return self._status

    def wait(self) -> int:
        """The exit status as of `poll`, when it has ended, and what it has printed is shown."""
        if self._status is None:
            self._status = self._waited(0)
            assert self._status is not None
        if self.output is not None:
            self.output.finish()
        return self._status

    def kill(self) -> None:
        """End it now, and what it has started; nothing happens to one that has ended."""
        if self._status is None:
            if self.output is not None:
                self.output.send(_KILL)
            with suppress(ProcessLookupError):
                os.kill(self.pid, _KILL)
            self.wait()

    def _waited(self, options: int) -> int | None:
        try:
            pid, status = os.waitpid(self.pid, options)
        except ChildProcessError:  # an interrupt came between its end and the record of its end
            return -_KILL
        return os.waitstatus_to_exitcode(status) if pid else None


def _leave_exit_handlers() -> None:
    """Let an FMU that calls `exit` end this copy with its status, whatever the parent has registered for its own end.

    Handlers run from the latest to the earliest: those of the FMU, then the one that flushes streams, then the one that
    ends the process. Those of the parent may wait for threads that a copy does not have, or crash for want of them.
    """
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        if hasattr(library, "on_exit"):  # of glibc alone
            library.on_exit(library._exit, None)
            library.__cxa_atexit(library.fcloseall, None, None)


def _fork() -> int:
    if sys.platform == "win32":
        raise OSError("Windows makes no copies of processes")
    return os.fork()


_SYNCHRONIZE = 0x0010_0000
_LOOK_SECONDS = 0.5


def end_with(parent: int) -> None:
    """Let this process end when its parent does, if it has no guard, which sees to that."""
    if stands():
        return
    if sys.platform == "linux":
        signalled_with_parent(signal.SIGKILL)
    else:
        threading.Thread(target=_wait_for_end, args=(parent,), daemon=True).start()
    if os.getppid() != parent:
        os._exit(1)


def _wait_for_end(parent: int) -> None:
    if sys.platform == "win32":
        process = _winapi.OpenProcess(_SYNCHRONIZE, False, parent)
        _winapi.WaitForSingleObject(process, _winapi.INFINITE)
    else:
        while os.getppid() == parent:
            time.sleep(_LOOK_SECONDS)
    os._exit(1)


def flush_c_streams() -> None:
    """Print what C code of this process, such as an FMU, has printed and the C library has kept."""
    ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).fflush(None)


_CRASHES = {
    0xC0000005: "access violation",
    0xC000001D: "illegal instruction",
    0xC0000094: "integer division by zero",
    0xC00000FD: "stack overflow",
    0xC0000374: "heap corruption",
    0xC0000409: "stack buffer overrun, or abort",
}
"""Exit statuses of processes that Windows has ended."""


def crash(status: int) -> str:
    """The reason why the system has ended a process with this exit status; "" if it has ended by itself.

    Parameters
    ----------
    status
        The exit status, or minus the number of a signal.
    """
    if status < 0:
        return f"{signal.Signals(-status).name} ({signal.strsignal(-status)})"
    return f"0x{status:08X} ({_CRASHES[status]})" if status in _CRASHES else ""


# -- from child to parent

MOST_BYTES = 1 << 30
"""Largest message of a child [byte]."""

REST_SECONDS = 10
"""Longest wait for the rest of a message that a child has begun to send [s]."""


class BadMessage(Exception):
    """A child has sent something that is none of the messages that it may send now."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the process of the FMUs sent a message that ssptool does not understand ({reason}): an FMU writes to "
            "descriptors that are not its own, or has damaged the memory of its process; report it to its supplier"
        )
        self.reason = reason


def limit_waiting(connection: Connection) -> None:
    """Let the parent's end of a pipe give up a message whose rest does not come (not on Windows)."""
    if sys.platform == "win32":
        return
    with socket.socket(fileno=os.dup(connection.fileno())) as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", REST_SECONDS, 0))


def received(connection: Connection) -> bytes:
    """The next message of a child.

    Raises
    ------
    EOFError, ConnectionResetError
        The child has ended, or closed its end.
    BadMessage
        Its length cannot be, or its rest does not come.
    """
    try:
        return connection.recv_bytes(MOST_BYTES)
    except (EOFError, ConnectionResetError):
        raise
    except BlockingIOError:
        raise BadMessage("the rest of it does not come") from None
    except OSError as error:
        if str(error) == "got end of file during message":
            raise EOFError from None
        raise BadMessage("its length cannot be") from None


_DOUBLE = "xs:double"
"""Key of an object that is a number which is not finite, apart from a text with the same letters."""


def encoded(value: Any) -> bytes:
    """A value as data: texts, numbers, and fields of dataclasses and named tuples in their order."""
    return strict_json(_data(value)).encode()


def _data(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {_DOUBLE: number_name(value)}
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, np.ndarray):
        numbers = np.ascontiguousarray(value, dtype=np.float64)
        return [list(numbers.shape), base64.b64encode(numbers.tobytes()).decode()]
    if dataclasses.is_dataclass(value):
        return [_data(getattr(value, one.name)) for one in dataclasses.fields(value)]
    if isinstance(value, Mapping):
        return {str(name): _data(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [_data(each) for each in value]
    return str(value)


def decoded(kind: "type[T] | Any", content: bytes) -> T:
    """The value of this type that a message holds. Raises BadMessage."""
    return cast("T", _value(kind, parsed(content), "it"))


def parsed(content: bytes) -> Any:
    """A message as lists, dictionaries, texts and numbers. Raises BadMessage."""
    try:
        return json.loads(content, object_hook=_with_doubles)
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"no data: {str(error)[:100]}") from None


def _with_doubles(data: dict[str, Any]) -> Any:
    return float(data[_DOUBLE]) if data.keys() == {_DOUBLE} and data[_DOUBLE] in NOT_FINITE else data


def value_of(kind: "type[T] | Any", data: Any, where: str = "it") -> T:
    """A part of a parsed message as a value of this type. Raises BadMessage."""
    return cast("T", _value(kind, data, where))


def _value(kind: Any, data: Any, where: str) -> Any:
    origin = get_origin(kind)
    # An alias may be a type of its own since Python 3.12, as NDArray is in numpy from 2.5 on.
    origin = get_origin(getattr(origin, "__value__", None)) or origin
    if origin in (Union, types.UnionType):
        return _one_of(get_args(kind), data, where)
    if (origin or kind) is np.ndarray:
        return _array(data, where)
    if isinstance(origin or kind, type) and issubclass(origin or kind, Mapping):
        of = get_args(kind)[1]
        return {name: _value(of, each, f"{where}[{name!r}]") for name, each in _expect(dict, data, where).items()}
    if origin is tuple:
        return _tuple(get_args(kind), _expect(list, data, where), where)
    if dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"):
        return _fields(kind, _expect(list, data, where), where)
    return _scalar(kind, data, where)


def _scalar(kind: Any, data: Any, where: str) -> Any:
    if kind is type(None):
        return _expect(type(None), data, where)
    if kind is float and type(data) is int:
        return float(data)
    if kind in (bool, int, float, str):
        return _expect(kind, data, where)
    try:
        if kind is bytes:
            return base64.b64decode(_expect(str, data, where), validate=True)
        if isinstance(kind, type) and issubclass(kind, Enum):
            return kind(data)
        if kind is Path:
            return Path(_expect(str, data, where))
    except ValueError:
        raise BadMessage(f"{where} is {str(data)[:40]!r}") from None
    raise BadMessage(f"{where} is of a type that is not sent, {kind}")


def _expect(kind: Any, data: Any, where: str) -> Any:
    if type(data) is not kind:
        raise BadMessage(f"{where} is {str(data)[:40]!r}, and not a {kind.__name__}")
    return data


def _one_of(kinds: Sequence[Any], data: Any, where: str) -> Any:
    for kind in kinds:
        try:
            return _value(kind, data, where)
        except BadMessage as error:
            problem = error
    raise problem


def _array(data: Any, where: str) -> Any:
    if not (type(data) is list and len(data) == 2 and type(data[0]) is list):
        raise BadMessage(f"{where} is not an array")
    shape = [_expect(int, size, where) for size in data[0]]
    try:
        numbers = np.frombuffer(base64.b64decode(_expect(str, data[1], where), validate=True), dtype=np.float64)
        if min(shape, default=0) < 0:
            raise ValueError
        return numbers.reshape(shape).copy()
    except ValueError:
        raise BadMessage(f"{where} has not the numbers of its shape {shape}") from None


def _tuple(kinds: tuple[Any, ...], data: list[Any], where: str) -> Any:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_value(kinds[0], each, f"{where}[{index}]") for index, each in enumerate(data))
    if len(kinds) != len(data):
        raise BadMessage(f"{where} has {len(data)} entries, and not {len(kinds)}")
    return tuple(_value(kind, each, where) for kind, each in zip(kinds, data, strict=True))


def _fields(kind: Any, data: list[Any], where: str) -> Any:
    known = _types(kind)
    if len(known) != len(data):
        raise BadMessage(f"{where} has {len(data)} entries, and not the {len(known)} of {kind.__name__}")
    pairs = zip(known.items(), data, strict=True)
    try:
        return kind(**{name: _value(of, each, f"{where}.{name}") for (name, of), each in pairs})
    except (TypeError, ValueError, WrongUsage) as error:
        raise BadMessage(f"{where} is not a {kind.__name__}: {error}") from None


@cache
def _types(kind: Any) -> dict[str, Any]:
    names = kind._fields if hasattr(kind, "_fields") else [one.name for one in dataclasses.fields(kind)]
    hints = get_type_hints(kind)
    return {name: hints[name] for name in names}


# -- errors of a child


def error_data(error: BaseException) -> Any:
    """An error as data; what is not data in it becomes its text."""
    facts = dict(error.__dict__)
    if isinstance(error, OSError):
        facts |= {name: getattr(error, name) for name in ("errno", "strerror", "filename")}
    return [_name(type(error)), _tagged(error.args), _tagged(facts)]


def _name(kind: type) -> list[str]:
    return [kind.__module__, kind.__qualname__]


def _tagged(value: Any) -> Any:
    """A value with its type, of few types."""
    if value is None or type(value) in (bool, int, float, str):
        return ["plain", value]
    if isinstance(value, BaseException):
        return ["error", error_data(value)]
    if isinstance(value, Path):
        return ["path", str(value)]
    if isinstance(value, dict | MappingProxyType):
        return ["dict", [[_tagged(name), _tagged(each)] for name, each in value.items()]]
    if isinstance(value, Enum) or dataclasses.is_dataclass(value) or hasattr(value, "_fields"):
        return ["own", _name(type(value)), _data(value)]
    if isinstance(value, tuple | list):
        return ["list" if isinstance(value, list) else "tuple", [_tagged(each) for each in value]]
    return ["plain", value.item() if isinstance(value, np.generic) else str(value)]


class ChildError(Exception):
    """An error of a class that only the child knows; the message has its name."""


def error_from(data: Any) -> Exception:
    """The error that a child has sent, of a class that this process has loaded or that is of this package.

    Its constructor is not called: it is made of its fields. Raises BadMessage.
    """
    try:
        (module, name), arguments, facts = data
        found, args = _loaded(str(module), str(name)), _untagged(arguments)
        if not (isinstance(found, type) and issubclass(found, Exception) and type(args) is tuple):
            return ChildError(f"{name}: {', '.join(map(str, args))}")
        error = found.__new__(found)
        error.args = args
        for fact, value in _untagged(facts).items():
            object.__setattr__(error, str(fact), value)
    except (TypeError, ValueError, AttributeError, RecursionError) as problem:
        raise BadMessage(f"no error: {str(problem)[:100]}") from None
    return error


def _untagged(data: Any) -> Any:
    kind, *rest = data
    if kind == "plain" and (rest[0] is None or type(rest[0]) in (bool, int, float, str)):
        return rest[0]
    if kind == "own":
        found = _loaded(*map(str, rest[0]))
        with suppress(BadMessage, NameError):  # of a type that is not data
            if isinstance(found, type) and found.__module__.startswith("ssptool."):
                return _value(found, rest[1], "it")
        return str(rest[1])
    readers: dict[str, Callable[[Any], Any]] = {
        "error": error_from,
        "path": Path,
        "list": lambda each: [_untagged(one) for one in each],
        "tuple": lambda each: tuple(_untagged(one) for one in each),
        "dict": lambda each: {_untagged(name): _untagged(one) for name, one in each},
    }
    if kind not in readers:
        raise ValueError(f"{str(kind)[:40]} is not a kind of value")
    return readers[kind](rest[0])


def _loaded(module: str, name: str) -> Any:
    """Object of this name in a module that is loaded, or in one of this package; None if there is none."""
    if module.startswith("ssptool.") and not module.endswith("__main__") and module not in sys.modules:
        try:
            importlib.import_module(module)
        except ImportError:
            return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found
