"""Running instances of FMUs of FMI 1.0, 2.0 and 3.0, through FMPy: life cycle, variables, saved states."""

import contextlib
import ctypes
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar, Protocol, Self

from fmpy import fmi1
from fmpy.fmi1 import FMICallException

from ssptool.fmu.description import FmuDescription, Value, Variable, element_names, is_text
from ssptool.fmu.messages import STATUS, MessageLog, status_word

FATAL = STATUS.index("fatal")


class FmiError(Exception):
    """An FMI function of an instance returned something worse than a warning."""

    def __init__(self, instance: str, function: str, status: int, messages: tuple[str, ...], advice: str = "") -> None:
        said = "".join(f"\n  {message}" for message in messages)
        advised = f"; {advice}" if advice else ""
        super().__init__(f"{instance}: {function} returned {status_word(status)}{advised}{said}")
        self.instance = instance
        self.function = function
        self.status = status
        self.messages = messages


class HostProcess(Protocol):
    """A process of its own, in which instances are."""

    number: int

    @property
    def lost(self) -> tuple[str, str] | None:
        """The component and the function that were called when it turned out that the process has ended by itself."""

    @property
    def ended_by(self) -> str:
        """The reason in words, of a process that is lost."""


class FmuInstance(ABC):
    """One running FMU. `functions` and `component` are what a kernel steps it by; `description` has the sizes that its
    arrays have.

    `process` is the one that it is in; None: this one. A status worse than a warning raises `FmiError`. As a context
    manager it terminates and frees itself.
    """

    _suffix: ClassVar[Mapping[str, str]]  # FMI type → what the names of its get and set functions end with

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
        self.process: HostProcess | None = None

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
        """What the FMU logged: the latest lines, oldest first; last that its process has ended, if it has."""
        if self.process is None or self.process.lost is None:
            return self.log.lines
        return (*self.log.lines, f"the process of the component {self.process.ended_by}")

    @property
    def starts_over(self) -> bool:
        """Whether it has no initialization mode, so that it has to be begun anew for other inputs at the start."""
        return False

    @abstractmethod
    def enter_initialization(self, start: float, stop: float | None, tolerance: float | None) -> None:
        """State the experiment [s] and enter initialization mode."""

    def configure(self, values: Mapping[str, Value]) -> None:
        """Set structural parameters (FMI 3.0) in configuration mode, before everything else. Raises as `set` does."""
        with self._checked():
            self._slave.enterConfigurationMode()
        self.set(values)
        with self._checked():
            self._slave.exitConfigurationMode()

    def start_over(self, values: Mapping[str, Value]) -> None:
        """Begin anew, with these values, what was initialized; only where that is the way of doing it."""
        raise AssertionError(f"{self.name} has an initialization mode")

    def exit_initialization(self) -> None:
        with self._checked():
            self._slave.exitInitializationMode()
        self._initialized = True

    def set(self, values: Mapping[str, Value]) -> None:
        """Set variables by name, each with the machine type that it has.

        Elements of an array that are not named keep what they have: before initialization mode, when FMI does not allow
        to ask for that, the start values.

        Raises
        ------
        KeyError
            The FMU has no such variable.
        TypeError, OverflowError
            The value is not of the variable's type, or out of its machine type's range.
        ValueError
            Of another element of the array the FMU states no start value, and it has not been initialized.
        """
        for kind, group in self._by_type(values).items():
            suffix = self._suffix[kind]
            kept = self._kept([variable for variable in group if variable.name not in values])
            every = {**kept, **values}
            fitting = [_fitting(variable.name, suffix, every[variable.name]) for variable in group]
            with self._checked():
                getattr(self._slave, "set" + suffix)(references_of(group), fitting)

    def _kept(self, variables: Sequence[Variable]) -> dict[str, Value]:
        """The values of elements beside others that are set."""
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
                # FMI 2.0 has no arrays, and its functions do not take the number of values.
                values = getter(references) if len(references) == len(group) else getter(references, len(group))
            found |= {v.name: _typed(kind, value) for v, value in zip(group, values, strict=True)}
        return {name: found[name] for name in wanted}

    def forget_rates(self, names: Sequence[str], order: int) -> None:
        """Derivatives of these inputs are zero from now on, up to this order ≥ 1."""
        references = [self.description.variables[name].reference for name in names]
        orders = [k for k in range(1, order + 1) for _ in references]
        with self._checked():
            self._slave.setRealInputDerivatives(references * order, orders, [0.0] * len(orders))

    def keep_state(self) -> Any:
        """The complete state as it is, for `go_back`, until it is given to `drop_state`. Raises `FmiError`."""
        with self._checked():
            return self._slave.getFMUState()

    def go_back(self, state: Any) -> None:
        """Be in a state that was kept, which stays kept. Raises `FmiError`."""
        with self._checked():
            self._slave.setFMUState(state)

    def drop_state(self, state: Any) -> None:
        """Give up a state that was kept. Raises `FmiError`."""
        with self._checked():
            self._slave.freeFMUState(state)

    def serialize(self) -> bytes:
        """The complete state, in bytes that any instance of the same FMU understands, in another process too.

        Raises
        ------
        FmiError
            The FMU refuses, as one does that cannot serialize its state.
        """
        with self._checked():
            state = self._slave.getFMUState()
            try:
                content: bytes = self._slave.serializeFMUState(state)
            finally:
                self._slave.freeFMUState(state)
        return content

    def deserialize(self, content: bytes) -> None:
        """Be in a state that `serialize` gave, past initialization.

        Raises
        ------
        FmiError
            The FMU refuses.
        """
        with self._checked():
            state = self._slave.deserializeFMUState(content)
            try:
                self._slave.setFMUState(state)
            finally:
                self._slave.freeFMUState(state)
        self._entered = self._initialized = True

    def call(self, method: str, *arguments: Any) -> Any:
        """A method of FMPy's instance. Raises `FmiError`."""
        with self._checked():
            return getattr(self._slave, method)(*arguments)

    def intercept(self, around: Callable[[str, Callable[..., Any]], Callable[..., Any]]) -> None:
        """Call `around(name, function)` in place of every FMI function from now on; kernels are not concerned."""
        for name in self.functions:
            own = self._attribute(name)
            setattr(self._slave, own, around(name, getattr(self._slave, own)))

    def wants_to_end(self) -> bool:
        """Whether the step that it has just discarded is to be the last of the simulation."""
        return False

    def last_successful_time(self) -> float | None:
        """How far it has come in the step that it has just discarded [s], if it says so."""
        return None

    def note(self, status: int) -> None:
        """A kernel got this status from a call of its own; after fatal nothing is called any more."""
        self._fatal = self._fatal or status == FATAL

    def terminate(self) -> None:
        """Leave step mode; does nothing before initialization has ended, or the second time."""
        if self._initialized and not self._freed and not self._fatal:
            self._initialized = False
            with self._checked():
                self._slave.terminate()
            self._terminated = True

    @property
    def reusable(self) -> bool:
        """Whether it was terminated regularly, so that `reset` makes it as new."""
        return self._terminated and not self._freed and not self._fatal

    def reset(self) -> None:
        """Be as after instantiation, with the start values of the FMU; what it logged is forgotten.

        Raises
        ------
        FmiError
            The FMU refuses.
        """
        with self._checked():
            self._slave.reset()
        self._initialized = self._terminated = False
        self.log.clear()

    def debug_logging(self, on: bool, categories: Sequence[str] = ()) -> None:
        """Have the FMU log messages of these categories, none of them meaning all, or nothing. FMI 1.0 has no
        categories.

        Raises
        ------
        FmiError
            The FMU refuses.
        """
        with self._checked():
            self._slave.setDebugLogging(on, categories)

    def free(self) -> None:
        """Free the instance and its hold on the library; doing it again does no harm."""
        # FMI forbids any call after fatal: then the library stays loaded until the process ends.
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
            # What goes wrong in `terminate` must not hide the error that is on its way.
            with contextlib.nullcontext() if error is None else contextlib.suppress(FmiError):
                self.terminate()
        finally:
            self.free()

    def _attribute(self, function: str) -> str:
        """What FMPy calls a function of FMI."""
        return function

    def _by_type(self, names: Iterable[str]) -> dict[str, list[Variable]]:
        """With all elements of arrays that have one of the names, since FMI takes and gives them together."""
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

    @contextlib.contextmanager
    def _checked(self) -> Iterator[None]:
        if self._freed:
            raise ValueError(f"{self.name}: the instance was freed")
        try:
            yield
        except FMICallException as error:
            self._fatal = self._fatal or error.status == FATAL
            raise FmiError(self.name, self._stated(error.function), error.status, self.log.latest()) from None

    def _stated(self, function: str) -> str:
        """What FMI calls a function of FMPy."""
        return function


