"""The binary of an FMU: unpacked, loaded through FMPy, and instantiated for co-simulation or model exchange.

FMPy inspects its own methods and looks up all functions again for each instance, which takes longer than loading most
FMUs. Here prototypes are found once per process, and functions once for each loaded library. FMPy also changes the
working directory of the process while it loads a library; here a library is loaded by its absolute path.
"""

import ctypes
import inspect
import os
import platform
import re
import struct
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple, Self, get_args

from ssptool.documents.foreign_files import UNREADABLE_ZIP, open_bytes
from ssptool.errors import disk_trouble
from ssptool.fmu.c_types import fmi1, fmi2, fmi3, freeLibrary
from ssptool.fmu.compiling import can_be_compiled
from ssptool.fmu.description import (
    FmuDescription,
    Interface,
    InterfaceType,
    UnreadableFmu,
    UnusableFmu,
    unsupported_of_fmi1,
)
from ssptool.fmu.instance import (
    Fmi1Instance,
    Fmi1Slave,
    Fmi2Instance,
    Fmi3Instance,
    FmiError,
    FmuInstance,
    references_of,
)
from ssptool.fmu.messages import STATUS, MessageLog
from ssptool.fmu.model_description_xml import fmu_entries, library_entry, misnamed_library
from ssptool.fmu.surroundings import KeptSurroundings
from ssptool.fmu.unpacked import UnpackedFmus, UnpackedFolder

_MACHINES = {3: "x86 (32 bit)", 40: "arm (32 bit)", 62: "x86_64", 183: "aarch64", 243: "riscv64"}
"""e_machine of ELF → architecture; for 64 bits as in `platform.machine`."""

_ELF_64 = b"\x7fELF\x02\x01"
"""The first bytes of a little-endian ELF file of 64 bits."""

_SEGMENT = struct.Struct("<I4xQ16xQ")
"""An entry of the segment table: kind, offset and length in the file [bytes]."""

_LOADED = 1

_MISSING_LIBRARY = re.compile(r"^(?P<name>[^\s:]+): cannot open shared object file", re.MULTILINE)
_MISSING_FUNCTION = re.compile(r"undefined symbol: (?P<name>\w+)")


def unsafe_reason(library: Path) -> str:
    """Reason why loading a library would end this process; "" if there is none.

    The loader of Linux maps the segments of an ELF file without checking the size of the file; access to a missing part
    ends the process with SIGBUS.
    """
    if sys.platform != "linux":
        return ""
    with open_bytes(library) as file:
        head = file.read(64)
        if len(head) < 64 or head[:6] != _ELF_64:
            return ""
        table, size, number = struct.unpack("<32xQ14xHH6x", head)
        file.seek(table)
        segments = file.read(size * number)
        there = file.seek(0, os.SEEK_END)
    starts = range(0, len(segments) - _SEGMENT.size + 1, max(size, _SEGMENT.size))
    parts = (_SEGMENT.unpack_from(segments, start) for start in starts)
    stated = max([table + size * number, *(offset + length for kind, offset, length in parts if kind == _LOADED)])
    if stated <= there:
        return ""
    return f"it is truncated: it declares {stated} bytes to load, but has {there}; download or export the FMU again"


def unloadable_reason(library: Path, error: Exception) -> str:
    """Reason why a library cannot be loaded, from the file itself or from the loader's message."""
    if sys.platform == "linux" and (found := _foreign_file(library)):
        return found
    said = str(error).replace(f"{library.parent}/", "")
    if (missing := _MISSING_LIBRARY.search(said)) and missing["name"] != library.name:
        return (
            f"it needs the library {missing['name']}, which was not found: "
            "install the package that provides it, or add its folder to LD_LIBRARY_PATH"
        )
    if missing := _MISSING_FUNCTION.search(said):
        return f"it has no function {missing['name']} ({said}); report it to the FMU's supplier"
    return said


def _foreign_file(library: Path) -> str:
    """Description of a file that cannot be loaded on this machine; "" if it can."""
    with open_bytes(library) as file:
        head = file.read(20)
    if len(head) < 20 or head[:4] != b"\x7fELF":
        return "it is not a shared library for Linux; the FMU may be damaged"
    order = "<" if head[5] == 1 else ">"
    (number,) = struct.unpack(f"{order}H", head[18:20])
    machine, own = _MACHINES.get(number, f"machine number {number} of ELF"), platform.machine()
    if machine == own or own not in _MACHINES.values():
        return ""
    return f"it was built for {machine}, but this machine is {own}; ask for an FMU built for {own}"


