"""Running instances of FMUs of FMI 1.0, 2.0 and 3.0, through FMPy: life cycle, variables, saved states."""

import contextlib
import ctypes
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar, Protocol, Self

from ssptool.errors import WrongType, WrongValue
from ssptool.fmu.c_types import fmi1
from ssptool.fmu.description import INTEGER_RANGES, FmuDescription, Value, Variable, element_names, is_text
from ssptool.fmu.messages import STATUS, MessageLog, status_word
from ssptool.fmu.surroundings import KeptSurroundings, Surroundings
from ssptool.foreign_text import one_line

FATAL = STATUS.index("fatal")

NO_FUNCTION = "the library of the FMU does not have this function"


class FmiError(Exception):
    """An FMI function of an instance returned a status worse than a warning."""

    def __init__(self, instance: str, function: str, status: int, messages: tuple[str, ...], advice: str = "") -> None:
        said = "".join(f"\n  {one_line(message)}" for message in messages)
        advised = f"; {advice}" if advice else ""
        super().__init__(f"{instance}: {function} returned {status_word(status)}{advised}{said}")
        self.instance = instance
        self.function = function
        self.status = status
        self.messages = messages


class HostProcess(Protocol):
    """A separate process with instances."""

    number: int

    @property
    def lost(self) -> tuple[str, str] | None:
        """Component and function whose call detected that the process has ended."""

    @property
    def exited(self) -> bool:
        """True if a lost process exited by itself; false if a signal ended it."""

    @property
    def ended_by(self) -> str:
        """Text of the reason for the end of a lost process."""