_LAST_SUCCESSFUL_TIME, _TERMINATED = 2, 3  # of fmi2StatusKind
_SUFFIX_BEFORE_FMI3: Mapping[str, str] = {
    "Float64": "Real",
    "Int32": "Integer",
    "Enumeration": "Integer",
    "Boolean": "Boolean",
    "String": "String",
}


class Fmi1Slave(fmi1.FMU1Slave):  # type: ignore[misc]
    """FMPy's takes one Boolean at a time, and calls another function in place of `fmiSetRealInputDerivatives`."""

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
    """There is no initialization mode: start values and inputs are set, then `fmiInitializeSlave` is called, and from
    then on the instance is at the start time, where inputs may be set and outputs got again.
    """

    _suffix: ClassVar = _SUFFIX_BEFORE_FMI3

    @property
    def starts_over(self) -> bool:
        return True

    def enter_initialization(self, start: float, stop: float | None, tolerance: float | None) -> None:
        self._experiment = (start, stop)
        with self._checked():
            self._slave.initialize(start, stop)
        self._initialized = True

    def exit_initialization(self) -> None:
        """Nothing to do: `enter_initialization` has done it."""

    def debug_logging(self, on: bool, categories: Sequence[str] = ()) -> None:
        with self._checked():
            self._slave.setDebugLogging(on)

    def start_over(self, values: Mapping[str, Value]) -> None:
        with self._checked():
            self._slave.reset()
        self._initialized = False
        self.set(values)
        self.enter_initialization(*self._experiment, None)

    def _attribute(self, function: str) -> str:
        return "fmi1" + function.removeprefix("fmi")

    def _stated(self, function: str) -> str:
        return "fmi" + function.removeprefix("fmi1")