class _Prototype(NamedTuple):
    """A function: its name in FMPy and in FMI, its arguments and its type."""

    name: str
    standard: str
    arguments: tuple[str, ...]
    function: type[Any]


class AbsentFunction:
    """A function that a library does not have; called by FMPy like any other."""

    restype = ctypes.c_int

    def __call__(self, *_: Any) -> int:
        return STATUS.index("error")


ABSENT = AbsentFunction()

_ALWAYS = r"FreeInstance|FreeSlaveInstance|SetupExperiment|EnterInitializationMode|ExitInitializationMode|Terminate"
_NEEDED: Mapping[InterfaceType, re.Pattern[str]] = {
    InterfaceType.CO_SIMULATION: re.compile(
        rf"fmi\d?({_ALWAYS}|Instantiate|InstantiateSlave|InstantiateCoSimulation|InitializeSlave|TerminateSlave|DoStep)"
    ),
    InterfaceType.MODEL_EXCHANGE: re.compile(
        rf"fmi\d?({_ALWAYS}|Instantiate|InstantiateModelExchange|SetTime|[GS]etContinuousStates|GetDerivatives"
        "|GetContinuousStateDerivatives|GetNominalsOfContinuousStates|GetEventIndicators|CompletedIntegratorStep"
        "|EnterEventMode|EnterContinuousTimeMode|NewDiscreteStates|UpdateDiscreteStates)"
    ),
}
"""Functions without which no run with their interface is possible."""


class SharedFunctions:
    """The functions of one loaded library, looked up for its first instance and shared by all."""

    def __init__(self) -> None:
        self._held: ctypes.CDLL | None = None
        self._functions: dict[str, Any] = {}
        self.addresses: Mapping[str, int] = {}
        """FMI function name → address, for all functions of the interface type that the library has; empty before the
        first instance."""

    def instance(self, kind: type, path: Path, *, prefix: str = "") -> Any:
        """An instance of this FMPy class of FMI instances, with the functions of the library at an absolute path.

        `prefix` is the prefix of function names in a library of FMI 1.0. On Windows, the folder of the library is
        searched for the libraries that it needs; on other systems the library itself states their location.

        Raises
        ------
        OSError
            The library cannot be loaded.
        AttributeError
            The library lacks a function that every run needs; other missing functions fail when they are called.
        """
        instance: Any = object.__new__(kind)
        if self._held is None:
            # Loaded twice, so that it stays loaded when the instance that opened it is freed.
            held = ctypes.CDLL(str(path))
            self._functions = dict(_bound_functions(held, kind, prefix))
            self.addresses = {
                prototype.standard: ctypes.c_void_p.from_buffer(self._functions[prototype.name]).value or 0
                for prototype in prototypes(kind)
                if self._functions[prototype.name] is not ABSENT
            }
            self._held = held
        instance.dll = ctypes.CDLL(str(path))
        instance._functions = self._functions
        instance.component = instance.callbacks = instance.fmiCallLogger = None
        return instance

    def close(self) -> None:
        """Release the library, which stays loaded while there are instances."""
        if self._held is not None:
            freeLibrary(self._held._handle)
            self._held = None


def standard_name(name: str) -> str:
    """The name of a function in FMI; FMPy names those of FMI 1.0 differently."""
    return "fmi" + name.removeprefix("fmi1") if name.startswith("fmi1") else name


def _bound_functions(library: ctypes.CDLL, kind: type, prefix: str) -> Iterator[tuple[str, Any]]:
    exchange = issubclass(kind, (fmi2.FMU2Model, fmi3.FMU3Model))
    needed = _NEEDED[InterfaceType.MODEL_EXCHANGE if exchange else InterfaceType.CO_SIMULATION]
    for prototype in prototypes(kind):
        try:
            function = prototype.function((prefix + prototype.standard, library))
        except AttributeError:
            if needed.fullmatch(prototype.standard):
                raise
            function = ABSENT
        else:
            function.argnames = list(prototype.arguments)
        yield prototype.name, function


@cache
def prototypes(kind: type) -> tuple[_Prototype, ...]:
    found = inspect.getmembers(kind, inspect.isfunction)
    return tuple(_prototype(name, method) for name, method in found if name.startswith(("fmi1", "fmi2", "fmi3")))


