"""The binary of an FMU: unpacked, loaded, and instantiated for co-simulation or model exchange."""

import ctypes
import shutil
import zipfile
from collections import deque
from collections.abc import Iterable, Sequence, Set
from pathlib import Path
from typing import Self
from zlib import error as ZlibError

from ssptool.fmu.description import (
    FmuDescription,
    Interface,
    InterfaceType,
    UnreadableFmu,
    unsupported_of_fmi1,
)
from ssptool.fmu.instance import Fmi1Instance, Fmi2Instance, Fmi3Instance, FmiError, FmuInstance, references_of
from ssptool.fmu.messages import (
    STATUS,
    Log,
    fmi1_callbacks,
    fmi1_instance,
    fmi1_messages,
    fmi2_callbacks,
    fmi3_logger,
)
from ssptool.fmu.packed import packed
from ssptool.fmu.platforms import library
from ssptool.fmu.prototypes import Library
from ssptool.fmu.unloadable import why_unloadable, why_unsafe
from ssptool.fmu.working_directory import kept_working_directory
from ssptool.scratch import ScratchFolder


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


class Binary:
    """An unpacked FMU, from which instances are made. Each load has its own copy of the library."""

    def __init__(
        self,
        path: Path,
        description: FmuDescription,
        folder: Path,
        unpacked: ScratchFolder | None,
        interface: InterfaceType = InterfaceType.CO_SIMULATION,
    ) -> None:
        self.path = path
        self.description = description
        self.interface = interface
        self.folder = folder
        self._unpacked = unpacked
        self._instances: list[FmuInstance] = []
        self._library: Library | None = None
        self._fatal = False

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
        with kept_working_directory():
            if self.description.fmi_major == 1:
                instance = self._instantiate_fmi1(name, logging)
            elif self.description.fmi_major == 2:
                instance = self._instantiate_fmi2(name, logging)
            else:
                known = (description or self.description).variables
                references = references_of([known[name] for name in required_inputs])
                modes = event_mode, early_return
                instance = self._instantiate_fmi3(name, environment, intermediate_update, references, logging, modes)
        instance.description = description or self.description
        self._instances.append(instance)
        return instance

    def forget(self, instance: FmuInstance) -> None:
        """An instance that was freed is no longer one of this binary."""
        self._instances.remove(instance)
        self._fatal = self._fatal or instance.fatal

    def close(self) -> None:
        """Free all instances and remove the unpacked files; doing it again does no harm."""
        for instance in reversed(self._instances):
            instance.free()
            self._fatal = self._fatal or instance.fatal
        # After fatal no function may be called, and those that the system calls at the end of a library are some.
        if self._library is not None and not self._fatal:
            self._library.close()
        if self._unpacked is not None:
            self._unpacked.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _instantiate_fmi1(self, name: str, logging: bool) -> FmuInstance:
        log: Log = deque(maxlen=1000)
        library = self._loaded()
        callbacks = fmi1_callbacks()
        with fmi1_messages(log):
            component = library.functions["fmiInstantiateSlave"](
                name.encode(),
                self.description.token.encode(),
                self.folder.as_uri().encode(),
                b"application/x-fmu-sharedlibrary",
                0.0,  # timeout: as long as it takes
                False,  # visible
                False,  # interactive
                callbacks,
                logging,
            )
        if component:
            fmi1_instance(component, log)
        return self._instance(Fmi1Instance, name, component, log, callbacks)

    def _instantiate_fmi2(self, name: str, logging: bool) -> FmuInstance:
        log: Log = deque(maxlen=1000)
        callbacks = fmi2_callbacks(log)
        component = self._loaded().functions["fmi2Instantiate"](
            name.encode(),
            _FMI2_TYPES[self.interface],
            self.description.token.encode(),
            (self.folder / "resources").as_uri().encode(),
            ctypes.byref(callbacks),
            False,
            logging,
        )
        return self._instance(Fmi2Instance, name, component, log, callbacks)

    def _instantiate_fmi3(
        self,
        name: str,
        environment: int,
        intermediate_update: int,
        references: list[int],
        logging: bool,
        modes: tuple[bool, bool],
    ) -> FmuInstance:
        log: Log = deque(maxlen=1000)
        logger = fmi3_logger(log)
        common = (
            name.encode(),
            self.description.token.encode(),
            f"{self.folder / 'resources'}/".encode(),
            False,
            logging,
        )
        functions = self._loaded().functions
        if self.interface is InterfaceType.MODEL_EXCHANGE:
            component = functions["fmi3InstantiateModelExchange"](*common, None, logger)
        else:
            component = functions["fmi3InstantiateCoSimulation"](
                *common,
                *modes,  # eventModeUsed, earlyReturnAllowed
                (ctypes.c_uint * len(references))(*references),
                len(references),
                environment,
                logger,
                intermediate_update,
            )
        return self._instance(Fmi3Instance, name, component, log, logger)

    def _instance(
        self, kind: type[FmuInstance], name: str, component: int | None, log: Log, *keep: object
    ) -> FmuInstance:
        if not component:
            function = instantiation(self.description.fmi_major, self.interface)
            raise FmiError(name, function, STATUS.index("error"), tuple(log))
        return kind(name, self.description, self._loaded(), component, log, keep)

    def _loaded(self) -> Library:
        if self._library is None:
            major = self.description.fmi_major
            identifier = _offered(self.path, self.description, self.interface).model_identifier
            path = self.folder / library(major, identifier)
            if unsafe := why_unsafe(path):
                raise UnloadableBinary(self.path, unsafe)
            try:
                self._library = Library(path, major, self.interface, f"{identifier}_" if major == 1 else "")
            except (OSError, AttributeError) as error:
                raise UnloadableBinary(self.path, why_unloadable(path, error)) from error
        return self._library


