"""FMUs in processes of their own, called as if they were in this one.

`FmuProcess` is a handle of such a process, `RemoteBinary` an FMU that is loaded there. Its instances have the functions
of FMI like all others; these pass each call on through shared memory (`native/`). The code of that process is
`serving`.
"""

from importlib.util import find_spec

AVAILABLE = find_spec("ssptool.fmu.processes._proxy") is not None
"""Whether the native module was built, which it is on Linux."""

MISSING = "FMUs can have processes of their own on Linux only, where ssptool was installed with a C++20 compiler"
"""Why it was not."""