class FmuInstance:
    """One running FMU. A kernel steps it through `functions` and `component`; `description` has the present sizes of
    its arrays.

    `process` is the process that contains it; None: this process. `changed` are texts for process-wide settings that
    its calls have changed; `surroundings` are those of a whole run, if they need not be checked before each call. A
    status worse than a warning raises `FmiError`. As a context manager, the instance terminates and frees itself.
    """

    _suffix: ClassVar[Mapping[str, str]]  # FMI type → suffix of the names of its get and set functions

    def __init__(
        self, name: str, description: FmuDescription, slave: Any, functions: Mapping[str, int], log: MessageLog
    ) -> None:
        self.name = name
        self.description = description
        self._slave = slave
        self._functions = functions
        self.log = log
        self._entered = False
        self._initialized = False
        self._fatal = False
        self._freed = False
        self._terminated = False
        self._reset = False
        self.process: HostProcess | None = None
        self.changed: dict[str, None] = {}
        self.surroundings: Surroundings | None = None

    @property
    def component(self) -> int:
        """The address that instantiation returned."""
        return int(self._slave.component)

    @property
    def functions(self) -> Mapping[str, int]:
        """FMI function name → address in the loaded binary, for all functions of its interface type."""
        return self._functions

    @property
    def messages(self) -> tuple[str, ...]:
        """The latest log messages, oldest first; the last one describes the end of its process, if that has ended."""
        if self.process is None or self.process.lost is None:
            return self.log.lines
        return (*self.log.lines, f"the process of the component {self.process.ended_by}")

    def set(self, values: Mapping[str, Value]) -> None:
        """Set variables by name; each value must have the machine type of the variable.

        Other elements of an array keep their values, or before initialization mode, when FMI forbids to read them,
        their start values.

        Raises
        ------
        KeyError
            The FMU has no such variable.
        TypeError, OverflowError
            The value is not of the variable's type, or out of its machine type's range.
        ValueError
            Before initialization, another element of the array has no start value.
        """
        for kind, group in self._by_type(values).items():
            suffix = self._suffix[kind]
            kept = self._kept([variable for variable in group if variable.name not in values])
            every = {**kept, **values}
            fitting = [_fitting(variable.name, suffix, every[variable.name]) for variable in group]
            with self._checked():
                getattr(self._slave, "set" + suffix)(references_of(group), fitting)

    def _kept(self, variables: Sequence[Variable]) -> dict[str, Value]:
        """Values of the other elements of arrays that are being set."""
        if not variables or self._entered:
            return self.get([variable.name for variable in variables])
        kept: dict[str, Value] = {}
        for variable in variables:
            if variable.start is None:
                raise ValueError(f"{self.name}.{variable.name} has no start value: set all elements of the array")
            kept[variable.name] = variable.start
        return kept

    def get(self, names: Iterable[str]) -> dict[str, Value]:
        """Present values of variables by name."""
        wanted = list(names)
        found: dict[str, Value] = {}
        for kind, group in self._by_type(wanted).items():
            with self._checked():
                getter = getattr(self._slave, "get" + self._suffix[kind])
                references = references_of(group)
                # FMI 2.0 has no arrays, so its functions have no argument for the number of values.
                values = getter(references) if len(references) == len(group) else getter(references, len(group))
            found |= {v.name: _typed(kind, value) for v, value in zip(group, values, strict=True)}
        return {name: found[name] for name in wanted}

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of FMPy's instance. Raises `FmiError`."""
        with self._checked():
            return getattr(self._slave, method)(*arguments)

    def intercept(self, around: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> None:
        """Call `around(name, function)` instead of every FMI function from now on; not for calls of kernels."""
        for name in self.functions:
            own = self._attribute(name)
            setattr(self._slave, own, around(name, getattr(self._slave, own)))

    def wants_to_end(self) -> bool:
        """True if the FMU requests the end of the simulation with the step that it has just discarded."""
        return False

    def last_successful_time(self) -> float | None:
        """Time that the FMU reached in the step that it has just discarded [s], if it states this."""
        return None

    def note(self, status: int) -> None:
        """Register the status of a kernel's call; after fatal, no function may be called."""
        self._fatal = self._fatal or status == FATAL

    def was_initialized(self, *, done: bool) -> None:
        """Register that a system called its functions up to initialization mode, and if `done` also out of it."""
        self._entered, self._initialized = True, done

    def terminate(self) -> None:
        """Leave step mode; has no effect before the end of initialization, or when repeated."""
        if self._initialized and not self._freed and not self._fatal:
            self._initialized = False
            with self._checked():
                self._slave.terminate()
            self._terminated = True

    @property
    def reusable(self) -> bool:
        """True if the instance was terminated regularly, so that it can be reset."""
        return self._terminated and not self._freed and not self._fatal

    @property
    def reused(self) -> bool:
        """True if the instance was reset, so that this is not its first run."""
        return self._reset

    def reset(self) -> None:
        """Reset to the state after instantiation, with the start values of the FMU and an empty log.

        Raises
        ------
        FmiError
            The FMU returned an error.
        """
        with self._checked():
            self._slave.reset()
        self._initialized = self._terminated = False
        self._reset = True
        self.log.clear()

    def debug_logging(self, on: bool, categories: Sequence[str] = ()) -> None:
        """Switch logging of these categories on (empty: all), or logging off. FMI 1.0 has no categories.

        Raises
        ------
        FmiError
            The FMU returned an error.
        """
        with self._checked():
            self._slave.setDebugLogging(on, categories)

    def free(self) -> None:
        """Free the instance and release the library; may be called again."""
        # After fatal, FMI forbids any call, so the library stays loaded until the process ends.
        if not self._freed and not self._fatal:
            self._slave.freeInstance()
            self.log.close()
        self._freed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            # an error in `terminate` must not hide the original error
            with contextlib.nullcontext() if error is None else contextlib.suppress(FmiError):
                self.terminate()
        finally:
            self.free()

    def _attribute(self, function: str) -> str:
        """FMPy's name of an FMI function."""
        return function

    def _by_type(self, names: Iterable[str]) -> dict[str, list[Variable]]:
        """Variables by type, with all elements of the arrays, which FMI reads and sets together."""
        groups: dict[str, list[Variable]] = defaultdict(list)
        seen: set[str] = set()
        variables, arrays = self.description.variables, self.description.arrays
        for name in names:
            if name not in variables:
                raise KeyError(f"{self.name}: the FMU has no variable {name!r}")
            variable = variables[name]
            if variable.type not in self._suffix:
                raise TypeError(f"{self.name}.{name}: variables of type {variable.type} are not supported")
            if variable.shape:
                raise TypeError(f"{self.name}.{name} is an array (shape {variable.shape}): name its elements")
            if variable.array is None:
                groups[variable.type].append(variable)
            elif variable.array not in seen:
                seen.add(variable.array)
                names_within = element_names(variable.array, arrays[variable.array])
                groups[variable.type] += [variables[own] for own in names_within]
        return groups

    def _checked(self) -> "_CheckedCall":
        if self._freed:
            raise ValueError(f"{self.name}: the instance was freed")
        return _CheckedCall(self)

    def _refusal(self, error: Any) -> FmiError:
        """The error for an exception of FMPy."""
        self._fatal = self._fatal or error.status == FATAL
        function = self._stated(error.function)
        advice = "" if self.has(function) else NO_FUNCTION
        return FmiError(self.name, function, error.status, self.log.latest(), advice)

    def has(self, function: str) -> bool:
        """True if the library has this function."""
        return function in self._functions

    def _stated(self, function: str) -> str:
        """Name in FMI of a function of FMPy."""
        return function


class _CheckedCall:
    """Call that restores process-wide settings changed by the FMU, and converts exceptions of FMPy to FmiError."""

    __slots__ = ("_instance", "_kept")

    def __init__(self, instance: FmuInstance) -> None:
        self._instance = instance
        self._kept = None if instance.surroundings is not None else KeptSurroundings(instance.changed)

    def __enter__(self) -> None:
        if self._kept is not None:
            self._kept.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        instance = self._instance
        if self._kept is not None:
            self._kept.__exit__(kind, error, trace)
        elif instance.surroundings is not None:
            for words in instance.surroundings.restore():
                instance.changed[words] = None
        if isinstance(error, fmi1.FMICallException):
            raise instance._refusal(error) from None


_LAST_SUCCESSFUL_TIME, _TERMINATED = 2, 3  # of fmi2StatusKind
_SUFFIX_BEFORE_FMI3: Mapping[str, str] = {
    "Float64": "Real",
    "Int32": "Integer",
    "Enumeration": "Integer",
    "Boolean": "Boolean",
    "String": "String",
}


class Fmi1Slave(fmi1.FMU1Slave):  # type: ignore[misc]
    """FMPy's slave with two extensions: several Booleans at a time, and `fmiSetRealInputDerivatives`."""

    def setBoolean(self, references: Sequence[int], values: Sequence[bool]) -> None:
        count = len(references)
        content = (fmi1.fmi1Boolean * count)(*(fmi1.fmi1True if value else fmi1.fmi1False for value in values))
        self.fmi1SetBoolean(self.component, (fmi1.fmi1ValueReference * count)(*references), count, content)

    def fmi1SetRealInputDerivatives(
        self,
        c: fmi1.fmi1Component,
        vr: ctypes.POINTER(fmi1.fmi1ValueReference),  # type: ignore[valid-type]
        nvr: ctypes.c_size_t,
        order: ctypes.POINTER(fmi1.fmi1Integer),  # type: ignore[valid-type]
        value: ctypes.POINTER(fmi1.fmi1Real),  # type: ignore[valid-type]
    ) -> fmi1.fmi1Status:
        return self._call("fmi1SetRealInputDerivatives", c, vr, nvr, order, value)


class Fmi1Instance(FmuInstance):
    """An instance without initialization mode. Start values and inputs are set, then `fmiInitializeSlave` is called.
    After that the instance is at the start time; inputs may be set and outputs read again.
    """

    _suffix: ClassVar = _SUFFIX_BEFORE_FMI3

    def debug_logging(self, on: bool, categories: Sequence[str] = ()) -> None:
        with self._checked():
            self._slave.setDebugLogging(on)

    def _attribute(self, function: str) -> str:
        return "fmi1" + function.removeprefix("fmi")

    def _stated(self, function: str) -> str:
        return "fmi" + function.removeprefix("fmi1")


class Fmi2Instance(FmuInstance):
    _suffix: ClassVar = _SUFFIX_BEFORE_FMI3

    def wants_to_end(self) -> bool:
        try:
            return bool(self.call("getBooleanStatus", _TERMINATED))
        except FmiError:
            return False  # the FMU does not answer

    def last_successful_time(self) -> float | None:
        try:
            return float(self.call("getRealStatus", _LAST_SUCCESSFUL_TIME))
        except FmiError:
            return None


class Fmi3Instance(FmuInstance):
    _suffix: ClassVar = {
        **{f"Float{bits}": f"Float{bits}" for bits in (32, 64)},
        **{f"Int{bits}": f"Int{bits}" for bits in (8, 16, 32, 64)},
        **{f"UInt{bits}": f"UInt{bits}" for bits in (8, 16, 32, 64)},
        "Enumeration": "Int64",
        "Boolean": "Boolean",
        "String": "String",
        "Binary": "Binary",
    }


def references_of(variables: Iterable[Variable]) -> list[int]:
    """References of variables, without repetitions; elements of an array share one."""
    return [variable.reference for variable in variables if variable.element == 0]


_RANGE = {**INTEGER_RANGES, "Integer": INTEGER_RANGES["Int32"]}
_PYTHON_TYPE: Mapping[str, type] = {"Boolean": bool, "Binary": bytes}


def _fitting(name: str, suffix: str, value: Value) -> Value:
    """The value, checked against the variable's type, because ctypes would silently wrap large integers."""
    if suffix == "String":
        fits = is_text(value)
    elif suffix in _PYTHON_TYPE:
        fits = isinstance(value, _PYTHON_TYPE[suffix])
    elif suffix in _RANGE:
        fits = isinstance(value, int) and not isinstance(value, bool)
    else:
        fits = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not fits:
        raise WrongType(f"{name} = {value!r}: not a value of type {suffix}")
    if suffix in _RANGE and isinstance(value, int):
        low, high = _RANGE[suffix]
        if not low <= value <= high:
            raise WrongValue(f"{name} = {value}: {suffix} holds {low} to {high}")
    return value


def _typed(kind: str, value: Any) -> Value:
    if kind == "Boolean":
        return bool(value)
    if kind == "Binary" and value is None:
        return b""
    if kind == "String" and isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    result: Value = value
    return result
