"""A running copy of an FMU: its life, its variables, its states."""

import contextlib
import ctypes
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from ctypes import byref, c_bool, c_byte, c_char, c_char_p, c_double, c_float, c_int, c_size_t, c_uint, c_void_p
from types import TracebackType
from typing import Any, ClassVar, Self

from ssptool.fmu.description import (
    FmuDescription,
    Value,
    Variable,
)
from ssptool.fmu.messages import STATUS, Log, status_word
from ssptool.fmu.prototypes import Function, Library, prefix
from ssptool.fmu.shapes import element_names

WARNING, FATAL = STATUS.index("warning"), STATUS.index("fatal")


class FmiError(Exception):
    """An FMI function of an instance returned something worse than a warning."""

    def __init__(self, instance: str, function: str, status: int, messages: tuple[str, ...]) -> None:
        said = "".join(f"\n  {message}" for message in messages[-5:])
        super().__init__(f"{instance}: {function} returned {status_word(status)}{said}")
        self.instance = instance
        self.function = function
        self.status = status
        self.messages = messages


class FmuInstance(ABC):
    """One running FMU. `functions` and `component` (the address that instantiation returned) are what a kernel steps it
    by; `description` has the sizes that its arrays have. `keep` lives as long as the instance.

    A status worse than a warning raises `FmiError`. As a context manager it terminates and frees itself.
    """

    _suffix: ClassVar[Mapping[str, str]]  # FMI type → what the names of its get and set functions end with
    _terminate, _reset, _free = "Terminate", "Reset", "FreeInstance"
    _state, _deserialize = "", ""  # how functions on states are spelled

    def __init__(
        self, name: str, description: FmuDescription, library: Library, component: int, log: Log, keep: Sequence[object]
    ) -> None:
        self.name = name
        self.description = description
        self.component = component
        self._library = library
        self._prefix = prefix(description.fmi_major)
        self._called: Mapping[str, Function] = library.functions
        self._log = log
        self._kept_alive = keep  # what the FMU calls back
        self._entered = False
        self._initialized = False
        self._fatal = False
        self._freed = False
        self._terminated = False

    @property
    def functions(self) -> Mapping[str, int]:
        """FMI function name → address in the loaded binary, for all functions of its interface type."""
        return self._library.addresses

    @property
    def messages(self) -> tuple[str, ...]:
        """What the FMU logged: the latest lines, oldest first."""
        return tuple(self._log)

    @property
    def starts_over(self) -> bool:
        """Whether it has no initialization mode, so that it has to be begun anew for other inputs at the start."""
        return False

    @abstractmethod
    def enter_initialization(self, start: float, stop: float | None, tolerance: float | None) -> None:
        """State the experiment [s] and enter initialization mode."""

    def configure(self, values: Mapping[str, Value]) -> None:
        """Set structural parameters (FMI 3.0) in configuration mode, before everything else. Raises as `set` does."""
        self.call("EnterConfigurationMode")
        self.set(values)
        self.call("ExitConfigurationMode")

    def start_over(self, values: Mapping[str, Value]) -> None:
        """Begin anew, with these values, what was initialized; only where that is the way of doing it."""
        raise AssertionError(f"{self.name} has an initialization mode")

    def exit_initialization(self) -> None:
        self.call("ExitInitializationMode")
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
            self._write(suffix, references_of(group), fitting)

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
            values = self._read(self._suffix[kind], references_of(group), len(group))
            found |= {v.name: _typed(kind, value) for v, value in zip(group, values, strict=True)}
        return {name: found[name] for name in wanted}

    def forget_rates(self, names: Sequence[str], order: int) -> None:
        """Derivatives of these inputs are zero from now on, up to this order ≥ 1."""
        references = [self.description.variables[name].reference for name in names]
        orders = [k for k in range(1, order + 1) for _ in references]
        zeros = (c_double * len(orders))()
        arguments = (c_uint * len(orders))(*references * order), len(orders), (c_int * len(orders))(*orders), zeros
        self.call("SetRealInputDerivatives", *arguments)

    def keep_state(self) -> Any:
        """The complete state as it is, for `go_back`, until it is given to `drop_state`. Raises `FmiError`."""
        state = c_void_p()
        self.call(f"GetFMU{self._state}", byref(state))
        return state

    def go_back(self, state: Any) -> None:
        """Be in a state that was kept, which stays kept. Raises `FmiError`."""
        self.call(f"SetFMU{self._state}", state)

    def drop_state(self, state: Any) -> None:
        """Give up a state that was kept. Raises `FmiError`."""
        self.call(f"FreeFMU{self._state}", byref(state))

    def serialize(self) -> bytes:
        """The complete state, in bytes that any instance of the same FMU understands, in another process too.

        Raises
        ------
        FmiError
            The FMU refuses, as one does that cannot serialize its state.
        """
        state = self.keep_state()
        try:
            size = c_size_t()
            self.call(f"SerializedFMU{self._state}Size", state, byref(size))
            content = (c_char * size.value)()
            self.call(f"SerializeFMU{self._state}", state, content, size)
        finally:
            self.drop_state(state)
        return bytes(content)

    def deserialize(self, content: bytes) -> None:
        """Be in a state that `serialize` gave, past initialization.

        Raises
        ------
        FmiError
            The FMU refuses.
        """
        state = c_void_p()
        self.call(self._deserialize, content, len(content), byref(state))
        try:
            self.go_back(state)
        finally:
            self.drop_state(state)
        self._entered = self._initialized = True

    def call(self, name: str, *arguments: Any) -> None:
        """A function of this instance by its name without what all begin with. Raises `FmiError`."""
        if self._freed:
            raise ValueError(f"{self.name}: the instance was freed")
        function = self._prefix + name
        status = self._called[function](self.component, *arguments)
        if status > WARNING:
            self.note(status)
            raise FmiError(self.name, function, status, self.messages)

    def intercept(self, around: Callable[[str, Function], Function]) -> None:
        """Call `around(name, function)` in place of every FMI function from now on; kernels are not concerned."""
        self._called = {name: around(name, function) for name, function in self._called.items()}

    def wants_to_end(self) -> bool:
        """Whether the step that it has just discarded is to be the last of the simulation."""
        return False

    def note(self, status: int) -> None:
        """A kernel got this status from a call of its own; after fatal nothing is called any more."""
        self._fatal = self._fatal or status == FATAL

    @property
    def fatal(self) -> bool:
        """Whether it has failed so that FMI forbids any further call."""
        return self._fatal

    def terminate(self) -> None:
        """Leave step mode; does nothing before initialization has ended, or the second time."""
        if self._initialized and not self._freed and not self._fatal:
            self._initialized = False
            self.call(self._terminate)
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
        self.call(self._reset)
        self._initialized = self._terminated = False
        self._log.clear()

    def free(self) -> None:
        """Free the instance; doing it again does no harm."""
        # FMI forbids any call after fatal.
        if not self._freed and not self._fatal:
            self._called[self._prefix + self._free](self.component)
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

    def _write(self, suffix: str, references: Sequence[int], values: Sequence[Any]) -> None:
        c_values = _c_array(suffix, self._c_type(suffix), values)
        self.call("Set" + suffix, (c_uint * len(references))(*references), len(references), c_values)

    def _read(self, suffix: str, references: Sequence[int], count: int) -> Sequence[Any]:
        values = (self._c_type(suffix) * count)()
        self.call("Get" + suffix, (c_uint * len(references))(*references), len(references), values)
        return list(values)

    def _c_type(self, suffix: str) -> Any:
        return _C_TYPES[suffix]

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


