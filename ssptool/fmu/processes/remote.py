"""An FMU that is loaded in another process, with instances that are used like any others."""

import contextlib
import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from fmpy import fmi2, fmi3

from ssptool.fmu.binary import FmuBinary, instantiation, prototypes, standard_name
from ssptool.fmu.description import FmuDescription, InterfaceType
from ssptool.fmu.instance import FATAL, Fmi1Instance, Fmi1Slave, Fmi2Instance, Fmi3Instance, FmiError, FmuInstance
from ssptool.fmu.messages import MessageLog
from ssptool.fmu.processes._proxy import FUNCTIONS
from ssptool.fmu.processes.process import FmuProcess
from ssptool.fmu.processes.serving import Free, Instantiate


class RemoteBinary(FmuBinary):
    """As `FmuBinary`, of which `unpacked` is one that stays open longer than this."""

    def __init__(self, unpacked: FmuBinary, process: FmuProcess) -> None:
        super().__init__(unpacked.path, unpacked.description, unpacked.folder, None, unpacked.interface)
        self.process = process

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
        """As `FmuBinary.instantiate`. Raises FmiError with status fatal if the process ends meanwhile."""
        own = description or self.description
        log = log or MessageLog(name, own)
        callback, log_environment = log.fmi3_callback(0)
        index = self.process.client.remotes
        component = self.process.client.remote(
            intermediate_update, environment, ctypes.cast(callback, ctypes.c_void_p).value or 0, log_environment
        )
        self.process.names.append(name)
        arguments = {
            "required_inputs": tuple(required_inputs),
            "logging": logging,
            "event_mode": event_mode,
            "early_return": early_return,
        }
        slim = _slim(self.description, {name: own.variables[name] for name in required_inputs})
        request = Instantiate(index, name, self.path, self.folder, slim, self.interface, arguments)
        try:
            present = self.process.request(request)
        except FmiError as error:  # here is what it has said
            raise FmiError(name, error.function, error.status, log.latest()) from None
        except RuntimeError:
            function = instantiation(self.description.fmi_major, self.interface)
            said = f"the process of the component {self.process.ended_by}"
            raise FmiError(name, function, FATAL, (*log.latest(), said)) from None
        instance = self._remote(name, index, component, set(present), log)
        instance.description = own
        self._instances.append(instance)
        return instance

    def _remote(self, name: str, index: int, component: int, present: set[str], log: MessageLog) -> FmuInstance:
        major, exchange = self.description.fmi_major, self.interface is InterfaceType.MODEL_EXCHANGE
        kind = (_EXCHANGE if exchange else _SIMULATION)[major]
        slave = _remote_class(kind)(self.process, index, component, callback=log)
        functions = {name: address for name, address in FUNCTIONS.items() if name in present}
        slave._functions = {own: f for own, f in _functions(kind).items() if standard_name(own) in functions}
        instance: FmuInstance = _INSTANCE[major](name, self.description, slave, functions, log)
        instance.process = self.process
        return instance


_SIMULATION: Mapping[int, type] = {1: Fmi1Slave, 2: fmi2.FMU2Slave, 3: fmi3.FMU3Slave}
_EXCHANGE: Mapping[int, type] = {2: fmi2.FMU2Model, 3: fmi3.FMU3Model}
_INSTANCE: Mapping[int, type[FmuInstance]] = {1: Fmi1Instance, 2: Fmi2Instance, 3: Fmi3Instance}


def _slim(description: FmuDescription, variables: Mapping[str, Any]) -> FmuDescription:
    """With what is needed to make an instance."""
    none: dict[str, Any] = {}
    return replace(
        description,
        variables=variables,
        units=none,
        outputs=none,
        derivatives=none,
        initial_unknowns=none,
        arrays=none,
        whole=none,
    )


@cache
def _remote_class(kind: type) -> type:
    """FMPy's class of instances, without a library."""

    def begin(self: Any, process: FmuProcess, index: int, component: int, callback: Any) -> None:
        self.fmiCallLogger = None
        self.component = component
        self._process, self._index, self._callback = process, index, callback

    def free_instance(self: Any) -> None:
        with contextlib.suppress(RuntimeError):  # it has ended, and all of it is free
            self._process.request(Free(self._index))

    return type(kind.__name__, (kind,), {"__init__": begin, "freeInstance": free_instance})


@cache
def _functions(kind: type) -> dict[str, Any]:
    """FMPy's name → function that passes calls on."""
    found: dict[str, Any] = {}
    for prototype in prototypes(kind):
        if address := FUNCTIONS.get(standard_name(prototype.name)):
            function: Any = ctypes.CFUNCTYPE(prototype.result, *prototype.types)(address)
            function.argnames = list(prototype.arguments)
            found[prototype.name] = function
    return found
