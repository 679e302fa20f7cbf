"""The component of mock.c, built with the system's compiler, as tables that a kernel can be given."""

import ctypes
import math
import os
import shutil
import subprocess
from collections.abc import Sequence
from ctypes import c_double, c_int32, c_uint32, c_void_p
from pathlib import Path

from ssptool.engine.kernel.calls import FUNCTIONS
from tests.cmake_build import for_compilers
from tests.engine.kernel.methods import InstanceTable, Kernel

WIDTH = 4
FIRST_OUTPUT = 10
SET, GET, SET_RATES, DO_STEP, GET_STATE, SET_STATE, FREE_STATE, DIRECTIONAL = range(8)


class Mock(ctypes.Structure):
    """The struct of mock.c."""

    _fields_ = [
        ("u", c_double * WIDTH),
        ("first", c_double * WIDTH),
        ("second", c_double * WIDTH),
        ("x", c_double * WIDTH),
        ("feedthrough", c_double * WIDTH * WIDTH),
        ("nan_from", c_double),
        ("last_t", c_double),
        ("last_h", c_double),
        ("last_no_set_state", c_int32),
        ("calls", c_int32 * 8),
        ("fail", c_int32 * 8),
        ("fail_from", c_int32 * 8),
        ("event", c_int32),
        ("terminate", c_int32),
        ("early_return", c_int32),
        ("time", c_double),
        ("environment", c_void_p),
        ("update", c_void_p),
        ("seconds", c_double),
        ("reached", c_double),
        ("cubic", c_double * WIDTH),
        ("lie", c_double),
        ("least", c_double),
        ("beyond", c_int32),
        ("noise", c_double),
        ("seed", c_uint32),
    ]

    def __init__(self, feedthrough: Sequence[Sequence[float]] = (), x: Sequence[float] = ()) -> None:
        super().__init__(nan_from=math.inf)
        for i, row in enumerate(feedthrough):
            for j, value in enumerate(row):
                self.feedthrough[i][j] = value
        for i, value in enumerate(x):
            self.x[i] = value

    def refuse(self, function: int, status: int = 3, from_call: int = 1) -> None:
        self.fail[function] = status
        self.fail_from[function] = from_call


def build(folder: Path) -> ctypes.CDLL:
    return build_shared(folder, "mock.c")


def build_shared(folder: Path, name: str) -> ctypes.CDLL:
    """A C file of this folder as a loaded library."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    assert compiler, "a C compiler is needed to build the component that these tests use"
    source = Path(__file__).with_name(name)
    library = folder / source.with_suffix(".so").name
    # Memory errors inside the component would otherwise go unseen when the kernel is sanitized.
    sanitizers = ["-fsanitize=address,undefined"] if "SSPTOOL_KERNEL" in os.environ else []
    flags = ["-std=c11", "-O1", "-g", "-Wall", "-shared", "-fPIC", "-ffp-contract=off", *sanitizers]
    subprocess.run([compiler, *flags, source, "-o", library], env=for_compilers(), check=True)
    return ctypes.CDLL(str(library))


class Mocks:
    """Makes instance tables of mocks in one version of FMI."""

    def __init__(self, library: ctypes.CDLL, version: int) -> None:
        self.library = library
        self.version = version
        self._alive: list[Mock] = []  # a table holds only their addresses
        self.functions = {name: ctypes.cast(getattr(library, name), c_void_p).value or 0 for name in FUNCTIONS[version]}

    def table(
        self, kernel: Kernel, mock: Mock, inputs: Sequence[int], outputs: Sequence[int], *, ask: bool = True
    ) -> InstanceTable:
        """The k-th input slot is input k, likewise for outputs. `ask`: FMI 3.0 has intermediate updates."""
        self._alive.append(mock)
        if self.version == 3 and ask:
            mock.environment = kernel.environment()
            mock.update = kernel.intermediate_update_address()
        return InstanceTable(
            fmi_major=self.version,
            functions=self.functions,
            component=ctypes.addressof(mock),
            input_slots=inputs,
            input_references=range(len(inputs)),
            output_slots=outputs,
            output_references=range(FIRST_OUTPUT, FIRST_OUTPUT + len(outputs)),
            environment=mock.environment or 0,
        )