_FMI2_TYPES = {InterfaceType.MODEL_EXCHANGE: 0, InterfaceType.CO_SIMULATION: 1}
"""fmi2Type."""


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
    wanted = library(description.fmi_major, offered.model_identifier)
    names = _entries(path)
    if wanted not in names:
        raise MissingBinary(path, wanted, _platforms(names))
    if path.is_dir():
        return Binary(path, description, path.resolve(), None, interface)
    unpacked = ScratchFolder()
    try:
        _unpack(path, Path(unpacked.name))
    except (OSError, ValueError, NotImplementedError, RuntimeError, zipfile.BadZipFile, ZlibError) as error:
        unpacked.cleanup()
        raise UnreadableFmu(path, str(error)) from error
    return Binary(path, description, Path(unpacked.name).resolve(), unpacked, interface)


def _unpack(path: Path, folder: Path) -> None:
    made = {folder}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if leads_out(info.filename):
                raise ValueError(f"Illegal path in the archive, which leads out of its folder: {info.filename}")
            target = folder / info.filename
            parent = target if info.is_dir() else target.parent
            if parent not in made:
                parent.mkdir(parents=True, exist_ok=True)
                made.add(parent)
            if not info.is_dir():
                with archive.open(info) as content, target.open("wb") as file:
                    shutil.copyfileobj(content, file, _PORTION)


def leads_out(name: str) -> bool:
    """Whether the name of an entry is that of a place outside, on this system or on another one."""
    parts = name.replace("\\", "/").split("/")
    return parts[0] == "" or parts[0][1:2] == ":" or ".." in parts


_PORTION = 1 << 20
"""Bytes of a file that are unpacked at a time."""


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


def _entries(path: Path) -> Set[str]:
    if path.is_dir():
        return {entry.relative_to(path).as_posix() for entry in path.glob("binaries/*/*")}
    try:
        return packed(path).names
    except (OSError, zipfile.BadZipFile) as error:
        raise UnreadableFmu(path, str(error)) from error


def _platforms(names: Iterable[str]) -> tuple[str, ...]:
    parts = (name.split("/") for name in names)
    return tuple(sorted({p[1] for p in parts if p[0] == "binaries" and len(p) > 2 and p[2]}))
