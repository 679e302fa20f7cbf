"""The binary of an FMU: unpacked, loaded through FMPy, and instantiated for co-simulation or model exchange."""

import contextlib
import ctypes
import tempfile
import zipfile
from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import fmpy
from fmpy import fmi1, fmi2, fmi3
from fmpy.fmi1 import FMICallException

from ssptool.fmu.description import (
    FmuDescription,
    Interface,
    InterfaceType,
    UnreadableFmu,
    Value,
    Variable,
    unsupported_of_fmi1,
)
from ssptool.fmu.messages import (
    STATUS,
    Log,
    fmi1_callbacks,
    fmi1_instance,
    fmi1_messages,
    fmi2_callbacks,
    fmi3_logger,
)
from ssptool.fmu.prototypes import Library
from ssptool.fmu.shapes import element_names

FATAL = STATUS.index("fatal")


class MissingBinary(Exception):
    """The FMU brings no binary for this platform."""

    def __init__(self, path: Path, wanted: str, present: tuple[str, ...]) -> None:
        has = f"has binaries for {', '.join(present)}" if present else "has no binaries at all"
        super().__init__(f"{path}: no {wanted}: the FMU {has}; ask for one that was built for this platform")
        self.path = path
        self.wanted = wanted
        self.present = present


class UnsupportedFmu(Exception):
    """The FMU is fine, but of a kind that cannot be simulated here."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class UnloadableBinary(Exception):
    """The operating system refuses the binary, or FMI functions are missing in it."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: the binary cannot be loaded: {reason}")
        self.path = path
        self.reason = reason


class FmiError(Exception):
    """An FMI function of an instance returned something worse than a warning."""

    def __init__(self, instance: str, function: str, status: int, messages: tuple[str, ...]) -> None:
        said = "".join(f"\n  {message}" for message in messages[-5:])
        super().__init__(f"{instance}: {function} returned {STATUS[status]}{said}")
        self.instance = instance
        self.function = function
        self.status = status
        self.messages = messages


class FmuInstance(ABC):
    """One running FMU. `functions` and `component` are what a kernel steps it by; `description` has the sizes that its
    arrays have.

    A status worse than a warning raises `FmiError`. As a context manager it terminates and frees itself.
    """

    _suffix: ClassVar[Mapping[str, str]]  # FMI type → what the names of its get and set functions end with

    def __init__(
        self, name: str, description: FmuDescription, slave: Any, functions: Mapping[str, int], log: Log
    ) -> None:
        self.name = name
        self.description = description
        self._slave = slave
        self._functions = functions
        self._log = log
        self._entered = False
        self._initialized = False
        self._fatal = False
        self._freed = False
        self._terminated = False

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
                getattr(self._slave, "set" + suffix)(_references(group), fitting)

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
                references = _references(group)
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
        self._log.clear()

    def free(self) -> None:
        """Free the instance and its hold on the library; doing it again does no harm."""
        # FMI forbids any call after fatal: then the library stays loaded until the process ends.
        if not self._freed and not self._fatal:
            self._slave.freeInstance()
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
            raise FmiError(self.name, self._stated(error.function), error.status, self.messages) from None

    def _stated(self, function: str) -> str:
        """What FMI calls a function of FMPy."""
        return function


_SUFFIX_BEFORE_FMI3: Mapping[str, str] = {
    "Float64": "Real",
    "Int32": "Integer",
    "Enumeration": "Integer",
    "Boolean": "Boolean",
    "String": "String",
}


class _Slave1(fmi1.FMU1Slave):  # type: ignore[misc]
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


class _Fmi1Instance(FmuInstance):
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


class _Fmi2Instance(FmuInstance):
    _suffix: ClassVar = _SUFFIX_BEFORE_FMI3

    def enter_initialization(self, start: float, stop: float | None, tolerance: float | None) -> None:
        with self._checked():
            self._slave.setupExperiment(tolerance, start, stop)
            self._slave.enterInitializationMode()
        self._entered = True


class _Fmi3Instance(FmuInstance):
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