_TERMINATED = 3  # of fmi2StatusKind
_SUFFIX_BEFORE_FMI3: Mapping[str, str] = {
    "Float64": "Real",
    "Int32": "Integer",
    "Enumeration": "Integer",
    "Boolean": "Boolean",
    "String": "String",
}


_C_TYPES: Mapping[str, Any] = {
    "Real": c_double,
    "Integer": c_int,
    "Boolean": c_int,
    "String": c_char_p,
    "Float32": c_float,
    "Float64": c_double,
    **{
        f"{sign}Int{bits}": getattr(ctypes, f"c_{sign.lower()}int{bits}")
        for sign in ("", "U")
        for bits in (8, 16, 32, 64)
    },
}


class Fmi1Instance(FmuInstance):
    """There is no initialization mode: start values and inputs are set, then `fmiInitializeSlave` is called, and from
    then on the instance is at the start time, where inputs may be set and outputs got again.
    """

    _suffix: ClassVar = _SUFFIX_BEFORE_FMI3
    _terminate, _reset, _free = "TerminateSlave", "ResetSlave", "FreeSlaveInstance"

    @property
    def starts_over(self) -> bool:
        return True

    def enter_initialization(self, start: float, stop: float | None, tolerance: float | None) -> None:
        self._experiment = (start, stop)
        self.call("InitializeSlave", start, int(stop is not None), stop or 0.0)
        self._initialized = True

    def exit_initialization(self) -> None:
        """Nothing to do: `enter_initialization` has done it."""

    def start_over(self, values: Mapping[str, Value]) -> None:
        self.call("ResetSlave")
        self._initialized = False
        self.set(values)
        self.enter_initialization(*self._experiment, None)

    def _c_type(self, suffix: str) -> Any:
        return c_byte if suffix == "Boolean" else super()._c_type(suffix)