class Fmi2Instance(FmuInstance):
    _suffix: ClassVar = _SUFFIX_BEFORE_FMI3

    def enter_initialization(self, start: float, stop: float | None, tolerance: float | None) -> None:
        with self._checked():
            self._slave.setupExperiment(tolerance, start, stop)
            self._slave.enterInitializationMode()
        self._entered = True

    def wants_to_end(self) -> bool:
        try:
            return bool(self.call("getBooleanStatus", _TERMINATED))
        except FmiError:
            return False  # it cannot be asked

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

    def enter_initialization(self, start: float, stop: float | None, tolerance: float | None) -> None:
        with self._checked():
            self._slave.enterInitializationMode(tolerance, start, stop)
        self._entered = True

    def forget_rates(self, names: Sequence[str], order: int) -> None:
        """Nothing to do: FMI 3.0 has no such derivatives."""


def references_of(variables: Iterable[Variable]) -> list[int]:
    """One for each variable, the elements of an array being one."""
    return [variable.reference for variable in variables if variable.element == 0]


_RANGE: Mapping[str, tuple[int, int]] = {
    "Integer": (-(2**31), 2**31 - 1),
    **{f"Int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)},
}
_PYTHON_TYPE: Mapping[str, type] = {"Boolean": bool, "Binary": bytes}


def _fitting(name: str, suffix: str, value: Value) -> Value:
    """The value, if the variable can take it as it is; ctypes would wrap large integers silently."""
    if suffix == "String":
        fits = is_text(value)
    elif suffix in _PYTHON_TYPE:
        fits = isinstance(value, _PYTHON_TYPE[suffix])
    elif suffix in _RANGE:
        fits = isinstance(value, int) and not isinstance(value, bool)
    else:
        fits = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not fits:
        raise TypeError(f"{name} = {value!r}: not a value of type {suffix}")
    if suffix in _RANGE and isinstance(value, int):
        low, high = _RANGE[suffix]
        if not low <= value <= high:
            raise OverflowError(f"{name} = {value}: {suffix} holds {low} to {high}")
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
