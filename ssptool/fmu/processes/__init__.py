"""FMUs in separate processes, called as if they were in this process.

`FmuProcess` is a handle of such a process, `RemoteBinary` an FMU that is loaded in it. Its instances have all FMI
functions, which forward each call through shared memory (`native/`). `serving` contains the code of that process.
"""

from importlib.util import find_spec

AVAILABLE = find_spec("ssptool.fmu.processes._proxy") is not None
"""True if the native module is available (Linux only)."""

MISSING = "FMUs can have processes of their own on Linux only, where ssptool was installed with a C++20 compiler"
"""Reason if it is not available."""