def _prototype(name: str, method: Any) -> _Prototype:
    signature = inspect.signature(method)
    _self, *parameters = signature.parameters.values()
    types = (parameter.annotation for parameter in parameters)
    result = signature.return_annotation
    if name.startswith("fmi1") and result is ctypes.c_char_p and parameters:
        result = ctypes.c_int  # FMPy declares a string where FMI 1.0 has a status; no string is read from an instance
    result = {bytes: ctypes.c_char_p, int: ctypes.c_int}.get(result, result)
    arguments = tuple(get_args(kind)[0] if isinstance(kind, UnionType) else kind for kind in types)
    names = tuple(parameter.name for parameter in parameters)
    return _Prototype(name, standard_name(name), names, ctypes.CFUNCTYPE(result, *arguments))


class MissingBinary(UnusableFmu):
    """The FMU has no binary for this platform."""

    def __init__(self, path: Path, wanted: str, present: tuple[str, ...], sources: bool = False) -> None:
        has = f"has binaries for {', '.join(present)}" if present else "has no binaries at all"
        advice = "ask for an FMU built for this platform"
        if sources:
            advice = "it contains its sources: compile them with --compile (in Python compile=True)"
        super().__init__(path, f"no {wanted}: the FMU {has}; {advice}")
        self.wanted = wanted
        self.present = present
        self.advice = advice


UNUSABLE = (FmiError, UnusableFmu)
"""Errors of an FMU that cannot be loaded, instantiated or called through one of its interfaces."""