class Fmi2Instance(FmuInstance):
    _suffix: ClassVar = _SUFFIX_BEFORE_FMI3
    _state, _deserialize = "state", "DeSerializeFMUstate"

    def enter_initialization(self, start: float, stop: float | None, tolerance: float | None) -> None:
        limits = tolerance is not None, tolerance or 0.0, start, stop is not None, stop or 0.0
        self.call("SetupExperiment", *limits)
        self.call("EnterInitializationMode")
        self._entered = True

    def wants_to_end(self) -> bool:
        ends = c_int()
        try:
            self.call("GetBooleanStatus", _TERMINATED, byref(ends))
        except FmiError:
            return False  # it cannot be asked
        return bool(ends.value)


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
    _state, _deserialize = "State", "DeserializeFMUState"

    def enter_initialization(self, start: float, stop: float | None, tolerance: float | None) -> None:
        limits = tolerance is not None, tolerance or 0.0, start, stop is not None, stop or 0.0
        self.call("EnterInitializationMode", *limits)
        self._entered = True

    def forget_rates(self, names: Sequence[str], order: int) -> None:
        """Nothing to do: FMI 3.0 has no such derivatives."""

    def _write(self, suffix: str, references: Sequence[int], values: Sequence[Any]) -> None:
        c_references = (c_uint * len(references))(*references), len(references)
        if suffix == "Binary":
            sizes = (c_size_t * len(values))(*map(len, values))
            self.call("SetBinary", *c_references, sizes, (c_char_p * len(values))(*values), len(values))
        else:
            self.call("Set" + suffix, *c_references, _c_array(suffix, self._c_type(suffix), values), len(values))

    def _read(self, suffix: str, references: Sequence[int], count: int) -> Sequence[Any]:
        c_references = (c_uint * len(references))(*references), len(references)
        if suffix == "Binary":
            sizes, contents = (c_size_t * count)(), (c_void_p * count)()
            self.call("GetBinary", *c_references, sizes, contents, count)
            return [
                ctypes.string_at(place, size) if place else b"" for place, size in zip(contents, sizes, strict=True)
            ]
        values = (self._c_type(suffix) * count)()
        self.call("Get" + suffix, *c_references, values, count)
        return list(values)

    def _c_type(self, suffix: str) -> Any:
        return c_bool if suffix == "Boolean" else super()._c_type(suffix)


def _c_array(suffix: str, kind: Any, values: Sequence[Any]) -> Any:
    given = [value.encode() for value in values] if suffix == "String" else values
    return (kind * len(values))(*given)


def references_of(variables: Iterable[Variable]) -> list[int]:
    """One for each variable, the elements of an array being one."""
    return [variable.reference for variable in variables if variable.element == 0]


_RANGE: Mapping[str, tuple[int, int]] = {
    "Integer": (-(2**31), 2**31 - 1),
    **{f"Int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)},
}
_PYTHON_TYPE: Mapping[str, type] = {"Boolean": bool, "String": str, "Binary": bytes}


def _fitting(name: str, suffix: str, value: Value) -> Value:
    """The value, if the variable can take it as it is; ctypes would wrap large integers silently."""
    if suffix in _PYTHON_TYPE:
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
    if kind == "String":
        return (value or b"").decode("utf-8", errors="replace")
    result: Value = value
    return result