class Binary:
    """An unpacked FMU, from which instances are made. Each load has its own copy of the library."""

    def __init__(
        self,
        path: Path,
        description: FmuDescription,
        folder: Path,
        unpacked: tempfile.TemporaryDirectory[str] | None,
        interface: InterfaceType = InterfaceType.CO_SIMULATION,
    ) -> None:
        self.path = path
        self.description = description
        self.interface = interface
        self.folder = folder
        self._unpacked = unpacked
        self._instances: list[FmuInstance] = []
        self._library = Library()

    def instantiate(
        self,
        name: str,
        *,
        environment: int = 0,
        intermediate_update: int = 0,
        required_inputs: Sequence[str] = (),
        logging: bool = True,
        description: FmuDescription | None = None,
        event_mode: bool = False,
        early_return: bool = False,
    ) -> FmuInstance:
        """Make an instance for the interface type that the binary was loaded for.

        Parameters
        ----------
        environment, intermediate_update : int
            FMI 3.0: addresses of an instanceEnvironment and of a fmi3IntermediateUpdateCallback; 0: none.
        required_inputs : sequence of str
            FMI 3.0: the inputs that the callback sets (requiredIntermediateVariables).
        description
            Of this instance, if its arrays have other sizes than those that the FMU starts with.
        event_mode, early_return : bool
            FMI 3.0 co-simulation: events are handled in event mode, and steps may end where one happens.

        Raises
        ------
        UnsupportedFmu
            A second instance of an FMU that can be instantiated only once per process.
        UnloadableBinary
            The library cannot be loaded.
        FmiError
            The FMU refused.
        """
        if self._instances and _offered(self.path, self.description, self.interface).once_per_process:
            reason = "canBeInstantiatedOnlyOncePerProcess is set, so the FMU cannot be used for two components"
            raise UnsupportedFmu(self.path, reason)
        if self.description.fmi_major == 1:
            instance = self._instantiate_fmi1(name, logging)
        elif self.description.fmi_major == 2:
            instance = self._instantiate_fmi2(name, logging)
        else:
            known = (description or self.description).variables
            references = _references([known[name] for name in required_inputs])
            modes = event_mode, early_return
            instance = self._instantiate_fmi3(name, environment, intermediate_update, references, logging, modes)
        instance.description = description or self.description
        self._instances.append(instance)
        return instance

    def forget(self, instance: FmuInstance) -> None:
        """An instance that was freed is no longer one of this binary."""
        self._instances.remove(instance)

    def close(self) -> None:
        """Free all instances and remove the unpacked files; doing it again does no harm."""
        for instance in reversed(self._instances):
            instance.free()
        self._library.close()
        if self._unpacked is not None:
            self._unpacked.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _instantiate_fmi1(self, name: str, logging: bool) -> FmuInstance:
        log: Log = deque(maxlen=1000)
        slave = self._load(_Slave1, name)
        slave.callbacks = fmi1_callbacks()
        no, yes = fmi1.fmi1False, fmi1.fmi1True
        with fmi1_messages(log):
            slave.component = slave.fmi1InstantiateSlave(
                name.encode(),
                self.description.token.encode(),
                self.folder.as_uri().encode(),
                b"application/x-fmu-sharedlibrary",
                0.0,  # timeout: as long as it takes
                no,  # visible
                no,  # interactive
                slave.callbacks,
                yes if logging else no,
            )
        if slave.component:
            fmi1_instance(slave.component, log)
        return self._instance(_Fmi1Instance, name, slave, log)

    def _instantiate_fmi2(self, name: str, logging: bool) -> FmuInstance:
        log: Log = deque(maxlen=1000)
        exchange = self.interface is InterfaceType.MODEL_EXCHANGE
        slave = self._load(fmi2.FMU2Model if exchange else fmi2.FMU2Slave, name)
        slave.callbacks = fmi2_callbacks(log)
        slave.component = slave.fmi2Instantiate(
            name.encode(),
            fmi2.fmi2ModelExchange if exchange else fmi2.fmi2CoSimulation,
            self.description.token.encode(),
            (self.folder / "resources").as_uri().encode(),
            ctypes.byref(slave.callbacks),
            False,
            logging,
        )
        return self._instance(_Fmi2Instance, name, slave, log)

    def _instantiate_fmi3(
        self,
        name: str,
        environment: int,
        intermediate_update: int,
        references: list[int],
        logging: bool,
        modes: tuple[bool, bool],
    ) -> FmuInstance:
        if self.interface is InterfaceType.MODEL_EXCHANGE:
            return self._instantiate_fmi3_exchange(name, logging)
        log: Log = deque(maxlen=1000)
        slave = self._load(fmi3.FMU3Slave, name)
        slave.logMessage = fmi3_logger(log)
        slave.intermediateUpdate = fmi3.fmi3IntermediateUpdateCallback(intermediate_update)
        slave.component = slave.fmi3InstantiateCoSimulation(
            name.encode(),
            self.description.token.encode(),
            f"{self.folder / 'resources'}/".encode(),
            False,
            logging,
            *modes,  # eventModeUsed, earlyReturnAllowed
            (fmi3.fmi3ValueReference * len(references))(*references),
            len(references),
            environment,
            slave.logMessage,
            slave.intermediateUpdate,
        )
        return self._instance(_Fmi3Instance, name, slave, log)

    def _instantiate_fmi3_exchange(self, name: str, logging: bool) -> FmuInstance:
        log: Log = deque(maxlen=1000)
        slave = self._load(fmi3.FMU3Model, name)
        slave.logMessage = fmi3_logger(log)
        slave.component = slave.fmi3InstantiateModelExchange(
            name.encode(),
            self.description.token.encode(),
            f"{self.folder / 'resources'}/".encode(),
            False,
            logging,
            None,
            slave.logMessage,
        )
        return self._instance(_Fmi3Instance, name, slave, log)

    def _instance(self, kind: type[FmuInstance], name: str, slave: Any, log: Log) -> FmuInstance:
        if not slave.component:
            slave.freeLibrary()
            function = instantiation(self.description.fmi_major, self.interface)
            raise FmiError(name, function, STATUS.index("error"), tuple(log))
        return kind(name, self.description, slave, self._library.addresses, log)

    def _load(self, slave: Any, name: str) -> Any:
        # FMPy changes the working directory while it loads, and stays there if that fails. It raises plain
        # Exception for a library that cannot be loaded and AttributeError for a function that is missing.
        with contextlib.chdir("."):
            try:
                identifier = _offered(self.path, self.description, self.interface).model_identifier
                return self._library.instance(
                    slave,
                    prefix=f"{identifier}_" if self.description.fmi_major == 1 else "",
                    instanceName=name,
                    guid=self.description.token,
                    modelIdentifier=identifier,
                    unzipDirectory=str(self.folder),
                )
            except Exception as error:
                raise UnloadableBinary(self.path, str(error)) from error