class FmuBinary:
    """An unpacked FMU, from which instances are made. Each load has its own copy of the library."""

    def __init__(
        self,
        path: Path,
        description: FmuDescription,
        folder: Path,
        unpacked: UnpackedFolder | None,
        interface: InterfaceType = InterfaceType.CO_SIMULATION,
        library: str | None = None,
    ) -> None:
        """`library`: entry found by `require_binary`; None: it is still to be found."""
        self.path = path
        self.description = description
        self.interface = interface
        self.folder = folder
        self._unpacked = unpacked
        self._instances: list[FmuInstance] = []
        self._disowned: list[FmuInstance] = []
        self._entry = library
        self._library = SharedFunctions()

    def instantiate(
        self,
        name: str,
        *,
        environment: int = 0,
        intermediate_update: int = 0,
        required_inputs: Sequence[str] = (),
        logging: bool = False,
        description: FmuDescription | None = None,
        event_mode: bool = False,
        early_return: bool = False,
        log: MessageLog | None = None,
    ) -> FmuInstance:
        """Make an instance for the interface type that the binary was loaded for.

        Parameters
        ----------
        environment, intermediate_update : int
            FMI 3.0: addresses of an instanceEnvironment and of a fmi3IntermediateUpdateCallback; 0: none.
        required_inputs : sequence of str
            FMI 3.0: the inputs that the callback sets (requiredIntermediateVariables).
        logging
            loggingOn: the FMU logs all messages, which may take longer than its steps.
        description
            Description of this instance, if its arrays have other sizes than those of the FMU's start values.
        event_mode, early_return : bool
            FMI 3.0 co-simulation: events are handled in event mode, and steps may end at events.
        log
            Log for its messages; None: a new one.

        Raises
        ------
        UnusableFmu
            A second instance of an FMU that can be instantiated only once per process.
        UnusableFmu
            The library cannot be loaded.
        FmiError
            The FMU returned an error.
        """
        if self._instances and _offered(self.path, self.description, self.interface).once_per_process:
            reason = "canBeInstantiatedOnlyOncePerProcess is set, so the FMU cannot be used for two components"
            raise UnusableFmu(self.path, reason)
        log = log or MessageLog(name, description or self.description)
        _forget_modules(self.description.python_modules, self.folder)
        changed: dict[str, None] = {}
        with KeptSurroundings(changed):
            if self.description.fmi_major == 1:
                instance = self._instantiate_fmi1(name, log, logging)
            elif self.description.fmi_major == 2:
                instance = self._instantiate_fmi2(name, log, logging)
            else:
                known = (description or self.description).variables
                references = references_of([known[name] for name in required_inputs])
                modes = event_mode, early_return
                asked = environment, intermediate_update, references
                instance = self._instantiate_fmi3(name, log, logging, asked, modes)
        instance.description = description or self.description
        instance.changed.update(changed)
        self._instances.append(instance)
        return instance

    def same_as(self, instance: FmuInstance) -> FmuInstance | None:
        """The earlier instance that the library returned again because it supports only one; None for a new
        instance.
        """
        others = (one for one in self._instances if one is not instance)
        return next((one for one in others if one.component == instance.component), None)

    def disown(self, instance: FmuInstance) -> None:
        """Forget an instance that is identical to an earlier one, without freeing it; functions called through it stay
        available.
        """
        self._instances.remove(instance)
        self._disowned.append(instance)

    def forget(self, instance: FmuInstance) -> None:
        """Forget a freed instance."""
        self._instances.remove(instance)

    def close(self) -> None:
        """Free all instances and remove the unpacked files; may be called again."""
        for instance in reversed(self._instances):
            instance.free()
        self._library.close()
        if self._unpacked is not None:
            self._unpacked.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _instantiate_fmi1(self, name: str, log: MessageLog, logging: bool) -> FmuInstance:
        slave = self._load(Fmi1Slave)
        slave.callbacks = log.fmi1_callbacks()
        no, yes = fmi1.fmi1False, fmi1.fmi1True
        with log.making():
            slave.component = slave.fmi1InstantiateSlave(
                name.encode(),
                self.description.token.encode(),
                self.folder.as_uri().encode(),
                b"application/x-fmu-sharedlibrary",
                0.0,  # timeout: none
                no,  # visible
                no,  # interactive
                slave.callbacks,
                yes if logging else no,
            )
        if slave.component:
            log.answer_to(slave.component)
        return self._instance(Fmi1Instance, name, slave, log)

    def _instantiate_fmi2(self, name: str, log: MessageLog, logging: bool) -> FmuInstance:
        exchange = self.interface is InterfaceType.MODEL_EXCHANGE
        slave = self._load(fmi2.FMU2Model if exchange else fmi2.FMU2Slave)
        slave.callbacks = log.fmi2_callbacks()
        with log.making():
            slave.component = slave.fmi2Instantiate(
                name.encode(),
                fmi2.fmi2ModelExchange if exchange else fmi2.fmi2CoSimulation,
                self.description.token.encode(),
                (self.folder / "resources").as_uri().encode(),
                ctypes.byref(slave.callbacks),
                False,
                logging,
            )
        return self._instance(Fmi2Instance, name, slave, log)

    def _instantiate_fmi3(
        self,
        name: str,
        log: MessageLog,
        logging: bool,
        asked: tuple[int, int, list[int]],
        modes: tuple[bool, bool],
    ) -> FmuInstance:
        """`asked`: environment and address of the intermediate update callback, and references of its inputs; in
        co-simulation only, like `modes`.
        """
        exchange = self.interface is InterfaceType.MODEL_EXCHANGE
        environment, intermediate_update, references = asked
        slave = self._load(fmi3.FMU3Model if exchange else fmi3.FMU3Slave)
        slave.logMessage, environment = log.fmi3_callback(0 if exchange else environment)
        resources = f"{self.folder / 'resources'}/".encode()
        facts = name.encode(), self.description.token.encode(), resources, False, logging
        if exchange:
            with log.making():
                slave.component = slave.fmi3InstantiateModelExchange(*facts, environment, slave.logMessage)
            return self._instance(Fmi3Instance, name, slave, log)
        slave.intermediateUpdate = fmi3.fmi3IntermediateUpdateCallback(intermediate_update)
        with log.making():
            slave.component = slave.fmi3InstantiateCoSimulation(
                *facts,
                *modes,  # eventModeUsed, earlyReturnAllowed
                (fmi3.fmi3ValueReference * len(references))(*references),
                len(references),
                environment,
                slave.logMessage,
                slave.intermediateUpdate,
            )
        return self._instance(Fmi3Instance, name, slave, log)

    def _instance(self, kind: type[FmuInstance], name: str, slave: Any, log: MessageLog) -> FmuInstance:
        if not slave.component:
            slave.freeLibrary()
            function = instantiation(self.description.fmi_major, self.interface)
            raise FmiError(name, function, STATUS.index("error"), log.latest())
        return kind(name, self.description, slave, self._library.addresses, log)

    def _load(self, slave: Any) -> Any:
        identifier = _offered(self.path, self.description, self.interface).model_identifier
        if self._entry is None:
            names = fmu_entries(self.folder)
            wanted = library_entry(self.description.fmi_major, identifier, names)
            self._entry = misnamed_library(names, wanted) or wanted
        found = self.folder / self._entry
        if reason := unsafe_reason(found):
            raise UnusableFmu(self.path, f"the binary cannot be loaded: {reason}")
        prefix = f"{identifier}_" if self.description.fmi_major == 1 else ""
        try:
            return self._library.instance(slave, found, prefix=prefix)
        except (OSError, AttributeError) as error:
            raise UnusableFmu(self.path, f"the binary cannot be loaded: {unloadable_reason(found, error)}") from error


def _forget_modules(names: frozenset[str], folder: Path) -> None:
    """Forget Python modules of other FMUs, so that the FMU in `folder` imports its own modules with the same names."""
    if not names:
        return
    for name, module in [item for item in sys.modules.items() if item[0].partition(".")[0] in names]:
        file = Path(getattr(module, "__file__", None) or "")
        root = file.resolve().parents[name.count(".") + (file.name == "__init__.py")] if file.name else Path()
        # Only modules of FMUs: an FMU may contain a copy of a library that this program uses.
        if root.name == "resources" and root != (folder / "resources").resolve():
            del sys.modules[name]


def instantiation(major: int, interface: InterfaceType) -> str:
    """Name of the FMI function that makes an instance."""
    return {1: "fmiInstantiateSlave", 2: "fmi2Instantiate"}.get(major, f"fmi3Instantiate{interface}")


def load(
    path: Path,
    description: FmuDescription,
    interface: InterfaceType = InterfaceType.CO_SIMULATION,
    folders: UnpackedFmus | None = None,
) -> FmuBinary:
    """Unpack an FMU (a zip, or a folder that is already unpacked) so that it can be instantiated.

    A library with another name than the model identifier is used if it is the only one for this platform. `folders` of
    earlier runs are reused, except for FMUs in Python, whose modules stay in the process.

    Raises
    ------
    UnusableFmu
        The FMU does not offer the interface type; or it is an FMI 1.0 FMU for anything except stand-alone
        co-simulation.
    MissingBinary
        No binary for this platform; nothing is unpacked or loaded.
    UnreadableFmu
        The file cannot be unpacked.
    """
    library = require_binary(path, description, interface)
    if path.is_dir():
        return FmuBinary(path, description, path.resolve(), None, interface, library)
    try:
        reusable = folders is not None and not description.python_modules
        unpacked = folders.take(path) if folders is not None and reusable else UnpackedFolder(path)
    except UNREADABLE_ZIP as error:
        reason = str(error)
        if isinstance(error, OSError) and error.errno is not None:
            reason = f"{disk_trouble(error)}; it was to be unpacked into {tempfile.gettempdir()} (TMPDIR)"
        raise UnreadableFmu(path, reason) from error
    return FmuBinary(path, description, Path(unpacked.name).resolve(), unpacked, interface, library)


def require_binary(
    path: Path, description: FmuDescription, interface: InterfaceType = InterfaceType.CO_SIMULATION
) -> str:
    """Name of the entry of the library for this platform, of an FMU that offers an interface type.

    It is not unpacked. Raises as `load`.
    """
    offered = _offered(path, description, interface)
    try:
        names = fmu_entries(path)
    except UNREADABLE_ZIP as error:
        raise UnreadableFmu(path, str(error)) from error
    wanted = library_entry(description.fmi_major, offered.model_identifier, names)
    if wanted in names:
        return wanted
    if (misnamed := misnamed_library(names, wanted)) is None:
        raise MissingBinary(path, wanted, _platforms(names), can_be_compiled(names, description.fmi_major))
    return misnamed


def _offered(path: Path, description: FmuDescription, interface: InterfaceType) -> Interface:
    if unsupported := unsupported_of_fmi1(description):
        raise UnusableFmu(path, f"{unsupported} is not supported")
    offered = description.interface(interface)
    if offered is None:
        offers = [kind.words for kind in reversed(InterfaceType) if description.interface(kind) is not None]
        offers += ["scheduled execution"] if description.scheduled_execution else []
        raise UnusableFmu(path, f"the FMU offers {' and '.join(offers) or 'nothing'}, but no {interface.words}")
    return offered


def _platforms(names: Iterable[str]) -> tuple[str, ...]:
    parts = (name.split("/") for name in names)
    return tuple(sorted({p[1] for p in parts if p[0] == "binaries" and len(p) > 2 and p[2]}))