def instantiation(major: int, interface: InterfaceType) -> str:
    """The function by which FMI makes an instance."""
    return {1: "fmiInstantiateSlave", 2: "fmi2Instantiate"}.get(major, f"fmi3Instantiate{interface}")


def load(path: Path, description: FmuDescription, interface: InterfaceType = InterfaceType.CO_SIMULATION) -> Binary:
    """Unpack an FMU (a zip, or a folder that is already unpacked) so that it can be instantiated.

    Raises
    ------
    UnsupportedFmu
        An interface type that the FMU does not offer; of FMI 1.0, other than co-simulation without another tool.
    MissingBinary
        There is none for this platform. Nothing has been unpacked or loaded then.
    UnreadableFmu
        The file cannot be unpacked.
    """
    offered = _offered(path, description, interface)
    platform = fmpy.platform if description.fmi_major < 3 else fmpy.platform_tuple
    wanted = f"binaries/{platform}/{offered.model_identifier}{fmpy.sharedLibraryExtension}"
    names = _entries(path)
    if wanted not in names:
        raise MissingBinary(path, wanted, _platforms(names))
    if path.is_dir():
        return Binary(path, description, path.resolve(), None, interface)
    unpacked = tempfile.TemporaryDirectory(prefix="ssptool-")
    try:
        fmpy.extract(path, unpacked.name)
    except Exception as error:  # FMPy raises plain Exception for names that lead out of the folder
        unpacked.cleanup()
        raise UnreadableFmu(path, str(error)) from error
    return Binary(path, description, Path(unpacked.name).resolve(), unpacked, interface)


def _offered(path: Path, description: FmuDescription, interface: InterfaceType) -> Interface:
    if unsupported := unsupported_of_fmi1(description):
        raise UnsupportedFmu(path, f"{unsupported} is not supported")
    offered = description.interface(interface)
    if offered is None:
        kinds = {
            "co-simulation": description.co_simulation is not None,
            "model exchange": description.model_exchange is not None,
            "scheduled execution": description.scheduled_execution,
        }
        offers = " and ".join(kind for kind, offered in kinds.items() if offered) or "nothing"
        missing = "co-simulation" if interface is InterfaceType.CO_SIMULATION else "model exchange"
        raise UnsupportedFmu(path, f"the FMU offers {offers}, but no {missing}")
    return offered


def _entries(path: Path) -> set[str]:
    if path.is_dir():
        return {entry.relative_to(path).as_posix() for entry in path.glob("binaries/*/*")}
    try:
        with zipfile.ZipFile(path) as archive:
            return set(archive.namelist())
    except (OSError, zipfile.BadZipFile) as error:
        raise UnreadableFmu(path, str(error)) from error


def _platforms(names: Iterable[str]) -> tuple[str, ...]:
    parts = (name.split("/") for name in names)
    return tuple(sorted({p[1] for p in parts if p[0] == "binaries" and len(p) > 2 and p[2]}))


def _references(variables: Iterable[Variable]) -> list[int]:
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
    if kind == "Binary" and value is None:
        return b""
    if kind == "String" and isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    result: Value = value
    return result
